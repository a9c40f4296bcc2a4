/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "net/loop/listener.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 5, TURNS = 2000, FILLERS_MAX = 64 };

static const char refusal[] = "not now\n";

/* A listener on a loop that the test turns by hand, so that it can count. */
struct bench {
    uv_loop_t loop;
    struct dg_listener *listener;
    char path[64];
    int n_accepted, n_refused, n_told, last_error;
    struct rlimit before;
    int fillers[FILLERS_MAX], n_fillers;
};

static void on_accepted(struct dg_listener *listener, int fd)
{
    struct bench *bench = listener->opts.user;
    bench->n_accepted++;
    ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    close(fd);
}

static void on_refused(struct dg_listener *listener, int error, bool is_told)
{
    struct bench *bench = listener->opts.user;
    bench->n_refused++;
    bench->n_told += is_told;
    bench->last_error = error;
}

static void init(struct bench *bench)
{
    *bench = (struct bench){.n_accepted = 0};
    ck_assert_int_eq(uv_loop_init(&bench->loop), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &bench->before), 0);
    snprintf(bench->path, sizeof bench->path, "/tmp/dg-test-listener-%d.sock", (int)getpid());
    unlink(bench->path);
}

static void listen_there(struct bench *bench)
{
    const struct dg_listener_opts opts = {.backlog = 16,
                                          .unix_mode = 0600,
                                          .refusal = DG_SPAN("not now\n"),
                                          .on_accepted = on_accepted,
                                          .on_refused = on_refused,
                                          .user = bench};
    struct dg_address address;
    struct dg_error error = DG_ERROR_NONE;
    char text[80];
    snprintf(text, sizeof text, "unix:%s", bench->path);
    ck_assert_int_eq(dg_address_parse(text, &address, &error), DG_OK);
    ck_assert_msg(dg_listener_open(&bench->loop, &address, &opts, &error, &bench->listener) ==
                      DG_OK,
                  "%s", error.text);
}

static void turn(struct bench *bench, int times)
{
    for (int i = 0; i < times; i++)
        uv_run(&bench->loop, UV_RUN_NOWAIT);
}

/* From here on the process has only `left` descriptors left. */
static void take_descriptors(struct bench *bench, int left)
{
    int fd = dup(0);
    ck_assert_int_ge(fd, 0);
    close(fd);
    struct rlimit limit = {.rlim_cur = (rlim_t)fd + 16, .rlim_max = bench->before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while ((fd = dup(0)) >= 0) {
        ck_assert_int_lt(bench->n_fillers, FILLERS_MAX);
        bench->fillers[bench->n_fillers++] = fd;
    }
    ck_assert_int_eq(errno, EMFILE);
    while (left-- > 0)
        close(bench->fillers[--bench->n_fillers]);
}

static void give_descriptors(struct bench *bench)
{
    while (bench->n_fillers > 0)
        close(bench->fillers[--bench->n_fillers]);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &bench->before), 0);
}

static void deinit(struct bench *bench)
{
    give_descriptors(bench);
    dg_listener_close(bench->listener);
    uv_run(&bench->loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0);
    ck_assert_int_ne(access(bench->path, F_OK), 0);
}

static int make_client(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void join(struct bench *bench, int fd)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    memcpy(where.sun_path, bench->path, strlen(bench->path) + 1);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&where, sizeof where), 0);
}

START_TEST(accepts_what_waits)
{
    struct bench bench;
    int clients[CLIENTS];
    init(&bench);
    listen_there(&bench);
    for (int i = 0; i < CLIENTS; i++)
        join(&bench, clients[i] = make_client());
    turn(&bench, 2);
    ck_assert_int_eq(bench.n_accepted, CLIENTS);
    ck_assert_int_eq(bench.n_refused, 0);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    deinit(&bench);
}
END_TEST

START_TEST(without_descriptors_clients_are_told_so)
{
    struct bench bench;
    int clients[CLIENTS];
    char bytes[64];
    init(&bench);
    listen_there(&bench);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = make_client();
    take_descriptors(&bench, 0);
    for (int i = 0; i < CLIENTS; i++)
        join(&bench, clients[i]);
    turn(&bench, TURNS);
    ck_assert_int_eq(bench.n_accepted, 0);
    ck_assert_int_eq(bench.last_error, EMFILE);
    ck_assert_int_eq(bench.n_told, CLIENTS);
    /* One more, because only a further try shows that no other client waits. */
    ck_assert_int_le(bench.n_refused, CLIENTS + 1);
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(recv(clients[i], bytes, sizeof bytes, 0), sizeof refusal - 1);
        ck_assert_int_eq(memcmp(bytes, refusal, sizeof refusal - 1), 0);
        ck_assert_int_eq(recv(clients[i], bytes, sizeof bytes, 0), 0);
    }
    give_descriptors(&bench);
    close(clients[0]);
    join(&bench, clients[0] = make_client());
    dg_listener_resume(bench.listener);
    turn(&bench, 2);
    ck_assert_int_eq(bench.n_accepted, 1);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    deinit(&bench);
}
END_TEST

/* The last descriptor is the listening socket: there is none in reserve. */
START_TEST(without_a_reserve_it_stops_for_a_while)
{
    struct bench bench;
    init(&bench);
    const int client = make_client();
    turn(&bench, 1); /* the loop has what it needs */
    take_descriptors(&bench, 1);
    listen_there(&bench);
    join(&bench, client);
    const uint64_t begun = uv_hrtime();
    turn(&bench, TURNS);
    const uint64_t ms = (uv_hrtime() - begun) / 1000000;
    ck_assert_int_eq(bench.n_accepted + bench.n_told, 0);
    ck_assert_int_ge(bench.n_refused, 1);
    ck_assert_uint_le((uint64_t)bench.n_refused, 2 + ms / DG_LISTENER_PAUSE_MS);
    ck_assert_int_gt(uv_backend_timeout(&bench.loop), 0); /* a loop of its own would sleep */
    /* The client has waited, and is served without waiting for the timer. */
    give_descriptors(&bench);
    dg_listener_resume(bench.listener);
    turn(&bench, 2);
    ck_assert_int_eq(bench.n_accepted, 1);
    close(client);
    deinit(&bench);
}
END_TEST

START_TEST(it_goes_on_by_itself)
{
    struct bench bench;
    init(&bench);
    const int client = make_client();
    turn(&bench, 1);
    take_descriptors(&bench, 1);
    listen_there(&bench);
    join(&bench, client);
    while (bench.n_refused == 0)
        uv_run(&bench.loop, UV_RUN_ONCE);
    give_descriptors(&bench);
    while (bench.n_accepted == 0)
        uv_run(&bench.loop, UV_RUN_ONCE); /* sleeps until the timer */
    close(client);
    deinit(&bench);
}
END_TEST

START_TEST(what_is_no_socket_is_not_adopted)
{
    const struct dg_listener_opts opts = {.on_accepted = on_accepted};
    struct bench bench;
    struct dg_error error = DG_ERROR_NONE;
    int ends[2];
    init(&bench);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_ne(dg_listener_adopt(&bench.loop, ends[0], &opts, &error, &bench.listener),
                     DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "is not a socket"));
    close(ends[0]);
    close(ends[1]);
    deinit(&bench);
}
END_TEST

DG_UNIT(accepts_what_waits, without_descriptors_clients_are_told_so,
        without_a_reserve_it_stops_for_a_while, it_goes_on_by_itself,
        what_is_no_socket_is_not_adopted)
