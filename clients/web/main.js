// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Connects the parts of the page: sends what the reader does to the server, and the server's
// answers to the panes.
//
//     words.js    the page's words            target.js   the pane with the translation
//     detail.js   panel about one sentence    files.js    whole files
//     history.js  earlier translations        dragoman.js client of the server (clients/js)
//     pickers.js  the two languages           tab.js      drafts, links and the clipboard
//     manner.js   glossary and formality      links.js    where words come from, as a picture
//     code.js     the request as a program    speech.js   the translation read aloud
//     hint.js     how good the models are     gettable.js languages `dragoman get` could add

import { Dragoman } from "./dragoman.js";
import { Code } from "./code.js";
import { Detail } from "./detail.js";
import { Files } from "./files.js";
import { pairToGet } from "./gettable.js";
import { Hint } from "./hint.js";
import { History } from "./history.js";
import { Manner } from "./manner.js";
import { indexOfBytes } from "./offsets.js";
import { Pickers } from "./pickers.js";
import { Speech } from "./speech.js";
import { copyText, keepDraft, keptDraft, linkTo, takeLink } from "./tab.js";
import { DOUBTS, Target, lookedAt } from "./target.js";
import { Words } from "./words.js";

const $ = id => document.getElementById(id);
const KEY_PLACE = "dragoman.key";
const TYPING_MS = 150; // without typing before the text is sent; more for longer texts
const TYPING_MS_MAX = 800;
const LOOK_UP_MS = 800; // after which the panel opens for a single word, like a dictionary
const DETECT_CHARACTERS = 1000; // are enough to recognise a language
const SCORE_BATCH = 50; // sentences in one request for details
const MESSAGE_BYTES_MAX = 2 << 20; // the most that one message on the WebSocket may hold

const words = new Words();
const server = new Dragoman(document.baseURI, { key: sessionStorage.getItem(KEY_PLACE) ?? "" });
const target = new Target($("target"));
const pickers = new Pickers({ from: $("from"), to: $("to"), swap: $("swap") }, words);
const hint = new Hint($("hint"), words);
const manner = new Manner({ glossary: $("glossary"), formality: $("formality") }, words);
let limits = { body_bytes: MESSAGE_BYTES_MAX }; // until the server has stated its own
let notice = null; // [name, values] of the words shown until the reader types again
let isKeyDeclined = false;
let cleared = ""; // the text that the button Clear removed
let sentences = null; // the latest number of sentences
let live = null;
let strand = null; // the running translation
let strandOptions = ""; // the options with which it began
let told = []; // its sentences, as the server sent them
let sentText = "";
let typingTimer = 0;
let historyTimer = 0;
let lookUpTimer = 0;

// ---- Messages to the reader --------------------------------------------------------------------------

function say(text, isBad = false) {
    $("state").textContent = text;
    $("state").classList.toggle("bad", isBad);
}

/** Shows a notice until the reader types again; `name` is the name of its words in words.js. */
function note(name, values = {}) {
    notice = name ? [name, values] : null;
    sayNotice();
}

function sayNotice() {
    if (!notice) return say("");
    const [name, { code, pair, ...values }] = notice;
    const text = words.say(name, code ? { name: pickers.nameOf(code), ...values } : values);
    say(pair ? `${text} ${words.say("get", { pair })}` : text, name !== "turned");
}

function complain(error) {
    if (!error.code?.startsWith("key_")) {
        say(error.message, true);
        return;
    }
    note(server.key ? "key_wrong" : "key_wanted");
    if (!isKeyDeclined && !$("key-dialog").open) askForKey();
}

function showCounts() {
    const text = $("source").value;
    const characters = [...text].length;
    const most = limits.characters;
    const said = [words.say(most ? "counts_of" : "counts", { characters, most })];
    if (sentences !== null) said.push(words.say("sentences", { sentences }));
    $("counts").textContent = text || most ? said.join(", ") : "";
    $("clear").disabled = !text && !cleared;
    $("counts").classList.toggle("bad", Boolean(most) && characters > most);
}

/** Whether the server would accept a text of this length; if not, says why. */
function fits(text) {
    const over = limits.characters ? [...text].length - limits.characters : 0;
    const bytes_max = Math.min(limits.body_bytes, MESSAGE_BYTES_MAX);
    const isTooLarge = text.length * 3 > bytes_max / 2 && new TextEncoder().encode(JSON.stringify(text)).length > bytes_max - 4096;
    if (over > 0) note("too_long", { over });
    else if (isTooLarge) note("too_large");
    return over <= 0 && !isTooLarge;
}

// ---- Translating as one types ------------------------------------------------------------------------

