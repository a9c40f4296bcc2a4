/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Terms are sorted by their folded code points. To find the terms that a text begins with, take the
 * last term that does not sort after the text: it and its parents (the terms that it begins with)
 * are the only candidates. */
#include "text/terms/glossary.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/terms/casing.h"

#include <stdlib.h>

#include <unicode/uchar.h>
#include <unicode/uscript.h>

struct dg_glossary {
    struct dg_arena own;
    struct dg_arena *arena;
    size_t n_refs; /* references to the glossary */
    struct dg_dictionary items[DG_GLOSSARY_DICTIONARIES];
    size_t n;
    struct dg_glossary_scan scan; /* its memory is used to fold terms */
};

/* ---- Life ------------------------------------------------------------------------------------ */

struct dg_glossary *dg_glossary_new(struct dg_arena *arena)
{
    struct dg_glossary *glossary =
        arena ? dg_arena_calloc(arena, 1, sizeof *glossary) : dg_try_calloc(1, sizeof *glossary);
    if (!glossary)
        return NULL;
    if (!arena)
        dg_arena_init(&glossary->own, DG_GLOSSARY_BYTES);
    glossary->arena = arena ? arena : &glossary->own;
    glossary->n_refs = 1;
    return glossary;
}

struct dg_glossary *dg_glossary_ref(struct dg_glossary *glossary)
{
    glossary->n_refs++;
    return glossary;
}

void dg_glossary_unref(struct dg_glossary *glossary)
{
    if (!glossary || --glossary->n_refs > 0)
        return;
    dg_glossary_scan_deinit(&glossary->scan);
    if (glossary->arena != &glossary->own)
        return;
    dg_arena_deinit(&glossary->own);
    dg_free(glossary);
}

const struct dg_dictionary *dg_glossary_dictionaries(const struct dg_glossary *glossary, size_t *n)
{
    *n = glossary->n;
    return glossary->items;
}

size_t dg_glossary_n_terms(const struct dg_glossary *glossary)
{
    size_t n = 0;
    for (size_t i = 0; i < glossary->n; i++)
        n += glossary->items[i].n;
    return n;
}

size_t dg_glossary_bytes(const struct dg_glossary *glossary)
{
    return sizeof *glossary + (glossary->arena == &glossary->own ? glossary->own.used : 0);
}

/* ---- Code points ----------------------------------------------------------------------------- */

enum script { NO_LETTER, SPACED, UNSPACED, HANGUL };

static enum script script_of(uint32_t cp)
{
    UErrorCode status = U_ZERO_ERROR;
    UChar32 c = (UChar32)cp;
    if (!u_isalnum(c) && u_charType(c) != U_NON_SPACING_MARK &&
        u_charType(c) != U_COMBINING_SPACING_MARK)
        return NO_LETTER;
    if (cp < 0x0E00)
        return SPACED;
    switch (uscript_getScript(c, &status)) {
    case USCRIPT_HAN:
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_BOPOMOFO:
    case USCRIPT_THAI:
    case USCRIPT_LAO:
    case USCRIPT_KHMER:
    case USCRIPT_MYANMAR:
    case USCRIPT_TIBETAN:
        return UNSPACED;
    case USCRIPT_HANGUL:
        return HANGUL;
    default:
        return SPACED;
    }
}

static uint32_t fold(uint32_t cp)
{
    if (cp == 0x2019 || cp == 0x02BC)
        return '\'';
    return (uint32_t)u_foldCase((UChar32)cp, U_FOLD_CASE_DEFAULT);
}

static bool is_blank(uint32_t cp)
{
    return cp == '\t' || cp == '\n' || cp == '\r' || u_isUWhiteSpace((UChar32)cp);
}

void dg_glossary_scan_init(struct dg_glossary_scan *scan)
{
    *scan = (struct dg_glossary_scan){.n = 0};
}

void dg_glossary_scan_deinit(struct dg_glossary_scan *scan)
{
    dg_free(scan->folded);
    dg_free(scan->matches);
    dg_glossary_scan_init(scan);
}

