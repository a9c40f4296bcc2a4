# SPDX-License-Identifier: ISC
# Tiers: gcc
"""What readers of clients' bytes cost. Texts of 8, 64 and 512 KB repeat a pattern, and a text of
eight times the length may cost at most twelve times as much: half as much again for logarithms and
for what grows in steps. Cancelling requests while eight times as many are open may cost twelve
times as much, too.

All texts are read once by the clock. Where the larger took more than ten times as long as the
smaller, again and again, callgrind counts instructions, and these decide: the clock alone makes no
test fail. A cost that grows with the square and is twelve times as much at 64 KB as at 8 KB is
thirty times as much at 512 KB as at 64 KB, far more than the clock errs.

DRAGOMAN_SEED draws other patterns, DRAGOMAN_ROUNDS more of them; with DRAGOMAN_SLOW callgrind
counts all."""
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
SIZES = 3
STEP = 8        # from one size to the next
GROWTH = 12     # of the cost in instructions, at most
SUSPECT = 10    # the same by the clock
SMALL = 20_000  # instructions; less counts as this much
SHORT = 10_000  # nanoseconds; likewise
TRIES = 3


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def total(path):
    with open(path, encoding="utf-8") as file:
        return int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)[1])


def read(times, numbers, before=()):
    """{number: (reader and pattern, [nanoseconds for each size])} of these patterns, or of all"""
    seed, rounds = os.environ.get("DRAGOMAN_SEED", "1"), os.environ.get("DRAGOMAN_ROUNDS", "1")
    command = [*before, PROGRAM, seed, rounds, LANGID, str(times), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, timeout=3600, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    found = {}
    for line in done.stdout.decode("utf-8", "replace").split("\0")[:-1]:
        number, *costs, name = line.split(" ", SIZES + 1)
        found[int(number)] = (name, [int(cost) for cost in costs])
    return found


def count(numbers):
    """[(reader and pattern, [instructions for each size])] of these patterns"""
    with tempfile.TemporaryDirectory() as folder:
        read_them = read(1, numbers, ["valgrind", "--tool=callgrind", "--toggle-collect=dg_test_read", "--dump-after=dg_test_read",
                                      "--compress-pos=yes", f"--callgrind-out-file={folder}/out"])
        files = sorted(glob.glob(f"{folder}/out.*"), key=lambda name: int(name.rsplit(".", 1)[1]))
        costs = [total(name) for name in files][:SIZES * len(read_them)]
    if len(costs) != SIZES * len(read_them):
        raise AssertionError(f"{len(read_them)} patterns, {len(costs)} counts")
    return [(name, costs[SIZES * i:SIZES * (i + 1)]) for i, (name, _) in enumerate(read_them.values())]


def grows(costs, factor, least):
    """Whether a text costs more than `factor` times as much as the one before it, or as what that would
    cost if its bytes were as dear as those of the smallest."""
    most = max(least, costs[0])
    for cost in costs[1:]:
        if cost > factor * most:
            return True
        most = max(STEP * most, cost)
    return False


class Linear(unittest.TestCase):
    def test_eight_times_the_bytes_at_most_twelve_times_the_work(self):
        timed = read(3, ())
        self.assertGreater(len(timed), 200)
        print(f"{len(timed)} patterns; the dearest byte took", max((costs[-1] >> 19, name) for name, costs in timed.values()), "ns")
        suspects, tries = list(timed), 0 if os.environ.get("DRAGOMAN_SLOW") else TRIES
        while suspects and tries > 0:
            suspects = [number for number, (_, costs) in timed.items() if grows(costs, SUSPECT, SHORT)]
            tries -= 1
            if suspects and tries > 0:
                timed = read(3, suspects)
        if not suspects:
            return
        counted = count(suspects)
        for name, costs in counted:
            print(f"{name}: {costs} instructions")
        self.assertEqual([], [name for name, costs in counted if grows(costs, GROWTH, SMALL)])


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        skip("needs valgrind")
    unittest.main(verbosity=2)
