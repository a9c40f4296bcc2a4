/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* BPE segmentation: neighbours are merged while their concatenation is a piece, the one with the
 * highest score first, the leftmost of equals first.
 *
 * The text is cut into chunks that no piece can cross (before a space mark, in nearly all models),
 * so that merges in one chunk cannot change another. A short chunk (a word) is searched from end to
 * end for its best pair; a long chunk (a line without spaces) keeps its pairs in a heap. Both make
 * the same merges in the same order.
 *
 * A symbol is identified by its first byte. Its length is stored there and again after its last
 * byte, so that both neighbours are one step away and close in memory; the priority of its pair
 * with the next symbol is stored there too. A long line needs 8 bytes per byte for this and as much
 * for the heap; nothing else is kept.
 *
 * Unused pieces take part in merges and are split again at the end, each into the two halves of the
 * last merge that produced it anywhere in the text; for this reason, the text is not cut into
 * chunks for models with unused pieces. */
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "tokenize/spm/bpe_queue.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

enum {
    SHORT_CHUNK = 32, /* symbols; measurements show that the heap is faster from there on */
    FROZEN = 0x8000,  /* added to the length of a user-defined symbol, which is never merged */
};

static const uint32_t NO_PAIR = UINT32_MAX;

struct split {
    uint32_t id;       /* the id of an unused piece */
    uint32_t left_len; /* where its two parts met when it was last merged */
};

struct dg_spm_bpe {
    struct dg_bpe_place *places; /* owned; one for each byte of the chunk, and one more */
    size_t places_cap;
    struct dg_bpe_queue queue; /* used for long chunks */
    struct split *splits;      /* owned */
    size_t n_splits, splits_cap;
};

struct task {
    const struct dg_spm *spm;
    struct dg_spm_work *work;
    struct dg_spm_bpe *bpe;
    const uint8_t *text;
    uint32_t begin, end; /* where the chunk lies; the arrays are indexed from `begin` */
    uint32_t n_symbols;
};

