/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Arguments are written to a file without a name, so that they can be read like standard input. */
#include "tools/typed_text.h"

#include "base/file/tmp_file.h"
#include "base/memory/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum dg_err typed_arguments(const struct dg_opt_set *set, struct dg_error *error)
{
    const size_t n = dg_opt_n_args(set);
    const char *dir = getenv("TMPDIR");
    int fd;
    if (n == 0)
        return DG_OK;
    enum dg_err err = dg_tmp_file_open(dir && *dir ? dir : "/tmp", &fd, error);
    if (err)
        return err;
    for (size_t i = 0; !err && i < n; i++) {
        err = dg_tmp_file_write(fd, dg_span_cstr(dg_opt_arg(set, i)), error);
        if (!err)
            err = dg_tmp_file_write(fd, i + 1 < n ? DG_SPAN(" ") : DG_SPAN("\n"), error);
    }
    if (!err && (lseek(fd, 0, SEEK_SET) != 0 || dup2(fd, STDIN_FILENO) != STDIN_FILENO))
        err = dg_error_errno(error, "the text cannot become standard input");
    if (fd != STDIN_FILENO)
        close(fd);
    return err;
}

void typed_hint(const char *program, const char *what)
{
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
        fprintf(stderr, "%s: waiting for %s; Ctrl-D ends\n", program, what);
}
