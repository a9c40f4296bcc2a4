/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who may administer: the one place that decides it. A request that came in by the administrators' socket
 * may, and one with the key of an administrator; so may whatever else is added to dg_admin_allows. */
#ifndef DG_API_ADMIN_H
#define DG_API_ADMIN_H

#include "api/call.h"

bool dg_admin_allows(const struct dg_call *call);

/* Answers a call that was not allowed. */
void dg_admin_refuse(struct dg_call *call);

#endif
