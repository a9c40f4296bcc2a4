// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The page's wiring: what the reader does goes to the server, what it says goes to the panes.
//
//     words.js    what the page says          target.js   the pane with the translation
//     detail.js   the panel of one sentence   files.js    whole files
//     history.js  earlier translations        dragoman.js the server (clients/js)

import { Dragoman } from "./dragoman.js";
import { Detail } from "./detail.js";
import { Files } from "./files.js";
import { History } from "./history.js";
import { indexOfBytes } from "./offsets.js";
import { Target, lookedAt } from "./target.js";
import { Words } from "./words.js";

const $ = id => document.getElementById(id);
const KEY_PLACE = "dragoman.key";
const TYPING_MS = 150; // of rest before what was typed is sent; longer texts wait longer
const TYPING_MS_MAX = 800;
const SCORE_BATCH = 50; // sentences of one request for details

const words = new Words();
const server = new Dragoman(document.baseURI, { key: sessionStorage.getItem(KEY_PLACE) ?? "" });
const target = new Target($("target"));
let languages = [];
let live = null;
let strand = null; // the running translation
let strandOptions = ""; // what it was begun with
let told = []; // its sentences, as the server told them
let sentText = "";
let typingTimer = 0;
let historyTimer = 0;

// ---- What the reader is told -------------------------------------------------------------------------

function say(text, isBad = false) {
    $("state").textContent = text;
    $("state").classList.toggle("bad", isBad);
}

function complain(error) {
    say(error.message, true);
    if (error.code.startsWith("key_") && !$("key-dialog").open) $("key-dialog").showModal();
}

// ---- Languages ---------------------------------------------------------------------------------------

function option(value, text) {
    return new Option(text, value);
}

function listSources() {
    const chosen = $("from").value || "auto";
    const known = languages.map(language => option(language.code, words.nameOf(language.code, language.name)));
    $("from").replaceChildren(option("auto", words.say("auto")), ...known);
    $("from").value = chosen;
    if (!$("from").value) $("from").value = "auto";
}

function listTargets() {
    const chosen = $("to").value;
    const from = $("from").value;
    const codes = new Set(languages.filter(each => from === "auto" || each.code === from).flatMap(each => each.targets));
    const nameOf = code => words.nameOf(code, languages.find(each => each.code === code)?.name);
    $("to").replaceChildren(...[...codes].map(code => option(code, nameOf(code))));
    if (codes.has(chosen)) $("to").value = chosen;
    const source = from === "auto" ? detectedSource() : from;
    $("swap").disabled = !languages.find(each => each.code === $("to").value)?.targets.includes(source);
}

function detectedSource() {
    return $("from").options[0]?.dataset.detected ?? "";
}

function showDetected(code) {
    const auto = $("from").options[0];
    auto.dataset.detected = code ?? "";
    auto.textContent = code ? words.say("detected", { name: words.nameOf(code) }) : words.say("auto");
    listTargets();
}

function swap() {
    const from = $("from").value === "auto" ? detectedSource() : $("from").value;
    const text = target.text;
    $("from").value = $("to").value;
    listTargets();
    $("to").value = from;
    $("source").value = text;
    translate();
}

// ---- Translating as one types ------------------------------------------------------------------------

function optionsNow() {
    const options = { target: $("to").value };
    if ($("from").value !== "auto") options.source = $("from").value;
    return options;
}

function typed() {
    const text = $("source").value;
    clearMarks();
    clearTimeout(typingTimer);
    typingTimer = setTimeout(translate, Math.min(TYPING_MS + text.length / 100, TYPING_MS_MAX));
}

function translate() {
    const text = $("source").value;
    const options = optionsNow();
    clearTimeout(historyTimer);
    detail.close();
    if (!text.trim() || !options.target) {
        strand?.cancel();
        strand = null;
        target.clear();
        $("counts").textContent = $("said").textContent = "";
        return;
    }
    if (strand && strandOptions === JSON.stringify(options)) {
        strand.update(text);
    } else {
        strand?.cancel();
        told = [];
        strandOptions = JSON.stringify(options);
        strand = live.translate(text, server.key ? { ...options, api_key: server.key } : options, heard);
    }
    sentText = text;
}

function heard(event, from) {
    if (from !== strand) return;
    if (event.type === "accepted") target.begin();
    else if (event.type === "token") target.append(event.text);
    else if (event.type === "sentence") remember(event);
    else if (event.type === "done") finished(event);
    else if (event.type === "error") failed(event.error);
}

/** Sentences before the first that is told again did not change and keep what was told of them. */
function remember(sentence) {
    told = [...told.filter(each => each.start < sentence.start), sentence];
}

function finished(event) {
    const text = strand.text;
    const bytes = indexOfBytes(text).length - 1;
    told = told.filter(each => each.start + each.length <= bytes);
    target.finish(text, event.text, told);
    if ($("from").value === "auto") showDetected(event.source);
    $("counts").textContent = words.say("counts", { characters: [...text].length, sentences: told.length });
    $("said").textContent = words.say("took", { tokens: event.usage.output_tokens, ms: Math.round(event.timing.total_ms) });
    say(told.some(each => each.finish !== "eos") ? words.say("flagged") : "");
    if ($("shade").checked) explainAll();
    historyTimer = setTimeout(() => history.add({ text, translation: target.text, ...JSON.parse(strandOptions) }), 2000);
}

function failed(error) {
    strand = null;
    target.clear();
    complain(error);
}

function connect() {
    live?.close();
    strand = null;
    live = server.live();
    live.onstate = state => say(state === "lost" ? words.say("lost") : "", state === "lost");
}

// ---- What the model thought --------------------------------------------------------------------------

