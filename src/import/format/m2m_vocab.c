/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* M2M100 has a vocab.json of its pieces, and its languages (__fr__) get the next ids. NLLB has no
 * vocab.json: its ids are four special tokens, then the pieces with their number plus one, then its
 * languages (fra_Latn). The languages are in added_tokens.json with their ids, or in
 * special_tokens_map.json in their order. */
#include "import/format/m2m_vocab.h"
#include "base/json/json_file.h"
#include "base/json/json_out.h"
#include "base/memory/map.h"
#include "tokenize/spm/spm.h"

enum { FILE_MAX = 64 << 20, OUT_MAX = 96 << 20, WORDS_MAX = 1 << 22 };

static const char spm_name[] = "sentencepiece.bpe.model";

struct words {
    struct dg_import *import;
    struct dg_json_out out;
    struct dg_map seen; /* keys borrowed; a word that occurs again keeps its first id */
    size_t next;        /* the first id after the pieces */
};

static enum dg_err add(struct words *w, struct dg_span word, size_t id, struct dg_error *error)
{
    if (id >= w->import->bp.encoder.V)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the id of '%.*s' is %zu, but the embedding has %zu rows",
                            word.len > 80 ? 80 : DG_SPAN_FMT(word), id, w->import->bp.encoder.V);
    if (dg_map_get(&w->seen, word, NULL))
        return DG_OK;
    struct dg_span kept = dg_arena_copy(&w->import->arena, word);
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    dg_json_out_key_span(&w->out, kept);
    dg_json_out_uint(&w->out, id);
    return dg_map_put(&w->seen, kept, id);
}

/* ---- From JSON ------------------------------------------------------------------------------- */

typedef enum dg_err (*read_fn)(struct words *w, const struct dg_json *json, struct dg_error *error);

static enum dg_err read_json(struct words *w, const char *dir, const char *name, read_fn fn,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = FILE_MAX, .max_depth = 16, .max_values = WORDS_MAX};
    struct dg_json *json = NULL;
    const char *path = dg_import_path(w->import, dir, name);
    if (!path)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    err = fn(w, json, error);
    dg_json_free(json);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

/* Reads {"word": id, ...}. */
static enum dg_err read_ids(struct words *w, const struct dg_json *json, struct dg_error *error)
{
    struct dg_json_iter iter = dg_json_iter(json);
    struct dg_span word;
    const struct dg_json *value;
    enum dg_err err = DG_OK;
    while (!err && dg_json_next(&iter, &word, &value)) {
        int64_t id;
        err = dg_json_int(value, word, 0, WORDS_MAX - 1, error, &id);
        if (!err)
            err = add(w, word, (size_t)id, error);
    }
    w->next = dg_json_len(json);
    return err;
}

/* Reads {"additional_special_tokens": ["__af__", {"content": "__am__"}, ...]}. */
static enum dg_err read_order(struct words *w, const struct dg_json *json, struct dg_error *error)
{
    const struct dg_json *list = NULL;
    enum dg_err err =
        dg_json_get_array(json, "additional_special_tokens", DG_JSON_OPTIONAL, error, &list);
    for (size_t i = 0; !err && i < dg_json_len(list); i++) {
        const struct dg_json *value = dg_json_at(list, i);
        struct dg_span word;
        if (dg_json_type(value) == DG_JSON_OBJECT)
            err = dg_json_get_string(value, "content", DG_JSON_REQUIRED, error, &word);
        else
            err = dg_json_string(value, DG_SPAN("additional_special_tokens"), error, &word);
        if (!err)
            err = add(w, word, w->next + i, error);
    }
    return err;
}

/* ---- Both kinds ------------------------------------------------------------------------------ */

static enum dg_err add_nllb(struct words *w, const struct dg_spm *spm, struct dg_error *error)
{
    static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>"};
    enum dg_err err = DG_OK;
    if (dg_spm_size(spm) < 3 || !dg_span_eq(dg_spm_piece(spm, 2), DG_SPAN("</s>")))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: piece 2 is not </s>, as NLLB has it, and there is no vocab.json",
                            spm_name);
    for (size_t i = 0; i < 4 && !err; i++)
        err = add(w, dg_span_cstr(specials[i]), i, error);
    for (uint32_t id = 0; id < dg_spm_size(spm) && !err; id++)
        err = add(w, dg_spm_piece(spm, id), (size_t)id + 1, error);
    w->next = (size_t)dg_spm_size(spm) + 1;
    return err;
}

static enum dg_err add_all(struct words *w, const char *dir, const struct dg_spm *spm,
                           struct dg_error *error)
{
    enum dg_err err = dg_import_has(dir, "vocab.json")
                          ? read_json(w, dir, "vocab.json", read_ids, error)
                          : add_nllb(w, spm, error);
    if (err)
        return err;
    if (dg_import_has(dir, "added_tokens.json"))
        return read_json(w, dir, "added_tokens.json", read_ids, error);
    if (dg_import_has(dir, "special_tokens_map.json"))
        return read_json(w, dir, "special_tokens_map.json", read_order, error);
    w->import->note =
        "the languages' tokens are in no file (added_tokens.json, special_tokens_map.json)";
    return DG_OK;
}

bool dg_m2m_vocab_is(const struct dg_import *import, const char *dir)
{
    return import->bp.lang_rule != DG_LANG_NONE && dg_import_has(dir, spm_name) &&
           !dg_import_has(dir, "source.spm");
}

enum dg_err dg_m2m_vocab_add(struct dg_import *import, const char *dir, struct dg_error *error)
{
    struct words w = {.import = import};
    struct dg_spm *spm;
    struct dg_buf text;
    const char *path = dg_import_path(import, dir, spm_name);
    if (!path)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_spm_open(path, error, &spm);
    if (err)
        return err;
    dg_buf_init(&text, OUT_MAX);
    dg_map_init(&w.seen, WORDS_MAX);
    dg_json_out_init(&w.out, &text);
    dg_json_out_open(&w.out, '{');
    err = add_all(&w, dir, spm, error);
    dg_json_out_close(&w.out, '}');
    if (!err)
        err = dg_json_out_end(&w.out);
    if (!err)
        err = dg_import_make_file(import, "vocab.json", dg_buf_span(&text), error);
    if (!err)
        err = dg_import_copy_file(import, "source.spm", path, error);
    dg_map_deinit(&w.seen);
    dg_buf_deinit(&text);
    dg_spm_close(spm);
    return err;
}
