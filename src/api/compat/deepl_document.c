/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's documents: uploaded, polled, and fetched once.
 *
 *     POST /v2/document              a form with file, target_lang, ...
 *                                    -> {"document_id":...,"document_key":...}
 *     POST /v2/document/ID           document_key -> {"status":"translating",...}
 *     POST /v2/document/ID/result    document_key -> the file, which is then removed
 *
 * They are jobs (api/jobs/document_add.h), and go on without a waiting client. */
#include "api/compat/deepl.h"
#include "api/http/api_int.h"
#include "api/http/documents.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_add.h"
#include "api/jobs/document_result.h"
#include "base/memory/mem.h"

#include <stdio.h>
#include <strings.h>

enum {
    /* seconds reported for a document that is under way, after which to ask again */
    SECONDS_MORE = 5
};

#define SAME_LANGUAGE "Source and target language are equal."

/* ---- Sending --------------------------------------------------------------------------------- */

/* Returns why a document is of no use, or NULL: no part of it may have failed. */
static const char *failure_of(const struct dg_bulk_job *job, char text[128])
{
    if (dg_bulk_state(job) == DG_BULK_FAILED)
        return dg_error_text(&job->error, job->err);
    if (dg_bulk_state(job) == DG_BULK_CANCELLED)
        return "The translation was cancelled.";
    if (job->n_failed == 0)
        return NULL;
    snprintf(text, 128, "%zu of its %zu parts could not be translated.", job->n_failed,
             job->n_lines);
    return text;
}

/* Where servers share jobs, Redis gives back once, however many servers ask it to, and whichever of
 * them have died. */
void dg_deepl_document_bill(void *api, const struct dg_bulk_job *job)
{
    const struct dg_access *access = ((struct dg_api *)api)->access;
    char text[128];
    struct dg_quota_ask ask = {
        .kind = DG_QUOTA_KEY,
        .id = dg_span_cstr(job->owner),
        .requests = job->bill.requests,
        .characters = job->bill.characters,
        .once = dg_span_cstr(dg_bulk_is_shared(job->bulk) ? job->document_key : ""),
        .month = job->bill.month,
        .is_local = job->bill.is_local};
    memcpy(ask.limits, job->bill.limits, sizeof ask.limits);
    if (access && failure_of(job, text))
        dg_quota_refund(dg_access_quota(access), &ask);
}

/* What the document cost, which is given back if it fails, unless its job has the bill. */
struct bill {
    struct dg_bulk_watch watch;
    struct dg_api *api;
    struct dg_charge charge;
};

static void on_over(struct dg_bulk_watch *watch, struct dg_bulk_job *job)
{
    struct bill *bill = DG_LIST_ITEM(watch, struct bill, watch);
    char text[128];
    const bool has_failed = job && failure_of(job, text);
    if (has_failed && job->bill.characters == 0)
        dg_charge_refund(&bill->charge, 507, 0);
    else if (job && !has_failed)
        bill->api->deepl_characters += job->n_characters;
    dg_free(bill);
}

/* If there is no memory for the bill, the document stays charged, whatever becomes of it. */
static void keep_bill(struct dg_call *call, const struct dg_bulk_job *job)
{
    struct bill *bill = dg_try_calloc(1, sizeof *bill);
    if (!bill)
        return;
    bill->api = call->api;
    bill->charge = call->charge;
    bill->charge.call = NULL;
    bill->watch.fn = on_over;
    dg_bulk_watch(call->api->bulk, job->id, &bill->watch);
}

static void on_added(struct dg_call *call, struct dg_bulk_job *job, const char *key,
                     const char *code)
{
    struct dg_buf buf;
    struct dg_json_out out;
    (void)code;
    keep_bill(call, job);
    dg_buf_init(&buf, 4096);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "document_id", job->id);
    dg_json_out_put_cstr(&out, "document_key", key);
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

/* Returns the name of the file: that of the form's part, or that of the field "filename". */
static struct dg_span name_of(const struct dg_compat *compat, const struct dg_field *file)
{
    struct dg_span name = dg_fields_text(&compat->fields, "filename");
    return name.len ? name : file->filename;
}

static enum dg_err check_file(const struct dg_compat *compat, const struct dg_field *file,
                              struct dg_error *error)
{
    const struct dg_api *api = compat->work.api;
    enum dg_doc_format format;
    if (!dg_documents_are_taken(&api->documents) || !api->bulk)
        return dg_error_set(error, DG_ERR_INVALID, "Documents are not translated on this server.");
    if (!file || !file->is_mapped || file->value.len == 0)
        return dg_error_set(error, DG_ERR_INVALID, "Invalid file data.");
    if (!dg_document_is_known(name_of(compat, file), &format))
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "Invalid file data: expected a name that ends in .docx, .pptx, .xlsx, "
            ".odt, .odp, .ods, .epub, .csv, .tsv, .yml, .tex, .eml, .pdf, .txt, .html, "
            ".xml, .md, .srt, .vtt, .ass, .sbv, .ttml, .json, .strings, "
            ".stringsdict, .properties, .resx, .po or .xliff.");
    if (dg_fields_text(&compat->fields, "columns").len > DG_DOCUMENT_COLUMNS)
        return dg_error_set(error, DG_ERR_INVALID, "The list of columns is too long.");
    return DG_OK;
}

