#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes the tiny models of tests/data/import by the formats' own libraries.

    write_fixtures.py torch DIR    DIR/zip and DIR/legacy: Hugging Face Marian, pytorch_model.bin (needs torch)
    write_fixtures.py numpy DIR    DIR/stored and DIR/deflated: Marian .npz (needs numpy)

Every number follows from its tensor's canonical name, row and column (value below), all exact in half
precision, so that the tests know what to expect without a second file. Tensors are laid out as badly as the
formats allow: transposed strides, slices of a larger storage, shared storages, several types.
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


# Canonical parts of a layer's names, and Marian's.
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


def write_numpy(out):
    import numpy

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
    tokens = ["</s>", "<unk>", "\u2581", "a", "\u00e9", "no", "null", "~", "\"", "'", "1e5", "yes"]
    for form, save in ("stored", numpy.savez), ("deflated", numpy.savez_compressed):
        os.makedirs(f"{out}/{form}", exist_ok=True)
        save(f"{out}/{form}/model.npz", **arrays)
        with open(f"{out}/{form}/vocab.yml", "w", encoding="utf-8") as file:
            for i, token in enumerate(tokens):
                file.write(f"{json.dumps(token, ensure_ascii=i % 2 == 0)}: {i}\n")
        with open(f"{out}/{form}/model.npz.decoder.yml", "w") as file:
            file.write("relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n"
                       "  - vocab.yml\n  - vocab.yml\nbeam-size: 6\nnormalize: 0.6\n")


if __name__ == "__main__":
    {"torch": write_torch, "numpy": write_numpy}[sys.argv[1]](sys.argv[2])
