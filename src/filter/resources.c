/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Interface texts in XML: Android's resources, .NET's .resx, Apple's .stringsdict.
 *
 *     <string name="hi">It\'s <b>%1$s</b></string>      block: It's <b id=0>%1$s</b id=1>
 *     <item quantity="other">%d files</item>            a block, whose translation also serves the
 *                                                       further categories of the target
 *     <data name="hi"><value>Hello</value></data>       block: Hello
 *     <key>other</key><string>%d files</string>         block: %d files
 *
 * Tags within a text are marks of the block; <xliff:g> is kept with its contents. Elements with
 * translatable="false", references to other resources, and data that is not text (a type, a
 * mimetype) stay. */
#include "base/memory/chars.h"
#include "filter/filter_int.h"
#include "markup/entity.h"
#include "markup/markup.h"
#include "markup/plural.h"
#include "base/memory/utf8.h"

#include <string.h>

enum { TEXT_MAX = 1 << 24, DEPTH_MAX = 64 };

/* block.info: what writing a block needs to know. */
enum {
    IS_ANDROID = 1,  /* uses backslashes and quotes */
    IS_QUOTED = 2,   /* the whole value is in quotation marks */
    IS_OTHER = 4,    /* the plural category "other", whose element is the block */
    HAS_SHIFT = 3,   /* from this bit on, one bit for each category of `categories` that exists */
    INNER_SHIFT = 8, /* 24 bits say where the text lies in the block, and the 24 bits above what
                        lies after it */
    BEHIND_SHIFT = 32,
    PART_MAX = (1 << 24) - 1,
};

static const char *const categories[] = {"zero", "one", "two", "few", "many"};
enum { N_CATEGORIES = 5 };

struct reader {
    struct dg_filter *filter;
    struct dg_span bytes;
    struct dg_buf text;
    struct dg_error *error;
    enum dg_err err;
};

