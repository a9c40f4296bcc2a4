/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What a kind of file provides. Private to src/filter. To add a kind: its functions in a file of
 * its own, and a row in filter.c. */
#ifndef DG_FILTER_FILTER_INT_H
#define DG_FILTER_FILTER_INT_H

#include "filter/block.h"
#include "filter/filter.h"

struct dg_filter_row {
    const char *word;           /* the kind's */
    const char *const *endings; /* of names, in lower case; ended by NULL */
    const char *type;           /* of media */
    enum dg_err (*open)(struct dg_filter *filter, const struct dg_filter_opts *opts,
                        struct dg_error *error);
    enum dg_err (*put)(void *filter, const struct dg_block *block, struct dg_span html,
                       struct dg_buf *out, struct dg_error *error);
};

struct dg_filter {
    const struct dg_filter_row *row;
    const char *name;         /* borrowed; of the file */
    struct dg_span bytes;     /* borrowed */
    struct dg_office *office; /* owned; NULL: the text is in `blocks` */
    struct dg_blocks blocks;
    struct dg_buf note;
    struct dg_span language; /* while it is written: of the translation */
    char separator;          /* csv */
};

/* The number of the line of a byte, for sentences. */
size_t dg_filter_line(const struct dg_filter *filter, size_t at);

enum dg_err dg_filter_open_csv(struct dg_filter *filter, const struct dg_filter_opts *opts,
                               struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_filter_put_csv(void *filter, const struct dg_block *block, struct dg_span html,
                              struct dg_buf *out, struct dg_error *error) DG_MUST_CHECK;

#endif
