/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The text is divided step by step:
 *
 *     text       -> paragraphs  a line, or with join_lines the lines up to a blank line or a list
 *                               marker
 *     paragraph  -> cells       between tabs, runs of three or more spaces, control characters, bad
 *                               bytes
 *     cell       -> sentences   sentence_finder.h, without list markers and outer white space
 *     sentence   -> parts       longsplit.h, when it is too long
 *
 * Only sentences are recorded as they are found; the bytes between two of them become a separator,
 * so nothing can be lost. Every byte is read a bounded number of times. */
#include "text/sentence/segment.h"
#include "base/memory/chars.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/language/langtag.h"
#include "text/sentence/abbrev.h"
#include "text/sentence/longsplit.h"
#include "text/sentence/sentence_finder.h"

#include <string.h>

#include <unicode/ubrk.h>
#include <unicode/uchar.h>

enum {
    TEXT_MAX = 1 << 30,   /* bytes of a text */
    MARKER_MAX = 24,      /* bytes of one list marker */
    SPACES_OF_COLUMN = 3, /* this many spaces in a row separate columns */
};

struct dg_segmenter {
    struct dg_sentence_finder finder;
    UBreakIterator *graphemes; /* owned; NULL until a word had to be cut */
    struct dg_segment *items;  /* owned */
    size_t n, cap;
    struct dg_buf joined; /* a paragraph whose line ends became spaces, byte for byte */

    /* The current run. */
    struct dg_span text;
    const struct dg_segment_opts *opts;
    char language[DG_LANGTAG_LANGUAGE];
    const struct dg_abbrev *abbrev;
    size_t covered; /* the items cover the bytes up to here */
    size_t n_sentences, n_cuts;
    uint32_t line;
    size_t line_at; /* lines were counted up to here */
};

enum dg_err dg_segmenter_new(struct dg_segmenter **out, struct dg_error *error)
{
    struct dg_segmenter *segmenter = dg_try_calloc(1, sizeof *segmenter);
    if (!segmenter)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a sentence splitter");
    enum dg_err err = dg_sentence_finder_init(&segmenter->finder, error);
    if (err) {
        dg_free(segmenter);
        return err;
    }
    dg_buf_init(&segmenter->joined, TEXT_MAX);
    *out = segmenter;
    return DG_OK;
}

void dg_segmenter_free(struct dg_segmenter *segmenter)
{
    if (!segmenter)
        return;
    dg_sentence_finder_deinit(&segmenter->finder);
    if (segmenter->graphemes)
        ubrk_close(segmenter->graphemes);
    dg_buf_deinit(&segmenter->joined);
    dg_free(segmenter->items);
    dg_free(segmenter);
}

/* ---- Recording ------------------------------------------------------------------------------- */

static enum dg_err push(struct dg_segmenter *segmenter, struct dg_segment item)
{
    if (DG_GROW(segmenter->items, segmenter->n, segmenter->cap, 64))
        return DG_ERR_NOMEM;
    segmenter->items[segmenter->n++] = item;
    return DG_OK;
}

/* The line end at `at`: 1 or 2 bytes (CR LF), 3 for U+2028 and U+2029; 0 when there is none. */
static size_t line_end(struct dg_span text, size_t at)
{
    if (at >= text.len)
        return 0;
    unsigned char c = (unsigned char)text.ptr[at];
    if (c == '\r')
        return at + 1 < text.len && text.ptr[at + 1] == '\n' ? 2 : 1;
    if (c == '\n' || c == '\v' || c == '\f')
        return 1;
    if (c == 0xC2 && at + 1 < text.len && (unsigned char)text.ptr[at + 1] == 0x85)
        return 2;
    if (c == 0xE2 && at + 2 < text.len && (unsigned char)text.ptr[at + 1] == 0x80 &&
        ((unsigned char)text.ptr[at + 2] == 0xA8 || (unsigned char)text.ptr[at + 2] == 0xA9))
        return 3;
    return 0;
}

