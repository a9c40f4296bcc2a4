/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The limits and rights of the process: core dumps, open files, its account. Called by main while
 * there is only one thread. */
#ifndef DG_DAEMON_PROCESS_H
#define DG_DAEMON_PROCESS_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Core dumps contain users' text: without `allow` the process is made undumpable, with a core limit
 * of zero. */
enum dg_err dg_process_core_dumps(bool allow, struct dg_error *error) DG_MUST_CHECK;

/* Raises the limit of open files to the hard limit and returns it: each connection needs one. */
size_t dg_process_open_files(void);

struct dg_account {
    uid_t uid;
    gid_t gid;
    char name[65];
};

/* Looks the account up; DG_ERR_NOT_FOUND with a sentence. */
enum dg_err dg_process_account(const char *name, struct dg_account *account,
                               struct dg_error *error) DG_MUST_CHECK;

/* Gives `path` (a socket or log that we made as root) to the account; a missing file is not an
 * error.
 */
enum dg_err dg_process_hand_over(const char *path, const struct dg_account *account,
                                 struct dg_error *error) DG_MUST_CHECK;

/* Switches to the account and its groups for good, and verifies that there is no way back. Needs
 * root, unless the process has the account already. */
enum dg_err dg_process_become(const struct dg_account *account,
                              struct dg_error *error) DG_MUST_CHECK;

#endif
