# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Glossaries: in the command, in our own API (sent with a request, stored, bound to a key), and as
DeepL's clients use them."""
import concurrent.futures
import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.parse

from harness import MODELS_DIR, SOURCES, IntegrationTest, main

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODELS = f"--models-dir={MODELS_DIR}"
MODEL = os.path.join(SOURCES, "models", "fr-en")
WITHOUT_BYTES = os.path.join(SOURCES, "tests", "models", "transformer")  # its vocabulary cannot spell everything
TERMS = "chat\thound\nvoiture\tautomobile\nmaison\tresidence\n"


class Command(unittest.TestCase):
    def translate(self, lines, terms, *flags, name="terms.tsv", code=0, model=MODEL):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(terms)
            done = subprocess.run([TOOL, "translate", "--model", model, "--glossary", path, *flags], input=lines.encode(),
                                  capture_output=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        self.summary = done.stderr.decode()
        return done.stdout.decode()

    def test_terms_are_used_where_they_stand(self):
        lines = "La voiture rouge est dans le jardin.\nIl pleut.\nLE CHAT EST DANS LA MAISON ROUGE.\n"
        for beam in ("1", "4"):
            said = self.translate(lines, TERMS, "--beam", beam).splitlines()
            self.assertEqual(said[0], "The red automobile is in the garden.")
            self.assertIn("HOUND", said[2])
            self.assertIn("terms=3 terms_missed=0", self.summary)
            plain = subprocess.run([TOOL, "translate", "--quiet", "--model", MODEL, "--beam", beam], input=b"Il pleut.\n",
                                   capture_output=True, check=True, timeout=300)
            self.assertEqual(said[1] + "\n", plain.stdout.decode())
        said = self.translate("Voir https://a.org/chat et {chat}.\n", TERMS)
        self.assertIn("https://a.org/chat", said)
        self.assertIn("terms=0", self.summary)

    def test_where_a_term_is_demanded_the_length_penalty_is_at_most_1(self):
        """The beam search uses a length penalty of at most 1: what the model's own penalty, which
        is above 1, would favour after a term is not in the answer."""
        with open(os.path.join(MODEL, "config.json"), encoding="utf-8") as file:
            self.assertGreater(json.load(file)["length_penalty"], 1)
        ask = lambda line, *penalty: self.translate(line, TERMS, "--beam", "4", "--scores", "--quiet", *penalty)
        line, free = "Elle a vendu la vieille maison.\n", "Il pleut beaucoup.\n"
        self.assertEqual(ask(line), ask(line, "--length-penalty", "1"))
        self.assertNotEqual(ask(line), ask(line, "--length-penalty", "1.6"))
        self.assertNotEqual(ask(free), ask(free, "--length-penalty", "1"))

    def test_french_articles_are_joined_to_terms(self):
        lines = "The artist was awarded a prize.\nThe Team won.\nWe spoke with the Team yesterday.\n"
        said = self.translate(lines, "artist\tartisan\nTeam\tÉquipe\n", "--model", os.path.join(SOURCES, "models", "en-fr"))
        self.assertIn("terms_missed=0", self.summary)
        for line, joined in zip(said.splitlines(), ("L'artisan", "L'Équipe", "l'Équipe")):
            self.assertIn(joined, line)

    def test_other_answers_are_written_as_the_best(self):
        say = lambda line: self.translate(line, "artist\tartisan\ncat\tanimal\n", "--model",
                                          os.path.join(SOURCES, "models", "en-fr"), "--beam", "6", "--nbest", "6").splitlines()
        said = [line.split(" ||| ")[1] for line in say("The CAT is here.\n")]
        self.assertGreater(len(said), 1)
        for text in said:
            self.assertNotRegex(text, r"(?i)\b(l|le|la|de|du) animal")
        # The answer for a text that consists of one term is only that term.
        self.assertEqual([line.split(" ||| ")[1] for line in say("artist\n")], ["artisan"])

    def test_each_term_is_told(self):
        lost = json.loads(self.translate("Le chat noir.\n", "noir,\u732b\n", "--json", name="terms.csv", model=WITHOUT_BYTES))
        self.assertEqual([(term["target"], term["used"]) for term in lost["terms"]], [("\u732b", False)])
        said = json.loads(self.translate("Le chat noir.\n", '"chat",hound,dog\n', "--json", name="terms.csv"))
        found = {term["source"]: term for term in said["terms"]}
        place = found["chat"]["target_start"]
        self.assertIn(said["text"].encode()[place:place + found["chat"]["target_length"]].decode().lower(), ("hound", "dog"))

    def test_documents_keep_their_markup(self):
        said = self.translate("<p>La <b>voiture</b> est rouge. <code>chat</code></p>", TERMS, "--format", "html")
        self.assertRegex(said, "<b>[^<]*automobile('s)?</b>")
        self.assertIn("<code>chat</code>", said)

    def test_the_entry_s_own_form_once_and_nothing_with_it(self):
        lines = "artist\nTeam\nThe cat sleeps.\nI saw the cat.\nShe is an artist.\ncat\nTHE CAT SLEEPS.\n"
        for beam in ("1", "4"):
            said = self.translate(lines, "artist\tpeintre\nTeam\t\u00c9quipe\ncat\tminou\n", "--model",
                                  os.path.join(SOURCES, "models", "en-fr"), "--beam", beam).splitlines()
            self.assertEqual((said[0], said[1], said[5]), ("peintre", "\u00c9quipe", "minou"), beam)
            for line, term in ((2, "minou"), (3, "minou"), (4, "peintre")):
                self.assertEqual(re.findall(r"(?i)\bminou\b|peintre\b", said[line]), [term], said[line])
                self.assertTrue(said[line].endswith(term + ".") or line == 2, said[line])
            self.assertIn("MINOU", said[6])
        # The answer is only the term, in the text's case and with its punctuation mark.
        said = self.translate("Cat\nCAT\nCat.\ncat!\n", "cat\tminou\n", "--model", os.path.join(SOURCES, "models", "en-fr"))
        self.assertEqual(said.splitlines(), ["Minou", "MINOU", "Minou.", "minou !"])

    def test_a_demanded_phrase_is_not_swept_to_the_end(self):
        for beam in ("1", "4"):
            done = subprocess.run([TOOL, "translate", "--quiet", "--model", MODEL, "--must", "beautiful", "--beam", beam],
                                  input=b"Le soleil brille sur la mer.\n", capture_output=True, check=True, timeout=300)
            said = done.stdout.decode()
            self.assertEqual(said.count("beautiful"), 1)
            self.assertLess(said.index("beautiful"), len(said) // 2, said)

    def test_a_bad_file_is_refused(self):
        self.translate("", "chat\tcat\nchat\tdog\n", code=1)
        self.assertIn("duplicates key with the index 0", self.summary)
        self.translate("", "chat\n", code=1)
        self.assertIn("line 1 has no tab", self.summary)


class Api(IntegrationTest):
    def ask(self, method, path, body=None, status=200, server=None, **headers):
        if isinstance(body, (dict, list)):
            body, headers = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
        got, self.headers, answer = (server or self.server).request(method, path, body=body, headers=headers)
        self.assertEqual(got, status, answer)
        return json.loads(answer) if answer and "json" in self.headers["Content-Type"] else answer.decode()

    def translate(self, glossary=None, status=200, text="Le chat dort.", **fields):
        body = {"text": text, "source": "fr", "target": "en", **fields}
        if glossary is not None:
            body["glossary"] = glossary
        answer = self.ask("POST", "/v1/translate", body, status)
        return answer["translations"][0] if status == 200 else answer["error"]

    def test_terms_of_the_request(self):
        self.server = self.start(MODELS)
        plain = self.translate()
        self.assertNotIn("terms", plain)
        for terms in ([{"source": "chat", "target": "hound"}], [["chat", "hound"]], {"chat": "hound"}, {"chat": ["hound"]}):
            said = self.translate({"terms": terms})
            self.assertIn("hound", said["text"])
            at = said["terms"][0].pop("target_start")
            self.assertEqual(said["text"][at:at + 5], "hound")
            self.assertEqual(said["terms"], [{"source": "chat", "target": "hound", "start": said["terms"][0]["start"],
                                              "length": said["terms"][0]["length"], "used": True, "target_length": 5}])
        said = self.translate({"terms": {"chien": "hound"}})
        self.assertEqual((said["text"], said["terms"]), (plain["text"], []))
        for wrong in (1, True, {}, {"terms": 1}, {"terms": []}, {"terms": {}}, {"terms": [1]}, {"terms": [["a"]]}, {"pairs": {}},
                      {"terms": [{"source": "a"}]}, {"terms": [{"target": "a"}]}, {"terms": [{"source": "", "target": "a"}]},
                      {"terms": [{"source": "a", "target": []}]}, {"terms": [{"source": "a", "target": [1]}]},
                      {"terms": [["a", "b"], ["a", "c"]]}, {"terms": {"a\n": "b"}}, {"terms": {"a": "b" * 2000}},
                      {"terms": [[f"t{i}", "x"] for i in range(1001)]}, [1], ["a"] * 6):
            error = self.translate(wrong, status=400)
            self.assertEqual(error["field"], "glossary", (wrong, error))
        self.assertEqual(self.translate("no-such", status=404)["code"], "no_such_glossary")

    def test_streams_never_show_what_a_term_replaces(self):
        self.server = self.start(MODELS)
        answer = self.ask("POST", "/v1/translate", {"text": "Le chat dort. Le chat est noir.", "source": "fr", "target": "en", "beam": 1,
                                                    "stream": True, "glossary": {"terms": {"chat": "hound"}}})
        tokens = [json.loads(line[5:])["text"] for line in answer.split("\n") if line.startswith("data:") and '"index"' in line
                  and '"text"' in line and '"translations"' not in line]
        done = json.loads(answer.split("event: done")[1].split("data:")[1].split("\n")[0])
        self.assertEqual("".join(tokens), done["translations"][0]["text"])
        self.assertNotIn("cat", "".join(tokens))

    def test_kept_on_disk_and_private(self):
        folder = os.path.join(self.directory, "glossaries")
        keys = os.path.join(self.directory, "keys.conf")
        secrets = {}
        for name in ("anna", "bert", "root"):
            flags = ["--role=admin"] if name == "root" else []
            done = subprocess.run([TOOL, "keys", "add", name, *flags, f"--file={keys}"], capture_output=True, check=True, text=True)
            secrets[name] = next(word for word in done.stdout.split() if word.startswith("dgk_"))
        flags = (MODELS, f"--glossaries-dir={folder}", f"--keys-file={keys}")
        self.server = self.start(*flags)
        anna, bert, root = ({"Authorization": "Bearer " + secrets[name]} for name in ("anna", "bert", "root"))
        body = {"name": "pets", "source": "fr", "target": "en", "terms": [["chat", "hound"]]}
        self.ask("POST", "/v1/glossaries", body, 403)
        made = self.ask("POST", "/v1/glossaries", body, 201, **anna)
        path = "/v1/glossaries/" + made["id"]
        self.assertEqual((made["count"], made["source"], made["own"]), (1, "fr", True))
        table = self.ask("POST", "/v1/glossaries?name=tab&source=fr&target=en", "chat\tfeline\tmoggy\nnoir\tdark\n".encode(), 201,
                         **{"Content-Type": "text/tab-separated-values", **anna})
        self.assertEqual(self.ask("GET", "/v1/glossaries/" + table["id"], **anna)["terms"][0],
                         {"source": "chat", "target": ["feline", "moggy"]})
        self.assertEqual(self.ask("GET", "/v1/glossaries/" + table["id"], Accept="text/csv", **anna), "chat,feline,moggy\nnoir,dark\n")
        self.ask("GET", path, status=404, **bert)
        self.ask("DELETE", path, status=404, **bert)
        self.assertEqual(self.ask("GET", "/v1/glossaries", **bert), {"glossaries": []})
        self.ask("POST", "/v1/glossaries", {**body, "shared": True}, 403, **anna)
        shared = self.ask("POST", "/v1/glossaries", {**body, "shared": True}, 201, **root)
        self.ask("PUT", "/v1/glossaries/" + shared["id"], body, 403, **bert)
        for wrong in ({}, {**body, "terms": []}, {**body, "x": 1}, {**body, "source": "x y"}, {**body, "terms": [["a", "b"], ["a", "c"]]}):
            self.assertIn("message", self.ask("POST", "/v1/glossaries", wrong, 400, **anna)["error"])
        self.ask("POST", "/v1/glossaries", b"{", 400, **anna)
        self.assertEqual(self.ask("PUT", path, {**body, "terms": [["chat", "dog"]]}, **anna)["id"], made["id"])
        ask = {"text": "Le chat dort.", "source": "fr", "target": "en", "glossary": made["id"]}
        self.assertIn("dog", self.ask("POST", "/v1/translate", ask, **anna)["translations"][0]["text"])
        self.ask("POST", "/v1/translate", ask, 404, **bert)
        self.ask("POST", "/v1/translate", {**ask, "glossary": shared["id"]}, **bert)
        # The first owner cannot change, in any format, a glossary that an administrator shared.
        common = self.ask("POST", "/v1/glossaries", body, 201, **anna)["id"]
        self.ask("PUT", "/v1/glossaries/" + common, {**body, "shared": True}, **root)
        self.ask("PUT", f"/v1/glossaries/{common}?name=pets&source=fr&target=en", b"chat\tflea\n", 403,
                 **{"Content-Type": "text/tab-separated-values", **anna})
        self.ask("DELETE", "/v1/glossaries/" + common, status=204, **root)
        # Glossaries that the server acknowledged exist after a crash; a damaged file is reported
        # and left alone.
        self.server.process.kill()
        self.server.expected_codes = (-9,)
        self.server.process.wait()
        with open(os.path.join(folder, "0" * 36 + ".json"), "w") as file:
            file.write("{")
        with open(keys, encoding="utf-8") as file:
            text = file.read()
        with open(keys, "w", encoding="utf-8") as file:
            file.write(text.replace("[key bert]\n", f"[key bert]\nglossary = {shared['id']}\n"))
        self.server = self.start(*flags)
        self.assertIn("a glossary is skipped", self.server.log())
        self.assertEqual([one["id"] for one in self.ask("GET", "/v1/glossaries", **anna)["glossaries"]],
                         [made["id"], table["id"], shared["id"]])
        self.assertIn("dog", self.ask("POST", "/v1/translate", ask, **anna)["translations"][0]["text"])
        by_default = {"text": "Le chat dort.", "source": "fr", "target": "en"}
        self.assertIn("hound", self.ask("POST", "/v1/translate", by_default, **bert)["translations"][0]["text"])
        self.assertIn("hound", self.ask("POST", "/translate", {"q": "Le chat dort.", "source": "fr", "target": "en"}, **bert)["translatedText"])
        self.assertNotIn("hound", self.ask("POST", "/v1/translate", {**by_default, "glossary": []}, **bert)["translations"][0]["text"])
        self.ask("DELETE", path, status=204, **anna)
        self.ask("GET", path, status=404, **anna)
        self.server.stop()
        self.assertEqual(len(os.listdir(folder)), 3)

    def test_their_order_is_kept_however_quickly_they_are_made(self):
        flags = (MODELS, f"--glossaries-dir={os.path.join(self.directory, 'glossaries')}")
        self.server = self.start(*flags)
        body = json.dumps({"name": "x", "source": "fr", "target": "en", "terms": [["chat", "hound"]]}).encode()
        request = b"POST /v1/glossaries HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        with self.server.connect() as connection:
            connection.sendall((request + body) * 40)
            answers = b""
            while answers.count(b"HTTP/1.1 201 ") < 40:
                part = connection.recv(65536)
                self.assertTrue(part, answers[-1000:])
                answers += part
        made = self.ask("GET", "/v1/glossaries")["glossaries"]
        self.assertEqual(len({one["created"] for one in made}), 40)
        self.server.stop()
        self.server = self.start(*flags)
        self.assertEqual([one["id"] for one in self.ask("GET", "/v1/glossaries")["glossaries"]], [one["id"] for one in made])

    def test_limits(self):
        self.server = self.start(MODELS, "--glossaries-max=4", "--trusted-proxies=127.0.0.1")
        body = terms = {"source": "fr", "target": "en", "terms": {"chat": "hound"}}
        for _ in range(2):
            kept = self.ask("POST", "/v1/glossaries", body, 201)
        self.assertIn("delete one first", self.ask("POST", "/v1/glossaries", body, 400)["error"]["message"])
        self.ask("POST", "/v1/translate", {"text": "Hello", "source": "en", "target": "ko", "glossary": kept["id"]}, 404)

        # Another client has its own space, sees its own glossaries, and needs an id for those that
        # are not its own.
        def other(method, path, content=None):
            headers = {"X-Forwarded-For": "192.0.2.2", "Content-Type": "application/json"}
            status, _, answer = self.server.request(method, path, json.dumps(content) if content else None, headers)
            return status, json.loads(answer) if answer else None

        self.assertEqual(other("GET", "/v1/glossaries"), (200, {"glossaries": []}))
        status, made = other("POST", "/v1/glossaries", body)
        self.assertEqual(status, 201, made)
        self.assertEqual([one["id"] for one in other("GET", "/v1/glossaries")[1]["glossaries"]], [made["id"]])
        self.assertEqual(other("GET", f"/v1/glossaries/{kept['id']}")[0], 200)
        self.assertEqual(other("DELETE", f"/v1/glossaries/{kept['id']}")[0], 204)
        # What counts is the memory that a glossary takes, not the length of its text, and
        # glossaries that are being read at the same time count as well.
        self.server = self.start(MODELS, "--glossaries-space=2MiB", "--trusted-proxies=127.0.0.1")
        tables = ["".join(f"{n}{i}\t{n}\n" for i in range(3000)) for n in "abcdefgh"]
        body = {"name": "x", "source_lang": "fr", "target_lang": "en", "entries_format": "tsv"}

        def add(table):
            return self.server.request("POST", "/v2/glossaries", json.dumps({**body, "entries": table}),
                                       {"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.3"})

        self.assertLess(max(len(table) for table in tables) * len(tables), 2**20)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(add, tables))
        self.assertEqual(sorted(status for status, _, _ in answers), [201] + [456] * 7, answers)
        for status, _, answer in answers:
            if status == 456:
                said = json.loads(answer)
                self.assertEqual(said["message"], "Quota Exceeded")
                self.assertIn("delete one first", said["detail"])
        status, answer = other("POST", "/v1/glossaries", {"source": "fr", "target": "en", "terms": {"chat": "hound"}})
        self.assertEqual(status, 201, answer)
        server = self.start(MODELS, "--glossaries=nobody")
        self.ask("POST", "/v1/glossaries", terms, 403, server=server)


class Limits(IntegrationTest):
    ask = Api.ask

    def test_long_texts_are_refused_as_each_api_does(self):
        self.server = self.start(MODELS, "--max-characters=20")
        text = "Le chat dort ici. \u00e9\u00e9"
        self.ask("POST", "/v1/translate", {"text": text, "target": "en", "source": "fr"})
        error = self.ask("POST", "/v1/translate", {"text": text + "!", "target": "en", "source": "fr"}, 400)["error"]
        self.assertEqual((error["code"], error["field"], error["limit"]), ("limit_reached", "text", 20))
        self.assertEqual(self.ask("POST", "/translate", {"q": text + "!", "target": "en", "source": "fr"}, 400),
                         {"error": "Invalid request: request (21) exceeds text limit (20)"})
        self.assertEqual(self.ask("GET", "/frontend/settings")["charLimit"], 20)
        self.assertIn("message", self.ask("POST", "/v2/translate", {"text": [text + "!"], "target_lang": "EN", "source_lang": "FR"}, 413))

    def test_what_is_lost_is_told_by_each_api(self):
        self.server = self.start(conf=f"[model without-bytes]\npath = {WITHOUT_BYTES}\nsource = fr\ntarget = en\n")
        said = self.ask("POST", "/v1/translate", {"text": "Le chat dort.", "source": "fr", "target": "en",
                                                  "glossary": {"terms": {"chat": "\u732b"}}})["translations"][0]
        self.assertFalse(said["terms"][0]["used"])
        body = {"name": "x", "source_lang": "fr", "target_lang": "en", "entries": "chat\t\u732b", "entries_format": "tsv"}
        made = self.ask("POST", "/v2/glossaries", body, 201)
        said = self.ask("POST", "/v2/translate", {"text": ["Le chat dort.", "Il pleut."], "target_lang": "EN", "source_lang": "FR",
                                                  "glossary_id": made["glossary_id"]})["translations"]
        self.assertEqual(said[0]["missed_terms"], ["chat"])
        self.assertNotIn("missed_terms", said[1])


class DeepL(IntegrationTest):
    """The calls of DeepL's version 2."""
    FORM = {"Content-Type": "application/x-www-form-urlencoded"}
    ask = Api.ask

    def test_their_calls(self):
        self.server = self.start(MODELS)
        self.assertEqual(self.ask("GET", "/v2/glossary-language-pairs"),
                         {"supported_languages": [{"source_lang": "fr", "target_lang": "en"}]})
        body = {"name": "pets", "source_lang": "FR", "target_lang": "en", "entries": "chat\thound\r\nnoir\tdark", "entries_format": "tsv"}
        made = self.ask("POST", "/v2/glossaries", body, 201)
        self.assertRegex(made["creation_time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual({name: made[name] for name in ("name", "ready", "source_lang", "target_lang", "entry_count")},
                         {"name": "pets", "ready": True, "source_lang": "fr", "target_lang": "en", "entry_count": 2})
        path = "/v2/glossaries/" + made["glossary_id"]
        self.assertEqual(self.ask("GET", path), made)
        form = self.ask("POST", "/v2/glossaries", urllib.parse.urlencode({**body, "entries": '"a, b",c,fr,en\n', "entries_format": "csv"}), 201, **self.FORM)
        self.assertEqual(self.ask("GET", "/v2/glossaries")["glossaries"], [made, form])
        self.assertEqual(self.ask("GET", path + "/entries", Accept="text/tab-separated-values"), "chat\thound\nnoir\tdark\n")
        self.assertEqual(self.ask("GET", path + "/entries", status=415, Accept="application/json"),
                         {"message": "No supported media type specified in Accept header"})
        ask = {"text": ["Le chat dort.", "Il pleut."], "target_lang": "EN-US", "source_lang": "FR", "glossary_id": made["glossary_id"]}
        self.assertIn("hound", self.ask("POST", "/v2/translate", ask)["translations"][0]["text"])
        self.assertEqual(self.ask("POST", "/v2/translate", {**ask, "source_lang": None}, 400),
                         {"message": "Use of a glossary requires the source_lang parameter to be specified"})
        for wrong, message, detail in (
                ({"entries": "a\tb\na\tc"}, "Invalid glossary entries provided",
                 "Key with the index 1 (starting at position 4) duplicates key with the index 0 (starting at position 0)"),
                ({"entries": "a"}, "Invalid glossary entries provided", "Key with the index 0 (starting at position 0) misses tab separator"),
                ({"entries": ""}, "Invalid glossary entries provided", "read no terms, expected one or more"),
                ({"target_lang": "DE"}, "Unsupported glossary source and target language pair", None),
                ({"name": ""}, "Missing or invalid argument: name", None),
                ({"entries": None}, "Parameter 'entries' not specified", None),
                ({"entries_format": "x"}, "Value for 'entries_format' not supported.", None)):
            answer = self.ask("POST", "/v2/glossaries", {**body, **wrong}, 400)
            self.assertEqual(answer, {"message": message, **({"detail": detail} if detail else {})})
        for name in body:
            for value in (0, 1.5, True, {}, [[]], [1], "\x00", "x" * 3000):
                got, _, answer = self.server.request("POST", "/v2/glossaries", body=json.dumps({**body, name: value}))
                self.assertIn(got, (201, 400), (name, value, answer))
        self.ask("DELETE", path, status=204)
        for method, where in (("GET", path), ("DELETE", path), ("GET", path + "/entries"), ("GET", "/v2/glossaries/x")):
            self.assertEqual(self.ask(method, where, status=404), {"message": "Glossary not found"})
        self.assertEqual(self.ask("POST", "/v2/translate", ask, 404), {"message": "Glossary not found"})


if __name__ == "__main__":
    main()
