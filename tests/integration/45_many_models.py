# SPDX-License-Identifier: ISC
"""Many models and little memory: all models on offer answer, memory holds only models that requests
ask for, and the limit is kept. The embedded model under many names stands for many models."""
import json
import math
import os
import re
import signal
import threading
import time

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

MODEL = os.path.join(SOURCES, "models", "fr-en")
TEXT = "Merci beaucoup. Il fait beau."


def sections(n):
    return "".join(f"[model m{i}]\npath = {MODEL}\nsource = fr\ntarget = en\n" for i in range(n))


def translate(server, text=TEXT, **fields):
    status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": text, **fields}))
    return status, json.loads(body)


def models(server):
    return {model["name"]: model for model in json.loads(server.request("GET", "/v1/models")[2])["models"]}


def number(server, name):
    return float(re.search(rf"^{name} (\S+)$", server.request("GET", "/metrics")[2].decode(), re.M).group(1))


class ManyModels(IntegrationTest):
    sizes = None

    def limit_for(self, n, cache=0):
        """A memory limit in MiB with room for about n models at their smallest. 3/16 of the limit
        are for requests and the queue, and a share of `cache` is for sentences."""
        if not ManyModels.sizes:
            server = self.start("--threads=1", "--slots=1", "--preload=no", "--cache-size=0", "--memory-limit=400MiB",
                                conf=sections(1))
            ManyModels.sizes = (models(server)["m0"]["bytes"],
                                400 * 2**20 * 12 / 16 - number(server, "dragoman_models_bytes_max"))
        model, process = ManyModels.sizes
        return math.ceil(((n + 0.5) * model + process) / (12 / 16 - cache) / 2**20)

    def test_a_score_waits_for_its_model(self):
        server = self.start("--threads=1", "--slots=1", "--preload=no", "--memory-limit=400MiB", conf=sections(2))
        self.assertEqual(models(server)["m1"]["state"], "idle")
        status, _, body = server.request("POST", "/v1/score", json.dumps(
            {"text": "Merci beaucoup.", "translation": "Thank you very much.", "model": "m1"}))
        self.assertEqual((status, json.loads(body)["model"]), (200, "m1"))
        self.assertLess(json.loads(body)["scores"][0]["logprob"], 0)

    def test_alternatives_are_given_by_a_model_that_is_not_loaded_yet(self):
        server = self.start("--preload=no", "--memory-limit=400MiB", conf=sections(2))
        for name in "m0", "m1":
            status, answer = translate(server, model=name, alternatives=3)
            self.assertEqual(status, 200, answer)
            self.assertEqual(len(answer["translations"][0]["alternatives"]), 3)

    def test_twenty_models_take_turns_in_the_memory_of_three(self):
        limit = self.limit_for(3)
        server = self.start("--threads=1", "--slots=1", "--cache-size=0", f"--memory-limit={limit}MiB", conf=sections(20))
        most = number(server, "dragoman_models_bytes_max")
        ready = sum(model["state"] == "ready" for model in models(server).values())
        self.assertGreaterEqual(ready, 1)
        self.assertLess(ready, 8)
        answers = {}

        def ask(name):
            answers[name] = translate(server, model=name)

        threads = [threading.Thread(target=ask, args=(f"m{i}",)) for i in range(20)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.assertLessEqual(number(server, "dragoman_models_bytes"), most)
            time.sleep(0.05)
        for name, (status, answer) in answers.items():
            self.assertEqual((status, answer.get("model")), (200, name), answer)
            self.assertEqual(answer["translations"], answers["m0"][1]["translations"])
        self.assertEqual(server.request("GET", "/readyz")[0], 200)

    def test_nothing_is_loaded_before_it_is_asked_for_and_the_idle_leave(self):
        server = self.start("--preload=no", "--model-idle=300ms", conf=sections(2))
        self.assertEqual({model["state"] for model in models(server).values()}, {"idle"})
        self.assertEqual(server.request("GET", "/readyz")[0], 200)
        self.assertEqual(translate(server, model="m1")[0], 200)
        self.assertEqual(models(server)["m0"]["state"], "idle")
        wait_for(lambda: models(server)["m1"]["state"] == "idle", "the model to leave")
        wait_for(lambda: number(server, "dragoman_models_bytes") == 0, "its memory")
        self.assertEqual(translate(server, model="m1")[0], 200)
        self.assertEqual(server.log().count("model removed from memory") >= 1, True)
        self.assertEqual(number(server, 'dragoman_model_sentences_done_total{model="m1"}'), 4)

    def test_what_cannot_fit_stops_the_start_with_the_reason(self):
        run = self.run_program("--memory-limit=32MiB", f"--models-dir={MODELS_DIR}",
                               "--listen=127.0.0.1:0", "--config=")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, r"memory-limit.*MiB")

    def test_a_reload_in_little_memory_loses_no_request(self):
        limit = self.limit_for(1, cache=1 / 8)
        server = self.start("--threads=1", "--slots=1", f"--memory-limit={limit}MiB", conf=sections(2))
        expected = translate(server, model="m0")[1]["translations"]
        bad, stop = [], threading.Event()

        def ask(name):
            while not stop.is_set():
                status, answer = translate(server, model=name, cache=False)
                if status != 200 or answer["translations"] != expected:
                    bad.append((status, answer))

        threads = [threading.Thread(target=ask, args=(f"m{i % 2}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        try:
            for n in range(1, 4):
                server.signal(signal.SIGHUP)
                server.wait_for_log("models reloaded", n)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(bad, [])


if __name__ == "__main__":
    main()
