/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Interface texts line by line: Apple's .strings and Java's .properties.
 *
 *     "greeting" = "Hello, \"%@\"\n";         a comment or two, keys, and an end of each entry stay
 *     greeting = It''s {0}.\nBye \            what a backslash joins is one text
 *                for now
 *
 * Each line of a value is a block. In a message in ICU's syntax each branch is a block, and the
 * arguments in it are kept; the sentence around a choice is moved into its branches first, and
 * plurals get the categories of the target at the end. Properties may be Latin-1, the only encoding
 * that Java read for a long time: a file that is not UTF-8 is read as Latin-1, and other characters
 * of a translation are written as \uXXXX, as they are in a file that is pure ASCII. Where values
 * have {0}, two apostrophes stand for one (Java's MessageFormat). */
#include "base/memory/utf8.h"
#include "base/memory/chars.h"
#include "filter/filter_int.h"
#include "markup/icu_message.h"

#include <string.h>

enum { TEXT_MAX = 1 << 24, CHANGED_MAX = 1 << 29 };

/* block.info: how its text is written. */
enum {
    QUOTES_DOUBLED = 1,
    IS_PROPERTIES = 2,
    IS_ICU = 4,
    WRITES_ASCII = 8,
    IN_PLURAL = 16, /* "#" is written in quotes */
};

struct reader {
    struct dg_filter *filter;
    struct dg_span bytes;
    struct dg_buf text; /* a value without its escapes; or the file with its messages changed */
    uint64_t info;      /* set in every block of this file */
    bool is_latin1;
    void (*on_value)(struct reader *reader, size_t at, size_t end);
    /* While messages are written anew: the language that plurals are adapted to, and the bytes that
     * are done. */
    struct dg_span language;
    size_t done;
    enum dg_err err;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static void say(struct reader *reader, uint32_t cp)
{
    char bytes[DG_UTF8_MAX_LEN];
    const size_t len = dg_utf8_encode(cp, bytes);
    if (!reader->err)
        reader->err = dg_buf_append(&reader->text, bytes, len);
}

/* Reads up to `most` digits at `at`; *n is how many there were. */
static uint32_t hex(struct dg_span text, size_t at, size_t *n)
{
    uint32_t value = 0;
    for (*n = 0; *n < 4 && at + *n < text.len && dg_chars_hex(text.ptr[at + *n]) >= 0; ++*n)
        value = value * 16 + (uint32_t)dg_chars_hex(text.ptr[at + *n]);
    return value;
}

/* A code unit of UTF-16 by its number, and the second one of a pair; returns the bytes taken. */
static size_t take_unit(struct reader *reader, struct dg_span text, size_t at)
{
    size_t n, n_low = 0;
    uint32_t cp = hex(text, at + 2, &n);
    if (n < 4)
        return 0;
    size_t taken = 6;
    if (cp >= 0xD800 && cp < 0xDC00 && at + 7 < text.len && text.ptr[at + 6] == '\\' &&
        (text.ptr[at + 7] | 0x20) == 'u') {
        const uint32_t low = hex(text, at + 8, &n_low);
        if (n_low == 4 && low >= 0xDC00 && low < 0xE000) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
            taken = 12;
        }
    }
    say(reader, cp >= 0xD800 && cp < 0xE000 ? DG_UTF8_REPLACEMENT : cp ? cp : ' ');
    return taken;
}

/* An escape at `at`; returns the bytes taken. */
static size_t take_escape(struct reader *reader, struct dg_span text, size_t at)
{
    const char c = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    static const char letters[] = "nrtfb";
    const char *letter = c ? strchr(letters, c) : NULL;
    const bool is_properties = reader->info & IS_PROPERTIES;
    if (c == 'u' || (c == 'U' && !is_properties)) {
        const size_t taken = take_unit(reader, text, at);
        if (taken)
            return taken;
    }
    if (is_properties && (c == '\n' || c == '\r')) { /* the line continues */
        size_t behind = at + 2;
        behind += c == '\r' && behind < text.len && text.ptr[behind] == '\n';
        while (behind < text.len && is_blank(text.ptr[behind]))
            behind++;
        return behind - at;
    }
    if (letter && *letter == 't') {
        say(reader, '\t');
        return 2;
    }
    if (c == '\0' || letter)
        return c ? 2 : 1;
    uint32_t cp = (unsigned char)c;
    const size_t len = reader->is_latin1 ? 1 : dg_utf8_decode(text, at + 1, &cp);
    say(reader, cp);
    return 1 + (len ? len : 1);
}

/* Appends to reader->text what the bytes [at, end) mean, up to an escaped line end; returns where
 * that escape is, or `end`. */
static size_t decode_line(struct reader *reader, size_t at, size_t end)
{
    const struct dg_span text = dg_span_sub(reader->bytes, 0, end);
    dg_buf_clear(&reader->text);
    while (at < end && !reader->err) {
        const unsigned char c = (unsigned char)text.ptr[at];
        if (c == '\\' && at + 1 < end && (text.ptr[at + 1] == 'n' || text.ptr[at + 1] == 'r'))
            return at;
        if (c == '\n' && !(reader->info & IS_PROPERTIES))
            return at;
        if (c == '\\') {
            at += take_escape(reader, text, at);
        } else if (c == '\'' && reader->info & QUOTES_DOUBLED) {
            say(reader, '\'');
            at += at + 1 < end && text.ptr[at + 1] == '\'' ? 2 : 1;
        } else if (reader->is_latin1) {
            say(reader, c);
            at++;
        } else {
            reader->err = dg_buf_append(&reader->text, &text.ptr[at], 1);
            at++;
        }
    }
    return end;
}

/* ---- Messages -------------------------------------------------------------------------------- */

struct message {
    struct reader *reader;
    size_t at;     /* where the value begins */
    size_t begin;  /* where the block that is being made begins; SIZE_MAX: there is none */
    uint64_t info; /* of that block */
};

static void end_block(struct message *message, size_t at)
{
    if (message->begin != SIZE_MAX)
        (void)dg_block_end(&message->reader->filter->blocks, message->begin, at - message->begin,
                           message->info);
    message->begin = SIZE_MAX;
}

static void on_piece(void *ctx, const struct dg_icu_piece *piece)
{
    struct message *message = ctx;
    struct reader *reader = message->reader;
    struct dg_blocks *blocks = &reader->filter->blocks;
    const size_t at = message->at + piece->at, end = at + piece->len;
    if (piece->kind == DG_ICU_SYNTAX) {
        end_block(message, at);
        return;
    }
    if (message->begin == SIZE_MAX) {
        dg_block_begin(blocks);
        message->begin = at;
        message->info = reader->info | IS_ICU | (piece->in_plural ? IN_PLURAL : 0);
    }
    if (piece->kind == DG_ICU_APOSTROPHE) {
        dg_block_say(blocks, DG_SPAN("'"));
    } else if (piece->kind == DG_ICU_NUMBER) {
        dg_block_frozen(blocks, at, piece->len, dg_span_cstr(piece->example));
    } else if (piece->kind == DG_ICU_ARGUMENT) {
        (void)decode_line(reader, at, end);
        dg_block_frozen(blocks, at, piece->len, dg_buf_span(&reader->text));
    } else if (piece->kind == DG_ICU_TEXT) {
        for (size_t from = at; from < end;) {
            const size_t stop = decode_line(reader, from, end);
            dg_block_say(blocks, dg_buf_span(&reader->text));
            if (stop < end)
                dg_block_point(blocks, stop, 2); /* the end of a line */
            from = stop < end ? stop + 2 : end;
        }
    }
}

/* "{0}" and "{0, number}" are arguments of a MessageFormat. */
static bool has_argument(struct dg_span value)
{
    for (size_t i = 0; i + 2 < value.len; i++)
        if (value.ptr[i] == '{' && value.ptr[i + 1] >= '0' && value.ptr[i + 1] <= '9' &&
            (value.ptr[i + 2] == '}' || value.ptr[i + 2] == ','))
            return true;
    return false;
}

/* Whether a value is a message on one line. */
static bool is_message(struct dg_span value)
{
    return dg_icu_has_choice(value) && !memchr(value.ptr, '\n', value.len) &&
           dg_icu_parse(value, NULL, NULL);
}

static void add_value(struct reader *reader, size_t at, size_t end)
{
    struct dg_blocks *blocks = &reader->filter->blocks;
    const struct dg_span value = dg_span_sub(reader->bytes, at, end - at);
    struct message message = {reader, at, SIZE_MAX, 0};
    const uint64_t info = reader->info;
    if (is_message(value)) {
        (void)dg_icu_parse(value, on_piece, &message);
        end_block(&message, end);
        return;
    }
    if (info & IS_PROPERTIES && has_argument(value))
        reader->info |= QUOTES_DOUBLED;
    while (at < end && !reader->err && !blocks->err) {
        const size_t stop = decode_line(reader, at, end);
        bool has_words = false;
        if (!reader->err)
            reader->err = dg_block_has_words(dg_buf_span(&reader->text), &has_words);
        if (has_words)
            dg_block_add(blocks, dg_buf_span(&reader->text), at, stop - at, reader->info);
        at = stop < end ? stop + (reader->bytes.ptr[stop] == '\\' ? 2 : 1) : end;
    }
    reader->info = info;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static enum dg_err refuse(const struct reader *reader, size_t at, const char *what,
                          struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_INVALID, "line %zu: %s", dg_filter_line(reader->filter, at),
                        what);
}

/* The position after white space and comments; SIZE_MAX when a comment is not closed. */
static size_t skip_comments(struct dg_span text, size_t at)
{
    while (at < text.len) {
        if (is_blank(text.ptr[at]) || text.ptr[at] == '\n' || text.ptr[at] == '\r') {
            at++;
        } else if (dg_span_starts(dg_span_sub(text, at, 2), DG_SPAN("//"))) {
            const char *newline = memchr(text.ptr + at, '\n', text.len - at);
            at = newline ? (size_t)(newline - text.ptr) : text.len;
        } else if (dg_span_starts(dg_span_sub(text, at, 2), DG_SPAN("/*"))) {
            for (at += 2;
                 at < text.len && !dg_span_starts(dg_span_sub(text, at, 2), DG_SPAN("*/"));)
                at++;
            if (at >= text.len)
                return SIZE_MAX;
            at += 2;
        } else {
            return at;
        }
    }
    return at;
}

/* The position after a string or a word without quotation marks; `at` when there is neither;
 * SIZE_MAX when it is not closed. */
static size_t skip_string(struct dg_span text, size_t at)
{
    if (at < text.len && text.ptr[at] == '"') {
        for (at++; at < text.len && text.ptr[at] != '"'; at++)
            at += text.ptr[at] == '\\';
        return at < text.len ? at + 1 : SIZE_MAX;
    }
    while (at < text.len && !strchr(" \t\r\n=;\"/{}()", text.ptr[at]))
        at++;
    return at;
}

/* Calls on_value for each value; returns DG_ERR_INVALID for a file of another kind. */
static enum dg_err read_strings(struct reader *reader, struct dg_error *error)
{
    const struct dg_span text = reader->bytes;
    enum dg_err err = DG_OK;
    size_t at = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
    while (!err && !reader->err && (at = skip_comments(text, at)) < text.len) {
        const size_t begin = at;
        size_t key = skip_string(text, at), from = SIZE_MAX, end = SIZE_MAX;
        if (key == begin || key == SIZE_MAX) {
            err = refuse(reader, begin, "expected an entry such as \"key\" = \"text\";", error);
            break;
        }
        at = skip_comments(text, key);
        if (at < text.len && text.ptr[at] == ';') { /* a text that serves as its own key */
            at++;
            continue;
        }
        if (at < text.len && text.ptr[at] == '=') {
            from = skip_comments(text, at + 1);
            end = from < text.len ? skip_string(text, from) : SIZE_MAX;
        }
        at = end == SIZE_MAX ? SIZE_MAX : skip_comments(text, end);
        if (end == SIZE_MAX || end == from || at >= text.len || text.ptr[at] != ';') {
            err = refuse(reader, begin, "expected an entry such as \"key\" = \"text\";", error);
            break;
        }
        at++;
        if (text.ptr[from] == '"')
            reader->on_value(reader, from + 1, end - 1);
    }
    if (!err && at == SIZE_MAX)
        err = refuse(reader, text.len, "a comment is not closed", error);
    return err ? err : reader->err;
}

/* The end of a line of a properties file, including the lines that continue it. */
static size_t logical_end(struct dg_span text, size_t at)
{
    while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r') {
        const bool is_escape = text.ptr[at] == '\\' && at + 1 < text.len;
        at += is_escape ? 2 : 1;
        if (is_escape && text.ptr[at - 1] == '\r' && at < text.len && text.ptr[at] == '\n')
            at++;
    }
    return at;
}

