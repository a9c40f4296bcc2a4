# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
# Tiers: gcc asan
"""Servers that share a Redis and a folder of jobs work on each job together, and any of them answers for it."""
import hashlib
import json
import os
import re
import signal
import sys
import threading

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from redis import Redis  # noqa: E402

SLOW = bool(os.environ.get("DRAGOMAN_SLOW"))
N_LINES = 20000 if SLOW else 300
VERBS = "mange bois vois lis prends veux peux sais".split()
ALICE = {"Authorization": "Bearer alice"}
THINGS = "pain livre train chat thé lait gâteau journal vélo billet".split()


def lines(n):
    """Lines that all differ, so that each is work."""
    return [f"Je {VERBS[k % 8]} le {THINGS[k // 8 % 10]} {k}." for k in range(n)]


class Cluster(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self).start()
        self.folder = os.path.join(self.directory, "jobs")
        self.servers = [self.start_one() for _ in range(3)]
        for server in self.servers:
            server.wait_for_log("Redis is available")

    def start_one(self):
        keys = os.path.join(self.directory, f"keys{len(self.servers)}")  # each server counts in a file of its own
        with open(keys, "w", encoding="ascii") as file:
            file.write("[key alice]\nhash = blake2b:" + hashlib.blake2b(b"alice", digest_size=32).hexdigest() + "\n")
        os.chmod(keys, 0o600)
        return self.start(f"--models-dir={MODELS_DIR}", f"--redis={self.redis.address}", "--redis-timeout=1s", "--access-log=no",
                          "--threads=1", f"--jobs-dir={self.folder}", "--jobs-shared=yes", f"--keys-file={keys}",
                          f"--glossaries-dir={keys}.glossaries")

    def ask(self, n, method, path, body=None, **headers):
        status, _, answer = self.servers[n].request(method, path, body, headers)
        return status, answer

    def add(self, n, texts, **headers):
        status, answer = self.ask(n, "POST", "/v1/jobs?target=en", ("\n".join(texts) + "\n").encode(),
                                  **{"Content-Type": "text/plain", **headers})
        self.assertEqual(status, 201, answer)
        return json.loads(answer)

    def state(self, n, id):
        status, answer = self.ask(n, "GET", f"/v1/jobs/{id}")
        return json.loads(answer) if status == 200 else {"state": status}

    def wait_done(self, n, id):
        wait_for(lambda: self.state(n, id)["state"] == "done", "the end of the job")

    def kill(self, n):
        self.servers[n].expected_codes = (-signal.SIGKILL,)
        self.servers[n].signal(signal.SIGKILL)
        self.servers[n].wait()

    def expected(self, texts):
        """What one server answers for these texts without a job."""
        said = []
        for at in range(0, len(texts), 500):
            status, answer = self.ask(0, "POST", "/v1/translate", json.dumps({"text": texts[at:at + 500], "target": "en"}))
            self.assertEqual(status, 200)
            said += [item["text"] for item in json.loads(answer)["translations"]]
        return said

    def check_result(self, n, id, expected):
        self.wait_done(n, id)
        end = self.state(n, id)
        self.assertEqual((end["lines"], end["done"], end["failed"]), (len(expected), len(expected), 0))
        status, result = self.ask(n, "GET", f"/v1/jobs/{id}/result")
        self.assertEqual(status, 200)
        self.assertEqual(result.decode().splitlines(), expected)

    def test_a_server_that_redis_tells_nothing_sends_clients_elsewhere(self):
        """It may not know of what other servers were given, so it does not say 404."""
        job = "0123456789abcdef" * 2
        asked = (("GET", f"/v1/jobs/{job}", None), ("GET", f"/v1/documents/{job}", None), ("GET", f"/download_file/{job}.a_en.txt", None),
                 ("POST", f"/v2/document/{job}", "document_key=k"), ("GET", f"/v1/glossaries/{job}", None),
                 ("GET", f"/v2/glossaries/{job}", None), ("GET", f"/v3/glossaries/{job}", None),
                 ("POST", "/v1/translate", json.dumps({"text": "Merci.", "target": "en", "glossary": job})))

        def answers():
            for method, path, body in asked:
                kind = "application/json" if path == "/v1/translate" else "application/x-www-form-urlencoded"
                yield server.request(method, path, body, {"Content-Type": kind} if body else None)[:2]
        self.redis.pause()
        self.addCleanup(self.redis.resume)
        server = self.start_one()
        for (_, path, _), (status, headers) in zip(asked, answers()):
            self.assertEqual((status, dict(headers).get("Retry-After")), (503, "1"), path)
        self.redis.resume()
        wait_for(lambda: {status for status, _ in answers()} == {404}, "what Redis knows")

    def test_every_line_once_whatever_dies(self):
        texts = lines(N_LINES)
        job = self.add(0, texts)
        for n in range(3):  # a job is acknowledged when all servers know it, or after a second
            wait_for(lambda: self.state(n, job["id"])["state"] not in (404, 503), "the job")
        for victim in (0, 1, 2):
            parts = self.state(2 - victim, job["id"])["done"]
            wait_for(lambda: self.state((victim + 1) % 3, job["id"])["done"] > parts or
                     self.state((victim + 1) % 3, job["id"])["state"] == "done", "another part")
            self.kill(victim)
            self.servers[victim] = self.start_one()
        self.wait_done(1, job["id"])
        expected = self.expected(texts)
        for n in range(3):
            self.check_result(n, job["id"], expected)

    def test_a_job_is_taken_once(self):
        texts = lines(20)
        key = {"Idempotency-Key": "mine"}
        first = self.add(0, texts, **key)
        self.assertEqual(self.add(1, texts, **key)["id"], first["id"])
        self.assertEqual(self.add(2, lines(21))["id"], self.add(0, lines(21))["id"])  # within a minute, or at its border
        status, answer = self.ask(2, "POST", "/v1/jobs?target=en", "Autre chose.\n", **{"Content-Type": "text/plain", **key})
        self.assertEqual((status, json.loads(answer)["error"]["code"]), (400, "invalid_value"))
        made = []
        post = lambda n: made.append(self.add(n, lines(30), **{"Idempotency-Key": "at once"})["id"])
        threads = [threading.Thread(target=post, args=(n,)) for n in (0, 1, 2, 0, 1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(made), len(set(made))), (6, 1))
        self.check_result(1, made[0], self.expected(lines(30)))
        self.wait_done(1, first["id"])
        kinds = lambda: {name.partition(".")[2] for name in os.listdir(self.folder)}
        wait_for(lambda: kinds() == {"", "in", "json", "out"}, "the parts' files to go")

    def test_any_server_ends_any_job(self):
        job = self.add(0, lines(20000))  # at least ten seconds of work on any machine
        wait_for(lambda: self.state(1, job["id"])["state"] == "running", "the job to begin")
        status, answer = self.ask(1, "POST", f"/v1/jobs/{job['id']}/cancel")
        self.assertEqual((status, json.loads(answer)["state"]), (200, "cancelled"))
        for n in range(3):
            wait_for(lambda: self.state(n, job["id"])["state"] == "cancelled", "the end")
        self.assertEqual(self.ask(2, "GET", f"/v1/jobs/{job['id']}/result")[0], 409)
        status, part = self.ask(2, "GET", f"/v1/jobs/{job['id']}/result?partial=true")
        done = part.decode().splitlines()
        self.assertEqual((status, len(done) % 100, done[:100]), (200, 0, self.expected(lines(100))[:len(done)]))
        self.assertEqual(self.ask(2, "DELETE", f"/v1/jobs/{job['id']}")[0], 204)
        for n in range(3):
            wait_for(lambda: self.state(n, job["id"])["state"] == 404, "its end")
        wait_for(lambda: os.listdir(self.folder) == ["lock"], "its files to go")

    def test_a_server_that_was_stopped_leaves_nothing_of_a_removed_job(self):
        job = self.add(0, lines(20000))
        wait_for(lambda: self.state(1, job["id"])["state"] == "running", "the job to begin")
        for n in (0, 1):
            self.servers[n].signal(signal.SIGSTOP)
        self.assertEqual(self.ask(2, "DELETE", f"/v1/jobs/{job['id']}")[0], 204)  # the others are taken for dead
        for n in (0, 1):
            self.servers[n].signal(signal.SIGCONT)
        other = self.add(2, lines(N_LINES))  # done by all, after whatever they still did for the first
        for n in range(3):
            self.wait_done(n, other["id"])
            self.assertEqual(self.state(n, job["id"])["state"], 404)
        self.assertEqual(self.ask(2, "DELETE", f"/v1/jobs/{other['id']}")[0], 204)
        wait_for(lambda: os.listdir(self.folder) == ["lock"], "the files of both to go")

    def form(self, n, path, content, name="a.txt", **fields):
        """What a server answers when it is sent a file."""
        body = b"".join(f'--XX\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields.items())
        body += f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content + b"\r\n--XX--\r\n"
        status, answer = self.ask(n, "POST", path, body, **{"Content-Type": "multipart/form-data; boundary=XX"})
        self.assertIn(status, (200, 201), answer)
        return json.loads(answer)

    def send_all(self, n, content):
        """Sends a document through each of the three APIs; returns the answers."""
        return (self.form(n, "/v1/documents", content, source="fr", target="en"),
                self.form(n, "/v2/document", content, source_lang="FR", target_lang="EN"),
                self.form(n, "/translate_file", content, source="fr", target="en"))

    def deepl(self, n, document, end=""):
        return self.ask(n, "POST", f"/v2/document/{document['document_id']}{end}",
                        json.dumps({"document_key": document["document_key"]}), **{"Content-Type": "application/json"})

    def fetch_all(self, n, sent, expected):
        ours, deepl, file = sent
        path = f"/v1/documents/{ours['id']}"
        wait_for(lambda: json.loads(self.ask(n, "GET", path)[1])["state"] == "done", "our document")
        self.assertEqual(self.ask(n, "GET", path + "/result"), (200, expected))
        wait_for(lambda: json.loads(self.deepl(n, deepl)[1])["status"] == "done", "DeepL's document")
        self.assertEqual(self.deepl(n, deepl, "/result"), (200, expected))
        self.assertEqual(self.ask(n, "GET", "/download_file/" + file["translatedFileUrl"].rpartition("/")[2]), (200, expected))

    def paragraphs(self, n):
        """A text file of so many paragraphs, and its translation."""
        texts = lines(n)
        return "\n\n".join(texts).encode(), "\n\n".join(self.expected(texts)).encode()

    def test_documents_of_all_apis_are_at_every_server(self):
        content, expected = self.paragraphs(6)
        sent = self.send_all(0, content)
        self.fetch_all(1, sent, expected)
        self.assertEqual(self.deepl(1, sent[1], "/result"), (200, expected))  # asked again, as a balancer would
        self.assertEqual(self.deepl(2, {**sent[1], "document_key": "0" * 64})[0], 404)
        for path in (f"/v1/documents/{sent[0]['id']}", "/download_file/" + sent[2]["translatedFileUrl"].rpartition("/")[2]):
            self.assertEqual(self.ask(2, "GET", path)[0], 200)
        self.assertEqual(self.ask(2, "GET", f"/download_file/{sent[0]['id']}.a.txt")[0], 404)  # it is not of that API
        same = self.form(0, "/v2/document", b"The cat is asleep in the kitchen.", target_lang="EN")
        self.assertEqual(json.loads(self.deepl(2, same)[1])["error_message"], "Source and target language are equal.")
        self.assertEqual(self.ask(2, "DELETE", f"/v1/documents/{sent[0]['id']}")[0], 204)
        for n in range(3):
            wait_for(lambda: self.ask(n, "GET", f"/v1/documents/{sent[0]['id']}")[0] == 404, "its end")

    def test_documents_go_on_when_their_server_dies(self):
        """The server that took the documents is killed at once; they overtake a bulk job that could
        not end in the meantime."""
        content, expected = self.paragraphs(110)  # two parts
        job = self.add(1, lines(20000))
        sent = self.send_all(0, content)
        self.kill(0)
        self.fetch_all(2, sent, expected)
        self.servers[0] = self.start_one()
        wait_for(lambda: json.loads(self.deepl(0, sent[1])[1]).get("status") == "done", "the one that came back to know it")
        self.assertEqual(self.ask(1, "DELETE", f"/v1/jobs/{job['id']}")[0], 204)

    def test_redis_may_stop_and_lose_all(self):
        texts = lines(N_LINES)
        job = self.add(0, texts)
        wait_for(lambda: self.state(1, job["id"]).get("done", 0) > 0, "the job to begin")
        self.redis.pause()
        self.servers[0].wait_for_log("Redis is unavailable")
        self.redis.resume()
        state = lambda: self.state(1, job["id"])  # 404 until the server knows the job
        wait_for(lambda: "done" in state(), "the job to be known again")
        before = state()["done"]
        wait_for(lambda: state().get("done", 0) > before or state()["state"] == "done", "another part")
        self.redis.kill()
        for server in self.servers:
            server.wait_for_log("Redis is unavailable")
        self.redis.start()
        self.wait_done(1, job["id"])
        self.check_result(1, job["id"], self.expected(texts))

    def used(self, n):
        return json.loads(self.ask(n, "GET", "/v1/usage", **ALICE)[1])["month"]["characters"]

    def test_a_document_that_fails_costs_nothing_whoever_died(self):
        """It fails because its glossary is removed after the server that took it has died."""
        kind = {"Content-Type": "application/json", **ALICE}
        self.assertEqual(self.ask(0, "POST", "/v1/translate", json.dumps({"text": "Merci.", "target": "en"}), **kind)[0], 200)
        status, answer = self.ask(1, "POST", "/v1/glossaries", json.dumps(
            {"name": "g", "source": "fr", "target": "en", "terms": {"pain": "loaf"}}), **kind)
        self.assertEqual(status, 201, answer)
        glossary = json.loads(answer)["id"]
        wait_for(lambda: self.ask(0, "GET", f"/v1/glossaries/{glossary}", **ALICE)[0] == 200, "the glossary")
        for n in (1, 2):
            self.servers[n].signal(signal.SIGSTOP)
        sent = self.form(0, "/v2/document", "\n\n".join(lines(20000)).encode(), source_lang="FR", target_lang="EN",
                         glossary_id=glossary, auth_key="alice")
        self.kill(0)
        for n in (1, 2):
            self.servers[n].signal(signal.SIGCONT)
        wait_for(lambda: self.used(1) > 100000, "what the document costs")
        self.assertEqual(self.ask(1, "DELETE", f"/v1/glossaries/{glossary}", **ALICE)[0], 204)  # so that other parts fail
        status = lambda n: json.loads(self.deepl(n, sent)[1]).get("status")
        wait_for(lambda: status(1) == status(2) == "error", "the document to fail")
        wait_for(lambda: self.used(1) == self.used(2) == 6, "what it has cost to be given back")
        self.servers[0] = self.start_one()  # it finds a bill that was paid back
        self.servers[0].wait_for_log("Redis is available")
        wait_for(lambda: status(0) == "error", "the document to be known")
        for _ in range(20):
            self.assertEqual(self.used(0), 6)


if __name__ == "__main__":
    main()
