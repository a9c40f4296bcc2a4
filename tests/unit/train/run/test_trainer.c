/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Whole runs on a toy language: learning by heart, resuming to the bit, ends and refusals. */
#include "base/file/map_file.h"
#include "model/model_dir.h"
#include "train/run/trainer.h"
#include "training_toy_run.h"

#include <math.h>

START_TEST(sixty_four_pairs_are_learned_by_heart)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    struct dg_setup_opts setup_opts = toy_setup_opts();
    enum dg_trainer_end end;
    setup_opts.n_dev = 0;
    toy_place_make(&place, 64, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.smoothing = opts.dropout = 0.0f;
    opts.steps = (uint64_t)dg_unit_rounds(400);
    opts.log_every = 20;
    opts.batch_tokens = 100000;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    enum dg_err err = dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_int_eq(end, DG_TRAINER_STEPS);
    if (opts.steps == 400)
        ck_assert_double_lt(dg_trainer_now(trainer)->loss, 0.01);
    dg_trainer_free(trainer);

    /* The directory that the run wrote is a model. */
    struct dg_model *model;
    ck_assert_int_eq(dg_model_open(&model, place.dir, NULL), DG_OK);
    dg_model_unref(model);
    toy_place_leave(&place);
}
END_TEST

static void note_loss(void *ctx, const struct dg_trainer_now *now)
{
    double *first = ctx;
    if (now->step == 1)
        *first = now->loss;
}

START_TEST(the_loss_is_told_from_the_first_step)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    struct dg_setup_opts setup_opts = toy_setup_opts();
    enum dg_trainer_end end;
    double first = 0.0;
    toy_place_make(&place, 64, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.steps = 2;
    opts.log_every = 50;
    struct dg_trainer_events events = toy_quiet;
    events.on_step = note_loss;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    enum dg_err err = dg_trainer_run(trainer, &events, &first, &end, NULL);
    ck_assert_int_eq(err, DG_OK);
    ck_assert_double_gt(first, 0.1);
    dg_trainer_free(trainer);
    toy_place_leave(&place);
}
END_TEST

/* The columns of the log that do not depend on time: all lines, without seconds and speed. */
static char *log_without_times(const char *dir)
{
    char path[400];
    struct dg_text_in in;
    struct dg_span line;
    struct dg_buf text;
    snprintf(path, sizeof path, "%s/training/log.tsv", dir);
    dg_buf_init(&text, 1 << 20);
    if (dg_text_in_open(&in, path, NULL))
        return NULL;
    while (dg_text_in_line(&in, &line)) {
        size_t column = 0;
        for (size_t i = 0; i < line.len; i++) {
            column += line.ptr[i] == '\t';
            if (column != 2 && column != 7 && dg_buf_append_byte(&text, line.ptr[i]))
                break;
        }
        if (dg_buf_append_byte(&text, '\n'))
            break;
    }
    dg_text_in_close(&in);
    return text.ptr;
}

static struct dg_map_file model_in(const char *dir)
{
    char path[400];
    struct dg_map_file file;
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 24, NULL), DG_OK);
    return file;
}

static void check_same_model(const char *dir, const char *other)
{
    struct dg_map_file file = model_in(dir), again = model_in(other);
    ck_assert_uint_eq(file.len, again.len);
    ck_assert_mem_eq(file.bytes, again.bytes, file.len);
    dg_map_file_close(&file);
    dg_map_file_close(&again);
}

