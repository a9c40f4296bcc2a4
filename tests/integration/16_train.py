# SPDX-License-Identifier: ISC
"""dragoman train: from pairs to a model that translates; runs that are stopped, killed and resumed;
full disks; refusals."""
import gzip
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
WORDS = dict(zip("bato kemi lusa dorin feka miru sapo tenil vogu zari".split(),
                 "apple bread cloud dance earth fruit grass horse juice knife".split()))
SMALL = ["--width", "32", "--heads", "4", "--ffn", "64", "--encoder-layers", "1", "--decoder-layers", "1",
         "--vocab-size", "60", "--threads", "1", "--rate", "0.004", "--warmup", "30"]


def pairs(n, seed=1):
    """Lines of a toy language, which is translated word for word."""
    draw = random.Random(seed)
    lines = []
    for _ in range(n):
        words = [draw.choice(sorted(WORDS)) for _ in range(draw.randint(3, 5))]
        lines.append(" ".join(words) + "\t" + " ".join(WORDS[w] for w in words) + "\n")
    return "".join(lines)


def run(*args, text="", check=True, **options):
    done = subprocess.run([PROGRAM, *args], input=text, capture_output=True, timeout=300, check=False,
                          encoding="utf-8", **options)
    if check and done.returncode != 0:
        raise AssertionError(f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr}")
    return done


