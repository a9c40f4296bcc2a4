# SPDX-License-Identifier: ISC
"""Files that clients send to be translated: the server writes them to disk as they arrive, whatever
the limit of bodies is."""
import io
import json
import os
import socket
import sys
import urllib.parse
import zipfile

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))

import office  # noqa: E402

MIB = 2**20
HEADERS = {"Content-Type": "multipart/form-data; boundary=XX"}


def form(name, content, fields=(("source", "fr"), ("target", "en"))):
    body = b"".join(f'--XX\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode() for key, value in fields)
    return (body + f'--XX\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content +
            b"\r\n--XX--\r\n")


def large(size):
    """A document with a picture of so many bytes, which contain beginnings of the boundary."""
    file = io.BytesIO(office.docx())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("word/media/image9.png", (b"\r\n--X\r" + os.urandom(65530)) * (size // 65536 + 1))
    return file.getvalue()


class Upload(IntegrationTest):
    def begin(self, *options):
        return self.start(f"--models-dir={MODELS_DIR}", "--max-body=16KiB", "--max-document=1MiB", "--threads=1", *options)

    def translated(self, server, answer):
        status, _, after = server.request("GET", urllib.parse.urlsplit(json.loads(answer)["translatedFileUrl"]).path)
        self.assertEqual(status, 200)
        return after

    def send_head(self, server, path, length=None):
        connection = socket.create_connection(("127.0.0.1", server.port()), timeout=60)
        self.addCleanup(connection.close)
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: multipart/form-data; boundary=XX\r\n"
                           f"{size}\r\n\r\n".encode())
        return connection

    def read_answer(self, connection):
        said = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, body = said.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_a_file_may_be_larger_than_a_body(self):
        server, before = self.begin(), large(700000)
        limits = json.loads(server.request("GET", "/v1/languages")[2])["limits"]
        self.assertEqual((limits["body_bytes"], limits["document_bytes"]), (16384, MIB))
        status, _, answer = server.request("POST", "/translate_file", form("a.docx", before), HEADERS)
        self.assertEqual(status, 200, answer)
        after = self.translated(server, answer)
        old, new = office.parts(before), office.parts(after)
        self.assertEqual(old["word/media/image9.png"], new["word/media/image9.png"])
        self.assertNotEqual(old["word/document.xml"], new["word/document.xml"])
        # The same form in chunks, which do not state the length first; the server gets the same
        # file when it comes in small pieces.
        connection, body = self.send_head(server, "/translate_file"), form("a.docx", before)
        for at in range(0, len(body), 50001):
            piece = body[at:at + 50001]
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece[:1])
            connection.sendall(piece[1:] + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        status, answer = self.read_answer(connection)
        self.assertEqual(status, 200, answer)
        self.assertEqual(self.translated(server, answer[answer.index(b"{"):]), after)
        # DeepL's documents, which can be fetched once.
        status, _, answer = server.request("POST", "/v2/document", form("a.docx", before, (("target_lang", "EN"),)), HEADERS)
        self.assertEqual(status, 200, answer)
        made = json.loads(answer)
        path, key = f"/v2/document/{made['document_id']}", f"?document_key={made['document_key']}"
        wait_for(lambda: json.loads(server.request("GET", path + key)[2])["status"] == "done", "the document")
        self.assertEqual(server.request("GET", path + "/result" + key)[2], after)
        self.assertEqual(server.request("GET", path + "/result" + key)[0], 404)

    def test_what_is_too_large_is_told_its_size_and_the_limit(self):
        server = self.begin()
        for path, word in (("/translate_file", "error"), ("/v2/document", "message")):
            status, answer = self.read_answer(self.send_head(server, path, 3 * MIB))  # before the body is sent
            self.assertEqual(status, 413)
            for number in (3 * MIB, MIB):
                self.assertIn(f"{number} bytes", json.loads(answer)[word])
            connection = self.send_head(server, path)
            try:
                connection.sendall(b"100200\r\n" + form("a.docx", b"x" * 0x100200)[:0x100200] + b"\r\n")
            except ConnectionError:
                pass  # the answer came before the body's end
            status, answer = self.read_answer(connection)
            self.assertEqual(status, 413)
            self.assertIn(f"more than {MIB} bytes", json.loads(answer[answer.index(b"{"):])[word])

    def test_forms_are_read_strictly(self):
        server = self.begin()
        fine = form("a.txt", b"Le chat dort.\n")
        status, _, answer = server.request("POST", "/translate_file", fine, HEADERS)
        self.assertEqual(status, 200, answer)
        for wrong, why in ((fine[:-8], "ends before"), (b"x" + fine, "begin with its boundary"), (fine + b"x", "follow the end"),
                           (fine[:-6] + fine[2:].replace(b'"source"', b'"s"').join((b"\r\n--", b"")), "more than one file"),
                           (form("a.txt", b"x", [("q", "x" * 20000)]), "more than 16384 bytes")):
            status, _, answer = server.request("POST", "/translate_file", wrong, HEADERS)
            self.assertIn(status, (400, 413), wrong)
            self.assertIn(why, json.loads(answer)["error"])

    def test_room_on_disk_is_shared_and_comes_back(self):
        server = self.begin("--documents-space=1000000")
        body = form("a.docx", large(600000))  # one client may take half of the space
        status, _, answer = server.request("POST", "/translate_file", body, HEADERS)
        self.assertEqual((status, "documents-space" in json.loads(answer)["error"]), (503, True), answer)
        held = self.send_head(server, "/translate_file", 400000)
        held.sendall(form("a.txt", b"x" * 300000)[:300000])
        body = form("a.txt", b"\n" * 400000)
        wait_for(lambda: server.request("POST", "/translate_file", body, HEADERS)[0] == 503, "what is held counts")
        held.close()
        body = form("a.txt", b"\n" * 80000)
        wait_for(lambda: server.request("POST", "/translate_file", body, HEADERS)[0] == 200, "its room again")


if __name__ == "__main__":
    main()
