/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Models written by PyTorch and by numpy (tests/support/write_fixtures.py; committed, and written
 * again where those libraries are installed) are imported and compared number by number, then
 * damaged in every way. */
#include "base/file/file_out.h"
#include "import_check.h"
#include "mkmodel.h"
#include "import/container/npy.h"
#include "import/container/torch.h"

static enum dg_err import(const char *from, const char *to, const struct dg_import_opts *opts,
                          struct dg_error *error)
{
    struct dg_import_summary summary;
    return import_try(from, to, opts, &summary, error);
}

/* Imports exactly, as stored and as F32; as F16, in which the numbers are exact, too; and as I8
 * without a complaint. */
static void imports_exactly(const char *from)
{
    struct dg_error error;
    struct dg_import_opts opts = {.as_type = true, .type = DG_DTYPE_F16};
    char to[DG_TMPDIR_CAP + 32];
    snprintf(to, sizeof to, "%s/out", import_root);
    import_exactly(from);
    ck_assert_msg(import(from, to, &opts, &error) == DG_OK, "%s", error.text);
    import_check_values(to);
    dg_tmpdir_remove(to);
    opts.type = DG_DTYPE_I8;
    ck_assert_msg(import(from, to, &opts, &error) == DG_OK, "%s", error.text);
    dg_tmpdir_remove(to);
}

static const char *const committed[] = {"zip", "legacy", "stored", "deflated"};

START_TEST(files_of_pytorch_and_numpy_are_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    for (size_t i = 0; i < 4; i++)
        imports_exactly(import_data(committed[i]));
    dg_tmpdir_remove(import_root);
}
END_TEST

/* Runs the writer; false when its library is not installed. */
static bool write_fresh(const char *library)
{
    char command[3072];
    const char *srcdir = getenv("srcdir");
    snprintf(command, sizeof command,
             "/usr/bin/python3 -c 'import %s' 2>/dev/null && /usr/bin/python3 "
             "'%s/tests/support/write_fixtures.py' %s '%s' 2>/dev/null",
             library, srcdir ? srcdir : ".", library, import_root);
    char *const arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    return dg_tmpdir_run("/bin/sh", arguments) == 0;
}

