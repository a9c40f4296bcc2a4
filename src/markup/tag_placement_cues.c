/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Subtitles: a sentence over several cues is cut between its units, and its parts are broken into
 * lines. subtitle_layout.h chooses the places of these cuts and of line ends. */
#include "base/memory/mem.h"
#include "markup/subtitle.h"
#include "markup/subtitle_layout.h"
#include "markup/tag_placement_int.h"

#include <string.h>

/* What has been written of a cue already: the characters of its last line, and how many lines have
 * ended. The cue is found by the bytes before it, which hold its times. */
static void look_back(const struct dg_placement *placement, const struct dg_doc_cue *cue,
                      size_t *column, size_t *n_lines)
{
    enum { HEAD = 48, BACK = 4096 };
    const struct dg_span out = dg_buf_span(placement->out);
    const size_t from = out.len > BACK ? out.len - BACK : 0;
    const size_t head_len = cue->at < HEAD ? cue->at : HEAD;
    const struct dg_span head = dg_span_sub(placement->original, cue->at - head_len, head_len);
    size_t at = out.len;
    *column = *n_lines = 0;
    while (at > from && !dg_span_ends(dg_span_sub(out, 0, at), head))
        at--;
    if (at <= from)
        return;
    const struct dg_span line = placement->doc->line;
    size_t begin = at;
    for (; at < out.len; at++) {
        if (!dg_span_starts(dg_span_sub(out, at, out.len), line))
            continue;
        ++*n_lines;
        begin = at + line.len;
        at += line.len - 1;
    }
    for (at = begin; at < out.len;) {
        const char *close = out.ptr[at] == '<'   ? memchr(out.ptr + at, '>', out.len - at)
                            : out.ptr[at] == '{' ? memchr(out.ptr + at, '}', out.len - at)
                                                 : NULL;
        const size_t behind = close ? (size_t)(close - out.ptr) + 1 : at + 1;
        *column += !close && ((unsigned char)out.ptr[at] & 0xC0) != 0x80;
        at = behind;
    }
}

/* What follows the sentence in its last cue: characters of its line, and lines. */
static void look_ahead(const struct dg_placement *placement, const struct dg_doc_cue *cue,
                       size_t *column, size_t *n_lines)
{
    enum { BEHIND_MAX = 200 };
    size_t n, i = placement->part->end;
    const struct dg_span line = placement->doc->line;
    const size_t behind = placement->part->at + placement->part->len;
    dg_doc_items(placement->doc, &n);
    *column = *n_lines = 0;
    if (i > placement->part->inner) /* it may be cut off at the beginning */
        i--;
    for (; i < n && placement->items[i].at < cue->end && *n_lines == 0 && *column < BEHIND_MAX;
         i++) {
        const struct dg_doc_item *item = &placement->items[i];
        const size_t end = item->plain_at + item->plain_len;
        if (end <= behind)
            continue;
        const struct dg_span bytes = dg_span_sub(placement->original, item->at, item->len);
        bool is_line = item->kind == DG_DOC_LINE && item->plain_at == behind;
        for (size_t k = 0; item->kind == DG_DOC_BORDER && k < bytes.len && !is_line; k++)
            is_line = dg_span_starts(dg_span_sub(bytes, k, bytes.len), line);
        *n_lines += is_line;
        if (!is_line)
            *column += dg_subtitle_width(
                dg_span_sub(placement->plain, item->plain_at > behind ? item->plain_at : behind,
                            end - (item->plain_at > behind ? item->plain_at : behind)));
    }
}

/* The room in the cue that holds the item. */
static struct dg_subtitle_room room_of(const struct dg_placement *placement, size_t i,
                                       bool is_first, bool is_last)
{
    const struct dg_doc_cue *cue = i < placement->part->end
                                       ? dg_subtitle_cue_at(placement->doc, placement->items[i].at)
                                       : NULL;
    struct dg_subtitle_room room = {.lines = 2};
    size_t lines_before = 0, lines_behind = 0;
    if (!cue)
        return room;
    room.ms = cue->to_ms > cue->from_ms ? cue->to_ms - cue->from_ms : 0;
    if (is_first)
        look_back(placement, cue, &room.before, &lines_before);
    if (is_last)
        look_ahead(placement, cue, &room.behind, &lines_behind);
    room.lines = lines_before + lines_behind > 0 ? 1 : 2;
    return room;
}

/* Writes the part of one cue. Markup at its edges stays there, and an element around all of it
 * stays around all of it. */
