# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Office documents: through the tool, with a model, with a daemon, and with none; and as this
test's own reader sees them."""
import json
import os
import re
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))

import office  # noqa: E402

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
DOCX_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BOMB = office.docx(more=" " * (33 << 20))


class Office(IntegrationTest):
    def path(self, name, content=None):
        path = os.path.join(self.directory, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def tool(self, *arguments, code=0, **more):
        done = subprocess.run([TOOL, "file", *arguments], capture_output=True, timeout=120, check=False, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def translated(self, name, document, *flags):
        before, after = self.path(name, document), self.path("out." + name)
        self.tool(*(flags or (f"--model={MODEL}", "--threads=1")), before, after)
        return self.read(after)

    def lines(self, *texts):
        done = subprocess.run([TOOL, "translate", f"--model={MODEL}", "--threads=1"], input="\n".join(texts) + "\n",
                              encoding="utf-8", capture_output=True, timeout=120, check=True)
        return done.stdout.splitlines()

    def check_docx(self, before, after):
        old, new = office.parts(before), office.parts(after)
        self.assertEqual(office.metadata(before), office.metadata(after))
        changed = [name for name in old if old[name] != new[name]]
        self.assertEqual(changed, ["word/document.xml", "word/header1.xml", "word/footer1.xml", "word/footnotes.xml",
                                   "word/comments.xml", "word/styles.xml", "docProps/core.xml"])
        document = new["word/document.xml"]
        said = self.lines("Le chat noir", "La maison", "Où est la gare ?", "Une page", "Une note.")
        texts = office.texts(document)
        self.assertEqual([texts[0], texts[4]], said[:2])
        self.assertEqual(texts[5], "12,5")
        self.assertIn(said[2], texts)
        self.assertEqual(office.texts(new["word/header1.xml"]), [said[3]])
        self.assertEqual(office.texts(new["word/footnotes.xml"]), [said[4]])
        self.assertIn(f"<dc:title>{said[0]}</dc:title><dc:creator>Anne</dc:creator>".encode(), new["docProps/core.xml"])
        self.assertIn(b'<w:lang w:val="en-US"/>', new["word/styles.xml"])
        for tag in ("w:b", "w:footnoteReference", "w:hyperlink", "w:ins", "w:del", "w:tab", "w:drawing", "w:instrText"):
            self.assertEqual(len(office.tags(document, tag)), 1, tag)
        self.assertIn(b"Adieu.", document)
        self.assertNotIn(b"Un chat &amp; un chien", document)

    def test_docx(self):
        before = office.docx()
        after = self.translated("a.docx", before)
        self.check_docx(before, after)
        # The same text as an HTML fragment with the same tags gives the same sentences.
        html = "<p>Le <b>chat noir</b> dort<img> sur la <b>table</b> rouge. Il ne mange pas.</p>"
        self.assertEqual("".join(office.texts(office.parts(after)["word/document.xml"])[1]),
                         office.plain(self.translated("a.html", html.encode()).decode()))

    def test_opendocument(self):
        said = self.lines("Le chat noir", "La maison", "Une page", "Une note.", "Au revoir")
        for ending, kind in (("odt", "text"), ("odp", "presentation"), ("ods", "spreadsheet")):
            before = office.odf(kind)
            after = self.translated(f"a.{ending}", before)
            self.assertEqual(office.metadata(before), office.metadata(after))
            old, new = office.parts(before), office.parts(after)
            self.assertEqual([name for name in old if old[name] != new[name]], ["content.xml", "styles.xml", "meta.xml"])
            content = new["content.xml"].decode()
            for text in (f"1\">{said[0]}</text:h>", f"<text:p>{said[3]}</text:p>", f"<svg:title>{said[2]}</svg:title>",
                         f'"string"><text:p>{said[1]}</text:p>', "<text:p>5 mai</text:p>", "A1\"><text:p>La maison</text:p>",
                         "<text:p>Adieu.</text:p>"):
                self.assertEqual(content.count(text), 1, text)
            for tag in ("text:span", "text:a", "text:note", "text:tab", "text:line-break", "draw:frame"):
                self.assertEqual(len(office.tags(new["content.xml"], tag)), 1, tag)
            self.assertIn(f"<text:p>{said[4]}</text:p>".encode(), new["styles.xml"])
            sheet = said[1] if kind == "spreadsheet" else "La maison"
            self.assertIn(f'<table:table table:name="{sheet}"/><table:table table:name="La gare"/>', content)
            self.assertIn(b'fo:language="en" fo:country="US" style:language-asian="zh"', new["styles.xml"])
            self.assertIn(f"<dc:title>{said[0]}</dc:title>".encode(), new["meta.xml"])
            for part in ("content.xml", "styles.xml", "meta.xml"):
                xml.etree.ElementTree.fromstring(new[part])
            self.assertEqual(self.translated(f"b.{ending}", before, "--dry-run"), before)

    def test_slides(self):
        before = office.pptx()
        after = self.translated("a.pptx", before)
        self.assertEqual(office.metadata(before), office.metadata(after))
        old, new = office.parts(before), office.parts(after)
        self.assertEqual([name for name in old if old[name] != new[name]],
                         ["ppt/slides/slide1.xml", "ppt/notesSlides/notesSlide1.xml"])
        said = self.lines("La maison", "Où est la gare ?", "Une note.", "Une page")
        slide = new["ppt/slides/slide1.xml"]
        self.assertEqual(office.texts(slide)[1:], [said[0] + said[1], "page 3"])
        self.assertEqual(office.texts(new["ppt/notesSlides/notesSlide1.xml"]), [said[2]])
        self.assertIn(f'descr="{said[3]}"'.encode(), slide)
        self.assertEqual((slide.count(b'b="1"'), slide.count(b"<a:br>"), slide.count(b"<a:endParaRPr")), (1, 1, 1))
        self.assertEqual(slide.count(b'lang="fr-FR"'), 2)  # of the line break and the field
        self.assertEqual(self.translated("b.pptx", before, "--dry-run"), before)

    def test_sheets(self):
        before = office.xlsx()
        after = self.translated("a.xlsx", before)
        self.assertEqual(office.metadata(before), office.metadata(after))
        old, new = office.parts(before), office.parts(after)
        self.assertEqual([name for name in old if old[name] != new[name]], 
                         ["xl/workbook.xml", "xl/worksheets/sheet2.xml", "xl/sharedStrings.xml", "xl/comments1.xml"])
        said = self.lines("La maison", "La gare", "Une note.", "Le chat noir")
        # One of the sheets is named by a formula; the page headers contain codes.
        self.assertIn(f'<sheet name="Feuille" sheetId="1"/><sheet name="{said[0]}" sheetId="2"/>'.encode(), new["xl/workbook.xml"])
        margins = new["xl/worksheets/sheet2.xml"].decode()
        for text in (f'<oddHeader>&amp;L{said[1]}&amp;C&amp;"Arial,Gras"&amp;12{said[3]}&amp;RPage &amp;P</oddHeader>',
                     "<oddFooter>&amp;P / &amp;N</oddFooter>"):
            self.assertIn(text, margins)
        strings = new["xl/sharedStrings.xml"].decode()
        xml.etree.ElementTree.fromstring(strings)
        for text in (f'<si><t xml:space="preserve">{said[0]}</t></si>', "<si><t>Un nom</t></si><si><t>12,5</t></si>",
                     f'<si><t xml:space="preserve">{said[1]}</t><rPh sb="0" eb="1"><t>gare</t></rPh><phoneticPr fontId="1"/></si>',
                     "<r><rPr><b/></rPr><t xml:space=\"preserve\">"):
            self.assertEqual(strings.count(text), 1, text)
        self.assertIn(said[2].encode(), new["xl/comments1.xml"])
        self.assertEqual(self.translated("b.xlsx", before, "--dry-run"), before)

    def test_books(self):
        before = office.epub()
        after = self.translated("a.epub", before)
        self.assertEqual(office.metadata(before), office.metadata(after))
        old, new = office.parts(before), office.parts(after)
        self.assertEqual([name for name in old if old[name] != new[name]],
                         ["OEBPS/content.opf", "OEBPS/toc.ncx", "OEBPS/a.xhtml"])
        said = self.lines("Le chat noir", "La maison", "Une page", "Au revoir", "Une note.")
        page = new["OEBPS/a.xhtml"].decode()
        xml.etree.ElementTree.fromstring(new["OEBPS/a.xhtml"])
        for text in ('xml:lang="en" lang="en"', f"<title>{said[2]}</title>", f"<h1>{said[0]}</h1>", f'<div class="a">{said[1]}<p>',
                     f'<img src="a.png" alt="{said[2]}"/></div>', f"<li>{said[3]}<ul><li>{said[4]}</li></ul></li>",
                     "<pre>Le code</pre><p>12</p>"):
            self.assertEqual(page.count(text), 1, (text, page))
        for tag in ("em", "br", "a", "img"):
            self.assertEqual(len(office.tags(new["OEBPS/a.xhtml"], tag)), 2 if tag == "a" else 1, tag)
        self.assertIn(f"<dc:title>{said[0]}</dc:title><dc:language>en</dc:language><dc:creator>Anne".encode(),
                      new["OEBPS/content.opf"])
        self.assertIn(f"<text>{said[1]}</text>".encode(), new["OEBPS/toc.ncx"])
        self.assertEqual(self.translated("b.epub", before, "--dry-run"), before)

    def test_a_daemon_says_the_same(self):
        server = self.start(f"--models-dir={MODELS_DIR}")
        self.check_docx(office.docx(), self.translated("a.docx", office.docx(), "--source=fr", "--target=en",
                                                       f"--server=http://127.0.0.1:{server.port()}"))

    def form(self, server, path, file, fields, status=200):
        body = b"".join(f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
                        for name, value in fields.items())
        body += f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'.encode() + file[1]
        got, _, answer = server.request("POST", path, body + b"\r\n--XX--\r\n",
                                        {"Content-Type": "multipart/form-data; boundary=XX"})
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def test_libretranslate(self):
        server, before = self.start(f"--models-dir={MODELS_DIR}"), office.docx()
        fields = {"source": "fr", "target": "en"}
        url = self.form(server, "/translate_file", ("Une lettre.docx", before), fields)["translatedFileUrl"]
        self.assertTrue(url.endswith(".Une_lettre_en.docx"), url)
        status, headers, after = server.request("GET", urllib.parse.urlsplit(url).path)
        self.assertEqual((status, headers["Content-Type"]), (200, DOCX_TYPE))
        self.check_docx(before, after)
        for content, why in ((before[:-30], "cut off"), (b"x" * 99, "ZIP"), (BOMB, "more than 33554432 bytes")):
            self.assertIn(why, self.form(server, "/translate_file", ("a.docx", content), fields, 400)["error"])

    def test_deepl(self):
        server, before = self.start(f"--models-dir={MODELS_DIR}"), office.docx()
        fields = {"source_lang": "FR", "target_lang": "EN"}
        document = self.form(server, "/v2/document", ("a.docx", before), fields)
        key = json.dumps({"document_key": document["document_key"]})
        ask = lambda end: server.request("POST", f"/v2/document/{document['document_id']}{end}", key,
                                         {"Content-Type": "application/json"})
        wait_for(lambda: json.loads(ask("")[2])["status"] == "done", "the document")
        status, headers, after = ask("/result")
        self.assertEqual((status, headers["Content-Type"]), (200, DOCX_TYPE))
        self.check_docx(before, after)
        self.assertIn("encrypted", self.form(server, "/v2/document", ("a.docx", b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), fields,
                                             400)["message"])
        self.assertIn("more than", self.form(server, "/v2/document", ("a.docx", BOMB), fields, 413)["message"])

    def test_without_a_model_it_comes_back_byte_for_byte(self):
        self.assertEqual(self.translated("a.docx", office.docx(), "--dry-run"), office.docx())
        done = self.tool("--dry-run", "-", "-", input=office.docx())
        self.assertEqual(done.stdout, office.docx())
        self.assertIn(b"kind=office", done.stderr)

    def test_what_cannot_be_read_is_refused_with_a_reason(self):
        whole, out = office.docx(), self.path("out", b"as it was")
        for content, why in ((whole[:-30], b"cut off"), (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + bytes(999), b"encrypted"),
                             (b"plain text", b"ZIP"), (office.archive([("a.txt", "a")]), b"not a document of a known kind")):
            self.assertIn(why, self.tool("--dry-run", self.path("bad.docx", content), out, code=1).stderr)
        self.assertEqual(self.read(out), b"as it was")

    def test_hostile_archives(self):
        """Bombs, entities, paths that climb, encryption: the tool soon reports an error, and
        fetches nothing and writes nothing elsewhere."""
        parts = office.parts(office.docx())
        with_document = lambda text: office.archive([(name, text if name == "word/document.xml" else content)
                                                     for name, content in parts.items()])
        body = lambda text: with_document(f'<w:document xmlns:w="{office.W}"><w:body>{text}</w:body></w:document>')
        doctype = lambda inside: with_document(f'<!DOCTYPE w [{inside}]><w:document xmlns:w="{office.W}"><w:p><w:r><w:t>&a;</w:t></w:r>'
                                               "</w:p></w:document>")
        laughs = '<!ENTITY a "ha">' + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
        good = office.docx()
        locked = bytearray(good)
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            found = -1
            while (found := good.find(mark, found + 1)) >= 0:
                locked[found + at] |= 1
        for content, why in (
                (office.archive([*parts.items(), *((f"x/{i}", "") for i in range(70000))]), "members|entries|parts"),
                (office.archive([("a.docx", good)]), "not a document of a known kind"),
                (doctype(laughs), "document type"), (doctype('<!ENTITY a SYSTEM "file:///etc/passwd">'), "document type"),
                (office.archive([*parts.items(), ("../../climbs.xml", "x")]), "climbs"),
                (office.archive([*parts.items(), ("/climbs.xml", "x")]), "climbs"),
                (bytes(locked), "encrypted"), (good[:len(good) // 2], "cut off|ZIP"),
                (body("<w:p>" * 350000), "nested deeper|more runs"), (body("<w:p>" * 300 + "</w:p>" * 300), "nested deeper")):
            done = self.tool("--dry-run", self.path("bad.docx", content), self.path("out"), code=1)
            self.assertRegex(done.stderr.decode(), why)
        self.assertEqual(sorted(os.listdir(self.directory)), ["bad.docx"])

    def test_ten_thousand_sheets(self):
        book = office.parts(office.xlsx())
        names = "".join(f'<sheet name="Le chat {i}" sheetId="{i}"/>' for i in range(1, 10001))
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
        more = "".join(f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}"/>' for i in range(3, 10001))
        sheet = book["xl/worksheets/sheet1.xml"]
        book["[Content_Types].xml"] = book["[Content_Types].xml"].replace(b"</Types>", more.encode() + b"</Types>")
        book["xl/workbook.xml"] = re.sub(b"<sheet .*/>", names.encode(), book["xl/workbook.xml"])
        content = office.archive([*book.items(), *((f"xl/worksheets/sheet{i}.xml", sheet) for i in range(3, 10001))])
        self.tool("--dry-run", self.path("a.xlsx", content), self.path("b.xlsx"))
        self.assertEqual(self.read(self.path("b.xlsx")), content)


if __name__ == "__main__":
    main()
