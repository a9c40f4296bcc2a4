/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One step: the next pairs of the epoch's order are dealt to the members in stretches of about the
 * same number of tokens; each member runs its stretch in parts that fit its memory and adds up
 * gradients; the optimiser does the rest. Only the moments at which checkpoints are written depend
 * on time. */
#include "train/run/trainer.h"
#include "base/memory/bounds.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "model/model_dir.h"
#include "train/data/random.h"
#include "train/run/snapshots.h"
#include "train/run/trainer_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED_MAX = 20, RIVALS_STREAM = 0x7269 };

const char *dg_trainer_end_text(enum dg_trainer_end end)
{
    switch (end) {
    case DG_TRAINER_STEPS:
        return "all steps are done";
    case DG_TRAINER_EPOCHS:
        return "all epochs are done";
    case DG_TRAINER_TIME:
        return "the time is used up";
    case DG_TRAINER_PATIENCE:
        return "it no longer got better";
    case DG_TRAINER_STOPPED:
        break;
    }
    return "it was stopped";
}

/* ---- Making and freeing ---------------------------------------------------------------------- */

/* Returns the length of the longest held-out example of at most `rows` tokens. Held-out examples
 * are scored whole, although training examples may be cut shorter (when a language model is tuned
 * with less than its context). */
static size_t longest_held(const struct dg_trainer *t, size_t rows)
{
    size_t longest = 0;
    for (size_t i = 0; i < t->data.dev->n; i++) {
        const struct dg_example example = dg_corpus_get(t->data.dev, i);
        const size_t len = dg_pass_length(&t->params.bp, &example);
        if (len <= rows && len > longest)
            longest = len;
    }
    return longest;
}

/* Candidates of a source are never separated: there must be room for the largest group. */
static void make_room(const struct dg_trainer *t, struct dg_pass_limits *limits)
{
    struct dg_example group[DG_RISK_CANDIDATES_MAX];
    for (size_t i = 0; t->data.candidates && i < t->data.candidates->n; i++) {
        size_t source = 0, target = 0, scores = 0;
        for (size_t j = 0, n = dg_risk_candidates_group(t->data.candidates, i, group); j < n; j++) {
            const size_t len = dg_most(group[j].n_source, group[j].n_target);
            source += group[j].n_source;
            target += group[j].n_target;
            scores += len * len;
        }
        limits->source_rows = dg_most(limits->source_rows, source);
        limits->target_rows = dg_most(limits->target_rows, target);
        limits->scores = dg_most(limits->scores, scores);
    }
}

static enum dg_err make_passes(struct dg_trainer *t, struct dg_error *error)
{
    const size_t rows = dg_most(t->opts.part_tokens, t->opts.len_max);
    const size_t longest = dg_most(longest_held(t, rows), t->opts.len_max);
    struct dg_pass_limits limits = {.source_rows = rows,
                                    .target_rows = rows,
                                    .scores =
                                        dg_most(rows * t->opts.len_max / 2, longest * longest),
                                    .products = dg_products_find(t->opts.products)};
    make_room(t, &limits);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < t->opts.threads && !err; i++)
        err = dg_pass_new(&t->passes[i], &t->params, &limits, error);
    return err;
}

/* Refuses an example that no pass has room for: it would never be learned, and a step would not
 * end. */
static enum dg_err check_lengths(const struct dg_trainer *t, struct dg_error *error)
{
    for (size_t i = 0; i < t->data.train->n; i++) {
        const struct dg_example example = dg_corpus_get(t->data.train, i);
        if (dg_pass_n_fitting(t->passes[0], &example, 1) == 0)
            return dg_error_set(
                error, DG_ERR_RANGE,
                "example %zu to learn from has %zu and %zu tokens, expected at most %zu", i,
                (size_t)example.n_source, (size_t)example.n_target, t->opts.len_max);
    }
    return DG_OK;
}

