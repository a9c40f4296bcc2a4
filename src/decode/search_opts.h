/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The options of a search, in one open struct.
 *
 *     struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
 *     opts.beam = 4;
 *     err = dg_search_opts_check(&opts, vocab_size, &error);      the sentence names the field
 *
 * The struct borrows its arrays, which must live until the search that uses them is over. The
 * default is greedy search without penalties, with the loop guard on. */
#ifndef DG_DECODE_SEARCH_OPTS_H
#define DG_DECODE_SEARCH_OPTS_H

#include "base/memory/error.h"
#include "model/blueprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DG_BEAM_MAX = 16,        /* widest beam, and most alternatives */
    DG_TARGET_MAX = 4096,    /* longest target that may be requested, in tokens */
    DG_CONSTRAINTS_MAX = 32, /* most constraints of one sentence */
    DG_TOP_K_MAX = 4096,     /* largest top_k */
    DG_LEAD_MAX = 8,         /* most tokens read before the target */
};

/* Where in the target a placed phrase may stand. */
enum dg_phrase_where { DG_PHRASE_ANYWHERE, DG_PHRASE_FIRST, DG_PHRASE_INSIDE };

/* One way to satisfy a constraint: these ids in sequence. */
struct dg_phrase {
    const int32_t *ids; /* borrowed */
    size_t n_ids;       /* 1 or more */
    enum dg_phrase_where where;
};

/* The target must contain one of these phrases. */
struct dg_constraint {
    const struct dg_phrase *forms; /* borrowed; any one of them satisfies the constraint */
    size_t n_forms;                /* 1 or more */
    bool is_copy;                  /* a span that is copied whole: once begun, it is finished */
    bool is_once;                  /* its first word may occur at no other place */
    /* The search first runs without it. If the phrase is then missing where the network attended to
     * its source, a further attempt puts it there, or, for a phrase without a source, where it is
     * most probable (term_placement.h). */
    bool is_placed;
    /* The source tokens that it translates: it begins where the network attends to them. If both
     * are equal, the tokens are unknown, and it may begin anywhere. */
    size_t src_from, src_to;
};

struct dg_search_opts {
    /* Beam search; a beam of 1 is greedy search. */
    int beam;                    /* hypotheses kept; 1 to DG_BEAM_MAX */
    int n_best;                  /* answers wanted; 1 to beam, or when sampling to DG_BEAM_MAX */
    float length_penalty;        /* score = sum of log-probabilities / length^this; 0 to 10 */
    float coverage_penalty;      /* GNMT's beta on source words left out; 0 (off) to 10 */
    enum dg_beam_rule beam_rule; /* see model/blueprint.h for the rules */
    float patience;  /* The search ends with beam * patience finished hypotheses; 0.1 to 16. No more
                        than `beam` live at once. */
    bool early_stop; /* false: the search goes on while a live hypothesis could still win */

    /* Sampling instead of beam search; needs beam 1. */
    bool sample;
    float temperature; /* above 0 to 100 */
    int top_k;         /* sample among the k most probable tokens; 0: among all */
    float top_p; /* sample among the most probable tokens that have this much probability together;
                    above 0 to 1 */
    uint64_t seed; /* same seed, same text */

    /* Length in tokens. The end token counts as the last of max_len, but not among min_len. */
    int min_len;     /* 0 to max_len */
    int max_len;     /* 0 to DG_TARGET_MAX; 0 gives the empty target */
    float max_ratio; /* a further cap: max_ratio * source tokens + max_extra; 0: no such cap */
    int max_extra;

    /* What the target may contain. */
    float repetition_penalty; /* divides the scores of earlier words; 1 (off) to 10 */
    int no_repeat_ngram;      /* no sequence of n words occurs twice; 0 (off) to 16 */
    bool suppress_unk;
    bool loop_guard;         /* stops, repairs once and marks a target that loops */
    const int32_t *suppress; /* borrowed; ids that are never chosen */
    size_t n_suppress;
    const int32_t *shortlist; /* borrowed, ascending; the only ids considered besides the end */
    size_t n_shortlist;       /* 0: all */

    /* Tokens that the network reads after its start token and before the target, such as the
     * language of a multilingual model. They are not part of the target: they have no score and no
     * position, and are not shown. */
    const int32_t *lead; /* borrowed */
    /* 0 to DG_LEAD_MAX; if not 0, `lead` replaces the model's own forced first token */
    size_t n_lead;

    /* What the target must contain. */
    const int32_t *prefix; /* borrowed; the target begins with these ids, however improbable they
                              are */
    size_t n_prefix;
    const struct dg_constraint *constraints; /* borrowed */
    size_t n_constraints;
    bool in_order;          /* constraints are met one after the other */
    const uint8_t *joining; /* borrowed; [n_vocab] 1 for tokens that continue the word before; these
                               may not follow a copy. NULL: unknown */

    /* borrowed; [n_vocab] 1 for tokens that end the target, as the end token does. They belong
     * to the model, so cache keys leave them out. NULL: none */
    const uint8_t *ends;

    bool want_alignment; /* keep the attention of each target token over the source */
};

#define DG_SEARCH_OPTS_DEFAULT                                                                     \
    {                                                                                              \
        .beam = 1, .n_best = 1, .length_penalty = 1.0f, .patience = 1.0f, .early_stop = true,      \
        .temperature = 1.0f, .top_p = 1.0f, .max_len = 512, .max_ratio = 2.0f, .max_extra = 10,    \
        .repetition_penalty = 1.0f, .loop_guard = true                                             \
    }

/* Returns the model's own length penalty, limited to 0 to 10. Constraint words are less probable
 * than freely chosen words, so a penalty above 1 would reward adding any words after them: with
 * `is_demanding` the penalty is at most 1. */
float dg_search_usual_length_penalty(const struct dg_blueprint *bp, bool is_demanding);

/* Which options no request has set, so that the model's own values are used. */
struct dg_search_usual {
    bool beam, length_penalty;
};

/* Sets those options to the model's own values, and the beam's rule, which is always the model's.
 * This decides the search of every program, tool and API. The beam becomes 1 for sampling;
 * otherwise it is at most `beam_max` wide (0: no such limit), but at least n_best. Set the
 * constraints before this call. */
void dg_search_opts_complete(struct dg_search_opts *opts, const struct dg_blueprint *bp,
                             struct dg_search_usual usual, size_t beam_max);

/* Refuses options that are out of range or contradict each other; ids must be below `n_vocab`. */
enum dg_err dg_search_opts_check(const struct dg_search_opts *opts, size_t n_vocab,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Returns the length of the longest target for a source of `n_src` tokens, the end token
 * counted. */
int dg_search_opts_cap(const struct dg_search_opts *opts, size_t n_src);

#endif
