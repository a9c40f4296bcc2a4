// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Whole files. The page reads a file and sends its text; the server translates that and keeps
// everything but the text as it was (its option "format"); the page then offers the result as a
// download. Office documents, books, tables, YAML, LaTeX, mail and PDF are sent whole, because only
// the server can take them apart.

const ASIDE_BYTES = 4096; // kept free in a request for everything but the text
const FORMATS = {
    html: "html", htm: "html", xhtml: "html", xml: "xml", md: "markdown", markdown: "markdown", srt: "subrip", vtt: "webvtt",
    ass: "ass", ssa: "ass", sbv: "sbv", ttml: "ttml", dfxp: "ttml",
    json: "json", arb: "json", po: "po", pot: "po", xlf: "xliff", xliff: "xliff",
};

const OFFICE = /\.(doc[xm]|dotx|ppt[xm]|ppsx|xls[xm]|od[tps]|ott|epub|csv|tsv|tab|ya?ml|tex|eml|pdf|strings|stringsdict|properties|res[xw])$|strings\.xml$/i;

/** Files that the server can read even if their encoding is not UTF-8. */
const ENCODED = /\.(txt|srt|vtt|md|markdown|html?)$/i;

/** The format that the server is told for a file, by the file's name. */
export function formatOf(name) {
    return FORMATS[name.match(/\.(\w+)$/)?.[1].toLowerCase()] ?? "text";
}

/** Whether a file is Markdown with YAML front matter. */
async function hasFrontMatter(file) {
    return /\.(md|markdown)$/i.test(file.name) && /^(\uFEFF)?---\r?\n/.test(await file.slice(0, 8).text());
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The text of a file, or the name (in words.js) of the reason why it cannot be read. */
async function read(file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes.includes(0)) return { why: "file_binary" };
    try {
        return { text: utf8.decode(bytes) };
    } catch {
        return { why: "file_encoding" };
    }
}

export class Files {
    #list;
    #words;
    #translate; // (texts, options with signal) => promise of translations
    #translateFile; // (file, options with signal, onProgress) => promise of a blob
    #turn = Promise.resolve(); // files that are sent whole are sent one after the other

    constructor(list, words, translate, translateFile) {
        this.#list = list;
        this.#words = words;
        this.#translate = translate;
        this.#translateFile = translateFile;
    }

    /** Translates a file. `limits`: how much a request may hold, as the server states it. */
    async add(file, options, limits) {
        const row = this.#row(file);
        try {
            const isLong = limits.document_jobs && file.size > limits.body_bytes - ASIDE_BYTES;
            const isWhole = isLong || OFFICE.test(file.name) || (await hasFrontMatter(file));
            const most = isWhole ? limits.document_bytes ?? 0 : limits.body_bytes - ASIDE_BYTES;
            const tooLarge = () => new Error(this.#words.say("file_too_large", { size: this.#words.size(most) }));
            if (file.size > most) throw tooLarge();
            const { text: content, why } = isWhole ? {} : await read(file);
            if (isWhole || (why === "file_encoding" && ENCODED.test(file.name))) {
                const made = this.#turn.then(() => {
                    row.abort.signal.throwIfAborted();
                    return this.#translateFile(file, { ...options, signal: row.abort.signal }, row.told);
                });
                this.#turn = made.catch(() => {});
                row.done(await made, options.target);
                return;
            }
            if (why) throw new Error(this.#words.say(why));
            if (new TextEncoder().encode(JSON.stringify(content)).length > most) throw tooLarge();
            const [{ text }] = await this.#translate([content], { ...options, format: formatOf(file.name), signal: row.abort.signal },
                share => (row.progress.value = Math.min(share, 1)));
            row.done(new Blob([text], { type: "text/plain;charset=utf-8" }), options.target);
        } catch (error) {
            row.failed(error.message);
        }
    }

    #row(file) {
        const item = document.createElement("li");
        const name = document.createElement("span");
        const progress = document.createElement("progress");
        const cancel = document.createElement("button");
        const abort = new AbortController();
        name.textContent = file.name;
        progress.setAttribute("aria-label", file.name);
        cancel.type = "button";
        cancel.textContent = this.#words.say("cancel");
        cancel.addEventListener("click", () => abort.abort());
        const told = document.createElement("span");
        item.append(name, progress, told, cancel);
        this.#list.prepend(item);
        return {
            abort,
            progress,
            /**
             * Shows how far a document has come, sentence by sentence, and the minutes and seconds
             * left.
             */
            told: ({ progress: part, seconds_left: left }) => {
                progress.value = part;
                told.textContent = `${Math.floor(100 * part)} %`;
                if (left !== null) told.textContent += ` · ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
            },
            done: (blob, target) => {
                const link = document.createElement("a");
                link.href = URL.createObjectURL(blob);
                link.download = file.name.replace(/(\.[^.]+)?$/, `.${target}$1`);
                link.textContent = this.#words.say("download");
                link.setAttribute("aria-label", `${link.textContent} ${link.download}`);
                progress.replaceWith(link);
                told.remove();
                cancel.remove();
            },
            failed: message => {
                progress.replaceWith(message);
                told.remove();
                cancel.remove();
            },
        };
    }
}
