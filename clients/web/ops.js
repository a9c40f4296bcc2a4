// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The operator's view: what GET /v1/admin/live says each second, drawn.
//
//     ops_stream.js   the numbers as they come, and whether the server is there
//     ops_chart.js    one card with its picture

import { Chart } from "./ops_chart.js";
import { OpsStream } from "./ops_stream.js";

const $ = id => document.getElementById(id);
const KEY_PLACE = "dragoman.admin-key";
const ROWS = 300;
const LOG_LINES = 64;

// ---- How numbers are written ---------------------------------------------------------------------------------

const whole = value => Math.round(value).toLocaleString("en");
const few = value => (value >= 100 ? whole(value) : value.toLocaleString("en", { maximumFractionDigits: 1 }));
const ms = value => (value >= 1000 ? `${few(value / 1000)} s` : `${few(value)} ms`);
const percent = value => `${few(value * 100)} %`;
const bytes = value => {
    for (const unit of ["B", "KiB", "MiB", "GiB"]) {
        if (value < 1024 || unit === "GiB") return `${few(value)} ${unit}`;
        value /= 1024;
    }
};
const span = seconds => {
    const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const first = parts.findIndex(([size]) => seconds >= size);
    if (first < 0) return "0 s";
    return parts.slice(first, first + 2).map(([size, unit], i, all) =>
        `${Math.floor((i ? seconds % all[i - 1][0] : seconds) / size)} ${unit}`).join(" ");
};
const clock = seconds => new Date(seconds * 1000).toLocaleTimeString(undefined, { hour12: false });
const sayReason = name => name.replaceAll("_", " ");

const CHARTS = [
    { title: "Queue", columns: ["waiting"], show: whole, least: 10, now: ([n]) => `${n == null ? "–" : whole(n)} waiting` },
    { title: "Time in the queue", columns: ["wait_p50_ms", "wait_p95_ms"], labels: ["half", "95 %"], show: ms, least: 10 },
    { title: "Time to the first token", columns: ["first_token_p50_ms", "first_token_p95_ms"], labels: ["half", "95 %"],
      show: ms, least: 100 },
    { title: "Tokens per second", columns: ["tokens_out", "tokens_in"], labels: ["written", "read"], show: whole, least: 10 },
    { title: "Slots in use", columns: ["running", "slots"], labels: ["in use", "there are"], show: whole, least: 8,
      now: ([used, all]) => `${whole(used ?? 0)} of ${whole(all ?? 0)}` },
    { title: "Batches", columns: ["batch_rows", "encode_sentences"], labels: ["rows of a step", "encoded at once"],
      show: few, least: 4, note: "no padding" },
    { title: "Cache hits", columns: ["cache_hit_ratio"], show: percent, top: 1 },
    { title: "Requests per second", columns: ["requests", "sentences"], labels: ["requests", "sentences"], show: few, least: 5 },
    { title: "Errors per second", columns: ["server_errors", "client_errors"], labels: ["ours (5xx)", "theirs (4xx)"],
      show: few, least: 1 },
    { title: "Connections", columns: ["connections", "websockets"], labels: ["open", "WebSockets"], show: whole, least: 10 },
    { title: "Event loop", columns: ["loop_lag_ms"], show: ms, least: 10, note: "how late it rang the second" },
    { title: "Event loop busy", columns: ["loop_busy_ratio"], show: percent, top: 1 },
];

// ---- What is known ---------------------------------------------------------------------------------------------

const charts = CHARTS.map(about => new Chart(about));
let index = new Map(); // column name -> place in a row
let rows = [];
let restarts = []; // places in rows where another process begins
let instance = "";
let version = "", started = 0;
let first = null; // counts when we began to look
let lastLog = 0;
let models = new Map(); // name -> its tokens and when they were counted
let isPaused = false;
let isDue = false;

// A second without a word from the server is a gap.
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
        say(`The server was started anew at ${clock(data.started)}.`);
    } else {
        rows = data.rows; // the same process: it knows what we missed
        restarts = [];
    }
    instance = data.instance;
    ({ version, started } = data);
    trim();
    addLog(data.log);
    due();
}

