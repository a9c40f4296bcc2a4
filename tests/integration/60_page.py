# SPDX-License-Identifier: ISC
# Tiers: gcc
"""The page at "/": how it is served, and, where a browser is installed, what a reader can do with
it."""
import base64
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import browser  # noqa: E402
import openapi  # noqa: E402
import office  # noqa: E402

FLAGS = (f"--models-dir={MODELS_DIR}",
         f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
BOTH_WAYS = (f"--models-dir={os.path.join(SOURCES, 'models')}",)  # the last such option counts
TEXT = "Où est la gare ? Je ne comprends pas pourquoi il est parti."
LANGUAGES_LISTED = "return document.querySelector('#to').options.length > 0"
# WCAG 2: the contrast of each element that has its own text with the nearest background below it.
CONTRASTS = """
const channels = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = node => {
    for (; node; node = node.parentElement) {
        const colour = channels(getComputedStyle(node).backgroundColor);
        if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
};
return [...document.querySelectorAll("body *")]
    .filter(node => node.checkVisibility() && !node.closest("#marks, :disabled")
            && [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()))
    .map(node => {
        const [a, b] = [light(channels(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), node.outerHTML.slice(0, 80)];
    }).filter(([ratio]) => ratio < 4.5);
"""


the_browser = None  # one for all tests: starting it takes longer than the tests do


def tearDownModule():
    if the_browser:
        the_browser.__exit__()


class Served(IntegrationTest):
    def test_all_it_loads_is_here_and_small(self):
        server = self.start(*FLAGS)
        status, headers, body = server.request("GET", "/")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertNotIn(b"http://", body)
        self.assertNotIn(b"https://", body)
        as_sent = lambda path: server.request("GET", path, headers={"Accept-Encoding": "gzip"})[2]
        self.assertEqual(gzip.decompress(as_sent("/")), body)
        total = len(as_sent("/"))
        for name in ("style.css", "icon.svg", "main.js", "words.js", "offsets.js", "target.js", "detail.js", "files.js",
                     "history.js", "links.js", "manner.js", "pickers.js", "tab.js", "code.js", "speech.js", "dragoman.js",
                     "gettable.js", "hint.js", "pairs.js"):
            status, headers, part = server.request("GET", f"/page/{name}")
            self.assertEqual(status, 200, name)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            packed = as_sent(f"/page/{name}")
            self.assertEqual(gzip.decompress(packed), part)
            total += len(packed)
            status, _, body = server.request("GET", f"/page/{name}", headers={"If-None-Match": headers["ETag"]})
            self.assertEqual((status, body), (304, b""))
        self.assertLess(total, 40 * 1024)
        self.assertEqual(server.request("GET", "/page/nothing.js")[0], 404)
        self.assertEqual(server.request("GET", "/page/")[0], 404)
        self.assertEqual(server.request("DELETE", "/")[0], 405)

    def test_the_description_of_the_api(self):
        server = self.start(*FLAGS)
        status, headers, body = server.request("GET", "/docs")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn(b"//", body.replace(b"<!--", b"").replace(b"-->", b""))
        for name in ("docs.js", "docs_yaml.js", "docs.css"):
            self.assertEqual(server.request("GET", f"/page/{name}")[0], 200)
        with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), "rb") as file:
            self.assertEqual(server.request("GET", "/page/openapi.yaml")[2], file.read())
        status, headers, _ = server.request("GET", "/docs/")
        self.assertEqual((status, headers["Location"]), (308, "../docs"))

    def test_the_languages_of_the_page_say_the_same_things(self):
        with open(os.path.join(SOURCES, "clients", "web", "words.js"), encoding="utf-8") as file:
            text = file.read()
        keys = {}
        for line in text[text.index("const WORDS"):text.index("const PLACE")].splitlines():
            if line.strip().endswith(": {") and line.startswith("    "):
                language = line.strip()[:-3]
                keys[language] = set()
            elif line.startswith("        "):
                parts = line.split('"')  # name: "words", name: "words",
                keys[language] |= {part.strip(" ,:") for part in parts[::2]} - {""}
        self.assertEqual(set(keys), {"en", "fr", "ko"})
        self.assertGreater(len(keys["en"]), 40)
        self.assertEqual(keys["en"], keys["fr"])
        self.assertEqual(keys["en"], keys["ko"])


