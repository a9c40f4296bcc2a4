#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes a classifier that tells which collection a French or English text comes from, so that
# requests can be sent to the model that knows such texts ("Routing by what a text is about" in
# docs/training/reference.md):
#
#     models/recipe/collections.sh DATA OUT [DRAGOMAN]
#
# DATA contains the collections that models/fr-en/card.md names, as lines French<TAB>English. OUT
# gets the training texts, the held-out texts and the model, which takes about a megabyte. Some
# 2,600 pairs are taken from each collection, spread evenly over it. Each side of a pair becomes a
# text with the collection's label; of every thirteenth pair, both sides are held out.
set -eu
data=$1 out=$2 tool=${3:-dragoman}
mkdir -p "$out"
rm -f "$out/texts.tsv" "$out/held-out.tsv"

# take FILE LABEL: takes texts of 20 to 300 bytes, none of them twice.
take() {
    zcat "$data/$1" | LC_ALL=C awk -F '\t' -v label="$2" -v out="$out" -v wanted=2600 '
        length($1) >= 20 && length($1) <= 300 && length($2) >= 20 && length($2) <= 300 && !seen[$1]++ && !seen[$2]++ {
            french[n] = $1
            english[n++] = $2
        }
        END {
            step = n > wanted ? n / wanted : 1
            for (i = 0; i * step < n; i++) {
                file = out (i % 13 == 0 ? "/held-out.tsv" : "/texts.tsv")
                print label "\t" french[int(i * step)] >>file
                print label "\t" english[int(i * step)] >>file
            }
        }'
}
take tatoeba.fr-en.train.tsv.gz everyday
take laws.fr-en.tsv.gz laws
take php-docs.fr-en.tsv.gz php
take python-docs.fr-en.tsv.gz python
take gnome-docs.fr-en.tsv.gz desktop
take tldr.fr-en.tsv.gz commands

credits="Tatoeba in the selection of manythings.org/anki (CC-BY 2.0 FR, the contributors of tatoeba.org); the laws of Canada (contains \
information licensed under the Open Government Licence - Canada); the PHP manual (CC-BY 3.0, the PHP documentation group); the Python \
manual (French CC0, English PSF documentation licence, the Python Software Foundation); GNOME help (CC-BY 3.0, the GNOME \
documentation project); tldr pages (CC-BY 4.0, the tldr-pages authors)."
"$tool" train --task classify --family encoder --lowercase --out "$out/collections" --dev "$out/held-out.tsv" \
    --vocab-size 4000 --width 96 --heads 4 --encoder-layers 2 --ffn 192 --len-max 96 --batch-tokens 2048 --rate 0.002 \
    --warmup 100 --schedule cosine --steps 900 --valid-every 150 --dropout 0.1 --smoothing 0.05 --average 0.99 --patience 0 \
    --threads 1 --metric task --note "Tells which of six collections a French or an English text is of." --attribution "$credits" \
    "$out/texts.tsv"
