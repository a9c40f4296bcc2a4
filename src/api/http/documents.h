/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents that were sent as files: they are translated, and kept until they are fetched or an
 * hour has passed. The translations are in a folder, in files without names (base/file/tmp_file.h),
 * so that a crash leaves nothing behind. Their number and their size together are limited; what
 * does not fit is refused.
 *
 *     struct dg_documents *all = &api->documents;
 *     struct dg_document *document, *found;
 *     err = dg_documents_open(all, &opts, &error);
 *     err = dg_documents_add(all, now_ns, dg_gate_client(call), DG_SPAN("letter.html"), &document);
 *     ... document->id names it, document->key opens it ...
 *     err = dg_documents_keep(all, api->readers, document, text, on_kept, ctx);
 *     found = dg_documents_find(all, now_ns, id);      NULL: unknown, fetched or expired
 *     dg_documents_send(call, found, true);            answers with it, then removes it
 *
 * A pointer is good until the next call of any of these. One thread: the loop's. */
#ifndef DG_API_HTTP_DOCUMENTS_H
#define DG_API_HTTP_DOCUMENTS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/list.h"
#include "base/memory/span.h"
#include "markup/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct dg_call;
struct dg_offload;
struct dg_office_file;

enum { DG_DOCUMENTS_MAX = 1000 /* each document holds a file open */ };
enum { DG_DOCUMENT_ID = 32, DG_DOCUMENT_KEY = 64, DG_DOCUMENT_NAME = 100, DG_DOCUMENT_ERROR = 256 };
enum { DG_DOCUMENT_COLUMNS = 500, DG_DOCUMENT_OUTPUT = 7 }; /* the fields columns, output_format */

enum dg_document_state { DG_DOCUMENT_TRANSLATING, DG_DOCUMENT_DONE, DG_DOCUMENT_FAILED };

struct dg_document {
    struct dg_list link;
    char id[DG_DOCUMENT_ID + 1];     /* hexadecimal, random */
    char key[DG_DOCUMENT_KEY + 1];   /* hexadecimal, random */
    char name[DG_DOCUMENT_NAME + 1]; /* letters, digits, '.', '_' and '-' only, with its ending */
    char error[DG_DOCUMENT_ERROR];   /* what failed, for a document that failed */
    enum dg_doc_format format;       /* the format of its text */
    enum dg_document_state state;
    int fd;     /* the translated file, once it is done; else -1 */
    size_t len; /* bytes of the translation */
    size_t n_characters;
    uint64_t expires_ns;
    uint64_t client; /* the client whose share it counts for (dg_gate_client) */
};

/* An uploaded file that is kept until its translation is stored. It lies on disk without a name,
 * and its bytes are a mapping. It counts for the limits as documents do. */
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
    struct dg_list all;   /* list of struct dg_document, oldest first */
    struct dg_list files; /* list of struct dg_document_file */
    size_t n;
    uint64_t bytes;
    struct dg_documents_opts opts;
};

/* Until dg_documents_open is called, no documents are accepted. */
void dg_documents_init(struct dg_documents *documents);
void dg_documents_deinit(struct dg_documents *documents);

/* Checks that files can be made in the folder. */
enum dg_err dg_documents_open(struct dg_documents *documents, const struct dg_documents_opts *opts,
                              struct dg_error *error) DG_MUST_CHECK;

/* Whether this server accepts documents. */
bool dg_documents_are_taken(const struct dg_documents *documents);

/* False when a file's name has no ending of a format that we read. Of an office document
 * (dg_filter_is_named) the format is that of its text. */
bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format);

/* DG_ERR_UNSUPPORTED: the ending of the name belongs to no format that we read; DG_ERR_BUSY:
 * there are too many documents, in all or of this client; DG_ERR_NOMEM. */
enum dg_err dg_documents_add(struct dg_documents *documents, uint64_t now_ns, uint64_t client,
                             struct dg_span name, struct dg_document **document) DG_MUST_CHECK;

/* Changes the ending of a file's name to that of the translated file, since a PDF becomes
 * another kind of document. `wanted` may be empty; it was checked (dg_filter_output). */
void dg_document_set_output(char name[DG_DOCUMENT_NAME + 1], struct dg_span wanted);

struct dg_document *dg_documents_find(struct dg_documents *documents, uint64_t now_ns,
                                      struct dg_span id);
void dg_documents_remove(struct dg_documents *documents, struct dg_document *document);

/* Called when a translation is in its file, or with an error when the document has failed. */
typedef void (*dg_documents_fn)(void *ctx, enum dg_err err);

/* Copies the translation and writes it to a file, later on another thread, or at once if `offload`
 * is NULL. Then the document is done and `fn`, unless NULL, is called, possibly before this
 * returns. On failure the document has failed and `fn` is not called: DG_ERR_LIMIT (the documents
 * would be too large, in all or of one client, or too much is waiting), DG_ERR_NOMEM. */
enum dg_err dg_documents_keep(struct dg_documents *documents, struct dg_offload *offload,
                              struct dg_document *document, struct dg_span text, dg_documents_fn fn,
                              void *ctx) DG_MUST_CHECK;

/* The same for an office document whose translated text this is. Takes the file, also on
 * failure. */
enum dg_err dg_documents_keep_office(struct dg_documents *documents, struct dg_offload *offload,
                                     struct dg_document *document, struct dg_office_file *file,
                                     struct dg_span text, dg_documents_fn fn,
                                     void *ctx) DG_MUST_CHECK;

/* Answers the call, later and piece by piece, with a done document as an attachment; `removes`: the
 * document is removed when all of it is on its way. */
void dg_documents_send(struct dg_call *call, struct dg_document *document, bool removes);

/* The same for a file of any other kind: takes it, with what was appended to it, under this
 * name. */
void dg_documents_send_file(struct dg_call *call, struct dg_document_file *file, const char *name,
                            enum dg_doc_format format);

/* A file's name without its folders, and with nothing in it that a file system or a header could
 * take amiss. */
void dg_document_clean_name(struct dg_span name, char out[DG_DOCUMENT_NAME + 1]);

/* DG_ERR_NOMEM. */
enum dg_err dg_document_file_new(struct dg_documents *documents, uint64_t client,
                                 struct dg_document_file **file) DG_MUST_CHECK;

/* Takes room for `bytes` in all. False: there is none, in all or for this client. */
bool dg_document_file_grow(struct dg_document_file *file, uint64_t bytes);

/* Appends bytes, and maps all of them at the end. Any thread, but only one at a time. */
enum dg_err dg_document_file_append(struct dg_document_file *file, struct dg_span bytes,
                                    struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_document_file_map(struct dg_document_file *file,
                                 struct dg_error *error) DG_MUST_CHECK;
void dg_document_file_free(struct dg_document_file *file); /* NULL is fine */

/* Compares the key in constant time. */
bool dg_document_opens(const struct dg_document *document, struct dg_span key);

/* "text/html; charset=utf-8", ... */
const char *dg_document_type(struct dg_span name, enum dg_doc_format format);

#endif
