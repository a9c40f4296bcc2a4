/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Links between the words of two sentences. The links of the two directions are joined to one set
 * (Och and Ney, 2003; Koehn, Och and Marcu, 2003).
 *
 *     struct dg_word_links links;
 *     dg_word_links_init(&links);
 *     err = dg_word_links_symmetrise(&links, forward, n_target, backward, n_source,
 *                               DG_SYMMETRISE_GROW_DIAG_FINAL_AND);
 *     err = dg_word_links_print(&links, &text);              "0-0 1-2 2-1"
 *     dg_word_links_deinit(&links);
 *
 * One thread. */
#ifndef DG_TRAIN_DATA_WORD_LINKS_H
#define DG_TRAIN_DATA_WORD_LINKS_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_symmetrise {
    DG_SYMMETRISE_GROW_DIAG_FINAL_AND,
    DG_SYMMETRISE_GROW_DIAG,
    DG_SYMMETRISE_INTERSECT,
    DG_SYMMETRISE_UNION,
    DG_SYMMETRISE_FORWARD, /* each target word with its source word */
    DG_SYMMETRISE_REVERSE, /* each source word with its target word */
};

struct dg_link {
    uint16_t source, target; /* positions of the two words */
};

struct dg_word_links {
    struct dg_link *list; /* [n] owned; by target, then source */
    size_t n, cap;
    uint8_t *grid; /* scratch memory: a cell for each pair of words */
    size_t grid_cap;
};

void dg_word_links_init(struct dg_word_links *links);
void dg_word_links_deinit(struct dg_word_links *links);

/* Joins the links of two directions. `forward[t]` is the source word of target word t,
 * `backward[s]` the target word of source word s; -1: none. */
enum dg_err dg_word_links_symmetrise(struct dg_word_links *links, const int32_t *forward,
                                     size_t n_target, const int32_t *backward, size_t n_source,
                                     enum dg_symmetrise how) DG_MUST_CHECK;

/* Appends the links in Pharaoh's format: source-target, ordered by source, then by target. */
enum dg_err dg_word_links_print(const struct dg_word_links *links,
                                struct dg_buf *out) DG_MUST_CHECK;

#endif
