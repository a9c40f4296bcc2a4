/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The metric tokenisations. Each is a fixed sequence of substitutions; a substitution consumes what
 * it matched, so the next one starts after it, and that shows in the results ("a..b"). */
#include "text/score/metric_split.h"
#include "base/memory/chars.h"
#include "base/memory/utf8.h"

#include <unicode/uchar.h>
#include <unicode/ucasemap.h>

const char *dg_split_name(enum dg_split split)
{
    static const char *const names[] = {"13a", "char", "intl", "none"};
    return names[split];
}

bool dg_metric_is_space(uint32_t cp)
{
    return u_isUWhiteSpace((UChar32)cp) || (cp >= 0x1C && cp <= 0x1F);
}

size_t dg_metric_char(struct dg_span text, size_t at, uint32_t *cp)
{
    if (at >= text.len)
        return 0;
    size_t len = dg_utf8_decode(text, at, cp);
    if (len)
        return len;
    *cp = DG_UTF8_REPLACEMENT;
    return 1;
}

bool dg_metric_next_word(struct dg_span text, size_t *at, struct dg_span *word)
{
    uint32_t cp;
    size_t len, start;
    while ((len = dg_metric_char(text, *at, &cp)) && dg_metric_is_space(cp))
        *at += len;
    start = *at;
    while ((len = dg_metric_char(text, *at, &cp)) && !dg_metric_is_space(cp))
        *at += len;
    *word = dg_span_sub(text, start, *at - start);
    return word->len > 0;
}

static struct dg_span trim_end(struct dg_span text)
{
    size_t end = 0, at = 0, len;
    uint32_t cp;
    for (; (len = dg_metric_char(text, at, &cp)); at += len)
        if (!dg_metric_is_space(cp))
            end = at + len;
    return dg_span_sub(text, 0, end);
}

/* ---- 13a ------------------------------------------------------------------------------------- */

struct replacement {
    struct dg_span from, to;
};

/* Markup that the WMT script removes or resolves before it cuts. */
static enum dg_err unescape(struct dg_span text, struct dg_buf *out)
{
    static const struct replacement always[] = {
        {{"<skipped>", 9}, {"", 0}}, {{"-\n", 2}, {"", 0}}, {{"\n", 1}, {" ", 1}}};
    static const struct replacement entities[] = {{{"&quot;", 6}, {"\"", 1}},
                                                  {{"&amp;", 5}, {"&", 1}},
                                                  {{"&lt;", 4}, {"<", 1}},
                                                  {{"&gt;", 4}, {">", 1}}};
    struct dg_buf a, b;
    dg_buf_init(&a, out->max);
    dg_buf_init(&b, out->max);
    struct dg_buf *in = &a, *next = &b;
    enum dg_err err = dg_buf_append_span(in, text);
    for (size_t r = 0; !err && r < 7; r++) {
        const struct replacement *rule = r < 3 ? &always[r] : &entities[r - 3];
        dg_buf_clear(next);
        for (size_t i = 0; !err && i < in->len;) {
            if (dg_span_starts(dg_span_sub(dg_buf_span(in), i, in->len), rule->from)) {
                err = dg_buf_append_span(next, rule->to);
                i += rule->from.len;
            } else {
                err = dg_buf_append_byte(next, in->ptr[i++]);
            }
        }
        struct dg_buf *swapped = in;
        in = next;
        next = swapped;
    }
    if (!err)
        err = dg_buf_append_span(out, dg_buf_span(in));
    dg_buf_deinit(&a);
    dg_buf_deinit(&b);
    return err;
}

static bool is_stop(char c)
{
    return c == '.' || c == ',';
}

/* ASCII punctuation except . , - and the apostrophe. */
static bool is_set_apart(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

enum pass {
    PASS_APART,
    PASS_STOP_AFTER_TEXT,
    PASS_STOP_BEFORE_TEXT,
    PASS_DASH_AFTER_DIGIT,
    N_PASSES
};

/* True when the pass's pattern (two bytes, or one for PASS_APART) matches here. Working on bytes is
 * exact: every byte of a longer character is "not a digit". */
static bool matches(enum pass pass, char a, char b)
{
    switch (pass) {
    case PASS_STOP_AFTER_TEXT:
        return !dg_chars_is_digit(a) && is_stop(b);
    case PASS_STOP_BEFORE_TEXT:
        return is_stop(a) && !dg_chars_is_digit(b);
    case PASS_DASH_AFTER_DIGIT:
        return dg_chars_is_digit(a) && b == '-';
    default:
        return false;
    }
}

static size_t char_len(struct dg_span text, size_t at)
{
    uint32_t cp;
    return dg_metric_char(text, at, &cp);
}

static enum dg_err run_pass(enum pass pass, struct dg_span in, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < in.len;) {
        if (pass == PASS_APART && is_set_apart(in.ptr[i])) {
            err = dg_buf_printf(out, " %c ", in.ptr[i++]);
        } else if (i + 1 < in.len && matches(pass, in.ptr[i], in.ptr[i + 1])) {
            /* ". x": the space goes before the stop, and x is consumed whole. */
            size_t second = pass == PASS_STOP_BEFORE_TEXT ? char_len(in, i + 1) : 1;
            const char *before = pass == PASS_STOP_BEFORE_TEXT ? " " : "";
            const char *after = pass == PASS_STOP_BEFORE_TEXT ? "" : " ";
            err = dg_buf_printf(out, "%s%c ", before, in.ptr[i]);
            if (!err)
                err = dg_buf_append(out, in.ptr + i + 1, second);
            if (!err)
                err = dg_buf_append_cstr(out, after);
            i += 1 + second;
        } else {
            err = dg_buf_append_byte(out, in.ptr[i++]);
        }
    }
    return err;
}

