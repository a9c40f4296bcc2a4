#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes the tiny models of tests/data/import by the formats' own libraries.

    write_fixtures.py torch DIR    DIR/zip and DIR/legacy: Hugging Face Marian, pytorch_model.bin (needs torch)
    write_fixtures.py numpy DIR    DIR/stored and DIR/deflated: Marian .npz, Transformers with SSRU; DIR/s2s, DIR/lstm,
                                   DIR/amun, DIR/amun-norm and DIR/nematus: recurrent networks (needs numpy)
    write_fixtures.py small DIR    DIR/small: containers of a few hundred bytes, to be damaged (needs both)

Every number follows from its tensor's canonical name, row and column (value below), all exact in
half precision, so that the tests know what to expect without a second file. Tensors are stored
in the most awkward ways that the formats allow: transposed strides, slices of a larger storage,
shared storages, several types.
"""
import json
import os
import sys

D, F, H, V, LAYERS = 8, 12, 2, 20, 1


def value(name, row, col):
    h = sum((i + 1) * b for i, b in enumerate(name.encode())) % 97
    return ((h * 7 + row * 31 + col * 5) % 201 - 100) / 64.0


def shapes(decoder="attention"):
    """Canonical names and shapes; a vector has one dimension."""
    out = {"model.shared.weight": (V, D), "final_logits_bias": (V,)}

    def norm(p):
        out[p + ".weight"] = out[p + ".bias"] = (D,)

    def attention(p, name):
        for proj in "q_proj k_proj v_proj out_proj".split():
            out[f"{p}{name}.{proj}.weight"] = (D, D)
            out[f"{p}{name}.{proj}.bias"] = (D,)
        norm(f"{p}{name}_layer_norm")

    for side in "encoder", "decoder":
        for i in range(LAYERS):
            p = f"model.{side}.layers.{i}."
            if side == "encoder" or decoder == "attention":
                attention(p, "self_attn")
            else:
                out[p + "ssru.candidate.weight"] = out[p + "ssru.forget.weight"] = (D, D)
                out[p + "ssru.forget.bias"] = (D,)
                norm(p + "self_attn_layer_norm")
            if side == "decoder":
                attention(p, "encoder_attn")
            out[p + "fc1.weight"], out[p + "fc1.bias"] = (F, D), (F,)
            out[p + "fc2.weight"], out[p + "fc2.bias"] = (D, F), (D,)
            norm(p + "final_layer_norm")
    return out


def numbers(name, shape):
    if len(shape) == 1:
        return [value(name, 0, c) for c in range(shape[0])]
    return [[value(name, r, c) for c in range(shape[1])] for r in range(shape[0])]


def write_torch(out):
    import torch

    state = {}
    for n, (name, shape) in enumerate(shapes().items()):
        tensor = torch.tensor(numbers(name, shape), dtype=[torch.float32, torch.float16][n % 2])
        if name == "final_logits_bias":
            tensor = tensor[None, :]
        if n % 5 == 0 and tensor.dim() == 2:  # transposed in memory
            tensor = tensor.t().contiguous().t()
        if n % 5 == 1:  # a slice of something larger
            big = torch.zeros(tensor.numel() + 7, dtype=tensor.dtype)
            big[3:3 + tensor.numel()] = tensor.flatten()
            tensor = big[3:3 + tensor.numel()].view(tensor.shape)
        if n % 7 == 2:
            tensor = torch.nn.Parameter(tensor)
        state[name] = tensor
    state["lm_head.weight"] = state["model.shared.weight"]  # shares its storage
    config = {
        "model_type": "marian", "activation_function": "relu", "d_model": D, "encoder_layers": LAYERS,
        "decoder_layers": LAYERS, "encoder_attention_heads": H, "decoder_attention_heads": H,
        "encoder_ffn_dim": F, "decoder_ffn_dim": F, "vocab_size": V, "pad_token_id": V - 1,
        "eos_token_id": 0, "decoder_start_token_id": V - 1, "scale_embedding": True,
        "static_position_embeddings": True, "max_length": 64,
    }
    for form in "zip", "legacy":
        os.makedirs(f"{out}/{form}", exist_ok=True)
        torch.save(state, f"{out}/{form}/pytorch_model.bin",
                   _use_new_zipfile_serialization=form == "zip")
        with open(f"{out}/{form}/config.json", "w") as file:
            json.dump(config, file)


# Canonical parts of a layer's names, and Marian's names for them.
MARIAN = {
    "self_attn.q_proj.weight": "self_Wq", "self_attn.q_proj.bias": "self_bq",
    "self_attn.k_proj.weight": "self_Wk", "self_attn.k_proj.bias": "self_bk",
    "self_attn.v_proj.weight": "self_Wv", "self_attn.v_proj.bias": "self_bv",
    "self_attn.out_proj.weight": "self_Wo", "self_attn.out_proj.bias": "self_bo",
    "self_attn_layer_norm.weight": "self_Wo_ln_scale", "self_attn_layer_norm.bias": "self_Wo_ln_bias",
    "encoder_attn.q_proj.weight": "context_Wq", "encoder_attn.q_proj.bias": "context_bq",
    "encoder_attn.k_proj.weight": "context_Wk", "encoder_attn.k_proj.bias": "context_bk",
    "encoder_attn.v_proj.weight": "context_Wv", "encoder_attn.v_proj.bias": "context_bv",
    "encoder_attn.out_proj.weight": "context_Wo", "encoder_attn.out_proj.bias": "context_bo",
    "encoder_attn_layer_norm.weight": "context_Wo_ln_scale",
    "encoder_attn_layer_norm.bias": "context_Wo_ln_bias",
    "fc1.weight": "ffn_W1", "fc1.bias": "ffn_b1", "fc2.weight": "ffn_W2", "fc2.bias": "ffn_b2",
    "final_layer_norm.weight": "ffn_ffn_ln_scale", "final_layer_norm.bias": "ffn_ffn_ln_bias",
    "ssru.candidate.weight": "rnn_W", "ssru.forget.weight": "rnn_Wf", "ssru.forget.bias": "rnn_bf",
}


def marian_name(name):
    if name == "model.shared.weight":
        return "Wemb"
    if name == "final_logits_bias":
        return "decoder_ff_logit_out_b"
    _, side, _, layer, rest = name.split(".", 4)
    if side == "decoder" and rest.startswith("self_attn_layer_norm"):
        return f"decoder_l{int(layer) + 1}_rnn_ffn_ln_" + ("scale" if rest.endswith("weight") else "bias")
    return f"{side}_l{int(layer) + 1}_{MARIAN[rest]}"


TOKENS = ["</s>", "<unk>", "\u2581", "a", "\u00e9", "no", "null", "~", "\"", "'", "1e5", "yes"]
R, C = 6, 12  # width of a state and of the context


def cell(ours, marian, inputs, lstm=False, norm=False):
    """(canonical name, shape, Marian's name) of a recurrent cell's parameters."""
    gates = (4 if lstm else 2) * R
    parts = [("gates", gates, "")] + ([] if lstm else [("candidate", R, "x")])
    for part, rows, x in parts:
        if inputs:
            yield f"{ours}.{part}.input.weight", (rows, inputs), f"{marian}W{x}"
        yield f"{ours}.{part}.state.weight", (rows, R), f"{marian}U{x}"
        yield f"{ours}.{part}.bias", (rows,), f"{marian}b{x}"
    if norm and inputs:
        yield f"{ours}.input_norm.weight", (gates + (0 if lstm else R),), f"{marian}gamma1"
    if norm:
        yield f"{ours}.state_norm.weight", (gates + (0 if lstm else R),), f"{marian}gamma2"


def decoder_ends(norm):
    dense = [("initial", (R, C), "ff_state_{}", ""), ("attention.source", (C, C), "Wc_att", None),
             ("attention.state", (C, R), "W_comb_att", None)]
    dense += [(f"readout.{what}", (D, width), "ff_logit_l1_{}", str(i))
              for i, (what, width) in enumerate((("word", D), ("state", R), ("context", C)))]
    for name, shape, marian, number in dense:
        ours = f"model.decoder.{name}"
        yield ours + ".weight", shape, "decoder_" + (marian.format("W") + (number or ""))
        if number is not None:
            yield ours + ".bias", shape[:1], "decoder_" + marian.format("b") + number
            if norm:
                yield ours + "_norm.weight", shape[:1], "decoder_" + marian.format("gamma") + number
    yield "model.decoder.attention.source.bias", (C,), "decoder_b_att"
    yield "model.decoder.attention.score.weight", (C,), "decoder_U_att"
    if norm:
        yield "model.decoder.attention.source_norm.weight", (C,), "decoder_att_gamma1"
        yield "model.decoder.attention.state_norm.weight", (C,), "decoder_att_gamma2"
    yield "final_logits_bias", (V,), "decoder_ff_logit_l2_b"


def s2s():
    """GRUs: two layers and two cells on each side, norms, one embedding."""
    yield "model.shared.weight", (V, D), "Wemb"
    for ours, bi in ("forward", "encoder_bi"), ("backward", "encoder_bi_r"):
        p = f"model.encoder.{ours}"
        yield from cell(f"{p}.0.cells.0", bi + "_", D, norm=True)
        yield from cell(f"{p}.0.cells.1", bi + "_cell2_", 0, norm=True)
        yield from cell(f"{p}.1.cells.0", bi + "_l2_cell1_", R, norm=True)
        yield from cell(f"{p}.1.cells.1", bi + "_l2_cell2_", 0, norm=True)
    yield from cell("model.decoder.layers.0.cells.0", "decoder_cell1_", D, norm=True)
    yield from cell("model.decoder.layers.0.cells.1", "decoder_cell2_", C, norm=True)
    yield from cell("model.decoder.layers.0.cells.2", "decoder_cell3_", 0, norm=True)
    yield from cell("model.decoder.layers.1.cells.0", "decoder_l2_cell1_", R, norm=True)
    yield from decoder_ends(True)


def lstm():
    """LSTMs: a layer on top of both directions, an output matrix of its own."""
    yield "model.encoder.embed_tokens.weight", (V, D), "encoder_Wemb"
    yield "model.decoder.embed_tokens.weight", (V, D), "decoder_Wemb"
    yield "lm_head.weight", (V, D), "decoder_ff_logit_l2_W"
    yield from cell("model.encoder.forward.0.cells.0", "encoder_bi_", D, lstm=True)
    yield from cell("model.encoder.backward.0.cells.0", "encoder_bi_r_", D, lstm=True)
    yield from cell("model.encoder.top.0.cells.0", "encoder_l2_cell1_", 2 * R, lstm=True)
    yield from cell("model.decoder.layers.0.cells.0", "decoder_cell1_", D, lstm=True)
    yield from cell("model.decoder.layers.0.cells.1", "decoder_cell2_", R, lstm=True)
    for name, shape, marian in decoder_ends(False):  # the context is one direction wide
        yield name, tuple(R if n == C else n for n in shape), marian


OLD = {"decoder_cell1_": "decoder_", "encoder_bi_r_": "encoder_r_", "encoder_bi_": "encoder_",
       "decoder_ff_state_": "ff_state_", "decoder_ff_logit_l2_": "ff_logit_", "encoder_Wemb": "Wemb",
       "decoder_Wemb": "Wemb_dec"}
OLDER = {"decoder_cell2_W": "decoder_Wc", "decoder_cell2_Wx": "decoder_Wcx", "decoder_cell2_U": "decoder_U_nl",
         "decoder_cell2_Ux": "decoder_Ux_nl", "decoder_cell2_b": "decoder_b_nl", "decoder_cell2_bx": "decoder_bx_nl"}


def amun(norm=False, transitions=0):
    """GRUs under the names of Nematus; cells without input are its deep transitions."""
    def rename(name):
        cell, _, rest = name.rpartition("_cell")
        if transitions and cell and (cell != "decoder" or int(rest[0]) > 2):
            start = cell.replace("encoder_bi", "encoder") + "_" + rest[2:]
            return f"{start}_nl_drt_{int(rest[0]) - 2}" if cell == "decoder" else f"{start}_drt_{int(rest[0]) - 1}"
        if "decoder_cell" in name and "gamma" in name:
            return name
        if name.startswith("decoder_ff_logit_l1_"):
            if "gamma" in name:
                return name[len("decoder_"):]
            return "ff_logit_" + ("prev", "lstm", "ctx")[int(name[-1])] + "_" + name[-2]
        begin = next((old for old in OLD if name.startswith(old)), None)
        return OLDER.get(name) or (OLD[begin] + name[len(begin):] if begin else name)

    yield "model.encoder.embed_tokens.weight", (V, D), "Wemb"
    yield "model.decoder.embed_tokens.weight", (V, D), "Wemb_dec"
    yield "lm_head.weight", (V, D), "ff_logit_W"
    parts = [cell("model.encoder.forward.0.cells.0", "encoder_bi_", D, norm=norm),
             cell("model.encoder.backward.0.cells.0", "encoder_bi_r_", D, norm=norm),
             cell("model.decoder.layers.0.cells.0", "decoder_cell1_", D, norm=norm),
             cell("model.decoder.layers.0.cells.1", "decoder_cell2_", C, norm=norm), decoder_ends(norm)]
    for i in range(transitions):
        parts += [cell(f"model.encoder.forward.0.cells.{i + 1}", f"encoder_bi_cell{i + 2}_", 0),
                  cell(f"model.encoder.backward.0.cells.{i + 1}", f"encoder_bi_r_cell{i + 2}_", 0),
                  cell(f"model.decoder.layers.0.cells.{i + 2}", f"decoder_cell{i + 3}_", 0)]
    for part in parts:
        for name, shape, marian in part:
            yield name, shape, rename(marian)


RECURRENT = {
    "s2s": (s2s, ["type: s2s", "enc-depth: 2", "dec-depth: 2", "enc-cell-depth: 2", "dec-cell-base-depth: 3",
                  "layer-normalization: true", "skip: true", "tied-embeddings-all: true"]),
    "lstm": (lstm, ["type: s2s", "enc-depth: 2", "dec-depth: 1", "enc-cell: lstm", "dec-cell: lstm",
                    "enc-type: bi-unidirectional"]),
    "amun": (amun, ["type: amun", "enc-depth: 1", "dec-depth: 1"]),
    "amun-norm": (lambda: amun(norm=True), ["type: amun", "enc-depth: 1", "dec-depth: 1", "layer-normalization: true"]),
    "nematus": (lambda: amun(transitions=2), ["type: nematus", "enc-depth: 1", "dec-depth: 1", "enc-cell: gru-nematus",
                                              "dec-cell: gru-nematus", "enc-cell-depth: 3", "dec-cell-base-depth: 4"]),
}


def write_recurrent(out):
    import numpy

    for form, (parameters, lines) in RECURRENT.items():
        arrays = {}
        for name, shape, marian in parameters():
            array = numpy.array(numbers(name, shape), dtype="<f4")
            if array.ndim == 1 and not form.startswith("amun"):
                array = array[None, :]
            elif array.ndim == 2 and not name.endswith(("embed_tokens.weight", "shared.weight")):
                array = numpy.ascontiguousarray(array.T)
            arrays[marian] = array.reshape(-1, 1) if marian == "decoder_U_att" else array
        if form.startswith("amun") or form == "nematus":
            arrays["decoder_c_tt"], arrays["uidx"] = numpy.zeros(1, "<f4"), numpy.zeros((), "<f4")
        config = "\n".join([f"dim-emb: {D}", f"dim-rnn: {R}", f"dim-vocabs:\n  - {V}\n  - {V}"] + lines) + "\n\0"
        arrays["special:model.yml"] = numpy.frombuffer(config.encode(), dtype=numpy.int8)
        os.makedirs(f"{out}/{form}", exist_ok=True)
        numpy.savez(f"{out}/{form}/model.npz", **arrays)
        write_vocabulary(f"{out}/{form}")


def write_vocabulary(folder):
    with open(f"{folder}/vocab.yml", "w", encoding="utf-8") as file:
        for i, token in enumerate(TOKENS):
            file.write(f"{json.dumps(token, ensure_ascii=i % 2 == 0)}: {i}\n")
    with open(f"{folder}/model.npz.decoder.yml", "w") as file:
        file.write("relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n"
                   "  - vocab.yml\n  - vocab.yml\nbeam-size: 6\nnormalize: 0.6\n")


def write_numpy(out):
    import numpy

    write_recurrent(out)
    arrays = {}
    for n, (name, shape) in enumerate(shapes("ssru").items()):
        array = numpy.array(numbers(name, shape), dtype=["<f4", "<f8", "<f2"][n % 3])
        if array.ndim == 1:
            array = array[None, :]
        elif name != "model.shared.weight":
            array = numpy.ascontiguousarray(array.T)
        arrays[marian_name(name)] = array
    config = "\n".join([
        "type: transformer", f"dim-emb: {D}", f"enc-depth: {LAYERS}", f"dec-depth: {LAYERS}",
        f"transformer-heads: {H}", f"transformer-dim-ffn: {F}", "transformer-ffn-activation: relu",
        "transformer-decoder-autoreg: rnn", "dec-cell: ssru", "transformer-preprocess: \"\"",
        "transformer-postprocess: dan", "tied-embeddings-all: true", f"dim-vocabs:\n  - {V}\n  - {V}",
        "version: v1.9.0"]) + "\n\0\0\0"
    arrays["special:model.yml"] = numpy.frombuffer(config.encode(), dtype=numpy.int8)
    for form, save in ("stored", numpy.savez), ("deflated", numpy.savez_compressed):
        os.makedirs(f"{out}/{form}", exist_ok=True)
        save(f"{out}/{form}/model.npz", **arrays)
        write_vocabulary(f"{out}/{form}")


def write_small(out):
    import numpy
    import torch

    arrays = {"a": numpy.arange(6, dtype="<f4").reshape(2, 3), "b": numpy.arange(2, dtype="<i4")}
    state = {"a": torch.arange(6, dtype=torch.float32).reshape(2, 3).t(), "b": torch.arange(2, dtype=torch.float16)}
    os.makedirs(f"{out}/small", exist_ok=True)
    numpy.save(f"{out}/small/array.npy", arrays["a"])
    numpy.savez(f"{out}/small/stored.npz", **arrays)
    numpy.savez_compressed(f"{out}/small/deflated.npz", **arrays)
    for form in "zip", "legacy":
        torch.save(state, f"{out}/small/{form}.bin", _use_new_zipfile_serialization=form == "zip")


if __name__ == "__main__":
    {"torch": write_torch, "numpy": write_numpy, "small": write_small}[sys.argv[1]](sys.argv[2])
