/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts the translation of a sentence of subtitles into cues, and a cue's part of it into lines.
 *
 *     float *costs = ...                                    dg_subtitle_costs(n, m) of them
 *     size_t cuts[M];                                       the unit that each cue begins with
 *     bool is_cut = dg_subtitle_cut(&said, rooms, m, costs, cuts);
 *     size_t k = dg_subtitle_break(&said, lo, hi, &room);   the unit of its second line; hi: none
 *
 * A cut goes where the alignment says that the next cue's words begin, but preferably after a comma
 * rather than within a phrase, and so that each cue's text can be read while it is shown. Lines
 * have at most 42 characters if two lines are enough for that, and are of about equal length.
 * Private to src/markup. */
#ifndef DG_MARKUP_SUBTITLE_LAYOUT_H
#define DG_MARKUP_SUBTITLE_LAYOUT_H

#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_SUBTITLE_LINE_MAX = 42 }; /* characters; ideographs and their like count twice */

/* A word, an ideograph or a mark of a translation. */
struct dg_text_unit {
    size_t at, len;
    bool is_word;
    /* for tag_placement.c: the element that contains the unit, and its depth; and the bytes of the
     * plain text that the unit repeats, if markup divides their word (else their length is 0) */
    size_t level, owner, source_at, source_len;
};

struct dg_subtitle_said {
    struct dg_span text;
    const struct dg_text_unit *units; /* [n] */
    size_t n;
};

/* The room in a cue. */
struct dg_subtitle_room {
    uint32_t ms;           /* how long the cue is shown; 0: unknown */
    size_t before, behind; /* characters of other sentences in the first and the last line */
    unsigned lines;        /* how many lines the sentence may have, 1 or 2 */
    const float *affinity; /* [n + 1] sums from the left: how much of each unit is of this cue */
};

/* False when the text has too few words: then cuts[i] equals cuts[i + 1] for some i, and a cue
 * without words of its own must show its neighbour's. cuts is [m + 1]: from 0 to n. */
bool dg_subtitle_cut(const struct dg_subtitle_said *said, const struct dg_subtitle_room *rooms,
                     size_t m, float *costs, size_t *cuts);

/* How many floats dg_subtitle_cut needs at `costs`. */
size_t dg_subtitle_costs(size_t n, size_t m);

size_t dg_subtitle_break(const struct dg_subtitle_said *said, size_t lo, size_t hi,
                         const struct dg_subtitle_room *room);

/* Characters as wide as Latin ones. */
size_t dg_subtitle_width(struct dg_span text);

#endif
