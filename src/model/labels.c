/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads and keeps a few lines of text. */
#include "model/labels.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/buf.h"
#include "base/memory/utf8.h"

#include <string.h>

enum { FILE_MAX = DG_LABELS_MAX * (DG_LABELS_LEN_MAX + 1) };

void dg_labels_init(struct dg_labels *labels)
{
    labels->n = 0;
    dg_arena_init(&labels->arena, 1 << 20);
    dg_map_init(&labels->numbers, DG_LABELS_MAX);
}

void dg_labels_close(struct dg_labels *labels)
{
    dg_map_deinit(&labels->numbers);
    dg_arena_deinit(&labels->arena);
    labels->n = 0;
}

enum dg_err dg_labels_add(struct dg_labels *labels, struct dg_span label)
{
    if (dg_labels_find(labels, label, NULL))
        return DG_OK;
    if (label.len == 0 || label.len > DG_LABELS_LEN_MAX || memchr(label.ptr, '\n', label.len) ||
        !dg_utf8_valid(label, NULL))
        return DG_ERR_INVALID;
    if (labels->n == DG_LABELS_MAX)
        return DG_ERR_LIMIT;
    const struct dg_span kept = dg_arena_copy(&labels->arena, label);
    enum dg_err err = kept.ptr ? dg_map_put(&labels->numbers, kept, labels->n) : DG_ERR_NOMEM;
    if (!err)
        labels->list[labels->n++] = kept;
    return err;
}

bool dg_labels_find(const struct dg_labels *labels, struct dg_span label, size_t *number)
{
    uint64_t found;
    if (!dg_map_get(&labels->numbers, label, &found))
        return false;
    if (number)
        *number = (size_t)found;
    return true;
}

struct dg_span dg_labels_entity(struct dg_span label, char *kind)
{
    *kind = 'I';
    if (dg_span_eq(label, DG_SPAN("O")))
        return dg_span_sub(label, 0, 0);
    if (label.len > 2 && (label.ptr[1] == '-' || label.ptr[1] == '_') &&
        memchr("BIELSUM", label.ptr[0], 7)) {
        *kind = label.ptr[0];
        return dg_span_sub(label, 2, label.len);
    }
    return label;
}

bool dg_labels_begins(char kind, struct dg_span type, struct dg_span open)
{
    return type.len &&
           (!open.len || kind == 'B' || kind == 'S' || kind == 'U' || !dg_span_eq(open, type));
}

enum dg_err dg_labels_open(struct dg_labels *labels, const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_map_file file;
    enum dg_err err = dg_folder_path(dir, DG_LABELS_FILE, path, error);
    if (!err)
        err = dg_map_file_read(&file, path, FILE_MAX, error);
    if (err)
        return err;
    dg_labels_init(labels);
    struct dg_span rest = dg_span_make((const char *)file.bytes, file.len);
    while (!err && rest.len) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        const size_t len = end ? (size_t)(end - rest.ptr) : rest.len, before = labels->n;
        err = dg_labels_add(labels, dg_span_sub(rest, 0, len));
        if (!err && labels->n == before)
            err = DG_ERR_EXISTS;
        if (err)
            dg_error_set(
                error, err,
                "%s: line %zu is not a label: expected at most %d different ones of 1 to %d bytes",
                path, before + 1, DG_LABELS_MAX, DG_LABELS_LEN_MAX);
        rest = dg_span_sub(rest, len + (end != NULL), rest.len);
    }
    dg_map_file_close(&file);
    if (err)
        dg_labels_close(labels);
    return err;
}

enum dg_err dg_labels_save(const struct dg_labels *labels, const char *dir, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    dg_buf_init(&text, FILE_MAX);
    enum dg_err err = dg_folder_path(dir, DG_LABELS_FILE, path, error);
    for (size_t i = 0; i < labels->n && !err; i++) {
        err = dg_buf_append_span(&text, labels->list[i]);
        if (!err)
            err = dg_buf_append_byte(&text, '\n');
    }
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr ? text.ptr : "", text.len, error);
    dg_buf_deinit(&text);
    return err;
}
