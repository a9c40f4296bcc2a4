/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The automaton that makes a target contain the required phrases: one small state per hypothesis.
 *
 * A state says which constraints are met, which form of which constraint is in progress, and how
 * far that is. A token that does not continue the phrase in progress abandons it (the phrase's
 * tokens stay, and the constraint is open again). A copy is different: once begun, it is always
 * finished.
 *
 *     struct dg_constrain at = DG_CONSTRAIN_START;
 *     n = dg_constrain_next(&at, opts, ids, cap);         ids that would make progress
 *     at = dg_constrain_take(at, opts, id);               any id, whether it makes progress or not
 *     if (dg_constrain_is_met(&at, opts)) ...             the end token may come
 *
 * Pure functions; the constraints are those of the options (search_opts.h). */
#ifndef DG_DECODE_CONSTRAIN_H
#define DG_DECODE_CONSTRAIN_H

#include "decode/search_opts.h"

struct dg_constrain {
    uint32_t met;  /* bit i: constraint i is met */
    int16_t item;  /* constraint in progress, -1: none */
    int16_t form;  /* the form of that constraint that is in progress */
    int16_t pos;   /* how many tokens of that form were produced so far */
    bool is_fresh; /* the last token has completed a copy */
    /* constraint tokens produced so far, including those of the phrase in progress */
    int32_t n_said;
};

#define DG_CONSTRAIN_START ((struct dg_constrain){.item = -1})

/* Writes the ids that would begin or continue a phrase, each once; at most `cap`. Returns how
 * many. */
size_t dg_constrain_next(const struct dg_constrain *at, const struct dg_search_opts *opts,
                         int32_t *ids, size_t cap);

/* Returns the state after `id`. */
struct dg_constrain dg_constrain_take(struct dg_constrain at, const struct dg_search_opts *opts,
                                      int32_t id);

/* Returns true when every constraint is met. */
bool dg_constrain_is_met(const struct dg_constrain *at, const struct dg_search_opts *opts);

/* Returns true while a copy is in progress: only its next token may follow. */
bool dg_constrain_is_bound(const struct dg_constrain *at, const struct dg_search_opts *opts);

/* Returns the least number of tokens still needed: every open constraint in its shortest form. */
size_t dg_constrain_n_missing(const struct dg_constrain *at, const struct dg_search_opts *opts);

#endif