enum dg_err dg_trainer_new(struct dg_trainer **trainer, const struct dg_trainer_opts *opts,
                           const struct dg_blueprint *bp, const struct dg_trainer_data *data,
                           const struct dg_weights *init, struct dg_error *error)
{
    struct dg_trainer *t = dg_try_calloc(1, sizeof *t);
    if (!t)
        return DG_ERR_NOMEM;
    t->opts = *opts;
    t->data = *data;
    t->log = -1;
    t->now.epoch = 1;
    t->now.n = data->train->n;
    t->now.best = NAN;
    t->passes = dg_try_calloc(opts->threads, sizeof *t->passes);
    t->shares = dg_try_calloc(opts->threads, sizeof *t->shares);
    enum dg_err err = t->passes && t->shares ? DG_OK : DG_ERR_NOMEM;
    if (!err && data->train->n == 0)
        err = dg_error_set(error, DG_ERR_INVALID, "there are no pairs to learn from");
    if (!err)
        err = dg_params_init(&t->params, bp, error);
    if (!err)
        dg_params_randomise(&t->params, opts->seed);
    if (!err && init)
        err = dg_params_load(&t->params, init, error);
    if (!err)
        err = dg_team_new(&t->team, opts->threads, error);
    if (!err)
        err = dg_optimiser_new(&t->optimiser, &t->params, &opts->optimiser, t->team, error);
    if (!err)
        err = make_passes(t, error);
    if (!err)
        err = check_lengths(t, error);
    if (!err)
        err = dg_order_init(&t->order, data->train->n);
    if (err) {
        dg_trainer_free(t);
        return err;
    }
    *trainer = t;
    return DG_OK;
}

void dg_trainer_free(struct dg_trainer *t)
{
    if (!t)
        return;
    if (t->log >= 0)
        close(t->log);
    for (size_t i = 0; t->passes && i < t->opts.threads; i++)
        dg_pass_free(t->passes[i]);
    dg_free(t->passes);
    dg_free(t->shares);
    dg_free(t->examples);
    dg_order_deinit(&t->order);
    dg_optimiser_free(t->optimiser);
    dg_team_free(t->team);
    dg_params_deinit(&t->params);
    dg_free(t);
}

const struct dg_trainer_now *dg_trainer_now(const struct dg_trainer *t)
{
    return &t->now;
}

const struct dg_params *dg_trainer_params(const struct dg_trainer *t)
{
    return &t->params;
}

