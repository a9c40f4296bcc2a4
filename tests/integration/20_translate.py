# SPDX-License-Identifier: ISC
"""POST /v1/translate with the embedded model: shapes, options, and every wrong thing that a client
can send."""
import json
import os
import shutil

from harness import MODELS_DIR, SOURCES, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
TEXT = "Le chat dort. La maison est grande."

OPTIONS = ("beam", "alternatives", "length_penalty", "coverage_penalty", "patience", "early_stop", "sample",
           "temperature", "top_k", "top_p", "seed", "min_length", "max_length", "max_ratio", "repetition_penalty",
           "no_repeat_ngram", "loop_guard", "timeout_ms", "stream", "scores", "tokens",
           "alignment", "format", "lines", "priority", "cache", "model", "source", "target", "text")


class Translate(IntegrationTest):
    def ask(self, server, body, headers=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        status, headers, answer = server.request("POST", "/v1/translate", body=body, headers=headers)
        self.assertEqual(headers["Content-Type"], "application/json")
        return status, json.loads(answer)

    def refuse(self, server, body, status=400, field=None):
        got, answer = self.ask(server, body)
        self.assertEqual(got, status, answer)
        error = answer["error"]
        self.assertTrue(error["code"] and error["message"])
        self.assertTrue(answer["request_id"])
        if field:
            self.assertEqual(error["field"], field, error)
        return error

    def test_a_prefix_begins_the_translation(self):
        server = self.start(MODELS)
        status, answer = self.ask(server, {"text": TEXT, "model": "fr-en", "prefix": "Well, the"})
        self.assertEqual(status, 200, answer)
        text = answer["translations"][0]["text"]
        self.assertTrue(text.startswith("Well, the") and text.count("Well") == 1, text)
        self.refuse(server, {"text": [TEXT, TEXT], "model": "fr-en", "prefix": "Well"}, field="prefix")
        self.refuse(server, {"text": TEXT, "model": "fr-en", "prefix": 3}, field="prefix")

    def test_phrases_are_demanded_and_tokens_forbidden(self):
        server = self.start(MODELS)
        text = "Le chat dort."
        status, answer = self.ask(server, {"text": text, "model": "fr-en", "must": "The dog"})
        self.assertEqual(status, 200, answer)
        self.assertIn("The dog", answer["translations"][0]["text"])
        _, plain = self.ask(server, {"text": text, "model": "fr-en", "tokens": True})
        first = plain["translations"][0]["sentences"][0]["tokens"][0]["id"]
        _, other = self.ask(server, {"text": text, "model": "fr-en", "tokens": True, "suppress": [first]})
        self.assertNotIn(first, [token["id"] for token in other["translations"][0]["sentences"][0]["tokens"]])
        for wrong, field in (({"must": 1}, "must"), ({"must": ["a"] * 33}, "must"), ({"must": [1]}, "must"),
                             ({"suppress": 1}, "suppress"), ({"suppress": ["a"]}, "suppress"),
                             ({"suppress": [-1]}, "suppress"), ({"suppress": [0] * 1001}, "suppress")):
            self.refuse(server, {"text": text, "model": "fr-en", **wrong}, field=field)
        self.refuse(server, {"text": text, "model": "fr-en", "suppress": [2**31 - 1]})
        self.refuse(server, {"text": text, "model": "fr-en", "suppress_unknown": True})  # it would change nothing

    def test_a_demanded_phrase_that_the_model_cannot_write_is_refused(self):
        small = os.path.join(SOURCES, "tests", "models", "transformer")  # its vocabulary has no byte tokens
        server = self.start(conf=f"[model fr-en]\npath = {small}\nsource = fr\ntarget = en\n")
        self.refuse(server, {"text": "Le chat dort.", "source": "fr", "target": "en", "must": ["dance", "\u732b"]})
        self.assertEqual(self.ask(server, {"text": "Le chat dort.", "source": "fr", "target": "en", "must": "dance"})[0], 200)

    def test_an_unknown_field_is_named_with_the_one_that_was_meant(self):
        server = self.start(MODELS)
        good = {"text": TEXT, "model": "fr-en"}
        error = self.refuse(server, {**good, "fromat": "html"}, field="fromat")
        self.assertEqual((error["code"], error["message"]), ("invalid_value", "unknown field 'fromat'; did you mean \"format\"?"))
        error = self.refuse(server, {**good, "glossary_number": 1}, field="glossary_number")
        for name in "text", "target", "format", "glossary", "alternatives":  # all are named
            self.assertIn(f'"{name}"', error["message"])
        self.refuse(server, {**good, "é" * 500: 1}, field="é" * 40)
        for path, body in (("/v1/detect", {"text": "a", "txet": 1}), ("/v1/score", {"text": "a", "txet": 1}),
                           ("/v1/generate", {"prompt": "a", "txet": 1})):
            status, _, answer = server.request("POST", path, body=json.dumps(body))
            self.assertEqual((status, json.loads(answer)["error"]["field"]), (400, "txet"), path)

    def test_a_missing_field_is_missing(self):
        server = self.start(MODELS)
        for body, field in (({"text": TEXT}, "target"), ({"target": "en"}, "text"), ({"text": TEXT, "target": None}, "target")):
            self.assertEqual(self.refuse(server, body, field=field)["code"], "missing_field", body)
        status, _, answer = server.request("POST", "/v1/score", body=json.dumps({"text": "a", "translation": "b"}))
        error = json.loads(answer)["error"]
        self.assertEqual((status, error["code"], error["field"]), (400, "missing_field", "target"))

    def test_one_text_and_many(self):
        server = self.start(MODELS)
        status, answer = self.ask(server, {"text": TEXT, "source": "fr", "target": "en"})
        self.assertEqual(status, 200, answer)
        item = answer["translations"][0]
        self.assertEqual(item["source"], "fr")
        self.assertEqual(item["finish"], "eos")
        self.assertIn("cat", item["text"])
        self.assertEqual(answer["model"], "fr-en")
        self.assertEqual(answer["usage"]["sentences"], 2)
        self.assertGreater(answer["timing"]["total_ms"], 0)
        texts = [TEXT, "", "Je vois un chien.", "\u0000", TEXT]
        status, many = self.ask(server, {"text": texts, "model": "fr-en"})
        self.assertEqual(status, 200)
        self.assertEqual(len(many["translations"]), len(texts))
        self.assertEqual(many["translations"][0], item)
        self.assertEqual(many["translations"][4], item)
        self.assertEqual(many["translations"][1]["text"], "")

    def test_without_data_no_path_is_told(self):
        missing = os.path.join(self.directory, "nowhere.bin")
        server = self.start(MODELS, f"--language-data={missing}")
        for path, body in (("/v1/detect", {"text": TEXT}), ("/detect", {"q": TEXT})):
            status, _, answer = server.request("POST", path, body=json.dumps(body), headers={"Content-Type": "application/json"})
            self.assertGreaterEqual(status, 400)
            self.assertNotIn(b"nowhere", answer)
            self.assertIn(b"no data to tell languages apart", answer)
        self.assertIn(missing, server.log())

    def test_languages_are_detected(self):
        data = os.path.join(SOURCES, "data", "langid", "langid.bin")
        server = self.start(MODELS, f"--language-data={data}")
        texts = ["Où est la gare, s'il vous plaît ?", "Ich habe heute leider keine Zeit.", "42"]
        status, _, answer = server.request("POST", "/v1/detect", body=json.dumps({"text": texts}))
        found = json.loads(answer)["detections"]
        self.assertEqual(status, 200)
        self.assertEqual([one["language"] for one in found], ["fr", "de", None])
        self.assertEqual(found[2], {"language": None, "confidence": 0, "candidates": []})
        self.assertEqual(found[0]["candidates"][0], {key: found[0][key] for key in ("language", "confidence")})
        for languages, expected in ((["fr", "eng_Latn"], ["fr", None]), (["de"], [None, "de"]), ("de", [None, "de"]), (None, ["fr", "de"])):
            status, _, answer = server.request("POST", "/v1/detect", body=json.dumps({"text": texts[:2], "languages": languages}))
            found = json.loads(answer)["detections"]
            self.assertEqual([one["language"] if one["confidence"] > 0.5 else None for one in found], expected, languages)
            kept = {"fr", "de"} if languages is None else {"fr", "en"} if "fr" in languages else {"de"}
            if languages:
                self.assertTrue(all(guess["language"] in kept for one in found for guess in one["candidates"]))
        for wrong in ({}, {"text": 1}, {"text": [1]}, {"text": "a", "texts": []}, {"text": "a", "languages": []},
                      {"text": "a", "languages": ["no tag at all"]}, {"text": "a", "languages": [1]},
                      {"text": "a", "languages": ["fr"] * 1001}):
            status, _, answer = server.request("POST", "/v1/detect", body=json.dumps(wrong))
            self.assertEqual(status, 400, wrong)

    def test_the_detected_language_chooses_the_model(self):
        data = os.path.join(SOURCES, "data", "langid", "langid.bin")
        model = os.path.join(SOURCES, "models", "fr-en")
        conf = f"[model fr-en]\npath = {model}\n[model de-en]\npath = {model}\n".encode()
        server = self.start(f"--language-data={data}", conf=conf)
        for text, language in (("Où est la gare, s'il vous plaît ?", "fr"), ("Ich habe heute leider keine Zeit.", "de")):
            status, answer = self.ask(server, {"text": text, "source": "auto", "target": "en"})
            self.assertEqual((status, answer["model"]), (200, f"{language}-en"), answer)
            self.assertEqual(answer["translations"][0]["detected"]["language"], language)
            self.assertGreater(answer["translations"][0]["detected"]["confidence"], 0.5)

    def test_what_needs_no_translation_comes_back_as_it_is(self):
        data = os.path.join(SOURCES, "data", "langid", "langid.bin")
        server = self.start(MODELS, f"--language-data={data}")
        french, english, german = "Où est la gare ?", "Where is the station?", "Ich habe heute leider keine Zeit."
        status, answer = self.ask(server, {"text": [french, english, german, "42"], "source": "auto", "target": "en"})
        self.assertEqual(status, 200, answer)
        items = answer["translations"]
        self.assertIn("station", items[0]["text"])
        self.assertEqual([item["text"] for item in items[1:]], [english, german, "42"])
        self.assertEqual([item["source"] for item in items], ["fr", "en", "de", "fr"])
        self.assertEqual([item.get("detected", {}).get("language") for item in items], ["fr", "en", "de", None])
        self.assertEqual([item.get("warning", {}).get("code") for item in items], [None, None, "language_not_available", None])
        self.assertIn("German (de)", items[2]["warning"]["message"])
        # A language that the identifier does not know: none of the models reads it, whatever it is.
        esperanto = "Saluton, kiel vi fartas hodiaŭ?"
        status, answer = self.ask(server, {"text": esperanto, "target": "en"})
        self.assertEqual((status, answer["translations"][0]["text"]), (200, esperanto), answer)
        self.assertIn("in another language, perhaps", answer["translations"][0]["warning"]["message"])
        # A name may look like any language; its markup does not make it a sentence.
        status, answer = self.ask(server, {"text": "<p class=\"name\">Kubernetes</p>", "format": "html", "target": "en"})
        self.assertEqual((status, answer["translations"][0].get("warning")), (200, None), answer)
        for source in ("auto", None, "fr"):
            body = {"text": french, "target": "fr", **({"source": source} if source else {})}
            status, answer = self.ask(server, body)
            self.assertEqual(status, 200, answer)
            self.assertEqual((answer["translations"][0]["text"], answer["translations"][0]["source"]), (french, "fr"))
        status, answer = self.ask(server, {"text": english, "source": "auto", "target": "fr"})
        self.assertEqual((status, answer["error"]["message"]), (404, "no model translates from en to fr; not installed: dragoman get en-fr"))
        # The compatible APIs report it in their own words.
        other = lambda path, body: json.loads(server.request("POST", path, body=json.dumps(body))[2])
        answer = other("/translate", {"q": german, "source": "auto", "target": "en"})
        self.assertEqual((answer["translatedText"], answer["detectedLanguage"]["language"]), (german, "de"))
        self.assertEqual(answer["warning"]["code"], "language_not_available")
        answer = other("/translate", {"q": french, "source": "auto", "target": "fr"})
        self.assertEqual((answer["translatedText"], answer["detectedLanguage"]["language"]), (french, "fr"))
        answer = other("/v2/translate", {"text": [german, english, french, "42"], "target_lang": "EN"})["translations"]
        self.assertEqual([one["detected_source_language"] for one in answer], ["DE", "EN", "FR", "FR"])
        self.assertEqual([one["text"] for one in answer[:2]], [german, english])
        answer = other("/v2/translate", {"text": [english], "source_lang": "EN", "target_lang": "EN-GB"})["translations"]
        self.assertEqual(answer[0]["text"], english)
        answer = other("/language/translate/v2", {"q": german, "target": "en"})["data"]["translations"][0]
        self.assertEqual(answer, {"translatedText": german, "detectedSourceLanguage": "de"})

    def test_details_on_request(self):
        server = self.start(MODELS)
        status, answer = self.ask(server, {"text": TEXT, "target": "en", "alternatives": 3, "scores": True,
                                           "tokens": True, "alignment": True})
        self.assertEqual(status, 200, answer)
        item = answer["translations"][0]
        self.assertLessEqual(len(item["alternatives"]), 3)
        self.assertNotIn(item["text"], item["alternatives"])
        for sentence in item["sentences"]:
            source = TEXT.encode()[sentence["start"]:sentence["start"] + sentence["length"]].decode()
            self.assertIn(source, ("Le chat dort.", "La maison est grande."))
            self.assertIn(sentence["text"], item["text"])
            self.assertAlmostEqual(sum(token["logprob"] for token in sentence["tokens"]), sentence["logprob"], places=3)
            self.assertEqual(len(sentence["alignment"]), len(sentence["tokens"]))

    def test_options_have_effect(self):
        server = self.start(MODELS)
        text = lambda **options: self.ask(server, {"text": TEXT, "target": "en", **options})[1]["translations"][0]
        self.assertEqual(text(max_length=2)["finish"], "length")
        one = text(sample=True, temperature=3, seed=1, beam=1)
        self.assertEqual(one, text(sample=True, temperature=3, seed=1, beam=1))
        self.assertNotEqual(one["text"], text(sample=True, temperature=3, seed=2, beam=1)["text"])

    def test_a_request_that_does_not_say_searches_as_the_models_makers_do(self):
        other = os.path.join(self.directory, "other")
        shutil.copytree(os.path.join(MODELS_DIR, "fr-en"), other)
        with open(os.path.join(other, "config.json"), "r+", encoding="utf-8") as file:
            config = {**json.load(file), "num_beams": 3, "length_penalty": 0.25}
            file.seek(0)
            file.truncate()
            json.dump(config, file)
        pair = "source = fr\ntarget = en\n"
        conf = f"[model plain]\npath = {MODELS_DIR}/fr-en\n{pair}[model other]\npath = {other}\n{pair}"
        server = self.start(conf=conf)
        listed = {model["name"]: model for model in json.loads(server.request("GET", "/v1/models")[2])["models"]}
        self.assertEqual((listed["other"]["beam"], listed["other"]["length_penalty"]), (3, 0.25))
        ask = lambda model, **options: self.ask(server, {"text": TEXT, "model": model, "scores": True, **options})[1]["translations"]
        self.assertEqual(ask("other"), ask("plain", beam=3, length_penalty=0.25))
        self.assertEqual(ask("other", beam=2, length_penalty=1), ask("plain", beam=2, length_penalty=1))
        self.assertNotEqual(ask("other"), ask("other", length_penalty=1))

    def test_wrong_types_at_every_field(self):
        server = self.start(MODELS)
        for option in OPTIONS:
            for value in ({"a": 1}, [[]], True, "nonsense\u0000", -1.5, 1e300, 10**30):
                if (option, value) == ("stream", True):
                    continue  # valid, and answered with events
                body = {"text": TEXT, "target": "en", option: value}
                status, answer = self.ask(server, body)
                if status == 200 and option != "text":
                    self.assertIsInstance(value, bool, (option, value))  # true is valid for a switch
                    continue
                if option == "text" and isinstance(value, str):
                    self.assertEqual(status, 200)
                    continue
                self.assertIn(status, (400, 404), (option, value, answer))
                if status == 400 and answer["error"]["code"] not in ("invalid_json",):
                    self.assertEqual(answer["error"].get("field"), option, (option, value, answer))

    def test_out_of_range_names_field_and_limit(self):
        server = self.start(MODELS)
        for option, value, limit in (("alternatives", 10000, 15), ("beam", 17, 16), ("max_length", 100000, 4096),
                                     ("top_k", 10**9, 4096), ("no_repeat_ngram", 17, 16), ("temperature", 1000, 100)):
            error = self.refuse(server, {"text": TEXT, "target": "en", option: value}, field=option)
            self.assertEqual((error["code"], error["limit"]), ("out_of_range", limit))
        error = self.refuse(server, {"text": ["x"] * 100000, "target": "en"}, field="text")
        self.assertEqual(error["limit"], 1000)

    def test_what_a_sentence_may_cost_is_bounded_by_options(self):
        server = self.start(MODELS, "--max-beam=4", "--max-min-length=20")
        for option, limit in (("beam", 4), ("alternatives", 3), ("min_length", 20)):
            body = {"text": TEXT, "target": "en", option: limit}
            self.assertEqual(server.request("POST", "/v1/translate", json.dumps(body))[0], 200)
            error = self.refuse(server, {**body, option: limit + 1}, field=option)
            self.assertEqual((error["code"], error["limit"]), ("out_of_range", limit))
        body = {"q": TEXT, "source": "fr", "target": "en", "alternatives": 4}
        self.assertEqual(server.request("POST", "/translate", json.dumps(body))[0], 400)
        greedy = self.start(MODELS, "--max-beam=1")
        for body, status in (({"alternatives": 0}, 200), ({"alternatives": 1}, 400)):
            body = {"text": TEXT, "target": "en", **body}
            self.assertEqual(greedy.request("POST", "/v1/translate", json.dumps(body))[0], status)

    def test_bodies_that_are_not_what_they_should_be(self):
        server = self.start(MODELS)
        self.refuse(server, b"")
        self.refuse(server, b"{")
        self.refuse(server, b"[1]")
        self.refuse(server, b'{"text":"a","text":"b","target":"en"}')
        self.refuse(server, b'{"text":"\\ud800","target":"en"}')
        error = self.refuse(server, b'{"text":"ab\xff","target":"en"}')
        self.assertRegex(error["message"], r"byte \d+")
        self.refuse(server, {"target": "en"}, field="text")
        self.refuse(server, {"text": "a"}, field="target")
        self.refuse(server, {"text": [], "target": "en"}, field="text")
        self.refuse(server, {"text": "a", "target": "en", "beem": 4})
        self.refuse(server, {"text": "a", "target": "xx"}, status=404)
        self.refuse(server, {"text": "a", "model": "nobody"}, status=404)
        self.refuse(server, {"text": "x" * (2 << 20), "target": "en"}, status=413)
        self.refuse(server, b"[" * 100000)

    def test_what_there_is(self):
        server = self.start(MODELS)
        models = json.loads(server.request("GET", "/v1/models")[2])["models"]
        self.assertEqual([(m["name"], m["source"], m["target"]) for m in models], [("fr-en", "fr", "en")])
        self.assertEqual(json.loads(server.request("GET", "/v1/languages")[2])["formality"], [])
        languages = json.loads(server.request("GET", "/v1/languages")[2])["languages"]
        self.assertEqual(languages, [{"code": "fr", "name": "French", "targets": ["en"]}])
        self.assertEqual(server.request("GET", "/readyz")[0], 200)


if __name__ == "__main__":
    main()
