/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Each piece goes through the multipart reader into the current part: that of a field into `value`,
 * that of the file into `filling`. While `writing` is on its way to disk on another thread,
 * `filling` grows; when it has grown enough, nothing is read from the connection until the disk has
 * caught up. An upload that has failed is answered at once, and what is still on its way to disk
 * keeps the struct alive. */
#include "api/http/upload.h"
#include "api/http/api_int.h"
#include "api/http/body_memory.h"
#include "api/http/client_share.h"
#include "api/v1/translate_options.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "net/proto/multipart.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    UPLOADS_MAX = 16, /* uploads at the same time */
    BUFFER_MAX = 64 * 1024,
    MEMORY = 4 * BUFFER_MAX, /* memory of one upload: two buffers, which grow by doubling */
    FORM_MAX = 64 * 1024,    /* bytes of a body besides the file, when its length is announced */
    FIELDS_MAX = 10 * 1000
};

struct dg_upload {
    struct dg_offload_task task;
    struct dg_list link; /* linked in api->file_uploads */
    struct dg_api *api;
    struct dg_call *call; /* NULL once the call is over */
    uint64_t client;
    struct dg_multipart_feed feed;
    struct dg_arena arena; /* holds the fields */
    struct dg_fields fields;
    size_t cap, fields_bytes, fields_bytes_max;
    struct dg_field field;         /* the current one */
    struct dg_buf value;           /* the value of the current field, unless it is the file */
    struct dg_document_file *file; /* NULL: none has arrived, or it was taken */
    uint64_t file_len;             /* bytes of the file that have arrived */
    bool has_file, is_in_file;
    struct dg_buf filling, writing;
    size_t held;    /* bytes of the buffers */
    bool has_ended; /* the whole body has arrived */
    bool is_busy;   /* a thread is writing */
    bool is_last;   /* what the thread writes is the last part */
    enum dg_err err;
    struct dg_error error;
};

/* ---- Life ------------------------------------------------------------------------------------ */

static void count_memory(struct dg_upload *upload)
{
    dg_allowance_hold(upload->api->opts.buffers, &upload->held,
                      upload->filling.cap + upload->writing.cap + upload->value.cap +
                          upload->fields_bytes);
}

static void free_upload(struct dg_upload *upload)
{
    dg_list_unlink(&upload->link);
    dg_buf_deinit(&upload->filling);
    dg_buf_deinit(&upload->writing);
    dg_buf_deinit(&upload->value);
    dg_allowance_hold(upload->api->opts.buffers, &upload->held, 0);
    dg_document_file_free(upload->file);
    dg_arena_deinit(&upload->arena);
    dg_free(upload);
}

