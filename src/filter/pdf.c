/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A PDF says where characters are, not which of them form a paragraph. pdftotext (poppler) gives
 * lines in blocks, in reading order, with their positions; here they become paragraphs and
 * headings:
 *
 *     lines of a block are one paragraph, until one is indented, or one ends early
 *     a hyphen at a line's end is dropped if the next line begins with a small letter
 *     a paragraph continues over columns and pages if it has no end and a small letter follows
 *     text that repeats at the top or bottom of several pages, and page numbers, are dropped
 *     larger lines are headings
 *
 * The text is the document: HTML of <h1>, <h2> and <p>, from which the answer is made. */
#define _GNU_SOURCE 1 /* memmem */
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter_int.h"
#include "filter/subprocess.h"
#include "filter/pdf.h"
#include "filter/rendition.h"
#include "filter/bidi.h"
#include "markup/markup.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECONDS = 30,
    COMPLAINTS_MAX = 2048,
    LINES_MAX = 4 << 20,
    MARGIN_PERCENT = 9, /* share of a page's height at its top and bottom that counts as margin */
    SIZES = 400,        /* sizes of letters that are counted, in quarters of a point */
};

static const size_t memory_max = (size_t)1 << 30;
static const char program[] = "pdftotext";

struct line {
    double left, top, right, bottom;
    size_t text, len; /* where its text lies in reader->texts */
    uint32_t page, block;
    bool is_dropped;
    bool is_rtl; /* written from right to left */
};

struct page {
    double height;
    size_t first, end; /* indices of lines */
};

struct reader {
    struct dg_buf texts;
    struct line *lines; /* owned; [n] */
    size_t n, cap;
    struct page *pages; /* owned; [n_pages] */
    size_t n_pages, pages_cap;
    uint32_t block;
    double word_right; /* where the last word of the line ends */
    double body;       /* the height of most lines */
    enum dg_err err;
};

/* ---- The layout ------------------------------------------------------------------------------ */

static double number(struct dg_span tag, const char *name)
{
    struct dg_span value;
    char text[32];
    if (!dg_markup_attribute(tag, name, &value) || value.len == 0 || value.len >= sizeof text)
        return 0;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    const double x = strtod(text, NULL);
    return isfinite(x) ? x : 0;
}

static void add_page(struct reader *reader, struct dg_span tag)
{
    if (!reader->err)
        reader->err = DG_GROW(reader->pages, reader->n_pages, reader->pages_cap, 64);
    if (!reader->err)
        reader->pages[reader->n_pages++] =
            (struct page){.height = number(tag, "height"), .first = reader->n, .end = reader->n};
}

static void add_line(struct reader *reader, struct dg_span tag)
{
    if (reader->n == LINES_MAX || reader->n_pages == 0) {
        reader->err = DG_ERR_LIMIT;
        return;
    }
    if (!reader->err)
        reader->err = DG_GROW(reader->lines, reader->n, reader->cap, 64);
    if (reader->err)
        return;
    reader->lines[reader->n++] = (struct line){.left = number(tag, "xMin"),
                                               .top = number(tag, "yMin"),
                                               .right = number(tag, "xMax"),
                                               .bottom = number(tag, "yMax"),
                                               .text = reader->texts.len,
                                               .page = (uint32_t)reader->n_pages - 1,
                                               .block = reader->block};
    reader->pages[reader->n_pages - 1].end = reader->n;
}

/* A word of the last line. Where the font changes within a word, pdftotext gives two words without
 * a gap. */
static void add_word(struct reader *reader, struct dg_span tag, struct dg_span html)
{
    if (reader->n == 0)
        return;
    struct line *line = &reader->lines[reader->n - 1];
    const double em = line->bottom - line->top, gap = number(tag, "xMin") - reader->word_right;
    const bool touches = gap > -0.3 * em && gap < 0.08 * em;
    if (reader->texts.len > line->text && !touches)
        reader->err = dg_buf_append_byte(&reader->texts, ' ');
    reader->word_right = number(tag, "xMax");
    if (!reader->err)
        reader->err = dg_block_unescape(html, &reader->texts);
    line->len = reader->texts.len - line->text;
}

