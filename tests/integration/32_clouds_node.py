# SPDX-License-Identifier: ISC
"""The libraries of OpenAI, Ollama, Google and Azure for Node, as they are published, against the daemon."""
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
            self.skipTest("needs npm's openai, ollama, @google-cloud/translate and @azure-rest/ai-translation-text, and npm took too long to get them")
        if got.returncode != 0:
            self.skipTest("needs npm's openai, ollama, @google-cloud/translate and @azure-rest/ai-translation-text, which npm could not get")
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
        self.assertEqual([(one["to"], one["text"]) for one in found["azure"]], [("en", SAID), ("fr", "Le chat dort.")])
        self.assertIn("8:11-11:18", found["azure"][0]["alignment"]["proj"].split())  # dort, sleeping
        self.assertEqual((found["azureDetect"], found["azureSentences"], found["azureLanguages"], found["azureRefused"]),
                         ("fr", [13], ["en", "fr"], 400036))


if __name__ == "__main__":
    main()
