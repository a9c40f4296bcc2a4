/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* ICU proposes an end (Unicode's UAX 29); we look at a few words on both sides and accept it, move
 * it, or go on to the next:
 *
 *   removed      after abbreviations, initials, ordinals ("3. Oktober"), dates ("2024. 3. 15.")
 *                before a small letter ("Yahoo! is", "«Vraiment ?» dit-il")
 *                between a Japanese quotation and the words that quote it (「行く？」と言った)
 *   moved        after closing quotes that follow with a space (French « ... ! »)
 *   added        after an ellipsis character before a capital
 *
 * Each look is bounded (LOOK bytes), so the whole is linear. */
#define _GNU_SOURCE 1 /* memmem */

#include "text/sentence/sentence_finder.h"

#include "base/memory/utf8.h"

#include <string.h>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

enum { LOOK = 96 };

/* ---- Life ------------------------------------------------------------------------------------ */

enum dg_err dg_sentence_finder_init(struct dg_sentence_finder *finder, struct dg_error *error)
{
    *finder = (struct dg_sentence_finder){0};
    UErrorCode status = U_ZERO_ERROR;
    finder->general = ubrk_open(UBRK_SENTENCE, "", NULL, 0, &status);
    finder->greek = ubrk_open(UBRK_SENTENCE, "el", NULL, 0, &status);
    if (U_SUCCESS(status))
        return DG_OK;
    dg_sentence_finder_deinit(finder);
    return dg_error_set(error, DG_ERR_UNSUPPORTED, "ICU has no sentence boundaries: %s",
                        u_errorName(status));
}

void dg_sentence_finder_deinit(struct dg_sentence_finder *finder)
{
    if (finder->general)
        ubrk_close(finder->general);
    if (finder->greek)
        ubrk_close(finder->greek);
    if (finder->utext)
        utext_close(finder->utext);
    *finder = (struct dg_sentence_finder){0};
}

enum dg_err dg_sentence_finder_start(struct dg_sentence_finder *finder, struct dg_span text,
                                     const char *language)
{
    UErrorCode status = U_ZERO_ERROR;
    finder->text = text;
    finder->at = finder->pending = 0;
    finder->abbrev = dg_abbrev_for(language);
    finder->japanese = strcmp(language, "ja") == 0;
    finder->now = strcmp(language, "el") == 0 ? finder->greek : finder->general;
    finder->utext = utext_openUTF8(finder->utext, text.ptr, (int64_t)text.len, &status);
    ubrk_setUText(finder->now, finder->utext, &status);
    return U_SUCCESS(status) ? DG_OK : DG_ERR_NOMEM;
}

/* ---- Looking around -------------------------------------------------------------------------- */

/* The code point before `at` and where it starts; 0 at the start of the text. */
static uint32_t before(struct dg_span text, size_t at, size_t *start)
{
    if (at == 0)
        return 0;
    size_t from = at - 1;
    while (from > 0 && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from--;
    uint32_t cp = 0;
    if (dg_utf8_decode(text, from, &cp) == 0)
        return 0;
    *start = from;
    return cp;
}

static uint32_t after(struct dg_span text, size_t at, size_t *end)
{
    uint32_t cp = 0;
    size_t len = dg_utf8_decode(text, at, &cp);
    *end = at + len;
    return len ? cp : 0;
}

static bool is_space(uint32_t cp)
{
    return cp != 0 && u_isUWhiteSpace((UChar32)cp);
}

static size_t skip_spaces_back(struct dg_span text, size_t at)
{
    size_t start;
    uint32_t cp;
    while ((cp = before(text, at, &start)) && is_space(cp))
        at = start;
    return at;
}

static bool is_closing(uint32_t cp)
{
    int8_t type = u_charType((UChar32)cp);
    return type == U_END_PUNCTUATION || type == U_FINAL_PUNCTUATION;
}

static bool is_word_char(uint32_t cp)
{
    return u_isalnum((UChar32)cp) || u_charType((UChar32)cp) == U_NON_SPACING_MARK;
}

/* The word that ends at `end`, inner full stops, hyphens and apostrophes included ("z.b", "p.-ex").
 */
static struct dg_span word_before(struct dg_span text, size_t end)
{
    size_t at = end, start;
    uint32_t cp;
    while (end - at < LOOK && (cp = before(text, at, &start)) &&
           (is_word_char(cp) || cp == '.' || cp == '-' || cp == '\'' || cp == 0x2019 || cp == 0xA7))
        at = start;
    while (at < end && (text.ptr[at] == '.' || text.ptr[at] == '-' || text.ptr[at] == '\''))
        at++;
    return dg_span_sub(text, at, end - at);
}

/* The word that starts at `at`, without quotes and brackets in front of it. */
static struct dg_span word_after(struct dg_span text, size_t at)
{
    size_t from = at, end;
    uint32_t cp;
    while (from - at < LOOK && (cp = after(text, from, &end)) && !is_word_char(cp))
        from = end;
    size_t to = from;
    while (to - from < LOOK && (cp = after(text, to, &end)) &&
           (is_word_char(cp) || ((cp == '\'' || cp == 0x2019) && end < text.len)))
        to = end;
    return dg_span_sub(text, from, to - from);
}

/* Lower-cases into `out`; a word that does not fit is "". */
static struct dg_span lower(struct dg_span word, char out[LOOK])
{
    size_t len = 0;
    uint32_t cp;
    for (size_t at = 0, n; (n = dg_utf8_decode(word, at, &cp)) > 0; at += n) {
        cp = cp == 0x2019 ? '\'' : (uint32_t)u_tolower((UChar32)cp);
        char bytes[DG_UTF8_MAX_LEN];
        size_t n_out = dg_utf8_encode(cp, bytes);
        if (len + n_out > LOOK)
            return dg_span_make(out, 0);
        memcpy(out + len, bytes, n_out);
        len += n_out;
    }
    return dg_span_make(out, len);
}

static bool is_roman(struct dg_span word)
{
    for (size_t i = 0; i < word.len; i++)
        if (!memchr("IVXLCDM", word.ptr[i], 7))
            return false;
    return word.len > 0;
}

static bool all_digits(struct dg_span word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] < '0' || word.ptr[i] > '9')
            return false;
    return word.len > 0;
}

