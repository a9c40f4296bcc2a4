/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The server side of one HTTP/1.1 connection as a pure machine: bytes in, requests and bytes out.
 * No socket, no clock, no thread of its own; whoever owns the socket feeds it and writes what it
 * produces.
 *
 *     struct dg_http *http = dg_http_new(&shared, &events, user);
 *     shared.now_ms = ...;                         before anything else, as often as time moves
 *     dg_http_feed(http, bytes, len);              may call events.on_head and events.on_request
 *     struct dg_span out = dg_http_output(http);   to be written ...
 *     dg_http_written(http, n);                    ... and taken off
 *     if (dg_http_wants_close(http, &at_once)) ... when the output is empty
 *     if (shared.now_ms >= dg_http_deadline(http)) dg_http_expire(http);
 *     dg_http_free(http);                          tells an unanswered request through its on_gone
 *
 * A request is answered with the functions of http_reply.h, at once or later; the next one of the
 * connection is looked at when this one's answer is complete (so answers to pipelined requests keep
 * their order, and what was pipelined waits as bytes, within a bound).
 *
 * What is refused, with a status and then the end of the connection, because two programs could
 * read it in two ways: bare CR or LF, a folded header line, a space before the colon, a missing or
 * repeated Host, Content-Length with Transfer-Encoding, a repeated or signed Content-Length, any
 * transfer coding but "chunked", malformed chunks, control characters, and whatever llhttp's strict
 * mode refuses.
 *
 * One thread. */
#ifndef DG_NET_PROTO_HTTP_H
#define DG_NET_PROTO_HTTP_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_http_method {
    DG_HTTP_GET,
    DG_HTTP_HEAD,
    DG_HTTP_POST,
    DG_HTTP_PUT,
    DG_HTTP_PATCH,
    DG_HTTP_DELETE,
    DG_HTTP_OPTIONS,
};

/* "GET", "POST", ... */
const char *dg_http_method_name(enum dg_http_method method);

struct dg_http_limits {
    size_t head_bytes;      /* request line and headers together */
    size_t url_bytes;       /* request target */
    unsigned headers;       /* header lines */
    size_t body_bytes;      /* of one request; a route may lower or raise it in on_head */
    size_t pipelined_bytes; /* unread input held while a request is being answered */
    size_t stream_bytes;   /* unwritten output, besides its largest part, at which a streamed answer
                              is given up */
    size_t gzip_bytes_min; /* whole answers from this size on are compressed when the client asks */
    size_t gzip_bytes_max; /* ... up to this one, since it happens on the loop's thread; 0 = never
                            */
    uint32_t idle_ms;      /* between requests */
    uint32_t head_ms;      /* from the first byte of a request to the end of its headers */
    uint32_t body_ms;      /* for a body, on top of one second per body_rate bytes received, */
    uint32_t body_all_ms;  /* but never longer than this in all */
    uint32_t body_rate;    /* bytes per second below which a body counts as stalled */
    uint32_t write_ms; /* without progress in writing as fast as body_rate; minded by the socket's
                          owner */
};

#define DG_HTTP_LIMITS_DEFAULT                                                                     \
    {                                                                                              \
        .head_bytes = 16 * 1024, .url_bytes = 8 * 1024, .headers = 100,                            \
        .body_bytes = 2 * 1024 * 1024, .pipelined_bytes = 64 * 1024,                               \
        .stream_bytes = 16 * 1024 * 1024, .gzip_bytes_min = 1024, .gzip_bytes_max = 256 * 1024,    \
        .idle_ms = 75 * 1000, .head_ms = 10 * 1000, .body_ms = 20 * 1000,                          \
        .body_all_ms = 600 * 1000, .body_rate = 1024, .write_ms = 30 * 1000                        \
    }

/* The unwritten output at which nothing more is read from a peer that may leave `stream_bytes`
 * unread. */
static inline size_t dg_http_unread_max(size_t stream_bytes)
{
    const size_t most = 1024 * 1024;
    return stream_bytes < most ? stream_bytes : most;
}

/* What all connections of a server have in common. Borrowed by every machine; may change between
 * calls (the owner keeps the time, and refreshes the date each second). */
struct dg_http_shared {
    uint64_t now_ms; /* monotonic */
    struct dg_http_limits limits;
    char date[32];      /* "Sun, 06 Nov 1994 08:49:37 GMT"; "" leaves the header out */
    const char *server; /* value of the Server header; NULL leaves it out */
    bool closing;       /* draining: answers say "Connection: close" */
};

/* Writes the date header's value for a time in seconds since 1970. */
void dg_http_set_date(struct dg_http_shared *shared, uint64_t unix_s);

struct dg_http;

struct dg_http_header {
    struct dg_span name;  /* as sent; compare with dg_http_header_is */
    struct dg_span value; /* without blanks around it */
};

