/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The members take the sentences in turn; each member decodes with a decoder of its own. Statistics
 * are added up sentence by sentence in the order of the pairs. */
#include "train/run/validate.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "decode/decoder.h"
#include "text/score/metric.h"
#include "train/run/task_metrics.h"

#include <math.h>
#include <string.h>

enum { SENTENCES = 16, TEXT_MAX = 1 << 16 };

/* ---- Loss ------------------------------------------------------------------------------------ */

struct losing {
    const struct dg_validate *what;
    struct dg_pass_sums *sums;       /* [team size] */
    struct dg_task_metrics *tallies; /* [team size] for encoder-only models */
    /* only the first member counts these, because every member meets all of them */
    size_t n_left_out;
};

static void metrics(struct losing *losing, size_t member, size_t n)
{
    const struct dg_validate *what = losing->what;
    for (size_t i = 0; i < n; i++) {
        size_t n_said;
        const struct dg_pass_said *said = dg_pass_said(what->passes[member], i, &n_said);
        dg_task_metrics_add(&losing->tallies[member], &what->params->bp, what->labels, said,
                            n_said);
    }
}

/* A member takes every n-th run, each with as many pairs as fit; where runs end does not depend on
 * the number of members. */
static void measure(void *ctx, size_t member)
{
    struct losing *losing = ctx;
    const struct dg_validate *what = losing->what;
    struct dg_example examples[64];
    size_t turn = 0;
    uint64_t row = 0; /* the masks are drawn by it, so they are the same at every validation */
    for (size_t i = 0; i < what->dev->n; turn++) {
        size_t n = 0;
        while (n < sizeof examples / sizeof *examples && i + n < what->dev->n) {
            examples[n] = dg_corpus_get(what->dev, i + n);
            n++;
        }
        const size_t fitting = dg_pass_n_fitting(what->passes[member], examples, n);
        if (fitting == 0) { /* no pass has room for the pair */
            if (member == 0)
                losing->n_left_out++;
            i++;
            continue;
        }
        const struct dg_pass_batch batch = {.examples = examples,
                                            .n = fitting,
                                            .guide_head = what->guide_head,
                                            .mask = what->mask,
                                            .source_row = row};
        if (turn % dg_team_size(what->team) == member) {
            dg_pass_measure(what->passes[member], &batch, &losing->sums[member]);
            if (dg_blueprint_family(&what->params->bp)->has_head)
                metrics(losing, member, fitting);
        }
        for (size_t j = 0; j < fitting; j++)
            row += examples[j].n_source;
        i += fitting;
    }
}

static enum dg_err measure_loss(const struct dg_validate *what, struct dg_validate_report *report)
{
    const size_t n = dg_team_size(what->team);
    struct dg_pass_sums *sums = dg_try_calloc(n, sizeof *sums), all = {0};
    /* the last element sums up all others */
    struct dg_task_metrics *tallies = dg_try_calloc(n + 1, sizeof *tallies);
    if (!sums || !tallies) {
        dg_free(sums);
        dg_free(tallies);
        return DG_ERR_NOMEM;
    }
    struct losing losing = {what, sums, tallies, 0};
    dg_team_run(what->team, measure, &losing);
    report->n_left_out = losing.n_left_out;
    for (size_t i = 0; i < n; i++) {
        all.plain += sums[i].plain;
        all.n_losses += sums[i].n_losses;
        all.n_right += sums[i].n_right;
        all.n_linked += sums[i].n_linked;
        all.n_agreed += sums[i].n_agreed;
        dg_task_metrics_merge(&tallies[n], &tallies[i]);
    }
    const bool counts = what->params->bp.seq.is_classifier;
    report->loss = all.n_losses > 0.0 ? all.plain / all.n_losses : 0.0;
    report->accuracy =
        counts && all.n_losses > 0.0 ? 100.0 * (double)all.n_right / all.n_losses : -1.0;
    if (dg_blueprint_family(&what->params->bp)->has_head)
        dg_task_metrics_report(&tallies[n], &what->params->bp, report);
    dg_free(sums);
    dg_free(tallies);
    if (all.n_linked)
        report->agreement = (double)all.n_agreed / (double)all.n_linked;
    return DG_OK;
}

/* ---- Translation ----------------------------------------------------------------------------- */

struct sentence {
    struct dg_buf text;
    const struct dg_tokenizer *tokenizer;
    enum dg_err err;
    enum dg_finish finish;
};

struct translating {
    const struct dg_validate *what;
    const struct dg_net *net;
    struct sentence *sentences; /* [n_translate] */
    struct dg_search_opts opts;
    enum dg_err *errs; /* [team size] */
    struct dg_error *errors;
};

