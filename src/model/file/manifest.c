/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Verifying makes the manifest again and compares the two texts; comparing them line by line only
 * serves to name the differences. */
#include "model/file/manifest.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_CAP = 4096, HASH_BYTES = 64, NAME_CAP = 256, PART_BYTES = 4 << 20 };

/* ---- Making ---------------------------------------------------------------------------------- */

struct names {
    char (*list)[NAME_CAP]; /* [DG_MANIFEST_FILES_MAX] */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Files and folders that are not part of the model. */
static bool is_own(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strcmp(name, DG_MANIFEST_NAME) == 0 || strcmp(name, DG_MANIFEST_SIGNATURE) == 0 ||
           strcmp(name, DG_MANIFEST_TRAINING) == 0;
}

static enum dg_err read_names(const char *dir, struct names *names, struct dg_error *error)
{
    DIR *handle = dg_folder_open(dir);
    if (!handle) {
        int number = errno;
        return dg_error_set(error, dg_err_from_errno(number), "cannot open %s: %s", dir,
                            strerror(number));
    }
    enum dg_err err = DG_OK;
    for (struct dirent *entry; !err && (entry = readdir(handle));) {
        if (is_own(entry->d_name))
            continue;
        if (names->n == DG_MANIFEST_FILES_MAX)
            err = dg_error_set(error, DG_ERR_LIMIT, "%s has more than %d files", dir,
                               DG_MANIFEST_FILES_MAX);
        else if (strpbrk(entry->d_name, "\n\r\\"))
            err = dg_error_set(error, DG_ERR_INVALID,
                               "%s: a file name with a line break or backslash", dir);
        else
            snprintf(names->list[names->n++], NAME_CAP, "%s", entry->d_name);
    }
    closedir(handle);
    qsort(names->list, names->n, sizeof *names->list, by_name);
    return err;
}

static enum dg_err hash_file(const char *dir, const char *name, char hex[2 * HASH_BYTES + 1],
                             struct dg_error *error)
{
    char path[PATH_CAP + NAME_CAP];
    struct dg_map_file file;
    uint8_t hash[HASH_BYTES];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    enum dg_err err = dg_map_file_open(&file, path, SIZE_MAX / 2, error);
    if (err)
        return err;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    for (size_t at = 0; at < file.len; at += PART_BYTES)
        crypto_generichash_update(&state, file.bytes + at,
                                  file.len - at < PART_BYTES ? file.len - at : PART_BYTES);
    crypto_generichash_final(&state, hash, HASH_BYTES);
    err = dg_map_file_check(&file, path, error);
    dg_map_file_close(&file);
    sodium_bin2hex(hex, 2 * HASH_BYTES + 1, hash, HASH_BYTES);
    return err;
}

enum dg_err dg_manifest_print(const char *dir, struct dg_buf *out, struct dg_error *error)
{
    if (sodium_init() < 0)
        return DG_ERR_INTERNAL;
    if (strlen(dir) >= PATH_CAP)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    struct names names = {.list = dg_try_calloc(DG_MANIFEST_FILES_MAX, sizeof *names.list)};
    enum dg_err err = names.list ? read_names(dir, &names, error) : DG_ERR_NOMEM;
    for (size_t i = 0; i < names.n && !err; i++) {
        char hex[2 * HASH_BYTES + 1];
        err = hash_file(dir, names.list[i], hex, error);
        if (!err)
            err = dg_buf_printf(out, "%s  %s\n", hex, names.list[i]);
    }
    dg_free(names.list);
    return err;
}

static enum dg_err save(const char *dir, const char *name, const struct dg_buf *text,
                        struct dg_error *error)
{
    char path[PATH_CAP + NAME_CAP];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return dg_file_out_save(path, 0644, text->ptr, text->len, error);
}

enum dg_err dg_manifest_write(const char *dir, struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, DG_MANIFEST_MAX);
    enum dg_err err = dg_manifest_print(dir, &text, error);
    if (!err)
        err = save(dir, DG_MANIFEST_NAME, &text, error);
    dg_buf_deinit(&text);
    return err;
}

enum dg_err dg_manifest_sign(const char *dir, const struct dg_minisign_secret *key,
                             struct dg_span trusted_comment, struct dg_error *error)
{
    struct dg_buf text, signature;
    dg_buf_init(&text, DG_MANIFEST_MAX);
    dg_buf_init(&signature, DG_MINISIGN_FILE_MAX);
    enum dg_err err = dg_manifest_print(dir, &text, error);
    if (!err)
        err = dg_minisign_sign(key, dg_buf_span(&text), trusted_comment, &signature, error);
    if (!err)
        err = save(dir, DG_MANIFEST_NAME, &text, error);
    if (!err)
        err = save(dir, DG_MANIFEST_SIGNATURE, &signature, error);
    dg_buf_deinit(&text);
    dg_buf_deinit(&signature);
    return err;
}

