/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reading vocab.json: every key is looked up in the SentencePiece models once, at load; afterwards
 * ids are translated by tables. */
#include "tokenize/marian_vocab.h"

#include "base/json/json_file.h"
#include "base/memory/mem.h"

enum {
    FILE_MAX = 256 << 20,
    IDS_MAX = 1 << 22,
    STRINGS_MAX = 64 << 20,
};

static int32_t find_piece(const struct dg_spm *spm, struct dg_span text)
{
    uint32_t id = spm ? dg_spm_find(spm, text) : 0;
    return spm && dg_span_eq(dg_spm_piece(spm, id), text) ? (int32_t)id : -1;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err check_entry(struct dg_span key, const struct dg_json *value,
                               struct dg_error *error, int64_t *id)
{
    return dg_json_int(value, key, 0, IDS_MAX - 1, error, id);
}

static enum dg_err measure(struct dg_marian_vocab *vocab, const struct dg_json *json,
                           struct dg_error *error)
{
    struct dg_json_iter iter = dg_json_iter(json);
    struct dg_span key;
    const struct dg_json *value;
    int64_t last = -1;
    while (dg_json_next(&iter, &key, &value)) {
        int64_t id;
        enum dg_err err = check_entry(key, value, error, &id);
        if (err)
            return err;
        if (id > last)
            last = id;
    }
    if (last < 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "expected an object of pieces and their ids, read %s of %zu",
                            dg_json_type_name(dg_json_type(json)), dg_json_len(json));
    vocab->size = (uint32_t)last + 1;
    return DG_OK;
}

static enum dg_err allocate(struct dg_marian_vocab *vocab, struct dg_error *error)
{
    vocab->to_piece = dg_try_calloc(vocab->size, sizeof *vocab->to_piece);
    bool ok = vocab->to_piece != NULL;
    for (uint32_t id = 0; ok && id < vocab->size; id++)
        vocab->to_piece[id] = -1;
    for (int m = 0; m < 2; m++) {
        uint32_t n = vocab->models[m] ? dg_spm_size(vocab->models[m]) : 0;
        vocab->from_piece[m] = dg_try_calloc(n, sizeof *vocab->from_piece[m]);
        ok = ok && vocab->from_piece[m];
        for (uint32_t id = 0; ok && id < n; id++)
            vocab->from_piece[m][id] = -1;
    }
    return ok ? DG_OK
              : dg_error_set(error, DG_ERR_NOMEM, "no memory for a vocabulary of %u ids",
                             vocab->size);
}

static enum dg_err add_extra(struct dg_marian_vocab *vocab, struct dg_span key, int32_t id,
                             struct dg_error *error)
{
    struct dg_span kept = dg_arena_copy(&vocab->strings, key);
    enum dg_err err = kept.ptr ? dg_map_put(&vocab->extras, kept, (uint64_t)id) : DG_ERR_NOMEM;
    return err ? dg_error_set(error, err, "no memory for the strings of the vocabulary") : DG_OK;
}

static enum dg_err add_entry(struct dg_marian_vocab *vocab, struct dg_span key, int32_t id,
                             struct dg_error *error)
{
    bool is_piece = false;
    for (int m = 1; m >= 0; m--) {
        int32_t piece = find_piece(vocab->models[m], key);
        if (piece < 0)
            continue;
        vocab->from_piece[m][piece] = id;
        vocab->to_piece[id] = (int64_t)m << 32 | piece;
        is_piece = true;
    }
    return is_piece ? DG_OK : add_extra(vocab, key, id, error);
}

static enum dg_err fill(struct dg_marian_vocab *vocab, const struct dg_json *json,
                        struct dg_error *error)
{
    struct dg_json_iter iter = dg_json_iter(json);
    struct dg_span key;
    const struct dg_json *value;
    enum dg_err err = DG_OK;
    uint8_t *seen = dg_try_calloc(vocab->size, 1);
    if (!seen)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a vocabulary of %u ids",
                            vocab->size);
    while (!err && dg_json_next(&iter, &key, &value)) {
        int64_t id;
        err = check_entry(key, value, error, &id);
        if (!err && seen[id])
            err = dg_error_set(error, DG_ERR_FORMAT, "id %lld is given to two pieces, expected one",
                               (long long)id);
        if (!err) {
            seen[id] = 1;
            err = add_entry(vocab, key, (int32_t)id, error);
        }
    }
    dg_free(seen);
    return err;
}

