# SPDX-License-Identifier: ISC
"""dragoman quantize over the embedded model in F16: what it writes, what it prints, what it keeps,
and that its model is served."""
import json
import os
import subprocess
import tempfile
import unittest

from harness import CAT_SAID, IntegrationTest, main

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
PAIRS = [("Bonjour.", "Hello."), ("Merci beaucoup.", "Thank you very much."), ("Le chat dort.", "The cat sleeps.")]


def run(*args, text="", check=True):
    done = subprocess.run([PROGRAM, *args], input=text.encode(), capture_output=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr.decode()}")
    return done


def lines_of(done):
    """The key=value pairs of each line; a word without '=' gets the key "line"."""
    return [dict(word.split("=", 1) if "=" in word else ("line", word) for word in line.split())
            for line in done.stdout.decode().splitlines()]


class Quantize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = os.path.join(self.folder.name, "out")
        self.wide = os.path.join(self.folder.name, "wide")
        run("import", "--type", "f16", MODEL, self.wide)

    def pairs(self, swap=False):
        path = os.path.join(self.folder.name, "pairs.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines("\t".join(pair[::-1] if swap else pair) + "\n" for pair in PAIRS)
        return path

    def translate(self, model):
        return run("translate", "-q", "--model", model, text="Le chat dort.\n").stdout

    def test_i8_is_small_says_its_errors_and_translates(self):
        done = run("quantize", self.wide, self.out)
        lines = lines_of(done)
        tensors = {line["tensor"]: line for line in lines if "tensor" in line}
        shared = tensors["model.shared.weight"]
        self.assertEqual((shared["type"], shared["from"], shared["kept"]), ("I8", "F16", "no"))
        self.assertRegex(shared["shape"], r"^\d+x256$")
        for name, line in tensors.items():
            self.assertEqual(line["type"], "I8" if "x" in line["shape"] else "F16", name)
            self.assertLess(float(line["relative_error"]), 0.02, name)
        size = lines[-1]
        self.assertEqual(int(size["after"]), sum(entry.stat().st_size for entry in os.scandir(self.out)))
        before, after = (os.path.getsize(os.path.join(model, "model.safetensors")) for model in (self.wide, self.out))
        self.assertLess(after, before / 2 * 1.03)
        self.assertEqual(self.translate(self.out), CAT_SAID.encode() + b"\n")
        self.assertIn(b"i8, 0 tensors kept wider", done.stderr)

    def test_what_is_kept_stays_wide_and_both_kinds_run_together(self):
        lines = lines_of(run("quantize", self.wide, self.out, "--keep", "encoder.layers.0.self_attn.q_proj,shared"))
        kept = {line["tensor"] for line in lines if line.get("kept") == "yes"}
        fused = {f"model.encoder.layers.0.self_attn.{part}_proj.weight" for part in "qkv"}
        self.assertEqual(kept, fused | {"model.shared.weight"})
        self.assertEqual(self.translate(self.out), CAT_SAID.encode() + b"\n")

    def test_bf16_costs_next_to_nothing_and_stays_so_in_memory(self):
        lines = lines_of(run("quantize", "--type", "bf16", self.wide, self.out, "--score", self.pairs(True), "--beam", "1"))
        for line in lines:
            if "tensor" in line:
                self.assertEqual(line["type"], "BF16" if "x" in line["shape"] else "F16", line)
                self.assertLess(float(line["relative_error"]), 0.005, line)
        score = next(line for line in lines if line.get("line") == "score")
        self.assertLess(abs(float(score["loss_after"]) - float(score["loss_before"])), 0.05)
        self.assertEqual(self.translate(self.out), CAT_SAID.encode() + b"\n")
        self.assertLess(self.weights_mib(self.out), 0.55 * self.weights_mib(self.wide))

    def weights_mib(self, model):
        done = run("bench", "--model", model, "--batch", "1", "--beam", "1", "--time", "1ms", "--source-len", "4",
                   "--target-len", "4")
        return float(next(line["weights_mib"] for line in lines_of(done) if line.get("case") == "load"))

    def test_other_types_and_i8_again(self):
        for kind in ("f16", "bf16"):
            self.assertEqual(run("quantize", "--type", kind, self.wide, self.out + kind).returncode, 0)
        self.assertEqual(self.translate(self.out + "f16"), self.translate(self.wide))
        run("quantize", self.wide, self.out)
        run("quantize", self.out, self.out + "2")
        with open(os.path.join(self.out, "model.safetensors"), "rb") as one:
            with open(os.path.join(self.out + "2", "model.safetensors"), "rb") as two:
                self.assertEqual(one.read(), two.read())

    def test_calibration_and_scores_are_said(self):
        lines = lines_of(run("quantize", self.wide, self.out, "--calibrate", self.pairs(True), "--swap", "--keep-loss", "0",
                             "--score", self.pairs(True), "--beam", "1"))
        groups = [line["group"] for line in lines if "group" in line]
        self.assertEqual(len(groups), 1 + 6 * 4 + 2 * 7)
        calibration = next(line for line in lines if line.get("line") == "calibration")
        self.assertLessEqual(float(calibration["loss_after"]), float(calibration["loss_before"]) + 1e-6)
        score = next(line for line in lines if line.get("line") == "score")
        self.assertEqual((score["pairs"], score["left_out"]), ("3", "0"))
        change = float(score["bleu_after"]) - float(score["bleu_before"])
        self.assertAlmostEqual(change, float(score["bleu_change"]), places=2)

    def test_refusals(self):
        self.assertEqual(run("quantize", self.wide, self.out, "--keep-loss", "0.1", check=False).returncode, 2)
        for args, said in (([self.wide, self.folder.name], b"exists already"),
                           (["/nonexistent", self.out], b"/nonexistent"),
                           ([self.wide, self.out, "--calibrate", os.path.join(self.wide, "config.json")], b"line 1: no tab")):
            done = run("quantize", *args, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
        self.assertFalse(os.path.exists(self.out))


class Served(IntegrationTest):
    def test_the_daemon_serves_bf16(self):
        wide, narrow = (os.path.join(self.directory, name) for name in ("wide", "narrow"))
        run("import", "--type", "f16", MODEL, wide)
        run("quantize", "--type", "bf16", wide, narrow)
        server = self.start(conf=f"[model fr-en]\npath = {narrow}\n")
        status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": "Le chat dort.", "target": "en"}))
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["translations"][0]["text"], CAT_SAID)

    def test_the_daemon_rounds_rows_to_bf16_as_well(self):
        server = self.start(conf=f"compute-type = bf16-fast\n[model fr-en]\npath = {MODEL}\n")
        status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": "Le chat dort.", "target": "en"}))
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body)["translations"][0]["text"], CAT_SAID)
        done = run("translate", "-q", "--model", MODEL, "--compute-type", "bf16-fast", text="Le chat dort.\n")
        self.assertEqual(done.stdout.decode(), CAT_SAID + "\n")


if __name__ == "__main__":
    main()
