# SPDX-License-Identifier: ISC
# Tiers: gcc
"""Libraries and tools for Node that translate (translate, libretranslate, anylang, gpt-po, Vercel's ai, LangChain, Amazon's), as they are
published and with only an address set, against the daemon."""
import json
import os
import shutil
import subprocess

from harness import CAT_SAID, MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main
from node import node_folder

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"


class ToolsNode(IntegrationTest):
    def test_unmodified(self):
        if not shutil.which("node"):
            self.skipTest("needs node")
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
        if int(version[1:].split(".")[0]) < 20:
            self.skipTest("needs node 20, as these libraries do")
        folder = node_folder(self, "tools", "ai, @langchain/openai and others", "client.js")
        server = self.start(MODELS, LANGUAGES)
        done = subprocess.run(["node", "client.js", f"http://127.0.0.1:{server.port()}"], cwd=folder, capture_output=True,
                              timeout=2 * PATIENCE_S, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        for name in ("translate", "libretranslate", "ai", "aiStream", "langchain", "langchainStream"):
            self.assertEqual(found[name], CAT_SAID, name)
        self.assertEqual(found["aiObject"], {"translation": CAT_SAID})
        self.assertEqual(found["anylang"], 3 * [CAT_SAID])
        self.assertEqual(found["amazon"], [CAT_SAID, "fr", "en"])
        self.assertEqual((found["amazonLanguages"], found["amazonRefused"]), (["en", "fr"], "UnsupportedLanguagePairException"))
        self.file_by_gpt_po(folder, server)

    def file_by_gpt_po(self, folder, server):
        path = os.path.join(folder, "en.po")
        with open(path, "w", encoding="utf-8") as file:
            file.write('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
                       'msgid "Le chat dort."\nmsgstr ""\n\nmsgctxt "menu"\nmsgid "Le chat dort."\nmsgstr ""\n')
        done = subprocess.run([os.path.join(folder, "node_modules", ".bin", "gpt-po"), "translate", "--po=en.po", "--source=fr", "--lang=en"],
                              cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=2 * PATIENCE_S, encoding="utf-8",
                              env={**os.environ, "HOME": folder, "OPENAI_API_KEY": "none",
                                   "OPENAI_API_HOST": f"http://127.0.0.1:{server.port()}"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read().count(f'msgid "Le chat dort."\nmsgstr "{CAT_SAID}"'), 2)


if __name__ == "__main__":
    main()
