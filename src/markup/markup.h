/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts HTML or XML into tokens like the tokenizer of the HTML standard: every byte is in exactly
 * one token, and nothing is an error. "a < b" is text; an unfinished tag reaches to the end.
 *
 *     struct dg_markup markup = {.text = text, .kind = DG_MARKUP_HTML};
 *     struct dg_markup_token token;
 *     while (dg_markup_next(&markup, &token))
 *         ... token.type, token.at, token.len, token.name ...
 *
 * The contents of script, style, title and other elements that hold no tags are one RAW token
 * after the start tag. Linear time; allocates nothing. */
#ifndef DG_MARKUP_MARKUP_H
#define DG_MARKUP_MARKUP_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum dg_markup_kind { DG_MARKUP_HTML, DG_MARKUP_XML };

enum dg_markup_type {
    DG_MARKUP_TEXT,  /* text, with its character references */
    DG_MARKUP_START, /* <p class="x"> */
    DG_MARKUP_END,   /* </p> */
    DG_MARKUP_EMPTY, /* an XML tag that ends in "/>", or an HTML tag without content: <br> */
    DG_MARKUP_RAW,   /* the contents of a script or the like */
    DG_MARKUP_OTHER, /* a comment, declaration, instruction or CDATA, or unfinished markup */
};

struct dg_markup {
    struct dg_span text;
    enum dg_markup_kind kind;
    size_t at;
    struct dg_span raw; /* the name of the element whose raw contents come next; empty for none */
};

struct dg_markup_token {
    enum dg_markup_type type;
    size_t at, len;
    struct dg_span name; /* the name of the tag as written */
};

/* False at the end. */
bool dg_markup_next(struct dg_markup *markup, struct dg_markup_token *token);

/* Finds an attribute of a start tag, its name in any case; *value is raw, without quotes. */
bool dg_markup_attribute(struct dg_span tag, const char *name, struct dg_span *value);

/* The attributes of a start tag, one after the other: *at is 0 for the first. False at the end. */
bool dg_markup_next_attribute(struct dg_span tag, size_t *at, struct dg_span *name,
                              struct dg_span *value);

/* Compares a name with `other`, which is in lower case; for HTML the case of `name` is ignored. */
bool dg_markup_is(enum dg_markup_kind kind, struct dg_span name, struct dg_span other);

/* True when an HTML name, in any case, is in the list of names in lower case, ended by NULL. */
bool dg_markup_is_one_of(struct dg_span name, const char *const *names);

#endif
