/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Addresses to listen on, and networks of trusted proxies.
 *
 *     struct dg_address address;
 *     err = dg_address_parse("127.0.0.1:8090", &address, &error);
 *                                              also "[::1]:8090", "unix:/run/d.sock"
 *
 *     struct dg_network network;
 *     err = dg_network_parse("10.0.0.0/8", &network, &error);       also "::1", "unix:"
 *     if (dg_network_has(&network, text)) ...                     text: "10.1.2.3"
 *
 * Addresses are numeric; names are not looked up. Value types; any thread. */
#ifndef DG_NET_LOOP_ADDRESS_H
#define DG_NET_LOOP_ADDRESS_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { DG_ADDRESS_TEXT = 128 };

struct dg_address {
    struct sockaddr_storage socket; /* a TCP address */
    bool is_unix;
    char path[DG_ADDRESS_TEXT]; /* the path of a Unix socket */
    char text[DG_ADDRESS_TEXT]; /* for people: "127.0.0.1:8090" */
};

enum dg_err dg_address_parse(const char *text, struct dg_address *address,
                             struct dg_error *error) DG_MUST_CHECK;

struct dg_network {
    uint8_t bytes[16]; /* v4 as ::ffff:a.b.c.d */
    unsigned bits;     /* prefix length, of 128 */
    bool is_unix;      /* all peers of the Unix socket */
};

enum dg_err dg_network_parse(const char *text, struct dg_network *network,
                             struct dg_error *error) DG_MUST_CHECK;

/* Whether the address (as text; "unix:" for a Unix socket's peer) lies in the network. */
bool dg_network_has(const struct dg_network *network, struct dg_span address);

#endif
