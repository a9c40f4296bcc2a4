/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A model directory's tokenizer: text to the ids that the network knows, and back. Three layouts:
 *
 *     Marian    source.spm, target.spm, vocab.json and maybe target_vocab.json (OPUS-MT)
 *     plain     one SentencePiece model for both sides (vocab.*.spm, spiece.model, ...), or two
 *               (srcvocab.*.spm and trgvocab.*.spm); its ids are the network's (Bergamot)
 *     subwords  tokenizer.json, vocab.json and merges.txt, or vocab.txt: language models and
 *               encoders (subword.h); dg_tokenizer_subword() encodes pairs of texts for them
 *
 *     struct dg_tokenizer *tokenizer;
 *     err = dg_tokenizer_open("models/fr-en", error, &tokenizer);
 *     struct dg_tokenizer_work *work = dg_tokenizer_work_new();        one for each thread
 *     struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
 *     const struct dg_token *tokens;
 *     size_t n;
 *     err = dg_tokenizer_encode(tokenizer, work, text, &opts, error, &tokens, &n);
 *     ... feed tokens[i].id; text[tokens[i].begin .. tokens[i].end) is where it came from ...
 *
 *     struct dg_tokenizer_stream stream;
 *     dg_tokenizer_stream_init(&stream, tokenizer, 1 << 20);
 *     err = dg_tokenizer_stream_push(&stream, id, &delta);             every id from the network
 *     err = dg_tokenizer_stream_finish(&stream, &delta);
 *
 * The tokenizer is immutable and shared by threads; works and streams belong to one thread at a
 * time. */
#ifndef DG_TOKENIZE_TOKENIZER_H
#define DG_TOKENIZE_TOKENIZER_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"
#include "tokenize/hf/subword.h"
#include "tokenize/spm/spm_decode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_tokenizer;
struct dg_tokenizer_work;
struct dg_spm;

/* `path`: a directory, or one SentencePiece file. */
enum dg_err dg_tokenizer_open(const char *path, struct dg_error *error,
                              struct dg_tokenizer **tokenizer) DG_MUST_CHECK;
void dg_tokenizer_close(struct dg_tokenizer *tokenizer); /* mirror of open; NULL is fine */

/* What the ids of one side mean; -1: there is no such id. */
struct dg_tokenizer_side {
    uint32_t size; /* ids are 0 to size - 1 */
    int32_t unk, bos, eos, pad;
};

struct dg_tokenizer_side dg_tokenizer_source(const struct dg_tokenizer *tokenizer);
struct dg_tokenizer_side dg_tokenizer_target(const struct dg_tokenizer *tokenizer);

/* The source id of any piece by its string (">>fra<<"), or -1. */
int32_t dg_tokenizer_find(const struct dg_tokenizer *tokenizer, struct dg_span piece);

/* The target id of a piece by its string, or -1; for forced prefixes and banned words. */
int32_t dg_tokenizer_find_target(const struct dg_tokenizer *tokenizer, struct dg_span piece);

/* The string of a target id; "" when there is none. Borrowed. */
struct dg_span dg_tokenizer_target_piece(const struct dg_tokenizer *tokenizer, int32_t id);

/* A word that names a language: ">>fra<<" (OPUS-MT), "__fr__" (M2M100), "fra_Latn" (NLLB). */
struct dg_tokenizer_language {
    /* borrowed from the tokenizer; codes are "fra", "fr" or "fra_Latn" */
    struct dg_span token, code;
    int32_t source_id, target_id; /* target_id -1: the target side does not have it */
};

/* The "fra" of ">>fra<<", the "fr" of "__fr__", "fra_Latn" itself; "" for what names no language.
 */
struct dg_span dg_tokenizer_language_code(struct dg_span token);

/* Lists all language words of the source side, in the order of their ids. *list is owned
 * (dg_free). */
enum dg_err dg_tokenizer_languages(const struct dg_tokenizer *tokenizer,
                                   struct dg_tokenizer_language **list, size_t *n) DG_MUST_CHECK;

/* The SentencePiece models, for tools and tests; NULL in the subwords layout. */
const struct dg_spm *dg_tokenizer_source_spm(const struct dg_tokenizer *tokenizer);
const struct dg_spm *dg_tokenizer_target_spm(const struct dg_tokenizer *tokenizer);

