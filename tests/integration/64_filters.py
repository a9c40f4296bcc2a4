# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Files that filters read (tables, ...): through the tool, with a model and with none, and through
a daemon."""
import csv
import email
import email.policy
import io
import json
import os
import shutil
import subprocess
import sys
import urllib.parse

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))

import office  # noqa: E402
import pdf  # noqa: E402

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
CSV = ('sku;Titre;prix;texte\r\nA-1;"La maison";12,5;"Le chat ""noir"" dort.\r\nIl fait froid."\r\n'
       'A-2;Une page;7;https://example.org/a\r\nA-3;Merci.;;Où est la gare ?\r\n')


YAML = """# Les textes
fr:
  hello: "Bonjour, %{name}."   # dit en premier
  chat: &chat Le chat noir
  autre: *chat
  date: {formats: {court: "%d %b"}}
  aide: |
    Où est la gare ?

    Merci.
"""
MD = "---\ntitle: Le chat noir\ndate: 2024-01-02\n---\n# La maison\n\nLe **chat** dort.\n"


TEX = r"""\documentclass{article}
\title{Le chat}
\begin{document}
\maketitle
\section{La maison}\label{a}
Le \emph{chat noir} dort~\cite{b}.\footnote{Une page.} % encore
\begin{equation} x = y \end{equation}
Merci.
\end{document}
"""


EML = """From: Anne <anne@example.org>\r
To: max@example.org\r
Subject: =?iso-8859-1?Q?O=F9_est_la_gare_=3F?=\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed; boundary="=_1"\r
\r
--=_1\r
Content-Type: text/plain; charset=iso-8859-1\r
Content-Transfer-Encoding: quoted-printable\r
\r
O=F9 est la gare ?\r
\r
> Merci.\r
-- \r
Le chat\r
--=_1\r
Content-Type: text/html; charset=utf-8\r
Content-Transfer-Encoding: base64\r
\r
PHA+TGUgPGI+Y2hhdCBub2lyPC9iPiBkb3J0LjwvcD4K\r
--=_1\r
Content-Type: text/plain; name="a.txt"\r
Content-Disposition: attachment; filename="a.txt"\r
Content-Transfer-Encoding: base64\r
\r
TWVyY2kuCg==\r
--=_1--\r
"""


PDF = pdf.pdf([
    [(60, 815, 8, "Mon journal"), (60, 760, 20, "Le chat noir"), (60, 720, 10, "Nous avons trouvé la gare dans la petite mai-"),
     (60, 708, 10, "son de la ville, et nous dormons bien."), (60, 670, 10, "Il est là et il dort dans le jardin de la maison, dans"),
     (300, 20, 8, "1")],
    [(60, 815, 8, "Mon journal"), (60, 780, 10, "la ville."), (300, 20, 8, "2")],
    [(60, 815, 8, "Mon journal"), (60, 780, 10, "Merci."), (300, 20, 8, "3")]])
PDF_TEXT = ("Le chat noir\n\nNous avons trouvé la gare dans la petite maison de la ville, et nous dormons bien.\n\n"
            "Il est là et il dort dans le jardin de la maison, dans la ville.\n\nMerci.\n")


class Filters(IntegrationTest):
    def path(self, name, text=None):
        path = os.path.join(self.directory, name)
        if text is not None:
            with open(path, "wb") as file:
                file.write(text.encode())
        return path

    def tool(self, *arguments, code=0):
        done = subprocess.run([TOOL, "file", *arguments], capture_output=True, encoding="utf-8", timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def translated(self, name, text, *flags):
        """The translated file, and what the tool reported."""
        before, after = self.path(name, text), self.path("out." + name)
        said = self.tool(*(flags or (f"--model={MODEL}", "--threads=1")), before, after)
        with open(after, "rb") as file:
            return file.read().decode(), said

    def dry(self, name, text, *flags):
        self.assertEqual(self.translated(name, text, "--dry-run", *flags)[0], text)

    def lines(self, *texts):
        done = subprocess.run([TOOL, "translate", f"--model={MODEL}", "--threads=1"], input="\n".join(texts) + "\n",
                              encoding="utf-8", capture_output=True, timeout=120, check=True)
        return done.stdout.splitlines()

    def check_csv(self, text):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))
        house, cold, page, thanks, station = self.lines("La maison", "Il fait froid.", "Une page", "Merci.", "Où est la gare ?")
        self.assertEqual([rows[0], rows[1][:3], rows[2], rows[3]],
                         [["sku", "Titre", "prix", "texte"], ["A-1", house, "12,5"],
                          ["A-2", page, "7", "https://example.org/a"], ["A-3", thanks, "", station]])
        self.assertEqual(rows[1][3].split("\r\n")[1], cold)
        self.assertIn(f'A-1;"{house}";12,5;"', text)
        self.assertTrue(text.endswith("\r\n"))

    def test_tables(self):
        text, said = self.translated("a.csv", CSV)
        self.check_csv(text)
        self.assertIn("translated are the columns 2 (Titre), 4 (texte); the first row is a header and stays", said)
        self.assertIn("kind=csv", said)
        self.dry("a.csv", CSV)
        self.dry("a.txt", CSV, "--kind=csv", "--columns=4")
        only, _ = self.translated("a.csv", CSV, f"--model={MODEL}", "--threads=1", "--columns=titre")
        self.assertIn("Où est la gare", only)
        self.assertIn('the file has no column "x"', self.tool("--dry-run", "--columns=x", self.path("a.csv", CSV), "-", code=1))

    def test_yaml(self):
        text, said = self.translated("a.yml", YAML, f"--model={MODEL}", "--threads=1", "--to=en")
        cat, station, thanks = self.lines("Le chat noir", "Où est la gare ?", "Merci.")
        self.assertIn("kind=yaml", said)
        lines = text.splitlines()
        self.assertEqual([lines[0], lines[1], *lines[3:]],
                         ["# Les textes", "en:", f"  chat: &chat {cat}", "  autre: *chat",
                          '  date: {formats: {court: "%d %b"}}', "  aide: |", f"    {station}", "", f"    {thanks}"])
        self.assertRegex(lines[2], r'^  hello: "[^"]*%\{name\}[^"]*"   # dit en premier$')
        self.dry("a.yaml", YAML)

    def test_front_matter(self):
        text, _ = self.translated("a.md", MD)
        cat, house = self.lines("Le chat noir", "La maison")
        self.assertEqual(text.splitlines()[:6], ["---", f"title: {cat}", "date: 2024-01-02", "---", f"# {house}", ""])
        self.assertIn("**", text.splitlines()[6])
        self.dry("a.md", MD)
        self.dry("a.txt", MD, "--kind=markdown")
        self.dry("b.txt", "# La maison\n", "--kind=markdown")

    def test_latex(self):
        text, said = self.translated("a.tex", TEX)
        self.assertIn("kind=latex", said)
        house, page, thanks = self.lines("La maison", "Une page.", "Merci.")
        for part in (f"\\section{{{house}}}\\label{{a}}\n", f"\\footnote{{{page}}}", "\\cite{b}", "\\emph{", " % encore\n",
                     f"\\begin{{equation}} x = y \\end{{equation}}\n{thanks}\n\\end{{document}}\n"):
            self.assertEqual(text.count(part), 1, text)
        self.assertNotIn("dort", text)
        self.dry("a.tex", TEX)

    def test_mail(self):
        text, said = self.translated("a.eml", EML)
        self.assertIn("kind=mail", said)
        station, thanks = self.lines("Où est la gare ?", "Merci.")
        before = email.message_from_bytes(EML.encode(), policy=email.policy.default)
        after = email.message_from_bytes(text.encode(), policy=email.policy.default)
        self.assertEqual(after["Subject"], station)
        self.assertEqual((after["From"], after["To"]), (before["From"], before["To"]))
        plain, page, attached = list(after.iter_parts())
        self.assertEqual(plain.get_content().replace("\r", ""), f"{station}\n\n> {thanks}\n-- \nLe chat")
        self.assertEqual(page["Content-Transfer-Encoding"], "base64")
        self.assertRegex(page.get_content(), "^<p>.*<b>.*</b>.*</p>\n$")
        self.assertNotIn("dort", page.get_content())
        self.assertEqual(attached.get_payload(), list(before.iter_parts())[2].get_payload())
        self.dry("a.eml", EML)

    def test_encodings(self):
        cue = "1\r\n00:00:01,000 --> 00:00:02,500\r\n%s\r\n"
        before, after = self.path("a.srt"), self.path("out.srt")
        station, = self.lines("Où est la gare ?")
        for encoding in "utf-16", "latin-1", "utf-8-sig":
            with open(before, "wb") as file:
                file.write((cue % "Où est la gare ?").encode(encoding))
            said = self.tool(f"--model={MODEL}", "--threads=1", before, after)
            if encoding != "utf-8-sig":
                self.assertRegex(said, "the file is read as (UTF-16LE|windows-1252)")
            with open(after, "rb") as file:
                self.assertEqual(file.read().decode(encoding), cue % station)
            self.tool("--dry-run", before, after)
            with open(after, "rb") as file:
                self.assertEqual(file.read(), (cue % "Où est la gare ?").encode(encoding))

    def pdf_file(self, content):
        path = self.path("a.pdf")
        with open(path, "wb") as file:
            file.write(content)
        return path

    def test_pdf(self):
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        before = self.pdf_file(PDF)
        self.tool("--dry-run", before, self.path("out.txt"))
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), PDF_TEXT)
        self.tool(f"--model={MODEL}", "--threads=1", before, self.path("out"))
        with open(self.path("out"), "rb") as file:
            document = office.parts(file.read())["word/document.xml"]
        cat, thanks = self.lines("Le chat noir", "Merci.")
        self.assertEqual(office.texts(document)[::3], [cat, thanks])
        self.tool("--dry-run", "--output-format=odt", before, self.path("out"))
        with open(self.path("out"), "rb") as file:
            self.assertIn(b'<text:h text:style-name="Head1" text:outline-level="1">Le chat noir</text:h>',
                          office.parts(file.read())["content.xml"])
        for content, why in ((pdf.pdf([[]]), "it was scanned"), (pdf.pdf([[]], pdf.ENCRYPTED), "is encrypted"),
                             (b"%PDF-1.4 rubbish", "cannot be read"), (b"text", "not a PDF")):
            self.assertIn(why, self.tool("--dry-run", self.pdf_file(content), self.path("out"), code=1))
        self.assertIn("expected docx, odt", self.tool("--dry-run", "--output-format=pdf", before, "-", code=1))

    def test_pdf_bombs(self):
        """pdftotext runs under limits, which test_helper.c tests; the user is told when pdftotext
        itself refuses a file, and when the daemon refuses its output."""
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        for name, content, why in pdf.bombs():
            self.assertRegex(self.tool("--dry-run", self.pdf_file(content), self.path("out"), code=1), why, name)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_pdf_needs_a_program(self):
        done = subprocess.run([TOOL, "file", "--dry-run", self.pdf_file(PDF), "-"], capture_output=True, encoding="utf-8",
                              env={**os.environ, "PATH": self.directory}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("poppler-utils", done.stderr)

    # ---- Daemons ------------------------------------------------------------------------------------------------

    def form(self, server, path, file, fields, status=200):
        body = b"".join(f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
                        for name, value in fields.items())
        body += f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'.encode()
        body += file[1] if isinstance(file[1], bytes) else file[1].encode()
        got, _, answer = server.request("POST", path, body + b"\r\n--XX--\r\n",
                                        {"Content-Type": "multipart/form-data; boundary=XX"})
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def test_libretranslate(self):
        server = self.start(f"--models-dir={MODELS_DIR}")
        fields = {"source": "fr", "target": "en"}
        url = self.form(server, "/translate_file", ("a.csv", CSV), fields)["translatedFileUrl"]
        status, headers, after = server.request("GET", urllib.parse.urlsplit(url).path)
        self.assertEqual((status, headers["Content-Type"]), (200, "text/csv; charset=utf-8"))
        self.check_csv(after.decode())
        url = self.form(server, "/translate_file", ("a.csv", CSV), {**fields, "columns": "2"})["translatedFileUrl"]
        self.assertIn("Où est la gare ?", server.request("GET", urllib.parse.urlsplit(url).path)[2].decode())
        refused = self.form(server, "/translate_file", ("a.csv", CSV), {**fields, "columns": "9"}, 400)["error"]
        self.assertIn('no column "9": expected a name of its first row or a number from 1 to 4', refused)
        url = self.form(server, "/translate_file", ("a.md", MD), fields)["translatedFileUrl"]
        status, headers, after = server.request("GET", urllib.parse.urlsplit(url).path)
        self.assertEqual(headers["Content-Type"], "text/markdown; charset=utf-8")
        self.assertEqual(after.decode(), self.translated("b.md", MD)[0])
        self.assertIn("too long", self.form(server, "/translate_file", ("a.csv", CSV), {**fields, "columns": "9" * 501},
                                            400)["error"])

    def test_pdf_through_libretranslate(self):
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        server = self.start(f"--models-dir={MODELS_DIR}")
        fields = {"source": "fr", "target": "en"}
        thanks, = self.lines("Merci.")
        for output, ending, kind in (None, ".a_en.docx", "application/vnd.openxml"), ("txt", ".a_en.txt", "text/plain"):
            url = self.form(server, "/translate_file", ("a.pdf", PDF), {**fields, **({"output_format": output} if output else {})})
            self.assertTrue(url["translatedFileUrl"].endswith(ending), url)
            status, headers, after = server.request("GET", urllib.parse.urlsplit(url["translatedFileUrl"]).path)
            self.assertEqual((status, headers["Content-Type"][:len(kind)]), (200, kind))
            text = after if output else office.parts(after)["word/document.xml"]
            self.assertIn(thanks.encode(), text)
        self.assertIn("scanned", self.form(server, "/translate_file", ("a.pdf", pdf.pdf([[]])), fields, 400)["error"])
        self.assertIn("expected docx", self.form(server, "/translate_file", ("a.pdf", PDF), {**fields, "output_format": "pdf"},
                                                 400)["error"])

    def test_deepl(self):
        server = self.start(f"--models-dir={MODELS_DIR}")
        fields = {"source_lang": "FR", "target_lang": "EN", "columns": "Titre,4"}
        document = self.form(server, "/v2/document", ("a.csv", CSV), fields)
        key = json.dumps({"document_key": document["document_key"]})
        ask = lambda end: server.request("POST", f"/v2/document/{document['document_id']}{end}", key,
                                         {"Content-Type": "application/json"})
        wait_for(lambda: json.loads(ask("")[2])["status"] == "done", "the document")
        self.check_csv(ask("/result")[2].decode())


if __name__ == "__main__":
    main()
