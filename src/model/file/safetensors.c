/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Parses in three passes: reads the JSON header into entries, sorts the entries by offset to check
 * that they tile the data, and sorts them by name for binary search. */
#include "model/file/safetensors.h"
#include "base/json/json.h"
#include "base/memory/mem.h"
#include "base/file/lfs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 8,        /* the u64 before the header */
    HEADER_MAX = 16 << 20,   /* forty times the largest header of a known translation model */
    VALUES_MAX = 400 * 1000, /* values in the JSON, for about 50,000 tensors */
    ARENA_MAX = 32 << 20,    /* memory for names and entries */
    NAME_MAX_BYTES = 512,
};

struct reading {
    struct dg_safetensors *file;
    const char *name;      /* the name of the file, for messages */
    struct dg_span header; /* the JSON */
    const uint8_t *data;   /* first byte after the header */
    size_t data_len;
    struct dg_error *error;
};

/* Returns the offset in the file at which the header names `tensor`, or the header's start when the
 * name is written with escapes. The search runs only after a failure. */
static size_t offset_of(const struct reading *r, const char *tensor)
{
    size_t len = strlen(tensor);
    for (size_t i = 0; i + len + 2 <= r->header.len; i++) {
        const char *at = r->header.ptr + i;
        if (at[0] == '"' && at[len + 1] == '"' && memcmp(at + 1, tensor, len) == 0)
            return LENGTH_BYTES + i;
    }
    return LENGTH_BYTES;
}

/* Completes a sentence about one tensor with file and offset. */
static enum dg_err blame(const struct reading *r, enum dg_err err, const char *tensor)
{
    return dg_error_wrap(r->error, err, "%s: offset %zu: tensor '%s'", r->name,
                         offset_of(r, tensor), tensor);
}

static uint64_t read_u64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static enum dg_err read_shape(struct reading *r, const struct dg_json *value,
                              struct dg_safetensors_entry *entry, size_t *len)
{
    const struct dg_json *shape;
    enum dg_err err = dg_json_get_array(value, "shape", DG_JSON_REQUIRED, r->error, &shape);
    if (err)
        return err;
    size_t rank = dg_json_len(shape);
    if (rank > DG_TENSOR_RANK_MAX)
        return dg_error_set(r->error, DG_ERR_UNSUPPORTED,
                            "field 'shape': read %zu dimensions, expected at most %d", rank,
                            DG_TENSOR_RANK_MAX);
    *len = dg_dtype_size(entry->dtype);
    entry->rank = (unsigned)rank;
    for (size_t i = 0; i < DG_TENSOR_RANK_MAX; i++)
        entry->shape[i] = 1;
    for (size_t i = 0; i < rank; i++) {
        int64_t dim;
        err = dg_json_at_int(shape, "shape", i, 0, INT64_MAX, r->error, &dim);
        if (err)
            return err;
        entry->shape[i] = (size_t)dim;
        if (!dg_mul(*len, (size_t)dim, len))
            return dg_error_set(r->error, DG_ERR_RANGE,
                                "field 'shape': the number of bytes does not fit 64 bits");
    }
    return DG_OK;
}

static enum dg_err read_offsets(struct reading *r, const struct dg_json *value,
                                struct dg_safetensors_entry *entry, size_t len)
{
    const struct dg_json *offsets;
    enum dg_err err =
        dg_json_get_array(value, "data_offsets", DG_JSON_REQUIRED, r->error, &offsets);
    if (err)
        return err;
    if (dg_json_len(offsets) != 2)
        return dg_error_set(r->error, DG_ERR_FORMAT,
                            "field 'data_offsets': read %zu numbers, expected 2",
                            dg_json_len(offsets));
    int64_t begin, end;
    err = dg_json_at_int(offsets, "data_offsets", 0, 0, INT64_MAX, r->error, &begin);
    if (!err)
        err = dg_json_at_int(offsets, "data_offsets", 1, 0, INT64_MAX, r->error, &end);
    if (err)
        return err;
    if (begin > end)
        return dg_error_set(
            r->error, DG_ERR_FORMAT,
            "field 'data_offsets': the end %" PRId64 " lies before the start %" PRId64, end, begin);
    if ((uint64_t)end > r->data_len)
        return dg_error_set(r->error, DG_ERR_TRUNCATED,
                            "field 'data_offsets': the end %" PRId64
                            " lies past the file's %zu bytes of data; the file may be cut off",
                            end, r->data_len);
    if ((uint64_t)(end - begin) != len)
        return dg_error_set(r->error, DG_ERR_FORMAT,
                            "field 'data_offsets': the range has %" PRId64
                            " bytes, expected %zu by dtype and shape",
                            end - begin, len);
    entry->bytes = r->data + begin;
    entry->len = len;
    entry->offset = (size_t)(entry->bytes - r->file->file.bytes);
    return DG_OK;
}

