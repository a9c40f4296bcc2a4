/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A unigram language model of pieces (Kudo, 2018), learned as SentencePiece does: it begins with
 * many more substrings than are wanted, finds their probabilities by expectation maximisation over
 * all segmentations of the words, drops the quarter whose loss matters least, and repeats this.
 *
 * The substrings are in a trie over numbers of characters. It is first used to count them all, the
 * most frequent words first, so that a text too large for NODES_MAX loses only rare substrings.
 * Later it holds the current pieces. */
#include "base/memory/mem.h"
#include "vocabulary/spm_train_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum { NODES_MAX = 1 << 24, SEEDS_FACTOR = 10, SEEDS_MIN = 50000, ROUNDS_EM = 2 };
static const double shrink = 0.75, slack = 1.1, count_least = 0.5;

/* ---- A trie of substrings -------------------------------------------------------------------- */

struct trie {
    uint64_t *keys;     /* [n_slots] parent and symbol, and one; 0: empty */
    uint32_t *children; /* [n_slots] */
    size_t n_slots;
    uint32_t n_nodes; /* 0 is the root */
};

static size_t slot_of(const struct trie *trie, uint32_t parent, uint32_t symbol)
{
    const uint64_t key = ((uint64_t)parent << 32 | symbol) + 1;
    size_t at = (size_t)((key * 0x9e3779b97f4a7c15u) >> 24) & (trie->n_slots - 1);
    while (trie->keys[at] && trie->keys[at] != key)
        at = (at + 1) & (trie->n_slots - 1);
    return at;
}

static void trie_deinit(struct trie *trie)
{
    dg_free(trie->keys);
    dg_free(trie->children);
    *trie = (struct trie){.n_slots = 0};
}

static enum dg_err trie_grow(struct trie *trie)
{
    struct trie grown = {.n_slots = trie->n_slots ? trie->n_slots * 2 : 1 << 14,
                         .n_nodes = trie->n_nodes};
    grown.keys = dg_try_calloc(grown.n_slots, sizeof *grown.keys);
    grown.children = dg_try_calloc(grown.n_slots, sizeof *grown.children);
    if (!grown.keys || !grown.children) {
        trie_deinit(&grown);
        return DG_ERR_NOMEM;
    }
    for (size_t i = 0; i < trie->n_slots; i++)
        if (trie->keys[i]) {
            const uint64_t key = trie->keys[i] - 1;
            const size_t at = slot_of(&grown, (uint32_t)(key >> 32), (uint32_t)key);
            grown.keys[at] = trie->keys[i];
            grown.children[at] = trie->children[i];
        }
    trie_deinit(trie);
    *trie = grown;
    return DG_OK;
}

static enum dg_err trie_init(struct trie *trie)
{
    *trie = (struct trie){.n_nodes = 1};
    return trie_grow(trie);
}

static uint32_t child(const struct trie *trie, uint32_t parent, uint32_t symbol)
{
    const size_t at = slot_of(trie, parent, symbol);
    return trie->keys[at] ? trie->children[at] : NONE;
}

