/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* POST /translate_file: a form with `file`, `source`, `target`; the answer names where the
 * translated file lies, for an hour:
 * {"translatedFileUrl":"http://HOST/download_file/ID.name_en.html"}. The address is made of what
 * the client, or a trusted proxy for it, asked for: host, https, and what stood in the path before
 * ours.
 *
 * The file is a job (api/jobs/document_add.h). The answer waits until the job is done. Where
 * several servers share the job, the answer comes as soon as the job is safe with them, and the
 * download waits instead, so that the client need not send the file again if the server that
 * received it dies. */
#include "api/compat/libretranslate.h"
#include "api/http/api_int.h"
#include "api/http/documents.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_add.h"
#include "api/jobs/document_result.h"
#include "base/memory/mem.h"

/* ---- The address ----------------------------------------------------------------------------- */

/* Returns what the path of a proxy has before our path: the target as it was sent, up to our
 * path. */
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

/* Makes "letter_en.html" of "letter.html". */
static enum dg_err put_name(const struct dg_bulk_job *job, const char *code, struct dg_buf *url)
{
    char name[DG_DOCUMENT_NAME + 1];
    dg_document_result_name(job, job->document_name, name);
    const char *dot = strrchr(name, '.');
    const int stem = dot ? (int)(dot - name) : (int)strlen(name);
    char whole[sizeof name + DG_LANGTAG_TEXT + 1];
    snprintf(whole, sizeof whole, "%.*s_%s%s", stem, name, code, dot ? dot : "");
    return dg_document_encode_name(whole, url);
}

static enum dg_err put_answer(const struct dg_call *call, const struct dg_bulk_job *job,
                              const char *code, struct dg_buf *json)
{
    const struct dg_http_req *req = call->req;
    struct dg_span prefix = prefix_of(req);
    struct dg_buf url;
    struct dg_json_out out;
    dg_buf_init(&url, 16 * 1024);
    enum dg_err err =
        dg_buf_printf(&url, "%s://%.*s%.*s/download_file/%s.", req->secure ? "https" : "http",
                      DG_SPAN_FMT(req->public_host), DG_SPAN_FMT(prefix), job->id);
    if (!err)
        err = put_name(job, code, &url);
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "translatedFileUrl", dg_buf_span(&url));
    dg_json_out_close(&out, '}');
    if (!err)
        err = dg_json_out_end(&out);
    dg_buf_deinit(&url);
    return err;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* A call that waits until the file is done. */
struct waiting {
    struct dg_work work;
    struct dg_bulk_watch watch;
    struct dg_buf json; /* the answer to the request; empty: the file itself is waited for */
};

static void free_waiting(struct dg_work *work)
{
    struct waiting *waiting = (struct waiting *)work;
    dg_bulk_unwatch(&waiting->watch);
    dg_buf_deinit(&waiting->json);
    dg_free(waiting);
}

/* The client has left, and nobody else knows where the file will be. */
static void leave_waiting(struct dg_work *work)
{
    struct waiting *waiting = (struct waiting *)work;
    struct dg_bulk *bulk = work->api->bulk;
    struct dg_bulk_job *job =
        bulk && waiting->json.len ? dg_bulk_find(bulk, dg_span_cstr(waiting->watch.id)) : NULL;
    if (job)
        dg_bulk_remove(job);
    free_waiting(work);
}

static const struct dg_work_ops waiting_ops = {.leave = leave_waiting, .free = free_waiting};

/* Fills the failure if the file is of no use. */
static bool has_failed(const struct dg_call *call, const struct dg_bulk_job *job,
                       struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    *failure = (struct dg_failure){
        .status = 404, .code = "not_found", .message = "There is no such file, or it was removed"};
    if (!job)
        return true;
    if (dg_bulk_state(job) == DG_BULK_DONE && job->n_failed == 0)
        return false;
    if (dg_bulk_state(job) == DG_BULK_DONE)
        dg_error_set(&error, DG_ERR_INTERNAL, "%zu of its %zu parts could not be translated",
                     job->n_failed, job->n_lines);
    else if (dg_bulk_state(job) == DG_BULK_FAILED)
        dg_error_set(&error, DG_ERR_INTERNAL, "%s", dg_error_text(&job->error, job->err));
    else
        dg_error_set(&error, DG_ERR_INTERNAL, "the translation was cancelled");
    *failure = dg_translate_options_failure(call->req->arena, DG_ERR_INTERNAL, &error, NULL);
    return true;
}

static void on_over(struct dg_bulk_watch *watch, struct dg_bulk_job *job)
{
    struct waiting *waiting = DG_LIST_ITEM(watch, struct waiting, watch);
    struct dg_failure failure;
    if (has_failed(waiting->work.call, job, &failure)) {
        if (job && waiting->json.len)
            dg_bulk_remove(job);
        dg_work_fail(&waiting->work, failure);
    } else if (waiting->json.len) {
        dg_work_give(&waiting->work, &waiting->json);
    } else {
        struct dg_call *call = dg_work_end(&waiting->work);
        dg_document_send(call, job, job->document_name, false);
    }
}

