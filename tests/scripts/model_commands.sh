#!/bin/sh
# SPDX-License-Identifier: ISC
# The sub-commands on models, as a user runs them: import, inspect, manifest, sign, verify.
set -eu
here=$(cd "${srcdir:-.}" && pwd)
build=$(pwd)
dragoman=$build/dragoman
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # STATUS COMMAND...
    status=0
    want=$1
    shift
    "$@" >out 2>err || status=$?
    [ "$status" = "$want" ] || fail "$* exited $status, expected $want: $(cat err)"
}
says() { grep -q -- "$1" "$2" || fail "$2 does not say '$1': $(cat "$2")"; }

"$build/tests/support/mkmodel" random --seed 7 --decoder ssru --zero-start

# Import: each type, a summary, and no files left by failures.
for type in as-stored f32 f16 bf16 i8; do
    expect 0 "$dragoman" import random "as-$type" --type "$type"
    says "2+2 layers, width 32, ssru decoder" err
done
cmp random/model.safetensors as-f32/model.safetensors || fail "f32 to f32 changed the bytes"
expect 1 "$dragoman" import random as-f16
says "exists already" err
expect 1 "$dragoman" import "$here/tests/data/import/zip/config.json" nothing
[ ! -e nothing ] || fail "a failed import left its directory"
expect 2 "$dragoman" import random
expect 0 "$dragoman" import "$here/tests/data/import/stored" marian
says "Marian .npz" err

# The name that OPUS-MT gives its only file, and the files that a training leaves next to a model.
cp -r "$here/tests/data/import/stored" opus && chmod -R u+w opus
mv opus/model.npz opus/opus.model1.npz.best-perplexity.npz
sed 's/model\.npz/opus.model1.npz.best-perplexity.npz/' opus/model.npz.decoder.yml >opus/decoder.yml
expect 0 "$dragoman" import opus opus-out
cmp marian/model.safetensors opus-out/model.safetensors || fail "a model by another name became another"
cp opus/opus.model1.npz.best-perplexity.npz opus/model.npz
cp opus/model.npz opus/model.npz.optimizer.npz
cp opus/model.npz opus/model.npz.best-bleu.npz
expect 0 "$dragoman" import opus opus-both
says "source.spm" err
if [ -d "$here/models/fr-en" ]; then
    expect 0 "$dragoman" import "$here/models/fr-en" again
    cmp "$here/models/fr-en/model.safetensors" again/model.safetensors || fail "fr-en changed on import"
fi

# The README's downloadable pairs are those of the list: name, source, kind, version, size, memory,
# scores.
expect 0 "$dragoman" models --available
sed -n 's/^| [A-Z][a-z]* | \([a-z]*-en\) | \([0-9.]*\), \([0-9.]*\) | \([0-9]* MB\) | \(en-[a-z]*\) | \([0-9.]*\), \([0-9.]*\) | \([0-9]* MB\) |$/\1 \4 \2 \3\n\5 \8 \6 \7/p' \
    "$here/README.md" >pairs
[ "$(wc -l <pairs)" -ge 20 ] || fail "the README has no table of pairs"
while read -r pair size unit bleu comet; do
    grep -q "^\* $pair .* $size $unit .* ~$bleu  *~$comet " out || fail "the README says otherwise of $pair than: $(grep "^\* $pair " out)"
done <pairs

# Completion offers what the program prints.
complete() { # WORD... : what bash offers for the last of them
    PATH=$build:$PATH bash -c '. "$0/clients/completion/dragoman.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dragoman
        echo "${COMPREPLY[*]}"' "$here" "$@"
}
completes() { # EXPECTED WORD...
    want=$1
    shift
    [ "$(complete "$@")" = "$want" ] || fail "completing '$*' offers '$(complete "$@")', expected '$want'"
}
if command -v bash >/dev/null; then
    completes translate dragoman trans
    completes help dragoman hel
    completes quantize dragoman help quant
    completes de-en dragoman get de-e
    completes "--no-shortlist" dragoman translate --no-sh
fi

# Inspect.
expect 0 "$dragoman" inspect as-i8 --tensors
says "ssru decoder" out
says "manifest     none, not signed" out
says "model.encoder.layers.0.fc1.weight_scale" out
expect 0 "$dragoman" inspect as-i8 --json
says '"decoder":"ssru"' out
says '"manifest":"none"' out
expect 0 "$dragoman" inspect "$here/models/fr-en/"
says "languages    fr to en, by the directory's name" out
expect 1 "$dragoman" inspect nowhere
says "nowhere" err

# Manifest, keys, signatures.
expect 0 "$dragoman" manifest random
if command -v b2sum >/dev/null; then (cd random && b2sum -c --quiet --strict manifest.b2); fi
expect 0 "$dragoman" verify random
expect 0 "$dragoman" sign --generate --no-password --key k.key --public-key k.pub
expect 1 "$dragoman" sign --generate --no-password --key k.key --public-key k2.pub
says "exists already" err
expect 0 "$dragoman" sign random --key k.key --comment "release 1"
expect 0 "$dragoman" verify random --key k.pub
expect 0 "$dragoman" verify random --key-text "$(sed -n 2p k.pub)"
expect 0 "$dragoman" inspect random
says "manifest     ok, signed" out
if command -v minisign >/dev/null; then
    minisign -V -q -p k.pub -m random/manifest.b2 || fail "minisign refuses our signature"
    minisign -S -s k.key -m random/manifest.b2 >/dev/null
    expect 0 "$dragoman" verify random --key k.pub
else
    echo "skipped in part: needs minisign"
fi
echo >>random/config.json
expect 1 "$dragoman" verify random --key k.pub
says "config.json was changed" err
expect 0 "$dragoman" sign --generate --no-password --key other.key --public-key other.pub
expect 1 "$dragoman" verify as-f32 --key other.pub
expect 0 "$dragoman" sign as-f32 --key other.key
expect 1 "$dragoman" verify as-f32 --key k.pub
says "not among the 1 known" err
expect 2 "$dragoman" sign --key k.key
expect 2 "$dragoman" sign --generate --key x.key random
echo "ok"
