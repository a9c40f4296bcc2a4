/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Checks the lines of HTTP before llhttp sees them. llhttp is tolerant; but a server behind a proxy
 * must refuse whatever the two could read differently ("request smuggling"). There are two small
 * state machines, and each takes its bytes in pieces of any size:
 *
 *  - the head guard finds the end of a request's head and refuses bare CR and LF, folded lines,
 *    blanks before the colon, names that are not tokens, control characters, too many lines;
 *  - the chunk guard follows chunked framing strictly and finds the end of the message, which the
 *    caller compares with llhttp's result.
 *
 * Both return the first violation as a sentence, or NULL. They allocate no memory. One thread. */
#ifndef DG_NET_PROTO_HTTP_GUARD_H
#define DG_NET_PROTO_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_http_guard_head {
    uint8_t state;
    uint8_t spaces;    /* in the request line */
    bool after_space;  /* the last byte of the request line was a space */
    unsigned lines;    /* complete lines so far, the request line included */
    size_t line_bytes; /* of the current line */
};

/* Checks the next `len` bytes. When the head ends within them, *end is the number of bytes up to
 * and including the empty line, else SIZE_MAX. */
const char *dg_http_guard_head_scan(struct dg_http_guard_head *guard, const char *bytes, size_t len,
                                    size_t *end);

struct dg_http_guard_chunks {
    uint8_t state;
    uint8_t digits;   /* of the current size */
    bool done;        /* the message is over */
    uint64_t left;    /* bytes of data left in the chunk */
    uint64_t framing; /* bytes that are not data, so far */
    uint64_t data;    /* bytes of data announced so far */
    struct dg_http_guard_head trailer;
};

/* The same for a chunked body. Also refuses a body with far more framing than data. */
const char *dg_http_guard_chunks_scan(struct dg_http_guard_chunks *guard, const char *bytes,
                                      size_t len, size_t *end);

#endif
