/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Where tests find files: in the source tree (automake names it in the environment variable
 * srcdir), and in the shared folder next to it, which only some machines have. */
#ifndef DG_TEST_FILES_H
#define DG_TEST_FILES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DG_TEST_PATH = 1024 };

/* The path of a file of the source tree, e.g. "tests/golden/x.json". */
static inline const char *dg_test_source(char path[DG_TEST_PATH], const char *name)
{
    const char *srcdir = getenv("srcdir");
    snprintf(path, DG_TEST_PATH, "%s/%s", srcdir ? srcdir : ".", name);
    return path;
}

/* The path of a file in the shared folder; false when it does not exist. */
static inline bool dg_test_shared(char path[DG_TEST_PATH], const char *name)
{
    const char *shared = getenv("DRAGOMAN_SHARED"), *srcdir = getenv("srcdir");
    if (shared)
        snprintf(path, DG_TEST_PATH, "%s/%s", shared, name);
    else
        snprintf(path, DG_TEST_PATH, "%s/../shared/%s", srcdir ? srcdir : ".", name);
    return access(path, R_OK) == 0;
}

#endif
