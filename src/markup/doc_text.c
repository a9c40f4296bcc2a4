/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What plain text may hold besides words: signs and tags.
 *
 * A sign is a character that a program has written as a reference or an escape: L&#39;eau, R&amp;D,
 * \"Non\", and lines that end in the escape \n. The model sees the characters. A translation gets
 * the same form for each of them, unless the text writes that character both ways.
 *
 * Tags may stand in any text that is not markup: "A <b>big</b> cat." as plain text, as a string of
 * JSON or PO, or written with references in a page. A pair of tags becomes OPEN and CLOSE, as in
 * HTML, so that the model sees the words alone and the tags go where their words go. A tag without
 * a partner stays text, which the engine protects. One pass over the items of a document finds tags
 * and pairs them, within one line and one element; a second one divides the items at the tags that
 * have a meaning. */
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/doc_int.h"
#include "markup/markup.h"
#include "text/terms/protect.h"

#include <string.h>

/* ---- Signs ----------------------------------------------------------------------------------- */

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

/* Whether there may be pairs of tags, or tags that are borders. */
static bool has_tags(struct dg_span text)
{
    size_t none_before = 0;
    for (size_t at = 0; at < text.len; at++) {
        const char *next = memchr(text.ptr + at, '<', text.len - at);
        if (!next)
            return false;
        at = (size_t)(next - text.ptr);
        if (at < none_before || at + 2 >= text.len)
            continue;
        const bool may_be = text.ptr[at + 1] == '/' || (text.ptr[at + 1] | 0x20) == 'b' ||
                            (text.ptr[at + 1] | 0x20) == 'h';
        if (may_be && dg_protect_match_tag(text, at, &none_before) &&
            (text.ptr[at + 1] == '/' || (text.ptr[at + 2] | 0x20) == 'r'))
            return true;
    }
    return false;
}

