/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The lists are read from their end, header line by header line, because each proxy appends. */
#include "net/loop/forwarded.h"
#include "base/memory/chars.h"

#include <strings.h>

static bool is_trusted(const struct dg_network *trusted, size_t n, struct dg_span address)
{
    for (size_t i = 0; i < n; i++)
        if (dg_network_has(&trusted[i], address))
            return true;
    return false;
}

static bool named(const struct dg_http_header *header, const char *name)
{
    return header->name.len == strlen(name) &&
           strncasecmp(header->name.ptr, name, strlen(name)) == 0;
}

/* The value of a parameter ("for=") in one element of Forwarded; ptr NULL when there is none. */
static struct dg_span parameter(struct dg_span element, const char *name)
{
    size_t name_len = strlen(name);
    while (element.len) {
        const char *semicolon = memchr(element.ptr, ';', element.len);
        size_t len = semicolon ? (size_t)(semicolon - element.ptr) : element.len;
        struct dg_span pair = dg_chars_trim(dg_span_sub(element, 0, len), " \t\"");
        if (pair.len > name_len && pair.ptr[name_len] == '=' &&
            strncasecmp(pair.ptr, name, name_len) == 0)
            return dg_chars_trim(dg_span_sub(pair, name_len + 1, pair.len), " \t\"");
        element = dg_span_sub(element, len + 1, element.len);
    }
    return (struct dg_span){NULL, 0};
}

/* The bare address in "1.2.3.4:567", "[::1]:8" or "::1"; empty when there is none. */
static struct dg_span bare_address(struct dg_span text)
{
    struct dg_span none = {NULL, 0};
    text = dg_chars_trim(text, " \t\"");
    if (text.len && text.ptr[0] == '[') {
        const char *end = memchr(text.ptr, ']', text.len);
        return end ? dg_span_make(text.ptr + 1, (size_t)(end - text.ptr) - 1) : none;
    }
    const char *colon = text.len ? memchr(text.ptr, ':', text.len) : NULL;
    if (colon && !memchr(colon + 1, ':', (size_t)(text.ptr + text.len - colon) - 1))
        text.len = (size_t)(colon - text.ptr); /* one colon: a port; more: IPv6 */
    return text;
}

static bool is_address(struct dg_span text)
{
    static const struct dg_network all_v6 = {.bits = 0};
    return !dg_span_eq(text, DG_SPAN("unix:")) && dg_network_has(&all_v6, text);
}

/* Cuts the last element off a comma-separated list; false when nothing is left. */
static bool cut_last(struct dg_span *list, struct dg_span *element)
{
    if (list->len == 0)
        return false;
    size_t start = list->len;
    while (start > 0 && list->ptr[start - 1] != ',')
        start--;
    *element = dg_span_sub(*list, start, list->len);
    list->len = start ? start - 1 : 0;
    return true;
}

/* The host that a proxy reports, if it is well-formed. */
static void take_host(struct dg_span told, struct dg_span *host)
{
    if (told.len && dg_http_host_is_sane(told))
        *host = told;
}

static void walk(const struct dg_http_req *req, const char *header, bool is_rfc7239,
                 const struct dg_network *trusted, size_t n_trusted, struct dg_span *client,
                 struct dg_span *host, bool *secure)
{
    bool first = true;
    for (unsigned i = req->n_headers; i-- > 0;) {
        if (!named(&req->headers[i], header))
            continue;
        struct dg_span list = req->headers[i].value, element;
        while (cut_last(&list, &element)) {
            if (is_rfc7239 && first) {
                struct dg_span proto = parameter(element, "proto");
                *secure = proto.len == 5 && strncasecmp(proto.ptr, "https", 5) == 0;
                take_host(parameter(element, "host"), host);
            }
            first = false;
            struct dg_span address = bare_address(is_rfc7239 ? parameter(element, "for") : element);
            if (!is_address(address))
                return; /* "unknown", an obfuscated name or rubbish: the last good one counts */
            *client = address;
            if (!is_trusted(trusted, n_trusted, address))
                return;
        }
    }
}

void dg_forwarded(const struct dg_http_req *req, struct dg_span peer,
                  const struct dg_network *trusted, size_t n_trusted, struct dg_span *client,
                  struct dg_span *host, bool *secure)
{
    struct dg_span hosts = dg_http_header(req, "x-forwarded-host"), last;
    *client = peer;
    *host = req->host;
    *secure = false;
    if (!is_trusted(trusted, n_trusted, peer))
        return;
    struct dg_span proto = dg_http_header(req, "x-forwarded-proto");
    *secure = proto.len == 5 && strncasecmp(proto.ptr, "https", 5) == 0;
    if (dg_http_header(req, "x-forwarded-for").ptr)
        walk(req, "x-forwarded-for", false, trusted, n_trusted, client, host, secure);
    else
        walk(req, "forwarded", true, trusted, n_trusted, client, host, secure);
    if (cut_last(&hosts, &last))
        take_host(dg_chars_trim(last, " \t\""), host);
}