function write(text) {
    $("source").value = text;
    sentences = null;
    note(null);
    showCounts();
    translate();
}

function typed() {
    const text = $("source").value;
    cleared = "";
    sentences = null;
    note(null);
    nameClear();
    showCounts();
    clearMarks();
    keep();
    clearTimeout(typingTimer);
    typingTimer = setTimeout(translate, Math.min(TYPING_MS + text.length / 100, TYPING_MS_MAX));
}

function keep() {
    keepDraft({ source: $("from").value, target: $("to").value, text: $("source").value });
}

/** Clears the text; the same button then brings the text back. */
function clear() {
    const text = cleared;
    cleared = text ? "" : $("source").value;
    nameClear();
    write(text);
    $("source").focus();
}

function nameClear() {
    $("clear").textContent = words.say(cleared ? "undo" : "clear");
}

function stop() {
    strand?.cancel();
    strand = null;
    target.rest();
}

/** The options of a request: everything but the text. */
function wishes() {
    return { ...pickers.options, ...manner.options };
}

function translate() {
    const text = $("source").value;
    manner.offer(pickers.source, pickers.target);
    const options = wishes();
    clearTimeout(typingTimer);
    clearTimeout(historyTimer);
    clearTimeout(lookUpTimer);
    detail.close();
    keep();
    if (!text.trim() || !options.target || pickers.toGet) {
        stop();
        target.clear();
        hint.show("");
        $("legend").hidden = true;
        $("said").textContent = "";
        showCounts();
        if (pickers.toGet) sayNotInstalled(text);
        else if (!options.target) sayNoModels(text);
        return;
    }
    if (!fits(text)) return stop();
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

/**
 * There are no models at all: names the command that fetches one for translating the text into the
 * reader's language.
 */
async function sayNoModels(text) {
    const say = source => note("no_models", { pair: pairToGet(source, words.language) ?? pairToGet("de", "en") });
    say("en");
    const found = text.trim() && (await server.detect(text.slice(0, DETECT_CHARACTERS)).catch(() => null))?.detections[0]?.language;
    if (found && !pickers.target && text === $("source").value) say(found);
}

/**
 * Names the command that fetches a model for the chosen target. If the reader has not chosen a
 * source language, it is detected from the text.
 */
async function sayNotInstalled(text) {
    const say = () => note("not_installed", { code: pickers.target, pair: pickers.toGet });
    say();
    if (!pickers.isAuto || !text.trim()) return;
    const found = (await server.detect(text.slice(0, DETECT_CHARACTERS)).catch(() => null))?.detections[0]?.language;
    if (!found || !pickers.isAuto || text !== $("source").value) return;
    pickers.showDetected(found);
    if (pickers.toGet) say();
    else translate();
}

function heard(event, from) {
    if (from !== strand) return;
    if (event.type === "accepted") target.begin();
    else if (event.type === "token") target.append(event.text);
    else if (event.type === "sentence") remember(event);
    else if (event.type === "done") finished(event);
    else if (event.type === "error") failed(event.error);
}

/** Sentences before the first one that the server sends again have not changed and are kept. */
function remember(sentence) {
    told = [...told.filter(each => each.start < sentence.start), sentence];
}

function finished(event) {
    const text = strand.text;
    const bytes = indexOfBytes(text).length - 1;
    told = told.filter(each => each.start + each.length <= bytes);
    target.finish(text, event.text, told);
    if (pickers.isAuto) pickers.showDetected(event.source);
    manner.offer(pickers.source, pickers.target);
    if (pickers.isAuto && event.source === pickers.target && turn(event.source)) return;
    if (strandOptions !== JSON.stringify(wishes())) return translate(); // the glossary is for another language
    sentences = told.length || null;
    showCounts();
    $("said").textContent = told.length ? words.say("took", { ms: Math.max(Math.round(event.timing.total_ms), 1) }) : "";
    speech.offer(pickers.target);
    hint.show(event.warning ? "" : event.model ?? "");
    if (/^\s*[^\s.,:;!?]+\s*$/.test(text) && target.sentences.length === 1)
        lookUpTimer = setTimeout(() => detail.open(target.sentences[0], { isQuiet: true }), LOOK_UP_MS);
    if (event.warning) note("not_read", { code: event.source, pair: pairToGet(event.source, pickers.target) });
    else if (told.some(each => each.finish !== "eos")) note("flagged");
    explainAll();
    historyTimer = setTimeout(() => history.add({ text, translation: target.text, ...JSON.parse(strandOptions) }), 2000);
}

/**
 * The text is already in the target language: translates it into another one that the reader knows.
 */
function turn(source) {
    const other = pickers.otherThan(source);
    if (!other) return false;
    pickers.choose("auto", other);
    translate();
    note("turned", { code: source, target: pickers.nameOf(other) });
    return true;
}

function failed(error) {
    strand = null;
    target.rest();
    complain(error);
}

function connect() {
    live?.close();
    strand = null;
    live = server.live();
    live.onstate = state => (state === "lost" ? say(words.say("lost"), true) : sayNotice());
}

// ---- The model's confidence --------------------------------------------------------------------------

function pair() {
    return { source: pickers.source, target: pickers.target };
}

async function scoreOf(sentence, layer, head) {
    const answer = await server.score(sentence.source, sentence.text, { ...pair(), tokens: true, attention: { layer, head } });
    const score = { ...answer.scores[0], layers: answer.layers, heads: answer.heads };
    if (!sentence.words && layer === 0 && head === 0) target.explain(sentence, score);
    return score;
}

/**
 * Other wordings, each with how sure the model is of it, the surest first. The words before `from`
 * are kept.
 */
async function alternativesOf(sentence, from) {
    const prefix = sentence.text.slice(0, from).trimEnd();
    const options = { ...pair(), ...manner.options, alternatives: 4, beam: 5, lines: "whole", ...(prefix && { prefix }) };
    const item = (await server.translate(sentence.source, options)).translations[0];
    const texts = [...new Set([item.text, ...(item.alternatives ?? [])])];
    const { scores } = await server.score(texts.map(() => sentence.source), texts, { ...pair(), tokens: true });
    return texts.map((text, i) => ({ text, sureness: Math.exp(scores[i].logprob / Math.max(scores[i].tokens.length, 1)) }))
        .sort((a, b) => b.sureness - a.sureness);
}

/** Shades the words of which the model was not sure, and explains the shades. */
async function explainAll() {
    if (!$("shade").checked || !target.sentences.length) return sayLegend();
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
    sayLegend();
}

function sayLegend() {
    const isDoubted = target.sentences.some(sentence => sentence.words?.some(word => word.element.className !== "word"));
    const shades = DOUBTS.map((limit, i) => {
        const shade = document.createElement("span");
        shade.className = `word doubt-${i + 1}`;
        shade.textContent = words.say("under", { percent: limit * 100 });
        return shade;
    });
    $("legend").hidden = !$("shade").checked || !target.sentences.some(sentence => sentence.words);
    const parts = isDoubted ? [words.say("legend"), ...shades] : [words.say("no_doubts", { percent: DOUBTS[0] * 100 })];
    if ($("legend").textContent !== parts.map(part => part.textContent ?? part).join("")) $("legend").replaceChildren(...parts);
}

function clearMarks() {
    $("marks").replaceChildren();
}

/** Marks ranges of the text, in a copy of it that is drawn behind it. */
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
        await scoreOf(sentence, 0, 0).catch(() => {}); // then words cannot be pointed at
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

/**
 * Translates a file as a document, whose progress the server reports. If the server keeps no jobs,
 * LibreTranslate's route for files is used; the URL in its answer has the host name with which the
 * page was requested.
 */
async function translateFile(file, { source, target, signal, ...options }, onProgress) {
    if (limits.document_jobs) {
        const languages = source ? { source, target } : { target };
        const made = await server.translateDocument(file, { ...languages, ...options, signal, onprogress: onProgress });
        return made.blob;
    }
    const form = new FormData();
    const fields = { file, source: source ?? "auto", target, ...(server.key && { api_key: server.key }) };
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const answer = await fetch(new URL("translate_file", document.baseURI), { method: "POST", body: form, signal });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error?.message ?? told.error);
    const made = await fetch(new URL(told.translatedFileUrl).pathname, { signal });
    if (!made.ok) throw new Error(made.statusText);
    return made.blob();
}

