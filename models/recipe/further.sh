#!/bin/sh
# SPDX-License-Identifier: ISC
# Trains models/en-fr and models/fr-en further, each with the other's translations, after en-fr.sh
# and fr-en.sh:
#
#     models/recipe/further.sh DATA EN-FR FR-EN MADE OUT [DRAGOMAN]
#
# DATA contains the collections that the models' cards name. EN-FR and FR-EN are the two models in
# 8 bits (training of the embedded models went on from those bytes). MADE is the directory that
# en-fr.sh made; its fragments are used. OUT gets the pairs that the models make for each other, a
# stretch of training of each model, two more short stretches of en-fr, and both models in 8 bits.
# Making the pairs takes some twenty minutes of two cores, each long stretch about an hour of one
# core, and each short stretch some five minutes of both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$1 enfr=$2 fren=$3 made=$4 out=$5 tool=${6:-dragoman}
mkdir -p "$out"
zcat "$data/tatoeba.fr-en.train.tsv.gz" >"$out/everyday.tsv"
zcat "$data/tatoeba.fr-en.dev.tsv.gz" >"$out/dev.tsv"
zcat "$data/tatoeba.de-en.tsv.gz" "$data/tatoeba.ko-en.tsv.gz" | cut -f2 >"$out/english.txt"
# Every 97th law is left out: the cards' figure for laws is measured on these.
zcat "$data/laws.fr-en.tsv.gz" | awk 'NR % 97 != 3 && NR % 6 == 2' >"$out/laws.tsv"
manuals="$data/php-docs.fr-en.tsv.gz $data/python-docs.fr-en.tsv.gz $data/gnome-docs.fr-en.tsv.gz $data/tldr.fr-en.tsv.gz"
small="$made/bare.fr-en.tsv $made/lexicon.fr-en.tsv $here/phrases.fr-en.tsv"

# draw MODEL SEED TEMPERATURE IN: draws translations at random instead of taking the likeliest, so
# that the sources it makes vary.
draw() { "$tool" translate -q -m "$1" --sample --top-k 8 --seed "$2" --temperature "$3" --whole-lines <"$4"; }

# English sentences that have no French side in DATA get: the likeliest French; French drawn at
# random; and, for en-fr to learn from, the one of four answers from which fr-en would best give the
# English.
python3 "$here/back.py" --beam 4 "$enfr" "$out/everyday.tsv" "$out/dev.tsv" "$out/back.tsv" "$tool" <"$out/english.txt"
cut -f2 "$out/back.tsv" >"$out/back.en"
draw "$enfr" 7 0.8 "$out/back.en" | paste - "$out/back.en" >"$out/drawn.tsv"
python3 "$here/back.py" --judge "$fren" "$enfr" "$out/everyday.tsv" "$out/dev.tsv" "$out/judged.tsv" "$tool" <"$out/english.txt"

# The everyday sentences with one side replaced by a translation of the other side, drawn at random;
# and for each model the one of its own translations that is nearest to the given one.
cut -f1 "$out/everyday.tsv" >"$out/everyday.fr"
cut -f2 "$out/everyday.tsv" >"$out/everyday.en"
draw "$enfr" 11 0.9 "$out/everyday.en" | paste - "$out/everyday.en" >"$out/other-french.tsv"
draw "$fren" 13 0.9 "$out/everyday.fr" | paste "$out/everyday.fr" - >"$out/other-english.tsv"
"$tool" distill --model "$fren" --beam 8 --least 50 "$out/everyday.tsv" >"$out/own-english.tsv"
"$tool" distill --model "$enfr" --swap --beam 8 --least 50 "$out/everyday.tsv" | awk -F '\t' '{ print $2 "\t" $1 }' >"$out/own-french.tsv"

common="--dev $out/dev.tsv --batch-tokens 2560 --threads 1 --dropout 0.1 --patience 0 --guided-attention 0.2 --rate 0.001 --warmup 60 \
    --schedule constant --average 0.998 --seed 21"

# shellcheck disable=SC2086
"$tool" train --out "$out/en-fr" --init "$enfr" --swap $common --steps 3528 --cooldown 3200 --repeat 6,1,2,2,1,1,2,2,1,2,10,30 \
    "$out/everyday.tsv" "$out/own-french.tsv" "$out/judged.tsv" "$out/other-english.tsv" $manuals "$out/laws.tsv" $small
