# SPDX-License-Identifier: ISC
"""Bulk jobs: lines in, lines out, in order, once each, whatever happens to the server on the way."""
import concurrent.futures
import hashlib
import json
import os
import random
import resource
import signal
import time
import unittest

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

MODELS = f"--models-dir={MODELS_DIR}"
SENTENCES = ("Le chat dort.", "La maison est grande.", "Je vois un chien dans le jardin.", "Comment allez-vous ?",
             "Il fait beau aujourd'hui.", "Nous avons trouvé la gare.")
TEXT, LINES = "text/plain; charset=utf-8", "application/x-ndjson"
N = 50  # lines of a job that is killed again and again


class Jobs(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.folder = f"--jobs-dir={os.path.join(self.directory, 'jobs')}"

    def ask(self, server, method, path, body=None, kind=None, status=200):
        headers = {"Content-Type": kind} if kind else {}
        got, headers, answer = server.request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        return json.loads(answer) if answer else None

    def add(self, server, body, kind=TEXT, query="target=en"):
        job = self.ask(server, "POST", f"/v1/jobs?{query}", body, kind, status=201)
        self.assertIn(job["state"], ("waiting", "running", "done"))
        return job

    def state(self, server, job):
        return self.ask(server, "GET", f"/v1/jobs/{job['id']}")

    def wait_over(self, server, job):
        wait_for(lambda: self.state(server, job)["state"] not in ("waiting", "running"), "the end of the job")
        return self.state(server, job)

    def result(self, server, job):
        status, headers, body = server.request("GET", f"/v1/jobs/{job['id']}/result")
        self.assertEqual(status, 200, body)
        return body.decode()

    def translate(self, server, texts):
        answer = self.ask(server, "POST", "/v1/translate", json.dumps({"text": texts, "target": "en"}))
        return [item["text"] for item in answer["translations"]]

    def test_text_in_text_out(self):
        server = self.start(MODELS, self.folder)
        texts = [*SENTENCES, "", "   ", " ".join(SENTENCES)] * 5
        job = self.add(server, "\n".join(texts).encode())
        self.assertEqual((job["lines"], job["format"]), (len(texts), "text"))
        over = self.wait_over(server, job)
        self.assertEqual((over["state"], over["done"], over["failed"]), ("done", len(texts), 0))
        self.assertEqual(over["options"], {"target": "en"})
        result = self.result(server, job)
        self.assertEqual(over["output_bytes"], len(result.encode()))
        self.assertEqual(result.split("\n"), [*self.translate(server, texts), ""])
        self.assertEqual([one["id"] for one in self.ask(server, "GET", "/v1/jobs")["jobs"]], [job["id"]])
        status, headers, body = server.request("HEAD", f"/v1/jobs/{job['id']}/result")
        self.assertEqual((status, body), (200, b""))
        self.ask(server, "DELETE", f"/v1/jobs/{job['id']}", status=204)
        self.ask(server, "GET", f"/v1/jobs/{job['id']}", status=404)
        self.assertEqual(self.ask(server, "GET", "/v1/jobs")["jobs"], [])
        wait_for(lambda: os.listdir(os.path.join(self.directory, "jobs")) == ["lock"], "the end of the files")

    def test_lines_of_json_with_options_of_their_own(self):
        server = self.start(MODELS, self.folder, "--max-body=4KiB")
        lines = [b'{"text": "Le chat dort.", "id": "a\\u0000b"}', b'{"text": "La maison est grande.", "scores": true}',
                 b"{nonsense", b'{"text": 7}', b'{"text": "x", "unknown": 1}', b'{"text": "x", "target": "xx"}', b"",
                 b'{"text": "\xff"}', b'{"text": "' + b"a" * 5000 + b'"}', b'{"text": "Le chat dort.", "max_length": 2}']
        job = self.add(server, b"\n".join(lines), LINES, "target=en&alternatives=1&keep_case=true")
        over = self.wait_over(server, job)
        self.assertEqual((over["state"], over["lines"], over["done"], over["failed"]), ("done", 10, 10, 7))
        found = [json.loads(line) for line in self.result(server, job).splitlines()]
        self.assertEqual([line["line"] for line in found], list(range(1, 11)))
        self.assertEqual(found[0]["id"], "a\u0000b")
        self.assertEqual(len(found[0]["alternatives"]), 1)
        self.assertIn("sentences", found[1])
        self.assertEqual([line["error"]["code"] if "error" in line else None for line in found],
                         [None, None, "invalid_json", "invalid_value", "invalid_value", "no_such_model", "invalid_json",
                          "invalid_utf8", "limit_reached", None])
        self.assertEqual(found[9]["finish"], "length")

    def test_what_is_refused(self):
        server = self.start(MODELS, self.folder, "--jobs-max=3", "--jobs-upload=100KiB", "--jobs-space=1MiB")
        post = lambda status, query="target=en", body=b"a", kind=TEXT: self.ask(
            server, "POST", f"/v1/jobs?{query}", body, kind, status)["error"]
        self.assertEqual(post(415, kind="application/x-www-form-urlencoded")["code"], "unsupported_media_type")
        self.assertEqual(post(400, body=b"")["code"], "missing_field")
        self.assertEqual(post(413, body=b"a" * 102401)["code"], "body_too_large")
        self.assertEqual(post(400, "")["field"], "target")
        self.assertEqual(post(400, "target=en&beam=99")["field"], "beam")
        self.assertEqual(post(400, "target=en&beam=[4")["field"], "beam")
        self.assertEqual(post(400, "target=en&text=a")["code"], "invalid_value")
        self.assertEqual(post(400, "target=en&target=en")["code"], "invalid_json")
        self.assertEqual(post(400, "target=%ff")["code"], "invalid_value")
        self.assertEqual(post(404, "model=none")["code"], "no_such_model")
        for _ in range(2):
            self.add(server, b"Le chat dort.")
        self.assertEqual(post(429)["code"], "too_many")
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/result")):
            self.ask(server, method, f"/v1/jobs/{'0' * 32}{path}", status=404)
        self.ask(server, "GET", "/v1/jobs/", status=404)
        self.assertEqual(server.request("OPTIONS", "/v1/jobs/x")[1]["Allow"], "GET, HEAD, DELETE, OPTIONS")
        none = self.start(MODELS)
        self.ask(none, "POST", "/v1/jobs?target=en", b"a", TEXT, status=501)
        self.ask(none, "GET", "/v1/jobs", status=501)

    def limit_files(self, server, n_bytes):
        """From now on no file of the server can grow past so many bytes, as if the disk were full."""
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))

    def test_a_full_disk_is_said_and_no_path_is_told(self):
        server = self.start(MODELS, self.folder, f"--glossaries-dir={self.directory}")
        glossary = {"name": "words", "source": "fr", "target": "en", "terms": [{"source": "chat", "target": "cat"}]}
        form = (b"--b\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nfr\r\n"
                b"--b\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nen\r\n"
                b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nLe chat dort.\r\n--b--\r\n")
        asked = (("/v1/jobs?target=en", b"Le chat dort.", TEXT), ("/v1/glossaries", json.dumps(glossary), "application/json"),
                 ("/translate_file", form, "multipart/form-data; boundary=b"))
        self.limit_files(server, 1)
        for path, body, kind in asked:
            status, _, answer = server.request("POST", path, body=body, headers={"Content-Type": kind})
            self.assertEqual(status, 507, (path, answer))
            self.assertNotIn(self.directory.encode(), answer)
        self.assertEqual(self.ask(server, "GET", "/v1/jobs")["jobs"], [])
        self.assertEqual(os.listdir(os.path.join(self.directory, "jobs")), ["lock"])
        self.limit_files(server, resource.RLIM_INFINITY)
        for path, body, kind in asked:
            status, _, answer = server.request("POST", path, body=body, headers={"Content-Type": kind})
            self.assertEqual(status // 100, 2, (path, answer))
        # The message does not name a folder that is gone, either.
        os.rename(os.path.join(self.directory, "jobs"), os.path.join(self.directory, "away"))
        status, _, answer = server.request("POST", asked[0][0], body=b"Le chat dort.", headers={"Content-Type": TEXT})
        self.assertEqual((status, json.loads(answer)["error"]["code"]), (500, "internal"))
        self.assertNotIn(self.directory.encode(), answer)

    def open_files(self, server):
        """The files of the jobs' folder that the server has open."""
        folder = f"/proc/{server.process.pid}/fd"
        paths = []
        for fd in os.listdir(folder):
            try:
                paths.append(os.readlink(os.path.join(folder, fd)))
            except FileNotFoundError:
                pass  # closed meanwhile
        return [os.path.basename(path) for path in paths if os.path.dirname(path) == os.path.join(self.directory, "jobs")]

    @unittest.skipUnless(os.path.isdir("/proc/self/fd"), "needs /proc")
    def test_jobs_that_are_over_keep_no_file_open(self):
        server = self.start(MODELS, self.folder, "--cache-size=0")
        for _ in range(5):
            self.wait_over(server, self.add(server, b"Le chat dort."))
        job = self.add(server, b"Le chat dort.\n" * 100000)
        wait_for(lambda: self.state(server, job)["done"] > 0, "progress")
        self.ask(server, "POST", f"/v1/jobs/{job['id']}/cancel")
        wait_for(lambda: self.open_files(server) == ["lock"], "the closing of the files")

    def test_a_job_waits_for_its_model(self):
        model = os.path.join(SOURCES, "models", "fr-en")
        conf = lambda name: f"[model {name}]\npath = {model}\n"
        server = self.start(self.folder, "--cache-size=0", "--max-body=4KiB", conf=conf("one"))
        long = "a" * 5000
        text = lines = None
        over = lambda: all(self.state(server, job)["state"] == "done" for job in (text, lines))

        def leave_one():
            server.write_conf(conf("two"))
            server.signal(signal.SIGHUP)
            wait_for(lambda: all(self.state(server, job).get("waits_for") == "model" or self.state(server, job)["state"] == "done"
                                 for job in (text, lines)), "jobs that wait")

        for n in (600, 6000, 60000):  # until the job outlasts the model's removal
            texts = [long if i % 100 == 3 and i < 600 else f"Le chat dort {i}." for i in range(n)]
            text = self.add(server, "\n".join(texts).encode(), TEXT, "model=one")
            lines = self.add(server, "\n".join(json.dumps({"text": one, "id": str(i)}) for i, one in enumerate(texts)).encode(),
                             LINES, "model=one")
            wait_for(lambda: min(self.state(server, job)["done"] for job in (text, lines)) > 0, "progress")
            leave_one()
            if not over():
                break
            server.write_conf(conf("one"))
            server.signal(signal.SIGHUP)
            wait_for(lambda: server.request("POST", "/v1/translate", b'{"text": "Bonjour.", "model": "one"}')[0] == 200, "the model")
        self.assertFalse(over())
        for i in range(2):
            if i > 0:
                if over():  # on an extremely fast machine
                    break
                leave_one()
            self.assertEqual(self.ask(server, "POST", "/v1/translate", json.dumps({"text": "Bonjour.", "model": "two"}))["model"],
                             "two")
            self.assertIn("a job waits: no model is called one", server.log())
            # A restart without the model does not end the jobs, either.
            self.assertEqual(server.stop(), 0)
            server = self.start(self.folder, "--cache-size=0", "--max-body=4KiB", conf=conf("two"))
            other = self.wait_over(server, self.add(server, b"Le chat dort.", TEXT, "model=two"))
            self.assertEqual((other["state"], other["failed"]), ("done", 0))
            self.assertLessEqual({self.state(server, job)["state"] for job in (text, lines)}, {"done", "waiting"})
            before = [self.state(server, job)["done"] for job in (text, lines)]
            server.write_conf(conf("one"))
            server.signal(signal.SIGHUP)
            wait_for(lambda: over() or any(self.state(server, job)["done"] > n_before
                                           for job, n_before in zip((text, lines), before)), "jobs that go on")
        for job in (text, lines):
            over = self.wait_over(server, job)
            self.assertEqual((over["state"], over["done"], over["failed"]), ("done", n, 6))
            self.assertNotIn("waits_for", over)
        expected = self.result(server, text).split("\n")[:n]
        self.assertEqual([i for i in range(n) if not expected[i]], [i for i in range(600) if i % 100 == 3])
        found = [json.loads(line) for line in self.result(server, lines).splitlines()]
        self.assertEqual([line["line"] for line in found], list(range(1, n + 1)))
        self.assertEqual([line.get("text", "") for line in found], expected)

    def test_a_full_disk_holds_a_job_up(self):
        server = self.start(MODELS, self.folder)
        texts = [f"Le chat dort {i}." for i in range(500)]
        body = "\n".join(json.dumps({"text": one}) for one in texts).encode()
        self.limit_files(server, len(body))  # the answers are longer
        job = self.add(server, body, LINES)
        wait_for(lambda: self.state(server, job).get("waits_for") == "space", "the job to wait")
        state = self.state(server, job)
        self.assertEqual(state["state"], "waiting")
        self.assertLess(state["done"], len(texts))
        self.assertNotIn("error", state)

        def out_is_whole():  # except while it tries again
            with open(os.path.join(self.directory, "jobs", job["id"] + ".out"), "rb") as file:
                out = file.read()
            return (len(out), out.count(b"\n")) == (state["output_bytes"], state["done"])

        wait_for(out_is_whole, "a result of whole lines")
        self.limit_files(server, resource.RLIM_INFINITY)
        over = self.wait_over(server, job)
        self.assertEqual((over["state"], over["done"], over["failed"]), ("done", len(texts), 0))
        self.assertNotIn("waits_for", over)
        found = [json.loads(line) for line in self.result(server, job).splitlines()]
        self.assertEqual([line["line"] for line in found], list(range(1, len(texts) + 1)))
        self.assertEqual([line["text"] for line in found], self.translate(server, texts))

    def test_a_result_is_whole_or_asked_for_in_part(self):
        server = self.start(MODELS, self.folder, "--threads=1", "--cache-size=0")
        n = 100000  # more than is translated while we look; short lines, so that the first are soon done
        job = self.add(server, "Le chat dort.\n".encode() * n)
        self.ask(server, "GET", f"/v1/jobs/{job['id']}/result", status=409)
        wait_for(lambda: self.state(server, job)["done"] > 0, "progress")
        status, _, part = server.request("GET", f"/v1/jobs/{job['id']}/result?partial=true")
        self.assertEqual(status, 200)
        self.assertTrue(part.endswith(b"\n"))
        # A client that waits for an answer is served before the job's lines.
        self.assertEqual(len(self.translate(server, ["Il pleut."])), 1)
        cancelled = self.ask(server, "POST", f"/v1/jobs/{job['id']}/cancel")
        self.assertEqual(cancelled["state"], "cancelled")
        self.assertLess(cancelled["done"], n)
        self.assertEqual(server.stop(), 0)
        server = self.start(MODELS, self.folder)
        self.assertEqual(self.state(server, job)["state"], "cancelled")
        status, _, again = server.request("GET", f"/v1/jobs/{job['id']}/result?partial=true")
        self.assertEqual((status, again.startswith(part)), (200, True))

    def test_jobs_belong_to_keys_and_keep_to_their_models(self):
        keys = os.path.join(self.directory, "keys")
        hashed = lambda secret: hashlib.blake2b(secret.encode(), digest_size=32).hexdigest()
        secrets = {"one": "secret-of-one", "two": "secret-of-two", "boss": "secret-of-boss"}
        more = {"two": "models = fr-en\n", "boss": "role = admin\n"}
        with open(keys, "w", encoding="utf-8") as file:
            for name, secret in secrets.items():
                file.write(f"[key {name}]\nhash = blake2b:{hashed(secret)}\n{more.get(name, '')}")
        os.chmod(keys, 0o640)
        model = os.path.join(SOURCES, "models", "fr-en")
        conf = f"[model fr-en]\npath = {model}\n[model other]\npath = {model}\nsource = fr\ntarget = en\n"
        server = self.start(self.folder, f"--keys-file={keys}", "--require-key=yes", conf=conf)
        auth = lambda name: {"Authorization": f"Bearer {secrets[name]}", "Content-Type": LINES}
        body = b'{"text": "Le chat dort."}\n{"text": "Le chat dort.", "model": "other"}'
        self.assertEqual(server.request("POST", "/v1/jobs?target=en", body, {"Content-Type": LINES})[0], 401)
        self.assertEqual(server.request("POST", "/v1/jobs?model=other", body, auth("two"))[0], 403)
        status, _, answer = server.request("POST", "/v1/jobs?model=fr-en", body, auth("two"))
        self.assertEqual(status, 201, answer)
        path = "/v1/jobs/" + json.loads(answer)["id"]
        wait_for(lambda: json.loads(server.request("GET", path, headers=auth("two"))[2])["state"] == "done", "the end")
        self.assertEqual(json.loads(server.request("GET", path, headers=auth("two"))[2])["failed"], 1)
        for method, tail in (("GET", ""), ("GET", "/result"), ("DELETE", ""), ("POST", "/cancel")):
            self.assertEqual(server.request(method, path + tail, headers=auth("one"))[0], 404)
        self.assertEqual(json.loads(server.request("GET", "/v1/jobs", headers=auth("one"))[2])["jobs"], [])
        for name in ("two", "boss"):
            self.assertEqual(len(json.loads(server.request("GET", "/v1/jobs", headers=auth(name))[2])["jobs"]), 1)
        self.assertEqual(server.request("GET", "/v1/admin/status", headers=auth("two"))[0], 403)
        self.assertEqual(server.request("GET", "/v1/admin/status", headers=auth("boss"))[0], 200)

    def test_a_client_of_this_machine_without_a_key_sees_no_jobs_of_keys(self):
        keys = os.path.join(self.directory, "keys")
        with open(keys, "w", encoding="utf-8") as file:
            file.write(f"[key one]\nhash = blake2b:{hashlib.blake2b(b'secret-of-one', digest_size=32).hexdigest()}\n")
        os.chmod(keys, 0o640)
        server = self.start(MODELS, self.folder, f"--keys-file={keys}")
        auth = {"Authorization": "Bearer secret-of-one", "Content-Type": TEXT}
        status, _, answer = server.request("POST", "/v1/jobs?target=en", b"Le chat dort.", auth)
        self.assertEqual(status, 201, answer)
        path = "/v1/jobs/" + json.loads(answer)["id"]
        wait_for(lambda: json.loads(server.request("GET", path, headers=auth)[2])["state"] == "done", "the end")
        # such a client may read what is below /v1/admin (ops-loopback), and nothing else
        self.assertEqual(server.request("GET", "/v1/admin/status")[0], 200)
        for tail in ("", "/result"):
            self.assertEqual(server.request("GET", path + tail)[0], 404)
        self.assertEqual(self.ask(server, "GET", "/v1/jobs"), {"jobs": []})
        self.assertEqual(self.ask(server, "GET", "/v1/documents"), {"documents": []})

    def test_clients_without_keys_have_their_share_and_see_their_own(self):
        server = self.start(MODELS, self.folder, "--jobs-max=4", "--jobs-space=1MiB", "--trusted-proxies=127.0.0.1")

        def ask(address, method, path, body=None, **more):
            headers = {"X-Forwarded-For": address, "Content-Type": TEXT, **more}
            status, _, answer = server.request(method, path, body=body, headers=headers)
            return status, json.loads(answer) if answer else None

        mine, yours = "192.0.2.1", "192.0.2.2"
        made = []
        for _ in range(2):
            status, job = ask(mine, "POST", "/v1/jobs?target=en", b"Le chat dort.")
            self.assertEqual(status, 201, job)
            made.append(job["id"])
        status, answer = ask(mine, "POST", "/v1/jobs?target=en", b"Le chat dort.")
        self.assertEqual((status, answer["error"]["code"]), (429, "too_many"))
        status, job = ask(yours, "POST", "/v1/jobs?target=en", b"Le chat dort.")
        self.assertEqual(status, 201, job)
        # The list names only the client's own jobs; a client that knows an id can use that job.
        for address, ids in ((mine, made), (yours, [job["id"]]), ("192.0.2.3", [])):
            self.assertEqual([one["id"] for one in ask(address, "GET", "/v1/jobs")[1]["jobs"]], ids)
        # A page of another origin that the client's browser shows does not get it.
        host = f"127.0.0.1:{server.port()}"
        for seen, headers in ((0, {"Origin": "https://example.org"}), (0, {"Sec-Fetch-Site": "cross-site"}),
                              (0, {"Origin": "null"}), (2, {"Origin": f"http://{host}"}), (2, {"Sec-Fetch-Site": "same-origin"})):
            self.assertEqual(len(ask(mine, "GET", "/v1/jobs", **headers)[1]["jobs"]), seen, headers)
        self.assertEqual(ask("192.0.2.3", "GET", f"/v1/jobs/{made[0]}")[0], 200)
        self.assertEqual(ask("192.0.2.3", "DELETE", f"/v1/jobs/{made[0]}")[0], 204)
        self.assertEqual([one["id"] for one in ask(mine, "GET", "/v1/jobs")[1]["jobs"]], made[1:])
        # Files are shared in the same way.
        status, answer = ask(mine, "POST", "/v1/jobs?target=en", b"a" * (600 << 10))
        self.assertEqual((status, answer["error"]["code"]), (507, "no_space"))

    def test_what_is_being_written_down_counts_for_its_client(self):
        server = self.start(MODELS, self.folder, "--jobs-max=4", "--trusted-proxies=127.0.0.1")
        headers = {"X-Forwarded-For": "192.0.2.1", "Content-Type": TEXT}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # as many uploads as one client may have
            answers = list(pool.map(lambda _: server.request("POST", "/v1/jobs?target=en", b"Merci.", headers)[0], range(4)))
        self.assertEqual(sorted(answers), [201] * 2 + [429] * 2)

    def test_a_job_keeps_the_room_that_it_had_when_it_came(self):
        server = self.start(MODELS, self.folder, "--jobs-space=1MiB", "--trusted-proxies=127.0.0.1", "--threads=1")
        # Lines that take a while, and then many that are answered at once. The first are short,
        # because the server predicts the length of the whole result from them.
        slow = "".join(f"Le chat numéro {i} dort.\n" for i in range(300))
        mine = (slow + "Le chat dort sur la chaise.\n" * 7300).encode()
        made = []
        for address, body in (("192.0.2.1", mine), ("192.0.2.2", b"Merci.\n" * 19000)):
            status, _, answer = server.request("POST", "/v1/jobs?target=en", body,
                                               {"X-Forwarded-For": address, "Content-Type": TEXT})
            self.assertEqual(status, 201, answer)
            made.append(json.loads(answer))
        self.assertEqual(server.request("POST", f"/v1/jobs/{made[1]['id']}/cancel")[0] // 100, 2)
        job = self.wait_over(server, made[0])
        self.assertEqual(job["state"], "done", job)
        share = (2**20 - 7 * 19000) / 2  # its share now
        self.assertGreater(len(mine) + len(self.result(server, job)), share)

    def test_jobs_wait_for_room_that_others_have(self):
        server = self.start(MODELS, self.folder, "--jobs-space=1MiB", "--trusted-proxies=127.0.0.1")

        def add(address, body):
            return server.request("POST", "/v1/jobs?target=en&source=fr&alternatives=7", body,
                                  {"X-Forwarded-For": address, "Content-Type": LINES})

        def waits(job):
            return self.state(server, job).get("waits_for") == "space"

        # Each becomes a third of a megabyte.
        n, left = 1600, []
        for number in range(4):
            status, _, answer = add(f"192.0.2.{number + 1}", b'{"text":"Merci."}\n' * n)
            self.assertEqual(status, 201, answer)
            left.append(json.loads(answer))
        wait_for(lambda: all(waits(job) or self.state(server, job)["state"] == "done" for job in left), "rest")
        self.assertTrue(any(waits(job) for job in left))
        status, _, answer = add("192.0.2.9", b'{"text":"Merci."}\n' * 11000)
        self.assertEqual((status, json.loads(answer)["error"]["code"]), (507, "no_space"))
        while left:
            wait_for(lambda: any(self.state(server, job)["state"] not in ("waiting", "running") for job in left), "an end")
            for job in [job for job in left if self.state(server, job)["state"] not in ("waiting", "running")]:
                over = self.state(server, job)
                self.assertEqual((over["state"], over["done"], over["failed"]), ("done", n, 0), over)
                self.assertEqual([json.loads(line)["line"] for line in self.result(server, job).splitlines()], [*range(1, n + 1)])
                self.ask(server, "DELETE", f"/v1/jobs/{job['id']}", status=204)
                left.remove(job)

    def test_one_client_does_not_take_all_uploads(self):
        server = self.start(MODELS, self.folder, "--trusted-proxies=127.0.0.1")

        def begin(address):
            connection = server.connect()
            connection.sendall(f"POST /v1/jobs?target=en HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nX-Forwarded-For: {address}"
                               "\r\nContent-Length: 65536\r\nExpect: 100-continue\r\n\r\n".encode())
            return connection, connection.recv(4096).split(b" ")[1]

        stalled = [begin("192.0.2.1") for _ in range(8)]
        answers = [status for _, status in stalled]
        self.assertEqual(answers, [b"100"] * 4 + [b"503"] * 4)
        other, status = begin("192.0.2.2")
        self.assertEqual(status, b"100")
        for connection in (other, *(connection for connection, _ in stalled)):
            connection.close()

    def test_it_goes_on_after_a_stop_and_after_kill(self):
        seed = random.randrange(1 << 30)
        dice = random.Random(seed)
        texts = [" ".join(dice.choice(SENTENCES) for _ in range(dice.randrange(1, 3))) + f" {i}" for i in range(N)]
        server = self.start(MODELS, self.folder, "--cache-size=0")
        expected = self.translate(server, texts)
        text = self.add(server, "\n".join(texts).encode())
        lines = self.add(server, "\n".join(json.dumps({"text": one, "id": str(i)}) for i, one in enumerate(texts)).encode(),
                         LINES)
        n_killed = 0
        while any(self.state(server, job)["state"] in ("waiting", "running") for job in (text, lines)) and n_killed < 5:
            time.sleep(dice.uniform(0.02, 0.2))
            if n_killed % 2:
                server.signal(signal.SIGKILL)
                server.expected_codes = (-signal.SIGKILL,)
                server.wait()
            else:
                self.assertEqual(server.stop(), 0)
            if n_killed == 3:  # as a crash of the machine would leave it
                with open(os.path.join(self.directory, "jobs", text["id"] + ".out"), "ab") as out:
                    out.write(b"half a li")
            n_killed += 1
            server = self.start(MODELS, self.folder, "--cache-size=0")
        for job in (text, lines):
            over = self.wait_over(server, job)
            self.assertEqual((over["state"], over["done"], over["failed"]), ("done", N, 0), seed)
        self.assertEqual(self.result(server, text).split("\n"), [*expected, ""], seed)
        found = [json.loads(line) for line in self.result(server, lines).splitlines()]
        self.assertEqual([line["text"] for line in found], expected, seed)
        self.assertEqual([line["id"] for line in found], [str(i) for i in range(N)])
        self.assertEqual([line["line"] for line in found], list(range(1, N + 1)))

    def test_one_server_for_a_folder_and_litter_goes(self):
        server = self.start(MODELS, self.folder)
        other = self.run_program(MODELS, self.folder, "--listen=127.0.0.1:0")
        self.assertEqual(other.returncode, 1)
        self.assertIn("another server uses", other.stderr)
        server.stop()
        folder = os.path.join(self.directory, "jobs")
        for name in ("a" * 32 + ".in", "b" * 32 + ".out", "c" * 32 + ".json", "notes.txt"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("{")
        server = self.start(MODELS, self.folder)
        self.assertIn("a job is skipped", server.log())
        self.assertEqual(sorted(os.listdir(folder)), ["c" * 32 + ".json", "lock", "notes.txt"])
        job = self.add(server, b"Le chat dort.")
        self.wait_over(server, job)
        server.stop()
        time.sleep(1.1)
        server = self.start(MODELS, self.folder, "--jobs-retention=1s")
        self.assertEqual(self.ask(server, "GET", "/v1/jobs")["jobs"], [])


if __name__ == "__main__":
    main()
