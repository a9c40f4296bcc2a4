/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/mem.h"
#include "net/loop/mailbox.h"
#include "net/loop/server.h"
#include "net/proto/http_reply.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A server on a loop in a thread of its own; the test is a client with blocking sockets. */
struct bench {
    uv_loop_t loop;
    uv_thread_t thread;
    struct dg_server *server;
    struct dg_mailbox *mailbox;
    struct dg_mail mail;
    struct dg_http_req *held;
    int n_gone, n_drained;
    uint16_t port;
};

static void on_gone(void *owner)
{
    __atomic_add_fetch(&((struct bench *)owner)->n_gone, 1, __ATOMIC_SEQ_CST);
}

static void on_message(void *owner, struct dg_ws *ws, bool is_text, struct dg_span message)
{
    ck_assert_int_eq(dg_ws_send(ws, message), DG_OK);
}

static const struct dg_server_socket socket_handler = {.on_message = on_message,
                                                       .on_gone = on_gone};

static void on_request(void *user, struct dg_http_req *req)
{
    struct bench *bench = user;
    if (dg_span_eq(req->path, DG_SPAN("/client"))) {
        dg_http_reply(req, 200, "text/plain", req->client);
    } else if (dg_span_eq(req->path, DG_SPAN("/private"))) {
        dg_http_reply(req, 200, "text/plain", req->is_private ? DG_SPAN("yes") : DG_SPAN("no"));
    } else if (dg_span_eq(req->path, DG_SPAN("/ws"))) {
        static const struct dg_ws_limits limits = DG_WS_LIMITS_DEFAULT;
        const char *reason = "";
        struct dg_ws *ws;
        int status = dg_server_websocket(req, NULL, &limits, &socket_handler, bench, &ws, &reason);
        if (status != 101)
            dg_http_reply(req, status, "text/plain", dg_span_cstr(reason));
    } else if (dg_span_eq(req->path, DG_SPAN("/big"))) {
        char *text = dg_xcalloc(1, 8 << 20);
        dg_http_reply(req, 200, "application/octet-stream", dg_span_make(text, 8 << 20));
        dg_free(text);
    } else if (dg_span_eq(req->path, DG_SPAN("/hold"))) {
        req->owner = bench;
        req->on_gone = on_gone;
        __atomic_store_n(&bench->held, req, __ATOMIC_SEQ_CST);
    } else {
        dg_http_reply(req, 200, "text/plain", req->path);
    }
}

static const struct dg_server_handler handler = {.on_request = on_request};

static void run_loop(void *arg)
{
    struct bench *bench = arg;
    uv_run(&bench->loop, UV_RUN_DEFAULT);
}

static struct bench *start_both(const struct dg_server_opts *opts, const char *address,
                                const char *private)
{
    struct bench *bench = dg_xcalloc(1, sizeof *bench);
    struct dg_error error = DG_ERROR_NONE;
    uv_loop_init(&bench->loop);
    ck_assert_int_eq(dg_mailbox_open(&bench->loop, NULL, &error, &bench->mailbox), DG_OK);
    ck_assert_int_eq(
        dg_server_new(&bench->loop, opts, &handler, bench, NULL, &error, &bench->server), DG_OK);
    ck_assert_msg(dg_server_listen(bench->server, address, &error) == DG_OK, "%s", error.text);
    ck_assert_uint_eq(dg_server_n_listeners(bench->server), 1);
    const char *colon = strrchr(dg_server_address(bench->server, 0), ':');
    bench->port = (uint16_t)strtoul(colon + 1, NULL, 10);
    if (private)
        ck_assert_msg(dg_server_listen_private(bench->server, private, &error) == DG_OK, "%s",
                      error.text);
    uv_thread_create(&bench->thread, run_loop, bench);
    return bench;
}

static struct bench *start(const struct dg_server_opts *opts, const char *address)
{
    return start_both(opts, address, NULL);
}

/* A public port and a socket for administrators. */
static struct bench *start_private(const struct dg_server_opts *opts, const char *path)
{
    return start_both(opts, "127.0.0.1:0", path);
}

static void on_stop(struct dg_mail *mail)
{
    struct bench *bench = (struct bench *)((char *)mail - offsetof(struct bench, mail));
    dg_server_close(bench->server);
    dg_mailbox_close(bench->mailbox);
}

static void stop(struct bench *bench)
{
    dg_mailbox_post(bench->mailbox, &bench->mail, on_stop);
    uv_thread_join(&bench->thread);
    ck_assert_int_eq(uv_loop_close(&bench->loop), 0); /* no handle was left behind */
    dg_server_free(bench->server);
    dg_free(bench);
}

