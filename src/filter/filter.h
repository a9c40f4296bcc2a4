/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files that are not plain text but contain text; a table has a row for each kind. A filter gets
 * the text out of a file, and writes the file again with that text in another language.
 *
 *     struct dg_filter *filter;
 *     err = dg_filter_new(bytes, "prices.csv", &opts, &filter, &error);
 *     err = dg_filter_text(filter, &text, &error);     to be translated as dg_filter_format() says
 *     err = dg_filter_write(filter, source, target, "de", write, ctx, &error);
 *     dg_filter_free(filter);
 *
 * src/office reads office documents and books. Another program, pdftotext, extracts the text of a
 * PDF when it is asked for, and the translation is a new document. The other kinds give their text
 * as HTML of blocks, <p>...</p>, one for a cell, a value or a paragraph (block.h). Text in another
 * encoding than UTF-8 is read, and written in it again, or in UTF-8 where it lacks a letter of the
 * translation. If target equals source, every kind writes the bytes that it was given.
 *
 * The bytes are untrusted. Linear time; memory for the text, and for what each kind states. Any
 * thread. */
#ifndef DG_FILTER_FILTER_H
#define DG_FILTER_FILTER_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "markup/doc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct dg_filter;

struct dg_filter_opts {
    size_t text_max; /* the most bytes of text, and of an office document's parts; 0: 256 MiB */
    /* csv: names or numbers of columns, separated by commas; empty: the columns with words */
    struct dg_span columns;
    struct dg_span output; /* pdf: "docx", "odt", "html" or "txt"; empty: docx */
    /* another thread sets this to cancel (DG_ERR_CANCELLED); may be NULL */
    const atomic_bool *stop;
    struct dg_span kind; /* the word of a kind that neither the name nor the bytes are to decide;
                            may be empty */
};

/* Whether a filter reads files of this name, whatever they contain. `name` may be just an
 * ending. */
bool dg_filter_is_named(struct dg_span name);

/* Whether a filter reads a file of this name with these bytes. Of Markdown files, it reads only
 * those with front matter; of plain text, subtitles and HTML, only files that are not UTF-8 or have
 * a byte order mark. */
bool dg_filter_takes(struct dg_span name, struct dg_span bytes);

/* Whether a word names a kind of this table ("office", "csv", ...) that takes these bytes. */
bool dg_filter_is_kind(struct dg_span word, struct dg_span bytes);

/* The media type of a file by its name. */
const char *dg_filter_type(struct dg_span name);

/* Sets *ending to the ending of the translated file's name: NULL when it is that of the file, and
 * "docx" or the like for a PDF, because no PDF is written. False when this file cannot be written
 * in the `wanted` format. */
bool dg_filter_output(struct dg_span name, struct dg_span wanted, const char **ending);

/* The bytes are borrowed as long as the filter lives. The error message of a refusal says which
 * line or part it concerns. */
enum dg_err dg_filter_new(struct dg_span bytes, const char *name, const struct dg_filter_opts *opts,
                          struct dg_filter **filter, struct dg_error *error) DG_MUST_CHECK;
void dg_filter_free(struct dg_filter *filter); /* NULL is fine */

/* The word for the filter's kind. */
const char *dg_filter_kind(const struct dg_filter *filter);

/* Whether its text consists of blocks of HTML, one per line, which can be translated one by one. */
bool dg_filter_has_blocks(const struct dg_filter *filter);

/* The format of its text. */
enum dg_doc_format dg_filter_format(const struct dg_filter *filter);

/* A remark for the user about how the file was read and written; empty: there is none. */
struct dg_span dg_filter_note(const struct dg_filter *filter);

/* Appends the text. */
enum dg_err dg_filter_text(const struct dg_filter *filter, struct dg_buf *text,
                           struct dg_error *error) DG_MUST_CHECK;

/* `source` is what dg_filter_text gave, `target` its translation into the language of the tag,
 * which may be empty. `write` gets the bytes of the file from its beginning to its end.
 * DG_ERR_FORMAT: the translation is not one of this text. */
enum dg_err dg_filter_write(struct dg_filter *filter, struct dg_span source, struct dg_span target,
                            struct dg_span language,
                            enum dg_err (*write)(void *ctx, struct dg_span bytes,
                                                 struct dg_error *error),
                            void *ctx, struct dg_error *error) DG_MUST_CHECK;

#endif
