/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents over HTTP: files that are translated as bulk jobs, so that they survive a restart.
 *
 *     POST   /v1/documents              a form with file, target, and options of POST
 *                                       /v1/translate; 201, the document
 *     GET    /v1/documents              {"documents":[...]}
 *     GET    /v1/documents/ID           {"id":...,"state":"running","progress":0.34,...}
 *     GET    /v1/documents/ID/result    the file; 409 before the end
 *     DELETE /v1/documents/ID           cancels and forgets it
 *
 * How a file becomes a job, and a job a file: document_add.h, document_result.h. */
#include "api/http/api_int.h"
#include "api/http/documents.h"
#include "api/http/upload.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_add.h"
#include "api/jobs/document_result.h"
#include "api/jobs/v1_jobs_int.h"
#include "filter/filter.h"

#include <stdio.h>
#include <string.h>

/* ---- Telling --------------------------------------------------------------------------------- */

/* Returns how long the rest takes, by what was done since it began to run here; below 0: not known
 * yet. */
static double seconds_left(const struct dg_bulk_job *job, double progress)
{
    const uint64_t now = dg_clock_now(&job->bulk->clock);
    const double done = job->in_bytes ? progress - (double)job->run_at / (double)job->in_bytes : 0;
    if (job->state != DG_BULK_RUNNING || job->waits_for || job->n_parts > 0 || done <= 0)
        return -1;
    return (1 - progress) / done * (double)(now - job->run_ns) / (double)DG_CLOCK_S;
}

static void put_document(const struct dg_bulk_job *job, struct dg_json_out *out)
{
    const bool is_kept_waiting = !dg_bulk_is_over(job) && job->waits_for;
    const double progress = dg_bulk_progress(job), left = seconds_left(job, progress);
    const struct dg_engine_request *request = &job->options.request;
    dg_json_out_open(out, '{');
    dg_json_out_put_cstr(out, "id", job->id);
    dg_json_out_put_cstr(out, "name", job->document_name);
    dg_json_out_put_cstr(out, "state",
                         dg_bulk_state_words[is_kept_waiting ? DG_BULK_WAITING : job->state]);
    dg_json_out_put_cstr(out, "source", request->source);
    dg_json_out_put_cstr(out, "target", request->target);
    dg_json_out_put_uint(out, "bytes", job->document_bytes);
    dg_json_out_put_uint(out, "paragraphs", job->n_lines);
    dg_json_out_put_uint(out, "done", job->n_done);
    dg_json_out_put_uint(out, "failed", job->n_failed);
    dg_json_out_put_real(out, "progress", progress, 6);
    dg_json_out_put_uint(out, "created", job->created_s);
    dg_json_out_key(out, "seconds_left");
    if (left >= 0)
        dg_json_out_uint(out, (uint64_t)(left + 0.5));
    else
        dg_json_out_null(out);
    if (job->state == DG_BULK_FAILED)
        dg_json_out_put_cstr(out, "error", dg_error_text(&job->error, job->err));
    dg_json_out_close(out, '}');
}

static void answer_document(struct dg_call *call, int status, const struct dg_bulk_job *job)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, DG_DOCUMENT_OPTIONS_MAX);
    dg_json_out_init(&out, &buf);
    put_document(job, &out);
    dg_call_json_out(call, status, &out);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void on_added(struct dg_call *call, struct dg_bulk_job *job, const char *key,
                     const char *code)
{
    (void)key;
    (void)code;
    answer_document(call, 201, job);
}

/* Fields that concern the file rather than the translation of a text. */
static bool is_of_file(struct dg_span name)
{
    static const char *const names[] = {"filename", "columns", "output_format"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dg_span_eq(name, dg_span_cstr(names[i])))
            return true;
    return false;
}

static bool names_no_source(const struct dg_field *source)
{
    return !source || source->value.len == 0 || dg_span_eq(source->value, DG_SPAN("auto"));
}

