/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A message (RFC 5322) with MIME: its subject and its text parts. A part is decoded, and its text
 * becomes blocks. If a block changed, the part is encoded again as it was, in its old character
 * set, or in UTF-8 if that lacks a letter of the translation; its headers then say so. Attachments,
 * messages within the message and everything else are copied.
 *
 * In plain text a paragraph that was wrapped is one block, and is wrapped again after the marks of
 * a quotation ("> "). The text after "-- " is a signature, and stays. */
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/charset.h"
#include "filter/filter_int.h"
#include "filter/mail_encoding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    DEPTH_MAX = 16,   /* the deepest nesting of parts */
    PARTS_MAX = 1000, /* the most parts with text */
    BOUNDARY_MAX = 200,
    LINE_WIDTH = 72, /* bytes of lines that we wrap */
    WIDTH_MIN = 45,  /* a text was wrapped if its longest line has at least this many bytes */
    WIDTH_MAX = 100,
    TEXT_MAX = 1 << 30,
};

enum encoding { IDENTITY, QUOTED, BASE64 };

struct place {
    size_t at, len; /* SIZE_MAX: there is none */
};

struct dg_mail_part {
    struct place body, charset, type_end, encoding; /* places in the message */
    size_t headers_end;                             /* where a further header can be inserted */
    enum encoding how;
    bool is_html, is_flowed;
    bool is_subject; /* the body is the value of a header */
    char name[DG_CHARSET_NAME];
    struct dg_buf text; /* the decoded text, UTF-8 */
    struct dg_blocks blocks;
    const char *line_end;
};

struct dg_mail_message {
    struct dg_mail_part *parts; /* owned; [n] */
    size_t n, cap;
};

struct reader {
    struct dg_filter *filter;
    struct dg_mail_message *mail;
    struct dg_span bytes;
    bool is_signed, is_encrypted;
};

/* ---- Headers --------------------------------------------------------------------------------- */

struct headers {
    struct place type, encoding, disposition, subject; /* the values of these headers */
    size_t end, body; /* the end of the last header; the start of the body, after the blank line */
};

static size_t line_end(struct dg_span text, size_t at, size_t end)
{
    const char *newline = at < end ? memchr(text.ptr + at, '\n', end - at) : NULL;
    return newline ? (size_t)(newline - text.ptr) + 1 : end;
}

static bool is_named(struct dg_span line, const char *name, size_t *value)
{
    const size_t len = strlen(name);
    if (line.len <= len || strncasecmp(line.ptr, name, len) != 0)
        return false;
    size_t at = len;
    while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
        at++;
    if (at == line.len || line.ptr[at] != ':')
        return false;
    *value = at + 1;
    return true;
}

static struct place trimmed(struct dg_span bytes, size_t at, size_t end)
{
    while (at < end && dg_chars_is_space(bytes.ptr[at]))
        at++;
    while (end > at && dg_chars_is_space(bytes.ptr[end - 1]))
        end--;
    return (struct place){.at = at, .len = end - at};
}

/* Reads headers from `at` on, each with the lines that continue it. */
static struct headers read_headers(struct dg_span bytes, size_t at, size_t end)
{
    static const struct place none = {.at = SIZE_MAX};
    struct headers headers = {.type = none, .encoding = none, .disposition = none, .subject = none};
    static const char *const names[] = {"content-type", "content-transfer-encoding",
                                        "content-disposition", "subject"};
    struct place *const values[] = {&headers.type, &headers.encoding, &headers.disposition,
                                    &headers.subject};
    headers.end = at;
    while (at < end) {
        size_t next = line_end(bytes, at, end), value;
        if (bytes.ptr[at] == '\n' || (bytes.ptr[at] == '\r' && next == at + 2)) {
            headers.body = next;
            return headers;
        }
        while (next < end && (bytes.ptr[next] == ' ' || bytes.ptr[next] == '\t'))
            next = line_end(bytes, next, end);
        for (size_t i = 0; i < 4; i++)
            if (values[i]->at == SIZE_MAX &&
                is_named(dg_span_sub(bytes, at, next - at), names[i], &value))
                *values[i] = trimmed(bytes, at + value, next);
        headers.end = at = next;
    }
    headers.body = end;
    return headers;
}

