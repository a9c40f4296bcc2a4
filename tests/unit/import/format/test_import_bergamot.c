/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Marian .bin packages (tests/support/marian_fixture.py wrote them) are imported and compared
 * number by number, checked by the format's own rule of sizes, and damaged. */
#include "import/format/marian.h"
#include "import_check.h"
#include "import/container/marian_bin.h"
#include "model/lexicon.h"

static const char *const committed[] = {"bin-f32", "bin-bergamot", "bin-upstream"};
static const char model_name[] = "model.fren.intgemm.alphas.bin";
static const char lex_name[] = "lex.50.50.fren.s2t.bin";

static struct dg_map_file original(const char *which, const char *name)
{
    char path[2048];
    struct dg_map_file file;
    snprintf(path, sizeof path, "%s/%s", import_data(which), name);
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 24, NULL), DG_OK);
    return file;
}

START_TEST(packages_of_both_forks_are_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    for (size_t i = 0; i < 3; i++) {
        struct dg_import_summary summary = import_exactly(import_data(committed[i]));
        ck_assert_str_eq(summary.format, "Marian .bin");
        ck_assert_int_eq(summary.blueprint.decoder_kind, DG_DECODER_SSRU);
        ck_assert_int_eq(summary.blueprint.eos_id, 0);
        ck_assert_int_eq(summary.blueprint.unk_id, 1);
        ck_assert_int_eq(summary.blueprint.tie_source_target, i < 2);
    }
    dg_tmpdir_remove(import_root);
}
END_TEST

/* amun stores records of its training among the parameters: a scalar, and an array without
 * elements. */
