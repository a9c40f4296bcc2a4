#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Proves that no sentence on which a model is measured is among those from which it learned:

    apart.py MEASURED... -- LEARNED...

All files contain lines French<TAB>English (or one text per line), plain or gzip. No side of a line
of MEASURED may be a side of a line of LEARNED, compared as bare words without case and punctuation.
Sides found in both are printed to standard output with their files; then the exit status is 1."""
import sys

import collect


def sides(path):
    for line in collect.lines(path):
        for text in line.split("\t")[:2]:
            bare = collect.bare(text)
            if bare:
                yield bare, text


def main(measured, learned):
    asked = {}
    for path in measured:
        for bare, text in sides(path):
            asked.setdefault(bare, (path, text))
    n_shared = n_sides = 0
    for path in learned:
        for bare, text in sides(path):
            n_sides += 1
            if bare in asked:
                n_shared += 1
                print(f"{asked[bare][0]}: {asked[bare][1]}\t{path}: {text}")
    print(f"{len(asked)} sentences measured on, {n_sides} learned from, {n_shared} of them shared",
          file=sys.stderr)
    return 1 if n_shared else 0


if __name__ == "__main__":
    if "--" not in sys.argv or not 1 < sys.argv.index("--") < len(sys.argv) - 1:
        sys.exit(__doc__)
    border = sys.argv.index("--")
    sys.exit(main(sys.argv[1:border], sys.argv[border + 1:]))
