/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A delimiter is CR LF "--" boundary; the body's first delimiter has no line end before it. A
 * delimiter is followed by "--" (the end) or by a line end and the next part:
 *
 *     --boundary CRLF  headers CRLF  CRLF  bytes  CRLF --boundary CRLF  ...  CRLF --boundary-- CRLF
 *
 * Browsers write %22, %0D and %0A for quotes and line ends in names; other programs write a
 * backslash before a quote. Both are undone; a backslash before anything else stays, because
 * Windows paths hold them. */
#include "net/proto/multipart.h"
#include "base/memory/chars.h"
#include "base/memory/utf8.h"

#include <string.h>
#include <strings.h>

/* ---- Parameters of a header value ------------------------------------------------------------ */

static bool is_word(struct dg_span text, const char *word)
{
    return text.len == strlen(word) &&
           (text.len == 0 || strncasecmp(text.ptr, word, text.len) == 0);
}

/* The text before the first ';'. */
static struct dg_span head_of(struct dg_span value)
{
    const char *end = value.len ? memchr(value.ptr, ';', value.len) : NULL;
    return dg_chars_trim(end ? dg_span_make(value.ptr, (size_t)(end - value.ptr)) : value, " \t");
}

/* The length of a quoted string with its quotes; 0 when it does not end. */
static size_t quoted_len(struct dg_span text)
{
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] == '"')
            return i + 1;
        if (text.ptr[i] == '\\' && i + 1 < text.len && text.ptr[i + 1] == '"')
            i++;
    }
    return 0;
}

/* Finds a parameter; *value is raw, with its quotes. DG_ERR_NOT_FOUND, or DG_ERR_FORMAT for what is
 * not a list of parameters or names one twice. */
static enum dg_err parameter(struct dg_span header, const char *name, struct dg_span *value)
{
    const char *semicolon = header.len ? memchr(header.ptr, ';', header.len) : NULL;
    struct dg_span rest = {NULL, 0};
    bool found = false;
    if (semicolon)
        rest = dg_span_make(semicolon, header.len - (size_t)(semicolon - header.ptr));
    while (rest.len) {
        rest = dg_chars_trim(dg_span_sub(rest, 1, rest.len), " \t"); /* after the ';' */
        if (rest.len == 0)
            break;
        size_t key = 0;
        while (key < rest.len && rest.ptr[key] != '=' && rest.ptr[key] != ';')
            key++;
        if (key == 0 || key == rest.len || rest.ptr[key] != '=')
            return DG_ERR_FORMAT;
        struct dg_span word = dg_chars_trim(dg_span_sub(rest, 0, key), " \t");
        rest = dg_chars_trim(dg_span_sub(rest, key + 1, rest.len), " \t");
        size_t len = 0;
        if (rest.len && rest.ptr[0] == '"') {
            len = quoted_len(rest);
            if (len == 0)
                return DG_ERR_FORMAT;
        } else {
            while (len < rest.len && rest.ptr[len] != ';')
                len++;
        }
        struct dg_span raw = dg_chars_trim(dg_span_sub(rest, 0, len), " \t");
        rest = dg_chars_trim(dg_span_sub(rest, len, rest.len), " \t");
        if (rest.len && rest.ptr[0] != ';')
            return DG_ERR_FORMAT;
        if (!is_word(word, name))
            continue;
        if (found)
            return DG_ERR_FORMAT;
        found = true;
        *value = raw;
    }
    return found ? DG_OK : DG_ERR_NOT_FOUND;
}

