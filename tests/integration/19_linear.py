# SPDX-License-Identifier: ISC
# Tiers: gcc
"""What readers of clients' bytes cost, counted by callgrind in instructions. For texts of 8, 16, 32
and 64 KB that repeat a pattern, a text of twice the length may cost twice as much, plus a
quarter for logarithms and for what grows in steps. DRAGOMAN_SEED draws other patterns,
DRAGOMAN_ROUNDS more of them. Cancelling requests while twice as many are open may cost twice as
much, too."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath("./tests/support/reader_costs")
LANGID = os.path.join(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")), "data", "langid", "langid.bin")
SIZES = 4
SMALL = 20_000  # instructions; smaller costs are not compared
GROWTH = 2.5    # from one size to its double
WHOLE = 12      # from 8 to 64 KB


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def total(path):
    with open(path, encoding="utf-8") as file:
        return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)[1])


def count(folder, seed, rounds):
    """[(reader and pattern, [instructions for each size])]"""
    command = ["valgrind", "--tool=callgrind", "--toggle-collect=dg_test_read", "--dump-after=dg_test_read", "--compress-pos=yes",
               f"--callgrind-out-file={folder}/out", PROGRAM, str(seed), str(rounds), LANGID]
    done = subprocess.run(command, capture_output=True, timeout=1200, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    names = done.stdout.decode("utf-8", "replace").split("\0")[:-1]
    files = sorted(glob.glob(f"{folder}/out.*"), key=lambda name: int(name.rsplit(".", 1)[1]))
    costs = [total(name) for name in files][:SIZES * len(names)]
    if len(costs) != SIZES * len(names):
        raise AssertionError(f"{len(names)} patterns, {len(costs)} counts")
    return [(name, costs[SIZES * i:SIZES * (i + 1)]) for i, name in enumerate(names)]


class Linear(unittest.TestCase):
    def test_twice_the_bytes_at_most_twice_the_work(self):
        seed, rounds = os.environ.get("DRAGOMAN_SEED", "1"), os.environ.get("DRAGOMAN_ROUNDS", "1")
        with tempfile.TemporaryDirectory() as folder:
            counted = count(folder, seed, rounds)
        self.assertGreater(len(counted), 200)
        bad = []
        for name, costs in counted:
            steps = [after / before for before, after in zip(costs, costs[1:])]
            if costs[-1] > SMALL and (steps[-1] > GROWTH or costs[-1] > WHOLE * max(costs[0], SMALL)):
                bad.append(f"{name}: {costs} instructions, {costs[-1] / 65536:.0f} a byte")
        print(f"{len(counted)} patterns; the dearest byte has",
              max((costs[-1] // 65536, name) for name, costs in counted))
        self.assertEqual([], bad)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        skip("needs valgrind")
    unittest.main(verbosity=2)
