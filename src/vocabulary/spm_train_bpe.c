/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Byte-pair encoding (Sennrich, Haddow and Birch, 2016), over characters: the most frequent pair of
 * neighbours becomes one symbol, again and again.
 *
 * Each pair of symbols has a count and a list of the words in which it was seen. The most frequent
 * pair is on top of a heap; if the count of a heap entry is out of date, the entry goes back with
 * the current count. A merge visits only the words of its pair. The numbers of the symbols decide
 * between equal counts, so that the result does not depend on chance. */
#include "base/memory/map.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "vocabulary/spm_train_int.h"

#include <string.h>

#define NONE UINT32_MAX

struct pair {
    uint32_t left, right;
    int64_t count;
    uint32_t *words; /* owned; may include words that have lost the pair, and the same word twice */
    uint32_t n_words, cap_words;
};

struct entry {
    int64_t count;
    uint32_t pair;
};

struct bpe {
    struct train_words *words;
    struct train_pieces *pieces;
    struct pair *pairs;
    size_t n_pairs, cap_pairs;
    uint32_t *table; /* [n_table] a power of two; index of a pair, or NONE */
    size_t n_table;
    struct entry *heap;
    size_t n_heap, cap_heap;
    struct dg_map by_text; /* pieces */
};

/* ---- Pairs ----------------------------------------------------------------------------------- */

static size_t slot_of(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h >> 20) & (bpe->n_table - 1);
    while (bpe->table[at] != NONE &&
           (bpe->pairs[bpe->table[at]].left != left || bpe->pairs[bpe->table[at]].right != right))
        at = (at + 1) & (bpe->n_table - 1);
    return at;
}

static enum dg_err grow_table(struct bpe *bpe)
{
    const size_t n = bpe->n_table ? bpe->n_table * 2 : 1 << 16;
    uint32_t *table = dg_try_calloc(n, sizeof *table);
    if (!table)
        return DG_ERR_NOMEM;
    memset(table, 0xff, n * sizeof *table);
    dg_free(bpe->table);
    bpe->table = table;
    bpe->n_table = n;
    for (size_t i = 0; i < bpe->n_pairs; i++)
        table[slot_of(bpe, bpe->pairs[i].left, bpe->pairs[i].right)] = (uint32_t)i;
    return DG_OK;
}

static enum dg_err find_pair(struct bpe *bpe, uint32_t left, uint32_t right, uint32_t *index)
{
    enum dg_err err = bpe->n_pairs * 2 >= bpe->n_table ? grow_table(bpe) : DG_OK;
    if (err)
        return err;
    const size_t slot = slot_of(bpe, left, right);
    if (bpe->table[slot] == NONE) {
        err = DG_GROW(bpe->pairs, bpe->n_pairs, bpe->cap_pairs, 64);
        if (err || bpe->n_pairs == NONE)
            return err ? err : DG_ERR_LIMIT;
        bpe->pairs[bpe->n_pairs] = (struct pair){.left = left, .right = right};
        bpe->table[slot] = (uint32_t)bpe->n_pairs++;
    }
    *index = bpe->table[slot];
    return DG_OK;
}

/* ---- The heap -------------------------------------------------------------------------------- */

static bool is_better(const struct bpe *bpe, struct entry a, struct entry b)
{
    if (a.count != b.count)
        return a.count > b.count;
    const struct pair *x = &bpe->pairs[a.pair], *y = &bpe->pairs[b.pair];
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static enum dg_err push(struct bpe *bpe, uint32_t pair)
{
    const enum dg_err err = DG_GROW(bpe->heap, bpe->n_heap, bpe->cap_heap, 64);
    if (err)
        return err;
    const struct entry entry = {bpe->pairs[pair].count, pair};
    size_t at = bpe->n_heap++;
    for (; at > 0 && is_better(bpe, entry, bpe->heap[(at - 1) / 2]); at = (at - 1) / 2)
        bpe->heap[at] = bpe->heap[(at - 1) / 2];
    bpe->heap[at] = entry;
    return DG_OK;
}

static struct entry pop(struct bpe *bpe)
{
    const struct entry top = bpe->heap[0], last = bpe->heap[--bpe->n_heap];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < bpe->n_heap; at = child) {
        if (child + 1 < bpe->n_heap && is_better(bpe, bpe->heap[child + 1], bpe->heap[child]))
            child++;
        if (!is_better(bpe, bpe->heap[child], last))
            break;
        bpe->heap[at] = bpe->heap[child];
    }
    bpe->heap[at] = last;
    return top;
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Raises a pair's count for a word. Only a count that grows needs a new heap entry; one that has
 * shrunk is noticed when its entry comes to the top. */
static enum dg_err add(struct bpe *bpe, uint32_t left, uint32_t right, uint32_t word,
                       bool is_first_count)
{
    uint32_t index = 0;
    enum dg_err err = find_pair(bpe, left, right, &index);
    if (err)
        return err;
    struct pair *pair = &bpe->pairs[index];
    pair->count += (int64_t)bpe->words->list[word].count;
    if (pair->n_words && pair->words[pair->n_words - 1] == word)
        return is_first_count ? DG_OK : push(bpe, index);
    if (pair->n_words == pair->cap_words) {
        const uint32_t cap = pair->cap_words ? pair->cap_words * 2 : 4;
        uint32_t *words = dg_try_realloc(pair->words, cap * sizeof *words);
        if (!words)
            return DG_ERR_NOMEM;
        pair->words = words;
        pair->cap_words = cap;
    }
    pair->words[pair->n_words++] = word;
    return is_first_count ? DG_OK : push(bpe, index);
}

static enum dg_err take(struct bpe *bpe, uint32_t left, uint32_t right, uint32_t word)
{
    uint32_t index = 0;
    enum dg_err err = find_pair(bpe, left, right, &index);
    if (!err)
        bpe->pairs[index].count -= (int64_t)bpe->words->list[word].count;
    return err;
}

/* Replaces left, right by `whole` in one word and updates all counts: the word's old pairs are
 * subtracted and its new pairs are added. */
static enum dg_err merge_in_word(struct bpe *bpe, uint32_t word, uint32_t left, uint32_t right,
                                 uint32_t whole)
{
    struct train_word *w = &bpe->words->list[word];
    uint32_t *s = bpe->words->symbols + w->first;
    bool has_pair = false;
    for (uint32_t i = 0; i + 1 < w->n && !has_pair; i++)
        has_pair = s[i] == left && s[i + 1] == right;
    if (!has_pair)
        return DG_OK;
    enum dg_err err = DG_OK;
    for (uint32_t i = 0; i + 1 < w->n && !err; i++)
        err = take(bpe, s[i], s[i + 1], word);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n; n++) {
        const bool is_pair = i + 1 < w->n && s[i] == left && s[i + 1] == right;
        s[n] = is_pair ? whole : s[i];
        i += is_pair ? 2 : 1;
    }
    w->n = n;
    for (uint32_t i = 0; i + 1 < n && !err; i++)
        err = add(bpe, s[i], s[i + 1], word, false);
    return err;
}