/* Returns the child, which is made if it is missing; NONE when the trie is full. */
static enum dg_err add_child(struct trie *trie, uint32_t parent, uint32_t symbol, uint32_t *node)
{
    enum dg_err err = (size_t)trie->n_nodes * 10 >= trie->n_slots * 7 ? trie_grow(trie) : DG_OK;
    if (err)
        return err;
    const size_t at = slot_of(trie, parent, symbol);
    if (!trie->keys[at] && trie->n_nodes < NODES_MAX) {
        trie->keys[at] = ((uint64_t)parent << 32 | symbol) + 1;
        trie->children[at] = trie->n_nodes++;
    }
    *node = trie->keys[at] ? trie->children[at] : NONE;
    return DG_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

struct part {
    uint32_t first, n; /* symbols */
    double log_p, count;
};

struct unigram {
    const uint32_t *symbols;
    struct train_word *words; /* [n_words] owned: the most frequent first */
    size_t n_words, longest;
    struct part *parts; /* [n_parts] owned; the first n_chars are the characters */
    size_t n_parts, n_chars;
    struct trie trie;
    uint32_t *part_at;          /* [trie.n_nodes] */
    double *forward, *backward; /* [longest + 1] */
    uint32_t *best;             /* [longest + 1] the part that ends there */
};

static int by_frequency(const void *a, const void *b)
{
    const struct train_word *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Builds the trie of the current parts. */
static enum dg_err index_parts(struct unigram *u)
{
    trie_deinit(&u->trie);
    enum dg_err err = trie_init(&u->trie);
    uint32_t *ends = dg_try_calloc(u->n_parts + 1, sizeof *ends);
    if (!err && !ends)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < u->n_parts && !err; i++)
        for (uint32_t j = 0; j < u->parts[i].n && !err; j++)
            err = add_child(&u->trie, ends[i],
                            i < u->n_chars ? (uint32_t)i : u->symbols[u->parts[i].first + j],
                            &ends[i]);
    dg_free(u->part_at);
    u->part_at = err ? NULL : dg_try_malloc(u->trie.n_nodes * sizeof *u->part_at);
    if (!err && !u->part_at)
        err = DG_ERR_NOMEM;
    if (!err) {
        memset(u->part_at, 0xff, u->trie.n_nodes * sizeof *u->part_at);
        for (size_t i = 0; i < u->n_parts; i++)
            u->part_at[ends[i]] = (uint32_t)i;
    }
    dg_free(ends);
    return err;
}

/* ---- The first substrings -------------------------------------------------------------------- */

struct seed {
    uint32_t first, n, node;
    uint64_t count;
};

static int by_weight(const void *a, const void *b)
{
    const struct seed *x = a, *y = b;
    const uint64_t wx = x->count * x->n, wy = y->count * y->n;
    return wx != wy ? (wx < wy ? 1 : -1) : (x->node > y->node) - (x->node < y->node);
}

static enum dg_err note(struct seed **seeds, size_t *cap, uint32_t node, uint32_t first, uint32_t n,
                        uint64_t count)
{
    if (node >= *cap) {
        const size_t grown = *cap * 2 > node ? *cap * 2 : (size_t)node + 4096;
        struct seed *list = dg_try_realloc(*seeds, grown * sizeof *list);
        if (!list)
            return DG_ERR_NOMEM;
        memset(list + *cap, 0, (grown - *cap) * sizeof *list);
        *seeds = list;
        *cap = grown;
    }
    struct seed *seed = &(*seeds)[node];
    if (seed->n == 0)
        *seed = (struct seed){first, n, node, 0};
    seed->count += count;
    return DG_OK;
}

static enum dg_err count_word(struct unigram *u, const struct train_word *word, uint32_t piece_max,
                              struct seed **seeds, size_t *cap)
{
    enum dg_err err = DG_OK;
    for (uint32_t i = 0; i < word->n && !err; i++) {
        uint32_t node = 0;
        for (uint32_t j = i; j < word->n && j - i < piece_max && !err; j++) {
            err = add_child(&u->trie, node, u->symbols[word->first + j], &node);
            if (err || node == NONE)
                break;
            err = note(seeds, cap, node, word->first + i, j - i + 1, word->count);
        }
    }
    return err;
}

static enum dg_err seed_parts(struct unigram *u, size_t wanted, uint32_t piece_max)
{
    struct seed *seeds = NULL;
    size_t cap = 0, n = 0,
           most = wanted * SEEDS_FACTOR > SEEDS_MIN ? wanted * SEEDS_FACTOR : SEEDS_MIN;
    enum dg_err err = trie_init(&u->trie);
    for (size_t i = 0; i < u->n_words && !err; i++)
        err = count_word(u, &u->words[i], piece_max, &seeds, &cap);
    for (size_t i = 0; i < cap && !err; i++)
        if (seeds[i].n > 1 && seeds[i].count > 1)
            seeds[n++] = seeds[i];
    if (n)
        qsort(seeds, n, sizeof *seeds, by_weight);
    n = n < most ? n : most;
    u->parts = err ? NULL : dg_try_calloc(u->n_chars + n + 1, sizeof *u->parts);
    if (!err && !u->parts)
        err = DG_ERR_NOMEM;
    double total = 0.0;
    for (size_t i = 0; i < u->n_chars && !err; i++)
        u->parts[i] = (struct part){.n = 1};
    for (size_t i = 0; i < u->n_words && !err; i++)
        for (uint32_t j = 0; j < u->words[i].n; j++)
            u->parts[u->symbols[u->words[i].first + j]].count += (double)u->words[i].count;
    for (size_t i = 0; i < n && !err; i++)
        u->parts[u->n_chars + i] =
            (struct part){seeds[i].first, seeds[i].n, 0.0, (double)seeds[i].count * seeds[i].n};
    u->n_parts = err ? 0 : u->n_chars + n;
    for (size_t i = 0; i < u->n_parts; i++)
        total += u->parts[i].count += 1.0;
    for (size_t i = 0; i < u->n_parts; i++)
        u->parts[i].log_p = log(u->parts[i].count / total);
    dg_free(seeds);
    return err;
}

/* ---- Expectation and maximisation ------------------------------------------------------------ */

static double log_add(double a, double b)
{
    if (a < b) {
        const double kept = a;
        a = b;
        b = kept;
    }
    return b == -INFINITY ? a : a + log1p(exp(b - a));
}

/* Walks through the parts that begin at `i`: false after the last. */
struct walk {
    uint32_t node, at;
};

static bool next_part(const struct unigram *u, const struct train_word *word, struct walk *walk,
                      uint32_t *part)
{
    while (walk->at < word->n) {
        walk->node = child(&u->trie, walk->node, u->symbols[word->first + walk->at++]);
        if (walk->node == NONE)
            return false;
        *part = u->part_at[walk->node];
        if (*part != NONE)
            return true;
    }
    return false;
}

static void expect_word(struct unigram *u, const struct train_word *word, double *counts)
{
    double *a = u->forward, *b = u->backward;
    const uint32_t n = word->n;
    uint32_t part;
    for (uint32_t i = 0; i <= n; i++)
        a[i] = b[i] = -INFINITY;
    a[0] = b[n] = 0.0;
    for (uint32_t i = 0; i < n; i++)
        for (struct walk w = {0, i}; next_part(u, word, &w, &part);)
            a[w.at] = log_add(a[w.at], a[i] + u->parts[part].log_p);
    for (uint32_t i = n; i-- > 0;)
        for (struct walk w = {0, i}; next_part(u, word, &w, &part);) {
            counts[part] += (double)word->count * exp(a[i] + u->parts[part].log_p + b[w.at] - a[n]);
            b[i] = log_add(b[i], u->parts[part].log_p + b[w.at]);
        }
}

static double digamma(double x)
{
    double result = 0.0;
    for (; x < 7.0; x += 1.0)
        result -= 1.0 / x;
    const double y = 1.0 / (x * x);
    return result + log(x) - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y / 252.0));
}

