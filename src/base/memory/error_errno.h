/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A sentence about what the system refused, for those who call it:
 *
 *     return dg_error_errno(error, "cannot open %s", path); */
#ifndef DG_BASE_MEMORY_ERROR_ERRNO_H
#define DG_BASE_MEMORY_ERROR_ERRNO_H

#include "base/memory/error.h"

/* Writes the sentence, ": " and what errno says, and returns the error that errno stands for. */
enum dg_err dg_error_errno(struct dg_error *error, const char *fmt, ...) DG_PRINTF(2, 3);

#endif
