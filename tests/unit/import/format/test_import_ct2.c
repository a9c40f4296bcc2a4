/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* CTranslate2 models of three binary versions and an Argos package (tests/support/ct2_fixture.py
 * wrote them) are imported and compared number by number, then damaged; a real one is compared by
 * that script. */
#include "import_check.h"
#include "import/container/ct2_file.h"
#include "import/container/bundle.h"
#include "tokenize/tokenizer.h"

START_TEST(models_of_all_versions_are_imported_bit_for_bit)
{
    dg_tmpdir_make(import_root);
    struct dg_import_summary v2 = import_exactly(import_data("ct2-v2"));
    ck_assert_uint_eq(v2.blueprint.encoder.H, 8);
    ck_assert_int_eq(v2.blueprint.positions, DG_POS_HALVES_CLOSED);
    ck_assert_uint_eq(v2.blueprint.position_offset, 1);
    ck_assert_int_eq(v2.blueprint.eos_id, 1);
    ck_assert_int_eq(v2.blueprint.unk_id, 19);
    ck_assert_int_eq(v2.blueprint.start_id, 0);
    ck_assert(!v2.blueprint.tie_output && !v2.blueprint.tie_source_target);
    struct dg_import_summary v6 = import_exactly(import_data("ct2-v6"));
    ck_assert_int_eq(v6.blueprint.positions, DG_POS_HALVES);
    ck_assert_uint_eq(v6.blueprint.position_offset, 0);
    ck_assert_int_eq(v6.blueprint.start, DG_START_ZERO);
    ck_assert_int_eq(v6.blueprint.activation, DG_ACT_SILU);
    ck_assert(v6.blueprint.tie_output && v6.blueprint.tie_source_target);
    struct dg_import_summary i8 = import_exactly(import_data("ct2-i8"));
    ck_assert_uint_eq(i8.n_tensors, v6.n_tensors);
    ck_assert_str_eq(i8.format, "CTranslate2 directory");
    ck_assert_ptr_nonnull(strstr(i8.note, "translate --ids"));
    struct dg_import_summary relative = import_exactly(import_data("ct2-relative"));
    ck_assert_uint_eq(relative.blueprint.relative_reach, 2);
    ck_assert_int_eq(relative.blueprint.positions, DG_POS_NONE);
    ck_assert(relative.blueprint.embedding_scale == 1);
    struct dg_import_summary argos = import_exactly(import_data("tiny.argosmodel"));
    ck_assert_str_eq(argos.format, "Argos package");
    ck_assert_uint_eq(argos.blueprint.n_beams, 4);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(a_real_model_is_compared_by_an_independent_reader)
{
    static const char *const types[] = {"i8", "i16", "f16", "bf16"};
    const char *real = import_shared("ct2-aren-v2-f32");
    char out[DG_TMPDIR_CAP + 16], in[DG_TMPDIR_CAP + 16], command[3000];
    struct dg_import_summary summary;
    const struct dg_import_opts f32 = {.as_type = true, .type = DG_DTYPE_F32};
    struct dg_error error;
    if (!real || access("/usr/bin/python3", X_OK) != 0) {
        printf("skipped: needs the shared models and python3\n");
        return;
    }
    dg_tmpdir_make(import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(in, sizeof in, "%s/as", import_root);
    ck_assert_msg(import_try(real, out, NULL, &summary, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(summary.blueprint.encoder.n_layers, 6);
    ck_assert_int_eq(summary.blueprint.norm_place, DG_NORM_PRE);
    snprintf(command, sizeof command, "ct2_fixture.py check '%s' '%s'", real, out);
    ck_assert_int_eq(import_python(command), 0);
    dg_tmpdir_remove(out);
    for (size_t i = 0; i < 4; i++) {
        snprintf(command, sizeof command, "ct2_fixture.py convert '%s' '%s' %s", real, in,
                 types[i]);
        ck_assert_int_eq(import_python(command), 0);
        ck_assert_msg(import_try(in, out, &f32, &summary, &error) == DG_OK, "%s", error.text);
        snprintf(command, sizeof command, "ct2_fixture.py check '%s' '%s'", in, out);
        ck_assert_int_eq(import_python(command), 0);
        dg_tmpdir_remove(out);
        dg_tmpdir_remove(in);
    }
    dg_tmpdir_remove(import_root);
}
END_TEST

/* With a SentencePiece model next to it the directory has a tokenizer; OpenNMT's networks read no
 * end token. */
START_TEST(text_is_split_by_the_model_that_lies_beside)
{
    char out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    const char *spm = import_shared("fr-en/source.spm");
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_map_file file;
    if (!spm) {
        printf("skipped: needs the shared models\n");
        return;
    }
    dg_tmpdir_make(import_root);
    import_copy(import_data("ct2-i8"));
    snprintf(path, sizeof path, "%s/in/sentencepiece.model", import_root);
    ck_assert_int_eq(dg_map_file_open(&file, spm, 1 << 24, NULL), DG_OK);
    import_write(path, file.bytes, file.len);
    dg_map_file_close(&file);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/in", import_root);
    ck_assert_msg(import_try(path, out, NULL, &summary, &error) == DG_OK, "%s", error.text);
    ck_assert_str_eq(summary.note, "");
    struct dg_tokenizer *tokenizer;
    ck_assert_msg(dg_tokenizer_open(out, &error, &tokenizer) == DG_OK, "%s", error.text);
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    size_t n;
    ck_assert_int_eq(dg_tokenizer_encode(tokenizer, work, DG_SPAN("a"), &opts, &error, &tokens, &n),
                     DG_OK);
    ck_assert_uint_ge(n, 1);
    ck_assert_int_ne(tokens[n - 1].id, dg_tokenizer_source(tokenizer).eos);
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* Twenty words of tests/data/import/nllb.spm; the last ones as given. */
static void put_words(const char *last, const char *config)
{
    char path[DG_TMPDIR_CAP + 64], words[256];
    snprintf(path, sizeof path, "%s/in/shared_vocabulary.txt", import_root);
    snprintf(words, sizeof words,
             "<unk>\n<s>\n</s>\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\n%s", last);
    import_write(path, words, strlen(words));
    snprintf(path, sizeof path, "%s/in/config.json", import_root);
    import_write(path, config, strlen(config));
}

START_TEST(models_of_many_languages_are_told_them)
{
    static const char starts[] = "{\"decoder_start_token\": \"</s>\"}";
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_map_file spm;
    dg_tmpdir_make(import_root);
    import_copy(import_data("ct2-relative"));
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/sentencepiece.bpe.model", in);
    ck_assert_int_eq(dg_map_file_open(&spm, import_data("nllb.spm"), 1 << 20, NULL), DG_OK);
    import_write(path, spm.bytes, spm.len);
    dg_map_file_close(&spm);
    static const char *const none[][2] = {
        {"fra_Latn\np\n", starts}, {">>fra<<\n>>eng<<\n", starts}, {"__fr__\n__en__\n", "{}"}};
    for (size_t i = 0; i < 3; i++) {
        put_words(none[i][0], none[i][1]);
        ck_assert_msg(import_try(in, out, NULL, &summary, &error) == DG_OK, "%s", error.text);
        ck_assert_int_eq(summary.blueprint.lang_rule, DG_LANG_NONE);
        dg_tmpdir_remove(out);
    }
    put_words("__fr__\n__en__\n", starts);
    ck_assert_msg(import_try(in, out, NULL, &summary, &error) == DG_OK, "%s", error.text);
    ck_assert_int_eq(summary.blueprint.lang_rule, DG_LANG_SOURCE_FIRST);
    struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_language *list;
    size_t n;
    ck_assert_msg(dg_tokenizer_open(out, &error, &tokenizer) == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_tokenizer_languages(tokenizer, &list, &n), DG_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(list[0].source_id == 18 && list[0].target_id == 18 &&
              dg_span_eq(list[1].code, DG_SPAN("en")));
    dg_free(list);
    dg_tokenizer_close(tokenizer);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* Imports an unpacked package with this metadata.json and these words. */
static enum dg_err import_argos(const char *metadata, struct dg_import_summary *summary,
                                struct dg_error *error)
{
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64],
        model[DG_TMPDIR_CAP + 64];
    dg_tmpdir_make(import_root);
    import_copy(import_data("ct2-relative"));
    put_words("__fr__\n__en__\n", "{}");
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(model, sizeof model, "%s/model", import_root);
    ck_assert_int_eq(rename(in, model), 0);
    ck_assert_int_eq(mkdir(in, 0755), 0);
    snprintf(path, sizeof path, "%s/model", in);
    ck_assert_int_eq(rename(model, path), 0);
    snprintf(path, sizeof path, "%s/metadata.json", in);
    import_write(path, metadata, strlen(metadata));
    enum dg_err err = import_try(in, out, NULL, summary, error);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), err ? 1 : 2);
    dg_tmpdir_remove(import_root);
    return err;
}

START_TEST(a_package_of_one_target_says_its_word_first)
{
    struct dg_import_summary summary;
    struct dg_error error;
    ck_assert_msg(import_argos("{\"target_prefix\": \"__en__\"}", &summary, &error) == DG_OK, "%s",
                  error.text);
    ck_assert_int_eq(summary.blueprint.forced_bos_id, 19);
    ck_assert_int_eq(summary.blueprint.lang_rule, DG_LANG_NONE);
    ck_assert_msg(import_argos("{\"target_prefix\": \"\"}", &summary, &error) == DG_OK, "%s",
                  error.text);
    ck_assert_int_eq(summary.blueprint.forced_bos_id, DG_ID_NONE);
    static const char *const bad[] = {"{\"target_prefix\": \"__de__\"}",
                                      "{\"target_prefix\": \"a\"}", "{\"target_prefix\": 3}"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_ne(import_argos(bad[i], &summary, &error), DG_OK);
        ck_assert_msg(strstr(error.text, "metadata.json") && strstr(error.text, "target_prefix"),
                      "%s", error.text);
    }
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

static const char *const committed[] = {"ct2-v2", "ct2-v6", "ct2-i8", "ct2-relative"};

static enum dg_err parse(const uint8_t *bytes, size_t len, struct dg_error *error)
{
    struct dg_ct2 file;
    enum dg_err err = dg_ct2_parse(&file, bytes, len, "the file", error);
    if (!err)
        dg_ct2_close(&file);
    return err;
}

static struct dg_map_file original(const char *which)
{
    char path[2048];
    struct dg_map_file file;
    snprintf(path, sizeof path, "%s/model.bin", import_data(which));
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 24, NULL), DG_OK);
    return file;
}

static void read_truncated(size_t which)
{
    struct dg_map_file file = original(committed[which]);
    for (size_t len = 0; len < file.len; len++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_msg(parse(file.bytes, len, &error) != DG_OK, "accepted when cut to %zu bytes",
                      len);
        ck_assert_msg(strstr(error.text, "the file: offset ") != NULL, "%zu: %s", len, error.text);
    }
    ck_assert_uint_gt(import_extremes(&file, parse), file.len / 8);
    dg_map_file_close(&file);
}

START_TEST(every_truncation_is_refused_with_an_offset)
{
    for (size_t i = 0; i < 4; i++)
        read_truncated(i);
}
END_TEST

/* Runs the whole importer: no files may be left over, whatever happens. */
static void import_damaged(size_t which)
{
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16], path[DG_TMPDIR_CAP + 64];
    struct dg_map_file file = original(committed[which]);
    uint8_t *bytes = dg_xmalloc(file.len);
    uint32_t state = 1;
    size_t n_refused = 0;
    const int n_rounds = dg_unit_rounds(60);
    dg_tmpdir_make(import_root);
    import_copy(import_data(committed[which]));
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    snprintf(path, sizeof path, "%s/model.bin", in);
    for (int round = 0; round < n_rounds; round++) {
        struct dg_import_summary summary;
        struct dg_error error;
        size_t len = file.len;
        memcpy(bytes, file.bytes, len);
        state = state * 1664525 + 1013904223;
        if (round % 4 == 0)
            len = state % len;
        else
            bytes[(state >> 8) % len] = (uint8_t)(round % 2 ? 0xff : state >> 24);
        import_write(path, bytes, len);
        enum dg_err err = import_try(in, out, NULL, &summary, &error);
        ck_assert(err == DG_OK || error.text[0]);
        if (err)
            ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
        else
            dg_tmpdir_remove(out);
        n_refused += err != DG_OK;
    }
    ck_assert_uint_gt(n_refused, (size_t)n_rounds / 20);
    dg_free(bytes);
    dg_map_file_close(&file);
    dg_tmpdir_remove(import_root);
}

START_TEST(damaged_models_leave_nothing_behind)
{
    for (size_t i = 0; i < 4; i++)
        import_damaged(i);
}
END_TEST

static void refused(const char *which, const char *name, const char *content, const char *sentence)
{
    char path[DG_TMPDIR_CAP + 64], out[DG_TMPDIR_CAP + 16];
    struct dg_import_summary summary;
    struct dg_error error;
    dg_tmpdir_make(import_root);
    import_copy(import_data(which));
    snprintf(path, sizeof path, "%s/in/%s", import_root, name);
    import_write(path, content, strlen(content));
    snprintf(path, sizeof path, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_int_ne(import_try(path, out, NULL, &summary, &error), DG_OK);
    ck_assert_msg(strstr(error.text, sentence) != NULL, "%s", error.text);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    dg_tmpdir_remove(import_root);
}

START_TEST(bad_vocabularies_and_rules_are_refused_by_name)
{
    refused("ct2-i8", "shared_vocabulary.txt", "<unk>\n<s>\n</s>\n",
            "shared_vocabulary.txt has 3 words, but the embedding has 20 rows");
    refused("ct2-v2", "target_vocabulary.txt", "a\nb\xff\n", "word 1 is not UTF-8");
    refused("ct2-v6", "shared_vocabulary.json", "{\"a\": 1}", "expected an array of words");
    refused("ct2-v6", "config.json", "{\"add_source_bos\": true}", "before the source");
    refused("ct2-v6", "config.json", "{\"eos_token\": \"[end]\"}", "there is no end token [end]");
    refused("ct2-v6", "config.json", "{\"eos_token\": 5}", "eos_token");
    refused("ct2-i8", "model.bin",
            "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull");
}
END_TEST

/* A large deflated member goes through a file without a name: it gives the same bytes, leaves
 * nothing, and damage is found. */
START_TEST(large_members_are_inflated_outside_of_memory)
{
    enum { LEN = 3 << 20 };
    char path[DG_TMPDIR_CAP + 32], command[4096];
    struct dg_bundle bundle;
    struct dg_bundle_data data;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(import_root);
    snprintf(path, sizeof path, "%s/large.zip", import_root);
    snprintf(command, sizeof command,
             "import zipfile; z = zipfile.ZipFile('%s', 'w', zipfile.ZIP_DEFLATED); "
             "z.writestr('top/large', bytes(i * i %% 251 for i in range(%d)))",
             path, LEN);
    char *const arguments[] = {(char *)(uintptr_t) "python3", (char *)(uintptr_t) "-c", command,
                               NULL};
    if (access("/usr/bin/python3", X_OK) != 0 ||
        dg_tmpdir_run("/usr/bin/python3", arguments) != 0) {
        printf("skipped: needs python3\n");
        dg_tmpdir_remove(import_root);
        return;
    }
    ck_assert_int_eq(setenv("TMPDIR", import_root, 1), 0);
    ck_assert_msg(dg_bundle_open(&bundle, path, &error) == DG_OK, "%s", error.text);
    ck_assert_msg(dg_bundle_read(&bundle, "large", LEN, &data, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    ck_assert(data.zip.mapped && data.len == LEN);
    for (int round = 0; round < 2; round++) {
        size_t n_right = 0;
        for (size_t i = 0; i < LEN; i++)
            n_right += data.bytes[i] == i * i % 251;
        ck_assert_uint_eq(n_right, LEN);
        dg_bundle_data_forget(&data);
    }
    dg_bundle_data_free(&data);
    ck_assert_int_eq(dg_bundle_read(&bundle, "large", LEN - 1, &data, &error), DG_ERR_LIMIT);
    bundle.zip.members[0].crc ^= 1;
    ck_assert_int_eq(dg_bundle_read(&bundle, "large", LEN, &data, &error), DG_ERR_INTEGRITY);
    ck_assert_ptr_nonnull(strstr(error.text, "does not match its CRC"));
    bundle.zip.members[0].packed_len -= 9;
    ck_assert_int_eq(dg_bundle_read(&bundle, "large", LEN, &data, &error), DG_ERR_INTEGRITY);
    ck_assert_ptr_nonnull(strstr(error.text, "does not inflate"));
    ck_assert_int_eq(setenv("TMPDIR", "/nowhere", 1), 0);
    ck_assert_int_ne(dg_bundle_read(&bundle, "large", LEN, &data, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "/nowhere"));
    dg_bundle_close(&bundle);
    dg_tmpdir_remove(import_root);
}
END_TEST

/* An archive with an entry outside its folder is refused as a whole; for one that is cut off, the
 * message names the place. */
START_TEST(argos_packages_that_climb_or_are_cut_are_refused)
{
    char path[DG_TMPDIR_CAP + 64], out[DG_TMPDIR_CAP + 16];
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_map_file file;
    dg_tmpdir_make(import_root);
    snprintf(path, sizeof path, "%s/in.argosmodel", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_int_eq(dg_map_file_open(&file, import_data("tiny.argosmodel"), 1 << 24, NULL), DG_OK);
    for (size_t len = 0; len < file.len; len += 7) {
        import_write(path, file.bytes, len);
        ck_assert_int_ne(import_try(path, out, NULL, &summary, &error), DG_OK);
        ck_assert_msg(strstr(error.text, "offset") != NULL, "cut to %zu: %s", len, error.text);
    }
    uint8_t *bytes = dg_xmalloc(file.len);
    memcpy(bytes, file.bytes, file.len);
    static const char name[] = "translate-fr_en/README.md", climbs[] = "../../../../../tmp/READM";
    for (size_t at = 0; at + sizeof name <= file.len; at++)
        if (memcmp(bytes + at, name, sizeof name - 1) == 0)
            memcpy(bytes + at, climbs, sizeof climbs - 1);
    import_write(path, bytes, file.len);
    ck_assert_int_ne(import_try(path, out, NULL, &summary, &error), DG_OK);
    ck_assert_msg(strstr(error.text, "../../") != NULL, "%s", error.text);
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    dg_free(bytes);
    dg_map_file_close(&file);
    dg_tmpdir_remove(import_root);
}
END_TEST

DG_UNIT_SLOW(models_of_all_versions_are_imported_bit_for_bit,
             a_real_model_is_compared_by_an_independent_reader,
             text_is_split_by_the_model_that_lies_beside,
             every_truncation_is_refused_with_an_offset, damaged_models_leave_nothing_behind,
             bad_vocabularies_and_rules_are_refused_by_name, models_of_many_languages_are_told_them,
             a_package_of_one_target_says_its_word_first,
             argos_packages_that_climb_or_are_cut_are_refused,
             large_members_are_inflated_outside_of_memory)