static enum dg_err read_properties(struct reader *reader)
{
    const struct dg_span text = reader->bytes;
    for (size_t at = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0;
         at < text.len && !reader->err;) {
        while (at < text.len &&
               (is_blank(text.ptr[at]) || text.ptr[at] == '\n' || text.ptr[at] == '\r'))
            at++;
        if (at < text.len && (text.ptr[at] == '#' || text.ptr[at] == '!')) {
            while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r')
                at++;
            continue;
        }
        const size_t end = logical_end(text, at);
        while (at < end && !is_blank(text.ptr[at]) && text.ptr[at] != '=' && text.ptr[at] != ':')
            at += text.ptr[at] == '\\' && at + 1 < end ? 2 : 1;
        while (at < end && is_blank(text.ptr[at]))
            at++;
        if (at < end && (text.ptr[at] == '=' || text.ptr[at] == ':'))
            for (at++; at < end && is_blank(text.ptr[at]);)
                at++;
        if (end > at)
            reader->on_value(reader, at, end);
        at = end;
    }
    return reader->err;
}

static enum dg_err read_values(struct reader *reader, struct dg_error *error)
{
    return reader->info & IS_PROPERTIES ? read_properties(reader) : read_strings(reader, error);
}

/* ---- Files whose messages are written anew --------------------------------------------------- */

