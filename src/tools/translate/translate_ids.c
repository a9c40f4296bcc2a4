/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate --ids: gives ids directly to the scheduler, without the text layer. Source ids
 * are taken unchanged, except that the end token, if the model's tokenizer puts it after a text, is
 * added where it is missing: without it a model says everything twice. All generated ids are
 * printed, including the end token. */
#include "base/log/progress.h"
#include "base/memory/mem.h"
#include "base/thread/cpu.h"
#include "model/model_dir.h"
#include "sched/sched.h"
#include "tokenize/tokenizer.h"
#include "tools/ids.h"
#include "tools/line_pipe.h"
#include "tools/translate/translate.h"
#include "tools/translate/translate_json.h"

#include <stdio.h>

struct work {
    const struct translate *flags;
    struct dg_search_opts search;
    struct dg_sched *sched;
    struct dg_sched_model *model;
    struct dg_decoder_limits limits;
    struct dg_flow flow;
    struct dg_progress *progress;
    struct translate_totals *totals;
    int32_t end_id; /* the token after every source; -1: none */
};

static enum dg_err print_answer(const struct work *work, const struct line *line,
                                const struct dg_ticket *ticket, size_t index, struct dg_buf *out)
{
    const struct dg_ticket_answer *answer = &ticket->answers[index];
    enum dg_err err = DG_OK;
    if (index > 0)
        err = dg_buf_append_byte(out, '\n');
    if (!err && work->flags->search.nbest > 1)
        err = dg_buf_printf(out, "%zu ||| ", line->number);
    for (size_t i = 0; !err && i < answer->n_ids; i++)
        err = dg_buf_printf(out, "%s%ld", i ? " " : "", (long)answer->ids[i]);
    if (!err && (work->flags->scores || work->flags->search.nbest > 1))
        err = dg_buf_printf(out, " ||| %.6f", answer->score);
    if (!err && work->flags->alignment)
        err = dg_buf_append_cstr(out, " |||");
    for (size_t t = 0; !err && work->flags->alignment && answer->alignment && t < answer->n_ids;
         t++) {
        size_t best = translate_aligned(answer->alignment, t, ticket->n_src);
        err = dg_buf_printf(out, " %zu-%zu", best, t);
    }
    if (!err && work->flags->soft_alignment)
        err = dg_buf_append_cstr(out, " ||| ");
    if (!err && work->flags->soft_alignment)
        err = translate_soft_alignment(out, answer->alignment, answer->n_ids, ticket->n_src);
    return err;
}

static enum dg_err print_json(const struct line *line, const struct dg_ticket *ticket,
                              struct dg_buf *text)
{
    struct dg_engine_answer answers[DG_BEAM_MAX];
    struct dg_json_out out;
    for (size_t i = 0; i < ticket->n_answers; i++) {
        const struct dg_ticket_answer *from = &ticket->answers[i];
        answers[i] = (struct dg_engine_answer){.logprob = from->logprob,
                                               .score = from->score,
                                               .finish = from->finish,
                                               .repaired = from->repaired,
                                               .ids = from->ids,
                                               .logprobs = from->logprobs,
                                               .n_ids = from->n_ids,
                                               .alignment = from->alignment};
    }
    dg_json_out_init(&out, text);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "line", line->number);
    translate_json_answers(&out, answers, ticket->n_answers, ticket->n_src);
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static void finish(struct work *work, struct dg_ticket *ticket)
{
    struct line *line = ticket->ctx;
    enum dg_err err = ticket->err;
    const char *sentence = NULL;
    if (!err && ticket->n_answers && ticket->answers[0].finish == DG_FINISH_FAILED) {
        err = DG_ERR_INTEGRITY;
        sentence = "the model gave scores that are not finite; import it again";
    }
    if (!err && work->flags->json)
        err = print_json(line, ticket, &line->out);
    for (size_t i = 0; !err && !work->flags->json && i < ticket->n_answers; i++)
        err = print_answer(work, line, ticket, i, &line->out);
    if (err) {
        dg_buf_clear(&line->out);
        if (!sentence)
            sentence = dg_err_sentence(err);
        if (work->flags->json && translate_json_error(&line->out, line->number, sentence))
            dg_buf_clear(&line->out);
        fprintf(stderr, "dragoman translate: line %zu: %s\n", line->number, sentence);
        work->totals->n_failed++;
    }
    if (ticket->n_answers)
        translate_count(work->totals, 1, ticket->n_src, ticket->answers[0].n_ids,
                        ticket->answers[0].finish, ticket->answers[0].repaired);
    dg_progress_show(work->progress, ++work->totals->n_lines);
    line->is_done = true;
    dg_ticket_free(ticket);
}

