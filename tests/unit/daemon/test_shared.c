/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The client of Redis and the shared quota, with a redis-server of the test's own on a Unix
 * socket. */
#include "access/quota_local.h"
#include "access/usage.h"
#include "daemon/shared_quota.h"
#include "net/loop/redis.h"
#include "tmpdir.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

static char dir[DG_TMPDIR_CAP];
static char socket_path[DG_TMPDIR_CAP + 16];
static pid_t server;

static void start_server(void)
{
    server = fork();
    ck_assert_int_ge(server, 0);
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--save",
               "", "--appendonly", "no", "--dir", dir, "--logfile", "log", "--requirepass",
               "secret", (char *)NULL);
        _exit(127);
    }
}

static void stop_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = 0;
}

/* ---- The bench ------------------------------------------------------------------------------- */

struct bench {
    uv_loop_t loop;
    struct dg_redis *redis;
    uv_timer_t alarm;
    bool is_late;
    int n_replies;
    enum dg_redis_kind kind;
    char text[100];
    int64_t number;
};

static void on_alarm(uv_timer_t *timer)
{
    struct bench *bench = timer->data;
    bench->is_late = true;
}

/* One turn of the loop, which blocks for a moment at most, so that the caller can check the time
 * again. */
static void turn(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_NOWAIT);
    usleep(500);
}

static void start_clock(struct bench *bench)
{
    bench->is_late = false;
    uv_update_time(&bench->loop);
    uv_timer_start(&bench->alarm, on_alarm, PATIENCE_MS, 0);
}

static bool is_up(const struct bench *bench)
{
    struct dg_redis_stats stats;
    dg_redis_read_stats(bench->redis, &stats);
    return stats.is_up;
}

static void wait_until(struct bench *bench, bool up)
{
    start_clock(bench);
    while (is_up(bench) != up && !bench->is_late)
        turn(bench);
    ck_assert_msg(!bench->is_late, "Redis did not get %s", up ? "up" : "away");
}

static void begin(struct bench *bench, const char *password)
{
    struct dg_error error = DG_ERROR_NONE;
    char address[DG_TMPDIR_CAP + 32];
    dg_tmpdir_make(dir);
    snprintf(socket_path, sizeof socket_path, "%s/socket", dir);
    snprintf(address, sizeof address, "unix:%s", socket_path);
    *bench = (struct bench){.n_replies = 0};
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    uv_timer_init(&bench->loop, &bench->alarm);
    bench->alarm.data = bench;
    const struct dg_redis_opts opts = {
        .addresses = address, .sentinel = "", .user = "", .password = password};
    ck_assert_msg(dg_redis_open(&bench->loop, &opts, NULL, &error, &bench->redis) == DG_OK, "%s",
                  error.text);
}

static void end(struct bench *bench)
{
    dg_redis_close(bench->redis);
    dg_redis_close(bench->redis); /* a second time nothing happens */
    uv_close((uv_handle_t *)&bench->alarm, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    dg_redis_free(bench->redis);
    stop_server();
    dg_tmpdir_remove(dir);
}

static void on_reply(void *ctx, const struct dg_redis_reply *reply)
{
    struct bench *bench = ctx;
    bench->n_replies++;
    bench->kind = reply->kind;
    snprintf(bench->text, sizeof bench->text, "%.*s", (int)reply->text.len,
             reply->text.ptr ? reply->text.ptr : "");
    bench->number = reply->n_numbers ? reply->numbers[0] : -1;
    for (size_t i = 0, at = 0; i < reply->n_texts; i++)
        at += (size_t)snprintf(bench->text + at, sizeof bench->text - at, "%.*s ",
                               (int)reply->texts[i].len,
                               reply->texts[i].ptr ? reply->texts[i].ptr : "");
}

/* Sends the words; their answer arrives in bench. */
static void say(struct bench *bench, size_t n, const char *const *words, uint64_t timeout_ms)
{
    struct dg_span args[DG_REDIS_ARGS_MAX];
    for (size_t i = 0; i < n; i++)
        args[i] = dg_span_cstr(words[i]);
    int before = bench->n_replies;
    uv_update_time(&bench->loop);
    ck_assert_ptr_nonnull(dg_redis_ask(bench->redis, args, n, timeout_ms, on_reply, bench));
    ck_assert_int_eq(bench->n_replies, before);
    start_clock(bench);
    while (bench->n_replies == before && !bench->is_late)
        turn(bench);
    ck_assert_int_eq(bench->n_replies, before + 1);
}

#define SAY(bench, ...)                                                                            \
    say(bench, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *),                        \
        (const char *const[]){__VA_ARGS__}, PATIENCE_MS)

