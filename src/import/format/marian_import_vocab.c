/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Marian's vocabularies. decoder.yml lists them; without it, the usual names in the model's folder
 * are tried. A .yml maps tokens to ids and needs SentencePiece models in the same folder to split
 * text; a .spm does both, because its piece numbers are the ids. In both cases the import writes a
 * vocab.json. */
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "import/container/yaml_in.h"
#include "import/format/marian.h"
#include "tokenize/spm/spm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { YAML_MAX = 64 << 20, JSON_MAX = 96 << 20, PATH_CAP = 4096 };

struct finding {
    struct dg_import *import;
    char dir[PATH_CAP];
    char source[PATH_CAP]; /* path of each vocabulary; "" until found */
    char target[PATH_CAP];
    size_t n_vocabs;
    double normalize;
};

/* ---- decoder.yml ----------------------------------------------------------------------------- */

/* Looks for a file in the model's folder: by the given path, then by the last part of that path. */
static bool resolve(const struct finding *f, struct dg_span given, char *path)
{
    char name[PATH_CAP / 2];
    if (given.len == 0 || given.len >= sizeof name || memchr(given.ptr, '\0', given.len))
        return false;
    snprintf(name, sizeof name, "%.*s", DG_SPAN_FMT(given));
    const char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    if (!dg_import_has(f->dir, last))
        return false;
    return (size_t)snprintf(path, PATH_CAP, "%s/%s", f->dir, last) < PATH_CAP;
}

static enum dg_err on_decoder(void *ctx, struct dg_span key, long index, struct dg_span value,
                              struct dg_error *error)
{
    struct finding *f = ctx;
    char text[32] = "";
    if (value.len < sizeof text && value.len)
        memcpy(text, value.ptr, value.len);
    if (dg_span_eq(key, DG_SPAN("vocabs")) && index >= 0) {
        char *path = f->n_vocabs == 0 ? f->source : f->target;
        if (f->n_vocabs++ > 1)
            return dg_error_set(error, DG_ERR_UNSUPPORTED, "key 'vocabs': more than one source");
        if (!resolve(f, value, path))
            return dg_error_set(error, DG_ERR_NOT_FOUND, "key 'vocabs': there is no %.*s in %s",
                                value.len > 200 ? 200 : DG_SPAN_FMT(value), f->dir);
    } else if (dg_span_eq(key, DG_SPAN("beam-size")) && index == DG_YAML_SCALAR) {
        unsigned long beams = strtoul(text, NULL, 10);
        if (beams >= 1 && beams <= 64)
            f->import->bp.n_beams = beams;
    } else if (dg_span_eq(key, DG_SPAN("normalize")) && index == DG_YAML_SCALAR) {
        double normalize = strtod(text, NULL);
        if (normalize >= 0 && normalize <= 10)
            f->import->bp.length_penalty = (float)normalize;
    } else if (dg_span_eq(key, DG_SPAN("word-penalty")) && index == DG_YAML_SCALAR &&
               strtod(text, NULL) != 0) {
        f->import->note = "decoder.yml has a word-penalty, which is not supported: answers may be "
                          "longer or shorter than Marian's";
    }
    return DG_OK;
}

static enum dg_err read_decoder(struct finding *f, const char *path, struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_open(&file, path, 1 << 20, error);
    if (err)
        return err;
    err =
        dg_yaml_visit(dg_span_make((const char *)file.bytes, file.len), path, on_decoder, f, error);
    dg_map_file_close(&file);
    if (!err && f->n_vocabs == 1)
        snprintf(f->target, sizeof f->target, "%s", f->source);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

/* ---- Without decoder.yml --------------------------------------------------------------------- */

static bool is_vocabulary(const char *name)
{
    struct dg_span span = dg_span_cstr(name);
    if (dg_span_ends(span, DG_SPAN(".spm")))
        return strcmp(name, "source.spm") != 0 && strcmp(name, "target.spm") != 0;
    return dg_span_ends(span, DG_SPAN("vocab.yml")) ||
           (dg_span_starts(span, DG_SPAN("vocab.")) && dg_span_ends(span, DG_SPAN(".yml")));
}

/* Finds vocabularies by their names. A single vocabulary serves both sides; of two, the one whose
 * name begins with "src" or "source" is the source's. */
static enum dg_err scan(struct finding *f, struct dg_error *error)
{
    DIR *dir = dg_folder_open(f->dir);
    size_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (!is_vocabulary(name))
            continue;
        n++;
        struct dg_span span = dg_span_cstr(name);
        bool source =
            dg_span_starts(span, DG_SPAN("src")) || dg_span_starts(span, DG_SPAN("source"));
        bool target =
            dg_span_starts(span, DG_SPAN("trg")) || dg_span_starts(span, DG_SPAN("target"));
        if (!target)
            resolve(f, span, f->source);
        if (!source)
            resolve(f, span, f->target);
    }
    if (dir)
        closedir(dir);
    if ((n != 1 && n != 2) || !f->source[0] || !f->target[0] ||
        (n == 2) != (strcmp(f->source, f->target) != 0))
        return dg_error_set(
            error, DG_ERR_NOT_FOUND,
            "%s: %zu vocabularies found, expected a decoder.yml that lists them, or one "
            "vocab.yml or vocab.spm, or srcvocab.* and trgvocab.*",
            f->dir, n);
    return DG_OK;
}

