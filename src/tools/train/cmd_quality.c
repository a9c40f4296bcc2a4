/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman quality: does all the work for a quality estimator. With --rows it makes the training
 * data: translations of pairs, each with its chrF against the reference. With --fit it finds the
 * curve from the trained network's number to the expected chrF, and puts it into the model's
 * directory. With --test it says how well this curve, and how well the translating model's own
 * log-probability, predicts the chrF of other rows. Otherwise it estimates the quality of
 * translations.
 *
 * Each line is taken unchanged, as one sentence, and answered in order (line_pipe.h). The
 * log-probability is the mean over the translation's tokens that the translating model gives. For
 * translations that are read from a file it is in the fourth column, or --translator computes it
 * (engine/read/scoring.h). */
#include "base/memory/list.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "engine/scoring.h"
#include "model/calibration.h"
#include "text/score/correlation.h"
#include "text/score/metric.h"
#include "tools/command.h"
#include "tools/line_pipe.h"
#include "tools/search_flags.h"
#include "tools/tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 256, MODEL_TOKENS = 1 << 16, PARTS = 10, COLUMNS = 4 };

struct flags {
    int help;
    const char *model, *translator, *source, *target, *judges;
    bool rows, fit, test, logprob;
    int64_t wrong, threads;
    struct search_flags search;
};

static const struct dg_opt_row option_rows[] = {
    DG_OPT_HELP(struct flags, help),
    {DG_OPT_PATH(struct flags, model), "model", .letter = 'm', .unit = "DIR",
     .help = "the estimator: an encoder that gives one number for two texts"},
    {DG_OPT_PATH(struct flags, translator), "translator", .unit = "DIR",
     .help = "the translating model, for --rows, and for log-probabilities that are in no column"},
    {DG_OPT_STRING(struct flags, source), "from", .alias = "source", .unit = "TAG",
     .help = "language of the source, where that has to be told"},
    {DG_OPT_STRING(struct flags, target), "to", .alias = "target", .unit = "TAG",
     .help = "language of the target, where that has to be told"},
    {DG_OPT_BOOL(struct flags, rows), "rows", .def = "no",
     .help = "make rows: translate the first column and compare with the second"},
    {DG_OPT_INT_IN(struct flags, wrong, 0, 100), "wrong", .def = "0", .unit = "PERCENT",
     .help = "with --rows: this many lines in a hundred get the previous line's reference as their "
             "translation"},
    {DG_OPT_BOOL(struct flags, fit), "fit", .def = "no",
     .help = "fit the curve to rows, and write quality.json into the estimator's directory"},
    {DG_OPT_BOOL(struct flags, logprob), "logprob", .def = "yes",
     .help = "with --fit: let the log-probability count, where it is known"},
    {DG_OPT_STRING(struct flags, judges), "judges", .def = "", .max = DG_JUDGES_MAX,
     .unit = "MODELS",
     .help =
         "with --fit: the models whose translations it judges in a server, with commas between"},
    {DG_OPT_BOOL(struct flags, test), "test", .def = "no",
     .help = "measure how well it predicts the third column"},
    {DG_OPT_INT_IN(struct flags, threads, 0, 256), "threads", .letter = 't', .def = "0",
     .help = "workers; 0: one for each core"},
    SEARCH_FLAGS(struct flags, search),
};

static const struct dg_opt_table table = {
    .program = "dragoman quality",
    .summary = "Says how good translations are (lines 'source<TAB>translation' from stdin); makes "
               "and calibrates the estimators for that.",
    DG_OPT_ROWS(option_rows, struct flags),
};

/* The results for a row. */
struct known {
    double raw, logprob, is;
};

struct work {
    const struct flags *flags;
    struct dg_engine *engine;
    struct dg_scoring *scoring; /* NULL: not needed */
    struct dg_metric *metric;
    struct dg_search_opts search;
    struct dg_search_usual usual;
    struct dg_calibration calibration;
    bool keeps;           /* for --fit and --test */
    struct dg_list items; /* items that are being worked on */
    struct known *known;  /* owned; [n] in the order of the lines */
    size_t n, cap;
    bool lacks_logprob;   /* some row has no log-probability */
    struct dg_buf before; /* for --wrong: the reference of the previous line */
    bool has_before;
    uint64_t n_lines;
    double sum; /* the sum of the predictions, or with --rows of the true values */
    enum dg_err err;
    struct dg_error error;
};

