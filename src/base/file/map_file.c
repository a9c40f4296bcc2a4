/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Read-only file mapping over mmap(2), and a table of the open mappings for the SIGBUS handler. */
#include "base/file/map_file.h"

#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_CAP = 200 };

/* The handler reads `start` and `end` while other threads open and close mappings, so both are
 * atomic, and `start` is written last. The rest belongs to whoever has opened the mapping. */
struct dg_mapping {
    atomic_bool is_taken;
    atomic_uintptr_t start; /* 0: none */
    atomic_uintptr_t end;
    atomic_bool is_broken; /* zeros are mapped in the file's place */
    int fd;
    struct stat opened;
    char name[NAME_CAP]; /* the path's end, for a sentence */
};

static struct dg_mapping mappings[DG_MAP_FILES_MAX];
static const uint8_t nothing[1];

/* ---- The guard ------------------------------------------------------------------------------- */

static atomic_int guarded_how;
static struct sigaction usual;

/* The open mapping that holds an address. `start` is read twice, so that both bounds are of one
 * mapping even if another one takes over the table entry meanwhile. */
static struct dg_mapping *find(uintptr_t address)
{
    for (size_t i = 0; i < DG_MAP_FILES_MAX; i++) {
        const uintptr_t start = atomic_load(&mappings[i].start);
        const uintptr_t end = atomic_load(&mappings[i].end);
        if (start && address >= start && address < end && atomic_load(&mappings[i].start) == start)
            return &mappings[i];
    }
    return NULL;
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* Uses only what is safe inside a signal handler: atomics and system calls. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
    (void)context;
    const int before = errno;
    const bool is_fault = info->si_code > 0; /* not sent by kill() */
    struct dg_mapping *mapping = is_fault ? find((uintptr_t)info->si_addr) : NULL;
    if (mapping && atomic_load(&guarded_how) == DG_MAP_FILE_ENDS) {
        say("dragoman: ");
        say(mapping->name);
        say(" changed while it was read, or could not be read\n");
        _exit(1);
    }
    if (mapping) {
        const uintptr_t start = atomic_load(&mapping->start), end = atomic_load(&mapping->end);
        atomic_store(&mapping->is_broken, true);
        if (mmap((void *)start, end - start, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) != MAP_FAILED) {
            errno = before;
            return;
        }
    }
    sigaction(number, &usual, NULL); /* a real fault happens again at once, and is then handled as
                                        usual */
    if (!is_fault)
        raise(number);
    errno = before;
}

void dg_map_file_guard(enum dg_map_file_guard guard)
{
    static atomic_bool is_installed;
    atomic_store(&guarded_how, guard);
    if (atomic_exchange(&is_installed, true))
        return;
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &usual);
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* NULL when too many are open. */
static struct dg_mapping *take_mapping(void)
{
    for (size_t i = 0; i < DG_MAP_FILES_MAX; i++)
        if (!atomic_exchange(&mappings[i].is_taken, true))
            return &mappings[i];
    return NULL;
}

static void give_back(struct dg_mapping *mapping)
{
    atomic_store(&mapping->start, 0);
    atomic_store(&mapping->is_broken, false);
    atomic_store(&mapping->is_taken, false);
}

static void name_it(struct dg_mapping *mapping, const char *path)
{
    const size_t len = strlen(path);
    memcpy(mapping->name, len < NAME_CAP ? path : path + len - (NAME_CAP - 1),
           len < NAME_CAP ? len + 1 : NAME_CAP);
}

/* Takes over the descriptor when it succeeds. */
static enum dg_err map(struct dg_map_file *file, const char *path, int fd, const struct stat *st,
                       struct dg_error *error)
{
    const size_t len = (size_t)st->st_size;
    struct dg_mapping *mapping = take_mapping();
    if (!mapping)
        return dg_error_set(error, DG_ERR_NO_FILES, "cannot map %s: %d files are mapped already",
                            path, DG_MAP_FILES_MAX);
    void *bytes = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        const int code = errno;
        give_back(mapping);
        return dg_error_set(error, dg_err_from_errno(code), "cannot map %s: %s", path,
                            strerror(code));
    }
    mapping->fd = fd;
    mapping->opened = *st;
    name_it(mapping, path);
    atomic_store(&mapping->end, (uintptr_t)bytes + len);
    atomic_store(&mapping->start, (uintptr_t)bytes);
    *file = (struct dg_map_file){.bytes = bytes, .len = len, .mapping = mapping};
    return DG_OK;
}

