/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The opening handshake of a WebSocket (RFC 6455, section 4.2), on an HTTP request.
 *
 *     static const char *const protocols[] = {"dragoman.v1", NULL};
 *     int status = dg_ws_handshake(req, protocols, &chosen, &reason);
 *     if (status == 101) dg_http_upgrade(req);     the answer's headers are set
 *     else ...                                      400 or 426 with a sentence
 *
 * One thread. */
#ifndef DG_NET_PROTO_WS_HANDSHAKE_H
#define DG_NET_PROTO_WS_HANDSHAKE_H

#include "net/proto/http.h"

/* True when the request asks for a WebSocket. */
bool dg_ws_wanted(const struct dg_http_req *req);

/* Returns 101 on success. *chosen is the first of `protocols` (NULL-terminated; NULL for none) that
 * the client offers, or NULL when it offers none. An offer without any of ours is refused. */
int dg_ws_handshake(struct dg_http_req *req, const char *const *protocols, const char **chosen,
                    const char **reason);

/* The Sec-WebSocket-Accept of a key: 28 characters and a NUL. */
enum { DG_WS_ACCEPT_LEN = 28 };
void dg_ws_accept_key(struct dg_span key, char accept[DG_WS_ACCEPT_LEN + 1]);

#endif
