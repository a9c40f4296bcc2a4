/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Hugging Face tokenizers, which come with language models and encoders. There are four kinds:
 *
 *     byte level   GPT-2, Llama 3, Qwen2, RoBERTa: a pattern cuts the text into words, and the
 *                  bytes of a word are merged
 *     characters   Llama 2, Mistral: spaces become U+2581, characters are merged, and a character
 *                  without a token becomes bytes (<0x0A>)
 *     WordPiece    BERT, DistilBERT: text is cleaned and cut at spaces and punctuation; a word
 *                  becomes the longest known pieces from left to right ("play", "##ing")
 *     Unigram      XLM-RoBERTa, CamemBERT, ALBERT: SentencePiece's models in this format: a table
 *                  replaces characters, spaces become U+2581, and a word becomes the pieces with
 *                  the highest sum of scores
 *
 * They are read from a directory's tokenizer.json or from its older files: vocab.json with
 * merges.txt (GPT-2, RoBERTa) or vocab.txt with tokenizer_config.json (BERT).
 *
 *     err = dg_subword_open(&subword, "models/gpt2", &error);
 *     struct dg_subword_work *work = dg_subword_work_new();           one for each thread
 *     err = dg_subword_encode(subword, work, text, DG_SUBWORD_TEMPLATE, &error, &tokens, &n);
 *     dg_subword_stream_init(&stream, subword, 1 << 20);              decodes ids as they come
 *
 * Supported features: the patterns of GPT-2, Llama 3 and Qwen2, with our own scanners over
 * Unicode's categories; splitting digits; Metaspace; prepending, replacing, stripping, NFC and the
 * like; SentencePiece's tables of replacements; BERT's cleaning, cutting and lower case; added and
 * special tokens; byte fallback; templates for one text and for two. Anything else in the file is
 * refused by name: the model would read a text that is cut differently than in training badly, and
 * nobody would notice.
 *
 * The tokenizer is immutable and shared by threads; works and streams belong to one thread at a
 * time. */
#ifndef DG_TOKENIZE_HF_SUBWORD_H
#define DG_TOKENIZE_HF_SUBWORD_H

#include "base/memory/buf.h"
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

/* The same from the contents of files, empty for a file that does not exist: `json` is a
 * tokenizer.json, or a vocab.json that comes with `merges`; `lines` is a vocab.txt. With any of
 * them, `config` (tokenizer_config.json) may say which tokens are special; with `lines` also how
 * text is cleaned. */
struct dg_subword_files {
    struct dg_span json, merges, lines, config;
};

enum dg_err dg_subword_parse(struct dg_subword **subword, const struct dg_subword_files *files,
                             struct dg_error *error) DG_MUST_CHECK;
void dg_subword_close(struct dg_subword *subword); /* mirror of both; NULL is fine */

/* Ids are 0 to size - 1; some may be unused. */
uint32_t dg_subword_size(const struct dg_subword *subword);
int32_t dg_subword_unk(const struct dg_subword *subword); /* -1: none */
size_t dg_subword_memory(const struct dg_subword *subword);

/* The string of a token as the file has it (with GPT-2's letters for bytes), "" for an unused id;
 * and the id of a string, or -1. */
struct dg_span dg_subword_piece(const struct dg_subword *subword, int32_t id);
int32_t dg_subword_find(const struct dg_subword *subword, struct dg_span piece);

/* True for a special added token, which is a signal to the model and not text. */
bool dg_subword_is_special(const struct dg_subword *subword, int32_t id);

/* The special tokens of encoders, as the directory names them or else by their usual names; -1:
 * there is none. */
enum dg_subword_sign {
    DG_SUBWORD_PAD,
    DG_SUBWORD_CLS,
    DG_SUBWORD_SEP,
    DG_SUBWORD_MASK,
    DG_SUBWORD_SIGNS
};

int32_t dg_subword_sign(const struct dg_subword *subword, enum dg_subword_sign which);

/* ---- Encoding -------------------------------------------------------------------------------- */

