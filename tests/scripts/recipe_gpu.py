#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
# Tiers: gcc
"""models/recipe/gpu with networks small enough for a processor: dragoman computes the same as the
networks that it trains."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import torch
except ImportError:
    print("skipped: needs python3-torch and python3-numpy")
    sys.exit(77)

RECIPE = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "models", "recipe")
GPU = os.path.join(RECIPE, "gpu")
DRAGOMAN = os.path.abspath("dragoman")
sys.path.insert(0, GPU)
sys.dont_write_bytecode = True
import batches  # noqa: E402
import network  # noqa: E402
import pairs  # noqa: E402
import search  # noqa: E402

torch.set_num_threads(1)


def run(*args, **given):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **given)
    if done.returncode:
        raise AssertionError(f"{args}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Recipe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.at = cls.temporary.name
        lines = run(sys.executable, "-B", os.path.join(RECIPE, "grammar"), "--seed", "3", "--pairs", "600")
        cls.lines = lines.splitlines()
        with open(f"{cls.at}/few.tsv", "w", encoding="utf-8") as file:
            file.write("\n".join(cls.lines[:-100]) + "\n")
        # The last hundred lines count three times.
        with open(f"{cls.at}/often.tsv", "w", encoding="utf-8") as file:
            file.write("\n".join(cls.lines[-100:]) + "\n")
        run(DRAGOMAN, "train", "--out", f"{cls.at}/run", "--steps", "1", "--dev-pairs", "20", "--vocab-size", "400",
            "--width", "32", "--heads", "4", "--ffn", "64", "--encoder-layers", "2", "--decoder-layers", "2",
            "--norm", "pre", "--threads", "1", "--repeat", "1,2", f"{cls.at}/few.tsv", f"{cls.at}/often.tsv")
        run(sys.executable, "-B", f"{GPU}/pack.py", f"{cls.at}/run", f"{cls.at}/pairs.xz")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def gpu(self, *args):
        return run(sys.executable, "-B", f"{GPU}/gpu.py", *args, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def test_what_is_packed_is_what_the_run_learns_from(self):
        config, sets = pairs.read(f"{self.at}/pairs.xz")
        self.assertEqual(config["d_model"], 32)
        corpus = pairs.read_corpus(f"{self.at}/run/training/pairs.bin")
        found = sets["pairs"]
        self.assertEqual(found.counts.sum(), len(corpus))
        self.assertEqual(len(found), len(set(corpus)))
        self.assertGreater(found.counts.max(), 1)
        for i in 0, 7, len(found) - 1:
            pair = tuple(side[i].astype("u2").tobytes() for side in (found.sources, found.targets))
            self.assertEqual(corpus.count(pair), found.counts[i])
        every = numpy.concatenate(batches.epoch(found, 500, 1))
        self.assertEqual(numpy.bincount(every).tolist(), found.counts.tolist())

    def test_teacher_answers_student_and_dragoman_agree(self):
        teacher = json.dumps({"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
                              "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64})
        common = ["en-fr", f"{self.at}/pairs.xz", f"{self.at}/state", "--tokens", "800"]
        first = self.gpu("teach", *common, "--steps", "40", "--teacher", teacher, "--rate", "0.01")
        self.assertIn("from step 0", first)
        # The next run begins where the previous one ended.
        self.assertIn("from step 40", self.gpu("teach", *common, "--steps", "60", "--teacher", teacher, "--rate", "0.01"))
        self.gpu("answer", *common, "--steps", "3", "--teacher", teacher)
        self.gpu("answer", *common, "--steps", "2", "--teacher", teacher)
        self.assertEqual([int(numpy.load(path)["batches"]) for path in sorted(glob.glob(f"{self.at}/state/answers.*"))],
                         [3, 2])
        self.gpu("study", *common, "--steps", "300", "--rate", "0.01")
        self.gpu("give", *common[:3], f"{self.at}/home")
        model = f"{self.at}/model"
        os.mkdir(model)
        with open(f"{model}/model.safetensors", "wb") as out:
            for part in sorted(glob.glob(f"{self.at}/home/en-fr.part*")):
                with open(part, "rb") as file:
                    out.write(file.read())
        for name in "config.json", "source.spm":
            with open(f"{self.at}/run/{name}", "rb") as file, open(f"{model}/{name}", "wb") as out:
                out.write(file.read())
        self.agrees(model)

    def agrees(self, model):
        """dragoman's log-probabilities and answers for the model are those of the network in
        PyTorch."""
        with open(f"{model}/config.json", encoding="utf-8") as file:
            net = network.Network(json.load(file)).eval()
        state = torch.load(f"{self.at}/state/study.en-fr.pt")["average"]
        net.load_state_dict({name: tensor.half().float() for name, tensor in state.items()})
        _, sets = pairs.read(f"{self.at}/pairs.xz")
        dev = sets["dev"].swapped()
        lines = [f"{' '.join(map(str, dev.sources[i]))}\t{' '.join(map(str, dev.targets[i]))}" for i in range(len(dev))]
        told = run(DRAGOMAN, "score", "--model", model, "--ids", input="\n".join(lines) + "\n").splitlines()
        self.assertEqual(len(told), len(lines))
        sources, targets = batches.Table(dev.sources, "cpu"), batches.Table(dev.targets, "cpu")
        for i, line in enumerate(told):
            chosen = torch.tensor([i])
            source, there = sources.rows(chosen)
            target, _ = targets.rows(chosen)
            with torch.no_grad():
                logprobs = torch.log_softmax(net(source, there[:, None, None, :], target), -1)
            total = float(logprobs[0].gather(1, target[0][:, None]).sum())
            self.assertAlmostEqual(total, json.loads(line)["logprob"], delta=0.01 * len(target[0]))
        # A batch gets what each sentence gets alone; a beam of one is dragoman's greedy search, and
        # a beam of four finds answers that are likelier per token.
        source, there = sources.rows(torch.arange(len(dev)))
        greedy = search.beam(net, source, there, width=1, at_most=60)
        ids = run(DRAGOMAN, "translate", "-q", "--model", model, "--ids", "--beam", "1", "--max-len", "59", "--max-ratio", "0", "--no-loop-guard",
                  input="\n".join(line.split("\t")[0] for line in lines) + "\n").splitlines()
        ended = [(" ".join(map(str, one)), line) for one, line in zip(greedy, ids) if one]
        self.assertGreater(len(ended), 1)
        self.assertGreaterEqual(sum(one == line for one, line in ended), len(ended) - 1, ended)
        said = search.beam(net, source, there, width=4, at_most=60)
        alone = [search.beam(net, *sources.rows(torch.tensor([i])), width=4, at_most=60)[0] for i in range(len(dev))]
        self.assertEqual(said, alone)
        both = [i for i in range(len(dev)) if said[i] and greedy[i]]

        def likely(found):
            asked = [f"{lines[i].split(chr(9))[0]}\t{' '.join(map(str, found[i]))}\n" for i in both]
            out = run(DRAGOMAN, "score", "--model", model, "--ids", "--length-penalty", "1", input="".join(asked))
            return [json.loads(line)["score"] for line in out.splitlines()]
        self.assertGreater(sum(likely(said)), sum(likely(greedy)))


if __name__ == "__main__":
    unittest.main()
