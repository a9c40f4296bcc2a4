#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes the quality estimator of models/fr-en whose figures docs/training/reference.md gives:
#
#     models/recipe/quality-fr-en.sh DATA OUT [DRAGOMAN [MODEL]]
#
# DATA contains tatoeba.fr-en.train.tsv.gz and tatoeba.fr-en.dev.tsv.gz, lines French<TAB>English.
# OUT gets the rows to learn from and two stretches of training; the estimator is OUT/2. All this
# takes some three minutes of one core. (The rows of the estimator that has those figures were made
# by the same translator and search, but with dragoman translate and dragoman eval.)
set -eu
data=$1 out=$2 tool=${3:-dragoman} model=${4:-models/fr-en}
mkdir -p "$out"
zcat "$data/tatoeba.fr-en.train.tsv.gz" >"$out/pairs.tsv"
rows() { # LINES OPTION...: the translator's output for these lines, as rows
    lines=$1
    shift
    sed -n "$lines" "$out/pairs.tsv" | "$tool" quality --rows --translator "$model" "$@"
}

# The lessons: translations of 57,000 pairs; of 6,000 other pairs, with words drawn at random; and
# 1,500 that belong to another line.
{ rows 1,40000p; rows 80001,97099p; } >"$out/greedy.tsv"
rows 40001,46000p --sample >"$out/drawn.tsv"
rows 1,1501p --wrong 100 | sed 1d >"$out/wrong.tsv"
# 2,625 pairs to fit the curve; the first 1,000 also show how training goes.
rows 163001,165625p >"$out/held.tsv"
zcat "$data/tatoeba.fr-en.dev.tsv.gz" | "$tool" quality --rows --translator "$model" >"$out/dev.tsv"

# 1. The estimator learns the chrF itself.
cat "$out/greedy.tsv" "$out/drawn.tsv" "$out/wrong.tsv" | cut -f1-3 >"$out/lessons.tsv"
head -1000 "$out/held.tsv" | cut -f1-3 >"$out/watch.tsv"
"$tool" train --task score --out "$out/1" --dev "$out/watch.tsv" --width 64 --heads 4 --encoder-layers 2 --ffn 128 --vocab-size 4000 \
    --batch-tokens 1024 --rate 0.002 --warmup 100 --schedule linear --steps 2600 --dropout 0.05 --average 0.99 --threads 1 \
    --valid-every 250 "$out/lessons.tsv"

# 2. It learns what the log-probability does not tell: the chrF minus the chrF that the
# log-probability alone predicts (by least squares over the held-out pairs), halved and centred on
# one half.
left() {
    awk -F'\t' '{ t = 0.5 + ($3 - (-1.032 - 0.604 * $4 + 2.07 * exp($4))) / 2
                  printf "%s\t%s\t%.4f\n", $1, $2, (t < 0 ? 0 : t > 1 ? 1 : t) }'
}
left <"$out/greedy.tsv" | shuf --random-source="$out/pairs.tsv" >"$out/lessons-2.tsv"
head -1000 "$out/held.tsv" | left >"$out/watch-2.tsv"
"$tool" train --task score --init "$out/1" --out "$out/2" --dev "$out/watch-2.tsv" --batch-tokens 1024 --rate 0.0015 --warmup 50 \
    --schedule linear --steps 1000 --dropout 0.05 --average 0.99 --threads 2 --valid-every 200 --metric task "$out/lessons-2.tsv"

"$tool" quality --fit --judges fr-en --model "$out/2" <"$out/held.tsv"
"$tool" quality --test --model "$out/2" <"$out/dev.tsv"
