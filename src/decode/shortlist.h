/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Shortens the output product to fewer words. A model's lexical shortlist (model/lexicon.h) names
 * the target words that each source word may become. A sentence's list is the union over its source
 * words, plus the words that are always allowed and, where both sides share a vocabulary, the
 * source words themselves. As in Marian, the list is filled up to a multiple of eight with the
 * first words after those that are always allowed.
 *
 * Each sentence searches over its own list only, so its answer does not depend on other sentences.
 * One matrix product serves all sentences under way: its columns are the union of their lists.
 * Columns are added as sentences arrive; unused columns are dropped when they are the majority.
 *
 *     n = dg_shortlist_words(&shortlist, src, n_src, ids);      the sentence's list, ascending
 *     dg_shortlist_join(&shortlist, ids, n);                    the sentence is under way
 *     if (dg_shortlist_ready(&shortlist, state))                the next logits have columns only
 *         ... column_of[id] ...
 *     dg_shortlist_leave(&shortlist, ids, n);                   mirror of join
 *
 * While the union has more columns than there is room for, `ready` is false and logits cover the
 * whole vocabulary, which changes no bit of any answer. One thread. Nothing is allocated after
 * init. */
#ifndef DG_DECODE_SHORTLIST_H
#define DG_DECODE_SHORTLIST_H

#include "model/lexicon.h"
#include "network/net.h"

enum { DG_SHORTLIST_COLUMNS = 8192 }; /* most columns of one decoder */

struct dg_shortlist {
    const struct dg_lexicon *lex; /* borrowed; NULL: only sentences with a list of their own have
                                     one */
    bool has_source; /* both sides share a vocabulary, so source words are listed as well */
    size_t V;
    size_t cap;          /* the most columns; 0: no union is made */
    uint64_t *marks;     /* [V / 64 + 1] zero between calls */
    uint16_t *users;     /* [V] number of sentences that list the word */
    uint32_t *column_of; /* [V] valid while `users` is not 0; UINT32_MAX: no room */
    int32_t *words;      /* [cap] the columns */
    size_t n;            /* number of columns */
    size_t n_given;      /* columns that the network's state has already received */
    size_t n_dead;       /* columns that no sentence lists any more */
    size_t n_homeless;   /* listed words that have no column for lack of room */
};

/* Without a `lex` (NULL) the shortlist is off. After DG_ERR_NOMEM there is nothing to release. */
enum dg_err dg_shortlist_init(struct dg_shortlist *shortlist, const struct dg_lexicon *lex,
                              const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_shortlist_deinit(struct dg_shortlist *shortlist); /* mirror; zeroed is fine */

/* Return the number of columns that a decoder with this shortlist needs, and the bytes of memory
 * that the shortlist takes. */
size_t dg_shortlist_columns(const struct dg_lexicon *lex, const struct dg_blueprint *bp);
size_t dg_shortlist_bytes(const struct dg_lexicon *lex, const struct dg_blueprint *bp);

/* Returns an upper bound on the number of ids that dg_shortlist_words writes; 0 without a lex. */
size_t dg_shortlist_bound(const struct dg_shortlist *shortlist, const int32_t *src, size_t n_src);

/* Writes the sentence's words, ascending, each once; returns how many. */
size_t dg_shortlist_words(struct dg_shortlist *shortlist, const int32_t *src, size_t n_src,
                          int32_t *ids);

void dg_shortlist_join(struct dg_shortlist *shortlist, const int32_t *ids, size_t n);
void dg_shortlist_leave(struct dg_shortlist *shortlist, const int32_t *ids, size_t n);

/* Updates the columns of `state`. Returns false when logits of the whole vocabulary must be
 * computed. */
bool dg_shortlist_ready(struct dg_shortlist *shortlist, struct dg_net_state *state);

#endif
