/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files of interface texts in YAML, as Rails and Symfony use them, and the front matter of
 * Markdown. libyaml says where each scalar is; values that are text become blocks of just their
 * words, so that quotes, indentation, comments and anchors are copied. Each line or paragraph of a
 * block scalar (| and >) is a block of its own.
 *
 *     en:                         the key of a file for one language becomes the target's
 *       hi: "Hello, %{name}"      block: Hello, %{name}
 *       format: "%d %b"           no words
 *       order: :day              symbols are not text
 */
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter_int.h"
#include "text/language/langtag.h"

#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 256, TEXT_MAX = 1 << 24 };

/* How a block is written: block.info. */
enum style { PLAIN, PLAIN_IN_FLOW, SINGLE, DOUBLE, LINE, ROOT_KEY };

struct level {
    bool is_mapping, is_flow;
    bool expects_value; /* in a mapping: its key was read */
    bool is_wanted;     /* in front matter: the key names a text */
    size_t n_keys;
};

struct reader {
    struct dg_filter *filter;
    struct dg_span text; /* the text of the YAML */
    size_t base;         /* where `text` begins in the file */
    size_t mark, at; /* libyaml counts characters: this many characters stand before this byte */
    bool is_front_matter;
    struct level levels[DEPTH_MAX];
    size_t depth;
    size_t root_at, root_len; /* the first key of the root mapping, if it is a language */
    bool has_root, has_other; /* has_root: such a key exists; has_other: so do other keys, or
                                 documents */
};

/* ---- Places ---------------------------------------------------------------------------------- */

static size_t byte_of(struct reader *reader, size_t mark)
{
    if (mark < reader->mark)
        reader->mark = reader->at = 0;
    while (reader->mark < mark && reader->at < reader->text.len) {
        reader->at++;
        while (reader->at < reader->text.len && (reader->text.ptr[reader->at] & 0xC0) == 0x80)
            reader->at++;
        reader->mark++;
    }
    return reader->at;
}

/* The position after the anchor and the tag of a scalar. */
static size_t skip_properties(const struct reader *reader, size_t at, size_t end)
{
    const char *text = reader->text.ptr;
    while (at < end && (text[at] == '&' || text[at] == '!')) {
        while (at < end && !dg_chars_is_space(text[at]))
            at++;
        while (at < end && dg_chars_is_space(text[at]))
            at++;
    }
    return at;
}

/* The length of a line's end at `at`; 0 when there is none. YAML 1.1, which libyaml and PyYAML
 * read, has more of these than YAML 1.2: U+0085, U+2028 and U+2029. */
static size_t break_at(struct dg_span text, size_t at)
{
    static const struct dg_span breaks[] = {{"\r\n", 2},         {"\n", 1},
                                            {"\r", 1},           {"\xC2\x85", 2},
                                            {"\xE2\x80\xA8", 3}, {"\xE2\x80\xA9", 3}};
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        if (dg_span_starts(dg_span_sub(text, at, breaks[i].len), breaks[i]))
            return breaks[i].len;
    return 0;
}

/* Whether a character is a line's end for some reader, or written only as an escape. */
static bool is_special(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x2028 || cp == 0x2029 || cp == 0xFEFF ||
           cp == 0xFFFE || cp == 0xFFFF;
}

static bool has_special(struct dg_span text)
{
    uint32_t cp;
    for (size_t at = 0, len; at < text.len; at += len ? len : 1) {
        len = dg_utf8_decode(text, at, &cp);
        if (len && is_special(cp))
            return true;
    }
    return false;
}

/* ---- What is text ---------------------------------------------------------------------------- */

static bool is_constant(struct dg_span text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",   "off",
                                        "y",    "n",     "~",   "",   "null", NULL};
    return dg_chars_is_one_of_any_case(text, words);
}

/* A format of dates or numbers: "%d %b %Y", "%n%u". */
static bool is_pattern(struct dg_span text)
{
    bool has_letters = false, has_date = false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (c == '%' && i + 1 < text.len) {
            i += strchr("-^#0_", text.ptr[i + 1]) && i + 2 < text.len ? 2 : 1;
            has_date |= text.ptr[i] != '\0' && strchr("YmBbHMSIpPAjyLlZzne", text.ptr[i]) != NULL;
        } else {
            has_letters |=
                (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
        }
    }
    return has_date && (!has_letters || memchr(text.ptr, '%', text.len) != NULL);
}

