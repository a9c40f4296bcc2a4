/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A uv_async_t, which merges wake-ups by itself. */
#include "net/loop/waker.h"
#include "base/memory/mem.h"

struct dg_waker {
    uv_async_t async;
    void (*on_wake)(void *user);
    void *user;
};

static void on_async(uv_async_t *async)
{
    struct dg_waker *waker = async->data;
    waker->on_wake(waker->user);
}

enum dg_err dg_waker_open(uv_loop_t *loop, void (*on_wake)(void *user), void *user,
                          struct dg_error *error, struct dg_waker **waker)
{
    struct dg_waker *made = dg_xcalloc(1, sizeof *made);
    made->on_wake = on_wake;
    made->user = user;
    made->async.data = made;
    int code = uv_async_init(loop, &made->async, on_async);
    if (code != 0) {
        dg_free(made);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot make a waker: %s",
                            uv_strerror(code));
    }
    *waker = made;
    return DG_OK;
}

static void on_closed(uv_handle_t *handle)
{
    dg_free(handle->data);
}

void dg_waker_close(struct dg_waker *waker)
{
    if (waker)
        uv_close((uv_handle_t *)&waker->async, on_closed);
}

void dg_waker_wake(void *waker)
{
    uv_async_send(&((struct dg_waker *)waker)->async);
}
