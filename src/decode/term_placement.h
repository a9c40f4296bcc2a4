/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Places phrases where they belong (constraints with is_placed). The search first runs
 * unconstrained. At each step it notes how much the network attends to each phrase's source, and
 * how likely the phrase would be there. A phrase needs nothing more if the answer already contains
 * it where the network attended to its source. Of the other phrases, the one whose best position is
 * earliest is placed there: the search restarts with the tokens before that position and the phrase
 * as a forced prefix. This repeats until all phrases are placed.
 *
 *     dg_term_placement_start(&place, opts, width);
 *     place.notes = ...                             dg_term_placement_size bytes
 *     at each step, for each row: dg_term_placement_forget, then dg_term_placement_note
 *     at the end: if (dg_term_placement_find(&place, ..., &at, &phrase)) ... begin again
 *
 * Because the search restarts, an article or a preposition that the phrase needs stays before it; a
 * phrase that was forced as soon as the network attended to its source would have none. After the
 * phrase, the sentence continues as it did before wherever the network finds that about as good as
 * its present choice, because a phrase that the network does not expect can lead it astray. */
#ifndef DG_DECODE_TERM_PLACEMENT_H
#define DG_DECODE_TERM_PLACEMENT_H

#include "decode/search_opts.h"
#include "decode/rules.h"

enum {
    DG_PLACED_MAX = 16
}; /* placed constraints in one sentence; further ones count as not placed */

struct dg_term_placement_note {
    float share;   /* the share of attention on the phrase's source */
    float logprob; /* the log-probability of the first token of the best form */
    int32_t form;  /* the best form; -1: no form may stand here */
};

struct dg_term_placement {
    /* sets of constraints, one bit each: all that are to be placed, and those that were placed */
    uint32_t all, put;
    uint8_t items[DG_PLACED_MAX]; /* [n] indices of the placed constraints */
    struct dg_term_placement_said {
        size_t from, to;
        int32_t displaced; /* the token that the phrase replaced; -1: none */
    } puts[DG_PLACED_MAX]; /* [n] where each was placed; `to` 0: it was not */
    size_t n, width;
    struct dg_term_placement_note *notes; /* borrowed; [cap, width, n] */
    int32_t *rest;  /* Borrowed; [cap] the tokens that followed the position of the last placed
                       phrase, or what that phrase replaced. */
    size_t n_rest;  /* tokens in `rest` */
    size_t rest_at; /* the position after that phrase; 0: nothing was placed */
};

void dg_term_placement_start(struct dg_term_placement *place, const struct dg_search_opts *opts,
                             size_t width);

/* Bytes of `notes`. */
size_t dg_term_placement_size(const struct dg_term_placement *place, size_t cap, size_t width);

static inline bool dg_term_placement_is_open(const struct dg_term_placement *place)
{
    return place->put != place->all;
}

/* For step `at` and row `row`: `forget` marks that no phrase may stand there; `note` records how
 * good the position is. */
void dg_term_placement_forget(struct dg_term_placement *place, size_t at, size_t row);
void dg_term_placement_note(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            size_t at, size_t row, const float *attention, size_t n_src,
                            const struct dg_columns *columns, const float *logits, float lse);

/* Returns true where the network attends again to the source of phrase k after that phrase has
 * replaced another translation of it. */
bool dg_term_placement_is_displaced(const struct dg_term_placement *place,
                                    const struct dg_search_opts *opts, size_t k,
                                    const float *attention, size_t n_src);

/* Returns the token that would follow `ids` [n] if this answer continued like the one into which
 * the last phrase was placed: `eos_id` where that answer ended, -1 where the two have diverged. */
int32_t dg_term_placement_next(const struct dg_term_placement *place, const int32_t *ids, size_t n,
                               int32_t eos_id);

/* Finds the next phrase to place into the answer `ids` [n], whose tokens came from rows `row_of`,
 * and its position *at, which is not before `from`. Returns false when there is no such phrase. */
bool dg_term_placement_find(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            const int32_t *ids, const int16_t *row_of, size_t n, size_t from,
                            size_t cap, size_t *at, const struct dg_phrase **phrase) DG_MUST_CHECK;

#endif
