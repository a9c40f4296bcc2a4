/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A prompt becomes ids and a ticket; tokens become text, which is searched for stop texts. */
#include "engine/generate/generation.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "engine/models/prompt.h"
#include "engine/models/stop_texts.h"
#include "tokenize/tokenizer.h"

enum {
    TEXT_MAX = 1 << 24,
    ARENA_SPARE = 1 << 16,
    MUCH_PROMPT = 16 * 1024, /* bytes of a prompt that take about 2 ms to read */
    BYTES_A_TOKEN = 16,      /* more bytes than a token has in most texts */
    SEAM = 64,               /* more tokens than cutting the text can add */
};

/* A prompt on its way to ids. */
struct dg_prompt_reading {
    struct dg_background_task task;
    struct dg_served_model *model; /* one reference */
    struct dg_span prompt;         /* borrowed from the generation */
    bool reads_special;
    struct dg_token *tokens; /* owned; [n] */
    size_t n;
    enum dg_err err;
    struct dg_error error;
};

struct dg_generation {
    struct dg_task task; /* n_open counts its ticket, and its prompt while that is being read */
    struct dg_arena arena;
    struct dg_generate asked; /* its texts lie in the arena */
    const struct dg_generate_events *events;
    void *ctx;
    struct dg_flow flow;
    struct dg_prompt_reading *reading; /* owned; or NULL */
    bool is_being_read;       /* the prompt is read by the background thread, as long prompts are */
    struct dg_ticket *ticket; /* owned; NULL before it is made */
    bool is_sent;             /* the scheduler has or had the ticket */
    struct dg_tokenizer_stream stream;
    bool has_stream;
    struct dg_buf text; /* the answer so far */
    size_t n_told;      /* bytes of `text` that were reported */
    size_t n_fed;       /* tokens of the ticket that were detokenised */
    bool is_ended;      /* ended by a stop text or token: later output is ignored */
    bool was_stopped;   /* ended by a stop text */
};

static struct dg_generation *generation_of(struct dg_task *task)
{
    return DG_LIST_ITEM(task, struct dg_generation, task);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static enum dg_err copy_stops(struct dg_generation *g, const struct dg_generate *ask,
                              struct dg_error *error)
{
    if (ask->n_stops > DG_GENERATE_STOPS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "%zu stop texts, expected at most %d",
                            ask->n_stops, DG_GENERATE_STOPS_MAX);
    struct dg_span *stops = dg_arena_calloc(&g->arena, ask->n_stops + 1, sizeof *stops);
    if (!stops)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < ask->n_stops; i++) {
        if (ask->stops[i].len == 0 || ask->stops[i].len > DG_GENERATE_STOP_BYTES)
            return dg_error_set(error, DG_ERR_RANGE,
                                "stop text %zu has %zu bytes, expected 1 to %d", i,
                                ask->stops[i].len, DG_GENERATE_STOP_BYTES);
        stops[i] = dg_arena_copy(&g->arena, ask->stops[i]);
        if (!stops[i].ptr)
            return DG_ERR_NOMEM;
    }
    g->asked.stops = stops;
    return DG_OK;
}

static void free_reading(struct dg_prompt_reading *reading)
{
    if (!reading)
        return;
    dg_free(reading->tokens);
    dg_served_model_unref(reading->model);
    dg_free(reading);
}

static void free_generation(struct dg_generation *g)
{
    free_reading(g->reading);
    if (g->has_stream)
        dg_tokenizer_stream_deinit(&g->stream);
    dg_ticket_free(g->ticket);
    dg_buf_deinit(&g->text);
    dg_task_deinit(&g->task);
    dg_arena_deinit(&g->arena);
    dg_free(g);
}

static enum dg_err new_generation(struct dg_tasks *tasks, const struct dg_generate *ask,
                                  struct dg_error *error, struct dg_generation **out)
{
    struct dg_generation *g = dg_try_calloc(1, sizeof *g);
    if (!g)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a generation");
    dg_task_init(&g->task, tasks, &dg_generation_ops, ask->prompt.len, ask->timeout_ms);
    dg_arena_init(&g->arena, ask->prompt.len + ARENA_SPARE);
    dg_buf_init(&g->text, TEXT_MAX);
    g->asked = *ask;
    g->asked.prompt = dg_arena_copy(&g->arena, ask->prompt);
    g->asked.search.max_ratio = 0;
    dg_flow_init(&g->flow, ask->priority, ask->client);
    enum dg_err err = g->asked.prompt.ptr ? copy_stops(g, ask, error) : DG_ERR_NOMEM;
    if (err) {
        free_generation(g);
        return err == DG_ERR_NOMEM ? dg_error_set(error, err, "no memory for a generation") : err;
    }
    *out = g;
    return DG_OK;
}

