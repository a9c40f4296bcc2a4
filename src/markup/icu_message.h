/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Messages as ICU writes them, with plurals and choices:
 *
 *     {n, plural, one {# file of {name}} other {# files of {name}}}
 *
 *     if (dg_icu_has_choice(text))
 *         is_valid = dg_icu_parse(text, on_piece, ctx);
 *     err = dg_icu_adapt(text, DG_SPAN("pl"), &out);     ... few {# files of {name}} many {...}
 *
 * Only the words in the branches and around the choices are text. The bytes may be those of a
 * string with backslash escapes, because none of the marks that count here is written as one.
 * Linear time; any thread. */
#ifndef DG_MARKUP_ICU_MESSAGE_H
#define DG_MARKUP_ICU_MESSAGE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    DG_ICU_DEPTH_MAX = 32, /* choices within each other */
    /* A message becomes at most this many times as long, and this many bytes longer. */
    DG_ICU_GROWTH_MAX = 8,
    DG_ICU_GROWTH_FREE = 4096,
};

enum dg_icu_kind {
    DG_ICU_SYNTAX,     /* "{n, plural, one {", "} other {", "}}"; "{n, choice, 0#", "|1<", "}" */
    DG_ICU_TEXT,       /* words */
    DG_ICU_QUOTE,      /* an apostrophe that quotes and is not shown */
    DG_ICU_APOSTROPHE, /* "''", shown as one */
    DG_ICU_ARGUMENT,   /* "{name}", "{n, number}" */
    DG_ICU_NUMBER,     /* "#" in a plural */
};

struct dg_icu_piece {
    enum dg_icu_kind kind;
    size_t at, len;
    const char *example; /* for a NUMBER: a number that the branch is meant for, "1", "5" */
    bool in_plural;      /* "#" is a NUMBER here unless it is quoted */
};

typedef void (*dg_icu_fn)(void *ctx, const struct dg_icu_piece *piece);

/* Whether there is a plural or a choice in a text. */
bool dg_icu_has_choice(struct dg_span text);

/* Reports the pieces, which follow each other without a gap. False when the text is not a message;
 * some pieces may have been reported by then. */
bool dg_icu_parse(struct dg_span text, dg_icu_fn fn, void *ctx);

/* Appends the message with the sentence around its only choice in each of the branches, "one {You
 * have # file.} other {You have # files.}", since a model must see whole sentences. A text that has
 * several choices, or nothing around its choice, is copied. DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_icu_widen(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;

/* Appends the message with a branch for every plural category of a language: those that it lacks
 * are copies of "other". A text that is not a message is copied. DG_ERR_NOMEM, DG_ERR_LIMIT. */
enum dg_err dg_icu_adapt(struct dg_span text, struct dg_span language,
                         struct dg_buf *out) DG_MUST_CHECK;

#endif
