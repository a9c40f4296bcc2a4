# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""A simulator of many servers: how a cluster of docs/deploy/cluster.md serves so many users, and
what saturates first.

    python3 tests/bench/scale.py                                   the table of docs/deploy/cluster.md
    python3 tests/bench/scale.py --svg docs/deploy/scale.svg       and its picture
    python3 tests/bench/scale.py --users 50000 --servers 12        one case
    python3 tests/bench/scale.py --costs FILE ...                  with the costs of another machine: scale_measured.py

Time is virtual. Costs are seconds of processor time that scale_measured.py measures on the real
daemon; it also compares one, two and three real daemons with this simulator. A request goes the
way that it goes in a real cluster: through HAProxy to the server with the fewest requests
(`leastconn`), through that server's loop (one thread) and its cache, to Redis (one thread), and
if none of these knows the sentence, to a worker, which translates many sentences at once: each
of its steps costs a fixed time and a time for each sentence. Threads share their machine's cores
equally. A server does not wait for a Redis that takes longer than `redis-timeout`.

Of many servers only some are simulated, with their share of the requests and of the capacity of
HAProxy and Redis, because `leastconn` makes all servers alike. Not simulated: memory bandwidth
that cores share, the network's throughput, several models, long texts, bulk jobs, failures.
Standard library only."""
import argparse
import collections
import heapq
import itertools
import json
import math
import random
from dataclasses import dataclass, field, replace


@dataclass
class Costs:
    """Seconds of processor time, measured on the test machine (an EPYC) with the embedded fr-en at
    its own beam of 4."""
    step: float = 1.8e-5          # for a worker's step, however many sentences take part
    sentence_step: float = 8.7e-5 # for each sentence in the step, with its share of the encoder
    steps: float = 13.4           # for a sentence
    loop_hit: float = 4.5e-5      # of the loop for a request that its cache answers
    loop_shared: float = 7.2e-5   # for one that Redis answers
    loop_miss: float = 1.43e-4    # for one that is translated, with both calls to Redis
    redis_get: float = 4.9e-6
    redis_put: float = 5.6e-6
    redis_idle: float = 3.9e-4    # of Redis for each server in each second, whatever users do
    proxy: float = 3.7e-5         # of HAProxy for a request
    client: float = 0.0           # of the program that plays all users of a closed load, one at a time

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return Costs(**json.load(file))

    def of_steps(self):
        """The seconds of a sentence alone, and of one among many, where it is cheapest."""
        return self.steps * (self.step + self.sentence_step), self.steps * self.sentence_step


@dataclass
class Cluster:
    servers: int = 1
    workers: int = 2
    cores: float = 2.0            # of each server, for its loop and its workers; may be a fraction
    slots: int = 32               # sentences under way in each worker
    cache: int = 100_000          # sentences that each server remembers
    has_redis: bool = True
    redis_cache: int = 100_000_000
    redis_timeout: float = 0.02
    redis_keep: float = 7 * 86400.0
    proxy_threads: int = 4
    hop: float = 0.0002           # seconds from one machine to another


@dataclass
class Zipf:
    """The sentence of rank k is requested in proportion to 1/k; the share `fresh` of all are
    requested once and never again."""
    n: int = 1_000_000
    fresh: float = 0.5

    def __post_init__(self):
        self.numbers = itertools.count(-1, -1)

    def draw(self, chance):
        if self.fresh and chance.random() < self.fresh:
            return next(self.numbers)
        return min(int((self.n + 1) ** chance.random()), self.n)

    def known(self, rank, rate, seconds):
        """How likely it is that, of `rate` requests a second, one asked for this sentence within so
        many seconds."""
        if rank < 0:
            return 0.0
        return -math.expm1(-rate * (1 - self.fresh) / (rank * math.log(self.n + 1)) * seconds)

    def kept_for(self, rate, entries):
        """How many seconds a sentence that nobody asks for stays among `entries` of a
        least-recently-used cache (Che's approximation)."""
        bounds = [(self.n + 1) ** (k / 200) for k in range(201)]

        def kept(seconds):
            return rate * self.fresh * seconds + sum((b - a) * self.known(math.sqrt(a * b), rate, seconds)
                                                     for a, b in zip(bounds, bounds[1:]))

        if kept(1e9) <= entries:
            return 1e9
        low, high = 1e-9, 1e9
        while high / low > 1.001:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if kept(middle) < entries else (low, middle)
        return low


class Lru:
    """A cache that starts empty."""
    def __init__(self, entries):
        self.entries, self.kept = entries, collections.OrderedDict()

    def has(self, sentence):
        if sentence not in self.kept:
            return False
        self.kept.move_to_end(sentence)
        return True

    def put(self, sentence):
        self.kept[sentence] = True
        self.kept.move_to_end(sentence)
        if len(self.kept) > self.entries:
            self.kept.popitem(last=False)


class Settled:
    """A cache that has long been in use: it has each sentence with the probability that Che's
    approximation gives."""
    def __init__(self, zipf, rate, entries, keep, chance):
        self.zipf, self.rate, self.chance = zipf, rate, chance
        self.seconds = min(keep, zipf.kept_for(rate, entries)) if rate else 0

    def has(self, sentence):
        return self.chance.random() < self.zipf.known(sentence, self.rate, self.seconds)

    def put(self, sentence):
        pass


class Station:
    """Threads that serve in the order of arrival."""
    def __init__(self, threads=1, speed=1.0):
        self.free, self.speed, self.busy = [0.0] * threads, speed, 0.0

    def done_at(self, now, cost):
        cost /= self.speed
        end = max(now, self.free[0]) + cost
        heapq.heapreplace(self.free, end)
        self.busy += cost
        return end


@dataclass
class Request:
    sentence: int
    steps: int
    begun: float
    then: object = None  # what the loop does after its present part of it
    along: list = field(default_factory=list)  # other requests of this server that wait for the sentence


LOOP = 0


class Server:
    """Threads that share cores: the loop, which is thread 0, and workers. `left` is what remains of
    each thread's present work."""
    def __init__(self, sim, cache):
        cluster = sim.cluster
        self.sim, self.cache, self.cores, self.slots = sim, cache, cluster.cores, cluster.slots
        self.left = [None] * (1 + cluster.workers)
        self.busy = [0.0] * len(self.left)
        self.live = [[] for _ in self.left]  # of each worker: [steps to go, request]
        self.at_loop, self.queue, self.flights = collections.deque(), collections.deque(), {}
        self.last, self.speed, self.version, self.requests = 0.0, 1.0, 0, 0

    def to_loop(self, request, cost, then):
        request.then = then
        self.at_loop.append((cost, request))
        self.wake()

    def to_workers(self, request):
        self.queue.append(request)
        self.wake()

    def advance(self):
        done = (self.sim.now - self.last) * self.speed
        self.last = self.sim.now
        for k, left in enumerate(self.left):
            if left is not None:
                self.left[k] = left - done
                self.busy[k] += done

    def wake(self):
        """Gives work to threads that have none."""
        self.advance()
        begun = False
        for k, left in enumerate(self.left):
            if left is None:
                self.left[k] = self.loops_next() if k == LOOP else self.workers_next(k)
                begun = begun or self.left[k] is not None
        if begun:
            self.schedule()

    def loops_next(self):
        return self.at_loop[0][0] if self.at_loop else None

    def workers_next(self, k):
        """Starts a worker's step after it took a fair share of what waits; returns what the step
        costs."""
        live, costs = self.live[k], self.sim.costs
        if self.queue:
            idle = sum(left is None for left in self.left[1:])
            share = -(-len(self.queue) // idle) if not live and idle else len(self.queue)
            for _ in range(min(share, self.slots - len(live))):
                request = self.queue.popleft()
                live.append([request.steps, request])
        return costs.step + costs.sentence_step * len(live) if live else None

    def schedule(self):
        busy = [left for left in self.left if left is not None]
        self.version += 1
        if busy:
            self.speed = min(1.0, self.cores / len(busy))
            self.sim.at(self.sim.now + max(0.0, min(busy)) / self.speed, self.turn, self.version)

    def turn(self, version):
        if version != self.version:
            return
        self.advance()
        ended = [k for k, left in enumerate(self.left) if left is not None and left < 1e-12]
        for k in ended:
            self.left[k] = None
        for k in ended:
            if k == LOOP:
                request = self.at_loop.popleft()[1]
                request.then(self, request)
            else:
                self.end_step(k)
        self.wake()
        self.schedule()

    def end_step(self, k):
        for one in self.live[k]:
            one[0] -= 1
        ended = [request for left, request in self.live[k] if left <= 0]
        if ended:
            self.live[k] = [one for one in self.live[k] if one[0] > 0]
        for request in ended:
            self.to_loop(request, self.sim.costs.loop_miss / 2, self.sim.translated)


@dataclass
class Result:
    """`rate` is in requests a second; times are in seconds; `use` is how busy the busiest station
    of each kind is, as a share of its time."""
    rate: float
    mean: float
    middle: float
    p99: float
    own: float      # shares of requests: answered by the server's cache, by Redis, by another request under way
    shared: float
    joined: float
    late: float     # Redis was too slow, and the server did not wait
    redis_commands: float  # a second
    use: dict

    def saturates_first(self):
        return max(self.use, key=self.use.get)


SAMPLE = 24  # the simulation's number of servers when there are more


class Simulation:
    """Of `n` requests the last three quarters count, or all of the `whole`. Either `rate` requests
    a second come, whatever becomes of them, or so many `clients` ask again as soon as they are
    answered. steps_of(sentence) is a sentence's length in steps; `settled` caches have been in
    use."""
    def __init__(self, costs, cluster, sentences, n, rate=None, clients=None, steps_of=None, settled=None, whole=False, seed=1):
        self.costs, self.cluster, self.sentences = costs, cluster, sentences
        n_simulated = min(cluster.servers, SAMPLE)
        self.part = n_simulated / cluster.servers
        self.n, self.rate, self.chance = n, rate and rate * self.part, random.Random(seed)
        self.uncounted = 0 if whole else n // 4
        self.steps_of = steps_of or self.some_steps
        self.now, self.events, self.order = 0.0, [], itertools.count()
        settled = rate if settled is None else settled
        own = lambda: (Settled(sentences, settled / cluster.servers, cluster.cache, math.inf, self.chance) if settled
                       else Lru(cluster.cache))
        first = own()
        self.servers = [Server(self, first if settled else own()) for _ in range(n_simulated)]
        self.redis_cache = (Settled(sentences, settled, cluster.redis_cache, cluster.redis_keep, self.chance) if settled
                            else Lru(cluster.redis_cache))
        self.free = [(0, next(self.order), server) for server in self.servers]
        heapq.heapify(self.free)
        threads = max(1, round(cluster.proxy_threads * self.part))
        self.proxy = Station(threads, cluster.proxy_threads * self.part / threads)
        self.redis = Station(1, self.part * max(1e-3, 1 - costs.redis_idle * cluster.servers))
        self.player = Station()
        self.n_begun, self.n_commands, self.counts, self.waits, self.marks = 0, 0, collections.Counter(), [], None
        for _ in range(clients or 0):
            self.next_of_client()
        self.closed = bool(clients)
        if rate:
            self.at(self.chance.expovariate(rate), self.arrival, None)

    def some_steps(self, _sentence):
        """A length around the mean, distributed as in sentences: for most of them from half of it
        to twice as much."""
        return max(1, round(self.costs.steps * self.chance.gammavariate(4, 0.25)))

    def at(self, time, what, argument):
        heapq.heappush(self.events, (time, next(self.order), what, argument))

    def run(self):
        if not self.uncounted:
            self.mark()
        while self.events and len(self.waits) < self.n:
            self.now, _, what, argument = heapq.heappop(self.events)
            what(argument)
        return self.result()

    # A request's way.

    def arrival(self, _):
        self.ask()
        if self.n_begun < self.n * 2:
            self.at(self.now + self.chance.expovariate(self.rate), self.arrival, None)

    def next_of_client(self):
        self.at(self.player.done_at(self.now, self.costs.client), lambda _: self.ask(), None)

    def ask(self):
        self.n_begun += 1
        sentence = self.sentences.draw(self.chance)
        request = Request(sentence, self.steps_of(sentence), self.now)
        self.at(self.proxy.done_at(self.now, self.costs.proxy) + self.cluster.hop, self.arrived, request)

    def least(self):
        """The server with the fewest requests, and of equals each in its turn. Outdated entries are
        dropped."""
        while True:
            n, _, server = heapq.heappop(self.free)
            if n == server.requests:
                return server

    def count(self, server, change):
        server.requests += change
        heapq.heappush(self.free, (server.requests, next(self.order), server))

    def arrived(self, request):
        server = self.least()
        self.count(server, 1)
        if request.sentence in server.flights:
            self.counts["joined"] += 1
            server.flights[request.sentence].along.append(request)
        elif server.cache.has(request.sentence):
            self.counts["own"] += 1
            server.to_loop(request, self.costs.loop_hit, self.answered)
        else:
            server.flights[request.sentence] = request
            server.to_loop(request, self.costs.loop_miss / 2, self.unknown)

    def unknown(self, server, request):
        if not self.cluster.has_redis:
            server.to_workers(request)
            return
        hop = self.cluster.hop
        self.n_commands += 1
        end = self.redis.done_at(self.now + hop, self.costs.redis_get) + hop
        if end - self.now > self.cluster.redis_timeout:
            self.counts["late"] += 1
            self.at(self.now + self.cluster.redis_timeout, lambda r: server.to_workers(r), request)
        else:
            self.at(end, lambda r: self.redis_said(server, r), request)

    def redis_said(self, server, request):
        if self.redis_cache.has(request.sentence):
            self.counts["shared"] += 1
            server.to_loop(request, max(0.0, self.costs.loop_shared - self.costs.loop_miss / 2), self.ended)
        else:
            server.to_workers(request)

    def translated(self, server, request):
        if self.cluster.has_redis:
            self.n_commands += 1
            self.redis.done_at(self.now + self.cluster.hop, self.costs.redis_put)
            self.redis_cache.put(request.sentence)
        self.ended(server, request)

    def ended(self, server, request):
        server.cache.put(request.sentence)
        del server.flights[request.sentence]
        for other in request.along:
            server.to_loop(other, self.costs.loop_hit, self.answered)
        self.answered(server, request)

    def answered(self, server, request):
        self.count(server, -1)
        self.waits.append(self.now + self.cluster.hop - request.begun)
        if self.closed:
            self.next_of_client()
        if len(self.waits) == self.uncounted:
            self.mark()

    def mark(self):
        """The measurement begins here."""
        self.marks = (self.now, self.work(), self.n_commands, collections.Counter(self.counts))

    def work(self):
        """Processor seconds so far for each kind of station, divided by its threads or cores; for
        loops and cores those of the busiest server."""
        for server in self.servers:
            server.advance()
        return {"HAProxy": self.proxy.busy / len(self.proxy.free), "Redis": self.redis.busy,
                "loops": max(s.busy[LOOP] for s in self.servers),
                "cores": max(sum(s.busy) / self.cluster.cores for s in self.servers)}

    def result(self):
        since, work, commands, counts = self.marks
        seconds = self.now - since
        waits = sorted(self.waits[self.uncounted:])
        n = len(waits)
        share = {name: (self.counts[name] - counts[name]) / n for name in ("own", "shared", "joined", "late")}
        return Result(n / seconds / self.part, sum(waits) / n, waits[n // 2], waits[min(n - 1, n * 99 // 100)], **share,
                      redis_commands=(self.n_commands - commands) / seconds / self.part,
                      use={name: (busy - work[name]) / seconds for name, busy in self.work().items()})


def simulate(*arguments, **named):
    return Simulation(*arguments, **named).run()


# Curves.

ASKS_EVERY_S = 10.0  # a user who types or reads along
MAY_WAIT_S = 1.0     # 99 of 100 answers within this time


MAY_BE_BUSY = 0.8    # the share of time, which leaves room for bursts


def of_users(costs, cluster, users, n=None, sentences=None):
    """Simulates one second, but at least 20,000 requests."""
    rate = users / ASKS_EVERY_S
    return simulate(costs, cluster, sentences or Zipf(), n or max(20_000, round(rate * min(1, SAMPLE / cluster.servers))), rate=rate)


def smallest(costs, cluster, users, most, n=None):
    """(machines, result) of the smallest group, with a HAProxy and a Redis, that serves so many
    users; None when no group does."""
    def tried(servers):
        result = of_users(costs, replace(cluster, servers=servers), users, n)
        return result.p99 <= MAY_WAIT_S and max(result.use.values()) < MAY_BE_BUSY, result

    if users / ASKS_EVERY_S * costs.proxy / cluster.proxy_threads >= MAY_BE_BUSY:
        return None
    # Fewer machines could not do it even with full batches and with every repeated sentence in the
    # caches.
    low = math.floor(users / ASKS_EVERY_S * Zipf().fresh * costs.of_steps()[1] / cluster.workers)
    high = low + 1
    good, result = tried(high)
    while not good and high < most and result.use["Redis"] < MAY_BE_BUSY:
        low, high = high, min(most, math.ceil(high * 1.2))
        good, result = tried(high)
    if not good:
        return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        good, other = tried(middle)
        if good:
            high, result = middle, other
        else:
            low = middle
    return high, result


def fewest(costs, cluster, users, most=2000, n=None):
    """(groups, machines in each, result of one group)."""
    for groups in range(1, 100):
        found = smallest(costs, cluster, users / groups, most, n)
        if found:
            return groups, *found
    return None


def table(costs, cluster, numbers):
    """Rows of (users, has_redis, machines, result), printed in Markdown as they are found."""
    print("| users at once | requests a second | machines with Redis | p99 | Redis, commands a second | the busiest"
          " | machines without |\n|---|---|---|---|---|---|---|")
    rows = []
    for users in numbers:
        for has_redis in (True, False):
            rows.append((users, has_redis, *fewest(costs, replace(cluster, has_redis=has_redis), users)))
        with_it, (*without, _) = rows[-2][2:], rows[-1][2:]
        result = with_it[2]
        said = lambda groups, n: f"{groups} × {n}" if groups > 1 else f"{n}"
        busiest = ", ".join(f"{name} {use:.0%}" for name, use in sorted(result.use.items(), key=lambda one: -one[1])[:2])
        print(f"| {users:,} | {users / ASKS_EVERY_S:,.0f} | {said(*with_it[:2])} | {result.p99 * 1000:.0f} ms |"
              f" {result.redis_commands * with_it[0]:,.0f} | {busiest} | {said(*without)} |", flush=True)
    return rows


def waits(costs, cluster, machines, loads):
    """{machines: [(load, p99)]}; load is the share of the workers' greatest throughput."""
    found = {}
    for n in machines:
        cluster = replace(cluster, servers=n, has_redis=False, cache=1)
        limit = n * cluster.workers / costs.of_steps()[1]
        sentences = Zipf(fresh=1.0)
        found[n] = [(load, of_users(costs, cluster, load * limit * ASKS_EVERY_S, sentences=sentences).p99) for load in loads]
    return found


# The picture.

def svg(panels):
    """Panels side by side: (title, x label, y label, x range, y range, [(name, colour, dash, [(x,
    y)])]); an axis is logarithmic where its range has a third member that says so."""
    width, height, left, top = 430, 330, 62, 40
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * len(panels)} {height}" font-family="sans-serif" '
             f'font-size="12">\n<rect width="100%" height="100%" fill="white"/>']
    for k, (title, x_label, y_label, x_range, y_range, lines) in enumerate(panels):
        x0, x1, y0, y1 = k * width + left, (k + 1) * width - 14, height - 46, top

        def place(value, bounds, start, end):
            low, high = bounds[:2]
            part = math.log(value / low) / math.log(high / low) if len(bounds) > 2 else (value - low) / (high - low)
            return start + (end - start) * part

        def marks(bounds):
            if len(bounds) > 2:
                return [10 ** n for n in range(round(math.log10(bounds[0])), round(math.log10(bounds[1])) + 1)]
            return [bounds[0] + (bounds[1] - bounds[0]) * n / 5 for n in range(6)]

        parts.append(f'<text x="{x0}" y="20" font-size="14">{title}</text>')
        for value in marks(x_range):
            x = place(value, x_range, x0, x1)
            parts.append(f'<path d="M{x:.1f} {y0}V{y1}" stroke="#ddd"/><text x="{x:.1f}" y="{y0 + 16}" '
                         f'text-anchor="middle">{value:,.0f}</text>')
        for value in marks(y_range):
            y = place(value, y_range, y0, y1)
            parts.append(f'<path d="M{x0} {y:.1f}H{x1}" stroke="#ddd"/><text x="{x0 - 5}" y="{y + 4:.1f}" '
                         f'text-anchor="end">{value:,.0f}</text>')
        parts.append(f'<text x="{(x0 + x1) / 2}" y="{height - 10}" text-anchor="middle">{x_label}</text>')
        parts.append(f'<text x="{x0}" y="34">{y_label}</text>')
        for n, (name, colour, dash, points) in enumerate(lines):
            inside = [(x, y) for x, y in points if y_range[0] <= y <= y_range[1]]
            path = " ".join(f"{place(x, x_range, x0, x1):.1f},{place(y, y_range, y0, y1):.1f}" for x, y in inside)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
            y = top + 18 + 17 * n
            parts.append(f'<path d="M{x0 + 10} {y - 4}h26" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
                         f'<text x="{x0 + 42}" y="{y}">{name}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def picture(tables, found):
    """tables: {name of the model: rows}."""
    lines = [(f"{name}, {'with' if has_redis else 'without'} Redis", colour, dash,
              [(row[0], row[2] * row[3]) for row in rows if row[1] == has_redis])
             for (name, rows), colour in zip(tables.items(), ("#0a5", "#06c"))
             for has_redis, dash in ((True, ""), (False, "6 4"))]
    colours = ("#c40", "#a0a", "#06c", "#0a5")
    waits_of = [(f"{n} machine{'s' if n > 1 else ''}", colours[k % 4], "", [(100 * load, 1000 * p99) for load, p99 in points])
                for k, (n, points) in enumerate(found.items())]
    users = [row[0] for rows in tables.values() for row in rows]
    return svg([("Machines for so many users", "users at once", "machines", (min(users), max(users), "log"), (1, 10000, "log"), lines),
                ("What waits as machines fill up", "% of what the workers can do at most", "ms in which 99 of 100 are answered",
                 (50, 100), (10, 10000, "log"), waits_of)])


def main():
    parser = argparse.ArgumentParser(description="Simulates a cluster of dragoman's servers.")
    parser.add_argument("--costs", help="a file that scale_measured.py wrote")
    parser.add_argument("--users", type=int, help="only this case: so many users at once")
    parser.add_argument("--servers", type=int, default=1, help="with --users: so many machines")
    parser.add_argument("--workers", type=int, default=2, help="workers and cores of each machine")
    parser.add_argument("--proxy-threads", type=int, default=16, help="of HAProxy")
    parser.add_argument("--no-redis", action="store_true", help="with --users: without one")
    parser.add_argument("--svg", help="where the picture is written")
    options = parser.parse_args()
    costs = Costs.read(options.costs) if options.costs else Costs()
    cluster = Cluster(servers=options.servers, workers=options.workers, cores=options.workers,
                      proxy_threads=options.proxy_threads, has_redis=not options.no_redis)
    if options.users:
        result = of_users(costs, cluster, options.users)
        for name, value in vars(result).items():
            print(name, value)
        print("saturates_first", result.saturates_first())
        return
    tables = {}
    for name, times in (("embedded model", 1), ("ten times as much work", 10)):
        print(f"\n{name}:\n")
        dear = replace(costs, step=costs.step * times, sentence_step=costs.sentence_step * times)
        tables[name] = table(dear, cluster, [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000])
    if options.svg:
        found = waits(costs, cluster, (1, 3, 10, 100), [load / 100 for load in (50, 60, 70, 75, 80, 85, 90, 94, 97)])
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(picture(tables, found))


if __name__ == "__main__":
    main()