static void poll_sched(void *ctx)
{
    struct work *work = ctx;
    struct dg_ticket *ticket;
    bool is_over;
    dg_sched_listen(work->sched);
    while (dg_sched_next(work->sched, &ticket, &is_over))
        if (is_over)
            finish(work, ticket);
}

/* Adds the end token to a source that lacks it. */
static enum dg_err end_source(const struct work *work, int32_t **ids, size_t *n)
{
    if (work->end_id < 0 || (*ids)[*n - 1] == work->end_id)
        return DG_OK;
    int32_t *grown = dg_try_realloc(*ids, (*n + 1) * sizeof *grown);
    if (!grown)
        return DG_ERR_NOMEM;
    *ids = grown;
    grown[(*n)++] = work->end_id;
    return DG_OK;
}

static enum dg_err start(void *ctx, struct line *line)
{
    struct work *work = ctx;
    struct dg_error error = DG_ERROR_NONE;
    int32_t *ids = NULL;
    size_t n = 0;
    enum dg_err err = ids_parse(dg_span_make(line->text, line->len), &ids, &n, &error);
    if (!err && n == 0) { /* an empty line remains empty */
        if (work->flags->json)
            err = dg_buf_printf(&line->out, "{\"line\":%zu,\"answers\":[]}", line->number);
        line->is_done = true;
        dg_free(ids);
        return err;
    }
    if (!err)
        err = end_source(work, &ids, &n);
    if (!err)
        err = dg_sched_check(work->model, ids, n, &work->search, &error);
    if (!err) {
        size_t cap = (size_t)dg_search_opts_cap(&work->search, n);
        struct dg_ticket *ticket =
            dg_ticket_new(work->model, ids, n, &work->search,
                          cap < work->limits.target_max ? cap : work->limits.target_max);
        err = ticket ? DG_OK : DG_ERR_NOMEM;
        if (ticket) {
            ticket->ctx = line;
            ticket->is_quiet = true;
            err = dg_sched_submit(work->sched, &work->flow, ticket, NULL);
        }
        if (err)
            dg_ticket_free(ticket);
    }
    dg_free(ids);
    if (!err || err == DG_ERR_BUSY)
        return err;
    fprintf(stderr, "dragoman translate: line %zu: %s\n", line->number, dg_error_text(&error, err));
    if (work->flags->json &&
        translate_json_error(&line->out, line->number, dg_error_text(&error, err)) != DG_OK)
        return DG_ERR_NOMEM;
    work->totals->n_failed++;
    line->is_done = true;
    return DG_OK;
}

static enum dg_err run_ids(struct work *work, struct line_pipe *pipe, const struct dg_net *net,
                           const struct dg_blueprint *bp, const struct dg_lexicon *lex,
                           struct dg_error *error)
{
    const struct translate *flags = work->flags;
    size_t n_threads = flags->threads ? (size_t)flags->threads : dg_cpu_cores();
    work->limits = (struct dg_decoder_limits){
        .sentences = (size_t)flags->slots,
        .rows = (size_t)flags->slots * (size_t)dg_search_width(&work->search),
        .source_max = bp->source_len_max < 512 ? bp->source_len_max : 512,
        .target_max = flags->search.max_len ? (size_t)flags->search.max_len : 1,
        .alignment_layer = (size_t)flags->alignment_layer,
        .alignment_head = (size_t)flags->alignment_head,
        .lex = lex,
        .kv = (enum dg_net_kv)flags->kv_type,
    };
    work->limits.batch_tokens = work->limits.source_max * 8;
    struct dg_sched_opts opts = {
        .n_workers = n_threads, .max_tickets = 4096, .wake = line_pipe_wake, .wake_arg = pipe};
    enum dg_err err = dg_sched_new(&opts, error, &work->sched);
    if (!err)
        err = dg_sched_attach(work->sched, net, &work->limits, error, &work->model);
    if (!err)
        err = line_pipe_run(pipe, error);
    dg_sched_free(work->sched);
    return err;
}

