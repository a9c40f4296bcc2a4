#!/bin/sh
# SPDX-License-Identifier: ISC
# How the default models become twice as large, and go on learning whenever a machine has time:
#
#     models/recipe/larger.sh DATA OLD OUT [DRAGOMAN [OPTION...]]
#
# DATA has the collections (lines French<TAB>English), OLD is the embedded fr-en. The first call
# prepares the pairs in OUT/pairs and the larger network in OUT/grown, and begins to train
# OUT/fr-en; each further call goes on from the last checkpoint. SIGTERM ends it in good order at
# any time. OPTIONs go to dragoman train each time, as --threads 1 or --time 2h.
#
# Why this network: two models of 12 MB are allowed, of which each matrix element in 8 bits is a
# byte. 9,000 pieces cut news, web and knowledge into a tenth fewer tokens than the 5,500 before and
# take a fifth of the numbers; 6 layers of encoder and 2 of decoder, the feed-forward layers 1,536
# wide, are the shape of the student networks of fast translators, with most of the depth where a
# sentence costs it once. 11.26 million numbers, 11.7 MB with the vocabulary. The width stays 256,
# so that the network need not begin from nothing: grow.py adds layers and units that are silent at
# first.
#
# Why two models and not one with both directions: of equal size the one would have half the room
# for each, at the same price of a step; and a step of the one teaches either direction half as
# much.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$1 old=$2 out=$3 tool=${4:-dragoman}
shift 3
[ $# = 0 ] || shift
mkdir -p "$out"
if [ -e "$out/fr-en/training/recipe.conf" ]; then
    exec "$tool" train --resume "$out/fr-en" "$@"
fi

pairs=$out/pairs
dev="$data/tatoeba.fr-en.dev.tsv.gz $data/news-test2008.fr-en.dev.tsv.gz"
human="tatoeba.fr-en.train=200 laws.fr-en=60/6 php-docs.fr-en=40 python-docs.fr-en=40 gnome-docs.fr-en=10 tldr.fr-en=10
    literature.fr-en=80 games.fr-en=60 government.fr-en=60 web.fr-en=80 health.fr-en=40 europarl.fr-en=100 manuals.fr-en=20
    dialogue.fr-en=60 bible.fr-en=0 news.fr-en=60 words.fr-en=0 names.fr-en=0"
ours="written-daily.fr-en=60 written-work.fr-en=60 written-web.fr-en=60 written-news.fr-en=120 written-knowledge.fr-en=120
    written-words.fr-en=60 written-lexicon.fr-en=0"
# How often each counts in an epoch, in this order; then fragments, single words, phrases and
# grammars.
counts=3,1,1,1,2,2,2,1,2,3,3,6,1,4,1,15,1,2,7,7,7,7,7,7,3,2,3,20,1

# The pairs, without what is measured on and what is held out.
files=
for one in $human; do files="$files $data/${one%%=*}.tsv.gz=${one#*=}"; done
for one in $ours; do files="$files $here/written/${one%%=*}.tsv.gz=${one#*=}"; done
# shellcheck disable=SC2086
/usr/bin/python3 "$here/collect.py" "$pairs" $dev -- $files
away=
for one in $dev; do away="$away --away $one"; done
# shellcheck disable=SC2086
grammar() { /usr/bin/python3 "$here/grammar" $away "$@"; }
grammar --seed 99 --pairs 700 | shuf -n 150 --random-source="$pairs/dev.tsv" >"$pairs/held/grammar.tsv"
grammar --away "$pairs/dev.tsv" --away "$pairs/held/grammar.tsv" >"$pairs/grammar.fr-en.tsv"
learned=
for one in $human $ours; do learned="$learned $pairs/${one%%=*}.tsv"; done
{
    cat "$pairs/tatoeba.fr-en.train.tsv" "$pairs/grammar.fr-en.tsv"
    for one in daily work words web news knowledge; do cat "$pairs/written-$one.fr-en.tsv"; done
} >"$out/sentences.tsv"
/usr/bin/python3 "$here/fragments.py" "$out/sentences.tsv" "$out/made" "$tool"
learned="$learned $out/made/bare.fr-en.tsv $out/made/lexicon.fr-en.tsv $here/phrases.fr-en.tsv $pairs/grammar.fr-en.tsv"
# shellcheck disable=SC2086
/usr/bin/python3 "$here/apart.py" $dev "$pairs/dev.tsv" "$pairs/held/grammar.tsv" -- $learned

# The vocabulary: what the model is for counts more than what there is most of.
{
    for _ in 1 2 3 4; do cat "$pairs"/written-*.tsv; done
    for _ in 1 2; do cat "$pairs/tatoeba.fr-en.train.tsv" "$pairs/europarl.fr-en.tsv" "$pairs/news.fr-en.tsv"; done
    for one in literature games government web health dialogue manuals tldr gnome-docs names; do cat "$pairs/$one.fr-en.tsv"; done
    awk 'NR % 3 == 0' "$pairs/laws.fr-en.tsv" "$pairs/php-docs.fr-en.tsv" "$pairs/python-docs.fr-en.tsv" "$pairs/words.fr-en.tsv"
} | tr '\t' '\n' >"$out/vocab.txt"
"$tool" train-vocab --kind bpe --size 9000 --byte-fallback "$out/vocab.spm" "$out/vocab.txt"

"$tool" quantize -q --type f16 "$old" "$out/old"
/usr/bin/python3 "$here/grow.py" "$out/old" "$out/vocab.spm" "$out/grown" 6 2 1536

# (The run that is under way had no grammars in its first 500 steps, and went on from their model
# with all of this.)
# shellcheck disable=SC2086
exec "$tool" train --out "$out/fr-en" --init "$out/grown" --dev "$pairs/dev.tsv" --test "$pairs/held/grammar.tsv" --batch-tokens 2560 \
    --dropout 0.1 --patience 0 --guided-attention 0.2 --rate 0.001 --warmup 300 --schedule constant --average 0.999 \
    --valid-every 500 --save-every 10min --seed 32 --products bf16 --repeat $counts "$@" $learned
