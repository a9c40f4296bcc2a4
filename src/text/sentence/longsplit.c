/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts long sentences. One pass over each part finds the last clause mark, the last space and the
 * last code point that fit; graphemes are looked up only if there is no space. */
#include "text/sentence/longsplit.h"

#include "base/memory/utf8.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

enum {
    UNITS_PER_TOKEN = 12, /* units of the estimate, so that a letter can cost a third of a token */
    GRAPHEME_LOOK = 256,  /* bytes to look back for the start of a grapheme */
};

/* ---- Estimating ------------------------------------------------------------------------------ */

static unsigned units_of(uint32_t cp)
{
    if (cp < 0x80) {
        if ((cp | 0x20) >= 'a' && (cp | 0x20) <= 'z')
            return 4;
        return cp == ' ' ? 1 : cp >= '0' && cp <= '9' ? 8 : 12;
    }
    if (cp < 0x0590)
        return 5;
    return cp < 0x2E80 ? 8 : 12;
}

static size_t units(struct dg_span text)
{
    size_t sum = 0;
    uint32_t cp;
    for (size_t at = 0, n; (n = dg_utf8_decode(text, at, &cp)) > 0; at += n)
        sum += units_of(cp);
    return sum;
}

size_t dg_segment_estimate(struct dg_span text)
{
    return (units(text) + UNITS_PER_TOKEN - 1) / UNITS_PER_TOKEN;
}

size_t dg_longsplit_measure(const struct dg_segment_opts *opts, struct dg_span text)
{
    return opts->measure ? opts->measure(opts->measure_ctx, text) : dg_segment_estimate(text);
}

/* ---- Where to cut ---------------------------------------------------------------------------- */

static bool is_space(uint32_t cp)
{
    return u_isUWhiteSpace((UChar32)cp);
}

/* Marks after which a clause always ends: those of scripts without spaces. */
static bool is_wide_clause_mark(uint32_t cp)
{
    return cp == 0x3001 || cp == 0x3002 || cp == 0xFF0C || cp == 0xFF1B || cp == 0xFF1A ||
           cp == 0xFF01 || cp == 0xFF1F || cp == 0x300D || cp == 0x300F || cp == 0xFF09;
}

/* Marks after which a clause ends if a space follows. */
static bool is_clause_mark(uint32_t cp)
{
    switch (cp) {
    case ',':
    case ';':
    case ':':
    case ')':
    case ']':
    case '.':
    case '!':
    case '?':
    case 0x2013: /* dashes */
    case 0x2014:
    case 0x2026:
    case 0x060C: /* Arabic comma, semicolon, question mark */
    case 0x061B:
    case 0x061F:
    case 0x0964: /* danda */
    case 0x00BB:
    case 0x201D:
        return true;
    default:
        return false;
    }
}

struct places {
    size_t clause, space, hard; /* where the part would end if it were cut there; 0: nowhere */
};

/* Scans until `room` units are used up; clause marks before `least` units do not count. */
static struct places find_places(struct dg_span text, double room, double least)
{
    struct places places = {0};
    double used = 0;
    uint32_t cp, last = 0;
    for (size_t at = 0, n; (n = dg_utf8_decode(text, at, &cp)) > 0; at += n) {
        if (at > 0 && is_space(cp) && !is_space(last)) {
            places.space = at;
            if (is_clause_mark(last) && used >= least)
                places.clause = at;
        }
        used += units_of(cp);
        if (used > room)
            break;
        places.hard = at + n;
        if (is_wide_clause_mark(cp) && used >= least)
            places.clause = at + n;
        last = cp;
    }
    return places;
}

