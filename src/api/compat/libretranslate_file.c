/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate_file: a form with `file`, `source`, `target`; the answer names where the
 * translated file lies, for an hour:
 * {"translatedFileUrl":"http://HOST/download_file/ID.name_en.html"}. The address is made of what
 * the client, or a trusted proxy for it, asked for: host, https, and what stood in the path before
 * ours. */
#include "api/compat/libretranslate.h"
#include "api/compat/office_file.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter.h"

#include <stdio.h>

/* ---- The address ----------------------------------------------------------------------------- */

/* What the path of a proxy has before our path: the target as it was sent, up to our path. */
static struct dg_span prefix_of(const struct dg_http_req *req)
{
    struct dg_span target = req->target, path = DG_SPAN("/translate_file");
    if (target.len == 0 || target.ptr[0] != '/')
        return (struct dg_span){NULL, 0};
    for (size_t i = 0; i + path.len <= target.len; i++)
        if (memcmp(target.ptr + i, path.ptr, path.len) == 0)
            return dg_span_sub(target, 0, i);
    return (struct dg_span){NULL, 0};
}

/* "letter_en.html" of "letter.html". */
static enum dg_err put_name(const struct dg_document *document, const char *code,
                            struct dg_buf *url)
{
    const char *dot = strrchr(document->name, '.');
    int stem = dot ? (int)(dot - document->name) : (int)strlen(document->name);
    return dg_buf_printf(url, "%.*s_%s%s", stem, document->name, code, dot ? dot : "");
}

/* The answer, which waits until the file is kept. */
struct answer {
    struct dg_work work;
    char id[DG_DOCUMENT_ID + 1];
    struct dg_buf json;
};

static void free_answer(struct dg_work *work)
{
    struct answer *answer = (struct answer *)work;
    dg_buf_deinit(&answer->json);
    dg_free(answer);
}

static const struct dg_work_ops answer_ops = {.free = free_answer};

static struct dg_failure failure_of(enum dg_err err)
{
    if (err == DG_ERR_NO_SPACE)
        return dg_translate_options_file_failure(err);
    return (struct dg_failure){
        .status = 503,
        .code = "overloaded",
        .retry_after_s = 60,
        .message = err == DG_ERR_NOMEM ? "There is no memory for the file."
                                       : "There is no room for more files; try again later."};
}

static void on_kept(void *ctx, enum dg_err err)
{
    struct answer *answer = ctx;
    struct dg_api *api = answer->work.api;
    struct dg_document *document = NULL;
    if (!answer->work.call || err)
        document =
            dg_documents_find(&api->documents, dg_clock_now(&api->clock), dg_span_cstr(answer->id));
    if (document) /* nobody will fetch it */
        dg_documents_remove(&api->documents, document);
    if (err)
        dg_work_fail(&answer->work, failure_of(err));
    else
        dg_work_give(&answer->work, &answer->json);
}

static enum dg_err put_answer(const struct dg_compat *compat, const struct dg_document *document,
                              struct dg_buf *json)
{
    const struct dg_http_req *req = compat->work.call->req;
    struct dg_span prefix = prefix_of(req);
    struct dg_buf url;
    struct dg_json_out out;
    dg_buf_init(&url, 16 * 1024);
    enum dg_err err =
        dg_buf_printf(&url, "%s://%.*s%.*s/download_file/%s.", req->secure ? "https" : "http",
                      DG_SPAN_FMT(req->public_host), DG_SPAN_FMT(prefix), document->id);
    if (!err)
        err = put_name(document, compat->to->code, &url);
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "translatedFileUrl", dg_buf_span(&url));
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    dg_buf_deinit(&url);
    return err;
}

static enum dg_err keep(struct dg_compat *compat, struct dg_document *document,
                        struct answer *answer)
{
    struct dg_api *api = compat->work.api;
    struct dg_office_file *file = compat->user;
    const struct dg_span text = dg_compat_result(compat, 0);
    if (!file)
        return dg_documents_keep(&api->documents, api->readers, document, text, on_kept, answer);
    compat->user = NULL;
    snprintf(file->language, sizeof file->language, "%s", compat->to->code);
    return dg_documents_keep_office(&api->documents, api->readers, document, file, text, on_kept,
                                    answer);
}

static void on_end(struct dg_compat *compat, const struct dg_failure *failure)
{
    struct dg_call *call = compat->work.call;
    struct dg_api *api = compat->work.api;
    struct dg_document *document = NULL;
    if (failure) {
        dg_call_fail(call, *failure);
        return;
    }
    struct answer *answer = dg_try_calloc(1, sizeof *answer);
    if (!answer) {
        dg_call_fail(call, failure_of(DG_ERR_NOMEM));
        return;
    }
    dg_buf_init(&answer->json, 32 * 1024);
    dg_work_attach(call, &answer->work, &answer_ops);
    const struct dg_field *file = dg_fields_get(&compat->fields, "file");
    enum dg_err err = dg_documents_add(&api->documents, dg_clock_now(&api->clock),
                                       dg_gate_client(call), file->filename, &document);
    if (!err) {
        memcpy(answer->id, document->id, sizeof answer->id);
        dg_document_set_output(document->name, dg_fields_text(&compat->fields, "output_format"));
        err = put_answer(compat, document, &answer->json);
    }
    if (!err)
        err = keep(compat, document, answer);
    if (err)
        on_kept(answer, err);
}

