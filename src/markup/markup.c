/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Implements the states of the standard's tokenizer that decide where a token ends. The rest of it
 * (lower case, duplicate attributes, parse errors) does not change where tokens end. */
#include "markup/markup.h"
#include "base/memory/chars.h"

#include <string.h>
#include <strings.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool begins_name(enum dg_markup_kind kind, struct dg_span text, size_t at)
{
    if (at >= text.len)
        return false;
    char c = text.ptr[at];
    return dg_chars_is_letter(c) ||
           (kind == DG_MARKUP_XML && (c == '_' || c == ':' || (unsigned char)c >= 0x80));
}

static size_t skip_spaces(struct dg_span text, size_t at)
{
    while (at < text.len && is_space(text.ptr[at]))
        at++;
    return at;
}

bool dg_markup_is(enum dg_markup_kind kind, struct dg_span name, struct dg_span other)
{
    if (kind == DG_MARKUP_XML)
        return dg_span_eq(name, other);
    return name.len == other.len &&
           (name.len == 0 || strncasecmp(name.ptr, other.ptr, name.len) == 0);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

struct attribute {
    struct dg_span name, value;
};

static size_t name_end(struct dg_span text, size_t at)
{
    while (at < text.len && !is_space(text.ptr[at]) && text.ptr[at] != '/' && text.ptr[at] != '>')
        at++;
    return at;
}

/* The attribute at or after `at`; returns where what follows it begins, or the place of the '>'
 * (then the name is empty), or text.len when the tag does not end. */
static size_t next_attribute(struct dg_span text, size_t at, struct attribute *found)
{
    *found = (struct attribute){.name = {NULL, 0}};
    while (at < text.len && (is_space(text.ptr[at]) || text.ptr[at] == '/'))
        at++;
    if (at >= text.len || text.ptr[at] == '>')
        return at;
    size_t start = at++; /* a name may begin even with '=' */
    while (at < text.len && !is_space(text.ptr[at]) && !strchr("/>=", text.ptr[at]))
        at++;
    found->name = dg_span_sub(text, start, at - start);
    size_t equals = skip_spaces(text, at);
    if (equals >= text.len || text.ptr[equals] != '=')
        return at;
    at = skip_spaces(text, equals + 1);
    if (at >= text.len || text.ptr[at] == '>')
        return at;
    if (text.ptr[at] == '"' || text.ptr[at] == '\'') {
        const char *quote = memchr(text.ptr + at + 1, text.ptr[at], text.len - at - 1);
        if (!quote)
            return text.len;
        found->value = dg_span_sub(text, at + 1, (size_t)(quote - text.ptr) - at - 1);
        return (size_t)(quote - text.ptr) + 1;
    }
    start = at;
    while (at < text.len && !is_space(text.ptr[at]) && text.ptr[at] != '>')
        at++;
    found->value = dg_span_sub(text, start, at - start);
    return at;
}

bool dg_markup_attribute(struct dg_span tag, const char *name, struct dg_span *value)
{
    struct attribute found;
    size_t at = name_end(tag, 1);
    while (at < tag.len) {
        at = next_attribute(tag, at, &found);
        if (found.name.len == 0)
            break;
        if (dg_markup_is(DG_MARKUP_HTML, found.name, dg_span_cstr(name))) {
            *value = found.value;
            return true;
        }
    }
    return false;
}

bool dg_markup_next_attribute(struct dg_span tag, size_t *at, struct dg_span *name,
                              struct dg_span *value)
{
    struct attribute found = {.name = {NULL, 0}};
    if (*at == 0)
        *at = name_end(tag, 1);
    if (*at < tag.len)
        *at = next_attribute(tag, *at, &found);
    *name = found.name;
    *value = found.value;
    return found.name.len > 0;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

/* The end of the next `what` after `from`; text.len when there is none. */
static size_t end_of(struct dg_span text, size_t from, struct dg_span what)
{
    while (from + what.len <= text.len) {
        const char *first = memchr(text.ptr + from, what.ptr[0], text.len - from - what.len + 1);
        if (!first)
            break;
        from = (size_t)(first - text.ptr);
        if (memcmp(first, what.ptr, what.len) == 0)
            return from + what.len;
        from++;
    }
    return text.len;
}

static size_t comment_end(struct dg_span text, size_t at, enum dg_markup_kind kind)
{
    size_t body = at + 4;
    if (kind == DG_MARKUP_HTML && body < text.len && text.ptr[body] == '>')
        return body + 1;
    if (kind == DG_MARKUP_HTML && dg_span_starts(dg_span_sub(text, body, 2), DG_SPAN("->")))
        return body + 2;
    size_t end = end_of(text, body, DG_SPAN("-->"));
    size_t odd =
        kind == DG_MARKUP_HTML ? end_of(dg_span_sub(text, 0, end), body, DG_SPAN("--!>")) : end;
    return odd < end ? odd : end;
}

/* Reads comments, and anything else that begins with "<!", "<?" or "</" and is not a tag; 0 when it
 * is text. */
static size_t other_end(struct dg_span text, size_t at, enum dg_markup_kind kind)
{
    struct dg_span rest = dg_span_sub(text, at, text.len);
    if (dg_span_starts(rest, DG_SPAN("<!--")))
        return comment_end(text, at, kind);
    if (kind == DG_MARKUP_XML) {
        if (dg_span_starts(rest, DG_SPAN("<![CDATA[")))
            return end_of(text, at, DG_SPAN("]]>"));
        if (dg_span_starts(rest, DG_SPAN("<?")))
            return end_of(text, at, DG_SPAN("?>"));
        return dg_span_starts(rest, DG_SPAN("<!")) ? end_of(text, at, DG_SPAN(">")) : 0;
    }
    if (rest.len > 2 && (rest.ptr[1] == '!' || rest.ptr[1] == '?' || rest.ptr[1] == '/'))
        return end_of(text, at, DG_SPAN(">"));
    return rest.len == 2 && rest.ptr[1] != '/' && (rest.ptr[1] == '!' || rest.ptr[1] == '?')
               ? text.len
               : 0;
}

bool dg_markup_is_one_of(struct dg_span name, const char *const *names)
{
    char first = name.len ? (char)(name.ptr[0] | 0x20) : '\0';
    for (size_t i = 0; names[i]; i++)
        if (names[i][0] == first && dg_markup_is(DG_MARKUP_HTML, name, dg_span_cstr(names[i])))
            return true;
    return false;
}

static const char *const raw_names[] = {"script",   "style",    "xmp",   "iframe",    "noembed",
                                        "noframes", "textarea", "title", "plaintext", NULL};
static const char *const void_names[] = {
    "area",  "base",   "basefont", "bgsound", "br",    "col",    "embed", "frame", "hr", "img",
    "input", "keygen", "link",     "meta",    "param", "source", "track", "wbr",   NULL};

/* Reads a tag at `at`; false when there is none. */
static bool take_tag(struct dg_markup *markup, size_t at, struct dg_markup_token *token)
{
    struct dg_span text = markup->text;
    bool is_end = at + 1 < text.len && text.ptr[at + 1] == '/';
    size_t name_at = at + 1 + is_end;
    if (!begins_name(markup->kind, text, name_at))
        return false;
    size_t end = name_end(text, name_at);
    struct attribute attribute = {.name = {NULL, 0}};
    token->name = dg_span_sub(text, name_at, end - name_at);
    do
        end = next_attribute(text, end, &attribute);
    while (attribute.name.len && end < text.len);
    bool is_whole = end < text.len && text.ptr[end] == '>';
    token->at = at;
    token->len = is_whole ? end + 1 - at : text.len - at;
    token->type = !is_whole ? DG_MARKUP_OTHER : is_end ? DG_MARKUP_END : DG_MARKUP_START;
    if (token->type != DG_MARKUP_START)
        return true;
    if (markup->kind == DG_MARKUP_XML) {
        if (text.ptr[end - 1] == '/')
            token->type = DG_MARKUP_EMPTY;
    } else if (dg_markup_is_one_of(token->name, void_names)) {
        token->type = DG_MARKUP_EMPTY;
    } else if (dg_markup_is_one_of(token->name, raw_names)) {
        markup->raw = token->name;
    }
    return true;
}

/* True when the whole name of the tag at `at` is `name`. */
static bool is_named(struct dg_span text, size_t at, struct dg_span name)
{
    size_t behind = at + name.len;
    return behind < text.len &&
           dg_markup_is(DG_MARKUP_HTML, dg_span_sub(text, at, name.len), name) &&
           (is_space(text.ptr[behind]) || text.ptr[behind] == '/' || text.ptr[behind] == '>');
}

/* Within "<!--" and "-->" of a script, another script may begin and end. */
static size_t script_end(struct dg_span text, size_t at)
{
    enum { PLAIN, ESCAPED, TWICE } state = PLAIN;
    const struct dg_span script = DG_SPAN("script");
    for (; at < text.len; at++) {
        struct dg_span rest = dg_span_sub(text, at, 4);
        if (state != PLAIN && dg_span_starts(rest, DG_SPAN("-->"))) {
            state = PLAIN;
        } else if (rest.ptr[0] != '<') {
            continue;
        } else if (state == PLAIN && dg_span_starts(rest, DG_SPAN("<!--"))) {
            state = ESCAPED;
            at++; /* its dashes may also be those of "-->" */
        } else if (rest.len > 1 && rest.ptr[1] == '/' && is_named(text, at + 2, script)) {
            if (state != TWICE)
                return at;
            state = ESCAPED;
        } else if (state == ESCAPED && is_named(text, at + 1, script)) {
            state = TWICE;
        }
    }
    return text.len;
}

/* Where the contents of a raw element end: at its end tag. */
static size_t raw_end(struct dg_span text, size_t at, struct dg_span name)
{
    if (dg_markup_is(DG_MARKUP_HTML, name, DG_SPAN("plaintext")))
        return text.len;
    if (dg_markup_is(DG_MARKUP_HTML, name, DG_SPAN("script")))
        return script_end(text, at);
    for (; at < text.len; at++) {
        const char *open = memchr(text.ptr + at, '<', text.len - at);
        if (!open)
            break;
        at = (size_t)(open - text.ptr);
        if (at + 1 < text.len && text.ptr[at + 1] == '/' && is_named(text, at + 2, name))
            return at;
    }
    return text.len;
}

bool dg_markup_next(struct dg_markup *markup, struct dg_markup_token *token)
{
    struct dg_span text = markup->text;
    size_t start = markup->at, end;
    *token = (struct dg_markup_token){.at = start};
    if (start >= text.len)
        return false;
    if (markup->raw.len) {
        token->type = DG_MARKUP_RAW;
        token->len = raw_end(text, start, markup->raw) - start;
        markup->raw.len = 0;
        markup->at = start + token->len;
        return token->len > 0 || dg_markup_next(markup, token);
    }
    for (size_t at = start; at < text.len; at++) {
        const char *open = memchr(text.ptr + at, '<', text.len - at);
        if (!open)
            break;
        at = (size_t)(open - text.ptr);
        struct dg_markup ahead = *markup;
        if (take_tag(&ahead, at, token)) {
            if (at == start)
                *markup = ahead;
        } else if ((end = other_end(text, at, markup->kind)) > 0) {
            *token = (struct dg_markup_token){.type = DG_MARKUP_OTHER, .at = at, .len = end - at};
        } else {
            continue;
        }
        if (at > start) /* the text before it is returned first; the tag is found again */
            *token =
                (struct dg_markup_token){.type = DG_MARKUP_TEXT, .at = start, .len = at - start};
        markup->at = start + token->len;
        return true;
    }
    *token = (struct dg_markup_token){.type = DG_MARKUP_TEXT, .at = start, .len = text.len - start};
    markup->at = text.len;
    return true;
}
