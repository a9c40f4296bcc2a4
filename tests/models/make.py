#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes the small trained models of this folder anew, each in a second, of the toy language (tests/support/toy_language.py):

    tests/models/make.py [DRAGOMAN]        the program to train with; ./dragoman otherwise

One of every family that `dragoman train` makes. Other machines round otherwise and get other bits, but models as good:
tests/unit/engine/test_families.c asks for the translations of pairs.tsv, which none of them has seen."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import toy_language  # noqa: E402

KEPT = ("config.json", "model.safetensors", "source.spm", "target.spm")


def main():
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "./dragoman")
    learnt = toy_language.pairs(400)
    with tempfile.TemporaryDirectory() as root:
        pairs = os.path.join(root, "toy.tsv")
        with open(pairs, "w", encoding="utf-8") as out:
            out.writelines(f"{s}\t{t}\n" for s, t in learnt)
        for name, recipe in toy_language.RECIPES.items():
            made, kept = os.path.join(root, name), os.path.join(HERE, name)
            subprocess.run([program, "train", "--out", made, *toy_language.COMMON, "--normaliser", "ascii", *recipe, pairs],
                           check=True)
            shutil.rmtree(kept, ignore_errors=True)
            os.mkdir(kept)
            for file in KEPT:
                if os.path.exists(os.path.join(made, file)):
                    shutil.copyfile(os.path.join(made, file), os.path.join(kept, file))
    seen = {s for s, _ in learnt}
    new = dict(pair for pair in toy_language.pairs(200, seed=99) if pair[0] not in seen)
    with open(os.path.join(HERE, "pairs.tsv"), "w", encoding="utf-8") as out:
        out.writelines(f"{s}\t{t}\n" for s, t in list(new.items())[:24])


if __name__ == "__main__":
    main()
