# SPDX-License-Identifier: ISC
"""Sends many small requests at once, so fast that the server is the bottleneck.

    load = Load(port, post("/v1/translate", {"text": "Merci.", "target": "en"}), total=10000, threads=8)
    load.start()
    load.wait_for(2000)                            # that many are done
    load.more(500)                                 # and so many more
    load.join()                                    # with total=None: load.stop()
    load.failures                                  # [] or what went wrong, with the number of the request

    client = Endless(port, request).start()        # asks again whenever it has its answer, however fast that comes:
    client.leave()                                 # there is work until it leaves, in the midst of an answer

Every second thread keeps its connection, the others make one for each request. A connection that
the server closed after an answer with "Connection: close" is replaced; any other end of a
connection, and every status but 200, is a failure: no request is tried twice.
"""
import contextlib
import json
import math
import socket
import threading
import time

PATIENCE_S = 60


def post(path, body, headers=None):
    """The bytes of a request."""
    content = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: test", "Content-Type: application/json",
             f"Content-Length: {len(content)}", *(f"{k}: {v}" for k, v in (headers or {}).items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request):
        """(status, head, body) of the answer, which must have a Content-Length or be chunked."""
        self.socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.more()
        head, _, body = data.partition(b"\r\n\r\n")
        lower = head.lower()
        at = lower.find(b"content-length:")
        if at >= 0:
            length = int(lower[at + 15:].split(b"\r\n", 1)[0])
            while len(body) < length:
                body += self.more()
        else:
            while not body.endswith(b"0\r\n\r\n"):
                body += self.more()
        return int(head.split(b" ", 2)[1]), lower, body

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the connection ended before the answer did")
        return data

    def close(self):
        self.socket.close()


class Endless(threading.Thread):
    """A client that always has a request under way until it leaves."""

    def __init__(self, port, request):
        super().__init__()
        self.request = request
        self.connection = Connection(port)

    def start(self):
        super().start()
        return self

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                self.connection.ask(self.request)

    def leave(self):
        """Leaves; a second call does nothing."""
        with contextlib.suppress(OSError):
            self.connection.socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self.connection.close()


class Load:
    def __init__(self, port, request, total, threads=8, keep=True):
        """`request` is bytes, or a function that makes them from the request's number. With `keep`
        False no connection is kept."""
        self.port, self.request, self.keep = port, request, keep
        self.total = math.inf if total is None else total
        self.lock = threading.Lock()
        self.next, self.done, self.failures, self.slowest_s = 0, 0, [], 0.0
        self.threads = [threading.Thread(target=self.work, args=(n % 2 == 0 and keep,)) for n in range(threads)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def join(self):
        for thread in self.threads:
            thread.join()
        return self

    def wait_for(self, n):
        """Waits until n requests are over."""
        deadline = time.monotonic() + PATIENCE_S
        while self.done < min(n, self.total):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {PATIENCE_S} s for {n} requests, {self.done} are over")
            time.sleep(0.005)

    def more(self, n):
        """Waits for n requests from now."""
        self.wait_for(self.done + n)

    def stop(self):
        """Sends no further requests; waits for those under way."""
        with self.lock:
            self.total = min(self.total, self.next)
        return self.join()

    def work(self, keeps):
        connection = None
        while True:
            with self.lock:
                number = self.next
                if number >= self.total:
                    break
                self.next += 1
            began, failure = time.monotonic(), None
            try:
                connection = connection or Connection(self.port)
                request = self.request(number) if callable(self.request) else self.request
                status, head, body = connection.ask(request)
                if status != 200:
                    failure = f"request {number}: status {status}: {body[:200]!r}"
                if not keeps or b"connection: close" in head:
                    connection.close()
                    connection = None
            except OSError as error:
                failure = f"request {number}: {error!r}"
                if connection:
                    connection.close()
                connection = None
            with self.lock:
                self.done += 1
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                if failure:
                    self.failures.append(failure)
        if connection:
            connection.close()
