# SPDX-License-Identifier: ISC
"""The libraries of OpenAI, Ollama and Google for Node, as they are published, against the daemon."""
import json
import os
import shutil
import subprocess

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
SAID = "The cat is sleeping."


class CloudsNode(IntegrationTest):
    def test_unmodified(self):
        if not shutil.which("node") or not shutil.which("npm"):
            self.skipTest("needs node and npm")
        folder = os.path.join(self.directory, "node")
        os.mkdir(folder)
        for name in ("package.json", "package-lock.json", "client.js"):
            shutil.copy(os.path.join(SOURCES, "tests", "node", "clouds", name), folder)
        try:
            got = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts",
                                  f"--cache={os.path.join(folder, 'cache')}"], cwd=folder,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            self.skipTest("needs npm's openai, ollama and @google-cloud/translate, and npm took too long to get them")
        if got.returncode != 0:
            self.skipTest("needs npm's openai, ollama and @google-cloud/translate, which npm could not get")
        server = self.start(MODELS, LANGUAGES)
        done = subprocess.run(["node", "client.js", f"http://127.0.0.1:{server.port()}"], cwd=folder, capture_output=True,
                              timeout=2 * PATIENCE_S, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["openaiModels"], found["openaiModel"]), (["fr-en"], "model"))
        self.assertEqual((found["openai"], found["openaiStream"]), (SAID, SAID))
        self.assertGreater(found["openaiUsage"], 0)
        self.assertEqual(found["openaiRefused"]["status"], 400)
        self.assertIn("Translate to English", found["openaiRefused"]["message"])
        self.assertEqual((found["ollamaModels"], found["ollama"], found["ollamaStream"]), (["fr-en"], SAID, SAID))
        self.assertIn("Translate to English", found["ollamaRefused"])
        self.assertEqual((found["google"], found["googleMany"][0], len(found["googleMany"])), (SAID, SAID, 2))
        self.assertEqual((found["googleDetect"], found["googleDetectMany"]), ("fr", ["fr", "en"]))
        self.assertEqual([one["code"] for one in found["googleLanguages"]], ["en", "fr"])
        self.assertEqual([one["name"] for one in found["googleLanguagesInFrench"]], ["anglais", "français"])


if __name__ == "__main__":
    main()
