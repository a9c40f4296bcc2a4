/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate --server: the lines go to a running daemon. The client library (clients/c)
 * runs on a thread of its own with an event loop; lines and answers are passed through two lists
 * under one lock.
 *     main thread:  start -> [asked] -> wake the loop
 *     loop thread:  takes from [asked], dragoman_translate_n, on_event ... into [answered]
 *     main thread:  poll <- [answered], woken by the loop */
#include "base/json/json.h"
#include "base/memory/mem.h"
#include "clients/c/dragoman.h"
#include "text/terms/glossary.h"
#include "tools/line_pipe.h"
#include "tools/server_options.h"
#include "tools/translate/translate.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW = 32, OPTIONS_MAX = 16 << 20, KEY_MAX = 512, TEXT_MAX = 1 << 28 };

struct remote {
    const struct translate *flags;
    const char *options;
    struct line_pipe *pipe;
    struct translate_totals *totals;
    uv_loop_t loop;
    uv_async_t news;
    uv_thread_t thread;
    struct dragoman *server; /* used only on the loop's thread */
    pthread_mutex_t lock;
    struct dg_list asked, answered; /* lists of struct question */
    bool is_over;
};

/* A line that is sent to the daemon, and its answer. */
struct question {
    struct dg_list link;
    struct remote *remote;
    struct line *line;
    struct dg_buf text;     /* what has arrived and was not printed yet */
    char *failure;          /* owned; NULL: the question was answered */
    bool is_over, is_short; /* is_short: memory ran out for its text */
    int64_t n_sentences, n_tokens_in, n_tokens_out;
    size_t n_terms, n_missed;
};

/* ---- On the loop's thread -------------------------------------------------------------------- */

/* Called with the lock held; after the lock is released, the question may no longer exist. */
static void give_back(struct question *question)
{
    if (dg_list_is_empty(&question->link))
        dg_list_link_last(&question->remote->answered, &question->link);
}

static void set_failure(struct question *question, const char *code, const char *message)
{
    size_t size = strlen(code) + strlen(message) + 4;
    question->failure = dg_xmalloc(size);
    snprintf(question->failure, size, "%s (%s)", message, code);
}

/* Reads the counts in the server's answer. */
static void read_usage(struct question *question, struct dg_span answer)
{
    const struct dg_json_limits limits = {
        .max_bytes = answer.len + 1, .max_depth = 16, .max_values = 1 << 20};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *json;
    if (dg_json_parse(answer, &limits, &error, &json) != DG_OK)
        return;
    const struct dg_json *usage = dg_json_get(json, "usage");
    (void)!dg_json_get_int(usage, "sentences", DG_JSON_OPTIONAL, 0, INT32_MAX, &error,
                           &question->n_sentences);
    (void)!dg_json_get_int(usage, "input_tokens", DG_JSON_OPTIONAL, 0, INT32_MAX, &error,
                           &question->n_tokens_in);
    (void)!dg_json_get_int(usage, "output_tokens", DG_JSON_OPTIONAL, 0, INT32_MAX, &error,
                           &question->n_tokens_out);
    const struct dg_json *items = dg_json_get(json, "translations");
    const struct dg_json *terms =
        dg_json_get(dg_json_type(items) == DG_JSON_ARRAY ? dg_json_at(items, 0) : json, "terms");
    for (size_t i = 0; dg_json_type(terms) == DG_JSON_ARRAY && i < dg_json_len(terms); i++) {
        bool is_used = true;
        (void)!dg_json_get_bool(dg_json_at(terms, i), "used", DG_JSON_OPTIONAL, &error, &is_used);
        question->n_terms++;
        question->n_missed += !is_used;
    }
    dg_json_free(json);
}

static void on_event(void *user, const struct dragoman_event *event)
{
    struct question *question = user;
    struct remote *remote = question->remote;
    pthread_mutex_lock(&remote->lock);
    switch (event->kind) {
    case DRAGOMAN_TOKEN:
        question->is_short |= dg_buf_append(&question->text, event->text, event->len) != DG_OK;
        break;
    case DRAGOMAN_FAILED:
        set_failure(question, event->code, event->message);
        question->is_over = true;
        break;
    case DRAGOMAN_DONE:
        read_usage(question, dg_span_make(event->json, event->json_len));
        question->is_over = true;
        break;
    default:
        break;
    }
    bool is_news = question->is_over || remote->flags->stream;
    if (is_news)
        give_back(question);
    pthread_mutex_unlock(&remote->lock);
    if (is_news)
        line_pipe_wake(remote->pipe);
}

static void ask(struct remote *remote, struct question *question)
{
    const struct line *line = question->line;
    if (dragoman_translate_n(remote->server, line->text, line->len, remote->options, on_event,
                             question))
        return;
    pthread_mutex_lock(&remote->lock);
    set_failure(question, "invalid_utf8", "the line is not valid UTF-8");
    question->is_over = true;
    give_back(question);
    pthread_mutex_unlock(&remote->lock);
    line_pipe_wake(remote->pipe);
}

static void on_news(uv_async_t *async)
{
    struct remote *remote = async->data;
    for (;;) {
        pthread_mutex_lock(&remote->lock);
        struct dg_list *first = dg_list_pop_first(&remote->asked);
        bool is_over = remote->is_over;
        pthread_mutex_unlock(&remote->lock);
        if (!first) {
            if (is_over) {
                dragoman_close(remote->server);
                uv_close((uv_handle_t *)async, NULL);
            }
            return;
        }
        ask(remote, DG_LIST_ITEM(first, struct question, link));
    }
}

