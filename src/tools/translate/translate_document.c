/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman translate --format: all of stdin is one document, and its markup comes back around the
 * translations of the same words. It uses the same layer (markup/doc.h) and engine as the daemon.
 * Text is written as soon as it is final. */
#include "engine/engine.h"
#include "tools/bell.h"
#include "tools/lines.h"
#include "tools/translate/translate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENT_MAX = 256 << 20 };

struct document {
    struct bell bell;
    bool is_over;
    struct translate_totals *totals;
    enum dg_err err;
    bool cannot_write;
};

static void on_delta(void *ctx, struct dg_span text)
{
    struct document *document = ctx;
    document->cannot_write |= fwrite(text.ptr, 1, text.len, stdout) != text.len;
}

static void on_document_done(void *ctx, const struct dg_engine_result *result)
{
    struct document *document = ctx;
    document->err = result->err;
    document->is_over = true;
    document->totals->n_lines = 1;
    translate_count(document->totals, result->n_sentences, result->n_tokens_in,
                    result->n_tokens_out, result->finish, result->repaired);
    translate_count_terms(document->totals, result);
}

enum dg_err translate_document(const struct translate *flags, const struct dg_engine_opts *opts,
                               const struct dg_engine_request *request,
                               struct translate_totals *totals, struct dg_error *error)
{
    static const struct dg_engine_events events = {on_delta, NULL, on_document_done};
    struct document document = {.bell = BELL, .totals = totals};
    struct dg_engine_opts own = *opts;
    struct dg_engine_request whole = *request;
    struct dg_engine *engine = NULL;
    struct dg_buf text;
    own.wake = bell_ring;
    own.wake_arg = &document.bell;
    dg_buf_init(&text, DOCUMENT_MAX);
    enum dg_err err = dg_lines_document(&text, error);
    if (!err)
        err = dg_engine_new(&own, error, &engine);
    if (!err)
        err = translate_load(engine, flags, request->model, error);
    whole.text = dg_buf_span(&text);
    whole.format = (enum dg_doc_format)flags->format;
    if (!err)
        err = dg_engine_submit(engine, &whole, &events, &document, error, NULL, NULL);
    while (!err && !document.is_over) {
        bell_wait(&document.bell);
        dg_engine_poll(engine);
    }
    dg_engine_free(engine);
    dg_buf_deinit(&text);
    if (!err && document.err)
        err = dg_error_set(error, document.err, "%s", dg_err_sentence(document.err));
    if (!err && (document.cannot_write || fflush(stdout) != 0))
        err = dg_error_set(error, DG_ERR_IO, "cannot write stdout: %s", strerror(errno));
    return err;
}
