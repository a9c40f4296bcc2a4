/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Fetches the weights (model.safetensors, else pytorch_model.bin), the configuration, and all files
 * of the vocabulary, of whichever kind. */
#include "fetch/source_hf.h"

#include "base/json/json.h"

#include <stdio.h>
#include <string.h>

#define HOST "https://huggingface.co/"

enum { ANSWER_MAX = 4 << 20 };

static const char *const wanted[] = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "pytorch_model.bin",
    "sentencepiece.bpe.model",
    "source.spm",
    "special_tokens_map.json",
    "spiece.model",
    "target.spm",
    "target_vocab.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
};
enum { N_WANTED = sizeof wanted / sizeof *wanted, SAFETENSORS = 2, PYTORCH = 3 };

/* ---- Names ----------------------------------------------------------------------------------- */

static bool copy_part(char to[DG_HF_TEXT], struct dg_span part)
{
    if (part.len >= DG_HF_TEXT || !dg_catalogue_is_name(part))
        return false;
    snprintf(to, DG_HF_TEXT, "%.*s", DG_SPAN_FMT(part));
    return true;
}

bool dg_hf_parse(struct dg_hf *hf, const char *text)
{
    char name[DG_HF_TEXT];
    snprintf(hf->revision, sizeof hf->revision, "main");
    if (strncmp(text, "opus:", 5) == 0) {
        snprintf(hf->owner, sizeof hf->owner, "Helsinki-NLP");
        const int n = snprintf(name, sizeof name, "opus-mt-%s", text + 5);
        return n < DG_HF_TEXT && copy_part(hf->name, dg_span_cstr(name));
    }
    if (strncmp(text, "hf:", 3) != 0)
        return false;
    const char *owner = text + 3, *slash = strchr(owner, '/');
    if (!slash)
        return false;
    const char *at = strchr(slash, '@');
    const size_t len = at ? (size_t)(at - slash - 1) : strlen(slash + 1);
    return copy_part(hf->owner, dg_span_make(owner, (size_t)(slash - owner))) &&
           copy_part(hf->name, dg_span_make(slash + 1, len)) &&
           (!at || copy_part(hf->revision, dg_span_cstr(at + 1)));
}

void dg_hf_url(const struct dg_hf *hf, char url[DG_TRANSFER_URL_MAX])
{
    snprintf(url, DG_TRANSFER_URL_MAX, HOST "api/models/%s/%s/revision/%s?blobs=true", hf->owner,
             hf->name, hf->revision);
}

/* Gets the languages from the end of "opus-mt-fr-en"; for other names the directory gets the whole
 * name. */
static enum dg_err name_it(struct dg_package *package, const struct dg_hf *hf)
{
    const char *last = strrchr(hf->name, '-'), *begin = last;
    while (begin && begin > hf->name && begin[-1] != '-')
        begin--;
    const struct dg_span target = dg_span_cstr(last ? last + 1 : "");
    const struct dg_span source =
        last ? dg_span_make(begin, (size_t)(last - begin)) : (struct dg_span){0};
    const bool is_pair = target.len >= 2 && target.len <= 3 && source.len >= 2 && source.len <= 3 &&
                         dg_catalogue_is_language(source) && dg_catalogue_is_language(target);
    package->name = dg_arena_copy(&package->arena, dg_span_cstr(is_pair ? begin : hf->name)).ptr;
    package->source = package->target = "";
    if (is_pair) {
        package->source = dg_arena_copy(&package->arena, source).ptr;
        package->target = dg_arena_copy(&package->arena, target).ptr;
    }
    return package->name && package->source && package->target ? DG_OK : DG_ERR_NOMEM;
}

/* ---- The list -------------------------------------------------------------------------------- */

static int index_of(struct dg_span name)
{
    for (int i = 0; i < N_WANTED; i++)
        if (dg_span_eq(name, dg_span_cstr(wanted[i])))
            return i;
    return -1;
}

/* Notes one file of the list, if the import needs it. */
static enum dg_err note_file(const struct dg_json *json, const struct dg_json *found[N_WANTED],
                             struct dg_error *error)
{
    struct dg_span name;
    enum dg_err err = dg_json_get_string(json, "rfilename", DG_JSON_REQUIRED, error, &name);
    const int i = err ? -1 : index_of(name);
    if (i >= 0)
        found[i] = json;
    return err;
}

static const char *copy_hash(struct dg_package *package, struct dg_span hash, size_t n)
{
    return dg_catalogue_is_hash(hash, n) ? dg_arena_copy(&package->arena, hash).ptr : "";
}

static enum dg_err add_file(struct dg_package *package, const struct dg_hf *hf, const char *commit,
                            const char *name, const struct dg_json *json, struct dg_error *error)
{
    struct dg_package_file *file = &package->files[package->n_files++];
    const struct dg_json *lfs = NULL;
    struct dg_span sha256 = {0}, blob = {0};
    char url[DG_TRANSFER_URL_MAX];
    int64_t size = 0;
    enum dg_err err = dg_json_get_object(json, "lfs", DG_JSON_OPTIONAL, error, &lfs);
    if (!err && lfs)
        err = dg_json_get_string(lfs, "sha256", DG_JSON_OPTIONAL, error, &sha256);
    if (!err && !lfs)
        err = dg_json_get_string(json, "blobId", DG_JSON_OPTIONAL, error, &blob);
    if (!err)
        err = dg_json_get_int(json, "size", DG_JSON_OPTIONAL, 0, (int64_t)DG_CATALOGUE_FILE_MAX,
                              error, &size);
    if (!err && lfs)
        err = dg_json_get_int(lfs, "size", DG_JSON_OPTIONAL, 0, (int64_t)DG_CATALOGUE_FILE_MAX,
                              error, &size);
    if (err)
        return err;
    snprintf(url, sizeof url, HOST "%s/%s/resolve/%s/%s", hf->owner, hf->name, commit, name);
    file->name = name;
    file->url = dg_arena_copy(&package->arena, dg_span_cstr(url)).ptr;
    file->size = (uint64_t)size;
    file->raw_sha256 = "";
    file->sha256 = copy_hash(package, sha256, 64);
    file->git_sha1 = copy_hash(package, blob, 40);
    return file->url && file->sha256 && file->git_sha1 ? DG_OK : DG_ERR_NOMEM;
}

