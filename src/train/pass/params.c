/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Two walks over the layout place the parameters: one for matrices, one for vectors. */
#include "train/pass/params.h"
#include "base/memory/mem.h"
#include "model/labels.h"
#include "model/weights_out.h"
#include "tensor/convert.h"
#include "train/data/random.h"

#include <math.h>
#include <string.h>

enum { LIST_MAX = 64 * 40 + 16 };

struct placing {
    struct dg_params *params;
    unsigned rank;            /* the rank that this walk visits */
    struct dg_tensor **slots; /* [LIST_MAX] */
};

static enum dg_err place(void *ctx, const struct dg_layout_item *item)
{
    struct placing *placing = ctx;
    struct dg_params *params = placing->params;
    if (item->rank != placing->rank)
        return DG_OK;
    if (params->n_list == LIST_MAX)
        return DG_ERR_LIMIT;
    struct dg_param *param = &params->list[params->n_list];
    size_t len;
    *param = (struct dg_param){
        .rank = item->rank,
        .shape = {item->shape[0], item->shape[1]},
        .at = params->n,
        .is_bias = item->is_bias,
        .is_gain = item->is_gain,
        .is_embedding = item->is_embedding,
    };
    memcpy(param->name, item->name, strlen(item->name) + 1);
    if (!dg_mul(item->shape[0], item->shape[1], &len) || !dg_add(params->n, len, &params->n))
        return DG_ERR_LIMIT;
    param->len = len;
    placing->slots[params->n_list++] = item->slot;
    return DG_OK;
}

static void bind(struct dg_params *params, struct dg_tensor **slots)
{
    for (size_t i = 0; i < params->n_list; i++) {
        const struct dg_param *param = &params->list[i];
        *slots[i] = (struct dg_tensor){
            .data = params->w + param->at,
            .shape = {param->shape[0], param->shape[1], 1, 1},
            .dtype = DG_DTYPE_F32,
            .rank = param->rank,
        };
    }
    dg_layout_tie(&params->bp, &params->weights);
}

enum dg_err dg_params_init(struct dg_params *params, const struct dg_blueprint *bp,
                           struct dg_error *error)
{
    struct dg_params made = {.bp = *bp};
    enum dg_err err = dg_blueprint_check(bp, error);
    if (!err && bp->norm_queries_only)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "training does not support networks whose keys and values are not "
                           "normed (norm_queries_only), such as Marian's pre-norm networks");
    if (!err && dg_blueprint_family(bp)->has_head &&
        (bp->enc.head == DG_HEAD_NONE || bp->enc.head == DG_HEAD_REPLACED))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "an encoder-only model is trained for masked words, labels of texts, a "
                           "number, labels of words or answers: expected a head for one of them");
    if (!err && dg_blueprint_family(bp)->has_head && bp->enc.rule == DG_LABELS_EACH &&
        bp->decoder.V > DG_LABELS_MAX)
        err = dg_error_set(error, DG_ERR_LIMIT, "%zu labels, expected at most %d", bp->decoder.V,
                           DG_LABELS_MAX);
    if (err)
        return err;
    err = dg_layout_weights_init(&made.weights, bp);
    struct dg_tensor **slots = dg_try_calloc(LIST_MAX, sizeof *slots);
    made.list = dg_try_calloc(LIST_MAX, sizeof *made.list);
    if (!err && (!slots || !made.list))
        err = DG_ERR_NOMEM;
    for (unsigned rank = 2; rank >= 1 && !err; rank--) {
        struct placing placing = {&made, rank, slots};
        err = dg_layout_visit(bp, &made.weights, place, &placing);
    }
    size_t bytes = 0;
    if (!err && !dg_mul(made.n, sizeof *made.w, &bytes))
        err = DG_ERR_LIMIT;
    if (!err && !(made.w = dg_try_aligned(bytes)))
        err = DG_ERR_NOMEM;
    if (!err) {
        memset(made.w, 0, bytes);
        bind(&made, slots);
        *params = made;
    } else {
        dg_params_deinit(&made);
    }
    dg_free(slots);
    return err;
}

void dg_params_deinit(struct dg_params *params)
{
    dg_layout_weights_deinit(&params->weights);
    dg_free(params->w);
    dg_free(params->list);
    *params = (struct dg_params){0};
}

