# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Compares HAProxy's leastconn alone with leastconn and the servers' agent-check, in front of one
server with one worker and one with two. Clients mix short and long requests, and ask again as
soon as they have an answer.

    cd build && ../tests/integration/run ../tests/bench/balance.py [SECONDS [ROUNDS [CLIENTS]]]        10 5 24

Runs of both alternate, because the machine is never quiet; each line is one run, and the last
lines are the medians. Not a test."""
import http.client
import json
import os
import random
import statistics
import sys
import threading
import time

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.path[:0] = [os.path.join(SOURCES, "tests", folder) for folder in ("integration", "support")]
from harness import MODELS_DIR, IntegrationTest, free_ports, main  # noqa: E402
from proxy import Proxy, conf_file, with_ports  # noqa: E402

SECONDS, ROUNDS, N_CLIENTS = [*map(int, sys.argv[1:4]), *(10, 5, 24)[len(sys.argv[1:4]):]]
LONG_SHARE, LONG_SENTENCES = 0.1, 12


class Balance(IntegrationTest):
    def setUp(self):
        super().setUp()
        ports = free_ports(8)
        self.ports, self.agents, unused, self.fronts = ports[:2], ports[2:4], ports[4:6], ports[6:]
        for n in range(2):
            self.start(f"--models-dir={MODELS_DIR}", f"--threads={n + 1}", "--access-log=no", "--cache-size=0",
                       "--trusted-proxies=127.0.0.1", "--max-connections-per-client=0",
                       f"--agent-listen=127.0.0.1:{self.agents[n]}", listen=(f"127.0.0.1:{self.ports[n]}",))
        for front, has_agent in zip(self.fronts, (False, True)):
            self.begin(front, has_agent, unused[0])

    def begin(self, front, has_agent, unused):
        lines = [line for line in conf_file("haproxy.cfg").replace("maxconn 4000", "maxconn 400").split("\n")
                 if not line.startswith("    server three")]
        kind = "    #server " if has_agent else "    server "
        other = "    server " if has_agent else "    #server "
        text = "\n".join(line for line in lines if not line.startswith(other) and "#server three" not in line)
        text = text.replace(kind, "    server ")
        if has_agent:
            text = text.replace("agent-port 8191", f"agent-port {self.agents[0]}").replace("agent-port 8192", f"agent-port {self.agents[1]}")
        path = os.path.join(self.directory, f"{front}.cfg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(with_ports(text, {8090: front, 8091: self.ports[0], 8092: self.ports[1]}))
        Proxy(self, ["haproxy", "-db", "-f", path], front)

    def run_one(self, port, seed):
        """(requests a second, seconds within which 99 of 100 short requests were answered)."""
        until, short, n_done, lock = time.monotonic() + SECONDS, [], [0], threading.Lock()

        def client(k):
            chance = random.Random(seed * 1000 + k)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            while time.monotonic() < until:
                is_long = chance.random() < LONG_SHARE
                text = " ".join(f"Je vois {chance.randrange(10 ** 6)} chats dans le jardin."
                                for _ in range(LONG_SENTENCES if is_long else 1))
                begun = time.monotonic()
                connection.request("POST", "/v1/translate", json.dumps({"text": text, "target": "en"}))
                answer = connection.getresponse()
                answer.read()
                with lock:
                    n_done[0] += answer.status == 200
                    if not is_long:
                        short.append(time.monotonic() - begun)
            connection.close()

        clients = [threading.Thread(target=client, args=(k,)) for k in range(N_CLIENTS)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        return n_done[0] / SECONDS, statistics.quantiles(short, n=100)[98]

    def test_which_is_better(self):
        time.sleep(2)  # until the agents have reported
        found = ([], [])
        for turn in range(ROUNDS):
            for k in (0, 1) if turn % 2 == 0 else (1, 0):
                found[k].append(self.run_one(self.fronts[k], turn))
                rate, late = found[k][-1]
                print(f"{('leastconn', 'agent-check')[k]:12} {rate:7.1f}/s  p99 {late * 1000:6.0f} ms", flush=True)
        for name, runs in zip(("leastconn", "agent-check"), found):
            print(f"{name:12} {statistics.median(rate for rate, _ in runs):7.1f}/s  "
                  f"p99 {statistics.median(late for _, late in runs) * 1000:6.0f} ms  (middle of {ROUNDS})")


if __name__ == "__main__":
    sys.argv[1:] = []
    main()
