/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading a request's body: a large one on a thread beside the loop, since to parse 2 MB of JSON takes 40 ms.
 *
 *     static const struct dg_aside_fns fns = {.read = read, .go_on = go_on, .drop = drop};
 *     dg_aside_read(call, &fns, work);       from here on the work belongs to it, until go_on or drop
 *
 * Loop's thread, but for `read` of a large body. */
#ifndef DG_API_ASIDE_H
#define DG_API_ASIDE_H

#include "api/call.h"
#include "base/span.h"

struct dg_aside_fns {
    /* Takes from the body what `work` needs; of anything else it may touch nothing but the api's options. Returns OK, or
     * fills `failure`, whose strings live as long as the work. */
    enum dg_err (*read)(void *work, const struct dg_api *api, struct dg_span body, struct dg_failure *failure);
    void (*go_on)(void *work, struct dg_call *call); /* it was read */
    void (*drop)(void *work); /* it was not, which was answered, or the client has left */
};

void dg_aside_read(struct dg_call *call, const struct dg_aside_fns *fns, void *work);

#endif
