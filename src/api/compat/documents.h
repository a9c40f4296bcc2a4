/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents that were sent as files: translated, and kept until they are fetched or an hour has
 * passed. The translations lie in a folder, in files without names (base/file/tmp_file.h), so that
 * a crash leaves nothing behind; at most so many and so large together: what does not fit is
 * refused.
 *
 *     err = dg_documents_open(&api->documents, &opts, &error);
 *     struct dg_document *document;
 *     err = dg_documents_add(&api->documents, now_ns, dg_gate_client(call), "letter.html",
 * &document);
 *     ... document->id names it, document->key opens it ...
 *     err = dg_documents_keep(&api->documents, api->readers, document, text, on_kept, ctx); written
 * beside the loop found = dg_documents_find(&api->documents, now_ns, id);        NULL: never there,
 * fetched, or too old dg_documents_send(call, found, true);                          answers with
 * it, then removes it
 *
 * A pointer is good until the next call of any of these. One thread: the loop's. */
#ifndef DG_API_COMPAT_DOCUMENTS_H
#define DG_API_COMPAT_DOCUMENTS_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/list.h"
#include "base/memory/span.h"
#include "markup/doc.h"

#include <stdbool.h>
#include <stdint.h>

struct dg_call;
struct dg_offload;

enum { DG_DOCUMENTS_MAX = 1000 /* each holds a file open */ };
enum { DG_DOCUMENT_ID = 32, DG_DOCUMENT_KEY = 64, DG_DOCUMENT_NAME = 100, DG_DOCUMENT_ERROR = 256 };

enum dg_document_state { DG_DOCUMENT_TRANSLATING, DG_DOCUMENT_DONE, DG_DOCUMENT_FAILED };

struct dg_document {
    struct dg_list link;
    char id[DG_DOCUMENT_ID + 1];     /* hexadecimal, random */
    char key[DG_DOCUMENT_KEY + 1];   /* the same */
    char name[DG_DOCUMENT_NAME + 1]; /* letters, digits, '.', '_' and '-' only, with its ending */
    char error[DG_DOCUMENT_ERROR];   /* of a failed one */
    enum dg_doc_format format;
    enum dg_document_state state;
    int fd;     /* of a done one; else -1 */
    size_t len; /* bytes of the translation */
    size_t n_characters;
    uint64_t expires_ns;
    uint64_t client; /* whose share it is of (dg_gate_client) */
};

struct dg_documents_opts {
    const char *dir;    /* borrowed */
    uint64_t bytes_max; /* of all together; 0: there are no documents */
};

struct dg_documents {
    struct dg_list all; /* of struct dg_document, oldest first */
    size_t n;
    uint64_t bytes;
    struct dg_documents_opts opts;
};

/* Until it is opened, there are none. */
void dg_documents_init(struct dg_documents *documents);
void dg_documents_deinit(struct dg_documents *documents);

/* Looks whether files can be made there. */
enum dg_err dg_documents_open(struct dg_documents *documents, const struct dg_documents_opts *opts,
                              struct dg_error *error) DG_MUST_CHECK;

/* Whether this server takes any. */
bool dg_documents_are_taken(const struct dg_documents *documents);

/* False when a file's name has no ending of a format that we read. */
bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format);

/* DG_ERR_UNSUPPORTED: the name's ending is of no format that we read; DG_ERR_BUSY: there are too
 * many, or too many of this client's; DG_ERR_NOMEM. */
enum dg_err dg_documents_add(struct dg_documents *documents, uint64_t now_ns, uint64_t client,
                             struct dg_span name, struct dg_document **document) DG_MUST_CHECK;

struct dg_document *dg_documents_find(struct dg_documents *documents, uint64_t now_ns,
                                      struct dg_span id);
void dg_documents_remove(struct dg_documents *documents, struct dg_document *document);

/* What is told when a translation lies in its file, or does not: then the document has failed. */
typedef void (*dg_documents_fn)(void *ctx, enum dg_err err);

/* Keeps the translation, which is copied; the document is done, and `fn` (or NULL) called, once
 * that has happened: later, or before this returns. `offload` NULL: at once. On failure the
 * document has failed and `fn` is not called: DG_ERR_LIMIT (all together would be too large, or
 * those of one client, or too much is waiting), DG_ERR_NOMEM. */
enum dg_err dg_documents_keep(struct dg_documents *documents, struct dg_offload *offload,
                              struct dg_document *document, struct dg_span text, dg_documents_fn fn,
                              void *ctx) DG_MUST_CHECK;

/* The translation of a done document in memory (owned; dg_free). Reads a file. */
enum dg_err dg_document_read(const struct dg_document *document, char **text,
                             struct dg_error *error) DG_MUST_CHECK;

/* Answers the call with a done document as an attachment, later; with `removes` it is gone when
 * that has happened. */
void dg_documents_send(struct dg_call *call, struct dg_document *document, bool removes);

/* Compares without telling by time how much was right. */
bool dg_document_opens(const struct dg_document *document, struct dg_span key);

/* "text/html; charset=utf-8", ... */
const char *dg_document_type(enum dg_doc_format format);

#endif
