/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* SentencePiece's normalisation: the model's own charsmap replaces characters, spaces are squeezed
 * and marked, and each byte of the result has the offset in the original that it came from.
 *
 *     struct dg_normal_text out = {0};
 *     err = dg_normalise(&normaliser, text, &out);
 *     ... out.bytes[0 .. out.len), out.origin[0 .. out.len] ...
 *     dg_normal_text_deinit(&out);                        or reuse it for the next text
 *
 * The normaliser is immutable and shared; the result belongs to one thread. */
#ifndef DG_TOKENIZE_SPM_NORMALISE_H
#define DG_TOKENIZE_SPM_NORMALISE_H

#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/spm/charsmap.h"
#include "tokenize/spm/piece_trie.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DG_NORMALISE_MAX = 1 << 30, /* the most bytes of a text, before and after */
    DG_NORMALISE_PAD = 32,      /* NULs that follow the result */
};

struct dg_normaliser {
    struct dg_charsmap map;
    bool add_dummy_prefix;          /* a space is added before the text, or after it */
    bool remove_extra_whitespaces;  /* no spaces at the ends, and only single ones in the middle */
    bool escape_whitespaces;        /* spaces become U+2581 */
    bool whitespace_as_suffix;      /* the added space goes after the text */
    const struct dg_pieces *pieces; /* the pieces that `user` searches */
    const struct dg_piece_trie *user; /* user-defined pieces, which never change; NULL: none */
    /* For each code point: 1 for characters below U+0800 that stay unchanged if an ASCII byte
     * follows. */
    uint8_t is_plain[0x800];
};

/* Fills is_plain from the other members. */
void dg_normaliser_prepare(struct dg_normaliser *normaliser);

struct dg_normal_text {
    uint8_t *bytes;   /* owned; dg_normalise puts DG_NORMALISE_PAD NULs after them */
    uint32_t *origin; /* owned; len + 1 offsets into the original text, ascending */
    size_t len;
    size_t cap;
};

/* Normalises a whole text into `out`, whose memory is reused. DG_ERR_LIMIT past DG_NORMALISE_MAX.
 */
enum dg_err dg_normalise(const struct dg_normaliser *normaliser, struct dg_span text,
                         struct dg_normal_text *out) DG_MUST_CHECK;
void dg_normal_text_deinit(struct dg_normal_text *out);

/* ---- In slices ------------------------------------------------------------------------------- */

/* The same for text that arrives in slices. A slice's last bytes may be left unconsumed, because
 * with more text a longer key could match there; put them at the front of the next slice. */
struct dg_normalise_state {
    bool is_started; /* something other than leading spaces was seen */
    bool prev_space;
    size_t consumed; /* bytes of the original that were read, over all slices */
};

/* Appends to `out`; *used is the number of bytes of `text` that were consumed. With `is_last` that
 * is all of them, and trailing spaces are treated as the normaliser requires. */
enum dg_err dg_normalise_slice(const struct dg_normaliser *normaliser,
                               struct dg_normalise_state *state, struct dg_span text, bool is_last,
                               struct dg_normal_text *out, size_t *used) DG_MUST_CHECK;

#endif