START_TEST(recurrent_networks_are_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    struct dg_blueprint s2s = import_exactly(import_data("s2s")).blueprint;
    ck_assert(s2s.decoder_kind == DG_DECODER_GRU && s2s.rnn.norm && s2s.rnn.skip && s2s.tie_output);
    ck_assert(s2s.rnn.width == 6 && s2s.rnn.encoder_cells == 2 && s2s.rnn.base_cells == 3);
    struct dg_blueprint lstm = import_exactly(import_data("lstm")).blueprint;
    ck_assert(lstm.decoder_kind == DG_DECODER_LSTM && lstm.rnn.encoder == DG_RNN_BI_TOP &&
              !lstm.rnn.norm);
    struct dg_blueprint amun = import_exactly(import_data("amun")).blueprint;
    ck_assert(amun.family == DG_FAMILY_RNN && amun.start == DG_START_ZERO &&
              !amun.tie_source_target);
    struct dg_blueprint normed = import_exactly(import_data("amun-norm")).blueprint;
    ck_assert(normed.family == DG_FAMILY_RNN && normed.rnn.norm &&
              normed.decoder_kind == DG_DECODER_GRU);
    struct dg_blueprint deep = import_exactly(import_data("nematus")).blueprint;
    ck_assert(!deep.rnn.norm && deep.rnn.encoder_cells == 3 && deep.rnn.base_cells == 4);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(freshly_written_files_are_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    char path[DG_TMPDIR_CAP + 32];
    for (size_t i = 0; i < 4; i++) {
        if (i % 2 == 0 && !write_fresh(i == 0 ? "torch" : "numpy")) {
            printf("skipped: needs python3-%s\n", i == 0 ? "torch" : "numpy");
            i++;
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", import_root, committed[i]);
        imports_exactly(path);
    }
    dg_tmpdir_remove(import_root);
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

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

/* Imports a copy of `which` whose weights are `bytes`; no files may be left over, whatever
 * happens. */
struct damaged {
    char dir[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], weights[DG_TMPDIR_CAP + 64];
    struct dg_map_file original;
};

static void damage_start(struct damaged *d, const char *which)
{
    static const char *const names[] = {"config.json", "vocab.yml", "model.npz.decoder.yml"};
    const char *weights = which[0] == 's' || which[0] == 'd' ? "model.npz" : "pytorch_model.bin";
    dg_tmpdir_make(import_root);
    snprintf(d->dir, sizeof d->dir, "%s/in", import_root);
    snprintf(d->out, sizeof d->out, "%s/out", import_root);
    snprintf(d->weights, sizeof d->weights, "%s/%s", d->dir, weights);
    ck_assert_int_eq(mkdir(d->dir, 0755), 0);
    for (size_t i = 0; i < 3; i++)
        copy(import_data(which), d->dir, names[i]);
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", import_data(which), weights);
    ck_assert_int_eq(dg_map_file_open(&d->original, path, 1 << 24, NULL), DG_OK);
}

static enum dg_err damage_try(struct damaged *d, const uint8_t *bytes, size_t len,
                              struct dg_error *error)
{
    const struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    FILE *file = fopen(d->weights, "wb"); /* without sync, because there are thousands of files */
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
    enum dg_err err = import(d->dir, d->out, &opts, error);
    if (err)
        ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    else
        dg_tmpdir_remove(d->out);
    return err;
}

static void damage_end(struct damaged *d)
{
    dg_map_file_close(&d->original);
    dg_tmpdir_remove(import_root);
}

static void import_truncated(size_t which)
{
    struct damaged d;
    damage_start(&d, committed[which]);
    for (size_t len = 0; len < d.original.len; len += d.original.len / 40 + 1) {
        struct dg_error error;
        enum dg_err err = damage_try(&d, d.original.bytes, len, &error);
        ck_assert_msg(err != DG_OK, "%s: accepted when cut to %zu bytes", committed[which], len);
        ck_assert_msg(strstr(error.text, "offset") != NULL, "cut to %zu: %s", len, error.text);
        ck_assert_msg(strstr(error.text, strrchr(d.weights, '/') + 1) != NULL, "%s", error.text);
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
static enum dg_err read_container(const uint8_t *bytes, size_t len, bool is_npz,
                                  struct dg_error *error)
{
    *error = (struct dg_error)DG_ERROR_NONE;
    if (!is_npz) {
        struct dg_torch file;
        enum dg_err err = dg_torch_parse(&file, bytes, len, "the file", error);
        if (!err)
            dg_torch_close(&file);
        return err;
    }
    struct dg_zip zip;
    enum dg_err err = dg_zip_parse(&zip, bytes, len, "the file", error);
    if (err)
        return err;
    for (size_t i = 0; i < zip.n_members && !err; i++) {
        struct dg_zip_data data;
        struct dg_npy npy;
        err = dg_zip_data(&zip, &zip.members[i], 1 << 20, &data, error);
        if (err)
            break;
        err = dg_npy_parse(&npy, data.bytes, data.len, "the file", error);
        dg_zip_data_free(&data);
    }
    dg_zip_close(&zip);
    return err;
}

static void read_truncated(size_t which)
{
    struct damaged d;
    const size_t step = getenv("DRAGOMAN_SLOW") ? 61 : 1;
    damage_start(&d, committed[which]);
    for (size_t len = 0; len < d.original.len; len += step) {
        struct dg_error error;
        ck_assert_msg(read_container(d.original.bytes, len, which > 1, &error) != DG_OK,
                      "accepted when cut to %zu bytes", len);
        ck_assert_msg(strstr(error.text, "the file: offset ") != NULL, "%zu: %s", len, error.text);
    }
    damage_end(&d);
}

START_TEST(every_truncation_is_refused_with_an_offset)
{
    for (size_t i = 0; i < 4; i++)
        read_truncated(i);
}
END_TEST

/* Every length, count and offset of the structure is reached by writing extreme numbers of every
 * width at every position. */
static void read_extremes(size_t which)
{
    struct damaged d;
    damage_start(&d, committed[which]);
    static const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    uint8_t *bytes = dg_xmalloc(d.original.len);
    size_t n_refused = 0, step = getenv("DRAGOMAN_SLOW") ? 401 : 7;
    memcpy(bytes, d.original.bytes, d.original.len);
    for (size_t at = 0; at + 8 <= d.original.len; at += step) {
        for (size_t i = 0; i < 16; i++) {
            struct dg_error error;
            size_t width = (size_t)1 << i / 4;
            for (size_t b = 0; b < width; b++)
                bytes[at + b] = (uint8_t)(numbers[i % 4] >> (8 * b));
            enum dg_err err = read_container(bytes, d.original.len, which > 1, &error);
            ck_assert(err == DG_OK || error.text[0]);
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
    static const char pointer[] =
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    struct damaged d;
    struct dg_error error;
    damage_start(&d, "zip");
    ck_assert_int_ne(damage_try(&d, (const uint8_t *)pointer, sizeof pointer - 1, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "git lfs pull"));
    ck_assert_int_ne(damage_try(&d, (const uint8_t *)"what?", 5, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "neither a ZIP nor a legacy torch.save file"));
    const struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    ck_assert_int_eq(import(import_root, d.out, &opts, &error), DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(import("/nowhere", d.out, &opts, &error), DG_ERR_NOT_FOUND);
    damage_end(&d);
}
END_TEST

/* Cuts DIR/model.safetensors into two files with an index. */
static const char split[] =
    "import json, os, struct, sys\n"
    "d = sys.argv[1]\n"
    "data = open(d + '/model.safetensors', 'rb').read()\n"
    "n, = struct.unpack_from('<Q', data)\n"
    "header, body, where = json.loads(data[8:8 + n]), data[8 + n:], {}\n"
    "header.pop('__metadata__', None)\n"
    "for shard in range(2):\n"
    "    file, out, at = f'model-0000{shard + 1}-of-00002.safetensors', {}, 0\n"
    "    parts = []\n"
    "    for i, (name, item) in enumerate(header.items()):\n"
    "        if i % 2 == shard:\n"
    "            part = body[slice(*item['data_offsets'])]\n"
    "            out[name] = {**item, 'data_offsets': [at, at + len(part)]}\n"
    "            at += len(part)\n"
    "            parts.append(part)\n"
    "            where[name] = file\n"
    "    text = json.dumps(out).encode()\n"
    "    text += b' ' * (-len(text) % 8)\n"
    "    open(d + '/' + file, 'wb').write(struct.pack('<Q', len(text)) + text + "
    "b''.join(parts))\n"
    "os.remove(d + '/model.safetensors')\n"
    "with open(d + '/model.safetensors.index.json', 'w') as file:\n"
    "    json.dump({'metadata': {'total_size': 1}, 'weight_map': where}, file)\n";

static bool split_model(const char *dir)
{
    char *const arguments[] = {(char *)(uintptr_t) "python3", (char *)(uintptr_t) "-c",
                               (char *)(uintptr_t)split, (char *)(uintptr_t)dir, NULL};
    return access("/usr/bin/python3", X_OK) == 0 &&
           dg_tmpdir_run("/usr/bin/python3", arguments) == 0;
}

START_TEST(checkpoints_in_several_files_are_imported_whole)
{
    char dir[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 80];
    const struct dg_import_opts opts = DG_IMPORT_OPTS_DEFAULT;
    struct dg_error error;
    dg_tmpdir_make(import_root);
    snprintf(dir, sizeof dir, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_msg(import(import_data("stored"), out, &opts, &error) == DG_OK, "%s", error.text);
    ck_assert_int_eq(rename(out, dir), 0);
    if (!split_model(dir)) {
        printf("skipped: needs python3\n");
        dg_tmpdir_remove(import_root);
        return;
    }
    ck_assert_msg(import(dir, out, &opts, &error) == DG_OK, "%s", error.text);
    import_check_values(out);
    dg_tmpdir_remove(out);
    snprintf(path, sizeof path, "%s/model-00002-of-00002.safetensors", dir);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_ne(import(dir, out, &opts, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "model-00002-of-00002.safetensors"));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", dir);
    static const char climbs[] =
        "{\"weight_map\": {\"a\": \"../in/model-00001-of-00002.safetensors\"}}";
    import_write(path, climbs, sizeof climbs - 1);
    ck_assert_int_ne(import(dir, out, &opts, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "../in/"));
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(torch_checkpoints_in_shards_are_imported_whole)
{
    static const char index[] = "{\"metadata\": {}, \"weight_map\": {\"lm_head.weight\": "
                                "\"pytorch_model-00001-of-00001.bin\"}}";
    char from[DG_TMPDIR_CAP + 64], to[DG_TMPDIR_CAP + 64];
    dg_tmpdir_make(import_root);
    import_copy(import_data("zip"));
    snprintf(from, sizeof from, "%s/in/pytorch_model.bin", import_root);
    snprintf(to, sizeof to, "%s/in/pytorch_model-00001-of-00001.bin", import_root);
    ck_assert_int_eq(rename(from, to), 0);
    snprintf(to, sizeof to, "%s/in/pytorch_model.bin.index.json", import_root);
    import_write(to, index, sizeof index - 1);
    snprintf(from, sizeof from, "%s/in", import_root);
    imports_exactly(from);
    dg_tmpdir_remove(import_root);
}
END_TEST

static void stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(volatile sig_atomic_t *)ctx = 1;
}

START_TEST(what_a_killed_import_left_goes_with_the_next)
{
    struct damaged d;
    struct dg_error error;
    volatile sig_atomic_t stop = 0;
    char left[DG_TMPDIR_CAP + 64], file[DG_TMPDIR_CAP + 128], other[DG_TMPDIR_CAP + 64];
    struct dg_import_opts opts = {
        .progress = stop_at_once, .progress_ctx = (void *)(uintptr_t)&stop, .stop = &stop};
    damage_start(&d, "stored");
    ck_assert_int_eq(damage_try(&d, d.original.bytes, d.original.len, &error), DG_OK);
    ck_assert_int_eq(import(d.dir, d.out, &opts, &error), DG_ERR_CANCELLED);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    snprintf(left, sizeof left, "%s.importing-a1B2c3", d.out);
    snprintf(other, sizeof other, "%s-2.importing-a1B2c3", d.out);
    snprintf(file, sizeof file, "%s/model.safetensors", left);
    ck_assert_int_eq(mkdir(left, 0755), 0);
    ck_assert_int_eq(mkdir(other, 0755), 0);
    import_write(file, "half", 4);
    opts = (struct dg_import_opts)DG_IMPORT_OPTS_DEFAULT;
    ck_assert_int_eq(import(d.dir, d.out, &opts, &error), DG_OK);
    /* in, out and the directory of another import */
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 3);
    damage_end(&d);
}
END_TEST

START_TEST(a_number_too_large_for_f16_is_refused_by_name)
{
    dg_tmpdir_make(import_root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_error error;
    struct dg_import_opts opts = {.as_type = true, .type = DG_DTYPE_F16};
    char dir[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    snprintf(dir, sizeof dir, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
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
    ck_assert_int_eq(import(dir, out, &opts, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "model.decoder.layers.1.fc1.weight holds 70000"));
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    opts.type = DG_DTYPE_F32;
    ck_assert_int_eq(import(dir, out, &opts, &error), DG_OK);
    dg_tmpdir_remove(import_root);
}
END_TEST

DG_UNIT_SLOW(files_of_pytorch_and_numpy_are_imported_bit_for_bit,
             recurrent_networks_are_imported_bit_for_bit,
             freshly_written_files_are_imported_bit_for_bit,
             truncated_models_are_refused_by_name_and_leave_nothing,
             every_truncation_is_refused_with_an_offset, extreme_numbers_anywhere_do_no_harm,
             a_git_lfs_pointer_and_an_unknown_file_are_called_what_they_are,
             checkpoints_in_several_files_are_imported_whole,
             torch_checkpoints_in_shards_are_imported_whole,
             what_a_killed_import_left_goes_with_the_next,
             a_number_too_large_for_f16_is_refused_by_name)
