#!/bin/bash
# SPDX-License-Identifier: ISC
# Tiers: gcc
# `quickstart test --all` in a tree with tests of a line each: what it counts, what it tries again, and that its last line
# and its exit status say so.
set -u
sources=$(cd "${srcdir:-.}" && pwd)
folder=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-quickstart-XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset TESTS check_PROGRAMS V VERBOSE MAKELEVEL MFLAGS # a make above exports what it was told
mkdir -p tests/integration tests/unit
cp "$sources/quickstart" . && cp "$sources/tests/slowest" tests/ || exit 1
touch tests/integration/{one,two,three,four}.py

# A configure that makes a Makefile, and a Makefile that runs tests as automake does: the log, the
# result, the summary. A test is a file in results/ with a line for each of its runs: pass, or what
# it prints when it fails.
cat >configure <<'SCRIPT'
#!/bin/bash
mkdir -p asan tsan dragoman-1/_build/sub
for f in . asan tsan dragoman-1/_build/sub; do
    { echo "VERSION = 1"; echo "all check-programs:"; printf "count-tests:\n\t@echo 5\n"; echo "check:"; echo "	@'$PWD/../../suite' '$PWD' '$f' \$(TESTS)"; } >$f/Makefile
done
cat >>Makefile <<EOF
check-asan:
	@../../suite '$PWD' asan
check-tsan:
	@../../suite '$PWD' tsan
check-torture check-valgrind check-deb:
distcheck-once:
	@../../suite '$PWD' dragoman-1/_build/sub
distcheck:
	@test -z "\$(TESTS)"
EOF
SCRIPT
cat >suite <<'SCRIPT'
#!/bin/bash
# suite BUILD FOLDER [TEST...]
cd "$1" && mkdir -p "$2" && cd "$2" || exit 1
where=$2
shift 2
passed=0 failed=0
for test in ${*:-tests/unit/test_one tests/integration/one.py tests/integration/two.py tests/integration/three.py tests/integration/four.py}; do
    mkdir -p "${test%/*}"
    name=${test%.py}
    story=$OLDPWD/../../results/$where/${test##*/}
    outcome=pass
    if [ -s "$story" ]; then
        outcome=$(head -n 1 "$story")
        sed -i 1d "$story"
    fi
    printf '%s\n' "$outcome" >"$name.log"
    if [ "$outcome" = pass ]; then
        result=PASS passed=$((passed + 1))
    else
        result=FAIL failed=$((failed + 1))
    fi
    printf ':test-result: %s\n:global-test-result: %s\n' $result $result >"$name.trs"
    echo "$result: $test"
done
printf '# TOTAL: 1\n# FAIL: 7\n# ERROR: 0\nTestsuite summary for dragoman\n'
printf '# TOTAL: %d\n# PASS:  %d\n# SKIP:  0\n# XFAIL: 0\n# FAIL:  %d\n# XPASS: 0\n# ERROR: 0\n' \
    $((passed + failed)) $passed $failed
[ $failed -eq 0 ]
SCRIPT
chmod +x configure suite

wrong=0
# expect CASE STATUS LAST [UNSTEADY...]: runs the tests; checks the exit status, the last line, and
# the tests named unsteady.
expect() {
    local name=$1 status=$2 last=$3 got said
    shift 3
    [ "$name" = "a second run" ] || rm -rf build
    said=$(PATH=$folder/cores:$PATH MAKEFLAGS='' DRAGOMAN_SKIP_PACKAGES=1 ./quickstart test --all 2>&1)
    got=$?
    if [ "$got" -ne "$status" ] || [ "$(tail -n 1 <<<"$said")" != "$last" ] ||
        [ "$(sed -n 's/^---- UNSTEADY[^:]*: //p' <<<"$said")" != "$(printf '%s' "${1:+$(printf '%s\n' "$@")}")" ]; then
        printf -- '---- %s: expected status %s, "%s", unsteady: %s; got status %s and\n%s\n' \
            "$name" "$status" "$last" "$*" "$got" "$said"
        wrong=1
    fi
    rm -rf results
}
# fails WHERE TEST LINE...: makes the test print each LINE in a run that fails; after these it
# passes.
fails() {
    mkdir -p "results/$1"
    printf '%s\n' "${@:3}" >"results/$1/$2"
}

mkdir cores
printf '#!/bin/sh\necho 1\n' >cores/nproc && chmod +x cores/nproc
expect "one core" 0 "20 passed, 0 failed, 0 skipped"
echo "7 0 0" >build/logs/stale.counts # as if of a step that does not come to run this time
expect "a second run" 0 "20 passed, 0 failed, 0 skipped"
if [ -e build/logs/stale.counts ]; then
    echo "---- what an earlier run counted is still there"
    wrong=1
fi
printf '#!/bin/sh\necho 4\n' >cores/nproc
expect "side by side" 0 "20 passed, 0 failed, 0 skipped"
fails tsan two.py "1 != 2" pass "1 != 2"
fails . three.py "1 != 2"
expect "failures side by side" 1 "19 passed, 1 failed, 0 skipped" \
    "tests/integration/three.py in gcc: build/logs/gcc.three.log"
rm cores/nproc
fails . one.py "AssertionError: 1 != 2"
expect "one fails once" 0 "20 passed, 0 failed, 0 skipped" "tests/integration/one.py in gcc: build/logs/gcc.one.log"
fails . one.py "1 != 2" pass "1 != 2"
expect "one fails again, alone" 1 "19 passed, 1 failed, 0 skipped"
fails . one.py "1 != 2" "1 != 2"
expect "one fails at once, alone" 1 "19 passed, 1 failed, 0 skipped"
fails . test_one "1 != 2"
expect "a unit test" 1 "19 passed, 1 failed, 0 skipped"
fails . test_one "1 != 2"
fails . one.py "1 != 2"
expect "a unit test and another" 1 "18 passed, 2 failed, 0 skipped"
fails asan two.py "==7==ERROR: AddressSanitizer: heap-use-after-free"
expect "a sanitizer's report" 1 "19 passed, 1 failed, 0 skipped"
fails tsan two.py "WARNING: ThreadSanitizer: data race (pid=7)"
expect "a data race" 1 "19 passed, 1 failed, 0 skipped"
fails . two.py "its log holds: runtime error: load of misaligned address"
expect "undefined behaviour" 1 "19 passed, 1 failed, 0 skipped"
fails . two.py "dragomand: it ended with code -11, expected (0,)"
expect "a crash" 1 "19 passed, 1 failed, 0 skipped"
fails asan two.py "waited 60 s for it"
fails dragoman-1/_build/sub three.py "waited 60 s for it"
expect "two tiers" 0 "20 passed, 0 failed, 0 skipped" \
    "tests/integration/three.py in clang-distcheck: build/logs/clang-distcheck.three.log" \
    "tests/integration/two.py in clang-asan-ubsan: build/logs/clang-asan-ubsan.two.log"
for test in one two three four; do fails . $test.py "1 != 2"; done
expect "more than a mood" 1 "16 passed, 4 failed, 0 skipped"
exit $wrong
