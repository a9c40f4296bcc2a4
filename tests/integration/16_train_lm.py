# SPDX-License-Identifier: ISC
"""Language models trained in seconds on the toy language: they continue a text, and translate by a
template that the model's own directory keeps; JSON lines, fine-tuning, resuming, refusals."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import toy_language  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
PHRASE = f"(?:(?:{'|'.join(toy_language.ADJECTIVES.values())}) )?(?:{'|'.join(toy_language.NOUNS.values())})"
SENTENCE = re.compile(f"{PHRASE} (?:{'|'.join(toy_language.VERBS.values())}) {PHRASE}")
PROMPTS = ("red apple sees", "cloud", "old dance eats big", "bread eats", "big")
RECIPE = ["--task", "next-word", "--vocab-kind", "word", "--width", "32", "--heads", "4", "--ffn", "64", "--decoder-layers", "2",
          "--dev-pairs", "20", "--threads", "1", "--batch-tokens", "400", "--rate", "0.01", "--warmup", "20", "--dropout", "0",
          "--smoothing", "0", "--average", "0.98", "--len-max", "24", "--valid-pairs", "8", "--seed", "1"]


def run(*args, text="", expect=0):
    done = subprocess.run([PROGRAM, *args], input=text, capture_output=True, timeout=300, check=False, encoding="utf-8")
    assert done.returncode == expect, f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr}"
    return done


class TrainLm(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.root = tempfile.mkdtemp(prefix="dg-lm-")
        self.addCleanup(shutil.rmtree, self.root)
        self.models = os.path.join(self.root, "models")
        os.mkdir(self.models)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def model(self, name):
        return os.path.join(self.models, name)

    def post(self, server, path, body):
        status, _, answer = server.request("POST", path, body=json.dumps(body).encode())
        self.assertEqual(status, 200, answer)
        return json.loads(answer)

    def test_text_that_goes_on(self):
        lines = self.write("toy.txt", "".join(t + "\n" for _, t in toy_language.pairs(400)))
        done = run("train", *RECIPE, "--out", self.model("text"), "--steps", "80", "--valid-every", "40", lines)
        self.assertIn("perplexity", done.stderr)
        self.assertRegex(done.stderr, r"the model is .* \(of step")
        with open(self.model("text") + "/card.md", encoding="utf-8") as card:
            text = card.read()
        for words in ("language model (decoder-only Transformer); learned positions, layer norms", "stretches of text",
                      "Beginnings of held-out lines", "| context | 24 tokens |"):
            self.assertIn(words, text)
        with open(self.model("text") + "/training/samples.tsv", encoding="utf-8") as samples:
            self.assertGreaterEqual(len(samples.read().splitlines()), 3)
        drawn = [json.loads(line)["text"].strip() for line in run(
            "generate", "--model", self.model("text"), "--lines", "--max-tokens", "12", "--sample", "--top-p", "0.8", "--seed", "5",
            text="".join(prompt + "\n" for prompt in PROMPTS)).stdout.splitlines()]
        self.assertEqual(len(drawn), len(PROMPTS))
        for prompt, text in zip(PROMPTS, drawn):
            self.assertRegex(f"{prompt} {text}", "^" + SENTENCE.pattern + "$")
        server = self.start(f"--models-dir={self.models}")
        for prompt in PROMPTS:
            answer = self.post(server, "/v1/generate", {"prompt": prompt, "max_tokens": 12})
            self.assertRegex(prompt + answer["text"], "^" + SENTENCE.pattern + "$")
        models = json.loads(server.request("GET", "/v1/models")[2])["models"]
        self.assertEqual([model["kind"] for model in models], ["language-model"])

    def test_it_translates_by_the_template_of_its_own_directory(self):
        pairs = self.write("toy.jsonl", "".join(json.dumps({"source": s, "target": t}) + "\n"
                                                for s, t in toy_language.pairs(400)))
        new = toy_language.pairs(30, seed=99)
        out = self.model("told")
        run("train", *RECIPE, "--shape", "llama", "--kv-heads", "2", "--template", "{source}: {text} {target}:", "--from", "it",
            "--to", "en", "--out", out, "--steps", "200", "--valid-every", "100", pairs)
        with open(out + "/config.json", encoding="utf-8") as file:
            config = json.load(file)
        self.assertEqual((config["template"], config["source_languages"], config["target_languages"]),
                         ("{source}: {text} {target}:", "it", "en"))
        said = run("translate", "--model", out, text="".join(s + "\n" for s, _ in new)).stdout.splitlines()
        right = sum(a == t for a, (_, t) in zip(said, new))
        self.assertGreaterEqual(right, 25)
        server = self.start(f"--models-dir={self.models}")
        answer = self.post(server, "/v1/translate", {"text": [s for s, _ in new[:8]], "source": "it", "target": "en"})
        self.assertEqual([t["text"] for t in answer["translations"]], said[:8])
        model = json.loads(server.request("GET", "/v1/models")[2])["models"][0]
        self.assertEqual((model["kind"], model["sources"], model["targets"]), ("translation", ["it"], ["en"]))
        # A template in the configuration replaces the model's own.
        shown = run("translate", "--model", out, "--template", "{text} =", "--source", "it", "--target", "en", text="bato zari lusa\n")
        self.assertEqual(shown.stderr.count("sentences=1"), 1)
        # Fine-tuning continues from the model: after one step the held-out loss is still low.
        tuned = self.model("tuned")
        done = run("train", *RECIPE, "--init", out, "--template", "{source}: {text} {target}:", "--from", "it", "--to", "en",
                   "--out", tuned, "--steps", "1", "--valid-every", "1", pairs)
        self.assertRegex(done.stderr, r"held-out loss 0\.\d+")
        refused = run("train", "--init", out, "--out", self.model("x"), pairs, expect=2)
        self.assertIn("is a language model; expected --task next-word", refused.stderr)

    def test_imported_models_go_on_learning_with_their_own_tokenizers(self):
        lines = self.write("toy.txt", "".join(t + "\n" for _, t in toy_language.pairs(200)))
        for name in ("gpt2", "llama", "scaled"):
            model, out = os.path.join(self.root, name), self.model(name)
            run("import", os.path.join(SOURCES, "tests/data/lm", name), model)
            done = run("train", *RECIPE, "--packed", "--init", model, "--out", out, "--steps", "30", "--valid-every", "30", lines)
            before, after = (float(re.search(rf"held-out pairs, {when} \| \d+ \| ([\d.]+)", done.stderr)[1])
                             for when in ("before", "after"))
            self.assertLess(after, before - 1, name)
            self.assertIn("1 prompts", run("generate", "--model", out, "--max-tokens", "5", text="red apple\n").stderr)
        refused = run("train", *RECIPE, "--init", os.path.join(self.root, "gpt2"), "--out", self.model("x"), "--len-max", "4096", lines,
                      expect=2)
        self.assertIn("reads at most", refused.stderr)

    def test_resumed_and_refused(self):
        lines = self.write("toy.txt", "".join(t + "\n" for _, t in toy_language.pairs(200)))
        out = self.model("text")
        run("train", *RECIPE, "--packed", "--out", out, "--steps", "4", "--valid-every", "2", lines)
        self.assertIn("going on after step 4", run("train", "--resume", out, "--steps", "6").stderr)
        self.assertIn("cannot become llama", run("train", "--resume", out, "--shape", "llama", expect=2).stderr)
        for args, words in ((["--shape", "llama"], "are for --task next-word"),
                            (["--task", "next-word", "--family", "rnn"], "is for --family transformer"),
                            (["--task", "next-word", "--kv-heads", "3"], "expected a divisor of --heads"),
                            (["--task", "next-word", "--from", "fr"], "expected --template too"),
                            (["--task", "next-word", "--packed", "--template", "{text}"], "expected no --template")):
            done = run("train", "--out", self.model("x"), *args, lines, expect=2)
            self.assertIn(words, done.stderr)
        done = run("train", "--task", "next-word", "--template", "{source}: {text}", "--out", self.model("x"), lines, expect=1)
        self.assertIn("names the source language, which is not given", done.stderr)


if __name__ == "__main__":
    main()