static enum dg_err read_dtype(struct reading *r, const struct dg_json *value,
                              struct dg_safetensors_entry *entry)
{
    struct dg_span text;
    enum dg_err err = dg_json_get_string(value, "dtype", DG_JSON_REQUIRED, r->error, &text);
    if (err)
        return err;
    char name[16] = "";
    if (text.len < sizeof name && text.len)
        memcpy(name, text.ptr, text.len);
    if (!dg_dtype_find(name, &entry->dtype))
        return dg_error_set(
            r->error, DG_ERR_UNSUPPORTED,
            "field 'dtype': read '%.*s', expected F32, F16, BF16, I8 or another plain type",
            text.len > 16 ? 16 : DG_SPAN_FMT(text));
    return DG_OK;
}

static enum dg_err read_entry(struct reading *r, struct dg_span key, const struct dg_json *value,
                              struct dg_safetensors_entry *entry)
{
    if (key.len == 0 || key.len > NAME_MAX_BYTES)
        return dg_error_set(r->error, DG_ERR_FORMAT,
                            "%s: offset %d: a tensor's name has %zu bytes, expected 1 to %d",
                            r->name, LENGTH_BYTES, key.len, NAME_MAX_BYTES);
    struct dg_span name = dg_arena_copy(&r->file->arena, key);
    if (!name.ptr)
        return DG_ERR_NOMEM;
    entry->name = name.ptr;
    size_t len = 0;
    enum dg_err err = dg_json_check_fields(
        value, (const char *const[]){"dtype", "shape", "data_offsets", NULL}, r->error, NULL);
    if (!err)
        err = read_dtype(r, value, entry);
    if (!err)
        err = read_shape(r, value, entry, &len);
    if (!err)
        err = read_offsets(r, value, entry, len);
    return err ? blame(r, err, entry->name) : DG_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct dg_safetensors_entry *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->len < y->len ? -1 : x->len > y->len;
}