static void read_layout(struct reader *reader, struct dg_span html)
{
    struct dg_markup markup = {.text = html, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct dg_span word = {NULL, 0};
    while (!reader->err && dg_markup_next(&markup, &token)) {
        const struct dg_span bytes = dg_span_sub(html, token.at, token.len);
        const bool is_start = token.type == DG_MARKUP_START;
        if (token.type == DG_MARKUP_TEXT && word.len)
            add_word(reader, word, bytes);
        else if (is_start && dg_span_eq(token.name, DG_SPAN("page")))
            add_page(reader, bytes);
        else if (is_start && dg_span_eq(token.name, DG_SPAN("block")))
            reader->block++;
        else if (is_start && dg_span_eq(token.name, DG_SPAN("line")))
            add_line(reader, bytes);
        if (token.type != DG_MARKUP_TEXT)
            word = dg_span_sub(bytes, 0,
                               is_start && dg_span_eq(token.name, DG_SPAN("word")) ? bytes.len : 0);
    }
}

/* The words of a line come from left to right, and so do their letters. */
static void reorder_lines(struct reader *reader)
{
    for (size_t i = 0; i < reader->n && !reader->err; i++) {
        struct line *line = &reader->lines[i];
        if (line->len)
            reader->err = dg_bidi_reorder(reader->texts.ptr + line->text, line->len, &line->is_rtl);
    }
}

/* ---- What does not belong to the text -------------------------------------------------------- */

static struct dg_span text_of(const struct reader *reader, const struct line *line)
{
    return dg_span_sub(dg_buf_span(&reader->texts), line->text, line->len);
}

static bool is_in_margin(const struct reader *reader, const struct line *line)
{
    const double height = reader->pages[line->page].height;
    return line->bottom * 100 < height * MARGIN_PERCENT ||
           line->top * 100 > height * (100 - MARGIN_PERCENT);
}

/* "12", "- 12 -", "Page 3 of 9", "xii": at most one word among figures and signs. */
static bool is_page_number(struct dg_span text)
{
    size_t n_words = 0;
    bool has_digits = false, is_roman = true, in_word = false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        const bool is_letter = (unsigned char)c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        has_digits |= dg_chars_is_digit(c);
        is_roman &= strchr("ivxlc", c) != NULL && c;
        n_words += is_letter && !in_word;
        in_word = is_letter;
    }
    return text.len > 0 && text.len < 40 &&
           ((has_digits && n_words <= 2 && text.len < 24) || (is_roman && text.len < 8));
}

