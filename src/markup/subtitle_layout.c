/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* All cuts are chosen together: the cheapest way through a table of cuts and cues (dynamic
 * programming). A cue has a cost for the words of other cues that it shows, for text that cannot be
 * read in its time and for text that does not fit on two lines; a cut has a cost for what it
 * separates. */
#include "markup/subtitle_layout.h"
#include "base/memory/utf8.h"

#include <math.h>
#include <string.h>

enum {
    SPEED = 17,       /* characters that a viewer reads in a second */
    PLACES_MAX = 400, /* cuts that are compared; if there are more, only those after punctuation
                         and some of the others are */
    /* letters of a short word, with which a line should not end: "the", "de", "und" */
    SHORT_WORD = 3,
};

static bool is_wide(uint32_t cp)
{
    return (cp >= 0x1100 && cp <= 0x115F) || (cp >= 0x2E80 && cp <= 0xA4CF) ||
           (cp >= 0xAC00 && cp <= 0xD7A3) || (cp >= 0xF900 && cp <= 0xFAFF) ||
           (cp >= 0xFE30 && cp <= 0xFE6F) || (cp >= 0xFF00 && cp <= 0xFF60) ||
           (cp >= 0x20000 && cp <= 0x3FFFD);
}

size_t dg_subtitle_width(struct dg_span text)
{
    size_t n = 0;
    uint32_t cp = 0;
    for (size_t at = 0, len; at < text.len; at += len) {
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0) {
            len = 1;
            cp = '?';
        }
        n += is_wide(cp) ? 2 : 1;
    }
    return n;
}

static size_t end_of(const struct dg_text_unit *unit)
{
    return unit->at + unit->len;
}

static uint32_t first_of(const struct dg_subtitle_said *said, size_t u)
{
    uint32_t cp = 0;
    return dg_utf8_decode(said->text, said->units[u].at, &cp) ? cp : 0;
}

/* The cost of ending a line or a cue before unit `u`; negative: it must not end there. */
static float cut_cost(const struct dg_subtitle_said *said, size_t u)
{
    const struct dg_text_unit *before = &said->units[u - 1], *unit = &said->units[u];
    const uint32_t mark = first_of(said, u - 1), next = first_of(said, u);
    const bool is_apart = unit->at > end_of(before);
    const bool is_unspaced =
        dg_cp_is_unspaced(next) && (dg_cp_is_unspaced(mark) || !before->is_word);
    if (!is_apart && !is_unspaced)
        return -1;
    /* in French these marks follow a space */
    if (!unit->is_word && is_apart && strchr("!?:;%", (int)(next < 0x80 ? next : 'x')))
        return -1;
    if (!before->is_word) {
        if (strchr(".!?", (int)(mark < 0x80 ? mark : 'x')) || mark == 0x3002 || mark == 0x2026)
            return 0;
        if (strchr(",;:", (int)(mark < 0x80 ? mark : 'x')) || mark == 0x3001 || mark == 0xFF0C)
            return 0.1f;
        return is_apart ? 0.4f : 0.5f;
    }
    if (is_unspaced)
        return 0.8f;
    return dg_utf8_count(dg_span_sub(said->text, before->at, before->len)) <= SHORT_WORD ? 0.9f
                                                                                         : 0.6f;
}

static size_t width_of(const struct dg_subtitle_said *said, size_t lo, size_t hi)
{
    if (hi <= lo)
        return 0;
    size_t at = said->units[lo].at;
    return dg_subtitle_width(dg_span_sub(said->text, at, end_of(&said->units[hi - 1]) - at));
}

/* ---- Cues ------------------------------------------------------------------------------------ */

/* The cost of a cue that shows the units [lo, hi), `width` characters. */
static float cue_cost(const struct dg_subtitle_room *room, size_t lo, size_t hi, float width)
{
    const float own = room->affinity[hi] - room->affinity[lo];
    const float shown = width + (float)(room->before + room->behind);
    const float fits = (float)(room->lines * DG_SUBTITLE_LINE_MAX);
    float cost = (float)(hi - lo) - own;
    if (shown > fits)
        cost += (shown - fits) / 8;
    if (room->ms > 0) {
        const float speed = shown * 1000.0f / (float)room->ms;
        cost += speed > SPEED ? (speed - SPEED) / 4 : 0;
    }
    return cost;
}

