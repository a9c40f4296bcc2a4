/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A spelling passes three steps: our own table of aliases, ICU's parser, and a second table for
 * languages that data sets name by a member of a group (arb for Arabic). */
#include "text/language/langtag.h"

#include <stdint.h>
#include <string.h>

#include <unicode/uldnames.h>
#include <unicode/uloc.h>
#include <unicode/ustring.h>

struct alias {
    const char *from, *to;
};

/* Whole tags, or their first part: what programs and older standards write. */
static const struct alias habits[] = {
    {"pb", "pt-BR"},    {"zt", "zh-Hant"},  {"zh-chs", "zh-Hans"}, {"zh-cht", "zh-Hant"},
    {"zhs", "zh-Hans"}, {"zht", "zh-Hant"}, {"cn", "zh"},          {"jp", "ja"},
    {"mo", "ro"},       {"sh", "sr-Latn"},  {"iw", "he"},          {"in", "id"},
    {"ji", "yi"},       {"no", "nb"},       {"zh-cmn", "zh"},      {"zh-min-nan", "nan"},
};

/* Languages: a member that stands for its group, and the code in common use. */
static const struct alias members[] = {
    {"arb", "ar"}, {"cmn", "zh"}, {"pes", "fa"},    {"nor", "nb"},      {"zsm", "ms"},
    {"swh", "sw"}, {"lvs", "lv"}, {"ekk", "et"},    {"khk", "mn"},      {"plt", "mg"},
    {"npi", "ne"}, {"ory", "or"}, {"gaz", "om"},    {"ydd", "yi"},      {"uzn", "uz"},
    {"azj", "az"}, {"quy", "qu"}, {"als", "sq"},    {"pbt", "ps"},      {"kmr", "ku"},
    {"ayr", "ay"}, {"fil", "tl"}, {"prs", "fa-AF"}, {"hbs", "sr-Latn"},
};

enum { N_HABITS = sizeof habits / sizeof *habits, N_MEMBERS = sizeof members / sizeof *members };

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Lower-cases, '_' to '-', without surrounding spaces and the POSIX ending; `modifier` is what
 * stood after '@'. */
static bool tidy(struct dg_span text, char *out, struct dg_span *modifier)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    *modifier = dg_span_make(NULL, 0);
    if (text.len == 0 || text.len >= DG_LANGTAG_INPUT_MAX)
        return false;
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = ascii_lower(text.ptr[i]);
        if (c == '.' || c == '@') {
            const char *at = memchr(text.ptr + i, '@', text.len - i);
            if (at)
                *modifier = dg_span_make(at + 1, text.len - (size_t)(at + 1 - text.ptr));
            break;
        }
        c = c == '_' ? '-' : c;
        if (!is_alnum(c) && c != '-')
            return false;
        out[len++] = c;
    }
    out[len] = '\0';
    return len > 0;
}

/* Replaces the whole or the first part of `tag` by its alias; longest match first. */
static void replace_alias(char *tag, size_t cap, const struct alias *aliases, size_t n)
{
    const struct alias *best = NULL;
    size_t best_len = 0, tag_len = strlen(tag);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(aliases[i].from);
        if (len > best_len && strncmp(tag, aliases[i].from, len) == 0 &&
            (tag[len] == '\0' || tag[len] == '-')) {
            best = &aliases[i];
            best_len = len;
        }
    }
    if (!best)
        return;
    size_t to_len = strlen(best->to);
    if (to_len + tag_len - best_len + 1 > cap)
        return;
    memmove(tag + to_len, tag + best_len, tag_len - best_len + 1);
    memcpy(tag, best->to, to_len);
}

/* Without memory ICU finds nothing in any tag; that is not the tag's fault. */
static void note_lack_of_memory(UErrorCode status, enum dg_err *err)
{
    if (status == U_MEMORY_ALLOCATION_ERROR)
        *err = DG_ERR_NOMEM;
}

