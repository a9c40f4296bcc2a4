/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Documents that were sent as files: kept, translated, until they are fetched or an hour has passed. In memory, at most
 * so many and so large together: what does not fit is refused.
 *
 *     struct dg_document *document;
 *     err = dg_documents_add(&api->documents, now_ns, "letter.html", &document);
 *     ... document->id names it, document->key opens it ...
 *     found = dg_documents_find(&api->documents, now_ns, id);        NULL: never there, fetched, or too old
 *     dg_documents_remove(&api->documents, found);
 *
 * A pointer is good until the next call of any of these. One thread: the loop's. */
#ifndef DG_API_DOCUMENTS_H
#define DG_API_DOCUMENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/span.h"
#include "text/doc.h"

#include <stdbool.h>
#include <stdint.h>

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
    struct dg_buf text;              /* when done */
    size_t n_characters;
    uint64_t expires_ns;
};

struct dg_documents {
    struct dg_list all; /* of struct dg_document, oldest first */
    size_t n;
};

void dg_documents_init(struct dg_documents *documents);
void dg_documents_deinit(struct dg_documents *documents);

/* False when a file's name has no ending of a format that we read. */
bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format);

/* DG_ERR_UNSUPPORTED: the name's ending is of no format that we read; DG_ERR_BUSY: there are too many; DG_ERR_NOMEM. */
enum dg_err dg_documents_add(struct dg_documents *documents, uint64_t now_ns, struct dg_span name,
                             struct dg_document **document) DG_MUST_CHECK;

struct dg_document *dg_documents_find(struct dg_documents *documents, uint64_t now_ns, struct dg_span id);
void dg_documents_remove(struct dg_documents *documents, struct dg_document *document);

/* Keeps the translation. DG_ERR_LIMIT: all together would be too large. */
enum dg_err dg_documents_finish(struct dg_documents *documents, struct dg_document *document,
                                struct dg_span text) DG_MUST_CHECK;

/* Compares without telling by time how much was right. */
bool dg_document_opens(const struct dg_document *document, struct dg_span key);

/* "text/html; charset=utf-8", ... */
const char *dg_document_type(enum dg_doc_format format);

#endif
