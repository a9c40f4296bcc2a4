/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table of those options of a request that are one JSON field each. Translations
 * (translate_options.c) and generations (generation_job.c) read their options with it, so that
 * shared options have the same names and ranges.
 *
 *     #define AT(field) offsetof(struct dg_translate_options, field)
 *     #define SEARCH(field) AT(request.search.field)
 *     static const struct dg_translate_options_row rows[] = {
 *         {"stream", DG_TRANSLATE_OPTIONS_BOOL, AT(stream), 0, 0},
 *         DG_TRANSLATE_OPTIONS_SEARCH_ROWS(SEARCH),
 *     };
 *     err = dg_translate_options_check_names(json, rows, n_rows, others, n_others, &error,
 *                                            &field);
 *     err = dg_translate_options_read_row(&rows[i], json, &arena, &error, &options);
 *
 * Any thread. */
#ifndef DG_API_V1_TRANSLATE_OPTION_ROWS_H
#define DG_API_V1_TRANSLATE_OPTION_ROWS_H

#include "api/http/call.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "decode/search.h"

enum dg_translate_options_type {
    DG_TRANSLATE_OPTIONS_BOOL, /* bool */
    DG_TRANSLATE_OPTIONS_NOT,  /* a bool that is true when the field is false */
    DG_TRANSLATE_OPTIONS_INT,  /* int */
    DG_TRANSLATE_OPTIONS_UINT, /* uint64_t; with a max of 0, up to the largest integer that JSON can
                                  hold */
    DG_TRANSLATE_OPTIONS_REAL, /* float */
    DG_TRANSLATE_OPTIONS_NAME, /* const char *, made by dg_translate_options_name */
};

struct dg_translate_options_row {
    const char *name;
    enum dg_translate_options_type type;
    size_t offset; /* the member's offset in the struct that is filled */
    double min, max;
};

/* How to search; AT(field) is the offset of a field of struct dg_search_opts. */
#define DG_TRANSLATE_OPTIONS_SEARCH_ROWS(AT)                                                       \
    {"beam", DG_TRANSLATE_OPTIONS_INT, AT(beam), 1, DG_BEAM_MAX},                                  \
        {"length_penalty", DG_TRANSLATE_OPTIONS_REAL, AT(length_penalty), 0, 10},                  \
        {"patience", DG_TRANSLATE_OPTIONS_REAL, AT(patience), 0.1, 16},                            \
        {"early_stop", DG_TRANSLATE_OPTIONS_BOOL, AT(early_stop), 0, 0},                           \
        {"sample", DG_TRANSLATE_OPTIONS_BOOL, AT(sample), 0, 0},                                   \
        {"temperature", DG_TRANSLATE_OPTIONS_REAL, AT(temperature), 0.001, 100},                   \
        {"top_k", DG_TRANSLATE_OPTIONS_INT, AT(top_k), 0, DG_TOP_K_MAX},                           \
        {"top_p", DG_TRANSLATE_OPTIONS_REAL, AT(top_p), 0.001, 1},                                 \
        {"seed", DG_TRANSLATE_OPTIONS_UINT, AT(seed), 0, 0},                                       \
        {"repetition_penalty", DG_TRANSLATE_OPTIONS_REAL, AT(repetition_penalty), 1, 10},          \
        {"no_repeat_ngram", DG_TRANSLATE_OPTIONS_INT, AT(no_repeat_ngram), 0, 16},                 \
    {                                                                                              \
        "loop_guard", DG_TRANSLATE_OPTIONS_BOOL, AT(loop_guard), 0, 0                              \
    }

enum { DG_TRANSLATE_OPTIONS_TIMEOUT_MS_MAX = 3600 * 1000 };

/* Returns the row, with a lower maximum if its field can make a search expensive: the width of a
 * beam, the number of answers, the minimum length. 0: no limit besides the row's. */
struct dg_translate_options_row
dg_translate_options_bound_row(const struct dg_translate_options_row *row, size_t beam_max,
                               size_t min_length_max);

/* An absent field or null leaves the value as it is. Names are copied into the arena. */
enum dg_err dg_translate_options_read_row(const struct dg_translate_options_row *row,
                                          const struct dg_json *json, struct dg_arena *arena,
                                          struct dg_error *error, void *into) DG_MUST_CHECK;

/* Refuses the first field that is neither a row nor one of `others`, so that a misspelt option is
 * not silently ignored; *unknown becomes its name, borrowed from `json`. */
enum dg_err dg_translate_options_check_names(const struct dg_json *json,
                                             const struct dg_translate_options_row *rows,
                                             size_t n_rows, const char *const *others,
                                             size_t n_others, struct dg_error *error,
                                             const char **unknown) DG_MUST_CHECK;

/* Sets the limit of a failure with `err`, which says what would have been accepted: the row's
 * maximum (NULL: no row was being read) or, for DG_ERR_LIMIT, `most`. */
void dg_translate_options_say_limit(struct dg_failure *failure, enum dg_err err,
                                    const struct dg_translate_options_row *row, size_t most);

#endif
