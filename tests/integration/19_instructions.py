# SPDX-License-Identifier: ISC
# Tiers: gcc
"""Instructions for each token of a small network, counted by callgrind: a guard against slower code
that neither a busy machine nor its clock can disturb. Each figure is the difference between
decoding 8 and 16 tokens, so that it leaves out loading, packing and encoding. A figure above its
budget means that the code became slower: find out why, or raise the budget and give the reason.
A figure far below its budget means that the code became faster: lower the budget."""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MKMODEL = os.path.abspath(os.environ.get("DRAGOMAN_MKMODEL", "./tests/support/mkmodel"))
SHAPE = ["--D", "64", "--F", "128", "--heads", "4", "--layers", "2", "--vocab", "512", "--seed", "1"]
RUNS = 4  # bench's warm-up and its three runs: under callgrind one run takes far longer than the --time asked for

# Thousands of instructions per token with the table "avx2", gcc 12 -O2 -g (configure lists this
# test for no other build), plus a twelfth.
BUDGETS = {("i8", 1, 1): 77, ("i8", 8, 1): 57, ("f32", 8, 1): 61, ("i8", 2, 4): 240}


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def count(model, kind, batch, beam, tokens):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, "bench", "--model", model,
               "--type", kind, "--batch", str(batch), "--beam", str(beam), "--source-len", "4", "--target-len", str(tokens),
               "--time", "1ms"]
    done = subprocess.run(command, capture_output=True, timeout=300, check=False, env={**os.environ, "DRAGOMAN_KERNELS": ""})
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    if b"kernels=avx2" not in done.stdout:
        skip("needs a CPU with AVX2")
    if b"runs=3 " not in done.stdout:
        raise AssertionError(done.stdout.decode())
    return int(re.search(rb"Collected : (\d+)", done.stderr)[1])


class Instructions(unittest.TestCase):
    def test_no_more_of_them_than_before(self):
        parent = tempfile.TemporaryDirectory()
        self.addCleanup(parent.cleanup)
        model = os.path.join(parent.name, "model")
        subprocess.run([MKMODEL, model, *SHAPE], check=True)
        for (kind, batch, beam), budget in BUDGETS.items():
            more = count(model, kind, batch, beam, 16) - count(model, kind, batch, beam, 8)
            thousands = more / (RUNS * batch * 8) / 1000
            print(f"{kind} batch {batch} beam {beam}: {thousands:.0f} thousand instructions a token, budget {budget}")
            with self.subTest(kind=kind, batch=batch, beam=beam):
                self.assertLessEqual(thousands, budget)
                self.assertGreater(thousands, budget / 3)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        skip("needs x86-64")
    if not shutil.which("valgrind"):
        skip("needs valgrind")
    unittest.main(verbosity=2)
