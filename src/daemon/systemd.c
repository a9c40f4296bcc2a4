/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The notifications of sd_notify(3), sd_listen_fds(3) and sd_watchdog_enabled(3). */
#include "daemon/systemd.h"

#include "config.h"

#ifdef DG_HAVE_SYSTEMD

#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

int dg_systemd_sockets(int *first_fd)
{
    int n = sd_listen_fds(1);
    *first_fd = SD_LISTEN_FDS_START;
    return n > 0 ? n : 0;
}

void dg_systemd_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void dg_systemd_reloading(void)
{
    struct timespec now; /* Type=notify-reload compares this time with the time of its request */
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
               (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void dg_systemd_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=finishing running requests");
}

void dg_systemd_extend(const char *status, uint64_t limit_ms)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=%s", limit_ms * 1000, status);
}

static void on_watchdog(uv_timer_t *timer)
{
    struct dg_systemd_watchdog *watchdog = timer->data;
    if (watchdog->is_well(watchdog->user, watchdog->period_ns))
        sd_notify(0, "WATCHDOG=1");
}

void dg_systemd_watchdog_open(struct dg_systemd_watchdog *watchdog, uv_loop_t *loop,
                              bool (*is_well)(void *user, uint64_t period_ns), void *user)
{
    uint64_t period_us = 0;
    if (sd_watchdog_enabled(1, &period_us) <= 0)
        return;
    uint64_t every_ms = period_us / 2000 > 0 ? period_us / 2000 : 1;
    watchdog->is_well = is_well;
    watchdog->user = user;
    watchdog->period_ns = period_us * 1000;
    uv_timer_init(loop, &watchdog->timer);
    watchdog->timer.data = watchdog;
    uv_timer_start(&watchdog->timer, on_watchdog, 0, every_ms);
    watchdog->open = true;
}

#else

int dg_systemd_sockets(int *first_fd)
{
    return 0;
}

void dg_systemd_ready(const char *status)
{
}

void dg_systemd_reloading(void)
{
}

void dg_systemd_stopping(void)
{
}

void dg_systemd_extend(const char *status, uint64_t limit_ms)
{
}

void dg_systemd_watchdog_open(struct dg_systemd_watchdog *watchdog, uv_loop_t *loop,
                              bool (*is_well)(void *user, uint64_t period_ns), void *user)
{
}

#endif

void dg_systemd_watchdog_close(struct dg_systemd_watchdog *watchdog)
{
    if (!watchdog->open)
        return;
    watchdog->open = false;
    uv_close((uv_handle_t *)&watchdog->timer, NULL);
}
