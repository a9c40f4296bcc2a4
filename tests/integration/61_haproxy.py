# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Three servers behind HAProxy with conf/haproxy.cfg: one dies under load, one drains, and no
request is lost; a client sees that its stream broke off and can resume it."""
import json
import os
import re
import signal
import socket
import sys

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, free_ports, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Connection, Load, post  # noqa: E402
from proxy import Proxy, conf_file, with_ports  # noqa: E402

MODELS = MODELS_DIR
TEXT = " ".join(f"Je vois {n} chats dans le jardin." for n in range(2, 15000))  # with a beam, a minute's work on any machine


class Agent(IntegrationTest):
    """What HAProxy's agent-check reads."""

    def said(self, server):
        port = int(re.search(r"agent-check is answered\" port=(\d+)", server.log()).group(1))
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as client:
            return b"".join(iter(lambda: client.recv(100), b"")).decode()

    def test_each_worker_is_worth_the_same_and_who_drains_nothing(self):
        start = lambda threads: self.start(f"--models-dir={MODELS}", f"--threads={threads}", "--agent-listen=127.0.0.1:0")
        one, two = start(1), start(2)
        self.assertEqual((self.said(one), self.said(two)), ("up ready 25%\n", "up ready 50%\n"))
        client = Connection(one.port())  # its request is under way until it leaves
        try:
            client.socket.sendall(post("/v1/translate", {"text": TEXT, "target": "en", "stream": True, "beam": 8}))
            self.assertTrue(client.socket.recv(1))
            one.signal(signal.SIGTERM)
            one.wait_for_log("finishing running requests")
            self.assertEqual(self.said(one), "up drain\n")
        finally:
            client.close()


class BehindHaproxy(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.port, *self.ports = free_ports(4)
        path = os.path.join(self.directory, "haproxy.cfg")
        text = with_ports(conf_file("haproxy.cfg"), dict(zip(range(8090, 8094), (self.port, *self.ports))))
        with open(path, "w", encoding="utf-8") as file: # fewer connections: the descriptors may be few here
            file.write(text.replace("maxconn 4000", "maxconn 200"))
        # The servers first: HAProxy takes every server for up until a check fails, so that none of
        # them ever has to come up.
        self.upstream = [self.start_one(port) for port in self.ports]
        self.proxy = Proxy(self, ["haproxy", "-db", "-f", path], self.port)

    def start_one(self, port):
        return self.start(f"--models-dir={MODELS}", "--trusted-proxies=127.0.0.1", "--threads=1", "--access-log=no",
                          listen=(f"127.0.0.1:{port}",))

    def kill(self, n):
        """What a crash or the kernel's out-of-memory killer does."""
        self.upstream[n].expected_codes = (-signal.SIGKILL,)
        self.upstream[n].signal(signal.SIGKILL)
        self.upstream[n].wait()

    def test_no_request_is_lost_when_servers_die_and_drain(self):
        load = Load(self.port, lambda n: post("/v1/translate", {"text": f"J'ai {n % 20} ans.", "target": "en"}),
                    total=None).start()
        try:
            load.more(500)
            for n, end in ((1, self.kill), (0, lambda n: self.upstream[n].stop()), (2, self.kill)):
                end(n)
                load.more(500)
                self.wait_for_proxy(n, "DOWN")
                self.upstream[n] = self.start_one(self.ports[n])
                self.wait_for_proxy(n, "UP")
        finally:
            load.stop()
        self.assertEqual(load.failures, [], self.proxy.log())

    def wait_for_proxy(self, n, state):
        """Waits until HAProxy's last report on this server is UP or DOWN. HAProxy reports only
        changes."""
        said = f"Server dragoman/{('one', 'two', 'three')[n]} is "
        wait_for(lambda: self.proxy.log().rpartition(said)[2].startswith(state), said + state)

    def stream(self, port, text, until):
        """The answer's bytes as they come; stops when until(bytes) is true."""
        connection = Connection(port)
        self.addCleanup(connection.close)
        connection.socket.sendall(post("/v1/translate", {"text": text, "target": "en", "stream": True, "beam": 8}))
        data = b""
        while not until(data):
            part = connection.socket.recv(65536)
            if not part:
                break
            data += part
        return connection, data

    def busy(self):
        """The numbers of the servers that translate something."""
        return [n for n, server in enumerate(self.upstream)
                if re.search(rb"^dragoman_sentences_running [1-9]", server.request("GET", "/metrics")[2], re.M)]

    def test_a_request_too_large_to_be_sent_again_is_to_be_tried_again(self):
        connection = Connection(self.port)
        self.addCleanup(connection.close)
        connection.socket.sendall(post("/v1/translate", {"text": TEXT, "target": "en", "beam": 8}))
        found = []
        wait_for(lambda: found.extend(self.busy()) or found, "a server to translate")
        self.kill(found[0])
        status, head, body = connection.ask(b"")
        self.assertEqual((status, json.loads(body)["error"]["code"]), (503, "unavailable"))
        self.assertIn(b"\r\nretry-after: 2\r\n", head)

    @staticmethod
    def events(data):
        """(event, object) for every complete event. Chunk sizes stand between events, never inside
        one."""
        return [(name.decode(), json.loads(value))
                for name, value in re.findall(rb"event: (\w+)\r?\ndata: (.*?)\r?\n\r?\n", data, re.S)]

    def test_a_stream_that_breaks_off_can_be_taken_up_again(self):
        connection, data = self.stream(self.port, TEXT, lambda data: data.count(b"event: sentence") >= 3)
        busy = self.busy()
        self.assertEqual(len(busy), 1)
        self.kill(busy[0])
        while True:
            part = connection.socket.recv(65536)
            if not part:
                break
            data += part
        # The stream is cut off, and the client can tell: there is no event that ends a stream, and
        # no last chunk.
        self.assertNotIn(b"event: done", data)
        self.assertFalse(data.endswith(b"0\r\n\r\n"))
        # The last sentence event states how far the text is done.
        events = self.events(data)
        last = max(i for i, (name, _) in enumerate(events) if name == "sentence")
        done = events[last][1]["start"] + events[last][1]["length"]
        whole = sum(1 for name, _ in events if name == "sentence")
        rest = TEXT[done:][:200]
        _, again = self.stream(self.port, rest, lambda data: data.endswith(b"0\r\n\r\n"))
        self.assertIn(b"event: done", again)
        self.assertGreater(whole, 0)


if __name__ == "__main__":
    main()
