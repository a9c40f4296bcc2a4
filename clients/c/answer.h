/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads an HTTP/1.1 answer from bytes as they arrive. It has no socket and allocates no memory:
 * only the line being read is stored, inside the struct. Bytes of the body are handed to `on_body`
 * as soon as they are known to belong to it.
 *
 *     struct answer answer;
 *     answer_init(&answer, on_body, user);
 *     if (answer_feed(&answer, bytes, n) < 0) ...      it is not HTTP, or a line is too long
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
    int retry_after; /* seconds; -1: the server did not say */
    bool is_stream;  /* text/event-stream */
    bool is_chunked, has_length;
    bool keeps; /* the connection may carry another request */
    bool is_complete;
    uint64_t left; /* bytes of the body or chunk still to come */
};

void answer_init(struct answer *answer, void (*on_body)(void *, const char *, size_t), void *user);

/* Returns 0, or -1 if the answer cannot be understood. Bytes after a complete answer are an error,
 * because nobody asked for them. */
int answer_feed(struct answer *answer, const char *bytes, size_t n);

/* Call this when the connection was closed. Returns true if the answer is then complete. */
bool answer_close(struct answer *answer);

#endif