function pair() {
    const source = $("from").value === "auto" ? detectedSource() : $("from").value;
    return { source, target: $("to").value };
}

async function scoreOf(sentence, layer, head) {
    const answer = await server.score(sentence.source, sentence.text, { ...pair(), tokens: true, attention: { layer, head } });
    const score = { ...answer.scores[0], layers: answer.layers, heads: answer.heads };
    if (!sentence.words && layer === 0 && head === 0) target.explain(sentence, score);
    return score;
}

async function alternativesOf(sentence) {
    const answer = await server.translate(sentence.source, { ...pair(), alternatives: 4, beam: 5, lines: "whole" });
    const item = answer.translations[0];
    return [item.text, ...(item.alternatives ?? [])];
}

async function explainAll() {
    const unknown = target.sentences.filter(sentence => !sentence.words);
    for (let at = 0; at < unknown.length; at += SCORE_BATCH) {
        const batch = unknown.slice(at, at + SCORE_BATCH);
        try {
            const answer = await server.score(batch.map(each => each.source), batch.map(each => each.text),
                                              { ...pair(), tokens: true, attention: true });
            batch.forEach((sentence, i) => target.explain(sentence, answer.scores[i]));
        } catch (error) {
            complain(error);
            return;
        }
    }
}

function clearMarks() {
    $("marks").replaceChildren();
}

/** Marks ranges of the text, on a copy of it that lies behind. */
function markSource(ranges) {
    const text = $("source").value;
    const parts = [];
    let at = 0;
    if (text !== sentText) return;
    for (const [start, end] of ranges.sort((a, b) => a[0] - b[0])) {
        const mark = document.createElement("mark");
        mark.textContent = text.slice(Math.max(at, start), end);
        parts.push(text.slice(at, start), mark);
        at = Math.max(at, end);
    }
    $("marks").replaceChildren(...parts, text.slice(at));
    $("marks").scrollTop = $("source").scrollTop;
}

async function pointed(sentence, word) {
    if (!sentence) return clearMarks();
    markSource(word ? lookedAt(sentence, word) : [[sentence.start, sentence.end]]);
    if (!sentence.words && !sentence.isAsked) {
        sentence.isAsked = true;
        await scoreOf(sentence, 0, 0).catch(() => {}); // pointing at words is all that is lost
    }
}

// ---- Files, links, keys ------------------------------------------------------------------------------

async function translateTexts(texts, options, onProgress) {
    const bytes = new Map();
    let done = [];
    for await (const event of server.stream(texts, options)) {
        if (event.type === "done") done = event.translations;
        if (event.type !== "sentence") continue;
        const index = event.index ?? 0;
        if (!bytes.has(index)) bytes.set(index, new TextEncoder().encode(texts[index]).length || 1);
        onProgress((index + (event.start + event.length) / bytes.get(index)) / texts.length);
    }
    return done;
}

async function copy(text, message) {
    try {
        await navigator.clipboard.writeText(text);
        say(words.say(message));
    } catch (error) {
        say(error.message, true);
    }
}

function share() {
    const link = new URL(document.baseURI);
    link.hash = new URLSearchParams({ from: $("from").value, to: $("to").value, text: $("source").value });
    copy(link.href, "linked");
}

function readLink() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.get("from")) $("from").value = asked.get("from");
    listTargets();
    if (asked.get("to")) $("to").value = asked.get("to");
    if (asked.get("text")) $("source").value = asked.get("text");
}

function keyEntered() {
    if ($("key-dialog").returnValue !== "save") return;
    server.key = $("key").value.trim();
    sessionStorage.setItem(KEY_PLACE, server.key);
    start();
}

// ---- Start -------------------------------------------------------------------------------------------

const detail = new Detail(words, { alternatives: alternativesOf, score: scoreOf });
const history = new History($("history-list"), $("history-clear"), words);
const files = new Files($("file-list"), words, translateTexts);

function speak(language) {
    words.choose(language);
    listSources();
    listTargets();
    history.show();
}

async function start() {
    connect();
    try {
        languages = await server.languages();
    } catch (error) {
        complain(error);
        return;
    }
    say(languages.length ? "" : words.say("no_models"), !languages.length);
    listSources();
    readLink();
    if ($("source").value) translate();
}

words.apply();
$("page-language").value = words.language;
$("page-language").addEventListener("change", event => speak(event.target.value));
$("source").addEventListener("input", typed);
$("source").addEventListener("scroll", () => ($("marks").scrollTop = $("source").scrollTop));
$("from").addEventListener("change", () => { showDetected(""); translate(); });
$("to").addEventListener("change", () => { listTargets(); translate(); });
$("swap").addEventListener("click", swap);
$("clear").addEventListener("click", () => { $("source").value = ""; translate(); $("source").focus(); });
$("copy").addEventListener("click", () => copy(target.text, "copied"));
$("share").addEventListener("click", share);
$("shade").addEventListener("change", event => {
    $("target").classList.toggle("shaded", event.target.checked);
    if (event.target.checked) explainAll();
});
$("file").addEventListener("change", event => {
    $("files").hidden = false;
    for (const file of event.target.files) files.add(file, optionsNow());
    event.target.value = "";
});
$("key-button").addEventListener("click", () => $("key-dialog").showModal());
$("key-dialog").addEventListener("close", keyEntered);
target.onchoose = sentence => { target.mark(sentence); detail.open(sentence); };
target.onpoint = pointed;
detail.onclose = () => target.mark(null);
detail.onreplace = (sentence, text) => target.replace(sentence, text);
history.onchoose = entry => {
    $("from").value = entry.source ?? "auto";
    listTargets();
    $("to").value = entry.target;
    $("source").value = entry.text;
    translate();
};
start();
