/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Decides who may administer the server. A request may if it came through the administrators'
 * socket or has the key of an administrator. A client on this machine may look (GET) without
 * either, unless the option ops-loopback forbids it. */
#ifndef DG_API_OPS_ADMIN_H
#define DG_API_OPS_ADMIN_H

#include "api/http/call.h"
#include "base/log/log.h"

bool dg_admin_allows(const struct dg_call *call);

/* Answers a call that was not allowed. */
void dg_admin_refuse(struct dg_call *call);

/* ---- The administrator's operations ---------------------------------------------------------- */

struct dg_admin_model {
    const char *name;
    const char *path; /* NULL: a model that is already served is loaded again from its path */
    const char *source, *target; /* "": taken from the name */
};

typedef void (*dg_admin_loaded_fn)(void *owner, enum dg_err err, const struct dg_error *error);

/* Implemented by the process. Loop's thread. */
struct dg_admin_ops {
    /* Calls on_loaded once, later, unless this function fails. */
    enum dg_err (*load)(void *user, const struct dg_admin_model *model,
                        dg_admin_loaded_fn on_loaded, void *owner, struct dg_error *error);
    enum dg_err (*unload)(void *user, const char *name, struct dg_error *error);
    enum dg_log_level (*log_level)(void *user);
    void (*set_log_level)(void *user, enum dg_log_level level);
    void (*reload)(void *user); /* reloads the configuration, as SIGHUP does */
    void (*drain)(void *user);  /* drains and ends the process, as SIGTERM does, after this turn of
                                   the loop */
};

/* `ops` is borrowed. Before this call the administrator's operations do not exist. */
void dg_api_set_admin(struct dg_api *api, const struct dg_admin_ops *ops, void *user);

#endif
