# SPDX-License-Identifier: ISC
"""Measures what ordinary clients notice of an attacker: 16 of them ask for a sentence now and then,
with and without the attacker, in turns.

    python3 tests/bench/attacker.py ./dragomand --models-dir models [--rounds 3] [--seconds 5] [--only KIND,...]

Kinds: batches (WebSockets full of long texts with wide beams and min_length), posts (34 KB
bodies of 500 texts, likewise), bodies (that never end), vanish (streams whose client leaves at
the first token), connections (many, opened and closed). For each kind: the p99 of the ordinary
clients without the attacker, with it, and the ratio (aim: at most 3). Each client has its own
address, as if behind a proxy. The attacker runs in its own process, which takes part of the
machine. Servers listen on 127.0.0.1 only and are stopped at the end. Standard library only.
"""
import argparse
import asyncio
import json
import os
import random
import select
import socket
import subprocess
import sys
import time

from load import Daemon, parse, say, sentence

N_CLIENTS = 16
PAUSE_S = 0.5  # the mean pause of an ordinary client between two requests
ATTACKER = "198.51.100.7"


def request(address, body, head=b"", path=b"/v1/translate", length=None):
    return (b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n%s\r\n%s"
            % (path, address.encode(), len(body) if length is None else length, head, body))


# ---- Ordinary clients


class Client:
    """A client that asks for one sentence after the other on one connection, with pauses."""

    def __init__(self, port, number):
        self.rng = random.Random(number)
        self.address = f"192.0.2.{number + 1}"
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pause()

    def pause(self):
        self.began, self.next_at, self.answer = None, time.perf_counter() + self.rng.uniform(0, 2 * PAUSE_S), b""

    def ask(self):
        self.began = time.perf_counter()
        self.socket.sendall(request(self.address, json.dumps({"text": sentence(self.rng), "target": "en", "cache": False}).encode()))

    def read(self):
        """(status, seconds) when the answer is complete, else None."""
        data = self.socket.recv(65536)
        self.answer += data
        head, found, body = self.answer.partition(b"\r\n\r\n")
        if not data:
            raise RuntimeError(f"an ordinary client was cut off: {self.answer!r}")
        if not found or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]):
            return None
        return int(head[9:12]), time.perf_counter() - self.began


def ordinary(port, seconds):
    """Returns the times of all answers, and how many requests were refused."""
    times, refused, end = [], 0, time.perf_counter() + seconds
    clients = {}
    poll = select.epoll()
    for number in range(N_CLIENTS):
        client = Client(port, number)
        clients[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
    while True:
        now = time.perf_counter()
        for client in clients.values():
            if client.began is None and client.next_at <= now < end:
                client.ask()
        waiting = [client.next_at for client in clients.values() if client.began is None]
        if now >= end and len(waiting) == N_CLIENTS:
            break
        pause = max(0.001, min(waiting) - now) if waiting and now < end else 60
        for number, _ in poll.poll(pause):
            done = clients[number].read()
            if done:
                times.append(done[1])
                refused += done[0] != 200
                clients[number].pause()
    for client in clients.values():
        client.socket.close()
    return times, refused


# ---- The attacker: each kind goes on until it is cancelled


async def read_away(reader):
    while await reader.read(65536):
        pass


async def again_and_again(what, n):
    async def one(number):
        rng = random.Random(number)
        while True:
            try:
                await what(rng)
            except (OSError, EOFError):
                await asyncio.sleep(0.01)
    await asyncio.gather(*(one(number) for number in range(n)))


def frame(text):
    """A WebSocket frame, masked with zeros."""
    return bytes([0x81, 0x80 | 126]) + len(text).to_bytes(2, "big") + bytes(4) + text


WIDE = {"target": "en", "beam": 16, "min_length": 128, "max_length": 512, "cache": False}


async def batches(port):
    async def one(rng):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /v1/stream HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Forwarded-For: %s\r\n\r\n" % ATTACKER.encode())
        for number in range(64):
            text = " ".join(sentence(rng, 6) for _ in range(60))
            writer.write(frame(json.dumps({"type": "translate", "id": str(number), "text": text, **WIDE}).encode()))
        try:
            await asyncio.wait_for(read_away(reader), 2)
        except (TimeoutError, asyncio.TimeoutError):
            pass
        writer.transport.abort()
    await again_and_again(one, 4)


async def posts(port):
    async def one(rng):
        body = json.dumps({"text": [sentence(rng, 11) for _ in range(500)], **WIDE}).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(ATTACKER, body, b"Connection: close\r\n"))
        await read_away(reader)
        writer.close()
    await again_and_again(one, 8)


async def bodies(port):
    async def one(_):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(ATTACKER, b" " * 1999999, length=2000000))
        await read_away(reader)
        writer.close()
    await again_and_again(one, 60)


async def vanish(port):
    async def one(rng):
        text = " ".join(sentence(rng) for _ in range(40))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(ATTACKER, json.dumps({"text": text, "stream": True, **WIDE}).encode()))
        async for line in reader:
            if line.startswith(b"event: token"):
                break
        writer.transport.abort()
    await again_and_again(one, 20)


async def connections(port):
    async def one(rng):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: %s\r\n\r\n" % ATTACKER.encode())
        await reader.read(100)
        await asyncio.sleep(rng.random())
        writer.close()
    await again_and_again(one, 400)


KINDS = {"batches": batches, "posts": posts, "bodies": bodies, "vanish": vanish, "connections": connections}


def attack(kind, port):
    try:
        asyncio.run(asyncio.wait_for(KINDS[kind](port), 600))
    except (KeyboardInterrupt, asyncio.TimeoutError):
        pass


# ---- The measurement


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


def measure(options, kind):
    daemon = Daemon(options, "--trusted-proxies=127.0.0.1", *options.flags)
    ordinary(daemon.port, 1)
    times, refused = {False: [], True: []}, 0
    for _ in range(options.rounds):
        for is_attacked in (False, True):
            attacker = None
            if is_attacked:
                attacker = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--attack", kind, str(daemon.port)])
                time.sleep(1)
            found, n_refused = ordinary(daemon.port, options.seconds)
            times[is_attacked] += found
            refused += n_refused
            if attacker:
                attacker.kill()
                attacker.wait()
                while daemon.number("sentences_waiting") + daemon.number("sentences_running") > 0:
                    time.sleep(0.1)
    say(f"{kind}-without", p99(times[False]) * 1000, f"ms p99 of {len(times[False])} answers")
    say(f"{kind}-with", p99(times[True]) * 1000, f"ms p99 of {len(times[True])} answers, {refused} refused")
    say(f"{kind}-ratio", p99(times[True]) / p99(times[False]), "times (aim 3)")
    daemon.stop()


def main():
    if sys.argv[1:2] == ["--attack"]:
        attack(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("dragomand")
    parser.add_argument("--models-dir", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", default=",".join(KINDS))
    options = parse(parser)
    for kind in options.only.split(","):
        measure(options, kind)


if __name__ == "__main__":
    main()
