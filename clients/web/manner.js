// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// How the reader wants the text translated: with which of the server's glossaries, and whether
// formally. Each field is shown only if the server has a choice for the two languages.

const primary = code => code.split("-")[0].toLowerCase();

export class Manner {
    #fields; // {glossary, formality}: the <select> elements, each in a label
    #words;
    #glossaries = [];
    #formal = [];

    constructor(fields, words) {
        this.#fields = fields;
        this.#words = words;
    }

    /**
     * Takes what the server has: its glossaries, and the targets for which it has a choice of
     * formality.
     */
    learn(glossaries, formal) {
        this.#glossaries = glossaries;
        this.#formal = formal;
    }

    /** Offers what fits the two languages; `source` is "" if it is not known yet. */
    offer(source, target) {
        const fits = each => source && target && primary(each.source) === primary(source) && primary(each.target) === primary(target);
        const found = this.#glossaries.filter(each => fits(each) || each.dictionaries?.some(fits));
        this.#fill("glossary", [["", this.#words.say("no_glossary")], ...found.map(each => [each.id, each.name || each.id])], found.length > 0);
        this.#fill("formality", ["default", "prefer_formal", "prefer_informal"].map(name => [name, this.#words.say(name)]),
                   this.#formal.includes(target));
    }

    /** The choices as options of a request. */
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
