/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the files of tag placement (tag_placement.c, tag_placement_*.c) offer to each other. */
#ifndef DG_MARKUP_TAG_PLACEMENT_INT_H
#define DG_MARKUP_TAG_PLACEMENT_INT_H

#include "markup/doc_int.h"
#include "markup/subtitle_layout.h"
#include "markup/tag_placement.h"

/* An element or a point among its siblings. */
struct dg_placement_node {
    size_t item, end; /* items: that of its opening tag, and the one after its last */
    size_t lo, hi;    /* units; lo equals hi for what stands between two units */
    float score;
};

struct dg_placement {
    const struct dg_doc *doc;
    const struct dg_doc_item *items;
    const struct dg_doc_part *part;
    struct dg_span original, plain, text;
    struct dg_buf *out;
    size_t begin, guard;        /* length of `out` before the text; dg_doc_markdown_guard */
    struct dg_text_unit *units; /* owned; [n_units] */
    size_t n_units;
    size_t *begins, *ends; /* owned; [n_source] bounds of the tokens, without spaces */
    size_t n_source;
    float *shares; /* owned; [n_units, n_source + 1] sums from the left; each unit has 0 to 1 */
    struct dg_placement_node *nodes; /* owned; [n_nodes] of all levels, those of a level in a row */
    size_t n_nodes;
    size_t n_claims; /* stretches that are taken so far */
    struct {
        size_t at, lo, hi, level, n_claims, found;
        bool is_set;
    } boundary; /* the result of the last search, because many tags may be at one place */
    struct {
        size_t from, to; /* white space of the text that becomes a line end */
        bool is_set;
    } line;
    enum dg_err err;
};

/* A stretch of items and its translation: units, and bytes of the text. */
struct dg_placement_stretch {
    size_t first, last, lo, hi, from, to;
    size_t source; /* where it begins in the plain text */
};

/* Cuts the text into units (tag_placement_units.c). */
void dg_placement_cut(struct dg_placement *placement);

/* Finds the shares that the units have of the source's tokens. */
void dg_placement_share(struct dg_placement *placement, const struct dg_tag_placement_target *said);

/* The tokens that lie in a stretch of the plain text: [*first, *last). */
void dg_placement_tokens(const struct dg_placement *placement, size_t from, size_t to,
                         size_t *first, size_t *last);

/* The part of a unit's shares that lies in the tokens [first, last). */
float dg_placement_affinity(const struct dg_placement *placement, size_t u, size_t first,
                            size_t last);

bool dg_placement_is_mark(uint32_t cp);
bool dg_placement_is_letter(char c);

/* Writes items [from, to) as they are (tag_placement.c). */
void dg_placement_items(struct dg_placement *placement, size_t from, size_t to);

/* Writes a stretch with its markup in place. */
void dg_placement_weave(struct dg_placement *placement, const struct dg_placement_stretch *stretch);

/* Writes a sentence that lies in `m` cues (tag_placement_cues.c). */
void dg_placement_cues(struct dg_placement *placement, size_t m);

#endif
