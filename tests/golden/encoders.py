#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes the made-up tokenizers of tests/data/encoder: encoders.py FOLDER. What another implementation makes of
them is put down by tokenizers.mjs.

    bert     WordPiece, small letters without accents, BertProcessing
    cased    WordPiece as it stands, Chinese characters not apart, a template, another prefix and unknown word
    roberta  bytes merged, RobertaProcessing, a mask that takes the space before it
"""
import json
import sys

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


def bert_post(vocab):
    return {"type": "BertProcessing", "sep": ["[SEP]", vocab["[SEP]"]], "cls": ["[CLS]", vocab["[CLS]"]]}


BERT = wordpiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "##", False,
                 {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                 bert_post, True)
CASED = wordpiece(["<pad>", "<what>", "<cls>", "<sep>", "<mask>"], "@@", True,
                  {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False},
                  template, False)

if __name__ == "__main__":
    for name, tokenizer in (("bert", BERT), ("cased", CASED), ("roberta", roberta())):
        with open(f"{sys.argv[1]}/{name}/tokenizer.json", "w", encoding="utf-8") as out:
            json.dump(tokenizer, out, ensure_ascii=False, separators=(",", ":"))
