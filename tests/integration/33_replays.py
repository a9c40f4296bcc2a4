# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Replays of programs that talk to LibreTranslate, DeepL and similar servers: each class sends what
the program of its name sends (method, path, content type, members, where the key goes), reads
from the answer what that program reads, and treats as an error what that program treats as one.
Where several versions of a program are in use, the class replays the requests of the newer one,
and those of the older one where they differ. 32_deepl_node.py and 61_clients.py run the real
libraries that a test can have."""
import datetime
import hashlib
import html
import json
import os
import re
import urllib.parse

from harness import CAT, CAT_SAID, MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

MODELS = f"--models-dir={MODELS_DIR}"
LANGUAGES = f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}"
KEY = "4b1d-of-the-test:fx"
BOLD = "<p>Le <b>chat</b> dort. <a href=\"https://x.org/@a\">@a</a></p>"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Refused(Exception):
    """The program would show or raise this error."""


class Client:
    """One program; `send` is its HTTP library."""

    key = None  # the open server wants none; with a keyed one, KEY or a wrong one

    def __init__(self, server, key=None):
        self.server, self.key = server, key

    def send(self, method, path, body=None, headers=None):
        status, self.headers, answer = self.server.request(method, path, body=body, headers=headers or {})
        return status, answer

    def good(self, method, path, body=None, headers=None):
        status, answer = self.send(method, path, body, headers)
        if not 200 <= status < 300:
            raise Refused(status, answer)
        return json.loads(answer)

    def deepl_header(self):
        return {"Authorization": f"DeepL-Auth-Key {self.key}"} if self.key else {}


class Mastodon(Client):
    """lib/translation_service: the texts of a status, its spoiler and its poll in one request, as
    HTML; it acts on status codes."""

    CODES = {429: "TooManyRequests", 403: "QuotaExceeded"}

    def request(self, method, path, body=None):
        status, answer = self.send(method, path, body, JSON)  # the type is sent with a GET, too
        if not 200 <= status < 300:
            raise Refused(self.CODES.get(status, "UnexpectedResponse"))
        return json.loads(answer)

    def translate(self, texts, source, target):
        data = self.request("POST", "/translate", json.dumps({
            "q": texts, "source": source or "auto", "target": target, "format": "html", "api_key": self.key}))
        detected = data.get("detectedLanguage")
        return [(text, detected[i]["language"] if detected else source) for i, text in enumerate(data["translatedText"])]

    def languages(self):
        found = {one["code"]: [to for to in one["targets"] if to != one["code"]] for one in self.request("GET", "/languages")}
        return found


class MastodonDeepL(Client):
    """A form that repeats text; an unknown source is a name without a value."""

    def translate(self, texts, source, target):
        pairs = [("text", text) for text in texts]
        form = urllib.parse.urlencode(pairs) + ("&source_lang" if source is None else f"&source_lang={source.upper()}")
        form += urllib.parse.urlencode([("", ""), ("target_lang", target), ("tag_handling", "html")])[1:]
        status, answer = self.send("POST", "/v2/translate", form, {**FORM, **self.deepl_header()})
        if status == 429 or status == 456 or not 200 <= status < 300:
            raise Refused({429: "TooManyRequests", 456: "QuotaExceeded"}.get(status, "UnexpectedResponse"))
        return [(one["text"], one["detected_source_language"].lower()) for one in json.loads(answer)["translations"]]

    def languages(self):
        def codes(side):
            found = self.good("GET", f"/v2/languages?type={side}", None, self.deepl_header())
            parts = [re.split("[_-]", one["language"]) for one in found]
            return ["-".join([part[0].lower(), *(rest.upper() for rest in part[1:2])]) for part in parts]
        return codes("source"), ["en", "pt", *codes("target")]


class Weblate(Client):
    """machinery/libretranslate.py: a form; the languages decide which pairs it offers."""

    def download_languages(self):
        return [one["code"] for one in self.good("GET", "/languages")]

    def translate(self, text, source, target):
        form = {"q": text, "source": source, "target": target, **({"api_key": self.key} if self.key else {})}
        return self.good("POST", "/translate", urllib.parse.urlencode(form), FORM)["translatedText"]


class WeblateDeepL(Client):
    """machinery/deepl.py: 20 texts in a request, placeholders as <x id="n"></x> that must come back, glossaries by name."""

    def request(self, method, path, body=None):
        headers = {"Authorization": f"DeepL-Auth-Key {self.key}"}
        status, answer = self.send(method, "/v2/" + path, json.dumps(body) if body is not None else None,
                                   {**headers, **(JSON if body is not None else {})})
        if status >= 400:
            raise Refused(json.loads(answer)["message"])
        return json.loads(answer) if answer else None

    def languages(self):
        sources = {one["language"] for one in self.request("GET", "languages?type=source")}
        targets = {"EN"}
        for one in self.request("GET", "languages?type=target"):
            targets.add(one["language"].upper())
            if one.get("supports_formality"):
                targets |= {one["language"] + "@FORMAL", one["language"] + "@INFORMAL"}
        return {(source, target) for source in sources for target in targets}

    def translate(self, texts, source, target, **more):
        """Texts with placeholders such as %s, which the program hides by itself and puts back by
        their numbers."""
        hidden, tags = [], []
        for text in texts:
            found, out, at = {}, "", 0
            for match in re.finditer(r"%\w|\{\w+\}", text):
                tag = f'<x id="{match.start()}"></x>'
                found[tag] = match.group()
                out += html.escape(text[at:match.start()]) + tag
                at = match.end()
            hidden.append(out + html.escape(text[at:]))
            tags.append(found)
        payload = self.request("POST", "translate", {"text": hidden, "source_lang": source, "target_lang": target,
                                                     "formality": "default", "tag_handling": "xml", "ignore_tags": ["x"], **more})
        answers = []
        for i, found in enumerate(tags):
            text = payload["translations"][i]["text"]
            for tag, value in found.items():
                if text.count(tag) != 1:
                    raise Refused("placeholder lost", tag, text)
                text = text.replace(tag, value)
            answers.append(html.unescape(text))
        return answers

    def glossary(self, source, target, name, tsv):
        pairs = {(one["source_lang"].upper(), one["target_lang"].upper())
                 for one in self.request("GET", "glossary-language-pairs")["supported_languages"]}
        if (source, target) not in pairs:
            raise Refused("pair")
        listed = self.request("GET", "glossaries")["glossaries"]
        for one in sorted(listed, key=lambda one: datetime.datetime.fromisoformat(one["creation_time"].replace("Z", "+00:00"))):
            if one["name"] == name:
                self.request("DELETE", f"glossaries/{one['glossary_id']}")
        self.request("POST", "glossaries", {"name": name, "source_lang": source, "target_lang": target, "entries": tsv,
                                            "entries_format": "tsv"})
        return {one["name"]: one["glossary_id"] for one in self.request("GET", "glossaries")["glossaries"]}[name]


class Discourse(Client):
    """discourse-translator: forms; an answer that is not JSON or not 200 is "not available". It
    detects first, without tags."""

    def result(self, path, **body):
        form = urllib.parse.urlencode({**body, "api_key": self.key or ""})
        status, answer = self.send("POST", path, form, FORM)
        parsed = json.loads(answer)
        if status != 200:
            raise Refused(parsed)
        return parsed

    def translate(self, post, target):
        found = self.result("/detect", q=re.sub("<[^>]*>", "", post))
        source = found[0]["language"] if found else "en"
        supported = [one["code"] for one in self.good("GET", "/languages")]
        if source not in supported or target not in supported:
            raise Refused("not supported")
        return source, self.result("/translate", q=post, source=source, target=target, format="html")["translatedText"]


class Nextcloud(Client):
    """integration_libretranslate through its PHP library: curl's multipart forms, even with a GET;
    it asks for / first."""

    def curl(self, method, path, fields):
        boundary = "------------------------d74496d66958873e"
        body = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
                       for name, value in fields.items()) + f"--{boundary}--\r\n"
        status, answer = self.send(method, path, body.encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}",
                                                                 "Accept": "*/*"})
        try:
            return status, json.loads(answer)
        except ValueError:
            return status, None

    def connect(self):
        self.curl("POST", "/", {})
        settings = self.curl("GET", "/frontend/settings", {})[1]
        languages = {one["code"]: one["name"] for one in self.curl("GET", "/languages", {})[1] if "code" in one}
        return settings, languages

    def detect(self, text):
        query = urllib.parse.urlencode({"q": text, "api_key": self.key or ""})
        found = self.curl("POST", "/detect?" + query, {})[1]
        return found[0]["language"] if isinstance(found, list) else False

    def translate(self, text, source, target):
        answer = self.curl("POST", "/translate", {"q": text, "format": "html", "source": source, "target": target,
                                                  **({"api_key": self.key} if self.key else {})})[1]
        if "translatedText" not in answer:
            raise Refused(answer["error"])
        return answer["translatedText"]


class NextcloudDeepL(Client):
    """integration_deepl through DeepL's PHP library: forms; formality "preferred", so that no language refuses it."""

    def translate(self, source, target, text):
        form = [("target_lang", target), ("formality", "prefer_more"), ("show_billed_characters", "1"), ("text", text)]
        form[:0] = [("source_lang", source)] if source else []
        status, answer = self.send("POST", "/v2/translate", urllib.parse.urlencode(form), {
            **FORM, **self.deepl_header(), "User-Agent": "deepl-php/1.9.0 (Linux) php/8.2"})
        if status != 200:
            raise Refused(status, json.loads(answer).get("message"))
        one = json.loads(answer)["translations"][0]
        return one["text"], one["detected_source_language"].lower(), int(one["billed_characters"])


