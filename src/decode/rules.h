/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The rules for a hypothesis's next word, applied to its logits before they are normalised.
 *
 * A row of logits has one column per word or, with a shortlist, one per listed word; struct
 * dg_columns maps columns to ids. A forbidden word gets -infinity, so that the probabilities of the
 * others sum to one. */
#ifndef DG_DECODE_RULES_H
#define DG_DECODE_RULES_H

#include "decode/search_opts.h"

struct dg_columns {
    const int32_t *ids; /* borrowed; the id of each column, ascending; NULL: columns are ids */
    size_t n;           /* columns of a row */
};

/* Returns the column of `id`, or -1 when it has none. */
long dg_columns_find(const struct dg_columns *columns, int32_t id);

static inline int32_t dg_columns_id(const struct dg_columns *columns, size_t column)
{
    return columns->ids ? columns->ids[column] : (int32_t)column;
}

/* The rules' inputs. */
struct dg_rules {
    const struct dg_search_opts *opts;
    struct dg_columns columns;
    int32_t eos_id, unk_id; /* -1: the model has no such token */
    const int32_t *never;   /* borrowed; ids that the model must not generate, such as padding */
    size_t n_never;
    int no_repeat_ngram; /* used instead of the options' value; a repair sets it */
    bool forbid_end;     /* some constraints are not met yet, so the target may not end */
    size_t first, end;   /* the columns that the logits hold; 0, 0: all columns */
};

/* Applies the rules to one row; `said` holds the target ids so far. */
void dg_rules_apply(const struct dg_rules *rules, const int32_t *said, size_t n_said,
                    float *logits);

#endif
