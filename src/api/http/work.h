/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A work: what a call waits for when its answer comes later. A route embeds it in its own struct
 * as the first member, and the work runs the course that all such routes have in common: the body
 * is read, the gate is passed, the route begins, and at the end the answer is written and the
 * route's struct freed. Large bodies are read, and long answers written, on other threads
 * (json_offload.h). The work alone knows whether the client is still there.
 *
 *     struct greeting {
 *         struct dg_work work;
 *         ...
 *     };
 *     static const struct dg_work_ops ops = {
 *         .read = read_names, .start = start, .leave = leave, .write = write, .free = free_it};
 *
 *     dg_work_run(call, &greeting->work, &ops);          the route's function; takes the work
 *
 * From there on one of these happens, and the work is freed exactly once:
 *
 *     read fails, or the gate refuses       the call is answered, the work freed
 *     start returns OK                      the work is under way, or has ended already
 *     start fails                           the call is answered, the work freed
 *     dg_work_finish, _give, _fail, _end    the work ends; the route calls one of them
 *     the client leaves
 *         while the work is read            it is freed when that is done
 *         while it waits at the gate        it is freed at once
 *         while it is under way             work->call becomes NULL, and `leave` is called
 *         while its answer is written       it is freed when that is done
 *
 * A route whose work comes from elsewhere (a file, a model that is loaded) uses dg_work_attach in
 * place of dg_work_run, and is under way at once. One thread, the loop's, except for `read` and
 * `write`. */
#ifndef DG_API_HTTP_WORK_H
#define DG_API_HTTP_WORK_H

#include "api/http/call.h"
#include "api/http/event_id.h"
#include "api/http/gate.h"
#include "api/http/json_offload.h"

#include <stdatomic.h>

struct dg_work;

/* Only `free` is required. A function that returns an error fills `failure`, whose strings live
 * as long as the work; if it does not, the general failure for that error is used. */
struct dg_work_ops {
    /* Takes from the body what the route needs, and sets work->wish. It may run on any thread,
     * so besides its own struct it may use only the api's options. */
    enum dg_err (*read)(struct dg_work *work, const struct dg_api *api, struct dg_span body,
                        struct dg_failure *failure);
    /* Called when the body was read, with the work detached: checks what needs the loop's
     * thread, and calls dg_work_pass, or ends the work. NULL: the work goes to the gate at once. */
    void (*on_read)(struct dg_work *work);
    /* Called when the work has passed the gate: begins it. */
    enum dg_err (*start)(struct dg_work *work, struct dg_failure *failure);
    /* Called when the client has left while the work was under way. It stops what is not worth
     * finishing and frees the work, either now (then it may be the same function as `free`) or
     * when the end of the work is reported. NULL: the work goes on to its end. */
    void (*leave)(struct dg_work *work);
    /* Writes the JSON of the answer, for dg_work_finish. It may run on any thread, so it may use
     * only its own struct. */
    enum dg_err (*write)(struct dg_work *work, struct dg_buf *json, struct dg_failure *failure);
    void (*free)(struct dg_work *work);
};

/* The state of a work, which decides what happens when its client leaves. */
enum dg_work_state {
    DG_WORK_DETACHED, /* no client can leave in this state, because the work ends or is passed on in
                         the same turn */
    DG_WORK_AT_GATE,  /* the work is freed */
    DG_WORK_UNDER_WAY, /* `leave` is called */
    DG_WORK_ON_THREAD, /* the work is freed when the thread has finished reading or writing */
};

struct dg_work {
    const struct dg_work_ops *ops;
    struct dg_call *call; /* NULL: the client has left, or was answered */
    struct dg_api *api;
    /* what the gate is asked for; all zeros: only the call itself is charged */
    struct dg_gate_wish wish;
    size_t n_shown; /* of a stream: characters whose translation was delivered, which stay charged
                       if it fails */
    bool is_stream; /* the answer is server-sent events (dg_work_begin_stream) */
    struct dg_event_ids ids; /* the ids of these events (dg_work_event_ids), or none */
    enum dg_work_state state;
    atomic_bool is_unwanted; /* the client has left: for a thread that has the work, and may stop */
    struct dg_failure failure; /* the failure of `read` or `write` */
};

/* Runs the course for this call. */
void dg_work_run(struct dg_call *call, struct dg_work *work, const struct dg_work_ops *ops);

/* Makes `work` what the call waits for, without reading or the gate: it is under way. */
void dg_work_attach(struct dg_call *call, struct dg_work *work, const struct dg_work_ops *ops);

/* Makes a detached work. The call may be NULL: then nobody waits. */
void dg_work_init(struct dg_work *work, struct dg_api *api, struct dg_call *call,
                  const struct dg_work_ops *ops);

/* Sends a detached work to the gate with work->wish, and then to `start`. */
void dg_work_pass(struct dg_work *work);

/* Asks how much quota the sender has left. The detached work waits meanwhile, and is then given to
 * `then`. */
void dg_work_peek(struct dg_work *work, dg_quota_fn then);

/* Marks the work as held by a thread. If the client leaves, work->call becomes NULL, and
 * work->is_unwanted, which the thread may read, becomes true. */
void dg_work_hold(struct dg_work *work);

/* For a route that answers its call itself: takes the work from the call, although work->call
 * still names it. The route answers in this turn and ends the work. Returns the call; NULL: the
 * client has left. */
struct dg_call *dg_work_detach(struct dg_work *work);

/* Gives the events of the answer ids, and leaves out those that the client saw before it came back:
 * the last of them is `seen` or, when that is empty, the one that the header Last-Event-ID names.
 * DG_ERR_NOMEM; DG_ERR_INVALID: that is not an id of such an answer. */
enum dg_err dg_work_event_ids(struct dg_work *work, struct dg_arena *arena, size_t n_texts,
                              struct dg_span seen, struct dg_error *error) DG_MUST_CHECK;

/* Begins an answer of server-sent events. From here on the end of the work is an event: "done" with
 * the JSON, or "error". */
void dg_work_begin_stream(struct dg_work *work);

/* Ends the work with what ops->write writes. If `size`, about the bytes that it writes or reads, is
 * `much` or more (DG_JSON_OFFLOAD_WRITTEN, DG_JSON_OFFLOAD_DETECTED), another thread writes. */
void dg_work_finish(struct dg_work *work, size_t size, size_t much);

/* Ends the work with this JSON, whose memory is taken if there is still a client. */
void dg_work_give(struct dg_work *work, struct dg_buf *json);

/* Ends the work with a failure. */
void dg_work_fail(struct dg_work *work, struct dg_failure failure);

/* Ends the work without an answer. Returns its call, which the caller answers; NULL: the client has
 * left. */
struct dg_call *dg_work_end(struct dg_work *work);

/* For gate.c: the work has passed the gate, or was refused there. */
void dg_work_passed(struct dg_work *work, const struct dg_failure *refusal);

/* For api.c: the client of the call has left. */
void dg_work_leave(struct dg_work *work);

#endif
