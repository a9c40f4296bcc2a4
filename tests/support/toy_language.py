# SPDX-License-Identifier: ISC
"""A toy language for tests of training, seeded: the same pairs on every machine.

    python3 tests/support/toy_language.py 400 > toy.tsv          400 pairs; a second number is the seed
    dragoman train --out toy RECIPE... toy.tsv                   RECIPES below: a model of every family in seconds
    tests/models/make.py                                         what they made is in tests/models

Each word has one translation; two words change places in the translation (an adjective follows
its noun), so that a network must look at more than the current word.
tests/integration/16_train_rnn.py trains and serves all the models, and asks them."""
import random
import sys

NOUNS = dict(zip("bato kemi lusa dorin feka".split(), "apple bread cloud dance earth".split()))
ADJECTIVES = dict(zip("miru sapo tenil".split(), "red old big".split()))
VERBS = dict(zip("vogu zari".split(), "sees eats".split()))

COMMON = ["--vocab-kind", "word", "--width", "32", "--dev-pairs", "20", "--threads", "1", "--batch-tokens", "400",
          "--warmup", "20", "--dropout", "0", "--average", "0.98", "--len-max", "12", "--steps", "260", "--valid-every",
          "130", "--valid-pairs", "8", "--seed", "1"]
RNN = ["--family", "rnn", "--rate", "0.01", "--schedule", "cosine"]
TRANSFORMER = ["--heads", "4", "--ffn", "64", "--encoder-layers", "1", "--decoder-layers", "1", "--rate", "0.005"]
RECIPES = {
    "transformer": TRANSFORMER,
    "transformer-pre": TRANSFORMER + ["--norm", "pre"],
    "relative": TRANSFORMER + ["--relative", "4"],
    "ssru": TRANSFORMER + ["--decoder", "ssru"],
    "average-attention": TRANSFORMER + ["--decoder", "aan", "--norm", "pre"],
    "tanh-location": RNN + ["--cell", "rnn", "--attention", "location", "--places", "12"],
    "gru-none": RNN + ["--cell", "gru", "--attention", "none"],
    "gru-additive": RNN + ["--cell", "gru", "--attention", "additive", "--bidirectional"],
    "lstm-dot": RNN + ["--cell", "lstm", "--attention", "dot", "--share-vocab"],
    "lstm-general": RNN + ["--cell", "lstm", "--attention", "general", "--encoder-layers", "2", "--decoder-layers", "2",
                           "--teacher-forcing", "0.8"],
}


def phrase(draw):
    """A noun phrase and its translation."""
    noun = draw.choice(sorted(NOUNS))
    if draw.random() < 0.5:
        adjective = draw.choice(sorted(ADJECTIVES))
        return f"{noun} {adjective}", f"{ADJECTIVES[adjective]} {NOUNS[noun]}"
    return noun, NOUNS[noun]


def sentence(draw):
    subject, verb, thing = phrase(draw), draw.choice(sorted(VERBS)), phrase(draw)
    return f"{subject[0]} {verb} {thing[0]}", f"{subject[1]} {VERBS[verb]} {thing[1]}"


def pairs(n, seed=1):
    draw = random.Random(seed)
    return [sentence(draw) for _ in range(n)]


if __name__ == "__main__":
    for source, target in pairs(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(f"{source}\t{target}")