class Akkoma(Client):
    """Pleroma.Akkoma.Translators: 200 or an error; its pattern matches only these members."""

    def translate(self, text, source, target):
        status, answer = self.send("POST", "/translate", json.dumps({
            "q": text, "source": source or "auto", "target": target, "format": "html", "api_key": self.key}), JSON)
        if status != 200:
            raise Refused(f"libre_translate: request failed (code {status})")
        body = json.loads(answer)
        return body["detectedLanguage"]["language"] if "detectedLanguage" in body else source, body["translatedText"]

    def deepl(self, text, source, target):
        form = {"text": text, "target_lang": target, "tag_handling": "html", **({"source_lang": source} if source else {})}
        status, answer = self.send("POST", "/v2/translate", urllib.parse.urlencode(form, quote_via=urllib.parse.quote),
                                   {"authorization": f"DeepL-Auth-Key {self.key}", **FORM})
        if status != 200:
            raise Refused(f"DeepL request failed (code {status})")
        (one,) = json.loads(answer)["translations"]
        return one["detected_source_language"], one["text"]


class Misskey(Client):
    """notes/translate: DeepL's form with the key in it; in forks of it, LibreTranslate and a
    DeepLX."""

    def translate(self, text, target):
        form = urllib.parse.urlencode([("auth_key", self.key or ""), ("text", text), ("target_lang", target.split("-")[0])])
        answer = json.loads(self.send("POST", "/v2/translate", form, {
            **FORM, "User-Agent": "Misskey/2025.1.0", "Accept": "application/json, */*"})[1])
        if "translations" not in answer:
            raise Refused("translations is undefined")
        one = answer["translations"][0]
        return one["detected_source_language"], one["text"]

    def free(self, text, target):
        answer = self.good("POST", "/deeplx", json.dumps({"text": text, "source_lang": "auto", "target_lang": target}), JSON)
        return answer["source_lang"], answer["data"]


