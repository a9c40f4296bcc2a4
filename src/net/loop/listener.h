/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A socket that listens, on a borrowed libuv loop.
 *
 *     struct dg_listener_opts opts = {.backlog = 64, .on_accepted = take, .user = me};
 *     err = dg_listener_open(loop, &address, &opts, &error, &listener);
 *     ...
 *     dg_listener_close(listener);            freed when the loop has closed its handles
 *
 * When the process has no descriptor left for a connection, the listener gives up one that it holds
 * in reserve, accepts the connection with it, sends `refusal` and closes it. If that does not help,
 * because the whole system lacks descriptors or memory, the listener stops listening for
 * DG_LISTENER_PAUSE_MS, or until dg_listener_resume is called: connections wait in the backlog, and
 * the loop does not spin. (libuv's own listener calls accept again and again within one turn of the
 * loop as long as accept fails.)
 *
 * One thread: the loop's. */
#ifndef DG_NET_LOOP_LISTENER_H
#define DG_NET_LOOP_LISTENER_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "net/loop/address.h"

#include <stdbool.h>
#include <uv.h>

enum { DG_LISTENER_PAUSE_MS = 200 };

struct dg_listener;

struct dg_listener_opts {
    int backlog;
    unsigned unix_mode; /* permissions of a Unix socket */
    /* borrowed; sent to clients for whose connection no descriptor or no memory is left; may be
     * empty */
    struct dg_span refusal;
    /* The callee owns the descriptor, which does not block. */
    void (*on_accepted)(struct dg_listener *listener, int fd);
    /* A connection could not be accepted: what accept said in errno, and whether the client was
     * told. May be NULL. */
    void (*on_refused)(struct dg_listener *listener, int error, bool is_told);
    void *user; /* borrowed */
};

/* Read-only, except for `next` and `is_private`, which belong to the caller. */
struct dg_listener {
    struct dg_listener_opts opts;
    struct dg_listener *next;
    bool is_private;
    bool is_unix;
    char text[DG_ADDRESS_TEXT]; /* its address, with the port that it really has */

    /* internal */
    uv_poll_t poll;
    uv_timer_t timer;           /* runs while the listener has stopped */
    int fd, reserve;            /* owned; a reserve that was lost is -1 */
    int n_handles;              /* not closed yet */
    char path[DG_ADDRESS_TEXT]; /* of a Unix socket that it removes at the end */
};

/* Binds and listens. The path of a Unix socket must be free. Copies what it needs of `opts`. */
enum dg_err dg_listener_open(uv_loop_t *loop, const struct dg_address *address,
                             const struct dg_listener_opts *opts, struct dg_error *error,
                             struct dg_listener **listener) DG_MUST_CHECK;

/* Listens on a socket that is bound already, which it owns on success. */
enum dg_err dg_listener_adopt(uv_loop_t *loop, int fd, const struct dg_listener_opts *opts,
                              struct dg_error *error, struct dg_listener **listener) DG_MUST_CHECK;

/* Sends the refusal to the client of an accepted connection, and closes the connection. */
void dg_listener_refuse(const struct dg_listener *listener, int fd);

/* Call this when a descriptor has become free: accepts connections again if the listener had
 * stopped. */
void dg_listener_resume(struct dg_listener *listener);

/* Stops at once. Frees the listener in a later turn of the loop. NULL is fine. */
void dg_listener_close(struct dg_listener *listener);

#endif