size_t dg_trainer_bytes(const struct dg_trainer *t)
{
    const size_t moments = t->opts.optimiser.kind == DG_OPTIMISER_ADAM ? 2 : 0;
    const size_t arrays =
        1 + moments + (dg_optimiser_state(t->optimiser).average != NULL) + t->opts.threads;
    return t->params.n * sizeof(float) * arrays + t->opts.threads * dg_pass_bytes(t->passes[0]);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static double seconds_now(const struct dg_trainer *t)
{
    return t->earlier_seconds + (double)(dg_clock_now(&t->clock) - t->started_ns) / 1e9;
}

static enum dg_err end_window(struct dg_trainer *t, const struct dg_trainer_events *events,
                              void *ctx, struct dg_error *error)
{
    const double tokens = (double)t->window.n_tokens, seconds = t->now.seconds - t->line_seconds;
    if (t->window.n_losses > 0.0) {
        t->now.loss = t->window.plain / t->window.n_losses;
        t->now.objective = t->window.loss / t->window.n_losses;
        t->now.tokens_per_second = seconds > 0.0 ? tokens / seconds : 0.0;
    }
    t->window = (struct dg_pass_sums){0};
    t->line_seconds = t->now.seconds;
    if (events->on_line)
        events->on_line(ctx, &t->now);
    return dg_trainer_put_line(t, NULL, error);
}

/* ---- A step ---------------------------------------------------------------------------------- */

static enum dg_err have_room(struct dg_trainer *t, size_t n)
{
    if (n > t->cap_examples) {
        struct dg_example *examples = dg_try_realloc(t->examples, n * sizeof *examples);
        if (!examples)
            return DG_ERR_NOMEM;
        t->examples = examples;
        t->cap_examples = n;
    }
    return DG_OK;
}

static enum dg_err gather(struct dg_trainer *t, size_t n)
{
    const enum dg_err err = have_room(t, n);
    for (size_t i = 0; i < n && !err; i++)
        t->examples[i] = dg_corpus_get(t->data.train, t->order.at[t->now.position + i]);
    return err;
}

/* Adds the candidates of sources after the step's *n examples. The step's number determines the
 * draw, so that a resumed run draws the same. */
static enum dg_err gather_rivals(struct dg_trainer *t, size_t *n, size_t *n_sources)
{
    const struct dg_risk_candidates *candidates = t->data.candidates;
    struct dg_random random =
        dg_random_make(dg_random_key(t->opts.seed, RIVALS_STREAM), t->now.step);
    enum dg_err err = DG_OK;
    *n_sources = 0;
    for (size_t tokens = 0; candidates && tokens < t->opts.rivals_tokens && !err; ++*n_sources) {
        err = have_room(t, *n + DG_RISK_CANDIDATES_MAX);
        if (err)
            break;
        const size_t n_answers = dg_risk_candidates_group(
            candidates, dg_random_below(&random, candidates->n), t->examples + *n);
        for (size_t i = 0; i < n_answers; i++)
            tokens += t->examples[*n + i].n_target;
        *n += n_answers;
    }
    return err;
}

/* Cuts the step's examples into stretches of about the same number of tokens. */
static void deal(struct dg_trainer *t, size_t n, uint64_t all_tokens)
{
    const size_t members = t->opts.threads;
    uint64_t source = 0, target = 0;
    size_t i = 0;
    for (size_t member = 0; member < members; member++) {
        struct dg_trainer_share *share = &t->shares[member];
        const uint64_t until = all_tokens * (member + 1) / members;
        *share = (struct dg_trainer_share){.first = i, .source_row = source, .target_row = target};
        for (; i < n; i++) {
            const struct dg_example *example = &t->examples[i];
            /* An example belongs to the member in whose share its middle lies. */
            if (member + 1 < members && example->candidate == 0 &&
                2 * (source + target) + example->n_source + example->n_target > 2 * until)
                break;
            source += example->n_source;
            target += example->n_target;
        }
        share->n = i - share->first;
    }
}

static void run_share(void *ctx, size_t member)
{
    struct dg_trainer *t = ctx;
    struct dg_trainer_share *share = &t->shares[member];
    float *gradient = dg_optimiser_gradient(t->optimiser, member);
    struct dg_pass_batch part = t->batch;
    part.source_row = share->source_row;
    part.target_row = share->target_row;
    for (size_t i = 0; i < share->n; i += part.n) {
        part.examples = t->examples + share->first + i;
        part.first = share->first + i;
        part.n = dg_pass_n_fitting(t->passes[member], part.examples, share->n - i);
        dg_pass_run(t->passes[member], &part, gradient, &share->sums);
        for (size_t j = 0; j < part.n; j++) {
            part.source_row += part.examples[j].n_source;
            part.target_row += part.examples[j].n_target;
        }
    }
}

/* For a recurrent network under plain SGD with one pair a step: the gradient times -rate is added
 * to the weights during the backward pass, which pass_seq.h allows. Most of the weights are rows of
 * words that the pair does not have, and going over all of them would cost more than the pass. */
static float *direct(const struct dg_trainer *t)
{
    const bool is_one =
        dg_blueprint_family(&t->params.bp)->is_recurrent && t->opts.batch_tokens == 1;
    return is_one ? dg_optimiser_direct(t->optimiser) : NULL;
}

/* Computes the gradient of the step whose examples were dealt, and has the optimiser apply it. */
static enum dg_err learn(struct dg_trainer *t, struct dg_optimiser_report *report,
                         struct dg_error *error)
{
    struct dg_trainer_share *share = &t->shares[0];
    float *weights = direct(t);
    if (!weights) {
        dg_team_run(t->team, run_share, t);
        dg_optimiser_step(t->optimiser, report);
        return DG_OK;
    }
    *report = (struct dg_optimiser_report){
        .rate = dg_optimiser_rate(&t->opts.optimiser, t->params.bp.D, t->now.step + 1)};
    struct dg_pass_batch batch = t->batch;
    batch.examples = t->examples;
    batch.n = 1;
    batch.scale *= -(float)report->rate;
    dg_pass_run(t->passes[0], &batch, weights, &share->sums);
    dg_optimiser_count(t->optimiser);
    if (!isfinite(share->sums.loss))
        return dg_error_set(
            error, DG_ERR_RANGE,
            "the loss of step %" PRIu64
            " is no longer a number: train with a smaller rate, from the last checkpoint",
            t->now.step + 1);
    return DG_OK;
}

/* The number of losses whose mean is the loss of a step of n examples. */
static uint64_t n_losses(const struct dg_trainer *t, size_t n, uint64_t target)
{
    uint64_t asked = 0, row = 0;
    if (!dg_blueprint_family(&t->params.bp)->has_head)
        return t->opts.loss == DG_PASS_LOSS_SENTENCE ? n : target;
    for (size_t i = 0; i < n; row += t->examples[i++].n_source)
        asked += dg_pass_n_asked(&t->params.bp, &t->batch, &t->examples[i], row);
    return asked ? asked : 1;
}

static enum dg_err take_step(struct dg_trainer *t, struct dg_error *error)
{
    if (t->order.epoch != t->now.epoch)
        dg_order_shuffle(&t->order, t->opts.seed, t->now.epoch);
    const size_t n =
        dg_order_batch(&t->order, t->data.train, (size_t)t->now.position, t->opts.batch_tokens);
    size_t n_all = n, n_sources;
    enum dg_err err = gather(t, n);
    if (!err)
        err = gather_rivals(t, &n_all, &n_sources);
    if (err)
        return err;
    uint64_t target = 0, all = 0;
    for (size_t i = 0; i < n_all; i++) {
        target += i < n ? t->examples[i].n_target : 0;
        all += t->examples[i].n_source + t->examples[i].n_target;
    }
    t->batch = (struct dg_pass_batch){
        .smoothing = t->opts.smoothing,
        .dropout = t->opts.dropout,
        .dropout_ffn = t->opts.dropout_ffn,
        .guide = t->opts.guide,
        .guide_head = t->opts.guide_head,
        .teacher = t->opts.teacher,
        .risk = n_sources ? t->opts.risk / (float)n_sources : 0.0f,
        .sharpness = t->opts.sharpness,
        .loss = t->opts.loss,
        .mask = t->opts.mask,
        .key = dg_random_key(t->opts.seed, t->now.step),
    };
    t->batch.scale = 1.0f / (float)n_losses(t, n, target);
    deal(t, n_all, all);
    struct dg_optimiser_report report;
    err = learn(t, &report, error);
    if (err)
        return err;
    for (size_t i = 0; i < t->opts.threads; i++) {
        t->window.loss += t->shares[i].sums.loss;
        t->window.plain += t->shares[i].sums.plain;
        t->window.n_tokens += t->shares[i].sums.n_tokens;
        t->window.n_losses += t->shares[i].sums.n_losses;
    }
    t->now.step++;
    t->now.norm = report.norm;
    t->now.rate = report.rate;
    t->now.n_skipped += report.is_skipped;
    t->n_skipped_in_a_row = report.is_skipped ? t->n_skipped_in_a_row + 1 : 0;
    t->now.position += n;
    if (t->now.position == t->order.n) {
        t->now.position = 0;
        t->now.epoch++;
    }
    t->now.seconds = seconds_now(t);
    if (t->n_skipped_in_a_row == SKIPPED_MAX)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "the gradient was not finite %d steps in a row: train with a smaller rate or a longer "
            "warm-up, from the last checkpoint",
            (int)SKIPPED_MAX);
    return DG_OK;
}

