# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Measures on the real daemon the costs that scale.py uses, then compares one, two and three
daemons with what scale.py predicts.

    cd build && ../tests/integration/run ../tests/bench/scale_measured.py [COSTS.json [ROUNDS [REQUESTS]]]      3 rounds of 3000

The daemons run behind HAProxy with one Redis, each with one worker, and each in a control group
of the kernel with a quota of processor time, so that three of them fit on a machine of two cores
without disturbing each other: each server has a fifth of a core. All measured processes are in a
group that takes precedence over the rest of the machine. It needs root. Daemons and simulator
begin with empty caches and draw sentences in the same way, Zipf-like; clients, each with its own
address, ask again as soon as they have an answer. Not a test."""
import gzip
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.path[:0] = [os.path.join(SOURCES, "tests", folder) for folder in ("integration", "support", "bench")]
import scale  # noqa: E402
from harness import MODELS_DIR, PROGRAM, IntegrationTest, environment, free_ports, main  # noqa: E402
from proxy import Proxy, conf_file, with_ports  # noqa: E402
from redis import Redis  # noqa: E402

OUT = sys.argv[1] if len(sys.argv) > 1 else ""
ROUNDS, N = [*map(int, sys.argv[2:4]), *(3, 3000)[len(sys.argv[2:4]):]]
CORES, PERIOD_US = 0.2, 25000  # of each daemon
N_SENTENCES, N_CLIENTS, CACHE = 1500, 24, "160KiB"
GROUPS = "/sys/fs/cgroup/cpu" if os.path.isdir("/sys/fs/cgroup/cpu") else "/sys/fs/cgroup"


class Group:
    """A control group, version 1 or 2; removed when the test ends."""
    def __init__(self, test, name, parent=GROUPS):
        self.path = os.path.join(parent, name)
        self.is_old = GROUPS.endswith("/cpu")
        try:
            os.mkdir(self.path)
        except OSError as error:
            test.skipTest(f"needs to make control groups: {error}")
        test.addCleanup(self.remove)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def go_first(self):
        if not self.is_old:
            self.write("cgroup.subtree_control", "+cpu")
        self.write("cpu.shares" if self.is_old else "cpu.weight", "262144" if self.is_old else "10000")

    def limit(self, cores):
        if self.is_old:
            self.write("cpu.cfs_period_us", str(PERIOD_US))
            self.write("cpu.cfs_quota_us", str(round(PERIOD_US * cores)))
        else:
            self.write("cpu.max", f"{round(PERIOD_US * cores)} {PERIOD_US}")

    def add(self, pid):
        self.write("cgroup.procs", str(pid))

    def remove(self):
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            for pid in file.read().split():
                with open(os.path.join(os.path.dirname(self.path), "cgroup.procs"), "w", encoding="ascii") as above:
                    above.write(pid)
        os.rmdir(self.path)


def seconds_of(pid, which=lambda tid, name: True):
    """Processor seconds of a process's threads."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
            name = file.read().strip()
        if which(int(tid), name):
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    return total / 1e9


def redis_costs(redis, port):
    """Processor seconds of a SET and a GET of a sentence's size in a Redis that many servers ask,
    each with one request at a time."""
    key, value, n = "dragoman:1:" + "0" * 64, "x" * 300, 200
    servers = [socket.create_connection(("127.0.0.1", port)) for _ in range(32)]

    def cost(answer_size, *words):
        one = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)
        begun = seconds_of(redis.process.pid)
        for _ in range(n):
            redis.pause()  # until all have sent a request
            for server in servers:
                server.sendall(one)
            redis.resume()
            for server in servers:
                server.recv(answer_size, socket.MSG_WAITALL)
        return (seconds_of(redis.process.pid) - begun) / n / len(servers)

    found = cost(len("+OK\r\n"), "SET", key, value, "EX", "604800"), cost(len("$300\r\n") + len(value) + 2, "GET", key)
    for server in servers:
        server.close()
    return found


