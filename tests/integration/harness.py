# SPDX-License-Identifier: ISC
"""The frame of the integration tests: starts the real daemon in a directory of its own, talks to
it, stops it.

    from harness import IntegrationTest, main

    class Health(IntegrationTest):
        def test_answers(self):
            server = self.start()                       # on a free port, waits until it is ready
            status, headers, body = server.request("GET", "/healthz")
            self.assertEqual(status, 200)

    if __name__ == "__main__":
        main()

The servers that a test starts are stopped at its end: the exit code must be 0, the log must
contain no sanitizer's report, and when the test fails the log is printed. The program is
./dragomand of the build, or what DRAGOMAND names. DRAGOMAN_TEST_PACE slows down the test or the
daemon, so that the other seems fast: see hesitate() and Brakes. Standard library only.
"""
import atexit
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import openapi  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(os.environ.get("DRAGOMAND", "./dragomand"))
SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))


# Where the tests' folders are made. They contain sockets, and a socket's path may not be longer
# than 107 bytes.
FOLDERS = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"


def models_dir(*names):
    """A folder with these models of the tree and no others, so that a model that is added later
    changes no test."""
    folder = tempfile.mkdtemp(prefix="dragoman-models-")
    atexit.register(shutil.rmtree, folder)
    for name in names:
        os.symlink(os.path.join(SOURCES, "models", name), os.path.join(folder, name))
    return folder


MODELS_DIR = models_dir("fr-en")
# The server's folder in place of /var/lib/dragoman, for every program that a test runs: no test reads
# or changes what is installed on the machine.
STATE = tempfile.mkdtemp(prefix="dragoman-state-")
os.environ["STATE_DIRECTORY"] = STATE
atexit.register(shutil.rmtree, STATE)
# Two sentences and their translations by the embedded fr-en: when a new model words them otherwise,
# only these lines change.
CAT, CAT_SAID = "Le chat dort.", "The cat is sleeping."
STATION, STATION_SAID = "Où est la gare ?", "Where's the station?"
PATIENCE_S = 60  # how long to wait for what should take a moment; a slow machine is not a failure

REPORTS = re.compile(
    rb"(ERROR: (Address|Leak|Thread|Memory)Sanitizer|WARNING: ThreadSanitizer|runtime error:|please report this)"
)


def environment(extra=None):
    """The environment of a daemon, without any variable of ours that could configure it. Core dumps
    are allowed because the leak sanitizer cannot look into a process that is not dumpable."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("DRAGOMAN_", "LISTEN_", "NOTIFY_", "WATCHDOG_"))}
    for name in ("DRAGOMAN_KERNELS", "DRAGOMAN_SHARED"):
        if name in os.environ:
            env[name] = os.environ[name]
    env["DRAGOMAN_CORE_DUMPS"] = "yes"
    env.update(extra or {})
    return env


WHO_IS_SLOW, _, SEED = os.environ.get("DRAGOMAN_TEST_PACE", "").partition(":")
PAUSE_S = 0.5  # the longest
CHANCE = random.Random(SEED)
hesitations = 0  # those of the test that runs


def hesitate():
    """Called before whatever a test does to a daemon, or reads from it. With
    DRAGOMAN_TEST_PACE=test:SEED it pauses there, as if the machine were busy, or the daemon much
    faster: at each of a test's first ten calls, then less and less often."""
    global hesitations
    if WHO_IS_SLOW == "test":
        hesitations += 1
        if CHANCE.random() < 10 / hesitations:
            time.sleep(CHANCE.uniform(0, PAUSE_S))


