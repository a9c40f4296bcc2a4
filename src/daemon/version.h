/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragomand --version: the program's version, the libraries it runs with, and the features of this
 * machine's processor that it uses. */
#ifndef DG_DAEMON_VERSION_H
#define DG_DAEMON_VERSION_H

/* "0.1.0" */
const char *dg_version(void);

/* Prints to stdout, one fact on each line. */
void dg_version_print(void);

#endif
