/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs a fuzz target without libFuzzer, so that plain `make check` replays what fuzzing has found.
 *
 *     tests/fuzz/fuzz_NAME                      all seeds of $srcdir/tests/fuzz/seeds/NAME
 *     tests/fuzz/fuzz_NAME FILE...              these files only, unchanged
 *     tests/fuzz/fuzz_NAME --mutate=N FILE...   N mutations of each of these files
 *
 * A seed is fed whole, cut short at up to CUTS places, and with up to FLIPS single bytes changed.
 * Mutations of several changes each are shared by all seeds.
 *
 * Which bytes are cut and changed depends only on the file, so a failure repeats. A target needs at
 * least one seed: a replay without input would prove nothing. A target that wants another number of
 * mutations than 2000 defines `int dg_fuzz_mutations`. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern int dg_fuzz_mutations;
__attribute__((weak)) int dg_fuzz_mutations = 2000;

enum { FILE_MAX = 4 << 20, CUTS = 200, FLIPS = 200 };

/* Each input gets a block of exactly its size, so that a sanitizer sees the first byte read past
 * it. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void feed_cut(const uint8_t *data, size_t size)
{
    size_t step = size / CUTS + 1;
    for (size_t len = 0; len < size; len += step)
        feed(data, len);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13; /* xorshift32 */
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void feed_changed(uint8_t *data, size_t size)
{
    uint32_t state = 2463534242u; /* any fixed start does */
    for (int i = 0; i < FLIPS && size > 0; i++) {
        const uint32_t random = next_random(&state);
        size_t at = random % size;
        uint8_t was = data[at];
        data[at] = (i & 1) ? (uint8_t)(random >> 24) : was ^ (uint8_t)(1u << (random >> 29));
        feed(data, size);
        data[at] = was;
    }
}

/* Bytes on which parsers trip. */
static const uint8_t odd_bytes[] = {0,   '\n', '\r', '"', '\\', '=',  '[',  ']',
                                    '#', '{',  '<',  ' ', 0x7f, 0x80, 0xc3, 0xff};

/* One change of `data`, which has room for one stretch more: a byte set, flipped, dropped or put
 * in, a stretch copied over another, repeated or cut out. Returns the new size. */
static size_t change(uint8_t *data, size_t size, uint32_t *state)
{
    size_t at = size ? next_random(state) % size : 0;
    size_t from = size ? next_random(state) % size : 0;
    size_t len = 1 + next_random(state) % 64;
    if (len > size - at)
        len = size - at;
    if (len > size - from)
        len = size - from;
    uint8_t odd = odd_bytes[next_random(state) % sizeof odd_bytes];
    switch (size ? next_random(state) % 7 : 3) {
    case 0:
        data[at] = odd;
        return size;
    case 1:
        data[at] ^= (uint8_t)(1u << (next_random(state) % 8));
        return size;
    case 2:
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    case 3:
        memmove(data + at + 1, data + at, size - at);
        data[at] = odd;
        return size + 1;
    case 4:
        memmove(data + at, data + from, len);
        return size;
    case 5:
        memmove(data + at + len, data + at, size - at);
        return size + len;
    default:
        memmove(data + at, data + at + len, size - at - len);
        return size - len;
    }
}

static void feed_mutations(const uint8_t *data, size_t size, int n)
{
    enum { CHANGES_MAX = 8, STRETCH = 64 };
    uint32_t state = 88675123u + (uint32_t)size;
    uint8_t *copy = malloc(size + CHANGES_MAX * STRETCH + 1);
    if (!copy)
        abort();
    for (int i = 0; i < n; i++) {
        size_t len = size;
        if (size > 0)
            memcpy(copy, data, size);
        for (uint32_t k = next_random(&state) % CHANGES_MAX + 1; k > 0; k--)
            len = change(copy, len, &state);
        feed(copy, len);
    }
    free(copy);
}

/* Returns 0, or 1 after a message when the file cannot be read. */
static int replay(const char *path, int with_changes, int n_mutations)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(FILE_MAX);
    if (!file || !data) {
        perror(path);
        free(data);
        if (file)
            fclose(file);
        return 1;
    }
    size_t size = fread(data, 1, FILE_MAX, file);
    fclose(file);
    feed(data, size);
    if (with_changes) {
        feed_cut(data, size);
        feed_changed(data, size);
    }
    feed_mutations(data, size, n_mutations);
    free(data);
    return 0;
}

/* Every seed of the target that this program is; the number of seeds, or -1. */
static int replay_seeds(const char *program)
{
    const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    const char *srcdir = getenv("srcdir") ? getenv("srcdir") : ".";
    if (strncmp(name, "fuzz_", 5) == 0)
        name += 5;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/fuzz/seeds/%s", srcdir, name);
    DIR *dir = opendir(folder);
    if (!dir) {
        perror(folder);
        return -1;
    }
    int n_seeds = 0, failed = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        n_seeds += entry->d_name[0] != '.';
    rewinddir(dir);
    for (struct dirent *entry; !failed && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        failed = replay(path, 1, (dg_fuzz_mutations + n_seeds - 1) / n_seeds);
    }
    closedir(dir);
    return failed ? -1 : n_seeds;
}

int main(int argc, char **argv)
{
    int n_mutations =
        argc > 1 && strncmp(argv[1], "--mutate=", 9) == 0 ? (int)strtol(argv[1] + 9, NULL, 10) : 0;
    for (int i = n_mutations > 0 ? 2 : 1; i < argc; i++)
        if (replay(argv[i], 0, n_mutations))
            return 1;
    if (argc > 1)
        return 0;
    int n_seeds = replay_seeds(argv[0]);
    if (n_seeds < 1) {
        fprintf(stderr, "%s: no seeds were replayed\n", argv[0]);
        return 1;
    }
    printf("%d seeds, each whole, cut short and changed, and %d mutations\n", n_seeds,
           dg_fuzz_mutations);
    return 0;
}
