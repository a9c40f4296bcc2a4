/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The right to administer: by the socket, or with a key whose role is admin. */
#include "api/admin.h"
#include "api/gate.h"

bool dg_admin_allows(const struct dg_call *call)
{
    return call->req->is_private || dg_gate_is_admin(call);
}

void dg_admin_refuse(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){.status = 403, .code = "admin_only",
                                           .message = "This is for administrators: use the admin socket or an admin's key."});
}
