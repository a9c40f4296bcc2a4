# SPDX-License-Identifier: ISC
# Tiers: gcc
"""Other people's tools read docs/api/openapi.yaml and GET /spec: Redocly finds no fault, both are
valid, and a client with types from openapi-typescript passes the type check, even where it
leaves out the members that have a default."""
import json
import os
import subprocess

from harness import PATIENCE_S, SOURCES, IntegrationTest, main
from node import node_folder

DESCRIPTION = os.path.join(SOURCES, "docs", "api", "openapi.yaml")


class OpenApiNode(IntegrationTest):
    def test_tools_find_nothing(self):
        folder = node_folder(self, "openapi", "openapi-typescript and others", "check.mjs", "client.ts")
        status, _, spec = self.start().request("GET", "/spec")
        self.assertEqual(status, 200)
        with open(os.path.join(folder, "spec.json"), "wb") as file:
            file.write(spec)
        done = subprocess.run(["node", "check.mjs", os.path.abspath(DESCRIPTION), "spec.json"], cwd=folder, capture_output=True,
                              timeout=8 * PATIENCE_S, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"problems": [], "openapi": "3.0.3", "spec": "2.0"})


if __name__ == "__main__":
    main()
