/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tokenizers as Hugging Face has them: what language models and encoders come with. Four kinds of
 * one thing:
 *
 *     byte level   GPT-2, Llama 3, Qwen2, RoBERTa: text is cut into words by a pattern, words into
 * bytes, bytes are merged characters   Llama 2, Mistral: spaces become U+2581, characters are
 * merged, what has no token falls apart into bytes (<0x0A>) WordPiece    BERT, DistilBERT: text is
 * cleaned, cut at spaces and punctuation, and of words the longest known pieces are taken from left
 * to right ("play", "##ing") Unigram      XLM-RoBERTa, CamemBERT, ALBERT: SentencePiece's models in
 * this form: text goes through a table of replacements, spaces become U+2581, and words are laid
 * out in the pieces of the highest score
 *
 * Read from a directory's tokenizer.json; or from what was there before that file, vocab.json with
 * merges.txt (GPT-2, RoBERTa) or vocab.txt with tokenizer_config.json (BERT):
 *
 *     err = dg_subword_open(&subword, "models/gpt2", &error);
 *     struct dg_subword_work *work = dg_subword_work_new();                       one for each
 * thread err = dg_subword_encode(subword, work, text, DG_SUBWORD_TEMPLATE, error, &tokens, &n);
 *     dg_subword_stream_init(&stream, subword, 1 << 20);                          ids to text, as
 * they come
 *
 * Understood are: the patterns of GPT-2, Llama 3 and Qwen2, which are scanners of our own over
 * Unicode's categories; digits apart; Metaspace; prepending, replacing, stripping, NFC and its
 * like; SentencePiece's tables of replacements; BERT's cleaning, cutting and small letters; added
 * and special tokens; byte fallback; templates of one text and of two. Whatever else the file asks
 * for is refused by name, because a text that is cut in another way than in training is read badly
 * without anybody noticing.
 *
 * The tokenizer is immutable and shared by threads; works and streams belong to one thread at a
 * time. */
#ifndef DG_TOKENIZE_HF_SUBWORD_H
#define DG_TOKENIZE_HF_SUBWORD_H

#include "base/memory/buf.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dg_subword;
struct dg_subword_work;

/* True when the directory has what dg_subword_open reads. */
bool dg_subword_is_there(const char *dir);

enum dg_err dg_subword_open(struct dg_subword **subword, const char *dir,
                            struct dg_error *error) DG_MUST_CHECK;

/* The same from texts. What is not there is empty: a tokenizer.json; or a vocab.json and its
 * merges.txt; or a vocab.txt. A tokenizer_config.json may stand beside any of them and say which
 * tokens are signs, and beside a vocab.txt how text is cleaned. */
struct dg_subword_files {
    struct dg_span json, merges, lines, config;
};

