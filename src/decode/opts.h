/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every way of choosing the next token, as one open struct of explicit options.
 *
 *     struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
 *     opts.beam = 4;
 *     err = dg_search_opts_check(&opts, vocab_size, &error);      the sentence names the field
 *
 * The struct borrows its arrays: they must live until the search that uses them is over. The
 * default is greedy search that ends by itself: no penalties, loop guard on. */
#ifndef DG_DECODE_OPTS_H
#define DG_DECODE_OPTS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "model/blueprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DG_BEAM_MAX = 16,        /* widest beam, and most alternatives */
    DG_TARGET_MAX = 4096,    /* longest target anyone may ask for, in tokens */
    DG_CONSTRAINTS_MAX = 32, /* phrases that one sentence may demand */
    DG_TOP_K_MAX = 4096,     /* widest sampling pool that may be named */
    DG_LEAD_MAX = 8,         /* most tokens read before the target */
};

/* Where in the target a phrase that is placed may stand. */
enum dg_phrase_where { DG_PHRASE_ANYWHERE, DG_PHRASE_FIRST, DG_PHRASE_INSIDE };

/* One way to satisfy a constraint: these ids, in a row. */
struct dg_phrase {
    const int32_t *ids; /* borrowed */
    size_t n_ids;       /* 1 or more */
    enum dg_phrase_where where;
};

/* The target must contain one of these phrases. */
struct dg_constraint {
    const struct dg_phrase *forms; /* borrowed; any one of them will do */
    size_t n_forms;                /* 1 or more */
    bool is_copy;                  /* once begun it is finished: a span that is copied whole */
    bool is_once;                  /* its first word is said at no other place */
    bool is_placed; /* the search goes its own way first; what it has not said by itself where it
                     * looked at the source tokens is put there in a further attempt
                     * (term_placement.h); without a source, where it is likeliest */
    size_t src_from, src_to; /* the source tokens that it stands for: it is begun where the network
                              * attends to them. Equal: none are known, it may be begun anywhere */
};

struct dg_search_opts {
    /* Beam search; a beam of 1 is greedy search. */
    int beam;               /* hypotheses kept, 1 to DG_BEAM_MAX */
    int n_best;             /* answers wanted: 1 to beam; when sampling 1 to DG_BEAM_MAX draws */
    float length_penalty;   /* score = sum of log-probabilities / length^this; 0 to 10 */
    float coverage_penalty; /* GNMT's beta on source words left out; 0 (off) to 10 */
    float patience;         /* the search ends with beam * patience finished ones; 0.1 to 16 */
    bool early_stop;        /* false: goes on while a live hypothesis could still win */

    /* Sampling instead of beam search; needs beam 1. */
    bool sample;
    float temperature; /* above 0 to 100 */
    int top_k;         /* sample among the k likeliest; 0: all */
    float top_p;       /* ... and among the likeliest that hold this mass; above 0 to 1 */
    uint64_t seed;     /* same seed, same text */

    /* Length in tokens. The end token counts as the last of max_len, but not among min_len. */
    int min_len;     /* 0 to max_len */
    int max_len;     /* 0 to DG_TARGET_MAX; 0 gives the empty target */
    float max_ratio; /* further cap: max_ratio * source tokens + max_extra; 0: no such cap */
    int max_extra;

    /* What may be said. */
    float repetition_penalty; /* divides scores of words said before; 1 (off) to 10 */
    int no_repeat_ngram;      /* no n words twice in the same order; 0 (off) to 16 */
    bool suppress_unk;
    bool loop_guard;         /* stops, repairs once and marks a target that goes in circles */
    const int32_t *suppress; /* borrowed; ids that are never chosen */
    size_t n_suppress;
    const int32_t *shortlist; /* borrowed, ascending; only these ids (and the end) are considered */
    size_t n_shortlist;       /* 0: all */

    /* What the network reads behind its start token, before the target begins: the language of a
     * multilingual model. No word of the target: it has no score, no place, and is not shown. */
    const int32_t *lead; /* borrowed */
    size_t n_lead; /* 0 to DG_LEAD_MAX; more than 0 stands in for what the model forces as its first
                      token */

    /* What must be said. */
    const int32_t *prefix; /* borrowed; the target begins with these ids, whatever they cost */
    size_t n_prefix;
    const struct dg_constraint *constraints; /* borrowed */
    size_t n_constraints;
    bool in_order;          /* constraints are met one after the other */
    const uint8_t *joining; /* borrowed; [n_vocab] 1 for tokens that go on with the word before:
                             * they do not follow a copy. NULL: not known */

    const uint8_t *ends; /* borrowed; [n_vocab] 1 for tokens that end the target as its last,
                          * besides the end token; not part of a cache's key: they belong to the
                          * model. NULL: none do */

    bool want_alignment; /* attention of each target token over the source is kept */
};

#define DG_SEARCH_OPTS_DEFAULT                                                                     \
    {                                                                                              \
        .beam = 1, .n_best = 1, .length_penalty = 1.0f, .patience = 1.0f, .early_stop = true,      \
        .temperature = 1.0f, .top_p = 1.0f, .max_len = 512, .max_ratio = 2.0f, .max_extra = 10,    \
        .repetition_penalty = 1.0f, .loop_guard = true                                             \
    }

/* What the model's makers divide by, as far as a search can: from 0 to 10. Where words are
 * demanded, which are less probable than what is said freely, a penalty above 1 would pay for any
 * words behind them: there it is at most 1. */
float dg_search_usual_length_penalty(const struct dg_blueprint *bp, bool is_demanding);

/* Refuses what is out of range or contradicts itself; ids must be below `n_vocab`. */
enum dg_err dg_search_opts_check(const struct dg_search_opts *opts, size_t n_vocab,
                                 struct dg_error *error) DG_MUST_CHECK;

/* The longest target for a source of `n_src` tokens, the end token counted. */
int dg_search_opts_cap(const struct dg_search_opts *opts, size_t n_src);

#endif
