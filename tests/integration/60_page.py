# SPDX-License-Identifier: ISC
"""The page at "/": how it is served, and, where a browser is installed, what a reader can do with it."""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

from harness import MODELS_DIR, SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import browser  # noqa: E402

FLAGS = (f"--models-dir={MODELS_DIR}",
         f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
TEXT = "Où est la gare ? Je ne comprends pas pourquoi il est parti."
LANGUAGES_LISTED = "return document.querySelector('#to').options.length > 0"
# WCAG 2: the contrast of each element that has text of its own with the nearest background below it.
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


the_browser = None  # one for all tests: starting it takes longer than they do


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
        total = len(gzip.compress(body))
        for name in ("style.css", "icon.svg", "main.js", "words.js", "offsets.js", "target.js", "detail.js", "files.js",
                     "history.js", "dragoman.js"):
            status, headers, part = server.request("GET", f"/page/{name}")
            self.assertEqual(status, 200, name)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            total += len(gzip.compress(part))
            status, _, body = server.request("GET", f"/page/{name}", headers={"If-None-Match": headers["ETag"]})
            self.assertEqual((status, body), (304, b""))
        self.assertLess(total, 60 * 1024)
        self.assertEqual(server.request("GET", "/page/nothing.js")[0], 404)
        self.assertEqual(server.request("GET", "/page/")[0], 404)
        self.assertEqual(server.request("POST", "/", body=b"")[0], 405)

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
    def page(self, *flags, is_open=True, **reader):
        """The page of a server of its own (and so with a storage of its own), seen by such a reader."""
        global the_browser
        server = self.start(*FLAGS, *flags)
        if not the_browser:
            the_browser = browser.Browser().__enter__()
        the_browser.be(**reader)
        the_browser.complaints()  # those of earlier tests
        the_browser.open(f"http://127.0.0.1:{server.port()}/")
        if is_open:
            the_browser.wait_for(LANGUAGES_LISTED, "the languages")
        self.addCleanup(the_browser.open, "about:blank")
        return the_browser

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
        cells = "Array.from(document.querySelectorAll('#heat tbody td'), cell => cell.title).join()"
        mean = page.run(f"return {cells}")
        page.run("const l = document.querySelector('#head'); l.value = '2'; l.dispatchEvent(new Event('change'))")
        page.wait_for(f"return {cells} !== {json.dumps(mean)}", "another head")
        other = page.run("const b = document.querySelector('#alternatives button'); b.click(); return b.textContent")
        self.assertIn(other, page.run("return document.querySelector('#target').textContent"))
        self.check_quiet(page)

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
        # Not by keys: the window that the driver types into changes while the dialog closes.
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
