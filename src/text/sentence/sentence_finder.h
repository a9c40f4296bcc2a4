/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds the ends of sentences within one stretch of text: ICU's boundaries, some of them removed, a
 * few added. Private to segment.c; a workspace of one thread.
 *
 *     struct dg_sentence_finder finder;
 *     err = dg_sentence_finder_init(&finder, &error);
 *     err = dg_sentence_finder_start(&finder, text, "fr");       valid UTF-8, no line ends
 *     while ((end = dg_sentence_finder_next(&finder)) > 0) ...   the last is text.len
 *     dg_sentence_finder_deinit(&finder);
 *
 * Each end lies after the white space that follows the sentence. */
#ifndef DG_TEXT_SENTENCE_SENTENCE_FINDER_H
#define DG_TEXT_SENTENCE_SENTENCE_FINDER_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "text/sentence/abbrev.h"

#include <stddef.h>

struct UBreakIterator;
struct UText;

struct dg_sentence_finder {
    struct UBreakIterator *general; /* owned */
    struct UBreakIterator *greek;   /* owned; for Greek, whose question mark is ';' */
    struct UBreakIterator *now;     /* one of the two above */
    struct UText *utext;            /* owned; reused for every text */
    struct dg_span text;
    size_t at;      /* the end that was returned last */
    size_t pending; /* a boundary of ICU after one that we added, or 0 */
    const struct dg_abbrev *abbrev;
    bool japanese;
};

enum dg_err dg_sentence_finder_init(struct dg_sentence_finder *finder,
                                    struct dg_error *error) DG_MUST_CHECK;
void dg_sentence_finder_deinit(struct dg_sentence_finder *finder);

/* `language` is a canonical two- or three-letter code, or "". */
enum dg_err dg_sentence_finder_start(struct dg_sentence_finder *finder, struct dg_span text,
                                     const char *language) DG_MUST_CHECK;

/* The next end, or 0 after the last one. */
size_t dg_sentence_finder_next(struct dg_sentence_finder *finder);

#endif