enum dg_err dg_subword_parse(struct dg_subword **subword, const struct dg_subword_files *files,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_subword_close(struct dg_subword *subword); /* mirror of both; NULL is fine */

/* Ids are 0 to size - 1; some may belong to nobody. */
uint32_t dg_subword_size(const struct dg_subword *subword);
int32_t dg_subword_unk(const struct dg_subword *subword); /* -1: none */
size_t dg_subword_memory(const struct dg_subword *subword);

/* The token's string as the file has it (GPT-2's letters for bytes), "" for nobody's; and its id,
 * or -1. */
struct dg_span dg_subword_piece(const struct dg_subword *subword, int32_t id);
int32_t dg_subword_find(const struct dg_subword *subword, struct dg_span piece);

/* An added token that is special: no text, but a sign for the model. */
bool dg_subword_is_special(const struct dg_subword *subword, int32_t id);

/* A piece that goes on with the word of the one before ("##ing"). */
bool dg_subword_is_inner(const struct dg_subword *subword, int32_t id);

/* The signs that an encoder's directory names, or that are called as they mostly are; -1: there is
 * none. */
enum dg_subword_sign {
    DG_SUBWORD_PAD,
    DG_SUBWORD_CLS,
    DG_SUBWORD_SEP,
    DG_SUBWORD_MASK,
    DG_SUBWORD_SIGNS
};

int32_t dg_subword_sign(const struct dg_subword *subword, enum dg_subword_sign which);

/* ---- Encoding ----------------------------------------------------------------------------------
 */

struct dg_subword_token {
    int32_t id;
    uint32_t begin, end; /* bytes of the text; of a piece that normalisation changed, of all that it
                            changed */
    uint32_t word; /* which word of the text it belongs to, from 0; DG_SUBWORD_NO_WORD: to none */
    uint8_t text;  /* 0 or 1: which of the texts; DG_SUBWORD_FRAME: the template's own */
    uint8_t type;  /* the segment, as the template has it */
};

enum { DG_SUBWORD_FRAME = 255 };
static const uint32_t DG_SUBWORD_NO_WORD = UINT32_MAX;

enum {
    DG_SUBWORD_TEMPLATE = 1, /* with the tokens that belong before and behind a text */
    DG_SUBWORD_SPECIAL = 2,  /* a special token's string is that token; else it is text like any
                              * other, as is wise with  what strangers wrote */
    DG_SUBWORD_MASKS = 4,    /* the mask's string is the mask, whatever the others are */
};

struct dg_subword_work *dg_subword_work_new(void);
void dg_subword_work_free(struct dg_subword_work *work); /* NULL is fine */

/* The tokens are borrowed from `work` until its next use. DG_ERR_UTF8, DG_ERR_LIMIT (more than a
 * GiB). */
enum dg_err dg_subword_encode(const struct dg_subword *subword, struct dg_subword_work *work,
                              struct dg_span text, unsigned how, struct dg_error *error,
                              const struct dg_subword_token **tokens, size_t *n) DG_MUST_CHECK;

/* Two texts, or one that may be too long, for encoders: first they are read, then joined under the
 * template, as often as it takes to see all of the last one.
 *
 *     err = dg_subword_read(subword, work, 0, question, 0, error);
 *     err = dg_subword_read(subword, work, 1, passage, 0, error);
 *     struct dg_subword_join join = {.is_pair = true, .max = 384, .give = DG_SUBWORD_GIVE_SECOND};
 *     do {
 *         err = dg_subword_join(subword, work, &join, error, &joined);
 *         ... joined.tokens[0 .. joined.n) ...
 *         join.skip += joined.n_last > 128 ? joined.n_last - 128 : joined.n_last;     windows
 * overlap by 128 } while (!err && joined.n_left && joined.n_last);
 *
 * Unlike encoding's, the tokens' places leave out white space at their ends: they are for people.
 * `which`: 0 or 1; what was read stays until it is read anew. Joining costs nothing but copying. */
enum dg_err dg_subword_read(const struct dg_subword *subword, struct dg_subword_work *work,
                            unsigned which, struct dg_span text, unsigned how,
                            struct dg_error *error) DG_MUST_CHECK;

/* Which text gives way when both have no room. */
enum dg_subword_give {
    DG_SUBWORD_GIVE_LONGER, /* what is longer than its half; when both are, both keep half */
    DG_SUBWORD_GIVE_FIRST,
    DG_SUBWORD_GIVE_SECOND,
};

struct dg_subword_join {
    bool is_pair;
    enum dg_subword_give give;
    size_t max;  /* tokens in all, the template's among them */
    size_t skip; /* tokens of the last text (of a pair the second) that are left out at its
                    beginning */
};

struct dg_subword_joined {
    const struct dg_subword_token *tokens; /* borrowed from the work until its next use */
    size_t n;
    size_t n_last; /* tokens of the last text that are among them */
    size_t n_left; /* and that lie behind those */
    size_t n_lost; /* tokens of a pair's first text that had no room */
};

/* DG_ERR_RANGE when `max` has no room for anything but the template. */
enum dg_err dg_subword_join(const struct dg_subword *subword, struct dg_subword_work *work,
                            const struct dg_subword_join *join, struct dg_error *error,
                            struct dg_subword_joined *joined) DG_MUST_CHECK;

/* ---- Decoding ----------------------------------------------------------------------------------
 */

/* Deltas are valid UTF-8, whole characters, never taken back. Bytes that are no character become
 * U+FFFD. Special tokens say nothing. */
struct dg_subword_stream {
    const struct dg_subword *subword; /* borrowed */
    bool goes_on;                     /* the ids continue a text: a first space is one */
    bool has_begun;
    uint8_t held[4]; /* the beginning of a character */
    unsigned n_held;
    struct dg_buf out;
};

void dg_subword_stream_init(struct dg_subword_stream *stream, const struct dg_subword *subword,
                            size_t max);
void dg_subword_stream_deinit(struct dg_subword_stream *stream);
void dg_subword_stream_reset(struct dg_subword_stream *stream);

/* DG_ERR_RANGE for an id past the end. The delta is borrowed until the next call. */
enum dg_err dg_subword_stream_push(struct dg_subword_stream *stream, int32_t id,
                                   struct dg_span *delta) DG_MUST_CHECK;
enum dg_err dg_subword_stream_finish(struct dg_subword_stream *stream,
                                     struct dg_span *delta) DG_MUST_CHECK;

#endif
