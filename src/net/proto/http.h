/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The server side of one HTTP/1.1 connection as a pure state machine: bytes in, requests and bytes
 * out. It has no socket, clock or thread of its own; the owner of the socket feeds it and writes
 * its output.
 *
 *     struct dg_http *http = dg_http_new(&shared, &events, user);
 *     shared.now_ms = ...;                         before anything else, as often as time moves
 *     dg_http_feed(http, bytes, len);              may call events.on_head and events.on_request
 *     struct dg_span out = dg_http_output(http);   to be written ...
 *     dg_http_written(http, n);                    ... and taken off
 *     if (dg_http_wants_close(http, &at_once)) ... when the output is empty
 *     if (shared.now_ms >= dg_http_deadline(http)) dg_http_expire(http);
 *     dg_http_free(http);                          calls on_gone of an unanswered request
 *
 * The functions of http_reply.h answer a request, at once or later. The machine reads the next
 * request of the connection when this answer is complete, so answers to pipelined requests keep
 * their order, and pipelined bytes wait, within a bound.
 *
 * Some input is refused, with a status and then the end of the connection, because two programs
 * could read it in two ways: bare CR or LF, a folded header line, a space before the colon, a
 * missing or repeated Host, Content-Length with Transfer-Encoding, a repeated or signed
 * Content-Length, any transfer coding but "chunked", malformed chunks, control characters, and
 * whatever llhttp's strict mode refuses.
 *
 * One thread. */
#ifndef DG_NET_PROTO_HTTP_H
#define DG_NET_PROTO_HTTP_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
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
    size_t stream_bytes;    /* a streamed answer ends when this much, besides its largest part, is
                               unwritten */
    /* whole answers from this size are compressed if the client accepts it */
    size_t gzip_bytes_min;
    size_t gzip_bytes_max; /* ... up to this size, as it blocks the loop's thread; 0: never */
    uint32_t idle_ms;      /* between requests */
    uint32_t head_ms;      /* from the first byte of a request to the end of its headers */
    uint32_t body_ms;      /* for a body, plus one second per body_rate bytes received */
    uint32_t body_all_ms;  /* most time for a body in all */
    uint32_t body_rate;    /* bytes per second below which a body counts as stalled */
    uint32_t write_ms;     /* longest time of writing slower than body_rate; checked by the socket's
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

/* How much output may wait before the server stops reading from a peer that may leave
 * `stream_bytes` unread. */
static inline size_t dg_http_unread_max(size_t stream_bytes)
{
    const size_t most = 1024 * 1024;
    return stream_bytes < most ? stream_bytes : most;
}

/* What all connections of a server share. Every machine borrows it; it may change between calls
 * (the owner updates the time, and the date each second). */
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

/* One request. Everything that it points to lives until its answer is complete or on_gone has been
 * called. */
struct dg_http_req {
    struct dg_http *http;
    enum dg_http_method method;
    unsigned minor;        /* HTTP/1.minor: 0 or 1 */
    struct dg_span target; /* as sent */
    struct dg_span path;   /* percent-decoded UTF-8 */
    struct dg_span query;  /* raw; see target.h */
    struct dg_span host;   /* from the Host header or the absolute target */
    const struct dg_http_header *headers;
    unsigned n_headers;
    struct dg_span body;   /* complete when on_request is called */
    struct dg_span client; /* the client's address, e.g. "192.0.2.7"; set by the owner in on_head */
    struct dg_span public_host; /* the host that the client used, by a trusted proxy, else `host`;
                                   set by the owner */
    bool secure;            /* a trusted proxy reports that the client used TLS; set by the owner */
    bool is_private;        /* it came through a listener for administrators; set by the owner */
    struct dg_arena *arena; /* memory of this request */
    size_t body_max;        /* on_head may change it (never above SIZE_MAX / 2) */

    /* If on_head sets this, the body is not collected: this function is called with each piece as
     * it arrives, and `body` stays empty. It may answer the request; then the rest of the body is
     * discarded. */
    void (*on_data)(void *owner, struct dg_span piece);
    bool is_held; /* on_data cannot take more at the moment (see dg_http_hold) */

    void *owner;                  /* belongs to the answering side */
    void (*on_gone)(void *owner); /* if set, called when the connection ends before the answer is
                                   * complete; the request must not be used afterwards */
    void (*on_done)(void *owner); /* if set, called when the answer is complete */
    /* If set, called from dg_http_written when at most `stream_low` bytes of a streamed answer are
     * still unwritten, so that its producer knows when to make the next piece. */
    void (*on_room)(void *owner);
    size_t stream_low;
};

