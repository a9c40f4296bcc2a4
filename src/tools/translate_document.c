/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate --format: all of stdin is one document, whose markup comes back around what it was around. The
 * same layer (text/doc.h) and engine as the daemon's. What is final is written as it comes. */
#include "base/mem.h"
#include "engine/engine.h"
#include "tools/translate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENT_MAX = 256 << 20, BLOCK = 64 * 1024 };

struct document {
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool has_news; /* guarded by the lock */
    bool is_over;
    struct translate_totals *totals;
    enum dg_err err;
    bool cannot_write;
};

/* By workers. */
static void wake(void *arg)
{
    struct document *document = arg;
    pthread_mutex_lock(&document->lock);
    document->has_news = true;
    pthread_cond_signal(&document->news);
    pthread_mutex_unlock(&document->lock);
}

static void wait_for_news(struct document *document)
{
    pthread_mutex_lock(&document->lock);
    while (!document->has_news)
        pthread_cond_wait(&document->news, &document->lock);
    document->has_news = false;
    pthread_mutex_unlock(&document->lock);
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct document *document = ctx;
    document->cannot_write |= fwrite(text.ptr, 1, text.len, stdout) != text.len;
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct document *document = ctx;
    document->err = result->err;
    document->is_over = true;
    document->totals->n_lines = 1;
    translate_count(document->totals, result->n_sentences, result->n_tokens_in, result->n_tokens_out, result->finish,
                    result->repaired);
    translate_count_terms(document->totals, result);
}

static enum dg_err read_all(struct dg_buf *text, struct dg_why *why)
{
    char block[BLOCK];
    size_t n;
    enum dg_err err = DG_OK;
    while (!err && (n = fread(block, 1, sizeof block, stdin)) > 0)
        err = dg_buf_append(text, block, n);
    if (err)
        return dg_why_set(why, err, "the document does not fit into %d MiB of memory", DOCUMENT_MAX >> 20);
    return ferror(stdin) ? dg_why_set(why, DG_ERR_IO, "cannot read stdin: %s", strerror(errno)) : DG_OK;
}

enum dg_err translate_document(const struct translate *flags, const struct dg_engine_opts *opts,
                               const struct dg_engine_request *request, struct translate_totals *totals,
                               struct dg_why *why)
{
    static const struct dg_engine_events events = {on_delta, NULL, on_done};
    struct document document = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER, .totals = totals};
    struct dg_engine_opts own = *opts;
    struct dg_engine_request whole = *request;
    struct dg_engine *engine = NULL;
    struct dg_buf text;
    own.wake = wake;
    own.wake_arg = &document;
    dg_buf_init(&text, DOCUMENT_MAX);
    enum dg_err err = read_all(&text, why);
    if (!err)
        err = dg_engine_new(&own, why, &engine);
    if (!err)
        err = translate_load(engine, flags, request->model, why);
    whole.text = dg_buf_span(&text);
    whole.format = (enum dg_doc_format)flags->format;
    if (!err)
        err = dg_engine_submit(engine, &whole, &events, &document, why, NULL, NULL);
    while (!err && !document.is_over) {
        wait_for_news(&document);
        dg_engine_poll(engine);
    }
    dg_engine_free(engine);
    dg_buf_deinit(&text);
    if (!err && document.err)
        err = dg_why_set(why, document.err, "%s", dg_err_sentence(document.err));
    if (!err && (document.cannot_write || fflush(stdout) != 0))
        err = dg_why_set(why, DG_ERR_IO, "cannot write stdout: %s", strerror(errno));
    return err;
}
