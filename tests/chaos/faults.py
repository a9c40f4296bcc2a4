# SPDX-License-Identifier: ISC
"""The other end of faults.c: which system calls of a running daemon fail, and how.

    plan = Plan(os.path.join(directory, "faults"))
    server = self.start(..., env=plan.environment())
    plan.arm("fsync", errno.EIO, nth=3)       # the third from now, once
    plan.rest()                               # nothing fails any more
    plan.hits()                               # how many did
"""
import mmap
import os
import struct

LIBRARY = os.path.abspath(os.path.join("tests", "chaos", "faults.so"))
KINDS = ("file-read", "file-write", "socket-read", "socket-write", "open", "rename", "unlink", "fsync", "mmap", "accept", "malloc")
CALLS, AT, TIMES, ERROR, HITS = range(5)
SIZE = (5 * len(KINDS) + 1) * 8
FOR_EVER = 1 << 40


def why_not(run_program):
    """Why the library cannot be used here; "" when it can. gcc's sanitizers are libraries that must
    be loaded first."""
    if not os.path.exists(LIBRARY):
        return "needs tests/chaos/faults.so, which make check builds"
    if run_program("--version", env={"LD_PRELOAD": LIBRARY}).returncode != 0:
        return "needs a program that runs with tests/chaos/faults.so: clang's sanitizers rather than gcc's"
    return ""


class Plan:
    def __init__(self, path):
        self.path = path
        with open(path, "w+b") as file:
            file.truncate(SIZE)
            self.page = mmap.mmap(file.fileno(), SIZE)

    def environment(self):
        return {"LD_PRELOAD": LIBRARY, "DRAGOMAN_FAULTS": self.path}

    def get(self, kind, field):
        return struct.unpack_from("<q", self.page, 8 * (5 * KINDS.index(kind) + field))[0]

    def set(self, kind, field, value):
        struct.pack_into("<q", self.page, 8 * (5 * KINDS.index(kind) + field), value)

    def arm(self, kind, error, nth=1, times=1):
        """From the nth call of this kind from now on, `times` calls fail with this error (0: they
        do less)."""
        self.set(kind, AT, 0)
        self.set(kind, ERROR, error)
        self.set(kind, TIMES, times)
        self.set(kind, AT, self.get(kind, CALLS) + nth)

    def rest(self):
        for kind in KINDS:
            self.set(kind, AT, 0)

    def hits(self):
        return sum(self.get(kind, HITS) for kind in KINDS)

    def jump(self, seconds):
        """Moves the time of day by so many seconds."""
        struct.pack_into("<q", self.page, 8 * 5 * len(KINDS), seconds)
