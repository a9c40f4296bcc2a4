#!/bin/sh
# SPDX-License-Identifier: ISC
# Exactness against the installed SentencePiece tools: trains small models of every kind, and holds ids, pieces
# and decoded text of `dragoman tokenize` and `dragoman detokenize` to those of spm_encode and spm_decode, on
# text in many scripts with everything that is awkward: control characters, combining marks, emoji, malformed
# UTF-8, long lines. With the larger samples of $DRAGOMAN_SHARED, when there are any, real text and real models
# are compared as well.
# Usage: tests/scripts/spm_exact.sh [TEXT]...     more files to compare on
# Environment: DG_BUILDDIR is where dragoman is (default: the current folder); SPM_EXACT=full compares on all
# text and with more models, which takes minutes. Exits 77 when the tools are missing.
set -eu
for tool in spm_train spm_encode spm_decode; do
    command -v $tool >/dev/null || { echo "skipped: needs $tool (Debian: apt-get install sentencepiece)"; exit 77; }
done
dragoman=$(cd "${DG_BUILDDIR:-.}" && pwd)/dragoman
export LC_ALL=C
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-spm-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# ---- Text ------------------------------------------------------------------------------------------------

# Lines of random words in many scripts; then difficult lines.
make_text() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        n_words = split("the of and translate house river quickly je vous parle demain matin élève garçon naïve " \
            "Straße über können Häuser größer 오늘 날씨가 아주 좋습니다 번역 안녕하세요 今日は 天気が いいです 翻訳する " \
            "東京 我们 明天 去 图书馆 翻译 اليوم الطقس جميل مترجم الكتاب आज मौसम बहुत अच्छा है अनुवाद วันนี้ อากาศ ดีมาก แปลภาษา " \
            "сегодня хорошая погода перевод γλώσσα σήμερα 1,234.56 10KB https://example.org/a?b=c#d user@example.org " \
            "🎉 👩‍👩‍👧 🇫🇷 😀😀 ﬁn ½ ㎢ ＡＢＣ é ñ́ ▁ ▁▁x <unk> </s> <0x41> ... — « » “ ”", word, " ")
        for (i = 0; i < n; i++) {
            line = ""
            for (len = int(rand() * 14); len >= 0; len--) {
                r = rand()
                line = line word[int(rand() * n_words) + 1] (r < 0.75 ? " " : r < 0.8 ? "  " : r < 0.82 ? "\t" : r < 0.84 ? "\302\240" : "")
            }
            print line
        }
    }'
}

make_awkward() {
    printf '\n \n  \n\t\n\342\226\201\n a\na \n\342\226\201\342\226\201a\n'
    printf 'a\001b\033[0m\177\nbell\007\r\nnul\000in\000side\n\000\n'
    printf '\377\n\300\257\n\355\240\200\n\364\220\200\200\nabc\303\nab\303(c\n\342\202\n\360\237\216\n\370\210\200\200\200\n'
    printf 'e\314\201e\314\201\314\201\314\201 \314\201 o\314\210\n\357\273\277bom\nzero\342\200\213width\342\200\215joiner\n'
    awk 'BEGIN { for (i = 0; i < 20000; i++) printf "a"; print ""; for (i = 0; i < 9000; i++) printf "aab\303\251"; print "" }'
    awk 'BEGIN { srand(3); for (l = 0; l < 400; l++) { n = int(rand() * 40)
        for (i = 0; i < n; i++) { c = int(rand() * 256); if (c != 10) printf "%c", c }; print "" } }'
}

{ make_text 3000 1; make_awkward; } >"$scratch/text"
make_text 2500 2 >"$scratch/training"
if [ -n "${DRAGOMAN_SHARED:-}" ] && [ -f "$DRAGOMAN_SHARED/data/multiscript.txt.gz" ]; then
    step=60
    [ "${SPM_EXACT:-}" != full ] || step=1
    for file in "$DRAGOMAN_SHARED"/data/multiscript.txt.gz "$DRAGOMAN_SHARED"/data/python-docs.*.tsv.gz \
        "$DRAGOMAN_SHARED"/data/tatoeba.de-en.tsv.gz; do
        [ ! -f "$file" ] || gzip -dc "$file" | awk -v step=$step 'NR % step == 0' | head -n $((40000 / step)) |
            tr '\t' '\n' >>"$scratch/text"
    done
    [ "${SPM_EXACT:-}" != full ] ||
        gzip -dc "$DRAGOMAN_SHARED/data/multiscript.txt.gz" | awk 'NR % 20 == 0' >>"$scratch/training"