/* "{n, plural, one {...}}" */
static bool has_choice(struct dg_span text)
{
    const char *brace = memchr(text.ptr, '{', text.len);
    for (size_t i = brace ? (size_t)(brace - text.ptr) : text.len; i < text.len; i++) {
        if (text.ptr[i] != ',')
            continue;
        while (i + 1 < text.len && dg_chars_is_space(text.ptr[i + 1]))
            i++;
        const struct dg_span rest = dg_span_sub(text, i + 1, text.len);
        if (dg_span_starts(rest, DG_SPAN("plural")) || dg_span_starts(rest, DG_SPAN("select")))
            return true;
    }
    return false;
}

static bool is_text(struct reader *reader, struct dg_span value)
{
    bool has_words = false;
    struct dg_blocks *blocks = &reader->filter->blocks;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < 0x20 && !dg_chars_is_space(value.ptr[i]))
            return false;
    if (value.len == 0 || value.ptr[0] == ':' || is_pattern(value) || has_choice(value))
        return false;
    if (reader->is_front_matter &&
        (dg_span_starts(value, DG_SPAN("```")) || dg_span_starts(value, DG_SPAN("~~~"))))
        return false;
    if (!blocks->err)
        blocks->err = dg_block_has_words(value, &has_words);
    return has_words;
}

static void add(struct reader *reader, struct dg_span value, size_t at, size_t end,
                enum style style)
{
    if (is_text(reader, value))
        dg_block_add(&reader->filter->blocks, value, reader->base + at, end - at, style);
}

/* ---- Block scalars --------------------------------------------------------------------------- */

struct line {
    size_t at, end; /* without indentation and line end */
    size_t next;
    size_t indent;
    bool folds; /* its end becomes a space where lines are folded; U+2028 and U+2029 stay */
};

static struct line line_at(const struct reader *reader, size_t at, size_t end)
{
    const char *text = reader->text.ptr;
    const struct dg_span all = dg_span_sub(reader->text, 0, end);
    struct line line = {.at = at, .end = at};
    while (line.end < end && !break_at(all, line.end))
        line.end++;
    line.next = line.end + break_at(all, line.end);
    line.folds = line.next - line.end < 3;
    while (line.at < line.end && (text[line.at] == ' ' || text[line.at] == '\t'))
        line.at++;
    line.indent = line.at - at;
    while (line.end > line.at && dg_chars_is_space(text[line.end - 1]))
        line.end--;
    return line;
}

/* Lines of a folded paragraph, which end with `last`, as one text. */
static enum dg_err join(const struct reader *reader, size_t at, size_t end, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    dg_buf_clear(out);
    while (at < end && !err) {
        const struct line line = line_at(reader, at, end);
        if (out->len)
            err = dg_buf_append_byte(out, ' ');
        if (!err)
            err = dg_buf_append_span(out, dg_span_sub(reader->text, line.at, line.end - line.at));
        at = line.next;
    }
    return err;
}

static void add_block_scalar(struct reader *reader, size_t at, size_t end, bool is_folded)
{
    const struct line header = line_at(reader, at, end);
    const size_t begin = header.next;
    struct dg_buf joined;
    size_t indent = SIZE_MAX;
    dg_buf_init(&joined, TEXT_MAX);
    for (size_t i = header.at; i < header.end; i++) /* "|2" states the indentation itself */
        if (reader->text.ptr[i] >= '1' && reader->text.ptr[i] <= '9')
            is_folded = false;
    for (size_t i = begin; i < end && !reader->filter->blocks.err;) {
        const struct line line = line_at(reader, i, end);
        i = line.next;
        if (line.at == line.end)
            continue;
        indent = indent == SIZE_MAX ? line.indent : indent;
        size_t last = line.end;
        bool goes_on = is_folded && line.folds && line.indent == indent;
        while (goes_on && i < end) {
            const struct line more = line_at(reader, i, end);
            if (more.at == more.end || more.indent != indent)
                break;
            last = more.end;
            i = more.next;
            goes_on = more.folds;
        }
        const enum dg_err err = join(reader, line.at, last, &joined);
        if (err)
            reader->filter->blocks.err = err;
        else
            add(reader, dg_buf_span(&joined), line.at, last, LINE);
    }
    dg_buf_deinit(&joined);
}

/* ---- Scalars --------------------------------------------------------------------------------- */

