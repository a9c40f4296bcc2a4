/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Opening a model: map, read the settings (spm_file.c), make the table of pieces, build the tries,
 * check the rules that the library checks, run the model's own samples. */
#include "tokenize/spm/spm.h"

#include "base/memory/mem.h"
#include "tokenize/spm/spm_int.h"
#include "tokenize/spm/utf8_char.h"

#include <float.h>
#include <stdlib.h>

enum { FILE_MAX = 1 << 30 };

/* ---- Tries ----------------------------------------------------------------------------------- */

static bool is_reserved(enum dg_piece_type type)
{
    return type == DG_PIECE_UNKNOWN || type == DG_PIECE_CONTROL || type == DG_PIECE_BYTE;
}

/* Chooses the trie for a piece. Unigram segmentation ignores unused pieces. */
static struct dg_piece_trie *home_of(struct dg_spm *spm, uint32_t id)
{
    enum dg_piece_type type = dg_pieces_type(&spm->pieces, id);
    if (is_reserved(type))
        return &spm->reserved;
    return type == DG_PIECE_UNUSED && spm->kind == DG_SPM_UNIGRAM ? &spm->unused : &spm->trie;
}

static enum dg_err build_home(struct dg_spm *spm, struct dg_piece_trie *trie, uint32_t *ids,
                              struct dg_error *error)
{
    size_t n = 0;
    for (uint32_t id = 0; id < spm->pieces.n; id++)
        if (home_of(spm, id) == trie)
            ids[n++] = id;
    return n || trie == &spm->trie ? dg_piece_trie_init(trie, &spm->pieces, ids, n, error) : DG_OK;
}

static enum dg_err build_user(struct dg_spm *spm, uint32_t *ids, struct dg_error *error)
{
    size_t n = 0;
    for (uint32_t id = 0; id < spm->pieces.n; id++)
        if (dg_pieces_type(&spm->pieces, id) == DG_PIECE_USER_DEFINED)
            ids[n++] = id;
    return n ? dg_piece_trie_init(&spm->user, &spm->pieces, ids, n, error) : DG_OK;
}

static enum dg_err build_tries(struct dg_spm *spm, struct dg_error *error)
{
    uint32_t *ids = dg_try_calloc(spm->pieces.n, sizeof *ids);
    if (!ids)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory to sort %u pieces", spm->pieces.n);
    enum dg_err err = build_home(spm, &spm->trie, ids, error);
    if (!err)
        err = build_home(spm, &spm->reserved, ids, error);
    if (!err)
        err = build_home(spm, &spm->unused, ids, error);
    if (!err)
        err = build_user(spm, ids, error);
    dg_free(ids);
    return err;
}

static int32_t find_in(const struct dg_spm *spm, const struct dg_piece_trie *trie,
                       struct dg_span piece)
{
    return trie->nodes
               ? dg_piece_trie_find(trie, &spm->pieces, (const uint8_t *)piece.ptr, piece.len)
               : -1;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static enum dg_err check_unknown(struct dg_spm *spm, struct dg_error *error)
{
    bool seen = false;
    for (uint32_t id = 0; id < spm->pieces.n; id++) {
        if (dg_pieces_type(&spm->pieces, id) != DG_PIECE_UNKNOWN)
            continue;
        if (seen)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "pieces[%u] and pieces[%u] are both of type UNKNOWN, "
                                "expected one",
                                spm->unk, id);
        spm->unk = id;
        seen = true;
    }
    return seen ? DG_OK
                : dg_error_set(error, DG_ERR_FORMAT,
                               "no entry of pieces is of type UNKNOWN, expected one");
}

/* "<0x4F>" to 0x4F, or -1. */
static int byte_of(struct dg_span piece)
{
    static const char digits[] = "0123456789ABCDEF";
    if (piece.len != 6 || memcmp(piece.ptr, "<0x", 3) != 0 || piece.ptr[5] != '>')
        return -1;
    const char *high = memchr(digits, piece.ptr[3], 16);
    const char *low = memchr(digits, piece.ptr[4], 16);
    return high && low ? (int)((high - digits) << 4 | (low - digits)) : -1;
}

static enum dg_err check_bytes(struct dg_spm *spm, struct dg_error *error)
{
    unsigned n = 0;
    for (uint32_t id = 0; id < spm->pieces.n; id++) {
        if (dg_pieces_type(&spm->pieces, id) != DG_PIECE_BYTE)
            continue;
        if (!spm->byte_fallback)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "pieces[%u] is of type BYTE, but byte_fallback is false", id);
        int byte = byte_of(dg_pieces_text(&spm->pieces, id));
        if (byte < 0)
            return dg_error_set(error, DG_ERR_FORMAT,
                                "pieces[%u] is of type BYTE, but not of the form <0x4F>", id);
        spm->byte_ids[byte] = id;
        n++;
    }
    /* Equal strings were refused before, so 256 of them are all bytes. */
    if (spm->byte_fallback && n != 256)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "byte_fallback is true, but pieces has %u entries of type BYTE, "
                            "expected 256",
                            n);
    return DG_OK;
}

