/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The steps of one server, for which the test plays Redis and writes what other servers did.
 * tests/integration/60_cluster.py has several real servers. */
#include "api/jobs/bulk_int.h"
#include "api/jobs/shared_jobs.h"
#include "fake_redis.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000 };

#define EPOCH_1 "11111111111111111111111111111111"
#define EPOCH_2 "22222222222222222222222222222222"

static const char id[] = "0123456789abcdef0123456789abcdef";

enum script { SYNC, WORK, SUBMIT, COUNT, FINISH, PUT, N_SCRIPTS };

struct bench {
    uv_loop_t loop;
    struct fake_redis fake;
    struct dg_redis *redis;
    struct dg_jobs jobs;
    struct dg_bulk *bulk;
    uv_timer_t alarm;
    bool is_late;
    char dir[DG_TMPDIR_CAP];

    /* Redis's answers: one for each script, and the rows of its table. */
    const char *says[N_SCRIPTS]; /* NULL: there is no part to do; all is well */
    const char *epoch, *upto, *rows[6];
    int n[N_SCRIPTS];
    char last[N_SCRIPTS][2000]; /* the row that was sent */
    char stream[N_SCRIPTS][40]; /* of parts, where there is one */
};

/* ---- What Redis says ------------------------------------------------------------------------- */

static bool has(struct dg_span text, const char *word)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%.*s", DG_SPAN_FMT(text));
    return strstr(copy, word) != NULL;
}

static enum script script_of(struct dg_span text)
{
    return has(text, "XREADGROUP")    ? WORK
           : has(text, "jobs:once:")  ? SUBMIT
           : has(text, "HSETNX")      ? COUNT
           : has(text, "'XACK'")      ? FINISH
           : has(text, "return {1, ") ? PUT
                                      : SYNC;
}

static void say_rows(struct bench *bench, const struct dg_span *args)
{
    const char *texts[9] = {bench->epoch, bench->upto, bench->upto};
    size_t n = 3;
    const bool is_behind = !dg_span_eq(args[10], dg_span_cstr(bench->upto)) ||
                           !dg_span_eq(args[9], dg_span_cstr(bench->epoch));
    for (size_t i = 0; i < 6 && bench->rows[i] && is_behind; i++)
        texts[n++] = bench->rows[i];
    fake_redis_say_texts(&bench->fake, n, texts);
}

static void answer(struct fake_redis *fake, const struct dg_span *args, size_t n)
{
    struct bench *bench = fake->user;
    if (!dg_span_eq(args[0], DG_SPAN("EVAL"))) {
        fake_redis_say(fake, ":1\r\n"); /* XACK, XDEL */
        return;
    }
    const enum script script = script_of(args[1]);
    const struct dg_span row = script == FINISH   ? args[14]
                               : script == SUBMIT ? args[13]
                               : script == PUT    ? args[12]
                                                  : DG_SPAN("");
    snprintf(bench->last[script], sizeof bench->last[script], "%.*s", DG_SPAN_FMT(row));
    const struct dg_span stream = script == WORK                        ? args[3]
                                  : script == FINISH || script == COUNT ? args[9]
                                                                        : DG_SPAN("");
    snprintf(bench->stream[script], sizeof bench->stream[script], "%.*s", DG_SPAN_FMT(stream));
    bench->n[script]++;
    if (bench->says[script])
        fake_redis_say(fake, bench->says[script]);
    else if (script == SYNC)
        say_rows(bench, args);
    else
        fake_redis_say(fake, script == WORK ? "*0\r\n" : "*3\r\n:1\r\n:0\r\n:0\r\n");
    (void)n;
}

/* ---- The bench ------------------------------------------------------------------------------- */

static void on_alarm(uv_timer_t *timer)
{
    ((struct bench *)timer->data)->is_late = true;
}

static void turn(struct bench *bench)
{
    uv_run(&bench->loop, UV_RUN_ONCE);
    dg_bulk_retry(bench->bulk); /* once a second in the daemon */
    ck_assert(!bench->is_late);
}

#define AWAIT(bench, condition)                                                                    \
    while (!(condition))                                                                           \
    turn(bench)

