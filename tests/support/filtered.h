/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* For tests of filters: checks the text of a file, and the file that is written with another
 * text. */
#ifndef DG_TESTS_FILTERED_H
#define DG_TESTS_FILTERED_H

#include "filter/filter.h"
#include "unit.h"

enum { FILTERED_MAX = 1 << 24 };

static enum dg_err filtered_append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)error;
    return dg_buf_append_span(ctx, bytes);
}

static struct dg_filter *filtered_open(const char *name, struct dg_span bytes, const char *columns)
{
    const struct dg_filter_opts opts = {.columns = dg_span_cstr(columns)};
    struct dg_filter *filter = NULL;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_filter_new(bytes, name, &opts, &filter, &error);
    ck_assert_msg(!err, "%s", dg_error_text(&error, err));
    return filter;
}

static inline void check_refusal(const char *name, struct dg_span bytes, const char *columns,
                                 enum dg_err expected, const char *sentence)
{
    const struct dg_filter_opts opts = {.columns = dg_span_cstr(columns)};
    struct dg_filter *filter = NULL;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_filter_new(bytes, name, &opts, &filter, &error);
    ck_assert_int_eq(err, expected);
    ck_assert_msg(strstr(error.text, sentence), "%s", error.text);
}

/* Checks the text of a file, and that the file written with this text is the same. */
static inline void check_text(const char *name, struct dg_span bytes, const char *columns,
                              const char *expected)
{
    struct dg_filter *filter = filtered_open(name, bytes, columns);
    struct dg_buf text, out;
    dg_buf_init(&text, FILTERED_MAX);
    dg_buf_init(&out, FILTERED_MAX);
    ck_assert_int_eq(dg_filter_text(filter, &text, NULL), DG_OK);
    ck_assert_msg(dg_span_eq(dg_buf_span(&text), dg_span_cstr(expected)), "\n%.*s\n-- not --\n%s",
                  DG_SPAN_FMT(dg_buf_span(&text)), expected);
    ck_assert_int_eq(dg_filter_write(filter, dg_buf_span(&text), dg_buf_span(&text), DG_SPAN(""),
                                     filtered_append, &out, NULL),
                     DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&out), bytes));
    dg_buf_deinit(&text);
    dg_buf_deinit(&out);
    dg_filter_free(filter);
}

/* Checks the file that is written with `target` for its text. */
static inline void check_written(const char *name, struct dg_span bytes, const char *columns,
                                 const char *target, const char *language, struct dg_span expected)
{
    struct dg_filter *filter = filtered_open(name, bytes, columns);
    struct dg_buf text, out;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&text, FILTERED_MAX);
    dg_buf_init(&out, FILTERED_MAX);
    ck_assert_int_eq(dg_filter_text(filter, &text, NULL), DG_OK);
    const enum dg_err err = dg_filter_write(filter, dg_buf_span(&text), dg_span_cstr(target),
                                            dg_span_cstr(language), filtered_append, &out, &error);
    ck_assert_msg(!err, "%s", dg_error_text(&error, err));
    ck_assert_msg(dg_span_eq(dg_buf_span(&out), expected), "\n%.*s\n-- not --\n%.*s",
                  DG_SPAN_FMT(dg_buf_span(&out)), DG_SPAN_FMT(expected));
    dg_buf_deinit(&text);
    dg_buf_deinit(&out);
    dg_filter_free(filter);
}

static inline void check_misfit(const char *name, struct dg_span bytes, const char *target)
{
    struct dg_filter *filter = filtered_open(name, bytes, "");
    struct dg_buf text, out;
    dg_buf_init(&text, FILTERED_MAX);
    dg_buf_init(&out, FILTERED_MAX);
    ck_assert_int_eq(dg_filter_text(filter, &text, NULL), DG_OK);
    ck_assert_int_eq(dg_filter_write(filter, dg_buf_span(&text), dg_span_cstr(target),
                                     DG_SPAN("de"), filtered_append, &out, NULL),
                     DG_ERR_FORMAT);
    dg_buf_deinit(&text);
    dg_buf_deinit(&out);
    dg_filter_free(filter);
}

static inline void check_note(const char *name, struct dg_span bytes, const char *columns,
                              const char *expected)
{
    struct dg_filter *filter = filtered_open(name, bytes, columns);
    const struct dg_span note = dg_filter_note(filter);
    ck_assert_msg(dg_span_eq(note, dg_span_cstr(expected)), "%.*s", DG_SPAN_FMT(note));
    dg_filter_free(filter);
}

#endif
