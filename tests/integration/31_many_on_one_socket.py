# SPDX-License-Identifier: ISC
"""Two hundred translations on one WebSocket, some cancelled, some updated, by independent clients:
Debian's python3-websockets and npm's ws. The deltas of each translation, joined, are its final
text, and REST gives the same text."""
import asyncio
import json
import subprocess

from harness import MODELS_DIR, PATIENCE_S, IntegrationTest, main
from node import node_folder

try:
    import websockets
except ImportError:
    websockets = None

MODELS = f"--models-dir={MODELS_DIR}"
FIRST = ("Le chat dort.", "La maison est grande.", "Comment allez-vous ?")
SECOND = ("Je vois un chien dans le jardin.", "Il fait beau aujourd'hui.", "")


def tasks(n=200):
    """Every fifth task is cancelled; every fifth is updated, and its first sentence stays the same."""
    made = []
    for i in range(n):
        text = f"{FIRST[i % 3]} Nous avons {i % 40} livres. {SECOND[i // 3 % 3]}"
        task = {"id": f"task-{i}", "text": text}
        if i % 5 == 1:
            task["cancel"] = True
        if i % 5 == 3:
            task["update"] = f"{FIRST[i % 3]} Nous avons {i % 40 + 100} livres. Merci."
        made.append(task)
    return made


class ManyOnOneSocket(IntegrationTest):
    def check(self, server, asked, found):
        """Checks the result of each task; a cancelled task may have been done before."""
        final = [task.get("update", task["text"]) for task in asked]
        _, _, answer = server.request("POST", "/v1/translate", json.dumps({"text": final, "target": "en"}))
        expected = [item["text"] for item in json.loads(answer)["translations"]]
        self.assertEqual(len(found), len(asked))
        for task, text in zip(asked, expected):
            one = found[task["id"]]
            if task.get("cancel"):
                self.assertEqual((one["cancelled"], one["late"]), (1, 0), task)
            else:
                self.assertEqual((one["cancelled"], one["text"], one["joined"]), (0, text, text), task)
        _, _, page = server.request("GET", "/metrics")
        self.assertIn("dragoman_sentences_failed_total 0\n", page.decode())

    async def talk(self, port, asked):
        found = {task["id"]: {"text": None, "joined": "", "accepted": 0, "cancelled": 0, "late": 0} for task in asked}
        wanted = {task["id"]: 2 if "update" in task else 1 for task in asked}
        cancels = {task["id"] for task in asked if task.get("cancel")}
        left = set(found)
        async with websockets.connect(f"ws://127.0.0.1:{port}/v1/stream", subprotocols=["dragoman.v1"]) as socket:
            for task in asked:
                await socket.send(json.dumps({"type": "translate", "id": task["id"], "text": task["text"], "target": "en"}))
            for task in asked:
                if "update" in task:
                    await socket.send(json.dumps({"type": "update", "id": task["id"], "text": task["update"]}))
                if "cancel" in task:
                    await socket.send(json.dumps({"type": "cancel", "id": task["id"]}))
            while left:
                message = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))
                one = found[message["id"]]
                kind = message["type"]
                self.assertNotEqual(kind, "error", message)
                if one["cancelled"]:
                    one["late"] += 1
                elif kind == "accepted":
                    one["joined"] = ""
                    one["accepted"] += 1
                elif kind == "token":
                    one["joined"] += message["text"]
                elif kind == "cancelled":
                    one["cancelled"] += 1
                    left.discard(message["id"])
                elif kind == "done":
                    one["text"] = message["text"]
                    if message["id"] not in cancels and one["accepted"] == wanted[message["id"]]:
                        left.discard(message["id"])
            pong = await socket.ping()
            await asyncio.wait_for(pong, PATIENCE_S)
        return found

    def test_python_websockets(self):
        if not websockets:
            self.skipTest("needs python3-websockets")
        server = self.start(MODELS)
        asked = tasks()
        self.check(server, asked, asyncio.run(self.talk(server.port(), asked)))

    def test_node_ws(self):
        folder = node_folder(self, "", "ws", "many.js")
        server = self.start(MODELS)
        asked = tasks()
        task = json.dumps({"url": f"ws://127.0.0.1:{server.port()}/v1/stream", "tasks": asked})
        done = subprocess.run(["node", "many.js"], cwd=folder, input=task, capture_output=True, timeout=2 * PATIENCE_S,
                              encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(server, asked, json.loads(done.stdout))


if __name__ == "__main__":
    main()
