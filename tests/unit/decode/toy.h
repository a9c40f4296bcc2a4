/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A toy language for the tests of the search: the logits of the next word are a fixed function of
 * the previous words, so that any search can be compared with a plain one in the test. */
#ifndef DG_TEST_TOY_H
#define DG_TEST_TOY_H

#include "decode/search.h"
#include "tensor/forward/kernels.h"
#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TOY_V = 12, TOY_EOS = 0, TOY_PAD = 11, TOY_UNK = 1, TOY_CAP = 256 };

/* logits[v] after `ids`; `kind` chooses the language. */
typedef void (*toy_fn)(uint64_t seed, const int32_t *ids, size_t n, float *logits);

static inline uint64_t toy_mix(uint64_t h, uint64_t x)
{
    h ^= x + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    h *= 0xFF51AFD7ED558CCDu;
    return h ^ h >> 33;
}

/* Scattered logits in [-3, 3); the end becomes likelier with length. */
static inline void toy_scattered(uint64_t seed, const int32_t *ids, size_t n, float *logits)
{
    uint64_t h = toy_mix(seed, n);
    for (size_t i = 0; i < n; i++)
        h = toy_mix(h, (uint64_t)ids[i]);
    for (int v = 0; v < TOY_V; v++) {
        uint64_t x = toy_mix(h, (uint64_t)v + 1000);
        logits[v] = (float)(x >> 40) / (float)(1 << 24) * 6.0f - 3.0f;
    }
    logits[TOY_EOS] += (float)n * 0.4f - 2.0f;
    logits[TOY_PAD] = 5.0f; /* must never be chosen, whatever its score */
}

/* Outputs 2 3 2 3 ... for ever; if that is forbidden, 4 and then the end. */
static inline void toy_circling(uint64_t seed, const int32_t *ids, size_t n, float *logits)
{
    (void)seed;
    for (int v = 0; v < TOY_V; v++)
        logits[v] = -4.0f;
    int32_t last = n ? ids[n - 1] : -1;
    logits[last == 2 ? 3 : 2] = 4.0f;
    logits[last == 4 ? TOY_EOS : 4] = last == 4 ? 8.0f : 2.0f;
}

struct toy_run {
    struct dg_search *search;
    struct dg_search_scratch *scratch;
    int n_restarts;
    size_t n_steps;
    size_t shown_at[TOY_CAP]; /* tokens shown after each step */
    int32_t shown[TOY_CAP];
    size_t n_shown;
    bool shown_changed; /* a token that had been shown was taken back */
};

static const int32_t toy_never[] = {TOY_PAD};
static const struct dg_search_words toy_words = {TOY_V, TOY_EOS, TOY_UNK, toy_never, 1};

static inline void toy_watch(struct toy_run *run)
{
    const int32_t *ids;
    const float *logprobs;
    size_t n = dg_search_shown(run->search, &ids, &logprobs);
    if (n < run->n_shown || memcmp(ids, run->shown, run->n_shown * sizeof *ids) != 0)
        run->shown_changed = true;
    memcpy(run->shown, ids, n * sizeof *ids);
    run->n_shown = n;
    run->shown_at[run->n_steps - 1] = n;
}

/* Runs one search to its end; free with toy_end. */
static inline struct toy_run toy_search(toy_fn fn, uint64_t seed, const struct dg_search_opts *opts,
                                        struct dg_columns columns)
{
    static const int32_t src[] = {5, 6, 7, 8, 0};
    const struct dg_kernels *kernels;
    /* The reference kernels: among thousands of toy beams some are so close that another rounding
     * of exp() ranks them differently, which says nothing about the search. */
    ck_assert_int_eq(dg_kernels_find(&kernels, "ref", NULL), DG_OK);
    struct toy_run run = {.search = dg_search_new(),
                          .scratch = dg_search_scratch_new(kernels, TOY_V)};
    ck_assert(run.search && run.scratch);
    ck_assert_int_eq(dg_search_start(run.search, opts, &toy_words, columns, src, 5, TOY_CAP),
                     DG_OK);
    static int32_t said[DG_BEAM_MAX][TOY_CAP], grown[DG_BEAM_MAX][TOY_CAP];
    static float rows[DG_BEAM_MAX][TOY_V];
    size_t n_said = 0;
    while (dg_search_state(run.search) != DG_SEARCH_DONE) {
        if (dg_search_state(run.search) == DG_SEARCH_RESTART) {
            run.n_restarts++;
            n_said = 0;
            dg_search_restarted(run.search);
        }
        float *logits[DG_BEAM_MAX];
        int n_live = dg_search_n_live(run.search);
        for (int i = 0; i < n_live; i++) {
            float all[TOY_V];
            fn(seed, said[i], n_said, all);
            for (size_t c = 0; c < columns.n; c++)
                rows[i][c] = all[dg_columns_id(&columns, c)];
            logits[i] = rows[i];
        }
        /* Every other step gets its logits in parts, if the search can take them so. */
        struct dg_sampling_parts parts[DG_BEAM_MAX];
        const bool in_parts = dg_search_takes_parts(run.search) && (seed + run.n_steps) % 2;
        for (int i = 0; i < n_live && in_parts; i++)
            dg_search_take(run.search, run.scratch, parts, i, logits[i], 0, TOY_V);
        struct dg_search_move moves[DG_BEAM_MAX];
        int n = dg_search_advance(run.search, run.scratch, in_parts ? NULL : logits,
                                  in_parts ? parts : NULL, NULL, moves);
        for (int i = 0; i < n; i++) {
            memcpy(grown[i], said[moves[i].from], n_said * sizeof **said);
            grown[i][n_said] = moves[i].token;
        }
        memcpy(said, grown, sizeof said);
        n_said++;
        run.n_steps++;
        toy_watch(&run);
    }
    return run;
}

static inline void toy_end(struct toy_run *run)
{
    dg_search_free(run->search);
    dg_search_scratch_free(run->scratch);
}

#endif
