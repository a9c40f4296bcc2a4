# SPDX-License-Identifier: ISC
"""The start, refusals to start, reloads and stops."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from harness import MODELS_DIR, PATIENCE_S, PROGRAM, SOURCES, IntegrationTest, environment, main, wait_for

IS_ROOT = os.geteuid() == 0


def settle(server):
    """Waits until the server has read what was sent to it before. It has one loop, so an answer to
    this request proves it."""
    server.request("GET", "/healthz")


def content(path):
    """The file's text; "" when the file does not exist yet."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


class Serving(IntegrationTest):
    def test_healthz_answers(self):
        server = self.start()
        status, headers, body = server.request("GET", "/healthz")
        self.assertEqual((status, body), (200, b'{"status":"ok"}\n'))
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(server.request("HEAD", "/healthz")[2], b"")
        self.assertEqual(server.request("GET", "/nowhere")[0], 404)

    def test_one_connection_serves_many_requests(self):
        server = self.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.port(), timeout=PATIENCE_S)
        for _ in range(20):
            self.assertEqual(server.request("GET", "/healthz", connection=connection)[0], 200)
        connection.close()

    def test_listens_on_every_address(self):
        path = os.path.join(self.directory, "socket")
        server = self.start(listen=("127.0.0.1:0", "localhost:0", f"unix:{path}"))
        self.assertEqual(len(server.addresses()), 3)
        self.assertEqual(server.request("GET", "/healthz", unix=path)[0], 200)

    def test_is_ready_with_a_model_and_only_then(self):
        self.assertEqual(self.start().request("GET", "/readyz")[0], 503)
        models = MODELS_DIR
        server = self.start(f"--models-dir={models}")
        self.assertEqual(server.request("GET", "/readyz")[0], 200)

    def test_a_unix_socket_goes_with_its_server_and_a_stale_one_is_replaced(self):
        path = os.path.join(self.directory, "socket")
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(path)
        stale.close()
        server = self.start(listen=(f"unix:{path}",))
        self.assertEqual(server.request("GET", "/healthz", unix=path)[0], 200)
        server.stop()
        self.assertFalse(os.path.exists(path))

    def test_a_port_in_use_is_one_plain_sentence(self):
        first = self.start()
        result = self.run_program("--config=", f"--listen=127.0.0.1:{first.port()}")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"127.0.0.1:{first.port()}", result.stderr)
        self.assertIn("in use", result.stderr)

    def test_core_dumps_are_off_unless_asked_for(self):
        def limit(server):
            with open(f"/proc/{server.process.pid}/limits", encoding="ascii") as limits:
                return next(line.split()[4] for line in limits if line.startswith("Max core file size"))

        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        server = self.start(env={"DRAGOMAN_CORE_DUMPS": "no", "ASAN_OPTIONS": options})
        self.assertEqual(limit(server), "0")

    @unittest.skipUnless(IS_ROOT, "needs root to change the user")
    def test_privileges_are_dropped(self):
        path = os.path.join(self.directory, "socket")
        log = os.path.join(self.directory, "log")
        server = self.start("--user=nobody", f"--log-file={log}", listen=("127.0.0.1:0", f"unix:{path}"), ready=False)
        wait_for(lambda: "msg=ready" in content(log), "the log")
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
            ids = {line.split()[0]: line.split()[1:] for line in status if line.startswith(("Uid:", "Gid:", "Groups:"))}
        self.assertEqual(set(ids["Uid:"]), {str(os.stat(path).st_uid)})
        self.assertNotIn("0", ids["Uid:"] + ids["Gid:"] + ids["Groups:"])
        self.assertEqual(os.stat(log).st_uid, os.stat(path).st_uid)
        self.assertEqual(server.request("GET", "/healthz", unix=path)[0], 200)

    def test_an_unknown_user_ends_the_start(self):
        result = self.run_program("--config=", "--listen=127.0.0.1:0", "--user=no-such-account")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no-such-account", result.stderr)