static int dial(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* How long to wait for what should take a moment. Where allocations are made to fail it may never
 * come, and waiting for it proves nothing. */
static int patience_ms(void)
{
    return getenv("DRAGOMAN_FAIL_ALLOC") ? 400 : 20000;
}

/* Reads until `end` was seen, or until the connection ends; the text is static. */
static const char *hear(int fd, const char *end)
{
    static char text[65536];
    size_t len = 0;
    text[0] = '\0';
    while (len + 1 < sizeof text && (!end || !strstr(text, end))) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, patience_ms()) != 1)
            break;
        ssize_t n = recv(fd, text + len, sizeof text - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        text[len] = '\0';
    }
    return text;
}

/* True when the server closes the connection in time, whatever it sends before that. */
static bool is_closed(int fd)
{
    char bytes[65536];
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, patience_ms()) != 1)
            return false;
        if (recv(fd, bytes, sizeof bytes, 0) <= 0)
            return true;
    }
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

/* A server without memory turns the request away; then the test fails instead of waiting for ever.
 */
static void wait_until_held(struct bench *bench)
{
    for (int i = 0; i < patience_ms() && !__atomic_load_n(&bench->held, __ATOMIC_SEQ_CST); i++)
        usleep(1000);
    ck_assert(__atomic_load_n(&bench->held, __ATOMIC_SEQ_CST));
}

START_TEST(answers_over_tcp_and_keeps_the_connection)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    for (int i = 0; i < 3; i++) {
        say(fd, GET("/hello"));
        const char *answer = hear(fd, "/hello");
        ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 200 OK\r\nServer: dragoman\r\nDate: "));
    }
    close(fd);
    stop(bench);
}
END_TEST

START_TEST(answers_over_a_unix_socket_and_leaves_no_file_behind)
{
    char path[64], address[80];
    snprintf(path, sizeof path, "/tmp/dg-test-server-%d.sock", (int)getpid());
    snprintf(address, sizeof address, "unix:%s", path);
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, address);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    memcpy(where.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&where, sizeof where), 0);
    say(fd, GET("/client"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "unix:"), "200 OK"));
    struct dg_server *second;
    struct dg_error error = DG_ERROR_NONE;
    uv_loop_t loop;
    uv_loop_init(&loop);
    ck_assert_int_eq(dg_server_new(&loop, &opts, &handler, NULL, NULL, &error, &second), DG_OK);
    /* another process listens there */
    ck_assert_int_eq(dg_server_listen(second, address, &error), DG_ERR_EXISTS);
    dg_server_close(second);
    uv_run(&loop, UV_RUN_DEFAULT);
    dg_server_free(second);
    uv_loop_close(&loop);
    close(fd);
    stop(bench);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_private_socket_is_its_owners_and_marks_its_requests)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/tmp/dg-test-private-%d.sock", (int)getpid());
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start_private(&opts, path);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    memcpy(where.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&where, sizeof where), 0);
    say(fd, GET("/private"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "\r\n\r\nyes"), "200 OK"));
    close(fd);
    fd = dial(bench->port);
    say(fd, GET("/private"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "\r\n\r\nno"), "200 OK"));
    close(fd);
    stop(bench);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

START_TEST(slow_heads_are_cut_off_without_harm_to_others)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.http.head_ms = 300;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int slow[50];
    for (int i = 0; i < 50; i++) {
        slow[i] = dial(bench->port);
        say(slow[i], "GET / HTTP/1.1\r\nHo");
    }
    int fd = dial(bench->port);
    say(fd, GET("/quick"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "/quick"), "200 OK"));
    for (int i = 0; i < 50; i++) {
        ck_assert_ptr_nonnull(strstr(hear(slow[i], NULL), " 408 "));
        close(slow[i]);
    }
    close(fd);
    stop(bench);
}
END_TEST

START_TEST(a_client_that_does_not_read_is_cut_off)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.http.write_ms = 500;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    int small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(fd, GET("/big"));
    struct pollfd cut = {.fd = fd}; /* hang-ups and errors are always reported */
    ck_assert_int_eq(poll(&cut, 1, patience_ms()), 1);
    /* The kernel can have taken only a small part of the 8 MB: the rest is lost. */
    size_t got = 0;
    char bytes[65536];
    for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        got += (size_t)n;
    ck_assert_uint_lt(got, 8 << 20);
    close(fd);
    stop(bench);
}
END_TEST