/* A line that is being worked on. */
struct item {
    struct dg_list link;
    struct work *work;
    struct line *line;
    size_t row;                      /* the index in `known` */
    struct dg_span columns[COLUMNS]; /* [n_columns] of the line */
    size_t n_columns;
    double logprob;
    bool has_logprob;
};

static void fail(struct work *work, const struct line *line, enum dg_err err,
                 const struct dg_error *error)
{
    if (!work->err)
        work->err = dg_error_set(&work->error, err, "line %zu: %s", line->number,
                                 dg_error_text(error, err));
}

static void free_item(struct item *item)
{
    dg_list_unlink(&item->link);
    dg_free(item);
}

static void finish(struct item *item, enum dg_err err)
{
    if (err)
        fail(item->work, item->line, err, NULL);
    item->work->n_lines++;
    item->line->is_done = true;
    free_item(item);
}

/* ---- Judging --------------------------------------------------------------------------------- */

static void on_said(void *ctx, size_t index, const struct dg_reading_result *said)
{
    struct item *item = ctx;
    struct work *work = item->work;
    const double raw = said->n_labels ? (double)said->labels[0].score : 0;
    (void)index;
    if (work->keeps) {
        work->known[item->row].raw = raw;
        return;
    }
    const double quality = dg_calibration_apply(&work->calibration, raw, item->logprob);
    work->sum += quality;
    const enum dg_err err = dg_buf_printf(&item->line->out, "%.4f", quality);
    if (err)
        fail(work, item->line, err, NULL);
}

static void on_read(void *ctx, const struct dg_engine_read_result *result)
{
    struct item *item = ctx;
    struct dg_error error = DG_ERROR_NONE;
    if (result->err) {
        dg_error_set(&error, result->err, "%s",
                     result->error ? result->error : dg_err_sentence(result->err));
        fail(item->work, item->line, result->err, &error);
    }
    finish(item, DG_OK);
}

static const struct dg_engine_read_events read_events = {on_said, on_read};

/* Reads a number from a column. */
static enum dg_err read_number(const struct item *item, size_t column, const char *what, double min,
                               double max, struct dg_error *error, double *out)
{
    char text[64], *end;
    const struct dg_span field = item->columns[column];
    snprintf(text, sizeof text, "%.*s",
             (int)(field.len < sizeof text ? field.len : sizeof text - 1),
             field.ptr ? field.ptr : "");
    const double value = strtod(text, &end);
    if (field.len == 0 || field.len >= sizeof text || *end || !(value >= min && value <= max))
        return dg_error_set(error, DG_ERR_FORMAT, "column %zu: read '%s', expected %s", column + 1,
                            text, what);
    *out = value;
    return DG_OK;
}

/* Reads the log-probability of the translation from the line, or asks the model. */
static enum dg_err find_logprob(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    struct dg_score score;
    enum dg_err err = DG_OK;
    if (item->n_columns > 3 && work->keeps) {
        err =
            read_number(item, 3, "a log-probability, 0 or less", -1e9, 1e-3, error, &item->logprob);
        item->has_logprob = !err;
    } else if (work->scoring) {
        err = dg_scoring_run(work->scoring, item->columns[0], item->columns[1], &score, error);
        if (!err && score.n_target)
            item->logprob = score.logprob / (double)score.n_target;
        item->has_logprob = !err;
    }
    return err;
}

/* Makes room for the results of the next row. */
static enum dg_err keep_row(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    struct known known = {.logprob = item->logprob};
    enum dg_err err = item->n_columns > 2
                          ? read_number(item, 2, "a quality from 0 to 1", 0, 1, error, &known.is)
                          : dg_error_set(error, DG_ERR_FORMAT,
                                         "there are %zu columns, expected source<TAB>translation"
                                         "<TAB>quality, and maybe <TAB>log-probability",
                                         item->n_columns);
    if (err)
        return err;
    if (DG_GROW(work->known, work->n, work->cap, 1024))
        return DG_ERR_NOMEM;
    item->row = work->n;
    work->known[work->n++] = known;
    work->lacks_logprob |= !item->has_logprob;
    return DG_OK;
}

static enum dg_err judge(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    const struct dg_engine_item texts = {
        .text = item->columns[0], .pair = item->columns[1], .has_pair = true};
    const struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY,
                                       .model = "estimator",
                                       .items = &texts,
                                       .n_items = 1,
                                       .priority = DG_PRIORITY_NORMAL,
                                       .waits = true};
    enum dg_err err = find_logprob(item, error);
    if (!err && work->keeps)
        err = keep_row(item, error);
    return err ? err : dg_engine_read(work->engine, &ask, &read_events, item, error, NULL, NULL);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Whether line `number` gets the reference of the line before: such lines are evenly spread, and
 * the same every time. */