/* ---- The client ------------------------------------------------------------------------------ */

START_TEST(reads_every_kind_of_answer)
{
    struct bench bench;
    begin(&bench, "secret");
    start_server();
    wait_until(&bench, true);
    SAY(&bench, "GET", "nothing");
    ck_assert_int_eq(bench.kind, DG_REDIS_NIL);
    SAY(&bench, "SET", "key", "two\nlines");
    ck_assert_int_eq(bench.kind, DG_REDIS_OK);
    SAY(&bench, "GET", "key");
    ck_assert_int_eq(bench.kind, DG_REDIS_TEXT);
    ck_assert_str_eq(bench.text, "two\nlines");
    SAY(&bench, "INCRBY", "n", "41");
    ck_assert_int_eq(bench.kind, DG_REDIS_NUMBERS);
    ck_assert_int_eq(bench.number, 41);
    SAY(&bench, "EVAL", "return {7, 8}", "0");
    ck_assert_int_eq(bench.number, 7);
    SAY(&bench, "EVAL", "return {'seven', {'of', {}, {'nine'}}, false}", "0");
    ck_assert_int_eq(bench.kind, DG_REDIS_TEXTS);
    ck_assert_str_eq(bench.text, "seven of nine  ");
    SAY(&bench, "EVAL", "return {}", "0");
    ck_assert_int_eq(bench.kind, DG_REDIS_TEXTS);
    SAY(&bench, "EVAL", "return {'seven', 8}", "0");
    ck_assert_int_eq(bench.kind, DG_REDIS_TEXTS);
    ck_assert_str_eq(bench.text, "seven 8 ");
    SAY(&bench, "NONSENSE");
    ck_assert_int_eq(bench.kind, DG_REDIS_REFUSED);
    end(&bench);
}
END_TEST

START_TEST(says_not_now_while_it_is_away_and_comes_back)
{
    struct bench bench;
    struct dg_span ping[] = {DG_SPAN("PING")};
    begin(&bench, "secret");
    for (int i = 0; i < 20; i++)
        turn(&bench);
    ck_assert_ptr_null(dg_redis_ask(bench.redis, ping, 1, 20, on_reply, &bench));
    for (int i = 0; i < 2; i++) {
        start_server();
        wait_until(&bench, true);
        SAY(&bench, "PING");
        ck_assert_int_eq(bench.kind, DG_REDIS_OK);
        stop_server();
        wait_until(&bench, false);
        ck_assert_ptr_null(dg_redis_ask(bench.redis, ping, 1, 20, on_reply, &bench));
    }
    end(&bench);
}
END_TEST

START_TEST(does_not_wait_for_one_that_stands_still)
{
    struct bench bench;
    struct dg_span ping[] = {DG_SPAN("PING")};
    begin(&bench, "secret");
    start_server();
    wait_until(&bench, true);
    kill(server, SIGSTOP);
    say(&bench, 1, (const char *const[]){"PING"}, 20);
    ck_assert_int_eq(bench.kind, DG_REDIS_NONE);
    /* the first is overdue */
    ck_assert_ptr_null(dg_redis_ask(bench.redis, ping, 1, 20, on_reply, &bench));
    wait_until(&bench, false); /* for too long */
    kill(server, SIGCONT);
    wait_until(&bench, true);
    SAY(&bench, "PING");
    ck_assert_int_eq(bench.kind, DG_REDIS_OK);
    end(&bench);
}
END_TEST

