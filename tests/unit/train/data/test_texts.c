/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What language models learn from: lines, packed lines, and prompts with their answers, as ids;
 * small whole runs of both kinds, and resuming to the bit. */
#include "base/file/text_in.h"
#include "base/memory/mem.h"
#include "tokenize/prompt_template.h"
#include "train/data/texts.h"
#include "tmpdir.h"
#include "training_toy.h"
#include "unit.h"

#include <math.h>

struct place {
    char dir[300], file[300];
    struct dg_setup setup;
};

static struct dg_setup_opts setup_opts(enum dg_setup_shape shape, const char *form, size_t len_max)
{
    struct dg_setup_opts opts = {
        .pairs = DG_PAIRS_OPTS_DEFAULT, .seed = 1, .spm = DG_SPM_TRAIN_OPTS_DEFAULT, .n_dev = 4};
    opts.spm.size = 70;
    opts.len_max = len_max;
    dg_setup_blueprint_lm(&opts.bp, shape);
    opts.bp.D = 32;
    opts.bp.decoder = (struct dg_stack){1, 4, 48, 0};
    opts.bp.encoder = (struct dg_stack){0, 4, 48, 0};
    opts.bp.lm.head = 8;
    opts.bp.lm.kv_heads = shape == DG_SETUP_LLAMA ? 2 : 4;
    snprintf(opts.bp.lm.ask.form, sizeof opts.bp.lm.ask.form, "%s", form);
    if (*form) {
        memcpy(opts.bp.lm.ask.source, "fr", 3);
        memcpy(opts.bp.lm.ask.target, "en", 3);
    }
    opts.pairs.lines = !*form;
    return opts;
}

static enum dg_err place_make(struct place *place, const char *dir,
                              const struct dg_setup_opts *opts)
{
    const char *file = place->file;
    struct dg_error error = DG_ERROR_NONE;
    snprintf(place->dir, sizeof place->dir, "%s/model", dir);
    snprintf(place->file, sizeof place->file, "%s/pairs.tsv", dir);
    enum dg_err err = toy_write(place->file, 64, 5);
    if (!err)
        err = dg_setup_make(place->dir, &file, 1, opts, NULL, NULL, &error);
    if (!err)
        err = dg_setup_open(&place->setup, place->dir, &error);
    ck_assert_msg(!err, "%s", error.text);
    return err;
}

static void says(const struct place *place, const int32_t *ids, size_t n, const char *expected,
                 size_t len)
{
    struct dg_buf text;
    dg_buf_init(&text, 1000);
    ck_assert_int_eq(dg_tokenizer_decode(place->setup.tokenizer, ids, n, &text), DG_OK);
    ck_assert_msg(text.len == len && memcmp(text.ptr, expected, len) == 0,
                  "read \"%.*s\", expected \"%.*s\"", (int)text.len, text.ptr, (int)len, expected);
    dg_buf_deinit(&text);
}

START_TEST(a_line_begins_and_ends_with_the_end_token)
{
    char dir[DG_TMPDIR_CAP];
    struct place place;
    const struct dg_setup_opts opts = setup_opts(DG_SETUP_GPT, "", 60);
    dg_tmpdir_make(dir);
    ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
    const struct dg_setup *s = &place.setup;
    ck_assert_int_eq(s->bp.bos_id, s->bp.eos_id);
    ck_assert_uint_eq(s->bp.lm.context, 60);
    ck_assert_uint_eq(s->bp.n_positions, 60);
    ck_assert_uint_eq(s->dev.n, 4);
    for (size_t i = 0; i < s->dev.n; i++) {
        const struct dg_example e = dg_corpus_get(&s->dev, i);
        ck_assert_uint_eq(e.n_source, 1);
        ck_assert_int_eq(e.source[0], s->bp.eos_id);
        ck_assert_int_eq(e.target[e.n_target - 1], s->bp.eos_id);
        struct dg_buf line; /* a tab is a space for the vocabulary */
        dg_buf_init(&line, 1000);
        ck_assert_int_eq(dg_buf_append_span(&line, s->dev_texts[i].target), DG_OK);
        for (size_t k = 0; k < line.len; k++)
            line.ptr[k] = line.ptr[k] == '\t' ? ' ' : line.ptr[k];
        says(&place, e.target, e.n_target - 1, line.ptr, line.len);
        dg_buf_deinit(&line);
    }
    dg_setup_close(&place.setup);
    dg_tmpdir_remove(dir);
}
END_TEST

