/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A cursor that cannot pass the end reads the file once from front to end. */
#include "import/container/ct2_file.h"
#include "base/memory/mem.h"
#include "base/file/lfs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION_MIN = 2,
    VERSION_MAX = 6,
    VARS_MAX = 50000,
    ARENA_MAX = 32 << 20, /* names and tables */
    NAME_MAX_BYTES = 512,
    VAR_MIN_BYTES = 9, /* name: 3, rank: 1, type and length: 5 */
};

struct cursor {
    struct dg_ct2 *file;
    const uint8_t *bytes;
    size_t at, len;
    struct dg_error *error;
};

static enum dg_err cut(const struct cursor *c, const char *field, uint64_t need)
{
    return dg_error_set(c->error, DG_ERR_TRUNCATED,
                        "%s: offset %zu: field '%s' needs %" PRIu64
                        " bytes, but %zu are left; the file may be cut off",
                        c->file->name, c->at, field, need, c->len - c->at);
}

/* A little-endian number of `width` bytes, at most 4. */
static enum dg_err read_number(struct cursor *c, unsigned width, const char *field, uint32_t *value)
{
    if (c->len - c->at < width)
        return cut(c, field, width);
    *value = 0;
    for (unsigned i = 0; i < width; i++)
        *value |= (uint32_t)c->bytes[c->at + i] << (8 * i);
    c->at += width;
    return DG_OK;
}

static enum dg_err read_string(struct cursor *c, const char *field, const char **text)
{
    uint32_t len = 0;
    size_t start = c->at;
    enum dg_err err = read_number(c, 2, field, &len);
    if (err)
        return err;
    if (len == 0 || len > NAME_MAX_BYTES)
        return dg_error_set(c->error, DG_ERR_FORMAT,
                            "%s: offset %zu: field '%s' has a length of %" PRIu32
                            ", expected 1 to %d",
                            c->file->name, start, field, len, NAME_MAX_BYTES);
    if (c->len - c->at < len)
        return cut(c, field, len);
    const char *bytes = (const char *)c->bytes + c->at;
    if (memchr(bytes, '\0', len) != bytes + len - 1)
        return dg_error_set(c->error, DG_ERR_FORMAT,
                            "%s: offset %zu: field '%s' has no NUL at its end, or one before",
                            c->file->name, start, field);
    struct dg_span kept = dg_arena_copy(&c->file->arena, dg_span_make(bytes, len - 1));
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    *text = kept.ptr;
    c->at += len;
    return DG_OK;
}

/* ---- Variables ------------------------------------------------------------------------------- */

static enum dg_err read_shape(struct cursor *c, struct dg_ct2_var *var, size_t *count)
{
    uint32_t rank = 0, dim = 0;
    size_t start = c->at;
    enum dg_err err = read_number(c, 1, "rank", &rank);
    if (!err && rank > DG_TENSOR_RANK_MAX)
        err = dg_error_set(c->error, DG_ERR_UNSUPPORTED,
                           "%s: offset %zu: field 'rank' of %s is %" PRIu32 ", expected at most %d",
                           c->file->name, start, var->name, rank, DG_TENSOR_RANK_MAX);
    *count = 1;
    var->rank = rank;
    for (size_t i = 0; i < DG_TENSOR_RANK_MAX; i++)
        var->shape[i] = 1;
    for (size_t i = 0; i < rank && !err; i++) {
        err = read_number(c, 4, "dimension", &dim);
        var->shape[i] = dim;
        if (!err && !dg_mul(*count, dim, count))
            err = dg_error_set(c->error, DG_ERR_RANGE,
                               "%s: offset %zu: the dimensions of %s do not fit 64 bits",
                               c->file->name, start, var->name);
    }
    return err;
}

/* Reads the type and length. From version 4 on these are a code and the number of bytes; before,
 * the size of an element and the number of elements. */
static enum dg_err read_type(struct cursor *c, struct dg_ct2_var *var, uint64_t *n_bytes)
{
    static const enum dg_dtype types[] = {DG_DTYPE_F32, DG_DTYPE_I8,  DG_DTYPE_I16,
                                          DG_DTYPE_I32, DG_DTYPE_F16, DG_DTYPE_BF16};
    static const enum dg_dtype by_size[] = {DG_DTYPE_COUNT, DG_DTYPE_I8, DG_DTYPE_I16,
                                            DG_DTYPE_COUNT, DG_DTYPE_F32};
    bool coded = c->file->version >= 4;
    const char *field = coded ? "data type" : "item size";
    uint32_t type = 0, number = 0;
    size_t start = c->at;
    enum dg_err err = read_number(c, 1, field, &type);
    if (err)
        return err;
    if (coded)
        var->dtype = type < sizeof types / sizeof *types ? types[type] : DG_DTYPE_COUNT;
    else
        var->dtype = type < sizeof by_size / sizeof *by_size ? by_size[type] : DG_DTYPE_COUNT;
    if (var->dtype == DG_DTYPE_COUNT)
        return dg_error_set(c->error, DG_ERR_UNSUPPORTED,
                            "%s: offset %zu: field '%s' of %s is %" PRIu32 ", expected %s",
                            c->file->name, start, field, var->name, type,
                            coded ? "0 to 5" : "1, 2 or 4");
    err = read_number(c, 4, coded ? "byte count" : "element count", &number);
    *n_bytes = coded ? number : (uint64_t)number * type;
    return err;
}

