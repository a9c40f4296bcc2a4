/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The text is read as alternating protected spans, which are copied, and stretches between them,
 * which ICU maps (final sigma, sharp s, dotless i). Afterwards our own code sets the capitals at
 * the start. */
#include "text/terms/casing.h"

#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/terms/protect.h"

#include <string.h>

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>

enum {
    UPPER_MIN = 4,   /* capitals that several words must have together */
    ACRONYM_MAX = 5, /* a single word of up to this many capitals is left alone */
    TITLE_WORDS_MIN = 3,
    LONG_WORD = 4, /* letters; shorter words may begin with a small letter in a title */
};

/* ---- What is there --------------------------------------------------------------------------- */

struct counts {
    size_t upper, lower;  /* letters with case */
    size_t words;         /* words with at least one letter */
    size_t with_capitals; /* words with capitals */
    size_t titled;        /* words that consist of a capital and then small letters */
    size_t long_small;    /* words of LONG_WORD letters or more that begin with a small letter */
    size_t word_letters, word_upper; /* letters of the current word, and capitals among them */
    bool first_upper;
};

static bool is_cased(UChar32 c)
{
    return u_hasBinaryProperty(c, UCHAR_CASED);
}

static void end_word(struct counts *counts)
{
    if (counts->word_letters > 0) {
        counts->words++;
        counts->with_capitals += counts->word_upper > 0;
        counts->titled +=
            counts->first_upper && counts->word_upper == 1 && counts->word_letters > 1;
        counts->long_small += counts->word_upper == 0 && counts->word_letters >= LONG_WORD;
    }
    counts->word_letters = counts->word_upper = 0;
}

static void count_stretch(struct counts *counts, struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len) {
        if (!u_isalpha((UChar32)cp)) {
            if (cp != '\'' && cp != 0x2019 && u_charType((UChar32)cp) != U_NON_SPACING_MARK)
                end_word(counts);
            continue;
        }
        bool upper = u_isupper((UChar32)cp) || u_istitle((UChar32)cp);
        if (counts->word_letters++ == 0)
            counts->first_upper = upper;
        counts->word_upper += upper;
        counts->upper += upper;
        counts->lower += !upper && is_cased((UChar32)cp);
    }
    end_word(counts);
}

/* Returns the protected spans of a text, and what is between them, one after the other. */
struct walk {
    struct dg_span text;
    struct dg_protect_list spans;
    size_t at, next;
};

/* The next stretch; *protected tells which kind it is. False at the end. */
static bool walk_next(struct walk *walk, struct dg_span *stretch, bool *protected)
{
    if (walk->at >= walk->text.len)
        return false;
    size_t end = walk->text.len;
    *protected = false;
    if (walk->next < walk->spans.n) {
        const struct dg_protect_span *span = &walk->spans.items[walk->next];
        *protected = span->at == walk->at;
        end = *protected ? span->at + span->len : span->at;
        walk->next += *protected;
    }
    *stretch = dg_span_sub(walk->text, walk->at, end - walk->at);
    walk->at = end;
    return true;
}

static enum dg_err walk_start(struct walk *walk, struct dg_span text)
{
    *walk = (struct walk){.text = text};
    dg_protect_list_init(&walk->spans);
    return dg_protect_find(text, DG_PROTECT_ALL, &walk->spans);
}

