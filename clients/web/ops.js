// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The operator's view: draws what GET /v1/admin/live reports each second.
//
//     ops_stream.js   the numbers as they arrive, and whether the server can be reached
//     ops_chart.js    one card with its chart
//     ops_words.js    the page's words

import { Chart } from "./ops_chart.js";
import { OpsStream } from "./ops_stream.js";
import { OPS_WORDS } from "./ops_words.js";
import { Words } from "./words.js";

const $ = id => document.getElementById(id);
const KEY_PLACE = "dragoman.admin-key";
const ROWS = 300;
const LOG_LINES = 64;

// ---- How numbers are written ---------------------------------------------------------------------------------

const words = new Words(OPS_WORDS);
const decimal = (value, digits) => value.toLocaleString(words.language, { maximumFractionDigits: digits });
const whole = value => decimal(Math.round(value), 0);
const few = value => (value >= 100 ? whole(value) : decimal(value, 1));
const ms = value => (value >= 1000 ? `${few(value / 1000)} s` : `${few(value)} ms`);
const percent = value => `${few(value * 100)} %`;
const bytes = value => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
        if (value < 1024 || unit === "GiB") return `${few(value)} ${unit}`;
        value /= 1024;
    }
};
const span = seconds => {
    const parts = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
    const first = Math.max(parts.findIndex(([size]) => seconds >= size), 0);
    return parts.slice(seconds < 1 ? 3 : first).slice(0, 2).map(([size, unit], i, all) =>
        `${Math.floor((i ? seconds % all[i - 1][0] : seconds) / size)} ${words.say(unit)}`).join(" ");
};
const moment = seconds => new Date(seconds * 1000).toLocaleString(words.language, { hour12: false });
const clock = seconds => new Date(seconds * 1000).toLocaleTimeString(words.language, { hour12: false });

// One of the server's names in the reader's language; a name that has no words is shown as it is.
function nameOf(name, prefix = "") {
    return words.has(prefix + name) ? words.say(prefix + name) : name.replaceAll("_", " ");
}

const CHARTS = [
    { title: "queue", columns: ["waiting"], labels: ["waiting_now"], show: whole, least: 10 },
    { title: "wait", columns: ["wait_p50_ms", "wait_p95_ms"], labels: ["half", "most_of"], show: ms, least: 10, peaks: [1] },
    { title: "first_token", columns: ["first_token_p50_ms", "first_token_p95_ms"], labels: ["half", "most_of"], show: ms,
      least: 100, peaks: [1] },
    { title: "speed", columns: ["tokens_out", "tokens_in"], labels: ["written", "read"], show: whole, least: 10 },
    { title: "slots", columns: ["running", "slots"], labels: ["in_use", "there_are"], show: whole, least: 8, peaks: [0] },
    { title: "batches", columns: ["batch_rows", "encode_sentences"], labels: ["rows", "encoded"], show: few, least: 4 },
    { title: "cache", columns: ["cache_hit_ratio"], labels: ["of_sentences"], show: percent, top: 1 },
    { title: "requests", columns: ["requests", "sentences"], labels: ["requests_label", "sentences_label"], show: few, least: 5 },
    { title: "errors", columns: ["server_errors", "client_errors"], labels: ["ours", "theirs"], show: few, least: 1 },
    { title: "connections", columns: ["connections", "websockets"], labels: ["open", "sockets"], show: whole, least: 10 },
    { title: "lag", columns: ["loop_lag_ms"], show: ms, least: 10 },
    { title: "busy_loop", columns: ["loop_busy_ratio"], show: percent, top: 1 },
];

// ---- The data received -----------------------------------------------------------------------------------------

let charts = [];
let index = new Map(); // column name -> its index in a row
let rows = [];
let restarts = []; // indices in `rows` at which a new server process begins
let instance = "";
let version = "", started = 0;
let first = null; // the counts when this page began to watch
let lastLog = 0;
let models = new Map(); // name -> its number of tokens and when they were counted
let isPaused = false;
let isDue = false;
let newest = null; // the last second's data, kept to show it again in another language

