/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Splits a document with markup into plain text to translate and the bytes around and between it.
 *
 *     struct dg_doc *doc;
 *     err = dg_doc_new(bytes, DG_DOC_HTML, &opts, &doc, &error);
 *     ... cut dg_doc_plain(doc) into segments (segment.h) that follow each other without a gap ...
 *     struct dg_doc_cursor cursor = {0};
 *     for (each segment) {
 *         struct dg_doc_part part = dg_doc_next(doc, &cursor, at, len, is_sentence);
 *         if (is_sentence)                    its translation with its markup (tag_placement.h)
 *             err = dg_tag_placement(doc, &part, &source, &target, &out);
 *         else                                its original bytes
 *             err = dg_doc_copy(doc, &part, false, &out);
 *     }
 *     err = dg_doc_rest(doc, &cursor, &out);
 *
 * A document is a row of items, laid end to end over the original and over the plain text alike:
 *
 *     <p>  A &amp;  <b>  big  </b>   <code>x</code>  cat  .  </p>
 *     \n   A   &         big              x          cat  .  \n         the plain text
 *     border  char  open      close     frozen                border
 *
 * A border (a block element, a line break of the document) is a line end in the plain text, so that
 * no sentence crosses it. Inline tags take no room there. In place of a frozen element (code,
 * translate="no", an address), the model sees what a reader sees; the element itself comes back
 * byte for byte. A tag without a partner in the same block and tags that overlap are borders, so
 * that they stay exactly where they are. White space in HTML is a single space, except in <pre>.
 *
 * A document is immutable once it is made; any thread may use it. Linear time. */
#ifndef DG_MARKUP_DOC_H
#define DG_MARKUP_DOC_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every format has a row: its name here and elsewhere, its reader (dg_doc_read_... of doc_int.h),
 * where its files can be cut so that the beginning can be read without the rest (enum cut of
 * doc.c), its media type, and the endings of its files' names, the usual one first. DG_DOC_TEXT is
 * plain text (dg_doc_has_signs). */
#define DG_DOC_FORMAT_LIST(X)                                                                      \
    X(TEXT, "text", text, ANYWHERE, "text/plain; charset=utf-8", "txt")                            \
    X(HTML, "html", html, ANYWHERE, "text/html; charset=utf-8", "html htm xhtml")                  \
    X(XML, "xml", html, ANYWHERE, "application/xml", "xml")                                        \
    X(MARKDOWN, "markdown", markdown, ANYWHERE, "text/markdown; charset=utf-8", "md markdown")     \
    X(SUBRIP, "subrip", subrip, BLANK_LINE, "application/x-subrip", "srt")                         \
    X(WEBVTT, "webvtt", webvtt, BLANK_LINE, "text/vtt; charset=utf-8", "vtt")                      \
    X(JSON, "json", json, COMMA, "application/json", "json arb")                                   \
    X(PO, "po", po, BLANK_LINE, "text/x-gettext-translation; charset=utf-8", "po pot")             \
    X(XLIFF, "xliff", xliff, ANYWHERE, "application/xliff+xml", "xliff xlf")                       \
    X(ASS, "ass", ass, LINE, "text/x-ssa; charset=utf-8", "ass ssa")                               \
    X(SBV, "sbv", sbv, BLANK_LINE, "text/plain; charset=utf-8", "sbv")                             \
    X(TTML, "ttml", ttml, NOWHERE, "application/ttml+xml", "ttml dfxp")

enum dg_doc_format {
#define DG_DOC_ENUM(name, word, reader, cut, type, endings) DG_DOC_##name,
    DG_DOC_FORMAT_LIST(DG_DOC_ENUM)
#undef DG_DOC_ENUM
        DG_DOC_FORMATS,
};

struct dg_doc_opts {
    /* For XML only. Names separated by commas or spaces; borrowed for the call. */
    struct dg_span ignore_tags;        /* elements that come back byte for byte */
    struct dg_span splitting_tags;     /* elements that are always borders */
    struct dg_span non_splitting_tags; /* elements that are never borders */
    /* another thread sets this to cancel (DG_ERR_CANCELLED); may be NULL */
    const atomic_bool *stop;
    bool no_outline; /* only the elements named above are borders */
    bool join_lines; /* a line end counts as ordinary white space */
    bool no_tags;    /* tags in text that is not markup (doc_text.c) remain text */

    /* Files that hold texts with their translations (PO, XLIFF). Texts without a translation get
     * one. */
    /* language tag of the translation, for the file's metadata; may be empty */
    struct dg_span target;
    bool retranslate; /* texts that have a translation get a new one */
    bool unmarked;    /* translations are not marked as made by a machine (fuzzy; needs-review) */
};

/* "text", "html", "xml", "markdown", "subrip", ...: one for each format; NULL at the end. */
extern const char *const dg_doc_format_words[];