def corpus():
    """Everyday sentences, each a single sentence without a number."""
    path = os.path.join(SOURCES, "models", "recipe", "written", "written-daily.fr-en.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = {line.split("\t")[0] for line in file}
    plain = sorted(text for text in texts if 12 < len(text) < 160 and re.fullmatch(r"[A-ZÉÀ][^.!?…:;\"«»\d()]*[.!?]", text))
    return random.Random(1).sample(plain, N_SENTENCES)


class Measured(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.group = Group(self, "dragoman-scale")
        self.group.go_first()
        self.rest = Group(self, "rest", self.group.path)
        self.rest.add(os.getpid())
        self.quotas = [Group(self, f"server{n}", self.group.path) for n in range(3)]
        for quota in self.quotas:
            quota.limit(CORES)
        self.texts = corpus()
        model = os.path.join(MODELS_DIR, "fr-en")
        self.answers = subprocess.run([os.path.join(os.path.dirname(PROGRAM), "dragoman"), "translate", "--quiet", f"--model={model}"],
                                      input="\n".join(self.texts) + "\n", env=environment(), capture_output=True, check=True,
                                      encoding="utf-8").stdout.split("\n")

    def begin(self, n, redis, cache, port=None):
        """Starts daemon number n in its control group."""
        flags = [f"--redis={redis.address}", "--redis-timeout=1s", f"--glossaries-dir={self.directory}/glossaries{n}"] if redis else []
        server = self.start(f"--models-dir={MODELS_DIR}", "--threads=1", "--access-log=no", f"--cache-size={cache}",
                            "--trusted-proxies=127.0.0.0/8", "--max-connections-per-client=0", *flags,
                            listen=(f"127.0.0.1:{port or 0}",))
        self.quotas[n].add(server.process.pid)
        if redis:
            server.wait_for_log("Redis is available")
        return server

    def load(self, port, texts, n_clients):
        """(seconds, sorted waits): the texts one after the other, each requested by the next free
        client."""
        waits, todo, lock = [], iter(texts), threading.Lock()

        def client(k):
            connection = http.client.HTTPConnection("127.0.0.1", port, source_address=(f"127.0.0.{k + 2}", 0), timeout=60)
            while True:
                with lock:
                    text = next(todo, None)
                if text is None:
                    break
                begun = time.monotonic()
                connection.request("POST", "/v1/translate", json.dumps({"text": text, "target": "en", "source": "fr"}))
                answer = connection.getresponse()
                answer.read()
                waits.append(time.monotonic() - begun)
                self.assertEqual(answer.status, 200)
            connection.close()

        clients = [threading.Thread(target=client, args=(k,)) for k in range(n_clients)]
        begun = time.monotonic()
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        return time.monotonic() - begun, sorted(waits)

    def metric(self, server, name):
        return float(re.search(rf"^dragoman_{name} (\S+)$", server.request("GET", "/metrics")[2].decode(), re.M).group(1))

    def spent(self, server, port, texts, n_clients, others=()):
        """Processor seconds per request of (loop, workers, this program, others...), and the growth
        of the metrics."""
        pid = server.process.pid
        names = ("decoder_steps_total", "sentences_done_total", "output_tokens_total", "cache_hits_total", "shared_cache_hits_total")

        def now():
            return [seconds_of(pid, lambda tid, _: tid == pid), seconds_of(pid, lambda tid, _: tid != pid), time.process_time(),
                    *(seconds_of(other) for other in others), *(self.metric(server, name) for name in names)]

        before = now()
        self.load(port, texts, n_clients)
        each = [(b - a) / len(texts) for a, b in zip(before, now())]
        return each[:3 + len(others)], dict(zip(names, each[3 + len(others):]))

    def calibrate(self):
        costs, chance = scale.Costs(), random.Random(2)
        draw = lambda n: chance.sample(self.texts, n)
        plain = self.begin(0, None, "0")
        self.load(plain.port(), draw(20), 2)
        # A worker's seconds for a sentence by the steps that it takes part in: alone, and with more
        # and more others.
        points = []
        for n_clients, n in ((1, 100), (4, 150), (12, 200), (N_CLIENTS, 300)):
            (_, worker, _), grown = self.spent(plain, plain.port(), draw(n), n_clients)
            points.append((grown["decoder_steps_total"], worker))
            if n_clients == 1:
                costs.steps = grown["decoder_steps_total"]
            tokens = grown["output_tokens_total"]
        plain.stop()
        # worker = step * steps + sentence_step * costs.steps, by least squares of relative errors
        rows = [(steps / worker, costs.steps / worker) for steps, worker in points]
        aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
        a1, b1 = sum(row[0] for row in rows), sum(row[1] for row in rows)
        costs.step = max(0.0, (a1 * bb - b1 * ab) / (aa * bb - ab * ab))
        costs.sentence_step = (b1 - costs.step * ab) / bb
        said = ", ".join(f"{worker * 1e3:.2f} ({(costs.step * steps + costs.sentence_step * costs.steps) * 1e3:.2f})" for steps, worker in points)
        print(f"worker's ms a sentence beside 0, 3, 11, {N_CLIENTS - 1} others, measured (by the costs): {said}; {tokens:.1f} tokens a sentence")
        redis_port, = free_ports(1)
        redis = Redis(self, "redis", "--port", str(redis_port), "--bind", "127.0.0.1").start()
        first, second = self.begin(0, redis, "32MiB"), self.begin(1, redis, "32MiB")
        time.sleep(1)
        commands = lambda: int(re.search(rb"total_commands_processed:(\d+)", redis.command("INFO", "stats")).group(1))
        idle = commands()
        time.sleep(3)
        idle = (commands() - idle - 1) / 3 / 2
        texts = draw(300)
        asked = lambda server: self.spent(server, server.port(), texts, N_CLIENTS, [redis.process.pid])
        (costs.loop_miss, *_), grown = asked(first)
        self.assertGreater(grown["sentences_done_total"], 0.99)
        (costs.loop_shared, *_), grown = asked(second)
        self.assertGreater(grown["shared_cache_hits_total"], 0.95)
        costs.redis_put, costs.redis_get = redis_costs(redis, redis_port)
        costs.redis_idle = idle * costs.redis_get
        texts = texts * 5
        (costs.loop_hit, _, client, _), grown = asked(first)
        self.assertGreater(grown["cache_hits_total"], 0.99)
        port = free_ports(1)[0]
        proxy = self.proxy(port, [first.port()])
        (_, _, costs.client, costs.proxy), _ = self.spent(first, port, texts, N_CLIENTS, [proxy.process.pid])
        proxy.stop()
        entries = self.metric(first, "cache_entries")
        self.bytes_each = self.metric(first, "cache_bytes") / entries
        for server in first, second:
            server.stop()
        redis.kill()
        return costs

    def proxy(self, port, ports):
        text = conf_file("haproxy.cfg").replace("maxconn 4000", "maxconn 400\n    nbthread 1")
        names = ("one", "two", "three")
        text = "\n".join(line for line in text.split("\n") if not any(f"server {name} " in line for name in names[len(ports):])
                         and not line.strip().startswith("#server"))
        path = os.path.join(self.directory, "haproxy.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(with_ports(text, dict(zip(range(8090, 8094), (port, *ports)))))
        return Proxy(self, ["haproxy", "-db", "-f", path], port)

    def run_cluster(self, n, sentences):
        """(requests a second, p99) of n daemons."""
        redis = Redis(self, f"redis{time.monotonic_ns()}").start()
        port, *ports = free_ports(1 + n)
        servers = [self.begin(k, redis, CACHE, ports[k]) for k in range(n)]
        proxy = self.proxy(port, ports)
        texts = [self.texts[k - 1] for k in sentences]
        seconds, waits = self.load(port, texts, N_CLIENTS)
        shares = [sum(self.metric(server, name) for server in servers) / len(texts)
                  for name in ("cache_hits_total", "shared_cache_hits_total", "cache_joined_total")]
        proxy.stop()
        for server in servers:
            server.stop()
        redis.kill()
        return len(texts) / seconds, waits[len(waits) * 99 // 100], shares

    def test_what_is_said_is_what_is_measured(self):
        costs = self.calibrate()
        print(json.dumps(vars(costs), indent=2))
        if OUT:
            with open(OUT, "w", encoding="utf-8") as file:
                json.dump(vars(costs), file, indent=2)
        mean = statistics.mean(len(answer) for answer in self.answers[:N_SENTENCES])
        steps_of = lambda sentence: max(1, round(costs.steps * len(self.answers[sentence - 1]) / mean))
        entries = int(int(CACHE.removesuffix("KiB")) * 1024 / self.bytes_each)
        print(f"a daemon's cache has room for {entries} sentences of {self.bytes_each:.0f} bytes")
        found = {}
        for turn in range(ROUNDS):
            for n in (1, 2, 3) if turn % 2 == 0 else (3, 2, 1):
                drawn = Drawn(N, turn)
                measured = self.run_cluster(n, drawn.list)
                cluster = scale.Cluster(servers=n, workers=1, cores=CORES, cache=entries, proxy_threads=1, hop=0.0, redis_timeout=1.0)
                said = scale.Simulation(costs, cluster, drawn, N, clients=N_CLIENTS, steps_of=steps_of, whole=True).run()
                found.setdefault(n, []).append((measured[0], said.rate))
                print(f"{n} daemons: {measured[0]:6.1f}/s measured, {said.rate:6.1f}/s said ({said.rate / measured[0] - 1:+.0%});"
                      f" p99 {measured[1] * 1e3:4.0f} and {said.p99 * 1e3:4.0f} ms ({said.p99 / measured[1] - 1:+.0%}); own, shared, joined "
                      + " ".join(f"{share:.2f}" for share in measured[2]) + f" and {said.own:.2f} {said.shared:.2f} {said.joined:.2f}", flush=True)
        for n in sorted(found):
            measured, said = (statistics.median(pair[k] for pair in found[n]) for k in (0, 1))
            print(f"{n} daemons, middle of {ROUNDS}: {measured:.1f}/s measured, {said:.1f}/s said ({said / measured - 1:+.0%})")


class Drawn:
    """The same sentences in the same order, for the daemons and for the simulator."""
    def __init__(self, n, seed):
        zipf, chance = scale.Zipf(N_SENTENCES, fresh=0), random.Random(seed)
        self.list = [zipf.draw(chance) for _ in range(n)]
        self.left = iter(self.list)

    def draw(self, _chance):
        return next(self.left, 1)


if __name__ == "__main__":
    sys.argv[1:] = []
    main()
