/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds the strings of a list that a text begins with, by narrowing down a sorted list byte by
 * byte. It needs 4 bytes of memory per string, and each byte of text costs time logarithmic in the
 * length of the list.
 *
 *     struct dg_prefixes_walk walk = dg_prefixes_start(&list);
 *     for (at = 0; at < text.len && dg_prefixes_step(&list, &walk, text.ptr[at]); at++)
 *         if (dg_prefixes_here(&list, &walk, &which))
 *             ... texts[which] is text[0 .. at] ...
 *
 * Immutable after init; any thread. */
#ifndef DG_TOKENIZE_SPM_PREFIXES_H
#define DG_TOKENIZE_SPM_PREFIXES_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_prefixes {
    const struct dg_span *texts; /* borrowed */
    uint32_t *order;             /* owned; [n] indices into `texts`, in the order of their bytes */
    size_t n;
};

/* Makes a list of the strings order[0 .. n) of `texts`, which must outlive it. Of equal strings the
 * first in the sorted order is found. Takes `order` (NULL if n is 0), also on failure.
 * DG_ERR_NOMEM. */
enum dg_err dg_prefixes_init(struct dg_prefixes *list, const struct dg_span *texts, uint32_t *order,
                             size_t n) DG_MUST_CHECK;
void dg_prefixes_deinit(struct dg_prefixes *list);

/* What is left of the list: all of order[low .. high) begin with the `depth` bytes walked. */
struct dg_prefixes_walk {
    size_t low, high, depth;
};

struct dg_prefixes_walk dg_prefixes_start(const struct dg_prefixes *list);

/* Walks one byte. False, and the walk is over, when no string continues with it. */
bool dg_prefixes_step(const struct dg_prefixes *list, struct dg_prefixes_walk *walk, uint8_t byte);

/* True when a string ends here; *which is its place in `texts`. */
bool dg_prefixes_here(const struct dg_prefixes *list, const struct dg_prefixes_walk *walk,
                      uint32_t *which);

#endif
