# SPDX-License-Identifier: ISC
"""Every message and status by which LibreTranslate and DeepL refuse a request, one per row: what
the client sends and what it gets, to the letter. Clients look for these words, and people search
for them. After each refusal the server still answers."""
import contextlib
import hashlib
import json
import os
import re
import urllib.parse

from harness import CAT, CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main, multipart, wait_for

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TSV = {"Accept": "text/tab-separated-values"}

LT = {"q": CAT, "source": "fr", "target": "en"}
FILE = {"file": ("a.txt", CAT.encode()), "source": "fr", "target": "en"}
DEEPL = {"text": [CAT], "source_lang": "FR", "target_lang": "EN"}
DOCUMENT = {"file": ("a.txt", CAT.encode()), "source_lang": "FR", "target_lang": "EN"}
GLOSSARY = {"name": "pets", "source_lang": "FR", "target_lang": "EN", "entries": "chat\thound\n", "entries_format": "tsv"}


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


# The request: a dict is sent as JSON, a list of pairs as a form, a tuple (dict,) as a multipart
# form, and bytes as they are, as JSON. The answer: a message in the member that the API has for it;
# a pattern where the message contains a figure of ours; or, for a glossary, two messages.
LIBRETRANSLATE = [
    # path, body, status, sentence
    ("/translate", {}, 400, "Invalid request: missing q parameter"),
    ("/translate", {**LT, "q": ""}, 400, "Invalid request: missing q parameter"),
    ("/translate", {**LT, "q": []}, 400, "Invalid request: missing q parameter"),
    ("/translate", {**LT, "q": None}, 400, "Invalid request: missing q parameter"),
    ("/translate", list(without(LT, "q").items()), 400, "Invalid request: missing q parameter"),
    ("/translate", (without(LT, "q"),), 400, "Invalid request: missing q parameter"),
    ("/translate", {"q": CAT, "target": "zz"}, 400, "Invalid request: missing source parameter"),
    ("/translate", {"q": CAT, "source": "zz"}, 400, "Invalid request: missing target parameter"),
    ("/translate", list(without(LT, "target").items()), 400, "Invalid request: missing target parameter"),
    ("/translate", {**LT, "alternatives": "x"}, 400, "Invalid request: alternatives parameter is not a number"),
    ("/translate", {**LT, "alternatives": -1}, 400, "Invalid request: alternatives parameter is not a number"),
    ("/translate", {**LT, "alternatives": 16}, 400, "Invalid request: alternatives parameter must be <= 15"),
    ("/translate", {**LT, "q": ["a"] * 1001}, 400, "Invalid request: request (1001) exceeds text limit (1000)"),
    ("/translate", {**LT, "q": "é" * 51}, 400, "Invalid request: request (51) exceeds text limit (50)"),
    ("/translate", {**LT, "source": "zz"}, 400, "zz is not supported"),
    ("/translate", {**LT, "target": "zz"}, 400, "zz is not supported"),
    ("/translate", {**LT, "format": "docx"}, 400, "docx format is not supported"),
    ("/translate", {**LT, "source": "en", "target": "fr"}, 400, "French (fr) is not available as a target language from English (en)"),
    ("/translate", b"{", 400, "Invalid JSON format"),
    ("/translate", b"[1]", 400, "Invalid JSON format"),
    ("/detect", {"x": 1}, 400, "Invalid request: missing q parameter"),
    ("/detect", {"q": ""}, 400, "Invalid request: missing q parameter"),
    ("/detect", b"x", 400, "Invalid JSON format"),
    ("/translate_file", (without(FILE, "file"),), 400, "Invalid request: missing file parameter"),
    ("/translate_file", (without(FILE, "source"),), 400, "Invalid request: missing source parameter"),
    ("/translate_file", (without(FILE, "target"),), 400, "Invalid request: missing target parameter"),
    ("/translate_file", ({**FILE, "file": ("a.txt", b"")},), 400, "Invalid request: empty file"),
    ("/translate_file", ({**FILE, "file": ("", CAT.encode())},), 400, "Invalid request: empty file"),
    ("/translate_file", ({**FILE, "file": ("a.exe", b"x")},), 400, "Invalid request: file format not supported"),
    ("/translate_file", ({**FILE, "target": "zz"},), 400, "zz is not supported"),
    ("/translate_file", ({**FILE, "source": "zz"},), 400, "zz is not supported"),
    ("GET /download_file/x", None, 400, "Invalid filename"),
    (f"GET /download_file/{'0' * 32}.a..txt", None, 400, "Invalid filename"),
    (f"GET /download_file/{'0' * 32}.a.txt", None, 404, "There is no such file, or it was removed"),
    ("/suggest", {"q": "a", "s": "b", "source": "fr", "target": "en"}, 403, "Suggestions are disabled on this server."),
    ("GET /detect", None, 405, re.compile(".+")),
    ("/languages", {}, 405, re.compile(".+")),
    ("/spec", {}, 405, re.compile(".+")),
    ("PUT /translate", LT, 405, re.compile(".+")),
]

