#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Measures what glossaries do to translations. It mines terms from pairs, and demands each in a
sentence of other pairs whose reference has the term.

    glossary.py MODEL TRAIN.tsv[.gz] TEST.tsv[.gz] [--terms 200] [--beam 4] [--tool ./dragoman]

Prints how many terms the translation contains; how many of them stand where the model's own
attention aligns the source term; and, of those that the translation without a glossary lacks,
how many stand in the place of the word that they replace. `dragoman align`, trained on TRAIN and
those translations, judges that place independently. Then it prints how many of the missing terms
were flagged, the chrF of those sentences with and without the glossary, and how many other
sentences changed. A term is a pair of words that occur in the same pairs far more often than by
chance (Dice). Standard library only."""
import argparse
import collections
import gzip
import json
import os
import random
import re
import subprocess
import tempfile

import markup

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
SHORTEST, COUNT_MIN, DICE_MIN = 4, 8, 0.35


def read_pairs(path, limit):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for _, line in zip(range(limit), file)]
    return [(row[0], row[1]) for row in rows if len(row) == 2]


def words(text):
    return set(WORD.findall(text))


def mine(pairs):
    """{source word: target word}, the best for each other."""
    left, right, both = collections.Counter(), collections.Counter(), collections.Counter()
    for source, target in pairs:
        sources = {w for w in words(source) if len(w) >= SHORTEST and w.islower()}
        targets = {w for w in words(target) if len(w) >= SHORTEST and w.islower()}
        left.update(sources)
        right.update(targets)
        both.update((s, t) for s in sources for t in targets)
    best, back = {}, {}
    for (s, t), n in both.items():
        dice = 2 * n / (left[s] + right[t])
        if n >= COUNT_MIN and dice >= DICE_MIN:
            best[s] = max(best.get(s, (0, "")), (dice, t))
            back[t] = max(back.get(t, (0, "")), (dice, s))
    return {s: t for s, (_, t) in best.items() if back[t][1] == s}


def choose(terms, pairs, n, rng):
    """n of (source, reference, term, target) whose reference has the target; each term occurs once
    if that gives enough."""
    found = []
    for source, reference in pairs:
        for word in sorted(words(source) & terms.keys()):
            if terms[word] in words(reference):
                found.append((source, reference, word, terms[word]))
    rng.shuffle(found)
    seen, first, rest = set(), [], []
    for one in found:
        (rest if one[2] in seen else first).append(one)
        seen.add(one[2])
    chosen, used = [], set()
    for one in first + rest:
        if one[0] not in used and len(chosen) < n:
            used.add(one[0])
            chosen.append(one)
    return chosen


def translate(args, lines, glossary=None):
    command = [args.tool, "translate", "--quiet", "--model", args.model, "--beam", str(args.beam), "--whole-lines",
               "--json", "--alignment", *(["--glossary", glossary] if glossary else [])]
    done = subprocess.run(command, input="".join(line + "\n" for line in lines).encode(), capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def character_ngrams(text, n):
    text = "".join(text.split())
    return collections.Counter(text[i:i + n] for i in range(len(text) - n + 1))


def chrf(hypotheses, references):
    """chrF2 of a corpus, n-grams of 1 to 6 characters."""
    scores = []
    for n in range(1, 7):
        match = hyp = ref = 0
        for h, r in zip(hypotheses, references):
            a, b = character_ngrams(h, n), character_ngrams(r, n)
            match += sum((a & b).values())
            hyp += sum(a.values())
            ref += sum(b.values())
        p, r = (match / hyp if hyp else 0), (match / ref if ref else 0)
        scores.append(5 * p * r / (4 * p + r) if p + r else 0)
    return 100 * sum(scores) / len(scores)


def ends_of(ids, pieces):
    """How many bytes of the text are complete after each token."""
    text, ends = "", []
    for i in ids:
        piece = pieces.get(i, "")
        text += "" if piece in ("</s>", "<unk>", "<pad>") else piece.replace("▁", " ")
        ends.append(len(text.lstrip(" ").encode()))
    return ends


def is_aligned(answer, term, pieces, sources):
    """Whether (one of the target term's tokens attends most to one of the source term's; or one
    next to them does)."""
    best = answer["sentences"][0]["answers"][0]
    begin, end = term["target_start"], term["target_start"] + term["target_length"]
    ends, at, spans = ends_of(answer["sentences"][0]["source_ids"], sources), 0, []
    for stop in ends:
        spans.append((at, stop))
        at = stop
    inside = {s for s, (a, b) in enumerate(spans) if a < term["start"] + term["length"] and b > term["start"]}
    at, said, looking = 0, set(), set()
    for position, ((source, _), stop) in enumerate(zip(best["alignment"], ends_of(best["ids"], pieces))):
        if at < end and stop > begin:
            said.add(position)
        if source in inside:
            looking.add(position)
        at = stop
    return bool(said & looking), bool({p + step for p in said for step in (-1, 0, 1)} & looking)


def replaced(args, pairs, chosen, plain, bound):
    """(terms that stand in the place of the word that they replace, terms that can be judged). In
    its place means next to one of the word's neighbours, or at most two words from its place."""
    missing = [(one, p["text"], b["text"]) for one, p, b in zip(chosen, plain, bound)
               if one[3] not in words(p["text"].lower()) and one[3] in words(b["text"].lower())]
    links = markup.align(args, pairs + [(one[0], text) for one, text, _ in missing], "intersect", len(missing))
    right = judged = 0
    for (one, before, after), linked in zip(missing, links):
        source, old, new = ([w.lower() for w in markup.cut(text)] for text in (one[0], before, after))
        at = linked.get(source.index(one[2]) if one[2] in source else -1)
        if not at or one[3] not in new:
            continue
        judged += 1
        here, there = new.index(one[3]), min(at)
        padded, other = ["^", *new, "$"], ["^", *old, "$"]
        is_right = abs(here - there) <= 2 or padded[here] == other[there] or padded[here + 2] == other[max(at) + 2]
        right += is_right
        if not is_right and args.show > 0:
            args.show -= 1
            print(f"  {one[0]}  [{one[2]} = {one[3]}]\n    {before}\n    {after}")
    return right, judged


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) for each field of a protobuf message; a value is bytes or a number."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at:at + size]
            at += size
        elif tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        else:
            at += 4 if tag & 7 == 5 else 8


