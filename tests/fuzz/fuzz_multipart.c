/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a form: the first line is the Content-Type, the rest the body. Parts lie inside the
 * body, in order, and a form that was read to its end contains all of its delimiters. Fed in
 * pieces, the form gives the same: as many parts, with as many bytes in them. */
#include "net/proto/multipart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct counts {
    size_t n_parts, n_bytes;
};

static enum dg_err on_part(void *ctx, const struct dg_part *part, struct dg_error *error)
{
    struct counts *counts = ctx;
    (void)error;
    require(part->name.ptr != NULL);
    counts->n_parts++;
    return DG_OK;
}

static enum dg_err on_data(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct counts *counts = ctx;
    (void)error;
    counts->n_bytes += bytes.len;
    return DG_OK;
}

static enum dg_err on_part_end(void *ctx, struct dg_error *error)
{
    (void)ctx;
    (void)error;
    return DG_OK;
}

static void feed(struct dg_span type, struct dg_span body, enum dg_err whole,
                 const struct counts *counts)
{
    static const struct dg_multipart_events events = {
        .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end};
    static struct dg_multipart_feed reading;
    struct dg_error error = DG_ERROR_NONE;
    struct counts own = {0};
    struct dg_arena arena;
    dg_arena_init(&arena, 1 << 20);
    const size_t step = 1 + body.len % 13;
    enum dg_err err = dg_multipart_feed_begin(&reading, type, &arena, &events, &own, &error);
    for (size_t at = 0; at < body.len && !err; at += step)
        err = dg_multipart_feed(&reading, dg_span_sub(body, at, step), &error);
    if (!err)
        err = dg_multipart_feed_end(&reading, &error);
    if (err != DG_ERR_NOMEM && whole != DG_ERR_NOMEM)
        require((err != DG_OK) == (whole != DG_OK));
    if (!err && !whole)
        require(own.n_parts == counts->n_parts && own.n_bytes == counts->n_bytes);
    dg_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = (const char *)bytes;
    const char *line = len ? memchr(text, '\n', len) : NULL;
    struct dg_span type = dg_span_make(text, line ? (size_t)(line - text) : len);
    struct dg_span body =
        line ? dg_span_make(line + 1, len - type.len - 1) : (struct dg_span){text, 0};
    struct dg_multipart multipart;
    struct dg_part part;
    struct dg_arena arena;
    struct dg_error error = DG_ERROR_NONE;
    struct counts counts = {0};
    bool more = true;
    const char *at = body.ptr;
    dg_arena_init(&arena, 1 << 20);
    enum dg_err err = dg_multipart_begin(&multipart, type, body, &error);
    while (!err) {
        err = dg_multipart_next(&multipart, &arena, &part, &more, &error);
        if (err || !more)
            break;
        require(part.body.ptr >= at && part.body.ptr + part.body.len <= body.ptr + body.len);
        require(part.name.ptr != NULL);
        at = part.body.ptr + part.body.len;
        counts.n_parts++;
        counts.n_bytes += part.body.len;
    }
    require(!err || *error.text || err == DG_ERR_NOMEM);
    dg_arena_deinit(&arena);
    feed(type, body, err, &counts);
    return 0;
}
