/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What --check-config tries beyond the options themselves: what a start would need on disk.
 *
 *     err = dg_check_start(set, &error);
 *
 * It reads the files of keys, secrets and certificates, looks whether the models' files can be read
 * and whether the folders that the server writes to exist or can be made. It makes nothing, listens
 * nowhere, loads no model and asks no Redis. It sees what the account sees that calls it, which
 * should therefore be the server's. DG_ERR_EXISTS: two models have the same name, a mistake in the
 * configuration; other errors name the option and the file. Any thread. */
#ifndef DG_DAEMON_CHECK_H
#define DG_DAEMON_CHECK_H

#include "base/memory/error.h"
#include "base/option/opt.h"

enum dg_err dg_check_start(const struct dg_opt_set *set, struct dg_error *error) DG_MUST_CHECK;

#endif
