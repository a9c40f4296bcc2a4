/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One option's value: text to field, field to text, and the description of what was expected. opt.c
 * and opt_text.c use this, and access/key_file.c for files of many records; everyone else uses
 * opt.h.
 *
 *     err = dg_opt_value_parse(row, text, values, false, &error);   "read "9", expected 1 to 8"
 *     err = dg_opt_value_format(row, values, &buf);               mirror: as a file has it
 *     dg_opt_value_release(row, values);                          frees the field's memory */
#ifndef DG_BASE_OPTION_OPT_VALUE_H
#define DG_BASE_OPTION_OPT_VALUE_H

#include "base/option/opt.h"

enum {
    /* bytes of any text or joined list, so that a dumped line fits a file */
    DG_OPT_TEXT_MAX = 3072,
    DG_OPT_LIST_MAX = 64, /* items of a list without a limit of its own */
};

/* Parses `text` into the row's field of `values`; `append` adds to a list instead of replacing it.
 * On failure the field is as it was and the error message is `read "...", expected ...`. */
enum dg_err dg_opt_value_parse(const struct dg_opt_row *row, struct dg_span text, void *values,
                               bool append, struct dg_error *error) DG_MUST_CHECK;

enum dg_err dg_opt_value_format(const struct dg_opt_row *row, const void *values,
                                struct dg_buf *out) DG_MUST_CHECK;

/* Frees what the field holds and zeroes it. */
void dg_opt_value_release(const struct dg_opt_row *row, void *values);

/* Releases the field and gives it the row's default; a text is "" then, never NULL. */
enum dg_err dg_opt_value_default(const struct dg_opt_row *row, void *values,
                                 struct dg_error *error) DG_MUST_CHECK;

/* "a size from 1KiB to 1GiB": what parse accepts, for refusals and manuals. */
enum dg_err dg_opt_value_expected(const struct dg_opt_row *row, struct dg_buf *out) DG_MUST_CHECK;

static inline bool dg_opt_value_is_list(const struct dg_opt_row *row)
{
    return row->type == DG_OPT_TYPE_STRINGS || row->type == DG_OPT_TYPE_PATHS ||
           row->type == DG_OPT_TYPE_ADDRESSES;
}

#endif
