# SPDX-License-Identifier: ISC
"""Measures a whole dragomand under load: throughput and time to the first token of one client and
of many, clients that vanish, memory after many sentences, reloads, many models in little memory.

    python3 tests/bench/load.py ./dragomand --models-dir models [--seconds 10] [--clients 64] [--only NAME,...]

Sections: clients, vanish, memory, reload, models, path. One line per result: name, value, unit.
The clients of each section run in one process of their own; on two cores they take part of the
processor time that they measure, so only ratios count. Servers listen on 127.0.0.1 only and are
stopped at the end. Standard library only.
"""
import argparse
import asyncio
import json
import os
import random
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from ws_client import Socket  # noqa: E402

WORDS = ("le chat dort dans la maison il pleut depuis ce matin nous allons au marché acheter du pain et des fruits elle ne "
         "sait pas encore si ses amis viendront demain soir je voudrais un café sans sucre où est la gare la plus proche "
         "mon frère travaille à Paris depuis trois ans").split()


def say(name, value, unit):
    print(f"{name} {value:.4g} {unit}", flush=True)


def sentence(rng, n=None):
    return " ".join(rng.choice(WORDS) for _ in range(n or rng.randint(6, 18))).capitalize() + "."


def parse(parser):
    """The options of a program; what follows -- on its command line is for the server."""
    parser.usage = "%(prog)s [options] DRAGOMAND [-- FLAGS OF THE SERVER]"
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.flags = words[end + 1:]
    return options


class Daemon:
    def __init__(self, options, *flags, conf=""):
        self.directory = tempfile.TemporaryDirectory()
        self.conf = os.path.join(self.directory.name, "dragomand.conf")
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(conf)
        self.log = os.path.join(self.directory.name, "log")
        models = [] if conf else [f"--models-dir={options.models_dir}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([options.dragomand, f"--config={self.conf}", "--listen=127.0.0.1:0",
                                             "--access-log=no", *models, *flags], stdout=log, stderr=log)
        while "msg=ready" not in self.text():
            if self.process.poll() is not None:
                raise SystemExit(f"load.py: the server did not start: {self.text()}")
            time.sleep(0.05)
        self.port = int(re.search(r"msg=listening address=\S+:(\d+)", self.text()).group(1))

    def text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def number(self, name):
        return float(re.search(rf"^dragoman_{name} (\S+)$", self.get("/metrics"), re.M).group(1))

    def kib(self, what="VmRSS"):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{what}:\s+(\d+)", status.read()).group(1))

    def cpu(self):
        """Processor seconds that the daemon has used."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.directory.cleanup()


def address(n):
    """The address and port that client `n` comes from. Each has an address of its own, because the server divides its workers
    between addresses: one alone has three quarters of the slots."""
    return f"127.1.{n // 250}.{n % 250 + 1}", 0


async def ask(port, body, n=0):
    """Writes a request of client `n` on its own connection; returns (reader, writer)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=address(n))
    content = json.dumps(body).encode()
    writer.write(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nConnection: close\r\n"
                 b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
    return reader, writer


BEAM = {}  # {"beam": N} with --beam


async def stream(port, text, n, rng=None):
    """One streamed request of client `n`; returns the seconds to the first token. With `rng` the
    client may vanish in the middle: None."""
    started = time.perf_counter()
    reader, writer = await ask(port, {"text": text, "target": "en", "stream": True, "cache": False, **BEAM}, n)
    first, vanish = None, rng and rng.random() < 0.5
    try:
        async for line in reader:
            if line.startswith(b"HTTP/1.1") and b" 200 " not in line:
                raise RuntimeError(line.decode())
            if line.startswith(b"event: token") and first is None:
                first = time.perf_counter() - started
                if vanish:
                    return None
            if line.startswith(b"event: done"):
                break
    finally:
        if vanish:
            writer.transport.abort()
        else:
            writer.close()
    return first


async def vanishers(port, n, seconds):
    """`n` clients for so many seconds; half of them leave at their first token."""
    end = time.monotonic() + seconds

    async def one(seed):
        rng = random.Random(seed)
        while time.monotonic() < end:
            await stream(port, sentence(rng), seed, rng)

    await asyncio.gather(*(one(i) for i in range(n)))


class Client:
    """Asks for one stream after the other on one connection, and only scans the bytes as they come:
    a client that parsed them would use more of the machine than the server."""

    def __init__(self, port, number):
        self.socket = socket.create_connection(("127.0.0.1", port), source_address=address(number))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, text):
        content = json.dumps({"text": text, "target": "en", "stream": True, "cache": False, **BEAM}).encode()
        self.first, self.tail, self.began = None, b"", time.perf_counter()
        self.socket.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                            b"Content-Length: %d\r\n\r\n%s" % (len(content), content))

    def read(self):
        """True at the end of the answer."""
        data = self.socket.recv(65536)
        if self.first is None and b"event: token" in data:
            self.first = time.perf_counter() - self.began
        self.tail = (self.tail + data)[-2000:]
        if data and not self.tail.endswith(b"\r\n0\r\n\r\n"):
            return False
        if b"event: done" not in self.tail or self.first is None:
            raise RuntimeError(f"not answered: {self.tail!r}")
        return True