/* Copies the file up to a value, and the value as translations need it if it is a message. */
static void change_value(struct reader *reader, size_t at, size_t end)
{
    const struct dg_span value = dg_span_sub(reader->bytes, at, end - at);
    if (reader->err || !is_message(value))
        return;
    reader->err = dg_buf_append_span(&reader->text,
                                     dg_span_sub(reader->bytes, reader->done, at - reader->done));
    if (!reader->err)
        reader->err = reader->language.len ? dg_icu_adapt(value, reader->language, &reader->text)
                                           : dg_icu_widen(value, &reader->text);
    reader->done = end;
}

/* Puts the file with each message changed in `changed`, which stays empty if there is none. */
static enum dg_err change(struct dg_filter *filter, struct dg_span bytes, uint64_t info,
                          struct dg_span language, struct dg_buf *changed, struct dg_error *error)
{
    struct reader reader = {.filter = filter,
                            .bytes = bytes,
                            .info = info,
                            .language = language,
                            .on_value = change_value};
    dg_buf_init(&reader.text, CHANGED_MAX);
    enum dg_err err = read_values(&reader, error);
    if (!err && reader.done > 0)
        err = dg_buf_append_span(&reader.text,
                                 dg_span_sub(bytes, reader.done, bytes.len - reader.done));
    if (err)
        dg_buf_deinit(&reader.text);
    else
        *changed = reader.text;
    return err;
}

