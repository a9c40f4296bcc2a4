#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes fragments for a model that knows only whole sentences, from the pairs it learns from:

    fragments.py PAIRS.tsv FOLDER [DRAGOMAN]

PAIRS has lines French<TAB>English. The program writes FOLDER/bare.fr-en.tsv, short pairs without
their final punctuation mark, about half of them with a lower-case first letter unless it begins a
name; and FOLDER/lexicon.fr-en.tsv, single words that `dragoman align` finds to be translations of
each other. The same pairs give the same files."""
import collections
import os
import random
import re
import subprocess
import sys

FRENCH = re.compile(r"[A-Za-zÀ-ÿœŒæ]+(?:-[A-Za-zÀ-ÿœŒæ]+)*['’]?|\d+|[^\sA-Za-zÀ-ÿœŒæ\d]")
ENGLISH = re.compile(r"[A-Za-zÀ-ÿ]+(?:[-'’][A-Za-zÀ-ÿ]+)*|\d+|[^\sA-Za-zÀ-ÿ\d]")
WORD = re.compile(r"^[A-Za-zÀ-ÿœ-]{2,}$")
SHARE, LEAST = 0.35, 4  # the share of both words' links that a translation needs, and how many
KEPT = {1: 1.0, 2: 1.0, 3: 0.6, 4: 0.35}  # share kept of the pairs with that many English words
KEPT_LONGER, WORDS_MAX = 0.2, 6


class Forms:
    """How words are written when they do not begin a sentence."""

    def __init__(self, lines):
        self.seen = collections.defaultdict(collections.Counter)
        for words in lines:
            for word in words[1:]:
                self.seen[word.lower()][word] += 1

    def usual(self, word):
        forms = self.seen.get(word)
        return max(forms, key=forms.get) if forms else word

    def small_first(self, text):
        """The text with a lower-case first letter, unless its first word is a name."""
        first = re.match(r"[A-Za-zÀ-ÿœŒ'’-]+", text)
        if not first or re.match(r"I($|['’])", first.group(0)):
            return text
        word = first.group(0).lower()
        word = word.split("'")[0] + "'" if "'" in word and word.split("'")[0] + "'" in self.seen else word
        return text if self.usual(word)[0].isupper() else text[0].lower() + text[1:]


def lexicon(words, links, french, english):
    """(French, English), the most frequent first."""
    both, ours, theirs = collections.Counter(), collections.Counter(), collections.Counter()
    for (left, right), line in zip(words, links):
        ours.update(word.lower() for word in left)
        theirs.update(word.lower() for word in right)
        for link in line.split():
            i, j = map(int, link.split("-"))
            both[left[i].lower(), right[j].lower()] += 1
    good = [(n, f, e) for (f, e), n in both.items()
            if n >= LEAST and WORD.match(f) and WORD.match(e) and n >= SHARE * ours[f] and n >= SHARE * theirs[e]]
    return [(french.usual(f), english.usual(e)) for _, f, e in sorted(good, reverse=True)]


def bare(pairs, french, english):
    draw, seen = random.Random(5), {}
    for left, right in pairs:
        ends = [re.match(r"^(.*?)\s*([.!?])$", text) for text in (left, right)]
        if not all(ends) or ends[0].group(2) != ends[1].group(2):
            continue
        left, right = ends[0].group(1), ends[1].group(1)
        n_words = len(right.split())
        if n_words > WORDS_MAX or re.search(r'[.!?"]', left + right) or draw.random() > KEPT.get(n_words, KEPT_LONGER):
            continue
        if ends[0].group(2) == "?" and draw.random() < 0.5:
            continue
        if draw.random() < 0.5:
            left, right = french.small_first(left), english.small_first(right)
        seen[left, right] = None
    return list(seen)


def align(words, folder, tool):
    path = os.path.join(folder, "words.tsv")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(" ".join(left).lower() + "\t" + " ".join(right).lower() + "\n" for left, right in words)
    done = subprocess.run([tool, "align", "--symmetrise", "intersect", path], stdout=subprocess.PIPE, check=True, encoding="utf-8")
    os.unlink(path)
    return done.stdout.splitlines()


def main(pairs_file, folder, tool="dragoman"):
    with open(pairs_file, encoding="utf-8") as file:
        pairs = [line.rstrip("\n").split("\t")[:2] for line in file]
    words = [(FRENCH.findall(left) or ["x"], ENGLISH.findall(right) or ["x"]) for left, right in pairs]
    french, english = Forms(left for left, _ in words), Forms(right for _, right in words)
    os.makedirs(folder, exist_ok=True)
    for name, made in (("bare", bare(pairs, french, english)),
                       ("lexicon", lexicon(words, align(words, folder, tool), french, english))):
        with open(os.path.join(folder, name + ".fr-en.tsv"), "w", encoding="utf-8") as out:
            out.writelines(left + "\t" + right + "\n" for left, right in made)
        print(f"{name}.fr-en.tsv: {len(made)} pairs")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
