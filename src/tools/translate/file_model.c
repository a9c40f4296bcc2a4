/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman file with the model of --model, or with the installed models: one request to an engine
 * in this process. */
#include "engine/engine.h"
#include "tools/bell.h"
#include "tools/installed_models.h"
#include "tools/translate/file.h"

#include <stdio.h>
#include <string.h>

struct local {
    struct file_work *work;
    struct bell bell;
    bool is_over;
    enum dg_err err;
    struct dg_error error;
};

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct local *local = ctx;
    dg_progress_show(&local->work->progress, sentence->at + sentence->len);
}

static void on_document_done(void *ctx, const struct dg_engine_result *result)
{
    struct local *local = ctx;
    struct file_work *work = local->work;
    local->is_over = true;
    local->err = result->err;
    if (result->err)
        dg_error_set(&local->error, result->err, "%s",
                     result->error ? result->error : dg_err_sentence(result->err));
    else
        local->err = dg_buf_append_span(&work->result, result->text);
    work->n_sentences = result->n_sentences;
    if (result->target)
        snprintf(work->target, sizeof work->target, "%s", result->target);
    work->n_lost = result->n_lost;
    if (!result->err && result->is_foreign)
        installed_tell_foreign("file: the text", result->detected, result->confidence,
                               work->flags->remote.target);
}

/* Gets the last part of the model's path: "fr-en" states its languages. */
static void name_of(const char *path, char *name, size_t cap)
{
    size_t end = strlen(path), from;
    while (end > 0 && path[end - 1] == '/')
        end--;
    for (from = end; from > 0 && path[from - 1] != '/'; from--)
        ;
    snprintf(name, cap, "%.*s", (int)(end - from < cap ? end - from : cap - 1), path + from);
}

static enum dg_err load(struct dg_engine *engine, const struct file_flags *flags, const char *name,
                        const struct dg_model_folders *places, struct dg_error *error)
{
    if (*flags->model)
        return dg_engine_load(engine, name, flags->model, NULL, NULL, error);
    enum dg_err err = installed_offer(places, engine, error);
    return err ? err : installed_check_target(engine, flags->remote.target, error);
}

enum dg_err file_by_model(struct file_work *work, struct dg_error *error)
{
    static const struct dg_engine_events events = {.on_sentence = on_sentence,
                                                   .on_done = on_document_done};
    const struct file_flags *flags = work->flags;
    struct local local = {.work = work, .bell = BELL};
    struct dg_model_folders places;
    dg_model_folders_find(&places);
    const struct dg_engine_opts opts = {.n_threads = (size_t)flags->threads,
                                        .langid_path = *flags->model ? NULL : places.langid,
                                        .wake = bell_ring,
                                        .wake_arg = &local.bell};
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_engine *engine = NULL;
    char name[64];
    name_of(flags->model, name, sizeof name);
    enum dg_err err = dg_engine_new(&opts, error, &engine);
    if (!*name)
        snprintf(name, sizeof name, "model");
    if (!err)
        err = load(engine, flags, name, &places, error);
    request.model = *flags->model ? name : NULL;
    request.source = *flags->remote.source ? flags->remote.source : NULL;
    request.target = *flags->remote.target ? flags->remote.target : NULL;
    request.usual_beam = flags->beam == 0;
    request.usual_length = true;
    if (flags->beam)
        request.search.beam = (size_t)flags->beam;
    if (!err) /* asked without the text, whose language could be guessed wrongly */
        err = dg_engine_can(engine, &request, error);
    request.text = work->text;
    request.format = work->format;
    request.doc = work->opts;
    if (!err)
        err = dg_engine_submit(engine, &request, &events, &local, error, NULL, NULL);
    while (!err && !local.is_over) {
        bell_wait(&local.bell);
        dg_engine_poll(engine);
    }
    if (!err && local.err)
        err = dg_error_set(error, local.err, "%s", dg_error_text(&local.error, local.err));
    if (err && engine && !*flags->model)
        err = installed_explain(engine, err, error);
    dg_engine_free(engine);
    return err;
}
