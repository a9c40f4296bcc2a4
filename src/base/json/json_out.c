/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* JSON writer. Strings are copied in runs: the longest stretch without an escape is one append. */
#include "base/json/json_out.h"
#include "base/memory/chars.h"
#include "base/memory/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void dg_json_out_init(struct dg_json_out *out, struct dg_buf *buf)
{
    *out = (struct dg_json_out){.buf = buf, .start = buf->len};
}

static void add(struct dg_json_out *out, const char *bytes, size_t len)
{
    if (!out->err)
        out->err = dg_buf_append(out->buf, bytes, len);
}

static char innermost(const struct dg_json_out *out)
{
    return out->depth ? out->open[out->depth - 1] : '\0';
}

/* Writes what belongs before a value: a comma, unless the value's key has already written it. */
static void before_value(struct dg_json_out *out)
{
    assert(innermost(out) != '{' || out->has_key);
    assert(out->depth > 0 || !out->need_comma); /* one value at the top */
    if (out->need_comma && !out->has_key)
        add(out, ",", 1);
    out->has_key = false;
    out->need_comma = true;
}

void dg_json_out_open(struct dg_json_out *out, char bracket)
{
    assert(bracket == '{' || bracket == '[');
    assert(out->depth < DG_JSON_OUT_DEPTH);
    before_value(out);
    add(out, &bracket, 1);
    out->open[out->depth++] = bracket;
    out->need_comma = false;
}

void dg_json_out_close(struct dg_json_out *out, char bracket)
{
    assert(innermost(out) == (bracket == '}' ? '{' : '[') && !out->has_key);
    add(out, &bracket, 1);
    out->depth--;
    out->need_comma = true;
}

void dg_json_out_key_span(struct dg_json_out *out, struct dg_span key)
{
    assert(innermost(out) == '{' && !out->has_key);
    if (out->need_comma)
        add(out, ",", 1);
    if (!out->err)
        out->err = dg_json_out_quote(out->buf, key);
    add(out, ":", 1);
    out->has_key = true;
}

void dg_json_out_key(struct dg_json_out *out, const char *key)
{
    dg_json_out_key_span(out, dg_span_cstr(key));
}

void dg_json_out_raw(struct dg_json_out *out, struct dg_span json)
{
    before_value(out);
    add(out, json.ptr, json.len);
}

void dg_json_out_string(struct dg_json_out *out, struct dg_span text)
{
    before_value(out);
    if (!out->err)
        out->err = dg_json_out_quote(out->buf, text);
}

void dg_json_out_cstr(struct dg_json_out *out, const char *text)
{
    if (text)
        dg_json_out_string(out, dg_span_cstr(text));
    else
        dg_json_out_null(out);
}

void dg_json_out_int(struct dg_json_out *out, int64_t value)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%" PRId64, value);
    dg_json_out_raw(out, dg_span_make(text, (size_t)len));
}

void dg_json_out_uint(struct dg_json_out *out, uint64_t value)
{
    char room[DG_CHARS_DIGITS];
    dg_json_out_raw(out, dg_chars_digits(value, 10, 1, room));
}

