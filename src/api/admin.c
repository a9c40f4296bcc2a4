/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The right to administer. */
#include "api/admin.h"

bool dg_admin_allows(const struct dg_call *call)
{
    return call->req->is_private;
}

void dg_admin_refuse(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){.status = 403, .code = "admin_only",
                                           .message = "This is for administrators: use the admin socket."});
}
