/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents over HTTP: files that are translated as bulk jobs, so that they survive a restart.
 *
 *     POST   /v1/documents              a form with file, target, and options of POST
 * /v1/translate; 201, the document GET    /v1/documents              {"documents":[...]} GET
 * /v1/documents/ID           {"id":...,"state":"running","progress":0.34,...} GET
 * /v1/documents/ID/result    the file; 409 before the end DELETE /v1/documents/ID           cancels
 * and forgets it
 *
 * The text of the file becomes the lines of a job, each a paragraph as {"text":...}, in the file's
 * format; formats whose parts cannot stand alone are one line. The file lies beside them. The
 * result is made when it is fetched, from the file, the lines and their translations. Reading and
 * making run on the readers' threads. */
#include "api/http/documents.h"
#include "api/http/api_int.h"
#include "api/http/bodies.h"
#include "api/http/upload.h"
#include "api/http/work.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/v1_jobs_int.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter.h"
#include "text/language/langid.h"

#include <stdio.h>
#include <string.h>

enum {
    OPTIONS_MAX = 64 * 1024,
    /* bytes of a document's text, and of an office document's parts with text */
    TEXT_MAX = 32 << 20,
    LINES_MAX = 256 << 20,
    SAMPLE = 16 * 1024, /* bytes of the text from which its language is detected */
    SLOWNESS = 16,      /* an archive takes as long as so many times its bytes of JSON */
    LINE_VALUES_MAX = 10 * 1000,
};

static const struct dg_failure no_memory = {
    .status = 503, .code = "overloaded", .message = "There is no memory.", .retry_after_s = 1};

/* ---- From a file to lines -------------------------------------------------------------------- */

struct adding {
    struct dg_work work;
    struct dg_offload_task task;
    struct dg_arena arena;
    struct dg_document_file *file; /* owned */
    char name[DG_DOCUMENT_NAME + 1];
    char columns[DG_DOCUMENT_COLUMNS + 1], output[DG_DOCUMENT_OUTPUT + 1];
    struct dg_buf options_json; /* lacks its last bracket until the lines are made */
    struct dg_translate_options options;
    struct dg_languages langs;
    bool is_detected; /* the language is detected from the text */
    struct dg_buf lines;
    uint64_t n_characters;
    enum dg_err err;
    struct dg_error error;
};

static void free_adding(struct dg_work *work)
{
    struct adding *adding = (struct adding *)work;
    dg_document_file_free(adding->file);
    dg_buf_deinit(&adding->options_json);
    dg_buf_deinit(&adding->lines);
    dg_arena_deinit(&adding->arena);
    dg_free(adding);
}

static enum dg_err put_line(struct dg_buf *lines, struct dg_span text)
{
    struct dg_json_out out;
    dg_json_out_init(&out, lines);
    dg_json_out_open(&out, '{');
    dg_json_out_put_string(&out, "text", text);
    dg_json_out_close(&out, '}');
    const enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(lines, '\n');
}

/* Where the part of the text that begins at `at` ends: for a filter, after its block <p>...</p>;
 * in plain text, at an empty line; in other formats, at the end of the text. */
static size_t end_of_part(struct dg_span text, size_t at, bool is_blocks, enum dg_doc_format format)
{
    const struct dg_span border = is_blocks ? DG_SPAN("\n<p>") : DG_SPAN("\n\n");
    if (!is_blocks && format != DG_DOC_TEXT)
        return text.len;
    for (size_t i = at; i < text.len;) {
        const char *newline = memchr(text.ptr + i, '\n', text.len - i);
        if (!newline)
            break;
        i = (size_t)(newline - text.ptr);
        if (dg_span_starts(dg_span_sub(text, i, text.len), border)) {
            i += is_blocks ? 1 : border.len;
            while (!is_blocks && i < text.len && text.ptr[i] == '\n')
                i++;
            return i;
        }
        i++;
    }
    return text.len;
}

static enum dg_err put_lines(struct adding *adding, struct dg_span text, bool is_blocks,
                             enum dg_doc_format format)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < text.len && !err;) {
        const size_t end = end_of_part(text, at, is_blocks, format);
        err = put_line(&adding->lines, dg_span_sub(text, at, end - at));
        at = end;
    }
    return err;
}

