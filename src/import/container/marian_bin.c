/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One cursor runs through the four tables and the data; the data must end where the file ends. */
#include "import/container/marian_bin.h"
#include "base/memory/mem.h"
#include "base/file/lfs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    HEADER_BYTES = 32, /* of one item */
    ITEMS_MAX = 50000,
    NAME_MAX_BYTES = 512,
    ARENA_MAX = 64 << 20,
    PAD_MAX = 256,
};

struct cursor {
    struct dg_marian_bin *file;
    const uint8_t *bytes;
    size_t at, len;
    struct dg_error *error;
};

static uint64_t number_at(const uint8_t *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static enum dg_err need(const struct cursor *c, const char *field, uint64_t n)
{
    if (n <= c->len - c->at)
        return DG_OK;
    return dg_error_set(c->error, DG_ERR_TRUNCATED,
                        "%s: offset %zu: field '%s' needs %" PRIu64
                        " bytes, but %zu are left; the file may be cut off",
                        c->file->name, c->at, field, n, c->len - c->at);
}

static enum dg_err read_u64(struct cursor *c, const char *field, uint64_t *value)
{
    enum dg_err err = need(c, field, 8);
    if (err)
        return err;
    *value = number_at(c->bytes + c->at, 8);
    c->at += 8;
    return DG_OK;
}

static enum dg_err refuse(const struct cursor *c, size_t at, const char *field, uint64_t value,
                          const char *expected)
{
    return dg_error_set(c->error, DG_ERR_FORMAT,
                        "%s: offset %zu: field '%s' is %" PRIu64 ", expected %s", c->file->name, at,
                        field, value, expected);
}

bool dg_marian_bin_is(const uint8_t *bytes, size_t len)
{
    uint64_t version = len >= 16 ? number_at(bytes, 8) : 0;
    return (version == 1 || version == 2) && number_at(bytes + 8, 8) <= ITEMS_MAX;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* What the header of an item states, before names and shapes are read. */
struct head {
    uint64_t name_len, rank, data_len;
};

static enum dg_err read_head(struct cursor *c, struct dg_marian_item *item, struct head *head)
{
    size_t start = c->at;
    enum dg_err err = read_u64(c, "name length", &head->name_len);
    if (!err)
        err = read_u64(c, "type", &item->type);
    if (!err)
        err = read_u64(c, "shape length", &head->rank);
    if (!err)
        err = read_u64(c, "data length", &head->data_len);
    if (err)
        return err;
    if (head->name_len < 2 || head->name_len > NAME_MAX_BYTES)
        return refuse(c, start, "name length", head->name_len, "2 to 512");
    if (head->rank > DG_TENSOR_RANK_MAX)
        return refuse(c, start + 16, "shape length", head->rank, "0 to 4");
    item->rank = (unsigned)head->rank;
    return DG_OK;
}

static enum dg_err read_name(struct cursor *c, struct dg_marian_item *item, const struct head *head)
{
    enum dg_err err = need(c, "name", head->name_len);
    if (err)
        return err;
    const char *bytes = (const char *)c->bytes + c->at;
    if (memchr(bytes, '\0', head->name_len) != bytes + head->name_len - 1)
        return dg_error_set(c->error, DG_ERR_FORMAT,
                            "%s: offset %zu: field 'name' has no NUL at its end, or one before",
                            c->file->name, c->at);
    struct dg_span kept = dg_arena_copy(&c->file->arena, dg_span_make(bytes, head->name_len - 1));
    item->name = kept.ptr;
    c->at += head->name_len;
    return kept.ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_shape(struct cursor *c, struct dg_marian_item *item)
{
    for (size_t i = 0; i < DG_TENSOR_RANK_MAX; i++)
        item->shape[i] = 1;
    for (size_t i = 0; i < item->rank; i++, c->at += 4) {
        enum dg_err err = need(c, "dimension", 4);
        if (err)
            return err;
        uint64_t dim = number_at(c->bytes + c->at, 4);
        if (dim > INT32_MAX)
            return refuse(c, c->at, "dimension", dim, "0 to 2147483647");
        item->shape[i] = dim;
    }
    return DG_OK;
}

/* Skips the padding. The stored count decides, although it always fills up to a multiple of 256. */
static enum dg_err skip_padding(struct cursor *c)
{
    uint64_t n = 0;
    size_t start = c->at;
    enum dg_err err = read_u64(c, "padding", &n);
    if (!err && n > PAD_MAX)
        err = refuse(c, start, "padding", n, "at most 256");
    if (!err)
        err = need(c, "padding", n);
    if (!err)
        c->at += n;
    return err;
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* Reads the codes of both forks for types that are stored alike on every machine. */
static bool read_type(struct dg_marian_item *item)
{
    switch (item->type) {
    case 0x404:
        item->dtype = DG_DTYPE_F32;
        return true;
    case 0x402:
        item->dtype = DG_DTYPE_F16;
        return true;
    case 0x408:
        item->dtype = DG_DTYPE_F64;
        return true;
    case 0x101:
        item->dtype = DG_DTYPE_I8;
        return true;
    case 0x4101:
    case 0x10001:
        item->dtype = DG_DTYPE_I8;
        item->is_intgemm = true;
        return true;
    case 0x4102:
    case 0x10002:
        item->dtype = DG_DTYPE_I16;
        item->is_intgemm = true;
        return true;
    default:
        return false;
    }
}

static enum dg_err read_multiplier(struct cursor *c, struct dg_marian_item *item)
{
    memcpy(&item->multiplier, item->bytes + item->len, sizeof item->multiplier);
    if (isfinite(item->multiplier) && item->multiplier > 0)
        return DG_OK;
    return dg_error_set(c->error, DG_ERR_RANGE,
                        "%s: offset %zu: the multiplier of %s is %g, expected a positive number",
                        c->file->name, c->at + item->len, item->name, (double)item->multiplier);
}

static enum dg_err read_data(struct cursor *c, struct dg_marian_item *item, const struct head *head)
{
    if (!read_type(item))
        return dg_error_set(
            c->error, DG_ERR_UNSUPPORTED,
            "%s: offset %zu: field 'type' of %s is 0x%" PRIx64
            ", which depends on the machine it was made for; expected float32 or intgemm8 "
            "in the form for all machines: convert the model again from its .npz",
            c->file->name, c->at, item->name, item->type);
    enum dg_err err = need(c, item->name, head->data_len);
    if (err)
        return err;
    size_t len = dg_dtype_size(item->dtype), with;
    for (size_t i = 0; i < item->rank; i++)
        if (!dg_mul(len, item->shape[i], &len))
            len = SIZE_MAX / 2;
    if (!dg_add(len, item->is_intgemm ? sizeof(float) : 0, &with) || with > head->data_len)
        return dg_error_set(c->error, DG_ERR_FORMAT,
                            "%s: offset %zu: field 'data length' of %s is %" PRIu64
                            ", less than its shape and its type need",
                            c->file->name, c->at, item->name, head->data_len);
    item->bytes = c->bytes + c->at;
    item->len = len;
    item->stored_len = head->data_len;
    if (item->is_intgemm)
        err = read_multiplier(c, item);
    c->at += head->data_len;
    return err;
}

static enum dg_err read_items(struct cursor *c, struct head *heads, size_t n)
{
    struct dg_marian_item *items = c->file->items;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = read_head(c, &items[i], &heads[i]);
    for (size_t i = 0; i < n && !err; i++)
        err = read_name(c, &items[i], &heads[i]);
    for (size_t i = 0; i < n && !err; i++)
        err = read_shape(c, &items[i]);
    if (!err)
        err = skip_padding(c);
    for (size_t i = 0; i < n && !err; i++)
        err = read_data(c, &items[i], &heads[i]);
    if (!err && c->at != c->len)
        err = dg_error_set(c->error, DG_ERR_FORMAT,
                           "%s: offset %zu: %zu bytes follow the end, expected none", c->file->name,
                           c->at, c->len - c->at);
    return err;
}

static enum dg_err parse(struct cursor *c)
{
    uint64_t version = 0, n = 0;
    enum dg_err err = read_u64(c, "version", &version);
    if (!err && version == 2)
        return dg_error_set(
            c->error, DG_ERR_UNSUPPORTED,
            "%s: offset 0: field 'version' is 2: encrypted models are not supported",
            c->file->name);
    if (!err && version != 1)
        return refuse(c, 0, "version", version, "1; is it a Marian model?");
    if (!err)
        err = read_u64(c, "item count", &n);
    if (!err && (n < 1 || n > ITEMS_MAX))
        err = refuse(c, 8, "item count", n, "1 to 50000");
    if (!err)
        err = need(c, "item count", n * HEADER_BYTES);
    if (err)
        return err;
    c->file->items = dg_arena_calloc(&c->file->arena, n, sizeof *c->file->items);
    struct head *heads = dg_try_calloc(n, sizeof *heads);
    c->file->n_items = n;
    err = c->file->items && heads ? read_items(c, heads, n) : DG_ERR_NOMEM;
    dg_free(heads);
    return err;
}

enum dg_err dg_marian_bin_parse(struct dg_marian_bin *file, const uint8_t *bytes, size_t len,
                                const char *name, struct dg_error *error)
{
    if (dg_lfs_is_pointer(bytes, len))
        return dg_lfs_refuse(name, error);
    struct dg_marian_bin parsed = {.name = name};
    struct cursor c = {.file = &parsed, .bytes = bytes, .len = len, .error = error};
    dg_arena_init(&parsed.arena, ARENA_MAX);
    enum dg_err err = parse(&c);
    if (err)
        dg_marian_bin_close(&parsed);
    else
        *file = parsed;
    return err;
}

void dg_marian_bin_close(struct dg_marian_bin *file)
{
    dg_arena_deinit(&file->arena);
    *file = (struct dg_marian_bin){0};
}

const struct dg_marian_item *dg_marian_bin_find(const struct dg_marian_bin *file, const char *name)
{
    for (size_t i = 0; i < file->n_items; i++)
        if (strcmp(file->items[i].name, name) == 0)
            return &file->items[i];
    return NULL;
}
