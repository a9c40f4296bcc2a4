/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Files of /proc and /sys below a directory of the test's own, for functions that take a `root`.
 *
 *     char root[DG_TMPDIR_CAP];
 *     dg_tmpdir_make(root);
 *     fake_machine_put(root, "/sys/fs/cgroup/cpu.max", "max 100000\n");
 *     fake_machine_nodes(root, 2, (const char *[]){"0-3", "4-7"});
 *     dg_tmpdir_remove(root); */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H

#include "tmpdir.h"

#include <check.h>
#include <sys/stat.h>

static inline void fake_machine_put(const char *root, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* it may be there already */
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

/* Memory nodes 0 to n - 1 with these lists of CPUs, all of which the process may use. */
static inline void fake_machine_nodes(const char *root, size_t n, const char *const *cpus)
{
    char text[64], name[64];
    snprintf(text, sizeof text, "0-%zu\n", n - 1);
    fake_machine_put(root, "/sys/devices/system/node/online", text);
    fake_machine_put(root, "/sys/devices/system/node/has_memory", text);
    fake_machine_put(root, "/proc/self/status",
                     "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-8191\n"
                     "Mems_allowed_list:\t0-8191\n");
    for (size_t node = 0; node < n; node++) {
        snprintf(name, sizeof name, "/sys/devices/system/node/node%zu/cpulist", node);
        snprintf(text, sizeof text, "%s\n", cpus[node]);
        fake_machine_put(root, name, text);
    }
}

#endif