static struct dg_span value_of(struct dg_span bytes, struct place place)
{
    return place.at == SIZE_MAX ? DG_SPAN("") : dg_span_sub(bytes, place.at, place.len);
}

/* Whether a value begins with a word that ends at a ';', a space or the value's end. */
static bool begins(struct dg_span value, const char *word)
{
    const size_t len = strlen(word);
    return value.len >= len && strncasecmp(value.ptr, word, len) == 0 &&
           (value.len == len || strchr("; \t\r\n(", value.ptr[len]));
}

/* A parameter of a value: "; charset=utf-8", "; boundary=\"x\"", without its quotes. */
static struct place parameter(struct dg_span bytes, struct place value, const char *name)
{
    const struct dg_span text = value_of(bytes, value);
    const size_t len = strlen(name);
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] == '"') { /* blanks in quotes do not count */
            for (at++; at < text.len && text.ptr[at] != '"'; at++)
                at += text.ptr[at] == '\\';
            continue;
        }
        if (text.ptr[at] != ';')
            continue;
        size_t from = at + 1;
        while (from < text.len && dg_chars_is_space(text.ptr[from]))
            from++;
        if (text.len - from <= len || strncasecmp(text.ptr + from, name, len) != 0 ||
            text.ptr[from + len] != '=')
            continue;
        from += len + 1;
        const bool is_quoted = from < text.len && text.ptr[from] == '"';
        from += is_quoted;
        size_t to = from;
        while (to < text.len &&
               (is_quoted ? text.ptr[to] != '"'
                          : text.ptr[to] != ';' && !dg_chars_is_space(text.ptr[to])))
            to++;
        return (struct place){.at = value.at + from, .len = to - from};
    }
    return (struct place){.at = SIZE_MAX};
}

/* ---- Plain text ------------------------------------------------------------------------------ */

struct line {
    size_t at, words, end, next; /* where the line begins, where its text after the quotation mark
                                    begins and ends, and where the next line begins */
};

static struct line read_line(struct dg_span text, size_t at)
{
    struct line line = {.at = at, .words = at, .next = line_end(text, at, text.len)};
    line.end = line.next;
    while (line.end > at && (text.ptr[line.end - 1] == '\n' || text.ptr[line.end - 1] == '\r'))
        line.end--;
    while (line.words < line.end && (text.ptr[line.words] == '>' || text.ptr[line.words] == ' ' ||
                                     text.ptr[line.words] == '\t'))
        line.words++;
    return line;
}

static bool begins_item(struct dg_span text, size_t at, size_t end)
{
    size_t i = at;
    while (i < end && text.ptr[i] >= '0' && text.ptr[i] <= '9')
        i++;
    if (i > at)
        return i < end && (text.ptr[i] == '.' || text.ptr[i] == ')');
    return at + 1 < end && strchr("-*+o", text.ptr[at]) && text.ptr[at + 1] == ' ';
}

/* The longest line of a text that seems to have been wrapped; 0 for others. */
static size_t width_of(struct dg_span text)
{
    size_t width = 0;
    for (size_t at = 0; at < text.len;) {
        const struct line line = read_line(text, at);
        const size_t len = line.end - line.words;
        if (len > WIDTH_MAX && line.words < line.end &&
            memchr(text.ptr + line.words, ' ', line.end - line.words))
            return 0;
        width = len > width && len <= WIDTH_MAX ? len : width;
        at = line.next;
    }
    return width < WIDTH_MIN ? 0 : width;
}

