/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A fake Redis that gives the answers that a test defines, on a Unix socket and on the test's own
 * loop.
 *
 *     static void answer(struct fake_redis *fake, const struct dg_span *args, size_t n) {
 *         fake_redis_say(fake, "$4\r\nnone\r\n");
 *     }
 *     fake_redis_start(&fake, &loop, dir, answer, user);      listens at fake.address
 *     fake_redis_hang_up(&fake);                              closes every connection
 *     fake_redis_stop(&fake);                                 and stops listening; the loop ends it
 *
 * It answers AUTH and PING by itself; any other command goes to `answer`, which may say anything or
 * nothing. */
#ifndef FAKE_REDIS_H
#define FAKE_REDIS_H

#include "base/memory/span.h"

#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { FAKE_CLIENTS = 64, FAKE_INPUT = 1 << 20, FAKE_ARGS = 64 };

struct fake_redis;
typedef void (*fake_redis_fn)(struct fake_redis *fake, const struct dg_span *args, size_t n);

struct fake_client {
    uv_pipe_t pipe;
    struct fake_redis *fake;
    size_t n;
    char input[FAKE_INPUT];
};

struct fake_redis {
    uv_pipe_t listener;
    char path[300], address[320];
    fake_redis_fn answer;
    void *user;
    struct fake_client *clients[FAKE_CLIENTS];
    struct fake_client *at; /* the client that gets the answers */
    size_t n_connections;
};

struct fake_words {
    uv_write_t write;
    char text[];
};

static inline void fake_redis_written(uv_write_t *write, int status)
{
    (void)status;
    free(write);
}

static inline void fake_redis_say_bytes(struct fake_redis *fake, const char *bytes, size_t n)
{
    struct fake_words *words = malloc(sizeof *words + n + 1);
    ck_assert_ptr_nonnull(words);
    memcpy(words->text, bytes, n);
    uv_buf_t buf = uv_buf_init(words->text, (unsigned)n);
    if (!fake->at ||
        uv_write(&words->write, (uv_stream_t *)&fake->at->pipe, &buf, 1, fake_redis_written) != 0)
        free(words);
}

static inline void fake_redis_say(struct fake_redis *fake, const char *text)
{
    fake_redis_say_bytes(fake, text, strlen(text));
}

/* A list of texts; "" is a text, too. */
static inline void fake_redis_say_texts(struct fake_redis *fake, size_t n, const char *const *texts)
{
    char answer[65536];
    int at = snprintf(answer, sizeof answer, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++)
        at += snprintf(answer + at, sizeof answer - (size_t)at, "$%zu\r\n%s\r\n", strlen(texts[i]),
                       texts[i]);
    fake_redis_say_bytes(fake, answer, (size_t)at);
}

static inline void fake_redis_gone(uv_handle_t *handle)
{
    free(handle->data);
}

static inline void fake_redis_drop(struct fake_client *client)
{
    for (size_t i = 0; i < FAKE_CLIENTS; i++)
        if (client->fake->clients[i] == client)
            client->fake->clients[i] = NULL;
    if (client->fake->at == client)
        client->fake->at = NULL;
    if (!uv_is_closing((uv_handle_t *)&client->pipe))
        uv_close((uv_handle_t *)&client->pipe, fake_redis_gone);
}

/* Reads the number after a type's sign, and sets where the line ends; false when it has not come
 * yet. */
static inline bool fake_redis_number(const struct fake_client *client, size_t *at, size_t *number)
{
    const char *end = memchr(client->input + *at, '\n', client->n - *at);
    if (!end)
        return false;
    *number = strtoul(client->input + *at + 1, NULL, 10);
    *at = (size_t)(end - client->input) + 1;
    return true;
}

/* Whether a complete command had come. */
static inline bool fake_redis_take(struct fake_client *client)
{
    struct fake_redis *fake = client->fake;
    struct dg_span args[FAKE_ARGS];
    size_t at = 0, n = 0, len;
    if (client->n == 0 || !fake_redis_number(client, &at, &n))
        return false;
    ck_assert_uint_le(n, FAKE_ARGS);
    for (size_t i = 0; i < n; i++) {
        if (at >= client->n || !fake_redis_number(client, &at, &len) || at + len + 2 > client->n)
            return false;
        args[i] = dg_span_make(client->input + at, len);
        at += len + 2;
    }
    fake->at = client;
    if (dg_span_eq(args[0], DG_SPAN("AUTH")))
        fake_redis_say(fake, "+OK\r\n");
    else if (dg_span_eq(args[0], DG_SPAN("PING")))
        fake_redis_say(fake, "+PONG\r\n");
    else
        fake->answer(fake, args, n);
    if (!fake->at)
        return false; /* the test has hung up */
    memmove(client->input, client->input + at, client->n - at);
    client->n -= at;
    return true;
}

static inline void fake_redis_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct fake_client *client = handle->data;
    (void)size;
    *buf = uv_buf_init(client->input + client->n, (unsigned)(FAKE_INPUT - client->n));
}

static inline void fake_redis_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct fake_client *client = stream->data;
    (void)buf;
    if (n < 0) {
        fake_redis_drop(client);
        return;
    }
    client->n += (size_t)n;
    while (fake_redis_take(client))
        ;
}

static inline void fake_redis_accept(uv_stream_t *listener, int status)
{
    struct fake_redis *fake = listener->data;
    struct fake_client *client = calloc(1, sizeof *client);
    ck_assert(status == 0 && client);
    client->fake = fake;
    client->pipe.data = client;
    uv_pipe_init(listener->loop, &client->pipe, 0);
    ck_assert_int_eq(uv_accept(listener, (uv_stream_t *)&client->pipe), 0);
    for (size_t i = 0; i < FAKE_CLIENTS; i++)
        if (!fake->clients[i]) {
            fake->clients[i] = client;
            break;
        }
    fake->n_connections++;
    ck_assert_int_eq(uv_read_start((uv_stream_t *)&client->pipe, fake_redis_alloc, fake_redis_read),
                     0);
}

static inline void fake_redis_start(struct fake_redis *fake, uv_loop_t *loop, const char *dir,
                                    fake_redis_fn answer, void *user)
{
    *fake = (struct fake_redis){.answer = answer, .user = user};
    snprintf(fake->path, sizeof fake->path, "%s/redis", dir);
    snprintf(fake->address, sizeof fake->address, "unix:%s", fake->path);
    uv_pipe_init(loop, &fake->listener, 0);
    fake->listener.data = fake;
    ck_assert_int_eq(uv_pipe_bind(&fake->listener, fake->path), 0);
    ck_assert_int_eq(uv_listen((uv_stream_t *)&fake->listener, 16, fake_redis_accept), 0);
}

static inline void fake_redis_hang_up(struct fake_redis *fake)
{
    for (size_t i = 0; i < FAKE_CLIENTS; i++)
        if (fake->clients[i])
            fake_redis_drop(fake->clients[i]);
}

static inline void fake_redis_stop(struct fake_redis *fake)
{
    fake_redis_hang_up(fake);
    uv_close((uv_handle_t *)&fake->listener, NULL);
}

#endif
