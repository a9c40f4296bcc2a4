# SPDX-License-Identifier: ISC
"""Markup survives translation: 1,000 HTML fragments as people post them, and 1,000 damaged copies
of them. An independent parser (Python's) must find the same tags with the same attributes on
both sides; well-formed input must come back well-formed; parts that are not to be translated
must come back byte for byte."""
import collections
import html.parser
import json
import random
import re

from harness import MODELS_DIR, IntegrationTest, main

MODELS = f"--models-dir={MODELS_DIR}"
BATCH = 100
SENTENCES = ["Le chat dort.", "La maison est grande.", "Je vois un chien.", "Le pain est bon.", "Il fait beau.",
             "Elle aime la mer.", "Nous avons une voiture.", "Le livre est ouvert."]
KEPT = ['<code>int main(void)</code>', '<span translate="no">Jean <b>Dupont</b></span>', '<i class="x notranslate">Foo</i>',
        '<script>if (a < b && c) { x("</b>") }</script>', '<script><!-- <script>a</script> b --></script>', '<style>p > a { color: red }</style>', '<code>a &lt; b</code>',
        '<span class="h-card" translate="no"><a href="https://m.example/@anna" class="u-url mention">@<span>anna</span></a></span>',
        '<a href="https://m.example/tags/chat" class="mention hashtag" rel="tag">#<span>chat</span></a>',
        '<a href="https://example.com/a/b?c=d&amp;e=f" rel="nofollow"><span class="invisible">https://</span>'
        '<span class="ellipsis">example.com/a/b?c</span><span class="invisible">=d&amp;e=f</span></a>']
POINTS = ['<img src="a.png" alt="un chat">', "<!-- un commentaire -->", "<wbr>", '<x id="7"></x>']
INLINE = [("<b>", "</b>"), ("<em>", "</em>"), ('<a href="https://example.com/?a=1&amp;b=2" title=\'x>y\'>', "</a>"),
          ("<span lang=fr>", "</span>"), ("<STRONG>", "</STRONG>"), ("<u >", "</u>")]
BLOCKS = [("<p>", "</p>"), ("<li>", "</li>"), ("<h2 id=a>", "</h2>"), ("<blockquote><p>", "</p></blockquote>"), ("<td>", "</td>")]