static enum dg_err find(struct finding *f, const char *path, struct dg_error *error)
{
    char decoder[PATH_CAP + 32];
    const char *slash = strrchr(path, '/');
    if ((size_t)snprintf(f->dir, sizeof f->dir, "%.*s", slash ? (int)(slash - path) : 1,
                         slash ? path : ".") >= sizeof f->dir)
        return dg_error_set(error, DG_ERR_LIMIT, "the path %s is too long", path);
    const char *name = slash ? slash + 1 : path;
    snprintf(decoder, sizeof decoder, "%s.decoder.yml", name);
    if (!dg_import_has(f->dir, decoder))
        snprintf(decoder, sizeof decoder, "decoder.yml");
    if (!dg_import_has(f->dir, decoder))
        return scan(f, error);
    const char *full = dg_import_path(f->import, f->dir, decoder);
    enum dg_err err = full ? read_decoder(f, full, error) : DG_ERR_NOMEM;
    if (!err && f->n_vocabs == 0)
        err = scan(f, error);
    return err;
}

/* ---- vocab.json ------------------------------------------------------------------------------ */

struct listing {
    struct dg_json_out json;
    size_t V;
    const char *path;
    int32_t eos, unk;
};

static enum dg_err list_token(struct listing *l, struct dg_span token, size_t id,
                              struct dg_error *error)
{
    if (id >= l->V)
        return dg_error_set(error, DG_ERR_RANGE, "%s: id %zu, but the embedding has %zu rows",
                            l->path, id, l->V);
    if (memchr(token.len ? token.ptr : "x", '\0', token.len ? token.len : 1))
        return dg_error_set(error, DG_ERR_FORMAT, "%s: the token of id %zu holds a NUL", l->path,
                            id);
    if (dg_span_eq(token, DG_SPAN("</s>")))
        l->eos = (int32_t)id;
    if (dg_span_eq(token, DG_SPAN("<unk>")))
        l->unk = (int32_t)id;
    dg_json_out_key_span(&l->json, token);
    dg_json_out_uint(&l->json, id);
    return DG_OK;
}

static enum dg_err on_token(void *ctx, struct dg_span key, long index, struct dg_span value,
                            struct dg_error *error)
{
    struct listing *l = ctx;
    size_t id = 0;
    bool good = index == DG_YAML_SCALAR && value.len > 0 && value.len < 10;
    for (size_t i = 0; i < value.len && good; i++) {
        good = value.ptr[i] >= '0' && value.ptr[i] <= '9';
        id = id * 10 + (size_t)(value.ptr[i] - '0');
    }
    if (!good)
        return dg_error_set(error, DG_ERR_FORMAT, "%s: the id of '%.*s' is not a number", l->path,
                            key.len > 100 ? 100 : DG_SPAN_FMT(key));
    return list_token(l, key, id, error);
}

static enum dg_err list_yaml(struct listing *l, struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_open(&file, l->path, YAML_MAX, error);
    if (err)
        return err;
    err = dg_yaml_visit(dg_span_make((const char *)file.bytes, file.len), l->path, on_token, l,
                        error);
    dg_map_file_close(&file);
    return err;
}

static enum dg_err list_spm(struct listing *l, struct dg_error *error)
{
    struct dg_spm *spm;
    enum dg_err err = dg_spm_open(l->path, error, &spm);
    if (err)
        return err;
    for (uint32_t id = 0; id < dg_spm_size(spm) && !err; id++)
        err = list_token(l, dg_spm_piece(spm, id), id, error);
    dg_spm_close(spm);
    return err;
}

