# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""The terminal against a daemon: dragoman translate --server, dragoman chat, the C library's
examples, completion."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import unittest

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, main

TOOL = os.path.abspath("./dragoman")
EXAMPLE = os.path.abspath("clients/c/examples/translate")
MODEL = os.path.join(SOURCES, "models", "fr-en")
FLAGS = (f"--models-dir={MODELS_DIR}",
         f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
LINES = "Bonjour.\n\nOù est la gare ? Je ne sais pas.\n   \n12\n" + "".join(
    f"J’ai vu {i} chiens dans le jardin.\n" for i in range(40)) + "Merci"


def run(*args, text="", **options):
    return subprocess.run(args, input=text.encode(), capture_output=True, timeout=PATIENCE_S, **options)


class Terminal(IntegrationTest):
    def url(self, server):
        return f"http://127.0.0.1:{server.port()}"

    def test_a_daemon_says_what_the_tool_says_by_itself(self):
        server = self.start(*FLAGS)
        own = run(TOOL, "translate", "-m", MODEL, "--beam=2", "-q", text=LINES)
        for extra in ([], ["--stream"], ["--model=fr-en"]):
            done = run(TOOL, "translate", "--server", self.url(server), "--target=en", "--beam=2", *extra, text=LINES)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.decode(), own.stdout.decode())
            self.assertRegex(done.stderr.decode(), r"sentences=4[0-9] .*failed=0")

    def test_a_glossary_is_sent_along(self):
        server = self.start(*FLAGS)
        path = os.path.join(self.directory, "terms.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write('chat,hound,dog\n"Où est la ""gare""",x\nnoir,dark\n')
        texts = "Le chat dort.\nLe chat noir mange.\nOui.\n"
        own = run(TOOL, "translate", "-m", MODEL, "--beam=2", f"--glossary={path}", text=texts)
        done = run(TOOL, "translate", "--server", self.url(server), "--target=en", "--beam=2", f"--glossary={path}", text=texts)
        self.assertEqual((done.returncode, done.stdout), (0, own.stdout), done.stderr)
        self.assertRegex(done.stdout, b"hound|dog")
        for one in (own, done):
            self.assertRegex(one.stderr.decode(), r" terms=3 terms_missed=0\n$")
        done = run(TOOL, "translate", "--server", self.url(server), "--model=fr-en", f"--glossary={path}", text="Le chat dort.\n")
        self.assertEqual((done.returncode, done.stdout.count(b"\n")), (0, 1), done.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"mot{i},word\n" for i in range(1001)))
        done = run(TOOL, "translate", "--server", self.url(server), "--target=en", f"--glossary={path}", text=texts)
        self.assertEqual((done.returncode, done.stderr.count(b"1001 terms, expected 1 to 1000")), (1, 3), done.stderr)

    def test_lines_that_fail_are_named_and_shift_nothing(self):
        server = self.start(*FLAGS)
        done = subprocess.run([TOOL, "translate", "--server", self.url(server), "--target=en"], input=b"Merci.\n\xff\xfe\nMerci.\n",
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        first, second, third = done.stdout.splitlines()
        self.assertEqual((first, second), (third, b""))
        self.assertIn(b"line 2: the line is not valid UTF-8", done.stderr)
        done = run(TOOL, "translate", "--server", "http://127.0.0.1:1", "--target=en", text="Merci.\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"is dragomand running there? (unreachable)", done.stderr)

    def test_wrong_use_is_told(self):
        for args in (["translate"], ["translate", "--server=x", "--target=en"], ["translate", "--server=https://x"],
                     ["translate", "--server=http://127.0.0.1:1", "--json"], ["translate", "-m", MODEL, "--key-file=x"],
                     ["chat"], ["chat", "--target=en", "--server=http://"]):
            done = run(TOOL, *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_a_model_says_only_its_languages(self):
        for languages in ([], ["--target=en"], ["--source=fr", "--target=en-GB"]):
            done = run(TOOL, "translate", "-q", "-m", MODEL, *languages, text="Merci.\n")
            self.assertEqual((done.returncode, done.stderr), (0, b""), languages)
        for languages in (["--target=de"], ["--source=ko", "--target=en"]):
            done = run(TOOL, "translate", "-q", "-m", MODEL, *languages, text="Merci.\n")
            self.assertEqual((done.returncode, done.stdout), (1, b""), languages)
            self.assertIn(b"no model translates from", done.stderr)

    def test_a_chat(self):
        server = self.start(*FLAGS)
        done = run(TOOL, "chat", f"--server={self.url(server)}", "-t", "en", "-a", "2",
                   text="Où est la gare ?\n/languages\n/from fr\n/alternatives 0\nJe ne sais pas.\n/nonsense\n/quit\nnever\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().splitlines()
        self.assertIn("station", lines[0])
        self.assertTrue(lines[1].startswith("   1. ") and lines[2].startswith("   2. "), lines)
        self.assertEqual(lines[3:5], ["fr: en", "I don't know."])
        self.assertTrue(lines[5].startswith("/to TAG"), lines)
        self.assertNotIn("never", done.stdout.decode())
        done = run(TOOL, "chat", f"--server={self.url(server)}", "-t", "en", text="/to xx\nMerci.\n/to en\nMerci.\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"to xx", done.stderr)
        self.assertEqual(done.stdout.count(b"\n"), 1)

    def test_the_library_reads_answers_however_they_come(self):
        """Answers that come byte by byte, chunked or not, on connections that are closed or kept,
        and answers that are not HTTP."""
        done_event = b'event: done\ndata: {"translations":[{"text":"ok"}]}\n\n'
        stream = b'event: token\ndata: {"text":"o"}\n\nevent: token\ndata: {"text":"k"}\n\n' + done_event
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(
            b"%x\r\n%s\r\n" % (len(stream[i:i + 7]), stream[i:i + 7]) for i in range(0, len(stream), 7)) + b"0\r\n\r\n"
        good = [chunked, head + b"\r\n" + stream, head + b"Content-Length: %d\r\n\r\n" % len(stream) + stream,
                b"HTTP/1.1 100 Continue\r\n\r\n" + chunked]
        bad = [b"", b"SSH-2.0-x\r\n", head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 200 OK\nX: y\n\n",
               head + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", head + b"X: " + b"a" * 9000 + b"\r\n\r\n",
               head + b"Content-Length: 999\r\n\r\n" + stream[:40], b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
               b'HTTP/1.1 400 Bad Request\r\nContent-Length: 54\r\n\r\n{"error":{"code":"invalid_value","message":"Not that."}}'[:-2]]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE_S)
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"

            def answer(bytes_, slowly, over):
                while True:  # the client asks again for a stream that breaks off
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(ConnectionError):  # who has heard enough hangs up
                        if over.is_set():
                            return
                        asked = part = connection.recv(65536)
                        while part and not asked.endswith(b"}"):  # closing with unread bytes would destroy the answer
                            part = connection.recv(65536)
                            asked += part
                        for part in (bytes_[i:i + 1] for i in range(len(bytes_))) if slowly else [bytes_]:
                            connection.sendall(part)

            for is_good, answers in ((True, good), (False, bad)):
                for bytes_ in answers:
                    for slowly in (False, True):
                        with self.subTest(answer=bytes_[:60], slowly=slowly):
                            over = threading.Event()
                            thread = threading.Thread(target=answer, args=(bytes_, slowly, over))
                            thread.start()
                            done = run(EXAMPLE, url, "en", "Bonjour")
                            over.set()
                            socket.create_connection(listener.getsockname()).close()
                            thread.join()
                            if is_good:
                                self.assertEqual((done.returncode, done.stdout), (0, b"ok\n"), done.stderr)
                            else:
                                self.assertEqual(done.returncode, 1, done.stderr)
                                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    def test_the_librarys_readme(self):
        compiler = (os.environ.get("CC") or "cc").split()
        if not shutil.which(compiler[0]) or not shutil.which("pkg-config"):
            raise unittest.SkipTest("needs a C compiler and pkg-config")
        server = self.start(*FLAGS)
        folder = os.path.join(SOURCES, "clients", "c")
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
            code = re.search(r"^```c\n(.*?)^```", file.read(), re.M | re.S).group(1)
        with open(os.path.join(self.directory, "example.c"), "w", encoding="utf-8") as file:
            file.write(code.replace("http://127.0.0.1:8090", self.url(server)))
        libraries = run("pkg-config", "--cflags", "--libs", "libuv", "jansson").stdout.decode().split()
        built = run(*compiler, "-std=gnu11", f"-I{folder}", "example.c", f"{folder}/dragoman.c", f"{folder}/answer.c", *libraries,
                    "-o", "example", cwd=self.directory)
        self.assertEqual(built.returncode, 0, built.stderr)
        done = run("./example", cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"station", done.stdout)

    def test_bash_is_offered_what_there_is(self):
        script = os.path.join(SOURCES, "clients", "completion", "dragoman.bash")

        def offered(*words):
            text = f"""source '{script}'; COMP_WORDS=({' '.join(words)} ''); COMP_CWORD={len(words)}
                       COMP_WORDS[COMP_CWORD]=$1; _dragoman; printf '%s\\n' "${{COMPREPLY[@]}}\""""
            return lambda prefix: run("bash", "-c", text, "bash", prefix).stdout.decode().split()

        self.assertIn("translate", offered(TOOL)("tr"))
        self.assertEqual(offered(TOOL, "translate")("--ser"), ["--server"])
        self.assertEqual(offered(TOOL, "translate")("--no-sh"), ["--no-shortlist"])
        self.assertEqual(offered(TOOL, "translate")("--shortl"), ["--shortlist"])

    def test_zsh_is_offered_what_there_is(self):
        if not shutil.which("zsh"):
            raise unittest.SkipTest("needs zsh")
        text = """_describe() { print -l -- "${(@P)2}" }; words=("$@" ''); CURRENT=$#words; [ -z "$PREFIX" ] || words[CURRENT]=$PREFIX
                  source "$SCRIPT" """
        env = {**os.environ, "SCRIPT": os.path.join(SOURCES, "clients", "completion", "_dragoman")}
        done = run("zsh", "-f", "-c", text, "zsh", TOOL, env=env)
        self.assertRegex(done.stdout.decode(), "(?m)^translate:")
        done = run("zsh", "-f", "-c", text, "zsh", TOOL, "translate", env={**env, "PREFIX": "--"})
        self.assertLessEqual({"--server", "--shortlist", "--no-shortlist"}, set(done.stdout.decode().split()), done.stderr)


if __name__ == "__main__":
    main()
