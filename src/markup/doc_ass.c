/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lists the cues of SubStation Alpha (ssa) and Advanced SubStation Alpha (ass): in each line that
 * begins with "Dialogue:", the last field.
 *
 *     [Events]
 *     Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
 *     Dialogue: 0,0:00:01.00,0:00:03.50,Default,Ann,0,0,0,,{\an8}One {\i1}line{\i0}\Nand another.
 *
 * Codes in braces are markup; a code that switches a style on and the one that switches it off
 * again are its two ends. Text that describes a drawing stays. A sentence goes on only in the next
 * line of the same layer, style and speaker. */
#include "base/memory/chars.h"
#include "markup/subtitle.h"

#include <string.h>

enum { FIELDS_MAX = 32, FIELDS_USUAL = 10 };

static const struct dg_span none = {NULL, 0};

/* ---- Text ------------------------------------------------------------------------------------ */

static size_t line_end(const struct dg_doc *doc, size_t at, size_t end, size_t *len)
{
    const char *text = doc->original.ptr;
    *len = 0;
    while (at < end) {
        const char *slash = memchr(text + at, '\\', end - at);
        if (!slash)
            break;
        at = (size_t)(slash - text);
        if (at + 1 < end && (text[at + 1] == 'N' || text[at + 1] == 'n')) {
            *len = 2;
            return at;
        }
        at++;
    }
    return end;
}

/* The letter i of "{\i1}", and whether it is switched on; '\0' for any other code. */
static char style_of(struct dg_span code, bool *is_on)
{
    if (code.len < 5 || code.ptr[1] != '\\' || !strchr("biusBIUS", code.ptr[2]) || !code.ptr[2])
        return '\0';
    for (size_t i = 3; i + 1 < code.len; i++)
        if (code.ptr[i] < '0' || code.ptr[i] > '9')
            return '\0';
    *is_on = !(code.len == 5 && code.ptr[3] == '0');
    return code.ptr[2];
}

/* Whether a code begins or ends a drawing: {\p1}, {\p0}; -1 when it does neither. */
static int drawing_of(struct dg_span code)
{
    int found = -1;
    for (size_t i = 0; i + 2 < code.len; i++)
        if (code.ptr[i] == '\\' && code.ptr[i + 1] == 'p' && code.ptr[i + 2] >= '0' &&
            code.ptr[i + 2] <= '9')
            found = code.ptr[i + 2] != '0';
    return found;
}

static void add_plain(struct dg_doc *doc, size_t at, size_t end)
{
    static const struct dg_doc_text how = {.keeps_space = false};
    const char *text = doc->original.ptr;
    size_t from = at;
    for (; at < end; at++) {
        if (text[at] != '\\' || at + 1 >= end || text[at + 1] != 'h')
            continue;
        dg_doc_add_text(doc, from, at - from, &how);
        dg_doc_add(doc, DG_DOC_CHAR, at, 2, DG_SPAN("\xC2\xA0"));
        from = at + 2;
        at++;
    }
    dg_doc_add_text(doc, from, end - from, &how);
}

static void add_text(struct dg_doc *doc, size_t at, size_t len)
{
    struct dg_span text = doc->original;
    size_t end = at + len;
    while (at < end && !dg_doc_is_over(doc)) {
        const char *open = memchr(text.ptr + at, '{', end - at);
        const char *close = open ? memchr(open, '}', (size_t)(text.ptr + end - open)) : NULL;
        size_t from = close ? (size_t)(open - text.ptr) : end;
        add_plain(doc, at, from);
        if (!close)
            return;
        size_t behind = (size_t)(close - text.ptr) + 1;
        bool is_on = false;
        struct dg_span code = dg_span_sub(text, from, behind - from);
        char style = style_of(code, &is_on);
        dg_doc_add(doc,
                   style == '\0' ? DG_DOC_POINT
                   : is_on       ? DG_DOC_OPEN
                                 : DG_DOC_CLOSE,
                   from, behind - from, none);
        at = behind;
    }
}

static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    return (uint32_t)(doc->original.ptr[tag->at + 2] | 0x20);
}

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    return key(doc, open) == key(doc, close);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

struct fields {
    size_t n, start, end, layer, style, name; /* numbers of columns; SIZE_MAX: there is no such
                                                 column */
};

/* Field `k` of a comma-separated list; *at is where it begins, 0 when there is none. */
static struct dg_span field_of(struct dg_span list, size_t k, size_t *at)
{
    *at = 0;
    for (; k > 0; k--) {
        const char *comma = *at < list.len ? memchr(list.ptr + *at, ',', list.len - *at) : NULL;
        if (!comma) {
            *at = 0;
            return none;
        }
        *at = (size_t)(comma - list.ptr) + 1;
    }
    const char *comma = *at < list.len ? memchr(list.ptr + *at, ',', list.len - *at) : NULL;
    return dg_span_sub(list, *at, comma ? (size_t)(comma - list.ptr) - *at : list.len);
}