void dg_spm_bpe_free(struct dg_spm_bpe *bpe)
{
    if (!bpe)
        return;
    dg_free(bpe->places);
    dg_bpe_queue_deinit(&bpe->queue);
    dg_free(bpe->splits);
    dg_free(bpe);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static enum dg_err remember_split(struct task *t, uint32_t id, uint32_t left_len)
{
    struct dg_spm_bpe *bpe = t->bpe;
    for (size_t i = 0; i < bpe->n_splits; i++) {
        if (bpe->splits[i].id == id) {
            bpe->splits[i].left_len = left_len;
            return DG_OK;
        }
    }
    enum dg_err err = DG_RESERVE(bpe->splits, bpe->n_splits + 1, bpe->splits_cap, 64);
    if (!err)
        bpe->splits[bpe->n_splits++] = (struct split){id, left_len};
    return err;
}

/* Sets the key of the pair that the symbol at `at` (from the chunk's begin) makes with the next
 * one. */
static enum dg_err consider(struct task *t, uint32_t at)
{
    struct dg_spm_bpe *bpe = t->bpe;
    const uint32_t len = bpe->places[at].len, right = at + (len & ~(uint32_t)FROZEN);
    bpe->places[at].rank = NO_PAIR;
    if (len & FROZEN || right >= t->end - t->begin || bpe->places[right].len & FROZEN)
        return DG_OK;
    const int32_t id = dg_piece_trie_find(&t->spm->trie, &t->spm->pieces, t->text + t->begin + at,
                                          len + bpe->places[right].len);
    if (id < 0)
        return DG_OK;
    bpe->places[at].rank = t->spm->ranks[id];
    if (t->spm->has_unused && dg_pieces_type(&t->spm->pieces, (uint32_t)id) == DG_PIECE_UNUSED)
        return remember_split(t, (uint32_t)id, len);
    return DG_OK;
}

/* Joins the symbol at `at` and the next one. */
static void merge(struct dg_spm_bpe *bpe, uint32_t at)
{
    const uint32_t right = at + bpe->places[at].len;
    const uint32_t len = (uint32_t)bpe->places[at].len + bpe->places[right].len;
    bpe->places[right].len = 0; /* no symbol begins here any more */
    bpe->places[at].len = bpe->places[at + len].len_before = (uint16_t)len;
}

/* Where the symbol before the one at `at` begins; `at` itself if there is none. */
static uint32_t before(const struct dg_spm_bpe *bpe, uint32_t at)
{
    return at == 0 ? at : at - (bpe->places[at].len_before & ~(uint32_t)FROZEN);
}

/* ---- Short chunks ---------------------------------------------------------------------------- */

static enum dg_err merge_short(struct task *t)
{
    struct dg_spm_bpe *bpe = t->bpe;
    const uint32_t len = t->end - t->begin;
    enum dg_err err = DG_OK;
    for (uint32_t at = 0; at < len && !err; at += bpe->places[at].len & ~(uint32_t)FROZEN)
        err = consider(t, at);
    while (!err) {
        uint32_t best = 0, best_key = NO_PAIR;
        for (uint32_t at = 0; at < len; at += bpe->places[at].len & ~(uint32_t)FROZEN) {
            const bool is_better = bpe->places[at].rank < best_key;
            best = is_better ? at : best;
            best_key = is_better ? bpe->places[at].rank : best_key;
        }
        if (best_key == NO_PAIR)
            break;
        bpe->places[best].rank = NO_PAIR;
        merge(bpe, best);
        if (best > 0)
            err = consider(t, before(bpe, best));
        if (!err)
            err = consider(t, best);
    }
    return err;
}

/* ---- Long chunks ----------------------------------------------------------------------------- */

static enum dg_err push(struct task *t, uint32_t at)
{
    enum dg_err err = consider(t, at);
    return err || t->bpe->places[at].rank == NO_PAIR
               ? err
               : dg_bpe_queue_push(&t->bpe->queue, t->bpe->places[at].rank, at);
}

/* An entry is stale when its symbol is gone or now makes another pair. An entry that is valid again
 * can be used like the one that was pushed later. */
static bool is_live(const struct dg_spm_bpe *bpe, uint32_t key, uint32_t at)
{
    return bpe->places[at].rank == key && bpe->places[at].len != 0;
}

static enum dg_err merge_long(struct task *t)
{
    struct dg_spm_bpe *bpe = t->bpe;
    const uint32_t len = t->end - t->begin;
    enum dg_err err = DG_OK;
    uint32_t key, at;
    for (at = 0; at < len; at++)
        bpe->places[at].rank = NO_PAIR; /* positions inside of characters */
    for (at = 0; at < len && !err; at += bpe->places[at].len & ~(uint32_t)FROZEN)
        err = consider(t, at);
    if (!err)
        err = dg_bpe_queue_start(&bpe->queue, bpe->places, len, t->spm->n_ranks);
    while (!err && dg_bpe_queue_pop(&bpe->queue, &key, &at, &err)) {
        if (!is_live(bpe, key, at))
            continue;
        bpe->places[at].rank = NO_PAIR;
        merge(bpe, at);
        if (at > 0)
            err = push(t, before(bpe, at));
        if (!err)
            err = push(t, at);
    }
    return err;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static uint32_t look_up(const struct task *t, uint32_t begin, uint32_t end)
{
    return dg_spm_find(t->spm, dg_span_make((const char *)t->text + begin, end - begin));
}

static enum dg_err emit(struct task *t, uint32_t begin, uint32_t end, uint32_t id)
{
    if (!t->spm->has_unused || dg_pieces_type(&t->spm->pieces, id) != DG_PIECE_UNUSED)
        return dg_spm_work_segment(t->work, begin, end, id);
    for (size_t i = 0; i < t->bpe->n_splits; i++) {
        if (t->bpe->splits[i].id != id)
            continue;
        const uint32_t cut = begin + t->bpe->splits[i].left_len;
        enum dg_err err = emit(t, begin, cut, look_up(t, begin, cut));
        return err ? err : emit(t, cut, end, look_up(t, cut, end));
    }
    return dg_spm_work_segment(t->work, begin, end, id);
}

/* A string that is also a reserved piece becomes that piece, which dg_spm_find returns. */
static uint32_t final_id(const struct task *t, uint32_t begin, uint32_t end)
{
    const int32_t id = t->spm->has_shadows ? -1
                                           : dg_piece_trie_find(&t->spm->trie, &t->spm->pieces,
                                                                t->text + begin, end - begin);
    return id >= 0 ? (uint32_t)id : look_up(t, begin, end);
}

static enum dg_err finish_chunk(struct task *t)
{
    enum dg_err err = t->n_symbols <= SHORT_CHUNK ? merge_short(t) : merge_long(t);
    for (uint32_t at = t->begin; at < t->end && !err;) {
        const uint32_t end = at + (t->bpe->places[at - t->begin].len & ~(uint32_t)FROZEN);
        err = emit(t, at, end, final_id(t, at, end));
        at = end;
    }
    t->begin = t->end;
    t->n_symbols = 0;
    return err;
}

/* Appends a symbol of `len` bytes to the chunk. */
static enum dg_err add_symbol(struct task *t, uint32_t len, bool is_frozen)
{
    struct dg_spm_bpe *bpe = t->bpe;
    const size_t at = t->end - t->begin, n = at + len + 1;
    enum dg_err err = DG_RESERVE(bpe->places, n, bpe->places_cap, 64);
    if (err)
        return err;
    bpe->places[at].len = bpe->places[at + len].len_before =
        (uint16_t)(len | (is_frozen ? FROZEN : 0));
    t->end += len;
    t->n_symbols++;
    return DG_OK;
}

/* True when no piece can contain both the character before `at` and the one at `at`. */
static bool is_boundary(const struct task *t, uint32_t at, uint32_t len)
{
    const struct dg_spm *spm = t->spm;
    if (spm->has_unused || !(spm->space_is_boundary || spm->space_ends_boundary))
        return false;
    bool is_space = len - at >= 3 && memcmp(t->text + at, DG_UTF8_CHAR_SPACE, 3) == 0;
    bool was_space = at >= 3 && memcmp(t->text + at - 3, DG_UTF8_CHAR_SPACE, 3) == 0;
    return (spm->space_is_boundary && is_space && !was_space) ||
           (spm->space_ends_boundary && was_space && !is_space);
}

enum dg_err dg_spm_bpe(const struct dg_spm *spm, struct dg_spm_work *work)
{
    if (!work->bpe)
        work->bpe = dg_xcalloc(1, sizeof *work->bpe);
    struct task task = {.spm = spm, .work = work, .bpe = work->bpe, .text = work->normal.bytes};
    const uint32_t len = (uint32_t)work->normal.len;
    enum dg_err err = DG_OK;
    work->bpe->n_splits = 0;
    for (uint32_t at = 0, step = 0; at < len && !err; at += step) {
        if (at && is_boundary(&task, at, len))
            err = finish_chunk(&task);
        step = 0;
        if (spm->user.nodes)
            step = (uint32_t)dg_piece_trie_longest(&spm->user, &spm->pieces, task.text + at,
                                                   task.text + len);
        bool is_frozen = step > 0;
        if (!is_frozen)
            step = (uint32_t)dg_utf8_char_lead_len(task.text[at]);
        if (step > len - at)
            step = len - at;
        if (!err)
            err = add_symbol(&task, step, is_frozen);
    }
    return err ? err : finish_chunk(&task);
}
