/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Only the hash of the key that opens a document is written down, so that nobody who can read the
 * folder or Redis can fetch the document with it. */
#include "api/jobs/document_add.h"
#include "api/http/api_int.h"
#include "api/http/body_memory.h"
#include "api/http/work.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_text.h"
#include "api/jobs/v1_jobs_int.h"
#include "api/v1/glossaries.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

enum {
    SLOWNESS = 16, /* an archive takes as long as this many times its bytes of JSON */
    CODE_MAX = 63,
};

#define SAME_LANGUAGE "Source and target language are equal."

static const struct dg_failure no_memory = {.status = 503,
                                            .code = "overloaded",
                                            .message = "The server is out of memory.",
                                            .retry_after_s = 1};

static const struct dg_failure no_room = {.status = 503,
                                          .code = "overloaded",
                                          .message =
                                              "There is no room for more files; try again later.",
                                          .retry_after_s = 60};

struct adding {
    struct dg_work work;
    struct dg_charge charge; /* a copy, for when the client has left and nothing can be written */
    struct dg_offload_task task;
    struct dg_arena arena;
    enum dg_bulk_api api;
    struct dg_document_file *file; /* owned */
    char name[DG_DOCUMENT_NAME + 1];
    char columns[DG_DOCUMENT_COLUMNS + 1], output[DG_DOCUMENT_OUTPUT + 1];
    char code[CODE_MAX + 1];
    char key[DG_DOCUMENT_KEY + 1];
    struct dg_buf options_json; /* lacks its last bracket until the file is read */
    struct dg_translate_options options;
    struct dg_languages langs;
    bool is_detected;
    struct dg_document_text text;
    bool is_same; /* the text is in the target language already */
    enum dg_err err;
    struct dg_error error;
    void (*on_added)(struct dg_call *call, struct dg_bulk_job *job, const char *key,
                     const char *code);
};