/* One block: folded, plain, at. */
static enum dg_err make_room(struct dg_glossary_scan *scan, size_t n)
{
    if (n + 1 <= scan->cap)
        return DG_OK;
    uint32_t *block = dg_try_calloc(3 * (n + 1), sizeof *block);
    if (!block)
        return DG_ERR_NOMEM;
    dg_free(scan->folded);
    scan->folded = block;
    scan->plain = block + (n + 1);
    scan->at = block + 2 * (n + 1);
    scan->cap = n + 1;
    return DG_OK;
}

/* Converts the text to code points; a run of blanks becomes one. Bytes that are not UTF-8 are taken
 * one by one. */
static enum dg_err read_text(struct dg_glossary_scan *scan, struct dg_span text)
{
    enum dg_err err = make_room(scan, text.len);
    scan->n = 0;
    for (size_t at = 0, len; !err && at < text.len; at += len) {
        uint32_t cp = DG_UTF8_REPLACEMENT;
        len = dg_utf8_decode(text, at, &cp);
        len += len == 0;
        if (is_blank(cp)) {
            cp = ' ';
            if (scan->n && scan->folded[scan->n - 1] == ' ')
                continue;
        }
        scan->plain[scan->n] = cp;
        scan->folded[scan->n] = fold(cp);
        scan->at[scan->n++] = (uint32_t)at;
    }
    if (!err)
        scan->at[scan->n] = (uint32_t)text.len;
    return err;
}

/* True for a word border before code point `i`: the characters on its two sides cannot belong to
 * the same word. */
static bool begins_at(const struct dg_glossary_scan *scan, size_t i)
{
    enum script here = script_of(scan->plain[i]),
                before = i ? script_of(scan->plain[i - 1]) : NO_LETTER;
    return here == NO_LETTER || here == UNSPACED || before == NO_LETTER || before == UNSPACED ||
           (here == SPACED && before == HANGUL);
}

static bool ends_at(const struct dg_glossary_scan *scan, size_t i)
{
    enum script last = script_of(scan->plain[i - 1]),
                after = i < scan->n ? script_of(scan->plain[i]) : NO_LETTER;
    return last != SPACED || after != SPACED;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static enum dg_err read_tag(const char *text, struct dg_langtag *tag, struct dg_error *error)
{
    *tag = (struct dg_langtag){.text = ""};
    return *text ? dg_langtag_parse(dg_span_cstr(text), tag, error) : DG_OK;
}

enum dg_err dg_glossary_begin(struct dg_glossary *glossary, const char *source, const char *target,
                              struct dg_error *error)
{
    struct dg_dictionary made = {.n = 0};
    enum dg_err err = read_tag(source, &made.source, error);
    if (!err)
        err = read_tag(target, &made.target, error);
    for (size_t i = 0; !err && i < glossary->n; i++)
        if (strcmp(glossary->items[i].source.text, made.source.text) == 0 &&
            strcmp(glossary->items[i].target.text, made.target.text) == 0)
            err = dg_error_set(error, DG_ERR_EXISTS,
                               "there are two dictionaries from '%s' to '%s', expected one", source,
                               target);
    if (!err && glossary->n == DG_GLOSSARY_DICTIONARIES)
        err = dg_error_set(error, DG_ERR_LIMIT,
                           "read more than %d dictionaries, expected at most that many",
                           DG_GLOSSARY_DICTIONARIES);
    if (!err)
        glossary->items[glossary->n++] = made;
    return err;
}

/* Copies what may be a term, without the blanks around it. */
static enum dg_err keep_text(struct dg_glossary *glossary, struct dg_span text, const char *what,
                             struct dg_span *out, struct dg_error *error)
{
    size_t bad_at;
    text = dg_chars_trim(text, " \t\r");
    if (!dg_utf8_valid(text, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "a %s is not valid UTF-8 at byte %zu", what,
                            bad_at);
    if (text.len == 0)
        return dg_error_set(error, DG_ERR_INVALID, "a %s is empty, expected text", what);
    if (text.len > DG_GLOSSARY_TERM_BYTES)
        return dg_error_set(error, DG_ERR_LIMIT, "a %s has %zu bytes, expected at most %d", what,
                            text.len, DG_GLOSSARY_TERM_BYTES);
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7F)
            return dg_error_set(error, DG_ERR_INVALID,
                                "a %s has a control character, expected text on one line", what);
    *out = dg_arena_copy(glossary->arena, text);
    return out->ptr ? DG_OK
                    : dg_error_set(error, DG_ERR_NOMEM, "the glossary does not fit into memory");
}

static enum dg_err add_room(struct dg_glossary *glossary, struct dg_dictionary *dictionary,
                            struct dg_error *error)
{
    if (dictionary->n == DG_GLOSSARY_TERMS)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "read more than %d terms, expected at most that many",
                            DG_GLOSSARY_TERMS);
    if (dictionary->n < dictionary->cap)
        return DG_OK;
    size_t cap = dictionary->cap ? 2 * dictionary->cap : 16;
    struct dg_glossary_term *grown = dg_arena_calloc(glossary->arena, cap, sizeof *grown);
    if (!grown)
        return dg_error_set(error, DG_ERR_NOMEM, "the glossary does not fit into memory");
    if (dictionary->n)
        memcpy(grown, dictionary->terms, dictionary->n * sizeof *grown);
    dictionary->terms = grown;
    dictionary->cap = cap;
    return DG_OK;
}

