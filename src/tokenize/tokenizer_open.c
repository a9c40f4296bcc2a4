/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finding a directory's tokenizer files:
 *
 *  1. vocab.json and source.spm: Marian; without target.spm, source.spm serves both sides;
 *     or tokenizer.json, or vocab.json and merges.txt, or vocab.txt, without a SentencePiece model
 *     other than Llama's: subwords (subword.h);
 *  2. one of the plain names that trainers and converters use;
 *  3. Bergamot's names, which contain the languages: srcvocab.fren.spm and trgvocab.fren.spm, or
 *     vocab.fren.spm for both. */
#include "base/file/folder.h"
#include "base/json/json_file.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "tokenize/tokenizer.h"
#include "tokenize/tokenizer_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_MAX = 4 << 20 };

static bool has_file(const char *dir, const char *name)
{
    char path[DG_PATH_CAP];
    return dg_folder_path(dir, name, path, NULL) == DG_OK && access(path, F_OK) == 0;
}

static enum dg_err open_spm(const char *dir, const char *name, struct dg_error *error,
                            struct dg_spm **spm)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, name, path, error);
    return err ? err : dg_spm_open(path, error, spm);
}

/* ---- Marian ---------------------------------------------------------------------------------- */

static enum dg_err open_vocab(const char *dir, const char *name, const struct dg_spm *first,
                              const struct dg_spm *second, struct dg_error *error,
                              struct dg_marian_vocab *vocab)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_folder_path(dir, name, path, error);
    return err ? err
               : dg_marian_vocab_init(vocab, path, first, second != first ? second : NULL, error);
}

static enum dg_err open_marian(struct dg_tokenizer *t, const char *dir, struct dg_error *error)
{
    const char *target_vocab =
        has_file(dir, "target_vocab.json") ? "target_vocab.json" : "vocab.json";
    enum dg_err err = open_spm(dir, "source.spm", error, &t->source);
    if (!err && has_file(dir, "target.spm"))
        err = open_spm(dir, "target.spm", error, &t->target);
    else
        t->target = t->source;
    if (err)
        return err;
    t->is_marian = true;
    err = open_vocab(dir, "vocab.json", t->source, t->target, error, &t->source_vocab);
    if (!err)
        err = open_vocab(dir, target_vocab, t->target, t->source, error, &t->target_vocab);
    return err;
}

/* ---- Plain ----------------------------------------------------------------------------------- */

static const char *plain_name(const char *dir)
{
    static const char *const names[] = {"source.spm",          "spiece.model",
                                        "sentencepiece.model", "sentencepiece.bpe.model",
                                        "tokenizer.model",     "vocab.spm"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_file(dir, names[i]))
            return names[i];
    return NULL;
}

struct bergamot_names {
    char source[256], target[256], shared[256];
};

static void keep_name(char kept[256], const char *name, const char *start)
{
    struct dg_span text = dg_span_cstr(name);
    if (dg_span_starts(text, dg_span_cstr(start)) && dg_span_ends(text, DG_SPAN(".spm")) &&
        text.len < 256)
        memcpy(kept, name, text.len + 1);
}

static enum dg_err list_bergamot(const char *dir, struct dg_error *error,
                                 struct bergamot_names *names)
{
    DIR *list = dg_folder_open(dir);
    if (!list)
        return dg_error_errno(error, "cannot list %s", dir);
    *names = (struct bergamot_names){0};
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        keep_name(names->source, entry->d_name, "srcvocab.");
        keep_name(names->target, entry->d_name, "trgvocab.");
        keep_name(names->shared, entry->d_name, "vocab.");
    }
    closedir(list);
    return DG_OK;
}

static enum dg_err open_plain(struct dg_tokenizer *t, const char *dir, struct dg_error *error)
{
    const char *name = plain_name(dir);
    struct bergamot_names names;
    enum dg_err err;
    if (name) {
        err = open_spm(dir, name, error, &t->source);
        if (!err && strcmp(name, "source.spm") == 0 && has_file(dir, "target.spm"))
            return open_spm(dir, "target.spm", error, &t->target);
        t->target = t->source;
        return err;
    }
    err = list_bergamot(dir, error, &names);
    if (err)
        return err;
    if (names.source[0] && names.target[0]) {
        err = open_spm(dir, names.source, error, &t->source);
        return err ? err : open_spm(dir, names.target, error, &t->target);
    }
    if (!names.shared[0])
        return dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "%s: no tokenizer found; expected source.spm and vocab.json, vocab.*.spm, "
            "spiece.model, sentencepiece.model, tokenizer.json or vocab.txt",
            dir);
    err = open_spm(dir, names.shared, error, &t->source);
    t->target = t->source;
    return err;
}

/* ---- Habits ---------------------------------------------------------------------------------- */

/* tokenizer_config.json may say "add_eos_token": false. */
static enum dg_err read_habits(struct dg_tokenizer *t, const char *dir, struct dg_error *error)
{
    static const char name[] = "tokenizer_config.json";
    const struct dg_json_limits limits = {
        .max_bytes = CONFIG_MAX, .max_depth = 32, .max_values = 100 * 1000};
    char path[DG_PATH_CAP];
    struct dg_json *json = NULL;
    bool adds = true;
    if (!has_file(dir, name))
        return DG_OK;
    enum dg_err err = dg_folder_path(dir, name, path, error);
    if (!err)
        err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    err = dg_json_get_bool(json, "add_eos_token", DG_JSON_OPTIONAL, error, &adds);
    dg_json_free(json);
    t->source_is_bare = !adds;
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

/* ---- Open and close -------------------------------------------------------------------------- */

static enum dg_err open_any(struct dg_tokenizer *t, const char *path, struct dg_error *error)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return dg_error_errno(error, "cannot open %s", path);
    if (!S_ISDIR(st.st_mode)) {
        enum dg_err err = dg_spm_open(path, error, &t->source);
        t->target = t->source;
        return err;
    }
    enum dg_err err = read_habits(t, path, error);
    if (err)
        return err;
    if (has_file(path, "vocab.json") && has_file(path, "source.spm"))
        return open_marian(t, path, error);
    const char *plain = plain_name(path);
    if (dg_subword_is_there(path) && (!plain || strcmp(plain, "tokenizer.model") == 0))
        return dg_subword_open(&t->subword, path, error);
    return open_plain(t, path, error);
}

enum dg_err dg_tokenizer_open(const char *path, struct dg_error *error, struct dg_tokenizer **out)
{
    struct dg_tokenizer *t = dg_xcalloc(1, sizeof *t);
    enum dg_err err = open_any(t, path, error);
    if (err) {
        dg_tokenizer_close(t);
        return err;
    }
    *out = t;
    return DG_OK;
}

void dg_tokenizer_close(struct dg_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    dg_subword_close(tokenizer->subword);
    dg_marian_vocab_deinit(&tokenizer->source_vocab);
    dg_marian_vocab_deinit(&tokenizer->target_vocab);
    if (tokenizer->target != tokenizer->source)
        dg_spm_close(tokenizer->target);
    dg_spm_close(tokenizer->source);
    dg_free(tokenizer);
}
