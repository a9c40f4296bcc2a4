# SPDX-License-Identifier: ISC
"""memory-limit counts requests under way, above all their bodies: no client makes the server exceed
it by sending slowly, and none gets all of it."""
import json
import re
import socket

from harness import MODELS_DIR, PROGRAM, IntegrationTest, main, wait_for
from ws_client import Socket

MIB = 2**20
LIMIT = 96
OPTIONS = ("--threads=1", "--slots=1", "--cache-size=1MiB", f"--memory-limit={LIMIT}MiB", f"--models-dir={MODELS_DIR}")

# A small request of each API, and the place of the message in its answer.
FOREIGN = [
    ("/v1/translate", "application/json", lambda answer: answer["error"]["message"]),
    ("/translate", "application/json", lambda answer: answer["error"]),
    ("/v2/translate", "application/json", lambda answer: answer["message"]),
    ("/v1/chat/completions", "application/json", lambda answer: answer["error"]["message"]),
    ("/api/chat", "application/json", lambda answer: answer["error"]),
    ("/language/translate/v2", "application/json", lambda answer: answer["error"]["message"]),
]


def head(path, length, kind="application/json"):
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\n{size}\r\n\r\n".encode()


def read_answer(connection):
    """Status, headers and body of the answer that closes the connection."""
    said = b""
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionError:
            break
        if not part:
            break
        said += part
    before, _, body = said.partition(b"\r\n\r\n")
    lines = before.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
    return int(lines[0].split()[1]) if said else 0, headers, body


