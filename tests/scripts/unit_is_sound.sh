#!/bin/sh
# SPDX-License-Identifier: ISC
# Tiers: gcc
# systemd itself reads the units, the account and the folders without complaint, and finds the service's exposure
# low: at most 1.5 of 10.
set -eu
command -v systemd-analyze >/dev/null 2>&1 || {
    echo "skipped: needs systemd-analyze"
    exit 77
}
sources=$(cd "${srcdir:-.}" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-unit-XXXXXX")
trap 'rm -rf "$folder"' EXIT
# Only the exit of ExecStart decides: a check in ExecStartPre would be tried again and again.
if grep -q '^ExecStartPre=' "$sources/systemd/dragomand.service.in"; then
    echo "a wrong configuration must end ExecStart itself, for RestartPreventExitStatus to hold"
    exit 1
fi
grep -q '^RestartPreventExitStatus=2$' "$sources/systemd/dragomand.service.in"
# systemd-analyze requires the programs that a unit names, so the program of this build stands in.
sed "s|@sbindir@|$PWD|" "$sources/systemd/dragomand.service.in" >"$folder/dragomand.service"
cp "$sources/systemd/dragomand.socket" "$folder/"
for unit in dragomand.service dragomand.socket; do
    said=$(systemd-analyze verify --man=no "$folder/$unit" 2>&1) || {
        echo "systemd-analyze verify: $said"
        exit 1
    }
    # It warns about units of the machine as well; only warnings that name ours count.
    if printf '%s\n' "$said" | grep dragomand; then
        exit 1
    fi
done

# The account and the folders, in a root of their own. Only root can change the owner of folders.
if command -v systemd-sysusers >/dev/null 2>&1 && command -v systemd-tmpfiles >/dev/null 2>&1; then
    mkdir -p "$folder/root/usr/lib/sysusers.d" "$folder/root/usr/lib/tmpfiles.d" "$folder/root/etc"
    cp "$sources/systemd/dragoman.sysusers" "$folder/root/usr/lib/sysusers.d/dragoman.conf"
    cp "$sources/systemd/dragoman.tmpfiles" "$folder/root/usr/lib/tmpfiles.d/dragoman.conf"
    if [ "$(id -u)" -eq 0 ]; then
        systemd-sysusers --root="$folder/root" dragoman.conf
        systemd-tmpfiles --root="$folder/root" --create dragoman.conf
        grep -q '^dragoman:.*:/var/lib/dragoman:/usr/sbin/nologin$' "$folder/root/etc/passwd"
        [ "$(stat -c %a "$folder/root/var/lib/dragoman/models")" = 755 ]
    fi
fi

# The generator sets MemoryMax to memory-limit plus an eighth; a value that it cannot read gives no
# setting.
generated() {
    rm -rf "$folder/generated"
    mkdir "$folder/generated"
    printf '%s\n' "$1" >"$folder/dragomand.conf"
    DRAGOMAND_CONF=$folder/dragomand.conf sh "$sources/systemd/dragomand-generator.in" "$folder/generated"
    cat "$folder/generated/dragomand.service.d/50-memory-limit.conf" 2>/dev/null | sed -n 's/^MemoryMax=//p'
}
expect() {
    found=$(generated "$1")
    [ "$found" = "$2" ] || {
        echo "dragomand-generator made '$found' of '$1', expected '$2'"
        exit 1
    }
}
expect 'memory-limit = 2GiB' 2415919104
expect 'memory-limit="512 MiB"   # enough' 603979776
expect '#memory-limit = 2GiB' ''
expect 'memory-limit = 0' ''
expect 'memory-limit = 99999999999999999999GiB' ''
expect 'memory-limit = $(reboot)' ''
expect 'slots = 8' ''

systemd-analyze security --offline=yes --threshold=15 --no-pager "$folder/dragomand.service" >"$folder/report" || {
    grep -v '✓' "$folder/report"
    exit 1
}
tail -n 1 "$folder/report"