static enum dg_err split_13a(struct dg_span text, struct dg_buf *out)
{
    struct dg_buf a, b;
    dg_buf_init(&a, out->max);
    dg_buf_init(&b, out->max);
    struct dg_buf *in = &a, *next = &b;
    enum dg_err err = dg_buf_append_byte(in, ' ');
    if (!err)
        err = unescape(text, in);
    if (!err)
        err = dg_buf_append_byte(in, ' ');
    for (int pass = 0; !err && pass < N_PASSES; pass++) {
        dg_buf_clear(next);
        err = run_pass((enum pass)pass, dg_buf_span(in), next);
        struct dg_buf *swapped = in;
        in = next;
        next = swapped;
    }
    if (!err)
        err = dg_buf_append_span(out, dg_buf_span(in));
    dg_buf_deinit(&a);
    dg_buf_deinit(&b);
    return err;
}

/* ---- International --------------------------------------------------------------------------- */

static bool is_number(uint32_t cp)
{
    return (U_GET_GC_MASK((UChar32)cp) & U_GC_N_MASK) != 0;
}

static bool is_punctuation(uint32_t cp)
{
    return (U_GET_GC_MASK((UChar32)cp) & U_GC_P_MASK) != 0;
}

static bool is_symbol(uint32_t cp)
{
    return (U_GET_GC_MASK((UChar32)cp) & U_GC_S_MASK) != 0;
}

/* Pass 0: "x!" to "x ! " where x is not a number; 1: "!x" to " ! x"; 2: symbols apart. */
static enum dg_err run_intl_pass(int pass, struct dg_span in, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    uint32_t a, b;
    size_t a_len, b_len;
    for (size_t i = 0; !err && (a_len = dg_metric_char(in, i, &a));) {
        b_len = dg_metric_char(in, i + a_len, &b);
        bool hit = pass == 2 ? is_symbol(a)
                             : b_len && (pass == 0 ? !is_number(a) && is_punctuation(b)
                                                   : is_punctuation(a) && !is_number(b));
        if (hit && pass == 2) {
            err = dg_buf_printf(out, " %.*s ", (int)a_len, in.ptr + i);
            i += a_len;
        } else if (hit) {
            err = dg_buf_printf(out, "%s%.*s %.*s%s", pass == 1 ? " " : "", (int)a_len, in.ptr + i,
                                (int)b_len, in.ptr + i + a_len, pass == 0 ? " " : "");
            i += a_len + b_len;
        } else {
            err = dg_buf_append(out, in.ptr + i, a_len);
            i += a_len;
        }
    }
    return err;
}

static enum dg_err split_intl(struct dg_span text, struct dg_buf *out)
{
    struct dg_buf a, b;
    dg_buf_init(&a, out->max);
    dg_buf_init(&b, out->max);
    enum dg_err err = run_intl_pass(0, text, &a);
    if (!err)
        err = run_intl_pass(1, dg_buf_span(&a), &b);
    if (!err)
        err = run_intl_pass(2, dg_buf_span(&b), out);
    dg_buf_deinit(&a);
    dg_buf_deinit(&b);
    return err;
}

static enum dg_err split_char(struct dg_span text, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    uint32_t cp;
    size_t len;
    for (size_t i = 0; !err && (len = dg_metric_char(text, i, &cp)); i += len) {
        if (i > 0)
            err = dg_buf_append_byte(out, ' ');
        if (!err)
            err = dg_buf_append(out, text.ptr + i, len);
    }
    return err;
}

/* ---- All ------------------------------------------------------------------------------------- */

enum dg_err dg_metric_split(enum dg_split split, struct dg_span text, struct dg_buf *out)
{
    struct dg_buf cut;
    dg_buf_init(&cut, out->max);
    text = trim_end(text);
    enum dg_err err;
    switch (split) {
    case DG_SPLIT_13A:
        err = split_13a(text, &cut);
        break;
    case DG_SPLIT_CHAR:
        err = split_char(text, &cut);
        break;
    case DG_SPLIT_INTL:
        err = split_intl(text, &cut);
        break;
    default:
        err = dg_buf_append_span(&cut, text);
        break;
    }
    dg_buf_clear(out);
    struct dg_span word;
    for (size_t at = 0; !err && dg_metric_next_word(dg_buf_span(&cut), &at, &word);) {
        if (out->len)
            err = dg_buf_append_byte(out, ' ');
        if (!err)
            err = dg_buf_append_span(out, word);
    }
    dg_buf_deinit(&cut);
    return err;
}

enum dg_err dg_metric_lower(struct dg_span text, struct dg_buf *out)
{
    UErrorCode status = U_ZERO_ERROR;
    UCaseMap *map = ucasemap_open("", 0, &status);
    if (U_FAILURE(status))
        return DG_ERR_NOMEM;
    dg_buf_clear(out);
    /* A character grows by at most a factor of three in bytes. */
    size_t room = text.len * 3 + 1;
    enum dg_err err = text.len > INT32_MAX / 4 ? DG_ERR_LIMIT : dg_buf_reserve(out, room);
    if (!err) {
        int32_t len = ucasemap_utf8ToLower(map, out->ptr, (int32_t)room, text.len ? text.ptr : "",
                                           (int32_t)text.len, &status);
        if (U_FAILURE(status) || (size_t)len > room)
            err = DG_ERR_INTERNAL;
        else
            out->len = (size_t)len;
    }
    ucasemap_close(map);
    return err;
}
