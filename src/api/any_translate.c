/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate: half a dozen programs call this path their own. The fields tell whose words these are. */
#include "api/api_int.h"
#include "api/lt.h"

void dg_api_any_translate(struct dg_call *call)
{
    struct dg_relay *relay = dg_relay_new(call);
    if (!relay || !dg_relay_read(relay))
        return;
    dg_lt_translate(call, relay);
}