static void free_adding(struct dg_work *work)
{
    struct adding *adding = (struct adding *)work;
    dg_document_file_free(adding->file);
    dg_buf_deinit(&adding->options_json);
    dg_document_text_deinit(&adding->text);
    dg_arena_deinit(&adding->arena);
    dg_free(adding);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void hash_key(struct dg_span key, char hex[DG_BULK_KEY + 1])
{
    unsigned char digest[DG_BULK_KEY / 2];
    crypto_generichash(digest, sizeof digest, (const unsigned char *)key.ptr, key.len, NULL, 0);
    sodium_bin2hex(hex, DG_BULK_KEY + 1, digest, sizeof digest);
}

static void make_key(char key[DG_DOCUMENT_KEY + 1])
{
    unsigned char bytes[DG_DOCUMENT_KEY / 2];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(key, DG_DOCUMENT_KEY + 1, bytes, sizeof bytes);
}

bool dg_document_opens(const struct dg_bulk_job *job, struct dg_span key)
{
    char hex[DG_BULK_KEY + 1];
    if (key.len != DG_DOCUMENT_KEY || !*job->document_key)
        return false;
    hash_key(key, hex);
    return sodium_memcmp(hex, job->document_key, DG_BULK_KEY) == 0;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Puts a failure into the words of the other APIs. */
static struct dg_failure in_words_of(const struct adding *adding, struct dg_failure failure,
                                     enum dg_err err)
{
    static const char *const before[] = {[DG_BULK_V1] = "",
                                         [DG_BULK_DEEPL] = "Invalid file data: ",
                                         [DG_BULK_LIBRETRANSLATE] = "Invalid request: "};
    struct dg_buf text;
    if (adding->api == DG_BULK_V1 || failure.status >= 500)
        return failure;
    dg_buf_init(&text, 4096);
    if (dg_buf_printf(&text, "%s%s", before[adding->api], failure.message) == DG_OK) {
        const struct dg_span copy =
            dg_arena_copy(adding->work.call->req->arena, dg_buf_span(&text));
        failure.message = copy.ptr ? copy.ptr : failure.message;
    }
    dg_buf_deinit(&text);
    failure.status = adding->api == DG_BULK_DEEPL && err == DG_ERR_LIMIT ? 413 : 400;
    return failure;
}

static struct dg_failure failure_of_order(const struct adding *adding, enum dg_err err,
                                          const struct dg_error *error)
{
    if (adding->api == DG_BULK_V1 || (err != DG_ERR_LIMIT && err != DG_ERR_RANGE))
        return dg_v1_jobs_failure(adding->work.call, err, error);
    if (adding->api == DG_BULK_DEEPL && err == DG_ERR_LIMIT)
        return (struct dg_failure){.status = 429,
                                   .code = "too_many",
                                   .message = "Too many documents are kept; fetch some first."};
    return no_room;
}

/* ---- Behind the gate ------------------------------------------------------------------------- */

static void on_added(void *owner, struct dg_bulk_job *job, enum dg_err err,
                     const struct dg_error *error)
{
    struct adding *adding = owner;
    (void)error; /* it names a file; the log has the sentence */
    if (!job) {
        const struct dg_failure failure =
            err == DG_ERR_BUSY ? dg_call_redis_away : dg_translate_options_file_failure(err);
        struct dg_charge *charge = adding->work.call ? &adding->work.call->charge : &adding->charge;
        if (err != DG_ERR_BUSY) /* no server has the document */
            *charge->once = '\0';
        if (!adding->work.call)
            dg_charge_refund(charge, failure.status, 0);
        dg_work_fail(&adding->work, failure);
        return;
    }
    struct dg_call *call = dg_work_detach(&adding->work);
    if (call)
        adding->on_added(call, job, adding->key, adding->code);
    else if (adding->api != DG_BULK_V1)
        dg_bulk_remove(job);
    dg_work_end(&adding->work);
}

/* Checks that its glossaries exist and belong to its caller. */
static enum dg_err check_glossaries(struct adding *adding, struct dg_failure *failure)
{
    struct dg_api *api = adding->work.api;
    struct dg_job *job = NULL;
    if (adding->options.n_glossary_ids == 0)
        return DG_OK;
    enum dg_err err = dg_job_new(api->engine, &api->jobs, 1 << 20, &job);
    if (err)
        return err;
    job->options = adding->options;
    err = dg_glossaries_apply_call(adding->work.call, job, failure);
    if (err) {
        const struct dg_span text =
            dg_arena_copy(&adding->arena, dg_span_cstr(failure->message ? failure->message : ""));
        failure->message = text.ptr ? text.ptr : "The server is out of memory.";
    }
    dg_job_drop(job);
    return err;
}

/* A document of DeepL's costs nothing if it fails, whichever server then knows. */
static struct dg_bulk_bill bill_of(const struct adding *adding, const struct dg_call *call)
{
    const struct dg_charge *charge = &call->charge;
    struct dg_bulk_bill bill = {.requests = 0};
    if (adding->api != DG_BULK_DEEPL || !charge->is_taken || charge->options.kind != DG_QUOTA_KEY ||
        (charge->options.is_local && dg_bulk_is_shared(call->api->bulk)))
        return bill;
    bill.requests = charge->options.requests;
    bill.characters = charge->options.characters;
    bill.month = charge->options.month;
    bill.is_local = charge->options.is_local;
    memcpy(bill.limits, charge->options.limits, sizeof bill.limits);
    return bill;
}

/* Called after the gate: the request now has the key's models. */
static enum dg_err begin(struct dg_work *work, struct dg_failure *failure)
{
    struct adding *adding = (struct adding *)work;
    struct dg_call *call = work->call;
    struct dg_error error = DG_ERROR_NONE;
    char hash[DG_BULK_KEY + 1] = "";
    const bool is_over = adding->is_same || adding->text.lines.len == 0;
    enum dg_err err = call->api->bulk ? DG_OK : DG_ERR_CLOSED;
    if (!err && !is_over)
        err = dg_engine_can(call->api->engine, &adding->options.request, &error);
    if (err) {
        *failure = dg_translate_options_failure(call->req->arena, err, &error, NULL);
        return err;
    }
    err = check_glossaries(adding, failure);
    if (err)
        return err;
    if (adding->api == DG_BULK_DEEPL) {
        make_key(adding->key);
        hash_key(dg_span_make(adding->key, DG_DOCUMENT_KEY), hash);
    }
    const bool fails = adding->is_same && adding->api == DG_BULK_DEEPL;
    const struct dg_quota_id address = dg_gate_address(call);
    const struct dg_bulk_order order = {.format = DG_BULK_JSONL,
                                        .options_json = dg_buf_span(&adding->options_json),
                                        .owner = dg_call_owner(call),
                                        .address = dg_span_cstr(address.text),
                                        .client = dg_gate_client(call),
                                        .only = adding->options.request.only,
                                        .n_only = adding->options.request.n_only,
                                        .body = &adding->text.lines,
                                        .document = adding->file,
                                        .document_name = adding->name,
                                        .columns = adding->columns,
                                        .output = adding->output,
                                        .api = adding->api,
                                        .key = hash,
                                        .n_characters = adding->text.n_plain,
                                        .bill = bill_of(adding, call),
                                        .state = fails     ? DG_BULK_FAILED
                                                 : is_over ? DG_BULK_DONE
                                                           : DG_BULK_WAITING,
                                        .reason = SAME_LANGUAGE};
    adding->file = NULL;
    err = dg_bulk_add(call->api->bulk, &order, on_added, adding, &error);
    if (err)
        *failure = failure_of_order(adding, err, &error);
    else if (order.bill.characters && dg_bulk_is_shared(call->api->bulk))
        /* the document may exist although its client is told that it does not */
        memcpy(call->charge.once, hash, sizeof hash);
    adding->charge = call->charge;
    return err;
}

static const struct dg_work_ops adding_ops = {.start = begin, .free = free_adding};

/* ---- Reading --------------------------------------------------------------------------------- */

static enum dg_err put_member(struct adding *adding, const char *name, const char *value)
{
    return dg_buf_printf(&adding->options_json, "%s\"%s\":\"%s\"",
                         adding->options_json.len > 1 ? "," : "", name, value);
}

static void run_read(struct dg_offload_task *task)
{
    struct adding *adding = DG_LIST_ITEM(task, struct adding, task);
    struct dg_document_text *text = &adding->text;
    text->bytes = dg_span_make(adding->file->bytes, adding->file->len);
    text->name = adding->name;
    text->columns = adding->columns;
    text->output = adding->output;
    text->stop = &adding->work.is_unwanted;
    adding->err = dg_document_text_read(text, adding->work.api->engine,
                                        adding->is_detected ? &adding->langs : NULL, &adding->arena,
                                        &adding->error);
    if (!adding->err && *text->source)
        adding->err = put_member(adding, "source", text->source);
    if (!adding->err)
        adding->err = put_member(adding, "format", dg_doc_format_words[text->format]);
    if (!adding->err)
        adding->err = dg_buf_append_byte(&adding->options_json, '}');
}

static bool is_same_language(const struct adding *adding)
{
    const char *source = adding->text.source, *target = adding->options.request.target;
    return *source && target &&
           dg_languages_find(&adding->langs, dg_span_cstr(source), DG_LANGUAGE_ANY) ==
               dg_languages_find(&adding->langs, dg_span_cstr(target), DG_LANGUAGE_ANY);
}

static enum dg_err check_length(struct adding *adding)
{
    const size_t max = adding->work.api->opts.characters_max;
    if (adding->api == DG_BULK_V1 || !max || adding->text.n_characters <= max)
        return DG_OK;
    return dg_error_set(&adding->error, DG_ERR_LIMIT,
                        "the file is longer than this server takes: read %" PRIu64
                        " characters, expected at most %zu",
                        adding->text.n_characters, max);
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
    if (!err)
        err = check_length(adding);
    failure = dg_translate_options_failure(call->req->arena, err, &adding->error, "file");
    if (!err && adding->text.lines.len == 0 && adding->api == DG_BULK_V1) {
        failure = (struct dg_failure){.status = 400,
                                      .code = "invalid_value",
                                      .message = "The file has no text.",
                                      .field = "file"};
        err = DG_ERR_INVALID;
    }
    if (!err)
        err = dg_v1_jobs_read_options(call, dg_buf_span(&adding->options_json), &adding->options,
                                      &failure);
    if (!err && !dg_body_memory_admit(call, adding->text.lines.len)) {
        failure = no_memory;
        err = DG_ERR_NOMEM;
    }
    if (err) {
        dg_work_fail(&adding->work, in_words_of(adding, failure, err));
        return;
    }
    adding->is_same = adding->api != DG_BULK_V1 && is_same_language(adding);
    adding->work.wish.characters = adding->text.n_characters;
    adding->work.wish.request = &adding->options.request;
    adding->work.wish.arena = call->req->arena;
    adding->work.wish.has_priority = true;
    dg_work_pass(&adding->work);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t cap, struct dg_span text)
{
    snprintf(out, cap, "%.*s", DG_SPAN_FMT(text));
}

/* Copies what is borrowed, and takes the rest. Mistakes in the options are reported before the file
 * is read. */
static enum dg_err take_order(struct adding *adding, const struct dg_document_order *order,
                              struct dg_failure *failure)
{
    adding->api = order->api;
    adding->file = order->file;
    adding->options_json = *order->options_json;
    dg_buf_init(order->options_json, DG_DOCUMENT_OPTIONS_MAX);
    adding->is_detected = order->is_detected;
    adding->on_added = order->on_added;
    dg_document_clean_name(order->name, adding->name);
    copy_text(adding->columns, sizeof adding->columns, order->columns);
    copy_text(adding->output, sizeof adding->output, order->output);
    copy_text(adding->code, sizeof adding->code, order->code);
    adding->work.wish.key = dg_arena_copy(&adding->arena, order->key);
    if (!adding->work.wish.key.ptr)
        return DG_ERR_NOMEM;
    const enum dg_err err = dg_v1_jobs_read_options(
        adding->work.call, dg_buf_span(&adding->options_json), &adding->options, failure);
    if (err)
        return err;
    dg_buf_truncate(&adding->options_json, adding->options_json.len - 1);
    return dg_languages_read(&adding->work.api->languages, adding->work.api->engine, &adding->arena,
                             &adding->langs);
}

void dg_document_add(struct dg_call *call, const struct dg_document_order *order)
{
    struct dg_offload *readers = call->api->readers;
    struct dg_failure failure = no_memory;
    struct adding *adding = call->api->engine ? dg_try_calloc(1, sizeof *adding) : NULL;
    if (!adding) {
        dg_document_file_free(order->file);
        dg_call_fail(call, no_memory);
        return;
    }
    dg_work_init(&adding->work, call->api, call, &adding_ops);
    dg_arena_init(&adding->arena, 16 << 20);
    enum dg_err err = take_order(adding, order, &failure);
    if (err) {
        dg_work_fail(&adding->work, failure);
        return;
    }
    dg_work_hold(&adding->work);
    err = readers ? dg_offload_submit_sized(readers, &adding->task,
                                            SLOWNESS * adding->file->len + 1, run_read, on_read)
                  : DG_OK;
    if (err) {
        dg_work_detach(&adding->work);
        dg_work_fail(&adding->work, no_memory);
    } else if (!readers) {
        run_read(&adding->task);
        on_read(&adding->task);
    }
}