/* Writes the fields other than the file as the JSON with which each line is read. */
static enum dg_err gather_options(const struct dg_fields *fields, struct dg_buf *options_json)
{
    struct dg_json_out out;
    dg_json_out_init(&out, options_json);
    dg_json_out_open(&out, '{');
    for (size_t i = 0; i < fields->n; i++) {
        const struct dg_field *field = &fields->items[i];
        const bool is_auto = dg_span_eq(field->name, DG_SPAN("source")) && names_no_source(field);
        if (field->kind == DG_FIELD_TEXT && !is_auto && !is_of_file(field->name))
            dg_v1_jobs_put_option(&out, field->name, field->value);
    }
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static enum dg_err refuse(struct dg_failure *failure, int status, const char *field,
                          const char *message)
{
    *failure = (struct dg_failure){.status = status,
                                   .code = status == 400 ? "invalid_value" : "unsupported",
                                   .field = field,
                                   .message = message};
    return DG_ERR_INVALID;
}

static enum dg_err check_fields(const struct dg_fields *fields, struct dg_failure *failure)
{
    static const char *const refused[] = {"text", "stream", "priority", "type",
                                          "id",   "format", "api_key"};
    const struct dg_field *file = dg_fields_get(fields, "file");
    const struct dg_span name = dg_fields_text(fields, "filename");
    const struct dg_span output = dg_fields_text(fields, "output_format");
    enum dg_doc_format format;
    const char *ending;
    if (!file || !file->is_mapped || file->value.len == 0)
        return refuse(failure, 400, "file", "The form has no file, or an empty one, as 'file'.");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (dg_fields_get(fields, refused[i]))
            return refuse(failure, 400, refused[i], "A document has no such option.");
    if (!dg_document_is_known(name.len ? name : file->filename, &format))
        return refuse(failure, 415, "file",
                      "This server does not translate files with such a name.");
    if (dg_fields_text(fields, "columns").len > DG_DOCUMENT_COLUMNS)
        return refuse(failure, 400, "columns", "The list of columns is too long.");
    if (output.len > DG_DOCUMENT_OUTPUT ||
        !dg_filter_output(name.len ? name : file->filename, output, &ending))
        return refuse(failure, 400, "output_format",
                      "A PDF can be written as docx, odt, html or txt, other files only in their "
                      "own format.");
    return DG_OK;
}

void dg_api_v1_documents_prepare(struct dg_call *call)
{
    if (!dg_documents_are_taken(&call->api->documents))
        dg_call_fail(
            call,
            (struct dg_failure){
                .status = 501,
                .code = "unsupported",
                .message = "This server does not translate documents (documents-space is 0)."});
    else if (dg_v1_jobs_are_kept(call))
        dg_upload_prepare(call);
}

void dg_api_v1_documents_add(struct dg_call *call)
{
    const struct dg_fields *fields = dg_upload_fields(call);
    struct dg_failure failure;
    struct dg_buf options_json;
    enum dg_err err = fields ? check_fields(fields, &failure)
                             : refuse(&failure, 415, NULL,
                                      "A document must be sent as a form (multipart/form-data).");
    if (err) {
        dg_call_fail(call, failure);
        return;
    }
    const struct dg_span name = dg_fields_text(fields, "filename");
    dg_buf_init(&options_json, DG_DOCUMENT_OPTIONS_MAX);
    if (gather_options(fields, &options_json) != DG_OK) {
        dg_call_no_memory(call);
    } else {
        const struct dg_document_order order = {
            .file = dg_upload_take(call),
            .name = name.len ? name : dg_fields_get(fields, "file")->filename,
            .columns = dg_fields_text(fields, "columns"),
            .output = dg_fields_text(fields, "output_format"),
            .options_json = &options_json,
            .is_detected = names_no_source(dg_fields_get(fields, "source")) &&
                           dg_fields_text(fields, "model").len == 0,
            .on_added = on_added};
        dg_document_add(call, &order);
    }
    dg_buf_deinit(&options_json);
}

/* ---- Looking, ending ------------------------------------------------------------------------- */

/* Returns the call's job, if it is a document's. */
static struct dg_bulk_job *document_of(struct dg_call *call)
{
    static const struct dg_failure no_such_document = {
        .status = 404, .code = "no_such_document", .message = "There is no document with this id."};
    struct dg_bulk_job *job = dg_v1_jobs_of(call, &no_such_document);
    if (!job || *job->document_name)
        return job;
    dg_call_fail(call, no_such_document);
    return NULL;
}

static void put_documents(struct dg_call *call, struct dg_json_out *out)
{
    const bool all = dg_gate_is_admin(call);
    for (struct dg_bulk_job *job = NULL; (job = dg_bulk_next(call->api->bulk, job));) {
        const bool is_ours = *job->document_name && !job->api;
        if (is_ours && (all || dg_call_lists(call, dg_bulk_owner(job), dg_bulk_client(job))))
            put_document(job, out);
    }
}

void dg_api_v1_documents(struct dg_call *call)
{
    if (dg_v1_jobs_are_kept(call))
        dg_call_json_list(call, "documents", put_documents);
}

void dg_api_v1_document(struct dg_call *call)
{
    struct dg_bulk_job *job = document_of(call);
    if (job)
        answer_document(call, 200, job);
}

void dg_api_v1_document_remove(struct dg_call *call)
{
    struct dg_bulk_job *job = document_of(call);
    if (job)
        dg_v1_jobs_remove(call, job);
}

/* "letter.en.docx" */
void dg_api_v1_document_result(struct dg_call *call)
{
    struct dg_bulk_job *job = document_of(call);
    char whole[DG_DOCUMENT_NAME + DG_LANGTAG_TEXT + 2];
    if (!job)
        return;
    if (dg_bulk_state(job) != DG_BULK_DONE) {
        dg_call_fail(call, (struct dg_failure){.status = 409,
                                               .code = "not_done",
                                               .message = "The document is not done."});
        return;
    }
    const char *own = job->document_name, *dot = strrchr(own, '.'),
               *language = job->options.request.target ? job->options.request.target : "";
    const size_t stem = dot ? (size_t)(dot - own) : strlen(own);
    snprintf(whole, sizeof whole, "%.*s%s%s%s", (int)stem, own, *language ? "." : "", language,
             dot ? dot : "");
    dg_document_send(call, job, whole, false);
}
