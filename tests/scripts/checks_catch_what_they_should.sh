#!/bin/sh
# SPDX-License-Identifier: ISC
# Tiers: gcc
# The checks of scripts/ must be able to fail: each is given a small tree with known faults and has to
# name every one by file and line.
set -eu
scripts=$(cd "${srcdir:-.}/scripts" && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/dragoman-checks-XXXXXX")
trap 'rm -rf "$tree"' EXIT
failed=0
export DG_BUILDDIR="$tree" # this build's own manuals and options are not the matter here

# expect CHECK TEXT...: the check must exit with 1, and its output must contain every TEXT.
expect() {
    check=$1
    shift
    status=0
    output=$("$scripts/$check" "$tree" 2>&1) || status=$?
    if [ "$status" -ne 1 ]; then
        echo "$check: exit status $status on a faulty tree, expected 1: $output"
        failed=1
    fi
    for text in "$@"; do
        case $output in
        *"$text"*) ;;
        *)
            printf '%s did not say "%s"; it said:\n%s\n' "$check" "$text" "$output"
            failed=1
            ;;
        esac
    done
}

# write FILE: the licence lines, then standard input.
write() {
    mkdir -p "$tree/$(dirname "$1")"
    {
        printf '/* SPDX-License-Identifier: ISC\n * Copyright (c) 2026 The dragoman authors */\n'
        cat
    } >"$tree/$1"
}

