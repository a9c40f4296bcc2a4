# SPDX-License-Identifier: ISC
"""Plays systemd's dragomand.socket: holds the listening socket while daemons come and go.

    held = HeldSocket(test)                        # test: an IntegrationTest
    held.start("--models-dir=models")              # the first daemon
    held.restart()                                 # stops it, waits for its end, starts the next one
    held.port, held.server

A client that connects while no daemon runs waits in the socket's queue, as with systemd.
(systemd-socket-activate cannot stand in: it does not start its program again.)
"""
import socket

from harness import PROGRAM


class HeldSocket:
    def __init__(self, test, backlog=4096):
        self.test = test
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.port = self.listener.getsockname()[1]
        self.server = None
        self.arguments = ((), {})
        test.addCleanup(self.listener.close)

    def start(self, *flags, **options):
        """Starts a daemon with the socket as its descriptor 3. The shell's process becomes the
        daemon by exec, so that LISTEN_PID and WATCHDOG_PID can name it."""
        self.arguments = (flags, options)
        fd = self.listener.fileno()
        self.server = self.test.start(
            *flags, listen=(), pass_fds=(fd,),
            command=("sh", "-c", f'LISTEN_PID=$$ WATCHDOG_PID=$$ LISTEN_FDS=1 exec "$0" "$@" 3<&{fd}', PROGRAM), **options)
        return self.server

    def restart(self):
        """Restarts the daemon as "systemctl restart" does."""
        self.server.stop()
        flags, options = self.arguments
        return self.start(*flags, **options)