class Events(html.parser.HTMLParser):
    """Counts tags and comments, and checks whether they nest."""
    VOID = {"img", "br", "wbr", "hr"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.counts, self.open, self.nests, self.words = collections.Counter(), [], True, []
        self.feed(text)
        self.close()
        self.nests = self.nests and not self.open

    def handle_starttag(self, tag, attrs):
        self.counts["start", tag, tuple(attrs)] += 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.counts["start", tag, tuple(attrs)] += 1

    def handle_endtag(self, tag):
        self.counts["end", tag] += 1
        self.nests = self.nests and bool(self.open) and self.open.pop() == tag

    def handle_comment(self, data):
        self.counts["comment", data] += 1

    def handle_data(self, data):
        self.words.append(data)


def sentence(rng):
    """One of the sentences, with markup at and around its words."""
    words = rng.choice(SENTENCES).split(" ")
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        kind, at = rng.random(), rng.randrange(len(words))
        if kind < 0.6:
            end = rng.randrange(at, len(words))
            opening, closing = rng.choice(INLINE)
            if any("<a " in word or "</a>" in word for word in words) and "<a" in opening:
                continue
            inside = words[at:end + 1]
            depth = sum(word.count("<") - 2 * word.count("</") for word in inside)
            if depth or any("<" in word for word in inside):
                continue
            words[at] = opening + words[at]
            words[end] += closing
        elif kind < 0.8:
            words.insert(at, rng.choice(POINTS))
        else:
            words.insert(at, rng.choice(KEPT))
    return " ".join(words)


def fragment(rng):
    parts = []
    for _ in range(rng.randint(1, 3)):
        opening, closing = rng.choice(BLOCKS)
        text = " ".join(sentence(rng) for _ in range(rng.randint(1, 3)))
        parts.append(opening + rng.choice(("", "\n", "  ")) + text + rng.choice(("", " ", "<br>")) + closing)
    return rng.choice(("", "\n", "<pre>  1\n\t2 </pre>", "&nbsp;", "R&amp;D &lt;b&gt; ")).join(parts)


def damage(rng, text):
    """Cuts, doubles and swaps pieces of a fragment."""
    for _ in range(rng.randint(1, 3)):
        at, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        end = min(end, at + 12)
        text = rng.choice((text[:at] + text[end:], text[:end] + text[at:], text[:at] + rng.choice("<>&/\"'=- ") + text[at:],
                           text[:at] + rng.choice(("</b>", "<i>", "<p>", "</p>", "<a href=x>", "<!--", "&#x", "</")) + text[at:]))
    return text


class Markup(IntegrationTest):
    def translate(self, texts, **options):
        answers = []
        for at in range(0, len(texts), BATCH):
            body = {"text": texts[at:at + BATCH], "source": "fr", "target": "en", "format": "html", **options}
            status, _, answer = self.server.request("POST", "/v1/translate", body=json.dumps(body).encode())
            self.assertEqual(status, 200, answer)
            answers += [one["text"] for one in json.loads(answer)["translations"]]
        return answers

    def test_a_thousand_fragments(self):
        self.server = self.start(MODELS, "--log-level=notice")
        rng = random.Random(11)
        texts = [fragment(rng) for _ in range(1000)]
        for text, answer in zip(texts, self.translate(texts, beam=1)):
            before, after = Events(text), Events(answer)
            self.assertEqual(before.counts, after.counts, (text, answer))
            self.assertEqual(before.nests, after.nests, (text, answer))
            for kept in KEPT + POINTS:
                self.assertEqual(text.count(kept), answer.count(kept), (text, answer))
            self.assertNotIn("&amp;amp;", answer)
            self.assertNotIn("&amp;lt;", answer)

    def test_a_thousand_damaged_ones(self):
        self.server = self.start(MODELS, "--log-level=notice")
        rng = random.Random(12)
        texts = [damage(rng, fragment(rng)) for _ in range(1000)]
        for text, answer in zip(texts, self.translate(texts, beam=1)):
            self.assertEqual(Events(text).counts, Events(answer).counts, (text, answer))

    def test_a_marked_word_stays_marked(self):
        self.server = self.start(MODELS)
        words = {"chat": "cat", "chien": "dog", "maison": "house", "livre": "book", "voiture": "car", "pain": "bread",
                 "eau": "water", "porte": "door", "jardin": "garden", "table": "table"}
        frames = ["Je vois le %s.", "Le %s est grand.", "Voici le %s de Paul.", "Où est le %s ?", "Nous avons un %s noir.",
                  "Elle aime ce %s."]
        texts = [(frame % f"<b>{word}</b>", english) for frame in frames for word, english in words.items()]
        answers = self.translate([text for text, _ in texts])
        said = [(text, answer, english) for (text, english), answer in zip(texts, answers) if english in answer.lower()]
        marked = [one for one in said if one[2] in one[1].lower().partition("<b>")[2].partition("</b>")[0]]
        self.assertGreater(len(said), len(texts) / 2)
        self.assertGreaterEqual(len(marked), 0.9 * len(said), [one for one in said if one not in marked])

    def test_spaces_of_pre_are_kept(self):
        self.server = self.start(MODELS)
        text = "<p>Le  chat  dort.</p><pre>Le  chat   dort.\n  <b>Le  chien</b> dort  <code>a  b</code></pre>"
        answer, plain = self.translate([text, "<p>Le&nbsp; chat <code>a  b</code>  dort.</p>"])
        before, after = (re.findall(r"  +|\n", one.partition("<pre>")[2]) for one in (text, answer))
        self.assertEqual(before, after, answer)
        self.assertNotIn("  ", answer.partition("<pre>")[0])
        self.assertEqual(re.findall("  +", plain), ["  "], plain)  # in code that is not translated

    def test_what_is_frozen_is_said_once(self):
        self.server = self.start(MODELS)
        kept = ["https://example.com/f", "@anna", "notes.txt"]
        for text in kept:
            for frame in ("Voici <code>%s</code> pour le chat.", "Le chat de <span translate=no>%s</span> dort.",
                          'Je vois <a href="#"><b>%s</b></a> dans la rue.'):
                answer = self.translate([frame % text])[0]
                self.assertEqual(answer.count(text), 1, answer)
                self.assertEqual(Events(answer).counts, Events(frame % text).counts)

    def test_other_formats_and_streaming(self):
        self.server = self.start(MODELS)
        text = "# Le chat\n\nLe **chat noir** dort.\n\n```\nle chat\n```\n"
        answer = self.translate([text], format="markdown")[0]
        self.assertRegex(answer, r"(?s)^# [^\n]+\n\n.*\*\*[^*]+\*\*.*\n\n```\nle chat\n```\n$")
        text = '<p>Le <b>chat</b> dort. La maison est grande &amp; belle.</p>'
        body = json.dumps({"text": text, "target": "en", "format": "html", "stream": True})
        _, _, events = self.server.request("POST", "/v1/translate", body=body)
        lines = [line[6:] for line in events.decode().split("\n") if line.startswith("data: ")]
        deltas = "".join(json.loads(line).get("text", "") for line in lines if '"index"' in line and "text" in json.loads(line))
        done = json.loads(lines[-1])["translations"][0]["text"]
        self.assertEqual(deltas, done)
        self.assertEqual(Events(text).counts, Events(done).counts)
        status, _, answer = self.server.request("POST", "/v1/translate", body=json.dumps(
            {"text": text, "target": "en", "format": "html", "alternatives": 2}))
        self.assertEqual((status, json.loads(answer)["error"]["field"]), (400, "alternatives"))

    def test_through_the_compatible_apis(self):
        self.server = self.start(MODELS)
        headers = {"Content-Type": "application/json"}
        text = '<p>Le <b>chat</b> dort avec <span class="notranslate">Jean</span> &amp; moi.</p>'
        for path, body, pick in (
                ("/translate", {"q": text, "source": "fr", "target": "en", "format": "html"}, lambda a: a["translatedText"]),
                ("/v2/translate", {"text": [text], "target_lang": "EN", "tag_handling": "html"},
                 lambda a: a["translations"][0]["text"]),
                ("/v2/translate", {"text": ['Le <x id="7"></x> chat <i>dort</i>.'], "target_lang": "EN", "tag_handling": "xml",
                                   "ignore_tags": ["x"]}, lambda a: a["translations"][0]["text"])):
            status, _, answer = self.server.request("POST", path, body=json.dumps(body), headers=headers)
            self.assertEqual(status, 200, answer)
            source = body.get("q") or body["text"][0]
            self.assertEqual(Events(source).counts, Events(pick(json.loads(answer))).counts, answer)
        status, _, answer = self.server.request("POST", "/translate", headers=headers, body=json.dumps(
            {"q": "<b>chat</b>", "source": "fr", "target": "en", "format": "html", "alternatives": 3}))
        self.assertEqual(json.loads(answer)["alternatives"], [], answer)


if __name__ == "__main__":
    main()
