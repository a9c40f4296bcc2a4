/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* opendir() would do, except that the thread sanitizer sees closedir() close a descriptor whose
 * opening it never saw, and then reports a race with the thread that used the same number before.
 */
#include "base/file/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

DIR *dg_folder_open(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !dir) {
        const int number = errno;
        close(fd);
        errno = number;
    }
    return dir;
}
