/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Texts are copied into the package's arena, so that it outlives the catalogue. */
#include "fetch/package.h"

#include "base/json/json_file.h"
#include "base/json/json_out.h"
#include "fetch/catalogue_choice.h"
#include "fetch/digest.h"
#include "fetch/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_MAX = 4 << 20, PATH_CAP = 4096, ORIGIN_MAX = 1 << 20, TEXT_MAX = 2048 };

void dg_package_init(struct dg_package *package)
{
    *package = (struct dg_package){.name = "",
                                   .source = "",
                                   .target = "",
                                   .from = "",
                                   .kind = "",
                                   .version = "",
                                   .licence = "",
                                   .scores_by = "",
                                   .fetched = "",
                                   .bleu = -1,
                                   .comet = -1};
    dg_arena_init(&package->arena, ARENA_MAX);
}

void dg_package_free(struct dg_package *package)
{
    dg_arena_deinit(&package->arena);
}

/* ---- From the catalogue ---------------------------------------------------------------------- */

static const char *keep(struct dg_package *package, const char *text)
{
    return text ? dg_arena_copy(&package->arena, dg_span_cstr(text)).ptr : "";
}

static enum dg_err add_file(struct dg_package *package, struct dg_package_file *to,
                            const struct dg_catalogue_model *model,
                            const struct dg_catalogue_file *file)
{
    char url[TEXT_MAX];
    snprintf(url, sizeof url, "%s%s", model->from->base, file->place);
    to->name = keep(package, file->name);
    to->url = keep(package, url);
    to->size = file->size;
    to->raw_size = file->raw_size;
    to->sha256 = keep(package, file->sha256);
    to->raw_sha256 = keep(package, file->raw_sha256);
    to->git_sha1 = keep(package, file->git_sha1);
    return to->name && to->url && to->sha256 && to->raw_sha256 && to->git_sha1 ? DG_OK
                                                                               : DG_ERR_NOMEM;
}

enum dg_err dg_package_from_model(struct dg_package *package, const struct dg_catalogue *catalogue,
                                  const struct dg_catalogue_model *model, struct dg_error *error)
{
    const struct dg_catalogue_model *scored = dg_catalogue_choice_scored(catalogue, model);
    char name[DG_CATALOGUE_CHOICE_NAME];
    enum dg_err err = DG_OK;
    dg_catalogue_choice_name(model, name);
    package->name = keep(package, name);
    package->source = keep(package, model->source);
    package->target = keep(package, model->target);
    package->from = keep(package, model->from->name);
    package->kind = keep(package, model->kind);
    package->version = keep(package, model->version);
    package->licence = keep(package, model->from->licence);
    package->scores_by = keep(package, scored ? scored->from->scores_by : "");
    package->scores_are_older = scored && scored != model;
    package->is_trial = dg_catalogue_choice_is_trial(model);
    package->bleu = scored ? scored->bleu : -1;
    package->comet = scored ? scored->comet : -1;
    package->files = dg_arena_calloc(&package->arena, model->n_files, sizeof *package->files);
    if (!package->name || !package->source || !package->target || !package->from ||
        !package->kind || !package->version || !package->licence || !package->scores_by ||
        !package->files)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < model->n_files && !err; i++)
        err = add_file(package, &package->files[i], model, &model->files[i]);
    package->n_files = model->n_files;
    return err ? dg_error_set(error, err, "%s does not fit into memory", name) : DG_OK;
}

/* ---- Queries --------------------------------------------------------------------------------- */

bool dg_package_is_pinned(const struct dg_package *package)
{
    for (size_t i = 0; i < package->n_files; i++)
        if (!*package->files[i].sha256 && !*package->files[i].git_sha1)
            return false;
    return true;
}

uint64_t dg_package_bytes(const struct dg_package *package)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < package->n_files; i++)
        sum += package->files[i].size;
    return sum;
}

uint64_t dg_package_raw(const struct dg_package *package)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < package->n_files; i++) {
        const struct dg_package_file *file = &package->files[i];
        sum += file->raw_size ? file->raw_size : file->size + file->size / 2;
    }
    return sum;
}

