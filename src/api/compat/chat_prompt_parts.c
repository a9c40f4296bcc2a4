/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The same walk over the text is made twice: the first counts the parts, the second stores them. */
#include "api/compat/chat_prompt_parts.h"
#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/memory/buf.h"

#include <stdio.h>

enum { PARTS_MAX = 20 * 1000, VALUES_MAX = 100 * 1000, DEPTH_MAX = 64 };

struct putter {
    struct dg_arena *arena;
    struct dg_chat_prompt *prompt; /* its parts are NULL while they are only counted */
    size_t n;
    enum dg_err err;
};

static void put(struct putter *putter, enum dg_chat_prompt_kind kind, struct dg_span text)
{
    if (putter->err || (kind == DG_CHAT_PROMPT_LITERAL && text.len == 0))
        return;
    if (putter->prompt->parts) {
        putter->prompt->parts[putter->n] = (struct dg_chat_prompt_part){.kind = kind, .text = text};
        putter->prompt->n_texts += kind != DG_CHAT_PROMPT_LITERAL;
    }
    if (++putter->n > PARTS_MAX)
        putter->err = DG_ERR_LIMIT;
}

typedef void (*walk_fn)(struct putter *putter, struct dg_span text, const struct dg_json *json);

static enum dg_err put_all(struct dg_span text, const struct dg_json *json, walk_fn walk,
                           struct dg_arena *arena, struct dg_error *error,
                           struct dg_chat_prompt *prompt)
{
    struct putter putter = {.arena = arena, .prompt = prompt};
    walk(&putter, text, json);
    if (putter.err == DG_ERR_LIMIT)
        return dg_error_set(error, DG_ERR_LIMIT, "the text has more than %d parts", PARTS_MAX);
    if (putter.err)
        return putter.err;
    prompt->parts = dg_arena_calloc(arena, putter.n ? putter.n : 1, sizeof *prompt->parts);
    if (!prompt->parts)
        return DG_ERR_NOMEM;
    putter.n = 0;
    walk(&putter, text, json);
    prompt->n_parts = putter.n;
    return putter.err;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static enum dg_err parse(struct dg_span text, struct dg_json **json)
{
    const struct dg_json_limits limits = {
        .max_bytes = text.len + 1, .max_depth = DEPTH_MAX, .max_values = VALUES_MAX};
    return dg_json_parse(text, &limits, NULL, json);
}

/* Returns the end of the string that begins here, after its quote. */
static size_t string_end(struct dg_span text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        at += text.ptr[at] == '\\';
    return at < text.len ? at + 1 : text.len;
}

size_t dg_chat_prompt_json_len(struct dg_span text)
{
    struct dg_json *json = NULL;
    size_t at = 0, depth = 0;
    if (text.len == 0 || (text.ptr[0] != '{' && text.ptr[0] != '['))
        return 0;
    do {
        const char c = text.ptr[at];
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        at = c == '"' ? string_end(text, at) : at + 1;
    } while (depth > 0 && at < text.len);
    if (depth > 0 || parse(dg_span_sub(text, 0, at), &json))
        return 0;
    dg_json_free(json);
    return at;
}

static bool is_key(struct dg_span text, size_t end)
{
    while (end < text.len && (text.ptr[end] == ' ' || text.ptr[end] == '\t' ||
                              text.ptr[end] == '\n' || text.ptr[end] == '\r'))
        end++;
    return end < text.len && text.ptr[end] == ':';
}

/* Puts one string without its quotes and escapes. */
static void put_string(struct putter *putter, struct dg_span quoted)
{
    struct dg_json *json = NULL;
    struct dg_span text = {NULL, 0};
    if (!putter->prompt->parts) {
        put(putter, DG_CHAT_PROMPT_JSON, quoted);
        return;
    }
    putter->err = parse(quoted, &json);
    if (!putter->err)
        putter->err = dg_json_string(json, DG_SPAN("text"), NULL, &text);
    if (!putter->err) {
        text = dg_arena_copy(putter->arena, text);
        putter->err = text.ptr ? DG_OK : DG_ERR_NOMEM;
    }
    dg_json_free(json);
    put(putter, DG_CHAT_PROMPT_JSON, text);
}

static void walk_json(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    size_t from = 0;
    (void)json;
    for (size_t at = 0; at < text.len && !putter->err;) {
        if (text.ptr[at] != '"') {
            at++;
            continue;
        }
        const size_t end = string_end(text, at);
        if (!is_key(text, end) && end - at > 2) {
            put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, at - from));
            put_string(putter, dg_span_sub(text, at, end - at));
            from = end;
        }
        at = end;
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, text.len));
}

