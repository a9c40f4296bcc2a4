/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A demanded term consists of separate words, so a model that has begun "l'" for the word that it
 * expected writes "l artisan", and one that has written "le" continues with the term. */
#include "base/memory/utf8.h"
#include "engine/words/terms.h"

#include <string.h>
#include <strings.h>

/* A French word before a term, and what it becomes together with the blank after it; NULL: it
 * stays. */
static const struct joint {
    const char *word, *before_vowel, *before_consonant;
} joints[] = {
    {"l", "l'", "le "},
    {"d", "d'", "de "},
    {"qu", "qu'", "que "},
    {"jusqu", "jusqu'", "jusque "},
    {"lorsqu", "lorsqu'", "lorsque "},
    {"puisqu", "puisqu'", "puisque "},
    {"le", "l'", NULL},
    {"la", "l'", NULL},
    {"de", "d'", NULL},
    {"du", "de l'", NULL},
    {"que", "qu'", NULL},
    {"au", "à l'", NULL},
    {"ma", "mon ", NULL},
    {"ta", "ton ", NULL},
    {"sa", "son ", NULL},
    {"ce", "cet ", NULL},
    {"beau", "bel ", NULL},
    {"nouveau", "nouvel ", NULL},
};

static bool is_vowel(uint32_t cp)
{
    static const uint32_t vowels[] = {'a',  'e',  'i',  'o',  'u',  'A',  'E',  'I',   'O',
                                      'U',  0xE0, 0xE2, 0xE6, 0xE8, 0xE9, 0xEA, 0xEB,  0xEE,
                                      0xEF, 0xF4, 0xF9, 0xFB, 0xC0, 0xC2, 0xC6, 0xC8,  0xC9,
                                      0xCA, 0xCB, 0xCE, 0xCF, 0xD4, 0xD9, 0xDB, 0x152, 0x153};
    for (size_t i = 0; i < sizeof vowels / sizeof *vowels; i++)
        if (vowels[i] == cp)
            return true;
    return false;
}

/* Returns true where the text begins with a form of a term, whatever the case of its first
 * letter. */
static bool begins_term(const struct dg_terms *terms, struct dg_span text)
{
    uint32_t cp;
    const size_t first = dg_utf8_decode(text, 0, &cp);
    for (size_t i = 0; i < terms->n; i++)
        for (size_t f = 0; f < terms->items[i].term->n_targets; f++) {
            const struct dg_span form = terms->items[i].term->targets[f];
            const size_t head = dg_utf8_decode(form, 0, &cp);
            if (head && head == first && form.len <= text.len &&
                memcmp(form.ptr + head, text.ptr + head, form.len - head) == 0)
                return true;
        }
    return false;
}

static const struct joint *joint_of(struct dg_span word)
{
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++)
        if (word.len == strlen(joints[i].word) &&
            strncasecmp(word.ptr, joints[i].word, word.len) == 0)
            return &joints[i];
    return NULL;
}

/* Returns what replaces the word and the blank before a term; NULL: they stay. */
static const char *joined(struct dg_span word, struct dg_span term)
{
    uint32_t cp = 0;
    const struct joint *joint = joint_of(word);
    if (!joint || dg_utf8_decode(term, 0, &cp) == 0)
        return NULL;
    const bool may_be_mute = (cp | 32) == 'h' && joint->before_consonant;
    return is_vowel(cp) || may_be_mute ? joint->before_vowel : joint->before_consonant;
}

bool dg_terms_may_elide(const struct dg_terms *terms, const char *language)
{
    return terms->n > 0 && strcmp(language, "fr") == 0;
}

/* Appends `with` in place of `word`; its first letter has the case of the word's. */
static enum dg_err put_joined(struct dg_buf *out, struct dg_span word, const char *with)
{
    const bool is_capital = word.ptr[0] >= 'A' && word.ptr[0] <= 'Z';
    uint32_t cp;
    char first[DG_UTF8_MAX_LEN];
    const size_t len = dg_utf8_decode(dg_span_cstr(with), 0, &cp);
    const size_t n = dg_utf8_encode(is_capital ? cp - 32 : cp, first);
    enum dg_err err = dg_buf_append(out, first, n);
    return err ? err : dg_buf_append_cstr(out, with + len);
}

enum dg_err dg_terms_elide(const struct dg_terms *terms, struct dg_buf *text, size_t start)
{
    const struct dg_span from = dg_span_sub(dg_buf_span(text), start, text->len);
    struct dg_buf out;
    size_t word = 0, copied = 0;
    enum dg_err err = DG_OK;
    dg_buf_init(&out, text->max);
    for (size_t at = 0; at + 1 < from.len && !err; at++) {
        if (from.ptr[at] != ' ')
            continue;
        const struct dg_span before = dg_span_sub(from, word, at - word);
        const struct dg_span behind = dg_span_sub(from, at + 1, from.len);
        word = at + 1;
        if (!joint_of(before) || !begins_term(terms, behind))
            continue;
        const char *with = joined(before, behind);
        if (!with)
            continue;
        err = dg_buf_append_span(
            &out, dg_span_sub(from, copied, (size_t)(before.ptr - from.ptr) - copied));
        if (!err)
            err = put_joined(&out, before, with);
        copied = at + 1;
    }
    if (copied && !err)
        err = dg_buf_append_span(&out, dg_span_sub(from, copied, from.len));
    if (copied && !err) {
        dg_buf_truncate(text, start);
        err = dg_buf_append_span(text, dg_buf_span(&out));
    }
    dg_buf_deinit(&out);
    return err;
}
