/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A call: one request on its way through the api, from the moment its headers are known until its
 * answer is complete. It lives in the request's arena. It gives the request an id, remembers the
 * work that answers it, and gives answers and errors of all routes the same form.
 *
 *     static void on_models(struct dg_call *call)
 *     {
 *         ... dg_call_json(call, 200, dg_buf_span(&buf));
 *     }
 *     return dg_call_fail(call, (struct dg_failure){.status = 400, .code = "bad_value",
 *                         .field = "beam", .message = error.text});
 *
 * Errors are {"error":{"code":...,"message":...,"field":...,"limit":...},"request_id":...}, with
 * "field" and "limit" only where they apply. Codes are stable; messages are for people. One thread:
 * the loop's. */
#ifndef DG_API_HTTP_CALL_H
#define DG_API_HTTP_CALL_H

#include "api/http/api.h"
#include "api/http/gate.h"
#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "net/proto/http.h"
#include "net/proto/http_reply.h"

struct dg_json_out;
struct dg_route;
struct dg_upload;
struct dg_call;
struct dg_failure;
struct dg_event_ids;
struct dg_work;

/* How a compatible API words what every route has to answer. A NULL member, or a NULL dialect,
 * stands for our own form. */
struct dg_dialect {
    const char *name;
    /* Answers a refused request. `failure->code` says why it was refused; this function chooses the
     * message and may choose another status. */
    void (*fail)(struct dg_call *call, const struct dg_failure *failure);
    void (*add_headers)(struct dg_call *call); /* adds headers besides the common ones; NULL: adds
                                                  none */
    const char *key_name; /* the name of the API key in a query string; NULL: keys are not sent
                             there */
    bool takes_array;     /* the body may be a JSON array (fields.h) */
};

enum { DG_CALL_ID_MAX = 64 };

struct dg_call {
    struct dg_api *api;
    struct dg_http_req *req;
    const struct dg_route *route;     /* NULL when no route matches */
    struct dg_span arg;               /* what "*" in the route's path matches */
    const struct dg_dialect *dialect; /* the route's dialect, until the body shows which API the
                                         client speaks; NULL: our own */
    char id[DG_CALL_ID_MAX + 1];

    struct dg_work *work; /* the work of a route that answers later (work.h); NULL: none */

    struct dg_charge charge; /* who sent the request, and what it cost (gate.h) */

    uint64_t started_ns;
    bool has_headers;       /* the common headers are already in the answer */
    struct dg_list upload;  /* linked in api->uploads if the body may be large */
    struct dg_upload *form; /* what has arrived of a form with a file (upload.h); NULL: the body is
                               no such form */
    struct dg_list events;  /* linked in api->event_streams if the answer is server-sent events */
    uint64_t events_bytes;  /* bytes of the answer when it was last looked at */
    unsigned quiet_s;       /* seconds for which the answer has not grown since then */
    struct dg_list body;    /* linked in api->bodies, with `body_bytes` of the memory for bodies */
    size_t body_bytes;
    uint64_t client; /* the client whom these bytes count for (dg_gate_client); set by
                        dg_body_memory_open */

    /* For the access log. */
    uint64_t tokens_in, tokens_out;
    uint64_t queue_us, compute_us;
};

enum { DG_CALL_QUIET_S = 15 };

struct dg_failure {
    int status;
    const char *code;    /* a stable code: "invalid_json", "missing_field", ... */
    const char *message; /* a sentence for people */
    const char *field;   /* the field of the request that is wrong; NULL for none */
    int64_t limit;       /* with has_limit: the largest value that would have been accepted */
    bool has_limit;
    const char *unit; /* the period of a limit that renews itself: "per 1 minute"; NULL for none */
    unsigned retry_after_s; /* seconds for the header Retry-After; 0: no such header */
};

/* 503, with Retry-After, for what cannot be known or changed because Redis does not answer. */
extern const struct dg_failure dg_call_redis_away;

