/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman classify, fill, tag, answer, embed: read each line of standard input with a model for
 * that task. All five work in the same way: lines go to the engine like requests of the daemon,
 * many at once, and are answered in order. Two texts of a line (a pair, a question and its context)
 * have a tab between them. */
#include "base/json/json_out.h"
#include "base/memory/list.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "engine/read/reading_json.h"
#include "tools/command.h"
#include "tools/line_pipe.h"
#include "tools/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 256, MODEL_TOKENS = 1 << 16 };

struct flags {
    int help, format, pooling;
    const char *model;
    int64_t count, threads, max_tokens;
    double threshold;
    bool normalize, pairs, characters;
};

static const char *const formats[] = {"text", "json", NULL};
static const char *const poolings[] = {"mean", "cls", NULL};

#define ROW_HELP DG_OPT_HELP(struct flags, help)
#define ROW_MODEL(what)                                                                            \
    {                                                                                              \
        DG_OPT_PATH(struct flags, model), "model", .letter = 'm', .flags = DG_OPT_COMMAND_LINE,    \
                                                   .unit = "DIR", .help = what                     \
    }
#define ROW_COUNT(most, usual, what)                                                               \
    {                                                                                              \
        DG_OPT_INT(struct flags, count), "count", .letter = 'n', .min = 1, .max = most,            \
                                                  .def = usual, .help = what                       \
    }
#define ROW_THREADS                                                                                \
    {                                                                                              \
        DG_OPT_INT(struct flags, threads), "threads", .def = "0", .min = 0, .max = 256,            \
                                                      .help = "workers; 0: one for each core"      \
    }
#define ROW_CHARACTERS                                                                             \
    {                                                                                              \
        DG_OPT_BOOL(struct flags, characters), "characters",                                       \
            .def = "no", .help = "print places in characters, not in bytes"                        \
    }

static const struct dg_opt_row classify_rows[] = {
    ROW_MODEL("an encoder with labels, or a model made by dragoman train --task classify"),
    {DG_OPT_INT_IN(struct flags, count, 0, DG_READING_RESULT_LABELS_MAX), "count", .letter = 'n',
     .def = "0",
     .help = "most labels printed for a line, the likeliest first; 0: one, or all that reach the "
             "threshold where there is one"},
    {DG_OPT_REAL_IN(struct flags, threshold, 0, 1), "threshold", .def = "0",
     .help = "print the labels that are at least so likely; 0: any, but where each label is right "
             "or wrong by itself 0.5 (unless "
             "--count says how many)"},
    {DG_OPT_BOOL(struct flags, pairs), "pairs", .def = "no",
     .help = "a line has two texts, with a tab between them"},
    {DG_OPT_ENUM(struct flags, format), "format", .words = formats, .def = "text",
     .help = "how to print"},
    ROW_THREADS,
    ROW_HELP,
};
static const struct dg_opt_row fill_rows[] = {
    ROW_MODEL("an encoder with a head for masked words"),
    ROW_COUNT(DG_READING_RESULT_BEST_MAX, "5", "words for each place, the likeliest first"),
    ROW_CHARACTERS,
    ROW_THREADS,
    ROW_HELP,
};
static const struct dg_opt_row tag_rows[] = {
    ROW_MODEL("an encoder with labels of tokens, or one that detects replaced words"),
    {DG_OPT_REAL_IN(struct flags, threshold, 0, 1), "threshold", .def = "0",
     .help = "leave out what is less likely"},
    ROW_CHARACTERS,
    ROW_THREADS,
    ROW_HELP,
};
static const struct dg_opt_row answer_rows[] = {
    ROW_MODEL("an encoder with a head for answers"),
    ROW_COUNT(DG_READING_RESULT_ANSWERS_MAX, "1", "answers to a question, the best first"),
    {DG_OPT_INT_IN(struct flags, max_tokens, 1, DG_ANSWER_LEN_MAX), "max-tokens", .letter = 't',
     .def = "30", .help = "most tokens of an answer"},
    ROW_CHARACTERS,
    ROW_THREADS,
    ROW_HELP,
};
static const struct dg_opt_row embed_rows[] = {
    ROW_MODEL("an encoder"),
    {DG_OPT_ENUM(struct flags, pooling), "pooling", .words = poolings, .def = "mean",
     .help = "the mean of all tokens, or the first one's"},
    {DG_OPT_BOOL(struct flags, normalize), "normalize", .def = "yes",
     .help = "divide each vector by its length"},
    ROW_THREADS,
    ROW_HELP,
};

