/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Plain text in which a program has written characters as references or escapes: L&#39;eau,
 * R&amp;D, \"Non\", and lines that end in the escape \n. The model sees the characters. A
 * translation gets the same form for each of them, unless the text writes that character both
 * ways. */
#include "base/memory/utf8.h"
#include "markup/doc_int.h"
#include "text/terms/protect.h"

#include <string.h>

/* A character that is written in another way. */
struct sign {
    uint32_t cp; /* '\n': it ends a line */
    size_t len;
};

/* A reference must end with a semicolon here: "a?b=1&copy=2" contains none. */
static bool read_reference(struct dg_span text, size_t at, struct sign *sign)
{
    sign->len = dg_entity_match(text, at, DG_ENTITY_HTML, &sign->cp);
    return sign->len > 0 && text.ptr[at + sign->len - 1] == ';' && sign->cp >= 0x20;
}

static bool read_escape(struct dg_span text, size_t at, bool joins_lines, struct sign *sign)
{
    const size_t end = dg_protect_match_escape(text, at);
    if (end == 0 || text.ptr[at + 1] == 't')
        return false;
    const bool is_quote = strchr("\"'", text.ptr[at + 1]) != NULL;
    *sign = (struct sign){.cp = is_quote ? (uint32_t)text.ptr[at + 1] : '\n', .len = end - at};
    return is_quote || !joins_lines;
}

static bool read_sign(struct dg_span text, size_t at, bool joins_lines, struct sign *sign)
{
    return text.ptr[at] == '&'    ? read_reference(text, at, sign)
           : text.ptr[at] == '\\' ? read_escape(text, at, joins_lines, sign)
                                  : false;
}

bool dg_doc_has_signs(struct dg_span text)
{
    struct sign sign;
    for (const char *c = "&\\"; *c; c++) /* memchr passes over text without signs fastest */
        for (size_t i = 0; i < text.len; i++) {
            const char *at = memchr(text.ptr + i, *c, text.len - i);
            i = at ? (size_t)(at - text.ptr) : text.len;
            if (at && read_sign(text, i, false, &sign))
                return true;
        }
    return false;
}

static void note_form(struct dg_doc *doc, uint32_t cp, struct dg_span form)
{
    for (size_t i = 0; i < doc->n_forms; i++)
        if (doc->forms[i].cp == cp)
            return;
    if (doc->n_forms < DG_DOC_FORMS)
        doc->forms[doc->n_forms++] = (struct dg_doc_form){.cp = cp, .form = form};
}

/* The form of a character; NULL when it is written as it is. */
static const struct dg_doc_form *form_of(const struct dg_doc *doc, uint32_t cp)
{
    for (size_t i = 0; i < doc->n_forms; i++)
        if (doc->forms[i].cp == cp)
            return &doc->forms[i];
    return NULL;
}

/* Forgets the forms of characters that a stretch of the text has as they are. */
static void forget_forms(struct dg_doc *doc, struct dg_span text)
{
    size_t len;
    uint32_t cp;
    for (size_t i = 0; i < text.len && doc->n_forms > 0; i += len) {
        len = dg_utf8_decode(text, i, &cp);
        const struct dg_doc_form *form = len ? form_of(doc, cp) : NULL;
        if (form)
            doc->forms[form - doc->forms] = doc->forms[--doc->n_forms];
        len = len ? len : 1;
    }
}

void dg_doc_read_text(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    const struct dg_span text = doc->original;
    struct sign sign;
    size_t from = 0;
    for (size_t at = 0; at < text.len && !dg_doc_is_over(doc);) {
        char bytes[DG_UTF8_MAX_LEN];
        if (!read_sign(text, at, opts->join_lines, &sign)) {
            at++;
            continue;
        }
        dg_doc_add(doc, DG_DOC_COPY, from, at - from, dg_span_sub(text, from, at - from));
        if (sign.cp == '\n') {
            dg_doc_add(doc, DG_DOC_BORDER, at, sign.len, (struct dg_span){NULL, 0});
        } else {
            dg_doc_add(doc, DG_DOC_CHAR, at, sign.len,
                       dg_span_make(bytes, dg_utf8_encode(sign.cp, bytes)));
            note_form(doc, sign.cp, dg_span_sub(text, at, sign.len));
        }
        from = at += sign.len;
    }
    dg_doc_add(doc, DG_DOC_COPY, from, text.len - from, dg_span_sub(text, from, text.len - from));
    for (size_t i = 0; i < doc->n && !doc->err; i++)
        if (doc->items[i].kind == DG_DOC_COPY)
            forget_forms(doc, dg_span_sub(text, doc->items[i].at, doc->items[i].len));
}

enum dg_err dg_doc_escape_text(const struct dg_doc *doc, struct dg_span text, struct dg_buf *out)
{
    size_t from = 0, len;
    uint32_t cp;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && doc->n_forms > 0 && !err; i += len) {
        len = dg_utf8_decode(text, i, &cp);
        const struct dg_doc_form *form = len ? form_of(doc, cp) : NULL;
        len = len ? len : 1;
        if (!form)
            continue;
        err = dg_buf_append_span(out, dg_span_sub(text, from, i - from));
        if (!err)
            err = dg_buf_append_span(out, form->form);
        from = i + len;
    }
    return err ? err : dg_buf_append_span(out, dg_span_sub(text, from, text.len - from));
}
