/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's documents: uploaded, polled, and fetched once.
 *
 *     POST /v2/document              a form with file, target_lang, ...
 *                                    -> {"document_id":...,"document_key":...}
 *     POST /v2/document/ID           document_key -> {"status":"translating",...}
 *     POST /v2/document/ID/result    document_key -> the file, which is then removed
 *
 * The translation continues without a waiting client. */
#include "api/compat/deepl.h"
#include "api/compat/office_file.h"
#include "api/http/api_int.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter.h"

#include <stdio.h>
#include <strings.h>

enum {
    /* seconds reported for a document that is under way, after which to ask again */
    SECONDS_MORE = 5
};

#define SAME_LANGUAGE "Source and target language are equal."

/* ---- Sending --------------------------------------------------------------------------------- */

/* What is known of a document from the gate to its end. */
struct upload {
    struct dg_api *api;
    char id[DG_DOCUMENT_ID + 1];
    struct dg_charge charge;     /* what the document cost, which is given back if it fails */
    struct dg_office_file *file; /* owned until the document is kept; NULL: the document is plain
                                    text */
    bool is_begun;               /* the client has its answer, and need not wait */
};

static struct dg_document *find(struct dg_api *api, struct dg_span id)
{
    return dg_documents_find(&api->documents, dg_clock_now(&api->clock), id);
}

/* A translation that is not kept costs nothing. */
static void on_kept(void *ctx, enum dg_err err)
{
    struct dg_charge *charge = ctx;
    if (err)
        dg_charge_refund(charge, 507, 0);
    dg_free(charge);
}

/* Keeps the translation; takes the charge unless it fails. */
static enum dg_err keep(struct dg_compat *compat, struct dg_document *document,
                        struct dg_charge *charge)
{
    struct upload *upload = compat->user;
    struct dg_api *api = upload->api;
    struct dg_office_file *file = upload->file;
    const struct dg_span text = dg_compat_result(compat, 0);
    if (!file)
        return dg_documents_keep(&api->documents, api->readers, document, text, on_kept, charge);
    upload->file = NULL;
    snprintf(file->language, sizeof file->language, "%s", compat->to->code);
    return dg_documents_keep_office(&api->documents, api->readers, document, file, text, on_kept,
                                    charge);
}

/* A document that is in the target language already fails, as it does at DeepL. */
static bool is_translated_already(const struct dg_compat *compat)
{
    return !compat->items[0].is_blank && compat->items[0].from == compat->to;
}

static void on_end(struct dg_compat *compat, const struct dg_failure *failure)
{
    static const struct dg_failure same = {.status = 400, .message = SAME_LANGUAGE};
    struct upload *upload = compat->user;
    failure = !failure && is_translated_already(compat) ? &same : failure;
    struct dg_document *document = find(upload->api, dg_span_cstr(upload->id));
    /* on the heap, because it outlives the upload */
    struct dg_charge *charge = dg_try_malloc(sizeof *charge);
    if (failure || !document || !charge)
        dg_charge_refund(&upload->charge, failure ? failure->status : 503, 0);
    if (!document || (!failure && !charge)) {
        if (document)
            dg_documents_remove(&upload->api->documents, document);
        dg_free(charge);
        return;
    }
    if (failure) {
        dg_free(charge);
        document->state = DG_DOCUMENT_FAILED;
        snprintf(document->error, sizeof document->error, "%s", failure->message);
        return;
    }
    size_t n_characters = document->n_characters = compat->items[0].n_characters;
    *charge = upload->charge;
    const enum dg_err err = keep(compat, document, charge);
    if (err)
        on_kept(charge, err);
    else
        upload->api->deepl_characters += n_characters;
}

/* Called behind the gate: answers, and translates without a waiting client. */
static enum dg_err begin(struct dg_compat *compat, struct dg_failure *failure)
{
    struct dg_call *call = compat->work.call;
    struct upload *upload = compat->user;
    const struct dg_document *document = find(upload->api, dg_span_cstr(upload->id));
    struct dg_buf buf;
    struct dg_json_out out;
    enum dg_err err = document ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_glossaries_apply_call(call, compat->job, failure);
    if (err)
        return err;
    dg_buf_init(&buf, 4096);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "document_id", document->id);
    dg_json_out_put_cstr(&out, "document_key", document->key);
    dg_json_out_close(&out, '}');
    upload->charge = call->charge;
    upload->charge.call = NULL;
    dg_work_detach(&compat->work);
    compat->work.call = NULL; /* from here on nobody waits for the work */
    upload->is_begun = true;
    compat->on_end = on_end;
    compat->job->may_wait = true;
    dg_call_json_out(call, 200, &out);
    dg_compat_start(compat, NULL);
    return DG_OK;
}

