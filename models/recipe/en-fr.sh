#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes models/en-fr, as it was first made:
#
#     models/recipe/en-fr.sh DATA JUDGE OUT [DRAGOMAN]
#
# DATA contains the collections that models/en-fr/card.md names, as lines French<TAB>English (and
# German<TAB>English or Korean<TAB>English). JUDGE is the French-to-English model that was embedded
# before (4 encoder layers and 2 decoder layers, 8,001 pieces, 8.0 MB). OUT gets six stretches of
# training and the model in 8 bits. The embedded model took 4 h 44 min of one core, or of two that
# did other work as well. (Its fragments were drawn before fragments.py had its present form, but as
# many and by the same rules, and its first stretch ran on one core for its first 38 minutes: the
# recipe is the same, the bits are not.)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$1 judge=$2 out=$3 tool=${4:-dragoman}
mkdir -p "$out"
zcat "$data/tatoeba.fr-en.train.tsv.gz" >"$out/everyday.tsv"
python3 "$here/fragments.py" "$out/everyday.tsv" "$out" "$tool"
zcat "$data/laws.fr-en.tsv.gz" | awk 'NR % 3 == 0' | gzip >"$out/laws-third.fr-en.tsv.gz"
zcat "$data/laws.fr-en.tsv.gz" | awk 'NR % 3 == 2' | gzip >"$out/laws-other.fr-en.tsv.gz"
manuals="$data/php-docs.fr-en.tsv.gz $data/python-docs.fr-en.tsv.gz $data/gnome-docs.fr-en.tsv.gz $data/tldr.fr-en.tsv.gz"
common="--swap --dev $data/tatoeba.fr-en.dev.tsv.gz --batch-tokens 2560 --dropout 0.1 --valid-every 500 --patience 0"

# 1. Training from nothing; the learning rate falls as 1/sqrt(steps).
# shellcheck disable=SC2086
"$tool" train --out "$out/1" $common --vocab-size 5500 --width 256 --encoder-layers 4 --decoder-layers 1 --ffn 1024 --norm pre \
    --rate 0.003 --warmup 500 --average 0.999 --guided-attention 0.3 --steps 4500 --repeat 4,1,1,2,2,1 \
    "$data/tatoeba.fr-en.train.tsv.gz" $manuals "$out/laws-third.fr-en.tsv.gz"

# 2. Fragments and single words are added; the rate is lowered to 0.
# shellcheck disable=SC2086
"$tool" train --out "$out/2" --init "$out/1" $common --rate 0.001 --warmup 60 --schedule constant --steps 2600 --cooldown 2540 \
    --average 0.998 --guided-attention 0.3 --repeat 4,1,1,2,2,1,4,10 \
    "$data/tatoeba.fr-en.train.tsv.gz" $manuals "$out/laws-third.fr-en.tsv.gz" "$out/bare.fr-en.tsv" "$out/lexicon.fr-en.tsv"

# 3. A short stretch with the phrases that people try first and that everyday sentences hardly
# contain.
# shellcheck disable=SC2086
"$tool" train --out "$out/3" --init "$out/2" $common --rate 0.0003 --warmup 20 --schedule linear --steps 240 --average 0.98 \
    --threads 1 --repeat 1,1,1,1,1,1,3,100 \
    "$data/tatoeba.fr-en.train.tsv.gz" $manuals "$out/bare.fr-en.tsv" "$out/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"

# 4. Training goes on from there; the rate is kept high once more.
# shellcheck disable=SC2086
"$tool" train --out "$out/4" --init "$out/3" $common --rate 0.0008 --warmup 60 --schedule constant --steps 1000 --average 0.998 \
    --guided-attention 0.3 --threads 1 --repeat 4,1,1,2,2,1,3,10 \
    "$data/tatoeba.fr-en.train.tsv.gz" $manuals "$out/laws-third.fr-en.tsv.gz" "$out/bare.fr-en.tsv" "$out/lexicon.fr-en.tsv"

# 5. English sentences that have no French side in DATA are added, as translated by the third
# stretch's model and judged by JUDGE, which had itself learned from that model's translations; and
# the phrases. The rate is lowered to 0.
"$tool" quantize --type i8 "$out/3" "$out/3.i8"
zcat "$data/tatoeba.fr-en.dev.tsv.gz" >"$out/dev.tsv"
zcat "$data/tatoeba.de-en.tsv.gz" "$data/tatoeba.ko-en.tsv.gz" | cut -f2 |
    python3 "$here/back.py" --judge "$judge" "$out/3.i8" "$out/everyday.tsv" "$out/dev.tsv" "$out/back.tsv" "$tool"
# shellcheck disable=SC2086
"$tool" train --out "$out/5" --init "$out/4" $common --rate 0.0008 --warmup 40 --schedule constant --steps 3000 --cooldown 2800 \
    --average 0.998 --guided-attention 0.2 --threads 1 --repeat 4,2,1,1,2,2,1,3,10,40 \
    "$data/tatoeba.fr-en.train.tsv.gz" "$out/back.tsv" $manuals "$out/laws-third.fr-en.tsv.gz" "$out/bare.fr-en.tsv" \
    "$out/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"

# 6. The same once more, but with a higher rate at the beginning and laws that the model had not
# seen.
# shellcheck disable=SC2086
"$tool" train --out "$out/6" --init "$out/5" $common --rate 0.001 --warmup 40 --schedule constant --steps 3700 --cooldown 3500 \
    --average 0.998 --guided-attention 0.2 --threads 1 --repeat 4,2,1,1,2,2,1,3,10,40 \
    "$data/tatoeba.fr-en.train.tsv.gz" "$out/back.tsv" $manuals "$out/laws-other.fr-en.tsv.gz" "$out/bare.fr-en.tsv" \
    "$out/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"

"$tool" quantize --type i8 "$out/6" "$out/en-fr"
# The length penalty of its config.json, 1.6, was chosen afterwards, on dev.tsv.