bool dg_package_is_packed(const struct dg_package_file *file)
{
    return dg_unpack_packing(file->url) != DG_PACKING_NONE;
}

void dg_package_scores(double bleu, double comet, bool are_older, char text[DG_PACKAGE_SCORES])
{
    char second[24] = "";
    text[0] = '\0';
    if (comet >= 0)
        snprintf(second, sizeof second, "%sCOMET %.2f", bleu >= 0 ? ", " : "", comet);
    if (bleu >= 0)
        snprintf(text, DG_PACKAGE_SCORES, "BLEU %.1f%s%s", bleu, second,
                 are_older ? " of an earlier version" : "");
    else if (*second)
        snprintf(text, DG_PACKAGE_SCORES, "%s%s", second,
                 are_older ? " of an earlier version" : "");
}

/* ---- Fetching -------------------------------------------------------------------------------- */

static bool join(char out[PATH_CAP], const char *dir, const char *name, const char *end)
{
    const int n = snprintf(out, PATH_CAP, "%s/%s%s", dir, name, end);
    return n >= 0 && n < PATH_CAP;
}

static bool has_size(const char *path, uint64_t size)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           (size == 0 || (uint64_t)st.st_size == size);
}

/* Compares the hash of a fetched file with the published ones; `got` becomes its SHA-256. */
static enum dg_err check(struct dg_package_file *file, const char *path,
                         const volatile sig_atomic_t *stop, struct dg_error *error)
{
    char sha1[DG_DIGEST_SHA1 + 1];
    enum dg_err err = dg_digest_sha256(path, stop, file->got, error);
    if (!err && *file->sha256 && strcmp(file->got, file->sha256) != 0)
        return dg_error_set(error, DG_ERR_INTEGRITY,
                            "%s is not what was published: its SHA-256 is %s, expected %s; nothing "
                            "is installed",
                            file->url, file->got, file->sha256);
    if (!err && !*file->sha256 && *file->git_sha1) {
        err = dg_digest_git(path, stop, sha1, error);
        if (!err && strcmp(sha1, file->git_sha1) != 0)
            return dg_error_set(error, DG_ERR_INTEGRITY,
                                "%s is not what was published: git would call it %s, expected %s; "
                                "nothing is installed",
                                file->url, sha1, file->git_sha1);
    }
    return err;
}

/* Fetches the packed file. A damaged file is fetched once more from its beginning, because the part
 * that an earlier run left may have been damaged. */
static enum dg_err fetch(struct dg_package_file *file, struct dg_transfer *transfer,
                         const char *path, const volatile sig_atomic_t *stop,
                         struct dg_error *error)
{
    char part[PATH_CAP];
    const bool goes_on =
        snprintf(part, sizeof part, "%s.part", path) < PATH_CAP && access(part, F_OK) == 0;
    const struct dg_transfer_want want = {.url = file->url,
                                          .size = file->size,
                                          .max = DG_CATALOGUE_FILE_MAX,
                                          .has_hash = *file->sha256 || *file->git_sha1};
    enum dg_err err = DG_OK;
    if (!has_size(path, file->size))
        err = dg_transfer_file(transfer, &want, path, error);
    if (!err)
        err = check(file, path, stop, error);
    if (err == DG_ERR_INTEGRITY) {
        unlink(path);
        dg_transfer_discard(path);
    }
    if (err != DG_ERR_INTEGRITY || !goes_on)
        return err;
    err = dg_transfer_file(transfer, &want, path, error);
    if (!err)
        err = check(file, path, stop, error);
    if (err == DG_ERR_INTEGRITY)
        unlink(path);
    return err;
}

