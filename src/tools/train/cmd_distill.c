/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman distill: translates the sources of sentence pairs with a large model, and prints pairs
 * for a small one to learn from (Kim and Rush, 2016). It takes, of the beam's answers, the one
 * nearest to the given translation (their sequence-level interpolation, by chrF), or the most
 * probable one; or all of them with their scores, from which a model learns which answers to prefer
 * (train/data/risk_candidates.h).
 *
 * Pairs are read in blocks. Each member of a team translates every n-th pair of the block, and then
 * the block is printed in order. */
#include "base/memory/mem.h"
#include "base/option/opt.h"
#include "base/thread/cpu.h"
#include "decode/decoder.h"
#include "model/model_dir.h"
#include "text/score/metric.h"
#include "tokenize/tokenizer.h"
#include "tools/command.h"
#include "tools/tools.h"
#include "train/data/pairs.h"
#include "train/pass/team.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FILES_MAX = 64,
    BLOCK = 512,
    SENTENCES = 16,
    TEXT_MAX = 1 << 20,
    SOURCE_MAX = 256,
    TARGET_MAX = 320
};

struct distill {
    int help;
    const char *model;
    int64_t beam, threads;
    int pick, score;
    double least;
    bool swap, quiet;
};

enum pick { NEAREST, BEST, ALL };
static const char *const pick_words[] = {"nearest", "best", "all", NULL};
enum score { CHRF, BLEU, BOTH };
static const char *const score_words[] = {"chrf", "bleu", "both", NULL};

static const struct dg_opt_row rows[] = {
    {DG_OPT_PATH(struct distill, model), "model", .letter = 'm', .unit = "DIR",
     .flags = DG_OPT_REQUIRED, .help = "the teacher"},
    {DG_OPT_INT_IN(struct distill, beam, 1, DG_BEAM_MAX), "beam", .letter = 'b', .def = "4",
     .help = "answers to choose from"},
    {DG_OPT_ENUM(struct distill, pick), "pick", .words = pick_words,
     .help =
         "which of them to print: the one nearest to the given translation, or the most probable "
         "one; or all, each on a line with a tab and its --score at the end, for train --rivals"},
    {DG_OPT_ENUM(struct distill, score), "score", .words = score_words,
     .help = "how nearness is measured: by chrF, by BLEU of the sentence, or by the mean of both"},
    {DG_OPT_REAL_IN(struct distill, least, 0, 100), "least", .def = "0",
     .help = "leave out answers whose --score against the given translation is less than this"},
    {DG_OPT_BOOL(struct distill, swap), "swap", .def = "no", .help = "lines are target<TAB>source"},
    {DG_OPT_INT_IN(struct distill, threads, 0, DG_TEAM_MAX), "threads", .letter = 't', .def = "0",
     .help = "threads; 0: one for each core"},
    {DG_OPT_BOOL(struct distill, quiet), "quiet", .letter = 'q', .help = "no summary"},
    DG_OPT_HELP(struct distill, help),
};

static const struct dg_opt_table table = {
    .program = "dragoman distill",
    .summary = "Translates the sources of sentence pairs with a model; prints "
               "source<TAB>translation to learn from.",
    DG_OPT_ROWS(rows, struct distill),
    .args = "PAIRS...",
    .args_min = 1,
    .args_max = FILES_MAX,
};

/* ---- One sentence ---------------------------------------------------------------------------- */

struct member;

struct sentence {
    const struct dg_pair *pair;
    struct member *member;
    int32_t *ids; /* owned; the ids of the source */
    size_t n_ids;
    struct dg_buf text; /* the chosen answer; empty: none. With ALL, the lines of all answers. */
    double score;
    size_t n_lines;
    enum dg_err err;
};

struct member {
    struct work *work;
    struct dg_decoder *decoder;
    struct dg_tokenizer_work *tokens;
    struct dg_metric *metric;
    struct dg_buf scratch;
    enum dg_err err;
    struct dg_error error;
};

struct work {
    const struct distill *flags;
    struct dg_model *model;
    struct dg_tokenizer *tokenizer;
    struct dg_net *net;
    struct dg_team *team;
    struct member *members; /* [n_members] */
    size_t n_members;
    struct dg_search_opts opts;
    struct sentence *block; /* [BLOCK] */
    size_t n;               /* lines of the block */
    uint64_t n_pairs, n_written;
    double score;
};

