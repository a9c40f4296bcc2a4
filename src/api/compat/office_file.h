/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An office document, or another file that a filter reads (filter.h), that was sent to be
 * translated. Its text is taken out on another thread, since that takes longer than reading JSON
 * does; the translation is put into it when the document is kept (documents.h), on another thread
 * as well.
 *
 *     dg_office_file_read(compat, name, bytes, then);     from on_open; takes `compat`
 *     static void then(struct dg_compat *compat, struct dg_office_file *file)
 *     {
 *         ... file->err; dg_buf_span(&file->html) is the text of compat->items[0] ...
 *     }
 *
 * Memory: while it is read or written, at most some ten times the largest part with text, on as
 * many threads as read bodies; until the translation is kept, its text, and the file unless it is
 * on disk (upload.h). One thread: the loop's. */
#ifndef DG_API_COMPAT_OFFICE_FILE_H
#define DG_API_COMPAT_OFFICE_FILE_H

#include "api/compat/compat.h"
#include "api/http/documents.h"
#include "base/memory/buf.h"
#include "net/loop/offload.h"

enum { DG_OFFICE_FILE_LANGUAGE = 64, DG_OFFICE_FILE_NAME = 100 };

struct dg_office_file {
    struct dg_offload_task task;
    char name[DG_OFFICE_FILE_NAME + 1];    /* the name that messages use */
    char columns[DG_DOCUMENT_COLUMNS + 1]; /* of a csv file: the field `columns` */
    char output[DG_DOCUMENT_OUTPUT + 1];   /* of a PDF: the field `output_format` */
    const char *bytes;                     /* [len] */
    size_t len;
    struct dg_document_file *sent; /* owned; the sent file that holds these bytes; NULL: `bytes` are
                                      owned */
    struct dg_buf html;            /* the text of the file */
    char language[DG_OFFICE_FILE_LANGUAGE]; /* the language of the translation as a tag; set by the
                                               caller */
    enum dg_err err;                        /* the error of reading */
    struct dg_error error;
    struct dg_compat *compat;
    void (*then)(struct dg_compat *compat, struct dg_office_file *file);
};

/* Calls `then` on the loop's thread, which gets the file and the detached compat request, unless
 * the client has left. */
void dg_office_file_read(struct dg_compat *compat, struct dg_span name, struct dg_span bytes,
                         void (*then)(struct dg_compat *compat, struct dg_office_file *file));
void dg_office_file_free(struct dg_office_file *file); /* NULL is fine */

/* Writes the document with this translation to a file. Any thread. */
enum dg_err dg_office_file_write(const struct dg_office_file *file, struct dg_span translation,
                                 int fd, size_t *len, struct dg_error *error) DG_MUST_CHECK;

#endif
