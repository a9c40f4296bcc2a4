#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Packs what a training run has prepared into one small file, to be sent to a machine with a GPU:

    pack.py RUN OUT.xz

RUN is the directory of a `dragoman train`, in either direction, that has already written its
training/pairs.bin. OUT.xz gets the run's pairs from French to English as ids, each distinct pair
once with its count, the held-out pairs, and the network's config.json."""
import json
import re
import sys

import pairs


def main():
    run, out = sys.argv[1:]
    with open(f"{run}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    with open(f"{run}/training/recipe.conf", encoding="utf-8") as file:
        swapped = re.search(r"^swap = yes$", file.read(), re.MULTILINE)

    def packed(name):
        found = pairs.merged(pairs.read_corpus(f"{run}/training/{name}.bin"))
        return [(target, source, count) for source, target, count in found] if swapped else found
    sets = {name: packed(name) for name in ("pairs", "dev")}
    pairs.write(out, config, sets)
    print(", ".join(f"{len(found)} distinct of {name}.bin" for name, found in sets.items()))


main()
