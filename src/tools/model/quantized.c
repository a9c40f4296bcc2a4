/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every parameter is converted once, row by row, and compared with its original. */
#include "tools/model/quantized.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tensor/convert.h"
#include "tensor/narrow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Matrices that network/net.c fuses into one product. Its type is then that of the widest of
 * them. */
static const struct {
    const char *part, *whole;
} fused[] = {
    {"self_attn.q_proj", "self_attn.qkv"},
    {"self_attn.k_proj", "self_attn.qkv"},
    {"self_attn.v_proj", "self_attn.qkv"},
    {"encoder_attn.k_proj", "encoder_attn.kv"},
    {"encoder_attn.v_proj", "encoder_attn.kv"},
    {"ssru.candidate", "ssru"},
    {"ssru.forget", "ssru"},
    {"gates.input", "input"},
    {"candidate.input", "input"},
    {"gates.state", "state"},
    {"candidate.state", "state"},
};

static void name_group(struct quantized_item *item)
{
    snprintf(item->group, sizeof item->group, "%s", item->name);
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++) {
        const char *at = strstr(item->name, fused[i].part);
        if (!at)
            continue;
        snprintf(item->group, sizeof item->group, "%.*s%s%s", (int)(at - item->name), item->name,
                 fused[i].whole, at + strlen(fused[i].part));
        return;
    }
}

/* ---- Conversion ------------------------------------------------------------------------------ */

static size_t rows_of(const struct dg_tensor *tensor)
{
    return tensor->rank == 2 ? tensor->shape[0] : 1;
}

struct errors {
    double squares, error_squares, most, most_error;
};

static void compare(struct errors *errors, const float *was, const float *is, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double value = (double)was[i], off = fabs(value - (double)is[i]);
        errors->squares += value * value;
        errors->error_squares += off * off;
        errors->most = fabs(value) > errors->most ? fabs(value) : errors->most;
        errors->most_error = off > errors->most_error ? off : errors->most_error;
    }
}

/* Converts one row into the item's new bytes; false when the type cannot represent it. */
static bool put_row(struct quantized_item *item, size_t row, const float *values, size_t n)
{
    char *bytes = (char *)(uintptr_t)item->as.data + row * n * dg_dtype_size(item->as.dtype);
    uint16_t *halves = (uint16_t *)(void *)bytes;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    if (item->as.dtype == DG_DTYPE_I8) {
        ((float *)(uintptr_t)item->as.scale)[row] = dg_narrow_row_i8((int8_t *)bytes, values, n);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        halves[i] =
            item->as.dtype == DG_DTYPE_F16 ? dg_narrow_f16(values[i]) : dg_narrow_bf16(values[i]);
        if ((halves[i] & 0x7fff) == (item->as.dtype == DG_DTYPE_F16 ? 0x7c00 : 0x7f80))
            return false;
    }
    return true;
}

static void release(struct quantized_item *item)
{
    if (item->as.data != item->from.data) {
        dg_free((void *)(uintptr_t)item->as.data);
        dg_free((void *)(uintptr_t)item->as.scale);
    }
    item->as = item->from;
}

static enum dg_err convert(struct quantized_item *item, enum dg_dtype type)
{
    const size_t n_rows = rows_of(&item->from),
                 n = n_rows ? dg_tensor_count(&item->from) / n_rows : 0;
    struct errors errors = {0};
    item->as = item->from;
    if (item->from.dtype == type || n == 0)
        return DG_OK;
    item->as.dtype = type;
    item->as.scale = NULL;
    item->as.data = dg_try_calloc(n_rows * n, dg_dtype_size(type));
    float *rows = dg_try_calloc(2 * n, sizeof *rows);
    bool fits = item->as.data && rows;
    if (fits && type == DG_DTYPE_I8)
        fits = (item->as.scale = dg_try_calloc(n_rows, sizeof(float))) != NULL;
    if (!fits) {
        dg_free(rows);
        if (item->as.data)
            release(item);
        item->as = item->from;
        return DG_ERR_NOMEM;
    }
    for (size_t r = 0; r < n_rows && fits; r++) {
        dg_convert_tensor(rows, &item->from, r * n, n);
        fits = put_row(item, r, rows, n);
        if (fits)
            dg_convert_tensor(rows + n, &item->as, r * n, n);
        if (fits)
            compare(&errors, rows, rows + n, n);
    }
    dg_free(rows);
    if (!fits) { /* the matrix keeps its type */
        release(item);
        return DG_OK;
    }
    item->fits_f16 = errors.most < 65504;
    item->relative_error = errors.squares > 0 ? sqrt(errors.error_squares / errors.squares) : 0;
    item->most_error = errors.most > 0 ? errors.most_error / errors.most : 0;
    return DG_OK;
}