async function copy(text, message) {
    const isCopied = await copyText(text);
    say(words.say(isCopied ? message : "not_copied"), !isCopied);
}

function share() {
    copy(linkTo({ source: $("from").value, target: $("to").value, text: $("source").value }), "linked");
}

/** Restores what the address asks for, or else what this tab held before it was reloaded. */
function restore(isNew) {
    const asked = takeLink() ?? (isNew ? keptDraft() : null);
    if (!asked) return;
    const missing = pickers.choose(asked.source, asked.target);
    if (isNew && $("source").value && !asked.text) return translate(); // typed before the languages arrived
    write(asked.text);
    if (missing.length) note("not_here", { names: missing.map(code => pickers.nameOf(code)).join(", ") });
}

function addFiles(list) {
    if (!list.length) return;
    $("files").hidden = false;
    for (const file of list) files.add(file, wishes(), limits);
    $("files").scrollIntoView({ block: "nearest" });
}

function dropped(event) {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", event.type === "dragover");
    if (event.type === "drop") addFiles(event.dataTransfer.files);
}

function askForKey() {
    $("key-dialog").returnValue = "";
    $("key-dialog").showModal();
}

function keyEntered() {
    isKeyDeclined = $("key-dialog").returnValue !== "save";
    if (isKeyDeclined) return;
    server.key = $("key").value.trim();
    sessionStorage.setItem(KEY_PLACE, server.key);
    start();
}