static enum dg_err find_specials(struct dg_marian_vocab *vocab, struct dg_error *error)
{
    vocab->eos = dg_marian_vocab_find(vocab, DG_SPAN("</s>"));
    vocab->unk = dg_marian_vocab_find(vocab, DG_SPAN("<unk>"));
    vocab->pad = dg_marian_vocab_find(vocab, DG_SPAN("<pad>"));
    if (vocab->eos < 0 || vocab->unk < 0)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "\"%s\" is missing, every Marian vocabulary has it",
                            vocab->eos < 0 ? "</s>" : "<unk>");
    return DG_OK;
}

static enum dg_err read_vocab(struct dg_marian_vocab *vocab, const struct dg_json *json,
                              struct dg_error *error)
{
    enum dg_err err = measure(vocab, json, error);
    if (!err)
        err = allocate(vocab, error);
    if (!err)
        err = fill(vocab, json, error);
    if (!err)
        err = find_specials(vocab, error);
    return err;
}

enum dg_err dg_marian_vocab_init(struct dg_marian_vocab *vocab, const char *path,
                                 const struct dg_spm *first, const struct dg_spm *second,
                                 struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = FILE_MAX, .max_depth = 1, .max_values = IDS_MAX + 1};
    struct dg_json *json = NULL;
    enum dg_err err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    *vocab = (struct dg_marian_vocab){.models = {first, second}};
    dg_map_init(&vocab->extras, IDS_MAX);
    dg_arena_init(&vocab->strings, STRINGS_MAX);
    err = read_vocab(vocab, json, error);
    dg_json_free(json);
    if (err) {
        dg_marian_vocab_deinit(vocab);
        dg_error_wrap(error, err, "%s", path);
    }
    return err;
}

void dg_marian_vocab_deinit(struct dg_marian_vocab *vocab)
{
    dg_free(vocab->from_piece[0]);
    dg_free(vocab->from_piece[1]);
    dg_free(vocab->to_piece);
    dg_map_deinit(&vocab->extras);
    dg_arena_deinit(&vocab->strings);
    *vocab = (struct dg_marian_vocab){0};
}

/* ---- Questions ------------------------------------------------------------------------------- */

int32_t dg_marian_vocab_from_piece(const struct dg_marian_vocab *vocab, uint32_t piece)
{
    int32_t id = vocab->from_piece[0][piece];
    return id < 0 ? vocab->unk : id;
}

int32_t dg_marian_vocab_find(const struct dg_marian_vocab *vocab, struct dg_span text)
{
    uint64_t extra;
    for (int m = 0; m < 2; m++) {
        int32_t piece = find_piece(vocab->models[m], text);
        if (piece >= 0 && vocab->from_piece[m][piece] >= 0)
            return vocab->from_piece[m][piece];
    }
    return dg_map_get(&vocab->extras, text, &extra) ? (int32_t)extra : -1;
}

/* There are few extras, and one is looked up by id only when it is decoded, so a search will do. */
static struct dg_span extra_text(const struct dg_marian_vocab *vocab, int32_t id)
{
    struct dg_span key;
    uint64_t value;
    for (size_t at = 0; dg_map_next(&vocab->extras, &at, &key, &value);)
        if (value == (uint64_t)id)
            return key;
    return (struct dg_span){0};
}

struct dg_marian_piece dg_marian_vocab_piece(const struct dg_marian_vocab *vocab, int32_t id)
{
    struct dg_marian_piece piece = {.model = -1};
    if (id < 0 || (uint32_t)id >= vocab->size)
        return piece;
    int64_t at = vocab->to_piece[id];
    if (at < 0) {
        piece.text = extra_text(vocab, id);
        return piece;
    }
    piece.model = (int)(at >> 32);
    piece.id = (uint32_t)at;
    piece.text = dg_spm_piece(vocab->models[piece.model], piece.id);
    return piece;
}

size_t dg_marian_vocab_memory(const struct dg_marian_vocab *vocab)
{
    size_t bytes = vocab->size * sizeof *vocab->to_piece + vocab->strings.used;
    for (int m = 0; m < 2; m++)
        if (vocab->models[m])
            bytes += dg_spm_size(vocab->models[m]) * sizeof *vocab->from_piece[m];
    return bytes;
}
