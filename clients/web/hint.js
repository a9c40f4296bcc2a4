// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// What the models behind a translation are good for, as their cards say. Of two that a text went through,
// the one that is good for less counts; a card that says nothing makes the page say nothing.

const ORDER = ["gist", "everyday", "most"];

export class Hint {
    #element;
    #words;
    #goodFor = new Map(); // name of a model -> what it is good for
    #shown = "";

    constructor(element, words) {
        this.#element = element;
        this.#words = words;
    }

    /** The models as the server lists them. */
    learn(models) {
        this.#goodFor = new Map(models.map(each => [each.name, each.good_for]));
        this.say();
    }

    /** `model`: as an answer names it, "fr-en" or "fr-en+en-de"; "": nothing was translated. */
    show(model) {
        this.#shown = model;
        this.say();
    }

    /** Says it in the page's language. */
    say() {
        const ranks = this.#shown.split("+").map(name => ORDER.indexOf(this.#goodFor.get(name)));
        const least = ORDER[Math.min(...ranks)];
        this.#element.textContent = least ? this.#words.say(`good_${least}`) : "";
        this.#element.hidden = !least;
    }
}
