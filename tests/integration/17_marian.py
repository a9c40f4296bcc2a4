# SPDX-License-Identifier: ISC
"""Imported models that the real Marian made: greedy search, beams, n-best lists, alignments and
scores agree with Marian's own decoder, sentence by sentence. Models and answers are among the
larger samples ($DRAGOMAN_SHARED/marian). Other tests check each rule without them:
tests/unit/decode/test_search.c (the beam), tests/unit/decode/test_shortlist.c,
tests/unit/network/test_net.c (pre-norm) and tests/unit/import/format/test_import_bergamot.c
(what the importer reads)."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
SAMPLES = os.path.join(os.environ.get("DRAGOMAN_SHARED", ""), "marian")
AS_MARIAN = ("--length-penalty", "1", "--max-ratio", "3", "--max-extra", "0", "--no-loop-guard")
SLOW = "DRAGOMAN_SLOW" in os.environ  # valgrind and similar tools look at fewer sentences


def run(*args, text=""):
    return subprocess.run([PROGRAM, *args], input=text, capture_output=True, text=True, timeout=600, check=True).stdout


def sample(name):
    with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
        return file.read().splitlines()


class Marian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.sources = sample("test.ids")[:50 if SLOW else 500]

    def imported(self, name, shortlist=False, end="npz"):
        folder = os.path.join(self.directory.name, f"{name}.{end}" + ("-lex" if shortlist else ""))
        if not os.path.isdir(folder):
            os.mkdir(folder)
            for file in (f"model.{name}.{end}", f"model.{name}.{end}.decoder.yml", "vocab.spm"):
                if os.path.exists(os.path.join(SAMPLES, file)):
                    shutil.copy(os.path.join(SAMPLES, file), folder)
            run("import", os.path.join(folder, f"model.{name}.{end}"), folder + "/out")
            if shortlist:
                shutil.copy(os.path.join(SAMPLES, "lex.bin"), folder + "/out")
        return folder + "/out"

    def texts(self, model, ids):
        return run("detokenize", "-m", model, "-f", "ids", text="\n".join(ids) + "\n").splitlines()

    def test_greedy_and_beams(self):
        for name, shortlist, beams, end in (
                ("student", False, (1, 4, 12), "npz"), ("student", True, (1, 4, 12), "npz"), ("student", True, (4,), "bin"),
                ("base", False, (1, 4), "npz"), ("s2s", False, (1, 4), "npz"), ("gelu", False, (1, 4), "npz"),
                ("prenorm", False, (1, 4), "npz")):
            model = self.imported(name, shortlist, end)
            for beam in beams:
                ids = run("translate", "-q", "--ids", "-m", model, "-b", str(beam), *AS_MARIAN,
                          "--shortlist" if shortlist else "--no-shortlist", text="\n".join(self.sources) + "\n").splitlines()
                theirs = sample(f"answers/{name}{'.lex' if shortlist else ''}.b{beam}.txt")
                with self.subTest(name=name, end=end, shortlist=shortlist, beam=beam):
                    self.assertEqual(self.texts(model, ids), theirs[:len(self.sources)])

    def test_at_the_length_limit(self):
        """One line whose answer is an unfinished hypothesis, which wins over finished ones."""
        source = sample("odd.ids")[16]
        model = self.imported("base")
        ids = run("translate", "-q", "--ids", "-m", model, "-b", "4", *AS_MARIAN, "--no-shortlist", text=source + "\n")
        self.assertEqual(self.texts(model, ids.splitlines()), [sample("answers/base.b4.odd.txt")[16]])
        self.assertNotEqual(ids.split()[-1], "0")

    def test_n_best_lists(self):
        sources = self.sources[:10 if SLOW else 50]
        for name in "student", "base", "s2s", "gelu", "prenorm":
            model = self.imported(name)
            lines = run("translate", "-q", "--ids", "-m", model, "-b", "4", "-n", "4", "--json", *AS_MARIAN, "--no-shortlist",
                        text="\n".join(sources) + "\n").splitlines()
            answers = [(i, answer) for i, line in enumerate(lines) for answer in json.loads(line)["answers"]]
            texts = self.texts(model, [" ".join(map(str, answer["ids"])) for _, answer in answers])
            theirs = [line.split(" ||| ") for line in sample(f"answers/{name}.b4.nbest.txt")]
            theirs = [line for line in theirs if int(line[0]) < len(sources)]
            with self.subTest(name=name):
                self.assertEqual([(i, text) for (i, _), text in zip(answers, texts)],
                                 [(int(line[0]), line[1]) for line in theirs])
                for (_, answer), line in zip(answers, theirs):
                    self.assertAlmostEqual(answer["score"], float(line[-1]), delta=4e-5)  # the error of Marian itself

    def test_scores(self):
        n = 20 if SLOW else 100
        pairs = "".join(f"{source}\t{target}\n" for source, target in zip(sample("test.fr")[:n], sample("test.en")))
        for name in "student", "base", "s2s", "gelu", "prenorm":
            lines = run("score", "-m", self.imported(name), text=pairs).splitlines()
            with self.subTest(name=name):
                self.assertEqual(len(lines), n)
                for ours, line in zip(lines, sample(f"answers/{name}.wordscores.txt")):
                    ours, theirs = json.loads(ours), line.split(" ||| WordScores= ")
                    words = [float(word) for word in theirs[1].split()]
                    self.assertEqual(len(ours["token_logprobs"]), len(words))
                    for one, other in zip(ours["token_logprobs"], words):
                        self.assertAlmostEqual(one, other, delta=6e-5)  # the error of Marian itself, and its rounding
                    self.assertAlmostEqual(ours["logprob"], float(theirs[0]), delta=6e-5 * len(words))

    def test_alignments(self):
        sources = self.sources[:10 if SLOW else 50]
        for name in "student", "base", "s2s", "gelu", "prenorm":
            lines = run("translate", "-q", "--ids", "-m", self.imported(name), "-b", "1", "--alignment", *AS_MARIAN,
                        "--no-shortlist", text="\n".join(sources) + "\n").splitlines()
            theirs = sample(f"answers/{name}.b1.hard.txt")
            with self.subTest(name=name):
                for ours, line in zip(lines, theirs):
                    self.assertEqual(sorted(ours.split(" ||| ")[1].split()), sorted(line.split(" ||| ")[1].split()))

    def test_soft_alignments(self):
        sources = self.sources[:10 if SLOW else 50]
        for name in "student", "base", "s2s", "gelu", "prenorm":
            lines = run("translate", "-q", "--ids", "-m", self.imported(name), "-b", "1", "--soft-alignment", *AS_MARIAN,
                        "--no-shortlist", text="\n".join(sources) + "\n").splitlines()
            theirs = sample(f"answers/{name}.b1.soft.txt")
            with self.subTest(name=name):
                for ours, line in zip(lines, theirs):
                    ours, line = ([[float(weight) for weight in token.split(",")] for token in each.split(" ||| ")[1].split()]
                                  for each in (ours, line))
                    self.assertEqual([len(token) for token in ours], [len(token) for token in line])
                    for one, other in zip(ours, line):
                        self.assertLess(max(abs(a - b) for a, b in zip(one, other)), 2e-4)


if __name__ == "__main__":
    if not os.path.isdir(SAMPLES):
        print("skipped: needs the models of the real Marian in $DRAGOMAN_SHARED/marian")
        sys.exit(77)
    unittest.main()
