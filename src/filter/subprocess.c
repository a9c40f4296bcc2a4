/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The program is spawned, not forked, because forking would copy the page tables of a daemon with
 * large models. This process sets the program's limits while the program still waits for its input
 * from a pipe. */
#define _GNU_SOURCE 1 /* pipe2, prlimit, posix_spawn_file_actions_addclosefrom_np */
#include "filter/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, PIECE = 1 << 16 };

bool dg_subprocess_find(const char *name, char *path, size_t cap)
{
    const char *at = getenv("PATH");
    if (!at)
        at = "/usr/local/bin:/usr/bin:/bin";
    while (*at) {
        const size_t len = strcspn(at, ":");
        const int n = snprintf(path, cap, "%.*s/%s", (int)len, at, name);
        if (*at == '/' && n > 0 && (size_t)n < cap && access(path, X_OK) == 0)
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

struct pipes {
    int in[2], out[2], err[2]; /* [0] is read from; -1: closed */
};

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void shut_all(struct pipes *pipes)
{
    int *const ends[] = {pipes->in, pipes->out, pipes->err};
    for (size_t i = 0; i < 3; i++) {
        shut(&ends[i][0]);
        shut(&ends[i][1]);
    }
}

static bool open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    return pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
           pipe2(pipes->err, O_CLOEXEC) == 0 && fcntl(pipes->in[1], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(pipes->out[0], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(pipes->err[0], F_SETFL, O_NONBLOCK) == 0;
}

static int spawn(const struct dg_subprocess *helper, const struct pipes *pipes, pid_t *pid)
{
    static char locale[] = "LC_ALL=C.UTF-8";
    char *const environment[] = {locale, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure)
        return failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure) {
        posix_spawn_file_actions_destroy(&actions);
        return failure;
    }
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failure = posix_spawn_file_actions_adddup2(&actions, pipes->in[0], 0);
    if (!failure)
        failure = posix_spawn_file_actions_adddup2(&actions, pipes->out[1], 1);
    if (!failure)
        failure = posix_spawn_file_actions_adddup2(&actions, pipes->err[1], 2);
    if (!failure)
        failure = posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (!failure) /* closes whatever this process has open */
        failure = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!failure)
        failure = posix_spawn(pid, helper->argv[0], &actions, &attributes,
                              (char *const *)helper->argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static bool limit(const struct dg_subprocess *helper, pid_t pid)
{
    const struct {
        enum __rlimit_resource what;
        rlim_t most;
    } rows[] = {
        {RLIMIT_CPU, helper->seconds},
        {RLIMIT_AS, helper->memory_max},
        {RLIMIT_FSIZE, 0},
        {RLIMIT_CORE, 0},
        {RLIMIT_NOFILE, 32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rlimit most = {.rlim_cur = rows[i].most, .rlim_max = rows[i].most};
        if (prlimit(pid, rows[i].what, &most, NULL) != 0)
            return false;
    }
    return true;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads the available bytes; closes *fd at the end of the stream. `is_clipped`: bytes that do not
 * fit are dropped. */
static enum dg_err take(int *fd, bool is_clipped, struct dg_buf *out)
{
    char piece[PIECE];
    const ssize_t n = read(*fd, piece, sizeof piece);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return DG_OK;
    if (n <= 0) {
        shut(fd);
        return DG_OK;
    }
    const size_t room = out->max - out->len;
    return dg_buf_append(out, piece, is_clipped && (size_t)n > room ? room : (size_t)n);
}

/* Writes what the pipe takes; it is closed after the last byte, and when nobody reads. */
static void give(int *fd, struct dg_span in, size_t *at)
{
    const ssize_t n =
        *at < in.len ? write(*fd, in.ptr + *at, in.len - *at < PIECE ? in.len - *at : PIECE) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    *at += n > 0 ? (size_t)n : 0;
    if (n < 0 || *at == in.len)
        shut(fd);
}

/* Reads until the program has closed its output. */
static enum dg_err exchange(const struct dg_subprocess *helper, struct pipes *pipes,
                            struct dg_buf *out, struct dg_buf *complaints, struct dg_error *error)
{
    const int64_t end = now_ms() + 2000 * (int64_t)helper->seconds;
    enum dg_err err = DG_OK;
    size_t at = 0;
    while (!err && (pipes->out[0] >= 0 || pipes->err[0] >= 0)) {
        struct pollfd fds[] = {{.fd = pipes->in[1], .events = POLLOUT},
                               {.fd = pipes->out[0], .events = POLLIN},
                               {.fd = pipes->err[0], .events = POLLIN}};
        if (helper->stop && atomic_load_explicit(helper->stop, memory_order_relaxed))
            return dg_error_set(error, DG_ERR_CANCELLED, "the document is no longer wanted");
        if (now_ms() > end)
            return dg_error_set(error, DG_ERR_TIMEOUT, "%s took longer than %u seconds",
                                helper->argv[0], 2 * helper->seconds);
        if (poll(fds, 3, POLL_MS) < 0 && errno != EINTR)
            return DG_ERR_IO;
        if (fds[0].revents)
            give(&pipes->in[1], helper->in, &at);
        if (fds[1].revents)
            err = take(&pipes->out[0], false, out);
        if (!err && fds[2].revents)
            err = take(&pipes->err[0], true, complaints);
    }
    return err == DG_ERR_LIMIT
               ? dg_error_set(error, err, "%s wrote more than %zu bytes", helper->argv[0], out->max)
               : err;
}

/* Waits until the program has ended, and kills it when the exchange failed or the program does not
 * end. */
static enum dg_err await(const struct dg_subprocess *helper, pid_t pid, enum dg_err err, int *ended,
                         struct dg_error *error)
{
    const int64_t end = now_ms() + 2000 * (int64_t)helper->seconds;
    pid_t found = 0;
    if (err)
        kill(pid, SIGKILL);
    while (found == 0 || (found < 0 && errno == EINTR)) {
        found = waitpid(pid, ended, err ? 0 : WNOHANG);
        if (found == 0 && now_ms() > end) {
            err = dg_error_set(error, DG_ERR_TIMEOUT, "%s did not end", helper->argv[0]);
            kill(pid, SIGKILL);
        } else if (found == 0) {
            poll(NULL, 0, 1);
        }
    }
    return found == pid ? err : err ? err : DG_ERR_IO;
}

enum dg_err dg_subprocess_run(const struct dg_subprocess *helper, struct dg_buf *out,
                              struct dg_buf *complaints, int *status, struct dg_error *error)
{
    struct pipes pipes;
    sigset_t pipe_signal, before;
    const struct timespec at_once = {.tv_sec = 0};
    pid_t pid = -1;
    int ended = 0, failure = open_pipes(&pipes) ? 0 : errno;
    if (!failure)
        failure = spawn(helper, &pipes, &pid);
    if (failure) {
        shut_all(&pipes);
        return dg_error_set(error, DG_ERR_DENIED, "%s cannot be started: %s", helper->argv[0],
                            strerror(failure));
    }
    shut(&pipes.in[0]);
    shut(&pipes.out[1]);
    shut(&pipes.err[1]);
    /* If the program stops reading, the signal must not end this process. */
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    enum dg_err err =
        limit(helper, pid)
            ? exchange(helper, &pipes, out, complaints, error)
            : dg_error_set(error, DG_ERR_DENIED, "%s cannot be limited in time and memory: %s",
                           helper->argv[0], strerror(errno));
    while (sigtimedwait(&pipe_signal, NULL, &at_once) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    shut_all(&pipes);
    err = await(helper, pid, err, &ended, error);
    if (err)
        return err;
    if (!WIFEXITED(ended))
        return dg_error_set(error,
                            WTERMSIG(ended) == SIGXCPU || WTERMSIG(ended) == SIGKILL
                                ? DG_ERR_TIMEOUT
                                : DG_ERR_INTERNAL,
                            "%s was ended by the signal %d (%s)", helper->argv[0], WTERMSIG(ended),
                            strsignal(WTERMSIG(ended)));
    *status = WEXITSTATUS(ended);
    return DG_OK;
}
