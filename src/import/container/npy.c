/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Parses {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: the keys may be in any order,
 * and each occurs once. */
#include "import/container/npy.h"
#include "base/memory/mem.h"
#include "base/memory/span.h"

#include <string.h>

enum { HEADER_MAX = 65536, DESCR_CAP = 16 };

struct header {
    const char *name; /* of the file */
    const char *text; /* the dict */
    size_t at, len;
    size_t base; /* offset of the dict in the file */
    struct dg_error *error;
    char descr[DESCR_CAP];
    bool has_descr, has_order, has_shape, fortran;
};

static enum dg_err refuse(const struct header *h, enum dg_err err, const char *what)
{
    return dg_error_set(h->error, err, "%s: offset %zu: %s", h->name, h->base + h->at, what);
}

static void skip_blanks(struct header *h)
{
    while (h->at < h->len && (h->text[h->at] == ' ' || h->text[h->at] == '\n'))
        h->at++;
}

/* Skips blanks, and takes `c` if it is next. */
static bool take(struct header *h, char c)
{
    skip_blanks(h);
    if (h->at >= h->len || h->text[h->at] != c)
        return false;
    h->at++;
    return true;
}

static bool take_word(struct header *h, const char *word)
{
    size_t len = strlen(word);
    skip_blanks(h);
    if (h->len - h->at < len || memcmp(h->text + h->at, word, len) != 0)
        return false;
    h->at += len;
    return true;
}

/* 'text' or "text", without escapes. */
static enum dg_err take_text(struct header *h, struct dg_span *text)
{
    skip_blanks(h);
    char quote = h->at < h->len ? h->text[h->at] : '\0';
    if (quote != '\'' && quote != '"')
        return refuse(h, DG_ERR_FORMAT, "expected a quoted text in the header");
    size_t start = ++h->at;
    while (h->at < h->len && h->text[h->at] != quote)
        if (h->text[h->at++] == '\\')
            return refuse(h, DG_ERR_FORMAT, "an escape in the header");
    if (h->at >= h->len)
        return refuse(h, DG_ERR_TRUNCATED, "the header ends inside a text");
    *text = dg_span_make(h->text + start, h->at - start);
    h->at++;
    return DG_OK;
}

static enum dg_err take_count(struct header *h, size_t *count)
{
    skip_blanks(h);
    size_t start = h->at, value = 0;
    for (; h->at < h->len && h->text[h->at] >= '0' && h->text[h->at] <= '9'; h->at++)
        if (!dg_mul(value, 10, &value) || !dg_add(value, (size_t)(h->text[h->at] - '0'), &value))
            return refuse(h, DG_ERR_RANGE, "field 'shape': a number does not fit 64 bits");
    if (h->at == start)
        return refuse(h, DG_ERR_FORMAT, "field 'shape': expected a number");
    *count = value;
    return DG_OK;
}

/* (), (3,), (2, 3) */
static enum dg_err take_shape(struct header *h, struct dg_npy *npy)
{
    if (!take(h, '('))
        return refuse(h, DG_ERR_FORMAT, "field 'shape': expected a tuple");
    npy->rank = 0;
    for (unsigned i = 0; i < DG_TENSOR_RANK_MAX; i++)
        npy->shape[i] = 1;
    while (!take(h, ')')) {
        if (npy->rank == DG_TENSOR_RANK_MAX)
            return refuse(h, DG_ERR_UNSUPPORTED, "field 'shape': more than 4 dimensions");
        enum dg_err err = take_count(h, &npy->shape[npy->rank]);
        if (err)
            return err;
        npy->rank++;
        if (!take(h, ',') && (h->at >= h->len || h->text[h->at] != ')'))
            return refuse(h, DG_ERR_FORMAT, "field 'shape': expected ',' or ')'");
    }
    return DG_OK;
}

static enum dg_err take_field(struct header *h, struct dg_npy *npy)
{
    struct dg_span key, text;
    enum dg_err err = take_text(h, &key);
    if (err)
        return err;
    if (!take(h, ':'))
        return refuse(h, DG_ERR_FORMAT, "expected ':' after a key of the header");
    if (dg_span_eq(key, DG_SPAN("descr")) && !h->has_descr) {
        err = take_text(h, &text);
        if (!err && text.len >= DESCR_CAP)
            err = refuse(h, DG_ERR_UNSUPPORTED, "field 'descr': a structured type");
        if (!err && text.len)
            memcpy(h->descr, text.ptr, text.len);
        h->has_descr = true;
        return err;
    }
    if (dg_span_eq(key, DG_SPAN("fortran_order")) && !h->has_order) {
        h->fortran = take_word(h, "True");
        h->has_order = true;
        if (!h->fortran && !take_word(h, "False"))
            return refuse(h, DG_ERR_FORMAT, "field 'fortran_order': expected True or False");
        return DG_OK;
    }
    if (dg_span_eq(key, DG_SPAN("shape")) && !h->has_shape) {
        h->has_shape = true;
        return take_shape(h, npy);
    }
    return refuse(h, DG_ERR_FORMAT, "an unknown or repeated key in the header");
}

static enum dg_err take_dict(struct header *h, struct dg_npy *npy)
{
    if (!take(h, '{'))
        return refuse(h, DG_ERR_FORMAT, "the header is not a dict");
    while (!take(h, '}')) {
        enum dg_err err = take_field(h, npy);
        if (err)
            return err;
        if (!take(h, ',') && (h->at >= h->len || h->text[h->at] != '}'))
            return refuse(h, DG_ERR_FORMAT, "expected ',' or '}' in the header");
    }
    skip_blanks(h);
    if (h->at < h->len)
        return refuse(h, DG_ERR_FORMAT, "something follows the header's dict");
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return refuse(h, DG_ERR_FORMAT, "the header lacks descr, fortran_order or shape");
    if (h->fortran && npy->rank > 1)
        return refuse(h, DG_ERR_UNSUPPORTED, "field 'fortran_order' is True, expected False");
    return DG_OK;
}

static enum dg_err find_type(const struct header *h, enum dg_dtype *dtype)
{
    static const struct {
        const char *code; /* without the byte order */
        enum dg_dtype dtype;
    } types[] = {{"f2", DG_DTYPE_F16}, {"f4", DG_DTYPE_F32}, {"f8", DG_DTYPE_F64},
                 {"i1", DG_DTYPE_I8},  {"i2", DG_DTYPE_I16}, {"i4", DG_DTYPE_I32},
                 {"i8", DG_DTYPE_I64}, {"u1", DG_DTYPE_U8},  {"u2", DG_DTYPE_U16},
                 {"u4", DG_DTYPE_U32}, {"u8", DG_DTYPE_U64}, {"b1", DG_DTYPE_BOOL}};
    for (size_t i = 0; h->descr[0] && i < sizeof types / sizeof *types; i++) {
        if (strcmp(h->descr + 1, types[i].code) != 0)
            continue;
        bool one_byte = dg_dtype_size(types[i].dtype) == 1;
        if (h->descr[0] == '<' || h->descr[0] == '=' || (one_byte && h->descr[0] == '|')) {
            *dtype = types[i].dtype;
            return DG_OK;
        }
    }
    return dg_error_set(
        h->error, DG_ERR_UNSUPPORTED,
        "%s: offset %zu: field 'descr' is '%s', expected little-endian plain numbers", h->name,
        h->base, h->descr);
}

enum dg_err dg_npy_parse(struct dg_npy *npy, const uint8_t *bytes, size_t len, const char *name,
                         struct dg_error *error)
{
    struct header h = {.name = name, .error = error};
    if (len < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return refuse(&h, DG_ERR_FORMAT, "not an .npy array");
    h.base = 6;
    if (bytes[6] < 1 || bytes[6] > 3)
        return refuse(&h, DG_ERR_UNSUPPORTED, "the .npy version is not 1, 2 or 3");
    size_t header_len = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    h.base = 10;
    if (bytes[6] > 1) {
        if (len < 12)
            return refuse(&h, DG_ERR_TRUNCATED, "the file ends inside the header's length");
        header_len |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        h.base = 12;
    }
    if (header_len > HEADER_MAX || header_len > len - h.base)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "%s: offset 8: the header's length is %zu, expected at most %zu", name,
                            header_len, len - h.base < HEADER_MAX ? len - h.base : HEADER_MAX);
    h.text = (const char *)bytes + h.base;
    h.len = header_len;
    struct dg_npy parsed = {.offset = h.base + header_len};
    enum dg_err err = take_dict(&h, &parsed);
    if (!err)
        err = find_type(&h, &parsed.dtype);
    if (err)
        return err;
    parsed.len = dg_dtype_size(parsed.dtype);
    for (unsigned i = 0; i < parsed.rank; i++)
        if (!dg_mul(parsed.len, parsed.shape[i], &parsed.len))
            return refuse(&h, DG_ERR_RANGE, "field 'shape': the size does not fit 64 bits");
    if (parsed.len != len - parsed.offset)
        return dg_error_set(error, DG_ERR_TRUNCATED,
                            "%s: offset %zu: %zu bytes of numbers, expected %zu by descr and shape",
                            name, parsed.offset, len - parsed.offset, parsed.len);
    *npy = parsed;
    return DG_OK;
}
