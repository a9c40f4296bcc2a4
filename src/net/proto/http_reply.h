/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Answers to HTTP requests.
 *
 *     dg_http_reply_header(req, "X-Request-Id", id);                 any number, first
 *     dg_http_reply(req, 200, "application/json", body);             a whole answer, or ...
 *
 *     dg_http_reply_begin(req, 200, "text/event-stream");            ... a streamed one
 *     err = dg_http_reply_write(req, part);                          as often as wanted
 *     dg_http_reply_end(req);
 *
 * After dg_http_reply or dg_http_reply_end the request is gone. When memory runs out, the
 * connection ends and the request's on_gone is called later, never from inside these calls; so the
 * caller need only check the back-pressure of a stream. These functions take care of Content-Length
 * or chunks, HEAD, gzip, keep-alive and Date. One thread: the machine's. */
#ifndef DG_NET_PROTO_HTTP_REPLY_H
#define DG_NET_PROTO_HTTP_REPLY_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "net/proto/http.h"

/* Adds a header to the answer; the value must not hold CR, LF or NUL (they become spaces). */
void dg_http_reply_header(struct dg_http_req *req, const char *name, struct dg_span value);

/* Sends a whole answer; copies the body. `type` may be NULL when the body is empty. */
void dg_http_reply(struct dg_http_req *req, int status, const char *type, struct dg_span body);
/* The same for a caller that also has the body as a gzip member, which is sent to clients that
 * accept gzip. */
void dg_http_reply_member(struct dg_http_req *req, int status, const char *type,
                          struct dg_span body, struct dg_span member);
/* The same for large bodies: takes the body's memory. */
void dg_http_reply_give(struct dg_http_req *req, int status, const char *type, struct dg_buf *body);

/* Begins a streamed answer: chunked, or for HTTP/1.0 ended by closing the connection. */
void dg_http_reply_begin(struct dg_http_req *req, int status, const char *type);

/* DG_ERR_LIMIT: the client does not read, so the stream was ended. DG_ERR_NOMEM. DG_ERR_CLOSED: an
 * earlier call failed. An empty part writes nothing. */
enum dg_err dg_http_reply_write(struct dg_http_req *req, struct dg_span part);
enum dg_err dg_http_reply_write_give(struct dg_http_req *req, struct dg_buf *part); /* takes its
                                                                                       memory */
void dg_http_reply_end(struct dg_http_req *req);

/* Aborts a streamed answer: the connection ends without the last chunk, so the client notices. */
void dg_http_reply_abort(struct dg_http_req *req);

/* True when an answer to `req` has begun. */
bool dg_http_reply_begun(const struct dg_http_req *req);

/* The status of the answer; 0 before it has begun. For the access log, in on_done. */
int dg_http_reply_status(const struct dg_http_req *req);
/* Bytes of the answer's body so far, before compression. */
uint64_t dg_http_reply_bytes(const struct dg_http_req *req);

/* "OK", "Not Found", ...; "Status" for an unknown status. */
const char *dg_http_reason(int status);

#endif
