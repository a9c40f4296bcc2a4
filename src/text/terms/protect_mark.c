/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Placeholders, tags, shortcodes and emoji: spans that a mark introduces. Names of placeholders are
 * at most NAME_MAX bytes, which bounds the cost of a mark that opens nothing. */
#include "text/terms/protect_int.h"

#include "base/memory/utf8.h"

#include <string.h>

#include <unicode/uchar.h>

enum { NAME_MAX = 128, SHORTCODE_MAX = 48, TAG_MAX = 4096, REFERENCE_MAX = 32, CHOICE_MAX = 2000 };

static bool is_name_char(char c)
{
    return dg_protect_is_alnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* ---- {{x}} {0} ${x} %{x} #{x} ---------------------------------------------------------------- */

static size_t match_double(struct dg_span text, size_t at)
{
    for (size_t i = at + 2; i < text.len && i - at < NAME_MAX; i++) {
        if (text.ptr[i] == '}' && dg_protect_byte(text, i + 1) == '}')
            return dg_protect_byte(text, i + 2) == '}' && dg_protect_byte(text, at + 2) == '{'
                       ? i + 3
                       : i + 2;
        if (text.ptr[i] == '\n' || (text.ptr[i] == '{' && i > at + 2))
            return 0;
    }
    return 0;
}

static size_t match_single(struct dg_span text, size_t at)
{
    for (size_t i = at + 1; i < text.len && i - at < NAME_MAX; i++) {
        char c = text.ptr[i];
        if (c == '}')
            return i + 1;
        if (!is_name_char(c) && !strchr(".:-$[],!?@#|%+", c))
            return 0;
    }
    return 0;
}

static size_t skip_blanks(struct dg_span text, size_t at)
{
    while (dg_protect_byte(text, at) == ' ')
        at++;
    return at;
}

/* A message of ICU with choices, {n, plural, one {...} other {...}}, up to its end. */
static size_t match_choice(struct dg_span text, size_t open)
{
    static const char *const kinds[] = {"plural", "select", "selectordinal", "choice"};
    size_t at = skip_blanks(text, open + 1), depth = 1, len = 0;
    const size_t from = at;
    while (at - from < NAME_MAX && is_name_char(dg_protect_byte(text, at)))
        at++;
    if (at == from)
        return 0;
    at = skip_blanks(text, at);
    if (dg_protect_byte(text, at) != ',')
        return 0;
    at = skip_blanks(text, at + 1);
    while (dg_chars_is_letter(dg_protect_byte(text, at + len)) && len < NAME_MAX)
        len++;
    bool is_choice = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        is_choice |= dg_span_eq(dg_span_sub(text, at, len), dg_span_cstr(kinds[i]));
    if (!is_choice || dg_protect_byte(text, skip_blanks(text, at + len)) != ',')
        return 0;
    for (at += len; at < text.len && at - open < CHOICE_MAX && depth > 0; at++)
        depth += text.ptr[at] == '{' ? 1 : text.ptr[at] == '}' ? -(size_t)1 : 0;
    return depth == 0 ? at : 0;
}

size_t dg_protect_match_braces(struct dg_span text, size_t at)
{
    size_t open = at + (text.ptr[at] != '{');
    if (dg_protect_byte(text, open) != '{')
        return 0;
    size_t end = dg_protect_byte(text, open + 1) == '{' ? match_double(text, open) : 0;
    end = end ? end : match_single(text, open);
    return end ? end : match_choice(text, open);
}

/* ---- &amp; &#39; \n ---------------------------------------------------------------------------
 */

size_t dg_protect_match_reference(struct dg_span text, size_t at)
{
    size_t i = at + 1, from = i;
    const bool is_number = dg_protect_byte(text, i) == '#';
    if (is_number) {
        const char x = dg_protect_byte(text, ++i);
        i += x == 'x' || x == 'X';
        from = i;
    } else if (!dg_chars_is_letter(dg_protect_byte(text, i))) {
        return 0;
    }
    while (i - from < REFERENCE_MAX && dg_protect_is_alnum(dg_protect_byte(text, i)))
        i++;
    return i > from + (is_number ? 0 : 1) && dg_protect_byte(text, i) == ';' ? i + 1 : 0;
}

/* "C:" in front of a folder. */
static bool is_drive(struct dg_span text, size_t end)
{
    return end >= 2 && text.ptr[end - 1] == ':' && dg_chars_is_letter(text.ptr[end - 2]) &&
           (end == 2 || !dg_protect_is_alnum(text.ptr[end - 3]));
}

/* Matches an escape as programs write it. In "\new" and "\textbf" there is no escape where a drive
 * or a word precedes the backslash (a folder), or where a command of LaTeX may stand. */
size_t dg_protect_match_escape(struct dg_span text, size_t at)
{
    const char c = dg_protect_byte(text, at + 1), next = dg_protect_byte(text, at + 2),
               before = at > 0 ? text.ptr[at - 1] : ' ';
    if (c == '"' || c == '\'')
        return at + 2;
    if (c == '\0' || !strchr("nrt", c) ||
        (next >= 'a' && next <= 'z' && (!strchr(".!?:;,)\"", before) || is_drive(text, at))))
        return 0;
    return at + 2;
}

/* ---- %s %1$s %(n)s %PATH% -------------------------------------------------------------------- */

static size_t skip_digits(struct dg_span text, size_t at)
{
    size_t from = at;
    while (at - from < 9 && dg_chars_is_digit(dg_protect_byte(text, at)))
        at++;
    return at;
}

static bool is_conversion(char c)
{
    return c != '\0' && strchr("sdiufFgGeExXocp@aA", c);
}

/* %NAME%: capitals, digits and '_'. */
static size_t match_percent_name(struct dg_span text, size_t at)
{
    size_t i = at + 1;
    for (; i < text.len && i - at < NAME_MAX; i++)
        if (!((text.ptr[i] >= 'A' && text.ptr[i] <= 'Z') || dg_chars_is_digit(text.ptr[i]) ||
              text.ptr[i] == '_'))
            break;
    return i > at + 2 && dg_protect_byte(text, i) == '%' && dg_chars_is_letter(text.ptr[at + 1])
               ? i + 1
               : 0;
}

static size_t match_parenthesis(struct dg_span text, size_t at)
{
    for (size_t i = at + 1; i < text.len && i - at < NAME_MAX; i++) {
        if (text.ptr[i] == ')')
            return i > at + 1 ? i + 1 : 0;
        if (!is_name_char(text.ptr[i]) && text.ptr[i] != '.' && text.ptr[i] != ' ' &&
            text.ptr[i] != '-')
            return 0;
    }
    return 0;
}

static size_t match_printf(struct dg_span text, size_t at)
{
    size_t i = at + 1;
    bool sure = false; /* set when it cannot be like "100 %discount" */
    if (dg_protect_byte(text, i) == '(') {
        if (!(i = match_parenthesis(text, i)))
            return 0;
        sure = true;
    } else {
        size_t digits = skip_digits(text, i);
        if (digits > i && dg_protect_byte(text, digits) == '$') {
            i = digits + 1;
            sure = true;
        }
    }
    while (i - at < 16 && dg_protect_byte(text, i) && strchr("-+0#'", text.ptr[i]))
        i++;
    i = dg_protect_byte(text, i) == '*' ? i + 1 : skip_digits(text, i);
    if (dg_protect_byte(text, i) == '.')
        i = dg_protect_byte(text, i + 1) == '*' ? i + 2 : skip_digits(text, i + 1);
    for (int n = 0; n < 2 && dg_protect_byte(text, i) && strchr("hlLqjzt", text.ptr[i]); n++)
        i++;
    if (!is_conversion(dg_protect_byte(text, i)))
        return 0;
    i++;
    /* "%s" and "%ds" are placeholders; "%discount" is not one. */
    bool word_goes_on = dg_chars_is_letter(dg_protect_byte(text, i)) &&
                        !(text.ptr[i] == 's' && !dg_chars_is_letter(dg_protect_byte(text, i + 1)));
    return sure || !word_goes_on ? i : 0;
}

size_t dg_protect_match_percent(struct dg_span text, size_t at, enum dg_protect_kind *kind)
{
    if (at > 0 && dg_chars_is_digit(text.ptr[at - 1]))
        return 0;
    *kind = DG_PROTECT_PRINTF;
    if (dg_protect_byte(text, at + 1) == '%')
        return at + 2;
    size_t end = match_printf(text, at);
    if (end)
        return end;
    *kind = DG_PROTECT_VARIABLE;
    return match_percent_name(text, at);
}

/* ---- $Name ----------------------------------------------------------------------------------- */

size_t dg_protect_match_variable(struct dg_span text, size_t at)
{
    size_t i = at + 1;
    if (!dg_chars_is_letter(dg_protect_byte(text, i)) && dg_protect_byte(text, i) != '_')
        return 0;
    while (i < text.len && (dg_protect_is_alnum(text.ptr[i]) || text.ptr[i] == '_'))
        i++;
    return i;
}

/* ---- <x id="7"/> ----------------------------------------------------------------------------- */

size_t dg_protect_match_tag(struct dg_span text, size_t at, size_t *failed_at)
{
    size_t i = at + 1;
    char quote = '\0';
    if (dg_protect_byte(text, i) == '/')
        i++;
    if (!dg_protect_is_alnum(dg_protect_byte(text, i)) &&
        !(i == at + 1 && dg_protect_byte(text, i) == '!'))
        return 0;
    bool is_number = dg_chars_is_digit(text.ptr[i]); /* in "<0>", but not in "<5 or >6" */
    while (i < text.len && (is_name_char(text.ptr[i]) || strchr(":.-!", text.ptr[i])) &&
           text.ptr[i])
        i++;
    char next = dg_protect_byte(text, i);
    bool closes = next == '/' && dg_protect_byte(text, i + 1) == '>';
    if (next != '>' && next != ' ' && next != '\t' && next != '\n' && next != '\r' && !closes) {
        *failed_at = i; /* "<https://a.org>" is an address in angle brackets */
        return 0;
    }
    for (; i < text.len && i - at < TAG_MAX; i++) {
        char c = text.ptr[i];
        if (c == '<' || (is_number && c == ' '))
            break;
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || (c == '\'' && text.ptr[i - 1] == '='))
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    *failed_at = i;
    return 0;
}

/* ---- :smile: --------------------------------------------------------------------------------- */

size_t dg_protect_match_shortcode(struct dg_span text, size_t at)
{
    size_t i = at + 1;
    bool letter = false;
    for (; i < text.len && i - at < SHORTCODE_MAX; i++) {
        char c = text.ptr[i];
        letter |= dg_chars_is_letter(c) || c == '+' || c == '-';
        if (!dg_protect_is_alnum(c) && c != '_' && c != '+' && c != '-')
            break;
    }
    if (i == at + 1 || dg_protect_byte(text, i) != ':')
        return 0;
    if (!letter && !dg_span_eq(dg_span_sub(text, at, i + 1 - at), DG_SPAN(":100:")))
        return 0;
    return dg_protect_is_alnum(dg_protect_byte(text, i + 1)) ? 0 : i + 1;
}

/* ---- Emoji ----------------------------------------------------------------------------------- */

enum { VS16 = 0xFE0F, KEYCAP = 0x20E3, ZWJ = 0x200D, TAG_FIRST = 0xE0020, TAG_LAST = 0xE007F };

static uint32_t code_at(struct dg_span text, size_t at, size_t *len)
{
    uint32_t cp = 0;
    *len = at < text.len ? dg_utf8_decode(text, at, &cp) : 0;
    return *len ? cp : 0;
}

static bool has(uint32_t cp, UProperty property)
{
    return cp >= 0xA9 && u_hasBinaryProperty((UChar32)cp, property);
}

/* One emoji without what a joiner adds; 0 when there is none. */
static size_t match_one(struct dg_span text, size_t at)
{
    size_t len, next_len;
    uint32_t cp = code_at(text, at, &len), next = code_at(text, at + len, &next_len);
    if (len == 0)
        return 0;
    if (cp < 0x80) { /* a keycap: 1 VS16? U+20E3 */
        if (!dg_chars_is_digit((char)cp) && cp != '#' && cp != '*')
            return 0;
        size_t i = at + len + (next == VS16 ? next_len : 0);
        return code_at(text, i, &next_len) == KEYCAP ? i + next_len : 0;
    }
    if (has(cp, UCHAR_REGIONAL_INDICATOR))
        return has(next, UCHAR_REGIONAL_INDICATOR) ? at + len + next_len : at + len;
    if (!has(cp, UCHAR_EMOJI_PRESENTATION) &&
        !(has(cp, UCHAR_EMOJI) && (next == VS16 || has(next, UCHAR_EMOJI_MODIFIER))))
        return 0;
    size_t i = at + len;
    while ((next = code_at(text, i, &next_len)) &&
           (next == VS16 || next == KEYCAP || has(next, UCHAR_EMOJI_MODIFIER) ||
            (next >= TAG_FIRST && next <= TAG_LAST)))
        i += next_len;
    return i;
}

size_t dg_protect_match_emoji(struct dg_span text, size_t at)
{
    size_t end = 0, next, len;
    while ((next = match_one(text, end ? end : at))) {
        end = next;
        while (code_at(text, end, &len) == ZWJ) {
            size_t joined = end + len, cp_len;
            uint32_t cp = code_at(text, joined, &cp_len);
            size_t more = match_one(text, joined);
            if (!more && has(cp, UCHAR_EMOJI)) /* a symbol such as ♂ without its selector */
                more = joined + cp_len;
            if (!more)
                break;
            end = more;
        }
    }
    return end;
}
