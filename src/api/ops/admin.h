/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who may administer: the one place that decides it. A request that came in by the administrators'
 * socket may, and one with the key of an administrator. Who sits at this machine may look (GET)
 * without either, unless the option ops-loopback says no; so may whatever else is added to
 * dg_admin_allows. */
#ifndef DG_API_OPS_ADMIN_H
#define DG_API_OPS_ADMIN_H

#include "api/http/call.h"
#include "base/log/log.h"

bool dg_admin_allows(const struct dg_call *call);

/* Answers a call that was not allowed. */
void dg_admin_refuse(struct dg_call *call);

/* ---- What an administrator can have done
 * ----------------------------------------------------------- */

struct dg_admin_model {
    const char *name;
    const char *path;            /* NULL: one that is served already, from where it is */
    const char *source, *target; /* "": from the name */
};

typedef void (*dg_admin_loaded_fn)(void *owner, enum dg_err err, const struct dg_error *error);

/* By whoever holds the process together. Loop's thread. */
struct dg_admin_ops {
    /* on_loaded is called once, later, unless this fails. */
    enum dg_err (*load)(void *user, const struct dg_admin_model *model,
                        dg_admin_loaded_fn on_loaded, void *owner, struct dg_error *error);
    enum dg_err (*unload)(void *user, const char *name, struct dg_error *error);
    enum dg_log_level (*log_level)(void *user);
    void (*set_log_level)(void *user, enum dg_log_level level);
    void (*reload)(void *user); /* the configuration, as SIGHUP does */
    void (*drain)(void *user);  /* and end, as SIGTERM does; when this turn of the loop is over */
};

/* Borrowed. Until it is called there is nothing to administer. */
void dg_api_set_admin(struct dg_api *api, const struct dg_admin_ops *ops, void *user);

#endif
