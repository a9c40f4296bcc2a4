#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Writes the pairs that the embedded models learn from, without those that they are measured on:

    collect.py OUT AWAY... -- FILE[=HELD[/TAKEN]]...

FILEs and AWAYs contain lines French<TAB>English, plain or gzip. OUT/NAME.tsv gets the pairs of each
FILE, except those that share a side with a pair of any AWAY (compared as bare words without case),
and except HELD pairs that are held out (none if HELD is not given). The held-out pairs of a FILE go
to OUT/held/NAME.tsv, and those of all FILEs together to OUT/dev.tsv. If a FILE has TAKEN, only
every TAKENth of its pairs is used. The held-out pairs are chosen by a hash of the pair: the same
files give the same pairs, whatever their order."""
import gzip
import hashlib
import os
import re
import sys

WORDS = re.compile(r"\w+")
HELD_WORDS_MIN = 4  # a held-out pair is a sentence


def bare(text):
    """The text without case, punctuation and spacing, to find sentences otherwise equal."""
    return " ".join(WORDS.findall(text.casefold()))


def lines(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def read(path):
    for line in lines(path):
        sides = line.split("\t")
        if len(sides) >= 2 and bare(sides[0]) and bare(sides[1]):
            yield sides[0], sides[1]


def rank(pair):
    return hashlib.sha1("\t".join(pair).encode()).digest()


def asked(text):
    """(path, how many pairs are held out, n: every nth pair is used)"""
    found = re.fullmatch(r"(.*?)(?:=(\d+)(?:/(\d+))?)?", text)
    return found.group(1), int(found.group(2) or 0), int(found.group(3) or 1)


def name_of(path):
    return os.path.basename(path).split(".tsv")[0]


def write(path, pairs):
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.writelines("\t".join(pair) + "\n" for pair in pairs)


def main(out, away, files):
    os.makedirs(os.path.join(out, "held"), exist_ok=True)
    measured = {bare(side) for path in away for pair in read(path) for side in pair}
    kept, held = {}, {}
    for path, n_held, taken in map(asked, files):
        pairs = [pair for i, pair in enumerate(read(path)) if i % taken == 0]
        clear = [pair for pair in pairs if not any(bare(side) in measured for side in pair)]
        long = [pair for pair in clear if len(bare(pair[1]).split()) >= HELD_WORDS_MIN]
        name = name_of(path)
        held[name] = sorted(long, key=rank)[:n_held]
        kept[name] = clear
        print(f"{name}: {len(pairs)} pairs, {len(pairs) - len(clear)} of them measured on, {len(held[name])} held out")
    ours = {bare(side) for pairs in held.values() for pair in pairs for side in pair}
    for name, pairs in kept.items():
        write(os.path.join(out, name + ".tsv"),
              (p for p in pairs if not any(bare(side) in ours for side in p)))
        if held[name]:
            write(os.path.join(out, "held", name + ".tsv"), held[name])
    write(os.path.join(out, "dev.tsv"), (pair for pairs in held.values() for pair in pairs))


if __name__ == "__main__":
    if "--" not in sys.argv or sys.argv.index("--") < 2:
        sys.exit(__doc__)
    border = sys.argv.index("--")
    main(sys.argv[1], sys.argv[2:border], sys.argv[border + 1:])
