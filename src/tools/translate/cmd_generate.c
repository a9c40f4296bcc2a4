/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman generate: a language model continues a text. Standard input is one prompt, and its
 * continuation appears as it is generated. With --lines every line is a prompt, many prompts run at
 * once, and each gives a line of JSON. */
#include "base/json/json_out.h"
#include "base/memory/clock.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "engine/engine.h"
#include "engine/generate/generate.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/tools.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

struct generate {
    int help;
    const char *model;
    bool lines, special, sample, loop_guard;
    int64_t threads, max_tokens, min_tokens, prompt_max, beam, nbest, top_k, seed, no_repeat_ngram;
    double temperature, top_p, repetition_penalty, length_penalty;
    struct dg_opt_list stop;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct generate, help),
    {DG_OPT_PATH(struct generate, model), "model", .letter = 'm', .flags = DG_OPT_REQUIRED,
     .help = "the directory of a language model"},
    {DG_OPT_BOOL(struct generate, lines), "lines", .def = "no",
     .help = "every line of standard input is a prompt; one line of JSON for each"},
    {DG_OPT_INT_IN(struct generate, max_tokens, 0, DG_TARGET_MAX), "max-tokens", .letter = 't',
     .def = "128", .help = "most tokens of an answer"},
    {DG_OPT_INT_IN(struct generate, min_tokens, 0, DG_TARGET_MAX), "min-tokens", .def = "0",
     .help = "least tokens of an answer"},
    {DG_OPT_INT_IN(struct generate, prompt_max, 8, 131072), "prompt-max", .def = "4096",
     .help = "most tokens of a prompt"},
    {DG_OPT_STRINGS(struct generate, stop), "stop", .unit = "TEXT", .def = "",
     .help = "end an answer before this text; may be given several times"},
    {DG_OPT_BOOL(struct generate, special), "special-tokens", .def = "no",
     .help = "read the names of special tokens in prompts as these tokens"},
    {DG_OPT_INT_IN(struct generate, threads, 0, 256), "threads", .def = "0",
     .help = "workers; 0: one for each core"},
    {DG_OPT_INT_IN(struct generate, beam, 1, DG_BEAM_MAX), "beam", .letter = 'b', .def = "1",
     .heading = "Search", .help = "hypotheses kept; 1 is greedy search"},
    {DG_OPT_INT_IN(struct generate, nbest, 1, DG_BEAM_MAX), "nbest", .letter = 'n', .def = "1",
     .help = "answers to each prompt, with --lines; at most the beam, or that many draws"},
    {DG_OPT_BOOL(struct generate, sample), "sample", .def = "no",
     .help = "draw words instead of searching"},
    {DG_OPT_REAL_IN(struct generate, temperature, 0.001, 100), "temperature", .def = "1",
     .help = "above 1 more varied draws, below 1 safer ones"},
    {DG_OPT_INT_IN(struct generate, top_k, 0, DG_TOP_K_MAX), "top-k", .def = "0",
     .help = "draw among the k likeliest words; 0: all"},
    {DG_OPT_REAL_IN(struct generate, top_p, 0.00001, 1), "top-p", .def = "1",
     .help = "draw among the likeliest words that hold this mass"},
    {DG_OPT_INT_IN(struct generate, seed, 0, INT64_MAX), "seed", .def = "0",
     .help = "same seed, same draws"},
    {DG_OPT_REAL_IN(struct generate, length_penalty, 0, 10), "length-penalty", .def = "1",
     .help = "score is log-probability divided by length to this power"},
    {DG_OPT_REAL_IN(struct generate, repetition_penalty, 1, 10), "repetition-penalty", .def = "1",
     .help = "lowers the score of words that already occurred"},
    {DG_OPT_INT_IN(struct generate, no_repeat_ngram, 0, 16), "no-repeat-ngram", .def = "0",
     .help = "no n words twice in the same order; 0: allowed"},
    {DG_OPT_BOOL(struct generate, loop_guard), "loop-guard", .def = "no",
     .help = "stop and repair answers that go in circles"},
};

static const struct dg_opt_table table = {
    .program = "dragoman generate",
    .summary = "Has a language model continue standard input.",
    DG_OPT_ROWS(rows, struct generate),
};

enum { WINDOW = 32, LINE_MAX_BYTES = 64 << 20 };

/* One prompt that is being continued. With --lines the prompts are in a ring, and finished ones are
 * printed in order. */
