/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as a form: the first line is the Content-Type, the rest the body. Parts lie inside the
 * body, in order, and a form that was read to its end holds all of its delimiters. */
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
    }
    require(!err || *error.text || err == DG_ERR_NOMEM);
    dg_arena_deinit(&arena);
    return 0;
}
