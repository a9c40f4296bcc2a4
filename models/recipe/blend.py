#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes a model between two models of which one was trained on from the other. Weights between the
two are often better than either.

    blend.py OLD NEW SHARE OUT

The matrices are F16 or F32 (dragoman quantize --type f16 makes such a model from one in 8 bits).
OUT becomes a model directory whose weights are (1 - SHARE) OLD + SHARE NEW; everything else is
NEW's."""
import json
import os
import shutil
import struct
import sys

import numpy as np

TYPES = {"F16": np.float16, "F32": np.float32}


def open_weights(directory):
    """(the header as it is in the file, its tensors, the bytes after it)"""
    with open(os.path.join(directory, "model.safetensors"), "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8:end])
    tensors.pop("__metadata__", None)
    return data[:end], tensors, data[end:]


def values(tensor, data, name):
    if tensor["dtype"] not in TYPES:
        sys.exit(f"blend.py: {name} is {tensor['dtype']}, expected F16 or F32")
    first, end = tensor["data_offsets"]
    return np.frombuffer(data[first:end], TYPES[tensor["dtype"]]).astype(np.float32)


def main(old, new, share, out):
    _, old_tensors, old_data = open_weights(old)
    head, tensors, data = open_weights(new)
    if {n: t["shape"] for n, t in old_tensors.items()} != {n: t["shape"] for n, t in tensors.items()}:
        sys.exit(f"blend.py: {old} and {new} have other tensors, expected one network")
    blended = bytearray(data)
    for name, tensor in tensors.items():
        mean = (1 - share) * values(old_tensors[name], old_data, name) + share * values(tensor, data, name)
        first, end = tensor["data_offsets"]
        blended[first:end] = mean.astype(TYPES[tensor["dtype"]]).tobytes()
    os.makedirs(out)
    for name in os.listdir(new):
        if os.path.isfile(os.path.join(new, name)):
            shutil.copy(os.path.join(new, name), out)
    with open(os.path.join(out, "model.safetensors"), "wb") as file:
        file.write(head + bytes(blended))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
