# SPDX-License-Identifier: ISC
"""DeepL's API as its official libraries and other clients use it: JSON and forms, GET with a body, the members that
their parsers need, and the sentences of its errors."""
import json
import os
import re
import urllib.parse

from harness import SOURCES, IntegrationTest, main

MODELS = f"--models-dir={os.path.join(SOURCES, 'models')}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class DeepL(IntegrationTest):
    def ask(self, path, body=None, headers=None, method="POST", status=200):
        if isinstance(body, dict):
            body, headers = json.dumps(body).encode(), JSON
        elif isinstance(body, list):
            body, headers = urllib.parse.urlencode(body), FORM
        got, headers, answer = self.server.request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        self.assertRegex(headers["X-Trace-ID"], "^[0-9a-f]{32}$")
        return json.loads(answer) if answer else None

    def refuse(self, message, body, path="/v2/translate", status=400):
        self.assertEqual(self.ask(path, body, status=status), {"message": message})

    def test_translate_by_json_and_form(self):
        self.server = self.start(MODELS, LANGUAGES)
        texts = ["Le chat dort.", "Bonjour à tous, mes amis."]
        answer = self.ask("/v2/translate", {"text": texts, "target_lang": "EN-US", "show_billed_characters": True,
                                            "context": "Ein Gruß", "preserve_formatting": True})
        self.assertEqual([one["detected_source_language"] for one in answer["translations"]], ["FR", "FR"])
        self.assertEqual([one["billed_characters"] for one in answer["translations"]], [len(text) for text in texts])
        self.assertEqual(answer["translations"][0]["text"], "The cat is sleeping.")
        form = self.ask("/v2/translate", [("text", texts[0]), ("text", texts[1]), ("target_lang", "en"),
                                          ("split_sentences", "0"), ("auth_key", "any")])
        self.assertEqual([one["text"] for one in form["translations"]], [one["text"] for one in answer["translations"]])
        self.assertNotIn("billed_characters", form["translations"][0])
        one = self.ask("/v2/translate", {"text": texts[0], "target_lang": "EN", "source_lang": "fr",
                                         "model_type": "prefer_quality_optimized", "formality": "prefer_more"})
        self.assertEqual(one["translations"], [{"detected_source_language": "FR", "text": "The cat is sleeping.",
                                                "model_type_used": "quality_optimized"}])

    def test_languages_and_usage(self):
        self.server = self.start(MODELS, LANGUAGES)
        target = [{"language": "EN", "name": "English", "supports_formality": False}]
        self.assertEqual(self.ask("/v2/languages?type=target", method="GET"), target)
        self.assertEqual(self.ask("/v2/languages", [("type", "target")], method="GET"), target)
        self.assertEqual(self.ask("/v2/languages", [("type", "target")]), target)
        self.assertEqual(self.ask("/v2/languages", method="GET"), [{"language": "FR", "name": "French"}])
        self.assertIn("type", self.ask("/v2/languages?type=x", method="GET", status=400)["message"])
        self.assertEqual([one["lang"] for one in self.ask("/v3/languages?resource=translate_text", method="GET")], ["en", "fr"])
        before = self.ask("/v2/usage", method="GET")
        self.ask("/v2/translate", {"text": ["Le chat dort."], "target_lang": "EN"})
        after = self.ask("/v2/usage", b"", FORM)
        self.assertEqual(after["character_count"] - before["character_count"], len("Le chat dort."))
        self.assertGreater(after["character_limit"], after["character_count"])

    def test_every_sentence_of_its_errors(self):
        self.server = self.start(MODELS, LANGUAGES)
        good = {"text": ["Bonjour"], "target_lang": "EN", "source_lang": "FR"}
        for missing in (None, []):
            self.refuse("Parameter 'text' not specified", {**good, "text": missing})
        self.refuse("Parameter 'text' not specified", [("target_lang", "EN")])
        for wrong in (None, "", "XX", 1, ["EN", 2]):
            self.refuse("Value for 'target_lang' not supported.", {**good, "target_lang": wrong} if wrong != ["EN", 2]
                        else {**good, "target_lang": [2]})
        self.refuse("Value for 'source_lang' not supported.", {**good, "source_lang": "XX"})
        self.refuse("Value for 'formality' not supported.", {**good, "formality": "rude"})
        self.refuse("Target language 'EN' doesn't support formality.", {**good, "formality": "less"})
        for name in ("split_sentences", "model_type", "style_id", "custom_instructions", "show_billed_characters",
                     "tag_handling"):
            self.refuse(f"Value for '{name}' not supported.", {**good, name: "nonsense"})
        self.refuse("Use of a glossary requires the source_lang parameter to be specified",
                    {"text": ["a"], "target_lang": "EN", "glossary_id": "x"})
        self.assertTrue(re.search("FR", self.ask("/v2/translate", {**good, "source_lang": "EN", "target_lang": "FR"},
                                                 status=400)["message"]))
        self.ask("/v2/translate", {**good, "text": ["x"] * 10000}, status=400)
        self.ask("/v2/translate", b"{", JSON, status=400)
        self.ask("/v2/translate", method="DELETE", status=405)

    def test_wrong_types_at_every_field(self):
        self.server = self.start(MODELS, LANGUAGES)
        good = {"text": ["Bonjour"], "target_lang": "EN", "source_lang": "FR"}
        for name in (*good, "formality", "split_sentences", "model_type", "tag_handling", "glossary_id", "context",
                     "show_billed_characters", "ignore_tags"):
            for value in (0, -1, 1.5, True, {}, {"a": []}, [[]], [None], [1], "\x00", "x" * 300):
                status, _, answer = self.server.request("POST", "/v2/translate", headers=JSON,
                                                        body=json.dumps({**good, name: value}))
                self.assertIn(status, (200, 400, 404), (name, value, answer))
                self.assertTrue(status == 200 or isinstance(json.loads(answer)["message"], str))


if __name__ == "__main__":
    main()