static int32_t control_id(const struct dg_spm *spm, struct dg_span name)
{
    int32_t id = find_in(spm, &spm->reserved, name);
    return id >= 0 && dg_pieces_type(&spm->pieces, (uint32_t)id) == DG_PIECE_CONTROL ? id : -1;
}

/* The search for the largest score starts from the smallest positive float, not from minus
 * infinity, as in the original library, because ids depend on it. */
static void find_scores(struct dg_spm *spm)
{
    spm->min_score = FLT_MAX;
    spm->max_score = FLT_MIN;
    for (uint32_t id = 0; id < spm->pieces.n; id++) {
        if (dg_pieces_type(&spm->pieces, id) != DG_PIECE_NORMAL)
            continue;
        float score = spm->pieces.scores[id];
        if (score < spm->min_score)
            spm->min_score = score;
        if (score > spm->max_score)
            spm->max_score = score;
    }
}

static int compare_scores(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return a > b ? -1 : a < b;
}

/* BPE merges by score; ranks express the same order in small whole numbers. */
static enum dg_err rank_scores(struct dg_spm *spm, struct dg_error *error)
{
    const uint32_t n = spm->pieces.n;
    if (spm->kind != DG_SPM_BPE)
        return DG_OK;
    float *sorted = dg_try_calloc(n, sizeof *sorted);
    spm->ranks = dg_try_calloc(n, sizeof *spm->ranks);
    if (!sorted || !spm->ranks) {
        dg_free(sorted);
        return dg_error_set(error, DG_ERR_NOMEM, "no memory to rank %u pieces", n);
    }
    memcpy(sorted, spm->pieces.scores, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_scores);
    uint32_t n_ranks = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[n_ranks - 1])
            sorted[n_ranks++] = sorted[i];
    for (uint32_t id = 0; id < n; id++) {
        const float *at =
            bsearch(&spm->pieces.scores[id], sorted, n_ranks, sizeof *sorted, compare_scores);
        spm->ranks[id] = (uint32_t)(at - sorted);
    }
    spm->n_ranks = n_ranks;
    dg_free(sorted);
    return DG_OK;
}

/* Finds out at which places no piece can cross, so that segmentation may cut the text there. */
static void find_boundaries(struct dg_spm *spm)
{
    spm->space_is_boundary = spm->space_ends_boundary = true;
    for (uint32_t id = 0; id < spm->pieces.n; id++) {
        enum dg_piece_type type = dg_pieces_type(&spm->pieces, id);
        if (is_reserved(type))
            continue;
        spm->has_unused |= type == DG_PIECE_UNUSED;
        struct dg_span piece = dg_pieces_text(&spm->pieces, id);
        bool was_space = false;
        for (size_t at = 0, len = 0; at < piece.len; at += len) {
            bool is_space = dg_span_starts(dg_span_sub(piece, at, 3), DG_SPAN(DG_UTF8_CHAR_SPACE));
            if (at > 0 && is_space && !was_space)
                spm->space_is_boundary = false;
            if (at > 0 && !is_space && was_space)
                spm->space_ends_boundary = false;
            was_space = is_space;
            len = is_space ? 3 : 1;
        }
    }
}

static void find_shadows(struct dg_spm *spm)
{
    for (uint32_t id = 0; id < spm->pieces.n && !spm->has_shadows; id++) {
        if (!is_reserved(dg_pieces_type(&spm->pieces, id)))
            continue;
        struct dg_span piece = dg_pieces_text(&spm->pieces, id);
        spm->has_shadows =
            find_in(spm, &spm->trie, piece) >= 0 || find_in(spm, &spm->unused, piece) >= 0;
    }
}

static void prepare_normalisers(struct dg_spm *spm)
{
    spm->normaliser.pieces = &spm->pieces;
    spm->normaliser.user = spm->user.nodes ? &spm->user : NULL;
    dg_normaliser_prepare(&spm->normaliser);
    dg_normaliser_prepare(&spm->denormaliser);
}

/* ---- Open and close -------------------------------------------------------------------------- */

static enum dg_err load(struct dg_spm *spm, struct dg_error *error)
{
    enum dg_err err = dg_spm_read_specs(spm, error);
    if (!err)
        err = dg_pieces_init(&spm->pieces, spm->bytes, spm->len, error);
    if (!err)
        err = check_unknown(spm, error);
    if (!err)
        err = build_tries(spm, error);
    if (!err)
        err = check_bytes(spm, error);
    if (!err)
        err = rank_scores(spm, error);
    if (err)
        return err;
    spm->bos = control_id(spm, spm->bos_name);
    spm->eos = control_id(spm, spm->eos_name);
    spm->pad = control_id(spm, spm->pad_name);
    find_scores(spm);
    find_boundaries(spm);
    find_shadows(spm);
    prepare_normalisers(spm);
    return dg_spm_self_test(spm, error);
}