class Zotero(Client):
    """zotero-pdf-translate: one translator for each service; any status but 200 is an error."""

    def post(self, path, body, **headers):
        status, answer = self.send("POST", path, json.dumps(body), {**JSON, **headers})
        if status != 200:
            raise Refused(f"Request error: {status}")
        return json.loads(answer)

    def libretranslate(self, text):
        body = {"q": text, "source": "fr", "target": "en", "format": "text", **({"api_key": self.key} if self.key else {})}
        answer = self.post("/translate", body)
        if answer.get("error"):
            raise Refused(answer["error"])
        return answer["translatedText"]

    def deepl(self, text):
        return self.post("/v2/translate", {"text": [text], "source_lang": "FR", "target_lang": "EN"},
                         Authorization=f"DeepL-Auth-Key {self.key}")["translations"][0]["text"]

    def deepl_custom(self, text):
        return self.post("/translate", {"text": text, "source_lang": "FR", "target_lang": "EN"},
                         **{"Content-Type": "application/json; charset=utf-8"})["data"]

    def mtranserver(self, text):
        return self.post("/translate", {"text": text, "from": "fr", "to": "en"}, authorization=self.key or "")["result"]

    def nllb_serve(self, text):
        return self.post("/translate", {"source": text, "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"})["translation"][0]

    def nllb_api(self, text, stream):
        query = f"text={urllib.parse.quote(text)}&source=fra_Latn&target=eng_Latn"
        status, answer = self.send("GET", f"/api/v4/translator{'/stream' if stream else ''}?{query}", None, {"accept": "application/json"})
        if status != 200:
            raise Refused(f"Request error: {status}")
        if not stream:
            return json.loads(answer)["result"]
        return "".join(line.replace("data:", "", 1).strip() for line in answer.decode().split("\n") if line)


