/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Readers are lenient, as mail programs are: what is not a digit of base64, or an escape that is
 * none, is passed over or copied. Writers keep to the RFCs. */
#include "filter/mail_encoding.h"
#include "base/memory/chars.h"
#include "base/memory/utf8.h"
#include "filter/charset.h"

#include <stdio.h>
#include <string.h>

enum {
    QUOTED_LINE = 75,
    WORD_BYTES = 36, /* bytes of text in an encoded word of a header */
};

/* ---- Transfer encodings ---------------------------------------------------------------------- */

enum dg_err dg_mail_decode_quoted(struct dg_span text, bool is_word, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        const char c = text.ptr[i];
        const int high = i + 2 < text.len ? dg_chars_hex(text.ptr[i + 1]) : -1;
        const int low = i + 2 < text.len ? dg_chars_hex(text.ptr[i + 2]) : -1;
        size_t end = i + 1;
        if (c == '=' && high >= 0 && low >= 0) {
            err = dg_buf_append_byte(out, (char)(high * 16 + low));
            i += 2;
            continue;
        }
        while (c == '=' && end < text.len && (text.ptr[end] == ' ' || text.ptr[end] == '\t'))
            end++;
        if (c == '=' && !is_word && end < text.len && text.ptr[end] == '\r')
            end++;
        if (c == '=' && !is_word && end < text.len && text.ptr[end] == '\n')
            i = end; /* the line continues */
        else
            err = dg_buf_append_byte(out, is_word && c == '_' ? ' ' : c);
    }
    return err;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum dg_err dg_mail_decode_base64(struct dg_span text, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    unsigned bits = 0, n = 0;
    for (size_t i = 0; i < text.len && text.ptr[i] != '=' && !err; i++) {
        const char *digit = text.ptr[i] ? strchr(digits, text.ptr[i]) : NULL;
        if (!digit)
            continue;
        bits = (bits << 6 | (unsigned)(digit - digits)) & 0xFFFFFF;
        n += 6;
        if (n >= 8) {
            n -= 8;
            err = dg_buf_append_byte(out, (char)(bits >> n & 0xFF));
        }
    }
    return err;
}

enum dg_err dg_mail_encode_base64(struct dg_span bytes, size_t width, const char *newline,
                                  struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    size_t column = 0;
    for (size_t i = 0; i < bytes.len && !err; i += 3) {
        const size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        unsigned bits = 0;
        char group[4];
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)bytes.ptr[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            group[k] = k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=';
        if (column && column + 4 > width) {
            err = dg_buf_append_cstr(out, newline);
            column = 0;
        }
        if (!err)
            err = dg_buf_append(out, group, 4);
        column += 4;
    }
    return err;
}

enum dg_err dg_mail_encode_quoted(struct dg_span bytes, const char *newline, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    size_t column = 0;
    for (size_t i = 0; i < bytes.len && !err; i++) {
        const unsigned char c = (unsigned char)bytes.ptr[i];
        const char next = i + 1 < bytes.len ? bytes.ptr[i + 1] : '\n';
        if (c == '\n' || (c == '\r' && next == '\n')) {
            err = dg_buf_append_byte(out, (char)c);
            column = 0;
            continue;
        }
        const bool is_last = next == '\n' || next == '\r';
        const bool is_plain =
            (c > 0x20 && c < 0x7F && c != '=') || ((c == ' ' || c == '\t') && !is_last);
        /* A line with a single dot, or one that looks like the start of a mailbox's next
         * message, is not safe. */
        const bool is_risky = column == 0 && (c == '.' || c == 'F');
        const size_t width = is_plain && !is_risky ? 1 : 3;
        if (column + width > QUOTED_LINE) {
            err = dg_buf_printf(out, "=%s", newline);
            column = 0;
        }
        if (!err)
            err = width == 1 ? dg_buf_append_byte(out, (char)c) : dg_buf_printf(out, "=%02X", c);
        column += width;
    }
    return err;
}

/* ---- Words of headers (RFC 2047) ------------------------------------------------------------- */

