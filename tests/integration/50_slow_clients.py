# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Clients that are slow, many or silent: the server cuts them off, and no other client notices."""
import contextlib
import json
import socket
import time

from harness import MODELS_DIR, IntegrationTest, main, wait_for
from ws_client import Socket


class SlowClients(IntegrationTest):
    def closed(self, connection):
        """Reads until the server closes the connection; returns what it sent."""
        said = b""
        try:
            while True:
                part = connection.recv(65536)
                if not part:
                    return said
                said += part
        except ConnectionResetError:
            return said

    def test_half_open_requests_harm_nobody(self):
        server = self.start("--head-timeout=3s")
        slow = []
        for _ in range(1000):  # each has its own three seconds
            slow.append(server.connect())
            slow[-1].sendall(b"GET /healthz HTTP/1.1\r\nHo")
        for _ in range(50):
            self.assertEqual(server.request("GET", "/healthz")[0], 200)
        said = [self.closed(connection) for connection in slow]
        self.assertEqual(sum(text.startswith(b"HTTP/1.1 408 ") for text in said), len(slow))
        for connection in slow:
            connection.close()

    def test_a_trickled_body_is_cut_off(self):
        server = self.start("--body-timeout=1s")
        with server.connect() as connection:
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
            started = time.monotonic()
            try:
                while time.monotonic() - started < 30:
                    connection.sendall(b"x")
                    time.sleep(0.2)
                    connection.setblocking(False)
                    try:
                        answer = connection.recv(4096)
                        break
                    except BlockingIOError:
                        connection.setblocking(True)
                else:
                    self.fail("the body was waited for")
            except (BrokenPipeError, ConnectionResetError):
                answer = b"HTTP/1.1 408 "
            self.assertTrue(answer.startswith(b"HTTP/1.1 408 "), answer)

    def test_idle_connections_end(self):
        server = self.start("--idle-timeout=1s")

        def is_answered_and_closed():
            with server.connect() as connection:
                with contextlib.suppress(ConnectionError):  # the server closed before we were done
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                return self.closed(connection).startswith(b"HTTP/1.1 200 ")

        wait_for(is_answered_and_closed, "a connection that was open for an answer, and no longer")

    def test_too_many_connections_are_turned_away(self):
        server = self.start("--max-connections=5")
        held = [server.connect() for _ in range(5)]
        for connection in held:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            connection.recv(65536)
        with server.connect() as sixth:
            self.assertTrue(self.closed(sixth).startswith(b"HTTP/1.1 503 "))
        for connection in held:
            connection.close()

    def test_a_client_that_reads_nothing_is_cut_off(self):
        """Pipelines requests and never reads: the amount of unsent answers stays bounded, and the
        server closes the connection."""
        server = self.start("--write-timeout=1s", "--access-log=no")
        with server.connect() as connection:
            request = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n" * 100
            sent = 0
            try:
                while sent < 50_000_000:
                    sent += connection.send(request)
                self.fail("the server took everything")
            except (ConnectionResetError, BrokenPipeError):
                pass
        self.assertEqual(server.request("GET", "/healthz")[0], 200)
        text = server.request("GET", "/metrics")[2].decode()
        self.assertIn("dragoman_connections_stalled_total 1\n", text)

    def test_streams_that_nobody_reads_are_cut_off(self):
        """Server-sent events and a WebSocket whose clients never read; the sentences come from the cache, so that there
        is much to send at once."""
        server = self.start(f"--models-dir={MODELS_DIR}", "--write-timeout=1s")
        text = "Le chat dort. " * 6000
        body = json.dumps({"text": [text] * 4, "target": "en", "stream": True, "tokens": True}).encode()
        stalled = lambda n: wait_for(
            lambda: f"dragoman_connections_stalled_total {n}\n" in server.request("GET", "/metrics")[2].decode(),
            f"{n} clients that were cut off")
        with server.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            stalled(1)
        ws = Socket(server)
        ws.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionError):  # it may be cut off before we have asked for all
            for i in range(4):
                ws.send({"type": "translate", "id": str(i), "text": text, "target": "en", "tokens": True})
        stalled(2)
        ws.close()
        wait_for(lambda: "dragoman_sentences_running 0\n" in server.request("GET", "/metrics")[2].decode(),
                 "the end of work that nobody wants")
        self.assertEqual(server.request("GET", "/healthz")[0], 200)


if __name__ == "__main__":
    main()
