# SPDX-License-Identifier: ISC
"""Models of every family, trained on a toy language in a second (tests/support/toy_language.py):
they translate and are served; the textbook's options; classifiers."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from harness import SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import toy_language  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
NEW = toy_language.pairs(40, seed=99)


def run(*args, text="", check=True):
    done = subprocess.run([PROGRAM, *args], input=text, capture_output=True, timeout=300, check=False, encoding="utf-8")
    if check and done.returncode != 0:
        raise AssertionError(f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr}")
    return done


class TrainRnn(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.root = tempfile.mkdtemp(prefix="dg-rnn-")
        self.addCleanup(shutil.rmtree, self.root)
        self.models = os.path.join(self.root, "models")
        os.mkdir(self.models)
        self.pairs = os.path.join(self.root, "toy.tsv")
        self.write(self.pairs, "".join(f"{s}\t{t}\n" for s, t in toy_language.pairs(400)))

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def train(self, name, *more):
        out = os.path.join(self.models, name)
        done = run("train", "--out", out, *toy_language.COMMON, *toy_language.RECIPES[name], *more, self.pairs)
        return out, done.stderr

    def right(self, model, *more):
        answer = run("translate", "--model", model, *more, text="".join(s + "\n" for s, _ in NEW)).stdout.splitlines()
        return sum(a == t for a, (_, t) in zip(answer, NEW))

    def test_every_family_learns_the_toy_language_and_is_served(self):
        for name in toy_language.RECIPES:
            model, _ = self.train(name)
            self.assertGreaterEqual(self.right(model), 20 if name == "gru-none" else 36, name)
        server = self.start(f"--models-dir={self.models}")
        for name in toy_language.RECIPES:
            status, _, body = server.request("POST", "/v1/translate", body=json.dumps(
                {"text": [s for s, _ in NEW[:8]], "model": name}).encode())
            self.assertEqual(status, 200, body)
            texts = [t["text"] for t in json.loads(body)["translations"]]
            self.assertGreaterEqual(sum(a == t for a, (_, t) in zip(texts, NEW)), 3, name)
        status, _, body = server.request("POST", "/v1/score", body=json.dumps(
            {"text": "bato miru zari lusa", "translation": "red apple eats cloud", "model": "lstm-dot", "attention": True}).encode())
        self.assertEqual(status, 200, body)
        attention = json.loads(body)["scores"][0]["attention"]
        for row in attention:
            self.assertAlmostEqual(sum(row), 1.0, places=2)

    def test_shown_quantised_and_resumed(self):
        model, _ = self.train("gru-additive", "--encoder-layers", "2")
        shown = run("inspect", model).stdout
        self.assertIn("plain recurrent encoder-decoder, gru cells, bidirectional encoder, attention: additive", shown)
        self.assertEqual(json.loads(run("inspect", "--json", model).stdout)["attention"], "additive")
        with open(os.path.join(model, "card.md"), encoding="utf-8") as card:
            self.assertIn("| recurrent encoder-decoder of gru cells, both ways; width 32, 2 layers to read and 1 to write, "
                          "attention: additive |", card.read())
        self.assertGreaterEqual(self.right(model, "--beam", "1"), 36)
        done = run("train", "--resume", model, "--steps", "262")
        self.assertIn("going on after step 260", done.stderr)
        refused = run("train", "--resume", model, "--cell", "lstm", check=False)
        self.assertIn("--cell is gru in this run and cannot become lstm", refused.stderr)

    def test_the_textbook(self):
        lines = ["Je suis grand.\tI'm tall.", "Elle est là !\tShe is here!", "Il court.\tHe runs.",
                 "Ils sont très très très très très très très grands ici.\tThey are very very very very very very very tall here.",
                 "Nous sommes prêts ?\tWe are ready?", "Tu es bon.\tYou are good."]
        path, out = os.path.join(self.root, "fr-en.tsv"), os.path.join(self.models, "textbook")
        self.write(path, "\n".join(lines) + "\n")
        done = run("train", "--out", out, "--family", "rnn", "--attention", "location", "--places", "10", "--width", "16",
                   "--vocab-kind", "word", "--normaliser", "ascii", "--words-max", "9", "--len-max", "10", "--dev-pairs", "0",
                   "--len-ratio", "0", "--target-begins", "i am,i m,he is,he s,she is,she s,you are,you re,we are,we re,they are",
                   "--optimiser", "sgd", "--rate", "0.05", "--schedule", "constant", "--warmup", "0", "--clip", "0", "--average",
                   "0", "--smoothing", "0", "--dropout", "0.1", "--loss", "sentence", "--teacher-forcing", "0.5",
                   "--batch-tokens", "1", "--part-tokens", "16", "--threads", "1", "--steps", "1500", path)
        self.assertIn("2 pairs were left out by --words-max or --target-begins; 4 stay", done.stderr)
        self.assertIn("4 pairs, 20 + 20 tokens, 0 of them unknown", done.stderr)
        answer = run("translate", "--model", out, text="ELLE est LÀ!\nje suis grand .\n").stdout
        self.assertEqual(answer, "she is here !\ni m tall .\n")

    def test_a_classifier(self):
        draw, lines = random.Random(3), []
        words = {"good": "lovely great fine happy".split(), "bad": "awful poor dull sad".split()}
        for _ in range(300):
            label = draw.choice(sorted(words))
            text = [draw.choice("the film we saw was on that day".split()) for _ in range(draw.randint(3, 9))]
            text.insert(draw.randrange(len(text)), draw.choice(words[label]))
            lines.append(f"{label}\t{' '.join(text)}\n")
        path, out = os.path.join(self.root, "mood.tsv"), os.path.join(self.models, "mood")
        self.write(path, "".join(lines))
        done = run("train", "--task", "classify", "--out", out, "--cell", "gru", "--bidirectional", "--width", "24",
                   "--vocab-kind", "word", "--dev-pairs", "30", "--steps", "120", "--rate", "0.01", "--warmup", "20",
                   "--batch-tokens", "400", "--threads", "1", "--valid-every", "60", path)
        self.assertIn("2 labels", done.stderr)
        self.assertRegex(done.stderr, r"(9\d|100)\.\d\d % of the labels right")
        small = os.path.join(self.root, "mood-small")
        run("quantize", "--type", "i8", out, small)
        for model in (small, out):
            answer = run("classify", "--model", model, text="we saw the lovely film\nthe day was dull\n\n")
            self.assertEqual([line.split("\t")[0] for line in answer.stdout.splitlines()[:2]], ["good", "bad"], model)
        self.assertIn("classify: lines=3", answer.stderr)
        guesses = json.loads(run("classify", "--model", out, "-n", "5", "--format", "json", text="a fine day\n").stdout)
        self.assertAlmostEqual(sum(g["probability"] for g in guesses), 1.0, places=4)
        self.assertIn("recurrent classifier, gru cells", run("inspect", out).stdout)
        server = self.start(f"--models-dir={self.models}")
        status, _, said = server.request("POST", "/v1/classify", body=json.dumps({"text": ["a fine day", "we saw the lovely film"]}))
        self.assertEqual(status, 200, said)
        first, second = json.loads(said)["results"]
        self.assertEqual([(g["label"], round(g["score"], 4)) for g in first["labels"]],
                         [(g["label"], round(g["probability"], 4)) for g in guesses])
        self.assertEqual(second["labels"][0]["label"], "good")
        refused = run("translate", "--model", out, text="x\n", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("does not translate", refused.stderr)
        refused = run("classify", "--model", os.path.join(SOURCES, "models", "fr-en"), text="x\n", check=False)
        self.assertIn("expected a classifier", refused.stderr)

    def test_wrong_use(self):
        for args, words in ((["--loss", "sentence"], "are for --family rnn"),
                            (["--teacher-forcing", "0.5"], "are for --family rnn"),
                            (["--family", "rnn", "--guided-attention", "1"], "is for --family transformer"),
                            (["--family", "rnn", "--cell", "elman"], "expected one of gru, lstm, rnn")):
            done = run("train", "--out", os.path.join(self.root, "x"), *args, self.pairs, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()