struct dg_subword_token {
    int32_t id;
    uint32_t begin, end; /* bytes of the text; for a piece that normalisation changed, all bytes
                            that it was made of */
    uint32_t word;       /* the index of its word in the text; DG_SUBWORD_NO_WORD: it has none */
    uint8_t text; /* the index of the text, 0 or 1; DG_SUBWORD_FRAME: a token of the template */
    uint8_t type; /* the segment, as stated in the template */
};

enum { DG_SUBWORD_FRAME = 255 };
static const uint32_t DG_SUBWORD_NO_WORD = UINT32_MAX;

enum {
    DG_SUBWORD_TEMPLATE = 1, /* the template's tokens are added before and after the text */
    /* The string of a special token stands for that token. It must not be set for text from
     * untrusted sources; without it such a string is ordinary text. */
    DG_SUBWORD_SPECIAL = 2,
    DG_SUBWORD_MASKS = 4, /* the string of the mask token stands for that token, even without
                             SPECIAL */
};

struct dg_subword_work *dg_subword_work_new(void);
void dg_subword_work_free(struct dg_subword_work *work); /* NULL is fine */

/* The tokens are borrowed from `work` until its next use. DG_ERR_UTF8; DG_ERR_LIMIT: more than
 * 1 GiB. */
enum dg_err dg_subword_encode(const struct dg_subword *subword, struct dg_subword_work *work,
                              struct dg_span text, unsigned how, struct dg_error *error,
                              const struct dg_subword_token **tokens, size_t *n) DG_MUST_CHECK;

/* Encodes two texts, or one text that may be too long, for encoders: dg_subword_read reads each
 * text, then dg_subword_join joins them in the template, as often as needed to cover the last one.
 *
 *     err = dg_subword_read(subword, work, 0, question, 0, &error);
 *     err = dg_subword_read(subword, work, 1, passage, 0, &error);
 *     struct dg_subword_join join = {.is_pair = true, .max = 384, .give = DG_SUBWORD_GIVE_SECOND};
 *     do {
 *         err = dg_subword_join(subword, work, &join, &error, &joined);
 *         ... joined.tokens[0 .. joined.n) ...                          windows overlap by 128
 *         join.skip += joined.n_last > 128 ? joined.n_last - 128 : joined.n_last;
 *     } while (!err && joined.n_left && joined.n_last);
 *
 * Unlike those of dg_subword_encode, the tokens' offsets leave out white space at their ends,
 * because people see them. `which` is 0 or 1; a text stays until another is read in its place.
 * Joining only copies. */
enum dg_err dg_subword_read(const struct dg_subword *subword, struct dg_subword_work *work,
                            unsigned which, struct dg_span text, unsigned how,
                            struct dg_error *error) DG_MUST_CHECK;

/* Which text is cut when the two do not fit. */
enum dg_subword_give {
    /* the text that is longer than half gives; if both are, both keep half */
    DG_SUBWORD_GIVE_LONGER,
    DG_SUBWORD_GIVE_FIRST,
    DG_SUBWORD_GIVE_SECOND,
};

struct dg_subword_join {
    bool is_pair;
    enum dg_subword_give give;
    size_t max;  /* the most tokens, including those of the template */
    size_t skip; /* tokens to leave out at the beginning of the last text (in a pair, the second) */
};

struct dg_subword_joined {
    const struct dg_subword_token *tokens; /* borrowed from the work until its next use */
    size_t n;
    size_t n_last; /* how many of them belong to the last text */
    size_t n_left; /* tokens of the last text that follow, for the next window */
    size_t n_lost; /* tokens of a pair's first text that did not fit */
};

/* DG_ERR_RANGE when `max` has no room for anything but the template. */
enum dg_err dg_subword_join(const struct dg_subword *subword, struct dg_subword_work *work,
                            const struct dg_subword_join *join, struct dg_error *error,
                            struct dg_subword_joined *joined) DG_MUST_CHECK;

/* ---- Decoding -------------------------------------------------------------------------------- */

/* Deltas are whole characters of valid UTF-8, which are never taken back. Bytes that do not form a
 * character become U+FFFD. Special tokens produce no text. */
struct dg_subword_stream {
    const struct dg_subword *subword; /* borrowed */
    bool goes_on;                     /* the ids continue a text, so a first space is kept */
    bool has_begun;
    uint8_t held[4]; /* the first bytes of a character */
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
