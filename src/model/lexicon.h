/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A lexical shortlist (lex.*.bin): for every source id the target ids that it may become, and the
 * number of most frequent target ids that are always allowed. The file is used in place.
 *
 *     struct dg_lexicon lex;
 *     err = dg_lexicon_parse(&lex, bytes, len, "lex.bin", n_source, n_target, &error);
 *                                                                    lex borrows the bytes
 *     struct dg_lexicon_list list = dg_lexicon_list(&lex, source_id);
 *     for (size_t i = 0; i < list.n; i++)
 *         ... dg_lexicon_target(&lex, list.first + i) ...
 *
 * Parsing checks that every id and every list is in range. Immutable; any thread. */
#ifndef DG_MODEL_LEXICON_H
#define DG_MODEL_LEXICON_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DG_LEXICON_NAME "lex.bin"
enum { DG_LEXICON_MAX = 256 << 20 };

struct dg_lexicon {
    uint64_t n_frequent;    /* target ids 0 to n_frequent - 1 are always allowed */
    uint64_t n_best;        /* the number of targets per source word that the list was made with */
    size_t n_words;         /* number of source ids */
    size_t n_targets;       /* number of entries in all lists */
    const uint8_t *offsets; /* [n_words + 1] u64, borrowed */
    const uint8_t *targets; /* [n_targets] u32, borrowed */
};

struct dg_lexicon_list {
    size_t first, n;
};

/* Returns true when a file begins like a shortlist. */
bool dg_lexicon_is(const uint8_t *bytes, size_t len);

/* Checks size, checksum, order of the lists, and every id against the sizes of the vocabularies. */
enum dg_err dg_lexicon_parse(struct dg_lexicon *lex, const uint8_t *bytes, size_t len,
                             const char *name, size_t n_source, size_t n_target,
                             struct dg_error *error) DG_MUST_CHECK;

/* Opens DIR/lex.bin; *lex becomes NULL when the file does not exist. */
enum dg_err dg_lexicon_open(struct dg_lexicon **lex, const char *dir, size_t n_source,
                            size_t n_target, struct dg_error *error) DG_MUST_CHECK;
void dg_lexicon_close(struct dg_lexicon *lex); /* mirror; NULL is fine */

/* Returns the bytes of memory of an opened shortlist; 0 for NULL. */
size_t dg_lexicon_memory(const struct dg_lexicon *lex);

/* Writes a shortlist file. The list of source id i is targets[offsets[i] .. offsets[i + 1]); there
 * are n_words + 1 offsets. */
enum dg_err dg_lexicon_save(const char *path, uint64_t n_frequent, uint64_t n_best,
                            const uint64_t *offsets, size_t n_words, const uint32_t *targets,
                            struct dg_error *error) DG_MUST_CHECK;

/* Returns the list of a source id, which must be below n_words. */
struct dg_lexicon_list dg_lexicon_list(const struct dg_lexicon *lex, size_t source);

/* Returns the target id at index `at`, which must be below n_targets. */
uint32_t dg_lexicon_target(const struct dg_lexicon *lex, size_t at);

#endif
