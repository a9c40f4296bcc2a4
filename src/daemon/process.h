/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the process may do: core dumps, open files, whose rights it has. Called by main while there
 * is one thread. */
#ifndef DG_DAEMON_PROCESS_H
#define DG_DAEMON_PROCESS_H

#include "base/memory/err.h"
#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Core dumps hold users' text: without `allow` the process is not dumpable and its limit is zero.
 */
enum dg_err dg_process_core_dumps(bool allow, struct dg_error *error) DG_MUST_CHECK;

/* Raises the number of open files to the hard limit and returns it: each connection is one. */
size_t dg_process_open_files(void);

struct dg_account {
    uid_t uid;
    gid_t gid;
    char name[65];
};

/* Looks the account up; DG_ERR_NOT_FOUND with a sentence. */
enum dg_err dg_process_account(const char *name, struct dg_account *account,
                               struct dg_error *error) DG_MUST_CHECK;

/* Gives `path` (a socket or log that we made as root) to the account; a missing file is no error.
 */
enum dg_err dg_process_hand_over(const char *path, const struct dg_account *account,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Becomes the account with its groups, for good: that there is no way back is verified. Being it
 * already is fine; otherwise this needs root. */
enum dg_err dg_process_become(const struct dg_account *account,
                              struct dg_error *error) DG_MUST_CHECK;

#endif
