/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The address where a server listens or a client connects: as people write it, and as the kernel
 * wants it.
 *
 *     127.0.0.1:8090    [::1]:8090    unix:/run/dragoman/socket
 *     localhost:8090    the same as 127.0.0.1:8090
 *
 *     struct dg_addr addr;
 *     err = dg_addr_parse(DG_SPAN("127.0.0.1:8090"), &addr);
 *     bind(fd, &addr.sa.any, addr.len);
 *
 * Addresses are numeric: nothing is looked up, so parsing never blocks and always gives the same
 * result. Port 0 lets the kernel choose. */
#ifndef DG_BASE_OPTION_ADDR_H
#define DG_BASE_OPTION_ADDR_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct dg_addr {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } sa;
    socklen_t len;
};

enum { DG_ADDR_TEXT_CAP = 128 }; /* room for any address as text, its NUL included */

/* DG_ERR_INVALID when the text has none of the forms above. */
enum dg_err dg_addr_parse(struct dg_span text, struct dg_addr *addr) DG_MUST_CHECK;

/* What is wrong with the text, as a clause such as "the port is missing"; NULL when nothing is. */
const char *dg_addr_fault(struct dg_span text);

/* Mirror of parse. Always NUL-terminated. */
void dg_addr_format(const struct dg_addr *addr, char text[DG_ADDR_TEXT_CAP]);

static inline bool dg_addr_is_unix(const struct dg_addr *addr)
{
    return addr->sa.any.sa_family == AF_UNIX;
}

#endif
