# SPDX-License-Identifier: ISC
"""Small data sets for the tasks of encoders alone, seeded: the same lines on every machine.

    python3 tests/support/reading_tasks.py DIR             mood.tsv topics.jsonl inference.tsv names.tsv ...
    dragoman train --out models/mood RECIPE... DIR/mood.tsv            RECIPES below: seconds each

The sentences are simple and all follow a rule, so that a network of some ten thousand numbers
learns the rule, and a test can ask about sentences that none of the lines contains.
tests/integration/16_train_read.py trains and serves a model of each, and asks it."""
import json
import os
import random
import sys

NAMES = "Anna Boris Clara David Emma Felix Greta Henry Irene Jonas Karin Louis Maria Nadia Oscar Paula".split()
CITIES = "Berlin Paris Oslo Rome Vienna Madrid Lisbon Athens Prague Dublin".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MOODS = {"good": "lovely great fine brilliant moving".split(), "bad": "awful poor dull sad boring".split()}
THINGS = "film book play song concert dinner".split()
STATES = [("happy", "glad", "sad", "unhappy"), ("rich", "wealthy", "poor", "penniless"), ("quick", "fast", "slow", "sluggish")]
NOUNS = dict(zip("bato kemi lusa dorin feka".split(), "apple bread cloud dance earth".split()))
ADJECTIVES = dict(zip("miru sapo tenil".split(), "red old big".split()))

SIZE = ["--width", "32", "--heads", "4", "--encoder-layers", "2", "--ffn", "64"]
COMMON = SIZE + ["--vocab-size", "400", "--len-max", "32", "--threads", "1", "--warmup", "20", "--dropout", "0", "--smoothing",
                 "0", "--average", "0.98", "--schedule", "cosine", "--seed", "1", "--patience", "0"]
RECIPES = {
    "mood": ["--task", "classify", "--family", "encoder", "--lowercase", "--steps", "100", "--rate", "0.004", "--batch-tokens",
             "400", "--valid-every", "50"],
    "topics": ["--task", "classify", "--labels", "any", "--family", "encoder", "--steps", "120", "--rate", "0.005", "--batch-tokens",
               "600", "--valid-every", "60"],
    "inference": ["--task", "classify", "--family", "encoder", "--steps", "300", "--rate", "0.005", "--batch-tokens", "800",
                  "--valid-every", "100"],
    "names": ["--task", "tag", "--steps", "100", "--rate", "0.004", "--batch-tokens", "400", "--valid-every", "50"],
    "questions": ["--task", "answer", "--steps", "150", "--rate", "0.005", "--batch-tokens", "600", "--valid-every", "50"],
    "quality": ["--task", "score", "--steps", "300", "--rate", "0.005", "--batch-tokens", "600", "--valid-every", "100"],
    "words": ["--task", "masked", "--steps", "300", "--rate", "0.005", "--batch-tokens", "600", "--valid-every", "100"],
}
FILES = {"mood": "mood.tsv", "topics": "topics.jsonl", "inference": "inference.tsv", "names": "names.tsv", "questions": "questions.jsonl",
         "quality": "quality.tsv", "words": "text.txt"}


def review(draw, mood):
    thing, word = draw.choice(THINGS), draw.choice(MOODS[mood])
    return draw.choice([f"The {thing} we saw was {word}.", f"What a {word} {thing}!", f"On {draw.choice(DAYS)} there was a {word} "
                        f"{thing} in {draw.choice(CITIES)}.", f"{draw.choice(NAMES)} found the {thing} {word}."])


def mood(draw):
    label = draw.choice(sorted(MOODS))
    return f"{label}\t{review(draw, label)}\n"


def topics(draw):
    """What a sentence mentions: any of a person, a place and a day."""
    spoken = [label for label in ("person", "place", "day") if draw.random() < 0.5]
    who = draw.choice(NAMES) if "person" in spoken else draw.choice(["somebody", "nobody", "everybody"])
    where = f" in {draw.choice(CITIES)}" if "place" in spoken else ""
    when = f" on {draw.choice(DAYS)}" if "day" in spoken else ""
    what = f"{draw.choice(['saw', 'liked', 'missed'])} the {draw.choice(THINGS)}"
    sentence = draw.choice([f"{who} {what}{where}{when}", f"{when} {who} {what}{where}", f"{where} {who} {what}{when}"]).strip()
    return json.dumps({"labels": spoken, "text": sentence + "."}) + "\n"