/* Standard normal by Box and Muller. */
static float normal(struct dg_random *random)
{
    const double u = 1.0 - dg_random_unit(random), v = dg_random_unit(random);
    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

/* The start values of PyTorch's plain recurrent networks: words are standard normal; all of a
 * cell is uniform up to 1/sqrt(D); linear layers are uniform up to 1/sqrt of their input's
 * width. */
static void randomise_seq(struct dg_params *params, const struct dg_param *param,
                          struct dg_random *random)
{
    const bool reads_two = strstr(param->name, ".combine.") || strstr(param->name, ".location.");
    const float bound = 1.0f / sqrtf((float)(reads_two ? 2 * params->bp.D : params->bp.D));
    for (size_t j = 0; j < param->len; j++)
        params->w[param->at + j] = param->is_embedding
                                       ? normal(random)
                                       : bound * (float)(2.0 * dg_random_unit(random) - 1.0);
}

void dg_params_randomise(struct dg_params *params, uint64_t seed)
{
    for (size_t i = 0; i < params->n_list; i++) {
        const struct dg_param *param = &params->list[i];
        struct dg_random random = dg_random_make(seed, i);
        float *w = params->w + param->at;
        const float bound = sqrtf(6.0f / (float)(param->shape[0] + param->shape[1]));
        const float deviation = 1.0f / sqrtf((float)params->bp.D);
        if (dg_blueprint_family(&params->bp)->is_recurrent) {
            randomise_seq(params, param, &random);
            continue;
        }
        for (size_t j = 0; j < param->len; j++)
            w[j] = param->is_gain        ? 1.0f
                   : param->is_bias      ? 0.0f
                   : param->is_embedding ? deviation * normal(&random)
                                         : bound * (float)(2.0 * dg_random_unit(&random) - 1.0);
    }
}

/* ---- From and to models ---------------------------------------------------------------------- */

struct loading {
    const struct dg_params *params;
    struct dg_error *error;
};

static bool is_head(const struct dg_params *params, const struct dg_param *param)
{
    return dg_blueprint_family(&params->bp)->has_head &&
           (strncmp(param->name, "head.", 5) == 0 || strcmp(param->name, "final_logits_bias") == 0);
}

static enum dg_err load_item(void *ctx, const struct dg_layout_item *item)
{
    const struct loading *loading = ctx;
    const struct dg_tensor *from = item->slot;
    for (size_t i = 0; i < loading->params->n_list; i++) {
        const struct dg_param *param = &loading->params->list[i];
        if (strcmp(param->name, item->name) != 0)
            continue;
        const bool fits = dg_tensor_present(from) && dg_tensor_count(from) == param->len;
        if (!fits && is_head(loading->params, param))
            return DG_OK; /* the parameter belongs to another task, so it keeps its start value */
        if (!fits)
            return dg_error_set(loading->error, DG_ERR_INVALID,
                                "the tensor %s has another shape than expected", item->name);
        dg_convert_tensor(loading->params->w + param->at, from, 0, param->len);
        return DG_OK;
    }
    return dg_error_set(loading->error, DG_ERR_INVALID,
                        "the network has no place for the tensor %s", item->name);
}

enum dg_err dg_params_load(struct dg_params *params, const struct dg_weights *from,
                           struct dg_error *error)
{
    /* Writable because the visit hands out slots; nothing is written through them. */
    struct dg_weights copy = *from;
    struct loading loading = {params, error};
    return dg_layout_visit(&params->bp, &copy, load_item, &loading);
}

struct saving {
    const struct dg_params *params;
    const float *w;
};

static enum dg_err give_rows(void *ctx, size_t i, size_t first, size_t n, float *rows,
                             struct dg_error *error)
{
    const struct saving *saving = ctx;
    const struct dg_param *param = &saving->params->list[i];
    const size_t width = param->rank == 1 ? param->len : param->shape[1];
    (void)error;
    memcpy(rows, saving->w + param->at + first * width, n * width * sizeof *rows);
    return DG_OK;
}

enum dg_err dg_params_save(const struct dg_params *params, const float *w, enum dg_dtype dtype,
                           const char *path, struct dg_error *error)
{
    struct dg_weights_out_item *items = dg_try_calloc(params->n_list, sizeof *items);
    if (!items)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < params->n_list; i++) {
        const struct dg_param *param = &params->list[i];
        items[i] = (struct dg_weights_out_item){
            .name = param->name,
            .rank = param->rank,
            .shape = {param->shape[0], param->shape[1]},
            .dtype = dg_weights_out_dtype(dtype, param->rank),
        };
    }
    struct saving saving = {params, w};
    const struct dg_weights_out_source source = {.ctx = &saving, .rows = give_rows};
    const enum dg_err err = dg_weights_out_save(path, items, params->n_list, &source, error);
    dg_free(items);
    return err;
}
