// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// A client of dragomand for browsers and Node (tested with Chromium and Node 20): one module
// without dependencies.
//
//     const server = new Dragoman("http://127.0.0.1:8090");
//     const answer = await server.translate("Où est la gare ?", { target: "en" });
//     console.log(answer.translations[0].text);
//
//     for await (const event of server.stream("Où est la gare ?", { target: "en" }))
//         if (event.type === "token") process.stdout.write(event.text);
//
//     const live = server.live();                       // one WebSocket, many translations
//     const strand = live.translate("Bon", { target: "en" }, event => ...);
//     strand.update("Bonjour");                         // sentences that did not change are kept
//     strand.cancel();
//
// The options have the names of the JSON fields of POST /v1/translate (docs/api/openapi.yaml); one
// more, `signal`, takes an AbortSignal. A call that fails throws a DragomanError with the server's
// code and message. If the server is busy (429, 503), the client tries again after the time that it
// asks for.

const RETRY_SECONDS_MAX = 30;
const RECONNECT_MS = [250, 500, 1000, 2000, 4000, 8000];

/** Why a call failed: an error from the server, or a failure to reach it. */
export class DragomanError extends Error {
    constructor(code, message, details = {}) {
        super(message);
        this.name = "DragomanError";
        this.code = code; // "unreachable", "aborted", or one of the server's stable codes
        this.status = details.status ?? 0; // the HTTP status; 0: there was no answer
        this.field = details.field ?? null;
        this.limit = details.limit ?? null;
        this.requestId = details.request_id ?? null;
        this.retryAfter = details.retryAfter ?? null; // seconds
    }
}

/** A server. The constructor sends nothing; only the calls do. */
export class Dragoman {
    /**
     * @param {string|URL} url  where the server is, with its prefix if it has one
     * @param {{key?: string, retries?: number, fetch?: typeof fetch, WebSocket?: typeof WebSocket}} options
     */
    constructor(url, { key = "", retries = 2, fetch = globalThis.fetch, WebSocket = globalThis.WebSocket } = {}) {
        this.base = new URL(url);
        if (!this.base.pathname.endsWith("/")) this.base.pathname += "/";
        this.key = key;
        this.retries = retries;
        this.fetch = fetch.bind(globalThis);
        this.WebSocket = WebSocket;
    }

    /** Translates one text or an array of texts; returns the whole answer of POST /v1/translate. */
    translate(text, { signal, ...options } = {}) {
        return this.#json("v1/translate", { text, ...options }, signal);
    }

    /**
     * Yields the events token, sentence and finally done, as they arrive. If a stream breaks off,
     * the client resumes it at whichever server answers then. For a single plain text it asks for
     * the rest: the text after the last complete sentence, with the words that have arrived of the
     * next one as its prefix. It asks for any other stream again with the id of the last event that
     * arrived.
     */
    async *stream(text, { signal, ...options } = {}) {
        const isPlain = typeof text === "string" && (options.format ?? "text") === "text";
        const progress = isPlain ? new Progress(text, options) : new Seen(text, options);
        for (let failures = 0; ; ) {
            const before = progress.shown;
            try {
                for await (const event of this.#streamOnce(progress.rest(), progress.options(), signal)) {
                    const adjusted = progress.take(event);
                    if (adjusted) yield adjusted;
                }
                return;
            } catch (failure) {
                failures = progress.shown !== before ? 0 : failures + 1;
                const hasBegun = progress.shown || failure.status === 200;
                if (!GOES_ON.includes(failure.code) || !hasBegun || failures > this.retries) throw failure;
                if (failures) await sleep(Math.min(failures / 2, RETRY_SECONDS_MAX) * 1000, signal);
            }
        }
    }

