/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads files of interface texts in JSON: every string value is a text of its own; keys and
 * everything else are borders.
 *
 *     {"menu": {"open": "Open \"{name}\"", "size": 3}}          Open "{name}"
 *
 * In messages with plurals or choices in ICU's syntax ({n, plural, one {...}}), the words of the
 * branches are texts; before that, a plural gets branches for those categories of the target that
 * it lacks. Values under a key that begins with '@', as in ARB files, are not translated. If a file
 * writes all non-ASCII characters as \uXXXX, so do its translations. Strings, brackets and their
 * nesting are checked; the text between them is not. */
#include "base/memory/utf8.h"
#include "base/memory/chars.h"
#include "markup/doc_int.h"
#include "markup/icu_message.h"

#include <string.h>

enum { DEPTH_MAX = 512 };

static int hex_value(struct dg_span text, size_t at, size_t end)
{
    int value = 0;
    if (at + 4 > end)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        if (dg_chars_hex(text.ptr[i]) < 0)
            return -1;
        value = value * 16 + dg_chars_hex(text.ptr[i]);
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

/* The position after the closing quote of the string at `at`; 0 when it is not closed. */
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

/* ---- Messages with choices ------------------------------------------------------------------- */

struct message {
    struct dg_doc *doc;
    size_t at; /* in the original */
};

static void add_piece(void *ctx, const struct dg_icu_piece *piece)
{
    static const struct dg_span none = {NULL, 0};
    const struct message *message = ctx;
    struct dg_doc *doc = message->doc;
    const size_t at = message->at + piece->at;
    const struct dg_span bytes = dg_span_sub(doc->original, at, piece->len);
    switch (piece->kind) {
    case DG_ICU_SYNTAX:
        dg_doc_add(doc, DG_DOC_BORDER, at, piece->len, none);
        break;
    case DG_ICU_TEXT:
        dg_doc_add_escaped(doc, at, piece->len, decode);
        break;
    case DG_ICU_QUOTE:
        dg_doc_add(doc, DG_DOC_POINT, at, piece->len, none);
        break;
    case DG_ICU_APOSTROPHE:
        dg_doc_add(doc, DG_DOC_CHAR, at, piece->len, DG_SPAN("'"));
        doc->doubles_apostrophes = true;
        break;
    case DG_ICU_ARGUMENT:
        dg_doc_add(doc, DG_DOC_FROZEN, at, piece->len, bytes);
        break;
    case DG_ICU_NUMBER: /* the model sees a number that the branch is meant for */
        dg_doc_add(doc, DG_DOC_FROZEN, at, piece->len, dg_span_cstr(piece->example));
        break;
    }
}

static bool is_message(struct dg_span text)
{
    return dg_icu_has_choice(text) && dg_icu_parse(text, NULL, NULL);
}

static void read_text(struct dg_doc *doc, size_t at, size_t len)
{
    const struct dg_span text = dg_span_sub(doc->original, at, len);
    struct message message = {doc, at};
    if (!is_message(text)) {
        dg_doc_add_escaped(doc, at, len, decode);
        return;
    }
    doc->has_messages = true;
    (void)dg_icu_parse(text, add_piece, &message);
}

/* Appends a message as translations need it: with whole sentences in its branches, and with the
 * plural categories of the language. */
static enum dg_err adapt_message(struct dg_span text, struct dg_span language, struct dg_buf *out)
{
    struct dg_buf wide;
    dg_buf_init(&wide, DG_ICU_GROWTH_MAX * text.len + DG_ICU_GROWTH_FREE);
    enum dg_err err = dg_icu_widen(text, &wide);
    if (!err)
        err = dg_icu_adapt(dg_buf_span(&wide), language, out);
    dg_buf_deinit(&wide);
    return err;
}

/* Fills in the bytes between texts; the value of "@@locale" in an .arb file becomes the language,
 * with underscores as Flutter writes it. */
static void fill_between(struct dg_doc *doc, size_t from, size_t to, struct dg_doc_place locale,
                         struct dg_span language)
{
    if (locale.len > 0 && locale.at >= from && locale.at < to) {
        dg_doc_fill(doc, dg_span_sub(doc->original, from, locale.at - from));
        for (size_t i = 0; i < language.len; i++)
            dg_doc_fill(doc, language.ptr[i] == '-' ? DG_SPAN("_") : dg_span_sub(language, i, 1));
        from = locale.at + locale.len;
    }
    dg_doc_fill(doc, dg_span_sub(doc->original, from, to - from));
}

/* Writes the original again with its messages as the target needs them, and adjusts the places. */
static void adapt(struct dg_doc *doc, struct dg_span language, struct dg_doc_place locale)
{
    size_t done = 0;
    bool is_other = locale.len > 0;
    for (size_t i = 0; i < doc->n_places && !is_other && language.len > 0; i++)
        is_other = is_message(dg_span_sub(doc->original, doc->places[i].at, doc->places[i].len));
    if (!is_other || language.len == 0)
        return;
    for (size_t i = 0; i < doc->n_places && !dg_doc_is_over(doc); i++) {
        struct dg_doc_place *place = &doc->places[i];
        const struct dg_span text = dg_span_sub(doc->original, place->at, place->len);
        fill_between(doc, done, place->at, locale, language);
        done = place->at + place->len;
        place->at = doc->filled.len;
        if (!doc->err && is_message(text))
            doc->err = adapt_message(text, language, &doc->filled);
        else
            dg_doc_fill(doc, text);
        place->len = doc->filled.len - place->at;
    }
    fill_between(doc, done, doc->original.len, locale, language);
    if (!doc->err)
        doc->original = dg_buf_span(&doc->filled);
}

void dg_doc_read_json(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    struct dg_span text = doc->original;
    char stack[DEPTH_MAX];
    size_t depth = 0, skipped = 0; /* skipped: one more than the depth at which the skipped subtree
                                      begins */
    bool is_under_at = false;      /* the next value belongs to a key with '@' */
    struct dg_doc_place locale = {0}; /* the value of "@@locale" */
    bool is_locale = false;           /* the next value is that of "@@locale" */
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
            else if (!is_under_at && !skipped)
                dg_doc_add_place(doc, at + 1, inner.len);
            else if (is_locale && depth == 1)
                locale = (struct dg_doc_place){at + 1, inner.len};
            is_locale = is_key && depth == 1 && dg_span_eq(inner, DG_SPAN("@@locale"));
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
    adapt(doc, opts->target, locale);
    dg_doc_read_places(doc, read_text);
}

/* In a message an apostrophe before a bracket would quote the bracket. If the file doubles
 * apostrophes, so do its translations. Otherwise it is unknown whether the readers of the file
 * undo the doubling, and a typographic apostrophe is written instead. */
static struct dg_span apostrophe(const struct dg_doc *doc, struct dg_span text, size_t at)
{
    const char next = at + 1 < text.len ? text.ptr[at + 1] : '{';
    if (!doc->has_messages)
        return DG_SPAN("'");
    if (doc->doubles_apostrophes)
        return DG_SPAN("''");
    if (next != '{' && next != '}' && next != '#')
        return DG_SPAN("'");
    return doc->is_ascii ? DG_SPAN("\\u2019") : DG_SPAN("\xE2\x80\x99");
}

enum dg_err dg_doc_escape_json(const struct dg_doc *doc, struct dg_span text, struct dg_buf *out)
{
    const bool is_ascii = doc->is_ascii;
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
        else if (cp == '\'')
            err = dg_buf_append_span(out, apostrophe(doc, text, at));
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
