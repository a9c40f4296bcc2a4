/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Glossaries: terms of one language and what they are called in another; where a text has them.
 *
 *     struct dg_glossary *glossary = dg_glossary_new(&arena);        or NULL: with memory of its
 * own err = dg_glossary_begin(glossary, "fr", "en", &error);           a dictionary; "" for any
 * language err = dg_glossary_add(glossary, source, targets, n, false, &error); err =
 * dg_glossary_read(glossary, DG_GLOSSARY_TSV, text, &error); or many at once err =
 * dg_glossary_seal(glossary);                              from here on it does not change
 *
 *     err = dg_glossary_find(dictionaries, n, text, taken, n_taken, any_case, &scan);
 *     ... scan.matches[i].term, .at, .len, .shape ...                in order, they do not overlap
 *     dg_glossary_unref(glossary);
 *
 * A term stands at word borders (scripts without spaces have none; Korean words may go on behind
 * it). A term in small letters is also found with its first letter, or every word's, a capital, and
 * in capitals; one with capitals of its own as it is and in capitals; an exact one only as it is.
 * The longest term that begins first is taken; of equal ones that of the dictionary named first.
 * Runs of blanks are alike, so are both apostrophes. A few steps for each word of the text, however
 * many terms there are. Counting references is for one thread; finding is for any. */
#ifndef DG_TEXT_TERMS_GLOSSARY_H
#define DG_TEXT_TERMS_GLOSSARY_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "text/language/langtag.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_GLOSSARY_TERM_BYTES = 1024, /* of a term, and of what it is called */
    DG_GLOSSARY_FORMS = 8,         /* ways to call a term */
    DG_GLOSSARY_CASES = 16,        /* source terms of a dictionary that differ only in their case */
    DG_GLOSSARY_DICTIONARIES = 32, /* of one glossary */
    DG_GLOSSARY_TERMS = 100000,    /* of one dictionary */
    DG_GLOSSARY_BYTES = 64 << 20,  /* of memory that one takes */
};

enum dg_glossary_format { DG_GLOSSARY_TSV, DG_GLOSSARY_CSV };

struct dg_glossary_term {
    struct dg_span source;
    const struct dg_span *targets; /* [n_targets] any of them will do, the first rather */
    size_t n_targets;
    bool exact;             /* only as it is written */
    const uint32_t *folded; /* [n_folded] the source, without case */
    size_t n_folded;
    size_t position; /* in what was read, counted in characters */
};

struct dg_dictionary {
    struct dg_langtag source, target; /* a text of "" is any language */
    struct dg_glossary_term *terms;   /* [n] as they were added */
    size_t n, cap;
    uint32_t *order;   /* [n] the terms by what they look like folded */
    uint32_t *parents; /* [n] 1 + the place in `order` of the longest term that this one begins
                          with; 0: none */
};

struct dg_glossary;

/* NULL: no memory. In a caller's arena it lives as long as that, and references mean nothing. */
struct dg_glossary *dg_glossary_new(struct dg_arena *arena);
struct dg_glossary *dg_glossary_ref(struct dg_glossary *glossary);
void dg_glossary_unref(struct dg_glossary *glossary); /* NULL is fine */

/* What follows belongs to a pair of languages: DG_ERR_INVALID for what is no language,
 * DG_ERR_EXISTS for a pair that is there, DG_ERR_LIMIT. */
enum dg_err dg_glossary_begin(struct dg_glossary *glossary, const char *source, const char *target,
                              struct dg_error *error) DG_MUST_CHECK;

/* Blanks around are cut off. DG_ERR_INVALID (empty, control characters), DG_ERR_UTF8, DG_ERR_LIMIT,
 * DG_ERR_NOMEM. */
enum dg_err dg_glossary_add(struct dg_glossary *glossary, struct dg_span source,
                            const struct dg_span *targets, size_t n_targets, bool exact,
                            struct dg_error *error) DG_MUST_CHECK;

/* A term and its forms, as they stand at a position of something that is read. */
enum dg_err dg_glossary_add_at(struct dg_glossary *glossary, const struct dg_span *cells, size_t n,
                               size_t position, struct dg_error *error) DG_MUST_CHECK;