class Train(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="dg-train-")
        self.addCleanup(shutil.rmtree, self.root)
        self.pairs = os.path.join(self.root, "pairs.tsv.gz")
        with gzip.open(self.pairs, "wt", encoding="utf-8") as out:
            out.write(pairs(400) + "no tab here\n" + "empty\t\n" + pairs(3))
        self.out = os.path.join(self.root, "model")

    learned = None

    def learn(self):
        """Puts a model that has learned the toy language at self.out; returns what its training printed. It is trained
        only once."""
        if not Train.learned:
            root = tempfile.mkdtemp(prefix="dg-train-")
            self.addClassCleanup(shutil.rmtree, root)
            out = os.path.join(root, "model")
            done = run("train", "--out", out, *SMALL, "--dev-pairs", "20", "--batch-tokens", "400", "--steps", "400",
                       "--valid-every", "200", "--valid-pairs", "5", "--dropout", "0", self.pairs)
            Train.learned = out, done.stderr
        shutil.copytree(Train.learned[0], self.out)
        return Train.learned[1]

    def file(self, *names):
        return os.path.join(self.out, *names)

    def weights(self):
        with open(self.file("training", "checkpoint.safetensors"), "rb") as checkpoint:
            bytes_ = checkpoint.read()
        return bytes_[bytes_.index(b"}}") + 2:][:60000]  # the first tensors; the times in "numbers" come after them

    def test_learns_and_translates(self):
        said = self.learn()
        self.assertIn("405 lines read", said)
        self.assertIn("left out: without a tab", said)
        self.assertIn("left out: with an empty side", said)
        self.assertIn("held-out loss", said)
        answer = run("translate", "--model", self.out, text="lusa bato kemi\n").stdout
        self.assertEqual(answer, "cloud apple bread\n")
        run("inspect", self.out)

    def test_decoders_of_other_families(self):
        refused = run("train", "--out", self.out, "--family", "rnn", "--decoder", "ssru", self.pairs, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--decoder and --relative are for --family transformer", refused.stderr)

    def start(self, *args):
        return subprocess.Popen([PROGRAM, "train", *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                encoding="utf-8")

    def wait_for(self, process, word):
        """Reads the program's output until a line contains `word`."""
        for line in process.stderr:
            if word in line:
                return
        self.fail(f"it ended without saying {word!r}")

    def test_a_signal_saves_and_says_how_to_go_on(self):
        process = self.start("--out", self.out, *SMALL, "--steps", "100000", "--log-every", "5", self.pairs)
        self.wait_for(process, "step 5,")
        process.send_signal(signal.SIGTERM)
        talk = process.stderr.read()
        self.assertEqual(process.wait(60), 0, talk)
        process.stderr.close()
        self.assertIn(f"to go on: dragoman train --resume {self.out}", talk)
        done = run("train", "--resume", self.out, "--steps", "1")
        self.assertIn("going on after step", done.stderr)
        refused = run("train", "--resume", self.out, "--width", "64", "--heads", "4", check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--width is 32 in this run and cannot become 64", refused.stderr)
        refused = run("train", "--resume", self.out, "--heads", "5", check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--heads is 4 in this run and cannot become 5", refused.stderr)
        again = run("train", "--out", self.out, self.pairs, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("already holds a run", again.stderr)

    def test_killed_at_any_moment_it_goes_on(self):
        args = ["--save-every", "1ms", "--steps", "100000", "--valid-every", "3", "--valid-pairs", "0"]
        process = self.start("--out", self.out, *SMALL, *args, "--log-every", "1", self.pairs)
        draw = random.Random(7)
        last = -1
        for _ in range(int(os.environ.get("DRAGOMAN_KILLS", "6"))):
            self.wait_for(process, "step ")
            self.wait_for(process, "step ")
            time.sleep(draw.random() * 0.05)
            process.kill()
            process.wait(60)
            process.stderr.close()
            process = self.start("--resume", self.out)
            line = ""
            for line in process.stderr:
                if "parameters" in line:
                    break
            step = int(line.split("step")[-1])
            self.assertGreaterEqual(step, last, line)
            last = step
        process.kill()
        process.wait(60)
        process.stderr.close()
        self.assertGreater(last, 0)
        run("train", "--resume", self.out, "--steps", "1")
        self.assertEqual([f for f in os.listdir(self.file("training")) if f.count(".") > 1], [])
        run("inspect", self.out)

    def test_a_full_disk_leaves_the_last_checkpoint_whole(self):
        run("train", "--out", self.out, *SMALL, "--steps", "3", self.pairs)
        before = self.weights()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        done = run("train", "--resume", self.out, "--steps", "5", check=False, preexec_fn=limit)
        self.assertEqual(done.returncode, 1)
        self.assertTrue("whole" in done.stderr or "write" in done.stderr, done.stderr)
        self.assertEqual(self.weights(), before)
        self.assertEqual([f for f in os.listdir(self.file("training")) if f.count(".") > 1], [])
        run("train", "--resume", self.out, "--steps", "5")

    def test_vocabulary_and_fine_tuning(self):
        vocab = os.path.join(self.root, "toy.spm")
        run("train-vocab", "--size", "60", vocab, self.pairs)
        run("train", "--out", self.out, *SMALL, "--vocab", vocab, "--steps", "2", self.pairs)
        with open(vocab, "rb") as one, open(self.file("source.spm"), "rb") as other:
            self.assertEqual(one.read(), other.read())
        tuned = os.path.join(self.root, "tuned")
        done = run("train", "--out", tuned, "--init", self.out, "--threads", "1", "--steps", "1", "--dev-pairs", "0",
                   "--repeat", "3", self.pairs)
        n = int(re.search(r"(\d+) pairs to learn from", done.stderr).group(1))
        self.assertIn(f"pairs.bin: {3 * n} pairs", done.stderr)
        self.assertIn("all steps are done", done.stderr)
        shutil.rmtree(self.out)  # a resumed run does not need the files that it began with
        run("train", "--resume", tuned, "--steps", "2")

    def test_the_end_has_a_card_a_curve_and_scores(self):
        more = os.path.join(self.root, "more.tsv")
        with open(more, "w", encoding="utf-8") as out:
            out.write(pairs(30, seed=9))
        terms = os.path.join(self.root, "terms.md")
        with open(terms, "w", encoding="utf-8") as out:
            out.write("Toy pairs, CC0.\n")
        done = run("train", "--out", self.out, *SMALL, "--steps", "20", "--valid-every", "10", "--valid-pairs", "5",
                   "--dev-pairs", "20", "--test", more, "--test-pairs", "5", "--note", "A toy.", "--attribution", "@" + terms,
                   self.pairs)
        self.assertIn("| held-out pairs |", done.stderr)
        with open(self.file("card.md"), encoding="utf-8") as card:
            card = card.read()
        for words in ("A toy.", "Toy pairs, CC0.", "- pairs.tsv.gz: 405 lines", "| more.tsv | 30 |", "steps = 20", "## What it"):
            self.assertIn(words, card)
        with open(self.file("training", "samples.tsv"), encoding="utf-8") as samples:
            samples = [line.split("\t") for line in samples]
        self.assertEqual([len(row) for row in samples], [4] * 6)
        self.assertEqual([row[0] for row in samples], ["10"] * 3 + ["20"] * 3)
        with open(self.file("training", "curve.csv"), encoding="utf-8") as curve:
            self.assertEqual(len(curve.readlines()), 3)
        with open(self.file("training", "curve.svg"), encoding="utf-8") as curve:
            self.assertTrue(curve.read().startswith("<svg"))
        self.assertNotIn(self.root, card)
        # Resuming with other options writes them down; the texts stay the same.
        run("train", "--resume", self.out, "--steps", "25", "--test", "")
        with open(self.file("card.md"), encoding="utf-8") as card:
            card = card.read()
        self.assertIn("after step 20: --steps 25 (was 20)", card)
        self.assertIn("Toy pairs, CC0.", card)
        # The model can also be stored small, with its card.
        small = os.path.join(self.root, "small")
        run("import", self.out, small, "--type", "i8")
        self.assertEqual(sorted(os.listdir(small)), ["card.md", "config.json", "model.safetensors", "source.spm"])
        with open(self.file("model.safetensors"), "rb") as half, open(os.path.join(small, "model.safetensors"), "rb") as i8:
            self.assertLess(len(i8.read()), len(half.read()))
        run("translate", "--model", small, text="lusa bato\n")

    def test_a_run_is_carried_to_another_machine_in_one_file(self):
        """The run is resumed where the files it began with do not exist, and learns there what it
        would have learned here."""
        here, there = (os.path.join(self.root, name) for name in ("here", "there"))
        os.mkdir(here)
        os.mkdir(there)
        test = os.path.join(here, "test.tsv")
        with open(test, "w", encoding="utf-8") as out:
            out.write(pairs(30, seed=9))
        run("train", "--out", self.out, *SMALL, "--steps", "10", "--test", test, "--test-pairs", "5", self.pairs)
        with tarfile.open(os.path.join(there, "run.tar"), "w") as tar:
            tar.add(self.out, "run")
        shutil.rmtree(here)
        with tarfile.open(os.path.join(there, "run.tar")) as tar:
            tar.extractall(there)
        os.rename(self.pairs, self.pairs + ".gone")
        for place in (self.out, os.path.join(there, "run")):
            done = run("train", "--resume", place, "--steps", "20")
            self.assertIn("| test.tsv | 30 |", done.stderr)
        with open(self.file("model.safetensors"), "rb") as one, open(os.path.join(there, "run", "model.safetensors"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        # A test set that does not exist is reported before the first step.
        done = run("train", "--resume", self.out, "--steps", "30", "--test", test + ".other", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("test.tsv.other", done.stderr)
        self.assertNotIn("steps are done", done.stderr)

    def test_fine_tuning_freezes_mixes_and_compares(self):
        run("train", "--out", self.out, *SMALL, "--steps", "3", self.pairs)
        new = os.path.join(self.root, "new.tsv")
        with open(new, "w", encoding="utf-8") as out:
            out.write(pairs(100, seed=3))
        tuned = os.path.join(self.root, "tuned")
        done = run("train", "--out", tuned, "--init", self.out, "--threads", "1", "--steps", "2", "--dev-pairs", "10",
                   "--freeze", "encoder,embeddings", "--mix", self.pairs, "--mix-ratio", "0.5", "--test-pairs", "4", new)
        self.assertRegex(done.stderr, r"4\d pairs mixed in, of \d+ old ones, to [89]\d new ones")
        self.assertIn("| held-out pairs, before |", done.stderr)
        self.assertIn("| held-out pairs, after |", done.stderr)

    def test_two_files(self):
        source, target = os.path.join(self.root, "a.txt"), os.path.join(self.root, "b.txt")
        rows = [line.split("\t") for line in pairs(200).splitlines()]
        for path, side in ((source, 0), (target, 1)):
            with open(path, "w", encoding="utf-8") as out:
                out.write("".join(row[side] + "\n" for row in rows))
        done = run("train", "--out", self.out, *SMALL, "--steps", "1", "--source", source, "--target", target,
                   "--source-script", "Latn")
        self.assertIn("200 lines read", done.stderr)

    def test_align(self):
        done = run("align", self.pairs)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 405)
        self.assertEqual(lines[400:402], ["", ""])  # no tab, an empty side
        with gzip.open(self.pairs, "rt", encoding="utf-8") as text:
            first = text.readline().split("\t")[0].split()
        self.assertEqual(lines[0], " ".join(f"{i}-{i}" for i in range(len(first))))
        self.assertIn("align: lines=405 ", done.stderr.splitlines()[-1])
        self.assertEqual(run("align", "--quiet", self.pairs).stdout, done.stdout)

    def test_guided_attention_makes_a_head_for_alignments(self):
        done = run("train", "--out", self.out, *SMALL, "--steps", "250", "--valid-every", "250", "--valid-pairs", "2",
                   "--batch-tokens", "400", "--dropout", "0", "--guided-attention", "1", "--guided-head", "2",
                   "--dev-pairs", "20", self.pairs)
        self.assertIn("words are aligned", done.stderr)
        agreement = float(re.search(r"attention on ([0-9.]+) % of the linked words", done.stderr).group(1))
        self.assertGreater(agreement, 80.0)
        with open(self.file("config.json"), encoding="utf-8") as config:
            self.assertIn('"alignment_head": 2', config.read())
        # A finished network can also be given such a head later.
        tuned = os.path.join(self.root, "tuned")
        tune = ["train", "--out", tuned, "--init", self.out, "--steps", "2", "--batch-tokens", "100", "--dev-pairs", "20",
                "--guided-attention", "1", self.pairs]
        refused = run(*tune, "--guided-head", "100", check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("head 100 cannot be guided, expected a Transformer's, 1 to ", refused.stderr)
        run(*tune, "--guided-head", "1")
        with open(os.path.join(tuned, "config.json"), encoding="utf-8") as config:
            self.assertIn('"alignment_head": 1', config.read())
        # A link that points outside its pair is refused, not read.
        with open(self.file("training", "links.bin"), "r+b") as links:
            links.seek(-2, os.SEEK_END)
            links.write(b"\xff\xff")
        done = run("train", "--resume", self.out, "--steps", "251", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("links.bin: it links words that are not there", done.stderr)

    def test_shortlist(self):
        self.learn()
        whole = run("translate", "--model", self.out, text="lusa bato kemi\n").stdout
        done = run("shortlist", "--model", self.out, "--frequent", "1", self.pairs)
        self.assertRegex(done.stderr, r"shortlist: words=60 entries=[1-9]\d* ")
        first = self.file("lex.bin")
        self.assertEqual(run("translate", "--model", self.out, text="lusa bato kemi\n").stdout, whole)
        with open(first, "rb") as one:
            one = one.read()
        run("shortlist", "--model", self.out, "--frequent", "1", "--out", first + ".again", self.pairs)
        with open(first + ".again", "rb") as again:
            self.assertEqual(again.read(), one)
        empty = os.path.join(self.root, "empty.tsv")
        with open(empty, "w", encoding="utf-8") as out:
            out.write("no pair\n")
        done = run("shortlist", "--model", self.out, empty, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no line has a tab", done.stderr)

    def test_trim_drops_what_nobody_uses(self):
        self.learn()
        some = sorted(WORDS)[:5]
        text = os.path.join(self.root, "text.tsv")
        lines = [" ".join(some[(i + j) % 5] for j in range(3)) for i in range(5)]
        with open(text, "w", encoding="utf-8") as out:
            out.write("".join(line + "\t" + " ".join(WORDS[w] for w in line.split()) + "\n" for line in lines))
        small = os.path.join(self.root, "small")
        done = run("trim", self.out, small, text)
        kept = int(re.search(r"trim: kept=(\d+) of=60 ", done.stderr).group(1))
        self.assertLess(kept, 55)
        ask = "".join(line + "\n" for line in lines)
        for command in (["tokenize", "--format", "pieces"], ["translate", "--beam", "1", "-q"]):
            whole, less = (run(*command, "--model", model, text=ask).stdout for model in (self.out, small))
            self.assertEqual(whole, less)
        run("translate", "--model", small, text="Anything at all, zari!\n")
        again = run("trim", self.out, small, text, check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("cannot make the folder", again.stderr)

    def test_distill(self):
        self.learn()
        text = os.path.join(self.root, "text.tsv")
        with open(text, "w", encoding="utf-8") as out:
            out.write(pairs(30, seed=5))
        sources = [line.split("\t")[0] for line in pairs(30, seed=5).splitlines()]
        done = run("distill", "--model", self.out, "--pick", "best", "--beam", "2", "--threads", "2", text)
        made = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([row[0] for row in made], sources)
        self.assertIn("distill: pairs=30 written=30 ", done.stderr)
        whole = run("translate", "--beam", "2", "-q", "--model", self.out, text="".join(s + "\n" for s in sources)).stdout
        self.assertEqual([row[1] for row in made], whole.splitlines())
        one = run("distill", "--model", self.out, "--threads", "1", text)
        two = run("distill", "--model", self.out, "--threads", "2", text)
        self.assertEqual(one.stdout, two.stdout)

        # All answers, each with its score against the reference; picking the nearest one gives the
        # same answer.
        done = run("distill", "--model", self.out, "--pick", "all", "--score", "both", "--threads", "2", text)
        rivals = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([key for key, _ in itertools.groupby(row[0] for row in rivals)], sources)
        self.assertIn(f"distill: pairs=30 written={len(rivals)} score=", done.stderr)
        self.assertGreater(len(rivals), 90)
        nearest = run("distill", "--model", self.out, "--score", "both", "--threads", "1", text).stdout.splitlines()
        for source, group in itertools.groupby(rivals, key=lambda row: row[0]):
            best = max(group, key=lambda row: float(row[2]))
            self.assertIn(f"{source}\t{best[1]}", nearest)
        good = run("distill", "--model", self.out, "--pick", "all", "--score", "both", "--least", "60", text).stdout
        self.assertEqual(good.splitlines(), ["\t".join(row) for row in rivals if float(row[2]) >= 60])

        # dragoman train can learn from these answers.
        competing, learned = (os.path.join(self.root, name) for name in ("rivals.tsv", "learned"))
        with open(competing, "w", encoding="utf-8") as out:
            out.write(done.stdout)
        done = run("train", "--init", self.out, "--out", learned, "--steps", "12", "--valid-every", "12", "--valid-pairs", "2",
                   "--batch-tokens", "200", "--rate", "0.0005", "--warmup", "2", "--rivals", competing, "--rivals-tokens", "200",
                   "--risk", "2", "--risk-sharpness", "0.5", "--threads", "2", "--log-every", "4", self.pairs)
        self.assertRegex(done.stderr, r"training/rivals.bin: \d+ answers to \d+ sources, risk 0\.\d+ on average")
        with open(os.path.join(learned, "card.md"), encoding="utf-8") as card:
            self.assertRegex(card.read(), r"- rivals: \d+ answers to \d+ sources")
        again = run("train", "--resume", learned, "--steps", "14", "--threads", "2")
        self.assertIn("going on after step 12", again.stderr)

    def test_products_of_bf16_learn_what_those_of_f32_learn(self):
        curves = []
        for kind in ("f32", "bf16"):
            out = os.path.join(self.root, "by-" + kind)
            done = run("train", "--out", out, *SMALL, "--steps", "30", "--log-every", "5", "--valid-every", "30", "--valid-pairs", "0",
                       "--test-pairs", "0", "--products", kind, self.pairs)
            self.assertRegex(done.stderr, r"products of (f32|bf16|bf16 \(AMX\)), " if kind == "bf16" else "products of f32, ")
            with open(os.path.join(out, "training", "log.tsv"), encoding="utf-8") as log:
                curves.append([float(line.split("\t")[3]) for line in log if line[0].isdigit()])
        self.assertGreater(len(curves[0]), 5)
        self.assertEqual(len(curves[0]), len(curves[1]))
        for exact, rounded in zip(*curves):
            self.assertAlmostEqual(exact, rounded, delta=0.02 * exact)
        # A resumed run may use another kind of products.
        again = run("train", "--resume", out, "--steps", "31", "--products", "f32")
        self.assertIn("products of f32, ", again.stderr)
        with open(os.path.join(out, "training", "recipe.conf"), encoding="utf-8") as recipe:
            self.assertNotIn("products = bf16", recipe.read())

    def test_wrong_use(self):
        for args, words in ((["--out", self.out], "expected --out DIR and files of pairs"),
                            (["--resume", self.out, "x.tsv"], "expected neither"),
                            (["--out", self.out, "--width", "30", self.pairs], "multiple of --heads"),
                            (["--out", self.out, "--freeze", "hands", self.pairs], "expected embeddings, encoder"),
                            (["--out", self.out, "--source", "x"], "--source and --target together"),
                            (["--out", self.out, "--source-script", "Klingon?", self.pairs], "a script's name"),
                            (["--out", self.out, "--repeat", "1,2", self.pairs], "2 numbers for 1 files"),
                            (["--out", self.out, "--family", "rnn", "--rivals", self.pairs, self.pairs], "--rivals is for"),
                            (["--out", self.out, "--repeat", "0", self.pairs], "expected numbers from 1 to 100"),
                            (["--out", self.out, "--schedule", "cosine", self.pairs], "ends at --steps")):
            done = run("train", *args, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
        empty = os.path.join(self.root, "empty.tsv")
        with open(empty, "w", encoding="utf-8") as out:
            out.write("only words\nno pairs\n")
        done = run("train", "--out", self.out, empty, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("none of its 2 lines has a tab", done.stderr)
        self.assertFalse(os.path.exists(self.out))
        os.mkdir(self.out)
        run("train", "--out", self.out, empty, check=False)
        self.assertTrue(os.path.isdir(self.out))


if __name__ == "__main__":
    unittest.main()
