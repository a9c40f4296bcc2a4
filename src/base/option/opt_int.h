/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The internals of an option set. Only base/option/opt*.c include this. */
#ifndef DG_BASE_OPTION_OPT_INT_H
#define DG_BASE_OPTION_OPT_INT_H

#include "base/option/opt.h"

/* The source of a value. A lower source never replaces the value of a higher one. */
enum dg_opt_rank { DG_OPT_RANK_DEFAULT, DG_OPT_RANK_FILE, DG_OPT_RANK_ENV, DG_OPT_RANK_FLAG };

struct dg_opt_from {
    enum dg_opt_rank rank;
    unsigned line; /* in the file; 0: the file does not mention it */
};

/* One table's values: the main ones, or those of one section. */
struct dg_opt_instance {
    const struct dg_opt_table *table;
    char *name;               /* owned; NULL for the main table */
    unsigned line;            /* of the section's head */
    void *values;             /* owned; table->size bytes */
    struct dg_opt_from *from; /* owned; one per row */
};

struct dg_opt_set {
    struct dg_opt_instance main;
    struct dg_opt_instance *sections; /* owned; in the order of the file */
    size_t n_sections;
    char *origin;      /* owned; the file's name, NULL before one was read */
    const char **args; /* owned; the strings are borrowed from argv */
    size_t n_args;
};

/* What a refusal tells the reader to look at. */
static inline const char *dg_opt_reference(const struct dg_opt_table *table)
{
    return table->reference ? table->reference : "--help";
}

/* The row of that name, or table->n_rows. */
size_t dg_opt_find_row(const struct dg_opt_table *table, struct dg_span name);

/* The option that an unknown `name` was probably meant to be, or NULL. */
const char *dg_opt_nearest(const struct dg_opt_table *table, struct dg_span name, bool in_file);

/* The only way a value gets into a set: parses `text` for row `at`, and keeps the value unless a
 * higher rank gave one. `line` is the line in the file, or 0 for other sources. */
enum dg_err dg_opt_assign(struct dg_opt_instance *in, size_t at, enum dg_opt_rank rank,
                          unsigned line, struct dg_span text, struct dg_error *error) DG_MUST_CHECK;

/* max-body -> DRAGOMAN_MAX_BODY. False when it does not fit `cap`. */
bool dg_opt_env_name(const struct dg_opt_table *table, const struct dg_opt_row *row, char *out,
                     size_t cap) DG_MUST_CHECK;

#endif