static enum dg_err copy(struct dg_map_file *file, const char *path, int fd, const struct stat *st,
                        struct dg_error *error)
{
    const size_t len = (size_t)st->st_size;
    size_t n = 0;
    uint8_t *bytes = dg_try_aligned(len);
    if (!bytes)
        return dg_error_set(error, DG_ERR_NOMEM, "not enough memory for the %zu bytes of %s", len,
                            path);
    while (n < len) {
        const ssize_t got = read(fd, bytes + n, len - n);
        const int code = errno;
        if (got > 0) {
            n += (size_t)got;
        } else if (got == 0 || code != EINTR) {
            dg_free(bytes);
            return got == 0 ? dg_error_set(error, DG_ERR_TRUNCATED,
                                           "%s became shorter while it was read: %zu bytes of %zu",
                                           path, n, len)
                            : dg_error_set(error, dg_err_from_errno(code), "cannot read %s: %s",
                                           path, strerror(code));
        }
    }
    *file = (struct dg_map_file){.bytes = bytes, .len = len};
    return DG_OK;
}

/* A regular file of at most `max` bytes. */
static enum dg_err open_plain(const char *path, size_t max, int *out, struct stat *st,
                              struct dg_error *error)
{
    /* O_NONBLOCK: opening a FIFO by mistake must not hang. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return dg_error_errno(error, "cannot open %s", path);
    enum dg_err err = DG_OK;
    if (fstat(fd, st) != 0)
        err = dg_error_errno(error, "cannot stat %s", path);
    else if (!S_ISREG(st->st_mode))
        err = dg_error_set(error, DG_ERR_INVALID, "%s is %s, expected a regular file", path,
                           S_ISDIR(st->st_mode) ? "a directory" : "not a plain file");
    else if ((uintmax_t)st->st_size > max)
        err = dg_error_set(error, DG_ERR_LIMIT, "%s has %jd bytes, expected at most %zu", path,
                           (intmax_t)st->st_size, max);
    if (err)
        close(fd);
    else
        *out = fd;
    return err;
}

enum dg_err dg_map_file_open(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error)
{
    int fd = -1;
    struct stat st;
    enum dg_err err = open_plain(path, max, &fd, &st, error);
    if (err)
        return err;
    if (st.st_size > 0)
        err = map(file, path, fd, &st, error);
    else
        *file = (struct dg_map_file){.bytes = nothing};
    if (err || st.st_size == 0)
        close(fd);
    return err;
}

enum dg_err dg_map_file_read(struct dg_map_file *file, const char *path, size_t max,
                             struct dg_error *error)
{
    int fd = -1;
    struct stat st;
    enum dg_err err = open_plain(path, max, &fd, &st, error);
    if (err)
        return err;
    if (st.st_size > 0)
        err = copy(file, path, fd, &st, error);
    else
        *file = (struct dg_map_file){.bytes = nothing};
    close(fd);
    return err;
}

/* ---- Afterwards ------------------------------------------------------------------------------ */

enum dg_err dg_map_file_check(const struct dg_map_file *file, const char *path,
                              struct dg_error *error)
{
    const struct dg_mapping *mapping = file->mapping;
    struct stat now;
    if (!mapping)
        return DG_OK;
    const struct stat *then = &mapping->opened;
    if (!atomic_load(&mapping->is_broken) && fstat(mapping->fd, &now) == 0 &&
        now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == then->st_mtim.tv_nsec)
        return DG_OK;
    return dg_error_set(error, DG_ERR_INTEGRITY,
                        "%s changed while it was read, or could not be read; replace it with a "
                        "rename, and load it again",
                        path);
}

void dg_map_file_close(struct dg_map_file *file)
{
    if (file->mapping) {
        const int fd = file->mapping->fd;
        /* first, because the addresses may soon belong to another mapping */
        give_back(file->mapping);
        munmap((void *)(uintptr_t)file->bytes, file->len);
        close(fd);
    } else if (file->len > 0) {
        dg_free((void *)(uintptr_t)file->bytes);
    }
    *file = (struct dg_map_file){0};
}

void dg_map_file_forget(const struct dg_map_file *file)
{
    if (file->mapping)
        (void)madvise((void *)(uintptr_t)file->bytes, file->len, MADV_DONTNEED);
}