// The row for a gap between two server processes: it has no values.
const gap = () => new Array(index.size).fill(null);

function onHistory(data) {
    const isOther = instance && instance !== data.instance;
    index = new Map(data.columns.map((name, i) => [name, i]));
    if (!instance) {
        rows = data.rows;
    } else if (isOther) {
        rows.push(gap());
        restarts.push(rows.length - 1);
        rows.push(...data.rows);
        first = null;
        lastLog = 0;
        models.clear();
        $("log").replaceChildren();
        note("restarted", { clock: clock(data.started) });
    } else {
        rows = data.rows; // the same process: its rows include what this page missed
        restarts = [];
    }
    instance = data.instance;
    ({ version, started } = data);
    trim();
    addLog(data.log);
    due();
}

function onNow(data) {
    newest = data;
    rows.push(data.row);
    trim();
    first ??= { ...data.refusals, ...data.failures };
    addLog(data.log);
    showTables(data);
    due();
}

function trim() {
    const over = rows.length - ROWS;
    if (over <= 0) return;
    rows.splice(0, over);
    restarts = restarts.map(at => at - over).filter(at => at >= 0);
}

// ---- Drawing the page ----------------------------------------------------------------------------------------------

let said = ["connecting", {}]; // kept to say it again in another language

function note(name, values = {}) {
    said = [name, values];
    const text = isPaused && name === "live" ? words.say("paused") : words.say(name, values);
    if ($("state").textContent !== text) $("state").textContent = text;
    $("state").classList.toggle("bad", ["gone", "busy", "stopping", "key_wanted"].includes(name));
}

// Charts are drawn at most once per frame, and not while nobody can see them.
function due() {
    if (isDue || isPaused) return;
    isDue = true;
    requestAnimationFrame(() => {
        isDue = false;
        for (const chart of charts) chart.draw(rows, index, restarts);
    });
}

// The roles are set explicitly: on a phone, rows are shown as blocks (ops.css) and would lose their
// roles.
function cell(text, className = "", name = "td") {
    const node = document.createElement(name);
    node.textContent = text;
    node.className = className;
    if (name === "th") node.scope = "row";
    if (name === "td" || name === "th") node.setAttribute("role", name === "th" ? "rowheader" : "cell");
    return node;
}

// Only cells that differ are replaced, so that text which the reader is reading or has selected
// stays.
function fill(body, lines) {
    const titles = [...body.parentElement.tHead.rows[0].cells].map(title => title.textContent);
    while (body.rows.length > lines.length) body.lastElementChild.remove();
    lines.forEach((cells, i) => {
        const row = body.rows[i] ?? body.insertRow();
        row.setAttribute("role", "row");
        cells.forEach((made, k) => (made.dataset.title = titles[k]));
        if (row.cells.length !== cells.length) row.replaceChildren(...cells);
        else cells.forEach((made, k) => {
            if (!row.cells[k].isEqualNode(made)) row.cells[k].replaceWith(made);
        });
    });
}

function speedOf(model, time) {
    const before = models.get(model.name);
    models.set(model.name, { tokens: model.tokens_out, time });
    return before && time > before.time ? (model.tokens_out - before.tokens) / (time - before.time) : 0;
}

// The model's name, and its languages as the reader's language calls them.
function modelCell({ name, source, target }) {
    const made = cell(name, "", "th");
    if (source && target) {
        const pair = cell(`${words.nameOf(source)} → ${words.nameOf(target)}`, "quiet pair", "span");
        made.append(" ", pair);
    }
    return made;
}