def crowd(port, n, texts):
    """`n` clients, which stream one text after the other; returns the times to first tokens."""
    firsts, clients, poll = [], {}, select.epoll()
    for number, text in zip(range(n), texts):
        client = Client(port, number)
        clients[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
        client.ask(text)
    while clients:
        for fd, _ in poll.poll():
            client = clients[fd]
            if not client.read():
                continue
            firsts.append(client.first)
            if (text := next(texts, None)) is not None:
                client.ask(text)
            else:
                poll.unregister(client.socket)
                client.socket.close()
                del clients[fd]
    return firsts


def texts_for(seconds):
    rng, end = random.Random(1), time.monotonic() + seconds
    while time.monotonic() < end:
        yield sentence(rng)


def section_clients(options):
    daemon = Daemon(options)
    rates, medians, p99s, costs = {}, {}, {}, {}
    crowd(daemon.port, 4, texts_for(1))
    for n in (1, options.clients):
        before, started, cpu = daemon.number("output_tokens_total"), time.monotonic(), daemon.cpu()
        firsts = sorted(crowd(daemon.port, n, texts_for(options.seconds)))
        tokens = daemon.number("output_tokens_total") - before
        rates[n], costs[n] = tokens / (time.monotonic() - started), tokens / (daemon.cpu() - cpu)
        medians[n], p99s[n] = statistics.median(firsts), firsts[int(len(firsts) * 0.99)]
        say(f"clients-{n}-rate", rates[n], "tokens/s")
        say(f"clients-{n}-cost", costs[n], "tokens for each second of a processor")
        say(f"clients-{n}-first-median", medians[n] * 1000, "ms")
        say(f"clients-{n}-first-p99", p99s[n] * 1000, "ms")
    many = options.clients
    say("clients-rate-ratio", rates[many] / rates[1], "times one client (aim 3)")
    say("clients-cost-ratio", costs[many] / costs[1], "times one client; what a busy machine does not disturb")
    say("clients-median-ratio", medians[many] / medians[1], "times one client's (aim 5)")
    say("clients-p99-ratio", p99s[many] / p99s[1], "times one client's p99 (aim 20)")
    daemon.stop()


def section_vanish(options):
    daemon = Daemon(options)
    asyncio.run(vanishers(daemon.port, 200, options.vanish_seconds))
    time.sleep(1)
    for name in ("sentences_waiting", "sentences_running", "sentences_cancelled_total", "sentences_done_total",
                 "sentences_failed_total"):
        say(f"vanish-{name}", daemon.number(name), "sentences")
    say("vanish-connections", daemon.number("connections"), "(one is ours)")
    daemon.stop()


async def flood(port, start, total, max_length, workers=8):
    """`total` distinct short sentences, 200 in a request, each answered with at most `max_length`
    tokens. They contain no numbers, because those bypass the model."""
    def text(i):
        n = len(WORDS)
        return f"{WORDS[i % n]} {WORDS[i // n % n]} {WORDS[i // n**2 % n]} {WORDS[i // n**3 % n]}."

    todo = iter(range(0, total, 200))

    async def one():
        for first in todo:
            texts = [text(i) for i in range(start + first, start + first + 200)]
            reader, writer = await ask(port, {"text": texts, "target": "en", "beam": 1, "max_length": max_length})
            answer = await reader.read()
            if b" 200 " not in answer[:20]:
                raise RuntimeError(answer[:300].decode())
            writer.close()

    await asyncio.gather(*(one() for _ in range(workers)))


async def fill(port, max_length):
    """64 clients at once, 80 sentences of 18 words each: all slots are in use."""
    rng = random.Random(2)

    async def one(n):
        for _ in range(4):
            texts = [sentence(rng, 18) for _ in range(20)]
            reader, writer = await ask(port, {"text": texts, "target": "en", "beam": 1, "max_length": max_length}, n)
            answer = await reader.read()
            if b" 200 " not in answer[:20]:
                raise RuntimeError(answer[:300].decode())
            writer.close()

    await asyncio.gather(*(one(n) for n in range(64)))


def section_memory(options):
    """Growth counts from the first reading after the cache was full, which it is when answers leave
    it. The server is warm: all slots of its workers were in use. Without that, pages that were
    reserved at the start are touched for the first time whenever more sentences than ever before
    happen to be under way at once, a per cent or two in a quarter of a million sentences."""
    daemon = Daemon(options, f"--cache-size={options.cache}KiB")
    asyncio.run(fill(daemon.port, options.memory_words))
    say("memory-warm", daemon.kib() / 1024, "MiB")
    step, before, since, evicted, half = options.sentences_before, None, 0, 0, None
    for done in range(step, options.sentences + 1, step):
        asyncio.run(flood(daemon.port, done - step, step, options.memory_words))
        kib = daemon.kib()
        if options.cache:
            evicted = daemon.number("cache_evicted_total")
        say(f"memory-{done}", kib / 1024, f"MiB, {evicted:.0f} answers have left the cache")
        if before is None and (evicted or not options.cache):
            before, since = kib, done
        if half is None and done >= options.sentences / 2:
            half = kib
    if before is None:
        raise SystemExit("load.py: the cache was never full: more --sentences or a smaller --cache")
    say("memory-growth", 100 * (kib / before - 1), f"% after {since} sentences (aim 2)")
    say("memory-growth-second-half", 100 * (kib / half - 1), "%")
    daemon.stop()


def section_reload(options):
    daemon = Daemon(options)
    before = daemon.kib()

    async def run():
        load = asyncio.gather(*(one(i) for i in range(8)))
        for n in range(1, 51):
            daemon.process.send_signal(signal.SIGHUP)
            while daemon.text().count("models reloaded") < n:
                await asyncio.sleep(0.02)
        stop.set()
        return sum(await load)

    async def one(seed):
        rng, n = random.Random(seed), 0
        while not stop.is_set():
            await stream(daemon.port, sentence(rng), seed)
            n += 1
        return n

    stop = asyncio.Event()
    say("reload-requests", asyncio.run(run()), "requests during 50 reloads, none failed")
    time.sleep(1)
    say("reload-memory-before", before, "KiB")
    say("reload-memory-after", daemon.kib(), "KiB")
    say("reload-models-bytes", daemon.number("models_bytes") / 1024, "KiB")
    with open(f"/proc/{daemon.process.pid}/maps", encoding="utf-8") as maps:
        say("reload-mappings", sum("safetensors" in line for line in maps), "of the model's file")
    daemon.stop()


def section_models(options):
    path = os.path.join(os.path.abspath(options.models_dir), "fr-en")
    conf = "".join(f"[model m{i}]\npath = {path}\nsource = fr\ntarget = en\n" for i in range(20))
    limit = options.limit
    daemon = Daemon(options, f"--memory-limit={limit}MiB", conf=conf)
    say("models-ready-at-start", daemon.get("/v1/models").count('"ready"'), "of 20")

    async def one(port, name):
        started = time.perf_counter()
        reader, _ = await ask(port, {"text": "Merci beaucoup.", "model": name})
        answer = await reader.read()
        return b" 200 " in answer[:20], time.perf_counter() - started

    async def run():
        return await asyncio.gather(*(one(daemon.port, f"m{i % 20}") for i in range(200)))

    answers = asyncio.run(run())
    say("models-answered", sum(ok for ok, _ in answers), "of 200 requests over 20 models")
    say("models-slowest", max(seconds for _, seconds in answers), "s")
    say("models-peak", daemon.kib("VmHWM") / 1024, f"MiB resident at most (limit {limit})")
    daemon.stop()


def by_tool(options, sentences):
    """Sentences per second, and per second of processor time, of `dragoman translate`, without the
    loading."""
    tool = os.path.join(os.path.dirname(os.path.abspath(options.dragomand)), "dragoman")

    def run(lines):
        started, before = time.perf_counter(), os.times()
        subprocess.run([tool, "translate", "-q", "--threads", str(options.path_workers), "--beam", str(options.beam or 1), "--whole-lines",
                        "-m", os.path.join(options.models_dir, "fr-en")], check=True, stdout=subprocess.DEVNULL,
                       input="".join(line + "\n" for line in lines).encode())
        after = os.times()
        return time.perf_counter() - started, sum(after[2:4]) - sum(before[2:4])

    empty, full = run([]), run(sentences)
    return len(sentences) / (full[0] - empty[0]), len(sentences) / (full[1] - empty[1])


def by_arrays(port, sentences, of=32):
    """Four connections, each request an array of sentences."""
    parts = [sentences[i:i + of] for i in range(0, len(sentences), of)]

    async def go():
        async def client(k):
            for part in parts[k::4]:
                reader, writer = await ask(port, {"text": part, "target": "en", "cache": False, **BEAM})
                if b" 200 " not in (await reader.read())[:20]:
                    raise RuntimeError("no answer")
                writer.close()
        await asyncio.gather(*(client(k) for k in range(4)))
    asyncio.run(go())


def by_socket(port, sentences, at_once=48):
    """One socket with so many sentences under way, where every token is a message."""
    class Server:
        @staticmethod
        def connect():
            return socket.create_connection(("127.0.0.1", port))

    ws, n_done, n_sent, done = Socket(Server), 0, 0, b'"type":"done"'
    while n_done < len(sentences):
        while n_sent < len(sentences) and n_sent < n_done + at_once:
            ws.send({"type": "translate", "id": str(n_sent), "text": sentences[n_sent], "target": "en", "cache": False, **BEAM})
            n_sent += 1
        opcode, payload = ws.frame()
        if opcode != 1 or b'"type":"error"' in payload:
            raise RuntimeError((opcode, payload))
        n_done += done in payload
    ws.close()


def section_path(options):
    """What the way through the server costs: the tool, arrays, a socket and many clients that
    stream, in turns, with the same sentences. A worker that has a core of its own is not disturbed
    by the clients; with more workers than that only processor time says something."""
    rng = random.Random(1)
    sentences = [sentence(rng) for _ in range(options.path_sentences)]
    BEAM.setdefault("beam", 1)
    daemon = Daemon(options, f"--threads={options.path_workers}", "--cache-size=0")
    ways = {"arrays": by_arrays, "socket": by_socket,
            "streams": lambda port, sentences: crowd(port, options.clients, iter(sentences))}
    figures = {name: [] for name in ("tool", *ways)}
    by_arrays(daemon.port, sentences[:64])
    for _ in range(options.path_rounds):
        figures["tool"].append(by_tool(options, sentences))
        for name, way in ways.items():
            started, before = time.perf_counter(), daemon.cpu()
            way(daemon.port, sentences)
            figures[name].append((len(sentences) / (time.perf_counter() - started), len(sentences) / (daemon.cpu() - before)))
    daemon.stop()
    tool = [statistics.median(column) for column in zip(*figures["tool"])]
    for name, rows in figures.items():
        wall, cpu = (statistics.median(column) for column in zip(*rows))
        say(f"path-{name}", wall, f"sentences/s, {100 * wall / tool[0]:.0f} % of the tool's; {cpu:.4g} a second of processor time, "
                                  f"{100 * cpu / tool[1]:.0f} %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dragomand")
    parser.add_argument("--models-dir", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--vanish-seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--sentences", type=int, default=1000000)
    parser.add_argument("--sentences-before", type=int, default=10000, help="memory is read whenever so many are done")
    parser.add_argument("--memory-words", type=int, default=2, help="the most tokens of an answer in this section")
    parser.add_argument("--cache", type=int, default=2048, help="KiB")
    parser.add_argument("--limit", type=int, default=256)
    parser.add_argument("--path-sentences", type=int, default=2000)
    parser.add_argument("--path-rounds", type=int, default=3)
    parser.add_argument("--path-workers", type=int, default=1)
    parser.add_argument("--only", default="clients,vanish,memory,reload,models,path")
    parser.add_argument("--beam", type=int, help="instead of the model's own")
    options = parser.parse_args()
    if options.beam:
        BEAM["beam"] = options.beam
    for name in options.only.split(","):
        globals()[f"section_{name}"](options)


if __name__ == "__main__":
    main()
