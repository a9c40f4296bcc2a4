/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Imports Hugging Face directories: Marian (OPUS-MT), M2M100, NLLB, and our own. Weights come from
 * model.safetensors, its shards, pytorch_model.bin, or its shards, whichever is found first;
 * configuration and vocabularies are copied as they are. */
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "base/memory/mem.h"
#include "import/container/torch.h"
#include "import/format/fairseq_vocab.h"
#include "import/format/import_int.h"
#include "import/format/m2m_vocab.h"
#include "model/config.h"
#include "model/file/safetensors.h"
#include "model/labels.h"

#include <stdio.h>
#include <string.h>

enum { SHARDS_MAX = 64, INDEX_MAX = 16 << 20, BLOBS_MAX = 60000, LOADS_KEPT = 16 };

struct blob {
    const uint8_t *bytes; /* borrowed from a mapping */
    size_t len;
};

struct hf {
    struct dg_safetensors safetensors[SHARDS_MAX];
    struct dg_torch torch[SHARDS_MAX];
    size_t n_safetensors, n_torch;
    struct blob *blobs; /* owned; one for each tensor or storage */
    size_t n_blobs;
    size_t n_loads;
};

static const char *const weight_files[] = {"model.safetensors", "model.safetensors.index.json",
                                           "pytorch_model.bin", "pytorch_model.bin.index.json"};
enum { N_WEIGHT_FILES = sizeof weight_files / sizeof *weight_files };

static bool detect(const char *path, bool is_dir)
{
    if (!is_dir || !dg_import_has(path, "config.json"))
        return false;
    for (size_t i = 0; i < N_WEIGHT_FILES; i++)
        if (dg_import_has(path, weight_files[i]))
            return true;
    return false;
}

static enum dg_err load(void *ctx, size_t blob, const uint8_t **bytes, size_t *len,
                        struct dg_error *error)
{
    struct hf *hf = ctx;
    if (++hf->n_loads % LOADS_KEPT == 0) {
        for (size_t i = 0; i < hf->n_safetensors; i++)
            dg_map_file_forget(&hf->safetensors[i].file);
        for (size_t i = 0; i < hf->n_torch; i++)
            dg_map_file_forget(&hf->torch[i].file);
    }
    *bytes = hf->blobs[blob].bytes;
    *len = hf->blobs[blob].len;
    return DG_OK;
}

static void close_hf(void *ctx)
{
    struct hf *hf = ctx;
    for (size_t i = 0; i < hf->n_safetensors; i++)
        dg_safetensors_close(&hf->safetensors[i]);
    for (size_t i = 0; i < hf->n_torch; i++)
        dg_torch_close(&hf->torch[i]);
    dg_free(hf->blobs);
    dg_free(hf);
}