function showModels(data) {
    fill($("models"), (data.models ?? []).map(model => {
        const stands = nameOf(model.state, "state_");
        const state = cell(model.failure ? `${stands}: ${model.failure}` : stands, model.failure ? "bad" : "");
        return [modelCell(model), state, cell(bytes(model.bytes), "number"), cell(whole(model.waiting), "number"),
                cell(whole(model.running), "number"), cell(few(speedOf(model, data.time)), "number")];
    }));
    const memory = data.memory;
    if (!memory) return;
    const of = (value, max) => (max ? words.say("of", { value: bytes(value), max: bytes(max) }) : bytes(value));
    const text = [words.say("memory_text", { models: of(memory.models, memory.models_max),
                                             cache: of(memory.cache, memory.cache_max), texts: bytes(memory.texts),
                                             buffers: of(memory.buffers, memory.buffers_max), bodies: bytes(memory.bodies) })];
    if (memory.waiting_for_model) text.push(words.say("memory_wait", { n: memory.waiting_for_model }));
    $("memory").textContent = text.join(" ");
}

function showRefusals(data) {
    const all = Object.entries({ ...data.refusals, ...data.failures });
    const seen = all.filter(([, count]) => count > 0);
    $("refusals-table").hidden = !seen.length;
    $("refusals-empty").hidden = seen.length > 0;
    fill($("refusals"), seen.map(([name, count]) => [
        cell(nameOf(name === "model" ? "refused_model" : name), "", "th"), cell(whole(count - (first[name] ?? 0)), "number"),
        cell(whole(count), "number")]));
}

function showTables(data) {
    if (isPaused) return;
    showModels(data);
    showRefusals(data);
    $("facts").textContent = words.say("facts", { version, span: span(data.uptime_seconds), since: moment(started) });
}

function addLog(events) {
    for (const event of events) {
        if (event.number <= lastLog) continue;
        lastLog = event.number;
        const item = document.createElement("li");
        const time = document.createElement("time");
        time.dateTime = new Date(event.time * 1000).toISOString();
        time.textContent = moment(event.time);
        const level = cell(nameOf(event.level), event.level === "error" ? "level bad" : "level", "span");
        const text = cell(`${event.module}: ${event.text}`, "", "span");
        text.lang = "en";
        item.append(time, level, text);
        $("log").prepend(item);
    }
    while ($("log").children.length > LOG_LINES) $("log").lastChild.remove();
    $("log-empty").hidden = $("log").children.length > 0;
}

// ---- The stream --------------------------------------------------------------------------------------------------

function onState(state) {
    document.body.classList.toggle("gone", state === "gone" || state === "busy");
    if (state === "live" && said[0] !== "restarted") note("live");
    else if (state === "gone" || state === "busy") note(state);
    else if (state === "key") {
        note("key_wanted");
        if (!$("key-dialog").open) askForKey();
    }
}

function askForKey() {
    $("key-dialog").returnValue = "";
    $("key-dialog").showModal();
}

const stream = new OpsStream("v1/admin/live", () => sessionStorage.getItem(KEY_PLACE) ?? "", {
    onState,
    onEvent(name, data) {
        if (name === "history") onHistory(data);
        else if (name === "now") onNow(data);
        else if (name === "over") note("stopping");
    },
});

$("key-button").addEventListener("click", askForKey);
$("key-dialog").addEventListener("close", () => {
    if ($("key-dialog").returnValue !== "save") return;
    const key = $("key").value.trim();
    if (key) sessionStorage.setItem(KEY_PLACE, key);
    else sessionStorage.removeItem(KEY_PLACE);
    $("key").value = "";
    stream.open();
});
$("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    namePause();
    note(...said);
    due();
});

function namePause() {
    $("pause").textContent = words.say(isPaused ? "go_on" : "pause");
}

/** Shows everything again in the language that the reader chose. */
function speak() {
    words.apply();
    namePause();
    note(...said);
    charts = CHARTS.map(about => new Chart(about, words));
    $("charts").replaceChildren(...charts.map(chart => chart.node));
    if (newest) showTables(newest);
    for (const chart of charts) chart.draw(rows, index, restarts);
}

$("page-language").value = words.language;
$("page-language").addEventListener("change", event => {
    words.choose(event.target.value);
    speak();
});
speak();
stream.open();