/* Reads the line "Format:"; false when the text is not the last field. */
static bool read_format(struct dg_span list, struct fields *fields)
{
    struct dg_span last = none;
    *fields = (struct fields){
        .start = SIZE_MAX, .end = SIZE_MAX, .layer = SIZE_MAX, .style = SIZE_MAX, .name = SIZE_MAX};
    for (size_t at = 0; at <= list.len && fields->n < FIELDS_MAX; fields->n++) {
        size_t from;
        last = dg_chars_trim(field_of(dg_span_sub(list, at, list.len), 0, &from), " \t\r");
        size_t *place = dg_span_eq(last, DG_SPAN("Start"))   ? &fields->start
                        : dg_span_eq(last, DG_SPAN("End"))   ? &fields->end
                        : dg_span_eq(last, DG_SPAN("Layer")) ? &fields->layer
                        : dg_span_eq(last, DG_SPAN("Style")) ? &fields->style
                        : dg_span_eq(last, DG_SPAN("Name"))  ? &fields->name
                                                             : NULL;
        if (place)
            *place = fields->n;
        const char *comma = at < list.len ? memchr(list.ptr + at, ',', list.len - at) : NULL;
        at = comma ? (size_t)(comma - list.ptr) + 1 : list.len + 1;
    }
    return dg_span_eq(last, DG_SPAN("Text")) && fields->start != SIZE_MAX &&
           fields->end != SIZE_MAX;
}

static bool read_time(struct dg_span list, size_t k, uint32_t *ms)
{
    size_t at, i = 0;
    struct dg_span time = dg_chars_trim(field_of(list, k, &at), " \t\r");
    return dg_subtitle_time(time, &i, ms) && i == time.len;
}

static uint32_t group_of(struct dg_span list, const struct fields *fields)
{
    const size_t places[] = {fields->layer, fields->style, fields->name};
    uint32_t group = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        size_t at;
        if (places[i] != SIZE_MAX)
            group = group * 31 +
                    dg_doc_name_key(dg_chars_trim(field_of(list, places[i], &at), " \t\r"));
    }
    return group;
}

static void add_line(struct dg_doc *doc, struct dg_span list, const struct fields *fields)
{
    struct dg_span text = doc->original;
    struct dg_doc_cue cue = {.at = 0};
    size_t start = (size_t)(list.ptr - text.ptr), at, end = start + list.len;
    bool is_drawing = false;
    if (!read_time(list, fields->start, &cue.from_ms) ||
        !read_time(list, fields->end, &cue.to_ms)) {
        dg_doc_refuse(doc, DG_ERR_INVALID, start,
                      "ASS: expected a dialogue's times, such as 0:01:02.00,0:01:04.50");
        return;
    }
    field_of(list, fields->n - 1, &at);
    if (at == 0 && fields->n > 1) {
        dg_doc_refuse(doc, DG_ERR_INVALID, start,
                      "ASS: this dialogue has fewer fields than Format names");
        return;
    }
    cue.at = start + at;
    cue.end = end;
    cue.group = group_of(list, fields);
    for (size_t i = cue.at; i < end && !is_drawing; i++) {
        const char *close = text.ptr[i] == '{' ? memchr(text.ptr + i, '}', end - i) : NULL;
        if (text.ptr[i] == '{' && !close)
            break;
        if (!close)
            continue;
        size_t behind = (size_t)(close - text.ptr) + 1;
        is_drawing = drawing_of(dg_span_sub(text, i, behind - i)) == 1;
        i = behind - 1;
    }
    if (!is_drawing)
        dg_subtitle_cue(doc, &cue);
}

void dg_doc_read_ass(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same, .are_points = true};
    static const struct dg_subtitle_how how = {
        .line_end = line_end, .add_text = add_text, .has_braces = true, .line = {"\\N", 2}};
    struct fields fields = {
        .n = FIELDS_USUAL, .start = 1, .end = 2, .layer = 0, .style = 3, .name = 4};
    struct dg_span text = doc->original;
    bool in_events = false, has_section = false;
    (void)opts;
    for (size_t at = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0, next;
         at < text.len && !dg_doc_is_over(doc); at = next) {
        struct dg_span line = dg_subtitle_line(text, at, &next);
        while (line.len && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == ' '))
            line.len--;
        if (dg_span_starts(line, DG_SPAN("["))) {
            in_events = dg_span_starts(line, DG_SPAN("[Events]"));
            has_section = true;
        } else if (!has_section && line.len > 0 && !dg_span_starts(line, DG_SPAN(";"))) {
            dg_doc_refuse(doc, DG_ERR_INVALID, at, "ASS: expected a section such as [Script Info]");
        } else if (in_events && dg_span_starts(line, DG_SPAN("Format:"))) {
            if (!read_format(dg_span_sub(line, 7, line.len), &fields))
                dg_doc_refuse(doc, DG_ERR_INVALID, at,
                              "ASS: expected a Format with Start and End, and Text at its end");
        } else if (in_events && dg_span_starts(line, DG_SPAN("Dialogue:"))) {
            add_line(doc, dg_span_sub(line, 9, line.len), &fields);
        }
    }
    dg_subtitle_read(doc, &how);
    dg_doc_pair(doc, &pairing);
}
