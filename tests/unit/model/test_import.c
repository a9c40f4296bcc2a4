/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models written by PyTorch and by numpy (tests/support/write_fixtures.py; committed, and written afresh where
 * those libraries are installed) are imported and compared number by number, then damaged in every way. */
#include "base/file_out.h"
#include "base/map_file.h"
#include "base/mem.h"
#include "mkmodel.h"
#include "model/import.h"
#include "model/npy.h"
#include "model/safetensors.h"
#include "model/torch.h"
#include "tensor/convert.h"
#include "tmpdir.h"
#include "unit.h"

#include <sys/stat.h>

static char root[DG_TMPDIR_CAP];

static const char *data_path(const char *name)
{
    static char path[1024];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/data/import/%s", srcdir ? srcdir : ".", name);
    return path;
}

/* The rule of write_fixtures.py. */
static float value(const char *name, size_t row, size_t col)
{
    size_t h = 0;
    for (size_t i = 0; name[i]; i++)
        h += (i + 1) * (unsigned char)name[i];
    return (float)((long)((h % 97 * 7 + row * 31 + col * 5) % 201) - 100) / 64.0f;
}

static enum dg_err import(const char *from, const char *to, const struct dg_import_opts *opts,
                          struct dg_why *why)
{
    struct dg_import_summary summary;
    *why = (struct dg_why)DG_WHY_NONE;
    return dg_import(from, to, opts, &summary, why);
}

static void check_values(const char *dir, enum dg_dtype as)
{
    char path[DG_TMPDIR_CAP + 64];
    struct dg_safetensors file;
    struct dg_why why = DG_WHY_NONE;
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_msg(dg_safetensors_open(&file, path, &why) == DG_OK, "%s", why.text);
    ck_assert_uint_gt(file.n_entries, 30);
    for (size_t i = 0; i < file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file.entries[i];
        size_t cols = entry->rank == 2 ? entry->shape[1] : entry->shape[0];
        if (as != DG_DTYPE_COUNT)
            ck_assert_int_eq(entry->dtype, as);
        const struct dg_tensor tensor = {.data = entry->bytes,
                                         .shape = {entry->shape[0], entry->shape[1], 1, 1},
                                         .dtype = entry->dtype,
                                         .rank = entry->rank};
        for (size_t at = 0; at < dg_tensor_count(&tensor); at++) {
            float got;
            dg_convert_tensor(&got, &tensor, at, 1);
            ck_assert_msg(got == value(entry->name, at / cols, at % cols), "%s[%zu] is %g",
                          entry->name, at, (double)got);
        }
    }
    dg_safetensors_close(&file);
}

static void imports_exactly(const char *from)
{
    struct dg_why why;
    struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    char to[DG_TMPDIR_CAP + 32];
    snprintf(to, sizeof to, "%s/out", root);
    ck_assert_msg(import(from, to, &opts, &why) == DG_OK, "%s: %s", from, why.text);
    check_values(to, DG_DTYPE_COUNT);
    ck_assert_int_eq(import(from, to, &opts, &why), DG_ERR_EXISTS);
    dg_tmpdir_remove(to);
    opts.as_type = true;
    for (int type = DG_DTYPE_F32; type <= DG_DTYPE_F16; type++) {
        opts.type = (enum dg_dtype)type;
        ck_assert_msg(import(from, to, &opts, &why) == DG_OK, "%s", why.text);
        check_values(to, opts.type);
        dg_tmpdir_remove(to);
    }
    opts.type = DG_DTYPE_I8;
    ck_assert_msg(import(from, to, &opts, &why) == DG_OK, "%s", why.text);
    dg_tmpdir_remove(to);
}

static const char *const committed[] = {"zip", "legacy", "stored", "deflated"};

START_TEST(files_of_pytorch_and_numpy_are_imported_bit_for_bit)
{
    dg_tmpdir_make(root);
    for (size_t i = 0; i < 4; i++)
        imports_exactly(data_path(committed[i]));
    dg_tmpdir_remove(root);
}
END_TEST

/* Runs the writer; false where its library is not installed. */
static bool write_fresh(const char *library)
{
    char command[3072];
    const char *srcdir = getenv("srcdir");
    snprintf(command, sizeof command,
             "/usr/bin/python3 -c 'import %s' 2>/dev/null && /usr/bin/python3 "
             "'%s/tests/support/write_fixtures.py' %s '%s' 2>/dev/null",
             library, srcdir ? srcdir : ".", library, root);
    char *const arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    return dg_tmpdir_run("/bin/sh", arguments) == 0;
}

