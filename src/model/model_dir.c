/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opening in three steps: configuration, mapping, binding. */
#include "model/model_dir.h"
#include "base/memory/mem.h"
#include "model/bind.h"
#include "model/config.h"
#include "model/file/safetensors.h"
#include "model/layout.h"

#include <stdatomic.h>
#include <stdio.h>

struct dg_model {
    atomic_size_t n_refs;
    struct dg_blueprint blueprint;
    struct dg_weights weights;  /* its layers are owned */
    struct dg_safetensors file; /* owned; all weights point into it */
    struct dg_arena copies; /* owned; holds copies of the tensors that are misaligned in the file */
    char *path;             /* owned */
};

static void release(struct dg_model *model)
{
    dg_layout_weights_deinit(&model->weights);
    dg_safetensors_close(&model->file);
    dg_arena_deinit(&model->copies);
    dg_free(model->path);
    dg_free(model);
}

static enum dg_err open_weights(struct dg_model *model, struct dg_error *error)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/model.safetensors", model->path) >= sizeof path)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    enum dg_err err = dg_safetensors_open(&model->file, path, error);
    if (err)
        return err;
    dg_arena_init(&model->copies, model->file.file.len + (1 << 20));
    err = dg_layout_weights_init(&model->weights, &model->blueprint);
    if (!err)
        err = dg_bind_weights(&model->weights, &model->blueprint, &model->file, &model->copies,
                              error);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

enum dg_err dg_model_open(struct dg_model **model, const char *path, struct dg_error *error)
{
    struct dg_model *opened = dg_xcalloc(1, sizeof *opened);
    atomic_init(&opened->n_refs, 1);
    opened->path = dg_xstrdup(path);
    enum dg_err err = dg_config_read(&opened->blueprint, path, error);
    if (!err)
        err = open_weights(opened, error);
    if (err)
        release(opened);
    else
        *model = opened;
    return err;
}

struct dg_model *dg_model_ref(struct dg_model *model)
{
    atomic_fetch_add_explicit(&model->n_refs, 1, memory_order_relaxed);
    return model;
}

void dg_model_unref(struct dg_model *model)
{
    if (model && atomic_fetch_sub_explicit(&model->n_refs, 1, memory_order_acq_rel) == 1)
        release(model);
}

const struct dg_blueprint *dg_model_blueprint(const struct dg_model *model)
{
    return &model->blueprint;
}

const struct dg_weights *dg_model_weights(const struct dg_model *model)
{
    return &model->weights;
}

enum dg_err dg_model_check(const struct dg_model *model, struct dg_error *error)
{
    char path[4096 + 32];
    snprintf(path, sizeof path, "%s/model.safetensors", model->path);
    return dg_map_file_check(&model->file.file, path, error);
}

void dg_model_forget(const struct dg_model *model)
{
    dg_map_file_forget(&model->file.file);
}
