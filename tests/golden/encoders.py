#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes the invented tokenizers of tests/data/encoder: encoders.py FOLDER. tokenizers.mjs records what another
implementation gives with them.

    bert     WordPiece, small letters without accents, BertProcessing
    cased    WordPiece as it stands, Chinese characters not apart, a template, another prefix and unknown word
    roberta  bytes merged, RobertaProcessing, a mask that takes the space before it
    xlmr     unigrams as XLM-RoBERTa has them: a table of replacements, spaces squeezed, Metaspace, a template
    camembert  likewise as older files have it: cut at white space, then Metaspace; unused signs among the pieces
    albert   likewise in small letters without accents, a mark only before the first word, pieces of several words; BERT's signs
"""
import base64
import json
import struct
import sys
import unicodedata

WORDS = """the a of and to in is was house houses little hill stands stand on we have apples won wait come they sure
where station strasse river text x y foo bar return token play played playing unaffable un aff able hello world
привет мир 日 本 語 gare fluss kleine price tomorrow 2024 12 340""".split()
ENDS = "s es ed ing er ly able aff house hill ет вет 4 40 0 ion".split()
LETTERS = ([chr(c) for c in range(33, 127)] + list("àéßöçñøıσςабвгдеиклмнопрстуфхцяøæ日本語の한글한١٢½…–“”€°")
           + ["\u0307", "\u0301", "\U00020000", "\U0001f642"])


def vocabulary(signs, prefix, upper):
    pieces = signs + LETTERS + [prefix + c for c in LETTERS]
    for word in WORDS:
        pieces += [word] + ([word.capitalize()] if upper else [])
    pieces += [prefix + end for end in ENDS]
    return {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}


def added(vocab, signs, **habits):
    return [{"id": vocab[s], "content": s, "single_word": False, "lstrip": habits.get(s, False), "rstrip": False,
             "normalized": False, "special": True} for s in signs]


def wordpiece(signs, prefix, upper, normalizer, post, cleanup):
    vocab = vocabulary(signs, prefix, upper)
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added(vocab, signs),
            "normalizer": dict(type="BertNormalizer", **normalizer), "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": post(vocab), "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup},
            "model": {"type": "WordPiece", "unk_token": signs[1], "continuing_subword_prefix": prefix,
                      "max_input_chars_per_word": 20 if upper else 100, "vocab": vocab}}


def template(vocab):
    def sign(name, kind):
        return {"SpecialToken": {"id": name, "type_id": kind}}

    def text(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}}

    return {"type": "TemplateProcessing",
            "single": [sign("<cls>", 0), text("A", 0), sign("<sep>", 0)],
            "pair": [sign("<cls>", 0), text("A", 0), sign("<sep>", 0), text("B", 1), sign("<sep>", 1)],
            "special_tokens": {s: {"id": s, "ids": [vocab[s]], "tokens": [s]} for s in ("<cls>", "<sep>")}}


def roberta():
    letters = [b if b in range(33, 127) or b in range(161, 173) or b in range(174, 256) else None for b in range(256)]
    n = 0
    for b in range(256):
        if letters[b] is None:
            letters[b], n = 256 + n, n + 1
    signs = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = signs + [chr(c) for c in letters]
    space = chr(letters[32])
    merges = []
    for word in ["the", space + "the", space + "house", "house", space + "is", "ing", space + "play", "play",
                 space + "we", "'s", "\u00c3\u00a9"]:
        left = word[0]
        for c in word[1:]:
            if f"{left} {c}" not in merges:
                merges.append(f"{left} {c}")
            left += c
    pieces += [m.replace(" ", "") for m in merges] + ["<mask>"]
    vocab = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "added_tokens": added(vocab, signs + ["<mask>"], **{"<mask>": True}), "normalizer": None,
            "pre_tokenizer": step, "decoder": step,
            "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", vocab["</s>"]], "cls": ["<s>", vocab["<s>"]],
                               "trim_offsets": True, "add_prefix_space": False},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
                      "end_of_word_suffix": "", "fuse_unk": False, "vocab": vocab, "merges": merges}}


# ---- Unigrams ------------------------------------------------------------------------------------------

DROPPED = [*range(0x1, 0x9), 0xB, *range(0xE, 0x20), 0x7F, 0x8F, 0x9F]
SPACES = [0x9, 0xA, 0xC, 0xD, 0xA0, 0x1680, *range(0x2000, 0x2010), 0x2028, 0x2029, 0x202F, 0x205F, 0x2581, 0x3000,
          0xFEFF, 0xFFFD]
BLOCKS = [range(0xA1, 0x250), range(0x2010, 0x2070), range(0x2100, 0x2190), range(0x3001, 0x3040), range(0xFB00, 0xFB07),
          range(0xFF01, 0xFF5E)]


def rules():
    """What SentencePiece's usual table does to some blocks: NFKC, control characters gone, white space a space."""
    made = {chr(c): "" for c in DROPPED}
    made.update({chr(c): " " for c in SPACES})
    for c in (chr(c) for block in BLOCKS for c in block):
        if c not in made and unicodedata.normalize("NFKC", c) != c:
            made[c] = unicodedata.normalize("NFKC", c)
    for letter in map(chr, [*range(65, 91), *range(97, 123)]):
        for mark in "\u0300\u0301\u0302\u0303\u0307\u0308\u030a\u0327":
            composed = unicodedata.normalize("NFKC", letter + mark)
            if len(composed) == 1:
                made[letter + mark] = composed
    return made