static void write_file(const struct bench *bench, const char *kind, const char *text)
{
    char path[DG_BULK_PATH_MAX];
    ck_assert_int_eq(dg_bulk_path(path, bench->dir, id, kind), DG_OK);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static bool has_file(const struct bench *bench, const char *kind)
{
    char path[DG_BULK_PATH_MAX];
    ck_assert_int_eq(dg_bulk_path(path, bench->dir, id, kind), DG_OK);
    return access(path, F_OK) == 0;
}

/* Other members that the row has. */
static const char *row_more = "";

/* The row of a job of two lines in three parts, the last of which is empty and needs no engine. */
static const char *row(const char *state, int done, int bytes)
{
    static char text[500];
    snprintf(text, sizeof text,
             "{\"version\":1,\"owner\":\"\",\"address\":\"\",\"parts\":3,\"models\":[],"
             "\"id\":\"%s\",\"state\":\"%s\",\"format\":\"text\",\"created\":1,\"finished\":%s,"
             "\"lines\":2,\"done\":%d,\"failed\":0,\"input_bytes\":8,\"output_bytes\":%d,"
             "%s\"options\":{\"target\":\"en\"}}",
             id, state, strcmp(state, "done") == 0 ? "99999999999" : "null", done, bytes, row_more);
    return text;
}

static void begin(struct bench *bench)
{
    struct dg_clock clock = DG_CLOCK_REAL;
    *bench = (struct bench){.epoch = EPOCH_1, .upto = "0"};
    dg_tmpdir_make(bench->dir);
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    uv_timer_init(&bench->loop, &bench->alarm);
    bench->alarm.data = bench;
    uv_timer_start(&bench->alarm, on_alarm, PATIENCE_MS, 0);
    dg_jobs_init(&bench->jobs, &clock);
    write_file(bench, "in", "un\ndeux\n");
}

static void open_bulk(struct bench *bench)
{
    struct dg_error error = DG_ERROR_NONE;
    fake_redis_start(&bench->fake, &bench->loop, bench->dir, answer, bench);
    const struct dg_redis_opts redis_opts = {
        .addresses = bench->fake.address, .sentinel = "", .user = "", .password = ""};
    ck_assert_int_eq(dg_redis_open(&bench->loop, &redis_opts, NULL, &error, &bench->redis), DG_OK);
    const struct dg_bulk_opts opts = {.dir = bench->dir,
                                      .bytes_max = 1000,
                                      .space_max = 10000,
                                      .jobs_max = 10,
                                      .retention_s = 3600,
                                      .line_max = 1000,
                                      .redis = bench->redis};
    ck_assert_msg(
        dg_bulk_open(&bench->bulk, &opts, &bench->loop, NULL, &bench->jobs, NULL, &error) == DG_OK,
        "%s", error.text);
}

static void end(struct bench *bench)
{
    dg_bulk_close(bench->bulk);
    dg_redis_close(bench->redis);
    fake_redis_stop(&bench->fake);
    uv_close((uv_handle_t *)&bench->alarm, NULL);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    dg_redis_free(bench->redis);
    dg_jobs_deinit(&bench->jobs);
    dg_tmpdir_remove(bench->dir);
}

static const struct dg_bulk_job *job_of(struct bench *bench)
{
    return dg_bulk_find(bench->bulk, dg_span_cstr(id));
}

static bool is_state(struct bench *bench, enum dg_bulk_state state)
{
    const struct dg_bulk_job *job = job_of(bench);
    return job && dg_bulk_state(job) == state;
}

/* The table says that the job exists, and the stream that its last part must be done; the other
 * parts are done. */
static void begin_last_part(struct bench *bench)
{
    begin(bench);
    write_file(bench, "json", row("waiting", 0, 0));
    write_file(bench, "p000000", "one\n");
    write_file(bench, "p000001", "two\n");
    bench->upto = "2";
    bench->rows[0] = id, bench->rows[1] = "2", bench->rows[2] = row("waiting", 0, 0);
    bench->says[WORK] = "*4\r\n$3\r\n1-1\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n"
                        "$7\r\n2 8 8 2\r\n$1\r\n1\r\n";
    open_bulk(bench);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(the_last_part_ends_the_job)
{
    struct bench bench;
    begin_last_part(&bench);
    AWAIT(&bench, is_state(&bench, DG_BULK_DONE) && !has_file(&bench, "p000000"));
    ck_assert_int_eq(job_of(&bench)->out_bytes, 8);
    ck_assert_int_eq(job_of(&bench)->n_done, 2);
    ck_assert(has_file(&bench, "out"));
    ck_assert(strstr(bench.last[FINISH], "\"state\":\"done\""));
    ck_assert(strstr(bench.last[FINISH], "\"output_bytes\":8"));
    end(&bench);
}
END_TEST

START_TEST(documents_have_a_stream_of_their_own)
{
    struct bench bench;
    row_more = "\"document\":\"a.txt\",\"api\":\"deepl\",";
    begin_last_part(&bench);
    AWAIT(&bench, is_state(&bench, DG_BULK_DONE));
    ck_assert_str_eq(bench.stream[WORK], "dragoman:1:jobs:documents");
    ck_assert_str_eq(bench.stream[COUNT], "dragoman:1:jobs:documents");
    ck_assert_str_eq(bench.stream[FINISH], "dragoman:1:jobs:documents");
    ck_assert(strstr(bench.last[FINISH], "\"api\":\"deepl\""));
    /* kept for a minute, for clients that ask again */
    dg_bulk_fetched(bench.bulk, dg_span_cstr(id));
    ck_assert_ptr_nonnull(job_of(&bench));
    bench.last[FINISH][0] = 'x';
    bench.bulk->clock = (struct dg_clock)DG_CLOCK_VIRTUAL(dg_clock_now(&bench.bulk->clock));
    dg_clock_advance(&bench.bulk->clock, 61 * DG_CLOCK_S);
    dg_bulk_tick(bench.bulk);
    AWAIT(&bench, !bench.last[FINISH][0]); /* no row: it is removed */
    end(&bench);
    row_more = "";
}
END_TEST

/* A job of 300 lines was done when it had 200: its result was complete on the disk, Redis lost
 * everything, another server began the job again, two of its three parts were counted there, and
 * this server reported the job as done, with the bytes of those two. */
START_TEST(a_table_that_begins_anew_does_not_shorten_a_result)
{
    struct bench bench;
    begin_last_part(&bench);
    bench.says[FINISH] = "*2\r\n:-1\r\n:0\r\n"; /* Redis has lost the table */
    AWAIT(&bench, bench.n[FINISH] > 0);
    bench.epoch = EPOCH_2;
    bench.upto = "4";
    bench.rows[1] = "3";
    bench.rows[3] = "0123456789abcdef0123456789abcdef.p", bench.rows[4] = "4",
    bench.rows[5] = "1 0 4";
    bench.says[FINISH] = "*2\r\n:0\r\n:3\r\n"; /* after that, another version of the job */
    AWAIT(&bench, job_of(&bench)->out_bytes == 4);
    const int before = bench.n[FINISH];
    AWAIT(&bench, bench.n[FINISH] >= before + 2);
    bench.says[FINISH] = NULL;
    AWAIT(&bench, is_state(&bench, DG_BULK_DONE));
    ck_assert_int_eq(job_of(&bench)->out_bytes, 8);
    ck_assert_int_eq(job_of(&bench)->n_done, 2);
    ck_assert(strstr(bench.last[FINISH], "\"output_bytes\":8"));
    ck_assert(strstr(bench.last[FINISH], "\"done\":2"));
    end(&bench);
}
END_TEST

START_TEST(parts_that_lack_a_line_begin_anew)
{
    struct bench bench;
    begin_last_part(&bench);
    write_file(&bench, "p000001", "");
    AWAIT(&bench, bench.n[SUBMIT] > 0);
    ck_assert_int_eq(bench.n[FINISH], 0);
    ck_assert(strstr(bench.last[SUBMIT], "\"state\":\"waiting\""));
    ck_assert(strstr(bench.last[SUBMIT], "\"done\":0"));
    end(&bench);
}
END_TEST

/* Every server sends a job that Redis has lost, and the job that is sent first counts; the other
 * servers may not know that yet when they are told. */
START_TEST(a_job_that_another_server_sent_again_keeps_its_files)
{
    struct bench bench;
    begin(&bench);
    write_file(&bench, "json", row("waiting", 0, 0));
    bench.says[SUBMIT] = "*2\r\n:0\r\n:5\r\n";
    open_bulk(&bench);
    AWAIT(&bench, bench.n[SUBMIT] > 0);
    const uint64_t began = uv_now(&bench.loop);
    AWAIT(&bench, uv_now(&bench.loop) > began + 2500); /* longer than a change waits for news */
    ck_assert(has_file(&bench, "in") && has_file(&bench, "json"));
    ck_assert_ptr_nonnull(job_of(&bench));
    end(&bench);
}
END_TEST

START_TEST(a_job_that_another_replaces_is_forgotten)
{
    struct bench bench;
    begin(&bench);
    write_file(&bench, "json", row("waiting", 0, 0));
    bench.says[SUBMIT] = "*3\r\n:0\r\n:0\r\n:1\r\n"; /* another job has its idempotency key */
    open_bulk(&bench);
    AWAIT(&bench, !job_of(&bench) && !has_file(&bench, "in"));
    end(&bench);
}
END_TEST

START_TEST(a_job_that_is_over_does_not_begin_anew)
{
    struct bench bench;
    begin(&bench);
    write_file(&bench, "json", row("done", 2, 8));
    bench.upto = "2";
    bench.rows[0] = id, bench.rows[1] = "2", bench.rows[2] = row("waiting", 0, 0);
    open_bulk(&bench);
    AWAIT(&bench, bench.n[FINISH] > 0);
    ck_assert(strstr(bench.last[FINISH], "\"state\":\"done\""));
    ck_assert(is_state(&bench, DG_BULK_DONE));
    ck_assert_int_eq(job_of(&bench)->out_bytes, 8);
    end(&bench);
}
END_TEST

/* Another server removes the job and its files while this one is about to write that it was
 * cancelled, and works on a part. */
START_TEST(a_server_removes_what_it_writes_of_a_job_that_another_removed)
{
    struct bench bench;
    begin_last_part(&bench);
    bench.says[COUNT] = "*2\r\n:-1\r\n:0\r\n"; /* the part is never counted */
    AWAIT(&bench, bench.n[COUNT] > 0 && has_file(&bench, "p000002"));
    AWAIT(&bench, !dg_list_is_empty(&bench.bulk->jobs));
    struct dg_bulk_job *job = DG_LIST_ITEM(bench.bulk->jobs.next, struct dg_bulk_job, link);
    job->state = DG_BULK_CANCELLED;
    dg_bulk_save(job);
    bench.upto = "3";
    bench.rows[1] = "3", bench.rows[2] = "";
    AWAIT(&bench, !job_of(&bench) && !has_file(&bench, "p000002"));
    ck_assert(!has_file(&bench, "json") && !has_file(&bench, "in") && !has_file(&bench, "p000000"));
    end(&bench);
}
END_TEST

START_TEST(files_that_cannot_be_removed_are_tried_again)
{
    struct bench bench;
    char path[DG_BULK_PATH_MAX];
    begin(&bench);
    write_file(&bench, "json", row("done", 2, 8));
    ck_assert_int_eq(dg_bulk_path(path, bench.dir, id, "out"), DG_OK);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    bench.upto = "2";
    bench.rows[0] = id, bench.rows[1] = "2", bench.rows[2] = row("done", 2, 8);
    open_bulk(&bench);
    AWAIT(&bench, job_of(&bench));
    bench.upto = "3";
    bench.rows[1] = "3", bench.rows[2] = "";
    AWAIT(&bench, !job_of(&bench) && !has_file(&bench, "in"));
    ck_assert(!has_file(&bench, "json") && has_file(&bench, "out"));
    write_file(&bench, "in", "the first attempt is past this file\n");
    AWAIT(&bench, !has_file(&bench, "in"));
    ck_assert(has_file(&bench, "out"));
    ck_assert_int_eq(rmdir(path), 0);
    end(&bench);
}
END_TEST

static void count_bill(void *ctx, const struct dg_bulk_job *job)
{
    ck_assert_uint_eq(job->bill.requests, 1);
    ck_assert_uint_eq(job->bill.characters, 100);
    ++*(int *)ctx;
}

/* A refund for which Redis was asked while it cannot answer would be lost. */
START_TEST(a_bill_is_told_of_once_and_only_while_redis_answers)
{
    struct bench bench;
    int n_bills = 0;
    row_more = "\"bill\":[1,100,0,0,0,0,1000,202611,0],";
    begin(&bench);
    write_file(&bench, "json", row("done", 2, 8));
    bench.upto = "2";
    bench.rows[0] = id, bench.rows[1] = "2", bench.rows[2] = row("done", 2, 8);
    bench.says[SYNC] = "-LOADING Redis is loading the dataset in memory\r\n";
    open_bulk(&bench);
    dg_bulk_on_bill(bench.bulk, count_bill, &n_bills);
    AWAIT(&bench, job_of(&bench) && bench.n[SYNC] >= 3);
    ck_assert_int_eq(n_bills, 0);
    bench.says[SYNC] = NULL;
    const int n_before = bench.n[SYNC];
    AWAIT(&bench, n_bills > 0 && bench.n[SYNC] >= n_before + 3);
    ck_assert_int_eq(n_bills, 1);
    end(&bench);
    row_more = "";
}
END_TEST

START_TEST(nonsense_about_work_and_rows_is_left_alone)
{
    static const char *const works[] = {
        "+OK\r\n",
        "*1\r\n:1\r\n",
        "$-1\r\n",
        "-WRONGTYPE\r\n",
        "*4\r\n$3\r\n1-1\r\n$3\r\nabc\r\n$7\r\n2 8 8 2\r\n$1\r\n1\r\n",
        "*4\r\n$3\r\n1-1\r\n$32\r\n0123456789abcdef0123456789abcdeX\r\n$7\r\n2 8 8 "
        "2\r\n$1\r\n1\r\n",
        "*4\r\n$3\r\n1-1\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n$7\r\n2 8 7 "
        "2\r\n$1\r\n1\r\n",
        "*4\r\n$3\r\n1-1\r\n$32\r\n0123456789abcdef0123456789abcdef\r\n$-1\r\n$-1\r\n",
        "*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n",
    };
    struct bench bench;
    begin(&bench);
    write_file(&bench, "json", row("waiting", 0, 0));
    bench.upto = "3";
    bench.rows[0] = id, bench.rows[1] = "2", bench.rows[2] = "{\"version\":1,";
    bench.rows[3] = "0123456789abcdef0123456789abcdef.p", bench.rows[4] = "3",
    bench.rows[5] = "nonsense";
    open_bulk(&bench);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        const int before = bench.n[WORK];
        bench.says[WORK] = works[i];
        AWAIT(&bench, bench.n[WORK] >= before + 2);
    }
    ck_assert(is_state(&bench, DG_BULK_WAITING));
    ck_assert_int_eq(bench.n[COUNT] + bench.n[FINISH], 0);
    end(&bench);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {the_last_part_ends_the_job,
                                  documents_have_a_stream_of_their_own,
                                  a_table_that_begins_anew_does_not_shorten_a_result,
                                  parts_that_lack_a_line_begin_anew,
                                  a_job_that_another_server_sent_again_keeps_its_files,
                                  a_job_that_another_replaces_is_forgotten,
                                  a_job_that_is_over_does_not_begin_anew,
                                  a_server_removes_what_it_writes_of_a_job_that_another_removed,
                                  files_that_cannot_be_removed_are_tried_again,
                                  a_bill_is_told_of_once_and_only_while_redis_answers,
                                  nonsense_about_work_and_rows_is_left_alone};
    return dg_unit_run(__FILE__, tests, sizeof tests / sizeof *tests, DG_TORTURE_DENSE);
}
