# SPDX-License-Identifier: ISC
"""Keys, limits and quotas: every status and header, and what survives a crash. The test writes key
files by the format's description, so that hash and file are checked against an implementation
other than our own."""
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import socket
import subprocess

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for
from ws_client import Socket

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODELS = f"--models-dir={MODELS_DIR}"
TEXT = "Le chat dort."
ALICE, BOB, CAROL = "secret-of-alice", "secret-of-bob", "secret-of-carol"
PATH = "/v1/translate"


def key(name, secret, *lines):
    digest = hashlib.blake2b(secret.encode(), digest_size=32).hexdigest()
    return "\n".join([f"[key {name}]", f"hash = blake2b:{digest}", *lines, ""])


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


class Keys(IntegrationTest):
    def write_keys(self, *keys, mode=0o640):
        self.keys = os.path.join(self.directory, "keys")
        with open(self.keys + ".new", "w", encoding="utf-8") as file:
            file.write("".join(keys))
        os.chmod(self.keys + ".new", mode)
        os.rename(self.keys + ".new", self.keys)

    def serve(self, *keys, flags=(), **options):
        if keys:
            self.write_keys(*keys)
            flags = (f"--keys-file={self.keys}", *flags)
        return self.start(MODELS, *flags, **options)

    def ask(self, server, headers=None, path=PATH, method="POST", **body):
        if method == "POST" and path == PATH:
            body = {"text": TEXT, "target": "en", **body}
        status, headers, answer = server.request(method, path, json.dumps(body) if method == "POST" else None, headers)
        return status, headers, json.loads(answer) if "json" in headers.get("Content-Type", "") else answer.decode()

    def refused(self, server, status, code, headers=None, **options):
        got, got_headers, answer = self.ask(server, headers, **options)
        self.assertEqual((got, answer["error"]["code"]), (status, code), answer)
        self.assertTrue(answer["error"]["message"] and answer["request_id"])
        self.assertEqual("WWW-Authenticate" in got_headers, status == 401)
        return got_headers, answer["error"]

    def metric(self, server, name):
        page = server.request("GET", "/metrics", headers=bearer(ALICE))[2].decode()
        return float(re.search(rf"^dragoman_{re.escape(name)} (\S+)$", page, re.M).group(1))

    def until_refused(self, server, headers=None, **options):
        """The window of a minute refills while we ask, so this asks until the server refuses."""
        for n in range(200):
            status, got, answer = self.ask(server, headers, **options)
            if status != 200:
                self.assertGreater(n, 0)
                return status, got, answer["error"]
            self.assertIn("RateLimit-Limit", got)
        return self.fail("200 requests passed")

    def reload(self, server, times):
        server.signal(signal.SIGHUP)
        server.wait_for_log('msg="keys in use"', times)

    def usage(self, server, secret):
        status, _, answer = self.ask(server, bearer(secret), "/v1/usage", "GET")
        self.assertEqual(status, 200, answer)
        return answer

    # ---- Keys -----------------------------------------------------------------------------------------------

    def test_a_key_is_taken_from_headers_and_body(self):
        server = self.serve(key("alice", ALICE), key("bob", BOB), flags=["--require-key"])
        for headers in (bearer(ALICE), {"Authorization": f"bearer   {ALICE}"}, {"X-API-Key": ALICE}, {"x-api-key": BOB},
                        {"Authorization": f"DeepL-Auth-Key {ALICE}"}, {"Authorization": ALICE}, {"X-API-Token": BOB},
                        {"Authorization": "Basic dXNlcjpwYXNz", "X-API-Key": ALICE}):
            status, got, answer = self.ask(server, headers)
            self.assertEqual(status, 200, (headers, answer))
            self.assertNotIn("RateLimit-Limit", got)
        for path, more in ((PATH, {}), ("/v1/detect", {"text": TEXT}),
                           ("/v1/score", {"text": TEXT, "translation": "The cat sleeps.", "target": "en"})):
            status, _, answer = self.ask(server, path=path, api_key=ALICE, **more)
            self.assertIn(status, (200, 501), (path, answer))
            for wrong in ("nobody", ALICE + " ", ALICE.upper(), "x" * 100000, "\u0000"):
                self.refused(server, 401, "key_invalid", path=path, api_key=wrong, **more)
            for nothing in ("", None):
                self.refused(server, 401, "key_required", path=path, api_key=nothing, **more)
            got, _, answer = self.ask(server, path=path, api_key=7, **more)
            self.assertEqual((got, answer["error"]["field"]), (400, "api_key"))
        # The header takes precedence over the body.
        self.refused(server, 401, "key_invalid", bearer("nobody"), api_key=ALICE)
        self.assertEqual(self.ask(server, bearer(ALICE), api_key="nobody")[0], 200)
        self.refused(server, 401, "key_required", {"Authorization": "Basic dXNlcjpwYXNz"})
        for wrong in ("nobody", "x" * 8000, "\u00e9", ALICE[:-1]):
            self.refused(server, 401, "key_invalid", bearer(wrong))

    def test_what_is_open_without_a_key(self):
        server = self.serve(key("alice", ALICE), flags=["--require-key"])
        for path in ("/healthz", "/readyz", "/languages", "/frontend/settings", "/health"):
            self.assertEqual(server.request("GET", path)[0], 200, path)
            self.assertEqual(server.request("GET", path, headers=bearer("nobody"))[0], 200, path)
        for path in ("/metrics", "/v1/models", "/v1/languages", "/v1/usage"):
            self.refused(server, 401, "key_required", path=path, method="GET")
            self.refused(server, 401, "key_invalid", bearer("nobody"), path=path, method="GET")
            self.assertEqual(server.request("GET", path, headers=bearer(ALICE))[0], 200, path)
        status, headers, _ = server.request("OPTIONS", PATH)
        self.assertEqual(status, 204)
        self.assertIn("X-API-Key", headers["Access-Control-Allow-Headers"])
        self.assertEqual(server.request("GET", "/nowhere")[0], 404)
        asked = b'{"Text":"Bonjour.","SourceLanguageCode":"fr","TargetLanguageCode":"en"}'
        status, _, body = server.request("POST", "/", body=asked, headers={  # Amazon's API: a signature is not a key
            "X-Amz-Target": "AWSShineFrontendService_20170701.TranslateText",
            "Authorization": "AWS4-HMAC-SHA256 Credential=x/y/z, Signature=0"})
        self.assertEqual((status, json.loads(body)["__type"]), (400, "UnrecognizedClientException"))
        settings = json.loads(server.request("GET", "/frontend/settings")[2])
        self.assertEqual((settings["apiKeys"], settings["keyRequired"]), (True, True))

    def test_without_require_key_a_wrong_key_is_refused_all_the_same(self):
        server = self.serve(key("alice", ALICE))
        self.assertEqual(self.ask(server)[0], 200)
        self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
        self.refused(server, 401, "key_invalid", bearer("nobody"))
        self.refused(server, 401, "key_invalid", api_key="nobody")

    def test_where_there_are_no_keys_none_is_looked_at(self):
        server = self.serve()
        self.assertEqual(self.ask(server, bearer("anything"))[0], 200)
        self.assertEqual(self.ask(server, api_key="anything")[0], 200)
        usage = self.usage(server, "anything")
        self.assertEqual((usage["key"], usage["month"], usage["limits"]), (None, None, []))

    def test_expired_keys_and_old_secrets(self):
        old = hashlib.blake2b(b"before", digest_size=32).hexdigest()
        server = self.serve(key("alice", ALICE, "expires = 2020-01-01"),
                            key("bob", BOB, f"old-hash = blake2b:{old}", "old-until = 2020-01-01"),
                            key("carol", CAROL, f"old-hash = blake2b:{'0' * 64}", "old-until = 9999-01-01"))
        self.refused(server, 401, "key_expired", bearer(ALICE))
        self.refused(server, 401, "key_expired", api_key=ALICE)
        self.refused(server, 401, "key_invalid", bearer("before"))
        self.assertEqual(self.ask(server, bearer(BOB))[0], 200)
        self.assertEqual(self.ask(server, bearer(CAROL))[0], 200)

    def test_a_key_has_models(self):
        server = self.serve(key("alice", ALICE, "models = de-en"), key("bob", BOB, "models = de-en, fr-en"))
        self.refused(server, 403, "model_not_allowed", bearer(ALICE))
        self.refused(server, 403, "model_not_allowed", bearer(ALICE), model="fr-en", target=None)
        self.refused(server, 404, "no_such_model", bearer(ALICE), model="nobody")
        self.assertEqual(self.ask(server, bearer(BOB))[0], 200)
        self.assertEqual(self.ask(server)[0], 200)
        self.assertEqual(self.metric(server, 'refusals_total{reason="model"}'), 2)
        self.assertEqual(self.usage(server, ALICE)["models"], ["de-en"])

    # ---- Limits ---------------------------------------------------------------------------------------------

    def test_requests_per_minute(self):
        server = self.serve(key("alice", ALICE, "requests-per-minute = 2"), key("bob", BOB),
                            key("carol", CAROL, "requests-per-minute = 2"))
        status, headers, error = self.until_refused(server, bearer(ALICE))
        self.assertEqual((status, error["code"], error["limit"]), (429, "rate_limited", 2))
        self.assertEqual((headers["RateLimit-Limit"], headers["RateLimit-Remaining"]), ("2", "0"))
        self.assertEqual(headers["RateLimit-Policy"], '"requests";q=2;w=60')
        self.assertTrue(1 <= int(headers["Retry-After"]) <= 30)
        self.assertTrue(int(headers["Retry-After"]) <= int(headers["RateLimit-Reset"]) <= 60)
        self.assertEqual(error["retry_after"], int(headers["Retry-After"]))
        status, headers, answer = self.ask(server, bearer(BOB))
        self.assertEqual(status, 200)
        self.assertGreaterEqual(self.metric(server, 'refusals_total{reason="rate_requests"}'), 1)
        # Requests that only read count as well; /v1/usage does not.
        self.assertEqual(self.until_refused(server, bearer(CAROL), path="/v1/models", method="GET")[0], 429)
        self.assertEqual(self.usage(server, ALICE)["limits"][0]["name"], "requests_per_minute")

    def test_requests_per_hour_and_day(self):
        """The limits that LibreTranslate calls hourly-req-limit and daily-req-limit, for keys and
        for addresses; they are reported, and a reload changes them."""
        server = self.serve(key("alice", ALICE, "requests-per-day = 2"), key("bob", BOB, "requests-per-hour = 1"),
                            conf="anonymous-requests-hour = 2\nanonymous-requests-day = 1000\n")
        lt = {"q": TEXT, "source": "fr", "target": "en"}
        for who, limit, left, policy, words in (
                ({"api_key": ALICE}, 2, 2, '"requests-day";q=2;w=86400', "Slowdown: 2 per 1 day"),
                ({"api_key": BOB}, 1, 1, '"requests-hour";q=1;w=3600', "Slowdown: 1 per 1 hour"),
                ({}, 2, 2, '"requests-hour";q=2;w=3600, "requests-day";q=1000;w=86400', "Slowdown: 2 per 1 hour")):
            for n in range(left):
                status, headers, _ = self.ask(server, path="/translate", **who, **lt)
                self.assertEqual((status, headers["RateLimit-Limit"], headers["RateLimit-Remaining"]), (200, str(limit), str(left - 1 - n)))
                self.assertEqual(headers["RateLimit-Policy"], policy)
            status, headers, answer = self.ask(server, path="/translate", **who, **lt)
            self.assertEqual((status, answer), (429, {"error": words}))
            self.assertGreater(int(headers["Retry-After"]), 60)
        self.assertEqual([one["name"] for one in self.usage(server, BOB)["limits"]], ["requests_per_hour"])
        self.refused(server, 429, "rate_limited")
        server.write_conf("anonymous-requests-day = 1000\n")
        self.reload(server, 2)  # after the first, at the start
        status, headers, _ = self.ask(server)
        self.assertEqual((status, headers["RateLimit-Policy"]), (200, '"requests-day";q=1000;w=86400'))

    def test_characters_per_minute(self):
        server = self.serve(key("alice", ALICE, "characters-per-minute = 20", "requests-per-minute = 1000"))
        status, headers, error = self.until_refused(server, bearer(ALICE))
        self.assertEqual((status, error["code"], error["limit"]), (429, "rate_limited", 20))
        self.assertEqual(headers["RateLimit-Limit"], "20")
        self.assertEqual(headers["RateLimit-Policy"], '"requests";q=1000;w=60, "characters";q=20;w=60')
        self.assertGreaterEqual(self.metric(server, 'refusals_total{reason="rate_characters"}'), 1)

    def test_a_text_larger_than_a_minutes_worth_passes_once(self):
        server = self.serve(key("alice", ALICE, "characters-per-minute = 5"))
        self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
        self.refused(server, 429, "rate_limited", bearer(ALICE))

    def test_the_months_quota(self):
        n = len("Où est-il ?")
        server = self.serve(key("alice", ALICE, f"characters-per-month = {3 * n - 1}"))
        for left in (2 * n - 1, n - 1):
            status, headers, _ = self.ask(server, bearer(ALICE), text="Où est-il ?")
            self.assertEqual((status, headers["RateLimit-Remaining"]), (200, str(left)))
        headers, error = self.refused(server, 429, "quota_exceeded", bearer(ALICE), text="Où est-il ?")
        self.assertEqual(error["limit"], 3 * n - 1)
        self.assertLessEqual(int(headers["Retry-After"]), 31 * 86400)
        # An array counts all its texts; a request that is refused for its content counts no
        # characters.
        self.refused(server, 429, "quota_exceeded", bearer(ALICE), text=["x"] * n)
        self.assertEqual(self.ask(server, bearer(ALICE), text=5)[0], 400)
        self.assertEqual(self.ask(server, bearer(ALICE), text="x", target="xx")[0], 404)
        usage = self.usage(server, ALICE)
        self.assertEqual(usage["key"], "alice")
        self.assertRegex(usage["month"]["name"], r"^\d{4}-\d\d$")
        self.assertEqual((usage["month"]["requests"], usage["month"]["characters"]), (4, 2 * n))

    def cut_short(self, stream):
        """Runs stream(text, timeout_ms) with growing timeouts and returns what it got from the
        first one that ended it on its way."""
        text = "".join(f"Le chat numéro {i} dort. " for i in range(4000))
        timeout_ms, told = 1, []
        while not any(kind == "token" for kind, _ in told):
            told = stream({"text": text, "target": "en", "timeout_ms": timeout_ms, "beam": 1})
            self.assertEqual((told[-1][0], told[-1][1].get("error", told[-1][1]).get("code")), ("error", "timeout"))
            timeout_ms *= 2
        return text, [message for kind, message in told if kind == "sentence"]

    def test_what_a_stream_delivered_before_it_failed_is_charged(self):
        server = self.serve(key("alice", ALICE), key("bob", BOB), flags=["--cache-size=0"])

        def events(body):
            _, headers, answer = server.request("POST", PATH, json.dumps({**body, "stream": True}), bearer(ALICE))
            if "json" in headers["Content-Type"]:
                return [("error", json.loads(answer))]
            blocks = [[line.partition(": ")[2] for line in block.split("\n")]
                      for block in answer.decode().split("\n\n")[:-1]]
            return [(name, json.loads(data)) for *_, name, data in blocks]

        def messages(body):
            socket, told = Socket(server, headers=[f"Authorization: Bearer {BOB}"]), []
            socket.send({"type": "translate", "id": "1", **body})
            while not told or told[-1][0] not in ("done", "error"):
                message = socket.receive()
                told.append((message["type"], message))
            socket.close()
            return told

        for stream, secret in ((events, ALICE), (messages, BOB)):
            text, sentences = self.cut_short(stream)
            month = self.usage(server, secret)["month"]
            end = sentences[-1]["start"] + sentences[-1]["length"] if sentences else 0
            delivered = len(text.encode()[:end].decode())
            self.assertEqual(month["requests"], 1)
            # The delivered characters are charged, and at most the sentence that was begun in
            # addition.
            self.assertGreaterEqual(month["characters"], max(delivered, 1))
            self.assertLessEqual(month["characters"], delivered + len(" Le chat numéro 4000 dort. "))

    def test_a_text_that_a_keys_models_cannot_read_is_not_taken_for_its_target(self):
        conf = "".join(f"[model {name}]\npath = {os.path.join(SOURCES, 'models', name)}\n" for name in ("fr-en", "en-fr"))
        self.write_keys(key("alice", ALICE, "models = fr-en"))
        data = os.path.join(SOURCES, "data", "langid", "langid.bin")
        server = self.start(f"--language-data={data}", conf=f"keys-file = {self.keys}\n{conf}")
        self.refused(server, 403, "model_not_allowed", bearer(ALICE), text="Window", target="fr")
        status, _, answer = self.ask(server, bearer(ALICE), text="Où est la gare ?", target="fr")
        self.assertEqual((status, answer["translations"][0]["text"]), (200, "Où est la gare ?"), answer)

    def test_a_frame_or_a_document_that_fails_costs_no_characters(self):
        conf = "".join(f"[model {name}]\npath = {os.path.join(SOURCES, 'models', name)}\n" for name in ("fr-en", "en-fr"))
        self.write_keys(key("alice", ALICE))
        server = self.start("--documents-space=400", conf=f"keys-file = {self.keys}\n{conf}")
        form = (b"--x\r\nContent-Disposition: form-data; name=\"target_lang\"\r\n\r\nEN\r\n--x\r\nContent-Disposition: form-data; "
                b"name=\"file\"; filename=\"a.json\"\r\n\r\n%s\r\n--x--\r\n")
        headers = {**bearer(ALICE), "Content-Type": "multipart/form-data; boundary=x"}

        def document(content):
            status, _, answer = server.request("POST", "/v2/document", form % content, headers)
            if status == 503:
                return json.loads(answer)["message"]
            self.assertEqual(status, 200, answer)
            made = json.loads(answer)
            body = json.dumps({"document_key": made["document_key"]})

            def state():
                return json.loads(server.request("POST", f"/v2/document/{made['document_id']}", body, bearer(ALICE))[2])["status"]

            wait_for(lambda: state() in ("done", "error"), "the end of the document")
            return state()

        fine = b'{"a": "Le chat dort."}'
        self.assertEqual(document(fine), "done")
        self.assertEqual(self.usage(server, ALICE)["month"]["characters"], len(fine))
        self.assertEqual(document(b'{"a": "%s"}' % b" ".join([b"Le chat dort."] * 10)),  # counted with its lines
                         "There is no room for more files; try again later.")
        wait_for(lambda: self.usage(server, ALICE)["month"]["characters"] == len(fine), "the refund")

        # A marian-server socket whose model is removed.
        socket = Socket(server, protocol=None, path="/translate?source=fr&target=en", headers=[f"Authorization: Bearer {ALICE}"])
        socket.send("Merci.".encode())
        opcode, lines = socket.frame()
        self.assertEqual((opcode, lines.count(b"\n")), (1, 1))
        server.write_conf(f"keys-file = {self.keys}\n[model en-fr]{conf.partition('[model en-fr]')[2]}")
        server.signal(signal.SIGHUP)
        server.wait_for_log("models reloaded")
        socket.send("Merci beaucoup.".encode())
        opcode, reason = socket.frame()
        self.assertEqual((opcode, int.from_bytes(reason[:2], "big")), (8, 1011), reason)
        wait_for(lambda: self.usage(server, ALICE)["month"]["characters"] == len(fine) + len("Merci."), "the refund")
        socket.close()

    def send_long_document(self, server, *fields):
        text = "\n\n".join(f"{n} Le chat dort dans la maison." for n in range(20000))
        form = "".join(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in (
            ("source_lang", "FR"), ("target_lang", "EN"), *fields, ('file"; filename="a.txt', text))) + "--x--\r\n"
        headers = {**bearer(ALICE), "Content-Type": "multipart/form-data; boundary=x"}
        status, _, answer = server.request("POST", "/v2/document", form.encode(), headers)
        self.assertEqual(status, 200, answer)
        return len(text), json.loads(answer)

    def test_a_document_that_ends_with_the_server_costs_nothing(self):
        flags = (f"--usage-file={self.directory}/usage",)  # without jobs-dir
        server = self.serve(key("alice", ALICE), flags=flags)
        length, _ = self.send_long_document(server)
        self.assertEqual(self.usage(server, ALICE)["month"]["characters"], length)
        self.assertEqual(server.stop(), 0)
        server = self.serve(key("alice", ALICE), flags=flags)
        self.assertEqual(self.usage(server, ALICE)["month"]["characters"], 0)

    def test_a_job_that_cannot_be_written_costs_nothing_although_its_client_has_left(self):
        server = self.serve(key("alice", ALICE), flags=(f"--jobs-dir={self.directory}/jobs",))
        os.rename(f"{self.directory}/jobs", f"{self.directory}/away")  # no file can be made any more
        form = "".join(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in (
            ("source_lang", "FR"), ("target_lang", "EN"), ('file"; filename="a.txt', TEXT))) + "--x--\r\n"
        asked = (("/v1/jobs?target=en", "text/plain; charset=utf-8", TEXT), ("/v2/document", "multipart/form-data; boundary=x", form)) * 20
        for path, kind, body in asked:
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ALICE}\r\nContent-Type: {kind}\r\n"
            with socket.create_connection(("127.0.0.1", server.port())) as client:
                client.sendall(f"{head}Content-Length: {len(body.encode())}\r\n\r\n{body}".encode())
        # Each is refused or finds its client gone, and in both cases its characters are given back.
        wait_for(lambda: len(re.findall("route=(?:v1_jobs_add|deepl_document) ", server.log())) == len(asked), "the end of all requests")
        wait_for(lambda: self.usage(server, ALICE)["month"]["characters"] == 0, "the refunds")

    def test_a_document_that_fails_after_a_restart_costs_nothing(self):
        """It fails because its glossary, which was kept in memory, has gone with the first server."""
        flags = (f"--usage-file={self.directory}/usage", f"--jobs-dir={self.directory}/jobs")
        server = self.serve(key("alice", ALICE), flags=flags)
        status, _, answer = self.ask(server, bearer(ALICE), "/v1/glossaries", name="g", source="fr", target="en", terms={"chat": "tom"})
        self.assertEqual(status, 201, answer)
        length, made = self.send_long_document(server, ("glossary_id", answer["id"]))

        def is_written():
            with open(f"{self.directory}/usage", encoding="utf-8") as file:
                return f" alice 2 {length} " in file.read()

        wait_for(is_written, "the charge to be on disk")
        server.process.kill()
        server.expected_codes = (-signal.SIGKILL,)
        server.wait()
        server = self.serve(key("alice", ALICE), flags=flags)
        state = lambda: self.ask(server, bearer(ALICE), f"/v2/document/{made['document_id']}", document_key=made["document_key"])[2]
        wait_for(lambda: state()["status"] == "error", "the document to fail")
        wait_for(lambda: self.usage(server, ALICE)["month"]["characters"] == 0, "the refund")
        self.assertEqual(server.stop(), 0)
        server = self.serve(key("alice", ALICE), flags=flags)
        self.assertEqual(state()["status"], "error")
        self.assertEqual(self.usage(server, ALICE)["month"], {**self.usage(server, ALICE)["month"], "requests": 1, "characters": 0})

    def test_addresses_without_a_key(self):
        server = self.serve(key("alice", ALICE), flags=["--anonymous-requests=1", "--trusted-proxies=127.0.0.1"])

        def client(address):
            return {"X-Forwarded-For": address}

        for address in ("192.0.2.1", "2001:db8:1:2::1"):
            status, headers, error = self.until_refused(server, client(address))
            self.assertEqual((status, error["code"], headers["RateLimit-Limit"]), (429, "rate_limited", "1"))
        # One customer has one /64; other networks are other customers, and a request with a key
        # does not count for its address.
        self.refused(server, 429, "rate_limited", client("2001:db8:1:2:ffff::9"))
        self.refused(server, 429, "rate_limited", client("::ffff:192.0.2.1"))
        for address in ("192.0.2.2", "2001:db8:1:3::1"):
            self.assertEqual(self.ask(server, client(address))[0], 200)
        for _ in range(3):
            self.assertEqual(self.ask(server, {**client("192.0.2.1"), **bearer(ALICE)})[0], 200)
        # A client that is not a trusted proxy cannot choose its address.
        plain = self.serve(flags=["--anonymous-requests=1"])
        self.until_refused(plain, client("192.0.2.1"))
        self.refused(plain, 429, "rate_limited", client("192.0.2.99"))

    def test_wrong_requests_count_too(self):
        server = self.serve(flags=["--anonymous-requests=2"])
        for _ in range(200):
            status, _, answer = self.ask(server, text=5)
            self.assertEqual(status, 400)
            if self.ask(server)[0] == 429:
                return
        self.fail("400 requests passed")

    # ---- What survives --------------------------------------------------------------------------------------

    def test_counts_survive_a_crash_and_a_restart(self):
        server = self.serve(key("alice", ALICE, "characters-per-month = 1000"))
        for _ in range(3):
            self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
        usage_file = self.keys + ".usage"
        expected = f" alice 3 {3 * len(TEXT)} "

        def journal():
            with open(usage_file, encoding="ascii") as file:
                return file.read()

        wait_for(lambda: expected in journal(), "the journal")
        self.assertEqual(os.stat(usage_file).st_mode & 0o777, 0o600)
        server.process.kill()
        server.wait()
        server.expected_codes = (-signal.SIGKILL,)
        with open(usage_file, "a", encoding="ascii") as file:
            file.write("209901 alice 99 99")  # a line torn by the crash
        again = self.serve(key("alice", ALICE, "characters-per-month = 1000"))
        again.wait_for_log("damaged lines")
        month = self.usage(again, ALICE)["month"]
        self.assertEqual((month["requests"], month["characters"]), (3, 3 * len(TEXT)))
        self.assertEqual(self.ask(again, bearer(ALICE))[0], 200)
        again.stop()  # writes the counts of the last second
        last = self.serve(key("alice", ALICE, f"characters-per-month = {4 * len(TEXT)}"))
        self.assertEqual(self.usage(last, ALICE)["month"]["requests"], 4)
        self.refused(last, 429, "quota_exceeded", bearer(ALICE))

    def test_two_servers_do_not_share_a_usage_file(self):
        self.serve(key("alice", ALICE))
        other = self.serve(key("alice", ALICE), ready=False)
        other.expected_codes = (1,)
        self.assertEqual(other.wait(), 1)
        self.assertIn("usage-file: ", other.log())
        self.assertIn("held by another process", other.log())

    # ---- Reload ---------------------------------------------------------------------------------------------

    def test_a_reload_brings_keys_or_locks_nobody_out(self):
        server = self.start(MODELS, conf="")
        empty, nowhere = (os.path.join(self.directory, name) for name in ("empty", "nowhere"))
        self.write_keys()
        os.rename(self.keys, empty)
        for n, (path, said) in enumerate(((empty, "has no key, so that everybody would be locked out"), (nowhere, "keys-file: ")), 1):
            server.write_conf(f"keys-file = {path}\nrequire-key = yes\n")
            server.signal(signal.SIGHUP)
            server.wait_for_log("the old configuration stays in use", n)
            self.assertIn(said, server.log())
            self.assertEqual(self.ask(server)[0], 200)
        self.write_keys(key("alice", ALICE))
        server.write_conf(f"keys-file = {self.keys}\nrequire-key = yes\n")
        self.reload(server, 1)
        self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
        self.refused(server, 401, "key_required")
        server.write_conf("")
        self.reload(server, 2)
        self.assertEqual(self.ask(server)[0], 200)

    def test_a_key_file_that_was_emptied_locks_nobody_out(self):
        server = self.serve(key("alice", ALICE), flags=["--require-key"])
        # A small file is checked before the reload, which reports what is wrong; any other file is
        # checked when it is read.
        for n, content in enumerate(("", "# nothing\n" * 1000), 1):
            self.write_keys(content)
            server.signal(signal.SIGHUP)
            server.wait_for_log("has no key, so that everybody would be locked out", n)
            self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
            self.refused(server, 401, "key_required")
        self.assertIn("the old configuration stays in use: require-key: ", server.log())
        self.assertIn("the old keys stay in use: require-key: ", server.log())
        self.write_keys(key("bob", BOB))
        self.reload(server, 2)
        self.assertEqual(self.ask(server, bearer(BOB))[0], 200)
        self.refused(server, 401, "key_invalid", bearer(ALICE))

    def test_revoked_and_rotated_keys_end_at_the_reload(self):
        server = self.serve(key("alice", ALICE), key("bob", BOB), flags=["--require-key"])
        socket = Socket(server, headers=[f"Authorization: Bearer {ALICE}"])
        socket.send({"type": "translate", "id": "1", "text": TEXT, "target": "en"})
        self.assertEqual(socket.until_done("1")[1]["type"], "done")
        self.write_keys(key("bob", "another"))
        self.assertEqual(self.ask(server, bearer(BOB))[0], 200)  # not yet
        self.reload(server, 2)
        self.refused(server, 401, "key_invalid", bearer(ALICE))
        self.refused(server, 401, "key_invalid", bearer(BOB))
        self.assertEqual(self.ask(server, bearer("another"))[0], 200)
        socket.send({"type": "translate", "id": "2", "text": TEXT, "target": "en"})
        self.assertEqual(socket.until_done("2")[1]["code"], "key_invalid")
        socket.send({"type": "update", "id": "1", "text": TEXT + " Il mange."})
        self.assertEqual(socket.until_done("1")[1]["code"], "key_invalid")
        socket.close()

    def test_a_broken_file_ends_the_start_but_not_the_service(self):
        server = self.serve(key("alice", ALICE))
        self.write_keys("[key alice]\nhash = nonsense\n")
        server.signal(signal.SIGHUP)
        server.wait_for_log("the old keys stay in use")
        self.assertIn("keys:2: hash: read something else", server.log())
        self.assertEqual(self.ask(server, bearer(ALICE))[0], 200)
        self.write_keys(key("alice", ALICE), mode=0o644)
        server.signal(signal.SIGHUP)
        server.wait_for_log("the old keys stay in use", 2)
        self.assertIn("chmod 0640", server.log())
        self.write_keys(key("carol", CAROL))
        self.reload(server, 2)
        self.assertEqual(self.ask(server, bearer(CAROL))[0], 200)
        server.stop()
        self.write_keys(key("alice", ALICE), mode=0o666)
        for flags in ((f"--keys-file={self.keys}",), ("--keys-file=/nowhere/keys",)):
            broken = self.start(MODELS, *flags, ready=False)
            broken.expected_codes = (1,)
            self.assertEqual(broken.wait(), 1)
            self.assertRegex(broken.log(), "(keys-file|usage-file): ")
        self.assertIn("require-key", self.run_program("--require-key", "--check-config").stderr)

    # ---- WebSockets -----------------------------------------------------------------------------------------

    def test_each_message_of_a_socket_is_counted_and_limited(self):
        quota = 2 * len(TEXT) + len(" Il mange.")
        server = self.serve(key("alice", ALICE, f"characters-per-month = {quota}"), key("bob", BOB, "models = de-en"),
                            flags=["--require-key"])
        socket = Socket(server)

        def translate(ident, **more):
            socket.send({"type": "translate", "id": ident, "text": TEXT, "target": "en", **more})
            return socket.until_done(ident)[1]

        self.assertEqual(translate("1")["code"], "key_required")
        self.assertEqual(translate("2", api_key="nobody")["code"], "key_invalid")
        self.assertEqual(translate("3", api_key=BOB)["code"], "model_not_allowed")
        self.assertEqual(translate("4", api_key=ALICE)["type"], "done")
        socket.send({"type": "update", "id": "4", "text": TEXT + " Il mange."})
        self.assertEqual(socket.until_done("4")[1]["type"], "done")
        month = self.usage(server, ALICE)["month"]
        self.assertEqual(month["requests"], 2)
        self.assertLessEqual(month["characters"], quota)
        error = {"type": "done"}
        for n in range(20):
            if error["type"] == "done":
                error = translate(f"5{n}", api_key=ALICE)
        self.assertEqual((error["code"], error["limit"]), ("quota_exceeded", quota))
        self.assertGreaterEqual(error["retry_after"], 1)
        socket.close()
        refused = Socket(server, headers=["X-API-Key: nobody"])
        self.assertTrue(refused.head.startswith(b"HTTP/1.1 401 "), refused.head)
        refused.close()

    # ---- What others see ------------------------------------------------------------------------------------

    def test_no_secret_in_logs_or_metrics(self):
        server = self.serve(key("alice", ALICE), flags=["--log-level=debug"])
        self.ask(server, bearer(ALICE))
        self.ask(server, api_key=ALICE)
        self.ask(server, bearer("wrong-secret"))
        self.ask(server)
        page = server.request("GET", "/metrics")[2].decode()
        server.stop()
        for secret in (ALICE, "wrong-secret", hashlib.blake2b(ALICE.encode(), digest_size=32).hexdigest()):
            self.assertNotIn(secret, server.log())
            self.assertNotIn(secret, page)
        self.assertNotIn("alice", page)
        self.assertIn('dragoman_refusals_total{reason="key_invalid"} 1', page)
        self.assertEqual(len(re.findall(r"route=v1_translate .*key=alice", server.log())), 2)
        self.assertEqual(len(re.findall(r"route=v1_translate .*key=-", server.log())), 2)

    def test_other_servers_words_for_it(self):
        server = self.serve(key("alice", ALICE, "characters-per-month = 20"), flags=["--require-key"])
        lt = {"q": TEXT, "source": "fr", "target": "en"}
        self.assertEqual(self.ask(server, path="/translate", **lt)[::2],
                         (400, {"error": "Please contact the server operator to get an API key"}))
        self.assertEqual(self.ask(server, path="/translate", api_key="nobody", **lt)[::2],
                         (403, {"error": "Invalid API key"}))
        self.assertEqual(self.ask(server, path="/detect", api_key="nobody", q=TEXT)[0], 403)
        self.assertEqual(self.ask(server, path="/translate", api_key=ALICE, **lt)[0], 200)
        status, headers, answer = self.ask(server, path="/translate", api_key=ALICE, **lt)
        self.assertEqual(status, 429)
        self.assertTrue(answer["error"].startswith("Slowdown: "), answer)
        self.assertIn("Retry-After", headers)
        deepl = {"text": [TEXT], "target_lang": "EN"}
        header = {"Authorization": f"DeepL-Auth-Key {ALICE}", "Content-Type": "application/json"}
        self.assertEqual(self.ask(server, {**header, "Authorization": "DeepL-Auth-Key nobody"}, "/v2/translate", **deepl)[0],
                         403)
        self.assertEqual(self.ask(server, header, "/v2/translate", **deepl)[0], 456)
        self.assertEqual(self.ask(server, header, "/v2/usage", "GET")[2],
                         {"character_count": len(TEXT), "character_limit": 20})

    # ---- The tool -------------------------------------------------------------------------------------------

    def tool(self, *arguments, code=0):
        done = subprocess.run([TOOL, "keys", *arguments, f"--file={self.keys}"], capture_output=True, check=False,
                              encoding="utf-8", timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.strip()

    def test_the_tool_writes_what_the_server_reads(self):
        self.keys = os.path.join(self.directory, "keys")
        first = self.tool("add", "alice", "--note=the first")
        self.assertRegex(first, r"^dgk_[A-Za-z0-9_-]{43}$")
        server = self.start(MODELS, f"--keys-file={self.keys}", "--require-key")
        self.assertEqual(self.ask(server, bearer(first))[0], 200)
        second = self.tool("rotate", "alice", "--grace=1h")
        third = self.tool("add", "bob", "--role=admin", "--requests-per-minute=5", "--expires=9999-12-31")
        self.reload(server, 2)
        for secret in (first, second, third):
            self.assertEqual(self.ask(server, bearer(secret))[0], 200)
        self.assertEqual(self.usage(server, third)["role"], "admin")
        last = self.tool("rotate", "alice")
        self.tool("revoke", "bob")
        self.reload(server, 3)
        self.assertEqual(self.ask(server, bearer(last))[0], 200)
        for secret in (first, second, third):
            self.refused(server, 401, "key_invalid", bearer(secret))
        with open(self.keys, encoding="utf-8") as file:
            text = file.read()
        for secret in (first, second, third, last):
            self.assertNotIn(secret, text)
            self.assertNotIn(secret[4:], text)
        listed = [json.loads(line) for line in self.tool("list", "--json").splitlines()]
        self.assertEqual([(one["name"], one["note"]) for one in listed], [("alice", "the first")])
        self.assertTrue(self.tool("list").splitlines()[1].startswith("alice\tnever\t-\tuser\t"))

    def test_the_list_shows_everything_that_a_key_may_do(self):
        self.keys = os.path.join(self.directory, "keys")
        self.tool("add", "alice", "--models=fr-en,en-fr", "--requests-per-hour=100000", "--requests-per-day=7",
                  "--characters-per-month=9", "--priority=bulk", "--expires=2099-01-01", "--note=for the shop")
        self.tool("add", "bob", "--role=admin")
        self.tool("rotate", "bob", "--grace=1h")
        rows = [line.split("\t") for line in self.tool("list").splitlines()]
        alice, bob = (dict(zip(rows[0], row, strict=True)) for row in rows[1:])
        self.assertEqual((alice["models"], bob["models"]), ("fr-en, en-fr", "all"))
        self.assertEqual((alice["requests-per-hour"], alice["requests-per-day"], alice["requests-per-minute"]),
                         ("100000", "7", "-"))
        self.assertEqual((alice["characters-per-month"], bob["characters-per-month"]), ("9", "-"))
        self.assertEqual((alice["priority"], bob["priority"]), ("bulk", "normal"))
        self.assertEqual((alice["role"], bob["role"]), ("user", "admin"))
        self.assertEqual((alice["note"], alice["old secret until"], bob["expires"]), ("for the shop", "-", "never"))
        for when in alice["expires"], bob["old secret until"]:
            self.assertRegex(when, r"^\d{4}-\d{2}-\d{2}")

    def test_the_last_key_ends_when_it_is_revoked(self):
        self.keys = os.path.join(self.directory, "keys")
        first = self.tool("add", "alice")
        server = self.start(MODELS, f"--keys-file={self.keys}", "--require-key")
        told = subprocess.run([TOOL, "keys", f"--file={self.keys}", "revoke", "alice"], capture_output=True, encoding="utf-8",
                              check=True).stderr
        self.assertIn("that was the last key. After a reload, a server with require-key lets nobody in", told)
        self.assertEqual(self.ask(server, bearer(first))[0], 200)  # not yet
        self.reload(server, 2)
        self.assertIn("nobody can get in: require-key is on", server.log())
        self.refused(server, 401, "key_invalid", bearer(first))
        self.refused(server, 401, "key_required")
        self.assertEqual(self.tool("list").splitlines()[1:], [])
        other = self.start(MODELS, f"--keys-file={self.keys}", "--require-key", f"--usage-file={self.keys}.other")
        self.assertIn("nobody can get in: require-key is on", other.log())
        self.refused(other, 401, "key_invalid", bearer(first))
        second = self.tool("add", "bob")
        self.reload(server, 3)
        self.assertEqual(self.ask(server, bearer(second))[0], 200)
        self.refused(server, 401, "key_invalid", bearer(first))

    def test_the_tool_says_what_is_wrong(self):
        self.keys = os.path.join(self.directory, "keys")
        for wrong in (["revoke", "x"], ["rotate", "x"], ["list"], ["add", "a b"], ["add", "é"], ["add", ""],
                      ["add", "x", "--expires=2020-01-01"], ["add", "x", "--expires=soon"]):
            self.assertEqual(self.tool(*wrong, code=1), "")
        for wrong in (["add"], ["frob", "x"], ["list", "x"], ["add", "x", "y"], ["add", "x", "--priority=high"]):
            self.assertEqual(self.tool(*wrong, code=2), "")
        self.assertFalse(os.path.exists(self.keys))
        self.tool("add", "x")
        self.tool("add", "x", code=1)
        os.chmod(self.keys, 0o666)
        self.tool("list", code=1)

    def test_many_at_once_lose_nothing(self):
        self.keys = os.path.join(self.directory, "keys")
        names = [f"k{i}" for i in range(24)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            secrets = list(pool.map(lambda name: self.tool("add", name), names))
        self.assertEqual(len(set(secrets)), len(names))
        listed = {json.loads(line)["name"] for line in self.tool("list", "--json").splitlines()}
        self.assertEqual(listed, set(names))


if __name__ == "__main__":
    main()
