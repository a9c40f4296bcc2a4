/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A small output stays in one buffer, whose content moves up when its beginning is written. Output
 * beyond one piece becomes the rest, in which only an offset advances until half of it is written,
 * so that each byte is moved at most once. */
#include "net/proto/output.h"

#include <stdbool.h>
#include <stdint.h>

static const size_t bytes_max = SIZE_MAX / 2;

void dg_output_init(struct dg_output *out)
{
    *out = (struct dg_output){.at = 0};
    dg_buf_init(&out->first, bytes_max);
    dg_buf_init(&out->rest, bytes_max);
}

void dg_output_deinit(struct dg_output *out)
{
    dg_buf_deinit(&out->first);
    dg_buf_deinit(&out->rest);
    dg_output_init(out);
}

static void exchange(struct dg_buf *a, struct dg_buf *b)
{
    const struct dg_buf spare = *a;
    *a = *b;
    *b = spare;
    a->max = b->max = bytes_max;
}

enum dg_err dg_output_append(struct dg_output *out, const void *bytes, size_t len)
{
    const bool is_little =
        out->first.len < DG_OUTPUT_PIECE && len <= DG_OUTPUT_PIECE - out->first.len;
    return dg_buf_append(out->rest.len == 0 && is_little ? &out->first : &out->rest, bytes, len);
}

enum dg_err dg_output_give(struct dg_output *out, struct dg_buf *buf)
{
    if (out->rest.len) {
        enum dg_err err = dg_buf_append_span(&out->rest, dg_buf_span(buf));
        if (!err)
            dg_buf_deinit(buf);
        return err;
    }
    const size_t max = buf->max;
    exchange(&out->rest, buf);
    dg_buf_deinit(buf);
    buf->max = max;
    return DG_OK;
}

size_t dg_output_left(const struct dg_output *out)
{
    return out->first.len + out->rest.len - out->at;
}

size_t dg_output_unwritten(const struct dg_output *out)
{
    return dg_output_left(out) + out->taken;
}

size_t dg_output_memory(const struct dg_output *out)
{
    return out->first.cap + out->rest.cap;
}

struct dg_span dg_output_span(const struct dg_output *out)
{
    if (out->first.len)
        return dg_buf_span(&out->first);
    const size_t left = out->rest.len - out->at;
    return dg_span_sub(dg_buf_span(&out->rest), out->at,
                       left < DG_OUTPUT_PIECE ? left : DG_OUTPUT_PIECE);
}

/* `n` bytes of the rest are out. */
static void advance(struct dg_output *out, size_t n)
{
    out->at += n;
    if (out->at == out->rest.len) {
        dg_buf_deinit(&out->rest);
        out->at = 0;
    } else if (out->at >= DG_OUTPUT_PIECE && out->at > out->rest.len / 2) {
        dg_buf_consume(&out->rest, out->at);
        out->at = 0;
    }
}

void dg_output_written(struct dg_output *out, size_t len)
{
    const size_t of_taken = len < out->taken ? len : out->taken;
    out->taken -= of_taken;
    len -= of_taken;
    const size_t of_first = len < out->first.len ? len : out->first.len;
    dg_buf_consume(&out->first, of_first);
    advance(out, len - of_first);
}

void dg_output_take(struct dg_output *out, struct dg_buf *into)
{
    const struct dg_span piece = dg_output_span(out);
    if (out->first.len) {
        exchange(&out->first, into);
    } else if (piece.len && dg_buf_append_span(into, piece) == DG_OK) {
        advance(out, piece.len);
    } else if (piece.len) { /* without memory for a piece, everything is written at once */
        dg_buf_consume(&out->rest, out->at);
        out->at = 0;
        exchange(&out->rest, into);
    }
    out->taken += into->len;
}

enum dg_err dg_output_prepend(struct dg_output *out, struct dg_buf *buf)
{
    enum dg_err err = dg_buf_append_span(buf, dg_buf_span(&out->first));
    if (err)
        return err;
    exchange(&out->first, buf);
    dg_buf_deinit(buf);
    return DG_OK;
}

void dg_output_trim(struct dg_output *out)
{
    if (out->first.len == 0 && out->first.cap > DG_OUTPUT_KEPT)
        dg_buf_deinit(&out->first);
}
