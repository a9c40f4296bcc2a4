# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""What must survive a translation does: a thousand strings with spans of every kind, translated by
the command; and the fields `protected` and `lost` of the API."""
import json
import os
import random
import re
import subprocess
import sys
import unittest

from harness import MODELS_DIR, SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import spans  # noqa: E402

N, EXAMPLES = 1000, 5
TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")


class Thousand(unittest.TestCase):
    def test_spans_come_back_once_in_order_and_in_place(self):
        self.check(N, 1)

    def test_with_a_beam(self):
        self.check(N // 5, 4)

    def check(self, n, beam):
        items = list(spans.strings(n))
        lines = "".join(text + "\n" for text, _ in items)
        done = subprocess.run([TOOL, "translate", "--model", MODEL, "--beam", str(beam)], input=lines.encode(), capture_output=True,
                              timeout=600, check=True)
        answers = done.stdout.decode().split("\n")
        totals, faults = [0, 0, 0], []
        for (text, expected), answer in zip(items, answers):
            verdict = spans.judge(text, expected, answer)
            totals = [total + good for total, good in zip(totals, verdict)]
            if not all(verdict):
                faults.append(f"{text}\n      {answer}")
        shares = [100 * total / n for total in totals]
        print("exactly once %.1f%%, in order %.1f%%, not swept to the end %.1f%%" % tuple(shares))
        print("\n".join(faults[:EXAMPLES]))
        self.assertGreaterEqual(shares[0], 98)
        self.assertGreaterEqual(shares[1], 95)
        self.assertGreaterEqual(shares[2], 95)


class Signs(unittest.TestCase):
    """Entities and escapes that a program wrote in place of a character: the model sees the
    character."""
    def test_the_same_as_with_the_characters(self):
        pairs = [("C&#39;est la maison de mon père.", {"'": "&#39;"}), ("Le chat &amp; le chien dorment.", {"&": "&amp;"}),
                 ("Il a dit : &quot;Bonjour.&quot;", {'"': "&quot;"}), (r'Il a dit : \"Bonjour.\"', {'"': r'\"'}),
                 (r"L\'eau est froide.", {"'": r"\'"})]
        texts = [text for text, _ in pairs]
        for text, signs in pairs:
            for character, sign in signs.items():
                text = text.replace(sign, character)
            texts.append(text)
        texts += [r"Merci.\nOù est la gare ?", "Merci.", "Où est la gare ?"]
        done = subprocess.run([TOOL, "translate", "--model", MODEL], input="\n".join(texts), capture_output=True, encoding="utf-8",
                              timeout=600, check=True)
        answers = done.stdout.splitlines()
        for (_, signs), answer, expected in zip(pairs, answers, answers[len(pairs):]):
            for character, sign in signs.items():
                expected = expected.replace(character, sign)
            self.assertEqual(answer, expected)
        self.assertEqual(answers[-3], "\\n".join(answers[-2:]))


class Tags(unittest.TestCase):
    """A pair of tags in plain text goes where its words go, as in HTML; and the model sees the words alone."""
    def test_the_same_as_in_a_page(self):
        texts = ["La voiture <i>rouge</i> est rapide.", "Bonjour <b>le monde</b>", "Il habite dans <a href=\"u\">une grande maison</a> blanche.",
                 "Merci.<br>Où est la gare ?", "Lancez <code>make</code> maintenant.", "Cliquez <b>ici {0}</b>."]

        def translate(text, *options):
            return subprocess.run([TOOL, "translate", "--model", MODEL, *options], input=text, capture_output=True, encoding="utf-8",
                                  timeout=600, check=True).stdout.splitlines()

        answers = translate("\n".join(texts))
        self.assertEqual(answers, [translate(text, "--format=html")[0] for text in texts])
        self.assertIn("<i>red</i> car", answers[0])
        self.assertIn("{0}", answers[5])


class Numbers(unittest.TestCase):
    """The model translates years, prices, times and the like; a number that it gets wrong is
    copied."""
    FRAMES = ["In {year} the company had a new factory.", "The ticket costs ${price}.", "The city has {many} inhabitants.",
              "The train leaves at {hour}:{minute:02}.", "The temperature was {decimal} degrees.", "The report mentions {many} cases.",
              "Room {year} is on the third floor.", "The code is {long}.", "Between {year} and {year2} the city grew quickly."]

    def sentences(self, n):
        rng = random.Random(4)
        for i in range(n):
            yield self.FRAMES[i % len(self.FRAMES)].format(
                year=rng.randint(1000, 2100), year2=rng.randint(1000, 2100), price="%.2f" % rng.uniform(1, 999), hour=rng.randint(1, 23),
                minute=rng.randint(10, 59), many=f"{rng.randint(1000, 999999):,}", decimal="%.1f" % rng.uniform(1, 999),
                long=rng.randint(10000, 999999))

    def test_no_number_is_wrong_and_most_are_said_as_the_language_says_them(self):
        sentences = list(self.sentences(360))
        for beam in ("1", "4"):
            done = subprocess.run([TOOL, "translate", "-q", "--model", os.path.join(SOURCES, "models", "en-fr"), "--beam", beam],
                                  input="\n".join(sentences) + "\n", capture_output=True, encoding="utf-8", timeout=600, check=True)
            answers = done.stdout.splitlines()
            self.assertEqual(len(answers), len(sentences))
            own = 0
            for sentence, answer in zip(sentences, answers):
                numbers = re.findall(r"\d[\d.,:]*\d", sentence)
                joined = re.sub(r"(?<=\d)([ .,:\u00a0\u202f]| ?h ?)(?=\d)", "", answer)
                for number in numbers:
                    self.assertRegex(joined, rf"(?<!\d){re.sub('[.,:]', '', number)}(?!\d)", (sentence, answer))
                own += any(set(number) & set(".,:") and number not in answer for number in numbers)
            self.assertGreater(own, len(sentences) / 4)

    def test_they_follow_the_language(self):
        def said(model, text):
            return subprocess.run([TOOL, "translate", "-q", "--model", os.path.join(SOURCES, "models", model)], input=text + "\n",
                                  capture_output=True, encoding="utf-8", check=True).stdout.strip()
        self.assertIn("12,50", said("en-fr", "It costs $12.50."))
        self.assertRegex(said("en-fr", "The train leaves at 8:45 a.m."), "8 ?h ?45")
        self.assertIn("1,234", said("fr-en", "1 234 pages"))
        self.assertIn("192.168.0.1", said("en-fr", "The address is 192.168.0.1."))


def by_command(model, text, *options):
    return subprocess.run([TOOL, "translate", "-q", "--model", os.path.join(SOURCES, "models", model), *options], input=text + "\n",
                          capture_output=True, encoding="utf-8", check=True).stdout.strip()


class Switches(unittest.TestCase):
    """Each thing that dragoman does for the model can be switched off and left to the model."""
    PRICE, TITLE, PHRASE = "The price is 1,500.50 euros.", "President Obama Visits Paris On Monday", "Hello {{first-name}}, you have %(count)d new messages."

    def test_numbers_are_copied_if_asked_for(self):
        self.assertIn("1 500,50", by_command("en-fr", self.PRICE))
        self.assertIn("1,500.50", by_command("en-fr", self.PRICE, "--copy-numbers"))

    def test_placeholders_are_the_models_if_asked_for(self):
        self.assertIn("{{first-name}}", by_command("en-fr", self.PHRASE))
        self.assertNotEqual(by_command("en-fr", self.PHRASE, "--no-protect"), by_command("en-fr", self.PHRASE))

    def test_names_of_a_title_keep_their_capital(self):
        answer = by_command("en-fr", self.TITLE)
        self.assertIn("Paris", answer)
        self.assertIn("lundi", answer)
        self.assertNotEqual(by_command("en-fr", self.TITLE, "--keep-case"), answer)

    def test_not_for_ids(self):
        for option in "--copy-numbers", "--no-protect", "--keep-case":
            done = subprocess.run([TOOL, "translate", "--model", MODEL, "--ids", option], input="1\n", capture_output=True, encoding="utf-8")
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("is for text, not for --ids", done.stderr)


class Capitals(unittest.TestCase):
    def test_a_word_is_not_copied_for_its_capital(self):
        """The vocabulary spells the word's capital in bytes, but knows the small letter."""
        done = subprocess.run([TOOL, "translate", "-q", "--model", MODEL], input="Êtes-vous français ?\nDvořák est né à Łódź.\n",
                              capture_output=True, encoding="utf-8", check=True)
        you, him = done.stdout.splitlines()
        self.assertNotIn("Êtes", you)
        self.assertIn("Dvořák", him)
        self.assertIn("Łódź", him)


