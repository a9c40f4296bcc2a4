/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The internals of struct dg_http, shared by http.c (reading) and http_reply.c (answering). */
#ifndef DG_NET_PROTO_HTTP_INT_H
#define DG_NET_PROTO_HTTP_INT_H

#include "net/proto/http_guard.h"
#include "net/proto/http.h"
#include "net/proto/output.h"

#include <llhttp.h>

enum dg_http_phase {
    DG_HTTP_PHASE_IDLE,     /* between requests; nothing of the next one has come */
    DG_HTTP_PHASE_HEAD,     /* `in` holds the beginning of a head */
    DG_HTTP_PHASE_BODY,     /* reading the body, or discarding it (see `discard`) */
    DG_HTTP_PHASE_ANSWER,   /* the handler has the request */
    DG_HTTP_PHASE_UPGRADED, /* the connection speaks another protocol */
    DG_HTTP_PHASE_ENDED,    /* input is ignored; the rest of the output is still written */
};

struct dg_http {
    const struct dg_http_shared *shared;
    const struct dg_http_events *events;
    void *user;
    void *owner; /* see dg_http_set_owner */

    uint8_t phase;         /* enum dg_http_phase */
    bool processing;       /* inside process(): answers must not start another round */
    bool keep;             /* the connection survives the current answer */
    bool peer_done;        /* the peer sent its last byte */
    bool dead;             /* out of memory or stream limit: close without writing the rest */
    bool expects_continue; /* send "100 Continue" when the body is wanted */
    bool chunked_in;       /* the body comes in chunks */
    bool message_complete; /* llhttp has seen the end of the message */
    bool discard;          /* answered before the body was read: discard the rest of the body */
    bool lacks_room;       /* the body was refused by on_body */
    bool skipped_line;     /* the empty line that may precede a request was skipped */

    /* The answer. */
    bool has_req;     /* req is filled in; on_done or on_gone is still to be called */
    bool begun;       /* status line written */
    bool finished;    /* the answer is complete */
    bool chunked_out; /* the streamed answer is chunked */
    bool bodiless;    /* HEAD, 204, 304: the body is not sent */
    int status;
    uint64_t sent_bytes; /* of the answer's body, before compression */

    llhttp_t parser; /* of the current request */
    struct dg_http_guard_head head_guard;
    struct dg_http_guard_chunks chunk_guard;
    size_t head_scanned;  /* bytes of `in` that the head guard has seen */
    uint64_t body_left;   /* bytes that a body with Content-Length still lacks */
    size_t body_room;     /* bytes that the body may take (on_body) */
    uint64_t body_seen;   /* bytes of body received, chunk data only */
    uint64_t phase_since; /* shared->now_ms when the phase began */
    uint64_t deadline;    /* when the phase must end; UINT64_MAX: never */

    struct dg_buf in; /* input not consumed yet */
    struct dg_buf body;
    struct dg_buf extra; /* headers added to the answer */
    struct dg_output out;
    size_t largest;        /* largest part of a streamed answer since the output was last empty */
    struct dg_arena arena; /* of the current request */
    struct dg_http_req req;
    struct dg_http_header *headers; /* in the arena; what req.headers shows */
    unsigned headers_cap;
};

/* http_reply.c calls this before an answer begins: decides whether the connection survives it. */
void dg_http_answering(struct dg_http *http);

/* http_reply.c calls this when the answer is complete: continues with pipelined requests. */
void dg_http_answered(struct dg_http *http);

/* http_reply.c calls this when it has added output. */
void dg_http_tell_output(struct dg_http *http);

/* Ends the connection without another byte. */
void dg_http_kill(struct dg_http *http);

#endif
