/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* libuv turns signals into events by a pipe of its own. Until it listens, a handler only counts
 * them. After it has stopped listening a handler counts them again, because libuv restores the
 * default action: a second SIGTERM would kill a process that still has to write what keys have
 * used. (For some microseconds between the two it would.) */
#include "daemon/signals.h"

#include <signal.h>
#include <unistd.h>

static const int numbers[DG_SIGNALS_N] = {SIGTERM, SIGINT, SIGHUP};

/* How often each signal came while signals were held. A handler counts them and does not block
 * them: libraries may have started threads before main, and those would still let a blocked signal
 * through. */
static volatile sig_atomic_t held[DG_SIGNALS_N];

static volatile sig_atomic_t n_stops;

static void on_held(int number)
{
    for (int i = 0; i < DG_SIGNALS_N; i++)
        if (numbers[i] == number)
            held[i]++;
}

static void count_stop(int number)
{
    if (number != SIGHUP && ++n_stops > 2)
        _exit(1);
}

static void handle_by(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask); /* one signal at a time, because the counters are not atomic */
    for (int i = 0; i < DG_SIGNALS_N; i++)
        sigaction(numbers[i], &action, NULL);
}

void dg_signals_hold(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    handle_by(on_held);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

/* Raises again what came before libuv listened. */
static void release_held(void)
{
    for (int i = 0; i < DG_SIGNALS_N; i++)
        for (; held[i] > 0; held[i]--)
            raise(numbers[i]);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct dg_signals *signals = handle->data;
    if (number == SIGHUP) {
        signals->handlers->on_reload(signals->user);
        return;
    }
    count_stop(number);
    signals->handlers->on_stop(signals->user, n_stops);
}

enum dg_err dg_signals_open(struct dg_signals *signals, uv_loop_t *loop,
                            const struct dg_signals_handlers *handlers, void *user,
                            struct dg_error *error)
{
    *signals = (struct dg_signals){.handlers = handlers, .user = user, .open = true};
    int code = 0;
    for (int i = 0; i < DG_SIGNALS_N; i++) {
        uv_signal_init(loop, &signals->handles[i]); /* fails only if the loop's own pipe failed */
        signals->handles[i].data = signals;
    }
    for (int i = 0; i < DG_SIGNALS_N && code == 0; i++)
        code = uv_signal_start(&signals->handles[i], on_signal, numbers[i]);
    if (code != 0) {
        dg_signals_close(signals);
        return dg_error_set(error, dg_err_from_errno(-code), "cannot receive signals: %s",
                            uv_strerror(code));
    }
    release_held();
    return DG_OK;
}

void dg_signals_close(struct dg_signals *signals)
{
    if (!signals->open)
        return;
    signals->open = false;
    for (int i = 0; i < DG_SIGNALS_N; i++)
        uv_close((uv_handle_t *)&signals->handles[i], NULL);
    handle_by(count_stop);
}
