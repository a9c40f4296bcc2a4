/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/search.h"
#include "toy.h"
#include "unit.h"

static const struct dg_columns all_columns = {NULL, TOY_V};

static bool contains(const struct dg_answer *answer, const int32_t *ids, size_t n)
{
    for (size_t i = 0; i + n <= answer->n_ids; i++)
        if (memcmp(answer->ids + i, ids, n * sizeof *ids) == 0)
            return true;
    return false;
}

/* ---- A plain beam, written to be read: what the search must agree with ----------------------- */

struct plain_hyp {
    int32_t ids[TOY_CAP];
    size_t n;
    double sum;
};

static void plain_logprobs(uint64_t seed, const struct plain_hyp *hyp, double *logprobs)
{
    float logits[TOY_V];
    toy_scattered(seed, hyp->ids, hyp->n, logits);
    logits[TOY_PAD] = -INFINITY;
    double sum = 0;
    for (int v = 0; v < TOY_V; v++)
        sum += exp((double)logits[v]);
    for (int v = 0; v < TOY_V; v++)
        logprobs[v] = (double)logits[v] - log(sum);
}

static void plain_keep(struct plain_hyp *best, const struct plain_hyp *hyp)
{
    if (best->n == 0 || hyp->sum / (double)hyp->n > best->sum / (double)best->n)
        *best = *hyp;
}

/* Every live hypothesis proposes every word; the best proposals that do not end live on; those that
 * end and rank before them are finished. REFILLS: `beam` hypotheses live on, until as many have
 * finished. NARROWS: `beam` less the finished ones live on; those that are cut count as finished.
 * Returns the best normalised hypothesis. */
static struct plain_hyp plain_beam(uint64_t seed, int beam, enum dg_beam_rule rule, size_t cap)
{
    static struct plain_hyp live[DG_BEAM_MAX], next[DG_BEAM_MAX];
    struct plain_hyp best = {.n = 0};
    int n_live = 1, n_finished = 0;
    live[0] = (struct plain_hyp){.n = 0};
    for (size_t step = 0; step < cap && n_finished < beam; step++) {
        static double sums[DG_BEAM_MAX][TOY_V];
        for (int h = 0; h < n_live; h++) {
            plain_logprobs(seed, &live[h], sums[h]);
            for (int v = 0; v < TOY_V; v++)
                sums[h][v] += live[h].sum;
        }
        int n_next = 0;
        while (n_next + (rule == DG_BEAM_NARROWS ? n_finished : 0) < beam) {
            int from = -1, word = -1;
            for (int h = 0; h < n_live; h++)
                for (int v = 0; v < TOY_V; v++)
                    if (isfinite(sums[h][v]) && (from < 0 || sums[h][v] > sums[from][word]))
                        from = h, word = v;
            if (from < 0)
                break;
            struct plain_hyp child = live[from];
            child.ids[child.n++] = word;
            child.sum = sums[from][word];
            sums[from][word] = -INFINITY;
            if (word != TOY_EOS) {
                next[n_next++] = child;
            } else {
                n_finished++;
                plain_keep(&best, &child);
            }
        }
        memcpy(live, next, sizeof live);
        n_live = n_next;
    }
    for (int h = 0; h < n_live && rule == DG_BEAM_NARROWS && n_finished < beam; h++)
        plain_keep(&best, &live[h]);
    return best;
}

START_TEST(a_beam_finds_what_a_plain_beam_finds)
{
    static const enum dg_beam_rule rules[] = {DG_BEAM_NARROWS, DG_BEAM_REFILLS};
    int n_ended[2] = {0}, n_differ = 0;
    for (uint64_t seed = 0; seed < 300; seed++)
        for (int beam = 1; beam <= 5; beam += 2) {
            struct plain_hyp plain[2];
            for (int r = 0; r < 2; r++) {
                struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
                opts.beam = beam;
                opts.beam_rule = rules[r];
                opts.max_len = 40;
                opts.max_ratio = 0;
                struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
                struct dg_answer answer = dg_search_answer(run.search, 0);
                plain[r] = plain_beam(seed, beam, rules[r], 40);
                ck_assert_uint_eq(answer.n_ids, plain[r].n);
                ck_assert_mem_eq(answer.ids, plain[r].ids, plain[r].n * sizeof *plain[r].ids);
                ck_assert_double_eq_tol(answer.score, plain[r].sum / (double)plain[r].n, 1e-5);
                n_ended[r] += answer.finish == DG_FINISH_EOS;
                toy_end(&run);
            }
            n_differ += plain[0].n != plain[1].n ||
                        memcmp(plain[0].ids, plain[1].ids, plain[0].n * sizeof *plain[0].ids) != 0;
        }
    ck_assert_int_eq(n_ended[0], 900);
    ck_assert_int_eq(n_ended[1], 900);
    ck_assert_int_gt(n_differ, 30);
}
END_TEST