static enum dg_err add_blob(struct hf *hf, const uint8_t *bytes, size_t len, struct dg_error *error)
{
    if (hf->n_blobs == BLOBS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "more than %d tensors", BLOBS_MAX);
    hf->blobs[hf->n_blobs++] = (struct blob){bytes, len};
    return DG_OK;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* Reads the scales of an I8 tensor. They are few, so they are not streamed. */
static enum dg_err attach_scales(struct dg_import *import, struct dg_import_tensor *tensor,
                                 const struct dg_safetensors *file,
                                 const struct dg_safetensors_entry *entry, struct dg_error *error)
{
    char name[600];
    snprintf(name, sizeof name, "%s_scale", entry->name);
    const struct dg_safetensors_entry *scale = dg_safetensors_find(file, name);
    if (entry->rank != 2 || !scale || scale->dtype != DG_DTYPE_F32 || scale->rank != 1 ||
        scale->shape[0] != entry->shape[0])
        return dg_error_set(error, DG_ERR_FORMAT,
                            "tensor %s is I8, expected a matrix with %s, F32 and one a row",
                            entry->name, name);
    float *scales = dg_arena_alloc(&import->arena, scale->len);
    if (!scales)
        return DG_ERR_NOMEM;
    memcpy(scales, scale->bytes, scale->len);
    tensor->scales = scales;
    tensor->n_scales = scale->shape[0];
    return DG_OK;
}

/* True for NAME_scale, which belongs to an I8 tensor NAME of the same file. */
static bool is_scale(const struct dg_safetensors *file, const char *name)
{
    char base[600];
    size_t len = strlen(name);
    if (len <= 6 || strcmp(name + len - 6, "_scale") != 0)
        return false;
    snprintf(base, sizeof base, "%.*s", (int)(len - 6), name);
    const struct dg_safetensors_entry *entry = dg_safetensors_find(file, base);
    return entry && entry->dtype == DG_DTYPE_I8;
}

static enum dg_err add_safetensors(struct dg_import *import, const char *path,
                                   struct dg_error *error)
{
    struct hf *hf = import->ctx;
    struct dg_safetensors *file = &hf->safetensors[hf->n_safetensors];
    enum dg_err err = dg_safetensors_open(file, path, error);
    if (err)
        return err;
    hf->n_safetensors++;
    for (size_t i = 0; i < file->n_entries && !err; i++) {
        const struct dg_safetensors_entry *entry = &file->entries[i];
        if (is_scale(file, entry->name))
            continue;
        struct dg_import_tensor *tensor =
            dg_import_add(import, entry->name, entry->dtype, entry->rank, entry->shape);
        if (!tensor)
            return DG_ERR_NOMEM;
        tensor->blob = hf->n_blobs;
        err = add_blob(hf, entry->bytes, entry->len, error);
        if (!err && entry->dtype == DG_DTYPE_I8)
            err = attach_scales(import, tensor, file, entry, error);
    }
    return err;
}

static enum dg_err add_torch(struct dg_import *import, const char *path, struct dg_error *error)
{
    struct hf *hf = import->ctx;
    struct dg_torch *file = &hf->torch[hf->n_torch];
    enum dg_err err = dg_torch_open(file, path, error);
    if (err)
        return err;
    hf->n_torch++;
    size_t first_blob = hf->n_blobs;
    for (size_t i = 0; i < file->n_storages && !err; i++)
        err = add_blob(hf, file->storages[i].bytes, file->storages[i].len, error);
    for (size_t i = 0; i < file->n_tensors && !err; i++) {
        const struct dg_pickle_tensor *view = file->tensors[i].view;
        struct dg_import_tensor *tensor = dg_import_add(
            import, file->tensors[i].name, view->storage->dtype, view->rank, view->shape);
        if (!tensor)
            return DG_ERR_NOMEM;
        tensor->blob = first_blob + file->tensors[i].storage;
        tensor->offset = view->offset;
        if (view->rank == 2)
            tensor->strides[0] = view->strides[0];
        if (view->rank > 0)
            tensor->strides[1] = view->strides[view->rank - 1];
    }
    return err;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

struct shards {
    const char *names[SHARDS_MAX]; /* in the arena */
    size_t n;
};

static enum dg_err add_shard(struct dg_import *import, struct shards *shards, struct dg_span name,
                             struct dg_error *error)
{
    for (size_t i = 0; i < shards->n; i++)
        if (dg_span_eq(name, dg_span_cstr(shards->names[i])))
            return DG_OK;
    bool good = name.len > 0 && name.len < 200 && name.ptr[0] != '.' &&
                !memchr(name.ptr, '\0', name.len) && !memchr(name.ptr, '/', name.len);
    if (!good)
        return dg_error_set(
            error, DG_ERR_DENIED,
            "field 'weight_map': the shard '%.*s' is not a plain file name; refused",
            name.len > 200 ? 200 : DG_SPAN_FMT(name));
    if (shards->n == SHARDS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "field 'weight_map': more than %d shards",
                            SHARDS_MAX);
    struct dg_span kept = dg_arena_copy(&import->arena, name);
    if (!kept.ptr)
        return DG_ERR_NOMEM;
    shards->names[shards->n++] = kept.ptr;
    return DG_OK;
}

static enum dg_err read_index(struct dg_import *import, struct dg_span text, struct shards *shards,
                              struct dg_error *error)
{
    struct dg_json *json = NULL;
    const struct dg_json *map, *value;
    const struct dg_json_limits limits = {
        .max_bytes = INDEX_MAX, .max_depth = 4, .max_values = 200 * 1000};
    enum dg_err err = dg_json_parse(text, &limits, error, &json);
    if (!err)
        err = dg_json_get_object(json, "weight_map", DG_JSON_REQUIRED, error, &map);
    if (!err) {
        struct dg_json_iter iter = dg_json_iter(map);
        struct dg_span key, name;
        while (!err && dg_json_next(&iter, &key, &value)) {
            err = dg_json_string(value, DG_SPAN("weight_map"), error, &name);
            if (!err)
                err = add_shard(import, shards, name, error);
        }
    }
    dg_json_free(json);
    return err;
}

static enum dg_err add_shards(struct dg_import *import, const char *dir, const char *index,
                              bool is_torch, struct dg_error *error)
{
    struct shards shards = {.n = 0};
    struct dg_map_file file;
    const char *path = dg_import_path(import, dir, index);
    if (!path)
        return DG_ERR_NOMEM;
    enum dg_err err = dg_map_file_open(&file, path, INDEX_MAX, error);
    if (err)
        return err;
    err = read_index(import, dg_span_make((const char *)file.bytes, file.len), &shards, error);
    dg_map_file_close(&file);
    if (err)
        return dg_error_wrap(error, err, "%s", path);
    for (size_t i = 0; i < shards.n && !err; i++) {
        const char *shard = dg_import_path(import, dir, shards.names[i]);
        if (!shard)
            return DG_ERR_NOMEM;
        err = is_torch ? add_torch(import, shard, error) : add_safetensors(import, shard, error);
    }
    return err;
}

static enum dg_err add_weights(struct dg_import *import, const char *dir, struct dg_error *error)
{
    static const char *const names[] = {"Hugging Face directory, safetensors",
                                        "Hugging Face directory, sharded safetensors",
                                        "Hugging Face directory, pytorch_model.bin",
                                        "Hugging Face directory, sharded pytorch_model.bin"};
    size_t which = 0;
    while (which + 1 < N_WEIGHT_FILES && !dg_import_has(dir, weight_files[which]))
        which++;
    import->format = names[which];
    const char *path = dg_import_path(import, dir, weight_files[which]);
    if (!path)
        return DG_ERR_NOMEM;
    if (which % 2)
        return add_shards(import, dir, weight_files[which], which == 3, error);
    return which == 0 ? add_safetensors(import, path, error) : add_torch(import, path, error);
}

/* ---- The directory --------------------------------------------------------------------------- */

/* Whether a file is a vocabulary that the network does not use. The ids of encoders are those of
 * tokenizer.json; a SentencePiece model in the same directory has other ids or lacks the special
 * tokens. (If there is only that model, fairseq_vocab.h makes a tokenizer.json of it for the models
 * that it knows.) */
static bool is_other_vocab(const struct dg_import *import, const char *name)
{
    static const char *const names[] = {"source.spm",   "target.spm", "sentencepiece.bpe.model",
                                        "spiece.model", "spm.model",  "tokenizer.model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dg_blueprint_family(&import->bp)->has_head && strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static enum dg_err check_vocab(const struct dg_import *import, const char *dir, const char *name,
                               struct dg_error *error)
{
    if (!is_other_vocab(import, name) || dg_import_has(dir, "tokenizer.json") ||
        dg_import_has(dir, "vocab.txt") || dg_import_has(dir, "merges.txt"))
        return DG_OK;
    return dg_error_set(
        error, DG_ERR_NOT_FOUND,
        "%s has %s, but no tokenizer.json, which has the ids of an encoder's words; in Python, "
        "transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes it",
        dir, name);
}

static enum dg_err add_files(struct dg_import *import, const char *dir, struct dg_error *error)
{
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "source.spm",
                                        "target.spm",
                                        "vocab.json",
                                        "target_vocab.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "sentencepiece.bpe.model",
                                        "spiece.model",
                                        "spm.model",
                                        "tokenizer.model",
                                        "merges.txt",
                                        "vocab.txt",
                                        DG_LABELS_FILE,
                                        "quality.json",
                                        "lex.bin",
                                        "README.md",
                                        "card.md"};
    enum dg_fairseq_vocab fairseq = DG_FAIRSEQ_NONE;
    bool m2m = dg_m2m_vocab_is(import, dir);
    enum dg_err err = m2m ? dg_m2m_vocab_add(import, dir, error)
                          : dg_fairseq_vocab_kind(import, dir, &fairseq, error);
    if (!err && fairseq)
        err = dg_fairseq_vocab_add(import, dir, fairseq, error);
    for (size_t i = 0; i < sizeof names / sizeof *names && !err; i++) {
        if (import->own_config && i < 2)
            continue; /* config.json is printed, and includes generation_config.json */
        if (!dg_import_has(dir, names[i]) || (m2m && strcmp(names[i], "vocab.json") == 0))
            continue;
        err = fairseq ? DG_OK : check_vocab(import, dir, names[i], error);
        if (err || is_other_vocab(import, names[i]))
            continue;
        const char *path = dg_import_path(import, dir, names[i]);
        err = path ? dg_import_copy_file(import, names[i], path, error) : DG_ERR_NOMEM;
    }
    return err;
}

static enum dg_err open_hf(struct dg_import *import, const char *path, struct dg_error *error)
{
    struct hf *hf = dg_xcalloc(1, sizeof *hf);
    import->ctx = hf;
    import->load = load;
    import->close = close_hf;
    hf->blobs = dg_try_calloc(BLOBS_MAX, sizeof *hf->blobs);
    enum dg_err err = hf->blobs ? dg_config_read(&import->bp, path, error) : DG_ERR_NOMEM;
    if (!err)
        err = add_weights(import, path, error);
    if (!err && dg_blueprint_family(&import->bp)->has_prompt) {
        import->own_config = true;
        err = import->bp.norm_kind == DG_NORM_LAYER ? dg_import_gpt2(import) : DG_OK;
    }
    if (!err && dg_blueprint_family(&import->bp)->has_head && !import->own_config) {
        import->own_config = true;
        err = dg_import_enc(import, path, error);
    }
    return err ? err : add_files(import, path, error);
}

const struct dg_import_format dg_import_hf = {detect, open_hf};