// ---- Start -------------------------------------------------------------------------------------------

const detail = new Detail(words, { alternatives: alternativesOf, score: scoreOf });
const history = new History($("history-list"), $("history-clear"), words);
const code = new Code(() => ({ body: { text: $("source").value, ...wishes() }, hasKey: Boolean(server.key) }));
const speech = new Speech($("listen"), () => ({ text: target.text, language: pickers.target }));
const files = new Files($("file-list"), words, translateTexts, translateFile);

function speak(language) {
    words.choose(language);
    pickers.list();
    manner.offer(pickers.source, pickers.target);
    nameClear();
    showCounts();
    sayNotice();
    hint.say();
    sayLegend();
    history.show();
}

async function start() {
    connect();
    try {
        const [known, glossaries, models] = await Promise.all([
            server.about(), server.glossaries().catch(() => []), server.models().catch(() => [])]);
        pickers.languages = known.languages;
        hint.learn(models);
        limits = known.limits;
        if (limits.document_bytes)
            $("file").parentElement.title = words.say("file_too_large", { size: words.size(limits.document_bytes) });
        manner.learn(glossaries, known.formality);
    } catch (error) {
        complain(error);
        return;
    }
    setInterval(lookAgain, LOOK_AGAIN_MS);
    addEventListener("focus", lookAgain);
    if (pickers.target) note(null);
    else sayNoModels("");
    showCounts();
    restore(true);
    if ($("source").value && !strand) translate();
}

// Models may be added and removed while the page is open: its lists are kept up to date.
const LOOK_AGAIN_MS = 15000;
let known = "";

async function lookAgain() {
    const isChoosing = [$("from"), $("to")].includes(document.activeElement);
    const { toGet, target: before } = pickers;
    if (document.hidden || (isChoosing && !toGet)) return;
    try {
        const languages = await server.languages();
        if (JSON.stringify(languages) === known) return;
        known = JSON.stringify(languages);
        pickers.languages = languages;
        hint.learn(await server.models());
    } catch {
        return; // the next request will report the failure
    }
    if (pickers.toGet === toGet && pickers.target === before) return;
    note(null); // the model that the reader waited for was added, or the chosen one was removed
    translate();
}

words.apply();
$("page-language").value = words.language;
$("page-language").addEventListener("change", event => speak(event.target.value));
$("source").addEventListener("input", typed);
$("source").addEventListener("scroll", () => ($("marks").scrollTop = $("source").scrollTop));
$("from").addEventListener("change", () => { note(null); pickers.showDetected(""); translate(); });
$("to").addEventListener("change", () => { note(null); pickers.listTargets(); translate(); });
for (const id of ["glossary", "formality"]) $(id).addEventListener("change", () => { note(null); translate(); });
$("swap").addEventListener("click", () => { pickers.swap(); write(target.text); });
$("clear").addEventListener("click", clear);
$("copy").addEventListener("click", () => copy(target.text, "copied"));
$("share").addEventListener("click", share);
$("code-copy").addEventListener("click", () => copy(code.text, "copied"));
$("shade").addEventListener("change", event => {
    $("target").classList.toggle("shaded", event.target.checked);
    explainAll();
});
$("file").addEventListener("change", event => {
    addFiles([...event.target.files]);
    event.target.value = "";
});
for (const type of ["dragover", "dragleave", "drop"]) document.addEventListener(type, dropped);
addEventListener("hashchange", () => restore(false));
$("key-button").addEventListener("click", askForKey);
$("key-dialog").addEventListener("close", keyEntered);
target.onchoose = (sentence, word) => { target.mark(sentence); detail.open(sentence, { from: word?.start }); };
target.onpoint = pointed;
detail.onclose = () => target.mark(null);
detail.onreplace = (sentence, text) => { target.replace(sentence, text); explainAll(); };
history.onchoose = entry => {
    pickers.choose(entry.source ?? "auto", entry.target);
    write(entry.text);
    $("source").focus();
};
start();