enum dg_casing dg_casing_find(struct dg_span text, const char *language)
{
    struct walk walk = {0};
    struct counts counts = {0};
    struct dg_span stretch;
    bool protected;
    if (!dg_utf8_valid(text, NULL) || walk_start(&walk, text)) {
        dg_protect_list_deinit(&walk.spans);
        return DG_CASING_PLAIN;
    }
    while (walk_next(&walk, &stretch, &protected))
        if (!protected)
            count_stretch(&counts, stretch);
    dg_protect_list_deinit(&walk.spans);
    if (counts.lower == 0 && counts.upper >= UPPER_MIN)
        return counts.words > 1 || counts.upper > ACRONYM_MAX ? DG_CASING_UPPER : DG_CASING_PLAIN;
    const bool is_sentence = text.len > 0 && text.ptr[text.len - 1] == '.';
    bool title = !is_sentence && counts.words >= TITLE_WORDS_MIN && counts.long_small == 0 &&
                 counts.with_capitals * 2 > counts.words && counts.titled >= 2 &&
                 strcmp(language, "de") != 0;
    return title ? DG_CASING_TITLE : DG_CASING_PLAIN;
}

/* ---- Mapping --------------------------------------------------------------------------------- */

typedef int32_t (*map_fn)(const UCaseMap *map, char *out, int32_t cap, const char *text,
                          int32_t len, UErrorCode *status);

/* Appends `text` through `map`; no mapping grows a text more than threefold. */
static enum dg_err append_mapped(struct dg_buf *out, const UCaseMap *cases, map_fn map,
                                 struct dg_span text)
{
    size_t cap;
    if (text.len == 0)
        return DG_OK;
    if (!dg_mul(text.len, 3, &cap) || cap > INT32_MAX)
        return DG_ERR_LIMIT;
    char *mapped = dg_try_malloc(cap);
    if (!mapped)
        return DG_ERR_NOMEM;
    UErrorCode status = U_ZERO_ERROR;
    int32_t len = map(cases, mapped, (int32_t)cap, text.ptr, (int32_t)text.len, &status);
    enum dg_err err = U_SUCCESS(status) ? dg_buf_append(out, mapped, (size_t)len) : DG_ERR_INTERNAL;
    dg_free(mapped);
    return err;
}

/* Appends `cp` as a capital. */
static enum dg_err append_capital(struct dg_buf *out, uint32_t cp, const char *language)
{
    char bytes[DG_UTF8_MAX_LEN];
    bool dotted = cp == 'i' && (strcmp(language, "tr") == 0 || strcmp(language, "az") == 0);
    size_t len = dg_utf8_encode(dotted ? 0x130 : (uint32_t)u_totitle((UChar32)cp), bytes);
    return dg_buf_append(out, bytes, len);
}

/* English words that stay small in the middle of a title. */
static bool is_small_word(struct dg_span word)
{
    static const char *const small[] = {
        "a",  "an",  "and", "as", "at",  "but", "by",  "for", "from", "if",  "in", "is",   "nor",
        "of", "off", "on",  "or", "per", "so",  "the", "to",  "up",   "via", "vs", "with", "yet"};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (dg_span_eq(word, dg_span_cstr(small[i])))
            return true;
    return false;
}

static size_t word_end(struct dg_span text, size_t at)
{
    uint32_t cp;
    for (size_t len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len)
        if (!u_isalnum((UChar32)cp) && cp != '\'' && cp != 0x2019 &&
            u_charType((UChar32)cp) != U_NON_SPACING_MARK)
            break;
    return at;
}

/* The state of copying words, which decides where capitals go. */
enum capitals { CAPITALS_AT_STARTS, CAPITALS_AT_WORDS };

struct copy {
    struct dg_buf *out;
    const char *language;
    enum capitals capitals;
    bool at_start; /* before the first word of a sentence, which gets a capital */
    bool ended;    /* the last character ended a sentence if a space follows */
};

static bool wants_capital(const struct copy *copy, struct dg_span word)
{
    if (copy->at_start)
        return true;
    if (copy->capitals == CAPITALS_AT_WORDS)
        return !is_small_word(word);
    return strcmp(copy->language, "en") == 0 &&
           (dg_span_eq(word, DG_SPAN("i")) || dg_span_starts(word, DG_SPAN("i'")) ||
            dg_span_starts(word, DG_SPAN("i\xE2\x80\x99")));
}

