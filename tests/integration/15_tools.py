# SPDX-License-Identifier: ISC
"""The dragoman command as a filter: translate, score and eval over the embedded model."""
import json
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import STATION, STATION_SAID, write_lex

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
PROGRAM = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
with open(os.path.join(MODEL, "config.json"), encoding="utf-8") as config:
    N_WORDS = json.load(config)["vocab_size"]


def run(*args, text="", check=True):
    """Runs `dragoman ARGS` with `text` (str or bytes) on stdin; returns the process with bytes in stdout."""
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run([PROGRAM, *args], input=data, capture_output=True, timeout=120, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"dragoman {' '.join(args)} exited {done.returncode}: {done.stderr.decode()}")
    return done


def translate(text, *args, check=True):
    return run("translate", "--model", MODEL, *args, text=text, check=check)


SENTENCES = ["Bonjour.", "Je ne sais pas.", STATION, "Il fait beau aujourd'hui.", "Merci beaucoup."]


class Commands(unittest.TestCase):
    def test_help_names_groups_and_a_command_helps_itself(self):
        text = run("--help").stdout.decode()
        for group in "Translate:", "Models:", "Serve", "Train:", "Measure:":
            self.assertRegex(text, rf"(?m)^{group}.* dragoman [a-z]+ ")
        self.assertEqual(run("help").stdout.decode(), text)
        self.assertEqual(run("help", "translate").stdout, run("translate", "--help").stdout)
        for wrong in (("help", "nonsense"), ("nonsense",)):
            self.assertEqual(run(*wrong, check=False).returncode, 2)

    def test_a_misspelt_command_is_guessed(self):
        for said, meant in (("tranlate", "translate"), ("Translate", "translate"), ("trian", "train"), ("evla", "eval")):
            for args in ((said,), ("help", said)):
                done = run(*args, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"did you mean '{meant}'?", done.stderr.decode())
        self.assertNotIn(b"did you mean", run("x" * 5000, check=False).stderr)
        self.assertNotIn(b"did you mean", run("nonsense", check=False).stderr)
        for flag, meant in (("--too", "--to"), ("--frm", "--from")):  # other names of --target and --source
            self.assertIn(f"did you mean {meant}", run("translate", flag, "en", check=False).stderr.decode())


