/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Scores compared with those of sacreBLEU 2.6: tests/golden/metrics.json, and a larger file of the
 * same form in the shared folder, if there is one. */
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "text/score/metric.h"
#include "files.h"
#include "unit.h"

#include <math.h>

static const char *const split_names[] = {"13a", "char", "intl", "none", NULL};
static const char *const smooth_names[] = {"exp", "floor", "add-k", "none", NULL};

struct pair {
    struct dg_span hyp, ref;
};

static struct pair pair_of(const struct dg_json *set, size_t i)
{
    struct pair pair;
    ck_assert_int_eq(
        dg_json_at_string(dg_json_get(set, "hypotheses"), "hypotheses", i, NULL, &pair.hyp), DG_OK);
    ck_assert_int_eq(
        dg_json_at_string(dg_json_get(set, "references"), "references", i, NULL, &pair.ref), DG_OK);
    return pair;
}

static double number(const struct dg_json *object, const char *name)
{
    double value = -1;
    ck_assert_int_eq(dg_json_get_real(object, name, DG_JSON_REQUIRED, -1, 1e9, NULL, &value),
                     DG_OK);
    return value;
}

static void check_signature(const struct dg_json *expected, struct dg_buf *made)
{
    struct dg_span signature;
    ck_assert_int_eq(dg_json_get_string(expected, "signature", DG_JSON_REQUIRED, NULL, &signature),
                     DG_OK);
    ck_assert_msg(dg_span_eq(signature, dg_buf_span(made)), "expected %.*s, got %s",
                  DG_SPAN_FMT(signature), made->ptr);
}

static void check_bleu(struct dg_metric *metric, const struct dg_json *set,
                       const struct dg_json *expected)
{
    int split, smooth;
    struct dg_bleu_opts opts = DG_BLEU_OPTS_DEFAULT;
    ck_assert_int_eq(
        dg_json_get_choice(expected, "tokenize", DG_JSON_REQUIRED, split_names, NULL, &split),
        DG_OK);
    ck_assert_int_eq(
        dg_json_get_choice(expected, "smooth", DG_JSON_REQUIRED, smooth_names, NULL, &smooth),
        DG_OK);
    ck_assert_int_eq(
        dg_json_get_bool(expected, "lowercase", DG_JSON_OPTIONAL, NULL, &opts.lowercase), DG_OK);
    opts.split = (enum dg_split)split;
    opts.smooth = (enum dg_smooth)smooth;
    struct dg_bleu_stats sum = {{0}, {0}, 0, 0}, one;
    for (size_t i = 0; i < dg_json_len(dg_json_get(set, "hypotheses")); i++) {
        struct pair pair = pair_of(set, i);
        ck_assert_int_eq(dg_bleu_count(metric, &opts, pair.hyp, pair.ref, &one), DG_OK);
        dg_bleu_add(&sum, &one);
    }
    struct dg_bleu bleu = dg_bleu_score(&sum, &opts, false);
    ck_assert_double_eq_tol(bleu.score, number(expected, "score"), 1e-4);
    if (dg_json_get(expected, "precisions")) {
        ck_assert_double_eq((double)sum.hyp_len, number(expected, "hyp_len"));
        ck_assert_double_eq((double)sum.ref_len, number(expected, "ref_len"));
        ck_assert_double_eq_tol(bleu.brevity_penalty, number(expected, "bp"), 1e-5);
    }
    struct dg_buf signature;
    dg_buf_init(&signature, 1000);
    ck_assert_int_eq(dg_bleu_signature(&opts, false, &signature), DG_OK);
    check_signature(expected, &signature);
    dg_buf_deinit(&signature);
}

static void check_chrf(struct dg_metric *metric, const struct dg_json *set,
                       const struct dg_json *expected)
{
    int order = (int)number(expected, "word_order");
    struct dg_chrf_stats sum = {{0}, {0}, {0}}, one;
    for (size_t i = 0; i < dg_json_len(dg_json_get(set, "hypotheses")); i++) {
        struct pair pair = pair_of(set, i);
        ck_assert_int_eq(dg_chrf_count(metric, order, pair.hyp, pair.ref, &one), DG_OK);
        dg_chrf_add(&sum, &one);
    }
    ck_assert_double_eq_tol(dg_chrf_score(&sum, order), number(expected, "score"), 1e-4);
    struct dg_buf signature;
    dg_buf_init(&signature, 1000);
    ck_assert_int_eq(dg_chrf_signature(order, &signature), DG_OK);
    check_signature(expected, &signature);
    dg_buf_deinit(&signature);
}