/* Whether `next` continues the paragraph of `line`. */
static bool goes_on(struct dg_span text, const struct line *line, const struct line *next,
                    size_t width, bool is_flowed)
{
    size_t word = next->words;
    if (next->words == next->end ||
        !dg_span_eq(dg_span_sub(text, line->at, line->words - line->at),
                    dg_span_sub(text, next->at, next->words - next->at)) ||
        begins_item(text, next->words, next->end))
        return false;
    if (is_flowed)
        return text.ptr[line->end - 1] == ' ';
    while (word < next->end && text.ptr[word] != ' ')
        word++;
    return width && (line->end - line->words) + 1 + (word - next->words) > width;
}

static void add_plain(struct dg_mail_part *part)
{
    const struct dg_span text = dg_buf_span(&part->text);
    const size_t width = width_of(text);
    for (size_t at = 0; at < text.len && !part->blocks.err;) {
        struct line line = read_line(text, at);
        const size_t begin = line.words;
        bool has_words = false;
        if (dg_span_eq(dg_span_sub(text, line.at, line.end - line.at), DG_SPAN("-- ")) ||
            dg_span_eq(dg_span_sub(text, line.at, line.end - line.at), DG_SPAN("--")))
            return; /* the signature begins here */
        at = line.next;
        if (line.words == line.end)
            continue;
        dg_block_begin(&part->blocks);
        for (;;) {
            const struct dg_span words = dg_span_sub(text, line.words, line.end - line.words);
            bool is_text = false;
            const enum dg_err err = dg_block_has_words(words, &is_text);
            part->blocks.err = part->blocks.err ? part->blocks.err : err;
            has_words |= is_text;
            dg_block_say(&part->blocks, words);
            const struct line next = read_line(text, at);
            if (at >= text.len || !goes_on(text, &line, &next, width, part->is_flowed))
                break;
            dg_block_say(&part->blocks, DG_SPAN(" "));
            line = next;
            at = next.next;
        }
        size_t end = line.end;
        while (end > begin && dg_chars_is_space(text.ptr[end - 1]))
            end--;
        part->blocks.has_letters &= has_words;
        (void)dg_block_end(&part->blocks, begin, end - begin, 0);
    }
}

static size_t columns_of(struct dg_span text)
{
    return dg_utf8_count(text);
}

/* Writes a paragraph in lines, each after the mark of the first. */
static enum dg_err put_plain(const struct dg_mail_part *part, const struct dg_filter_block *block,
                             struct dg_span words, struct dg_buf *out)
{
    const struct dg_span text = dg_buf_span(&part->text);
    const bool was_wrapped = memchr(text.ptr + block->at, '\n', block->len) != NULL;
    size_t from = block->at, column;
    enum dg_err err = DG_OK;
    while (from > 0 && text.ptr[from - 1] != '\n')
        from--;
    const struct dg_span mark = dg_span_sub(text, from, block->at - from);
    column = columns_of(mark);
    for (size_t at = 0; at < words.len && !err;) {
        size_t end = at;
        while (end < words.len && words.ptr[end] == ' ')
            end++;
        const size_t begin = end;
        while (end < words.len && words.ptr[end] != ' ')
            end++;
        const struct dg_span word = dg_span_sub(words, begin, end - begin);
        const size_t width = columns_of(word) + (at > 0);
        if (at > 0 && was_wrapped && column + width > LINE_WIDTH) {
            err = dg_buf_printf(out, "%s%s", part->is_flowed ? " " : "", part->line_end);
            if (!err)
                err = dg_buf_append_span(out, mark);
            column = columns_of(mark) + width - 1;
        } else {
            if (at > 0)
                err = dg_buf_append_byte(out, ' ');
            column += width;
        }
        if (!err)
            err = dg_buf_append_span(out, word);
        at = end;
    }
    return err;
}

/* ---- HTML ------------------------------------------------------------------------------------ */