static bool is_wrong(const struct work *work, size_t number)
{
    const uint64_t part = (uint64_t)work->flags->wrong, n = number;
    return work->has_before && n * part / 100 != (n - 1) * part / 100;
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct item *item = ctx;
    if (sentence->n_answers > 0 && sentence->answers[0].n_ids > 0) {
        item->logprob = sentence->answers[0].logprob / (double)sentence->answers[0].n_ids;
    }
}

/* Writes a field. A tab or a line end in a translation would begin another column. */
static enum dg_err put_field(struct dg_buf *out, struct dg_span text)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++)
        err = dg_buf_append_byte(
            out,
            text.ptr[i] == '\t' || text.ptr[i] == '\n' || text.ptr[i] == '\r' ? ' ' : text.ptr[i]);
    return err;
}

static enum dg_err put_row(struct item *item, struct dg_span text)
{
    struct work *work = item->work;
    struct dg_buf *out = &item->line->out;
    struct dg_chrf_stats stats;
    enum dg_err err = dg_chrf_count(work->metric, 0, text, item->columns[1], &stats);
    if (err)
        return err;
    const double is = dg_chrf_score(&stats, 0) / 100;
    work->sum += is;
    err = put_field(out, item->columns[0]);
    if (!err)
        err = dg_buf_append_byte(out, '\t');
    if (!err)
        err = put_field(out, text);
    if (!err)
        err = dg_buf_printf(out, "\t%.4f", is);
    /* 0 if there was nothing to translate */
    return err ? err : dg_buf_printf(out, "\t%.4f", item->logprob);
}

static void on_translated(void *ctx, const struct dg_engine_result *result)
{
    struct item *item = ctx;
    struct work *work = item->work;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = DG_OK;
    if (result->err) {
        dg_error_set(&error, result->err, "%s",
                     result->error ? result->error : dg_err_sentence(result->err));
        fail(work, item->line, result->err, &error);
    } else {
        err = put_row(item, result->text);
    }
    finish(item, err);
}

static const struct dg_engine_events translation_events = {NULL, on_sentence, on_translated};

/* Makes the row of a line that gets the reference of another line. */
static enum dg_err put_wrong(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    struct dg_score score;
    const struct dg_span text = dg_buf_span(&work->before);
    enum dg_err err = dg_scoring_run(work->scoring, item->columns[0], text, &score, error);
    if (!err) {
        item->logprob = score.n_target ? score.logprob / (double)score.n_target : 0;
        err = put_row(item, text);
    }
    if (!err)
        finish(item, DG_OK);
    return err;
}

static enum dg_err translate(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    request.text = item->columns[0];
    request.model = "translator";
    request.source = work->flags->source;
    request.target = work->flags->target;
    request.search = work->search;
    request.usual_beam = work->usual.beam;
    request.usual_length = work->usual.length_penalty;
    request.keep_lines_whole = true;
    return dg_engine_submit(work->engine, &request, &translation_events, item, error, NULL, NULL);
}

