/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Recognises languages as people and tools name them in a sentence: in English ("French",
 * "Simplified Chinese"), in the language itself ("français"), in Chinese ("法语"), or by code
 * ("fr", "pt_BR"). All common languages are known, even those that this server does not translate,
 * because a request for one of them needs a proper refusal.
 *
 *     struct dg_langnames *names = dg_langnames_new();
 *     size_t len = dg_langnames_at(names, text, at, &tag);       bytes of the name; 0: none
 *
 * Immutable once made; any thread. */
#ifndef DG_TEXT_LANGUAGE_LANGNAMES_H
#define DG_TEXT_LANGUAGE_LANGNAMES_H

#include "base/memory/span.h"
#include "text/language/langtag.h"

struct dg_langnames;

struct dg_langnames *dg_langnames_new(void);        /* NULL: no memory */
void dg_langnames_free(struct dg_langnames *names); /* NULL is fine */

/* Bytes of the longest name that begins at byte `at` of the text and consists of whole words; 0:
 * none. `*tag` is borrowed from the names. */
size_t dg_langnames_at(const struct dg_langnames *names, struct dg_span text, size_t at,
                       const char **tag);

/* The tag of a common language's code; NULL for any other text. */
const char *dg_langnames_code(const struct dg_langnames *names, struct dg_span code);

/* True where a word begins, or a character of a script without spaces. */
bool dg_langnames_word_begins(struct dg_span text, size_t at);

/* Bytes of the word of letters and digits that begins at `at`; 0: none does. A character of a
 * script without spaces is a word by itself. */
size_t dg_langnames_word(struct dg_span text, size_t at);

#endif