class MemoryOfBodies(IntegrationTest):
    def begin(self):
        server = self.start(*OPTIONS)
        self.held = []
        self.addCleanup(lambda: [connection.close() for connection in self.held])
        return server

    def number(self, server, name):
        text = server.request("GET", "/metrics")[2].decode()
        return float(re.search(rf"^dragoman_{name} (\S+)$", text, re.M).group(1))

    def from_address(self, server, i):
        """A connection from an address of its own for each `i`, so that each is another client."""
        connection = socket.create_connection(("127.0.0.1", server.port()), timeout=60, source_address=(f"127.0.1.{i + 1}", 0))
        self.held.append(connection)
        return connection

    def fill(self, server):
        """Clients that announce bodies and send nothing, until less than 8 KiB are left."""
        left = self.number(server, "buffers_bytes_max") - self.number(server, "buffers_bytes")
        for i in range(40):
            if left < 8000:
                return
            announced = int(left * 0.48)
            before = self.number(server, "bodies_bytes")
            connection = self.from_address(server, i)
            connection.sendall(head("/v1/translate", min(announced, 2 * MIB)))
            wait_for(lambda: self.number(server, "bodies_bytes") > before, "the body that is announced to count")
            left = self.number(server, "buffers_bytes_max") - self.number(server, "buffers_bytes")
        self.fail("there is always room")

    def resident(self, server):
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) / 1024

    def is_sanitized(self):
        with open(PROGRAM, "rb") as file:
            return re.search(rb"__(asan|tsan|msan)_init", file.read())

    def test_sixty_stalled_bodies_do_not_pass_the_limit(self):
        server = self.begin()
        stalled = [self.from_address(server, i) for i in range(60)]
        body = b" " * (2 * MIB - 1)
        for connection in stalled:
            connection.setblocking(True)
            try:
                connection.sendall(head("/v1/translate", 2 * MIB) + body)
            except ConnectionError:
                pass  # refused, and closed before all was sent
        most = self.number(server, "buffers_bytes_max")
        self.assertGreaterEqual(most, 4 * MIB)
        self.assertGreater(self.number(server, "bodies_bytes"), 2 * MIB)
        self.assertLessEqual(self.number(server, "bodies_bytes"), most)
        self.assertGreaterEqual(self.number(server, "bodies_refused_total"), 57)
        if not self.is_sanitized():
            self.assertLess(self.resident(server), LIMIT)
        # The server meanwhile serves other clients.
        status, _, answer = server.request("POST", "/v1/translate", json.dumps(
            {"text": "Bonjour.", "source": "fr", "target": "en"}))
        self.assertEqual((status, len(json.loads(answer)["translations"])), (200, 1))
        for connection in stalled:
            connection.close()
        wait_for(lambda: self.number(server, "bodies_bytes") == 0, "the memory of bodies to come back")

    def test_one_client_leaves_half(self):
        server = self.begin()
        most = self.number(server, "buffers_bytes_max")
        for _ in range(2):
            mine = self.from_address(server, 0)
            mine.sendall(head("/v1/translate", 2 * MIB))
        status, headers, body = read_answer(mine)
        self.assertEqual((status, headers["retry-after"]), (503, "1"))
        self.assertIn("memory-limit", json.loads(body)["error"]["message"])
        wait_for(lambda: self.number(server, "bodies_bytes") >= 2 * MIB, "the first to count")
        self.from_address(server, 1).sendall(head("/v1/translate", int(most / 4)))
        wait_for(lambda: self.number(server, "bodies_bytes") >= 2 * MIB + int(most / 4), "another client's to count")

    def test_each_api_says_it_in_its_own_words(self):
        server = self.begin()
        self.fill(server)
        for path, kind, sentence in FOREIGN:
            with self.subTest(path=path):
                with socket.create_connection(("127.0.0.1", server.port()), timeout=60) as connection:
                    connection.sendall(head(path, 16000, kind))
                    status, headers, body = read_answer(connection)
                self.assertEqual((status, headers["retry-after"]), (503, "1"), body)
                self.assertIn("json", headers["content-type"])
                self.assertTrue(sentence(json.loads(body)), body)
        self.assertEqual(server.request("GET", "/healthz")[0], 200)

    def test_a_body_of_unknown_length_is_refused_when_it_has_grown(self):
        server = self.begin()
        self.fill(server)
        with socket.create_connection(("127.0.0.1", server.port()), timeout=60) as connection:
            connection.sendall(head("/v1/translate", None) + b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            status, headers, body = read_answer(connection)
        self.assertEqual((status, headers["retry-after"]), (503, "1"))
        self.assertEqual(json.loads(body)["error"]["code"], "overloaded")

    def test_a_body_that_could_never_be_taken_is_too_large(self):
        server = self.start(*OPTIONS, "--max-body=64MiB")
        most = self.number(server, "buffers_bytes_max")
        with server.connect() as connection:
            connection.sendall(head("/v1/translate", int(most)))
            status, _, body = read_answer(connection)
        self.assertEqual(status, 413)
        self.assertEqual(json.loads(body)["error"]["limit"], (most - most // 8 + 1) // 2)

    def test_connections_with_half_a_head_shut_nobody_out(self):
        server = self.begin()
        most = self.number(server, "buffers_bytes_max")
        for i in range(int(most // 8000)):
            connection = self.from_address(server, i % 200)
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nX-Long: " + b"x" * 15000)
            if i % 50 == 49 and self.number(server, "buffers_bytes") > most:
                break
        wait_for(lambda: self.number(server, "buffers_bytes") > most, "the memory to be taken")
        status, _, answer = server.request("POST", "/v1/translate", body=json.dumps({"text": "Le chat dort.", "target": "en"}))
        self.assertEqual(status, 200, answer)

    def test_a_message_for_which_there_is_no_memory_closes_with_1013(self):
        server = self.begin()
        stream = Socket(server)
        self.fill(server)
        stream.connection.sendall(b"\x81\xfe\xff\x00\0\0\0\0x")  # the first of 65,280 bytes
        opcode, payload = stream.frame()
        self.assertEqual((opcode, int.from_bytes(payload[:2], "big")), (8, 1013))
        self.assertIn(b"memory-limit", payload)
        stream.close()

    def test_an_answer_to_score_takes_no_more_than_is_left(self):
        server = self.begin()
        text = "Le chat dort. " * 12
        request = {"text": [text] * 400, "translation": ["The cat sleeps. " * 12] * 400, "source": "fr", "target": "en",
                   "attention": True, "tokens": True}
        status, headers, body = server.request("POST", "/v1/score", json.dumps(request))
        self.assertEqual((status, headers["Retry-After"]), (503, "1"))
        self.assertIn("memory-limit", json.loads(body)["error"]["message"])
        request.update(text=text, translation="The cat sleeps.")
        self.assertEqual(server.request("POST", "/v1/score", json.dumps(request))[0], 200)

    def test_the_lines_of_a_job_count_while_it_runs(self):
        server = self.start(*OPTIONS, f"--jobs-dir={self.directory}/jobs")
        lines = "".join(f"Le chat numéro {i} dort sur le canapé du salon.\n" for i in range(20000))  # minutes of work
        status, _, body = server.request("POST", "/v1/jobs?target=en&beam=4", lines.encode(), {"Content-Type": "text/plain"})
        self.assertEqual(status, 201, body)
        wait_for(lambda: self.number(server, "buffers_bytes") >= 256 * 1024, "what is read of the job to count")
        self.assertEqual(server.request("DELETE", f"/v1/jobs/{json.loads(body)['id']}")[0], 204)
        wait_for(lambda: self.number(server, "buffers_bytes") < 128 * 1024, "its memory to come back")


if __name__ == "__main__":
    main()
