# SPDX-License-Identifier: ISC
"""Models that read: import, and POST /v1/fill, /v1/classify, /v1/tag, /v1/answer, /v1/embed, with
tiny random models (tests/data/enc). What they answer is nonsense, and always the same."""
import base64
import json
import math
import os
import shutil
import struct
import subprocess

from harness import SOURCES, IntegrationTest, main

TOOL = os.path.join(os.getcwd(), "dragoman")
SENTENCE = "The little house stands on the hill."


def tool(*arguments, text="", expect=0):
    done = subprocess.run([TOOL, *arguments], input=text.encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == expect, (arguments, done.returncode, done.stderr.decode())
    return done.stdout.decode(), done.stderr.decode()


def field(number, data):
    """The bytes of a protocol buffer's field."""
    length, out = len(data), bytes([number << 3 | 2])
    while length >= 0x80:
        out, length = out + bytes([length & 0x7F | 0x80]), length >> 7
    return out + bytes([length]) + data


def sentencepiece(tokenizer, first):
    """The SentencePiece model that a tokenizer.json was made from: its pieces from `first` on,
    without the mask, and its replacements."""
    def piece(text, score, kind=b""):
        return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + kind)
    steps = tokenizer["normalizer"].get("normalizers", [tokenizer["normalizer"]])
    table = base64.b64decode(next(step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"))
    words = b"".join(piece(text, score) for text, score in tokenizer["model"]["vocab"][first:-1])
    return (piece("<unk>", 0, b"\x18\x02") + piece("<s>", 0, b"\x18\x03") + piece("</s>", 0, b"\x18\x03") + words
            + field(3, field(2, table)))


class Read(IntegrationTest):
    def models(self, *names):
        for name in names:
            target = os.path.join(self.directory, "models", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            tool("import", os.path.join(SOURCES, "tests/data/enc", name), target)
        return os.path.join(self.directory, "models")

    def ask(self, server, route, body, status=200):
        got, headers, answer = server.request("POST", "/v1/" + route, body=json.dumps(body).encode())
        self.assertEqual(got, status, answer)
        self.assertEqual(headers["Content-Type"], "application/json")
        return json.loads(answer)

    def test_masked_words(self):
        server = self.start(f"--models-dir={self.models('roberta-words')}")
        text = "The little <mask> stands on the <mask>."
        answer = self.ask(server, "fill", {"text": text, "top": 3})
        masks = answer["results"][0]["masks"]
        self.assertEqual([text.encode()[m["start"]:m["start"] + m["length"]] for m in masks], [b"<mask>"] * 2)
        for mask in masks:
            scores = [word["score"] for word in mask["words"]]
            self.assertEqual(len(scores), 3)
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertTrue(all(0 < score < 1 for score in scores))
        self.assertEqual(answer["model"], "roberta-words")
        self.assertGreater(answer["usage"]["input_tokens"], 8)
        many = self.ask(server, "fill", {"text": [SENTENCE + " <mask>", text], "top": 3})["results"]
        self.assertEqual(many[1], {"masks": masks})
        refused = self.ask(server, "fill", {"text": SENTENCE}, 400)["error"]
        self.assertIn("expected <mask>", refused["message"])
        self.assertIn("item 1", self.ask(server, "fill", {"text": [text, SENTENCE]}, 400)["error"]["message"])
        self.assertIn("tokens, expected at most 46",
                      self.ask(server, "fill", {"text": "<mask> " + "a b c d e " * 20}, 400)["error"]["message"])
        self.assertEqual(self.ask(server, "fill", {"text": text, "top": 101}, 400)["error"]["limit"], 100)

    def test_labels(self):
        server = self.start(f"--models-dir={self.models('roberta-topics')}")
        answer = self.ask(server, "classify", {"text": [SENTENCE, "", "rain " * 100]})
        for result in answer["results"]:
            self.assertEqual({label["label"] for label in result["labels"]}, {"river", "house", "food"})
            scores = [label["score"] for label in result["labels"]]
            self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(["truncated" in result for result in answer["results"]], [False, False, True])
        alone = self.ask(server, "classify", {"text": SENTENCE, "top": 1})["results"]
        self.assertEqual(alone[0]["labels"], answer["results"][0]["labels"][:1])
        middle = answer["results"][0]["labels"][1]["score"]
        for threshold, n in ((0, 3), (middle - 1e-4, 2), (middle + 1e-4, 1), (1, 0)):
            some = self.ask(server, "classify", {"text": SENTENCE, "threshold": threshold})["results"][0]["labels"]
            self.assertEqual(some, answer["results"][0]["labels"][:n])
        self.assertEqual(self.ask(server, "classify", {"text": SENTENCE, "threshold": 1.5}, 400)["error"]["field"], "threshold")
        self.ask(server, "embed", {"text": SENTENCE, "threshold": 0.5}, 400)
        pair = self.ask(server, "classify", {"text": [SENTENCE] * 2, "pair": ["It is cold.", SENTENCE]})["results"]
        self.assertNotEqual(pair[0], pair[1])
        self.assertIn("as many as 'text'", self.ask(server, "classify", {"text": [SENTENCE] * 2, "pair": SENTENCE}, 400)
                      ["error"]["message"])

    def test_unigrams_and_the_shapes_that_have_them(self):
        server = self.start(f"--models-dir={self.models('xlmr-words', 'camembert-tags', 'electra-mood')}")
        text = "The  little <mask>\u3000stands here."
        answer = self.ask(server, "fill", {"text": text, "model": "xlmr-words", "top": 50})
        mask = answer["results"][0]["masks"][0]
        self.assertEqual(text.encode()[mask["start"]:mask["start"] + mask["length"]].strip(), b"<mask>")
        self.assertEqual(len(mask["words"]), 50)
        self.assertNotIn("\u2581", "".join(word["word"] for word in mask["words"]))
        # The model's replacement table makes all white space alike; a special token in a user's
        # text is plain text.
        tokens = [self.ask(server, "fill", {"text": t, "model": "xlmr-words"})["usage"]["input_tokens"]
                  for t in ("the house <mask>", " the\t\u00a0house <mask>", "the house </s> <mask>")]
        self.assertEqual(tokens[:2], [5, 5])
        self.assertGreater(tokens[2], 6)
        text = "Was the e\u0301te\u0301 house 日本 here?"
        for entity in self.ask(server, "tag", {"text": text, "model": "camembert-tags"})["results"][0]["entities"]:
            self.assertEqual(text.encode()[entity["start"]:entity["start"] + entity["length"]].decode(), entity["text"])
        labels = self.ask(server, "classify", {"text": SENTENCE, "model": "electra-mood"})["results"][0]["labels"]
        self.assertAlmostEqual(sum(label["score"] for label in labels), 1, places=5)
        said = tool("inspect", os.path.join(self.directory, "models", "xlmr-words"))[0]
        self.assertIn("head: words", said)

    def test_replaced_words(self):
        folder = self.models("electra-replaced", "distilbert-tags")
        server = self.start(f"--models-dir={folder}")
        text = "\u00c9t\u00e9: " + SENTENCE + " A man came home late in the evening. " * 20
        words = self.ask(server, "tag", {"text": [text, "", SENTENCE], "model": "electra-replaced"})["results"]
        self.assertEqual([word["text"] for word in words[0]["entities"][:4]], ["\u00c9t\u00e9", ":", "The", "little"])
        self.assertEqual([word["text"] for word in words[2]["entities"]], SENTENCE[:-1].split() + ["."])
        self.assertEqual(words[1], {"entities": []})
        for word in words[0]["entities"]:
            self.assertEqual(word["label"], "replaced")
            self.assertTrue(0 < word["score"] < 1)
            self.assertEqual(text.encode()[word["start"]:word["start"] + word["length"]].decode(), word["text"])
        scores = sorted(word["score"] for word in words[2]["entities"])
        self.assertGreater(scores[-1], scores[0] + 0.01)
        middle = (scores[3] + scores[4]) / 2
        some = self.ask(server, "tag", {"text": SENTENCE, "model": "electra-replaced", "threshold": middle})["results"][0]["entities"]
        self.assertEqual(some, [word for word in words[2]["entities"] if word["score"] > middle])
        self.assertEqual(json.loads(tool("tag", f"--threshold={middle}", f"--model={folder}/electra-replaced",
                                         text=SENTENCE + "\n")[0])["entities"], some)
        entities = self.ask(server, "tag", {"text": SENTENCE, "model": "distilbert-tags"})["results"][0]["entities"]
        least = min(entity["score"] for entity in entities)
        fewer = self.ask(server, "tag", {"text": SENTENCE, "model": "distilbert-tags", "threshold": least + 1e-5})["results"][0]
        self.assertEqual(fewer["entities"], [entity for entity in entities if entity["score"] > least])
        _, _, answer = server.request("GET", "/v1/models")
        models = {model["name"]: model for model in json.loads(answer)["models"]}
        self.assertEqual(models["electra-replaced"]["tasks"], ["tag", "embed"])
        self.assertIn("head: replaced", tool("inspect", f"{folder}/electra-replaced")[0])

    def test_a_sentencepiece_model_alone_says_the_same(self):
        folder = self.models("xlmr-words", "camembert-tags")
        for name, first in (("xlmr-words", 4), ("camembert-tags", 7)):
            source = os.path.join(self.directory, "alone", name)
            shutil.copytree(os.path.join(SOURCES, "tests/data/enc", name), source)
            with open(os.path.join(source, "tokenizer.json"), encoding="utf-8") as file:
                tokenizer = json.load(file)
            os.remove(os.path.join(source, "tokenizer.json"))
            with open(os.path.join(source, "sentencepiece.bpe.model"), "wb") as file:
                file.write(sentencepiece(tokenizer, first))
            tool("import", source, os.path.join(folder, name + "-alone"))
        server = self.start(f"--models-dir={folder}")
        texts = ["The  little <mask> stands here.", SENTENCE + " <mask>", "\uff34he \u00e9t\u00e9\t<mask>\u2026 \U0001f642\U0001f642 "]
        for task, name in (("fill", "xlmr-words"), ("tag", "camembert-tags")):
            said = [self.ask(server, task, {"text": texts, "model": name + end})["results"] for end in ("", "-alone")]
            self.assertEqual(said[0], said[1])

    def test_where_a_sentencepiece_model_is_not_enough(self):
        source = os.path.join(self.directory, "source")
        shutil.copytree(os.path.join(SOURCES, "tests/data/enc/xlmr-words"), source)
        os.rename(os.path.join(source, "tokenizer.json"), os.path.join(source, "sentencepiece.bpe.model"))
        self.assertIn("sentencepiece.bpe.model", tool("import", source, os.path.join(self.directory, "none"), expect=1)[1])
        os.rename(os.path.join(source, "sentencepiece.bpe.model"), os.path.join(source, "spiece.model"))
        said = tool("import", source, os.path.join(self.directory, "none"), expect=1)[1]
        self.assertIn("has spiece.model, but no tokenizer.json", said)
        self.assertIn("save_pretrained", said)

    def test_what_a_model_can_and_cannot(self):
        server = self.start(f"--models-dir={self.models('roberta-topics', 'roberta-words')}")
        status, _, answer = server.request("GET", "/v1/models")
        self.assertEqual(status, 200)
        models = {model["name"]: model for model in json.loads(answer)["models"]}
        self.assertEqual(models["roberta-topics"]["kind"], "reader")
        self.assertEqual(models["roberta-topics"]["tasks"], ["classify", "embed"])
        self.assertEqual(models["roberta-words"]["tasks"], ["fill", "embed"])
        self.assertIn("name one", self.ask(server, "embed", {"text": SENTENCE}, 400)["error"]["message"])
        self.assertIn("cannot fill", self.ask(server, "fill", {"text": "<mask>", "model": "roberta-topics"}, 400)
                      ["error"]["message"])
        self.ask(server, "tag", {"text": SENTENCE}, 404)
        self.ask(server, "classify", {"text": SENTENCE, "model": "nobody"}, 404)
        self.ask(server, "translate", {"text": SENTENCE, "target": "en"}, 404)
        self.assertIn("does not translate",
                      self.ask(server, "translate", {"text": SENTENCE, "model": "roberta-topics"}, 400)["error"]["message"])
        for body in ({"text": []}, {"text": SENTENCE, "top": 0}, {"text": SENTENCE, "beam": 2}, {"text": 3}, {}, {"text": [3]},
                     {"text": SENTENCE, "priority": "now"}, {"text": SENTENCE, "pair": [SENTENCE, SENTENCE]}):
            self.ask(server, "classify", body, 400)

    def test_vectors(self):
        server = self.start(f"--models-dir={self.models('roberta-topics')}")
        texts = [SENTENCE, "We have 12 apples.", SENTENCE]
        vectors = [r["embedding"] for r in self.ask(server, "embed", {"text": texts})["results"]]
        self.assertEqual(vectors[0], vectors[2])
        self.assertNotEqual(vectors[0], vectors[1])
        for vector in vectors:
            self.assertEqual(len(vector), 16)
            self.assertAlmostEqual(sum(x * x for x in vector), 1, places=5)
        as_it_is = self.ask(server, "embed", {"text": SENTENCE, "normalize": False})["results"][0]["embedding"]
        length = math.sqrt(sum(x * x for x in as_it_is))
        for x, y in zip(vectors[0], as_it_is):
            self.assertAlmostEqual(x, y / length, places=5)
        first = self.ask(server, "embed", {"text": SENTENCE, "pooling": "cls"})["results"][0]["embedding"]
        self.assertNotEqual(first, vectors[0])

    def test_entities_and_answers_have_places(self):
        server = self.start(f"--models-dir={self.models('distilbert-tags', 'bert-spans')}")
        text = "\u00c9t\u00e9 \U0001f600: " + SENTENCE + " A man came home late in the evening. " * 20
        said = self.ask(server, "tag", {"text": [text, ""]})["results"]
        self.assertGreater(len(said[0]["entities"]), 3)
        self.assertEqual(said[1], {"entities": []})
        end = 0
        for entity in said[0]["entities"]:
            self.assertIn(entity["label"], ("PER", "LOC"))
            self.assertGreaterEqual(entity["start"], end)
            end = entity["start"] + entity["length"]
            self.assertEqual(text.encode()[entity["start"]:end].decode(), entity["text"])
        for entity in self.ask(server, "tag", {"text": text, "offsets": "characters"})["results"][0]["entities"]:
            self.assertEqual(text[entity["start"]:entity["start"] + entity["length"]], entity["text"])
        questions = ["where is the house", "who came"]
        said = self.ask(server, "answer", {"question": questions, "context": text, "top": 3, "offsets": "characters"})
        self.assertEqual(len(said["results"]), 2)
        for result in said["results"]:
            scores = [answer["score"] for answer in result["answers"]]
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertTrue(1 <= len(scores) <= 3 and 0 <= result["none_score"] <= 1)
            for answer in result["answers"]:
                self.assertEqual(text[answer["start"]:answer["start"] + answer["length"]], answer["text"])
        self.assertIn("missing", self.ask(server, "answer", {"question": "who"}, 400)["error"]["message"])
        self.assertIn("the question has", self.ask(server, "answer", {"question": "who " * 40, "context": text}, 400)
                      ["error"]["message"])

    def test_large_requests(self):
        server = self.start(f"--models-dir={self.models('roberta-topics', 'bert-spans', 'distilbert-tags')}")
        alone = self.ask(server, "classify", {"text": "rain " * 400})["results"]
        large = {"text": ["rain " * 20000, "rain " * 400]} # read outside the loop
        self.assertEqual(self.ask(server, "classify", large)["results"], alone * 2)
        self.assertIn("beam", self.ask(server, "classify", {**large, "beam": 2}, 400)["error"]["message"])
        context = "A man came home late. " * 20
        said = self.ask(server, "answer", {"question": ["who came"] * 30, "context": context})
        self.assertEqual(said["usage"]["characters"], 30 * len("who came") + len(context))
        self.assertEqual(said["results"], said["results"][:1] * 30)
        refused = self.ask(server, "tag", {"text": ["a", "a " * 50001]}, 400)["error"]
        self.assertEqual(refused["code"], "limit_reached")
        self.assertEqual(refused["message"], "item 1 has 100002 characters, expected at most 100000")
        refused = self.ask(server, "answer", {"question": ["who"] * 1000, "context": "a " * 40000}, 400)["error"]
        self.assertIn("have 2000075 characters, expected at most 2000000: ask fewer", refused["message"])

    def test_the_tool_says_the_same(self):
        folder = self.models("bert-words", "bert-pair", "bert-spans", "distilbert-tags", "distilbert")
        server = self.start(f"--models-dir={folder}")
        lines = [SENTENCE, "A man came home late.", "It is cold; the wind comes from the north."]
        rows = (("fill", "bert-words", [line + " [MASK]" for line in lines], {}),
                ("tag", "distilbert-tags", lines, {}), ("embed", "distilbert", lines, {"model": "distilbert"}))
        for command, name, texts, more in rows:
            said = self.ask(server, command, {"text": texts, **more})["results"]
            out, talk = tool(command, f"--model={folder}/{name}", text="".join(text + "\n" for text in texts))
            self.assertEqual([json.loads(line) for line in out.splitlines()], said)
            self.assertIn(f"{command}: lines=3 cut_short=0", talk)
        out, _ = tool("answer", f"--model={folder}/bert-spans", text=f"who came\t{lines[1]}\n")
        said = self.ask(server, "answer", {"question": "who came", "context": lines[1]})["results"]
        self.assertEqual(json.loads(out), said[0])
        out, _ = tool("classify", "--pairs", "-n", "3", f"--model={folder}/bert-pair", text=f"{lines[0]}\t{lines[1]}\n")
        said = self.ask(server, "classify", {"text": lines[0], "pair": lines[1]})["results"][0]["labels"]
        self.assertEqual(out.split("\t")[::2], [label["label"] for label in said])
        self.assertIn("has no tab", tool("answer", f"--model={folder}/bert-spans", text="who\n", expect=1)[1])
        self.assertIn("cannot tag", tool("tag", f"--model={folder}/bert-pair", text="a\n", expect=1)[1])
        shown = tool("inspect", f"{folder}/distilbert-tags")[0]
        self.assertIn("encoder-only", shown)
        self.assertIn("head: tokens, 5 labels", shown)
        self.assertEqual(json.loads(tool("inspect", "--json", f"{folder}/bert-words")[0])["head"], "words")


if __name__ == "__main__":
    main()
