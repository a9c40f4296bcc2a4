#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""CTranslate2 models, written and read here independently of src/model. Needs nothing but Python.

    ct2_fixture.py write DIR            DIR/ct2-v2, DIR/ct2-v6, DIR/ct2-i8, DIR/ct2-relative and DIR/tiny.argosmodel
    ct2_fixture.py convert FROM TO T    the CTranslate2 directory FROM again, version 5, matrices as T (i8, i16, f16, bf16)
    ct2_fixture.py check FROM OURS      compares the CTranslate2 directory FROM with the model directory OURS

`write` follows the rule of write_fixtures.py: every number follows from its canonical name, row and column.
`check` finds every number of FROM in OURS, bit for bit as float32, and exits with 1 where it does not.
"""
import json
import math
import os
import shutil
import struct
import sys
import zipfile

from write_fixtures import numbers, shapes

F32, I8, I16, I32, F16, BF16 = range(6)
SIZE = {F32: 4, I8: 1, I16: 2, I32: 4, F16: 2, BF16: 2}
LETTER = {F32: "f", I8: "b", I16: "h", I32: "i", F16: "e"}
LAYER = {
    "self_attention/layer_norm": ["self_attn_layer_norm"],
    "self_attention/linear_0": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    "self_attention/linear_1": ["self_attn.out_proj"],
    "attention/layer_norm": ["encoder_attn_layer_norm"],
    "attention/linear_0": ["encoder_attn.q_proj"],
    "attention/linear_1": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
    "attention/linear_2": ["encoder_attn.out_proj"],
    "ffn/layer_norm": ["final_layer_norm"], "ffn/linear_0": ["fc1"], "ffn/linear_1": ["fc2"],
}


# ---- The file ---------------------------------------------------------------------------------------

def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def pack(code, values):
    if code == BF16:
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    return struct.pack(f"<{len(values)}{LETTER[code]}", *values)


def unpack(code, data):
    if code == BF16:
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return list(struct.unpack(f"<{len(data) // SIZE[code]}{LETTER[code]}", data))


def string(text):
    data = text.encode() + b"\0"
    return struct.pack("<H", len(data)) + data


def write_bin(path, version, spec, revision, variables, aliases=()):
    """variables: name -> (code, shape, flat values)"""
    out = [struct.pack("<I", version), string(spec), struct.pack("<II", revision, len(variables))]
    for name in sorted(variables):
        code, shape, values = variables[name]
        data = pack(code, values)
        out += [string(name), struct.pack(f"<B{len(shape)}I", len(shape), *shape)]
        if version >= 4:
            out += [struct.pack("<BI", code, len(data))]
        else:
            out += [struct.pack("<BI", SIZE[code], len(values))]
        out += [data]
    if version >= 3:
        out += [struct.pack("<I", len(aliases))]
        out += [string(a) + string(b) for a, b in aliases]
    with open(path, "wb") as file:
        file.write(b"".join(out))


def read_bin(path):
    data = open(path, "rb").read()
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    def text():
        return take(f"{take('H')[0]}s")[0][:-1].decode()

    version, = take("I")
    spec = text()
    revision, n = take("II")
    variables = {}
    for _ in range(n):
        name = text()
        shape = take(f"{take('B')[0]}I")
        if version >= 4:
            code, n_bytes = take("BI")
        else:
            size, count = take("BI")
            code, n_bytes = {4: F32, 2: I16, 1: I8}[size], size * count
        variables[name] = (code, shape, unpack(code, take(f"{n_bytes}s")[0]))
    if version >= 3:
        for _ in range(take("I")[0]):
            alias, target = text(), text()
            for end in "", "_scale":
                if target + end in variables:
                    variables[alias + end] = variables[target + end]
    return spec, revision, variables


# ---- Fixtures ---------------------------------------------------------------------------------------

def flat(rows):
    return [x for row in rows for x in row] if rows and isinstance(rows[0], list) else list(rows)


def canonical():
    out = dict(shapes())
    words = out.pop("model.shared.weight")
    return out, words


def sources(ct2, ours, side, layer):
    """CTranslate2's name -> canonical names, for one layer."""
    for name, parts in LAYER.items():
        norm = name.endswith("layer_norm")
        if side == "encoder" and name.startswith("attention"):
            continue
        for end, here in (("gamma", "weight"), ("beta", "bias")) if norm else (("weight",) * 2, ("bias",) * 2):
            yield f"{ct2}layer_{layer}/{name}/{end}", [f"{ours}{part}.{here}" for part in parts]


