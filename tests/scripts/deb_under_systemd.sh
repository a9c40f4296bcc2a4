#!/bin/sh
# SPDX-License-Identifier: ISC
# Boots a small Debian of its own with the package DEB in it, as a container of systemd-nspawn with a network of its own,
# and does with the service what docs/deploy/systemd.md says. Needs root, debootstrap and systemd-nspawn (Debian:
# systemd-container).
#
# DRAGOMAN_DEB_BOOT=yes makes the root (minutes) and removes it; DRAGOMAN_DEB_BOOT=FOLDER makes it there if it is not
# there yet, and leaves it for the next time.
# Usage: tests/scripts/deb_under_systemd.sh DEB        exits 77 when it cannot
set -eu
. "${0%/*}/debian_root.sh"
deb=$1
nspawn=
# shellcheck disable=SC2317
clean_up() {
    if [ -n "$nspawn" ]; then
        inside systemctl poweroff >/dev/null 2>&1 || kill "$nspawn" 2>/dev/null || true
        wait "$nspawn" 2>/dev/null || true
    fi
    rm -rf "$scratch"
}
within() { systemd-nspawn --quiet --register=no --keep-unit --pipe -D "$root" "$@"; }

# ---- The machine

needs systemd-nspawn nsenter
prepare_root "${DRAGOMAN_DEB_BOOT:-yes}" systemctl systemd systemd-sysv dbus curl
apt_within update
cp "$deb" "$root/dragoman.deb"
[ ! -e "$root/var/lib/dpkg/info/dragoman.list" ] || apt_within purge dragoman
apt_within install --no-install-recommends ./dragoman.deb

systemd-nspawn --quiet --register=no --keep-unit --private-network --console=pipe --boot -D "$root" \
    >"$scratch/boot.log" 2>&1 </dev/null &
nspawn=$!
leader=
# shellcheck disable=SC2086
inside() { nsenter --target "$leader" --mount --pid --uts --ipc --net --cgroup env -i $environment "$@"; }

# until_is WHAT COMMAND...: waits up to two minutes until the command prints WHAT.
until_is() {
    wanted=$1 tries=0
    shift
    while said=$("$@" 2>&1 || true) && [ "$said" != "$wanted" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "$*: read '$said', expected '$wanted'"
        sleep 0.2
    done
}
# Finds the container's first process, once it is systemd: before that, it is nspawn's own.
find_leader() {
    for child in $(cat "/proc/$nspawn/task/$nspawn/children"); do
        [ "$(cat "/proc/$child/comm")" != systemd ] || leader=$child
    done
}
tries=0
while find_leader && [ -z "$leader" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || skip "needs systemd-nspawn that can boot: $(tail -n 3 "$scratch/boot.log")"
    kill -0 "$nspawn" 2>/dev/null || skip "needs systemd-nspawn that can boot: $(tail -n 3 "$scratch/boot.log")"
    sleep 0.2
done
until_is running inside systemctl is-system-running

# ---- The service

conf=$root/etc/dragoman/dragomand.conf
state() { inside systemctl show dragomand --property "$1" --value; }
translates() {
    inside curl --silent --fail --max-time 60 http://127.0.0.1:8090/v1/translate -d '{"text": "Merci beaucoup.", "target": "en"}' |
        grep -q 'Thank you very much.' || fail "$1: the service does not translate"
}

echo "started at boot"
until_is active state ActiveState
translates "after boot"

echo "reload, without a program named kill"
inside systemctl reload dragomand || fail "a reload failed: $(inside journalctl -u dragomand --no-pager | tail -n 5)"
until_is active state ActiveState
inside journalctl -u dragomand --no-pager | grep -q 'models reloaded' || fail "the reload did not come"

echo "a mistake in the configuration"
cp "$conf" "$scratch/conf"
echo 'nonsense = 1' >>"$conf"
! inside systemctl reload dragomand 2>"$scratch/log" || fail "a reload took a mistake"
[ "$(state ActiveState)" = active ] || fail "a refused reload ended the service"
translates "after a refused reload"
! inside systemctl restart dragomand 2>"$scratch/log" || fail "a restart took a mistake"
[ "$(state ActiveState) $(state NRestarts)" = "failed 0" ] || fail "a mistake was tried again: $(state ActiveState) $(state NRestarts)"
inside journalctl -u dragomand -p warning --no-pager | grep -q 'unknown option "nonsense"' || fail "the mistake is no error to the journal"
cp "$scratch/conf" "$conf"
inside systemctl restart dragomand

echo "killed"
inside sh -c 'kill -9 "$(systemctl show dragomand --property MainPID --value)"'
until_is 1 state NRestarts
until_is active state ActiveState
translates "after its death"

echo "a ceiling for memory"
echo 'memory-limit = 2GiB' >>"$conf"
inside systemctl daemon-reload
inside systemctl restart dragomand
[ "$(state MemoryMax)" = 2415919104 ] || fail "MemoryMax is $(state MemoryMax), expected an eighth above 2 GiB"

echo "systemd holds the socket"
inside systemctl enable dragomand.socket 2>/dev/null
inside systemctl stop dragomand
inside systemctl start dragomand.socket dragomand
translates "by the socket"
inside systemctl restart dragomand
[ "$(inside systemctl is-active dragomand dragomand.socket | sort -u)" = active ] || fail "service and socket are not both active"
translates "after a restart"

inside systemctl poweroff
wait "$nspawn" || true
nspawn=
apt_within purge dragoman
echo "started, reloaded, refused a mistake, came back, held by its socket, under systemd in a $suite of its own"
