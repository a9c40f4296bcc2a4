#!/bin/sh
# SPDX-License-Identifier: ISC
# dragoman segment, detect and langid-train as a user runs them, from the build directory.
set -eu
srcdir=${srcdir:-.}
dragoman=./dragoman
model=$srcdir/data/langid/langid.bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME EXPECTED: compares standard input with EXPECTED.
expect() {
    got=$(cat)
    if [ "$got" != "$2" ]; then
        printf '%s: expected\n%s\nbut got\n%s\n' "$1" "$2" "$got"
        failed=1
    fi
}

printf 'Dr. Smith left. He is old.\r\n- two\n\n' | $dragoman segment -l en |
    expect "segment" "Dr. Smith left.
He is old.
two"
printf 'One line\nthat goes on. Two.' | $dragoman segment -l en --join-lines |
    expect "segment --join-lines" "One line that goes on.
Two."
printf -- '- Ja.\377' | $dragoman segment --format=json |
    expect "segment --format=json" '{"segments":[{"kind":"separator","at":0,"len":2,"text":"- "},{"kind":"sentence","at":2,"len":3,"text":"Ja.","cut":"none"},{"kind":"separator","at":5,"len":1,"text":"�"}]}'
printf 'Merci de passer demain matin.\n12\nBitte kommen Sie morgen wieder.\n' | $dragoman detect -m "$model" | cut -f1 |
    expect "detect" "fr
und
de"
printf '12\n' | $dragoman detect -m "$model" --format=json | expect "detect --format=json" "[]"
printf 'Merci de passer demain matin.\n' | $dragoman detect -m "$model" -c de,it,pt-br | cut -f1 | grep -qv fr ||
    expect "detect --candidates" "no French"

# A model of two languages, trained twice: it gives the same bytes, and recognises its training
# data.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    printf 'en\tThe weather is fine today and we walk to the river, number %s\n' "$i"
    printf 'fr\tLe temps est beau et nous marchons vers la rivière, numéro %s\n' "$i"
    printf 'ru\tСегодня хорошая погода, и мы идём к реке\n'
done >"$work/train.tsv"
$dragoman langid-train --epochs=3 "$work/a.bin" <"$work/train.tsv"
$dragoman langid-train --epochs=3 "$work/b.bin" <"$work/train.tsv"
cmp "$work/a.bin" "$work/b.bin" || failed=1
printf 'we walk today\nnous marchons\nпогода\n' | $dragoman detect -m "$work/a.bin" | cut -f1 | expect "langid-train" "en
fr
ru"

# Refusals: exit code 1 when the work cannot be done, 2 for wrong usage; one message each.
refuses() {
    code=$1
    shift
    status=0
    "$@" </dev/null >/dev/null 2>"$work/message" || status=$?
    if [ "$status" != "$code" ] || [ ! -s "$work/message" ]; then
        echo "$*: exit $status, expected $code and a message"
        failed=1
    fi
}
refuses 1 $dragoman detect -m "$work/missing.bin"
refuses 1 $dragoman detect -m "$work/train.tsv"
refuses 1 $dragoman detect -m "$model" -c tlh
refuses 2 $dragoman detect --no-such-option
refuses 2 $dragoman segment --format=xml
refuses 2 $dragoman langid-train
exit $failed