/* The byte that "%XX" at `at` stands for; -1 when there is no such escape. */
static int escaped(struct dg_span text, size_t at)
{
    if (text.ptr[at] != '%' || text.len - at < 3)
        return -1;
    int high = dg_chars_hex(text.ptr[at + 1]), low = dg_chars_hex(text.ptr[at + 2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool has_control(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7F)
            return true;
    return false;
}

/* Decodes a name into the arena. `all`: decodes every %XX (RFC 5987), not only those that browsers
 * write. */
static enum dg_err plain(struct dg_arena *arena, struct dg_span raw, bool all, struct dg_span *out)
{
    bool is_quoted = raw.len >= 2 && raw.ptr[0] == '"';
    if (is_quoted)
        raw = dg_span_sub(raw, 1, raw.len - 2);
    char *text = dg_arena_alloc(arena, raw.len + 1);
    if (!text)
        return DG_ERR_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < raw.len; i++) {
        int byte = escaped(raw, i);
        if (byte >= 0 && (all || byte == '"' || byte == '\r' || byte == '\n')) {
            text[n++] = (char)byte;
            i += 2;
        } else {
            if (is_quoted && raw.ptr[i] == '\\' && i + 1 < raw.len && raw.ptr[i + 1] == '"')
                i++;
            text[n++] = raw.ptr[i];
        }
    }
    text[n] = '\0';
    *out = dg_span_make(text, n);
    return dg_utf8_valid(*out, NULL) && !has_control(*out) ? DG_OK : DG_ERR_UTF8;
}

/* ---- The boundary ---------------------------------------------------------------------------- */

bool dg_multipart_is(struct dg_span content_type)
{
    return is_word(head_of(content_type), "multipart/form-data");
}

static bool is_boundary(struct dg_span text)
{
    if (text.len == 0 || text.len > DG_MULTIPART_BOUNDARY_MAX || text.ptr[text.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || !strchr("'()+_,-./:=? ", c)))
            return false;
    }
    return true;
}

/* Reads the boundary. */
static enum dg_err begin(struct dg_multipart *multipart, struct dg_span content_type,
                         struct dg_error *error)
{
    struct dg_span boundary;
    if (parameter(content_type, "boundary", &boundary) != DG_OK)
        return dg_error_set(error, DG_ERR_FORMAT,
                            "the Content-Type names no boundary, or names it twice");
    if (boundary.len >= 2 && boundary.ptr[0] == '"')
        boundary = dg_span_sub(boundary, 1, boundary.len - 2);
    if (!is_boundary(boundary))
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "the boundary has %zu bytes, expected 1 to %d of those that RFC 2046 permits",
            boundary.len, DG_MULTIPART_BOUNDARY_MAX);
    *multipart = (struct dg_multipart){.n_parts = 0};
    memcpy(multipart->delimiter, "\r\n--", 4);
    memcpy(multipart->delimiter + 4, boundary.ptr, boundary.len);
    multipart->delimiter_len = boundary.len + 4;
    return DG_OK;
}

static enum dg_err check_start(const struct dg_multipart *multipart, struct dg_span start,
                               struct dg_error *error)
{
    const struct dg_span first =
        dg_span_make(multipart->delimiter + 2, multipart->delimiter_len - 2);
    if (dg_span_starts(start, first))
        return DG_OK;
    return dg_error_set(error, start.len < first.len ? DG_ERR_TRUNCATED : DG_ERR_FORMAT,
                        "the body does not begin with its boundary");
}