write src/base/memory/low.h <<'END'
/* Lower. */
#include "engine/high.h"
#include <jansson.h>
END
write src/engine/high.h <<'END'
/* Higher. */
#include "base/memory/low.h"
#include "net/proto/http.h"
#include "high_int.h"
struct dg_both {
END
write src/engine/other.h <<'END'
struct dg_both {
END
write src/engine/low.h <<'END'
/* Has the name of another file. */
END
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31; do
    echo "/* One of many. */" | write "src/text/score/many$i.h"
done
write src/novel/thing.h <<'END'
/* A folder without a floor. */
END
write src/net/proto/http.h <<'END'
/* Protocol without I/O. */
#include <uv.h>
END
expect check-layers \
    'src/base/memory/low.h:4: "engine/high.h" climbs' \
    'src/base/memory/low.h:5: <jansson.h> belongs to' \
    'src/engine/high.h:5: "net/proto/http.h": engine must not know net' \
    'src/engine/high.h:6: "high_int.h" should name its folder' \
    'src/engine/other.h:3: "dg_both" is defined in src/engine/high.h, too' \
    'src/engine/low.h:1: there is a low.h in src/base/memory, too' \
    'src/text/score holds more than 30 source files' \
    'src/novel/thing.h:1: folder "novel" has no floor' \
    'src/net/proto/http.h:4: <uv.h> belongs to'
rm -r "$tree/src"

write src/base/memory/alone.h <<'END'
/* Uses a type it does not bring. */
size_t dg_alone(void);
END
write src/base/memory/twice.h <<'END'
/* Has no guard. */
struct dg_twice { int x; };
END
write examples/src/base/memory/used.h <<'END'

/* Something.
 *
 *     int n = dg_used_take(1,
 *                          2);                as many as are asked for
 *     dg_used_gone(&thing);
 *     dg_used_put(&(struct dg_used){.n = 1, .lost = 2});
 *     err = dg_used_take(DG_USED_LOST, ...);    what is left out is not looked at
 *     if (dg_used_take(DG_USED_LOST) == n) ...
 *
 * As dg_used_take() says; dg_prose(x) is no example. */
struct dg_used {
    int n;
};
int dg_used_take(int n);
void dg_used_put(const struct dg_used *used);
END
whole=$tree
tree=$tree/examples
expect check-examples 'src/base/memory/used.h:6:' 'too many arguments' 'src/base/memory/used.h:8:' 'dg_used_gone' 'src/base/memory/used.h:9:' \
    'lost' 'src/base/memory/used.h:11:' 'DG_USED_LOST' '4 of 5 calls in 1 examples'
tree=$whole
mkdir "$whole/unused" "$whole/unused/scripts"
tree=$whole/unused
write src/base/memory/unused.h <<'END'
int dg_unused_never(int n);
int dg_unused_called(int n);
int dg_unused_by_tests(int n);
END
write src/base/memory/unused.c <<'END'
/* dg_unused_never() in a comment is no call. */
int dg_unused_never(int n) { return n; }
int dg_unused_called(int n) { return n; }
int dg_unused_by_tests(int n) { return dg_unused_called(n); }
END
printf '# For tests.\ndg_unused_by_tests dg_unused_gone\n' >"$tree/scripts/for-tests.txt"
expect check-unused 'dg_unused_never: no program calls it' "'dg_unused_gone' is used, or gone" 'check-unused: 2 files, 2 faults'
tree=$whole
expect check-headers 'src/base/memory/alone.h:1: does not compile alone' 'src/base/memory/twice.h:1: does not compile alone'
rm -r "$tree/src"

write src/base/memory/style.c <<'END'
#include "base/memory/style.h"
int untaught;
/* malloc(1) and strcpy(a, b) in a comment are no calls,
 * nor is system("x") here. */
void f(void) { strcpy(a, b); x = "strtok(never)"; }
void g(void) { p = malloc(7); my_system(1); }
void h(void) { fd = mkstemp(path); my_opendir(1); }
END
printf '\tint tab; \n' >>"$tree/src/base/memory/style.c"
printf '/* %0150d */\n' 0 >>"$tree/src/base/memory/style.c"
printf 'int unlicensed;\n' >"$tree/src/base/memory/bare.c"
mkdir -p "$tree/tests"
printf '#!/bin/sh\n# %s\n' 'Tiers: gcc asan' >"$tree/tests/right.sh"
printf '#!/bin/sh\n# %s\n' 'Tiers: gcc arm64' >"$tree/tests/wrong.sh"
expect check-style \
    'src/base/memory/bare.c:1: the first line should be' \
    'src/base/memory/style.c:4: code before the first comment' \
    'src/base/memory/style.c:7: banned function:  strcpy(' \
    'src/base/memory/style.c:8: memory comes through' \
    'src/base/memory/style.c:9: the thread sanitizer does not see it open a file' \
    'src/base/memory/style.c:10: a tab' \
    'src/base/memory/style.c:10: blanks or a carriage return' \
    'src/base/memory/style.c:11: a line of 156 characters' \
    'check-style: 2 files, 8 violations' \
    'tests/wrong.sh:2: not "# Tiers: gcc"'
rm -r "$tree/tests"
mkdir -p "$tree/src/tensor/forward"
printf 'int  wide;\n' >"$tree/src/tensor/forward/kernel.inc"
printf '/* %0110d */\nint  broad(void) {\n  return 1; }\n' 0 | write src/base/memory/layout.c
rm "$tree/src/base/memory/style.c" "$tree/src/base/memory/bare.c"
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    cp "${srcdir:-.}/.clang-format" "$tree/"
    expect check-style \
        'check-style: 1 files, 0 violations' \
        'src/base/memory/layout.c:4:4: error: code should be clang-formatted' \
        'src/tensor/forward/kernel.inc:1:4: error: code should be clang-formatted'
    rm "$tree/.clang-format"
fi
rm -r "$tree/src/tensor" "$tree/src/base/memory/layout.c"
mkdir -p "$tree/src/base/memory"
printf '\n' | write src/base/memory/style.c

printf 'See [the map](MAP.md) and [the net](http://example.invalid/).\n\n    [code](is/skipped)\n' >"$tree/README.md"
printf 'Open `src/base/memory/style.c`, then `src/base/memory/gone.c`.\n' >"$tree/ARCHITECTURE.md"
mkdir -p "$tree/src/api/http" "$tree/docs/api" "$tree/docs/internals"
printf 'In `tests/gone.c`, `gone.h` and `style.c`: `struct dg_gone`, `dg_gone_free()`, `DG_GONE`.\n' >"$tree/docs/internals/part.md"
printf 'static const char *code_of(int a)\n{\n    return a ? "one" : "two2";\n}\n' >"$tree/src/api/http/routes.c"
printf '    fail(call, (struct failure){.status = 400, .code = a ? "three" : "four", .message = "five"});\n' >>"$tree/src/api/http/routes.c"
cat >"$tree/docs/api/openapi.yaml" <<'END'
    Error:
      type: object
      properties:
            code:
              type: string
              enum: [four, one,
                     six]
    Usage:
END
expect check-docs \
    "README.md:1: the link to 'MAP.md' leads nowhere" \
    "ARCHITECTURE.md:1: there is no 'src/base/memory/gone.c'" \
    "docs/internals/part.md:1: there is no 'tests/gone.c'" \
    "docs/internals/part.md:1: there is no 'gone.h'" \
    "docs/internals/part.md:1: there is no 'dg_gone'" \
    "docs/internals/part.md:1: there is no 'dg_gone_free'" \
    "docs/internals/part.md:1: there is no 'DG_GONE'" \
    "the codes of Error lack 'three', which src/api gives" \
    "the codes of Error lack 'two2', which src/api gives" \
    "the codes of Error have 'six', which src/api never gives" \
    '10 faults'

exit "$failed"
