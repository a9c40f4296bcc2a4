// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Shows openapi.yaml as a page: first an example request, then a list of all requests, then each
// request with its parameters, its body and its answers, and then the objects that they refer to,
// member by member. docs_yaml.js reads the file.

import { readYaml } from "./docs_yaml.js";

const $ = id => document.getElementById(id);
const METHODS = ["get", "post", "put", "patch", "delete"];

function element(tag, attributes = {}, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...content);
    return made;
}

const code = text => element("code", {}, text);
const nameOf = ref => ref.split("/").at(-1);
const idOf = (method, path) => `${method}${path}`.replace(/[^\w]+/g, "-");

let description = {};

/** Follows a $ref. Not for those that name one of the objects below: the page links to these. */
function resolve(node) {
    while (node?.$ref) node = node.$ref.split("/").slice(1).reduce((found, part) => found[part], description);
    return node ?? {};
}

// ---- Schemas ---------------------------------------------------------------------------------------------------

const withCommas = (parts, last) => parts.flatMap((part, i) => (i ? [i === parts.length - 1 ? last : ", ", ...part] : part));

const SHORT_ENUM = 4; // values shown as a member's kind; more are listed with its meaning
const valuesOf = schema => withCommas(schema.enum.filter(each => each !== null).map(each => [code(String(each))]), " or ");

