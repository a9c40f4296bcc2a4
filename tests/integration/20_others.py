# SPDX-License-Identifier: ISC
"""The smaller APIs, with the shapes that their clients send and the members that they read: DeepLX,
MTranServer, Kiss Translator, Immersive Translate, nllb-serve, Google's version 2, OPUS-MT,
marian-server's WebSocket, and OpenAI's chat."""
import base64
import json
import os
import struct
import urllib.parse

from harness import CAT, CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
JSON = {"Content-Type": "application/json"}


class Others(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.server = self.start(MODELS, LANGUAGES)

    def ask(self, path, body=None, method="POST", status=200, headers=JSON):
        body = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        got, self.headers, answer = self.server.request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        return json.loads(answer) if self.headers["Content-Type"] == "application/json" else answer

    def test_deeplx(self):
        for path in ("/translate", "/deeplx", "/translate?token=x"):
            answer = self.ask(path, {"text": CAT, "source_lang": "auto", "target_lang": "EN"})
            self.assertEqual((answer["code"], answer["data"], answer["source_lang"], answer["target_lang"], answer["method"]),
                             (200, CAT_SAID, "FR", "EN", "Free"))
            self.assertIsInstance(answer["alternatives"], list)
            self.assertIsInstance(answer["id"], int)
        answer = self.ask("/translate", {"text": "Le <b>chat</b> dort.", "target_lang": "en", "tag_handling": "html"})
        self.assertEqual(answer["data"].count("<b>"), 1)
        self.assertEqual(self.ask("/deeplx", b"{", status=400), {"code": 400, "message": "Invalid request payload"})
        self.assertEqual(self.ask("/translate", {"text": 5, "target_lang": "EN"}, status=400)["message"], "Invalid request payload")
        self.assertEqual(self.ask("/translate", {"text": CAT, "target_lang": "xx"}, status=400)["code"], 400)

    def test_mtranserver_and_kiss(self):
        answer = self.ask("/translate", {"from": "fr", "to": "en", "text": CAT, "html": False})
        self.assertEqual((answer["result"], answer["text"], answer["src"]), (CAT_SAID, CAT_SAID, "fr"))
        self.assertEqual(self.ask("/translate/batch", {"from": "auto", "to": "en", "texts": [CAT, "Good morning, friends!"]}),
                         {"results": [CAT_SAID, "Good morning, friends!"]})
        answer = self.ask("/kiss", {"texts": [CAT], "from": "", "to": "en"})
        self.assertEqual(answer, {"translations": [{"text": CAT_SAID, "src": "fr"}]})
        self.assertIn("<b>", self.ask("/translate", {"from": "fr", "to": "en", "text": "<b>Le chat</b> dort.", "html": True})["result"])
        for path, headers in (("/mtran/languages", {}), ("/languages", {"X-API-Token": "x"}), ("/languages?token=x", {})):
            self.assertEqual(self.ask(path, method="GET", headers=headers),
                             {"languages": ["en", "fr"], "pairs": [{"from": "fr", "to": "en"}]})
        self.assertEqual(self.ask("/detect", {"text": "Où est la gare ?"})["language"], "fr")
        for text in ("Dov'è la stazione, per favore?", "Wo ist der Bahnhof?"):  # only the loaded languages are guessed
            self.assertIn(self.ask("/detect", {"text": text})["language"], ("", "fr", "en"))
        self.assertTrue(self.ask("/version", method="GET")["version"])
        for path in ("/__heartbeat__", "/__lbheartbeat__"):
            self.assertEqual(self.ask(path, method="GET"), b"")
        error = self.ask("/translate", {"from": "fr", "to": "xx", "text": CAT}, status=400)
        self.assertEqual(error["error"], "Bad Request")
        self.assertTrue(error["message"] and error["requestId"])

    def test_immersive_and_nllb(self):
        texts = ["{0} Le chat dort.", "Bonjour.", ""]
        answer = self.ask("/translate", {"source_lang": "auto", "target_lang": "en", "text_list": texts})
        self.assertEqual([one["detected_source_lang"] for one in answer["translations"]][:2], ["fr", "fr"])
        self.assertEqual(len(answer["translations"]), 3)
        self.assertEqual(self.ask("/imme", {"target_lang": "en", "text_list": [CAT]})["translations"][0]["text"], CAT_SAID)
        self.assertIsInstance(self.ask("/imme", {"target_lang": "zz", "text_list": [CAT]}, status=400)["error"], str)
        nllb = {"source": [CAT], "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"}
        for answer in (self.ask("/translate", nllb), self.ask("/translate", {**nllb, "source": CAT}),
                       self.ask("/translate?" + urllib.parse.urlencode({**nllb, "source": CAT}), method="GET", headers={})):
            self.assertEqual(answer.pop("time_units"), "s")
            self.assertGreaterEqual(answer.pop("time_taken"), 0)
            self.assertEqual(answer, {"source": [CAT], "translation": [CAT_SAID], "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"})
        self.ask("/translate", method="GET", status=405, headers={})

    def test_google_and_opus(self):
        answer = self.ask("/language/translate/v2?key=x", {"q": [CAT], "target": "en", "format": "text"})
        self.assertEqual(answer, {"data": {"translations": [{"translatedText": CAT_SAID, "detectedSourceLanguage": "fr"}]}})
        query = urllib.parse.urlencode({"q": CAT, "source": "fr", "target": "en"})
        self.assertEqual(self.ask("/language/translate/v2?" + query, method="GET", headers={}),
                         {"data": {"translations": [{"translatedText": CAT_SAID}]}})
        error = self.ask("/language/translate/v2", {"q": CAT}, status=400)["error"]
        self.assertEqual((error["code"], error["errors"][0]["reason"]), (400, "invalid"))
        self.assertEqual(self.ask("/api/translate", {"from": "fr", "to": "en", "source": CAT}), {"translation": CAT_SAID})
        self.assertEqual(self.ask("/api/translate", {"from": "en", "to": "xx", "source": CAT}),
                         {"error": "Language pair en-xx not suppported"})
        self.assertEqual(self.ask("/api/languages", method="GET"), {"languages": {"fr": ["en"]}})
        self.ask("/api/ready", method="GET")

    def test_google_detects_and_lists(self):
        for method in ("POST", "GET"):
            query = "?" + urllib.parse.urlencode({"q": CAT}) if method == "GET" else ""
            body = None if method == "GET" else {"q": [CAT]}
            answer = self.ask("/language/translate/v2/detect" + query, body, method=method)
            found = answer["data"]["detections"][0][0]
            self.assertEqual((found["language"], found["isReliable"]), ("fr", False))
            answer = self.ask("/language/translate/v2/languages", {} if method == "POST" else None, method=method)
            self.assertEqual(answer, {"data": {"languages": [{"language": "en"}, {"language": "fr"}]}})
        answer = self.ask("/language/translate/v2/languages?target=de", method="GET")
        self.assertEqual([one["name"] for one in answer["data"]["languages"]], ["Englisch", "Französisch"])
        for wrong in ({}, {"q": 5}, {"q": [{}]}):
            self.assertEqual(self.ask("/language/translate/v2/detect", wrong, status=400)["error"]["code"], 400)
        many = self.ask("/language/translate/v2/detect", {"q": [CAT, "Where is the station?"] * 500})["data"]["detections"]
        self.assertEqual([one[0]["language"] for one in many], ["fr", "en"] * 500)
        for project in ("/v3/projects/any", "/v3/projects/any/locations/global"):
            asked = {"contents": [CAT], "mimeType": "text/plain", "targetLanguageCode": "en"}
            self.assertEqual(self.ask(f"{project}:translateText", asked),
                             {"translations": [{"translatedText": CAT_SAID, "detectedLanguageCode": "fr"}]})
            self.assertEqual(self.ask(f"{project}:detectLanguage", {"content": CAT})["languages"][0]["languageCode"], "fr")
            answer = self.ask(f"{project}/supportedLanguages?displayLanguageCode=en", method="GET")
            self.assertEqual(answer["languages"][1], {"languageCode": "fr", "displayName": "French", "supportSource": True,
                                                      "supportTarget": False})
        self.ask("/v3/projects/a/b:translateText", {}, status=404)

    def amazon(self, body, operation="TranslateText", status=200):
        got, headers, answer = self.server.request("POST", "/", body=json.dumps(body).encode(), headers={
            "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": f"AWSShineFrontendService_20170701.{operation}",
            "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/translate/aws4_request, Signature=y"})
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def test_amazon(self):
        asked = {"Text": CAT, "SourceLanguageCode": "auto", "TargetLanguageCode": "en"}
        self.assertEqual(self.amazon(asked), {"TranslatedText": CAT_SAID, "SourceLanguageCode": "fr", "TargetLanguageCode": "en"})
        self.assertEqual([one["LanguageName"] for one in self.amazon({}, "ListLanguages")["Languages"]], ["English", "French"])
        for body, operation, wanted in (({**asked, "TargetLanguageCode": "xx"}, "TranslateText", "UnsupportedLanguagePairException"),
                                        ({**asked, "Text": [CAT]}, "TranslateText", "InvalidRequestException"),
                                        (asked, "CreateParallelData", "InvalidRequestException")):
            error = self.amazon(body, operation, status=400)
            self.assertEqual(error["__type"], wanted)
            self.assertTrue(error["message"])

    def test_hcfy(self):
        for path in ("/translate", "/hcfy"):
            answer = self.ask(path, {"name": "x", "text": f"{CAT}\n{CAT}", "destination": ["中文(简体)", "英语"]})
            self.assertEqual(answer, {"text": f"{CAT}\n{CAT}", "from": "法语", "to": "英语", "result": [CAT_SAID, CAT_SAID]})
        answer = self.ask("/hcfy", {"text": CAT, "destination": ["法语", "英语"], "source": "法语"})
        self.assertEqual(answer["result"], [CAT_SAID])
        for wrong in ({"destination": ["德语"], "text": CAT}, {"destination": [5], "text": CAT}, {"destination": ["英语"], "text": 5}):
            self.assertIsInstance(self.ask("/translate", wrong, status=400)["error"], str)

    def test_lingva(self):
        quoted = urllib.parse.quote(CAT)
        self.assertEqual(self.ask(f"/api/v1/auto/en/{quoted}", method="GET"), {"translation": CAT_SAID, "info": {"detectedSource": "fr"}})
        self.assertEqual(self.ask(f"/api/v1/fr/en/{quoted}", method="GET"), {"translation": CAT_SAID, "info": {}})
        for slash in ("%2F", "/"):
            said = self.ask(f"/api/v1/fr/en/1{slash}2{slash}{quoted}", method="GET")["translation"]
            self.assertIn("1/2/", said)
            self.assertIn("sleep", said)
        both = [{"code": "en", "name": "English"}, {"code": "fr", "name": "French"}]
        detect = {"code": "auto", "name": "Detect"}
        for path, wanted in (("", [detect] + both), ("/source", [detect, both[1]]), ("/target", both[:1])):
            self.assertEqual(self.ask(f"/api/v1/languages{path}", method="GET"), {"languages": wanted})
        self.assertIsInstance(self.ask(f"/api/v1/fr/xx/{quoted}", method="GET", status=400)["error"], str)
        for path in ("/api/v1/fr/en/", "/api/v1/fr/en", "/api/v1//en/x"):
            self.ask(path, method="GET", status=404)

    def test_simplytranslate_and_mozhi(self):
        query = f"/translate?engine=google&from=auto&to=en&text={urllib.parse.quote(CAT)}"
        for path in (f"/api{query}", f"/api{query}".replace("?", "/?"), f"/simplytranslate/api{query}"):
            answer = self.ask(path, method="GET")
            self.assertEqual((answer["translated-text"], answer["translated_text"]), (CAT_SAID, CAT_SAID))
            self.assertEqual((answer["detected"], answer["source_language"], answer["target_language"]), ("fr", "fr", "en"))
        form = urllib.parse.urlencode({"engine": "google", "from": "fr", "to": "en", "text": CAT}).encode()
        answer = self.ask("/api/translate", form, headers={"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual((answer["translated-text"], answer["detected"]), (CAT_SAID, ""))
        for slash in ("", "/"):
            self.assertEqual(self.ask(f"/api/target_languages{slash}?engine=google", method="GET"), [{"Id": "en", "Name": "English"}])
            self.assertEqual(self.ask(f"/simplytranslate/api/target_languages{slash}", method="GET"), {"en": "English"})
        self.assertEqual([one["Id"] for one in self.ask("/api/source_languages", method="GET")], ["auto", "fr"])
        self.assertEqual(list(self.ask("/simplytranslate/api/source_languages", method="GET")), ["auto", "fr"])
        for path in ("/api/translate?from=fr&to=en", "/api/translate?from=fr&to=xx&text=a"):
            self.assertIsInstance(self.ask(path, method="GET", status=400)["error"], str)

    def chat(self, *messages, status=200, **members):
        return self.ask("/v1/chat/completions", {"model": "any", "messages": [
            {"role": role, "content": content} for role, content in messages], **members}, status=status)

    def said(self, *messages, **members):
        return self.chat(*messages, **members)["choices"][0]["message"]["content"]

    def test_chat(self):
        chat, said = self.chat, self.said
        answer = chat(("system", "You are a translator. Translate from French into English."), ("user", CAT))
        self.assertEqual(answer["choices"][0]["message"], {"role": "assistant", "content": CAT_SAID})
        self.assertEqual((answer["object"], answer["choices"][0]["finish_reason"]), ("chat.completion", "stop"))
        self.assertEqual(answer["usage"]["total_tokens"], answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"])
        for other in (chat(("user", CAT), model="fr-en"), chat(("user", CAT), target="en", source="fr"),
                      chat(("user", f"Translate to English: {CAT}")), chat(("user", [{"type": "text", "text": CAT}]), model="fr-en"),
                      chat(("system", "Translate to English."), ("user", "Bonjour."), ("assistant", "Hello."), ("user", CAT)),
                      chat(("user", [{"type": "text", "text": "Translate to English:\n\n"}, {"type": "text", "text": CAT}]))):
            self.assertEqual(other["choices"][0]["message"]["content"], CAT_SAID)
        self.assertEqual(chat(("user", CAT), target="xx", status=400)["error"]["type"], "invalid_request_error")
        for wrong in ({}, {"messages": []}, {"messages": [{"role": "user"}]}, {"messages": "x"}, {"messages": [{"role": 1}]}):
            self.assertIn("message", self.ask("/v1/chat/completions", wrong, status=400)["error"])
        for messages in ([("user", CAT)], [("user", "What is the capital of France?")],
                         [("system", "Translate to German."), ("user", CAT)], [("user", "Translate to English")]):
            self.assertIn("anslate", chat(*messages, status=400)["error"]["message"])
        self.assertEqual(said(("system", "You are a translator."), ("user", CAT)), CAT_SAID)  # the server's only target

    def test_chat_keeps_structure(self):
        said = self.said
        self.assertEqual(said(("user", 'Translate the values of this JSON to English:\n{"a": "Le chat dort.", "b": [1, "Le chat dort."]}')),
                         json.dumps({"a": CAT_SAID, "b": [1, CAT_SAID]}))
        self.assertEqual(said(("system", "Translate French to English."), ("user", f"1. {CAT}\n2. {CAT}")), f"1. {CAT_SAID}\n2. {CAT_SAID}")
        self.assertEqual(said(("user", f"Translate to English:\n\n{CAT}\n\n%%\n\n{CAT}")), f"{CAT_SAID}\n\n%%\n\n{CAT_SAID}")
        self.assertEqual(said(("system", "Translate the Markdown document to English."), ("user", f"# {CAT}\n\n- **{CAT}**\n")),
                         f"# {CAT_SAID}\n\n- **{CAT_SAID}**\n")
        asked = {"targetLanguage": "English", "segments": [{"id": 7, "text": CAT}, {"id": 8, "text": CAT}]}
        self.assertEqual(json.loads(said(("system", "Act as a translation API."), ("user", json.dumps(asked)))),
                         {"translations": [{"id": 7, "text": CAT_SAID}, {"id": 8, "text": CAT_SAID}]})
        schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {
            "translation": {"type": "string"}}}}}
        self.assertEqual(json.loads(said(("user", f"Translate to English: {CAT}"), response_format=schema)), {"translation": CAT_SAID})
        self.chat(("user", f"Translate to English: {CAT}"), response_format={"type": "json_object"}, status=400)
        item = {"type": "object", "properties": {"id": {"type": "number"}, "translated": {"type": "string"}}}
        schema["json_schema"]["schema"]["properties"] = {"items": {"type": "array", "items": item}}
        asked = json.dumps([{"id": 3, "original": CAT, "context": "a menu"}])
        self.assertEqual(json.loads(said(("user", f"Translate to English.\n\n```json\n{asked}\n```\n"), response_format=schema)),
                         {"items": [{"id": 3, "translated": CAT_SAID}]})
        # With several messages, the first one names the languages.
        self.assertEqual(said(("system", "You translate messages from one language to another."),
                              ("user", "Wait for my message in \"fr\" and translate it into \"en\"."), ("assistant", "Understood."),
                              ("user", f"<translate index=\"1\">{CAT}</translate>")), f"<translated index=\"1\">{CAT_SAID}</translated>")

    def events(self, **members):
        events = self.ask("/v1/chat/completions", {"model": "fr-en", "stream": True, **members})
        self.assertEqual(self.headers["Content-Type"], "text/event-stream")
        lines = [line[6:] for line in events.decode().split("\n") if line.startswith("data: ")]
        self.assertEqual(lines.pop(), "[DONE]")
        return [json.loads(line) for line in lines]

    def test_chat_streams(self):
        user = [{"role": "user", "content": CAT}]
        chunks = [chunk["choices"][0] for chunk in self.events(messages=user)]
        self.assertEqual(chunks[0]["delta"]["role"], "assistant")
        self.assertEqual("".join(chunk["delta"].get("content", "") for chunk in chunks), CAT_SAID)
        self.assertEqual(chunks[-1]["finish_reason"], "stop")
        chunks = self.events(messages=user, stream_options={"include_usage": True})
        self.assertEqual((chunks[-1]["choices"], chunks[0]["usage"]), ([], None))
        self.assertGreater(chunks[-1]["usage"]["completion_tokens"], 0)
        chunks = self.events(messages=[{"role": "user", "content": f"Translate to English:\n\n1. {CAT}\n2. {CAT}"}])
        self.assertEqual("".join(c["choices"][0]["delta"].get("content", "") for c in chunks), f"1. {CAT_SAID}\n2. {CAT_SAID}")

    def test_models_for_openai(self):
        answer = self.ask("/v1/models", method="GET")
        self.assertEqual((answer["object"], [model["id"] for model in answer["data"]]), ("list", ["fr-en"]))
        self.assertEqual(answer["models"][0]["name"], "fr-en")
        self.assertEqual(self.ask("/v1/models/fr-en", method="GET")["object"], "model")
        self.assertEqual(self.ask("/v1/models/gpt", method="GET", status=404)["error"]["code"], "no_such_model")

    def test_ollama(self):
        user = {"model": "fr-en:latest", "messages": [{"role": "user", "content": CAT}]}
        lines = [json.loads(line) for line in self.ask("/api/chat", user).decode().splitlines()]
        self.assertEqual(self.headers["Content-Type"], "application/x-ndjson")
        self.assertEqual("".join(line["message"]["content"] for line in lines), CAT_SAID)
        self.assertEqual([line["done"] for line in lines], [False] * (len(lines) - 1) + [True])
        self.assertEqual(lines[-1]["done_reason"], "stop")
        answer = self.ask("/api/chat", {**user, "stream": False})
        self.assertEqual((answer["message"], answer["done"]), ({"role": "assistant", "content": CAT_SAID}, True))
        prompt = {"model": "llama3", "prompt": f"Translate from French to English, give only the output: {CAT}", "stream": False}
        self.assertEqual(self.ask("/api/generate", prompt)["response"], CAT_SAID)
        prompt = {"model": "llama3", "system": "Translate to English.", "prompt": CAT}
        lines = [json.loads(line) for line in self.ask("/api/generate", prompt).decode().splitlines()]
        self.assertEqual("".join(line["response"] for line in lines), CAT_SAID)
        schema = {"type": "object", "properties": {"t": {"type": "string"}}}
        self.assertEqual(json.loads(self.ask("/api/chat", {**user, "stream": False, "format": schema})["message"]["content"]), {"t": CAT_SAID})
        self.assertIsInstance(self.ask("/api/generate", {"model": "x", "prompt": CAT}, status=400)["error"], str)
        self.assertEqual([model["name"] for model in self.ask("/api/tags", method="GET")["models"]], ["fr-en"])
        self.assertTrue(self.ask("/api/version", method="GET")["version"])

    def test_wrong_types_are_refused(self):
        for path, good in (("/translate", {"text": CAT, "source_lang": "FR", "target_lang": "EN", "tag_handling": "html"}),
                           ("/translate", {"text": CAT, "from": "fr", "to": "en", "html": True}),
                           ("/translate/batch", {"texts": [CAT], "from": "fr", "to": "en", "html": True}),
                           ("/imme", {"text_list": [CAT], "source_lang": "fr", "target_lang": "en"}),
                           ("/translate", {"source": CAT, "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"}),
                           ("/language/translate/v2", {"q": CAT, "source": "fr", "target": "en", "format": "text"}),
                           ("/api/translate", {"source": CAT, "from": "fr", "to": "en"}),
                           ("/api/translate", {"text": CAT, "from": "fr", "to": "en", "engine": "google"}),
                           ("/api/generate", {"model": "fr-en", "prompt": CAT, "system": "Translate to English.", "format": "",
                                             "stream": False}),
                           ("/v1/chat/completions", {"model": "fr-en", "messages": [{"role": "user", "content": CAT}], "stream": False})):
            for name in good:
                for value in (0, -1, True, {}, [[]], [None], "\x00", "x" * 300):
                    status, _, answer = self.server.request("POST", path, body=json.dumps({**good, name: value}), headers=JSON)
                    self.assertIn(status, (200, 400), (path, name, value, answer))

    def socket(self, path="/translate"):
        connection = self.server.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        return connection, connection.makefile("rb")

    @staticmethod
    def frame(text, opcode=1):
        payload = text.encode()
        length = bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0xFE]) + struct.pack(">H", len(payload))
        return bytes([0x80 | opcode]) + length + b"\0\0\0\0" + payload

    @staticmethod
    def read_frame(stream):
        head = stream.read(2)
        length = head[1] & 127
        if length == 126:
            length = struct.unpack(">H", stream.read(2))[0]
        return head[0] & 15, stream.read(length)

    def test_marian_server(self):
        connection, stream = self.socket()
        self.assertIn(b"101", stream.readline())
        while stream.readline().strip():
            pass
        connection.sendall(self.frame(f"{CAT}\n\nBonjour.") + self.frame(CAT) + self.frame(CAT + "\n"))
        opcode, text = self.read_frame(stream)
        lines = text.decode().split("\n")
        self.assertEqual((opcode, len(lines), lines[0], lines[1], lines[3]), (1, 4, CAT_SAID, "", ""))
        self.assertEqual([self.read_frame(stream)[1] for _ in range(2)], [CAT_SAID.encode() + b"\n"] * 2)
        connection.sendall(self.frame("x", opcode=2))
        opcode, reason = self.read_frame(stream)
        self.assertEqual((opcode, struct.unpack(">H", reason[:2])[0]), (8, 1003))
        stream.close()
        connection.close()
        connection, stream = self.socket("/translate?target=xx")
        self.assertIn(b"400", stream.readline())
        stream.close()
        connection.close()


if __name__ == "__main__":
    main()