static void check_resumed(size_t average_last)
{
    struct toy_place places[2];
    float *weights[2] = {0};
    size_t n[2];
    const uint64_t parts[] = {3, 1, 7, 0};
    const struct dg_setup_opts setup_opts = toy_setup_opts();
    for (size_t i = 0; i < 2; i++) {
        toy_place_make(&places[i], 60, &setup_opts);
        struct dg_trainer_opts opts = toy_trainer_opts(places[i].dir);
        opts.steps = 23;
        opts.dropout_ffn = 0.2f;
        opts.optimiser.weight_decay = 0.01;
        opts.optimiser.average_last = average_last;
        opts.valid_every = 4;
        ck_assert_int_eq(toy_run_in_parts(&places[i], &opts, parts, i ? 4 : 0, &weights[i], &n[i]),
                         DG_OK);
    }
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(weights[0], weights[1], n[0] * sizeof(float));
    char *logs[2] = {log_without_times(places[0].dir), log_without_times(places[1].dir)};
    ck_assert_ptr_nonnull(logs[0]);
    ck_assert_str_eq(logs[0], logs[1]);
    check_same_model(places[0].dir, places[1].dir);
    for (size_t i = 0; i < 2; i++) {
        dg_free(logs[i]);
        dg_free(weights[i]);
        toy_place_leave(&places[i]);
    }
}

START_TEST(a_resumed_run_gives_the_bits_of_an_uninterrupted_one)
{
    check_resumed(0);
    check_resumed(2);
}
END_TEST

START_TEST(it_ends_when_it_does_not_get_better)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    const struct dg_setup_opts setup_opts = toy_setup_opts();
    toy_place_make(&place, 60, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.optimiser.rate = 1e-12; /* nothing changes: the first validation stays the best, apart from
                                    rounding */
    opts.optimiser.average = 0.0;
    opts.valid_every = 1;
    opts.patience = 2;
    opts.steps = 200;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL), DG_OK);
    ck_assert_int_eq(end, DG_TRAINER_PATIENCE);
    dg_trainer_free(trainer);
    toy_place_leave(&place);
}
END_TEST

/* A task without its own figure is judged by its loss: the best model is kept, and patience does
 * not run out at once. */
START_TEST(a_translator_judged_by_its_task_is_judged_by_its_loss)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    const struct dg_setup_opts setup_opts = toy_setup_opts();
    toy_place_make(&place, 60, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.metric = DG_TRAINER_TASK;
    opts.valid_every = 2;
    opts.patience = 2;
    opts.steps = 8;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL), DG_OK);
    ck_assert_int_eq(end, DG_TRAINER_STEPS);
    ck_assert(dg_trainer_now(trainer)->best < 0.0);
    dg_trainer_free(trainer);
    toy_place_leave(&place);
}
END_TEST

START_TEST(examples_that_no_pass_has_room_for_are_refused)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_setup_opts setup_opts = toy_setup_opts();
    toy_place_make(&place, 60, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.len_max = opts.part_tokens = 3;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "tokens, expected at most 3"));
    toy_place_leave(&place);
}
END_TEST

START_TEST(a_checkpoint_of_another_network_is_refused)
{
    struct toy_place place;
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_setup_opts setup_opts = toy_setup_opts();
    toy_place_make(&place, 60, &setup_opts);
    struct dg_trainer_opts opts = toy_trainer_opts(place.dir);
    opts.steps = 1;
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_trainer_resume(trainer, &error), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_trainer_run(trainer, &toy_quiet, NULL, &end, NULL), DG_OK);
    dg_trainer_free(trainer);
    place.setup.bp.activation = DG_ACT_SILU; /* a different network of the same sizes */
    ck_assert_int_eq(toy_trainer(&trainer, &place, &opts, NULL), DG_OK);
    ck_assert_int_eq(dg_trainer_resume(trainer, &error), DG_ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "another network"));
    dg_trainer_free(trainer);
    toy_place_leave(&place);
}
END_TEST

DG_UNIT_SLOW(sixty_four_pairs_are_learned_by_heart, the_loss_is_told_from_the_first_step,
             a_resumed_run_gives_the_bits_of_an_uninterrupted_one,
             it_ends_when_it_does_not_get_better,
             a_translator_judged_by_its_task_is_judged_by_its_loss,
             examples_that_no_pass_has_room_for_are_refused,
             a_checkpoint_of_another_network_is_refused)
