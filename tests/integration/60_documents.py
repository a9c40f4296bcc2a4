# SPDX-License-Identifier: ISC
"""Documents as jobs: a file goes in, a file comes out, and its progress is reported, whatever
happens to the server on the way."""
import json
import os
import re
import shutil
import signal
import sys
import time
import urllib.parse

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))

import office  # noqa: E402
import pdf  # noqa: E402

HEADERS = {"Content-Type": "multipart/form-data; boundary=XX"}
LETTER = "".join(f"<w:p><w:r><w:t>Le chat numéro {i} dort dans la maison.</w:t></w:r></w:p>" for i in range(40))


def form(name, content, **fields):
    body = b"".join(f'--XX\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
                    for key, value in fields.items())
    return (body + f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content +
            b"\r\n--XX--\r\n")


class Documents(IntegrationTest):
    def begin(self, *options, **more):
        self.server = self.start(f"--models-dir={MODELS_DIR}", f"--jobs-dir={os.path.join(self.directory, 'jobs')}", "--threads=1",
                                 "--max-body=64KiB", *options, **more)

    def ask(self, method, path, body=None, status=200):
        got, _, answer = self.server.request(method, path, body, HEADERS if body else {})
        self.assertEqual(got, status, answer)
        return json.loads(answer) if answer else None

    def add(self, name, content, status=201, **fields):
        return self.ask("POST", "/v1/documents", form(name, content, **{"target": "en", **fields}), status)

    def result(self, document):
        path = f"/v1/documents/{document['id']}"
        wait_for(lambda: self.ask("GET", path)["state"] not in ("waiting", "running"), "the document")
        self.assertEqual(self.ask("GET", path)["state"], "done")
        status, headers, answer = self.server.request("GET", path + "/result")
        self.assertEqual(status, 200, answer)
        return headers, answer

    def at_once(self, name, content):
        answer = self.ask("POST", "/translate_file", form(name, content, source="fr", target="en"))
        return self.server.request("GET", urllib.parse.urlsplit(answer["translatedFileUrl"]).path)[2]

    def test_files_of_all_kinds_come_back_as_they_do_at_once(self):
        self.begin()
        for name, content in (("a.docx", office.docx()), ("a.pptx", office.pptx()), ("a.xlsx", office.xlsx()), ("a.epub", office.epub()),
                              ("a.odt", office.odf("text")), ("a.csv", "Nom,Texte\nA,Le chat dort.\nB,La maison\n".encode()),
                              ("a.md", "# Le chat\n\n* La *maison*\n".encode()), ("a.html", b"<p>Le <b>chat</b> dort.</p>\n"),
                              ("a.txt", "Le chat dort.\n\n\nLa maison\nest grande.\n".encode()),
                              ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nLe chat dort.\n")):
            document = self.add(name, content, source="fr")
            self.assertEqual((document["name"], document["bytes"], document["source"]), (name, len(content), "fr"))
            self.assertIn(document["state"], ("waiting", "running", "done"))
            headers, answer = self.result(document)
            self.assertEqual(headers["Content-Disposition"], f'attachment; filename="{name.replace(".", ".en.")}"')
            self.assertEqual(answer, self.at_once(name, content), name)
            told = self.ask("GET", f"/v1/documents/{document['id']}")
            self.assertEqual((told["done"], told["failed"], told["progress"]), (told["paragraphs"], 0, 1))
        self.assertEqual(len(self.ask("GET", "/v1/documents")["documents"]), 10)
        for fields in ({}, {"filename": "../été 夏\u202e.md"}):
            named = self.add("été 夏\u202e.md", b"# Le chat\n", **fields)
            self.assertEqual(named["name"], "été_夏_.md")
            disposition = self.result(named)[0]["Content-Disposition"]
            self.assertEqual(disposition, "attachment; filename=\"_t____.en.md\"; filename*=UTF-8''%C3%A9t%C3%A9_%E5%A4%8F_.en.md")
        self.ask("DELETE", f"/v1/documents/{document['id']}", status=204)
        for end in ("", "/result"):
            told = self.ask("GET", f"/v1/documents/{document['id']}{end}", status=404)
            self.assertEqual(told["error"]["code"], "no_such_document")
        wait_for(lambda: not [name for name in os.listdir(os.path.join(self.directory, "jobs")) if name.startswith(document["id"])],
                 "its files to go")

    def test_the_language_is_that_of_the_whole_text(self):
        self.begin()
        content = ("Oui.\n\n" + "La maison est grande et le chat dort dans le jardin.\n\n" * 3).encode()
        document = self.add("a.txt", content)
        self.assertEqual((document["source"], document["paragraphs"]), ("fr", 4))
        self.assertEqual(self.result(document)[1], self.result(self.add("a.txt", content, source="fr"))[1])

    def test_it_goes_on_after_a_kill(self):
        self.begin("--cache-size=0")
        content = office.docx(more=LETTER)
        whole = self.result(self.add("a.docx", content, source="fr"))[1]
        document = self.add("a.docx", content, source="fr")
        path = f"/v1/documents/{document['id']}"
        wait_for(lambda: self.ask("GET", path)["done"] > 0, "its first paragraph")
        self.server.signal(signal.SIGKILL)
        self.server.expected_codes = (-signal.SIGKILL,)
        self.server.wait()
        self.begin("--cache-size=0")
        self.assertGreater(self.ask("GET", path)["done"], 0)
        self.assertEqual(self.result(document)[1], whole)

    def test_columns_of_a_table(self):
        self.begin()
        table = "Nom,Texte\nLe chat,Le chat dort.\n".encode()
        document = self.add("a.csv", table, source="fr", columns="Texte")
        self.assertEqual(document["paragraphs"], 1)
        self.server.signal(signal.SIGTERM)  # the request is written down
        self.server.wait()
        self.begin()
        rows = self.result(document)[1].decode().splitlines()
        self.assertEqual([row.split(",")[0] for row in rows], ["Nom", "Le chat"])
        self.assertNotIn("Le chat dort", rows[1])
        self.assertEqual(self.ask("GET", f"/v1/jobs/{document['id']}")["columns"], "Texte")
        refused = self.add("a.csv", table, 400, columns="9")["error"]["message"]
        self.assertIn('no column "9"', refused)
        self.assertEqual(self.add("a.csv", table, 400, columns="9" * 501)["error"]["field"], "columns")

    def test_what_a_pdf_becomes(self):
        if not shutil.which("pdftotext"):
            self.skipTest("pdftotext is not installed")
        self.begin()
        content = pdf.pdf([[(60, 720, 10, "Le chat dort.")]])
        for output, ending in ("html", "html"), ("txt", "txt"), ("odt", "odt"), (None, "docx"):
            document = self.add("a.pdf", content, source="fr", **({"output_format": output} if output else {}))
            headers, answer = self.result(document)
            self.assertEqual(headers.get_filename(), f"a.en.{ending}")
            if ending in ("html", "txt"):
                self.assertIn(b"cat", answer)
            else:
                self.assertEqual(answer[:2], b"PK")
        for name, output in ("a.pdf", "pdf"), ("a.pdf", "documents"), ("a.txt", "docx"):
            self.assertEqual(self.add(name, content, 400, output_format=output)["error"]["field"], "output_format")
        self.assertEqual(self.result(self.add("a.txt", b"Oui.", source="fr", output_format="TXT"))[0].get_filename(), "a.en.txt")

    def children(self):
        """Child processes of the daemon that are running, or that it has not reaped."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    parent = file.read().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == self.server.process.pid:
                found.append(int(name))
        return found

    def test_nobody_waits_for_a_pdf(self):
        """A pdftotext that would keep running is ended when the client that sent the file leaves,
        and when the daemon ends."""
        programs = os.path.join(self.directory, "programs")
        os.mkdir(programs)
        with open(os.path.join(programs, "pdftotext"), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o755)
            file.write("#!/bin/sh\nexec sleep 100000\n")
        self.begin("--drain-timeout=1ms", env={"PATH": f"{programs}:{os.environ['PATH']}"})
        asked = (("/v1/documents", {"target": "en"}), ("/translate_file", {"source": "fr", "target": "en"}),
                 ("/v2/document", {"target_lang": "EN"}))
        for path, fields in asked:
            connection, since = self.send_pdf(path, fields)
            connection.close()
            wait_for(lambda: not self.children(), "its end")
            self.assertLess(time.monotonic() - since, 55, "it was ended by its own limit of 60 s")
        connection, since = self.send_pdf(*asked[0])
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - since, 55, "it was ended by its own limit of 60 s")
        connection.close()

    def send_pdf(self, path, fields):
        """Sends a PDF and waits for pdftotext; returns the connection, and the time when pdftotext
        was there."""
        body = form("a.pdf", pdf.pdf([[(60, 720, 10, "Le chat dort.")]]), **fields)
        connection = self.server.connect()
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {HEADERS['Content-Type']}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_for(self.children, "pdftotext")
        return connection, time.monotonic()

    def test_every_kind_that_is_documented_is_taken(self):
        self.begin()
        with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), encoding="utf-8") as file:
            said = file.read().partition("ending of its name: ")[2].partition("xhtml.")[0]
        endings = re.findall(r"\.([a-z]+)", said)
        self.assertGreater(len(endings), 40)
        for ending in endings:  # without target
            status, _, answer = self.server.request("POST", "/v1/documents", form(f"a.{ending}", b"x", beam="x"), HEADERS)
            self.assertEqual((status, json.loads(answer)["error"]["field"]), (400, "beam"), ending)

    def test_progress_moves_inside_of_a_paragraph(self):
        """With so many hypotheses the job takes minutes on any machine, and is cancelled."""
        self.begin("--cache-size=0")
        content = ("<p>" + " ".join(f"Le chat numéro {i} dort dans la maison." for i in range(1200)) + "</p>").encode()
        document = self.add("a.html", content, source="fr", beam=16)
        self.assertEqual(document["paragraphs"], 1)
        path = f"/v1/documents/{document['id']}"
        wait_for(lambda: 0 < self.ask("GET", path)["progress"] < 1, "its first sentence")
        first = self.ask("GET", path)["progress"]
        wait_for(lambda: first < self.ask("GET", path)["progress"] < 1, "more of them")
        self.ask("DELETE", path, status=204)

    def test_what_cannot_be_taken_is_refused(self):
        self.begin("--max-document=100KiB")
        code = lambda *arguments, **fields: self.add(*arguments, **fields)["error"]["code"]
        self.assertEqual(code("a.docx", b"x" * 99, status=400), "invalid_value")
        self.assertEqual(code("a.xyz", b"x", status=415), "unsupported")
        self.assertEqual(code("a.txt", b"", status=400), "invalid_value")
        self.assertEqual(code("a.po", b"\xff", status=400), "invalid_utf8")
        self.assertEqual(code("a.txt", b"Oui.", status=400, beam="x"), "invalid_value")
        self.assertEqual(code("a.txt", b"Oui.", status=400, format="html"), "invalid_value")
        self.assertEqual(code("a.txt", b"x" * 200000, status=413), "body_too_large")
        status, _, answer = self.server.request("POST", "/v1/documents", b"{}", {"Content-Type": "application/json"})
        self.assertEqual((status, json.loads(answer)["error"]["code"]), (415, "unsupported"))
        job = self.ask("GET", "/v1/jobs")["jobs"]
        self.assertEqual(job, [])
        without = self.start(f"--models-dir={MODELS_DIR}")
        self.assertEqual(without.request("POST", "/v1/documents", form("a.txt", b"Oui."), HEADERS)[0], 501)


if __name__ == "__main__":
    main()
