/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The reader is strict about whatever determines where the body ends, and lenient about headers
 * that have no meaning here. It skips interim answers (1xx). */
#include "answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void answer_init(struct answer *answer, void (*on_body)(void *, const char *, size_t), void *user)
{
    memset(answer, 0, sizeof *answer);
    answer->on_body = on_body;
    answer->user = user;
    answer->retry_after = -1;
    answer->keeps = true;
}

/* The value of a header line if the header's name is `name`, otherwise NULL. */
static const char *value_of(const char *line, const char *name)
{
    size_t len = strlen(name);
    if (strncasecmp(line, name, len) != 0 || line[len] != ':')
        return NULL;
    for (line += len + 1; *line == ' ' || *line == '\t'; line++)
        ;
    return line;
}

/* The whole number in `base`, up to 2^60, at the start of `text`; -1 if there is none. */
static int64_t number_of(const char *text, unsigned base)
{
    int64_t n = 0;
    const char *at = text;
    for (; *at; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                         : *at >= 'A' && *at <= 'F' ? (unsigned)(*at - 'A') + 10
                                                    : 99;
        if (digit >= base)
            break;
        if (n >> 56)
            return -1;
        n = n * base + digit;
    }
    return at > text && (*at == '\0' || *at == ' ' || *at == ';' || *at == '\t') ? n : -1;
}

static int read_status(struct answer *answer)
{
    const char *line = answer->line;
    if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ')
        return -1;
    int64_t status = number_of(line + 9, 10);
    if (status < 100 || status > 999)
        return -1;
    if (line[7] == '0')
        answer->keeps = false;
    answer->status = (int)status;
    answer->state = ANSWER_HEADERS;
    return 0;
}

static int read_header(struct answer *answer)
{
    const char *value;
    if ((value = value_of(answer->line, "Content-Length"))) {
        int64_t length = number_of(value, 10);
        if (length < 0 || answer->has_length || answer->is_chunked)
            return -1;
        answer->has_length = true;
        answer->left = (uint64_t)length;
    } else if ((value = value_of(answer->line, "Transfer-Encoding"))) {
        if (strcasecmp(value, "chunked") != 0 || answer->has_length)
            return -1;
        answer->is_chunked = true;
    } else if ((value = value_of(answer->line, "Content-Type"))) {
        answer->is_stream = strncasecmp(value, "text/event-stream", 17) == 0;
    } else if ((value = value_of(answer->line, "Connection"))) {
        answer->keeps = answer->keeps && strcasecmp(value, "close") != 0;
    } else if ((value = value_of(answer->line, "Retry-After"))) {
        int64_t seconds = number_of(value, 10);
        answer->retry_after = seconds >= 0 && seconds < 1 << 30 ? (int)seconds : -1;
    }
    return 0;
}

/* At the empty line after the headers: decides what follows. */
static void end_headers(struct answer *answer)
{
    if (answer->status < 200) {
        answer->state = ANSWER_STATUS;
        answer->has_length = answer->is_chunked = false;
    } else if (answer->status == 204 || answer->status == 304 ||
               (answer->has_length && answer->left == 0)) {
        answer->is_complete = true;
    } else if (answer->is_chunked) {
        answer->state = ANSWER_CHUNK_SIZE;
    } else if (answer->has_length) {
        answer->state = ANSWER_BODY;
    } else {
        answer->keeps = false;
        answer->state = ANSWER_UNTIL_CLOSE;
    }
}

static int read_line(struct answer *answer)
{
    int64_t size;
    switch (answer->state) {
    case ANSWER_STATUS:
        return read_status(answer);
    case ANSWER_HEADERS:
        if (++answer->n_lines > ANSWER_LINES_MAX)
            return -1;
        if (answer->line[0])
            return read_header(answer);
        end_headers(answer);
        return 0;
    case ANSWER_CHUNK_SIZE:
        size = number_of(answer->line, 16);
        answer->left = (uint64_t)size;
        answer->state = size == 0 ? ANSWER_TRAILERS : ANSWER_CHUNK;
        return size < 0 ? -1 : 0;
    case ANSWER_CHUNK_END:
        answer->state = ANSWER_CHUNK_SIZE;
        return answer->line[0] ? -1 : 0;
    case ANSWER_TRAILERS:
        answer->is_complete = !answer->line[0];
        return ++answer->n_lines > ANSWER_LINES_MAX ? -1 : 0;
    default:
        return -1;
    }
}

/* Takes bytes up to the end of the line; returns -1 if the line is not valid. */
static int take_line(struct answer *answer, const char *bytes, size_t n, size_t *taken)
{
    const char *end = memchr(bytes, '\n', n);
    size_t len = end ? (size_t)(end - bytes) : n;
    *taken = end ? len + 1 : len;
    if (answer->line_len + len >= ANSWER_LINE_MAX || memchr(bytes, '\0', len))
        return -1;
    memcpy(answer->line + answer->line_len, bytes, len);
    answer->line_len += len;
    if (!end)
        return 0;
    if (answer->line_len == 0 || answer->line[answer->line_len - 1] != '\r')
        return -1;
    answer->line[answer->line_len - 1] = '\0';
    answer->line_len = 0;
    return read_line(answer);
}

static size_t take_body(struct answer *answer, const char *bytes, size_t n)
{
    size_t part =
        answer->state != ANSWER_UNTIL_CLOSE && n > answer->left ? (size_t)answer->left : n;
    answer->on_body(answer->user, bytes, part);
    if (answer->state == ANSWER_UNTIL_CLOSE)
        return part;
    answer->left -= part;
    if (answer->left == 0 && answer->state == ANSWER_CHUNK)
        answer->state = ANSWER_CHUNK_END;
    else if (answer->left == 0)
        answer->is_complete = true;
    return part;
}

int answer_feed(struct answer *answer, const char *bytes, size_t n)
{
    while (n > 0) {
        size_t taken = 0;
        if (answer->is_complete)
            return -1;
        if (answer->state == ANSWER_BODY || answer->state == ANSWER_CHUNK ||
            answer->state == ANSWER_UNTIL_CLOSE)
            taken = take_body(answer, bytes, n);
        else if (take_line(answer, bytes, n, &taken) < 0)
            return -1;
        bytes += taken;
        n -= taken;
    }
    return 0;
}

bool answer_close(struct answer *answer)
{
    answer->is_complete = answer->is_complete || answer->state == ANSWER_UNTIL_CLOSE;
    return answer->is_complete;
}