/* ---- Verifying ------------------------------------------------------------------------------- */

/* Takes "HASH  NAME" off the front; an empty name at the end or when the line is not one. */
static struct dg_span take_name(struct dg_span *text, struct dg_span *line)
{
    const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
    size_t len = end ? (size_t)(end - text->ptr) : text->len;
    *line = dg_span_sub(*text, 0, len);
    *text = dg_span_sub(*text, len + 1, text->len);
    return dg_span_sub(*line, 2 * HASH_BYTES + 2, line->len);
}

static int order(struct dg_span a, struct dg_span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int result = len ? memcmp(a.ptr, b.ptr, len) : 0;
    return result ? result : a.len < b.len ? -1 : a.len > b.len;
}

static void note(struct dg_buf *faults, const char *what, struct dg_span name)
{
    size_t before = faults->len;
    if (dg_buf_printf(faults, "%s%.*s %s", before ? "; " : "", DG_SPAN_FMT(name), what))
        dg_buf_truncate(faults, before);
}

/* Finds what differs by merging the two texts, which are both sorted by name. */
static enum dg_err compare(struct dg_span listed, struct dg_span found, struct dg_error *error)
{
    struct dg_buf faults;
    dg_buf_init(&faults, DG_ERROR_CAP / 2);
    struct dg_span listed_line, found_line;
    struct dg_span wanted = take_name(&listed, &listed_line), has = take_name(&found, &found_line);
    while (wanted.len || has.len) {
        int side = !wanted.len ? 1 : !has.len ? -1 : order(wanted, has);
        if (side < 0)
            note(&faults, "is missing", wanted);
        else if (side > 0)
            note(&faults, "is not in the manifest", has);
        else if (!dg_span_eq(listed_line, found_line))
            note(&faults, "was changed", has);
        if (side <= 0)
            wanted = take_name(&listed, &listed_line);
        if (side >= 0)
            has = take_name(&found, &found_line);
    }
    enum dg_err err =
        dg_error_set(error, DG_ERR_INTEGRITY, "%s",
                     faults.len ? faults.ptr : "the manifest is not in its proper form");
    dg_buf_deinit(&faults);
    return err;
}

static enum dg_err check_signature(const char *dir, const struct dg_minisign_public *keys, size_t n,
                                   const struct dg_map_file *manifest, struct dg_error *error)
{
    char path[PATH_CAP + NAME_CAP];
    struct dg_map_file signature;
    snprintf(path, sizeof path, "%s/%s", dir, DG_MANIFEST_SIGNATURE);
    enum dg_err err = dg_map_file_read(&signature, path, DG_MINISIGN_FILE_MAX, error);
    if (err)
        return err;
    err =
        dg_minisign_verify(keys, n, dg_span_make((const char *)manifest->bytes, manifest->len),
                           dg_span_make((const char *)signature.bytes, signature.len), NULL, error);
    dg_map_file_close(&signature);
    return err ? dg_error_wrap(error, err, "%s", path) : DG_OK;
}

enum dg_err dg_manifest_verify(const char *dir, const struct dg_minisign_public *keys, size_t n,
                               struct dg_error *error)
{
    char path[PATH_CAP + NAME_CAP];
    struct dg_map_file manifest;
    struct dg_buf found;
    if (strlen(dir) >= PATH_CAP)
        return dg_error_set(error, DG_ERR_LIMIT, "the path is too long");
    snprintf(path, sizeof path, "%s/%s", dir, DG_MANIFEST_NAME);
    enum dg_err err = dg_map_file_read(&manifest, path, DG_MANIFEST_MAX, error);
    if (err)
        return err;
    dg_buf_init(&found, DG_MANIFEST_MAX);
    if (n)
        err = check_signature(dir, keys, n, &manifest, error);
    if (!err)
        err = dg_manifest_print(dir, &found, error);
    struct dg_span listed = dg_span_make((const char *)manifest.bytes, manifest.len);
    if (!err && !dg_span_eq(listed, dg_buf_span(&found))) {
        err = compare(listed, dg_buf_span(&found), error);
        dg_error_wrap(error, err, "%s", dir);
    }
    dg_buf_deinit(&found);
    dg_map_file_close(&manifest);
    return err;
}