class SubtitleEdit(Client):
    """libse/AutoTranslate: JSON made by hand, forms, and parsers that look for one name only."""

    def libretranslate(self, text):
        body = json.dumps({"q": text.strip(), "source": "fr", "target": "en", **({"api_key": self.key} if self.key else {})})
        answer = self.good("POST", "/translate", body, {**JSON, "accept": "application/json"})
        return answer["translatedText"].strip()

    def deepl(self, text, **more):
        form = {"text": text, "target_lang": "en-gb", "source_lang": "fr", **more}
        status, answer = self.send("POST", "/v2/translate", urllib.parse.urlencode(form), {**FORM, **self.deepl_header()})
        if status == 403:
            raise Refused("Forbidden!", answer)
        return "\n".join(item["text"] for value in json.loads(answer).values() if isinstance(value, list)
                         for item in value if "text" in item)

    def nllb_serve(self, text):
        body = {"source": text.splitlines(), "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"}
        return "\n".join(self.good("POST", "/translate", json.dumps(body), JSON)["translation"]).strip()

    def nllb_api(self, text):
        answer = self.send("POST", "/api/v4/translator", json.dumps({"text": text, "source": "fra_Latn", "target": "eng_Latn"}), JSON)[1]
        first = answer.index(b'"', answer.lower().index(b'"result":') + len(b'"result":'))
        return answer[first + 1:answer.index(b'"', first + 1)].decode()


class SillyTavern(Client):
    """src/endpoints/translate.js."""

    def libre(self, text):
        return self.good("POST", "/translate", json.dumps({"q": text, "source": "auto", "target": "en", "format": "text",
                                                           "api_key": self.key}), JSON)["translatedText"]

    def deepl(self, text):
        form = urllib.parse.urlencode({"text": text, "target_lang": "EN-US"})
        return self.good("POST", "/v2/translate", form, {**FORM, "Accept": "application/json", **self.deepl_header()})["translations"][0]["text"]

    def deeplx(self, text):
        return self.good("POST", "/translate", json.dumps({"text": text, "source_lang": "auto", "target_lang": "EN"}), JSON)["data"]


class Lingarr(Client):
    """LibreService.cs: one subtitle line at a time; it tries again after 429 and 503, and any other
    status is an error with the body."""

    def translate(self, text, source, target):
        status, answer = self.send("POST", "/translate", json.dumps({"q": text, "source": source, "target": target, "format": "text",
                                                                     "api_key": self.key}), {**JSON, "Accept": "application/json"})
        if status in (429, 503):
            raise Refused("again")
        if status != 200:
            raise Refused(status, answer)
        return json.loads(answer).get("translatedText") or ""


class OmegaT(Client):
    """machinetranslators/deepl: a GET under /v1, with its own tags and everything in the query."""

    def translate(self, text):
        query = urllib.parse.urlencode(sorted({
            "text": text, "source_lang": "FR", "target_lang": "EN", "tag_handling": "xml", "split_sentences": "1",
            "preserve_formatting": "1", "auth_key": self.key or "x"}.items()))
        translations = self.good("GET", "/v1/translate?" + query)["translations"]
        return html.unescape(translations[0]["text"])


class Wagtail(Client):
    """wagtail-localize: all strings of a page, in order; with a shorter answer zip() would lose
    some."""

    def libretranslate(self, strings):
        answer = self.good("POST", "/translate", json.dumps({"q": strings, "source": "fr", "target": "en", "api_key": self.key,
                                                             "format": "html"}), JSON)
        return dict(zip(strings, answer["translatedText"]))

    def deepl(self, strings):
        form = [("auth_key", self.key or "")] + [("text", one) for one in strings]
        form += [("tag_handling", "xml"), ("source_lang", "FR"), ("target_lang", "EN")]
        answer = json.loads(self.send("POST", "/v2/translate", urllib.parse.urlencode(form), FORM)[1])
        return dict(zip(strings, (one["text"] for one in answer["translations"])))


