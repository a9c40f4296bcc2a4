# SPDX-License-Identifier: ISC
"""Azure Translator's version 3: the requests that its clients make and the members that they read."""
import hashlib
import json
import os

from harness import CAT, CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
JSON = {"Content-Type": "application/json"}
KEY = "secret-of-alice"


def units(text):
    """The text's length in UTF-16 units, in which the API counts places and lengths."""
    return text.encode("utf-16-le")


class Azure(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.server = self.start(MODELS, LANGUAGES, "--max-characters=200")

    def ask(self, path, body=None, method="POST", status=200, headers=JSON, server=None):
        body = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        got, self.headers, answer = (server or self.server).request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def translate(self, query, *texts, **options):
        return self.ask(f"/translate?api-version=3.0{query}", [{"Text": text} for text in texts], **options)

    def code(self, path, body, status=400, **options):
        error = self.ask(path, body, status=status, **options)["error"]
        self.assertIsInstance(error["message"], str)
        return error["code"]

    def test_translates(self):
        self.assertEqual(self.translate("&from=fr&to=en", CAT, "Le chien dort."), [
            {"translations": [{"text": CAT_SAID, "to": "en"}]}, {"translations": [{"text": "The dog is sleeping.", "to": "en"}]}])
        self.assertEqual(self.headers["X-RequestId"], self.headers["X-Request-Id"])
        answer = self.translate("&to=en&to=fr", CAT, headers={**JSON, "X-ClientTraceId": "a-trace"})[0]
        self.assertEqual(answer["translations"], [{"text": CAT_SAID, "to": "en"}, {"text": CAT, "to": "fr"}])
        self.assertEqual(answer["detectedLanguage"]["language"], "fr")
        self.assertGreater(answer["detectedLanguage"]["score"], 0.5)
        self.assertEqual(self.headers["X-ClientTraceId"], "a-trace")
        self.assertEqual(self.ask("/translate?api-version=3.0&to=en&from=fr", [{"text": CAT}])[0]["translations"][0]["text"], CAT_SAID)
        self.assertEqual([one["to"] for one in self.translate("&to=en,fr&to=en", CAT)[0]["translations"]], ["en", "fr", "en"])
        self.assertEqual(self.translate("&to=en"), [])
        html = self.translate("&from=fr&to=en&textType=html", f"<p>{CAT}</p>")[0]["translations"][0]["text"]
        self.assertEqual(html, f"<p>{CAT_SAID}</p>")
        for ignored in ("profanityAction=Marked", "profanityMarker=Tag", "category=general", "allowFallback=true", "suggestedFrom=fr"):
            self.assertEqual(self.translate(f"&from=fr&to=en&{ignored}", CAT)[0]["translations"][0]["text"], CAT_SAID)

    def test_alignment(self):
        source = "👍 Le chien mange dans le jardin. Il dort."
        one = self.translate("&from=fr&to=en&includeAlignment=true&includeSentenceLength=true", source)[0]["translations"][0]
        words = []
        for pair in one["alignment"]["proj"].split(" "):
            (begin, end), (to_begin, to_end) = (map(int, side.split(":")) for side in pair.split("-"))
            words.append((units(source)[2 * begin:2 * end + 2].decode("utf-16-le"),
                          units(one["text"])[2 * to_begin:2 * to_end + 2].decode("utf-16-le")))
        for wanted in (("chien", "dog"), ("mange", "eats"), ("jardin", "garden"), ("dort", "sleeping"), (".", ".")):
            self.assertIn(wanted, words)
        self.assertEqual(words.count((".", ".")), 2)
        lengths = one["sentLen"]
        self.assertEqual(lengths["srcSentLen"], [34, 8])
        self.assertEqual((sum(lengths["transSentLen"]), len(lengths["transSentLen"])), (len(units(one["text"])) // 2, 2))
        html = self.translate("&from=fr&to=en&textType=html&includeAlignment=true&includeSentenceLength=true",
                              f"<p>{CAT} {CAT}</p>")[0]["translations"][0]
        self.assertEqual(html["alignment"], {"proj": ""})
        self.assertEqual([len(html["sentLen"][side]) for side in ("srcSentLen", "transSentLen")], [2, 2])
        self.assertEqual(sum(html["sentLen"]["transSentLen"]), len(html["text"]))
        nothing = self.translate("&from=fr&to=en&includeAlignment=true&includeSentenceLength=true", "", "12")
        self.assertEqual([one["translations"][0]["sentLen"]["srcSentLen"] for one in nothing], [[], [2]])

    def test_detects_and_breaks_sentences(self):
        answer = self.ask("/detect?api-version=3.0", [{"Text": CAT}, {"Text": "The dog eats its food."}, {"Text": "12"}])
        self.assertEqual([one["language"] for one in answer], ["fr", "en", "en"])
        self.assertEqual([one["isTranslationSupported"] for one in answer], [True, False, False])
        self.assertEqual((answer[2]["score"], answer[0]["isTransliterationSupported"]), (0, False))
        self.assertEqual(self.ask("/breaksentence?api-version=3.0", [{"Text": "How are you? I am fine. What did you do today?"}]),
                         [{"detectedLanguage": {"language": "en", "score": 1}, "sentLen": [13, 11, 22]}])
        self.assertEqual(self.ask("/breaksentence?api-version=3.0&language=fr", [{"Text": f"👍 {CAT} {CAT}"}, {"Text": ""}]),
                         [{"sentLen": [17, 13]}, {"sentLen": []}])
        self.assertEqual(self.code("/breaksentence?api-version=3.0&language=xx", [{"Text": CAT}]), 400003)
        self.assertEqual(self.code("/breaksentence", [{"Text": CAT}]), 400021)
        self.assertEqual(self.code("/detect?api-version=3.0", [{"Text": "a" * 30000}, {"Text": "a" * 30000}]), 400050)

    def test_languages(self):
        answer = self.ask("/languages?api-version=3.0&scope=translation", method="GET", headers={"Accept-Language": "fr-FR, en;q=0.5"})
        self.assertEqual(answer, {"translation": {"en": {"name": "anglais", "nativeName": "English", "dir": "ltr"},
                                                  "fr": {"name": "français", "nativeName": "français", "dir": "ltr"}}})
        answer = self.ask("/languages?api-version=3.0", method="GET")
        self.assertEqual((answer["translation"]["fr"]["name"], answer["transliteration"], answer["dictionary"]), ("French", {}, {}))
        self.assertEqual(list(self.ask("/languages?api-version=3.0&scope=dictionary", method="GET")), ["dictionary"])
        self.assertEqual(self.code("/languages?api-version=3.0&scope=x", None, method="GET"), 400001)
        self.assertEqual(self.code("/languages?api-version=2", None, method="GET"), 400021)
        self.assertIsInstance(self.ask("/languages", method="GET"), list)  # LibreTranslate's

    def test_refuses(self):
        good = "/translate?api-version=3.0&from=fr&to=en"
        for path, body, wanted in (
                (good, b"[", 400074), (good, {"Text": CAT}, 400074), (good, b"", 400074), (good, [CAT], 400005),
                (good, [{}], 400005), (good, [{"Text": 5}], 400005), (good, [{"Text": None}], 400005), (good, [[{"Text": CAT}]], 400005),
                (good, [{"Text": CAT}] * 1001, 400072), (good + "&to=fr", [{"Text": CAT}] * 501, 400072),
                (good, [{"Text": "a" * 201}], 400050),
                ("/translate?api-version=3.0", [{"Text": CAT}], 400036), ("/translate?api-version=3.0&to=xx", [{"Text": CAT}], 400036),
                ("/translate?api-version=3.0&to=en&from=xx", [{"Text": CAT}], 400035),
                ("/translate?api-version=3.0&to=fr&from=en", [{"Text": CAT}], 400035),
                (good + ",", [{"Text": CAT}], 400036),
                (good + "&textType=pdf", [{"Text": CAT}], 400071), (good + "&includeAlignment=maybe", [{"Text": CAT}], 400000),
                (good + "&toScript=Latn", [{"Text": CAT}], 400080), (good + "&allowFallback=false&category=mine", [{"Text": CAT}], 400079),
                ("/translate?api-version=9&to=en", [{"Text": CAT}], 400021)):
            self.assertEqual(self.code(path, body), wanted, (path, body))
        self.assertEqual(self.ask("/translate", [CAT], status=400), {"error": "Invalid JSON format"})  # LibreTranslate's

    def test_keys(self):
        path = os.path.join(self.directory, "keys")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"[key alice]\nhash = blake2b:{hashlib.blake2b(KEY.encode(), digest_size=32).hexdigest()}\n")
        os.chmod(path, 0o640)
        server = self.start(MODELS, f"--keys-file={path}", "--require-key")
        path, body = "/translate?api-version=3.0&from=fr&to=en", [{"Text": CAT}]
        self.assertEqual(self.code(path, body, status=401, server=server), 401000)
        self.assertEqual(self.code(path, body, status=401, server=server, headers={**JSON, "Ocp-Apim-Subscription-Key": "x" * 20}), 401000)
        for headers, query in (({"Ocp-Apim-Subscription-Key": KEY, "Ocp-Apim-Subscription-Region": "westeurope"}, ""),
                               ({"Authorization": f"Bearer {KEY}"}, ""), ({}, f"&Subscription-Key={KEY}")):
            answer = self.ask(path + query, body, server=server, headers={**JSON, **headers})
            self.assertEqual(answer[0]["translations"][0]["text"], CAT_SAID)
        self.assertIn("en", self.ask("/languages?api-version=3.0", method="GET", server=server)["translation"])


if __name__ == "__main__":
    main()