/* ---- The list -------------------------------------------------------------------------------- */

static bool is_product(const struct dg_layout_item *item)
{
    return item->rank == 2 && !strstr(item->name, "embed_positions") &&
           !strstr(item->name, ".relative_");
}

static enum dg_err on_item(void *ctx, const struct dg_layout_item *layout)
{
    struct quantized *quantized = ctx;
    if (!dg_tensor_present(layout->slot))
        return DG_OK;
    if (DG_GROW(quantized->items, quantized->n, quantized->cap, 128))
        return DG_ERR_NOMEM;
    struct quantized_item *item = &quantized->items[quantized->n];
    *item = (struct quantized_item){
        .from = *layout->slot, .is_product = is_product(layout), .is_on = true};
    snprintf(item->name, sizeof item->name, "%s", layout->name);
    name_group(item);
    item->leader = quantized->n++;
    for (size_t i = 0; i + 1 < quantized->n && item->is_product; i++)
        if (quantized->items[i].is_product && strcmp(quantized->items[i].group, item->group) == 0) {
            item->leader = quantized->items[i].leader;
            break;
        }
    const enum dg_err err = convert(item, item->is_product ? quantized->type : DG_DTYPE_F16);
    dg_model_forget(quantized->model);
    return err;
}

enum dg_err quantized_new(struct quantized **out, const struct dg_model *model, enum dg_dtype type,
                          struct dg_error *error)
{
    struct quantized *quantized = dg_try_calloc(1, sizeof *quantized);
    if (!quantized)
        return DG_ERR_NOMEM;
    quantized->model = model;
    quantized->type = type;
    /* The walk only reads, although on_item takes writable slots. */
    struct dg_weights *weights = (struct dg_weights *)(uintptr_t)dg_model_weights(model);
    const enum dg_err err = dg_layout_visit(dg_model_blueprint(model), weights, on_item, quantized);
    if (err) {
        quantized_free(quantized);
        return dg_error_set(error, err, "the weights could not be converted: %s",
                            dg_err_sentence(err));
    }
    *out = quantized;
    return DG_OK;
}

void quantized_free(struct quantized *quantized)
{
    if (!quantized)
        return;
    for (size_t i = 0; i < quantized->n; i++)
        release(&quantized->items[i]);
    dg_free(quantized->items);
    dg_free(quantized);
}

void quantized_switch(struct quantized *quantized, size_t i, bool is_on)
{
    for (size_t k = 0; k < quantized->n; k++)
        if (quantized->items[k].is_product &&
            quantized->items[k].leader == quantized->items[i].leader)
            quantized->items[k].is_on = is_on;
}

static const struct quantized_item *find(const struct quantized *quantized, const char *name)
{
    for (size_t i = 0; i < quantized->n; i++)
        if (strcmp(quantized->items[i].name, name) == 0)
            return &quantized->items[i];
    return NULL;
}

enum dg_dtype quantized_stored(const struct quantized *quantized, const char *name)
{
    const struct quantized_item *item = find(quantized, name);
    if (!item)
        return DG_DTYPE_F32;
    if (item->is_on)
        return item->as.dtype;
    return quantized->type == DG_DTYPE_I8 && item->fits_f16 ? DG_DTYPE_F16 : item->from.dtype;
}

/* ---- Networks -------------------------------------------------------------------------------- */

static enum dg_err on_slot(void *ctx, const struct dg_layout_item *layout)
{
    const struct quantized_item *item = find(ctx, layout->name);
    if (item)
        *layout->slot = item->is_on ? item->as : item->from;
    return DG_OK;
}

enum dg_err quantized_net(const struct quantized *quantized, struct dg_net **net,
                          struct dg_error *error)
{
    const struct dg_blueprint *bp = dg_model_blueprint(quantized->model);
    const struct dg_net_opts opts = {.model = quantized->model};
    struct dg_weights weights;
    enum dg_err err = dg_layout_weights_init(&weights, bp);
    if (err)
        return err;
    err = dg_layout_visit(bp, &weights, on_slot, (void *)(uintptr_t)quantized);
    if (!err) {
        dg_layout_tie(bp, &weights);
        err = dg_net_new(net, bp, &weights, &opts, error);
    }
    dg_layout_weights_deinit(&weights);
    return err;
}
