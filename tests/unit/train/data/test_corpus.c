/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The working files of a run: pairs are read back as the ids that were written, with their links;
 * orders are permutations drawn by seed and epoch; checkpoints are read back to the bit, and a
 * damaged one changes nothing; a team divides work evenly. */
#include "base/memory/mem.h"
#include "train/run/checkpoint.h"
#include "tmpdir.h"
#include "training_toy.h"
#include "train/data/corpus.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

/* A prepared toy directory. */
static enum dg_err prepare(struct dg_setup *setup, char model[300], const char *dir, bool aligns)
{
    char pairs[300];
    const char *file = pairs;
    struct dg_setup_opts opts = toy_setup_opts();
    opts.aligns = aligns;
    snprintf(pairs, sizeof pairs, "%s/pairs.tsv", dir);
    snprintf(model, 300, "%s/model", dir);
    enum dg_err err = toy_write(pairs, 60, 5);
    if (!err)
        err = dg_setup_make(model, &file, 1, &opts, NULL, NULL, NULL);
    return err ? err : dg_setup_open(setup, model, NULL);
}

START_TEST(pairs_come_back_as_they_went)
{
    char dir[DG_TMPDIR_CAP], model[300], path[400];
    struct dg_setup setup;
    struct dg_corpus corpus;
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(prepare(&setup, model, dir, false), DG_OK);
    ck_assert_uint_gt(setup.train.n, 40);
    ck_assert_ptr_null(setup.train.links);
    uint64_t n_source = 0;
    for (size_t i = 0; i < setup.train.n; i++) {
        const struct dg_example e = dg_corpus_get(&setup.train, i);
        ck_assert_int_eq(e.source[e.n_source - 1], setup.bp.eos_id);
        ck_assert_int_eq(e.target[e.n_target - 1], setup.bp.eos_id);
        ck_assert_uint_eq(e.n_links, 0);
        n_source += e.n_source;
    }
    ck_assert_uint_eq(n_source, setup.train.n_source_tokens);
    /* The text of the held-out pairs matches their ids. */
    struct dg_buf text;
    dg_buf_init(&text, 1000);
    const struct dg_example first = dg_corpus_get(&setup.dev, 0);
    ck_assert_int_eq(dg_tokenizer_decode(setup.tokenizer, first.target, first.n_target - 1, &text),
                     DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&text), setup.dev_texts[0].target));
    dg_buf_deinit(&text);
    /* A file that is cut anywhere is refused with a message. */
    snprintf(path, sizeof path, "%s/training/pairs.bin", model);
    ck_assert_int_eq(truncate(path, 100), 0);
    ck_assert_int_eq(dg_corpus_open(&corpus, path, &setup.bp, &error), DG_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "its length does not fit"));
    dg_setup_close(&setup);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(links_lie_within_their_pairs)
{
    char dir[DG_TMPDIR_CAP], model[300];
    struct dg_setup setup;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(prepare(&setup, model, dir, true), DG_OK);
    ck_assert_ptr_nonnull(setup.train.links);
    ck_assert_ptr_nonnull(setup.dev.links);
    size_t n_links = 0;
    for (size_t i = 0; i < setup.train.n; i++) {
        const struct dg_example e = dg_corpus_get(&setup.train, i);
        for (uint32_t j = 0; j < e.n_links; j++)
            ck_assert(e.links[j].source + 1u < e.n_source &&
                      e.links[j].target + 1u < e.n_target); /* not the end */
        n_links += e.n_links;
    }
    ck_assert_uint_gt(n_links, setup.train.n * 3);
    dg_setup_close(&setup);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(an_order_is_a_permutation_of_its_epoch)
{
    enum { N = 1000 };
    static bool seen[N];
    struct dg_order one, other;
    ck_assert_int_eq(dg_order_init(&one, N), DG_OK);
    ck_assert_int_eq(dg_order_init(&other, N), DG_OK);
    dg_order_shuffle(&one, 7, 3);
    dg_order_shuffle(&other, 7, 2);
    ck_assert_mem_ne(one.at, other.at, N * sizeof *one.at);
    dg_order_shuffle(&other, 7, 3);
    ck_assert_mem_eq(one.at, other.at, N * sizeof *one.at);
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < N; i++) {
        ck_assert(one.at[i] < N && !seen[one.at[i]]);
        seen[one.at[i]] = true;
    }
    dg_order_deinit(&one);
    dg_order_deinit(&other);
}
END_TEST