static enum dg_err add(struct dg_glossary *glossary, struct dg_span source,
                       const struct dg_span *targets, size_t n_targets, bool exact, size_t position,
                       struct dg_error *error)
{
    struct dg_dictionary *dictionary = &glossary->items[glossary->n - 1];
    struct dg_glossary_term term = {.n_targets = n_targets, .exact = exact, .position = position};
    struct dg_span *kept = NULL;
    uint32_t *folded = NULL;
    if (n_targets == 0 || n_targets > DG_GLOSSARY_FORMS)
        return dg_error_set(error, n_targets ? DG_ERR_LIMIT : DG_ERR_INVALID,
                            "a term has %zu target forms, expected 1 to %d", n_targets,
                            DG_GLOSSARY_FORMS);
    enum dg_err err = add_room(glossary, dictionary, error);
    if (!err)
        err = keep_text(glossary, source, "source term", &term.source, error);
    if (!err && !(kept = dg_arena_calloc(glossary->arena, n_targets, sizeof *kept)))
        err = dg_error_set(error, DG_ERR_NOMEM, "the glossary does not fit into memory");
    for (size_t i = 0; !err && i < n_targets; i++)
        err = keep_text(glossary, targets[i], "target term", &kept[i], error);
    if (!err)
        err = read_text(&glossary->scan, term.source);
    if (!err && !(folded = dg_arena_calloc(glossary->arena, glossary->scan.n, sizeof *folded)))
        err = dg_error_set(error, DG_ERR_NOMEM, "the glossary does not fit into memory");
    if (err)
        return err;
    memcpy(folded, glossary->scan.folded, glossary->scan.n * sizeof *folded);
    term.targets = kept;
    term.folded = folded;
    term.n_folded = glossary->scan.n;
    dictionary->terms[dictionary->n++] = term;
    return DG_OK;
}

enum dg_err dg_glossary_add(struct dg_glossary *glossary, struct dg_span source,
                            const struct dg_span *targets, size_t n_targets, bool exact,
                            struct dg_error *error)
{
    return add(glossary, source, targets, n_targets, exact, SIZE_MAX, error);
}

