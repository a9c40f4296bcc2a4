// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The two lists of languages: which ones the reader can choose, which one was detected, and which
// other target the reader probably wants if the text is already in the target language. The targets
// that `dragoman get` could add come last.

import { GETTABLE, pairToGet } from "./gettable.js";

export class Pickers {
    #from;
    #to;
    #swap;
    #words;
    #languages = [];
    #detected = "";

    /** The first argument holds the elements: {from, to, swap}. */
    constructor({ from, to, swap }, words) {
        this.#from = from;
        this.#to = to;
        this.#swap = swap;
        this.#words = words;
    }

    get isAuto() {
        return this.#from.value === "auto";
    }

    /** The language of the text, as chosen or detected; "" if it is neither. */
    get source() {
        return this.isAuto ? this.#detected : this.#from.value;
    }

    get target() {
        return this.#to.value;
    }

    /** The argument for `dragoman get` if the target is not installed; otherwise null. */
    get toGet() {
        const target = this.target;
        return target && !this.#targetsOf(this.isAuto ? null : this.#from.value).includes(target) ? this.#pairTo(target) : null;
    }

    /** The choices as options of a request. */
    get options() {
        return this.isAuto ? { target: this.target } : { target: this.target, source: this.#from.value };
    }

    /** Takes the languages as the server lists them. */
    set languages(languages) {
        this.#languages = languages;
        this.list();
    }

    nameOf(code) {
        return this.#words.nameOf(code, this.#languages.find(each => each.code === code)?.name);
    }

    /** Fills both lists, in the page's language; the choices stay. */
    list() {
        const chosen = this.#from.value || "auto";
        const auto = new Option("", "auto");
        this.#from.replaceChildren(auto, ...this.#languages.map(each => new Option(this.nameOf(each.code), each.code)));
        this.#from.value = chosen;
        if (!this.#from.value) this.#from.value = "auto";
        this.showDetected(this.#detected);
    }

    showDetected(code) {
        this.#detected = code ?? "";
        this.#from.options[0].textContent = code
            ? this.#words.say("detected", { name: this.nameOf(code) })
            : this.#words.say("auto");
        this.listTargets();
    }

    listTargets() {
        const before = this.target;
        const codes = this.#targetsOf(this.isAuto ? null : this.#from.value);
        const others = codes.length ? this.#missing(codes) : [];
        const group = document.createElement("optgroup");
        group.label = this.#words.say("not_here_yet");
        group.append(...this.#optionsOf(others));
        this.#to.replaceChildren(...this.#optionsOf(codes), ...(others.length ? [group] : []));
        if (codes.includes(before) || others.includes(before)) this.#to.value = before;
        else if (codes.includes(this.#words.language)) this.#to.value = this.#words.language;
        this.#swap.disabled = !this.#targetsOf(this.target).includes(this.source);
    }

    /**
     * Chooses both languages as far as the lists have them; returns the codes of those that they
     * lack.
     */
    choose(source, target) {
        const missing = [];
        if (source) this.#from.value = source;
        if (!this.#from.value) {
            this.#from.value = "auto";
            missing.push(source);
        }
        this.listTargets();
        const before = this.target;
        if (target) this.#to.value = target;
        if (target && !this.#to.value) {
            this.#to.value = before;
            missing.push(target);
        }
        this.listTargets();
        return missing;
    }

    swap() {
        this.choose(this.target, this.source);
    }

    /**
     * A target for a text in the language `code`: one of the reader's languages if possible,
     * otherwise the first target; undefined if there is none.
     */
    otherThan(code) {
        const codes = this.#targetsOf(code).filter(each => each !== code);
        const readers = [this.#words.language, ...navigator.languages.map(tag => tag.slice(0, 2))];
        return readers.find(each => codes.includes(each)) ?? codes[0];
    }

    #optionsOf(codes) {
        return codes.map(code => new Option(this.nameOf(code), code));
    }

    /** Languages for which a model could be fetched, sorted by name. */
    #missing(codes) {
        const isThere = code => codes.some(each => each === code || each.startsWith(`${code}-`) || code.startsWith(`${each}-`));
        const compare = new Intl.Collator(this.#words.language).compare;
        return GETTABLE.filter(code => !isThere(code) && this.#pairTo(code)).sort((a, b) => compare(this.nameOf(a), this.nameOf(b)));
    }

    /**
     * The pair that translates from the source into `target`; while the source is not known, from
     * English or any other language.
     */
    #pairTo(target) {
        const sources = this.source ? [this.source] : ["en", ...this.#languages.map(each => each.code), ...GETTABLE];
        return sources.map(source => pairToGet(source, target)).find(Boolean) ?? null;
    }

    #targetsOf(source) {
        const from = this.#languages.filter(each => source === null || each.code === source);
        return [...new Set(from.flatMap(each => each.targets))];
    }
}
