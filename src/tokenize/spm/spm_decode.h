/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tokens to text: a whole sequence at once, or as a stream, one id at a time.
 *
 *     struct dg_spm_stream stream;
 *     dg_spm_stream_init(&stream, spm, 1 << 20);          at most 1 MiB of text
 *     struct dg_span delta;                               borrowed until the next call
 *     err = dg_spm_stream_push(&stream, id, &delta);      what this id makes final, maybe nothing
 *     err = dg_spm_stream_finish(&stream, &delta);        what was held back
 *     dg_spm_stream_deinit(&stream);
 *
 * Deltas are whole characters of valid UTF-8 and are never taken back; joined they are what
 * dg_spm_decode gives for the same ids. The stream holds back byte pieces until their character is
 * complete, text that the model's denormaliser could still change, and trailing spaces if they are
 * to be trimmed. */
#ifndef DG_TOKENIZE_SPM_SPM_DECODE_H
#define DG_TOKENIZE_SPM_SPM_DECODE_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/spm/normalise.h"
#include "tokenize/spm/spm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends the text of `n` ids to `out`. DG_ERR_RANGE for an id that the model does not have.
 * Malformed UTF-8, which only a damaged model can cause, becomes U+FFFD. This is the definition;
 * the stream is tested against it. */
enum dg_err dg_spm_decode(const struct dg_spm *spm, const uint32_t *ids, size_t n,
                          struct dg_buf *out) DG_MUST_CHECK;

/* The beginning of a character. */
struct dg_spm_partial {
    uint8_t ptr[4];
    unsigned n;
};

struct dg_spm_stream {
    const struct dg_spm *spm; /* borrowed */
    bool expects_space;       /* a space mark at the beginning is still to be dropped */
    bool saw_space;
    bool has_text;
    bool trims;      /* spaces at both ends of the text are dropped */
    bool has_output; /* something was delivered; with `trims`, something other than spaces */
    struct dg_spm_partial bytes; /* an incomplete character of byte pieces */
    struct dg_spm_partial tail;  /* text whose last character is not complete yet */
    struct dg_buf raw;           /* text before the denormaliser */
    struct dg_normalise_state state;
    struct dg_normal_text normal; /* text after the denormaliser, when the model has one */
    struct dg_buf out;            /* the delta, followed by what is held back */
    size_t delivered;             /* how many bytes at the front of `out` were the last delta */
};

/* `max`: bytes of one delta; a longer one fails with DG_ERR_LIMIT. */
void dg_spm_stream_init(struct dg_spm_stream *stream, const struct dg_spm *spm, size_t max);
void dg_spm_stream_deinit(struct dg_spm_stream *stream);

/* Starts over with the same model; memory is kept. */
void dg_spm_stream_reset(struct dg_spm_stream *stream);

/* From the next reset on, drops spaces at both ends of a text, as for Marian models. */
void dg_spm_stream_trim(struct dg_spm_stream *stream, bool trims);

enum dg_err dg_spm_stream_push(struct dg_spm_stream *stream, uint32_t id,
                               struct dg_span *delta) DG_MUST_CHECK;

/* Pushes a piece by its string. A string that is not a piece of the model is pushed as plain text,
 * with its space marks. */
enum dg_err dg_spm_stream_push_piece(struct dg_spm_stream *stream, struct dg_span piece,
                                     struct dg_span *delta) DG_MUST_CHECK;

/* Pushes a piece of another model, decoded like a normal piece of this one. */
enum dg_err dg_spm_stream_push_text(struct dg_spm_stream *stream, struct dg_span piece,
                                    struct dg_span *delta) DG_MUST_CHECK;

/* Ends the text. Only reset or deinit may follow. */
enum dg_err dg_spm_stream_finish(struct dg_spm_stream *stream, struct dg_span *delta) DG_MUST_CHECK;

#endif
