// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Says what the models that made a translation are good for, according to their model cards. If a
// text went through two models, the weaker one counts. If a card does not say it, the page does not
// either.

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

    /** Takes the models as the server lists them. */
    learn(models) {
        this.#goodFor = new Map(models.map(each => [each.name, each.good_for]));
        this.say();
    }

    /** `model`: as an answer names it, "fr-en" or "fr-en+en-de"; "" if nothing was translated. */
    show(model) {
        this.#shown = model;
        this.say();
    }

    /** Shows the hint in the page's language. */
    say() {
        const ranks = this.#shown.split("+").map(name => ORDER.indexOf(this.#goodFor.get(name)));
        const least = ORDER[Math.min(...ranks)];
        this.#element.textContent = least ? this.#words.say(`good_${least}`) : "";
        this.#element.hidden = !least;
    }
}
