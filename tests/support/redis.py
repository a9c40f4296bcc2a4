# SPDX-License-Identifier: ISC
"""Runs a redis-server for one test.

    redis = Redis(test)                            # skips the test where there is no redis-server
    redis.start(); redis.address                   # for --redis
    redis.pause(); redis.resume(); redis.kill()    # SIGSTOP, SIGCONT, SIGKILL
    redis.command("DBSIZE")
    Redis(test, "b", "--port", "7001")             # a second one, which also listens elsewhere
"""
import os
import shutil
import signal
import socket
import subprocess

from harness import PATIENCE_S, wait_for


class Redis:
    def __init__(self, test, name="redis", *flags):
        if not shutil.which("redis-server"):
            test.skipTest("needs redis-server")
        self.path = os.path.join(test.directory, name)
        self.flags = list(flags) if "--port" in flags else ["--port", "0", *flags]
        self.address = f"unix:{self.path}"
        self.directory = test.directory
        self.process = None
        test.addCleanup(self.kill)

    def start(self):
        with open(os.path.join(self.directory, "redis.log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", *self.flags, "--unixsocket", self.path, "--save", "", "--appendonly", "no",
                 "--dir", self.directory], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.answers, "redis-server")
        return self

    def answers(self):
        try:
            return self.command("PING").startswith(b"+PONG")
        except OSError:
            return False

    def command(self, *words):
        """Sends a command; returns the bytes of the answer that come at once."""
        text = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (word.encode() for word in words))
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(self.path)
            client.sendall(b"*%d\r\n" % len(words) + text)
            return client.recv(65536)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None
