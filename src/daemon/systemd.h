/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What systemd wants to hear, and the sockets that it hands over. Without libsystemd, or not started
 * by it, all of this does nothing. The loop's thread.
 *
 *     n = dg_systemd_sockets(&first_fd);              descriptors first_fd .. first_fd + n - 1
 *     dg_systemd_watchdog_open(&watchdog, loop);
 *     dg_systemd_ready("serving on 127.0.0.1:8090"); */
#ifndef DG_DAEMON_SYSTEMD_H
#define DG_DAEMON_SYSTEMD_H

#include <stdbool.h>
#include <uv.h>

/* Number of sockets that were handed over, and the first; later calls say 0. */
int dg_systemd_sockets(int *first_fd);

void dg_systemd_ready(const char *status);
void dg_systemd_reloading(void);
void dg_systemd_stopping(void);

/* Tells the watchdog, while the loop turns, that it does; half as often as it asks for at the latest. */
struct dg_systemd_watchdog {
    uv_timer_t timer;
    bool open;
};
void dg_systemd_watchdog_open(struct dg_systemd_watchdog *watchdog, uv_loop_t *loop);
void dg_systemd_watchdog_close(struct dg_systemd_watchdog *watchdog); /* idempotent */

#endif
