/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading what a client sent, and writing what it gets: much of it on threads beside the loop,
 * since to parse 2 MB of JSON takes 40 ms.
 *
 *     static const struct dg_json_offload_fns fns = {.read = read, .go_on = go_on, .drop = drop};
 *     dg_json_offload_read(call, &fns, work);       a request's body; from here on the work belongs
 * to it, until go_on or drop
 *
 *     if (dg_json_offload_bytes(api, message, read, done, work))       anything else;
 *         dg_ws_hold(ws);                                       done comes later: until then
 * nothing else is looked at
 *
 *     dg_json_offload_write(api, size, write, wrote, job)              an answer of about so many
 * bytes
 *
 * Of what is much, the shortest is read and written first, and now and then the oldest; what one
 * socket or request has to say stays in order because the next is looked at when this one is done.
 * Loop's thread, but for `read` and `write` of much: there are several threads, none of which has
 * an order to another. */
#ifndef DG_API_HTTP_JSON_OFFLOAD_H
#define DG_API_HTTP_JSON_OFFLOAD_H

#include "api/http/call.h"
#include "base/memory/span.h"

/* Takes from the bytes what `work` needs; of anything else it may touch nothing but the api's
 * options. Returns OK, or fills `failure`, whose strings live as long as the work. */
typedef enum dg_err (*dg_json_offload_read_fn)(void *work, const struct dg_api *api,
                                               struct dg_span bytes, struct dg_failure *failure);

/* It was read; or not, and `failure` says why. */
typedef void (*dg_json_offload_done_fn)(void *work, enum dg_err err,
                                        const struct dg_failure *failure);

struct dg_json_offload_fns {
    dg_json_offload_read_fn read;
    void (*go_on)(void *work, struct dg_call *call); /* it was read */
    void (*drop)(void *work); /* it was not, which was answered, or the client has left */
};

void dg_json_offload_read(struct dg_call *call, const struct dg_json_offload_fns *fns, void *work);

/* Reads now and calls `done`: false. Or, when it is much, of a copy and later: true. `done` is
 * called in any case. */
bool dg_json_offload_bytes(const struct dg_api *api, struct dg_span bytes,
                           dg_json_offload_read_fn read, dg_json_offload_done_fn done, void *work);

/* Writes the answer; touches nothing but `work`, on which nobody else works meanwhile. */
typedef enum dg_err (*dg_json_offload_write_fn)(void *work, struct dg_buf *answer);

/* It is written, or there was no memory for it. The answer's memory may be taken. */
typedef void (*dg_json_offload_wrote_fn)(void *work, enum dg_err err, struct dg_buf *answer);

/* Writes now and calls `wrote`: false. Or, when it is much, later: true. `wrote` is called in any
 * case. */
bool dg_json_offload_write(const struct dg_api *api, size_t size, dg_json_offload_write_fn write,
                           dg_json_offload_wrote_fn wrote, void *work);

#endif