/* A blank, or an escape for one, at the beginning or the end of quoted bytes: its length. */
static size_t blank_at(struct dg_span text, bool is_double, bool at_end)
{
    const size_t n = text.len;
    if (n == 0)
        return 0;
    if (dg_chars_is_space(text.ptr[at_end ? n - 1 : 0]))
        return 1;
    if (!is_double || n < 2)
        return 0;
    const size_t i = at_end ? n - 2 : 0;
    size_t n_slashes = 0;
    while (at_end && n_slashes <= i && text.ptr[i - n_slashes] == '\\')
        n_slashes++;
    return text.ptr[i] == '\\' && (text.ptr[i + 1] == 'n' || text.ptr[i + 1] == 't') &&
                   (!at_end || n_slashes % 2 == 1)
               ? 2
               : 0;
}

static struct dg_span trim(struct dg_span text, bool is_double)
{
    size_t n;
    while ((n = blank_at(text, is_double, false)) > 0)
        text = dg_span_sub(text, n, text.len);
    while ((n = blank_at(text, is_double, true)) > 0)
        text.len -= n;
    return text;
}

static void add_quoted(struct reader *reader, size_t at, size_t end, struct dg_span value,
                       bool is_double)
{
    const struct dg_span raw = trim(dg_span_sub(reader->text, at + 1, end - at - 2), is_double);
    const struct dg_span words = trim(value, false);
    if (!is_double && has_special(words))
        return; /* only double quotes can express it on one line */
    if (raw.len)
        add(reader, words, (size_t)(raw.ptr - reader->text.ptr),
            (size_t)(raw.ptr - reader->text.ptr) + raw.len, is_double ? DOUBLE : SINGLE);
}

static void add_value(struct reader *reader, const yaml_event_t *event)
{
    const struct dg_span value =
        dg_span_make((const char *)event->data.scalar.value, event->data.scalar.length);
    const size_t from = byte_of(reader, event->start_mark.index);
    const size_t end = byte_of(reader, event->end_mark.index);
    const size_t at = skip_properties(reader, from, end);
    const bool is_flow = reader->depth && reader->levels[reader->depth - 1].is_flow;
    if (event->data.scalar.tag || at >= end)
        return;
    switch (event->data.scalar.style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        if (end - at >= 2 && value.len)
            add_quoted(reader, at, end, value,
                       event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE);
        break;
    case YAML_LITERAL_SCALAR_STYLE:
        add_block_scalar(reader, at, end, false);
        break;
    case YAML_FOLDED_SCALAR_STYLE:
        add_block_scalar(reader, at, end, true);
        break;
    default:
        if (!is_constant(value) && !memchr(value.ptr, '\n', value.len))
            add(reader, value, at, end, is_flow ? PLAIN_IN_FLOW : PLAIN);
        break;
    }
}

/* ---- Structure ------------------------------------------------------------------------------- */

/* "en", "pt-BR": the language has two letters, because a word of three may be anything. */
static bool is_language(struct dg_span key)
{
    struct dg_langtag tag;
    for (size_t i = 0; i < key.len && i < 2; i++)
        if (key.ptr[i] < 'a' || key.ptr[i] > 'z')
            return false;
    return (key.len == 2 || (key.len > 3 && (key.ptr[2] == '-' || key.ptr[2] == '_'))) &&
           dg_langtag_parse(key, &tag, NULL) == DG_OK;
}

static bool is_wanted(struct dg_span key)
{
    static const char *const words[] = {"title",   "subtitle", "description", "summary",
                                        "excerpt", "abstract", NULL};
    return dg_chars_is_one_of_any_case(key, words);
}

static void take_key(struct reader *reader, struct level *level, const yaml_event_t *event)
{
    const struct dg_span key =
        dg_span_make((const char *)event->data.scalar.value, event->data.scalar.length);
    level->is_wanted = reader->depth == 1 && is_wanted(key);
    if (reader->depth != 1 || reader->is_front_matter)
        return;
    const bool is_first = level->n_keys == 0 && !reader->has_root && !reader->has_other;
    if (is_first && !event->data.scalar.anchor && is_language(key)) {
        const size_t at = byte_of(reader, event->start_mark.index);
        const size_t end = byte_of(reader, event->end_mark.index);
        const bool is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        reader->has_root = end - at == key.len + 2 * is_quoted;
        reader->root_at = reader->base + at + is_quoted;
        reader->root_len = key.len;
        dg_block_silent(&reader->filter->blocks, reader->root_at, reader->root_len, ROOT_KEY);
    } else {
        reader->has_other = true;
    }
}

