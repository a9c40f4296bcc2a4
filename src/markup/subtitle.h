/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What subtitles of all kinds share. A reader (doc_srt.c, doc_ass.c, doc_ttml.c) lists the cues,
 * then has them read:
 *
 *     dg_subtitle_cue(doc, &(struct dg_doc_cue){.at = at, .end = end, .from_ms = ..., ...});
 *     dg_subtitle_read(doc, &how);
 *
 * A sentence that goes on in the next cue is one text: what stands between the two cues is a CUE
 * item, a space to the model. Elsewhere it is a border. A line's end within a cue is a LINE item,
 * likewise a space; it is a border before a dash, which begins the line of another speaker. Music
 * notes and sounds in brackets are texts of their own. The translation is cut into cues and lines
 * again by subtitle_layout.h. Private to src/markup. */
#ifndef DG_MARKUP_SUBTITLE_H
#define DG_MARKUP_SUBTITLE_H

#include "markup/doc_int.h"

enum { DG_SUBTITLE_JOINED_MAX = 8 }; /* cues that one sentence may go over */

/* How a kind writes the text of a cue. */
struct dg_subtitle_how {
    /* Finds the first line end of [at, end), and its length; returns `end` if there is none. */
    size_t (*line_end)(const struct dg_doc *doc, size_t at, size_t end, size_t *len);
    /* Adds text with tags that has no line end. */
    void (*add_text)(struct dg_doc *doc, size_t at, size_t len);
    bool has_tags, has_braces; /* <i> and {\i1} are tags rather than text */
    struct dg_span line;       /* a line end for lines that the original lacks */
};

void dg_subtitle_cue(struct dg_doc *doc, const struct dg_doc_cue *cue);
void dg_subtitle_read(struct dg_doc *doc, const struct dg_subtitle_how *how);

/* Reads a time at *at, such as 1:02:03,004 or 02:03.004, and moves *at past it. False when there is
 * none. */
bool dg_subtitle_time(struct dg_span text, size_t *at, uint32_t *ms);

/* The line at `at` without its end; *next is the start of the next line. */
struct dg_span dg_subtitle_line(struct dg_span text, size_t at, size_t *next);
bool dg_subtitle_is_blank(struct dg_span line);

/* The length of the tag <...> or {...} at `at`; 0 when there is none. */
size_t dg_subtitle_tag(const struct dg_subtitle_how *how, struct dg_span text, size_t at,
                       size_t end);

/* The cue that holds a byte of the original; NULL: none does. */
const struct dg_doc_cue *dg_subtitle_cue_at(const struct dg_doc *doc, size_t at);

/* Adds the text of [at, end) and its tags, such as <i>, to the items. */
void dg_subtitle_add_tagged(struct dg_doc *doc, size_t at, size_t end,
                            const struct dg_doc_text *how);

#endif
