/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Cuts a document into sentences and the bytes between them.
 *
 *     struct dg_segmenter *segmenter;                             one per thread
 *     err = dg_segmenter_new(&segmenter, &error);
 *     struct dg_segment_opts opts = DG_SEGMENT_OPTS_DEFAULT;
 *     opts.language = "de";
 *     opts.tokens_max = 512;
 *     struct dg_segments segments;                                borrowed until the next run
 *     err = dg_segmenter_run(segmenter, text, &opts, &segments, &error);
 *     for (size_t i = 0; i < segments.n; i++)
 *         if (segments.items[i].kind == DG_SEGMENT_SENTENCE) ... translate it
 *         else ... copy its bytes
 *     dg_segmenter_free(segmenter);
 *
 * The segments follow each other without gap or overlap from the first byte to the last, so that
 * joining them gives back the text, whatever bytes it holds. Separators are: line ends
 * of any kind, blank lines, white space around sentences, tabs and runs of three or more spaces
 * (columns), list markers and quote marks at the start of a line, control characters, bytes that
 * are not UTF-8, and stretches without any letter (numbers, rules, emoji). Two sentences may touch
 * (Chinese, Japanese). A sentence is valid UTF-8 and has a letter.
 *
 * Boundaries are ICU's, corrected by our own rules for abbreviations, initials, ordinals, quotes
 * and ellipses (sentence_finder.h, abbrev.h). A sentence that is too long for the model is cut at a
 * clause mark, else at a space, else between graphemes; `cut` marks such a part. Time is linear in
 * the text. */
#ifndef DG_TEXT_SENTENCE_SEGMENT_H
#define DG_TEXT_SENTENCE_SEGMENT_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_segmenter;

enum dg_segment_kind {
    DG_SEGMENT_SEPARATOR, /* its bytes are copied */
    DG_SEGMENT_SENTENCE,  /* it is translated */
};

/* Where a sentence that was too long was cut. The last part of a cut sentence has NONE. */
enum dg_segment_cut {
    DG_SEGMENT_CUT_NONE,
    DG_SEGMENT_CUT_CLAUSE, /* after a comma, semicolon, colon, dash or bracket */
    DG_SEGMENT_CUT_SPACE,
    DG_SEGMENT_CUT_HARD, /* between two graphemes of one word */
};

struct dg_segment {
    size_t at, len; /* bytes of the original */
    uint8_t kind;   /* a value of enum dg_segment_kind */
    uint8_t cut;    /* a value of enum dg_segment_cut */
    bool joined; /* the sentence contains a line end: dg_segment_flatten makes the model's input */
    uint32_t line; /* the line of the original in which it starts, from 0 */
};

struct dg_segments {
    const struct dg_segment *items; /* borrowed from the segmenter */
    size_t n;
    size_t n_sentences;
    size_t n_cuts; /* parts of sentences that were cut; if it is not 0, the caller should be told */
};

/* The number of tokens the model makes of `text`; called with sentences and parts of them only. */
typedef size_t (*dg_segment_measure_fn)(void *ctx, struct dg_span text);

struct dg_segment_opts {
    const char *language;  /* the BCP-47 tag of the text, in any spelling; NULL or "" if unknown */
    bool keep_lines_whole; /* no sentences are looked for: each line is one segment */
    bool keep_spaces;      /* two spaces separate as three do, so that they stay unchanged */
    bool join_lines;       /* lines of one paragraph are one text (hard-wrapped mail, PDF) */
    size_t tokens_max;     /* longer sentences are cut; 0: never */
    dg_segment_measure_fn measure; /* NULL: dg_segment_estimate is used */
    void *measure_ctx;
};

#define DG_SEGMENT_OPTS_DEFAULT                                                                    \
    {                                                                                              \
        .language = NULL                                                                           \
    }

enum dg_err dg_segmenter_new(struct dg_segmenter **segmenter, struct dg_error *error) DG_MUST_CHECK;
void dg_segmenter_free(struct dg_segmenter *segmenter); /* mirror of new; NULL is fine */

/* Splits `text`. DG_ERR_NOMEM; DG_ERR_LIMIT past 1 GiB. */
enum dg_err dg_segmenter_run(struct dg_segmenter *segmenter, struct dg_span text,
                             const struct dg_segment_opts *opts, struct dg_segments *segments,
                             struct dg_error *error) DG_MUST_CHECK;

/* A cautious guess of the number of tokens without a model: one for about three letters of an
 * alphabet, one for each character of Han and kana. */
size_t dg_segment_estimate(struct dg_span text);

/* Appends `text`, with one space (none between Han or kana) in place of each line end and the white
 * space around it. */
enum dg_err dg_segment_flatten(struct dg_span text, struct dg_buf *out) DG_MUST_CHECK;

#endif
