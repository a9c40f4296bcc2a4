/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The end of a cue and the beginning of the next one show whether a sentence continues there. It
 * continues if the next cue begins with a small letter, or if this one ends in a comma. Before a
 * capital it continues only in a file whose sentences have full stops, and only if the next cue
 * follows at once, because titles and automatic captions have none. */
#include "markup/subtitle.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/utf8.h"
#include "markup/markup.h"

#include <string.h>
#include <unicode/uchar.h>

enum {
    PAUSE_MS = 5000,    /* the longest pause between two cues of one sentence */
    AT_ONCE_MS = 1000,  /* the longest pause when nothing but a missing full stop joins them */
    JOINED_BYTES = 600, /* the most bytes of all cues of one sentence */
    TAG_MAX = 2048,     /* bytes; if a tag would be longer, its bracket is text */
    STOPS_IN = 4,       /* full stops are in use if at least one cue in this many ends in one */
};

static const struct dg_span none = {NULL, 0};

/* ---- Cues ------------------------------------------------------------------------------------ */

void dg_subtitle_cue(struct dg_doc *doc, const struct dg_doc_cue *cue)
{
    if (cue->end <= cue->at || dg_doc_is_over(doc))
        return;
    if (DG_GROW(doc->cues, doc->n_cues, doc->cues_cap, 64)) {
        doc->err = DG_ERR_NOMEM;
        return;
    }
    doc->cues[doc->n_cues++] = *cue;
}