/* A part of a locale; "" when it is too long or absent. */
static void get_part(int32_t (*get)(const char *, char *, int32_t, UErrorCode *),
                     const char *locale, char *out, int32_t cap, enum dg_err *err)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t len = get(locale, out, cap, &status);
    note_lack_of_memory(status, err);
    if (U_FAILURE(status) || len >= cap || len < 0)
        len = 0;
    out[len] = '\0';
}

/* Turns a three-letter country after the language (en-usa) into the two letters of BCP-47. */
static void shorten_country(char *tag)
{
    char *country = strchr(tag, '-');
    if (!country || strlen(country + 1) < 3 || (country[4] != '\0' && country[4] != '-'))
        return;
    for (const char *const *known = uloc_getISOCountries(); *known; known++) {
        char locale[8] = {'_', (*known)[0], (*known)[1], '\0'};
        const char *three = uloc_getISO3Country(locale);
        if (strlen(three) == 3 && ascii_lower(three[0]) == country[1] &&
            ascii_lower(three[1]) == country[2] && ascii_lower(three[2]) == country[3]) {
            country[1] = (*known)[0];
            country[2] = (*known)[1];
            memmove(country + 3, country + 4, strlen(country + 4) + 1);
            return;
        }
    }
}

/* ICU's name of the locale, by way of the canonical tag, which turns eng into en and iw into he. */
static bool read_locale(const char *tag, char *locale, int32_t cap, enum dg_err *err)
{
    char canonical[ULOC_FULLNAME_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    int32_t len = uloc_forLanguageTag(tag, locale, cap, &parsed, &status);
    note_lack_of_memory(status, err);
    if (U_FAILURE(status) || len <= 0 || len >= cap || (size_t)parsed != strlen(tag))
        return false;
    len = uloc_toLanguageTag(locale, canonical, sizeof canonical, false, &status);
    note_lack_of_memory(status, err);
    if (U_FAILURE(status) || len <= 0 || len >= (int32_t)sizeof canonical)
        return false;
    len = uloc_forLanguageTag(canonical, locale, cap, &parsed, &status);
    note_lack_of_memory(status, err);
    return U_SUCCESS(status) && len > 0 && len < cap;
}

static void write_text(struct dg_langtag *tag)
{
    char *at = tag->text;
    const char *parts[] = {tag->language, tag->script, tag->region};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(parts[i]);
        if (len == 0)
            continue;
        if (at != tag->text)
            *at++ = '-';
        memcpy(at, parts[i], len);
        at += len;
    }
    *at = '\0';
}