/* The texts of a page, between its borders. */
static enum dg_err add_html(struct dg_mail_part *part, struct dg_error *error)
{
    struct dg_doc *doc = NULL;
    size_t n, begin = 0, last = 0;
    bool in_block = false;
    enum dg_err err = dg_doc_new(dg_buf_span(&part->text), DG_DOC_HTML, NULL, &doc, error);
    if (err)
        return err;
    const struct dg_doc_item *items = dg_doc_items(doc, &n);
    for (size_t i = 0; i <= n && !part->blocks.err; i++) {
        const struct dg_doc_item *item = i < n ? &items[i] : NULL;
        const struct dg_span plain =
            item ? dg_span_sub(dg_doc_plain(doc), item->plain_at, item->plain_len) : DG_SPAN("");
        if (!item || item->kind == DG_DOC_BORDER) {
            if (in_block)
                (void)dg_block_end(&part->blocks, begin, last - begin, 0);
            in_block = false;
            continue;
        }
        const bool is_text = item->kind == DG_DOC_COPY || item->kind == DG_DOC_CHAR;
        if (!in_block && is_text && dg_chars_is_all_space(plain))
            continue;
        if (!in_block) {
            dg_block_begin(&part->blocks);
            begin = item->at;
            in_block = true;
        }
        if (is_text)
            dg_block_say(&part->blocks, plain);
        else if (item->kind == DG_DOC_OPEN)
            dg_block_open(&part->blocks, item->at, item->len);
        else if (item->kind == DG_DOC_CLOSE)
            dg_block_close(&part->blocks, item->at, item->len);
        else if (item->kind == DG_DOC_FROZEN && plain.len)
            dg_block_frozen(&part->blocks, item->at, item->len, plain);
        else
            dg_block_point(&part->blocks, item->at, item->len);
        if (!is_text || !dg_chars_is_all_space(plain))
            last = item->at + item->len;
    }
    dg_doc_free(doc);
    return part->blocks.err;
}

static enum dg_err escape_html(struct dg_span text, struct dg_buf *out)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        const char c = text.ptr[i];
        err = c == '&'   ? dg_buf_append_cstr(out, "&amp;")
              : c == '<' ? dg_buf_append_cstr(out, "&lt;")
              : c == '>' ? dg_buf_append_cstr(out, "&gt;")
                         : dg_buf_append_byte(out, c);
    }
    return err;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static struct dg_mail_part *new_part(struct reader *reader)
{
    struct dg_mail_message *mail = reader->mail;
    if (DG_GROW(mail->parts, mail->n, mail->cap, 4))
        return NULL;
    struct dg_mail_part *part = &mail->parts[mail->n++];
    memset(part, 0, sizeof *part);
    dg_buf_init(&part->text, TEXT_MAX);
    dg_blocks_init(&part->blocks, reader->filter->blocks.html.max);
    const char *newline = memchr(reader->bytes.ptr, '\n', reader->bytes.len);
    part->line_end = newline && newline > reader->bytes.ptr && newline[-1] == '\r' ? "\r\n" : "\n";
    return part;
}

static enum dg_err read_subject(struct reader *reader, const struct headers *headers)
{
    const struct dg_span value = value_of(reader->bytes, headers->subject);
    bool has_words = false;
    if (value.len == 0)
        return DG_OK;
    struct dg_mail_part *part = new_part(reader);
    if (!part)
        return DG_ERR_NOMEM;
    part->body = headers->subject;
    part->is_subject = true;
    enum dg_err err = dg_mail_decode_header(value, &part->text);
    const struct dg_span text = dg_buf_span(&part->text);
    if (!err && dg_utf8_valid(text, NULL))
        err = dg_block_has_words(text, &has_words);
    if (!err && has_words)
        dg_block_add(&part->blocks, text, 0, text.len, 0);
    return err ? err : part->blocks.err;
}