static bool is_spm(const char *path)
{
    return dg_span_ends(dg_span_cstr(path), DG_SPAN(".spm"));
}

static enum dg_err make_json(struct finding *f, const char *path, size_t V, const char *name,
                             int32_t *eos, int32_t *unk, struct dg_error *error)
{
    struct dg_buf text;
    struct listing l = {.V = V, .path = path, .eos = DG_ID_NONE, .unk = DG_ID_NONE};
    dg_buf_init(&text, JSON_MAX);
    dg_json_out_init(&l.json, &text);
    dg_json_out_open(&l.json, '{');
    enum dg_err err = is_spm(path) ? list_spm(&l, error) : list_yaml(&l, error);
    dg_json_out_close(&l.json, '}');
    if (!err)
        err = dg_json_out_end(&l.json);
    if (!err && l.eos == DG_ID_NONE)
        err = dg_error_set(error, DG_ERR_FORMAT, "%s: there is no token </s>", path);
    if (!err && l.eos == l.unk)
        err = dg_error_set(error, DG_ERR_FORMAT, "%s: </s> and <unk> both have the id %d", path,
                           (int)l.eos);
    if (!err)
        err = dg_import_make_file(f->import, name, dg_buf_span(&text), error);
    dg_buf_deinit(&text);
    *eos = l.eos;
    *unk = l.unk;
    return err;
}

/* ---- All together ---------------------------------------------------------------------------- */

/* Returns the rows of an embedding; 0 when it is missing, which the matching will report. */
static size_t rows_of(const struct dg_import *import, const char *side)
{
    char own[64];
    snprintf(own, sizeof own, "model.%s.embed_tokens.weight", side);
    size_t rows = 0;
    for (size_t i = 0; i < import->n_tensors; i++) {
        const struct dg_tensor_info *info = &import->tensors[i].info;
        if (strcmp(info->name, own) == 0)
            return info->shape[0];
        if (strcmp(info->name, "model.shared.weight") == 0)
            rows = info->shape[0];
    }
    return rows;
}

static enum dg_err add_spm(struct finding *f, struct dg_error *error)
{
    static const char *const names[] = {"source.spm", "target.spm"};
    const char *const vocabs[] = {f->source, f->target};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < 2 && !err; i++) {
        if (is_spm(vocabs[i])) {
            err = dg_import_copy_file(f->import, names[i], vocabs[i], error);
        } else if (dg_import_has(f->dir, names[i])) {
            const char *path = dg_import_path(f->import, f->dir, names[i]);
            err = path ? dg_import_copy_file(f->import, names[i], path, error) : DG_ERR_NOMEM;
        } else {
            f->import->note =
                "there is no source.spm and target.spm beside the model: put them into "
                "the new directory, without them no text can be split";
        }
    }
    return err;
}

enum dg_err dg_marian_vocabulary(struct dg_import *import, const char *path, struct dg_error *error)
{
    struct finding *f = dg_xcalloc(1, sizeof *f);
    struct dg_blueprint *bp = &import->bp;
    int32_t source_eos = DG_ID_NONE, source_unk = DG_ID_NONE;
    f->import = import;
    bp->encoder.V = rows_of(import, "encoder");
    bp->decoder.V = rows_of(import, "decoder");
    enum dg_err err = find(f, path, error);
    bool same = !err && strcmp(f->source, f->target) == 0;
    if (!err)
        err = make_json(f, f->source, bp->encoder.V, "vocab.json", &source_eos, &source_unk, error);
    bp->eos_id = source_eos;
    bp->unk_id = source_unk;
    if (!err && !same)
        err = make_json(f, f->target, bp->decoder.V, "target_vocab.json", &bp->eos_id, &bp->unk_id,
                        error);
    if (!err && !same)
        err = dg_import_make_file(import, "tokenizer_config.json",
                                  DG_SPAN("{\"separate_vocabs\": true}\n"), error);
    if (!err && bp->eos_id != source_eos)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "</s> is %d in %s but %d in %s",
                           (int)source_eos, f->source, (int)bp->eos_id, f->target);
    if (!err)
        err = add_spm(f, error);
    if (same != bp->tie_source_target)
        bp->source_words = same ? DG_SOURCE_WORDS_LISTED : DG_SOURCE_WORDS_UNLISTED;
    if (!err && bp->unk_id != DG_ID_NONE) {
        bp->suppress[0] = bp->unk_id;
        bp->n_suppress = 1;
    }
    dg_free(f);
    return err;
}
