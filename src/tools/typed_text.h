/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Text that the user types, as arguments or into a terminal. */
#ifndef DG_TOOLS_TYPED_TEXT_H
#define DG_TOOLS_TYPED_TEXT_H

#include "base/memory/error.h"
#include "base/option/opt.h"

#include <stdbool.h>

/* Replaces the standard input by the positional arguments, if there are any, joined with spaces and
 * followed by a line end. */
enum dg_err typed_arguments(const struct dg_opt_set *set, struct dg_error *error) DG_MUST_CHECK;

/* If standard input is a terminal, says on standard error that the command waits for `what`. */
void typed_hint(const char *program, const char *what);

#endif