TEXT, TARGET, SOURCE = "Parameter 'text' not specified", "Value for 'target_lang' not supported.", "Value for 'source_lang' not supported."
GLOSSARY_NEEDS = "Use of a glossary requires the source_lang parameter to be specified"
ENTRIES = "Invalid glossary entries provided"
DEEPL_ROWS = [
    ("/v2/translate", without(DEEPL, "text"), 400, TEXT),
    ("/v2/translate", {**DEEPL, "text": []}, 400, TEXT),
    ("/v2/translate", [("target_lang", "EN")], 400, TEXT),
    ("GET /v2/translate?target_lang=EN", None, 400, TEXT),
    ("GET /v1/translate?target_lang=EN", None, 400, TEXT),
    ("/v2/translate", without(DEEPL, "target_lang"), 400, TARGET),
    ("/v2/translate", {**DEEPL, "target_lang": "XX"}, 400, TARGET),
    ("/v2/translate", [("text", CAT), ("target_lang", "XX")], 400, TARGET),
    ("/v2/translate", {**DEEPL, "source_lang": "XX"}, 400, SOURCE),
    ("/v2/translate", {**DEEPL, "formality": "rude"}, 400, "Value for 'formality' not supported."),
    ("/v2/translate", {**DEEPL, "formality": "more"}, 400, "'formality' is not supported for given 'target_lang'."),
    ("/v2/translate", {**DEEPL, "tag_handling": "md"}, 400, "Value for 'tag_handling' not supported."),
    ("/v2/translate", {**DEEPL, "split_sentences": "x"}, 400, "Value for 'split_sentences' not supported."),
    ("/v2/translate", {**DEEPL, "model_type": "x"}, 400, "Value for 'model_type' not supported."),
    ("/v2/translate", {**DEEPL, "style_id": "x"}, 400, "Value for 'style_id' not supported."),
    ("/v2/translate", {"text": [CAT], "target_lang": "EN", "glossary_id": "x"}, 400, GLOSSARY_NEEDS),
    ("/v2/translate", {**DEEPL, "glossary_id": "x"}, 404, re.compile(".+")),
    ("/v2/translate", {**DEEPL, "text": ["a"] * 1001}, 400, re.compile(r"1001.*1000")),
    ("/v2/translate", {**DEEPL, "text": ["é" * 51]}, 413, re.compile(".+")),
    ("/v2/translate", b"{", 400, re.compile(".+")),
    ("DELETE /v2/translate", None, 405, re.compile(".+")),
    ("GET /v2/languages?type=x", None, 400, "Parameter 'type' is invalid. 'source' and 'target' are valid values."),
    ("/v2/document", (without(DOCUMENT, "file"),), 400, "Invalid file data."),
    ("/v2/document", ({**DOCUMENT, "file": ("a.txt", b"")},), 400, "Invalid file data."),
    ("/v2/document", ({**DOCUMENT, "file": ("a.exe", b"x")},), 400, re.compile("Invalid file data: .*[.]txt")),
    ("/v2/document", ({**DOCUMENT, "file": ("a.txt", b"a" * 51)},), 413, re.compile("51 .*50")),
    ("/v2/document", ({**DOCUMENT, "source_lang": "EN"},), 400, "Source and target language are equal."),
    ("/v2/document", ({**DOCUMENT, "target_lang": "XX"},), 400, TARGET),
    ("/v2/document", ({**DOCUMENT, "formality": "more"},), 400, "'formality' is not supported for given 'target_lang'."),
    (f"/v2/document/{'0' * 32}", {"document_key": "0" * 64}, 404, "Document not found"),
    (f"/v2/document/{'0' * 32}/result", {"document_key": "0" * 64}, 404, "Document not found"),
    ("/v2/glossaries", {**GLOSSARY, "name": ""}, 400, "Missing or invalid argument: name"),
    ("/v2/glossaries", without(GLOSSARY, "entries"), 400, "Parameter 'entries' not specified"),
    ("/v2/glossaries", {**GLOSSARY, "entries_format": "xls"}, 400, "Value for 'entries_format' not supported."),
    ("/v2/glossaries", {**GLOSSARY, "target_lang": "DE"}, 400, "Unsupported glossary source and target language pair"),
    ("/v2/glossaries", {**GLOSSARY, "entries": "a\tb\na\tc"}, 400,
     (ENTRIES, "Key with the index 1 (starting at position 4) duplicates key with the index 0 (starting at position 0)")),
    ("/v2/glossaries", {**GLOSSARY, "entries": "a"}, 400, (ENTRIES, "Key with the index 0 (starting at position 0) misses tab separator")),
    ("GET /v2/glossaries/x", None, 404, "Glossary not found"),
    ("DELETE /v2/glossaries/x", None, 404, "Glossary not found"),
    ("GET /v2/glossaries/x/entries", None, 404, "Glossary not found"),
]


