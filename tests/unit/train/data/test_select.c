/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The textbook's choice of pairs, and the normaliser and vocabulary of words that belong to it. */
#include "base/file/file_out.h"
#include "tokenize/spm/spm_encode.h"
#include "train/data/select.h"
#include "vocabulary/spm_train.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

static const char lines[] =
    "Je suis là.\tI'm here.\n"
    "Elle est grande !\tShe is tall!\n"
    "Il court.\tHe runs.\n"
    "Nous sommes dans une très très très grande maison.\tWe are in a house.\n"
    "Vous êtes\tYou are\n"
    "?!\tYou are ?!\n";

static enum dg_err read_lines(struct dg_pairs *pairs, const char *dir)
{
    const struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    char path[DG_TMPDIR_CAP + 20];
    snprintf(path, sizeof path, "%s/pairs.tsv", dir);
    dg_pairs_init(pairs, &opts);
    const enum dg_err err = dg_file_out_save(path, 0644, lines, sizeof lines - 1, NULL);
    return err ? err : dg_pairs_read(pairs, path, NULL);
}

START_TEST(short_pairs_with_the_right_beginning_stay)
{
    static const char *const begins[] = {"i m", "she is", "we are", "you are"};
    const struct dg_select_opts opts = {
        .words_max = 8, .begins = begins, .n_begins = 4, .ascii = true};
    char dir[DG_TMPDIR_CAP];
    struct dg_pairs pairs;
    size_t n_dropped;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(read_lines(&pairs, dir), DG_OK);
    const size_t before = pairs.n;
    ck_assert_int_eq(dg_select(&pairs, &opts, &n_dropped, NULL), DG_OK);
    /* a word follows the beginning, and a side has at most 8 words */
    ck_assert_uint_eq(pairs.n, 2);
    ck_assert_uint_eq(n_dropped, before - 2);
    ck_assert(dg_span_eq(pairs.list[0].target, DG_SPAN("I'm here.")));
    ck_assert(dg_span_eq(pairs.list[1].target, DG_SPAN("She is tall!")));
    dg_pairs_deinit(&pairs);
    dg_tmpdir_remove(dir);
}
END_TEST

/* The pieces of a text, with a '|' after each; U+2581 left out. */
static void pieces_of(const struct dg_spm *spm, const char *text, char out[200])
{
    struct dg_spm_work *work = dg_spm_work_new();
    size_t n;
    out[0] = '\0';
    if (dg_spm_encode(spm, work, dg_span_cstr(text)) == DG_OK) {
        const struct dg_spm_token *tokens = dg_spm_tokens(work, &n);
        for (size_t i = 0; i < n; i++) {
            const struct dg_span piece = dg_spm_token_piece(spm, work, &tokens[i]);
            const bool is_known = tokens[i].id != (uint32_t)dg_spm_unk(spm);
            snprintf(out + strlen(out), 200 - strlen(out), "|%s%.*s", is_known ? "" : "?",
                     (int)(piece.len - 3), piece.ptr + 3);
        }
    }
    dg_spm_work_free(work);
}

START_TEST(words_are_the_textbooks)
{
    struct dg_spm_train_opts opts = DG_SPM_TRAIN_OPTS_DEFAULT;
    struct dg_spm_train *train = NULL;
    struct dg_spm *spm = NULL;
    struct dg_buf model;
    char found[200];
    opts.kind = DG_SPM_WORD;
    opts.ascii = true;
    dg_buf_init(&model, 1 << 20);
    enum dg_err err = dg_spm_train_new(&train, &opts, NULL);
    if (!err)
        err = dg_spm_train_add(train, DG_SPAN("L'\xc3\xa9t\xc3\xa9, j'ai CHAUD. J'ai soif!"));
    if (!err)
        err = dg_spm_train_finish(train, &model, NULL);
    if (!err)
        err = dg_spm_new((const uint8_t *)model.ptr, model.len, NULL, &spm);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_uint_eq(dg_spm_size(spm), 2 + 8); /* </s>, <unk>, l ete j ai chaud . soif ! */
    ck_assert_int_eq(dg_spm_eos(spm), 0);
    pieces_of(spm,
              "j\xe2\x80\x99"
              "ai CHAUD!  l-\xc3\x89T\xc3\x89 ... 25 froid",
              found);
    ck_assert_str_eq(found, "|j|ai|chaud|!|l|ete|.|.|.|?froid");
    dg_spm_close(spm);
    dg_spm_train_free(train);
    dg_buf_deinit(&model);
}
END_TEST

DG_UNIT(short_pairs_with_the_right_beginning_stay, words_are_the_textbooks)
