/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The strings of a list that begin a text, byte after byte: a sorted list that is narrowed down. No
 * memory but the order (4 bytes a string), and no text makes it slow: a byte costs a logarithm of
 * the list's length.
 *
 *     struct dg_prefixes_walk walk = dg_prefixes_start(&list);
 *     for (at = 0; at < text.len && dg_prefixes_step(&list, &walk, text.ptr[at]); at++)
 *         if (dg_prefixes_here(&list, &walk, &which))
 *             ... texts[which] is text[0 .. at] ...
 *
 * Immutable after init; any thread. */
#ifndef DG_TOKENIZE_SPM_PREFIXES_H
#define DG_TOKENIZE_SPM_PREFIXES_H

#include "base/memory/err.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_prefixes {
    const struct dg_span *texts; /* borrowed */
    uint32_t *order;             /* owned; [n] of `texts`, in the order of their bytes */
    size_t n;
};

/* Over the strings `order[0 .. n)` of `texts`, which must stay; of equal ones the first in the
 * sorted order is found. Takes `order` (NULL with no strings), also on failure. DG_ERR_NOMEM. */
enum dg_err dg_prefixes_init(struct dg_prefixes *list, const struct dg_span *texts, uint32_t *order,
                             size_t n) DG_MUST_CHECK;
void dg_prefixes_deinit(struct dg_prefixes *list);

/* What is left of the list: all of order[low .. high) begin with the `depth` bytes walked. */
struct dg_prefixes_walk {
    size_t low, high, depth;
};

struct dg_prefixes_walk dg_prefixes_start(const struct dg_prefixes *list);

/* Walks one byte. False, and the walk is over, when no string goes on like this. */
bool dg_prefixes_step(const struct dg_prefixes *list, struct dg_prefixes_walk *walk, uint8_t byte);

/* True when a string ends here; *which is its place in `texts`. */
bool dg_prefixes_here(const struct dg_prefixes *list, const struct dg_prefixes_walk *walk,
                      uint32_t *which);

#endif
