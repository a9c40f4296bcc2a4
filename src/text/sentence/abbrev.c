/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Choosing a language's table and searching its lists. */
#include "text/sentence/abbrev.h"

#include <stddef.h>
#include <string.h>

static const char *const general_never[] = {
    "al", "cf", "dr", "e.g", "i.e", "ing", "mag", "mr", "mrs", "ms", "prof", "st", "vs", NULL,
};

static const char *const general_number[] = {
    "art", "cap", "fig", "no", "nr", "p", "pp", "ref", "str", "tab", "tel", "vol", NULL,
};

static const struct dg_abbrev general = {
    .language = "", .never = general_never, .number = general_number};

/* For languages that write ordinals with a full stop. */
static const struct dg_abbrev general_ordinals = {
    .language = "", .never = general_never, .number = general_number, .ordinals = true};

static const struct dg_abbrev *const tables[] = {
    &dg_abbrev_de, &dg_abbrev_en, &dg_abbrev_es, &dg_abbrev_fr, &dg_abbrev_it,
    &dg_abbrev_ja, &dg_abbrev_ko, &dg_abbrev_pt, &dg_abbrev_ru, &dg_abbrev_zh,
};

static const char *const ordinal_languages[] = {
    "bs", "cs", "da", "et", "fi", "hr", "hu", "is", "lv",
    "nb", "nn", "no", "pl", "sk", "sl", "sr", "tr",
};

const struct dg_abbrev *dg_abbrev_for(const char *language)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i]->language, language) == 0)
            return tables[i];
    for (size_t i = 0; i < sizeof ordinal_languages / sizeof *ordinal_languages; i++)
        if (strcmp(ordinal_languages[i], language) == 0)
            return &general_ordinals;
    return &general;
}

/* Compares a span with a string, as strcmp does. */
static int compare(struct dg_span word, const char *entry)
{
    int order = strncmp(word.ptr, entry, word.len);
    return order ? order : entry[word.len] ? -1 : 0;
}

bool dg_abbrev_has(const char *const *list, struct dg_span word)
{
    if (!list || word.len == 0)
        return false;
    size_t low = 0, high = 0;
    while (list[high])
        high++;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(word, list[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

enum { WORD_MAX = 24 };

bool dg_abbrev_is_ordinal(const struct dg_abbrev *abbrev, struct dg_span rest)
{
    char low[WORD_MAX];
    size_t len = 0;
    if (!abbrev->ordinals || rest.len == 0)
        return false;
    if (rest.ptr[0] >= 'a' && rest.ptr[0] <= 'z')
        return true;
    for (; len < rest.len && len < WORD_MAX; len++) {
        unsigned char c = (unsigned char)rest.ptr[len];
        if (c < 0x80 && (c | 0x20) < 'a')
            break;
        low[len] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return dg_abbrev_has(abbrev->ordinal, dg_span_make(low, len));
}
