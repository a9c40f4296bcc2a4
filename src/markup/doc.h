/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A document with markup as plain text to translate, and the bytes around and between it.
 *
 *     struct dg_doc *doc;
 *     err = dg_doc_new(bytes, DG_DOC_HTML, &opts, &doc, &error);
 *     ... dg_doc_plain(doc) is cut into segments (segment.h) that follow each other without a gap
 * ... struct dg_doc_cursor cursor = {0}; for each segment: struct dg_doc_part part =
 * dg_doc_next(doc, &cursor, at, len, is_sentence); err = dg_doc_copy(doc, &part, ..., out)       a
 * separator: its original bytes, with their markup err = dg_tag_placement(doc, &part, ..., out) a
 * sentence: its translation, with its markup (tag_placement.h)
 *
 * A document is a row of items, laid end to end over the original and over the plain text alike:
 *
 *     <p>  A &amp;  <b>  big  </b>   <code>x</code>  cat  .  </p>
 *     \n   A   &         big              x          cat  .  \n         the plain text
 *     border  char  open      close     frozen                border
 *
 * Borders (block elements, line breaks of documents) are a line end in the plain text, so that no
 * sentence runs over one. Inline tags take no room there. Frozen elements (code, translate="no",
 * addresses) are shown to the model as what a reader sees of them, and come back byte for byte. A
 * tag without its partner in the same block, and tags that overlap, are borders: they stay exactly
 * where they are. White space in HTML is a single space, outside of <pre>.
 *
 * Immutable after it was made; any thread. Linear time. */
#ifndef DG_MARKUP_DOC_H
#define DG_MARKUP_DOC_H

#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_doc_format {
    DG_DOC_TEXT, /* no document: what dg_doc_new is not asked for */
    DG_DOC_HTML,
    DG_DOC_XML,
    DG_DOC_MARKDOWN,
    DG_DOC_SUBRIP,
    DG_DOC_WEBVTT,
    DG_DOC_JSON,  /* the strings of a file of interface texts; keys stay */
    DG_DOC_PO,    /* gettext: the translation goes to msgstr */
    DG_DOC_XLIFF, /* 1.2 and 2.0: the translation goes to <target> */
};

struct dg_doc_opts {
    /* XML only. Names separated by commas or spaces; borrowed for the call. */
    struct dg_span ignore_tags;        /* elements that come back byte for byte */
    struct dg_span splitting_tags;     /* elements that are borders */
    struct dg_span non_splitting_tags; /* elements that never are */
    const atomic_bool *stop; /* set by another thread: nobody wants the document (DG_ERR_CANCELLED);
                                NULL: none is */
    bool no_outline;         /* no element is a border but those named */
    bool join_lines;         /* a line end is white space as any */

    /* Files that hold a text beside its translation (PO, XLIFF). What lacks one gets it. */
    struct dg_span target; /* language tag of the translation, for the file's own notes of it; may
                              be empty */
    bool retranslate;      /* what has a translation gets another */
    bool unmarked; /* translations are not marked as made by a machine (fuzzy; needs-review) */
};

/* "text", "html", "xml", "markdown", "subrip", "webvtt", "json", "po", "xliff"; NULL at the end. */
extern const char *const dg_doc_format_words[];

enum dg_doc_kind {
    DG_DOC_COPY,   /* plain text as it is in the original */
    DG_DOC_CHAR,   /* one character of plain text for several bytes: a reference, white space */
    DG_DOC_BORDER, /* "\n" for a tag or several bytes of syntax */
    DG_DOC_OPEN,   /* an inline tag with a partner; these two and POINT have no plain text */
    DG_DOC_CLOSE,
    DG_DOC_POINT,  /* something that stands at one place: <img>, a comment, an empty element */
    DG_DOC_FROZEN, /* kept byte for byte; its plain text is what a reader sees */
};

struct dg_doc_item {
    size_t at, len;             /* bytes of the original */
    size_t plain_at, plain_len; /* bytes of the plain text */
    size_t partner;             /* of OPEN and CLOSE: an index */
    uint8_t kind;               /* enum dg_doc_kind */
};

struct dg_doc;

/* "txt", "html", "htm", "xhtml", "xml", "md", "markdown", "srt", "vtt", "json", "arb", "po", "pot",
 * "xlf", "xliff", with or without what stands before the last dot, in any case. False for any
 * other. */
bool dg_doc_format_of(struct dg_span name, enum dg_doc_format *format);

/* What a file is by its first bytes, where its name does not say; DG_DOC_TEXT when nothing tells.
 */
enum dg_doc_format dg_doc_format_guess(struct dg_span original);

/* `original` must be valid UTF-8; it is borrowed as long as the document lives. `opts` may be NULL.
 * DG_ERR_NOMEM; DG_ERR_CANCELLED; of PO, XLIFF and JSON also DG_ERR_INVALID and DG_ERR_UNSUPPORTED,
 * with the line. */
enum dg_err dg_doc_new(struct dg_span original, enum dg_doc_format format,
                       const struct dg_doc_opts *opts, struct dg_doc **doc,
                       struct dg_error *error) DG_MUST_CHECK;
void dg_doc_free(struct dg_doc *doc); /* NULL is fine */

/* Appends the plain text of about the first `max` bytes of an original, for a look at its language.
 */
enum dg_err dg_doc_sample(struct dg_span original, enum dg_doc_format format, size_t max,
                          struct dg_buf *out) DG_MUST_CHECK;

struct dg_span dg_doc_plain(const struct dg_doc *doc);
/* Of PO and XLIFF: with places for translations, which hold the text that is to be translated. */
struct dg_span dg_doc_original(const struct dg_doc *doc);
const struct dg_doc_item *dg_doc_items(const struct dg_doc *doc, size_t *n);

/* Where a byte of the plain text came from. */
size_t dg_doc_origin(const struct dg_doc *doc, size_t plain_at);

/* Appends text as the format writes it: with references for what would be markup. */
enum dg_err dg_doc_escape(const struct dg_doc *doc, struct dg_span text,
                          struct dg_buf *out) DG_MUST_CHECK;

/* ---- Part by part ---------------------------------------------------------------------------- */

struct dg_doc_cursor {
    size_t item; /* the first that was not given out whole */
};

/* What belongs to a stretch of plain text. Items before `inner` are copied before a sentence's
 * text, those up to `end` are its own: text, and markup that moves with it. */
struct dg_doc_part {
    size_t at, len;           /* plain */
    size_t first, inner, end; /* items */
    bool has_markup;          /* among its own */
};

struct dg_doc_part dg_doc_next(const struct dg_doc *doc, struct dg_doc_cursor *cursor, size_t at,
                               size_t len, bool is_sentence);

/* Appends the original bytes of a separator, or (`lead_only`) of what stands before a sentence. */
enum dg_err dg_doc_copy(const struct dg_doc *doc, const struct dg_doc_part *part, bool lead_only,
                        struct dg_buf *out) DG_MUST_CHECK;

/* Behind the last part: the markup at the very end. */
enum dg_err dg_doc_rest(const struct dg_doc *doc, const struct dg_doc_cursor *cursor,
                        struct dg_buf *out) DG_MUST_CHECK;

#endif