def network(code, tied):
    """All variables that are not scalars; matrices as `code`."""
    named, words = canonical()
    variables = {}

    def put(name, parts, shape):
        rows = [x for part in parts for x in numbers(part, shape)]
        values = flat(rows)
        kind = code(name) if len(shape) == 2 else F32
        scale = {I8: 64, I16: 1024}.get(kind)
        full = (shape[0] * len(parts),) + tuple(shape[1:])
        if scale:
            values = [int(v * scale) for v in values]
            n = full[0] if kind == I8 else 1
            variables[name + "_scale"] = (F32, (n,) if kind == I8 else (), [float(scale)] * n)
        variables[name] = (kind, full, values)

    for side in "encoder", "decoder":
        for name, parts in sources(f"{side}/", f"model.{side}.layers.0.", side, 0):
            put(name, parts, named[parts[0]])
    shared = "model.shared.weight"
    put("encoder/embeddings_0/weight", [shared if tied else "model.encoder.embed_tokens.weight"], words)
    if not tied:
        put("decoder/embeddings/weight", ["model.decoder.embed_tokens.weight"], words)
        put("decoder/projection/weight", ["lm_head.weight"], words)
    put("decoder/projection/bias", ["final_logits_bias"], named["final_logits_bias"])
    return variables


def words(n):
    return ["<unk>", "<s>", "</s>", "\u2581", "\u00e9", "\"", "\\", "'"] + [chr(97 + i) for i in range(n - 8)]


def lines(path, items, end="\n"):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("".join(item + end for item in items))


def write_v2(out):
    os.makedirs(out, exist_ok=True)
    variables = network(lambda name: F32, False)
    variables["encoder/embeddings/weight"] = variables.pop("encoder/embeddings_0/weight")
    variables["pre_norm"] = (I8, (), [0])
    write_bin(f"{out}/model.bin", 2, "TransformerBase", 2, variables)
    lines(f"{out}/source_vocabulary.txt", words(20), "\r\n")
    lines(f"{out}/target_vocabulary.txt", words(20)[1:])  # the format appends <unk>


def scalars(heads=2):
    out = {}
    for side in "encoder", "decoder":
        out[side + "/num_heads"] = (I16, (), [heads])
        out[side + "/pre_norm"] = (I8, (), [0])
        out[side + "/activation"] = (I8, (), [2])
        out[side + "/scale_embeddings"] = (I8, (), [1])
    return out


def write_v6(out):
    os.makedirs(out, exist_ok=True)
    variables = network(lambda name: BF16 if "linear_1" in name else F16, True)
    variables.update(scalars())
    variables["decoder/start_from_zero_embedding"] = (I8, (), [1])
    table = [single(math.sin(p / 10000 ** (k / 4))) for p in range(16) for k in range(4)]
    other = [single(math.cos(p / 10000 ** (k / 4))) for p in range(16) for k in range(4)]
    values = [x for p in range(16) for x in table[4 * p:4 * p + 4] + other[4 * p:4 * p + 4]]
    for side in "encoder", "decoder":
        variables[side + "/position_encodings/encodings"] = (F32, (16, 8), values)
    aliases = [("decoder/embeddings/weight", "encoder/embeddings_0/weight"),
               ("decoder/projection/weight", "encoder/embeddings_0/weight")]
    write_bin(f"{out}/model.bin", 6, "TransformerSpec", 7, variables, aliases)
    with open(f"{out}/config.json", "w") as file:
        json.dump({"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "add_source_eos": False,
                   "decoder_start_token": "</s>", "layer_norm_epsilon": None, "add_source_bos": False}, file)
    with open(f"{out}/shared_vocabulary.json", "w") as file:
        json.dump(words(20), file)


def write_i8(out):
    os.makedirs(out, exist_ok=True)
    variables = network(lambda name: I16 if "ffn" in name else I8, True)
    variables.update(scalars())
    aliases = [("decoder/embeddings/weight", "encoder/embeddings_0/weight"),
               ("decoder/projection/weight", "encoder/embeddings_0/weight")]
    write_bin(f"{out}/model.bin", 5, "TransformerSpec", 6, variables, aliases)
    lines(f"{out}/shared_vocabulary.txt", words(20))


def write_relative(out):
    """As OpenNMT-py's converter writes it: no positions but the relative ones, and no scale of the
    embeddings."""
    os.makedirs(out, exist_ok=True)
    variables = network(lambda name: F16, True)
    variables.update(scalars())
    for side in "encoder", "decoder":
        variables[side + "/scale_embeddings"] = (I8, (), [0])
        for part in "keys", "values":
            values = numbers(f"model.{side}.layers.0.self_attn.relative_{part}.weight", (5, 4))
            variables[f"{side}/layer_0/self_attention/relative_position_{part}"] = (F32, (5, 4), flat(values))
    aliases = [("decoder/embeddings/weight", "encoder/embeddings_0/weight"),
               ("decoder/projection/weight", "encoder/embeddings_0/weight")]
    write_bin(f"{out}/model.bin", 6, "TransformerSpec", 7, variables, aliases)
    lines(f"{out}/shared_vocabulary.txt", words(20))


