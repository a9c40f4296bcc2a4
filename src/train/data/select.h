/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Selects the pairs of a small experiment: short ones whose target begins with certain words. Words
 * are counted as the run's word vocabulary will see them (vocabulary/spm_train.h).
 *
 *     struct dg_select_opts opts = {
 *         .words_max = 9, .begins = begins, .n_begins = 12, .ascii = true};
 *     err = dg_select(&pairs, &opts, &n_dropped, &error); */
#ifndef DG_TRAIN_DATA_SELECT_H
#define DG_TRAIN_DATA_SELECT_H

#include "base/memory/error.h"
#include "train/data/pairs.h"

#include <stdbool.h>
#include <stddef.h>

struct dg_select_opts {
    size_t words_max;          /* the most words of a side; 0: no limit */
    const char *const *begins; /* [n_begins] what the target may begin with, followed by a space */
    size_t n_begins;           /* 0: anything may begin a sentence */
    bool ascii;                /* use dg_charsmap_build_ascii as the normaliser, else NFKC */
};

enum dg_err dg_select(struct dg_pairs *pairs, const struct dg_select_opts *opts, size_t *n_dropped,
                      struct dg_error *error) DG_MUST_CHECK;

#endif
