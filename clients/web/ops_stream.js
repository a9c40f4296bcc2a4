// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The server's numbers as they come: an event stream that is opened again by itself. Not EventSource, which cannot
// send a key.
//
//     const stream = new OpsStream("v1/admin/live", () => key, {
//         onEvent(name, data) {}, onState(state, detail) {} });
//     stream.open(); stream.close();
//
// States: "live"; "gone" (the server cannot be reached; it is tried again), "busy" (no room, tried again),
// "key" (a key is wanted; not tried again until open()), "closed".

const WAITS_MS = [500, 1000, 2000, 5000]; // before the next try; the last one from then on
const SILENCE_MS = 8000; // a server that says nothing for so long is gone: it speaks each second

export class OpsStream {
    #path; #keyNow; #events; #abort = null; #tries = 0; #timer = 0;

    constructor(path, keyNow, events) {
        this.#path = path;
        this.#keyNow = keyNow;
        this.#events = events;
    }

    open() {
        this.close();
        this.#tries = 0;
        this.#run();
    }

    close() {
        clearTimeout(this.#timer);
        this.#abort?.abort();
        this.#abort = null;
        this.#events.onState("closed");
    }

    async #run() {
        const abort = this.#abort = new AbortController();
        let state = "gone";
        try {
            state = await this.#read(abort);
        } catch {
            // Not reached, or cut off: both are "gone".
        }
        if (this.#abort !== abort) return;
        this.#events.onState(state);
        if (state === "key") return;
        const wait = WAITS_MS[Math.min(this.#tries++, WAITS_MS.length - 1)];
        this.#timer = setTimeout(() => this.#run(), wait);
    }

    // Reads until the stream ends; how it ended.
    async #read(abort) {
        const key = this.#keyNow();
        const response = await fetch(this.#path, {
            cache: "no-store", signal: abort.signal, headers: key ? { Authorization: `Bearer ${key}` } : {},
        });
        if (response.status === 401 || response.status === 403) return "key";
        if (!response.ok) return response.status === 503 ? "busy" : "gone";
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let silence = 0;
        try {
            for (let rest = ""; ;) {
                clearTimeout(silence);
                silence = setTimeout(() => abort.abort(), SILENCE_MS);
                const { value, done } = await reader.read();
                if (done) return "gone";
                const events = (rest + value).split("\n\n");
                rest = events.pop();
                for (const event of events) this.#tell(event);
            }
        } finally {
            clearTimeout(silence);
            abort.abort();
        }
    }

    #tell(event) {
        let name = "message", data = "";
        for (const line of event.split("\n")) {
            if (line.startsWith("event: ")) name = line.slice(7);
            else if (line.startsWith("data: ")) data += line.slice(6);
        }
        if (!data) return;
        if (this.#tries || name === "history") this.#events.onState("live");
        this.#tries = 0;
        this.#events.onEvent(name, JSON.parse(data));
    }
}