def write_argos(out):
    os.makedirs(f"{out}/unpacked", exist_ok=True)
    write_i8(f"{out}/unpacked/model")
    with zipfile.ZipFile(f"{out}/tiny.argosmodel", "w", zipfile.ZIP_DEFLATED) as archive:
        def put(name, data):
            archive.writestr(zipfile.ZipInfo("translate-fr_en/" + name), data, zipfile.ZIP_DEFLATED)
        put("metadata.json", json.dumps({"from_code": "fr", "to_code": "en", "type": "translate"}))
        put("README.md", "Nothing of interest.\n")
        for name in "model.bin", "shared_vocabulary.txt":
            put("model/" + name, open(f"{out}/unpacked/model/{name}", "rb").read())
    shutil.rmtree(f"{out}/unpacked")


def write(out):
    write_v2(f"{out}/ct2-v2")
    write_v6(f"{out}/ct2-v6")
    write_i8(f"{out}/ct2-i8")
    write_relative(f"{out}/ct2-relative")
    write_argos(out)


# ---- Conversion and comparison ------------------------------------------------------------------------

def convert(source, target, kind):
    os.makedirs(target, exist_ok=True)
    spec, revision, variables = read_bin(f"{source}/model.bin")
    out = {}
    for name, (code, shape, values) in variables.items():
        out[name] = (code, shape, values)
        if len(shape) != 2:
            continue
        rows = [values[r * shape[1]:(r + 1) * shape[1]] for r in range(shape[0])]
        if kind == "i8":
            scales = [single(127 / (max(map(abs, row)) or 127)) for row in rows]
            out[name] = (I8, shape, [round(single(x * s)) for row, s in zip(rows, scales) for x in row])
            out[name + "_scale"] = (F32, (shape[0],), scales)
        elif kind == "i16":
            scale = single(2 ** 10 / max(map(abs, values)))
            out[name] = (I16, shape, [round(single(x * scale)) for x in values])
            out[name + "_scale"] = (F32, (), [scale])
        else:
            out[name] = ({"f16": F16, "bf16": BF16}[kind], shape, values)
    write_bin(f"{target}/model.bin", 5, spec, revision, out)
    for name in os.listdir(source):
        if name != "model.bin":
            shutil.copy(f"{source}/{name}", target)


def read_safetensors(path):
    data = open(path, "rb").read()
    n, = struct.unpack_from("<Q", data)
    code = {"F32": F32, "F16": F16, "BF16": BF16, "I8": I8}
    out = {}
    for name, entry in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        out[name] = unpack(code[entry["dtype"]], data[8 + n + begin:8 + n + end])
    return out


def real(variables, name):
    code, shape, values = variables[name]
    if code == I8:
        scales = variables[name + "_scale"][2]
        return [single(v / scales[i // shape[1]]) for i, v in enumerate(values)]
    if code == I16:
        scale = variables[name + "_scale"][2][0]
        return [single(v / scale) for v in values]
    return values


def check(source, ours):
    _, _, variables = read_bin(f"{source}/model.bin")
    mine = read_safetensors(f"{ours}/model.safetensors")
    wrong = 0
    n = 0

    def compare(name, parts):
        nonlocal wrong, n
        if name not in variables:
            return
        n += 1
        expected = real(variables, name)
        got = [x for part in parts for x in mine.pop(part)]
        if got != expected:
            print(f"{name} differs from {' and '.join(parts)}")
            wrong += 1

    for side in "encoder", "decoder":
        layer = 0
        while f"{side}/layer_{layer}/ffn/linear_0/weight" in variables:
            for name, parts in sources(f"{side}/", f"model.{side}.layers.{layer}.", side, layer):
                compare(name, parts)
            layer += 1
        for end, here in ("gamma", "weight"), ("beta", "bias"):
            compare(f"{side}/layer_norm/{end}", [f"model.{side}.layer_norm.{here}"])
    compare("encoder/embeddings/weight", ["model.encoder.embed_tokens.weight"])
    compare("decoder/embeddings/weight", ["model.decoder.embed_tokens.weight"])
    compare("decoder/projection/weight", ["lm_head.weight"])
    compare("decoder/projection/bias", ["final_logits_bias"])
    if mine or wrong or n < 100:
        print(f"{n} variables compared, {wrong} wrong, unexplained: {list(mine)}")
        sys.exit(1)


if __name__ == "__main__":
    {"write": write, "convert": convert, "check": check}[sys.argv[1]](*sys.argv[2:])
