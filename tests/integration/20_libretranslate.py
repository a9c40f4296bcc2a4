# SPDX-License-Identifier: ISC
"""LibreTranslate's API as its clients use it: four ways to send a request, shapes of answers, every
error message, and the answers to hostile requests."""
import json
import os
import urllib.parse

from harness import CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main, multipart

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class LibreTranslate(IntegrationTest):
    def ask(self, path, body=None, headers=None, method="POST", status=200):
        if isinstance(body, (dict, list)):
            body, headers = json.dumps(body).encode(), JSON
        got, headers, answer = self.server.request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        self.assertEqual(headers["Content-Type"], "application/json")
        self.headers = headers
        return json.loads(answer)

    def refuse(self, sentence, body, path="/translate", status=400, headers=None):
        self.assertEqual(self.ask(path, body, headers, status=status), {"error": sentence})

    def test_four_ways_to_ask(self):
        self.server = self.start(MODELS, LANGUAGES)
        fields = {"q": "Le chat dort.", "source": "fr", "target": "en"}
        expected = {"translatedText": CAT_SAID}
        self.assertEqual(self.ask("/translate", fields), expected)
        self.assertEqual(self.ask("/translate", urllib.parse.urlencode(fields), FORM), expected)
        self.assertEqual(self.ask("/translate", *multipart(fields)), expected)
        self.assertEqual(self.ask("/translate?" + urllib.parse.urlencode(fields), b""), expected)
        self.assertEqual(self.ask("/translate?source=fr&target=en", "q=Le+chat+dort.", FORM), expected)
        self.assertEqual(self.ask("/translate", {**fields, "source": "FR", "target": "EN", "format": "text"}), expected)
        two = {**fields, "q": "Le chat dort.\r\nLe chat dort.\r\n"}
        lines = {"translatedText": CAT_SAID + "\n" + CAT_SAID}
        self.assertEqual(self.ask("/translate", urllib.parse.urlencode(two), FORM), lines)
        for name, value in (("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Methods", "GET, POST"),
                            ("Access-Control-Allow-Headers", "Authorization, Content-Type"),
                            ("Access-Control-Allow-Credentials", "true"), ("Access-Control-Max-Age", "1728000")):
            self.assertEqual(self.headers[name], value)

    def test_answers_mirror_the_question(self):
        self.server = self.start(MODELS, LANGUAGES)
        texts = ["Le chat dort sur le lit.", "Good morning, my dear friends!", "😀 42"]
        answer = self.ask("/translate", {"q": texts, "source": "auto", "target": "en", "alternatives": 2})
        self.assertEqual([one["language"] for one in answer["detectedLanguage"]], ["fr", "en", "en"])
        self.assertEqual(answer["detectedLanguage"][2]["confidence"], 0)
        self.assertGreater(answer["detectedLanguage"][0]["confidence"], 50)
        self.assertEqual(answer["translatedText"][1:], texts[1:])
        self.assertEqual([len(answer["alternatives"]), answer["alternatives"][1:]], [3, [[], []]])
        self.assertNotIn(answer["translatedText"][0], answer["alternatives"][0])
        one = self.ask("/translate", {"q": texts[0], "source": "auto", "target": "en"})
        self.assertEqual(one["translatedText"], answer["translatedText"][0])
        self.assertEqual(one["detectedLanguage"], answer["detectedLanguage"][0])
        self.assertNotIn("alternatives", one)
        same = self.ask("/translate", {"q": ["Good morning."], "source": "en", "target": "en"})
        self.assertEqual(same, {"translatedText": ["Good morning."]})

    def test_every_sentence_of_its_errors(self):
        self.server = self.start(MODELS, LANGUAGES)
        good = {"q": "Bonjour", "source": "fr", "target": "en"}
        for name in ("q", "source", "target"):
            for missing in (None, "", []):
                self.refuse(f"Invalid request: missing {name} parameter", {**good, name: missing})
            self.refuse(f"Invalid request: missing {name} parameter",
                        urllib.parse.urlencode({key: value for key, value in good.items() if key != name}), headers=FORM)
        self.refuse("Invalid request: missing q parameter", {})
        for wrong in ("x", "1.5", -1, True, [1], {"a": 1}):
            self.refuse("Invalid request: alternatives parameter is not a number", {**good, "alternatives": wrong})
        self.refuse("Invalid request: alternatives parameter must be <= 15", {**good, "alternatives": 10000})
        self.refuse("Invalid request: request (1001) exceeds text limit (1000)", {**good, "q": ["a"] * 1001})
        self.refuse("zz is not supported", {**good, "source": "zz"})
        self.refuse("zz is not supported", {**good, "target": "zz"})
        self.refuse("docx format is not supported", {**good, "format": "docx"})
        self.refuse("French (fr) is not available as a target language from English (en)",
                    {**good, "source": "en", "target": "fr"})
        for broken in (b"{", b"[1]", b'"x"', b"", b'{"q":"a","q":"b"}', b'{"q":"\xff"}', b'{"q":NaN}'):
            self.refuse("Invalid JSON format", broken, headers=JSON)
        whole = json.dumps(good).encode()
        for broken in (b"{", whole[:-1], whole[:-7], b" \r\n" + whole[:20], whole + b"}"):  # what curl -d calls a form
            self.refuse("Invalid JSON format", broken, headers=FORM)
            self.refuse("Invalid JSON format", broken, headers={})
        self.assertEqual(self.ask("/translate", whole, headers=FORM), self.ask("/translate", whole, headers=JSON))
        self.refuse("Invalid request: missing q parameter", b"%7B=" + whole, headers=FORM)
        self.refuse("Invalid request: missing q parameter", {"api_key": "x"}, path="/detect")
        for path, method in (("/translate", "PUT"), ("/detect", "GET"), ("/languages", "POST")):
            self.assertIsInstance(self.ask(path, method=method, status=405)["error"], str)

    def test_wrong_types_at_every_field(self):
        self.server = self.start(MODELS, LANGUAGES)
        good = {"q": "Bonjour", "source": "fr", "target": "en", "format": "text", "alternatives": 0}
        for name in good:
            for value in (0, -1, 1.5, True, False, {}, {"a": []}, [[]], [None], [1], "\x00", "x" * 300):
                status, _, answer = self.server.request("POST", "/translate", headers=JSON,
                                                        body=json.dumps({**good, name: value}))
                self.assertIn(status, (200, 400), (name, value, answer))
                self.assertTrue(status == 200 or isinstance(json.loads(answer)["error"], str))
        body, headers = multipart(good | {"alternatives": "0"})
        for end in range(0, len(body) - 2, 7):
            status, _, answer = self.server.request("POST", "/translate", body=body[:end], headers=headers)
            self.assertEqual(status, 400, answer)
        self.ask("/translate", {**good, "q": ["x"] * 10000}, status=400)

    def test_detect_and_the_lists(self):
        self.server = self.start(MODELS, LANGUAGES)
        for found in (self.ask("/detect", {"q": "Où est la gare, s'il vous plaît ?"}),
                      self.ask("/detect", "q=O%C3%B9+est+la+gare+%3F", FORM), self.ask("/detect?q=Bonjour+mes+amis", b""),
                      self.ask("/detect", {"q": ["Bonjour", "mes amis"]})):
            self.assertEqual(found[0]["language"], "fr")
            self.assertGreater(found[0]["confidence"], 50)
        self.assertEqual(self.ask("/detect", {"q": "123 😀"}), [{"confidence": 0, "language": "en"}])
        self.assertEqual(self.ask("/detect", {"q": "Πού είναι ο σταθμός;"}), [{"confidence": 0, "language": "en"}])
        for guess in self.ask("/detect", {"q": "Ich habe heute leider keine Zeit."}):  # not a language of this server
            self.assertIn(guess["language"], ("fr", "en"))
            self.assertLess(guess["confidence"], 20)
        expected = [{"code": "en", "name": "English", "targets": ["en"]},
                    {"code": "fr", "name": "French", "targets": ["en", "fr"]}]
        for body, headers in ((None, None), (b"api_key=x", FORM), (None, JSON)):
            self.assertEqual(self.ask("/languages", body, headers, method="GET"), expected)
        settings = self.ask("/frontend/settings", method="GET")
        self.assertEqual((settings["filesTranslation"], ".html" in settings["supportedFilesFormat"]), (True, True))
        self.assertEqual(settings["language"]["target"], {"code": "en", "name": "English"})
        self.assertEqual((settings["charLimit"], settings["keyRequired"]), (-1, False))
        self.assertEqual(self.ask("/health", method="GET"), {"status": "ok"})
        spec = self.ask("/spec", method="GET")
        self.assertEqual((spec["swagger"], spec["paths"]["/translate"]["post"]["parameters"][0]["name"]), ("2.0", "q"))
        for path, methods in spec["paths"].items():  # members that Swagger 2 demands
            for operation in methods.values():
                kinds = {one["type"] for one in operation["parameters"]}
                self.assertTrue(path.startswith("/") and operation["responses"]["200"]["description"])
                self.assertLessEqual(kinds, {"string", "integer", "file"})
                self.assertEqual("file" in kinds, operation.get("consumes") == ["multipart/form-data"])
        self.ask("/spec", method="POST", status=405)
        self.refuse("Suggestions are disabled on this server.", {"q": "a", "s": "b"}, path="/suggest", status=403)

    def test_files(self):
        self.server = self.start(MODELS, LANGUAGES)
        text = "<p>Le <b>chat</b> dort.</p>\n".encode()

        def send(status=200, host="example.org", **fields):
            body, headers = multipart({"source": "fr", "target": "en", **fields})
            got, _, answer = self.server.request("POST", "/translate_file", body=body, headers={**headers, "Host": host})
            self.assertEqual(got, status, answer)
            return json.loads(answer)

        url = send(file=("a/le chat.html", text))["translatedFileUrl"]
        self.assertRegex(url, r"^http://example\.org/download_file/[0-9a-f]{32}\.le_chat_en\.html$")
        named = send(file=("été.html", text))["translatedFileUrl"]
        self.assertTrue(named.endswith(".%C3%A9t%C3%A9_en.html"), named)
        headers = self.server.request("GET", urllib.parse.urlsplit(named).path)[1]
        self.assertTrue(headers["Content-Disposition"].endswith("; filename*=UTF-8''%C3%A9t%C3%A9.html"), headers["Content-Disposition"])
        path = urllib.parse.urlsplit(url).path
        for _ in range(2):
            status, headers, answer = self.server.request("GET", path)
            self.assertEqual((status, headers.get_content_disposition()), (200, "attachment"))
            self.assertEqual((answer.count(b"<b>"), answer[:3], answer[-5:]), (1, b"<p>", b"</p>\n"))
        for name, body in (("a.txt", b"Le chat dort.\n"), ("a.md", b"# Le chat dort.\n"),
                           ("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\nLe chat dort.\n"), ("a.json", b'{"a": "Le chat dort."}'),
                           ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nLe chat dort.\n")):
            path = urllib.parse.urlsplit(send(file=(name, body))["translatedFileUrl"]).path
            self.assertEqual(self.server.request("GET", path)[2], body.replace(b"Le chat dort.", CAT_SAID.encode()))
        # The host that a trusted proxy says it was asked for is the one that counts.
        for trusted, told, host in ((True, {"X-Forwarded-Host": "shown.example:8443"}, "shown.example:8443"),
                                    (True, {"X-Forwarded-Host": "their.own, shown.example"}, "shown.example"),
                                    (True, {"Forwarded": "for=10.0.0.1;host=shown.example"}, "shown.example"),
                                    (True, {"X-Forwarded-Host": "no/host"}, "inner"), (False, {"X-Forwarded-Host": "shown.example"}, "inner")):
            behind = self.start(MODELS, *(["--trusted-proxies=127.0.0.1"] if trusted else []))
            body, headers = multipart({"source": "fr", "target": "en", "file": ("a.txt", b"Le chat dort.\n")})
            status, _, answer = behind.request("POST", "/translate_file", body=body, headers={**headers, "Host": "inner", **told})
            self.assertEqual((status, urllib.parse.urlsplit(json.loads(answer)["translatedFileUrl"]).netloc), (200, host), told)
        error = lambda *arguments, **fields: send(400, **fields)["error"]
        self.assertEqual(error(), "Invalid request: missing file parameter")
        self.assertEqual(error(file=("a.txt", text), source=""), "Invalid request: missing source parameter")
        self.assertEqual(error(file=("a.txt", text), target=""), "Invalid request: missing target parameter")
        self.assertEqual(error(file=("a.txt", b"")), "Invalid request: empty file")
        self.assertIn("line 1", error(file=("a.json", b'{"a": "b"')))
        self.assertEqual(error(file=("a.exe", text)), "Invalid request: file format not supported")
        self.assertEqual(error(file=("a.txt", text), target="zz"), "zz is not supported")
        self.assertEqual(error(file=("a.po", b"\xff")), "Invalid request: the file is not UTF-8 at byte 0")
        self.assertEqual(self.ask("/download_file/..%2f..%2fetc%2fpasswd", method="GET", status=404)["error"]["code"], "not_found")
        self.assertEqual(self.ask("/download_file/x.txt", method="GET", status=400), {"error": "Invalid filename"})
        self.ask(f"/download_file/{'0' * 32}.a.txt", method="GET", status=404)


class Suggestions(IntegrationTest):
    def ask(self, server, path, **body):
        status, _, answer = server.request("POST", path, body=json.dumps(body), headers={"Content-Type": "application/json"})
        return status, json.loads(answer)

    def test_suggestions_are_kept_where_a_file_is_named(self):
        good = {"q": "Le chat dort.", "s": "The cat\nsleeps.", "source": "fr", "target": "en"}
        server = self.start(MODELS)
        self.assertEqual(self.ask(server, "/suggest", **good), (403, {"error": "Suggestions are disabled on this server."}))
        path = os.path.join(self.directory, "suggestions")
        server = self.start(MODELS, f"--suggestions={path}")
        self.assertTrue(json.loads(server.request("GET", "/frontend/settings")[2])["suggestions"])
        for _ in range(2):
            self.assertEqual(self.ask(server, "/suggest", **good, api_key=""), (200, {"success": True}))
        for name in good:
            self.assertEqual(self.ask(server, "/suggest", **{**good, name: ""}), (400, {"error": f"Invalid request: missing {name} parameter"}))
        self.assertEqual(self.ask(server, "/suggest", **{**good, "target": "zz"}), (400, {"error": "zz is not supported"}))
        with open(path, encoding="utf-8") as file:
            self.assertEqual([json.loads(line) for line in file], [good, good])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        os.truncate(path, 64 << 20)
        self.assertEqual(self.ask(server, "/suggest", **good)[0], 507)
        os.remove(path)
        os.mkdir(path)
        self.assertEqual(self.ask(server, "/suggest", **good)[0], 500)
        self.assertNotIn("sleeps", server.log())

    def test_limits_of_texts_and_alternatives(self):
        server = self.start(MODELS, "--max-texts=2", "--max-alternatives=1")
        good = {"q": ["Un.", "Deux."], "source": "fr", "target": "en", "alternatives": 1}
        self.assertEqual(self.ask(server, "/translate", **good)[0], 200)
        self.assertEqual(self.ask(server, "/translate", **{**good, "q": ["Un."] * 3}),
                         (400, {"error": "Invalid request: request (3) exceeds text limit (2)"}))
        self.assertEqual(self.ask(server, "/translate", **{**good, "alternatives": 2}),
                         (400, {"error": "Invalid request: alternatives parameter must be <= 1"}))
        status, answer = self.ask(server, "/v1/translate", text=["Un."] * 3, source="fr", target="en")
        self.assertEqual((status, answer["error"]["limit"]), (400, 2))


if __name__ == "__main__":
    main()