/* Decodes the body of a part into UTF-8; *is_text is false if that is not possible. */
static enum dg_err decode_body(struct reader *reader, struct dg_mail_part *part, bool *is_text)
{
    const struct dg_span body = value_of(reader->bytes, part->body);
    struct dg_buf bytes;
    bool is_exact;
    dg_buf_init(&bytes, TEXT_MAX);
    enum dg_err err = part->how == QUOTED   ? dg_mail_decode_quoted(body, false, &bytes)
                      : part->how == BASE64 ? dg_mail_decode_base64(body, &bytes)
                                            : dg_buf_append_span(&bytes, body);
    const struct dg_span text = dg_buf_span(&bytes);
    const bool is_utf8 = dg_utf8_valid(text, NULL);
    if (!err && is_utf8 && (!*part->name || strcasecmp(part->name, "us-ascii") == 0))
        snprintf(part->name, sizeof part->name, "utf-8");
    if (!err && !*part->name && !dg_charset_detect(text, part->name))
        err = DG_ERR_UNSUPPORTED;
    if (!err)
        err = strcasecmp(part->name, "utf-8") == 0
                  ? is_utf8 ? dg_buf_append_span(&part->text, text) : DG_ERR_UNSUPPORTED
                  : dg_charset_decode(part->name, text, &part->text, &is_exact);
    dg_buf_deinit(&bytes);
    *is_text = !err;
    return err == DG_ERR_UNSUPPORTED ? DG_OK : err;
}

static enum dg_err read_text(struct reader *reader, const struct headers *headers, size_t end,
                             bool is_html, struct dg_error *error)
{
    const struct dg_span bytes = reader->bytes;
    const struct dg_span how = value_of(bytes, headers->encoding);
    bool is_text = false;
    if (reader->mail->n >= PARTS_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "the message has more than %d parts with text",
                            (int)PARTS_MAX);
    struct dg_mail_part *part = new_part(reader);
    if (!part)
        return DG_ERR_NOMEM;
    part->is_html = is_html;
    part->body = (struct place){.at = headers->body, .len = end - headers->body};
    part->encoding = headers->encoding;
    part->headers_end = headers->end;
    part->type_end = headers->type;
    part->charset = parameter(bytes, headers->type, "charset");
    part->how = begins(how, "quoted-printable") ? QUOTED
                : begins(how, "base64")         ? BASE64
                                                : IDENTITY;
    part->is_flowed = begins(value_of(bytes, parameter(bytes, headers->type, "format")), "flowed");
    const struct dg_span name = value_of(bytes, part->charset);
    if (name.len < sizeof part->name)
        snprintf(part->name, sizeof part->name, "%.*s", DG_SPAN_FMT(name));
    enum dg_err err = decode_body(reader, part, &is_text);
    if (err || !is_text)
        return err;
    if (is_html)
        return add_html(part, error);
    add_plain(part);
    return part->blocks.err;
}

static enum dg_err read_entity(struct reader *reader, size_t at, size_t end, size_t depth,
                               struct dg_error *error);

/* The parts between lines of "--boundary". */
static enum dg_err read_parts(struct reader *reader, struct dg_span boundary, size_t at, size_t end,
                              size_t depth, struct dg_error *error)
{
    const struct dg_span bytes = reader->bytes;
    size_t begin = SIZE_MAX;
    enum dg_err err = DG_OK;
    if (boundary.len == 0 || boundary.len > BOUNDARY_MAX)
        return DG_OK;
    while (at < end && !err) {
        const size_t next = line_end(bytes, at, end);
        struct dg_span line = dg_span_sub(bytes, at, next - at);
        bool is_border = line.len >= boundary.len + 2 && line.ptr[0] == '-' && line.ptr[1] == '-' &&
                         memcmp(line.ptr + 2, boundary.ptr, boundary.len) == 0;
        line = dg_span_sub(line, boundary.len + 2, line.len);
        const bool is_last = is_border && dg_span_starts(line, DG_SPAN("--"));
        is_border &= is_last || dg_chars_is_all_space(line);
        if (is_border && begin != SIZE_MAX) {
            size_t stop = at; /* the line end before it belongs to the boundary */
            stop -= stop > begin && bytes.ptr[stop - 1] == '\n';
            stop -= stop > begin && bytes.ptr[stop - 1] == '\r';
            err = read_entity(reader, begin, stop, depth + 1, error);
        }
        if (is_last)
            return err;
        begin = is_border ? next : begin;
        at = next;
    }
    return !err && begin != SIZE_MAX ? read_entity(reader, begin, end, depth + 1, error) : err;
}

