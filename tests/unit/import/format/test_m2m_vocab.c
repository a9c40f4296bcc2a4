/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Directories of M2M100 and NLLB get the ids that Hugging Face computes. The pieces are those of
 * tests/data/import/nllb.spm: <unk>, <s>, </s>, then a to q. */
#include "import_check.h"
#include "mkmodel.h"
#include "tokenize/tokenizer.h"

static const char config[] =
    "{\"model_type\":\"m2m_100\",\"activation_function\":\"relu\",\"d_model\":32,"
    "\"encoder_layers\":2,\"decoder_layers\":2,\"encoder_attention_heads\":4,"
    "\"decoder_attention_heads\":4,\"encoder_ffn_dim\":64,\"decoder_ffn_dim\":64,"
    "\"vocab_size\":200,\"pad_token_id\":1,\"eos_token_id\":2,\"decoder_start_token_id\":2,"
    "\"scale_embedding\":true,\"max_length\":200}";

static void put(const char *name, const char *text)
{
    char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/in/%s", import_root, name);
    import_write(path, text, strlen(text));
}

static void start(void)
{
    char path[DG_TMPDIR_CAP + 64];
    struct dg_map_file spm;
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint.norm_place = DG_NORM_PRE;
    dg_tmpdir_make(import_root);
    snprintf(path, sizeof path, "%s/in", import_root);
    dg_mkmodel_complete(&options.blueprint);
    ck_assert_int_eq(dg_mkmodel(path, &options, NULL), DG_OK);
    put("config.json", config);
    static const char *const others[] = {"source.spm", "target.spm", "vocab.json"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/in/%s", import_root, others[i]);
        unlink(path);
    }
    ck_assert_int_eq(dg_map_file_open(&spm, import_data("nllb.spm"), 1 << 20, NULL), DG_OK);
    snprintf(path, sizeof path, "%s/in/sentencepiece.bpe.model", import_root);
    import_write(path, spm.bytes, spm.len);
    dg_map_file_close(&spm);
}

static enum dg_err run(struct dg_error *error)
{
    char in[DG_TMPDIR_CAP + 16], out[DG_TMPDIR_CAP + 16];
    struct dg_import_summary summary;
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    return import_try(in, out, NULL, &summary, error);
}

static struct dg_tokenizer *import_tokenizer(void)
{
    char out[DG_TMPDIR_CAP + 16];
    struct dg_error error;
    struct dg_tokenizer *tokenizer;
    ck_assert_msg(run(&error) == DG_OK, "%s", error.text);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_msg(dg_tokenizer_open(out, &error, &tokenizer) == DG_OK, "%s", error.text);
    return tokenizer;
}

START_TEST(nllb_counts_from_its_pieces)
{
    start();
    put("special_tokens_map.json",
        "{\"additional_special_tokens\": [\"ace_Arab\", {\"content\": \"fra_Latn\"}], \"x\": 1}");
    struct dg_tokenizer *tokenizer = import_tokenizer();
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("</s>")), 2);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("<unk>")), 3);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("a")), 4); /* piece 3 */
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("q")), 20);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("ace_Arab")), 21);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("fra_Latn")), 22);
    dg_tokenizer_close(tokenizer);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(m2m100_counts_on_behind_its_vocabulary)
{
    start();
    put("vocab.json", "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"b\": 4, \"a\": 5}");
    put("special_tokens_map.json", "{\"additional_special_tokens\": [\"__af__\", \"__fr__\"]}");
    struct dg_tokenizer *tokenizer = import_tokenizer();
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("a")), 5);
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("__fr__")), 7);
    dg_tokenizer_close(tokenizer);
    dg_tmpdir_remove(import_root);
    start();
    put("vocab.json", "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"b\": 4, \"a\": 5}");
    put("added_tokens.json", "{\"__fr__\": 150}");
    tokenizer = import_tokenizer();
    ck_assert_int_eq(dg_tokenizer_find(tokenizer, DG_SPAN("__fr__")), 150);
    dg_tokenizer_close(tokenizer);
    dg_tmpdir_remove(import_root);
}
END_TEST

START_TEST(ids_outside_the_embedding_are_refused)
{
    struct dg_error error;
    start();
    put("added_tokens.json", "{\"__fr__\": 200}");
    ck_assert_int_eq(run(&error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "added_tokens.json: the id of '__fr__' is 200"));
    ck_assert_uint_eq(dg_tmpdir_count(import_root), 1);
    dg_tmpdir_remove(import_root);
}
END_TEST

DG_UNIT(nllb_counts_from_its_pieces, m2m100_counts_on_behind_its_vocabulary,
        ids_outside_the_embedding_are_refused)
