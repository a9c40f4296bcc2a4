# SPDX-License-Identifier: ISC
"""Administration over its own socket: models are added, removed and added again; log level, reload,
drain, numbers."""
import json
import os
import stat
import sys

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, wait_for

sys.path.insert(0, os.path.join(SOURCES, "tests", "support"))
from load import Endless, post  # noqa: E402

MODEL = os.path.join(SOURCES, "models", "fr-en")
TEXT = {"text": "Le chat dort.", "target": "en"}


class Admin(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.socket = os.path.join(self.directory, "admin")

    def begin(self, *flags, **options):
        return self.start(f"--admin-socket={self.socket}", *flags, **options)

    def ask(self, server, method, path, body=None, status=200, admin=True):
        text = None if body is None else json.dumps(body)
        got, _, answer = server.request(method, path, body=text, unix=self.socket if admin else None)
        self.assertEqual(got, status, answer)
        return json.loads(answer)

    def test_only_the_socket_lets_in(self):
        server = self.begin("--ops-loopback=no")  # without it this machine may read them: 60_ops.py
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        for method, path in (("GET", "/v1/admin/status"), ("POST", "/v1/admin/drain"), ("POST", "/v1/admin/models"),
                             ("DELETE", "/v1/admin/models/x"), ("POST", "/v1/admin/log-level")):
            self.assertEqual(self.ask(server, method, path, status=403, admin=False)["error"]["code"], "admin_only")
        self.assertEqual(self.ask(server, "GET", "/v1/admin/status")["draining"], False)
        self.assertEqual(self.ask(server, "GET", "/healthz")["status"], "ok")
        server.stop()
        self.assertFalse(os.path.exists(self.socket))

    def test_models_come_and_go(self):
        server = self.begin()
        self.ask(server, "GET", "/readyz", status=503)
        self.ask(server, "POST", "/v1/admin/models", {"name": "fr-en", "path": MODEL})
        self.ask(server, "GET", "/readyz", admin=False)
        before = self.ask(server, "POST", "/v1/translate", TEXT, admin=False)["translations"]
        self.ask(server, "POST", "/v1/admin/models", {"name": "mine", "path": MODEL, "source": "fr", "target": "en"})
        self.assertEqual(self.ask(server, "GET", "/v1/admin/status")["models"], 2)
        named = self.ask(server, "POST", "/v1/translate", {"text": TEXT["text"], "model": "mine"})["translations"]
        self.assertEqual([t["text"] for t in named], [t["text"] for t in before])
        self.ask(server, "POST", "/v1/admin/models/mine/reload")
        self.ask(server, "DELETE", "/v1/admin/models/mine")
        self.assertEqual([m["name"] for m in self.ask(server, "GET", "/v1/models")["models"]], ["fr-en"])
        self.ask(server, "DELETE", "/v1/admin/models/mine", status=404)
        self.ask(server, "POST", "/v1/admin/models/mine/reload", status=404)
        self.ask(server, "POST", "/v1/admin/models/fr-en/reload")
        self.assertEqual(self.ask(server, "POST", "/v1/translate", TEXT)["translations"], before)

    def test_what_is_wrong_is_named(self):
        server = self.begin()
        bad = lambda body, field, path="/v1/admin/models": self.assertEqual(
            self.ask(server, "POST", path, body, status=400)["error"].get("field"), field, body)
        for body, field in (({}, "name"), ({"name": "a"}, "path"), ({"name": 1, "path": MODEL}, "name"),
                            ({"name": "", "path": MODEL}, "name"), ({"name": "a\u0000", "path": MODEL}, "name"),
                            ({"name": "a", "path": MODEL, "target": 2}, "target")):
            bad(body, field)
        bad({"level": "loud"}, "level", "/v1/admin/log-level")
        bad({}, "level", "/v1/admin/log-level")
        status, _, answer = server.request("POST", "/v1/admin/models", unix=self.socket,
                                           body=json.dumps({"name": "a", "path": os.path.join(self.directory, "none")}))
        self.assertIn(status, (400, 404, 500), answer)
        self.assertIn("none", json.loads(answer)["error"]["message"])
        self.assertEqual(self.ask(server, "GET", "/v1/admin/status")["models"], 0)

    def test_log_level_reload_and_drain(self):
        server = self.begin(f"--models-dir={MODELS_DIR}")
        self.ask(server, "POST", "/v1/admin/log-level", {"level": "debug"})
        self.assertEqual(self.ask(server, "GET", "/v1/admin/status")["log_level"], "debug")
        self.ask(server, "POST", "/v1/admin/reload", status=202)
        server.wait_for_log("models reloaded")
        wait_for(lambda: self.ask(server, "GET", "/v1/admin/status")["log_level"] == "info", "the configured level")
        self.ask(server, "POST", "/v1/translate", TEXT)
        self.assertGreater(self.ask(server, "GET", "/v1/admin/status")["sentences"]["done"], 0)
        self.assertEqual(self.ask(server, "POST", "/v1/admin/drain", status=202)["status"], "draining")
        self.assertEqual(server.wait(), 0)

    def test_a_full_queue_is_not_ready(self):
        server = self.begin(f"--models-dir={MODELS_DIR}", "--max-sentences=2", "--threads=1",
                            "--cache-size=0")
        text = " ".join(f"Je vois {i} chiens dans le jardin." for i in range(1500))
        client = Endless(server.port(), post("/v1/translate", {"text": text, "target": "en", "cache": False})).start()
        self.addCleanup(client.leave)
        wait_for(lambda: server.request("GET", "/readyz")[0] == 503, "a full queue")
        client.leave()
        wait_for(lambda: server.request("GET", "/readyz")[0] == 200, "room in the queue")


if __name__ == "__main__":
    main()