static void on_translation_done(void *ctx, const struct dg_search *search)
{
    struct sentence *sentence = ctx;
    const struct dg_answer answer = dg_search_answer(search, 0);
    size_t n = answer.n_ids;
    if (n && answer.finish == DG_FINISH_EOS)
        n--;
    sentence->finish = answer.finish;
    sentence->err = dg_tokenizer_decode(sentence->tokenizer, answer.ids, n, &sentence->text);
}

static const struct dg_decode_events events = {.on_done = on_translation_done};

/* True for a language model that learns from lines and is validated by continuing them. */
static bool goes_on(const struct dg_validate *what)
{
    return dg_blueprint_family(&what->params->bp)->has_prompt && !*what->params->bp.lm.ask.form;
}

/* Returns the number of tokens that the network reads: the source, or the source and the first half
 * of a line. */
static size_t n_given(const struct dg_validate *what, size_t i)
{
    const struct dg_example example = dg_corpus_get(what->dev, i);
    return example.n_source + (goes_on(what) ? example.n_target / 2 : 0);
}

/* The longest source that this member will see. */
static size_t longest_source(const struct dg_validate *what)
{
    size_t longest = 1;
    for (size_t i = 0; i < what->n_translate; i++)
        if (n_given(what, i) > longest)
            longest = n_given(what, i);
    return longest;
}

static enum dg_err decode_share(struct translating *t, size_t member, struct dg_decoder *decoder,
                                struct dg_error *error)
{
    const size_t step = dg_team_size(t->what->team);
    enum dg_err err = DG_OK;
    for (size_t next = member;
         !err && (next < t->what->n_translate || dg_decoder_n_sentences(decoder));) {
        while (!err && next < t->what->n_translate) {
            const struct dg_example example = dg_corpus_get(t->what->dev, next);
            const struct dg_decode_job job = {.src = example.source,
                                              .n_src = n_given(t->what, next),
                                              .opts = &t->opts,
                                              .events = &events,
                                              .ctx = &t->sentences[next]};
            if (dg_decoder_n_fitting(decoder, &job, 1) == 0)
                break;
            err = dg_decoder_add(decoder, &job, 1, NULL, error);
            next += step;
        }
        if (!err)
            dg_decoder_step(decoder);
    }
    return err;
}

static void translate(void *ctx, size_t member)
{
    struct translating *t = ctx;
    struct dg_decoder *decoder = NULL;
    const size_t longest = longest_source(t->what);
    const struct dg_decoder_limits limits = {
        .sentences = SENTENCES,
        .rows = SENTENCES * (size_t)t->opts.beam,
        .source_max = longest,
        .target_max = (size_t)t->opts.max_len,
        .batch_tokens = longest * 4,
    };
    enum dg_err err = dg_decoder_new(&decoder, t->net, &limits, &t->errors[member]);
    if (!err)
        err = decode_share(t, member, decoder, &t->errors[member]);
    dg_decoder_free(decoder);
    t->errs[member] = err;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

static void keep_sample(struct dg_validate_report *report, struct dg_span source,
                        struct dg_span translation, struct dg_span reference)
{
    const struct dg_span texts[3] = {source, translation, reference};
    for (size_t i = 0; i < 3; i++) {
        char *room = report->samples[report->n_samples][i];
        const struct dg_span cut = dg_utf8_clip(texts[i], sizeof report->samples[0][0] - 1);
        if (cut.len)
            memcpy(room, cut.ptr, cut.len);
        room[cut.len] = '\0';
    }
    report->n_samples++;
}

/* Continues held-out lines from their middles. These are samples for people; nothing is scored. */
static enum dg_err show_lines(const struct translating *t, struct dg_validate_report *report)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < t->what->n_translate && !err; i++) {
        const struct dg_example example = dg_corpus_get(t->what->dev, i);
        const size_t half = example.n_target / 2, n_behind = example.n_target - half;
        struct dg_buf halves[2];
        dg_buf_init(&halves[0], TEXT_MAX);
        dg_buf_init(&halves[1], TEXT_MAX);
        err = t->sentences[i].err;
        if (!err)
            err = dg_tokenizer_decode(t->what->tokenizer, example.target, half, &halves[0]);
        if (!err)
            err = dg_tokenizer_decode(
                t->what->tokenizer, example.target + half,
                n_behind - (example.target[example.n_target - 1] == t->what->params->bp.eos_id),
                &halves[1]);
        if (!err)
            keep_sample(report, dg_buf_span(&halves[0]), dg_buf_span(&t->sentences[i].text),
                        dg_buf_span(&halves[1]));
        dg_buf_deinit(&halves[0]);
        dg_buf_deinit(&halves[1]);
    }
    return err;
}

