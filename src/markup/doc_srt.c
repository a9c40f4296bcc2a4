/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads SubRip and WebVTT subtitles: cues of a number, a line of times, and text up to a blank
 * line.
 *
 *     12
 *     00:01:02,000 --> 00:01:04,500
 *     - <i>One line</i>
 *     and another.
 *
 * Numbers, times and names of cues are borders, and so are WebVTT's header and its blocks of notes,
 * styles and regions. The lines of a cue are one text: the line end between them is a point, which
 * the translation has too, except before a dash, which begins the line of another speaker. */
#include "markup/doc_int.h"
#include "markup/markup.h"

#include <string.h>

static const struct dg_span none = {NULL, 0};

static bool is_times(struct dg_span line)
{
    const char *arrow = NULL;
    for (size_t i = 0; i + 3 <= line.len && !arrow; i++)
        arrow = memcmp(line.ptr + i, "-->", 3) == 0 ? line.ptr + i : NULL;
    return arrow && line.len > 0 && line.ptr[0] >= '0' && line.ptr[0] <= '9';
}

static bool is_number(struct dg_span line)
{
    size_t n = 0;
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] >= '0' && line.ptr[i] <= '9')
            n++;
        else if (line.ptr[i] != '\r' && line.ptr[i] != ' ')
            return false;
    }
    return n > 0;
}

static bool is_blank(struct dg_span line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t' && line.ptr[i] != '\r')
            return false;
    return true;
}

/* The line at `at` without its end; *next is the following one's start. */
static struct dg_span line_at(struct dg_span text, size_t at, size_t *next)
{
    const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
    *next = newline ? end + 1 : end;
    return dg_span_sub(text, at, end - at);
}

