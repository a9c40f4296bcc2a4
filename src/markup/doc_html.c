/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads HTML and XML. In HTML a list says which elements are borders. In XML the document itself
 * shows it: the children of an element without text of its own are paragraphs and therefore
 * borders. */
#include "base/memory/mem.h"
#include "markup/doc_int.h"
#include "markup/markup.h"
#include "text/terms/phrase_set.h"

#include <string.h>

enum { VISIBLE_MAX = 64 /* bytes of a frozen element that the model sees */ };

static const char *const border_names[] = {
    "address",  "article",  "aside",    "base",     "blockquote", "body",    "br",       "caption",
    "center",   "col",      "colgroup", "datalist", "dd",         "details", "dialog",   "dir",
    "div",      "dl",       "dt",       "fieldset", "figcaption", "figure",  "footer",   "form",
    "frame",    "frameset", "h1",       "h2",       "h3",         "h4",      "h5",       "h6",
    "head",     "header",   "hgroup",   "hr",       "html",       "legend",  "li",       "link",
    "listing",  "main",     "menu",     "menuitem", "meta",       "nav",     "noscript", "ol",
    "optgroup", "option",   "p",        "param",    "pre",        "search",  "section",  "select",
    "summary",  "table",    "tbody",    "td",       "tfoot",      "th",      "thead",    "title",
    "tr",       "ul",       NULL};
/* Shown to the model as words, kept byte for byte. */
static const char *const code_names[] = {"code", "kbd", "samp", "tt", "var", NULL};
/* Elements whose contents are not part of the running text. */
static const char *const opaque_names[] = {"applet",  "audio",    "canvas",   "iframe",    "math",
                                           "noembed", "noframes", "object",   "plaintext", "script",
                                           "style",   "svg",      "template", "textarea",  "video",
                                           "xmp",     NULL};

bool dg_doc_is_border(struct dg_span name)
{
    return dg_markup_is_one_of(name, border_names);
}

bool dg_doc_is_code(struct dg_span name)
{
    return dg_markup_is_one_of(name, code_names);
}

bool dg_doc_is_opaque(struct dg_span name)
{
    return dg_markup_is_one_of(name, opaque_names);
}

struct reader {
    struct dg_doc *doc;
    const struct dg_doc_opts *opts;
    struct dg_markup markup;
    struct dg_doc_text text;
    unsigned pre_depth;
    bool is_title;        /* the next RAW token is text */
    unsigned char *flags; /* owned; XML: for each tag, whether it is a border */
    size_t n_tags;        /* tags that were read */
    struct dg_phrase_set ignored, splitting, non_splitting; /* names that the options list */
};

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

/* True when `word` is in a list separated by spaces or commas. */
static bool lists(struct dg_span list, struct dg_span word)
{
    for (size_t i = 0; i < list.len && word.len;) {
        size_t end = i;
        while (end < list.len && !is_separator(list.ptr[end]))
            end++;
        if (dg_span_eq(dg_span_sub(list, i, end - i), word))
            return true;
        i = end + 1;
    }
    return false;
}

static struct dg_span bytes_of(const struct reader *reader, const struct dg_markup_token *token)
{
    return dg_span_sub(reader->markup.text, token->at, token->len);
}

/* ---- Frozen elements ------------------------------------------------------------------------- */

enum freezing { FREE, FROZEN, OPAQUE };

static enum freezing freezing_of(const struct reader *reader, const struct dg_markup_token *token)
{
    struct dg_span value;
    if (reader->markup.kind == DG_MARKUP_XML)
        return dg_phrase_set_has(&reader->ignored, token->name) ? FROZEN : FREE;
    if (dg_doc_is_opaque(token->name))
        return OPAQUE;
    if (dg_doc_is_code(token->name) || dg_phrase_set_has(&reader->ignored, token->name))
        return FROZEN;
    struct dg_span tag = bytes_of(reader, token);
    if (dg_markup_attribute(tag, "translate", &value) &&
        dg_markup_is(DG_MARKUP_HTML, value, DG_SPAN("no")))
        return FROZEN;
    return dg_markup_attribute(tag, "class", &value) && lists(value, DG_SPAN("notranslate"))
               ? FROZEN
               : FREE;
}

/* The visible text of a frozen element, if it is short and could be part of a sentence; else
 * *visible stays empty. */