enum dg_err dg_glossary_add_at(struct dg_glossary *glossary, const struct dg_span *cells, size_t n,
                               size_t position, struct dg_error *error)
{
    return add(glossary, cells[0], cells + 1, n - 1, false, position, error);
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_points(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    size_t n = n_a < n_b ? n_a : n_b;
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return n_a < n_b ? -1 : n_a > n_b;
}

/* For qsort over pointers to terms: next by spelling, then in the order in which they were
 * added. */
static int compare_terms(const void *a, const void *b)
{
    const struct dg_glossary_term *x = *(const struct dg_glossary_term *const *)a;
    const struct dg_glossary_term *y = *(const struct dg_glossary_term *const *)b;
    int order = compare_points(x->folded, x->n_folded, y->folded, y->n_folded);
    if (order == 0 && x->source.len != y->source.len)
        order = x->source.len < y->source.len ? -1 : 1;
    if (order == 0)
        order = memcmp(x->source.ptr, y->source.ptr, x->source.len);
    return order ? order : x < y ? -1 : x > y;
}

static bool begins_with(const struct dg_glossary_term *term, const struct dg_glossary_term *start)
{
    return term->n_folded >= start->n_folded &&
           memcmp(term->folded, start->folded, start->n_folded * sizeof *start->folded) == 0;
}

static bool is_alike(const struct dg_glossary_term *a, const struct dg_glossary_term *b)
{
    return a->n_folded == b->n_folded && begins_with(a, b);
}

static enum dg_err refuse_twice(const struct dg_dictionary *dictionary,
                                const struct dg_glossary_term *first,
                                const struct dg_glossary_term *second, struct dg_error *error)
{
    if (second->position == SIZE_MAX)
        return dg_error_set(
            error, DG_ERR_EXISTS, "the source term '%.*s' is there twice, expected once",
            (int)(first->source.len < 200 ? first->source.len : 200), first->source.ptr);
    return dg_error_set(
        error, DG_ERR_EXISTS,
        "Key with the index %zu (starting at position %zu) duplicates key with the index %zu "
        "(starting at position %zu)",
        (size_t)(second - dictionary->terms), second->position, (size_t)(first - dictionary->terms),
        first->position);
}

static enum dg_err sort(struct dg_glossary *glossary, struct dg_dictionary *dictionary,
                        struct dg_error *error)
{
    size_t n = dictionary->n, n_alike = 1;
    enum dg_err err = DG_OK;
    const struct dg_glossary_term **sorted = dg_try_calloc(n + 1, sizeof *sorted);
    dictionary->order = dg_arena_calloc(glossary->arena, n + 1, sizeof *dictionary->order);
    dictionary->parents = dg_arena_calloc(glossary->arena, n + 1, sizeof *dictionary->parents);
    if (!sorted || !dictionary->order || !dictionary->parents)
        err = dg_error_set(error, DG_ERR_NOMEM, "the glossary does not fit into memory");
    for (size_t i = 0; !err && i < n; i++)
        sorted[i] = &dictionary->terms[i];
    if (!err)
        qsort(sorted, n, sizeof *sorted, compare_terms);
    for (size_t i = 0; !err && i < n; i++) {
        uint32_t parent = (uint32_t)i; /* 1 + the index of the phrase before it */
        dictionary->order[i] = (uint32_t)(sorted[i] - dictionary->terms);
        if (i && dg_span_eq(sorted[i]->source, sorted[i - 1]->source))
            err = refuse_twice(dictionary, sorted[i - 1], sorted[i], error);
        n_alike = i && is_alike(sorted[i], sorted[i - 1]) ? n_alike + 1 : 1;
        if (!err && n_alike > DG_GLOSSARY_CASES)
            err = dg_error_set(error, DG_ERR_LIMIT,
                               "more than %d source terms differ from '%.*s' only in their case, "
                               "expected at most that many",
                               DG_GLOSSARY_CASES,
                               (int)(sorted[i]->source.len < 200 ? sorted[i]->source.len : 200),
                               sorted[i]->source.ptr);
        while (parent && !begins_with(sorted[i], sorted[parent - 1]))
            parent = dictionary->parents[parent - 1];
        dictionary->parents[i] = parent;
    }
    dg_free(sorted);
    return err;
}

enum dg_err dg_glossary_seal(struct dg_glossary *glossary, struct dg_error *error)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < glossary->n; i++)
        err = sort(glossary, &glossary->items[i], error);
    dg_glossary_scan_deinit(&glossary->scan);
    return err;
}

/* How well a tag of a dictionary fits; 0: not at all. */
static int fit(const struct dg_langtag *ours, const struct dg_langtag *wanted)
{
    if (!*ours->text)
        return 1;
    if (strcmp(ours->language, wanted->language) != 0 ||
        (*ours->script && strcmp(ours->script, wanted->likely_script) != 0))
        return 0;
    if (*ours->region && *wanted->region && strcmp(ours->region, wanted->region) != 0)
        return 0;
    return *ours->region ? 3 : 2;
}

