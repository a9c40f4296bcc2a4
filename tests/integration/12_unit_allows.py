# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""Checks that systemd/dragomand.service allows what the daemon does: its system calls, its socket
families, and no memory that is both writable and executable. strace watches the daemon through a
start, requests, a document, a bulk job, a reload and a stop; the service's filter is taken from
the unit and expanded by systemd-analyze."""
import json
import os
import re
import shutil
import signal
import subprocess

from harness import PROGRAM, SOURCES, IntegrationTest, main, wait_for


def members(name, seen):
    """The system calls in a set such as @system-service."""
    calls = set()
    if name in seen:
        return calls
    seen.add(name)
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, encoding="utf-8",
                          check=True).stdout
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            calls |= members(word, seen)
        elif word and not word.startswith("#"):
            calls.add(word)
    return calls


def allowed_by(unit):
    calls = members("@default", set())
    for value in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
        words = set()
        for word in value.lstrip("~").split():
            words |= members(word, set()) if word.startswith("@") else {word}
        calls = calls - words if value.startswith("~") else calls | words
    return calls


class UnitAllows(IntegrationTest):
    def setUp(self):
        super().setUp()
        for program in "strace", "systemd-analyze":
            if not shutil.which(program):
                self.skipTest(f"needs {program}")
        with open(PROGRAM, "rb") as file:
            if re.search(rb"__(asan|tsan|msan)_init", file.read()):
                self.skipTest("needs a program without sanitizers")
        if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode:
            self.skipTest("needs the right to trace processes")

    def test_system_calls(self):
        trace = os.path.join(self.directory, "trace")
        for name in "jobs", "models":
            os.mkdir(os.path.join(self.directory, name))
        os.symlink(os.path.join(SOURCES, "models", "fr-en"), os.path.join(self.directory, "models", "fr-en"))
        server = self.start(
            f"--models-dir={self.directory}/models", f"--jobs-dir={self.directory}/jobs",
            f"--language-data={SOURCES}/data/langid/langid.bin",
            listen=("127.0.0.1:0", f"unix:{self.directory}/socket"),
            command=("strace", "--follow-forks", "--quiet=all", f"--output={trace}", "-I2", PROGRAM),
            env={"OPENBLAS_NUM_THREADS": "1"})
        body = json.dumps({"text": "Merci beaucoup.", "target": "en"})
        self.assertEqual(server.request("POST", "/v1/translate", body)[0], 200)
        self.assertEqual(server.request("GET", "/readyz", unix=os.path.join(self.directory, "socket"))[0], 200)
        form = b'--X\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nMerci.\r\n'
        for name, value in ((b"source", b"fr"), (b"target", b"en")):
            form += b'--X\r\nContent-Disposition: form-data; name="' + name + b'"\r\n\r\n' + value + b"\r\n"
        status, _, answer = server.request("POST", "/translate_file", form + b"--X--\r\n", {"Content-Type": "multipart/form-data; boundary=X"})
        self.assertEqual(status, 200, answer)
        self.assertEqual(server.request("GET", "/download_file/" + json.loads(answer)["translatedFileUrl"].rpartition("/")[2])[0], 200)
        status, _, answer = server.request("POST", "/v1/jobs?target=en", "Merci.\nOui.\n",
                                           {"Content-Type": "text/plain"})
        self.assertEqual(status // 100, 2)
        job = json.loads(answer)["id"]
        wait_for(lambda: json.loads(server.request("GET", f"/v1/jobs/{job}")[2])["state"] == "done", "the job")
        with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="ascii") as file:
            daemon = int(file.read().split()[0])
        os.kill(daemon, signal.SIGHUP)
        server.wait_for_log("models reloaded")
        os.kill(daemon, signal.SIGTERM)
        self.assertEqual(server.wait(), 0)

        with open(os.path.join(SOURCES, "systemd", "dragomand.service.in"), encoding="utf-8") as file:
            unit = file.read()
        with open(trace, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
        made = {match.group(1) for match in (re.match(r"\d+ +(?:<\.\.\. )?([a-z][a-z0-9_]*)", line) for line in lines)
                if match}
        self.assertIn("openat", made)
        self.assertEqual(made - allowed_by(unit), set())
        families = set(re.search(r"^RestrictAddressFamilies=(.*)$", unit, re.M).group(1).split())
        opened = {match.group(1) for match in (re.search(r"socket\((AF_\w+)", line) for line in lines) if match}
        self.assertLessEqual(opened, families)
        self.assertIn("MemoryDenyWriteExecute=yes", unit)
        # The unit calls only programs that the smallest Debian has.
        self.assertEqual({line.split()[0] for line in re.findall(r"^Exec\w+=(.*)$", unit, re.M)}, {"@sbindir@/dragomand", "/bin/sh"})
        self.assertEqual([line for line in lines if re.search(r"(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC", line)], [])


if __name__ == "__main__":
    main()
