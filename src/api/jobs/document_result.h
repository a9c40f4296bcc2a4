/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How a translated document is sent. It is not kept: a thread that reads bodies makes it from the
 * uploaded file, its lines and their translations each time when a client fetches it, and the
 * answer goes out piece by piece.
 *
 *     dg_document_send(call, job, "letter.en.docx", false);
 *
 * Memory: see document_text.h, while the file is made. One thread: the loop's. */
#ifndef DG_API_JOBS_DOCUMENT_RESULT_H
#define DG_API_JOBS_DOCUMENT_RESULT_H

#include "api/http/documents.h"
#include "api/jobs/bulk.h"

struct dg_call;

/* Answers with the translated file of a finished job, under this name. With `once` the file can be
 * fetched only once (dg_bulk_fetched). */
void dg_document_send(struct dg_call *call, struct dg_bulk_job *job, const char *name, bool once);

/* Writes the name of the translated file: `name` with the ending of the wanted format. */
void dg_document_result_name(const struct dg_bulk_job *job, const char *name,
                             char out[DG_DOCUMENT_NAME + 1]);

#endif
