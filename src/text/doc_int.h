/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How readers of formats (doc_html.c, doc_md.c, doc_srt.c) put a document together: items in the order of the original.
 * The first failure is kept and everything after it does nothing. Private to doc*.c. */
#ifndef DG_TEXT_DOC_INT_H
#define DG_TEXT_DOC_INT_H

#include "text/doc.h"
#include "text/entity.h"

struct dg_doc {
    struct dg_span original; /* borrowed */
    enum dg_doc_format format;
    struct dg_buf plain;
    struct dg_doc_item *items; /* owned; [n] */
    size_t n, cap;
    enum dg_err err; /* while it is made */
};

/* Adds an item over original[at, at + len) with that plain text; returns its index. Neighbouring COPY items grow
 * together. */
size_t dg_doc_add(struct dg_doc *doc, enum dg_doc_kind kind, size_t at, size_t len, struct dg_span plain);

/* How text is taken in. */
struct dg_doc_text {
    bool keeps_space; /* white space as it is; else one space for a run, and none behind one */
    bool has_entities;
    enum dg_entity_kind entities;
};

/* Text with character references and white space. */
void dg_doc_add_text(struct dg_doc *doc, size_t at, size_t len, const struct dg_doc_text *how);

/* Readers. */
void dg_doc_read_html(struct dg_doc *doc, const struct dg_doc_opts *opts);
void dg_doc_read_markdown(struct dg_doc *doc);
void dg_doc_read_subrip(struct dg_doc *doc);

/* Pairs inline tags: marks items [from, n) that were added as OPEN and CLOSE. `same` tells whether a closing tag is
 * that of an opening one, `nests` whether the second may stand inside the first. What finds no partner becomes a
 * border. */
struct dg_doc_pairing {
    bool (*same)(const struct dg_doc *doc, const struct dg_doc_item *open, const struct dg_doc_item *close);
    bool (*nests)(const struct dg_doc *doc, const struct dg_doc_item *outer, const struct dg_doc_item *inner);
};
void dg_doc_pair(struct dg_doc *doc, const struct dg_doc_pairing *pairing);

/* Elements of nothing but spans that survive anyway become frozen; borders get their line ends. */
void dg_doc_settle(struct dg_doc *doc);

#endif
