# SPDX-License-Identifier: ISC
# Tiers: gcc
"""tests/bench/scale.py: where a formula is known, the simulator agrees with it; and what must
always hold does hold."""
import math
import os
import random
import sys
import unittest
import xml.etree.ElementTree

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCES, "tests", "bench"))
import scale  # noqa: E402  pylint: disable=wrong-import-position

# Only the costs of a worker, which serves one sentence after the other: a queue of the textbook.
ONLY_WORK = scale.Costs(step=0, sentence_step=5e-4, loop_hit=0, loop_shared=0, loop_miss=0, redis_get=0, redis_put=0, redis_idle=0, proxy=0)
NEW = scale.Zipf(fresh=1.0)
N = 20_000


def cluster(**other):
    return scale.Cluster(**{"servers": 1, "workers": 1, "cores": 8, "slots": 1, "cache": 1, "has_redis": False, "hop": 0, **other})


def exponential(mean_s, seed=5):
    """steps_of() for sentences whose work is exponentially distributed."""
    chance = random.Random(seed)
    return lambda _sentence: max(1, round(chance.expovariate(1) * mean_s / ONLY_WORK.sentence_step))


class Formulas(unittest.TestCase):
    def near(self, found, said, part):
        self.assertLess(abs(found / said - 1), part, f"{found} found, {said} by the formula")

    def test_one_worker(self):
        result = scale.simulate(ONLY_WORK, cluster(), NEW, N, rate=60, steps_of=exponential(0.01))
        self.near(result.rate, 60, 0.03)
        self.near(result.mean, 1 / (100 - 60), 0.15)
        self.near(result.middle, math.log(2) / (100 - 60), 0.15)
        self.near(result.p99, math.log(100) / (100 - 60), 0.15)
        self.near(result.use["cores"] * 8, 0.6, 0.03)

    def test_several_workers_with_one_queue(self):
        c, load = 3, 3 * 0.8
        terms = [load ** k / math.factorial(k) for k in range(c)]
        last = load ** c / math.factorial(c) / (1 - load / c)
        waiting = last / (sum(terms) + last)  # Erlang's C
        result = scale.simulate(ONLY_WORK, cluster(workers=c), NEW, N, rate=240, steps_of=exponential(0.01))
        self.near(result.mean, waiting / (300 - 240) + 0.01, 0.15)

    def test_workers_that_share_one_core_do_together_what_one_does(self):
        result = scale.simulate(ONLY_WORK, cluster(workers=4, cores=1), NEW, N, rate=60, steps_of=exponential(0.01))
        self.near(result.mean, 1 / (100 - 60), 0.15)

    def test_a_step_serves_all_that_take_part(self):
        costs = scale.Costs(step=1e-3, sentence_step=1e-4, loop_hit=0, loop_shared=0, loop_miss=0, proxy=0)
        for n in 1, 16:  # always n sentences under way, of ten steps each
            result = scale.simulate(costs, cluster(slots=16), NEW, 1000 * n, clients=n, steps_of=lambda _sentence: 10)
            self.near(result.rate, n / (10 * (1e-3 + n * 1e-4)), 0.05)

    def test_one_client_waits_for_each_part_of_the_way(self):
        costs = scale.Costs(step=1e-3, sentence_step=2e-3, loop_miss=4e-4, redis_get=1e-4, redis_put=1e-4, redis_idle=0, proxy=3e-4, client=1e-3)
        result = scale.simulate(costs, cluster(has_redis=True, hop=5e-4), NEW, 400, clients=1, steps_of=lambda _sentence: 3)
        way = 3e-4 + 4 * 5e-4 + 4e-4 + 1e-4 + 3 * 3e-3
        self.near(result.mean, way, 1e-6)
        self.near(result.redis_commands, 2 * result.rate, 0.02)

    def test_caches_that_have_long_been_in_use(self):
        """Che's approximation against simulated caches of the same sizes, a server's own and the
        shared one."""
        zipf = scale.Zipf(n=3000, fresh=0.2)
        shape = scale.Cluster(servers=3, cache=150, redis_cache=600, hop=0)
        found = [scale.simulate(scale.Costs(), shape, zipf, 10_000, rate=300, settled=settled) for settled in (300, 0)]
        for name in "own", "shared":
            said, true = (getattr(result, name) for result in found)
            self.assertLess(abs(said - true), 0.04, name)


class Always(unittest.TestCase):
    def test_more_machines_do_more_until_something_shared_is_busy(self):
        costs = scale.Costs(client=0, proxy=1e-4)
        rates = [scale.simulate(costs, scale.Cluster(servers=n, proxy_threads=1), NEW, 4000, clients=400) for n in (1, 2, 4, 16)]
        for before, after in zip(rates, rates[1:]):
            self.assertGreater(after.rate, before.rate * 0.99)
        self.assertEqual((rates[0].saturates_first(), rates[-1].saturates_first()), ("cores", "HAProxy"))
        self.assertLessEqual(rates[-1].rate, 1 / 1e-4 * 1.01)

    def test_a_redis_that_is_slow_costs_its_time_limit(self):
        costs = scale.Costs(redis_get=0.1, step=0, sentence_step=1e-5, loop_miss=0)
        result = scale.simulate(costs, cluster(has_redis=True, redis_timeout=0.02), NEW, 4000, rate=200)
        self.assertGreater(result.late, 0.9)
        self.assertLess(result.p99, 0.03)
        self.assertEqual(result.saturates_first(), "Redis")

    def test_a_part_of_many_servers_stands_for_all(self):
        shape, users = scale.Cluster(servers=2 * scale.SAMPLE), 2 * scale.SAMPLE * 2000
        part = scale.of_users(scale.Costs(), shape, users, n=4000)
        most, scale.SAMPLE = scale.SAMPLE, 2 * scale.SAMPLE
        try:
            whole = scale.of_users(scale.Costs(), shape, users, n=4000)
        finally:
            scale.SAMPLE = most
        for name in "rate", "redis_commands", "own", "mean":
            self.assertLess(abs(getattr(part, name) / getattr(whole, name) - 1), 0.1, name)

    def test_the_same_seed_finds_the_same(self):
        again = [scale.of_users(scale.Costs(), scale.Cluster(), 5000, n=2000) for _ in range(2)]
        self.assertEqual(again[0], again[1])

    def test_ten_times_the_users_need_more_machines_and_a_cache_spares_some(self):
        heavy = scale.Costs(step=1e-3, sentence_step=1e-2)
        few, many = (scale.fewest(heavy, scale.Cluster(), users, n=2000)[1] for users in (100, 1000))
        bare = scale.fewest(heavy, scale.Cluster(has_redis=False, cache=1), 1000, n=2000)[1]
        self.assertTrue(few < many < bare, (few, many, bare))

    def test_the_picture_is_one(self):
        result = scale.of_users(scale.Costs(), scale.Cluster(), 1000, n=400)
        rows = [(users, has_redis, 1, n, result) for users, n in ((1000, 1), (10_000, 3)) for has_redis in (True, False)]
        root = xml.etree.ElementTree.fromstring(scale.picture({"a": rows}, {1: [(0.5, 0.05), (0.9, 0.2)]}))
        self.assertEqual(sum(tag.tag.endswith("polyline") for tag in root), 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