void dg_upload_drop(struct dg_call *call)
{
    struct dg_upload *upload = call->form;
    if (!upload)
        return;
    call->form = NULL;
    upload->call = NULL;
    if (!upload->is_busy)
        free_upload(upload);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refuse_size(struct dg_call *call, uint64_t bytes, bool is_least)
{
    char message[160];
    const uint64_t max = call->api->documents.opts.file_max;
    snprintf(message, sizeof message,
             "The file has %s%" PRIu64 " bytes, and this server takes files of at most %" PRIu64
             " bytes (max-document).",
             is_least ? "more than " : "", bytes, max);
    dg_call_fail(call, (struct dg_failure){.status = 413,
                                           .code = "body_too_large",
                                           .message = message,
                                           .limit = (int64_t)max,
                                           .has_limit = true});
}

static void refuse_space(struct dg_call *call)
{
    dg_call_fail(call, (struct dg_failure){.status = 503,
                                           .code = "overloaded",
                                           .retry_after_s = 60,
                                           .message =
                                               "There is no room for more files (documents-space); "
                                               "try again later."});
}

static void refuse_form(struct dg_call *call, enum dg_err err, const struct dg_error *error)
{
    struct dg_failure failure = dg_translate_options_failure(call->req->arena, err, error, NULL);
    if (failure.status < 500 && err != DG_ERR_LIMIT)
        failure.code = "invalid_form";
    dg_call_fail(call, failure);
}

/* ---- To disk --------------------------------------------------------------------------------- */

static void run_write(struct dg_offload_task *task)
{
    struct dg_upload *upload = (struct dg_upload *)task;
    upload->err =
        dg_document_file_append(upload->file, dg_buf_span(&upload->writing), &upload->error);
    if (!upload->err && upload->is_last)
        upload->err = dg_document_file_map(upload->file, &upload->error);
}

/* Continues once all is on disk: the value of the field is the mapped file. */
static void go_on(struct dg_upload *upload)
{
    for (size_t i = 0; i < upload->fields.n && upload->file; i++)
        if (upload->fields.items[i].is_mapped)
            upload->fields.items[i].value = dg_span_make(upload->file->bytes, upload->file->len);
    dg_buf_deinit(&upload->filling);
    dg_buf_deinit(&upload->writing);
    count_memory(upload);
    dg_gate_request(upload->call);
}

static enum dg_err write_more(struct dg_upload *upload);

static void on_written(struct dg_offload_task *task)
{
    struct dg_upload *upload = (struct dg_upload *)task;
    struct dg_call *call = upload->call;
    upload->is_busy = false;
    if (!call) {
        free_upload(upload);
        return;
    }
    dg_buf_clear(&upload->writing);
    if (upload->err) { /* its sentence names a folder of the server */
        dg_call_fail(call, dg_translate_options_file_failure(upload->err));
    } else if (upload->is_last) {
        go_on(upload);
    } else if ((upload->filling.len || upload->has_ended) && write_more(upload) != DG_OK) {
        dg_call_no_memory(call);
    } else if (call->req->is_held) {
        dg_http_go_on(call->req);
    }
}

/* Sends to disk what has arrived. At the end this is done even if nothing has arrived, so that
 * the file is mapped. */
static enum dg_err write_more(struct dg_upload *upload)
{
    struct dg_offload *offload = upload->api->readers;
    const struct dg_buf empty = upload->writing;
    upload->writing = upload->filling;
    upload->filling = empty;
    upload->is_last = upload->has_ended;
    upload->is_busy = true;
    const enum dg_err err =
        offload ? dg_offload_submit(offload, &upload->task, run_write, on_written) : DG_OK;
    if (err) {
        upload->is_busy = false;
    } else if (!offload) {
        run_write(&upload->task);
        on_written(&upload->task);
    }
    return err;
}

/* ---- The form -------------------------------------------------------------------------------- */

static enum dg_err on_part(void *ctx, const struct dg_part *part, struct dg_error *error)
{
    struct dg_upload *upload = ctx;
    upload->field = (struct dg_field){.name = part->name,
                                      .kind = part->filename.ptr ? DG_FIELD_FILE : DG_FIELD_TEXT,
                                      .filename = part->filename,
                                      .type = part->type};
    upload->is_in_file = dg_span_eq(part->name, DG_SPAN("file"));
    dg_buf_clear(&upload->value);
    if (!upload->is_in_file)
        return DG_OK;
    if (upload->has_file)
        return dg_error_set(error, DG_ERR_INVALID, "the form has more than one file");
    upload->has_file = upload->field.is_mapped = true;
    upload->field.kind = DG_FIELD_FILE;
    return dg_document_file_new(&upload->api->documents, upload->client, &upload->file);
}

static enum dg_err take_file_data(struct dg_upload *upload, struct dg_span bytes)
{
    struct dg_call *call = upload->call;
    const uint64_t max = upload->api->documents.opts.file_max;
    upload->file_len += bytes.len;
    if (upload->file_len > max) {
        refuse_size(call, max, true);
        return DG_ERR_CANCELLED;
    }
    if (!dg_document_file_grow(upload->file, upload->file_len)) {
        refuse_space(call);
        return DG_ERR_CANCELLED;
    }
    enum dg_err err = dg_buf_append_span(&upload->filling, bytes);
    if (!err && !upload->is_busy && upload->filling.len >= BUFFER_MAX)
        err = write_more(upload);
    if (!err && upload->is_busy && upload->filling.len >= BUFFER_MAX)
        dg_http_hold(call->req);
    return err;
}

static enum dg_err on_data(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    struct dg_upload *upload = ctx;
    if (upload->is_in_file)
        return take_file_data(upload, bytes);
    if (upload->fields_bytes + upload->value.len + bytes.len > upload->fields_bytes_max)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "the fields other than the file have more than %zu bytes",
                            upload->fields_bytes_max);
    return dg_buf_append_span(&upload->value, bytes);
}

static enum dg_err add_field(struct dg_upload *upload)
{
    struct dg_fields *fields = &upload->fields;
    if (fields->n == upload->cap) {
        const size_t cap = upload->cap ? 2 * upload->cap : 16;
        struct dg_field *grown = dg_arena_calloc(&upload->arena, cap, sizeof *grown);
        if (!grown)
            return DG_ERR_NOMEM;
        if (fields->n)
            memcpy(grown, fields->items, fields->n * sizeof *grown);
        fields->items = grown;
        upload->cap = cap;
    }
    fields->items[fields->n++] = upload->field;
    return DG_OK;
}

static enum dg_err on_part_end(void *ctx, struct dg_error *error)
{
    struct dg_upload *upload = ctx;
    struct dg_field *field = &upload->field;
    const struct dg_span value = dg_buf_span(&upload->value);
    if (upload->fields.n == FIELDS_MAX)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "read more than %d values, expected at most that many in all fields together",
            FIELDS_MAX);
    if (upload->is_in_file)
        return add_field(upload);
    if (field->kind == DG_FIELD_TEXT && !dg_utf8_valid(value, NULL))
        return dg_error_set(error, DG_ERR_UTF8, "field '%.*s' is not valid UTF-8",
                            DG_SPAN_FMT(field->name));
    field->value = dg_arena_copy(&upload->arena, value);
    upload->fields_bytes += value.len;
    return field->value.ptr ? add_field(upload) : DG_ERR_NOMEM;
}

