#!/bin/sh
# SPDX-License-Identifier: ISC
# The Debian package in FOLDER (make deb): lintian has no complaint, what must be in it is, its configuration is
# valid, and its programs translate with its model. With DRAGOMAN_DEB_REPRODUCE=yes it is built again, elsewhere
# and in another environment, and must come out the same; with DRAGOMAN_DEB_ROOT see deb_in_a_root.sh, with
# DRAGOMAN_DEB_BOOT deb_under_systemd.sh.
# Usage: tests/scripts/deb_is_sound.sh FOLDER
set -eu
folder=$(cd "$1" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-deb-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() {
    echo "$*"
    exit 1
}

deb=$(find "$folder" -maxdepth 1 -name 'dragoman_*.deb')
[ -n "$deb" ] || fail "there is no package in $folder"

if command -v lintian >/dev/null 2>&1; then
    as_root=
    [ "$(id -u)" -ne 0 ] || as_root=--allow-root
    lintian $as_root --fail-on error,warning "$folder"/dragoman_*.changes >"$scratch/lintian" 2>&1 ||
        fail "lintian: $(cat "$scratch/lintian")"
    [ ! -s "$scratch/lintian" ] || fail "lintian: $(cat "$scratch/lintian")"
else
    echo "left out: lintian, which is not installed"
fi

[ "$(dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./conffiles)" = /etc/dragoman/dragomand.conf ] ||
    fail "expected one conffile, /etc/dragoman/dragomand.conf"
root=$scratch/root
case $(dpkg-deb -f "$deb" Depends) in
*node*) fail "the package depends on node, which only its build takes three C files from" ;;
esac
dpkg-deb -x "$deb" "$root"
for file in usr/sbin/dragomand usr/bin/dragoman usr/share/dragoman/langid.bin \
    usr/share/dragoman/models/fr-en/model.safetensors usr/share/dragoman/models/en-fr/model.safetensors lib/systemd/system/dragomand.service \
    lib/systemd/system/dragomand.socket usr/lib/sysusers.d/dragoman.conf usr/lib/tmpfiles.d/dragoman.conf \
    usr/share/zsh/vendor-completions/_dragoman usr/share/bash-completion/completions/dragoman \
    usr/share/man/man8/dragomand.8.gz usr/share/man/man5/dragomand.conf.5.gz usr/share/man/man1/dragoman.1.gz; do
    [ -s "$root/$file" ] || fail "the package has no /$file"
done

# Every link between the documents leads to a file of the package.
doc=$root/usr/share/doc/dragoman
for file in README.md ARCHITECTURE.md HACKING.md docs/models.md docs/api/openapi.yaml docs/deploy/systemd.md; do
    [ -f "$doc/$file" ] || fail "the package has no /usr/share/doc/dragoman/$file"
done
[ ! -e "$doc/docs/man" ] || fail "sources of manual pages are among the documents"
(cd "$doc" && find . -name '*.md' -exec "$scripts/../../scripts/markdown-links" {} +) >"$scratch/links"
[ -s "$scratch/links" ] || fail "no links were found in the documents of the package"
while IFS=: read -r page line target; do
    target=${target%%#*}
    [ -z "$target" ] || [ -e "$doc/$(dirname "$page")/$target" ] ||
        fail "/usr/share/doc/dragoman/${page#./}:$line: the link to '$target' leads nowhere"
done <"$scratch/links"

grep -q '^ExecStart=/usr/sbin/dragomand$' "$root/lib/systemd/system/dragomand.service" ||
    fail "the service does not start /usr/sbin/dragomand"
# Its folders of models are those of a machine with the package; here they may be missing (1), but no option is wrong (2).
env -i "$root/usr/sbin/dragomand" --check-config --config="$root/etc/dragoman/dragomand.conf" || [ $? -eq 1 ] ||
    fail "the configuration of the package is not valid"
said=$(echo "Merci beaucoup." | "$root/usr/bin/dragoman" translate -q --model "$root/usr/share/dragoman/models/fr-en")
[ "$said" = "Thank you very much." ] || fail "the packaged model said '$said'"

if [ "${DRAGOMAN_DEB_REPRODUCE:-}" = yes ]; then
    name=$(basename "$(find "$folder" -mindepth 1 -maxdepth 1 -type d -name 'dragoman-*')")
    mkdir "$scratch/a-folder-with-another-name"
    tar -C "$scratch/a-folder-with-another-name" -xf "$folder/../$name.tar.xz"
    (
        cd "$scratch/a-folder-with-another-name/$name"
        umask 027
        MAKEFLAGS='' MAKELEVEL='' MFLAGS='' TZ=Asia/Tokyo LC_ALL=C HOME=/nonexistent DEB_BUILD_OPTIONS=nocheck \
            dpkg-buildpackage --build=binary --no-sign >"$scratch/again.log" 2>&1
    ) || fail "the second build: $(tail -n 30 "$scratch/again.log")"
    for made in "$folder"/*.deb; do
        cmp "$made" "$scratch/a-folder-with-another-name/$(basename "$made")" ||
            fail "two builds of $(basename "$made") differ"
    done
    echo "reproduced: $(cd "$folder" && sha256sum ./*.deb)"
fi

[ -z "${DRAGOMAN_DEB_ROOT:-}" ] || "$scripts/deb_in_a_root.sh" "$deb"
[ -z "${DRAGOMAN_DEB_BOOT:-}" ] || "$scripts/deb_under_systemd.sh" "$deb"
echo "$(basename "$deb"): sound"