/* ---- Requests in JSON ------------------------------------------------------------------------ */

static struct dg_span member(const struct dg_json *object, const char *name)
{
    struct dg_span text = {NULL, 0};
    (void)!dg_json_get_string(object, name, DG_JSON_OPTIONAL, NULL, &text);
    return text;
}

static void put_copy(struct putter *putter, enum dg_chat_prompt_kind kind, struct dg_span text)
{
    if (putter->prompt->parts && !putter->err) {
        text = dg_arena_copy(putter->arena, text);
        putter->err = text.ptr ? DG_OK : DG_ERR_NOMEM;
    }
    put(putter, kind, text);
}

static void put_quoted(struct putter *putter, struct dg_span text)
{
    struct dg_buf quoted;
    dg_buf_init(&quoted, 4096);
    if (!putter->err)
        putter->err = dg_json_out_quote(&quoted, text);
    put_copy(putter, DG_CHAT_PROMPT_LITERAL, dg_buf_span(&quoted));
    dg_buf_deinit(&quoted);
}

/* Begins the object that answers object `i` with its id, or its place where it has none. */
static void put_id(struct putter *putter, const struct dg_json *object, size_t i)
{
    const struct dg_json *id = dg_json_get(object, "id");
    int64_t number = (int64_t)i;
    char digits[48];
    put(putter, DG_CHAT_PROMPT_LITERAL, i ? DG_SPAN(",{\"id\":") : DG_SPAN("{\"id\":"));
    if (dg_json_type(id) == DG_JSON_STRING) {
        put_quoted(putter, member(object, "id"));
        return;
    }
    (void)!dg_json_int(id, DG_SPAN("id"), INT64_MIN, INT64_MAX, NULL, &number);
    const int len = snprintf(digits, sizeof digits, "%lld", (long long)number);
    put_copy(putter, DG_CHAT_PROMPT_LITERAL, dg_span_make(digits, (size_t)len));
}

/* {"targetLanguage":"en","segments":[{"id":1,"text":"..."}]} gives
 * {"translations":[{"id":1,"text":"..."}]}. */
static void walk_segments(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    const struct dg_json *segments = dg_json_get(json, "segments");
    (void)text;
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("{\"translations\":["));
    for (size_t i = 0; i < dg_json_len(segments); i++) {
        put_id(putter, dg_json_at(segments, i), i);
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN(",\"text\":"));
        put_copy(putter, DG_CHAT_PROMPT_JSON, member(dg_json_at(segments, i), "text"));
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("}"));
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("]}"));
}

/* {"target_language":"en","strings":[{"source":"..."}]} gives ["..."]. */
static void walk_sources(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    const struct dg_json *strings = dg_json_get(json, "strings");
    (void)text;
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("["));
    for (size_t i = 0; i < dg_json_len(strings); i++) {
        if (i)
            put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN(","));
        put_copy(putter, DG_CHAT_PROMPT_JSON, member(dg_json_at(strings, i), "source"));
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("]"));
}

