/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman file --server: one request to a daemon, through the client library (clients/c). */
#include "base/json/json.h"
#include "clients/c/dragoman.h"
#include "tools/translate/file.h"

#include <string.h>

enum { OPTIONS_MAX = 64 << 10, KEY_MAX = 512 };

struct remote {
    struct file_work *work;
    enum dg_err err;
    struct dg_error *error;
};

/* Reads {"start":..,"length":..}, which says how far the translation is. */
static void take_sentence(struct remote *remote, struct dg_span json)
{
    const struct dg_json_limits limits = {
        .max_bytes = json.len + 1, .max_depth = 8, .max_values = 1 << 16};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *sentence;
    int64_t start = 0, length = 0;
    remote->work->n_sentences++;
    if (dg_json_parse(json, &limits, &error, &sentence) != DG_OK)
        return;
    (void)!dg_json_get_int(sentence, "start", DG_JSON_OPTIONAL, 0, INT64_MAX / 2, &error, &start);
    (void)!dg_json_get_int(sentence, "length", DG_JSON_OPTIONAL, 0, INT64_MAX / 2, &error, &length);
    dg_progress_show(&remote->work->progress, (uint64_t)(start + length));
    dg_json_free(sentence);
}

static void on_event(void *user, const struct dragoman_event *event)
{
    struct remote *remote = user;
    switch (event->kind) {
    case DRAGOMAN_SENTENCE:
        take_sentence(remote, dg_span_make(event->json, event->json_len));
        break;
    case DRAGOMAN_FAILED:
        remote->err =
            dg_error_set(remote->error, DG_ERR_IO, "%s (%s)", event->message, event->code);
        break;
    case DRAGOMAN_DONE:
        remote->err = dg_buf_append(&remote->work->result, event->text, event->len);
        break;
    default:
        break;
    }
}

/* Writes the options of POST /v1/translate: those of other commands, and those for a document. */
static enum dg_err put_options(const struct file_work *work, struct dg_buf *json)
{
    const struct file_flags *flags = work->flags;
    enum dg_err err =
        server_options(work->set, &flags->remote, NULL, NULL, flags->model, NULL, NULL, json);
    if (err)
        return err;
    json->len -= strlen("}") + 1;
    err = dg_buf_printf(json, "%s\"format\":\"%s\"", json->len > 1 ? "," : "",
                        dg_doc_format_words[work->format]);
    if (!err && flags->beam)
        err = dg_buf_printf(json, ",\"beam\":%d", (int)flags->beam);
    if (!err)
        err = dg_buf_printf(json, ",\"retranslate\":%s,\"mark\":%s}", flags->all ? "true" : "false",
                            flags->mark ? "true" : "false");
    return err ? err : dg_buf_append_byte(json, '\0');
}

enum dg_err file_by_server(struct file_work *work, struct dg_error *error)
{
    char key[KEY_MAX];
    const char *reason;
    uv_loop_t loop;
    struct dg_buf options;
    struct remote remote = {.work = work, .error = error};
    dg_buf_init(&options, OPTIONS_MAX);
    enum dg_err err = put_options(work, &options);
    if (!err)
        err = server_key(&work->flags->remote, key, sizeof key, error);
    if (err || uv_loop_init(&loop) < 0) {
        dg_buf_deinit(&options);
        return err ? err : DG_ERR_NOMEM;
    }
    struct dragoman *server =
        dragoman_open(&loop, work->flags->remote.server, *key ? key : NULL, &reason);
    if (!server)
        remote.err = dg_error_set(error, DG_ERR_USAGE, "--server %s: %s",
                                  work->flags->remote.server, reason);
    else if (!dragoman_translate_n(server, work->text.ptr, work->text.len, options.ptr, on_event,
                                   &remote))
        remote.err = dg_error_set(error, DG_ERR_NOMEM, "no memory for a request of %zu bytes",
                                  work->text.len);
    uv_run(&loop, UV_RUN_DEFAULT);
    dragoman_close(server);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    dg_buf_deinit(&options);
    return remote.err;
}
