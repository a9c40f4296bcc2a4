# SPDX-License-Identifier: ISC
# Tiers: gcc
"""The operator's view: who may see it, what the event stream reports, and, where a browser is
installed, the page."""
import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, free_ports, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
import browser  # noqa: E402

MODELS = f"--models-dir={MODELS_DIR}"
LIVE = "/v1/admin/live"
TEXT = json.dumps({"text": "Je vois deux chiens. Où est la gare ?", "target": "en"})


class Events:
    """The server-sent events of one connection, one after the other."""

    def __init__(self, server, headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port(), timeout=PATIENCE_S)
        self.connection.request("GET", LIVE, headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def next(self):
        """Returns (name, data); None at the end."""
        name = data = None
        while True:
            line = self.response.readline().decode()
            if not line:
                return None
            line = line.rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif name:
                return name, data

    def wait_for(self, condition):
        while True:
            event = self.next()
            if event is None or condition(*event):
                return event

    def close(self):
        self.connection.close()


class Gate(IntegrationTest):
    def status(self, server, headers=None, path=LIVE, method="HEAD"):
        return server.request(method, path, headers=headers)[0]

    def test_this_machine_may_look_but_only_look(self):
        server = self.start(MODELS)
        port = server.port()
        self.assertEqual(self.status(server), 200)
        self.assertEqual(self.status(server, path="/v1/admin/status"), 200)
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            self.assertEqual(self.status(server, {"Host": host}), 200, host)
        self.assertEqual(self.status(server, path="/v1/admin/reload", method="POST"), 403)
        self.assertEqual(self.status(server, path="/v1/admin/drain", method="POST"), 403)
        self.assertEqual(self.status(server, path="/v1/admin/models/x", method="DELETE"), 403)

    def test_who_comes_by_way_of_this_machine_may_not(self):
        for flags in ((), ("--trusted-proxies=127.0.0.1",)):
            server = self.start(MODELS, *flags)
            for headers in ({"X-Forwarded-For": "192.0.2.7"}, {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-For": ""},
                            {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 proxy"}, {"X-Real-IP": "127.0.0.1"},
                            {"X-Forwarded-Proto": "https"}, {"Host": "translate.example.org"},
                            {"Host": "localhost.example.org"}, {"Host": "127.0.0.1.example.org"},
                            {"Origin": "https://example.org"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                            {"Sec-Fetch-Site": "same-site"}):
                self.assertEqual(self.status(server, headers), 403, headers)
        connection = server.connect()  # nginx's defaults
        connection.sendall(b"GET /v1/admin/live HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
        self.assertIn(b" 403 ", connection.recv(4096))
        connection.close()

    def test_nobody_without_a_key_where_the_operator_says_so(self):
        keys = os.path.join(self.directory, "keys")
        tool = [os.path.abspath("./dragoman"), "keys", f"--file={keys}", "add"]
        admin, user = (subprocess.run([*tool, *more], capture_output=True, text=True, check=True).stdout.split()[-1]
                       for more in (("boss", "--role=admin"), ("reader",)))
        bearer = lambda key: {"Authorization": f"Bearer {key}"}
        server = self.start(MODELS, f"--keys-file={keys}", "--ops-loopback=no")
        self.assertEqual(self.status(server), 403)
        self.assertEqual(self.status(server, bearer("wrong")), 401)
        self.assertEqual(self.status(server, bearer(user)), 403)
        self.assertEqual(self.status(server, bearer(admin)), 200)
        self.assertEqual(self.status(server, {**bearer(admin), "X-Forwarded-For": "192.0.2.7"}), 200)
        server.stop()  # the file belongs to one server
        server = self.start(MODELS, f"--keys-file={keys}", "--require-key")
        self.assertEqual(self.status(server), 200)
        self.assertEqual(self.status(server, bearer("wrong")), 401)
        self.assertEqual(self.status(server, bearer(user)), 403)
        self.assertEqual(self.status(server, {"X-Forwarded-For": "127.0.0.1"}), 403)
        self.assertEqual(self.status(server, {**bearer(admin), "Host": "translate.example.org"}), 200)


class Stream(IntegrationTest):
    def test_it_tells_what_happens(self):
        server = self.start(MODELS)
        events = Events(server)
        self.assertEqual(events.status, 200)
        self.assertEqual(events.response.headers["Content-Type"], "text/event-stream")
        self.assertEqual(events.response.headers["Cache-Control"], "no-store")
        name, history = events.next()
        self.assertEqual(name, "history")
        columns = history["columns"]
        self.assertTrue(all(len(row) == len(columns) for row in history["rows"]))
        self.assertLess(abs(history["started"] - history["time"]), 600)
        self.assertEqual(server.request("POST", "/v1/translate", TEXT)[0], 200)
        self.assertEqual(server.request("POST", "/v1/translate", TEXT)[0], 200)
        written = columns.index("tokens_out")
        name, now = events.wait_for(lambda _, data: data["row"][written] > 0)
        self.assertEqual(name, "now")
        self.assertEqual(len(now["row"]), len(columns))
        self.assertEqual([model["name"] for model in now["models"]], ["fr-en"])
        self.assertEqual(now["models"][0]["state"], "ready")
        self.assertGreater(now["models"][0]["bytes"], 1000)
        self.assertGreaterEqual(now["row"][columns.index("slots")], 1)
        self.assertEqual(now["refusals"]["queue_full"], 0)
        later = Events(server)  # gets earlier events, too
        name, history = later.next()
        self.assertGreater(max(row[written] for row in history["rows"]), 0)
        self.assertIsNotNone(max(row[columns.index("first_token_p95_ms")] or 0 for row in history["rows"]))
        events.close()
        later.close()

    def test_complaints_are_shown_without_anybodys_text(self):
        keys = os.path.join(self.directory, "keys")
        with open(keys, "w", encoding="utf-8") as file:
            file.write("")
        os.chmod(keys, 0o600)
        server = self.start(MODELS, f"--keys-file={keys}")
        with open(keys, "w", encoding="utf-8") as file:
            file.write("this is not a file of keys\n")
        events = Events(server)
        server.signal(1)
        said = []
        events.wait_for(lambda _, data: said.extend(data["log"]) or said)
        self.assertTrue(all(each["level"] in ("warning", "error") for each in said))
        self.assertTrue(said[0]["text"])
        server.request("POST", "/v1/translate", json.dumps({"text": "secret words", "target": "xx"}))
        again = Events(server)
        _, history = again.next()
        self.assertEqual(history["log"][0], said[0])
        self.assertNotIn("secret words", json.dumps(history))
        events.close()
        again.close()

    def test_there_is_room_for_some_and_it_is_given_back(self):
        server = self.start(MODELS)
        viewers = [Events(server) for _ in range(16)]
        self.assertEqual({viewer.status for viewer in viewers}, {200})
        over = Events(server)
        self.assertEqual(over.status, 503)
        self.assertTrue(over.response.headers["Retry-After"])
        over.close()
        for viewer in viewers:
            viewer.close()
        wait_for(lambda: server.request("HEAD", LIVE)[0] == 200, "room for another viewer")

    def test_a_server_that_stops_says_so_and_does_not_wait_for_viewers(self):
        server = self.start(MODELS)
        events = Events(server)
        events.wait_for(lambda name, _: name == "now")
        server.signal(15)
        self.assertIsNotNone(events.wait_for(lambda name, _: name == "over"))
        self.assertEqual(server.wait(), 0)
        events.close()


@unittest.skipUnless(browser.is_installed(), "needs chromium and chromium-driver")
class Page(IntegrationTest):
    CONTRASTS = re.search(r'CONTRASTS = """(.*?)"""', open(os.path.join(SOURCES, "tests", "integration", "60_page.py"),
                                                            encoding="utf-8").read(), re.S).group(1).replace("\\\\", "\\")

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def page(self, server, **reader):
        self.browser.be(**reader)
        self.browser.complaints()  # those of earlier tests
        self.browser.open(f"http://127.0.0.1:{server.port()}/ops")
        self.addCleanup(self.browser.open, "about:blank")
        return self.browser

    def test_it_draws_fits_and_can_be_read(self):
        server = self.start(MODELS)
        status, headers, _ = server.request("GET", "/ops")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        page = self.page(server)
        server.request("POST", "/v1/translate", TEXT)
        for width, height, dark in ((390, 844, True), (390, 844, False), (1440, 900, True), (1440, 900, False)):
            with self.subTest(width=width, dark=dark):
                page.be(width=width, height=height, dark=dark)
                server.request("POST", "/v1/translate", json.dumps({"text": f"Le chat {width} {dark}.", "target": "en"}))
                page.wait_for("return document.querySelector('#state').textContent === 'Live.'", "the first numbers")
                page.wait_for("return document.querySelector('#models th')?.textContent === 'fr-en French → English'", "the model")
                page.wait_for("return document.querySelector('.line').getAttribute('d').split('L').length > 2", "a line")
                self.assertEqual(page.run(self.CONTRASTS), [])
                self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width)
                unnamed = page.run("""return [...document.querySelectorAll('section, article, table, button, select, input')]
                    .filter(e => e.checkVisibility() && !e.ariaLabel && !e.getAttribute('aria-labelledby')
                            && !(!['SECTION', 'ARTICLE', 'TABLE'].includes(e.tagName) && (e.textContent.trim() || e.labels?.length))).map(e => e.outerHTML)""")
                self.assertEqual(unnamed, [])
                self.assertEqual(page.complaints(), [])
                if os.environ.get("DRAGOMAN_PICTURES"):  # for a person to look at
                    name = f"ops-{width}-{'dark' if dark else 'light'}.png"
                    with open(os.path.join(os.environ["DRAGOMAN_PICTURES"], name), "wb") as file:
                        file.write(base64.b64decode(page.picture()))

    def test_keys_reach_everything_in_order(self):
        server = self.start(MODELS)
        page = self.page(server)
        page.wait_for("return document.querySelector('#models th')", "the models")
        seen = []
        for _ in range(6):
            page.press("\ue004")
            seen.append(page.run("const a = document.activeElement; return a.id || a.className || a.textContent"))
        self.assertEqual(seen, ["skip", "Translate", "API", "page-language", "pause", "key-button"])
        page.click("#pause")
        self.assertEqual(page.run("return ['pause', 'state'].map(id => document.getElementById(id).textContent)"), ["Go on", "Paused."])
        page.click("#pause")
        page.wait_for("return document.querySelector('#pause').textContent === 'Pause'", "its name of before")

    def test_every_figure_says_what_it_is(self):
        server = self.start(MODELS)
        page = self.page(server)
        server.request("POST", "/v1/translate", TEXT)
        card = "document.querySelector('[aria-labelledby=chart-{}]')"
        said = "return [...{}.querySelectorAll('.figure, .note')].map(each => each.textContent.trim())"
        page.wait_for("return /^Highest/.test(" + card.format("wait_p50_ms") + ".querySelector('.note').textContent)", "a time")
        page.wait_for("return " + card.format("running") + ".querySelector('.figure')", "the slots")
        for column, pattern in (("waiting", r"^\d+ waiting\n"), ("running", r"^\d+ in use\n\d+ available\n"),
                                ("wait_p50_ms", r"\nHighest in \d minutes?: .* \(95 % are faster\)$|^Nothing right now\nHighest"),
                                ("tokens_out", r"^\d+ written\n\d+ read\nHighest in \d minutes?: \d+ \(written\), \d+ \(read\)$")):
            self.assertRegex("\n".join(page.run(said.format(card.format(column)))), pattern)
        # A constant number has no peak: the highest number of slots is the number in use.
        self.assertNotIn("available", page.run("return " + card.format("running") + ".querySelector('.note').textContent"))

    def test_it_speaks_the_languages_of_the_page(self):
        server = self.start(MODELS)
        page = self.page(server, width=390, height=844, language="fr")
        page.wait_for("return document.querySelector('#state').textContent === 'En direct.'", "French")
        page.wait_for("return document.querySelector('#models td')?.textContent === 'prêt'", "the model's state, in French")
        self.assertEqual(page.run("return document.querySelector('#models td').dataset.title"), "État")
        page.wait_for("return /^(Maximum|Rien)/.test(document.querySelector('.note').textContent)", "a sentence below a picture")
        page.run("const s = document.querySelector('#page-language'); s.value = 'ko'; s.dispatchEvent(new Event('change'))")
        self.assertEqual(page.run("return [document.documentElement.lang, document.title]"), ["ko", "dragoman: 운영"])
        page.wait_for("return document.querySelector('#models td').textContent === '준비됨'", "the model's state, in Korean")
        self.assertEqual(page.run("return document.querySelector('#models th .pair').textContent"), "프랑스어 → 영어")
        cut = page.run("""return [...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && !e.closest('svg, thead')
                          && e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.outerHTML.slice(0, 80))""")
        self.assertEqual(cut, [])
        page.run("const s = document.querySelector('#page-language'); s.value = 'en'; s.dispatchEvent(new Event('change'))")
        page.wait_for("return /^(Highest|Nothing) .* minute/.test(document.querySelector('.note').textContent)", "a sentence in English")
        self.assertEqual(page.complaints(), [])

    def test_models_come_and_go_while_it_is_open(self):
        models = os.path.join(self.directory, "models")
        os.mkdir(models)
        os.symlink(os.path.join(SOURCES, "models", "fr-en"), os.path.join(models, "fr-en"))
        server = self.start(f"--models-dir={models}")
        page = self.page(server)
        names = "[...document.querySelectorAll('#models th')].map(each => each.firstChild.data).sort().join()"
        page.wait_for(f"return {names} === 'fr-en'", "the model")
        os.symlink(os.path.join(SOURCES, "models", "en-fr"), os.path.join(models, "en-fr"))
        server.signal(signal.SIGHUP)
        page.wait_for(f"return {names} === 'en-fr,fr-en'", "the other model")
        os.unlink(os.path.join(models, "fr-en"))
        server.signal(signal.SIGHUP)
        page.wait_for(f"return {names} === 'en-fr'", "the end of the first")
        self.assertEqual(page.complaints(), [])

    def test_the_languages_say_the_same_things(self):
        with open(os.path.join(SOURCES, "clients", "web", "ops_words.js"), encoding="utf-8") as file:
            columns = re.findall(r"^    (\w\w): \{\n(.*?)^    \},", file.read(), re.S | re.M)
        names = {language: set(re.findall(r'(\w+): "', words)) for language, words in columns}
        self.assertEqual(set(names), {"en", "fr", "ko"})
        self.assertGreater(len(names["en"]), 60)
        self.assertEqual(names["en"], names["fr"])
        self.assertEqual(names["en"], names["ko"])

    def test_it_says_when_the_server_is_gone_and_comes_back_by_itself(self):
        port, = free_ports(1)
        server = self.start(MODELS, listen=(f"127.0.0.1:{port}",))
        page = self.page(server)
        page.wait_for("return document.querySelector('#models th')", "the first numbers")
        server.stop()
        page.wait_for("return /does not answer/.test(document.querySelector('#state').textContent)", "the bad news")
        self.start(MODELS, listen=(f"127.0.0.1:{port}",))
        page.wait_for("return /started anew/.test(document.querySelector('#state').textContent)", "the new server")
        page.wait_for("return document.querySelector('.restart').getAttribute('d')", "the mark of the restart")
        self.assertTrue(page.run("return !document.body.classList.contains('gone')"))

    def test_it_asks_for_a_key_where_one_is_needed(self):
        keys = os.path.join(self.directory, "keys")
        added = subprocess.run([os.path.abspath("./dragoman"), "keys", f"--file={keys}", "add", "boss", "--role=admin"],
                               capture_output=True, text=True, check=True)
        page = self.page(self.start(MODELS, f"--keys-file={keys}", "--ops-loopback=no"))
        page.wait_for("return document.querySelector('#key-dialog').open", "the question for a key")
        self.assertEqual(page.run("return document.querySelectorAll('#models th').length"), 0)
        page.type("#key", added.stdout.split()[-1])
        page.click("#key-dialog button[value=save]")
        page.wait_for("return document.querySelector('#models th')", "the numbers")


if __name__ == "__main__":
    main()
