#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
# Tiers: gcc
"""The pairs of models/recipe: what the grammars write, and that no model learns from the test
sentences."""
import importlib
import os
import re
import subprocess
import sys
import tempfile
import unittest

RECIPE = os.path.join(os.environ.get("srcdir", "."), "models", "recipe")
sys.path[:0] = [os.path.join(RECIPE, "grammar"), RECIPE]
sys.dont_write_bytecode = True
numerals = importlib.import_module("numerals")
frames = importlib.import_module("frames")
collect = importlib.import_module("collect")
# Slots that name the same thing, each in the form that its side needs.
ONE_THING = {"ofking": "king", "ofmonth": "month", "ofothercity": "othercity", "ofcity": "city",
             "national": "country", "thelanguage": "language",
             "oflanguage": "language", "fromlanguage": "language",
             "theotherlanguage": "otherlanguage", "thecolour": "colour",
             "incountry": "country", "fromcountry": "country", "ofcountry": "country",
             "thingname": "thing", "thething": "thing",
             "thisthing": "thing", "be": "who", "verb have": "who", "verb come": "who",
             "verb go": "who", "verb learn": "who",
             "mark e": "titled", "barecountry": "country", "colour m": "colour"}


DIGITS = "un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|trente|quarante|soixante"


def run(program, *args):
    return subprocess.run([sys.executable, "-B", os.path.join(RECIPE, program), *args],
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8")


def written(*args):
    done = run("grammar", *args)
    if done.returncode:
        raise AssertionError(done.stderr)
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def figures(text):
    """The numbers in figures, without the marks that group their digits."""
    return sorted(re.findall(r"\d+", re.sub(r"(?<=\d)[ ,.](?=\d)", "", text)))


class Numerals(unittest.TestCase):
    def test_french_follows_the_classical_rule(self):
        for n, words in ((0, "zéro"), (16, "seize"), (21, "vingt et un"), (22, "vingt-deux"),
                         (70, "soixante-dix"),
                         (71, "soixante et onze"), (79, "soixante-dix-neuf"), (80, "quatre-vingts"),
                         (81, "quatre-vingt-un"),
                         (91, "quatre-vingt-onze"), (100, "cent"), (101, "cent un"),
                         (180, "cent quatre-vingts"),
                         (200, "deux cents"), (201, "deux cent un"), (1000, "mille"),
                         (1001, "mille un"), (1100, "mille cent"),
                         (2000, "deux mille"), (80000, "quatre-vingt mille"),
                         (200000, "deux cent mille"),
                         (200200, "deux cent mille deux cents"),
                         (281080, "deux cent quatre-vingt-un mille quatre-vingts"),
                         (1000000, "un million")):
            self.assertEqual(numerals.french(n), words)

    def test_one_agrees_with_a_feminine_noun(self):
        for n, words in ((1, "une"), (11, "onze"), (21, "vingt et une"), (71, "soixante et onze"),
                         (81, "quatre-vingt-une"),
                         (91, "quatre-vingt-onze"), (1001, "mille une"),
                         (21000, "vingt et un mille")):
            self.assertEqual(numerals.french(n, True), words)

    def test_english(self):
        for n, words in ((0, "zero"), (12, "twelve"), (40, "forty"), (99, "ninety-nine"),
                         (100, "one hundred"),
                         (105, "one hundred and five"), (1005, "one thousand and five"),
                         (1234, "one thousand two hundred and thirty-four"),
                         (100000, "one hundred thousand"), (1000000, "one million")):
            self.assertEqual(numerals.english(n), words)

    def test_ordinals(self):
        for n, french, english, ranks in ((1, "premier", "first", ("1er", "1st")),
                                          (4, "quatrième", "fourth", ("4e", "4th")),
                                          (5, "cinquième", "fifth", ("5e", "5th")),
                                          (9, "neuvième", "ninth", ("9e", "9th")),
                                          (12, "douzième", "twelfth", ("12e", "12th")),
                                          (20, "vingtième", "twentieth", ("20e", "20th")),
                                          (21, "vingt et unième", "twenty-first", ("21e", "21st")),
                                          (80, "quatre-vingtième", "eightieth", ("80e", "80th")),
                                          (113, "cent treizième", "one hundred and thirteenth",
                                           ("113e", "113th")),
                                          (200, "deux centième", "two hundredth",
                                           ("200e", "200th"))):
            self.assertEqual((numerals.french_ordinal(n), numerals.english_ordinal(n)),
                             (french, english))
            self.assertEqual((numerals.french_ordinal_figures(n),
                              numerals.english_ordinal_figures(n)), ranks)
        self.assertEqual(numerals.french_ordinal(1, True), "première")

    def test_decimals_years_and_figures(self):
        self.assertEqual((numerals.french_decimal(3, "05"), numerals.english_decimal(3, "05")),
                         ("trois virgule zéro cinq", "three point zero five"))
        self.assertEqual((numerals.french_figures(12000), numerals.english_figures(12000)),
                         ("12 000", "12,000"))
        for year, words in ((1984, "nineteen eighty-four"), (1900, "nineteen hundred"),
                            (1906, "nineteen oh six"),
                            (2000, "two thousand"), (2005, "two thousand and five"),
                            (2023, "twenty twenty-three")):
            self.assertEqual(numerals.english_year(year), words)

    def test_every_number_has_its_own_words(self):
        for words in (numerals.french, numerals.english):
            self.assertEqual(len({words(n) for n in range(0, 100000, 7)}), len(range(0, 100000, 7)))


class Grammar(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pairs = written()

    def test_enough_and_each_once(self):
        self.assertGreaterEqual(len(self.pairs), 100000)
        self.assertEqual(len(set(self.pairs)), len(self.pairs))

    def test_a_seed_gives_the_same_pairs(self):
        self.assertEqual(written("--pairs", "500", "--seed", "3"),
                         written("--pairs", "500", "--seed", "3"))
        self.assertNotEqual(written("--pairs", "500", "--seed", "3"),
                            written("--pairs", "500", "--seed", "4"))

    def test_form(self):
        faults = (r"[{}|’]|  |^ | $", r"^[a-zà-ÿœ].*(?<![ap]\.m)[.!?]$|[?!] [a-zà-ÿœ]")
        french_faults = (r"\S[?!;:]( |$)|« \S*[^ ]»",
                         r"\b([Jj]e|[Mm]e|[Tt]e|[Ss]e|[Ll]e|[Ll]a|[Nn]e|[Dd]e|[Cc]e|[Mm]a|[Tt]a|[Ss]a) (?!une? |onz|[Yy]|[IVX]+e )[aeiouyâàéèêëîïôœAEIOUÉÈ]",
                         r"\bà le[s]? \w|\bde les? (?!\d)",
                         r"\b[Uu]n une\b|\bde de\b|\bvingts-|\b(cents|vingts) (" + DIGITS + r"|mille)\b")
        english_faults = (r" [?!;:]", r"\b[Aa] [aeio]|\b[Aa]n [bcdfgjklmnpqrstvwxyz]",
                          r"\.\.(?!\.)(?<!\.\.\.)$")
        for french, english in self.pairs[::5]:
            for text, patterns in ((french, faults + french_faults),
                                   (english, faults + english_faults)):
                for pattern in patterns:
                    if text.endswith("...") or text.count("@"):
                        continue
                    self.assertIsNone(re.search(pattern, text), f"{french} | {english}: {pattern}")

    def test_both_sides_have_the_same_figures(self):
        for french, english in self.pairs:
            if not re.search(r"[ap]\.m\.|centur|/", english):
                self.assertEqual(figures(french), figures(english), f"{french} | {english}")

    def test_both_sides_of_a_frame_speak_of_the_same(self):
        for _, lines in frames.TOPICS.values():
            for line in lines.strip().splitlines():
                sides = [{ONE_THING.get(slot, ONE_THING.get(slot.split()[0], slot))
                          for slot in re.findall(r"\{([a-z ]+)\}", side)}
                         for side in line.split(" | ")]
                self.assertEqual(*sides, line)

    def test_every_topic_is_there_and_none_drowns_the_rest(self):
        total = sum(weight for weight, _ in frames.TOPICS.values())
        for topic, (weight, lines) in frames.TOPICS.items():
            self.assertLess(weight / total, 0.2, topic)
            self.assertGreater(len(lines.strip().splitlines()), 15, topic)

    def test_what_is_measured_on_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            away = os.path.join(folder, "away.tsv")
            with open(away, "w", encoding="utf-8") as out:
                out.writelines(f"{french.upper()}\tno\n" for french,
                               _ in written("--topic", "days", "--pairs", "200"))
            pairs = written("--topic", "days", "--pairs", "200", "--seed", "2", "--away", away)
            learned = os.path.join(folder, "learned.tsv")
            with open(learned, "w", encoding="utf-8") as out:
                out.writelines("\t".join(pair) + "\n" for pair in pairs)
            self.assertTrue(pairs)
            self.assertEqual(run("apart.py", away, "--", learned).returncode, 0)


class Written(unittest.TestCase):
    def test_every_line_is_a_pair_of_the_right_form(self):
        folder = os.path.join(RECIPE, "written")
        names = [name for name in sorted(os.listdir(folder)) if name.endswith(".gz")]
        self.assertEqual(len(names), 7)
        for name in names:
            for line in collect.lines(os.path.join(folder, name)):
                self.assertRegex(line, r"^[^\t]*\w[^\t]*\t[^\t]*\w[^\t]*$", name)
                self.assertNotRegex(line, r"[’“”]|  |^ | $| \t|\t |\t.* [?!;]|^[^\t]*[^\s?!.\t][?!;](\s|$)", name)


class Titles(unittest.TestCase):
    def test_english_gets_capitals_and_french_stays(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pairs.tsv")
            with open(path, "w", encoding="utf-8") as file:
                for i in range(2000):
                    file.write(f"Le chat {i} dort sur un lit.\tThe cat {i} is asleep on a bed.\n")
                file.write("Non.\tNo.\nIl dit : « Oui. » Puis il part.\tHe says: \"Yes.\" Then he leaves.\n" * 200)
            done = run("titles.py", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, run("titles.py", path).stdout)
        pairs = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertTrue(80 < len(pairs) < 250, len(pairs))
        for french, english in pairs:
            self.assertRegex(french, r"^Le chat \d+ dort sur un lit$")
            self.assertRegex(english, r"^The Cat \d+ Is Asleep (On A|on a) Bed$")
        self.assertEqual(len({"On A" in english for _, english in pairs}), 2)


class Apart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, *lines):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
        return path

    def test_a_shared_side_is_found_whatever_its_marks(self):
        dev = self.file("dev.tsv", "Bonjour, Tom !\tHello, Tom!", "Il pleut.\tIt's raining.")
        done = run("apart.py", dev, "--",
                   self.file("a.tsv", "Salut.\tHi.", "bonjour tom\tgood day, Tom"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("bonjour tom", done.stdout)
        self.assertEqual(run("apart.py", dev, "--", self.file("b.tsv", "Salut.\tHi.")).returncode,
                         0)

    def test_collected_pairs_are_apart(self):
        dev = self.file("dev.tsv", "Il pleut.\tIt's raining.")
        pairs = self.file("pairs.tsv", "Il pleut !\tIt rains!",
                          *(f"La phrase numéro {i} est là.\tSentence number {i} is here."
                            for i in range(50)))
        other = self.file("other.tsv",
                          *(f"La phrase numéro {i} est là.\tHere is sentence {i}."
                            for i in range(0, 50, 5)))
        out = os.path.join(self.folder.name, "out")
        done = run("collect.py", out, dev, "--", pairs + "=7", other + "=0/2")
        self.assertEqual(done.returncode, 0, done.stderr)
        held = os.path.join(out, "dev.tsv")
        with open(held, encoding="utf-8") as lines:
            self.assertEqual(len(list(lines)), 7)
        files = [os.path.join(out, name) for name in ("pairs.tsv", "other.tsv")]
        self.assertEqual(run("apart.py", dev, held, "--", *files).returncode, 0)
        with open(files[0], encoding="utf-8") as lines:
            self.assertEqual(len(list(lines)), 43)


if __name__ == "__main__":
    unittest.main()