/* Text with tags, such as <i> and {\an8}, but no references. */
static void add_line(struct dg_doc *doc, size_t at, size_t len)
{
    static const struct dg_doc_text how = {.keeps_space = false};
    struct dg_markup markup = {
        .text = dg_span_sub(doc->original, 0, at + len), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    if (len > 2 && doc->original.ptr[at] == '{') {
        const char *brace = memchr(doc->original.ptr + at, '}', len);
        if (brace) {
            markup.at = (size_t)(brace - doc->original.ptr) + 1;
            dg_doc_add(doc, DG_DOC_POINT, at, markup.at - at, none);
        }
    }
    while (!dg_doc_is_over(doc) && dg_markup_next(&markup, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            dg_doc_add_text(doc, token.at, token.len, &how);
        else
            dg_doc_add(doc,
                       token.type == DG_MARKUP_START ? DG_DOC_OPEN
                       : token.type == DG_MARKUP_END ? DG_DOC_CLOSE
                                                     : DG_DOC_POINT,
                       token.at, token.len, none);
    }
}

/* The same in WebVTT: references, classes (<c.loud>), voices (<v Ann>), times (<00:01.000>). */
static void add_vtt_line(struct dg_doc *doc, size_t at, size_t len)
{
    static const struct dg_doc_text how = {.has_entities = true, .entities = DG_ENTITY_HTML};
    const char *text = doc->original.ptr;
    size_t end = at + len;
    while (at < end && !dg_doc_is_over(doc)) {
        const char *open = memchr(text + at, '<', end - at);
        const char *close = open ? memchr(open, '>', (size_t)(text + end - open)) : NULL;
        size_t tag = close ? (size_t)(open - text) : end;
        dg_doc_add_text(doc, at, tag - at, &how);
        if (!close)
            return;
        size_t behind = (size_t)(close - text) + 1;
        char first = text[tag + 1];
        dg_doc_add(doc,
                   (first >= '0' && first <= '9') || first == '>' ? DG_DOC_POINT
                   : first == '/'                                 ? DG_DOC_CLOSE
                                                                  : DG_DOC_OPEN,
                   tag, behind - tag, none);
        at = behind;
    }
}

static bool begins_with_dash(struct dg_span line)
{
    return line.len > 0 &&
           (line.ptr[0] == '-' || (line.len > 2 && memcmp(line.ptr, "\xE2\x80", 2) == 0 &&
                                   (line.ptr[2] == '\x93' || line.ptr[2] == '\x94')));
}

/* The lines of one cue from `at` on; returns where the blank line or the end is. */
static size_t add_cue(struct dg_doc *doc, size_t at)
{
    struct dg_span text = doc->original;
    size_t next;
    struct dg_span line = line_at(text, at, &next);
    while (at < text.len && !is_blank(line) && !dg_doc_is_over(doc)) {
        size_t after, len = line.len;
        struct dg_span follower = line_at(text, next, &after);
        while (len > 0 && (line.ptr[len - 1] == '\r' || line.ptr[len - 1] == ' '))
            len--;
        if (doc->format == DG_DOC_WEBVTT)
            add_vtt_line(doc, at, len);
        else
            add_line(doc, at, len);
        bool is_last = next >= text.len || is_blank(follower);
        bool is_other =
            is_last || begins_with_dash(follower) || (len > 0 && strchr(".!?", line.ptr[len - 1]));
        size_t end = at + len;
        if (next > end && is_other) {
            dg_doc_add(doc, DG_DOC_BORDER, end, next - end, none);
        } else if (next > end) {
            /* The line end is a point, and a space to the model. */
            if (next - 1 > end)
                dg_doc_add(doc, DG_DOC_POINT, end, next - end - 1, none);
            dg_doc_add(doc, DG_DOC_POINT, next - 1, 1, DG_SPAN(" "));
        }
        at = next;
        line = follower;
        next = after;
    }
    return at;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    const char *a = doc->original.ptr + open->at + 1, *b = doc->original.ptr + close->at + 2;
    size_t n = 0;
    while (n + 1 < open->len && n + 2 < close->len && a[n] == b[n] && !strchr(" ./>", a[n]))
        n++;
    return n > 0 && strchr(" ./>", a[n]) && strchr(" />", b[n]);
}

/* The name: of "<c.loud>" and "</c>" c. */
static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    const size_t from = tag->kind == DG_DOC_CLOSE ? 2 : 1;
    const char *name = doc->original.ptr + tag->at;
    size_t end = from;
    while (end < tag->len && !strchr(" ./>", name[end]))
        end++;
    return dg_doc_name_key(dg_span_make(name + from, end - from));
}

void dg_doc_read_subrip(struct dg_doc *doc)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same};
    struct dg_span text = doc->original;
    for (size_t at = 0; at < text.len && !dg_doc_is_over(doc);) {
        size_t next, after;
        struct dg_span line = line_at(text, at, &next);
        struct dg_span follower = line_at(text, next, &after);
        bool is_number_line = is_number(line) && is_times(follower);
        if (is_blank(line) || is_number_line || is_times(line)) {
            dg_doc_add(doc, DG_DOC_BORDER, at, next - at, none);
            at = next;
        } else {
            at = add_cue(doc, at);
        }
    }
    dg_doc_pair(doc, &pairing);
}

/* True for "WEBVTT", "NOTE", "STYLE" or "REGION", which begins a block that ends at a blank line.
 */
static bool begins_block(struct dg_span line)
{
    static const char *const words[] = {"WEBVTT", "NOTE", "STYLE", "REGION"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (dg_span_starts(line, dg_span_cstr(words[i])) &&
            (line.len == len || strchr(" \t\r", line.ptr[len])))
            return true;
    }
    return false;
}

void dg_doc_read_webvtt(struct dg_doc *doc)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same};
    struct dg_span text = doc->original;
    size_t bom = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
    bool in_block = false, in_cue = false;
    if (bom)
        dg_doc_add(doc, DG_DOC_BORDER, 0, bom, none);
    for (size_t at = bom; at < text.len && !dg_doc_is_over(doc);) {
        size_t next, after;
        struct dg_span line = line_at(text, at, &next);
        /* of the cue that follows */
        bool is_name = !in_cue && is_times(line_at(text, next, &after));
        in_block =
            !is_blank(line) && !is_times(line) && !in_cue && (in_block || begins_block(line));
        if (is_blank(line) || is_times(line) || in_block || is_name || !in_cue) {
            in_cue = is_times(line);
            dg_doc_add(doc, DG_DOC_BORDER, at, next - at, none);
            at = next;
        } else {
            at = add_cue(doc, at);
            in_cue = false;
        }
    }
    dg_doc_pair(doc, &pairing);
}
