/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Whole runs of recurrent networks on a toy language: each family learns a batch by heart and then
 * reproduces it; resuming to the bit, also when gradients go straight into the weights. */
#include "train/run/trainer.h"
#include "training_toy_run.h"

#include <math.h>

static struct dg_setup_opts setup_opts(enum dg_decoder_kind cell, enum dg_seq_attention attention)
{
    struct dg_setup_opts opts = {
        .pairs = DG_PAIRS_OPTS_DEFAULT, .seed = 1, .spm = DG_SPM_TRAIN_OPTS_DEFAULT, .len_max = 12};
    opts.spm.kind = DG_SPM_WORD;
    opts.spm.ascii = true;
    dg_setup_blueprint_seq(&opts.bp);
    opts.bp.D = 32;
    opts.bp.decoder_kind = cell;
    opts.bp.seq.attention = attention;
    opts.bp.seq.places = attention == DG_SEQ_LOCATION ? 12 : 0;
    return opts;
}

static const struct {
    enum dg_decoder_kind cell;
    enum dg_seq_attention attention;
    bool is_bidirectional;
} families[] = {
    {DG_DECODER_TANH, DG_SEQ_ADDITIVE, false}, {DG_DECODER_GRU, DG_SEQ_NONE, false},
    {DG_DECODER_GRU, DG_SEQ_LOCATION, false},  {DG_DECODER_LSTM, DG_SEQ_DOT, true},
    {DG_DECODER_LSTM, DG_SEQ_GENERAL, false},  {DG_DECODER_GRU, DG_SEQ_ADDITIVE, true},
};

/* Learns 64 pairs in one batch a step; then our own decoder translates them, with the weights that
 * would be served. */
static void learn_by_heart(size_t which)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    struct dg_validate_report report;
    struct dg_setup_opts opts = setup_opts(families[which].cell, families[which].attention);
    const int steps = dg_unit_rounds(400);
    opts.bp.seq.is_bidirectional = families[which].is_bidirectional;
    toy_place_make(&place, 64, &opts);
    struct dg_trainer_opts t = toy_trainer_opts(place.dir);
    t.smoothing = t.dropout = 0.0f;
    t.len_max = 12;
    t.part_tokens = 512;
    t.threads = 1;
    t.steps = (uint64_t)steps;
    t.log_every = 10;
    t.optimiser.rate = 0.01;
    t.optimiser.average = 0.0;
    t.optimiser.schedule = DG_SCHEDULE_COSINE;
    t.optimiser.steps = (uint64_t)steps;
    t.optimiser.rate_min = 0.001;
    t.batch_tokens = 100000;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &t, NULL), DG_OK);
    enum dg_err err = dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL);
    ck_assert_int_eq(err, DG_OK);
    if (steps == 400) {
        ck_assert_msg(dg_trainer_now(trainer)->loss < 0.01, "family %zu: loss %g", which,
                      dg_trainer_now(trainer)->loss);
        struct dg_pairs pairs;
        dg_pairs_init(&pairs, &opts.pairs);
        ck_assert_int_eq(dg_pairs_read(&pairs, place.pairs, NULL), DG_OK);
        ck_assert_int_eq(
            dg_trainer_judge(trainer, &place.setup.train, pairs.list, 64, 1, &report, NULL), DG_OK);
        ck_assert_msg(report.bleu > 99.0, "family %zu: BLEU %g", which, report.bleu);
        dg_pairs_deinit(&pairs);
    }
    dg_trainer_free(trainer);
    toy_place_leave(&place);
}

START_TEST(plain_and_gated_cells_learn_sixty_four_pairs_by_heart)
{
    for (size_t i = 0; i < 3; i++)
        learn_by_heart(i);
}
END_TEST

START_TEST(the_others_learn_them_too)
{
    for (size_t i = 3; i < sizeof families / sizeof *families; i++)
        learn_by_heart(i);
}
END_TEST

static void resume(bool is_direct)
{
    static const uint64_t parts[] = {3, 1, 7, 0};
    struct toy_place places[2];
    float *weights[2] = {0};
    size_t n[2];
    struct dg_setup_opts opts = setup_opts(is_direct ? DG_DECODER_GRU : DG_DECODER_LSTM,
                                           is_direct ? DG_SEQ_LOCATION : DG_SEQ_ADDITIVE);
    opts.bp.seq.is_bidirectional = !is_direct;
    opts.bp.encoder.n_layers = is_direct ? 1 : 2;
    opts.n_dev = 4;
    for (size_t i = 0; i < 2; i++) {
        toy_place_make(&places[i], 60, &opts);
        struct dg_trainer_opts t = toy_trainer_opts(places[i].dir);
        t.steps = 23;
        t.len_max = 12;
        t.teacher = 0.5f;
        t.loss = DG_PASS_LOSS_SENTENCE;
        if (is_direct) {
            t.threads = 1;
            t.batch_tokens = 1;
            t.optimiser = (struct dg_optimiser_opts){
                .kind = DG_OPTIMISER_SGD, .rate = 0.01, .schedule = DG_SCHEDULE_CONSTANT};
        }
        ck_assert_int_eq(toy_run_in_parts(&places[i], &t, parts, i ? 4 : 0, &weights[i], &n[i]),
                         DG_OK);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(weights[0], weights[1], n[0] * sizeof(float));
    for (size_t i = 0; i < 2; i++) {
        dg_free(weights[i]);
        toy_place_leave(&places[i]);
    }
}

START_TEST(a_resumed_run_gives_the_bits_of_an_uninterrupted_one)
{
    resume(false);
}
END_TEST

START_TEST(so_does_one_whose_gradients_go_into_the_weights)
{
    resume(true);
}
END_TEST

DG_UNIT_SLOW(plain_and_gated_cells_learn_sixty_four_pairs_by_heart, the_others_learn_them_too,
             a_resumed_run_gives_the_bits_of_an_uninterrupted_one,
             so_does_one_whose_gradients_go_into_the_weights)