static enum dg_err read_entity(struct reader *reader, size_t at, size_t end, size_t depth,
                               struct dg_error *error)
{
    const struct headers headers = read_headers(reader->bytes, at, end);
    const struct dg_span type = value_of(reader->bytes, headers.type);
    if (depth > DEPTH_MAX)
        return dg_error_set(error, DG_ERR_LIMIT, "the message has parts nested deeper than %d",
                            (int)DEPTH_MAX);
    enum dg_err err = depth == 0 ? read_subject(reader, &headers) : DG_OK;
    reader->is_signed |= begins(type, "multipart/signed");
    reader->is_encrypted |= begins(type, "multipart/encrypted") ||
                            begins(type, "application/pkcs7-mime") ||
                            begins(type, "application/x-pkcs7-mime");
    if (err || begins(value_of(reader->bytes, headers.disposition), "attachment"))
        return err;
    if (type.len >= 10 && strncasecmp(type.ptr, "multipart/", 10) == 0)
        return read_parts(
            reader, value_of(reader->bytes, parameter(reader->bytes, headers.type, "boundary")),
            headers.body, end, depth, error);
    if (type.len == 0 || begins(type, "text/plain") || begins(type, "text"))
        return read_text(reader, &headers, end, false, error);
    if (begins(type, "text/html"))
        return read_text(reader, &headers, end, true, error);
    return DG_OK;
}

void dg_mail_free(struct dg_mail_message *mail)
{
    if (!mail)
        return;
    for (size_t i = 0; i < mail->n; i++) {
        dg_buf_deinit(&mail->parts[i].text);
        dg_blocks_deinit(&mail->parts[i].blocks);
    }
    dg_free(mail->parts);
    dg_free(mail);
}

enum dg_err dg_filter_open_mail(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                struct dg_error *error)
{
    struct reader reader = {.filter = filter, .bytes = filter->bytes};
    size_t n = 0;
    (void)opts;
    filter->mail = reader.mail = dg_try_calloc(1, sizeof *reader.mail);
    if (!reader.mail)
        return DG_ERR_NOMEM;
    /* "From somebody Mon Jan  1": the line that a mailbox puts before a message. */
    const size_t at = dg_span_starts(filter->bytes, DG_SPAN("From "))
                          ? line_end(filter->bytes, 0, filter->bytes.len)
                          : 0;
    enum dg_err err = read_entity(&reader, at, filter->bytes.len, 0, error);
    for (size_t i = 0; i < reader.mail->n; i++)
        n += reader.mail->parts[i].blocks.n;
    if (!err && reader.is_encrypted)
        err = dg_buf_append_cstr(&filter->note,
                                 n > 1 ? "a part of the message is encrypted, and stays as it is"
                                       : "the message is encrypted: only its subject can be read");
    else if (!err && reader.is_signed)
        err = dg_buf_append_cstr(
            &filter->note,
            "the message is signed: the signature fits the original, not the translation");
    return err;
}

enum dg_err dg_filter_text_mail(const struct dg_filter *filter, struct dg_buf *text)
{
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < filter->mail->n && !err; i++)
        err = dg_buf_append_span(text, dg_buf_span(&filter->mail->parts[i].blocks.html));
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct edit {
    size_t at, len; /* the place in the message */
    struct dg_span bytes;
    size_t bytes_at; /* where the new bytes lie in the writer's buffer */
};