/* It was refused, or the client left, or it has ended. */
static void undo(struct dg_compat *compat)
{
    const struct upload *upload = compat->user;
    struct dg_document *document =
        upload->is_begun ? NULL : find(upload->api, dg_span_cstr(upload->id));
    dg_office_file_free(upload->file);
    if (document)
        dg_documents_remove(&upload->api->documents, document);
}

/* The name of the file: that of the form's part, or that of the field "filename". */
static struct dg_span name_of(const struct dg_compat *compat, const struct dg_field *file)
{
    struct dg_span name = dg_fields_text(&compat->fields, "filename");
    return name.len ? name : file->filename;
}

static enum dg_err check_file(const struct dg_compat *compat, const struct dg_field *file,
                              struct dg_error *error)
{
    const struct upload *upload = compat->user;
    enum dg_doc_format format;
    if (!dg_documents_are_taken(&upload->api->documents))
        return dg_error_set(error, DG_ERR_INVALID, "Documents are not translated on this server.");
    if (!file || file->in_array || file->value.len == 0)
        return dg_error_set(error, DG_ERR_INVALID, "Invalid file data.");
    const struct dg_span name = name_of(compat, file);
    if (!dg_filter_takes(name, file->value) && !dg_utf8_valid(file->value, NULL))
        return dg_error_set(error, DG_ERR_UTF8, "Invalid file data: the file is not UTF-8.");
    if (!dg_document_is_known(name, &format))
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "Invalid file data: expected a name that ends in .docx, .pptx, .xlsx, "
            ".odt, .odp, .ods, .epub, .csv, .tsv, .yml, .tex, .eml, .pdf, .txt, .html, "
            ".xml, .md, .srt, .vtt, .ass, .sbv, .ttml, .json, .strings, "
            ".stringsdict, .properties, .resx, .po or .xliff.");
    return DG_OK;
}

/* The ending of the translation is that of the file: nothing is converted. */
static bool check_output_format(const struct dg_compat *compat, const struct dg_field *file,
                                struct dg_error *error)
{
    const struct dg_span wanted = dg_fields_text(&compat->fields, "output_format");
    const struct dg_span name = file ? name_of(compat, file) : wanted;
    const size_t at = name.len > wanted.len ? name.len - wanted.len : 0;
    if (wanted.len == 0 || (at > 0 && name.ptr[at - 1] == '.' &&
                            strncasecmp(name.ptr + at, wanted.ptr, wanted.len) == 0))
        return true;
    dg_error_set(error, DG_ERR_INVALID, "Value for 'output_format' not supported.");
    return false;
}

static enum dg_err keep_file(struct dg_compat *compat, const struct dg_field *file,
                             struct dg_span text, struct dg_error *error)
{
    struct upload *upload = compat->user;
    struct dg_document *document = NULL;
    size_t n_characters = dg_utf8_count(text), n_max = upload->api->opts.characters_max;
    if (n_max && n_characters > n_max)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "The file is longer than this server takes: read %zu characters, expected at most %zu.",
            n_characters, n_max);
    enum dg_err err =
        dg_documents_add(&upload->api->documents, dg_clock_now(&upload->api->clock),
                         dg_gate_client(compat->work.call), name_of(compat, file), &document);
    if (err)
        return dg_error_set(error, err, "Too many documents are kept; fetch some first.");
    memcpy(upload->id, document->id, sizeof upload->id);
    dg_document_set_output(document->name, dg_fields_text(&compat->fields, "output_format"));
    compat->job->options.request.format = document->format;
    err = dg_compat_texts(compat, 1);
    if (!err)
        compat->items[0].text = text;
    return err;
}

static void refuse(struct dg_compat *compat, enum dg_err err, const struct dg_error *error)
{
    int status = err == DG_ERR_BUSY    ? 429
                 : err == DG_ERR_NOMEM ? 503
                 : err == DG_ERR_LIMIT ? 413
                                       : 400;
    dg_compat_fail(compat, status, "invalid_value", dg_error_text(error, err));
}