/* ---- Validation ------------------------------------------------------------------------------ */

/* Swaps weights and average, so that the network is scored as it will be served. A second call
 * undoes the first. */
static void swap_average(struct dg_trainer *t)
{
    float *w = t->params.w, *average = dg_optimiser_state(t->optimiser).average;
    for (size_t i = 0; average && i < t->params.n; i++) {
        const float kept = w[i];
        w[i] = average[i];
        average[i] = kept;
    }
}

/* Takes a snapshot of the present weights. If the average is taken over snapshots, it includes
 * this one. */
static enum dg_err take_snapshot(struct dg_trainer *t, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    const size_t k = t->opts.optimiser.average_last;
    enum dg_err err = k ? dg_trainer_path(t, "training", path, error) : DG_OK;
    if (!err && k)
        err = dg_snapshots_take(&t->params, path, t->now.step, k,
                                dg_optimiser_state(t->optimiser).average, error);
    return err ? dg_error_wrap(error, err, "a snapshot of the weights") : DG_OK;
}

static bool is_better(const struct dg_trainer *t, const struct dg_validate_report *report,
                      double *value)
{
    const bool has_scores = report->bleu >= 0.0;
    const double task = dg_validate_task(report).value;
    if (t->opts.metric == DG_TRAINER_TASK)
        *value = isfinite(task) ? task : -report->loss;
    else
        *value = t->opts.metric == DG_TRAINER_LOSS || !has_scores ? -report->loss
                 : t->opts.metric == DG_TRAINER_BLEU              ? report->bleu
                                                                  : report->chrf;
    return isfinite(*value) && (isnan(t->now.best) || *value > t->now.best);
}

static enum dg_err publish(struct dg_trainer *t, struct dg_error *error)
{
    char path[DG_PATH_CAP];
    enum dg_err err = dg_trainer_path(t, "model.safetensors", path, error);
    return err ? err
               : dg_params_save(&t->params, dg_optimiser_best(t->optimiser), DG_DTYPE_F16, path,
                                error);
}