/* The beginning of the text without what looks like tags. */
static enum dg_err put_sample(struct dg_buf *sample, struct dg_span text, enum dg_doc_format format)
{
    bool in_tag = false;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && sample->len < SAMPLE && !err; i++) {
        const char c = text.ptr[i];
        if (format != DG_DOC_TEXT && (c == '<' || c == '>')) {
            in_tag = c == '<';
            err = dg_buf_append_byte(sample, ' ');
        } else if (!in_tag) {
            err = dg_buf_append_byte(sample, c);
        }
    }
    sample->len = dg_utf8_clip(dg_buf_span(sample), sample->len).len;
    return err;
}

/* Paragraphs are translated one by one, but their language is that of the whole text. */
static enum dg_err detect(struct adding *adding, struct dg_span text, enum dg_doc_format format)
{
    const char **tags = dg_arena_calloc(&adding->arena, adding->langs.n + 1, sizeof *tags);
    struct dg_langid_guess guess = {.tag = NULL};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf sample;
    size_t n = 0;
    if (!tags)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < adding->langs.n; i++)
        tags[i] = adding->langs.items[i].tag.text;
    const struct dg_engine_languages among = {tags, adding->langs.n};
    dg_buf_init(&sample, SAMPLE + 16);
    enum dg_err err = put_sample(&sample, text, format);
    if (!err &&
        dg_engine_detect(adding->work.api->engine, dg_buf_span(&sample), &among, &guess, 1, &error,
                         &n) == DG_OK &&
        n > 0)
        err = dg_buf_printf(&adding->options_json, "%s\"source\":\"%s\"",
                            adding->options_json.len > 1 ? "," : "", guess.tag);
    dg_buf_deinit(&sample);
    return err;
}

static enum dg_err read_text(struct adding *adding, struct dg_buf *text, struct dg_span *shown,
                             bool *is_blocks, enum dg_doc_format *format)
{
    const struct dg_span name = dg_span_cstr(adding->name),
                         bytes = dg_span_make(adding->file->bytes, adding->file->len);
    const struct dg_filter_opts opts = {.text_max = TEXT_MAX,
                                        .columns = dg_span_cstr(adding->columns),
                                        .output = dg_span_cstr(adding->output),
                                        .stop = &adding->work.is_unwanted};
    struct dg_filter *filter = NULL;
    enum dg_err err = DG_OK;
    size_t bad_at;
    *is_blocks = dg_filter_takes(name, bytes);
    if (!*is_blocks) {
        *shown = bytes;
        if (!dg_utf8_valid(bytes, &bad_at))
            return dg_error_set(&adding->error, DG_ERR_UTF8, "the file is not UTF-8 at byte %zu",
                                bad_at);
        return DG_OK;
    }
    err = dg_filter_new(bytes, adding->name, &opts, &filter, &adding->error);
    if (!err) {
        *format = dg_filter_format(filter);
        *is_blocks = dg_filter_has_blocks(filter);
        err = dg_filter_text(filter, text, &adding->error);
    }
    dg_filter_free(filter);
    *shown = dg_buf_span(text);
    return err;
}

static void run_read(struct dg_offload_task *task)
{
    struct adding *adding = DG_LIST_ITEM(task, struct adding, task);
    enum dg_doc_format format = DG_DOC_TEXT;
    struct dg_buf text;
    struct dg_span shown = {NULL, 0};
    bool is_blocks;
    dg_buf_init(&text, 2 * (size_t)TEXT_MAX);
    (void)dg_document_is_known(dg_span_cstr(adding->name), &format);
    enum dg_err err = read_text(adding, &text, &shown, &is_blocks, &format);
    if (!err)
        err = put_lines(adding, shown, is_blocks, format);
    if (!err && adding->is_detected)
        err = detect(adding, shown, format);
    if (!err)
        err = dg_buf_printf(&adding->options_json, "%s\"format\":\"%s\"}",
                            adding->options_json.len > 1 ? "," : "", dg_doc_format_words[format]);
    adding->n_characters = dg_utf8_count(shown);
    adding->err = err;
    dg_buf_deinit(&text);
}

