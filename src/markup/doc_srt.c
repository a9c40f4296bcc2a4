/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lists the cues of SubRip, WebVTT and SBV: a number or a name, a line of times, and text up to a
 * blank line.
 *
 *     12
 *     00:01:02,000 --> 00:01:04,500
 *     - <i>One line</i>
 *     and another.
 *
 * Numbers, times and names of cues are borders, and so are WebVTT's header and its blocks of notes,
 * styles and regions. A line that looks like a line of times but cannot be read as one is refused:
 * otherwise it would be translated, and its neighbours would be shown at the wrong time. */
#include "base/memory/chars.h"
#include "markup/subtitle.h"

#include <string.h>

static const struct dg_span none = {NULL, 0};

static size_t skip_blanks(struct dg_span text, size_t at)
{
    while (at < text.len && strchr(" \t\r", text.ptr[at]) && text.ptr[at])
        at++;
    return at;
}

/* "00:01:02,000 --> 00:01:04,500", "00:01.000 --> 00:02.000 align:start", "0:00:01.000,0:00:02.000"
 */
static bool read_times(struct dg_span line, const char *arrow, struct dg_doc_cue *cue)
{
    size_t at = skip_blanks(line, 0), len = strlen(arrow);
    if (!dg_subtitle_time(line, &at, &cue->from_ms))
        return false;
    at = skip_blanks(line, at);
    if (!dg_span_starts(dg_span_sub(line, at, len), dg_span_cstr(arrow)))
        return false;
    at = skip_blanks(line, at + len);
    return dg_subtitle_time(line, &at, &cue->to_ms) &&
           (at == line.len || strchr(" \t\r", line.ptr[at]));
}

/* A line that begins with a digit and has an arrow between a colon and another digit. */
static bool seems_times(struct dg_span line)
{
    bool has_colon = false;
    size_t at = skip_blanks(line, 0);
    if (at >= line.len || !dg_chars_is_digit(line.ptr[at]))
        return false;
    for (; at + 1 < line.len; at++) {
        has_colon |= line.ptr[at] == ':';
        if (!has_colon || line.ptr[at] != '-' || line.ptr[at + 1] != '>')
            continue;
        at = skip_blanks(line, at + 2);
        return at < line.len && dg_chars_is_digit(line.ptr[at]);
    }
    return false;
}

static bool is_number(struct dg_span line)
{
    size_t n = 0;
    for (size_t i = 0; i < line.len; i++) {
        if (dg_chars_is_digit(line.ptr[i]))
            n++;
        else if (line.ptr[i] != '\r' && line.ptr[i] != ' ')
            return false;
    }
    return n > 0;
}

/* Text with tags such as <i>, but no references. */
static void add_tagged(struct dg_doc *doc, size_t at, size_t end)
{
    static const struct dg_doc_text how = {.keeps_space = false};
    dg_subtitle_add_tagged(doc, at, end, &how);
}

