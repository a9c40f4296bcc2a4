# SPDX-License-Identifier: ISC
"""Models from the configuration, and reloads of them while requests are under way."""
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

from harness import MODELS_DIR, SOURCES, STATION, STATION_SAID, IntegrationTest, main, wait_for, write_lex

MODEL = os.path.join(SOURCES, "models", "fr-en")
KEYS = os.path.join(SOURCES, "tests", "data", "minisign")


def translate(server, text, **fields):
    status, _, body = server.request("POST", "/v1/translate", json.dumps({"text": text, **fields}))
    return status, json.loads(body)


class Reload(IntegrationTest):
    def reload(self, server, conf, until):
        """Reloads, and waits until the log contains `until` once more."""
        times = server.log().count(until) + 1
        server.write_conf(conf)
        server.signal(signal.SIGHUP)
        server.wait_for_log(until, times)

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

    def test_a_section_and_a_directory_of_one_name_are_refused(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        os.symlink(MODEL, os.path.join(models, "fr-en"))
        other = os.path.join(self.directory, "other")
        shutil.copytree(MODEL, other)
        server = self.start("--log-level=info", conf=f"models-dir = {models}\n")
        for path, is_refused in ((other, True), (os.path.join(models, "fr-en"), False)):
            conf = f"models-dir = {models}\n[model fr-en]\npath = {path}\n"
            done = self.run_program("--check-config", conf=conf.encode())
            self.assertEqual(done.returncode != 0, is_refused, done.stderr)
            server.write_conf(conf)
            server.signal(signal.SIGHUP)
            if is_refused:
                said = f"two models are called fr-en: {models}/fr-en in models-dir, and {path} of the section [model fr-en]; remove one"
                self.assertIn(said, done.stderr)
                server.wait_for_log("the old models stay in use: two models are called fr-en")
            else:
                server.wait_for_log("models reloaded")

    def test_a_start_with_both_is_wrong_use(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        shutil.copytree(MODEL, os.path.join(models, "fr-en"))
        done = self.run_program("--listen=127.0.0.1:0", conf=f"models-dir = {models}\n[model fr-en]\npath = {MODEL}\n".encode())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("two models are called fr-en", done.stderr)

    def test_without_a_configuration_the_installed_models_serve(self):
        server = self.start("--config=", env={"XDG_DATA_HOME": self.directory})
        status, answer = translate(server, STATION, target="en")
        self.assertEqual((status, answer["model"], answer["translations"][0]["text"]), (200, "fr-en", STATION_SAID))

    def test_of_two_directories_the_first_counts(self):
        first, second = (os.path.join(self.directory, name) for name in ("first", "second"))
        for folder, names in ((first, ("fr-en",)), (second, ("fr-en", "en-fr"))):
            os.mkdir(folder)
            for name in names:
                os.symlink(os.path.join(SOURCES, "models", name), os.path.join(folder, name))
        server = self.start(f"--models-dir={first},{second}")
        text = server.log()
        self.assertIn(f"path={first}/fr-en", text)
        self.assertIn(f"path={second}/en-fr", text)
        self.assertNotIn(f"path={second}/fr-en", text)

    def test_a_reload_during_a_reload_is_not_lost(self):
        section = "[model {}]\npath = " + MODEL + "\n"
        server = self.start(conf=section.format("fr-en"))
        for n, name in enumerate(("fr-xx", "fr-yy", "fr-zz")):
            server.write_conf(section.format("fr-en") + section.format(name))
            server.signal(signal.SIGHUP)
            wait_for(lambda: server.log().count("configuration reloaded") > n, "the configuration is read")
        wait_for(lambda: translate(server, "Merci.", target="zz")[0] == 200, "the last models are served")
        wait_for(lambda: translate(server, "Merci.", target="xx")[0] // 100 == 4, "the first ones are not")

    def test_a_bad_model_leaves_the_old_one_serving(self):
        broken = os.path.join(self.directory, "broken")
        shutil.copytree(MODEL, broken)
        with open(os.path.join(broken, "model.safetensors"), "r+b") as file:
            file.truncate(1000000)
        server = self.start(conf=f"[model fr-en]\npath = {MODEL}\n")
        self.reload(server, f"[model fr-en]\npath = {broken}\n", "the old models stay in use")
        self.assertEqual(translate(server, "Merci.", target="en")[0], 200)
        self.assertIn("model.safetensors", server.log())

    def test_files_that_are_truncated_in_place_hurt_nobody(self):
        cut, twin = (os.path.join(self.directory, name) for name in ("cut", "twin"))
        for model in (cut, twin):
            shutil.copytree(MODEL, model)
            write_lex(model, list(range(0, 600, 3)))
        sections = "".join(f"[model {target}]\npath = {path}\nsource = fr\ntarget = {target}\n"
                           for target, path in (("xx", cut), ("yy", twin)))
        server = self.start(conf=sections)
        names = os.listdir(cut)
        for name in names:
            os.truncate(os.path.join(cut, name), 0)

        def both_agree(first):
            for n in range(first, first + 8):
                answers = [translate(server, f"Il y a {n} chats et {n + 1} chiens dans la maison.", target=target)
                           for target in ("xx", "yy")]
                self.assertEqual([status for status, _ in answers], [200, 200], answers)
                texts = [[one["text"] for one in answer["translations"]] for _, answer in answers]
                self.assertTrue(texts[0][0])
                self.assertEqual(texts[0], texts[1])

        both_agree(10)
        self.reload(server, sections, "the old models stay in use")
        self.assertIn(cut, server.log().split("the old models stay in use")[1])
        both_agree(30)
        for name in names:
            shutil.copyfile(os.path.join(twin, name), os.path.join(cut, name))  # as cp does
        self.reload(server, sections, "models reloaded")
        both_agree(50)

    def sign(self, model, key="open.key"):
        tool = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
        subprocess.run([tool, "sign", "--key", os.path.join(KEYS, key), model], check=True, capture_output=True)

    def test_unsigned_models_are_refused_where_signatures_are_required(self):
        model = os.path.join(self.directory, "signed")
        shutil.copytree(MODEL, model)
        conf = (f"require-signed-models = yes\ntrusted-keys = {KEYS}/encrypted.pub,{KEYS}/open.pub\n"
                f"[model fr-en]\npath = {model}\n")
        path = os.path.join(self.directory, "refused.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(conf)
        refused = self.run_program(f"--config={path}", "--listen=127.0.0.1:0")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("model fr-en is not signed, and require-signed-models is on", refused.stderr)
        self.sign(model)
        server = self.start(conf=conf)
        self.assertEqual(translate(server, "Merci.", target="en")[0], 200)
        with open(os.path.join(model, "source.spm"), "ab") as file:
            file.write(b" ")
        server.signal(signal.SIGHUP)
        wait_for(lambda: "the old models stay in use" in server.log(), "the refusal")
        self.assertIn("source.spm was changed", server.log())
        self.assertEqual(translate(server, "Merci.", target="en")[0], 200)

    def test_signatures_without_trusted_keys_are_a_mistake(self):
        result = self.run_program("--config=", "--check-config", "--require-signed-models")
        self.assertEqual(result.returncode, 2)
        self.assertIn("trusted-keys names no key", result.stderr)

    def test_no_request_fails_while_models_are_reloaded(self):
        server = self.start(f"--models-dir={MODELS_DIR}")
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
        try:
            for n in range(1, 4):
                server.signal(signal.SIGHUP)
                server.wait_for_log("models reloaded", n)
                before = len(answers)
                wait_for(lambda: len(answers) > before + len(threads), "answers between two reloads")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertTrue(all(answers))


if __name__ == "__main__":
    main()
