/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Handles ALL CAPS and Title Case, which small models translate badly: the text is translated in
 * ordinary case, and the translation gets the original case.
 *
 *     enum dg_casing casing = dg_casing_find(text, "en");
 *     if (casing != DG_CASING_PLAIN) {
 *         err = dg_casing_lower(text, casing, "en", NULL, &buf);    give this to the model
 *         ...
 *         err = dg_casing_restore(answer, casing, "fr", &out, &restored);
 *     }
 *
 *     WARNING: HOT SURFACE   ->  Warning: hot surface   ->  Attention : surface chaude
 *                            ->  ATTENTION : SURFACE CHAUDE
 *
 * Text that protect.h finds (placeholders, addresses, numbers with units) keeps its case. Capitals
 * are restored wherever the translation has letters with case. Title Case is restored only in
 * English; other languages write titles like sentences, so only the first letter becomes a capital.
 * A model that knows names by their capitals ("Paris") says which words keep them:
 *
 *     struct dg_casing_names names = {kind_of_word, &ctx};
 *     err = dg_casing_lower(text, casing, "en", &names, &buf);
 *
 * Languages are canonical codes ("" when unknown): they decide about i and I in Turkish, accents in
 * Greek, nouns in German. Any thread. */
#ifndef DG_TEXT_TERMS_CASING_H
#define DG_TEXT_TERMS_CASING_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>

enum dg_casing {
    DG_CASING_PLAIN, /* ordinary text */
    DG_CASING_UPPER, /* all letters are capitals, and it is more than an acronym */
    DG_CASING_TITLE, /* three words or more, the long ones with capitals, and no full stop after
                        them; never in German */
};

/* How a sentence or line is written. Text that is not UTF-8 is plain. */
enum dg_casing dg_casing_find(struct dg_span text, const char *language);

/* What is known about a word with a capital at its start. */
enum dg_casing_word {
    DG_CASING_UNKNOWN_WORD,
    DG_CASING_NAME,
    DG_CASING_COMMON_WORD, /* a word that is usually written small */
};

/* The caller's knowledge about the words of a title. */
struct dg_casing_names {
    enum dg_err (*kind)(void *ctx, struct dg_span word, enum dg_casing_word *kind);
    void *ctx;
};

/* True when less than half of the words with a capital at their start are common words, and none
 * of these is short ("Of", "The"): then the text is not a title but a line of names. */
enum dg_err dg_casing_is_names(struct dg_span text, const struct dg_casing_names *names,
                               bool *is_names) DG_MUST_CHECK;

/* Appends the text in ordinary case: lower case, except for the start of sentences, English "I",
 * and in Title Case words with other capitals (NASA, iPhone) and those of `names` (NULL: none).
 * Plain text is copied. */
enum dg_err dg_casing_lower(struct dg_span text, enum dg_casing casing, const char *language,
                            const struct dg_casing_names *names, struct dg_buf *out) DG_MUST_CHECK;

/* Appends the translation in the case that was found. *restored is false when the translation's
 * script has no case or its language writes titles like sentences. */
enum dg_err dg_casing_restore(struct dg_span text, enum dg_casing casing, const char *language,
                              struct dg_buf *out, bool *restored) DG_MUST_CHECK;

/* Appends the word with its first letter in lower case. *changed is false if it was so before. */
enum dg_err dg_casing_lower_first(struct dg_span word, struct dg_buf *out,
                                  bool *changed) DG_MUST_CHECK;

/* "plain", "upper", "title". Never NULL. */
const char *dg_casing_name(enum dg_casing casing);

#endif
