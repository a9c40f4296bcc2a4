/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Detects the language of a text.
 *
 *     struct dg_langid *langid;                                 shared, read-only, any thread
 *     err = dg_langid_open(&langid, "data/langid/langid.bin", &error);
 *     struct dg_langid_set set;                                 what the server can translate
 *     dg_langid_set_clear(&set);
 *     dg_langid_set_add(langid, &set, "pt-BR");
 *     struct dg_langid_guess guesses[3];
 *     size_t n = dg_langid_detect(langid, text, &set, guesses, 3);
 *     if (n == 0)  ... unknown: no letters of a script that a candidate is written in
 *     else         ... guesses[0].tag, guesses[0].confidence
 *     dg_langid_close(langid);
 *
 * The script (from ICU) comes first: if only one language uses it, that decides. Where several
 * languages share a script, weights of hashed character n-grams are added up (langid_model.h has
 * the arithmetic; docs/internals/langid.md says how the model was trained and how good it is).
 *
 * The confidence, 0 to 1, is the probability that the guess is right, as estimated on held-out
 * sentences. It is low for a word or two that many languages share, and for text in several
 * languages, where each gets about its share. Each text is judged on its own. */
#ifndef DG_TEXT_LANGUAGE_LANGID_H
#define DG_TEXT_LANGUAGE_LANGID_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_langid;

struct dg_langid_guess {
    const char *tag;  /* a BCP-47 tag such as "fr"; borrowed from the model */
    float confidence; /* 0 to 1 */
};

/* A set of languages of one model; copy it freely. */
struct dg_langid_set {
    uint64_t bits[2];
};

/* Maps the model file; refuses one that is not whole. */
enum dg_err dg_langid_open(struct dg_langid **langid, const char *path,
                           struct dg_error *error) DG_MUST_CHECK;

/* The same over bytes that the caller keeps alive until close. */
enum dg_err dg_langid_open_bytes(struct dg_langid **langid, const uint8_t *bytes, size_t len,
                                 struct dg_error *error) DG_MUST_CHECK;

void dg_langid_close(struct dg_langid *langid); /* NULL is fine */

/* How many languages the model knows, and their tags. */
size_t dg_langid_count(const struct dg_langid *langid);
const char *dg_langid_tag(const struct dg_langid *langid, size_t i);

static inline void dg_langid_set_clear(struct dg_langid_set *set)
{
    set->bits[0] = set->bits[1] = 0;
}

/* Adds the language of `tag`, in any spelling (region and script do not matter: pt-BR adds pt).
 * False when the model does not know it; such a language can never be detected. */
bool dg_langid_set_add(const struct dg_langid *langid, struct dg_langid_set *set, const char *tag);

/* True when the language of `tag` is in the set. */
bool dg_langid_set_has(const struct dg_langid *langid, const struct dg_langid_set *set,
                       const char *tag);

/* Fills `guesses` with the likeliest languages, best first, and returns how many (at most `max`,
 * which may be 0). Only languages of `set` are named (NULL: all). A text in a language outside the
 * set gets low confidence, not a wrong claim. 0 means unknown: the text is empty, digits, emoji,
 * addresses, or in a script of no candidate. Reads at most the first 4,096 letters. Allocates
 * nothing. */
size_t dg_langid_detect(const struct dg_langid *langid, struct dg_span text,
                        const struct dg_langid_set *set, struct dg_langid_guess *guesses,
                        size_t max);

/* The same, and the likeliest language outside the set goes to `*outside`; its tag is NULL if there
 * is none. Its confidence is comparable with those of the set: only clear evidence makes it larger.
 */
size_t dg_langid_detect_among(const struct dg_langid *langid, struct dg_span text,
                              const struct dg_langid_set *set, struct dg_langid_guess *guesses,
                              size_t max, struct dg_langid_guess *outside);

#endif
