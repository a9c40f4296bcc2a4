/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds where a required phrase belongs. A tied constraint names the source tokens that its phrase
 * translates (search_opts.h); its phrase begins where the network attends to those tokens, because
 * the network would translate them there.
 *
 *     attended = dg_attention_anchor_share(constraint, attention, n_src);         0 to 1
 *     due = dg_attention_anchor_due(&at, opts, attention, n_src);      begin this one; -1: none
 *     if (dg_attention_anchor_is_barred(&at, opts, i, attention, n_src)) ...
 *                                                  the first word of constraint i may not come here
 *
 * If a phrase has never been due when the sentence wants to end, a second attempt puts it where its
 * source received most attention (search.c). Pure functions. */
#ifndef DG_DECODE_ATTENTION_ANCHOR_H
#define DG_DECODE_ATTENTION_ANCHOR_H

#include "decode/constrain.h"

static inline bool dg_attention_anchor_is_tied(const struct dg_constraint *constraint)
{
    return constraint->src_to > constraint->src_from;
}

/* Returns true when any constraint is tied: then the search needs attention weights. */
bool dg_attention_anchor_any(const struct dg_search_opts *opts);

/* Returns true when every tied constraint is met. */
bool dg_attention_anchor_all_met(const struct dg_constrain *at, const struct dg_search_opts *opts);

/* Returns the share of the attention [n_src] that is on a tied constraint's source. */
float dg_attention_anchor_share(const struct dg_constraint *constraint, const float *attention,
                                size_t n_src);

/* Returns the constraint that may begin in state `at` and whose source has the largest share of
 * attention, if that share is large enough; else -1. */
int dg_attention_anchor_due(const struct dg_constrain *at, const struct dg_search_opts *opts,
                            const float *attention, size_t n_src);

/* Returns true when constraint `item` may not begin here: it is met already and may occur only
 * once, or the network attends elsewhere. */
bool dg_attention_anchor_is_barred(const struct dg_constrain *at, const struct dg_search_opts *opts,
                                   size_t item, const float *attention, size_t n_src);

#endif