#define TABLE(name, said)                                                                          \
    {                                                                                              \
        .program = "dragoman " #name, .summary = said, .rows = name##_rows,                        \
        .n_rows = DG_OPT_COUNT(name##_rows), .size = sizeof(struct flags)                          \
    }

static const struct dg_opt_table tables[DG_N_TASKS] = {
    [DG_TASK_FILL] = TABLE(fill, "Says which words could stand in place of [MASK] (or <mask>) in "
                                 "each line of standard input."),
    [DG_TASK_CLASSIFY] = TABLE(classify, "Says which label each line of standard input has."),
    [DG_TASK_TAG] = TABLE(tag, "Says which entities each line of standard input names, and where."),
    [DG_TASK_ANSWER] =
        TABLE(answer, "Finds the answer to each line's question in the text behind its tab."),
    [DG_TASK_EMBED] = TABLE(embed, "Prints a vector for each line of standard input."),
};

struct work {
    enum dg_read_task task;
    const struct flags *flags;
    size_t n_best; /* --count and --threshold, in the form that this model needs */
    float threshold;
    struct dg_engine *engine;
    struct dg_list items; /* items that are being worked on */
    uint64_t n_lines, n_cut, n_tokens;
    enum dg_err err;
    struct dg_error error;
};

/* A line that is being worked on; the engine calls back with it. */
struct item {
    struct dg_list link;
    struct work *work;
    struct line *line;
    struct dg_engine_item texts;
    struct dg_json_out json; /* the JSON of the line while it is written */
};

/* ---- Answers --------------------------------------------------------------------------------- */

static enum dg_err print_labels(const struct dg_reading_result *said, bool as_json,
                                struct dg_buf *out)
{
    struct dg_json_out json;
    enum dg_err err = DG_OK;
    if (!as_json) {
        for (size_t i = 0; i < said->n_labels && !err; i++)
            err = dg_buf_printf(out, "%s%.*s\t%.4f", i ? "\t" : "",
                                DG_SPAN_FMT(said->labels[i].name), (double)said->labels[i].score);
        return err;
    }
    dg_json_out_init(&json, out);
    dg_json_out_open(&json, '[');
    for (size_t i = 0; i < said->n_labels; i++) {
        dg_json_out_open(&json, '{');
        dg_json_out_put_string(&json, "label", said->labels[i].name);
        dg_json_out_put_real(&json, "probability", (double)said->labels[i].score, 6);
        dg_json_out_close(&json, '}');
    }
    dg_json_out_close(&json, ']');
    return dg_json_out_end(&json);
}

static void on_said(void *ctx, size_t index, const struct dg_reading_result *said)
{
    struct item *item = ctx;
    struct work *work = item->work;
    enum dg_err err = DG_OK;
    (void)index;
    if (said->n_before == 0)
        work->n_cut += said->was_cut;
    if (work->task == DG_TASK_CLASSIFY) {
        err = print_labels(said, work->flags->format == 1, &item->line->out);
    } else {
        if (said->n_before == 0)
            dg_json_out_init(&item->json, &item->line->out);
        dg_reading_json(&item->json, work->task, &item->texts, said, work->flags->characters);
        if (!said->has_more)
            err = dg_json_out_end(&item->json);
    }
    if (err && !work->err)
        work->err = dg_error_set(&work->error, err, "line %zu: %s", item->line->number,
                                 dg_err_sentence(err));
}

static void free_item(struct item *item)
{
    dg_list_unlink(&item->link);
    dg_free(item);
}

static void on_reading_done(void *ctx, const struct dg_engine_read_result *result)
{
    struct item *item = ctx;
    struct work *work = item->work;
    item->line->is_done = true;
    work->n_lines++;
    work->n_tokens += result->n_tokens;
    if (result->err && !work->err)
        work->err = dg_error_set(&work->error, result->err, "line %zu: %s", item->line->number,
                                 result->error ? result->error : dg_err_sentence(result->err));
    free_item(item);
}

static const struct dg_engine_read_events events = {on_said, on_reading_done};

/* ---- Requests -------------------------------------------------------------------------------- */

/* Splits a line into its one or two texts. */
static enum dg_err divide(const struct work *work, const struct line *line,
                          struct dg_engine_item *texts, struct dg_error *error)
{
    const struct dg_span whole = dg_span_make(line->text, line->len);
    const bool has_pair =
        work->task == DG_TASK_ANSWER || (work->task == DG_TASK_CLASSIFY && work->flags->pairs);
    *texts = (struct dg_engine_item){.text = whole, .has_pair = has_pair};
    if (!has_pair)
        return DG_OK;
    const char *tab = whole.len ? memchr(whole.ptr, '\t', whole.len) : NULL;
    if (!tab)
        return dg_error_set(error, DG_ERR_FORMAT, "line %zu has no tab: expected %s", line->number,
                            work->task == DG_TASK_ANSWER ? "a question, a tab and a text"
                                                         : "two texts with a tab between them");
    const size_t at = (size_t)(tab - whole.ptr);
    texts->text = dg_span_sub(whole, 0, at);
    texts->pair = dg_span_sub(whole, at + 1, whole.len);
    return DG_OK;
}

static enum dg_err begin(void *ctx, struct line *line)
{
    struct work *work = ctx;
    const struct flags *flags = work->flags;
    struct dg_error error = DG_ERROR_NONE;
    struct item *item = dg_try_calloc(1, sizeof *item);
    if (work->err || !item) {
        dg_free(item);
        return work->err ? work->err : DG_ERR_NOMEM;
    }
    *item = (struct item){.work = work, .line = line};
    dg_list_link_last(&work->items, &item->link);
    const struct dg_engine_read ask = {.task = work->task,
                                       .model = "model",
                                       .items = &item->texts,
                                       .n_items = 1,
                                       .n_best = work->n_best,
                                       .threshold = work->threshold,
                                       .answer_len = (size_t)flags->max_tokens,
                                       .first = flags->pooling == 1,
                                       .as_it_is = !flags->normalize,
                                       .priority = DG_PRIORITY_NORMAL};
    enum dg_err err = divide(work, line, &item->texts, &error);
    if (!err)
        err = dg_engine_read(work->engine, &ask, &events, item, &error, NULL, NULL);
    if (!err)
        return DG_OK;
    free_item(item);
    if (err != DG_ERR_BUSY && !work->err)
        work->err = dg_error_set(&work->error, err, "line %zu: %s", line->number,
                                 dg_error_text(&error, err));
    return err;
}

/* Chooses how many labels are printed if the user does not say: one, or those that are more likely
 * right than wrong. */
static void choose_labels(struct work *work, const struct dg_engine_model_info *info)
{
    const bool gives_any =
        work->task == DG_TASK_CLASSIFY && info->labels && strcmp(info->labels, "any") == 0;
    work->n_best = (size_t)work->flags->count;
    work->threshold = (float)work->flags->threshold;
    if (work->task != DG_TASK_CLASSIFY || work->n_best || work->threshold > 0.0f)
        return;
    if (gives_any)
        work->threshold = 0.5f;
    else
        work->n_best = 1;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err run_read(enum dg_read_task task, const struct dg_opt_set *set,
                            struct dg_error *error)
{
    struct work work = {.task = task, .flags = dg_opt_values(set)};
    struct line_pipe pipe = {.start = begin, .ctx = &work, .window = WINDOW};
    if (!work.flags->model || !*work.flags->model)
        return dg_error_set(error, DG_ERR_USAGE, "expected --model DIR");
    dg_list_init(&work.items);
    line_pipe_init(&pipe);
    const struct dg_engine_opts opts = {.n_threads = (size_t)work.flags->threads,
                                        .prompt_max = MODEL_TOKENS,
                                        .wake = line_pipe_wake,
                                        .wake_arg = &pipe};
    enum dg_err err = dg_engine_new(&opts, error, &work.engine);
    if (!err)
        err = dg_engine_load(work.engine, "model", work.flags->model, NULL, NULL, error);
    if (!err && !(dg_engine_model_info(work.engine, 0).can & 1u << task))
        err = dg_error_set(error, DG_ERR_INVALID, "%s cannot %s: expected a %s", work.flags->model,
                           dg_read_task_name(task),
                           task == DG_TASK_CLASSIFY ? "classifier" : "model for that");
    if (!err) {
        const struct dg_engine_model_info info = dg_engine_model_info(work.engine, 0);
        choose_labels(&work, &info);
        pipe.engine = work.engine;
        err = line_pipe_run(&pipe, error);
    }
    if (work.err) {
        err = work.err;
        *error = work.error;
    }
    dg_engine_free(work.engine);
    while (!dg_list_is_empty(&work.items)) /* nobody will report that these have ended */
        free_item(DG_LIST_ITEM(work.items.next, struct item, link));
    line_pipe_deinit(&pipe);
    if (!err)
        fprintf(stderr, "%s: lines=%" PRIu64 " cut_short=%" PRIu64 " tokens=%" PRIu64 "\n",
                dg_read_task_name(task), work.n_lines, work.n_cut, work.n_tokens);
    return err;
}

#define COMMAND(name, task)                                                                        \
    static enum dg_err run_##name(const struct dg_opt_set *set, struct dg_error *error)            \
    {                                                                                              \
        return run_read(task, set, error);                                                         \
    }                                                                                              \
    int dg_cmd_##name(int argc, char **argv)                                                       \
    {                                                                                              \
        return dg_command(&tables[task], argc, argv, run_##name);                                  \
    }

COMMAND(fill, DG_TASK_FILL)
COMMAND(classify, DG_TASK_CLASSIFY)
COMMAND(tag, DG_TASK_TAG)
COMMAND(answer, DG_TASK_ANSWER)
COMMAND(embed, DG_TASK_EMBED)
