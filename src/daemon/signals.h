/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Signals as events of the loop. From the first line of main they are counted until the loop can
 * take them, so that a stop during start-up is neither lost nor kills the process at once.
 *
 *     dg_signals_hold();                                   first thing in main
 *     err = dg_signals_open(&signals, loop, &handlers, user, &error);
 *     uv_run(loop, UV_RUN_DEFAULT);
 *     dg_signals_close(&signals);                          the loop must run once more
 *
 * SIGTERM and SIGINT call on_stop(user, n): n is 1 for the first of them, 2 for the second. The
 * third ends the process there and then. SIGHUP calls on_reload. After the close, until the process
 * ends, they are only counted: the third of SIGTERM and SIGINT still ends it. SIGPIPE and SIGXFSZ
 * are ignored, because the failed write returns an error as well. */
#ifndef DG_DAEMON_SIGNALS_H
#define DG_DAEMON_SIGNALS_H

#include "base/memory/error.h"

#include <stdbool.h>
#include <uv.h>

struct dg_signals_handlers {
    void (*on_stop)(void *user, int nth);
    void (*on_reload)(void *user);
};

enum { DG_SIGNALS_N = 3 };

/* Embedded in its owner; must stay where it is until the loop has closed the handles. */
struct dg_signals {
    uv_signal_t handles[DG_SIGNALS_N];
    const struct dg_signals_handlers *handlers; /* borrowed */
    void *user;
    bool open;
};

void dg_signals_hold(void);

/* Signals that were held are delivered as events. On failure nothing is left open once the loop has
 * run. */
enum dg_err dg_signals_open(struct dg_signals *signals, uv_loop_t *loop,
                            const struct dg_signals_handlers *handlers, void *user,
                            struct dg_error *error) DG_MUST_CHECK;
void dg_signals_close(struct dg_signals *signals); /* idempotent */

#endif