/* One iteration; drops parts that are hardly used, except characters. */
static enum dg_err iterate(struct unigram *u)
{
    double *counts = dg_try_calloc(u->n_parts, sizeof *counts), sum = 0.0;
    if (!counts)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < u->n_words; i++)
        expect_word(u, &u->words[i], counts);
    size_t n = 0;
    for (size_t i = 0; i < u->n_parts; i++) {
        if (i >= u->n_chars && counts[i] < count_least)
            continue;
        u->parts[n] = u->parts[i];
        u->parts[n].count = counts[i] > count_least ? counts[i] : count_least;
        sum += u->parts[n++].count;
    }
    u->n_parts = n;
    for (size_t i = 0; i < n; i++)
        u->parts[i].log_p = digamma(u->parts[i].count) - digamma(sum);
    dg_free(counts);
    return index_parts(u);
}

/* ---- Pruning --------------------------------------------------------------------------------- */

/* Finds the best segmentation of a word without the part `banned`; u->best says which part ends
 * where. */
static void cut_best(struct unigram *u, const struct train_word *word, uint32_t banned)
{
    uint32_t part;
    for (uint32_t i = 0; i <= word->n; i++)
        u->forward[i] = -INFINITY;
    u->forward[0] = 0.0;
    for (uint32_t i = 0; i < word->n; i++)
        for (struct walk w = {0, i}; next_part(u, word, &w, &part);) {
            const double score = u->forward[i] + u->parts[part].log_p;
            if (part != banned && score > u->forward[w.at]) {
                u->forward[w.at] = score;
                u->best[w.at] = part;
            }
        }
}

struct loss {
    uint32_t part;
    double loss;
};

static int by_loss(const void *a, const void *b)
{
    const struct loss *x = a, *y = b;
    return x->loss > y->loss || x->loss < y->loss ? (x->loss < y->loss ? 1 : -1)
                                                  : (x->part > y->part) - (x->part < y->part);
}

static int by_part(const void *a, const void *b)
{
    const struct loss *x = a, *y = b;
    return (x->part > y->part) - (x->part < y->part);
}

/* Returns how much likelihood the text loses without the part, when the second-best segmentation
 * replaces it. Negative: the part is not even the best segmentation of itself. */
static double loss_of(struct unigram *u, uint32_t number, const double *uses, double total)
{
    const struct part *part = &u->parts[number];
    const struct train_word word = {part->first, part->n, 1};
    cut_best(u, &word, NONE);
    if (u->best[word.n] != number)
        return -1.0;
    if (uses[number] <= 0.0)
        return 0.0;
    cut_best(u, &word, number);
    double n_others = 0.0, log_others = 0.0;
    for (uint32_t at = word.n; at > 0; at -= u->parts[u->best[at]].n)
        n_others += 1.0;
    const double log_total = log(total + uses[number] * (n_others - 1.0));
    for (uint32_t at = word.n; at > 0; at -= u->parts[u->best[at]].n)
        log_others += log(uses[u->best[at]] + uses[number]) - log_total;
    return uses[number] / total * (log(uses[number]) - log(total) - log_others);
}

