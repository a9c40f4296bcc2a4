/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The windows, and addresses as ids. An IPv4 address in an IPv6 one (::ffff:192.0.2.7) is the IPv4
 * address. */
#include "access/quota.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { V4_AT = 12, NETWORK_BYTES = 8 };

const struct dg_quota_about dg_quota_windows[DG_QUOTA_WINDOWS] = {
    [DG_QUOTA_REQUESTS] = {"requests", "requests_per_minute", "per 1 minute", 60, true},
    [DG_QUOTA_CHARACTERS] = {"characters", "characters_per_minute", "characters per 1 minute", 60,
                             false},
    [DG_QUOTA_HOUR] = {"requests-hour", "requests_per_hour", "per 1 hour", 3600, true},
    [DG_QUOTA_DAY] = {"requests-day", "requests_per_day", "per 1 day", 86400, true},
    [DG_QUOTA_MONTH] = {"month", "characters_per_month", "characters per 1 month", 30 * 86400,
                        false},
};

bool dg_quota_is_limited(const struct dg_quota_ask *ask)
{
    for (int w = 0; w < DG_QUOTA_FLOWING; w++)
        if (ask->limits[w])
            return true;
    return false;
}

struct dg_quota_id dg_quota_address(struct dg_span client)
{
    static const unsigned char mapped[V4_AT] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct dg_quota_id id = {""};
    unsigned char v6[16];
    size_t len = client.len < DG_QUOTA_ID_MAX ? client.len : DG_QUOTA_ID_MAX;
    if (len)
        memcpy(id.text, client.ptr, len);
    if (inet_pton(AF_INET6, id.text, v6) != 1)
        return id;
    memset(id.text, 0, sizeof id.text);
    if (memcmp(v6, mapped, V4_AT) == 0) {
        inet_ntop(AF_INET, v6 + V4_AT, id.text, sizeof id.text);
        return id;
    }
    memset(v6 + NETWORK_BYTES, 0, sizeof v6 - NETWORK_BYTES);
    inet_ntop(AF_INET6, v6, id.text, sizeof id.text - sizeof "/64");
    snprintf(id.text + strlen(id.text), sizeof "/64", "/64");
    return id;
}
