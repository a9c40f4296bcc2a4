/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tables with a Redis whose answers the test defines; tests/integration/60_shared.py and
 * 60_cluster.py use a real one. */
#include "net/loop/redis_table.h"
#include "fake_redis.h"
#include "tmpdir.h"
#include "unit.h"

#include <unistd.h>

enum { PATIENCE_MS = 60000 };

#define EPOCH_1 "11111111111111111111111111111111"
#define EPOCH_2 "22222222222222222222222222222222"

struct bench {
    uv_loop_t loop;
    struct fake_redis fake;
    struct dg_redis *redis;
    struct dg_redis_table *table;
    uv_timer_t alarm;
    bool is_late;
    char dir[DG_TMPDIR_CAP];

    /* The answers of Redis. `rows` are sent once, to the first client that asks for news. */
    const char *epoch, *upto, *least, *rows[6];
    const char *put_says, *sync_says; /* sync_says NULL: the above */
    int n_syncs, n_puts;
    char put_epoch[40], put_version[24], put_text[40];

    /* What the table reported. */
    char told[400];
    int n_answers;
    enum dg_err err;
    int64_t more;
};

static bool is_sync(struct dg_span script)
{
    return script.len > 11 && memcmp(script.ptr, "local epoch", 11) == 0;
}

static void copy(char *to, size_t cap, struct dg_span text)
{
    snprintf(to, cap, "%.*s", (int)text.len, text.ptr);
}

static void answer(struct fake_redis *fake, const struct dg_span *args, size_t n)
{
    struct bench *bench = fake->user;
    const char *texts[9] = {bench->epoch, bench->upto, bench->least};
    size_t n_texts = 3;
    ck_assert_uint_ge(n, 12);
    if (!is_sync(args[1])) {
        bench->n_puts++;
        copy(bench->put_epoch, sizeof bench->put_epoch, args[9]);
        copy(bench->put_version, sizeof bench->put_version, args[11]);
        copy(bench->put_text, sizeof bench->put_text, args[12]);
        if (bench->put_says)
            fake_redis_say(fake, bench->put_says);
        return;
    }
    bench->n_syncs++;
    if (bench->sync_says) {
        fake_redis_say(fake, bench->sync_says);
        return;
    }
    const bool is_behind = !dg_span_eq(args[10], dg_span_cstr(bench->upto)) ||
                           !dg_span_eq(args[9], dg_span_cstr(bench->epoch));
    for (size_t i = 0; i < 6 && bench->rows[i] && is_behind; i++)
        texts[n_texts++] = bench->rows[i];
    fake_redis_say_texts(fake, n_texts, texts);
}

static void tell(struct bench *bench, const char *what)
{
    const size_t len = strlen(bench->told);
    snprintf(bench->told + len, sizeof bench->told - len, "%s;", what);
}

static void reset(void *user)
{
    tell(user, "reset");
}

static void apply(void *user, const struct dg_redis_table_row *rows, size_t n)
{
    struct bench *bench = user;
    char text[100];
    for (size_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%.*s=%.*s@%d", DG_SPAN_FMT(rows[i].id),
                 DG_SPAN_FMT(rows[i].text), (int)rows[i].version);
        tell(bench, text);
    }
    dg_redis_table_applied(bench->table);
}

static void complete(void *user)
{
    tell(user, "complete");
}

static const struct dg_redis_table_ops ops = {.reset = reset, .apply = apply, .complete = complete};

static void on_answer(void *ctx, enum dg_err err, int64_t more)
{
    struct bench *bench = ctx;
    bench->n_answers++;
    bench->err = err;
    bench->more = more;
}

static void on_alarm(uv_timer_t *timer)
{
    ((struct bench *)timer->data)->is_late = true;
}

static void turn(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_ONCE);
    ck_assert_msg(!bench->is_late, "told: %s", bench->told);
}

static void await_told(struct bench *bench, const char *told)
{
    while (strcmp(bench->told, told) != 0)
        turn(bench);
    bench->told[0] = '\0';
}

static void await_answer(struct bench *bench)
{
    while (bench->n_answers == 0)
        turn(bench);
}

/* Waits until Redis was asked for news twice more, by which time its earlier answers have been
 * read. */
static void await_syncs(struct bench *bench)
{
    const int before = bench->n_syncs;
    while (bench->n_syncs < before + 2)
        turn(bench);
}