static enum dg_err open_values(struct dg_filter *filter, uint64_t info, bool is_latin1,
                               struct dg_error *error)
{
    struct reader reader = {
        .filter = filter, .info = info, .is_latin1 = is_latin1, .on_value = add_value};
    struct dg_buf changed;
    enum dg_err err = change(filter, filter->bytes, info, DG_SPAN(""), &changed, error);
    if (err)
        return err;
    if (changed.len) {
        dg_buf_deinit(&filter->decoded);
        filter->decoded = changed;
        filter->bytes = dg_buf_span(&filter->decoded);
    } else {
        dg_buf_deinit(&changed);
    }
    reader.bytes = filter->bytes;
    dg_buf_init(&reader.text, TEXT_MAX);
    err = read_values(&reader, error);
    dg_buf_deinit(&reader.text);
    return err;
}

enum dg_err dg_filter_open_strings(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                   struct dg_error *error)
{
    (void)opts;
    return open_values(filter, 0, false, error);
}

enum dg_err dg_filter_open_properties(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                      struct dg_error *error)
{
    const struct dg_span text = filter->bytes;
    const bool is_latin1 = !dg_utf8_valid(text, NULL);
    bool is_ascii = true;
    (void)opts;
    for (size_t i = 0; i < text.len && is_ascii; i++)
        is_ascii = (unsigned char)text.ptr[i] < 0x80;
    return open_values(filter, IS_PROPERTIES | (is_latin1 || is_ascii ? WRITES_ASCII : 0),
                       is_latin1, error);
}

