/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each item becomes one planned tensor, an I8 item two. All blocks of rows use one workspace. */
#include "model/weights_out.h"
#include "base/memory/mem.h"
#include "model/file/safetensors_out.h"
#include "tensor/narrow.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_FLOATS = 256 * 1024 }; /* a block of raw bytes has as many bytes */

/* One planned tensor: an item, or the scales of one. */
struct part {
    size_t item;
    bool is_scale;
};

struct saving {
    const struct dg_weights_out_item *items;
    const struct dg_weights_out_source *source;
    struct part *parts; /* [n_parts] */
    float *rows;        /* workspace: one block */
    void *stored;       /* workspace: the block in its type */
    float *scales;      /* workspace: one block's scales */
};

static size_t rows_of(const struct dg_weights_out_item *item)
{
    return item->rank == 2 ? item->shape[0] : 1;
}

static size_t cols_of(const struct dg_weights_out_item *item)
{
    return item->rank == 2 ? item->shape[1] : item->shape[0];
}

/* Returns as many rows as fit the block, but at least one. */
static size_t block_rows(const struct dg_weights_out_item *item)
{
    size_t n = BLOCK_FLOATS / (cols_of(item) ? cols_of(item) : 1);
    return n ? n : 1;
}

enum dg_dtype dg_weights_out_dtype(enum dg_dtype wanted, unsigned rank)
{
    return wanted == DG_DTYPE_I8 && rank == 1 ? DG_DTYPE_F32 : wanted;
}

uint64_t dg_weights_out_len(const struct dg_weights_out_item *items, size_t n)
{
    uint64_t len = 0;
    for (size_t i = 0; i < n; i++) {
        len += (uint64_t)rows_of(&items[i]) * cols_of(&items[i]) * dg_dtype_size(items[i].dtype);
        if (items[i].dtype == DG_DTYPE_I8)
            len += rows_of(&items[i]) * sizeof(float);
    }
    return len;
}

/* ---- One block ------------------------------------------------------------------------------- */

static enum dg_err refuse_value(const struct dg_weights_out_item *item, float value,
                                struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_RANGE,
                        "tensor %s holds %g, which %s cannot represent; store it as f32",
                        item->name, (double)value, dg_dtype_name(item->dtype));
}

/* Converts the floats in `rows` into `stored`; with `only_scales`, writes one scale for each row of
 * an I8 item to `scales` instead. */
static enum dg_err convert(struct saving *s, const struct dg_weights_out_item *item, size_t n_rows,
                           bool only_scales, struct dg_error *error)
{
    size_t cols = cols_of(item), n = n_rows * cols;
    uint16_t *halves = s->stored;
    switch (item->dtype) {
    case DG_DTYPE_F32:
        memcpy(s->stored, s->rows, n * sizeof(float));
        return DG_OK;
    case DG_DTYPE_F16:
        for (size_t i = 0; i < n; i++) {
            halves[i] = dg_narrow_f16(s->rows[i]);
            if ((halves[i] & 0x7fff) == 0x7c00 && isfinite(s->rows[i]))
                return refuse_value(item, s->rows[i], error);
        }
        return DG_OK;
    case DG_DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            halves[i] = dg_narrow_bf16(s->rows[i]);
        return DG_OK;
    case DG_DTYPE_I8:
        for (size_t i = 0; i < n && only_scales; i++) /* the scales come first */
            if (!isfinite(s->rows[i]))
                return refuse_value(item, s->rows[i], error);
        for (size_t r = 0; r < n_rows; r++) {
            if (only_scales)
                s->scales[r] = dg_narrow_scale_i8(s->rows + r * cols, cols);
            else
                dg_narrow_row_i8((int8_t *)s->stored + r * cols, s->rows + r * cols, cols);
        }
        return DG_OK;
    default:
        return dg_error_set(error, DG_ERR_INTERNAL, "weights are not stored as %s",
                            dg_dtype_name(item->dtype));
    }
}

static void report(const struct saving *s, size_t len)
{
    if (s->source->progress)
        s->source->progress(s->source->ctx, len);
}

static enum dg_err write_block(struct saving *s, const struct part *part, size_t n_rows,
                               struct dg_safetensors_out *out, struct dg_error *error)
{
    const struct dg_weights_out_item *item = &s->items[part->item];
    enum dg_err err = convert(s, item, n_rows, part->is_scale, error);
    size_t len = part->is_scale ? n_rows * sizeof(float)
                                : n_rows * cols_of(item) * dg_dtype_size(item->dtype);
    if (!err)
        err = dg_safetensors_out_write(out, part->is_scale ? s->scales : s->stored, len, error);
    if (!err)
        report(s, len);
    return err;
}

