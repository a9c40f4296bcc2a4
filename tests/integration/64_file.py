# SPDX-License-Identifier: ISC
"""dragoman file: every kind of document through the tool, with a model, with a daemon, and with none (--dry-run). What
translators' programs (msgfmt, xmllint) and a reader of subtitles of this test's own say of what comes out."""
import glob
import json
import os
import random
import re
import shutil
import subprocess

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

TOOL = os.path.abspath(os.environ.get("DRAGOMAN_TOOL", "./dragoman"))
MODEL = os.path.join(SOURCES, "models", "fr-en")
PO_HEADER = '''msgid ""
msgstr ""
"Project-Id-Version: test 1\\n"
"PO-Revision-Date: 2026-11-21 12:00+0000\\n"
"Last-Translator: Nobody <nobody@example.org>\\n"
"Language-Team: none\\n"
"Language: %s\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: %s\\n"
'''
FORMS = {"en": "nplurals=2; plural=(n != 1);", "ja": "nplurals=1; plural=0;",
         "pl": "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}
PO = PO_HEADER % ("", FORMS["en"]) + r'''
# A translator's note.
#: main.c:12
#, c-format
msgid "Le fichier %s n'existe pas.\n"
msgstr ""

#: main.c:20
msgctxt "menu"
msgid "Ouvrir \"le fichier\"\\."
msgstr ""

#, c-format
#| msgid "%d cat"
msgid "%d chat"
msgid_plural "%d chats"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Première ligne.\n"
"\tDeuxième ligne.\n"
msgstr ""

msgid "Bonjour"
msgstr "Hello"

#~ msgid "vieux"
#~ msgstr "old"
'''
SRT = ("1\r\n00:00:01,000 --> 00:00:02,500\r\nBonjour.\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000 X1:40 X2:600\r\n"
       "{\\an8}<i>Où est la gare ?</i>\r\n- Je ne sais pas.\r\n")
VTT = """WEBVTT - un titre

STYLE
::cue { color: lime }

NOTE Une note, qui reste.

scène
00:00:01.000 --> 00:00:02.500 align:start line:0
<v Anne>Le chat &amp; le chien dorment.

00:00:03.000 --> 00:00:04.000
<c.loud>Où est</c> <00:00:03.500>la gare ?
"""
XLIFF_1 = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file original="a" source-language="fr" datatype="plaintext"><body>
  <trans-unit id="1">
   <source>Le <g id="1">chat noir</g> dort<x id="2"/> &amp; mange.</source>
   <note>une note</note>
  </trans-unit>
  <trans-unit id="2" translate="no"><source>Rien.</source></trans-unit>
  <trans-unit id="3"><source>Le chat dort.</source><target state="new"/></trans-unit>
  <trans-unit id="4"><source>Oui.</source><target>Yes.</target>
   <alt-trans><source>Non.</source><target>No.</target></alt-trans></trans-unit>
 </body></file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="fr"><file id="f"><unit id="u">
 <segment id="s"><source>Le <pc id="1">chat noir</pc> dort<ph id="2"/>.</source></segment>
 <segment id="t" state="final"><source>Oui.</source><target>Yes.</target></segment>
</unit></file></xliff>
"""
JSON = '{ "menu": {"open": "Ouvrir \\"{name}\\".", "n": 3, "all": ["Bonjour.\\nMerci.", "\\u00e9t\\u00e9"]},\n' \
       '  "@menu": {"description": "Une note."}, "p": "{n, plural, one {un} other {#}}" }\n'
HTML = "<!DOCTYPE html>\n<title>Le chat</title><p class='a'>Le <b>chat</b> dort.<!-- note --><pre>x = 1</pre>\n"
MD = "# Le chat\n\n* Le **chat** dort.\n\n```\ncode\n```\n"


def po_entries(text):
    """[(context, id, plural, {form: str}, flags)] of a PO file, its strings with their escapes."""
    entries, now, field, flags = [], {}, None, set()
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if line.startswith("#,"):
            flags |= {flag.strip() for flag in line[2:].split(",")}
        word = re.match(r'(msg\w+(?:\[\d+\])?) "(.*)"$', line)
        if word:
            field = word.group(1)
            if field in ("msgctxt", "msgid") and any(name.startswith("msgstr") for name in now):
                entries.append(now)
                now = {}
            now[field] = word.group(2)
            if field == "msgid":
                now["flags"], flags = flags, set()
        elif line.startswith('"') and field:
            now[field] += line[1:-1]
    return entries + ([now] if now else [])


def cues(text):
    """[(times, lines)] of a subtitle file."""
    found = []
    for block in re.split(r"\r?\n\r?\n", text.strip()):
        lines = block.splitlines()
        times = [i for i, line in enumerate(lines) if " --> " in line]
        if times:
            found.append((lines[times[0]], lines[times[0] + 1:]))
    return found


class File(IntegrationTest):
    def path(self, name, text=None):
        path = os.path.join(self.directory, name)
        if text is not None:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return path

    def read(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()

    def tool(self, *arguments, code=0, stdin=None):
        done = subprocess.run([TOOL, "file", *arguments], capture_output=True, input=stdin, encoding="utf-8", timeout=120,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def translated(self, name, text, *flags):
        before, after = self.path(name, text), self.path("out." + name)
        self.tool(f"--model={MODEL}", "--threads=1", *flags, before, after)
        return self.read(after)

    def dry(self, name, text, *flags):
        before, after = self.path(name, text), self.path("dry." + name)
        self.tool("--dry-run", *flags, before, after)
        return self.read(after)

    def msgfmt(self, path):
        if not shutil.which("msgfmt"):
            print("msgfmt is not installed: its check is left out")
            return ""
        done = subprocess.run(["msgfmt", "-c", "-o", os.devnull, path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{done.stderr}\n{self.read(path)}")
        return done.stderr

    def xmllint(self, path):
        if not shutil.which("xmllint"):
            print("xmllint is not installed: its check is left out")
            return
        done = subprocess.run(["xmllint", "--noout", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- Kind by kind ------------------------------------------------------------------------------------------

    def installed(self, text, *flags, code=0):
        """Without --model, and nothing but the models of the build tree installed."""
        before, after = self.path("film.srt", text), os.path.join(self.directory, "film.out.srt")
        done = subprocess.run([TOOL, "file", "--threads=1", *flags, before, after], capture_output=True, encoding="utf-8",
                              env={**os.environ, "XDG_DATA_HOME": self.directory}, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(os.path.exists(after), code == 0)
        return self.read(after) if code == 0 else "", done.stderr

    def test_the_installed_models_serve_where_none_is_named(self):
        cue = "1\n00:00:01,000 --> 00:00:02,500\n%s\n"
        self.assertEqual(self.installed(cue % "Où est la gare ?", "--to=en")[0], cue % "Where's the station?")
        self.assertIn("gare", self.installed(cue % "Where is the station?", "--from=en", "--to=fr")[0])
        # What no installed model reads stays as it is, and that is said.
        german = cue % "Wo ist denn hier der Bahnhof, bitte?"
        text, said = self.installed(german, "--to=en")
        self.assertEqual(text, german)
        self.assertIn("the text stays as it is: it is in de, and no installed model leads from there to en", said)
        os.unlink(os.path.join(self.directory, "film.out.srt"))
        for flags, code in ((), 2), (("--to=de",), 1), (("--from=fr", "--to=ko"), 1):
            said = self.installed(cue % "Merci.", *flags, code=code)[1]
            self.assertIn("installed: ", said)
            self.assertIn("fr-en (fr to en)", said)

    def test_without_a_model_what_holds_no_second_text_comes_back_byte_for_byte(self):
        for name, text in (("a.srt", SRT), ("a.vtt", VTT), ("a.json", JSON), ("a.html", HTML), ("a.md", MD),
                           ("a.txt", "Un.\r\nDeux."), ("empty.srt", ""), ("bom.vtt", "\ufeff" + VTT)):
            self.assertEqual(self.dry(name, text), text, name)
        self.assertEqual(self.tool("--dry-run", "-", "-", stdin=VTT).stdout, VTT)
        self.assertIn("kind=webvtt", self.tool("--dry-run", "-", "-", stdin=VTT).stderr)
        self.assertIn("kind=po", self.tool("--dry-run", "-", "-", stdin=PO).stderr)
        self.assertIn("kind=xliff", self.tool("--dry-run", "-", "-", stdin=XLIFF_1).stderr)
        self.assertIn("kind=json", self.tool("--dry-run", "-", "-", stdin=JSON).stderr)
        self.assertIn("kind=markdown", self.tool("--dry-run", "--kind=markdown", "-", "-", stdin=MD).stderr)

    def test_po(self):
        text = self.translated("a.po", PO)
        self.msgfmt(self.path("out.a.po"))
        was, now = po_entries(PO), po_entries(text)
        self.assertEqual([(e.get("msgctxt"), e["msgid"]) for e in was], [(e.get("msgctxt"), e["msgid"]) for e in now])
        self.assertIn("Language: en\\n", now[0]["msgstr"])
        for entry in now[1:5]:
            self.assertIn("fuzzy", entry["flags"])
            self.assertTrue(all(entry[name] for name in entry if name.startswith("msgstr")), entry)
        self.assertIn("%s", now[1]["msgstr"])
        self.assertTrue(now[1]["msgstr"].endswith("\\n"))
        self.assertEqual(now[1]["flags"], {"fuzzy", "c-format"})
        self.assertEqual(sorted(name for name in now[3] if name.startswith("msgstr")), ["msgstr[0]", "msgstr[1]"])
        self.assertEqual(now[4]["msgstr"].count("\\n"), 2)
        self.assertEqual((now[5]["msgstr"], now[5]["flags"]), ("Hello", set()))
        self.assertTrue(text.endswith('\n#~ msgid "vieux"\n#~ msgstr "old"\n'))
        again = self.translated("again.po", text)
        self.assertEqual(again, text)  # nothing is left to do
        unmarked = self.translated("plain.po", PO, "--mark=no")
        self.assertNotIn("fuzzy", unmarked)
        self.msgfmt(self.path("out.plain.po"))

    def test_po_forms_of_plurals_and_templates(self):
        template = PO.replace(FORMS["en"], "nplurals=INTEGER; plural=EXPRESSION;").replace("UTF-8", "CHARSET")
        for language, n in (("en", 2), ("pl", 3), ("ja", 1), ("pt-BR", 2), ("ar", 6)):
            text = self.dry(f"{language}.pot", template, f"--target={language}", "--mark=no")
            self.msgfmt(self.path(f"dry.{language}.pot"))
            self.assertIn(f'"Language: {language.replace("-", "_")}\\n"', text)
            plural = po_entries(text)[3]
            self.assertEqual(len([name for name in plural if name.startswith("msgstr")]), n)
            self.assertEqual(plural[f"msgstr[{n - 1}]"], "%d chats")
        self.assertEqual(plural["msgstr[1]"], "%d chat")

    def test_po_round_trip_of_a_hundred_files(self):
        mo = sorted(glob.glob("/usr/share/locale*/*/LC_MESSAGES/*.mo"))
        real = [path for path in mo if os.path.getsize(path) < 60000] if shutil.which("msgunfmt") else []
        chance = random.Random(12)
        chance.shuffle(real)
        texts = [subprocess.run(["msgunfmt", path], capture_output=True, check=True).stdout for path in real[:100]]
        texts = [text.decode() for text in texts if self.is_utf8(text)]
        n_real = len(texts)
        while len(texts) < 100:
            texts.append(self.some_po(chance))
        print(f"{n_real} files of this system and {len(texts) - n_real} made up")
        for i, text in enumerate(texts):
            self.assertEqual(self.dry("same.po", text), text if i < n_real else self.read(self.path("dry.same.po")))
            said = self.dry("all.po", text, "--all", "--mark=no")
            self.msgfmt(self.path("dry.all.po"))
            was, now = po_entries(text), po_entries(said)
            self.assertEqual([(e.get("msgctxt"), e["msgid"], e.get("msgid_plural")) for e in was],
                             [(e.get("msgctxt"), e["msgid"], e.get("msgid_plural")) for e in now])
            for entry in now[1:]:
                for name, value in entry.items():
                    if name.startswith("msgstr"):
                        self.assertIn(self.meant(value), (self.meant(entry["msgid"]),
                                                          self.meant(entry.get("msgid_plural", ""))))

    @staticmethod
    def is_utf8(po):
        return b"charset=UTF-8" in po or b"charset=utf-8" in po

    @staticmethod
    def meant(text):
        return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match.group(1), match.group(1)), text)

    @staticmethod
    def some_po(chance):
        words = ["chat", "\\\"noir\\\"", "%s", "%d", "<b>dort</b>", "été", "\\n", "\\t", "\\\\", "&", "où", "日本語"]
        text = PO_HEADER % ("xx", chance.choice(list(FORMS.values())))
        n_forms = int(re.search(r"nplurals=(\d)", text).group(1))
        for i in range(chance.randrange(1, 30)):
            said = " ".join(chance.choice(words) for _ in range(chance.randrange(1, 9))) + f" {i}"
            text += "\n" + chance.choice(["", "# note\n", "#: a.c:1\n", "#, fuzzy\n", f'msgctxt "c{i}"\n'])
            if chance.random() < 0.3:
                text += f'msgid "{said}"\nmsgid_plural "{said}s"\n' + "".join(f'msgstr[{k}] ""\n' for k in range(n_forms))
            elif chance.random() < 0.3:
                text += f'msgid ""\n"{said} "\n"et {said}"\nmsgstr ""\n'
            else:
                text += f'msgid "{said}"\nmsgstr "{chance.choice(["", said])}"\n'
        return text

    def test_xliff(self):
        text = self.translated("a.xlf", XLIFF_1)
        self.xmllint(self.path("out.a.xlf"))
        self.assertIn('target-language="en"', text)
        target = re.search(r"<target state=\"needs-review-translation\"[^>]*>(.*?)</target>", text).group(1)
        self.assertEqual(sorted(re.findall("<[^>]*>", target)), ["</g>", '<g id="1">', '<x id="2"/>'])
        self.assertIn("cat", target)
        self.assertEqual(text.count("<target"), 4)
        self.assertIn("<target>Yes.</target>", text)
        self.assertIn("<source>Non.</source><target>No.</target></alt-trans>", text)
        without = re.sub(r"\n   <target state=[^>]*>.*?</target>", "", text).replace(' target-language="en"', "")
        without = re.sub(r'<target state="needs[^>]*>.*?</target>', '<target state="new"/>', without)
        self.assertEqual(without, XLIFF_1)
        self.assertEqual(self.translated("again.xlf", text), text)
        text = self.translated("b.xliff", XLIFF_2)
        self.xmllint(self.path("out.b.xliff"))
        self.assertIn('trgLang="en"', text)
        self.assertIn('<segment id="s" state="translated">', text)
        target = re.search("<target>(.*?)</target>", text).group(1)
        self.assertEqual(sorted(re.findall("<[^>]*>", target)), ["</pc>", '<pc id="1">', '<ph id="2"/>'])
        self.assertIn('state="final"><source>Oui.</source><target>Yes.</target>', text)

    def test_subtitles(self):
        for name, text in (("a.srt", SRT), ("a.vtt", VTT)):
            said = self.translated(name, text)
            was, now = cues(text), cues(said)
            self.assertEqual([times for times, _ in was], [times for times, _ in now])
            for (_, before), (_, after) in zip(was, now):
                self.assertEqual(len(before), len(after))
                self.assertNotEqual(before, after)
                self.assertEqual(sorted(re.findall(r"<[^>]*>|\{[^}]*\}", "".join(before))),
                                 sorted(re.findall(r"<[^>]*>|\{[^}]*\}", "".join(after))))
            head = text[:text.index("-->")].rpartition("\n")[0]
            self.assertTrue(said.startswith(head))

    def test_json(self):
        said = self.translated("a.json", JSON)
        was, now = json.loads(JSON), json.loads(said)
        self.assertEqual(list(was["menu"]), list(now["menu"]))
        self.assertEqual((was["@menu"], was["p"], was["menu"]["n"]), (now["@menu"], now["p"], now["menu"]["n"]))
        self.assertNotEqual(was["menu"]["all"][0], now["menu"]["all"][0])
        self.assertEqual(now["menu"]["all"][0].count("\n"), 1)
        self.assertIn("{name}", now["menu"]["open"])
        self.assertTrue(said.isascii())

    # ---- By whom, and what goes wrong -----------------------------------------------------------------------------

    def test_a_daemon_says_the_same(self):
        server = self.start(f"--models-dir={MODELS_DIR}")
        url = f"http://127.0.0.1:{server.port()}"
        for name, text in (("a.po", PO), ("a.xlf", XLIFF_1), ("a.srt", SRT), ("a.json", JSON)):
            own = self.translated(name, text)
            self.tool(f"--server={url}", "--source=fr", "--target=en", self.path(name), self.path("theirs"))
            self.assertEqual(self.read(self.path("theirs")), own, name)
        status, _, answer = server.request("POST", "/v1/translate", json.dumps(
            {"text": PO, "source": "fr", "target": "en", "format": "po", "mark": False}))
        self.assertEqual(status, 200)
        self.assertNotIn("fuzzy", json.loads(answer)["translations"][0]["text"])
        status, _, answer = server.request("POST", "/v1/translate", json.dumps(
            {"text": '{"a": "b"', "source": "fr", "target": "en", "format": "json"}))
        self.assertEqual(status, 400)
        self.assertIn("line 1", json.loads(answer)["error"]["message"])

    def test_a_daemon_that_dies_leaves_nothing_behind(self):
        server = self.start(f"--models-dir={MODELS_DIR}", "--threads=1")
        server.expected_codes = (-9,)
        long = "".join(f"{i}\n00:00:01,000 --> 00:00:02,000\nJe vois {i} chiens dans le jardin.\n\n" for i in range(1, 20000))
        before, after = self.path("long.srt", long), self.path("long.en.srt")
        tool = subprocess.Popen([TOOL, "file", f"--server=http://127.0.0.1:{server.port()}", "--target=en", "--beam=16", before, after],
                                stderr=subprocess.PIPE, encoding="utf-8")
        done = lambda: int(re.search(r"^dragoman_sentences_done_total (\d+)", server.request("GET", "/metrics")[2].decode(),
                                     re.M).group(1))
        wait_for(lambda: done() > 0, "the first sentences")
        server.process.kill()
        server.process.wait()
        self.assertEqual((tool.wait(timeout=60), tool.stderr.read().count("unreachable")), (1, 1))
        tool.stderr.close()
        self.assertFalse(os.path.exists(after))

    def test_nothing_is_written_unless_all_is(self):
        out = self.path("out", "as it was")
        for name, text, why in (("a.json", '{"a": "b"', "line 1"), ("a.po", "msgid \"a\nmsgstr \"\"\n", "line 1"),
                                ("b.po", PO.replace("UTF-8", "ISO-8859-1"), "charset"), ("a.xlf", "<a/>", "XLIFF")):
            self.assertIn(why, self.tool("--dry-run", self.path(name, text), out, code=1).stderr)
        with open(self.path("bad.txt"), "wb") as file:
            file.write(b"caf\xe9")
        self.assertIn("UTF-8", self.tool("--dry-run", self.path("bad.txt"), out, code=1).stderr)
        self.tool("--dry-run", self.path("none.srt"), out, code=1)
        self.tool("--server=http://127.0.0.1:1", "--target=en", self.path("a.srt", SRT), out, code=1)
        self.assertEqual(self.read(out), "as it was")
        self.tool(self.path("a.srt"), out, code=2)
        self.tool("--dry-run", self.path("a.srt"), code=2)
        self.assertEqual(sorted(name for name in os.listdir(self.directory) if "tmp" in name), [])
        self.tool("--dry-run", self.path("a.srt"), self.path("a.srt"))  # in place
        self.assertEqual(self.read(self.path("a.srt")), SRT)


if __name__ == "__main__":
    main()
