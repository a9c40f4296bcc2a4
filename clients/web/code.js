// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Shows the request for the translation on the screen as a program would send it, in the ways that
// most people ask for.

const inShell = text => `'${text.replaceAll("'", `'\\''`)}'`;

const WAYS = {
    curl: (url, headers, body) => [`curl ${url}`, ...Object.entries(headers).map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
                                   `-d ${inShell(JSON.stringify(body))}`].join(" \\\n  "),
    Python: (url, headers, body) => `import json, urllib.request

body = json.loads(${JSON.stringify(JSON.stringify(body))})
request = urllib.request.Request(${JSON.stringify(url)}, json.dumps(body).encode(),
                                 ${JSON.stringify(headers)})
answer = json.load(urllib.request.urlopen(request))
print(answer["translations"][0]["text"])`,
    JavaScript: (url, headers, body) => `const response = await fetch(${JSON.stringify(url)}, {
    method: "POST",
    headers: ${JSON.stringify(headers)},
    body: JSON.stringify(${JSON.stringify(body)}),
});
const answer = await response.json();
console.log(answer.translations[0].text);`,
};

/**
 * The dialog #code-dialog. `request()` returns {body (the members of POST /v1/translate), hasKey}.
 * The key itself is not shown.
 */
export class Code {
    #element = id => document.getElementById(id);
    #request;

    constructor(request) {
        this.#request = request;
        this.#element("code-way").replaceChildren(...Object.keys(WAYS).map(name => new Option(name, name)));
        this.#element("code-way").addEventListener("change", () => this.#show());
        this.#element("code-button").addEventListener("click", () => {
            this.#show();
            this.#element("code-dialog").showModal();
        });
    }

    get text() {
        return this.#element("code").textContent;
    }

    #show() {
        const url = new URL("v1/translate", document.baseURI).href;
        const { body, hasKey } = this.#request();
        const headers = { "Content-Type": "application/json", ...(hasKey && { Authorization: "Bearer YOUR_KEY" }) };
        this.#element("code").textContent = WAYS[this.#element("code-way").value](url, headers, body);
    }
}
