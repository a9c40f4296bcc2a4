# SPDX-License-Identifier: ISC
"""Runs a proxy with the configuration in conf/, except that free ports replace its addresses.

    ports = free_ports(4)                                              # of the harness
    text = with_ports(conf_file("haproxy.cfg"), {8090: ports[0], 8091: ports[1], ...})
    proxy = Proxy(test, ["haproxy", "-db", "-f", path], ports[0])       # skips where there is no such program
"""
import os
import shutil
import socket
import subprocess

from harness import SOURCES, wait_for


def conf_file(name):
    with open(os.path.join(SOURCES, "conf", name), encoding="utf-8") as file:
        return file.read()


def with_ports(text, ports):
    """The text with 127.0.0.1:OLD replaced by 127.0.0.1:NEW for each port; the text must contain
    every OLD."""
    for old, new in ports.items():
        if f"127.0.0.1:{old}" not in text:
            raise AssertionError(f"the configuration does not mention 127.0.0.1:{old}")
        text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:@{new}")
    return text.replace(":@", ":")


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False


class Proxy:
    def __init__(self, test, command, port):
        if not shutil.which(command[0]):
            test.skipTest(f"needs {command[0]}")
        self.log_path = os.path.join(test.directory, "proxy.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, cwd=test.directory, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        test.addCleanup(self.stop)
        wait_for(lambda: answers(port) or self.process.poll() is not None, command[0])
        if self.process.poll() is not None:
            raise AssertionError(f"{command[0]}: {self.log()}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
