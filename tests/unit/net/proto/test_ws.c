/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "net/proto/ws.h"
#include "unit.h"

enum { BYTES_MAX = 16 * 1024, TOLD_MAX = 8 };

struct bench {
    struct dg_http_shared shared;
    struct dg_ws *ws;
    char told[TOLD_MAX][16]; /* messages, in their order */
    size_t n_told, n_outputs;
    size_t room;           /* the memory that a message may take */
    char bytes[BYTES_MAX]; /* of a client */
    size_t len;
};

/* A message that begins with "hold" is held. */
static void on_message(void *user, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    struct bench *bench = user;
    struct dg_span begin = dg_span_sub(message, 0, sizeof bench->told[0] - 1);
    ck_assert(is_text);
    ck_assert_uint_lt(bench->n_told, TOLD_MAX);
    memcpy(bench->told[bench->n_told], begin.ptr, begin.len);
    bench->told[bench->n_told++][begin.len] = '\0';
    if (dg_span_starts(message, DG_SPAN("hold")))
        dg_ws_hold(ws);
}

static void on_output(void *user)
{
    struct bench *bench = user;
    bench->n_outputs++;
}

static const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
static bool on_room(void *user, struct dg_ws *ws, size_t bytes)
{
    struct bench *bench = user;
    ck_assert_ptr_eq(ws, bench->ws);
    return bytes <= bench->room;
}

static const struct dg_ws_events events = {
    .on_message = on_message, .on_room = on_room, .on_output = on_output};

static void start(struct bench *bench)
{
    *bench = (struct bench){.room = SIZE_MAX};
    bench->ws = dg_ws_new(&bench->shared, &limits, &events, bench);
    ck_assert_ptr_nonnull(bench->ws);
}

/* A masked text frame (RFC 6455, section 5.2); the mask is zero. */
static void put(struct bench *bench, const char *text)
{
    const size_t n = strlen(text);
    unsigned char head[8] = {0x81, 0x80 | (n < 126 ? (unsigned char)n : 126)};
    size_t head_len = 2;
    if (n >= 126) {
        head[head_len++] = (unsigned char)(n >> 8);
        head[head_len++] = (unsigned char)n;
    }
    head_len += 4;
    ck_assert_uint_le(bench->len + head_len + n, BYTES_MAX);
    memcpy(bench->bytes + bench->len, head, head_len);
    memcpy(bench->bytes + bench->len + head_len, text, n);
    bench->len += head_len + n;
}

START_TEST(while_a_message_is_held_no_other_is_told)
{
    struct bench *bench = calloc(1, sizeof *bench);
    ck_assert_ptr_nonnull(bench);
    char longer[6000]; /* more than the frame reader keeps in its buffer */
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    memcpy(longer, "four", 4);
    size_t n_cuts = 1;
    for (size_t cut = 0; cut < n_cuts; cut += cut < 40 ? 1 : 997) {
        start(bench);
        put(bench, "one");
        put(bench, "hold two");
        put(bench, "hold three");
        put(bench, longer);
        n_cuts = bench->len;
        dg_ws_feed(bench->ws, bench->bytes, cut);
        dg_ws_feed(bench->ws, bench->bytes + cut, bench->len - cut);
        ck_assert_uint_eq(bench->n_told, 2);
        ck_assert_str_eq(bench->told[1], "hold two");
        ck_assert(!dg_ws_wants_input(bench->ws));
        ck_assert_uint_eq(dg_ws_deadline(bench->ws), UINT64_MAX);
        dg_ws_release(bench->ws);
        ck_assert_uint_eq(bench->n_told, 3);
        ck_assert(!dg_ws_wants_input(bench->ws));
        dg_ws_release(bench->ws);
        ck_assert_uint_eq(bench->n_told, 4);
        ck_assert(dg_ws_wants_input(bench->ws));
        ck_assert_uint_eq(bench->n_outputs, 2);
        ck_assert_uint_eq(strncmp(bench->told[3], "fourxx", 6), 0);
        dg_ws_free(bench->ws);
    }
    free(bench);
}
END_TEST