class Brakes(threading.Thread):
    """With DRAGOMAN_TEST_PACE=daemon:SEED: stops the daemon for a while, again and again, as if
    others had the processor."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.lock = threading.Lock()
        self.may_go = True  # false while the test itself has stopped it

    def run(self):
        while self.server.process.poll() is None:
            time.sleep(CHANCE.uniform(0, PAUSE_S / 4))
            self.server.process.send_signal(signal.SIGSTOP)
            time.sleep(CHANCE.uniform(0, PAUSE_S / 2))
            with self.lock:
                if self.may_go:
                    self.server.process.send_signal(signal.SIGCONT)

    def heed(self, number):
        """The test sends this signal to the daemon."""
        with self.lock:
            self.may_go = number != signal.SIGSTOP if number in (signal.SIGSTOP, signal.SIGCONT) else self.may_go


def wait_for(condition, what):
    """Polls until condition() is true."""
    deadline = time.monotonic() + PATIENCE_S
    while hesitate() or not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.01)


def free_ports(n):
    """TCP ports that nobody listens on now, for a server whose port others must know beforehand or
    that comes back. The ports are below those that the kernel assigns, so that no connection and
    no other test gets one while it is free."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            end = min(int(file.read().split()[0]), 32768)
    except OSError:
        end = 32768
    if end < 12000:  # the kernel assigns nearly all
        end = 32768
    held = []
    while len(held) < n:
        try:
            held.append(socket.create_server(("127.0.0.1", random.randrange(10000, end))))
        except OSError:
            pass
    ports = [listener.getsockname()[1] for listener in held]
    for listener in held:
        listener.close()
    return ports


def multipart(fields):
    """A form as browsers and curl send it, and its headers; a value (name, bytes) is a file."""
    body = b""
    for name, value in fields.items():
        body += f'------frontier\r\nContent-Disposition: form-data; name="{name}"'.encode()
        if isinstance(value, tuple):
            body += f'; filename="{value[0]}"\r\nContent-Type: application/octet-stream'.encode()
            value = value[1]
        body += b"\r\n\r\n" + (value if isinstance(value, bytes) else value.encode()) + b"\r\n"
    return body + b"------frontier--\r\n", {"Content-Type": "multipart/form-data; boundary=----frontier"}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """One dragomand, from start to stop."""

    def __init__(self, directory, flags, conf="", env=None, listen=("127.0.0.1:0",), command=(PROGRAM,), **popen):
        self.directory = directory
        self.conf_path = os.path.join(directory, "dragomand.conf")
        self.log_path = os.path.join(directory, "stderr.log")
        self.write_conf(conf)
        arguments = [*command, f"--config={self.conf_path}", *(f"--listen={a}" for a in listen), *flags]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(arguments, cwd=directory, env=environment(env), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, **popen)
        self.expected_codes = (0,)
        self.brakes = Brakes(self)
        if WHO_IS_SLOW == "daemon":
            self.brakes.start()
        hesitate()

    def write_conf(self, text):
        with open(self.conf_path, "wb") as conf:
            conf.write(text if isinstance(text, bytes) else text.encode())

    def log(self):
        with open(self.log_path, "rb") as log:
            return log.read().decode("utf-8", "replace")

    def wait_for_log(self, text, times=1):
        wait_for(lambda: self.log().count(text) >= times or self.process.poll() is not None, f'"{text}" in the log')
        if self.log().count(text) < times:
            raise AssertionError(f'the daemon ended (code {self.process.returncode}) without "{text}" in its log')

    def wait_ready(self):
        self.wait_for_log("msg=ready")
        return self

    def addresses(self):
        return re.findall(r"msg=listening address=(\S+)", self.log())

    def port(self):
        """The first TCP port that the server listens on."""
        return int(next(a for a in self.addresses() if not a.startswith("unix:")).rpartition(":")[2])

    def connect(self):
        """A raw TCP connection."""
        hesitate()
        return socket.create_connection(("127.0.0.1", self.port()), timeout=PATIENCE_S)

    def request(self, method, path, body=None, headers=None, connection=None, unix=None):
        """Sends one request; returns (status, headers, body). The answer is compared with
        docs/api/openapi.yaml. Without `connection` it opens a connection of its own, to the Unix
        socket `unix` if that is given."""
        hesitate()
        own = connection
        if own is None and unix:
            own = UnixConnection(unix)
        elif own is None:
            own = http.client.HTTPConnection("127.0.0.1", self.port(), timeout=PATIENCE_S)
        try:
            try:
                own.request(method, path, body=body, headers=headers or {})
            except (BrokenPipeError, ConnectionResetError):
                if own.sock is None:
                    raise
                # refused while we were still writing; the answer can be read
            response = own.getresponse()
            body = response.read()
            complaint = openapi.complaint(method, path, response.status, response.headers.get("Content-Type", ""), body)
            if complaint:
                raise AssertionError(complaint)
            if response.reason == "Status":  # dg_http_reason's answer for a number that it does not know
                raise AssertionError(f"{method} {path}: {response.status} has no reason phrase")
            return response.status, response.headers, body
        finally:
            if connection is None:
                own.close()

    def signal(self, number):
        hesitate()
        self.brakes.heed(number)
        self.process.send_signal(number)

    def wait(self):
        """Waits for the server's end and returns the exit code. Kills a server that does not end."""
        try:
            return self.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the daemon did not end within {PATIENCE_S} s") from None

    def stop(self):
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait()

    def complaints(self):
        """What is wrong with the way the server ended; "" when nothing is."""
        code = self.process.returncode
        report = REPORTS.search(self.log().encode())
        if report:
            return f"its log holds: {report.group(0).decode()}"
        if code not in self.expected_codes:
            return f"it ended with code {code}, expected {self.expected_codes}"
        return ""


