#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""English sentences without a French side, given one by the model of the other direction:

    back.py EN-FR KNOWN.tsv HELD-OUT.tsv OUT.tsv [DRAGOMAN] < ENGLISH

Sentences that are already in KNOWN or HELD-OUT (lines French<TAB>English), letters and digits alone compared, are left out;
OUT gets lines French<TAB>English of the others. The English is somebody's own, and that is the side that is learnt to be said."""
import re
import subprocess
import sys

LEN_MAX = 200


def bare(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def english_of(path):
    with open(path, encoding="utf-8") as lines:
        return {bare(line.rstrip("\n").split("\t")[1]) for line in lines}


def main():
    model, known, held_out, out = sys.argv[1:5]
    program = sys.argv[5] if len(sys.argv) > 5 else "dragoman"
    seen, kept = english_of(known) | english_of(held_out), []
    for line in sorted(set(sys.stdin)):
        key = bare(line)
        if key and key not in seen and len(line) <= LEN_MAX:
            seen.add(key)
            kept.append(line)
    french = subprocess.run([program, "translate", "-q", "--model", model, "--beam", "1", "--threads", "2"],
                            input="".join(kept), stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.splitlines()
    if len(french) != len(kept):
        sys.exit(f"back.py: {len(kept)} sentences, {len(french)} translations")
    with open(out, "w", encoding="utf-8") as pairs:
        pairs.writelines(f"{f}\t{e}" for f, e in zip(french, kept))
    print(f"back.py: {len(kept)} pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