/** The kind of a value, as words and links. */
function kindOf(schema) {
    if (schema.$ref) return [element("a", { href: `#${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
    if (schema.oneOf) return withCommas(schema.oneOf.map(kindOf), " or ");
    if (schema.allOf) return withCommas(schema.allOf.map(kindOf), " and ");
    const orNull = schema.nullable ? [" or null"] : [];
    if (schema.enum && schema.enum.length <= SHORT_ENUM) return [...valuesOf(schema), ...orNull];
    if (schema.type === "array") return ["list of ", ...kindOf(schema.items ?? {}), ...orNull];
    return [schema.type ?? "anything", ...orNull];
}

/** What else the description says about a value: its meaning, bounds, default and example. */
function meaningOf(schema) {
    const said = [schema.description?.trim()];
    const bounds = (least, most, unit) => {
        if (least !== undefined && most !== undefined) said.push(`${least} to ${most}${unit}.`);
        else if (least !== undefined) said.push(`At least ${least}${unit}.`);
        else if (most !== undefined) said.push(`At most ${most}${unit}.`);
    };
    bounds(schema.minimum, schema.maximum, "");
    bounds(schema.minItems, schema.maxItems, " of them");
    bounds(schema.minLength, schema.maxLength, " characters");
    if (schema.default !== undefined) said.push(`By itself: ${JSON.stringify(schema.default)}.`);
    if (schema.example !== undefined) said.push(`For example: ${JSON.stringify(schema.example)}.`);
    const isLong = schema.enum?.length > SHORT_ENUM;
    return [said.filter(Boolean).join(" "), ...(isLong ? [" One of ", ...valuesOf(schema), "."] : [])];
}

/**
 * The members of an object and of the objects inside it, as rows of a table. Dots join nested
 * names.
 */
function rowsOf(schema, before = "") {
    const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
        const isNeeded = (schema.required ?? []).includes(name);
        const row = [code(before + name), [...kindOf(member), ...(isNeeded ? [", required"] : [])], meaningOf(member)];
        const inner = member.type === "array" ? member.items ?? {} : member;
        return [row, ...(inner.$ref ? [] : rowsOf(inner, `${before}${name}${inner === member ? "" : "[]"}.`))];
    });
    const parts = (schema.allOf ?? []).filter(part => !part.$ref).flatMap(part => rowsOf(part, before));
    const others = schema.additionalProperties;
    const more = others && others !== true ? [["any other", kindOf(others), meaningOf(others)]] : [];
    return [...own, ...parts, ...more];
}

/**
 * `name`: what a screen reader calls the table; `heads`: the headings of its columns; `className`:
 * a class of docs.css. The first cell of each row is the row's heading.
 */
function table(name, heads, rows, className = "members") {
    const head = element("tr", {}, ...heads.map(text => element("th", { scope: "col" }, text)));
    const body = rows.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first),
        ...rest.map(cell => element("td", {}, ...[cell].flat()))));
    return element("table", { class: className }, element("caption", { class: "hidden" }, name), element("thead", {}, head),
                   element("tbody", {}, ...body));
}

function membersOf(title, schema) {
    const rows = rowsOf(schema);
    return rows.length ? [table(`Members of ${title}`, ["Member", "Kind", "Meaning"], rows)] : [];
}

// ---- Requests --------------------------------------------------------------------------------------------------

/** The content of a body or an answer: its media types, each with its schema. */
function contentOf(content = {}) {
    return Object.entries(content).flatMap(([type, { schema = {} }], i) => [...(i ? [element("br")] : []), code(type), ": ", ...kindOf(schema)]);
}

function showBody(title, body) {
    const parts = [element("h4", {}, "Body"), element("p", {}, ...contentOf(body.content), body.required ? "" : " (may be left out)")];
    if (body.description) parts.push(element("p", {}, body.description.trim()));
    for (const { schema = {} } of Object.values(body.content ?? {})) parts.push(...membersOf(`the body of ${title}`, schema));
    return parts;
}

function showParameters(title, parameters) {
    const rows = parameters.map(resolve).map(each => [code(each.name), [each.in, each.required ? ", required" : ""],
        [...kindOf(each.schema ?? {}), ". ", each.description?.trim() ?? "", " ", ...meaningOf(each.schema ?? {})]]);
    return [element("h4", {}, "Parameters"), table(`Parameters of ${title}`, ["Name", "In", "Meaning"], rows)];
}

function showAnswers(title, responses) {
    const rows = Object.entries(responses).map(([status, found]) => {
        const answer = resolve(found);
        return [status, answer.description?.trim() ?? "", contentOf(answer.content)];
    });
    return [element("h4", {}, "Answers"), table(`Answers to ${title}`, ["Status", "When", "Holds"], rows, "members answers")];
}

function showOperation(path, method, operation) {
    const id = idOf(method, path);
    const title = `${method.toUpperCase()} ${path}`;
    $("contents").append(element("tr", {}, element("th", { scope: "row" }, element("a", { href: `#${id}` }, title)),
                                 element("td", {}, operation.summary)));
    const article = element("article", { "aria-labelledby": id }, element("h3", { id, tabindex: "-1" }, title),
                            element("p", {}, operation.summary));
    if (operation.description) article.append(element("p", {}, operation.description.trim()));
    if (operation.parameters) article.append(...showParameters(title, operation.parameters));
    if (operation.requestBody) article.append(...showBody(title, resolve(operation.requestBody)));
    article.append(...showAnswers(title, operation.responses));
    $("operations").append(article);
}

function showObject(name, schema) {
    const bases = (schema.allOf ?? []).filter(part => part.$ref);
    const article = element("article", { "aria-labelledby": name }, element("h3", { id: name, tabindex: "-1" }, name));
    if (schema.description) article.append(element("p", {}, schema.description.trim()));
    if (bases.length) article.append(element("p", {}, "All of ", ...withCommas(bases.map(kindOf), " and "), ", and:"));
    else if (schema.oneOf || !schema.properties) article.append(element("p", {}, "Kind: ", ...kindOf(schema), "."));
    article.append(...membersOf(name, schema));
    $("schemas").append(article);
}

async function show() {
    const answer = await fetch("page/openapi.yaml");
    if (!answer.ok) {
        $("state").textContent = `The description could not be loaded (${answer.status}).`;
        return;
    }
    description = readYaml(await answer.text());
    $("first").textContent = `curl ${new URL("v1/translate", document.baseURI).href} \\\n`
        + `  -H 'Content-Type: application/json' \\\n  -d '{"text": "Où est la gare ?", "target": "en"}'`;
    $("about").textContent = description.info.description.trim();
    for (const [path, methods] of Object.entries(description.paths))
        for (const method of METHODS) if (methods[method]) showOperation(path, method, methods[method]);
    for (const [name, schema] of Object.entries(description.components.schemas)) showObject(name, schema);
    $("state").textContent = "";
    document.body.classList.remove("loading");
    if (location.hash) $(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

show();
