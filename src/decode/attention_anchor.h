/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Where a demanded phrase belongs: constraints that name the source tokens they stand for (opts.h)
 * are begun where the network looks at those, which is where it would translate them.
 *
 *     attended = dg_attention_anchor_share(constraint, attention, n_src)          0 to 1
 *     due = dg_attention_anchor_due(&at, opts, attention, n_src)                   begin this one
 * now; -1: none if (dg_attention_anchor_is_barred(&at, opts, i, attention, n_src)) ...       its
 * first word is not for here
 *
 * A phrase that was never due before the sentence wants to end is put, in a second attempt, where
 * its source was attended to most (search.c). Pure functions. */
#ifndef DG_DECODE_ATTENTION_ANCHOR_H
#define DG_DECODE_ATTENTION_ANCHOR_H

#include "decode/constrain.h"

static inline bool dg_attention_anchor_is_tied(const struct dg_constraint *constraint)
{
    return constraint->src_to > constraint->src_from;
}

/* True when any constraint is: then a search needs to see attention. */
bool dg_attention_anchor_any(const struct dg_search_opts *opts);

/* True when every tied constraint is met. */
bool dg_attention_anchor_all_met(const struct dg_constrain *at, const struct dg_search_opts *opts);

/* How much of the attention [n_src] is on a tied constraint's source. */
float dg_attention_anchor_share(const struct dg_constraint *constraint, const float *attention,
                                size_t n_src);

/* The constraint that may be begun in state `at` and has most of the attention, if that is enough.
 */
int dg_attention_anchor_due(const struct dg_constrain *at, const struct dg_search_opts *opts,
                            const float *attention, size_t n_src);

/* True when constraint `item` may not be begun here: it has been said already and is for once, or
 * the network looks elsewhere. */
bool dg_attention_anchor_is_barred(const struct dg_constrain *at, const struct dg_search_opts *opts,
                                   size_t item, const float *attention, size_t n_src);

#endif