class Unknown(unittest.TestCase):
    """A word that the vocabulary cannot spell is copied, and the unknown word (U+2047) never shows."""
    LINES = (("J'ai rencontré Antonín Dvořák à Łódź hier.", ("Dvořák", "Łódź")),
             ("Le président 习近平 est arrivé.", ("习近平",)),
             ("Le mot « ő » est court.", ("ő",)),
             ("Le chat 世界 et le chien 界世.", ("世界", "界世")),
             ("Nous avons parlé avec Оле́на Шевче́нко et Ştefan Dăncilă.", ("Оле́на Шевче́нко", "Ştefan Dăncilă")))

    def test_unknown_characters_come_through(self):
        for model in "fr-en", "en-fr":
            for beam in "1", "4":
                text = "".join(line + "\n" for line, _ in self.LINES)
                done = subprocess.run([TOOL, "translate", "--model", os.path.join(SOURCES, "models", model), "--beam", beam],
                                      input=text.encode(), capture_output=True, timeout=600, check=True)
                answers = done.stdout.decode().splitlines()
                self.assertNotIn("\u2047", done.stdout.decode())
                for (_, names), answer in zip(self.LINES, answers, strict=True):
                    for name in names:
                        self.assertEqual(answer.count(name), 1, answer)

    def test_nothing_unknown_shows_where_nothing_is_protected(self):
        done = subprocess.run([TOOL, "translate", "--model", MODEL, "--prefix", "I met"], input="J'ai vu Dvořák à Łódź.\n".encode(),
                              capture_output=True, timeout=600, check=True)
        self.assertNotIn("\u2047", done.stdout.decode())


