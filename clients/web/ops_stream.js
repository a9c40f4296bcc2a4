// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The server's numbers as they arrive: an event stream that reopens by itself. It does not use
// EventSource, because that cannot send a key.
//
//     const stream = new OpsStream("v1/admin/live", () => key, {
//         onEvent(name, data) {}, onState(state, detail) {} });
//     stream.open(); stream.close();
//
// States: "live"; "gone" (the server cannot be reached; will try again), "busy" (the server has no
// room; will try again), "key" (the server wants a key; will not try again until open()), "closed".

const WAITS_MS = [500, 1000, 2000, 5000]; // before each new try; the last one is repeated
const SILENCE_MS = 8000; // the server sends something each second: after this silence it is gone

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
            // The server could not be reached, or the stream was cut off: both count as "gone".
        }
        if (this.#abort !== abort) return;
        this.#events.onState(state);
        if (state === "key") return;
        const wait = WAITS_MS[Math.min(this.#tries++, WAITS_MS.length - 1)];
        this.#timer = setTimeout(() => this.#run(), wait);
    }

    // Reads until the stream ends; returns the state that follows from how it ended.
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