static enum dg_err unpack(const struct dg_package_file *file, const char *from, const char *to,
                          const volatile sig_atomic_t *stop, struct dg_error *error)
{
    const struct dg_unpack_opts opts = {.packing = dg_unpack_packing(file->url),
                                        .size = file->raw_size,
                                        .max = DG_CATALOGUE_FILE_MAX,
                                        .stop = stop};
    char hex[DG_DIGEST_SHA256 + 1];
    enum dg_err err = dg_unpack(from, to, &opts, error);
    if (err || !*file->raw_sha256)
        return err;
    err = dg_digest_sha256(to, stop, hex, error);
    if (!err && strcmp(hex, file->raw_sha256) != 0) {
        unlink(to);
        err = dg_error_set(error, DG_ERR_INTEGRITY,
                           "%s unpacks to something other than what was published: its SHA-256 is "
                           "%s, expected %s; nothing is installed",
                           file->url, hex, file->raw_sha256);
    }
    return err;
}

/* Whether an earlier attempt has unpacked the file already. */
static bool is_unpacked(struct dg_package_file *file, const char *path,
                        const volatile sig_atomic_t *stop)
{
    char hex[DG_DIGEST_SHA256 + 1];
    if (!*file->sha256 || !*file->raw_sha256 || access(path, F_OK) != 0 ||
        !has_size(path, file->raw_size) || dg_digest_sha256(path, stop, hex, NULL) ||
        strcmp(hex, file->raw_sha256) != 0)
        return false;
    snprintf(file->got, sizeof file->got, "%s", file->sha256);
    return true;
}

enum dg_err dg_package_fetch(struct dg_package *package, size_t i, struct dg_transfer *transfer,
                             const char *folder, const volatile sig_atomic_t *stop,
                             struct dg_error *error)
{
    struct dg_package_file *file = &package->files[i];
    const bool is_packed = dg_package_is_packed(file);
    char packed[PATH_CAP], raw[PATH_CAP];
    if (!join(raw, folder, file->name, "") ||
        !join(packed, folder, file->name, is_packed ? ".packed" : ""))
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long: %s", folder);
    if (is_packed && is_unpacked(file, raw, stop))
        return DG_OK;
    enum dg_err err = fetch(file, transfer, packed, stop, error);
    if (!err && is_packed)
        err = unpack(file, packed, raw, stop, error);
    if (is_packed && (err == DG_OK || (err != DG_ERR_CANCELLED && err != DG_ERR_NO_SPACE &&
                                       err != DG_ERR_IO && err != DG_ERR_NOMEM)))
        unlink(packed);
    return err;
}

/* ---- origin.json ----------------------------------------------------------------------------- */

static void put(struct dg_json_out *out, const char *key, const char *text)
{
    if (*text)
        dg_json_out_put_cstr(out, key, text);
}

enum dg_err dg_package_print(const struct dg_package *package, struct dg_buf *out)
{
    struct dg_json_out json;
    dg_json_out_init(&json, out);
    dg_json_out_open(&json, '{');
    put(&json, "source", package->source);
    put(&json, "target", package->target);
    put(&json, "from", package->from);
    put(&json, "kind", package->kind);
    put(&json, "version", package->version);
    put(&json, "licence", package->licence);
    put(&json, "fetched", package->fetched);
    if (package->bleu >= 0)
        dg_json_out_put_real(&json, "bleu", package->bleu, 6);
    if (package->comet >= 0)
        dg_json_out_put_real(&json, "comet", package->comet, 6);
    if (package->bleu >= 0 || package->comet >= 0) {
        put(&json, "scores_by", package->scores_by);
        dg_json_out_put_bool(&json, "scores_of_earlier_version", package->scores_are_older);
    }
    dg_json_out_put_open(&json, "files", '[');
    for (size_t i = 0; i < package->n_files; i++) {
        dg_json_out_open(&json, '{');
        dg_json_out_put_cstr(&json, "name", package->files[i].name);
        dg_json_out_put_cstr(&json, "url", package->files[i].url);
        put(&json, "sha256", package->files[i].got);
        dg_json_out_close(&json, '}');
    }
    dg_json_out_close(&json, ']');
    dg_json_out_close(&json, '}');
    return dg_json_out_end(&json);
}

