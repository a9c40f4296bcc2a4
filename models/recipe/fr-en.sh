#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes models/fr-en as it was first made: after models/en-fr (en-fr.sh), and from its weights:
#
#     models/recipe/fr-en.sh DATA EN-FR TEACHER OUT [DRAGOMAN]
#
# DATA contains the collections that models/fr-en/card.md names, as lines French<TAB>English (and
# German<TAB>English or Korean<TAB>English). EN-FR is the directory that en-fr.sh made: training
# begins with the weights and the pieces of its sixth stretch. TEACHER is the model that was
# embedded before (4 encoder layers and 2 decoder layers, 8,001 pieces, 8.0 MB). OUT gets two
# stretches of training and the model in 8 bits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$1 enfr=$2 teacher=$3 out=$4 tool=${5:-dragoman}
mkdir -p "$out"
zcat "$data/tatoeba.fr-en.train.tsv.gz" >"$out/everyday.tsv"
zcat "$data/tatoeba.fr-en.dev.tsv.gz" >"$out/dev.tsv"
zcat "$data/laws.fr-en.tsv.gz" | awk 'NR % 3 == 2 && ++n % 2 == 0' >"$out/laws.tsv"
manuals="$data/php-docs.fr-en.tsv.gz $data/python-docs.fr-en.tsv.gz $data/gnome-docs.fr-en.tsv.gz $data/tldr.fr-en.tsv.gz"

# English sentences that have no French side in DATA get two: the one that en-fr.sh had translated
# and judged, and the translation by its sixth stretch.
"$tool" quantize --type i8 "$enfr/6" "$out/en-fr.i8"
zcat "$data/tatoeba.de-en.tsv.gz" "$data/tatoeba.ko-en.tsv.gz" | cut -f2 |
    python3 "$here/back.py" --beam 4 "$out/en-fr.i8" "$out/everyday.tsv" "$out/dev.tsv" "$out/back.tsv" "$tool"
# The teacher's translations of the everyday sentences. (For the embedded model a script picked the
# answers by the same rule, but its chrF is the mean over the orders and leaves out word
# boundaries.)
"$tool" distill --model "$teacher" --least 50 "$out/everyday.tsv" >"$out/taught.tsv"
more="$manuals $out/laws.tsv $enfr/bare.fr-en.tsv $enfr/lexicon.fr-en.tsv $here/phrases.fr-en.tsv"
common="--dev $out/dev.tsv --batch-tokens 2560 --dropout 0.1 --patience 0 --guided-attention 0.2 --rate 0.0015 --schedule constant"

# 1. The direction is reversed.
# shellcheck disable=SC2086
"$tool" train --out "$out/1" --init "$enfr/6" $common --threads 1 --warmup 100 --steps 1500 --average 0.99 --valid-every 250 \
    --repeat 6,2,1,1,1,2,2,1,2,8,10 "$out/everyday.tsv" "$enfr/back.tsv" "$out/back.tsv" $more

# 2. The teacher's answers are added to the pairs; the rate is lowered to 0. (The embedded model was
# trained with one thread until step 913, then with two. Until step 5,339 its rate was set as if
# training were to end at step 9,600.)
# shellcheck disable=SC2086
"$tool" train --out "$out/2" --init "$out/1" $common --threads 2 --warmup 50 --steps 8600 --cooldown 5600 --average 0.998 --valid-every 500 \
    --seed 17 --repeat 5,3,2,1,1,1,2,2,1,2,8,20 "$out/everyday.tsv" "$out/taught.tsv" "$enfr/back.tsv" "$out/back.tsv" $more

"$tool" quantize --type i8 "$out/2" "$out/fr-en"
# The length penalty of its config.json, 1.6, was chosen afterwards, on dev.tsv.
