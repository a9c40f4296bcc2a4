# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Behind nginx with conf/nginx.conf: answers, events as they are made, WebSockets, addresses,
limits, TLS, and a restart under load in which no request fails."""
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, free_ports, main, wait_for
from ws_client import Socket

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from held_socket import HeldSocket  # noqa: E402
from load import Load, post  # noqa: E402
from proxy import Proxy, conf_file, with_ports  # noqa: E402

MODELS = f"--models-dir={MODELS_DIR}"
TRUST = "--trusted-proxies=127.0.0.1"
TEXT = " ".join(f"Je vois {n} chats dans le jardin." for n in range(2, 1500))

FRAME = """daemon off;
master_process off;
worker_processes 1;
pid nginx.pid;
error_log error.log info;
events {{ worker_connections 200; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
{}
}}
"""


class Front:
    """Stands for a server in the tests' clients, but connects them to the proxy."""

    def __init__(self, port):
        self.port = port

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)


class BehindNginx(IntegrationTest):
    def begin(self, upstream, change=lambda text: text):
        """Starts nginx in front of the port `upstream`."""
        if not shutil.which("nginx"):
            self.skipTest("needs nginx")
        port, tls_port = free_ports(2)
        text = with_ports(change(conf_file("nginx.conf")), {8080: port, 8443: tls_port, 8090: upstream})
        path = os.path.join(self.directory, "nginx.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(FRAME.format(text))
        self.tls_port = tls_port
        error_log = os.path.join(self.directory, "error.log")
        Proxy(self, ["nginx", "-e", error_log, "-p", self.directory, "-c", path], port)
        self.addCleanup(self.show, error_log)
        return Front(port)

    def show(self, error_log):
        if self.has_failed():
            with open(error_log, encoding="utf-8", errors="replace") as file:
                sys.stderr.write(f"---- nginx\n{file.read()}---- end of nginx\n")

    def ask(self, front, method, path, body=None, headers=None, source=None):
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=PATIENCE_S, source_address=source)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def test_requests_with_their_addresses_and_names(self):
        server = self.start(MODELS, TRUST)
        front = self.begin(server.port())
        status, headers, answer = self.ask(front, "POST", "/v1/translate",
                                           json.dumps({"text": "Le chat dort.", "target": "en"}),
                                           {"X-Request-Id": "mine", "X-Forwarded-For": "6.6.6.6", "Forwarded": "for=7.7.7.7"},
                                           source=("127.0.0.5", 0))
        self.assertEqual((status, headers["X-Request-Id"]), (200, "mine"), answer)
        self.assertIn("cat", json.loads(answer)["translations"][0]["text"])
        wait_for(lambda: "request=mine" in server.log(), "the line in the access log")
        line = next(line for line in server.log().splitlines() if "request=mine" in line)
        self.assertIn("client=127.0.0.5", line)
        given = self.ask(front, "GET", "/healthz")[1]["X-Request-Id"]
        self.assertRegex(given, "^[0-9a-f]{32}$")
        self.assertEqual(self.ask(front, "GET", "/metrics")[0], 403)
        self.assertEqual(self.ask(front, "GET", "/v1/admin/status")[0], 403)
        self.assertEqual(self.ask(front, "POST", "/v1/translate", b"x" * (3 << 20))[0], 413)  # the server's own answer
        status, headers, answer = self.ask(front, "POST", "/v1/translate", headers={"Content-Length": str(52 << 20)})  # nginx's
        self.assertEqual((status, headers["Content-Type"], json.loads(answer)["error"]["code"]), (413, "application/json", "body_too_large"))
        server.stop()
        status, headers, answer = self.ask(front, "GET", "/healthz")
        self.assertEqual((headers["Retry-After"], json.loads(answer)["error"]["code"]), ("1", "unavailable"), (status, answer))

    def test_events_come_while_they_are_made_and_a_client_that_leaves_is_noticed(self):
        server = self.start(MODELS, TRUST, "--threads=1", "--cache-size=0")
        front = self.begin(server.port())
        running = lambda: "dragoman_sentences_running 0\n" not in server.request("GET", "/metrics")[2].decode()
        body = json.dumps({"text": TEXT, "target": "en", "stream": True}).encode()
        for _ in range(20):  # once more if all is translated before we looked
            client = front.connect()
            client.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            seen = b""
            while seen.count(b"event: token") < 3:
                part = client.recv(4096)
                self.assertTrue(part, seen)
                seen += part
            if running():
                break
            client.close()
        else:
            self.fail("events come at the end only")
        client.close()
        wait_for(lambda: not running(), "the end of work that nobody wants")

    def test_websockets(self):
        server = self.start(MODELS, TRUST)
        ws = Socket(self.begin(server.port()))
        self.assertIn(b" 101 ", ws.head)
        for i in range(20):
            ws.send({"type": "translate", "id": str(i), "text": "Le chat dort. La maison est grande.", "target": "en"})
        texts = set()
        done = joined = 0
        parts = {}
        while done < 20:
            message = ws.receive()
            if message["type"] == "token":
                parts[message["id"]] = parts.get(message["id"], "") + message["text"]
            elif message["type"] == "done":
                texts.add(message["text"])
                joined += parts[message["id"]] == message["text"]
                done += 1
        self.assertEqual((len(texts), joined), (1, 20))
        ws.close()

    def test_floods_are_kept_away(self):
        server = self.start(TRUST)
        front = self.begin(server.port())
        client = front.connect()
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n" * 499 +
                       b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        seen = b""
        while part := client.recv(65536):
            seen += part
        statuses = re.findall(rb"HTTP/1.1 (\d+) ", seen)
        self.assertEqual(set(statuses), {b"200", b"429"})
        self.assertIn(b'{"error":{"code":"rate_limited"', seen)
        self.assertIn(b"Retry-After: 1\r\n", seen)
        self.assertGreaterEqual(statuses.count(b"200"), 40)
        client.close()

    def test_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("needs openssl")
        chain, key = (os.path.join(self.directory, name) for name in ("chain.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", chain, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, stdin=subprocess.DEVNULL, capture_output=True)
        server = self.start(TRUST)
        self.begin(server.port(), lambda text: re.sub(r"^    #(listen|ssl_)", r"    \1", text, flags=re.M)
                   .replace("/etc/dragoman/translate.pem", chain).replace("/etc/dragoman/translate.key", key))
        connection = http.client.HTTPSConnection("localhost", self.tls_port, timeout=PATIENCE_S,
                                                 context=ssl.create_default_context(cafile=chain))
        connection.request("GET", "/healthz")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

    def test_no_request_fails_while_the_service_is_restarted(self):
        if "systemd    yes" not in self.run_program("--version").stdout:
            self.skipTest("built without libsystemd")
        held = HeldSocket(self)
        held.start(MODELS, TRUST, "--access-log=no")
        front = self.begin(held.port, lambda text: text.replace("rate=20r/s", "rate=100000r/s"))
        total, restarts = 3000, 2
        load = Load(front.port, post("/v1/translate", {"text": "Merci beaucoup.", "target": "en"}), total).start()
        try:
            for n in range(restarts):
                load.wait_for(total * (n + 1) // (restarts + 1))
                held.restart()
        finally:
            load.join()
        self.assertEqual(load.failures, [])
        self.assertEqual(load.done, total)


if __name__ == "__main__":
    main()
