/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How much one client may have of what is limited: places for jobs, documents and glossaries, their
 * bytes, uploads. It is half of what the others leave, so that a part is always left for one more
 * client.
 *
 *     if (own + 1 > dg_client_share_of(n_max, n, own)) ... there is no room for this client ...
 * Client 0 (the admin socket, an administrator) may have all. */
#ifndef DG_API_HTTP_CLIENT_SHARE_H
#define DG_API_HTTP_CLIENT_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Returns how much a client may have in total: of `max`, `all` are taken, `own` of them by this
 * client. */
static inline uint64_t dg_client_share_of(uint64_t max, uint64_t all, uint64_t own)
{
    const uint64_t others = all > own ? all - own : 0;
    return max > others ? (max - others + 1) / 2 : 0;
}

/* Returns whether the client may have `more`, within its share and within `max`. */
static inline bool dg_client_share_has_room(uint64_t client, uint64_t max, uint64_t all,
                                            uint64_t own, uint64_t more)
{
    const uint64_t free = max > all ? max - all : 0;
    return more <= free && (client == 0 || own + more <= dg_client_share_of(max, all, own));
}

#endif
