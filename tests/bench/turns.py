# SPDX-License-Identifier: ISC
"""Measures how long a turn of dragomand's event loop takes under a mixed load: while a turn lasts,
all clients wait.

    python3 tests/bench/turns.py ./dragomand --models-dir models [--seconds 300] [--only NAME,...]

One client for each kind of request sends the same request again and again: a text and a page of
HTML of megabytes, detection in 1,000 texts, answers of megabytes, cached texts through three
APIs, and short texts that are streamed. The model and its weights do not matter. It prints the
histogram of the turns (dragoman_loop_turn_cpu_seconds) in processor time of the loop's thread,
so that other work on the machine is not counted, and beside it what the clock says. Ends with 1 if a turn took more than 4 ms.
Servers listen on 127.0.0.1 only and are stopped at the end. Standard library only.
"""
import argparse
import http.client
import itertools
import json
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from load import Daemon, WORDS, say  # noqa: E402

LIMIT = 0.004  # seconds of processor time
LANGUAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "langid", "langid.bin")


def text(first, n):
    """n sentences; the same for the same arguments."""
    def word(i):
        return WORDS[i * i % 97 % len(WORDS)]
    return " ".join(" ".join(word(7 * s + w) for w in range(8 + s % 5)).capitalize() + "." for s in range(first, first + n))


def translate(**fields):
    return "/v1/translate", json.dumps({"target": "en", "beam": 1, **fields})


def requests():
    """A function for each kind, which returns the path and the body of its request number i.
    Sentences repeat, so that most come from the cache."""
    page = "".join(f"<p class=\"c{i}\">{text(i % 40, 1)} <b>{text(i % 7, 1)}</b> &amp; <a href=\"/{i}\">{text(3, 1)}</a></p>\n"
                   for i in range(6000))
    bodies = {
        "text": translate(text=text(0, 50) * 700),
        "html": translate(text=page, format="html"),
        "detect": ("/v1/detect", json.dumps({"text": [text(i % 60, 25) for i in range(1000)]})),
        "answer": translate(text=[text(i % 50, 4) for i in range(1000)], scores=True),
        "cached": translate(text=[text(i, 25) for i in range(20)]),
        "libretranslate": ("/translate", json.dumps({"q": [text(i, 25) for i in range(20)], "source": "fr", "target": "en"})),
        "deepl": ("/v2/translate", json.dumps({"text": [text(i, 25) for i in range(20)], "target_lang": "EN"})),
    }
    kinds = {name: (lambda i, body=body: body) for name, body in bodies.items()}
    kinds["stream"] = lambda i: translate(text=text(i, 2), stream=True, cache=False)
    return kinds


class Client(threading.Thread):
    def __init__(self, port, request, until):
        super().__init__(daemon=True)
        self.port, self.request, self.until = port, request, until
        self.n_done = self.n_bytes = 0
        self.error = None

    def run(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            for i in itertools.count():
                if time.monotonic() > self.until:
                    break
                path, body = self.request(i)
                connection.request("POST", path, body=body.encode(), headers={"Content-Type": "application/json"})
                answer = connection.getresponse()
                got = answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"{path}: {answer.status} {got[:300]!r}")
                self.n_done, self.n_bytes = self.n_done + 1, self.n_bytes + len(got)
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            self.error = error


def histogram(daemon):
    """[(upper bound in seconds, turns)]"""
    rows = re.findall(r'^dragoman_loop_turn_cpu_seconds_bucket\{le="(\S+)"\} (\d+)$', daemon.get("/metrics"), re.M)
    counts = [int(n) for _, n in rows]
    return [(float(le), n - before) for (le, _), n, before in zip(rows, counts, [0] + counts)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dragomand")
    parser.add_argument("--models-dir", required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--only", default="", help="kinds of requests, with commas between")
    options = parser.parse_args()
    kinds = requests()
    names = options.only.split(",") if options.only else list(kinds)
    daemon = Daemon(options, f"--language-data={LANGUAGES}", "--max-body=16MiB")
    try:
        before = dict(histogram(daemon))
        until = time.monotonic() + options.seconds
        clients = {name: Client(daemon.port, kinds[name], until) for name in names}
        for client in clients.values():
            client.start()
        for name, client in clients.items():
            client.join()
            if client.error:
                raise SystemExit(f"turns.py: {name}: {client.error}")
            say(f"turns-{name}", client.n_done, f"requests, {client.n_bytes / 1e6:.1f} MB of answers")
        turns = [(bound, n - before[bound]) for bound, n in histogram(daemon)]
        longest, n_long = daemon.number("loop_turn_max_seconds"), daemon.number("loop_slow_turns_total")
    finally:
        daemon.stop()
    for bound, n in turns:
        say(f"turns-up-to-{bound * 1000:g}ms", n, "turns")
    say("turns-by-the-clock", n_long, f"turns above 5 ms by the clock, the longest {longest * 1000:.1f} ms: other programs had the core")
    n_slow = sum(n for bound, n in turns if bound > LIMIT)
    say("turns-slow", n_slow, f"turns above {LIMIT * 1000:g} ms of processor time (aim 0)")
    return n_slow > 0


if __name__ == "__main__":
    sys.exit(main())