/* Packed lines, or lines that were cut because they are long, give the texts when they are
 * joined. */
START_TEST(stretches_joined_are_the_texts)
{
    static const bool packed[] = {false, true, true};
    static const size_t lens[] = {7, 7, 30};
    uint64_t n_tokens[3];
    for (size_t k = 0; k < 3; k++) {
        char dir[DG_TMPDIR_CAP];
        struct place place;
        struct dg_setup_opts opts = setup_opts(DG_SETUP_LLAMA, "", lens[k]);
        opts.is_packed = packed[k];
        dg_tmpdir_make(dir);
        ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
        const struct dg_corpus *c = &place.setup.train;
        ck_assert_uint_gt(c->n, 3);
        ck_assert_uint_gt(place.setup.n_dev_cut, 0);
        int32_t last = place.setup.bp.eos_id;
        n_tokens[k] = c->n_target_tokens;
        for (size_t i = 0; i < c->n; i++) {
            const struct dg_example e = dg_corpus_get(c, i);
            ck_assert_uint_eq(e.n_source, 1);
            /* each token is predicted from the one before it */
            ck_assert_int_eq(e.source[0], last);
            ck_assert_uint_le(e.n_target, lens[k]);
            if (packed[k] && i + 1 < c->n)
                ck_assert_uint_eq(e.n_target, lens[k]);
            last = e.target[e.n_target - 1];
        }
        ck_assert_int_eq(last, place.setup.bp.eos_id);
        dg_setup_close(&place.setup);
        dg_tmpdir_remove(dir);
    }
    ck_assert_uint_eq(n_tokens[0], n_tokens[1]);
    ck_assert_uint_eq(n_tokens[0], n_tokens[2]);
}
END_TEST

START_TEST(a_prompt_is_what_a_served_model_reads)
{
    char dir[DG_TMPDIR_CAP];
    struct place place;
    const struct dg_setup_opts opts = setup_opts(DG_SETUP_GPT, "{source}: {text} {target}:", 80);
    dg_tmpdir_make(dir);
    ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
    const struct dg_setup *s = &place.setup;
    ck_assert_str_eq(s->bp.lm.ask.form, "{source}: {text} {target}:");
    ck_assert_str_eq(s->bp.lm.ask.source, "fr");
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    for (size_t i = 0; i < s->dev.n && work; i++) {
        const struct dg_prompt_template_coder coder = {
            .tokenizer = s->tokenizer, .bos = s->bp.bos_id, .eos = s->bp.eos_id};
        const struct dg_example e = dg_corpus_get(&s->dev, i);
        struct dg_buf prompt;
        struct dg_token *tokens = NULL;
        size_t n = 0;
        dg_buf_init(&prompt, 1000);
        ck_assert_int_eq(
            dg_buf_printf(&prompt, "French: %.*s English:", DG_SPAN_FMT(s->dev_texts[i].source)),
            DG_OK);
        ck_assert_int_eq(dg_prompt_template_encode(&coder, work, dg_buf_span(&prompt), 8,
                                                   8 + s->dev_texts[i].source.len, NULL, &tokens,
                                                   &n),
                         DG_OK);
        ck_assert_uint_eq(n, e.n_source);
        for (size_t k = 0; k < n; k++)
            ck_assert_int_eq(tokens[k].id, e.source[k]);
        says(&place, e.target, e.n_target - 1, s->dev_texts[i].target.ptr,
             s->dev_texts[i].target.len);
        ck_assert_int_eq(e.target[e.n_target - 1], s->bp.eos_id);
        dg_free(tokens);
        dg_buf_deinit(&prompt);
    }
    dg_tokenizer_work_free(work);
    dg_setup_close(&place.setup);
    dg_tmpdir_remove(dir);
}
END_TEST

/* Prompts that are too long are left out of the training texts; held-out ones are cut, and stay
 * aligned with their texts. */
START_TEST(long_prompts_are_left_out_or_cut)
{
    char dir[DG_TMPDIR_CAP];
    struct place place;
    const struct dg_setup_opts opts = setup_opts(DG_SETUP_GPT, "{text} =", 30);
    dg_tmpdir_make(dir);
    ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
    const struct dg_corpus *c = &place.setup.train;
    ck_assert_uint_gt(c->n, 5);
    ck_assert_uint_lt(c->n, 60);
    for (size_t i = 0; i < c->n; i++)
        ck_assert_uint_le(dg_corpus_get(c, i).n_source + dg_corpus_get(c, i).n_target, 31);
    ck_assert_uint_eq(place.setup.dev.n, place.setup.dev_pairs.n);
    dg_setup_close(&place.setup);
    dg_tmpdir_remove(dir);
}
END_TEST

