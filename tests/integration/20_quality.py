# SPDX-License-Identifier: ISC
"""Quality estimators: "quality" of POST /v1/translate and of the stream, dragoman translate
--quality, dragoman quality. A tiny random estimator (tests/data/estimator), whose numbers are
meaningless but always the same, judges what a small trained model (tests/models) translates."""
import json
import math
import os
import shutil
import struct
import subprocess

from harness import SOURCES, IntegrationTest, main
from ws_client import Socket

TOOL = os.path.join(os.getcwd(), "dragoman")
CURVE = {"scale": 1.5, "bias": 1, "probability": 0.25, "judges": ["fr-en"]}
TEXTS = ["lusa vogu kemi miru\nbato miru", "kemi sapo"]


def tool(*arguments, text="", expect=0):
    done = subprocess.run([TOOL, *arguments], input=text.encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == expect, (arguments, done.returncode, done.stderr.decode())
    return done.stdout.decode(), done.stderr.decode()


def values(line):
    return {word.split("=")[0]: float(word.split("=")[1]) for word in line.split() if "=" in word}


class Quality(IntegrationTest):
    def models(self, curve=None):
        folder = os.path.join(self.directory, "models")
        os.makedirs(folder)
        for name in ("fr-en", "en-de"):
            shutil.copytree(os.path.join(SOURCES, "tests/models/transformer"), os.path.join(folder, name))
        tool("import", os.path.join(SOURCES, "tests/data/estimator"), os.path.join(folder, "judge"))
        if curve:
            with open(os.path.join(folder, "judge", "quality.json"), "w", encoding="utf-8") as file:
                json.dump(curve, file)
        return folder

    def ask(self, server, route, body, status=200):
        got, _, answer = server.request("POST", "/v1/" + route, body=json.dumps(body).encode())
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def check(self, server, text, answer):
        """Computes the quality by hand: the estimator's number from /v1/classify, the
        log-probability from the answer, the curve."""
        total = weights = 0
        for sentence in answer["sentences"]:
            source = text.encode()[sentence["start"]:sentence["start"] + sentence["length"]].decode()
            said = self.ask(server, "classify", {"model": "judge", "text": source, "pair": sentence["text"]})
            raw = said["results"][0]["labels"][0]["score"]
            expected = 1 / (1 + math.exp(-(1 + 1.5 * raw + 0.25 * math.exp(sentence["score"]))))
            self.assertAlmostEqual(sentence["quality"], expected, places=3)
            total += sentence["quality"] * sentence["length"]
            weights += sentence["length"]
        self.assertAlmostEqual(answer["quality"], total / weights, places=3)

    def test_an_answer_tells_it(self):
        server = self.start(f"--models-dir={self.models(CURVE)}")
        body = {"text": TEXTS, "source": "fr", "target": "en", "quality": True}
        first = self.ask(server, "translate", body)
        for text, answer in zip(TEXTS, first["translations"]):
            self.check(server, text, answer)
        self.assertEqual([len(answer["sentences"]) for answer in first["translations"]], [2, 1])
        again = self.ask(server, "translate", body)  # from the cache
        self.assertEqual(again["translations"], first["translations"])
        plain = self.ask(server, "translate", {**body, "quality": False})
        self.assertTrue(all("quality" not in answer and "sentences" not in answer for answer in plain["translations"]))
        self.assertEqual([a["text"] for a in plain["translations"]], [a["text"] for a in first["translations"]])
        nothing = self.ask(server, "translate", {**body, "text": " \n"})["translations"][0]
        self.assertIsNone(nothing["quality"])
        html = self.ask(server, "translate", {**body, "text": "<p>kemi <b>sapo</b></p>", "format": "html"})["translations"][0]
        self.assertEqual(html["quality"], first["translations"][1]["quality"])  # of the text without its markup
        models = {m["name"]: m for m in json.loads(server.request("GET", "/v1/models")[2])["models"]}
        self.assertEqual(models["judge"]["judges"], ["fr-en"])
        self.assertNotIn("judges", models["fr-en"])
        metrics = server.request("GET", "/metrics")[2].decode()
        self.assertIn('dragoman_model_quality_count{model="judge"} 7\n', metrics)
        self.assertNotIn('dragoman_model_quality_count{model="fr-en"}', metrics)

    def test_streams_tell_it_at_their_end(self):
        server = self.start(f"--models-dir={self.models(CURVE)}")
        body = {"text": TEXTS[0], "source": "fr", "target": "en", "quality": True}
        whole = self.ask(server, "translate", body)["translations"][0]
        _, _, answer = server.request("POST", "/v1/translate", body=json.dumps({**body, "stream": True}).encode())
        events = [event.split("\n") for event in answer.decode().split("\n\n") if event]
        done = json.loads(events[-1][2].removeprefix("data: "))
        self.assertEqual(events[-1][1], "event: done")
        self.assertEqual(done["translations"][0], whole)
        ws = Socket(server)

        def answer_to(message):
            ws.send(message)
            while (got := ws.receive())["type"] in ("accepted", "token", "sentence"):
                pass
            return got

        done = answer_to({"type": "translate", "id": "1", **body})
        self.assertEqual((done["type"], done["quality"]), ("done", whole["quality"]), done)
        self.assertEqual(done["sentences"], whole["sentences"])
        done = answer_to({"type": "update", "id": "1", "text": TEXTS[0] + "\n" + TEXTS[1]})
        self.assertEqual(len(done["sentences"]), 3, done)  # unchanged sentences are judged, too
        self.assertEqual(done["sentences"][:2], whole["sentences"])
        ws.connection.close()

    def test_what_is_no_number_is_told_as_an_error(self):
        """Weights that are damaged in a place where the test at loading does not find it."""
        folder = self.models(CURVE)
        path = os.path.join(folder, "judge", "model.safetensors")
        with open(path, "r+b") as file:
            n = struct.unpack("<Q", file.read(8))[0]
            tensors = json.loads(file.read(n))
            places = next(tensor for name, tensor in tensors.items() if "position" in name)
            start, end = places["data_offsets"]
            file.seek(8 + n + (start + end) // 2)
            nan = {"F16": struct.pack("<e", math.nan), "F32": struct.pack("<f", math.nan)}[places["dtype"]]
            file.write(nan * ((end - start) // 2 // len(nan)))
        server = self.start(f"--models-dir={folder}")
        body = {"text": "lusa vogu kemi miru bato miru", "source": "fr", "target": "en", "quality": True}
        error = self.ask(server, "translate", body, 500)["error"]
        self.assertEqual(error["code"], "internal")
        self.assertIn("numbers that are not finite", error["message"])

    def test_what_cannot_be_judged_is_refused(self):
        folder = self.models()
        server = self.start(f"--models-dir={folder}")
        body = {"text": TEXTS, "source": "fr", "target": "en", "quality": True}
        error = self.ask(server, "translate", body, 400)["error"]
        self.assertEqual(error["code"], "unsupported")
        self.assertIn("no quality estimator judges what fr-en translates", error["message"])
        self.assertEqual(self.ask(server, "translate", {**body, "quality": "yes"}, 400)["error"]["field"], "quality")
        conf = f"[model judge]\npath = {folder}/judge\njudges = fr-en\n"
        done = self.run_program("--listen=127.0.0.1:0", conf=conf.encode())
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no quality.json", done.stderr)
        done = self.run_program("--listen=127.0.0.1:0", conf=f"[model fr-en]\npath = {folder}/fr-en\njudges = fr-en\n".encode())
        self.assertIn("judges is for quality estimators", done.stderr)

    def test_configured_and_by_way_of_another_language(self):
        folder = self.models({**CURVE, "judges": []})
        conf = f"models-dir = {folder}\n[model judge]\npath = {folder}/judge\njudges = en-de, fr-en+en-de\n"
        server = self.start(conf=conf)
        body = {"text": "kemi sapo", "source": "fr", "target": "de", "quality": True}
        answer = self.ask(server, "translate", body)
        self.assertEqual(answer["model"], "fr-en+en-de")
        self.assertTrue(0 < answer["translations"][0]["quality"] < 1)
        self.assertIn("what fr-en translates", self.ask(server, "translate", {**body, "target": "en"}, 400)["error"]["message"])

    def test_lines(self):
        folder = self.models({**CURVE, "judges": []})
        translate = ["translate", f"--model={folder}/fr-en", f"--quality={folder}/judge", "--threads=1"]
        lines = "".join(text + "\n" for text in ("kemi sapo", "", "lusa vogu kemi"))
        out, _ = tool(*translate, text=lines)
        answers = [line.split(" ||| ") for line in out.splitlines()]
        self.assertEqual(answers[1], ["", "-"])
        pairs = "".join(f"{line}\t{answer[0]}\n" for line, answer in zip(lines.splitlines(), answers) if line)
        judged, summary = tool("quality", f"--model={folder}/judge", f"--translator={folder}/fr-en", text=pairs)
        for one, other in zip(judged.split(), (answers[0][1], answers[2][1])):
            self.assertAlmostEqual(float(one), float(other), places=3)
        self.assertTrue(summary.startswith("quality: lines=2 mean="), summary)
        out, _ = tool(*translate, "--json", text="kemi sapo\n")
        answer = json.loads(out)
        self.assertAlmostEqual(answer["quality"], float(answers[0][1]), places=3)
        self.assertEqual(len(answer["qualities"]), 1)
        self.assertIn("--quality is of the best answer", tool(*translate, "--nbest=2", "--beam=2", text="a\n", expect=2)[1])
        self.assertIn("expected --translator", tool("quality", f"--model={folder}/judge", text=pairs, expect=2)[1])
        self.assertIn("line 1: there is no tab", tool("quality", f"--model={folder}/judge", f"--translator={folder}/fr-en",
                                                      text="kemi\n", expect=1)[1])
        self.assertIn("is not an encoder that gives one number",
                      tool("quality", "--fit", f"--model={folder}/fr-en", text=pairs, expect=1)[1])

    def test_rows_are_made_and_a_curve_is_fitted(self):
        folder = self.models()
        with open(os.path.join(SOURCES, "tests/models/pairs.tsv"), encoding="utf-8") as file:
            pairs = file.read()
        rows, _ = tool("quality", "--rows", f"--translator={folder}/fr-en", "--wrong=25", "--sample", "--seed=3", text=pairs)
        table = [row.split("\t") for row in rows.splitlines()]
        given = [pair.split("\t") for pair in pairs.splitlines()]
        self.assertEqual([row[0] for row in table], [pair[0] for pair in given])
        self.assertTrue(all(0 <= float(row[2]) <= 1 and float(row[3]) <= 0 for row in table))
        wrong = [i for i in range(1, len(given)) if (i + 1) * 25 // 100 != i * 25 // 100]
        for i in wrong:
            self.assertEqual(table[i][1], given[i - 1][1])
        for row, pair in zip(table, given):
            if row[1] == pair[1]:
                self.assertEqual(float(row[2]), 1)
        # The tiny network is random, so that its number may rise or fall with the quality. The test
        # turns it so that it rises.
        folder_of_judge = os.path.join(folder, "judge")
        said, _ = tool("classify", "--pairs", f"--model={folder_of_judge}", text="".join("\t".join(row[:2]) + "\n" for row in table))
        raws = [float(line.split("\t")[1]) for line in said.splitlines()]
        middle = sorted(raws)[len(raws) // 2]
        fitting = "".join("\t".join([*row[:2], "0.9" if raw > middle else "0.2", row[3]]) + "\n" for row, raw in zip(table, raws))
        out, _ = tool("quality", "--fit", "--no-logprob", "--judges=fr-en", f"--model={folder_of_judge}", text=fitting)
        self.assertEqual([line.split()[0] for line in out.splitlines()[:3]], ["logprob", "estimator", "quality"])
        figures = values(out.splitlines()[-1])
        self.assertEqual(figures["rows"], len(table))
        with open(os.path.join(folder_of_judge, "quality.json"), encoding="utf-8") as file:
            curve = json.load(file)
        self.assertEqual((curve["judges"], curve["probability"]), (["fr-en"], 0))
        self.assertGreater(curve["scale"], 0)
        mean = sum(1 / (1 + math.exp(-curve["bias"] - curve["scale"] * raw)) for raw in raws) / len(raws)
        self.assertAlmostEqual(mean, figures["mean"], places=2)  # the stated figures are right on average
        tested, _ = tool("quality", "--test", f"--model={folder_of_judge}", text=fitting)
        self.assertEqual(tested, out)
        upside_down = "".join("\t".join([*row[:2], "0.2" if raw > middle else "0.9"]) + "\n" for row, raw in zip(table, raws))
        self.assertIn("does not rise", tool("quality", "--fit", f"--model={folder_of_judge}", text=upside_down, expect=1)[1])
        self.assertIn("line 1: column 3: read 'good', expected a quality from 0 to 1",
                      tool("quality", "--test", f"--model={folder_of_judge}", text="a\tb\tgood\n", expect=1)[1])


if __name__ == "__main__":
    main()
