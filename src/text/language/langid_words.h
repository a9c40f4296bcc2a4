/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The features of a text for language identification: words of one script each, lower-cased and
 * composed, and the hashed character n-grams of each word. langid.c, which adds up weights, and
 * langid_train.c, which learns them, share this code, so that both see the same features.
 *
 *     struct dg_langid_words words;
 *     dg_langid_words_start(&words, text);
 *     while (dg_langid_words_next(&words))
 *         DG_LANGID_GRAMS(&words, hash, { ... words.script, hash ... });
 *
 * A word is a run of letters and marks of one script (Han, Hiragana, Katakana and Bopomofo count as
 * one); apostrophes between letters belong to it. Digits, punctuation, emoji, control characters
 * and broken UTF-8 end it. Words in addresses (with '@', "://", '/', '\\', '_' or a dot between
 * letters) are skipped: they say nothing about the language. A decomposed letter and its mark are
 * composed. A run longer than DG_LANGID_WORD_MAX becomes several words. */
#ifndef DG_TEXT_LANGUAGE_LANGID_WORDS_H
#define DG_TEXT_LANGUAGE_LANGID_WORDS_H

#include "base/memory/span.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    DG_LANGID_WORD_MAX = 62, /* the most code points of one word */
    DG_LANGID_GRAM_MAX = 5,  /* the longest n-gram, including word boundaries */
    /* the most letters of a text that are read; the rest is ignored */
    DG_LANGID_LETTERS_MAX = 4096,
};

struct dg_langid_words {
    /* The current word. */
    int script;             /* an ICU UScriptCode */
    int len;                /* code points between the boundaries */
    uint32_t whole, before; /* hashes of the word and of the one before it; 0: there is none */
    uint32_t cp[DG_LANGID_WORD_MAX + 2]; /* the word between two boundaries */

    /* The position of the reader. */
    const char *text;
    size_t text_len, at;
    size_t skip_until; /* the end of an address-like token that is being skipped */
    size_t token_end;  /* end of the token that was checked for being an address */
    size_t n_letters;
};

void dg_langid_words_start(struct dg_langid_words *words, struct dg_span text);

/* Moves to the next word; false at the end. */
bool dg_langid_words_next(struct dg_langid_words *words);

/* One step, and the last step, of the n-gram hash. */
static inline uint32_t dg_langid_hash_step(uint32_t hash, uint32_t cp)
{
    hash = (hash ^ cp) * 0x9E3779B1u;
    return hash ^ (hash >> 15);
}

static inline uint32_t dg_langid_hash_end(uint32_t hash)
{
    hash *= 0x85EBCA6Bu;
    return hash ^ (hash >> 13);
}

/* Runs `code` with `hash` set to each n-gram of the word: all of 1 to DG_LANGID_GRAM_MAX code
 * points (boundaries count, but not alone), the whole word when it is longer than that, and the
 * word with the one before it. */
#define DG_LANGID_GRAMS(words, hash, code)                                                         \
    do {                                                                                           \
        int dg_n_ = (words)->len + 2;                                                              \
        for (int dg_i_ = 0; dg_i_ < dg_n_; dg_i_++) {                                              \
            uint32_t dg_h_ = 0;                                                                    \
            int dg_last_ =                                                                         \
                dg_i_ + DG_LANGID_GRAM_MAX < dg_n_ ? dg_i_ + DG_LANGID_GRAM_MAX : dg_n_;           \
            for (int dg_k_ = dg_i_; dg_k_ < dg_last_; dg_k_++) {                                   \
                dg_h_ = dg_langid_hash_step(dg_h_, (words)->cp[dg_k_]);                            \
                if (dg_k_ == dg_i_ && (words)->cp[dg_k_] == ' ')                                   \
                    continue;                                                                      \
                uint32_t hash = dg_langid_hash_end(dg_h_);                                         \
                code                                                                               \
            }                                                                                      \
        }                                                                                          \
        if (dg_n_ > DG_LANGID_GRAM_MAX) {                                                          \
            uint32_t hash = (words)->whole;                                                        \
            code                                                                                   \
        }                                                                                          \
        if ((words)->before) {                                                                     \
            uint32_t hash =                                                                        \
                dg_langid_hash_end(dg_langid_hash_step((words)->before, (words)->whole));          \
            code                                                                                   \
        }                                                                                          \
    } while (0)

#endif
