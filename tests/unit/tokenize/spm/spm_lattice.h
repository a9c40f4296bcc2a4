/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* All segmentations of a text into the pieces of a unigram model, as an explicit lattice: the plain
 * version of the search in spm_unigram.c. A test compares the two.
 *
 *     err = dg_spm_lattice_build(spm, normalised, len, &lattice);
 *     dg_spm_lattice_viterbi(&lattice);
 *     for (uint32_t at = lattice.n_nodes - 1; (at = lattice.nodes[at].best) != 0;)
 *         ... lattice.nodes[at] is a piece of the best segmentation, the last one first ...
 *
 * Node 0 is before the text, the last node after it. Nodes are ordered by their beginning, then by
 * length; `ending` lists for each position the nodes that end there, in the order of their
 * beginnings. */
#ifndef SPM_LATTICE_H
#define SPM_LATTICE_H

#include "base/memory/error.h"
#include "tokenize/spm/spm.h"

#include <stddef.h>
#include <stdint.h>

struct dg_spm_node {
    uint32_t begin, end; /* bytes */
    uint32_t id;
    float score;
    float total;   /* of the best way to this node, the node included */
    uint32_t best; /* the previous node on that way */
};

struct dg_spm_lattice {
    struct dg_spm_node *nodes; /* owned */
    size_t n_nodes, nodes_cap;
    uint32_t *ending; /* owned; node numbers grouped by end */
    /* owned; [len + 2]: the nodes that end at i are ending[from[i] .. from[i+1]) */
    uint32_t *ending_from;
    size_t ending_cap, ending_from_cap;
};

/* Memory is reused from call to call; begin with a lattice of zeros. */
enum dg_err dg_spm_lattice_build(const struct dg_spm *spm, const uint8_t *text, uint32_t len,
                                 struct dg_spm_lattice *lattice) DG_MUST_CHECK;
void dg_spm_lattice_deinit(struct dg_spm_lattice *lattice);

/* Fills `total` and `best`. Of equal ways to a node, the one whose last piece begins first is
 * kept. */
void dg_spm_lattice_viterbi(struct dg_spm_lattice *lattice);

#endif
