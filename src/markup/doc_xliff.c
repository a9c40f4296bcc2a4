/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads XLIFF 1.2 and 2.0: each unit's <source> goes to its <target>, with inline codes as markup.
 *
 *     <trans-unit id="1"><source>Open <x id="1"/></source></trans-unit>
 *     <trans-unit id="1"><source>Open <x id="1"/></source>
 *         <target state="needs-review-translation"
 *                 state-qualifier="leveraged-mt">Open <x id="1"/></target></trans-unit>
 *
 * This takes two steps: the file is rewritten, with a copy of each untranslated source as its
 * target and all other bytes as they were; then these copies are read as text. Where the source was
 * cut into segments, the copy is of <seg-source>, since both must have the same <mrk>. A target
 * counts as a translation if it contains text and its state is not new or needing translation. Not
 * translated: translate="no", and the contents of other modules (matches, notes, alternatives). */
#include "base/memory/chars.h"
#include "markup/doc_int.h"
#include "markup/markup.h"

#include <string.h>

struct unit {
    struct dg_markup_token segment; /* XLIFF 2.0: its start tag */
    size_t source_at, source_end;   /* the contents of <source>; end 0: there is none */
    size_t copied_at, copied_end;   /* of it or of <seg-source>: what becomes the target */
    size_t behind;                  /* where a target belongs */
    struct dg_span prefix;          /* "x:" if it is written x:source */
    size_t indent_at;               /* where the white space before <source> begins */
    struct dg_markup_token target;  /* the start tag of the target; len 0: there is none */
    size_t target_at, target_end;   /* the contents of the target */
    size_t target_behind;
};

struct reader {
    struct dg_doc *doc;
    const struct dg_doc_opts *opts;
    struct dg_span text;
    size_t done; /* bytes of the original that the filled text has already */
    bool is_2;
};

static struct dg_span local_name(struct dg_span name)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    size_t skip = colon ? (size_t)(colon - name.ptr) + 1 : 0;
    return dg_span_sub(name, skip, name.len - skip);
}

static bool is_named(const struct dg_markup_token *token, const char *name)
{
    return dg_span_eq(local_name(token->name), dg_span_cstr(name));
}

static struct dg_span bytes_of(const struct reader *reader, const struct dg_markup_token *token)
{
    return dg_span_sub(reader->text, token->at, token->len);
}

static void copy_to(struct reader *reader, size_t at)
{
    dg_doc_fill(reader->doc, dg_span_sub(reader->text, reader->done, at - reader->done));
    reader->done = at;
}

/* The text of a CDATA section; false when the token is another one. */
static bool is_cdata(const struct reader *reader, const struct dg_markup_token *token,
                     struct dg_span *text)
{
    const struct dg_span bytes = bytes_of(reader, token);
    const size_t frame = strlen("<![CDATA[") + strlen("]]>");
    if (!dg_span_starts(bytes, DG_SPAN("<![CDATA[")) || bytes.len < frame)
        return false;
    *text = dg_span_sub(bytes, strlen("<![CDATA["), bytes.len - frame);
    return true;
}

