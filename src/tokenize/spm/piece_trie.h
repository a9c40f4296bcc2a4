/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A double-array trie over the strings of a piece table. It finds all pieces that a text begins
 * with, shortest first.
 *
 *     struct dg_piece_trie_walk walk;
 *     dg_piece_trie_start(&trie, text, &walk);
 *     while (dg_piece_trie_next(&trie, &pieces, end, &walk))
 *         ... piece walk.id is text[0 .. walk.len) ...
 *
 * The trie keeps branches only: once a single piece is left, the rest of its string is compared in
 * the piece table. This halves the trie's memory. Each node is one u32:
 *
 *     bits 0-7    the byte that leads here; free nodes and values have 0
 *     bit  8      LEAF: one piece is left
 *     bit  9      END: a piece ends right here
 *     bits 10-31  LEAF and END: the piece's id
 *                 LEAF alone: the handle of the piece, whose rest must be compared
 *                 else the base: the child by byte b is node base ^ b; with END, the id is at the
 *                 base itself
 *
 * No two nodes share a base, which is why comparing the byte is enough. Byte 0 never matches:
 * pieces with a NUL are not in the trie. Immutable; any thread. */
#ifndef DG_TOKENIZE_SPM_PIECE_TRIE_H
#define DG_TOKENIZE_SPM_PIECE_TRIE_H

#include "base/memory/error.h"
#include "tokenize/spm/pieces.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    DG_PIECE_TRIE_LEAF = 1 << 8,
    DG_PIECE_TRIE_END = 1 << 9,
};

struct dg_piece_trie {
    uint32_t *nodes; /* owned; node 0 is the root; their number is a multiple of 256 */
    size_t n_nodes;
};

/* Over the `n` pieces in `ids` (sorted in place; borrowed for the call). Two equal strings are
 * refused. */
enum dg_err dg_piece_trie_init(struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                               uint32_t *ids, size_t n, struct dg_error *error) DG_MUST_CHECK;
void dg_piece_trie_deinit(struct dg_piece_trie *trie);

struct dg_piece_trie_walk {
    const uint8_t *text;
    uint32_t node;  /* the unit that was reached; 0: the walk is over */
    uint32_t depth; /* bytes walked */
    uint32_t id;    /* the id of the piece found last */
    uint32_t len;   /* the bytes of that piece */
};

static inline void dg_piece_trie_start(const struct dg_piece_trie *trie, const uint8_t *text,
                                       struct dg_piece_trie_walk *walk)
{
    *walk = (struct dg_piece_trie_walk){.text = text, .node = trie->nodes[0]};
}

/* Compares the rest of the only piece that is left with the text. */
static inline bool dg_piece_trie_tail(const struct dg_pieces *pieces, uint32_t node,
                                      const uint8_t *text, size_t left, uint32_t depth,
                                      uint32_t *len)
{
    const uint8_t *at = dg_pieces_handle_at(pieces, node >> 10);
    *len = (uint32_t)dg_pieces_len(at);
    return *len <= left && memcmp(at + depth, text + depth, *len - depth) == 0;
}

/* The next longer piece; false when there is none. `end` is the end of the text. */
static inline bool dg_piece_trie_next(const struct dg_piece_trie *trie,
                                      const struct dg_pieces *pieces, const uint8_t *end,
                                      struct dg_piece_trie_walk *walk)
{
    const uint8_t *at = walk->text + walk->depth;
    uint32_t node = walk->node;
    walk->node = 0;
    if (node & DG_PIECE_TRIE_LEAF || node == 0)
        return false;
    for (; at < end && *at != 0; at++) {
        node = trie->nodes[(node >> 10) ^ *at];
        if ((node & 0xFF) != *at)
            return false;
        if (!(node & (DG_PIECE_TRIE_LEAF | DG_PIECE_TRIE_END)))
            continue;
        walk->depth = walk->len = (uint32_t)(at - walk->text) + 1;
        walk->node = node;
        if (node & DG_PIECE_TRIE_END) {
            walk->id = (node & DG_PIECE_TRIE_LEAF ? node : trie->nodes[node >> 10]) >> 10;
            return true;
        }
        if (!dg_piece_trie_tail(pieces, node, walk->text, (size_t)(end - walk->text), walk->depth,
                                &walk->len))
            return false;
        walk->id = dg_pieces_handle_id(pieces, node >> 10);
        return true;
    }
    return false;
}

/* The id of the piece that is exactly `text`, or -1. */
int32_t dg_piece_trie_find(const struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                           const uint8_t *text, size_t len);

/* The longest piece that begins the text: its bytes (0: none). */
size_t dg_piece_trie_longest(const struct dg_piece_trie *trie, const struct dg_pieces *pieces,
                             const uint8_t *at, const uint8_t *end);

#endif