struct state {
    struct dg_params params;
    struct dg_team *team;
    struct dg_optimiser *optimiser;
    uint64_t numbers[2];
};

static enum dg_err state_init(struct state *s, struct dg_checkpoint *point, uint64_t seed)
{
    struct dg_blueprint bp;
    const struct dg_optimiser_opts opts = DG_OPTIMISER_OPTS_DEFAULT;
    dg_setup_blueprint(&bp);
    bp.D = 8;
    bp.encoder = bp.decoder = (struct dg_stack){1, 2, 8, 11};
    bp.eos_id = 0;
    bp.unk_id = 1;
    *s = (struct state){.numbers = {seed, seed + 1}};
    enum dg_err err = dg_params_init(&s->params, &bp, NULL);
    if (!err)
        dg_params_randomise(&s->params, seed);
    if (!err)
        err = dg_team_new(&s->team, 1, NULL);
    if (!err)
        err = dg_optimiser_new(&s->optimiser, &s->params, &opts, s->team, NULL);
    if (!err)
        *point =
            (struct dg_checkpoint){&s->params, dg_optimiser_state(s->optimiser), s->numbers, 2};
    return err;
}

static void state_deinit(struct state *s)
{
    dg_optimiser_free(s->optimiser);
    dg_team_free(s->team);
    dg_params_deinit(&s->params);
}

START_TEST(a_checkpoint_comes_back_to_the_bit)
{
    char dir[DG_TMPDIR_CAP], path[300];
    struct state states[2];
    struct dg_checkpoint points[2];
    struct dg_error error = DG_ERROR_NONE;
    dg_tmpdir_make(dir);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", dir);
    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(state_init(&states[i], &points[i], 3 + i), DG_OK);
    *points[0].state.step = 12;
    points[0].state.moment1[5] = 0.25f;
    points[0].state.average[6] = -1.0f;
    ck_assert_int_eq(dg_checkpoint_save(&points[0], path, NULL), DG_OK);
    ck_assert_int_eq(dg_checkpoint_load(&points[1], path, &error), DG_OK);
    const size_t bytes = states[0].params.n * sizeof(float);
    ck_assert_mem_eq(states[0].params.w, states[1].params.w, bytes);
    ck_assert_mem_eq(points[0].state.moment1, points[1].state.moment1, bytes);
    ck_assert_mem_eq(points[0].state.average, points[1].state.average, bytes);
    ck_assert_uint_eq(*points[1].state.step, 12);
    ck_assert_uint_eq(states[1].numbers[1], 4);
    /* A file that is cut short is refused, and the state stays as it was. */
    ck_assert_int_eq(truncate(path, (off_t)bytes), 0);
    states[1].numbers[1] = 99;
    ck_assert_int_ne(dg_checkpoint_load(&points[1], path, &error), DG_OK);
    ck_assert_uint_eq(states[1].numbers[1], 99);
    ck_assert_mem_eq(states[0].params.w, states[1].params.w, bytes);
    for (size_t i = 0; i < 2; i++)
        state_deinit(&states[i]);
    dg_tmpdir_remove(dir);
}
END_TEST

struct metrics {
    unsigned calls[5];
};

static void count_me(void *ctx, size_t member)
{
    struct metrics *metrics = ctx;
    metrics->calls[member]++;
}

START_TEST(every_member_of_a_team_is_called_once)
{
    struct dg_team *team;
    struct metrics metrics = {{0}};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_team_new(&team, 5, NULL), DG_OK);
    ck_assert_uint_eq(dg_team_size(team), 5);
    for (int i = 0; i < 100; i++)
        dg_team_run(team, count_me, &metrics);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(metrics.calls[i], 100);
    dg_team_free(team);
    ck_assert_int_eq(dg_team_new(&team, 0, &error), DG_ERR_RANGE);
}
END_TEST

DG_UNIT_SLOW(pairs_come_back_as_they_went, links_lie_within_their_pairs,
             an_order_is_a_permutation_of_its_epoch, a_checkpoint_comes_back_to_the_bit,
             every_member_of_a_team_is_called_once)