/* Moves the line counter to `at`. */
static void count_lines(struct dg_segmenter *segmenter, size_t at)
{
    while (segmenter->line_at < at) {
        size_t len = line_end(segmenter->text, segmenter->line_at);
        segmenter->line += len > 0;
        segmenter->line_at += len ? len : 1;
    }
}

/* Everything up to `at` that no segment covers becomes a separator. */
static enum dg_err separate(struct dg_segmenter *segmenter, size_t at)
{
    if (segmenter->covered == at)
        return DG_OK;
    count_lines(segmenter, segmenter->covered);
    struct dg_segment item = {.at = segmenter->covered,
                              .len = at - segmenter->covered,
                              .kind = DG_SEGMENT_SEPARATOR,
                              .line = segmenter->line};
    segmenter->covered = at;
    return push(segmenter, item);
}

static enum dg_err record(struct dg_segmenter *segmenter, size_t at, size_t len,
                          enum dg_segment_cut cut, bool joined)
{
    enum dg_err err = separate(segmenter, at);
    if (err)
        return err;
    count_lines(segmenter, at);
    struct dg_segment item = {.at = at,
                              .len = len,
                              .kind = DG_SEGMENT_SENTENCE,
                              .cut = (uint8_t)cut,
                              .joined = joined,
                              .line = segmenter->line};
    segmenter->covered = at + len;
    segmenter->n_sentences++;
    segmenter->n_cuts += cut != DG_SEGMENT_CUT_NONE;
    return push(segmenter, item);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static bool is_space(uint32_t cp)
{
    return u_isUWhiteSpace((UChar32)cp) || cp == 0xFEFF || cp == 0x200B;
}

static bool has_letter(struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, n; (n = dg_utf8_decode(text, at, &cp)) > 0; at += n)
        if (cp < 0x80 ? (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z' : u_isalpha((UChar32)cp))
            return true;
    return false;
}

static struct dg_span trim_end(struct dg_span text)
{
    while (text.len > 0) {
        size_t start = text.len - 1;
        uint32_t cp;
        while (start > 0 && ((unsigned char)text.ptr[start] & 0xC0) == 0x80)
            start--;
        if (dg_utf8_decode(text, start, &cp) == 0 || !is_space(cp))
            break;
        text.len = start;
    }
    return text;
}

static struct dg_span trim_start(struct dg_span text)
{
    uint32_t cp;
    for (size_t n; (n = dg_utf8_decode(text, 0, &cp)) > 0 && is_space(cp);)
        text = dg_span_sub(text, n, text.len);
    return text;
}

static bool has_line_end(struct dg_span text)
{
    for (size_t at = 0; at < text.len; at++)
        if (line_end(text, at))
            return true;
    return false;
}

/* Records `sentence`, a part of the original, whole or in parts. `shown` is the same stretch with
 * line ends made spaces. */
static enum dg_err add_sentence(struct dg_segmenter *segmenter, struct dg_span sentence,
                                struct dg_span shown)
{
    struct dg_span trimmed = trim_end(trim_start(shown));
    if (!has_letter(trimmed))
        return DG_OK;
    size_t at = (size_t)(sentence.ptr - segmenter->text.ptr) + (size_t)(trimmed.ptr - shown.ptr);
    const struct dg_segment_opts *opts = segmenter->opts;
    size_t tokens = opts->tokens_max ? dg_longsplit_measure(opts, trimmed) : 0;
    if (tokens <= opts->tokens_max) {
        bool joined = has_line_end(dg_span_sub(segmenter->text, at, trimmed.len));
        return record(segmenter, at, trimmed.len, DG_SEGMENT_CUT_NONE, joined);
    }
    struct dg_longsplit split = {.opts = opts, .graphemes = &segmenter->graphemes};
    struct dg_span part;
    enum dg_segment_cut cut;
    dg_longsplit_start(&split, trimmed, tokens);
    while (dg_longsplit_next(&split, &part, &cut)) {
        if (!has_letter(part))
            continue;
        size_t part_at = at + (size_t)(part.ptr - trimmed.ptr);
        bool joined = has_line_end(dg_span_sub(segmenter->text, part_at, part.len));
        enum dg_err err = record(segmenter, part_at, part.len, cut, joined);
        if (err)
            return err;
    }
    return DG_OK;
}

/* `cell` is a part of the original, `shown` the same with line ends made spaces. */
static enum dg_err add_cell(struct dg_segmenter *segmenter, struct dg_span cell,
                            struct dg_span shown)
{
    if (!has_letter(shown))
        return DG_OK;
    if (segmenter->opts->keep_lines_whole)
        return add_sentence(segmenter, cell, shown);
    enum dg_err err = dg_sentence_finder_start(&segmenter->finder, shown, segmenter->language);
    size_t at = 0, end;
    while (!err && (end = dg_sentence_finder_next(&segmenter->finder)) > 0) {
        err = add_sentence(segmenter, dg_span_sub(cell, at, end - at),
                           dg_span_sub(shown, at, end - at));
        at = end;
    }
    return err;
}

/* ---- List markers ---------------------------------------------------------------------------- */

static bool is_bullet(uint32_t cp)
{
    return cp == '-' || cp == '*' || cp == '+' || cp == 0x2022 || cp == 0x2023 || cp == 0x2043 ||
           cp == 0x25E6 || cp == 0x25AA || cp == 0x25CF || cp == 0x25CB || cp == 0x25A0 ||
           cp == 0x00B7 || cp == 0x2013 || cp == 0x2014 || cp == 0x2192 || cp == 0x203B ||
           cp == 0x30FB;
}

static bool is_small_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

/* "1." "12)" "(3)" "1.2.3" "1.2." in the bytes of one word. */
static bool is_number_marker(struct dg_span word)
{
    bool open = word.len > 0 && word.ptr[0] == '(';
    size_t at = open, digits = 0, groups = 0;
    for (; at < word.len; at++) {
        if (dg_chars_is_digit(word.ptr[at])) {
            if (++digits > 3)
                return false;
        } else if (word.ptr[at] == '.' && digits > 0) {
            groups++;
            digits = 0;
        } else {
            break;
        }
    }
    if (at == word.len)
        return !open && groups > 0 && (digits > 0 ? groups > 1 : true);
    return word.ptr[at] == ')' && at + 1 == word.len && digits > 0;
}

/* "a)" "(b)" "iv)" "A)". */
static bool is_letter_marker(struct dg_span word)
{
    size_t at = word.len > 0 && word.ptr[0] == '(', start = at;
    if (word.len < 2 || word.ptr[word.len - 1] != ')')
        return false;
    size_t n = word.len - 1 - start;
    if (n == 1)
        return is_small_letter(word.ptr[start]) ||
               (word.ptr[start] >= 'A' && word.ptr[start] <= 'Z');
    for (; at < word.len - 1; at++)
        if (!memchr("ivxIVX", word.ptr[at], 6))
            return false;
    return n >= 1 && n <= 5;
}

/* "#" to "######", ">" and ">>", "[ ]", "[x]". */
static bool is_markup_marker(struct dg_span word)
{
    if (dg_span_eq(word, DG_SPAN("[x]")) || dg_span_eq(word, DG_SPAN("[X]")))
        return true;
    char c = word.ptr[0];
    if ((c != '#' && c != '>') || word.len > 6)
        return false;
    for (size_t i = 1; i < word.len; i++)
        if (word.ptr[i] != c)
            return false;
    return true;
}

/* The bytes of one list marker and the space after it at the start of `text`; 0 when there is
 * none. */
static size_t marker_len(const struct dg_abbrev *abbrev, struct dg_span text)
{
    size_t len = 0;
    uint32_t cp;
    if (dg_span_starts(text, DG_SPAN("[ ] ")))
        return 4;
    while (len < text.len && len <= MARKER_MAX && text.ptr[len] != ' ' && text.ptr[len] != '\t')
        len++;
    if (len == 0 || len > MARKER_MAX || len == text.len)
        return 0;
    struct dg_span word = dg_span_sub(text, 0, len);
    size_t n = dg_utf8_decode(word, 0, &cp);
    if (dg_chars_is_digit(word.ptr[0]) &&
        dg_abbrev_is_ordinal(abbrev, dg_span_sub(text, len + 1, text.len)))
        return 0;
    bool bullet = n > 0 && n == word.len && is_bullet(cp);
    if (!bullet && !is_number_marker(word) && !is_letter_marker(word) && !is_markup_marker(word))
        return 0;
    return len + 1;
}

/* Bytes of white space and markers at the start of a line. */
static size_t lead_len(const struct dg_abbrev *abbrev, struct dg_span text)
{
    size_t at = 0, n;
    do {
        struct dg_span rest = dg_span_sub(text, at, text.len);
        n = rest.len - trim_start(rest).len;
        if (n == 0)
            n = marker_len(abbrev, rest);
        at += n;
    } while (n > 0);
    return at;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* The length of what separates cells at `at`: a tab, control character or bad byte, or the run
 * of spaces between columns, unless it stands for a line end of `paragraph`. 0 inside a cell.
 * `*n` is how far to go on inside. */
static size_t cell_gap(struct dg_span paragraph, struct dg_span text, size_t at, bool keep_spaces,
                       size_t *n)
{
    unsigned char c = (unsigned char)text.ptr[at];
    uint32_t cp = c;
    *n = 1;
    if (c > ' ' && c < 0x7F)
        return 0;
    if (c < ' ' || c == 0x7F)
        return 1;
    if (c >= 0x80 && (*n = dg_utf8_decode(text, at, &cp)) == 0)
        return 1;
    if (!is_space(cp))
        return 0;
    size_t end = at, count = 0, plain = 0, len;
    while ((len = dg_utf8_decode(text, end, &cp)) > 0 && is_space(cp) && cp != '\t') {
        end += len;
        count++;
        plain += cp == ' ';
    }
    *n = end - at;
    const bool is_wide = count >= SPACES_OF_COLUMN || (keep_spaces && plain == 2);
    return is_wide && !has_line_end(dg_span_sub(paragraph, at, *n)) ? *n : 0;
}

/* `paragraph` is a part of the original, `shown` the same with line ends made spaces. */
static enum dg_err add_paragraph(struct dg_segmenter *segmenter, struct dg_span paragraph,
                                 struct dg_span shown)
{
    size_t start = lead_len(segmenter->abbrev, shown), at = start;
    while (at <= shown.len) {
        size_t n = 0;
        const bool keep_spaces = segmenter->opts->keep_spaces;
        size_t gap = at < shown.len ? cell_gap(paragraph, shown, at, keep_spaces, &n) : 1;
        if (gap == 0) {
            at += n;
            continue;
        }
        enum dg_err err = add_cell(segmenter, dg_span_sub(paragraph, start, at - start),
                                   dg_span_sub(shown, start, at - start));
        if (err)
            return err;
        start = at += gap;
    }
    return DG_OK;
}

/* ---- Paragraphs ------------------------------------------------------------------------------ */

static size_t find_line_end(struct dg_span text, size_t at)
{
    while (at < text.len && !line_end(text, at))
        at++;
    return at;
}

static bool is_blank(struct dg_span line)
{
    return trim_start(line).len == 0;
}

/* True when a line continues the paragraph before it. */
static bool goes_on(const struct dg_abbrev *abbrev, struct dg_span line)
{
    struct dg_span rest = trim_start(line);
    return rest.len > 0 && marker_len(abbrev, rest) == 0 && has_letter(rest);
}

/* The end of the paragraph whose first line ends at `end`. */
static size_t paragraph_end(const struct dg_abbrev *abbrev, struct dg_span text, size_t start,
                            size_t end)
{
    if (is_blank(dg_span_sub(text, start, end - start)))
        return end;
    for (;;) {
        size_t next = end + line_end(text, end);
        if (next == end || next >= text.len)
            return end;
        size_t next_end = find_line_end(text, next);
        if (!goes_on(abbrev, dg_span_sub(text, next, next_end - next)))
            return end;
        end = next_end;
    }
}

/* A copy in which each line end is spaces, as many bytes as before. */
static enum dg_err show_joined(struct dg_segmenter *segmenter, struct dg_span paragraph,
                               struct dg_span *shown)
{
    dg_buf_clear(&segmenter->joined);
    enum dg_err err = dg_buf_append_span(&segmenter->joined, paragraph);
    if (err)
        return err;
    for (size_t at = 0; at < paragraph.len;) {
        size_t len = line_end(paragraph, at);
        memset(segmenter->joined.ptr + at, ' ', len);
        at += len ? len : 1;
    }
    *shown = dg_buf_span(&segmenter->joined);
    return DG_OK;
}

static enum dg_err add_text(struct dg_segmenter *segmenter)
{
    struct dg_span text = segmenter->text;
    for (size_t at = 0; at < text.len;) {
        size_t end = find_line_end(text, at), first_end = end;
        if (segmenter->opts->join_lines)
            end = paragraph_end(segmenter->abbrev, text, at, end);
        struct dg_span paragraph = dg_span_sub(text, at, end - at), shown = paragraph;
        enum dg_err err = end > first_end ? show_joined(segmenter, paragraph, &shown) : DG_OK;
        if (!err)
            err = add_paragraph(segmenter, paragraph, shown);
        if (err)
            return err;
        at = end + line_end(text, end);
    }
    return separate(segmenter, text.len);
}

enum dg_err dg_segmenter_run(struct dg_segmenter *segmenter, struct dg_span text,
                             const struct dg_segment_opts *opts, struct dg_segments *segments,
                             struct dg_error *error)
{
    if (text.len > TEXT_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "a text of %zu bytes; at most %d can be split",
                            text.len, TEXT_MAX);
    segmenter->text = text;
    segmenter->opts = opts;
    segmenter->n = segmenter->covered = segmenter->n_sentences = segmenter->n_cuts = 0;
    segmenter->line = 0;
    segmenter->line_at = 0;
    if (!opts->language || dg_langtag_language(dg_span_cstr(opts->language), segmenter->language))
        segmenter->language[0] = '\0';
    segmenter->abbrev = dg_abbrev_for(segmenter->language);
    enum dg_err err = add_text(segmenter);
    if (err)
        return dg_error_set(error, err, "splitting a text of %zu bytes: %s", text.len,
                            dg_err_sentence(err));
    *segments = (struct dg_segments){.items = segmenter->items,
                                     .n = segmenter->n,
                                     .n_sentences = segmenter->n_sentences,
                                     .n_cuts = segmenter->n_cuts};
    return DG_OK;
}

/* ---- Flattening ------------------------------------------------------------------------------ */

static bool is_dense(uint32_t cp)
{
    return (cp >= 0x2E80 && cp <= 0x9FFF) || (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0xFF00 && cp <= 0xFFEF) || (cp >= 0x20000 && cp <= 0x3FFFF);
}

enum dg_err dg_segment_flatten(struct dg_span text, struct dg_buf *out)
{
    uint32_t cp, last = 0, next;
    for (size_t at = 0; at < text.len;) {
        size_t end = at, n;
        bool breaks = false;
        while ((n = dg_utf8_decode(text, end, &next)) > 0 && is_space(next)) {
            breaks |= line_end(text, end) > 0;
            end += n;
        }
        enum dg_err err = DG_OK;
        if (end > at && breaks) {
            if (!(n > 0 && is_dense(last) && is_dense(next)))
                err = dg_buf_append_byte(out, ' ');
        } else {
            n = end > at ? end - at : dg_utf8_decode(text, at, &cp);
            end = at + (n ? n : 1);
            err = dg_buf_append_span(out, dg_span_sub(text, at, end - at));
            last = n ? cp : 0;
        }
        if (err)
            return err;
        at = end;
    }
    return DG_OK;
}