/* The text is there: to the gate. */
static void go_to_gate(struct dg_compat *compat, struct dg_span text)
{
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_field *file = dg_fields_get(&compat->fields, "file");
    if (file->is_mapped && !dg_compat_hold_text(compat, text.len))
        return;
    compat->arena->max += file->is_mapped ? 8 * text.len : 0;
    enum dg_err err = keep_file(compat, file, text, &error);
    if (err) {
        refuse(compat, err, &error);
        return;
    }
    compat->job->options.request.priority = DG_PRIORITY_BULK;
    compat->work.wish.request = &compat->job->options.request;
    compat->work.wish.arena = compat->arena;
    dg_compat_pass(compat, dg_fields_text(&compat->fields, "auth_key"), begin);
}

static void on_office(struct dg_compat *compat, struct dg_office_file *file)
{
    struct dg_error error = DG_ERROR_NONE;
    struct upload *upload = compat->user;
    upload->file = file;
    if (!file->err) {
        go_to_gate(compat, dg_buf_span(&file->html));
        return;
    }
    dg_error_set(&error, file->err, "Invalid file data: %s",
                 dg_error_text(&file->error, file->err));
    refuse(compat, file->err, &error);
}

static void on_open(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    struct upload *upload = dg_arena_calloc(compat->arena, 1, sizeof *upload);
    if (!upload) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM, NULL);
        return;
    }
    upload->api = call->api;
    compat->user = upload;
    compat->undo = undo;
    bool is_fine = dg_deepl_pair(compat, &error) && dg_deepl_check_words(compat, &error) &&
                   dg_deepl_read_glossaries(compat, &error);
    const struct dg_field *file = dg_fields_get(&compat->fields, "file");
    enum dg_err err = is_fine ? DG_OK : DG_ERR_INVALID;
    if (!err && compat->from && compat->from == compat->to)
        err = dg_error_set(&error, DG_ERR_INVALID, "%s", SAME_LANGUAGE);
    if (!err)
        err = check_file(compat, file, &error);
    if (!err && !check_output_format(compat, file, &error))
        err = DG_ERR_INVALID;
    if (err)
        refuse(compat, err, &error);
    else if (dg_filter_takes(name_of(compat, file), file->value))
        dg_office_file_read(compat, name_of(compat, file), file->value, on_office);
    else
        go_to_gate(compat, file->value);
}

void dg_deepl_document(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}

/* ---- Asking and fetching --------------------------------------------------------------------- */

/* The document that the path and the key name; NULL when the call was answered. */
static struct dg_document *open_document(struct dg_call *call)
{
    struct dg_fields fields;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_document *document = NULL;
    const struct dg_fields_source source = dg_fields_source(call->req);
    enum dg_err err = dg_fields_read(&source, call->req->arena, &fields, &error);
    if (!err)
        document = find(call->api, call->arg);
    if (document && !dg_document_opens(document, dg_fields_text(&fields, "document_key")))
        document = NULL;
    if (!document)
        dg_call_fail(call, (struct dg_failure){.status = err ? 400 : 404,
                                               .code = err ? "invalid_form" : "not_found",
                                               .message = err ? dg_error_text(&error, err)
                                                              : "Document not found"});
    return document;
}

void dg_deepl_document_status(struct dg_call *call)
{
    static const char *const names[] = {[DG_DOCUMENT_TRANSLATING] = "translating",
                                        [DG_DOCUMENT_DONE] = "done",
                                        [DG_DOCUMENT_FAILED] = "error"};
    struct dg_document *document = open_document(call);
    struct dg_buf buf;
    struct dg_json_out out;
    if (!document)
        return;
    dg_buf_init(&buf, 4096);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "document_id", document->id);
    dg_json_out_put_cstr(&out, "status", names[document->state]);
    if (document->state == DG_DOCUMENT_TRANSLATING) {
        dg_json_out_put_uint(&out, "seconds_remaining", SECONDS_MORE);
    } else if (document->state == DG_DOCUMENT_DONE) {
        dg_json_out_put_uint(&out, "billed_characters", document->n_characters);
    } else {
        dg_json_out_put_cstr(&out, "error_message", document->error);
        dg_json_out_put_cstr(&out, "message", document->error);
    }
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

void dg_deepl_document_result(struct dg_call *call)
{
    struct dg_document *document = open_document(call);
    if (document && document->state != DG_DOCUMENT_DONE)
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "not_done",
                                               .message = "Document translation is not done"});
    else if (document)
        dg_documents_send(call, document, true);
}