static void weave_cue(struct dg_placement *placement, struct dg_placement_stretch stretch)
{
    const struct dg_doc_item *items = placement->items;
    size_t end = stretch.last, n_closing = 0;
    for (size_t u = stretch.lo; u < stretch.hi; u++) /* it may have been in another cue, too */
        placement->units[u].level = placement->units[u].owner = 0;
    placement->boundary.is_set = false;
    while (stretch.first < end &&
           (items[stretch.first].kind == DG_DOC_POINT ||
            (items[stretch.first].kind == DG_DOC_OPEN && items[stretch.first].partner == end - 1) ||
            items[end - 1].kind == DG_DOC_POINT)) {
        if (items[stretch.first].kind == DG_DOC_POINT) {
            dg_placement_items(placement, stretch.first, stretch.first + 1);
            stretch.first++;
        } else if (items[end - 1].kind == DG_DOC_POINT) {
            end--;
            n_closing++;
        } else {
            dg_placement_items(placement, stretch.first, stretch.first + 1);
            stretch.first++;
            end--;
            n_closing++;
        }
    }
    stretch.last = end;
    dg_placement_weave(placement, &stretch);
    if (n_closing)
        dg_placement_items(placement, end, end + n_closing);
}

static size_t cue_end(const struct dg_placement *placement, size_t i)
{
    while (i < placement->part->end && placement->items[i].kind != DG_DOC_CUE)
        i++;
    return i;
}

/* How much of each unit is from a cue's words, which are plain[from, to). */
static void sum_affinity(const struct dg_placement *placement, size_t from, size_t to, float *sums)
{
    size_t first, last;
    dg_placement_tokens(placement, from, to, &first, &last);
    sums[0] = 0;
    for (size_t u = 0; u < placement->n_units; u++)
        sums[u + 1] = sums[u] + dg_placement_affinity(placement, u, first, last);
}

void dg_placement_cues(struct dg_placement *placement, size_t m)
{
    const struct dg_doc_item *items = placement->items;
    const size_t n = placement->n_units;
    const struct dg_subtitle_said said = {placement->text, placement->units, n};
    struct dg_subtitle_room *rooms = dg_try_calloc(m, sizeof *rooms);
    size_t *cuts = dg_try_calloc(m + 1, sizeof *cuts);
    float *sums = dg_try_calloc(m * (n + 1), sizeof *sums);
    float *costs = dg_try_calloc(dg_subtitle_costs(n, m), sizeof *costs);
    if (!rooms || !cuts || !sums || !costs) {
        placement->err = DG_ERR_NOMEM;
        goto out;
    }
    size_t source = placement->part->at;
    for (size_t c = 0, i = placement->part->inner; c < m; c++) {
        const size_t end = cue_end(placement, i);
        const size_t to =
            c + 1 < m ? items[end].plain_at : placement->part->at + placement->part->len;
        rooms[c] = room_of(placement, i, c == 0, c + 1 == m);
        sum_affinity(placement, source, to, sums + c * (n + 1));
        rooms[c].affinity = sums + c * (n + 1);
        source = to;
        i = end + 1;
    }
    dg_subtitle_cut(&said, rooms, m, costs, cuts);
    source = placement->part->at;
    for (size_t c = 0, i = placement->part->inner; c < m && !placement->err; c++) {
        const size_t end = cue_end(placement, i);
        size_t lo = cuts[c], hi = cuts[c + 1];
        if (hi == lo) { /* a cue without words of its own shows those of its neighbour */
            while (lo > 0 && (c == 0 || cuts[c] == lo))
                lo--;
            for (hi = lo + 1;
                 hi < n && placement->units[hi].at ==
                               placement->units[hi - 1].at + placement->units[hi - 1].len;)
                hi++;
            while (lo > 0 && placement->units[lo].at ==
                                 placement->units[lo - 1].at + placement->units[lo - 1].len)
                lo--;
        }
        const size_t k = dg_subtitle_break(&said, lo, hi, &rooms[c]);
        const struct dg_placement_stretch stretch = {
            .first = i,
            .last = end,
            .lo = lo,
            .hi = hi,
            .from = lo == 0 && c == 0 ? 0 : placement->units[lo].at,
            .to = hi == n && c + 1 == m
                      ? placement->text.len
                      : placement->units[hi - 1].at + placement->units[hi - 1].len,
            .source = source};
        placement->line.is_set = k < hi;
        if (k < hi) {
            placement->line.from = placement->units[k - 1].at + placement->units[k - 1].len;
            placement->line.to = placement->units[k].at;
        }
        weave_cue(placement, stretch);
        placement->line.is_set = false;
        if (c + 1 < m) {
            dg_placement_items(placement, end, end + 1);
            source = items[end].plain_at + items[end].plain_len;
        }
        i = end + 1;
    }
out:
    dg_free(rooms);
    dg_free(cuts);
    dg_free(sums);
    dg_free(costs);
}
