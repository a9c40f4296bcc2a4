/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SHA-1 (FIPS 180-4) of one short text, for the WebSocket handshake, which only proves that the
 * other side speaks WebSocket. Do not use it for security. None of the project's libraries has
 * SHA-1; libsodium omits it on purpose. Any thread. */
#ifndef DG_NET_PROTO_SHA1_H
#define DG_NET_PROTO_SHA1_H

#include "base/memory/span.h"

#include <stdint.h>

enum { DG_SHA1_BYTES = 20, DG_SHA1_TEXT_MAX = 512 };

/* `text` has at most DG_SHA1_TEXT_MAX bytes. */
void dg_sha1(struct dg_span text, uint8_t digest[DG_SHA1_BYTES]);

#endif
