/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The frame of a sub-command: it reads the options, does the work, flushes standard output, and
 * prints one sentence on stderr when something failed.
 *
 *     int dg_cmd_detect(int argc, char **argv)
 *     {
 *         return dg_command(&table, argc, argv, run);
 *     }
 */
#ifndef DG_TOOLS_COMMAND_H
#define DG_TOOLS_COMMAND_H

#include "base/memory/error.h"
#include "base/option/opt.h"

#include <signal.h>

/* Does the work. It need not flush stdout or check whether printing failed. */
typedef enum dg_err dg_command_fn(const struct dg_opt_set *set, struct dg_error *error);

/* Returns the exit status: 0, 1 for work that failed, 2 for wrong usage (also when `run` returns
 * DG_ERR_USAGE). */
int dg_command(const struct dg_opt_table *table, int argc, char **argv, dg_command_fn *run);

/* From now on Ctrl-C, SIGTERM and SIGHUP end the work in good order: the first of each sets the
 * returned flag to 1. */
const volatile sig_atomic_t *dg_command_stop(void);

#endif
