/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Shares of attention and their thresholds, which were measured (docs/internals/search.md). */
#include "decode/attention_anchor.h"

/* The share of attention from which a phrase is due: normally, and while a phrase with an
 * earlier source is open. */
static const float due_share = 0.35f, early_share = 0.9f;

static bool is_met(const struct dg_constrain *at, size_t item)
{
    return at->met >> item & 1;
}

bool dg_attention_anchor_any(const struct dg_search_opts *opts)
{
    for (size_t i = 0; i < opts->n_constraints; i++)
        if (dg_attention_anchor_is_tied(&opts->constraints[i]))
            return true;
    return false;
}

bool dg_attention_anchor_all_met(const struct dg_constrain *at, const struct dg_search_opts *opts)
{
    for (size_t i = 0; i < opts->n_constraints; i++)
        if (dg_attention_anchor_is_tied(&opts->constraints[i]) && !is_met(at, i))
            return false;
    return true;
}

float dg_attention_anchor_share(const struct dg_constraint *constraint, const float *attention,
                                size_t n_src)
{
    float share = 0;
    size_t to = constraint->src_to < n_src ? constraint->src_to : n_src;
    for (size_t s = constraint->src_from; s < to; s++)
        share += attention[s];
    return share;
}

/* Returns the share that makes a phrase due. It is higher while a phrase with an earlier source is
 * open. */
static float wanted(const struct dg_constrain *at, const struct dg_search_opts *opts, size_t item)
{
    for (size_t i = 0; i < opts->n_constraints; i++)
        if (!is_met(at, i) && dg_attention_anchor_is_tied(&opts->constraints[i]) &&
            opts->constraints[i].src_from < opts->constraints[item].src_from)
            return early_share;
    return due_share;
}

int dg_attention_anchor_due(const struct dg_constrain *at, const struct dg_search_opts *opts,
                            const float *attention, size_t n_src)
{
    int due = -1;
    float most = 0;
    if (at->item >= 0)
        return -1;
    for (size_t i = 0; i < opts->n_constraints; i++) {
        const struct dg_constraint *constraint = &opts->constraints[i];
        if (is_met(at, i))
            continue;
        float share = dg_attention_anchor_is_tied(constraint)
                          ? dg_attention_anchor_share(constraint, attention, n_src)
                          : 0;
        if (share > most && share >= wanted(at, opts, i)) {
            most = share;
            due = (int)i;
        }
        if (opts->in_order)
            break; /* later constraints must wait for this one */
    }
    return due;
}

bool dg_attention_anchor_is_barred(const struct dg_constrain *at, const struct dg_search_opts *opts,
                                   size_t item, const float *attention, size_t n_src)
{
    const struct dg_constraint *constraint = &opts->constraints[item];
    if (!constraint->is_once || at->item == (int)item)
        return false;
    if (is_met(at, item))
        return true;
    if (!dg_attention_anchor_is_tied(constraint) || !attention)
        return false;
    float share = dg_attention_anchor_share(constraint, attention, n_src);
    if (share < early_share && wanted(at, opts, item) >= early_share)
        return true;
    for (size_t i = 0; i < opts->n_constraints; i++)
        if (i != item && !is_met(at, i) && dg_attention_anchor_is_tied(&opts->constraints[i]) &&
            dg_attention_anchor_share(&opts->constraints[i], attention, n_src) > share)
            return true; /* the place belongs to the other phrase, not to this one */
    return false;
}