/* A line's text without its figures, as a number. */
static uint64_t key_of(struct dg_span text)
{
    uint64_t key = 14695981039346656037u; /* the hash FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        if (!dg_chars_is_digit(text.ptr[i]))
            key = (key ^ (uint8_t)text.ptr[i]) * 1099511628211u;
    return key;
}

struct seen {
    uint64_t key;
    size_t line;
};

static int by_key(const void *a, const void *b)
{
    const struct seen *one = a, *other = b;
    if (one->key != other->key)
        return one->key < other->key ? -1 : 1;
    return one->line < other->line ? -1 : one->line > other->line;
}

/* Drops text that repeats in the margins of at least three pages, and page numbers. */
static void drop_margins(struct reader *reader)
{
    size_t n = 0;
    struct seen *seen = dg_try_calloc(reader->n + 1, sizeof *seen);
    if (!seen) {
        reader->err = DG_ERR_NOMEM;
        return;
    }
    for (size_t i = 0; i < reader->n; i++) {
        struct line *line = &reader->lines[i];
        if (!is_in_margin(reader, line))
            continue;
        line->is_dropped = is_page_number(text_of(reader, line));
        seen[n++] = (struct seen){.key = key_of(text_of(reader, line)), .line = i};
    }
    qsort(seen, n, sizeof *seen, by_key);
    for (size_t i = 0, end; i < n; i = end) {
        size_t n_pages = 1;
        for (end = i + 1; end < n && seen[end].key == seen[i].key; end++)
            n_pages += reader->lines[seen[end].line].page != reader->lines[seen[end - 1].line].page;
        for (size_t k = i; k < end && n_pages >= 3; k++)
            reader->lines[seen[k].line].is_dropped = true;
    }
    dg_free(seen);
}

/* ---- Paragraphs ------------------------------------------------------------------------------ */

static double height_of(const struct line *line)
{
    return line->bottom - line->top;
}

/* The height that most of the text has. */
static void find_body(struct reader *reader)
{
    size_t weights[SIZES] = {0}, best = 0;
    for (size_t i = 0; i < reader->n; i++) {
        const double quarter = 4 * height_of(&reader->lines[i]);
        if (quarter > 0 && quarter < SIZES && !reader->lines[i].is_dropped)
            weights[(size_t)quarter] += reader->lines[i].len;
    }
    for (size_t i = 1; i < SIZES; i++)
        best = weights[i] > weights[best] ? i : best;
    reader->body = (double)best / 4;
}

/* 0: ordinary text; 1 and 2: headings. */
static int level_of(const struct reader *reader, const struct line *line)
{
    const double height = height_of(line);
    return reader->body <= 0              ? 0
           : height > 1.6 * reader->body  ? 1
           : height > 1.18 * reader->body ? 2
                                          : 0;
}

static bool ends_sentence(struct dg_span text)
{
    static const char *const closers[] = {"\"",           "'",        ")",
                                          "\xE2\x80\x9D", "\xC2\xBB", "\xE2\x80\x99"};
    for (size_t i = 0; i < sizeof closers / sizeof *closers; i++)
        if (dg_span_ends(text, dg_span_cstr(closers[i])))
            text.len -= strlen(closers[i]);
    return text.len == 0 || strchr(".!?:;", text.ptr[text.len - 1]) ||
           dg_span_ends(text, DG_SPAN("\xE2\x80\xA6")) ||
           dg_span_ends(text, DG_SPAN("\xE3\x80\x82"));
}

/* Whether a text begins with a small letter of Latin, Greek or Cyrillic. */
static bool begins_small(struct dg_span text)
{
    uint32_t cp = 0;
    if (dg_utf8_decode(text, 0, &cp) == 0)
        return false;
    return (cp >= 'a' && cp <= 'z') || (cp >= 0xDF && cp <= 0xFF && cp != 0xF7) ||
           (cp >= 0x100 && cp < 0x180 && cp % 2 == 1) || (cp >= 0x3B1 && cp <= 0x3C9) ||
           (cp >= 0x430 && cp <= 0x45F);
}

static bool begins_item(struct dg_span text)
{
    static const char *const bullets[] = {"\xE2\x80\xA2", "\xE2\x97\xA6", "\xE2\x96\xAA",
                                          "\xC2\xB7 ",    "- ",           "\xE2\x80\x93 ",
                                          "* ",           "\xEF\x82\xB7"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof bullets / sizeof *bullets; i++)
        if (dg_span_starts(text, dg_span_cstr(bullets[i])))
            return true;
    while (n < text.len && n < 4 && dg_chars_is_digit(text.ptr[n]))
        n++;
    return n > 0 && n + 1 < text.len && (text.ptr[n] == '.' || text.ptr[n] == ')') &&
           text.ptr[n + 1] == ' ';
}

/* The left and right border of the block that begins with a line. */
static void find_borders(const struct reader *reader, size_t i, double *left, double *right)
{
    const uint32_t block = reader->lines[i].block;
    *left = reader->lines[i].left;
    *right = reader->lines[i].right;
    for (i++; i < reader->n && reader->lines[i].block == block; i++) {
        *left = fmin(*left, reader->lines[i].left);
        *right = fmax(*right, reader->lines[i].right);
    }
}

/* Whether `next` begins another paragraph than `line`, which is the one before it. */
static bool is_break(const struct reader *reader, const struct line *line, const struct line *next,
                     double left, double right)
{
    const struct dg_span before = text_of(reader, line), after = text_of(reader, next);
    const double em = height_of(next);
    if (level_of(reader, line) != level_of(reader, next) || begins_item(after))
        return true;
    if (line->block == next->block) {
        const bool is_indented =
            next->is_rtl ? next->right < right - 0.8 * em && line->right >= right - 0.4 * em
                         : next->left > left + 0.8 * em && line->left <= left + 0.4 * em;
        const double rest = line->is_rtl ? line->left - left : right - line->right;
        const bool is_early = rest > 0.2 * (right - left) && ends_sentence(before);
        const bool is_apart = next->top - line->bottom > 0.9 * em;
        return level_of(reader, line) == 0 && (is_indented || is_early || is_apart);
    }
    return level_of(reader, line) > 0 || ends_sentence(before) || !begins_small(after);
}

/* Appends a line to a paragraph; drops the hyphen of a divided word. */
static enum dg_err append_line(struct dg_buf *paragraph, struct dg_span text)
{
    static const char *const hyphens[] = {"-", "\xC2\xAD", "\xE2\x80\x90"};
    const struct dg_span so_far = dg_buf_span(paragraph);
    for (size_t i = 0; i < 3 && begins_small(text); i++) {
        const size_t len = strlen(hyphens[i]);
        if (dg_span_ends(so_far, dg_span_cstr(hyphens[i])) && so_far.len > len &&
            ((unsigned char)so_far.ptr[so_far.len - len - 1] >= 0x80 ||
             ((so_far.ptr[so_far.len - len - 1] | 0x20) >= 'a' &&
              (so_far.ptr[so_far.len - len - 1] | 0x20) <= 'z'))) {
            dg_buf_truncate(paragraph, so_far.len - len);
            return dg_buf_append_span(paragraph, text);
        }
    }
    const enum dg_err err = so_far.len ? dg_buf_append_byte(paragraph, ' ') : DG_OK;
    return err ? err : dg_buf_append_span(paragraph, text);
}

static enum dg_err put_paragraph(struct dg_buf *paragraph, int level, struct dg_buf *out)
{
    static const char *const tags[] = {"p", "h1", "h2"};
    enum dg_err err = paragraph->len ? dg_buf_printf(out, "<%s>", tags[level]) : DG_OK;
    for (size_t i = 0; i < paragraph->len && !err; i++) {
        const char c = paragraph->ptr[i];
        err = c == '&'   ? dg_buf_append_cstr(out, "&amp;")
              : c == '<' ? dg_buf_append_cstr(out, "&lt;")
              : c == '>' ? dg_buf_append_cstr(out, "&gt;")
                         : dg_buf_append_byte(out, c);
    }
    if (!err && paragraph->len)
        err = dg_buf_printf(out, "</%s>\n", tags[level]);
    dg_buf_clear(paragraph);
    return err;
}

static enum dg_err put_all(struct reader *reader, struct dg_buf *out)
{
    struct dg_buf paragraph;
    const struct line *line = NULL; /* the last line of the paragraph */
    double left = 0, right = 0;
    uint32_t block = UINT32_MAX;
    enum dg_err err = reader->err;
    dg_buf_init(&paragraph, out->max);
    for (size_t i = 0; i < reader->n && !err; i++) {
        const struct line *next = &reader->lines[i];
        if (next->is_dropped || next->len == 0)
            continue;
        if (line && is_break(reader, line, next, left, right))
            err = put_paragraph(&paragraph, level_of(reader, line), out);
        if (next->block != block) {
            find_borders(reader, i, &left, &right);
            block = next->block;
        }
        if (!err)
            err = append_line(&paragraph, text_of(reader, next));
        line = next;
    }
    if (!err && line)
        err = put_paragraph(&paragraph, level_of(reader, line), out);
    dg_buf_deinit(&paragraph);
    return err;
}

enum dg_err dg_pdf_read(struct dg_span layout, struct dg_buf *html)
{
    struct reader reader = {.n = 0};
    if (!dg_utf8_valid(layout, NULL))
        return DG_ERR_UTF8;
    dg_buf_init(&reader.texts, layout.len + 1);
    read_layout(&reader, layout);
    reorder_lines(&reader);
    if (!reader.err)
        drop_margins(&reader);
    if (!reader.err)
        find_body(&reader);
    const enum dg_err err = put_all(&reader, html);
    dg_buf_deinit(&reader.texts);
    dg_free(reader.lines);
    dg_free(reader.pages);
    return err;
}

/* ---- The program ----------------------------------------------------------------------------- */

static enum dg_err explain(struct dg_span complaints, int status, struct dg_error *error)
{
    if (dg_chars_holds(complaints, "assword") || dg_chars_holds(complaints, "ncrypt"))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "the PDF is encrypted: save it without a password");
    if (status == 3)
        return dg_error_set(error, DG_ERR_DENIED,
                            "the PDF's permissions forbid extracting its text");
    const char *newline = complaints.len ? memchr(complaints.ptr, '\n', complaints.len) : NULL;
    const struct dg_span first =
        newline ? dg_span_sub(complaints, 0, (size_t)(newline - complaints.ptr)) : complaints;
    return dg_error_set(
        error, DG_ERR_FORMAT, "the PDF cannot be read: %.*s",
        DG_SPAN_FMT(dg_utf8_clip(first.len ? first : DG_SPAN("it is damaged"), 200)));
}

