/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/search_opts.h"
#include "unit.h"

#include <math.h>

static enum dg_err check(const struct dg_search_opts *opts, struct dg_error *error)
{
    return dg_search_opts_check(opts, 100, error);
}

START_TEST(the_default_is_accepted)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    ck_assert_int_eq(check(&opts, NULL), DG_OK);
}
END_TEST

#define REFUSES(field, bad)                                                                        \
    do {                                                                                           \
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;                                       \
        struct dg_error error = DG_ERROR_NONE;                                                     \
        opts.field = bad;                                                                          \
        ck_assert_int_eq(check(&opts, &error), DG_ERR_RANGE);                                      \
        ck_assert_msg(strstr(error.text, #field) != NULL, "the sentence is: %s", error.text);      \
    } while (0)

START_TEST(the_makers_length_penalty_is_taken_as_far_as_a_search_can)
{
    static const float makers[] = {0.2f, 0, 10, -2, 1e9f}, taken[] = {0.2f, 0, 10, 0, 10};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        const struct dg_blueprint bp = {.length_penalty = makers[i]};
        ck_assert_float_eq(dg_search_usual_length_penalty(&bp, false), taken[i]);
        ck_assert_float_eq(dg_search_usual_length_penalty(&bp, true), fminf(taken[i], 1));
    }
}
END_TEST

START_TEST(what_nobody_asks_for_is_the_models_own)
{
    const struct dg_blueprint bp = {
        .n_beams = 6, .length_penalty = 1.5f, .beam_rule = DG_BEAM_REFILLS};
    const struct dg_search_usual all = {true, true}, none = {false, false};
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = 3;
    dg_search_opts_complete(&opts, &bp, none, 0);
    ck_assert_int_eq(opts.beam, 3);
    ck_assert_float_eq(opts.length_penalty, 1);
    ck_assert_int_eq(opts.beam_rule, DG_BEAM_REFILLS);
    dg_search_opts_complete(&opts, &bp, all, 0);
    ck_assert_int_eq(opts.beam, 6);
    ck_assert_float_eq(opts.length_penalty, 1.5f);
    dg_search_opts_complete(&opts, &bp, all, 4);
    ck_assert_int_eq(opts.beam, 4);
    opts.n_best = 8;
    dg_search_opts_complete(&opts, &bp, all, 4);
    ck_assert_int_eq(opts.beam, 8);
    opts.sample = true;
    opts.n_constraints = 1;
    dg_search_opts_complete(&opts, &bp, all, 0);
    ck_assert_int_eq(opts.beam, 1);
    ck_assert_float_eq(opts.length_penalty, 1);
}
END_TEST

START_TEST(numbers_out_of_range_are_refused_by_name)
{
    REFUSES(beam, 0);
    REFUSES(beam, 17);
    REFUSES(n_best, 2);
    REFUSES(length_penalty, -0.1f);
    REFUSES(length_penalty, NAN);
    REFUSES(coverage_penalty, INFINITY);
    REFUSES(patience, 0.0f);
    REFUSES(temperature, 0.0f);
    REFUSES(temperature, NAN);
    REFUSES(top_k, -1);
    REFUSES(top_p, 0.0f);
    REFUSES(top_p, 1.5f);
    REFUSES(max_len, -1);
    REFUSES(max_len, DG_TARGET_MAX + 1);
    REFUSES(min_len, 513);
    REFUSES(repetition_penalty, 0.5f);
    REFUSES(no_repeat_ngram, 17);
}
END_TEST

START_TEST(ids_outside_the_vocabulary_are_refused)
{
    static const int32_t bad[] = {5, 100};
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    opts.prefix = bad;
    opts.n_prefix = 2;
    ck_assert_int_eq(check(&opts, &error), DG_ERR_RANGE);
    ck_assert_str_eq(error.text, "prefix[1] is 100, expected a token id from 0 to 99");
}
END_TEST

START_TEST(contradictions_are_refused)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.sample = true;
    opts.beam = 4;
    ck_assert_int_eq(check(&opts, NULL), DG_ERR_INVALID);
    struct dg_constraint nothing = {NULL, 0, false};
    opts = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT;
    opts.constraints = &nothing;
    opts.n_constraints = 1;
    ck_assert_int_eq(check(&opts, NULL), DG_ERR_INVALID);
    static const int32_t unordered[] = {5, 3};
    opts = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT;
    opts.shortlist = unordered;
    opts.n_shortlist = 2;
    ck_assert_int_eq(check(&opts, NULL), DG_ERR_INVALID);
}
END_TEST

START_TEST(the_cap_is_the_smaller_of_both)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    ck_assert_int_eq(dg_search_opts_cap(&opts, 10), 30);
    ck_assert_int_eq(dg_search_opts_cap(&opts, 1000), 512);
    opts.max_ratio = 0;
    ck_assert_int_eq(dg_search_opts_cap(&opts, 10), 512);
}
END_TEST

DG_UNIT(the_default_is_accepted, the_makers_length_penalty_is_taken_as_far_as_a_search_can,
        what_nobody_asks_for_is_the_models_own, numbers_out_of_range_are_refused_by_name,
        ids_outside_the_vocabulary_are_refused, contradictions_are_refused,
        the_cap_is_the_smaller_of_both)