/* Reads "cc-by-4.0" from the tag "license:cc-by-4.0"; skips text that cannot be printed. */
static enum dg_err read_licence(struct dg_package *package, const struct dg_json *json,
                                struct dg_error *error)
{
    const struct dg_json *tags = NULL;
    const struct dg_span begin = DG_SPAN("license:");
    struct dg_span tag;
    enum dg_err err = dg_json_get_array(json, "tags", DG_JSON_OPTIONAL, error, &tags);
    for (size_t i = 0; !err && i < dg_json_len(tags); i++) {
        err = dg_json_at_string(tags, "tags", i, error, &tag);
        if (!err && dg_span_starts(tag, begin) && dg_catalogue_is_text(tag)) {
            tag = dg_span_sub(tag, begin.len, tag.len);
            package->licence = dg_arena_copy(&package->arena, tag).ptr;
            return package->licence ? DG_OK : DG_ERR_NOMEM;
        }
    }
    return err;
}

static enum dg_err read_files(const struct dg_hf *hf, const struct dg_json *json,
                              const char *commit, struct dg_package *package,
                              struct dg_error *error)
{
    const struct dg_json *list = NULL, *found[N_WANTED] = {NULL};
    enum dg_err err = dg_json_get_array(json, "siblings", DG_JSON_REQUIRED, error, &list);
    for (size_t i = 0; !err && i < dg_json_len(list); i++)
        err = note_file(dg_json_at(list, i), found, error);
    if (err)
        return err;
    if (found[SAFETENSORS])
        found[PYTORCH] = NULL;
    if (!found[0] || (!found[SAFETENSORS] && !found[PYTORCH]))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "it has no config.json with model.safetensors or pytorch_model.bin");
    package->files = dg_arena_calloc(&package->arena, N_WANTED, sizeof *package->files);
    if (!package->files)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < N_WANTED && !err; i++)
        if (found[i])
            err = add_file(package, hf, commit, wanted[i], found[i], error);
    return err;
}

enum dg_err dg_hf_read(const struct dg_hf *hf, struct dg_span answer, struct dg_package *package,
                       struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = ANSWER_MAX, .max_depth = 32, .max_values = 200 * 1000};
    struct dg_json *json = NULL;
    struct dg_span sha = {0};
    char commit[41] = "", from[2 * DG_HF_TEXT + 8];
    enum dg_err err = dg_json_parse(answer, &limits, error, &json);
    if (err)
        return err;
    err = dg_json_get_string(json, "sha", DG_JSON_REQUIRED, error, &sha);
    if (!err && !dg_catalogue_is_hash(sha, 40))
        err = dg_error_set(error, DG_ERR_FORMAT, "field 'sha' is not a commit");
    if (!err)
        snprintf(commit, sizeof commit, "%.*s", DG_SPAN_FMT(sha));
    if (!err && dg_catalogue_is_hash(dg_span_cstr(hf->revision), 40) &&
        strcmp(commit, hf->revision) != 0)
        err = dg_error_set(error, DG_ERR_INTEGRITY, "asked for revision %s, the answer is about %s",
                           hf->revision, commit);
    if (!err)
        err = name_it(package, hf);
    snprintf(from, sizeof from, "hf:%s/%s", hf->owner, hf->name);
    if (!err) {
        package->from = dg_arena_copy(&package->arena, dg_span_cstr(from)).ptr;
        package->version = dg_arena_copy(&package->arena, dg_span_cstr(commit)).ptr;
        err = package->from && package->version ? DG_OK : DG_ERR_NOMEM;
    }
    if (!err)
        err = read_licence(package, json, error);
    if (!err)
        err = read_files(hf, json, commit, package, error);
    dg_json_free(json);
    return err ? dg_error_wrap(error, err, "%s", from) : DG_OK;
}

enum dg_err dg_hf_list(struct dg_transfer *transfer, const struct dg_hf *hf,
                       struct dg_package *package, struct dg_error *error)
{
    char url[DG_TRANSFER_URL_MAX];
    struct dg_buf text;
    dg_buf_init(&text, ANSWER_MAX);
    dg_hf_url(hf, url);
    enum dg_err err = dg_transfer_text(transfer, url, &text, NULL, error);
    if (err == DG_ERR_NOT_FOUND || err == DG_ERR_DENIED)
        dg_error_wrap(error, err, "no model %s/%s at revision %s is to be seen there", hf->owner,
                      hf->name, hf->revision);
    if (!err)
        err = dg_hf_read(hf, dg_buf_span(&text), package, error);
    dg_buf_deinit(&text);
    return err;
}
