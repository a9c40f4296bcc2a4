// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors
//
// What another implementation gives with the tokenizers in tests/data/lm and tests/data/encoder, into tokenizers.json and
// encoders.json beside this file:
//
//     npm install @huggingface/transformers && node tokenizers.mjs tests/data
//
// The texts avoid what it does differently from the reference, which is in Rust: the last letter of a word in capitals
// (a final sigma), unassigned code points (it takes them for text), Chinese characters beyond U+FFFF (it does not separate
// them), U+0085 and U+FEFF (white space or not), an empty second text (it takes it for none). RoBERTa's second text has the
// same segment as the first, so the test does not compare it. It does not read the unigrams' table of replacements but
// applies NFKC, so the texts avoid where the two differ: two marks on a letter, a letter that the table changes with a mark,
// and Korean. Nor does it cut before marks, so that it has pieces of several words only where nothing is cut.
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

function open(path) {
    return new PreTrainedTokenizer(JSON.parse(readFileSync(`${process.argv[2]}/${path}/tokenizer.json`, "utf8")), {});
}

function write(name, lines) {
    writeFileSync(new URL(name, import.meta.url), "[\n" + lines.map((line) => JSON.stringify(line)).join(",\n") + "\n]\n");
}

function decode(tokenizer, ids) {
    return ids.length === 0 ? "" : tokenizer.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false });
}

const lm = [];
for (const model of ["gpt2", "llama", "scaled"]) {
    const tokenizer = open(`lm/${model}`);
    for (const text of texts) {
        const ids = Array.from(tokenizer.encode(text), Number);
        lm.push({ model, text, ids, decoded: decode(tokenizer, ids) });
    }
}
write("tokenizers.json", lm);

const more = [
    "The houses played; the HOUSE is playing.", "unaffable unaffably UNAFFABLE", "Où est la GARE? Ça va: Ñandú Ø ø Æ ß İı",
    "日本語のtext日本", "a\u0000b\ufffdc\u200bd\u00ade\u0007f", "zero\u200dwidthjoin", "co-operate e-mail (x+y)=z $3.50 100% #1 a_b ~`^|<>",
    "don't we've they're I'm he's it 's , . ! ?", "x".repeat(99) + " " + "x".repeat(101), "e\u0301e\u0301\u0307 A\u030A \u1E9B\u0323",
    "한글 한", "«quotes» “curly” – dash… €5 °C", "\u{20000} \u{2A6DF} \u{1F642}x", "[CLS] [MASK][SEP] [mask] <mask> x <mask>y</s><s>",
    "the [MASK] is", "the <mask> is", "  the\t\thouse\n\nis  ", "ПРИВЕТ, Мир! привет", "\u2028line\u2029para\u00a0nbsp\u3000wide", "2024 12 340 3400 0",
    "Token token TOKEN tokens tokenion", "¡Hola! ¿Qué?", "\u0130stanbul \u212Aelvin",
];
const pairs = [["the house", "is little"], ["", "b"], ["Where is it?", "On the hill, we stand."], ["Hello [SEP] world", "日本"],
    [" the house ", " we play "], ["x</s>y", "<mask> is"]];
const encoders = [];
const unlike = /[\u0085\u1E9B\u1100-\u11FF\uAC00-\uD7A3]|\u0301\u0307|\p{L}Σ/u;
for (const model of ["bert", "cased", "roberta", "xlmr", "camembert", "albert"]) {
    const tokenizer = open(`encoder/${model}`);
    const encode = (text, text_pair) => {
        const made = tokenizer(text, { text_pair, return_tensor: false, return_token_type_ids: true });
        const ids = Array.from(made.input_ids, Number);
        return { model, text, pair: text_pair, ids, types: Array.from(made.token_type_ids ?? ids.map(() => 0), Number) };
    };
    const is_unigram = ["xlmr", "camembert", "albert"].includes(model);
    for (const text of [...texts, ...more].filter((text) => !(is_unigram ? unlike : /\u0085/).test(text))) {
        const line = encode(text, null);
        encoders.push({ ...line, decoded: decode(tokenizer, line.ids) });
    }
    for (const [first, second] of pairs) encoders.push(encode(first, second));
}
write("encoders.json", encoders);
