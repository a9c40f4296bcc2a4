/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman trim DIR OUT TEXT...: writes the model without the pieces that the texts do not use, and
 * without their rows of the embeddings, the output and its bias.
 *     mark      ids of all texts, as source and as target; special ones, single characters, steps
 *               of BPE merges
 *     renumber  the remaining ids, in their order
 *     write     vocabulary, config.json, weights in their original types
 *
 * Both sides must share one list of ids: a single SentencePiece file, or one vocab.json. */
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/file/text_in.h"
#include "base/json/json_out.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "model/config.h"
#include "model/layout.h"
#include "model/model_dir.h"
#include "model/weights_out.h"
#include "tensor/convert.h"
#include "tokenize/target_ids.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "vocabulary/spm_trim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 64, SPM_MAX = 64 << 20, CONFIG_MAX = 1 << 20, ITEMS_MAX = 8192 };

struct trim {
    int help;
    bool quiet;
};

static const struct dg_opt_row rows[] = {
    {DG_OPT_BOOL(struct trim, quiet), "quiet", .letter = 'q', .help = "no summary"},
    DG_OPT_HELP(struct trim, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman trim",
    .summary = "Makes OUT from the model DIR, without the pieces that the texts do not use.",
    DG_OPT_ROWS(rows, struct trim),
    .args = "DIR OUT TEXT...",
    .args_min = 3,
    .args_max = FILES_MAX + 2,
};

struct work {
    const char *dir, *out;
    struct dg_blueprint bp;
    struct dg_model *model;
    struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    bool has_json;   /* the ids are in vocab.json */
    bool *keep;      /* [V] */
    int32_t *new_id; /* [V] -1: removed */
    size_t V, n_kept;
};

static bool has(const char *dir, const char *name)
{
    char path[DG_PATH_CAP];
    return dg_folder_path(dir, name, path, NULL) == DG_OK && access(path, F_OK) == 0;
}

/* ---- Marking --------------------------------------------------------------------------------- */

static void keep_id(struct work *work, int32_t id)
{
    if (id >= 0 && (size_t)id < work->V)
        work->keep[id] = true;
}

static void keep_special(struct work *work)
{
    const struct dg_blueprint *bp = &work->bp;
    const struct dg_tokenizer_side sides[] = {dg_tokenizer_source(work->tokenizer),
                                              dg_tokenizer_target(work->tokenizer)};
    const int32_t ids[] = {bp->pad_id,   bp->eos_id,        bp->bos_id,       bp->unk_id,
                           bp->start_id, bp->forced_bos_id, bp->forced_eos_id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        keep_id(work, ids[i]);
    for (size_t i = 0; i < bp->n_suppress; i++)
        keep_id(work, bp->suppress[i]);
    for (size_t i = 0; i < 2; i++) {
        keep_id(work, sides[i].unk);
        keep_id(work, sides[i].bos);
        keep_id(work, sides[i].eos);
        keep_id(work, sides[i].pad);
    }
}

static enum dg_err mark_text(struct work *work, struct dg_span text, struct dg_error *error)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    int32_t *target = NULL;
    size_t n;
    enum dg_err err =
        dg_tokenizer_encode(work->tokenizer, work->source_work, text, &opts, error, &tokens, &n);
    for (size_t i = 0; i < n && !err; i++)
        keep_id(work, tokens[i].id);
    if (!err)
        err = dg_target_ids(work->tokenizer, work->target_work, text, &target, &n);
    for (size_t i = 0; i < n && !err; i++)
        keep_id(work, target[i]);
    dg_free(target);
    return err;
}

/* Marks the tokens of a file; every column of a line counts as a text. */
static enum dg_err mark_file(struct work *work, const char *path, struct dg_error *error)
{
    struct dg_text_in in;
    struct dg_span line;
    enum dg_err err = dg_text_in_open(&in, path, error);
    if (err)
        return err;
    while (!err && dg_text_in_line(&in, &line))
        while (line.len && !err) {
            const char *tab = memchr(line.ptr, '\t', line.len);
            const size_t len = tab ? (size_t)(tab - line.ptr) : line.len;
            err = mark_text(work, dg_span_sub(line, 0, len), error);
            line = dg_span_sub(line, len + 1, line.len);
            if (err == DG_ERR_UTF8)
                err = DG_OK; /* a line that is not valid text has no pieces */
        }
    dg_text_in_close(&in);
    return err;
}

/* Returns the network's id for a piece of the model; -1 when there is none. */
static int32_t id_of(const struct work *work, const struct dg_spm *spm, uint32_t piece,
                     bool is_target)
{
    if (!work->has_json)
        return (int32_t)piece;
    const struct dg_span text = dg_spm_piece(spm, piece);
    return is_target ? dg_tokenizer_find_target(work->tokenizer, text)
                     : dg_tokenizer_find(work->tokenizer, text);
}

/* Marks the pieces of a model whose ids are kept, and the pieces that these need, whose ids are
 * then kept too. */
static enum dg_err mark_pieces(struct work *work, const struct dg_spm *spm, bool is_target,
                               bool **pieces)
{
    const uint32_t n = dg_spm_size(spm);
    bool *keep = dg_try_calloc(n, sizeof *keep);
    if (!keep)
        return DG_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t id = id_of(work, spm, i, is_target);
        keep[i] = id >= 0 && (size_t)id < work->V && work->keep[id];
    }
    dg_spm_trim_close(spm, keep);
    for (uint32_t i = 0; i < n; i++)
        if (keep[i])
            keep_id(work, id_of(work, spm, i, is_target));
    *pieces = keep;
    return DG_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err write_spm(const struct work *work, const char *name, const bool *keep,
                             struct dg_error *error)
{
    char from[DG_PATH_CAP], to[DG_PATH_CAP];
    struct dg_map_file file;
    struct dg_buf out;
    enum dg_err err = dg_folder_path(work->dir, name, from, error);
    if (!err)
        err = dg_folder_path(work->out, name, to, error);
    if (!err)
        err = dg_map_file_open(&file, from, SPM_MAX, error);
    if (err)
        return err;
    dg_buf_init(&out, SPM_MAX);
    err = dg_spm_trim(file.bytes, file.len, keep, &out, error);
    if (!err)
        err = dg_file_out_save(to, 0644, out.ptr ? out.ptr : "", out.len, error);
    dg_buf_deinit(&out);
    dg_map_file_close(&file);
    return err;
}

/* Writes {"piece": id, ...} with the new ids. */
static enum dg_err write_json(const struct work *work, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    struct dg_json_out out;
    enum dg_err err = dg_folder_path(work->out, "vocab.json", path, error);
    dg_buf_init(&text, SPM_MAX);
    dg_json_out_init(&out, &text);
    dg_json_out_open(&out, '{');
    for (size_t id = 0; id < work->V && !err; id++) {
        char key[1024];
        const struct dg_span piece = dg_tokenizer_target_piece(work->tokenizer, (int32_t)id);
        if (!work->keep[id])
            continue;
        if (piece.len == 0 || piece.len >= sizeof key)
            err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                               "%s: id %zu is kept but vocab.json has no piece for it", work->dir,
                               id);
        if (err)
            break;
        memcpy(key, piece.ptr, piece.len);
        key[piece.len] = '\0';
        dg_json_out_put_int(&out, key, work->new_id[id]);
    }
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

static int32_t renamed(const struct work *work, int32_t id)
{
    return id >= 0 && (size_t)id < work->V ? work->new_id[id] : id;
}

static enum dg_err write_config(const struct work *work, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    struct dg_buf text;
    struct dg_blueprint bp = work->bp;
    int32_t *const ids[] = {&bp.pad_id,   &bp.eos_id,        &bp.bos_id,       &bp.unk_id,
                            &bp.start_id, &bp.forced_bos_id, &bp.forced_eos_id};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        *ids[i] = renamed(work, *ids[i]);
    for (size_t i = 0; i < bp.n_suppress; i++)
        bp.suppress[i] = renamed(work, bp.suppress[i]);
    bp.encoder.V = bp.decoder.V = work->n_kept;
    dg_buf_init(&text, CONFIG_MAX);
    enum dg_err err = dg_folder_path(work->out, "config.json", path, error);
    if (!err)
        err = dg_config_print(&bp, &text);
    if (!err)
        err = dg_file_out_save(path, 0644, text.ptr, text.len, error);
    dg_buf_deinit(&text);
    return err;
}

struct tensors {
    const struct work *work;
    const struct dg_tensor *from[ITEMS_MAX];
    char names[ITEMS_MAX][DG_LAYOUT_NAME_CAP];
    bool is_words[ITEMS_MAX]; /* true for items with a row, or an element, for each id */
    struct dg_weights_out_item items[ITEMS_MAX];
    size_t n;
    int32_t *old_id; /* [n_kept] */
};

static enum dg_err on_item(void *ctx, const struct dg_layout_item *item)
{
    struct tensors *t = ctx;
    if (t->n == ITEMS_MAX)
        return DG_ERR_LIMIT;
    /* Matrices over words are recognised by name, since the width squared may equal the size by
     * chance. */
    const bool is_words = strcmp(item->name, "model.shared.weight") == 0 ||
                          strcmp(item->name, "lm_head.weight") == 0 ||
                          strcmp(item->name, "final_logits_bias") == 0 ||
                          strstr(item->name, ".embed_tokens.weight");
    memcpy(t->names[t->n], item->name, strlen(item->name) + 1);
    t->from[t->n] = item->slot;
    t->is_words[t->n] = is_words;
    t->items[t->n] = (struct dg_weights_out_item){
        .name = t->names[t->n],
        .rank = item->rank,
        .shape = {is_words ? t->work->n_kept : item->shape[0], item->shape[1]},
        .dtype = dg_weights_out_dtype(item->slot->dtype, item->rank),
    };
    t->n++;
    return DG_OK;
}

static enum dg_err give_rows(void *ctx, size_t i, size_t first, size_t n, float *out,
                             struct dg_error *error)
{
    const struct tensors *t = ctx;
    const struct dg_weights_out_item *item = &t->items[i];
    const size_t width = item->rank == 1 ? item->shape[0] : item->shape[1];
    (void)error;
    if (!t->is_words[i]) {
        dg_convert_tensor(out, t->from[i], first * width, n * width);
    } else if (item->rank == 1) {
        for (size_t j = 0; j < width; j++)
            dg_convert_tensor(out + j, t->from[i], (size_t)t->old_id[j], 1);
    } else {
        for (size_t j = 0; j < n; j++)
            dg_convert_tensor(out + j * width, t->from[i], (size_t)t->old_id[first + j] * width,
                              width);
    }
    return DG_OK;
}

static enum dg_err write_weights(const struct work *work, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    /* writable because the visit hands out slots; nothing is written through them */
    struct dg_weights weights = *dg_model_weights(work->model);
    struct tensors *t = dg_try_calloc(1, sizeof *t);
    int32_t *old_id = dg_try_calloc(work->n_kept, sizeof *old_id);
    enum dg_err err =
        t && old_id ? dg_folder_path(work->out, "model.safetensors", path, error) : DG_ERR_NOMEM;
    if (!err) {
        t->work = work;
        t->old_id = old_id;
        for (size_t id = 0; id < work->V; id++)
            if (work->keep[id])
                old_id[work->new_id[id]] = (int32_t)id;
        err = dg_layout_visit(&work->bp, &weights, on_item, t);
    }
    const struct dg_weights_out_source source = {.ctx = t, .rows = give_rows};
    if (!err)
        err = dg_weights_out_save(path, t->items, t->n, &source, error);
    dg_free(old_id);
    dg_free(t);
    return err;
}

static enum dg_err copy_others(const struct work *work, struct dg_error *error)
{
    static const char *const names[] = {"tokenizer_config.json", "card.md"};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && !err; i++) {
        char from[DG_PATH_CAP], to[DG_PATH_CAP];
        struct dg_map_file file;
        if (!has(work->dir, names[i]))
            continue;
        err = dg_folder_path(work->dir, names[i], from, error);
        if (!err)
            err = dg_folder_path(work->out, names[i], to, error);
        if (!err)
            err = dg_map_file_open(&file, from, SPM_MAX, error);
        if (err)
            break;
        err = dg_file_out_save(to, 0644, file.bytes, file.len, error);
        dg_map_file_close(&file);
    }
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err open_all(struct work *work, struct dg_error *error)
{
    enum dg_err err = dg_model_open(&work->model, work->dir, error);
    if (!err)
        err = dg_tokenizer_open(work->dir, error, &work->tokenizer);
    if (err)
        return err;
    work->bp = *dg_model_blueprint(work->model);
    if (!dg_blueprint_family(&work->bp)->has_cross_heads)
        return dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: only Transformers can be trimmed",
                            work->dir);
    work->V = work->bp.encoder.V;
    work->has_json = has(work->dir, "vocab.json");
    if (!has(work->dir, "source.spm") || has(work->dir, "target_vocab.json") ||
        work->bp.decoder.V != work->V || (!work->has_json && has(work->dir, "target.spm")))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: expected one list of ids for both sides: source.spm alone, or "
                            "source.spm, target.spm and "
                            "vocab.json; dragoman import makes such a directory of most models",
                            work->dir);
    work->keep = dg_try_calloc(work->V, sizeof *work->keep);
    work->new_id = dg_try_calloc(work->V, sizeof *work->new_id);
    work->source_work = dg_tokenizer_work_new();
    work->target_work = dg_spm_work_new();
    return work->keep && work->new_id && work->source_work && work->target_work ? DG_OK
                                                                                : DG_ERR_NOMEM;
}

