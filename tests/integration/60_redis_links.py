# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
# Tiers: gcc asan
"""Connections to Redis: through TLS, by name, to one of several, to the master that Sentinels name,
and to a server that is hostile."""
import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading

from harness import MODELS_DIR, SOURCES, IntegrationTest, free_ports, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Load, post  # noqa: E402
from redis import Redis  # noqa: E402

PASSWORD = "open-sesame-4711"
TRANSLATION = json.dumps({"text": "Merci.", "target": "en"})


def sentence(number):
    return f"Je mange le pain {number}."


def openssl(*arguments, cwd):
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, stdin=subprocess.DEVNULL, capture_output=True)


def make_certificates(folder):
    """Makes an authority and, signed by it, a server's certificate for the name localhost and a
    client's."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "30", "-subj", "/CN=authority", cwd=folder)
    with open(os.path.join(folder, "names"), "w", encoding="ascii") as file:
        file.write("subjectAltName=DNS:localhost\n")
    for who in "server", "client":
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{who}.key", "-out", f"{who}.csr",
                "-subj", f"/CN={who}", cwd=folder)
        openssl("x509", "-req", "-in", f"{who}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{who}.pem",
                "-days", "30", "-extfile", "names", cwd=folder)


class Links(IntegrationTest):
    def start_one(self, address, *flags):
        return self.start(f"--models-dir={MODELS_DIR}", f"--redis={address}", "--access-log=no", *flags)

    def check_translates(self, server):
        self.assertEqual(server.request("POST", "/v1/translate", TRANSLATION)[0], 200)


class Encrypted(Links):
    def setUp(self):
        super().setUp()
        if "with TLS" not in self.run_program("--version").stdout:
            self.skipTest("built without OpenSSL")
        if not shutil.which("openssl"):
            self.skipTest("needs openssl")
        make_certificates(self.directory)
        self.file = lambda name: os.path.join(self.directory, name)
        with open(self.file("password"), "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(self.file("password"), 0o600)

    def start_redis(self):
        port = free_ports(1)[0]
        redis = Redis(self, "redis", "--tls-port", str(port), "--tls-cert-file", self.file("server.pem"), "--tls-key-file",
                      self.file("server.key"), "--tls-ca-cert-file", self.file("ca.pem"), "--user", "dragoman", "on",
                      ">" + PASSWORD, "~*", "+@all")
        return redis.start(), port

    def flags(self, ca="ca.pem", client="client"):
        flags = ["--redis-tls=yes", f"--redis-ca-file={self.file(ca)}", "--redis-user=dragoman",
                 f"--redis-password-file={self.file('password')}"]
        if client:
            flags += [f"--redis-certificate-file={self.file(client + '.pem')}", f"--redis-key-file={self.file(client + '.key')}"]
        return flags

    def test_no_request_fails_and_no_secret_is_seen(self):
        redis, port = self.start_redis()
        server = self.start_one(f"localhost:{port}", *self.flags())
        server.wait_for_log("Redis is available")
        with open(f"/proc/{server.process.pid}/cmdline", encoding="utf-8") as file:
            self.assertNotIn(PASSWORD, file.read())
        load = Load(server.port(), lambda n: post("/v1/translate", {"text": sentence(n // 2), "target": "en"}),
                    total=None, threads=4).start()
        try:
            load.more(20)
            redis.pause()
            load.more(40)
            redis.resume()
            load.more(40)
            redis.kill()
            load.more(40)
            redis.start()
            load.more(40)
        finally:
            load.stop()
        self.assertEqual(load.failures, [])
        server.wait_for_log("Redis is available", times=2)
        keys = lambda: int(redis.command("DBSIZE")[1:])
        n = iter(range(1000, 100000))

        def is_told():
            post_one = json.dumps({"text": sentence(next(n)), "target": "en"})
            self.assertEqual(server.request("POST", "/v1/translate", post_one)[0], 200)
            return keys() > 0

        wait_for(is_told, "a sentence in Redis")
        self.assertNotIn(PASSWORD, server.log())

    def test_only_the_server_that_was_meant_is_believed(self):
        _, port = self.start_redis()
        os.mkdir(self.file("other"))
        make_certificates(self.file("other"))
        for address, flags, said in (
                (f"127.0.0.1:{port}", self.flags(), "mismatch"),  # the certificate is for the name
                (f"localhost:{port}", self.flags(ca="other/ca.pem"), "certificate"),
                (f"localhost:{port}", self.flags(client=None), "certificate required|handshake failure|closed the connection")):
            with self.subTest(address=address, said=said):
                server = self.start_one(address, *flags)
                server.wait_for_log("Redis is unavailable")
                self.assertRegex(server.log(), said)
                self.check_translates(server)
                self.assertNotIn("Redis is available", server.log())
                server.stop()

    def test_files_that_cannot_be_used_end_the_start(self):
        for flags in (["--redis-tls=yes", f"--redis-ca-file={self.file('password')}"],
                      ["--redis-tls=yes", f"--redis-certificate-file={self.file('client.pem')}"],
                      [f"--redis-ca-file={self.file('ca.pem')}"]):
            result = self.run_program(f"--models-dir={MODELS_DIR}", "--redis=localhost:1", *flags)
            self.assertEqual(result.returncode, 2 if "tls" not in flags[0] or "certificate" in flags[1] else 1, result.stderr)
            self.assertIn("redis", result.stderr)

    def test_a_hostile_redis_costs_no_request(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.file("server.pem"), self.file("server.key"))
        flags = [flag for flag in self.flags() if "user" not in flag and "password" not in flag]
        some = {name: HOSTILE[name] for name in ("a push", "a long text", "drops")}  # the same reader reads the rest
        hostile(self, lambda address: self.start_one(address, *flags), some, context)


def drip(client, text):
    """Sends the text a byte at a time, until the other side closes."""
    client.settimeout(0.05)
    for byte in text * 1000:
        client.sendall(bytes([byte]))
        try:
            if not client.recv(65536):
                return
        except TimeoutError:
            pass


def answer_with(answer):
    def speak(client):
        while client.recv(65536):
            client.sendall(answer)
    return speak


def drip_answers(client):
    while client.recv(65536):
        drip(client, b"$30000\r\nxxxx")
        return


# The answers to everything after the handshake.
HOSTILE = {
    "a status": answer_with(b"+HELLO\r\n"),
    "a push": answer_with(b">2\r\n+invalidate\r\n*1\r\n+x\r\n"),
    "a map": answer_with(b"%1\r\n+a\r\n+b\r\n"),
    "a long text": answer_with(b"$536870912\r\n" + b"x" * 100000),
    "a long list": answer_with(b"*2147483647\r\n"),
    "a deep list": answer_with(b"*1\r\n" * 10000),
    "a long line": answer_with(b"+" + b"x" * 200000),
    "two answers for one": answer_with(b"$1\r\na\r\n" * 3),
    "another protocol": answer_with(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "nothing": answer_with(b""),
    "drops": drip_answers,
}


def hostile(test, start, all_kinds, context=None):
    """A server that is one of these for each connection, in turn; the daemon answers requests all
    the same."""
    listener = socket.create_server(("127.0.0.1", 0))
    said = []

    def serve():
        kinds = iter(all_kinds.items())
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            name, speak = next(kinds, (None, answer_with(b"")))
            try:
                with context.wrap_socket(client, server_side=True) if context else client as client:
                    client.recv(65536)  # PING
                    client.sendall(b"+PONG\r\n")
                    speak(client)
            except OSError:
                pass
            said.append(name)

    threading.Thread(target=serve, daemon=True).start()
    server = start(f"localhost:{listener.getsockname()[1]}")
    n = 0

    def all_is_said():
        nonlocal n
        n += 1
        body = json.dumps({"text": sentence(n), "target": "en"})
        test.assertEqual(server.request("POST", "/v1/translate", body)[0], 200)
        return None in said

    wait_for(all_is_said, f"all that is hostile, after {said}")
    test.assertEqual(said[:len(all_kinds)], list(all_kinds))
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


class Hostile(Links):
    def test_a_hostile_redis_costs_no_request(self):
        hostile(self, self.start_one, HOSTILE)

    def test_a_redis_that_repeats_the_password_does_not_bring_it_into_the_log(self):
        path = os.path.join(self.directory, "password")
        with open(path, "w", encoding="ascii") as file:
            file.write(PASSWORD + "\n")
        os.chmod(path, 0o600)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    with listener.accept()[0] as client:
                        client.recv(65536)  # AUTH and PING
                        client.sendall(2 * (b"-ERR unknown command, with args beginning with: '" + PASSWORD.encode() + b"'\r\n"))

        threading.Thread(target=serve, daemon=True).start()
        server = self.start_one(f"127.0.0.1:{listener.getsockname()[1]}", f"--redis-password-file={path}")
        server.wait_for_log("Redis is unavailable")
        self.assertNotIn(PASSWORD, server.log())
        self.assertIn("its message contains the password", server.log())

    def test_wrong_types_cost_what_is_shared_and_no_more(self):
        redis = Redis(self).start()
        for name, text in (("keys", "keys = none\n"), ("secret", "5" * 32 + "\n")):
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(file.name, 0o600)
        keys = [f"dragoman:1:{table}:{key}" for table in ("glossaries", "jobs", "keys")
                for key in ("meta", "rows", "versions", "gone", "alive", "seen")] + ["dragoman:1:jobs:parts"]
        server = self.start_one(redis.address, f"--glossaries-dir={os.path.join(self.directory, 'glossaries')}",
                                f"--jobs-dir={os.path.join(self.directory, 'jobs')}", "--jobs-shared=yes",
                                f"--keys-file={self.directory}/keys", f"--keys-shared-secret-file={self.directory}/secret",
                                "--anonymous-requests=100000", "--redis-timeout=1s")
        server.wait_for_log("Redis is available")
        job = lambda: server.request("POST", "/v1/jobs?target=en", "Merci.\n", {"Content-Type": "text/plain"})
        state = lambda id: json.loads(server.request("GET", f"/v1/jobs/{id}")[2]).get("state")
        self.assertEqual(server.request("POST", "/v1/translate", TRANSLATION)[0], 200)
        wait_for(lambda: redis.command("EXISTS", keys[0]) == b":1\r\n", "the tables")
        for kind in (["SET", "x"], ["RPUSH", "x"]):
            names = re.findall(rb"dragoman:1:\S+", redis.command("KEYS", "dragoman:1:*"))
            for key in keys + [name.decode() for name in names]:  # with sentences and quotas, whatever their names are
                redis.command("DEL", key)
                redis.command(kind[0], key, *kind[1:])
            for number in range(3):
                body = json.dumps({"text": sentence(number), "target": "en"})
                self.assertEqual(server.request("POST", "/v1/translate", body)[0], 200)
            self.check_translates(server)
            self.assertIn(job()[0], (503, 201))
        server.wait_for_log("Redis does not keep a shared table")
        redis.command("FLUSHALL")
        status, _, answer = 0, None, None

        def is_taken():
            nonlocal status, answer
            status, _, answer = job()
            return status == 201

        wait_for(is_taken, "a job to be taken again")
        wait_for(lambda: state(json.loads(answer)["id"]) == "done", "its end")


class Several(Links):
    def start_pair(self):
        ports = free_ports(2)
        first = Redis(self, "first", "--port", str(ports[0])).start()
        second = Redis(self, "second", "--port", str(ports[1]), "--replicaof", "127.0.0.1", str(ports[0])).start()
        return first, second, ports

    def address_of(self, server):
        found = re.findall(r'address="?([^\s"]+)"?[^\n]*', "\n".join(line for line in server.log().splitlines() if "Redis is available" in line))
        return found[-1] if found else None

    def test_a_master_is_found_among_several_addresses(self):
        first, second, ports = self.start_pair()
        addresses = [f"localhost:{port}" for port in (ports[1], ports[0])]  # the replica first
        server = self.start_one(", ".join(addresses), "--redis-timeout=1s")
        server.wait_for_log("Redis is available")
        self.assertEqual(self.address_of(server), addresses[1])
        first.kill()
        self.check_translates(server)
        second.command("REPLICAOF", "NO", "ONE")
        wait_for(lambda: self.address_of(server) == addresses[0], "the other address")
        self.check_translates(server)

    def test_sentinels_tell_the_master(self):
        first, second, ports = self.start_pair()
        wait_for(lambda: b"state=online" in first.command("INFO", "replication"), "the replica")
        port = free_ports(1)[0]
        path = os.path.join(self.directory, "sentinel.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"port {port}\nbind 127.0.0.1\ndir {self.directory}\nsentinel monitor mine 127.0.0.1 {ports[0]} 1\n"
                       "sentinel down-after-milliseconds mine 500\nsentinel failover-timeout mine 2000\n")
        with open(os.path.join(self.directory, "sentinel.log"), "wb") as log:
            sentinel = subprocess.Popen(["redis-server", path, "--sentinel"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(sentinel.wait)
        self.addCleanup(sentinel.kill)
        server = self.start_one(f"localhost:{port}", "--redis-sentinel=mine", "--redis-timeout=1s")
        server.wait_for_log("Redis is available")
        self.assertEqual(self.address_of(server), f"127.0.0.1:{ports[0]}")

        def is_known():
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"SENTINEL replicas mine\r\n")
                return str(ports[1]).encode() in client.recv(65536)

        wait_for(is_known, "the Sentinel to know the replica")
        first.kill()
        wait_for(lambda: self.address_of(server) == f"127.0.0.1:{ports[1]}", "the new master")
        self.check_translates(server)


if __name__ == "__main__":
    main()