class Installed(unittest.TestCase):
    """Without --model: the installed models, and after them the embedded models of the build tree."""

    def setUp(self):
        self.data = tempfile.TemporaryDirectory()
        self.addCleanup(self.data.cleanup)
        self.env = {**os.environ, "XDG_DATA_HOME": self.data.name}

    def translate(self, *args, text=""):
        done = subprocess.run([PROGRAM, "translate", *args], input=text.encode(), capture_output=True, timeout=120,
                              env=self.env, cwd=self.data.name, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_an_argument_is_translated_by_the_model_of_its_language(self):
        self.assertEqual(self.translate("--to", "en", STATION), (0, STATION_SAID + "\n", ""))
        self.assertEqual(self.translate("--to=en", "Où", "est la gare ?")[1], STATION_SAID + "\n")
        self.assertIn("gare", self.translate("--from=en", "--to=fr", STATION_SAID)[1])
        self.assertEqual(self.translate("--to=en", "-q", text="Merci.\n\nMerci.")[:2], (0, "Thank you.\n\nThank you."))
        self.assertEqual(self.translate("--to=en", "--format=html", "<p>Merci.</p>")[1], "<p>Thank you.</p>\n")
        self.assertEqual(self.translate("--to=en", "--", "")[:2], (0, "\n"))

    def test_what_is_missing_is_explained_with_what_is_there(self):
        there = "installed: .*fr-en (fr to en)"
        for code, args in ((2, ("Bonjour",)), (1, ("--to=de", "Merci.")), (1, ("--from=fr", "--to=ko", "Merci."))):
            status, out, said = self.translate(*args)
            self.assertEqual((status, out), (code, ""), said)
            self.assertRegex(said, there.replace("(", r"\(").replace(")", r"\)"))
        status, out, said = self.translate("--to=en", "Wo ist denn hier der Bahnhof, bitte?")
        self.assertEqual((status, out), (0, "Wo ist denn hier der Bahnhof, bitte?\n"))
        self.assertRegex(said, "line 1 stays as it is: it is in de, and no installed model translates from that to en; 'dragoman get de-en' fetches one")
        for flag in ("--ids", "--quality=x", "--formal=x"):
            self.assertEqual(self.translate("--to=en", flag)[0], 2)

    def test_ones_own_models_go_first_and_a_damaged_one_is_left_out(self):
        if os.geteuid() == 0:
            self.skipTest("root's own place is the server's")
        own = os.path.join(self.data.name, "dragoman", "models")
        shutil.copytree(os.path.join(SOURCES, "models", "en-fr"), os.path.join(own, "fr-en"))
        os.truncate(os.path.join(own, "fr-en", "model.safetensors"), 100)
        status, out, said = self.translate("--to=en", "Merci.")
        self.assertRegex(said, "(?m)^dragoman: the model .*/dragoman/models/fr-en is left out: ")

    def test_on_a_terminal_it_says_that_it_waits(self):
        leader, follower = os.openpty()
        with open(leader, "r+b", buffering=0) as terminal:
            process = subprocess.Popen([PROGRAM, "translate", "--to=en"], stdin=follower, stdout=subprocess.PIPE,
                                       stderr=follower, env=self.env)
            os.close(follower)
            said = b""
            while b"waiting for lines to translate; Ctrl-D ends" not in said:
                said += terminal.read(1000)
            terminal.write(b"Merci.\n\x04")
            self.assertEqual(process.communicate(timeout=120)[0], b"Thank you.\n")


class Translate(unittest.TestCase):
    def test_documents_keep_their_markup(self):
        out = translate("# Le chat\n\nLa **voiture rouge** est ici.\n\n```\nle chat\n```\n", "--format=markdown").stdout.decode()
        self.assertTrue(out.startswith("# ") and out.endswith("\n\n```\nle chat\n```\n"), out)
        self.assertEqual((out.count("**"), "red car" in out), (2, True), out)
        page = "<p>Le <b>chien</b> mange.</p>\n<script>le.chat()</script>"
        out = translate(page, "--format=html").stdout.decode()
        self.assertTrue(out.startswith("<p>The <b>dog</b>") and out.endswith("</p>\n<script>le.chat()</script>"), out)
        self.assertEqual(translate("", "--format=xml").stdout, b"")
        for flag in ("--ids", "--json", "--stream", "--whole-lines"):
            self.assertEqual(translate("", "--format=html", flag, check=False).returncode, 2)
        self.assertEqual(translate(b"\xff", "--format=html", check=False).returncode, 1)

    def test_keeps_order_empty_lines_and_the_end_of_the_last(self):
        text = "\n".join(SENTENCES * 8) + "\n\n  \nMerci."
        out = translate(text).stdout.decode()
        lines = out.split("\n")
        self.assertEqual(len(lines), len(text.split("\n")))
        for i in range(8):
            self.assertEqual(lines[i * 5:i * 5 + 5], lines[:5])
        self.assertEqual(lines[40:42], ["", "  "])
        self.assertTrue(lines[42])
        self.assertEqual(translate("").stdout, b"")
        self.assertEqual(translate("\n").stdout, b"\n")

    def test_a_shortlist_decides_what_can_be_said(self):
        text = "\n".join(SENTENCES) + "\n"
        plain = translate(text, "--json").stdout
        used = sorted({i for line in plain.splitlines() for s in json.loads(line)["sentences"]
                       for i in s["answers"][0]["ids"]})
        with tempfile.TemporaryDirectory() as parent:
            model = os.path.join(parent, "fr-en")
            shutil.copytree(MODEL, model)

            def with_lex(targets, *args):
                write_lex(model, targets)
                return run("translate", "--model", model, "--json", *args, text=text).stdout

            def texts(out):
                return [json.loads(line)["text"] for line in out.splitlines()]

            self.assertEqual(texts(with_lex(used)), texts(plain))
            fewer = with_lex(used[::3])
            self.assertNotEqual(texts(fewer), texts(plain))
            self.assertEqual(run("translate", "--model", model, "--json", "--slots", "1", text=text).stdout, fewer)
            self.assertEqual(with_lex(used[::3], "--shortlist=no"), plain)
            with open(os.path.join(model, "lex.bin"), "r+b") as file:
                file.truncate(1000)
            done = run("translate", "--model", model, text=text, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"lex.bin: offset 32", done.stderr)

    def test_a_bad_line_is_named_and_shifts_nothing(self):
        done = translate(b"Merci.\nbad \xff line\nMerci.\n", check=False)
        lines = done.stdout.split(b"\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(lines[1], b"")
        self.assertEqual(lines[0], lines[2])
        self.assertIn(b"line 2: the text is not valid UTF-8 at byte 4", done.stderr)

    def test_streaming_threads_and_slots_change_nothing(self):
        text = "\n".join(SENTENCES * 3) + "\n"
        for beam in ("1", "3"):
            plain = translate(text, "--beam", beam, "--threads", "1").stdout
            self.assertEqual(translate(text, "--beam", beam, "--stream").stdout, plain)
            self.assertEqual(translate(text, "--beam", beam, "--threads", "3", "--slots", "2").stdout, plain)

    def test_fields(self):
        lines = translate("Merci.\n", "--beam", "4", "--nbest", "3", "--alignment").stdout.decode().splitlines()
        self.assertEqual(len(lines), 3)
        scores = []
        for line in lines:
            number, text, score, pairs = line.split(" ||| ")
            self.assertEqual(number, "1")
            self.assertTrue(text)
            self.assertRegex(pairs, r"^\d+-\d+( \d+-\d+)*$")
            scores.append(float(score))
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_soft_alignments(self):
        """A row for each token; its largest weight is where the hard alignment's pair points."""
        _, pairs, weights = translate("Merci beaucoup.\n", "--alignment", "--soft-alignment").stdout.decode().split(" ||| ")
        rows = [[float(weight) for weight in token.split(",")] for token in weights.split()]
        self.assertEqual([f"{row.index(max(row))}-{t}" for t, row in enumerate(rows)], pairs.split())
        for row in rows:
            self.assertAlmostEqual(sum(row), 1, delta=1e-3)

    def test_ids_are_those_of_an_independent_implementation(self):
        with open(os.path.join(SOURCES, "tests", "golden", "fr-en-search.json"), encoding="utf-8") as file:
            golden = json.load(file)
        self.assertGreater(len(golden), 5)
        text = "".join(" ".join(map(str, item["src_ids"])) + "\n" for item in golden)
        lines = translate(text, "--ids", "--beam", "1").stdout.decode().splitlines()
        self.assertEqual([list(map(int, line.split())) for line in lines],
                         [item["greedy_ids"] for item in golden])
        bare = "".join(" ".join(map(str, item["src_ids"][:-1])) + "\n" for item in golden)  # as dragoman tokenize prints them
        self.assertEqual(translate(bare, "--ids", "--beam", "1").stdout.decode().splitlines(), lines)
        done = translate("5 x 0\n99999 0\n\n", "--ids", check=False)
        self.assertEqual(done.stdout, b"\n\n\n")
        self.assertIn(b"column 3: read 'x', expected a token id", done.stderr)
        self.assertIn(f"source id 0 is 99999, expected 0 to {N_WORDS - 1}".encode(), done.stderr)

    def test_the_beam_is_the_models_unless_somebody_says_another(self):
        text = "\n".join([*SENTENCES, "Elle a vendu sa vieille voiture à un voisin qui en avait besoin pour son travail.",
                          "Le directeur de l'usine a annoncé que les ouvriers seraient payés plus tard.",
                          "Le conseil municipal a rejeté hier soir le projet d'agrandissement du stade, jugé trop coûteux."]) + "\n"
        ids = run("tokenize", "--model", MODEL, "--format", "ids", "--eos", text=text).stdout.decode()
        for given, more in ((text, ()), (ids, ("--ids",))):
            said = translate(given, "--scores", *more).stdout
            self.assertEqual(translate(given, "--scores", "--beam", "4", *more).stdout, said)
            self.assertNotEqual(translate(given, "--scores", "--beam", "1", *more).stdout, said)
            self.assertEqual(len(translate(given, "--nbest", "5", *more).stdout.splitlines()), 5 * 8)

    def test_the_length_penalty_is_the_models_unless_somebody_says_another(self):
        with tempfile.TemporaryDirectory() as directory:
            other = os.path.join(directory, "other")
            shutil.copytree(MODEL, other)
            with open(os.path.join(other, "config.json"), "r+", encoding="utf-8") as file:
                config = {**json.load(file), "length_penalty": 0.25}
                file.seek(0)
                file.truncate()
                json.dump(config, file)
            text, args = "\n".join(SENTENCES) + "\n", ("--beam", "3", "--scores")
            ids = run("tokenize", "--model", MODEL, "--format", "ids", "--eos", text=text).stdout.decode()
            for given, more in ((text, ()), (ids, ("--ids",))):
                said = translate(given, *args, *more, "--length-penalty", "0.25").stdout
                self.assertEqual(run("translate", "--model", other, *args, *more, text=given).stdout, said)
                self.assertNotEqual(translate(given, *args, *more, "--length-penalty", "1").stdout, said)

    def test_json_says_everything_about_every_answer(self):
        text = "Je ne sais pas. Il fait beau.\n\nbad \udcff\n".encode("utf-8", "surrogateescape")
        done = translate(text, "--json", "--beam", "3", "--nbest", "2", "--alignment", check=False)
        first, empty, bad = map(json.loads, done.stdout.decode().splitlines())
        self.assertEqual(done.returncode, 1)
        plain = translate("Je ne sais pas. Il fait beau.\n", "--beam", "3").stdout.decode()
        self.assertEqual((first["line"], first["text"] + "\n", first["finish"]), (1, plain, "eos"))
        self.assertEqual((empty["text"], empty["sentences"]), ("", []))
        self.assertIn("not valid UTF-8", bad["error"])
        self.assertEqual(len(first["sentences"]), 2)
        with open(os.path.join(MODEL, "config.json"), encoding="utf-8") as file:
            penalty = json.load(file)["length_penalty"]
        for sentence in first["sentences"]:
            self.assertEqual(len(sentence["answers"]), 2)
            for answer in sentence["answers"]:
                n = len(answer["ids"])
                self.assertEqual((len(answer["token_logprobs"]), len(answer["alignment"])), (n, n))
                self.assertAlmostEqual(sum(answer["token_logprobs"]), answer["logprob"], places=4)
                self.assertAlmostEqual(answer["score"] * n**penalty, answer["logprob"], places=4)
                self.assertTrue(all(s < len(sentence["source_ids"]) for s, _ in answer["alignment"]))

    def test_demands_are_met_and_cost_what_they_cost(self):
        text = "Je ne sais pas. Il fait beau.\nLe chat dort.\n"
        for beam in ("1", "4"):
            for line in translate(text, "--prefix", "Well, I", "--beam", beam).stdout.decode().splitlines():
                self.assertTrue(line.startswith("Well, I"), line)
                self.assertNotIn("Well", line[5:])
            streamed = translate(text, "--prefix", "Well, I", "--beam", beam, "--stream").stdout
            self.assertEqual(streamed, translate(text, "--prefix", "Well, I", "--beam", beam).stdout)
            must = translate(text, "--must", "weather", "--must", "green dog", "--beam", beam).stdout.decode()
            for line in must.splitlines():
                self.assertIn("weather", line)
                self.assertIn("green dog", line)
        answer = json.loads(translate("13 23 187 17 2 0\n", "--ids", "--json", "--prefix", "68 97").stdout)["answers"][0]
        self.assertEqual(answer["ids"][:2], [68, 97])
        ids = " ".join(map(str, answer["ids"]))
        scored = json.loads(run("score", "--ids", "--model", MODEL, text="13 23 187 17 2 0\t" + ids + "\n").stdout)
        for ours, theirs in zip(answer["token_logprobs"], scored["token_logprobs"]):
            self.assertAlmostEqual(ours, theirs, places=5)
        suppressed = translate("13 23 187 17 2 0\n", "--ids", "--suppress", ids[:-2], "--beam", "2").stdout
        self.assertFalse(set(suppressed.split()[:-1]) & set(ids.encode().split()[:-1]))

    def test_contradictions_are_refused_before_anything_is_read(self):
        for args in (["--min-len", "9", "--max-len", "8"], ["--beam", "2", "--nbest", "3"], ["--suppress", "x"],
                     ["--sample", "--beam", "2"]):
            done = translate("Merci.\n", *args, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, b""), args)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_a_closed_reader_ends_it_quietly(self):
        process = subprocess.Popen([PROGRAM, "translate", "--model", MODEL], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        try:
            process.communicate(("\n".join(SENTENCES * 200) + "\n").encode(), timeout=120)
        except BrokenPipeError:
            process.wait(timeout=120)
        self.assertEqual(process.returncode, -13)

    def test_wrong_use_is_told(self):
        for args in (["--beam", "0"], ["--beam", "99"], ["--nonsense"], ["--temperature", "nan"]):
            done = translate("", *args, check=False)
            self.assertEqual(done.returncode, 2, args)
            self.assertTrue(done.stderr)
        done = run("translate", "--model", "/nonexistent", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"/nonexistent", done.stderr)
        self.assertEqual(run("nonsense", check=False).returncode, 2)


def damaged(directory):
    """A copy of the model with a NaN in its weights."""
    model = os.path.join(directory, "model")
    shutil.copytree(MODEL, model)
    path = os.path.join(model, "model.safetensors")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    n = struct.unpack("<Q", data[:8])[0]
    at = 8 + n + json.loads(data[8:8 + n])["model.decoder.layers.0.final_layer_norm.weight"]["data_offsets"][0]  # F16
    data[at:at + 2] = b"\x00\x7e"
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(data)
    return model


class Damage(unittest.TestCase):
    def test_a_model_with_a_nan_never_answers(self):
        with tempfile.TemporaryDirectory() as directory:
            model = damaged(directory)
            for args, text, out in ((["translate"], "Merci.\n", b""), (["translate", "--ids"], "5 6 0\n", b"\n"),
                                    (["translate", "--ids", "--beam", "4"], "5 6 0\n", b"\n")):
                done = run(*args, "--model", model, text=text, check=False)
                self.assertEqual((done.returncode, done.stdout), (1, out), args)
                self.assertIn(b"not finite", done.stderr)
            done = run("score", "--ids", "--model", model, text="5 6 0\t7 0\n", check=False)
            self.assertEqual((done.returncode, list(json.loads(done.stdout))), (1, ["error"]))


class Score(unittest.TestCase):
    def test_a_line_that_is_not_utf_8_is_refused(self):
        done = run("score", "--model", MODEL, text=b"Merci\tThank \xff\n", check=False)
        self.assertEqual((done.returncode, list(json.loads(done.stdout))), (1, ["error"]))

    def test_agrees_with_the_search(self):
        source = "Je ne sais pas."
        text, score = translate(source + "\n", "--scores", "-q").stdout.decode().strip().split(" ||| ")
        line = run("score", "--model", MODEL, text=f"{source}\t{text}\n").stdout
        answer = json.loads(line)
        self.assertAlmostEqual(answer["score"], float(score), places=5)
        self.assertAlmostEqual(sum(answer["token_logprobs"]), answer["logprob"], places=5)

    def test_a_line_without_a_tab_is_answered_in_step(self):
        done = run("score", "--model", MODEL, text="no tab\nMerci.\tThanks.\n", check=False)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(done.returncode, 1)
        self.assertIn("error", json.loads(lines[0]))
        self.assertIn("score", json.loads(lines[1]))


class Eval(unittest.TestCase):
    def test_scores_files_and_columns(self):
        with tempfile.TemporaryDirectory() as directory:
            hyp, ref, both = (os.path.join(directory, name) for name in ("h", "r", "b"))
            for path, text in ((hyp, "a b c d e\n"), (ref, "a b c d f\n"), (both, "a b c d e\ta b c d f\n")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            two = run("eval", hyp, ref).stdout
            self.assertEqual(run("eval", both).stdout, two)
            self.assertIn(b"BLEU 66.87", two)
            self.assertIn(b"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp", two)
            # The comparison with another system, and the worst lines.
            for path, text in ((hyp, "a b c d e\nx\ng h i j k\n"), (ref, "a b c d f\ng h i j l\ng h i j k\n"),
                               (both, "a b c d f\ng h i j l\ng h i j k\n")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            lines = run("eval", "--compare", both, "--samples", "50", "--worst", "2", hyp, ref).stdout.decode().splitlines()
            self.assertEqual([line.split()[:2] for line in lines[2:6]],
                             [["BLEU", "hypotheses"], ["BLEU", "compared"], ["chrF", "hypotheses"], ["chrF", "compared"]])
            self.assertIn("BLEU compared 100.000000 mean=100.000000 half=0.000000 difference=+", lines[3])
            self.assertEqual([line.split("\t")[0] for line in lines[6:]], ["2", "1"])
            self.assertEqual(lines[6].split("\t")[3:], ["x", "g h i j l"])
            done = run("eval", "--compare", both, "--samples", "50", both, ref)
            self.assertIn(b"difference=+0.000000 p=1.000000", done.stdout)
            with open(ref, "a", encoding="utf-8") as file:
                file.write("more\n")
            done = run("eval", hyp, ref, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"more references than hypotheses", done.stderr)


class Bench(unittest.TestCase):
    def test_prints_a_line_a_case(self):
        lines = run("bench", "--model", MODEL, "--batch", "1,2", "--beam", "1", "--time", "1ms",
                    "--source-len", "4", "--target-len", "4").stdout.decode().splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["case=load", "case=decode", "case=decode"])

    def test_a_shortlist_is_the_models_own(self):
        args = ["bench", "--batch", "2", "--beam", "2", "--time", "1ms", "--source-len", "4", "--target-len", "4", "--shortlist"]
        self.assertEqual(run(*args, "--random", "student", check=False).returncode, 2)
        self.assertIn(b"no lex.bin", run(*args, "--model", MODEL, check=False).stderr)
        with tempfile.TemporaryDirectory() as directory:
            model = os.path.join(directory, "model")
            shutil.copytree(MODEL, model)
            write_lex(model, list(range(0, 600, 3)))
            self.assertIn(b" shortlist=yes ", run(*args, "--model", model).stdout)

    def test_threads_that_share_a_product_are_not_pinned_to_one_core(self):
        refused = run("bench", "--random", "tiny", "--split", "2", "--pin", check=False)
        self.assertEqual((refused.returncode, b"on one core" in refused.stderr), (2, True))

    def test_compares_with_a_former_run(self):
        args = ["bench", "--model", MODEL, "--batch", "1", "--time", "1ms", "--source-len", "4", "--target-len", "4"]
        with tempfile.TemporaryDirectory() as directory:
            former = os.path.join(directory, "former")
            with open(former, "wb") as file:
                file.write(run(*args, "--beam", "1").stdout)
            lines = run(*args, "--beam", "1,2", "--compare", former).stdout.decode().splitlines()
            ratios = [line for line in lines if line.startswith("case=ratio ")]
            self.assertEqual(len(ratios), 2)
            for name in ("tokens_per_second", "tokens_per_cpu_second", "first_token_ms", "step_ms"):
                self.assertRegex(ratios[0], f" {name}=[0-9.]+")
            self.assertTrue(ratios[1].endswith(" former=none"), ratios[1])
            self.assertEqual(run(*args, "--compare", former + "x", check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
