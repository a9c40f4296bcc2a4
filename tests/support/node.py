# SPDX-License-Identifier: ISC
"""Libraries of npm for one test.

    folder = node_folder(test, "deepl", "deepl-node", "client.js")     # skips the test where npm cannot get them

The folder has the files of tests/node/deepl that are named, and what its package-lock.json lists.
"""
import os
import shutil
import subprocess

from harness import SOURCES

INSTALL_S = 120  # a registry is waited for no longer
RETRY = ["--fetch-retries=1", "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=5000"]  # by itself npm waits 70 s


def node_folder(test, project, libraries, *files):
    if not shutil.which("node") or not shutil.which("npm"):
        test.skipTest("needs node and npm")
    folder = os.path.join(test.directory, "node")
    os.mkdir(folder)
    for name in ("package.json", "package-lock.json", *files):
        shutil.copy(os.path.join(SOURCES, "tests", "node", project, name), folder)
    try:
        got = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", *RETRY,
                              f"--cache={os.path.join(folder, 'cache')}"], cwd=folder, stdin=subprocess.DEVNULL,
                             capture_output=True, timeout=INSTALL_S)
    except subprocess.TimeoutExpired:
        test.skipTest(f"needs npm's {libraries}, and npm took too long to get them")
    if got.returncode != 0:
        test.skipTest(f"needs npm's {libraries}, which npm could not get")
    return folder