/* One term in each line, the source first, then one or more columns that it may be called.
 * `columns_max` 2: no more than one. CSV has quotes as RFC 4180 has them; its third and fourth
 * column are ignored languages when there are just four. Sentences of refusals are those of DeepL's
 * API: "Key with the index 1 (starting at position 13) misses tab separator". */
enum dg_err dg_glossary_read(struct dg_glossary *glossary, enum dg_glossary_format format,
                             size_t columns_max, struct dg_span text,
                             struct dg_error *error) DG_MUST_CHECK;

/* The mirror of read. */
enum dg_err dg_glossary_write(const struct dg_dictionary *dictionary,
                              enum dg_glossary_format format, size_t columns_max,
                              struct dg_buf *out) DG_MUST_CHECK;

/* DG_ERR_EXISTS: a source twice in a dictionary; DG_ERR_NOMEM. */
enum dg_err dg_glossary_seal(struct dg_glossary *glossary, struct dg_error *error) DG_MUST_CHECK;

const struct dg_dictionary *dg_glossary_dictionaries(const struct dg_glossary *glossary, size_t *n);
size_t dg_glossary_n_terms(const struct dg_glossary *glossary);
size_t dg_glossary_bytes(const struct dg_glossary *glossary); /* of memory */

/* The dictionary for this pair of languages, regions and scripts counting only where the dictionary
 * has them; NULL: none. */
const struct dg_dictionary *dg_glossary_for(const struct dg_glossary *glossary,
                                            const struct dg_langtag *source,
                                            const struct dg_langtag *target);

/* ---- Finding --------------------------------------------------------------------------------- */

/* How the text writes a term. */
enum dg_glossary_shape { DG_GLOSSARY_AS_IT_IS, DG_GLOSSARY_CAPITAL, DG_GLOSSARY_UPPER };

/* Where it stands: inside a sentence, or at the beginning of the text's first or of a later one. */
enum dg_glossary_start { DG_GLOSSARY_INSIDE, DG_GLOSSARY_FIRST, DG_GLOSSARY_LATER };

struct dg_glossary_match {
    const struct dg_glossary_term *term;
    size_t at, len; /* bytes of the text */
    enum dg_glossary_shape shape;
    enum dg_glossary_start start;
};

/* Scratch, and what was found. */
struct dg_glossary_scan {
    uint32_t *folded, *plain; /* owned; [n] code points, without and with their case, */
    uint32_t *at;             /* owned; [n + 1] and where they begin */
    size_t n, cap;
    bool begins_with_capital;          /* the text's first letter is one */
    struct dg_glossary_match *matches; /* owned; [n_matches] */
    size_t n_matches, matches_cap;
};

void dg_glossary_scan_init(struct dg_glossary_scan *scan);
void dg_glossary_scan_deinit(struct dg_glossary_scan *scan);

/* A stretch of the text in which nothing is looked for. */
struct dg_glossary_gap {
    size_t at, len;
};

/* `any_case`: the text's case says nothing. DG_ERR_NOMEM. */
enum dg_err dg_glossary_find(const struct dg_dictionary *const *dictionaries, size_t n,
                             struct dg_span text, const struct dg_glossary_gap *gaps, size_t n_gaps,
                             bool any_case, struct dg_glossary_scan *scan) DG_MUST_CHECK;

/* A phrase that is looked for in a text that was scanned, as code points without case. */
struct dg_glossary_phrase {
    uint32_t *folded; /* owned; [n] */
    size_t n;
};

enum dg_err dg_glossary_scan_text(struct dg_glossary_scan *scan, struct dg_span text) DG_MUST_CHECK;
enum dg_err dg_glossary_phrase_init(struct dg_glossary_phrase *phrase,
                                    struct dg_span text) DG_MUST_CHECK;
void dg_glossary_phrase_deinit(struct dg_glossary_phrase *phrase); /* all zeros is fine */

/* Whether the phrase stands in the scanned text at word borders, in whatever case, from code point
 * `from` on; where. */
bool dg_glossary_stands(const struct dg_glossary_scan *scan,
                        const struct dg_glossary_phrase *phrase, size_t from, size_t *at);

/* A form as it is written in a text that has its term in that shape: with a capital, or in
 * capitals. */
enum dg_err dg_glossary_shape(struct dg_span form, enum dg_glossary_shape shape,
                              const char *language, struct dg_buf *out) DG_MUST_CHECK;

#endif
