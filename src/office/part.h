/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One XML part of an office document: gets its text, and writes the part again with that text in
 * another language.
 *
 *     struct dg_office_part *part;
 *     err = dg_office_part_new(bytes, &opts, "word/document.xml", &part, &error);
 *     err = dg_office_part_text(part, &html);          "<p>A <b id=0>big</b> cat.</p>\n" ...
 *     struct dg_span source = dg_buf_span(&html), target = ... translated as HTML ...;
 *     err = dg_office_part_write(part, &source, &target, &out, &error);    takes its blocks off
 *     dg_office_part_free(part);                                           the front of both
 *
 * The text is HTML of our own: each paragraph is a <p>. Most of its text has one formatting, which
 * is not marked; other formatting, links, fields with text, bookmarks and tracked insertions are <b
 * id=N>, marks without text are <img id=N>, those that divide sentences <br id=N>. The engine
 * therefore places them like the tags of HTML. Writing requires each of them exactly once.
 *
 * A paragraph whose text did not change, and everything that is not text, keeps its bytes. In a
 * paragraph that changed, the runs are rewritten with the properties they had. Any thread; linear
 * time, except for sorting the edits. */
#ifndef DG_OFFICE_PART_H
#define DG_OFFICE_PART_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/map.h"
#include "base/memory/span.h"

#include <stdbool.h>

struct dg_sheets;

struct dg_office_opts {
    const char *language;  /* the value of attributes that state the language: "de-DE"; NULL: they
                              are kept */
    bool is_right_to_left; /* that language is written from right to left */
    bool is_east_asian;    /* that language is East Asian in the sense of office programs */
    bool is_html;          /* for a book: its character references have the names of HTML */
    bool has_text;         /* false: only languages are changed, in a part of styles or settings */
    bool is_layout;        /* of slides: what stands in placeholders is not shown, and no text */
    bool is_table;         /* a part that names the columns of a table: these names are its text */
    struct dg_sheets *sheets;  /* of a part that names a workbook's sheets: which of these names may
                                  change, and are text; NULL: none */
    const struct dg_map *kept; /* texts, as dg_office_part_text writes them but for marks, that are
                                  not translated; NULL: none */
};

struct dg_office_part;

/* The bytes are borrowed as long as the part lives. Refuses bytes that are not UTF-8 or not
 * well-formed, document type declarations (in books only those with declarations inside), and
 * elements nested deeper than 256. DG_ERR_UTF8, DG_ERR_FORMAT, DG_ERR_DENIED, DG_ERR_LIMIT,
 * DG_ERR_NOMEM. */
enum dg_err dg_office_part_new(struct dg_span bytes, const struct dg_office_opts *opts,
                               const char *name, struct dg_office_part **part,
                               struct dg_error *error) DG_MUST_CHECK;
void dg_office_part_free(struct dg_office_part *part); /* NULL is fine */

/* Appends the text of all blocks. */
enum dg_err dg_office_part_text(const struct dg_office_part *part,
                                struct dg_buf *html) DG_MUST_CHECK;

/* Appends the part. DG_ERR_FORMAT: the translation is not one of this text; DG_ERR_NOMEM. */
enum dg_err dg_office_part_write(const struct dg_office_part *part, struct dg_span *source,
                                 struct dg_span *target, struct dg_buf *out,
                                 struct dg_error *error) DG_MUST_CHECK;

#endif