enum dg_err dg_multipart_begin(struct dg_multipart *multipart, struct dg_span content_type,
                               struct dg_span body, struct dg_error *error)
{
    enum dg_err err = begin(multipart, content_type, error);
    if (!err)
        err = check_start(multipart, body, error);
    if (!err)
        multipart->rest = dg_span_sub(body, multipart->delimiter_len - 2, body.len);
    return err;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static enum dg_err read_disposition(struct dg_span value, struct dg_arena *arena,
                                    struct dg_part *part)
{
    struct dg_span raw;
    if (!is_word(head_of(value), "form-data"))
        return DG_ERR_FORMAT;
    enum dg_err err = parameter(value, "name", &raw);
    if (!err)
        err = plain(arena, raw, false, &part->name);
    if (err)
        return err == DG_ERR_NOT_FOUND ? DG_ERR_FORMAT : err;
    err = parameter(value, "filename", &raw);
    if (!err)
        err = plain(arena, raw, false, &part->filename);
    if (err && err != DG_ERR_NOT_FOUND)
        return err;
    err = parameter(value, "filename*", &raw); /* this form goes before the other, because it states
                                                  its charset */
    if (!err && raw.len >= 7 && strncasecmp(raw.ptr, "utf-8'", 6) == 0) {
        const char *quote = memchr(raw.ptr + 6, '\'', raw.len - 6);
        if (!quote)
            return DG_ERR_FORMAT;
        size_t at = (size_t)(quote - raw.ptr) + 1;
        return plain(arena, dg_span_sub(raw, at, raw.len), true, &part->filename);
    }
    return err == DG_ERR_NOT_FOUND ? DG_OK : err;
}

/* One header line. */
static enum dg_err read_line(struct dg_span line, struct dg_arena *arena, struct dg_part *part,
                             struct dg_error *error)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (!colon || colon == line.ptr || dg_chars_is_blank(line.ptr[0]) || has_control(line))
        return dg_error_set(error, DG_ERR_FORMAT, "a part of the form has a bad header line");
    struct dg_span name = dg_span_make(line.ptr, (size_t)(colon - line.ptr));
    struct dg_span value = dg_chars_trim(dg_span_sub(line, name.len + 1, line.len), " \t");
    if (is_word(name, "content-disposition")) {
        enum dg_err err = part->name.ptr ? DG_ERR_FORMAT : read_disposition(value, arena, part);
        return err ? dg_error_set(error, err, "a part of the form has a bad Content-Disposition")
                   : DG_OK;
    }
    if (is_word(name, "content-type"))
        part->type = value;
    if (is_word(name, "content-transfer-encoding") && !is_word(value, "binary") &&
        !is_word(value, "8bit") && !is_word(value, "7bit"))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "a part of the form is transfer-encoded; send it as it is");
    return DG_OK;
}

/* The header lines, up to and with the empty one; *len bytes. */
static enum dg_err read_head(struct dg_span text, struct dg_arena *arena, struct dg_part *part,
                             size_t *len, struct dg_error *error)
{
    struct dg_span near = dg_span_sub(text, 0, DG_MULTIPART_HEAD_MAX);
    size_t at = 0;
    for (;;) {
        size_t end = dg_span_find(near, at, DG_SPAN("\r\n"));
        if (end == near.len)
            return dg_error_set(error, near.len < text.len ? DG_ERR_LIMIT : DG_ERR_TRUNCATED,
                                near.len < text.len
                                    ? "the header lines of a part pass %d bytes"
                                    : "the form ends inside the header lines of a part",
                                DG_MULTIPART_HEAD_MAX);
        if (end == at)
            break;
        enum dg_err err = read_line(dg_span_sub(near, at, end - at), arena, part, error);
        if (err)
            return err;
        at = end + 2;
    }
    if (!part->name.ptr)
        return dg_error_set(error, DG_ERR_FORMAT, "a part of the form has no Content-Disposition");
    *len = at + 2;
    return DG_OK;
}

/* Reads what follows a delimiter: the end of the body, or a line end. */
static enum dg_err after_delimiter(struct dg_multipart *multipart, struct dg_error *error)
{
    struct dg_span rest = multipart->rest;
    if (dg_span_starts(rest, DG_SPAN("--"))) {
        rest = dg_span_sub(rest, 2, rest.len);
        if (rest.len && !dg_span_eq(rest, DG_SPAN("\r\n")))
            return dg_error_set(error, DG_ERR_FORMAT, "%zu bytes follow the end of the form",
                                rest.len);
        multipart->is_over = true;
        return DG_OK;
    }
    if (!dg_span_starts(rest, DG_SPAN("\r\n")))
        return dg_error_set(error, rest.len < 2 ? DG_ERR_TRUNCATED : DG_ERR_FORMAT,
                            rest.len < 2 ? "the form ends behind a boundary"
                                         : "a boundary of the form is not followed by a line end");
    multipart->rest = dg_span_sub(rest, 2, rest.len);
    return DG_OK;
}

static enum dg_err count_part(struct dg_multipart *multipart, struct dg_error *error)
{
    return ++multipart->n_parts > DG_MULTIPART_PARTS_MAX
               ? dg_error_set(error, DG_ERR_LIMIT, "the form has more than %d parts",
                              DG_MULTIPART_PARTS_MAX)
               : DG_OK;
}

