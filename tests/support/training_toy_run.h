/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Whole runs on the toy language (toy.h): a prepared directory, its trainer, and a run that is
 * stopped and resumed. */
#ifndef DG_TESTS_TOY_RUN_H
#define DG_TESTS_TOY_RUN_H

#include "base/memory/mem.h"
#include "tmpdir.h"
#include "training_toy.h"
#include "unit.h"

/* A prepared directory below another; toy_place_leave closes and removes both. */
struct toy_place {
    char root[DG_TMPDIR_CAP], dir[300], pairs[300];
    struct dg_setup setup;
};

static const struct dg_trainer_events toy_quiet = {0};

static inline enum dg_err toy_place_try(struct toy_place *place, size_t n_pairs,
                                        const struct dg_setup_opts *opts)
{
    const char *file = place->pairs;
    snprintf(place->dir, sizeof place->dir, "%s/model", place->root);
    snprintf(place->pairs, sizeof place->pairs, "%s/pairs.tsv", place->root);
    enum dg_err err = toy_write(place->pairs, n_pairs, 5);
    if (!err)
        err = dg_setup_make(place->dir, &file, 1, opts, NULL, NULL, NULL);
    return err ? err : dg_setup_open(&place->setup, place->dir, NULL);
}

static inline void toy_place_make(struct toy_place *place, size_t n_pairs,
                                  const struct dg_setup_opts *opts)
{
    dg_tmpdir_make(place->root);
    ck_assert_int_eq(toy_place_try(place, n_pairs, opts), DG_OK);
}

static inline void toy_place_leave(struct toy_place *place)
{
    dg_setup_close(&place->setup);
    dg_tmpdir_remove(place->root);
}

static inline enum dg_err toy_trainer(struct dg_trainer **trainer, const struct toy_place *place,
                                      const struct dg_trainer_opts *opts, struct dg_error *error)
{
    const struct dg_trainer_data data = {
        &place->setup.train, &place->setup.dev, place->setup.dev_texts, place->setup.tokenizer,
        .candidates = place->setup.candidates.n ? &place->setup.candidates : NULL};
    return dg_trainer_new(trainer, opts, &place->setup.bp, &data, NULL, error);
}

static inline bool toy_stop(void *ctx)
{
    uint64_t *left = ctx;
    return (*left)-- == 0;
}

/* The weights after `opts->steps`, when the run is stopped and resumed after each of the counts. */
static inline enum dg_err toy_run_in_parts(const struct toy_place *place,
                                           const struct dg_trainer_opts *opts,
                                           const uint64_t *parts, size_t n_parts, float **weights,
                                           size_t *n)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i <= n_parts && !err; i++) {
        struct dg_trainer *trainer;
        enum dg_trainer_end end;
        uint64_t left = i < n_parts ? parts[i] : UINT64_MAX;
        const struct dg_trainer_events events = {.should_stop = toy_stop};
        err = toy_trainer(&trainer, place, opts, NULL);
        if (err)
            break;
        if (i > 0)
            err = dg_trainer_resume(trainer, NULL);
        if (!err)
            err = dg_trainer_run(trainer, &events, &left, &end, NULL);
        if (!err && i == n_parts) {
            const struct dg_params *params = dg_trainer_params(trainer);
            *n = params->n;
            if ((*weights = dg_try_malloc(*n * sizeof **weights)) != NULL)
                memcpy(*weights, params->w, *n * sizeof **weights);
            else
                err = DG_ERR_NOMEM;
        }
        dg_trainer_free(trainer);
    }
    return err;
}

#endif
