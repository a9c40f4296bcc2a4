# SPDX-License-Identifier: ISC
"""Language models: import, dragoman generate and POST /v1/generate, with tiny random models (tests/data/lm)."""
import json
import os
import subprocess

from harness import SOURCES, IntegrationTest, main
from ws_client import Socket

TOOL = os.path.join(os.getcwd(), "dragoman")


def tool(*arguments, text="", expect=0):
    done = subprocess.run([TOOL, *arguments], input=text.encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == expect, (arguments, done.returncode, done.stderr.decode())
    return done.stdout.decode(), done.stderr.decode()


class Generate(IntegrationTest):
    def models(self, *names):
        for name in names:
            target = os.path.join(self.directory, "models", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            tool("import", os.path.join(SOURCES, "tests/data/lm", name), target)
        return os.path.join(self.directory, "models")

    def ask(self, server, body, status=200):
        got, headers, answer = server.request("POST", "/v1/generate", body=json.dumps(body).encode())
        self.assertEqual(got, status, answer)
        self.assertEqual(headers["Content-Type"], "application/json")
        return json.loads(answer)

    def test_the_tool_and_the_server_say_the_same(self):
        folder = self.models("gpt2", "llama", "scaled")
        server = self.start(f"--models-dir={folder}")
        for name in ("gpt2", "llama", "scaled"):
            prompts = ["The little house", "We have 12", "Don't"]
            out, talk = tool("generate", f"--model={folder}/{name}", "--lines", "--max-tokens=12",
                             text="".join(prompt + "\n" for prompt in prompts))
            self.assertIn("3 prompts", talk)
            said = [json.loads(line) for line in out.splitlines()]
            for prompt, line in zip(prompts, said):
                answer = self.ask(server, {"prompt": prompt, "model": name, "max_tokens": 12})
                self.assertEqual(answer["text"], line["text"])
                self.assertEqual(answer["finish"], line["finish"])
                self.assertEqual(answer["model"], name)
                self.assertEqual(answer["usage"]["input_tokens"], line["input_tokens"])
            whole, _ = tool("generate", f"--model={folder}/{name}", "--max-tokens=12", text=prompts[0] + "\n")
            self.assertEqual(whole, said[0]["text"] + "\n")
        status, _, answer = server.request("GET", "/v1/models")
        self.assertEqual(status, 200)
        self.assertEqual({model["kind"] for model in json.loads(answer)["models"]}, {"language-model"})
        shown = json.loads(tool("inspect", "--json", f"{folder}/scaled")[0])
        self.assertEqual(shown["family"], "language-model")
        self.assertIn("6 heads of 8, 2 of keys", tool("inspect", f"{folder}/scaled")[0])

    def test_events_joined_are_the_answer(self):
        server = self.start(f"--models-dir={self.models('gpt2')}")
        body = {"prompt": "The little house", "max_tokens": 30}
        whole = self.ask(server, body)
        status, headers, events = server.request("POST", "/v1/generate", body=json.dumps({**body, "stream": True}).encode())
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream"))
        text, done = "", None
        for event in events.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in event.splitlines() if ": " in line)
            if fields.get("event") == "token":
                text += json.loads(fields["data"])["text"]
            elif fields.get("event") == "done":
                done = json.loads(fields["data"])
        self.assertEqual(text, whole["text"])
        self.assertEqual(done["text"], whole["text"])
        self.assertEqual(done["usage"], whole["usage"])

    def test_many_on_one_socket(self):
        server = self.start(f"--models-dir={self.models('gpt2', 'llama')}")
        ws, n = Socket(server), 20
        for i in range(n):
            ws.send({"type": "generate", "id": str(i), "prompt": "The little house" * (1 + i % 3),
                     "model": ("gpt2", "llama")[i % 2], "max_tokens": 5 + i})
        texts, done = {}, {}
        while len(done) < n:
            message = ws.receive()
            if message["type"] == "token":
                texts[message["id"]] = texts.get(message["id"], "") + message["text"]
            elif message["type"] == "done":
                done[message["id"]] = message
            else:
                self.assertEqual(message["type"], "accepted", message)
        for i in range(n):
            self.assertEqual(texts.get(str(i), ""), done[str(i)]["text"])
            self.assertEqual(done[str(i)]["model"], ("gpt2", "llama")[i % 2])
        answer = self.ask(server, {"prompt": "The little house", "model": "gpt2", "max_tokens": 5})
        self.assertEqual(done["0"]["text"], answer["text"])
        for message, code in (({"type": "generate", "id": "a"}, "missing_field"),
                              ({"type": "generate", "id": "a", "prompt": "a"}, "invalid_value"),
                              ({"type": "update", "id": "0", "text": "a"}, "no_such_id"),
                              ({"type": "cancel", "id": "0"}, "no_such_id")):
            ws.send(message)
            answer = ws.receive()
            self.assertEqual((answer["type"], answer["code"]), ("error", code), answer)
        ws.send({"type": "generate", "id": "b", "prompt": "a", "model": "gpt2", "max_tokens": 60})
        ws.send({"type": "cancel", "id": "b"})
        kinds = []
        while "cancelled" not in kinds and "done" not in kinds:
            kinds.append(ws.receive()["type"])
        ws.close()

    def test_options_do_what_they_say(self):
        server = self.start(f"--models-dir={self.models('gpt2')}")
        body = {"prompt": "a", "max_tokens": 16}
        drawn = {**body, "sample": True, "temperature": 1.5, "top_k": 50, "top_p": 0.95}
        first, again = (self.ask(server, {**drawn, "seed": 1})["text"] for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, self.ask(server, {**drawn, "seed": 2})["text"])
        several = self.ask(server, {**body, "n": 3})
        self.assertEqual(len(several["others"]), 2)
        self.assertEqual(self.ask(server, {**body, "max_tokens": 0})["text"], "")
        plain = self.ask(server, {**body, "max_tokens": 40})["text"]
        stop = plain[len(plain) // 2]
        cut = self.ask(server, {**body, "max_tokens": 40, "stop": [stop, "never"]})
        self.assertEqual(cut["finish"], "stop")
        self.assertEqual(cut["text"], plain[:plain.index(stop)])
        special = self.ask(server, {**body, "prompt": "a<|endoftext|>", "special_tokens": True})
        text = self.ask(server, {**body, "prompt": "a<|endoftext|>"})
        self.assertEqual(special["usage"]["input_tokens"], 2)
        self.assertGreater(text["usage"]["input_tokens"], 5)

    def test_a_template_makes_it_translate(self):
        folder = self.models("gpt2")
        template = r"{source} to {target}:\n{text}\n"
        conf = f"[model nonsense]\npath = {folder}/gpt2\nsource = fr, de\ntarget = en, nl\ntemplate = {template}\n"
        server = self.start(conf=conf)

        def post(path, body, status=200):
            got, _, answer = server.request("POST", path, body=json.dumps(body).encode(),
                                            headers={"Content-Type": "application/json"})
            self.assertEqual(got, status, answer)
            return answer

        text = "Das kleine Haus. Am Fluss."
        body = {"text": text, "source": "de", "target": "nl"}
        answer = json.loads(post("/v1/translate", body))
        first = answer["translations"][0]["text"]
        self.assertIn("nonsense", json.dumps(answer))
        out, _ = tool("translate", f"--model={folder}/gpt2", f"--template={template}", "--source=de", "--target=nl",
                      text=text + "\n")
        self.assertEqual(out, first + "\n")
        self.assertEqual(json.loads(post("/v1/translate", body))["translations"][0]["text"], first)
        relayed = json.loads(post("/translate", {"q": text, "source": "de", "target": "nl"}))
        self.assertEqual(relayed["translatedText"], first)
        events = post("/v1/translate", {**body, "stream": True}).decode()
        deltas = [json.loads(line[6:])["text"] for event in events.split("\n\n") if "event: token" in event
                  for line in event.splitlines() if line.startswith("data: ")]
        self.assertEqual("".join(deltas), first)
        model = json.loads(server.request("GET", "/v1/models")[2])["models"][0]
        self.assertEqual((model["kind"], model["sources"], model["targets"]), ("translation", ["fr", "de"], ["en", "nl"]))
        self.assertIn("cannot score", post("/v1/score", {"source": "de", "target": "nl", "text": "a", "translation": "b"},
                                        400).decode())
        self.assertEqual(json.loads(post("/v1/translate", {**body, "target": "ja"}, 404))["error"]["code"], "no_such_model")

    def test_a_wrong_template_is_refused_at_the_start(self):
        folder = self.models("gpt2")
        for line, says in (("template = Translate this", "{text}"), ("template = {text} {tongue}", "{tongue}"),
                           ("template-stop = x", "without a template")):
            result = self.run_program("--listen=127.0.0.1:0", conf=f"[model x]\npath = {folder}/gpt2\nsource = fr\ntarget = en\n{line}\n".encode())
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(says, str(result.stderr))

    def test_the_tool_says_that_a_model_translates(self):
        said = tool("generate", "--model", os.path.join(SOURCES, "models", "fr-en"), text="Bonjour", expect=1)[1]
        self.assertIn("translates; expected a language model", said)

    def test_refusals_are_precise(self):
        server = self.start(f"--models-dir={self.models('gpt2', 'llama')}", "--prompt-max=40", "--max-characters=300")
        for body, status, field, says in (
                ({}, 400, "prompt", "prompt"),
                ({"prompt": 1}, 400, "prompt", "string"),
                ({"prompt": "a"}, 400, None, "2 language models"),
                ({"prompt": "a", "model": "none"}, 404, None, "none"),
                ({"prompt": "a", "model": "gpt2", "beams": 3}, 400, "beams", "beams"),
                ({"prompt": "a", "model": "gpt2", "top_p": 0}, 400, "top_p", "top_p"),
                ({"prompt": "a", "model": "gpt2", "max_tokens": 5000}, 400, "max_tokens", "4096"),
                ({"prompt": "a", "model": "gpt2", "stop": [""]}, 400, "stop", "0 bytes"),
                ({"prompt": "a", "model": "gpt2", "n": 2, "stream": True}, 400, "n", "stream"),
                ({"prompt": "a", "model": "gpt2", "n": 3, "beam": 2}, 400, "beam", "at least"),
                ({"prompt": "Q!" * 100, "model": "gpt2"}, 400, None, "expected at most 40"),
                ({"prompt": "Q!" * 200, "model": "gpt2"}, 400, "prompt", "at most 300")):
            error = self.ask(server, body, status)["error"]
            self.assertEqual(error.get("field"), field, error)
            self.assertIn(says, error["message"])
        status, _, answer = server.request("POST", "/v1/translate",
                                           body=json.dumps({"text": "a", "model": "gpt2"}).encode())
        self.assertEqual(status, 400, answer)
        self.assertIn("language model", json.loads(answer)["error"]["message"])
        self.assertIn("nbest", tool("generate", "--model=x", "--nbest=2", expect=2)[1])


if __name__ == "__main__":
    main()
