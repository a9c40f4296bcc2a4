/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The tensors are "weights", "moment1", "moment2", "average" (those that exist; F32 [n], in the
 * order of params.h), "numbers" (U64) and "config" (the blueprint as text of a config.json, to
 * recognise the network). */
#include "train/run/checkpoint.h"
#include "base/file/folder.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/file/safetensors.h"
#include "model/file/safetensors_out.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_MAX = 1 << 16, PARTS_MAX = 6, COUNTERS = 2 };

struct part {
    const char *name;
    enum dg_dtype dtype;
    size_t len;  /* number of elements */
    void *bytes; /* where they lie */
};

/* Lists the parts of a checkpoint; `counters` holds the optimiser's counters, then the caller's
 * numbers. */
static size_t list_parts(const struct dg_checkpoint *point, uint64_t *counters,
                         const struct dg_buf *config, struct part parts[PARTS_MAX])
{
    size_t n = 0;
    parts[n++] = (struct part){"weights", DG_DTYPE_F32, point->params->n, point->params->w};
    if (point->state.moment1) {
        parts[n++] = (struct part){"moment1", DG_DTYPE_F32, point->params->n, point->state.moment1};
        parts[n++] = (struct part){"moment2", DG_DTYPE_F32, point->params->n, point->state.moment2};
    }
    if (point->state.average)
        parts[n++] = (struct part){"average", DG_DTYPE_F32, point->params->n, point->state.average};
    parts[n++] = (struct part){"numbers", DG_DTYPE_U64, COUNTERS + point->n_numbers, counters};
    parts[n++] = (struct part){"config", DG_DTYPE_U8, config->len, config->ptr};
    return n;
}

static enum dg_err fill(void *ctx, size_t i, struct dg_safetensors_out *out, struct dg_error *error)
{
    const struct part *part = (const struct part *)ctx + i;
    return dg_safetensors_out_write(out, part->bytes, part->len * dg_dtype_size(part->dtype),
                                    error);
}

/* What saving and loading both need: the counters, and the blueprint as text. */
struct frame {
    uint64_t *counters;
    struct dg_buf config;
    struct part parts[PARTS_MAX];
    size_t n_parts;
};

static enum dg_err open_frame(struct frame *frame, const struct dg_checkpoint *point)
{
    *frame = (struct frame){
        .counters = dg_try_calloc(COUNTERS + point->n_numbers, sizeof *frame->counters)};
    dg_buf_init(&frame->config, CONFIG_MAX);
    enum dg_err err =
        frame->counters ? dg_config_print(&point->params->bp, &frame->config) : DG_ERR_NOMEM;
    if (!err)
        frame->n_parts = list_parts(point, frame->counters, &frame->config, frame->parts);
    return err;
}

static void close_frame(struct frame *frame)
{
    dg_free(frame->counters);
    dg_buf_deinit(&frame->config);
}

enum dg_err dg_checkpoint_save(const struct dg_checkpoint *point, const char *path,
                               struct dg_error *error)
{
    struct dg_safetensors_plan plan[PARTS_MAX];
    struct frame frame;
    enum dg_err err = open_frame(&frame, point);
    if (!err) {
        frame.counters[0] = *point->state.step;
        frame.counters[1] = *point->state.updates;
        if (point->n_numbers)
            memcpy(frame.counters + COUNTERS, point->numbers,
                   point->n_numbers * sizeof *point->numbers);
        for (size_t i = 0; i < frame.n_parts; i++)
            plan[i] = (struct dg_safetensors_plan){.name = frame.parts[i].name,
                                                   .dtype = frame.parts[i].dtype,
                                                   .rank = 1,
                                                   .shape = {frame.parts[i].len}};
        err = dg_safetensors_save(path, plan, frame.n_parts, fill, frame.parts, error);
    }
    close_frame(&frame);
    return err;
}

static enum dg_err check_part(const struct dg_safetensors *file, const struct part *part,
                              const char *path, struct dg_error *error)
{
    const struct dg_safetensors_entry *entry = dg_safetensors_find(file, part->name);
    if (!entry || entry->dtype != part->dtype ||
        entry->len != part->len * dg_dtype_size(part->dtype))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s: its part \"%s\" is missing or of another size: it belongs to another network or "
            "to other options",
            path, part->name);
    if (strcmp(part->name, "config") == 0 && memcmp(entry->bytes, part->bytes, part->len) != 0)
        return dg_error_set(error, DG_ERR_INVALID,
                            "%s belongs to another network than its recipe describes", path);
    return DG_OK;
}

enum dg_err dg_checkpoint_load(const struct dg_checkpoint *point, const char *path,
                               struct dg_error *error)
{
    struct dg_safetensors file;
    struct frame frame;
    enum dg_err err = dg_safetensors_open(&file, path, error);
    if (err)
        return err;
    err = open_frame(&frame, point);
    for (size_t i = 0; i < frame.n_parts && !err; i++)
        err = check_part(&file, &frame.parts[i], path, error);
    for (size_t i = 0; i < frame.n_parts && !err; i++) {
        const struct dg_safetensors_entry *entry = dg_safetensors_find(&file, frame.parts[i].name);
        memcpy(frame.parts[i].bytes, entry->bytes, entry->len);
    }
    if (!err) {
        *point->state.step = frame.counters[0];
        *point->state.updates = frame.counters[1];
        if (point->n_numbers)
            memcpy(point->numbers, frame.counters + COUNTERS,
                   point->n_numbers * sizeof *point->numbers);
    }
    close_frame(&frame);
    dg_safetensors_close(&file);
    return err;
}

void dg_checkpoint_sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const size_t len = strlen(base);
    char name[4096];
    const int n =
        snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    DIR *dir = n > 0 && (size_t)n < sizeof name ? dg_folder_open(name) : NULL;
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strlen(entry->d_name) == len + 7 && memcmp(entry->d_name, base, len) == 0 &&
            entry->d_name[len] == '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}