/* Fills in the likely script and region of the language, given the script or region in the tag. */
static void fill_likely(struct dg_langtag *tag, enum dg_err *err)
{
    char full[ULOC_FULLNAME_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    int32_t len = uloc_addLikelySubtags(tag->text, full, sizeof full, &status);
    note_lack_of_memory(status, err);
    if (U_FAILURE(status) || len >= (int32_t)sizeof full)
        full[0] = '\0';
    get_part(uloc_getScript, full, tag->likely_script, sizeof tag->likely_script, err);
    get_part(uloc_getCountry, full, tag->likely_region, sizeof tag->likely_region, err);
}

/* Drops a script that the language (in this region) uses anyway. */
static void drop_needless_script(struct dg_langtag *tag, enum dg_err *err)
{
    if (!tag->script[0] || strcmp(tag->language, "zh") == 0)
        return;
    struct dg_langtag bare = *tag;
    bare.script[0] = '\0';
    write_text(&bare);
    fill_likely(&bare, err);
    bool is_usual = strcmp(bare.likely_script, tag->script) == 0;
    bool is_korean =
        /* for kor_Hang */
        strcmp(bare.likely_script, "Kore") == 0 && strcmp(tag->script, "Hang") == 0;
    /* for languages that ICU does not know */
    bool is_latin = !*bare.likely_script && strcmp(tag->script, "Latn") == 0;
    if (is_usual || is_korean || is_latin)
        tag->script[0] = '\0';
}

static void apply_modifier(struct dg_langtag *tag, struct dg_span modifier)
{
    if (tag->script[0])
        return;
    if (dg_span_eq(modifier, DG_SPAN("latin")))
        memcpy(tag->script, "Latn", 5);
    else if (dg_span_eq(modifier, DG_SPAN("cyrillic")))
        memcpy(tag->script, "Cyrl", 5);
}

static enum dg_err parse_once(struct dg_span text, struct dg_langtag *out, struct dg_error *error)
{
    char tidied[DG_LANGTAG_INPUT_MAX + 16], locale[ULOC_FULLNAME_CAPACITY];
    struct dg_span modifier;
    if (!tidy(text, tidied, &modifier))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "\"%.*s\" is not a language tag; expected something like en, pt-BR or zh-Hans",
            (int)(text.len < 64 ? text.len : 64), text.ptr ? text.ptr : "");
    replace_alias(tidied, sizeof tidied, habits, N_HABITS);
    shorten_country(tidied);
    struct dg_langtag tag = {0};
    enum dg_err err = DG_OK;
    if (read_locale(tidied, locale, sizeof locale, &err))
        get_part(uloc_getLanguage, locale, tag.language, sizeof tag.language, &err);
    if (err)
        return err;
    size_t n_letters = strlen(tag.language); /* subtags of four to eight letters are reserved:
                                                "auto", "english" */
    if (n_letters < 2 || n_letters > 3 || strcmp(tag.language, "und") == 0)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "\"%.*s\" is not a language tag; expected something like en, pt-BR or zh-Hans",
            (int)(text.len < 64 ? text.len : 64), text.ptr);
    get_part(uloc_getScript, locale, tag.script, sizeof tag.script, &err);
    get_part(uloc_getCountry, locale, tag.region, sizeof tag.region, &err);
    char member[16];
    memcpy(member, tag.language, sizeof tag.language);
    replace_alias(member, sizeof member, members, N_MEMBERS);
    const char *dash = strchr(member, '-');
    if (dash && strlen(dash + 1) == 4 && !tag.script[0])
        memcpy(tag.script, dash + 1, 5);
    if (dash && strlen(dash + 1) == 2 && !tag.region[0])
        memcpy(tag.region, dash + 1, 3);
    size_t len = dash ? (size_t)(dash - member) : strlen(member);
    memcpy(tag.language, member, len);
    tag.language[len] = '\0';
    apply_modifier(&tag, modifier);
    drop_needless_script(&tag, &err);
    write_text(&tag);
    fill_likely(&tag, &err);
    *out = tag;
    return err;
}

/* ICU may find a language in an odd place ("ha-zht"), which then has an alias of its own: the
 * result is parsed again until it no longer changes. */
static enum dg_err parse_anew(struct dg_span text, struct dg_langtag *out, struct dg_error *error)
{
    struct dg_langtag tag, again;
    enum dg_err err = parse_once(text, &tag, error);
    for (int round = 0; !err && round < 3; round++) {
        err = parse_once(dg_span_cstr(tag.text), &again, error);
        if (!err && strcmp(tag.text, again.text) == 0) {
            *out = again;
            return DG_OK;
        }
        tag = again;
    }
    return err ? err
               : dg_error_set(error, DG_ERR_INVALID, "\"%.*s\" is not a language tag",
                              (int)(text.len < 64 ? text.len : 64), text.ptr);
}

/* Requests name the same few languages over and over, and ICU takes longer to read their tags than
 * the cache takes to answer a sentence. So each thread keeps the tags that it read last, one in
 * each place. */
enum { KEPT = 16 };
static _Thread_local struct {
    size_t len; /* of the text as it was read; 0: the place is empty */
    char text[DG_LANGTAG_TEXT];
    struct dg_langtag tag;
} kept[KEPT];

