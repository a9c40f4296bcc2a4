# SPDX-License-Identifier: ISC
# Tiers: gcc
"""The libraries of OpenAI, Ollama, Google and Azure for Node, and tools that translate files
through Google's and Amazon's APIs, as they are published, against the daemon."""
import json
import os
import subprocess

from harness import CAT_SAID, MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main
from node import node_folder

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"


class CloudsNode(IntegrationTest):
    def test_unmodified(self):
        folder = node_folder(self, "clouds", "openai, @google-cloud/translate, json-autotranslate and others", "client.js")
        server = self.start(MODELS, LANGUAGES)
        done = subprocess.run(["node", "client.js", f"http://127.0.0.1:{server.port()}"], cwd=folder, capture_output=True,
                              timeout=2 * PATIENCE_S, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["openaiModels"], found["openaiModel"]), (["fr-en"], "model"))
        self.assertEqual((found["openai"], found["openaiStream"]), (CAT_SAID, CAT_SAID))
        self.assertGreater(found["openaiUsage"], 0)
        self.assertEqual(found["openaiRefused"]["status"], 400)
        self.assertIn("Translate to English", found["openaiRefused"]["message"])
        self.assertEqual((found["ollamaModels"], found["ollama"], found["ollamaStream"]), (["fr-en"], CAT_SAID, CAT_SAID))
        self.assertIn("Translate to English", found["ollamaRefused"])
        self.assertEqual((found["google"], found["googleMany"][0], len(found["googleMany"])), (CAT_SAID, CAT_SAID, 2))
        self.assertEqual((found["googleDetect"], found["googleDetectMany"]), ("fr", ["fr", "en"]))
        self.assertEqual([one["code"] for one in found["googleLanguages"]], ["en", "fr"])
        self.assertEqual([one["name"] for one in found["googleLanguagesInFrench"]], ["anglais", "français"])
        self.assertEqual([(one["to"], one["text"]) for one in found["azure"]], [("en", CAT_SAID), ("fr", "Le chat dort.")])
        dort = f"8:11-{CAT_SAID.rindex(' ') + 1}:{len(CAT_SAID) - 2}"  # to the last word, without its full stop
        self.assertIn(dort, found["azure"][0]["alignment"]["proj"].split())
        self.assertEqual((found["azureDetect"], found["azureSentences"], found["azureLanguages"], found["azureRefused"]),
                         ("fr", [13], ["en", "fr"], 400036))
        self.files_by_google(folder, server)
        self.files_by_amazon(folder, server)

    def run_tool(self, folder, name, *arguments, **env):
        tool = os.path.join(folder, "node_modules", ".bin", name)
        done = subprocess.run([tool, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * PATIENCE_S,
                              encoding="utf-8", env={**os.environ, **env})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def files_by_google(self, folder, server):
        with open(os.path.join(folder, "fr.json"), "w", encoding="utf-8") as file:
            json.dump({"greeting": "Bonjour, {{name}} !", "more": {"cat": "Le chat dort.", "button": "Cliquez sur {button}."}}, file)
        self.run_tool(folder, "i18n-auto-translation", "--apiProvider=google-official", "--key=none", "--filePath=fr.json", "--from=fr",
                      "--to=en", GOOGLE_CLOUD_TRANSLATE_ENDPOINT=f"http://127.0.0.1:{server.port()}/language/translate/v2")
        with open(os.path.join(folder, "en.json"), encoding="utf-8") as file:
            said = json.load(file)
        self.assertEqual(said["more"]["cat"], CAT_SAID)
        self.assertIn("{{name}}", said["greeting"])
        self.assertIn("{button}", said["more"]["button"])

    def files_by_amazon(self, folder, server):
        for language in ("fr", "en"):
            os.makedirs(os.path.join(folder, "locales", language))
        with open(os.path.join(folder, "locales", "fr", "app.json"), "w", encoding="utf-8") as file:
            json.dump({"greeting": "Bonjour, {name} !", "more": {"cat": "Le chat dort."}}, file)
        with open(os.path.join(folder, "amazon.json"), "w", encoding="utf-8") as file:
            json.dump({"endpoint": f"http://127.0.0.1:{server.port()}", "region": "eu-west-1",
                       "credentials": {"accessKeyId": "none", "secretAccessKey": "none"}}, file)
        self.run_tool(folder, "json-autotranslate", "--input=locales", "--source-language=fr", "--service=amazon-translate",
                      "--config=amazon.json")
        with open(os.path.join(folder, "locales", "en", "app.json"), encoding="utf-8") as file:
            said = json.load(file)
        self.assertEqual(said["more"]["cat"], CAT_SAID)
        self.assertIn("{name}", said["greeting"])


if __name__ == "__main__":
    main()
