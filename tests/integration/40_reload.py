# SPDX-License-Identifier: ISC
"""Models by configuration, and their reload while requests are under way."""
import json
import os
import shutil
import signal
import threading

from harness import IntegrationTest, SOURCES, main, wait_for

MODEL = os.path.join(SOURCES, "models", "fr-en")


def translate(server, text, **fields):
    status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": text, **fields}))
    return status, json.loads(body)


class Reload(IntegrationTest):
    def reload(self, server, conf, until):
        server.write_conf(conf)
        server.signal(signal.SIGHUP)
        wait_for(lambda: until in server.log(), until)

    def test_sections_name_models_and_languages(self):
        server = self.start(conf=f"[model one]\npath = {MODEL}\nsource = fr\ntarget = en\n")
        status, answer = translate(server, "Bonjour.", model="one")
        self.assertEqual(status, 200)
        self.assertEqual(answer["model"], "one")
        self.assertEqual(translate(server, "Bonjour.", source="fr", target="en")[1]["translations"],
                         answer["translations"])
        self.assertEqual(translate(server, "Bonjour.", source="fr", target="de")[0] // 100, 4)

    def test_a_reload_adds_removes_and_replaces(self):
        section = "[model {}]\npath = " + MODEL + "\n"
        server = self.start(conf=section.format("fr-en"))
        before = translate(server, "Merci beaucoup.", target="en")
        self.reload(server, section.format("fr-en") + section.format("fr-xx"), "models reloaded")
        self.assertEqual(translate(server, "Merci.", target="xx")[0], 200)
        self.assertEqual(translate(server, "Merci beaucoup.", target="en")[1]["translations"],
                         before[1]["translations"])
        self.reload(server, section.format("fr-en"), "model unloaded")
        self.assertEqual(translate(server, "Merci.", target="xx")[0] // 100, 4)

    def test_a_bad_model_leaves_the_old_one_serving(self):
        broken = os.path.join(self.directory, "broken")
        shutil.copytree(MODEL, broken)
        with open(os.path.join(broken, "model.safetensors"), "r+b") as file:
            file.truncate(1000000)
        server = self.start(conf=f"[model fr-en]\npath = {MODEL}\n")
        self.reload(server, f"[model fr-en]\npath = {broken}\n", "the old models stay in use")
        self.assertEqual(translate(server, "Merci.", target="en")[0], 200)
        self.assertIn("model.safetensors", server.log())

    def test_no_request_fails_while_models_are_reloaded(self):
        server = self.start(f"--models-dir={os.path.join(SOURCES, 'models')}")
        text = "Je ne sais pas. Il pleut. Merci beaucoup."
        expected = translate(server, text, target="en")[1]["translations"]
        answers, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                status, answer = translate(server, text, target="en")
                answers.append(status == 200 and answer["translations"] == expected)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for n in range(1, 4):
            server.signal(signal.SIGHUP)
            wait_for(lambda: server.log().count("models reloaded") >= n, "a reload")
        stop.set()
        for thread in threads:
            thread.join()
        self.assertGreater(len(answers), 4)
        self.assertTrue(all(answers))


if __name__ == "__main__":
    main()
