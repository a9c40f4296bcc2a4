# SPDX-License-Identifier: ISC
"""Imitates the servers that models come from, over HTTPS on free ports of this machine.

    hosts = ModelHosts(folder)                 # certificates of a throw-away authority, made by openssl
    hosts.files["/a/b.bin"] = b"..."           # what there is; ETag, Range and If-Range work
    hosts.types["/a/b.bin"] = {...}            # more headers of that answer; None: without it
    hosts.faults["/a/b.bin"] = [status(500), cut(70), ...]    # what its next requests get instead, in turn
    hosts.url("/a/b.bin"), hosts.other("/a/b.bin")            # the same files on two hosts
    hosts.asked("/a/b.bin")                    # the Range headers of its requests so far; None for one without
    hosts.ca                                   # for --ca-file
    hosts.close()

Standard library only; Zstandard by the library that dragoman uses.
"""
import ctypes
import ctypes.util
import hashlib
import http.server
import os
import re
import socket
import socketserver
import ssl
import subprocess
import threading


def zstd(data):
    """The bytes, compressed."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = ctypes.create_string_buffer(library.ZSTD_compressBound(len(data)))
    n = library.ZSTD_compress(room, len(room), data, len(data), 3)
    return room.raw[:n]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


# ---- Faults: each is called with the handler in place of the answer ------------------------------------------------

def status(code, **headers):
    def answer(handler, data):
        handler.reply(code, b"sorry", {name.replace("_", "-"): value for name, value in headers.items()})
    return answer


def redirect(url):
    return status(302, Location=url)


def cut(n):
    """The right answer, but the connection breaks after n bytes of it."""
    def answer(handler, data):
        handler.serve(data, n)
    return answer


def stall(n):
    """The right answer, but after n bytes of it nothing more comes until the client closes the
    connection."""
    def answer(handler, data):
        handler.serve(data, n)
        handler.wfile.flush()
        handler.rfile.read(1)
    return answer


def flip(at):
    """The right answer with one byte changed."""
    def answer(handler, data):
        handler.serve(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    return answer


def other(data):
    """Entirely different bytes."""
    def answer(handler, _):
        handler.serve(data)
    return answer


def raw(*pieces):
    """These bytes in place of a whole answer, and the end of the connection. An endless iterator of
    pieces is sent until the client closes the connection."""
    def answer(handler, _):
        handler.close_connection = True
        for piece in pieces:
            for part in [piece] if isinstance(piece, bytes) else piece:
                handler.wfile.write(part)
    return answer


def silent(handler, _):
    """Nothing at all until the client closes the connection."""
    handler.close_connection = True
    handler.rfile.read(1)


def other_part(change=0, **headers):
    """206 with a part that begins `change` bytes from the one that was requested, and these headers."""
    def answer(handler, data):
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range") or "bytes=0-")
        begin = int(asked.group(1)) + change
        handler.reply(206, data[begin:], {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}",
                                          **{name.replace("_", "-"): value for name, value in headers.items()}})
    return answer


def whole(handler, data):
    """The whole file, whatever part was requested."""
    handler.reply(200, data, {"ETag": f'"{sha256(data)[:16]}"'})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hosts = None

    def log_message(self, *_):
        pass

    def reply(self, code, data, headers, end=None):
        self.send_response(code)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if end is None else data[:end])
        if end is not None and end < len(data):
            self.close_connection = True

    def serve(self, data, end=None):
        headers = {"ETag": f'"{sha256(data)[:16]}"', "Accept-Ranges": "bytes", **self.hosts.types.get(self.path, {})}
        etag = headers["ETag"]
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if asked and self.headers.get("If-Range", etag) == etag:
            begin = int(asked.group(1))
            if begin >= len(data):
                self.reply(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
            self.reply(206, data[begin:], headers, end)
        else:
            self.reply(200, data, headers, end)

    def do_GET(self):
        hosts = self.hosts
        hosts.log.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        data = hosts.files.get(self.path)
        faults = hosts.faults.get(self.path)
        if faults:
            faults.pop(0)(self, data)
        elif data is None:
            self.reply(404, b"no such file", {})
        else:
            self.serve(data)


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


class Proxy(socketserver.ThreadingTCPServer):
    """An HTTP proxy that tunnels, on a free port; `heads` are the requests that it got. With
    `refuses` it gives that answer."""
    allow_reuse_address = daemon_threads = True

    def __init__(self, refuses=None):
        super().__init__(("127.0.0.1", 0), self.Tunnel)
        self.heads, self.refuses = [], refuses
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def close(self):
        self.shutdown()
        self.server_close()

    class Tunnel(socketserver.StreamRequestHandler):
        def handle(self):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.rfile.readline()
            self.server.heads.append(head.decode())
            if self.server.refuses:
                self.wfile.write(f"HTTP/1.1 {self.server.refuses} no\r\nContent-Length: 0\r\n\r\n".encode())
                return
            port = int(head.split()[1].rpartition(b":")[2])
            with socket.create_connection(("127.0.0.1", port)) as there:
                self.wfile.write(b"HTTP/1.1 200 open\r\n\r\n")
                threading.Thread(target=pump, args=(there, self.connection), daemon=True).start()
                pump(self.connection, there)


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class ModelHosts:
    def __init__(self, folder):
        self.folder = folder
        self.files, self.types, self.faults, self.log, self.servers = {}, {}, {}, [], []
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                "-subj", "/CN=An authority of tests")
        self.ca = os.path.join(folder, "ca.pem")
        self.ports = [self.listen("localhost"), self.listen("localhost"), self.listen("elsewhere.invalid")]

    def listen(self, name):
        """A port of 127.0.0.1 whose certificate is for `name`."""
        n = str(len(self.servers))
        with open(os.path.join(self.folder, f"{n}.ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:{name}\n")
        openssl(self.folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{n}.key", "-out", f"{n}.csr",
                "-subj", f"/CN={name}")
        openssl(self.folder, "x509", "-req", "-in", f"{n}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                "-days", "2", "-out", f"{n}.pem", "-extfile", f"{n}.ext")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, f"{n}.pem"), os.path.join(self.folder, f"{n}.key"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hosts": self}))
        server.daemon_threads = True
        server.handle_error = lambda *_: None
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.servers.append(server)
        return server.server_address[1]

    def url(self, path=""):
        return f"https://localhost:{self.ports[0]}{path}"

    def other(self, path=""):
        return f"https://localhost:{self.ports[1]}{path}"

    def misnamed(self, path=""):
        """A host whose certificate is for another name."""
        return f"https://localhost:{self.ports[2]}{path}"

    def asked(self, path):
        return [the_range for asked, the_range, _ in self.log if asked == path]

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
