# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Pairs of sentences as ids: reads them from files of `dragoman train`, packs and unpacks them."""
import json
import lzma

import numpy as np


def read_corpus(path):
    """The pairs of a training/pairs.bin (src/train/data/corpus.h): a list of (source, target), each
    the bytes of 16-bit ids."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"dgpairs1":
        raise SystemExit(f"{path}: not a file of pairs of dragoman train")
    n, n_ids = (int(x) for x in np.frombuffer(data, "<u8", 2, 8))
    offsets = np.frombuffer(data, "<u8", 2 * n + 1, 24).astype(np.int64)
    ids = np.frombuffer(data, "<i4", n_ids, 24 + 8 * (2 * n + 1))
    if n_ids and ids.max() > 0xFFFF:
        raise SystemExit(f"{path}: has the id {ids.max()}; expected vocabularies of at most 65,536 pieces")
    ids = ids.astype(np.uint16)
    sides = [ids[begin:end].tobytes() for begin, end in zip(offsets[:-1], offsets[1:])]
    return list(zip(sides[0::2], sides[1::2]))


class Sides:
    """Many sequences of ids in one array: number i is ids[offsets[i]:offsets[i + 1]]."""

    def __init__(self, lengths, ids):
        self.lengths = np.asarray(lengths, np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        self.ids = np.asarray(ids, np.int64)

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return self.ids[self.offsets[i]:self.offsets[i + 1]]


class Pairs:
    """Distinct pairs, and how often each counts in an epoch."""

    def __init__(self, sources, targets, counts):
        self.sources, self.targets, self.counts = sources, targets, np.asarray(counts, np.int64)

    def __len__(self):
        return len(self.sources)

    def swapped(self):
        return Pairs(self.targets, self.sources, self.counts)


def merged(pairs):
    """Each distinct pair of a list once, with its count, in the order of their first occurrence."""
    counts = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    return [(source, target, count) for (source, target), count in counts.items()]


def write(path, config, sets):
    """`sets` maps names to lists that merged() returns. `config` is the student's config.json."""
    with lzma.open(path, "wb", preset=6) as out:
        sizes = {name: len(pairs) for name, pairs in sets.items()}
        out.write(json.dumps({"config": config, "sizes": sizes}).encode() + b"\n")
        for pairs in sets.values():
            for side in 0, 1:
                out.write(np.array([len(pair[side]) // 2 for pair in pairs], "<u2").tobytes())
            out.write(np.array([min(pair[2], 65535) for pair in pairs], "<u2").tobytes())
            for side in 0, 1:
                out.write(b"".join(pair[side] for pair in pairs))


def read(path):
    """(config, {name: Pairs})"""
    with lzma.open(path, "rb") as file:
        head = json.loads(file.readline())

        def array(n):
            return np.frombuffer(file.read(2 * n), "<u2")
        sets = {}
        for name, n in head["sizes"].items():
            lengths = [array(n), array(n)]
            counts = array(n)
            sets[name] = Pairs(*(Sides(one, array(int(one.sum(dtype=np.int64)))) for one in lengths), counts)
    return head["config"], sets