# (Until step 510, the rate of the embedded model was set as if training were to end at step 5,000.)
# shellcheck disable=SC2086
"$tool" train --out "$out/fr-en" --init "$fren" $common --steps 3650 --cooldown 3240 --repeat 5,1,2,2,1,1,1,2,2,1,2,8,20 \
    "$out/everyday.tsv" "$out/own-english.tsv" "$out/back.tsv" "$out/drawn.tsv" "$out/other-french.tsv" $manuals "$out/laws.tsv" $small

# Each model becomes a blend: three quarters of the way from its old weights to its new ones.
# fr-en's blend is better on all sets than either end: the new weights had become worse on the laws,
# which count less in this stretch than before.
for model in en-fr fr-en; do
    old=$enfr
    [ "$model" = en-fr ] || old=$fren
    "$tool" quantize -q --type f16 "$old" "$out/$model.before"
    python3 "$here/blend.py" "$out/$model.before" "$out/$model" 0.75 "$out/$model.blend"
done

# en-fr was still worse on the laws than before, so two short stretches follow in which they count
# more; each result is blended about half and half with what came before.
some() { shuf -n "$1" --random-source="$2"; }
# of_all FILE RANDOM-SOURCE NUMBERS...: writes that many pairs of each collection to FILE
of_all() {
    file=$1 by=$2
    shift 2
    {
        some "$1" "$by" <"$out/everyday.tsv"
        some "$2" "$by" <"$out/judged.tsv"
        some "$3" "$by" <"$out/other-english.tsv"
        some "$4" "$by" <"$out/own-french.tsv"
        zcat "$data/php-docs.fr-en.tsv.gz" | some "$5" "$by"
        zcat "$data/python-docs.fr-en.tsv.gz" | some "$6" "$by"
        zcat "$data/gnome-docs.fr-en.tsv.gz" | some "$7" "$by"
        zcat "$data/tldr.fr-en.tsv.gz" | some "$8" "$by"
        some "$9" "$by" <"$made/bare.fr-en.tsv"
    } >"$file"
}
# go_on FROM TO STEPS RATE SEED PAIRS LAWS
go_on() {
    "$tool" train --out "$2" --init "$1" --swap --dev "$out/dev.tsv" --batch-tokens 2560 --threads 2 --dropout 0.1 --patience 0 \
        --guided-attention 0.2 --rate "$4" --warmup 20 --schedule linear --steps "$3" --average 0.99 --valid-every 250 --seed "$5" \
        --repeat 1,1,1,8 "$6" "$7" "$made/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"
}
zcat "$data/laws.fr-en.tsv.gz" | awk 'NR % 97 != 3 && NR % 3 == 1' >"$out/last-laws.tsv"
some 36000 "$out/everyday.tsv" <"$out/last-laws.tsv" >"$out/laws-4.tsv"
of_all "$out/of-all-4.tsv" "$out/everyday.tsv" 70000 20000 15000 15000 7000 5000 2000 1500 5000
go_on "$out/en-fr.blend" "$out/en-fr.4" 500 0.0004 22 "$out/of-all-4.tsv" "$out/laws-4.tsv"
python3 "$here/blend.py" "$out/en-fr.blend" "$out/en-fr.4" 0.6 "$out/en-fr.4.blend"

awk 'NR % 2 == 0' "$out/last-laws.tsv" | some 26000 "$out/everyday.fr" >"$out/laws-5.tsv"
of_all "$out/of-all-5.tsv" "$out/everyday.fr" 100000 20000 15000 10000 3000 2500 1000 1000 4000
go_on "$out/en-fr.4.blend" "$out/en-fr.5" 450 0.0003 23 "$out/of-all-5.tsv" "$out/laws-5.tsv"
python3 "$here/blend.py" "$out/en-fr.4.blend" "$out/en-fr.5" 0.5 "$out/en-fr.5.blend"

"$tool" quantize --type i8 "$out/en-fr.5.blend" "$out/en-fr.i8"
"$tool" quantize --type i8 "$out/fr-en.blend" "$out/fr-en.i8"
# Both config.json files keep the length penalty of 1.6.
