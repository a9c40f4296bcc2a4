/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A document is made in four steps: a reader of the format lists items; inline tags are paired;
 * elements that contain nothing but protected spans are frozen; the plain text is laid out. After
 * that the document is immutable. */
#include "markup/doc.h"
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "markup/doc_int.h"
#include "markup/subtitle.h"
#include "text/terms/protect.h"

#include <string.h>
#include <strings.h>

enum {
    DEPTH_MAX = 256,  /* the deepest nesting of inline elements; deeper ones are borders */
    FROZEN_MAX = 256, /* the most bytes of an element that may be frozen */
    PLAIN_MAX = 1 << 30,
    SAMPLE_MARKUP = 16 * 1024, /* bytes of markup that are read to detect a language */
    SAMPLE_PIECES = 48,
    SAMPLE_PIECE = 64,  /* bytes */
    SAMPLE_LEAST = 256, /* bytes of text: with less in the beginning, all of a file is read */
    BRACKETS_MAX = 64,  /* of the open brackets of a JSON file whose beginning is read */
};

/* Where a file can be cut so that its beginning is a file of the same format. */
enum cut {
    ANYWHERE,
    LINE,       /* behind the end of a line */
    BLANK_LINE, /* behind an empty line */
    COMMA,      /* JSON: before a comma, if the open brackets are closed */
    NOWHERE
};

#define KIND(name, word, reader, cut, type, endings) {dg_doc_read_##reader, type, endings, cut},
static const struct kind {
    void (*read)(struct dg_doc *doc, const struct dg_doc_opts *opts);
    const char *type, *endings;
    enum cut cut;
} kinds[] = {DG_DOC_FORMAT_LIST(KIND)};
#undef KIND

#define WORD(name, word, reader, cut, type, endings) word,
const char *const dg_doc_format_words[] = {DG_DOC_FORMAT_LIST(WORD) NULL};
#undef WORD

/* ---- Items ----------------------------------------------------------------------------------- */

size_t dg_doc_add(struct dg_doc *doc, enum dg_doc_kind kind, size_t at, size_t len,
                  struct dg_span plain)
{
    struct dg_doc_item *last = doc->n ? &doc->items[doc->n - 1] : NULL;
    if ((kind == DG_DOC_COPY && len == 0) || dg_doc_is_over(doc))
        return doc->n;
    size_t plain_at = doc->plain.len;
    doc->err = dg_buf_append_span(&doc->plain, plain);
    if (!doc->err && kind == DG_DOC_COPY && last && last->kind == DG_DOC_COPY &&
        last->at + last->len == at) {
        last->len += len;
        last->plain_len += len;
        return doc->n - 1;
    }
    if (!doc->err)
        doc->err = DG_GROW(doc->items, doc->n, doc->cap, 32);
    if (doc->err)
        return doc->n;
    doc->items[doc->n] = (struct dg_doc_item){.at = at,
                                              .len = len,
                                              .plain_at = plain_at,
                                              .plain_len = plain.len,
                                              .partner = SIZE_MAX,
                                              .kind = (uint8_t)kind};
    return doc->n++;
}