static void on_read(struct dg_offload_task *task)
{
    struct adding *adding = DG_LIST_ITEM(task, struct adding, task);
    struct dg_call *call = dg_work_detach(&adding->work);
    struct dg_failure failure;
    enum dg_err err = adding->err;
    if (!call) {
        free_adding(&adding->work);
        return;
    }
    failure = dg_translate_options_failure(call->req->arena, err, &adding->error, "file");
    if (!err && adding->lines.len == 0) {
        failure = (struct dg_failure){.status = 400,
                                      .code = "invalid_value",
                                      .message = "The file has no text.",
                                      .field = "file"};
        err = DG_ERR_INVALID;
    }
    if (!err)
        err = dg_v1_jobs_read_options(call, dg_buf_span(&adding->options_json), &adding->options,
                                      &failure);
    if (!err && !dg_bodies_admit(call, adding->lines.len)) {
        failure = no_memory;
        err = DG_ERR_NOMEM;
    }
    if (err) {
        dg_work_fail(&adding->work, failure);
        return;
    }
    adding->work.wish = (struct dg_gate_wish){.characters = adding->n_characters,
                                              .request = &adding->options.request,
                                              .arena = call->req->arena,
                                              .has_priority = true};
    dg_work_pass(&adding->work);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* How long the rest takes, by what was done since it began to run here; below 0: not known yet. */
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
    dg_buf_init(&buf, OPTIONS_MAX);
    dg_json_out_init(&out, &buf);
    put_document(job, &out);
    dg_call_json_out(call, status, &out);
}

static void on_added(void *owner, struct dg_bulk_job *job, enum dg_err err,
                     const struct dg_error *error)
{
    struct adding *adding = owner;
    (void)error; /* it names a file; the log has the sentence */
    if (!job) {
        dg_work_fail(&adding->work, dg_translate_options_file_failure(err));
        return;
    }
    struct dg_call *call = dg_work_end(&adding->work);
    if (call)
        answer_document(call, 201, job);
}

/* Called behind the gate: the request now has the key's models. */
static enum dg_err begin(struct dg_work *work, struct dg_failure *failure)
{
    struct adding *adding = (struct adding *)work;
    struct dg_call *call = work->call;
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = call->api->bulk
                          ? dg_engine_can(call->api->engine, &adding->options.request, &error)
                          : DG_ERR_CLOSED;
    if (err) {
        *failure = dg_translate_options_failure(call->req->arena, err, &error, NULL);
        return err;
    }
    const struct dg_quota_id address = dg_gate_address(call);
    const struct dg_bulk_order order = {.format = DG_BULK_JSONL,
                                        .options_json = dg_buf_span(&adding->options_json),
                                        .owner = dg_call_owner(call),
                                        .address = dg_span_cstr(address.text),
                                        .client = dg_gate_client(call),
                                        .only = adding->options.request.only,
                                        .n_only = adding->options.request.n_only,
                                        .body = &adding->lines,
                                        .document = adding->file,
                                        .document_name = adding->name,
                                        .columns = adding->columns,
                                        .output = adding->output};
    adding->file = NULL;
    err = dg_bulk_add(call->api->bulk, &order, on_added, adding, &error);
    if (err)
        *failure = dg_v1_jobs_failure(call, err, &error);
    return err;
}

static const struct dg_work_ops adding_ops = {.start = begin, .free = free_adding};