static enum dg_err score(const struct translating *t, struct dg_validate_report *report)
{
    const struct dg_bleu_opts opts = DG_BLEU_OPTS_DEFAULT;
    struct dg_metric *metric = dg_metric_new();
    struct dg_bleu_stats bleu = {0}, one_bleu;
    struct dg_chrf_stats chrf = {0}, one_chrf;
    const size_t n = t->what->n_translate, spacing = n / DG_VALIDATE_SAMPLES + 1;
    enum dg_err err = metric ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < n && !err; i++) {
        const struct dg_span text = dg_buf_span(&t->sentences[i].text);
        err = t->sentences[i].err;
        if (!err)
            err = dg_bleu_count(metric, &opts, text, t->what->texts[i].target, &one_bleu);
        if (!err)
            err = dg_chrf_count(metric, 0, text, t->what->texts[i].target, &one_chrf);
        if (err)
            break;
        dg_bleu_add(&bleu, &one_bleu);
        dg_chrf_add(&chrf, &one_chrf);
        report->n_loops += t->sentences[i].finish != DG_FINISH_EOS;
        if (i % spacing == 0 && report->n_samples < DG_VALIDATE_SAMPLES)
            keep_sample(report, t->what->texts[i].source, text, t->what->texts[i].target);
    }
    dg_metric_free(metric);
    if (!err) {
        report->bleu = dg_bleu_score(&bleu, &opts, false).score;
        report->chrf = dg_chrf_score(&chrf, 0);
    }
    return err;
}

static enum dg_err run_members(struct translating *t, struct dg_error *error)
{
    const size_t n = dg_team_size(t->what->team);
    t->errs = dg_try_calloc(n, sizeof *t->errs);
    t->errors = dg_try_calloc(n, sizeof *t->errors);
    enum dg_err err = t->errs && t->errors ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        dg_team_run(t->what->team, translate, t);
    for (size_t i = 0; i < n && !err; i++)
        if ((err = t->errs[i]) != DG_OK && error)
            *error = t->errors[i];
    dg_free(t->errs);
    dg_free(t->errors);
    return err;
}

static enum dg_err translate_all(const struct dg_validate *what, struct dg_validate_report *report,
                                 struct dg_error *error)
{
    struct translating t = {.what = what, .opts = DG_SEARCH_OPTS_DEFAULT};
    struct dg_net *net = NULL;
    t.opts.beam = what->beam;
    dg_search_opts_complete(&t.opts, &what->params->bp,
                            (struct dg_search_usual){.length_penalty = true}, 0);
    t.opts.max_len = 256;
    t.sentences = dg_try_calloc(what->n_translate, sizeof *t.sentences);
    if (!t.sentences)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < what->n_translate; i++) {
        dg_buf_init(&t.sentences[i].text, TEXT_MAX);
        t.sentences[i].tokenizer = what->tokenizer;
    }
    enum dg_err err = dg_net_new(&net, &what->params->bp, &what->params->weights, NULL, error);
    t.net = net;
    if (!err)
        err = run_members(&t, error);
    if (!err)
        err = goes_on(what) ? show_lines(&t, report) : score(&t, report);
    for (size_t i = 0; i < what->n_translate; i++)
        dg_buf_deinit(&t.sentences[i].text);
    dg_free(t.sentences);
    dg_net_free(net);
    return err;
}

struct dg_validate_figure dg_validate_task(const struct dg_validate_report *report)
{
    return isfinite(report->correlation)
               ? (struct dg_validate_figure){"correlation", report->correlation}
           : report->exact >= 0.0    ? (struct dg_validate_figure){"exact", report->exact}
           : report->f1 >= 0.0       ? (struct dg_validate_figure){"F1", report->f1}
           : report->accuracy >= 0.0 ? (struct dg_validate_figure){"accuracy", report->accuracy}
                                     : (struct dg_validate_figure){"", NAN};
}

enum dg_err dg_validate_run(const struct dg_validate *what, struct dg_validate_report *report,
                            struct dg_error *error)
{
    *report = (struct dg_validate_report){.bleu = -1.0,
                                          .chrf = -1.0,
                                          .agreement = -1.0,
                                          .accuracy = -1.0,
                                          .f1 = -1.0,
                                          .macro_f1 = -1.0,
                                          .exact = -1.0,
                                          .correlation = NAN};
    struct dg_validate fewer = *what;
    if (goes_on(what) && fewer.n_translate > DG_VALIDATE_SAMPLES)
        fewer.n_translate = DG_VALIDATE_SAMPLES;
    enum dg_err err = measure_loss(what, report);
    const bool is_reader = dg_blueprint_is_reader(&what->params->bp);
    return err || what->n_translate == 0 || is_reader ? err : translate_all(&fewer, report, error);
}
