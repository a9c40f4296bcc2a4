/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Gives the tensors of BERT, RoBERTa (XLM-RoBERTa and CamemBERT use the same names), ELECTRA and
 * DistilBERT our names. Files of the bare network lack the "bert." before every name; old files
 * call a norm's gain gamma and its bias beta. Tensors of a head that the configuration does not
 * name are left out (the pooler of a masked language model, the next-sentence head). */
#include "base/file/map_file.h"
#include "import/format/import_int.h"
#include "model/config_enc.h"

#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX = 4 << 20 };

enum {
    ALL = 0xff,
    WORDS = 1 << DG_HEAD_WORDS,
    POOLED = 1 << DG_HEAD_POOLED,
    TOKENS = 1 << DG_HEAD_TOKENS,
    SPANS = 1 << DG_HEAD_SPANS,
    REPLACED = 1 << DG_HEAD_REPLACED
};

/* Names without the ".weight" or ".bias" at their ends, and the heads that need them. */
struct row {
    const char *theirs, *ours;
    unsigned heads;
};

static const struct row rows[] = {
    {"embeddings.word_embeddings", "model.encoder.embed_tokens", ALL},
    {"embeddings.position_embeddings", "model.encoder.embed_positions", ALL},
    {"embeddings.token_type_embeddings", "model.encoder.embed_types", ALL},
    {"embeddings.LayerNorm", "model.encoder.layernorm_embedding", ALL},
    {"embeddings.position_ids", NULL, 0},
    {"pooler.dense", "head.dense", POOLED},
    {"cls.predictions.transform.dense", "head.dense", WORDS},
    {"cls.predictions.transform.LayerNorm", "head.norm", WORDS},
    {"cls.predictions.decoder", "lm_head", WORDS},
    {"cls.predictions", "final_logits", WORDS}, /* its bias */
    {"cls.seq_relationship", NULL, 0},
    {"lm_head.dense", "head.dense", WORDS},
    {"lm_head.layer_norm", "head.norm", WORDS},
    {"lm_head.decoder", "lm_head", WORDS},
    {"lm_head", "final_logits", WORDS},
    {"generator_predictions.dense", "head.dense", WORDS},
    {"generator_predictions.LayerNorm", "head.norm", WORDS},
    {"generator_lm_head", "lm_head", WORDS},
    {"vocab_transform", "head.dense", WORDS},
    {"vocab_layer_norm", "head.norm", WORDS},
    {"vocab_projector", "lm_head", WORDS},
    {"classifier.dense", "head.dense", POOLED},
    {"classifier.out_proj", "head.out", POOLED},
    {"pre_classifier", "head.dense", POOLED},
    {"classifier", "head.out", POOLED | TOKENS},
    {"qa_outputs", "head.out", SPANS},
    {"discriminator_predictions.dense", "head.dense", REPLACED},
    {"discriminator_predictions.dense_prediction", "head.out", REPLACED},
};

/* The part of a name after "encoder.layer.<i>." or "transformer.layer.<i>.". */
static const struct row layer_rows[] = {
    {"attention.self.query", "self_attn.q_proj", ALL},
    {"attention.q_lin", "self_attn.q_proj", ALL},
    {"attention.self.key", "self_attn.k_proj", ALL},
    {"attention.k_lin", "self_attn.k_proj", ALL},
    {"attention.self.value", "self_attn.v_proj", ALL},
    {"attention.v_lin", "self_attn.v_proj", ALL},
    {"attention.output.dense", "self_attn.out_proj", ALL},
    {"attention.out_lin", "self_attn.out_proj", ALL},
    {"attention.output.LayerNorm", "self_attn_layer_norm", ALL},
    {"sa_layer_norm", "self_attn_layer_norm", ALL},
    {"intermediate.dense", "fc1", ALL},
    {"ffn.lin1", "fc1", ALL},
    {"output.dense", "fc2", ALL},
    {"ffn.lin2", "fc2", ALL},
    {"output.LayerNorm", "final_layer_norm", ALL},
    {"output_layer_norm", "final_layer_norm", ALL},
};

/* Divides a name into its parts: the part before the last dot, and ".weight" or ".bias". */
static bool divide(const char *name, char stem[DG_LAYOUT_NAME_CAP], const char **end)
{
    static const char *const ends[][2] = {
        {".weight", ".weight"}, {".bias", ".bias"}, {".gamma", ".weight"}, {".beta", ".bias"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (strcmp(dot, ends[i][0]) == 0 && dot - name < DG_LAYOUT_NAME_CAP) {
            snprintf(stem, DG_LAYOUT_NAME_CAP, "%.*s", (int)(dot - name), name);
            *end = ends[i][1];
            return true;
        }
    return false;
}

static const struct row *find(const struct row *table, size_t n, const char *stem)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(stem, table[i].theirs) == 0)
            return &table[i];
    return NULL;
}

/* Copies "3." of "encoder.layer.3.output.dense" and returns the rest; NULL when the name is not of
 * a layer. */
