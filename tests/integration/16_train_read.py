# SPDX-License-Identifier: ISC
"""Encoders alone, trained in seconds on the data sets of tests/support/reading_tasks.py, served by
the daemon, and asked about texts that the training data does not contain."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from harness import SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import reading_tasks as tasks  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))


def run(*args, text="", check=True):
    done = subprocess.run([PROGRAM, *args], input=text, capture_output=True, timeout=300, check=False, encoding="utf-8")
    if check and done.returncode != 0:
        raise AssertionError(f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr}")
    return done


class TrainRead(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.root = tempfile.mkdtemp(prefix="dg-read-")
        self.addCleanup(shutil.rmtree, self.root)
        self.models = os.path.join(self.root, "models")
        os.mkdir(self.models)
        tasks.write(self.root)

    def file(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    @staticmethod
    def bytes(*path):
        with open(os.path.join(*path), "rb") as file:
            return file.read()

    def train(self, name, *more, out=None, data=None):
        out = os.path.join(self.models, out or name)
        done = run("train", "--out", out, *tasks.COMMON, *tasks.RECIPES[name], "--dev-pairs", "40", *more,
                   data or os.path.join(self.root, tasks.FILES[name]))
        return out, done.stderr

    def ask(self, server, route, **body):
        status, _, answer = server.request("POST", f"/v1/{route}", body=json.dumps(body).encode())
        self.assertEqual(status, 200, answer)
        return json.loads(answer)["results"]

    def test_every_task_is_learned_and_served(self):
        said = {name: self.train(name)[1] for name in tasks.RECIPES}
        for name, figure in (("mood", "100.00 % of the labels right"),
                             ("topics", "100.00 % of the texts with all labels right, F1 100.00 (of each label by itself, the mean, 100.00)"),
                             ("inference", "100.00 % of the labels right"),
                             ("names", "F1 100.00"), ("questions", "100.00 % of the answers right"), ("quality", "correlation 0."),
                             ("words", "% of the masked words right")):
            self.assertIn(figure, said[name])
            self.assertIn("the best so far", said[name])
        self.assertIn("F1 100.00", run("train", "--resume", os.path.join(self.models, "names"), "--test",
                                       os.path.join(self.root, "names.tsv")).stderr)
        run("quantize", "--type", "i8", os.path.join(self.models, "mood"), os.path.join(self.models, "mood-small"))
        server = self.start(f"--models-dir={self.models}")

        # What a text is about, document by document.
        draw = random.Random(99)
        texts = [tasks.review(draw, "good") for _ in range(4)] + [tasks.review(draw, "bad") for _ in range(4)]
        for model in ("mood", "mood-small"):
            labels = [result["labels"][0]["label"] for result in self.ask(server, "classify", model=model, text=texts)]
            self.assertEqual(labels, ["good"] * 4 + ["bad"] * 4, model)

        # What a text mentions: any number of labels, each right or wrong by itself.
        texts = ["Greta liked the play in Rome on Friday.", "in Oslo nobody missed the dinner.", "everybody saw the song.",
                 "on Sunday David saw the book."]
        expected = [{"person", "place", "day"}, {"place"}, set(), {"person", "day"}]
        results = self.ask(server, "classify", model="topics", text=texts, threshold=0.5)
        self.assertEqual([{label["label"] for label in result["labels"]} for result in results], expected)
        scores = [label["score"] for label in self.ask(server, "classify", model="topics", text=texts[0])[0]["labels"]]
        self.assertGreater(sum(scores), 2)
        self.assertEqual(len(scores), 3)
        said = run("classify", "--model", os.path.join(self.models, "topics"), text="".join(line + "\n" for line in texts)).stdout
        self.assertEqual([set(line.split("\t")[::2]) - {""} for line in said.split("\n")[:-1]], expected)
        said = run("classify", "--model", os.path.join(self.models, "topics"), "-n", "2", text=texts[2] + "\n").stdout
        self.assertEqual(len(said.split("\t")), 4)
        with open(os.path.join(self.models, "topics", "config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["problem_type"], "multi_label_classification")
        card = self.bytes(self.models, "topics", "card.md").decode()
        self.assertIn("labels of texts, any number of them", card)
        self.assertIn("F1 100.00", card)

        # Inference between two sentences: with the same second sentence, another first one gets
        # another answer.
        pairs = [("Emma is rich.", "Emma is wealthy.", "entailment"), ("Emma is poor.", "Emma is wealthy.", "contradiction"),
                 ("Emma is slow.", "Emma is wealthy.", "neutral"), ("Oscar is glad.", "Oscar is happy.", "entailment")]
        results = self.ask(server, "classify", model="inference", text=[p[0] for p in pairs], pair=[p[1] for p in pairs])
        self.assertEqual([result["labels"][0]["label"] for result in results], [p[2] for p in pairs])

        # Named entities.
        text = "In New Lisbon we met Greta Novak on Friday."
        entities = self.ask(server, "tag", model="names", text=text)[0]["entities"]
        self.assertEqual([(e["label"], text[e["start"]:e["start"] + e["length"]]) for e in entities],
                         [("LOC", "New Lisbon"), ("PER", "Greta Novak")])

        # Questions.
        context = "Paula was seen in Athens on Sunday."
        for question, answer in (("Who was it?", "Paula"), ("Where was it?", "Athens"), ("When was it?", "Sunday")):
            got = self.ask(server, "answer", model="questions", question=question, context=context)[0]
            self.assertEqual(got["answers"][0]["text"], answer)
        none = self.ask(server, "answer", model="questions", question="Why was it?", context=context)[0]
        self.assertGreater(none["none_score"], 0.5)

        # A number.
        scores = [result["labels"][0]["score"] for result in self.ask(
            server, "classify", model="quality", text=["bato miru"] * 2, pair=["red apple", "old cloud"])]
        self.assertGreater(scores[0], scores[1] + 0.3)

        # Masked words.
        word = self.ask(server, "fill", model="words", text="The train from Rome leaves on [MASK].", top=3)[0]["masks"][0]
        self.assertIn(word["words"][0]["word"], tasks.DAYS)

        for name, found in (("mood", ["classify", "embed"]), ("names", ["tag", "embed"]), ("questions", ["answer", "embed"])):
            _, _, answer = server.request("GET", "/v1/models")
            models = {model["name"]: model for model in json.loads(answer)["models"]}
            self.assertEqual(models[name]["tasks"], found)
        for name, how in (("mood", "one"), ("topics", "any"), ("quality", "number")):
            self.assertEqual(models[name]["labels"], how)
        self.assertNotIn("labels", models["names"])

    def test_a_number_of_one_text(self):
        lines = [json.dumps({"text": "word " * n, "score": n / 2}) for n in range(1, 8)] * 30
        out, _ = self.train("quality", "--dev-pairs", "0", "--steps", "150",
                            data=self.file("length.jsonl", "\n".join(lines) + "\n"), out="length")
        scores = [json.loads(line)[0]["probability"] for line in run(
            "classify", "--format", "json", "--model", out, text="word word\nword word word word word word\n").stdout.splitlines()]
        self.assertGreater(scores[1], scores[0] + 1)

    def test_fine_tuning_goes_on_from_masked_words(self):
        words, _ = self.train("words", "--steps", "60", "--valid-every", "30")
        out, said = self.train("names", "--init", words, "--steps", "60", "--test", os.path.join(self.root, "names.tsv"))
        self.assertIn("the head starts from scratch", said)
        self.assertRegex(said, r"names\.tsv, before \| 300 \|")
        self.assertRegex(said, r"names\.tsv, after \| 300 \|")
        self.assertEqual(self.bytes(out, "vocab.txt"), self.bytes(words, "vocab.txt"))
        answer = run("tag", "--model", out, text="Clara came from Oslo.\n").stdout
        self.assertEqual([(e["label"], e["text"]) for e in json.loads(answer)["entities"]], [("PER", "Clara"), ("LOC", "Oslo")])
        card = self.bytes(out, "card.md").decode()
        self.assertIn("encoder-only Transformer", card)
        self.assertIn("labels of words", card)
        self.assertIn("F1", card)
        self.assertIn("what held-out lines are judged by", self.bytes(out, "training", "curve.svg").decode())
        again, said = self.train("names", "--init", out, "--steps", "30", "--freeze", "embeddings,encoder,norms", "--metric",
                                 "task", "--average-last", "2", out="again")
        self.assertNotIn("from scratch", said)
        self.assertEqual(self.bytes(out, "labels.txt"), self.bytes(again, "labels.txt"))
        refused = run("train", "--init", out, "--out", os.path.join(self.models, "x"), os.path.join(self.root, "mood.tsv"),
                      check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is an encoder-only model: expected --task classify", refused.stderr)

    def test_an_imported_encoder_learns_a_task(self):
        for name, steps in (("bert-words", "80"), ("roberta-words", "200")): # WordPiece; byte-level BPE has two separators
            imported, out = os.path.join(self.root, name), os.path.join(self.models, name)
            run("import", os.path.join(SOURCES, "tests/data/enc", name), imported)
            done = run("train", "--task", "classify", "--init", imported, "--out", out, "--len-max", "40", "--steps", steps,
                       "--rate", "0.01", "--warmup", "10", "--dev-pairs", "40", "--threads", "1", "--batch-tokens", "1000",
                       "--valid-every", steps, "--dropout", "0", "--smoothing", "0", "--average", "0.9",
                       os.path.join(self.root, "mood.tsv"))
            self.assertIn("the head starts from scratch", done.stderr)
            answer = run("classify", "--model", out, text="What a lovely concert!\nThe play was awful.\n").stdout
            self.assertEqual([line.split("\t")[0] for line in answer.splitlines()], ["good", "bad"], name)
        refused = run("train", "--task", "masked", "--init", imported, "--out", os.path.join(self.root, "x"), "--len-max", "600",
                      os.path.join(self.root, "text.txt"), check=False)
        self.assertIn("--len-max is 600, but", refused.stderr)

    def test_a_run_that_was_interrupted_gives_the_same_bits(self):
        for name in ("words", "quality"):
            how = ("--schedule", "constant", "--valid-every", "10", "--dropout", "0.1", "--threads", "2", "--steps")
            whole, _ = self.train(name, *how, "30", out=f"{name}-whole")
            parts, _ = self.train(name, *how, "17", out=f"{name}-parts")
            run("train", "--resume", parts, "--steps", "30")
            self.assertEqual(self.bytes(whole, "model.safetensors"), self.bytes(parts, "model.safetensors"), name)

    def test_what_is_wrong_is_said(self):
        json_line = self.file("bad.jsonl", '{"text": "a", "label": "x"}\n{"text": "b"}\n')
        for args, text, words in (
                (["--task", "score", self.file("a.tsv", "a\tb\t0.5\na\tb\tc\n")], 1, "a.tsv, line 2: expected text<TAB>a number"),
                (["--task", "score", self.file("a4.tsv", "a\tb\t0.5\t7\n")], 1, "a4.tsv, line 1: expected text<TAB>a number"),
                (["--task", "classify", "--labels", "any", "--family", "encoder", self.file("l.tsv", "a||b\tc\n")], 1,
                 "l.tsv, line 1: expected a label before, between and behind the bars"),
                (["--task", "classify", "--labels", "any", self.file("l2.tsv", "a\tc\n")], 2, "expected --family encoder too"),
                (["--task", "tag", "--labels", "any", self.file("l3.tsv", "a\tc\n")], 2, "--labels any is for --task classify"),
                (["--task", "tag", self.file("b.tsv", "word\tO\nalone\n")], 1, "b.tsv, line 2: expected word<TAB>label"),
                (["--task", "answer", self.file("c.tsv", "one\ttwo\n")], 1, "c.tsv, line 1: expected question<TAB>context"),
                (["--task", "classify", "--family", "encoder", json_line], 1, "bad.jsonl, line 2: field 'label'"),
                (["--task", "classify", "--family", "encoder", self.file("d.tsv", "x\ta b\nx\tc d\n")], 1, "1 labels were found"),
                (["--task", "tag", "--family", "rnn", self.file("e.tsv", "")], 2, "expected no --family rnn"),
                (["--family", "encoder", self.file("f.tsv", "")], 2, "--family encoder translates nothing"),
                (["--task", "tag", "--swap", self.file("g.tsv", "")], 2, "are not for encoder-only models"),
                (["--task", "masked", "--normaliser", "ascii", self.file("g.txt", "")], 2, "are not for encoder-only models"),
                (["--task", "classify", "--init", os.path.join(SOURCES, "tests", "data", "estimator"), "--normaliser", "ascii",
                  self.file("g.txt", "")], 2, "are not for encoder-only models"),
                (["--task", "tag", "--mask-share", "0.3", self.file("g.txt", "")], 2, "--mask-share is for --task masked"),
                (["--lowercase", self.file("g.txt", "")], 2, "--lowercase is for encoder-only models"),
                (["--task", "masked", self.file("h.txt", "")], 1, "nothing is left to learn from"),
                (["--task", "masked", "--width", "30", "--heads", "4", self.file("i.txt", "a b\n")], 2, "a multiple of --heads")):
            done = run("train", "--out", os.path.join(self.root, "out"), *args, check=False)
            self.assertEqual(done.returncode, text, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()