static enum dg_err run(const struct dg_filter *filter, struct dg_buf *layout,
                       struct dg_error *error)
{
    char path[PATH_MAX];
    const char *const argv[] = {path, "-bbox-layout", "-enc", "UTF-8", "-", "-", NULL};
    const struct dg_subprocess helper = {.argv = argv,
                                         .in = filter->raw,
                                         .seconds = SECONDS,
                                         .memory_max = memory_max,
                                         .stop = filter->stop};
    struct dg_buf complaints;
    int status = 0;
    if (!dg_subprocess_find(program, path, sizeof path))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "PDF needs the program pdftotext, which is not installed here (Debian: "
                            "the package poppler-utils)");
    dg_buf_init(&complaints, COMPLAINTS_MAX);
    enum dg_err err = dg_subprocess_run(&helper, layout, &complaints, &status, error);
    if (!err && status != 0)
        err = explain(dg_buf_span(&complaints), status, error);
    dg_buf_deinit(&complaints);
    return err;
}

enum dg_err dg_filter_text_pdf(const struct dg_filter *filter, struct dg_buf *text,
                               struct dg_error *error)
{
    struct dg_buf layout;
    const size_t before = text->len;
    dg_buf_init(&layout, 2 * filter->blocks.html.max); /* a word's place is longer than the word */
    enum dg_err err = run(filter, &layout, error);
    if (!err)
        err = dg_pdf_read(dg_buf_span(&layout), text);
    if (!err && text->len == before)
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "the PDF has no text: it was scanned, or is made of pictures; a program "
                           "that recognises text (such as ocrmypdf) can add it");
    dg_buf_deinit(&layout);
    return err;
}

enum dg_err dg_filter_open_pdf(struct dg_filter *filter, const struct dg_filter_opts *opts,
                               struct dg_error *error)
{
    const struct dg_span head = dg_span_sub(filter->raw, 0, 1024);
    if (!dg_rendition_of(opts->output, &filter->output))
        return dg_error_set(error, DG_ERR_INVALID,
                            "a PDF cannot be written as \"%.*s\": expected docx, odt, html or txt",
                            DG_SPAN_FMT(opts->output));
    if (!dg_chars_holds(head, "%PDF-"))
        return dg_error_set(error, DG_ERR_FORMAT, "the file is not a PDF");
    return DG_OK;
}

enum dg_err dg_filter_write_pdf(const struct dg_filter *filter, struct dg_span target,
                                struct dg_buf *out, struct dg_error *error)
{
    return dg_rendition_write(filter->output, target, filter->language, out, error);
}