/* Begins a node; true if it is a value. */
static bool begin_node(struct reader *reader, const yaml_event_t *event)
{
    struct level *level = reader->depth ? &reader->levels[reader->depth - 1] : NULL;
    if (!level)
        return !reader->is_front_matter;
    if (!level->is_mapping)
        return !reader->is_front_matter;
    level->expects_value = !level->expects_value;
    if (!level->expects_value)
        return !reader->is_front_matter || level->is_wanted;
    level->is_wanted = false;
    if (event->type == YAML_SCALAR_EVENT)
        take_key(reader, level, event);
    else
        reader->has_other |= reader->depth == 1;
    level->n_keys++;
    return false;
}

static enum dg_err take(struct reader *reader, const yaml_event_t *event, struct dg_error *error)
{
    const bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        if (begin_node(reader, event))
            add_value(reader, event);
        /* "en: text" is not a mapping of a language */
        if (reader->depth == 1 && !reader->levels[0].expects_value)
            reader->has_other = true;
        break;
    case YAML_ALIAS_EVENT:
        (void)begin_node(reader, event);
        break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        (void)begin_node(reader, event);
        if (reader->depth == DEPTH_MAX)
            return dg_error_set(error, DG_ERR_LIMIT, "line %zu: nested deeper than %d",
                                event->start_mark.line + 1, (int)DEPTH_MAX);
        reader->levels[reader->depth++] = (struct level){
            .is_mapping = is_mapping,
            .is_flow = is_mapping ? event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                                  : event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE};
        break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        reader->depth--;
        break;
    default:
        break;
    }
    return DG_OK;
}

static enum dg_err read_all(struct reader *reader, struct dg_error *error)
{
    yaml_parser_t parser;
    yaml_event_t event;
    enum dg_err err = DG_OK;
    bool is_over = false;
    if (!yaml_parser_initialize(&parser))
        return DG_ERR_NOMEM;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)reader->text.ptr,
                                 reader->text.len);
    while (!err && !is_over && !reader->filter->blocks.err) {
        if (!yaml_parser_parse(&parser, &event)) {
            err = parser.error == YAML_MEMORY_ERROR
                      ? DG_ERR_NOMEM
                      : dg_error_set(error, DG_ERR_FORMAT, "line %zu: this is not YAML: %s",
                                     parser.problem_mark.line + 1,
                                     parser.problem ? parser.problem : "it cannot be read");
            break;
        }
        is_over = event.type == YAML_STREAM_END_EVENT;
        err = take(reader, &event, error);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return err ? err : reader->filter->blocks.err;
}

static enum dg_err read_yaml(struct dg_filter *filter, size_t base, size_t len,
                             bool is_front_matter, struct dg_error *error)
{
    struct reader *reader = dg_try_calloc(1, sizeof *reader);
    if (!reader)
        return DG_ERR_NOMEM;
    reader->filter = filter;
    reader->base = base;
    reader->text = dg_span_sub(filter->bytes, base, len);
    reader->is_front_matter = is_front_matter;
    const enum dg_err err = read_all(reader, error);
    filter->is_for_language = reader->has_root && !reader->has_other;
    dg_free(reader);
    return err;
}

enum dg_err dg_filter_open_yaml(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error)
{
    const size_t base = dg_filter_mark_len(filter->bytes);
    (void)opts;
    return read_yaml(filter, base, filter->bytes.len - base, false, error);
}

/* ---- Front matter ---------------------------------------------------------------------------- */

/* Finds the line of three dashes after the front matter, and the line after it; false when
 * there is none. */
static bool find_front_matter(struct dg_span text, size_t *begin, size_t *end, size_t *body)
{
    size_t at = dg_filter_mark_len(text);
    *begin = at;
    for (size_t n = 0; at < text.len; n++) {
        const char *newline = memchr(text.ptr + at, '\n', text.len - at);
        const size_t next = newline ? (size_t)(newline - text.ptr) + 1 : text.len;
        size_t stop = next;
        while (stop > at && dg_chars_is_space(text.ptr[stop - 1]))
            stop--;
        const bool is_dashes = dg_span_eq(dg_span_sub(text, at, stop - at), DG_SPAN("---"));
        if (n == 0 && !is_dashes)
            return false;
        if (n > 0 && is_dashes) {
            *end = at;
            *body = next;
            return true;
        }
        *begin = n == 0 ? next : *begin;
        at = next;
    }
    return false;
}