START_TEST(a_wrong_password_is_as_good_as_none)
{
    struct bench bench;
    struct dg_span ping[] = {DG_SPAN("PING")};
    begin(&bench, "guessed");
    start_server();
    for (int i = 0; i < 400; i++)
        turn(&bench);
    ck_assert(!is_up(&bench));
    ck_assert_ptr_null(dg_redis_ask(bench.redis, ping, 1, 20, on_reply, &bench));
    end(&bench);
}
END_TEST

START_TEST(tells_those_who_wait_when_it_is_closed)
{
    struct bench bench;
    struct dg_span ping[] = {DG_SPAN("PING")};
    begin(&bench, "secret");
    start_server();
    wait_until(&bench, true);
    struct dg_redis_ask *forgotten =
        dg_redis_ask(bench.redis, ping, 1, PATIENCE_MS, on_reply, &bench);
    ck_assert_ptr_nonnull(forgotten);
    dg_redis_forget(forgotten);
    ck_assert_ptr_nonnull(dg_redis_ask(bench.redis, ping, 1, PATIENCE_MS, on_reply, &bench));
    end(&bench);
    ck_assert_int_eq(bench.n_replies, 1);
    ck_assert_int_eq(bench.kind, DG_REDIS_NONE);
}
END_TEST

START_TEST(bounds_what_is_under_way)
{
    static char big[512 * 1024];
    struct bench bench;
    begin(&bench, "secret");
    start_server();
    wait_until(&bench, true);
    kill(server, SIGSTOP);
    struct dg_span set[] = {DG_SPAN("SET"), DG_SPAN("key"), {big, sizeof big}};
    int n = 0;
    while (n < 100 && dg_redis_ask(bench.redis, set, 3, PATIENCE_MS, NULL, NULL))
        n++;
    ck_assert_int_eq(n, DG_REDIS_BYTES_MAX / (int)sizeof big - 1);
    struct dg_span ping[] = {DG_SPAN("PING")};
    while (n < 10000 && dg_redis_ask(bench.redis, ping, 1, PATIENCE_MS, NULL, NULL))
        n++;
    ck_assert_int_eq(n, DG_REDIS_ASKS_MAX);
    kill(server, SIGCONT);
    end(&bench);
}
END_TEST

/* ---- Quotas ---------------------------------------------------------------------------------- */

struct verdicts {
    struct dg_quota_verdict last;
    int n;
};

static void on_verdict(void *ctx, const struct dg_quota_verdict *verdict)
{
    struct verdicts *verdicts = ctx;
    verdicts->last = *verdict;
    verdicts->n++;
}

/* Asks the shared quota and waits for its verdict. */
static struct dg_quota_verdict ask_shared(struct bench *bench, const struct dg_quota *quota,
                                          const struct dg_quota_ask *ask, bool takes)
{
    struct verdicts verdicts = {.n = 0};
    start_clock(bench);
    (void)(takes ? dg_quota_charge(quota, ask, on_verdict, &verdicts)
                 : dg_quota_peek(quota, ask, on_verdict, &verdicts));
    while (verdicts.n == 0 && !bench->is_late)
        turn(bench);
    ck_assert_int_eq(verdicts.n, 1);
    return verdicts.last;
}

/* A shared quota with a local one below it, and one more local one for comparison. */
struct quotas {
    struct dg_clock clock;
    struct dg_usage *usage[2];
    struct dg_quota_local *local[2];
    struct dg_shared_quota shared;
    struct dg_quota quota, compared;
};

static void make_quotas(struct quotas *quotas, struct bench *bench)
{
    *quotas = (struct quotas){.clock = DG_CLOCK_REAL};
    for (int i = 0; i < 2; i++) {
        char path[DG_TMPDIR_CAP + 32];
        struct dg_error error = DG_ERROR_NONE;
        snprintf(path, sizeof path, "%s/usage-%d", dir, i);
        ck_assert_msg(dg_usage_open(&quotas->clock, path, &error, &quotas->usage[i]) == DG_OK, "%s",
                      error.text);
        quotas->local[i] = dg_quota_local_new(&quotas->clock, quotas->usage[i], 100);
    }
    quotas->shared = (struct dg_shared_quota){.redis = bench->redis,
                                              .local = dg_quota_local(quotas->local[0]),
                                              .timeout_ms = PATIENCE_MS};
    quotas->quota = dg_shared_quota_ops(&quotas->shared);
    quotas->compared = dg_quota_local(quotas->local[1]);
}

