/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Inside the engine: spans that must come through the translation of a sentence unchanged
 * (text/terms/protect.h, and those that the request names). A word that the model knows stands for
 * each span, which is put back afterwards:
 *
 *               "Ouvrez https://a.org/?q dans {0}."
 *     find      "Ouvrez M0 dans M1."    marks: private-use code points, in no model's vocabulary
 *     dress     "Ouvrez Tom dans Ken."  words of the model that the sentence does not contain
 *     ...       "Open Tom in Ken."      the search is forced to say each word once
 *                                       (decode/attention_anchor.h)
 *     undress   "Open https://a.org/?q in {0}."
 *
 *     err = dg_placeholders_find(&placeholders, text, extra, n_extra, &list);    n 0: no spans
 *     err = dg_placeholders_dress(&placeholders, marked, &words, &dressed);      for each model
 *     err = dg_placeholders_undress(&placeholders, &out, dressed_so_far, is_over, &buf);
 *
 * Adjoining spans share one word. Emoji at either end of the sentence are not given to the model at
 * all. Undressed text never shows a word that stands for a span, even while it streams. Any thread,
 * one at a time. */
#ifndef DG_ENGINE_WORDS_PLACEHOLDERS_H
#define DG_ENGINE_WORDS_PLACEHOLDERS_H

#include "base/memory/buf.h"
#include "decode/search_opts.h"
#include "text/terms/phrase_set.h"
#include "text/terms/protect.h"
#include "tokenize/tokenizer.h"

enum {
    DG_PLACEHOLDERS_MAX = 24,       /* the most spans of one sentence that get a placeholder */
    DG_PLACEHOLDERS_WORDS_MAX = 48, /* the most placeholder words of a model */
    DG_PLACEHOLDERS_WORD_IDS = 3,   /* the most tokens of a placeholder word */
};

/* A model's placeholder words: those that it knows on both sides. Immutable. */
struct dg_placeholders_words {
    struct dg_placeholders_word {
        const char *text;
        int32_t ids[DG_PLACEHOLDERS_WORD_IDS]; /* [n_ids] as a target */
        size_t n_ids;
    } items[DG_PLACEHOLDERS_WORDS_MAX];
    size_t n;
};

/* Finds a model's placeholder words; the list is empty for a model that knows none. May return
 * DG_ERR_NOMEM. */
enum dg_err dg_placeholders_words_init(struct dg_placeholders_words *words,
                                       const struct dg_tokenizer *tokenizer) DG_MUST_CHECK;

/* Writes, for each of `n` target ids, 1 when its piece continues a word (owned; dg_free). */
enum dg_err dg_placeholders_joining(const struct dg_tokenizer *tokenizer, size_t n,
                                    uint8_t **joining) DG_MUST_CHECK;

struct dg_placeholders_item {
    size_t at, len;                     /* in the text that was searched for spans */
    bool touches_before, touches_after; /* a letter or digit adjoins it, without a space between */
    bool is_said;                       /* the translation has it */
    int word;                           /* the index of the model's word for it; -1: it has none */
    size_t dressed_at, dressed_len;     /* in the text with placeholder words */
    size_t marked_end, dressed_next;  /* where the text goes on after it: in the marked text and in
                                         the text with words */
    size_t raw_at, raw_end, told_end; /* in the translation: its word before the replacement, and
                                         its end afterwards */
};

struct dg_placeholders {
    char *text; /* owned; [len], a copy of the text that was searched */
    size_t len;
    struct dg_placeholders_item items[DG_PLACEHOLDERS_MAX];
    size_t n;
    size_t n_left;        /* spans beyond DG_PLACEHOLDERS_MAX, which go to the model unchanged */
    bool leaves_numbers;  /* set before the search: plain numbers (text/terms/protect.h) get no
                             placeholder */
    size_t n_numbers;     /* the number of plain numbers that were found */
    uint32_t mark;        /* the code point that marks item 0 */
    struct dg_buf marked; /* the text with marks, but without `before` and `after` */
    struct dg_span before, after; /* what stays outside the sentence; these point into `text` */
    const struct dg_placeholders_words *words; /* the words used last */
};

void dg_placeholders_init(struct dg_placeholders *placeholders);
void dg_placeholders_deinit(struct dg_placeholders *placeholders);

/* Finds the spans of a text. `extra` [n_extra] are sets of further phrases to protect. `list` is
 * scratch. */
enum dg_err dg_placeholders_find(struct dg_placeholders *placeholders, struct dg_span text,
                                 const struct dg_phrase_set *extra, size_t n_extra,
                                 struct dg_protect_list *list) DG_MUST_CHECK;

/* Appends `marked` with words in place of marks. `words` are borrowed until the next dress. */
enum dg_err dg_placeholders_dress(struct dg_placeholders *placeholders, struct dg_span marked,
                                  const struct dg_placeholders_words *words,
                                  struct dg_buf *dressed) DG_MUST_CHECK;

/* Writes a constraint for each dressed item; its source is the item's tokens among the tokens [n]
 * of the dressed text. Returns how many; phrases and constraints have room for DG_PLACEHOLDERS_MAX.
 */
size_t dg_placeholders_constrain(const struct dg_placeholders *placeholders,
                                 const struct dg_token *tokens, size_t n, struct dg_phrase *phrases,
                                 struct dg_constraint *constraints);

/* How far a dressed text has been undressed. All zeros is the start. */
struct dg_placeholders_out {
    size_t n_read;
    bool skips_space; /* no space stood between the last item and what follows */
    bool keeps_marks; /* puts back marks rather than the spans, because another model follows */
    bool any_case;    /* words may have changed their case */
};

/* Reads on in `dressed` from where it stopped, and appends the undressed text that is certain; when
 * is_over, all the rest. */
enum dg_err dg_placeholders_undress(struct dg_placeholders *placeholders,
                                    struct dg_placeholders_out *out, struct dg_span dressed,
                                    bool is_over, struct dg_buf *buf) DG_MUST_CHECK;

/* Converts an offset in the (first) dressed text to the offset in the text given to find. */
size_t dg_placeholders_origin(const struct dg_placeholders *placeholders, size_t dressed,
                              bool is_end);

/* Converts the end of a token in the dressed translation to an offset in the undressed one, which
 * begins at `begin` of `len` bytes. */
size_t dg_placeholders_told(const struct dg_placeholders *placeholders, size_t raw_end,
                            size_t begin, size_t len);

/* Converts an offset in the marked text to the offset in the last dressed text. */
size_t dg_placeholders_dressed(const struct dg_placeholders *placeholders, size_t marked);

/* Sets is_said of the items that occur unchanged in `text`. */
void dg_placeholders_check(struct dg_placeholders *placeholders, struct dg_span text);

/* Uses no placeholder words: the text goes to the model as it is, and dg_placeholders_check finds
 * out which items came through. */
void dg_placeholders_give_up(struct dg_placeholders *placeholders);

/* Returns the bytes of an item. */
struct dg_span dg_placeholders_bytes(const struct dg_placeholders *placeholders, size_t item);

#endif
