// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The panel about one sentence: how sure the model was, other wordings, and which words of the text
// its words come from.

import { drawLinks } from "./links.js";
import { indexOfBytes, rangeOf } from "./offsets.js";

export class Detail {
    #words;
    #ask; // {alternatives(sentence, from), score(sentence, layer, head)}, which return promises
    #sentence = null;
    #parts = []; // {button, start, end} of each word of the sentence
    #element = id => document.getElementById(id);
    onreplace = () => {};
    onclose = () => {};

    constructor(words, ask) {
        this.#words = words;
        this.#ask = ask;
        document.addEventListener("keydown", event => {
            if (event.key === "Escape" && this.#sentence && !document.querySelector("dialog[open]")) this.close();
        });
        this.#element("detail-close").addEventListener("click", () => this.close());
        for (const id of ["layer", "head"]) this.#element(id).addEventListener("change", () => this.#redraw());
    }

    /**
     * `from`: the index in the sentence of the first word in which the other wordings may differ.
     * `isQuiet`: the reader did not ask for the panel, so the focus and the page stay in place.
     */
    async open(sentence, { from = 0, isQuiet = false } = {}) {
        this.#sentence = sentence;
        this.#element("detail").hidden = false;
        if (!isQuiet) {
            this.#element("detail-title").focus({ preventScroll: true });
            this.#element("detail").scrollIntoView({ block: "nearest" });
        }
        this.#listWords(sentence, from);
        this.#element("heat").replaceChildren();
        this.#element("links").replaceChildren();
        await Promise.all([this.#findAlternatives(sentence, from), this.#redraw()]);
    }

    async #findAlternatives(sentence, from) {
        this.#element("alternatives").replaceChildren();
        const others = await this.#ask.alternatives(sentence, from).catch(error => error);
        if (this.#sentence !== sentence) return;
        if (others instanceof Error) this.#element("detail-facts").textContent = others.message;
        else this.#listAlternatives(sentence, others);
    }

    #listWords(sentence, from) {
        this.#parts = [...sentence.text.matchAll(/\S+/g)].map(word => {
            const button = document.createElement("button");
            button.type = "button";
            button.textContent = word[0];
            button.setAttribute("aria-pressed", String(word.index === from && from > 0));
            button.addEventListener("click", () => {
                for (const other of this.#parts) other.button.setAttribute("aria-pressed", String(other.button === button));
                this.#findAlternatives(sentence, word.index);
            });
            return { button, start: word.index, end: word.index + word[0].length };
        });
        this.#element("words").replaceChildren(...this.#parts.map(part => part.button));
    }

    /** Shows how sure the model is of each word, which is how sure it is of the least certain token. */
    #showSureness(sentence, score) {
        const index = indexOfBytes(sentence.text);
        const ranges = score.tokens.map(token => rangeOf(index, token));
        for (const { button, start, end } of this.#parts) {
            const own = score.tokens.filter((_, i) => ranges[i][0] < end && ranges[i][1] > start);
            if (own.length) this.#draw(button, Math.exp(Math.min(...own.map(token => token.logprob))));
        }
    }

    /**
     * Draws how sure the model is as a bar below the element (style.css), and describes it in
     * words.
     */
    #draw(element, sureness) {
        const percent = Math.round(sureness * 100);
        element.style.setProperty("--sure", `${percent}%`);
        element.title = this.#words.say("sure", { percent });
        element.setAttribute("aria-description", element.title);
    }

    /** If the focus was in the panel, it returns to the panel's sentence. */
    close() {
        const panel = this.#element("detail");
        if (this.#sentence && panel.contains(document.activeElement)) this.#sentence.element.focus();
        this.#sentence = null;
        panel.hidden = true;
        this.onclose();
    }

    #listAlternatives(sentence, found) {
        const list = this.#element("alternatives");
        const others = found.filter(each => each.text !== sentence.text);
        list.replaceChildren(...others.map(({ text, sureness }) => {
            const item = document.createElement("li");
            const button = document.createElement("button");
            button.type = "button";
            const percent = document.createElement("small");
            percent.textContent = `${Math.round(sureness * 100)} %`;
            percent.setAttribute("aria-hidden", "true");
            this.#draw(button, sureness);
            button.append(text, percent);
            button.addEventListener("click", () => {
                this.onreplace(sentence, text);
                this.open(sentence);
            });
            item.append(button);
            return item;
        }));
        if (!others.length) list.textContent = this.#words.say("no_alternatives");
    }

    async #redraw() {
        const sentence = this.#sentence;
        if (!sentence) return;
        const layer = Number(this.#element("layer").value || 0);
        const head = Number(this.#element("head").value || 0);
        const score = await this.#ask.score(sentence, layer, head).catch(error => error);
        if (this.#sentence !== sentence) return;
        if (score instanceof Error) {
            this.#element("detail-facts").textContent = score.message;
            return;
        }
        const sure = Math.exp(score.logprob / score.tokens.length);
        this.#element("detail-facts").textContent = this.#words.say("sureness", { percent: Math.round(sure * 100) });
        this.#offer("layer", score.layers, "last_layer", layer);
        this.#offer("head", score.heads, "all_heads", head);
        this.#element("heat-choice").hidden = false;
        this.#showSureness(sentence, score);
        drawLinks(this.#element("links"), sentence, score, this.#words.say("attention"));
        drawHeat(this.#element("heat"), sentence, score, this.#words.say("end"));
    }

    #offer(id, count, zeroWord, chosen) {
        const select = this.#element(id);
        if (select.options.length === count + 1) return;
        select.replaceChildren(...Array.from({ length: count + 1 }, (_, i) =>
            new Option(i ? String(i) : this.#words.say(zeroWord), String(i), false, i === chosen)));
    }
}

/**
 * A table with a cell for each pair of tokens: a row for each of the translation, a column for each
 * of the text.
 */
function drawHeat(table, sentence, score, end) {
    const sourceIndex = indexOfBytes(sentence.source);
    const targetIndex = indexOfBytes(sentence.text);
    const columns = score.source_tokens.map(token => label(sentence.source, sourceIndex, token, end));
    const rows = score.tokens.map(token => label(sentence.text, targetIndex, token, end));
    const head = table.ownerDocument.createElement("thead");
    const body = table.ownerDocument.createElement("tbody");
    const top = head.insertRow();
    top.append(cell("td", ""), ...columns.map(text => cell("th", text, "col")));
    rows.forEach((text, t) => {
        const row = body.insertRow();
        row.append(cell("th", text, "row"));
        columns.forEach((column, s) => {
            const weight = score.attention[t][s];
            const square = cell("td", "");
            square.title = `${text} ← ${column}: ${Math.round(weight * 100)} %`;
            square.style.backgroundColor = `rgba(var(--heat), ${weight.toFixed(3)})`;
            row.append(square);
        });
    });
    table.replaceChildren(head, body);
}

/** The label of a token. `whole`: the label of the token at the end, which has no text. */
function label(text, index, token, whole) {
    const [start, end] = rangeOf(index, token);
    return start === end ? whole : text.slice(start, end).trim() || "␣";
}

function cell(kind, text, scope) {
    const element = document.createElement(kind);
    element.textContent = text;
    if (scope) element.scope = scope;
    return element;
}