/* The same with codes such as {\an8}. */
static void add_line(struct dg_doc *doc, size_t at, size_t len)
{
    static const struct dg_subtitle_how how = {.has_tags = true, .has_braces = true};
    struct dg_span text = doc->original;
    size_t end = at + len, from = at;
    while (at < end) {
        const char *brace = memchr(text.ptr + at, '{', end - at);
        if (!brace)
            break;
        at = (size_t)(brace - text.ptr);
        const size_t code = dg_subtitle_tag(&how, text, at, end);
        if (code == 0) {
            at++;
            continue;
        }
        add_tagged(doc, from, at);
        dg_doc_add(doc, DG_DOC_POINT, at, code, none);
        at += code;
        from = at;
    }
    add_tagged(doc, from, end);
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

/* The line's end, with the blanks before it. */
static size_t line_end(const struct dg_doc *doc, size_t at, size_t end, size_t *len)
{
    const char *text = doc->original.ptr;
    const char *newline = at < end ? memchr(text + at, '\n', end - at) : NULL;
    size_t stop = newline ? (size_t)(newline - text) : end;
    *len = 0;
    if (!newline)
        return end;
    while (stop > at && (text[stop - 1] == '\r' || text[stop - 1] == ' '))
        stop--;
    *len = (size_t)(newline - text) + 1 - stop;
    return stop;
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

/* The name of a tag as a key: that of "c" for "<c.loud>" and "</c>". */
static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    const size_t from = tag->kind == DG_DOC_CLOSE ? 2 : 1;
    const char *name = doc->original.ptr + tag->at;
    size_t end = from;
    while (end < tag->len && !strchr(" ./>", name[end]))
        end++;
    return dg_doc_name_key(dg_span_make(name + from, end - from));
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

struct kind {
    const char *arrow;  /* the arrow between two times */
    bool is_vtt;        /* times may follow names, and blocks */
    const char *wanted; /* what the file has to begin with */
    const char *times;  /* how times have to be written */
};

/* Adds a cue's text, the lines up to `end`, without the blanks at its end. */
static void add_text(struct dg_doc *doc, struct dg_doc_cue *cue, size_t at, size_t end)
{
    while (end > at && strchr(" \t\r\n", doc->original.ptr[end - 1]))
        end--;
    cue->at = at;
    cue->end = end;
    dg_subtitle_cue(doc, cue);
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

/* Lists the cues. A cue's text ends at a blank line, or where the next cue begins without one. Text
 * after a blank line goes on in the same cue, except in WebVTT. */
static void list_cues(struct dg_doc *doc, const struct kind *kind)
{
    struct dg_span text = doc->original;
    size_t bom = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0, from = SIZE_MAX, next,
           after;
    struct dg_doc_cue cue = {.at = 0}, following;
    bool has_times = false, in_block = false;
    struct dg_span line = dg_subtitle_line(text, bom, &next);
    for (size_t at = bom; at < text.len && !dg_doc_is_over(doc); at = next, next = after) {
        struct dg_span follower = dg_subtitle_line(text, next, &after);
        const bool is_blank = dg_subtitle_is_blank(line);
        const bool is_times = !is_blank && read_times(line, kind->arrow, &following);
        const bool is_name = !is_blank && !is_times &&
                             (kind->is_vtt ? !has_times : is_number(line)) &&
                             read_times(follower, kind->arrow, &following);
        if ((is_blank || is_times || is_name) && from != SIZE_MAX) {
            add_text(doc, &cue, from, at);
            from = SIZE_MAX;
        }
        if (is_times) {
            read_times(line, kind->arrow, &cue);
            has_times = true;
            in_block = false;
        } else if (is_blank) {
            in_block = false;
            has_times = has_times && !kind->is_vtt;
        } else if (kind->is_vtt && from == SIZE_MAX && !has_times &&
                   (in_block || begins_block(line))) {
            in_block = true;
        } else if (seems_times(line)) {
            dg_doc_refuse(doc, DG_ERR_INVALID, at, kind->times);
        } else if (!is_name && has_times) {
            from = from == SIZE_MAX ? at : from;
        } else if (!is_name && !kind->is_vtt) {
            dg_doc_refuse(doc, DG_ERR_INVALID, at, kind->wanted);
        }
        line = follower;
    }
    if (from != SIZE_MAX)
        add_text(doc, &cue, from, text.len);
}

static void read_kind(struct dg_doc *doc, const struct kind *kind,
                      void (*add)(struct dg_doc *doc, size_t at, size_t len))
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same, .are_points = true};
    struct dg_subtitle_how how = {
        .line_end = line_end, .add_text = add, .has_tags = true, .has_braces = !kind->is_vtt};
    const char *newline =
        doc->original.len ? memchr(doc->original.ptr, '\n', doc->original.len) : NULL;
    how.line = newline && newline > doc->original.ptr && newline[-1] == '\r' ? DG_SPAN("\r\n")
                                                                             : DG_SPAN("\n");
    list_cues(doc, kind);
    dg_subtitle_read(doc, &how);
    dg_doc_pair(doc, &pairing);
}

void dg_doc_read_subrip(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct kind kind = {
        "-->", false,
        "SubRip: expected a cue's number and its times, 00:01:02,000 --> 00:01:04,500",
        "SubRip: expected times such as 00:01:02,000 --> 00:01:04,500"};
    (void)opts;
    read_kind(doc, &kind, add_line);
}

void dg_doc_read_sbv(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct kind kind = {",", false,
                                     "SBV: expected a cue's times, 0:01:02.000,0:01:04.500",
                                     "SBV: expected times such as 0:01:02.000,0:01:04.500"};
    (void)opts;
    read_kind(doc, &kind, add_line);
}

void dg_doc_read_webvtt(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct kind kind = {"-->", true, NULL,
                                     "WebVTT: expected times such as 01:02.000 --> 01:04.500"};
    const size_t bom = dg_span_starts(doc->original, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
    (void)opts;
    if (doc->original.len > bom &&
        !dg_span_starts(dg_span_sub(doc->original, bom, 6), DG_SPAN("WEBVTT"))) {
        dg_doc_refuse(doc, DG_ERR_INVALID, 0, "WebVTT: the file does not begin with WEBVTT");
        return;
    }
    read_kind(doc, &kind, add_vtt_line);
}
