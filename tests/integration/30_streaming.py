# SPDX-License-Identifier: ISC
"""Tokens as they come: server-sent events and the WebSocket dragoman.v1, with a client made from
the standard library."""
import json
import os
import socket
import struct
import sys

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for
from ws_client import Socket

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Endless, post  # noqa: E402

MODELS = f"--models-dir={MODELS_DIR}"
SENTENCES = ("Le chat dort.", "La maison est grande.", "Je vois un chien dans le jardin.", "Comment allez-vous ?",
             "Il fait beau aujourd'hui.")


class Streaming(IntegrationTest):
    def test_events_joined_are_the_answer(self):
        server = self.start(MODELS)
        body = {"text": [" ".join(SENTENCES), SENTENCES[2]], "target": "en"}
        plain = json.loads(server.request("POST", "/v1/translate", body=json.dumps(body))[2])
        status, headers, stream = server.request("POST", "/v1/translate", body=json.dumps({**body, "stream": True}))
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        texts, done = ["", ""], None
        for block in stream.decode().split("\n\n")[:-1]:
            _, name, data = (line.partition(": ")[2] for line in block.split("\n"))
            data = json.loads(data)
            if name == "token":
                texts[data["index"]] += data["text"]
            elif name == "done":
                done = data
        self.assertEqual(texts, [item["text"] for item in plain["translations"]])
        self.assertEqual(done["translations"], plain["translations"])

    def events(self, server, path, body, seen=None):
        """Returns (name, id, data) for each event of a stream; `seen` is the id of the last event
        that the client knows."""
        status, _, stream = server.request("POST", path, json.dumps({**body, "stream": True}),
                                           {"Last-Event-ID": seen} if seen else {})
        self.assertEqual(status, 200, stream)
        fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in stream.decode().split("\n\n")[:-1]]
        return [(each["event"], each["id"], json.loads(each["data"])) for each in fields]

    def check_goes_on(self, servers, path, body):
        """After any event of a stream, another server can go on, and nothing is lost or comes
        twice. This must hold for every event, so only texts and places are compared: a text from
        a cache comes in other pieces."""
        def story(events):
            texts, sentences = {}, []
            for name, _, data in events:
                at = data.get("index", 0)
                if name == "token":
                    texts[at] = texts.get(at, "") + data["text"]
                elif name == "sentence":
                    sentences.append((at, data["start"], data["length"], len(texts[at])))
            return texts, sorted(sentences)

        events = self.events(servers[0], path, body)
        self.assertEqual(events[-1][0], "done")
        for k, (_, seen, _) in enumerate(events):
            rest = self.events(servers[k % 2], path, body, seen)
            self.assertEqual(story(events[:k + 1] + rest[:-1]), story(events), seen)
            said = [{name: member for name, member in done.items() if name not in ("timing", "usage")}
                    for done in (events[-1][2], rest[-1][2])]
            self.assertEqual((rest[-1][0], said[1]), ("done", said[0]))
        return events

    def test_a_stream_goes_on_at_another_server(self):
        servers = [self.start(MODELS, "--threads=1") for _ in range(2)]
        self.check_goes_on(servers, "/v1/translate", {"text": " ".join(SENTENCES), "target": "en"})
        self.check_goes_on(servers, "/v1/translate", {"text": [" ".join(SENTENCES[:2]), SENTENCES[2], "", SENTENCES[3]],
                                                      "target": "en", "cache": False})
        self.check_goes_on(servers, "/v1/translate", {"text": "<p>Le chat <b>dort</b>.</p><p>Il mange.</p>", "target": "en",
                                                      "format": "html"})
        body = {"text": SENTENCES[0], "target": "en"}
        self.assertEqual(self.events(servers[0], "/v1/translate", {**body, "last_event_id": "1"})[0][0], "done")
        for seen, status, code in (("x", 400, "invalid_value"), ("0,1.5.0", 200, "stream_changed"),
                                   ("0,0.5000.12345678", 200, "stream_changed")):
            answer = servers[0].request("POST", "/v1/translate", json.dumps({**body, "stream": True}), {"Last-Event-ID": seen})
            self.assertEqual((answer[0], code in answer[2].decode(), b"token" in answer[2]), (status, True, False), answer)

    def test_a_socket_goes_on_at_another_server(self):
        servers = [self.start(MODELS, "--threads=1") for _ in range(2)]
        message = {"type": "translate", "id": "r", "text": " ".join(SENTENCES), "target": "en", "cache": False}

        def ask(ws, message):
            ws.send(message)
            said = [ws.receive()]
            while said[-1]["type"] not in ("done", "error"):
                said.append(ws.receive())
            return said

        first, second = (Socket(server) for server in servers)
        whole = ask(first, message)
        self.assertEqual(whole[-1]["event_id"], "1")
        for k, event in enumerate(whole[1:], start=2):
            again = ask(second, {**message, "last_event_id": event["event_id"]})
            both = whole[:k] + again[1:]
            self.assertEqual("".join(each["text"] for each in both if each["type"] == "token"), whole[-1]["text"])
            self.assertEqual([each["start"] for each in both if each["type"] == "sentence"],
                             [each["start"] for each in whole if each["type"] == "sentence"])
            self.assertEqual(again[-1]["text"], whole[-1]["text"])
        # The ids in an update are those of its whole text.
        longer = message["text"] + " Le chien mange."
        updated = ask(first, {"type": "update", "id": "r", "text": longer})
        again = ask(second, {**message, "text": longer, "last_event_id": updated[1]["event_id"]})
        self.assertEqual("".join(each["text"] for each in (updated[1], *again) if each["type"] == "token"), updated[-1]["text"])
        starts = [[each["start"] for each in said if each["type"] == "sentence"] for said in (updated, again)]
        self.assertEqual(starts[1], starts[0])  # sentences that were kept are not announced again
        for seen, code in (("x", "invalid_value"), ("0,0.3.0", "stream_changed")):
            self.assertEqual(ask(second, {**message, "last_event_id": seen})[-1]["code"], code)
        first.close()
        second.close()

    def test_two_hundred_on_one_socket(self):
        server = self.start(MODELS, "--threads=2")
        ws = Socket(server)
        self.assertIn(b"101 Switching Protocols", ws.head)
        self.assertIn(b"Sec-WebSocket-Protocol: dragoman.v1", ws.head)
        n = 200
        for i in range(n):
            ws.send({"type": "translate", "id": str(i), "target": "en", "beam": 1,
                     "text": " ".join(SENTENCES[(i + k) % 5] for k in range(3))})
        for i in range(0, n, 20):
            ws.send({"type": "cancel", "id": str(i)})
        for i in range(1, n, 20):
            ws.send({"type": "update", "id": str(i), "text": SENTENCES[0]})
        texts, done, cancelled = {}, {}, set()
        updates_due = {str(i): 2 for i in range(1, n, 20)}
        while len(cancelled) < 10 or len(done) < n - 10 or any(updates_due.values()):
            message = ws.receive()
            ident, kind = message["id"], message["type"]
            self.assertIn(kind, ("accepted", "token", "sentence", "done", "cancelled"), message)
            self.assertNotIn(ident, cancelled)
            if kind == "accepted":
                texts[ident] = ""
                done.pop(ident, None)
                if ident in updates_due:
                    updates_due[ident] -= 1
            elif kind == "token":
                texts[ident] += message["text"]
            elif kind == "done":
                self.assertEqual(message["text"], texts[ident])
                done[ident] = message
            elif kind == "cancelled":
                cancelled.add(ident)
                done.pop(ident, None)
        plain = server.request("POST", "/v1/translate",
                               body=json.dumps({"text": SENTENCES[0], "target": "en", "beam": 1}))[2]
        for ident in updates_due:
            self.assertEqual(done[ident]["text"], json.loads(plain)["translations"][0]["text"])
        ws.close()

    def test_an_update_translates_only_what_is_new(self):
        server = self.start(MODELS)
        ws = Socket(server)
        old = "Le chat dort dans la maison. Je vois un chien"
        new = "Le chat dort dans la maison. Je vois un chien dans le jardin."
        ws.send({"type": "translate", "id": "u", "text": old, "target": "en"})
        text, done = ws.until_done("u")
        self.assertEqual((text, done["usage"]["sentences"]), (done["text"], 2))
        ws.send({"type": "update", "id": "u", "text": new})
        text, done = ws.until_done("u")
        self.assertEqual((text, done["usage"]["sentences"]), (done["text"], 1))
        plain = server.request("POST", "/v1/translate", body=json.dumps({"text": new, "target": "en"}))[2]
        self.assertEqual(done["text"], json.loads(plain)["translations"][0]["text"])
        ws.send({"type": "update", "id": "u", "text": "Un chien dort."})
        text, done = ws.until_done("u")
        self.assertEqual((text, done["usage"]["sentences"]), (done["text"], 1))
        ws.close()

    def test_an_update_tells_of_the_whole_text(self):
        """The glossary's terms and the lost spans are those of the text as it is now, with places
        in that text."""
        server = self.start(MODELS)
        ws = Socket(server)
        first, second = "Le chat dort dans la maison. ", "Je vois un chien dans le jardin. "
        glossary = [{"source": "chat", "target": "hound"}, {"source": "chien", "target": "puppy"}]
        ws.send({"type": "translate", "id": "g", "text": first + "Je", "target": "en", "glossary": {"terms": glossary}})
        self.assertEqual([term["start"] for term in ws.until_done("g")[1]["terms"]], [3])
        ws.send({"type": "update", "id": "g", "text": first + second + "Oui."})
        text, done = ws.until_done("g")
        places = [(first + second).encode().index(word) for word in (b"chat", b"chien")]
        self.assertEqual(([term["start"] for term in done["terms"]], text), (places, done["text"]))
        for term in done["terms"]:
            said = done["text"].encode()[term["target_start"]:][:term["target_length"]].decode()
            self.assertEqual((term["used"], said.lower()), (True, term["target"]))
        ws.send({"type": "translate", "id": "l", "text": "Ouvrez {0} maintenant dans la maison. Je", "target": "en", "max_length": 1})
        lost = ws.until_done("l")[1].get("lost", [])
        ws.send({"type": "update", "id": "l", "text": "Ouvrez {0} maintenant dans la maison. Je vois un chien."})
        done = ws.until_done("l")[1]
        self.assertEqual(done.get("lost", []), lost)
        self.assertTrue("{0}" in done["text"] or lost == ["{0}"], done)
        ws.close()

    def test_an_update_is_held_to_the_limit_of_texts(self):
        server = self.start(MODELS, "--max-characters=40")
        ws = Socket(server)
        ws.send({"type": "translate", "id": "m", "text": "Le chat dort. Je", "target": "en"})
        ws.until_done("m")
        for kind in ("update", "translate"):
            ws.send({"type": kind, "id": "m", "text": "Le chat dort. " * 3, "target": "en"} if kind == "translate" else
                    {"type": kind, "id": "m", "text": "Le chat dort. " * 3})
            answer = ws.receive()
            self.assertEqual((answer["type"], answer["code"], answer["field"], answer["limit"]),
                             ("error", "limit_reached", "text", 40))
        ws.send({"type": "update", "id": "m", "text": "Le chat dort. Je dors."})
        text, done = ws.until_done("m")
        self.assertEqual((text, done["usage"]["sentences"]), (done["text"], 1))
        ws.close()

    def test_updates_of_a_text_without_blanks_take_linear_time(self):
        """The text's one word goes on to its end: the server does not search it again for every
        sentence."""
        server = self.start(MODELS)
        ws = Socket(server)
        text = "\u732b\u3002" * 8000
        ws.send({"type": "translate", "id": "c", "text": text + " a", "source": "fr", "target": "en"})
        whole = ws.until_done("c")[1]["text"]
        for _ in range(3):
            ws.send({"type": "update", "id": "c", "text": text + " a"})
            said, done = ws.until_done("c")
            self.assertEqual((said, done["text"]), (whole, whole))
        ws.close()

    def test_an_answer_may_be_larger_than_what_may_be_left_unread(self):
        server = self.start(MODELS)
        text = "1 " * 700000
        ws = Socket(server)
        ws.send({"type": "translate", "id": "l", "text": text, "source": "fr", "target": "en"})
        said, done = ws.until_done("l")
        self.assertEqual((done["type"], said, done["text"]), ("done", text, text))
        ws.close()
        status, _, stream = server.request("POST", "/v1/translate", body=json.dumps(
            {"text": text, "source": "fr", "target": "en", "stream": True}))
        self.assertEqual((status, stream.decode().rsplit("event: ", 1)[1][:4]), (200, "done"))

    def test_idle_ids_remember_within_a_bound(self):
        """The memory that many ids keep of large texts is bounded: the oldest are forgotten."""
        server = self.start(MODELS)
        ws = Socket(server)
        text = "1 " * 100000
        for i in range(12):
            ws.send({"type": "translate", "id": str(i), "text": text, "source": "fr", "target": "en"})
            ws.until_done(str(i))
        ws.send({"type": "update", "id": "0", "text": "Le chat dort."})
        self.assertEqual(ws.receive()["code"], "no_such_id")
        ws.send({"type": "update", "id": "11", "text": "Le chat dort."})
        self.assertEqual(ws.until_done("11")[1]["type"], "done")
        ws.close()

    def test_wrong_messages_get_errors_and_leave_the_socket_open(self):
        server = self.start(MODELS)
        ws = Socket(server)
        for message, code, field in (
                (b"{", "invalid_json", None), (b"[]", "invalid_value", None),
                ({"type": "translate"}, "missing_field", "id"), ({"type": "x", "id": "1"}, "invalid_value", "type"),
                ({"type": "translate", "id": 5, "text": "a"}, "invalid_value", "id"),
                ({"type": "translate", "id": "1", "text": "a", "target": "en", "beam": 99}, "out_of_range", "beam"),
                ({"type": "translate", "id": "1", "text": "a", "target": "xx"}, "no_such_model", None),
                ({"type": "translate", "id": "1", "target": "en"}, "missing_field", "text"),
                ({"type": "translate", "id": "1", "text": "a"}, "missing_field", "target"),
                ({"type": "translate", "id": "1", "text": "a", "target": "en", "baem": 1}, "invalid_value", "baem"),
                ({"type": "update", "id": "1", "text": "a", "baem": 1}, "invalid_value", "baem"),
                ({"type": "update", "id": "zzz", "text": "a"}, "no_such_id", None),
                ({"type": "cancel", "id": "zzz"}, "no_such_id", None)):
            ws.send(message)
            answer = ws.receive()
            self.assertEqual((answer["type"], answer["code"], answer.get("field")), ("error", code, field), message)
        ws.send({"type": "translate", "id": "1", "text": SENTENCES[0], "target": "en"})
        self.assertEqual(ws.until_done("1")[1]["type"], "done")
        ws.close()

    def test_another_sub_protocol_is_refused(self):
        server = self.start(MODELS)
        ws = Socket(server, protocol="chat")
        self.assertIn(b" 400 ", ws.head)
        ws.close()

    def test_a_stop_tells_1001(self):
        server = self.start(MODELS)
        ws = Socket(server)
        server.signal(15)
        opcode, payload = ws.frame()
        self.assertEqual((opcode, struct.unpack(">H", payload[:2])[0]), (8, 1001))
        ws.send(payload[:2], opcode=8)
        ws.close()
        self.assertEqual(server.wait(), 0)

    def test_a_client_that_leaves_frees_its_work(self):
        server = self.start(MODELS, "--threads=1")
        ws = Socket(server)
        for i in range(50):
            ws.send({"type": "translate", "id": str(i), "text": " ".join(SENTENCES) * 20, "target": "en",
                     "cache": False})
        client = Endless(server.port(), post("/v1/translate", {"text": [" ".join(SENTENCES) * 10] * 20, "target": "en",
                                                               "cache": False})).start()
        self.addCleanup(client.leave)
        busy = lambda: "dragoman_sentences_running 0\n" not in server.request("GET", "/metrics")[2].decode()
        wait_for(busy, "work")
        ws.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ws.close()
        client.leave()
        wait_for(lambda: not busy(), "the end of work that nobody wants")


if __name__ == "__main__":
    main()
