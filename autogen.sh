#!/bin/sh
# SPDX-License-Identifier: ISC
# Makes ./configure from configure.ac. Needs autoconf, automake and pkg-config.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake pkg-config; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "autogen.sh: '$tool' is missing; on Debian: apt-get install autoconf automake pkg-config" >&2
        exit 1
    }
done
exec autoreconf --install --force --warnings=all,no-portability