static void close_all(struct work *work)
{
    dg_free(work->keep);
    dg_free(work->new_id);
    dg_tokenizer_work_free(work->source_work);
    dg_spm_work_free(work->target_work);
    dg_tokenizer_close(work->tokenizer);
    dg_model_unref(work->model);
}

static enum dg_err write_all(struct work *work, const bool *source, const bool *target,
                             struct dg_error *error)
{
    if (mkdir(work->out, 0777) != 0)
        return dg_error_errno(error, "cannot make the folder %s", work->out);
    for (size_t id = 0; id < work->V; id++)
        work->new_id[id] = work->keep[id] ? (int32_t)work->n_kept++ : -1;
    enum dg_err err = write_spm(work, "source.spm", source, error);
    if (!err && has(work->dir, "target.spm"))
        err = write_spm(work, "target.spm", target, error);
    if (!err && work->has_json)
        err = write_json(work, error);
    if (!err)
        err = copy_others(work, error);
    if (!err)
        err = write_weights(work, error);
    /* last, because without config.json nobody mistakes the unfinished folder for a model */
    return err ? err : write_config(work, error);
}

static enum dg_err run_trim(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct trim *flags = dg_opt_values(set);
    struct work work = {.dir = dg_opt_arg(set, 0), .out = dg_opt_arg(set, 1)};
    bool *source = NULL, *target = NULL;
    enum dg_err err = open_all(&work, error);
    if (!err)
        keep_special(&work);
    for (size_t i = 2; i < dg_opt_n_args(set) && !err; i++)
        err = mark_file(&work, dg_opt_arg(set, i), error);
    if (!err)
        err = mark_pieces(&work, dg_tokenizer_source_spm(work.tokenizer), false, &source);
    if (!err)
        err = mark_pieces(&work, dg_tokenizer_target_spm(work.tokenizer), true, &target);
    if (!err)
        err = write_all(&work, source, target, error);
    if (!err && !flags->quiet)
        fprintf(stderr, "trim: kept=%zu of=%zu dir=%s\n", work.n_kept, work.V, work.out);
    dg_free(source);
    dg_free(target);
    close_all(&work);
    return err;
}

int dg_cmd_trim(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_trim);
}