/* An encoded word at the front, "=?utf-8?Q?...?="; returns its length, or 0. */
static enum dg_err decode_word(struct dg_span text, struct dg_buf *out, size_t *len)
{
    char name[DG_CHARSET_NAME];
    struct dg_buf bytes;
    bool is_exact;
    *len = 0;
    const char *first = text.len > 8 ? memchr(text.ptr + 2, '?', text.len - 2) : NULL;
    const size_t charset = first ? (size_t)(first - text.ptr) - 2 : 0;
    if (!first || charset == 0 || charset >= sizeof name || charset + 6 > text.len ||
        text.ptr[charset + 4] != '?')
        return DG_OK;
    const char how = (char)(text.ptr[charset + 3] | 0x20);
    const size_t from = charset + 5;
    size_t end = from;
    while (end + 1 < text.len && end - from < 200 && !dg_chars_is_space(text.ptr[end]) &&
           !(text.ptr[end] == '?' && text.ptr[end + 1] == '='))
        end++;
    if (end + 1 >= text.len || text.ptr[end] != '?' || (how != 'q' && how != 'b'))
        return DG_OK;
    snprintf(name, sizeof name, "%.*s", (int)charset, text.ptr + 2);
    name[strcspn(name, "*")] = '\0'; /* a language may follow */
    dg_buf_init(&bytes, 1 << 16);
    const struct dg_span inside = dg_span_sub(text, from, end - from);
    enum dg_err err = how == 'q' ? dg_mail_decode_quoted(inside, true, &bytes)
                                 : dg_mail_decode_base64(inside, &bytes);
    if (!err)
        err = dg_charset_decode(name, dg_buf_span(&bytes), out, &is_exact);
    dg_buf_deinit(&bytes);
    if (!err)
        *len = end + 2;
    return err == DG_ERR_UNSUPPORTED ? DG_OK : err;
}

/* Decodes the text of a header: unfolds it, and turns encoded words into characters. The space
 * between two encoded words is dropped. */
enum dg_err dg_mail_decode_header(struct dg_span value, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    bool was_word = false;
    for (size_t at = 0; at < value.len && !err;) {
        const struct dg_span rest = dg_span_sub(value, at, value.len);
        size_t blank = 0, len = 0;
        while (blank < rest.len && dg_chars_is_space(rest.ptr[blank]))
            blank++;
        const struct dg_span word = dg_span_sub(rest, blank, rest.len);
        const size_t before = out->len;
        if (dg_span_starts(word, DG_SPAN("=?"))) {
            if (blank && !was_word)
                err = dg_buf_append_byte(out, ' ');
            if (!err)
                err = decode_word(word, out, &len);
            if (len) {
                at += blank + len;
                was_word = true;
                continue;
            }
            dg_buf_truncate(out, before);
        }
        if (blank && !err)
            err = dg_buf_append_byte(out, ' ');
        size_t end = 0;
        while (end < word.len && !dg_chars_is_space(word.ptr[end]))
            end++;
        if (!err)
            err = dg_buf_append_span(out, dg_span_sub(word, 0, end));
        at += blank + end;
        was_word = false;
    }
    return err;
}

/* Writes a header's text, folded; uses encoded words if any character is not ASCII. */
enum dg_err dg_mail_encode_header(struct dg_span text, size_t column, const char *newline,
                                  struct dg_buf *out)
{
    bool is_ascii = !dg_span_starts(text, DG_SPAN("=?"));
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len; i++)
        is_ascii &= (unsigned char)text.ptr[i] < 0x7F && (unsigned char)text.ptr[i] >= 0x20;
    for (size_t at = 0; at < text.len && !err && !is_ascii;) {
        const struct dg_span piece = dg_utf8_clip(dg_span_sub(text, at, text.len), WORD_BYTES);
        if (at)
            err = dg_buf_printf(out, "%s ", newline);
        if (!err)
            err = dg_buf_append_cstr(out, "=?UTF-8?B?");
        if (!err)
            err = dg_mail_encode_base64(piece, SIZE_MAX, "", out);
        if (!err)
            err = dg_buf_append_cstr(out, "?=");
        at += piece.len ? piece.len : text.len;
    }
    for (size_t at = 0; at < text.len && !err && is_ascii;) {
        size_t end = at;
        while (end < text.len && text.ptr[end] == ' ')
            end++;
        const size_t blank = end - at;
        while (end < text.len && text.ptr[end] != ' ')
            end++;
        if (blank && column + (end - at) > 76) {
            err = dg_buf_append_cstr(out, newline);
            column = 0;
        }
        if (!err)
            err = dg_buf_append_span(out, dg_span_sub(text, at, end - at));
        column += end - at;
        at = end;
    }
    return err;
}
