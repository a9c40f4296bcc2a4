#!/bin/sh
# SPDX-License-Identifier: ISC
# How models/fr-en was made:
#
#     models/recipe/fr-en.sh DATA FIRST OUT [DRAGOMAN]
#
# DATA has the collections that models/fr-en/card.md names, as lines French<TAB>English (and German or Korean<TAB>English).
# FIRST is the model that was embedded before, which knew everyday sentences only. OUT gets three stretches of
# training and the model in 8 bits.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$1 first=$2 out=$3 tool=${4:-dragoman}
mkdir -p "$out"
zcat "$data/tatoeba.fr-en.train.tsv.gz" >"$out/everyday.tsv"
zcat "$data/tatoeba.fr-en.dev.tsv.gz" >"$out/dev.tsv"
python3 "$here/fragments.py" "$out/everyday.tsv" "$out" "$tool"
zcat "$data/tatoeba.de-en.tsv.gz" "$data/tatoeba.ko-en.tsv.gz" | cut -f2 |
    python3 "$here/back.py" "$here/../en-fr" "$out/everyday.tsv" "$out/dev.tsv" "$out/back.tsv" "$tool"

# Pairs that FIRST can spell: its 8,000 pieces were made of everyday sentences.
spelled() {
    "$tool" tokenize --model "$first" --format ids <"$1.$2" | awk '{ print / 1 | 1$|^1 |^1$/ ? 0 : 1 }' >"$1.$2.ok"
}
for name in php-docs python-docs gnome-docs tldr laws; do
    zcat "$data/$name.fr-en.tsv.gz" | if [ $name = laws ]; then awk 'NR % 3 == 0'; else cat; fi >"$out/$name.all"
    cut -f1 "$out/$name.all" >"$out/$name.fr"
    cut -f2 "$out/$name.all" >"$out/$name.en"
    spelled "$out/$name" fr
    spelled "$out/$name" en
    paste "$out/$name.fr.ok" "$out/$name.en.ok" "$out/$name.all" | awk -F'\t' '$1 && $2 { print $3 "\t" $4 }' >"$out/$name.tsv"
    rm "$out/$name.all" "$out/$name.fr" "$out/$name.en" "$out/$name.fr.ok" "$out/$name.en.ok"
done
common="--dev $out/dev.tsv --batch-tokens 2560 --dropout 0.1 --valid-every 500 --patience 0"

# 1. From FIRST, the rate held, then led down to nothing.
# shellcheck disable=SC2086
"$tool" train --out "$out/1" --init "$first" $common --rate 0.0005 --warmup 300 --schedule constant --steps 4500 --cooldown 3000 \
    --average 0.999 --guided-attention 0.2 --repeat 4,2,1,1,2,2,1,1,4 "$out/everyday.tsv" "$out/back.tsv" "$out/php-docs.tsv" \
    "$out/python-docs.tsv" "$out/gnome-docs.tsv" "$out/tldr.tsv" "$out/laws.tsv" "$out/bare.fr-en.tsv" "$out/lexicon.fr-en.tsv"

# 2. A short last stretch with the phrases that people try first.
# shellcheck disable=SC2086
"$tool" train --out "$out/2" --init "$out/1" $common --rate 0.0001 --warmup 20 --schedule linear --steps 160 --average 0.98 \
    --guided-attention 0.2 --repeat 2,1,1,1,1,1,1,2,60 "$out/everyday.tsv" "$out/back.tsv" "$out/php-docs.tsv" "$out/python-docs.tsv" \
    "$out/gnome-docs.tsv" "$out/tldr.tsv" "$out/laws.tsv" "$out/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"

# 3. The same with a part of the other data, so that the phrases, which --repeat counts 100 times at most, weigh more.
part() {
    awk -v every="$2" 'NR % every == 0' "$out/$1" >"$out/part-$1"
}
part everyday.tsv 4
part back.tsv 6
part php-docs.tsv 18
part python-docs.tsv 11
part gnome-docs.tsv 4
part laws.tsv 28
# shellcheck disable=SC2086
"$tool" train --out "$out/3" --init "$out/2" $common --rate 0.0001 --warmup 20 --schedule linear --steps 120 --average 0.97 \
    --repeat 1,1,1,1,1,1,2,100 "$out/part-everyday.tsv" "$out/part-back.tsv" "$out/part-php-docs.tsv" "$out/part-python-docs.tsv" \
    "$out/part-gnome-docs.tsv" "$out/part-laws.tsv" "$out/lexicon.fr-en.tsv" "$here/phrases.fr-en.tsv"

"$tool" quantize --type i8 "$out/3" "$out/fr-en"