const struct dg_doc_cue *dg_subtitle_cue_at(const struct dg_doc *doc, size_t at)
{
    size_t low = 0, high = doc->n_cues; /* the first cue that ends after this place */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (doc->cues[middle].end > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low < doc->n_cues && doc->cues[low].at <= at ? &doc->cues[low] : NULL;
}

bool dg_subtitle_time(struct dg_span text, size_t *at, uint32_t *ms)
{
    uint64_t value = 0, part = 0, fraction = 0, unit = 1000;
    size_t i = *at, n_parts = 0, digits = 0;
    for (; i < text.len; i++) {
        char c = text.ptr[i];
        if (c >= '0' && c <= '9' && digits < 9) {
            part = part * 10 + (uint64_t)(c - '0');
            digits++;
        } else if (c == ':' && digits > 0 && n_parts < 2) {
            value = (value + part) * 60;
            part = digits = 0;
            n_parts++;
        } else {
            break;
        }
    }
    if (n_parts == 0 || digits == 0)
        return false;
    value += part;
    if (i + 1 < text.len && (text.ptr[i] == ',' || text.ptr[i] == '.') && text.ptr[i + 1] >= '0' &&
        text.ptr[i + 1] <= '9') {
        for (i++; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9'; i++) {
            unit /= 10;
            fraction += unit * (uint64_t)(text.ptr[i] - '0');
        }
    }
    value = value * 1000 + fraction;
    *ms = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    *at = i;
    return true;
}

struct dg_span dg_subtitle_line(struct dg_span text, size_t at, size_t *next)
{
    const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    size_t end = newline ? (size_t)(newline - text.ptr) : text.len;
    *next = newline ? end + 1 : end;
    return dg_span_sub(text, at, end - at);
}

bool dg_subtitle_is_blank(struct dg_span line)
{
    for (size_t i = 0; i < line.len; i++)
        if (!dg_chars_is_space(line.ptr[i]))
            return false;
    return true;
}

size_t dg_subtitle_tag(const struct dg_subtitle_how *how, struct dg_span text, size_t at,
                       size_t end)
{
    const char open = text.ptr[at], first = at + 1 < end ? text.ptr[at + 1] : '\0',
               second = at + 2 < end ? text.ptr[at + 2] : '\0';
    /* Where tags are written in angle brackets, braces hold only codes: {\an8}, {y:i}. */
    const bool is_code = !how->has_tags || first == '\\' || second == ':';
    if (!(open == '<' && how->has_tags) && !(open == '{' && how->has_braces && is_code))
        return 0;
    const size_t most = end - at < TAG_MAX ? end - at : TAG_MAX;
    const char *close = memchr(text.ptr + at, open == '<' ? '>' : '}', most);
    return close ? (size_t)(close - text.ptr) + 1 - at : 0;
}

/* ---- What a cue begins and ends with --------------------------------------------------------- */

struct look {
    uint32_t first, last; /* code points; `last` is the one before closing quotation marks */
    bool is_open;         /* ends in an ellipsis, so the sentence may continue */
    bool is_closed;       /* ends in a bracket or a music note */
    bool is_several;      /* a sentence ends within it */
    bool has_text;
};

static bool is_dash(uint32_t cp)
{
    return cp == '-' || (cp >= 0x2010 && cp <= 0x2015);
}

static bool is_music(uint32_t cp)
{
    return cp >= 0x2669 && cp <= 0x266C;
}

static bool is_closing_quote(uint32_t cp)
{
    return cp == '"' || cp == '\'' || cp == 0x201D || cp == 0x2019 || cp == 0xBB || cp == 0x300D;
}

static bool is_stop(uint32_t cp)
{
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x3002 || cp == 0xFF01 ||
           cp == 0xFF1F || cp == 0x061F || cp == 0x06D4 || cp == 0x0964 || cp == 0x203D;
}

static struct look look_at(const struct dg_doc *doc, const struct dg_subtitle_how *how,
                           const struct dg_doc_cue *cue)
{
    struct look look = {.first = 0};
    struct dg_span text = doc->original;
    uint32_t cp = 0, before = 0, last = 0;
    bool is_apart = false; /* white space precedes it */
    for (size_t at = cue->at, len; at < cue->end; at += len) {
        len = dg_subtitle_tag(how, text, at, cue->end);
        if (len > 0)
            continue;
        len = dg_utf8_decode(text, at, &cp);
        len = len ? len : 1;
        if (cp <= ' ' || cp == 0xA0) {
            is_apart = true;
            continue;
        }
        look.is_several |= is_apart && is_stop(look.last) && !u_islower((UChar32)cp);
        is_apart = false;
        look.first = look.has_text ? look.first : cp;
        look.has_text = true;
        if (!is_closing_quote(cp)) {
            before = look.last;
            look.last = cp;
        }
        last = cp;
    }
    look.is_open = look.last == 0x2026 || (look.last == '.' && before == '.');
    look.is_closed = last == ']' || last == ')' || is_music(last);
    return look;
}

static bool goes_on(const struct look *one, const struct look *next, const struct dg_doc_cue *cue,
                    const struct dg_doc_cue *follower, bool has_stops)
{
    const uint32_t first = next->first;
    const uint32_t pause = follower->from_ms > cue->to_ms ? follower->from_ms - cue->to_ms : 0;
    const bool is_small = u_islower((UChar32)first) || (first >= '0' && first <= '9');
    const bool is_again = first == '.' || first == 0x2026; /* continues, as in "...and so on" */
    if (!one->has_text || !next->has_text || one->is_closed || cue->group != follower->group ||
        pause > PAUSE_MS || is_dash(first) || is_music(first) || first == '[' || first == '(')
        return false;
    if (is_stop(one->last))
        return one->is_open && (u_islower((UChar32)first) || is_again);
    return is_small || is_again || one->last == ',' || one->last == 0xFF0C || one->last == 0x3001 ||
           (has_stops && pause <= AT_ONCE_MS);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static size_t skip_space(struct dg_span text, size_t at, size_t end)
{
    while (at < end && dg_chars_is_space(text.ptr[at]))
        at++;
    return at;
}

static size_t skip_tags(const struct dg_subtitle_how *how, struct dg_span text, size_t at,
                        size_t end)
{
    size_t len = 1;
    while (len > 0) {
        at = skip_space(text, at, end);
        len = at < end ? dg_subtitle_tag(how, text, at, end) : 0;
        at += len;
    }
    return at;
}

/* The length of the dashes, and the space after them, that begin a speaker's line at `at`; 0: there
 * are none. */
static size_t dash_at(struct dg_span text, size_t at, size_t end)
{
    uint32_t cp = 0;
    size_t len = dg_utf8_decode(dg_span_sub(text, 0, end), at, &cp), behind = at + len;
    if (len == 0 || !is_dash(cp))
        return 0;
    if (behind >= end || text.ptr[behind] == '-' ||
        (text.ptr[behind] >= '0' && text.ptr[behind] <= '9'))
        return 0;
    return skip_space(text, behind, end) - at;
}

static void add_border(struct dg_doc *doc, size_t at, size_t end)
{
    if (end > at)
        dg_doc_add(doc, DG_DOC_BORDER, at, end - at, none);
}

/* Adds text in which music notes are borders. */
static void add_music(struct dg_doc *doc, const struct dg_subtitle_how *how, size_t at, size_t end)
{
    struct dg_span text = doc->original;
    size_t from = at;
    while (at < end && !dg_doc_is_over(doc)) {
        const char *note = memchr(text.ptr + at, '\xE2', end - at);
        uint32_t cp = 0;
        size_t behind;
        if (!note)
            break;
        at = (size_t)(note - text.ptr);
        behind = at + dg_utf8_decode(dg_span_sub(text, 0, end), at, &cp);
        if (!is_music(cp)) {
            at++;
            continue;
        }
        size_t before = at;
        while (before > from && text.ptr[before - 1] == ' ')
            before--;
        behind = skip_space(text, behind, end);
        if (before > from)
            how->add_text(doc, from, before - from);
        add_border(doc, before, behind);
        at = from = behind;
    }
    if (end > from)
        how->add_text(doc, from, end - from);
}

/* Adds text with a sound in brackets at its start, "[a door] Who is there?", or at its end. */
static void add_brackets(struct dg_doc *doc, const struct dg_subtitle_how *how, size_t at,
                         size_t end)
{
    struct dg_span text = doc->original;
    size_t first = skip_tags(how, text, at, end), last = end;
    const char open = first < end ? text.ptr[first] : '\0';
    const char *close = open == '[' || open == '('
                            ? memchr(text.ptr + first, open == '[' ? ']' : ')', end - first)
                            : NULL;
    size_t behind = close ? (size_t)(close - text.ptr) + 1 : first;
    /* text in round brackets is a sound only if nothing follows the bracket */
    if (close && (open == '[' || skip_tags(how, text, behind, end) == end)) {
        size_t next = skip_space(text, behind, end);
        if (first > at)
            how->add_text(doc, at, first - at);
        add_border(doc, first, first + 1);
        add_music(doc, how, first + 1, behind - 1);
        add_border(doc, behind - 1, next);
        at = next;
    }
    while (last > at && dg_chars_is_space(text.ptr[last - 1]))
        last--;
    size_t bracket = last;
    if (last > at && text.ptr[last - 1] == ']')
        while (bracket > at && text.ptr[bracket - 1] != '[')
            bracket--;
    if (bracket > at && bracket < last) {
        size_t before = bracket - 1;
        while (before > at && text.ptr[before - 1] == ' ')
            before--;
        add_music(doc, how, at, before);
        add_border(doc, before, bracket);
        add_music(doc, how, bracket, last - 1);
        add_border(doc, last - 1, end);
    } else {
        add_music(doc, how, at, end);
    }
}

static void add_cue(struct dg_doc *doc, const struct dg_subtitle_how *how,
                    const struct dg_doc_cue *cue)
{
    struct dg_span text = doc->original;
    size_t at = cue->at, eol = 0, end = how->line_end(doc, at, cue->end, &eol);
    while (at < cue->end && !dg_doc_is_over(doc)) {
        size_t next = end + eol, eol_behind = 0,
               behind = how->line_end(doc, next, cue->end, &eol_behind);
        size_t first = skip_tags(how, text, at, end), dash = dash_at(text, first, end);
        if (dash && first > at)
            how->add_text(doc, at, first - at);
        if (dash)
            add_border(doc, first, first + dash);
        at = dash ? first + dash : at;
        if (end > at)
            add_brackets(doc, how, at, end);
        if (eol && dash_at(text, skip_tags(how, text, next, behind), behind))
            add_border(doc, end, next);
        else if (eol)
            dg_doc_add(doc, DG_DOC_LINE, end, eol, DG_SPAN(" "));
        at = next;
        end = behind;
        eol = eol_behind;
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

static bool has_stops(const struct dg_doc *doc, const struct dg_subtitle_how *how)
{
    size_t n = 0;
    for (size_t i = 0; i < doc->n_cues; i++) {
        const struct look look = look_at(doc, how, &doc->cues[i]);
        n += look.has_text && is_stop(look.last);
    }
    return n * STOPS_IN >= doc->n_cues;
}

void dg_subtitle_read(struct dg_doc *doc, const struct dg_subtitle_how *how)
{
    const bool is_punctuated = has_stops(doc, how);
    size_t at = 0, n_joined = 1, bytes = 0;
    struct look one = {.first = 0};
    for (size_t i = 0; i < doc->n_cues && !dg_doc_is_over(doc); i++) {
        const struct dg_doc_cue *cue = &doc->cues[i];
        const struct look look = look_at(doc, how, cue);
        const bool joins = i > 0 && n_joined < DG_SUBTITLE_JOINED_MAX &&
                           bytes + (cue->end - cue->at) <= JOINED_BYTES &&
                           goes_on(&one, &look, cue - 1, cue, is_punctuated);
        if (joins)
            dg_doc_add(doc, DG_DOC_CUE, at, cue->at - at, DG_SPAN(" "));
        else
            add_border(doc, at, cue->at);
        n_joined = joins && !look.is_several ? n_joined + 1 : 1;
        bytes = (joins && !look.is_several ? bytes : 0) + (cue->end - cue->at);
        add_cue(doc, how, cue);
        at = cue->end;
        one = look;
    }
    add_border(doc, at, doc->original.len);
    doc->line = how->line;
    doc->is_subtitle = true;
}

void dg_subtitle_add_tagged(struct dg_doc *doc, size_t at, size_t end,
                            const struct dg_doc_text *how)
{
    struct dg_markup markup = {
        .text = dg_span_sub(doc->original, 0, end), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    while (!dg_doc_is_over(doc) && dg_markup_next(&markup, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            dg_doc_add_text(doc, token.at, token.len, how);
        else
            dg_doc_add(doc,
                       token.type == DG_MARKUP_START ? DG_DOC_OPEN
                       : token.type == DG_MARKUP_END ? DG_DOC_CLOSE
                                                     : DG_DOC_POINT,
                       token.at, token.len, (struct dg_span){NULL, 0});
    }
}