struct writer {
    struct dg_filter *filter;
    struct dg_buf made; /* the new bytes of all edits */
    struct edit *edits; /* owned; [n] */
    size_t n;
};

/* Bytes from `from` on, which were appended to `made`, take the place of these. */
static void add_edit(struct writer *w, size_t at, size_t len, size_t from)
{
    w->edits[w->n++] = (struct edit){
        .at = at, .len = len, .bytes = dg_span_make(NULL, w->made.len - from), .bytes_at = from};
}

static enum dg_err add_text(struct writer *w, size_t at, size_t len, const char *text)
{
    const size_t from = w->made.len;
    const enum dg_err err = dg_buf_append_cstr(&w->made, text);
    if (!err)
        add_edit(w, at, len, from);
    return err;
}

static enum dg_err put(void *ctx, const struct dg_block_source *source,
                       const struct dg_filter_block *block, struct dg_span html, struct dg_buf *out,
                       struct dg_error *error)
{
    const struct dg_mail_part *part = ctx;
    struct dg_buf words;
    if (part->is_html) {
        while (html.len && dg_chars_is_space(html.ptr[html.len - 1]))
            html.len--;
        return dg_block_render(source, block, html, escape_html, out, error);
    }
    dg_buf_init(&words, TEXT_MAX);
    enum dg_err err = dg_block_text(html, &words, error);
    if (!err)
        err = put_plain(part, block, dg_buf_span(&words), out);
    dg_buf_deinit(&words);
    return err;
}

static bool is_ascii(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80)
            return false;
    return true;
}

/* Changes the part's headers to state UTF-8 as its character set. */
static enum dg_err say_charset(struct writer *w, const struct dg_mail_part *part)
{
    char header[100];
    if (part->charset.at != SIZE_MAX)
        return add_text(w, part->charset.at, part->charset.len, "utf-8");
    if (part->type_end.at != SIZE_MAX)
        return add_text(w, part->type_end.at + part->type_end.len, 0, "; charset=utf-8");
    snprintf(header, sizeof header, "MIME-Version: 1.0%sContent-Type: text/plain; charset=utf-8%s",
             part->line_end, part->line_end);
    return add_text(w, part->headers_end, 0, header);
}

static enum dg_err say_encoding(struct writer *w, const struct dg_mail_part *part)
{
    char header[100];
    if (part->encoding.at != SIZE_MAX)
        return add_text(w, part->encoding.at, part->encoding.len, "quoted-printable");
    snprintf(header, sizeof header, "Content-Transfer-Encoding: quoted-printable%s",
             part->line_end);
    return add_text(w, part->headers_end, 0, header);
}

/* Writes a part whose text has changed. */
static enum dg_err write_part(struct writer *w, const struct dg_mail_part *part,
                              struct dg_span text)
{
    const struct dg_span how = value_of(w->filter->bytes, part->encoding);
    struct dg_buf bytes;
    bool fits = true;
    const bool is_utf8 = strcasecmp(part->name, "utf-8") == 0;
    dg_buf_init(&bytes, TEXT_MAX);
    enum dg_err err = is_utf8 ? DG_OK : dg_charset_encode(part->name, text, false, &bytes, &fits);
    if (!err && (is_utf8 || !fits))
        err = dg_buf_append_span(&bytes, text);
    const bool needs_charset =
        !fits ||
        (is_utf8 && !is_ascii(text) && !begins(value_of(w->filter->bytes, part->charset), "utf-8"));
    if (!err && needs_charset)
        err = say_charset(w, part);
    if (!err && !fits)
        err = dg_buf_printf(&w->filter->note,
                            "%sa part is UTF-8 now, since %s lacks letters of "
                            "the translation",
                            w->filter->note.len ? "; " : "", part->name);
    const bool is_8bit = begins(how, "8bit") || begins(how, "binary");
    const bool needs_quoting = part->how == IDENTITY && !is_8bit &&
                               !is_ascii(dg_buf_span(&bytes)) &&
                               is_ascii(value_of(w->filter->bytes, part->body));
    if (!err && needs_quoting)
        err = say_encoding(w, part);
    const size_t from = w->made.len;
    if (!err)
        err = part->how == BASE64 ? dg_mail_encode_base64(dg_buf_span(&bytes), DG_MAIL_BASE64_LINE,
                                                          part->line_end, &w->made)
              : part->how == QUOTED || needs_quoting
                  ? dg_mail_encode_quoted(dg_buf_span(&bytes), part->line_end, &w->made)
                  : dg_buf_append_span(&w->made, dg_buf_span(&bytes));
    /* The line end after the last line of base64 is not a digit, but was there. */
    const struct dg_span body = value_of(w->filter->bytes, part->body);
    if (!err && part->how == BASE64 && body.len && body.ptr[body.len - 1] == '\n')
        err = dg_buf_append_cstr(&w->made, part->line_end);
    if (!err)
        add_edit(w, part->body.at, part->body.len, from);
    dg_buf_deinit(&bytes);
    return err;
}

