#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Bodies and messages that are read outside the event loop, and answers that are written there:
they get the same answers, errors and order as short ones, and a client that leaves does no harm."""
import json
import socket
import urllib.parse

from harness import MODELS_DIR, IntegrationTest, main, wait_for
from ws_client import Socket

MODELS = f"--models-dir={MODELS_DIR}"
TEXT = "Le chat dort."
LONG = TEXT + "\n" * 150_000 # white space is not translated


def apis(text):
    """(path, type, body, where the answer has the translation) for every API that takes a body."""
    chat = {"model": "fr-en", "messages": [{"role": "user", "content": text}]}
    rows = [
        ("/v1/translate", {"text": text, "source": "fr", "target": "en"}, ("translations", 0, "text")),
        ("/translate", {"q": text, "source": "fr", "target": "en"}, ("translatedText",)),
        ("/translate", {"q": [text, TEXT], "source": "fr", "target": "en"}, ("translatedText", 0)),
        ("/translate", {"text": text, "source_lang": "FR", "target_lang": "EN"}, ("data",)),
        ("/translate", {"text": text, "from": "fr", "to": "en"}, ("result",)),
        ("/translate", {"texts": [text], "from": "fr", "to": "en"}, ("translations", 0, "text")),
        ("/translate", {"text_list": [text], "source_lang": "fr", "target_lang": "en"}, ("translations", 0, "text")),
        ("/translate", {"source": [text], "src_lang": "fra_Latn", "tgt_lang": "eng_Latn"}, ("translation", 0)),
        ("/translate/batch", {"texts": [text], "from": "fr", "to": "en"}, ("results", 0)),
        ("/api/v4/translator", {"text": text, "source": "fra_Latn", "target": "eng_Latn"}, ("result",)),
        ("/language/translate/v2", {"q": text, "source": "fr", "target": "en", "format": "text"},
         ("data", "translations", 0, "translatedText")),
        ("/api/translate", {"source": text, "from": "fr", "to": "en"}, ("translation",)),
        ("/v2/translate", {"text": [text], "source_lang": "FR", "target_lang": "EN"}, ("translations", 0, "text")),
        ("/v1/chat/completions", chat, ("choices", 0, "message", "content")),
    ]
    for path, body, place in rows:
        yield path, "application/json", json.dumps(body), place
    form = {"q": text, "source": "fr", "target": "en"}
    yield "/translate", "application/x-www-form-urlencoded", urllib.parse.urlencode(form), ("translatedText",)


def shape(value):
    """An answer without its texts."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


