/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The header needs only names, types and shapes, so it is written first, and the data follow. */
#include "model/file/safetensors_out.h"
#include "base/file/file_out.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 16 << 20, HEADER_ALIGN = 64, LENGTH_BYTES = 8 };

struct dg_safetensors_out {
    struct dg_file_out *file;
    size_t left; /* bytes that the current tensor still lacks */
};

struct order {
    const struct dg_safetensors_plan *item;
    size_t len;
};

static int by_width_then_name(const void *a, const void *b)
{
    const struct dg_safetensors_plan *x = ((const struct order *)a)->item;
    const struct dg_safetensors_plan *y = ((const struct order *)b)->item;
    size_t x_size = dg_dtype_size(x->dtype), y_size = dg_dtype_size(y->dtype);
    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool byte_len(const struct dg_safetensors_plan *item, size_t *len)
{
    *len = dg_dtype_size(item->dtype);
    bool fits = true;
    for (unsigned i = 0; i < item->rank; i++)
        fits = fits && dg_mul(*len, item->shape[i], len);
    return fits;
}

static void print_entry(struct dg_json_out *json, const struct order *order, size_t begin)
{
    const struct dg_safetensors_plan *item = order->item;
    dg_json_out_put_open(json, item->name, '{');
    dg_json_out_put_cstr(json, "dtype", dg_dtype_name(item->dtype));
    dg_json_out_put_open(json, "shape", '[');
    for (unsigned i = 0; i < item->rank; i++)
        dg_json_out_uint(json, item->shape[i]);
    dg_json_out_close(json, ']');
    dg_json_out_put_open(json, "data_offsets", '[');
    dg_json_out_uint(json, begin);
    dg_json_out_uint(json, begin + order->len);
    dg_json_out_close(json, ']');
    dg_json_out_close(json, '}');
}

/* Prints the length, the JSON, and blanks up to the alignment. */
static enum dg_err print_header(struct dg_buf *header, const struct order *orders, size_t n)
{
    enum dg_err err = dg_buf_append(header, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES);
    struct dg_json_out json;
    dg_json_out_init(&json, header);
    dg_json_out_open(&json, '{');
    dg_json_out_put_open(&json, "__metadata__", '{');
    dg_json_out_put_cstr(&json, "format", "pt");
    dg_json_out_close(&json, '}');
    size_t begin = 0;
    for (size_t i = 0; i < n; i++) {
        print_entry(&json, &orders[i], begin);
        if (!dg_add(begin, orders[i].len, &begin))
            return DG_ERR_RANGE;
    }
    dg_json_out_close(&json, '}');
    if (!err)
        err = dg_json_out_end(&json);
    while (!err && header->len % HEADER_ALIGN)
        err = dg_buf_append_byte(header, ' ');
    if (err)
        return err;
    uint64_t len = header->len - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++)
        header->ptr[i] = (char)(len >> (8 * i));
    return DG_OK;
}

enum dg_err dg_safetensors_out_write(struct dg_safetensors_out *out, const void *bytes, size_t len,
                                     struct dg_error *error)
{
    if (len > out->left)
        return dg_error_set(error, DG_ERR_INTERNAL, "a tensor has %zu bytes more than planned",
                            len - out->left);
    out->left -= len;
    return dg_file_out_write(out->file, bytes, len, error);
}

static enum dg_err write_tensors(struct dg_safetensors_out *out, const struct order *orders,
                                 size_t n, const struct dg_safetensors_plan *plan,
                                 dg_safetensors_fill_fn fill, void *ctx, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        out->left = orders[i].len;
        err = fill(ctx, (size_t)(orders[i].item - plan), out, error);
        if (!err && out->left)
            err = dg_error_set(error, DG_ERR_INTERNAL, "tensor %s has %zu bytes fewer than planned",
                               orders[i].item->name, out->left);
    }
    return err;
}

enum dg_err dg_safetensors_save(const char *path, const struct dg_safetensors_plan *plan, size_t n,
                                dg_safetensors_fill_fn fill, void *ctx, struct dg_error *error)
{
    struct dg_safetensors_out out = {0};
    struct dg_buf header;
    dg_buf_init(&header, HEADER_MAX);
    struct order *orders = dg_try_calloc(n ? n : 1, sizeof *orders);
    enum dg_err err = orders ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        orders[i].item = &plan[i];
        if (!byte_len(&plan[i], &orders[i].len))
            err = dg_error_set(error, DG_ERR_RANGE, "tensor %s is too large", plan[i].name);
    }
    if (!err) {
        qsort(orders, n, sizeof *orders, by_width_then_name);
        err = print_header(&header, orders, n);
    }
    if (!err)
        err = dg_file_out_open(&out.file, path, 0644, error);
    if (!err) {
        err = dg_file_out_write(out.file, header.ptr, header.len, error);
        if (!err)
            err = write_tensors(&out, orders, n, plan, fill, ctx, error);
        err = dg_file_out_close(out.file, err, error);
    }
    dg_free(orders);
    dg_buf_deinit(&header);
    return err;
}