fi
[ $# -eq 0 ] || cat "$@" >>"$scratch/text"
n_lines=$(wc -l <"$scratch/text")

# ---- Models ----------------------------------------------------------------------------------------------

train() {
    name=$1
    shift
    spm_train --input="$scratch/training" --model_prefix="$scratch/$name" --hard_vocab_limit=false \
        --num_threads=2 --minloglevel=2 "$@" >/dev/null 2>"$scratch/$name.log" ||
        { cat "$scratch/$name.log"; echo "spm_train failed"; exit 1; }
}

train unigram --model_type=unigram --vocab_size=900 --character_coverage=0.99 --num_sub_iterations=1 &
train unigram-bytes --model_type=unigram --vocab_size=1000 --character_coverage=0.98 --byte_fallback \
    --num_sub_iterations=1 --normalization_rule_name=nfkc_cf --user_defined_symbols='er,<x>,ab c' --self_test_sample_size=20
wait
train bpe --model_type=bpe --vocab_size=900 --character_coverage=0.99 --normalization_rule_name=nmt_nfkc_cf &
train bpe-bytes --model_type=bpe --vocab_size=1000 --character_coverage=0.98 --byte_fallback \
    --normalization_rule_name=identity --remove_extra_whitespaces=false --user_defined_symbols='er,<x>' --control_symbols='<c>,the'
wait
train word --model_type=word --vocab_size=500 &
train char --model_type=char --vocab_size=500 --character_coverage=0.99 --normalization_rule_name=nfkc --user_defined_symbols='er'
wait
if [ "${SPM_EXACT:-}" = full ]; then
    train unigram-suffix --model_type=unigram --vocab_size=900 --treat_whitespace_as_suffix &
    train bpe-suffix --model_type=bpe --vocab_size=900 --treat_whitespace_as_suffix
    wait
    train word-suffix --model_type=word --vocab_size=500 --treat_whitespace_as_suffix &
    train unigram-bare --model_type=unigram --vocab_size=900 --add_dummy_prefix=false --split_by_whitespace=false
    wait
    train bpe-whole --model_type=bpe --vocab_size=900 --split_by_whitespace=false --normalization_rule_name=identity
fi
models=$(ls "$scratch"/*.model)
for file in "${DRAGOMAN_SHARED:-/nonexistent}"/models/opus-mt-*/source.spm "${DRAGOMAN_SHARED:-/nonexistent}"/models/*/target.spm; do
    [ ! -f "$file" ] || models="$models $file"
done

# ---- Comparison ------------------------------------------------------------------------------------------

bad=0
same() {
    cmp -s "$scratch/$2" "$scratch/$3" && return
    bad=$((bad + 1))
    echo "$1: $2 and $3 differ on $(diff "$scratch/$2" "$scratch/$3" | grep -c '^<') of $n_lines lines, first:"
    diff "$scratch/$2" "$scratch/$3" | head -4
}

n_models=0
for model in $models; do
    n_models=$((n_models + 1))
    spm_encode --model="$model" --output_format=id <"$scratch/text" >"$scratch/ids" &
    spm_encode --model="$model" --output_format=piece <"$scratch/text" >"$scratch/pieces"
    wait
    "$dragoman" tokenize --model "$model" --format ids <"$scratch/text" >"$scratch/our-ids" &
    "$dragoman" tokenize --model "$model" --format pieces <"$scratch/text" >"$scratch/our-pieces"
    wait
    spm_decode --model="$model" --input_format=id <"$scratch/ids" >"$scratch/text-of-ids" &
    spm_decode --model="$model" --input_format=piece <"$scratch/pieces" >"$scratch/text-of-pieces"
    wait
    "$dragoman" detokenize --model "$model" --format ids <"$scratch/ids" >"$scratch/our-text-of-ids" &
    "$dragoman" detokenize --model "$model" --format pieces <"$scratch/pieces" >"$scratch/our-text-of-pieces"
    wait
    for what in ids pieces text-of-ids text-of-pieces; do
        same "$model" "$what" "our-$what"
    done
done
[ "$n_models" -ge 6 ] || { echo "only $n_models models were trained, expected 6 or more"; exit 1; }
echo "spm_exact: $n_models models, $n_lines lines each, $bad differences"
[ "$bad" -eq 0 ]
