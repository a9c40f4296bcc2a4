/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A call with a body is in api->bodies from the moment its body is admitted. That list is searched
 * only when half of the memory is taken: below that there is room for every client, whoever took
 * the rest. Half of the memory is kept for bodies: whatever else is held (by heads of requests, and
 * by answers that nobody reads) belongs to no client and counts as at most the other half, so that
 * many idle connections do not shut anybody out. */
#include "api/http/body_memory.h"
#include "api/http/api_int.h"
#include "api/http/client_share.h"

static const struct dg_allowance *buffers_of(const struct dg_call *call)
{
    const struct dg_allowance *buffers = call->api->opts.buffers;
    return buffers && buffers->max ? buffers : NULL;
}

/* Returns the memory that the bodies of one client take; for client 0, that of all clients. */
static uint64_t count(const struct dg_call *call, uint64_t client)
{
    uint64_t bytes = 0;
    const struct dg_list *all = &call->api->bodies;
    for (const struct dg_list *at = all->next; at != all; at = at->next) {
        const struct dg_call *other = DG_LIST_ITEM(at, struct dg_call, body);
        bytes += client == 0 || other->client == client ? other->body_bytes : 0;
    }
    return bytes;
}

/* Returns how much of the memory is taken; what does not belong to bodies counts as at most
 * half. */
static uint64_t taken_of(const struct dg_call *call, const struct dg_allowance *buffers)
{
    const uint64_t bodies = count(call, 0), most = buffers->max / 2 + bodies;
    return buffers->used < most ? buffers->used : most;
}

bool dg_body_memory_open(struct dg_call *call)
{
    const struct dg_allowance *buffers = buffers_of(call);
    if (!buffers)
        return true;
    call->client = dg_gate_client(call);
    /* Connections always hold some memory, so a client can get at most a little less than half. */
    const size_t most =
        call->client ? dg_client_share_of(buffers->max, buffers->max / 8, 0) : buffers->max;
    if (call->req->body_max > most)
        call->req->body_max = most;
    if (!call->client || call->route->gate == DG_GATE_OPEN || dg_allowance_left(buffers) > 0 ||
        taken_of(call, buffers) < buffers->max)
        return true;
    call->api->n_bodies_refused++;
    dg_call_fail(call,
                 (struct dg_failure){.status = 503,
                                     .code = "overloaded",
                                     .retry_after_s = 1,
                                     .message = "The memory for requests and answers under way "
                                                "(memory-limit) is used up; try again later."});
    return false;
}

static bool has_room(const struct dg_call *call, const struct dg_allowance *buffers, size_t more)
{
    if (more <= buffers->max / 2 && buffers->used <= buffers->max / 2 - more)
        return true;
    return dg_client_share_has_room(call->client, buffers->max, taken_of(call, buffers),
                                    count(call, call->client), more);
}

bool dg_body_memory_admit(struct dg_call *call, size_t bytes)
{
    const struct dg_allowance *buffers = buffers_of(call);
    if (!buffers)
        return true;
    const size_t more = bytes > call->body_bytes ? bytes - call->body_bytes : 0;
    if (!has_room(call, buffers, more)) {
        call->api->n_bodies_refused++;
        return false;
    }
    if (call->body_bytes == 0)
        dg_list_link_last(&call->api->bodies, &call->body);
    call->body_bytes += more;
    return true;
}

void dg_body_memory_end(struct dg_call *call)
{
    dg_list_unlink(&call->body);
    call->body_bytes = 0;
}
