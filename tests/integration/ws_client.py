# SPDX-License-Identifier: ISC
"""A WebSocket client made from the standard library, for the tests in this folder."""
import base64
import json
import os
import struct

from harness import hesitate


class Socket:
    """A WebSocket client, as small as RFC 6455 allows."""

    def __init__(self, server, protocol="dragoman.v1", headers=(), path="/v1/stream"):
        """`headers` are whole lines; without `protocol` the client offers none."""
        if protocol:
            headers = (f"Sec-WebSocket-Protocol: {protocol}", *headers)
        self.connection = server.connect()
        key = base64.b64encode(os.urandom(16)).decode()
        self.connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"{''.join(line + chr(13) + chr(10) for line in headers)}\r\n".encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            part = self.connection.recv(65536)
            if not part:
                break
            self.rest += part
        self.head, _, self.rest = self.rest.partition(b"\r\n\r\n")

    def send(self, message, opcode=1):
        hesitate()
        payload = message if isinstance(message, bytes) else json.dumps(message).encode()
        mask = os.urandom(4)
        head = bytes([0x80 | opcode])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", len(payload))
        self.connection.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def read(self, n):
        while len(self.rest) < n:
            part = self.connection.recv(65536)
            if not part:
                raise EOFError
            self.rest += part
        taken, self.rest = self.rest[:n], self.rest[n:]
        return taken

    def frame(self):
        hesitate()
        first, length = self.read(2)
        if length == 126:
            length, = struct.unpack(">H", self.read(2))
        elif length == 127:
            length, = struct.unpack(">Q", self.read(8))
        return first & 15, self.read(length)

    def receive(self):
        opcode, payload = self.frame()
        while opcode == 9:  # a ping
            self.send(payload, 10)
            opcode, payload = self.frame()
        if opcode != 1:
            raise AssertionError((opcode, payload))
        return json.loads(payload)

    def until_done(self, ident):
        """Joins the deltas of one id; returns (text, the done message)."""
        text = ""
        while True:
            message = self.receive()
            if message.get("id") != ident:
                continue
            if message["type"] == "token":
                text += message["text"]
            elif message["type"] in ("done", "error"):
                return text, message

    def close(self):
        self.connection.close()
