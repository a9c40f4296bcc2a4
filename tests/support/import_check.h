/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* For the tests of importers: imports models, compares them with the rule of write_fixtures.py, and
 * damages them. */
#ifndef DG_TESTS_IMPORT_CHECK_H
#define DG_TESTS_IMPORT_CHECK_H

#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "import/format/import.h"
#include "model/file/safetensors.h"
#include "tensor/convert.h"
#include "tmpdir.h"
#include "unit.h"

#include <sys/stat.h>

static char import_root[DG_TMPDIR_CAP];

static inline const char *import_srcdir(void)
{
    const char *srcdir = getenv("srcdir");
    return srcdir ? srcdir : ".";
}

static inline const char *import_data(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/data/import/%s", import_srcdir(), name);
    return path;
}

/* A directory of the shared models; NULL when it does not exist. */
static inline const char *import_shared(const char *name)
{
    static char path[1024];
    struct stat st;
    const char *shared = getenv("DRAGOMAN_SHARED");
    if (shared)
        snprintf(path, sizeof path, "%s/models/%s", shared, name);
    else
        snprintf(path, sizeof path, "%s/../shared/models/%s", import_srcdir(), name);
    return stat(path, &st) == 0 ? path : NULL;
}

static inline float import_value(const char *name, size_t row, size_t col)
{
    size_t h = 0;
    for (size_t i = 0; name[i]; i++)
        h += (i + 1) * (unsigned char)name[i];
    return (float)((long)((h % 97 * 7 + row * 31 + col * 5) % 201) - 100) / 64.0f;
}

static inline enum dg_err import_try(const char *from, const char *to,
                                     const struct dg_import_opts *opts,
                                     struct dg_import_summary *summary, struct dg_error *error)
{
    const struct dg_import_opts otherwise = DG_IMPORT_OPTS_DEFAULT;
    *error = (struct dg_error)DG_ERROR_NONE;
    return dg_import(from, to, opts ? opts : &otherwise, summary, error);
}

/* Checks that every number of the directory's model follows the rule. */
static inline void import_check_values(const char *dir)
{
    char path[DG_TMPDIR_CAP + 64];
    struct dg_safetensors file;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_msg(dg_safetensors_open(&file, path, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_gt(file.n_entries, 30);
    for (size_t i = 0; i < file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file.entries[i];
        char scale_name[256];
        snprintf(scale_name, sizeof scale_name, "%s_scale", entry->name);
        const struct dg_safetensors_entry *scale = dg_safetensors_find(&file, scale_name);
        size_t cols = entry->rank == 2 ? entry->shape[1] : entry->shape[0];
        const struct dg_tensor tensor = {.data = entry->bytes,
                                         .scale = scale ? (const float *)(const void *)scale->bytes
                                                        : NULL,
                                         .shape = {entry->shape[0], entry->shape[1], 1, 1},
                                         .dtype = entry->dtype,
                                         .rank = entry->rank};
        if (dg_span_ends(dg_span_cstr(entry->name), DG_SPAN("_scale")))
            continue;
        for (size_t at = 0; at < dg_tensor_count(&tensor); at++) {
            float got;
            dg_convert_tensor(&got, &tensor, at, 1);
            ck_assert_msg(got == import_value(entry->name, at / cols, at % cols), "%s[%zu] is %g",
                          entry->name, at, (double)got);
        }
    }
    dg_safetensors_close(&file);
}

/* Imports a model as stored and as F32, checks that both are exact, and returns the first
 * summary. */
static inline struct dg_import_summary import_exactly(const char *from)
{
    struct dg_error error;
    struct dg_import_summary first, second;
    const struct dg_import_opts f32 = {.as_type = true, .type = DG_DTYPE_F32};
    char to[DG_TMPDIR_CAP + 32];
    snprintf(to, sizeof to, "%s/out", import_root);
    ck_assert_msg(import_try(from, to, NULL, &first, &error) == DG_OK, "%s: %s", from, error.text);
    import_check_values(to);
    dg_tmpdir_remove(to);
    ck_assert_msg(import_try(from, to, &f32, &second, &error) == DG_OK, "%s: %s", from, error.text);
    import_check_values(to);
    ck_assert_int_eq(import_try(from, to, NULL, &second, &error), DG_ERR_EXISTS);
    dg_tmpdir_remove(to);
    return first;
}

static inline void import_write(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

/* A copy of the files of a directory, in import_root/in. */
static inline void import_copy(const char *from)
{
    char path[2048];
    DIR *dir = opendir(from);
    snprintf(path, sizeof path, "%s/in", import_root);
    mkdir(path, 0755);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct dg_map_file file;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        if (entry->d_name[0] == '.' || dg_map_file_open(&file, path, 1 << 24, NULL))
            continue;
        snprintf(path, sizeof path, "%s/in/%s", import_root, entry->d_name);
        import_write(path, file.bytes, file.len);
        dg_map_file_close(&file);
    }
    closedir(dir);
}

/* Runs a Python script of tests/support; its exit status, 77 without Python. */
static inline int import_python(const char *arguments)
{
    char command[4096];
    if (access("/usr/bin/python3", X_OK) != 0)
        return 77;
    snprintf(command, sizeof command, "/usr/bin/python3 -B '%s'/tests/support/%s", import_srcdir(),
             arguments);
    char *const list[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    return dg_tmpdir_run("/bin/sh", list);
}

/* Puts extreme numbers of every width at every position of `original`; `parse` must survive, and
 * must name "the file" when it refuses one. Returns how many were refused. */
static inline size_t import_extremes(const struct dg_map_file *original,
                                     enum dg_err (*parse)(const uint8_t *, size_t,
                                                          struct dg_error *))
{
    static const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    uint8_t *bytes = dg_xmalloc(original->len);
    size_t n_refused = 0;
    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, original->bytes, original->len);
    for (size_t at = 0; at + 8 <= original->len; at++)
        for (size_t i = 0; i < 16; i++) {
            struct dg_error error = DG_ERROR_NONE;
            size_t width = (size_t)1 << i / 4;
            for (size_t b = 0; b < width; b++)
                bytes[at + b] = (uint8_t)(numbers[i % 4] >> (8 * b));
            enum dg_err err = parse(bytes, original->len, &error);
            ck_assert_msg(err == DG_OK || strstr(error.text, "the file: "), "%zu: %s", at,
                          error.text);
            n_refused += err != DG_OK;
            memcpy(bytes + at, original->bytes + at, width);
        }
    dg_free(bytes);
    return n_refused;
}

#endif
