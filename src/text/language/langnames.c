/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A table of names, sorted by their first letter, which is looked up at each word. Letters are
 * compared without case, one at a time, so that nothing of the text is copied. */
#include "text/language/langnames.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <unicode/uchar.h>

enum { NAME_MAX_BYTES = 64, NAMES_MAX = 600, CODE_MAX_BYTES = 16 };

struct name {
    char text[NAME_MAX_BYTES];
    uint32_t first; /* the first letter, without case */
    size_t tag;     /* the index of the tag */
};

struct dg_langnames {
    char tags[NAMES_MAX][DG_LANGTAG_TEXT];
    struct name names[NAMES_MAX];
    size_t n_tags, n;
};

static const char *const codes[] = {
    "af", "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "ceb", "cs", "cy", "da", "de", "el",
    "en", "eo", "es", "et", "eu", "fa", "fi", "fr", "ga", "gl",  "gu", "ha", "he", "hi", "hr",
    "hu", "hy", "id", "ig", "is", "it", "ja", "jv", "ka", "kk",  "km", "kn", "ko", "ku", "ky",
    "la", "lb", "lo", "lt", "lv", "mg", "mi", "mk", "ml", "mn",  "mr", "ms", "mt", "my", "nb",
    "ne", "nl", "nn", "or", "pa", "pl", "ps", "pt", "ro", "ru",  "rw", "sd", "si", "sk", "sl",
    "so", "sq", "sr", "su", "sv", "sw", "ta", "te", "tg", "th",  "tk", "tl", "tr", "tt", "ug",
    "uk", "ur", "uz", "vi", "xh", "yi", "yo", "zh", "zu",
};

/* Further names of these languages. */
static const struct {
    const char *text, *tag;
} others[] = {
    {"Simplified Chinese", "zh-Hans"},
    {"Chinese (Simplified)", "zh-Hans"},
    {"Traditional Chinese", "zh-Hant"},
    {"简体中文", "zh-Hans"},
    {"Chinese (Traditional)", "zh-Hant"},
    {"繁體中文", "zh-Hant"},
    {"繁体中文", "zh-Hant"},
    {"Mandarin", "zh-Hans"},
    {"中文", "zh"},
    {"汉语", "zh"},
    {"英文", "en"},
    {"法文", "fr"},
    {"德文", "de"},
    {"日文", "ja"},
    {"韩文", "ko"},
    {"俄文", "ru"},
    {"西班牙文", "es"},
    {"英語", "en"},
    {"法語", "fr"},
    {"Brazilian Portuguese", "pt-BR"},
    {"Portuguese (Brazil)", "pt-BR"},
    {"Farsi", "fa"},
    {"Tagalog", "tl"},
    {"Norwegian", "nb"},
    {"Castilian", "es"},
    {"Slovene", "sl"},
    {"Burmese", "my"},
};

/* ---- Letters --------------------------------------------------------------------------------- */

static bool stands_alone(uint32_t cp)
{
    return cp >= 0x2E80 && !(cp >= 0xAC00 && cp <= 0xD7AF) && cp < 0x1F000;
}

static bool is_word_letter(uint32_t cp)
{
    return u_isalnum((UChar32)cp) || (u_getCombiningClass((UChar32)cp) != 0);
}

static size_t letter_before(struct dg_span text, size_t at, uint32_t *cp)
{
    size_t back = 1;
    while (back < at && back < DG_UTF8_MAX_LEN &&
           ((unsigned char)text.ptr[at - back] & 0xC0) == 0x80)
        back++;
    return at ? dg_utf8_decode(text, at - back, cp) : 0;
}

bool dg_langnames_word_begins(struct dg_span text, size_t at)
{
    uint32_t here, before;
    if (dg_utf8_decode(text, at, &here) == 0 || !is_word_letter(here))
        return false;
    return letter_before(text, at, &before) == 0 || !is_word_letter(before) || stands_alone(here) ||
           stands_alone(before);
}

size_t dg_langnames_word(struct dg_span text, size_t at)
{
    const size_t start = at;
    uint32_t cp;
    for (size_t len; (len = dg_utf8_decode(text, at, &cp)) > 0 && is_word_letter(cp); at += len) {
        if (stands_alone(cp))
            return at > start ? at - start : len;
    }
    return at - start;
}

