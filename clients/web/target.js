// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The pane with the translation. While the translation streams, it is one piece of text. When it is
// complete, it is divided into sentences, which the reader can click, and, once their details are
// known, into words, which the reader can point at and which are shaded by how sure the model was.
// This module does not use the server.

import { indexOfBytes, rangeOf } from "./offsets.js";

export const DOUBTS = [0.5, 0.25, 0.1]; // probabilities below which a word is shaded ever more

export class Target {
    #pane;
    #live = null; // the text node that grows
    #pending = "";
    #sentences = []; // {source, text, start, end (in the source), element, words}
    onchoose = () => {};
    onpoint = () => {};

    constructor(pane) {
        this.#pane = pane;
        pane.addEventListener("click", event => this.#choose(event));
        pane.addEventListener("keydown", event => {
            if (event.key === "Enter" || event.key === " ") this.#choose(event);
        });
        pane.addEventListener("pointerover", event => this.#point(event));
        pane.addEventListener("pointerleave", () => this.onpoint(null, null));
    }

    get text() {
        return this.#pane.textContent;
    }

    get sentences() {
        return this.#sentences;
    }

    /**
     * A new translation begins. The old one stays visible, but faint, until the first word arrives.
     */
    begin() {
        this.#pane.classList.add("stale", "caret");
        this.#live = null;
        this.#pending = "";
    }

    /** Adds text to the translation. It is drawn once per frame, however fast it arrives. */
    append(text) {
        if (!this.#pending) requestAnimationFrame(() => this.#draw());
        this.#pending += text;
    }

    clear(message = "") {
        this.begin();
        this.#sentences = [];
        this.#pane.replaceChildren(message);
        this.#pane.classList.remove("stale", "caret");
    }

    /** No more text will arrive: the pane keeps what it shows. */
    rest() {
        this.#pane.classList.remove("stale", "caret");
        this.#live = null;
        this.#pending = "";
    }

    #draw() {
        if (!this.#pending) return;
        if (!this.#live) {
            this.#live = document.createTextNode("");
            this.#sentences = [];
            this.#pane.replaceChildren(this.#live);
            this.#pane.classList.remove("stale");
        }
        this.#live.appendData(this.#pending);
        this.#pending = "";
    }

    /**
     * The translation is complete: `text` is all of it, `sentences` its sentences in order, as the
     * server sent them.
     */
    finish(source, text, sentences) {
        const index = indexOfBytes(source);
        const parts = [];
        let at = 0;
        this.#pending = "";
        this.#sentences = [];
        for (const told of sentences) {
            const [start, end] = rangeOf(index, told);
            const element = document.createElement("span");
            const sentence = { source: source.slice(start, end), text: told.text, start, end, element, words: null };
            element.className = told.finish === "eos" ? "sentence" : "sentence flagged";
            element.tabIndex = 0;
            element.setAttribute("role", "button");
            element.setAttribute("aria-describedby", "about-sentence");
            element.textContent = told.text;
            parts.push(source.slice(at, start), element);
            this.#sentences.push(sentence);
            at = end;
        }
        parts.push(source.slice(at));
        this.#pane.replaceChildren(...parts.filter(part => part !== ""));
        if (this.#pane.textContent !== text) { // joined differently by the server: its text counts
            this.#sentences = [];
            this.#pane.replaceChildren(text);
        }
        this.#pane.classList.remove("stale", "caret");
        this.#live = null;
    }

    /**
     * Divides the sentence into words that the reader can point at, with the model's score of each.
     */
    explain(sentence, score) {
        const index = indexOfBytes(sentence.text);
        const words = [];
        score.tokens.forEach((token, row) => {
            const [start, end] = rangeOf(index, token);
            if (start === end) return;
            const last = words.at(-1);
            const isNew = !last || start > last.end || /\s/.test(sentence.text[start] ?? "");
            if (isNew) words.push({ start, end, rows: [row], logprob: token.logprob });
            else Object.assign(last, { end, rows: [...last.rows, row], logprob: Math.min(last.logprob, token.logprob) });
        });
        const parts = [];
        let at = 0;
        for (const word of words) {
            while (word.start < word.end && /\s/.test(sentence.text[word.start])) word.start++;
            const element = document.createElement("span");
            const doubt = DOUBTS.filter(limit => Math.exp(word.logprob) < limit).length;
            element.className = doubt ? `word doubt-${doubt}` : "word";
            element.textContent = sentence.text.slice(word.start, word.end);
            word.element = element;
            parts.push(sentence.text.slice(at, word.start), element);
            at = word.end;
        }
        parts.push(sentence.text.slice(at));
        sentence.element.replaceChildren(...parts.filter(part => part !== ""));
        sentence.words = words;
        sentence.score = score;
    }

    /** Replaces a sentence with another wording that the reader chose. */
    replace(sentence, text) {
        sentence.text = text;
        sentence.words = sentence.score = null;
        sentence.element.textContent = text;
    }

    mark(sentence) {
        for (const other of this.#sentences) other.element.classList.toggle("chosen", other === sentence);
    }

    #of(event) {
        const element = event.target.closest?.(".sentence");
        return this.#sentences.find(sentence => sentence.element === element);
    }

    #choose(event) {
        const sentence = this.#of(event);
        if (!sentence || getSelection().toString()) return;
        event.preventDefault();
        this.onchoose(sentence, sentence.words?.find(each => each.element === event.target) ?? null);
    }

    #point(event) {
        const sentence = this.#of(event);
        const word = sentence?.words?.find(each => each.element === event.target);
        this.#pane.querySelectorAll(".looked").forEach(element => element.classList.remove("looked"));
        word?.element.classList.add("looked");
        this.onpoint(sentence ?? null, word ?? null);
    }
}

/**
 * The ranges of the source to which a word of the translation paid most attention, as [start, end]
 * pairs.
 */
export function lookedAt(sentence, word) {
    const { attention, source_tokens: tokens } = sentence.score;
    const index = indexOfBytes(sentence.source);
    const weight = tokens.map((_, s) => word.rows.reduce((sum, row) => sum + attention[row][s], 0));
    const most = Math.max(...weight.filter((_, s) => tokens[s].length > 0));
    return tokens
        .filter((token, s) => token.length > 0 && weight[s] >= most / 2)
        .map(token => rangeOf(index, token).map(at => at + sentence.start));
}