static bool fits(const struct dg_served_model *model, const void *arg)
{
    (void)arg;
    return dg_blueprint_family(&model->blueprint)->has_prompt;
}

/* Finds the language model that is meant. */
static enum dg_err find_model(const struct dg_tasks *tasks, const struct dg_generate *ask,
                              struct dg_error *error, struct dg_served_model **found)
{
    const struct dg_registry_wish wish = {.name = ask->model,
                                          .only = ask->only,
                                          .n_only = ask->n_only,
                                          .fits = fits,
                                          .one = "language model",
                                          .several = "language models"};
    enum dg_err err = dg_registry_choose(tasks->registry, &wish, error, found);
    if (!err && !fits(*found, NULL))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "%s translates; expected a language model",
                           (*found)->name);
    return err;
}

/* ---- Beginning ------------------------------------------------------------------------------- */

/* Finds out whether a prompt is far longer than the model's context. Such a prompt is refused after
 * its beginning was tokenised, because tokenising 4 MB would take the thread a second. If the
 * beginning has few tokens (blanks, for instance), the whole prompt is read. */
static bool begins_too_long(struct dg_prompt_reading *reading, struct dg_tokenizer_work *work)
{
    const size_t most = reading->model->limits.source_max, len = most * BYTES_A_TOKEN + MUCH_PROMPT;
    struct dg_token *tokens = NULL;
    size_t n = 0;
    if (reading->prompt.len / 2 < len)
        return false;
    const enum dg_err err =
        dg_prompt_encode(reading->model, work, dg_utf8_clip(reading->prompt, len),
                         reading->reads_special, NULL, &tokens, &n);
    dg_free(tokens);
    if (err || n <= most + SEAM)
        return false;
    reading->err =
        dg_error_set(&reading->error, DG_ERR_RANGE,
                     "the prompt has more than %zu tokens, expected at most %zu", n - SEAM, most);
    return true;
}

static void read_prompt(struct dg_prompt_reading *reading, struct dg_tokenizer_work *work)
{
    if (begins_too_long(reading, work))
        return;
    reading->err = dg_prompt_encode(reading->model, work, reading->prompt, reading->reads_special,
                                    &reading->error, &reading->tokens, &reading->n);
}

static void run_reading(struct dg_background_task *task)
{
    struct dg_prompt_reading *reading = (struct dg_prompt_reading *)task;
    if (atomic_load(&task->is_unwanted)) {
        reading->err = DG_ERR_CANCELLED;
        return;
    }
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    reading->err = work ? DG_OK : DG_ERR_NOMEM;
    if (work)
        read_prompt(reading, work);
    dg_tokenizer_work_free(work);
}

/* Takes the prompt back from the background thread once that has finished. */
static void take_prompt(struct dg_generation *g)
{
    if (!g->is_being_read || !dg_background_is_done(&g->reading->task))
        return;
    g->is_being_read = false;
    g->task.n_open--;
}

/* Tokenises the prompt on this thread or, if it is long, on the background thread. */
static enum dg_err need_reading(struct dg_generation *g, struct dg_error *error)
{
    /* another version of the model was published meanwhile */
    if (g->reading && g->reading->model != g->task.model) {
        free_reading(g->reading);
        g->reading = NULL;
    }
    if (g->reading)
        return DG_OK;
    struct dg_prompt_reading *reading = dg_try_calloc(1, sizeof *reading);
    if (!reading)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a prompt");
    reading->model = dg_served_model_ref(g->task.model);
    reading->prompt = g->asked.prompt;
    reading->reads_special = g->asked.reads_special;
    g->reading = reading;
    if (reading->prompt.len >= MUCH_PROMPT &&
        dg_background_begin(&g->task.tasks->background, &reading->task, run_reading) == DG_OK) {
        g->is_being_read = true;
        g->task.n_open++;
        return DG_OK;
    }
    read_prompt(reading, g->task.tasks->work);
    return DG_OK;
}

