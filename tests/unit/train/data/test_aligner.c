/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The toy language, whose word order is reversed, is aligned almost without errors; one iteration
 * of model 1 gives the numbers computed by hand; full tables drop rare pairs and keep frequent
 * ones; both directions are joined into one set as defined. */
#include "train/data/aligner.h"
#include "train/data/bitext.h"
#include "train/data/random.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

static const char *const left_words[] = {"bato", "kemi", "lusa",  "dorin", "feka",
                                         "miru", "sapo", "tenil", "vogu",  "zari"};
static const char *const right_words[] = {"apple", "bread", "cloud", "dance", "earth",
                                          "fruit", "grass", "horse", "juice", "knife"};
enum { WORDS = 10, LEN_MAX = 5, TEXTS = 1 << 20 };
static char room[TEXTS];

/* Sentences without repeated words, so that there is one right answer: word i belongs to word n - 1
 * - i, or to i. */
static enum dg_err fill(struct dg_bitext *bitext, size_t n, bool turned)
{
    struct dg_random random = dg_random_make(3, 0);
    size_t used = 0;
    enum dg_err err = DG_OK;
    for (size_t k = 0; k < n && !err; k++) {
        size_t order[WORDS];
        const size_t len = 3 + dg_random_below(&random, LEN_MAX - 2);
        for (size_t i = 0; i < WORDS; i++)
            order[i] = i;
        for (size_t i = 0; i < len; i++) {
            const size_t j = i + dg_random_below(&random, WORDS - i), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        const size_t left = used;
        for (size_t i = 0; i < len; i++)
            used += (size_t)snprintf(room + used, TEXTS - used, "%s ", left_words[order[i]]);
        const size_t right = used;
        for (size_t i = 0; i < len; i++)
            used += (size_t)snprintf(room + used, TEXTS - used, " %s",
                                     right_words[order[turned ? len - 1 - i : i]]);
        err = dg_bitext_add(bitext, dg_span_make(room + left, right - left),
                            dg_span_make(room + right, used - right), NULL);
    }
    return err;
}

static enum dg_err learn(struct dg_aligner **aligner, const struct dg_bitext *bitext,
                         const struct dg_aligner_opts *opts)
{
    const struct dg_aligner_pairs pairs = {dg_bitext_get, bitext, bitext->n, bitext->n_source,
                                           bitext->n_target};
    return dg_aligner_new(aligner, &pairs, opts, NULL);
}

/* The share of wrong links in the whole text. */
static enum dg_err error_rate(struct dg_aligner *aligner, const struct dg_bitext *bitext,
                              bool turned, double *rate)
{
    struct dg_word_links links;
    size_t n_right = 0, n_links = 0, n_true = 0;
    enum dg_err err = DG_OK;
    dg_word_links_init(&links);
    for (size_t i = 0; i < bitext->n && !err; i++) {
        const struct dg_example e = dg_bitext_get(bitext, i);
        err = dg_aligner_links(aligner, &e, DG_SYMMETRISE_GROW_DIAG_FINAL_AND, &links);
        n_true += e.n_source;
        n_links += links.n;
        for (size_t j = 0; j < links.n; j++)
            n_right += links.list[j].source ==
                       (turned ? e.n_target - 1u - links.list[j].target : links.list[j].target);
    }
    dg_word_links_deinit(&links);
    *rate = 1.0 - 2.0 * (double)n_right / (double)(n_links + n_true);
    return err;
}

START_TEST(a_toy_language_is_aligned)
{
    for (int turned = 0; turned < 2; turned++) {
        struct dg_bitext bitext;
        struct dg_aligner *aligner;
        struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
        double rate;
        opts.tension = turned ? 0.0 : opts.tension; /* the diagonal would mislead it */
        ck_assert_int_eq(dg_bitext_init(&bitext, NULL), DG_OK);
        ck_assert_int_eq(fill(&bitext, 300, turned), DG_OK);
        ck_assert_int_eq(learn(&aligner, &bitext, &opts), DG_OK);
        ck_assert_int_eq(error_rate(aligner, &bitext, turned, &rate), DG_OK);
        ck_assert_double_lt(rate, 0.01);
        const struct dg_aligner_report report = dg_aligner_report(aligner, 0);
        ck_assert_msg(turned ? report.tension == 0.0 : report.tension > 5.0, "%g", report.tension);
        ck_assert_uint_eq(report.n_forgotten, 0);
        dg_aligner_free(aligner);
        dg_bitext_deinit(&bitext);
    }
}
END_TEST

START_TEST(one_iteration_of_model_one_is_what_a_pencil_gives)
{
    struct dg_bitext bitext;
    struct dg_aligner *aligner;
    struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
    opts.iterations = 1;
    opts.tension = 0.0;
    opts.p0 = 0.1;
    opts.alpha = 1e-6; /* digamma's exp is then nearly the count less a half, for large counts */
    ck_assert_int_eq(dg_bitext_init(&bitext, NULL), DG_OK);
    enum dg_err err = DG_OK;
    for (int i = 0; i < 1000 && !err; i++) {
        err = dg_bitext_add(&bitext, DG_SPAN("a b"), DG_SPAN("x y"), NULL);
        if (!err)
            err = dg_bitext_add(&bitext, DG_SPAN("a"), DG_SPAN("x"), NULL);
    }
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(learn(&aligner, &bitext, &opts), DG_OK);
    /* Each word of "x y" comes 0.45 from a, 0.45 from b, 0.1 from nothing; x alone comes 0.9 from
     * a. In total a has x 1.35, y 0.45. */
    ck_assert_double_eq_tol(dg_aligner_probability(aligner, 0, 0), 0.75, 2e-3);
    ck_assert_double_eq_tol(dg_aligner_probability(aligner, 0, 1), 0.25, 2e-3);
    ck_assert_double_eq_tol(dg_aligner_probability(aligner, 1, 0), 0.5, 2e-3);
    dg_aligner_free(aligner);
    dg_bitext_deinit(&bitext);
}
END_TEST

START_TEST(tables_stay_within_their_memory)
{
    struct dg_bitext bitext;
    struct dg_aligner *aligner;
    struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
    double rate;
    opts.memory = (size_t)400 << 10; /* two tables of 8,192 slots */
    ck_assert_int_eq(dg_bitext_init(&bitext, NULL), DG_OK);
    enum dg_err err = fill(&bitext, 500, false);
    for (unsigned i = 0, at = TEXTS / 2; i < 4000 && !err; i++) { /* words that occur once */
        const int n = snprintf(room + at, 32, "bato r%u", i),
                  m = snprintf(room + at + n, 32, "apple s%u", i);
        err = dg_bitext_add(&bitext, dg_span_make(room + at, (size_t)n),
                            dg_span_make(room + at + n, (size_t)m), NULL);
        at += (unsigned)(n + m);
    }
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(learn(&aligner, &bitext, &opts), DG_OK);
    ck_assert_uint_gt(dg_aligner_report(aligner, 0).n_forgotten, 1000);
    ck_assert_uint_le(dg_aligner_report(aligner, 0).n_entries, 8192);
    bitext.n = 500;
    ck_assert_int_eq(error_rate(aligner, &bitext, false, &rate), DG_OK);
    ck_assert_double_lt(rate, 0.02);
    dg_aligner_free(aligner);
    dg_bitext_deinit(&bitext);
}
END_TEST

START_TEST(empty_sides_and_stopping)
{
    struct dg_bitext bitext;
    struct dg_aligner *aligner;
    struct dg_aligner_opts opts = DG_ALIGNER_OPTS_DEFAULT;
    struct dg_word_links links;
    volatile sig_atomic_t stop = 0;
    dg_word_links_init(&links);
    opts.stop = &stop;
    ck_assert_int_eq(dg_bitext_init(&bitext, NULL), DG_OK);
    ck_assert_int_eq(dg_bitext_add(&bitext, DG_SPAN("a"), DG_SPAN("  \t "), NULL), DG_OK);
    ck_assert_int_eq(dg_bitext_add(&bitext, DG_SPAN(" b  a "), DG_SPAN("x"), NULL), DG_OK);
    ck_assert_int_eq(learn(&aligner, &bitext, &opts), DG_OK);
    struct dg_example e = dg_bitext_get(&bitext, 0);
    ck_assert_uint_eq(e.n_target, 0);
    ck_assert_int_eq(dg_aligner_links(aligner, &e, DG_SYMMETRISE_UNION, &links), DG_OK);
    ck_assert_uint_eq(links.n, 0);
    dg_aligner_free(aligner);
    stop = 1;
    ck_assert_int_eq(learn(&aligner, &bitext, &opts), DG_ERR_CANCELLED);
    dg_word_links_deinit(&links);
    dg_bitext_deinit(&bitext);
}
END_TEST

/* The set that a method gives, as "s-t s-t". */
static const char *set_of(enum dg_symmetrise how, struct dg_buf *text)
{
    /* forward: t0-s0, t1-s1, t2-s1, t3-s3; backward: s0-t0, s1-t1, s2-none, s3-t2 */
    static const int32_t forward[] = {0, 1, 1, 3}, backward[] = {0, 1, -1, 2};
    struct dg_word_links links;
    dg_word_links_init(&links);
    dg_buf_clear(text);
    enum dg_err err = dg_word_links_symmetrise(&links, forward, 4, backward, 4, how);
    if (!err)
        err = dg_word_links_print(&links, text);
    dg_word_links_deinit(&links);
    ck_assert_int_eq(err, DG_OK);
    return text->ptr;
}

START_TEST(two_directions_become_one)
{
    struct dg_buf text;
    dg_buf_init(&text, 1000);
    ck_assert_str_eq(set_of(DG_SYMMETRISE_FORWARD, &text), "0-0 1-1 1-2 3-3");
    ck_assert_str_eq(set_of(DG_SYMMETRISE_REVERSE, &text), "0-0 1-1 3-2");
    ck_assert_str_eq(set_of(DG_SYMMETRISE_INTERSECT, &text), "0-0 1-1");
    ck_assert_str_eq(set_of(DG_SYMMETRISE_UNION, &text), "0-0 1-1 1-2 3-2 3-3");
    /* 1-2 is a neighbour of 1-1 and t2 is free. 3-3 is not a neighbour of a chosen link, and
     * neither is 3-2. */
    ck_assert_str_eq(set_of(DG_SYMMETRISE_GROW_DIAG, &text), "0-0 1-1 1-2");
    ck_assert_str_eq(set_of(DG_SYMMETRISE_GROW_DIAG_FINAL_AND, &text), "0-0 1-1 1-2 3-3");
    dg_buf_deinit(&text);
}
END_TEST

DG_UNIT(a_toy_language_is_aligned, one_iteration_of_model_one_is_what_a_pencil_gives,
        tables_stay_within_their_memory, empty_sides_and_stopping, two_directions_become_one)
