/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Byte pair encoding as Hugging Face's tokenizers have it: what language models come with. Two kinds of one thing:
 *
 *     byte level   GPT-2, Llama 3, Qwen2: text is cut into words by a pattern, words into bytes, bytes are merged
 *     characters   Llama 2, Mistral: spaces become U+2581, characters are merged, what has no token falls apart
 *                  into bytes (<0x0A>)
 *
 * Read from a directory's tokenizer.json, or from vocab.json with merges.txt (GPT-2 before there was that file):
 *
 *     err = dg_bpe_open(&bpe, "models/gpt2", &why);
 *     struct dg_bpe_work *work = dg_bpe_work_new();                       one for each thread
 *     err = dg_bpe_encode(bpe, work, text, DG_BPE_TEMPLATE, why, &tokens, &n);
 *     dg_bpe_stream_init(&stream, bpe, 1 << 20);                          ids to text, as they come
 *
 * Understood are: the patterns of GPT-2, Llama 3 and Qwen2, which are scanners of our own over Unicode's categories;
 * digits apart; Metaspace; prepending, replacing, NFC and its like; added and special tokens; byte fallback; templates that put
 * tokens before and behind. Whatever else the file asks for is refused by name, because a text that is cut in another way
 * than in training is read badly without anybody noticing.
 *
 * The tokenizer is immutable and shared by threads; works and streams belong to one thread at a time. */
#ifndef DG_TEXT_BPE_H
#define DG_TEXT_BPE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_bpe;
struct dg_bpe_work;

/* True when the directory has what dg_bpe_open reads. */
bool dg_bpe_is_there(const char *dir);

enum dg_err dg_bpe_open(struct dg_bpe **bpe, const char *dir, struct dg_why *why) DG_MUST_CHECK;

/* The same from texts: a tokenizer.json; or, with `merges` not empty, a vocab.json and its merges.txt. */
enum dg_err dg_bpe_parse(struct dg_bpe **bpe, struct dg_span json, struct dg_span merges,
                         struct dg_why *why) DG_MUST_CHECK;
void dg_bpe_close(struct dg_bpe *bpe); /* mirror of both; NULL is fine */

/* Ids are 0 to size - 1; some may belong to nobody. */
uint32_t dg_bpe_size(const struct dg_bpe *bpe);
int32_t dg_bpe_unk(const struct dg_bpe *bpe); /* -1: none */
size_t dg_bpe_memory(const struct dg_bpe *bpe);

/* The token's string as the file has it (GPT-2's letters for bytes), "" for nobody's; and its id, or -1. */
struct dg_span dg_bpe_piece(const struct dg_bpe *bpe, int32_t id);
int32_t dg_bpe_find(const struct dg_bpe *bpe, struct dg_span piece);

/* An added token that is special: no text, but a sign for the model. */
bool dg_bpe_is_special(const struct dg_bpe *bpe, int32_t id);

/* ---- Encoding ---------------------------------------------------------------------------------- */

struct dg_bpe_token {
    int32_t id;
    uint32_t begin, end; /* bytes of the text; of a piece that normalisation changed, of all that it changed */
};

enum {
    DG_BPE_TEMPLATE = 1, /* with the tokens that belong before and behind a text */
    DG_BPE_SPECIAL = 2,  /* a special token's string is that token; else it is text like any other, as is wise with
                          * what strangers wrote */
};

struct dg_bpe_work *dg_bpe_work_new(void);
void dg_bpe_work_free(struct dg_bpe_work *work); /* NULL is fine */

/* The tokens are borrowed from `work` until its next use. DG_ERR_UTF8, DG_ERR_LIMIT (more than a GiB). */
enum dg_err dg_bpe_encode(const struct dg_bpe *bpe, struct dg_bpe_work *work, struct dg_span text, unsigned how,
                          struct dg_why *why, const struct dg_bpe_token **tokens, size_t *n) DG_MUST_CHECK;

/* ---- Decoding ---------------------------------------------------------------------------------- */

/* Deltas are valid UTF-8, whole characters, never taken back. Bytes that are no character become U+FFFD. Special
 * tokens say nothing. */
struct dg_bpe_stream {
    const struct dg_bpe *bpe; /* borrowed */
    bool goes_on;             /* the ids continue a text: a first space is one */
    bool has_begun;
    uint8_t held[4];          /* the beginning of a character */
    unsigned n_held;
    struct dg_buf out;
};

void dg_bpe_stream_init(struct dg_bpe_stream *stream, const struct dg_bpe *bpe, size_t max);
void dg_bpe_stream_deinit(struct dg_bpe_stream *stream);
void dg_bpe_stream_reset(struct dg_bpe_stream *stream);

/* DG_ERR_RANGE for an id past the end. The delta is borrowed until the next call. */
enum dg_err dg_bpe_stream_push(struct dg_bpe_stream *stream, int32_t id, struct dg_span *delta) DG_MUST_CHECK;
enum dg_err dg_bpe_stream_finish(struct dg_bpe_stream *stream, struct dg_span *delta) DG_MUST_CHECK;

#endif
