#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Writes pairs French<TAB>English of kinds that other texts have too few of: numbers, times, dates,
ages, prices, measures, names, countries, colours, put into frames. The same seed gives the same
pairs.

    python3 models/recipe/grammar > grammar.fr-en.tsv
    python3 models/recipe/grammar --pairs 1000 --topic times --away dev.tsv

A pair is not written if it shares a side with a pair of --away (lines French<TAB>English, plain or
gzip), or if it has been written already."""
import argparse
import os
import random
import re
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)]
import collect  # noqa: E402
import draw  # noqa: E402
import frames  # noqa: E402

_SLOT = re.compile(r"(\b[Aa] )?\{([a-z ]+)\}")
_YOU = re.compile(r"[Uu](k|r|ni|s)|[Ee]u|one\b")  # these begin with a consonant sound
_AN = re.compile(r"[aeiouAEIOU]|8|1[18]\b")
TRIES = 400  # after so many draws in a row without a new pair, a topic is exhausted


def lines_of(text):
    """Yields (French, English, how often) for each frame."""
    for line in text.strip().splitlines():
        times = re.match(r"\*(\d+) ", line)
        french, english = line[times.end() if times else 0:].split(" | ")
        yield french, english, int(times.group(1)) if times else 1


def capital(text):
    return re.sub(r"\w", lambda found: found.group(0).upper(), text, count=1)


def filled(frame, side, sentence):
    def put(found):
        article, slot = found.group(1) or "", found.group(2)
        value = sentence.slot(slot)[side]
        if article and side == 1 and _AN.match(value) and not _YOU.match(value):
            article = article[0] + "n "
        return article + (capital(value) if re.search(r"[.?!] $", frame[:found.start()]) else value)

    text = _SLOT.sub(put, frame)
    if frame.endswith((".", "!", "?", "...")) and frame != "{run}...":
        text = capital(text)
    return re.sub(r"([ap]\.m\.)\.", r"\1", text)


def written(topic, seed, n, measured, seen):
    """Yields n new pairs of the topic, or as many as it has."""
    dice = random.Random(f"{topic} {seed}")
    choices = list(lines_of(frames.TOPICS[topic][1]))
    weights = [times for _, _, times in choices]
    misses = 0
    while n > 0 and misses < TRIES:
        french, english, _ = dice.choices(choices, weights)[0]
        sentence = draw.Draw(dice)
        pair = filled(french, 0, sentence), filled(english, 1, sentence)
        if pair in seen or any(collect.bare(side) in measured for side in pair):
            misses += 1
            continue
        misses = 0
        seen.add(pair)
        n -= 1
        yield pair


def main():
    parser = argparse.ArgumentParser(prog="grammar", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=130000,
                        help="of all topics together (default: 130000)")
    parser.add_argument("--topic", action="append", choices=frames.TOPICS, help="these alone")
    parser.add_argument("--away", action="append", default=[], metavar="FILE")
    flags = parser.parse_args()
    topics = flags.topic or list(frames.TOPICS)
    measured = {collect.bare(side) for path in flags.away for pair in collect.read(path)
                for side in pair}
    total = sum(frames.TOPICS[topic][0] for topic in topics)
    seen = set()
    for topic in topics:
        for pair in written(topic, flags.seed, round(flags.pairs * frames.TOPICS[topic][0] / total),
                            measured, seen):
            print("\t".join(pair))


if __name__ == "__main__":
    main()
