# SPDX-License-Identifier: ISC
"""The embedded models as a newcomer meets them: one daemon translates French to English and English
to French."""
import json
import os
import subprocess

from harness import SOURCES, IntegrationTest, main, models_dir

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
FLAGS = (f"--models-dir={models_dir('fr-en', 'en-fr')}",
         f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
FRENCH = "Où est la gare ? Je ne sais pas, mais mon frère habite ici depuis longtemps."
ENGLISH = "Where is the station? I do not know, but my brother has lived here for a long time."


def translated(model, text):
    done = subprocess.run([TOOL, "translate", "-q", "-b", "4", "--model", os.path.join(SOURCES, "models", model)], input=text + "\n",
                          capture_output=True, timeout=60, check=True, encoding="utf-8")
    return done.stdout.rstrip("\n")


class BothWays(IntegrationTest):
    def ask(self, server, path, body=None):
        status, _, answer = server.request("POST" if body else "GET", path, body=json.dumps(body).encode() if body else None)
        self.assertEqual(status, 200, answer)
        return json.loads(answer)

    def test_the_text_s_language_chooses_the_model(self):
        server = self.start(*FLAGS)
        for text, target, model in ((FRENCH, "en", "fr-en"), (ENGLISH, "fr", "en-fr")):
            answer = self.ask(server, "/v1/translate", {"text": text, "target": target})
            self.assertEqual((answer["model"], answer["translations"][0]["text"]), (model, translated(model, text)))
        answer = self.ask(server, "/translate", {"q": ENGLISH, "source": "auto", "target": "fr"})
        self.assertEqual(answer["translatedText"], translated("en-fr", ENGLISH))
        pairs = {language["code"]: sorted(language["targets"]) for language in self.ask(server, "/languages")}
        self.assertEqual((pairs["fr"], pairs["en"]), (["en", "fr"], ["en", "fr"]))

    def test_each_says_where_it_comes_from(self):
        for name in "fr-en", "en-fr":
            with open(os.path.join(SOURCES, "models", name, "card.md"), encoding="utf-8") as card:
                text = card.read()
            for words in ("CC-BY 2.0 FR", "## What it cannot do", "| scores |"):
                self.assertIn(words, text, name)


if __name__ == "__main__":
    main()
