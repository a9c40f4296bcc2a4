#!/bin/sh
# SPDX-License-Identifier: ISC
# Installs the package DEB into a Debian of its own, uses it, upgrades it, removes and purges it. Needs root and
# debootstrap; the mirror is the one that this machine's apt uses. No service is started there, since systemd is not
# what runs it: the daemon is, as its account.
#
# DRAGOMAN_DEB_ROOT=yes makes the root with debootstrap (minutes) and removes it; DRAGOMAN_DEB_ROOT=FOLDER makes it
# there if it is not there yet, and leaves it for the next time.
# Usage: tests/scripts/deb_in_a_root.sh DEB        exits 77 when it cannot
set -eu
. "${0%/*}/debian_root.sh"
deb=$1
daemon=
# shellcheck disable=SC2317
clean_up() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    umount "$root/proc" 2>/dev/null || true
    rm -rf "$scratch"
}
within() { chroot "$root" "$@"; }
# shellcheck disable=SC2086
inside() { within env -i $environment "$@"; }

prepare_root "${DRAGOMAN_DEB_ROOT:-yes}" apt-get
mount -t proc proc "$root/proc" 2>/dev/null || skip "needs to mount /proc"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"

echo "install"
apt_within update
cp "$deb" "$root/dragoman.deb"
apt_within install --no-install-recommends ./dragoman.deb
grep -q '^dragoman:' "$root/etc/passwd" || fail "the account was not made"
[ "$(inside stat -c '%U %a' /var/lib/dragoman/models)" = "dragoman 755" ] || fail "the folder of models was not made"
[ -L "$root/etc/systemd/system/multi-user.target.wants/dragomand.service" ] || fail "the service is not enabled"
[ ! -e "$root/etc/systemd/system/sockets.target.wants/dragomand.socket" ] || fail "the socket is enabled unasked"
inside dragomand --check-config >/dev/null

# Starts what the unit would start, as the account that the unit names.
serve() {
    # Not through a function: what is in the background shall be the daemon itself. shellcheck disable=SC2086
    chroot "$root" env -i $environment setpriv --reuid=dragoman --regid=dragoman --clear-groups --inh-caps=-all \
        dragomand --listen=unix:/tmp/dragoman-test --core-dumps=yes >"$scratch/daemon.log" 2>&1 &
    daemon=$!
    n=0
    while ! grep -q 'msg=ready' "$scratch/daemon.log"; do
        n=$((n + 1))
        [ $n -lt 600 ] && kill -0 "$daemon" 2>/dev/null || fail "the daemon: $(cat "$scratch/daemon.log")"
        sleep 0.1
    done
    curl --silent --fail --max-time 60 --unix-socket "$root/tmp/dragoman-test" http://localhost/v1/translate \
        -d '{"text": "Merci beaucoup.", "target": "en"}' | grep -q 'Thank you very much.' ||
        fail "the daemon does not translate"
    kill "$daemon"
    wait "$daemon" || fail "the daemon did not stop well: $(cat "$scratch/daemon.log")"
    daemon=
}
inside install -d -o dragoman -g dragoman /run/dragoman # as RuntimeDirectory of the unit does
if command -v curl >/dev/null 2>&1; then serve; else echo "left out: a request, which needs curl"; fi

echo "upgrade"
mkdir "$scratch/next"
dpkg-deb -R "$deb" "$scratch/next"
sed -i 's/^Version: .*/&+next/' "$scratch/next/DEBIAN/control"
printf '\n# said by the next version\n' >>"$scratch/next/etc/dragoman/dragomand.conf"
dpkg-deb -Zgzip -z1 --root-owner-group -b "$scratch/next" "$root/dragoman.deb" >/dev/null
sed -i 's/^#cache-size = .*/cache-size = 64MiB/' "$root/etc/dragoman/dragomand.conf"
mkdir "$root/var/lib/dragoman/models/kept"
apt_within -o Dpkg::Options::=--force-confold install --no-install-recommends ./dragoman.deb
inside dpkg-query -W -f '${Version} ${db:Status-Status}\n' dragoman | grep -q '+next installed' || fail "it is not upgraded"
grep -q '^cache-size = 64MiB' "$root/etc/dragoman/dragomand.conf" || fail "the upgrade lost the administrator's change"
[ -f "$root/etc/dragoman/dragomand.conf.dpkg-dist" ] || fail "the new configuration is not beside the old one"
[ -d "$root/var/lib/dragoman/models/kept" ] || fail "the upgrade lost a model"
if command -v curl >/dev/null 2>&1; then serve; fi

echo "remove"
inside dpkg -L dragoman | grep -v -x -e /. -e '/etc' -e '/lib' -e '/usr' >"$scratch/files"
apt_within remove dragoman
grep -q '^cache-size = 64MiB' "$root/etc/dragoman/dragomand.conf" || fail "a removal took the configuration"
[ -d "$root/var/lib/dragoman/models/kept" ] || fail "a removal took the models"

echo "purge"
apt_within purge dragoman
while read -r path; do
    [ -d "$root$path" ] && [ ! -L "$root$path" ] && case $path in *dragoman*) ;; *) continue ;; esac
    [ ! -e "$root$path" ] || fail "the purge left $path"
done <"$scratch/files"
for path in /etc/dragoman /var/lib/dragoman /etc/systemd/system/multi-user.target.wants/dragomand.service; do
    [ ! -e "$root$path" ] && [ ! -L "$root$path" ] || fail "the purge left $path"
done
apt_within autoremove --purge
echo "installed, served, upgraded, served, removed and purged in a $suite of its own"