class CommandLine(IntegrationTest):
    def test_version_names_the_libraries(self):
        result = self.run_program("--version")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in ("dragomand", "libuv", "llhttp", "jansson", "kernels"):
            self.assertRegex(result.stdout, rf"(?m)^{name} +\S")

    def test_help_lists_the_options(self):
        result = self.run_program("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("--listen=", result.stdout)

    def test_wrong_flags_exit_with_2(self):
        for flags in (["--nonsense"], ["--max-body=lots"], ["--listen=nowhere"], ["argument"], ["--max-body"]):
            result = self.run_program("--config=", *flags)
            self.assertEqual(result.returncode, 2, flags)
            self.assertRegex(result.stderr, r"^dragomand: .*read .*, expected ", flags)
        for address, part in {"localhost": "the port is missing", "localhost:0,example.org:80": "the host is neither",
                              "localhost:70000": "the port is larger", "unix:": 'the path after "unix:" is missing'}.items():
            self.assertIn(f'read "{address}" ({part}', self.run_program("--config=", f"--listen={address}").stderr)
        result = self.run_program("--config=", env={"DRAGOMAN_MAX_BODY": "lots"})
        self.assertEqual(result.returncode, 2)
        self.assertIn("DRAGOMAN_MAX_BODY: read \"lots\"", result.stderr)

    def test_the_journal_is_told_that_a_mistake_is_an_error(self):
        read, write = os.pipe()
        with open(read, encoding="utf-8") as file:
            stat = os.fstat(write)
            for stream, begin in (f"{stat.st_dev}:{stat.st_ino}", "<3>dragomand: "), ("1:1", "dragomand: "):
                done = subprocess.run([PROGRAM, "--config=", "--nonsense"], stderr=write, check=False,
                                      env=environment({"JOURNAL_STREAM": stream}))
                self.assertEqual(done.returncode, 2)
                self.assertTrue(file.readline().startswith(begin))
        os.close(write)

    def test_the_sample_is_valid(self):
        sample = os.path.join(SOURCES, "conf", "dragomand.conf")
        result = self.run_program(f"--config={sample}", "--check-config")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_check_config_tries_what_a_start_would_need(self):
        """It names the option, or the model, and the file; it makes and changes nothing."""
        here = self.directory
        def path(name):
            return os.path.join(here, name)
        os.makedirs(path("models/fr-en"))
        for name, text in (("empty", ""), ("short", "short\n"), ("file", "x\n"), ("keys", "")):
            with open(path(name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path(name), 0o600)
        before = sorted(os.listdir(here))
        for conf, *said in (
                (f"models-dir = {path('none')}", "models-dir", path("none")),
                (f"models-dir = {path('models')}/fr-en", None),
                (f"[model fr-en]\npath = {path('none')}", "model fr-en", path("none/config.json")),
                (f"keys-file = {path('none')}", "keys-file", path("none")),
                (f"keys-file = {path('keys')}", None),
                (f"jobs-dir = {path('none/jobs')}", "jobs-dir", path("none")),
                (f"jobs-dir = {path('jobs')}", None),
                (f"jobs-dir = {path('file')}", "jobs-dir", "is not a folder"),
                (f"glossaries-dir = {path('none/glossaries')}", "glossaries-dir", path("none")),
                (f"documents-dir = {path('none/documents')}", "documents-dir", path("none")),
                (f"log-file = {path('none/log')}", "log-file", path("none")),
                (f"log-file = {path('log')}", None),
                (f"usage-file = {path('none/usage')}", "usage-file", path("none")),
                (f"redis = 127.0.0.1:1\nredis-password-file = {path('none')}", "redis-password-file", path("none")),
                (f"redis = 127.0.0.1:1\nredis-password-file = {path('empty')}", "redis-password-file", "is empty"),
                (f"require-signed-models = yes\ntrusted-keys = {path('none')}", "trusted-keys", path("none"))):
            with self.subTest(conf=conf):
                result = self.run_program("--check-config", conf=conf.encode() + b"\n")
                if said == [None]:
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                else:
                    self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
                    for text in said:
                        self.assertIn(text, result.stderr)
        left = [name for name in sorted(os.listdir(here)) if not name.endswith(".conf")]
        self.assertEqual(left, before)

    def test_a_dump_dumps_itself(self):
        first = self.run_program("--dump-config", conf=b'max-body = 1024KiB\ncors-origin = "a # b"\nlisten = [::1]:1, unix:/x\n',
                                 env={"DRAGOMAN_MAX_URL": "4096"})
        self.assertEqual((first.returncode, first.stderr), (0, ""))
        for line in ("max-body = 1MiB", "max-url = 4KiB", 'cors-origin = "a # b"', "listen = [::1]:1, unix:/x"):
            self.assertIn(line + "\n", first.stdout)
        second = self.run_program("--dump-config", conf=first.stdout.encode())
        self.assertEqual((second.returncode, second.stdout), (0, first.stdout))


class BadConfiguration(IntegrationTest):
    """The daemon refuses each bad configuration: it names the file, the line, what it read and what
    it expected, exits with code 2 and starts nothing."""

    def check(self, conf, place, *said):
        result = self.run_program("--listen=127.0.0.1:0", conf=conf)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(f"dragomand: {place}: "), result.stderr)
        for text in ("read ", "expected ", *said):
            self.assertIn(text, result.stderr)
        checked = self.run_program("--check-config", conf=conf)
        self.assertEqual((checked.returncode, checked.stderr), (2, result.stderr))

    def test_unknown_key(self):
        self.check(b"\nmax-bdy = 1MiB\n", "bad.conf:2", '"max-bdy"', 'did you mean "max-body"')

    def test_value_out_of_range(self):
        self.check(b"max-body = 1TiB\n", "bad.conf:1: max-body", '"1TiB"', "from 1KiB to 1GiB")

    def test_value_of_the_wrong_kind(self):
        self.check(b"idle-timeout = 30\n", "bad.conf:1: idle-timeout", '"30"', "a duration")
        self.check(b"access-log = maybe\n", "bad.conf:1: access-log", "yes or no")
        self.check(b"log-level = loud\n", "bad.conf:1: log-level", "error, warning, notice, info, debug")

    def test_duplicate_key(self):
        self.check(b"max-body = 1MiB\nmax-body = 1MiB\n", "bad.conf:2", '"max-body" again', "line 1")

    def test_a_flag_in_the_file(self):
        self.check(b"check-config = yes\n", "bad.conf:1", "command line")

    def test_line_of_a_megabyte(self):
        self.check(b"max-url = 4KiB\ncors-origin = " + b"x" * (1 << 20), "bad.conf:2", "1048590 bytes", "8192")

    def test_nul_bytes(self):
        self.check(b"max-body = 1\0MiB\n", "bad.conf:1", "NUL byte")

    def test_invalid_utf8(self):
        self.check(b"# fine\nuser = caf\xe9\n", "bad.conf:2", "0xe9", "UTF-8")

    def test_no_option_at_all(self):
        self.check(b"max-body\n", "bad.conf:1", '"max-body"')
        self.check(b"[unfinished\n", "bad.conf:1", "[unfinished")

    def test_missing_file(self):
        result = self.run_program("--config=missing.conf")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^dragomand: missing.conf: read nothing \(.*\), expected ")

    def test_directory(self):
        result = self.run_program("--config=.")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^dragomand: \.: read nothing \(.*\), expected ")

    def test_unreadable_file(self):
        # Root may read everything; so the test becomes another user, who may not even enter the
        # build folder.
        path = os.path.join(self.directory, "secret.conf")
        with open(path, "w", encoding="ascii"):
            os.chmod(path, 0)
        options = {}
        if IS_ROOT:
            os.chmod(self.directory, 0o755)
            options = {"user": 65534, "program": shutil.copy(PROGRAM, self.directory)}
        result = self.run_program("--config=secret.conf", **options)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^dragomand: secret.conf: read nothing \(Permission denied\), expected ")


class Stopping(IntegrationTest):
    def test_sigterm_and_sigint_end_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.start()
            server.signal(number)
            self.assertEqual(server.wait(), 0)
            self.assertIn("msg=stopped", server.log())

    def test_a_signal_during_start_up_is_a_clean_end(self):
        for delay_ms in range(0, 40, 2):
            server = self.start(ready=False)
            time.sleep(delay_ms / 1000)
            server.signal(signal.SIGTERM)
            # Before main blocks the signals there is nothing to clean up, and the kernel ends the
            # process.
            server.expected_codes = (0, -signal.SIGTERM)
            server.wait()

    def test_two_signals_during_start_up(self):
        for delay_ms in range(0, 40, 4):
            server = self.start(ready=False)
            time.sleep(delay_ms / 1000)
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGINT)
            server.expected_codes = (0, -signal.SIGTERM, -signal.SIGINT)
            server.wait()

    def test_an_idle_client_does_not_hold_it_up(self):
        server = self.start("--drain-timeout=1h")
        connection = http.client.HTTPConnection("127.0.0.1", server.port(), timeout=PATIENCE_S)
        server.request("GET", "/healthz", connection=connection)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        connection.close()

    def test_the_drain_has_a_limit(self):
        server = self.start("--drain-timeout=300ms")
        client = server.connect()
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        settle(server)
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        client.close()

    def test_the_second_signal_does_not_wait_for_the_client(self):
        server = self.start("--drain-timeout=1h")
        client = server.connect()
        client.sendall(b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        settle(server)
        server.signal(signal.SIGTERM)
        server.wait_for_log("asked to stop")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        client.close()

    def test_nobody_new_is_let_in_while_it_drains(self):
        server = self.start("--drain-timeout=1h")
        port = server.port()
        client = server.connect()
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        settle(server)
        server.signal(signal.SIGTERM)
        server.wait_for_log("asked to stop")

        def is_closed():
            try:
                socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
                return False
            except ConnectionError:
                return True

        wait_for(is_closed, "the port to be closed")
        client.sendall(b" x\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)
        self.assertIn(b"Connection: close\r\n", answer)
        client.close()
        self.assertEqual(server.wait(), 0)


class Reloading(IntegrationTest):
    def reload(self, server, conf):
        server.write_conf(conf)
        server.signal(signal.SIGHUP)

    def test_what_may_change_does(self):
        server = self.start(conf="log-level = info\n")
        server.request("GET", "/v1/usage")
        server.wait_for_log("route=v1_usage")
        self.reload(server, "log-level = error\n")
        server.wait_for_log("option=log-level was=info now=error")
        server.request("GET", "/v1/usage")
        server.stop()
        self.assertEqual(server.log().count("route=v1_usage"), 1)

    def test_only_the_level_debug_logs_successful_probes(self):
        server = self.start(conf="log-level = info\n")
        for path in "/healthz", "/readyz", "/v1/usage":
            server.request("GET", path)
        server.wait_for_log("route=v1_usage")
        self.assertNotIn("route=healthz", server.log())
        self.assertIn("route=readyz", server.log())  # 503: there is no model
        self.reload(server, "log-level = debug\n")
        server.wait_for_log("option=log-level was=info now=debug")
        server.request("GET", "/healthz")
        server.wait_for_log("route=healthz")

    def test_what_may_not_change_is_named_and_stays(self):
        server = self.start(conf="cors-origin = *\n")
        self.reload(server, "cors-origin = https://example.org\n")
        server.wait_for_log("configuration reloaded")
        self.assertIn("option=cors-origin was=* now=https://example.org", server.log())
        self.assertEqual(server.request("GET", "/healthz")[1]["Access-Control-Allow-Origin"], "*")
        self.reload(server, "cors-origin = *\n")
        server.wait_for_log("configuration reloaded", times=2)
        self.assertEqual(server.log().count("option=cors-origin"), 1)

    def test_a_mistake_changes_nothing(self):
        server = self.start(conf="log-level = info\n")
        self.reload(server, "log-level = error\nnonsense = 1\n")
        server.wait_for_log("the old configuration stays in use")
        self.assertIn('dragomand.conf:2: read the unknown option', server.log())
        server.request("GET", "/v1/usage")
        server.wait_for_log("route=v1_usage")

    def test_the_log_is_opened_again(self):
        log = os.path.join(self.directory, "log")
        server = self.start(f"--log-file={log}", ready=False)
        wait_for(lambda: "msg=ready" in content(log), "the log")
        os.rename(log, log + ".1")
        server.signal(signal.SIGHUP)
        wait_for(lambda: "configuration reloaded" in content(log), "the new log")
        self.assertNotIn("msg=ready", content(log))
        self.assertEqual(server.log(), "")


class UnderSystemd(IntegrationTest):
    """Plays the part of systemd: the notification socket and the inherited listener."""

    def setUp(self):
        super().setUp()
        if "systemd    yes" not in self.run_program("--version").stdout:
            self.skipTest("built without libsystemd")

    def test_it_says_what_it_does(self):
        path = os.path.join(self.directory, "notify")
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(path)
        notices.settimeout(30)
        # The shell's process becomes the daemon by exec, so that WATCHDOG_PID can name it.
        server = self.start(command=("sh", "-c", 'WATCHDOG_PID=$$ exec "$0" "$@"', PROGRAM),
                            env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000"})
        seen = []

        def wait_notice(text):
            while not any(text in notice for notice in seen):
                seen.append(notices.recv(4096).decode())
            seen.clear()

        wait_notice("READY=1")
        wait_notice("WATCHDOG=1")
        server.signal(signal.SIGHUP)
        wait_notice("RELOADING=1")
        wait_notice("READY=1")
        server.signal(signal.SIGTERM)
        wait_notice("STOPPING=1")
        self.assertEqual(server.wait(), 0)
        notices.close()

    def test_it_is_ready_when_the_last_reload_is_done(self):
        path = os.path.join(self.directory, "notify")
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(path)
        section = "[model {}]\npath = " + os.path.join(SOURCES, "models", "fr-en") + "\n"
        several = "".join(section.format(f"fr-{c}{c}") for c in "abc")
        told = []

        def listen():
            while not told or told[-1] != "STOPPING":
                word = notices.recv(4096).decode().split("=", 1)[0]
                if word in ("RELOADING", "READY", "STOPPING"):
                    told.append(word)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        server = self.start(conf=section.format("fr-en"), env={"NOTIFY_SOCKET": path})
        # Unless the machine is too fast for that, each reload comes while the models of the
        # previous one are being loaded.
        for n, conf in enumerate((several, several + section.format("fr-yy"), "threads = many\n",
                                  several + section.format("fr-zz"))):
            server.write_conf(conf)
            server.signal(signal.SIGHUP)
            wait_for(lambda: server.log().count("configuration reloaded") + server.log().count("configuration stays") > n,
                     "the configuration is read")
        asked = json.dumps({"text": "Merci.", "target": "zz"})
        wait_for(lambda: server.request("POST", "/v1/translate", asked)[0] == 200, "the last models are served")
        wait_for(lambda: told[-1] == "READY", "the word that all is done")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        listener.join(PATIENCE_S)
        notices.close()
        for before, now in zip(told, told[1:]):
            self.assertFalse(before == now == "READY", told)
        self.assertEqual(told[-2:], ["READY", "STOPPING"], told)

    def test_it_takes_the_sockets_that_it_is_handed(self):
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        server = self.start(listen=(), command=("sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@" 3<&%d' %
                                                listener.fileno(), PROGRAM), pass_fds=(listener.fileno(),))
        listener.close()
        self.assertEqual(server.addresses(), [f"127.0.0.1:{port}"])
        self.assertEqual(server.request("GET", "/healthz")[0], 200)


if __name__ == "__main__":
    main()
