/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the elements of office documents mean for a translation: paragraphs, runs, text, or marks
 * that stand in the text. Names are compared by namespace, whatever their prefix.
 *
 *     struct dg_office_dialect dialect = {.n = 0};
 *     dg_dialect_note(&dialect, tag);             for each start tag: it may declare prefixes
 *     switch (dg_dialect_role(&dialect, name)) ...
 *
 * A declaration counts from where it stands to the end of the part. */
#ifndef DG_OFFICE_DIALECT_H
#define DG_OFFICE_DIALECT_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum dg_office_ns {
    DG_NS_OTHER,
    DG_NS_WORD,    /* WordprocessingML */
    DG_NS_DRAWING, /* DrawingML: slides, charts, shapes */
    DG_NS_SHEET,   /* SpreadsheetML */
    DG_NS_TEXT,    /* OpenDocument: text, ... */
    DG_NS_OFFICE,
    DG_NS_TABLE,
    DG_NS_SVG,
    DG_NS_FO,
    DG_NS_STYLE,
    DG_NS_DC,    /* Dublin Core: properties of documents */
    DG_NS_SLIDE, /* PresentationML */
    DG_NS_HTML,  /* XHTML: pages of books */
    DG_NS_NCX,   /* the table of contents of an EPUB 2 book */
    DG_NS_CHART,
};

enum dg_office_role {
    DG_ROLE_POINT, /* in a paragraph: a mark that is kept whole; elsewhere: its contents are read */
    DG_ROLE_PARAGRAPH,   /* a paragraph whose text stands in runs */
    DG_ROLE_MIXED,       /* a paragraph whose text stands in it directly */
    DG_ROLE_PLAIN,       /* an element that holds only text: a title, a description */
    DG_ROLE_PARA_PROPS,  /* the properties of a paragraph, in front of its text */
    DG_ROLE_RUN,         /* a run: text with one formatting */
    DG_ROLE_RUN_PROPS,   /* the formatting of a run */
    DG_ROLE_TEXT,        /* the text of a run */
    DG_ROLE_TAIL,        /* the end of a paragraph's text */
    DG_ROLE_BREAK,       /* a mark that divides sentences: a line break, a tabulator */
    DG_ROLE_SPACE,       /* a white space that is written as an element */
    DG_ROLE_DROP,        /* something that applies only to the old text, such as a spelling error */
    DG_ROLE_CONTAINER,   /* has runs or text inside: a link, an insertion */
    DG_ROLE_HEAD,        /* the properties of a container */
    DG_ROLE_CONTENT,     /* the element with the runs, in a container that has several parts */
    DG_ROLE_OPAQUE,      /* a mark whose contents are not read, such as deleted text */
    DG_ROLE_RANGE_START, /* two marks with something between: bookmarks, comments */
    DG_ROLE_RANGE_END,
    DG_ROLE_FIELD_MARK, /* a mark of a field: its beginning, separator or end */
    DG_ROLE_FIELD_CODE,
    DG_ROLE_SIMPLE_FIELD,
    DG_ROLE_CELL,     /* a cell that may hold a number or a formula */
    DG_ROLE_LANGUAGE, /* states the language of text in its attributes */
    DG_ROLE_BIDI,     /* states that a paragraph or run is written from right to left */
    DG_ROLE_WRITING,  /* states the direction of writing in an attribute */
    DG_ROLE_SAYS,     /* an element whose text is the tag of the language */
    DG_ROLE_PAGE,     /* the top of a page: its attributes say language and direction */
    DG_ROLE_MARGIN,   /* what stands above or below the pages of a sheet, with codes in it */
};

enum { DG_DIALECT_PREFIXES = 64 };

struct dg_office_dialect {
    struct dg_dialect_prefix {
        struct dg_span text; /* the text of the part; may be empty */
        enum dg_office_ns ns;
    } prefixes[DG_DIALECT_PREFIXES];
    size_t n;
};

void dg_dialect_note(struct dg_office_dialect *dialect, struct dg_span tag);

/* The namespace of an element's name, and the name without its prefix. */
enum dg_office_ns dg_dialect_ns(const struct dg_office_dialect *dialect, struct dg_span name,
                                struct dg_span *local);

enum dg_office_role dg_dialect_role(enum dg_office_ns ns, struct dg_span local);

/* The value of an attribute whose name, without its prefix, is `local`. */
bool dg_dialect_attribute(struct dg_span tag, const char *local, struct dg_span *value);

#endif
