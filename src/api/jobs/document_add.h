/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a document is added: a file that was sent (http/upload.h) is read on another thread, passes
 * the gate and becomes a job on disk, whichever API it came through.
 *
 *     struct dg_document_order order = {.api = DG_BULK_DEEPL, .file = file, .name = name, ...};
 *     dg_document_add(call, &order);         takes the call, the file and the options
 *
 *     static void on_added(struct dg_call *call, struct dg_bulk_job *job, const char *key,
 *                          const char *code)
 *     {
 *         ... answers ...                    the job is on disk; where servers share, known to all
 *     }
 *
 * A refusal is answered here, in the words of the call's dialect. If the client has left, a
 * document of another API than ours is removed, since nobody can fetch it. One thread: the
 * loop's. */
#ifndef DG_API_JOBS_DOCUMENT_ADD_H
#define DG_API_JOBS_DOCUMENT_ADD_H

#include "api/http/documents.h"
#include "api/jobs/bulk.h"
#include "base/memory/buf.h"

struct dg_call;

enum { DG_DOCUMENT_OPTIONS_MAX = 64 * 1024 };

struct dg_document_order {
    enum dg_bulk_api api;
    struct dg_document_file *file;        /* taken */
    struct dg_span name, columns, output; /* copied; checked by dg_document_check */
    struct dg_buf *options_json; /* taken: a JSON object with what POST /v1/translate takes, except
                                    the text and its format */
    bool is_detected;            /* the object lacks `source`, which is to be the text's language */
    struct dg_span key;          /* copied: the key of the form, for the gate */
    struct dg_span code;         /* copied, for on_added: what the client calls the target */
    /* `key` opens the document, if its API has such keys; otherwise it is NULL. The call is not
     * NULL. */
    void (*on_added)(struct dg_call *call, struct dg_bulk_job *job, const char *key,
                     const char *code);
};

void dg_document_add(struct dg_call *call, const struct dg_document_order *order);

/* Returns whether the key, in hexadecimal, opens the document. Compares in constant time. */
bool dg_document_opens(const struct dg_bulk_job *job, struct dg_span key);

#endif