/* One request. Everything it points to lives until its answer is complete or on_gone was called. */
struct dg_http_req {
    struct dg_http *http;
    enum dg_http_method method;
    unsigned minor;        /* HTTP/1.minor: 0 or 1 */
    struct dg_span target; /* as sent */
    struct dg_span path;   /* percent-decoded UTF-8 */
    struct dg_span query;  /* raw; see target.h */
    struct dg_span host;   /* of the Host header or the absolute target */
    const struct dg_http_header *headers;
    unsigned n_headers;
    struct dg_span body;   /* complete when on_request is called */
    struct dg_span client; /* address of the client, e.g. "192.0.2.7"; set by the owner in on_head
                            */
    struct dg_span public_host; /* what a trusted proxy says that the client asked for, else `host`;
                                   set by the owner */
    bool secure;     /* a trusted proxy said that the client came over TLS; set by the owner */
    bool is_private; /* it came in by a listener for administrators; set by the owner */
    struct dg_arena *arena; /* for whatever belongs to this request */
    size_t body_max;        /* on_head may change it (never above SIZE_MAX / 2) */
    uint64_t started_ms;    /* when its first byte was fed */

    void *owner;                  /* the answering side's own */
    void (*on_gone)(void *owner); /* if set: the connection died before the answer was complete; the
                                   * request must not be touched after this call */
    void (*on_done)(void *owner); /* if set: the answer is complete; called before it is forgotten
                                   */
    /* If set: what was written of a streamed answer has gone out (at most `stream_low` of it is
     * still here), so that whoever makes a long one piece by piece knows when the next piece is
     * wanted. Called from dg_http_written. */
    void (*on_room)(void *owner);
    size_t stream_low;
};

/* The first header of that name (case does not matter); ptr is NULL when there is none. */
struct dg_span dg_http_header(const struct dg_http_req *req, const char *name);

/* Whether a Host consists of what it may (RFC 3986, section 3.2.2, without user names). */
bool dg_http_host_is_sane(struct dg_span host);

/* True when a comma-separated header value ("gzip, br;q=0.5") has `token` in it, parameters aside,
 * not with q=0. */
bool dg_http_list_has(struct dg_span value, const char *token);

struct dg_http_events {
    /* The headers are complete, the body is not read yet. May answer at once: the body is then not
     * delivered and on_request not called. NULL is fine. */
    void (*on_head)(void *user, struct dg_http_req *req);
    /* The request is complete and waits for its answer. */
    void (*on_request)(void *user, struct dg_http_req *req);
    /* A request was refused by the machine itself; `reason` is a sentence. Answer through
     * dg_http_reply (the connection ends after it) or leave it to a plain text answer. NULL is
     * fine. */
    void (*on_refused)(void *user, struct dg_http_req *req, int status, const char *reason);
    /* There is output, or the wish to close, that came outside dg_http_feed. */
    void (*on_output)(void *user);
};

/* NULL when there is no memory. Both pointers are borrowed. */
struct dg_http *dg_http_new(const struct dg_http_shared *shared,
                            const struct dg_http_events *events, void *user) DG_MUST_CHECK;
void dg_http_free(struct dg_http *http); /* NULL is fine; must not be called from an event */

/* The user that dg_http_new was given. */
void *dg_http_user(const struct dg_http *http);

/* Bytes from the peer, of which the machine keeps what it needs. After the wish to close they are
 * ignored. */
void dg_http_feed(struct dg_http *http, const char *bytes, size_t len);

/* The peer will send no more. What was answered is still written; a request that waits for its
 * answer counts as abandoned. */
void dg_http_eof(struct dg_http *http);

/* False while more input would only pile up: stop reading from the socket. */
bool dg_http_wants_input(const struct dg_http *http);

/* What is to be written, borrowed until the next call. */
struct dg_span dg_http_output(const struct dg_http *http);
/* `len` bytes of it were written. */
void dg_http_written(struct dg_http *http, size_t len);

/* Moves the output away into `into` (an initialised empty buffer of the caller's, whose memory goes
 * to the machine in exchange), for writes that complete later and are then reported by
 * dg_http_written. */
void dg_http_take_output(struct dg_http *http, struct dg_buf *into);

/* The connection should be closed once the output is written; `at_once`: without even that. */
bool dg_http_wants_close(const struct dg_http *http, bool *at_once);

/* True when no request is being read or answered. */
bool dg_http_is_idle(const struct dg_http *http);

/* Asks for the end of the connection: after the current answer, or, when there is none, once
 * `grace_ms` have passed without a request, which may be on its way already. */
void dg_http_close_soon(struct dg_http *http, uint32_t grace_ms);

/* When dg_http_expire is to be called; UINT64_MAX for never. */
uint64_t dg_http_deadline(const struct dg_http *http);
void dg_http_expire(struct dg_http *http);

/* Moves the body away into `into`, an initialised empty buffer of the caller's: req->body is empty
 * then. */
void dg_http_take_body(struct dg_http_req *req, struct dg_buf *into);

/* ---- Leaving HTTP ---------------------------------------------------------------------------- */

/* Answers `req` with 101 and the headers added so far (http_reply.h), after which the connection
 * speaks another protocol: the machine takes no more input, dg_http_upgraded returns true, and
 * dg_http_rest has the bytes that already arrived. The request is gone. */
void dg_http_upgrade(struct dg_http_req *req);
bool dg_http_upgraded(const struct dg_http *http);
struct dg_span dg_http_rest(const struct dg_http *http);

#endif