class Large(IntegrationTest):
    def ask(self, server, path, kind, body):
        status, _, answer = server.request("POST", path, body, {"Content-Type": kind})
        return status, json.loads(answer)

    def test_every_api_answers_long_requests_like_short_ones(self):
        server = self.start(MODELS)
        for short, long in zip(apis(TEXT), apis(LONG)):
            path, kind, body, place = long
            status, answer = self.ask(server, path, kind, body)
            self.assertEqual(status, 200, (path, answer))
            for step in place:
                answer = answer[step]
            _, expected = self.ask(server, *short[:3])
            for step in place:
                expected = expected[step]
            self.assertEqual(answer.rstrip("\n"), expected, path)
            if kind == "application/json":
                self.assertEqual(len(answer) - len(expected), len(LONG) - len(TEXT), path)

    def test_what_is_wrong_is_told_alike(self):
        server = self.start(MODELS)
        for short, long in zip(apis(TEXT), apis(LONG)):
            path, kind, body, _ = long
            if kind != "application/json":
                continue
            status, answer = self.ask(server, path, kind, body[:-1])
            short_status, short_answer = self.ask(server, path, kind, short[2][:-1])
            self.assertEqual((status, shape(answer)), (short_status, shape(short_answer)), path)
            self.assertIn(status, (400, 422), path)

    def test_clients_that_leave_disturb_nobody(self):
        server = self.start(MODELS)
        for path, kind, body, _ in apis(LONG):
            data = body.encode()
            head = (f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(data)}\r\n\r\n").encode()
            connection = server.connect()
            connection.sendall(head + data)
            connection.close()
        wait_for(lambda: "dragoman_connections 1\n" in server.request("GET", "/metrics")[2].decode(), "them to be gone")
        self.assertEqual(self.ask(server, *next(apis(TEXT))[:3])[0], 200)

    def test_messages_of_a_socket_keep_their_order(self):
        server = self.start(MODELS)
        client = Socket(server)
        client.send({"type": "translate", "id": "a", "text": LONG, "target": "en"})
        client.send({"type": "cancel", "id": "a"})
        client.send({"type": "cancel", "id": "b"})
        client.send({"type": "translate", "id": "b", "text": LONG, "target": "en"})
        client.send({"type": "update", "id": "b", "text": LONG + "Merci."})
        client.send(b'{"type":"translate","id":"c","text":"' + b" " * 100_000)
        client.send({"type": "translate", "id": "d", "text": TEXT, "target": "en"})
        kinds = []
        of_b = []
        while ("done", "d") not in kinds or of_b.count("accepted") < 2 or of_b[-1] != "done":
            message = client.receive()
            kinds.append((message["type"], message.get("id")))
            of_b = [kind for kind, ident in kinds if ident == "b"]
        self.assertLess(kinds.index(("cancelled", "a")), kinds.index(("error", "b")), kinds) # nothing to cancel yet
        self.assertLess(kinds.index(("error", "b")), kinds.index(("accepted", "b")), kinds)
        self.assertLess(kinds.index(("error", None)), kinds.index(("accepted", "d")), kinds)
        client.close()

    def test_large_answers_say_what_small_ones_do(self):
        server = self.start(MODELS)
        ask = {"source": "fr", "target": "en", "tokens": True, "alignment": True}
        _, small = self.ask(server, "/v1/translate", "application/json", json.dumps({**ask, "text": TEXT}))
        words = ("text", "tokens", "alignment", "finish")
        sentence = small["translations"][0]["sentences"][0]
        length = len(sentence["alignment"])
        many = 3000
        body = {**ask, "text": "\n".join([TEXT] * many)}

        def check(item, at):
            self.assertEqual(item["text"], "\n".join([small["translations"][0]["text"]] * many), at)
            self.assertEqual(len(item["sentences"]), many, at)
            for i, one in enumerate(item["sentences"]):
                self.assertEqual([one[word] for word in words if word != "alignment"],
                                 [sentence[word] for word in words if word != "alignment"], at)
                self.assertEqual(len(one["alignment"]), length, at)
                self.assertEqual(one["start"], i * (len(TEXT) + 1), at)

        status, answer = self.ask(server, "/v1/translate", "application/json", json.dumps(body))
        self.assertEqual(status, 200)
        check(answer["translations"][0], "whole")
        _, _, events = server.request("POST", "/v1/translate", json.dumps({**body, "stream": True}))
        done = events.decode().rpartition("event: done\ndata: ")[2]
        self.assertEqual(done[-2:], "\n\n")
        check(json.loads(done)["translations"][0], "stream")
        client = Socket(server)
        client.send({"type": "translate", "id": "a", **body})
        check(client.until_done("a")[1], "socket")
        client.close()
        for _ in range(3): # clients that leave while their request is under way
            connection = server.connect()
            data = json.dumps(body).encode()
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(data), data))
            connection.recv(100)
            connection.close()
        self.assertEqual(self.ask(server, *next(apis(TEXT))[:3])[0], 200)

    def test_sockets_may_close_and_the_server_may_stop_meanwhile(self):
        server = self.start(MODELS)
        for _ in range(5):
            client = Socket(server)
            client.send({"type": "translate", "id": "a", "text": LONG, "target": "en"})
            client.send({"type": "update", "id": "a", "text": LONG})
            client.connection.shutdown(socket.SHUT_WR)
            client.close()
        client = Socket(server)
        client.send({"type": "translate", "id": "a", "text": LONG, "target": "en"})
        client.send({"type": "translate", "id": "b", "text": LONG, "target": "en"})
        self.assertEqual(server.stop(), 0)
        client.close()


if __name__ == "__main__":
    main()