static void run_loop(void *arg)
{
    struct remote *remote = arg;
    uv_run(&remote->loop, UV_RUN_DEFAULT);
}

/* ---- On the main thread ---------------------------------------------------------------------- */

static enum dg_err start(void *ctx, struct line *line)
{
    struct remote *remote = ctx;
    bool is_blank = strspn(line->text, " \t\r") == line->len;
    if (is_blank) { /* nothing to translate: the line is returned unchanged */
        line->is_done = true;
        remote->totals->n_lines++;
        return dg_buf_append(&line->out, line->text, line->len);
    }
    struct question *question = dg_try_calloc(1, sizeof *question);
    if (!question)
        return DG_ERR_NOMEM;
    question->remote = remote;
    question->line = line;
    dg_list_init(&question->link);
    dg_buf_init(&question->text, TEXT_MAX);
    pthread_mutex_lock(&remote->lock);
    dg_list_link_last(&remote->asked, &question->link);
    pthread_mutex_unlock(&remote->lock);
    uv_async_send(&remote->news);
    return DG_OK;
}

/* Called with the lock held. */
static void take_answer(struct remote *remote, struct question *question)
{
    struct line *line = question->line;
    question->is_short |= dg_buf_append_span(&line->out, dg_buf_span(&question->text)) != DG_OK;
    dg_buf_clear(&question->text);
    if (!question->is_over)
        return;
    if (question->failure || question->is_short) {
        fprintf(stderr, "dragoman translate: line %zu: %s\n", line->number,
                question->failure ? question->failure : "there is no memory for the answer");
        remote->totals->n_failed++;
    }
    translate_count(remote->totals, (size_t)question->n_sentences, (size_t)question->n_tokens_in,
                    (size_t)question->n_tokens_out, DG_FINISH_EOS, false);
    remote->totals->n_lines++;
    remote->totals->n_terms += question->n_terms;
    remote->totals->n_missed += question->n_missed;
    line->is_done = true;
    dg_free(question->failure);
    dg_buf_deinit(&question->text);
    dg_free(question);
}

static void poll_answers(void *ctx)
{
    struct remote *remote = ctx;
    pthread_mutex_lock(&remote->lock);
    for (struct dg_list *at; (at = dg_list_pop_first(&remote->answered));) {
        dg_list_init(at);
        take_answer(remote, DG_LIST_ITEM(at, struct question, link));
    }
    pthread_mutex_unlock(&remote->lock);
}

static enum dg_err run_server(struct remote *remote, struct line_pipe *pipe, struct dg_error *error)
{
    remote->news.data = remote;
    uv_async_init(&remote->loop, &remote->news, on_news);
    if (uv_thread_create(&remote->thread, run_loop, remote) != 0)
        return dg_error_set(error, DG_ERR_NOMEM, "cannot start a thread");
    enum dg_err err = line_pipe_run(pipe, error);
    pthread_mutex_lock(&remote->lock);
    remote->is_over = true;
    pthread_mutex_unlock(&remote->lock);
    uv_async_send(&remote->news);
    uv_thread_join(&remote->thread);
    return err;
}

enum dg_err translate_server(const struct dg_opt_set *set, const struct translate *flags,
                             struct translate_totals *totals, struct dg_error *error)
{
    char key[KEY_MAX];
    const char *reason;
    struct dg_buf options;
    struct remote remote = {.flags = flags, .totals = totals};
    struct line_pipe pipe = {.start = start,
                             .poll = poll_answers,
                             .ctx = &remote,
                             .window = flags->stream ? 1 : WINDOW,
                             .is_streaming = flags->stream};
    dg_buf_init(&options, OPTIONS_MAX);
    struct dg_glossary *glossary = NULL;
    enum dg_err err = translate_glossary(flags->glossary, error, &glossary);
    totals->has_glossary = glossary != NULL;
    if (!err)
        err = server_options(set, &flags->remote, &flags->search, &flags->text, flags->model,
                             flags->whole_lines ? "whole" : NULL,
                             flags->formality ? translate_formality_words[flags->formality] : NULL,
                             &options);
    if (!err && glossary)
        err = server_options_glossary(glossary, &options);
    dg_glossary_unref(glossary);
    if (!err)
        err = server_key(&flags->remote, key, sizeof key, error);
    if (!err && uv_loop_init(&remote.loop) < 0)
        err = DG_ERR_NOMEM;
    if (err) {
        dg_buf_deinit(&options);
        return err;
    }
    remote.options = options.ptr;
    remote.pipe = &pipe;
    remote.server = dragoman_open(&remote.loop, flags->remote.server, *key ? key : NULL, &reason);
    if (!remote.server)
        err = dg_error_set(error, DG_ERR_USAGE, "--server %s: %s", flags->remote.server, reason);
    pthread_mutex_init(&remote.lock, NULL);
    dg_list_init(&remote.asked);
    dg_list_init(&remote.answered);
    line_pipe_init(&pipe);
    if (!err)
        err = run_server(&remote, &pipe, error);
    line_pipe_deinit(&pipe);
    pthread_mutex_destroy(&remote.lock);
    uv_loop_close(&remote.loop);
    dg_buf_deinit(&options);
    return err;
}