enum dg_err dg_filter_add_plurals(struct dg_filter *filter, struct dg_buf *out,
                                  struct dg_error *error)
{
    struct dg_buf changed;
    const uint64_t info = filter->row->open == dg_filter_open_properties ? IS_PROPERTIES : 0;
    const enum dg_err err =
        change(filter, dg_buf_span(out), info, filter->language, &changed, error);
    if (err)
        return err;
    if (changed.len) {
        dg_buf_deinit(out);
        *out = changed;
    } else {
        dg_buf_deinit(&changed);
    }
    return DG_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err put_unit(uint32_t unit, struct dg_buf *out)
{
    return dg_buf_printf(out, "\\u%04x", (unsigned)unit);
}

static enum dg_err put_char(uint32_t cp, struct dg_span bytes, uint64_t info, struct dg_buf *out)
{
    const bool is_properties = info & IS_PROPERTIES;
    enum dg_err err;
    if (cp == '\n' || cp == '\t' || cp == '\r')
        return dg_buf_append_cstr(out, cp == '\n' ? "\\n" : cp == '\t' ? "\\t" : "");
    if (cp == '\\' || (cp == '"' && !is_properties))
        return dg_buf_printf(out, "\\%c", (char)cp);
    if (cp == '\'' && info & (QUOTES_DOUBLED | IS_ICU))
        return dg_buf_append_cstr(out, "''");
    if (cp >= 0x10000 && info & WRITES_ASCII) {
        err = put_unit(0xD800 + ((cp - 0x10000) >> 10), out);
        return err ? err : put_unit(0xDC00 + ((cp - 0x10000) & 0x3FF), out);
    }
    if (cp < 0x20 || (cp >= 0x80 && info & WRITES_ASCII))
        return is_properties ? put_unit(cp, out) : dg_buf_printf(out, "\\U%04x", (unsigned)cp);
    return dg_buf_append_span(out, bytes);
}

/* Marks of a message are in quotes, and all that follow each other in the same: of '{''{' the two
 * apostrophes in the middle would be one that is shown. */
static enum dg_err put_text(struct dg_span text, uint64_t info, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    bool is_quoted = false;
    for (size_t at = 0, len; at < text.len && !err; at += len) {
        uint32_t cp = 0;
        len = dg_utf8_decode(text, at, &cp);
        if (len == 0)
            return DG_ERR_UTF8;
        const bool is_mark =
            info & IS_ICU && (cp == '{' || cp == '}' || (cp == '#' && info & IN_PLURAL));
        if (is_quoted ? !is_mark && cp != '\'' : is_mark) {
            err = dg_buf_append_byte(out, '\'');
            is_quoted = is_mark;
        }
        if (!err)
            err = put_char(cp, dg_span_sub(text, at, len), info, out);
    }
    return is_quoted && !err ? dg_buf_append_byte(out, '\'') : err;
}

#define ESCAPE(name, info)                                                                         \
    static enum dg_err name(struct dg_span text, struct dg_buf *out)                               \
    {                                                                                              \
        return put_text(text, IS_ICU | (info), out);                                               \
    }
ESCAPE(escape_icu, 0)
ESCAPE(escape_icu_plural, IN_PLURAL)
ESCAPE(escape_icu_properties, IS_PROPERTIES)
ESCAPE(escape_icu_properties_plural, IS_PROPERTIES | IN_PLURAL)
ESCAPE(escape_icu_ascii, IS_PROPERTIES | WRITES_ASCII)
ESCAPE(escape_icu_ascii_plural, IS_PROPERTIES | WRITES_ASCII | IN_PLURAL)
#undef ESCAPE

enum dg_err dg_filter_put_strings(void *ctx, const struct dg_block_source *source,
                                  const struct dg_filter_block *block, struct dg_span html,
                                  struct dg_buf *out, struct dg_error *error)
{
    static enum dg_err (*const escapes[][2])(struct dg_span text, struct dg_buf * out) = {
        {escape_icu, escape_icu_plural},
        {escape_icu_properties, escape_icu_properties_plural},
        {escape_icu_ascii, escape_icu_ascii_plural},
    };
    const int kind = block->info & WRITES_ASCII ? 2 : block->info & IS_PROPERTIES ? 1 : 0;
    struct dg_buf text;
    (void)ctx;
    if (block->info & IS_ICU)
        return dg_block_render(source, block, html, escapes[kind][block->info & IN_PLURAL ? 1 : 0],
                               out, error);
    dg_buf_init(&text, TEXT_MAX);
    enum dg_err err = dg_block_text(html, &text, error);
    /* A reader would skip a space at the beginning. */
    if (!err && block->info & IS_PROPERTIES && text.len && text.ptr[0] == ' ')
        err = dg_buf_append_byte(out, '\\');
    if (!err)
        err = put_text(dg_buf_span(&text), block->info, out);
    dg_buf_deinit(&text);
    return err;
}
