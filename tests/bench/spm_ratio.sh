#!/bin/sh
# SPDX-License-Identifier: ISC
# Speed against SentencePiece's own encoder: processor time of spm_encode and of dragoman tokenize on the same
# text, both printing ids, one thread, best of three each, start-up included; and what bench_spm says of the
# encoder alone.
# Usage: tests/bench/spm_ratio.sh TEXT MODEL...      in the build directory, after make tests/bench/bench_spm
# The text should have 10 MB: below that start-up counts.
set -eu
[ $# -ge 2 ] || { echo "Usage: spm_ratio.sh TEXT MODEL..." >&2; exit 2; }
command -v spm_encode >/dev/null || { echo "needs spm_encode (Debian: apt-get install sentencepiece)"; exit 1; }
text=$1
shift

# user + system seconds of the best of three runs
cpu_seconds() {
    for _ in 1 2 3; do
        { TIMEFORMAT='%U %S'; export TIMEFORMAT; bash -c 'time "$@" <"$0" >/dev/null' "$text" "$@"; } 2>&1 | tail -1
    done | awk '{ t = $1 + $2; if (NR == 1 || t < best) best = t } END { printf "%.3f\n", best }'
}

for model in "$@"; do
    theirs=$(cpu_seconds spm_encode --model="$model" --output_format=id)
    ours=$(cpu_seconds ./dragoman tokenize --model "$model" --format ids)
    report=$(tests/bench/bench_spm "$model" "$text" 3)
    echo "$report"
    alone=$(echo "$report" | awk '/^encode:/ { print $2 }')
    awk -v m="$model" -v t="$theirs" -v o="$ours" -v a="$alone" 'BEGIN {
        printf "%s: spm_encode %.2f s, dragoman tokenize %.2f s (%.1f times faster), encoder alone %.2f s (%.1f times)\n", m, t, o, t / o, a, t / a }'
done