bool dg_doc_is_over(struct dg_doc *doc)
{
    if (!doc->err && doc->stop && atomic_load_explicit(doc->stop, memory_order_relaxed))
        doc->err = DG_ERR_CANCELLED;
    return doc->err != DG_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* One reference; returns its length, 0 when '&' is an ampersand. */
static size_t add_reference(struct dg_doc *doc, size_t at, size_t end, enum dg_entity_kind kind)
{
    uint32_t cp = 0;
    char bytes[DG_UTF8_MAX_LEN];
    size_t len = dg_entity_match(dg_span_sub(doc->original, 0, end), at, kind, &cp);
    if (len == 0)
        return 0;
    size_t n = cp ? dg_utf8_encode(cp, bytes) : 0;
    dg_doc_add(doc, n ? DG_DOC_CHAR : DG_DOC_POINT, at, len, dg_span_make(bytes, n));
    return len;
}

void dg_doc_add_text(struct dg_doc *doc, size_t at, size_t len, const struct dg_doc_text *how)
{
    const char *text = doc->original.ptr;
    size_t end = at + len, from = at;
    while (at < end && !doc->err) {
        size_t taken = 0;
        if (how->has_entities && text[at] == '&') {
            dg_doc_add(doc, DG_DOC_COPY, from, at - from,
                       dg_span_sub(doc->original, from, at - from));
            from = at;
            taken = add_reference(doc, at, end, how->entities);
        } else if (!how->keeps_space && is_space(text[at])) {
            size_t behind = at + 1;
            while (behind < end && is_space(text[behind]))
                behind++;
            if (behind - at > 1 || text[at] != ' ') {
                dg_doc_add(doc, DG_DOC_COPY, from, at - from,
                           dg_span_sub(doc->original, from, at - from));
                from = at;
                taken = behind - at;
                dg_doc_add(doc, DG_DOC_CHAR, at, taken, DG_SPAN(" "));
            }
        }
        at += taken ? taken : 1;
        from = taken ? at : from;
    }
    dg_doc_add(doc, DG_DOC_COPY, from, end - from, dg_span_sub(doc->original, from, end - from));
}

/* ---- Places ---------------------------------------------------------------------------------- */

void dg_doc_add_place(struct dg_doc *doc, size_t at, size_t len)
{
    if (doc->err || len == 0)
        return;
    if (DG_GROW(doc->places, doc->n_places, doc->places_cap, 32)) {
        doc->err = DG_ERR_NOMEM;
        return;
    }
    doc->places[doc->n_places++] = (struct dg_doc_place){.at = at, .len = len};
}

void dg_doc_read_places(struct dg_doc *doc, void (*read)(struct dg_doc *doc, size_t at, size_t len))
{
    static const struct dg_span none = {NULL, 0};
    size_t at = 0;
    for (size_t i = 0; i < doc->n_places && !doc->err; i++) {
        const struct dg_doc_place *place = &doc->places[i];
        if (place->at > at)
            dg_doc_add(doc, DG_DOC_BORDER, at, place->at - at, none);
        read(doc, place->at, place->len);
        at = place->at + place->len;
    }
    if (doc->original.len > at)
        dg_doc_add(doc, DG_DOC_BORDER, at, doc->original.len - at, none);
}

void dg_doc_fill(struct dg_doc *doc, struct dg_span text)
{
    if (!doc->err)
        doc->err = dg_buf_append_span(&doc->filled, text);
}

void dg_doc_refuse(struct dg_doc *doc, enum dg_err err, size_t at, const char *what)
{
    size_t line = 1;
    if (doc->err)
        return;
    for (size_t i = 0; i < at && i < doc->original.len; i++)
        line += doc->original.ptr[i] == '\n';
    doc->err = dg_error_set(doc->error, err, "line %zu: %s", line, what);
}

/* ---- Text with backslashes ------------------------------------------------------------------- */

enum {
    WRAPPED_MIN = 40
}; /* bytes of a line that may have been wrapped; shorter ones were meant to end */

/* True for a line end that only wraps a paragraph: a long line, and the next goes on in lower case.
 */
static bool is_wrap(struct dg_span text, size_t line_at, size_t at, size_t behind, size_t end)
{
    char next = behind < end ? text.ptr[behind] : '\0';
    char last = at > line_at ? text.ptr[at - 1] : '\n';
    return at - line_at >= WRAPPED_MIN && next >= 'a' && next <= 'z' && last != ':' && last != '\n';
}

void dg_doc_add_escaped(struct dg_doc *doc, size_t at, size_t len, dg_doc_decode_fn decode)
{
    struct dg_span text = doc->original, none = {NULL, 0};
    size_t end = at + len, from = at, line_at = at;
    while (at < end && !doc->err) {
        char means[4];
        size_t n = 0, taken = text.ptr[at] == '\\' ? decode(text, at, end, means, &n) : 0;
        if (taken == 0) {
            at++;
            continue;
        }
        dg_doc_add(doc, DG_DOC_COPY, from, at - from, dg_span_sub(text, from, at - from));
        if (n == 1 && means[0] == '\n' && is_wrap(text, line_at, at, at + taken, end))
            dg_doc_add(doc, DG_DOC_POINT, at, taken, DG_SPAN(" "));
        else if (n == 1 && means[0] == '\n')
            dg_doc_add(doc, DG_DOC_BORDER, at, taken, none);
        else
            dg_doc_add(doc, n ? DG_DOC_CHAR : DG_DOC_POINT, at, taken, dg_span_make(means, n));
        line_at = n == 1 && means[0] == '\n' ? at + taken : line_at;
        at += taken;
        from = at;
    }
    dg_doc_add(doc, DG_DOC_COPY, from, end - from, dg_span_sub(text, from, end - from));
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

struct pairs {
    struct dg_doc *doc;
    const struct dg_doc_pairing *how;
    size_t open[DEPTH_MAX];   /* [n] indices of OPEN items */
    uint32_t keys[DEPTH_MAX]; /* [n] their keys */
    size_t n;
    size_t border; /* the position after the last border so far */
};

uint32_t dg_doc_name_key(struct dg_span name)
{
    uint32_t key = 2166136261u; /* the hash FNV-1a */
    for (size_t i = 0; i < name.len; i++)
        key = (key ^ (uint8_t)(name.ptr[i] | 0x20)) * 16777619u;
    return key;
}

static void make_border(struct pairs *pairs, size_t i)
{
    pairs->doc->items[i].kind = pairs->how->are_points ? DG_DOC_POINT : DG_DOC_BORDER;
    if (i + 1 > pairs->border && !pairs->how->are_points)
        pairs->border = i + 1;
}

static void open_one(struct pairs *pairs, size_t i)
{
    const struct dg_doc_item *items = pairs->doc->items;
    const uint32_t key = pairs->how->key(pairs->doc, &items[i]);
    const bool is_lonely = pairs->how->is_lonely && pairs->how->is_lonely(pairs->doc, &items[i]);
    bool fits = pairs->n < DEPTH_MAX;
    for (size_t k = 0; is_lonely && k < pairs->n && fits; k++)
        fits = pairs->keys[k] != key;
    if (!fits) {
        make_border(pairs, i);
        return;
    }
    pairs->keys[pairs->n] = key;
    pairs->open[pairs->n++] = i;
}

static void close_one(struct pairs *pairs, size_t i)
{
    struct dg_doc_item *items = pairs->doc->items;
    const uint32_t key = pairs->how->key(pairs->doc, &items[i]);
    size_t k = pairs->n;
    while (k > 0 && (pairs->keys[k - 1] != key ||
                     !pairs->how->same(pairs->doc, &items[pairs->open[k - 1]], &items[i])))
        k--;
    if (k == 0) {
        make_border(pairs, i);
        return;
    }
    size_t open = pairs->open[k - 1];
    bool is_crossed = k < pairs->n;
    while (pairs->n > k)
        make_border(pairs, pairs->open[--pairs->n]);
    pairs->n = k - 1;
    if (is_crossed || pairs->border > open) {
        make_border(pairs, open);
        make_border(pairs, i);
        return;
    }
    items[open].partner = i;
    items[i].partner = open;
}

void dg_doc_pair(struct dg_doc *doc, const struct dg_doc_pairing *how)
{
    struct pairs pairs = {.doc = doc, .how = how};
    for (size_t i = 0; i < doc->n && !dg_doc_is_over(doc); i++) {
        const bool is_cue = doc->items[i].kind == DG_DOC_CUE;
        if (doc->items[i].kind == DG_DOC_BORDER)
            pairs.border = i + 1;
        while (how->are_points && (is_cue || pairs.border == i + 1) && pairs.n > 0)
            make_border(&pairs, pairs.open[--pairs.n]);
        if (doc->items[i].kind == DG_DOC_OPEN)
            open_one(&pairs, i);
        else if (doc->items[i].kind == DG_DOC_CLOSE)
            close_one(&pairs, i);
    }
    while (pairs.n > 0)
        make_border(&pairs, pairs.open[--pairs.n]);
}

/* ---- Freezing and layout --------------------------------------------------------------------- */

/* True when an element has text, and all of it is protected spans. `last` is the text that was
 * checked before: nested elements may have the same text. */
static bool is_kept_anyway(struct dg_doc *doc, size_t i, struct dg_protect_list *spans,
                           struct dg_span *last)
{
    const struct dg_doc_item *open = &doc->items[i], *close = &doc->items[open->partner];
    struct dg_span text =
        dg_span_sub(dg_buf_span(&doc->plain), open->plain_at, close->plain_at - open->plain_at);
    if (text.len == 0 || text.len > FROZEN_MAX || (text.ptr == last->ptr && text.len == last->len))
        return false; /* the outer element had the same text and was not frozen */
    *last = text;
    doc->err = dg_protect_find(text, DG_PROTECT_ALL, spans);
    return !doc->err && spans->n > 0 && dg_protect_leaves_nothing(text, spans);
}

/* Joins an element and all in it into one item at `to`; returns the index after it. */
static size_t freeze(struct dg_doc *doc, size_t i, size_t to)
{
    const struct dg_doc_item open = doc->items[i], close = doc->items[open.partner];
    doc->items[to] = (struct dg_doc_item){.at = open.at,
                                          .len = close.at + close.len - open.at,
                                          .plain_at = open.plain_at,
                                          .plain_len = close.plain_at - open.plain_at,
                                          .partner = SIZE_MAX,
                                          .kind = DG_DOC_FROZEN};
    return open.partner + 1;
}

void dg_doc_settle(struct dg_doc *doc)
{
    struct dg_protect_list spans;
    struct dg_buf plain;
    struct dg_span last = {NULL, 0};
    size_t to = 0;
    dg_protect_list_init(&spans);
    dg_buf_init(&plain, PLAIN_MAX);
    for (size_t i = 0; i < doc->n && !dg_doc_is_over(doc);) {
        if (doc->items[i].kind == DG_DOC_OPEN && is_kept_anyway(doc, i, &spans, &last)) {
            i = freeze(doc, i, to++);
            continue;
        }
        if (doc->items[i].kind == DG_DOC_OPEN)
            /* its index after those before it moved up */
            doc->items[doc->items[i].partner].partner = to;
        else if (doc->items[i].kind == DG_DOC_CLOSE)
            doc->items[doc->items[i].partner].partner = to;
        doc->items[to++] = doc->items[i++];
    }
    doc->n = to;
    for (size_t i = 0; i < doc->n && !doc->err; i++) {
        struct dg_doc_item *item = &doc->items[i];
        struct dg_span text =
            dg_span_sub(dg_buf_span(&doc->plain), item->plain_at, item->plain_len);
        if (item->kind == DG_DOC_BORDER)
            text = DG_SPAN("\n");
        item->plain_at = plain.len;
        item->plain_len = text.len;
        doc->err = dg_buf_append_span(&plain, text);
    }
    dg_protect_list_deinit(&spans);
    dg_buf_deinit(&doc->plain);
    doc->plain = plain;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The first ending of a list; *rest is what follows it. */
static struct dg_span first_ending(struct dg_span list, struct dg_span *rest)
{
    const char *space = list.len ? memchr(list.ptr, ' ', list.len) : NULL;
    size_t len = space ? (size_t)(space - list.ptr) : list.len;
    *rest = dg_span_sub(list, space ? len + 1 : len, list.len);
    return dg_span_sub(list, 0, len);
}

struct dg_span dg_doc_ending(enum dg_doc_format format)
{
    struct dg_span rest;
    return first_ending(dg_span_cstr(kinds[format].endings), &rest);
}

const char *dg_doc_media_type(enum dg_doc_format format)
{
    return kinds[format].type;
}

bool dg_doc_format_of(struct dg_span name, enum dg_doc_format *format)
{
    for (size_t i = name.len; i > 0; i--) {
        if (name.ptr[i - 1] == '.') {
            name = dg_span_sub(name, i, name.len);
            break;
        }
    }
    for (int i = 0; i < DG_DOC_FORMATS; i++) {
        for (struct dg_span rest = dg_span_cstr(kinds[i].endings), one; rest.len > 0;) {
            one = first_ending(rest, &rest);
            if (name.len == one.len && strncasecmp(name.ptr, one.ptr, one.len) == 0) {
                *format = (enum dg_doc_format)i;
                return true;
            }
        }
    }
    return false;
}

/* "0:00:01.000,0:00:02.000" */
static bool is_sbv(struct dg_span text)
{
    uint32_t from, to;
    size_t at = 0;
    if (!dg_subtitle_time(text, &at, &from) || at >= text.len || text.ptr[at++] != ',')
        return false;
    return dg_subtitle_time(text, &at, &to) && at < text.len && strchr("\r\n", text.ptr[at]);
}

enum dg_doc_format dg_doc_format_guess(struct dg_span original)
{
    size_t at = dg_span_starts(original, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
    while (at < original.len && is_space(original.ptr[at]))
        at++;
    struct dg_span text = dg_span_sub(original, at, original.len - at);
    struct dg_span head = dg_span_sub(text, 0, text.len < 4096 ? text.len : 4096);
    if (dg_span_starts(text, DG_SPAN("WEBVTT")))
        return DG_DOC_WEBVTT;
    if (dg_span_starts(text, DG_SPAN("[Script Info]")))
        return DG_DOC_ASS;
    if (dg_span_starts(text, DG_SPAN("<")))
        return dg_chars_holds(head, "http://www.w3.org/ns/ttml") ? DG_DOC_TTML
               : dg_chars_holds(head, "<xliff")                  ? DG_DOC_XLIFF
               : dg_chars_holds(head, "<html") || dg_chars_holds(head, "<!DOCTYPE html")
                   ? DG_DOC_HTML
               : dg_span_starts(text, DG_SPAN("<?xml")) ? DG_DOC_XML
                                                        : DG_DOC_HTML;
    if (dg_span_starts(text, DG_SPAN("{")))
        return DG_DOC_JSON;
    if (dg_chars_holds(head, "msgid \"") && dg_chars_holds(head, "msgstr"))
        return DG_DOC_PO;
    if (head.len == 0 || head.ptr[0] < '0' || head.ptr[0] > '9')
        return DG_DOC_TEXT;
    return dg_chars_holds(head, " --> ") ? DG_DOC_SUBRIP : is_sbv(head) ? DG_DOC_SBV : DG_DOC_TEXT;
}

enum dg_err dg_doc_new(struct dg_span original, enum dg_doc_format format,
                       const struct dg_doc_opts *opts, struct dg_doc **out, struct dg_error *error)
{
    static const struct dg_doc_opts none = {.no_outline = false};
    struct dg_doc *doc = dg_try_calloc(1, sizeof *doc);
    if (!doc)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a document");
    doc->original = original;
    doc->format = format;
    doc->error = error;
    doc->stop = opts ? opts->stop : NULL;
    dg_buf_init(&doc->filled, PLAIN_MAX);
    dg_buf_init(&doc->plain, PLAIN_MAX);
    opts = opts ? opts : &none;
    kinds[format].read(doc, opts);
    if (!opts->no_tags)
        dg_doc_find_tags(doc, opts->join_lines);
    dg_doc_settle(doc);
    doc->error = NULL;
    doc->stop = NULL;
    enum dg_err err = doc->err;
    if (err) {
        dg_doc_free(doc);
        if (err == DG_ERR_CANCELLED)
            return dg_error_set(error, err, "the document is no longer wanted");
        if (err != DG_ERR_NOMEM && err != DG_ERR_LIMIT)
            return err; /* the error text is set already */
        return dg_error_set(error, err, "no memory for a document of %zu bytes", original.len);
    }
    *out = doc;
    return DG_OK;
}

void dg_doc_free(struct dg_doc *doc)
{
    if (!doc)
        return;
    dg_buf_deinit(&doc->plain);
    dg_buf_deinit(&doc->filled);
    dg_free(doc->places);
    dg_free(doc->cues);
    dg_free(doc->items);
    dg_free(doc);
}

/* Appends plain text: all of it if it is short, else pieces of it. */
static enum dg_err take_sample(struct dg_span plain, struct dg_buf *out)
{
    if (plain.len <= DG_DOC_SAMPLE)
        return dg_buf_append_span(out, plain);
    enum dg_err err = DG_OK;
    for (size_t i = 0; !err && i < SAMPLE_PIECES; i++) {
        const size_t at = dg_utf8_clip(plain, plain.len / SAMPLE_PIECES * i).len;
        err =
            dg_buf_append_span(out, dg_utf8_clip(dg_span_sub(plain, at, plain.len), SAMPLE_PIECE));
        if (!err)
            err = dg_buf_append_byte(out, ' ');
    }
    return err;
}

/* The place behind the last end of a line, or empty line; 0: there is none. */
static size_t behind_line(struct dg_span text, bool is_blank)
{
    for (size_t at = text.len; at > 0; at--) {
        if (text.ptr[at - 1] != '\n')
            continue;
        size_t before = at - 1;
        if (before > 0 && text.ptr[before - 1] == '\r')
            before--;
        if (!is_blank || (before > 0 && text.ptr[before - 1] == '\n'))
            return at;
    }
    return 0;
}

/* Reads the brackets of JSON; `open` has room for BRACKETS_MAX of those that are open at the end.
 * Returns the place of the last comma outside strings; 0: there is none, or there are more
 * brackets. */
static size_t read_brackets(struct dg_span json, char *open, size_t *depth)
{
    bool in_string = false;
    size_t comma = 0;
    *depth = 0;
    for (size_t at = 0; at < json.len; at++) {
        const char c = json.ptr[at];
        if (in_string && c == '\\') {
            at++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            if (*depth == BRACKETS_MAX)
                return 0;
            open[(*depth)++] = c;
        } else if (!in_string && (c == '}' || c == ']')) {
            if (*depth > 0)
                --*depth;
        } else if (!in_string && c == ',') {
            comma = at;
        }
    }
    return comma;
}

/* Appends the beginning of a JSON file with all brackets closed; nothing if it cannot be cut. */
static enum dg_err cut_json(struct dg_span json, struct dg_buf *out)
{
    char open[BRACKETS_MAX];
    size_t depth;
    const size_t comma = read_brackets(json, open, &depth);
    if (comma == 0)
        return DG_OK;
    json = dg_span_sub(json, 0, comma);
    (void)read_brackets(json, open, &depth);
    enum dg_err err = dg_buf_append_span(out, json);
    while (!err && depth > 0)
        err = dg_buf_append_byte(out, open[--depth] == '{' ? '}' : ']');
    return err;
}

/* Makes *text the beginning of a long file, or leaves it whole if it cannot be cut. `made` may be
 * used for it. */
static enum dg_err cut_to_sample(struct dg_span *text, enum cut cut, struct dg_buf *made)
{
    const struct dg_span begin = dg_utf8_clip(*text, SAMPLE_MARKUP);
    enum dg_err err = DG_OK;
    size_t end = 0;
    if (begin.len == text->len)
        return DG_OK;
    if (cut == ANYWHERE)
        end = begin.len;
    else if (cut == LINE || cut == BLANK_LINE)
        end = behind_line(begin, cut == BLANK_LINE);
    else if (cut == COMMA)
        err = cut_json(begin, made);
    if (end > 0)
        *text = dg_span_sub(begin, 0, end);
    else if (made->len > 0)
        *text = dg_buf_span(made);
    return err;
}

/* Appends the sample of a file with markup; of one that cannot be read nothing, because the caller
 * who reads all of it gets the error. */
static enum dg_err sample_file(struct dg_span original, enum dg_doc_format format,
                               struct dg_buf *out)
{
    struct dg_doc *doc = NULL;
    enum dg_err err = dg_doc_new(original, format, NULL, &doc, NULL);
    if (!err)
        err = take_sample(dg_doc_plain(doc), out);
    else if (err != DG_ERR_NOMEM)
        err = DG_OK;
    dg_doc_free(doc);
    return err;
}

enum dg_err dg_doc_sample(struct dg_span original, enum dg_doc_format format, struct dg_buf *out)
{
    if (format == DG_DOC_TEXT)
        return take_sample(original, out);
    const size_t before = out->len;
    struct dg_span begin = original;
    struct dg_buf made;
    dg_buf_init(&made, SAMPLE_MARKUP + BRACKETS_MAX);
    enum dg_err err = cut_to_sample(&begin, kinds[format].cut, &made);
    const bool is_cut = begin.ptr != original.ptr || begin.len < original.len;
    if (!err)
        err = sample_file(begin, format, out);
    if (!err && is_cut && out->len - before < SAMPLE_LEAST) {
        dg_buf_truncate(out, before);
        err = sample_file(original, format, out);
    }
    dg_buf_deinit(&made);
    return err;
}

struct dg_span dg_doc_plain(const struct dg_doc *doc)
{
    return dg_buf_span(&doc->plain);
}

struct dg_span dg_doc_original(const struct dg_doc *doc)
{
    return doc->original;
}

const struct dg_doc_item *dg_doc_items(const struct dg_doc *doc, size_t *n)
{
    *n = doc->n;
    return doc->items;
}

size_t dg_doc_origin(const struct dg_doc *doc, size_t plain_at)
{
    size_t low = 0, high = doc->n; /* the first item that ends after this place */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (doc->items[middle].plain_at + doc->items[middle].plain_len > plain_at)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == doc->n)
        return doc->original.len;
    const struct dg_doc_item *item = &doc->items[low];
    return item->at + (item->kind == DG_DOC_COPY ? plain_at - item->plain_at : 0);
}

enum dg_err dg_doc_escape(const struct dg_doc *doc, struct dg_span text, struct dg_buf *out)
{
    if (doc->format == DG_DOC_JSON)
        return dg_doc_escape_json(doc, text, out);
    if (doc->format == DG_DOC_PO)
        return dg_doc_escape_po(text, out);
    if (doc->format == DG_DOC_TEXT)
        return dg_doc_escape_text(doc, text, out);
    if (doc->format != DG_DOC_HTML && doc->format != DG_DOC_XML && doc->format != DG_DOC_XLIFF &&
        doc->format != DG_DOC_WEBVTT && doc->format != DG_DOC_TTML)
        return dg_buf_append_span(out, text);
    enum dg_err err = DG_OK;
    size_t from = 0;
    for (size_t i = 0; i < text.len && !err; i++) {
        char c = text.ptr[i];
        const char *reference = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : NULL;
        if (!reference)
            continue;
        err = dg_buf_append_span(out, dg_span_sub(text, from, i - from));
        if (!err)
            err = dg_buf_append_cstr(out, reference);
        from = i + 1;
    }
    return err ? err : dg_buf_append_span(out, dg_span_sub(text, from, text.len));
}

/* ---- Part by part ---------------------------------------------------------------------------- */

/* Whether an inline tag is followed by text, all of it before `end`. */
static bool opens_within(const struct dg_doc *doc, size_t i, size_t end)
{
    const struct dg_doc_item *item = &doc->items[i];
    return item->kind == DG_DOC_OPEN && doc->items[item->partner].plain_at > item->plain_at &&
           doc->items[item->partner].plain_at <= end;
}

static bool stands_at(const struct dg_doc *doc, size_t i, size_t at)
{
    return i < doc->n && doc->items[i].plain_len == 0 && doc->items[i].plain_at == at;
}

struct dg_doc_part dg_doc_next(const struct dg_doc *doc, struct dg_doc_cursor *cursor, size_t at,
                               size_t len, bool is_sentence)
{
    struct dg_doc_part part = {.at = at, .len = len, .first = cursor->item, .inner = cursor->item};
    size_t behind = at + len, i = cursor->item;
    if (is_sentence) {
        while (stands_at(doc, i, at) && !opens_within(doc, i, behind))
            i++;
        part.inner = i;
    }
    while (i < doc->n && doc->items[i].plain_at < behind)
        i++;
    for (size_t k = i; stands_at(doc, k, behind); k++) {
        if (!is_sentence && opens_within(doc, k, SIZE_MAX))
            break;
        if (!is_sentence ||
            (doc->items[k].kind == DG_DOC_CLOSE && doc->items[k].partner >= part.inner))
            i = k + 1;
    }
    part.end = i;
    part.has_markup = is_sentence && doc->is_subtitle; /* its lines are broken again */
    for (size_t k = part.inner; k < part.end && is_sentence && !part.has_markup; k++)
        part.has_markup = doc->items[k].kind >= DG_DOC_OPEN;
    bool is_cut = i > cursor->item && doc->items[i - 1].kind == DG_DOC_COPY &&
                  doc->items[i - 1].plain_at + doc->items[i - 1].plain_len > behind;
    cursor->item = is_cut ? i - 1 : i;
    return part;
}

enum dg_err dg_doc_copy(const struct dg_doc *doc, const struct dg_doc_part *part, bool lead_only,
                        struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    size_t end = lead_only ? part->inner : part->end;
    for (size_t i = part->first; i < end && !err; i++) {
        const struct dg_doc_item *item = &doc->items[i];
        struct dg_span bytes = dg_span_sub(doc->original, item->at, item->len);
        if (item->kind == DG_DOC_COPY) {
            size_t from = part->at > item->plain_at ? part->at - item->plain_at : 0;
            size_t to = part->at + part->len - item->plain_at;
            bytes = dg_span_sub(bytes, from, to > from ? to - from : 0);
        }
        err = dg_buf_append_span(out, bytes);
    }
    return err;
}

enum dg_err dg_doc_rest(const struct dg_doc *doc, const struct dg_doc_cursor *cursor,
                        struct dg_buf *out)
{
    size_t behind = doc->plain.len;
    const struct dg_doc_part part = {.at = behind, .first = cursor->item, .end = doc->n};
    return dg_doc_copy(doc, &part, false, out);
}
