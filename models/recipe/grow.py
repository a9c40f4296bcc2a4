#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes a larger model that begins with what a smaller one knows:

    grow.py OLD VOCAB.spm OUT ENCODER-LAYERS DECODER-LAYERS FFN

OLD is a Transformer of dragoman train with the norms before the sub-layers and with matrices in F16
or F32 (dragoman quantize --type f16 makes one from a model in 8 bits). OUT becomes a model
directory for dragoman train --init, in F32:

- A new layer is a copy of its neighbour whose output matrices are zero: at first it passes its
  input on unchanged, and it learns from there. New decoder layers are placed below the old ones, so
  that the head that knows alignments stays in the last layer.
- A wider feed-forward layer has new units whose outputs are zero.
- A piece that both vocabularies have keeps its row. A new piece gets the mean of the rows of the
  pieces in which the old vocabulary spells it; a byte or an unknown letter gets small random
  numbers.

Except for new pieces, the larger model gives the same output as the smaller one."""
import json
import os
import re
import struct
import sys

import numpy as np

TYPES = {"F16": np.float16, "F32": np.float32}
NORMAL = 1  # type of a piece in SentencePiece's files


def open_weights(directory):
    with open(os.path.join(directory, "model.safetensors"), "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:end])
    tensors.pop("__metadata__", None)
    weights = {}
    for name, tensor in tensors.items():
        if tensor["dtype"] not in TYPES:
            sys.exit(f"grow.py: {name} is {tensor['dtype']}, expected F16 or F32")
        first, last = tensor["data_offsets"]
        values = np.frombuffer(data[end + first:end + last], TYPES[tensor["dtype"]])
        weights[name] = values.astype(np.float32).reshape(tensor["shape"])
    return weights


def save_weights(directory, weights):
    head, place = {}, 0
    for name, values in weights.items():
        head[name] = {"dtype": "F32", "shape": list(values.shape),
                      "data_offsets": [place, place + values.nbytes]}
        place += values.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in weights.values():
            file.write(values.tobytes())


def fields(data):
    """(number, value) of each field of a protobuf message"""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def pieces_of(path):
    """(text, score, type) of each piece of a SentencePiece model"""
    with open(path, "rb") as file:
        messages = [value for number, value in fields(file.read()) if number == 1]
    pieces = []
    for message in messages:
        piece = dict(fields(message))
        score = struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0
        pieces.append((piece[1].decode(), score, piece.get(3, NORMAL)))
    return pieces


def spelled(text, scores):
    """The text split into pieces, by merging the neighbours with the best score first."""
    parts = list(text)
    while len(parts) > 1:
        best = max(range(len(parts) - 1),
                   key=lambda i: scores.get(parts[i] + parts[i + 1], -np.inf))
        if parts[best] + parts[best + 1] not in scores:
            break
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return parts


def rows_for(old, new, matrix, bias, draw):
    """The embedding and the output's bias for the new vocabulary."""
    places = {text: i for i, (text, _, _) in enumerate(old)}
    scores = {text: score for text, score, kind in old if kind == NORMAL}
    spread = 0.3 * float(matrix.std())
    rows = draw.normal(0, spread, (len(new), matrix.shape[1])).astype(np.float32)
    biases = np.full(len(new), bias.min(), np.float32)
    n_same = n_made = 0
    for i, (text, _, kind) in enumerate(new):
        if text in places:
            rows[i], biases[i] = matrix[places[text]], bias[places[text]]
            n_same += 1
            continue
        known = [places[part] for part in spelled(text, scores)
                 if part in places] if kind == NORMAL else []
        if known:
            rows[i], biases[i] = matrix[known].mean(0), bias[known].min()
            n_made += 1
    print(f"{n_same} pieces kept, {n_made} made of others, {len(new) - n_same - n_made} begin anew")
    return rows, biases


def wider(layer, ffn, draw):
    """The layer's tensors, with its feed-forward layer widened to `ffn` units."""
    first, bias, second = layer["fc1.weight"], layer["fc1.bias"], layer["fc2.weight"]
    more = ffn - len(first)
    if more < 0:
        sys.exit(f"grow.py: the feed-forward layers have {len(first)} units already")
    bound = (6 / (ffn + first.shape[1])) ** 0.5
    fresh = draw.uniform(-bound, bound, (more, first.shape[1])).astype(np.float32)
    nothing = np.zeros((second.shape[0], more), np.float32)
    return dict(layer, **{"fc1.weight": np.concatenate([first, fresh]),
                          "fc1.bias": np.concatenate([bias, np.zeros(more, np.float32)]),
                          "fc2.weight": np.concatenate([second, nothing], 1)})


def silent(layer):
    """A copy of the layer that adds nothing to its input."""
    ends = re.compile(r"(out_proj|fc2)\.(weight|bias)$")
    return {name: np.zeros_like(values) if ends.search(name) else values for name,
            values in layer.items()}


def layers_of(weights, side):
    layers = {}
    for name, values in weights.items():
        found = re.fullmatch(rf"model\.{side}\.layers\.(\d+)\.(.*)", name)
        if found:
            layers.setdefault(int(found.group(1)), {})[found.group(2)] = values
    return [layers[i] for i in sorted(layers)]


def encoder_of(layers, n):
    """The old layers with new ones spread among them, each after the layer that it copies."""
    n_new, made = n - len(layers), []
    for i, layer in enumerate(layers):
        made.append(layer)
        copies = (i + 1) * n_new // len(layers) - i * n_new // len(layers)
        made += [silent(layer)] * copies
    return made


def main(old, vocab, out, n_encoder, n_decoder, ffn):
    draw = np.random.default_rng(1)
    weights = open_weights(old)
    with open(os.path.join(old, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if config["norm_place"] != "pre":
        sys.exit("grow.py: expected norms before the sub-layers")
    encoder, decoder = layers_of(weights, "encoder"), layers_of(weights, "decoder")
    if n_encoder < len(encoder) or n_decoder < len(decoder):
        sys.exit(f"grow.py: there are {len(encoder)} and {len(decoder)} layers already")
    new = pieces_of(vocab)
    grown = {name: values for name, values in weights.items() if ".layers." not in name}
    grown["model.shared.weight"], biases = rows_for(pieces_of(os.path.join(old, "source.spm")), new,
                                                    weights["model.shared.weight"],
                                                    weights["final_logits_bias"].reshape(-1), draw)
    shape = weights["final_logits_bias"].shape[:-1] + (len(new),)
    grown["final_logits_bias"] = biases.reshape(shape)
    decoder = [silent(decoder[0])] * (n_decoder - len(decoder)) + decoder
    for side, layers in (("encoder", encoder_of(encoder, n_encoder)), ("decoder", decoder)):
        for i, layer in enumerate(layers):
            for name, values in wider(layer, ffn, draw).items():
                grown[f"model.{side}.layers.{i}.{name}"] = values
    os.makedirs(out)
    config.update(encoder_layers=n_encoder, decoder_layers=n_decoder, encoder_ffn_dim=ffn,
                  decoder_ffn_dim=ffn,
                  vocab_size=len(new), decoder_vocab_size=len(new))
    if "alignment_layer" in config:
        config["alignment_layer"] += n_decoder - len(layers_of(weights, "decoder"))
    with open(os.path.join(out, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    with open(vocab, "rb") as file, open(os.path.join(out, "source.spm"), "wb") as copy:
        copy.write(file.read())
    save_weights(out, grown)
    print(f"{sum(values.size for values in grown.values()):,} numbers")


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
