/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The scanner: at each character it asks the matchers that can start there, takes the first that
 * answers, and goes on after it. Words are looked at once, at their start; a whole token (run of
 * characters that file names and addresses are made of) is classified once, which keeps it linear.
 */
#include "text/terms/protect.h"

#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "text/terms/protect_int.h"

#include <unicode/uchar.h>

struct scan {
    struct dg_span text;
    unsigned kinds;
    size_t at;
    bool in_word;     /* the character before `at` is a letter, digit or '_' */
    size_t token_end; /* tokens were classified up to here */
    size_t tag_free;  /* no tag starts before this position, because a search for '>' reached it
                         without finding one */
};

void dg_protect_list_init(struct dg_protect_list *list)
{
    *list = (struct dg_protect_list){0};
}

void dg_protect_list_deinit(struct dg_protect_list *list)
{
    dg_free(list->items);
    *list = (struct dg_protect_list){0};
}

static enum dg_err push(struct dg_protect_list *list, struct dg_protect_span span)
{
    if (DG_GROW(list->items, list->n, list->cap, 16))
        return DG_ERR_NOMEM;
    list->items[list->n++] = span;
    return DG_OK;
}

/* A token starts at `at`: address, file name. Classified once. */
static size_t match_word(struct scan *scan, enum dg_protect_kind *kind)
{
    struct dg_span text = scan->text;
    if (scan->at < scan->token_end)
        return 0;
    size_t end = dg_protect_match_url(text, scan->at);
    *kind = DG_PROTECT_URL;
    if (end)
        return end;
    scan->token_end = dg_protect_token_end(text, scan->at);
    return dg_protect_match_token(text, scan->at, scan->token_end, kind);
}

static size_t match_tag(struct scan *scan)
{
    if (scan->at < scan->tag_free)
        return 0;
    return dg_protect_match_tag(scan->text, scan->at, &scan->tag_free);
}

/* Marks that may follow a word. */
static size_t match_mark(struct scan *scan, char c, enum dg_protect_kind *kind)
{
    struct dg_span text = scan->text;
    size_t end;
    switch (c) {
    case '<':
        *kind = DG_PROTECT_TAG;
        return match_tag(scan);
    case '{':
        *kind = DG_PROTECT_BRACES;
        return dg_protect_match_braces(text, scan->at);
    case '&':
        *kind = DG_PROTECT_REFERENCE;
        return dg_protect_match_reference(text, scan->at);
    case '\\':
        *kind = DG_PROTECT_ESCAPE;
        return dg_protect_match_escape(text, scan->at);
    case '$':
        *kind = DG_PROTECT_BRACES;
        if ((end = dg_protect_match_braces(text, scan->at)))
            return end;
        *kind = DG_PROTECT_VARIABLE;
        if (!scan->in_word && (end = dg_protect_match_variable(text, scan->at)))
            return end;
        *kind = DG_PROTECT_NUMBER;
        return scan->in_word ? 0 : dg_protect_match_number(text, scan->at);
    case '%':
        *kind = DG_PROTECT_BRACES;
        if ((end = dg_protect_match_braces(text, scan->at)))
            return end;
        return dg_protect_match_percent(text, scan->at, kind);
    default:
        return 0;
    }
}

/* Marks that start something only where no word precedes them. */
static size_t match_at_start(struct scan *scan, char c, enum dg_protect_kind *kind)
{
    struct dg_span text = scan->text;
    size_t end;
    switch (c) {
    case '#':
        *kind = DG_PROTECT_BRACES;
        if ((end = dg_protect_match_braces(text, scan->at)))
            return end;
        *kind = DG_PROTECT_EMOJI; /* a keycap */
        if ((end = dg_protect_match_emoji(text, scan->at)))
            return end;
        *kind = DG_PROTECT_HASHTAG;
        return dg_protect_match_hashtag(text, scan->at);
    case '@':
        *kind = DG_PROTECT_MENTION;
        return dg_protect_match_mention(text, scan->at);
    case ':':
        *kind = DG_PROTECT_SHORTCODE;
        return dg_protect_match_shortcode(text, scan->at);
    case '*':
        *kind = DG_PROTECT_EMOJI;
        return dg_protect_match_emoji(text, scan->at);
    case '+':
    case '-':
        *kind = DG_PROTECT_NUMBER;
        return dg_protect_match_number(text, scan->at);
    default:
        break;
    }
    if (!dg_protect_is_alnum(c) && c != '/' && c != '.' && c != '~' && c != '_')
        return 0;
    if ((end = match_word(scan, kind)))
        return end;
    if (dg_chars_is_digit(c) && (end = dg_protect_match_emoji(text, scan->at))) {
        *kind = DG_PROTECT_EMOJI;
        return end;
    }
    *kind = DG_PROTECT_NUMBER;
    return dg_chars_is_digit(c) || c == 'v' || c == 'V' || c == '.'
               ? dg_protect_match_number(text, scan->at)
               : 0;
}

