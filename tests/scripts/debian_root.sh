# shellcheck shell=sh
# SPDX-License-Identifier: ISC
# For the scripts that try the package in a Debian of its own (deb_in_a_root.sh, deb_under_systemd.sh), which read this
# file first. It needs root and debootstrap; the mirror is the one that this machine's apt uses.
#
#     . "${0%/*}/debian_root.sh"
#     within() { chroot "$root" "$@"; }       how a command is run in there
#     clean_up() { ...; rm -rf "$scratch"; }  what is done at the end
#     prepare_root FOLDER PROGRAM INCLUDE...  $root is FOLDER, or with "yes" a folder that goes with $scratch; it is made
#                                             with the packages INCLUDE... where /usr/bin/PROGRAM is not in it yet
#     apt_within install ./dragoman.deb
#
# Sets $scratch, $root, $suite and $environment. A script that cannot do its work ends with 77.

environment="PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive"

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "$*"
    exit 1
}

needs() {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 || skip "needs $program"
    done
}

# The last lines that a command printed; the mirror's address is hidden.
said() { tail -n 20 "$scratch/log" | sed "s|$mirror|MIRROR|g"; }

prepare_root() {
    needs debootstrap
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
    # shellcheck disable=SC2016
    suite=$(apt-get indextargets --format '$(CODENAME)' 'Created-By: Packages' | head -n 1)
    [ -n "$mirror" ] && [ -n "$suite" ] || skip "needs a mirror in apt's configuration"
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-root-XXXXXX")
    trap clean_up EXIT
    root=$1 wanted=$2
    shift 2
    [ "$root" != yes ] || root=$scratch/root
    if [ ! -x "$root/usr/bin/$wanted" ]; then
        debootstrap --variant=minbase ${1:+"--include=$(echo "$*" | tr ' ' ,)"} "$suite" "$root" "$mirror" \
            >"$scratch/log" 2>&1 || skip "debootstrap cannot use apt's mirror: $(said)"
    fi
    # shellcheck disable=SC2016
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u \
        >"$root/etc/apt/sources.list"
}

apt_within() {
    # shellcheck disable=SC2086
    within env -i $environment apt-get -qq -y -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0 "$@" \
        >"$scratch/log" 2>&1 </dev/null || fail "apt-get $*: $(said)"
}