/* The first header of that name (case does not matter); ptr is NULL when there is none. */
struct dg_span dg_http_header(const struct dg_http_req *req, const char *name);

/* Whether a Host is well-formed (RFC 3986, section 3.2.2, without user names). */
bool dg_http_host_is_sane(struct dg_span host);

/* True when a comma-separated header value ("gzip, br;q=0.5") contains `token`, without q=0; other
 * parameters are ignored. */
bool dg_http_list_has(struct dg_span value, const char *token);

struct dg_http_events {
    /* The headers are complete, the body is not read yet. This function may answer at once; then
     * the body is not delivered and on_request not called. NULL is fine. */
    void (*on_head)(void *user, struct dg_http_req *req);
    /* The request is complete and waits for its answer. */
    void (*on_request)(void *user, struct dg_http_req *req);
    /* The whole body will take `bytes`, as far as is known. Returns false when there is no memory
     * for it at the moment; the machine then refuses the request with 503. Called once for a body
     * whose length the headers state, and repeatedly for a body that grows. NULL is fine. */
    bool (*on_body)(void *user, struct dg_http_req *req, size_t bytes);
    /* The machine itself has refused a request; `reason` is a sentence. This function may answer
     * with dg_http_reply, after which the connection ends; otherwise the machine sends a plain
     * text answer. NULL is fine. */
    void (*on_refused)(void *user, struct dg_http_req *req, int status, const char *reason);
    /* Output or the wish to close arose outside dg_http_feed. */
    void (*on_output)(void *user, struct dg_http *http);
};

/* NULL when there is no memory. Both pointers are borrowed. */
struct dg_http *dg_http_new(const struct dg_http_shared *shared,
                            const struct dg_http_events *events, void *user) DG_MUST_CHECK;
void dg_http_free(struct dg_http *http); /* NULL is fine; must not be called from an event */

/* The owner of the connection, for its own use; NULL until it is set. The functions of `events` get
 * the user, who need not be the owner. */
void dg_http_set_owner(struct dg_http *http, void *owner);
void *dg_http_owner(const struct dg_http *http);

/* Takes bytes from the peer and keeps what the machine needs of them. Once the machine wants to
 * close, it ignores them. */
void dg_http_feed(struct dg_http *http, const char *bytes, size_t len);

/* The peer will send no more. Finished answers are still written; a request that waits for its
 * answer counts as abandoned. */
void dg_http_eof(struct dg_http *http);

/* False while more input would only accumulate: stop reading from the socket. */
bool dg_http_wants_input(const struct dg_http *http);

/* The output to write, borrowed until the next call. */
struct dg_span dg_http_output(const struct dg_http *http);
/* Reports that `len` bytes of the output were written. */
void dg_http_written(struct dg_http *http, size_t len);

/* The memory of the buffers of input and output, and of the body, counted from when it is
 * announced. */
size_t dg_http_buffers(const struct dg_http *http, size_t *body);

/* Moves the output to `into`, for writes that complete later and are then reported by
 * dg_http_written. `into` is the caller's initialised, empty buffer, whose memory the machine takes
 * in exchange. */
void dg_http_take_output(struct dg_http *http, struct dg_buf *into);

/* Whether to close the connection once the output is written or, when *at_once, without writing it.
 */
bool dg_http_wants_close(const struct dg_http *http, bool *at_once);

/* True when no request is being read or answered. */
bool dg_http_is_idle(const struct dg_http *http);

/* Ends the connection after the current answer. Without one, waits `grace_ms` for a request that
 * may already be on its way. */
void dg_http_close_soon(struct dg_http *http, uint32_t grace_ms);

/* The time at which to call dg_http_expire; UINT64_MAX: never. */
uint64_t dg_http_deadline(const struct dg_http *http);
void dg_http_expire(struct dg_http *http);

/* Moves the body to `into`, the caller's initialised, empty buffer; req->body is empty afterwards.
 */
void dg_http_take_body(struct dg_http_req *req, struct dg_buf *into);

/* While a request is held, no more of its body is read from the socket: on_data still gets what has
 * been read before. Letting it go on continues the reading. */
void dg_http_hold(struct dg_http_req *req);
void dg_http_go_on(struct dg_http_req *req);

/* ---- Leaving HTTP ---------------------------------------------------------------------------- */

/* Answers `req` with 101 and the headers added so far (http_reply.h). From then on the connection
 * speaks another protocol: the machine takes no more input, and dg_http_rest has the bytes that
 * have already arrived. The request is gone. */
void dg_http_upgrade(struct dg_http_req *req);
struct dg_span dg_http_rest(const struct dg_http *http);

#endif