enum dg_err dg_spm_new(const uint8_t *bytes, size_t len, struct dg_error *error,
                       struct dg_spm **out)
{
    if (len > FILE_MAX)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "the model has %zu bytes, at most %d are supported", len, FILE_MAX);
    struct dg_spm *spm = dg_xcalloc(1, sizeof *spm);
    spm->bytes = bytes;
    spm->len = len;
    enum dg_err err = load(spm, error);
    if (err) {
        dg_spm_close(spm);
        return err;
    }
    *out = spm;
    return DG_OK;
}

enum dg_err dg_spm_open(const char *path, struct dg_error *error, struct dg_spm **out)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, FILE_MAX, error);
    if (err)
        return err;
    struct dg_spm *spm;
    err = dg_spm_new(file.bytes, file.len, error, &spm);
    if (err) {
        dg_map_file_close(&file);
        return dg_error_wrap(error, err, "%s", path);
    }
    spm->file = file;
    *out = spm;
    return DG_OK;
}

void dg_spm_close(struct dg_spm *spm)
{
    if (!spm)
        return;
    dg_piece_trie_deinit(&spm->trie);
    dg_piece_trie_deinit(&spm->reserved);
    dg_piece_trie_deinit(&spm->user);
    dg_piece_trie_deinit(&spm->unused);
    dg_pieces_deinit(&spm->pieces);
    dg_free(spm->ranks);
    if (spm->file.bytes)
        dg_map_file_close(&spm->file);
    dg_free(spm);
}

/* ---- Questions ------------------------------------------------------------------------------- */

enum dg_spm_kind dg_spm_kind(const struct dg_spm *spm)
{
    return spm->kind;
}

const char *dg_spm_kind_name(enum dg_spm_kind kind)
{
    static const char *const names[] = {"unigram", "bpe", "word", "char"};
    return names[kind - DG_SPM_UNIGRAM];
}

uint32_t dg_spm_size(const struct dg_spm *spm)
{
    return spm->pieces.n;
}

int32_t dg_spm_unk(const struct dg_spm *spm)
{
    return (int32_t)spm->unk;
}

int32_t dg_spm_bos(const struct dg_spm *spm)
{
    return spm->bos;
}

int32_t dg_spm_eos(const struct dg_spm *spm)
{
    return spm->eos;
}

int32_t dg_spm_pad(const struct dg_spm *spm)
{
    return spm->pad;
}

struct dg_span dg_spm_piece(const struct dg_spm *spm, uint32_t id)
{
    return dg_pieces_text(&spm->pieces, id);
}

float dg_spm_score(const struct dg_spm *spm, uint32_t id)
{
    return spm->pieces.scores[id];
}

enum dg_piece_type dg_spm_type(const struct dg_spm *spm, uint32_t id)
{
    return dg_pieces_type(&spm->pieces, id);
}

uint32_t dg_spm_find(const struct dg_spm *spm, struct dg_span piece)
{
    int32_t id = find_in(spm, &spm->reserved, piece);
    if (id < 0)
        id = find_in(spm, &spm->trie, piece);
    if (id < 0)
        id = find_in(spm, &spm->unused, piece);
    return id < 0 ? spm->unk : (uint32_t)id;
}

bool dg_spm_has_byte_fallback(const struct dg_spm *spm)
{
    return spm->byte_fallback;
}

struct dg_span dg_spm_charsmap(const struct dg_spm *spm)
{
    const struct dg_charsmap *map = &spm->normaliser.map;
    if (map->n_units == 0)
        return DG_SPAN("");
    return dg_span_make((const char *)map->units - 4,
                        /* the map, after its length */
                        4 + 4 * map->n_units + map->pool_len);
}

bool dg_spm_adds_space(const struct dg_spm *spm)
{
    return spm->normaliser.add_dummy_prefix;
}

size_t dg_spm_memory(const struct dg_spm *spm)
{
    size_t n_nodes =
        spm->trie.n_nodes + spm->reserved.n_nodes + spm->user.n_nodes + spm->unused.n_nodes;
    return sizeof *spm + spm->file.len + dg_pieces_memory(&spm->pieces) +
           n_nodes * sizeof *spm->trie.nodes +
           (spm->ranks ? spm->pieces.n * sizeof *spm->ranks : 0);
}

size_t dg_spm_file_len(const struct dg_spm *spm)
{
    return spm->len;
}
