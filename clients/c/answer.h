/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An HTTP/1.1 answer, read from bytes as they come: no socket, no allocation but the line that is
 * being read. Bytes of the body are handed out as soon as they are known to be that.
 *
 *     struct answer answer;
 *     answer_init(&answer, on_body, user);
 *     if (answer_feed(&answer, bytes, n) < 0) ...      it is no HTTP, or a line is too long
 *     if (answer.is_complete) ... answer.status, answer.retry_after, answer.keeps
 */
#ifndef DRAGOMAN_ANSWER_H
#define DRAGOMAN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANSWER_LINE_MAX = 8192, ANSWER_LINES_MAX = 200 };

struct answer {
    void (*on_body)(void *user, const char *bytes, size_t n);
    void *user;
    enum {
        ANSWER_STATUS,
        ANSWER_HEADERS,
        ANSWER_BODY,
        ANSWER_CHUNK_SIZE,
        ANSWER_CHUNK,
        ANSWER_CHUNK_END,
        ANSWER_TRAILERS,
        ANSWER_UNTIL_CLOSE
    } state;
    char line[ANSWER_LINE_MAX];
    size_t line_len, n_lines;
    int status;
    int retry_after; /* seconds, -1: not said */
    bool is_stream;  /* text/event-stream */
    bool is_chunked, has_length;
    bool keeps; /* the connection may carry another request */
    bool is_complete;
    uint64_t left; /* bytes of the body or chunk */
};

void answer_init(struct answer *answer, void (*on_body)(void *, const char *, size_t), void *user);

/* 0, or -1 when it cannot be understood. Bytes behind a complete answer are an error: nobody asked
 * for them. */
int answer_feed(struct answer *answer, const char *bytes, size_t n);

/* The connection was closed: true when that ends the answer as it should. */
bool answer_close(struct answer *answer);

#endif
