// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Shows in a picture where the words of a translation come from: the translation's words are on the
// left and the text's on the right. The more attention the model paid to a word of the text while
// it wrote a word of the translation, the thicker the line between the two.

import { indexOfBytes, rangeOf } from "./offsets.js";

const ROW = 28; // pixels from one word to the next
const GAP_MIN = 60; // pixels between the columns, where the lines are
const GAP_MAX = 140;
const EDGE = 6; // pixels between a word and its lines
const LEAST = 0.15; // a line with less weight is not drawn

/**
 * Joins tokens to words: {text, tokens: their indices}. Tokens with no space between them are one
 * word.
 */
function wordsOf(text, tokens) {
    const index = indexOfBytes(text);
    const words = [];
    let end = -1;
    tokens.forEach((token, i) => {
        const range = rangeOf(index, token);
        if (range[0] === range[1]) return; // the end of the sentence
        const part = text.slice(...range);
        const last = words.at(-1);
        if (last && range[0] === end && !/^\s/.test(part)) {
            last.text += part;
            last.tokens.push(i);
        } else {
            words.push({ text: part, tokens: [i] });
        }
        end = range[1];
    });
    for (const word of words) word.text = word.text.trim();
    return words.filter(word => word.text);
}

/**
 * The lines: [{from, to, weight}]; `from` and `to` are indices of a word of the translation and of
 * the text.
 */
function linesOf(rows, columns, attention) {
    return rows.flatMap((row, from) => columns.map((column, to) => {
        const weight = row.tokens.reduce((sum, t) => sum + column.tokens.reduce((of, s) => of + attention[t][s], 0), 0);
        return { from, to, weight: weight / row.tokens.length };
    })).filter(line => line.weight >= LEAST);
}

function shape(name, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
}

/**
 * Draws the picture into `place`, as wide as fits there. `label`: what a screen reader says about
 * the picture before it reads the pairs of words.
 */
export function drawLinks(place, sentence, score, label) {
    const rows = wordsOf(sentence.text, score.tokens);
    const columns = wordsOf(sentence.source, score.source_tokens);
    const lines = linesOf(rows, columns, score.attention);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = getComputedStyle(place).font;
    const [left, right] = [rows, columns].map(words => Math.ceil(Math.max(...words.map(word => pen.measureText(word.text).width), 1)) + 2);
    const gap = Math.min(Math.max(place.clientWidth - left - right, GAP_MIN), GAP_MAX);
    const width = left + gap + right;
    const height = ROW * Math.max(rows.length, columns.length, 1);
    const middle = i => ROW * (i + 0.5);
    const told = lines.map(({ from, to }) => `${rows[from].text} ← ${columns[to].text}`).join(", ");
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${label}: ${told}` });
    for (const { from, to, weight } of lines) {
        const [x, y, u, v] = [left + EDGE, middle(from), left + gap - EDGE, middle(to)];
        picture.append(shape("path", { d: `M${x} ${y}C${x + gap / 2} ${y} ${u - gap / 2} ${v} ${u} ${v}`,
                                       "stroke-width": (1 + 5 * weight).toFixed(1) }));
    }
    rows.forEach((word, i) => picture.append(shape("text", { x: left, y: middle(i), "text-anchor": "end" }, word.text)));
    columns.forEach((word, i) => picture.append(shape("text", { x: left + gap, y: middle(i) }, word.text)));
    place.replaceChildren(picture);
}