START_TEST(an_old_network_with_its_records_is_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    struct dg_import_summary summary = import_exactly(import_data("bin-amun"));
    ck_assert_str_eq(summary.format, "Marian .bin");
    ck_assert(summary.blueprint.family == DG_FAMILY_RNN &&
              summary.blueprint.decoder_kind == DG_DECODER_GRU);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* int8 values stay the same, and each row's scale is the inverse of the multiplier. */
START_TEST(int8_values_are_kept_as_they_are)
{
    char out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_safetensors file;
    const struct dg_import_opts i8 = {.as_type = true, .type = DG_DTYPE_I8};
    dg_tmpdir_make(import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_msg(import_try(import_data("bin-bergamot"), out, &i8, &summary, &error) == DG_OK,
                  "%s", error.text);
    snprintf(path, sizeof path, "%s/model.safetensors", out);
    ck_assert_int_eq(dg_safetensors_open(&file, path, NULL), DG_OK);
    size_t n = 0;
    for (size_t i = 0; i < file.n_entries; i++) {
        const struct dg_safetensors_entry *entry = &file.entries[i];
        for (size_t at = 0; entry->dtype == DG_DTYPE_I8 && at < entry->len; at++, n++)
            ck_assert_int_eq(
                (int8_t)entry->bytes[at],
                (int)(import_value(entry->name, at / entry->shape[1], at % entry->shape[1]) * 64));
    }
    ck_assert_uint_gt(n, 1000);
    dg_safetensors_close(&file);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* The size by the format's rule: a header of 16 + 32 N + names + 4 for each dimension; the data
 * from the next multiple of 256 after the pad count on; every tensor rounded up to 256, except that
 * the configuration need not be. */
static void check_sizes(size_t which)
{
    struct dg_map_file map = original(committed[which], model_name);
    struct dg_marian_bin file;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_marian_bin_parse(&file, map.bytes, map.len, "f", &error) == DG_OK, "%s",
                  error.text);
    size_t size = 16 + 32 * file.n_items;
    for (size_t i = 0; i < file.n_items; i++)
        size += strlen(file.items[i].name) + 1 + 4 * file.items[i].rank;
    size = ((size + 8) / 256 + 1) * 256;
    for (size_t i = 0; i < file.n_items; i++) {
        size_t len = file.items[i].len + (file.items[i].is_intgemm ? 4 : 0);
        bool meta = strncmp(file.items[i].name, "special:", 8) == 0;
        size += meta && which == 1 ? len : (len + 255) / 256 * 256;
    }
    ck_assert_uint_eq(size, map.len);
    dg_marian_bin_close(&file);
    dg_map_file_close(&map);
}

START_TEST(the_law_of_sizes_holds)
{
    for (size_t i = 0; i < 3; i++)
        check_sizes(i);
}
END_TEST

START_TEST(the_shortlist_is_copied_and_can_be_asked)
{
    char out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_map_file map;
    struct dg_lexicon lex;
    dg_tmpdir_make(import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_int_eq(import_try(import_data("bin-bergamot"), out, NULL, &summary, &error), DG_OK);
    snprintf(path, sizeof path, "%s/lex.bin", out);
    ck_assert_int_eq(dg_map_file_open(&map, path, 1 << 24, NULL), DG_OK);
    ck_assert_msg(dg_lexicon_parse(&lex, map.bytes, map.len, path, 20, 20, &error) == DG_OK, "%s",
                  error.text);
    ck_assert_uint_eq(lex.n_frequent, 5);
    ck_assert_uint_eq(lex.n_words, 20);
    for (size_t s = 0; s < lex.n_words; s++) {
        struct dg_lexicon_list list = dg_lexicon_list(&lex, s);
        ck_assert_uint_eq(list.n, s % 4);
        for (size_t i = 0; i < list.n; i++)
            ck_assert_uint_eq(dg_lexicon_target(&lex, list.first + i), (s * 3 + i) % 20);
    }
    dg_map_file_close(&map);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

static enum dg_err parse(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_marian_bin file;
    enum dg_err err = dg_marian_bin_parse(&file, bytes, len, "the file", error);
    if (!err)
        dg_marian_bin_close(&file);
    return err;
}

static enum dg_err parse_lex(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_lexicon lex;
    return dg_lexicon_parse(&lex, bytes, len, "the file", 20, 20, error);
}

static void refuses_all_truncations(const struct dg_map_file *file,
                                    enum dg_err (*fn)(const uint8_t *, size_t, struct dg_error *))
{
    for (size_t len = 0; len < file->len; len++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(fn(file->bytes, len, &error) != DG_OK, "accepted when cut to %zu bytes", len);
        ck_assert_msg(strstr(error.text, "the file: offset ") != NULL, "%zu: %s", len, error.text);
    }
}

static void read_truncated(size_t which)
{
    struct dg_map_file file = original(committed[which], model_name);
    refuses_all_truncations(&file, parse);
    ck_assert_uint_gt(import_extremes(&file, parse), file.len / 8);
    dg_map_file_close(&file);
}

START_TEST(every_truncation_is_refused_with_an_offset)
{
    for (size_t i = 0; i < 3; i++)
        read_truncated(i);
}
END_TEST

START_TEST(a_damaged_shortlist_is_refused_with_an_offset)
{
    struct dg_map_file file = original("bin-bergamot", lex_name);
    struct dg_lexicon lex;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(parse_lex(file.bytes, file.len, &error), DG_OK);
    refuses_all_truncations(&file, parse_lex);
    ck_assert_uint_gt(import_extremes(&file, parse_lex), file.len * 8);
    ck_assert_int_ne(dg_lexicon_parse(&lex, file.bytes, file.len, "x", 19, 20, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "20 source words"));
    ck_assert_int_ne(dg_lexicon_parse(&lex, file.bytes, file.len, "x", 20, 18, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "target id"));
    dg_map_file_close(&file);
}
END_TEST

/* Damages one file of a package; the import must fail with this message and leave no files. */
static void refused(const char *which, const char *name, size_t at, uint8_t byte,
                    const char *sentence)
{
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_error error;
    dg_tmpdir_make(import_root);
    import_copy(import_data(which));
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/%s", in, name);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&byte, 1, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_ne(import_try(in, out, NULL, &summary, &error), DG_OK);
    ck_assert_msg(strstr(error.text, sentence) != NULL, "%s", error.text);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    dg_tmpdir_remove(import_root);
}

/* A record that is left out has no tensor whose scale could be set, although it claims to be
 * quantised and is the first. */
START_TEST(a_record_that_claims_to_be_quantised_is_left_out_like_others)
{
    static const uint8_t type[] = {0x01, 0x41}, one[] = {0, 0, 0, 0x80, 0x3f};
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_marian_bin bin;
    struct dg_error error;
    struct dg_map_file map = original("bin-amun", "model.bin");
    ck_assert_int_eq(dg_marian_bin_parse(&bin, map.bytes, map.len, "f", &error), DG_OK);
    ck_assert_str_eq(bin.items[1].name, "decoder_c_tt");
    const long at = (long)(bin.items[1].bytes - map.bytes);
    dg_marian_bin_close(&bin);
    dg_map_file_close(&map);
    dg_tmpdir_make(import_root);
    import_copy(import_data("bin-amun"));
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/model.bin", in);
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 16 + 32 + 8, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(type, 1, sizeof type, file), sizeof type);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(one, 1, sizeof one, file), sizeof one);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(import_try(in, out, NULL, &summary, &error) == DG_OK, "%s", error.text);
    import_check_values(out);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(damage_is_called_what_it_is)
{
    refused("bin-bergamot", model_name, 0, 2, "encrypted");
    refused("bin-bergamot", model_name, 16 + 32 + 9, 0x28, "depends on the machine");
    refused("bin-bergamot", model_name, 16 + 32 + 16, 200, "shape length");
    refused("bin-bergamot", model_name, 16 + 64 + 25, 0, "data length");
    refused("bin-bergamot", lex_name, 50, 9, "checksum");
    refused("bin-f32", model_name, 40 * 32 + 20, 'X', "special:model.yml");
}
END_TEST

static struct dg_blueprint configured(const char *lines, bool is_bergamot)
{
    char text[600];
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(text, sizeof text, "type: transformer\ndec-depth: 3\n%s", lines);
    ck_assert_msg(dg_marian_config(&bp, dg_span_cstr(text), is_bergamot, "test", &error) == DG_OK,
                  "%s", error.text);
    return bp;
}

START_TEST(gelu_is_the_older_one_up_to_version_1_12_0)
{
    static const struct {
        const char *version;
        bool is_bergamot, is_quick;
    } cases[] = {{"", false, true},
                 {"version: v1.9.56 2781d73 2021-05-06 12:00:00 +0100\n", false, true},
                 {"version: v1.12.0 65bf82f\n", false, true},
                 {"version: v1.12.1\n", false, false},
                 {"version: v1.13.0\n", false, false},
                 {"version: v1.13.0\n", true, true},
                 {"version: v2.0.0\n", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[200];
        snprintf(lines, sizeof lines, "transformer-ffn-activation: gelu\n%s", cases[i].version);
        ck_assert_int_eq(configured(lines, cases[i].is_bergamot).activation,
                         cases[i].is_quick ? DG_ACT_GELU_QUICK : DG_ACT_GELU_ERF);
    }
}
END_TEST

START_TEST(alignments_are_those_of_the_first_head_of_the_guided_layer)
{
    struct dg_blueprint bp = configured("", false);
    ck_assert_uint_eq(bp.alignment_layer, 3);
    ck_assert_uint_eq(bp.alignment_head, 1);
    bp = configured("transformer-guided-alignment-layer: 2\n", false);
    ck_assert_uint_eq(bp.alignment_layer, 2);
    ck_assert_uint_eq(bp.alignment_head, 1);
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(
        dg_marian_config(&bp, DG_SPAN("type: transformer\ntransformer-guided-alignment-layer: 9\n"),
                         false, "test", &error),
        DG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "transformer-guided-alignment-layer"));
}
END_TEST

START_TEST(pre_norm_is_of_queries_only)
{
    const struct dg_blueprint pre =
        configured("transformer-preprocess: n\ntransformer-postprocess: da\n"
                   "transformer-postprocess-top: n\n",
                   false);
    ck_assert_int_eq(pre.norm_place, DG_NORM_PRE);
    ck_assert(pre.norm_queries_only && !configured("", false).norm_queries_only);
}
END_TEST

START_TEST(factored_vocabularies_are_refused_by_name)
{
    static const char *const keys[] = {"lemma-dim-emb", "factors-dim-emb"};
    for (size_t i = 0; i < 2; i++) {
        char text[100];
        struct dg_blueprint bp;
        struct dg_error error = DG_ERROR_NONE;
        snprintf(text, sizeof text, "type: s2s\n%s: 8\n", keys[i]);
        ck_assert_int_eq(dg_marian_config(&bp, dg_span_cstr(text), false, "test", &error),
                         DG_ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(error.text, "factored vocabularies are not supported"));
        ck_assert_ptr_nonnull(strstr(error.text, keys[i]));
    }
}
END_TEST

START_TEST(what_a_training_leaves_beside_a_model_is_known)
{
    ck_assert_int_eq(dg_marian_file_of("model.npz.optimizer.npz"), DG_MARIAN_OTHER);
    ck_assert_int_eq(dg_marian_file_of("model.npz.best-bleu-detok.npz"), DG_MARIAN_COPY);
    ck_assert_int_eq(dg_marian_file_of("model.npz"), DG_MARIAN_MODEL);
    ck_assert_int_eq(dg_marian_file_of("model.intgemm8.bin"), DG_MARIAN_MODEL);
}
END_TEST

DG_UNIT_SLOW(gelu_is_the_older_one_up_to_version_1_12_0,
             alignments_are_those_of_the_first_head_of_the_guided_layer,
             pre_norm_is_of_queries_only, factored_vocabularies_are_refused_by_name,
             what_a_training_leaves_beside_a_model_is_known,
             packages_of_both_forks_are_imported_bit_for_bit,
             an_old_network_with_its_records_is_imported_bit_for_bit,
             int8_values_are_kept_as_they_are, the_law_of_sizes_holds,
             the_shortlist_is_copied_and_can_be_asked, every_truncation_is_refused_with_an_offset,
             a_damaged_shortlist_is_refused_with_an_offset,
             a_record_that_claims_to_be_quantised_is_left_out_like_others,
             damage_is_called_what_it_is)