struct item {
    struct work *work;
    struct dg_buf line; /* the finished line */
    bool is_done;
};

struct work {
    const struct generate *flags;
    struct dg_engine *engine;
    struct dg_generate ask;
    struct dg_span stops[DG_GENERATE_STOPS_MAX];
    sem_t woken;
    struct item items[WINDOW];
    uint64_t n_begun, n_printed, n_tokens_in, n_tokens_out;
    enum dg_err err;
    struct dg_error error;
};

static void wake(void *arg)
{
    sem_post(arg);
}

/* Waits until the engine has news, or for a moment. */
static void wait_a_moment(struct work *work)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (sem_timedwait(&work->woken, &until) != 0 && errno == EINTR)
        continue;
    dg_engine_poll(work->engine);
}

static void fail(struct work *work, enum dg_err err, const char *error)
{
    if (!work->err)
        work->err = dg_error_set(&work->error, err, "%s", error ? error : dg_err_sentence(err));
}

/* ---- Answers --------------------------------------------------------------------------------- */

static enum dg_err print(struct dg_span text)
{
    return fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0 ? DG_OK
                                                                                    : DG_ERR_IO;
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct item *item = ctx;
    if (print(text))
        fail(item->work, DG_ERR_IO, "standard output could not be written");
}

static enum dg_err put_json(struct dg_buf *line, const struct dg_generated *result)
{
    struct dg_json_out out;
    dg_json_out_init(&out, line);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", result->text);
    if (result->n_others) {
        dg_json_out_put_open(&out, "others", '[');
        for (size_t i = 0; i < result->n_others; i++)
            dg_json_out_string(&out, result->others[i]);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_put_cstr(&out, "finish",
                         result->was_stopped ? "stop" : dg_finish_name(result->finish));
    dg_json_out_put_real(&out, "logprob", result->logprob, 8);
    dg_json_out_put_uint(&out, "input_tokens", result->n_tokens_in);
    dg_json_out_put_uint(&out, "output_tokens", result->n_tokens_out);
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(line, '\n');
}

static void on_generation_done(void *ctx, const struct dg_generated *result)
{
    struct item *item = ctx;
    struct work *work = item->work;
    item->is_done = true;
    work->n_tokens_in += result->n_tokens_in;
    work->n_tokens_out += result->n_tokens_out;
    if (result->err)
        fail(work, result->err, result->error);
    else if (work->flags->lines && put_json(&item->line, result))
        fail(work, DG_ERR_NOMEM, NULL);
}

static const struct dg_generate_events shown = {.on_delta = on_delta,
                                                .on_done = on_generation_done};
static const struct dg_generate_events whole = {.on_done = on_generation_done};

/* ---- Prompts --------------------------------------------------------------------------------- */

static void print_finished(struct work *work)
{
    for (struct item *item; work->n_printed < work->n_begun &&
                            (item = &work->items[work->n_printed % WINDOW])->is_done;
         work->n_printed++) {
        if (!work->err && item->line.len && print(dg_buf_span(&item->line)))
            fail(work, DG_ERR_IO, "standard output could not be written");
        dg_buf_clear(&item->line);
    }
}

/* Gives a prompt to the engine, waiting for room. */
static enum dg_err begin(struct work *work, struct dg_span prompt, struct dg_error *error)
{
    while (work->n_begun - work->n_printed == WINDOW) {
        wait_a_moment(work);
        print_finished(work);
    }
    struct item *item = &work->items[work->n_begun % WINDOW];
    item->work = work;
    item->is_done = false;
    work->ask.prompt = prompt;
    enum dg_err err;
    while ((err = dg_engine_generate(work->engine, &work->ask, work->flags->lines ? &whole : &shown,
                                     item, error, NULL, NULL)) == DG_ERR_BUSY)
        wait_a_moment(work);
    work->n_begun += !err;
    return err;
}

static enum dg_err feed(struct work *work, struct dg_lines *lines, struct dg_error *error)
{
    struct dg_span text;
    if (!work->flags->lines) {
        enum dg_err err = dg_lines_all(lines, &text, error);
        /* the line end that echo adds does not belong to the prompt */
        if (!err && text.len && text.ptr[text.len - 1] == '\n')
            text.len--;
        return err ? err : begin(work, text, error);
    }
    for (;;) {
        enum dg_err err = dg_lines_next(lines, &text, error);
        if (err || !text.ptr || work->err)
            return err;
        if ((err = begin(work, text, error)))
            return dg_lines_refuse(lines, err, error);
    }
}

static enum dg_err run_all(struct work *work, struct dg_error *error)
{
    struct dg_lines lines;
    dg_lines_init(&lines);
    enum dg_err err = feed(work, &lines, error);
    while (work->n_printed < work->n_begun) {
        wait_a_moment(work);
        print_finished(work);
    }
    dg_lines_deinit(&lines);
    if (!err && work->err) {
        *error = work->error;
        err = work->err;
    }
    if (!err && !work->flags->lines)
        err = print(DG_SPAN("\n"));
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err read_flags(struct work *work, struct dg_error *error)
{
    const struct generate *flags = work->flags;
    struct dg_search_opts *search = &work->ask.search;
    work->ask = (struct dg_generate)DG_GENERATE_DEFAULT;
    work->ask.model = "model";
    search->max_len = (int)flags->max_tokens;
    search->min_len = (int)flags->min_tokens;
    search->beam = (int)flags->beam;
    search->n_best = (int)flags->nbest;
    search->sample = flags->sample;
    search->temperature = (float)flags->temperature;
    search->top_k = (int)flags->top_k;
    search->top_p = (float)flags->top_p;
    search->seed = (uint64_t)flags->seed;
    search->length_penalty = (float)flags->length_penalty;
    search->repetition_penalty = (float)flags->repetition_penalty;
    search->no_repeat_ngram = (int)flags->no_repeat_ngram;
    search->loop_guard = flags->loop_guard;
    work->ask.reads_special = flags->special;
    if (flags->nbest > 1 && !flags->lines)
        return dg_error_set(error, DG_ERR_USAGE, "--nbest can only be used with --lines");
    if (flags->stop.n > DG_GENERATE_STOPS_MAX)
        return dg_error_set(error, DG_ERR_USAGE, "read --stop %zu times, expected at most %d",
                            flags->stop.n, DG_GENERATE_STOPS_MAX);
    for (size_t i = 0; i < flags->stop.n; i++)
        work->stops[i] = dg_span_cstr(flags->stop.items[i]);
    work->ask.stops = work->stops;
    work->ask.n_stops = flags->stop.n;
    return DG_OK;
}

static void print_summary(const struct work *work, uint64_t ns)
{
    const double seconds = (double)ns / 1e9;
    fprintf(stderr,
            "dragoman generate: %" PRIu64 " prompts, %" PRIu64 " tokens in, %" PRIu64
            " out, %.2f s, %.1f tokens/s\n",
            work->n_printed, work->n_tokens_in, work->n_tokens_out, seconds,
            seconds > 0 ? (double)work->n_tokens_out / seconds : 0.0);
}

static enum dg_err run_generate(const struct dg_opt_set *set, struct dg_error *error)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    struct work *work = dg_xcalloc(1, sizeof *work);
    const struct generate *flags = work->flags = dg_opt_values(set);
    sem_init(&work->woken, 0, 0);
    for (size_t i = 0; i < WINDOW; i++)
        dg_buf_init(&work->items[i].line, LINE_MAX_BYTES);
    const struct dg_engine_opts opts = {
        .n_threads = (size_t)flags->threads,
        .slots = flags->lines ? WINDOW : 1,
        .rows =
            (size_t)((flags->lines ? WINDOW : 1) * (flags->sample ? flags->nbest : flags->beam)),
        .target_max = (size_t)(flags->max_tokens ? flags->max_tokens : 1),
        .prompt_max = (size_t)flags->prompt_max,
        .wake = wake,
        .wake_arg = &work->woken};
    enum dg_err err = read_flags(work, error);
    if (!err)
        err = dg_engine_new(&opts, error, &work->engine);
    if (!err)
        err = dg_engine_load(work->engine, "model", flags->model, NULL, NULL, error);
    const uint64_t began = dg_clock_now(&clock);
    if (!err)
        err = run_all(work, error);
    if (err == DG_ERR_UNSUPPORTED)
        dg_error_wrap(error, err, "%s", flags->model);
    if (!err)
        print_summary(work, dg_clock_now(&clock) - began);
    dg_engine_free(work->engine);
    for (size_t i = 0; i < WINDOW; i++)
        dg_buf_deinit(&work->items[i].line);
    sem_destroy(&work->woken);
    dg_free(work);
    return err;
}

int dg_cmd_generate(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_generate);
}
