# SPDX-License-Identifier: ISC
"""The daemon has no descriptor left, or the system has none: existing connections are served, new
ones get an error or wait, the loop does not spin, and connections are accepted again afterwards."""
import errno
import http.client
import json
import os
import resource
import sys
import time

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "chaos"))
from faults import CALLS, FOR_EVER, Plan, why_not  # noqa: E402

SERVED = 50
PAUSE_S = 0.2  # DG_LISTENER_PAUSE_MS
BODY = json.dumps({"text": "Le chat dort.", "target": "en"})


class Descriptors(IntegrationTest):
    def begin(self, **more):
        self.server = self.start(f"--models-dir={MODELS_DIR}", "--threads=1", **more)
        self.old = self.connect()
        self.expected = self.translate(self.old)

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port(), timeout=PATIENCE_S)
        connection.connect()
        self.addCleanup(connection.close)
        return connection

    def translate(self, connection):
        connection.request("POST", "/v1/translate", BODY, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        self.assertEqual(answer.status, 200, said)
        return json.loads(said)["translations"][0]["text"]

    def metric(self, name):
        self.old.request("GET", "/metrics")
        text = self.old.getresponse().read().decode()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"dragoman_{name} "))

    def test_a_daemon_without_descriptors_says_so(self):
        self.begin()
        pid = self.server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(used) + 1, hard))
        others = [self.connect() for _ in range(max(used) + 1 - len(used))]  # they fill the gaps
        for other in others:
            self.assertEqual(self.translate(other), self.expected)
        for _ in range(5):
            new = self.connect()
            answer = http.client.HTTPResponse(new.sock)  # the answer comes before any request
            answer.begin()
            self.assertEqual((answer.status, answer.headers["Retry-After"], answer.headers["Connection"]), (503, "1", "close"))
            self.assertEqual(json.loads(answer.read())["error"]["code"], "overloaded")
            new.close()
            self.assertEqual(self.translate(self.old), self.expected)
        self.assertEqual(self.metric("connections_refused_total"), 5)
        self.assertIn("cannot accept a connection: too many open files", self.server.log())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
        self.assertEqual(self.translate(self.connect()), self.expected)

    def test_a_system_without_descriptors_does_not_make_it_spin(self):
        reason = why_not(self.run_program)
        if reason:
            self.skipTest(reason)
        plan = Plan(os.path.join(self.directory, "plan"))
        self.begin(env=plan.environment())
        begun = time.monotonic()
        plan.arm("accept", errno.ENFILE, times=FOR_EVER)
        before = plan.get("accept", CALLS)
        waiting = [self.connect() for _ in range(3)]
        wait_for(lambda: plan.hits() > 0, "a connection that is not accepted")
        for _ in range(SERVED):
            self.assertEqual(self.translate(self.old), self.expected)
        calls = plan.get("accept", CALLS) - before
        # Two calls for each pause, and as many at the start. There were thousands when the loop
        # kept trying.
        self.assertLessEqual(calls, 4 + 2 * 2 * (time.monotonic() - begun) / PAUSE_S)
        plan.rest()
        for connection in waiting:
            self.assertEqual(self.translate(connection), self.expected)


if __name__ == "__main__":
    main()
