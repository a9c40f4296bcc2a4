/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Vocabularies that were learned here load and encode as they should; the same text gives the same
 * bytes; Unicode's variants of a character become one. */
#include "tokenize/spm/spm_decode.h"
#include "tokenize/spm/spm_encode.h"
#include "vocabulary/spm_train.h"
#include "unit.h"

#include <math.h>

static const char *const lines[] = {
    "low lower lowest",    "new newer newest", "wide wider widest",
    "slow slower slowest", "in 1984 and 2026", "\xc3\xa9t\xc3\xa9 \xc3\xa0 la plage !",
    "low low low new new",
};
enum { N_LINES = sizeof lines / sizeof *lines };

/* Set by the test under way. */
static enum dg_spm_kind kind = DG_SPM_BPE;
static size_t n_times = 1;

static enum dg_err learn(struct dg_buf *model, uint32_t size, bool backwards,
                         struct dg_error *error)
{
    struct dg_spm_train_opts opts = DG_SPM_TRAIN_OPTS_DEFAULT;
    opts.kind = kind;
    struct dg_spm_train *train = NULL;
    opts.size = size;
    enum dg_err err = dg_spm_train_new(&train, &opts, error);
    for (size_t i = 0; i < N_LINES * n_times && !err; i++)
        err = dg_spm_train_add(
            train, dg_span_cstr(lines[backwards ? N_LINES - 1 - i % N_LINES : i % N_LINES]));
    if (!err)
        err = dg_spm_train_finish(train, model, error);
    dg_spm_train_free(train);
    return err;
}

/* The pieces of a text, separated by bars. */
static void spell(const struct dg_spm *spm, const char *text, char *out, size_t cap)
{
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n = 0, len = 0;
    ck_assert_ptr_nonnull(work);
    ck_assert_int_eq(dg_spm_encode(spm, work, dg_span_cstr(text)), DG_OK);
    const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
    for (size_t i = 0; i < n; i++) {
        const struct dg_span piece = dg_spm_piece(spm, tokens[i].id);
        len += (size_t)snprintf(out + len, cap - len, "%s%.*s", i ? "|" : "", DG_SPAN_FMT(piece));
    }
    dg_spm_work_free(work);
}

START_TEST(frequent_words_become_pieces_and_digits_stay_alone)
{
    struct dg_buf model;
    struct dg_spm *spm;
    char text[200];
    dg_buf_init(&model, 8 << 20);
    ck_assert_int_eq(learn(&model, 64, false, NULL), DG_OK);
    ck_assert_int_eq(dg_spm_new((const uint8_t *)model.ptr, model.len, NULL, &spm), DG_OK);
    ck_assert_uint_eq(dg_spm_size(spm), 64);
    ck_assert_int_eq(dg_spm_eos(spm), 0);
    ck_assert_int_eq(dg_spm_unk(spm), 1);
    ck_assert_int_eq(dg_spm_kind(spm), DG_SPM_BPE);
    spell(spm, "low newest", text, sizeof text);
    ck_assert_str_eq(text, "\xe2\x96\x81low|\xe2\x96\x81newest");
    spell(spm, "1984", text, sizeof text);
    ck_assert_str_eq(text, "\xe2\x96\x81"
                           "1|9|8|4");
    dg_spm_close(spm);
    dg_buf_deinit(&model);
}
END_TEST

START_TEST(unicode_variants_are_one)
{
    struct dg_buf model;
    struct dg_spm *spm;
    char plain[200], other[200];
    dg_buf_init(&model, 8 << 20);
    ck_assert_int_eq(learn(&model, 64, false, NULL), DG_OK);
    ck_assert_int_eq(dg_spm_new((const uint8_t *)model.ptr, model.len, NULL, &spm), DG_OK);
    spell(spm, "\xc3\xa9t\xc3\xa9 ! low 19", plain, sizeof plain);
    /* Separate accents, a narrow no-break space, full-width letters, superscripts, a soft
     * hyphen. */
    spell(spm,
          "e\xcc\x81te\xcc\x81\xe2\x80\xaf! \xef\xbd\x8c\xef\xbd\x8f\xc2\xadw \xc2\xb9\xe2\x81\xb9",
          other, sizeof other);
    ck_assert_str_eq(plain, other);
    dg_spm_close(spm);
    dg_buf_deinit(&model);
}
END_TEST

