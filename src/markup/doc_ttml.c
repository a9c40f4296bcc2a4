/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Lists the cues of Timed Text (ttml, dfxp): the <p> elements of the body.
 *
 *     <p begin="00:00:01.000" end="00:00:03.500">One <span tts:fontStyle="italic">line</span><br/>
 *     and another.</p>
 *
 * A <br/>, with the white space around it, is a line's end. */
#include "base/memory/chars.h"
#include "markup/markup.h"
#include "markup/subtitle.h"

#include <string.h>

/* The name without its prefix: "p" for "tt:p". */
static struct dg_span local_name(struct dg_span name)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    return colon ? dg_span_sub(name, (size_t)(colon - name.ptr) + 1, name.len) : name;
}

static size_t line_end(const struct dg_doc *doc, size_t at, size_t end, size_t *len)
{
    struct dg_markup markup = {
        .text = dg_span_sub(doc->original, 0, end), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    const char *text = doc->original.ptr;
    *len = 0;
    while (at < end && dg_markup_next(&markup, &token)) {
        if ((token.type != DG_MARKUP_EMPTY && token.type != DG_MARKUP_START) ||
            !dg_span_eq(local_name(token.name), DG_SPAN("br")))
            continue;
        size_t from = token.at, behind = token.at + token.len;
        while (from > at && dg_chars_is_space(text[from - 1]))
            from--;
        while (behind < end && dg_chars_is_space(text[behind]))
            behind++;
        *len = behind - from;
        return from;
    }
    return end;
}

static void add_text(struct dg_doc *doc, size_t at, size_t len)
{
    static const struct dg_doc_text how = {.has_entities = true, .entities = DG_ENTITY_XML};
    dg_subtitle_add_tagged(doc, at, at + len, &how);
}

static struct dg_span name_of(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    size_t from = tag->kind == DG_DOC_CLOSE ? 2 : 1, end = from;
    const char *text = doc->original.ptr + tag->at;
    while (end < tag->len && !dg_chars_is_space(text[end]) && text[end] != '>' && text[end] != '/')
        end++;
    return dg_span_make(text + from, end - from);
}

static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    return dg_doc_name_key(name_of(doc, tag));
}

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    return dg_span_eq(name_of(doc, open), name_of(doc, close));
}

/* Reads "00:00:01.000", "12.5s" and "500ms"; other times, such as ticks and frames, are ignored. */
static bool read_time(struct dg_span tag, const char *name, uint32_t *ms)
{
    struct dg_span value;
    size_t at = 0;
    double number = 0, unit = 1;
    if (!dg_markup_attribute(tag, name, &value))
        return false;
    if (dg_subtitle_time(value, &at, ms))
        return true;
    for (at = 0; at < value.len && at < 12; at++) {
        char c = value.ptr[at];
        if (c == '.' && unit == 1)
            unit = 10;
        else if (c >= '0' && c <= '9' && unit == 1)
            number = number * 10 + (c - '0');
        else if (c >= '0' && c <= '9') {
            number += (c - '0') / unit;
            unit *= 10;
        } else
            break;
    }
    struct dg_span rest = dg_span_sub(value, at, value.len);
    double factor = dg_span_eq(rest, DG_SPAN("s"))    ? 1000
                    : dg_span_eq(rest, DG_SPAN("ms")) ? 1
                    : dg_span_eq(rest, DG_SPAN("m"))  ? 60000
                    : dg_span_eq(rest, DG_SPAN("h"))  ? 3600000
                                                      : 0;
    number *= factor;
    *ms = number < 4e9 ? (uint32_t)number : UINT32_MAX;
    return at > 0 && factor > 0;
}

static struct dg_doc_cue new_cue(struct dg_span tag)
{
    struct dg_doc_cue cue = {.at = 0};
    struct dg_span region;
    uint32_t length;
    if (read_time(tag, "begin", &cue.from_ms) && !read_time(tag, "end", &cue.to_ms) &&
        read_time(tag, "dur", &length))
        cue.to_ms = cue.from_ms + length > cue.from_ms ? cue.from_ms + length : cue.from_ms;
    cue.group = dg_markup_attribute(tag, "region", &region) ? dg_doc_name_key(region) : 0;
    return cue;
}

void dg_doc_read_ttml(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same, .are_points = true};
    struct dg_subtitle_how how = {
        .line_end = line_end, .add_text = add_text, .has_tags = true, .line = DG_SPAN("<br/>")};
    struct dg_span text = doc->original;
    struct dg_markup markup = {.text = text, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct dg_doc_cue cue = {.at = 0};
    bool in_cue = false, has_root = false, has_line = false;
    size_t opened = 0;
    (void)opts;
    while (dg_markup_next(&markup, &token) && !dg_doc_is_over(doc)) {
        const struct dg_span name = local_name(token.name);
        const bool is_p = dg_span_eq(name, DG_SPAN("p"));
        const bool is_start = token.type == DG_MARKUP_START;
        has_root |= is_start && dg_span_eq(name, DG_SPAN("tt"));
        if (!has_line && token.type == DG_MARKUP_EMPTY && dg_span_eq(name, DG_SPAN("br"))) {
            how.line = dg_span_sub(text, token.at, token.len);
            has_line = true;
        }
        if (is_p && is_start && in_cue) {
            dg_doc_refuse(doc, DG_ERR_INVALID, token.at, "TTML: a <p> stands in another");
        } else if (is_p && is_start) {
            cue = new_cue(dg_span_sub(text, token.at, token.len));
            cue.at = token.at + token.len;
            opened = token.at;
            in_cue = true;
        } else if (is_p && token.type == DG_MARKUP_END && in_cue) {
            cue.end = token.at;
            while (cue.at < cue.end && dg_chars_is_space(text.ptr[cue.at]))
                cue.at++;
            while (cue.end > cue.at && dg_chars_is_space(text.ptr[cue.end - 1]))
                cue.end--;
            dg_subtitle_cue(doc, &cue);
            in_cue = false;
        }
    }
    if (in_cue)
        dg_doc_refuse(doc, DG_ERR_INVALID, opened, "TTML: this <p> is not closed");
    else if (!has_root && text.len > 0)
        dg_doc_refuse(doc, DG_ERR_INVALID, 0, "TTML: the file has no element <tt>");
    dg_subtitle_read(doc, &how);
    dg_doc_pair(doc, &pairing);
}