/* At the length limit, if the beam narrows, a hypothesis that is cut may win over finished ones;
 * otherwise it ranks after them. */
START_TEST(what_is_cut_competes_with_what_has_ended_where_the_beam_narrows)
{
    int n_cut = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = opts.n_best = 4;
        opts.max_len = 4;
        struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
        struct dg_answer answer = dg_search_answer(run.search, 0);
        struct plain_hyp plain = plain_beam(seed, 4, DG_BEAM_NARROWS, 4);
        ck_assert_uint_eq(answer.n_ids, plain.n);
        ck_assert_mem_eq(answer.ids, plain.ids, plain.n * sizeof *plain.ids);
        ck_assert_uint_eq(dg_search_n_answers(run.search), 4);
        bool has_ended = false;
        for (size_t i = 0; i < 4; i++)
            has_ended |= dg_search_answer(run.search, i).finish == DG_FINISH_EOS;
        n_cut += has_ended && answer.finish == DG_FINISH_LENGTH;
        toy_end(&run);

        opts.beam_rule = DG_BEAM_REFILLS;
        run = toy_search(toy_scattered, seed, &opts, all_columns);
        for (size_t i = 1; i < dg_search_n_answers(run.search); i++)
            ck_assert(dg_search_answer(run.search, i).finish != DG_FINISH_EOS ||
                      dg_search_answer(run.search, i - 1).finish == DG_FINISH_EOS);
        toy_end(&run);
    }
    ck_assert_int_gt(n_cut, 10);
}
END_TEST

START_TEST(patience_lets_more_hypotheses_finish)
{
    size_t n_steps[3] = {0};
    static const float patience[] = {0.5f, 1, 3};
    for (uint64_t seed = 0; seed < 100; seed++)
        for (int i = 0; i < 3; i++) {
            struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
            opts.beam = opts.n_best = 4;
            opts.patience = patience[i];
            opts.max_ratio = 0;
            struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
            n_steps[i] += run.n_steps;
            toy_end(&run);
        }
    ck_assert_uint_lt(n_steps[0], n_steps[1]);
    ck_assert_uint_lt(n_steps[1], n_steps[2]);
}
END_TEST

START_TEST(what_is_shown_is_never_taken_back_and_ends_as_the_answer)
{
    size_t n_early = 0;
    for (uint64_t seed = 0; seed < 300; seed++)
        for (int beam = 1; beam <= 8; beam++) {
            struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
            opts.beam = beam;
            opts.n_best = beam > 2 ? 2 : 1;
            opts.early_stop = seed % 2 == 0;
            opts.beam_rule = seed % 5 < 3 ? DG_BEAM_NARROWS : DG_BEAM_REFILLS;
            opts.patience = seed % 3 == 0 ? 2.0f : 1.0f;
            struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
            struct dg_answer answer = dg_search_answer(run.search, 0);
            ck_assert(!run.shown_changed);
            ck_assert_uint_eq(run.n_shown, answer.n_ids);
            ck_assert_mem_eq(run.shown, answer.ids, answer.n_ids * sizeof *answer.ids);
            if (run.n_steps > 1 && run.shown_at[run.n_steps - 2] > 0)
                n_early++;
            for (size_t i = 1; i < dg_search_n_answers(run.search); i++)
                ck_assert(dg_search_answer(run.search, i).score <= answer.score);
            toy_end(&run);
        }
    ck_assert_uint_gt(n_early, 600);
}
END_TEST

START_TEST(greedy_shows_every_word_at_once)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.loop_guard = false;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
        for (size_t step = 0; step < run.n_steps; step++)
            ck_assert_uint_eq(run.shown_at[step], step + 1);
        toy_end(&run);
    }
}
END_TEST

START_TEST(a_circle_is_broken_once_and_marked)
{
    for (int beam = 1; beam <= 4; beam += 3) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = beam;
        opts.max_len = 200;
        opts.max_ratio = 0;
        struct toy_run run = toy_search(toy_circling, 0, &opts, all_columns);
        struct dg_answer answer = dg_search_answer(run.search, 0);
        ck_assert_int_eq(answer.finish, DG_FINISH_EOS);
        ck_assert_uint_lt(answer.n_ids, 12);
        if (beam == 1) {
            ck_assert_int_eq(run.n_restarts, 1);
            ck_assert(answer.repaired);
        }
        ck_assert(!run.shown_changed);
        toy_end(&run);

        opts.loop_guard = false;
        run = toy_search(toy_circling, 0, &opts, all_columns);
        if (beam == 1) {
            ck_assert_int_eq(dg_search_answer(run.search, 0).finish, DG_FINISH_LENGTH);
            ck_assert_uint_eq(dg_search_answer(run.search, 0).n_ids, 200);
        }
        toy_end(&run);
    }
}
END_TEST

