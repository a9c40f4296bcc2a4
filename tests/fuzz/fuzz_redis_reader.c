/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Any bytes as the replies of a Redis: read whole and byte by byte, they must be the same. */
#include "base/memory/mem.h"
#include "net/proto/redis_reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void note(struct dg_buf *log, const struct dg_redis_reply *reply)
{
    require(dg_buf_printf(log, "%d ", (int)reply->kind) == DG_OK);
    require(dg_buf_append_span(log, reply->text) == DG_OK);
    require(reply->n_numbers <= DG_REDIS_NUMBERS_MAX && reply->n_texts <= DG_REDIS_ELEMENTS_MAX);
    for (size_t i = 0; i < reply->n_numbers; i++)
        require(dg_buf_printf(log, " %lld", (long long)reply->numbers[i]) == DG_OK);
    for (size_t i = 0; i < reply->n_texts; i++)
        require(dg_buf_printf(log, " %zu:", reply->texts[i].len) == DG_OK &&
                dg_buf_append_span(log, reply->texts[i]) == DG_OK);
}

/* The replies, when they are read in pieces of so many bytes. */
static enum dg_err read_all(const uint8_t *bytes, size_t len, size_t piece, struct dg_buf *log)
{
    struct dg_redis_reader reader;
    struct dg_redis_reply reply;
    bool is_there = true;
    enum dg_err err = DG_OK;
    dg_redis_reader_init(&reader);
    for (size_t at = 0; !err && at < len; at += piece) {
        const size_t n = len - at < piece ? len - at : piece;
        require(dg_redis_reader_feed(&reader, dg_span_make((const char *)bytes + at, n)) == DG_OK);
        while (!(err = dg_redis_reader_next(&reader, &reply, &is_there)) && is_there)
            note(log, &reply);
    }
    require(err == DG_OK || err == DG_ERR_FORMAT || err == DG_ERR_LIMIT);
    dg_redis_reader_deinit(&reader);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct dg_buf whole, cut;
    dg_buf_init(&whole, 64 << 20);
    dg_buf_init(&cut, 64 << 20);
    const enum dg_err err = read_all(bytes, len, len ? len : 1, &whole);
    require(read_all(bytes, len, 1, &cut) == err);
    require(dg_span_eq(dg_buf_span(&whole), dg_buf_span(&cut)));
    dg_buf_deinit(&whole);
    dg_buf_deinit(&cut);
    return 0;
}
