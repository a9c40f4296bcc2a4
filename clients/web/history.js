// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Earlier translations. They are kept in this browser's storage and nowhere else; without storage
// there is no history.

const PLACE = "dragoman.history";
const KEPT = 50;

function load() {
    try {
        const entries = JSON.parse(localStorage.getItem(PLACE) ?? "[]");
        return Array.isArray(entries) ? entries : [];
    } catch {
        return [];
    }
}

function save(entries) {
    try {
        localStorage.setItem(PLACE, JSON.stringify(entries.slice(0, KEPT)));
    } catch {
        // storage is off or full: then there is no history
    }
}

export class History {
    #list;
    #words;
    onchoose = () => {};

    constructor(list, clear, words) {
        this.#list = list;
        this.#words = words;
        clear.addEventListener("click", () => {
            save([]);
            this.show();
        });
        this.show();
    }

    /** Remembers a translation. It replaces the newest entry if one text begins with the other. */
    add(entry) {
        const entries = load();
        const newest = entries[0];
        if (newest && (entry.text.startsWith(newest.text) || newest.text.startsWith(entry.text))) entries.shift();
        save([entry, ...entries]);
        this.show();
    }

    /** Draws the list. If the focus was in it, it stays at the same place of the list. */
    show() {
        const buttons = () => [...this.#list.querySelectorAll("button")];
        const at = buttons().indexOf(document.activeElement);
        this.#list.replaceChildren(...load().map((entry, i) => {
            const item = document.createElement("li");
            const choose = document.createElement("button");
            const drop = document.createElement("button");
            choose.type = drop.type = "button";
            choose.textContent = `${entry.text} → ${entry.translation}`;
            choose.addEventListener("click", () => this.onchoose(entry));
            drop.textContent = "×";
            drop.setAttribute("aria-label", this.#words.say("forget_one"));
            drop.addEventListener("click", () => {
                save(load().filter((_, j) => j !== i));
                this.show();
            });
            item.append(choose, drop);
            return item;
        }));
        if (at >= 0) (buttons()[at] ?? buttons().at(-1) ?? this.#list.closest("details").firstElementChild).focus();
    }
}
