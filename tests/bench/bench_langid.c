/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How good and how fast language identification is on labelled lines:
 *
 *     tests/bench/bench_langid MODEL TSV [TAG,TAG,...]
 *
 * TSV holds "tag<TAB>sentence" lines; with tags, only their lines are used and only they are
 * candidates. For whole sentences, their first 20 characters and their third word it prints the
 * share of right answers, the mean confidence, the expected calibration error (fifteen bins), and
 * the mean time of one call. A list of the languages that are often mistaken follows. The lines
 * must not be those that the model learnt from: train with --keep-held-out, or on another file. */
#include "base/file/map_file.h"
#include "base/memory/utf8.h"
#include "text/language/langid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BINS = 15, LANGS = 128, WORD_AT = 3, CHARS = 20 };

enum cut { CUT_NONE, CUT_CHARS, CUT_WORD, CUTS };

struct result {
    size_t n, right;
    double confidence, seconds;
    double bin_confidence[BINS], bin_right[BINS];
    size_t total[LANGS], mistaken[LANGS][LANGS + 1]; /* the last column: unknown */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* other programs are not counted */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct dg_span first_chars(struct dg_span text, size_t n)
{
    size_t at = 0, len;
    uint32_t cp;
    while (n-- > 0 && (len = dg_utf8_decode(text, at, &cp)) > 0)
        at += len;
    return dg_span_sub(text, 0, at);
}

static struct dg_span nth_word(struct dg_span text, size_t n)
{
    size_t from = 0;
    while (--n > 0 && from < text.len) {
        const char *space = memchr(text.ptr + from, ' ', text.len - from);
        from = space ? (size_t)(space - text.ptr) + 1 : text.len;
    }
    const char *space = from < text.len ? memchr(text.ptr + from, ' ', text.len - from) : NULL;
    return dg_span_sub(text, from, space ? (size_t)(space - text.ptr) - from : text.len);
}

static size_t index_of(const struct dg_langid *langid, struct dg_span tag)
{
    for (size_t i = 0; i < dg_langid_count(langid); i++)
        if (dg_span_eq(dg_span_cstr(dg_langid_tag(langid, i)), tag))
            return i;
    return LANGS;
}

static void measure(const struct dg_langid *langid, const struct dg_langid_set *set, size_t lang,
                    struct dg_span text, struct result *result)
{
    struct dg_langid_guess best = {"", 0};
    double start = now();
    size_t n = dg_langid_detect(langid, text, set, &best, 1);
    result->seconds += now() - start;
    size_t got = n ? index_of(langid, dg_span_cstr(best.tag)) : LANGS;
    int bin = (int)((double)best.confidence * BINS);
    bin = bin < BINS ? bin : BINS - 1;
    result->n++;
    result->right += got == lang;
    result->confidence += (double)best.confidence;
    result->bin_confidence[bin] += (double)best.confidence;
    result->bin_right[bin] += got == lang;
    result->total[lang]++;
    result->mistaken[lang][got] += got != lang;
}

static void print(const char *name, const struct dg_langid *langid, const struct result *result)
{
    double n = result->n ? (double)result->n : 1.0, error = 0;
    for (int i = 0; i < BINS; i++)
        error += fabs(result->bin_right[i] - result->bin_confidence[i]) / n;
    printf("%-20s %6zu texts  right %6.2f %%  confidence %.4f  calibration error %.4f  %6.2f us\n",
           name, result->n, 100.0 * (double)result->right / n, result->confidence / n, error,
           1e6 * result->seconds / n);
    for (size_t i = 0; i < dg_langid_count(langid); i++)
        for (size_t k = 0; k <= LANGS; k++)
            if (result->mistaken[i][k] * 20 > result->total[i])
                printf("    %s taken for %s: %.1f %%\n", dg_langid_tag(langid, i),
                       k == LANGS ? "unknown" : dg_langid_tag(langid, k),
                       100.0 * (double)result->mistaken[i][k] / (double)result->total[i]);
}

static void measure_file(const struct dg_langid *langid, const struct dg_langid_set *set,
                         struct dg_span tsv, struct result *results)
{
    for (size_t at = 0; at < tsv.len;) {
        const char *end = memchr(tsv.ptr + at, '\n', tsv.len - at);
        size_t len = end ? (size_t)(end - tsv.ptr) - at : tsv.len - at;
        struct dg_span line = dg_span_sub(tsv, at, len);
        const char *tab = memchr(line.ptr, '\t', line.len);
        at += len + 1;
        size_t tag_len = tab ? (size_t)(tab - line.ptr) : 0;
        size_t lang = index_of(langid, dg_span_sub(line, 0, tag_len));
        if (!tab || lang == LANGS || (set && !(set->bits[lang / 64] >> (lang % 64) & 1)))
            continue;
        struct dg_span text = dg_span_sub(line, tag_len + 1, line.len);
        measure(langid, set, lang, text, &results[CUT_NONE]);
        measure(langid, set, lang, first_chars(text, CHARS), &results[CUT_CHARS]);
        measure(langid, set, lang, nth_word(text, WORD_AT), &results[CUT_WORD]);
    }
}

/* Puts the tags of "fr,de,..." into the set; returns 0, or 1 after printing a message. */
static int read_set(const struct dg_langid *langid, char *tags, struct dg_langid_set *set)
{
    dg_langid_set_clear(set);
    while (tags) {
        char *comma = strchr(tags, ',');
        if (comma)
            *comma = '\0';
        if (!dg_langid_set_add(langid, set, tags)) {
            fprintf(stderr, "bench_langid: the model knows no language \"%s\"\n", tags);
            return 1;
        }
        tags = comma ? comma + 1 : NULL;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct dg_langid *langid;
    struct dg_langid_set set;
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    static struct result results[CUTS];
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "Usage: bench_langid MODEL TSV [TAG,TAG,...]\n");
        return 2;
    }
    if (dg_langid_open(&langid, argv[1], &error) ||
        dg_map_file_open(&file, argv[2], 1 << 30, &error)) {
        fprintf(stderr, "bench_langid: %s\n", error.text);
        return 1;
    }
    if (argc == 4 && read_set(langid, argv[3], &set))
        return 2;
    struct dg_span tsv = dg_span_make((const char *)file.bytes, file.len);
    measure_file(langid, argc == 4 ? &set : NULL, tsv, results);
    print("whole sentences", langid, &results[CUT_NONE]);
    print("first 20 characters", langid, &results[CUT_CHARS]);
    print("third word", langid, &results[CUT_WORD]);
    dg_map_file_close(&file);
    dg_langid_close(langid);
    return 0;
}