enum dg_err dg_multipart_next(struct dg_multipart *multipart, struct dg_arena *arena,
                              struct dg_part *part, bool *more, struct dg_error *error)
{
    struct dg_part found = {.name = {NULL, 0}};
    size_t head = 0;
    enum dg_err err = multipart->is_over ? DG_OK : after_delimiter(multipart, error);
    if (err || multipart->is_over) {
        *more = false;
        return err;
    }
    err = count_part(multipart, error);
    if (err)
        return err;
    err = read_head(multipart->rest, arena, &found, &head, error);
    if (err)
        return err;
    /* The empty line may be the first half of the delimiter: then the part is empty. */
    struct dg_span delimiter = dg_span_make(multipart->delimiter, multipart->delimiter_len);
    size_t end = dg_span_find(multipart->rest, head - 2, delimiter);
    if (end == multipart->rest.len)
        return dg_error_set(error, DG_ERR_TRUNCATED, "the form ends inside a part");
    found.body = end < head ? dg_span_sub(multipart->rest, head, 0)
                            : dg_span_sub(multipart->rest, head, end - head);
    multipart->rest = dg_span_sub(multipart->rest, end + delimiter.len, multipart->rest.len);
    *part = found;
    *more = true;
    return DG_OK;
}

/* ---- From pieces ----------------------------------------------------------------------------- */

/* START -the first delimiter-> AFTER -a line end-> HEAD -the empty line-> PART -a delimiter-> AFTER
 * AFTER -two hyphens-> OVER */
enum { START, AFTER, HEAD, PART, OVER };

enum dg_err dg_multipart_feed_begin(struct dg_multipart_feed *feed, struct dg_span content_type,
                                    struct dg_arena *arena,
                                    const struct dg_multipart_events *events, void *ctx,
                                    struct dg_error *error)
{
    struct dg_multipart multipart;
    enum dg_err err = begin(&multipart, content_type, error);
    if (err)
        return err;
    feed->multipart = multipart;
    feed->events = events;
    feed->ctx = ctx;
    feed->arena = arena;
    feed->state = START;
    feed->n_matched = feed->n_start = feed->n_held = 0;
    return DG_OK;
}

/* Collects bytes of the current piece until there are `wanted`; true once there are. */
static bool hold(struct dg_multipart_feed *feed, struct dg_span *piece, size_t wanted)
{
    const size_t lacking = wanted - feed->n_held, n = piece->len < lacking ? piece->len : lacking;
    if (n)
        memcpy(feed->held + feed->n_held, piece->ptr, n);
    feed->n_held += n;
    *piece = dg_span_sub(*piece, n, piece->len);
    return feed->n_held == wanted;
}

static enum dg_err feed_start(struct dg_multipart_feed *feed, struct dg_span *piece,
                              struct dg_error *error)
{
    if (!hold(feed, piece, feed->multipart.delimiter_len - 2))
        return DG_OK;
    const enum dg_err err =
        check_start(&feed->multipart, dg_span_make(feed->held, feed->n_held), error);
    feed->n_held = 0;
    feed->state = AFTER;
    return err;
}

static enum dg_err feed_after(struct dg_multipart_feed *feed, struct dg_span *piece,
                              struct dg_error *error)
{
    if (!hold(feed, piece, 2))
        return DG_OK;
    feed->multipart.rest = dg_span_make(feed->held, 2);
    feed->n_held = 0;
    const enum dg_err err = after_delimiter(&feed->multipart, error);
    feed->state = feed->multipart.is_over ? OVER : HEAD;
    return err;
}

