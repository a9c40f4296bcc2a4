/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who may administer: whoever uses the socket, or a key whose role is admin. Who may look: clients
 * on this machine, too.
 *
 * A request must prove that it comes from this machine, because a reverse proxy next to the server
 * connects from 127.0.0.1, too, and so does a browser that a foreign page told to do so. It needs a
 * loopback address; no header that proxies add; HTTP/1.1, since the proxies that add no header
 * spoke HTTP/1.0 to their servers for a long time; a Host that names this machine, because it is
 * another name if a stranger has made one of his own lead here; and, if a browser sent it, our own
 * page as its origin. */
#include "api/ops/admin.h"
#include "api/http/api_int.h"
#include "api/http/gate.h"

static bool is_loopback(struct dg_span client)
{
    return dg_span_starts(client, DG_SPAN("127.")) || dg_span_eq(client, DG_SPAN("::1")) ||
           dg_span_starts(client, DG_SPAN("::ffff:127."));
}

static bool came_by_proxy(const struct dg_http_req *req)
{
    static const char *const headers[] = {"forwarded",         "via",
                                          "x-forwarded-for",   "x-forwarded-host",
                                          "x-forwarded-proto", "x-forwarded-server",
                                          "x-real-ip",         "x-client-ip",
                                          "cf-connecting-ip",  "true-client-ip"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (dg_http_header(req, headers[i]).ptr)
            return true;
    return req->minor == 0;
}

/* "localhost", "127.0.0.1" or "[::1]", with or without a port. */
static bool is_this_machine(struct dg_span host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct dg_span name = dg_span_cstr(names[i]);
        if (dg_span_starts(host, name) && (host.len == name.len || host.ptr[name.len] == ':'))
            return true;
    }
    return false;
}

static bool may_look(const struct dg_call *call)
{
    const struct dg_http_req *req = call->req;
    return call->api->opts.ops_loopback &&
           (req->method == DG_HTTP_GET || req->method == DG_HTTP_HEAD) &&
           !dg_who_has_key(&call->charge.who) && is_loopback(req->client) && !came_by_proxy(req) &&
           is_this_machine(req->host) && !dg_call_is_foreign(call);
}

bool dg_admin_allows(const struct dg_call *call)
{
    return dg_gate_is_admin(call) || may_look(call);
}

void dg_admin_refuse(struct dg_call *call)
{
    dg_call_fail(
        call,
        (struct dg_failure){
            .status = 403,
            .code = "admin_only",
            .message = "This is for administrators: use the admin socket or an admin's key."});
}
