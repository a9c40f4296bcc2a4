/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The gate: who sent a request, may they, and what does it cost. The route table says which gate a
 * route has; api.c asks for most of it before the route's function is called.
 *
 * A route that works on texts has DG_GATE_TEXT and goes through by itself, when it has read its
 * body and before it begins to work:
 *
 *     call->work = job;
 *     call->on_gone = on_gone;                              the answer may take its time
 *     dg_gate_pass(call, &(struct dg_gate_wish){.key = ask->api_key, .characters = n, .request =
 * &ask->request, .arena = arena, .has_priority = ask->has_priority}, on_passed);
 *
 *     static void on_passed(void *work, const struct dg_failure *failure)
 *     {
 *         if (failure) { dg_call_fail(call, *failure); dg_job_drop(job); return; }
 *         ... begin ...
 *     }
 *
 * on_passed is called once, before dg_gate_pass returns or later, and not at all when the client
 * has left before. Counting needs no more: what is answered with 4xx counts as one request and no
 * characters (but a refusal by a limit is free), and what is answered with 5xx as nothing. A stream
 * that fails when some of it was delivered is charged for that.
 *
 * Where there is no call, as for a message on a WebSocket, a struct dg_charge is used by itself.
 * One thread: the loop's. */
#ifndef DG_API_HTTP_GATE_H
#define DG_API_HTTP_GATE_H

#include "access/access.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

struct dg_api;
struct dg_call;
struct dg_engine_request;
struct dg_failure;

enum dg_gate {
    DG_GATE_COUNT,  /* a key where keys are required; counts as a request before the route is called
                     */
    DG_GATE_TEXT,   /* the same, but the route calls dg_gate_pass, and the key may be in the body */
    DG_GATE_STREAM, /* a WebSocket: open to all who have no wrong key; its messages pass */
    DG_GATE_KEY,    /* a key where keys are required; does not count */
    DG_GATE_FORM, /* the same, but the key may be in the body, and the route calls dg_gate_admit */
    DG_GATE_OPEN, /* for everybody, and a wrong key does no harm */
};

/* Why somebody was turned away, for metrics. */
#define DG_REFUSALS(X)                                                                             \
    X(DG_REFUSAL_KEY_REQUIRED, "key_required")                                                     \
    X(DG_REFUSAL_KEY_INVALID, "key_invalid")                                                       \
    X(DG_REFUSAL_KEY_EXPIRED, "key_expired")                                                       \
    X(DG_REFUSAL_RATE_REQUESTS, "rate_requests")                                                   \
    X(DG_REFUSAL_RATE_CHARACTERS, "rate_characters")                                               \
    X(DG_REFUSAL_QUOTA, "quota")                                                                   \
    X(DG_REFUSAL_MODEL, "model")                                                                   \
    X(DG_REFUSAL_ADMIN, "admin")
enum dg_refusal {
#define DG_REFUSAL_ENUM(code, name) code,
    DG_REFUSALS(DG_REFUSAL_ENUM)
#undef DG_REFUSAL_ENUM
        DG_N_REFUSALS
};

struct dg_gate_wish {
    struct dg_span key;  /* of the body; "" when it has none. One in the headers goes before it */
    uint64_t characters; /* code points of the texts */
    struct dg_engine_request *request; /* gets the key's models and priority, and whose it is; NULL:
                                          nothing to translate */
    struct dg_arena *arena;            /* as long as the request; for the names of the models */
    bool has_priority;                 /* the client named one */
};

typedef void (*dg_gate_fn)(void *work, const struct dg_failure *failure);

/* One passage. Zeroed, it is none. */
struct dg_charge {
    struct dg_api *api;
    struct dg_call *call; /* whose answer gets the headers; NULL: nobody's */
    struct dg_who who;
    struct dg_quota_id id;
    struct dg_quota_ask options; /* what was asked for */
    struct dg_quota_ticket *ticket;
    bool is_waiting;
    bool is_taken;    /* and not given back */
    bool was_refused; /* at the gate, */
    bool is_free;     /* by a limit */
    bool *answered;   /* on the stack of whoever asks just now */
    dg_gate_fn then;
    dg_quota_fn then_look; /* of a peek */
    void *work;
};

/* ---- For api.c ----------------------------------------------------------------------------------
 */

/* Headers are read. False when it answered: the key is wrong, or needed and not to be expected any
 * more. */
bool dg_gate_head(struct dg_call *call);

/* The request is complete: calls the route's function, now or when the quota has answered. */
void dg_gate_request(struct dg_call *call);

/* The answer is complete (or, with 499, will never be). */
void dg_gate_end(struct dg_call *call, int status);

/* ---- For routes ---------------------------------------------------------------------------------
 */

/* With call->work as `work`. */
void dg_gate_pass(struct dg_call *call, const struct dg_gate_wish *wish, dg_gate_fn then);

/* For DG_GATE_FORM, with the key of the body, "" when it has none. False when it answered. */
bool dg_gate_admit(struct dg_call *call, struct dg_span key);

/* Of a request whose answer has begun and fails with what would have been this status. What was
 * delivered of it, in characters of its texts, stays charged. */
void dg_gate_refund(struct dg_call *call, int status, uint64_t n_delivered);

/* What is left to whoever sent it, taking nothing; with call->work as `work`, under the same
 * contract. */
void dg_gate_peek(struct dg_call *call, dg_quota_fn then);

/* Who sent it: a key's name, or "" (for those who own jobs and the like). */
const char *dg_gate_name(const struct dg_call *call);

/* The client that sent it, as the engine knows it (dg_jobs_client): a key, else an address. 0: an
 * administrator, or the admin socket. */
uint64_t dg_gate_client(const struct dg_call *call);

/* The address that it came from (dg_quota_address) where no key says whose it is; else "". */
struct dg_quota_id dg_gate_address(const struct dg_call *call);

/* An administrator's key was sent. */
bool dg_gate_is_admin(const struct dg_call *call);

/* "key_required", ...: reason `i` of DG_N_REFUSALS. */
const char *dg_gate_refusal_name(size_t i);

/* ---- Without a call -----------------------------------------------------------------------------
 */

/* `who` sent the message, or whoever the wish's key says. `client` is the address. */
void dg_charge_begin(struct dg_charge *charge, struct dg_api *api, const struct dg_who *who,
                     struct dg_span client, const struct dg_gate_wish *wish, dg_gate_fn then,
                     void *work);
void dg_charge_cancel(struct dg_charge *charge); /* `then` is not called any more */
/* What is owed to somebody whose request ended with this status: everything, the characters,
 * nothing. Where `n_delivered` characters were worked for and the work delivered, they stay
 * charged, and the request with them. */
void dg_charge_refund(struct dg_charge *charge, int status, uint64_t n_delivered);

/* dragoman_refusals_total and what else there is to count. */
enum dg_err dg_gate_put_metrics(const struct dg_api *api, struct dg_buf *buf) DG_MUST_CHECK;

#endif
