# SPDX-License-Identifier: ISC
# Tiers: gcc asan
"""The client libraries: the examples in their READMEs as printed, against the real daemon, and what
happens when it refuses, is busy, or dies in the middle of a stream."""
import asyncio
import concurrent.futures
import contextlib
import http.client
import http.server
import itertools
import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from harness import MODELS_DIR, PATIENCE_S, SOURCES, IntegrationTest, free_ports, main

CLIENTS = os.path.join(SOURCES, "clients")
sys.path.insert(0, os.path.join(CLIENTS, "python"))
from dragoman import AsyncDragoman, Dragoman, DragomanError, LibreTranslateAPI, Live  # noqa: E402

FLAGS = (f"--models-dir={MODELS_DIR}",
         f"--language-data={os.path.join(SOURCES, 'data', 'langid', 'langid.bin')}")
TEXT = "Où est la gare ? Je ne comprends pas pourquoi il est parti."
LONG = " ".join(f"Je ne sais pas pourquoi {i} chiens sont dans le jardin." for i in range(10000))
CUT = "J'ai vu 😀 deux chats dans le jardin de ma mère. Où est la gare, s'il vous plaît ? Il mange du pain et boit du thé."
N = 12  # sentences of a text that is cut off at every tenth token
# With one worker and so many hypotheses the text takes minutes, so that on any machine it is cut
# off while under way.
SLOW_FLAGS = (*FLAGS, "--threads=1")
SLOWLY = {"target": "en", "cache": False, "beam": 16}


def node_with_websocket():
    """The command of a Node that has a WebSocket if its version can have one (18 has none)."""
    flag = "--experimental-websocket"
    known = subprocess.run(["node", "-p", f"process.allowedNodeEnvironmentFlags.has('{flag}')"], capture_output=True, text=True)
    return ["node", flag] if known.stdout.strip() == "true" else ["node"]


