# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""DeepL's own library for Node, as it is published, against the daemon: it gets what it asks for,
and understands the answers."""
import json
import os
import subprocess

from harness import CAT_SAID, MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main
from node import node_folder

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"


class DeepLNode(IntegrationTest):
    def test_unmodified(self):
        folder = node_folder(self, "deepl", "deepl-node", "client.js")
        server = self.start(MODELS, LANGUAGES)
        done = subprocess.run(["node", "client.js", f"http://127.0.0.1:{server.port()}"], cwd=folder, capture_output=True,
                              timeout=2 * PATIENCE_S, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["one"], {"text": CAT_SAID, "detectedSourceLang": "fr", "billedCharacters": 13})
        self.assertEqual(found["many"][0]["modelTypeUsed"], "latency_optimized")
        self.assertEqual(found["html"]["text"], "<p>The <b>dog</b> eats.</p>")
        self.assertEqual(found["xml"]["text"].count('<x id="7"></x>'), 1)
        self.assertEqual(found["sources"], [{"name": "French", "code": "fr"}])
        self.assertEqual(found["targets"], [
            {"name": "English (British)", "code": "en-GB", "supportsFormality": False},
            {"name": "English (American)", "code": "en-US", "supportsFormality": False}])
        self.assertGreater(found["usage"]["limit"], found["usage"]["count"])
        self.assertIn("'formality' is not supported", found["formality"]["message"])
        self.assertIn("target_lang", found["language"]["message"])
        self.assertEqual((found["status"]["status"], found["document"]), ("done", f"{CAT_SAID}\n"))
        self.assertIn("Document not found", found["gone"]["message"])
        self.assertEqual(found["batch"], ["fr"] * 3)
        self.assertEqual(found["lacking"], ["AuthorizationError"] * 3)
        self.check_multilingual_glossaries(found["v3"])
        self.assertEqual(found["pairs"], [{"sourceLang": "fr", "targetLang": "en"}])
        self.assertEqual(found["glossary"], {"name": "pets", "ready": True, "count": 2, "source": "fr", "made": True})
        self.assertIn("hound", found["term"])
        self.assertEqual((found["entries"], found["listed"], found["again"]), ({"chat": "hound", "noir": "dark"}, True, "pets"))
        self.assertTrue(found["refused"]["message"])
        self.assertEqual(found["deleted"]["name"], "GlossaryNotFoundError")

    def check_multilingual_glossaries(self, found):
        def pair(n):
            return {"sourceLangCode": "fr", "targetLangCode": "en", "entryCount": n}

        def glossary(name, *counts):
            return {"name": name, "dictionaries": [pair(n) for n in counts], "made": True}
        self.assertEqual((found["made"], found["same"]), (glossary("several", 4), glossary("several", 4)))
        self.assertTrue(found["odd"] and found["listed"])
        self.assertEqual((found["updated"], found["csv"]), (glossary("several", 5), glossary("several", 6)))
        self.assertEqual([found["after"][name] for name in ("Apple", "chat", "a, b", "A%=&")], ["Pomme", "lion", "c", "B&=%"])
        self.assertEqual((found["renamed"], found["replaced"], found["replacedByCsv"]), ("other", pair(1), pair(2)))
        self.assertIn("hound", found["term"])
        self.assertEqual(found["dropped"], glossary("other"))
        self.assertEqual([found[name]["name"] for name in ("none", "deleted")], ["GlossaryNotFoundError"] * 2)
        self.assertEqual([found[name]["name"] for name in ("unfit", "unknown", "noEntries")], ["DeepLError"] * 3)
        self.assertEqual((found["fromCsv"], found["empty"], found["large"]), (glossary("table", 2), glossary("empty"), [10000, True]))


if __name__ == "__main__":
    main()