/* Copies small letters word by word, with capitals where they belong. */
static enum dg_err copy_words(struct copy *copy, struct dg_span text)
{
    for (size_t at = 0; at < text.len;) {
        uint32_t cp;
        size_t len = dg_utf8_decode(text, at, &cp), end = word_end(text, at);
        enum dg_err err;
        if (end == at) {
            copy->at_start |= copy->ended && u_isUWhiteSpace((UChar32)cp);
            copy->ended = cp == '.' || cp == '!' || cp == '?' || (copy->ended && cp == '"');
            err = dg_buf_append_span(copy->out, dg_span_sub(text, at, len));
            end = at + len;
        } else {
            struct dg_span word = dg_span_sub(text, at, end - at);
            bool capital = u_islower((UChar32)cp) && wants_capital(copy, word);
            err = capital ? append_capital(copy->out, cp, copy->language) : DG_OK;
            if (!err)
                err = dg_buf_append_span(copy->out, dg_span_sub(word, capital ? len : 0, word.len));
            copy->at_start = copy->ended = false;
        }
        if (err)
            return err;
        at = end;
    }
    return DG_OK;
}

static bool is_titled(struct dg_span word)
{
    uint32_t cp;
    size_t n = 0;
    for (size_t at = 0, len; (len = dg_utf8_decode(word, at, &cp)) > 0; at += len, n++)
        if ((n == 0) != (u_isupper((UChar32)cp) != 0) && u_isalpha((UChar32)cp))
            return false;
    return n > 1;
}

enum dg_err dg_casing_is_names(struct dg_span text, const struct dg_casing_names *names,
                               bool *is_names)
{
    size_t n_titled = 0, n_common = 0, n_small = 0;
    for (size_t at = 0; at < text.len;) {
        uint32_t cp;
        const size_t end = word_end(text, at);
        const struct dg_span word = dg_span_sub(text, at, end - at);
        if (end > at && is_titled(word)) {
            enum dg_casing_word kind;
            const enum dg_err err = names->kind(names->ctx, word, &kind);
            if (err)
                return err;
            n_titled++;
            n_common += kind == DG_CASING_COMMON_WORD;
            n_small += kind == DG_CASING_COMMON_WORD && word.len < LONG_WORD;
        }
        at = end > at ? end : at + dg_utf8_decode(text, at, &cp);
    }
    *is_names = n_small == 0 && 2 * n_common < n_titled;
    return DG_OK;
}

/* Appends a word of a title without its capital, unless it has other capitals or is a name. */
static enum dg_err lower_word(struct dg_buf *out, const UCaseMap *cases,
                              const struct dg_casing_names *names, struct dg_span word)
{
    enum dg_casing_word kind = DG_CASING_UNKNOWN_WORD;
    const bool has_others = !is_titled(word);
    enum dg_err err = !has_others && names ? names->kind(names->ctx, word, &kind) : DG_OK;
    if (err)
        return err;
    return has_others || kind == DG_CASING_NAME
               ? dg_buf_append_span(out, word)
               : append_mapped(out, cases, ucasemap_utf8ToLower, word);
}

/* Lower-cases a stretch: all of it, or of a title only the words with a capital at the start. */
static enum dg_err lower_stretch(struct dg_buf *out, const UCaseMap *cases, enum dg_casing casing,
                                 const struct dg_casing_names *names, struct dg_span text)
{
    if (casing == DG_CASING_UPPER)
        return append_mapped(out, cases, ucasemap_utf8ToLower, text);
    for (size_t at = 0; at < text.len;) {
        uint32_t cp;
        size_t end = word_end(text, at);
        size_t len = end > at ? end - at : dg_utf8_decode(text, at, &cp);
        struct dg_span part = dg_span_sub(text, at, len);
        enum dg_err err =
            end > at ? lower_word(out, cases, names, part) : dg_buf_append_span(out, part);
        if (err)
            return err;
        at += len;
    }
    return DG_OK;
}

