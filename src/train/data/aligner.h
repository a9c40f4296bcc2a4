/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Word alignment: finds which words of two sentences translate each other. It is IBM model 1 with a
 * prior for the diagonal (Dyer, Chahuneau and Smith, 2013), learned in both directions by
 * expectation maximisation; the only data that it needs are pairs of sentences.
 *
 *     struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
 *     err = dg_aligner_new(&aligner, &pairs, &opts, &error);
 *     err = dg_aligner_links(aligner, &example, DG_SYMMETRISE_GROW_DIAG_FINAL_AND, &links);
 *     ... links.list[0].source, links.list[0].target ...
 *     dg_aligner_free(aligner);
 *     p(target word i translates source word j) = p0 if it translates none, else
 *         (1 - p0) exp(-tension |i / T - j / S|) / Z      times the translation table
 *
 * The tables hold at most `memory` bytes: when they are full, the rarest pairs of words are
 * forgotten. The same pairs and options give the same links. It learns with two threads, one for
 * each direction. Making links uses the aligner's scratch memory, so only one thread at a time may
 * do it. */
#ifndef DG_TRAIN_DATA_ALIGNER_H
#define DG_TRAIN_DATA_ALIGNER_H

#include "base/memory/error.h"
#include "train/data/example.h"
#include "train/data/word_links.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_ALIGNER_LEN_MAX = 255 }; /* words of a side; longer pairs are ignored, and get no links */

struct dg_aligner_opts {
    unsigned iterations;
    double p0;          /* share of words that translate nothing */
    double tension;     /* how strongly the diagonal is preferred; 0: no prior (model 1) */
    bool fixed_tension; /* the tension is kept instead of learned */
    double alpha;  /* parameter of the Dirichlet prior of translations; a small value keeps rare
                      words from collecting much */
    size_t memory; /* the most bytes of both tables */
    const volatile sig_atomic_t *stop; /* NULL, or a flag that ends the work with DG_ERR_CANCELLED
                                          when it is not 0 */
    /* Called on the caller's thread; or NULL. */
    void (*progress)(void *ctx, unsigned iteration, double perplexity);
    void *progress_ctx;
};

#define DG_ALIGNER_OPTS_DEFAULT                                                                    \
    {                                                                                              \
        .iterations = 5, .p0 = 0.08, .tension = 4.0, .alpha = 0.01, .memory = (size_t)512 << 20    \
    }

/* The pairs to learn from; two threads call `get` at once. Ids are below n_source and n_target. */
struct dg_aligner_pairs {
    struct dg_example (*get)(const void *ctx, size_t i);
    const void *ctx;
    size_t n;
    size_t n_source, n_target;
};

struct dg_aligner; /* opaque */

enum dg_err dg_aligner_new(struct dg_aligner **aligner, const struct dg_aligner_pairs *pairs,
                           const struct dg_aligner_opts *opts,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_aligner_free(struct dg_aligner *aligner); /* NULL is fine */

/* Replaces the content of `links`. A pair that is empty or too long gets no links. */
enum dg_err dg_aligner_links(struct dg_aligner *aligner, const struct dg_example *example,
                             enum dg_symmetrise how, struct dg_word_links *links) DG_MUST_CHECK;

/* Returns p(target word | source word); 0 if the two were never seen together, or were
 * forgotten. */
double dg_aligner_probability(const struct dg_aligner *aligner, int32_t source, int32_t target);

/* Calls `fn` for every pair of words in the table of target given source, in no particular order.
 */
void dg_aligner_visit(const struct dg_aligner *aligner,
                      void (*fn)(void *ctx, uint32_t source, uint32_t target, double p), void *ctx);

/* What was learned for a direction: 0 is source to target, 1 is target to source. */
struct dg_aligner_report {
    double tension, perplexity;
    /* pairs of words that the tables hold, and pairs that were forgotten */
    size_t n_entries, n_forgotten;
};

struct dg_aligner_report dg_aligner_report(const struct dg_aligner *aligner, unsigned direction);

#endif
