# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""A restart under load, while the test holds the listening socket as systemd holds it: no request
fails."""
import os
import signal
import socket
import sys

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from held_socket import HeldSocket  # noqa: E402
from load import Load, post  # noqa: E402

TOTAL = 10000
RESTARTS = 3


class SocketActivation(IntegrationTest):
    def setUp(self):
        super().setUp()
        if "systemd    yes" not in self.run_program("--version").stdout:
            self.skipTest("built without libsystemd")

    def test_no_request_fails_while_the_service_is_restarted(self):
        held = HeldSocket(self)
        held.start(f"--models-dir={MODELS_DIR}", "--access-log=no")
        load = Load(held.port, post("/v1/translate", {"text": "Merci beaucoup.", "target": "en"}), TOTAL).start()
        try:
            for n in range(RESTARTS):
                load.wait_for(TOTAL * (n + 1) // (RESTARTS + 1))
                held.restart()
        finally:
            load.join()
        self.assertEqual(load.failures, [])
        self.assertEqual(load.done, TOTAL)
        self.assertEqual(len(self.servers), RESTARTS + 1)

    def test_an_address_in_both_places_is_served_once(self):
        held = HeldSocket(self)
        server = held.start(conf=f"listen = 127.0.0.1:{held.port}\n")
        self.assertEqual(server.addresses(), [f"127.0.0.1:{held.port}"])
        self.assertEqual(server.request("GET", "/healthz")[0], 200)

    def test_one_that_hangs_is_killed_and_another_takes_its_place(self):
        """The whole course of the watchdog, with the test in systemd's place."""
        path = os.path.join(self.directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            notices.bind(path)
            notices.settimeout(PATIENCE_S)
            held = HeldSocket(self)
            first = held.start(f"--models-dir={MODELS_DIR}",
                               env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"})
            said = []
            while not any(notice.startswith("WATCHDOG=1") for notice in said):
                said.append(notices.recv(4096).decode())
            self.assertRegex(said[0], r"^EXTEND_TIMEOUT_USEC=\d+\nSTATUS=loading fr-en, model 1 of 1$")
            self.assertTrue(any(notice.startswith("READY=1") for notice in said), said)
            first.signal(signal.SIGSTOP)
            with self.assertRaises(TimeoutError):
                notices.settimeout(1)  # five times as long as the daemon may be silent
                while True:
                    notices.recv(4096)
            first.expected_codes = (-signal.SIGABRT,)
            first.signal(signal.SIGABRT)
            first.signal(signal.SIGCONT)
            first.wait()
            with socket.create_connection(("127.0.0.1", held.port), timeout=PATIENCE_S) as early:
                early.sendall(b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                held.restart()
                self.assertTrue(early.recv(4096).startswith(b"HTTP/1.1 200 "))


if __name__ == "__main__":
    main()
