/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How readers of formats (doc_html.c, doc_md.c, doc_po.c, ...) put a document together: items in
 * the order of the original. The first failure is kept and everything after it does nothing.
 * Private to doc*.c. */
#ifndef DG_MARKUP_DOC_INT_H
#define DG_MARKUP_DOC_INT_H

#include "markup/doc.h"
#include "markup/entity.h"

struct dg_doc {
    struct dg_span original; /* borrowed */
    enum dg_doc_format format;
    struct dg_buf plain;
    struct dg_doc_item *items; /* owned; [n] */
    size_t n, cap;
    enum dg_err err;         /* while it is made */
    struct dg_error *error;  /* of that; may be NULL */
    const atomic_bool *stop; /* likewise; of the options */
    struct dg_buf filled;    /* what `original` is, where places had to be made for translations */
    bool is_ascii;           /* JSON that writes what is not ASCII as references */
    struct dg_doc_place *places; /* owned; [n_places] what is to be translated, by readers that
                                    first look for it */
    size_t n_places, places_cap;
};

/* True after a failure, and when nobody wants the document any more. For the loops of readers. */
bool dg_doc_is_over(struct dg_doc *doc);

struct dg_doc_place {
    size_t at, len; /* of the original */
};

/* Readers that work in two steps note places first, then have each read; what is between is a
 * border. */
void dg_doc_add_place(struct dg_doc *doc, size_t at, size_t len);
void dg_doc_read_places(struct dg_doc *doc,
                        void (*read)(struct dg_doc *doc, size_t at, size_t len));

/* Text with backslashes. `decode` is given the place of one; says how many bytes it takes (0: it
 * stands for itself) and what it means: *n bytes of UTF-8, none for what only a machine reads. A
 * line end that it means divides the text, unless the line looks as if it had been wrapped there.
 */
typedef size_t (*dg_doc_decode_fn)(struct dg_span text, size_t at, size_t end, char out[4],
                                   size_t *n);
void dg_doc_add_escaped(struct dg_doc *doc, size_t at, size_t len, dg_doc_decode_fn decode);

/* Notes why a document cannot be read, with the line of `at`. */
void dg_doc_refuse(struct dg_doc *doc, enum dg_err err, size_t at, const char *what);

/* Appends to the filled text. */
void dg_doc_fill(struct dg_doc *doc, struct dg_span text);

/* Adds an item over original[at, at + len) with that plain text; returns its index. Neighbouring
 * COPY items grow together. */
size_t dg_doc_add(struct dg_doc *doc, enum dg_doc_kind kind, size_t at, size_t len,
                  struct dg_span plain);

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
void dg_doc_read_webvtt(struct dg_doc *doc);
void dg_doc_read_json(struct dg_doc *doc);
void dg_doc_read_po(struct dg_doc *doc, const struct dg_doc_opts *opts);
void dg_doc_read_xliff(struct dg_doc *doc, const struct dg_doc_opts *opts);

/* Writers of text, for dg_doc_escape. */
enum dg_err dg_doc_escape_json(struct dg_span text, bool is_ascii,
                               struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_doc_escape_po(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;

/* Pairs inline tags: marks items [from, n) that were added as OPEN and CLOSE. `same` tells whether
 * a closing tag is that of an opening one, and is asked only of two with the same `key`, so that
 * hundreds of open tags, or long names, do not cost at every tag. `is_lonely` is one that may not
 * stand inside another of its key; NULL: there are none. What finds no partner becomes a border. */
struct dg_doc_pairing {
    uint32_t (*key)(const struct dg_doc *doc, const struct dg_doc_item *tag);
    bool (*same)(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close);
    bool (*is_lonely)(const struct dg_doc *doc, const struct dg_doc_item *open);
};
void dg_doc_pair(struct dg_doc *doc, const struct dg_doc_pairing *pairing);

/* A key of names that differ in nothing but ASCII's capitals. */
uint32_t dg_doc_name_key(struct dg_span name);

/* Elements of nothing but spans that survive anyway become frozen; borders get their line ends. */
void dg_doc_settle(struct dg_doc *doc);

#endif
