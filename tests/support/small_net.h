/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A network so small that thousands of sentences cost nothing, from a model directory that is
 * removed when it is closed.
 *
 *     static struct small_net small;
 *     small_net_open(&small);
 *     dg_sched_attach(sched, small.net, ...);      source tokens: below SMALL_NET_WORDS
 *     small_net_close(&small); */
#ifndef SMALL_NET_H
#define SMALL_NET_H

#include "mkmodel.h"
#include "model/model_dir.h"
#include "network/net.h"
#include "tmpdir.h"

#include <check.h>
#include <stdio.h>

enum { SMALL_NET_WORDS = 16 };

struct small_net {
    char root[DG_TMPDIR_CAP];
    struct dg_model *model;
    struct dg_net *net;
};

static inline void small_net_open(struct small_net *small)
{
    char dir[DG_TMPDIR_CAP + 16];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint.D = 16;
    options.blueprint.encoder.F = options.blueprint.decoder.F = 16;
    options.blueprint.encoder.n_layers = options.blueprint.decoder.n_layers = 1;
    dg_tmpdir_make(small->root);
    snprintf(dir, sizeof dir, "%s/model", small->root);
    ck_assert_msg(dg_mkmodel(dir, &options, &error) == DG_OK, "%s", error.text);
    ck_assert_msg(dg_model_open(&small->model, dir, &error) == DG_OK, "%s", error.text);
    enum dg_err err = dg_net_new(&small->net, dg_model_blueprint(small->model),
                                 dg_model_weights(small->model), NULL, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    ck_assert_uint_gt(dg_model_blueprint(small->model)->encoder.V, SMALL_NET_WORDS);
}

static inline void small_net_close(struct small_net *small)
{
    dg_net_free(small->net);
    dg_model_unref(small->model);
    dg_tmpdir_remove(small->root);
}

#endif
