#!/usr/bin/python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Translates English sentences that have no French side, with a model from English to French:

    back.py [--judge FR-EN] [--beam N] EN-FR KNOWN.tsv HELD-OUT.tsv OUT.tsv [DRAGOMAN] < ENGLISH

Sentences that are already in KNOWN or HELD-OUT (lines French<TAB>English) are left out; only
letters and digits are compared. OUT gets lines French<TAB>English of the other sentences.

Without a judge the French is the result of a search of width N (1: greedy). That is good enough for
learning to write English, since the English is what people wrote. With a judge EN-FR gives four
answers by a beam of four, and the judge, which translates back, says from which of them the English
would most likely follow; answers from which it would hardly follow are left out. EN-FR itself can
learn from the rest."""
import argparse
import json
import re
import subprocess
import sys

LEN_MAX = 200
N_BEST = 4
OWN_SHARE = 0.5  # the weight of EN-FR's own log-probability; the judge's has weight 1
LEAST = -1.0     # the judge's mean log-probability of the English tokens must be above this


def bare(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def english_of(path):
    with open(path, encoding="utf-8") as lines:
        return {bare(line.rstrip("\n").split("\t")[1]) for line in lines}


def new_sentences(lines, seen):
    kept = []
    for line in sorted(set(lines)):
        key = bare(line)
        if key and key not in seen and len(line) <= LEN_MAX:
            seen.add(key)
            kept.append(line.rstrip("\n"))
    return kept


def run(program, command, model, lines, *options):
    done = subprocess.run([program, command, "--model", model, *options], stdout=subprocess.PIPE, check=True, encoding="utf-8",
                          input="".join(line + "\n" for line in lines))
    return done.stdout.splitlines()


def likeliest(program, model, english, beam):
    french = run(program, "translate", model, english, "-q", "--beam", str(beam), "--whole-lines", "--threads", "2")
    if len(french) != len(english):
        sys.exit(f"back.py: {len(english)} sentences, {len(french)} translations")
    return list(zip(french, english))


def answers_of(program, model, english):
    """(French, English, mean log-probability) of every answer that reached its end, best first."""
    found = []
    for text, line in zip(english, run(program, "translate", model, english, "-q", "--beam", str(N_BEST), "--nbest", str(N_BEST),
                                       "--json", "--whole-lines", "--threads", "2")):
        said = set()
        for answer in json.loads(line)["sentences"][0]["answers"]:
            if answer["finish"] == "eos" and "\t" not in answer["text"] and answer["text"] not in said:
                said.add(answer["text"])
                found.append((answer["text"], text, answer["logprob"] / len(answer["ids"])))
    return found


def judged(program, model, judge, english):
    answers, best = answers_of(program, model, english), {}
    scores = run(program, "score", judge, [f"{french}\t{text}" for french, text, _ in answers])
    for (french, text, own), line in zip(answers, scores):
        score = json.loads(line)
        if "logprob" not in score:
            continue
        back = score["logprob"] / len(score["token_logprobs"])
        if text not in best or OWN_SHARE * own + back > best[text][0]:
            best[text] = OWN_SHARE * own + back, back, french
    return [(french, text) for text, (_, back, french) in best.items() if back > LEAST]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--judge")
    parser.add_argument("--beam", type=int, default=1)
    for name in "model", "known", "held_out", "out":
        parser.add_argument(name)
    parser.add_argument("program", nargs="?", default="dragoman")
    asked = parser.parse_args()
    english = new_sentences(sys.stdin, english_of(asked.known) | english_of(asked.held_out))
    pairs = (judged(asked.program, asked.model, asked.judge, english) if asked.judge else
             likeliest(asked.program, asked.model, english, asked.beam))
    with open(asked.out, "w", encoding="utf-8") as out:
        out.writelines(f"{french}\t{text}\n" for french, text in pairs)
    print(f"back.py: {len(pairs)} pairs", file=sys.stderr)


if __name__ == "__main__":
    main()