START_TEST(wrong_forms_are_refused)
{
    static const char *const forms[] = {"no place", "{text} {text}", "{text} {tongue}",
                                        "{text} \\x", "{source}: {text}"};
    static const char *const says_what[] = {"0 times", "2 times", "'{tongue}' is not a placeholder",
                                            "'\\x' is not an escape", "not given"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct dg_error error = DG_ERROR_NONE;
        struct dg_setup_opts opts = setup_opts(DG_SETUP_GPT, forms[i], 30);
        opts.bp.lm.ask.source[0] = '\0';
        ck_assert_int_eq(dg_texts_check(&opts.bp, &error), DG_ERR_INVALID);
        ck_assert_msg(strstr(error.text, says_what[i]), "%s", error.text);
    }
}
END_TEST

/* ---- Runs ------------------------------------------------------------------------------------ */

static enum dg_err trainer_of(struct dg_trainer **trainer, const struct place *place,
                              const struct dg_trainer_opts *opts)
{
    const struct dg_trainer_data data = {&place->setup.train, &place->setup.dev,
                                         place->setup.dev_texts, place->setup.tokenizer};
    return dg_trainer_new(trainer, opts, &place->setup.bp, &data, NULL, NULL);
}

static struct dg_trainer_opts trainer_opts(const struct place *place, size_t len_max)
{
    struct dg_trainer_opts opts = toy_trainer_opts(place->dir);
    opts.threads = 1;
    opts.smoothing = 0.0f;
    opts.len_max = len_max;
    opts.part_tokens = 256;
    opts.optimiser.rate = 0.01;
    return opts;
}

START_TEST(prompts_are_learned_by_heart_and_answered)
{
    static const struct dg_trainer_events quiet = {0};
    char dir[DG_TMPDIR_CAP];
    struct place place;
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    struct dg_validate_report report;
    const struct dg_setup_opts opts = setup_opts(DG_SETUP_LLAMA, "{text} =", 80);
    const int steps = dg_unit_rounds(300);
    dg_tmpdir_make(dir);
    ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
    struct dg_trainer_opts t = trainer_opts(&place, 80);
    t.dropout = 0.0f;
    t.steps = (uint64_t)steps;
    t.valid_every = 1000;
    t.batch_tokens = 100000;
    t.optimiser.average = 0.0;
    ck_assert_int_eq(trainer_of(&trainer, &place, &t), DG_OK);
    ck_assert_int_eq(dg_trainer_run(trainer, &quiet, NULL, &end, NULL), DG_OK);
    ck_assert(isfinite(dg_trainer_now(trainer)->loss));
    if (steps == 300) {
        struct dg_setup_set set;
        char ids[400];
        snprintf(ids, sizeof ids, "%s/set.bin", dir);
        ck_assert_int_eq(dg_setup_open_set(&set, &place.setup, place.file, false, ids, NULL),
                         DG_OK);
        ck_assert_int_eq(
            dg_trainer_judge(trainer, &set.corpus, set.pairs.list, 64, 1, &report, NULL), DG_OK);
        ck_assert_msg(report.bleu > 80.0, "BLEU %g", report.bleu); /* a few of them were held out */
        dg_setup_close_set(&set);
    }
    dg_trainer_free(trainer);
    dg_setup_close(&place.setup);
    dg_tmpdir_remove(dir);
}
END_TEST

/* A model that is tuned with less than its context is still judged by whole lines, as long as a
 * pass has room for them. */
