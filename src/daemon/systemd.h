/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Notifications to systemd, and the sockets that it hands over. Without libsystemd, or when systemd
 * did not start the process, all of this does nothing. The loop's thread.
 *
 *     n = dg_systemd_sockets(&first_fd);              descriptors first_fd .. first_fd + n - 1
 *     dg_systemd_extend("loading fr-en", limit_ms);   before a long step of the start or reload
 *     dg_systemd_watchdog_open(&watchdog, loop, is_well, user);
 *     dg_systemd_ready("serving on 127.0.0.1:8090"); */
#ifndef DG_DAEMON_SYSTEMD_H
#define DG_DAEMON_SYSTEMD_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Returns the number of sockets that systemd handed over, and sets *first_fd; later calls return
 * 0. */
int dg_systemd_sockets(int *first_fd);

void dg_systemd_ready(const char *status);
void dg_systemd_reloading(void);
void dg_systemd_stopping(void);

/* Shows `status`, and asks systemd to give the present start or reload `limit_ms` from now before
 * it counts as hung. Any thread. */
void dg_systemd_extend(const char *status, uint64_t limit_ms);

/* Notifies the watchdog twice in each of its periods, as long as the loop turns and
 * is_well(user, period_ns) is true. If it is not notified for a whole period, systemd kills the
 * process. */
struct dg_systemd_watchdog {
    uv_timer_t timer;
    bool (*is_well)(void *user, uint64_t period_ns);
    void *user;
    uint64_t period_ns;
    bool open;
};
void dg_systemd_watchdog_open(struct dg_systemd_watchdog *watchdog, uv_loop_t *loop,
                              bool (*is_well)(void *user, uint64_t period_ns), void *user);
void dg_systemd_watchdog_close(struct dg_systemd_watchdog *watchdog); /* idempotent */

#endif