def write_lex(model, targets):
    """Gives a model directory a shortlist by which every source word except the end may become any
    of `targets`. No word is allowed whatever the source is."""
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        n_words = json.load(file)["vocab_size"]
    offsets = [0] + [k * len(targets) for k in range(n_words)]
    body = struct.pack("<4Q", 0, len(targets), n_words + 1, offsets[-1])
    body += struct.pack(f"<{n_words + 1}Q", *offsets)
    body += struct.pack(f"<{len(targets)}I", *targets) * (n_words - 1)
    checksum = 0
    for word in struct.unpack(f"<{len(body) // 8}Q", body[:len(body) // 8 * 8]):
        checksum ^= (word + 0x9e3779b9 + (checksum << 6) + (checksum >> 2)) & (2**64 - 1)
    with open(os.path.join(model, "lex.bin"), "wb") as file:
        file.write(struct.pack("<2Q", 0xf11a48d5013417f5, checksum) + body)


class IntegrationTest(unittest.TestCase):
    """Gives each test a temporary directory and stops the servers that it started."""

    def setUp(self):
        global hesitations
        hesitations = 0
        self.directory = tempfile.mkdtemp(prefix="dragomand-test-", dir=FOLDERS)
        self.servers = []
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.addCleanup(self.stop_servers)

    def start(self, *flags, ready=True, **options):
        """Starts a daemon; see Server for the options."""
        folder = os.path.join(self.directory, str(len(self.servers)))
        os.mkdir(folder)
        os.chmod(self.directory, 0o755)
        server = Server(folder, flags, **options)
        self.servers.append(server)
        return server.wait_ready() if ready else server

    def run_program(self, *arguments, env=None, conf=None, **popen):
        """Runs the program to its end, not as a server; returns the finished process with its
        outputs as text. `conf` is written to bad.conf and named by --config."""
        if conf is not None:
            with open(os.path.join(self.directory, "bad.conf"), "wb") as file:
                file.write(conf)
            arguments = ("--config=bad.conf", *arguments)
        return subprocess.run([popen.pop("program", PROGRAM), *arguments], cwd=self.directory, env=environment(env),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S,
                              encoding="utf-8", errors="replace", **popen)

    def stop_servers(self):
        complaints = []
        for server in self.servers:
            try:
                server.stop()
                complaint = server.complaints()
            except AssertionError as error:
                complaint = str(error)
            if complaint:
                complaints.append(f"{' '.join(server.process.args)}: {complaint}")
        if complaints or self.has_failed():
            for server in self.servers:
                sys.stderr.write(f"---- log of {' '.join(server.process.args)}\n{server.log()}---- end of log\n")
        if complaints:
            raise AssertionError("; ".join(complaints))

    def has_failed(self):
        outcome = getattr(self, "_outcome", None)
        if outcome is None:
            return False
        if hasattr(outcome, "errors"):  # before Python 3.11
            return any(error for _, error in outcome.errors)
        return any(test is self for test, _ in outcome.result.failures + outcome.result.errors)


def main():
    unittest.main(verbosity=2)