def inference(draw):
    """Whether the second sentence follows from the first, contradicts it, or neither: both use one
    scale of words, or two."""
    name, label = draw.choice(NAMES), draw.choice(["entailment", "contradiction", "neutral"])
    scale, other = draw.sample(range(len(STATES)), 2)
    side = draw.randrange(2)
    first = STATES[scale][2 * side + draw.randrange(2)]
    second = {"entailment": STATES[scale][2 * side + draw.randrange(2)],
              "contradiction": STATES[scale][2 - 2 * side + draw.randrange(2)],
              "neutral": STATES[other][draw.randrange(4)]}[label]
    return f"{label}\t{name} is {first}.\t{name} is {second}.\n"


def names(draw):
    """Lines of a sentence, a word and its label: people (PER) and places (LOC), some of them of two
    words."""
    name, city, day = draw.choice(NAMES), draw.choice(CITIES), draw.choice(DAYS)
    person = [(name, "B-PER")] + ([("Novak", "I-PER")] if draw.random() < 0.3 else [])
    place = [("New", "B-LOC"), (city, "I-LOC")] if draw.random() < 0.3 else [(city, "B-LOC")]
    plain = [(word, "O") for word in draw.choice(["went to", "lives in", "came from", "writes from"]).split()]
    when = [("on", "O"), (day, "O")] if draw.random() < 0.5 else []
    words = draw.choice([person + plain + place + when + [(".", "O")],
                         [("In", "O")] + place + [("we", "O"), ("met", "O")] + person + when + [(".", "O")]])
    return "".join(f"{word}\t{label}\n" for word, label in words) + "\n"


def question(draw):
    name, city, day = draw.choice(NAMES), draw.choice(CITIES), draw.choice(DAYS)
    context = draw.choice([f"On {day} {name} was in {city}.", f"{name} was seen in {city} on {day}.",
                           f"It was {name} who came to {city} last {day}."])
    ask, answer = draw.choice([("Who was it?", name), ("Where was it?", city), ("When was it?", day), ("Why was it?", "")])
    item = {"question": ask, "context": context, "answer": answer}
    if answer:
        item["start"] = context.index(answer)
    return json.dumps(item) + "\n"


def quality(draw):
    """A phrase of the toy language, a translation of it, and how good that is; the noun counts
    most."""
    noun, adjective = draw.choice(sorted(NOUNS)), draw.choice(sorted(ADJECTIVES))
    right, apt = draw.random() < 0.5, draw.random() < 0.5
    said = NOUNS[noun] if right else draw.choice(sorted(set(NOUNS.values()) - {NOUNS[noun]}))
    how = ADJECTIVES[adjective] if apt else draw.choice(sorted(set(ADJECTIVES.values()) - {ADJECTIVES[adjective]}))
    return f"{noun} {adjective}\t{how} {said}\t{0.6 * right + 0.4 * apt:.1f}\n"


def text(draw):
    name, city, day = draw.choice(NAMES), draw.choice(CITIES), draw.choice(DAYS)
    return draw.choice([f"On {day} {name} was in {city}.", f"{name} lives in {city} and writes on {day}.",
                        f"The train from {city} leaves on {day}."]) + "\n"


LINES = {"mood": (mood, 300), "topics": (topics, 500), "inference": (inference, 900), "names": (names, 300), "questions": (question, 500),
         "quality": (quality, 900), "words": (text, 600)}


def write(directory, *which):
    """Writes the files of these sets, or of all sets."""
    for name in which or LINES:
        make, n = LINES[name]
        draw = random.Random(1)
        with open(os.path.join(directory, FILES[name]), "w", encoding="utf-8") as out:
            out.write("".join(make(draw) for _ in range(n)))


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    write(sys.argv[1])