static void free_quotas(struct quotas *quotas)
{
    dg_redis_close(quotas->shared.redis);
    dg_shared_quota_deinit(&quotas->shared);
    for (int i = 0; i < 2; i++) {
        dg_quota_local_free(quotas->local[i]);
        dg_usage_close(quotas->usage[i]);
    }
}

/* With Redis there, and quotas that count in it. */
static void begin_counting(struct bench *bench, struct quotas *quotas)
{
    begin(bench, "secret");
    start_server();
    wait_until(bench, true);
    make_quotas(quotas, bench);
}

START_TEST(counts_as_the_local_quota_does)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    uint64_t rng = 7;
    int n_refused = 0;
    for (int round = 0; round < 300; round++) {
        rng = rng * 6364136223846793005u + 1442695040888963407u;
        unsigned dice = (unsigned)(rng >> 33);
        /* Months only: they do not depend on the time. Address "b" and key "a" have no limit. */
        struct dg_quota_ask ask = {.kind = dice % 3 ? DG_QUOTA_KEY : DG_QUOTA_ADDRESS,
                                   .id = dice % 3 == 1 ? DG_SPAN("a") : DG_SPAN("b"),
                                   .limits = {[DG_QUOTA_MONTH] = dice % 3 == 2 ? 1000 : 0},
                                   .requests = 1,
                                   .characters = dice / 3 % 60};
        struct verdicts expected = {.n = 0};
        bool takes = dice % 5 != 0;
        struct dg_quota_verdict got = ask_shared(&bench, &quotas.quota, &ask, takes);
        (void)(takes ? dg_quota_charge(&quotas.compared, &ask, on_verdict, &expected)
                     : dg_quota_peek(&quotas.compared, &ask, on_verdict, &expected));
        ck_assert_int_eq(got.allowed, expected.last.allowed);
        ck_assert(!got.is_local);
        n_refused += !got.allowed;
        if (!got.allowed)
            ck_assert_int_eq(got.refused_by, expected.last.refused_by);
        if (ask.kind == DG_QUOTA_KEY) {
            ck_assert_uint_eq(got.month_requests, expected.last.month_requests);
            ck_assert_uint_eq(got.month_characters, expected.last.month_characters);
            ck_assert_uint_eq(got.windows[DG_QUOTA_MONTH].remaining,
                              expected.last.windows[DG_QUOTA_MONTH].remaining);
        }
        if (takes && got.allowed && dice % 7 == 0) {
            dg_quota_refund(&quotas.quota, &ask);
            dg_quota_refund(&quotas.compared, &ask);
        }
    }
    ck_assert_int_gt(n_refused, 0);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

