/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "daemon/signals.h"
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
    int n_stops, n_reloads;
};

static void on_stop(void *user, int nth)
{
    struct seen *seen = user;
    ck_assert_int_eq(nth, ++seen->n_stops);
}

static void on_reload(void *user)
{
    ((struct seen *)user)->n_reloads++;
}

static const struct dg_signals_handlers handlers = {.on_stop = on_stop, .on_reload = on_reload};

/* Signals that were held arrive as events. After the close, while the process ends, only the third
 * stop kills it. */
START_TEST(no_signal_kills_before_the_loop_listens_or_after_it_has_listened)
{
    struct seen seen = {0};
    struct dg_signals signals;
    struct dg_error error;
    uv_loop_t loop;
    int status = 0;
    dg_signals_hold();
    raise(SIGHUP);
    raise(SIGTERM);
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    ck_assert_int_eq(dg_signals_open(&signals, &loop, &handlers, &seen, &error), DG_OK);
    while (seen.n_stops + seen.n_reloads < 2)
        uv_run(&loop, UV_RUN_ONCE);
    dg_signals_close(&signals);
    uv_run(&loop, UV_RUN_DEFAULT);
    raise(SIGTERM);
    raise(SIGHUP);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    ck_assert_int_eq(seen.n_stops + seen.n_reloads, 2);
    const pid_t child = fork();
    if (child == 0) {
        raise(SIGINT);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    for (int i = 0; i < 3; i++)
        signal((const int[]){SIGTERM, SIGINT, SIGHUP}[i], SIG_DFL);
}
END_TEST

DG_UNIT(no_signal_kills_before_the_loop_listens_or_after_it_has_listened)
