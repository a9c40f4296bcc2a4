/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Measures how fast text becomes ids: one model, one text file, one thread, the best of several
 * rounds.
 *
 *     make tests/bench/bench_spm && tests/bench/bench_spm MODEL.spm TEXT [ROUNDS]
 *
 * Prints the load time, the memory in addition to the model file, and the speed on the text's
 * lines; then, for the same bytes without spaces, the time per byte in lines of about 100 bytes and
 * in one line of 1 MB: their ratio shows whether the time is linear in the length of a line.
 * tests/bench/spm_ratio.sh compares with spm_encode. */
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_LINE = 1 << 20, SHORT_LINE = 100 };

/* Processor time of this thread, in which other work on the machine is not counted. */
static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t encode_lines(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text)
{
    size_t n_tokens = 0;
    while (text.len) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        size_t n;
        if (dg_spm_encode(spm, work, dg_span_sub(text, 0, len)))
            abort();
        dg_spm_tokens(work, &n);
        n_tokens += n;
        text = dg_span_sub(text, len + 1, text.len);
    }
    return n_tokens;
}

static double best_of(const struct dg_spm *spm, struct dg_spm_work *work, struct dg_span text,
                      int rounds, size_t *n_tokens)
{
    double best = 1e9;
    for (int i = 0; i < rounds; i++) {
        double start = seconds_now();
        *n_tokens = encode_lines(spm, work, text);
        double taken = seconds_now() - start;
        best = taken < best ? taken : best;
    }
    return best;
}

/* LONG_LINE of the text's bytes, without spaces; with a line end after about every `line` bytes,
 * where a character begins. */
static struct dg_span without_spaces(struct dg_span text, size_t line, char *out)
{
    size_t len = 0, in_line = 0;
    for (size_t i = 0; i < text.len && len + 1 < LONG_LINE; i++) {
        if (text.ptr[i] == ' ' || text.ptr[i] == '\n')
            continue;
        if (in_line >= line && (text.ptr[i] & 0xC0) != 0x80) {
            out[len++] = '\n';
            in_line = 0;
        }
        out[len++] = text.ptr[i];
        in_line++;
    }
    return dg_span_make(out, len);
}

static void measure_linearity(const struct dg_spm *spm, struct dg_span text, int rounds)
{
    char *bytes = dg_xmalloc(LONG_LINE);
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n;
    struct dg_span lines = without_spaces(text, SHORT_LINE, bytes);
    double of_short = best_of(spm, work, lines, rounds, &n) / (double)lines.len;
    struct dg_span line = without_spaces(text, SIZE_MAX, bytes);
    double of_long = best_of(spm, work, line, rounds, &n) / (double)line.len;
    printf("no spaces: %.1f ns a byte in lines of %d bytes, %.1f in one of %zu, ratio %.2f\n",
           1e9 * of_short, SHORT_LINE, 1e9 * of_long, line.len, of_long / of_short);
    dg_spm_work_free(work);
    dg_free(bytes);
}

int main(int argc, char **argv)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_spm *spm = NULL;
    struct dg_map_file file;
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 5;
    if (argc < 3 || rounds < 1) {
        fprintf(stderr, "Usage: bench_spm MODEL TEXT [ROUNDS]\n");
        return 2;
    }
    double start = seconds_now();
    enum dg_err err = dg_spm_open(argv[1], &error, &spm);
    double loaded = seconds_now();
    if (!err)
        err = dg_map_file_open(&file, argv[2], (size_t)1 << 32, &error);
    if (err) {
        fprintf(stderr, "bench_spm: %s\n", dg_error_text(&error, err));
        return 1;
    }
    struct dg_span text = {(const char *)file.bytes, file.len};
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n_tokens;
    double taken = best_of(spm, work, text, rounds, &n_tokens);
    printf("%s model of %u pieces, loaded in %.1f ms, memory with the file %.2f times the file\n",
           dg_spm_kind_name(dg_spm_kind(spm)), dg_spm_size(spm), 1e3 * (loaded - start),
           (double)dg_spm_memory(spm) / (double)dg_spm_file_len(spm));
    printf("encode: %.3f s for %.1f MB and %zu tokens, %.1f MB/s\n", taken, (double)text.len / 1e6,
           n_tokens, (double)text.len / 1e6 / taken);
    measure_linearity(spm, text, rounds);
    dg_spm_work_free(work);
    dg_map_file_close(&file);
    dg_spm_close(spm);
    return 0;
}
