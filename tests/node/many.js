// SPDX-License-Identifier: ISC
// Many translations on one WebSocket, by the npm package ws. What to do comes as JSON on standard input:
// {"url":...,"tasks":[{"id","text","update"?,"cancel"?}]}; what came of it goes to standard output, for each id
// {"text","joined","cancelled","late"}: the final text, the deltas since the last "accepted" joined, how often
// "cancelled" came, and messages after it.
import { readFileSync } from "node:fs";
import WebSocket from "ws";

const { url, tasks } = JSON.parse(readFileSync(0, "utf8"));
const socket = new WebSocket(url, "dragoman.v1");
const found = {};
let open = tasks.length;

const send = (message) => socket.send(JSON.stringify(message));

function take(message) {
    const one = found[message.id];
    if (one.cancelled) {
        one.late += 1;
    } else if (message.type === "accepted") {
        one.joined = "";
        one.accepted += 1;
    } else if (message.type === "token") {
        one.joined += message.text;
    } else if (message.type === "error") {
        throw new Error(JSON.stringify(message));
    } else if (message.type === "cancelled") {
        one.cancelled += 1;
        open -= 1;
    } else if (message.type === "done") {
        one.text = message.text;
        if (!one.cancel && one.accepted === one.wanted)
            open -= 1;
    }
    if (open === 0)
        socket.close();
}

socket.on("open", () => {
    for (const { id, text, update, cancel } of tasks) {
        found[id] = { text: null, joined: "", accepted: 0, wanted: update ? 2 : 1, cancel: !!cancel, cancelled: 0, late: 0 };
        send({ type: "translate", id, text, target: "en" });
    }
    for (const { id, update, cancel } of tasks) {
        if (update)
            send({ type: "update", id, text: update });
        if (cancel)
            send({ type: "cancel", id });
    }
});
socket.on("message", (data) => take(JSON.parse(data.toString())));
socket.on("error", (error) => {
    console.error(error);
    process.exit(1);
});
socket.on("close", () => {
    process.stdout.write(JSON.stringify(found));
});