/* Takes the prompt's ids, at most as many as the model reads. */
static enum dg_err take_ids(const struct dg_generation *g, struct dg_error *error, int32_t **ids)
{
    const struct dg_prompt_reading *reading = g->reading;
    if (reading->err)
        return dg_error_set(error, reading->err, "%s",
                            dg_error_text(&reading->error, reading->err));
    if (reading->n > g->task.model->limits.source_max)
        return dg_error_set(error, DG_ERR_RANGE, "the prompt has %zu tokens, expected at most %zu",
                            reading->n, g->task.model->limits.source_max);
    *ids = dg_try_calloc(reading->n + 1, sizeof **ids);
    for (size_t i = 0; *ids && i < reading->n; i++)
        (*ids)[i] = reading->tokens[i].id;
    return *ids ? DG_OK : dg_error_set(error, DG_ERR_NOMEM, "no memory for a prompt");
}

static enum dg_err make_ticket(struct dg_generation *g, const int32_t *ids, size_t n,
                               struct dg_error *error)
{
    const struct dg_served_model *model = g->task.model;
    dg_search_opts_complete(&g->asked.search, &model->blueprint, (struct dg_search_usual){0}, 0);
    enum dg_err err = dg_sched_check(model->place, ids, n, &g->asked.search, error);
    if (err)
        return err;
    size_t cap = (size_t)dg_search_opts_cap(&g->asked.search, n);
    cap = cap < model->limits.target_max ? cap : model->limits.target_max;
    g->ticket = dg_ticket_new(model->place, ids, n, &g->asked.search, cap);
    if (!g->ticket)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a ticket");
    g->ticket->ctx = g;
    g->ticket->kind = DG_TICKET_GENERATION;
    g->ticket->deadline_ns = g->task.deadline_ns;
    g->ticket->is_quiet =
        !g->events->on_delta && g->asked.n_stops == 0 && model->blueprint.lm.n_stop == 0;
    return DG_OK;
}

/* Finds the model and makes the ticket, unless the prompt is being read first. */
static enum dg_err prepare(struct dg_generation *g, struct dg_error *error)
{
    struct dg_served_model *model = NULL;
    int32_t *ids = NULL;
    enum dg_err err = find_model(g->task.tasks, &g->asked, error, &model);
    if (!err)
        err = dg_task_await(&g->task, model, error);
    if (!err)
        err = need_reading(g, error);
    if (err || g->is_being_read)
        return err;
    err = take_ids(g, error, &ids);
    if (!err)
        err = make_ticket(g, ids, g->reading->n, error);
    dg_free(ids);
    free_reading(g->reading);
    g->reading = NULL;
    return err;
}

static enum dg_err send(struct dg_generation *g, uint64_t *retry_ms, struct dg_error *error)
{
    if (!g->has_stream) {
        dg_tokenizer_stream_init(&g->stream, g->task.model->tokenizer, TEXT_MAX);
        dg_tokenizer_stream_goes_on(&g->stream);
        g->has_stream = true;
    }
    enum dg_err err = dg_sched_submit(g->task.tasks->sched, &g->flow, g->ticket, retry_ms);
    if (err)
        return dg_error_set(error, err, "%s",
                            err == DG_ERR_BUSY ? "the server is busy; try again later"
                                               : dg_err_sentence(err));
    g->is_sent = true;
    g->task.n_open++;
    return DG_OK;
}