static const struct dg_multipart_events events = {
    .on_part = on_part, .on_data = on_data, .on_part_end = on_part_end};

/* DG_ERR_CANCELLED: the call is answered. */
static void on_piece(void *owner, struct dg_span piece)
{
    struct dg_call *call = owner;
    struct dg_upload *upload = call->form;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_multipart_feed(&upload->feed, piece, &error);
    if (!dg_http_reply_begun(call->req))
        count_memory(upload);
    if (err && err != DG_ERR_CANCELLED && !dg_http_reply_begun(call->req))
        refuse_form(call, err, &error);
}

/* ---- The call -------------------------------------------------------------------------------- */

/* Returns the length that the headers announce; 0 if the body comes in chunks. */
static uint64_t length_of(const struct dg_call *call)
{
    const struct dg_span text = dg_http_header(call->req, "content-length");
    uint64_t length = 0;
    for (size_t i = 0; i < text.len && length < UINT64_MAX / 20; i++)
        length = 10 * length + (uint64_t)(text.ptr[i] - '0');
    return length;
}

static bool has_place(const struct dg_call *call)
{
    const uint64_t client = dg_gate_client(call);
    const struct dg_list *all = &call->api->file_uploads;
    size_t n = 0, n_own = 0;
    for (const struct dg_list *at = all->next; at != all; at = at->next, n++)
        n_own += DG_LIST_ITEM(at, struct dg_upload, link)->client == client;
    return dg_client_share_has_room(client, UPLOADS_MAX, n, n_own, 1);
}

static struct dg_upload *new_upload(struct dg_call *call)
{
    struct dg_upload *upload = dg_try_calloc(1, sizeof *upload);
    if (!upload)
        return NULL;
    upload->api = call->api;
    upload->call = call;
    upload->client = dg_gate_client(call);
    upload->fields_bytes_max = call->req->body_max;
    dg_arena_init(&upload->arena, 2 * call->req->body_max + (4 << 20));
    dg_buf_init(&upload->value, call->req->body_max);
    dg_buf_init(&upload->filling, SIZE_MAX / 2);
    dg_buf_init(&upload->writing, SIZE_MAX / 2);
    dg_list_link_last(&call->api->file_uploads, &upload->link);
    return upload;
}

void dg_upload_prepare(struct dg_call *call)
{
    const struct dg_documents *documents = &call->api->documents;
    const struct dg_span type = dg_http_header(call->req, "content-type");
    const uint64_t length = length_of(call), max = documents->opts.file_max;
    struct dg_error error = DG_ERROR_NONE;
    if (!dg_multipart_is(type) || !dg_documents_are_taken(documents))
        return;
    if (length > max + FORM_MAX + call->req->body_max) {
        refuse_size(call, length, false);
        return;
    }
    if (!has_place(call)) {
        dg_call_fail(call, (struct dg_failure){
                               .status = 503,
                               .code = "overloaded",
                               .retry_after_s = 1,
                               .message = "Too many files are being uploaded at the moment."});
        return;
    }
    struct dg_upload *upload = new_upload(call);
    if (!upload) {
        dg_call_no_memory(call);
        return;
    }
    call->form = upload;
    call->client = upload->client;
    if (!dg_body_memory_admit(call, MEMORY)) {
        dg_call_no_memory(call);
        return;
    }
    enum dg_err err =
        dg_multipart_feed_begin(&upload->feed, type, &upload->arena, &events, upload, &error);
    if (err) {
        refuse_form(call, err, &error);
        return;
    }
    call->req->body_max = max + FORM_MAX + call->req->body_max;
    call->req->on_data = on_piece;
}

void dg_upload_end(struct dg_call *call)
{
    struct dg_upload *upload = call->form;
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = dg_multipart_feed_end(&upload->feed, &error);
    upload->has_ended = true;
    if (err)
        refuse_form(call, err, &error);
    else if (!upload->file)
        go_on(upload);
    else if (!upload->is_busy && write_more(upload) != DG_OK)
        dg_call_no_memory(call);
}

size_t dg_upload_fields_bytes(const struct dg_call *call)
{
    return call->form ? call->form->fields_bytes : 0;
}

uint64_t dg_upload_bytes(const struct dg_call *call)
{
    return call->form ? call->form->fields_bytes + call->form->file_len : 0;
}

const struct dg_fields *dg_upload_fields(const struct dg_call *call)
{
    return call->form ? &call->form->fields : NULL;
}

struct dg_document_file *dg_upload_take(struct dg_call *call)
{
    struct dg_document_file *file = call->form ? call->form->file : NULL;
    if (file)
        call->form->file = NULL;
    return file;
}
