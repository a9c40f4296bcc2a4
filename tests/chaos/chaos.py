# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Random clients of many kinds meet random trouble of many kinds. A client that gets an answer gets
what an idle server answers, no client waits for ever, and when the trouble is over everything is
as before.

DRAGOMAN_CHAOS_SEED (1) decides the requests and the faults; DRAGOMAN_CHAOS_SECONDS (5) is how
long the test lasts. The seed does not decide the timing of threads and of the machine, so it
makes a failure likely to come again, not certain."""
import collections
import errno
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sys
import threading
import time
import warnings

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
sys.path[:0] = [os.path.join(SOURCES, "tests", folder) for folder in ("integration", "support", "chaos")]
from faults import Plan, why_not  # noqa: E402
from harness import PATIENCE_S, IntegrationTest, hesitate, main, multipart, wait_for  # noqa: E402
from redis import Redis  # noqa: E402
from ws_client import Socket  # noqa: E402

SEED = int(os.environ.get("DRAGOMAN_CHAOS_SEED", "1"))
SECONDS = float(os.environ.get("DRAGOMAN_CHAOS_SECONDS", "5"))
N_CLIENTS = 8
SENTENCES = ("Le chat dort.", "La maison est grande.", "Je vois un chien dans le jardin.", "Comment allez-vous ?",
             "Il fait beau aujourd'hui.", "Nous avons trouvé la gare.", "Où est la gare ?", "Merci beaucoup, mes amis.")
LONG = " ".join(SENTENCES) * 6
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
AMAZON = {"X-Amz-Target": "AWSShineFrontendService_20170701.TranslateText",
          "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/translate/aws4_request, Signature=y"}

# Parts of an answer that differ although the request is the same: ids of requests, times.
VOLATILE = re.compile(r'"(request_id|requestId|id|created|created_at|time_taken|[a-z_]*duration|took|timing|milliseconds)":\s*("[^"]*"|[-0-9.e]+|\{[^{}]*\})')
# Too busy, too late, no room: answers that a client may get under trouble.
BUSY = (429, 503, 504, 507)


def questions():
    """(path, body, type, more headers) of requests whose answers are always the same."""
    found = []
    for text in (*SENTENCES, LONG):
        found += [
            ("/v1/translate", {"text": text, "target": "en"}),
            ("/v1/translate", {"text": [text, SENTENCES[0]], "source": "fr", "target": "en", "beam": 3, "scores": True}),
            ("/translate", {"q": text, "source": "fr", "target": "en"}),
            ("/v2/translate", {"text": [text], "source_lang": "FR", "target_lang": "EN"}),
            ("/translate/batch", {"texts": [text], "from": "fr", "to": "en"}),
            ("/imme", {"text_list": [text], "source_lang": "fr", "target_lang": "en"}),
            ("/kiss", {"texts": [text], "from": "fr", "to": "en"}),
            ("/hcfy", {"text": text, "destination": ["法语", "英语"], "source": "法语"}),
            ("/deeplx", {"text": text, "source_lang": "FR", "target_lang": "EN"}),
            ("/language/translate/v2", {"q": text, "source": "fr", "target": "en"}),
            ("/v3/projects/any:translateText", {"contents": [text], "mimeType": "text/plain", "sourceLanguageCode": "fr",
                                                "targetLanguageCode": "en"}),
            ("/api/translate", {"source": text, "from": "fr", "to": "en"}),
            ("/api/v4/translator", {"text": text, "source": "fra_Latn", "target": "eng_Latn"}),
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], "model": "fr-en"}),
            ("/api/generate", {"prompt": text, "model": "fr-en", "stream": False}),
            ("/api/chat", {"messages": [{"role": "user", "content": text}], "model": "fr-en", "stream": False}),
        ]
    found = [(path, json.dumps(body), JSON, {}) for path, body in found]
    for text in SENTENCES:
        found.append(("/", json.dumps({"Text": text, "SourceLanguageCode": "fr", "TargetLanguageCode": "en"}),
                      "application/x-amz-json-1.1", AMAZON))
        found.append(("/v1/translate", json.dumps({"text": f"<p>{text} <b>{text}</b></p>", "target": "en", "source": "fr",
                                                   "format": "html"}), JSON, {}))
    found.append(("/v2/translate", "text=Le+chat+dort.&source_lang=FR&target_lang=EN", FORM, {}))
    return found


class Chaos(IntegrationTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        reason = why_not(self.run_program)
        if reason:
            self.skipTest(reason)
        warnings.simplefilter("ignore", ResourceWarning)  # we do not also close a connection that was cut
        self.wrong = []  # (client, what)
        self.counts = collections.Counter()
        self.broken = []  # when each failure of the disk (EIO) ended; None: it has not
        self.stopped = threading.Event()
        self.chance = random.Random(SEED)
        self.plan = Plan(os.path.join(self.directory, "plan"))
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        for copy in ("a", "b"):
            shutil.copytree(os.path.join(SOURCES, "models", "fr-en"), os.path.join(self.directory, copy))
        os.symlink("../a", os.path.join(models, "fr-en"))
        self.flags = [f"--models-dir={models}", f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}",
                      f"--jobs-dir={self.directory}/jobs", f"--glossaries-dir={self.directory}/glossaries",
                      "--memory-limit=96MiB", "--threads=2", "--body-timeout=2s"]
        self.redis = None
        if "redis      yes" in self.run_program("--version").stdout and shutil.which("redis-server"):
            self.redis = Redis(self).start()
            self.flags.append(f"--redis={self.redis.address}")

    # ---- Clients: each asks once. An OSError is one of theirs that trouble may bring; what they assert is not.

    def ask(self, path, body, kind=JSON, more=None, method="POST", server=None):
        begun = time.monotonic()
        status, _, answer = (server or self.server).request(method, path, body.encode() if isinstance(body, str) else body,
                                                            {"Content-Type": kind, **(more or {})})
        answer = answer.decode()
        self.check(status != 500 or self.was_broken(begun), (path, body, status, answer))
        self.check(self.directory not in answer, (path, body, "tells a path of the server", answer))
        return status, answer

    def was_broken(self, since):
        """Whether the disk failed at any time since then: no other trouble may become a 500."""
        return any(end is None or end >= since for end in self.broken)

    def normal(self, answer):
        return VOLATILE.sub(r'"\1":0', answer)

    def deterministic(self, chance):
        asked = chance.choice(self.questions)
        status, answer = self.ask(*asked)
        if status == 200:
            self.check(self.normal(answer) == self.oracle[asked[:2]], (asked, answer, self.oracle[asked[:2]]))
        else:
            self.check(status in BUSY, (asked, status, answer))
        return status

    def streaming(self, chance):
        text = chance.choice((*SENTENCES, LONG))
        status, answer = self.ask("/v1/translate", json.dumps({"text": text, "target": "en", "stream": True}))
        if status != 200:
            self.check(status in BUSY, (status, answer))
            return status
        blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in answer.split("\n\n")[:-1]
                  if not block.startswith(":")]  # a comment, for clients that wait long
        said = "".join(json.loads(block["data"]).get("text", "") for block in blocks if block["event"] == "token")
        last = json.loads(blocks[-1]["data"])
        if blocks[-1]["event"] == "done":
            self.check(said == self.plain[text], (text, said))
            return "done"
        self.check(blocks[-1]["event"] == "error" and last, answer)
        return "error"

    def web_socket(self, chance):
        client = Socket(self.server)
        try:
            if b" 101 " not in client.head.split(b"\r\n")[0]:
                return client.head[9:12].decode()
            texts = chance.choices(SENTENCES, k=chance.randint(1, 5))
            for number, text in enumerate(texts):
                client.send({"type": "translate", "id": str(number), "text": text, "target": "en"})
            if chance.random() < 0.3:
                return "left"
            open_ones, said = set(range(len(texts))), collections.defaultdict(str)
            while open_ones:
                message = client.receive()
                number = int(message["id"])
                if message["type"] == "token":
                    said[number] += message["text"]
                elif message["type"] in ("done", "error"):
                    open_ones.remove(number)
                    if message["type"] == "done":
                        self.check(said[number] == message["text"] == self.plain[texts[number]], (texts[number], said[number]))
            return "done"
        finally:
            client.close()

    def vanishing(self, chance):
        with self.server.connect() as client:
            body = json.dumps({"text": LONG, "target": "en", "stream": chance.random() < 0.5}).encode()
            request = b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            client.sendall(request[:chance.randint(1, len(request))])
            if chance.random() < 0.5:
                client.settimeout(chance.random() / 10)
                try:
                    client.recv(10)
                except TimeoutError:
                    pass
            if chance.random() < 0.5:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        return "left"

    def slow(self, chance):
        body = json.dumps({"text": SENTENCES[0], "target": "en"}).encode()
        with self.server.connect() as client:
            client.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body))
            for byte in body:
                client.sendall(bytes([byte]))
                time.sleep(chance.random() / 200)
            answer = client.recv(65536)
        self.check(not answer or re.match(rb"HTTP/1.1 (200|408|429|503|504) ", answer), answer)
        return answer[9:12].decode()

    def malformed(self, chance):
        path, body, kind, more = chance.choice(self.questions)
        body = bytearray(body.encode())
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(body) + 1)
            body[at:at + chance.randint(0, 2)] = bytes([chance.choice(b'{}[]",:\\\0\xff\xc0 0e-')] * chance.randint(0, 3))
        status, answer = self.ask(path, bytes(body), kind, more)
        self.check(status < 500 or status in BUSY, (path, bytes(body), status, answer))
        return status

    def nonsense(self, chance):
        with self.server.connect() as client:
            client.sendall(bytes(chance.choices(b"GET POST/\r\n :HTTP1.\0\xff", k=chance.randint(1, 200))) + b"\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(65536)
        self.check(not answer or answer.startswith(b"HTTP/1."), answer)
        return answer[9:12].decode()

    def job(self, chance):
        lines = chance.choices(SENTENCES, k=chance.randint(1, 6))
        status, answer = self.ask("/v1/jobs?target=en", "\n".join(lines), "text/plain; charset=utf-8")
        if status != 201:
            self.check(status in (500, *BUSY), (status, answer))
            return status
        one = json.loads(answer)["id"]
        with self.lock:
            self.jobs[one] = lines
        return status

    def document(self, chance):
        text = chance.choice(SENTENCES)
        form, headers = multipart({"source_lang": "FR", "target_lang": "EN", "file": ("a.txt", text.encode())})
        status, answer = self.ask("/v2/document", form, headers["Content-Type"])
        if status != 200:
            self.check(status in (500, *BUSY), (status, answer))
            return status
        handle = json.loads(answer)
        path = f"/v2/document/{handle['document_id']}"
        key = json.dumps({"document_key": handle["document_key"]})
        while not self.stopped.is_set():
            status, answer = self.ask(path, key)
            state = json.loads(answer).get("status") if status == 200 else None
            if state in ("done", "error") or status != 200:
                break
            time.sleep(0.02)
        else:
            return "left"
        if status != 200 or state == "error":
            self.check(status in (200, 500, *BUSY), (status, answer))
            self.check(status != 200 or self.broken, answer)
            return state or status
        status, answer = self.ask(path + "/result", key)
        if status == 200:
            self.check(answer.strip() == self.plain[text], (text, answer))
        else:
            self.check(status in (500, *BUSY), (status, answer))
        return status

    def glossary(self, chance):
        status, answer = self.ask("/v1/glossaries", json.dumps(
            {"name": "g", "source": "fr", "target": "en", "terms": [["chat", chance.choice(("hound", "moggy"))]]}))
        if status != 201:
            self.check(status in (500, *BUSY), (status, answer))
            return status
        path = "/v1/glossaries/" + json.loads(answer)["id"]
        while not self.stopped.is_set() and self.ask(path, None, method="DELETE")[0] != 204:
            time.sleep(0.02)
        return status

    def hog(self, chance):
        """Sends bodies that never end."""
        clients = []
        try:
            for _ in range(40):
                client = self.server.connect()
                clients.append(client)
                client.settimeout(1)
                client.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + b" " * 1999999)
            clients[-1].settimeout(0.05)
            answer = clients[-1].recv(1000)
            self.check(re.match(rb"HTTP/1.1 (408|429|503) ", answer), answer)
            return answer[9:12].decode()
        except TimeoutError:
            return "left"
        finally:
            for client in clients:
                client.close()

    CLIENTS = ("deterministic",) * 6 + ("streaming",) * 2 + ("web_socket",) * 2 + (
        "vanishing", "slow", "malformed", "nonsense", "job", "document", "glossary", "hog")

    def check(self, holds, what):
        if not holds:
            raise AssertionError(str(what)[:4000])

    def client(self, number):
        chance = random.Random(f"{SEED}.{number}")
        while not self.stopped.is_set():
            kind = chance.choice(self.CLIENTS)
            hesitate()
            try:
                became = getattr(self, kind)(chance)
            except (OSError, EOFError, http.client.HTTPException):
                became = "cut"
            except Exception as error:  # pylint: disable=broad-except
                self.wrong.append((kind, repr(error)[:4000]))
                became = "WRONG"
            self.counts[f"{kind} {became}"] += 1

    # ---- Trouble. Each begins something; what it returns ends it.

    def reloaded(self):
        self.server.signal(signal.SIGHUP)

    def swapped(self):
        link = os.path.join(self.directory, "models", "fr-en")
        os.symlink("../" + self.chance.choice("ab"), link + ".new")
        os.rename(link + ".new", link)
        self.server.signal(signal.SIGHUP)

    def stood_still(self):
        self.server.signal(signal.SIGSTOP)
        return lambda: self.server.signal(signal.SIGCONT)

    def redis_died(self):
        if not self.redis:
            return None
        self.redis.kill()
        return self.redis.start

    def redis_stood_still(self):
        if not self.redis:
            return None
        self.redis.pause()
        return self.redis.resume

    def clock_jumped(self):
        self.plan.jump(self.chance.choice((-86400, -3600, 60, 3600, 40 * 86400)))
        return lambda: self.plan.jump(0)

    def arm(self, kind, number, nth=1, times=1):
        if number == errno.EIO:
            self.broken.append(None)
        self.plan.arm(kind, number, nth, times)
        return self.rest

    def rest(self):
        self.plan.rest()
        self.broken = [end or time.monotonic() for end in self.broken]

    def disk_full(self):
        return self.arm("file-write", self.chance.choice((errno.ENOSPC, errno.EIO)), times=10**9)

    def calls_failed(self):
        kind, number = self.chance.choice((
            ("socket-read", 0), ("socket-write", 0), ("file-read", 0), ("file-write", 0), ("socket-read", errno.EINTR),
            ("socket-read", errno.ECONNRESET), ("socket-write", errno.EPIPE), ("accept", errno.EMFILE), ("accept", errno.ECONNABORTED),
            ("open", errno.EMFILE), ("fsync", errno.EIO), ("rename", errno.ENOSPC), ("mmap", errno.ENOMEM)))
        return self.arm(kind, number, self.chance.randint(1, 5), 3 if number == errno.EINTR else self.chance.choice((1, 10, 10**9)))

    TROUBLE = ("reloaded", "swapped", "stood_still", "redis_died", "redis_stood_still", "clock_jumped", "disk_full",
               "calls_failed", "calls_failed", "calls_failed")

    def make_trouble(self):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and not self.wrong and self.server.process.poll() is None:
            trouble = self.chance.choice(self.TROUBLE)
            self.counts[trouble] += 1
            end = getattr(self, trouble)()
            time.sleep(self.chance.uniform(0.05, 0.4))
            if end:
                end()
            time.sleep(self.chance.uniform(0, 0.2))

    # ---- The test.

    def open_files(self):
        """The number of open files, without those of documents under way, which have no name."""
        n, folder = 0, f"/proc/{self.server.process.pid}/fd"
        for one in os.listdir(folder):
            try:
                n += not os.readlink(os.path.join(folder, one)).endswith(" (deleted)")
            except FileNotFoundError:
                pass  # it was closed meanwhile
        return n

    def learn(self):
        """Learns the right answers: what an idle server says."""
        idle = self.start(*self.flags[:2])
        self.oracle, self.plain = {}, {}
        for asked in self.questions:
            status, answer = self.ask(*asked, server=idle)
            self.assertEqual(status, 200, (asked, answer))
            self.oracle[asked[:2]] = self.normal(answer)
        for text in (*SENTENCES, LONG):
            answer = self.ask("/v1/translate", json.dumps({"text": text, "target": "en"}), server=idle)[1]
            self.plain[text] = json.loads(answer)["translations"][0]["text"]
        self.assertEqual(idle.stop(), 0)

    def all_is_as_before(self):
        for asked in self.questions:
            wait_for(lambda asked=asked: self.deterministic_once(asked) == 200, "an answer")
        self.assertEqual(self.ask("/healthz", None, method="GET")[0], 200)
        wait_for(lambda: self.ask("/readyz", None, method="GET")[0] == 200, "readiness")
        for one, lines in self.jobs.items():
            state = {}

            def over(one=one, state=state):
                state.update(json.loads(self.ask(f"/v1/jobs/{one}", None, method="GET")[1]))
                return state["state"] not in ("waiting", "running")

            wait_for(over, "the end of a job")
            if self.broken and state["state"] == "failed" and state.get("error"):
                continue  # and the client is told
            self.assertEqual((state["state"], state["failed"]), ("done", 0), state)
            status, answer = self.ask(f"/v1/jobs/{one}/result", None, method="GET")
            self.assertEqual((status, answer.splitlines()), (200, [self.plain[line] for line in lines]))

    def deterministic_once(self, asked):
        status, answer = self.ask(*asked)
        if status == 200:
            self.assertEqual(self.normal(answer), self.oracle[asked[:2]])
        return status

    def test_answers_are_those_of_an_idle_server(self):
        self.questions, self.jobs, self.lock = questions(), {}, threading.Lock()
        self.learn()
        self.server = self.start(*self.flags, "--jobs-max=100000", "--cache-size=64KiB", env=self.plan.environment())
        for asked in self.questions[:20]:
            self.assertEqual(self.deterministic_once(asked), 200)
        files = self.open_files()
        clients = [threading.Thread(target=self.client, args=(number,)) for number in range(N_CLIENTS)]
        for client in clients:
            client.start()
        try:
            self.make_trouble()
        finally:
            self.plan.rest()
            self.plan.jump(0)
            self.stopped.set()
            for client in clients:
                client.join(4 * PATIENCE_S)
        sys.stderr.write("".join(f"{n:7} {what}\n" for what, n in sorted(self.counts.items())))
        self.assertFalse(any(client.is_alive() for client in clients), "a client waits for ever")
        self.assertEqual(self.wrong, [], f"DRAGOMAN_CHAOS_SEED={SEED}")
        self.assertIsNone(self.server.process.poll())
        self.all_is_as_before()
        wait_for(lambda: self.open_files() <= files + 8, "files to be closed")


if __name__ == "__main__":
    main()
