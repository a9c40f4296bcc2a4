# SPDX-License-Identifier: ISC
"""Many clients at once are answered word for word as each is alone, whatever runs beside them."""
import json
import threading

from harness import MODELS_DIR, IntegrationTest, main
from ws_client import Socket

CLIENTS = 64
WORDS = ("le chat dort dans la maison il pleut depuis ce matin nous allons au marché acheter du pain et des fruits elle ne "
         "sait pas encore si ses amis viendront demain soir").split()


def sentence(i):
    """From 3 to 17 words, another one for each `i`."""
    return " ".join(WORDS[(i * 7 + k * (i + 3)) % len(WORDS)] for k in range(3 + i * 5 % 15)).capitalize() + "."


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

    def test_one_client_shuts_nobody_out(self):
        server = self.start("--models-dir=" + MODELS_DIR, "--threads=1", "--slots=4", "--max-sentences=600",
                            "--trusted-proxies=127.0.0.1")
        dear = {"type": "translate", "target": "en", "beam": 16, "min_length": 100, "cache": False}
        attacker, n_accepted, kinds = Socket(server, headers=["X-Forwarded-For: 192.0.2.1"]), 0, set()
        for i in range(200):
            attacker.send({**dear, "id": str(i), "text": " ".join(sentence(60 * i + k) for k in range(60))})
        while "error" not in kinds:  # all that he may have waiting waits
            message = attacker.receive()
            kinds.add(message["type"])
            n_accepted += message["type"] == "accepted"
            self.assertEqual(message.get("code", "overloaded"), "overloaded")
        self.assertGreater(n_accepted, 0)
        for address in ("192.0.2.2", "2001:db8:1:2::1"):
            status, _, body = server.request("GET", "/readyz", headers={"X-Forwarded-For": address})
            self.assertEqual(status, 200, body)
            for priority in ("interactive", "normal", "bulk"):
                status, _, body = server.request(
                    "POST", "/v1/translate", json.dumps({"text": [sentence(i) for i in range(5)], "target": "en",
                                                         "cache": False, "priority": priority}),
                    headers={"X-Forwarded-For": address})
                self.assertEqual(status, 200, body)
        attacker.close()


if __name__ == "__main__":
    main()
