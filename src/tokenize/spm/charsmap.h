/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A SentencePiece model's own table of character replacements ("precompiled charsmap"), used in
 * place.
 *
 *     layout   u32 n | n bytes: double array of u32 units | pool of NUL-terminated replacements
 *
 * The double array maps a key (one or more UTF-8 characters) to an offset in the pool. The bytes
 * come from a file: every step is checked against the bounds. Immutable; any thread. */
#ifndef DG_TOKENIZE_SPM_CHARSMAP_H
#define DG_TOKENIZE_SPM_CHARSMAP_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_charsmap {
    const uint8_t *units; /* borrowed; n_units little-endian u32, not aligned */
    size_t n_units;       /* 0: the map is empty and replaces nothing */
    const uint8_t *pool;  /* borrowed */
    size_t pool_len;
};

struct dg_charsmap_hit {
    size_t key_len;     /* bytes of the longest key that the text begins with; 0: none */
    const uint8_t *ptr; /* its replacement, borrowed */
    size_t len;
    bool open; /* more text could make a longer key match here */
};

/* Takes the blob of a model (len 0: an empty map). The bytes must outlive the map. */
enum dg_err dg_charsmap_init(struct dg_charsmap *map, const uint8_t *blob, size_t len,
                             struct dg_error *error) DG_MUST_CHECK;

/* The longest key that begins the text. */
struct dg_charsmap_hit dg_charsmap_find(const struct dg_charsmap *map, const uint8_t *at,
                                        const uint8_t *end);

/* The shortest key that begins the text, for subword_charsmap.c; a NUL ends the text. */
struct dg_charsmap_hit dg_charsmap_find_first(const struct dg_charsmap *map, const uint8_t *at,
                                              const uint8_t *end);

/* True when the character is itself a key, or begins a key whose next byte is ASCII. Otherwise the
 * map cannot change the character where an ASCII byte follows it. */
bool dg_charsmap_touches(const struct dg_charsmap *map, const uint8_t *character, size_t len);

#endif
