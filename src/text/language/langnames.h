/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Languages as people and tools name them in a sentence: in English ("French", "Simplified
 * Chinese"), in the language itself ("français"), in Chinese ("法语"), or by code ("fr", "pt_BR").
 * All common languages are known, also those that this server does not translate: a prompt that
 * asks for one of them has to be told so.
 *
 *     struct dg_langnames *names = dg_langnames_new();
 *     size_t len = dg_langnames_at(names, text, at, &tag);       bytes of the name that begins
 * there; 0: none
 *
 * Immutable once made; any thread. */
#ifndef DG_TEXT_LANGUAGE_LANGNAMES_H
#define DG_TEXT_LANGUAGE_LANGNAMES_H

#include "base/memory/span.h"
#include "text/language/langtag.h"

struct dg_langnames;

struct dg_langnames *dg_langnames_new(void);        /* NULL: no memory */
void dg_langnames_free(struct dg_langnames *names); /* NULL is fine */

/* The longest name that is the text at this byte, whole words of it; `*tag` is borrowed from the
 * names. */
size_t dg_langnames_at(const struct dg_langnames *names, struct dg_span text, size_t at,
                       const char **tag);

/* The tag of a code, when it is a common language's; NULL otherwise. */
const char *dg_langnames_code(const struct dg_langnames *names, struct dg_span code);

/* True where a word of the text begins, or another sign of a script without spaces. */
bool dg_langnames_word_begins(struct dg_span text, size_t at);

/* Bytes of the letters and digits that begin there; 0: none does. A sign of a script without spaces
 * stands alone. */
size_t dg_langnames_word(struct dg_span text, size_t at);

#endif
