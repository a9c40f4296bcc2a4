# SPDX-License-Identifier: ISC
"""DeepL's API as its official libraries and other clients use it: JSON and forms, GET with a body,
the members that their parsers need, and the error messages."""
import concurrent.futures
import hashlib
import json
import os
import re
import urllib.parse

from harness import CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

MODELS = f"--models-dir={MODELS_DIR}"
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
        self.assertEqual(answer["translations"][0]["text"], CAT_SAID)
        form = self.ask("/v2/translate", [("text", texts[0]), ("text", texts[1]), ("target_lang", "en"),
                                          ("split_sentences", "0"), ("auth_key", "any")])
        self.assertEqual([one["text"] for one in form["translations"]], [one["text"] for one in answer["translations"]])
        self.assertNotIn("billed_characters", form["translations"][0])
        one = self.ask("/v2/translate", {"text": texts[0], "target_lang": "EN", "source_lang": "fr",
                                         "model_type": "prefer_quality_optimized", "formality": "prefer_more"})
        self.assertEqual(one["translations"], [{"detected_source_language": "FR", "text": CAT_SAID,
                                                "model_type_used": "quality_optimized"}])

    def test_languages_and_usage(self):
        self.server = self.start(MODELS, LANGUAGES)
        target = [{"language": "EN-GB", "name": "English (British)", "supports_formality": False},
                  {"language": "EN-US", "name": "English (American)", "supports_formality": False}]
        self.assertEqual(self.ask("/v2/languages?type=target", method="GET"), target)
        self.assertEqual(self.ask("/v2/languages", [("type", "target")], method="GET"), target)
        self.assertEqual(self.ask("/v2/languages", [("type", "target")]), target)
        self.assertEqual(self.ask("/v2/languages", method="GET"), [{"language": "FR", "name": "French"}])
        self.assertIn("type", self.ask("/v2/languages?type=x", method="GET", status=400)["message"])
        stable = {"status": "stable"}
        english = {"usable_as_source": False, "usable_as_target": True, **stable}
        self.assertEqual(self.ask("/v3/languages?resource=translate_text", method="GET"), [
            {"lang": "en-GB", "name": "English (British)", **english, "features": {"tag_handling": stable, "glossary": stable}},
            {"lang": "en-US", "name": "English (American)", **english, "features": {"tag_handling": stable, "glossary": stable}},
            {"lang": "fr", "name": "French", "usable_as_source": True, "usable_as_target": False, **stable,
             "features": {"tag_handling": stable, "glossary": stable, "auto_detection": stable}}])
        self.assertEqual([one["features"] for one in self.ask("/v3/languages?resource=glossary", method="GET")], [{}, {}, {}])
        self.assertEqual(self.ask("/v3/languages?resource=write", method="GET"), [])
        for wrong in ("", "?resource=", "?resource=x"):
            self.assertEqual(self.ask("/v3/languages" + wrong, method="GET", status=400),
                             {"message": "Missing or invalid argument: resource"})
        found = {one["name"]: one["features"] for one in self.ask("/v3/languages/resources", method="GET")}
        self.assertEqual(found["glossary"], [])
        self.assertIn({"name": "auto_detection", "needs_source_support": True}, found["translate_text"])
        before = self.ask("/v2/usage", method="GET")
        self.ask("/v2/translate", {"text": ["Le chat dort."], "target_lang": "EN"})
        after = self.ask("/v2/usage", b"", FORM)
        self.assertEqual(after["character_count"] - before["character_count"], len("Le chat dort."))
        self.assertGreater(after["character_limit"], after["character_count"])

    def test_variants_of_a_language_that_is_source_and_target(self):
        self.server = self.start(LANGUAGES, f"--models-dir={self.both_ways()}")
        listed = {one["lang"]: (one["usable_as_source"], one["usable_as_target"])
                  for one in self.ask("/v3/languages?resource=translate_text", method="GET")}
        self.assertEqual(listed, {"en": (True, False), "en-GB": (False, True), "en-US": (False, True), "fr": (True, True)})
        self.assertEqual([one["language"] for one in self.ask("/v2/languages", method="GET")], ["EN", "FR"])

    def both_ways(self):
        """A folder with two models: French to English and English to French."""
        folder = os.path.join(self.directory, "models")
        os.mkdir(folder)
        for name in ("fr-en", "en-fr"):
            os.symlink(os.path.join(SOURCES, "models", name), os.path.join(folder, name))
        return folder

    def test_a_language_is_always_detected(self):
        """A text without any sign of its language is reported as a language that the server reads;
        a text in another language is reported as that language."""
        self.server = self.start(MODELS, LANGUAGES)
        texts = ["12345", "\U0001f600", "https://example.org/", "...", " ", "Das ist ein ganz gew\u00f6hnlicher deutscher Satz."]
        found = self.ask("/v2/translate", {"text": texts, "target_lang": "EN"})["translations"]
        self.assertEqual([one["detected_source_language"] for one in found], ["FR"] * 5 + ["DE"])
        self.assertEqual([one["text"] for one in found[:2]], texts[:2])

    def test_arrays_in_forms(self):
        self.server = self.start(MODELS, LANGUAGES)
        form = self.ask("/v2/translate", [("text[]", "Le chat dort."), ("text[]", "Bonjour."), ("target_lang", "EN"),
                                          ("source_lang", "FR"), ("formality", "Prefer_More")])
        self.assertEqual(form["translations"][0]["text"], CAT_SAID)
        self.assertEqual(len(form["translations"]), 2)
        one = self.ask("/v2/translate?text[]=Bonjour.&target_lang=EN&source_lang=FR", method="GET")
        self.assertEqual(len(one["translations"]), 1)

    def test_the_key_is_taken_wherever_it_stands(self):
        """auth_key in the query and in the body, for every route; a wrong key is refused."""
        self.server = self.start(MODELS, LANGUAGES, f"--keys-file={self.write_key('letter', 'the-key')}", "--require-key")
        text = [("text", "Bonjour."), ("target_lang", "EN")]
        for path, form in (("/v2/translate", text), ("/v2/languages", []), ("/v2/usage", [])):
            for method in ("GET", "POST"):
                self.ask(path, form + [("auth_key", "the-key")], method=method)
                self.ask(path + "?auth_key=the-key", form, method=method)
                for wrong in (form + [("auth_key", "no-key")], form):
                    self.ask(path, wrong, method=method, status=403)
                self.ask(path + "?auth_key=no-key", form, method=method, status=403)
        for path in ("/v2/glossaries", "/v2/glossary-language-pairs", "/v3/languages?resource=glossary"):
            sep = "&" if "?" in path else "?"
            self.ask(f"{path}{sep}auth_key=the-key", method="GET")
            self.ask(f"{path}{sep}auth_key=no-key", method="GET", status=403)
            self.ask(path, method="GET", status=403)

    def write_key(self, name, secret):
        path = os.path.join(self.directory, "keys")
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o640)
            file.write(f"[key {name}]\nhash = blake2b:{hashlib.blake2b(secret.encode(), digest_size=32).hexdigest()}\n")
        return path

    def make(self, dictionaries, name="pets", **options):
        """Creates a glossary through version 3, in JSON, from (source, target, entries)."""
        return self.ask("/v3/glossaries", {"name": name, "dictionaries": [self.dictionary(*one) for one in dictionaries]}, **options)

    @staticmethod
    def dictionary(source, target, entries, kind="tsv"):
        return {"source_lang": source, "target_lang": target, "entries": entries, "entries_format": kind}

    def entries(self, path, source="FR", target="EN", **options):
        answer = self.ask(f"{path}/entries?source_lang={source}&target_lang={target}", method="GET", **options)
        return {**answer["dictionaries"][0]} if "dictionaries" in answer else answer

    def test_each_of_three_dictionaries_has_its_own_entries(self):
        models = "".join(f"[model {source}-en]\npath = {os.path.join(SOURCES, 'models', 'fr-en')}\nsource = {source}\ntarget = en\n"
                         for source in ("fr", "de", "es"))
        self.server = self.start(conf=models.encode())
        made = self.make([("FR", "EN", "chat\thound\n"), ("DE", "EN", "Katze\thound\n"), ("ES", "EN", "gato\thound\n")], status=201)
        path = f"/v3/glossaries/{made['glossary_id']}"
        for source, word in (("FR", "chat"), ("DE", "Katze"), ("ES", "gato")):
            self.assertEqual(self.entries(path, source)["entries"], f"{word}\thound\n")

    def test_multilingual_glossaries(self):
        kept = os.path.join(self.directory, "glossaries")
        flags = (LANGUAGES, f"--models-dir={self.both_ways()}", f"--glossaries-dir={kept}")
        self.server = self.start(*flags)
        made = self.make([("FR", "EN", "chat\thound\nnoir\tdark"), ("EN", "fr", "cat,chien", "csv")], status=201)
        path = f"/v3/glossaries/{made['glossary_id']}"
        both = [{"source_lang": "fr", "target_lang": "en", "entry_count": 2}, {"source_lang": "en", "target_lang": "fr", "entry_count": 1}]
        self.assertRegex(made["creation_time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual((made["name"], made["dictionaries"]), ("pets", both))
        self.assertEqual(self.ask(path, method="GET"), made)
        self.assertEqual(self.ask("/v3/glossaries", method="GET"), {"glossaries": [made]})
        self.assertEqual(self.ask("/v2/glossaries", method="GET"), {"glossaries": []})  # not one with two pairs
        self.ask(f"/v2/glossaries/{made['glossary_id']}", method="GET", status=404)
        self.assertEqual(self.entries(path), self.dictionary("fr", "en", "chat\thound\nnoir\tdark\n"))
        for source, target, text, word in (("FR", "EN", "Le chat dort.", "hound"), ("EN", "FR", CAT_SAID, "chien")):
            said = self.ask("/v2/translate", {"text": [text], "source_lang": source, "target_lang": target,
                                              "glossary_id": made["glossary_id"]})["translations"][0]["text"]
            self.assertIn(word, said.lower())
        # More entries: one with the source of an old entry replaces it, and the other old entries
        # stay.
        changed = self.ask(path, {"dictionaries": [self.dictionary("FR", "EN", "chat\tlion\nchien\twolf")]}, method="PATCH")
        self.assertEqual([one["entry_count"] for one in changed["dictionaries"]], [3, 1])
        self.assertEqual(self.entries(path)["entries"], "noir\tdark\nchat\tlion\nchien\twolf\n")
        self.assertEqual(self.ask(path, {"name": "beasts"}, method="PATCH"), {**changed, "name": "beasts"})
        # A form replaces one whole dictionary by another.
        form = list(self.dictionary("fr", "en", '"a, b",c\nd,e', "csv").items())
        self.assertEqual(self.ask(path + "/dictionaries", form, method="PUT"),
                         {"source_lang": "fr", "target_lang": "en", "entry_count": 2})
        self.assertEqual(self.entries(path)["entries"], "a, b\tc\nd\te\n")
        pair = "?source_lang=EN&target_lang=FR"
        self.assertIsNone(self.ask(path + "/dictionaries" + pair, method="DELETE", status=204))
        self.ask(path + "/dictionaries" + pair, method="DELETE", status=404)
        self.assertEqual(self.entries(path, "EN", "FR", status=404), {"message": "Dictionary not found"})
        left = self.ask(path, method="GET")
        self.assertEqual([one["source_lang"] for one in left["dictionaries"]], ["fr"])
        self.assertEqual(self.ask("/v2/glossaries", method="GET")["glossaries"][0]["entry_count"], 2)  # now it has one pair
        # A dictionary of a new pair, with form members as deepl-node writes them; the glossary
        # survives a restart.
        form = [(f"dictionaries[0].{name}", value) for name, value in self.dictionary("en", "fr", "cat\tchien").items()]
        self.assertEqual(len(self.ask(path, form, method="PATCH")["dictionaries"]), 2)
        before = self.ask("/v3/glossaries", method="GET")
        self.server.stop()
        self.server = self.start(*flags)
        self.assertEqual(self.ask("/v3/glossaries", method="GET"), before)
        self.assertIsNone(self.ask(path, method="DELETE", status=204))
        self.assertEqual(self.ask(path, method="GET", status=404), {"message": "Glossary not found"})
        self.assertEqual(self.ask(path, {"name": "x"}, method="PATCH", status=404), {"message": "Glossary not found"})

    def test_glossaries_without_a_dictionary(self):
        kept = os.path.join(self.directory, "glossaries")
        flags = (MODELS, LANGUAGES, f"--glossaries-dir={kept}")
        self.server = self.start(*flags)
        made = [self.make([], status=201), self.ask("/v3/glossaries", [("name", "form")], status=201)]
        self.assertEqual([one["dictionaries"] for one in made], [[], []])
        own = self.ask_own(f"/v1/glossaries/{made[0]['glossary_id']}")
        self.assertEqual((own["source"], own["count"], own["dictionaries"], "terms" in own), ("", 0, [], False))
        status, _, answer = self.server.request("GET", f"/v1/glossaries/{made[0]['glossary_id']}", headers={"Accept": "text/csv"})
        self.assertEqual((status, json.loads(answer)["error"]["code"]), (400, "unsupported"))
        self.server.stop()
        self.server = self.start(*flags)
        self.assertEqual(self.ask("/v3/glossaries", method="GET")["glossaries"], made)
        path = f"/v3/glossaries/{made[1]['glossary_id']}"
        self.ask(path + "/dictionaries", self.dictionary("fr", "en", "chat\thound"), method="PUT")
        own = self.ask_own(f"/v1/glossaries/{made[1]['glossary_id']}")
        self.assertEqual([term["source"] for term in own["terms"]], ["chat"])

    def ask_own(self, path):
        status, _, answer = self.server.request("GET", path)
        self.assertEqual(status, 200, answer)
        return json.loads(answer)

    def test_what_glossaries_refuse(self):
        self.server = self.start(MODELS, LANGUAGES)
        made = self.make([("fr", "en", "chat\thound")], status=201)
        path, good = f"/v3/glossaries/{made['glossary_id']}", self.dictionary("fr", "en", "a\tb")
        no_name, no_pair = "Missing or invalid argument: name", "Unsupported glossary source and target language pair"
        for name in (None, "", 1, {}, "x" * 1025, "\0"):
            self.refuse(no_name, {"name": name, "dictionaries": []}, "/v3/glossaries")
            self.refuse(no_name, {"name": name, **good}, "/v2/glossaries")
        for wrong, message in (({"source_lang": "xx"}, no_pair), ({"target_lang": None}, no_pair), ({"target_lang": "fr"}, no_pair),
                               ({"entries": None}, "Parameter 'entries' not specified"),
                               ({"entries": 1}, "Parameter 'entries' not specified"),
                               ({"entries_format": "xls"}, "Value for 'entries_format' not supported.")):
            self.refuse(message, {"name": "x", "dictionaries": [{**good, **wrong}]}, "/v3/glossaries")
            self.assertEqual(self.ask(path, {"dictionaries": [good, {**good, **wrong}]}, method="PATCH", status=400), {"message": message})
            self.assertEqual(self.ask(path + "/dictionaries", {**good, **wrong}, method="PUT", status=400), {"message": message})
        self.refuse("Duplicate dictionaries for a source and target language pair", {"name": "x", "dictionaries": [good, good]},
                    "/v3/glossaries")
        for wrong in ("x", {}, good, ["x"], [[good]], [1], [None], True):
            self.refuse("Value for 'dictionaries' not supported.", {"name": "x", "dictionaries": wrong}, "/v3/glossaries")
        for entries in ("", "\n", "a", "a\tb\na\tc", "a\t", "\tb"):
            for method, where, body in (("POST", "/v3/glossaries", {"name": "x", "dictionaries": [{**good, "entries": entries}]}),
                                        ("PATCH", path, {"dictionaries": [{**good, "entries": entries}]}),
                                        ("PUT", path + "/dictionaries", {**good, "entries": entries})):
                answer = self.ask(where, body, method=method, status=400)
                self.assertEqual(answer["message"], "Invalid glossary entries provided")
                self.assertTrue(answer["detail"])
        for pair, name in (("", "source"), ("?source_lang=fr", "target"), ("?source_lang=fr&target_lang=%00", "target")):
            message = {"message": f"Value for '{name}_lang' not supported."}
            self.assertEqual(self.ask(path + "/entries" + pair, method="GET", status=400), message)
            self.assertEqual(self.ask(path + "/dictionaries" + pair, method="DELETE", status=400), message)
        self.assertEqual(self.entries(path)["entries"], "chat\thound\n")  # as it was
        self.assertEqual(len(self.ask("/v3/glossaries", method="GET")["glossaries"]), 1)
        for nobody in ("invalid_glossary_id", "96ab91fd-e715-41a1-adeb-5d701f84a483"):
            for method, rest, body in (("GET", "", None), ("DELETE", "", None), ("PATCH", "", {"name": "x"}), ("PUT", "/dictionaries", good),
                                       ("GET", "/entries?source_lang=fr&target_lang=en", None),
                                       ("DELETE", "/dictionaries?source_lang=fr&target_lang=en", None)):
                self.assertEqual(self.ask(f"/v3/glossaries/{nobody}{rest}", body, method=method, status=404),
                                 {"message": "Glossary not found"})

    def test_changes_of_one_glossary_do_not_undo_one_another(self):
        self.server = self.start(MODELS, LANGUAGES)
        path = "/v3/glossaries/" + self.make([("fr", "en", "mot\tword")], status=201)["glossary_id"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: self.ask(path, {"dictionaries": [self.dictionary("fr", "en", f"mot{i}\tword{i}")]}, method="PATCH"),
                          range(40)))
        self.assertEqual(sorted(self.entries(path)["entries"].splitlines()), sorted(["mot\tword"] + [f"mot{i}\tword{i}" for i in range(40)]))

    def test_keys_have_glossaries_of_their_own(self):
        self.server = self.start(MODELS, LANGUAGES, f"--keys-file={self.write_key('letter', 'the-key')}", "--require-key")
        good = [(f"dictionaries[0].{name}", value) for name, value in self.dictionary("fr", "en", "a\tb").items()]
        form = [("name", "x"), *good]
        self.ask("/v3/glossaries", form, status=403)
        self.ask("/v3/glossaries", form + [("auth_key", "no-key")], status=403)
        made = self.ask("/v3/glossaries", form + [("auth_key", "the-key")], status=201)
        path = f"/v3/glossaries/{made['glossary_id']}"
        self.ask(path, [("name", "y"), ("auth_key", "no-key")], method="PATCH", status=403)
        self.assertEqual(self.ask(path, [("name", "y"), ("auth_key", "the-key")], method="PATCH")["name"], "y")
        self.ask("/v2/glossaries", [("name", "x"), ("auth_key", "the-key"), *self.dictionary("fr", "en", "a\tb").items()], status=201)
        self.assertEqual(len(self.ask("/v3/glossaries?auth_key=the-key", method="GET")["glossaries"]), 2)
        self.ask(path, method="DELETE", status=403)
        self.ask(path + "?auth_key=the-key", method="DELETE", status=204)

    def test_what_an_account_may_lack(self):
        self.server = self.start(MODELS, LANGUAGES)
        for method, path in (("POST", "/v2/write/rephrase"), ("GET", "/v3/style_rules?page=0"), ("POST", "/v3/style_rules"),
                             ("GET", "/v3/style_rules/x"), ("GET", "/v3/translation_memories")):
            self.assertEqual(self.ask(path, {"text": ["Hello"]} if method == "POST" else None, method=method, status=403),
                             {"message": "This account does not include the requested product."})

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
        self.refuse("'formality' is not supported for given 'target_lang'.", {**good, "formality": "less"})
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

    def test_documents(self):
        self.server = self.start(MODELS, LANGUAGES)

        def send(fields, status=200):
            body = b""
            for name, value in fields.items():
                file = f'; filename="{value[0]}"' if isinstance(value, tuple) else ""
                value = value[1] if isinstance(value, tuple) else value.encode()
                body += f'--XX\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + value + b"\r\n"
            return self.ask("/v2/document", body + b"--XX--\r\n", {"Content-Type": "multipart/form-data; boundary=XX"}, status=status)

        good = {"file": ("a.html", b"<p>Le <b>chat</b> dort.</p>"), "target_lang": "EN", "source_lang": "FR"}
        handle = send(good)
        self.assertRegex(handle["document_id"] + handle["document_key"], "^[0-9a-f]{96}$")
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        wait_for(lambda: self.ask(path, key)["status"] == "done", "the document")
        self.assertEqual(self.ask(path, list(key.items()))["billed_characters"], len("Le chat dort.") + 2)
        self.assertEqual(self.ask(f"{path}?document_key={key['document_key']}", method="GET")["status"], "done")
        self.assertEqual(self.ask(path, {"document_key": "0" * 64}, status=404), {"message": "Document not found"})
        status, headers, answer = self.server.request("POST", path + "/result", body=json.dumps(key), headers=JSON)
        self.assertEqual((status, headers["Content-Type"], answer.count(b"<b>")), (200, "text/html; charset=utf-8", 1))
        self.assertEqual(headers.get_content_disposition(), "attachment")
        self.ask(path, key, status=404)
        self.ask(path + "/result", key, status=404)
        handle = send({"file": ("a.txt", b"The cat is asleep in the kitchen."), "target_lang": "EN"})
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        wait_for(lambda: self.ask(path, key)["status"] != "translating", "the document")
        self.assertEqual([self.ask(path, key)[name] for name in ("status", "error_message")],
                         ["error", "Source and target language are equal."])
        for wrong, message in (({"file": ("a.html", b"")}, "Invalid file data."), ({"source_lang": "EN"}, "Source and target language are equal."),
                               ({"target_lang": "XX"}, "Value for 'target_lang' not supported."),
                               ({"formality": "more"}, "'formality' is not supported for given 'target_lang'.")):
            self.assertEqual(send({**good, **wrong}, status=400), {"message": message})
        for wrong in ("pdf", "tml", "html.", "x"):
            self.assertEqual(send({**good, "output_format": wrong}, status=400), {"message": "Value for 'output_format' not supported."})
        send({**good, "output_format": "HTML"})
        send({**good, "file": ("a.docx", b"x")}, status=400)
        self.assertEqual(send({"target_lang": "EN"}, status=400), {"message": "Invalid file data."})

    def test_the_server_may_stop_while_a_document_is_translated(self):
        server = self.start(MODELS, LANGUAGES, "--threads=1")
        text = " ".join(f"Le chat {i} dort dans la maison." for i in range(60))  # it may end when all connections have ended
        fields = (('name="target_lang"', "EN"), ('name="source_lang"', "FR"), ('name="file"; filename="a.txt"', text))
        body = "".join(f"--XX\r\nContent-Disposition: form-data; {name}\r\n\r\n{value}\r\n" for name, value in fields)
        status, _, answer = server.request("POST", "/v2/document", body + "--XX--\r\n",
                                           {"Content-Type": "multipart/form-data; boundary=XX"})
        self.assertEqual(status, 200, answer)
        self.assertEqual(server.stop(), 0)



if __name__ == "__main__":
    main()