/* Handles a line of --rows. Lines are begun in their order. */
static enum dg_err make_row(struct item *item, struct dg_error *error)
{
    struct work *work = item->work;
    const struct line *line = item->line;
    /* borrowed from the line, which outlives the item */
    const struct dg_span reference = item->columns[1];
    enum dg_err err =
        is_wrong(work, item->line->number) ? put_wrong(item, error) : translate(item, error);
    if (err || !work->flags->wrong)
        return err;
    dg_buf_clear(&work->before);
    work->has_before = true;
    err = dg_buf_append_span(&work->before, reference);
    if (err) /* the line was begun already, so it reports the error itself */
        fail(work, line, err, NULL);
    return DG_OK;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void divide(struct item *item)
{
    struct dg_span rest = dg_span_make(item->line->text, item->line->len);
    while (item->n_columns < COLUMNS) {
        const char *tab = rest.len ? memchr(rest.ptr, '\t', rest.len) : NULL;
        const size_t n = tab ? (size_t)(tab - rest.ptr) : rest.len;
        item->columns[item->n_columns++] = dg_span_sub(rest, 0, n);
        if (!tab)
            return;
        rest = dg_span_sub(rest, n + 1, rest.len);
    }
}

static enum dg_err begin(void *ctx, struct line *line)
{
    struct work *work = ctx;
    struct dg_error error = DG_ERROR_NONE;
    struct item *item = dg_try_calloc(1, sizeof *item);
    if (work->err || !item) {
        dg_free(item);
        return work->err ? work->err : DG_ERR_NOMEM;
    }
    *item = (struct item){.work = work, .line = line};
    line->has_end = line->has_end && !work->keeps; /* in this case nothing is printed for a line */
    dg_list_link_last(&work->items, &item->link);
    divide(item);
    enum dg_err err =
        item->n_columns > 1
            ? DG_OK
            : dg_error_set(&error, DG_ERR_FORMAT, "there is no tab, expected source<TAB>%s",
                           work->flags->rows ? "reference" : "translation");
    if (!err)
        err = work->flags->rows ? make_row(item, &error) : judge(item, &error);
    if (!err)
        return DG_OK;
    free_item(item);
    if (err != DG_ERR_BUSY)
        fail(work, line, err, &error);
    return err;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Prints the correlations of one list with the true values. */
static enum dg_err print_correlation(const char *name, const double *said, const double *is,
                                     size_t n)
{
    double rho = 0;
    const enum dg_err err = dg_spearman(said, is, n, &rho);
    if (!err)
        printf("%-9s pearson=%.4f spearman=%.4f\n", name, dg_pearson(said, is, n), rho);
    return err;
}

/* Reports how well the rows' quality is predicted by the log-probability, by the estimator's
 * number, and by the curve. */
static enum dg_err report(const struct work *work, bool has_logprob)
{
    const size_t n = work->n;
    double *lists = dg_try_calloc(4 * n + 1, sizeof *lists);
    if (!lists)
        return DG_ERR_NOMEM;
    double *is = lists, *logprob = lists + n, *raw = lists + 2 * n, *said = lists + 3 * n;
    double off = 0, sum = 0, miss = 0;
    for (size_t i = 0; i < n; i++) {
        const struct known *row = &work->known[i];
        is[i] = row->is;
        logprob[i] = row->logprob;
        raw[i] = row->raw;
        said[i] = dg_calibration_apply(&work->calibration, row->raw, row->logprob);
        sum += is[i];
        miss += fabs(said[i] - is[i]);
    }
    enum dg_err err = has_logprob ? print_correlation("logprob", logprob, is, n) : DG_OK;
    if (!err)
        err = print_correlation("estimator", raw, is, n);
    if (!err)
        err = print_correlation("quality", said, is, n);
    if (!err)
        err = dg_calibration_error(said, is, n, PARTS, &off);
    if (!err && n)
        printf("rows=%zu mean=%.4f calibration_error=%.4f mean_miss=%.4f\n", n, sum / (double)n,
               off, miss / (double)n);
    dg_free(lists);
    return err;
}

static enum dg_err fit(struct work *work, bool has_logprob, struct dg_error *error)
{
    const struct flags *flags = work->flags;
    struct dg_calibration_row *rows = dg_try_calloc(work->n + 1, sizeof *rows);
    if (!rows)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < work->n; i++)
        rows[i] = (struct dg_calibration_row){work->known[i].raw, work->known[i].logprob,
                                              work->known[i].is};
    enum dg_err err =
        dg_calibration_fit(&work->calibration, rows, work->n, has_logprob && flags->logprob, error);
    dg_free(rows);
    if (!err && *flags->judges)
        snprintf(work->calibration.judges, sizeof work->calibration.judges, "%s", flags->judges);
    return err ? err : dg_calibration_save(&work->calibration, flags->model, error);
}

static enum dg_err conclude(struct work *work, struct dg_error *error)
{
    const bool has_logprob = work->n > 0 && !work->lacks_logprob;
    enum dg_err err = DG_OK;
    if (!work->keeps)
        return DG_OK;
    if (work->n == 0)
        return dg_error_set(error, DG_ERR_FORMAT, "there is no row");
    if (work->flags->fit)
        err = fit(work, has_logprob, error);
    else if (work->calibration.probability != 0 && !has_logprob)
        err = dg_error_set(
            error, DG_ERR_FORMAT,
            "the log-probability counts, and not every row has one: expected it in the fourth "
            "column, or --translator");
    return err ? err : report(work, has_logprob);
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err check_usage(const struct flags *flags, struct dg_error *error)
{
    if (flags->rows + flags->fit + flags->test > 1)
        return dg_error_set(error, DG_ERR_USAGE, "expected one of --rows, --fit, --test");
    if (flags->rows && !*flags->translator)
        return dg_error_set(error, DG_ERR_USAGE, "--rows: expected --translator DIR");
    if (!flags->rows && !*flags->model)
        return dg_error_set(error, DG_ERR_USAGE, "expected --model DIR, or --rows");
    if (flags->search.nbest > 1)
        return dg_error_set(error, DG_ERR_USAGE, "--nbest: expected 1; a row has one translation");
    return DG_OK;
}

static enum dg_err open_estimator(struct work *work, struct dg_error *error)
{
    const struct flags *flags = work->flags;
    enum dg_err err = dg_calibration_open(&work->calibration, flags->model, error);
    if (err == DG_ERR_NOT_FOUND && flags->fit)
        err = DG_OK;
    else if (err == DG_ERR_NOT_FOUND)
        err = dg_error_set(error, DG_ERR_INVALID, "%s has no quality.json: make it with --fit",
                           flags->model);
    if (!err)
        err = dg_engine_load(work->engine, "estimator", flags->model, NULL, NULL, error);
    if (!err && !(dg_engine_model_info(work->engine, 0).says_number))
        err =
            dg_error_set(error, DG_ERR_INVALID,
                         "%s is not an encoder that gives one number for two texts", flags->model);
    return err;
}

/* Opened last, because the parts of the engine that it uses must be closed first. */
static enum dg_err open_translator(struct work *work, struct dg_error *error)
{
    const struct flags *flags = work->flags;
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    if (!*flags->translator) {
        if (work->calibration.probability != 0 && !work->keeps)
            return dg_error_set(error, DG_ERR_USAGE,
                                "the log-probability counts for %s: expected --translator DIR",
                                flags->model);
        return DG_OK;
    }
    enum dg_err err =
        dg_engine_load(work->engine, "translator", flags->translator, NULL, NULL, error);
    request.model = "translator";
    request.source = flags->source;
    request.target = flags->target;
    if (!err && flags->rows && !flags->wrong)
        return dg_engine_can(work->engine, &request, error);
    return err ? err : dg_scoring_open(&work->scoring, work->engine, &request, error);
}

static enum dg_err run_quality(const struct dg_opt_set *set, struct dg_error *error)
{
    struct work work = {.flags = dg_opt_values(set)};
    const struct flags *flags = work.flags;
    struct line_pipe pipe = {.start = begin, .ctx = &work, .window = WINDOW};
    enum dg_err err = check_usage(flags, error);
    if (err)
        return err;
    work.search = search_flags_opts(&flags->search);
    work.usual = search_flags_usual(set);
    work.keeps = flags->fit || flags->test;
    err = dg_search_opts_check(&work.search, INT32_MAX, error);
    if (err)
        return DG_ERR_USAGE;
    dg_list_init(&work.items);
    dg_buf_init(&work.before, 1 << 26);
    line_pipe_init(&pipe);
    const struct dg_engine_opts opts = {.n_threads = (size_t)flags->threads,
                                        .rows = 32 * dg_search_width(&work.search),
                                        .prompt_max = MODEL_TOKENS,
                                        .wake = line_pipe_wake,
                                        .wake_arg = &pipe};
    err = dg_engine_new(&opts, error, &work.engine);
    if (!err && !(work.metric = dg_metric_new()))
        err = DG_ERR_NOMEM;
    if (!err && !flags->rows)
        err = open_estimator(&work, error);
    if (!err)
        err = open_translator(&work, error);
    pipe.engine = work.engine;
    if (!err)
        err = line_pipe_run(&pipe, error);
    if (work.err) {
        err = work.err;
        *error = work.error;
    }
    if (!err)
        err = conclude(&work, error);
    dg_scoring_close(work.scoring);
    dg_engine_free(work.engine);
    while (!dg_list_is_empty(&work.items)) /* nobody will report that these have ended */
        free_item(DG_LIST_ITEM(work.items.next, struct item, link));
    dg_metric_free(work.metric);
    dg_buf_deinit(&work.before);
    dg_free(work.known);
    line_pipe_deinit(&pipe);
    if (!err && !work.keeps)
        fprintf(stderr, "quality: lines=%" PRIu64 " mean=%.4f\n", work.n_lines,
                work.n_lines ? work.sum / (double)work.n_lines : 0);
    return err;
}

int dg_cmd_quality(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_quality);
}
