/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: what must come through the translation of a sentence as it is
 * (text/terms/protect.h, and what the request names). Each such span travels under a name that the
 * model knows, and is put back:
 *
 *     "Ouvrez https://a.org/?q dans {0}."
 *     find      "Ouvrez M0 dans M1."           marks: single code points of private use, no model's
 * word dress     "Ouvrez Tom dans Ken."         words of the model, none of which the sentence has
 *     ...       "Open Tom in Ken."             translated; the search demands each word once
 * (decode/attention_anchor.h) undress   "Open https://a.org/?q in {0}."
 *
 *     err = dg_placeholders_find(&carry, text, extra, n_extra, &list);       carry.n 0: nothing to
 * be done err = dg_placeholders_dress(&carry, marked, &words, &dressed);         for each model
 * that it goes through err = dg_placeholders_undress(&carry, &out, dressed text so far, is_over,
 * &buf)
 *
 * Spans that touch travel together. Emoji at either end of the sentence stay outside of it
 * altogether. What is undressed as it streams never shows a word that stands for a span. Any
 * thread, one at a time. */
#ifndef DG_ENGINE_REQUEST_PLACEHOLDERS_H
#define DG_ENGINE_REQUEST_PLACEHOLDERS_H

#include "base/memory/buf.h"
#include "decode/opts.h"
#include "text/terms/phrase_set.h"
#include "text/terms/protect.h"
#include "tokenize/tokenizer.h"

enum {
    DG_PLACEHOLDERS_MAX = 24,       /* spans that are carried in one sentence */
    DG_PLACEHOLDERS_WORDS_MAX = 48, /* words that a model may have for them, */
    DG_PLACEHOLDERS_WORD_IDS = 3,   /* of so many tokens at most */
};

/* A model's words for what it carries: those that it knows on both sides. Immutable. */
struct dg_placeholders_words {
    struct dg_placeholders_word {
        const char *text;
        int32_t ids[DG_PLACEHOLDERS_WORD_IDS]; /* [n_ids] as a target */
        size_t n_ids;
    } items[DG_PLACEHOLDERS_WORDS_MAX];
    size_t n;
};

/* DG_ERR_NOMEM. A model that knows none has an empty list. */
enum dg_err dg_placeholders_words_init(struct dg_placeholders_words *words,
                                       const struct dg_tokenizer *tokenizer) DG_MUST_CHECK;

/* For each of `n` target ids 1 when its piece goes on with a word (owned; dg_free). */
enum dg_err dg_placeholders_joining(const struct dg_tokenizer *tokenizer, size_t n,
                                    uint8_t **joining) DG_MUST_CHECK;

struct dg_placeholders_item {
    size_t at, len;                     /* in the text given to find */
    bool touches_before, touches_after; /* a letter or digit, without a space */
    bool is_said;                       /* has come back */
    int word;                           /* in the model's words; -1: not dressed */
    size_t dressed_at, dressed_len;     /* in the dressed text */
    size_t raw_at, raw_end, told_end;   /* of the translation: its word before it was undressed, its
                                           end after */
};

struct dg_placeholders {
    char *text; /* owned; [len] a copy of the text given to find */
    size_t len;
    struct dg_placeholders_item items[DG_PLACEHOLDERS_MAX];
    size_t n;
    size_t n_left;        /* spans beyond DG_PLACEHOLDERS_MAX, which go to the model as they are */
    uint32_t mark;        /* code point of item 0 */
    struct dg_buf marked; /* the text with marks, without: */
    struct dg_span before, after; /* what stands outside of the sentence; into `text` */
    const struct dg_placeholders_words *words; /* of the last dress */
};

void dg_placeholders_init(struct dg_placeholders *placeholders);
void dg_placeholders_deinit(struct dg_placeholders *placeholders);

/* `extra` are sets of what is carried besides; [n_extra]. `list` is scratch. */
enum dg_err dg_placeholders_find(struct dg_placeholders *placeholders, struct dg_span text,
                                 const struct dg_phrase_set *extra, size_t n_extra,
                                 struct dg_protect_list *list) DG_MUST_CHECK;

/* Appends `marked` with words for marks. `words` are borrowed until the next dress. */
enum dg_err dg_placeholders_dress(struct dg_placeholders *placeholders, struct dg_span marked,
                                  const struct dg_placeholders_words *words,
                                  struct dg_buf *dressed) DG_MUST_CHECK;

/* One constraint for each item that was dressed, whose source is the tokens [n] of the dressed
 * text. Returns how many; phrases and constraints have room for DG_PLACEHOLDERS_MAX. */
size_t dg_placeholders_constrain(const struct dg_placeholders *placeholders,
                                 const struct dg_token *tokens, size_t n, struct dg_phrase *phrases,
                                 struct dg_constraint *constraints);

/* How far a dressed text was undressed. All zeros is the start. */
struct dg_placeholders_out {
    size_t n_read;
    bool skips_space; /* the item before touched what follows */
    bool keeps_marks; /* marks are put back, not the spans: another model follows */
    bool any_case;    /* words may have changed their case */
};

/* Appends what is certain of `dressed` beyond what was read before; all of it when it is over. */
enum dg_err dg_placeholders_undress(struct dg_placeholders *placeholders,
                                    struct dg_placeholders_out *out, struct dg_span dressed,
                                    bool is_over, struct dg_buf *buf) DG_MUST_CHECK;

/* Where in the text given to find an offset of the (first) dressed text comes from. */
size_t dg_placeholders_origin(const struct dg_placeholders *placeholders, size_t dressed,
                              bool is_end);

/* Where an end in the dressed translation lies in the undressed one, which has `len` bytes. */
size_t dg_placeholders_told(const struct dg_placeholders *placeholders, size_t raw_end, size_t len);

/* Marks as said what stands in `text` as it is. */
void dg_placeholders_check(struct dg_placeholders *placeholders, struct dg_span text);

/* The bytes of an item. */
struct dg_span dg_placeholders_bytes(const struct dg_placeholders *placeholders, size_t item);

#endif