START_TEST(windows_of_a_minute_fill_and_refuse)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {.kind = DG_QUOTA_ADDRESS,
                               .id = DG_SPAN("192.0.2.1"),
                               .limits = {[DG_QUOTA_REQUESTS] = 3, [DG_QUOTA_CHARACTERS] = 1000},
                               .requests = 1,
                               .characters = 10};
    for (unsigned n = 1; n <= 3; n++) {
        struct dg_quota_verdict verdict = ask_shared(&bench, &quotas.quota, &ask, true);
        ck_assert(verdict.allowed);
        ck_assert_uint_ge(verdict.windows[DG_QUOTA_REQUESTS].remaining, 3 - n);
        ck_assert_uint_eq(verdict.windows[DG_QUOTA_REQUESTS].limit, 3);
        ck_assert_uint_ge(verdict.windows[DG_QUOTA_CHARACTERS].remaining, 1000 - 10 * n);
        ck_assert_uint_eq(verdict.windows[DG_QUOTA_MONTH].limit, 0);
    }
    struct dg_quota_verdict verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_REQUESTS);
    ck_assert_uint_ge(verdict.retry_s, 1);
    ck_assert_uint_le(verdict.retry_s, 20);
    dg_quota_refund(&quotas.quota, &ask);
    ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    ask.id = DG_SPAN("192.0.2.3");
    ask.limits[DG_QUOTA_REQUESTS] = 0;
    ask.limits[DG_QUOTA_HOUR] = 2;
    ask.limits[DG_QUOTA_DAY] = 1000;
    ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert(verdict.allowed);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_HOUR].limit, 2);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_HOUR].remaining, 0);
    ck_assert_uint_eq(verdict.windows[DG_QUOTA_DAY].remaining, 998);
    verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert(!verdict.allowed);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_HOUR);
    ck_assert_uint_gt(verdict.retry_s, 60);
    ck_assert_uint_le(verdict.retry_s, 1800);
    dg_quota_refund(&quotas.quota, &ask);
    ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    ask.limits[DG_QUOTA_REQUESTS] = 3;
    ask.limits[DG_QUOTA_HOUR] = ask.limits[DG_QUOTA_DAY] = 0;
    /* More than a minute's limit passes through a full window, once. */
    ask.id = DG_SPAN("192.0.2.2");
    ask.characters = 2500;
    ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert_int_eq(verdict.refused_by, DG_QUOTA_CHARACTERS);
    ck_assert_uint_gt(verdict.retry_s, 60);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

START_TEST(decides_locally_while_redis_is_away)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY,
                               .id = DG_SPAN("alice"),
                               .limits = {[DG_QUOTA_MONTH] = 100},
                               .requests = 1,
                               .characters = 40};
    ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    stop_server();
    wait_until(&bench, false);
    struct dg_quota_verdict verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert(verdict.allowed && verdict.is_local);
    ck_assert_uint_eq(verdict.month_characters, 80); /* the first charge was counted, too */
    ck_assert(!ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

START_TEST(a_refund_goes_where_its_charge_was_taken)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {
        .kind = DG_QUOTA_KEY, .id = DG_SPAN("alice"), .requests = 1, .characters = 40};
    struct dg_quota_verdict verdict = ask_shared(&bench, &quotas.quota, &ask, true);
    ck_assert(verdict.allowed && !verdict.is_local);
    const unsigned month = verdict.month;
    ask.is_local = true; /* as if Redis had been away */
    dg_quota_refund(&quotas.quota, &ask);
    ask.is_local = false;
    ask.month = month - 1;
    dg_quota_refund(&quotas.quota, &ask);
    verdict = ask_shared(&bench, &quotas.quota, &ask, false);
    ck_assert_uint_eq(verdict.month_characters, 40);
    ck_assert_uint_eq(verdict.month_requests, 1);
    ask.month = month;
    dg_quota_refund(&quotas.quota, &ask);
    verdict = ask_shared(&bench, &quotas.quota, &ask, false);
    ck_assert_uint_eq(verdict.month_characters, 0);
    ck_assert_uint_eq(verdict.month_requests, 0);
    ck_assert_uint_eq(verdict.month, month);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

/* A cancelled question, whose answer nobody waits for, is still counted. */
START_TEST(a_cancelled_question_is_not_answered)
{
    struct bench bench;
    struct quotas quotas;
    struct verdicts verdicts = {.n = 0};
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY,
                               .id = DG_SPAN("alice"),
                               .limits = {[DG_QUOTA_MONTH] = 100},
                               .requests = 1,
                               .characters = 40};
    struct dg_quota_ticket *ticket = dg_quota_charge(&quotas.quota, &ask, on_verdict, &verdicts);
    ck_assert_ptr_nonnull(ticket);
    dg_quota_cancel(&quotas.quota, ticket);
    ck_assert_uint_eq(ask_shared(&bench, &quotas.quota, &ask, true).month_characters, 80);
    ck_assert_int_eq(verdicts.n, 0);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

START_TEST(what_servers_give_back_under_one_name_is_given_back_once)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY,
                               .id = DG_SPAN("gina"),
                               .limits = {[DG_QUOTA_MONTH] = 1000},
                               .requests = 1,
                               .characters = 100};
    for (int i = 0; i < 3; i++)
        ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    ask.once = DG_SPAN("0123456789abcdef0123456789abcdef");
    for (int i = 0; i < 3; i++)
        dg_quota_refund(&quotas.quota, &ask);
    ask.once = DG_SPAN("");
    const struct dg_quota_verdict left = ask_shared(&bench, &quotas.quota, &ask, false);
    ck_assert_uint_eq(left.month_characters, 200);
    ck_assert_uint_eq(left.month_requests, 2);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