function onNow(data) {
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

// ---- What is shown -------------------------------------------------------------------------------------------------

function say(text, isBad = false) {
    if ($("state").textContent !== text) $("state").textContent = text;
    $("state").classList.toggle("bad", isBad);
}

// Charts are drawn once a frame at most, and not while nobody sees them.
function due() {
    if (isDue || isPaused) return;
    isDue = true;
    requestAnimationFrame(() => {
        isDue = false;
        for (const chart of charts) chart.draw(rows, index, restarts);
    });
}

function cell(text, className = "", name = "td") {
    const node = document.createElement(name);
    node.textContent = text;
    node.className = className;
    if (name === "th") node.scope = "row";
    return node;
}

// Rows are changed where they differ only: what somebody reads or selects stays.
function fill(body, lines) {
    while (body.rows.length > lines.length) body.lastChild.remove();
    lines.forEach((cells, i) => {
        const row = body.rows[i] ?? body.insertRow();
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

function showModels(data) {
    fill($("models"), (data.models ?? []).map(model => {
        const state = cell(model.failure ? `${model.state}: ${model.failure}` : model.state, model.failure ? "bad" : "");
        return [cell(`${model.name}`, "", "th"), state, cell(bytes(model.bytes), "number"), cell(whole(model.waiting), "number"),
                cell(whole(model.running), "number"), cell(few(speedOf(model, data.time)), "number")];
    }));
    const memory = data.memory;
    if (!memory) return;
    const of = max => (max ? ` of ${bytes(max)}` : "");
    const waiting = memory.waiting_for_model ? `, ${whole(memory.waiting_for_model)} requests wait for a model` : "";
    $("memory").textContent = `Models ${bytes(memory.models)}${of(memory.models_max)}, cache ${bytes(memory.cache)}${of(memory.cache_max)}, ` +
        `texts ${bytes(memory.texts)}${waiting}.`;
}

function showRefusals(data) {
    const all = Object.entries({ ...data.refusals, ...data.failures });
    const seen = all.filter(([, count]) => count > 0);
    fill($("refusals"), seen.length
        ? seen.map(([name, count]) => [cell(sayReason(name), "", "th"), cell(whole(count - (first[name] ?? 0)), "number"),
                                       cell(whole(count), "number")])
        : [[cell("none", "quiet"), cell("", "number"), cell("", "number")]]);
}

function showTables(data) {
    if (isPaused) return;
    showModels(data);
    showRefusals(data);
    $("facts").textContent = `${version}, up ${span(data.uptime_seconds)} since ${new Date(started * 1000).toLocaleString()}`;
}

function addLog(events) {
    for (const event of events) {
        if (event.number <= lastLog) continue;
        lastLog = event.number;
        const item = document.createElement("li");
        const time = document.createElement("time");
        time.dateTime = new Date(event.time * 1000).toISOString();
        time.textContent = new Date(event.time * 1000).toLocaleString(undefined, { hour12: false });
        const level = cell(event.level, event.level === "error" ? "level bad" : "level", "span");
        item.append(time, level, `${event.module}: ${event.text}`);
        $("log").prepend(item);
    }
    while ($("log").children.length > LOG_LINES) $("log").lastChild.remove();
    $("log-empty").hidden = $("log").children.length > 0;
}

// ---- The stream --------------------------------------------------------------------------------------------------

function onState(state) {
    document.body.classList.toggle("gone", state === "gone" || state === "busy");
    if (state === "live" && !$("state").textContent.startsWith("The server was started anew")) say("Live.");
    else if (state === "gone") say("The server does not answer; trying again…", true);
    else if (state === "busy") say("As many look as there is room for; trying again…", true);
    else if (state === "key") {
        say("A key of an administrator is needed.", true);
        if (!$("key-dialog").open) $("key-dialog").showModal();
    }
}

const stream = new OpsStream("v1/admin/live", () => sessionStorage.getItem(KEY_PLACE) ?? "", {
    onState,
    onEvent(name, data) {
        if (name === "history") onHistory(data);
        else if (name === "now") onNow(data);
        else if (name === "over") say("The server is stopping.", true);
    },
});

$("key-button").addEventListener("click", () => $("key-dialog").showModal());
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
    $("pause").setAttribute("aria-pressed", String(isPaused));
    $("pause").textContent = isPaused ? "Go on" : "Pause";
    due();
});

$("charts").append(...charts.map(chart => chart.node));
stream.open();
