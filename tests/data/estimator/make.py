#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes the tiny random encoder beside it, which says one number of two texts: that of tests/data/enc/bert-pair, with the
first of its three labels as the number, made larger so that texts differ in it. Needs nothing but Python."""
import json
import os
import shutil
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
FROM = os.path.join(HERE, "..", "enc", "bert-pair")
LARGER = 4.0


def read_tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    return {name: (item["dtype"], item["shape"], data[8 + n + item["data_offsets"][0]:8 + n + item["data_offsets"][1]])
            for name, item in head.items()}


def write_tensors(path, tensors):
    head, body = {}, b""
    for name, (kind, shape, raw) in tensors.items():
        head[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def first_row(tensor):
    kind, shape, raw = tensor
    assert kind == "F16", kind
    n = shape[1] if len(shape) > 1 else 1
    numbers = [LARGER * x for x in struct.unpack(f"<{n}e", raw[:2 * n])]
    return kind, [1, *shape[1:]], struct.pack(f"<{n}e", *numbers)


tensors = read_tensors(os.path.join(FROM, "model.safetensors"))
for name in ("classifier.weight", "classifier.bias"):
    tensors[name] = first_row(tensors[name])
write_tensors(os.path.join(HERE, "model.safetensors"), tensors)
with open(os.path.join(FROM, "config.json"), encoding="utf-8") as file:
    config = json.load(file)
del config["id2label"], config["label2id"]
config |= {"num_labels": 1, "problem_type": "regression"}
with open(os.path.join(HERE, "config.json"), "w", encoding="utf-8") as file:
    json.dump(config, file, indent=2)
    file.write("\n")
shutil.copyfile(os.path.join(FROM, "tokenizer.json"), os.path.join(HERE, "tokenizer.json"))
