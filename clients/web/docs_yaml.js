// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Reads the part of YAML that docs/api/openapi.yaml uses: maps and lists by indentation or in
// brackets, and strings that are plain, quoted, folded (">") or spread over several lines. It does
// not read anchors, tags, literal strings ("|") or files with several documents.
//
//     const description = readYaml(text);
//     description.paths["/v1/translate"].post.summary

const indentOf = line => line.search(/\S/);
const KEY = /^("[^"]*"|[^\s"'[{][^:]*?):(\s|$)/; // the key of a map, at the beginning of a line

class Reader {
    constructor(text) {
        this.lines = text.split("\n").filter(line => line.trim() && !line.trim().startsWith("#"));
        this.at = 0;
    }

    get indent() {
        return this.at < this.lines.length ? indentOf(this.lines[this.at]) : -1;
    }

    /** Reads the list or map whose lines have this indentation. */
    block(indent) {
        const isList = this.lines[this.at].trim().startsWith("- ");
        const made = isList ? [] : {};
        while (this.indent === indent && this.lines[this.at].trim().startsWith("- ") === isList) {
            if (isList) made.push(this.item(indent));
            else this.member(made, indent);
        }
        return made;
    }

    item(indent) {
        const text = this.lines[this.at].slice(indent + 2);
        if (!KEY.test(text)) {
            this.at++;
            return inline(this.more(text, indent));
        }
        this.lines[this.at] = " ".repeat(indent + 2) + text;
        return this.block(indent + 2);
    }

    member(map, indent) {
        const line = this.lines[this.at++].slice(indent);
        const [whole, key] = line.match(KEY);
        const rest = line.slice(whole.length).trim();
        const name = inline(key.startsWith('"') ? key : JSON.stringify(key));
        if (/^>-?$/.test(rest)) map[name] = this.more("", indent).trim() + (rest === ">" ? "\n" : "");
        else if (rest) map[name] = inline(this.more(rest, indent));
        else map[name] = this.indent > indent || this.lines[this.at]?.slice(indent).startsWith("- ") ? this.block(this.indent) : null;
    }

    /** A string together with its continuation lines, which are indented further. */
    more(text, indent) {
        while (this.indent > indent) text += ` ${this.lines[this.at++].trim()}`;
        return text;
    }
}

/** Reads a value that is written on one line: a string, a number, or a list or map in brackets. */
function inline(text) {
    let at = 0;
    const skip = () => { while (text[at] === " " || text[at] === ",") at++; };
    const quoted = () => {
        const [found] = text.slice(at).match(/^"(\\.|[^"\\])*"|^'(''|[^'])*'/);
        at += found.length;
        return found[0] === '"' ? JSON.parse(found) : found.slice(1, -1).replaceAll("''", "'");
    };
    const plain = (stop, isText = false) => {
        const length = text.slice(at).search(stop);
        const word = text.slice(at, length < 0 ? undefined : at + length).trim();
        at = length < 0 ? text.length : at + length;
        if (isText) return word;
        if (word === "true" || word === "false" || word === "null") return JSON.parse(word);
        return /^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(word) ? Number(word) : word;
    };
    const value = isInside => {
        skip();
        if (text[at] === '"' || text[at] === "'") return quoted();
        if (text[at] === "[") {
            const list = [];
            for (at++, skip(); text[at] !== "]"; skip()) list.push(value(true));
            at++;
            return list;
        }
        if (text[at] !== "{") return plain(isInside ? /[,\]}]/ : /$/);
        const map = {};
        for (at++, skip(); text[at] !== "}"; skip()) {
            const key = text[at] === '"' ? quoted() : plain(/:/, true);
            at++;
            map[key] = value(true);
        }
        at++;
        return map;
    };
    return value(false);
}

export function readYaml(text) {
    const reader = new Reader(text);
    return reader.block(0);
}