/* Measures how near the scratch's text is to the given translation, 0 to 100. */
static enum dg_err measure(struct sentence *s, double *score)
{
    const struct dg_bleu_opts opts = DG_BLEU_OPTS_DEFAULT;
    struct member *m = s->member;
    const struct dg_span text = dg_buf_span(&m->scratch), truth = s->pair->target;
    const int by = m->work->flags->score;
    struct dg_chrf_stats chrf = {0};
    struct dg_bleu_stats bleu = {0};
    enum dg_err err = by != BLEU ? dg_chrf_count(m->metric, 0, text, truth, &chrf) : DG_OK;
    if (!err && by != CHRF)
        err = dg_bleu_count(m->metric, &opts, text, truth, &bleu);
    const double by_chrf = by != BLEU ? dg_chrf_score(&chrf, 0) : 0.0;
    const double by_bleu = by != CHRF ? dg_bleu_score(&bleu, &opts, true).score : 0.0;
    *score = (by_chrf + by_bleu) / (by == BOTH ? 2.0 : 1.0);
    return err;
}

/* A text with a tab or a line end cannot be a column. */
static bool is_column(struct dg_span text)
{
    return text.len && !memchr(text.ptr, '\t', text.len) && !memchr(text.ptr, '\n', text.len);
}

static enum dg_err consider(struct sentence *s, const struct dg_answer *answer)
{
    struct member *m = s->member;
    const struct distill *flags = m->work->flags;
    double score = 0.0;
    if (answer->finish != DG_FINISH_EOS || answer->n_ids < 2)
        return DG_OK; /* an answer without an end teaches nothing */
    dg_buf_clear(&m->scratch);
    enum dg_err err =
        dg_tokenizer_decode(m->work->tokenizer, answer->ids, answer->n_ids - 1, &m->scratch);
    if (!err)
        err = measure(s, &score);
    const bool is_first = s->n_lines == 0;
    const bool is_taken = flags->pick == ALL
                              ? score >= flags->least
                              : is_first || (flags->pick == NEAREST && score > s->score);
    if (err || !is_taken || !is_column(dg_buf_span(&m->scratch)))
        return err;
    if (flags->pick != ALL) { /* replaces the answer chosen before */
        dg_buf_clear(&s->text);
        s->score = 0.0;
        s->n_lines = 0;
    }
    s->score += score;
    s->n_lines++;
    err = dg_buf_printf(&s->text, "%.*s\t%.*s", DG_SPAN_FMT(s->pair->source),
                        DG_SPAN_FMT(dg_buf_span(&m->scratch)));
    if (!err && flags->pick == ALL)
        err = dg_buf_printf(&s->text, "\t%.2f", score);
    return err ? err : dg_buf_append_byte(&s->text, '\n');
}

static void on_answer_done(void *ctx, const struct dg_search *search)
{
    struct sentence *s = ctx;
    for (size_t i = 0; i < dg_search_n_answers(search) && !s->err; i++) {
        const struct dg_answer answer = dg_search_answer(search, i);
        s->err = consider(s, &answer);
    }
}

static const struct dg_decode_events events = {.on_done = on_answer_done};

static enum dg_err encode(struct member *m, struct sentence *s)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    const struct dg_token *tokens;
    s->member = m;
    enum dg_err err = dg_tokenizer_encode(m->work->tokenizer, m->tokens, s->pair->source, &opts,
                                          &m->error, &tokens, &s->n_ids);
    if (err)
        return err;
    if (s->n_ids > SOURCE_MAX || s->n_ids == 0) {
        s->n_ids = 0;
        return DG_OK;
    }
    s->ids = dg_try_calloc(s->n_ids, sizeof *s->ids);
    for (size_t i = 0; s->ids && i < s->n_ids; i++)
        s->ids[i] = tokens[i].id;
    return s->ids ? DG_OK : DG_ERR_NOMEM;
}

/* ---- A block --------------------------------------------------------------------------------- */

static enum dg_err add_next(struct member *m, struct sentence *s, bool *is_full)
{
    const struct dg_decode_job job = {
        .src = s->ids, .n_src = s->n_ids, .opts = &m->work->opts, .events = &events, .ctx = s};
    *is_full = dg_decoder_n_fitting(m->decoder, &job, 1) == 0;
    return *is_full ? DG_OK : dg_decoder_add(m->decoder, &job, 1, NULL, &m->error);
}

static void translate_share(void *ctx, size_t number)
{
    struct work *work = ctx;
    struct member *m = &work->members[number];
    for (size_t i = number; i < work->n && !m->err; i += work->n_members)
        m->err = encode(m, &work->block[i]);
    for (size_t next = number; !m->err && (next < work->n || dg_decoder_n_sentences(m->decoder));) {
        bool is_full = false;
        while (!m->err && next < work->n && !is_full) {
            if (work->block[next].n_ids)
                m->err = add_next(m, &work->block[next], &is_full);
            if (!is_full)
                next += work->n_members;
        }
        if (!m->err)
            dg_decoder_step(m->decoder);
    }
}

static enum dg_err print_block(struct work *work)
{
    for (size_t i = 0; i < work->n; i++) {
        struct sentence *s = &work->block[i];
        if (s->err)
            return s->err;
        work->n_pairs++;
        if (s->n_lines == 0 || (work->flags->pick != ALL && s->score < work->flags->least))
            continue;
        fwrite(s->text.ptr, 1, s->text.len, stdout);
        work->n_written += s->n_lines;
        work->score += s->score;
    }
    return DG_OK;
}