/* ---- Judging one boundary -------------------------------------------------------------------- */

/* The surroundings of a boundary at `at`. */
struct around {
    struct dg_span text;
    size_t at;     /* the boundary, after the spaces */
    size_t end;    /* the end of the sentence without its spaces */
    uint32_t last; /* the character before `end` */
    uint32_t next; /* the character at `at` */
    const struct dg_abbrev *abbrev;
};

/* "J. Smith", "J.-P. Durand", "S.p.A. Milano": the last part is one capital letter. */
static bool is_initial(struct dg_span word)
{
    size_t from = word.len;
    while (from > 0 && word.ptr[from - 1] != '.' && word.ptr[from - 1] != '-')
        from--;
    uint32_t cp;
    struct dg_span last = dg_span_sub(word, from, word.len);
    size_t len = dg_utf8_decode(last, 0, &cp);
    return len > 0 && len == last.len && u_isupper((UChar32)cp);
}

/* One letter. */
static bool is_letter(struct dg_span word)
{
    uint32_t cp;
    size_t len = dg_utf8_decode(word, 0, &cp);
    return len > 0 && len == word.len && u_isalpha((UChar32)cp);
}

static bool is_starter(const struct around *around)
{
    char room[LOOK];
    return dg_abbrev_has(around->abbrev->starters,
                         lower(word_after(around->text, around->at), room));
}

/* The word before `word` when only a full stop and white space are between the two; else empty. */
static struct dg_span word_before_stop(struct dg_span text, struct dg_span word)
{
    size_t at = (size_t)(word.ptr - text.ptr), end = skip_spaces_back(text, at);
    if (end == at || end == 0 || text.ptr[end - 1] != '.')
        return dg_span_make(NULL, 0);
    return word_before(text, end - 1);
}

/* True when `word` stands right at the boundary and a full stop follows it. */
static bool is_next_and_stopped(const struct around *around, struct dg_span word)
{
    size_t end = (size_t)(word.ptr - around->text.ptr) + word.len;
    return word.ptr == around->text.ptr + around->at && end < around->text.len &&
           around->text.ptr[end] == '.';
}

/* "3. Oktober", and the parts of "2024. 3. 15.". */
static bool number_goes_on(const struct around *around, struct dg_span word)
{
    if (!all_digits(word) || word.len > 4)
        return false;
    struct dg_span next = word_after(around->text, around->at);
    if (all_digits(next) && next.len <= 2 && is_next_and_stopped(around, next))
        return true;
    struct dg_span last = word_before_stop(around->text, word);
    if (word.len <= 2 && all_digits(last) && last.len <= 2)
        return true;
    return around->abbrev->ordinals && word.len <= 2 && !is_starter(around);
}

