/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The gate decides who sent a request, whether they may send it, and what it costs. The route table
 * says which gate a route has; api.c does most of the work before it calls the route's function.
 *
 * A route that works on texts has DG_GATE_TEXT. Its work (work.h) calls dg_gate_pass itself, after
 * it has read the body and before it begins:
 *
 *     const struct dg_gate_wish wish = {.key = options->api_key, .characters = n,
 *                                       .request = &options->request, .arena = arena,
 *                                       .has_priority = options->has_priority};
 *     dg_gate_pass(call, &wish);
 *
 * dg_work_passed is called once, before dg_gate_pass returns or later; if the client leaves before
 * that, it is not called. The route does nothing more to be counted: an answer with 4xx counts as
 * one request and no characters (but a refusal by a limit is free), and an answer with 5xx as
 * nothing. A stream that fails after a part was delivered is charged for that part.
 *
 * Without a call, as for a message on a WebSocket, a struct dg_charge is used by itself.
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
    DG_GATE_COUNT, /* needs a key where keys are required; counts as a request before the route is
                      called */
    DG_GATE_TEXT,  /* as DG_GATE_COUNT, but the route calls dg_gate_pass, and the key may be in the
                      body */
    /* for a WebSocket: open unless the key is wrong; each message passes the gate */
    DG_GATE_STREAM,
    DG_GATE_KEY,  /* needs a key where keys are required; does not count as a request */
    DG_GATE_FORM, /* as DG_GATE_KEY, but the key may be in the body, and the route calls
                     dg_gate_admit */
    DG_GATE_OPEN, /* open to everybody, even with a wrong key */
};

/* The reasons for refusals, for metrics. */
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
    struct dg_span key;  /* the key in the body; "" when there is none. A key in the headers takes
                            precedence. */
    uint64_t characters; /* code points in the texts */
    struct dg_engine_request *request; /* receives the models and the priority that the key allows,
                                          and the client; NULL: there is nothing to translate */
    struct dg_arena *arena; /* for the names of the models; lives as long as the request */
    bool has_priority;      /* the client asked for a priority */
};

typedef void (*dg_gate_fn)(void *work, const struct dg_failure *failure);

/* One passage through the gate. All zeros: there has been none. */
struct dg_charge {
    struct dg_api *api;
    struct dg_call *call; /* the call whose answer gets the headers; NULL: none */
    struct dg_who who;
    struct dg_quota_id id;
    struct dg_quota_ask options; /* what the quota was asked for */
    struct dg_quota_ticket *ticket;
    bool is_waiting;
    bool is_taken;                  /* the quota is taken and not given back */
    char once[DG_QUOTA_ID_MAX + 1]; /* the name of its refund (struct dg_quota_ask); "": none */
    bool was_refused;               /* refused at the gate */
    bool is_free;                   /* refused by a limit; such a request costs nothing */
    bool *answered;                 /* points to the stack of the caller that is asking the quota */
    dg_gate_fn then;                /* called with the decision; NULL: the call goes on */
    dg_quota_fn then_look;          /* called with the result of a look at the quota */
    void *work;
};

/* ---- For api.c ------------------------------------------------------------------------------- */

/* Call it when the headers are read. False when it answered: the key is wrong, or a key is required
 * and the body cannot have one. */
bool dg_gate_head(struct dg_call *call);

/* Call it when the request is complete; it calls the route's function, now or when the quota has
 * answered. */
void dg_gate_request(struct dg_call *call);

/* Call it when the answer is complete (or, with 499, will never be). */
void dg_gate_end(struct dg_call *call, int status);

/* ---- For routes ------------------------------------------------------------------------------ */

/* Passes `call`: then its work goes on (dg_work_passed), or, if it has none, the route's
 * function is called. */
void dg_gate_pass(struct dg_call *call, const struct dg_gate_wish *wish);

/* For DG_GATE_FORM: `key` is the key from the body, or "". False: the call was answered. */
bool dg_gate_admit(struct dg_call *call, struct dg_span key);

/* Refunds a request that fails after its answer has begun. `status` is the status that the answer
 * would have had if it had not begun. The delivered part, `n_delivered` characters of the texts,
 * stays charged. */
void dg_gate_refund(struct dg_call *call, int status, uint64_t n_delivered);

/* Reports what quota the sender has left, taking nothing; `then` gets `work` and is called as by
 * dg_gate_pass. */
void dg_gate_peek(struct dg_call *call, dg_quota_fn then, void *work);

/* Returns the sender: a key's name, or "" (the owner of jobs and the like). */
const char *dg_gate_name(const struct dg_call *call);

/* Returns the sender as the engine's client (dg_jobs_client): a key, else an address. 0: an
 * administrator, or the admin socket. */
uint64_t dg_gate_client(const struct dg_call *call);

/* Returns the sender's address (dg_quota_address) if it sent no key; else "". */
struct dg_quota_id dg_gate_address(const struct dg_call *call);

/* Returns true when an administrator's key was sent, or the call came through the admin socket. */
bool dg_gate_is_admin(const struct dg_call *call);

/* Returns the name of reason `i` of DG_N_REFUSALS: "key_required", ... */
const char *dg_gate_refusal_name(size_t i);

/* ---- Without a call -------------------------------------------------------------------------- */

/* For a message that `who` sent, unless the wish has a key. `client` is the address. */
void dg_charge_begin(struct dg_charge *charge, struct dg_api *api, const struct dg_who *who,
                     struct dg_span client, const struct dg_gate_wish *wish, dg_gate_fn then,
                     void *work);
void dg_charge_cancel(struct dg_charge *charge); /* `then` is not called any more */

/* Refunds what a request that ended with this status should not have cost: everything, its
 * characters or nothing. If `n_delivered` characters were delivered, these and the request stay
 * charged. */
void dg_charge_refund(struct dg_charge *charge, int status, uint64_t n_delivered);

/* Appends dragoman_refusals_total and the gate's other metrics. */
enum dg_err dg_gate_put_metrics(const struct dg_api *api, struct dg_buf *buf) DG_MUST_CHECK;

#endif