enum dg_err dg_trainer_judge(struct dg_trainer *t, const struct dg_corpus *pairs,
                             const struct dg_pair *texts, size_t n_translate, int beam,
                             struct dg_validate_report *report, struct dg_error *error)
{
    const struct dg_validate what = {
        .params = &t->params,
        .team = t->team,
        .passes = t->passes,
        .dev = pairs,
        .texts = texts,
        .tokenizer = t->data.tokenizer,
        .n_translate = n_translate < pairs->n ? n_translate : pairs->n,
        .beam = beam,
        .guide_head = t->params.bp.alignment_head,
        .labels = t->data.labels,
        .mask = t->opts.mask,
    };
    swap_average(t);
    const enum dg_err err = dg_validate_run(&what, report, error);
    swap_average(t);
    return err ? dg_error_wrap(error, err, "validation") : DG_OK;
}

enum dg_err dg_trainer_take_best(struct dg_trainer *t, struct dg_error *error)
{
    struct dg_model *model;
    float *average = dg_optimiser_state(t->optimiser).average;
    enum dg_err err = dg_model_open(&model, t->opts.dir, error);
    if (err)
        return err;
    err = dg_params_load(&t->params, dg_model_weights(model), error);
    if (!err && average)
        memcpy(average, t->params.w, t->params.n * sizeof *average);
    dg_model_unref(model);
    return err;
}

static enum dg_err validate(struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                            struct dg_error *error)
{
    struct dg_validate_report report;
    enum dg_err err = take_snapshot(t, error);
    if (!err)
        err = dg_trainer_judge(t, t->data.dev, t->data.dev_texts, t->opts.n_translate, t->opts.beam,
                               &report, error);
    if (err)
        return err;
    double value;
    const bool is_best = is_better(t, &report, &value);
    t->now.n_worse = is_best ? 0 : t->now.n_worse + 1;
    if (is_best) {
        err = publish(t, error);
        t->now.best = value;
        t->now.best_step = t->now.step;
    }
    t->now.seconds = seconds_now(t);
    if (!err)
        err = dg_trainer_put_line(t, &report, error);
    if (!err)
        err = dg_trainer_put_samples(t, &report, error);
    if (!err && events->on_valid)
        events->on_valid(ctx, &t->now, &report, is_best);
    return err;
}

/* ---- The run --------------------------------------------------------------------------------- */

static bool is_over(const struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                    enum dg_trainer_end *end)
{
    const struct dg_trainer_opts *o = &t->opts;
    if (o->steps && t->now.step >= o->steps)
        *end = DG_TRAINER_STEPS;
    else if (o->epochs && t->now.epoch > o->epochs)
        *end = DG_TRAINER_EPOCHS;
    else if (o->time_ms && t->now.seconds * 1000.0 >= (double)o->time_ms)
        *end = DG_TRAINER_TIME;
    else if (o->patience && t->now.n_worse >= o->patience)
        *end = DG_TRAINER_PATIENCE;
    else if (events->should_stop && events->should_stop(ctx))
        *end = DG_TRAINER_STOPPED;
    else
        return false;
    return true;
}

/* Makes steps until a limit is reached. `*validated`: the last step was validated. */
static enum dg_err go_on(struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                         enum dg_trainer_end *end, bool *validated, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    while (!err && !is_over(t, events, ctx, end)) {
        err = take_step(t, error);
        const struct dg_trainer_now now = dg_trainer_now_of(t);
        if (!err && events->on_step)
            events->on_step(ctx, &now);
        if (!err && t->opts.log_every && t->now.step % t->opts.log_every == 0)
            err = end_window(t, events, ctx, error);
        *validated = false;
        if (!err && t->opts.valid_every && t->data.dev->n &&
            t->now.step % t->opts.valid_every == 0) {
            err = validate(t, events, ctx, error);
            *validated = true;
        }
        if (!err && dg_clock_now(&t->clock) - t->saved_ns >= t->opts.save_ms * DG_CLOCK_MS)
            err = dg_trainer_save(t, events, ctx, error);
    }
    return err;
}

enum dg_err dg_trainer_run(struct dg_trainer *t, const struct dg_trainer_events *events, void *ctx,
                           enum dg_trainer_end *end, struct dg_error *error)
{
    bool validated = true;
    t->started_ns = t->saved_ns = dg_clock_now(&t->clock);
    enum dg_err err = dg_trainer_open_log(t, error);
    if (!err)
        err = go_on(t, events, ctx, end, &validated, error);
    if (!err && !validated && *end != DG_TRAINER_STOPPED && t->data.dev->n)
        err = validate(t, events, ctx, error);
    /* There are no held-out pairs, or the run ended before the first validation: the present
     * weights are published. */
    if (!err && t->now.best_step == 0 && *end != DG_TRAINER_STOPPED) {
        if (!t->data.dev->n)
            err = take_snapshot(t, error);
        if (!err)
            err = publish(t, error);
    }
    return err ? err : dg_trainer_save(t, events, ctx, error);
}
