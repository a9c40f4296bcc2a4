# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Glossaries: by the command."""
import json
import os
import subprocess
import tempfile
import unittest

from harness import SOURCES, main

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
TERMS = "chat\thound\nvoiture\tautomobile\nmaison\tresidence\n"


class Command(unittest.TestCase):
    def translate(self, lines, terms, *flags, name="terms.tsv", code=0):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(terms)
            done = subprocess.run([TOOL, "translate", "--model", MODEL, "--glossary", path, *flags], input=lines.encode(),
                                  capture_output=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        self.summary = done.stderr.decode()
        return done.stdout.decode()

    def test_terms_are_used_where_they_stand(self):
        lines = "La voiture rouge est devant la maison.\nIl pleut.\nLE CHAT EST DANS LA MAISON ROUGE.\n"
        for beam in ("1", "4"):
            said = self.translate(lines, TERMS, "--beam", beam).splitlines()
            self.assertEqual(said[0], "The red automobile is in front of the residence.")
            self.assertIn("HOUND", said[2])
            self.assertIn("terms=4 terms_missed=0", self.summary)
            plain = subprocess.run([TOOL, "translate", "--quiet", "--model", MODEL, "--beam", beam], input=b"Il pleut.\n",
                                   capture_output=True, check=True, timeout=300)
            self.assertEqual(said[1] + "\n", plain.stdout.decode())
        said = self.translate("Voir https://a.org/chat et {chat}.\n", TERMS)
        self.assertIn("https://a.org/chat", said)
        self.assertIn("terms=0", self.summary)

    def test_each_term_is_told(self):
        said = json.loads(self.translate("Le chat noir.\n", '"chat",hound,dog\nnoir,\u732b\n', "--json", name="terms.csv"))
        found = {term["source"]: term for term in said["terms"]}
        self.assertEqual((found["noir"]["used"], found["noir"]["start"], found["noir"]["length"]), (False, 7, 5))
        place = found["chat"]["target_start"]
        self.assertIn(said["text"].encode()[place:place + found["chat"]["target_length"]].decode().lower(), ("hound", "dog"))

    def test_documents_keep_their_markup(self):
        said = self.translate("<p>La <b>voiture</b> rouge. <code>chat</code></p>", TERMS, "--format", "html")
        self.assertIn("<b>automobile</b>", said)
        self.assertIn("<code>chat</code>", said)

    def test_a_bad_file_is_refused(self):
        self.translate("", "chat\tcat\nchat\tdog\n", code=1)
        self.assertIn("duplicates key with the index 0", self.summary)
        self.translate("", "chat\n", code=1)
        self.assertIn("misses tab separator", self.summary)


if __name__ == "__main__":
    main()
