# SPDX-License-Identifier: ISC
"""POST /v1/score with the embedded model: it agrees with the score in the translation's answer, and
its refusals are precise."""
import http.client
import json
import os
import sys
import threading

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Endless, post  # noqa: E402

MODELS = f"--models-dir={MODELS_DIR}"
TEXT = "Je vois un chien dans le jardin."


class Score(IntegrationTest):
    def ask(self, server, body, path="/v1/score"):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        status, headers, answer = server.request("POST", path, body=body)
        self.assertEqual(headers["Content-Type"], "application/json")
        return status, json.loads(answer)

    def test_a_translation_scores_as_it_said(self):
        server = self.start(MODELS)
        status, made = self.ask(server, {"text": TEXT, "target": "en", "scores": True, "tokens": True, "cache": False},
                                "/v1/translate")
        self.assertEqual(status, 200, made)
        sentence = made["translations"][0]["sentences"][0]
        status, answer = self.ask(server, {"text": TEXT, "translation": sentence["text"], "target": "en", "tokens": True})
        self.assertEqual(status, 200, answer)
        score = answer["scores"][0]
        self.assertEqual(answer["model"], "fr-en")
        self.assertEqual([token["id"] for token in score["tokens"]], [token["id"] for token in sentence["tokens"]])
        self.assertAlmostEqual(score["logprob"], sentence["logprob"], places=3)
        self.assertEqual(answer["usage"]["output_tokens"], len(score["tokens"]))
        self.assertEqual(answer["usage"]["characters"], len(TEXT))

    def test_better_translations_score_better_and_pairs_keep_their_order(self):
        server = self.start(MODELS)
        translations = ["I see a dog in the garden.", "Purple ideas sleep.", "I see a dog in the garden."]
        status, answer = self.ask(server, {"text": [TEXT] * 3, "translation": translations, "model": "fr-en"})
        self.assertEqual(status, 200, answer)
        good, bad, same = answer["scores"]
        self.assertGreater(good["logprob"], bad["logprob"])
        self.assertEqual(good, same)
        self.assertNotIn("tokens", good)

    def test_attention_is_a_distribution_over_the_text(self):
        server = self.start(MODELS)
        pair = {"text": TEXT, "translation": "I see a dog in the garden.", "target": "en", "tokens": True}
        status, mean = self.ask(server, {**pair, "attention": True})
        self.assertEqual(status, 200, mean)
        score = mean["scores"][0]
        self.assertEqual(len(score["attention"]), len(score["tokens"]))
        for row in score["attention"]:
            self.assertEqual(len(row), len(score["source_tokens"]))
            self.assertAlmostEqual(sum(row), 1, places=2)
        heads = [self.ask(server, {**pair, "attention": {"head": head + 1}})[1]["scores"][0]["attention"]
                 for head in range(mean["heads"])]
        for t, row in enumerate(score["attention"]):
            for s, weight in enumerate(row):
                self.assertAlmostEqual(weight, sum(head[t][s] for head in heads) / len(heads), places=3)
        text, translation = TEXT.encode(), pair["translation"].encode()
        words = [translation[t["start"]:t["start"] + t["length"]].decode().strip() for t in score["tokens"]]
        sources = [text[t["start"]:t["start"] + t["length"]].decode().strip() for t in score["source_tokens"]]
        row = score["attention"][words.index("dog")]
        self.assertEqual(sources[row.index(max(row))], "chien")
        for wrong in ({"layer": mean["layers"] + 1}, {"head": -1}, {"heads": 1}, 3, "yes"):
            status, answer = self.ask(server, {**pair, "attention": wrong})
            self.assertEqual((status, answer["error"]["field"]), (400, "attention"), answer)

    def test_what_is_wrong_is_named(self):
        server = self.start(MODELS)
        right = {"text": TEXT, "translation": "x", "target": "en"}
        for wrong, field in (({"text": 1}, "text"), ({"translation": None}, "translation"),
                             ({"translation": ["a", "b"]}, "translation"), ({"text": []}, "text"),
                             ({"tokens": "yes"}, "tokens"), ({"length_penalty": 99}, "length_penalty"),
                             ({"target": None}, "target"), ({"model": 3}, "model"), ({"text": [TEXT, 2]}, "text"),
                             ({"translation": "word " * 3000}, "text")):
            status, answer = self.ask(server, {**right, **wrong})
            self.assertEqual((status, answer["error"].get("field")), (400, field), (wrong, answer))
        self.assertEqual(self.ask(server, {**right, "target": "xx"})[0], 404)
        self.assertEqual(self.ask(server, {**right, "beam": 3})[0], 400)
        self.assertEqual(self.ask(server, b'{"text": "\xff"')[0], 400)
        self.assertEqual(self.ask(server, {**right, "text": ["a"] * 1001, "translation": ["a"] * 1001})[0], 400)
        self.assertEqual(self.ask(server, {**right, "text": "\u0000", "translation": "\u0000"})[0], 200)

    def test_the_loop_goes_on_and_a_client_that_leaves_ends_its_work(self):
        server = self.start(MODELS)
        request = post("/v1/score", {"text": [TEXT * 8] * 1000, "translation": ["I see a dog in the garden. " * 10] * 1000,
                                     "target": "en"})

        def left_in_the_midst():
            client = Endless(server.port(), request).start()
            self.assertEqual(server.request("GET", "/healthz")[0], 200)
            client.leave()
            status, answer = self.ask(server, {"text": TEXT, "translation": "A dog.", "target": "en"})
            self.assertEqual(status, 200, answer)
            return "status=499" in server.log()

        wait_for(left_in_the_midst, "the end of a request whose client left")

    def test_a_stop_does_not_wait_for_scores(self):
        server = self.start(MODELS, "--drain-timeout=0")
        body = {"text": [TEXT * 8] * 1000, "translation": ["I see a dog in the garden. " * 10] * 1000, "target": "en"}

        def ask():
            try:
                while True:
                    self.ask(server, body)
            except (OSError, http.client.HTTPException):
                pass  # the connection is cut off, as it must be

        client = threading.Thread(target=ask)
        client.start()
        wait_for(lambda: "dragoman_connections 2\n" in server.request("GET", "/metrics")[2].decode(), "the request")
        self.assertEqual(server.stop(), 0)
        client.join()


if __name__ == "__main__":
    main()
