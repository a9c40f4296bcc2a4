/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Glossaries: terms with their translations, and a search for these terms in a text.
 *
 *     struct dg_glossary *glossary = dg_glossary_new(&arena);       NULL: with its own memory
 *     err = dg_glossary_begin(glossary, "fr", "en", &error);        a dictionary; "": any language
 *     err = dg_glossary_add(glossary, source, targets, n, false, &error);
 *     err = dg_glossary_read(glossary, DG_GLOSSARY_TSV, 2, text, &error);          many at once
 *     err = dg_glossary_seal(glossary, &error);                     from here on it is immutable
 *
 *     err = dg_glossary_find(dictionaries, n, text, gaps, n_gaps, any_case, &scan);
 *     ... scan.matches[i].term, .at, .len, .shape ...               in order, without overlaps
 *     dg_glossary_unref(glossary);
 *
 * A term matches at word borders (scripts without spaces have none; a Korean word may continue
 * after the term). A term in lower case also matches with a capital first letter, with capital
 * first letters of all words, and in capitals; a term with capitals of its own as it is and in
 * capitals; an exact term only as it is. Of the terms that begin first, the longest matches; of
 * equal terms, that of the first dictionary. Runs of blanks are equal, and so are both apostrophes.
 * Each word of the text takes a few steps, whatever the number of terms. Only one thread may count
 * references; any thread may search. */
#ifndef DG_TEXT_TERMS_GLOSSARY_H
#define DG_TEXT_TERMS_GLOSSARY_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "text/language/langtag.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_GLOSSARY_TERM_BYTES = 1024, /* bytes of a term or a translation */
    DG_GLOSSARY_FORMS = 8,         /* translations of one term */
    DG_GLOSSARY_CASES = 16,        /* source terms of a dictionary that differ only in their case */
    DG_GLOSSARY_DICTIONARIES = 32, /* dictionaries of one glossary */
    DG_GLOSSARY_TERMS = 100000,    /* terms of one dictionary */
    DG_GLOSSARY_BYTES = 64 << 20,  /* bytes of memory for one glossary */
};

enum dg_glossary_format { DG_GLOSSARY_TSV, DG_GLOSSARY_CSV };

struct dg_glossary_term {
    struct dg_span source;
    const struct dg_span *targets; /* [n_targets] translations; the first is preferred */
    size_t n_targets;
    bool exact;             /* matches only in exactly this spelling */
    const uint32_t *folded; /* [n_folded] the source, without case */
    size_t n_folded;
    size_t position; /* the position in the text that was read, in characters */
};

struct dg_dictionary {
    struct dg_langtag source, target; /* an empty tag stands for any language */
    struct dg_glossary_term *terms;   /* [n] as they were added */
    size_t n, cap;
    uint32_t *order;   /* [n] the terms sorted by their folded source */
    uint32_t *parents; /* [n] 1 + the place in `order` of the longest term that this one begins
                          with; 0: none */
};

struct dg_glossary;

/* NULL: no memory. In a caller's arena it lives as long as the arena, and references do not count.
 */
struct dg_glossary *dg_glossary_new(struct dg_arena *arena);
struct dg_glossary *dg_glossary_ref(struct dg_glossary *glossary);
void dg_glossary_unref(struct dg_glossary *glossary); /* NULL is fine */

/* Begins the dictionary of a pair of languages, to which terms are added next. DG_ERR_INVALID: not
 * a language; DG_ERR_EXISTS: the pair has a dictionary; DG_ERR_LIMIT. */
enum dg_err dg_glossary_begin(struct dg_glossary *glossary, const char *source, const char *target,
                              struct dg_error *error) DG_MUST_CHECK;

/* Adds a term. Blanks at the ends are dropped. DG_ERR_INVALID: empty, or control characters;
 * DG_ERR_UTF8; DG_ERR_LIMIT; DG_ERR_NOMEM. */
enum dg_err dg_glossary_add(struct dg_glossary *glossary, struct dg_span source,
                            const struct dg_span *targets, size_t n_targets, bool exact,
                            struct dg_error *error) DG_MUST_CHECK;

/* Adds a term (cells[0]) and its translations, found at a position of a text that is read. */
enum dg_err dg_glossary_add_at(struct dg_glossary *glossary, const struct dg_span *cells, size_t n,
                               size_t position, struct dg_error *error) DG_MUST_CHECK;