/* Repetitions that no ban can prevent: every word except 2 and the end is impossible. */
static void toy_hopeless(uint64_t seed, const int32_t *ids, size_t n, float *logits)
{
    toy_circling(seed, ids, n, logits);
    logits[4] = -4.0f;
    size_t period = 2 + n / 20;
    for (int v = 2; v < TOY_V - 1; v++)
        logits[v] = v == 2 + (int)(n % period) ? 9.0f : -4.0f + (float)v * 0.1f;
    logits[TOY_EOS] = -30.0f;
}

START_TEST(a_circle_that_returns_is_cut_and_marked)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.max_len = 250;
    opts.max_ratio = 0;
    int32_t suppressed[] = {4, 5, 6, 7, 8, 9, 10, 1};
    opts.suppress = suppressed;
    opts.n_suppress = 8;
    opts.min_len = 250;
    struct toy_run run = toy_search(toy_hopeless, 0, &opts, all_columns);
    struct dg_answer answer = dg_search_answer(run.search, 0);
    ck_assert(answer.finish == DG_FINISH_LOOP || answer.finish == DG_FINISH_LENGTH ||
              answer.finish == DG_FINISH_FAILED);
    ck_assert(answer.repaired);
    ck_assert_uint_lt(answer.n_ids, 40);
    ck_assert(!run.shown_changed);
    toy_end(&run);
}
END_TEST

START_TEST(a_forced_beginning_is_kept_and_scored)
{
    static const int32_t prefix[] = {7, TOY_UNK, 9};
    for (int beam = 1; beam <= 4; beam += 3) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = beam;
        opts.prefix = prefix;
        opts.n_prefix = 3;
        opts.suppress_unk = true;
        struct toy_run run = toy_search(toy_scattered, 7, &opts, all_columns);
        struct dg_answer answer = dg_search_answer(run.search, 0);
        ck_assert_uint_gt(answer.n_ids, 3);
        ck_assert_mem_eq(answer.ids, prefix, sizeof prefix);
        double sum = 0;
        for (size_t i = 0; i < answer.n_ids; i++)
            sum += (double)answer.logprobs[i];
        ck_assert_double_eq_tol(sum, answer.logprob, 1e-9);
        for (size_t i = 3; i < answer.n_ids; i++)
            ck_assert_int_ne(answer.ids[i], TOY_UNK);
        toy_end(&run);
    }
}
END_TEST

START_TEST(lengths_are_kept)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = 1 + (int)(seed % 4);
        opts.min_len = 12;
        opts.max_len = 14;
        struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
        struct dg_answer answer = dg_search_answer(run.search, 0);
        ck_assert_uint_ge(answer.n_ids, 12);
        ck_assert_uint_le(answer.n_ids, 14);
        ck_assert_int_eq(answer.finish, answer.ids[answer.n_ids - 1] == TOY_EOS ? DG_FINISH_EOS
                                                                                : DG_FINISH_LENGTH);
        toy_end(&run);
    }
    struct dg_search_opts none = DG_SEARCH_OPTS_DEFAULT;
    none.max_len = 0;
    struct toy_run run = toy_search(toy_scattered, 1, &none, all_columns);
    struct dg_answer answer = dg_search_answer(run.search, 0);
    ck_assert_uint_eq(answer.n_ids, 0);
    ck_assert_int_eq(answer.finish, DG_FINISH_LENGTH);
    toy_end(&run);
}
END_TEST

START_TEST(words_are_suppressed_shortlisted_and_not_repeated)
{
    static const int32_t suppressed[] = {2, 3};
    static const int32_t shortlist[] = {TOY_EOS, 4, 5, 6};
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = 1 + (int)(seed % 4);
        opts.suppress = suppressed;
        opts.n_suppress = 2;
        opts.no_repeat_ngram = 2;
        struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
        struct dg_answer answer = dg_search_answer(run.search, 0);
        for (size_t i = 0; i < answer.n_ids; i++) {
            ck_assert(answer.ids[i] != 2 && answer.ids[i] != 3 && answer.ids[i] != TOY_PAD);
            for (size_t k = i + 1; k + 1 < answer.n_ids; k++)
                ck_assert(answer.ids[k] != answer.ids[i] || answer.ids[k + 1] != answer.ids[i + 1]);
        }
        toy_end(&run);

        run = toy_search(toy_scattered, seed, &opts, (struct dg_columns){shortlist, 4});
        answer = dg_search_answer(run.search, 0);
        for (size_t i = 0; i < answer.n_ids; i++)
            ck_assert(answer.ids[i] == TOY_EOS || (answer.ids[i] >= 4 && answer.ids[i] <= 6));
        toy_end(&run);
    }
}
END_TEST

