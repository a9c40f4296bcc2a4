/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents go: the translated file is made when it is fetched, from the file that was sent, its
 * lines and their translations, on a thread that reads bodies, and sent piece by piece.
 *
 *     dg_document_send(call, job, "letter.en.docx", false);
 *
 * Memory: document_text.h, while it is made. One thread: the loop's. */
#ifndef DG_API_JOBS_DOCUMENT_RESULT_H
#define DG_API_JOBS_DOCUMENT_RESULT_H

#include "api/http/documents.h"
#include "api/jobs/bulk.h"

struct dg_call;

/* Answers with the file of a job that is done, under this name; `once`: it is fetched once
 * (dg_bulk_fetched). */
void dg_document_send(struct dg_call *call, struct dg_bulk_job *job, const char *name, bool once);

/* What the name of the result is: with the ending that it was asked in. */
void dg_document_result_name(const struct dg_bulk_job *job, const char *name,
                             char out[DG_DOCUMENT_NAME + 1]);

#endif