static enum dg_err feed_head(struct dg_multipart_feed *feed, struct dg_span *piece,
                             struct dg_error *error)
{
    struct dg_part part = {.name = {NULL, 0}};
    size_t len = 0;
    bool is_whole = false;
    while (!is_whole && piece->len && feed->n_held < sizeof feed->held) {
        (void)hold(feed, piece, feed->n_held + 1);
        const struct dg_span seen = dg_span_make(feed->held, feed->n_held);
        is_whole = dg_span_ends(seen, DG_SPAN("\r\n\r\n")) || dg_span_eq(seen, DG_SPAN("\r\n"));
    }
    if (!is_whole && feed->n_held < sizeof feed->held)
        return DG_OK;
    if (!is_whole)
        return dg_error_set(error, DG_ERR_LIMIT, "the header lines of a part pass %d bytes",
                            DG_MULTIPART_HEAD_MAX);
    enum dg_err err = count_part(&feed->multipart, error);
    if (!err)
        err = read_head(dg_span_make(feed->held, feed->n_held), feed->arena, &part, &len, error);
    if (!err && part.type.len) {
        part.type = dg_arena_copy(feed->arena, part.type);
        err = part.type.ptr ? DG_OK : DG_ERR_NOMEM;
    }
    if (!err)
        err = feed->events->on_part(feed->ctx, &part, error);
    feed->n_held = 0;
    feed->n_matched = feed->n_start = 2; /* as in dg_multipart_next, the empty line may be the first
                                            half of the delimiter */
    feed->state = PART;
    return err;
}

/* Passes on bytes that looked like a delimiter but are data. A CR can stand only at their
 * beginning, so no other delimiter begins within them. */
static enum dg_err give_back(struct dg_multipart_feed *feed, struct dg_error *error)
{
    const struct dg_span bytes =
        dg_span_make(feed->multipart.delimiter + feed->n_start, feed->n_matched - feed->n_start);
    feed->n_matched = feed->n_start = 0;
    return bytes.len ? feed->events->on_data(feed->ctx, bytes, error) : DG_OK;
}

static enum dg_err feed_part(struct dg_multipart_feed *feed, struct dg_span *piece,
                             struct dg_error *error)
{
    const struct dg_multipart *multipart = &feed->multipart;
    if (feed->n_matched == 0) {
        const char *cr = memchr(piece->ptr, '\r', piece->len);
        const size_t len = cr ? (size_t)(cr - piece->ptr) : piece->len;
        const struct dg_span plain = dg_span_sub(*piece, 0, len);
        *piece = dg_span_sub(*piece, len + (cr != NULL), piece->len);
        feed->n_matched = cr != NULL;
        return len ? feed->events->on_data(feed->ctx, plain, error) : DG_OK;
    }
    if (piece->ptr[0] != multipart->delimiter[feed->n_matched])
        return give_back(feed, error);
    *piece = dg_span_sub(*piece, 1, piece->len);
    if (++feed->n_matched < multipart->delimiter_len)
        return DG_OK;
    feed->n_matched = feed->n_start = 0;
    feed->state = AFTER;
    return feed->events->on_part_end(feed->ctx, error);
}

/* At most a line end may follow the last delimiter. */
static enum dg_err feed_over(struct dg_multipart_feed *feed, struct dg_span *piece,
                             struct dg_error *error)
{
    (void)hold(feed, piece, 2);
    const struct dg_span seen = dg_span_make(feed->held, feed->n_held);
    if (piece->len == 0 && dg_span_starts(DG_SPAN("\r\n"), seen))
        return DG_OK;
    return dg_error_set(error, DG_ERR_FORMAT, "bytes follow the end of the form");
}

enum dg_err dg_multipart_feed(struct dg_multipart_feed *feed, struct dg_span piece,
                              struct dg_error *error)
{
    static enum dg_err (*const steps[])(struct dg_multipart_feed * feed, struct dg_span * piece,
                                        struct dg_error * error) = {[START] = feed_start,
                                                                    [AFTER] = feed_after,
                                                                    [HEAD] = feed_head,
                                                                    [PART] = feed_part,
                                                                    [OVER] = feed_over};
    enum dg_err err = DG_OK;
    while (!err && piece.len)
        err = steps[feed->state](feed, &piece, error);
    return err;
}

enum dg_err dg_multipart_feed_end(const struct dg_multipart_feed *feed, struct dg_error *error)
{
    if (feed->state == OVER && feed->n_held != 1)
        return DG_OK;
    return dg_error_set(error, DG_ERR_TRUNCATED, "the form ends before its last boundary");
}
