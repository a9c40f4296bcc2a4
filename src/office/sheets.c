/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A reference ends a sheet's name with a mark: Prices!A1, 'My prices'!A1, [$Prices.A1]. From each
 * mark the name is read backwards, over a bounded number of bytes, and looked up. */
#define _GNU_SOURCE 1 /* memmem */
#include "office/sheets.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/entity.h"

#include <string.h>

enum {
    SHEETS_MAX = 100 * 1000,
    ARENA_MAX = 64 << 20,
    REFERENCE_MAX = 512, /* bytes of a name in a reference */
    UNITS_MAX = 31,      /* of a name, in UTF-16, as Excel counts */
};

struct sheet {
    bool stays;
    const struct sheet *owner; /* of a new name: the sheet that got it */
};

void dg_sheets_init(struct dg_sheets *sheets, char mark)
{
    *sheets = (struct dg_sheets){.mark = mark};
    dg_map_init(&sheets->names, SHEETS_MAX);
    dg_arena_init(&sheets->arena, ARENA_MAX);
}

void dg_sheets_deinit(struct dg_sheets *sheets)
{
    dg_map_deinit(&sheets->names);
    dg_arena_deinit(&sheets->arena);
}

void dg_sheets_keep(struct dg_sheets *sheets)
{
    sheets->all_stay = true;
}

/* Copies text with references like &#233; replaced by their characters, because a program may write
 * references in one part and characters in another. The text never becomes longer. */
static size_t put_characters(struct dg_span text, char *out, size_t cap)
{
    size_t n = 0, len;
    uint32_t cp;
    for (size_t i = 0; i < text.len && n + DG_UTF8_MAX_LEN <= cap; i += len) {
        len = text.ptr[i] == '&' && i + 1 < text.len && text.ptr[i + 1] == '#'
                  ? dg_entity_match(text, i, DG_ENTITY_XML, &cp)
                  : 0;
        if (len > 0 && cp >= 0x80) {
            n += dg_utf8_encode(cp, out + n);
        } else {
            len = 1;
            out[n++] = text.ptr[i];
        }
    }
    return n;
}

/* Programs compare names without regard to case. */
static struct dg_span fold(struct dg_span name, char folded[REFERENCE_MAX + DG_UTF8_MAX_LEN])
{
    const size_t len = put_characters(dg_span_sub(name, 0, REFERENCE_MAX), folded,
                                      REFERENCE_MAX + DG_UTF8_MAX_LEN);
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)folded[i];
        const bool is_latin1 = i > 0 && folded[i - 1] == '\xC3'; /* U+00C0 to U+00DE */
        const bool is_capital =
            (c >= 'A' && c <= 'Z') || (is_latin1 && c >= 0x80 && c <= 0x9E && c != 0x97);
        folded[i] = (char)(is_capital ? c | 0x20 : c);
    }
    return dg_span_make(folded, len);
}

static struct sheet *find(const struct dg_sheets *sheets, struct dg_span name)
{
    char folded[REFERENCE_MAX + DG_UTF8_MAX_LEN];
    return dg_map_get_ptr(&sheets->names, fold(name, folded));
}

enum dg_err dg_sheets_add(struct dg_sheets *sheets, struct dg_span name)
{
    char folded[REFERENCE_MAX + DG_UTF8_MAX_LEN];
    if (name.len >= REFERENCE_MAX)
        sheets->all_stay = true;
    if (find(sheets, name))
        return DG_OK;
    const struct dg_span key = dg_arena_copy(&sheets->arena, fold(name, folded));
    struct sheet *sheet = dg_arena_calloc(&sheets->arena, 1, sizeof *sheet);
    return key.ptr && sheet ? dg_map_put_ptr(&sheets->names, key, sheet) : DG_ERR_NOMEM;
}

bool dg_sheets_may_change(const struct dg_sheets *sheets, struct dg_span name)
{
    const struct sheet *sheet = find(sheets, name);
    return !sheets->all_stay && sheet && !sheet->stays;
}

/* ---- References ------------------------------------------------------------------------------ */

static void keep_name(struct dg_sheets *sheets, struct dg_span name)
{
    struct sheet *sheet = find(sheets, name);
    if (sheet)
        sheet->stays = true;
}

/* The bytes of a quotation mark directly before `end`; 0: there is none. */
static size_t quote_before(struct dg_span part, size_t end)
{
    static const char *const quotes[] = {"'", "&apos;", "&#39;"};
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++)
        if (dg_span_ends(dg_span_sub(part, 0, end), dg_span_cstr(quotes[i])))
            return strlen(quotes[i]);
    return 0;
}

/* 'First sheet' or 'First:Last'; `end` is after the name. A name that contains a quotation mark is
 * not taken apart. */
