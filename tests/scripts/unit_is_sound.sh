#!/bin/sh
# SPDX-License-Identifier: ISC
# systemd itself reads the service unit without complaint, and finds its exposure low: at most 1.5 of 10.
set -eu
command -v systemd-analyze >/dev/null 2>&1 || {
    echo "skipped: needs systemd-analyze"
    exit 77
}
folder=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-unit-XXXXXX")
trap 'rm -rf "$folder"' EXIT
# It insists that the programs named in a unit exist, so the one of this build stands in.
sed "s|@sbindir@|$PWD|" "${srcdir:-.}/systemd/dragomand.service.in" >"$folder/dragomand.service"
said=$(systemd-analyze verify --man=no "$folder/dragomand.service" 2>&1) || {
    echo "systemd-analyze verify: $said"
    exit 1
}
# It warns about units of the machine as well; only what names ours counts.
if printf '%s\n' "$said" | grep dragomand; then
    exit 1
fi
systemd-analyze security --offline=yes --threshold=15 --no-pager "$folder/dragomand.service" >"$folder/report" || {
    grep -v '✓' "$folder/report"
    exit 1
}
tail -n 1 "$folder/report"
