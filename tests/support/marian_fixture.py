#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes tiny Marian .bin packages, independently of src/model. Needs nothing but Python.

    marian_fixture.py DIR    DIR/bin-f32, DIR/bin-bergamot, DIR/bin-upstream, DIR/bin-amun; DIR/nllb.spm, with NLLB's
                             special pieces

Every number follows the rule of write_fixtures.py. bin-f32 is float32 with a padded
configuration; bin-bergamot has intgemm8 with the Bergamot fork's code for it, quantised
embeddings, alphas, a shortlist; bin-upstream has the other code, float embeddings, and two
vocabularies. bin-amun is an old recurrent network in float32, with the records of its training:
a scalar and an array without elements among them.
"""
import os
import struct
import sys

from write_fixtures import D, F, H, LAYERS, R, V, amun, marian_name, numbers, shapes

FLOAT32, INT8, BERGAMOT, UPSTREAM = 0x404, 0x101, 0x4101, 0x10001


def up(n):
    return (n + 255) // 256 * 256


def write_bin(path, items, pad_meta):
    """items: (name, type, shape, bytes)"""
    head = struct.pack("<QQ", 1, len(items))
    names = shapes_ = data = b""
    for name, kind, shape, content in items:
        meta = name.startswith("special:")
        stored = up(len(content)) if pad_meta or not meta else len(content)
        head += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), stored)
        names += name.encode() + b"\0"
        shapes_ += struct.pack(f"<{len(shape)}i", *shape)
        data += content + b"\0" * (stored - len(content))
    start = head + names + shapes_
    padding = ((len(start) + 8) // 256 + 1) * 256 - len(start) - 8
    with open(path, "wb") as file:
        file.write(start + struct.pack("<Q", padding) + b"\0" * padding + data)


def config(split):
    return "\n".join([
        "type: transformer", f"dim-emb: {D}", f"enc-depth: {LAYERS}", f"dec-depth: {LAYERS}",
        f"transformer-heads: {H}", f"transformer-dim-ffn: {F}", "transformer-ffn-activation: relu",
        "transformer-decoder-autoreg: rnn", "dec-cell: ssru", "transformer-preprocess: \"\"",
        "transformer-postprocess: dan",
        "tied-embeddings: true" if split else "tied-embeddings-all: true"]).encode() + b"\n\0"


def is_quantised(name, kind):
    """Whether a tensor is quantised: names that end in _W or in _W and one character; Wemb in the
    fork only."""
    return name[-2:] == "_W" or name[-3:-1] == "_W" or (kind == BERGAMOT and "Wemb" in name)


def items(kind, split):
    out = [("special:model.yml", INT8, (len(config(split)),), config(split))]
    named = dict(shapes("ssru"))
    if split:
        words = named.pop("model.shared.weight")
        named["model.encoder.embed_tokens.weight"] = named["model.decoder.embed_tokens.weight"] = words
    for name, shape in named.items():
        marian = {"model.encoder.embed_tokens.weight": "encoder_Wemb",
                  "model.decoder.embed_tokens.weight": "decoder_Wemb"}.get(name) or marian_name(name)
        rows = numbers(name, shape)
        if len(shape) == 1:
            out.append((marian, FLOAT32, (1, shape[0]), struct.pack(f"<{shape[0]}f", *rows)))
            continue
        embedding = "Wemb" in marian
        file_shape = shape if embedding else (shape[1], shape[0])
        ours = [x for row in rows for x in row]                            # ours: [out, in], row by row
        turned = [rows[r][c] for c in range(shape[1]) for r in range(shape[0])]
        if kind == FLOAT32 or not is_quantised(marian, kind):
            values = ours if embedding else turned
            out.append((marian, FLOAT32, file_shape, struct.pack(f"<{len(values)}f", *values)))
            continue
        # Quantised matrices [in, out] are stored column by column, which is our order of rows.
        content = struct.pack(f"<{len(ours)}b", *[int(x * 64) for x in ours]) + struct.pack("<f", 64)
        out.append((marian, kind, file_shape, content))
        if kind == BERGAMOT:
            out.append((marian + "_QuantMultA", FLOAT32, (1, 1), struct.pack("<f", 21.5)))
    return out


def amun_items():
    text = "\n".join(["type: amun", f"dim-emb: {D}", f"dim-rnn: {R}", f"dim-vocabs:\n  - {V}\n  - {V}", "enc-depth: 1",
                      "dec-depth: 1"]).encode() + b"\n\0"
    out = [("special:model.yml", INT8, (len(text),), text), ("decoder_c_tt", FLOAT32, (1, 1), bytes(4)),
           ("uidx", FLOAT32, (), bytes(4)), ("history_errs", FLOAT32, (1, 0), b"")]
    for name, shape, marian in amun():
        rows = numbers(name, shape)
        if len(shape) == 1:
            shape, values = (shape[0], 1) if marian == "decoder_U_att" else (1, shape[0]), rows
        elif name.endswith("embed_tokens.weight"):
            values = [x for row in rows for x in row]
        else:
            shape, values = shape[::-1], [row[c] for c in range(shape[1]) for row in rows]
        out.append((marian, FLOAT32, shape, struct.pack(f"<{len(values)}f", *values)))
    return out


# ---- What lies beside ---------------------------------------------------------------------------------

def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def spm(path, letters, specials=(("</s>", 0.0, 3), ("<unk>", 0.0, 2), ("\u2581", -2.0, 1)), unk=1, eos=0):
    pieces = list(specials)
    pieces += [(letter, -3.0 - i, 1) for i, letter in enumerate(letters)]
    out = b"".join(field(1, field(1, piece.encode()) + field(2, score) + (field(3, kind) if kind > 1 else b""))
                   for piece, score, kind in pieces)
    out += field(2, field(3, 1) + field(4, len(pieces)) + field(40, unk) + field(41, 0xffffffffffffffff) +
                 field(42, eos) + field(43, 0xffffffffffffffff))
    out += field(3, field(1, b"identity"))
    with open(path, "wb") as file:
        file.write(out)


def lex(path):
    lists = [[(s * 3 + i) % V for i in range(s % 4)] for s in range(V)]
    offsets = [0]
    for targets in lists:
        offsets.append(offsets[-1] + len(targets))
    body = struct.pack("<QQQQ", 5, 3, V + 1, offsets[-1]) + struct.pack(f"<{V + 1}Q", *offsets)
    body += struct.pack(f"<{offsets[-1]}I", *[t for targets in lists for t in targets])
    value = 0
    for word, in struct.iter_unpack("<Q", body[:len(body) // 8 * 8]):
        value ^= (word + 0x9e3779b9 + (value << 6) + (value >> 2)) & 0xffffffffffffffff
        value &= 0xffffffffffffffff
    with open(path, "wb") as file:
        file.write(struct.pack("<QQ", 0xF11A48D5013417F5, value) + body)


def main(out):
    letters = [chr(97 + i) for i in range(V - 3)]
    spm(f"{out}/nllb.spm", letters, (("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)), 0, 2)
    for name, kind, split in ("f32", FLOAT32, False), ("bergamot", BERGAMOT, False), ("upstream", UPSTREAM, True):
        folder = f"{out}/bin-{name}"
        os.makedirs(folder, exist_ok=True)
        write_bin(f"{folder}/model.fren.intgemm.alphas.bin", items(kind, split), kind != BERGAMOT)
        if split:
            spm(f"{folder}/srcvocab.fren.spm", letters)
            spm(f"{folder}/trgvocab.fren.spm", letters[::-1])
        else:
            spm(f"{folder}/vocab.fren.spm", letters)
        if kind == BERGAMOT:
            lex(f"{folder}/lex.50.50.fren.s2t.bin")
    os.makedirs(f"{out}/bin-amun", exist_ok=True)
    write_bin(f"{out}/bin-amun/model.bin", amun_items(), True)
    spm(f"{out}/bin-amun/vocab.spm", letters)


if __name__ == "__main__":
    main(sys.argv[1])
