// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors
//
// What another implementation makes of the tokenizers in tests/data/lm, into tokenizers.json beside this file:
//
//     npm install @huggingface/transformers && node tokenizers.mjs FOLDER
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
const { PreTrainedTokenizer } = createRequire(process.cwd() + "/")("@huggingface/transformers");

const texts = [
    "", " ", "  ", "a", "The little house stands on the hill.", " The house", "  two  spaces   three    four ",
    "Don't wait, they'll come; I'm sure we've won. It's HE'S WE'LL don'T", "We have 12 apples, 340 pears and 1234567 nuts.",
    "a\nb\n\nc\r\n\r\nd\t\te \n f\n ", "trailing spaces   ", "\n\n\n", "\t\t x", "Das kleine Haus steht am Fluss. Où est la gare ? Ça va très bien.",
    "日本語のテキスト、です。", "Привет, мир! ١٢٣ ½ Ⅻ", "👩‍👩‍👧 emoji 🙂🙂 and flags 🇫🇷", "e\u0301 cafe\u0301 Å ﬁ", "price: $3.50 (50%) -- #1!?",
    "foo_bar(x) => { return x+1; } // ok", "https://example.org/a?b=c&d=e", "\u00a0nbsp\u2003em\u3000wide", "\u200bzero\u200dwidth",
    "x".repeat(300), "ab".repeat(50) + " " + "!?".repeat(40), "a <|endoftext|> b <|eot_id|>c</s><s>", "\u2581mark \u2581\u2581two",
    "'s 't 're 've 'm 'll 'd 'S 'RE x's'", "1'2'3 4,5.6", "line one\n  indented\n\tmore", "....... ,,,, ----", "\u0085next\u2028line",
];

const out = [];
for (const model of ["gpt2", "llama", "scaled"]) {
    const folder = `${process.argv[2]}/${model}`;
    const tokenizer = new PreTrainedTokenizer(JSON.parse(readFileSync(`${folder}/tokenizer.json`, "utf8")), {});
    for (const text of texts) {
        const ids = Array.from(tokenizer.encode(text), Number);
        out.push(JSON.stringify({ model, text, ids, decoded: ids.length === 0 ? "" : tokenizer.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }) }));
    }
}
writeFileSync(new URL("tokenizers.json", import.meta.url), "[\n" + out.join(",\n") + "\n]\n");