static enum dg_err get(struct dg_package *package, const struct dg_json *json, const char *name,
                       struct dg_error *error, const char **out)
{
    struct dg_span text = {0};
    enum dg_err err = dg_json_get_string(json, name, DG_JSON_OPTIONAL, error, &text);
    if (err || !text.ptr)
        return err;
    if (!dg_catalogue_is_text(text))
        return dg_error_set(error, DG_ERR_INVALID, "field '%s': expected printable text", name);
    *out = dg_arena_copy(&package->arena, text).ptr;
    return *out ? DG_OK : DG_ERR_NOMEM;
}

enum dg_err dg_package_read(struct dg_package *package, const char *dir, struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = ORIGIN_MAX, .max_depth = 8, .max_values = 10000};
    struct dg_json *json = NULL;
    char path[PATH_CAP];
    if (!join(path, dir, DG_PACKAGE_ORIGIN, ""))
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long: %s", dir);
    enum dg_err err = dg_json_file_read(path, &limits, error, &json);
    if (err)
        return err;
    err = get(package, json, "source", error, &package->source);
    if (!err)
        err = get(package, json, "target", error, &package->target);
    if (!err)
        err = get(package, json, "from", error, &package->from);
    if (!err)
        err = get(package, json, "kind", error, &package->kind);
    if (!err)
        err = get(package, json, "version", error, &package->version);
    if (!err)
        err = get(package, json, "licence", error, &package->licence);
    if (!err)
        err = get(package, json, "fetched", error, &package->fetched);
    if (!err)
        err = dg_json_get_real(json, "bleu", DG_JSON_OPTIONAL, 0, 100, error, &package->bleu);
    if (!err)
        err = dg_json_get_real(json, "comet", DG_JSON_OPTIONAL, 0, 1, error, &package->comet);
    if (!err)
        err = dg_json_get_bool(json, "scores_of_earlier_version", DG_JSON_OPTIONAL, error,
                               &package->scores_are_older);
    dg_json_free(json);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

/* ---- The card -------------------------------------------------------------------------------- */

/* What the package's model is good for, in the words that src/model/good_for.h knows; NULL when the
 * package has no scores. The scores were measured on news and encyclopaedia sentences. COMET tells
 * good from fair, because it depends less on the language than BLEU does. */
static const char *good_for(const struct dg_package *package)
{
    const double bleu = package->bleu, comet = package->comet;
    if (bleu < 0 && comet < 0)
        return NULL;
    return (comet < 0 ? bleu >= 35 : comet >= 0.85)  ? "most texts"
           : (comet < 0 ? bleu >= 20 : comet >= 0.8) ? "everyday sentences"
                                                     : "the gist";
}

static const char *or_unknown(const char *text)
{
    return *text ? text : "not known";
}

enum dg_err dg_package_print_card(const struct dg_package *package, struct dg_buf *out)
{
    char scores[DG_PACKAGE_SCORES];
    dg_package_scores(package->bleu, package->comet, package->scores_are_older, scores);
    const char *use = good_for(package);
    enum dg_err err = dg_buf_printf(
        out,
        "# %s\n\n"
        "A model that others made; `dragoman get` fetched and imported it.\n\n"
        "| | |\n|---|---|\n"
        "| source | %s%s%s%s%s |\n"
        "| fetched | %s |\n"
        "| licence, as the publisher says | %s |\n"
        "| scores | %s%s%s |\n",
        package->name, package->from, *package->kind ? ", " : "", package->kind,
        *package->version ? ", version " : "", package->version, package->fetched,
        or_unknown(package->licence), *scores ? scores : "not known",
        *scores && *package->scores_by ? "; claimed by " : "", *scores ? package->scores_by : "");
    if (!err && use)
        err = dg_buf_printf(out, "| good for | %s |\n", use);
    if (!err)
        err = dg_buf_append_cstr(out, "\n## Files as they were fetched\n\n");
    for (size_t i = 0; i < package->n_files && !err; i++) {
        const struct dg_package_file *file = &package->files[i];
        err = dg_buf_printf(out, "* %s\n  SHA-256 %s%s\n", file->url, or_unknown(file->got),
                            *file->sha256     ? ", as published"
                            : *file->git_sha1 ? "; its name in git is as published"
                                              : "; the publisher states no hash");
    }
    return err;
}