@unittest.skipUnless(browser.is_installed(), "needs chromium and chromium-driver")
class Used(IntegrationTest):
    def page(self, *flags, is_open=True, usual=FLAGS, **reader):
        """The page of a server of its own (and therefore with its own browser storage), for a
        reader with these settings."""
        global the_browser
        server = self.start(*usual, *flags)
        if not the_browser:
            the_browser = browser.Browser().__enter__()
        the_browser.be(**reader)
        the_browser.complaints()  # those of earlier tests
        the_browser.open(f"http://127.0.0.1:{server.port()}/")
        if is_open:
            the_browser.wait_for(LANGUAGES_LISTED, "the languages")
        self.addCleanup(the_browser.open, "about:blank")
        return the_browser

    def test_the_description_of_the_api_is_shown_whole(self):
        page = self.page()
        page.run("location.href = 'docs'")
        page.wait_for("return location.pathname === '/docs' && document.querySelectorAll('#schemas h3').length > 10", "the objects")
        with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), encoding="utf-8") as file:
            text = file.read()
        paths = text[text.index("\npaths:"):text.index("\ncomponents:")]
        wanted = len(re.findall(r"^    (?:get|post|put|patch|delete):$", paths, re.M))
        self.assertEqual(page.run("return document.querySelectorAll('#operations h3').length"), wanted)
        self.assertEqual(page.run("return document.querySelectorAll('#contents tr').length"), wanted)
        self.assertEqual(page.run("return document.querySelector('#get-v1-models').textContent"), "GET /v1/models")
        self.assertIn("native API", page.run("return document.querySelector('#about').textContent"))
        self.assertEqual(page.run("return [...document.querySelectorAll('main a')].filter(a => a.hash && "
                                  "!document.getElementById(a.hash.slice(1))).length"), 0)
        # Members with their types, members of inner objects by their path, and refusals by their
        # status.
        cells = "return [...document.getElementById(arguments[0]).parentElement.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.textContent))"
        error = page.run(cells, "Error")
        self.assertEqual(error[0], ["Member", "Kind", "Meaning"])
        self.assertIn(["error.message", "string, required", ""], error)
        self.assertIn("One of admin_only, bad_request, ", next(row[2] for row in error if row[0] == "error.code"))
        self.assertIn(["429", "Past a limit of a minute (rate_limited) or of the month (quota_exceeded). The request was not done "
                       "and costs nothing.", "application/json: Error"], page.run(cells, "post-v1-translate"))
        self.assertIn('"target": "en"', page.run("return document.querySelector('#first').textContent"))
        spoken = self.spoken(page)
        for line in ("heading | All requests", "table | All requests", "table | Answers to POST /v1/translate", "article | Error"):
            self.assertIn(line, spoken)
        page.be(width=390, height=844)
        self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), 390)
        self.check_quiet(page)

    @unittest.skipUnless(openapi.yaml, "needs python3-yaml")
    def test_the_description_is_read_as_others_read_it(self):
        page = self.page()
        read = page.run("""return Promise.all([import(new URL('page/docs_yaml.js', document.baseURI)), fetch('page/openapi.yaml')])
                           .then(async ([{ readYaml }, file]) => readYaml(await file.text()))""")
        self.assertEqual(read, openapi.description())

    def translate(self, page, text, sentences):
        page.type("#source", text)
        page.wait_for(f"return document.querySelectorAll('.sentence').length === {sentences}", f"{sentences} sentences")

    def check_quiet(self, page):
        self.assertEqual(page.complaints(), [])

    def test_a_reader_types_points_and_chooses(self):
        page = self.page()
        self.translate(page, TEXT, 2)
        before = page.run("return document.querySelector('#target').textContent")
        self.assertIn("station", before)
        self.assertIn("French", page.run("return document.querySelector('#from').options[0].textContent"))

        page.point_at(".sentence")
        page.wait_for("return document.querySelectorAll('.word').length > 2", "words to point at")
        self.assertEqual(page.run("return document.querySelector('#target').textContent"), before)
        page.run("document.querySelector('#shade').click()")
        page.wait_for("return document.querySelectorAll('.sentence')[1].querySelector('.word')", "words of the second sentence")
        page.point_at(".word")
        page.wait_for("return document.querySelector('#marks mark')", "what the word looked at")

        page.run("document.querySelectorAll('.sentence')[1].click()")
        page.wait_for("return document.querySelectorAll('#heat td').length > 20", "the picture")
        page.wait_for("return document.querySelector('#alternatives button')", "other wordings")
        # As a picture: whole words, lines between them, and both as a sentence for readers who
        # cannot see the picture.
        self.assertEqual(page.run("return Array.from(document.querySelectorAll('#links text[text-anchor]'), t => t.textContent).join(' ')"),
                         page.run("return document.querySelectorAll('.sentence')[1].textContent"))
        self.assertGreater(page.run("return document.querySelectorAll('#links path').length"), 3)
        self.assertIn("why ← pourquoi", page.run("return document.querySelector('#links svg').getAttribute('aria-label')"))
        page.run("document.querySelector('#detail details').open = true")
        cells = "Array.from(document.querySelectorAll('#heat tbody td'), cell => cell.title).join()"
        mean = page.run(f"return {cells}")
        page.run("const l = document.querySelector('#head'); l.value = '2'; l.dispatchEvent(new Event('change'))")
        page.wait_for(f"return {cells} !== {json.dumps(mean)}", "another head")
        other = page.run("const b = document.querySelector('#alternatives button'); const text = b.firstChild.data; b.click(); return text")
        self.assertIn(other, page.run("return document.querySelector('#target').textContent"))
        self.check_quiet(page)

    def test_confidence_is_a_picture_with_a_legend(self):
        page = self.page(width=390, height=844)
        # One token of each sentence is made doubtful: the drawing follows the server's numbers.
        page.run("""const json = Response.prototype.json;
            window.doubt = 0.2;
            Response.prototype.json = async function () {
                const value = await json.call(this);
                for (const score of value.scores ?? []) {
                    for (const token of score.tokens) token.logprob = Math.log(0.9);
                    score.tokens[0].logprob = Math.log(window.doubt);
                }
                return value;
            };""")
        self.translate(page, TEXT, 2)
        legend = "return document.querySelector('#legend').checkVisibility() && document.querySelector('#legend').textContent"
        self.assertFalse(page.run(legend))
        page.click("#shade")
        self.assertEqual(page.wait_for(legend, "what the shades mean"),
                         "How sure the model is of a shaded word:under 50 %under 25 %under 10 %")
        self.assertEqual(page.run("return document.querySelectorAll('#target .doubt-2').length"), 2)
        page.run("document.querySelector('.sentence').click()")
        page.wait_for("return document.querySelector('#words button')?.title", "how sure it is of each word")
        bars = page.run("return [...document.querySelectorAll('#words button')].map(b => [b.title, getComputedStyle(b).backgroundSize])")
        self.assertEqual(bars[0], ["20 % sure", "20% 4px"])
        self.assertEqual(bars[1], ["90 % sure", "90% 4px"])
        self.choose(page, "#page-language", "fr")
        self.assertIn("moins de 25 %", page.run(legend))
        page.run("window.doubt = 0.9")
        self.write(page, "Merci.")
        page.wait_for("return document.querySelector('#legend').textContent.startsWith('Aucun mot')", "that nothing is shaded")
        page.click("#shade")
        self.assertFalse(page.run(legend))
        self.check_quiet(page)

    def test_the_picture_of_attention_fits_a_phone(self):
        page = self.page(width=390, height=844)
        self.write(page, "Il était anticonstitutionnellement parti sans nous. Bon.")
        page.wait_for("return document.querySelectorAll('.sentence').length === 2", "two sentences")
        page.run("document.querySelector('.sentence').click()")
        page.wait_for("return document.querySelectorAll('#links path').length > 2", "the picture")
        self.assertTrue(page.run("""const box = document.querySelector('#links').getBoundingClientRect();
            return [...document.querySelectorAll('#links text')].every(text => {
                const at = text.getBoundingClientRect(); return at.left >= box.left - 1 && at.right <= box.right + 1; })"""))

    def test_an_empty_page_offers_nothing_to_do_with_nothing(self):
        page = self.page()
        shown = "return ['clear', 'copy', 'share', 'code-button'].filter(id => document.getElementById(id).checkVisibility())"
        self.assertEqual(page.run(shown), [])
        self.translate(page, "Bonjour.", 1)
        self.assertEqual(page.run(shown), ["clear", "copy", "share", "code-button"])
        page.click("#clear")
        self.assertEqual(page.run("return document.querySelector('#clear').textContent"), "Undo")
        self.assertEqual(page.run(shown), ["clear"])
        page.click("#clear")
        page.wait_for("return document.querySelector('.sentence')", "the translation again")
        self.check_quiet(page)

    def test_the_api_is_linked(self):
        page = self.page()
        self.translate(page, "Bonjour.", 1)
        for place in ("footer", "#code-dialog"):
            self.assertTrue(page.run(f"return document.querySelector('{place} a').href.endsWith('/docs')"))

    def test_what_did_not_change_is_not_translated_again(self):
        page = self.page()
        page.run("""window.sent = []; const send = WebSocket.prototype.send;
                    WebSocket.prototype.send = function (data) { window.sent.push(JSON.parse(data)); send.call(this, data); };""")
        self.translate(page, TEXT, 2)
        page.type("#source", " Bonjour le monde.")
        page.wait_for("return document.querySelectorAll('.sentence').length === 3", "a third sentence")
        self.assertEqual(page.run("return window.sent.slice(-1)[0].type"), "update")
        self.assertEqual(page.run("return document.querySelectorAll('.sentence').length"), 3)
        page.click("#clear")
        page.wait_for("return document.querySelector('#target').textContent === ''", "an empty pane")
        self.check_quiet(page)

    def test_a_file_comes_back_whole(self):
        page = self.page()
        srt = "1\r\n00:00:01,000 --> 00:00:02,500\r\nBonjour.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\nOù est la gare ?\r\n"
        with tempfile.NamedTemporaryFile("w", suffix=".srt", newline="", encoding="utf-8") as file:
            file.write(srt)
            file.flush()
            page.run("""const make = URL.createObjectURL; window.made = "";
                        URL.createObjectURL = blob => { blob.text().then(text => window.made = text); return make(blob); };""")
            page.type("#file", file.name)
            made = page.wait_for("return window.made", "the file")
        self.assertTrue(page.run("return document.querySelector('#file-list a').download").endswith(".en.srt"))
        lines, were = made.split("\r\n"), srt.split("\r\n")
        self.assertEqual(len(lines), len(were))
        for i, (line, was) in enumerate(zip(lines, were)):
            if i in (2, 6):
                self.assertNotEqual(line, was)
            else:
                self.assertEqual(line, was)
        self.check_quiet(page)

    def test_links_history_and_languages_of_the_page(self):
        page = self.page(language="ko")
        self.assertEqual(page.run("return document.documentElement.lang"), "ko")
        self.assertEqual(page.run("return document.querySelector('#clear').textContent"), "지우기")
        page.run("const s = document.querySelector('#page-language'); s.value = 'fr'; s.dispatchEvent(new Event('change'))")
        self.assertEqual(page.run("return document.querySelector('#clear').textContent"), "Effacer")
        self.translate(page, "Bonjour.", 1)
        page.wait_for("return document.querySelector('#history-list button')", "the history")
        url = page.run("return document.baseURI")
        page.open(url + "#from=fr&to=en&text=Merci.")
        page.run("location.reload()")
        page.wait_for("return document.querySelector('.sentence')", "the linked text's translation")
        self.assertEqual(page.run("return document.querySelector('#source').value"), "Merci.")
        self.assertEqual(page.run("return document.querySelector('#from').value"), "fr")
        self.check_quiet(page)

    def test_who_is_in_the_history_keeps_the_place(self):
        page = self.page()
        for text in ("Bonjour.", "Merci.", "Où est la gare ?"):
            self.write(page, text)
            page.wait_for(f"return document.querySelector('#history-list')?.textContent.includes({json.dumps(text)})", "its entry")
        page.run("document.querySelector('.history').open = true; document.querySelectorAll('#history-list li')[1].lastChild.focus()")
        focus = "return [...document.querySelectorAll('#history-list button')].indexOf(document.activeElement)"
        for expected in (3, 1, -1):
            page.press("\ue007")
            self.assertEqual(page.run(focus), expected)
        self.assertEqual(page.run("return document.activeElement.localName"), "summary")
        self.write(page, "Merci.")
        page.wait_for("return document.querySelector('#history-list button')", "the entry")
        page.run("document.querySelector('#history-list button').focus()")
        page.press("\ue007")
        self.assertEqual(page.run("return document.activeElement.id"), "source")

    def write(self, page, text):
        """Writes the text all at once, as pasting does."""
        page.run("""const s = document.querySelector('#source'); s.value = arguments[0];
                    s.dispatchEvent(new Event('input'));""", text)

    def state(self, page, words):
        page.wait_for(f"return document.querySelector('#state').textContent.includes({json.dumps(words)})", words)

    def test_a_text_in_the_targets_language_turns_the_target(self):
        page = self.page(*BOTH_WAYS, language="fr")
        self.assertEqual(page.run("return document.querySelector('#to').value"), "fr")
        page.type("#source", "Où est la gare ?")
        page.wait_for("return document.querySelector('.sentence')?.textContent.includes('station')", "English")
        self.state(page, "Le texte est déjà en français")
        self.assertEqual(page.run("return document.querySelector('#to').value"), "en")
        self.assertIn("français", page.run("return document.querySelector('#from').options[0].textContent"))
        self.check_quiet(page)

    def test_german_is_told_to_be_german(self):
        page = self.page(*BOTH_WAYS)
        text = "Wo ist der Bahnhof? Ich verstehe das nicht."
        page.type("#source", text)
        self.state(page, "in German, which this server cannot translate")
        self.assertIn("German", page.run("return document.querySelector('#from').options[0].textContent"))
        self.assertEqual(page.run("return document.querySelector('#target').textContent"), text)
        # No model translated this: the page has no model to name, and it got no sentences.
        self.assertTrue(page.run("return document.querySelector('#hint').hidden"))
        self.assertNotIn("sentence", page.run("return document.querySelector('#counts').textContent"))
        self.check_quiet(page)

    def test_copying_works_where_there_is_no_clipboard(self):
        page = self.page()
        page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as on plain HTTP in a LAN
        page.run("""window.copied = []; document.addEventListener('copy', () => {
                    const at = document.activeElement; window.copied.push(at.value.slice(at.selectionStart, at.selectionEnd)); });""")
        self.translate(page, "Bonjour.", 1)
        page.click("#copy")
        self.state(page, "Copied.")
        page.click("#share")
        self.state(page, "The link is copied.")
        copied = page.run("return window.copied")
        self.assertEqual(copied[0], page.run("return document.querySelector('#target').textContent"))
        self.assertIn("text=Bonjour.", copied[1])
        self.assertEqual(page.run("return document.activeElement.id"), "share")
        page.run("document.execCommand = () => false")
        page.click("#copy")
        self.state(page, "copy it yourself")

    def test_a_text_over_the_limit_is_told_so_and_stays(self):
        page = self.page("--max-characters=1200")
        self.assertIn("0 of 1,200 characters", page.run("return document.querySelector('#counts').textContent"))
        self.translate(page, "Bonjour.", 1)
        before = page.run("return document.querySelector('#target').textContent")
        self.assertIn("8 of 1,200 characters, 1 sentence", page.run("return document.querySelector('#counts').textContent"))
        self.write(page, "x" * 1201)
        self.state(page, "The text is 1 character too long")
        self.assertEqual(page.run("return document.querySelector('#target').textContent"), before)
        self.assertEqual(page.run("return document.querySelector('#source').value.length"), 1201)
        page.run("const s = document.querySelector('#page-language'); s.value = 'fr'; s.dispatchEvent(new Event('change'))")
        self.assertIn("1\u202f201 sur 1\u202f200 caractères", page.run("return document.querySelector('#counts').textContent"))
        self.state(page, "1 caractère de trop")
        self.check_quiet(page)

    def test_what_is_said_is_seen_on_a_phone_wherever_one_is(self):
        page = self.page("--max-characters=100", width=390, height=844)
        self.write(page, "x" * 101)
        self.state(page, "too long")
        page.run("document.body.style.minHeight = '3000px'; scrollTo(0, 1500)")
        self.assertTrue(page.run("""const at = document.querySelector('#state').getBoundingClientRect();
                                    return at.top > 0 && at.bottom <= innerHeight && at.left >= 0 && at.right <= innerWidth"""))
        self.assertEqual(page.run(CONTRASTS), [])

    def test_an_office_document_comes_back_as_one(self):
        page = self.page()
        before = office.docx()
        with tempfile.NamedTemporaryFile(suffix=".docx") as file:
            file.write(before)
            file.flush()
            page.run("""const make = URL.createObjectURL; window.made = "";
                        URL.createObjectURL = blob => {
                            blob.arrayBuffer().then(
                                bytes => window.made = btoa(String.fromCharCode(...new Uint8Array(bytes))));
                            return make(blob);
                        };""")
            page.type("#file", file.name)
            made = base64.b64decode(page.wait_for("return window.made", "the document"))
        self.assertTrue(page.run("return document.querySelector('#file-list a').download").endswith(".en.docx"))
        self.assertEqual(office.metadata(made), office.metadata(before))
        self.assertNotEqual(office.parts(made)["word/document.xml"], office.parts(before)["word/document.xml"])
        with tempfile.NamedTemporaryFile(suffix=".docx") as file:
            file.write(b"no archive at all, but long enough")
            file.flush()
            page.type("#file", file.name)
            page.wait_for("return document.querySelector('#file-list li').textContent.includes('no ZIP')", "why it is not")

    def test_documents_go_as_jobs_several_at_once(self):
        page = self.page(f"--jobs-dir={os.path.join(self.directory, 'jobs')}")
        paths = [os.path.join(self.directory, name) for name in ("a.docx", "b.epub")]
        for path, content in zip(paths, (office.docx(), office.epub())):
            with open(path, "wb") as file:
                file.write(content)
        page.type("#file", "\n".join(paths))
        page.wait_for("return document.querySelectorAll('#file-list a').length === 2", "the documents")
        self.assertEqual(page.run("return [...document.querySelectorAll('#file-list a')].map(link => link.download).sort()"),
                         ["a.en.docx", "b.en.epub"])
        self.assertIn("50 MiB", page.run("return document.querySelector('#file').parentElement.title"))
        wait_for(lambda: json.loads(self.servers[-1].request("GET", "/v1/documents")[2])["documents"] == [],
                 "the server to forget them")
        self.check_quiet(page)

    def test_files_that_are_no_text_are_refused_with_a_reason(self):
        page = self.page("--max-body=64KiB")
        for ending, content, reason in ((".json", "Où est la gare ?".encode("latin-1"), "not in UTF-8"),
                                        (".txt", b"\x7fELF\0\0", "not a text file"), (".txt", b"a" * 70000, "up to 60 KiB")):
            with tempfile.NamedTemporaryFile(suffix=ending) as file:
                file.write(content)
                file.flush()
                page.type("#file", file.name)
                page.wait_for(f"return document.querySelector('#file-list li').textContent.includes({json.dumps(reason)})", reason)
        self.check_quiet(page)

    def test_a_file_can_be_dropped_anywhere(self):
        page = self.page()
        page.run("""const held = new DataTransfer(); held.items.add(new File(['Bonjour.'], 'mot.txt'));
                    for (const type of ['dragover', 'drop'])
                        document.querySelector('h1').dispatchEvent(
                            new DragEvent(type, {dataTransfer: held, bubbles: true, cancelable: true}));""")
        page.wait_for("return document.querySelector('#file-list a')?.download === 'mot.en.txt'", "the file")
        self.assertFalse(page.run("return document.body.classList.contains('dropping')"))

    def test_a_link_pasted_into_an_open_tab_works(self):
        page = self.page(*BOTH_WAYS)
        self.translate(page, "Bonjour.", 1)
        page.run("location.hash = 'from=fr&to=en&text=Merci.'")
        page.wait_for("return document.querySelector('#source').value === 'Merci.'", "the link's text")
        self.assertEqual(page.run("return document.querySelector('#from').value"), "fr")
        page.wait_for("return document.querySelector('.sentence')", "its translation")
        page.run("location.hash = 'from=sw&to=en&text=Jambo.'")
        self.state(page, "does not have: Swahili")
        self.assertEqual(page.run("return document.querySelector('#from').value"), "auto")

    def test_a_reload_keeps_the_text_and_clear_can_be_undone(self):
        page = self.page()
        self.translate(page, "Bonjour.", 1)
        page.run("location.reload()")
        page.wait_for("return document.querySelector('.sentence')", "the text's translation, again")
        self.assertEqual(page.run("return document.querySelector('#source').value"), "Bonjour.")
        page.click("#clear")
        self.assertEqual(page.run("return document.querySelector('#source').value"), "")
        self.assertEqual(page.run("return document.querySelector('#clear').textContent"), "Undo")
        page.click("#clear")
        page.wait_for("return document.querySelector('.sentence')", "the translation, undone")
        self.assertEqual(page.run("return document.querySelector('#source').value"), "Bonjour.")
        self.check_quiet(page)

    def test_focus_returns_and_escape_closes(self):
        page = self.page(width=390, height=700)
        self.translate(page, TEXT, 2)
        page.run("const s = document.querySelectorAll('.sentence')[1]; s.focus(); s.click()")
        page.wait_for("return document.querySelectorAll('#heat td').length > 20", "the picture")
        self.assertEqual(page.run("return document.activeElement.id"), "detail-title")
        self.assertTrue(page.run("""const at = document.querySelector('#detail-title').getBoundingClientRect();
                                    return at.top >= 0 && at.bottom <= innerHeight"""))
        page.press("\ue00c")
        self.assertTrue(page.run("return document.querySelector('#detail').hidden"))
        self.assertTrue(page.run("return document.activeElement === document.querySelectorAll('.sentence')[1]"))
        page.click("#key-button")
        page.press("\ue00c")
        page.wait_for("return !document.querySelector('#key-dialog').open", "the dialog's end")
        self.assertEqual(page.run("return document.activeElement.id"), "key-button")
        self.check_quiet(page)

    def test_the_key_dialog_can_be_left(self):
        keys = os.path.join(self.directory, "keys")
        subprocess.run([os.path.abspath("./dragoman"), "keys", f"--file={keys}", "add", "reader"], capture_output=True, check=True)
        page = self.page(f"--keys-file={keys}", "--require-key", is_open=False)
        page.wait_for("return document.querySelector('#key-dialog').open", "the question for a key")
        page.type("#key", "wrong")
        page.click("#key-dialog button[value=save]")
        self.state(page, "does not know this key")
        page.wait_for("return document.querySelector('#key-dialog').open", "the question again")
        page.press("\ue00c")
        page.wait_for("return !document.querySelector('#key-dialog').open", "the dialog's end")
        self.write(page, "Bonjour.")
        self.assertFalse(page.run("return document.querySelector('#key-dialog').open"))

    def test_a_sentence_can_go_on_otherwise_from_a_word(self):
        page = self.page()
        self.translate(page, TEXT, 2)
        page.run("document.querySelectorAll('.sentence')[1].click()")
        page.wait_for("return document.querySelectorAll('#words button').length > 4", "the words")
        words = page.run("return [...document.querySelectorAll('#words button')].map(each => each.textContent)")
        page.wait_for("return document.querySelector('#alternatives button')", "other wordings")
        page.run("document.querySelectorAll('#words button')[3].click()")
        beginning = json.dumps(" ".join(words[:3]))
        page.wait_for(f"""const found = [...document.querySelectorAll('#alternatives button')];
                          return found.length && found.every(each => each.textContent.startsWith({beginning}))""", "what goes on so")
        self.assertRegex(page.run("return document.querySelector('#alternatives small').textContent"), r"^\d+ %$")
        self.assertEqual(page.run("return document.querySelector('#words [aria-pressed=true]').textContent"), words[3])
        self.check_quiet(page)

    def test_a_glossary_is_offered_where_it_fits_and_used(self):
        page = self.page("--glossaries=all", is_open=False)
        server = self.servers[-1]
        for name, source, target, terms in (("Railway", "fr", "en", [{"source": "gare", "target": "depot"}]),
                                            ("Retour", "en", "fr", [{"source": "station", "target": "halte"}])):
            body = json.dumps({"name": name, "source": source, "target": target, "terms": terms}).encode()
            self.assertEqual(server.request("POST", "/v1/glossaries", body)[0], 201)
        page.open(f"http://127.0.0.1:{server.port()}/")
        page.wait_for(LANGUAGES_LISTED, "the languages")
        self.assertTrue(page.run("return document.querySelector('#glossary').parentElement.hidden"))  # no source yet
        self.translate(page, "Où est la gare ?", 1)
        page.wait_for("return document.querySelector('#glossary').options.length === 2", "the glossary of this direction")
        self.assertIn("station", page.run("return document.querySelector('#target').textContent"))
        page.run("const g = document.querySelector('#glossary'); g.selectedIndex = 1; g.dispatchEvent(new Event('change'))")
        page.wait_for("return document.querySelector('#target').textContent.includes('depot')", "the term of the glossary")
        page.click("#code-button")
        self.assertIn('"glossary":', page.run("return document.querySelector('#code').textContent"))
        page.run("document.querySelector('#code-dialog').close()")
        # No model of this server offers a choice of formality, so the page does not ask for one.
        self.assertTrue(page.run("return document.querySelector('#formality').parentElement.hidden"))
        self.check_quiet(page)

    def test_formality_is_offered_where_a_model_has_it(self):
        page = self.page()
        shown = page.run("""return import(new URL('page/manner.js', document.baseURI)).then(({ Manner }) => {
            const field = () => { const label = document.createElement('label'); return label.appendChild(document.createElement('select')); };
            const fields = { glossary: field(), formality: field() };
            const manner = new Manner(fields, { say: name => name });
            const seen = [];
            manner.learn([], ['de']);
            manner.offer('fr', 'de');
            seen.push(fields.formality.parentElement.hidden, manner.options);
            fields.formality.value = 'prefer_formal';
            manner.offer('fr', 'de');
            seen.push(manner.options);
            manner.offer('fr', 'en');
            seen.push(fields.formality.parentElement.hidden, manner.options);
            return seen;
        })""")
        self.assertEqual(shown, [False, {}, {"formality": "prefer_formal"}, True, {}])

    def test_the_model_says_what_it_is_good_for(self):
        models = os.path.join(self.directory, "models")
        shutil.copytree(os.path.join(SOURCES, "models", "fr-en"), os.path.join(models, "fr-en"))
        shutil.copytree(os.path.join(SOURCES, "models", "en-fr"), os.path.join(models, "en-fr"))
        os.unlink(os.path.join(models, "en-fr", "card.md"))  # it claims nothing
        page = self.page(f"--models-dir={models}")
        self.assertTrue(page.run("return document.querySelector('#hint').hidden"))
        self.translate(page, "Bonjour.", 1)
        hint = "return document.querySelector('#hint').checkVisibility() && document.querySelector('#hint').textContent"
        self.assertEqual(page.run(hint), "The model is good for everyday sentences.")
        for language, said in (("fr", "phrases de tous les jours"), ("ko", "일상적인 문장"), ("en", "everyday sentences")):
            page.run("const s = document.querySelector('#page-language'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))",
                     language)
            self.assertIn(said, page.run(hint))
        page.click("#clear")
        page.wait_for("return document.querySelector('#hint').hidden", "no hint without a translation")
        page.run("const t = document.querySelector('#to'); t.value = 'fr'; t.dispatchEvent(new Event('change'))")
        self.translate(page, "Good morning.", 1)
        self.assertFalse(page.run(hint))
        self.check_quiet(page)

    def test_of_two_models_the_weaker_counts(self):
        page = self.page()
        said = page.run("""return import(new URL('page/hint.js', document.baseURI)).then(({ Hint }) => {
            const element = document.createElement('p');
            const hint = new Hint(element, { say: name => name });
            const shown = model => { hint.show(model); return element.hidden ? null : element.textContent; };
            hint.learn([{ name: 'fr-en', good_for: 'most' }, { name: 'en-de', good_for: 'gist' }, { name: 'en-it' }]);
            return [shown('fr-en'), shown('fr-en+en-de'), shown('fr-en+en-it'), shown(''), shown('other')];
        })""")
        self.assertEqual(said, ["good_most", "good_gist", None, None, None])

    def choose(self, page, selector, value):
        page.run("const s = document.querySelector(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))",
                 selector, value)

    def spoken(self, page):
        """What the page gives to a screen reader: lines of role, name and description."""
        nodes = page.devtools("Accessibility.getFullAXTree")["nodes"]
        text = lambda node, part: node.get(part, {}).get("value", "")  # noqa: E731
        return [" | ".join(filter(None, (text(node, "role"), text(node, "name"), text(node, "description"))))
                for node in nodes if not node.get("ignored")]

    def test_it_makes_sense_read_aloud(self):
        page = self.page()
        self.translate(page, TEXT, 2)
        page.run("document.querySelectorAll('.sentence')[1].click()")
        page.wait_for("return document.querySelectorAll('#heat td').length > 20", "the table")
        page.wait_for("return document.querySelector('#alternatives button')", "other wordings")
        page.run("document.querySelector('#detail details').open = true")
        spoken = self.spoken(page)
        sentence = page.run("return document.querySelectorAll('.sentence')[1].textContent")
        self.assertIn("group | Translation", spoken)
        self.assertIn(f"button | {sentence} | Opens other ways to say it.", spoken)
        other = page.run("return document.querySelector('#alternatives button').firstChild.data")
        self.assertRegex("\n".join(spoken), rf"button \| {re.escape(other)} \| \d+ % sure")
        self.assertIn("columnheader | end", spoken)
        regions = [line for line in spoken if line.startswith("region | ")]
        self.assertEqual(len(regions), len(set(regions)))
        unnamed = [line for line in spoken if line in ("button", "combobox", "textbox", "checkbox", "link", "region", "dialog", "image")]
        self.assertEqual(unnamed, [])
        # A list states how many items it has, so no list contains buttons that are not among its
        # items.
        page.run("document.querySelector('#key-button').click()")
        spoken = self.spoken(page)
        self.assertIn("dialog | Access key", spoken)
        self.assertNotIn("list", spoken)
        page.run("document.querySelector('#key-dialog').close('cancel')")

    def test_targets_that_are_not_installed_say_how_they_are_got(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        os.symlink(os.path.join(SOURCES, "models", "fr-en"), os.path.join(models, "fr-en"))
        page = self.page(f"--models-dir={models}")
        self.assertEqual(page.run("return document.querySelector('#to').value"), "en")
        group = "document.querySelector('#to optgroup')"
        self.assertEqual(page.run(f"return {group}.label"), "Not installed")
        self.assertIn("German", page.run(f"return [...{group}.querySelectorAll('option')].map(each => each.textContent)"))
        self.assertNotIn("en", page.run(f"return [...{group}.querySelectorAll('option')].map(each => each.value)"))
        self.choose(page, "#to", "de")
        self.state(page, "German yet. Not installed: dragoman get en-de")
        self.write(page, "Où est la gare ?")
        self.state(page, "Not installed: dragoman get fr-de")  # the language of the text decides which model is named
        self.assertEqual(page.run("return document.querySelector('#target').textContent"), "")
        self.choose(page, "#from", "fr")
        self.choose(page, "#to", "en")
        page.wait_for("return document.querySelector('.sentence')", "a translation")
        self.write(page, "")
        self.choose(page, "#from", "auto")
        self.write(page, "Wo ist der Bahnhof? Ich verstehe das nicht.")
        self.state(page, "Not installed: dragoman get de-en")
        self.check_quiet(page)

    def test_without_any_model_the_page_says_how_one_is_got(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        page = self.page(f"--models-dir={models}", FLAGS[1], usual=(), is_open=False)
        self.state(page, "This server has no model yet. Not installed: dragoman get de-en")
        self.write(page, "Où est la gare ?")
        self.state(page, "Not installed: dragoman get fr-")
        os.symlink(os.path.join(SOURCES, "models", "fr-en"), os.path.join(models, "fr-en"))
        self.servers[-1].signal(signal.SIGHUP)
        wait_for(lambda: '"fr"' in self.servers[-1].request("GET", "/v1/languages")[2].decode(), "the first pair")
        page.run("dispatchEvent(new Event('focus'))")
        page.wait_for("return document.querySelector('.sentence')", "a translation")
        self.check_quiet(page)

    def test_pairs_come_and_go_while_the_page_is_open(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        for name in "fr-en", "en-fr":
            os.symlink(os.path.join(SOURCES, "models", name), os.path.join(models, name))
        page = self.page(f"--models-dir={models}")
        self.choose(page, "#to", "it")
        self.write(page, "Good morning.")
        self.state(page, "Not installed: dragoman get en-it")
        os.rename(os.path.join(models, "en-fr"), os.path.join(models, "en-it"))
        self.servers[-1].signal(signal.SIGHUP)
        wait_for(lambda: '"it"' in self.servers[-1].request("GET", "/v1/languages")[2].decode(), "the new pair")
        page.run("dispatchEvent(new Event('focus'))")  # as when the reader comes back; else it looks again by itself
        page.wait_for("return document.querySelector('.sentence')", "the translation that was waited for")
        self.assertEqual(page.run("return document.querySelector('#to').value"), "it")
        self.assertEqual(page.run("return document.querySelector('#to option:checked').parentElement.id"), "to")
        self.assertIn("fr", page.run("return [...document.querySelectorAll('#to optgroup option')].map(each => each.value)"))
        self.check_quiet(page)

    def test_a_single_word_is_looked_up(self):
        page = self.page()
        page.type("#source", "gare")
        page.wait_for("return document.querySelectorAll('#alternatives button').length > 1", "other words for it")
        self.assertEqual(page.run("return document.activeElement.id"), "source")  # typing is not interrupted
        self.check_quiet(page)

    def test_the_request_as_a_program_sends_it(self):
        page = self.page()
        text = "C'est \"ça\"."
        self.translate(page, text, 1)
        page.click("#code-button")
        told = {}
        for way in ("curl", "Python", "JavaScript"):
            page.run("const s = document.querySelector('#code-way'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", way)
            told[way] = page.run("return document.querySelector('#code').textContent")
        wanted = page.run("return document.querySelector('#target').textContent")
        curl = subprocess.run(["sh", "-c", told["curl"]], capture_output=True, check=True)
        self.assertEqual(json.loads(curl.stdout)["translations"][0]["text"], wanted)
        python = subprocess.run([sys.executable, "-c", told["Python"]], capture_output=True, text=True, check=True)
        self.assertEqual(python.stdout.strip(), wanted)
        said = page.run("return (async () => { const said = []; const console = {log: text => said.push(text)};\n"
                        + told["JavaScript"] + "\nreturn said[0]; })()")
        self.assertEqual(said, wanted)
        self.check_quiet(page)

    def test_only_voices_of_this_machine_read_aloud(self):
        page = self.page()
        page.run("""window.spoken = [];
            window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
            Object.defineProperty(window, 'speechSynthesis', {value: {speaking: false, cancel() {}, voices: [{lang: 'en-US', localService: false}],
                getVoices() { return this.voices; }, speak(said) { window.spoken.push([said.text, said.voice.lang]); }}});""")
        self.translate(page, "Bonjour.", 1)
        self.assertTrue(page.run("return document.querySelector('#listen').hidden"))
        page.run("speechSynthesis.voices.push({lang: 'en-GB', localService: true})")
        self.translate(page, " Merci.", 2)
        page.wait_for("return !document.querySelector('#listen').hidden", "the button")
        page.click("#listen")
        self.assertEqual(page.run("return window.spoken"), [[page.run("return document.querySelector('#target').textContent"), "en-GB"]])

    def test_long_texts_scroll_in_their_boxes(self):
        for width, height in ((390, 844), (1440, 900)):
            with self.subTest(width=width):
                page = self.page(width=width, height=height)
                self.write(page, "Je ne sais pas. " * 500)
                page.wait_for("return document.querySelectorAll('.sentence').length === 500", "all sentences")
                for place in ("#source", "#target"):
                    self.assertTrue(page.run("const e = document.querySelector(arguments[0]); return e.scrollHeight > e.clientHeight", place))
                self.assertTrue(page.run("""return ['#from', '#to', '#copy', '#clear'].every(selector => {
                    const at = document.querySelector(selector).getBoundingClientRect();
                    return at.top >= 0 && at.bottom <= innerHeight; })"""))
                self.check_quiet(page)

    def test_it_says_that_it_needs_scripts(self):
        body = self.start(*FLAGS).request("GET", "/")[2]
        self.assertIn(b"<noscript>", body)

    def test_a_key_is_asked_for_where_one_is_needed(self):
        keys = os.path.join(self.directory, "keys")
        added = subprocess.run([os.path.abspath("./dragoman"), "keys", f"--file={keys}", "add", "reader"], capture_output=True,
                               text=True, check=True)
        key = added.stdout.split()[-1]
        page = self.page(f"--keys-file={keys}", "--require-key", is_open=False)
        page.wait_for("return document.querySelector('#key-dialog').open", "the question for a key")
        page.type("#key", key)
        page.click("#key-dialog button[value=save]")
        page.wait_for(LANGUAGES_LISTED, "the languages")
        # The test does not type here: the window that the driver types into changes while the
        # dialog closes.
        page.run("const s = document.querySelector('#source'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", TEXT)
        page.wait_for("return document.querySelectorAll('.sentence').length === 2", "the translation")
        self.assertFalse(page.run("return document.querySelector('#key-dialog').open"))

    def test_a_long_paste_stays_responsive(self):
        page = self.page()
        text = " ".join(f"Phrase {i} : je ne sais pas." for i in range(300))
        page.run("""
            window.slowest = 0; let last = performance.now();
            const watch = now => { window.slowest = Math.max(window.slowest, now - last); last = now; requestAnimationFrame(watch); };
            requestAnimationFrame(watch);
            const source = document.querySelector('#source');
            source.value = arguments[0]; source.dispatchEvent(new Event('input')); return 0;""", text)
        page.wait_for("return document.querySelectorAll('.sentence').length >= 300", "all sentences")
        slowest = page.run("return window.slowest")
        print(f"longest pause of the page while 300 sentences came: {slowest:.0f} ms")
        self.check_quiet(page)

    def test_it_is_readable_and_fits(self):
        for width, height, dark in ((390, 844, True), (1440, 900, False)):
            with self.subTest(width=width, dark=dark):
                page = self.page(width=width, height=height, dark=dark)
                self.translate(page, TEXT, 2)
                page.run("document.querySelectorAll('.sentence')[1].click()")
                page.wait_for("return document.querySelectorAll('#heat td').length > 20", "the picture")
                self.assertEqual(page.run("return matchMedia('(prefers-color-scheme: dark)').matches"), dark)
                self.assertEqual(page.run(CONTRASTS), [])
                self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width)
                unnamed = page.run("""return [...document.querySelectorAll('button, select, textarea, input')]
                    .filter(e => e.checkVisibility() && !e.textContent.trim() && !e.labels?.length
                            && !e.ariaLabel && !e.getAttribute('aria-labelledby')).map(e => e.outerHTML)""")
                self.assertEqual(unnamed, [])
                self.check_quiet(page)


if __name__ == "__main__":
    main()