START_TEST(a_big_answer_arrives_whole_at_a_client_that_reads)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    say(fd, "GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    size_t got = 0;
    char bytes[65536];
    for (ssize_t n; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;)
        got += (size_t)n;
    ck_assert_uint_gt(got, 8 << 20);
    close(fd);
    stop(bench);
}
END_TEST

/* The client takes longer than the time in which it must read something, but never pauses for so
 * long; the kernel does not store the whole answer, and reports room only now and then. */
START_TEST(a_big_answer_arrives_whole_at_a_client_that_reads_slowly)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.http.write_ms = 3000;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port), small = 65536;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(fd, "GET /big HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    size_t got = 0;
    char bytes[65536];
    ssize_t n = 1;
    for (int i = 0; i < dg_unit_rounds(100) && n > 0; i++) {
        n = recv(fd, bytes, sizeof bytes / 8, 0);
        got += n > 0 ? (size_t)n : 0;
        nanosleep(&(struct timespec){.tv_nsec = 45 * 1000 * 1000}, NULL);
    }
    while (n > 0 && (n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        got += (size_t)n;
    ck_assert_uint_gt(got, 8 << 20);
    close(fd);
    stop(bench);
}
END_TEST

START_TEST(too_many_connections_are_turned_away)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.connections_max = 2;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int first = dial(bench->port), second = dial(bench->port);
    say(first, GET("/1"));
    hear(first, "/1");
    say(second, GET("/2"));
    hear(second, "/2");
    int third = dial(bench->port);
    ck_assert_ptr_nonnull(strstr(hear(third, NULL), "HTTP/1.1 503 "));
    close(third);
    close(first);
    close(second);
    stop(bench);
}
END_TEST

START_TEST(trusted_proxies_name_the_client)
{
    struct dg_network trusted[2];
    ck_assert_int_eq(dg_network_parse("127.0.0.0/8", &trusted[0], NULL), DG_OK);
    ck_assert_int_eq(dg_network_parse("10.1.0.0/16", &trusted[1], NULL), DG_OK);
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.trusted = trusted;
    opts.n_trusted = 2;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    static const struct {
        const char *headers, *client;
    } cases[] = {
        {"", "127.0.0.1"},
        {"X-Forwarded-For: 6.6.6.6, 192.0.2.7, 10.1.2.3\r\n", "192.0.2.7"},
        {"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 192.0.2.8\r\n", "192.0.2.8"},
        {"X-Forwarded-For: evil\r\n", "127.0.0.1"},
        {"X-Forwarded-For: 2001:db8::5\r\n", "2001:db8::5"},
        {"Forwarded: for=\"[2001:db8::6]:99\";proto=https\r\n", "2001:db8::6"},
        {"Forwarded: for=9.9.9.9, for=192.0.2.9:80;by=1.1.1.1\r\n", "192.0.2.9"},
        {"Forwarded: for=unknown\r\n", "127.0.0.1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char request[512], expected[64];
        snprintf(request, sizeof request,
                 "GET /client HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n",
                 cases[i].headers);
        snprintf(expected, sizeof expected, "\r\n\r\n%s", cases[i].client);
        int fd = dial(bench->port);
        say(fd, request);
        const char *answer = hear(fd, NULL);
        ck_assert_msg(strstr(answer, expected) && !strcmp(strstr(answer, "\r\n\r\n"), expected),
                      "%s -> %s", cases[i].headers, answer);
        close(fd);
    }
    stop(bench);
}
END_TEST

START_TEST(paths_outside_the_prefix_are_empty)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    opts.url_prefix = "/mt";
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    say(fd, GET("/mt/x"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "/x"), "\r\n\r\n/x"));
    say(fd, GET("/mtx"));
    ck_assert_ptr_nonnull(strstr(hear(fd, "\r\n\r\n"), "Content-Length: 0\r\n"));
    close(fd);
    stop(bench);
}
END_TEST

static void on_drained(void *user)
{
    ((struct bench *)user)->n_drained++;
}

static void on_drain(struct dg_mail *mail)
{
    struct bench *bench = (struct bench *)((char *)mail - offsetof(struct bench, mail));
    dg_server_drain(bench->server, 10000, on_drained, bench);
}

static void on_answer_held(struct dg_mail *mail)
{
    struct bench *bench = (struct bench *)((char *)mail - offsetof(struct bench, mail));
    dg_http_reply(bench->held, 200, "text/plain", DG_SPAN("held"));
}

