/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A toy language for the tests of training: each word of one side has one translation on the other,
 * where the order of words is reversed. Seeded: the same on every machine. */
#ifndef DG_TESTS_TOY_H
#define DG_TESTS_TOY_H

#include "base/file/file_out.h"
#include "train/data/random.h"
#include "train/run/setup.h"
#include "train/run/trainer.h"

#include <stdio.h>

static const char *const toy_source[] = {"bato", "kemi", "lusa",  "dorin", "feka",
                                         "miru", "sapo", "tenil", "vogu",  "zari"};
static const char *const toy_target[] = {"apple", "bread", "cloud", "dance", "earth",
                                         "fruit", "grass", "horse", "juice", "knife"};
enum { TOY_WORDS = 10, TOY_LEN_MAX = 5 };

/* Writes `n` different pairs to `path`. */
static inline enum dg_err toy_write(const char *path, size_t n, uint64_t seed)
{
    struct dg_random random = dg_random_make(seed, 0);
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        size_t words[TOY_LEN_MAX];
        const size_t len = 3 + dg_random_below(&random, TOY_LEN_MAX - 2);
        for (size_t j = 0; j < len; j++)
            words[j] = dg_random_below(&random, TOY_WORDS);
        for (size_t j = 0; j < len && !err; j++)
            err = dg_buf_printf(&text, "%s%s", j ? " " : "", toy_source[words[j]]);
        for (size_t j = len; j-- > 0 && !err;)
            err = dg_buf_printf(&text, "%s%s", j + 1 == len ? "\t" : " ", toy_target[words[j]]);
        if (!err)
            err = dg_buf_append_byte(&text, '\n');
    }
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, NULL);
    dg_buf_deinit(&text);
    return err;
}

static inline struct dg_setup_opts toy_setup_opts(void)
{
    struct dg_setup_opts opts = {.pairs = DG_PAIRS_OPTS_DEFAULT,
                                 .n_dev = 4,
                                 .seed = 1,
                                 .spm = DG_SPM_TRAIN_OPTS_DEFAULT,
                                 .len_max = 32};
    opts.spm.size = 60;
    dg_setup_blueprint(&opts.bp);
    opts.bp.D = 32;
    opts.bp.encoder = (struct dg_stack){1, 4, 64, 0};
    opts.bp.decoder = (struct dg_stack){1, 4, 64, 0};
    return opts;
}

static inline struct dg_trainer_opts toy_trainer_opts(const char *dir)
{
    struct dg_trainer_opts opts = DG_TRAINER_OPTS_DEFAULT;
    opts.dir = dir;
    opts.threads = 2;
    opts.batch_tokens = 200;
    opts.part_tokens = 64;
    opts.len_max = 32;
    opts.optimiser.rate = 0.003;
    opts.optimiser.warmup = 20;
    opts.n_translate = 4;
    opts.valid_every = 5;
    opts.log_every = 2;
    return opts;
}

#endif