static size_t match_wide(struct scan *scan, uint32_t cp, enum dg_protect_kind *kind)
{
    size_t end = dg_protect_match_emoji(scan->text, scan->at);
    *kind = DG_PROTECT_EMOJI;
    if (end || scan->in_word)
        return end;
    if (u_charType((UChar32)cp) == U_CURRENCY_SYMBOL || cp == 0x2212) { /* the minus sign */
        *kind = DG_PROTECT_NUMBER;
        return dg_protect_match_number(scan->text, scan->at);
    }
    return u_isalpha((UChar32)cp) ? match_word(scan, kind) : 0;
}

/* Steps over one character that starts nothing. */
static void step(struct scan *scan)
{
    char c = scan->text.ptr[scan->at];
    if ((unsigned char)c < 0x80) {
        scan->in_word = dg_protect_is_alnum(c) || c == '_';
        scan->at++;
        return;
    }
    uint32_t cp;
    size_t len = dg_utf8_decode(scan->text, scan->at, &cp);
    scan->in_word = len > 0 && u_isalnum((UChar32)cp) &&
                    !u_hasBinaryProperty((UChar32)cp, UCHAR_IDEOGRAPHIC) &&
                    u_charType((UChar32)cp) != U_OTHER_LETTER;
    scan->at += len ? len : 1;
}

enum dg_err dg_protect_find(struct dg_span text, unsigned kinds, struct dg_protect_list *list)
{
    struct scan scan = {.text = text, .kinds = kinds};
    list->n = 0;
    while (scan.at < text.len) {
        char c = text.ptr[scan.at];
        enum dg_protect_kind kind = DG_PROTECT_URL;
        size_t end = 0;
        uint32_t cp;
        if ((unsigned char)c >= 0x80)
            end = dg_utf8_decode(text, scan.at, &cp) ? match_wide(&scan, cp, &kind) : 0;
        else if (!(end = match_mark(&scan, c, &kind)) && !scan.in_word)
            end = match_at_start(&scan, c, &kind);
        if (end <= scan.at || !dg_utf8_valid(dg_span_sub(text, scan.at, end - scan.at), NULL)) {
            step(&scan);
            continue;
        }
        if (kinds >> kind & 1) {
            enum dg_err err = push(list, (struct dg_protect_span){scan.at, end - scan.at, kind});
            if (err)
                return err;
        }
        scan.in_word = dg_protect_is_alnum(text.ptr[end - 1]);
        scan.at = end;
    }
    return DG_OK;
}

static bool has_letter(struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, len; at < text.len; at += len ? len : 1)
        if ((len = dg_utf8_decode(text, at, &cp)) > 0 && u_isalpha((UChar32)cp))
            return true;
    return false;
}

bool dg_protect_leaves_nothing(struct dg_span text, const struct dg_protect_list *list)
{
    size_t at = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (has_letter(dg_span_sub(text, at, list->items[i].at - at)))
            return false;
        at = list->items[i].at + list->items[i].len;
    }
    return !has_letter(dg_span_sub(text, at, text.len));
}

const char *dg_protect_name(enum dg_protect_kind kind)
{
    static const char *const names[] = {
#define DG_PROTECT_NAME(kind, name) name,
        DG_PROTECT_LIST(DG_PROTECT_NAME)
#undef DG_PROTECT_NAME
    };
    return (unsigned)kind < DG_PROTECT_KINDS ? names[kind] : "";
}
