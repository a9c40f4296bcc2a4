/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "daemon/systemd.h"
#include "config.h"
#include "unit.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef DG_HAVE_SYSTEMD

static char dir[] = "/tmp/dragoman-notify-XXXXXX";
static char path[64];

/* The socket that systemd would listen on. */
static int open_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/notify", dir);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", path, 1);
    return fd;
}

static void close_socket(int fd)
{
    unsetenv("NOTIFY_SOCKET");
    close(fd);
    unlink(path);
    rmdir(dir);
}

/* The next message to systemd; "" when there is none; static. */
static const char *notice(int fd)
{
    static char text[500];
    ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(asks_for_time_with_a_status)
{
    int fd = open_socket();
    dg_systemd_extend("loading fr-en, model 1 of 2", 2000);
    ck_assert_str_eq(notice(fd), "EXTEND_TIMEOUT_USEC=2000000\nSTATUS=loading fr-en, model 1 of 2");
    dg_systemd_ready("serving");
    ck_assert_str_eq(notice(fd), "READY=1\nSTATUS=serving");
    close_socket(fd);
}
END_TEST

struct patient {
    uv_loop_t loop;
    struct dg_systemd_watchdog watchdog;
    int n_asked;
    uint64_t period_ns;
};

/* Reports that all is well twice; the fourth call ends the test. */
static bool is_well(void *user, uint64_t period_ns)
{
    struct patient *patient = user;
    patient->period_ns = period_ns;
    if (++patient->n_asked == 4)
        dg_systemd_watchdog_close(&patient->watchdog);
    return patient->n_asked <= 2;
}

START_TEST(feeds_the_watchdog_only_while_all_is_well)
{
    struct patient patient = {.n_asked = 0};
    char own[32];
    int fd = open_socket();
    snprintf(own, sizeof own, "%ld", (long)getpid());
    setenv("WATCHDOG_USEC", "4000", 1);
    setenv("WATCHDOG_PID", own, 1);
    ck_assert_int_eq(uv_loop_init(&patient.loop), 0);
    dg_systemd_watchdog_open(&patient.watchdog, &patient.loop, is_well, &patient);
    uv_run(&patient.loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&patient.loop), 0);
    ck_assert_int_eq(patient.n_asked, 4);
    ck_assert_uint_eq(patient.period_ns, 4000000);
    ck_assert_str_eq(notice(fd), "WATCHDOG=1");
    ck_assert_str_eq(notice(fd), "WATCHDOG=1");
    ck_assert_str_eq(notice(fd), "");
    close_socket(fd);
}
END_TEST

DG_UNIT(asks_for_time_with_a_status, feeds_the_watchdog_only_while_all_is_well)

#else

START_TEST(says_nothing_without_libsystemd)
{
    int first_fd;
    ck_assert_int_eq(dg_systemd_sockets(&first_fd), 0);
    dg_systemd_ready("serving");
}
END_TEST

DG_UNIT(says_nothing_without_libsystemd)

#endif