def charsmap(made):
    """The table as the file has it: a double array over the keys' bytes, then what they become."""
    pool, root = b"", {}
    for key, value in sorted(made.items()):
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = len(pool)
        pool += value.encode() + b"\0"
    units, todo = {0: 0}, [(0, root)]
    while todo:
        at, node = todo.pop()
        base = next(b for b in range(1, 1 << 20) if all(b ^ label not in units for label in node))
        units[at] |= (at ^ base) << 10 | (0 in node) << 8
        for label, child in node.items():
            units[base ^ label] = label or child | 1 << 31
            if label:
                todo.append((base ^ label, child))
    size = (max(units) | 255) + 1
    array = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return base64.b64encode(struct.pack("<I", len(array)) + array + pool).decode()


def scored(before, mask, more=()):
    """Pieces with made-up scores: words the best, then their ends, then letters."""
    words = [m + w for w in dict.fromkeys(WORDS) for m in ("\u2581", "")] + ["\u2581The", *more]
    pieces = [[p, 0.0] for p in before] + [["\u2581", -3.5]]
    for i, word in enumerate(dict.fromkeys(words + ENDS)):
        if word != "\u2581" and len(word) > 1:
            pieces.append([word, round(-4 - 0.037 * i, 3)])
    for i, letter in enumerate(c for c in dict.fromkeys(LETTERS) if c not in "<>\U0001f642\U00020000한"):
        pieces.append([letter, round(-9.5 - 0.01 * i, 3)])
    return pieces + [[mask, 0.0]]


def unigram(pieces, signs, unk, normalizer, pre, prepend):
    ids = {p: i for i, (p, _) in enumerate(pieces)}

    def sign(name):
        return {"SpecialToken": {"id": name, "type_id": 0}}

    def text(name):
        return {"Sequence": {"id": name, "type_id": 0}}
    cls, sep, mask = signs[0], signs[2], signs[-1]
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": added(ids, signs, **{mask: True}), "normalizer": normalizer, "pre_tokenizer": pre,
            "post_processor": {"type": "TemplateProcessing", "single": [sign(cls), text("A"), sign(sep)],
                               "pair": [sign(cls), text("A"), sign(sep), sign(sep), text("B"), sign(sep)],
                               "special_tokens": {s: {"id": s, "ids": [ids[s]], "tokens": [s]} for s in (cls, sep)}},
            "decoder": {"type": "Metaspace", "replacement": "\u2581", **prepend},
            "model": {"type": "Unigram", "unk_id": ids[unk], "vocab": pieces}}


def unigrams():
    table = {"type": "Precompiled", "precompiled_charsmap": charsmap(rules())}
    squeeze = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    new = {"prepend_scheme": "always", "split": True}
    old = {"add_prefix_space": True}
    first = {"prepend_scheme": "first", "split": False}

    def steps(kind, *list_of):
        return {"type": "Sequence", kind: list(list_of)}

    def metaspace(habits):
        return {"type": "Metaspace", "replacement": "\u2581", **habits}
    signs = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    yield "xlmr", unigram(scored(signs[:4], "<mask>"), signs, "<unk>", steps("normalizers", table, strip, squeeze),
                          metaspace(new), new)
    unused = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"]
    yield "camembert", unigram(scored(unused, "<mask>"), signs, "<unk>", table,
                               steps("pretokenizers", {"type": "WhitespaceSplit"}, metaspace(old)), old)
    berts = ["[CLS]", "<pad>", "[SEP]", "<unk>", "[MASK]"]
    quotes = {"type": "Replace", "pattern": {"String": "``"}, "content": "\""}
    yield "albert", unigram(scored(berts[:4], "[MASK]", ["\u2581house\u2581is"]), berts, "<unk>",
                            steps("normalizers", quotes, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                                  table, {**squeeze, "content": " "}), metaspace(first), first)


def bert_post(vocab):
    return {"type": "BertProcessing", "sep": ["[SEP]", vocab["[SEP]"]], "cls": ["[CLS]", vocab["[CLS]"]]}


BERT = wordpiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "##", False,
                 {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                 bert_post, True)
CASED = wordpiece(["<pad>", "<what>", "<cls>", "<sep>", "<mask>"], "@@", True,
                  {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False},
                  template, False)

if __name__ == "__main__":
    for name, tokenizer in (("bert", BERT), ("cased", CASED), ("roberta", roberta()), *unigrams()):
        with open(f"{sys.argv[1]}/{name}/tokenizer.json", "w", encoding="utf-8") as out:
            json.dump(tokenizer, out, ensure_ascii=False, separators=(",", ":"))