class Fields(IntegrationTest):
    def translate(self, server, **fields):
        status, _, body = server.request("POST", "/v1/translate", body=json.dumps({"target": "en", **fields}).encode())
        return status, json.loads(body)

    def start_with_model(self):
        return self.start(f"--models-dir={MODELS_DIR}")

    def test_protected_text_and_what_is_lost(self):
        server = self.start_with_model()
        status, answer = self.translate(server, text="Le chat dort dans la maison.", protected=["chat", "absent"])
        self.assertEqual(status, 200, answer)
        item = answer["translations"][0]
        self.assertEqual(item["text"].count("chat"), 1)
        self.assertNotIn("lost", item)
        status, answer = self.translate(server, text="Ouvrez {0} maintenant, puis fermez la porte.", max_length=1)
        self.assertEqual(status, 200, answer)
        item = answer["translations"][0]
        self.assertTrue("{0}" in item["text"] or item["lost"] == ["{0}"], item)
        for fields in ({"text": "Ken Follett, @a {0}", "protected": ["Ken Follett"]}, {"text": '<i translate="no">chat</i> @a <code>noir</code>', "format": "html"}):
            status, answer = self.translate(server, **fields)  # nothing is left to translate
            self.assertEqual((status, answer["translations"][0]["text"], answer["usage"]["output_tokens"]), (200, fields["text"], 0))
        price = "Le livre coûte 1 500,50 euros."
        for fields, expected in (({}, "1,500.50"), ({"copy_numbers": True}, "1 500,50"), ({"copy_numbers": False, "protect": True}, "1,500.50")):
            status, answer = self.translate(server, text=price, **fields)
            self.assertEqual(status, 200, answer)
            self.assertIn(expected, answer["translations"][0]["text"])
        status, answer = self.translate(server, text="Bonjour {{first-name}}, vous avez %(count)d messages.", protect=False)
        self.assertEqual(status, 200, answer)
        free = answer["translations"][0]["text"]
        status, answer = self.translate(server, text="Bonjour {{first-name}}, vous avez %(count)d messages.")
        self.assertNotEqual(answer["translations"][0]["text"], free)
        status, answer = self.translate(server, text=price, protect="no")
        self.assertEqual((status, answer["error"]["field"]), (400, "protect"))
        status, answer = self.translate(server, text="x", protected=[""])
        self.assertEqual((status, answer["error"]["field"]), (400, "protected"))

    def test_words_that_stand_for_spans_never_make_a_sentence_too_long(self):
        """The text already contains the short names that may stand for spans. The spans therefore
        get other names that are longer than the spans, which take the sentence up to the bound
        and over it."""
        names = ("Tom Ken Boston Bob Bill Jack John Jim Mike Alice Peter Kate Jane Tony Smith Tokyo Kyoto Brown Chris Anna Berlin "
                 "Max George Fred Meg Dan")
        models = os.path.join(SOURCES, "models")
        server = self.start("--source-max=80", conf=f"[model fr-en]\npath = {models}/fr-en\nsource = fr\ntarget = en\n"
                            f"[model en-de]\npath = {models}/en-fr\nsource = en\ntarget = de\n")
        for target in ("en", "de"):
            for k in range(4, 16):
                text = "le " * k + names + " a 3% et 4% et 5% et 6% et 7%"
                status, answer = self.translate(server, text=text, source="fr", target=target, beam=1)
                self.assertEqual(status, 200, answer)
                item = answer["translations"][0]
                for span in ("3%", "4%", "5%", "6%", "7%"):
                    self.assertTrue(span in item["text"] or span in item.get("lost", ()), (span, item))


if __name__ == "__main__":
    main()
