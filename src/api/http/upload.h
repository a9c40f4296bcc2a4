/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An upload: a form with a file in it, read as it arrives. The file (the part named "file") goes to
 * disk piece by piece, the other fields are kept in memory, so that a file of 50 MB takes no more
 * memory than a letter.
 *
 *     {..., .prepare = dg_upload_prepare}              in the table of routes
 *     dg_upload_end(call);                             api.c: the request is complete
 *     const struct dg_fields *fields = dg_upload_fields(call);      NULL: it was no such form
 *     struct dg_document_file *file = dg_upload_take(call);         NULL: it has no file
 *     dg_upload_drop(call);                            api.c: the call is over
 *
 * A file may have up to documents->opts.file_max bytes, and takes room as documents do; the other
 * fields together may be as large as any other body. Memory: the fields, and a quarter of a MiB of
 * buffers, which count as those of connections do. While the disk is slower than the client, the
 * client waits. One thread: the loop's. */
#ifndef DG_API_HTTP_UPLOAD_H
#define DG_API_HTTP_UPLOAD_H

#include "api/http/fields.h"

struct dg_call;
struct dg_document_file;

/* For a multipart form: diverts the body from its usual course. A form that cannot be taken is
 * answered: 413 with the size and the limit, 503 without room. Any other body keeps its limit. */
void dg_upload_prepare(struct dg_call *call);

/* The request is complete: its call continues when the file is on disk. */
void dg_upload_end(struct dg_call *call);

/* Returns the fields of the form, in the order in which they came, until the call is over. The
 * value of the file is its bytes, which live as long as what dg_upload_take gives. */
const struct dg_fields *dg_upload_fields(const struct dg_call *call);

size_t dg_upload_fields_bytes(const struct dg_call *call); /* of their values */
uint64_t dg_upload_bytes(const struct dg_call *call);      /* the file, too */

struct dg_document_file *dg_upload_take(struct dg_call *call);

void dg_upload_drop(struct dg_call *call);

#endif