static enum dg_err write_changed(struct writer *w, const struct dg_mail_part *part,
                                 struct dg_span *target, struct dg_error *error)
{
    struct dg_buf text;
    struct dg_span own;
    enum dg_err err = dg_blocks_take(&part->blocks, target, &own, error);
    if (err || dg_span_eq(own, dg_buf_span(&part->blocks.html)))
        return err;
    dg_buf_init(&text, TEXT_MAX);
    err = dg_blocks_write(&part->blocks, dg_buf_span(&part->text), own, put, (void *)part, &text,
                          error);
    if (!err && part->is_subject) {
        const size_t from = w->made.len;
        err = dg_mail_encode_header(dg_buf_span(&text), strlen("Subject: "), part->line_end,
                                    &w->made);
        if (!err)
            add_edit(w, part->body.at, part->body.len, from);
    } else if (!err) {
        err = write_part(w, part, dg_buf_span(&text));
    }
    dg_buf_deinit(&text);
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct edit *one = a, *other = b;
    if (one->at != other->at)
        return one->at < other->at ? -1 : 1;
    return one->bytes_at < other->bytes_at ? -1 : one->bytes_at > other->bytes_at;
}

enum dg_err dg_filter_write_mail(struct dg_filter *filter, struct dg_span target,
                                 struct dg_buf *out, struct dg_error *error)
{
    struct writer w = {.filter = filter};
    size_t at = 0;
    enum dg_err err = DG_OK;
    dg_buf_init(&w.made, TEXT_MAX);
    w.edits = dg_try_calloc(3 * filter->mail->n + 1, sizeof *w.edits);
    if (!w.edits)
        err = DG_ERR_NOMEM;
    for (size_t i = 0; i < filter->mail->n && !err; i++)
        err = write_changed(&w, &filter->mail->parts[i], &target, error);
    if (!err && target.len > 0)
        err = dg_error_set(
            error, DG_ERR_FORMAT,
            "the translation does not belong to this message: there is text after its end");
    if (!err)
        qsort(w.edits, w.n, sizeof *w.edits, by_place);
    for (size_t i = 0; i < w.n && !err; i++) {
        const struct edit *edit = &w.edits[i];
        err = dg_buf_append_span(out, dg_span_sub(filter->bytes, at, edit->at - at));
        if (!err)
            err = dg_buf_append_span(
                out, dg_span_sub(dg_buf_span(&w.made), edit->bytes_at, edit->bytes.len));
        at = edit->at + edit->len;
    }
    if (!err)
        err = dg_buf_append_span(out, dg_span_sub(filter->bytes, at, filter->bytes.len - at));
    dg_buf_deinit(&w.made);
    dg_free(w.edits);
    return err;
}
