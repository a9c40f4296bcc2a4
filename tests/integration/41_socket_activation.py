# SPDX-License-Identifier: ISC
"""A restart under load, with the listening socket held as systemd holds it: no request fails."""
import os
import sys

from harness import IntegrationTest, SOURCES, main

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
        held.start(f"--models-dir={os.path.join(SOURCES, 'models')}", "--access-log=no")
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


if __name__ == "__main__":
    main()
