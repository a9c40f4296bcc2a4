/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Makes a directory for one test under TMPDIR, if that name is not too long, and removes it with
 * all that it contains.
 *
 *     char root[DG_TMPDIR_CAP];
 *     dg_tmpdir_make(root);
 *     ...
 *     dg_tmpdir_remove(root); */
#ifndef DG_TESTS_TMPDIR_H
#define DG_TESTS_TMPDIR_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DG_TMPDIR_CAP = 256,
    DG_TMPDIR_PARENT_MAX = 60 /* sockets lie in it, and a socket's path may not be longer than 107
                                 bytes */
};

static inline void dg_tmpdir_make(char *path)
{
    const char *parent = getenv("TMPDIR");
    bool is_usable = parent && *parent && strlen(parent) < DG_TMPDIR_PARENT_MAX;
    snprintf(path, DG_TMPDIR_CAP, "%s/dg-test-XXXXXX", is_usable ? parent : "/tmp");
    if (!mkdtemp(path)) {
        perror(path);
        abort();
    }
}

static inline void dg_tmpdir_remove(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char inner[4096];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if ((size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= sizeof inner)
            continue;
        if (unlink(inner) != 0)
            dg_tmpdir_remove(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* Runs a program and waits for its end; returns its exit status, or -1. */
static inline int dg_tmpdir_run(const char *program, char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        execv(program, arguments);
        _exit(127);
    }
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

/* How many names the folder contains. */
static inline size_t dg_tmpdir_count(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

#endif