START_TEST(freshly_written_files_are_imported_bit_for_bit)
{
    dg_tmpdir_make(root);
    char path[DG_TMPDIR_CAP + 32];
    for (size_t i = 0; i < 4; i++) {
        if (i % 2 == 0 && !write_fresh(i == 0 ? "torch" : "numpy")) {
            printf("skipped: needs python3-%s\n", i == 0 ? "torch" : "numpy");
            i++;
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", root, committed[i]);
        imports_exactly(path);
    }
    dg_tmpdir_remove(root);
}
END_TEST

/* ---- Damage ------------------------------------------------------------------------------------ */

static void copy(const char *from, const char *to, const char *name)
{
    char path[2048];
    struct dg_map_file file;
    snprintf(path, sizeof path, "%s/%s", from, name);
    if (dg_map_file_open(&file, path, 1 << 24, NULL))
        return;
    snprintf(path, sizeof path, "%s/%s", to, name);
    ck_assert_int_eq(dg_file_out_save(path, 0644, file.bytes, file.len, NULL), DG_OK);
    dg_map_file_close(&file);
}

/* Imports a copy of `which` whose weights are `bytes`; whatever happens, nothing may be left over. */
struct damaged {
    char dir[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], weights[DG_TMPDIR_CAP + 64];
    struct dg_map_file original;
};

static void damage_start(struct damaged *d, const char *which)
{
    static const char *const names[] = {"config.json", "vocab.yml", "model.npz.decoder.yml"};
    const char *weights = which[0] == 's' || which[0] == 'd' ? "model.npz" : "pytorch_model.bin";
    dg_tmpdir_make(root);
    snprintf(d->dir, sizeof d->dir, "%s/in", root);
    snprintf(d->out, sizeof d->out, "%s/out", root);
    snprintf(d->weights, sizeof d->weights, "%s/%s", d->dir, weights);
    ck_assert_int_eq(mkdir(d->dir, 0755), 0);
    for (size_t i = 0; i < 3; i++)
        copy(data_path(which), d->dir, names[i]);
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", data_path(which), weights);
    ck_assert_int_eq(dg_map_file_open(&d->original, path, 1 << 24, NULL), DG_OK);
}

static enum dg_err damage_try(struct damaged *d, const uint8_t *bytes, size_t len, struct dg_why *why)
{
    const struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    FILE *file = fopen(d->weights, "wb"); /* no sync: thousands of them */
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
    enum dg_err err = import(d->dir, d->out, &opts, why);
    if (err)
        ck_assert_uint_eq(dg_tmpdir_count(root), 1);
    else
        dg_tmpdir_remove(d->out);
    return err;
}

static void damage_end(struct damaged *d)
{
    dg_map_file_close(&d->original);
    dg_tmpdir_remove(root);
}

static void import_truncated(size_t which)
{
    struct damaged d;
    damage_start(&d, committed[which]);
    for (size_t len = 0; len < d.original.len; len += d.original.len / 40 + 1) {
        struct dg_why why;
        enum dg_err err = damage_try(&d, d.original.bytes, len, &why);
        ck_assert_msg(err != DG_OK, "%s: accepted when cut to %zu bytes", committed[which], len);
        ck_assert_msg(strstr(why.text, "offset") != NULL, "cut to %zu: %s", len, why.text);
        ck_assert_msg(strstr(why.text, strrchr(d.weights, '/') + 1) != NULL, "%s", why.text);
    }
    damage_end(&d);
}

START_TEST(truncated_models_are_refused_by_name_and_leave_nothing)
{
    for (size_t i = 0; i < 4; i++)
        import_truncated(i);
}
END_TEST

/* Reads all of a container as the importers do, without writing anything. */
static enum dg_err read_container(const uint8_t *bytes, size_t len, bool is_npz, struct dg_why *why)
{
    *why = (struct dg_why)DG_WHY_NONE;
    if (!is_npz) {
        struct dg_torch file;
        enum dg_err err = dg_torch_parse(&file, bytes, len, "the file", why);
        if (!err)
            dg_torch_close(&file);
        return err;
    }
    struct dg_zip zip;
    enum dg_err err = dg_zip_parse(&zip, bytes, len, "the file", why);
    if (err)
        return err;
    for (size_t i = 0; i < zip.n_members && !err; i++) {
        struct dg_zip_data data;
        struct dg_npy npy;
        err = dg_zip_data(&zip, &zip.members[i], 1 << 20, &data, why);
        if (err)
            break;
        err = dg_npy_parse(&npy, data.bytes, data.len, "the file", why);
        dg_zip_data_free(&data);
    }
    dg_zip_close(&zip);
    return err;
}

static void read_truncated(size_t which)
{
    struct damaged d;
    damage_start(&d, committed[which]);
    for (size_t len = 0; len < d.original.len; len++) {
        struct dg_why why;
        ck_assert_msg(read_container(d.original.bytes, len, which > 1, &why) != DG_OK,
                      "accepted when cut to %zu bytes", len);
        ck_assert_msg(strstr(why.text, "the file: offset ") != NULL, "%zu: %s", len, why.text);
    }
    damage_end(&d);
}

START_TEST(every_truncation_is_refused_with_an_offset)
{
    for (size_t i = 0; i < 4; i++)
        read_truncated(i);
}
END_TEST

/* Every length, count and offset of the structure is reached by writing extreme numbers of every width at
 * every position. */
static void read_extremes(size_t which)
{
    struct damaged d;
    damage_start(&d, committed[which]);
    static const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    uint8_t *bytes = dg_xmalloc(d.original.len);
    size_t n_refused = 0, step = getenv("DRAGOMAN_SLOW") ? 101 : 3;
    memcpy(bytes, d.original.bytes, d.original.len);
    for (size_t at = 0; at + 8 <= d.original.len; at += step) {
        for (size_t i = 0; i < 16; i++) {
            struct dg_why why;
            size_t width = (size_t)1 << i / 4;
            for (size_t b = 0; b < width; b++)
                bytes[at + b] = (uint8_t)(numbers[i % 4] >> (8 * b));
            enum dg_err err = read_container(bytes, d.original.len, which > 1, &why);
            ck_assert(err == DG_OK || why.text[0]);
            n_refused += err != DG_OK;
            memcpy(bytes + at, d.original.bytes + at, width);
        }
    }
    ck_assert_uint_gt(n_refused, d.original.len / step);
    dg_free(bytes);
    damage_end(&d);
}

START_TEST(extreme_numbers_anywhere_do_no_harm)
{
    for (size_t i = 0; i < 4; i++)
        read_extremes(i);
}
END_TEST

START_TEST(a_git_lfs_pointer_and_an_unknown_file_are_called_what_they_are)
{
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    struct damaged d;
    struct dg_why why;
    damage_start(&d, "zip");
    ck_assert_int_ne(damage_try(&d, (const uint8_t *)pointer, sizeof pointer - 1, &why), DG_OK);
    ck_assert_ptr_nonnull(strstr(why.text, "git lfs pull"));
    ck_assert_int_ne(damage_try(&d, (const uint8_t *)"what?", 5, &why), DG_OK);
    ck_assert_ptr_nonnull(strstr(why.text, "neither a ZIP nor a legacy torch.save file"));
    const struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    ck_assert_int_eq(import(root, d.out, &opts, &why), DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(import("/nowhere", d.out, &opts, &why), DG_ERR_NOT_FOUND);
    damage_end(&d);
}
END_TEST

START_TEST(a_number_too_large_for_f16_is_refused_by_name)
{
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_why why;
    struct dg_import_opts opts = {.as_type = true, .type = DG_DTYPE_F16};
    char dir[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    snprintf(dir, sizeof dir, "%s/in", root);
    snprintf(out, sizeof out, "%s/out", root);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_int_eq(dg_mkmodel(dir, &options, NULL), DG_OK);
    struct dg_safetensors file;
    ck_assert_int_eq(dg_safetensors_open(&file, path, NULL), DG_OK);
    size_t offset = dg_safetensors_find(&file, "model.decoder.layers.1.fc1.weight")->offset;
    dg_safetensors_close(&file);
    FILE *handle = fopen(path, "r+b");
    const float large = 70000;
    ck_assert_int_eq(fseek(handle, (long)offset + 40, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&large, sizeof large, 1, handle), 1);
    ck_assert_int_eq(fclose(handle), 0);
    ck_assert_int_eq(import(dir, out, &opts, &why), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(why.text, "model.decoder.layers.1.fc1.weight holds 70000"));
    ck_assert_uint_eq(dg_tmpdir_count(root), 1);
    opts.type = DG_DTYPE_F32;
    ck_assert_int_eq(import(dir, out, &opts, &why), DG_OK);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(files_of_pytorch_and_numpy_are_imported_bit_for_bit,
        freshly_written_files_are_imported_bit_for_bit,
        truncated_models_are_refused_by_name_and_leave_nothing, every_truncation_is_refused_with_an_offset,
        extreme_numbers_anywhere_do_no_harm,
        a_git_lfs_pointer_and_an_unknown_file_are_called_what_they_are,
        a_number_too_large_for_f16_is_refused_by_name)
