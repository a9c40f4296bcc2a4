/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reload of the options; the log reports the outcome of each change. */
#include "daemon/reload.h"

#include "daemon/keys.h"
#include "daemon/options.h"

static void log_change(void *ctx, const struct dg_opt_change *change)
{
    const struct dg_log_field fields[] = {
        dg_log_str("option", change->row ? change->row->name : change->section),
        dg_log_str("was", change->was),
        dg_log_str("now", change->now),
    };
    dg_log_event(ctx, change->allowed ? DG_LOG_NOTICE : DG_LOG_WARNING, "daemon", fields,
                 sizeof fields / sizeof *fields, "%s",
                 change->allowed ? "option changed"
                                 : "option change needs a restart; the old value stays");
}

enum dg_err dg_reload(int argc, char *const *argv, char *const *env, const struct dg_opt_set *live,
                      struct dg_log *log, struct dg_error *error, struct dg_opt_set **fresh)
{
    struct dg_opt_set *set = NULL;
    enum dg_err err = dg_options_read(argc, argv, env, error, &set);
    if (!err)
        err = dg_keys_check_reload(live, set, error);
    if (!err)
        err = dg_opt_compare(live, set, log_change, log);
    if (!err)
        err = dg_opt_keep_fixed(live, set);
    if (err) {
        dg_opt_set_free(set);
        return err;
    }
    *fresh = set;
    return DG_OK;
}
