/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET / and GET /page/NAME: the page for people, from the table of web_page.h; GET /ops: the one
 * for operators; GET /docs: the description of the API. Browsers ask each time whether a file has
 * changed and get 304 if it has not, so that an upgrade shows at once. The policy lets the page
 * load from this server alone; nobody may frame it. */
#include "api/http/web_page.h"
#include "api/http/api_int.h"

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void answer(struct dg_call *call, const struct dg_web_page_file *file)
{
    struct dg_span known = dg_http_header(call->req, "if-none-match");
    struct dg_span body = dg_span_make((const char *)file->bytes, file->len);
    struct dg_span member = dg_span_make((const char *)file->member, file->member_len);
    dg_http_reply_header(call->req, "ETag", dg_span_cstr(file->etag));
    dg_http_reply_header(call->req, "Cache-Control", DG_SPAN("no-cache"));
    dg_http_reply_header(call->req, "Content-Security-Policy", dg_span_cstr(policy));
    dg_http_reply_header(call->req, "X-Content-Type-Options", DG_SPAN("nosniff"));
    dg_http_reply_header(call->req, "Referrer-Policy", DG_SPAN("no-referrer"));
    if (dg_span_eq(known, dg_span_cstr(file->etag)))
        dg_call_reply(call, 304, NULL, (struct dg_span){NULL, 0});
    else
        dg_call_reply_member(call, 200, file->type, body, member);
}

void dg_api_page(struct dg_call *call)
{
    answer(call, &dg_web_page_files[0]);
}

static void answer_name(struct dg_call *call, struct dg_span name)
{
    for (size_t i = 0; i < dg_n_page_files; i++)
        if (dg_span_eq(name, dg_span_cstr(dg_web_page_files[i].name))) {
            answer(call, &dg_web_page_files[i]);
            return;
        }
    dg_call_fail(call, (struct dg_failure){.status = 404,
                                           .code = "not_found",
                                           .message = "The page has no such file."});
}

void dg_api_page_file(struct dg_call *call)
{
    answer_name(call, call->arg);
}

void dg_api_ops(struct dg_call *call)
{
    answer_name(call, DG_SPAN("ops.html"));
}

void dg_api_docs(struct dg_call *call)
{
    answer_name(call, DG_SPAN("docs.html"));
}

/* LibreTranslate's address: the page's links are relative to the one without a slash. */
void dg_api_docs_slash(struct dg_call *call)
{
    dg_http_reply_header(call->req, "Location", DG_SPAN("../docs"));
    dg_call_reply(call, 308, NULL, (struct dg_span){NULL, 0});
}