/* Redis stands still: one refund waits for its answer, those after it are not even sent. */
START_TEST(refunds_wait_for_redis_and_are_made_once)
{
    struct bench bench;
    struct quotas quotas;
    begin_counting(&bench, &quotas);
    struct dg_quota_ask ask = {.kind = DG_QUOTA_KEY,
                               .id = DG_SPAN("hugo"),
                               .limits = {[DG_QUOTA_MONTH] = 10000},
                               .requests = 1,
                               .characters = 100};
    for (int i = 0; i < 8; i++)
        ck_assert(ask_shared(&bench, &quotas.quota, &ask, true).allowed);
    kill(server, SIGSTOP);
    dg_quota_refund(&quotas.quota, &ask);
    wait_until(&bench, false);
    dg_quota_refund(&quotas.quota, &ask);
    ask.once = DG_SPAN("0123456789abcdef0123456789abcdef");
    dg_quota_refund(&quotas.quota, &ask);
    dg_quota_refund(&quotas.quota, &ask);
    ask.once = DG_SPAN("");
    dg_shared_quota_turn(&quotas.shared);
    ck_assert_uint_eq(quotas.shared.n_refunds, 4);
    kill(server, SIGCONT);
    start_clock(&bench);
    while (quotas.shared.n_refunds && !bench.is_late) {
        turn(&bench);
        dg_shared_quota_turn(&quotas.shared);
    }
    ck_assert_uint_eq(quotas.shared.n_refunds, 0);
    const struct dg_quota_verdict left = ask_shared(&bench, &quotas.quota, &ask, false);
    ck_assert_uint_eq(left.month_characters, 500);
    ck_assert_uint_eq(left.month_requests, 5);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

START_TEST(refunds_are_held_up_to_a_bound)
{
    struct bench bench;
    struct quotas quotas;
    begin(&bench, "secret"); /* Redis never comes */
    make_quotas(&quotas, &bench);
    const struct dg_quota_ask ask = {
        .kind = DG_QUOTA_KEY, .id = DG_SPAN("ida"), .requests = 1, .characters = 1};
    for (int i = 0; i < DG_SHARED_QUOTA_HELD + 10; i++)
        dg_quota_refund(&quotas.quota, &ask);
    ck_assert_uint_eq(quotas.shared.n_refunds, DG_SHARED_QUOTA_HELD);
    free_quotas(&quotas);
    end(&bench);
}
END_TEST

static bool is_installed(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execlp("redis-server", "redis-server", "--version", (char *)NULL);
        _exit(127);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    const TTest *const tests[] = {reads_every_kind_of_answer,
                                  says_not_now_while_it_is_away_and_comes_back,
                                  does_not_wait_for_one_that_stands_still,
                                  a_wrong_password_is_as_good_as_none,
                                  tells_those_who_wait_when_it_is_closed,
                                  bounds_what_is_under_way,
                                  counts_as_the_local_quota_does,
                                  windows_of_a_minute_fill_and_refuse,
                                  decides_locally_while_redis_is_away,
                                  a_refund_goes_where_its_charge_was_taken,
                                  a_cancelled_question_is_not_answered,
                                  what_servers_give_back_under_one_name_is_given_back_once,
                                  refunds_wait_for_redis_and_are_made_once,
                                  refunds_are_held_up_to_a_bound};
    if (!is_installed()) {
        printf("skipped: needs redis-server\n");
        return 77;
    }
    return dg_unit_run(__FILE__, tests, sizeof tests / sizeof *tests, DG_TORTURE_DENSE);
}