static enum dg_err prune(struct unigram *u, size_t keep)
{
    double *uses = dg_try_calloc(u->n_parts, sizeof *uses), total = 0.0;
    struct loss *losses = dg_try_calloc(u->n_parts, sizeof *losses);
    size_t n = 0;
    enum dg_err err = uses && losses ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < u->n_words && !err; i++) {
        cut_best(u, &u->words[i], NONE);
        for (uint32_t at = u->words[i].n; at > 0; at -= u->parts[u->best[at]].n) {
            uses[u->best[at]] += (double)u->words[i].count;
            total += (double)u->words[i].count;
        }
    }
    for (size_t i = u->n_chars; i < u->n_parts && !err; i++)
        losses[n++] = (struct loss){(uint32_t)i, loss_of(u, (uint32_t)i, uses, total)};
    if (n)
        qsort(losses, n, sizeof *losses, by_loss);
    n = n < keep ? n : keep;
    while (n && losses[n - 1].loss < 0.0)
        n--;
    if (n)
        qsort(losses, n, sizeof *losses, by_part);
    for (size_t i = 0; i < n && !err; i++)
        u->parts[u->n_chars + i] = u->parts[losses[i].part];
    u->n_parts = err ? u->n_parts : u->n_chars + n;
    dg_free(uses);
    dg_free(losses);
    return err ? err : index_parts(u);
}

/* ---- The training ---------------------------------------------------------------------------- */

static int by_probability(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->log_p > y->log_p || x->log_p < y->log_p)
        return x->log_p < y->log_p ? 1 : -1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->n > y->n) - (x->n < y->n);
}

/* The most probable parts become pieces. */
static enum dg_err hand_over(struct unigram *u, struct train_pieces *pieces, size_t wanted,
                             struct dg_arena *arena)
{
    struct part *parts = u->parts + u->n_chars;
    size_t n = u->n_parts - u->n_chars;
    enum dg_err err = DG_OK;
    struct dg_buf text;
    if (n)
        qsort(parts, n, sizeof *parts, by_probability);
    n = n < wanted ? n : wanted;
    dg_buf_init(&text, 1 << 16);
    for (size_t i = 0; i < n && !err; i++) {
        dg_buf_clear(&text);
        for (uint32_t j = 0; j < parts[i].n && !err; j++)
            err = dg_buf_append_span(&text, pieces->list[u->symbols[parts[i].first + j]].text);
        const struct dg_span kept = err ? DG_SPAN("") : dg_arena_copy(arena, dg_buf_span(&text));
        if (!err && !kept.ptr)
            err = DG_ERR_NOMEM;
        if (!err)
            pieces->list[pieces->n++] =
                (struct train_piece){kept, (float)parts[i].log_p, parts[i].n};
    }
    for (size_t i = 0; i < u->n_chars; i++)
        pieces->list[i].score = (float)u->parts[i].log_p;
    dg_buf_deinit(&text);
    return err;
}

static enum dg_err prepare(struct unigram *u, const struct train_words *words, size_t n_chars)
{
    *u = (struct unigram){
        .symbols = words->symbols, .n_words = words->n, .n_chars = n_chars, .longest = 64};
    u->words = dg_try_calloc(words->n + 1, sizeof *u->words);
    if (!u->words)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < words->n; i++) {
        u->words[i] = words->list[i];
        u->longest = words->list[i].n > u->longest ? words->list[i].n : u->longest;
    }
    if (words->n)
        qsort(u->words, words->n, sizeof *u->words, by_frequency);
    u->forward = dg_try_calloc(u->longest + 1, sizeof *u->forward);
    u->backward = dg_try_calloc(u->longest + 1, sizeof *u->backward);
    u->best = dg_try_calloc(u->longest + 1, sizeof *u->best);
    return u->forward && u->backward && u->best ? DG_OK : DG_ERR_NOMEM;
}

enum dg_err dg_spm_train_unigram(const struct train_words *words, struct train_pieces *pieces,
                                 size_t wanted, uint32_t piece_max, struct dg_arena *arena)
{
    struct unigram u;
    const size_t goal = (size_t)((double)wanted * slack) + 1;
    enum dg_err err = prepare(&u, words, pieces->n);
    if (!err)
        err = seed_parts(&u, wanted, piece_max);
    if (!err)
        err = index_parts(&u);
    for (bool is_over = false; !err && !is_over;) {
        for (int i = 0; i < ROUNDS_EM && !err; i++)
            err = iterate(&u);
        const size_t n = u.n_parts - u.n_chars, fewer = (size_t)((double)n * shrink);
        is_over = n <= goal;
        if (!err && !is_over)
            err = prune(&u, fewer > goal ? fewer : goal);
    }
    if (!err)
        err = hand_over(&u, pieces, wanted, arena);
    trie_deinit(&u.trie);
    dg_free(u.words);
    dg_free(u.parts);
    dg_free(u.part_at);
    dg_free(u.forward);
    dg_free(u.backward);
    dg_free(u.best);
    return err;
}
