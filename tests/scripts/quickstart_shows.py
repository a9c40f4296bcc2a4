#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Tiers: gcc
"""quickstart shows how far a build and its tests are: a line now and then in a pipe, one line that
is rewritten on a terminal.

It runs in a folder of its own with a configure that writes a small Makefile, which prints what
automake's prints."""
import os
import pty
import shutil
import subprocess
import tempfile
import threading
import unittest

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))

CONFIGURE = """#!/bin/sh
touch config.status
cat >Makefile <<'END'
names = $(shell seq -f src/room/%g.o 40) program
all all-am check-programs: $(names)
$(names):
	@echo "  CC      " $@; mkdir -p src/room; touch $@ $(BROKEN)
count-tests:
	@echo 20
check: check-programs
	@for n in $$(seq 19); do echo "PASS: tests/test_$$n"; done; echo "$${LAST_TEST:-PASS}: tests/test_20"
	@echo "x: ./test-suite.log"; echo "FAIL: tests/test_20"; echo "  A line of its log"
	@echo "Testsuite summary for x"; echo "# PASS: 19"
	@if test "$$LAST_TEST" = FAIL; then echo "# FAIL: 1"; echo "# ERROR: 0"; exit 1; \\
	else echo "# PASS: 1"; echo "# ERROR: 0"; fi
.PHONY: all all-am check-programs count-tests check
END
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="dragoman-quickstart-")
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(os.path.join(SOURCES, "quickstart"), self.folder)
        self.write("configure", CONFIGURE)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def quickstart(self, *arguments, output=subprocess.PIPE, **more):
        env = {name: value for name, value in os.environ.items()
               if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VERBOSE", "TESTS", "V")}
        env.update({"DRAGOMAN_SKIP_PACKAGES": "1", "TERM": "xterm"}, **more)
        return subprocess.run(["bash", "quickstart", *arguments], cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.STDOUT, encoding="utf-8", check=False)

    def test_help(self):
        for argument in "--help", "-h", "help":
            done = self.quickstart(argument)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("quickstart test [--all]", done.stdout)
        self.assertEqual(self.quickstart().returncode, 2)

    def test_lines_in_a_pipe(self):
        done = self.quickstart("test")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("looking for compiler and libraries", done.stdout)
        self.assertIn("making files: 41 of 41", done.stdout)
        self.assertRegex(done.stdout, r"making files: \d+ of 41.*, in src/room\n")
        self.assertIn("tests: 20 of 20, 0 failed\n", done.stdout)
        self.assertRegex(done.stdout, r"== check \.\.\. 20 passed, 0 failed, 0 skipped")
        self.assertTrue(done.stdout.endswith("\n20 passed, 0 failed, 0 skipped\n"), done.stdout)
        # It prints fewer lines than there are files and tests, and nothing that only a terminal
        # understands.
        self.assertLess(done.stdout.count("\n"), 30)
        self.assertNotIn("\r", done.stdout)

    def test_nothing_to_make(self):
        self.quickstart("test")
        done = self.quickstart("test")
        self.assertNotIn("making files", done.stdout)
        self.assertIn("tests: 20 of 20, 0 failed\n", done.stdout)

    def test_a_failed_test(self):
        done = self.quickstart("test", LAST_TEST="FAIL")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("tests: 20 of 20, 1 failed\n", done.stdout)
        self.assertIn("  A line of its log\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\n19 passed, 1 failed, 0 skipped\n"), done.stdout)

    def test_a_failed_build(self):
        done = self.quickstart("run", "--port", "65535", BROKEN="/nowhere/at/all")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("41 files to make", done.stdout)
        self.assertIn("the build failed; the whole story is in", done.stdout)

    def test_a_line_on_a_terminal(self):
        # The output fits the terminal's buffer only if the other end is read: a thread does that.
        ours, theirs = pty.openpty()
        shown = []

        def read():
            try:
                while piece := os.read(ours, 65536):
                    shown.append(piece)
            except OSError:  # the other end is closed
                pass
        reader = threading.Thread(target=read)
        reader.start()
        try:
            done = self.quickstart("test", output=theirs)
        finally:
            os.close(theirs)
            reader.join()
            os.close(ours)
        self.assertEqual(done.returncode, 0)
        text = b"".join(shown).decode()
        self.assertRegex(text, "\r\033\\[Kmaking files: 41 of 41, (program|src/room)\r")  # the last two come in either order
        self.assertIn("\r\033[Ktests: 20 of 20, 0 failed, tests/test_20\r\033[K", text)
        self.assertIn("20 passed, 0 failed, 0 skipped", text)

    def test_llhttp_without_node(self):
        """Where only Debian 12's node-llhttp has llhttp, its files are unpacked, nothing is
        installed, and make gets them."""
        self.write("configure", CONFIGURE + "echo $LLHTTP_SRC >given\n")
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        for name, text in {
                "dpkg-query": "printf installed",
                "pkg-config": "exit 1",
                "apt-cache": "exit 100",
                "apt-get": 'echo "$*" >>"$LOG"; case $* in *download*) touch node-llhttp_8_all.deb ;; esac',
                "dpkg-deb": "mkdir -p usr/share/llhttp usr/share/include/llhttp\n"
                            "touch usr/share/llhttp/llhttp.c usr/share/include/llhttp/llhttp.h"}.items():
            self.write(os.path.join("tools", name), "#!/bin/sh\n" + text + "\n")
        log = os.path.join(self.folder, "log")
        here = os.path.realpath(self.folder)
        for _ in range(2):
            done = self.quickstart("test", DRAGOMAN_SKIP_PACKAGES="", DRAGOMAN_LLHTTP="/nowhere", LOG=log,
                                   PATH=tools + os.pathsep + os.environ["PATH"])
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertTrue(os.path.exists(os.path.join(here, "build", "llhttp", "llhttp.h")))
            with open(os.path.join(here, "build", "given"), encoding="utf-8") as file:
                self.assertEqual(file.read(), os.path.join(here, "build", "llhttp") + "\n")
        with open(log, encoding="utf-8") as file:
            asked = file.read().splitlines()
        self.assertEqual(len([line for line in asked if "download" in line]), 1, asked)
        self.assertFalse([line for line in asked if "install" in line], asked)


if __name__ == "__main__":
    unittest.main()
