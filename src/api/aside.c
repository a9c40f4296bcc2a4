/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The body is copied for the thread: the request's own goes with its connection. */
#include "api/aside.h"
#include "api/api_int.h"
#include "base/mem.h"

#include <string.h>

enum { MUCH = 64 * 1024 /* bytes of JSON: about 1 ms */ };

struct reading {
    struct dg_task task;
    struct dg_call *call; /* NULL when the client has left */
    const struct dg_api *api;
    const struct dg_aside_fns *fns;
    void *work;
    struct dg_failure failure;
    enum dg_err err;
    size_t len;
    char body[]; /* [len] */
};

static void settle(struct dg_call *call, const struct dg_aside_fns *fns, void *work, enum dg_err err,
                   const struct dg_failure *failure)
{
    if (!err) {
        fns->go_on(work, call);
        return;
    }
    dg_call_fail(call, *failure);
    fns->drop(work);
}

static void run(struct dg_task *task)
{
    struct reading *reading = (struct reading *)task;
    reading->err = reading->fns->read(reading->work, reading->api, dg_span_make(reading->body, reading->len),
                                      &reading->failure);
}

static void on_done(struct dg_task *task)
{
    struct reading *reading = (struct reading *)task;
    struct dg_call *call = reading->call;
    if (call) {
        call->on_gone = NULL;
        settle(call, reading->fns, reading->work, reading->err, &reading->failure);
    } else {
        reading->fns->drop(reading->work);
    }
    dg_free(reading);
}

static void on_gone(void *owner)
{
    struct reading *reading = owner;
    reading->call = NULL;
}

/* False: it has to be read here. */
static bool is_put_aside(struct dg_call *call, const struct dg_aside_fns *fns, void *work)
{
    struct dg_span body = call->req->body;
    if (body.len < MUCH || !call->api->readers)
        return false;
    struct reading *reading = dg_try_malloc(sizeof *reading + body.len);
    if (!reading)
        return false;
    *reading = (struct reading){.call = call, .api = call->api, .fns = fns, .work = work, .len = body.len};
    memcpy(reading->body, body.ptr, body.len);
    if (dg_offload_submit(call->api->readers, &reading->task, run, on_done)) {
        dg_free(reading);
        return false;
    }
    call->work = reading;
    call->on_gone = on_gone;
    return true;
}

void dg_aside_read(struct dg_call *call, const struct dg_aside_fns *fns, void *work)
{
    struct dg_failure failure = {.status = 500};
    if (is_put_aside(call, fns, work))
        return;
    enum dg_err err = fns->read(work, call->api, call->req->body, &failure);
    settle(call, fns, work, err, &failure);
}
