// SPDX-License-Identifier: ISC
// Shows openapi.yaml as a page: a list of requests, then for each what it is for and its description, then the objects that
// they name. It reads the file by its indentation, as that file is written: paths by two spaces, methods by four, what they
// hold by six; objects below components/schemas by four.

function lines_below(lines, start, indent) {
    let end = start + 1;
    while (end < lines.length && (lines[end].trim() === "" || lines[end].search(/\S/) > indent))
        end++;
    return end;
}

// Every line of that indentation which names something, with the lines below it.
function blocks(lines, indent) {
    const found = [];
    for (let i = 0; i < lines.length; i++) {
        const name = lines[i].search(/\S/) === indent && lines[i].match(/^\s*([^\s:#]+):/);
        if (!name)
            continue;
        const end = lines_below(lines, i, indent);
        found.push({ name: name[1], head: lines[i].slice(lines[i].indexOf(":") + 1).trim(), lines: lines.slice(i + 1, end) });
    }
    return found;
}

function block(lines, indent, name) {
    return blocks(lines, indent).find((one) => one.name === name) ?? { head: "", lines: [] };
}

// A text on the line of its name, in quotes or not, or folded below it.
function text_of(found) {
    if (/^[>|]/.test(found.head))
        return found.lines.map((line) => line.trim()).join(" ");
    return found.head.replace(/^"(.*)"$/, "$1").replaceAll('\\"', '"');
}

function element(tag, text, attributes = {}) {
    const made = document.createElement(tag);
    if (text)
        made.textContent = text;
    for (const [name, value] of Object.entries(attributes))
        made.setAttribute(name, value);
    return made;
}

// The lines as they stand, with links to the objects that they name.
function show_lines(lines) {
    const indent = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
    const pre = element("pre"), code = element("code");
    for (const line of lines) {
        const parts = line.slice(indent).split(/("#\/components\/\w+\/[\w-]+")/);
        for (const part of parts) {
            const name = part.match(/^"#\/components\/schemas\/(\w+)"$/);
            code.append(name ? element("a", part, { href: `#${name[1]}` }) : part);
        }
        code.append("\n");
    }
    pre.append(code);
    return pre;
}

function show_operation(path, method) {
    const id = `${method.name}${path.name}`.replace(/[^\w]+/g, "-");
    const title = `${method.name.toUpperCase()} ${path.name}`;
    const summary = text_of(block(method.lines, 6, "summary"));
    const row = element("tr"), link = element("td");
    link.append(element("a", title, { href: `#${id}` }));
    row.append(link, element("td", summary));
    document.getElementById("contents").append(row);
    document.getElementById("operations").append(element("h2", title, { id }), element("p", summary));
    const description = text_of(block(method.lines, 6, "description"));
    if (description)
        document.getElementById("operations").append(element("p", description));
    const rest = blocks(method.lines, 6).filter((one) => !["summary", "description", "operationId"].includes(one.name));
    for (const one of rest) {
        const lines = one.head ? [`      ${one.name}: ${one.head}`, ...one.lines] : [`      ${one.name}:`, ...one.lines];
        document.getElementById("operations").append(show_lines(lines));
    }
}

async function show() {
    const about = document.getElementById("about");
    const answer = await fetch("page/openapi.yaml");
    if (!answer.ok) {
        about.textContent = `The description could not be loaded (${answer.status}).`;
        return;
    }
    const lines = (await answer.text()).split("\n");
    about.textContent = text_of(block(block(lines, 0, "info").lines, 2, "description"));
    for (const path of blocks(block(lines, 0, "paths").lines, 2))
        for (const method of blocks(path.lines, 4))
            show_operation(path, method);
    const schemas = block(block(lines, 0, "components").lines, 2, "schemas");
    for (const schema of blocks(schemas.lines, 4))
        document.getElementById("schemas").append(element("h2", schema.name, { id: schema.name }), show_lines(schema.lines));
    if (location.hash)
        document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

show();