enum dg_err dg_langtag_parse(struct dg_span text, struct dg_langtag *out, struct dg_error *error)
{
    if (text.len == 0 || text.len > sizeof kept->text)
        return parse_anew(text, out, error);
    size_t place = text.len;
    for (size_t i = 0; i < text.len; i++)
        place = place * 31 + (unsigned char)text.ptr[i];
    place %= KEPT;
    if (text.len == kept[place].len && memcmp(text.ptr, kept[place].text, text.len) == 0) {
        *out = kept[place].tag;
        return DG_OK;
    }
    enum dg_err err = parse_anew(text, out, error);
    if (!err) {
        kept[place].len = text.len;
        memcpy(kept[place].text, text.ptr, text.len);
        kept[place].tag = *out;
    }
    return err;
}

enum dg_err dg_langtag_language(struct dg_span text, char *language)
{
    struct dg_langtag tag;
    enum dg_err err = dg_langtag_parse(text, &tag, NULL);
    if (!err)
        memcpy(language, tag.language, sizeof tag.language);
    return err;
}

enum dg_langtag_fit dg_langtag_compare(const struct dg_langtag *want,
                                       const struct dg_langtag *offered)
{
    if (strcmp(want->language, offered->language) != 0)
        return DG_LANGTAG_NONE;
    if (strcmp(want->likely_script, offered->likely_script) != 0)
        return DG_LANGTAG_SCRIPT;
    if (strcmp(want->likely_region, offered->likely_region) != 0)
        return DG_LANGTAG_REGION;
    return DG_LANGTAG_SAME;
}

enum dg_langtag_fit dg_langtag_match(const struct dg_langtag *want,
                                     const struct dg_langtag *offered, size_t n, size_t *index)
{
    enum dg_langtag_fit best = DG_LANGTAG_NONE;
    bool best_names_region = false;
    for (size_t i = 0; i < n; i++) {
        enum dg_langtag_fit fit = dg_langtag_compare(want, &offered[i]);
        bool names_region = offered[i].region[0] != '\0';
        if (fit == DG_LANGTAG_NONE)
            continue;
        if (fit > best ||
            (fit == best && fit != DG_LANGTAG_SAME && best_names_region && !names_region)) {
            best = fit;
            best_names_region = names_region;
            *index = i;
        }
    }
    return best;
}

/* ---- Names ----------------------------------------------------------------------------------- */

enum { NAME_MAX_UNITS = 256 };

static enum dg_err append_utf16(struct dg_buf *out, const UChar *name, int32_t len)
{
    char utf8[NAME_MAX_UNITS * 3 + 1];
    int32_t utf8_len = 0;
    UErrorCode status = U_ZERO_ERROR;
    u_strToUTF8(utf8, sizeof utf8, &utf8_len, name, len, &status);
    if (U_FAILURE(status))
        return DG_ERR_INTERNAL;
    return dg_buf_append(out, utf8, (size_t)utf8_len);
}

enum dg_err dg_langtag_name(const struct dg_langtag *tag, const char *locale, struct dg_buf *out)
{
    struct dg_langtag in;
    const char *in_text = dg_langtag_parse(dg_span_cstr(locale), &in, NULL) ? "en" : in.text;
    UDisplayContext contexts[] = {UDISPCTX_DIALECT_NAMES};
    UErrorCode status = U_ZERO_ERROR;
    ULocaleDisplayNames *names = uldn_openForContext(in_text, contexts, 1, &status);
    if (U_FAILURE(status))
        return dg_buf_append_cstr(out, tag->text);
    UChar name[NAME_MAX_UNITS];
    int32_t len = uldn_localeDisplayName(names, tag->text, name, NAME_MAX_UNITS, &status);
    uldn_close(names);
    if (U_FAILURE(status) || len <= 0 || len > NAME_MAX_UNITS)
        return dg_buf_append_cstr(out, tag->text);
    return append_utf16(out, name, len);
}
