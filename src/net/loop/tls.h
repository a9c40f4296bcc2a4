/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The client's side of TLS over memory: bytes in, bytes out, no sockets.
 *
 *     err = dg_tls_new(&opts, &error, &tls);               files are read now
 *     err = dg_tls_session_new(tls, "redis.example", &session);
 *     err = dg_tls_session_feed(session, received);        what the socket brought
 *     err = dg_tls_session_read(session, bytes, cap, &n, &error);      n is 0: no more for now
 *     err = dg_tls_session_write(session, text, &error);   once dg_tls_session_is_open
 *     struct dg_span out = dg_tls_session_output(session); what the socket is to take; after each
 *     dg_tls_session_sent(session);                        of these calls
 *
 * At least version 1.2. The server must present a certificate from an authority that we trust, for
 * the name or address to which we connect. OpenSSL does the work. One thread for each session. */
#ifndef DG_NET_LOOP_TLS_H
#define DG_NET_LOOP_TLS_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

struct dg_tls;
struct dg_tls_session;

struct dg_tls_opts {
    const char *ca_file;          /* PEM; "": the authorities that the system trusts */
    const char *certificate_file; /* PEM; ours, then intermediate ones; "": none */
    const char *key_file;         /* PEM, of that certificate */
};

/* False in a build without OpenSSL, where dg_tls_new returns DG_ERR_UNSUPPORTED. */
bool dg_tls_is_built(void);

enum dg_err dg_tls_new(const struct dg_tls_opts *opts, struct dg_error *error,
                       struct dg_tls **tls) DG_MUST_CHECK;
void dg_tls_free(struct dg_tls *tls); /* NULL is fine */

/* `host`: a name or an address. DG_ERR_NOMEM. */
enum dg_err dg_tls_session_new(struct dg_tls *tls, const char *host,
                               struct dg_tls_session **session) DG_MUST_CHECK;
void dg_tls_session_free(struct dg_tls_session *session); /* NULL is fine */

/* The handshake is done. */
bool dg_tls_session_is_open(const struct dg_tls_session *session);

/* DG_ERR_CLOSED: the other side has ended it; DG_ERR_INTEGRITY: it cannot go on, and `error` says
 * why; DG_ERR_NOMEM. */
enum dg_err dg_tls_session_feed(struct dg_tls_session *session,
                                struct dg_span received) DG_MUST_CHECK;
enum dg_err dg_tls_session_read(struct dg_tls_session *session, char *bytes, size_t cap, size_t *n,
                                struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_tls_session_write(struct dg_tls_session *session, struct dg_span text,
                                 struct dg_error *error) DG_MUST_CHECK;

struct dg_span dg_tls_session_output(struct dg_tls_session *session);
void dg_tls_session_sent(struct dg_tls_session *session);

#endif
