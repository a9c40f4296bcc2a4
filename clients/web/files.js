// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Whole files: read here, translated piece by piece with progress, given back as a download. Subtitles keep
// their numbers and times; HTML is the server's to keep whole (format "html"); the rest is text.

const BYTES_MAX = 8 << 20;
const BATCH = 40; // texts of one request: a cancelled file wastes little

/** Cuts a file into parts that stay and texts that are translated: ["stay", text, "stay", text, ..., "stay"]. */
export function takeApart(name, content) {
    if (!/\.(srt|vtt)$/i.test(name)) return ["", content, ""];
    const parts = [];
    let stay = "";
    let text = "";
    let inCue = false;
    for (const line of content.split(/(?<=\n)/)) {
        if (inCue && line.trim()) {
            text += line;
            continue;
        }
        if (text) {
            const end = text.match(/\r?\n$/)?.[0] ?? "";
            parts.push(stay, text.slice(0, text.length - end.length));
            stay = end;
            text = "";
        }
        stay += line;
        inCue = line.includes("-->");
    }
    if (text) {
        parts.push(stay, text);
        stay = "";
    }
    return [...parts, stay];
}

export class Files {
    #list;
    #words;
    #translate; // (texts, options with signal) => promise of translations

    constructor(list, words, translate) {
        this.#list = list;
        this.#words = words;
        this.#translate = translate;
    }

    async add(file, options) {
        const row = this.#row(file);
        try {
            if (file.size > BYTES_MAX) throw new Error(this.#words.say("file_too_large", { mib: BYTES_MAX >> 20 }));
            const content = await file.text();
            const parts = takeApart(file.name, content);
            const format = /\.html?$/i.test(file.name) ? { format: "html" } : {};
            await this.#run(parts, { ...options, ...format, signal: row.abort.signal }, row.progress);
            row.done(new Blob([parts.join("")], { type: "text/plain;charset=utf-8" }), options.target);
        } catch (error) {
            row.failed(error.message);
        }
    }

    /** Replaces the texts among `parts` by their translations. */
    async #run(parts, options, progress) {
        const places = parts.map((_, i) => i).filter(i => i % 2 === 1);
        progress.max = Math.max(1, places.length);
        for (let at = 0; at < places.length; at += BATCH) {
            const batch = places.slice(at, at + BATCH);
            const translations = await this.#translate(batch.map(i => parts[i]), options, share => {
                progress.value = at + share * batch.length;
            });
            batch.forEach((i, k) => (parts[i] = translations[k].text));
            progress.value = at + batch.length;
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
        item.append(name, progress, cancel);
        this.#list.prepend(item);
        return {
            abort,
            progress,
            done: (blob, target) => {
                const link = document.createElement("a");
                link.href = URL.createObjectURL(blob);
                link.download = file.name.replace(/(\.[^.]+)?$/, `.${target}$1`);
                link.textContent = this.#words.say("download");
                progress.replaceWith(link);
                cancel.remove();
            },
            failed: message => {
                progress.replaceWith(message);
                cancel.remove();
            },
        };
    }
}
