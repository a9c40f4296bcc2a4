# SPDX-License-Identifier: ISC
"""Models of many languages: every API lists the pairs and serves them, the daemon and the tool
agree, and two hundred languages are listed quickly. What the networks write is nonsense; the
test compares it with the tool's answer to ids, to check that it is the right nonsense (unit
tests compare with a slow network)."""
import json
import os
import shutil
import subprocess

from harness import SOURCES, IntegrationTest, main

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MKMODEL = os.path.abspath(os.environ.get("DRAGOMAN_MKMODEL", "./tests/support/mkmodel"))
LANGUAGE_DATA = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
WITHOUT_BYTES = os.path.join(SOURCES, "tests", "models", "transformer")  # its vocabulary cannot spell everything
JSON = {"Content-Type": "application/json"}
TEXT = "la mado zy, keto fuli."


class Languages(IntegrationTest):
    def make(self, name, languages, rule="source-first"):
        path = os.path.join(self.models, name)
        more = [] if rule == "none" else ["--pre-norm", "--positions", "halves-closed"]
        subprocess.run([MKMODEL, path, "--languages", languages, "--language-rule", rule, "--vocab", "220", *more], check=True)
        return path

    def setUp(self):
        super().setUp()
        self.models = os.path.join(self.directory, "models")
        os.mkdir(self.models)

    def ask(self, path, body=None, method=None, status=200, headers=JSON):
        got, _, answer = self.server.request(method or ("POST" if body else "GET"), path,
                                             body=json.dumps(body) if body else None, headers=headers)
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def translate(self, source, target, status=200, **fields):
        return self.ask("/v1/translate", {"text": TEXT, "source": source, "target": target, "max_length": 12, "beam": 1,
                                          **fields},
                        status=status)

    def tool(self, *arguments, text=TEXT, code=0):
        done = subprocess.run([TOOL, *arguments], input=text, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_one_model_serves_its_pairs(self):
        path = self.make("m2m", "de,en,fr,zh")
        self.server = self.start(f"--models-dir={self.models}", LANGUAGE_DATA)
        texts = {}
        for source in ("de", "en", "fr", "zh"):
            for target in ("de", "en", "fr", "zh"):
                if source == target:
                    same = self.translate(source, target)["translations"][0]
                    self.assertEqual((same["text"], same["source"]), (TEXT, source))
                    continue
                answer = self.translate(source, target)
                texts[source, target] = answer["translations"][0]["text"]
                self.assertEqual((answer["model"], answer["translations"][0]["source"]), ("m2m", source))
                said = self.tool("translate", "-q", "-b", "1", "-m", path, "--source", source, "--target", target, "--max-len", "12")
                self.assertEqual(said.stdout, texts[source, target])
        self.assertGreater(len(set(texts.values())), 2)  # the model's answer depends on the pair
        again = self.translate("fra_Latn", "zh-CN")
        self.assertEqual(again["translations"][0]["text"], texts["fr", "zh"])

    def test_streams_and_scores(self):
        self.make("m2m", "de,en,fr")
        self.server = self.start(f"--models-dir={self.models}", LANGUAGE_DATA)
        whole = self.translate("fr", "de")["translations"][0]["text"]
        body = {"text": TEXT, "source": "fr", "target": "de", "max_length": 12, "beam": 1, "stream": True}
        status, _, stream = self.server.request("POST", "/v1/translate", body=json.dumps(body))
        self.assertEqual(status, 200)
        parts = [json.loads(block.split("data: ", 1)[1]) for block in stream.decode().split("\n\n")
                 if "event: token\n" in block]
        self.assertEqual("".join(part["text"] for part in parts), whole)
        scores = [self.ask("/v1/score", {"source": "fr", "target": target, "text": TEXT, "translation": "bade"})
                  for target in ("de", "en")]
        self.assertNotEqual(*scores)

    def test_every_api_lists_them(self):
        self.make("m2m", "de,en,fr,zh")
        self.make("opus-mt-en-roa", "fra,por,pt_br", "none")
        self.server = self.start(f"--models-dir={self.models}", LANGUAGE_DATA)
        listed = {item["code"]: item["targets"] for item in self.ask("/v1/languages")["languages"]}
        self.assertEqual(listed["de"], ["en", "fr", "pt", "pt-BR", "zh"])  # Portuguese by way of English
        self.assertEqual(listed["en"], ["de", "fr", "pt", "pt-BR", "zh"])
        self.assertNotIn("pt", listed)
        libre = {item["code"]: item["targets"] for item in self.ask("/languages")}
        self.assertEqual(libre["fr"], ["de", "en", "fr", "pt", "pt-BR", "zh-Hans"])
        self.assertEqual(libre["pt"], ["pt"])
        deepl = [item["language"] for item in self.ask("/v2/languages?type=source")]
        self.assertEqual(deepl, ["DE", "EN", "FR", "ZH"])
        models = {model["name"]: model for model in self.ask("/v1/models")["models"]}
        self.assertEqual(models["m2m"]["source"], None)
        self.assertEqual(models["m2m"]["targets"], ["de", "en", "fr", "zh"])
        opus = models["opus-mt-en-roa"]
        self.assertEqual((opus["source"], opus["target"], opus["sources"]), ("en", None, ["en"]))
        self.assertEqual(opus["targets"], ["fr", "pt", "pt-BR"])
        through = self.translate("de", "pt")
        self.assertEqual(through["model"], "m2m+opus-mt-en-roa")
        body = {"q": TEXT, "source": "fr", "target": "zh-Hans"}
        self.assertIn("translatedText", self.ask("/translate", body))
        self.assertIn("translations", self.ask("/v2/translate", {"text": [TEXT], "source_lang": "FR", "target_lang": "PT-BR"}))

    def test_says_what_is_missing(self):
        path = self.make("m2m", "de,en,fr")
        conf = f"[model some]\npath = {path}\nsource = fr\ntarget = en, de\n"
        self.server = self.start(LANGUAGE_DATA, conf=conf)
        self.assertEqual([(m["source"], m["targets"]) for m in self.ask("/v1/models")["models"]], [("fr", ["en", "de"])])
        self.assertIn("no model translates from en to de", json.dumps(self.translate("en", "de", status=404)))
        answer = self.ask("/v1/translate", {"text": TEXT, "model": "some", "source": "fr"}, status=400)
        self.assertIn("name the target language", answer["error"]["message"])
        said = self.tool("translate", "-m", path, "--source", "fr", code=1)
        self.assertIn("name the target language", said.stderr)
        said = self.tool("translate", "-m", path, "--target", "fr", code=1)
        self.assertIn("name the source language", said.stderr)
        self.assertIn("no model translates from fr to it",
                      self.tool("translate", "-m", path, "--source", "fr", "--target", "it", code=1).stderr)
        daemon = self.run_program("--listen=127.0.0.1:0", conf=f"[model x]\npath = {path}\ntarget = it\n".encode())
        self.assertIn("target 'it' is not a language of the model, which has de, en, fr (3)", daemon.stdout + daemon.stderr)

    def test_the_tool_shows_them(self):
        path = self.make("nllb", "eng_Latn,fra_Latn,zho_Hant", "source-last")
        card = self.tool("inspect", path).stdout
        self.assertIn("languages    3 to 3, told behind the source and before the target", card)
        self.assertIn("from       en, fr, zh-Hant\n", card)
        card = json.loads(self.tool("inspect", "--json", path).stdout)
        self.assertEqual(card["target_languages"], {"en": "eng_Latn", "fr": "fra_Latn", "zh-Hant": "zho_Hant"})
        scored = self.tool("score", "-m", path, "--source", "fr", "--target", "en", text=f"{TEXT}\tbade\n").stdout
        other = self.tool("score", "-m", path, "--source", "fr", "--target", "zh-TW", text=f"{TEXT}\tbade\n").stdout
        self.assertNotEqual(json.loads(scored)["logprob"], json.loads(other)["logprob"])
        self.tool("score", "-m", path, "--source", "fr", text=f"{TEXT}\tbade\n", code=1)

    def test_quantize_judges_by_pair(self):
        path, pairs = self.make("nllb", "eng_Latn,fra_Latn,zho_Hant", "source-last"), os.path.join(self.directory, "pairs")
        text = f"{TEXT}\tbade\n{TEXT}\tketo fuli zy\n"
        with open(pairs, "w", encoding="utf-8") as file:
            file.write(text)
        losses = set()
        for target in ("en", "zh-TW"):
            languages, out = ["--source", "fr", "--target", target], os.path.join(self.directory, target)
            said = self.tool("quantize", "-q", path, out, "--score", pairs, "--beam", "1", *languages).stdout
            scored = self.tool("score", "-m", path, *languages, text=text).stdout
            logprobs = [value for line in scored.splitlines() for value in json.loads(line)["token_logprobs"]]
            loss = float(said.split("loss_before=")[1].split()[0])
            losses.add(loss)
            self.assertAlmostEqual(loss, -sum(logprobs) / len(logprobs), places=4)
        said = self.tool("quantize", path, out + "2", "--score", pairs, "--source", "fr", code=1).stderr
        self.assertIn("the model has 3 target languages (en, fr, ...); name one", said)
        self.assertEqual(len(losses), 2)  # the score depends on the pair

    def test_an_imported_directory_serves(self):
        hf, ours = os.path.join(self.directory, "hf"), os.path.join(self.models, "nllb")
        subprocess.run([MKMODEL, hf, "--pre-norm", "--positions", "halves-closed", "--vocab", "28"], check=True)
        for name in ("source.spm", "target.spm", "vocab.json"):
            os.unlink(os.path.join(hf, name))
        shutil.copy(os.path.join(SOURCES, "tests", "data", "import", "nllb.spm"), os.path.join(hf, "sentencepiece.bpe.model"))
        config = {"model_type": "m2m_100", "activation_function": "relu", "d_model": 32, "encoder_layers": 2,
                  "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
                  "decoder_ffn_dim": 64, "vocab_size": 28, "pad_token_id": 1, "eos_token_id": 2,
                  "decoder_start_token_id": 2, "scale_embedding": True, "max_length": 200}
        words = {"additional_special_tokens": ["eng_Latn", "fra_Latn", "kor_Hang"]}
        for name, value in (("config.json", config), ("special_tokens_map.json", words)):
            with open(os.path.join(hf, name), "w", encoding="utf-8") as file:
                json.dump(value, file)
        self.tool("import", hf, ours)
        for i, (source, target) in enumerate((("en", "fr"), ("fr", "ko"), ("ko", "en"))):
            said = self.tool("translate", "-q", "-b", "1", "--json", "-m", ours, "--source", source, "--target", target, "--max-len", "9",
                             text="abcde fgh\n")
            sentence = json.loads(said.stdout)["sentences"][0]
            self.assertEqual(sentence["source_ids"], [21 + i, 3, 4, 5, 6, 7, 8, 3, 9, 10, 11, 2])
            self.assertLess(max(sentence["answers"][0]["ids"]), 24)  # the last four rows of the matrix have no word

    def test_glossaries_through_a_third_language(self):
        """Where the first model's answer has the term's translation, the term is demanded of the
        second model; a term that the second model cannot spell is reported."""
        models = os.path.join(SOURCES, "models")
        self.server = self.start(LANGUAGE_DATA, conf=f"[model fr-en]\npath = {models}/fr-en\nsource = fr\ntarget = en\n"
                                 f"[model en-de]\npath = {models}/en-fr\nsource = en\ntarget = de\n"
                                 f"[model en-it]\npath = {WITHOUT_BYTES}\nsource = en\ntarget = it\n")
        text = "La voiture rouge est dans la maison. Il pleut. Jean a vu le chat {0} hier."
        entries = {"voiture": "automobile", "maison": "r\u00e9sidence", "chat": "loup"}
        asked = {"text": text, "source": "fr", "target": "de"}
        answer = self.ask("/v1/translate", {**asked, "glossary": {"terms": entries}})
        said = answer["translations"][0]
        self.assertEqual(answer["model"], "fr-en+en-de")
        self.assertEqual([(one["source"], one["used"]) for one in said["terms"]], [(source, True) for source in entries])
        places = [said["text"].index(target) for target in entries.values()]
        self.assertEqual(places, sorted(places), said["text"])  # the words come in the order of the French text
        for one in said["terms"]:
            self.assertEqual(said["text"].count(one["target"]), 1, said["text"])
            place = said["text"].encode()[one["target_start"]:one["target_start"] + one["target_length"]]
            self.assertEqual(place.decode(), one["target"])
        for word in entries:
            self.assertNotIn(word, said["text"])
        self.assertIn("{0}", said["text"])
        table = "".join(f"{source}\t{target}\n" for source, target in entries.items())
        made = self.ask("/v2/glossaries", {"name": "x", "source_lang": "FR", "target_lang": "DE", "entries": table, "entries_format": "tsv"},
                        status=201)
        answer = self.ask("/v2/translate", {"text": [text], "source_lang": "FR", "target_lang": "DE", "glossary_id": made["glossary_id"]})
        self.assertEqual(answer["translations"][0]["text"], said["text"])
        self.assertNotIn("missed_terms", answer["translations"][0])
        path = os.path.join(self.directory, "terms.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(table)
        done = self.tool("translate", "--server", f"http://127.0.0.1:{self.server.port()}", "--source", "fr", "--target", "de",
                         "--glossary", path, text=text + "\n")
        self.assertEqual(done.stdout, said["text"] + "\n")
        self.assertIn("terms=3 terms_missed=0", done.stderr)
        lost = self.ask("/v1/translate", {**asked, "target": "it", "glossary": {"terms": {"chat": "\u732b"}}})["translations"][0]
        self.assertEqual([(one["source"], one["used"]) for one in lost["terms"]], [("chat", False)])

    def test_formality(self):
        path = self.make("m2m", "de,en,fr,it,es")
        config = os.path.join(self.directory, "dragomand.conf")
        text = (f"[model m2m]\npath = {path}\nsource = de, en, fr\ntarget = de, en, fr\n"
                "formal = __it__\ninformal = target:__es__\n")
        refused = self.run_program(LANGUAGE_DATA, "--listen=127.0.0.1:0", conf=text.replace("__it__", "__xx__").encode())
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("model m2m: formal: the source vocabulary has no word '__xx__'", refused.stderr)
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        self.server = self.start(f"--config={config}", LANGUAGE_DATA)
        words = ("default", "formal", "informal")
        short = "la mado zy."
        texts = [self.translate("fr", "de", text=short, formality=word)["translations"][0]["text"] for word in (*words, *words)]
        self.assertEqual((len(set(texts)), texts[3:]), (3, texts[:3]))  # the cache keeps them apart
        self.assertEqual(self.translate("fr", "de", text=short, formality="prefer_formal")["translations"][0]["text"], texts[1])
        self.assertIn("formality", self.translate("fr", "de", formality="rude", status=400)["error"]["message"])
        self.assertEqual(self.ask("/v1/languages")["formality"], ["de", "en", "fr"])
        listed = self.ask("/v2/languages?type=target")
        self.assertEqual([one["supports_formality"] for one in listed], [True] * 4)  # English is there twice
        deepl = {"text": [short], "source_lang": "FR", "target_lang": "DE"}
        said = [self.ask("/v2/translate", {**deepl, "formality": word})["translations"][0]["text"]
                for word in ("default", "more", "less", "prefer_more", "prefer_less")]
        self.assertEqual((len(set(said[:3])), said[3:]), (3, said[1:3]))

        words = ("--formal", "__it__", "--informal", "target:__es__")
        for word, text in zip(("default", "formal", "informal", "prefer_informal"), (*texts[:3], texts[2])):
            asked = ("translate", "-q", "-b", "1", "--source", "fr", "--target", "de", "--max-len", "12", "--formality", word)
            self.assertEqual(self.tool(*asked, "-m", path, *words, text=short).stdout, text)
            self.assertEqual(self.tool(*asked, "--server", f"http://127.0.0.1:{self.server.port()}", "--beam", "1", text=short).stdout, text)

    def test_the_tool_refuses_formality_without_a_word(self):
        path = self.make("m2m", "de,en,fr")
        asked = ("translate", "-q", "-m", path, "--source", "fr", "--target", "de", "--formality", "formal")
        self.assertIn("does not support formality", self.tool(*asked, code=1).stderr)
        self.assertIn("has no word '__x__'", self.tool(*asked, "--formal", "__x__", code=1).stderr)
        self.assertIn("--formality is for text", self.tool("translate", "-m", path, "--ids", "--formality", "formal", code=2).stderr)

    def test_formality_that_no_model_supports(self):
        self.make("m2m", "de,en,fr")
        self.server = self.start(f"--models-dir={self.models}", LANGUAGE_DATA)
        usual = self.translate("fr", "de")["translations"][0]["text"]
        self.assertEqual(self.translate("fr", "de", formality="prefer_informal")["translations"][0]["text"], usual)
        failure = self.translate("fr", "de", formality="formal", status=400)["error"]
        self.assertEqual((failure["code"], failure["message"]),
                         ("unsupported", "model m2m does not support formality: it cannot be told to be formal"))
        self.assertFalse(any(one["supports_formality"] for one in self.ask("/v2/languages?type=target")))
        failure = self.ask("/v2/translate", {"text": [TEXT], "target_lang": "DE", "formality": "less"}, status=400)
        self.assertEqual(failure, {"message": "'formality' is not supported for given 'target_lang'."})

    def test_a_text_in_the_target_language_comes_back(self):
        self.make("m2m", "de,en,fr")
        self.server = self.start(f"--models-dir={self.models}", LANGUAGE_DATA)
        text = "Where is the nearest station, please?"
        answer = self.ask("/v1/translate", {"text": text, "target": "en"})
        self.assertEqual(answer["translations"][0]["text"], text)


if __name__ == "__main__":
    main()
