/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The vocabularies of XLM-RoBERTa and CamemBERT from a SentencePiece model: the tokenizer.json made
 * from the model gives the same pieces as SentencePiece, with fairseq's ids. The pieces, scores and
 * replacements are those of models/fr-en. */
#include "base/file/text_in.h"
#include "import/format/fairseq_vocab.h"
#include "files.h"
#include "tokenize/hf/subword.h"
#include "tokenize/spm/spm_encode.h"
#include "unit.h"

#include "spm_maker.h"

static struct maker maker;
static struct dg_spm *spm;

/* Makes a model with <unk>, <s> and </s> before the pieces of fr-en, except its bytes. */
static void begin(void)
{
    char path[DG_TEST_PATH];
    struct dg_spm *from;
    ck_assert_int_eq(dg_spm_open(dg_test_source(path, "models/fr-en/source.spm"), NULL, &from),
                     DG_OK);
    maker_init(&maker);
    for (uint32_t i = 2; i < dg_spm_size(from); i++) {
        const struct dg_span piece = dg_spm_piece(from, i);
        if (dg_spm_type(from, i) == DG_PIECE_BYTE)
            continue;
        maker_piece_as(&maker, piece.ptr, piece.len, dg_spm_score(from, i),
                       (int)dg_spm_type(from, i), false);
    }
    const struct dg_span map = dg_spm_charsmap(from);
    ck_assert_uint_gt(map.len, 1000);
    put_bytes_field(&maker.normaliser, 2, map.ptr, map.len);
    dg_spm_close(from);
    spm = maker_open(&maker);
}

static void end(void)
{
    dg_spm_close(spm);
    maker_deinit(&maker);
}

static struct dg_subword *made(enum dg_fairseq_vocab kind)
{
    struct dg_buf json;
    struct dg_subword *subword = NULL;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&json, 16 << 20);
    ck_assert_msg(dg_fairseq_vocab_write(spm, kind, &json, &error) == DG_OK, "%s", error.text);
    const struct dg_subword_files files = {.json = dg_buf_span(&json)};
    ck_assert_msg(dg_subword_parse(&subword, &files, &error) == DG_OK, "%s", error.text);
    dg_buf_deinit(&json);
    return subword;
}

/* fairseq's number of a piece. */
static int32_t id_of(enum dg_fairseq_vocab kind, uint32_t piece)
{
    return (int32_t)(piece == 0 ? 3 : piece + (kind == DG_FAIRSEQ_CAMEMBERT ? 4 : 1));
}

struct comparing {
    enum dg_fairseq_vocab kind;
    const struct dg_subword *subword;
    struct dg_subword_work *work;
    struct dg_spm_work *spm_work;
    size_t n_tokens;
};

static void compare(struct comparing *c, struct dg_span text)
{
    const struct dg_subword_token *found;
    size_t n_found, n_expected;
    ck_assert_int_eq(dg_spm_encode(spm, c->spm_work, text), DG_OK);
    const struct dg_spm_token *expected = dg_spm_tokens(c->spm_work, &n_expected);
    ck_assert_int_eq(dg_subword_encode(c->subword, c->work, text, 0, NULL, &found, &n_found),
                     DG_OK);
    for (size_t i = 0; i < n_expected && i < n_found; i++)
        ck_assert_msg(found[i].id == id_of(c->kind, expected[i].id),
                      "token %zu of \"%.*s\" is %d, expected %d", i, DG_SPAN_FMT(text), found[i].id,
                      id_of(c->kind, expected[i].id));
    ck_assert_msg(n_found == n_expected, "\"%.*s\" has %zu tokens, expected %zu", DG_SPAN_FMT(text),
                  n_found, n_expected);
    c->n_tokens += n_found;
}

static void compare_file(struct comparing *c, const char *name)
{
    char path[DG_TEST_PATH];
    struct dg_text_in in;
    struct dg_span line;
    ck_assert_int_eq(dg_text_in_open(&in, dg_test_source(path, name), NULL), DG_OK);
    for (size_t i = 0; i < 300 && dg_text_in_line(&in, &line); i++)
        /* "</s>" is a token for one of the models, and text for the other */
        if (!line.len || !memchr(line.ptr, '<', line.len))
            compare(c, line);
    dg_text_in_close(&in);
}