/* The last grapheme boundary in (0, at]; `at` itself when none is near or ICU fails. */
static size_t grapheme_before(struct dg_longsplit *split, struct dg_span text, size_t at)
{
    size_t from = at > GRAPHEME_LOOK ? at - GRAPHEME_LOOK : 0;
    while (from > 0 && ((unsigned char)text.ptr[from] & 0xC0) == 0x80)
        from--;
    UErrorCode status = U_ZERO_ERROR;
    if (!*split->graphemes)
        *split->graphemes = ubrk_open(UBRK_CHARACTER, "", NULL, 0, &status);
    struct dg_span look = dg_span_sub(text, from, at - from + GRAPHEME_LOOK);
    look = dg_utf8_clip(look, look.len);
    UText *utext = utext_openUTF8(NULL, look.ptr, (int64_t)look.len, &status);
    if (U_FAILURE(status))
        return at;
    ubrk_setUText(*split->graphemes, utext, &status);
    int32_t found = (int32_t)(at - from);
    if (U_SUCCESS(status) && !ubrk_isBoundary(*split->graphemes, found))
        found = ubrk_preceding(*split->graphemes, found);
    utext_close(utext);
    return found > 0 ? from + (size_t)found : at;
}

static size_t first_code_point(struct dg_span text)
{
    uint32_t cp;
    size_t n = dg_utf8_decode(text, 0, &cp);
    return n ? n : text.len;
}

/* The length of a part with at most `room` units, and how it is cut. At least one code point. */
static size_t choose(struct dg_longsplit *split, struct dg_span text, double room,
                     enum dg_segment_cut *cut)
{
    struct places places = find_places(text, room, room * 0.4);
    if (places.hard >= text.len) {
        *cut = DG_SEGMENT_CUT_NONE;
        return text.len;
    }
    if (places.clause > 0) {
        *cut = DG_SEGMENT_CUT_CLAUSE;
        return places.clause;
    }
    if (places.space > 0) {
        *cut = DG_SEGMENT_CUT_SPACE;
        return places.space;
    }
    *cut = DG_SEGMENT_CUT_HARD;
    if (places.hard == 0)
        return first_code_point(text);
    return grapheme_before(split, text, places.hard);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

void dg_longsplit_start(struct dg_longsplit *split, struct dg_span sentence, size_t tokens)
{
    size_t n_units = units(sentence);
    split->rest = sentence;
    split->rest_units = n_units;
    split->tokens_per_unit = n_units ? (double)tokens / (double)n_units : 1.0;
}

/* Room for one of equal parts, in units; infinite when the rest fits. */
static double room_of(const struct dg_longsplit *split, size_t rest_units)
{
    double most = (double)split->opts->tokens_max / split->tokens_per_unit;
    double n_parts = (double)rest_units / most;
    if (n_parts <= 1.0)
        return (double)rest_units;
    double rounded = (double)(size_t)n_parts + ((double)(size_t)n_parts < n_parts ? 1.0 : 0.0);
    /* with some slack, to reach the end of a clause */
    double even = (double)rest_units / rounded * 1.15;
    return even < most ? even : most;
}

bool dg_longsplit_next(struct dg_longsplit *split, struct dg_span *part, enum dg_segment_cut *cut)
{
    struct dg_span rest = split->rest;
    if (rest.len == 0)
        return false;
    double room = room_of(split, split->rest_units);
    size_t len = choose(split, rest, room, cut);
    while (len > first_code_point(rest) &&
           dg_longsplit_measure(split->opts, dg_span_sub(rest, 0, len)) > split->opts->tokens_max) {
        room = (double)units(dg_span_sub(rest, 0, len)) * 0.5;
        size_t shorter = choose(split, dg_span_sub(rest, 0, len), room, cut);
        if (shorter >= len) {
            shorter = first_code_point(rest);
            *cut = DG_SEGMENT_CUT_HARD;
        }
        len = shorter;
    }
    *part = dg_span_sub(rest, 0, len);
    uint32_t cp;
    for (size_t n; (n = dg_utf8_decode(rest, len, &cp)) > 0 && is_space(cp);)
        len += n;
    split->rest_units -= units(dg_span_sub(rest, 0, len));
    split->rest = dg_span_sub(rest, len, rest.len);
    if (split->rest.len == 0)
        *cut = DG_SEGMENT_CUT_NONE;
    return true;
}
