/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files that clients sent to be translated, and translated files on their way to clients. They lie
 * in a folder, without names (base/file/tmp_file.h), so that a crash leaves nothing behind. Their
 * total size is limited, and a file that does not fit is refused. For what happens to them, see
 * api/jobs/document_add.h.
 *
 *     err = dg_documents_open(&api->documents, &opts, &error);
 *     err = dg_document_file_new(&api->documents, dg_gate_client(call), &file);
 *     if (!dg_document_file_grow(file, bytes)) ... there is no room ...
 *     err = dg_document_file_append(file, bytes, &error);
 *     err = dg_document_file_map(file, &error);
 *                                             or dg_documents_send_file(call, file, ...)
 *     dg_document_file_free(file);
 *
 * One thread, the loop's, unless it says otherwise. */
#ifndef DG_API_HTTP_DOCUMENTS_H
#define DG_API_HTTP_DOCUMENTS_H

#include "base/memory/error.h"
#include "base/memory/list.h"
#include "base/memory/span.h"
#include "markup/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct dg_call;

enum { DG_DOCUMENT_KEY = 64, DG_DOCUMENT_NAME = 100 };
enum { DG_DOCUMENT_COLUMNS = 500, DG_DOCUMENT_OUTPUT = 7 }; /* the fields columns, output_format */

/* A file on disk, without a name. Once it is mapped, `bytes` is set. */
struct dg_document_file {
    struct dg_list link;            /* linked in documents->files */
    struct dg_documents *documents; /* NULL once the documents are closed */
    int fd;                         /* open while it is written; else -1 */
    const char *bytes; /* [len]; NULL before dg_document_file_map, and of an empty one */
    size_t len;
    uint64_t taken, client;
};

struct dg_documents_opts {
    const char *dir;    /* the folder; borrowed */
    uint64_t bytes_max; /* the most bytes of all files together; 0: the server keeps no documents */
    uint64_t file_max;  /* the most bytes of one file that is sent */
};

struct dg_documents {
    struct dg_list files; /* list of struct dg_document_file */
    uint64_t bytes;       /* the bytes that they take together */
    struct dg_documents_opts opts;
};

/* Makes an empty set; until dg_documents_open is called, no documents are accepted. */
void dg_documents_init(struct dg_documents *documents);
void dg_documents_deinit(struct dg_documents *documents);

/* Checks that files can be made in the folder. */
enum dg_err dg_documents_open(struct dg_documents *documents, const struct dg_documents_opts *opts,
                              struct dg_error *error) DG_MUST_CHECK;

/* Returns whether this server accepts documents. */
bool dg_documents_are_taken(const struct dg_documents *documents);

/* Returns false when a file's name does not have the ending of a format that we read. For an office
 * document (dg_filter_is_named), *format is the format of its text. */
bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format);

/* Changes the ending of a file's name to that of the translated file, since a PDF becomes
 * another kind of document. `wanted` may be empty; it was checked (dg_filter_output). */
void dg_document_set_output(char name[DG_DOCUMENT_NAME + 1], struct dg_span wanted);

/* Answers the call, later and piece by piece, with a file as an attachment of this name; takes the
 * file, with everything that was appended to it. When all of it is on its way, the document with
 * the id `once` is marked as fetched (dg_bulk_fetched); "": none. */
void dg_documents_send_file(struct dg_call *call, struct dg_document_file *file, const char *name,
                            enum dg_doc_format format, const char *once);

/* Copies a file's name without its folders, and without anything that a file system, a header or a
 * reader could misread. What remains is UTF-8; letters stay. */
void dg_document_clean_name(struct dg_span name, char out[DG_DOCUMENT_NAME + 1]);

/* Appends a clean name as it is written in a URL or header: other bytes than ASCII as %XX. */
enum dg_err dg_document_encode_name(const char *name, struct dg_buf *out) DG_MUST_CHECK;

/* DG_ERR_NOMEM. */
enum dg_err dg_document_file_new(struct dg_documents *documents, uint64_t client,
                                 struct dg_document_file **file) DG_MUST_CHECK;

/* Reserves room for `bytes` in total. False: there is no room, altogether or for this client. */
bool dg_document_file_grow(struct dg_document_file *file, uint64_t bytes);

/* Appends bytes, and maps all of them at the end. Any thread, but only one at a time. */
enum dg_err dg_document_file_append(struct dg_document_file *file, struct dg_span bytes,
                                    struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_document_file_map(struct dg_document_file *file,
                                 struct dg_error *error) DG_MUST_CHECK;
void dg_document_file_free(struct dg_document_file *file); /* NULL is fine */

/* Returns a media type: "text/html; charset=utf-8", ... */
const char *dg_document_type(struct dg_span name, enum dg_doc_format format);

#endif
