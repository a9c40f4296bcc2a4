/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A learned vocabulary spells every word that it was learned from, in the tokenizer that will read
 * it; frequent words are whole; the order of the texts does not matter. */
#include "tokenize/hf/subword.h"
#include "vocabulary/wordpiece_train.h"
#include "unit.h"

static const char *const lines[] = {
    "The house, the river and the little housekeeper.", "Das H\xc3\xa4uschen am Flu\xc3\x9f!",
    "the house the house the house", "\xe6\xb0\xb4\xe3\x81\xa8\xe6\xb0\xb4"};

static enum dg_err learn(const struct dg_wordpiece_train_opts *opts, bool backwards,
                         struct dg_buf *vocab)
{
    struct dg_wordpiece_train *train = NULL;
    enum dg_err err = dg_wordpiece_train_new(&train, opts, NULL);
    for (size_t i = 0; i < 4 && !err; i++)
        err = dg_wordpiece_train_add(train, dg_span_cstr(lines[backwards ? 3 - i : i]), NULL);
    if (!err)
        err = dg_wordpiece_train_finish(train, vocab, NULL);
    dg_wordpiece_train_free(train);
    return err;
}

static struct dg_subword *open_vocab(const struct dg_wordpiece_train_opts *opts,
                                     const struct dg_buf *vocab)
{
    struct dg_subword *subword;
    struct dg_buf config;
    dg_buf_init(&config, 4096);
    ck_assert_int_eq(dg_wordpiece_train_config(opts, &config), DG_OK);
    const struct dg_subword_files files = {.lines = dg_buf_span(vocab),
                                           .config = dg_buf_span(&config),
                                           .json = {"", 0},
                                           .merges = {"", 0}};
    const enum dg_err err = dg_subword_parse(&subword, &files, NULL);
    dg_buf_deinit(&config);
    ck_assert_int_eq(err, DG_OK);
    return subword;
}

static size_t count(const struct dg_subword *subword, const char *text, size_t *n_unknown)
{
    struct dg_subword_work *work = dg_subword_work_new();
    const struct dg_subword_token *tokens;
    size_t n = 0;
    *n_unknown = 0;
    ck_assert_int_eq(dg_subword_encode(subword, work, dg_span_cstr(text), 0, NULL, &tokens, &n),
                     DG_OK);
    for (size_t i = 0; i < n; i++)
        *n_unknown += tokens[i].id == dg_subword_unk(subword);
    dg_subword_work_free(work);
    return n;
}

START_TEST(spells_what_it_has_seen)
{
    for (int lowers = 0; lowers < 2; lowers++) {
        struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
        struct dg_buf vocab;
        size_t n_unknown;
        opts.size = 150;
        opts.coverage = 1.0;
        opts.lowers = lowers;
        dg_buf_init(&vocab, 1 << 20);
        ck_assert_int_eq(learn(&opts, false, &vocab), DG_OK);
        struct dg_subword *subword = open_vocab(&opts, &vocab);
        for (size_t i = 0; i < 4; i++) {
            ck_assert_uint_gt(count(subword, lines[i], &n_unknown), 0);
            ck_assert_uint_eq(n_unknown, 0);
        }
        ck_assert_uint_eq(count(subword, "the house", &n_unknown), 2);
        (void)count(subword, "Das H\xc3\xa4usChen", &n_unknown);
        ck_assert_uint_eq(n_unknown,
                          lowers ? 0 : 0 + (dg_subword_find(subword, DG_SPAN("##C")) < 0));
        for (int sign = 0; sign < DG_SUBWORD_SIGNS; sign++)
            ck_assert_int_ge(dg_subword_sign(subword, (enum dg_subword_sign)sign), 0);
        ck_assert_int_eq(dg_subword_find(subword, DG_SPAN("\xc3\xa4")) >= 0, !lowers);
        ck_assert_uint_le(dg_subword_size(subword), 150);
        dg_subword_close(subword);
        dg_buf_deinit(&vocab);
    }
}
END_TEST

START_TEST(the_order_of_texts_does_not_matter)
{
    const struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
    struct dg_buf first, second;
    dg_buf_init(&first, 1 << 20);
    dg_buf_init(&second, 1 << 20);
    ck_assert_int_eq(learn(&opts, false, &first), DG_OK);
    ck_assert_int_eq(learn(&opts, true, &second), DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&first), dg_buf_span(&second)));
    dg_buf_deinit(&first);
    dg_buf_deinit(&second);
}
END_TEST

START_TEST(rare_characters_are_left_out)
{
    struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
    struct dg_buf vocab;
    size_t n_unknown;
    opts.size = 20; /* fewer than the characters: those stay */
    opts.coverage = 0.9;
    dg_buf_init(&vocab, 1 << 20);
    ck_assert_int_eq(learn(&opts, false, &vocab), DG_OK);
    struct dg_subword *subword = open_vocab(&opts, &vocab);
    ck_assert_uint_eq(count(subword, "house", &n_unknown), 5);
    ck_assert_uint_eq(n_unknown, 0);
    (void)count(subword, "Flu\xc3\x9f", &n_unknown);
    ck_assert_uint_eq(n_unknown, 1);
    dg_subword_close(subword);
    dg_buf_deinit(&vocab);
}
END_TEST

START_TEST(nothing_and_no_text_are_refused)
{
    const struct dg_wordpiece_train_opts opts = DG_WORDPIECE_TRAIN_OPTS_DEFAULT;
    struct dg_wordpiece_train *train;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf vocab;
    dg_buf_init(&vocab, 1 << 20);
    ck_assert_int_eq(dg_wordpiece_train_new(&train, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_wordpiece_train_add(train, DG_SPAN("a\xff"), &error), DG_ERR_UTF8);
    ck_assert_int_eq(dg_wordpiece_train_add(train, DG_SPAN(" \t\x01 "), NULL), DG_OK);
    ck_assert_int_eq(dg_wordpiece_train_finish(train, &vocab, &error), DG_ERR_INVALID);
    ck_assert_uint_eq(vocab.len, 0);
    dg_wordpiece_train_free(train);
    dg_buf_deinit(&vocab);
}
END_TEST

DG_UNIT(spells_what_it_has_seen, the_order_of_texts_does_not_matter, rare_characters_are_left_out,
        nothing_and_no_text_are_refused)