static enum dg_err read_var(struct cursor *c, struct dg_ct2_var *var)
{
    size_t count = 0, expected;
    uint64_t n_bytes = 0;
    enum dg_err err = read_string(c, "variable name", &var->name);
    if (!err)
        err = read_shape(c, var, &count);
    if (!err)
        err = read_type(c, var, &n_bytes);
    if (err)
        return err;
    if (!dg_mul(count, dg_dtype_size(var->dtype), &expected) || expected != n_bytes)
        return dg_error_set(c->error, DG_ERR_FORMAT,
                            "%s: offset %zu: %s has %" PRIu64
                            " bytes, which its dimensions and its type do not give",
                            c->file->name, c->at, var->name, n_bytes);
    if (c->len - c->at < n_bytes)
        return cut(c, var->name, n_bytes);
    var->bytes = c->bytes + c->at;
    var->len = n_bytes;
    c->at += n_bytes;
    return DG_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct dg_ct2_var *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static enum dg_err read_count(struct cursor *c, const char *field, size_t each, uint32_t *n)
{
    size_t start = c->at;
    enum dg_err err = read_number(c, 4, field, n);
    if (!err && (*n > VARS_MAX || *n > (c->len - c->at) / each))
        err = dg_error_set(c->error, DG_ERR_FORMAT,
                           "%s: offset %zu: field '%s' is %" PRIu32
                           ", more than the %zu bytes that follow can hold or than %d",
                           c->file->name, start, field, *n, c->len - c->at, VARS_MAX);
    return err;
}

static enum dg_err read_vars(struct cursor *c)
{
    struct dg_ct2 *file = c->file;
    uint32_t n = 0;
    enum dg_err err = read_count(c, "variable count", VAR_MIN_BYTES, &n);
    if (err)
        return err;
    file->vars = dg_arena_calloc(&file->arena, (size_t)n + 1, sizeof *file->vars);
    if (!file->vars)
        return DG_ERR_NOMEM;
    for (; file->n_vars < n && !err; file->n_vars++)
        err = read_var(c, &file->vars[file->n_vars]);
    if (err)
        return err;
    qsort(file->vars, file->n_vars, sizeof *file->vars, by_name);
    for (size_t i = 1; i < file->n_vars; i++)
        if (strcmp(file->vars[i - 1].name, file->vars[i].name) == 0)
            return dg_error_set(c->error, DG_ERR_FORMAT,
                                "%s: offset %zu: variable %s is there twice", file->name,
                                (size_t)(file->vars[i].bytes - c->bytes), file->vars[i].name);
    return DG_OK;
}

static enum dg_err read_aliases(struct cursor *c)
{
    struct dg_ct2 *file = c->file;
    uint32_t n = 0;
    enum dg_err err = read_count(c, "alias count", 6, &n);
    if (err)
        return err;
    file->aliases = dg_arena_calloc(&file->arena, (size_t)n + 1, sizeof *file->aliases);
    if (!file->aliases)
        return DG_ERR_NOMEM;
    for (; file->n_aliases < n && !err; file->n_aliases++) {
        err = read_string(c, "alias", &file->aliases[file->n_aliases].name);
        if (!err)
            err = read_string(c, "alias target", &file->aliases[file->n_aliases].target);
    }
    return err;
}

/* ---- The file -------------------------------------------------------------------------------- */

static enum dg_err read_head(struct cursor *c)
{
    enum dg_err err = read_number(c, 4, "binary version", &c->file->version);
    if (!err && (c->file->version < VERSION_MIN || c->file->version > VERSION_MAX))
        err = dg_error_set(c->error, DG_ERR_UNSUPPORTED,
                           "%s: offset 0: field 'binary version' is %" PRIu32
                           ", expected %d to %d; is it a CTranslate2 model?",
                           c->file->name, c->file->version, VERSION_MIN, VERSION_MAX);
    if (!err)
        err = read_string(c, "specification", &c->file->spec);
    if (!err)
        err = read_number(c, 4, "revision", &c->file->revision);
    return err;
}

enum dg_err dg_ct2_parse(struct dg_ct2 *file, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error)
{
    if (dg_lfs_is_pointer(bytes, len))
        return dg_lfs_refuse(name, error);
    struct dg_ct2 parsed = {.name = name};
    struct cursor c = {.file = &parsed, .bytes = bytes, .len = len, .error = error};
    dg_arena_init(&parsed.arena, ARENA_MAX);
    enum dg_err err = read_head(&c);
    if (!err)
        err = read_vars(&c);
    if (!err && parsed.version >= 3)
        err = read_aliases(&c);
    if (!err && c.at != len)
        err = dg_error_set(error, DG_ERR_FORMAT,
                           "%s: offset %zu: %zu bytes follow the end, expected none", name, c.at,
                           len - c.at);
    if (err)
        dg_ct2_close(&parsed);
    else
        *file = parsed;
    return err;
}

void dg_ct2_close(struct dg_ct2 *file)
{
    dg_arena_deinit(&file->arena);
    *file = (struct dg_ct2){0};
}

static const struct dg_ct2_var *find_var(const struct dg_ct2 *file, const char *name)
{
    const struct dg_ct2_var key = {.name = name};
    if (!file->n_vars)
        return NULL;
    return bsearch(&key, file->vars, file->n_vars, sizeof key, by_name);
}

const struct dg_ct2_var *dg_ct2_find(const struct dg_ct2 *file, const char *name)
{
    const struct dg_ct2_var *var = find_var(file, name);
    for (size_t i = 0; i < file->n_aliases && !var; i++)
        if (strcmp(file->aliases[i].name, name) == 0)
            var = find_var(file, file->aliases[i].target);
    return var;
}