/* Reads one term from each line: the source, then one or more columns of translations (with
 * `columns_max` 2 only one). CSV has quotes as in RFC 4180; if a line has exactly four columns, the
 * last two are languages and are ignored. Refusals are worded as in DeepL's API: "Key with the
 * index 1 (starting at position 13) misses tab separator"; where more columns are permitted than
 * there, "line 2 has no tab". */
enum dg_err dg_glossary_read(struct dg_glossary *glossary, enum dg_glossary_format format,
                             size_t columns_max, struct dg_span text,
                             struct dg_error *error) DG_MUST_CHECK;

/* The mirror of read. */
enum dg_err dg_glossary_write(const struct dg_dictionary *dictionary,
                              enum dg_glossary_format format, size_t columns_max,
                              struct dg_buf *out) DG_MUST_CHECK;

/* Makes the glossary immutable and ready to search. DG_ERR_EXISTS: a dictionary has a source twice;
 * DG_ERR_NOMEM. */
enum dg_err dg_glossary_seal(struct dg_glossary *glossary, struct dg_error *error) DG_MUST_CHECK;

const struct dg_dictionary *dg_glossary_dictionaries(const struct dg_glossary *glossary, size_t *n);
size_t dg_glossary_n_terms(const struct dg_glossary *glossary);
size_t dg_glossary_bytes(const struct dg_glossary *glossary); /* of memory */

/* The dictionary for this pair of languages; NULL: none. Regions and scripts count only where the
 * dictionary's own tags name them. */
const struct dg_dictionary *dg_glossary_for(const struct dg_glossary *glossary,
                                            const struct dg_langtag *source,
                                            const struct dg_langtag *target);

/* ---- Finding --------------------------------------------------------------------------------- */

/* How the text writes a term. */
enum dg_glossary_shape { DG_GLOSSARY_AS_IT_IS, DG_GLOSSARY_CAPITAL, DG_GLOSSARY_UPPER };

/* Where a term stands: inside a sentence, at the start of the first sentence, or at the start of
 * a later one. */
enum dg_glossary_start { DG_GLOSSARY_INSIDE, DG_GLOSSARY_FIRST, DG_GLOSSARY_LATER };

struct dg_glossary_match {
    const struct dg_glossary_term *term;
    size_t at, len; /* where the match lies in the text, in bytes */
    enum dg_glossary_shape shape;
    enum dg_glossary_start start;
};

/* Scratch, and what was found. */
struct dg_glossary_scan {
    uint32_t *folded, *plain; /* owned; [n] code points, without and with their case */
    uint32_t *at;             /* owned; [n + 1] the byte offset of each code point */
    size_t n, cap;
    bool begins_with_capital;          /* the text's first letter is a capital */
    struct dg_glossary_match *matches; /* owned; [n_matches] */
    size_t n_matches, matches_cap;
};

void dg_glossary_scan_init(struct dg_glossary_scan *scan);
void dg_glossary_scan_deinit(struct dg_glossary_scan *scan);

/* A stretch of the text that is not searched. */
struct dg_glossary_gap {
    size_t at, len;
};

/* Finds the terms in a text. `any_case`: ignore case, because the text's own means nothing.
 * DG_ERR_NOMEM. */
enum dg_err dg_glossary_find(const struct dg_dictionary *const *dictionaries, size_t n,
                             struct dg_span text, const struct dg_glossary_gap *gaps, size_t n_gaps,
                             bool any_case, struct dg_glossary_scan *scan) DG_MUST_CHECK;

/* A phrase to find in a scanned text, as code points without case. */
struct dg_glossary_phrase {
    uint32_t *folded; /* owned; [n] */
    size_t n;
};

enum dg_err dg_glossary_scan_text(struct dg_glossary_scan *scan, struct dg_span text) DG_MUST_CHECK;
enum dg_err dg_glossary_phrase_init(struct dg_glossary_phrase *phrase,
                                    struct dg_span text) DG_MUST_CHECK;
void dg_glossary_phrase_deinit(struct dg_glossary_phrase *phrase); /* all zeros is fine */

/* True when the scanned text has the phrase at word borders, in any case, at or after code point
 * `from`; *at is where. */
bool dg_glossary_stands(const struct dg_glossary_scan *scan,
                        const struct dg_glossary_phrase *phrase, size_t from, size_t *at);

/* Appends a translation in the shape in which the text writes the term: as it is, with a capital,
 * or in capitals. */
enum dg_err dg_glossary_shape(struct dg_span form, enum dg_glossary_shape shape,
                              const char *language, struct dg_buf *out) DG_MUST_CHECK;

#endif