static void check_kind(enum dg_fairseq_vocab kind, const char *const *words)
{
    struct comparing c = {.kind = kind,
                          .subword = made(kind),
                          .work = dg_subword_work_new(),
                          .spm_work = dg_spm_work_new()};
    static const char *const texts[] = {
        "",
        " ",
        "a",
        "  Two   spaces, and one behind ",
        "L\xE2\x80\x99\xC3\xA9t\xC3\xA9\xE2\x80\xA6",
        ("\xEF\xBC\xA1\xEF\xBC\xA2 \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E "
         "\xF0\x9F\x98\x80\xF0\x9F\x98\x80!"),
        "tab\there, \xC2\xA0no break",
        "1,234.5 km\xC2\xB2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        compare(&c, dg_span_cstr(texts[i]));
    compare_file(&c, "README.md");
    compare_file(&c, "tests/models/pairs.tsv");
    ck_assert_uint_gt(c.n_tokens, 4000);
    const uint32_t size = dg_subword_size(c.subword);
    ck_assert_uint_eq(size, dg_spm_size(spm) + (kind == DG_FAIRSEQ_CAMEMBERT ? 5 : 2));
    for (uint32_t i = 0; words[i]; i++)
        ck_assert(dg_span_eq(dg_subword_piece(c.subword, (int32_t)i), dg_span_cstr(words[i])));
    ck_assert_int_eq(dg_subword_sign(c.subword, DG_SUBWORD_MASK), (int32_t)size - 1);
    ck_assert_int_eq(dg_subword_sign(c.subword, DG_SUBWORD_CLS),
                     kind == DG_FAIRSEQ_CAMEMBERT ? 5 : 0);
    ck_assert_int_eq(dg_subword_sign(c.subword, DG_SUBWORD_SEP),
                     kind == DG_FAIRSEQ_CAMEMBERT ? 6 : 2);
    ck_assert_int_eq(dg_subword_unk(c.subword), 3);
    dg_spm_work_free(c.spm_work);
    dg_subword_work_free(c.work);
    dg_subword_close((struct dg_subword *)c.subword);
}

START_TEST(xlm_roberta_counts_one_on)
{
    begin();
    check_kind(DG_FAIRSEQ_XLM_ROBERTA,
               (const char *const[]){"<s>", "<pad>", "</s>", "<unk>", NULL});
    end();
}
END_TEST

START_TEST(camembert_counts_four_on)
{
    begin();
    check_kind(DG_FAIRSEQ_CAMEMBERT,
               (const char *const[]){"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED",
                                     "<s>", "</s>", NULL});
    end();
}
END_TEST

/* User-defined words of the model are words of the file; a model without a replacement table, or
 * without a space before its texts, has none in the file, either. */
START_TEST(what_the_model_has_of_its_own)
{
    maker_init(&maker);
    maker_piece(&maker, "\xE2\x96\x81", -2, DG_PIECE_NORMAL);
    maker_piece(&maker, "<fr>", 0, DG_PIECE_CONTROL);
    maker_piece(&maker, "@@", 0, DG_PIECE_USER_DEFINED);
    maker_piece(&maker, "a", -1, DG_PIECE_NORMAL);
    maker_bytes(&maker);
    put_varint_field(&maker.normaliser, 3, 0); /* no space */
    spm = maker_open(&maker);
    struct dg_subword *subword = made(DG_FAIRSEQ_XLM_ROBERTA);
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    size_t n;
    ck_assert_int_eq(dg_subword_encode(subword, work, DG_SPAN("a@@a<fr>b"), 0, NULL, &tokens, &n),
                     DG_OK);
    const int32_t expected[] = {7, 6, 7, 8 + '<', 8 + 'f',
                                /* a special token in a user's text is plain text */
                                8 + 'r', 8 + '>', 8 + 'b'};
    ck_assert_uint_eq(n, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(tokens[i].id, expected[i]);
    dg_subword_work_free(work);
    dg_subword_close(subword);
    end();
}
END_TEST

static void refuse(const char *words)
{
    struct dg_buf json;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&json, 1 << 20);
    spm = maker_open(&maker);
    ck_assert_int_eq(dg_fairseq_vocab_write(spm, DG_FAIRSEQ_XLM_ROBERTA, &json, &error),
                     DG_ERR_UNSUPPORTED);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s", error.text);
    dg_buf_deinit(&json);
    end();
}

START_TEST(other_models_are_refused)
{
    maker_init(&maker);
    maker_piece(&maker, "a", -1, DG_PIECE_NORMAL);
    put_varint_field(&maker.trainer, 3, DG_SPM_BPE);
    refuse("expected unigrams");
    maker_init(&maker);
    maker_piece(&maker, "a", -1, DG_PIECE_NORMAL);
    maker_piece(&maker, "b", -1, DG_PIECE_UNUSED);
    refuse("piece 4 is marked as never used");
    maker_init_empty(&maker);
    maker_piece(&maker, "<unk>", 0, DG_PIECE_UNKNOWN);
    maker_piece(&maker, "</s>", 0, DG_PIECE_CONTROL);
    maker_piece(&maker, "<s>", 0, DG_PIECE_CONTROL);
    maker_piece(&maker, "a", -1, DG_PIECE_NORMAL);
    refuse("piece 1 is not <s>");
}
END_TEST

DG_UNIT(xlm_roberta_counts_one_on, camembert_counts_four_on, what_the_model_has_of_its_own,
        other_models_are_refused)