static enum dg_err write_raw(struct saving *s, const struct part *part,
                             struct dg_safetensors_out *out, struct dg_error *error)
{
    const struct dg_weights_out_item *item = &s->items[part->item];
    const void *bytes;
    enum dg_err err = DG_OK;
    size_t len = rows_of(item) * cols_of(item) * dg_dtype_size(item->dtype);
    /* the bytes are read again from the source, which need not keep them */
    for (size_t at = 0; at < len && !err;) {
        size_t more = len - at < BLOCK_FLOATS ? len - at : BLOCK_FLOATS;
        err = s->source->raw(s->source->ctx, part->item, &bytes, error);
        if (!err)
            err = dg_safetensors_out_write(out, (const char *)bytes + at, more, error);
        at += more;
        report(s, more);
    }
    return err;
}

static enum dg_err write_raw_scales(struct saving *s, const struct part *part,
                                    struct dg_safetensors_out *out, struct dg_error *error)
{
    size_t n = rows_of(&s->items[part->item]);
    float *scales = dg_try_calloc(n, sizeof *scales);
    enum dg_err err =
        scales ? s->source->raw_scales(s->source->ctx, part->item, scales, error) : DG_ERR_NOMEM;
    if (!err)
        err = dg_safetensors_out_write(out, scales, n * sizeof *scales, error);
    if (!err)
        report(s, n * sizeof *scales);
    dg_free(scales);
    return err;
}

static enum dg_err fill(void *ctx, size_t i, struct dg_safetensors_out *out, struct dg_error *error)
{
    struct saving *s = ctx;
    const struct part *part = &s->parts[i];
    const struct dg_weights_out_item *item = &s->items[part->item];
    if (item->has_raw)
        return part->is_scale ? write_raw_scales(s, part, out, error)
                              : write_raw(s, part, out, error);
    size_t n_rows = rows_of(item), block = block_rows(item);
    enum dg_err err = DG_OK;
    for (size_t first = 0; first < n_rows && !err; first += block) {
        size_t n = n_rows - first < block ? n_rows - first : block;
        err = s->source->rows(s->source->ctx, part->item, first, n, s->rows, error);
        if (!err)
            err = write_block(s, part, n, out, error);
    }
    return err;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static enum dg_err allocate(struct saving *s, const struct dg_weights_out_item *items, size_t n)
{
    size_t floats = BLOCK_FLOATS, scales = 1;
    for (size_t i = 0; i < n; i++) {
        if (cols_of(&items[i]) > floats)
            floats = cols_of(&items[i]);
        if (block_rows(&items[i]) > scales && rows_of(&items[i]) > scales)
            scales = rows_of(&items[i]);
    }
    s->rows = dg_try_calloc(floats, sizeof(float));
    s->stored = dg_try_calloc(floats, sizeof(float));
    s->scales = dg_try_calloc(scales, sizeof(float));
    return s->rows && s->stored && s->scales ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err save(struct saving *s, const char *path, const struct dg_weights_out_item *items,
                        size_t n, struct dg_safetensors_plan *plan, char (*names)[128],
                        struct dg_error *error)
{
    size_t n_parts = 0;
    for (size_t i = 0; i < n; i++) {
        const struct dg_weights_out_item *item = &items[i];
        s->parts[n_parts] = (struct part){.item = i};
        plan[n_parts] = (struct dg_safetensors_plan){
            item->name, item->dtype, item->rank, {item->shape[0], item->shape[1]}};
        n_parts++;
        if (item->dtype != DG_DTYPE_I8)
            continue;
        snprintf(names[i], sizeof names[i], "%s_scale", item->name);
        s->parts[n_parts] = (struct part){.item = i, .is_scale = true};
        plan[n_parts] = (struct dg_safetensors_plan){names[i], DG_DTYPE_F32, 1, {rows_of(item)}};
        n_parts++;
    }
    return dg_safetensors_save(path, plan, n_parts, fill, s, error);
}

enum dg_err dg_weights_out_save(const char *path, const struct dg_weights_out_item *items, size_t n,
                                const struct dg_weights_out_source *source, struct dg_error *error)
{
    struct saving s = {.items = items, .source = source};
    s.parts = dg_try_calloc(2 * n + 1, sizeof *s.parts);
    struct dg_safetensors_plan *plan = dg_try_calloc(2 * n + 1, sizeof *plan);
    char(*names)[128] = dg_try_calloc(n + 1, sizeof *names);
    enum dg_err err = s.parts && plan && names ? allocate(&s, items, n) : DG_ERR_NOMEM;
    if (!err)
        err = save(&s, path, items, n, plan, names, error);
    dg_free(s.parts);
    dg_free(plan);
    dg_free(names);
    dg_free(s.rows);
    dg_free(s.stored);
    dg_free(s.scales);
    return err;
}