/* Whether there is text outside of tags. */
static bool has_text(const struct reader *reader, size_t at, size_t end)
{
    struct dg_markup markup = {
        .text = dg_span_sub(reader->text, 0, end), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    struct dg_span text;
    while (dg_markup_next(&markup, &token))
        if (token.type == DG_MARKUP_TEXT
                ? !dg_chars_is_all_space(bytes_of(reader, &token))
                : is_cdata(reader, &token, &text) && !dg_chars_is_all_space(text))
            return true;
    return false;
}

/* ---- Filling --------------------------------------------------------------------------------- */

static bool wants_translation(const struct reader *reader, const struct unit *unit)
{
    struct dg_span state = {NULL, 0};
    if (dg_chars_is_all_space(
            dg_span_sub(reader->text, unit->source_at, unit->source_end - unit->source_at)))
        return false;
    if (unit->target.len == 0 || reader->opts->retranslate ||
        dg_chars_is_all_space(
            dg_span_sub(reader->text, unit->target_at, unit->target_end - unit->target_at)) ||
        (!has_text(reader, unit->target_at, unit->target_end) &&
         has_text(reader, unit->source_at, unit->source_end)))
        return true;
    return dg_markup_attribute(bytes_of(reader, &unit->target), "state", &state) &&
           (dg_span_eq(state, DG_SPAN("new")) || dg_span_eq(state, DG_SPAN("needs-translation")));
}

/* A start tag with its attribute `name` set: in place, or added at its end. */
static void fill_tag(struct reader *reader, const struct dg_markup_token *tag, const char *name,
                     const char *value, bool is_closed)
{
    struct dg_span bytes = bytes_of(reader, tag), old = {NULL, 0};
    size_t end = bytes.len - (tag->type == DG_MARKUP_EMPTY ? 2 : 1);
    copy_to(reader, tag->at);
    /* an attribute without a value is not XML, and is kept */
    if (name && dg_markup_attribute(bytes, name, &old) && old.ptr) {
        size_t at = (size_t)(old.ptr - bytes.ptr);
        dg_doc_fill(reader->doc, dg_span_sub(bytes, 0, at));
        dg_doc_fill(reader->doc, dg_span_cstr(value));
        dg_doc_fill(reader->doc, dg_span_sub(bytes, at + old.len, end - at - old.len));
    } else {
        while (is_closed && end > 1 && strchr(" \t\r\n", bytes.ptr[end - 1]))
            end--;
        dg_doc_fill(reader->doc, dg_span_sub(bytes, 0, end));
        if (name) {
            dg_doc_fill(reader->doc, DG_SPAN(" "));
            dg_doc_fill(reader->doc, dg_span_cstr(name));
            dg_doc_fill(reader->doc, DG_SPAN("=\""));
            dg_doc_fill(reader->doc, dg_span_cstr(value));
            dg_doc_fill(reader->doc, DG_SPAN("\""));
        }
    }
    dg_doc_fill(reader->doc,
                is_closed || tag->type != DG_MARKUP_EMPTY ? DG_SPAN(">") : DG_SPAN("/>"));
    reader->done = tag->at + tag->len;
}

/* XLIFF 2.0 has the state at the segment, which precedes its contents. */
static void mark_segment(struct reader *reader, const struct unit *unit)
{
    struct dg_span state = {NULL, 0};
    if (!reader->is_2 || reader->opts->unmarked || unit->segment.len == 0)
        return;
    bool has_state = dg_markup_attribute(bytes_of(reader, &unit->segment), "state", &state);
    if (!has_state || dg_span_eq(state, DG_SPAN("initial")) || reader->opts->retranslate)
        fill_tag(reader, &unit->segment, "state", "translated", false);
}

static void fill_escaped(struct reader *reader, struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        dg_doc_fill(reader->doc, c == '&'   ? DG_SPAN("&amp;")
                                 : c == '<' ? DG_SPAN("&lt;")
                                 : c == '>' ? DG_SPAN("&gt;")
                                            : dg_span_sub(text, i, 1));
    }
}

/* What CDATA holds is written with references, so that it is read as text. */
static void fill_copy(struct reader *reader, const struct unit *unit)
{
    struct dg_markup markup = {.text = dg_span_sub(reader->text, 0, unit->copied_end),
                               .kind = DG_MARKUP_XML,
                               .at = unit->copied_at};
    struct dg_markup_token token;
    struct dg_span text;
    const size_t at = reader->doc->filled.len;
    while (dg_markup_next(&markup, &token)) {
        if (is_cdata(reader, &token, &text))
            fill_escaped(reader, text);
        else
            dg_doc_fill(reader->doc, bytes_of(reader, &token));
    }
    dg_doc_add_place(reader->doc, at, reader->doc->filled.len - at);
}

static void fill_close(struct reader *reader, struct dg_span prefix)
{
    dg_doc_fill(reader->doc, DG_SPAN("</"));
    dg_doc_fill(reader->doc, prefix);
    dg_doc_fill(reader->doc, DG_SPAN("target>"));
}