void dg_json_out_real(struct dg_json_out *out, double value, int digits)
{
    if (!isfinite(value)) {
        dg_json_out_null(out);
        return;
    }
    if (value == 0 && signbit(value)) { /* "-0" would be read as the integer 0 */
        dg_json_out_raw(out, DG_SPAN("-0.0"));
        return;
    }
    char text[40];
    int len;
    if (digits >= 1 && digits <= 17) {
        len = snprintf(text, sizeof text, "%.*g", digits, value);
    } else {
        /* 15 digits read back for most doubles that people write, 17 for all. */
        for (digits = 15; digits <= 17; digits++) {
            len = snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
    }
    for (int i = 0; i < len; i++)
        if (text[i] == ',') /* a locale's decimal comma */
            text[i] = '.';
    dg_json_out_raw(out, dg_span_make(text, (size_t)len));
}

void dg_json_out_bool(struct dg_json_out *out, bool value)
{
    dg_json_out_raw(out, value ? DG_SPAN("true") : DG_SPAN("false"));
}

void dg_json_out_null(struct dg_json_out *out)
{
    dg_json_out_raw(out, DG_SPAN("null"));
}

/* ---- A key and its value --------------------------------------------------------------------- */

void dg_json_out_put_open(struct dg_json_out *out, const char *key, char bracket)
{
    dg_json_out_key(out, key);
    dg_json_out_open(out, bracket);
}

void dg_json_out_put_string(struct dg_json_out *out, const char *key, struct dg_span text)
{
    dg_json_out_key(out, key);
    dg_json_out_string(out, text);
}

void dg_json_out_put_cstr(struct dg_json_out *out, const char *key, const char *text)
{
    dg_json_out_key(out, key);
    dg_json_out_cstr(out, text);
}

void dg_json_out_put_int(struct dg_json_out *out, const char *key, int64_t value)
{
    dg_json_out_key(out, key);
    dg_json_out_int(out, value);
}

void dg_json_out_put_uint(struct dg_json_out *out, const char *key, uint64_t value)
{
    dg_json_out_key(out, key);
    dg_json_out_uint(out, value);
}

void dg_json_out_put_real(struct dg_json_out *out, const char *key, double value, int digits)
{
    dg_json_out_key(out, key);
    dg_json_out_real(out, value, digits);
}

void dg_json_out_put_bool(struct dg_json_out *out, const char *key, bool value)
{
    dg_json_out_key(out, key);
    dg_json_out_bool(out, value);
}

/* ---- The end --------------------------------------------------------------------------------- */

enum dg_err dg_json_out_end(struct dg_json_out *out)
{
    assert(out->depth == 0 && out->need_comma);
    if (out->err)
        dg_buf_truncate(out->buf, out->start);
    return out->err;
}

/* True for bytes that stand for themselves inside a JSON string. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The escape of an ASCII byte that is not plain. */
static struct dg_span escape(unsigned char c, char room[8])
{
    switch (c) {
    case '"':
        return DG_SPAN("\\\"");
    case '\\':
        return DG_SPAN("\\\\");
    case '\n':
        return DG_SPAN("\\n");
    case '\r':
        return DG_SPAN("\\r");
    case '\t':
        return DG_SPAN("\\t");
    case '\b':
        return DG_SPAN("\\b");
    case '\f':
        return DG_SPAN("\\f");
    default:
        return dg_span_make(room, (size_t)snprintf(room, 8, "\\u%04x", c));
    }
}

/* Appends the body of the string. */
static enum dg_err quote_body(struct dg_buf *buf, struct dg_span text)
{
    enum dg_err err = DG_OK;
    size_t run = 0, at = 0; /* [run, at) is still to be copied */
    while (at < text.len && !err) {
        unsigned char c = (unsigned char)text.ptr[at];
        uint32_t cp;
        size_t len = is_plain(c) ? 1 : c < 0x80 ? 0 : dg_utf8_decode(text, at, &cp);
        if (len > 0) {
            at += len;
            continue;
        }
        char room[8];
        struct dg_span instead = c < 0x80 ? escape(c, room) : DG_SPAN("\xEF\xBF\xBD");
        err = dg_buf_append_span(buf, dg_span_sub(text, run, at - run));
        if (!err)
            err = dg_buf_append_span(buf, instead);
        run = ++at;
    }
    return err ? err : dg_buf_append_span(buf, dg_span_sub(text, run, at - run));
}

enum dg_err dg_json_out_quote(struct dg_buf *buf, struct dg_span text)
{
    size_t start = buf->len;
    enum dg_err err = dg_buf_append_byte(buf, '"');
    if (!err)
        err = quote_body(buf, text);
    if (!err)
        err = dg_buf_append_byte(buf, '"');
    if (err)
        dg_buf_truncate(buf, start);
    return err;
}