/* Returns the member of an object in an array that is to be translated. */
static struct dg_span source_of(const struct dg_json *object)
{
    static const char *const names[] = {"original", "source", "text", "q", NULL};
    struct dg_span text = {NULL, 0};
    for (size_t i = 0; names[i] && !text.ptr; i++)
        text = member(object, names[i]);
    return text;
}

/* [{"id":1,"original":"..."}] gives {"items":[{"id":1,"translated":"..."}]} with the names that the
 * answer is to have. */
static void walk_items(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    const struct dg_chat_prompt *prompt = putter->prompt;
    (void)text;
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("{"));
    put_quoted(putter, prompt->list);
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN(":["));
    for (size_t i = 0; i < dg_json_len(json); i++) {
        put_id(putter, dg_json_at(json, i), i);
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN(","));
        put_quoted(putter, prompt->member);
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN(":"));
        put_copy(putter, DG_CHAT_PROMPT_JSON, source_of(dg_json_at(json, i)));
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("}"));
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("]}"));
}

enum dg_err dg_chat_prompt_list(struct dg_span list, struct dg_span name, struct dg_arena *arena,
                                struct dg_error *error, struct dg_chat_prompt *prompt)
{
    struct dg_json *json = NULL;
    enum dg_err err = parse(prompt->text, &json);
    bool are_all = !err && dg_json_type(json) == DG_JSON_ARRAY && dg_json_len(json) > 0;
    for (size_t i = 0; are_all && i < dg_json_len(json); i++)
        are_all = source_of(dg_json_at(json, i)).ptr != NULL;
    if (!err && are_all) {
        prompt->list = list;
        prompt->member = name;
        prompt->n_texts = 0;
        prompt->parts = NULL;
        err = put_all(prompt->text, json, walk_items, arena, error, prompt);
    }
    dg_json_free(json);
    return err;
}

static bool all_have(const struct dg_json *array, const char *name)
{
    bool all = dg_json_type(array) == DG_JSON_ARRAY && dg_json_len(array) > 0;
    for (size_t i = 0; all && i < dg_json_len(array); i++)
        all = dg_json_type(dg_json_get(dg_json_at(array, i), name)) == DG_JSON_STRING;
    return all;
}

static const char *language_of(const struct dg_langnames *names, struct dg_span said)
{
    const char *tag = NULL;
    const size_t len = said.len ? dg_langnames_at(names, said, 0, &tag) : 0;
    return len && len == said.len ? tag : dg_langnames_code(names, said);
}

enum dg_err dg_chat_prompt_envelope(const struct dg_langnames *names, struct dg_span text,
                                    struct dg_arena *arena, struct dg_error *error,
                                    struct dg_chat_prompt *prompt)
{
    struct dg_json *json = NULL;
    if (!memchr(text.ptr ? text.ptr : "", '{', text.len < 4 ? text.len : 4) || parse(text, &json))
        return DG_OK;
    const struct dg_span camel = member(json, "targetLanguage"),
                         snake = member(json, "target_language");
    const bool is_kiss = camel.len && all_have(dg_json_get(json, "segments"), "text");
    const bool is_weblate = snake.len && all_have(dg_json_get(json, "strings"), "source");
    enum dg_err err = DG_OK;
    if (is_kiss || is_weblate) {
        const struct dg_span from = member(json, is_kiss ? "sourceLanguage" : "source_language");
        prompt->is_json = true;
        prompt->source = language_of(names, from);
        prompt->target = language_of(names, is_kiss ? camel : snake);
        if (prompt->target)
            err = put_all(text, json, is_kiss ? walk_segments : walk_sources, arena, error, prompt);
        else
            err = dg_error_set(error, DG_ERR_INVALID, "%s: read '%.*s', expected a language",
                               is_kiss ? "targetLanguage" : "target_language",
                               DG_SPAN_FMT(dg_span_sub(is_kiss ? camel : snake, 0, 60)));
    }
    dg_json_free(json);
    return err;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct dg_span line_at(struct dg_span text, size_t at)
{
    const char *end = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    return dg_span_sub(text, at, end ? (size_t)(end - text.ptr) - at : text.len - at);
}

static struct dg_span without_blanks(struct dg_span text)
{
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\n' || text.ptr[0] == '\r' ||
                        text.ptr[0] == '\t'))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && strchr(" \n\r\t", text.ptr[text.len - 1]) && text.ptr[text.len - 1])
        text.len--;
    return text;
}

