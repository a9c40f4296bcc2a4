/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Random models written by tests/support/mkmodel and opened again, in every family and type. */
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "mkmodel.h"
#include "import/format/import.h"
#include "model/model_dir.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static char root[DG_TMPDIR_CAP];

static const char *make(const struct dg_mkmodel *options, const char *name)
{
    static char path[DG_TMPDIR_CAP + 32];
    struct dg_error error = DG_ERROR_NONE;
    snprintf(path, sizeof path, "%s/%s", root, name);
    ck_assert_msg(dg_mkmodel(path, options, &error) == DG_OK, "%s", error.text);
    return path;
}

START_TEST(opens_every_family_in_every_type)
{
    dg_tmpdir_make(root);
    for (int i = 0; i < 24; i++) {
        struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
        options.dtype = (enum dg_dtype)(i % 4);
        options.blueprint.decoder_kind = (enum dg_decoder_kind)(i % 3);
        options.blueprint.norm_place = i % 5 ? DG_NORM_POST : DG_NORM_PRE;
        options.blueprint.positions = (enum dg_positions)(i % 5);
        options.blueprint.tie_output = i % 7 != 0;
        options.blueprint.start = i % 2 ? DG_START_ZERO : DG_START_TOKEN;
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        const char *path = make(&options, name);
        struct dg_model *model;
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(dg_model_open(&model, path, &error) == DG_OK, "%d: %s", i, error.text);
        const struct dg_blueprint *bp = dg_model_blueprint(model);
        ck_assert_int_eq(bp->decoder_kind, options.blueprint.decoder_kind);
        ck_assert_int_eq(bp->start, options.blueprint.start);
        ck_assert_int_eq(bp->positions, options.blueprint.positions);
        const struct dg_tensor *fc1 =
            &dg_model_weights(model)->transformer.encoder_layers[0].ffn.fc1.weight;
        ck_assert_int_eq(fc1->dtype, options.dtype);
        ck_assert_int_eq(fc1->scale != NULL, options.dtype == DG_DTYPE_I8);
        ck_assert_ptr_eq(dg_model_ref(model), model);
        dg_model_unref(model);
        dg_model_unref(model);
    }
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(i8_is_the_float_model_rounded)
{
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_model *exact, *rounded;
    ck_assert_int_eq(dg_model_open(&exact, make(&options, "f32"), NULL), DG_OK);
    options.dtype = DG_DTYPE_I8;
    ck_assert_int_eq(dg_model_open(&rounded, make(&options, "i8"), NULL), DG_OK);
    const struct dg_tensor *f = &dg_model_weights(exact)->transformer.source_embedding;
    const struct dg_tensor *q = &dg_model_weights(rounded)->transformer.source_embedding;
    for (size_t r = 0; r < f->shape[0]; r++)
        for (size_t c = 0; c < f->shape[1]; c++) {
            float value = ((const float *)f->data)[r * f->shape[1] + c];
            float again = q->scale[r] * ((const int8_t *)q->data)[r * f->shape[1] + c];
            ck_assert_float_le(value > again ? value - again : again - value,
                               q->scale[r] * 0.5001f);
        }
    dg_model_unref(exact);
    dg_model_unref(rounded);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_bytes)
{
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_map_file files[3];
    for (int i = 0; i < 3; i++) {
        options.seed = i < 2 ? 5 : 6;
        char name[8], path[DG_TMPDIR_CAP + 64];
        snprintf(name, sizeof name, "%d", i);
        snprintf(path, sizeof path, "%s/model.safetensors", make(&options, name));
        ck_assert_int_eq(dg_map_file_open(&files[i], path, 1 << 24, NULL), DG_OK);
    }
    ck_assert_uint_eq(files[0].len, files[1].len);
    ck_assert_int_eq(memcmp(files[0].bytes, files[1].bytes, files[0].len), 0);
    ck_assert_int_ne(memcmp(files[0].bytes, files[2].bytes, files[0].len), 0);
    for (int i = 0; i < 3; i++)
        dg_map_file_close(&files[i]);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(opens_m2m100_and_imports_it_as_it_is)
{
    static const char config[] =
        "{\"model_type\":\"m2m_100\",\"activation_function\":\"relu\",\"d_model\":32,"
        "\"encoder_layers\":2,\"decoder_layers\":2,\"encoder_attention_heads\":4,"
        "\"decoder_attention_heads\":4,\"encoder_ffn_dim\":64,\"decoder_ffn_dim\":64,"
        "\"vocab_size\":200,\"pad_token_id\":1,\"eos_token_id\":2,\"decoder_start_token_id\":2,"
        "\"scale_embedding\":true,\"max_length\":200}";
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint.norm_place = DG_NORM_PRE;
    struct dg_model *model;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_import_summary summary;
    const struct dg_import_opts opts = {.as_type = true, .type = DG_DTYPE_I8};
    char path[DG_TMPDIR_CAP + 64], out[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/config.json", make(&options, "m2m"));
    ck_assert_int_eq(dg_file_out_save(path, 0644, config, sizeof config - 1, NULL), DG_OK);
    *strrchr(path, '/') = '\0';
    snprintf(out, sizeof out, "%s/out", root);
    ck_assert_msg(dg_import(path, out, &opts, &summary, &error) == DG_OK, "%s", error.text);
    ck_assert_msg(dg_model_open(&model, out, &error) == DG_OK, "%s", error.text);
    const struct dg_blueprint *bp = dg_model_blueprint(model);
    ck_assert_int_eq(bp->norm_place, DG_NORM_PRE);
    ck_assert_uint_eq(bp->position_offset, 2);
    ck_assert_ptr_nonnull(dg_model_weights(model)->transformer.decoder_norm.gain.data);
    dg_model_unref(model);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_model *model;
    struct dg_error error = DG_ERROR_NONE;
    char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/model.safetensors", make(&options, "m"));
    ck_assert_int_eq(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    ck_assert_int_eq(dg_model_open(&model, path, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "model.safetensors"));
    ck_assert_int_eq(dg_model_open(&model, root, &error), DG_ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "config.json"));
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(weights_that_changed_while_they_were_read_are_refused)
{
    dg_tmpdir_make(root);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_model *model = NULL;
    char path[DG_TMPDIR_CAP + 64];
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    const char *dir = make(&options, "cut");
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_int_eq(dg_model_open(&model, dir, &error), DG_OK);
    ck_assert_int_eq(dg_model_check(model, &error), DG_OK);
    ck_assert_int_eq(truncate(path, 0), 0);
    const volatile uint8_t *weights = dg_model_weights(model)->transformer.source_embedding.data;
    ck_assert_int_eq(weights[0], 0);
    ck_assert_int_eq(dg_model_check(model, &error), DG_ERR_INTEGRITY);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    dg_model_unref(model);
    dg_tmpdir_remove(root);
}
END_TEST

DG_UNIT(opens_every_family_in_every_type, i8_is_the_float_model_rounded,
        the_same_seed_gives_the_same_bytes, opens_m2m100_and_imports_it_as_it_is,
        what_is_missing_is_named, weights_that_changed_while_they_were_read_are_refused)