static int by_name(const void *a, const void *b)
{
    const struct dg_safetensors_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Checks that, sorted by offset, each entry begins where the one before it ends, and that the last
 * entry ends with the file. */
static enum dg_err check_tiling(struct reading *r)
{
    struct dg_safetensors *file = r->file;
    qsort(file->entries, file->n_entries, sizeof *file->entries, by_offset);
    size_t expected = (size_t)(r->data - file->file.bytes);
    for (size_t i = 0; i < file->n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file->entries[i];
        if (entry->offset != expected) {
            dg_error_set(
                r->error, DG_ERR_FORMAT,
                "field 'data_offsets': begins at file offset %zu, expected %zu: the data has %s",
                entry->offset, expected, entry->offset > expected ? "a hole" : "an overlap");
            return blame(r, DG_ERR_FORMAT, entry->name);
        }
        expected += entry->len;
    }
    if (expected != file->file.len)
        return dg_error_set(r->error, DG_ERR_FORMAT,
                            "%s: offset %zu: %zu bytes lie after the last tensor, expected none",
                            r->name, expected, file->file.len - expected);
    return DG_OK;
}

static enum dg_err read_entries(struct reading *r, const struct dg_json *header)
{
    struct dg_safetensors *file = r->file;
    file->entries = dg_arena_calloc(&file->arena, dg_json_len(header), sizeof *file->entries);
    if (!file->entries)
        return DG_ERR_NOMEM;
    struct dg_json_iter iter = dg_json_iter(header);
    struct dg_span key;
    const struct dg_json *value;
    while (dg_json_next(&iter, &key, &value)) {
        if (dg_span_eq(key, DG_SPAN("__metadata__"))) {
            if (dg_json_type(value) != DG_JSON_OBJECT)
                return dg_error_set(
                    r->error, DG_ERR_FORMAT,
                    "%s: offset %zu: field '__metadata__' is %s, expected an object", r->name,
                    offset_of(r, "__metadata__"), dg_json_type_name(dg_json_type(value)));
            continue;
        }
        enum dg_err err = read_entry(r, key, value, &file->entries[file->n_entries]);
        if (err)
            return err;
        file->n_entries++;
    }
    return DG_OK;
}

static enum dg_err read_header_len(struct reading *r, size_t *header_len)
{
    const struct dg_map_file *file = &r->file->file;
    if (dg_lfs_is_pointer(file->bytes, file->len))
        return dg_lfs_refuse(r->name, r->error);
    if (file->len < LENGTH_BYTES)
        return dg_error_set(
            r->error, DG_ERR_TRUNCATED,
            "%s: offset 0: the file has %zu bytes, expected at least 8 for the header's length",
            r->name, file->len);
    uint64_t n = read_u64(file->bytes);
    if (n > HEADER_MAX)
        return dg_error_set(r->error, DG_ERR_LIMIT,
                            "%s: offset 0: the header's length is %" PRIu64
                            ", expected at most %d; is it a safetensors file?",
                            r->name, n, HEADER_MAX);
    if (n > file->len - LENGTH_BYTES)
        return dg_error_set(r->error, DG_ERR_TRUNCATED,
                            "%s: offset 0: the header's length is %" PRIu64
                            ", but only %zu bytes follow; the file is cut off",
                            r->name, n, file->len - LENGTH_BYTES);
    if (n < 2 || file->bytes[LENGTH_BYTES] != '{')
        return dg_error_set(
            r->error, DG_ERR_FORMAT,
            "%s: offset %d: the header does not begin with '{'; is it a safetensors file?", r->name,
            LENGTH_BYTES);
    *header_len = (size_t)n;
    return DG_OK;
}

static enum dg_err parse(struct dg_safetensors *file, const char *name, struct dg_error *error)
{
    struct reading r = {.file = file, .name = name, .error = error};
    size_t n = 0;
    enum dg_err err = read_header_len(&r, &n);
    if (err)
        return err;
    r.header = dg_span_make((const char *)file->file.bytes + LENGTH_BYTES, n);
    r.data = file->file.bytes + LENGTH_BYTES + n;
    r.data_len = file->file.len - LENGTH_BYTES - n;
    struct dg_json *header = NULL;
    const struct dg_json_limits limits = {
        .max_bytes = HEADER_MAX, .max_depth = 3, .max_values = VALUES_MAX};
    err = dg_json_parse(r.header, &limits, error, &header);
    if (err)
        return dg_error_wrap(error, err, "%s: offset %d: the header", name, LENGTH_BYTES);
    err = read_entries(&r, header);
    dg_json_free(header);
    if (!err)
        err = check_tiling(&r);
    if (!err)
        qsort(file->entries, file->n_entries, sizeof *file->entries, by_name);
    return err;
}

enum dg_err dg_safetensors_parse(struct dg_safetensors *file, const uint8_t *bytes, size_t len,
                                 const char *name, struct dg_error *error)
{
    struct dg_safetensors parsed = {.file = {.bytes = bytes, .len = len}, .borrowed = true};
    dg_arena_init(&parsed.arena, ARENA_MAX);
    enum dg_err err = parse(&parsed, name, error);
    if (err)
        dg_safetensors_close(&parsed);
    else
        *file = parsed;
    return err;
}

enum dg_err dg_safetensors_open(struct dg_safetensors *file, const char *path,
                                struct dg_error *error)
{
    struct dg_safetensors parsed = {0};
    enum dg_err err = dg_map_file_open(&parsed.file, path, SIZE_MAX / 2, error);
    if (err)
        return err;
    dg_arena_init(&parsed.arena, ARENA_MAX);
    err = parse(&parsed, path, error);
    if (err)
        dg_safetensors_close(&parsed);
    else
        *file = parsed;
    return err;
}

void dg_safetensors_close(struct dg_safetensors *file)
{
    if (!file->borrowed && file->file.bytes)
        dg_map_file_close(&file->file);
    dg_arena_deinit(&file->arena);
    *file = (struct dg_safetensors){0};
}

const struct dg_safetensors_entry *dg_safetensors_find(const struct dg_safetensors *file,
                                                       const char *name)
{
    const struct dg_safetensors_entry key = {.name = name};
    if (!file->n_entries)
        return NULL;
    return bsearch(&key, file->entries, file->n_entries, sizeof key, by_name);
}
