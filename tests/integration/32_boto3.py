# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Amazon's library for Python (Debian: python3-boto3), as it is published and with only an address set, against the daemon."""
import json
import os
import subprocess

from harness import CAT, CAT_SAID, MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
PYTHON = "/usr/bin/python3"  # Debian's own, which has Debian's libraries
CLIENT = """
import json, sys
import boto3
translate = boto3.client("translate", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="none",
                         aws_secret_access_key="none")
ask = lambda target: translate.translate_text(Text=sys.argv[2], SourceLanguageCode="auto", TargetLanguageCode=target)
said = ask("en")
found = {"text": said["TranslatedText"], "source": said["SourceLanguageCode"],
         "languages": [one["LanguageCode"] for one in translate.list_languages()["Languages"]]}
try:
    ask("xx")
except translate.exceptions.UnsupportedLanguagePairException as problem:
    found["refused"] = problem.response["Error"]["Code"]
print(json.dumps(found))
"""


class Boto3(IntegrationTest):
    def test_unmodified(self):
        if not os.path.exists(PYTHON) or subprocess.run([PYTHON, "-c", "import boto3"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("needs python3-boto3")
        server = self.start(MODELS, LANGUAGES)
        done = subprocess.run([PYTHON, "-c", CLIENT, f"http://127.0.0.1:{server.port()}", CAT], capture_output=True,
                              timeout=2 * PATIENCE_S, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"text": CAT_SAID, "source": "fr", "languages": ["en", "fr"],
                                                   "refused": "UnsupportedLanguagePairException"})


if __name__ == "__main__":
    main()
