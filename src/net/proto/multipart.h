/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads a multipart/form-data body (RFC 7578) strictly, part after part, from memory or as it
 * arrives. Only names are copied.
 *
 *     struct dg_multipart multipart;
 *     err = dg_multipart_begin(&multipart, content_type, body, &error);
 *     struct dg_part part;
 *     bool more;
 *     while ((err = dg_multipart_next(&multipart, &arena, &part, &more, &error)) == DG_OK && more)
 *         ... part.name, part.filename, part.body ...
 *
 * Refuses, with an error message, a missing or bad boundary, anything before the first delimiter, a
 * part without "Content-Disposition: form-data; name=...", header lines that are folded or end in a
 * bare LF, transfer encodings that change bytes, more parts than the limit, a body that ends before
 * its last delimiter, and anything but a line end after that. Time is linear in the body. One
 * thread. */
#ifndef DG_NET_PROTO_MULTIPART_H
#define DG_NET_PROTO_MULTIPART_H

#include "base/memory/arena.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

enum {
    DG_MULTIPART_PARTS_MAX = 20000,
    DG_MULTIPART_HEAD_MAX = 4096, /* bytes of one part's header lines */
    DG_MULTIPART_BOUNDARY_MAX = 70,
};

struct dg_multipart {
    struct dg_span rest;                           /* the body after the last delimiter read */
    char delimiter[DG_MULTIPART_BOUNDARY_MAX + 5]; /* CR LF "--" boundary */
    size_t delimiter_len;
    unsigned n_parts;
    bool is_over;
};

struct dg_part {
    struct dg_span name;     /* valid UTF-8 without control characters; in the arena */
    struct dg_span filename; /* the same; ptr NULL when the part names no file */
    struct dg_span type;     /* the Content-Type, as sent; empty when there is none */
    struct dg_span body;     /* any bytes; borrowed from the whole body */
};

/* The same from pieces of any length. The functions are called in the order of the body: on_part
 * with an empty body, on_data any number of times, and on_part_end. Their errors end the reading.
 */
struct dg_multipart_events {
    enum dg_err (*on_part)(void *ctx, const struct dg_part *part, struct dg_error *error);
    enum dg_err (*on_data)(void *ctx, struct dg_span bytes, struct dg_error *error);
    enum dg_err (*on_part_end)(void *ctx, struct dg_error *error);
};

struct dg_multipart_feed {
    struct dg_multipart multipart;
    const struct dg_multipart_events *events; /* borrowed */
    void *ctx;
    struct dg_arena *arena; /* borrowed; for names */
    int state;
    size_t n_matched; /* bytes of the delimiter that have been seen and may be a part's */
    size_t n_start;   /* of these, what ended the header lines and is not a byte of the part */
    size_t n_held;
    char held[DG_MULTIPART_HEAD_MAX]; /* the beginning of a head, or what follows a delimiter */
};

/* True for "multipart/form-data" with or without parameters, in any case. */
bool dg_multipart_is(struct dg_span content_type);

enum dg_err dg_multipart_begin(struct dg_multipart *multipart, struct dg_span content_type,
                               struct dg_span body, struct dg_error *error) DG_MUST_CHECK;

/* The next part; *more is false after the last one. DG_ERR_FORMAT, DG_ERR_TRUNCATED, DG_ERR_LIMIT,
 * DG_ERR_UTF8, DG_ERR_UNSUPPORTED (a transfer encoding), DG_ERR_NOMEM. */
enum dg_err dg_multipart_next(struct dg_multipart *multipart, struct dg_arena *arena,
                              struct dg_part *part, bool *more,
                              struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_multipart_feed_begin(struct dg_multipart_feed *feed, struct dg_span content_type,
                                    struct dg_arena *arena,
                                    const struct dg_multipart_events *events, void *ctx,
                                    struct dg_error *error) DG_MUST_CHECK;

/* The next piece; after an error there must be no more. The errors are those of
 * dg_multipart_next. */
enum dg_err dg_multipart_feed(struct dg_multipart_feed *feed, struct dg_span piece,
                              struct dg_error *error) DG_MUST_CHECK;

/* The end of the pieces: DG_ERR_TRUNCATED unless the last delimiter was read. */
enum dg_err dg_multipart_feed_end(const struct dg_multipart_feed *feed,
                                  struct dg_error *error) DG_MUST_CHECK;

#endif