const struct dg_dictionary *dg_glossary_for(const struct dg_glossary *glossary,
                                            const struct dg_langtag *source,
                                            const struct dg_langtag *target)
{
    const struct dg_dictionary *best = NULL;
    int most = 0;
    for (size_t i = 0; i < glossary->n; i++) {
        int from = fit(&glossary->items[i].source, source),
            to = fit(&glossary->items[i].target, target);
        if (from && to && from + to > most) {
            most = from + to;
            best = &glossary->items[i];
        }
    }
    return best;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Maps characters that look the same to a reader to one of them. */
static uint32_t plain(uint32_t cp)
{
    return is_blank(cp) ? ' ' : cp == 0x2019 || cp == 0x02BC ? '\'' : cp;
}

/* Whether the text's code points from `from` on, which equal the term except for case, have a shape
 * that the term may have. */
static bool has_shape(const struct dg_glossary_scan *scan, size_t from,
                      const struct dg_glossary_term *term, bool any_case,
                      enum dg_glossary_shape *shape)
{
    bool is_same = true, is_upper = true, is_capital = true;
    size_t n_cased = 0;
    uint32_t cp = 0, last = ' ';
    for (size_t at = 0, len, i = 0; i < term->n_folded; at += len) {
        bool was_blank = plain(cp) == ' ' && at;
        len = dg_utf8_decode(term->source, at, &cp);
        if (len == 0)
            break;
        if (plain(cp) == ' ' && was_blank)
            continue; /* the rest of a run of blanks */
        uint32_t here = plain(scan->plain[from + i++]);
        bool is_equal = here == plain(cp), begins = script_of(last) == NO_LETTER;
        n_cased += u_hasBinaryProperty((UChar32)here, UCHAR_CASED);
        is_upper = is_upper && !u_islower((UChar32)here);
        is_capital =
            is_capital && (is_equal || (begins && (uint32_t)u_totitle((UChar32)cp) == here));
        is_same = is_same && is_equal;
        if (!is_same && !is_capital && !is_upper && !any_case)
            return false;
        last = here;
    }
    *shape = is_same || any_case ? DG_GLOSSARY_AS_IT_IS
             : is_capital        ? DG_GLOSSARY_CAPITAL
                                 : DG_GLOSSARY_UPPER;
    if (is_same || any_case)
        return true;
    return !term->exact && (is_capital || (is_upper && n_cased > 1));
}

static const struct dg_glossary_term *term_at(const struct dg_dictionary *dictionary, size_t place)
{
    return &dictionary->terms[dictionary->order[place]];
}

/* The longest term of the dictionary that matches at code point `from`; NULL: none. */
static const struct dg_glossary_term *longest_at(const struct dg_dictionary *dictionary,
                                                 const struct dg_glossary_scan *scan, size_t from,
                                                 bool any_case, enum dg_glossary_shape *shape)
{
    const uint32_t *text = scan->folded + from;
    size_t n = scan->n - from, low = 0, high = dictionary->n;
    while (low < high) { /* finds how many terms do not lie after the text */
        size_t middle = low + (high - low) / 2;
        const struct dg_glossary_term *term = term_at(dictionary, middle);
        if (compare_points(term->folded, term->n_folded, text,
                           n < term->n_folded ? n : term->n_folded) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t place = low; place; place = dictionary->parents[place - 1]) {
        const struct dg_glossary_term *term = term_at(dictionary, place - 1);
        if (term->n_folded <= n && memcmp(term->folded, text, term->n_folded * sizeof *text) == 0 &&
            ends_at(scan, from + term->n_folded) && has_shape(scan, from, term, any_case, shape))
            return term;
    }
    return NULL;
}

static bool is_in_gap(const struct dg_glossary_gap *gaps, size_t n_gaps, size_t at, size_t end)
{
    for (size_t i = 0; i < n_gaps; i++)
        if (at < gaps[i].at + gaps[i].len && end > gaps[i].at)
            return true;
    return false;
}

static bool ends_sentence(uint32_t cp)
{
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x3002 || cp == 0xFF01 ||
           cp == 0xFF1F;
}

/* Whether a sentence begins at code point `i`, judged by punctuation. */
static enum dg_glossary_start start_at(const struct dg_glossary_scan *scan, size_t i)
{
    bool is_apart = false;
    while (i-- > 0) {
        const uint32_t cp = scan->plain[i];
        if (ends_sentence(cp) && (is_apart || cp >= 0x3000))
            return DG_GLOSSARY_LATER;
        if (ends_sentence(cp) || u_isalnum((UChar32)cp))
            return DG_GLOSSARY_INSIDE;
        is_apart |= cp == ' ';
    }
    return DG_GLOSSARY_FIRST;
}

static bool begins_with_capital(const struct dg_glossary_scan *scan)
{
    size_t i = 0;
    while (i < scan->n && !u_isalpha((UChar32)scan->plain[i]))
        i++;
    return i < scan->n &&
           (u_isupper((UChar32)scan->plain[i]) || u_istitle((UChar32)scan->plain[i]));
}

static enum dg_err add_match(struct dg_glossary_scan *scan, const struct dg_glossary_match *match)
{
    if (DG_GROW(scan->matches, scan->n_matches, scan->matches_cap, 16))
        return DG_ERR_NOMEM;
    scan->matches[scan->n_matches++] = *match;
    return DG_OK;
}

enum dg_err dg_glossary_find(const struct dg_dictionary *const *dictionaries, size_t n,
                             struct dg_span text, const struct dg_glossary_gap *gaps, size_t n_gaps,
                             bool any_case, struct dg_glossary_scan *scan)
{
    scan->n_matches = 0;
    enum dg_err err = n ? read_text(scan, text) : DG_OK;
    scan->begins_with_capital = n && !err && begins_with_capital(scan);
    for (size_t i = 0; !err && n && i < scan->n;) {
        struct dg_glossary_match match = {.term = NULL};
        for (size_t d = 0; d < n && begins_at(scan, i); d++) {
            enum dg_glossary_shape shape;
            const struct dg_glossary_term *term =
                longest_at(dictionaries[d], scan, i, any_case, &shape);
            if (!term || (match.term && term->n_folded <= match.term->n_folded))
                continue;
            match = (struct dg_glossary_match){.term = term,
                                               .at = scan->at[i],
                                               .shape = shape,
                                               .start = start_at(scan, i),
                                               .len = scan->at[i + term->n_folded] - scan->at[i]};
        }
        if (match.term && is_in_gap(gaps, n_gaps, match.at, match.at + match.len))
            match.term = NULL;
        if (match.term)
            err = add_match(scan, &match);
        i += match.term ? match.term->n_folded : 1;
    }
    return err;
}

enum dg_err dg_glossary_scan_text(struct dg_glossary_scan *scan, struct dg_span text)
{
    scan->n_matches = 0;
    return read_text(scan, text);
}

enum dg_err dg_glossary_phrase_init(struct dg_glossary_phrase *phrase, struct dg_span text)
{
    struct dg_glossary_scan scan;
    dg_glossary_scan_init(&scan);
    enum dg_err err = read_text(&scan, text);
    /* the block of the scan, which begins with `folded` */
    phrase->folded = err ? NULL : scan.folded;
    phrase->n = scan.n;
    return err;
}

void dg_glossary_phrase_deinit(struct dg_glossary_phrase *phrase)
{
    dg_free(phrase->folded);
    *phrase = (struct dg_glossary_phrase){.n = 0};
}

bool dg_glossary_stands(const struct dg_glossary_scan *scan,
                        const struct dg_glossary_phrase *phrase, size_t from, size_t *at)
{
    if (phrase->n == 0)
        return false;
    for (size_t i = from; i + phrase->n <= scan->n; i++) {
        if (scan->folded[i] != phrase->folded[0] ||
            memcmp(scan->folded + i, phrase->folded, phrase->n * sizeof *phrase->folded) != 0 ||
            !begins_at(scan, i) || !ends_at(scan, i + phrase->n))
            continue;
        *at = i;
        return true;
    }
    return false;
}

enum dg_err dg_glossary_shape(struct dg_span form, enum dg_glossary_shape shape,
                              const char *language, struct dg_buf *out)
{
    bool restored;
    uint32_t cp = 0;
    char first[DG_UTF8_MAX_LEN];
    if (shape == DG_GLOSSARY_UPPER)
        return dg_casing_restore(form, DG_CASING_UPPER, language, out, &restored);
    size_t len = shape == DG_GLOSSARY_CAPITAL ? dg_utf8_decode(form, 0, &cp) : 0;
    size_t n = len ? dg_utf8_encode((uint32_t)u_totitle((UChar32)cp), first) : 0;
    enum dg_err err = n ? dg_buf_append(out, first, n) : DG_OK;
    return err ? err : dg_buf_append_span(out, dg_span_sub(form, n ? len : 0, form.len));
}