/* Finds the piece that two symbols form: a new one, or an existing one with the same letters. */
static enum dg_err whole_of(struct bpe *bpe, const struct pair *pair, struct dg_arena *arena,
                            uint32_t *whole, bool *is_new)
{
    const struct train_piece *a = &bpe->pieces->list[pair->left],
                             *b = &bpe->pieces->list[pair->right];
    char *text = dg_arena_alloc(arena, a->text.len + b->text.len);
    if (!text)
        return DG_ERR_NOMEM;
    memcpy(text, a->text.ptr, a->text.len);
    memcpy(text + a->text.len, b->text.ptr, b->text.len);
    const struct dg_span span = dg_span_make(text, a->text.len + b->text.len);
    uint64_t known;
    *is_new = !dg_map_get(&bpe->by_text, span, &known);
    *whole = *is_new ? (uint32_t)bpe->pieces->n : (uint32_t)known;
    if (!*is_new)
        return DG_OK;
    bpe->pieces->list[bpe->pieces->n] =
        (struct train_piece){.text = span, .n_chars = a->n_chars + b->n_chars};
    return dg_map_put(&bpe->by_text, span, bpe->pieces->n++);
}

static enum dg_err merge(struct bpe *bpe, uint32_t index, struct dg_arena *arena, bool *is_new)
{
    const struct pair pair = bpe->pairs[index];
    uint32_t whole = 0;
    enum dg_err err = whole_of(bpe, &pair, arena, &whole, is_new);
    for (uint32_t i = 0; i < pair.n_words && !err; i++)
        err = merge_in_word(bpe, bpe->pairs[index].words[i], pair.left, pair.right, whole);
    return err;
}

static enum dg_err count_all(struct bpe *bpe)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < bpe->words->n && !err; i++) {
        const struct train_word *w = &bpe->words->list[i];
        const uint32_t *s = bpe->words->symbols + w->first;
        for (uint32_t j = 0; j + 1 < w->n && !err; j++)
            err = add(bpe, s[j], s[j + 1], (uint32_t)i, true);
    }
    for (size_t i = 0; i < bpe->n_pairs && !err; i++)
        err = push(bpe, (uint32_t)i);
    return err;
}

enum dg_err dg_spm_train_bpe(struct train_words *words, struct train_pieces *pieces, size_t wanted,
                             uint32_t piece_max, struct dg_arena *arena)
{
    struct bpe bpe = {.words = words, .pieces = pieces};
    dg_map_init(&bpe.by_text, pieces->cap);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < pieces->n && !err; i++)
        err = dg_map_put(&bpe.by_text, pieces->list[i].text, i);
    if (!err)
        err = count_all(&bpe);
    for (size_t n = 0; n < wanted && !err && bpe.n_heap;) {
        const struct entry top = pop(&bpe);
        const struct pair *pair = &bpe.pairs[top.pair];
        if (top.count != pair->count) { /* out of date */
            err = pair->count > 0 && pair->count < top.count ? push(&bpe, top.pair) : DG_OK;
            continue;
        }
        bool is_new = false;
        if (pair->count > 0 &&
            pieces->list[pair->left].n_chars + pieces->list[pair->right].n_chars <= piece_max)
            err = merge(&bpe, top.pair, arena, &is_new);
        n += is_new;
    }
    for (size_t i = 0; i < bpe.n_pairs; i++)
        dg_free(bpe.pairs[i].words);
    dg_free(bpe.pairs);
    dg_free(bpe.table);
    dg_free(bpe.heap);
    dg_map_deinit(&bpe.by_text);
    return err;
}