static void see(struct reader *reader, size_t at, size_t len, struct dg_buf *visible)
{
    struct dg_markup markup = {.text = dg_span_sub(reader->markup.text, 0, at + len),
                               .kind = reader->markup.kind,
                               .at = at};
    struct dg_markup_token token;
    struct dg_doc inner = {.original = markup.text};
    struct dg_doc_text how = {.has_entities = true, .entities = reader->text.entities};
    dg_buf_init(&inner.plain, 4 * VISIBLE_MAX);
    while (!inner.err && dg_markup_next(&markup, &token))
        if (token.type == DG_MARKUP_TEXT)
            dg_doc_add_text(&inner, token.at, token.len, &how);
    struct dg_span text = dg_buf_span(&inner.plain);
    bool fits = !inner.err && text.len > 0 && text.len <= VISIBLE_MAX && text.ptr[0] != ' ' &&
                text.ptr[text.len - 1] != ' ' && !memchr(text.ptr, '\n', text.len);
    for (size_t i = 0; i + 1 < text.len && fits; i++)
        fits = !(text.ptr[i + 1] == ' ' && strchr(".!?:", text.ptr[i]));
    if (fits)
        reader->doc->err = dg_buf_append_span(visible, text);
    if (inner.err == DG_ERR_NOMEM)
        reader->doc->err = inner.err;
    dg_free(inner.items);
    dg_buf_deinit(&inner.plain);
}

/* Reads an element from its start tag to its end tag, or to the end of the document. */
static void add_frozen(struct reader *reader, const struct dg_markup_token *start,
                       enum freezing how, bool is_border)
{
    struct dg_markup_token token = *start;
    /* other elements within it: an end tag that comes before theirs stays where it is */
    size_t n_open = 0;
    size_t depth = 1, first = start->at + start->len, last = first;
    bool is_void = start->type == DG_MARKUP_EMPTY;
    while (!is_void && depth > 0 && dg_markup_next(&reader->markup, &token)) {
        bool is_same = token.name.len && dg_markup_is(reader->markup.kind, token.name, start->name);
        depth += is_same && token.type == DG_MARKUP_START;
        depth -= is_same && token.type == DG_MARKUP_END;
        n_open += !is_same && token.type == DG_MARKUP_START;
        is_border |= !is_same && token.type == DG_MARKUP_END && n_open == 0;
        n_open -= !is_same && token.type == DG_MARKUP_END && n_open > 0;
        is_border |=
            reader->markup.kind == DG_MARKUP_HTML && token.name.len && dg_doc_is_border(token.name);
        reader->n_tags += token.name.len > 0 && token.type != DG_MARKUP_OTHER;
        last = token.at;
    }
    size_t end = is_void ? first : depth > 0 ? reader->markup.text.len : token.at + token.len;
    struct dg_buf visible;
    is_border |= n_open > 0;
    dg_buf_init(&visible, VISIBLE_MAX);
    if (how == FROZEN && depth == 0 && !is_border && last > first)
        see(reader, first, last - first, &visible);
    dg_doc_add(reader->doc,
               is_border || (depth > 0 && !is_void) ? DG_DOC_BORDER
               : visible.len                        ? DG_DOC_FROZEN
                                                    : DG_DOC_POINT,
               start->at, end - start->at, dg_buf_span(&visible));
    dg_buf_deinit(&visible);
}

/* ---- Tags ------------------------------------------------------------------------------------ */

static bool is_border(const struct reader *reader, const struct dg_markup_token *token)
{
    if (reader->markup.kind == DG_MARKUP_XML)
        return reader->flags && reader->flags[reader->n_tags];
    return dg_doc_is_border(token->name);
}

static void note_spaces(struct reader *reader, const struct dg_markup_token *token)
{
    static const char *const names[] = {"pre", "listing", NULL};
    if (reader->markup.kind == DG_MARKUP_XML || !dg_markup_is_one_of(token->name, names))
        return;
    if (token->type == DG_MARKUP_START)
        reader->pre_depth++;
    else if (reader->pre_depth > 0)
        reader->pre_depth--;
    reader->text.keeps_space = reader->pre_depth > 0;
}

/* How a word is read (<rt> in <ruby>) goes with the word, and the model does not see it. Its end
 * tag may be missing: then it ends at the next tag that cannot be in it. False for any other tag.
 */
static bool take_reading(struct reader *reader, const struct dg_markup_token *start)
{
    static const char *const names[] = {"rp", "rt", "rtc", NULL}, *const ruby[] = {"ruby", NULL};
    struct dg_markup ahead = reader->markup;
    struct dg_markup_token token;
    size_t end = ahead.at;
    bool is_over = false;
    if (reader->markup.kind == DG_MARKUP_XML || start->type != DG_MARKUP_START ||
        !dg_markup_is_one_of(start->name, names))
        return false;
    while (!is_over && dg_markup_next(&ahead, &token)) {
        const bool is_own =
            token.type == DG_MARKUP_END && dg_markup_is(DG_MARKUP_HTML, token.name, start->name);
        is_over = token.name.len && (dg_markup_is_one_of(token.name, names) ||
                                     dg_markup_is_one_of(token.name, ruby) ||
                                     dg_markup_is_one_of(token.name, border_names));
        if (is_own || !is_over)
            end = ahead.at;
    }
    dg_doc_add(reader->doc, DG_DOC_POINT, start->at, end - start->at, (struct dg_span){NULL, 0});
    reader->markup.at = end;
    return true;
}

