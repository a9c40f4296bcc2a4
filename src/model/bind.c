/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Matching walks the layout, looks up each name and notes every fault; then it finds the tensors
 * that the layout does not require. Binding a file matches, and points each weight at its bytes. */
#include "model/bind.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAX = 12 }; /* names in one sentence; further names are only counted */

struct binding {
    const struct dg_bind_table *table;
    const struct dg_blueprint *bp;
    dg_bind_fn fn;
    void *ctx;
    bool *used; /* [table->n] */
    struct dg_buf faults;
    size_t n_faults;
    size_t n_listed;
};

static void fault(struct binding *b, const char *fmt, ...) DG_PRINTF(2, 3);

static void fault(struct binding *b, const char *fmt, ...)
{
    b->n_faults++;
    if (b->n_listed == LISTED_MAX)
        return;
    size_t before = b->faults.len;
    enum dg_err err = before ? dg_buf_append_cstr(&b->faults, "; ") : DG_OK;
    va_list args;
    va_start(args, fmt);
    if (!err)
        err = dg_buf_vprintf(&b->faults, fmt, args);
    va_end(args);
    if (err)
        dg_buf_truncate(&b->faults, before);
    else
        b->n_listed++;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct dg_tensor_info *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static const struct dg_tensor_info *look_up(const struct dg_bind_table *table, const char *name)
{
    const struct dg_tensor_info key = {.name = name};
    return table->n ? bsearch(&key, table->infos, table->n, sizeof key, by_name) : NULL;
}

static const struct dg_tensor_info *take(struct binding *b, const char *name)
{
    const struct dg_tensor_info *info = look_up(b->table, name);
    if (info)
        b->used[info - b->table->infos] = true;
    return info;
}

/* Finds a tensor by its name. Programs store a tied matrix once, under any one of its names. */
static const struct dg_tensor_info *find(struct binding *b, const char *name)
{
    static const char *const shared[] = {"model.shared.weight", "model.encoder.embed_tokens.weight",
                                         "model.decoder.embed_tokens.weight", "lm_head.weight"};
    const struct dg_tensor_info *entry = take(b, name);
    if (entry)
        return entry;
    if (strcmp(name, "model.shared.weight") == 0)
        for (size_t i = 1; i < (b->bp->tie_output ? 4u : 3u) && !entry; i++)
            entry = take(b, shared[i]);
    else if (b->bp->tie_output && (strcmp(name, "model.decoder.embed_tokens.weight") == 0 ||
                                   strcmp(name, "model.embed_tokens.weight") == 0))
        entry = take(b, "lm_head.weight");
    return entry;
}

/* Returns true for tensors that repeat or precompute what is bound already. */
static bool is_redundant(const struct dg_blueprint *bp, const char *name)
{
    static const char *const repeated[] = {"model.shared.weight",
                                           "model.encoder.embed_tokens.weight",
                                           "model.decoder.embed_tokens.weight"};
    char base[DG_LAYOUT_NAME_CAP];
    size_t len = strlen(name);
    if (len >= 6 && len - 6 < sizeof base && strcmp(name + len - 6, "_scale") == 0) {
        memcpy(base, name, len - 6);
        base[len - 6] = '\0';
        name = base;
    }
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
        if (strcmp(name, repeated[i]) == 0)
            return true;
    if (bp->tie_output && strcmp(name, "lm_head.weight") == 0)
        return true;
    if (dg_blueprint_family(bp)->has_prompt && len >= 20 &&
        strcmp(name + len - 20, ".rotary_emb.inv_freq") == 0)
        return true; /* it is computed rather than learned */
    return bp->positions != DG_POS_LEARNED &&
           (strncmp(name, "model.encoder.embed_positions.weight", 36) == 0 ||
            strncmp(name, "model.decoder.embed_positions.weight", 36) == 0);
}

/* ---- Checking -------------------------------------------------------------------------------- */

static void print_shape(char *text, size_t cap, const size_t *shape, unsigned rank)
{
    size_t at = 0;
    text[at++] = '[';
    for (unsigned i = 0; i < rank && at < cap; i++)
        at += (size_t)snprintf(text + at, cap - at, "%s%zu", i ? ", " : "", shape[i]);
    if (at < cap)
        snprintf(text + at, cap - at, "]");
}

/* Compares shapes. A vector may be stored as a row: [n] and [1, n] are the same. */
static bool shape_fits(const struct dg_tensor_info *info, const struct dg_layout_item *item)
{
    if (item->rank == 1)
        return (info->rank == 1 && info->shape[0] == item->shape[0]) ||
               (info->rank == 2 && info->shape[0] == 1 && info->shape[1] == item->shape[0]);
    return info->rank == 2 && info->shape[0] == item->shape[0] && info->shape[1] == item->shape[1];
}

static bool dtype_fits(const struct binding *b, enum dg_dtype dtype, unsigned rank)
{
    if (b->table->foreign)
        return dg_dtype_is_weight(dtype) || dtype == DG_DTYPE_F64 || dtype == DG_DTYPE_I16;
    return dg_dtype_is_weight(dtype) && !(dtype == DG_DTYPE_I8 && rank == 1);
}

/* Finds the scales of an I8 tensor; DG_BIND_NO_SCALE after a fault. */
static long find_scale(struct binding *b, const char *name, size_t rows)
{
    char scale_name[DG_LAYOUT_NAME_CAP + 8];
    snprintf(scale_name, sizeof scale_name, "%s_scale", name);
    const struct dg_tensor_info *info = take(b, scale_name);
    if (!info) {
        fault(b, "missing %s, the scales of an I8 tensor", scale_name);
        return DG_BIND_NO_SCALE;
    }
    if (info->dtype != DG_DTYPE_F32 || info->rank != 1 || info->shape[0] != rows) {
        char shape[96];
        print_shape(shape, sizeof shape, info->shape, info->rank);
        fault(b, "%s is %s %s, expected F32 [%zu]", scale_name, dg_dtype_name(info->dtype), shape,
              rows);
        return DG_BIND_NO_SCALE;
    }
    return (long)(info - b->table->infos);
}

static enum dg_err on_item(void *ctx, const struct dg_layout_item *item)
{
    struct binding *b = ctx;
    const struct dg_tensor_info *info = find(b, item->name);
    if (!info) {
        fault(b, "missing %s", item->name);
        return DG_OK;
    }
    if (!shape_fits(info, item)) {
        char has[96], wants[64];
        print_shape(has, sizeof has, info->shape, info->rank);
        print_shape(wants, sizeof wants, item->shape, item->rank);
        fault(b, "%s is %s, expected %s", info->name, has, wants);
        return DG_OK;
    }
    if (!dtype_fits(b, info->dtype, item->rank)) {
        fault(b, "%s has type %s, expected F32, F16%s", info->name, dg_dtype_name(info->dtype),
              item->rank == 1 ? " or BF16" : ", BF16 or I8 with scales");
        return DG_OK;
    }
    long scale = DG_BIND_NO_SCALE;
    if (info->dtype == DG_DTYPE_I8 && !b->table->foreign) {
        scale = find_scale(b, info->name, item->shape[0]);
        if (scale == DG_BIND_NO_SCALE)
            return DG_OK;
    }
    return b->fn(b->ctx, item, (size_t)(info - b->table->infos), scale);
}

static enum dg_err say_faults(const struct binding *b, struct dg_error *error)
{
    char more[48] = "";
    if (b->n_faults > b->n_listed)
        snprintf(more, sizeof more, "; and %zu more", b->n_faults - b->n_listed);
    return dg_error_set(error, DG_ERR_INVALID,
                        "the tensors do not fit the configuration (%zu fault%s): %s%s", b->n_faults,
                        b->n_faults == 1 ? "" : "s", b->faults.ptr ? b->faults.ptr : "", more);
}

enum dg_err dg_bind_match(struct dg_weights *weights, struct dg_blueprint *bp,
                          const struct dg_bind_table *table, dg_bind_fn fn, void *ctx,
                          struct dg_error *error)
{
    struct binding b = {.table = table, .bp = bp, .fn = fn, .ctx = ctx};
    dg_buf_init(&b.faults, DG_ERROR_CAP - 200);
    b.used = dg_try_calloc(table->n ? table->n : 1, sizeof *b.used);
    if (!b.used)
        return DG_ERR_NOMEM;
    if (!look_up(table, "final_logits_bias"))
        bp->output_bias = false;
    enum dg_err err = dg_layout_visit(bp, weights, on_item, &b);
    for (size_t i = 0; i < table->n && !err; i++)
        if (!b.used[i] && !is_redundant(bp, table->infos[i].name))
            fault(&b, "unexpected %s", table->infos[i].name);
    if (!err && b.n_faults)
        err = say_faults(&b, error);
    dg_buf_deinit(&b.faults);
    dg_free(b.used);
    return err;
}

/* ---- A file ---------------------------------------------------------------------------------- */

struct filing {
    const struct dg_safetensors *file;
    struct dg_arena *copies;
};

/* Returns the entry's bytes, copied when they are misaligned for their type. */
static const void *aligned(struct filing *f, const struct dg_safetensors_entry *entry)
{
    if ((uintptr_t)entry->bytes % dg_dtype_size(entry->dtype) == 0)
        return entry->bytes;
    void *copy = dg_arena_alloc(f->copies, entry->len);
    if (copy)
        memcpy(copy, entry->bytes, entry->len);
    return copy;
}

static enum dg_err on_bound(void *ctx, const struct dg_layout_item *item, size_t index, long scale)
{
    struct filing *f = ctx;
    const struct dg_safetensors_entry *entry = &f->file->entries[index];
    struct dg_tensor tensor = {.dtype = entry->dtype, .rank = item->rank};
    for (unsigned i = 0; i < DG_TENSOR_RANK_MAX; i++)
        tensor.shape[i] = 1;
    /* the second dimension of a vector is 1 */
    memcpy(tensor.shape, item->shape, sizeof item->shape);
    tensor.data = aligned(f, entry);
    if (scale != DG_BIND_NO_SCALE)
        tensor.scale = aligned(f, &f->file->entries[scale]);
    if (!tensor.data || (scale != DG_BIND_NO_SCALE && !tensor.scale))
        return DG_ERR_NOMEM;
    *item->slot = tensor;
    return DG_OK;
}

enum dg_err dg_bind_weights(struct dg_weights *weights, struct dg_blueprint *bp,
                            const struct dg_safetensors *file, struct dg_arena *copies,
                            struct dg_error *error)
{
    struct dg_tensor_info *infos =
        dg_try_calloc(file->n_entries ? file->n_entries : 1, sizeof *infos);
    if (!infos)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < file->n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file->entries[i];
        infos[i] = (struct dg_tensor_info){entry->name, entry->dtype, entry->rank, {0}};
        memcpy(infos[i].shape, entry->shape, sizeof entry->shape);
    }
    const struct dg_bind_table table = {.infos = infos, .n = file->n_entries};
    struct filing f = {file, copies};
    enum dg_err err = dg_bind_match(weights, bp, &table, on_bound, &f, error);
    if (!err)
        dg_layout_tie(bp, weights);
    dg_free(infos);
    return err;
}