static enum dg_err begin(struct dg_task *task, struct dg_task_turn *turn, struct dg_error *error)
{
    struct dg_generation *g = generation_of(task);
    enum dg_err err = DG_OK;
    take_prompt(g);
    if (task->err || g->is_sent)
        return DG_OK;
    if (!g->is_being_read && !g->ticket)
        err = prepare(g, error);
    if (!err && g->ticket)
        err = send(g, &turn->retry_ms, error);
    if ((!err || err == DG_ERR_BUSY || err == DG_ERR_NOT_YET) && !g->is_sent && turn->may_tell &&
        dg_task_is_late(task))
        err = dg_error_set(error, DG_ERR_TIMEOUT, "the time allowed ran out before it began");
    return err;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void show(struct dg_generation *g, bool is_last)
{
    const struct dg_span text = dg_buf_span(&g->text);
    const size_t upto =
        text.len - (is_last ? 0 : dg_stop_texts_doubtful(g->asked.stops, g->asked.n_stops, text));
    if (upto <= g->n_told)
        return;
    if (g->events->on_delta && !g->task.err)
        g->events->on_delta(g->ctx, dg_span_sub(text, g->n_told, upto - g->n_told));
    g->n_told = upto;
}

/* Appends text and looks for a stop text. */
static enum dg_err hear(struct dg_generation *g, struct dg_span delta)
{
    const size_t before = g->text.len, reach = DG_GENERATE_STOP_BYTES;
    enum dg_err err = dg_buf_append_span(&g->text, delta);
    if (err || g->asked.n_stops == 0)
        return err;
    size_t from = before > reach ? before - reach : 0;
    from = from > g->n_told ? from : g->n_told;
    const size_t at =
        dg_stop_texts_find(g->asked.stops, g->asked.n_stops, dg_buf_span(&g->text), from);
    if (at != SIZE_MAX) {
        dg_buf_truncate(&g->text, at);
        g->is_ended = g->was_stopped = true;
    }
    return DG_OK;
}

static bool is_stop_token(const struct dg_generation *g, int32_t id)
{
    const struct dg_lm *lm = &g->task.model->blueprint.lm;
    for (size_t i = 0; i < lm->n_stop; i++)
        if (lm->stop[i] == id)
            return true;
    return false;
}

/* Tokens [n_fed, n) of `ids`. */
static enum dg_err feed(struct dg_generation *g, const int32_t *ids, size_t n)
{
    enum dg_err err = DG_OK;
    for (; g->n_fed < n && !g->is_ended && !err; g->n_fed++) {
        struct dg_span delta;
        if (is_stop_token(g, ids[g->n_fed])) {
            g->is_ended = true;
            break;
        }
        if (ids[g->n_fed] == g->task.model->blueprint.eos_id)
            continue;
        err = dg_tokenizer_stream_push(&g->stream, ids[g->n_fed], &delta);
        if (err == DG_ERR_RANGE) { /* an id beyond the vocabulary, from a padded output row, stands
                                      for no text */
            err = DG_OK;
            continue;
        }
        if (!err)
            err = hear(g, delta);
    }
    return err;
}

static enum dg_err end_text(struct dg_generation *g)
{
    struct dg_span delta;
    if (g->is_ended)
        return DG_OK;
    enum dg_err err = dg_tokenizer_stream_finish(&g->stream, &delta);
    return err ? err : hear(g, delta);
}

static void take(struct dg_tasks *tasks, struct dg_ticket *ticket, bool is_over)
{
    struct dg_generation *g = ticket->ctx;
    const bool was_ended = g->is_ended;
    enum dg_err err = DG_OK;
    if (!g->task.err)
        err = feed(g, ticket->shown_ids, dg_ticket_shown(ticket));
    if (is_over) {
        g->task.n_open--;
        g->task.is_done = true;
        if (!err && ticket->err && !(ticket->err == DG_ERR_CANCELLED && g->is_ended))
            err = ticket->err;
        if (!err && !g->is_ended && ticket->n_answers > 0)
            err = feed(g, ticket->answers[0].ids, ticket->answers[0].n_ids);
        if (!err)
            err = end_text(g);
        if (!err && !g->is_ended && ticket->n_answers > 0 &&
            ticket->answers[0].finish == DG_FINISH_FAILED)
            err =
                dg_error_set(&g->task.error, DG_ERR_INTEGRITY,
                             "the model gave scores that are not finite; its weights are damaged");
    }
    if (err && !g->task.err)
        g->task.err = err;
    show(g, is_over || g->is_ended);
    if (!is_over && ((g->is_ended && !was_ended) || err))
        dg_sched_cancel(tasks->sched, ticket);
}

static void cancel(struct dg_task *task)
{
    struct dg_generation *g = generation_of(task);
    if (g->is_being_read)
        dg_background_leave(&g->reading->task);
    if (g->is_sent && task->n_open > 0)
        dg_sched_cancel(task->tasks->sched, g->ticket);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Makes texts of the other answers, cut where they are to end. */
static enum dg_err gather_others(struct dg_generation *g, struct dg_buf *bytes,
                                 struct dg_span *others, size_t *n)
{
    const struct dg_ticket *ticket = g->ticket;
    size_t ends[DG_BEAM_MAX];
    enum dg_err err = DG_OK;
    *n = 0;
    for (size_t k = 1; k < ticket->n_answers && k < DG_BEAM_MAX && !err; k++) {
        dg_tokenizer_stream_reset(&g->stream);
        dg_buf_clear(&g->text);
        g->n_fed = g->n_told = 0;
        g->is_ended = false;
        err = feed(g, ticket->answers[k].ids, ticket->answers[k].n_ids);
        if (!err)
            err = end_text(g);
        if (!err)
            err = dg_buf_append_span(bytes, dg_buf_span(&g->text));
        ends[(*n)++] = bytes->len;
    }
    for (size_t i = 0; i < *n; i++)
        others[i] =
            dg_span_sub(dg_buf_span(bytes), i ? ends[i - 1] : 0, ends[i] - (i ? ends[i - 1] : 0));
    return err;
}

static void tell_end(struct dg_generation *g)
{
    const uint64_t now_ns = dg_task_now(&g->task);
    const struct dg_ticket *ticket = g->ticket;
    struct dg_span others[DG_BEAM_MAX];
    struct dg_buf best, rest;
    struct dg_generated result = {.err = g->task.err,
                                  .model = g->task.model ? g->task.model->name : "",
                                  .others = others,
                                  .finish = DG_FINISH_CANCELLED,
                                  .was_stopped = g->was_stopped,
                                  .total_ns = now_ns - g->task.began_ns,
                                  .queue_ns = now_ns - g->task.began_ns};
    dg_buf_init(&best, TEXT_MAX);
    dg_buf_init(&rest, (size_t)TEXT_MAX * DG_BEAM_MAX);
    if (ticket && ticket->started_ns) {
        result.n_tokens_in = ticket->n_src;
        result.n_tokens_out = dg_ticket_shown(ticket);
        result.queue_ns = ticket->started_ns - g->task.began_ns;
        result.first_ns =
            ticket->first_ns > g->task.began_ns ? ticket->first_ns - g->task.began_ns : 0;
    }
    if (ticket && ticket->n_answers > 0) {
        result.n_tokens_out = 0;
        for (size_t k = 0; k < ticket->n_answers; k++)
            result.n_tokens_out += ticket->answers[k].n_ids;
        result.finish = ticket->answers[0].finish;
        result.logprob = ticket->answers[0].logprob;
        result.repaired = ticket->answers[0].repaired;
    }
    if (g->is_ended && !g->task.err)
        result.finish = DG_FINISH_EOS;
    if (!result.err)
        result.err = dg_buf_append_span(&best, dg_buf_span(&g->text));
    if (!result.err && ticket && ticket->n_answers > 1)
        result.err = gather_others(g, &rest, others, &result.n_others);
    result.text = dg_buf_span(&best);
    if (result.err)
        result.error = g->task.error.text[0] ? g->task.error.text : NULL;
    g->events->on_done(g->ctx, &result);
    dg_buf_deinit(&best);
    dg_buf_deinit(&rest);
}

static void finish(struct dg_task *task)
{
    struct dg_generation *g = generation_of(task);
    if (dg_task_ends(task))
        tell_end(g);
    if (task->n_open == 0)
        free_generation(g);
}

const struct dg_task_ops dg_generation_ops = {begin, take, cancel, finish};

enum dg_err dg_generation_submit(struct dg_tasks *tasks, const struct dg_generate *ask,
                                 const struct dg_generate_events *events, void *ctx,
                                 struct dg_error *error, uint64_t *retry_ms, uint64_t *id)
{
    struct dg_generation *g = NULL;
    struct dg_served_model *model = NULL;
    struct dg_search_opts search = ask->search;
    size_t bad_at;
    if (!dg_utf8_valid(ask->prompt, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "the prompt is not valid UTF-8 at byte %zu",
                            bad_at);
    search.min_len = 0; /* a prompt of any length may leave no room for a minimum */
    enum dg_err err = dg_tasks_check_search(tasks, &search, error);
    if (!err)
        err = dg_tasks_check_room(tasks, ask->prompt.len, error, retry_ms);
    if (!err)
        err = find_model(tasks, ask, error, &model);
    if (!err)
        err = dg_search_opts_check(&ask->search, model->blueprint.decoder.V, error);
    if (!err)
        err = new_generation(tasks, ask, error, &g);
    if (err)
        return err;
    g->events = events;
    g->ctx = ctx;
    return dg_tasks_submit(tasks, &g->task, error, retry_ms, id);
}
