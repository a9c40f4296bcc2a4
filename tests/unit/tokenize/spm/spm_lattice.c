/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Builds the lattice and searches it. The rules of scores and ties are those of spm_unigram.c, with
 * one difference that the original also has: here the score of a user-defined piece depends on its
 * length in characters, there in bytes. */
#include "spm_lattice.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

#include <math.h>

enum { NODES_MAX = 1 << 26 };

/* ---- Building -------------------------------------------------------------------------------- */

static enum dg_err add_node(struct dg_spm_lattice *lattice, struct dg_spm_node node)
{
    if (lattice->n_nodes == NODES_MAX)
        return DG_ERR_LIMIT;
    enum dg_err err = DG_RESERVE(lattice->nodes, lattice->n_nodes + 1, lattice->nodes_cap, 64);
    if (!err)
        lattice->nodes[lattice->n_nodes++] = node;
    return err;
}

static uint32_t count_characters(const uint8_t *text, uint32_t len)
{
    uint32_t n = 0;
    for (uint32_t at = 0; at < len; at += (uint32_t)dg_utf8_char_lead_len(text[at]))
        n++;
    return n;
}

static float score_of(const struct dg_spm *spm, const uint8_t *text, uint32_t id, uint32_t len)
{
    if (dg_pieces_type(&spm->pieces, id) == DG_PIECE_USER_DEFINED)
        return (float)((double)((float)count_characters(text, len) * spm->max_score) - 0.1);
    return spm->pieces.scores[id];
}

static enum dg_err add_nodes_at(const struct dg_spm *spm, const uint8_t *text, uint32_t len,
                                uint32_t begin, uint32_t char_len, struct dg_spm_lattice *lattice)
{
    struct dg_piece_trie_walk walk;
    enum dg_err err = DG_OK;
    bool has_single = false;
    dg_piece_trie_start(&spm->trie, text + begin, &walk);
    while (!err && dg_piece_trie_next(&spm->trie, &spm->pieces, text + len, &walk)) {
        err = add_node(lattice, (struct dg_spm_node){
                                    .begin = begin,
                                    .end = begin + walk.len,
                                    .id = walk.id,
                                    .score = score_of(spm, text + begin, walk.id, walk.len),
                                });
        has_single |= walk.len == char_len;
    }
    if (!err && !has_single)
        err = add_node(lattice, (struct dg_spm_node){.begin = begin,
                                                     .end = begin + char_len,
                                                     .id = spm->unk,
                                                     .score = spm->min_score - 10.0f});
    return err;
}

/* Groups the nodes by their end: counts, sums up, fills; nodes with the same end keep the order of
 * their beginnings. */
static enum dg_err group_by_end(struct dg_spm_lattice *lattice, uint32_t len)
{
    enum dg_err err = DG_RESERVE(lattice->ending, lattice->n_nodes, lattice->ending_cap, 64);
    if (!err)
        err = DG_RESERVE(lattice->ending_from, (size_t)len + 3, lattice->ending_from_cap, 64);
    if (err)
        return err;
    uint32_t *from = lattice->ending_from;
    memset(from, 0, ((size_t)len + 3) * sizeof *from);
    const size_t n = lattice->n_nodes - 1; /* the node after the text ends nowhere */
    for (size_t i = 0; i < n; i++)
        from[lattice->nodes[i].end + 2]++;
    for (size_t at = 1; at < (size_t)len + 3; at++)
        from[at] += from[at - 1];
    for (size_t i = 0; i < n; i++)
        lattice->ending[from[lattice->nodes[i].end + 1]++] = (uint32_t)i;
    return DG_OK;
}

enum dg_err dg_spm_lattice_build(const struct dg_spm *spm, const uint8_t *text, uint32_t len,
                                 struct dg_spm_lattice *lattice)
{
    lattice->n_nodes = 0;
    enum dg_err err = add_node(lattice, (struct dg_spm_node){.id = UINT32_MAX});
    uint32_t char_len;
    for (uint32_t at = 0; at < len && !err; at += char_len) {
        char_len = (uint32_t)dg_utf8_char_lead_len(text[at]);
        if (char_len > len - at)
            char_len = len - at;
        err = add_nodes_at(spm, text, len, at, char_len, lattice);
    }
    if (!err)
        err = add_node(lattice, (struct dg_spm_node){.begin = len, .end = len, .id = UINT32_MAX});
    return err ? err : group_by_end(lattice, len);
}

void dg_spm_lattice_deinit(struct dg_spm_lattice *lattice)
{
    dg_free(lattice->nodes);
    dg_free(lattice->ending);
    dg_free(lattice->ending_from);
    *lattice = (struct dg_spm_lattice){0};
}

/* ---- The best way ---------------------------------------------------------------------------- */

void dg_spm_lattice_viterbi(struct dg_spm_lattice *lattice)
{
    for (size_t i = 1; i < lattice->n_nodes; i++) {
        struct dg_spm_node *node = &lattice->nodes[i];
        const uint32_t *from = lattice->ending_from + node->begin;
        node->total = -INFINITY;
        node->best = 0;
        for (uint32_t e = from[0]; e < from[1]; e++) {
            float total = lattice->nodes[lattice->ending[e]].total + node->score;
            if (total > node->total) {
                node->total = total;
                node->best = lattice->ending[e];
            }
        }
    }
}