/* Returns true for a line that tools put between paragraphs. */
static bool is_separator(struct dg_span line)
{
    line = without_blanks(line);
    return dg_span_eq(line, DG_SPAN("%%")) || dg_span_eq(line, DG_SPAN("==WEBLATE_PART==")) ||
           dg_span_eq(line, DG_SPAN("---")) || dg_span_eq(line, DG_SPAN("|||"));
}

/* Returns the bytes of a number at the beginning of a line, with the blank after it
 * ("12. ", "[3] ", "4: ", "5| "); 0: none. */
static size_t number_of(struct dg_span line)
{
    size_t at = 0, n = 0;
    const bool is_in_brackets = line.len && (line.ptr[0] == '[' || line.ptr[0] == '(');
    for (at = is_in_brackets; at < line.len && line.ptr[at] >= '0' && line.ptr[at] <= '9'; at++)
        n++;
    if (n == 0 || n > 6 || at == line.len || !strchr(is_in_brackets ? "])" : ".:)|", line.ptr[at]))
        return 0;
    for (at++;
         at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t' || line.ptr[at] == '|');
         at++)
        ;
    return line.ptr[at - 1] == ' ' || line.ptr[at - 1] == '\t' || line.ptr[at - 1] == '|' ? at : 0;
}

static void put_text(struct putter *putter, struct dg_span text)
{
    const struct dg_span inner = without_blanks(text);
    const size_t before = inner.len ? (size_t)(inner.ptr - text.ptr) : text.len;
    put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, 0, before));
    if (inner.len)
        put(putter, DG_CHAT_PROMPT_TEXT, inner);
    put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, before + inner.len, text.len));
}

static void walk_separated(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    size_t from = 0;
    (void)json;
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at);
        if (is_separator(line)) {
            put_text(putter, dg_span_sub(text, from, at - from));
            put(putter, DG_CHAT_PROMPT_LITERAL, line);
            from = at + line.len;
        }
        at += line.len + 1;
    }
    put_text(putter, dg_span_sub(text, from, text.len));
}

/* Blocks of a line "Original>" with the text below it, and a line "Translation>" below which the
 * translation comes, as GPT-Subtrans makes them. */
static void walk_blocks(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    size_t from = 0, original = 0;
    (void)json;
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at), name = without_blanks(line);
        const size_t end = at + line.len;
        if (dg_span_eq(name, DG_SPAN("Original>"))) {
            original = end;
        } else if (dg_span_eq(name, DG_SPAN("Translation>")) && original) {
            put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, end - from));
            put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("\n"));
            put_text(putter, without_blanks(dg_span_sub(text, original, at - original)));
            from = end;
            original = 0;
        }
        at = end + 1;
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, text.len));
}

static bool is_in_blocks(struct dg_span text)
{
    bool has_original = false;
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at), name = without_blanks(line);
        if (has_original && dg_span_eq(name, DG_SPAN("Translation>")))
            return true;
        has_original |= dg_span_eq(name, DG_SPAN("Original>"));
        at += line.len + 1;
    }
    return false;
}

static void walk_numbered(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    (void)json;
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at);
        const size_t n = number_of(line);
        put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(line, 0, n));
        put_text(putter, dg_span_sub(line, n, line.len));
        at += line.len;
        put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, at, 1));
        at++;
    }
}

static void walk_plain(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    (void)json;
    put(putter, DG_CHAT_PROMPT_TEXT, text);
}

