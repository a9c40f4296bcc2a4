// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// One card: a title, the current value, and a line for each of up to two columns over the last
// minutes.
//
//     const chart = new Chart({ title: "queue", columns: ["waiting"], show: value => `${value}` }, words);
//     section.append(chart.node);
//     chart.draw(rows, index);       rows: arrays of numbers and null, oldest first;
//                                    index: column name -> its index in a row
//
// The picture is hidden from screen readers; the values and the sentence below it say the same in
// words.

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 300, HEIGHT = 60;
const WINDOWS = [60, 180, 300]; // seconds across; the smallest that holds all rows is used

function svg(name, attributes = {}) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
}

function html(name, className, text = "") {
    const node = document.createElement(name);
    node.className = className;
    node.textContent = text;
    return node;
}

// Rounds up to 1, 2 or 5 times a power of ten.
function roundUp(value, least) {
    const wanted = Math.max(value, least);
    const power = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].map(step => step * power).find(step => step >= wanted * 0.9999);
}

export class Chart {
    #about; #words; #lines; #area; #restart; #value; #note; #shown = "";

    // about: title and labels (names of words), columns, show(value), least (the lowest value that
    // the top of the scale may have), top (a fixed top of the scale), peaks (indices of the columns
    // whose highest values are mentioned; by default all of them)
    constructor(about, words) {
        this.#about = about;
        this.#words = words;
        this.node = html("article", "card chart");
        const title = html("h2", "", words.say(about.title));
        title.id = `chart-${about.columns[0]}`;
        this.node.setAttribute("aria-labelledby", title.id);
        this.#value = html("div", "value");
        const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
        this.#area = svg("path", { class: "area" });
        this.#restart = svg("path", { class: "restart" });
        this.#lines = about.columns.map((_, i) => svg("path", { class: i ? "line second" : "line" }));
        picture.append(svg("path", { class: "base", d: `M0 ${HEIGHT - 0.5}H${WIDTH}` }), this.#area, ...this.#lines, this.#restart);
        this.#note = html("p", "note");
        this.node.append(title, this.#value, picture, this.#note);
    }

    draw(rows, index, restarts) {
        const places = this.#about.columns.map(name => index.get(name));
        const across = WINDOWS.find(seconds => rows.length <= seconds) ?? rows.length;
        const x = i => ((across - rows.length + i) * WIDTH / across).toFixed(1);
        const highest = places.map(place => rows.reduce((most, row) => Math.max(most, row[place] ?? 0), 0));
        const top = this.#about.top ?? roundUp(Math.max(...highest), this.#about.least ?? 1);
        const y = value => (HEIGHT - 1 - Math.min(value / top, 1) * (HEIGHT - 4)).toFixed(1);
        places.forEach((place, i) => this.#lines[i].setAttribute("d", Chart.#path(rows, place, x, y)));
        this.#area.setAttribute("d", Chart.#filled(rows, places[0], x, y));
        this.#restart.setAttribute("d", restarts.map(at => `M${x(at)} 0V${HEIGHT}`).join(""));
        this.#sayNow(places.map(place => rows.at(-1)?.[place] ?? null));
        this.#sayHighest(highest, Math.ceil(across / 60));
    }

    // A value that is missing leaves a gap; a single point between gaps is drawn as a short stroke.
    static #path(rows, place, x, y) {
        let path = "", isOpen = false;
        rows.forEach((row, i) => {
            const value = row[place];
            if (value == null) isOpen = false;
            else path += isOpen ? `L${x(i)} ${y(value)}` : `M${x(i - 0.5)} ${y(value)}L${x(i)} ${y(value)}`;
            isOpen = value != null;
        });
        return path;
    }

    static #filled(rows, place, x, y) {
        if (!rows.length) return "";
        const points = rows.map((row, i) => `L${x(i)} ${y(row[place] ?? 0)}`).join("");
        return `M${x(0)} ${HEIGHT - 1}${points}V${HEIGHT - 1}Z`;
    }

    // Shows each current value on a line of its own, with its label.
    #sayNow(values) {
        const { show, labels = [] } = this.#about;
        const texts = values.every(value => value == null) ? [[this.#words.say("nothing_now"), "", false]]
            : values.map((value, i) => [value == null ? this.#words.say("no_value") : show(value), labels[i], values.length > 1]);
        if (JSON.stringify(texts) === this.#shown) return;
        this.#shown = JSON.stringify(texts);
        this.#value.replaceChildren(...texts.map(([text, label, hasLine], i) => {
            const figure = html("p", "figure");
            if (hasLine) figure.append(html("span", i ? "swatch second" : "swatch"), " ");
            figure.append(text);
            if (label) figure.append(" ", html("small", "", this.#words.say(label)));
            return figure;
        }));
    }

    #sayHighest(highest, minutes) {
        const { show, labels = [], peaks = highest.map((_, i) => i) } = this.#about;
        const said = peaks.filter(i => highest[i] > 0)
            .map(i => (labels[i] ? `${show(highest[i])} (${this.#words.say(labels[i])})` : show(highest[i])));
        const text = this.#words.say(said.length ? "highest" : "nothing", { value: said.join(", "), minutes });
        if (this.#note.textContent !== text) this.#note.textContent = text;
    }
}