/* NULL in any other layout. */
const struct dg_subword *dg_tokenizer_subword(const struct dg_tokenizer *tokenizer);

/* Bytes of memory. */
size_t dg_tokenizer_memory(const struct dg_tokenizer *tokenizer);

/* ---- Encoding -------------------------------------------------------------------------------- */

struct dg_token {
    int32_t id;
    uint32_t begin, end; /* Bytes of the text. The range of eos is empty and at the end; that of a
                            language is empty and at the start. */
};

struct dg_tokenizer_opts {
    /* The end-of-sentence id is put after the text, unless the directory's
     * tokenizer_config.json says "add_eos_token": false (OpenNMT's networks). In the subwords
     * layout, whose files define a template, the template's tokens are added instead. */
    bool add_eos;
    /* subwords: the string of a special token in the text stands for that token */
    bool reads_special;
    bool parse_language;     /* a known ">>xxx<<" at the start of the text stands for that token */
    struct dg_span language; /* for "fra", >>fra<< is put before the text; "": none. Unknown:
                                DG_ERR_NOT_FOUND */
    const int32_t *first, *last; /* ids that a language puts before the text, and after its end
                                    token; NULL: none */
    const int32_t *second; /* an id between `first` and the text, which sets the formality; NULL:
                              none */
};

#define DG_TOKENIZER_OPTS_DEFAULT                                                                  \
    {                                                                                              \
        .add_eos = true                                                                            \
    }

struct dg_tokenizer_work *dg_tokenizer_work_new(void);
void dg_tokenizer_work_free(struct dg_tokenizer_work *work); /* NULL is fine */

/* The tokens are borrowed from `work` until its next use. Never splits: one text, one sequence. */
enum dg_err dg_tokenizer_encode(const struct dg_tokenizer *tokenizer,
                                struct dg_tokenizer_work *work, struct dg_span text,
                                const struct dg_tokenizer_opts *opts, struct dg_error *error,
                                const struct dg_token **tokens, size_t *n) DG_MUST_CHECK;

/* The string of token `i` of the last encoding; for an unknown token, the normalised text. */
struct dg_span dg_tokenizer_token_piece(const struct dg_tokenizer *tokenizer,
                                        const struct dg_tokenizer_work *work, size_t i);

/* True when the vocabulary has no piece with the characters of token `i` of the last encoding: it
 * is the unknown word, or a byte that stands in for a part of a character. */
bool dg_tokenizer_token_is_unknown(const struct dg_tokenizer *tokenizer,
                                   const struct dg_tokenizer_work *work, size_t i);

/* ---- Decoding -------------------------------------------------------------------------------- */

/* Appends the text of `n` target ids. Marian: special ids are dropped, spaces at the ends trimmed.
 * Plain: as the SentencePiece library decodes. DG_ERR_RANGE for an id outside the vocabulary. */
enum dg_err dg_tokenizer_decode(const struct dg_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                struct dg_buf *out) DG_MUST_CHECK;

/* The same, one id at a time; see spm_decode.h for what a delta is. */
struct dg_tokenizer_stream {
    const struct dg_tokenizer *tokenizer; /* borrowed */
    struct dg_spm_stream spm;
    struct dg_subword_stream subword; /* used instead of `spm` in the subwords layout */
};

void dg_tokenizer_stream_init(struct dg_tokenizer_stream *stream,
                              const struct dg_tokenizer *tokenizer, size_t max);
void dg_tokenizer_stream_deinit(struct dg_tokenizer_stream *stream);
void dg_tokenizer_stream_reset(struct dg_tokenizer_stream *stream);

/* Says that the ids continue a text, so that a space at their beginning is kept. */
void dg_tokenizer_stream_goes_on(struct dg_tokenizer_stream *stream);
enum dg_err dg_tokenizer_stream_push(struct dg_tokenizer_stream *stream, int32_t id,
                                     struct dg_span *delta) DG_MUST_CHECK;

/* Pushes a piece by its string; a string that is not in the vocabulary is pushed as plain text. */
enum dg_err dg_tokenizer_stream_push_piece(struct dg_tokenizer_stream *stream, struct dg_span piece,
                                           struct dg_span *delta) DG_MUST_CHECK;
enum dg_err dg_tokenizer_stream_finish(struct dg_tokenizer_stream *stream,
                                       struct dg_span *delta) DG_MUST_CHECK;

#endif
