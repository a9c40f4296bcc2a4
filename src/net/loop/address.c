/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Textual addresses. IPv4 is compared as v4-mapped IPv6, so that a dual-stack listener's
 * "::ffff:10.1.2.3" lies in 10.0.0.0/8. */
#include "net/loop/address.h"

#include "base/option/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V4_OFFSET_BITS = 96 };

enum dg_err dg_address_parse(const char *text, struct dg_address *address, struct dg_error *error)
{
    struct dg_address found = {.is_unix = false};
    struct dg_addr addr;
    const char *fault = dg_addr_fault(dg_span_cstr(text));
    if (strlen(text) >= DG_ADDRESS_TEXT || dg_addr_parse(dg_span_cstr(text), &addr))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "read '%s'%s%s%s, expected ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH with a numeric "
            "address (names are not looked up) or a path of at most %zu bytes",
            text, fault ? " (" : "", fault ? fault : "", fault ? ")" : "",
            sizeof addr.sa.un.sun_path - 1);
    snprintf(found.text, sizeof found.text, "%s", text);
    found.is_unix = dg_addr_is_unix(&addr);
    if (found.is_unix)
        memcpy(found.path, addr.sa.un.sun_path, sizeof addr.sa.un.sun_path);
    else
        memcpy(&found.socket, &addr.sa, addr.len);
    *address = found;
    return DG_OK;
}

/* ---- Networks -------------------------------------------------------------------------------- */

/* Reads the 16 bytes of a textual address, and how many bits precede its own; false when it is not
 * an address. */
static bool parse_bytes(const char *text, uint8_t bytes[16], unsigned *offset_bits)
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    if (inet_pton(AF_INET, text, bytes + 12) == 1) {
        memcpy(bytes, mapped, sizeof mapped);
        *offset_bits = V4_OFFSET_BITS;
        return true;
    }
    *offset_bits = 0;
    return inet_pton(AF_INET6, text, bytes) == 1;
}

enum dg_err dg_network_parse(const char *text, struct dg_network *network, struct dg_error *error)
{
    struct dg_network found = {.bits = 128};
    if (strcmp(text, "unix:") == 0) {
        found.is_unix = true;
        *network = found;
        return DG_OK;
    }
    char host[DG_ADDRESS_TEXT];
    const char *slash = strchr(text, '/');
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    unsigned offset_bits = 0;
    bool good = len < sizeof host;
    if (good) {
        memcpy(host, text, len);
        host[len] = '\0';
        good = parse_bytes(host, found.bytes, &offset_bits);
    }
    if (good && slash) {
        size_t digits = strspn(slash + 1, "0123456789");
        long bits =
            digits > 0 && digits < 4 && !slash[1 + digits] ? strtol(slash + 1, NULL, 10) : -1;
        good = bits >= 0 && bits <= 128 - (long)offset_bits;
        found.bits = offset_bits + (unsigned)(good ? bits : 0);
    }
    if (!good)
        return dg_error_set(error, DG_ERR_INVALID,
                            "read '%s', expected an address, ADDRESS/BITS or unix:", text);
    *network = found;
    return DG_OK;
}

bool dg_network_has(const struct dg_network *network, struct dg_span address)
{
    if (dg_span_eq(address, DG_SPAN("unix:")) || network->is_unix)
        return dg_span_eq(address, DG_SPAN("unix:")) && network->is_unix;
    char text[DG_ADDRESS_TEXT];
    uint8_t bytes[16];
    unsigned offset_bits;
    if (address.len >= sizeof text)
        return false;
    memcpy(text, address.ptr ? address.ptr : "", address.len);
    text[address.len] = '\0';
    if (!parse_bytes(text, bytes, &offset_bits))
        return false;
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(bytes, network->bytes, whole) != 0)
        return false;
    return rest == 0 || ((bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}
