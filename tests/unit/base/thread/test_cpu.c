/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#define _GNU_SOURCE 1 /* cpu_set_t */
#include "base/thread/cpu.h"
#include "fake_machine.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Our own /proc and /sys in a temporary folder. */
static char root[DG_TMPDIR_CAP];

START_TEST(reads_the_quota_of_version_2_and_of_the_groups_above)
{
    dg_tmpdir_make(root);
    ck_assert_uint_eq(dg_cpu_quota(root), 0);
    fake_machine_put(root, "/proc/self/cgroup", "0::/a.slice/b.service\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 0);
    fake_machine_put(root, "/sys/fs/cgroup/a.slice/b.service/cpu.max", "max 100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 0);
    fake_machine_put(root, "/sys/fs/cgroup/a.slice/cpu.max", "350000 100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 4);
    fake_machine_put(root, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 1);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(reads_the_quota_of_a_container_whose_group_name_is_the_hosts)
{
    dg_tmpdir_make(root);
    fake_machine_put(root, "/proc/self/cgroup", "0::/not/visible/here\n");
    fake_machine_put(root, "/sys/fs/cgroup/cpu.max", "200000 100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 2);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(reads_the_quota_of_version_1)
{
    dg_tmpdir_make(root);
    fake_machine_put(root, "/proc/self/cgroup",
                     "5:memory:/x\n4:cpu,cpuacct:/x\n3:cpuset:/x\n0::/\n");
    fake_machine_put(root, "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
    fake_machine_put(root, "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 0);
    fake_machine_put(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    fake_machine_put(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(dg_cpu_quota(root), 3);
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(takes_no_quota_from_nonsense)
{
    static const char *const contents[] = {
        "", "x y\n", "100000\n", "0 100000\n", "1000 0\n", "-5 7\n", "99999999999999999999 1\n"};
    dg_tmpdir_make(root);
    fake_machine_put(root, "/proc/self/cgroup", "garbage\n:\n::\n0::/\n");
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        fake_machine_put(root, "/sys/fs/cgroup/cpu.max", contents[i]);
        ck_assert_uint_eq(dg_cpu_quota(root), 0);
    }
    dg_tmpdir_remove(root);
}
END_TEST

START_TEST(counts_at_least_one_core_and_no_more_than_there_are)
{
    ck_assert_uint_ge(dg_cpu_cores(), 1);
    ck_assert_uint_le(dg_cpu_cores(), (unsigned)sysconf(_SC_NPROCESSORS_CONF));
    ck_assert_uint_le(dg_cpu_cores(), DG_CPU_CORES_MAX);
}
END_TEST

/* The kernel's list is the second opinion; an emulator may show the list of the machine that it
 * runs on, under that one's name. */
#if defined(__aarch64__)
#define FEATURES "Features"
#else
#define FEATURES "flags"
#endif

START_TEST(agrees_with_the_kernel_about_features)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    static char flags[8192], line[8192];
    flags[0] = '\0';
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, FEATURES, strlen(FEATURES)) == 0) {
            snprintf(flags, sizeof flags, " %s ", strchr(line, ':') ? strchr(line, ':') + 1 : "");
            flags[strcspn(flags, "\n")] = ' ';
            break;
        }
    if (file)
        fclose(file);
    static const struct {
        uint32_t feature;
        const char *flag;
    } rows[] = {{DG_CPU_AVX2, " avx2 "},
                {DG_CPU_FMA, " fma "},
                {DG_CPU_F16C, " f16c "},
                {DG_CPU_AVX512F, " avx512f "},
                {DG_CPU_AVX512BW, " avx512bw "},
                {DG_CPU_AVX512VL, " avx512vl "},
                {DG_CPU_AVX512DQ, " avx512dq "},
                {DG_CPU_AVX512VNNI, " avx512_vnni "},
                {DG_CPU_AVX512BF16, " avx512_bf16 "},
                {DG_CPU_AVXVNNI, " avx_vnni "},
                {DG_CPU_NEON, " asimd "},
                {DG_CPU_DOTPROD, " asimddp "},
                {DG_CPU_I8MM, " i8mm "}};
    uint32_t features = dg_cpu_features();
    for (size_t i = 0; flags[0] && i < sizeof rows / sizeof *rows; i++) {
        bool listed = strstr(flags, rows[i].flag) != NULL;
        /* An older kernel may not know the name of a newer feature, never the reverse. */
        if (listed)
            ck_assert_msg(features & rows[i].feature, "%s is not reported", rows[i].flag);
    }
}
END_TEST

START_TEST(spells_features)
{
    char room[40];
    ck_assert_str_eq(dg_cpu_features_text(0, room, sizeof room), "none");
    ck_assert_str_eq(dg_cpu_features_text(DG_CPU_AVX2 | DG_CPU_F16C, room, sizeof room),
                     "avx2 f16c");
    ck_assert_str_eq(dg_cpu_features_text(DG_CPU_NEON, room, 3), "ne");
    ck_assert_uint_lt(strlen(dg_cpu_features_text(UINT32_MAX, room, sizeof room)), sizeof room);
}
END_TEST

static void *pinned(void *arg)
{
    cpu_set_t set;
    const bool is_pinned = dg_cpu_pin(*(unsigned *)arg);
    CPU_ZERO(&set);
    if (!is_pinned || sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) != 1)
        return arg;
    for (unsigned core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &set))
            *(unsigned *)arg = core;
    return NULL;
}

START_TEST(a_thread_stays_where_it_is_put_and_others_do_not)
{
    cpu_set_t all, after;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    if (!dg_cpu_may_pin()) {
        printf("this system does not let a thread choose its cores: not tested\n");
        return;
    }
    const unsigned n = (unsigned)CPU_COUNT(&all);
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        void *failed;
        unsigned core = i, again = i + n;
        ck_assert_int_eq(pthread_create(&thread, NULL, pinned, &core), 0);
        ck_assert_int_eq(pthread_join(thread, &failed), 0);
        ck_assert_ptr_null(failed);
        ck_assert(CPU_ISSET(core, &all));
        ck_assert_int_eq(pthread_create(&thread, NULL, pinned, &again), 0);
        ck_assert_int_eq(pthread_join(thread, &failed), 0);
        ck_assert_uint_eq(core, again); /* counted from the start again */
    }
    ck_assert_int_eq(sched_getaffinity(0, sizeof after, &after), 0);
    ck_assert(CPU_EQUAL(&all, &after));
}
END_TEST

DG_UNIT(a_thread_stays_where_it_is_put_and_others_do_not,
        reads_the_quota_of_version_2_and_of_the_groups_above,
        reads_the_quota_of_a_container_whose_group_name_is_the_hosts, reads_the_quota_of_version_1,
        takes_no_quota_from_nonsense, counts_at_least_one_core_and_no_more_than_there_are,
        agrees_with_the_kernel_about_features, spells_features)