static void begin(struct bench *bench)
{
    struct dg_error error = DG_ERROR_NONE;
    *bench = (struct bench){.epoch = EPOCH_1, .upto = "0", .least = "0"};
    dg_tmpdir_make(bench->dir);
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    uv_timer_init(&bench->loop, &bench->alarm);
    bench->alarm.data = bench;
    uv_timer_start(&bench->alarm, on_alarm, PATIENCE_MS, 0);
    fake_redis_start(&bench->fake, &bench->loop, bench->dir, answer, bench);
    const struct dg_redis_opts opts = {
        .addresses = bench->fake.address, .sentinel = "", .user = "", .password = ""};
    ck_assert_int_eq(dg_redis_open(&bench->loop, &opts, NULL, &error, &bench->redis), DG_OK);
    bench->table = dg_redis_table_new(&bench->loop, bench->redis, "texts", &ops, bench, NULL);
}

static void end(struct bench *bench)
{
    dg_redis_table_close(bench->table);
    dg_redis_close(bench->redis);
    fake_redis_stop(&bench->fake);
    uv_close((uv_handle_t *)&bench->alarm, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    dg_redis_table_free(bench->table);
    dg_redis_free(bench->redis);
    dg_tmpdir_remove(bench->dir);
}

/* Puts a text when the table knows its epoch; Redis says that it has become version 1. */
static void put(struct bench *bench)
{
    await_told(bench, "reset;complete;");
    bench->put_says = "*2\r\n:1\r\n:1\r\n";
    dg_redis_table_put(bench->table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, bench);
}

START_TEST(tells_rows_and_when_all_have_come)
{
    struct bench bench;
    begin(&bench);
    bench.upto = "7";
    bench.rows[0] = "a", bench.rows[1] = "6", bench.rows[2] = "one";
    bench.rows[3] = "b", bench.rows[4] = "7", bench.rows[5] = "";
    await_told(&bench, "reset;a=one@6;b=@7;complete;");
    bench.epoch = EPOCH_2; /* Redis has lost the table */
    bench.upto = "1";
    bench.rows[1] = "1", bench.rows[3] = NULL;
    await_told(&bench, "reset;a=one@1;complete;");
    end(&bench);
}
END_TEST

START_TEST(answers_a_change_when_every_server_knows_it)
{
    struct bench bench;
    begin(&bench);
    put(&bench);
    bench.upto = "1"; /* this server learns of it, and another one does not */
    bench.rows[0] = "a", bench.rows[1] = "1", bench.rows[2] = "text";
    await_told(&bench, "a=text@1;");
    ck_assert_str_eq(bench.put_epoch, EPOCH_1);
    ck_assert_str_eq(bench.put_version, "0");
    ck_assert_str_eq(bench.put_text, "text");
    bench.least = "1";
    await_answer(&bench);
    ck_assert_int_eq(bench.err, DG_OK);
    end(&bench);
}
END_TEST

START_TEST(says_when_there_is_a_newer_version)
{
    struct bench bench;
    begin(&bench);
    await_told(&bench, "reset;complete;");
    bench.put_says = "*3\r\n:0\r\n:0\r\n:5\r\n";
    dg_redis_table_put(bench.table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, &bench);
    await_answer(&bench);
    ck_assert_int_eq(bench.err, DG_ERR_EXISTS);
    ck_assert_int_eq(bench.more, 5);
    end(&bench);
}
END_TEST

/* The change was reported as made, although no server has it any more. */
START_TEST(a_change_that_redis_lost_before_we_knew_it_is_in_doubt)
{
    struct bench bench;
    begin(&bench);
    put(&bench);
    while (bench.n_puts == 0)
        turn(&bench);
    bench.epoch = EPOCH_2;
    await_told(&bench, "reset;complete;");
    await_answer(&bench);
    ck_assert_int_eq(bench.err, DG_ERR_BUSY);
    end(&bench);
}
END_TEST

START_TEST(a_change_that_we_know_outlives_the_table)
{
    struct bench bench;
    begin(&bench);
    put(&bench);
    bench.upto = "1";
    bench.rows[0] = "a", bench.rows[1] = "1", bench.rows[2] = "text";
    await_told(&bench, "a=text@1;");
    ck_assert_int_eq(bench.n_answers, 0); /* another server does not know it */
    bench.epoch = EPOCH_2;
    bench.upto = "0";
    bench.rows[0] = NULL;
    await_told(&bench, "reset;complete;");
    await_answer(&bench);
    ck_assert_int_eq(bench.err, DG_OK);
    end(&bench);
}
END_TEST

START_TEST(a_change_meant_for_a_lost_table_is_sent_again)
{
    struct bench bench;
    begin(&bench);
    await_told(&bench, "reset;complete;");
    bench.put_says = "*2\r\n:-1\r\n:0\r\n";
    bench.epoch = EPOCH_2;
    dg_redis_table_put(bench.table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, &bench);
    await_told(&bench, "reset;complete;");
    bench.put_says = "*2\r\n:1\r\n:0\r\n";
    await_answer(&bench);
    ck_assert_int_eq(bench.err, DG_OK);
    ck_assert_str_eq(bench.put_epoch, EPOCH_2);
    end(&bench);
}
END_TEST

START_TEST(nonsense_changes_nothing)
{
    static const char *const says[] = {
        "+OK\r\n",
        ":7\r\n",
        "$-1\r\n",
        "*0\r\n",
        "-WRONGTYPE it is a string\r\n",
        "$4\r\ntext\r\n",
        "*3\r\n:1\r\n:2\r\n:3\r\n",
        "*3\r\n$5\r\nepoch\r\n$1\r\n1\r\n$1\r\n1\r\n",
        "*3\r\n$32\r\n" EPOCH_2 "\r\n$1\r\nx\r\n$1\r\n1\r\n",
        "*3\r\n$32\r\n" EPOCH_2 "\r\n$17\r\n11111111111111111\r\n$1\r\n1\r\n",
        "*4\r\n$32\r\n" EPOCH_2 "\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\na\r\n",
        "*6\r\n$32\r\n" EPOCH_2 "\r\n$1\r\n1\r\n$1\r\n1\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\na\r\n",
        "*6\r\n$32\r\n" EPOCH_2 "\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\na\r\n$2\r\n-1\r\n$1\r\na\r\n",
        "*6\r\n$32\r\n" EPOCH_2 "\r\n$1\r\n1\r\n$1\r\n1\r\n$1\r\na\r\n$-1\r\n$1\r\na\r\n",
    };
    struct bench bench;
    begin(&bench);
    await_told(&bench, "reset;complete;");
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        bench.sync_says = says[i];
        await_syncs(&bench);
        ck_assert_str_eq(bench.told, "");
    }
    bench.sync_says = NULL;
    for (size_t i = 0; i < 6; i++) {
        bench.put_says = says[i];
        bench.n_answers = 0;
        dg_redis_table_put(bench.table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, &bench);
        await_answer(&bench);
        ck_assert_int_eq(bench.err, DG_ERR_BUSY);
    }
    end(&bench);
}
END_TEST