class TranslateYou(Client):
    """Retrofit: everything in the query of a POST without a body."""

    def languages(self):
        return {one["code"]: one["name"] for one in self.good("GET", "/languages")}

    def translate(self, text, source, target):
        query = {"q": text, "source": source or "auto", "target": target, **({"api_key": self.key} if self.key else {})}
        answer = self.good("POST", "/translate?" + urllib.parse.urlencode(query), b"", {"Content-Length": "0"})
        return answer["translatedText"], (answer.get("detectedLanguage") or {}).get("language")

    def deepl(self, text):
        query = urllib.parse.urlencode({"source_lang": "", "target_lang": "EN", "text": text})
        return self.good("POST", "/v2/translate?" + query, b"", self.deepl_header())["translations"][0]["text"]


class DeepLPython(Client):
    """DeepL's library for Python: JSON, GETs with a form as their body, forms with files, and its
    reaction to each status."""

    ERRORS = {403: "Authorization", 456: "QuotaExceeded", 404: "NotFound", 429: "TooManyRequests", 400: "BadRequest"}

    def call(self, method, path, body=None, data=None, headers=None):
        headers = {**self.deepl_header(), "User-Agent": "deepl-python/1.21.0", "Accept": "*/*", **(headers or {})}
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body), "application/json"
        elif isinstance(data, dict):
            data, headers["Content-Type"] = urllib.parse.urlencode(data), FORM["Content-Type"]
        status, answer = self.send(method, path, data, headers)
        if status >= 400:
            raise Refused(self.ERRORS.get(status, status), json.loads(answer).get("message", ""))
        return answer

    def translate_text(self, text, **more):
        texts = [text] if isinstance(text, str) else text
        found = json.loads(self.call("POST", "/v2/translate", {"target_lang": "EN-US", "text": texts, "show_billed_characters": True, **more}))
        return [(one["text"], one["detected_source_language"], int(one.get("billed_characters")), one.get("model_type_used"))
                for one in found["translations"]]

    def languages(self, is_target):
        found = json.loads(self.call("GET", "/v2/languages", data={"type": "target"} if is_target else {}))
        return [(one["language"], one["name"], one.get("supports_formality")) for one in found]

    def usage(self):
        found = json.loads(self.call("GET", "/v2/usage", data={}))
        return int(found["character_count"]), int(found["character_limit"]), found.get("document_count")

    def document(self, name, content):
        boundary = "3b2e0b1f"
        parts = [("target_lang", None, b"EN-US"), ("source_lang", None, b"FR"), ("file", name, content)]
        body = b"".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"'.encode()
                        + (f'; filename="{file}"'.encode() if file else b"") + b"\r\n\r\n" + value + b"\r\n" for field, file, value in parts)
        handle = json.loads(self.call("POST", "/v2/document", data=body + f"--{boundary}--\r\n".encode(),
                                      headers={"Content-Type": f"multipart/form-data; boundary={boundary}"}))
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}

        def is_done():
            status = json.loads(self.call("POST", path, body=key))
            if status["status"] not in ("queued", "translating", "done"):
                raise Refused(status)
            return status["status"] == "done"

        wait_for(is_done, "the document")
        return self.call("POST", path + "/result", body=key)

    def glossary(self, name, entries):
        made = json.loads(self.call("POST", "/v2/glossaries", {"name": name, "source_lang": "FR", "target_lang": "EN", "entries_format": "tsv",
                                                               "entries": "\n".join("\t".join(pair) for pair in entries.items())}))
        datetime.datetime.strptime(made["creation_time"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S.%f%z")
        path = f"/v2/glossaries/{made['glossary_id']}"
        tsv = self.call("GET", path + "/entries", headers={"Accept": "text/tab-separated-values"}).decode()
        return made, dict(line.split("\t") for line in tsv.splitlines() if line)


class LibreTranslatePy(Client):
    """libretranslatepy: urllib, which sends a form unless told otherwise, even as the body of a
    GET."""

    def translate(self, text, source, target):
        form = {"q": text, "source": source, "target": target, **({"api_key": self.key} if self.key else {})}
        return self.good("POST", "/translate", urllib.parse.urlencode(form), FORM)["translatedText"]

    def detect(self, text):
        return self.good("POST", "/detect", urllib.parse.urlencode({"q": text, **({"api_key": self.key} if self.key else {})}), FORM)

    def languages(self):
        form = urllib.parse.urlencode({"api_key": self.key} if self.key else {})
        return self.good("GET", "/languages", form.encode(), FORM)


def keyed(self, client, call):
    """With the right key the call works; with a wrong one the program reports that in its own way,
    and never as an internal error."""
    call(client(self.keyed, KEY))
    with self.assertRaises(Refused) as failure:
        call(client(self.keyed, "wrong"))
    self.assertNotIn("500", str(failure.exception))
    return failure.exception


class Replays(IntegrationTest):
    """All programs against two daemons: an open one, and one that wants a key."""

    def setUp(self):
        super().setUp()
        self.open = self.start(MODELS, LANGUAGES)
        keys, glossaries = os.path.join(self.directory, "keys"), os.path.join(self.directory, "glossaries")
        with open(keys, "w", encoding="utf-8") as file:
            file.write(f"[key one]\nhash = blake2b:{hashlib.blake2b(KEY.encode(), digest_size=32).hexdigest()}\n")
        os.chmod(keys, 0o600)
        os.mkdir(glossaries, 0o700)
        self.keyed = self.start(MODELS, LANGUAGES, f"--keys-file={keys}", "--require-key", f"--glossaries-dir={glossaries}")

    def check_bold(self, text):
        self.assertEqual((text[:3], text[-4:], text.count("<b>cat</b>"), text.count('<a href="https://x.org/@a">@a</a>')),
                         ("<p>", "</p>", 1, 1), text)

    def test_social_networks(self):
        client = Mastodon(self.open)
        self.assertEqual([source for _, source in client.translate([BOLD, CAT], None, "en")], ["fr", "fr"])
        for text, source in client.translate([BOLD], "fr", "en"):
            self.check_bold(text)
            self.assertEqual(source, "fr")
        self.assertEqual(client.translate(['<span class="mention">@a</span> :blob: <span translate="no">chat</span>'], "fr", "en")[0][0],
                         '<span class="mention">@a</span> :blob: <span translate="no">chat</span>')
        self.assertEqual(client.languages(), {"en": [], "fr": ["en"]})
        self.assertEqual(keyed(self, Mastodon, lambda one: one.translate([CAT], "fr", "en")).args, ("QuotaExceeded",))
        client = MastodonDeepL(self.open)
        self.assertEqual(client.translate([CAT, CAT], None, "en"), [(CAT_SAID, "fr")] * 2)
        self.check_bold(client.translate([BOLD], "fr", "en")[0][0])
        self.assertEqual(client.languages(), (["fr"], ["en", "pt", "en-GB", "en-US"]))
        keyed(self, MastodonDeepL, lambda one: (one.translate([CAT], "fr", "en"), one.languages()))
        client = Akkoma(self.open)
        self.assertEqual(client.translate(CAT, None, "en"), ("fr", CAT_SAID))
        self.assertEqual(client.translate(CAT, "fr", "en"), ("fr", CAT_SAID))
        self.assertEqual(client.deepl(CAT, None, "EN"), ("FR", CAT_SAID))
        self.check_bold(client.translate(BOLD, None, "en")[1])
        self.check_bold(client.deepl(BOLD, "FR", "EN")[1])
        keyed(self, Akkoma, lambda one: one.translate(CAT, "fr", "en"))
        keyed(self, Akkoma, lambda one: one.deepl(CAT, "fr", "en"))
        self.assertEqual(Misskey(self.open).translate(CAT, "en-US"), ("FR", CAT_SAID))
        self.assertEqual(Misskey(self.open).free(CAT, "EN"), ("FR", CAT_SAID))
        keyed(self, Misskey, lambda one: one.translate(CAT, "en"))

    def test_sites_and_clouds(self):
        self.assertEqual(Discourse(self.open).translate("<p>Où est le <b>chat</b> ?</p>", "en")[0], "fr")
        self.assertIn("<b>cat</b>", Discourse(self.open).translate("<p>Où est le <b>chat</b> ?</p>", "en")[1])
        self.assertEqual(keyed(self, Discourse, lambda one: one.translate(CAT, "en")).args, ({"error": "Invalid API key"},))
        client = Nextcloud(self.open)
        settings, languages = client.connect()
        self.assertEqual((settings["keyRequired"], languages), (False, {"en": "English", "fr": "French"}))
        self.assertEqual((client.detect("Où est la gare ?"), client.translate(CAT, "fr", "en")), ("fr", CAT_SAID))
        with self.assertRaises(Refused) as failure:
            client.translate(CAT, "fr", "zz")
        self.assertEqual(failure.exception.args, ("zz is not supported",))
        keyed(self, Nextcloud, lambda one: one.translate(CAT, "fr", "en"))
        self.assertEqual(NextcloudDeepL(self.open).translate(None, "en-US", CAT), (CAT_SAID, "fr", len(CAT)))
        self.assertEqual(keyed(self, NextcloudDeepL, lambda one: one.translate("fr", "en", CAT)).args[0], 403)
        strings = ["<b>Le chat</b> dort.", "Bonjour.", "", CAT]
        for found in (Wagtail(self.open).libretranslate(strings), Wagtail(self.open).deepl(strings)):
            self.assertEqual(list(found), strings)
            self.assertEqual((found[""], found[CAT], found[strings[0]].count("<b>")), ("", CAT_SAID, 1))
        keyed(self, Wagtail, lambda one: one.libretranslate([CAT]))

    def test_tools_of_translators(self):
        self.assertEqual(Weblate(self.open).download_languages(), ["en", "fr"])
        self.assertEqual(Weblate(self.open).translate(CAT, "fr", "en"), CAT_SAID)
        keyed(self, Weblate, lambda one: one.translate(CAT, "fr", "en"))
        client = WeblateDeepL(self.keyed, KEY)
        self.assertEqual(client.languages(), {("FR", "EN"), ("FR", "EN-GB"), ("FR", "EN-US")})
        texts = [f"Le chat de %s & {{n}} dort dans le jardin {i}." for i in range(20)]
        for text in client.translate(texts, "FR", "EN"):
            self.assertEqual((text.count("%s"), text.count("{n}"), text.count("amp;")), (1, 1, 0), text)
        for _ in range(2):  # the second replaces the first
            glossary = client.glossary("FR", "EN", "weblate:1:fr:en:abc", "chat\thound\n")
        self.assertEqual(len(client.request("GET", "glossaries")["glossaries"]), 1)
        self.assertIn("hound", client.translate([CAT], "FR", "EN", glossary_id=glossary)[0])
        with self.assertRaises(Refused) as failure:
            client.translate([CAT], "FR", "EN", formality="more")
        self.assertEqual(failure.exception.args, ("'formality' is not supported for given 'target_lang'.",))
        keyed(self, WeblateDeepL, lambda one: one.translate([CAT], "FR", "EN"))
        self.assertEqual(OmegaT(self.open).translate(CAT), CAT_SAID)
        text = OmegaT(self.open).translate("Le <g1>chien</g1> mange<t0/>.")
        self.assertEqual((text.count("<g1>dog</g1>"), text.count("<t0/>")), (1, 1), text)
        keyed(self, OmegaT, lambda one: one.translate(CAT))

    def test_readers_and_subtitles(self):
        client = Zotero(self.open)
        for call in (client.libretranslate, client.deepl, client.deepl_custom, client.mtranserver, client.nllb_serve):
            self.assertEqual(call(CAT), CAT_SAID, call)
        for stream in (False, True):
            self.assertEqual(client.nllb_api(CAT, stream).replace(" ", ""), CAT_SAID.replace(" ", ""))
        query = f"text={urllib.parse.quote(CAT + chr(13) + CAT + chr(13) + chr(10) + CAT)}&source=fra_Latn&target=eng_Latn"
        events = client.send("GET", f"/api/v4/translator/stream?{query}")[1]  # a carriage return ends a line, too
        self.assertEqual(re.split(rb"\r\n|\r|\n", events), [b"data: " + CAT_SAID.encode()] * 3 + [b"", b""])
        for service in ("libretranslate", "deepl", "mtranserver"):
            self.assertRegex(str(keyed(self, Zotero, lambda one: getattr(one, service)(CAT))), "Request error: 40[13]")
        client = SubtitleEdit(self.open)
        self.assertEqual(client.libretranslate(" " + CAT), CAT_SAID)
        self.assertEqual((client.deepl(CAT), client.deepl(CAT, formality="default")), (CAT_SAID, CAT_SAID))
        two = client.deepl(f"- {CAT}\r\n- Bonjour.")
        self.assertEqual((two.count("\n"), two.count("- ")), (1, 2))
        self.assertEqual(client.nllb_serve(f"{CAT}\n{CAT}"), f"{CAT_SAID}\n{CAT_SAID}")
        self.assertEqual(client.nllb_api(CAT), CAT_SAID)
        keyed(self, SubtitleEdit, lambda one: one.libretranslate(CAT))
        self.assertEqual(keyed(self, SubtitleEdit, lambda one: one.deepl(CAT)).args[0], "Forbidden!")
        self.assertEqual(Lingarr(self.open).translate(CAT, "fr", "en"), CAT_SAID)
        self.assertIn(b"zz is not supported", self.refusal(lambda: Lingarr(self.open).translate(CAT, "fr", "zz")).args[1])
        keyed(self, Lingarr, lambda one: one.translate(CAT, "fr", "en"))
        client = SillyTavern(self.open)
        for call in (client.libre, client.deepl, client.deeplx):
            self.assertEqual(call(CAT), CAT_SAID, call)
        self.assertEqual(client.libre('"Bonjour," *dit-elle* {{user}}.').count("{{user}}"), 1)
        keyed(self, SillyTavern, lambda one: one.libre(CAT))
        client = TranslateYou(self.open)
        self.assertEqual((client.languages(), client.translate(CAT, "", "en")), ({"en": "English", "fr": "French"}, (CAT_SAID, "fr")))
        self.assertEqual((client.translate(CAT, "fr", "en"), client.deepl(CAT)), ((CAT_SAID, None), CAT_SAID))
        keyed(self, TranslateYou, lambda one: one.translate(CAT, "fr", "en"))

    def test_libraries(self):
        client = DeepLPython(self.keyed, KEY)
        self.assertEqual(client.translate_text(CAT), [(CAT_SAID, "FR", len(CAT), None)])
        self.assertEqual(client.translate_text([CAT, CAT], source_lang="FR", split_sentences="nonewlines", preserve_formatting=False,
                                               model_type="prefer_quality_optimized")[1], (CAT_SAID, "FR", len(CAT), "quality_optimized"))
        self.assertEqual(client.languages(True), [("EN-GB", "English (British)", False), ("EN-US", "English (American)", False)])
        self.assertEqual(client.languages(False), [("FR", "French", None)])
        count, limit, documents = client.usage()
        self.assertTrue(limit > count and documents is None)
        self.assertEqual(client.document("chat.txt", CAT.encode()), CAT_SAID.encode())
        made, entries = client.glossary("pets", {"chat": "hound", "noir": "dark"})
        self.assertEqual((entries, made["ready"], made["entry_count"]), ({"chat": "hound", "noir": "dark"}, True, 2))
        for name, call in (("BadRequest", lambda: client.translate_text(CAT, target_lang="XX")), ("NotFound", lambda: client.call("GET", "/v2/glossaries/x")),
                           ("Authorization", lambda: DeepLPython(self.keyed, "wrong").usage())):
            self.assertEqual(self.refusal(call).args[0], name)
        client = LibreTranslatePy(self.open)
        self.assertEqual((client.translate(CAT, "fr", "en"), client.detect("Où est la gare ?")[0]["language"]), (CAT_SAID, "fr"))
        self.assertEqual([one["code"] for one in client.languages()], ["en", "fr"])
        self.assertEqual([one["code"] for one in LibreTranslatePy(self.open, "any").languages()], ["en", "fr"])
        keyed(self, LibreTranslatePy, lambda one: (one.translate(CAT, "fr", "en"), one.detect(CAT), one.languages()))

    def refusal(self, call):
        with self.assertRaises(Refused) as failure:
            call()
        return failure.exception


if __name__ == "__main__":
    main()