/* The places where a cut may be, from 0 to n, and with them the costs; returns how many. */
static size_t list_places(const struct dg_subtitle_said *said, size_t *places, float *costs)
{
    size_t n = 0, n_all = 0, k = 0;
    for (size_t u = 1; u < said->n; u++)
        n_all += cut_cost(said, u) >= 0;
    const size_t step = n_all / PLACES_MAX + 1;
    places[n] = 0;
    costs[n++] = 0;
    for (size_t u = 1; u < said->n && n < PLACES_MAX; u++) {
        const float cost = cut_cost(said, u);
        if (cost >= 0 && k++ % step == 0) {
            places[n] = u;
            costs[n++] = cost;
        }
    }
    places[n] = said->n;
    costs[n++] = 0;
    return n;
}

size_t dg_subtitle_costs(size_t n, size_t m)
{
    const size_t places = n + 1 < PLACES_MAX ? n + 1 : PLACES_MAX;
    return (places + 1) * (m + 1) * 2;
}

/* For too few places: some cues show what their neighbours show. */
static void share_out(const size_t *places, size_t n_places, size_t m, size_t *cuts)
{
    for (size_t i = 0; i <= m; i++)
        cuts[i] = places[i * (n_places - 1) / m];
}

bool dg_subtitle_cut(const struct dg_subtitle_said *said, const struct dg_subtitle_room *rooms,
                     size_t m, float *table, size_t *cuts)
{
    size_t places[PLACES_MAX + 1];
    float costs[PLACES_MAX + 1], widths[PLACES_MAX + 1];
    const size_t n = list_places(said, places, costs);
    float *best = table, *from = table + n * (m + 1); /* [m + 1, n] */
    if (n < m + 1) {
        share_out(places, n, m, cuts);
        return false;
    }
    for (size_t p = 0; p < n; p++)
        widths[p] = (float)width_of(said, 0, places[p]);
    for (size_t p = 0; p < n; p++)
        best[p] = p == 0 ? 0 : INFINITY;
    for (size_t i = 1; i <= m; i++) {
        for (size_t p = 0; p < n; p++) {
            best[i * n + p] = INFINITY;
            for (size_t q = i - 1; q < p; q++) {
                if (!(best[(i - 1) * n + q] < INFINITY))
                    continue;
                const float cost =
                    best[(i - 1) * n + q] + costs[p] +
                    cue_cost(&rooms[i - 1], places[q], places[p], widths[p] - widths[q]);
                if (cost < best[i * n + p]) {
                    best[i * n + p] = cost;
                    from[i * n + p] = (float)q;
                }
            }
        }
    }
    size_t p = n - 1;
    for (size_t i = m; i > 0; i--) {
        cuts[i] = places[p];
        p = (size_t)from[i * n + p];
    }
    cuts[0] = 0;
    return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

size_t dg_subtitle_break(const struct dg_subtitle_said *said, size_t lo, size_t hi,
                         const struct dg_subtitle_room *room)
{
    const float whole = (float)(width_of(said, lo, hi) + room->before + room->behind);
    float best = INFINITY, width = (float)room->before;
    size_t found = hi;
    if (room->lines < 2 || whole <= DG_SUBTITLE_LINE_MAX)
        return hi;
    for (size_t u = lo; u < hi; u++) {
        const float cost = u > lo ? cut_cost(said, u) : -1;
        if (cost >= 0) {
            const float second = whole - width, longer = width > second ? width : second;
            const float excess = longer > DG_SUBTITLE_LINE_MAX ? longer - DG_SUBTITLE_LINE_MAX : 0;
            const float total =
                cost + 3 * excess / DG_SUBTITLE_LINE_MAX * 10 + 4 * fabsf(width - second) / whole;
            if (total < best) {
                best = total;
                found = u;
            }
        }
        size_t next = u + 1 < hi ? said->units[u + 1].at : end_of(&said->units[u]);
        width += (float)dg_subtitle_width(
            dg_span_sub(said->text, said->units[u].at, next - said->units[u].at));
    }
    return found;
}
