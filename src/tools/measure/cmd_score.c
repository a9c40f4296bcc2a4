/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman score: prints how probable given translations are to the model. It reads lines
 * `source<TAB>target` and prints one JSON object per line: token_logprobs, logprob (their sum),
 * score (normalised by length). */
#include "base/json/json_out.h"
#include "base/log/progress.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "base/option/opt.h"
#include "decode/search_opts.h"
#include "decode/score.h"
#include "engine/models/langs.h"
#include "model/model_dir.h"
#include "tokenize/target_ids.h"
#include "tools/ids.h"
#include "tools/tools.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct score {
    int help;
    const char *model, *source, *target;
    bool ids;
    double length_penalty;
    int64_t max_tokens;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct score, help),
    {DG_OPT_PATH(struct score, model), "model", .letter = 'm', .flags = DG_OPT_REQUIRED,
     .help = "the model directory"},
    {DG_OPT_STRING(struct score, source), "from", .alias = "source", .unit = "TAG",
     .help = "language of the source, where the model has to be told"},
    {DG_OPT_STRING(struct score, target), "to", .alias = "target", .unit = "TAG",
     .help = "language of the target, where the model has to be told"},
    {DG_OPT_BOOL(struct score, ids), "ids", .def = "no",
     .help = "both sides are token ids with spaces between; no text layer"},
    {DG_OPT_REAL_IN(struct score, length_penalty, 0, 10), "length-penalty",
     .help = "score is log-probability divided by length to this power (default: as the model's "
             "makers have it)"},
    {DG_OPT_INT_IN(struct score, max_tokens, 1, 4096), "max-tokens", .def = "512",
     .help = "most tokens of a source or target; longer lines are refused"},
};

static const struct dg_opt_table table = {
    .program = "dragoman score",
    .summary = "Scores lines 'source<TAB>target' from stdin; one line of JSON for each.",
    DG_OPT_ROWS(rows, struct score),
};

struct work {
    const struct score *flags;
    struct dg_model *model;
    struct dg_net *net;
    struct dg_scorer *scorer;
    struct dg_tokenizer *tokenizer; /* NULL with --ids */
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    struct dg_langs *langs;   /* NULL with --ids */
    struct dg_lang_pair pair; /* with langs NULL: no languages are given */
    int32_t eos_id;
    double length_penalty; /* below 0 until the model is open; then the model's value is used */
};

/* ---- One line -------------------------------------------------------------------------------- */

static enum dg_err source_ids(struct work *work, struct dg_span text, int32_t **ids, size_t *n,
                              struct dg_error *error)
{
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(&work->pair);
    return ids_encode(work->tokenizer, work->source_work, text, &opts, ids, n, error);
}

/* Target ids as given, with the end token appended if it is missing. */
static enum dg_err given_ids(const struct work *work, struct dg_span text, int32_t **ids, size_t *n,
                             struct dg_error *error)
{
    int32_t *parsed;
    enum dg_err err = ids_parse(text, &parsed, n, error);
    if (err)
        return err;
    *ids = dg_try_realloc(parsed, (*n + 1) * sizeof *parsed);
    if (!*ids) {
        dg_free(parsed);
        return DG_ERR_NOMEM;
    }
    if (*n == 0 || (*ids)[*n - 1] != work->eos_id)
        (*ids)[(*n)++] = work->eos_id;
    return DG_OK;
}