static void read_tag(struct reader *reader, const struct dg_markup_token *token)
{
    static const char *const title[] = {"title", NULL};
    bool border = is_border(reader, token);
    reader->n_tags++;
    if (take_reading(reader, token))
        return;
    enum freezing how = token->type == DG_MARKUP_END ? FREE : freezing_of(reader, token);
    if (how != FREE) {
        add_frozen(reader, token, how, border);
        return;
    }
    note_spaces(reader, token);
    reader->is_title = token->type == DG_MARKUP_START && dg_markup_is_one_of(token->name, title);
    dg_doc_add(reader->doc,
               border                           ? DG_DOC_BORDER
               : token->type == DG_MARKUP_START ? DG_DOC_OPEN
               : token->type == DG_MARKUP_END   ? DG_DOC_CLOSE
                                                : DG_DOC_POINT,
               token->at, token->len, (struct dg_span){NULL, 0});
}

static void read_token(struct reader *reader, const struct dg_markup_token *token)
{
    struct dg_span none = {NULL, 0};
    bool is_last = token->at + token->len == reader->markup.text.len;
    if (token->type == DG_MARKUP_TEXT || (token->type == DG_MARKUP_RAW && reader->is_title))
        dg_doc_add_text(reader->doc, token->at, token->len, &reader->text);
    else if (token->type == DG_MARKUP_RAW || (token->type == DG_MARKUP_OTHER && is_last))
        /* it may have no end */
        dg_doc_add(reader->doc, DG_DOC_BORDER, token->at, token->len, none);
    else if (token->type == DG_MARKUP_OTHER)
        dg_doc_add(reader->doc, DG_DOC_POINT, token->at, token->len, none);
    else
        read_tag(reader, token);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static struct dg_span name_of(const struct dg_doc *doc, const struct dg_doc_item *item)
{
    size_t at = item->at + (item->kind == DG_DOC_CLOSE ? 2 : 1), end = at;
    while (end < item->at + item->len && !strchr(" \t\n\r\f/>", doc->original.ptr[end]))
        end++;
    return dg_span_sub(doc->original, at, end - at);
}

static enum dg_markup_kind kind_of(const struct dg_doc *doc)
{
    return doc->format == DG_DOC_XML ? DG_MARKUP_XML : DG_MARKUP_HTML;
}

static bool same(const struct dg_doc *doc, const struct dg_doc_item *open,
                 const struct dg_doc_item *close)
{
    return dg_markup_is(kind_of(doc), name_of(doc, open), name_of(doc, close));
}

static uint32_t key(const struct dg_doc *doc, const struct dg_doc_item *tag)
{
    return dg_doc_name_key(name_of(doc, tag));
}

/* A link inside a link ends the outer one in every parser, so these tags must stay where they are.
 */
static bool is_lonely(const struct dg_doc *doc, const struct dg_doc_item *open)
{
    static const char *const names[] = {"a", "button", "nobr", NULL};
    return kind_of(doc) == DG_MARKUP_HTML && dg_markup_is_one_of(name_of(doc, open), names);
}

/* ---- XML's outline --------------------------------------------------------------------------- */

enum { OUTLINE_DEPTH = 512 };

/* An element whose tags are known by number. */
struct element {
    struct dg_span name;
    size_t first_child; /* head of the chain of tags directly inside it; SIZE_MAX: none */
    size_t tag;
    bool has_text;
};

struct outline {
    struct reader *reader;
    size_t *next;         /* owned; [n] the chain: the next tag with the same parent */
    unsigned char *flags; /* owned; [n] */
    size_t n, cap;
    struct element open[OUTLINE_DEPTH];
    uint32_t keys[OUTLINE_DEPTH]; /* hashes of their names */
    size_t depth;
};

static bool grow(struct outline *outline)
{
    if (outline->n < outline->cap)
        return true;
    size_t cap = outline->cap ? outline->cap * 2 : 64;
    size_t *next = dg_try_realloc(outline->next, cap * sizeof *next);
    outline->next = next ? next : outline->next;
    unsigned char *flags = next ? dg_try_realloc(outline->flags, cap) : NULL;
    outline->flags = flags ? flags : outline->flags;
    if (!flags)
        return false;
    outline->cap = cap;
    return true;
}

/* Ends an element: its children are borders if it has no text. */
static void settle_element(struct outline *outline, const struct element *element)
{
    for (size_t tag = element->first_child; tag != SIZE_MAX; tag = outline->next[tag])
        outline->flags[tag] |= !element->has_text && !outline->reader->opts->no_outline;
}

static void add_child(struct outline *outline, size_t tag)
{
    struct element *parent = &outline->open[outline->depth];
    outline->next[tag] = parent->first_child;
    parent->first_child = tag;
}

static void end_element(struct outline *outline, struct dg_span name, size_t tag)
{
    const uint32_t key = dg_doc_name_key(name);
    size_t depth = outline->depth;
    while (depth > 0 &&
           (outline->keys[depth] != key || !dg_span_eq(outline->open[depth].name, name)))
        depth--;
    if (depth > 0) {
        for (; outline->depth >= depth; outline->depth--)
            settle_element(outline, &outline->open[outline->depth]);
    }
    add_child(outline, tag);
}

static void take_tag(struct outline *outline, const struct dg_markup_token *token)
{
    size_t tag = outline->n++;
    outline->flags[tag] = dg_phrase_set_has(&outline->reader->splitting, token->name);
    outline->next[tag] = SIZE_MAX;
    if (token->type == DG_MARKUP_END) {
        end_element(outline, token->name, tag);
        return;
    }
    add_child(outline, tag);
    if (token->type == DG_MARKUP_START && outline->depth + 1 < OUTLINE_DEPTH) {
        outline->open[++outline->depth] =
            (struct element){.name = token->name, .first_child = SIZE_MAX, .tag = tag};
        outline->keys[outline->depth] = dg_doc_name_key(token->name);
    }
}

static bool is_blank(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_separator(text.ptr[i]) || text.ptr[i] == ',')
            return false;
    return true;
}