#define WS_HANDSHAKE                                                                               \
    "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"                 \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

START_TEST(websockets_shake_hands_and_echo)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    /* The first message arrives together with the handshake. */
    char both[512];
    int len = snprintf(both, sizeof both, "%s%s", WS_HANDSHAKE,
                       "\x81\x82"
                       "aaaa"
                       "\x09\x08");
    ck_assert_int_eq(send(fd, both, (size_t)len, 0), len);
    const char *answer = hear(fd, "\x81\x02hi");
    ck_assert_ptr_nonnull(strstr(answer, "101 Switching Protocols\r\n"));
    ck_assert_ptr_nonnull(strstr(answer, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\n\x81\x02hi"));
    close(fd);
    stop(bench);
}
END_TEST

START_TEST(drain_finishes_what_runs_and_sends_sockets_away)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int idle = dial(bench->port), busy = dial(bench->port), ws = dial(bench->port);
    say(idle, GET("/idle"));
    hear(idle, "/idle");
    say(ws, WS_HANDSHAKE);
    hear(ws, "\r\n\r\n");
    say(busy, GET("/hold"));
    wait_until_held(bench);
    dg_mailbox_post(bench->mailbox, &bench->mail, on_drain);
    ck_assert(is_closed(idle));
    ck_assert_ptr_nonnull(strstr(hear(ws, "shutting down"), "\x88\x1D\x03\xE9")); /* 1001 */
    close(ws);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(bench->port)};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    ck_assert_int_ne(connect(late, (struct sockaddr *)&address, sizeof address), 0);
    close(late);
    dg_mailbox_post(bench->mailbox, &bench->mail, on_answer_held);
    const char *answer = hear(busy, NULL);
    ck_assert_ptr_nonnull(strstr(answer, "Connection: close\r\n"));
    ck_assert_ptr_nonnull(strstr(answer, "\r\n\r\nheld"));
    close(busy);
    close(idle);
    usleep(100 * 1000);
    stop(bench);
}
END_TEST

START_TEST(a_client_that_leaves_is_told_to_the_handler)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    int fd = dial(bench->port);
    say(fd, GET("/hold"));
    wait_until_held(bench);
    close(fd);
    for (int i = 0; i < patience_ms() && __atomic_load_n(&bench->n_gone, __ATOMIC_SEQ_CST) == 0;
         i++)
        usleep(1000);
    ck_assert_int_eq(__atomic_load_n(&bench->n_gone, __ATOMIC_SEQ_CST), 1);
    stop(bench);
}
END_TEST

START_TEST(addresses_in_use_or_wrong_are_refused_with_a_sentence)
{
    struct dg_server_opts opts = DG_SERVER_OPTS_DEFAULT;
    struct bench *bench = start(&opts, "127.0.0.1:0");
    char address[32];
    snprintf(address, sizeof address, "127.0.0.1:%u", bench->port);
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct dg_server *second;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_server_new(&loop, &opts, &handler, NULL, NULL, &error, &second), DG_OK);
    static const char *const wrong[] = {"example.org:80",  "127.0.0.1",    "127.0.0.1:",
                                        "127.0.0.1:65536", "::1:80",       "[::1]",
                                        "unix:",           "127.0.0.1:8a", ""};
    ck_assert_int_ne(dg_server_listen(second, address, &error), DG_OK);
    ck_assert_ptr_nonnull(strstr(error.text, "in use"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_int_eq(dg_server_listen(second, wrong[i], &error), DG_ERR_INVALID);
    dg_server_close(second);
    uv_run(&loop, UV_RUN_DEFAULT);
    dg_server_free(second);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    stop(bench);
}
END_TEST

DG_UNIT_SLOW(answers_over_tcp_and_keeps_the_connection,
             answers_over_a_unix_socket_and_leaves_no_file_behind,
             a_private_socket_is_its_owners_and_marks_its_requests,
             slow_heads_are_cut_off_without_harm_to_others, a_client_that_does_not_read_is_cut_off,
             a_big_answer_arrives_whole_at_a_client_that_reads,
             a_big_answer_arrives_whole_at_a_client_that_reads_slowly,
             too_many_connections_are_turned_away, trusted_proxies_name_the_client,
             paths_outside_the_prefix_are_empty, websockets_shake_hands_and_echo,
             drain_finishes_what_runs_and_sends_sockets_away,
             a_client_that_leaves_is_told_to_the_handler,
             addresses_in_use_or_wrong_are_refused_with_a_sentence)
