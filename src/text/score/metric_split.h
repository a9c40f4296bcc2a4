/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How translation metrics cut text into tokens: the rules that sacreBLEU names 13a, char, intl and
 * none, reproduced exactly, because scores are comparable only under the same rules.
 *
 *     err = dg_metric_split(DG_SPLIT_13A, text, &out);       tokens with single spaces between them
 *
 * Input should be UTF-8; bytes that are not are taken as U+FFFD. */
#ifndef DG_TEXT_SCORE_METRIC_SPLIT_H
#define DG_TEXT_SCORE_METRIC_SPLIT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum dg_split {
    DG_SPLIT_13A,  /* the WMT evaluation script's: splits off punctuation, keeps numbers whole */
    DG_SPLIT_CHAR, /* at every character */
    DG_SPLIT_INTL, /* splits off Unicode punctuation and symbols */
    DG_SPLIT_NONE, /* at white space only */
};

/* "13a", "char", "intl", "none". */
const char *dg_split_name(enum dg_split split);

/* Replaces the content of `out` by the tokens of `text`. */
enum dg_err dg_metric_split(enum dg_split split, struct dg_span text,
                            struct dg_buf *out) DG_MUST_CHECK;

/* Replaces the content of `out` by the text in lower case, without rules of any language. */
enum dg_err dg_metric_lower(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;

/* True for white space as metric scripts define it. */
bool dg_metric_is_space(uint32_t cp);

/* Finds the next run without white space at or after *at; false at the end. */
bool dg_metric_next_word(struct dg_span text, size_t *at, struct dg_span *word);

/* Reads one code point (U+FFFD for a bad byte); returns its length in bytes, 0 at the end. */
size_t dg_metric_char(struct dg_span text, size_t at, uint32_t *cp);

#endif