/* Fields that concern the file rather than the translation of a text. */
static bool is_of_file(struct dg_span name)
{
    static const char *const names[] = {"filename", "columns", "output_format"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (dg_span_eq(name, dg_span_cstr(names[i])))
            return true;
    return false;
}

/* The fields beside the file, as the JSON that each line is read with; without its last bracket. */
static enum dg_err gather_options(struct adding *adding, const struct dg_fields *fields)
{
    struct dg_json_out out;
    const struct dg_field *source = dg_fields_get(fields, "source");
    dg_json_out_init(&out, &adding->options_json);
    dg_json_out_open(&out, '{');
    for (size_t i = 0; i < fields->n; i++) {
        const struct dg_field *field = &fields->items[i];
        const bool is_auto = dg_span_eq(field->name, DG_SPAN("source")) &&
                             (field->value.len == 0 || dg_span_eq(field->value, DG_SPAN("auto")));
        if (field->kind == DG_FIELD_TEXT && !is_auto && !is_of_file(field->name))
            dg_v1_jobs_put_option(&out, field->name, field->value);
    }
    dg_json_out_close(&out, '}');
    adding->is_detected =
        (!source || source->value.len == 0 || dg_span_eq(source->value, DG_SPAN("auto"))) &&
        dg_fields_text(fields, "model").len == 0;
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
        return refuse(failure, 415, "file", "A file with such a name is not read here.");
    if (dg_fields_text(fields, "columns").len > DG_DOCUMENT_COLUMNS)
        return refuse(failure, 400, "columns", "The list of columns is too long.");
    if (output.len > DG_DOCUMENT_OUTPUT ||
        !dg_filter_output(name.len ? name : file->filename, output, &ending))
        return refuse(failure, 400, "output_format",
                      "A PDF is written as docx, odt, html or txt, other files only as what they "
                      "are.");
    return DG_OK;
}

static enum dg_err read_request(struct adding *adding, struct dg_failure *failure)
{
    struct dg_call *call = adding->work.call;
    const struct dg_fields *fields = dg_upload_fields(call);
    if (!fields)
        return refuse(failure, 415, NULL, "A document is sent as a form (multipart/form-data).");
    enum dg_err err = check_fields(fields, failure);
    if (err)
        return err;
    const struct dg_span name = dg_fields_text(fields, "filename");
    dg_document_clean_name(name.len ? name : dg_fields_get(fields, "file")->filename, adding->name);
    snprintf(adding->columns, sizeof adding->columns, "%.*s",
             DG_SPAN_FMT(dg_fields_text(fields, "columns")));
    snprintf(adding->output, sizeof adding->output, "%.*s",
             DG_SPAN_FMT(dg_fields_text(fields, "output_format")));
    adding->file = dg_upload_take(call);
    err =
        dg_languages_read(&call->api->languages, call->api->engine, &adding->arena, &adding->langs);
    if (!err)
        err = gather_options(adding, fields);
    if (!err)
        err = dg_v1_jobs_read_options(call, dg_buf_span(&adding->options_json), &adding->options,
                                      failure);
    else
        *failure = no_memory;
    dg_buf_truncate(&adding->options_json,
                    adding->options_json.len ? adding->options_json.len - 1 : 0);
    return err;
}

void dg_api_v1_documents_prepare(struct dg_call *call)
{
    if (!dg_documents_are_taken(&call->api->documents))
        dg_call_fail(call, (struct dg_failure){.status = 501,
                                               .code = "unsupported",
                                               .message = "This server translates no documents "
                                                          "(documents-space is 0)."});
    else if (dg_v1_jobs_are_kept(call))
        dg_upload_prepare(call);
}

void dg_api_v1_documents_add(struct dg_call *call)
{
    struct dg_failure failure = no_memory;
    struct dg_offload *readers = call->api->readers;
    struct adding *adding = dg_try_calloc(1, sizeof *adding);
    if (!adding || !call->api->engine) {
        dg_free(adding);
        dg_call_fail(call, failure);
        return;
    }
    dg_work_init(&adding->work, call->api, call, &adding_ops);
    dg_arena_init(&adding->arena, 16 << 20);
    dg_buf_init(&adding->options_json, OPTIONS_MAX);
    dg_buf_init(&adding->lines, LINES_MAX);
    if (read_request(adding, &failure) != DG_OK) {
        dg_work_fail(&adding->work, failure);
        return;
    }
    dg_work_hold(&adding->work);
    const enum dg_err err =
        readers ? dg_offload_submit_sized(readers, &adding->task, SLOWNESS * adding->file->len + 1,
                                          run_read, on_read)
                : DG_OK;
    if (err) {
        dg_work_detach(&adding->work);
        dg_work_fail(&adding->work, failure);
    } else if (!readers) {
        run_read(&adding->task);
        on_read(&adding->task);
    }
}

/* ---- Looking, ending ------------------------------------------------------------------------- */

/* The call's job, if it is a document's. */
static struct dg_bulk_job *document_of(struct dg_call *call)
{
    struct dg_bulk_job *job = dg_v1_jobs_of(call);
    if (!job || *job->document_name)
        return job;
    dg_call_fail(call, (struct dg_failure){.status = 404,
                                           .code = "no_such_document",
                                           .message = "There is no document with this id."});
    return NULL;
}

static void put_documents(struct dg_call *call, struct dg_json_out *out)
{
    const bool all = dg_admin_allows(call);
    for (struct dg_bulk_job *job = NULL; (job = dg_bulk_next(call->api->bulk, job));)
        if (*job->document_name &&
            (all || dg_call_lists(call, dg_bulk_owner(job), dg_bulk_client(job))))
            put_document(job, out);
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
    if (!job)
        return;
    dg_bulk_remove(job);
    dg_call_text(call, 204, (struct dg_span){NULL, 0});
}

/* ---- The result ------------------------------------------------------------------------------ */

struct making {
    struct dg_work work;
    struct dg_offload_task task;
    struct dg_bulk_job *job;         /* counted as a user of the job */
    struct dg_document_file *result; /* owned */
    char language[DG_LANGTAG_TEXT];
    enum dg_err err;
    struct dg_error error;
};

static void free_making(struct dg_work *work)
{
    struct making *making = (struct making *)work;
    dg_document_file_free(making->result);
    dg_bulk_release(making->job);
    dg_free(making);
}

static const struct dg_work_ops making_ops = {.free = free_making};

static enum dg_err append(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct making *making = ctx;
    return dg_document_file_append(making->result, bytes, error);
}

/* The text of a line; empty if the line failed. */
static enum dg_err take_text(struct dg_span line, struct dg_buf *text, bool *has_text,
                             struct dg_error *error)
{
    const struct dg_json_limits limits = {
        .max_bytes = line.len + 1, .max_depth = 16, .max_values = LINE_VALUES_MAX};
    struct dg_json *json = NULL;
    struct dg_span value = {NULL, 0};
    enum dg_err err = dg_json_parse(line, &limits, error, &json);
    if (!err)
        err = dg_json_get_string(json, "text", DG_JSON_OPTIONAL, error, &value);
    *has_text = value.ptr != NULL;
    if (!err)
        err = dg_buf_append_span(text, value);
    dg_json_free(json);
    return err;
}

static struct dg_span take_line(struct dg_span *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    const size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    const struct dg_span line = dg_span_sub(*rest, 0, len);
    *rest = dg_span_sub(*rest, len + (end != NULL), rest->len);
    return line;
}

/* Writes both texts; for a paragraph that failed, the original stands in place of its
 * translation. */
static enum dg_err take_texts(struct dg_span in, struct dg_span out, struct dg_buf *source,
                              struct dg_buf *target, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    while (!err && in.len) {
        const size_t at = source->len;
        bool has_text = false;
        err = take_text(take_line(&in), source, &has_text, error);
        if (!err)
            err = take_text(take_line(&out), target, &has_text, error);
        if (!err && !has_text)
            err =
                dg_buf_append_span(target, dg_span_sub(dg_buf_span(source), at, source->len - at));
    }
    return err;
}

static struct dg_span span_of(const struct dg_map_file *file)
{
    return dg_span_make((const char *)file->bytes, file->len);
}

static void run_make(struct dg_offload_task *task)
{
    struct making *making = DG_LIST_ITEM(task, struct making, task);
    const struct dg_bulk_job *job = making->job;
    struct dg_map_file file = {0}, in = {0}, out = {0};
    struct dg_filter *filter = NULL;
    struct dg_buf source, target;
    struct dg_error *error = &making->error;
    const struct dg_span name = dg_span_cstr(job->document_name);
    const struct dg_filter_opts opts = {.text_max = TEXT_MAX,
                                        .columns = dg_span_cstr(job->document_columns),
                                        .output = dg_span_cstr(job->document_output)};
    dg_buf_init(&source, LINES_MAX);
    dg_buf_init(&target, LINES_MAX);
    enum dg_err err = dg_map_file_open(&file, job->document_path, SIZE_MAX / 2, error);
    if (!err)
        err = dg_map_file_open(&in, job->in_path, SIZE_MAX / 2, error);
    if (!err)
        err = dg_map_file_open(&out, job->out_path, SIZE_MAX / 2, error);
    if (!err)
        err = take_texts(span_of(&in), span_of(&out), &source, &target, error);
    if (!err && dg_filter_takes(name, span_of(&file))) {
        err = dg_filter_new(span_of(&file), job->document_name, &opts, &filter, error);
        if (!err)
            err = dg_filter_write(filter, dg_buf_span(&source), dg_buf_span(&target),
                                  dg_span_cstr(making->language), append, making, error);
    } else if (!err) {
        err = append(making, dg_buf_span(&target), error);
    }
    making->err = err;
    dg_filter_free(filter);
    dg_buf_deinit(&source);
    dg_buf_deinit(&target);
    dg_map_file_close(&out);
    dg_map_file_close(&in);
    dg_map_file_close(&file);
}

/* "letter.en.docx" */
static void name_result(const struct making *making, char name[DG_DOCUMENT_NAME + 1])
{
    char whole[DG_DOCUMENT_NAME + DG_LANGTAG_TEXT + 2];
    const char *own = making->job->document_name, *dot = strrchr(own, '.');
    const size_t stem = dot ? (size_t)(dot - own) : strlen(own);
    snprintf(whole, sizeof whole, "%.*s%s%s%s", (int)stem, own, *making->language ? "." : "",
             making->language, dot ? dot : "");
    dg_document_clean_name(dg_span_cstr(whole), name);
    dg_document_set_output(name, dg_span_cstr(making->job->document_output));
}

static void on_made(struct dg_offload_task *task)
{
    struct making *making = DG_LIST_ITEM(task, struct making, task);
    struct dg_document_file *result = making->result;
    enum dg_doc_format format = DG_DOC_TEXT;
    char name[DG_DOCUMENT_NAME + 1];
    if (making->err) { /* its sentence may name a folder of the server */
        dg_log_event(making->work.api->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", making->job->id), dg_log_err(making->err)),
                     "a document could not be written: %s",
                     dg_error_text(&making->error, making->err));
        dg_work_detach(&making->work);
        dg_work_fail(&making->work, dg_translate_options_file_failure(making->err));
        return;
    }
    (void)dg_document_is_known(dg_span_cstr(making->job->document_name), &format);
    name_result(making, name);
    making->result = NULL;
    struct dg_call *call = dg_work_end(&making->work);
    if (call)
        dg_documents_send_file(call, result, name, format);
    else
        dg_document_file_free(result);
}

void dg_api_v1_document_result(struct dg_call *call)
{
    struct dg_bulk_job *job = document_of(call);
    struct dg_offload *readers = call->api->readers;
    if (!job)
        return;
    if (dg_bulk_state(job) != DG_BULK_DONE) {
        dg_call_fail(call, (struct dg_failure){.status = 409,
                                               .code = "not_done",
                                               .message = "The document is not done."});
        return;
    }
    struct making *making = dg_try_calloc(1, sizeof *making);
    if (!making || dg_document_file_new(&call->api->documents, dg_gate_client(call),
                                        &making->result) != DG_OK) {
        dg_free(making);
        dg_call_fail(call, no_memory);
        return;
    }
    making->job = job;
    dg_bulk_hold(job);
    dg_work_init(&making->work, call->api, call, &making_ops);
    snprintf(making->language, sizeof making->language, "%s",
             job->options.request.target ? job->options.request.target : "");
    if (!dg_document_file_grow(making->result, job->document_bytes + job->out_bytes)) {
        dg_work_fail(&making->work,
                     (struct dg_failure){.status = 503,
                                         .code = "overloaded",
                                         .retry_after_s = 60,
                                         .message = "There is no room for more files "
                                                    "(documents-space); try again later."});
        return;
    }
    dg_work_hold(&making->work);
    const enum dg_err err =
        readers ? dg_offload_submit_sized(readers, &making->task,
                                          SLOWNESS * (job->document_bytes + job->out_bytes) + 1,
                                          run_make, on_made)
                : DG_OK;
    if (err) {
        dg_work_detach(&making->work);
        dg_work_fail(&making->work, no_memory);
    } else if (!readers) {
        run_make(&making->task);
        on_made(&making->task);
    }
}
