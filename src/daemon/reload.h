/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the configuration again in a running process. Options that may change get their new values;
 * a change of any other option is logged and has no effect; a configuration with a mistake changes
 * nothing.
 *
 *     err = dg_reload(argc, argv, environ, live, log, &error, &fresh);
 *     ... apply dg_opt_values(fresh), free `live` ... */
#ifndef DG_DAEMON_RELOAD_H
#define DG_DAEMON_RELOAD_H

#include "base/log/log.h"
#include "base/option/opt.h"

/* `live` stays as it is; *fresh is a set with the values that hold from now on. */
enum dg_err dg_reload(int argc, char *const *argv, char *const *env, const struct dg_opt_set *live,
                      struct dg_log *log, struct dg_error *error,
                      struct dg_opt_set **fresh) DG_MUST_CHECK;

#endif