enum dg_doc_kind {
    DG_DOC_COPY, /* plain text that is the same in the original */
    DG_DOC_CHAR, /* one character of plain text for several bytes: a reference, or white space */
    DG_DOC_LINE, /* " " for a line end in subtitles, because the translation has lines of its own */
    DG_DOC_BORDER, /* "\n" for a tag or several bytes of syntax */
    DG_DOC_OPEN,   /* an inline tag with a partner; OPEN, CLOSE and POINT have no plain text */
    DG_DOC_CLOSE,
    DG_DOC_POINT,  /* markup without contents: <img>, a comment, an empty element */
    DG_DOC_FROZEN, /* kept byte for byte; its plain text is what a reader sees */
    DG_DOC_CUE,    /* " " for what stands between two cues of the same sentence */
};

struct dg_doc_item {
    size_t at, len;             /* bytes of the original */
    size_t plain_at, plain_len; /* bytes of the plain text */
    size_t partner;             /* OPEN and CLOSE: the index of the other one */
    uint8_t kind;               /* a value of enum dg_doc_kind */
};

struct dg_doc;

/* Finds the format of a file by the ending of its name, in any case; a name without a dot is taken
 * as an ending. False for any other. */
bool dg_doc_format_of(struct dg_span name, enum dg_doc_format *format);

/* The media type for HTTP: "text/vtt; charset=utf-8". */
const char *dg_doc_media_type(enum dg_doc_format format);

/* The usual ending of a format's files: "srt". */
struct dg_span dg_doc_ending(enum dg_doc_format format);

/* Guesses the format of a file from its first bytes, for a name that does not state it;
 * DG_DOC_TEXT if they do not show it either. */
enum dg_doc_format dg_doc_format_guess(struct dg_span original);

/* Whether plain text writes characters as references or escapes (&#39;, \", \n), or, unless
 * `no_tags`, has tags with partners, so that a document of DG_DOC_TEXT is worth its cost. */
bool dg_doc_has_signs(struct dg_span text, bool no_tags);

/* `original` must be valid UTF-8; it is borrowed as long as the document lives. `opts` may be NULL.
 * DG_ERR_NOMEM; DG_ERR_CANCELLED; for formats other than HTML, XML and Markdown also
 * DG_ERR_INVALID and DG_ERR_UNSUPPORTED, with the line. */
enum dg_err dg_doc_new(struct dg_span original, enum dg_doc_format format,
                       const struct dg_doc_opts *opts, struct dg_doc **doc,
                       struct dg_error *error) DG_MUST_CHECK;
void dg_doc_free(struct dg_doc *doc); /* NULL is fine */

/* Appends at most DG_DOC_SAMPLE bytes of the plain text of an original, to detect its language: a
 * short text whole, of a longer one pieces from all over it, since its beginning (a licence, a list
 * of names) may be in another language. Of a long file with markup only the beginning is read, if
 * it has enough text, so that this takes no more time than a short file. */
enum { DG_DOC_SAMPLE = 4096 };
enum dg_err dg_doc_sample(struct dg_span original, enum dg_doc_format format,
                          struct dg_buf *out) DG_MUST_CHECK;

struct dg_span dg_doc_plain(const struct dg_doc *doc);

/* The original; for PO and XLIFF with the source text copied to where its translation goes. */
struct dg_span dg_doc_original(const struct dg_doc *doc);
const struct dg_doc_item *dg_doc_items(const struct dg_doc *doc, size_t *n);

/* Finds where in the original a byte of the plain text comes from. */
size_t dg_doc_origin(const struct dg_doc *doc, size_t plain_at);

/* Appends text as the format writes it: characters that would be markup are escaped. */
enum dg_err dg_doc_escape(const struct dg_doc *doc, struct dg_span text,
                          struct dg_buf *out) DG_MUST_CHECK;

/* ---- Part by part ---------------------------------------------------------------------------- */

struct dg_doc_cursor {
    size_t item; /* the first item that was not returned completely */
};

/* The items of a stretch of plain text. Those before `inner` are copied in front of a sentence;
 * those from `inner` to `end` belong to it: text, and markup that moves with the text. */
struct dg_doc_part {
    size_t at, len;           /* a part of the plain text */
    size_t first, inner, end; /* indices of items */
    bool has_markup;          /* the items from `inner` to `end` include markup */
};

struct dg_doc_part dg_doc_next(const struct dg_doc *doc, struct dg_doc_cursor *cursor, size_t at,
                               size_t len, bool is_sentence);

/* Appends the original bytes of a separator, or with `lead_only` those in front of a sentence. */
enum dg_err dg_doc_copy(const struct dg_doc *doc, const struct dg_doc_part *part, bool lead_only,
                        struct dg_buf *out) DG_MUST_CHECK;

/* Appends the markup after the last part. */
enum dg_err dg_doc_rest(const struct dg_doc *doc, const struct dg_doc_cursor *cursor,
                        struct dg_buf *out) DG_MUST_CHECK;

#endif