static void keep_quoted(struct dg_sheets *sheets, struct dg_span part, size_t end)
{
    size_t at = end, n = 0;
    while (at > 0 && end - at < REFERENCE_MAX && !(n = quote_before(part, at)))
        at--;
    if (n == 0 || quote_before(part, at - n)) {
        sheets->all_stay = true;
        return;
    }
    struct dg_span name = dg_span_sub(part, at, end - at);
    const char *file_end = name.len ? memrchr(name.ptr, ']', name.len) : NULL;
    if (file_end)
        name = dg_span_sub(name, (size_t)(file_end - name.ptr) + 1, name.len);
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    const size_t first = colon ? (size_t)(colon - name.ptr) : 0;
    keep_name(sheets, dg_span_sub(name, colon ? first + 1 : 0, name.len));
    keep_name(sheets, dg_span_sub(name, 0, first));
}

/* A name without quotation marks has letters, digits, underscores, and in Office Open XML full
 * stops. In First:Last!A1 both names count. */
static void keep_plain(struct dg_sheets *sheets, struct dg_span part, size_t end)
{
    static const char around[] = " \t\r\n=()+-*/^,;<>\"'{}[]$:!~|&@#%?";
    for (int n_names = 0; n_names < 2; n_names++) {
        size_t at = end;
        while (at > 0 && end - at < REFERENCE_MAX && part.ptr[at - 1] != sheets->mark &&
               part.ptr[at - 1] && !strchr(around, part.ptr[at - 1]))
            at--;
        keep_name(sheets, dg_span_sub(part, at, end - at));
        if (at == 0 || part.ptr[at - 1] != ':')
            break;
        end = at - 1;
    }
}

/* <worksheetSource ref="A1:C9" sheet="Prices"/> */
static void keep_attributes(struct dg_sheets *sheets, struct dg_span part)
{
    static const char attribute[] = " sheet=\"";
    for (size_t at = 0; at < part.len;) {
        const char *found = memmem(part.ptr + at, part.len - at, attribute, sizeof attribute - 1);
        if (!found)
            break;
        at = (size_t)(found - part.ptr) + sizeof attribute - 1;
        const char *end = at < part.len ? memchr(part.ptr + at, '"', part.len - at) : NULL;
        if (end && (size_t)(end - part.ptr) - at < REFERENCE_MAX)
            keep_name(sheets, dg_span_sub(part, at, (size_t)(end - part.ptr) - at));
        if (!end)
            break;
    }
}

static void look(struct dg_sheets *sheets, struct dg_span part)
{
    bool in_tag = sheets->mark == '!'; /* there, formulas are text of elements */
    /* References that are made of text, and those in addresses, with the signs that addresses
     * use. */
    if (dg_chars_holds(part, "INDIRECT") ||
        (dg_chars_holds(part, "%20") && dg_chars_holds(part, "=\"#")))
        sheets->all_stay = true;
    for (size_t i = 0; i < part.len && !sheets->all_stay; i++) {
        const char c = part.ptr[i];
        if (sheets->mark != '!' && (c == '<' || c == '>'))
            in_tag = c == '<';
        if (!in_tag || c != sheets->mark)
            continue;
        const size_t n = quote_before(part, i);
        if (n)
            keep_quoted(sheets, part, i - n);
        else
            keep_plain(sheets, part, i);
    }
    keep_attributes(sheets, part);
}

void dg_sheets_look(struct dg_sheets *sheets, struct dg_span part)
{
    char *plain = dg_chars_holds(part, "&#") ? dg_try_malloc(part.len + DG_UTF8_MAX_LEN) : NULL;
    if (plain)
        look(sheets, dg_span_make(plain, put_characters(part, plain, part.len + DG_UTF8_MAX_LEN)));
    else if (dg_chars_holds(part, "&#"))
        sheets->all_stay = true; /* there is no memory */
    else
        look(sheets, part);
    dg_free(plain);
}

/* ---- New names ------------------------------------------------------------------------------- */

static bool is_taken_by_programs(struct dg_span name)
{
    static const char forbidden[] = "[]:*?/\\";
    size_t n_units = 0, len;
    uint32_t cp;
    char folded[REFERENCE_MAX + DG_UTF8_MAX_LEN];
    if (name.len == 0 || name.len >= REFERENCE_MAX || quote_before(name, name.len) ||
        name.ptr[0] == '\'' || dg_span_starts(name, DG_SPAN("&apos;")) ||
        dg_span_eq(fold(name, folded), DG_SPAN("history"))) /* Excel's own */
        return false;
    for (size_t i = 0; i < name.len; i += len) {
        len = dg_utf8_decode(name, i, &cp);
        if (len == 0 || cp < 0x20 || (cp < 0x80 && strchr(forbidden, (int)cp)))
            return false;
        n_units += cp >= 0x10000 ? 2 : 1;
    }
    return n_units <= UNITS_MAX;
}

enum dg_err dg_sheets_rename(struct dg_sheets *sheets, struct dg_span name, struct dg_span other)
{
    if (!is_taken_by_programs(other))
        return DG_ERR_INVALID;
    struct sheet *own = find(sheets, name), *found = find(sheets, other);
    if (found)
        return found == own || found->owner == own ? DG_OK : DG_ERR_EXISTS;
    const enum dg_err err = dg_sheets_add(sheets, other);
    if (!err)
        find(sheets, other)->owner = own;
    return err;
}
