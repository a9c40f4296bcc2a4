/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Containers of a few hundred bytes (numpy and PyTorch wrote them,
 * tests/support/write_fixtures.py), and every text file that an import reads: cut at every byte,
 * and every number in them made extreme. */
#include "import_check.h"
#include "import/container/npy.h"
#include "import/container/torch.h"

#include <ctype.h>
#include <signal.h>

/* ---- Containers ------------------------------------------------------------------------------ */

static enum dg_err read_npy(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_npy npy;
    return dg_npy_parse(&npy, bytes, len, "the file", error);
}

static enum dg_err read_npz(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_zip zip;
    enum dg_err err = dg_zip_parse(&zip, bytes, len, "the file", error);
    if (err)
        return err;
    for (size_t i = 0; i < zip.n_members && !err; i++) {
        struct dg_zip_data data;
        err = dg_zip_data(&zip, &zip.members[i], 1 << 20, &data, error);
        if (err)
            break;
        err = read_npy(data.bytes, data.len, error);
        dg_zip_data_free(&data);
    }
    dg_zip_close(&zip);
    return err;
}

static enum dg_err read_torch(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_torch file;
    enum dg_err err = dg_torch_parse(&file, bytes, len, "the file", error);
    if (!err)
        dg_torch_close(&file);
    return err;
}

typedef enum dg_err (*read_fn)(const uint8_t *bytes, size_t len, struct dg_error *error);

static void reads_no_damage(const char *name, read_fn read)
{
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_map_file_open(&file, import_data(name), 1 << 20, NULL), DG_OK);
    ck_assert_msg(read(file.bytes, file.len, &error) == DG_OK, "%s: %s", name, error.text);
    for (size_t len = 0; len < file.len; len++) {
        error = (struct dg_error)DG_ERROR_NONE;
        ck_assert_msg(read(file.bytes, len, &error) != DG_OK, "%s: accepted when cut to %zu bytes",
                      name, len);
        ck_assert_msg(strstr(error.text, "the file: offset ") != NULL, "%s, %zu: %s", name, len,
                      error.text);
    }
    ck_assert_uint_gt(import_extremes(&file, read), file.len / 2);
    dg_map_file_close(&file);
}

START_TEST(every_number_of_a_container_is_doubted)
{
    reads_no_damage("small/array.npy", read_npy);
    reads_no_damage("small/stored.npz", read_npz);
    reads_no_damage("small/deflated.npz", read_npz);
    reads_no_damage("small/zip.bin", read_torch);
    reads_no_damage("small/legacy.bin", read_torch);
}
END_TEST

/* ---- Text ------------------------------------------------------------------------------------ */

static const struct {
    const char *dir, *name;
} texts[] = {
    {"zip", "config.json"},
    {"stored", "vocab.yml"},
    {"stored", "model.npz.decoder.yml"},
    {"ct2-v2", "source_vocabulary.txt"},
    {"ct2-v6", "shared_vocabulary.json"},
    {"ct2-v6", "config.json"},
    {"../enc/bert-pair", "config.json"},
    {"../enc/roberta-topics", "config.json"},
    {"../enc/distilbert-tags", "config.json"},
};

/* Opens and matches import_root/in with these bytes as one of its files, up to the first tensor
 * that would be written (thousands of synced directories would take minutes). A refusal names that
 * file, or the tensors that do not fit its content; no files are ever left. True when it was
 * refused. */
static bool refuses(const char *name, const char *bytes, size_t len)
{
    static volatile sig_atomic_t stop = 1;
    const struct dg_import_opts opts = {.stop = &stop};
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_error error;
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/%s", in, name);
    import_write(path, bytes, len);
    enum dg_err err = import_try(in, out, &opts, &summary, &error);
    ck_assert_int_ne(err, DG_OK);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    if (err == DG_ERR_CANCELLED)
        return false;
    ck_assert_msg(strstr(error.text, name) || strstr(error.text, "do not fit the configuration"),
                  "%s is '%.*s': %s", name, (int)len, bytes, error.text);
    return true;
}

/* A list or a decoder.yml that is cut off may still be valid; cut JSON never is. */
static void refuses_cuts(const char *name, const struct dg_map_file *file)
{
    const size_t step = getenv("DRAGOMAN_SLOW") ? 29 : 1;
    const bool is_json = strstr(name, ".json") != NULL;
    for (size_t len = 0; len < file->len; len += step) {
        const bool refused = refuses(name, (const char *)file->bytes, len);
        ck_assert_msg(refused || !is_json, "%s: accepted when cut to %zu bytes", name, len);
    }
}

static void doubts_numbers(const char *name, const struct dg_map_file *file)
{
    static const char *const numbers[] = {
        "0", "1", "-1", "4294967295", "18446744073709551615", "18446744073709551614"};
    const char *text = (const char *)file->bytes;
    for (size_t at = 0; at < file->len; at++) {
        size_t end = at;
        if (at > 0 && isalnum((unsigned char)text[at - 1]))
            continue;
        while (end < file->len && isdigit((unsigned char)text[end]))
            end++;
        for (size_t i = 0; end > at && i < sizeof numbers / sizeof *numbers; i++) {
            char changed[2048];
            const int n = snprintf(changed, sizeof changed, "%.*s%s%.*s", (int)at, text, numbers[i],
                                   (int)(file->len - end), text + end);
            ck_assert_int_lt(n, (int)sizeof changed);
            (void)refuses(name, changed, (size_t)n);
        }
    }
}

START_TEST(every_text_file_is_doubted)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[2048];
        struct dg_map_file file;
        dg_tmpdir_make(import_root);
        import_copy(import_data(texts[i].dir));
        snprintf(path, sizeof path, "%s/%s", import_data(texts[i].dir), texts[i].name);
        ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 20, NULL), DG_OK);
        refuses_cuts(texts[i].name, &file);
        doubts_numbers(texts[i].name, &file);
        dg_map_file_close(&file);
        dg_tmpdir_remove(import_root);
    }
}
END_TEST

DG_UNIT_SLOW(every_number_of_a_container_is_doubted, every_text_file_is_doubted)