static enum dg_err write_json(const struct work *work, const float *logprobs, size_t n,
                              struct dg_buf *text)
{
    struct dg_json_out out;
    double sum = 0;
    dg_json_out_init(&out, text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "token_logprobs", '[');
    for (size_t i = 0; i < n; i++) {
        sum += (double)logprobs[i];
        dg_json_out_real(&out, (double)logprobs[i], 9);
    }
    dg_json_out_close(&out, ']');
    dg_json_out_put_real(&out, "logprob", sum, 12);
    dg_json_out_put_real(&out, "score", sum / pow((double)n, work->length_penalty), 12);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err run_scorer(struct work *work, const int32_t *src, size_t n_src,
                              const int32_t *tgt, size_t n_tgt, float *logprobs,
                              struct dg_error *error)
{
    const struct dg_scorer_target target = {tgt, n_tgt, work->pair.lead, work->pair.n_lead};
    return dg_scorer_run(work->scorer, src, n_src, &target, logprobs, NULL, error);
}

static enum dg_err score_line(struct work *work, struct dg_span line, struct dg_buf *out,
                              struct dg_error *error)
{
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return dg_error_set(error, DG_ERR_FORMAT, "no tab, expected source<TAB>target");
    size_t bad_at;
    if (!work->flags->ids && !dg_utf8_valid(line, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the line is not valid UTF-8 at byte %zu", bad_at);
    struct dg_span source = dg_span_make(line.ptr, (size_t)(tab - line.ptr));
    struct dg_span target = dg_span_sub(line, source.len + 1, line.len);
    int32_t *src = NULL, *tgt = NULL;
    float *logprobs = NULL;
    size_t n_src = 0, n_tgt = 0;
    enum dg_err err = work->flags->ids ? ids_parse(source, &src, &n_src, error)
                                       : source_ids(work, source, &src, &n_src, error);
    if (!err)
        err = work->flags->ids
                  ? given_ids(work, target, &tgt, &n_tgt, error)
                  : dg_target_ids(work->tokenizer, work->target_work, target, &tgt, &n_tgt);
    if (!err && !(logprobs = dg_try_calloc(n_tgt ? n_tgt : 1, sizeof *logprobs)))
        err = DG_ERR_NOMEM;
    if (!err)
        err = run_scorer(work, src, n_src, tgt, n_tgt, logprobs, error);
    for (size_t i = 0; !err && i < n_tgt; i++)
        if (isnan(logprobs[i]))
            err = dg_error_set(error, DG_ERR_INTEGRITY,
                               "the model gave scores that are not finite; import it again");
    if (!err)
        err = write_json(work, logprobs, n_tgt, out);
    dg_free(src);
    dg_free(tgt);
    dg_free(logprobs);
    return err;
}

/* ---- All lines ------------------------------------------------------------------------------- */

static enum dg_err open_all(struct work *work, struct dg_error *error)
{
    const struct score *flags = work->flags;
    enum dg_err err = dg_model_open(&work->model, flags->model, error);
    if (!err)
        err = dg_net_new(&work->net, dg_model_blueprint(work->model), dg_model_weights(work->model),
                         NULL, error);
    if (!err)
        err = dg_scorer_new(&work->scorer, work->net, (size_t)flags->max_tokens,
                            (size_t)flags->max_tokens, error);
    if (err)
        return err;
    work->eos_id = dg_model_blueprint(work->model)->eos_id;
    if (work->length_penalty < 0)
        work->length_penalty =
            (double)dg_search_usual_length_penalty(dg_model_blueprint(work->model), false);
    work->pair = (struct dg_lang_pair){.first_id = -1, .last_id = -1};
    if (flags->ids)
        return DG_OK;
    err = dg_tokenizer_open(flags->model, error, &work->tokenizer);
    if (!err && (!(work->source_work = dg_tokenizer_work_new()) ||
                 !(work->target_work = dg_spm_work_new())))
        err = DG_ERR_NOMEM;
    const struct dg_langs_opts opts = {.tokenizer = work->tokenizer,
                                       .rule = dg_model_blueprint(work->model)->lang_rule,
                                       .name = flags->model};
    if (!err)
        err = dg_langs_new(&work->langs, &opts, error);
    return err ? err
               : dg_langs_choose(work->langs, flags->source, flags->target, error, &work->pair);
}

static void close_all(struct work *work)
{
    dg_spm_work_free(work->target_work);
    dg_tokenizer_work_free(work->source_work);
    dg_langs_unref(work->langs);
    dg_tokenizer_close(work->tokenizer);
    dg_scorer_free(work->scorer);
    dg_net_free(work->net);
    dg_model_unref(work->model);
}

/* A line that cannot be scored gives {"error": sentence}, so that output lines match input
 * lines. */
static enum dg_err answer_error(const char *sentence, struct dg_buf *text)
{
    struct dg_json_out out;
    dg_json_out_init(&out, text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "error", sentence);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err run_score(struct work *work, size_t *n_failed, struct dg_error *error)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    struct dg_progress progress;
    struct dg_buf out;
    char *text = NULL;
    size_t cap = 0, n_lines = 0;
    ssize_t len;
    enum dg_err err = DG_OK;
    dg_buf_init(&out, 1 << 24);
    dg_progress_start(&progress, "scoring", "lines", 0, &clock);
    while (!err && (len = getline(&text, &cap, stdin)) >= 0) {
        struct dg_error line_error = DG_ERROR_NONE;
        size_t n = (size_t)len - (len > 0 && text[len - 1] == '\n');
        n_lines++;
        dg_buf_clear(&out);
        enum dg_err line_err = score_line(work, dg_span_make(text, n), &out, &line_error);
        if (line_err) {
            ++*n_failed;
            fprintf(stderr, "dragoman score: line %zu: %s\n", n_lines,
                    dg_error_text(&line_error, line_err));
            err = answer_error(dg_error_text(&line_error, line_err), &out);
        }
        if (!err && (fwrite(out.ptr, 1, out.len, stdout) != out.len || putchar('\n') == EOF))
            err = dg_error_set(error, DG_ERR_IO, "writing to stdout failed");
        dg_progress_show(&progress, n_lines);
    }
    dg_progress_stop(&progress);
    if (!err && ferror(stdin))
        err = dg_error_set(error, DG_ERR_IO, "reading stdin failed: %s", strerror(errno));
    if (!err && fflush(stdout) != 0)
        err = dg_error_set(error, DG_ERR_IO, "writing to stdout failed");
    dg_buf_deinit(&out);
    free(text);
    return err;
}

int dg_cmd_score(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    struct work work = {.flags = dg_opt_values(set)};
    work.length_penalty = dg_opt_given(set, "length-penalty") ? work.flags->length_penalty : -1;
    struct dg_error error = DG_ERROR_NONE;
    size_t n_failed = 0;
    enum dg_err err = open_all(&work, &error);
    if (!err)
        err = run_score(&work, &n_failed, &error);
    if (err)
        fprintf(stderr, "dragoman score: %s\n", dg_error_text(&error, err));
    close_all(&work);
    dg_opt_set_free(set);
    return err || n_failed ? 1 : 0;
}
