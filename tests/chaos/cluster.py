# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""One service of three servers, HAProxy and a Redis, while servers are killed one after the other:
a bulk job, documents, glossaries that change, and clients that ask for translations meanwhile. A
client that gets an answer gets what a single server would answer, and no client sees any failure
except 503 with Retry-After.

    cd build && ../tests/integration/run ../tests/chaos/cluster.py        minutes; not part of `make check`

DRAGOMAN_CHAOS_LINES is the size of the job (20000), DRAGOMAN_CHAOS_CLIENTS the number of these
clients (64), DRAGOMAN_CHAOS_SECONDS the duration of the trouble (60). Every five seconds SIGKILL
ends one server, which is started again; after a third of the time Redis is stopped for ten
seconds; after a quarter and after three quarters HAProxy is reloaded. The test prints what
happened at the end."""
import collections
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.path[:0] = [os.path.join(SOURCES, "tests", folder) for folder in ("integration", "support")]
sys.path.insert(0, os.path.join(SOURCES, "clients", "python"))
from dragoman import Dragoman, DragomanError  # noqa: E402
from harness import MODELS_DIR, PATIENCE_S, IntegrationTest, free_ports, main, multipart, wait_for  # noqa: E402
from proxy import Proxy, conf_file, with_ports  # noqa: E402
from redis import Redis  # noqa: E402

N_LINES = int(os.environ.get("DRAGOMAN_CHAOS_LINES", "20000"))
N_CLIENTS = int(os.environ.get("DRAGOMAN_CHAOS_CLIENTS", "64"))
SECONDS = float(os.environ.get("DRAGOMAN_CHAOS_SECONDS", "60"))
KILL_EVERY_S, REDIS_AWAY_S, PAUSE_S = 5, 10, 0.3
VERBS = "mange bois vois lis prends veux peux sais".split()
THINGS = "pain livre train chat thé lait gâteau journal vélo billet".split()
TEXTS = [f"Je {VERBS[k % 8]} le {THINGS[k % 10]}. Le chat dort dans le jardin. Où est la gare ?" for k in range(40)]
JOB_S = 600  # on a busy machine
DOCUMENT = "\n".join(TEXTS[:5]) + "\n"


def lines(n):
    """Lines that all differ, so that each is work."""
    return [f"Je {VERBS[k % 8]} le {THINGS[k // 8 % 10]} {k}." for k in range(n)]


class Later(Exception):
    """503 with Retry-After: the only failure that a client may see."""


class Cluster(IntegrationTest):
    def setUp(self):
        super().setUp()
        if "redis      yes" not in self.run_program("--version").stdout:
            self.skipTest("built without hiredis")
        self.redis = Redis(self).start()
        ports = free_ports(7)
        self.port, self.ports, self.agents = ports[0], ports[1:4], ports[4:]
        self.conf = os.path.join(self.directory, "haproxy.cfg")
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(self.configuration())
        self.servers = [self.start_one(n) for n in range(3)]
        for server in self.servers:
            server.wait_for_log("Redis is available")
        self.proxy = Proxy(self, ["haproxy", "-W", "-db", "-f", self.conf], self.port)
        self.trouble = threading.Event()  # it is over
        self.counts = collections.Counter()
        self.wrong, self.seen_after = [], []
        self.dying = None  # the server that is down
        self.n_redis_away = 0  # how often Redis was paused or resumed

    def configuration(self):
        """conf/haproxy.cfg with its lines for agents."""
        text = conf_file("haproxy.cfg").replace("maxconn 4000", "maxconn 400")
        text = text.replace("#server ", "server_with_agent ")
        text = "\n".join(line for line in text.split("\n") if not line.startswith("    server "))
        text = text.replace("server_with_agent ", "server ")
        for old, new in zip((8191, 8192, 8193), self.agents):
            text = text.replace(f"agent-port {old}", f"agent-port {new}")
        return with_ports(text, dict(zip(range(8090, 8094), (self.port, *self.ports))))

    def start_one(self, n):
        return self.start(f"--models-dir={MODELS_DIR}", f"--redis={self.redis.address}", "--access-log=no", "--threads=1",
                          "--trusted-proxies=127.0.0.1", "--max-connections-per-client=0",
                          f"--agent-listen=127.0.0.1:{self.agents[n]}",
                          f"--glossaries-dir={os.path.join(self.directory, f'glossaries{n}')}",
                          f"--jobs-dir={os.path.join(self.directory, 'jobs')}", "--jobs-shared=yes",
                          listen=(f"127.0.0.1:{self.ports[n]}",))

    # ---- What clients do -------------------------------------------------------------------------------------------------

    def ask(self, method, path, body=None, kind="application/json", port=None, **headers):
        """The body of a successful answer. Each request has its own connection, as HAProxy may
        close idle ones when it is reloaded."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body,
                               {**({"Content-Type": kind} if body else {}), **headers})
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        if answer.status == 503 and answer.headers["Retry-After"]:
            self.counts["503 with Retry-After"] += 1
            raise Later
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {said[:200]}")
        return said

    def patiently(self, *arguments, **more):
        while True:
            try:
                return self.ask(*arguments, **more)
            except Later:
                time.sleep(1)

    def client(self, what, turn):
        """Runs `turn` again and again while the trouble lasts."""
        chance = random.Random(what)
        while not self.trouble.is_set():
            try:
                turn(chance)
                self.counts[what.partition(" ")[0]] += 1
            except Later:
                time.sleep(1)
            except DragomanError as error:
                if error.status == 503 and error.retry_after is not None:
                    self.counts["503 with Retry-After"] += 1
                    time.sleep(1)
                else:
                    self.wrong.append(f"{what}: {error.code} {error.status} {error}")
            except Exception as error:  # anything that a client would see
                self.wrong.append(f"{what}: {type(error).__name__} {error}")
            time.sleep(PAUSE_S * chance.random())

    def plain(self, chance):
        text = chance.choice(TEXTS)
        answer = json.loads(self.ask("POST", "/v1/translate", json.dumps({"text": text, "target": "en"})))
        if answer["translations"][0]["text"] != self.expected[text]:
            raise AssertionError(f"{text}: {answer['translations'][0]['text']}")

    def stream(self, chance):
        texts = [chance.choice(TEXTS) for _ in range(chance.choice((1, 3)))]
        said = [""] * len(texts)
        with Dragoman(f"http://127.0.0.1:{self.port}") as client:
            for event in client.stream(texts if len(texts) > 1 else texts[0], target="en", cache=chance.random() < 0.5):
                if event["type"] == "token":
                    said[event["index"]] += event["text"]
        if said != [self.expected[text] for text in texts]:
            raise AssertionError(f"{texts}: {said}")

    def change(self, id, chance):
        """A glossary gets another term, and every server that stays alive for the next second has
        the term within that second."""
        term = f"word{chance.random()}"
        body = json.dumps({"source": "fr", "target": "en", "terms": [{"source": "chat", "target": term}]})
        n_redis_away = self.n_redis_away
        self.ask("PUT", f"/v1/glossaries/{id}", body)
        changed = time.monotonic()
        for n, port in enumerate(self.ports):
            server = self.servers[n]
            while True:
                try:
                    if term in self.ask("GET", f"/v1/glossaries/{id}", port=port).decode():
                        if n_redis_away == self.n_redis_away:
                            self.seen_after.append(time.monotonic() - changed)
                        break
                except (OSError, http.client.HTTPException, Later, AssertionError):
                    pass
                if server is not self.servers[n] or n == self.dying:
                    self.counts["glossaries not looked at"] += 1
                    break
                if time.monotonic() - changed > PATIENCE_S:
                    raise AssertionError(f"glossary {id} is not at server {n}")
                time.sleep(0.02)

    def document(self, path, form, expected):
        """A document is sent once, and fetched wherever HAProxy asks for it."""
        body, headers = multipart({**form, "file": ("a.txt", DOCUMENT.encode())})
        answer = json.loads(self.patiently("POST", path, body, headers["Content-Type"]))
        if "translatedFileUrl" in answer:
            said = self.patiently("GET", "/download_file" + answer["translatedFileUrl"].partition("/download_file")[2])
        else:
            body = json.dumps({"document_key": answer["document_key"]})
            where = f"/v2/document/{answer['document_id']}"
            while json.loads(self.patiently("POST", where, body))["status"] != "done":
                time.sleep(0.1)
            said = self.patiently("POST", f"{where}/result", body)
        if said.decode() != expected:
            raise AssertionError(f"{path}: {said}")

    # ---- Trouble ---------------------------------------------------------------------------------------------------------

    def kill(self, n):
        self.dying = n
        self.servers[n].expected_codes = (-signal.SIGKILL,)
        self.servers[n].signal(signal.SIGKILL)
        self.servers[n].wait()
        self.servers[n] = self.start_one(n)
        self.dying = None
        self.counts["servers killed"] += 1

    def stand_still(self, does):
        self.n_redis_away += 1
        (self.redis.pause if does else self.redis.resume)()

    def make_trouble(self):
        begun = time.monotonic()
        due = [(at * KILL_EVERY_S, lambda at=at: self.kill(at % 3)) for at in range(1, int(SECONDS / KILL_EVERY_S) + 1)]
        due += [(SECONDS / 3, lambda: self.stand_still(True)), (SECONDS / 3 + REDIS_AWAY_S, lambda: self.stand_still(False))]
        due += [(part * SECONDS, lambda: self.proxy.process.send_signal(signal.SIGUSR2)) for part in (0.25, 0.75)]
        for at, act in sorted(due, key=lambda one: one[0]):
            time.sleep(max(0.0, begun + at - time.monotonic()))
            act()
        self.redis.resume()

    def test_nothing_is_lost(self):
        texts = lines(N_LINES)
        asked = lambda said: [item["text"] for item in json.loads(self.ask("POST", "/v1/translate", json.dumps(
            {"text": said, "target": "en"}), port=self.ports[0]))["translations"]]
        self.expected = dict(zip(TEXTS, asked(TEXTS)))
        document = asked([DOCUMENT])[0]
        body = json.dumps({"name": "words", "source": "fr", "target": "en", "terms": [{"source": "chat", "target": "hound"}]})
        glossaries = [json.loads(self.ask("POST", "/v1/glossaries", body))["id"] for _ in range(5)]
        job = json.loads(self.ask("POST", "/v1/jobs?target=en", "\n".join(texts) + "\n", "text/plain"))["id"]
        turns = [(f"{kind} {n}", turn) for n in range(N_CLIENTS // 2)
                 for kind, turn in (("answers", self.plain), ("streams", self.stream))]
        turns += [(f"glossaries {id}", lambda chance, id=id: self.change(id, chance)) for id in glossaries]
        deepl = ("/v2/document", {"source_lang": "FR", "target_lang": "EN"}, document)
        turns += [("documents 1", lambda _: self.document(*deepl)), ("documents 2", lambda _: self.document(*deepl)),
                  ("files", lambda _: self.document("/translate_file", {"source": "fr", "target": "en"}, document))]
        clients = [threading.Thread(target=self.client, args=turn) for turn in turns]
        for client in clients:
            client.start()
        try:
            self.make_trouble()
        finally:
            self.redis.resume()
            self.trouble.set()
            for client in clients:
                client.join()
            seen = sorted(self.seen_after) or [0]
            print(f"{dict(self.counts)}, glossaries seen after {seen[len(seen) // 2]:.3f} s, 99 % {seen[len(seen) * 99 // 100]:.3f} s, "
                  f"all {seen[-1]:.3f} s, {len(self.wrong)} failures {self.wrong[:9]}", file=sys.stderr)
        state = lambda: json.loads(self.patiently("GET", f"/v1/jobs/{job}"))
        until = time.monotonic() + JOB_S
        while state()["state"] != "done" and time.monotonic() < until:
            time.sleep(0.5)
        end = state()
        self.assertEqual((end["state"], end["lines"], end["done"], end["failed"]), ("done", N_LINES, N_LINES, 0))
        result = self.patiently("GET", f"/v1/jobs/{job}/result").decode().splitlines()
        expected = [said for at in range(0, N_LINES, 500) for said in asked(texts[at:at + 500])]
        self.assertTrue(result == expected, "the job's result is not what one server answers")
        self.assertEqual(self.wrong, [])


if __name__ == "__main__":
    main()