class Cutting(http.server.BaseHTTPRequestHandler):
    """Passes a request on to a server, sends its tokens in pieces of three characters, and cuts the
    stream off some pieces after the request's prefix."""
    upstream = 0
    n_cut = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=PATIENCE_S)
        connection.request("POST", self.path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        left = len(json.loads(body).get("prefix", "")) + 20
        for event in answer.read().decode().split("\n\n"):
            data = json.loads(event.partition("data: ")[2] or "null")
            for piece in re.findall(".{1,3}", data["text"]) if "event: token\n" in event else [None]:
                if piece:
                    event = "event: token\ndata: " + json.dumps({**data, "text": piece})
                    left -= len(piece)
                if left < 0:
                    Cutting.n_cut += 1
                    connection.close()
                    return
                self.wfile.write(f"{event}\n\n".encode())
        connection.close()

    def log_message(self, *_):
        pass


class Changing(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a server, sends its tokens word by word, and cuts the stream off some
    words after the request's prefix. A client that then asks for the rest is told that this
    server would give another translation."""
    upstream = 0
    prefixes = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Changing.prefixes.append(json.loads(body).get("prefix", ""))
        headers = {"Content-Type": "application/json"}
        if self.headers["Last-Event-ID"]:
            headers["Last-Event-ID"] = "0,0.5000.12345678"
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=PATIENCE_S)
        connection.request("POST", self.path, body, headers)
        answer = connection.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        left = len(self.prefixes[-1]) + 25
        for event in answer.read().decode().split("\n\n"):
            head, _, data = event.partition("data: ")
            is_token = "event: token\n" in head
            for word in re.findall(r"\s*\S+|\s+$", json.loads(data)["text"]) if is_token else [None]:
                left -= len(word or "")
                if left >= 0:  # and nothing after that
                    self.wfile.write((head + "data: " + (json.dumps({"text": word}) if is_token else data) + "\n\n").encode())
        connection.close()

    def log_message(self, *_):
        pass


class Telling(http.server.BaseHTTPRequestHandler):
    """Streams of these events, one after the other."""
    answers, asked = [], []

    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((fields["text"], fields.get("prefix"), self.headers["Last-Event-ID"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for n, (kind, data) in enumerate(self.answers.pop(0)):
            self.wfile.write(f"id: {n + 1}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode())

    def log_message(self, *_):
        pass


class Cutter:
    """A proxy for several servers, which uses the next one for each connection, and breaks every
    connection in the middle of what follows its tenth token."""
    TOKEN = re.compile(rb'event: token|"type": ?"token"')

    def __init__(self, test, ports):
        self.ports, self.n_cut = ports, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()
        test.addCleanup(self.stop)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(PATIENCE_S)

    def accept(self):
        with contextlib.suppress(OSError):
            for n in itertools.count():
                client = self.listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self.ports[n % len(self.ports)]))
                self.threads.append(threading.Thread(target=self.carry, args=(client, server), daemon=True))
                self.threads[-1].start()

    def carry(self, client, server):
        said = b""
        with client, server, contextlib.suppress(OSError):
            while True:
                for source in select.select([client, server], [], [])[0]:
                    part = source.recv(4096)
                    if not part:
                        return
                    if source is client:
                        server.sendall(part)
                        continue
                    said += part
                    tokens = list(self.TOKEN.finditer(said))
                    if len(tokens) > 10:  # the eleventh is incomplete
                        client.sendall(part[:len(part) - (len(said) - tokens[10].end())])
                        with self.lock:
                            self.n_cut += 1
                        return
                    client.sendall(part)


def has_websockets():
    try:
        import websockets  # noqa: F401
        return True
    except ImportError:
        return False


def example(client, language, port):
    """The code of the library's README, as one program, with this server's address."""
    with open(os.path.join(CLIENTS, client, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.M | re.S)
    return "\n".join(blocks).replace("127.0.0.1:8090", f"127.0.0.1:{port}")


class Busy(http.server.BaseHTTPRequestHandler):
    """Is busy once, then answers; on one path it ends in the middle of an answer."""
    answers = []

    def do_GET(self):
        status, headers, body = self.answers.pop(0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Clients(IntegrationTest):
    def url(self, server):
        return f"http://127.0.0.1:{server.port()}"

    def busy(self, *answers):
        """A server that gives these answers."""
        return self.serve(type("Handler", (Busy,), {"answers": list(answers)}))

    def serve(self, handler):
        server = http.server.HTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", handler

    def run_example(self, command, text, suffix):
        with tempfile.NamedTemporaryFile("w", suffix=suffix, dir=self.directory, encoding="utf-8", delete=False) as file:
            file.write(text)
        env = {**os.environ, "PYTHONPATH": os.path.join(CLIENTS, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run([*command, file.name], capture_output=True, text=True, timeout=PATIENCE_S, env=env)

    @unittest.skipUnless(has_websockets(), "needs python3-websockets")
    def test_the_readme_of_python(self):
        server = self.start(*FLAGS)
        done = self.run_example([sys.executable], example("python", "python", server.port()), ".py")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 5, done.stdout)
        self.assertIn("station", lines[0])
        self.assertIn("I don't know", lines[1])
        self.assertEqual(lines[2], "no_such_model")
        self.assertTrue(lines[4].startswith(lines[3]), lines)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_the_readme_of_javascript(self):
        server = self.start(*FLAGS)
        module = os.path.join(CLIENTS, "js", "dragoman.js")
        text = example("js", "js", server.port()).replace('from "dragoman"', f'from "file://{module}"')
        done = self.run_example(["node"], text, ".mjs")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3, done.stdout)
        self.assertIn("station", lines[0])
        self.assertIn("I don't know", lines[1])
        self.assertEqual(lines[2], "no_such_model")

    def test_streams_join_to_the_answer(self):
        server = self.start(*SLOW_FLAGS)
        with Dragoman(self.url(server)) as client:
            answer = client.translate([TEXT, "Merci."], target="en", source="fr")
            self.assertEqual(len(answer.translations), 2)
            self.assertEqual(answer.translations[0].finish, "eos")
            joined = ""
            for event in client.stream(TEXT, target="en"):
                joined += event["text"] if event["type"] == "token" else ""
            self.assertEqual(joined, answer.text)
            self.assertEqual(event["type"], "done")
            for event in client.stream(LONG, **SLOWLY):
                break  # leaving early leaves the client usable
            self.assertEqual(client.translate("Merci.", target="en").text, answer.translations[1].text)
            self.assertEqual(client.detect(TEXT)[0]["language"], "fr")
            self.assertEqual([each["code"] for each in client.languages()], ["fr"])
            self.assertEqual([each["name"] for each in client.models()], ["fr-en"])
            good, bad = client.score([TEXT] * 2, [answer.text, "Purple."], target="en")
            self.assertGreater(good["logprob"], bad["logprob"])

    def test_asyncio_runs_many_at_once(self):
        server = self.start(*FLAGS)

        async def run():
            client = AsyncDragoman(self.url(server))
            answers = await asyncio.gather(*(client.translate(TEXT, target="en") for _ in range(8)))
            joined = ""
            async for event in client.stream(TEXT, target="en"):
                joined += event["text"] if event["type"] == "token" else ""
            return {answer.text for answer in answers}, joined

        texts, joined = asyncio.run(run())
        self.assertEqual(texts, {joined})

    @unittest.skipUnless(has_websockets(), "needs python3-websockets")
    def test_live_updates_and_cancels(self):
        server = self.start(*SLOW_FLAGS)

        async def run():
            async with Live(self.url(server)) as live:
                strands = [await live.translate(TEXT, target="en") for _ in range(5)]
                texts = {await strand.text() for strand in strands}
                await strands[0].update(TEXT + " Merci.")
                longer = await strands[0].text()
                gone = await live.translate(LONG, **SLOWLY)
                await gone.cancel()
                events = [event["type"] async for event in gone]
                wrong = await live.translate(TEXT, target="xx")
                with self.assertRaises(DragomanError) as failure:
                    await wrong.text()
                return texts, longer, events, failure.exception

        texts, longer, events, error = asyncio.run(run())
        self.assertEqual(len(texts), 1)
        self.assertTrue(longer.startswith(texts.pop()))
        self.assertEqual(events[-1], "cancelled")
        self.assertEqual(error.code, "no_such_model")

    def test_libretranslatepy_is_stood_in_for(self):
        server = self.start(*FLAGS)
        client = LibreTranslateAPI(self.url(server) + "/")
        self.assertIn("station", client.translate("Où est la gare ?", "fr", "en"))
        self.assertIn("station", client.translate("Où est la gare ?", "auto", "en"))
        self.assertEqual(client.detect(TEXT)[0]["language"], "fr")
        self.assertEqual(client.languages()[0]["targets"], ["en"])

    def test_documents(self):
        server = self.start(*FLAGS, f"--jobs-dir={os.path.join(self.directory, 'jobs')}")
        path = os.path.join(self.directory, 'le "chat" fâché.txt')
        with open(path, "w", encoding="utf-8") as file:
            file.write("Où est la gare ?\n\nMerci.\n")
        seen = []
        with Dragoman(self.url(server)) as client:
            made = client.translate_document(path, target="en", on_progress=seen.append)
            self.assertEqual(made.name, "le__chat__fâché.en.txt")
            self.assertIn("station", made.content.decode())
            self.assertEqual(seen[-1]["progress"], 1)
            table = "A,B\nLe chat,Merci.\n".encode()
            rows = client.translate_document(table, name="a.csv", source="fr", target="en", columns="B").content.decode()
            self.assertTrue(rows.startswith("A,B\nLe chat,"), rows)
            self.assertEqual(client.documents(), [])  # the client forgot them
            with open(path, "rb") as file:
                state = client.add_document(file, target="en")
            self.assertEqual((state["name"], client.document(state["id"])["paragraphs"]), ("le__chat__fâché.txt", 2))
            client.remove_document(state["id"])
            with self.assertRaises(DragomanError) as failure:
                client.document_result(state["id"])
            self.assertEqual(failure.exception.status, 404)

            def give_up(state):
                raise KeyError(state["id"])

            with self.assertRaises(KeyError) as failure:
                client.translate_document(path, target="en", on_progress=give_up)
            self.assertEqual(client.documents(), [])
        made = asyncio.run(AsyncDragoman(self.url(server)).translate_document(path, target="en"))
        self.assertIn(b"station", made.content)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_documents_in_javascript(self):
        server = self.start(*FLAGS, f"--jobs-dir={os.path.join(self.directory, 'jobs')}")
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            const server = new Dragoman("{self.url(server)}");
            const file = new Blob(["Où est la gare ?\\n\\nMerci.\\n"]);
            let last;
            const made = await server.translateDocument(file, {{ name: "été.txt", target: "en", onprogress: told => (last = told) }});
            console.log(made.name, (await made.blob.text()).includes("station"), last.progress, (await server.documents()).length);
            const state = await server.addDocument(file, {{ name: "a.txt", source: "fr", target: "en" }});
            console.log((await server.document(state.id)).paragraphs);
            await server.removeDocument(state.id);
            await server.documentResult(state.id).catch(error => console.log(error.status));
            const stop = new AbortController();
            await server.translateDocument(file, {{ name: "a.txt", target: "en", signal: stop.signal, onprogress: () => stop.abort() }})
                .catch(error => console.log(error.code));
            console.log((await server.documents()).length);"""
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual((done.returncode, done.stdout), (0, "été.en.txt true 1 0\n2\n404\naborted\n0\n"), done.stderr)

    def test_what_the_server_refuses_is_said_in_its_words(self):
        server = self.start(*FLAGS)
        with Dragoman(self.url(server)) as client:
            with self.assertRaises(DragomanError) as failure:
                client.translate("x", target="en", beam=1000)
        error = failure.exception
        self.assertEqual((error.status, error.code, error.field), (400, "out_of_range", "beam"))
        self.assertTrue(error.request_id)

    def test_a_busy_server_is_asked_again(self):
        url, handler = self.busy((503, {"Retry-After": "0"}, b"{}"), (200, {}, b'{"languages": []}'))
        self.assertEqual(Dragoman(url).languages(), [])
        self.assertEqual(handler.answers, [])
        url, _ = self.busy((429, {"Retry-After": "3600"}, b'{"error":{"code":"rate","message":"Too many."}}'))
        with self.assertRaises(DragomanError) as failure:
            Dragoman(url).languages()
        self.assertEqual((failure.exception.code, failure.exception.retry_after), ("rate", 3600))

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_a_busy_server_is_asked_again_by_javascript(self):
        url, handler = self.busy((503, {"Retry-After": "0"}, b"{}"), (200, {}, b'{"languages": []}'),
                                 (429, {"Retry-After": "3600"}, b'{"error":{"code":"rate","message":"Too many."}}'))
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            const server = new Dragoman("{url}");
            console.log((await server.languages()).length);
            try {{
                await server.languages();
            }} catch (error) {{
                console.log(error.code, error.retryAfter);
            }}"""
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual((done.returncode, done.stdout), (0, "0\nrate 3600\n"), done.stderr)
        self.assertEqual(handler.answers, [])

    def start_mortal(self):
        """Starts a server that will die, on a port that no other test gets after that."""
        server = self.start(*SLOW_FLAGS, listen=(f"127.0.0.1:{free_ports(1)[0]}",))
        server.expected_codes = (-9,)
        return server

    def test_a_server_that_dies_is_said_so(self):
        server = self.start_mortal()
        client = Dragoman(self.url(server))
        with self.assertRaises(DragomanError) as failure:
            for event in client.stream(LONG, **SLOWLY):
                if server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()
        self.assertEqual(failure.exception.code, "unreachable")
        with self.assertRaises(DragomanError) as failure:
            client.languages()
        self.assertEqual(failure.exception.code, "unreachable")

    def start_cutting(self):
        """Starts a server behind a proxy that cuts streams off; returns the proxy's address and the
        server's own answer."""
        server = self.start(*FLAGS, "--threads=1")
        Cutting.upstream, Cutting.n_cut = server.port(), 0
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cutting)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        with Dragoman(self.url(server)) as client:
            whole = client.translate(CUT, target="en", cache=False).translations[0].text
        return f"http://127.0.0.1:{proxy.server_port}", whole

    def check_taken_up(self, events, whole):
        """Nothing is lost and nothing comes twice."""
        self.assertGreater(Cutting.n_cut, 2)
        self.assertEqual("".join(event["text"] for event in events if event["type"] == "token"), whole)
        self.assertEqual([event["translations"][0]["text"] for event in events if event["type"] == "done"], [whole])
        spans = [(event["start"], event["start"] + event["length"]) for event in events if event["type"] == "sentence"]
        said = [CUT.encode()[start:end].decode() for start, end in spans]
        self.assertEqual(" ".join(said), CUT)

    def test_a_stream_that_is_cut_off_goes_on(self):
        url, whole = self.start_cutting()
        with Dragoman(url) as client:
            self.check_taken_up(list(client.stream(CUT, target="en", cache=False)), whole)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_a_stream_that_is_cut_off_goes_on_in_javascript(self):
        url, whole = self.start_cutting()
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            const events = [];
            for await (const event of new Dragoman("{url}").stream({json.dumps(CUT)}, {{ target: "en", cache: false }}))
                events.push(event);
            console.log(JSON.stringify(events));"""
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_taken_up(json.loads(done.stdout), whole)

    def start_cutter(self):
        """Starts two servers behind a proxy that cuts; returns them with three texts and the
        servers' own answers to these."""
        servers = [self.start(*FLAGS, "--threads=1") for _ in range(2)]
        texts = [" ".join(f"Je vois {n} chats noirs dans le jardin de ma mère." for n in range(k, k + N)) for k in (2, 20, 40)]
        with Dragoman(self.url(servers[0])) as client:
            whole = [item.text for item in client.translate(texts, target="en", cache=False).translations]
        return Cutter(self, [server.port() for server in servers]), texts, whole

    def check_joined(self, events, whole):
        said = {}
        for event in events:
            if event["type"] == "token":
                said[event["index"]] = said.get(event["index"], "") + event["text"]
        self.assertEqual([said[k] for k in sorted(said)], whole)
        self.assertEqual([item["text"] for item in events[-1]["translations"]], whole)
        starts = [(event["index"], event["start"]) for event in events if event["type"] == "sentence"]
        self.assertEqual((len(starts), len(set(starts))), (N * len(whole), N * len(whole)))

    def test_streams_cut_at_every_tenth_token_under_load(self):
        cutter, texts, whole = self.start_cutter()

        def run(k):
            with Dragoman(cutter.url) as client:
                return (list(client.stream(texts[k % 3], target="en")), list(client.stream(texts, target="en")),
                        list(client.stream(f"<p>{texts[0]}</p>", target="en", format="html")))

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for k, (one, many, page) in enumerate(pool.map(run, range(3))):
                self.check_joined(one, [whole[k % 3]])
                self.check_joined(many, whole)
                self.assertEqual("".join(event["text"] for event in page if event["type"] == "token"),
                                 page[-1]["translations"][0]["text"])
        self.assertGreaterEqual(cutter.n_cut, 15)  # at any speed: each sentence has at least one event

    @unittest.skipUnless(has_websockets(), "needs python3-websockets")
    def test_a_socket_cut_at_every_tenth_token(self):
        cutter, texts, whole = self.start_cutter()

        async def run():
            async with Live(cutter.url) as live:
                strands = [await live.translate(text, target="en") for text in texts]
                return [[event async for event in strand] for strand in strands]

        for events, text in zip(asyncio.run(run()), whole):
            self.assertEqual("".join(event["text"] for event in events if event["type"] == "token"), text)
            self.assertEqual([event["type"] for event in events].count("accepted"), 1)
            self.assertEqual(len([event for event in events if event["type"] == "sentence"]), N)
        self.assertGreaterEqual(cutter.n_cut, 3)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_streams_cut_at_every_tenth_token_in_javascript(self):
        cutter, texts, whole = self.start_cutter()
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            const server = new Dragoman("{cutter.url}"), texts = {json.dumps(texts)};
            const all = async text => {{
                const events = [];
                for await (const event of server.stream(text, {{ target: "en" }})) events.push(event);
                return events;
            }};
            const live = globalThis.WebSocket ? server.live() : null;
            const lives = texts.map(text => new Promise((resolve, reject) => {{
                const events = [];
                live?.translate(text, {{ target: "en" }}, event => {{
                    events.push(event);
                    if (event.type === "done") resolve(events);
                    if (event.type === "error") reject(event.error);
                }}) ?? resolve([]);
            }}));
            const answers = await Promise.all([all(texts[0]), all(texts), ...lives]);
            live?.close();
            console.log(JSON.stringify(answers));"""
        done = self.run_example(node_with_websocket(), script, ".mjs")
        self.assertEqual(done.returncode, 0, done.stderr)
        one, many, *lives = json.loads(done.stdout)
        self.check_joined(one, whole[:1])
        self.check_joined(many, whole)
        for events, text in zip(lives, whole):
            if events:  # this node has a WebSocket
                self.assertEqual("".join(event["text"] for event in events if event["type"] == "token"), text)
                self.assertEqual([event["type"] for event in events].count("accepted"), 1)
        self.assertGreaterEqual(cutter.n_cut, 4)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_javascript_says_that_there_is_no_websocket(self):
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            try {{
                new Dragoman("http://127.0.0.1:1", {{ WebSocket: null }}).live();
            }} catch (error) {{
                console.log(error.name, error.code, error.message);
            }}"""
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual((done.returncode, done.stdout[:40]), (0, "DragomanError unsupported There is no We"), done.stderr)

    def test_streams_cut_at_every_tenth_token_in_c(self):
        cutter, texts, whole = self.start_cutter()
        example = os.path.abspath("clients/c/examples/translate")
        clients = [subprocess.Popen([example, cutter.url, "en", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for text in texts * 2]
        for client, text in zip(clients, whole * 2):
            said, wrong = client.communicate(timeout=PATIENCE_S)
            self.assertEqual((said, wrong, client.returncode), (text + "\n", "", 0))
        self.assertGreaterEqual(cutter.n_cut, 6)

    def translate_in_c(self, url, text):
        done = subprocess.run([os.path.abspath("clients/c/examples/translate"), url, "en", text], capture_output=True,
                              encoding="utf-8", timeout=PATIENCE_S, check=False)
        return done.stdout, done.stderr, done.returncode

    def test_what_another_server_would_say_otherwise_is_forced_in_c(self):
        server = self.start(*FLAGS)
        with Dragoman(self.url(server)) as client:
            whole = client.translate(CUT, target="en", cache=False).translations[0].text
        Changing.upstream, Changing.prefixes = server.port(), []
        url, _ = self.serve(Changing)
        self.assertEqual(self.translate_in_c(url, CUT), (whole + "\n", "", 0))
        self.assertTrue(any(Changing.prefixes), Changing.prefixes)

    def test_what_does_not_go_on_is_forced_whole_in_c_or_fails(self):
        token = lambda text: ("token", {"text": text})
        changed = [("error", {"error": {"code": "stream_changed", "message": "No."}})]
        first = [token("A cat."), ("sentence", {"start": 0, "length": 8}), token(" I have"), token(" se")]
        rest = [token(" I have"), token(" se"), token("ven."), ("sentence", {"start": 1, "length": 10}),
                ("done", {"translations": [{"text": " I have seven."}]})]
        for last, said in ((rest, (" I have seven.\n", "", 0)), ([token(" You")], (" I have se", "stream_changed", 1))):
            handler = type("Handler", (Telling,), {"answers": [first, changed, [token(" I have two")], last], "asked": []})
            out, wrong, code = self.translate_in_c(self.serve(handler)[0], "Un chat. J'en ai 7.")
            self.assertEqual((out, wrong.partition(":")[0], code), ("A cat." + said[0], *said[1:]))
            self.assertEqual(handler.asked, [("Un chat. J'en ai 7.", None, None), ("Un chat. J'en ai 7.", None, "4"),
                                             (" J'en ai 7.", "I have", None), (" J'en ai 7.", "I have se", None)])

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_a_server_that_dies_is_said_so_in_javascript(self):
        server = self.start_mortal()
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            import {{ readFileSync }} from "node:fs";
            const server = new Dragoman("{self.url(server)}");
            const long = readFileSync(process.env.LONG, "utf8");
            let isFirst = true;
            try {{
                for await (const event of server.stream(long, {json.dumps(SLOWLY)})) {{
                    if (isFirst) process.kill({server.process.pid}, "SIGKILL");
                    isFirst = false;
                }}
            }} catch (error) {{
                console.log(error.code, isFirst);
            }}
            try {{
                await server.languages();
            }} catch (error) {{
                console.log(error.code);
            }}"""
        path = os.path.join(self.directory, "long")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LONG)
        os.environ["LONG"] = path
        self.addCleanup(os.environ.pop, "LONG")
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual((done.returncode, done.stdout), (0, "unreachable false\nunreachable\n"), done.stderr)

    @unittest.skipUnless(shutil.which("node"), "needs node")
    def test_javascript_loses_no_update(self):
        """An update that is made while the connection is lost, or after the server refused it, is
        requested again."""
        script = f"""
            import {{ Dragoman }} from "file://{os.path.join(CLIENTS, 'js', 'dragoman.js')}";
            let last;
            class FakeSocket {{
                readyState = 0;
                constructor() {{ last = this; }}
                send(text) {{ const {{ type, text: said }} = JSON.parse(text); console.log(type, said); }}
                open() {{ this.readyState = 1; this.onopen(); }}
                tell(message) {{ this.onmessage({{ data: JSON.stringify({{ id: "1", ...message }}) }}); }}
                lose() {{ this.readyState = 3; this.onclose({{ code: 1006 }}); }}
                close() {{}}
            }}
            const live = new Dragoman("http://127.0.0.1:1", {{ WebSocket: FakeSocket }}).live();
            const strand = live.translate("one", {{ target: "en" }}, () => {{}});
            last.open();
            last.tell({{ type: "done", text: "1" }});
            strand.update("two");
            last.tell({{ type: "error", code: "overloaded", message: "Later." }});
            strand.update("three");
            last.tell({{ type: "done", text: "3" }});
            const lost = last;
            lost.lose();
            strand.update("four");
            while (last === lost) await new Promise(resolve => setTimeout(resolve, 20));
            last.open();
            last.tell({{ type: "done", text: "4" }});
            strand.update("five");
            live.close();"""
        done = self.run_example(["node"], script, ".mjs")
        self.assertEqual((done.returncode, done.stdout.split("\n")[:-1]),
                         (0, ["translate one", "update two", "translate three", "translate four", "update five"]), done.stderr)

    def test_a_server_that_dies_is_said_so_by_the_library_in_c(self):
        server = self.start_mortal()
        tool = subprocess.Popen([os.path.abspath("./dragoman"), "translate", f"--server={self.url(server)}", "--target=en",
                                 "--stream", "--beam=16"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(tool.stdout.close)
        self.addCleanup(tool.stderr.close)
        with tool.stdin as lines:
            lines.write(LONG.encode() + b"\n")
            lines.flush()
            self.assertTrue(tool.stdout.read(1))
            server.process.kill()
            server.process.wait()
        said = tool.stderr.read().decode()
        self.assertEqual(tool.wait(timeout=PATIENCE_S), 1)
        self.assertIn("(unreachable)", said)


if __name__ == "__main__":
    main()
