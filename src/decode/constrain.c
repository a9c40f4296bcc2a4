/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Phrase constraints as a per-hypothesis automaton. Post and Vilar (2018), "Fast Lexically
 * Constrained Decoding with Dynamic Beam Allocation", had the idea of dividing the beam among
 * hypotheses by how much of their constraints they have met; search_choose.c does that division. */
#include "decode/constrain.h"

static bool is_open(const struct dg_constrain *at, size_t item)
{
    return !(at->met >> item & 1);
}

/* Finds the constraints that may begin now, [first, end): all, or only the next one in order. */
static void startable(const struct dg_constrain *at, const struct dg_search_opts *opts,
                      size_t *first, size_t *end)
{
    *first = 0;
    *end = opts->n_constraints;
    if (!opts->in_order)
        return;
    while (*first < opts->n_constraints && !is_open(at, *first))
        (*first)++;
    if (*first < *end)
        *end = *first + 1;
}

static size_t add_id(int32_t *ids, size_t n, size_t cap, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return n;
    if (n < cap)
        ids[n++] = id;
    return n;
}

/* Returns true when form `f` of the item in progress begins with the item's tokens so far. */
static bool shares_beginning(const struct dg_constrain *at, const struct dg_constraint *constraint,
                             size_t f)
{
    const struct dg_phrase *said = &constraint->forms[at->form];
    const struct dg_phrase *other = &constraint->forms[f];
    if (other->n_ids <= (size_t)at->pos)
        return false;
    for (int i = 0; i < at->pos; i++)
        if (other->ids[i] != said->ids[i])
            return false;
    return true;
}

size_t dg_constrain_next(const struct dg_constrain *at, const struct dg_search_opts *opts,
                         int32_t *ids, size_t cap)
{
    size_t n = 0;
    if (at->item >= 0) {
        const struct dg_constraint *constraint = &opts->constraints[at->item];
        for (size_t f = 0; f < constraint->n_forms; f++)
            if (shares_beginning(at, constraint, f))
                n = add_id(ids, n, cap, constraint->forms[f].ids[at->pos]);
        return n;
    }
    size_t first, end;
    startable(at, opts, &first, &end);
    for (size_t i = first; i < end; i++)
        if (is_open(at, i))
            for (size_t f = 0; f < opts->constraints[i].n_forms; f++)
                n = add_id(ids, n, cap, opts->constraints[i].forms[f].ids[0]);
    return n;
}

/* Counts one token of `form`; its last token meets the constraint. */
static struct dg_constrain step_into(struct dg_constrain at, const struct dg_search_opts *opts,
                                     size_t item, size_t form)
{
    at.item = (int16_t)item;
    at.form = (int16_t)form;
    at.pos++;
    at.n_said++;
    if ((size_t)at.pos == opts->constraints[item].forms[form].n_ids) {
        at.met |= (uint32_t)1 << item;
        at.is_fresh = opts->constraints[item].is_copy;
        at.item = -1;
        at.pos = 0;
    }
    return at;
}

struct dg_constrain dg_constrain_take(struct dg_constrain at, const struct dg_search_opts *opts,
                                      int32_t id)
{
    at.is_fresh = false;
    if (at.item >= 0) {
        const struct dg_constraint *constraint = &opts->constraints[at.item];
        for (size_t f = 0; f < constraint->n_forms; f++)
            if (shares_beginning(&at, constraint, f) && constraint->forms[f].ids[at.pos] == id)
                return step_into(at, opts, (size_t)at.item, f);
        at.n_said -= at.pos;
        at.item = -1;
        at.pos = 0;
    }
    size_t first, end;
    startable(&at, opts, &first, &end);
    for (size_t i = first; i < end; i++)
        if (is_open(&at, i))
            for (size_t f = 0; f < opts->constraints[i].n_forms; f++)
                if (opts->constraints[i].forms[f].ids[0] == id)
                    return step_into(at, opts, i, f);
    return at;
}

bool dg_constrain_is_met(const struct dg_constrain *at, const struct dg_search_opts *opts)
{
    for (size_t i = 0; i < opts->n_constraints; i++)
        if (is_open(at, i))
            return false;
    return true;
}

bool dg_constrain_is_bound(const struct dg_constrain *at, const struct dg_search_opts *opts)
{
    return at->item >= 0 && opts->constraints[at->item].is_copy;
}

size_t dg_constrain_n_missing(const struct dg_constrain *at, const struct dg_search_opts *opts)
{
    size_t n = 0;
    for (size_t i = 0; i < opts->n_constraints; i++) {
        if (!is_open(at, i))
            continue;
        const struct dg_constraint *constraint = &opts->constraints[i];
        size_t shortest = constraint->forms[0].n_ids;
        for (size_t f = 1; f < constraint->n_forms; f++)
            if (constraint->forms[f].n_ids < shortest)
                shortest = constraint->forms[f].n_ids;
        if (at->item == (int16_t)i)
            shortest = constraint->forms[at->form].n_ids - (size_t)at->pos;
        n += shortest;
    }
    return n;
}
