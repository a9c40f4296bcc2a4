/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A connection to another server, of which we are the client: by name, address or Unix socket, and
 * through TLS if requested.
 *
 *     err = dg_outgoing_target_parse("redis.example:6379", &target, &error);
 *     link = dg_outgoing_open(loop, &target, tls, &ops, user, &n_lookups);       NULL: no memory
 *     ...                        ops->on_open, then on_bytes again and again; at the end on_end
 *     dg_outgoing_write(link, text);
 *     dg_outgoing_close(link);       no callback follows
 *
 * No callback is called before dg_outgoing_open has returned. There is no time limit: the owner
 * closes the connection when it has waited long enough. libuv's pool looks up names. One thread:
 * the loop's. */
#ifndef DG_NET_LOOP_OUTGOING_H
#define DG_NET_LOOP_OUTGOING_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "net/loop/tls.h"

#include <stdbool.h>
#include <uv.h>

enum { DG_OUTGOING_HOST = 256 };

struct dg_outgoing_target {
    bool is_unix;
    char host[DG_OUTGOING_HOST]; /* a name, an address, or the path of a Unix socket */
    unsigned port;
    char text[DG_OUTGOING_HOST + 16]; /* for people */
};

/* "HOST:PORT", "[ADDRESS]:PORT" or "unix:PATH"; DG_ERR_INVALID. */
enum dg_err dg_outgoing_target_parse(struct dg_span text, struct dg_outgoing_target *target,
                                     struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_outgoing_target_make(struct dg_span host, struct dg_span port,
                                    struct dg_outgoing_target *target,
                                    struct dg_error *error) DG_MUST_CHECK;

struct dg_outgoing;

struct dg_outgoing_ops {
    void (*on_open)(void *user);
    void (*on_bytes)(void *user, struct dg_span bytes); /* may close the link */
    void (*on_end)(void *user, const char *reason);     /* the last call; close the link */
};

/* `tls` (borrowed; NULL: none) is not used on a Unix socket. *n_lookups counts the name look-ups
 * under way, including those of closed links, because a resolver that hangs occupies a thread of
 * the pool. */
struct dg_outgoing *dg_outgoing_open(uv_loop_t *loop, const struct dg_outgoing_target *target,
                                     struct dg_tls *tls, const struct dg_outgoing_ops *ops,
                                     void *user, size_t *n_lookups);

/* Copies the text. DG_ERR_NOMEM; DG_ERR_CLOSED: the link is not open yet, or has ended. */
enum dg_err dg_outgoing_write(struct dg_outgoing *link, struct dg_span text) DG_MUST_CHECK;
void dg_outgoing_close(struct dg_outgoing *link); /* NULL is fine */

#endif
