/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A list: there are few, and old ones go when anything is looked for. */
#include "api/documents.h"
#include "base/clock.h"
#include "base/mem.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { DOCUMENTS_MAX = 200, BYTES_MAX = 64 << 20, LIFE_S = 3600 };

void dg_documents_init(struct dg_documents *documents)
{
    *documents = (struct dg_documents){.n = 0};
    dg_list_init(&documents->all);
}

void dg_documents_deinit(struct dg_documents *documents)
{
    while (!dg_list_is_empty(&documents->all))
        dg_documents_remove(documents, DG_LIST_ITEM(documents->all.next, struct dg_document, link));
}

void dg_documents_remove(struct dg_documents *documents, struct dg_document *document)
{
    dg_list_unlink(&document->link);
    dg_buf_deinit(&document->text);
    dg_free(document);
    documents->n--;
}

static void drop_old(struct dg_documents *documents, uint64_t now_ns)
{
    for (struct dg_list *at = documents->all.next, *next; at != &documents->all; at = next) {
        struct dg_document *document = DG_LIST_ITEM(at, struct dg_document, link);
        next = at->next;
        if (document->expires_ns <= now_ns)
            dg_documents_remove(documents, document);
    }
}

static void random_hex(char *text, size_t len)
{
    unsigned char bytes[DG_DOCUMENT_KEY / 2];
    randombytes_buf(bytes, len / 2);
    sodium_bin2hex(text, len + 1, bytes, len / 2);
}

/* The last part of a path, with nothing in it that a file system or a header could take amiss. */
static void clean_name(struct dg_span name, char out[DG_DOCUMENT_NAME + 1])
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] == '/' || name.ptr[i - 1] == '\\') {
            name = dg_span_sub(name, i, name.len);
            break;
        }
    }
    if (name.len > DG_DOCUMENT_NAME) /* its ending is what matters */
        name = dg_span_sub(name, name.len - DG_DOCUMENT_NAME, DG_DOCUMENT_NAME);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
                        (c == '.' && i > 0);
        out[i] = c;
        if (!is_plain)
            out[i] = '_';
    }
    out[name.len] = '\0';
}

bool dg_document_is_known(struct dg_span name, enum dg_doc_format *format)
{
    return name.len && memchr(name.ptr, '.', name.len) && dg_doc_format_of(name, format);
}

enum dg_err dg_documents_add(struct dg_documents *documents, uint64_t now_ns, struct dg_span name,
                             struct dg_document **out)
{
    enum dg_doc_format format;
    drop_old(documents, now_ns);
    if (!dg_document_is_known(name, &format))
        return DG_ERR_UNSUPPORTED;
    if (documents->n >= DOCUMENTS_MAX)
        return DG_ERR_BUSY;
    struct dg_document *document = dg_try_calloc(1, sizeof *document);
    if (!document)
        return DG_ERR_NOMEM;
    random_hex(document->id, DG_DOCUMENT_ID);
    random_hex(document->key, DG_DOCUMENT_KEY);
    clean_name(name, document->name);
    document->format = format;
    document->expires_ns = now_ns + (uint64_t)LIFE_S * 1000 * DG_CLOCK_MS;
    dg_buf_init(&document->text, BYTES_MAX);
    dg_list_link_last(&documents->all, &document->link);
    documents->n++;
    *out = document;
    return DG_OK;
}

struct dg_document *dg_documents_find(struct dg_documents *documents, uint64_t now_ns, struct dg_span id)
{
    drop_old(documents, now_ns);
    for (struct dg_list *at = documents->all.next; at != &documents->all; at = at->next) {
        struct dg_document *document = DG_LIST_ITEM(at, struct dg_document, link);
        if (id.len == DG_DOCUMENT_ID && sodium_memcmp(document->id, id.ptr, id.len) == 0)
            return document;
    }
    return NULL;
}

enum dg_err dg_documents_finish(struct dg_documents *documents, struct dg_document *document, struct dg_span text)
{
    size_t total = text.len;
    for (struct dg_list *at = documents->all.next; at != &documents->all; at = at->next)
        total += DG_LIST_ITEM(at, struct dg_document, link)->text.len;
    enum dg_err err = total > BYTES_MAX ? DG_ERR_LIMIT : dg_buf_append_span(&document->text, text);
    document->state = err ? DG_DOCUMENT_FAILED : DG_DOCUMENT_DONE;
    if (err)
        snprintf(document->error, sizeof document->error, "There is no room for the translation.");
    return err;
}

bool dg_document_opens(const struct dg_document *document, struct dg_span key)
{
    return key.len == DG_DOCUMENT_KEY && sodium_memcmp(document->key, key.ptr, key.len) == 0;
}

const char *dg_document_type(enum dg_doc_format format)
{
    switch (format) {
    case DG_DOC_HTML: return "text/html; charset=utf-8";
    case DG_DOC_XML: return "application/xml";
    case DG_DOC_MARKDOWN: return "text/markdown; charset=utf-8";
    case DG_DOC_SUBRIP: return "application/x-subrip";
    case DG_DOC_WEBVTT: return "text/vtt; charset=utf-8";
    case DG_DOC_JSON: return "application/json";
    case DG_DOC_PO: return "text/x-gettext-translation; charset=utf-8";
    case DG_DOC_XLIFF: return "application/xliff+xml";
    default: return "text/plain; charset=utf-8";
    }
}
