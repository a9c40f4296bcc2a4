# SPDX-License-Identifier: ISC
"""Every route that takes a body, and the WebSocket, get what no client should send: wrong types at
every field, bytes that are not UTF-8, lone surrogates, huge numbers, 2 MB, 100,000 items, deep
nesting. The answer is 4xx and says what was wrong and where; it is never 5xx. A route that is
missing in the table below gets rubbish all the same; add it there."""
import http.client
import json
import os
import re

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main, wait_for
from ws_client import Socket

LANGUAGE_DATA = os.path.join(SOURCES, "data", "langid", "langid.bin")
WRONG = (True, False, 0, -1, 1.5, 10**18, 1e300, "", "x", "\u0000", "\ud7ff" * 3, [], [[]], [None], {}, {"a": {"b": []}})

# The members of a good request, for each route with a JSON body; the texts are in no language, so
# that all goes quickly.
V1 = {"text": "1", "target": "en"}
ROUTES = {
    "/v1/translate": V1,
    "/v1/detect": {"text": "1"},
    "/v1/score": {"text": "1", "translation": "2", "target": "en"},
    "/translate": {"q": "1", "source": "fr", "target": "en"},
    "/detect": {"q": "1"},
    "/v2/translate": {"text": ["1"], "target_lang": "EN"},
    "/v2/languages": {"type": "source"},
    "/v2/usage": {},
    "/translate/batch": {"texts": ["1"], "from": "fr", "to": "en"},
    "/imme": {"text_list": ["1"], "source_lang": "fr", "target_lang": "en"},
    "/kiss": {"text": "1", "from": "fr", "to": "en"},
    "/deeplx": {"text": "1", "source_lang": "FR", "target_lang": "EN"},
    "/language/translate/v2": {"q": "1", "source": "fr", "target": "en"},
    "/api/translate": {"source": "1", "from": "fr", "to": "en"},
    "/api/v4/translator": {"text": "1", "source": "fra_Latn", "target": "eng_Latn"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "1"}], "model": "fr-en"},
}
TEXTS = ("text", "q", "texts", "text_list", "type", "messages", "source")  # the text's member: the first that is there
# The options of each route, in addition to those in the good request.
OPTIONS = {
    "/v1/detect": ["api_key"],
    "/v1/score": ["api_key", "model", "source", "tokens", "length_penalty", "attention"],
    "/translate": ["format", "alternatives", "api_key"],
    "/detect": ["api_key"],
    "/v2/translate": ["source_lang", "context", "show_billed_characters", "split_sentences", "preserve_formatting",
                      "formality", "model_type", "glossary_id", "style_id", "tag_handling", "tag_handling_version",
                      "outline_detection", "splitting_tags", "non_splitting_tags", "ignore_tags", "auth_key"],
    "/v2/languages": [], "/v2/usage": [],
    "/translate/batch": ["html"], "/imme": [], "/kiss": ["texts"], "/deeplx": ["tag_handling"],
    "/language/translate/v2": ["format", "key"], "/api/translate": ["model"], "/api/v4/translator": [],
    "/v1/chat/completions": ["stream", "temperature", "max_tokens", "n", "top_p", "seed", "stop"],
}
# Requests that select another API on POST /translate and similar routes, and the member that takes
# many texts, if any does.
SPEAKERS = [
    ("/translate", {"q": "1", "source": "fr", "target": "en"}, "q"),
    ("/translate", {"text": "1", "source_lang": "FR", "target_lang": "EN"}, "text"),
    ("/translate", {"text": "1", "from": "fr", "to": "en"}, "text"),
    ("/translate", {"texts": ["1"], "from": "fr", "to": "en"}, "texts"),
    ("/translate", {"text_list": ["1"], "source_lang": "fr", "target_lang": "en"}, "text_list"),
    ("/translate", {"source": "1", "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"}, "source"),
    ("/translate/batch", {"texts": ["1"], "from": "fr", "to": "en"}, "texts"),
    ("/imme", {"text_list": ["1"], "source_lang": "fr", "target_lang": "en"}, "text_list"),
    ("/kiss", {"texts": ["1"], "from": "fr", "to": "en"}, "texts"),
    ("/deeplx", {"text": "1", "source_lang": "FR", "target_lang": "EN"}, "text"),
    ("/language/translate/v2", {"q": "1", "source": "fr", "target": "en"}, "q"),
    ("/api/translate", {"source": "1", "from": "fr", "to": "en"}, "source"),
    ("/api/v4/translator", {"text": "1", "source": "fr", "target": "en"}, "text"),
    ("/v2/translate", {"text": ["1"], "source_lang": "FR", "target_lang": "EN"}, "text"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "1"}], "model": "fr-en"}, "messages"),
]
LINES = ("/v1/jobs",)  # bodies of lines; only bytes are tried here
OURS = ("/v1/translate", "/v1/detect", "/v1/score")

