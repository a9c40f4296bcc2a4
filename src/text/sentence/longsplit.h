/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts a sentence that is too long for the model into parts of about equal size. A cut goes after a
 * clause mark if there is one in the second half of the part's room, else at a space, else between
 * graphemes, and only within a grapheme that is itself too long between code points. Private to
 * segment.c.
 *
 *     struct dg_longsplit split = {.opts = opts, .graphemes = &graphemes};
 *     dg_longsplit_start(&split, sentence, tokens);
 *     while (dg_longsplit_next(&split, &part, &cut)) ... part is borrowed from the sentence ...
 *
 * The white space between two parts belongs to neither. The number of tokens of a part is estimated
 * from its letters (dg_segment_estimate, scaled to be right for the whole sentence) and then
 * measured; a part that is still too long is halved until it fits or is a single code point. */
#ifndef DG_TEXT_SENTENCE_LONGSPLIT_H
#define DG_TEXT_SENTENCE_LONGSPLIT_H

#include "base/memory/span.h"
#include "text/sentence/segment.h"

#include <stdbool.h>
#include <stddef.h>

struct UBreakIterator;

struct dg_longsplit {
    const struct dg_segment_opts *opts;
    struct UBreakIterator **graphemes; /* opened at the first use; closed by the caller */
    struct dg_span rest;
    size_t rest_units;
    double tokens_per_unit; /* measured tokens of the sentence, divided by its estimate in units */
};

/* Tokens as the options measure them. */
size_t dg_longsplit_measure(const struct dg_segment_opts *opts, struct dg_span text);

/* `tokens` is the result of dg_longsplit_measure for the sentence. */
void dg_longsplit_start(struct dg_longsplit *split, struct dg_span sentence, size_t tokens);

/* The next part and how it was cut; false at the end. */
bool dg_longsplit_next(struct dg_longsplit *split, struct dg_span *part, enum dg_segment_cut *cut);

#endif
