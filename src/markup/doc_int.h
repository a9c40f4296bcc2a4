/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How the readers of formats (doc_html.c, doc_md.c, doc_po.c, ...) build a document: they add items
 * in the order of the original. The first failure is kept, and later calls do nothing. Private to
 * src/markup. */
#ifndef DG_MARKUP_DOC_INT_H
#define DG_MARKUP_DOC_INT_H

#include "markup/doc.h"
#include "markup/entity.h"

/* A cue of subtitles: its text, and how long it is shown. */
struct dg_doc_cue {
    size_t at, end; /* bytes of the original */
    uint32_t from_ms, to_ms;
    uint32_t group; /* a sentence does not continue in a cue of another group, which is a style or a
                       speaker */
};

enum { DG_DOC_FORMS = 16 };

struct dg_doc {
    struct dg_span original; /* borrowed */
    enum dg_doc_format format;
    struct dg_buf plain;
    struct dg_doc_item *items; /* owned; [n] */
    size_t n, cap;
    enum dg_err err;             /* the first failure while the document is made */
    struct dg_error *error;      /* receives the text of the failure; may be NULL */
    const atomic_bool *stop;     /* from the options; may be NULL */
    struct dg_buf filled;        /* holds `original`, if room for translations had to be added */
    bool is_ascii;               /* JSON whose strings write non-ASCII characters as escapes */
    struct dg_doc_place *places; /* owned; [n_places] texts to translate, for readers that collect
                                    them first */
    size_t n_places, places_cap;

    /* For plain text: how it writes these characters. */
    struct dg_doc_form {
        uint32_t cp;
        struct dg_span form;
    } forms[DG_DOC_FORMS]; /* [n_forms] */
    size_t n_forms;

    bool has_messages;        /* JSON with choices in ICU's syntax */
    bool doubles_apostrophes; /* its messages write an apostrophe as "''" */

    /* For subtitles. */
    bool is_subtitle;
    struct dg_doc_cue *cues; /* owned; [n_cues] in the order of the original */
    size_t n_cues, cues_cap;
    struct dg_span line; /* a line end for the translation; static or in the original */
};

/* True after a failure or a cancellation; readers ask in their loops. */
bool dg_doc_is_over(struct dg_doc *doc);

struct dg_doc_place {
    size_t at, len; /* bytes of the original */
};

/* For readers that work in two steps: first they note places, then `read` is called for each; the
 * bytes between places become borders. */
void dg_doc_add_place(struct dg_doc *doc, size_t at, size_t len);
void dg_doc_read_places(struct dg_doc *doc,
                        void (*read)(struct dg_doc *doc, size_t at, size_t len));

/* Adds text with backslash escapes. `decode` gets the offset of a backslash and returns the bytes
 * that the escape takes (0: the backslash is literal) and its meaning: *n bytes of UTF-8, 0 if the
 * escape is for machines only. An escaped line end divides the text, unless the line seems to have
 * been wrapped there. */
typedef size_t (*dg_doc_decode_fn)(struct dg_span text, size_t at, size_t end, char out[4],
                                   size_t *n);
void dg_doc_add_escaped(struct dg_doc *doc, size_t at, size_t len, dg_doc_decode_fn decode);

/* Records why a document cannot be read, with the line of `at`. */
void dg_doc_refuse(struct dg_doc *doc, enum dg_err err, size_t at, const char *what);

/* Appends to the filled text. */
void dg_doc_fill(struct dg_doc *doc, struct dg_span text);

/* Adds an item over original[at, at + len) with that plain text; returns its index. Adjacent COPY
 * items are merged. */
size_t dg_doc_add(struct dg_doc *doc, enum dg_doc_kind kind, size_t at, size_t len,
                  struct dg_span plain);

/* How dg_doc_add_text reads text. */
struct dg_doc_text {
    /* white space is kept; otherwise a run of it, even across items, is one space */
    bool keeps_space;
    bool has_entities;
    enum dg_entity_kind entities;
};

/* Adds text with character references and white space. */
void dg_doc_add_text(struct dg_doc *doc, size_t at, size_t len, const struct dg_doc_text *how);

/* Readers: dg_doc_read_html, ... . */
#define DG_DOC_READER(name, word, reader, cut, type, endings)                                      \
    void dg_doc_read_##reader(struct dg_doc *doc, const struct dg_doc_opts *opts);
DG_DOC_FORMAT_LIST(DG_DOC_READER)
#undef DG_DOC_READER

/* Writers of text, for dg_doc_escape. */
enum dg_err dg_doc_escape_json(const struct dg_doc *doc, struct dg_span text,
                               struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_doc_escape_text(const struct dg_doc *doc, struct dg_span text,
                               struct dg_buf *out) DG_MUST_CHECK;
enum dg_err dg_doc_escape_po(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;

/* Where the translation of a part of a Markdown document needs a backslash, since it begins a line
 * and would begin a block, as "1. Mai" does; SIZE_MAX: nowhere. */
size_t dg_doc_markdown_guard(const struct dg_doc *doc, const struct dg_doc_part *part,
                             struct dg_span text);

/* Pairs the inline tags of a document, its OPEN and CLOSE items. `same` tells whether a closing tag
 * belongs to an opening one; it is called only for two with the same `key`, so that many open tags
 * or long names cost little. `is_lonely` tells whether a tag may not be inside another of its key;
 * NULL: every tag may. A tag without a partner becomes a border; with `are_points` a point, and
 * partners are in the same cue. */
struct dg_doc_pairing {
    uint32_t (*key)(const struct dg_doc *doc, const struct dg_doc_item *tag);
    bool (*same)(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close);
    bool (*is_lonely)(const struct dg_doc *doc, const struct dg_doc_item *open);
    bool are_points;
};
void dg_doc_pair(struct dg_doc *doc, const struct dg_doc_pairing *pairing);

/* Elements of HTML, in any case: those that divide the text, those whose text is code, and those
 * whose contents are not part of the running text. */
bool dg_doc_is_border(struct dg_span name);
bool dg_doc_is_code(struct dg_span name);
bool dg_doc_is_opaque(struct dg_span name);

/* Finds tags in the text of the items, and makes items of them (doc_text.c). With `joins_lines` a
 * pair may lie in several lines. Before dg_doc_settle. */
void dg_doc_find_tags(struct dg_doc *doc, bool joins_lines);

/* A key that is the same for names that differ only in the case of ASCII letters. */
uint32_t dg_doc_name_key(struct dg_span name);

/* Freezes elements that contain nothing but protected spans (protect.h), and gives borders their
 * line ends. */
void dg_doc_settle(struct dg_doc *doc);

#endif
