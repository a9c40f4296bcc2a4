/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads files of interface texts in JSON: every string value is a text of its own; keys and
 * everything else are borders.
 *
 *     {"menu": {"open": "Open \"{name}\"", "size": 3}}          Open "{name}"
 *
 * Not translated: messages with plurals or choices in ICU's syntax ({n, plural, ...}), and values
 * under a key that begins with '@', as in ARB files. If a file writes all non-ASCII characters as
 * \uXXXX, so do its translations. Strings, brackets and their nesting are checked; the text between
 * them is not. */
#include "base/memory/utf8.h"
#include "markup/doc_int.h"

#include <string.h>

enum { DEPTH_MAX = 512 };

static int hex_value(struct dg_span text, size_t at, size_t end)
{
    int value = 0;
    if (at + 4 > end)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        char c = text.ptr[i], low = (char)(c | 0x20);
        if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f')))
            return -1;
        value = value * 16 + (c <= '9' ? c - '0' : low - 'a' + 10);
    }
    return value;
}

static size_t decode(struct dg_span text, size_t at, size_t end, char out[4], size_t *n)
{
    static const char letters[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    char c = at + 1 < end ? text.ptr[at + 1] : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    *n = 0;
    if (letter) {
        out[0] = means[letter - letters];
        *n = 1;
        return 2;
    }
    int value = c == 'u' ? hex_value(text, at + 2, end) : -1;
    if (value < 0)
        return 0;
    size_t taken = 6;
    uint32_t cp = (uint32_t)value;
    bool has_low = at + 7 < end && text.ptr[at + 6] == '\\' && text.ptr[at + 7] == 'u';
    int low = has_low ? hex_value(text, at + 8, end) : -1;
    if (value >= 0xD800 && value < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        cp = 0x10000 + (((uint32_t)value - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
        taken = 12;
    }
    if (cp >= 0x20 && !(cp >= 0xD800 && cp < 0xE000))
        *n = dg_utf8_encode(cp, out);
    return taken;
}

static void read_text(struct dg_doc *doc, size_t at, size_t len)
{
    dg_doc_add_escaped(doc, at, len, decode);
}

/* The end of the string whose quote is at `at`: behind the closing quote; 0 when there is none. */
static size_t string_end(struct dg_span text, size_t at)
{
    for (size_t i = at + 1; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char out[4];
        size_t n;
        if (c == '"')
            return i + 1;
        if (c < 0x20)
            return 0;
        if (c == '\\') {
            if (decode(text, i, text.len, out, &n) == 0)
                return 0;
            i++;
        }
    }
    return 0;
}

static size_t skip_space(struct dg_span text, size_t at)
{
    while (at < text.len && strchr(" \t\r\n", text.ptr[at]) && text.ptr[at])
        at++;
    return at;
}

/* "{n, plural, one {...}}" */
static bool is_message_with_choice(struct dg_span text)
{
    static const char *const kinds[] = {"plural", "select"}; /* selectordinal too */
    const char *bracket = text.len ? memchr(text.ptr, '{', text.len) : NULL;
    for (size_t i = bracket ? (size_t)(bracket - text.ptr) : text.len; i < text.len; i++) {
        if (text.ptr[i] != ',')
            continue;
        size_t at = skip_space(text, i + 1);
        for (size_t k = 0; k < 2; k++)
            if (dg_span_starts(dg_span_sub(text, at, text.len - at), dg_span_cstr(kinds[k])))
                return true;
        i = at - 1;
    }
    return false;
}

void dg_doc_read_json(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    (void)opts;
    struct dg_span text = doc->original;
    char stack[DEPTH_MAX];
    size_t depth = 0, skipped = 0; /* skipped: the depth at which a subtree is left alone begins,
                                      plus one */
    bool is_under_at = false;      /* the value that comes belongs to a key with '@' */
    bool has_reference = false, has_wide = false;
    for (size_t at = 0; at < text.len && !dg_doc_is_over(doc);) {
        char c = text.ptr[at];
        if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) {
                dg_doc_refuse(doc, DG_ERR_INVALID, at, "JSON: brackets are nested too deeply");
                return;
            }
            if (is_under_at && !skipped)
                skipped = depth + 1;
            is_under_at = false;
            stack[depth++] = c;
            at++;
        } else if (c == '}' || c == ']') {
            if (depth == 0 || stack[depth - 1] != (c == '}' ? '{' : '[')) {
                dg_doc_refuse(doc, DG_ERR_INVALID, at,
                              "JSON: read a closing bracket that nothing opened");
                return;
            }
            depth--;
            skipped = skipped == depth + 1 ? 0 : skipped;
            at++;
        } else if (c == '"') {
            size_t end = string_end(text, at);
            if (end == 0) {
                dg_doc_refuse(doc, DG_ERR_INVALID, at,
                              "JSON: this string is not closed, or not written as JSON has it");
                return;
            }
            size_t behind = skip_space(text, end);
            bool is_key = behind < text.len && text.ptr[behind] == ':';
            struct dg_span inner = dg_span_sub(text, at + 1, end - at - 2);
            for (size_t i = 0; i < inner.len; i++) {
                has_wide |= (unsigned char)inner.ptr[i] >= 0x80;
                has_reference |=
                    inner.ptr[i] == '\\' && i + 1 < inner.len && inner.ptr[i + 1] == 'u';
            }
            if (is_key)
                is_under_at = inner.len > 0 && inner.ptr[0] == '@';
            else if (!is_under_at && !skipped && !is_message_with_choice(inner))
                dg_doc_add_place(doc, at + 1, inner.len);
            is_under_at = is_key && is_under_at;
            at = end;
        } else {
            is_under_at = is_under_at && (strchr(" \t\r\n:", c) && c);
            at++;
        }
    }
    if (depth > 0)
        dg_doc_refuse(doc, DG_ERR_INVALID, text.len,
                      "JSON: the file ends before its brackets are closed");
    doc->is_ascii = has_reference && !has_wide;
    dg_doc_read_places(doc, read_text);
}

enum dg_err dg_doc_escape_json(struct dg_span text, bool is_ascii, struct dg_buf *out)
{
    static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    enum dg_err err = DG_OK;
    for (size_t at = 0, len; at < text.len && !err; at += len) {
        uint32_t cp;
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0)
            return DG_ERR_UTF8;
        const char *letter = cp && cp < 0x80 ? strchr(letters, (int)cp) : NULL;
        if (letter)
            err = dg_buf_printf(out, "\\%c", names[letter - letters]);
        else if (cp < 0x20 || (is_ascii && cp >= 0x80 && cp < 0x10000))
            err = dg_buf_printf(out, "\\u%04x", (unsigned)cp);
        else if (is_ascii && cp >= 0x10000)
            err = dg_buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((cp - 0x10000) >> 10)),
                                (unsigned)(0xDC00 + ((cp - 0x10000) & 0x3FF)));
        else
            err = dg_buf_append_span(out, dg_span_sub(text, at, len));
    }
    return err;
}
