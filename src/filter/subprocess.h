/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs another program on bytes that are not trusted, under limits of time, memory and size: the
 * program gets the bytes on its standard input, and its standard output is read. It has no other
 * descriptors and an empty environment, cannot write files, and is killed when its result is no
 * longer wanted. Blocks the calling thread. */
#ifndef DG_FILTER_SUBPROCESS_H
#define DG_FILTER_SUBPROCESS_H

#include "base/memory/buf.h"
#include "base/memory/error.h"
#include "base/memory/span.h"

#include <stdatomic.h>
#include <stdbool.h>

struct dg_subprocess {
    const char *const *argv; /* [0] is the program's path; ended by NULL */
    struct dg_span in;
    unsigned seconds;        /* seconds of processor time, and twice as many by the clock */
    size_t memory_max;       /* bytes of its address space */
    const atomic_bool *stop; /* another thread sets this to cancel; may be NULL */
};

/* Puts the path of a program on the search path into `path`; false when it is not there. */
bool dg_subprocess_find(const char *name, char *path, size_t cap);

/* Appends the program's output to `out`, up to that buffer's maximum, and the beginning of its
 * standard error to `complaints`. *status is its exit status. DG_ERR_TIMEOUT; DG_ERR_LIMIT: too
 * much output; DG_ERR_CANCELLED; DG_ERR_DENIED: the program cannot be started, or its limits cannot
 * be set; DG_ERR_INTERNAL: a signal ended it. */
enum dg_err dg_subprocess_run(const struct dg_subprocess *helper, struct dg_buf *out,
                              struct dg_buf *complaints, int *status,
                              struct dg_error *error) DG_MUST_CHECK;

#endif
