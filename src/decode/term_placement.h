/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Phrases that are put where they belong (constraints with is_placed): the search goes its own way
 * first, and at each step it is noted how much the network looks at what a phrase stands for, and
 * how well the phrase would go on from there. At the end those that were said by themselves where
 * the network looked at their source are done. Of the others, the one whose best place is the
 * earliest is put there: the search begins again with what was said before that place and the
 * phrase as a forced prefix; and so on, until all are put.
 *
 *     dg_term_placement_start(&place, opts, width);                    then memory: place.notes, of
 * dg_term_placement_size each step and row:  dg_term_placement_forget, dg_term_placement_note at
 * the end:  if (dg_term_placement_find(&place, ..., &at, &phrase)) ... begin again
 *
 * An article or a preposition that the phrase wants stays before it; a phrase that is forced as
 * soon as its source is looked at would have none. Behind it the sentence goes on as it did before,
 * wherever the network finds that about as good as what it would say now: a phrase that it does not
 * expect leads it astray. */
#ifndef DG_DECODE_TERM_PLACEMENT_H
#define DG_DECODE_TERM_PLACEMENT_H

#include "decode/opts.h"
#include "decode/rules.h"

enum {
    DG_PLACED_MAX = 16
}; /* such constraints in one sentence; further ones are as if they were not to be placed */

struct dg_term_placement_note {
    float share;   /* of the attention that is on the phrase's source */
    float logprob; /* of the first token of its best form, */
    int32_t form;  /* which is this one; -1: none can be said here */
};

struct dg_term_placement {
    uint32_t all, put;            /* constraints: all of them, those that need no place any more */
    uint8_t items[DG_PLACED_MAX]; /* [n] which constraints they are, */
    struct dg_term_placement_said {
        size_t from, to;
        int32_t displaced; /* the token that it stands in place of; -1: nothing */
    } puts[DG_PLACED_MAX]; /* and the tokens of those that were put; to 0: was not */
    size_t n, width;
    struct dg_term_placement_note *notes; /* borrowed; [cap, width, n] */
    int32_t *rest;  /* borrowed; [cap], [n_rest] of which were said behind the place of the phrase
                       that was put last, and */
    size_t n_rest;  /* behind what it replaced, */
    size_t rest_at; /* which is said from here on; 0: nothing was put */
};

void dg_term_placement_start(struct dg_term_placement *place, const struct dg_search_opts *opts,
                             size_t width);

/* Bytes of `notes`. */
size_t dg_term_placement_size(const struct dg_term_placement *place, size_t cap, size_t width);

static inline bool dg_term_placement_is_open(const struct dg_term_placement *place)
{
    return place->put != place->all;
}

/* Step `at`, row `row`: no place, or what it is worth. */
void dg_term_placement_forget(struct dg_term_placement *place, size_t at, size_t row);
void dg_term_placement_note(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            size_t at, size_t row, const float *attention, size_t n_src,
                            const struct dg_columns *columns, const float *logits, float lse);

/* True where the network looks once more at the source of phrase k, which was put in place of
 * another word for it. */
bool dg_term_placement_is_displaced(const struct dg_term_placement *place,
                                    const struct dg_search_opts *opts, size_t k,
                                    const float *attention, size_t n_src);

/* How the answer `ids` [n] would go on if it went on as the one did that the last phrase was put
 * into: `eos_id` where that ended, -1 where the two have parted. */
int32_t dg_term_placement_next(const struct dg_term_placement *place, const int32_t *ids, size_t n,
                               int32_t eos_id);

/* The next phrase to be put into the answer `ids` [n], whose tokens came from rows `row_of`: at
 * `*at`, which is not before `from`. False when there is none. */
bool dg_term_placement_find(struct dg_term_placement *place, const struct dg_search_opts *opts,
                            const int32_t *ids, const int16_t *row_of, size_t n, size_t from,
                            size_t cap, size_t *at, const struct dg_phrase **phrase) DG_MUST_CHECK;

#endif
