#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Makes English headlines and buttons In Title Case, from the pairs that a model learns from:

    titles.py PAIRS.tsv... >titles.fr-en.tsv

This is for a model that reads English. PAIRS have lines French<TAB>English. In one of SHARE pairs
with 2 to 14 English words, the English side gets the capitals of a title and both sides lose their
final full stop. The French side stays otherwise as it is, because French writes titles like
sentences. Do not use this for a model that writes English: a French sentence does not show that it
is a title. The same pairs give the same lines."""
import random
import re
import sys

SHARE = 14
SMALL = {"a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}


def titled(text, all_words):
    """Each word with a capital; inside, the words of SMALL get one only if all_words."""
    words = text.split(" ")
    return " ".join(word if not all_words and 0 < i < len(words) - 1 and word in SMALL else
                    re.sub(r"[^\W\d_]", lambda letter: letter.group().upper(), word, count=1)
                    for i, word in enumerate(words))


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")[:2]


def main(paths):
    rng = random.Random(7)
    for path in paths:
        for french, english in lines(path):
            n = len(english.split(" "))
            if not 2 <= n <= 14 or rng.randrange(SHARE) or re.search(r"[.!?;:\"] ", english) or not english[:1].isalpha():
                continue
            marked = english.endswith(".") and french.endswith(".") and not english.endswith("..")
            title = titled(english[:-1] if marked else english, rng.random() < 0.5)
            if title != english:
                print((french[:-1] if marked else french) + "\t" + title)


if __name__ == "__main__":
    main(sys.argv[1:])