class Sentences(IntegrationTest):
    def send(self, server, path, body, headers=None):
        method, path = path.split(" ") if " " in path else ("POST", path)
        more = {}
        if isinstance(body, dict):
            body, more = json.dumps(body), JSON
        elif isinstance(body, list):
            body, more = urllib.parse.urlencode(body), FORM
        elif isinstance(body, tuple):
            body, more = multipart(body[0])
        elif body is not None:
            more = JSON
        return server.request(method, path, body=body, headers={**more, **(headers or {})})

    def check(self, server, path, body, status, expected, headers=None):
        member = "message" if path.partition("/")[2].startswith(("v1", "v2")) else "error"
        got, got_headers, answer = self.send(server, path, body, headers)
        shown = (path, str(body)[:200], got, answer[:300])
        self.assertEqual((got, got_headers["Content-Type"]), (status, "application/json"), shown)
        answer = json.loads(answer)
        if isinstance(expected, tuple):
            self.assertEqual(answer, {"message": expected[0], "detail": expected[1]}, shown)
        elif isinstance(expected, str):
            self.assertEqual(answer, {member: expected}, shown)
        else:
            self.assertRegex(answer[member], expected, shown)
        if member == "message":
            self.assertRegex(got_headers["X-Trace-ID"], "^[0-9a-f]{32}$")
        return got_headers

    def test_every_row(self):
        server = self.start(MODELS, LANGUAGES, "--max-characters=50")
        rows = LIBRETRANSLATE + DEEPL_ROWS
        for i, row in enumerate(rows, 1):
            self.check(server, *row)
            if i % 20 and i < len(rows):
                continue
            status, _, answer = self.send(server, "/translate", LT)
            self.assertEqual((status, json.loads(answer)), (200, {"translatedText": CAT_SAID}), row)

    def test_keys_limits_and_quotas(self):
        keys = os.path.join(self.directory, "keys")
        with open(keys, "w", encoding="utf-8") as file:
            for name, limit in (("free", ""), ("month", "characters-per-month = 20"), ("minute", "requests-per-minute = 1")):
                file.write(f"[key {name}]\nhash = blake2b:{hashlib.blake2b(name.encode(), digest_size=32).hexdigest()}\n{limit}\n")
        os.chmod(keys, 0o600)
        server = self.start(MODELS, LANGUAGES, f"--keys-file={keys}", "--require-key")
        deepl = lambda key: {"Authorization": f"DeepL-Auth-Key {key}"}
        for path, body in (("/translate", LT), ("/detect", {"q": CAT})):
            self.check(server, path, body, 400, "Please contact the server operator to get an API key")
            self.check(server, path, {**body, "api_key": "nobody"}, 403, "Invalid API key")
        self.check(server, "/translate_file", ({**FILE, "api_key": "nobody"},), 403, "Invalid API key")
        for path, body in (("/v2/translate", DEEPL), ("/v2/document", (DOCUMENT,)), ("GET /v2/usage", None), ("GET /v2/languages", None),
                           ("GET /v2/glossaries", None), ("/v2/glossaries", GLOSSARY)):
            self.check(server, path, body, 403, re.compile(".+"), deepl("nobody"))
            self.check(server, path, body, 403, re.compile(".+"))
        self.check(server, "/v2/translate", [*[(k, v) for k, v in {**DEEPL, "text": CAT}.items()], ("auth_key", "nobody")], 403, re.compile(".+"))
        for body, member in (({**LT, "api_key": "month"}, None), ({**LT, "api_key": "minute"}, None)):
            self.assertEqual(self.send(server, "/translate", body)[0], 200, member)
        self.check(server, "/v2/translate", DEEPL, 456, "Quota for this billing period has been exceeded.", deepl("month"))
        for _ in range(30):  # the window of a minute refills while we ask
            status, headers, answer = self.send(server, "/translate", {**LT, "api_key": "minute"})
            if status == 429:
                break
        self.assertTrue(json.loads(answer)["error"].startswith("Slowdown: "), answer)
        self.assertTrue(headers["Retry-After"])
        self.check(server, "/v2/translate", DEEPL, 429, re.compile(".+"), deepl("minute"))
        # A glossary belongs to its key, and is returned in the format that was asked for.
        status, _, answer = self.send(server, "/v2/glossaries", GLOSSARY, deepl("free"))
        made = json.loads(answer)
        self.assertEqual((status, made["ready"], made["entry_count"]), (201, True, 1))
        path = f"/v2/glossaries/{made['glossary_id']}"
        self.check(server, "GET " + path, None, 404, "Glossary not found", deepl("minute"))
        self.check(server, f"GET {path}/entries", None, 415, "No supported media type specified in Accept header",
                   {**deepl("free"), "Accept": "application/pdf"})
        self.assertEqual(self.send(server, f"GET {path}/entries", None, {**deepl("free"), **TSV})[2], b"chat\thound\n")
        self.assertEqual(self.send(server, "DELETE " + path, None, deepl("free"))[::2], (204, b""))

    def test_documents_that_are_not_taken_or_not_done(self):
        server = self.start(MODELS, LANGUAGES, "--documents-space=0")
        self.check(server, "/translate_file", (FILE,), 403, "Files translation are disabled on this server.")
        self.check(server, "/v2/document", (DOCUMENT,), 400, "Documents are not translated on this server.")
        self.assertFalse(json.loads(self.send(server, "GET /frontend/settings", None)[2])["filesTranslation"])
        folder = os.path.join(self.directory, "documents")
        os.mkdir(folder)
        server = self.start(MODELS, LANGUAGES, f"--documents-dir={folder}", "--documents-space=60000", "--threads=1")
        text = lambda n: " ".join(f"Le chat {i} dort dans la maison." for i in range(n)).encode()
        handle = json.loads(self.send(server, "/v2/document", ({**DOCUMENT, "file": ("a.txt", text(200))},))[2])
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        status, _, answer = self.send(server, path + "/result", key)
        if status != 200:  # it is still under way
            self.assertEqual((status, json.loads(answer)), (503, {"message": "Document translation is not done"}))
        self.check(server, path, {"document_key": "1" * 64}, 404, "Document not found")
        for way, form in (("/v2/document", DOCUMENT), ("/translate_file", FILE)):  # the other half is for other clients
            self.check(server, way, ({**form, "file": ("a.txt", text(500))},), 503, "There is no room for more files; try again later.")

        def state():
            return json.loads(self.send(server, path, key)[2]).get("status")

        wait_for(lambda: state() in (None, "done"), "the document")
        self.send(server, path + "/result", key)  # makes room
        # A finished document stays on disk until it is fetched.
        handle = json.loads(self.send(server, "/v2/document", (DOCUMENT,))[2])
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        wait_for(lambda: state() == "done", "the document")
        kept = os.listdir(folder)
        self.assertRegex(" ".join(kept), "^dragoman-documents-[A-Za-z0-9]{6}$")
        names = lambda: {name.partition(".")[2] for name in os.listdir(os.path.join(folder, kept[0]))}
        wait_for(lambda: names() == {"", "file", "in", "out", "json"}, "its end to be written down")
        with open(os.path.join(folder, kept[0], handle["document_id"] + ".json"), encoding="utf-8") as file:
            self.assertNotIn(handle["document_key"], file.read())
        self.assertEqual(self.send(server, path + "/result", key)[2], CAT_SAID.encode())
        wait_for(lambda: names() == {""}, "its files to go")
        self.check(server, path + "/result", key, 404, "Document not found")
        server.stop()
        self.assertEqual(os.listdir(folder), [])
        bad = self.start("--documents-dir=/nowhere/at/all", ready=False)
        bad.expected_codes = (1, 2)
        self.assertIn(bad.wait(), (1, 2))
        self.assertIn("/nowhere/at/all", bad.log())


if __name__ == "__main__":
    main()
