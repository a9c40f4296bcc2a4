// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// How the reader wants it said: by a glossary of the server, and formally or not. Each field is shown
// only where the server has something to choose from for the two languages.

const primary = code => code.split("-")[0].toLowerCase();

export class Manner {
    #fields; // {glossary, formality}: the lists, each in a label
    #words;
    #glossaries = [];
    #formal = [];

    constructor(fields, words) {
        this.#fields = fields;
        this.#words = words;
    }

    /** What the server has: glossaries, and the targets whose translations have a choice of manners. */
    learn(glossaries, formal) {
        this.#glossaries = glossaries;
        this.#formal = formal;
    }

    /** Offers what fits the languages; "" for a source that is not known yet. */
    offer(source, target) {
        const fits = each => source && target && primary(each.source) === primary(source) && primary(each.target) === primary(target);
        const found = this.#glossaries.filter(each => fits(each) || each.dictionaries?.some(fits));
        this.#fill("glossary", [["", this.#words.say("no_glossary")], ...found.map(each => [each.id, each.name || each.id])], found.length > 0);
        this.#fill("formality", ["default", "prefer_formal", "prefer_informal"].map(name => [name, this.#words.say(name)]),
                   this.#formal.includes(target));
    }

    /** As a request to the server has it. */
    get options() {
        const { glossary, formality } = this.#fields;
        return { ...(glossary.value && { glossary: glossary.value }),
                 ...(formality.value && formality.value !== "default" && { formality: formality.value }) };
    }

    #fill(name, items, isOffered) {
        const field = this.#fields[name];
        const chosen = field.value;
        field.replaceChildren(...(isOffered ? items : []).map(([value, text]) => new Option(text, value, false, value === chosen)));
        field.parentElement.hidden = !isOffered;
    }
}