    async *#streamOnce(text, options, signal) {
        const response = await this.#request("v1/translate", { text, ...options, stream: true }, signal);
        let ended = false;
        try {
            for await (const event of serverSentEvents(response.body)) {
                const { error, ...members } = event.data;
                if (event.type === "error")
                    throw new DragomanError(error?.code ?? "error", error?.message ?? "The stream failed.",
                        { ...error, status: response.status });
                ended ||= event.type === "done";
                yield { type: event.type, ...members, event_id: event.id };
            }
        } catch (failure) {
            throw failure instanceof DragomanError ? failure : unreachable(failure, signal, response.status);
        }
        if (!ended)
            throw new DragomanError("unreachable", "The server closed the stream before its end.", { status: response.status });
    }

    /** Opens a WebSocket that can carry many translations. */
    live() {
        return new Live(this);
    }

    /** Detects the language of each text. */
    detect(text, { signal, ...options } = {}) {
        return this.#json("v1/detect", { text, ...options }, signal);
    }

    /** Asks how probable the model finds each text's translation. */
    score(text, translation, { signal, ...options } = {}) {
        return this.#json("v1/score", { text, translation, ...options }, signal);
    }

    async languages({ signal } = {}) {
        return (await this.#json("v1/languages", null, signal)).languages;
    }

    /** All that the server says about itself: {languages, formality (targets with a choice of manners), limits}. */
    about({ signal } = {}) {
        return this.#json("v1/languages", null, signal);
    }

    /**
     * The glossaries that the server keeps for this key and those shared with everybody, without
     * their terms.
     */
    async glossaries({ signal } = {}) {
        return (await this.#json("v1/glossaries", null, signal)).glossaries;
    }

    /** What one request may hold: {characters (of a text; absent: no limit), body_bytes}. */
    async limits({ signal } = {}) {
        return (await this.#json("v1/languages", null, signal)).limits;
    }

    async models({ signal } = {}) {
        return (await this.#json("v1/models", null, signal)).models;
    }

    /**
     * Translates a file, waits for the result and returns it: {name, blob}. `file` is a Blob; the
     * extension of its name (a File has one) says what kind of file it is. The options are those of
     * POST /v1/documents; `onprogress` is called with the document's state from time to time.
     * Aborting the call cancels the translation.
     */
    async translateDocument(file, { name, onprogress, signal, ...options } = {}) {
        let state = await this.addDocument(file, { name, signal, ...options });
        try {
            for (let pause = 100; state.state === "waiting" || state.state === "running"; pause = Math.min(1.5 * pause, 2000)) {
                onprogress?.(state);
                await sleep(pause, signal);
                state = await this.document(state.id, { signal });
            }
            if (state.state !== "done")
                throw new DragomanError(state.state, state.error ?? `The document is ${state.state}.`);
            onprogress?.(state);
            return await this.documentResult(state.id, { signal });
        } finally {
            await this.removeDocument(state.id).catch(() => {}); // an earlier error matters more
        }
    }

    /**
     * Uploads a file, to be translated when the server has time for it; returns the document's
     * state.
     */
    addDocument(file, { name = file.name, signal, ...options } = {}) {
        const form = new FormData();
        for (const [field, value] of Object.entries({ ...options, filename: name }))
            if (value !== undefined && value !== null) form.append(field, typeof value === "string" ? value : JSON.stringify(value));
        form.append("file", file, "file");
        return this.#json("v1/documents", form, signal);
    }

    async documents({ signal } = {}) {
        return (await this.#json("v1/documents", null, signal)).documents;
    }

    /** The document's state: how far its translation has come. */
    document(id, { signal } = {}) {
        return this.#json(`v1/documents/${id}`, null, signal);
    }

    async documentResult(id, { signal } = {}) {
        const response = await this.#request(`v1/documents/${id}/result`, null, signal);
        const disposition = response.headers.get("Content-Disposition") ?? "";
        const encoded = /filename\*=UTF-8''([^;]*)/i.exec(disposition)?.[1];
        const name = encoded ? decodeURIComponent(encoded) : (/filename="([^"]*)"/.exec(disposition)?.[1] ?? "");
        try {
            return { name, blob: await response.blob() };
        } catch (failure) {
            throw unreachable(failure, signal);
        }
    }

    /**
     * Removes the document from the server; if it is being translated, the translation is
     * cancelled.
     */
    async removeDocument(id, { signal } = {}) {
        await this.#request(`v1/documents/${id}`, null, signal, "DELETE");
    }

    async #json(path, body, signal) {
        const response = await this.#request(path, body, signal);
        try {
            return await response.json();
        } catch (failure) {
            throw unreachable(failure, signal);
        }
    }

    async #request(path, body, signal, method = body ? "POST" : "GET") {
        const headers = {};
        const isForm = body instanceof FormData;
        if (this.key) headers.Authorization = `Bearer ${this.key}`;
        if (body && !isForm) headers["Content-Type"] = "application/json";
        const init = { method, headers, signal, body: body && !isForm ? JSON.stringify(body) : (body ?? undefined) };
        for (let attempt = 0; ; attempt++) {
            let response;
            try {
                response = await this.fetch(new URL(path, this.base), init);
            } catch (failure) {
                throw unreachable(failure, signal);
            }
            if (response.ok) return response;
            const error = await errorOf(response);
            const mayHelp = response.status === 429 || response.status === 503;
            if (!mayHelp || attempt >= this.retries || error.retryAfter > RETRY_SECONDS_MAX) throw error;
            await sleep((error.retryAfter ?? 1) * 1000, signal);
        }
    }
}

/**
 * One WebSocket that carries many translations. It connects by itself, and reconnects if the
 * connection is lost: each translation then resumes after the last event that arrived for it.
 */
export class Live {
    #server;
    #socket = null;
    #strands = new Map();
    #lastId = 0;
    #failures = 0;
    #timer = null;
    #isClosed = false;
    /** Called with "open", "lost" (it will try to reconnect) or "closed". */
    onstate = () => {};

    constructor(server) {
        if (typeof server.WebSocket !== "function")
            throw new DragomanError("unsupported", "There is no WebSocket here (Node has one from version 22 on). " +
                'Install the package "ws" and pass its WebSocket: new Dragoman(url, { WebSocket }).');
        this.#server = server;
    }

    /**
     * Begins a translation. `onEvent` is called with what the server sends: token, sentence, done,
     * cancelled, accepted (the translation starts again from the beginning), and
     * {type: "error", error: DragomanError}.
     */
    translate(text, options, onEvent) {
        if (this.#isClosed) throw new DragomanError("closed", "This connection was closed.");
        const strand = new Strand(this, String(++this.#lastId), text, options, onEvent);
        this.#strands.set(strand.id, strand);
        this.#send(strand._opening());
        return strand;
    }

    close() {
        this.#isClosed = true;
        clearTimeout(this.#timer);
        this.#socket?.close(1000);
        this.#strands.clear();
        this.onstate("closed");
    }

    _send(strand, message) {
        if (this.#strands.has(strand.id)) this.#send(message);
    }

    get _isOpen() {
        return this.#socket?.readyState === 1;
    }

    _forget(strand) {
        this.#strands.delete(strand.id);
    }

    /** Drops the message while there is no connection: onopen sends each strand's newest state. */
    #send(message) {
        if (this.#socket?.readyState === 1) this.#socket.send(JSON.stringify(message));
        else if (!this.#socket && !this.#timer) this.#connect();
    }

    #connect() {
        this.#timer = null;
        const url = new URL("v1/stream", this.#server.base);
        url.protocol = url.protocol.replace("http", "ws");
        const socket = new this.#server.WebSocket(url, "dragoman.v1");
        this.#socket = socket;
        socket.onopen = () => {
            this.#failures = 0;
            this.onstate("open");
            for (const strand of this.#strands.values()) {
                const opening = strand._reopening();
                if (opening) socket.send(JSON.stringify(opening));
            }
        };
        socket.onmessage = event => this.#receive(event.data);
        socket.onclose = event => this.#lost(socket, event);
        socket.onerror = () => {}; // close follows
    }

    #receive(data) {
        const message = JSON.parse(data);
        const strand = this.#strands.get(message.id);
        if (!strand) return;
        if (message.type === "error") {
            message.error = new DragomanError(message.code, message.message, message);
            if (message.retry_after) message.error.retryAfter = message.retry_after;
        }
        strand._receive(message);
    }

    #lost(socket, event) {
        if (socket !== this.#socket || this.#isClosed) return;
        this.#socket = null;
        if (this.#failures >= RECONNECT_MS.length) {
            const error = new DragomanError("unreachable", `The connection was lost (${event.code}) and could not be made again.`);
            for (const strand of [...this.#strands.values()]) strand._receive({ type: "error", error });
            this.#strands.clear();
            this.close();
            return;
        }
        this.onstate("lost");
        this.#timer = setTimeout(() => this.#connect(), RECONNECT_MS[this.#failures++]);
    }
}

/** One translation of a Live connection. */
class Strand {
    #live;
    #options;
    #onEvent;
    #isKnown = false; // the server has received its "translate" message
    #isDone = false;
    #seen = ""; // id of the last event that arrived for this text
    #isBegun = false; // the server has accepted the present text
    #goesOn = false; // the next "accepted" is for resuming it, not for a new start

    constructor(live, id, text, options, onEvent) {
        this.#live = live;
        this.id = id;
        this.text = text;
        this.#options = options;
        this.#onEvent = onEvent;
    }

    /** Translates a new text with the same options. */
    update(text) {
        this.text = text;
        this.#seen = "";
        this.#isBegun = false;
        if (this.#isDone && !this.#live._isOpen) this.#isKnown = false; // unknown to a new connection
        this.#isDone = false;
        this.#live._send(this, this.#isKnown ? { type: "update", id: this.id, text } : this._opening());
    }

    /** Ends the translation and forgets it; no further event follows. */
    cancel() {
        this.#live._send(this, { type: "cancel", id: this.id });
        this.#live._forget(this);
    }

    _opening() {
        this.#isKnown = true;
        this.#isDone = false;
        this.#goesOn = this.#isBegun;
        const more = this.#seen ? { last_event_id: this.#seen } : {};
        return { ...this.#options, ...more, type: "translate", id: this.id, text: this.text };
    }

    /** The message for a new connection: none if the translation is done, until it is updated. */
    _reopening() {
        this.#isKnown &&= !this.#isDone;
        return this.#isDone ? null : this._opening();
    }

    _receive({ event_id: id, ...event }) {
        if (event.type === "accepted" && this.#goesOn) {
            this.#goesOn = false;
            return;
        }
        if (event.type === "error" && event.error.code === "stream_changed") { // start again, as after an update
            this.#seen = "";
            this.#isBegun = false;
            this.#live._send(this, this._opening());
            return;
        }
        this.#isBegun ||= event.type === "accepted";
        this.#seen = event.type === "accepted" ? "" : (id ?? this.#seen);
        this.#isDone = event.type === "done" || event.type === "error";
        if (event.type === "error") this.#isKnown = false; // the server may no longer know this strand
        this.#onEvent(event, this);
    }
}

// ---- Internals --------------------------------------------------------------------------------------

// Errors after which a stream that has begun may be resumed, because the request was not at fault.
const GOES_ON = ["unreachable", "draining", "cancelled", "overloaded", "unavailable", "worker_stalled"];

/**
 * How far the translation of a text has come: all that was shown, and where its complete sentences
 * end.
 */
class Progress {
    #text;
    #options;
    #done = 0; // bytes of the text whose sentences are complete
    #from = 0; // byte where the text of the current request begins
    #open = ""; // what was shown after the complete sentences
    #expected = ""; // what was shown before and will arrive once more
    #byWords = true;
    shown = "";

    constructor(text, options) {
        this.#text = new TextEncoder().encode(text);
        this.#options = options;
    }

    rest() {
        this.#from = this.#done;
        this.#expected = this.#open;
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#text.subarray(this.#done));
    }

    /**
     * The first request has the caller's own prefix. The last word that was shown may be cut off in
     * the middle, and a model rarely continues such a fragment. So the prefix ends before that
     * word, and the server produces it again; only if it then produces a different word is the
     * shown one forced, too.
     */
    options() {
        const { prefix: own = "", ...options } = this.#options;
        let prefix = this.#open.trimStart();
        if (this.#byWords) prefix = prefix.slice(0, Math.max(prefix.lastIndexOf(" "), 0));
        if (this.#done === 0 && own.startsWith(prefix)) return this.#options;
        return prefix ? { ...options, prefix } : options;
    }

    /** The event as an uninterrupted stream would have it; null if it brings nothing new. */
    take({ event_id: _, ...event }) {
        if (event.type === "token") return this.#takeToken(event);
        if (event.type === "sentence" && event.start !== undefined) {
            this.#done = this.#from + event.start + event.length;
            this.#open = "";
            this.#byWords = true;
            return { ...event, start: this.#from + event.start };
        }
        if (event.type === "done" && this.#from) {
            const [first, ...more] = event.translations;
            return { ...event, translations: [{ ...first, text: this.shown }, ...more] };
        }
        return event;
    }

    #takeToken(event) {
        const again = Math.min(event.text.length, this.#expected.length);
        if (event.text.slice(0, again) !== this.#expected.slice(0, again)) {
            const code = this.#byWords ? "unreachable" : "broken";
            this.#byWords = false;
            throw new DragomanError(code, "The stream broke off, and what another server says does not go on with it.");
        }
        this.#expected = this.#expected.slice(again);
        const text = event.text.slice(again);
        this.#open += text;
        this.shown += text;
        return text ? { ...event, text } : null;
    }
}

/**
 * The id of the last event that arrived of a stream: the server knows which events follow it. The
 * interface is that of Progress.
 */
class Seen {
    #text;
    #options;
    shown = "";

    constructor(text, options) {
        this.#text = text;
        this.#options = options;
    }

    rest() {
        return this.#text;
    }

    options() {
        return this.shown ? { ...this.#options, last_event_id: this.shown } : this.#options;
    }

    take({ event_id: id, ...event }) {
        this.shown = id || this.shown;
        return event;
    }
}

/** Yields the events of a text/event-stream whose data are JSON. */
async function* serverSentEvents(body) {
    const decoder = new TextDecoder();
    let pending = "";
    for await (const chunk of chunksOf(body)) {
        pending += decoder.decode(chunk, { stream: true });
        for (let end; (end = pending.indexOf("\n\n")) >= 0; pending = pending.slice(end + 2)) {
            const event = { type: "message", id: "", data: "" };
            for (const line of pending.slice(0, end).split("\n")) {
                const colon = line.indexOf(":");
                const value = line.slice(colon + 1).replace(/^ /, "");
                if (line.startsWith("event:")) event.type = value;
                else if (line.startsWith("id:")) event.id = value;
                else if (line.startsWith("data:")) event.data += (event.data && "\n") + value;
            }
            if (event.data) yield { type: event.type, id: event.id, data: JSON.parse(event.data) };
        }
    }
}

/** Yields the chunks of a ReadableStream, which not every browser can iterate. */
async function* chunksOf(body) {
    const reader = body.getReader();
    try {
        for (let part; !(part = await reader.read()).done; ) yield part.value;
    } finally {
        await reader.cancel().catch(() => {}); // ends the request if the caller leaves early
    }
}

async function errorOf(response) {
    const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
    const details = { status: response.status, retryAfter: Number.isNaN(seconds) ? null : seconds };
    const body = await response.json().catch(() => ({}));
    const error = body.error ?? {};
    return new DragomanError(
        error.code ?? "http_error",
        error.message ?? `The server answered with status ${response.status}.`,
        { ...error, ...details, request_id: body.request_id },
    );
}

function unreachable(failure, signal, status = 0) {
    return signal?.aborted
        ? new DragomanError("aborted", "The request was given up by its caller.")
        : new DragomanError("unreachable", `The server could not be reached: ${failure.cause?.message ?? failure.message}.`, { status });
}

function sleep(ms, signal) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(done, ms, true);
        function done(isOver) {
            clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            isOver === true ? resolve() : reject(unreachable(null, signal));
        }
        signal?.addEventListener("abort", done);
    });
}
