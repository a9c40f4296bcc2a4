/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filter/subprocess.h"
#include "unit.h"

#include <stdlib.h>

enum { BYTES = 1 << 20 };

struct outcome {
    enum dg_err err;
    int status;
    struct dg_error error;
    struct dg_buf out, complaints;
};

static void run(struct outcome *outcome, const char *const *argv, struct dg_span in, size_t out_max,
                const atomic_bool *stop)
{
    const struct dg_subprocess helper = {
        .argv = argv, .in = in, .seconds = 60, .memory_max = (size_t)1 << 30, .stop = stop};
    *outcome = (struct outcome){.error = DG_ERROR_NONE};
    dg_buf_init(&outcome->out, out_max);
    dg_buf_init(&outcome->complaints, 8);
    outcome->err = dg_subprocess_run(&helper, &outcome->out, &outcome->complaints, &outcome->status,
                                     &outcome->error);
}

static void done(struct outcome *outcome)
{
    dg_buf_deinit(&outcome->out);
    dg_buf_deinit(&outcome->complaints);
}

START_TEST(bytes_go_in_and_come_out)
{
    static const char *const cat[] = {"/bin/cat", NULL};
    char *bytes = calloc(BYTES, 1);
    struct outcome outcome;
    ck_assert_ptr_nonnull(bytes);
    run(&outcome, cat, dg_span_make(bytes, BYTES), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_int_eq(outcome.status, 0);
    ck_assert(dg_span_eq(dg_buf_span(&outcome.out), dg_span_make(bytes, BYTES)));
    done(&outcome);
    run(&outcome, cat, DG_SPAN(""), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_uint_eq(outcome.out.len, 0);
    done(&outcome);
    free(bytes);
}
END_TEST

START_TEST(it_inherits_nothing)
{
    static const char *const env[] = {"/usr/bin/env", NULL};
    struct outcome outcome;
    run(&outcome, env, DG_SPAN(""), BYTES, NULL);
    ck_assert(dg_span_eq(dg_buf_span(&outcome.out), DG_SPAN("LC_ALL=C.UTF-8\n")));
    done(&outcome);
}
END_TEST

START_TEST(what_it_says_is_told)
{
    static const char *const fails[] = {"/bin/sh", "-c", "echo this is bad >&2; exit 3", NULL};
    static const char *const dies[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    static const char *const reads_nothing[] = {"/bin/sh", "-c", "exit 0", NULL};
    char *bytes = calloc(BYTES, 1);
    struct outcome outcome;
    ck_assert_ptr_nonnull(bytes);
    run(&outcome, fails, DG_SPAN("x"), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_int_eq(outcome.status, 3);
    ck_assert(dg_span_eq(dg_buf_span(&outcome.complaints), DG_SPAN("this is ")));
    done(&outcome);
    run(&outcome, dies, DG_SPAN(""), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_ERR_INTERNAL);
    done(&outcome);
    run(&outcome, reads_nothing, dg_span_make(bytes, BYTES), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_OK);
    done(&outcome);
    free(bytes);
}
END_TEST

START_TEST(it_is_ended)
{
    static const char *const sleeps[] = {"/bin/sleep", "1000", NULL};
    static const char *const hides[] = {"/bin/sh", "-c", "exec >&- 2>&-; exec sleep 1000", NULL};
    static const char *const cat[] = {"/bin/cat", NULL};
    static const char *const none[] = {"/no/such/program", NULL};
    static atomic_bool stop = true;
    const struct dg_subprocess hidden = {
        .argv = hides, .in = DG_SPAN(""), .seconds = 0, .memory_max = (size_t)1 << 30};
    struct outcome outcome;
    run(&outcome, sleeps, DG_SPAN(""), BYTES, &stop);
    ck_assert_int_eq(outcome.err, DG_ERR_CANCELLED);
    done(&outcome);
    run(&outcome, cat, DG_SPAN("more than this"), 4, NULL);
    ck_assert_int_eq(outcome.err, DG_ERR_LIMIT);
    done(&outcome);
    run(&outcome, none, DG_SPAN(""), BYTES, NULL);
    ck_assert_int_eq(outcome.err, DG_ERR_DENIED);
    ck_assert_ptr_nonnull(strstr(outcome.error.text, "cannot be started"));
    dg_buf_clear(&outcome.out);
    outcome.err =
        dg_subprocess_run(&hidden, &outcome.out, &outcome.complaints, &outcome.status, NULL);
    ck_assert_int_eq(outcome.err, DG_ERR_TIMEOUT);
    done(&outcome);
}
END_TEST

START_TEST(programs_are_found_on_the_path)
{
    char path[64];
    setenv("PATH", "relative:/no/such:/bin", 1);
    ck_assert(dg_subprocess_find("cat", path, sizeof path));
    ck_assert_str_eq(path, "/bin/cat");
    ck_assert(!dg_subprocess_find("no-such-program", path, sizeof path));
    setenv("PATH", "", 1);
    ck_assert(!dg_subprocess_find("cat", path, sizeof path));
}
END_TEST

DG_UNIT(bytes_go_in_and_come_out, it_inherits_nothing, what_it_says_is_told, it_is_ended,
        programs_are_found_on_the_path)
