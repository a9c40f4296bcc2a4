/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The table of a model's pieces: id to string, score and type, in 4.5 bytes of memory per piece.
 *
 * Strings and types are not copied: the table points into the `pieces` fields of the model file in
 * memory, which every known writer lays out as  0A len string 15 score [18 type].  For a file with
 * another legal layout, the table keeps a copy in this layout. Scores, which the segmenters need at
 * every step, lie together in an array.
 *
 *     struct dg_span text = dg_pieces_text(&pieces, id);
 *     float score = pieces.scores[id];
 *
 * Immutable after init; any thread. The accessors do not check `id`. */
#ifndef DG_TOKENIZE_SPM_PIECES_H
#define DG_TOKENIZE_SPM_PIECES_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    DG_PIECES_MAX = 1 << 22,  /* the most pieces of a model */
    DG_PIECES_LEN_MAX = 1024, /* the most bytes of a piece */
    DG_PIECES_HANDLE_BITS = 22,
    DG_PIECES_BLOCK_BITS = 3, /* the position of every 8th string is kept */
};

/* The numbers are the file format's. */
enum dg_piece_type {
    DG_PIECE_NORMAL = 1,
    DG_PIECE_UNKNOWN = 2,
    DG_PIECE_CONTROL = 3,
    DG_PIECE_USER_DEFINED = 4,
    DG_PIECE_UNUSED = 5,
    DG_PIECE_BYTE = 6,
};

struct dg_pieces {
    const uint8_t *bytes; /* points to the mapping, or to `copy` */
    const uint8_t *end;
    float *scores;    /* owned; [n] */
    uint32_t *blocks; /* owned; the position of every 8th string in `bytes` */
    uint32_t n;
    bool is_wide;  /* the strings are spread over 4 MiB or more, so handles are ids rather than
                      positions */
    uint8_t *copy; /* owned; NULL if the file has the usual layout */
    size_t copy_len;
};

/* Reads every `pieces` field (number 1) of the ModelProto in `file`, which must outlive the table.
 * Refuses empty and overlong strings, unknown types and scores that are not finite. */
enum dg_err dg_pieces_init(struct dg_pieces *pieces, const uint8_t *file, size_t len,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_pieces_deinit(struct dg_pieces *pieces);

/* Bytes of memory besides the mapping. */
size_t dg_pieces_memory(const struct dg_pieces *pieces);

/* The length before the string is a varint of one byte, or of two, the first with its top bit set.
 * Before a one-byte length stands the key 0A, whose top bit is clear. */
static inline size_t dg_pieces_len(const uint8_t *at)
{
    return at[-2] & 0x80 ? (size_t)(at[-2] & 0x7F) | (size_t)at[-1] << 7 : at[-1];
}

/* The next string. This one is followed by its score, maybe its type, and the head of the next
 * message: two keys and two lengths. A length of 128 or more takes two bytes. */
static inline const uint8_t *dg_pieces_next(const uint8_t *at)
{
    const uint8_t *p = at + dg_pieces_len(at) + 5;
    p += p[0] == 0x18 ? 2 : 0; /* then p[0] is 0x0A */
    p += p[1] & 0x80 ? 3 : 2;  /* then p[0] is 0x0A again */
    return p + (p[1] & 0x80 ? 3 : 2);
}

static inline const uint8_t *dg_pieces_at(const struct dg_pieces *pieces, uint32_t id)
{
    const uint8_t *at = pieces->bytes + pieces->blocks[id >> DG_PIECES_BLOCK_BITS];
    for (uint32_t i = id & ((1u << DG_PIECES_BLOCK_BITS) - 1); i > 0; i--)
        at = dg_pieces_next(at);
    return at;
}

static inline struct dg_span dg_pieces_text(const struct dg_pieces *pieces, uint32_t id)
{
    const uint8_t *at = dg_pieces_at(pieces, id);
    return (struct dg_span){(const char *)at, dg_pieces_len(at)};
}

/* The score of a piece whose string of `len` bytes is at `at`. */
static inline float dg_pieces_score_at(const uint8_t *at, size_t len)
{
    const uint8_t *p = at + len + 1;
    uint32_t bits =
        (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    float score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* The type of a piece whose string of `len` bytes is at `at`; without one the piece is normal. */
static inline enum dg_piece_type dg_pieces_type_at(const struct dg_pieces *pieces,
                                                   const uint8_t *at, size_t len)
{
    const uint8_t *p = at + len + 5;
    return pieces->end - p >= 2 && p[0] == 0x18 ? (enum dg_piece_type)p[1] : DG_PIECE_NORMAL;
}

static inline enum dg_piece_type dg_pieces_type(const struct dg_pieces *pieces, uint32_t id)
{
    const uint8_t *at = dg_pieces_at(pieces, id);
    return dg_pieces_type_at(pieces, at, dg_pieces_len(at));
}

/* ---- Handles ----------------------------------------------------------------------------------
 * A handle has 22 bits and leads to the string in one step, for callers that need strings often and
 * ids seldom. */

static inline const uint8_t *dg_pieces_handle_at(const struct dg_pieces *pieces, uint32_t handle)
{
    return pieces->is_wide ? dg_pieces_at(pieces, handle)
                           : pieces->bytes + pieces->blocks[0] + handle;
}

static inline uint32_t dg_pieces_handle(const struct dg_pieces *pieces, uint32_t id)
{
    return pieces->is_wide
               ? id
               : (uint32_t)(dg_pieces_at(pieces, id) - pieces->bytes) - pieces->blocks[0];
}

uint32_t dg_pieces_handle_id(const struct dg_pieces *pieces, uint32_t handle);

#endif