/* Makes the call of a request; NULL when its arena is full. */
struct dg_call *dg_call_new(struct dg_api *api, struct dg_http_req *req);

/* Sends a whole JSON answer. */
void dg_call_json(struct dg_call *call, int status, struct dg_span json);
void dg_call_json_out(struct dg_call *call, int status, struct dg_json_out *out); /* ends `out`;
                                                                                     frees its
                                                                                     buffer */
void dg_call_json_give(struct dg_call *call, struct dg_buf *json); /* 200; takes the memory */
void dg_call_text(struct dg_call *call, int status, struct dg_span text);
void dg_call_reply(struct dg_call *call, int status, const char *type, struct dg_span body);
/* `member`: the same body as a gzip member, for clients that accept it */
void dg_call_reply_member(struct dg_call *call, int status, const char *type, struct dg_span body,
                          struct dg_span member);
void dg_call_fail(struct dg_call *call, struct dg_failure failure); /* in the call's dialect */
/* answers 503: this server lacks what the route needs */
void dg_call_no_model(struct dg_call *call);
void dg_call_no_memory(struct dg_call *call); /* 503, with Retry-After */

/* Answers, in our own form, when there is no memory even for an error message. */
void dg_call_fail_without_memory(struct dg_call *call);

/* Returns the owner of what this call makes: the name of its key, or "" without a key. Only the
 * owner and administrators see it. */
struct dg_span dg_call_owner(const struct dg_call *call);

/* Returns true if a browser says that a page of another origin sent the request. */
bool dg_call_is_foreign(const struct dg_call *call);

/* Returns whether a list for this caller contains an object of `owner` (the name of a key, or "")
 * that came from `client`. An object without an owner is listed only for the address that it came
 * from; others need its id. A page of another origin, which a browser at that address happens to
 * show, gets none of these, unless cors-origin names its origin. */
bool dg_call_lists(const struct dg_call *call, const char *owner, uint64_t client);

/* Adds the headers that every answer has, to answers that the functions above do not make. */
void dg_call_add_headers(struct dg_call *call);

/* Begins a streamed answer with the headers that every answer has. */
void dg_call_begin_stream(struct dg_call *call, const char *type);

/* Called once a second: sends a comment, which readers skip, on each stream of server-sent events
 * that has had nothing for DG_CALL_QUIET_S, so that no proxy takes it for dead. */
void dg_call_keep_streams(struct dg_api *api);

/* Send one server-sent event of such an answer, with its id (event_id.h); `name` and `ids` may be
 * NULL. Between open and send the caller writes the event's JSON, and sends nothing else. Without
 * memory for an event the connection ends, so that the client does not miss it unnoticed. If the
 * client has left, the work is told. */
void dg_call_event_open(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                        struct dg_json_out *out);
void dg_call_event_send(struct dg_call *call, struct dg_json_out *out);
void dg_call_event(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                   struct dg_span json);
void dg_call_event_failure(struct dg_call *call, const char *name, const struct dg_event_ids *ids,
                           const struct dg_failure *failure); /* the error object */

/* Notes the cost of the answer, for the access log. */
void dg_call_took(struct dg_call *call, uint64_t tokens_in, uint64_t tokens_out, uint64_t queue_ns,
                  uint64_t total_ns);

/* Answers {"NAME":[...]} with the items that `fill` writes, or 503 when there is no memory for
 * them. */
void dg_call_json_list(struct dg_call *call, const char *name,
                       void (*fill)(struct dg_call *call, struct dg_json_out *out));

/* Puts the members of a failure, code and message first, into an open object. */
void dg_call_put_failure(struct dg_json_out *out, const struct dg_failure *failure);

/* Puts a time in the form of the answers: milliseconds with three decimals. */
void dg_call_put_millis(struct dg_json_out *out, const char *key, uint64_t ns);

/* Appends only the error object to `buf` (for streams and WebSockets). */
enum dg_err dg_call_error_json(struct dg_buf *buf, const struct dg_failure *failure,
                               struct dg_span request_id) DG_MUST_CHECK;

#endif
