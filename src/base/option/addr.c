/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Socket addresses to and from text, by inet_pton and inet_ntop. */
#include "base/option/addr.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>

/* The functions below return what is wrong, or NULL. */

static const char *parse_unix(struct dg_span path, struct dg_addr *addr)
{
    struct dg_addr out = {.len = sizeof out.sa.un};
    out.sa.un.sun_family = AF_UNIX;
    if (path.len == 0)
        return "the path after \"unix:\" is missing";
    if (path.len >= sizeof out.sa.un.sun_path)
        return "the path is longer than 107 bytes";
    if (memchr(path.ptr, 0, path.len))
        return "the path has a zero byte";
    memcpy(out.sa.un.sun_path, path.ptr, path.len);
    *addr = out;
    return NULL;
}

static const char *parse_port(struct dg_span text, uint16_t *port)
{
    uint32_t value = 0;
    if (text.len == 0)
        return "the port is missing";
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return "the port is not a number";
        value = i < 5 ? value * 10 + (uint32_t)(text.ptr[i] - '0') : UINT32_MAX;
    }
    *port = (uint16_t)value;
    return value <= UINT16_MAX ? NULL : "the port is larger than 65535 or too long";
}

/* `host` has no brackets; `family` is what the brackets imply. */
static const char *parse_host(struct dg_span host, int family, uint16_t port, struct dg_addr *addr)
{
    static const char no_ipv6[] = "what is between the brackets is not an IPv6 address";
    static const char no_ipv4[] =
        "the host is neither an IPv4 address nor localhost (other names are not looked up)";
    const char *fault = family == AF_INET6 ? no_ipv6 : no_ipv4;
    char text[INET6_ADDRSTRLEN];
    if (host.len == 0)
        return "the host before the port is missing";
    if (family == AF_INET && memchr(host.ptr, ':', host.len))
        return "an IPv6 address needs brackets";
    if (host.len >= sizeof text || memchr(host.ptr, 0, host.len))
        return fault;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';
    struct dg_addr out = {.len = 0};
    if (family == AF_INET6) {
        out.len = sizeof out.sa.in6;
        out.sa.in6.sin6_family = AF_INET6;
        out.sa.in6.sin6_port = htons(port);
        if (inet_pton(AF_INET6, text, &out.sa.in6.sin6_addr) != 1)
            return fault;
    } else {
        out.len = sizeof out.sa.in;
        out.sa.in.sin_family = AF_INET;
        out.sa.in.sin_port = htons(port);
        if (inet_pton(AF_INET, text, &out.sa.in.sin_addr) != 1)
            return fault;
    }
    *addr = out;
    return NULL;
}

static const char *parse(struct dg_span text, struct dg_addr *addr)
{
    if (dg_span_starts(text, DG_SPAN("unix:")))
        return parse_unix(dg_span_sub(text, 5, text.len), addr);
    size_t colon = text.len; /* the last one: IPv6 addresses have more */
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    uint16_t port = 0;
    if (colon == 0 || text.ptr[text.len - 1] == ']')
        return "the port is missing";
    const char *fault = parse_port(dg_span_sub(text, colon, text.len), &port);
    struct dg_span host = dg_span_sub(text, 0, colon - 1);
    if (fault)
        return fault;
    if (dg_span_eq(host, DG_SPAN("localhost")))
        return parse_host(DG_SPAN("127.0.0.1"), AF_INET, port, addr);
    if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        return parse_host(dg_span_sub(host, 1, host.len - 2), AF_INET6, port, addr);
    return parse_host(host, AF_INET, port, addr);
}

enum dg_err dg_addr_parse(struct dg_span text, struct dg_addr *addr)
{
    return parse(text, addr) ? DG_ERR_INVALID : DG_OK;
}

const char *dg_addr_fault(struct dg_span text)
{
    struct dg_addr addr;
    return parse(text, &addr);
}

void dg_addr_format(const struct dg_addr *addr, char text[DG_ADDR_TEXT_CAP])
{
    char host[INET6_ADDRSTRLEN] = "";
    switch (addr->sa.any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &addr->sa.in.sin_addr, host, sizeof host);
        snprintf(text, DG_ADDR_TEXT_CAP, "%s:%u", host, (unsigned)ntohs(addr->sa.in.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &addr->sa.in6.sin6_addr, host, sizeof host);
        snprintf(text, DG_ADDR_TEXT_CAP, "[%s]:%u", host, (unsigned)ntohs(addr->sa.in6.sin6_port));
        break;
    case AF_UNIX:
        snprintf(text, DG_ADDR_TEXT_CAP, "unix:%.*s", (int)sizeof addr->sa.un.sun_path,
                 addr->sa.un.sun_path);
        break;
    default:
        snprintf(text, DG_ADDR_TEXT_CAP, "?");
    }
}