/* Marks for every tag whether it is a border. */
static void outline_xml(struct reader *reader)
{
    struct dg_markup markup = reader->markup;
    struct dg_markup_token token;
    struct outline *outline = dg_try_calloc(1, sizeof *outline);
    if (!outline) {
        reader->doc->err = DG_ERR_NOMEM;
        return;
    }
    outline->reader = reader;
    outline->open[0].first_child = SIZE_MAX;
    while (!dg_doc_is_over(reader->doc) && dg_markup_next(&markup, &token)) {
        if (token.type == DG_MARKUP_TEXT)
            outline->open[outline->depth].has_text |= !is_blank(bytes_of(reader, &token));
        if (token.name.len == 0 || token.type == DG_MARKUP_OTHER)
            continue;
        if (!grow(outline)) {
            reader->doc->err = DG_ERR_NOMEM;
            break;
        }
        take_tag(outline, &token);
        if (dg_phrase_set_has(&reader->non_splitting, token.name))
            outline->flags[outline->n - 1] = 2; /* a border, whatever the outline says */
    }
    for (size_t depth = outline->depth + 1; depth > 0; depth--)
        settle_element(outline, &outline->open[depth - 1]);
    for (size_t i = 0; i < outline->n; i++)
        outline->flags[i] = outline->flags[i] == 1;
    reader->flags = outline->flags;
    dg_free(outline->next);
    dg_free(outline);
}

/* ---- All of it ------------------------------------------------------------------------------- */

void dg_doc_read_html(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    static const struct dg_doc_pairing pairing = {.key = key, .same = same, .is_lonely = is_lonely};
    bool is_xml = doc->format == DG_DOC_XML;
    struct reader reader = {
        .doc = doc,
        .opts = opts,
        .markup = {.text = doc->original, .kind = is_xml ? DG_MARKUP_XML : DG_MARKUP_HTML},
        .text = {.keeps_space = is_xml && !opts->join_lines,
                 .has_entities = true,
                 .entities = is_xml ? DG_ENTITY_XML : DG_ENTITY_HTML}};
    struct dg_markup_token token;
    doc->err = dg_phrase_set_init_list(&reader.ignored, opts->ignore_tags);
    if (!doc->err)
        doc->err = dg_phrase_set_init_list(&reader.splitting, opts->splitting_tags);
    if (!doc->err)
        doc->err = dg_phrase_set_init_list(&reader.non_splitting, opts->non_splitting_tags);
    if (is_xml && !doc->err)
        outline_xml(&reader);
    while (!dg_doc_is_over(doc) && dg_markup_next(&reader.markup, &token))
        read_token(&reader, &token);
    dg_free(reader.flags);
    dg_phrase_set_deinit(&reader.ignored);
    dg_phrase_set_deinit(&reader.splitting);
    dg_phrase_set_deinit(&reader.non_splitting);
    dg_doc_pair(doc, &pairing);
}