static enum dg_err run_block(struct work *work, const struct dg_pair *pairs, size_t n,
                             struct dg_error *error)
{
    work->n = n;
    for (size_t i = 0; i < n; i++) {
        work->block[i] = (struct sentence){.pair = &pairs[i]};
        dg_buf_init(&work->block[i].text, TEXT_MAX);
    }
    dg_team_run(work->team, translate_share, work);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < work->n_members && !err; i++)
        if ((err = work->members[i].err) != DG_OK)
            *error = work->members[i].error;
    if (!err)
        err = print_block(work);
    for (size_t i = 0; i < n; i++) {
        dg_free(work->block[i].ids);
        dg_buf_deinit(&work->block[i].text);
    }
    return err;
}

/* ---- The command ----------------------------------------------------------------------------- */

static enum dg_err open_members(struct work *work, struct dg_error *error)
{
    const struct dg_decoder_limits limits = {
        .sentences = SENTENCES,
        .rows = SENTENCES * (size_t)work->flags->beam,
        .source_max = SOURCE_MAX,
        .target_max = TARGET_MAX,
        .batch_tokens = SOURCE_MAX * 4,
    };
    enum dg_err err = dg_team_new(&work->team, work->n_members, error);
    work->members = dg_try_calloc(work->n_members, sizeof *work->members);
    if (!err && !work->members)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < work->n_members && !err; i++) {
        struct member *m = &work->members[i];
        m->work = work;
        dg_buf_init(&m->scratch, TEXT_MAX);
        m->tokens = dg_tokenizer_work_new();
        m->metric = dg_metric_new();
        err = m->tokens && m->metric ? dg_decoder_new(&m->decoder, work->net, &limits, error)
                                     : DG_ERR_NOMEM;
    }
    return err;
}

static enum dg_err open_all(struct work *work, struct dg_error *error)
{
    const struct dg_search_opts search = DG_SEARCH_OPTS_DEFAULT;
    work->opts = search;
    work->opts.beam = work->opts.n_best = (int)work->flags->beam;
    work->opts.max_len = TARGET_MAX - 1;
    work->n_members = work->flags->threads ? (size_t)work->flags->threads : dg_cpu_cores();
    work->block = dg_try_calloc(BLOCK, sizeof *work->block);
    enum dg_err err =
        work->block ? dg_model_open(&work->model, work->flags->model, error) : DG_ERR_NOMEM;
    if (!err)
        dg_search_opts_complete(&work->opts, dg_model_blueprint(work->model),
                                (struct dg_search_usual){.length_penalty = true}, 0);
    if (!err)
        err = dg_tokenizer_open(work->flags->model, error, &work->tokenizer);
    if (!err)
        err = dg_net_new(&work->net, dg_model_blueprint(work->model), dg_model_weights(work->model),
                         NULL, error);
    return err ? err : open_members(work, error);
}

static void close_all(struct work *work)
{
    for (size_t i = 0; work->members && i < work->n_members; i++) {
        dg_decoder_free(work->members[i].decoder);
        dg_tokenizer_work_free(work->members[i].tokens);
        dg_metric_free(work->members[i].metric);
        dg_buf_deinit(&work->members[i].scratch);
    }
    dg_free(work->members);
    dg_free(work->block);
    dg_team_free(work->team);
    dg_net_free(work->net);
    dg_tokenizer_close(work->tokenizer);
    dg_model_unref(work->model);
}

static enum dg_err run_distill(const struct dg_opt_set *set, struct dg_error *error)
{
    struct work work = {.flags = dg_opt_values(set)};
    struct dg_pairs_opts opts = DG_PAIRS_OPTS_DEFAULT;
    struct dg_pairs pairs;
    opts.swap = work.flags->swap;
    opts.duplicates = true;
    opts.len_max = 2000;
    opts.ratio_max = 0.0;
    dg_pairs_init(&pairs, &opts);
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < dg_opt_n_args(set) && !err; i++)
        err = dg_pairs_read(&pairs, dg_opt_arg(set, i), error);
    if (!err)
        err = open_all(&work, error);
    for (size_t i = 0; i < pairs.n && !err; i += BLOCK)
        err = run_block(&work, pairs.list + i, pairs.n - i < BLOCK ? pairs.n - i : BLOCK, error);
    if (!err && !work.flags->quiet)
        fprintf(stderr, "distill: pairs=%" PRIu64 " written=%" PRIu64 " %s=%.2f\n", work.n_pairs,
                work.n_written,
                work.flags->score == BOTH ? "score" : score_words[work.flags->score],
                work.n_written ? work.score / (double)work.n_written : 0.0);
    close_all(&work);
    dg_pairs_deinit(&pairs);
    return err;
}

int dg_cmd_distill(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_distill);
}