/* Takes the JSON. */
static void wait_for(struct dg_call *call, const struct dg_bulk_job *job, struct dg_buf *json)
{
    struct waiting *waiting = dg_try_calloc(1, sizeof *waiting);
    if (!waiting) {
        dg_buf_deinit(json);
        dg_call_no_memory(call);
        return;
    }
    waiting->json = *json;
    waiting->watch.fn = on_over;
    dg_work_attach(call, &waiting->work, &waiting_ops);
    dg_bulk_watch(call->api->bulk, job->id, &waiting->watch);
}

/* ---- The request ----------------------------------------------------------------------------- */

static void on_added(struct dg_call *call, struct dg_bulk_job *job, const char *key,
                     const char *code)
{
    struct dg_buf json;
    (void)key;
    dg_buf_init(&json, 32 * 1024);
    if (put_answer(call, job, code, &json) != DG_OK) {
        dg_buf_deinit(&json);
        dg_bulk_remove(job);
        dg_call_no_memory(call);
    } else if (dg_bulk_is_shared(call->api->bulk)) {
        dg_call_json_give(call, &json);
    } else {
        wait_for(call, job, &json);
    }
}

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

static bool check_file(const struct dg_compat *compat, const struct dg_field *file,
                       struct dg_error *error)
{
    enum dg_doc_format format;
    if (!file->is_mapped || file->filename.len == 0 || file->value.len == 0)
        dg_error_set(error, DG_ERR_INVALID, "Invalid request: empty file");
    else if (!dg_document_is_known(file->filename, &format))
        dg_error_set(error, DG_ERR_UNSUPPORTED, "Invalid request: file format not supported");
    else if (dg_fields_text(&compat->fields, "columns").len > DG_DOCUMENT_COLUMNS)
        dg_error_set(error, DG_ERR_INVALID, "The list of columns is too long.");
    else if (dg_fields_text(&compat->fields, "output_format").len > DG_DOCUMENT_OUTPUT)
        dg_error_set(error, DG_ERR_INVALID, "There is no such output_format.");
    else
        return true;
    return false;
}

static void add(struct dg_call *call, struct dg_compat *compat, const struct dg_field *file)
{
    struct dg_buf options_json;
    struct dg_json_out out;
    dg_buf_init(&options_json, DG_DOCUMENT_OPTIONS_MAX);
    dg_json_out_init(&out, &options_json);
    dg_json_out_open(&out, '{');
    if (compat->from)
        dg_json_out_put_cstr(&out, "source", compat->from->tag.text);
    dg_json_out_put_cstr(&out, "target", compat->to->tag.text);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
    } else {
        const struct dg_document_order order = {
            .api = DG_BULK_LIBRETRANSLATE,
            .file = compat->file,
            .name = file->filename,
            .columns = dg_fields_text(&compat->fields, "columns"),
            .output = dg_fields_text(&compat->fields, "output_format"),
            .options_json = &options_json,
            .is_detected = !compat->from,
            .key = dg_fields_text(&compat->fields, "api_key"),
            .code = dg_span_cstr(compat->to->code),
            .on_added = on_added};
        compat->file = NULL;
        dg_document_add(call, &order);
        dg_compat_drop(compat);
    }
    dg_buf_deinit(&options_json);
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    if (!dg_documents_are_taken(&call->api->documents) || !call->api->bulk) {
        dg_compat_fail(compat, 403, "unsupported",
                       "Files translation are disabled on this server.");
        return;
    }
    const struct dg_field *file = dg_fields_get(&compat->fields, "file");
    bool is_fine =
        check_given(compat, &error) &&
        dg_libretranslate_language(compat, "source", DG_LANGUAGE_ANY, &compat->from, &error) &&
        dg_libretranslate_language(compat, "target", DG_LANGUAGE_ANY, &compat->to, &error) &&
        dg_libretranslate_pair(compat, &error) && check_file(compat, file, &error);
    if (is_fine)
        add(call, compat, file);
    else
        dg_compat_fail(compat, 400, "invalid_value", error.text);
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
    struct dg_failure failure;
    struct dg_buf none;
    bool is_plain = name.len > DG_BULK_ID_LEN && name.ptr[DG_BULK_ID_LEN] == '.';
    for (size_t i = 0; i < name.len && is_plain; i++)
        is_plain = name.ptr[i] != '\\' && (unsigned char)name.ptr[i] >= 0x20 &&
                   !(i > 0 && name.ptr[i] == '.' && name.ptr[i - 1] == '.');
    if (!is_plain) {
        dg_call_fail(call, (struct dg_failure){.status = 400,
                                               .code = "invalid_value",
                                               .message = "Invalid filename"});
        return;
    }
    struct dg_bulk_job *job =
        api->bulk ? dg_bulk_find(api->bulk, dg_span_sub(name, 0, DG_BULK_ID_LEN)) : NULL;
    if (job && job->api != DG_BULK_LIBRETRANSLATE)
        job = NULL;
    dg_buf_init(&none, 0);
    if (!job && api->bulk && dg_bulk_may_lack(api->bulk))
        dg_call_fail(call, dg_call_redis_away);
    else if (job && !dg_bulk_is_over(job))
        wait_for(call, job, &none);
    else if (has_failed(call, job, &failure))
        dg_call_fail(call, failure);
    else
        dg_document_send(call, job, job->document_name, false);
}
