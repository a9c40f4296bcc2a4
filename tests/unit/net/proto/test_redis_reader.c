/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "net/proto/redis_reader.h"
#include "unit.h"

#include <stdio.h>

/* The first reply, and the number of bytes left, in one line. */
static enum dg_err read_one(const char *bytes, char *said, size_t cap)
{
    static const char *const kinds[] = {"none", "nil", "text", "numbers", "texts", "ok", "refused"};
    struct dg_redis_reader reader;
    struct dg_redis_reply reply;
    bool is_there = false;
    dg_redis_reader_init(&reader);
    enum dg_err err = dg_redis_reader_feed(&reader, dg_span_cstr(bytes));
    if (!err)
        err = dg_redis_reader_next(&reader, &reply, &is_there);
    int at = snprintf(said, cap, "%s", err ? "" : is_there ? kinds[reply.kind] : "not there");
    if (is_there && reply.text.ptr)
        at += snprintf(said + at, cap - (size_t)at, " %.*s", DG_SPAN_FMT(reply.text));
    for (size_t i = 0; is_there && i < reply.n_numbers; i++)
        at += snprintf(said + at, cap - (size_t)at, " %lld", (long long)reply.numbers[i]);
    for (size_t i = 0; is_there && i < reply.n_texts; i++)
        at += snprintf(said + at, cap - (size_t)at, " '%.*s'", (int)reply.texts[i].len,
                       reply.texts[i].len ? reply.texts[i].ptr : "");
    dg_redis_reader_deinit(&reader);
    return err;
}

static void check_reply(const char *bytes, const char *expected)
{
    char said[300];
    const enum dg_err err = read_one(bytes, said, sizeof said);
    ck_assert_msg(err == DG_OK && strcmp(said, expected) == 0, "%s: %d %s, expected %s", bytes,
                  (int)err, said, expected);
}

static void check_error(const char *bytes, enum dg_err expected)
{
    char said[300];
    const enum dg_err err = read_one(bytes, said, sizeof said);
    ck_assert_msg(err == expected, "%.100s: %d", bytes, err);
}

START_TEST(reads_every_kind_of_reply)
{
    check_reply("+OK\r\n", "ok OK");
    check_reply("-ERR no\r\n", "refused ERR no");
    check_reply("$-1\r\n", "nil");
    check_reply("*-1\r\n", "nil");
    check_reply("$0\r\n\r\n", "text ");
    check_reply("$4\r\na\r\nb\r\n", "text a\r\nb");
    check_reply(":-7\r\n", "numbers -7");
    check_reply(":-9223372036854775808\r\n", "numbers -9223372036854775808");
    check_reply(":9223372036854775807\r\n", "numbers 9223372036854775807");
    check_reply("*2\r\n:1\r\n:2\r\n", "numbers 1 2");
    check_reply("*0\r\n", "texts");
    check_reply("*3\r\n$3\r\nfoo\r\n*2\r\n*0\r\n$-1\r\n+OK\r\n", "texts 'foo' '' 'OK'");
    check_reply("*2\r\n$6\r\nmaster\r\n:17\r\n", "texts 'master' '17'");
    check_reply("*2\r\n*1\r\n:1\r\n:2\r\n", "texts '1' '2'");
    check_reply("*2\r\n:1\r\n-ERR no\r\n", "refused ERR no");
}
END_TEST

START_TEST(waits_for_the_rest)
{
    static const char *const parts[] = {"",
                                        "+",
                                        "+OK",
                                        "+OK\r",
                                        "$",
                                        "$3\r\n",
                                        "$3\r\nfoo",
                                        "$3\r\nfoo\r",
                                        "*2\r\n",
                                        "*2\r\n:1\r\n",
                                        "*2\r\n*1\r\n:1\r\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        check_reply(parts[i], "not there");
}
END_TEST

START_TEST(refuses_what_is_no_reply)
{
    static const char *const bad[] = {">2\r\n+push\r\n",
                                      "%1\r\n",
                                      "~1\r\n",
                                      ",1.5\r\n",
                                      "#t\r\n",
                                      "_\r\n",
                                      "(1\r\n",
                                      "=3\r\n",
                                      "HTTP/1.1 200\r\n",
                                      "+OK\n",
                                      ":\r\n",
                                      ":-\r\n",
                                      ":1x\r\n",
                                      ":+1\r\n",
                                      ":9223372036854775808\r\n",
                                      "$-2\r\n",
                                      "*-2\r\n",
                                      "$1\r\nab\r\n",
                                      "$x\r\n",
                                      "*1\r\n>1\r\n",
                                      ":99999999999999999999999999\r\n",
                                      "\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_error(bad[i], DG_ERR_FORMAT);
}
END_TEST

START_TEST(believes_no_length_beyond_its_limits)
{
    check_error("$536870912\r\n", DG_ERR_LIMIT);
    check_error("$9223372036854775807\r\n", DG_ERR_LIMIT);
    check_error("*65537\r\n", DG_ERR_LIMIT);
    check_error("*2\r\n*65535\r\n", DG_ERR_LIMIT); /* together with the outer one's */
    check_error("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", DG_ERR_LIMIT);
    check_reply("*65536\r\n", "not there");
    static char line[DG_REDIS_LINE_MAX + 10];
    memset(line, 'x', sizeof line - 1);
    line[0] = '+';
    check_error(line, DG_ERR_LIMIT);
}
END_TEST

START_TEST(ends_a_reply_that_grows_too_long)
{
    static char text[1 << 20];
    struct dg_redis_reader reader;
    struct dg_redis_reply reply;
    bool is_there = false;
    enum dg_err err = DG_OK;
    size_t n = 0;
    memset(text, 'x', sizeof text);
    memcpy(text, "$1048500\r\n", 10);
    memcpy(text + 1048510, "\r\n", 2);
    dg_redis_reader_init(&reader);
    err = dg_redis_reader_feed(&reader, DG_SPAN("*1000\r\n"));
    while (!err && n < 100) {
        err = dg_redis_reader_feed(&reader, dg_span_make(text, 1048512));
        if (!err)
            err = dg_redis_reader_next(&reader, &reply, &is_there);
        ck_assert(!is_there);
        n++;
    }
    ck_assert(err == DG_ERR_LIMIT || err == DG_ERR_NOMEM);
    ck_assert_uint_le(n, 17);
    dg_redis_reader_deinit(&reader);
}
END_TEST

START_TEST(keeps_replies_apart)
{
    struct dg_redis_reader reader;
    struct dg_redis_reply reply;
    bool is_there;
    int n = 0;
    dg_redis_reader_init(&reader);
    for (int i = 0; i < 1000; i++) {
        if (dg_redis_reader_feed(&reader, DG_SPAN(":1\r\n$3\r\nfoo\r\n+O")) != DG_OK)
            break;
        while (dg_redis_reader_next(&reader, &reply, &is_there) == DG_OK && is_there)
            n++;
        ck_assert(dg_redis_reader_has_rest(&reader));
        if (dg_redis_reader_feed(&reader, DG_SPAN("K\r\n")) != DG_OK)
            break;
        while (dg_redis_reader_next(&reader, &reply, &is_there) == DG_OK && is_there)
            n++;
        ck_assert(!dg_redis_reader_has_rest(&reader));
    }
    ck_assert_int_eq(n, 3000);
    dg_redis_reader_deinit(&reader);
}
END_TEST

DG_UNIT(reads_every_kind_of_reply, waits_for_the_rest, refuses_what_is_no_reply,
        believes_no_length_beyond_its_limits, ends_a_reply_that_grows_too_long, keeps_replies_apart)