START_TEST(constraints_are_met_by_every_width)
{
    static const int32_t first[] = {9, 8, 7}, second[] = {10}, other[] = {6, 6};
    const struct dg_phrase first_forms[] = {{first, 3}}, second_forms[] = {{second, 1}, {other, 2}};
    struct dg_constraint constraints[] = {{first_forms, 1, true}, {second_forms, 2, false}};
    for (uint64_t seed = 0; seed < 100; seed++)
        for (int beam = 1; beam <= 6; beam += 5) {
            struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
            opts.beam = beam;
            opts.constraints = constraints;
            opts.n_constraints = 2;
            opts.in_order = seed % 2 == 1;
            struct toy_run run = toy_search(toy_scattered, seed, &opts, all_columns);
            struct dg_answer answer = dg_search_answer(run.search, 0);
            ck_assert_int_ne(answer.finish, DG_FINISH_FAILED);
            ck_assert(contains(&answer, first, 3));
            ck_assert(contains(&answer, second, 1) || contains(&answer, other, 2));
            ck_assert(!run.shown_changed);
            toy_end(&run);
        }
}
END_TEST

START_TEST(sampling_is_reproducible_and_follows_its_options)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.sample = true;
    opts.n_best = 3;
    opts.seed = 42;
    int n_differ = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct toy_run one = toy_search(toy_scattered, seed, &opts, all_columns);
        struct toy_run two = toy_search(toy_scattered, seed, &opts, all_columns);
        ck_assert_uint_eq(dg_search_n_answers(one.search), 3);
        for (size_t i = 0; i < 3; i++) {
            struct dg_answer a = dg_search_answer(one.search, i);
            struct dg_answer b = dg_search_answer(two.search, i);
            ck_assert_uint_eq(a.n_ids, b.n_ids);
            ck_assert_mem_eq(a.ids, b.ids, a.n_ids * sizeof *a.ids);
        }
        struct dg_answer a = dg_search_answer(one.search, 0), b = dg_search_answer(one.search, 1);
        n_differ += a.n_ids != b.n_ids || memcmp(a.ids, b.ids, a.n_ids * sizeof *a.ids) != 0;
        toy_end(&one);
        toy_end(&two);
    }
    ck_assert_int_gt(n_differ, 30);

    struct dg_search_opts greedy = DG_SEARCH_OPTS_DEFAULT;
    opts.n_best = 1;
    opts.top_k = 1;
    struct toy_run sampled = toy_search(toy_scattered, 3, &opts, all_columns);
    struct toy_run chosen = toy_search(toy_scattered, 3, &greedy, all_columns);
    struct dg_answer a = dg_search_answer(sampled.search, 0),
                     b = dg_search_answer(chosen.search, 0);
    ck_assert_uint_eq(a.n_ids, b.n_ids);
    ck_assert_mem_eq(a.ids, b.ids, a.n_ids * sizeof *a.ids);
    toy_end(&sampled);
    toy_end(&chosen);
}
END_TEST

static void toy_broken(uint64_t seed, const int32_t *ids, size_t n, float *logits)
{
    toy_scattered(seed, ids, n, logits);
    if (n >= 3)
        for (int v = 0; v < TOY_V; v++)
            logits[v] = NAN;
}

START_TEST(a_model_without_finite_scores_fails_cleanly)
{
    for (int beam = 1; beam <= 4; beam++) {
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        opts.beam = beam;
        opts.min_len = 5;
        struct toy_run run = toy_search(toy_broken, 5, &opts, all_columns);
        ck_assert_int_eq(dg_search_answer(run.search, 0).finish, DG_FINISH_FAILED);
        toy_end(&run);
    }
}
END_TEST

START_TEST(a_beam_wider_than_the_vocabulary_works)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = DG_BEAM_MAX;
    opts.n_best = DG_BEAM_MAX;
    struct toy_run run = toy_search(toy_scattered, 5, &opts, all_columns);
    ck_assert_uint_ge(dg_search_n_answers(run.search), 2);
    ck_assert(!run.shown_changed);
    toy_end(&run);
}
END_TEST

DG_UNIT_SLOW(a_beam_finds_what_a_plain_beam_finds,
             what_is_cut_competes_with_what_has_ended_where_the_beam_narrows,
             patience_lets_more_hypotheses_finish,
             what_is_shown_is_never_taken_back_and_ends_as_the_answer,
             greedy_shows_every_word_at_once, a_circle_is_broken_once_and_marked,
             a_circle_that_returns_is_cut_and_marked, a_forced_beginning_is_kept_and_scored,
             lengths_are_kept, words_are_suppressed_shortlisted_and_not_repeated,
             constraints_are_met_by_every_width, sampling_is_reproducible_and_follows_its_options,
             a_model_without_finite_scores_fails_cleanly, a_beam_wider_than_the_vocabulary_works)
