# SPDX-License-Identifier: ISC
"""Many clients at once get word for word the answers that each would get alone, whatever else is
running."""
import json
import re
import threading

from harness import MODELS_DIR, IntegrationTest, main, wait_for
from ws_client import Socket

CLIENTS = 64
WORDS = ("le chat dort dans la maison il pleut depuis ce matin nous allons au marché acheter du pain et des fruits elle ne "
         "sait pas encore si ses amis viendront demain soir").split()


def sentence(i):
    """A sentence of 3 to 17 words, another one for each `i`."""
    return " ".join(WORDS[(i * 7 + k * (i + 3)) % len(WORDS)] for k in range(3 + i * 5 % 15)).capitalize() + "."


def long_text(i):
    """A text of 60 sentences."""
    return " ".join(sentence(60 * i + k) for k in range(60))


DEAR = {"target": "en", "beam": 16, "min_length": 100, "cache": False}


def ask(server, i):
    status, _, body = server.request("POST", "/v1/translate", json.dumps(
        {"text": sentence(i), "target": "en", "cache": False, "stream": i % 2 == 0, "beam": 1 + i % 4}))
    assert status == 200, body
    if i % 2:
        answer = json.loads(body)
        return answer["translations"][0]["text"], answer["usage"]["output_tokens"]
    done = json.loads(body.decode().rpartition("event: done\ndata: ")[2])
    return done["translations"][0]["text"], done["usage"]["output_tokens"]


class UnderLoad(IntegrationTest):
    def test_the_answers_are_those_of_an_idle_server(self):
        server = self.start("--models-dir=" + MODELS_DIR, "--slots=16")
        idle = [ask(server, i) for i in range(CLIENTS)]
        busy = [None] * CLIENTS
        gate = threading.Barrier(CLIENTS)

        def one(i):
            gate.wait()
            busy[i] = ask(server, i)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(busy, idle)

    def check_others(self, server):
        for address in ("192.0.2.2", "2001:db8:1:2::1"):
            status, _, body = server.request("GET", "/readyz", headers={"X-Forwarded-For": address})
            self.assertEqual(status, 200, body)
            for priority in ("interactive", "normal", "bulk"):
                status, _, body = server.request(
                    "POST", "/v1/translate", json.dumps({"text": [sentence(i) for i in range(5)], "target": "en",
                                                         "cache": False, "priority": priority}),
                    headers={"X-Forwarded-For": address})
                self.assertEqual(status, 200, body)

    def number(self, server, name):
        _, _, page = server.request("GET", "/metrics")
        return int(re.search(rf"^dragoman_{name} (\d+)$", page.decode(), re.M).group(1))

    def start_small(self):
        return self.start("--models-dir=" + MODELS_DIR, "--threads=1", "--slots=4", "--max-sentences=600",
                          "--trusted-proxies=127.0.0.1")

    def test_one_client_shuts_nobody_out(self):
        server, sockets = self.start_small(), []
        body = json.dumps({**DEAR, "text": " ".join(long_text(i) for i in range(12))}).encode()  # some 35 of them are held back
        while self.number(server, "sentences_refused_total") == 0:  # until its queue is full
            sockets.append(server.connect())
            sockets[-1].sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                                b"X-Forwarded-For: 192.0.2.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        self.check_others(server)
        for one in sockets:
            one.close()

    def test_requests_beyond_that_wait(self):
        """Plain requests and streams, sent as messages; a client that leaves meanwhile costs
        nothing, and the others go on."""
        server, sockets = self.start_small(), []
        for i in range(20):
            body = json.dumps({**DEAR, "text": long_text(i), "stream": i % 2 == 0}).encode()
            sockets.append(server.connect())
            sockets[-1].sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                                b"X-Forwarded-For: 192.0.2.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        for one in sockets[::2]:
            self.assertIn(b" 200 ", one.recv(65536))  # the head of a stream; all requests but the last were read by now
        n_begun = self.number(server, "sentences_waiting") + self.number(server, "sentences_running")
        self.assertLess(n_begun, 4 * 60)  # of 1,200
        self.check_others(server)
        for one in sockets:
            one.close()
        wait_for(lambda: self.number(server, "sentences_waiting") + self.number(server, "sentences_running") == 0, "the end")
        self.assertEqual(self.number(server, "sentences_refused_total"), 0)

    def test_a_client_with_much_under_way_begins_no_more(self):
        server = self.start_small()
        attacker = Socket(server, headers=["X-Forwarded-For: 192.0.2.1"])
        for i in range(40):
            attacker.send({**DEAR, "type": "translate", "id": str(i), "text": long_text(i)})
        left, kinds = 40, []
        while left > 0:
            message = attacker.receive()
            left -= message["type"] in ("accepted", "error")
            kinds.append(message.get("code", message["type"]))
        self.assertEqual(kinds.count("accepted"), 40)  # none was refused for lack of room
        n_begun = self.number(server, "sentences_waiting") + self.number(server, "sentences_running")
        self.assertLess(n_begun, 4 * 60)  # of 2,400
        self.check_others(server)
        for i in range(40):
            attacker.send({"type": "cancel", "id": str(i)})  # tasks that have not begun, too; some may be done
        attacker.send({"type": "translate", "id": "last", "text": sentence(0), "target": "en", "beam": 1})
        text, done = attacker.until_done("last")
        self.assertEqual((done["type"], text), ("done", ask(server, 0)[0]))
        attacker.close()


if __name__ == "__main__":
    main()
