/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A sentence for a human about one failure: what was read, what was expected, what to do next.
 *
 * The caller owns the struct (usually on the stack) and passes it down; the function that fails
 * fills it. There is no global last-error buffer, so threads cannot overwrite each other's errors.
 * Every function accepts NULL from a caller that will not show the sentence.
 *
 *     struct dg_error error = DG_ERROR_NONE;
 *     err = dg_spm_open(&spm, path, &error);
 *     if (err)
 *         fprintf(stderr, "dragoman: %s\n", dg_error_text(&error, err)); */
#ifndef DG_BASE_MEMORY_ERROR_H
#define DG_BASE_MEMORY_ERROR_H

#include "base/memory/err.h"

enum { DG_ERROR_CAP = 1024 };

struct dg_error {
    char text[DG_ERROR_CAP]; /* NUL-terminated; "" when there is no sentence */
};

#define DG_ERROR_NONE                                                                              \
    {                                                                                              \
        ""                                                                                         \
    }

/* Writes the sentence (cut at DG_ERROR_CAP, on a character boundary; control characters and bytes
 * that are not UTF-8 become '?') and returns `err`, so that a refusal is one line:
 *
 *     return dg_error_set(error, DG_ERR_RANGE, "%s: layers is %ld, expected 1 to 64", path, n); */
enum dg_err dg_error_set(struct dg_error *error, enum dg_err err, const char *fmt, ...)
    DG_PRINTF(3, 4);

/* Puts the formatted context and ": " before the present sentence; returns `err`. */
enum dg_err dg_error_wrap(struct dg_error *error, enum dg_err err, const char *fmt, ...)
    DG_PRINTF(3, 4);

/* The sentence, or the general sentence of `err` when there is none. */
const char *dg_error_text(const struct dg_error *error, enum dg_err err);

#endif