START_TEST(the_order_of_the_lines_does_not_matter)
{
    struct dg_buf one, other;
    dg_buf_init(&one, 8 << 20);
    dg_buf_init(&other, 8 << 20);
    ck_assert_int_eq(learn(&one, 64, false, NULL), DG_OK);
    ck_assert_int_eq(learn(&other, 64, true, NULL), DG_OK);
    ck_assert_uint_eq(one.len, other.len);
    ck_assert_mem_eq(one.ptr, other.ptr, one.len);
    dg_buf_deinit(&one);
    dg_buf_deinit(&other);
}
END_TEST

START_TEST(sizes_that_cannot_be_reached_are_refused)
{
    struct dg_buf model;
    struct dg_error error = DG_ERROR_NONE;
    dg_buf_init(&model, 8 << 20);
    ck_assert_int_eq(learn(&model, 5000, false, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "ask for fewer"));
    ck_assert_int_eq(learn(&model, 16, false, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "more characters than"));
    ck_assert_int_eq(learn(&model, 3, false, &error), DG_ERR_RANGE);
    ck_assert_uint_eq(model.len, 0);
}
END_TEST

START_TEST(probable_pieces_are_learned)
{
    struct dg_buf model, other;
    struct dg_spm *spm;
    struct dg_error error = DG_ERROR_NONE;
    char text[200];
    kind = DG_SPM_UNIGRAM;
    n_times = 20;
    dg_buf_init(&model, 8 << 20);
    dg_buf_init(&other, 8 << 20);
    ck_assert_msg(learn(&model, 45, false, &error) == DG_OK, "%s", error.text);
    ck_assert_int_eq(dg_spm_new((const uint8_t *)model.ptr, model.len, NULL, &spm), DG_OK);
    ck_assert_int_eq(dg_spm_kind(spm), DG_SPM_UNIGRAM);
    ck_assert_uint_eq(dg_spm_size(spm), 45);
    ck_assert_int_eq(dg_spm_eos(spm), 0);
    double sum = 0.0;
    for (uint32_t i = 2; i < 45; i++) {
        if (i > 2)
            ck_assert_float_le(dg_spm_score(spm, i), dg_spm_score(spm, i - 1));
        sum += exp((double)dg_spm_score(spm, i));
    }
    ck_assert_double_gt(sum, 0.5); /* digamma takes a little of each, the pieces dropped last the
                                      rest */
    ck_assert_double_le(sum, 1.0);
    spell(spm, "low new", text, sizeof text);
    ck_assert_str_eq(text, "\xe2\x96\x81low|\xe2\x96\x81new");
    spell(spm, "19", text, sizeof text);
    ck_assert_str_eq(text, "\xe2\x96\x81"
                           "1|9");
    ck_assert_int_eq(learn(&other, 45, true, NULL), DG_OK);
    ck_assert_uint_eq(model.len, other.len);
    ck_assert_mem_eq(model.ptr, other.ptr, model.len);
    ck_assert_int_eq(learn(&other, 5000, false, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "ask for fewer"));
    kind = DG_SPM_BPE;
    n_times = 1;
    dg_spm_close(spm);
    dg_buf_deinit(&model);
    dg_buf_deinit(&other);
}
END_TEST

DG_UNIT_SLOW(probable_pieces_are_learned, frequent_words_become_pieces_and_digits_stay_alone,
             unicode_variants_are_one, the_order_of_the_lines_does_not_matter,
             sizes_that_cannot_be_reached_are_refused)