static void refuse(struct reader *reader, size_t at, const char *what)
{
    if (!reader->err)
        reader->err = dg_error_set(reader->error, DG_ERR_INVALID, "line %zu: %s",
                                   dg_filter_line(reader->filter, at), what);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void say(struct reader *reader, uint32_t cp)
{
    char bytes[DG_UTF8_MAX_LEN];
    const size_t len = dg_utf8_encode(cp, bytes);
    if (!reader->err)
        reader->err = dg_buf_append(&reader->text, bytes, len);
}

/* Android's escape at `at`; returns the bytes taken. */
static size_t take_escape(struct reader *reader, struct dg_span text, size_t at)
{
    const char c = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    uint32_t cp = 0;
    size_t n = 0;
    if (c == 'u') {
        for (; n < 4 && at + 2 + n < text.len &&
               strchr("0123456789abcdefABCDEF", text.ptr[at + 2 + n]) && text.ptr[at + 2 + n];
             n++) {
            const char digit = text.ptr[at + 2 + n];
            cp = cp * 16 + (uint32_t)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
        }
        if (n == 4 && cp >= ' ' && !(cp >= 0xD800 && cp < 0xE000)) {
            say(reader, cp);
            return 6;
        }
    }
    if (c == '\0') {
        say(reader, '\\');
        return 1;
    }
    if (c == 'n' || c == 't') {
        say(reader, c == 'n' ? '\n' : '\t');
        return 2;
    }
    const size_t len = dg_utf8_decode(text, at + 1, &cp);
    say(reader, cp);
    return 1 + (len ? len : 1);
}

/* The characters of a text token. White space is one space in Android, unless it is quoted. */
static void decode(struct reader *reader, struct dg_span text, uint64_t info)
{
    const bool collapses = info & IS_ANDROID && !(info & IS_QUOTED);
    dg_buf_clear(&reader->text);
    for (size_t at = 0; at < text.len && !reader->err;) {
        uint32_t cp = 0;
        const size_t len = text.ptr[at] == '&' ? dg_entity_match(text, at, DG_ENTITY_XML, &cp) : 0;
        if (len > 0) {
            if (cp)
                say(reader, cp);
            at += len;
        } else if (text.ptr[at] == '\\' && info & IS_ANDROID) {
            at += take_escape(reader, text, at);
        } else if (dg_chars_is_space(text.ptr[at]) && collapses) {
            while (at < text.len && dg_chars_is_space(text.ptr[at]))
                at++;
            say(reader, ' ');
        } else if (text.ptr[at] == '\r') {
            at++;
        } else {
            reader->err = dg_buf_append(&reader->text, text.ptr + at, 1);
            at++;
        }
    }
}

/* Says a text token. An escaped line end is a point, so that its bytes stay. */
static void say_text(struct reader *reader, size_t at, size_t len, uint64_t info)
{
    struct dg_blocks *blocks = &reader->filter->blocks;
    const char *text = reader->bytes.ptr;
    const size_t end = at + len;
    size_t from = at;
    while (at < end && !reader->err) {
        const bool is_escape = info & IS_ANDROID && text[at] == '\\' && at + 1 < end;
        const bool is_line =
            is_escape ? text[at + 1] == 'n' : text[at] == '\n' && !(info & IS_ANDROID);
        const size_t taken = is_escape ? 2 : 1;
        if (is_line) {
            decode(reader, dg_span_sub(reader->bytes, from, at - from), info);
            dg_block_say(blocks, dg_buf_span(&reader->text));
            dg_block_point(blocks, at, taken);
            from = at + taken;
        }
        at += taken;
    }
    decode(reader, dg_span_sub(reader->bytes, from, end - from), info);
    dg_block_say(blocks, dg_buf_span(&reader->text));
}

/* Describes the contents of an element, bytes[at, end). */
static void say_contents(struct reader *reader, size_t at, size_t end, uint64_t info)
{
    struct dg_blocks *blocks = &reader->filter->blocks;
    struct dg_markup markup = {
        .text = dg_span_sub(reader->bytes, 0, end), .kind = DG_MARKUP_XML, .at = at};
    struct dg_markup_token token;
    struct dg_span names[DEPTH_MAX];
    struct dg_buf kept_text;
    size_t depth = 0, kept = 0, kept_at = 0; /* the depth at which an <xliff:g> is open; 0: none */
    dg_buf_init(&kept_text, TEXT_MAX);
    while (!reader->err && !blocks->err && dg_markup_next(&markup, &token)) {
        const struct dg_span bytes = dg_span_sub(reader->bytes, token.at, token.len);
        if (token.type == DG_MARKUP_TEXT && kept) {
            decode(reader, bytes, info);
            if (!reader->err)
                reader->err = dg_buf_append_span(&kept_text, dg_buf_span(&reader->text));
        } else if (token.type == DG_MARKUP_TEXT) {
            say_text(reader, token.at, token.len, info);
        } else if (token.type == DG_MARKUP_START) {
            if (depth == DEPTH_MAX) {
                refuse(reader, token.at, "elements are nested too deeply");
                break;
            }
            names[depth++] = token.name;
            if (!kept && dg_span_eq(token.name, DG_SPAN("xliff:g"))) {
                kept = depth;
                kept_at = token.at;
                dg_buf_clear(&kept_text);
            } else if (!kept) {
                dg_block_open(blocks, token.at, token.len);
            }
        } else if (token.type == DG_MARKUP_END) {
            if (depth == 0 || !dg_span_eq(names[depth - 1], token.name)) {
                refuse(reader, token.at, "a closing tag that nothing opened");
                break;
            }
            if (kept == depth) {
                dg_block_frozen(blocks, kept_at, token.at + token.len - kept_at,
                                dg_buf_span(&kept_text));
                kept = 0;
            } else if (!kept) {
                dg_block_close(blocks, token.at, token.len);
            }
            depth--;
        } else if (!kept) {
            dg_block_point(blocks, token.at, token.len);
        }
    }
    if (depth > 0)
        refuse(reader, at, "an element in this text is not closed");
    dg_buf_deinit(&kept_text);
}

/* Finds the CDATA section of an element that holds nothing else. */
static void enter_cdata(const struct reader *reader, size_t *at, size_t *end)
{
    size_t from = *at, to = *end;
    while (from < to && dg_chars_is_space(reader->bytes.ptr[from]))
        from++;
    while (to > from && dg_chars_is_space(reader->bytes.ptr[to - 1]))
        to--;
    const struct dg_span text = dg_span_sub(reader->bytes, from, to - from);
    if (!dg_span_starts(text, DG_SPAN("<![CDATA[")) || !dg_span_ends(text, DG_SPAN("]]>")) ||
        text.len < 12)
        return;
    for (size_t i = 9; i + 3 < text.len; i++)
        if (dg_span_starts(dg_span_sub(text, i, 3), DG_SPAN("]]>")))
            return;
    *at = from + 9;
    *end = to - 3;
}

/* Whether the byte at `at` is escaped, given that the text begins at `from`. */
static bool is_escaped(struct dg_span bytes, size_t from, size_t at)
{
    size_t n = 0;
    while (at - n > from && bytes.ptr[at - n - 1] == '\\')
        n++;
    return n % 2 == 1;
}

/* The text of an element as a block. Of a plural's "other", `unit` is where its element begins and
 * unit_end where it ends; else SIZE_MAX. */
static void add_text(struct reader *reader, size_t at, size_t end, uint64_t info, size_t unit,
                     size_t unit_end)
{
    struct dg_blocks *blocks = &reader->filter->blocks;
    enter_cdata(reader, &at, &end);
    while (at < end && dg_chars_is_space(reader->bytes.ptr[at]))
        at++;
    while (end > at && dg_chars_is_space(reader->bytes.ptr[end - 1]) &&
           !(info & IS_ANDROID && is_escaped(reader->bytes, at, end - 1)))
        end--;
    if (end <= at ||
        (info & IS_ANDROID && (reader->bytes.ptr[at] == '@' || reader->bytes.ptr[at] == '?')))
        return;
    if (info & IS_ANDROID && end - at >= 2 && reader->bytes.ptr[at] == '"' &&
        reader->bytes.ptr[end - 1] == '"' && !is_escaped(reader->bytes, at + 1, end - 1)) {
        info |= IS_QUOTED;
        at++;
        end--;
    }
    dg_block_begin(blocks);
    say_contents(reader, at, end, info);
    if (reader->err)
        return;
    if (unit != SIZE_MAX && at - unit <= PART_MAX && unit_end - end <= PART_MAX)
        (void)dg_block_end(blocks, unit, unit_end - unit,
                           info | IS_OTHER | (uint64_t)(at - unit) << INNER_SHIFT |
                               (uint64_t)(unit_end - end) << BEHIND_SHIFT);
    else
        (void)dg_block_end(blocks, at, end - at, info);
}

/* ---- Elements -------------------------------------------------------------------------------- */

static bool next(struct reader *reader, struct dg_markup *markup, struct dg_markup_token *token)
{
    return !reader->err && !reader->filter->blocks.err && dg_markup_next(markup, token);
}

/* Reads on to the end of the element that `start` begins; *end is where its closing tag is. False
 * when it is not closed. */
static bool skip_element(struct reader *reader, struct dg_markup *markup,
                         const struct dg_markup_token *start, size_t *end)
{
    struct dg_markup_token token;
    while (dg_markup_next(markup, &token)) {
        if (token.type == DG_MARKUP_END && dg_span_eq(token.name, start->name)) {
            *end = token.at;
            return true;
        }
        if (token.type == DG_MARKUP_START && dg_span_eq(token.name, start->name)) {
            refuse(reader, token.at, "an element stands in another of its name");
            return false;
        }
    }
    refuse(reader, start->at, "this element is not closed");
    return false;
}

static struct dg_span tag_of(const struct reader *reader, const struct dg_markup_token *token)
{
    return dg_span_sub(reader->bytes, token->at, token->len);
}

static bool says(struct dg_span tag, const char *name, const char *wanted)
{
    struct dg_span value;
    return dg_markup_attribute(tag, name, &value) && dg_span_eq(value, dg_span_cstr(wanted));
}

static unsigned category_bit(struct dg_span word)
{
    for (unsigned i = 0; i < N_CATEGORIES; i++)
        if (dg_span_eq(word, dg_span_cstr(categories[i])))
            return 1u << i;
    return 0;
}

/* The plural whose elements are read: which categories it has, and the block of "other". */
struct plural {
    unsigned seen;
    size_t other; /* SIZE_MAX: none yet */
};

static void end_plural(struct reader *reader, struct plural *plural)
{
    if (plural->other != SIZE_MAX)
        reader->filter->blocks.items[plural->other].info |= (uint64_t)plural->seen << HAS_SHIFT;
    *plural = (struct plural){.other = SIZE_MAX};
}

static void add_category(struct reader *reader, struct plural *plural, struct dg_span category,
                         size_t at, size_t end, uint64_t info, size_t unit, size_t unit_end)
{
    const size_t n = reader->filter->blocks.n;
    const bool is_other = dg_span_eq(category, DG_SPAN("other"));
    plural->seen |= category_bit(category);
    add_text(reader, at, end, info, is_other ? unit : SIZE_MAX, unit_end);
    if (is_other && reader->filter->blocks.n > n && reader->filter->blocks.items[n].info & IS_OTHER)
        plural->other = n;
}

static void init(struct reader *reader, struct dg_filter *filter, struct dg_error *error)
{
    *reader = (struct reader){.filter = filter, .bytes = filter->bytes, .error = error};
    dg_buf_init(&reader->text, TEXT_MAX);
}

static enum dg_err finish(struct reader *reader)
{
    dg_buf_deinit(&reader->text);
    return reader->err;
}

static bool has_root(struct dg_span bytes, const char *name)
{
    struct dg_markup markup = {.text = dg_span_sub(bytes, 0, 1 << 16), .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    while (dg_markup_next(&markup, &token))
        if (token.type == DG_MARKUP_START)
            return dg_span_eq(token.name, dg_span_cstr(name));
    return false;
}

bool dg_filter_is_android(struct dg_span bytes)
{
    return has_root(bytes, "resources");
}

enum dg_err dg_filter_open_android(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                   struct dg_error *error)
{
    struct reader reader;
    struct dg_markup markup = {.text = filter->bytes, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct plural plural = {.other = SIZE_MAX};
    bool is_kept = false; /* the list or plural that is open */
    (void)opts;
    init(&reader, filter, error);
    while (next(&reader, &markup, &token)) {
        const struct dg_span tag = tag_of(&reader, &token);
        const bool is_plural = dg_span_eq(token.name, DG_SPAN("plurals"));
        struct dg_span quantity = {NULL, 0};
        size_t end;
        if (is_plural && token.type == DG_MARKUP_END)
            end_plural(&reader, &plural);
        if (token.type != DG_MARKUP_START)
            continue;
        const bool is_string = dg_span_eq(token.name, DG_SPAN("string"));
        if (is_plural || dg_span_eq(token.name, DG_SPAN("string-array"))) {
            is_kept = says(tag, "translatable", "false");
            end_plural(&reader, &plural);
        } else if (is_string || dg_span_eq(token.name, DG_SPAN("item"))) {
            if (!skip_element(&reader, &markup, &token, &end))
                break;
            const bool has_quantity = dg_markup_attribute(tag, "quantity", &quantity);
            if (is_string ? says(tag, "translatable", "false") : is_kept)
                continue;
            if (has_quantity)
                add_category(&reader, &plural, quantity, token.at + token.len, end, IS_ANDROID,
                             token.at, markup.at);
            else
                add_text(&reader, token.at + token.len, end, IS_ANDROID, SIZE_MAX, 0);
        } else if (!dg_span_eq(token.name, DG_SPAN("resources")) &&
                   !skip_element(&reader, &markup, &token, &end)) {
            break; /* a resource of another kind: colours, styles, ... */
        }
    }
    return finish(&reader);
}

enum dg_err dg_filter_open_resx(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error)
{
    struct reader reader;
    struct dg_markup markup = {.text = filter->bytes, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    bool is_text = false, is_root = false;
    (void)opts;
    init(&reader, filter, error);
    while (next(&reader, &markup, &token)) {
        const struct dg_span tag = tag_of(&reader, &token);
        struct dg_span value;
        size_t end;
        if (token.type == DG_MARKUP_END && dg_span_eq(token.name, DG_SPAN("data")))
            is_text = false;
        if (token.type != DG_MARKUP_START)
            continue;
        if (dg_span_eq(token.name, DG_SPAN("root"))) {
            is_root = true;
        } else if (dg_span_eq(token.name, DG_SPAN("data"))) {
            is_text = !dg_markup_attribute(tag, "type", &value) &&
                      !dg_markup_attribute(tag, "mimetype", &value) &&
                      !(dg_markup_attribute(tag, "name", &value) &&
                        (dg_span_starts(value, DG_SPAN("&gt;&gt;")) ||
                         dg_span_starts(value, DG_SPAN(">>"))));
        } else if (is_text && dg_span_eq(token.name, DG_SPAN("value"))) {
            if (skip_element(&reader, &markup, &token, &end))
                add_text(&reader, token.at + token.len, end, 0, SIZE_MAX, 0);
        }
    }
    if (!is_root)
        refuse(&reader, 0, "resx: the file has no element <root>");
    return finish(&reader);
}

/* A format in which "%#@files@" stands for one of the plurals. */
static void add_format(struct reader *reader, size_t at, size_t end)
{
    struct dg_blocks *blocks = &reader->filter->blocks;
    const struct dg_span text = dg_span_sub(reader->bytes, 0, end);
    size_t from = at;
    dg_block_begin(blocks);
    for (size_t i = at; i < end && !reader->err; i++) {
        const char *close = dg_span_starts(dg_span_sub(text, i, 3), DG_SPAN("%#@"))
                                ? memchr(text.ptr + i + 3, '@', end - i - 3)
                                : NULL;
        if (!close)
            continue;
        const size_t behind = (size_t)(close - text.ptr) + 1;
        say_text(reader, from, i - from, 0);
        dg_block_frozen(blocks, i, behind - i, dg_span_sub(text, i, behind - i));
        from = behind;
        i = behind - 1;
    }
    say_text(reader, from, end - from, 0);
    (void)dg_block_end(blocks, at, end - at, 0);
}

/* A <key> and the <string> after it; in a plural's <dict> the keys are its categories. */
enum dg_err dg_filter_open_stringsdict(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                       struct dg_error *error)
{
    struct reader reader;
    struct dg_markup markup = {.text = filter->bytes, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    struct plural plural = {.other = SIZE_MAX};
    struct dg_span key = {NULL, 0};
    size_t key_at = 0;
    bool is_plist = false;
    (void)opts;
    init(&reader, filter, error);
    while (next(&reader, &markup, &token)) {
        size_t end;
        if (dg_span_eq(token.name, DG_SPAN("dict")))
            end_plural(&reader, &plural);
        if (token.type != DG_MARKUP_START)
            continue;
        const size_t at = token.at + token.len;
        is_plist |= dg_span_eq(token.name, DG_SPAN("plist"));
        if (dg_span_eq(token.name, DG_SPAN("key"))) {
            if (skip_element(&reader, &markup, &token, &end))
                key = dg_span_sub(reader.bytes, at, end - at);
            key_at = token.at;
        } else if (dg_span_eq(token.name, DG_SPAN("string"))) {
            if (!skip_element(&reader, &markup, &token, &end))
                break;
            if (category_bit(key) || dg_span_eq(key, DG_SPAN("other")))
                add_category(&reader, &plural, key, at, end, 0, key_at, markup.at);
            else if (dg_span_eq(key, DG_SPAN("NSStringLocalizedFormatKey")))
                add_format(&reader, at, end);
        }
    }
    if (!is_plist)
        refuse(&reader, 0, "stringsdict: the file has no element <plist>");
    return finish(&reader);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err put_text(struct dg_span text, uint64_t info, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        const char c = text.ptr[i];
        const bool is_android = info & IS_ANDROID;
        if (c == '&' || c == '<' || c == '>')
            err = dg_buf_append_cstr(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else if (is_android && (c == '\n' || c == '\t'))
            err = dg_buf_append_cstr(out, c == '\n' ? "\\n" : "\\t");
        else if (is_android && (c == '\\' || c == '"' || (c == '\'' && !(info & IS_QUOTED))))
            err = dg_buf_printf(out, "\\%c", c);
        else
            err = dg_buf_append_byte(out, c);
    }
    return err;
}

static enum dg_err escape_xml(struct dg_span text, struct dg_buf *out)
{
    return put_text(text, 0, out);
}

static enum dg_err escape_android(struct dg_span text, struct dg_buf *out)
{
    return put_text(text, IS_ANDROID, out);
}

static enum dg_err escape_quoted(struct dg_span text, struct dg_buf *out)
{
    return put_text(text, IS_ANDROID | IS_QUOTED, out);
}

static enum dg_err put_contents(const struct dg_block_source *source,
                                const struct dg_filter_block *block, struct dg_span html,
                                struct dg_buf *out, struct dg_error *error)
{
    struct dg_buf text;
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = dg_block_render(source, block, html,
                                      block->info & IS_QUOTED    ? escape_quoted
                                      : block->info & IS_ANDROID ? escape_android
                                                                 : escape_xml,
                                      &text, error);
    /* These characters would begin references. */
    if (!err && block->info & IS_ANDROID && text.len && (text.ptr[0] == '@' || text.ptr[0] == '?'))
        err = dg_buf_append_byte(out, '\\');
    if (!err)
        err = dg_buf_append_span(out, dg_buf_span(&text));
    dg_buf_deinit(&text);
    return err;
}

/* Appends the element of "other" for another category: its head with that word in place of
 * "other". */
static enum dg_err put_category(struct dg_span head, const char *category, struct dg_span text,
                                struct dg_span tail, struct dg_buf *out)
{
    size_t at = 0;
    while (at < head.len && !dg_span_starts(dg_span_sub(head, at, 5), DG_SPAN("other")))
        at++;
    const struct dg_span parts[] = {
        dg_span_sub(head, 0, at), dg_span_cstr(category),
        dg_span_sub(head, at + 5 < head.len ? at + 5 : head.len, head.len), text, tail};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !err; i++)
        err = dg_buf_append_span(out, parts[i]);
    return err;
}

enum dg_err dg_filter_put_resources(void *ctx, const struct dg_block_source *source,
                                    const struct dg_filter_block *block, struct dg_span html,
                                    struct dg_buf *out, struct dg_error *error)
{
    const struct dg_filter *filter = ctx;
    const struct dg_span bytes = dg_span_sub(filter->bytes, block->at, block->len);
    if (!(block->info & IS_OTHER))
        return put_contents(source, block, html, out, error);
    const size_t inner = block->info >> INNER_SHIFT & PART_MAX,
                 behind = block->info >> BEHIND_SHIFT & PART_MAX;
    const struct dg_span head = dg_span_sub(bytes, 0, inner),
                         tail = dg_span_sub(bytes, bytes.len - behind, behind);
    const char *wanted = dg_plural_categories(filter->language);
    struct dg_buf text;
    size_t line = block->at;
    while (line > 0 && (filter->bytes.ptr[line - 1] == ' ' || filter->bytes.ptr[line - 1] == '\t'))
        line--;
    const bool is_line = line > 0 && filter->bytes.ptr[line - 1] == '\n';
    if (is_line)
        line -= line > 1 && filter->bytes.ptr[line - 2] == '\r' ? 2 : 1;
    const struct dg_span indent = dg_span_sub(filter->bytes, line, block->at - line);
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = put_contents(source, block, html, &text, error);
    for (int i = 0; i < N_CATEGORIES && !err; i++) {
        if (block->info & 1u << (HAS_SHIFT + i) || !dg_plural_has(wanted, categories[i]))
            continue;
        err = put_category(head, categories[i], dg_buf_span(&text), tail, out);
        if (!err)
            err = dg_buf_append_span(out, indent);
    }
    if (!err)
        err = dg_buf_append_span(out, head);
    if (!err)
        err = dg_buf_append_span(out, dg_buf_span(&text));
    if (!err)
        err = dg_buf_append_span(out, tail);
    dg_buf_deinit(&text);
    return err;
}