/* Bytes of the text that read like the name without case; 0 where they do not. */
static size_t reads_like(struct dg_span text, size_t at, struct dg_span name)
{
    const size_t start = at;
    uint32_t said = 0, wanted = 0;
    for (size_t i = 0, len, n; i < name.len; i += n, at += len) {
        n = dg_utf8_decode(name, i, &wanted);
        len = dg_utf8_decode(text, at, &said);
        if (n == 0 || len == 0 ||
            u_foldCase((UChar32)said, U_FOLD_CASE_DEFAULT) !=
                u_foldCase((UChar32)wanted, U_FOLD_CASE_DEFAULT))
            return 0;
    }
    const bool is_whole = dg_utf8_decode(text, at, &said) == 0 || !is_word_letter(said) ||
                          !is_word_letter(wanted) || stands_alone(wanted) || stands_alone(said);
    return is_whole ? at - start : 0;
}

/* ---- The table ------------------------------------------------------------------------------- */

static size_t tag_of(struct dg_langnames *names, const char *tag)
{
    for (size_t i = 0; i < names->n_tags; i++)
        if (strcmp(names->tags[i], tag) == 0)
            return i;
    snprintf(names->tags[names->n_tags], DG_LANGTAG_TEXT, "%s", tag);
    return names->n_tags++;
}

static void add(struct dg_langnames *names, struct dg_span text, const char *tag)
{
    uint32_t first;
    if (names->n == NAMES_MAX || text.len == 0 || text.len >= NAME_MAX_BYTES ||
        dg_utf8_decode(text, 0, &first) == 0)
        return;
    struct name *name = &names->names[names->n++];
    memcpy(name->text, text.ptr, text.len);
    name->text[text.len] = '\0';
    name->first = (uint32_t)u_foldCase((UChar32)first, U_FOLD_CASE_DEFAULT);
    name->tag = tag_of(names, tag);
}

static int by_first(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

struct dg_langnames *dg_langnames_new(void)
{
    struct dg_langnames *names = dg_try_calloc(1, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const char *const locales[] = {"en", codes[i], "zh"};
        struct dg_langtag tag;
        if (dg_langtag_parse(dg_span_cstr(codes[i]), &tag, NULL))
            continue;
        for (size_t k = 0; k < sizeof locales / sizeof *locales; k++) {
            struct dg_buf name;
            dg_buf_init(&name, 4 * NAME_MAX_BYTES);
            if (dg_langtag_name(&tag, locales[k], &name) == DG_OK)
                add(names, dg_buf_span(&name), codes[i]);
            dg_buf_deinit(&name);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(names, dg_span_cstr(others[i].text), others[i].tag);
    qsort(names->names, names->n, sizeof *names->names, by_first);
    return names;
}

void dg_langnames_free(struct dg_langnames *names)
{
    dg_free(names);
}

size_t dg_langnames_at(const struct dg_langnames *names, struct dg_span text, size_t at,
                       const char **tag)
{
    uint32_t cp;
    size_t low = 0, high = names->n, best = 0;
    if (!dg_langnames_word_begins(text, at) || dg_utf8_decode(text, at, &cp) == 0)
        return 0;
    cp = (uint32_t)u_foldCase((UChar32)cp, U_FOLD_CASE_DEFAULT);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (names->names[middle].first < cp)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < names->n && names->names[low].first == cp; low++) {
        const size_t len = reads_like(text, at, dg_span_cstr(names->names[low].text));
        if (len > best) {
            best = len;
            *tag = names->tags[names->names[low].tag];
        }
    }
    return best;
}

const char *dg_langnames_code(const struct dg_langnames *names, struct dg_span code)
{
    struct dg_langtag tag;
    if (code.len < 2 || code.len > CODE_MAX_BYTES || dg_langtag_parse(code, &tag, NULL))
        return NULL;
    const bool is_traditional =
        strcmp(tag.language, "zh") == 0 && strcmp(tag.likely_script, "Hant") == 0;
    for (size_t i = 0; i < names->n_tags; i++)
        if (strcmp(names->tags[i], is_traditional ? "zh-Hant" : tag.text) == 0)
            return names->tags[i];
    for (size_t i = 0; i < names->n_tags; i++)
        if (strcmp(names->tags[i], tag.language) == 0)
            return names->tags[i];
    return NULL;
}
