# SPDX-License-Identifier: ISC
"""Random networks of many shapes, norms and kinds, compared with values that
tests/golden/reference.py computed."""
import json
import os
import subprocess
import tempfile
import unittest

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MKMODEL = os.path.abspath(os.environ.get("DRAGOMAN_MKMODEL", "./tests/support/mkmodel"))


def run(arguments, lines):
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def words(ids):
    return " ".join(map(str, ids))


class Shapes(unittest.TestCase):
    def check_shape(self, model, sentences):
        pairs = [words(item["source"]) + "\t" + words(item["target"]) for item in sentences]
        for line, item in zip(run(["score", "--ids", "-m", model], pairs), sentences, strict=True):
            got = json.loads(line)["token_logprobs"]
            self.assertEqual(len(got), len(item["token_logprobs"]))
            for ours, golden in zip(got, item["token_logprobs"]):
                self.assertAlmostEqual(ours, golden, delta=1e-4)
        plain = ["translate", "--ids", "-q", "--scores", "--loop-guard=no", "-m", model]
        sources = [words(item["source"]) for item in sentences]
        for line, item in zip(run(plain + ["--beam", "1"], sources), sentences, strict=True):
            self.assertEqual(line.split(" ||| ")[0], words(item["greedy"]))
        for line, item in zip(run(plain + ["--beam", "4"], sources), sentences, strict=True):
            self.assertGreater(float(line.split(" ||| ")[1]), item["beam_4_score"] - 1e-4)

    def test_agree_with_the_reference(self):
        with open(os.path.join(SOURCES, "tests", "golden", "shapes.json"), encoding="utf-8") as file:
            shapes = json.load(file)
        self.assertGreater(len(shapes), 10)
        for shape in shapes:
            with self.subTest(mkmodel=shape["mkmodel"]), tempfile.TemporaryDirectory() as parent:
                model = os.path.join(parent, "model")
                subprocess.run([MKMODEL, model, *shape["mkmodel"]], check=True)
                self.check_shape(model, shape["sentences"])


if __name__ == "__main__":
    unittest.main()
