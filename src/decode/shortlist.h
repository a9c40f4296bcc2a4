/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Output products over fewer words. A model with a lexical shortlist (model/lex.h) says for each
 * source word which target words it may become; a sentence's list is the union over its words, the
 * always allowed ones, and, where both sides share their vocabulary, its own words.
 *
 * Each sentence searches over its own list and no other, so its answer does not depend on its
 * neighbours. One product serves them all: its columns are the union of the lists of the sentences
 * under way. Columns are added as sentences come; those that nobody lists any more are dropped when
 * they are the greater part.
 *
 *     n = dg_shortlist_words(&shortlist, src, n_src, ids);      the sentence's list, ascending
 *     dg_shortlist_join(&shortlist, ids, n);                    it is under way
 *     if (dg_shortlist_ready(&shortlist, state))                logits of the next step may be of
 * columns only
 *         ... column_of[id] ...
 *     dg_shortlist_leave(&shortlist, ids, n);                   mirror of join
 *
 * A union with more columns than there is room for makes `ready` false until it fits again: then
 * logits are of the whole vocabulary, which changes no bit of any answer. One thread. Nothing is
 * allocated after init. */
#ifndef DG_DECODE_SHORTLIST_H
#define DG_DECODE_SHORTLIST_H

#include "model/lex.h"
#include "network/net.h"

enum { DG_SHORTLIST_COLUMNS = 8192 }; /* of one decoder, if the vocabulary has as many */

struct dg_shortlist {
    const struct dg_lex *lex; /* borrowed; NULL: sentences have no list unless they bring one */
    bool is_shared;           /* a source word may stay as it is */
    size_t V;
    size_t cap;          /* columns at most; 0: off */
    uint64_t *marks;     /* [V / 64 + 1] zero between calls */
    uint16_t *users;     /* [V] sentences that list the word */
    uint32_t *column_of; /* [V] while `users` is not 0; UINT32_MAX: it found no room */
    int32_t *words;      /* [cap] the columns */
    size_t n;            /* columns, */
    size_t n_given;      /* ... of which the network's state has this many */
    size_t n_dead;       /* ... that nobody lists any more */
    size_t n_homeless;   /* words that found no room */
};

/* `lex` may be NULL, which leaves it off. DG_ERR_NOMEM leaves nothing to release. */
enum dg_err dg_shortlist_init(struct dg_shortlist *shortlist, const struct dg_lex *lex,
                              const struct dg_blueprint *bp) DG_MUST_CHECK;
void dg_shortlist_deinit(struct dg_shortlist *shortlist); /* mirror; zeroed is fine */

/* Columns that a decoder with this list needs, and the bytes of its own. */
size_t dg_shortlist_columns(const struct dg_lex *lex, const struct dg_blueprint *bp);
size_t dg_shortlist_bytes(const struct dg_lex *lex, const struct dg_blueprint *bp);

/* An upper bound of what dg_shortlist_words writes for this source; 0 without a lex. */
size_t dg_shortlist_bound(const struct dg_shortlist *shortlist, const int32_t *src, size_t n_src);

/* Writes the sentence's words, ascending, each once; returns how many. */
size_t dg_shortlist_words(struct dg_shortlist *shortlist, const int32_t *src, size_t n_src,
                          int32_t *ids);

void dg_shortlist_join(struct dg_shortlist *shortlist, const int32_t *ids, size_t n);
void dg_shortlist_leave(struct dg_shortlist *shortlist, const int32_t *ids, size_t n);

/* Brings the columns of `state` up to date. False: ask for the whole vocabulary. */
bool dg_shortlist_ready(struct dg_shortlist *shortlist, struct dg_net_state *state);

#endif