static const char *skip_layer(const char *name, char number[8])
{
    static const char *const before[] = {"encoder.layer.", "transformer.layer."};
    for (size_t i = 0; i < 2; i++) {
        const size_t len = strlen(before[i]),
                     digits = strspn(name + (strncmp(name, before[i], len) == 0 ? len : 0),
                                     "0123456789");
        if (strncmp(name, before[i], len) != 0 || digits == 0 || digits > 7 ||
            name[len + digits] != '.')
            continue;
        snprintf(number, 8, "%.*s", (int)digits, name + len);
        return name + len + digits + 1;
    }
    return NULL;
}

static const char *without_prefix(const char *name)
{
    static const char *const before[] = {"bert.", "roberta.", "distilbert.", "electra."};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(name, before[i], strlen(before[i])) == 0)
            return name + strlen(before[i]);
    return name;
}

/* Writes our name for a foreign one into `ours`, "" for a tensor that is left out; false for an
 * unknown name. */
static bool translate(const struct dg_blueprint *bp, const char *name,
                      char ours[DG_LAYOUT_NAME_CAP])
{
    char stem[DG_LAYOUT_NAME_CAP], number[8];
    const char *end = "", *rest;
    const struct row *row;
    name = without_prefix(name);
    ours[0] = '\0';
    if (strcmp(name, "embeddings.position_ids") == 0)
        return true; /* 0, 1, 2, ... */
    if (!divide(name, stem, &end))
        return false;
    if ((rest = skip_layer(stem, number)) != NULL) {
        row = find(layer_rows, sizeof layer_rows / sizeof *layer_rows, rest);
        if (row)
            snprintf(ours, DG_LAYOUT_NAME_CAP, "model.encoder.layers.%s.%s%s", number, row->ours,
                     end);
        return row != NULL;
    }
    row = find(rows, sizeof rows / sizeof *rows, stem);
    if (!row)
        return false;
    if (!(row->heads & 1u << bp->enc.head))
        return true;
    if (strcmp(row->ours, "final_logits") == 0 ||
        (strcmp(row->ours, "lm_head") == 0 && strcmp(end, ".bias") == 0)) {
        snprintf(ours, DG_LAYOUT_NAME_CAP, "final_logits_bias");
        return strcmp(end, ".bias") == 0;
    }
    snprintf(ours, DG_LAYOUT_NAME_CAP, "%s%s", row->ours, end);
    return true;
}

static bool is_there(const struct dg_import *import, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(import->tensors[i].info.name, name) == 0)
            return true;
    return false;
}

/* Renames the tensors that are needed and drops the others; the bias of words often occurs under
 * two names. */
static enum dg_err rename_all(struct dg_import *import)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < import->n_tensors; i++) {
        char ours[DG_LAYOUT_NAME_CAP];
        struct dg_import_tensor tensor = import->tensors[i];
        if (translate(&import->bp, tensor.info.name, ours)) {
            if (!ours[0] ||
                (strcmp(ours, "final_logits_bias") == 0 && is_there(import, n_kept, ours)))
                continue;
            const struct dg_span kept = dg_arena_copy(&import->arena, dg_span_cstr(ours));
            if (!kept.ptr)
                return DG_ERR_NOMEM;
            tensor.info.name = kept.ptr;
        }
        import->tensors[n_kept++] = tensor;
    }
    import->n_tensors = n_kept;
    return DG_OK;
}

static enum dg_err add_labels(struct dg_import *import, const char *dir, struct dg_error *error)
{
    struct dg_labels labels;
    struct dg_map_file file;
    struct dg_buf text;
    const char *path = dg_import_path(import, dir, "config.json");
    enum dg_err err = path ? dg_map_file_open(&file, path, CONFIG_MAX, error) : DG_ERR_NOMEM;
    if (err)
        return err;
    dg_labels_init(&labels);
    dg_buf_init(&text, DG_LABELS_MAX * (DG_LABELS_LEN_MAX + 1));
    err = dg_config_enc_labels(&labels, dg_span_make((const char *)file.bytes, file.len), error);
    if (err)
        dg_error_wrap(error, err, "%s", path);
    for (size_t i = 0; i < labels.n && !err; i++) {
        err = dg_buf_append_span(&text, labels.list[i]);
        if (!err)
            err = dg_buf_append_byte(&text, '\n');
    }
    if (!err)
        err = dg_import_make_file(import, DG_LABELS_FILE, dg_buf_span(&text), error);
    dg_buf_deinit(&text);
    dg_labels_close(&labels);
    dg_map_file_close(&file);
    return err;
}

enum dg_err dg_import_enc(struct dg_import *import, const char *dir, struct dg_error *error)
{
    const enum dg_head head = import->bp.enc.head;
    enum dg_err err = rename_all(import);
    if (!err && (head == DG_HEAD_POOLED || head == DG_HEAD_TOKENS) &&
        !dg_import_has(dir, DG_LABELS_FILE))
        err = add_labels(import, dir, error);
    return err;
}