START_TEST(what_is_closed_while_it_is_held_tells_nothing_more)
{
    struct bench *bench = calloc(1, sizeof *bench);
    ck_assert_ptr_nonnull(bench);
    start(bench);
    put(bench, "hold one");
    put(bench, "two");
    dg_ws_feed(bench->ws, bench->bytes, bench->len);
    dg_ws_close(bench->ws, DG_WS_GOING_AWAY, DG_SPAN("bye"));
    ck_assert_uint_lt(dg_ws_deadline(bench->ws), UINT64_MAX);
    dg_ws_release(bench->ws);
    ck_assert_uint_eq(bench->n_told, 1);
    dg_ws_free(bench->ws);
    start(bench);
    put(bench, "hold one");
    put(bench, "two");
    dg_ws_feed(bench->ws, bench->bytes, bench->len);
    dg_ws_free(bench->ws); /* including the buffer */
    free(bench);
}
END_TEST

/* The fourth byte of the letter comes in another feed than its first; the last text ends inside a
 * letter. */
START_TEST(texts_are_checked_as_they_come)
{
    struct bench *bench = calloc(1, sizeof *bench);
    ck_assert_ptr_nonnull(bench);
    start(bench);
    put(bench, "a\xF0\x9F\x98\x80z");
    for (size_t i = 0; i < bench->len; i++)
        dg_ws_feed(bench->ws, bench->bytes + i, 1);
    ck_assert_uint_eq(bench->n_told, 1);
    ck_assert(!dg_ws_is_closing(bench->ws));
    bench->len = 0;
    put(bench, "abc\xC3");
    dg_ws_feed(bench->ws, bench->bytes, bench->len);
    ck_assert_uint_eq(bench->n_told, 1);
    ck_assert(dg_ws_is_closing(bench->ws));
    dg_ws_free(bench->ws);
    start(bench);
    put(bench, "a\xFFzzzzzzzzzzzzzzz");
    for (size_t i = 0; i < bench->len; i++)
        dg_ws_feed(bench->ws, bench->bytes + i, 1);
    ck_assert_uint_eq(bench->n_told, 0);
    ck_assert(dg_ws_is_closing(bench->ws));
    dg_ws_free(bench->ws);
    free(bench);
}
END_TEST

START_TEST(a_message_without_room_closes_with_1013)
{
    struct bench *bench = calloc(1, sizeof *bench);
    ck_assert_ptr_nonnull(bench);
    size_t body;
    start(bench);
    bench->room = 10;
    put(bench, "0123456789");
    dg_ws_feed(bench->ws, bench->bytes, bench->len - 1);
    ck_assert_uint_ge(dg_ws_buffers(bench->ws, &body), 10);
    ck_assert_uint_ge(body, 10);
    dg_ws_feed(bench->ws, bench->bytes + bench->len - 1, 1);
    ck_assert_uint_eq(bench->n_told, 1);
    dg_ws_buffers(bench->ws, &body);
    ck_assert_uint_eq(body, 0);
    bench->len = 0;
    put(bench, "01234567890");
    dg_ws_feed(bench->ws, bench->bytes, bench->len);
    ck_assert_uint_eq(bench->n_told, 1);
    ck_assert(dg_ws_is_closing(bench->ws));
    struct dg_span out = dg_ws_output(bench->ws);
    ck_assert_uint_ge(out.len, 4);
    ck_assert_int_eq((uint8_t)out.ptr[2] << 8 | (uint8_t)out.ptr[3], DG_WS_TRY_AGAIN);
    dg_ws_free(bench->ws);
    free(bench);
}
END_TEST

DG_UNIT(while_a_message_is_held_no_other_is_told,
        what_is_closed_while_it_is_held_tells_nothing_more, texts_are_checked_as_they_come,
        a_message_without_room_closes_with_1013)