/* Ids that the output must contain. */
struct forced {
    int32_t *prefix; /* owned */
    struct dg_constraint constraints[DG_CONSTRAINTS_MAX];
    struct dg_phrase phrases[DG_CONSTRAINTS_MAX];
    int32_t *ids[DG_CONSTRAINTS_MAX]; /* owned */
    size_t n;
};

static void free_demands(struct forced *forced)
{
    dg_free(forced->prefix);
    for (size_t i = 0; i < forced->n; i++)
        dg_free(forced->ids[i]);
}

static enum dg_err read_demands(struct forced *forced, const struct translate *flags,
                                struct dg_search_opts *search, struct dg_error *error)
{
    enum dg_err err =
        ids_parse(dg_span_cstr(flags->prefix), &forced->prefix, &search->n_prefix, error);
    search->prefix = forced->prefix;
    for (size_t i = 0; !err && i < flags->must.n; i++) {
        struct dg_phrase *phrase = &forced->phrases[i];
        err = ids_parse(dg_span_cstr(flags->must.items[i]), &forced->ids[i], &phrase->n_ids, error);
        if (err)
            break;
        forced->n++;
        phrase->ids = forced->ids[i];
        forced->constraints[i] = (struct dg_constraint){.forms = phrase, .n_forms = 1};
    }
    search->constraints = forced->constraints;
    search->n_constraints = forced->n;
    return err;
}

/* Finds the token that the model's tokenizer puts after a text, if that is the end token; -1: it
 * puts none, or the directory has no tokenizer. */
static int32_t find_end_id(const char *path, const struct dg_blueprint *bp)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_tokenizer *tokenizer = NULL;
    struct dg_tokenizer_work *work = NULL;
    const struct dg_token *tokens;
    size_t n = 0;
    int32_t end_id = -1;
    if (dg_tokenizer_open(path, &error, &tokenizer) == DG_OK && (work = dg_tokenizer_work_new()) &&
        dg_tokenizer_encode(tokenizer, work, DG_SPAN(""), &opts, &error, &tokens, &n) == DG_OK &&
        n > 0 && tokens[n - 1].id == bp->eos_id)
        end_id = bp->eos_id;
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
    return end_id;
}

enum dg_err translate_ids(const struct translate *flags, const struct dg_search_opts *search,
                          struct dg_search_usual usual, struct translate_totals *totals,
                          struct dg_error *error)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    struct dg_progress progress;
    struct work work = {.flags = flags, .search = *search, .progress = &progress, .totals = totals};
    struct forced forced = {0};
    struct line_pipe pipe = {.start = start, .poll = poll_sched, .ctx = &work, .window = 1024};
    struct dg_model *model = NULL;
    struct dg_net *net = NULL;
    struct dg_lexicon *lex = NULL;
    dg_flow_init(&work.flow, DG_PRIORITY_NORMAL, 0);
    line_pipe_init(&pipe);
    dg_progress_start(&progress, "translating", "lines", 0, &clock);
    enum dg_err err = read_demands(&forced, flags, &work.search, error);
    if (!err)
        err = dg_model_open(&model, flags->model, error);
    const struct dg_net_opts opts = {.type = (enum dg_net_type)flags->compute_type, .model = model};
    if (!err)
        err = dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), &opts, error);
    const struct dg_blueprint *bp = err ? NULL : dg_model_blueprint(model);
    if (!err)
        dg_search_opts_complete(&work.search, bp, usual, 0);
    if (!err && flags->shortlist)
        err = dg_lexicon_open(&lex, flags->model, bp->encoder.V, bp->decoder.V, error);
    if (!err) {
        work.end_id = find_end_id(flags->model, bp);
        err = run_ids(&work, &pipe, net, bp, lex, error);
    }
    dg_progress_stop(&progress);
    dg_net_free(net);
    dg_lexicon_close(lex);
    dg_model_unref(model);
    free_demands(&forced);
    line_pipe_deinit(&pipe);
    return err;
}