static void check_sentences(struct dg_metric *metric, const struct dg_json *set)
{
    const struct dg_json *sentences = dg_json_get(set, "sentence");
    struct dg_bleu_opts opts = DG_BLEU_OPTS_DEFAULT;
    for (size_t i = 0; i < dg_json_len(sentences); i++) {
        struct pair pair = pair_of(set, i);
        struct dg_bleu_stats bleu;
        struct dg_chrf_stats chrf;
        ck_assert_int_eq(dg_bleu_count(metric, &opts, pair.hyp, pair.ref, &bleu), DG_OK);
        ck_assert_int_eq(dg_chrf_count(metric, 0, pair.hyp, pair.ref, &chrf), DG_OK);
        ck_assert_double_eq_tol(dg_bleu_score(&bleu, &opts, true).score,
                                number(dg_json_at(sentences, i), "bleu_effective_order"), 1e-4);
        ck_assert_double_eq_tol(dg_chrf_score(&chrf, 0), number(dg_json_at(sentences, i), "chrf2"),
                                1e-4);
    }
}

static void check_file(const char *path)
{
    struct dg_map_file file;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_map_file_open(&file, path, 1 << 26, &error) == DG_OK, "%s", error.text);
    struct dg_json_limits limits = DG_JSON_LIMITS_DEFAULT;
    limits.max_bytes = file.len;
    limits.max_values = 100000;
    struct dg_json *json = NULL;
    enum dg_err err =
        dg_json_parse(dg_span_make((const char *)file.bytes, file.len), &limits, &error, &json);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    struct dg_metric *metric = dg_metric_new();
    ck_assert_ptr_nonnull(metric);
    struct dg_json_iter sets = dg_json_iter(dg_json_get(json, "sets"));
    struct dg_span name;
    const struct dg_json *set;
    size_t n_sets = 0;
    for (; dg_json_next(&sets, &name, &set); n_sets++) {
        const struct dg_json *bleu = dg_json_get(set, "bleu"), *chrf = dg_json_get(set, "chrf");
        for (size_t i = 0; i < dg_json_len(bleu); i++)
            check_bleu(metric, set, dg_json_at(bleu, i));
        for (size_t i = 0; i < dg_json_len(chrf); i++)
            check_chrf(metric, set, dg_json_at(chrf, i));
        check_sentences(metric, set);
    }
    ck_assert_uint_ge(n_sets, 2);
    dg_metric_free(metric);
    dg_json_free(json);
    dg_map_file_close(&file);
}

START_TEST(agrees_with_sacrebleu)
{
    char path[DG_TEST_PATH];
    check_file(dg_test_source(path, "tests/golden/metrics.json"));
}
END_TEST

START_TEST(agrees_with_sacrebleu_on_the_shared_sets)
{
    char path[DG_TEST_PATH];
    if (dg_test_shared(path, "golden/metrics.json"))
        check_file(path);
}
END_TEST

START_TEST(takes_bytes_that_are_not_utf8)
{
    struct dg_metric *metric = dg_metric_new();
    ck_assert_ptr_nonnull(metric);
    struct dg_bleu_stats bleu;
    struct dg_chrf_stats chrf;
    for (int split = 0; split < 4; split++) {
        struct dg_bleu_opts opts = {(enum dg_split)split, DG_SMOOTH_EXP, -1, true};
        ck_assert_int_eq(dg_bleu_count(metric, &opts, DG_SPAN("a\xFF\xC3 \xE2\x82 b."),
                                       DG_SPAN("\x80\x80,x"), &bleu),
                         DG_OK);
    }
    ck_assert_int_eq(dg_chrf_count(metric, 2, DG_SPAN("\xFF"), DG_SPAN(""), &chrf), DG_OK);
    ck_assert_double_eq(dg_chrf_score(&chrf, 2), 0);
    dg_metric_free(metric);
}
END_TEST

DG_UNIT(agrees_with_sacrebleu, agrees_with_sacrebleu_on_the_shared_sets,
        takes_bytes_that_are_not_utf8)
