# SPDX-License-Identifier: ISC
"""HTTP as a proxy or an attacker would send it: refusals that keep requests apart, limits, headers
of answers."""
import json

from harness import IntegrationTest, main

HOST = b"Host: h\r\n"

# Requests that two programs could read in two ways; the server must refuse each and close the
# connection.
SMUGGLERS = {
    "both framings": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nhello", 400),
    "signed length": (b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nhello", 400),
    "other coding": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    "chunked in 1.0": (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "space before colon": (b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    "folding": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"A: b\r\n c\r\n\r\n", 400),
    "bare LF": (b"GET /healthz HTTP/1.1\nHost: h\n\n", 400),
    "bare CR": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"A: b\rC: d\r\n\r\n", 400),
    "NUL": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"A: \0\r\n\r\n", 400),
    "no Host": (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    "two Hosts": (b"GET /healthz HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400),
    "bad chunk": (b"POST /v1/translate HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n", 400),
    "chunk with LF": (b"POST /v1/translate HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
    "unknown method": (b"BREW /pot HTTP/1.1\r\n" + HOST + b"\r\n", 501),
}


class Http(IntegrationTest):
    def converse(self, server, request):
        """Sends bytes, then reads until the server closes the connection."""
        with server.connect() as connection:
            connection.sendall(request)
            answer = b""
            while True:
                part = connection.recv(65536)
                if not part:
                    return answer
                answer += part

    def test_ambiguous_requests_are_refused(self):
        server = self.start()
        for name, (request, status) in SMUGGLERS.items():
            with self.subTest(name):
                smuggled = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
                answer = self.converse(server, request + smuggled)
                self.assertTrue(answer.startswith(b"HTTP/1.1 %d " % status), answer)
                self.assertEqual(answer.count(b"X-Request-Id: "), 1, "what follows a refused request must not be read")
                self.assertIn(b"Connection: close\r\n", answer)
                error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
                self.assertTrue(error["message"].endswith("."), error)

    def test_limits_are_named(self):
        server = self.start("--max-body=1KiB", "--max-url=256", "--max-head=2KiB", "--max-headers=10")
        status, _, body = server.request("POST", "/v1/translate", body=b"x" * 2000)
        self.assertEqual(status, 413)
        self.assertEqual(json.loads(body)["error"]["limit"], 1024)
        self.assertEqual(server.request("GET", "/" + "a" * 400)[0], 414)
        self.assertEqual(server.request("GET", "/healthz", headers={"X": "y" * 3000})[0], 431)
        self.assertEqual(server.request("GET", "/healthz", headers={f"X-{i}": "y" for i in range(20)})[0], 431)
        self.assertEqual(server.request("GET", "/healthz")[0], 200)

    def test_paths_and_methods(self):
        server = self.start()
        self.assertEqual(server.request("GET", "/nowhere")[0], 404)
        self.assertEqual(server.request("DELETE", "/v1/translate")[0], 405)
        status, headers, body = server.request("GET", "/v1/translate?text=x")
        self.assertEqual((status, headers["Allow"]), (405, "POST, OPTIONS"))
        self.assertEqual(json.loads(body)["error"]["code"], "method_not_allowed")
        status, headers, body = server.request("HEAD", "/healthz")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 0)

    def test_browsers_may_ask_first(self):
        server = self.start("--cors-origin=https://example.org")
        status, headers, _ = server.request("OPTIONS", "/v1/translate", headers={
            "Origin": "https://example.org", "Access-Control-Request-Method": "POST"})
        self.assertEqual(status, 204)
        self.assertEqual(headers["Access-Control-Allow-Origin"], "https://example.org")
        self.assertIn("POST", headers["Access-Control-Allow-Methods"])
        asked = "authorization,content-type,x-api-token,x-stainless-os,x-stainless-retry-count"
        headers = server.request("OPTIONS", "/v1/chat/completions", headers={"Access-Control-Request-Headers": asked})[1]
        self.assertEqual(headers["Access-Control-Allow-Headers"], asked)
        for wrong in ("a(b)", "x" * 2001):
            headers = server.request("OPTIONS", "/translate", headers={"Access-Control-Request-Headers": wrong})[1]
            self.assertIn("X-API-Token", headers["Access-Control-Allow-Headers"])
            self.assertNotIn(wrong, headers["Access-Control-Allow-Headers"])
        for path in ("/healthz", "/languages", "/v2/usage", "/nowhere"):
            shown = server.request("GET", path)[1].get_all("Access-Control-Expose-Headers")
            self.assertEqual(len(shown), 1)
            for name in ("Authorization", "RateLimit-Remaining", "Retry-After", "X-Request-Id"):
                self.assertIn(name, shown[0].split(", "))
        server = self.start("--cors-origin=")
        headers = server.request("OPTIONS", "/translate", headers={"Access-Control-Request-Headers": asked})[1]
        self.assertFalse([name for name in headers if name.startswith("Access-Control")])

    def test_request_ids(self):
        server = self.start()
        ask = lambda headers: server.request("GET", "/v1/usage", headers=headers)[1]["X-Request-Id"]
        self.assertEqual(ask({"X-Request-Id": "abc-1.2_3"}), "abc-1.2_3")
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        self.assertEqual(ask({"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}), trace)
        for insane in ("a b", "x" * 65, "a\"b", ""):
            self.assertRegex(ask({"X-Request-Id": insane}), "^[0-9a-f]{32}$")
        self.assertNotEqual(ask({}), ask({}))
        server.wait_for_log("request=abc-1.2_3")

    def test_metrics_count_routes(self):
        server = self.start()
        for _ in range(3):
            server.request("GET", "/healthz")
        server.request("GET", "/secret-of-a-user")
        text = server.request("GET", "/metrics")[2].decode()
        self.assertIn('dragoman_requests_total{route="healthz",status="2xx"} 3\n', text)
        self.assertIn('dragoman_request_seconds_count{route="healthz"} 3\n', text)
        self.assertNotIn("secret", text)
        self.assertNotIn("127.0.0.1", text)


if __name__ == "__main__":
    main()
