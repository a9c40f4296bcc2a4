#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes the default models twice as large, and trains them further whenever a machine has time:
#
#     models/recipe/larger.sh DIRECTION DATA OLD OUT [DRAGOMAN [OPTION...]]
#
# DIRECTION is fr-en or en-fr. DATA is the directory of the collections (lines French<TAB>English).
# OLD is the model that was embedded until 25 November 2026 (4 encoder layers and 1 decoder layer,
# 5,500 pieces). The first call prepares the pairs in OUT/pairs, for both directions, and the larger
# network in OUT/DIRECTION.grown, and begins to train OUT/DIRECTION; each further call goes on from
# the last checkpoint. SIGTERM ends a call cleanly at any time. Each call passes its OPTIONs to
# dragoman train, for example --threads 1 or --time 2h. The last call needs --steps N and
# --cooldown M, which lower the learning rate to 0 during the last M of N steps. After that:
#
#     dragoman quantize --type i8 OUT/DIRECTION models/DIRECTION
#
# Why this network: each of the two models may have 12 MB, and in 8 bits each matrix element takes
# one byte. With 9,000 pieces, texts of news, web and knowledge have a tenth fewer tokens than with
# the former 5,500, and the embedding takes a fifth of all parameters. 6 encoder layers and 2
# decoder layers with feed-forward layers 1,536 wide are the shape of the student networks of fast
# translators: most of the depth is in the encoder, which runs only once for each sentence. That
# makes 11.26 million parameters, 11.7 MB with the vocabulary. The width stays 256, so that the
# network need not begin from nothing: grow.py adds layers and units that contribute nothing at
# first.
#
# Why two models and not one for both directions: a single model of the same size would have half
# the capacity for each direction while a step costs the same, and a step of it would teach each
# direction half as much.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
direction=$1 data=$2 old=$3 out=$4 tool=${5:-dragoman}
shift 4
[ $# = 0 ] || shift
mkdir -p "$out"
if [ -e "$out/$direction/training/recipe.conf" ]; then
    exec "$tool" train --resume "$out/$direction" "$@"
fi
swap=
[ "$direction" = fr-en ] || swap=--swap

pairs=$out/pairs
dev="$data/tatoeba.fr-en.dev.tsv.gz $data/news-test2008.fr-en.dev.tsv.gz"
human="tatoeba.fr-en.train=200 laws.fr-en=60/12 php-docs.fr-en=40/2 python-docs.fr-en=40/2
    gnome-docs.fr-en=10 tldr.fr-en=10 literature.fr-en=80 games.fr-en=60/2 government.fr-en=60
    web.fr-en=80 health.fr-en=40 europarl.fr-en=100 manuals.fr-en=20 dialogue.fr-en=60
    bible.fr-en=0 news.fr-en=60 words.fr-en=0 names.fr-en=0"
ours="written-daily.fr-en=60 written-work.fr-en=60 written-web.fr-en=60 written-news.fr-en=120
    written-knowledge.fr-en=120 written-words.fr-en=60 written-lexicon.fr-en=0"
# How often each of these collections counts in an epoch, in the same order; then fragments, single
# words, phrases and the grammar's pairs.
counts=13,1,1,1,1,2,2,1,2,3,3,6,1,6,1,15,1,2,9,9,9,8,8,8,3,2,3,60,1
[ "$direction" = fr-en ] || counts=$counts,1 # headlines

learned=
for one in $human $ours; do learned="$learned $pairs/${one%%=*}.tsv"; done
made=$out/made grammar=$pairs/grammar.fr-en.tsv
learned="$learned $made/bare.fr-en.tsv $made/lexicon.fr-en.tsv $here/phrases.fr-en.tsv $grammar"
[ "$direction" = fr-en ] || learned="$learned $made/titles.fr-en.tsv"

# Writes the training pairs, without the sentences that models are measured on or that are held out.
prepare() {
    away=
    for one in $dev; do away="$away --away $one"; done
    # shellcheck disable=SC2086
    write() { /usr/bin/python3 "$here/grammar" $away "$@"; }
    mkdir -p "$pairs/held"
    write --seed 99 --pairs 700 | awk -F '\t' 'split($1, words, " ") >= 4' |
        shuf -n 150 --random-source="$here/phrases.fr-en.tsv" >"$pairs/held/grammar.tsv"
    files=
    for one in $human; do files="$files $data/${one%%=*}.tsv.gz=${one#*=}"; done
    for one in $ours; do files="$files $here/written/${one%%=*}.tsv.gz=${one#*=}"; done
    # shellcheck disable=SC2086
    /usr/bin/python3 "$here/collect.py" "$pairs" $dev "$pairs/held/grammar.tsv" -- $files
    write --away "$pairs/dev.tsv" --away "$pairs/held/grammar.tsv" >"$grammar"
    {
        cat "$pairs/tatoeba.fr-en.train.tsv" "$grammar"
        for one in daily work words web news knowledge; do cat "$pairs/written-$one.fr-en.tsv"; done
    } >"$out/sentences.tsv"
    /usr/bin/python3 "$here/fragments.py" "$out/sentences.tsv" "$made" "$tool"
    /usr/bin/python3 "$here/titles.py" "$out/sentences.tsv" >"$made/titles.fr-en.tsv"
    # shellcheck disable=SC2086
    /usr/bin/python3 "$here/apart.py" $dev "$pairs/dev.tsv" "$pairs/held/grammar.tsv" -- $learned

    # The vocabulary: the texts that the model is for count more than those that are most plentiful.
    {
        for _ in 1 2 3 4; do cat "$pairs"/written-*.tsv; done
        for _ in 1 2; do
            cat "$pairs/tatoeba.fr-en.train.tsv" "$pairs/europarl.fr-en.tsv" "$pairs/news.fr-en.tsv"
        done
        for one in literature games government web health dialogue manuals tldr gnome-docs names; do
            cat "$pairs/$one.fr-en.tsv"
        done
        for one in laws php-docs python-docs words; do
            awk 'NR % 3 == 0' "$pairs/$one.fr-en.tsv"
        done
    } | tr '\t' '\n' >"$out/vocab.txt"
    "$tool" train-vocab --kind bpe --size 9000 --byte-fallback "$out/vocab.spm" "$out/vocab.txt"
}
[ -e "$out/vocab.spm" ] || prepare

[ -e "$out/$direction.old" ] || "$tool" quantize -q --type f16 "$old" "$out/$direction.old"
grown=$out/$direction.grown
[ -e "$grown" ] || /usr/bin/python3 "$here/grow.py" "$out/$direction.old" "$out/vocab.spm" "$grown" 6 2 1536

# (The embedded models did not have all these pairs from the start: their cards say which stretch of
# training had which. Until its last 8,400 steps fr-en counted the everyday sentences 4 times. These
# steps, with 13 times, gained 3 BLEU on them and lost nothing elsewhere; how much of that comes
# from counting and how much from more steps was not measured. At the end of every stretch the
# learning rate is lowered to 0.)
# shellcheck disable=SC2086
exec "$tool" train --out "$out/$direction" --init "$grown" $swap \
    --dev "$pairs/dev.tsv" --test "$pairs/held/grammar.tsv" --batch-tokens 2560 --products bf16 \
    --dropout 0.1 --patience 0 --guided-attention 0.2 --rate 0.001 --warmup 300 \
    --schedule constant --average 0.999 --valid-every 500 --save-every 10min --seed 32 \
    --repeat $counts "$@" $learned