START_TEST(held_out_lines_are_judged_whole)
{
    static const struct {
        size_t len_max, part_tokens;
    } rows[] = {{60, 60}, {8, 60}, {8, 16}};
    char dirs[2][DG_TMPDIR_CAP];
    struct place first, place;
    struct dg_validate_report reports[3];
    struct dg_setup_opts opts = setup_opts(DG_SETUP_GPT, "", 60);
    opts.n_dev = 12;
    dg_tmpdir_make(dirs[0]);
    dg_tmpdir_make(dirs[1]);
    ck_assert_int_eq(place_make(&first, dirs[0], &opts), DG_OK);
    opts.init = first.dir;
    opts.len_max = 8;
    ck_assert_int_eq(place_make(&place, dirs[1], &opts), DG_OK);
    ck_assert_uint_eq(place.setup.bp.lm.context, 60);
    ck_assert_uint_eq(place.setup.n_dev_cut, 0);
    size_t n_long = 0;
    for (size_t i = 0; i < place.setup.dev.n; i++) {
        const struct dg_example example = dg_corpus_get(&place.setup.dev, i);
        n_long += dg_pass_length(&place.setup.bp, &example) > 16;
    }
    ck_assert_uint_gt(n_long, 0);
    for (size_t i = 0; i < 3; i++) {
        struct dg_trainer *trainer;
        struct dg_trainer_opts t = trainer_opts(&place, rows[i].len_max);
        t.part_tokens = rows[i].part_tokens;
        t.threads = i == 2 ? 2 : 1; /* a text that is left out is counted once */
        ck_assert_int_eq(trainer_of(&trainer, &place, &t), DG_OK);
        ck_assert_int_eq(dg_trainer_judge(trainer, &place.setup.dev, place.setup.dev_texts, 0, 1,
                                          &reports[i], NULL),
                         DG_OK);
        dg_trainer_free(trainer);
    }
    ck_assert_uint_eq(reports[0].n_left_out, 0);
    ck_assert_uint_eq(reports[1].n_left_out, 0);
    ck_assert_uint_eq(reports[2].n_left_out, n_long);
    ck_assert(fabs(reports[0].loss - reports[1].loss) < 1e-5);
    dg_setup_close(&place.setup);
    dg_setup_close(&first.setup);
    dg_tmpdir_remove(dirs[0]);
    dg_tmpdir_remove(dirs[1]);
}
END_TEST

static bool stop_at(void *ctx)
{
    uint64_t *left = ctx;
    return (*left)-- == 0;
}

/* Runs until `steps`; with `stop` it is stopped and resumed on the way. */
static float *run_of(const struct place *place, uint64_t stop, size_t *n)
{
    struct dg_trainer_opts opts = trainer_opts(place, 24);
    struct dg_trainer *trainer;
    enum dg_trainer_end end;
    const struct dg_trainer_events events = {.should_stop = stop_at};
    uint64_t left = stop ? stop : UINT64_MAX;
    opts.threads = 2;
    opts.steps = 8;
    opts.valid_every = 3;
    opts.dropout = 0.1f;
    opts.dropout_ffn = 0.1f;
    ck_assert_int_eq(trainer_of(&trainer, place, &opts), DG_OK);
    ck_assert_int_eq(dg_trainer_run(trainer, &events, &left, &end, NULL), DG_OK);
    if (stop) {
        ck_assert_int_eq(end, DG_TRAINER_STOPPED);
        dg_trainer_free(trainer);
        left = UINT64_MAX;
        ck_assert_int_eq(trainer_of(&trainer, place, &opts), DG_OK);
        ck_assert_int_eq(dg_trainer_resume(trainer, NULL), DG_OK);
        ck_assert_int_eq(dg_trainer_run(trainer, &events, &left, &end, NULL), DG_OK);
    }
    ck_assert_int_eq(end, DG_TRAINER_STEPS);
    const struct dg_params *params = dg_trainer_params(trainer);
    float *w = dg_try_malloc(params->n * sizeof *w);
    ck_assert_ptr_nonnull(w);
    memcpy(w, params->w, params->n * sizeof *w);
    *n = params->n;
    dg_trainer_free(trainer);
    return w;
}

START_TEST(a_resumed_run_is_the_run)
{
    char dir[DG_TMPDIR_CAP];
    struct place place;
    size_t n[2];
    struct dg_setup_opts opts = setup_opts(DG_SETUP_LLAMA, "", 24);
    opts.is_packed = true;
    dg_tmpdir_make(dir);
    ck_assert_int_eq(place_make(&place, dir, &opts), DG_OK);
    float *whole = run_of(&place, 0, &n[0]), *again = run_of(&place, 4, &n[1]);
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(whole, again, n[0] * sizeof *whole);
    dg_free(whole);
    dg_free(again);
    dg_setup_close(&place.setup);
    dg_tmpdir_remove(dir);
}
END_TEST

DG_UNIT_SLOW(a_line_begins_and_ends_with_the_end_token, stretches_joined_are_the_texts,
             a_prompt_is_what_a_served_model_reads, long_prompts_are_left_out_or_cut,
             held_out_lines_are_judged_whole, wrong_forms_are_refused,
             prompts_are_learned_by_heart_and_answered, a_resumed_run_is_the_run)
