/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the replies of a Redis (protocol RESP, version 2), as a state machine without sockets.
 *
 *     struct dg_redis_reader reader;
 *     dg_redis_reader_init(&reader);
 *     err = dg_redis_reader_feed(&reader, bytes);
 *     while (!(err = dg_redis_reader_next(&reader, &reply, &is_there)) && is_there)
 *         ...                        reply: borrowed until the next call
 *     dg_redis_reader_deinit(&reader);
 *
 * Redis is not trusted: lengths are believed only up to these limits, and memory grows only with
 * the bytes that have come. Anything that is not of version 2, such as a push of version 3, is
 * refused. The time taken is linear in the bytes, however they are cut. One thread. */
#ifndef DG_NET_PROTO_REDIS_READER_H
#define DG_NET_PROTO_REDIS_READER_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_REDIS_NUMBERS_MAX = 16,             /* of a reply */
    DG_REDIS_ELEMENTS_MAX = 65536,         /* of all lists in a reply */
    DG_REDIS_DEPTH_MAX = 8,                /* of lists in lists */
    DG_REDIS_LINE_MAX = 64 * 1024,         /* bytes of a status, an error or a number */
    DG_REDIS_REPLY_MAX = 16 * 1024 * 1024, /* bytes of a reply */
};

enum dg_redis_kind {
    DG_REDIS_NONE, /* no answer: too late, connection lost, closing */
    DG_REDIS_NIL,  /* there is no such key */
    DG_REDIS_TEXT,
    DG_REDIS_NUMBERS, /* an integer, or an array of them */
    DG_REDIS_TEXTS,   /* an array of texts; arrays in it are taken apart, nil is an empty text, and
                         numbers are their digits */
    DG_REDIS_OK,      /* a status such as OK */
    DG_REDIS_REFUSED, /* an error; `text` has it */
};

struct dg_redis_reply {
    enum dg_redis_kind kind;
    struct dg_span text;
    int64_t numbers[DG_REDIS_NUMBERS_MAX];
    size_t n_numbers;
    const struct dg_span *texts;
    size_t n_texts;
};

struct dg_redis_value;

struct dg_redis_reader {
    struct dg_buf bytes;
    size_t begin;                  /* of the reply */
    size_t at;                     /* the next value begins here */
    size_t searched;               /* the end of its line is not before this */
    struct dg_redis_value *values; /* owned; what has been read of the reply, lists aside */
    struct dg_span *texts;         /* owned; of the last reply */
    size_t n_values, values_cap;
    size_t n_announced; /* elements of lists */
    size_t left[DG_REDIS_DEPTH_MAX];
    unsigned depth;
    bool is_list, is_flat, is_told; /* told: those before `at` are of the last reply */
};

void dg_redis_reader_init(struct dg_redis_reader *reader);
void dg_redis_reader_deinit(struct dg_redis_reader *reader);

/* Copies the bytes. DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_redis_reader_feed(struct dg_redis_reader *reader,
                                 struct dg_span bytes) DG_MUST_CHECK;

/* Sets *reply to the next reply, if all of it has arrived. DG_ERR_FORMAT: the bytes are not a
 * reply; DG_ERR_LIMIT: the reply is too long, or announces that it will be; DG_ERR_NOMEM. After an
 * error there is nothing more to read. */
enum dg_err dg_redis_reader_next(struct dg_redis_reader *reader, struct dg_redis_reply *reply,
                                 bool *is_there) DG_MUST_CHECK;

/* Whether bytes have arrived that belong to no reply so far. */
bool dg_redis_reader_has_rest(const struct dg_redis_reader *reader);

#endif
