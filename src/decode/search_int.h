/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the search: its state, and the calls between its two halves. search.c runs a sentence from
 * start to results; search_choose.c chooses the words of one step. */
#ifndef DG_DECODE_SEARCH_INT_H
#define DG_DECODE_SEARCH_INT_H

#include "decode/constrain.h"
#include "decode/search.h"
#include "decode/term_placement.h"

enum {
    MOVES_MAX = 8, /* how many phrases may be moved in further attempts */
    NEXT_MAX = 64, /* constraint words tried per hypothesis */
    CANDIDATES_MAX = DG_BEAM_MAX * (2 * DG_BEAM_MAX + NEXT_MAX),
};

_Static_assert(2 * DG_BEAM_MAX <= DG_SAMPLING_PARTS_MAX, "each live row proposes twice the width");

struct hyp {
    int32_t *ids;    /* [cap] */
    float *logprobs; /* [cap] */
    int16_t *row_of; /* [cap] */
    float *coverage; /* [n_src] attention received so far; NULL without a coverage penalty */
    size_t n;
    double sum;
    double score; /* set when the hypothesis is finished */
    struct dg_constrain at;
    struct dg_rng rng;
    int from; /* the row that it continues */
    enum dg_finish finish;
};

struct candidate {
    double sum;
    int hyp;
    int32_t id; /* -1: the candidate is taken */
    float logprob;
    int bank; /* constraint tokens produced, including this one */
};

struct dg_search {
    const struct dg_search_opts *opts;
    struct dg_search_words words;
    struct dg_columns columns;
    size_t n_src;
    size_t cap;    /* the most tokens, including the end token */
    size_t n_step; /* tokens of each live hypothesis */
    int width;
    bool narrows; /* every finished hypothesis keeps its place in the beam: DG_BEAM_NARROWS */
    int n_keep;
    enum dg_search_state state;

    struct hyp *live, *next; /* [width] */
    struct hyp *kept;        /* [n_keep] finished, best first */
    struct hyp stuck;        /* the first hypothesis that looped */
    int n_live, n_next, n_kept, n_finished, n_stuck;
    bool is_split; /* when sampling: each draw has a row of its own now */

    int32_t *shown_ids; /* [cap] */
    float *shown_logprobs;
    size_t n_shown;
    size_t n_prefix; /* how many tokens of `prefix` are forced */
    const int32_t *prefix;
    int no_repeat_ngram;
    int allowance; /* how long a repetition may be, given that of the source */
    bool was_repaired;
    bool has_ties; /* some constraints name their source tokens */
    struct best_place {
        float share; /* the largest share of attention on the constraint's source so far */
        size_t at;   /* the number of tokens produced at that point */
    } places[DG_CONSTRAINTS_MAX]; /* used only while there is a single hypothesis */
    int n_moves;   /* further attempts so far, each for a phrase that found no place */
    bool is_moved; /* a further attempt begins at the end of this step */
    const float *const *attention;  /* borrowed, only during a step */
    struct dg_term_placement place; /* for phrases that are placed after an attempt without them */
    enum dg_finish empty_finish;    /* how an answer without any hypothesis finished */

    struct hyp hyps[3 * DG_BEAM_MAX + 1];
    struct dg_search_scratch *tmp; /* borrowed, only during a step */

    unsigned char *memory; /* owned; holds all arrays above */
    size_t memory_cap;
};

struct dg_search_scratch {
    struct dg_sampling *pick;
    struct candidate candidates[CANDIDATES_MAX];
    int n_candidates;
    struct dg_candidate choices[2 * DG_BEAM_MAX];
};

/* Fills search->next with the hypotheses that live on and search->kept with those that ended, and
 * counts both. */
void dg_search_choose(struct dg_search *search, float *const *logits,
                      const struct dg_sampling_parts *parts, const float *const *attention);

/* Returns the number of finished hypotheses after which the search may end. */
int dg_search_n_wanted(const struct dg_search *search);

/* Makes candidate `id` of live hypothesis `from` a live or a finished hypothesis. */
void dg_search_follow(struct dg_search *search, int from, int32_t id, float logprob,
                      const float *const *attention);

#endif