START_TEST(is_current_only_while_redis_tells_it_the_news)
{
    struct bench bench;
    begin(&bench);
    ck_assert(dg_redis_table_is_current(NULL));
    ck_assert(!dg_redis_table_is_current(bench.table));
    await_told(&bench, "reset;complete;");
    ck_assert(dg_redis_table_is_current(bench.table));
    bench.sync_says = "+OK\r\n";
    while (dg_redis_table_is_current(bench.table))
        turn(&bench);
    bench.sync_says = NULL;
    bench.upto = "1";
    bench.rows[0] = "a", bench.rows[1] = "1", bench.rows[2] = "text";
    await_told(&bench, "a=text@1;");
    while (!dg_redis_table_is_current(bench.table))
        turn(&bench);
    end(&bench);
}
END_TEST

START_TEST(answers_what_waits_when_it_is_closed)
{
    struct bench bench;
    begin(&bench);
    await_told(&bench, "reset;complete;");
    dg_redis_table_put(bench.table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, &bench);
    dg_redis_table_close(bench.table);
    ck_assert_int_eq(bench.n_answers, 1);
    ck_assert_int_eq(bench.err, DG_ERR_CLOSED);
    dg_redis_table_put(bench.table, DG_SPAN("a"), DG_SPAN("text"), 0, on_answer, &bench);
    ck_assert_int_eq(bench.n_answers, 2);
    ck_assert_int_eq(bench.err, DG_ERR_CLOSED);
    end(&bench);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {tells_rows_and_when_all_have_come,
                                  answers_a_change_when_every_server_knows_it,
                                  says_when_there_is_a_newer_version,
                                  a_change_that_redis_lost_before_we_knew_it_is_in_doubt,
                                  a_change_that_we_know_outlives_the_table,
                                  a_change_meant_for_a_lost_table_is_sent_again,
                                  nonsense_changes_nothing,
                                  is_current_only_while_redis_tells_it_the_news,
                                  answers_what_waits_when_it_is_closed};
    return dg_unit_run(__FILE__, tests, sizeof tests / sizeof *tests, DG_TORTURE_DENSE);
}