bool dg_filter_has_front_matter(struct dg_span bytes)
{
    size_t begin, end, body;
    return find_front_matter(bytes, &begin, &end, &body);
}

enum dg_err dg_filter_open_markdown(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                    struct dg_error *error)
{
    struct dg_error why = DG_ERROR_NONE;
    size_t begin, end, body;
    (void)opts;
    filter->format = DG_DOC_MARKDOWN;
    filter->blocks.is_plain = true;
    (void)error;
    if (!find_front_matter(filter->bytes, &begin, &end, &body)) {
        filter->blocks.rest = dg_filter_mark_len(filter->bytes);
        return DG_OK;
    }
    filter->blocks.rest = body;
    enum dg_err err = read_yaml(filter, begin, end - begin, true, &why);
    if (err != DG_ERR_FORMAT && err != DG_ERR_LIMIT)
        return err;
    dg_blocks_clear(&filter->blocks);
    return dg_buf_printf(&filter->note, "the front matter stays as it is: %s",
                         dg_error_text(&why, err));
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Whether a text can be written without quotation marks, like the original. */
static bool is_plain(struct dg_span text, bool in_flow)
{
    bool is_number = true;
    if (text.len == 0 || is_constant(text) || strchr("-?:,[]{}#&*!|>'\"%@`", text.ptr[0]) ||
        text.ptr[text.len - 1] == ':' || dg_chars_is_space(text.ptr[0]) ||
        dg_chars_is_space(text.ptr[text.len - 1]) || has_special(text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i], next = i + 1 < text.len ? text.ptr[i + 1] : ' ';
        if ((c == ':' && (dg_chars_is_space(next) || in_flow)) || (c == ' ' && next == '#') ||
            (in_flow && strchr(",[]{}", c)))
            return false;
        is_number &= (c >= '0' && c <= '9') || strchr("+-.,_:eExoabcdfABCDF", c) != NULL;
    }
    return !is_number;
}

static enum dg_err put_escaped(struct dg_span text, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t at = 0, len; at < text.len && !err; at += len) {
        uint32_t cp;
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0)
            return DG_ERR_UTF8;
        if (cp == '"' || cp == '\\')
            err = dg_buf_printf(out, "\\%c", (char)cp);
        else if (cp == '\n' || cp == '\t')
            err = dg_buf_append_cstr(out, cp == '\n' ? "\\n" : "\\t");
        else if (is_special(cp))
            err = dg_buf_printf(out, "\\u%04X", (unsigned)cp);
        else
            err = dg_buf_append_span(out, dg_span_sub(text, at, len));
    }
    return err;
}

static enum dg_err put_value(struct dg_span text, enum style style, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    if (style == DOUBLE)
        return put_escaped(text, out);
    if ((style == PLAIN || style == PLAIN_IN_FLOW) && !is_plain(text, style == PLAIN_IN_FLOW)) {
        err = dg_buf_append_byte(out, '"');
        if (!err)
            err = put_escaped(text, out);
        return err ? err : dg_buf_append_byte(out, '"');
    }
    for (size_t at = 0, len; at < text.len && !err; at += len) {
        uint32_t cp;
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0)
            return DG_ERR_UTF8;
        if (style == SINGLE && cp == '\'')
            err = dg_buf_append_byte(out, '\'');
        /* A line must stay a single line. */
        if (!err)
            err = dg_buf_append_span(
                out, is_special(cp) && cp != '\t' ? DG_SPAN(" ") : dg_span_sub(text, at, len));
    }
    return err;
}

enum dg_err dg_filter_put_yaml(void *ctx, const struct dg_block_source *source,
                               const struct dg_filter_block *block, struct dg_span html,
                               struct dg_buf *out, struct dg_error *error)
{
    const struct dg_filter *filter = ctx;
    (void)source;
    struct dg_buf text;
    if (block->info == ROOT_KEY)
        return dg_buf_append_span(out, filter->is_for_language && filter->language.len
                                           ? filter->language
                                           : dg_span_sub(filter->bytes, block->at, block->len));
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = filter->blocks.is_plain ? dg_buf_append_span(&text, html)
                                              : dg_block_text(html, &text, error);
    if (!err)
        err = put_value(trim(dg_buf_span(&text), false), (enum style)block->info, out);
    dg_buf_deinit(&text);
    return err;
}