/* ---- The request ----------------------------------------------------------------------------- */

static bool check_given(const struct dg_compat *compat, struct dg_error *error)
{
    static const char *const names[] = {"file", "source", "target"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct dg_field *field = dg_fields_get(&compat->fields, names[i]);
        if (!field || (i > 0 && field->value.len == 0)) {
            dg_error_set(error, DG_ERR_INVALID, "Invalid request: missing %s parameter", names[i]);
            return false;
        }
    }
    return true;
}

static bool check_file(const struct dg_field *file, struct dg_compat *compat,
                       struct dg_error *error)
{
    enum dg_err err = DG_OK;
    if (file->kind != DG_FIELD_FILE || file->filename.len == 0 || file->value.len == 0)
        err = dg_error_set(error, DG_ERR_INVALID, "Invalid request: empty file");
    else if (!dg_document_is_known(file->filename, &compat->job->options.request.format))
        err = dg_error_set(error, DG_ERR_UNSUPPORTED, "Invalid request: file format not supported");
    else if (!dg_filter_takes(file->filename, file->value) && !dg_utf8_valid(file->value, NULL))
        err = dg_error_set(error, DG_ERR_UTF8, "Invalid request: the file is not UTF-8");
    return !err;
}

static void begin(struct dg_compat *compat, struct dg_span text)
{
    if (dg_fields_get(&compat->fields, "file")->is_mapped) {
        if (!dg_compat_hold_text(compat, text.len))
            return;
        compat->arena->max += 8 * text.len;
    }
    if (dg_compat_texts(compat, 1) != DG_OK) {
        dg_compat_fail(compat, 400, "invalid_value", "Cannot translate text: there is no memory");
        return;
    }
    compat->items[0].text = text;
    compat->job->options.request.priority = DG_PRIORITY_BULK;
    compat->on_end = on_end;
    dg_compat_start(compat, NULL);
}

static void undo(struct dg_compat *compat)
{
    dg_office_file_free(compat->user);
}

static void on_office(struct dg_compat *compat, struct dg_office_file *file)
{
    struct dg_error error = DG_ERROR_NONE;
    compat->user = file;
    compat->undo = undo;
    if (file->err) {
        dg_error_set(&error, file->err, "Invalid request: %s",
                     dg_error_text(&file->error, file->err));
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    begin(compat, dg_buf_span(&file->html));
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    if (!dg_documents_are_taken(&call->api->documents)) {
        dg_compat_fail(compat, 403, "unsupported",
                       "Files translation are disabled on this server.");
        return;
    }
    const struct dg_field *file = dg_fields_get(&compat->fields, "file");
    bool is_fine =
        check_given(compat, &error) &&
        dg_libretranslate_language(compat, "source", DG_LANGUAGE_ANY, &compat->from, &error) &&
        dg_libretranslate_language(compat, "target", DG_LANGUAGE_ANY, &compat->to, &error) &&
        dg_libretranslate_pair(compat, &error) && check_file(file, compat, &error);
    if (!is_fine)
        dg_compat_fail(compat, 400, "invalid_value", error.text);
    else if (dg_filter_takes(file->filename, file->value))
        dg_office_file_read(compat, file->filename, file->value, on_office);
    else
        begin(compat, file->value);
}

void dg_libretranslate_translate_file(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}

/* ---- Fetching -------------------------------------------------------------------------------- */

void dg_libretranslate_download_file(struct dg_call *call)
{
    struct dg_api *api = call->api;
    struct dg_span name = call->arg;
    bool is_plain = name.len > DG_DOCUMENT_ID && name.ptr[DG_DOCUMENT_ID] == '.';
    for (size_t i = 0; i < name.len && is_plain; i++)
        is_plain = name.ptr[i] != '\\' && (unsigned char)name.ptr[i] >= 0x20 &&
                   !(i > 0 && name.ptr[i] == '.' && name.ptr[i - 1] == '.');
    if (!is_plain) {
        dg_call_fail(call, (struct dg_failure){.status = 400,
                                               .code = "invalid_value",
                                               .message = "Invalid filename"});
        return;
    }
    struct dg_document *document = dg_documents_find(&api->documents, dg_clock_now(&api->clock),
                                                     dg_span_sub(name, 0, DG_DOCUMENT_ID));
    if (!document || document->state != DG_DOCUMENT_DONE) {
        dg_call_fail(call, (struct dg_failure){.status = 404,
                                               .code = "not_found",
                                               .message = "There is no such file, or no more"});
        return;
    }
    dg_documents_send(call, document, false);
}