def read_pieces(model):
    """{id: piece}, from vocab.json or, without one, from the SentencePiece model itself."""
    path = os.path.join(model, "vocab.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return {number: piece for piece, number in json.load(file).items()}
    with open(os.path.join(model, "source.spm"), "rb") as file:
        entries = [value for number, value in fields(file.read()) if number == 1]
    return {i: next(value for number, value in fields(entry) if number == 1).decode() for i, entry in enumerate(entries)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--tool", default="./dragoman")
    parser.add_argument("--hard", action="store_true", help="only sentences whose translation lacks the term")
    parser.add_argument("--show", type=int, default=0, help="print so many that changed")
    args = parser.parse_args()
    rng = random.Random(11)
    test = read_pairs(args.test, 20000)
    terms = mine(read_pairs(args.train, 200000))
    chosen = choose(terms, test, args.terms if not args.hard else 100000, rng)
    plain = translate(args, [one[0] for one in chosen])
    if args.hard:
        kept = [(one, p) for one, p in zip(chosen, plain) if one[3] not in words(p["text"].lower())][:args.terms]
        chosen, plain = [k[0] for k in kept], [k[1] for k in kept]
    pieces = read_pieces(args.model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "terms.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(f"{s}\t{t}\n" for s, t in sorted({(one[2], one[3]) for one in chosen})))
        bound = translate(args, [one[0] for one in chosen], path)
        others = [s for s, _ in rng.sample(test, min(len(test), 1000))]
        answers = [(a, b) for a, b in zip(translate(args, others), translate(args, others, path)) if not b["terms"]]
        changed = sum(a["text"] != b["text"] for a, b in answers)
    n = used = itself = aligned = beside = wrong_flag = 0
    for one, before, after in zip(chosen, plain, bound):
        for term in after["terms"]:
            said = term["target"] in words(after["text"].lower())
            n += 1
            used += term["used"]
            itself += term["target"] in words(before["text"].lower())
            wrong_flag += term["used"] != said
            if term["used"]:
                exact, near = is_aligned(after, term, pieces, pieces)
                aligned += exact
                beside += near
    right, judged = replaced(args, read_pairs(args.train, 60000), chosen, plain, bound)
    references = [one[1] for one in chosen]
    print(f"of the terms that were missing {100 * right / max(judged, 1):.1f} % of {judged} stand in the place of the word that they replace")
    print(f"{len(chosen)} sentences, {n} terms, beam {args.beam}: said by itself {100 * itself / n:.1f} %, honoured "
          f"{100 * used / n:.1f} %, of those where the source is aligned to {100 * aligned / max(used, 1):.1f} % (one token aside {100 * beside / max(used, 1):.1f} %), flagged "
          f"wrongly {wrong_flag}; chrF without {chrf([a['text'] for a in plain], references):.2f}, with "
          f"{chrf([a['text'] for a in bound], references):.2f}; {changed} of {len(answers)} sentences without a term changed")
    for one, before, after in zip(chosen, plain, bound):
        if args.show and before["text"] != after["text"]:
            args.show -= 1
            print(f"  {one[0]}  [{one[2]} = {one[3]}]\n    {before['text']}\n    {after['text']}\n    ({one[1]})")


if __name__ == "__main__":
    main()