static const char *const segment_open = "<translate index=\"", *const segment_close =
                                                                   "</translate>";

/* <translate index="1" context="...">a text</translate>, each of which is answered by <translated
 * index="1"> and the translation, as gpt-po makes them. */
static void walk_tagged(struct putter *putter, struct dg_span text, const struct dg_json *json)
{
    size_t from = 0;
    (void)json;
    for (;;) {
        const size_t at = dg_span_find_cstr(text, from, segment_open),
                     number = at + strlen(segment_open);
        const size_t mark = dg_span_find_cstr(text, number, "\""),
                     begin = dg_span_find_cstr(text, mark, ">") + 1;
        const size_t end = dg_span_find_cstr(text, begin, segment_close);
        if (end >= text.len)
            break;
        put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, at - from));
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("<translated index=\""));
        put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, number, mark - number));
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("\">"));
        put_text(putter, dg_span_sub(text, begin, end - begin));
        put(putter, DG_CHAT_PROMPT_LITERAL, DG_SPAN("</translated>"));
        from = end + strlen(segment_close);
    }
    put(putter, DG_CHAT_PROMPT_LITERAL, dg_span_sub(text, from, text.len));
}

static bool is_tagged(struct dg_span text)
{
    return dg_span_starts(text, dg_span_cstr(segment_open)) &&
           dg_span_find_cstr(text, 0, segment_close) < text.len;
}

/* Returns true when every line that is not blank has a number, and there are two or more. */
static bool is_numbered(struct dg_span text)
{
    size_t n = 0;
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at);
        if (without_blanks(line).len) {
            if (number_of(line) == 0)
                return false;
            n++;
        }
        at += line.len + 1;
    }
    return n > 1;
}

static bool is_separated(struct dg_span text)
{
    bool is = false;
    for (size_t at = 0; at < text.len && !is;) {
        const struct dg_span line = line_at(text, at);
        is = is_separator(line);
        at += line.len + 1;
    }
    return is;
}

/* Returns true for a text with a sign of Markdown: a heading, an item, a fence, or something
 * emphasised or linked. */
static bool is_markdown(struct dg_span text)
{
    for (size_t at = 0; at < text.len;) {
        const struct dg_span line = line_at(text, at);
        if (line.len > 2 && (memcmp(line.ptr, "# ", 2) == 0 || memcmp(line.ptr, "##", 2) == 0 ||
                             memcmp(line.ptr, "- ", 2) == 0 || memcmp(line.ptr, "* ", 2) == 0 ||
                             memcmp(line.ptr, "> ", 2) == 0 || memcmp(line.ptr, "```", 3) == 0))
            return true;
        for (size_t i = 0; i + 1 < line.len; i++)
            if (memcmp(line.ptr + i, "**", 2) == 0 || memcmp(line.ptr + i, "](", 2) == 0 ||
                memcmp(line.ptr + i, "__", 2) == 0)
                return true;
        at += line.len + 1;
    }
    return false;
}

enum dg_err dg_chat_prompt_split(struct dg_span text, struct dg_arena *arena,
                                 struct dg_error *error, struct dg_chat_prompt *prompt)
{
    const struct dg_span inner = without_blanks(text);
    prompt->text = inner;
    prompt->is_json = inner.len && dg_chat_prompt_json_len(inner) == inner.len;
    walk_fn walk = walk_plain;
    prompt->is_markdown = prompt->is_markdown && !prompt->is_json && is_markdown(inner);
    if (prompt->is_json)
        walk = walk_json;
    else if (is_in_blocks(text))
        walk = walk_blocks;
    else if (is_tagged(inner))
        walk = walk_tagged;
    else if (is_separated(text) && !prompt->is_markdown)
        walk = walk_separated;
    else if (is_numbered(text) && !prompt->is_markdown)
        walk = walk_numbered;
    return put_all(text, NULL, walk, arena, error, prompt);
}
