/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds the client behind proxies. The client is the peer, unless that is a trusted proxy; then it
 * is the last address in X-Forwarded-For (or, without that, in Forwarded, RFC 7239) that is not
 * itself a trusted proxy. Anybody could have written the addresses before it.
 *
 *     dg_forwarded(req, peer, trusted, n_trusted, &client, &host, &secure);
 *
 * Pure; any thread. */
#ifndef DG_NET_LOOP_FORWARDED_H
#define DG_NET_LOOP_FORWARDED_H

#include "net/loop/address.h"
#include "net/proto/http.h"

/* *client is borrowed from `peer` or from the request. *host, borrowed from the request, is the
 * host that the nearest proxy was asked for (X-Forwarded-Host, or Forwarded's host), else the
 * request's own. *secure tells whether that proxy was reached over TLS (X-Forwarded-Proto, or
 * Forwarded's proto). */
void dg_forwarded(const struct dg_http_req *req, struct dg_span peer,
                  const struct dg_network *trusted, size_t n_trusted, struct dg_span *client,
                  struct dg_span *host, bool *secure);

#endif