/* True when the full stop before the boundary belongs to a word, not to the sentence. */
static bool stop_is_not_an_end(const struct around *around)
{
    struct dg_span word = word_before(around->text, around->end - 1);
    char room[LOOK];
    struct dg_span low = lower(word, room);
    if (word.len == 0)
        return false;
    if (number_goes_on(around, word))
        return true;
    const struct dg_abbrev *abbrev = around->abbrev;
    if (dg_abbrev_has(abbrev->never, low))
        return true;
    struct dg_span next = word_after(around->text, around->at);
    bool next_is_number =
        next.len > 0 && (u_isdigit((UChar32)(unsigned char)next.ptr[0]) || is_roman(next));
    if (next_is_number && dg_abbrev_has(abbrev->number, low))
        return true;
    if (is_letter(word) && is_letter(next) && is_next_and_stopped(around, next))
        return true; /* an abbreviation in several parts: "z. B." */
    if (is_letter(word) && is_letter(word_before_stop(around->text, word)))
        return !is_starter(around);
    if (dg_abbrev_has(abbrev->unit, low)) {
        size_t word_at = (size_t)(word.ptr - around->text.ptr);
        struct dg_span number = word_before(around->text, skip_spaces_back(around->text, word_at));
        return number.len == 0 ||
               !(u_isdigit((UChar32)(unsigned char)number.ptr[0]) || is_roman(number));
    }
    if (dg_abbrev_has(abbrev->perhaps, low) || is_initial(word))
        return !is_starter(around);
    return false;
}

/* True when the text after the boundary starts with a small letter ("iPhone" starts like a
 * capital). */
static bool next_is_small(const struct around *around)
{
    struct dg_span word = word_after(around->text, around->at);
    uint32_t first, second;
    size_t gap = word.len ? (size_t)(word.ptr - around->text.ptr) - around->at : 0;
    if (word.len == 0 || gap > 4)
        return false;
    size_t len = dg_utf8_decode(word, 0, &first);
    if (!u_islower((UChar32)first))
        return false;
    return dg_utf8_decode(word, len, &second) == 0 || !u_isupper((UChar32)second);
}

static bool is_hiragana(uint32_t cp)
{
    return cp >= 0x3041 && cp <= 0x309F;
}

static bool accept(const struct dg_sentence_finder *finder, size_t at)
{
    struct around around = {.text = finder->text, .at = at, .abbrev = finder->abbrev};
    size_t unused;
    around.end = skip_spaces_back(finder->text, at);
    around.last = before(finder->text, around.end, &unused);
    around.next = after(finder->text, at, &unused);
    if (around.last == '.' && around.end > 1 && finder->text.ptr[around.end - 2] != '.' &&
        stop_is_not_an_end(&around))
        return false;
    if (next_is_small(&around))
        return false;
    bool quote_ends = around.last == 0x300D || around.last == 0x300F || around.last == 0x201D ||
                      around.last == 0xFF09;
    if (finder->japanese && quote_ends && around.end == at &&
        (is_hiragana(around.next) || around.next == 0x3001))
        return false;
    return true;
}

static size_t skip_closing(struct dg_span text, size_t at)
{
    size_t from = at, end;
    uint32_t cp;
    while (from - at < LOOK && (cp = after(text, from, &end)) && is_closing(cp))
        from = end;
    return from;
}

static size_t skip_spaces(struct dg_span text, size_t at)
{
    size_t from = at, end;
    uint32_t cp;
    while (from - at < LOOK && (cp = after(text, from, &end)) && is_space(cp))
        from = end;
    return from;
}

/* Closing marks that stand alone at `at`: the end is after them ("« Oui ! » Il partit."). A mark
 * that touches a word opens a quotation (German »so«). */
static size_t behind_closing(struct dg_span text, size_t at)
{
    size_t closed = skip_closing(text, at), spaced = skip_spaces(text, closed);
    return closed > at && (spaced > closed || closed == text.len) ? spaced : at;
}

/* The first ellipsis character within [from, to) that a space and a capital follow: there a
 * sentence ends as well. 0 when there is none. */
static size_t ellipsis_end(struct dg_span text, size_t from, size_t to)
{
    static const char ellipsis[] = "\xE2\x80\xA6"; /* the character U+2026 */
    while (from < to) {
        const char *hit = memmem(text.ptr + from, to - from, ellipsis, 3);
        if (!hit)
            return 0;
        size_t closed = skip_closing(text, (size_t)(hit - text.ptr) + 3), end;
        size_t spaced = skip_spaces(text, closed);
        if (spaced > closed && spaced < to && u_isupper((UChar32)after(text, spaced, &end)))
            return spaced;
        from = closed;
    }
    return 0;
}

size_t dg_sentence_finder_next(struct dg_sentence_finder *finder)
{
    size_t len = finder->text.len;
    while (finder->at < len) {
        size_t end = finder->pending;
        finder->pending = 0;
        while (end == 0) {
            int32_t boundary = ubrk_next(finder->now);
            end = boundary == UBRK_DONE || (size_t)boundary >= len ? len : (size_t)boundary;
            if (end == len)
                break;
            end = behind_closing(finder->text, end);
            if (end <= finder->at || (end < len && !accept(finder, end)))
                end = 0;
        }
        size_t sooner = ellipsis_end(finder->text, finder->at, end);
        if (sooner > finder->at && sooner < end) {
            finder->pending = end;
            end = sooner;
        }
        return finder->at = end;
    }
    return 0;
}
