/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The result takes room of the documents (documents.h) until it is sent. */
#include "api/jobs/document_result.h"
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/document_text.h"
#include "api/v1/translate_options.h"
#include "base/memory/mem.h"

#include <stdio.h>

enum { SLOWNESS = 16 /* an archive takes as long as this many times its bytes of JSON */ };

static const struct dg_failure no_memory = {.status = 503,
                                            .code = "overloaded",
                                            .message = "The server is out of memory.",
                                            .retry_after_s = 1};

static const struct dg_failure no_room = {
    .status = 503,
    .code = "overloaded",
    .retry_after_s = 60,
    .message = "There is no room for more files (documents-space); try again later."};

struct making {
    struct dg_work work;
    struct dg_offload_task task;
    struct dg_bulk_job *job;         /* counted as a user of the job */
    struct dg_document_file *result; /* owned */
    char language[DG_LANGTAG_TEXT];
    char name[DG_DOCUMENT_NAME + 1];
    bool once, has_output;
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

static void run_make(struct dg_offload_task *task)
{
    struct making *making = DG_LIST_ITEM(task, struct making, task);
    making->err = dg_document_text_write(making->job, making->has_output, making->language, append,
                                         making, &making->error);
}

static void on_made(struct dg_offload_task *task)
{
    struct making *making = DG_LIST_ITEM(task, struct making, task);
    enum dg_doc_format format = DG_DOC_TEXT;
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
    struct dg_call *call = dg_work_detach(&making->work);
    if (call) {
        dg_documents_send_file(call, making->result, making->name, format,
                               making->once ? making->job->id : "");
        making->result = NULL;
    }
    dg_work_end(&making->work);
}

void dg_document_result_name(const struct dg_bulk_job *job, const char *name,
                             char out[DG_DOCUMENT_NAME + 1])
{
    dg_document_clean_name(dg_span_cstr(name), out);
    dg_document_set_output(out, dg_span_cstr(job->document_output));
}

void dg_document_send(struct dg_call *call, struct dg_bulk_job *job, const char *name, bool once)
{
    struct dg_offload *readers = call->api->readers;
    struct making *making = dg_try_calloc(1, sizeof *making);
    if (!making || dg_document_file_new(&call->api->documents, dg_gate_client(call),
                                        &making->result) != DG_OK) {
        dg_free(making);
        dg_call_fail(call, no_memory);
        return;
    }
    making->job = job;
    making->once = once;
    making->has_output = job->n_done > 0;
    dg_bulk_hold(job);
    dg_work_init(&making->work, call->api, call, &making_ops);
    dg_document_result_name(job, name, making->name);
    snprintf(making->language, sizeof making->language, "%s",
             job->options.request.target ? job->options.request.target : "");
    if (!dg_document_file_grow(making->result, job->document_bytes + job->out_bytes)) {
        dg_work_fail(&making->work, no_room);
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