static void fill_unit(struct reader *reader, const struct unit *unit)
{
    bool marks = !reader->is_2 && !reader->opts->unmarked;
    if (unit->source_end == 0 || !wants_translation(reader, unit))
        return;
    mark_segment(reader, unit);
    if (unit->target.len) {
        fill_tag(reader, &unit->target, marks ? "state" : NULL, "needs-review-translation", true);
        fill_copy(reader, unit);
        fill_close(reader, unit->prefix);
        reader->done = unit->target_behind;
        return;
    }
    copy_to(reader, unit->behind);
    size_t space = unit->indent_at;
    while (space < unit->source_at && strchr(" \t\r\n", reader->text.ptr[space]) &&
           reader->text.ptr[space])
        space++;
    dg_doc_fill(reader->doc, dg_span_sub(reader->text, unit->indent_at, space - unit->indent_at));
    dg_doc_fill(reader->doc, DG_SPAN("<"));
    dg_doc_fill(reader->doc, unit->prefix);
    dg_doc_fill(
        reader->doc,
        marks
            ? DG_SPAN("target state=\"needs-review-translation\" state-qualifier=\"leveraged-mt\">")
            : DG_SPAN("target>"));
    fill_copy(reader, unit);
    fill_close(reader, unit->prefix);
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Reads to the end of the element that `start` opened; returns where its end tag is, 0 when it has
 * none. */
static size_t element_end(struct dg_markup *markup, const struct dg_markup_token *start)
{
    struct dg_markup_token token;
    size_t depth = 1;
    if (start->type == DG_MARKUP_EMPTY)
        return start->at + start->len;
    while (dg_markup_next(markup, &token)) {
        bool is_same = dg_span_eq(token.name, start->name);
        depth += is_same && token.type == DG_MARKUP_START;
        depth -= is_same && token.type == DG_MARKUP_END;
        if (depth == 0)
            return token.at;
    }
    return 0;
}

/* The white space before `at`. */
static size_t indent_before(const struct reader *reader, size_t at)
{
    while (at > 0 && strchr(" \t\r\n", reader->text.ptr[at - 1]) && reader->text.ptr[at - 1])
        at--;
    return at;
}

static bool says_no(const struct reader *reader, const struct dg_markup_token *token)
{
    struct dg_span value;
    return dg_markup_attribute(bytes_of(reader, token), "translate", &value) &&
           dg_span_eq(value, DG_SPAN("no"));
}

/* One child of a unit or segment. */
static void take_child(struct reader *reader, struct dg_markup *markup,
                       const struct dg_markup_token *token, struct unit *unit)
{
    size_t first = token->at + token->len, end = element_end(markup, token);
    size_t behind = markup->at;
    if (end == 0 || is_named(token, "note")) {
        return;
    } else if (is_named(token, "source")) {
        unit->source_at = unit->copied_at = first;
        unit->source_end = unit->copied_end = end;
        unit->behind = behind;
        unit->prefix = dg_span_sub(token->name, 0, token->name.len - strlen("source"));
        unit->indent_at = indent_before(reader, token->at);
    } else if (is_named(token, "seg-source")) {
        unit->behind = behind;
        if (has_text(reader, first, end)) {
            unit->copied_at = first;
            unit->copied_end = end;
        }
    } else if (is_named(token, "target") && unit->target.len == 0) {
        unit->target = *token;
        unit->target_at = first;
        unit->target_end = end;
        unit->target_behind = behind;
    }
}

/* Reads a trans-unit of 1.2 or a segment of 2.0: its children first, and then completes it. */
static void take_unit(struct reader *reader, struct dg_markup *markup,
                      const struct dg_markup_token *start)
{
    struct unit unit = {.segment = *start};
    struct dg_markup_token token;
    while (dg_markup_next(markup, &token)) {
        if (token.type == DG_MARKUP_END)
            break;
        if (token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY)
            take_child(reader, markup, &token, &unit);
    }
    fill_unit(reader, &unit);
}

/* Adds the target language to the file if the file does not name one yet. */
static void take_language(struct reader *reader, const struct dg_markup_token *token,
                          const char *name)
{
    struct dg_span old;
    char tag[64];
    if (reader->opts->target.len == 0 || reader->opts->target.len >= sizeof tag ||
        dg_markup_attribute(bytes_of(reader, token), name, &old))
        return;
    memcpy(tag, reader->opts->target.ptr, reader->opts->target.len);
    tag[reader->opts->target.len] = '\0';
    fill_tag(reader, token, name, tag, false);
}

static void fill_all(struct reader *reader)
{
    struct dg_markup markup = {.text = reader->text, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct dg_span version;
    bool has_root = false;
    while (!dg_doc_is_over(reader->doc) && dg_markup_next(&markup, &token)) {
        if (token.type != DG_MARKUP_START)
            continue;
        if (!has_root && is_named(&token, "xliff")) {
            has_root = dg_markup_attribute(bytes_of(reader, &token), "version", &version);
            reader->is_2 = has_root && dg_span_starts(version, DG_SPAN("2."));
            if (reader->is_2)
                take_language(reader, &token, "trgLang");
        } else if (!has_root) {
            break;
        } else if (!reader->is_2 && is_named(&token, "file")) {
            take_language(reader, &token, "target-language");
        } else if (says_no(reader, &token)) {
            (void)element_end(&markup, &token);
        } else if (is_named(&token, reader->is_2 ? "segment" : "trans-unit")) {
            take_unit(reader, &markup, &token);
        } else if (reader->is_2 && is_named(&token, "matches")) {
            (void)element_end(&markup, &token);
        }
    }
    copy_to(reader, reader->text.len);
    if (!has_root)
        dg_doc_refuse(reader->doc, DG_ERR_INVALID, 0,
                      "this is not XLIFF: expected <xliff version=\"1.2\"> or \"2.0\"");
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Elements that surround words; all others are codes, together with their contents. */
static bool is_around_words(const struct dg_markup_token *token)
{
    return is_named(token, "g") || is_named(token, "mrk") || is_named(token, "pc");
}

static void read_text(struct dg_doc *doc, size_t at, size_t len)
{
    static const struct dg_doc_text how = {.has_entities = true, .entities = DG_ENTITY_XML};
    struct dg_markup markup = {
        .text = dg_span_sub(doc->original, 0, at + len), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    const struct dg_span none = {NULL, 0};
    while (!dg_doc_is_over(doc) && dg_markup_next(&markup, &token)) {
        if (token.type == DG_MARKUP_TEXT) {
            dg_doc_add_text(doc, token.at, token.len, &how);
        } else if (token.type == DG_MARKUP_END ||
                   (token.type == DG_MARKUP_START && is_around_words(&token))) {
            dg_doc_add(doc, token.type == DG_MARKUP_END ? DG_DOC_CLOSE : DG_DOC_OPEN, token.at,
                       token.len, none);
        } else {
            size_t start = token.at;
            if (token.type == DG_MARKUP_START)
                (void)element_end(&markup, &token);
            dg_doc_add(doc, DG_DOC_POINT, start, markup.at - start, none);
        }
    }
}

static struct dg_span name_of(const struct dg_doc *doc, const struct dg_doc_item *item, size_t skip)
{
    size_t n = skip;
    while (n < item->len && !strchr(" \t\r\n/>", doc->original.ptr[item->at + n]))
        n++;
    return dg_span_sub(doc->original, item->at + skip, n - skip);
}

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    return dg_span_eq(name_of(doc, open, 1), name_of(doc, close, 2));
}

static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    return dg_doc_name_key(name_of(doc, tag, tag->kind == DG_DOC_CLOSE ? 2 : 1));
}

void dg_doc_read_xliff(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same};
    struct reader reader = {.doc = doc, .opts = opts, .text = doc->original};
    fill_all(&reader);
    if (doc->err)
        return;
    doc->original = dg_buf_span(&doc->filled);
    dg_doc_read_places(doc, read_text);
    dg_doc_pair(doc, &pairing);
}