/* Checks `output_format`: nothing is converted, so it must be the ending of the file. */
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

/* Puts the options in the form that POST /v1/translate takes. */
static enum dg_err put_options(const struct dg_compat *compat, struct dg_buf *options_json)
{
    static const char *const formalities[] = {"default", "formal", "informal", "prefer_formal",
                                              "prefer_informal"}; /* by enum dg_formality */
    const struct dg_translate_options *options = &compat->job->options;
    struct dg_json_out out;
    dg_json_out_init(&out, options_json);
    dg_json_out_open(&out, '{');
    if (compat->from)
        dg_json_out_put_cstr(&out, "source", compat->from->tag.text);
    dg_json_out_put_cstr(&out, "target", compat->to->tag.text);
    dg_json_out_put_cstr(&out, "formality", formalities[options->request.formality]);
    if (options->has_glossary) {
        dg_json_out_put_open(&out, "glossary", '[');
        for (size_t i = 0; i < options->n_glossary_ids; i++)
            dg_json_out_string(&out, options->glossary_ids[i]);
        dg_json_out_close(&out, ']');
    }
    dg_json_out_close(&out, '}');
    return dg_json_out_end(&out);
}

static void add(struct dg_call *call, struct dg_compat *compat, const struct dg_field *file)
{
    struct dg_buf options_json;
    dg_buf_init(&options_json, DG_DOCUMENT_OPTIONS_MAX);
    if (put_options(compat, &options_json) != DG_OK) {
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
    } else {
        const struct dg_document_order order = {
            .api = DG_BULK_DEEPL,
            .file = compat->file,
            .name = name_of(compat, file),
            .columns = dg_fields_text(&compat->fields, "columns"),
            .output = dg_fields_text(&compat->fields, "output_format"),
            .options_json = &options_json,
            .is_detected = !compat->from,
            .key = dg_fields_text(&compat->fields, "auth_key"),
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
        dg_compat_fail(compat, err == DG_ERR_NOMEM ? 503 : 400, "invalid_value",
                       dg_error_text(&error, err));
    else
        add(call, compat, file);
}

void dg_deepl_document(struct dg_call *call)
{
    dg_compat_open(call, on_open);
}

/* ---- Asking and fetching --------------------------------------------------------------------- */

/* Returns the document that the path and the key name; NULL when the call was answered. */
static struct dg_bulk_job *open_document(struct dg_call *call)
{
    struct dg_fields fields;
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_fields_source source = dg_fields_source(call->req);
    enum dg_err err = dg_fields_read(&source, call->req->arena, &fields, &error);
    struct dg_bulk_job *job =
        err || !call->api->bulk ? NULL : dg_bulk_find(call->api->bulk, call->arg);
    if (job && job->api == DG_BULK_DEEPL &&
        dg_document_opens(job, dg_fields_text(&fields, "document_key")))
        return job;
    if (!err && !job && call->api->bulk && dg_bulk_may_lack(call->api->bulk)) {
        dg_call_fail(call, dg_call_redis_away);
        return NULL;
    }
    dg_call_fail(call, (struct dg_failure){.status = err ? 400 : 404,
                                           .code = err ? "invalid_form" : "not_found",
                                           .message = err ? dg_error_text(&error, err)
                                                          : "Document not found"});
    return NULL;
}

void dg_deepl_document_status(struct dg_call *call)
{
    struct dg_bulk_job *job = open_document(call);
    struct dg_buf buf;
    struct dg_json_out out;
    char text[128];
    if (!job)
        return;
    const char *failure = failure_of(job, text);
    dg_buf_init(&buf, 4096);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "document_id", job->id);
    if (!dg_bulk_is_over(job)) {
        dg_json_out_put_cstr(&out, "status", "translating");
        dg_json_out_put_uint(&out, "seconds_remaining", SECONDS_MORE);
    } else if (!failure) {
        dg_json_out_put_cstr(&out, "status", "done");
        dg_json_out_put_uint(&out, "billed_characters", job->n_characters);
    } else {
        dg_json_out_put_cstr(&out, "status", "error");
        dg_json_out_put_cstr(&out, "error_message", failure);
        dg_json_out_put_cstr(&out, "message", failure);
    }
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

void dg_deepl_document_result(struct dg_call *call)
{
    struct dg_bulk_job *job = open_document(call);
    char text[128];
    if (job && (dg_bulk_state(job) != DG_BULK_DONE || failure_of(job, text)))
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "not_done",
                                               .message = "Document translation is not done"});
    else if (job)
        dg_document_send(call, job, job->document_name, true);
}