/* One pass over the text: protected spans are copied, the rest is mapped. */
static enum dg_err map_all(struct walk *walk, const UCaseMap *cases, enum dg_casing casing,
                           const struct dg_casing_names *names, bool restore, struct copy *copy)
{
    struct dg_span stretch;
    bool protected;
    struct dg_buf lowered;
    enum dg_err err = DG_OK;
    dg_buf_init(&lowered, copy->out->max);
    while (!err && walk_next(walk, &stretch, &protected)) {
        dg_buf_clear(&lowered);
        if (protected) {
            err = dg_buf_append_span(copy->out, stretch);
            copy->at_start = copy->ended = false;
        } else if (restore && casing == DG_CASING_UPPER) {
            err = append_mapped(copy->out, cases, ucasemap_utf8ToUpper, stretch);
        } else if (restore) {
            err = copy_words(copy, stretch);
        } else {
            err = lower_stretch(&lowered, cases, casing, names, stretch);
            if (!err)
                err = copy_words(copy, dg_buf_span(&lowered));
        }
    }
    dg_buf_deinit(&lowered);
    return err;
}

static enum dg_err convert(struct dg_span text, enum dg_casing casing, const char *language,
                           const struct dg_casing_names *names, bool restore, struct dg_buf *out)
{
    struct walk walk = {0};
    struct copy copy = {.out = out, .language = language, .at_start = true};
    UErrorCode status = U_ZERO_ERROR;
    size_t len = out->len;
    bool english_title = restore && casing == DG_CASING_TITLE && strcmp(language, "en") == 0;
    if (casing == DG_CASING_PLAIN || !dg_utf8_valid(text, NULL))
        return dg_buf_append_span(out, text);
    copy.capitals = english_title ? CAPITALS_AT_WORDS : CAPITALS_AT_STARTS;
    UCaseMap *cases = ucasemap_open(language, 0, &status);
    enum dg_err err = U_SUCCESS(status) ? walk_start(&walk, text) : DG_ERR_NOMEM;
    if (!err)
        err = map_all(&walk, cases, casing, names, restore, &copy);
    if (err)
        dg_buf_truncate(out, len);
    dg_protect_list_deinit(&walk.spans);
    ucasemap_close(cases);
    return err;
}

enum dg_err dg_casing_lower(struct dg_span text, enum dg_casing casing, const char *language,
                            const struct dg_casing_names *names, struct dg_buf *out)
{
    return convert(text, casing, language, names, false, out);
}

enum dg_err dg_casing_lower_first(struct dg_span word, struct dg_buf *out, bool *changed)
{
    uint32_t cp;
    char bytes[4];
    const size_t len = dg_utf8_decode(word, 0, &cp);
    const uint32_t low = len ? (uint32_t)u_tolower((UChar32)cp) : 0;
    *changed = len > 0 && low != cp;
    if (!*changed)
        return dg_buf_append_span(out, word);
    enum dg_err err = dg_buf_append(out, bytes, dg_utf8_encode(low, bytes));
    return err ? err : dg_buf_append_span(out, dg_span_sub(word, len, word.len - len));
}

static bool has_case(struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, len; (len = dg_utf8_decode(text, at, &cp)) > 0; at += len)
        if (is_cased((UChar32)cp))
            return true;
    return false;
}

enum dg_err dg_casing_restore(struct dg_span text, enum dg_casing casing, const char *language,
                              struct dg_buf *out, bool *restored)
{
    enum dg_err err = convert(text, casing, language, NULL, true, out);
    if (!err)
        *restored = has_case(text) && (casing == DG_CASING_UPPER ||
                                       (casing == DG_CASING_TITLE && strcmp(language, "en") == 0));
    return err;
}

const char *dg_casing_name(enum dg_casing casing)
{
    return casing == DG_CASING_UPPER ? "upper" : casing == DG_CASING_TITLE ? "title" : "plain";
}
