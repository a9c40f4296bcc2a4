/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Because the users of each word are counted, join and leave are one pass over the sentence's own
 * words. */
#include "decode/shortlist.h"
#include "base/memory/mem.h"

enum { MULTIPLE = 8 };

static const uint32_t HOMELESS = UINT32_MAX;

size_t dg_shortlist_columns(const struct dg_lexicon *lex, const struct dg_blueprint *bp)
{
    if (!lex)
        return 0;
    return bp->decoder.V < DG_SHORTLIST_COLUMNS ? bp->decoder.V : DG_SHORTLIST_COLUMNS;
}

size_t dg_shortlist_bytes(const struct dg_lexicon *lex, const struct dg_blueprint *bp)
{
    const size_t V = bp->decoder.V;
    if (!lex)
        return 0;
    return (V / 64 + 1) * sizeof(uint64_t) + V * (sizeof(uint16_t) + sizeof(uint32_t)) +
           dg_shortlist_columns(lex, bp) * sizeof(int32_t);
}

enum dg_err dg_shortlist_init(struct dg_shortlist *shortlist, const struct dg_lexicon *lex,
                              const struct dg_blueprint *bp)
{
    const size_t V = bp->decoder.V;
    const bool has_source = bp->source_words == DG_SOURCE_WORDS_LISTED ||
                            (bp->source_words == DG_SOURCE_WORDS_TIED && bp->tie_source_target);
    *shortlist = (struct dg_shortlist){.lex = lex, .has_source = has_source, .V = V};
    if (!lex)
        return DG_OK;
    shortlist->cap = dg_shortlist_columns(lex, bp);
    shortlist->marks = dg_try_calloc(V / 64 + 1, sizeof *shortlist->marks);
    shortlist->users = dg_try_calloc(V, sizeof *shortlist->users);
    shortlist->column_of = dg_try_calloc(V, sizeof *shortlist->column_of);
    shortlist->words = dg_try_calloc(shortlist->cap, sizeof *shortlist->words);
    if (shortlist->marks && shortlist->users && shortlist->column_of && shortlist->words)
        return DG_OK;
    dg_shortlist_deinit(shortlist);
    return DG_ERR_NOMEM;
}

void dg_shortlist_deinit(struct dg_shortlist *shortlist)
{
    dg_free(shortlist->marks);
    dg_free(shortlist->users);
    dg_free(shortlist->column_of);
    dg_free(shortlist->words);
    *shortlist = (struct dg_shortlist){.lex = NULL};
}

/* ---- A sentence's words ---------------------------------------------------------------------- */

size_t dg_shortlist_bound(const struct dg_shortlist *shortlist, const int32_t *src, size_t n_src)
{
    const struct dg_lexicon *lex = shortlist->lex;
    if (!lex)
        return 0;
    size_t n = (size_t)lex->n_frequent + n_src + MULTIPLE - 1;
    for (size_t i = 0; i < n_src; i++)
        n += dg_lexicon_list(lex, (size_t)src[i]).n;
    return n < shortlist->V ? n : shortlist->V;
}

/* Returns 1 if the word is new. */
static size_t mark(struct dg_shortlist *shortlist, size_t id)
{
    const uint64_t bit = (uint64_t)1 << id % 64, had = shortlist->marks[id / 64] & bit;
    shortlist->marks[id / 64] |= bit;
    return !had;
}

size_t dg_shortlist_words(struct dg_shortlist *shortlist, const int32_t *src, size_t n_src,
                          int32_t *ids)
{
    const struct dg_lexicon *lex = shortlist->lex;
    size_t n_marked = 0, n = 0;
    for (size_t id = 0; id < lex->n_frequent; id++)
        n_marked += mark(shortlist, id);
    for (size_t i = 0; i < n_src; i++) {
        const struct dg_lexicon_list list = dg_lexicon_list(lex, (size_t)src[i]);
        for (size_t k = 0; k < list.n; k++)
            n_marked += mark(shortlist, dg_lexicon_target(lex, list.first + k));
        if (shortlist->has_source && (size_t)src[i] < shortlist->V)
            n_marked += mark(shortlist, (size_t)src[i]);
    }
    for (size_t id = lex->n_frequent; n_marked % MULTIPLE && id < shortlist->V; id++)
        n_marked += mark(shortlist, id);
    for (size_t at = 0; at <= shortlist->V / 64; at++) {
        uint64_t left = shortlist->marks[at];
        for (; left; left &= left - 1)
            ids[n++] = (int32_t)(at * 64 + (size_t)__builtin_ctzll(left));
        shortlist->marks[at] = 0;
    }
    return n;
}

/* ---- The union ------------------------------------------------------------------------------- */

static void give_column(struct dg_shortlist *shortlist, int32_t id)
{
    if (shortlist->n == shortlist->cap) {
        shortlist->column_of[id] = HOMELESS;
        shortlist->n_homeless++;
        return;
    }
    shortlist->column_of[id] = (uint32_t)shortlist->n;
    shortlist->words[shortlist->n++] = id;
}

/* Returns true if a dropped word still has its column, that is, if the column still holds the
 * word. */
static bool has_old_column(const struct dg_shortlist *shortlist, int32_t id)
{
    const uint32_t column = shortlist->column_of[id];
    return column < shortlist->n && shortlist->words[column] == id;
}

void dg_shortlist_join(struct dg_shortlist *shortlist, const int32_t *ids, size_t n)
{
    for (size_t i = 0; shortlist->cap && i < n; i++) {
        if (shortlist->users[ids[i]]++)
            continue;
        if (has_old_column(shortlist, ids[i]))
            shortlist->n_dead--;
        else
            give_column(shortlist, ids[i]);
    }
}

void dg_shortlist_leave(struct dg_shortlist *shortlist, const int32_t *ids, size_t n)
{
    for (size_t i = 0; shortlist->cap && i < n; i++) {
        if (--shortlist->users[ids[i]])
            continue;
        if (shortlist->column_of[ids[i]] == HOMELESS)
            shortlist->n_homeless--;
        else
            shortlist->n_dead++;
    }
}

/* Rebuilds the columns from the listed words. */
static void compact(struct dg_shortlist *shortlist)
{
    shortlist->n = shortlist->n_given = shortlist->n_dead = shortlist->n_homeless = 0;
    for (size_t id = 0; id < shortlist->V; id++)
        if (shortlist->users[id])
            give_column(shortlist, (int32_t)id);
}

bool dg_shortlist_ready(struct dg_shortlist *shortlist, struct dg_net_state *state)
{
    if (shortlist->cap == 0)
        return false;
    if (shortlist->n_dead > shortlist->n / 2 || (shortlist->n_homeless && shortlist->n_dead))
        compact(shortlist);
    if (shortlist->n_homeless || shortlist->n == 0)
        return false;
    if (shortlist->n_given == shortlist->n)
        return true;
    if (shortlist->n_given == 0 && dg_net_set_shortlist(state, NULL, 0))
        return false;
    if (dg_net_add_shortlist(state, shortlist->words + shortlist->n_given,
                             shortlist->n - shortlist->n_given))
        return false;
    shortlist->n_given = shortlist->n;
    return true;
}