NOT_UTF8 = (b"\xff", b"\x80", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80")
BAD_ESCAPES = (br"\ud800", br"\udc00", br"\ud800\u0041", br"\udc00\ud800", br"\u12", br"\x41", br"\ug000")


def with_text(body, raw):
    """The body as JSON with the bytes `raw` as the first text."""
    name = next(name for name in TEXTS if name in body)
    value = "@@"
    if name == "messages":
        value = [{"role": "user", "content": "@@"}]
    elif isinstance(body[name], list):
        value = ["@@"]
    whole = json.dumps({**body, name: value})
    return whole.encode().replace(b"@@", raw)


class Hostile(IntegrationTest):
    def setUp(self):
        super().setUp()
        jobs = os.path.join(self.directory, "jobs")
        os.mkdir(jobs)
        self.server = self.start(f"--models-dir={MODELS_DIR}",
                                 f"--language-data={LANGUAGE_DATA}", f"--jobs-dir={jobs}", "--access-log=no")
        self.connection = None

    def tearDown(self):
        if self.connection:
            self.connection.close()
        super().tearDown()

    def post(self, path, body, content_type="application/json"):
        """Returns (status, answer as text); uses one connection as long as it lasts."""
        for attempt in (1, 2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port(), timeout=PATIENCE_S)
            try:
                self.connection.request("POST", path, body, {"Content-Type": content_type})
                response = self.connection.getresponse()
                answer = response.read().decode()
                if response.will_close:
                    self.connection.close()
                    self.connection = None
                return response.status, answer
            except TimeoutError:
                raise AssertionError(f"no answer to {path} {body[:300]}") from None
            except (BrokenPipeError, ConnectionError, http.client.RemoteDisconnected):
                # The server refused and closed while we were still writing: its answer is lost with
                # the connection.
                self.connection.close()
                self.connection = None
                if attempt == 2:
                    raise
        return None

    def check(self, path, body, where=None, statuses=range(400, 500)):
        """The request is refused with a message, in the shape of the route's API; `where` is a
        pattern that the message matches."""
        status, answer = self.post(path, body)
        shown = (path, body[:200], status, answer[:500])
        self.assertIn(status, statuses, shown)
        if status >= 400:
            error = json.loads(answer)
            sentence = answer
            if path in OURS:
                sentence = error["error"]
                self.assertTrue(error["request_id"] and sentence["code"], shown)
                sentence = f"{sentence['message']} {sentence.get('field', '')}"
            self.assertGreater(len(sentence), 10, shown)
            if where and path in OURS:
                self.assertRegex(sentence, where, shown)
        return status

    def test_rubbish_to_every_route_with_a_body(self):
        """The routes in the table and those that were added since."""
        with open(os.path.join(SOURCES, "src", "api", "http", "routes.c"), encoding="utf-8") as file:
            routes = set(re.findall(r'\{DG_HTTP_(?:POST|PUT|PATCH), "([^"]+)"', file.read()))
        self.assertGreaterEqual(routes, {*ROUTES, *LINES})
        types = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b",
                 "multipart/form-data", "text/plain", "\u00ff", "")
        bodies = (b"", b"{", b"[1]", b"\xff\xfe\0", b"%", b"q=%ff&source=fr&target=en", b"--b\r\n\r\n", b"--b--",
                  b'--b\r\nContent-Disposition: form-data; name="q"\r\n\r\n\xff\r\n--b--\r\n', b"&" * 5000, b"a=b&" * 30000)
        for path in sorted(routes):
            for content_type in types:
                for body in bodies:
                    status, answer = self.post(path.replace("*", "x"), body, content_type)
                    self.assertLess(status, 500, (path, content_type, body[:60], answer[:300]))

    def test_wrong_types_at_every_field(self):
        with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), encoding="utf-8") as file:
            schema = re.search(r"    TranslateRequest:\n(.*?)\n    \w+:\n", file.read(), re.S).group(1)
        translate = re.findall(r"^        (\w+):", schema, re.M)
        self.assertGreater(len(translate), 30)
        refused = 0
        for path, good in ROUTES.items():
            self.assertEqual(self.post(path, json.dumps(good))[0], 200, path)
            for name in {*good, *OPTIONS.get(path, translate)}:
                for wrong in WRONG:
                    status = self.check(path, json.dumps({**good, name: wrong}).encode(), re.escape(name),
                                        (200, *range(400, 500)))
                    refused += status >= 400
                if path in OURS:  # no field takes an object in an array
                    self.check(path, json.dumps({**good, name: [{}]}).encode(), re.escape(name))
            if path in OURS:
                self.check(path, json.dumps({**good, "txet": 1}).encode(), "txet")
        self.assertGreater(refused, 400)

    def test_bytes_that_are_no_text(self):
        for path, good in ROUTES.items():
            if path == "/v2/usage":
                continue
            for raw in NOT_UTF8:
                self.check(path, with_text(good, b"ab" + raw), r"byte \d+")
            for raw in BAD_ESCAPES:
                self.check(path, with_text(good, b"ab" + raw), r"(byte|line|column) \d+")
            for raw in (b"\0", b"\x01", b"\n"):
                self.check(path, with_text(good, raw), r"(byte|line|column) \d+")

    def test_nul_is_text(self):
        for path, good in ROUTES.items():
            if path not in ("/v2/usage", "/v2/languages"):
                self.check(path, with_text(good, br"\u0000"), statuses=(200,))

    def test_bodies_that_are_no_json_object(self):
        for path, good in ROUTES.items():
            whole = json.dumps(good).encode()
            for body in (b"", b" ", b"{", b"}", b"null", b"1", b"[]", b'"text"', b"[" * 100000, b"{" * 100000,
                         b'{"a":' * 50000, whole + b"x", whole + whole, b"\xef\xbb\xbf" * 2 + whole,
                         whole.decode().encode("utf-16"), whole[:-1] + b',}', whole[:-1], b"'" + whole + b"'",
                         whole[:-1] + b',"a":1e999}', whole[:-1] + b',"a":' + b"9" * 5000 + b"}",
                         whole[:-1] + b',"a":NaN}', whole[:-1] + b',"a":-}', whole[:-1] + b',"a":01}',
                         whole[:-1] + b',"a":{"b":1,"b":2}}'):
                if path in ("/v2/usage", "/v2/languages") and not body.strip():
                    continue  # it asks for nothing, which is valid
                self.check(path, body)
        for path in OURS:
            self.check(path, b'{"text":"1","text":"2","target":"en"}', "text")

    def test_too_much_of_it(self):
        items = json.dumps(["1"] * 100000)[1:-1]
        for path in ("/v1/translate", "/v1/score", "/v1/detect"):
            for name in ("text", "translation", "must", "suppress"):
                if name in {**ROUTES[path], "must": 0, "suppress": 0} and (name[0] == "t" or path == "/v1/translate"):
                    good = json.dumps({**ROUTES[path], name: 0}).replace(f'"{name}": 0', f'"{name}": [{items}]')
                    self.check(path, good.encode(), name)
        for path in ("/translate", "/detect"):
            self.check(path, json.dumps({**ROUTES[path], "q": "@"}).replace('"@"', f"[{items}]").encode(),
                       statuses=(200, 400) if path == "/detect" else (400,))
        self.check("/v2/translate", json.dumps({**ROUTES["/v2/translate"], "text": ["1"] * 100000}).encode())
        for path, name in (("/v1/translate", "alternatives"), ("/translate", "alternatives")):
            for many in (16, 10000, 2**31, 2**63, -1):
                self.check(path, json.dumps({**ROUTES[path], name: many}).encode(), r"alternatives|byte \d")

    def test_whoever_shares_a_path(self):
        """Each dialect gets 10,000 texts, nested and mixed texts, and forms that end anywhere;
        after that the server answers a good request."""
        for path, good, many in SPEAKERS:
            item = good[many][0] if isinstance(good[many], list) else good[many]
            for texts in ([item] * 10000, [item, None], [item, 1], [[item]], [item, {}], [{"a": item}]):
                status, answer = self.post(path, json.dumps({**good, many: texts}))
                # A chat's earlier messages are context, and a message with an unknown role is
                # passed over.
                self.assertIn(status, (400, 413, 200) if many == "messages" else (400, 413), (path, str(texts)[:60], status, answer[:300]))
            for name in good:
                for wrong in WRONG:
                    status, answer = self.post(path, json.dumps({**good, name: wrong}))
                    self.assertIn(status, (200, *range(400, 500)), (path, name, wrong, answer[:300]))
            flat = [(name, one) for name, value in good.items() for one in (value if isinstance(value, list) else [value])]
            body = "".join(f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in flat) + "--b--\r\n"
            for end in range(0, len(body) - 2, 9):
                status, answer = self.post(path, body[:end].encode(), "multipart/form-data; boundary=b")
                self.assertIn(status, range(400, 500), (path, body[:end], answer[:300]))
            self.assertEqual(self.post(path, json.dumps(good))[0], 200, path)

    def test_two_megabytes(self):
        for path, good in ROUTES.items():
            if path in ("/v2/usage", "/v2/languages"):
                continue
            body = with_text(good, b" " * (2 << 20))
            try:
                status, answer = self.post(path, body)
            except ConnectionError:
                continue  # the server closed after the refusal, before we had written everything
            self.assertEqual(status, 413, path)
            self.assertIn("2097152" if path in OURS else "r", answer)
            # The server accepts texts up to the limit, and translates blanks quickly.
            almost = with_text(good, b" " * ((2 << 20) - 200))
            self.check(path, almost, statuses=(200, 400))

    def post_lines(self, path, body, content_type):
        """A bad line does not spoil the others: only this line fails, in the result."""
        status, answer = self.post(path, body, content_type)
        self.assertEqual(status, 201, (body[:60], answer))
        job = json.loads(answer)["id"]

        def state():
            return json.loads(self.server.request("GET", f"/v1/jobs/{job}")[2])

        wait_for(lambda: state()["state"] == "done", "the job")
        self.assertEqual(state()["failed"], 1, (body[:60], state()))
        self.assertEqual(self.server.request("DELETE", f"/v1/jobs/{job}")[0], 204)

    def test_lines_for_bulk_jobs(self):
        for path in LINES:
            query = path + "?target=en"
            for raw in NOT_UTF8:
                self.post_lines(query, b"one\nab" + raw + b"\n", "text/plain")
                self.post_lines(query, b'{"text":"ab' + raw + b'"}\n', "application/x-ndjson")
            for body in (b"{\n", b"[]\n", b'{"text":1}\n', b'{"text":"1","beam":99}\n', b'{"text":[1]}\n',
                         b'{"text":"\\ud800"}\n', b'{"text":"1"}\n' + b"[" * 100000, b'{"text":"1","x":1}\n'):
                self.post_lines(query, body, "application/x-ndjson")
            for wrong in ("?target=xx", "?beam=99&target=en", "?beam=x&target=en", "?nothing=1&target=en",
                          "?target=%ff", "?target=en&target=fr", ""):
                self.assertIn(self.post(path + wrong, b"1\n", "text/plain")[0], range(400, 500), wrong)

    def test_messages_on_the_websocket(self):
        socket = Socket(self.server)
        fields = ("id", "type", "text", "target", "beam", "alternatives", "api_key", "priority", "stream", "must")
        for name in fields:
            for wrong in (True, 1.5, -1, [], [[]], {}, {"a": 1}, "\u0000" * 300, None):
                socket.send({"type": "translate", "id": "1", **V1, name: wrong})
                while True:
                    message = socket.receive()
                    if message["type"] in ("error", "done"):
                        break
                if message["type"] == "error":
                    self.assertGreater(len(message["message"]), 10)
                    self.assertRegex(f"{message['message']} {message.get('field')}", name, (name, wrong, message))
                elif message["id"] != "1":
                    self.assertEqual(name, "id")
        for raw in (b"", b"{", b"[]", b"1", b'{"type":"translate","id":"1","text":"\\ud800","target":"en"}',
                    b"[" * 50000, b'{"type":"translate","id":"1","id":"1"}'):
            socket.send(raw)
            message = socket.receive()
            self.assertEqual(message["type"], "error", (raw[:80], message))
        socket.send({"type": "translate", "id": "1", **V1})
        self.assertEqual(socket.until_done("1")[1]["type"], "done")
        socket.close()
        for raw in NOT_UTF8[:3]:  # the protocol itself refuses these, with 1007
            socket = Socket(self.server)
            socket.send(b'{"id":"' + raw + b'"}')
            opcode, payload = socket.frame()
            self.assertEqual((opcode, payload[:2]), (8, (1007).to_bytes(2, "big")))
            socket.close()


if __name__ == "__main__":
    main()
