# SPDX-License-Identifier: ISC
"""Shows a dragomand with far more work than it can do: which clients it refuses, whether its health
checks still answer, and how soon after the overload it serves a newcomer.

    python3 tests/bench/overload.py ./dragomand --models-dir models [--seconds 10] [--clients 400] [-- FLAGS OF THE SERVER]

So many clients, each with its own address, send texts of five sentences and ask again 50 ms
after a refusal, whatever Retry-After says; they run in a process of their own. Meanwhile
/healthz and /readyz are requested ten times a second. At the end all clients leave in the middle
of their answers, and a newcomer asks for a sentence. Exit status 1: a refusal without
Retry-After, a status other than 200 and 503, a /healthz that was not 200, no refusal at all, or
a newcomer who waited for more than --newcomer seconds (2). The server listens on 127.0.0.1 only
and is stopped at the end. Standard library only.
"""
import argparse
import asyncio
import collections
import http.client
import json
import os
import random
import subprocess
import sys
import time

from load import Daemon, parse, say, sentence


# ---- The clients, in a process of their own


async def client(port, number, until, counts):
    rng = random.Random(number)
    while time.monotonic() < until:
        text = " ".join(sentence(rng) for _ in range(5))
        body = json.dumps({"text": text, "target": "en", "cache": False}).encode()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nConnection: close\r\n"
                         b"X-Forwarded-For: 198.18.%d.%d\r\nContent-Length: %d\r\n\r\n%s"
                         % (number // 250, number % 250 + 1, len(body), body))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            status = head[9:12].decode()
            counts[status if status != "503" or b"\r\nretry-after: " in head else "503 without Retry-After"] += 1
            if status == "503":
                await asyncio.sleep(0.05)
            else:
                await reader.read()
            writer.close()
        except (OSError, EOFError) as error:
            counts[type(error).__name__] += 1
            await asyncio.sleep(0.05)


async def all_clients(port, n, seconds):
    counts, until = collections.Counter(), time.monotonic() + seconds
    tasks = [asyncio.create_task(client(port, number, until, counts)) for number in range(n)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps(counts), flush=True)


# ---- The one who looks on


def ask(port, method, path, body=None):
    """(status, seconds)"""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, {"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.1"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, time.monotonic() - began


def main():
    if sys.argv[1:2] == ["--clients-only"]:
        asyncio.run(all_clients(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("dragomand")
    parser.add_argument("--models-dir", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=400)
    parser.add_argument("--newcomer", type=float, default=2)
    options = parse(parser)
    daemon = Daemon(options, "--trusted-proxies=127.0.0.1", "--max-sentences=1000", *options.flags)
    crowd = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--clients-only", str(daemon.port), str(options.clients),
                              str(options.seconds)], stdout=subprocess.PIPE)
    health, ready = [], collections.Counter()
    while crowd.poll() is None:
        health.append(ask(daemon.port, "GET", "/healthz"))
        ready[ask(daemon.port, "GET", "/readyz")[0]] += 1
        time.sleep(0.1)
    counts = json.loads(crowd.stdout.read())
    status, seconds = ask(daemon.port, "POST", "/v1/translate", json.dumps({"text": "Bonjour.", "target": "en", "cache": False}))
    daemon.stop()
    for name, n in sorted(counts.items()):
        say(f"answers-{name.replace(' ', '-')}", n, "of the crowd")
    for name, n in sorted(ready.items()):
        say(f"readyz-{name}", n, "times")
    say("healthz", max(seconds for _, seconds in health) * 1000, f"ms at most, of {len(health)}")
    say(f"newcomer-{status}", seconds * 1000, "ms after the crowd left")
    wrong = [what for what, holds in {
        "nobody was refused": counts.get("503"),
        f"statuses {counts}": set(counts) <= {"200", "503"},
        "/healthz": all(status == 200 for status, _ in health),
        "the newcomer": status == 200 and seconds <= options.newcomer}.items() if not holds]
    for what in wrong:
        print("not as it should be:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