bool dg_doc_has_signs(struct dg_span text, bool no_tags)
{
    struct sign sign;
    for (const char *c = "&\\"; *c; c++) /* memchr passes over text without signs fastest */
        for (size_t i = 0; i < text.len; i++) {
            const char *at = memchr(text.ptr + i, *c, text.len - i);
            i = at ? (size_t)(at - text.ptr) : text.len;
            if (at && read_sign(text, i, false, &sign))
                return true;
        }
    return !no_tags && has_tags(text);
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

/* ---- Tags ------------------------------------------------------------------------------------ */

enum { DEPTH_MAX = 64, SEEN_MAX = 64 /* bytes of code that the model sees */ };

enum role { TEXT, OPEN, CLOSE, BORDER, CODE };

struct tag {
    size_t at, end; /* in the plain text */
    size_t run;     /* the number of the stretch of text that the tag is in */
    size_t partner; /* the index of the other tag */
    struct dg_span name;
    enum role role; /* CODE: the tag begins code; its partner has no role, as it is in the same item
                     */
};

struct reader {
    struct dg_doc *doc;
    struct dg_span plain;
    bool joins_lines;
    struct tag *tags; /* owned; [n] */
    size_t n, cap;
    size_t open[DEPTH_MAX]; /* [depth] indices of tags without a partner; SIZE_MAX: the document's
                               own */
    size_t depth;
    size_t border; /* the index after the last tag that is a border */
    size_t run;
    size_t n_used; /* tags that have a role */
};

/* ---- Finding tags ---------------------------------------------------------------------------- */

static void give(struct reader *r, size_t tag, enum role role)
{
    r->tags[tag].role = role;
    r->n_used++;
    if (role == BORDER)
        r->border = tag + 1;
}

/* Whether what stands between two tags is code that could be a word of a sentence. */
static bool is_code(const struct reader *r, size_t open, size_t close)
{
    const struct tag *from = &r->tags[open], *to = &r->tags[close];
    const struct dg_span code = dg_span_sub(r->plain, from->end, to->at - from->end);
    return dg_doc_is_code(from->name) && close == open + 1 && from->run == to->run &&
           code.len > 0 && code.len <= SEEN_MAX && !memchr(code.ptr, '\n', code.len) &&
           code.ptr[0] != ' ' && code.ptr[code.len - 1] != ' ';
}

static void pair(struct reader *r, size_t open, size_t close)
{
    const bool is_border = dg_doc_is_border(r->tags[open].name) || r->border > open;
    r->tags[open].partner = close;
    r->tags[close].partner = open;
    if (is_code(r, open, close)) {
        give(r, open, CODE);
        return;
    }
    give(r, open, is_border ? BORDER : OPEN);
    give(r, close, is_border ? BORDER : CLOSE);
}

static void close_tag(struct reader *r, size_t close)
{
    for (size_t k = r->depth; k > 0 && r->open[k - 1] != SIZE_MAX; k--) {
        if (!dg_markup_is(DG_MARKUP_HTML, r->tags[r->open[k - 1]].name, r->tags[close].name))
            continue;
        r->depth = k - 1; /* what was opened within it has no partner */
        pair(r, r->open[k - 1], close);
        return;
    }
}

static void take_tag(struct reader *r, size_t at, size_t end)
{
    static const char *const lone[] = {"br", "hr", NULL};
    const struct dg_span tag = dg_span_sub(r->plain, at, end - at);
    const bool closes = tag.ptr[1] == '/';
    size_t name_end = 1 + closes;
    while (name_end < tag.len && !strchr(" \t\r\n/>", tag.ptr[name_end]))
        name_end++;
    const struct dg_span name = dg_span_sub(tag, 1 + closes, name_end - 1 - closes);
    if (tag.ptr[1] == '!' || dg_doc_is_opaque(name))
        return;
    if (DG_GROW(r->tags, r->n, r->cap, 16)) {
        r->doc->err = DG_ERR_NOMEM;
        return;
    }
    r->tags[r->n++] = (struct tag){.at = at, .end = end, .run = r->run, .name = name};
    if (!closes && dg_markup_is_one_of(name, lone))
        give(r, r->n - 1, BORDER);
    else if (closes)
        close_tag(r, r->n - 1);
    else if (tag.ptr[tag.len - 2] != '/' && r->depth < DEPTH_MAX)
        r->open[r->depth++] = r->n - 1;
}

/* Finds the tags of a stretch of text. */
static void read_run(struct reader *r, size_t at, size_t end)
{
    const struct dg_span run = dg_span_sub(r->plain, 0, end);
    size_t none_before = at, line = at;
    const char *next;
    while (!r->doc->err && at < end && (next = memchr(run.ptr + at, '<', end - at))) {
        at = (size_t)(next - run.ptr);
        const size_t tag_end = at < none_before ? 0 : dg_protect_match_tag(run, at, &none_before);
        if (!tag_end) {
            at++;
            continue;
        }
        if (!r->joins_lines && memchr(run.ptr + line, '\n', at - line))
            r->depth = 0;
        take_tag(r, at, tag_end);
        at = line = tag_end;
    }
    if (!r->joins_lines && line < end && memchr(run.ptr + line, '\n', end - line))
        r->depth = 0;
    r->run++;
}

static void find(struct reader *r)
{
    const struct dg_doc *doc = r->doc;
    size_t from = SIZE_MAX;
    for (size_t i = 0; i <= doc->n && !dg_doc_is_over(r->doc); i++) {
        const struct dg_doc_item *item = i < doc->n ? &doc->items[i] : NULL;
        const bool is_text = item && (item->kind == DG_DOC_COPY || item->kind == DG_DOC_CHAR);
        if (is_text && from == SIZE_MAX)
            from = item->plain_at;
        if (is_text)
            continue;
        if (from != SIZE_MAX)
            read_run(r, from, item ? item->plain_at : r->plain.len);
        from = SIZE_MAX;
        if (!item || item->kind == DG_DOC_BORDER)
            r->depth = 0;
        else if (item->kind == DG_DOC_OPEN && r->depth < DEPTH_MAX)
            r->open[r->depth++] = SIZE_MAX;
        else if (item->kind == DG_DOC_OPEN)
            r->depth = 0;
        while (item && item->kind == DG_DOC_CLOSE && r->depth > 0)
            if (r->open[--r->depth] == SIZE_MAX)
                break;
    }
}

/* ---- Dividing items -------------------------------------------------------------------------- */

/* The document as it becomes. */
struct writer {
    struct reader *r;
    struct dg_doc_item *items; /* owned; [n] */
    size_t n, cap;
    struct dg_buf plain;
    size_t *became; /* owned; the new index of each item of the document */
    size_t *tag_at; /* owned; the index of each tag's item */
};

static void put(struct writer *w, struct dg_doc_item item, struct dg_span plain)
{
    struct dg_doc *doc = w->r->doc;
    if (!doc->err && DG_GROW(w->items, w->n, w->cap, 32))
        doc->err = DG_ERR_NOMEM;
    if (doc->err)
        return;
    item.plain_at = w->plain.len;
    item.plain_len = plain.len;
    doc->err = dg_buf_append_span(&w->plain, plain);
    w->items[w->n++] = item;
}

/* The original's bytes of a stretch of an item's plain text. */
static struct dg_doc_item part_of(const struct dg_doc_item *item, size_t from, size_t to)
{
    struct dg_doc_item part = *item;
    if (item->kind == DG_DOC_COPY) {
        part.at += from - item->plain_at;
        part.len = to - from;
    }
    return part;
}

static void put_tag(struct writer *w, size_t i, size_t at, size_t end)
{
    static const uint8_t kinds[] = {[OPEN] = DG_DOC_OPEN,
                                    [CLOSE] = DG_DOC_CLOSE,
                                    [BORDER] = DG_DOC_BORDER,
                                    [CODE] = DG_DOC_FROZEN};
    const struct tag *tag = &w->r->tags[i];
    const struct tag *other = &w->r->tags[tag->partner];
    struct dg_span seen = {NULL, 0};
    if (tag->role == CODE)
        seen = dg_span_sub(w->r->plain, tag->end, other->at - tag->end);
    w->tag_at[i] = w->n;
    put(w,
        (struct dg_doc_item){
            .at = at, .len = end - at, .partner = SIZE_MAX, .kind = kinds[tag->role]},
        seen);
    if (tag->role == CLOSE && !w->r->doc->err) {
        w->items[w->n - 1].partner = w->tag_at[tag->partner];
        w->items[w->tag_at[tag->partner]].partner = w->n - 1;
    }
}

/* Where a tag's item ends in the plain text. */
static size_t end_of(const struct reader *r, size_t i)
{
    return r->tags[i].role == CODE ? r->tags[r->tags[i].partner].end : r->tags[i].end;
}

static size_t next_used(const struct reader *r, size_t i)
{
    while (i < r->n && r->tags[i].role == TEXT)
        i++;
    return i;
}

static void divide(struct writer *w)
{
    const struct dg_doc *doc = w->r->doc;
    size_t next = next_used(w->r, 0), tag_from = SIZE_MAX;
    for (size_t i = 0; i < doc->n && !dg_doc_is_over(w->r->doc); i++) {
        const struct dg_doc_item *item = &doc->items[i];
        const size_t end = item->plain_at + item->plain_len;
        const bool is_text = item->kind == DG_DOC_COPY || item->kind == DG_DOC_CHAR;
        w->became[i] = w->n;
        if (!is_text)
            put(w, *item, dg_span_sub(w->r->plain, item->plain_at, item->plain_len));
        for (size_t at = item->plain_at; is_text && at < end;) {
            const bool has_tag = next < w->r->n && w->r->tags[next].at < end;
            const size_t stop = has_tag && w->r->tags[next].at > at ? w->r->tags[next].at : end;
            if (!has_tag || w->r->tags[next].at > at) {
                put(w, part_of(item, at, stop), dg_span_sub(w->r->plain, at, stop - at));
                at = stop;
                continue;
            }
            /* The tag has begun here or in an item before this one. */
            const size_t tag_end = end_of(w->r, next);
            if (tag_from == SIZE_MAX)
                tag_from = part_of(item, at, end).at;
            if (tag_end > end)
                break;
            const struct dg_doc_item last = part_of(item, at, tag_end);
            put_tag(w, next, tag_from, last.at + last.len);
            tag_from = SIZE_MAX;
            at = tag_end;
            next = next_used(w->r, next + 1);
        }
    }
    for (size_t i = 0; i < doc->n && !doc->err; i++)
        if (doc->items[i].kind == DG_DOC_OPEN || doc->items[i].kind == DG_DOC_CLOSE)
            w->items[w->became[i]].partner = w->became[doc->items[i].partner];
}

static void rebuild(struct reader *r)
{
    struct dg_doc *doc = r->doc;
    struct writer w = {.r = r,
                       .became = dg_try_calloc(doc->n + 1, sizeof *w.became),
                       .tag_at = dg_try_calloc(r->n + 1, sizeof *w.tag_at)};
    dg_buf_init(&w.plain, doc->plain.max);
    if (!w.became || !w.tag_at)
        doc->err = DG_ERR_NOMEM;
    else
        divide(&w);
    dg_free(w.became);
    dg_free(w.tag_at);
    if (doc->err) {
        dg_free(w.items);
        dg_buf_deinit(&w.plain);
        return;
    }
    dg_free(doc->items);
    dg_buf_deinit(&doc->plain);
    doc->items = w.items;
    doc->n = w.n;
    doc->cap = w.cap;
    doc->plain = w.plain;
}

void dg_doc_find_tags(struct dg_doc *doc, bool joins_lines)
{
    struct reader r = {.doc = doc, .plain = dg_buf_span(&doc->plain), .joins_lines = joins_lines};
    if (doc->err || doc->is_subtitle || !r.plain.len || !memchr(r.plain.ptr, '<', r.plain.len))
        return;
    find(&r);
    if (!doc->err && r.n_used > 0)
        rebuild(&r);
    dg_free(r.tags);
}
