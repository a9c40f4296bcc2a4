/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* System calls that fail when a test wants them to, for a program that runs with
 *
 *     LD_PRELOAD=tests/chaos/faults.so DRAGOMAN_FAULTS=FILE
 *
 * FILE holds the page `struct plan`, which tests/chaos/faults.py maps, too, and changes while the
 * program runs. `calls` counts the calls of a kind; from the call number `at` on, `times` of them
 * fail with `error`, or, when `error` is 0, do less than they were asked for. Reads and writes of
 * files and those of sockets are different kinds; those of pipes, terminals and eventfds always
 * succeed, as they do in practice. Without a plan nothing changes.
 *
 * Calls that the C library makes internally, for fopen's files or malloc's pages, are not
 * intercepted. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* In the same order as in faults.py. */
enum kind {
    FILE_READ,
    FILE_WRITE,
    SOCKET_READ,
    SOCKET_WRITE,
    OPEN,
    RENAME,
    UNLINK,
    FSYNC,
    MMAP,
    ACCEPT,
    MALLOC,
    N_KINDS
};

struct plan {
    struct fault {
        _Atomic int64_t calls; /* so far */
        _Atomic int64_t at;    /* the number of the first call that fails; 0: none does */
        _Atomic int64_t times;
        _Atomic int64_t error; /* 0: the call does less than it was asked for */
        _Atomic int64_t hits;  /* how many have failed */
    } of[N_KINDS];
    _Atomic int64_t clock_jump_s; /* added to the time of day */
};

static struct plan *plan;

__attribute__((constructor)) static void map_plan(void)
{
    const char *path = getenv("DRAGOMAN_FAULTS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    long at = syscall(SYS_mmap, NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    syscall(SYS_close, fd);
    if (at != -1)
        plan = (struct plan *)at;
}

/* True when this call is to fail; errno is then set, or 0 when the call is to do less. */
static bool fails(enum kind kind)
{
    struct fault *fault = plan ? &plan->of[kind] : NULL;
    if (!fault)
        return false;
    int64_t call = atomic_fetch_add(&fault->calls, 1) + 1;
    int64_t at = atomic_load(&fault->at);
    if (at == 0 || call < at || call >= at + atomic_load(&fault->times))
        return false;
    atomic_fetch_add(&fault->hits, 1);
    errno = (int)atomic_load(&fault->error);
    return true;
}

/* The kind of a read or write; N_KINDS for one that always succeeds. */
static enum kind kind_of(int fd, enum kind file, enum kind sock)
{
    struct stat info;
    int saved = errno;
    enum kind kind = N_KINDS;
    if (plan && fstat(fd, &info) == 0)
        kind = S_ISREG(info.st_mode) ? file : S_ISSOCK(info.st_mode) ? sock : N_KINDS;
    errno = saved;
    return kind;
}

/* Lowers *n when the call is to do less; false when the call fails. */
static bool may(int fd, enum kind file, enum kind sock, size_t *n)
{
    int saved = errno;
    enum kind kind = kind_of(fd, file, sock);
    if (kind == N_KINDS || !fails(kind))
        return true;
    if (errno)
        return false;
    errno = saved;
    *n = *n > 1 ? (*n + 1) / 2 : *n;
    return true;
}

/* The C library's own function. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)next(#name))

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

ssize_t read(int fd, void *bytes, size_t n)
{
    return may(fd, FILE_READ, SOCKET_READ, &n) ? NEXT(read)(fd, bytes, n) : -1;
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    return may(fd, FILE_READ, SOCKET_READ, &n) ? NEXT(pread)(fd, bytes, n, at) : -1;
}

ssize_t pread64(int fd, void *bytes, size_t n, off64_t at)
{
    return may(fd, FILE_READ, SOCKET_READ, &n) ? NEXT(pread64)(fd, bytes, n, at) : -1;
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    return may(fd, FILE_WRITE, SOCKET_WRITE, &n) ? NEXT(write)(fd, bytes, n) : -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    return may(fd, FILE_WRITE, SOCKET_WRITE, &n) ? NEXT(pwrite64)(fd, bytes, n, at) : -1;
}

ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
    return may(fd, FILE_WRITE, SOCKET_WRITE, &n) ? NEXT(send)(fd, bytes, n, flags) : -1;
}

/* Only the first of several pieces is shortened. */
ssize_t writev(int fd, const struct iovec *pieces, int n)
{
    size_t some = (size_t)n;
    if (!may(fd, FILE_WRITE, SOCKET_WRITE, &some))
        return -1;
    return NEXT(writev)(fd, pieces, some < (size_t)n ? 1 : n);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct msghdr less = *message;
    size_t some = less.msg_iovlen;
    if (!may(fd, FILE_WRITE, SOCKET_WRITE, &some))
        return -1;
    less.msg_iovlen = some < less.msg_iovlen ? 1 : less.msg_iovlen;
    return NEXT(sendmsg)(fd, &less, flags);
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails(OPEN) ? -1 : NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails(OPEN) ? -1 : NEXT(open64)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails(OPEN) ? -1 : NEXT(openat)(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails(OPEN) ? -1 : NEXT(openat64)(folder, path, flags, mode);
}

int rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : NEXT(rename)(from, to);
}

int unlink(const char *path)
{
    return fails(UNLINK) ? -1 : NEXT(unlink)(path);
}

int fsync(int fd)
{
    return fails(FSYNC) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    return fails(FSYNC) ? -1 : NEXT(fdatasync)(fd);
}

void *mmap(void *wish, size_t len, int protection, int flags, int fd, off_t at)
{
    return fails(MMAP) ? MAP_FAILED : NEXT(mmap)(wish, len, protection, flags, fd, at);
}

void *mmap64(void *wish, size_t len, int protection, int flags, int fd, off64_t at)
{
    return fails(MMAP) ? MAP_FAILED : NEXT(mmap64)(wish, len, protection, flags, fd, at);
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    if (!fails(ACCEPT))
        return NEXT(accept4)(fd, address, len, flags);
    const int error = errno;
    if (error == ECONNABORTED) { /* the error ends the connection */
        int gone = NEXT(accept4)(fd, address, len, flags);
        if (gone < 0)
            return -1;
        close(gone);
    }
    errno = error;
    return -1;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int got = NEXT(clock_gettime)(clock, now);
    if (plan && got == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += (time_t)atomic_load(&plan->clock_jump_s);
    return got;
}

time_t time(time_t *now)
{
    struct timespec got;
    clock_gettime(CLOCK_REALTIME, &got);
    if (now)
        *now = got.tv_sec;
    return got.tv_sec;
}

/* A sanitizer's own malloc takes precedence over this one; dlsym allocates, hence the C library's
 * inner names. */
#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    return fails(MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return size && fails(MALLOC) ? NULL : __libc_realloc(old, size);
}
#endif
