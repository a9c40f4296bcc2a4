# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Other people's tools read docs/api/openapi.yaml and GET /spec: Redocly finds no fault, both are
valid, and a client with types from openapi-typescript passes the type check, even where it
leaves out the members that have a default."""
import json
import os
import shutil
import subprocess

from harness import PATIENCE_S, SOURCES, IntegrationTest, main

DESCRIPTION = os.path.join(SOURCES, "docs", "api", "openapi.yaml")
FILES = ("package.json", "package-lock.json", "check.mjs", "client.ts")
INSTALL_S = 120


class OpenApiNode(IntegrationTest):
    def test_tools_find_nothing(self):
        if not shutil.which("node") or not shutil.which("npm"):
            self.skipTest("needs node and npm")
        folder = os.path.join(self.directory, "node")
        os.mkdir(folder)
        for name in FILES:
            shutil.copy(os.path.join(SOURCES, "tests", "node", "openapi", name), folder)
        try:
            got = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts",
                                  f"--cache={os.path.join(folder, 'cache')}"], cwd=folder,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_S)
        except subprocess.TimeoutExpired:
            self.skipTest("needs npm's openapi-typescript and others, and npm took too long to get them")
        if got.returncode != 0:
            self.skipTest("needs npm's openapi-typescript and others, which npm could not get")
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
