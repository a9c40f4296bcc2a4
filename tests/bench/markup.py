#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Measures whether <b>word</b> still encloses that word's translation, in sentences from pairs with
one content word of each in bold.

    markup.py MODEL TRAIN.tsv[.gz] TEST.tsv[.gz] [--cases 200] [--beam 4] [--tool ./dragoman] [--train-pairs 60000]

The judge is independent of the model's attention: `dragoman align`, which learns a lexicon from
TRAIN and from the translations themselves, says what the word became (where both directions
agree). Sentences on which it has no opinion are not counted; others take their place. Standard
library only."""
import argparse
import collections
import gzip
import html
import random
import re
import subprocess
import sys
import tempfile

WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*|\d+|[^\w\s]")
SHORTEST, FREQUENT = 4, 150  # least letters of a content word; the most frequent words are none


def read_pairs(path, limit):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for _, line in zip(range(limit), file)]
    return [(row[0], row[1]) for row in rows if len(row) == 2]


def spans(text):
    """[(begin, end)] of the words and marks; an elision with an apostrophe (l', qu') is a word of
    its own."""
    found = []
    for match in WORD.finditer(text):
        begin, end = match.span()
        elided = re.match(r"(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu)['’](?=\w)", text[begin:end], re.I)
        if elided:
            found.append((begin, begin + elided.end()))
            begin += elided.end()
        found.append((begin, end))
    return found


def cut(text):
    return [text[begin:end] for begin, end in spans(text)]


def choose(pairs, frequent, rng):
    """[(sentence, index of the word)], shuffled; each sentence occurs once."""
    cases = []
    for source in sorted({source for source, _ in pairs}):
        words = cut(source)
        fit = [i for i, w in enumerate(words) if len(w) >= SHORTEST and w.isalpha() and w.lower() not in frequent]
        if len(words) >= 5 and fit:
            cases.append((source, rng.choice(fit)))
    rng.shuffle(cases)
    return cases


def mark(case):
    source, index = case
    begin, end = spans(source)[index]
    return f"{html.escape(source[:begin], False)}<b>{html.escape(source[begin:end], False)}</b>{html.escape(source[end:], False)}"


def translate(args, paragraphs):
    document = "".join(f"<p>{text}</p>\n" for text in paragraphs)
    command = [args.tool, "translate", "--quiet", "--model", args.model, "--beam", str(args.beam), "--format", "html"]
    done = subprocess.run([*command, *args.more], input=document.encode(), capture_output=True, check=True)
    return re.findall(r"<p>(.*?)</p>", done.stdout.decode(), re.S)


def enclosed(marked):
    """(plain text, the set of word indices in bold); None unless each tag occurs exactly once."""
    match = re.fullmatch(r"(.*?)<b>(.*?)</b>(.*)", marked, re.S)
    if not match:
        return html.unescape(marked), None
    before, inside, behind = (html.unescape(part) for part in match.groups())
    text, begin, end = before + inside + behind, len(before), len(before) + len(inside)
    return text, {i for i, (a, b) in enumerate(spans(text)) if a < end and b > begin}


def align(args, pairs, symmetrise, n_last):
    """{source position: set of target positions} for each of the last pairs."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        for source, target in pairs:
            file.write(" ".join(cut(source)).lower() + "\t" + " ".join(cut(target)).lower() + "\n")
        file.flush()
        done = subprocess.run([args.tool, "align", "--quiet", "--symmetrise", symmetrise, file.name], capture_output=True, check=True)
    found = []
    for line in done.stdout.decode().splitlines()[-n_last:]:
        links = collections.defaultdict(set)
        for link in line.split():
            source, target = link.split("-")
            links[int(source)].add(int(target))
        found.append(links)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--tool", default="./dragoman")
    parser.add_argument("--train-pairs", type=int, default=60000)
    parser.add_argument("--more", nargs="*", default=[], help="options for dragoman translate")
    parser.add_argument("--show", type=int, default=0, help="print so many that are not right")
    args = parser.parse_args()
    train = read_pairs(args.train, args.train_pairs)
    counts = collections.Counter(w.lower() for source, _ in train for w in cut(source) if w.isalpha())
    frequent = {w for w, _ in counts.most_common(FREQUENT)}
    cases = choose(read_pairs(args.test, 20000), frequent, random.Random(11))[:args.cases * 3 // 2]
    answers = [enclosed(text) for text in translate(args, [mark(case) for case in cases])]
    plain = [html.unescape(text) for text in translate(args, [html.escape(case[0], False) for case in cases])]
    if not len(answers) == len(plain) == len(cases):
        sys.exit("paragraphs were lost")
    said = [(case[0], text) for case, (text, _) in zip(cases, answers)]
    sure, wide = (align(args, train + said, how, len(said)) for how in ("intersect", "grow-diag-final-and"))
    judged = holds = exact = lost = 0
    for case, (text, inside), links, more in zip(cases, answers, sure, wide):
        expected = links[case[1]]
        if inside is None:
            lost += 1
        if not expected or judged == args.cases:
            continue
        judged += 1
        is_held = inside is not None and expected <= inside
        holds += is_held
        is_exact = is_held and inside <= more[case[1]] | expected
        exact += is_exact
        if not is_held and args.show > 0:
            args.show -= 1
            words = cut(text)
            print(f"  {mark(case)}\n    {text}\n    in bold: {[words[i] for i in sorted(inside or ())]}, judge: {[words[i] for i in sorted(expected)]}")
    same = sum(text == other for (text, _), other in zip(answers, plain))
    print(f"{judged} cases, beam {args.beam}: the word's translation is enclosed in {100 * holds / max(judged, 1):.1f} %, and nothing besides in "
          f"{100 * exact / max(judged, 1):.1f} %; tags lost or doubled in {lost} of {len(cases)}; {same} of {len(cases)} translations are "
          "what they are without markup")


if __name__ == "__main__":
    main()
