/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* CPU features from CPUID (x86-64) or the kernel's auxiliary vector (arm64), and usable cores from
 * the affinity mask and control groups.
 *
 * On x86 a feature counts only if the operating system saves its registers (XCR0): AVX needs bits 1
 * and 2, AVX-512 bits 5 to 7 as well, AMX bits 17 and 18. */
#define _GNU_SOURCE 1 /* sched_getaffinity, CPU_ALLOC, syscall */
#include "base/thread/cpu.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Features -------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

static uint64_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has(uint64_t word, int bit)
{
    return word >> bit & 1;
}

uint32_t dg_cpu_features(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, 27) || !has(c, 28)) /* OSXSAVE, AVX */
        return 0;
    uint64_t saved = saved_registers();
    if ((saved & 0x6) != 0x6)
        return 0;
    uint32_t found = (has(c, 12) ? DG_CPU_FMA : 0u) | (has(c, 29) ? DG_CPU_F16C : 0u);
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return found;
    uint32_t n_leaves = a;
    found |= has(b, 5) ? DG_CPU_AVX2 : 0u;
    bool wide = (saved & 0xE6) == 0xE6 && has(b, 16);
    if (wide) {
        found |= DG_CPU_AVX512F;
        found |= has(b, 17) ? DG_CPU_AVX512DQ : 0u;
        found |= has(b, 30) ? DG_CPU_AVX512BW : 0u;
        found |= has(b, 31) ? DG_CPU_AVX512VL : 0u;
        found |= has(c, 11) ? DG_CPU_AVX512VNNI : 0u;
    }
    if (wide && has(saved, 17) && has(saved, 18)) {
        found |= has(d, 22) ? DG_CPU_AMX_BF16 : 0u;
        found |= has(d, 24) ? DG_CPU_AMX_TILE : 0u;
        found |= has(d, 25) ? DG_CPU_AMX_INT8 : 0u;
    }
    if (n_leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
        found |= has(a, 4) ? DG_CPU_AVXVNNI : 0u;
        found |= wide && has(a, 5) ? DG_CPU_AVX512BF16 : 0u;
    }
    return found;
}

bool dg_cpu_allow_tiles(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return dg_cpu_features() & DG_CPU_AMX_TILE && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

uint32_t dg_cpu_features(void)
{
    /* Bits of the kernel's arm64 interface (asm/hwcap.h), spelled here because older headers lack
     * the later ones. */
    unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
    return (first >> 1 & 1 ? DG_CPU_NEON : 0u) | (first >> 20 & 1 ? DG_CPU_DOTPROD : 0u) |
           (second >> 13 & 1 ? DG_CPU_I8MM : 0u) | (second >> 14 & 1 ? DG_CPU_BF16 : 0u);
}

#else

uint32_t dg_cpu_features(void)
{
    return 0;
}

#endif

#if !defined(__x86_64__)
bool dg_cpu_allow_tiles(void)
{
    return false;
}
#endif

const char *dg_cpu_features_text(uint32_t features, char *room, size_t cap)
{
    static const struct {
        uint32_t feature;
        const char *name;
    } rows[] = {
#define FEATURE_ROW(feature, bit, name) {feature, name},
        DG_CPU_FEATURES(FEATURE_ROW)
#undef FEATURE_ROW
    };
    size_t len = (size_t)snprintf(room, cap, "%s", features ? "" : "none");
    for (size_t i = 0; i < sizeof rows / sizeof *rows && len < cap; i++)
        if (features & rows[i].feature)
            len += (size_t)snprintf(room + len, cap - len, "%s%s", len ? " " : "", rows[i].name);
    return room;
}

/* ---- Cores ----------------------------------------------------------------------------------- */

enum { PATH_CAP = 1024, MASK_CPUS = 1 << 16 };

/* The first line of a file, without its end; false when it cannot be read. */
static bool first_line(const char *path, char line[PATH_CAP])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, PATH_CAP, file) != NULL;
    fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

static unsigned cores_of(long long quota_us, long long period_us)
{
    if (quota_us <= 0 || period_us <= 0)
        return 0;
    long long cores = quota_us / period_us + (quota_us % period_us != 0);
    return cores > 1 << 20 ? 0 : (unsigned)cores;
}

/* The smaller of two where 0 stands for "no limit". */
static unsigned tighter(unsigned a, unsigned b)
{
    return a == 0 ? b : b == 0 ? a : a < b ? a : b;
}

/* Reads a decimal number and the white space after it; false when there is none. */
static bool take_number(const char **text, long long *number)
{
    char *end;
    *number = strtoll(*text, &end, 10);
    if (end == *text)
        return false;
    *text = end + strspn(end, " \t");
    return true;
}

static bool number_in_file(const char *group, const char *name, long long *number)
{
    char path[PATH_CAP], line[PATH_CAP];
    const char *at = line;
    return snprintf(path, sizeof path, "%s/%s", group, name) < PATH_CAP && first_line(path, line) &&
           take_number(&at, number);
}

/* Version 2: cpu.max holds "QUOTA PERIOD" or "max PERIOD". */
static unsigned quota_v2(const char *group)
{
    char path[PATH_CAP], line[PATH_CAP];
    const char *at = line;
    long long quota, period;
    if (snprintf(path, sizeof path, "%s/cpu.max", group) >= PATH_CAP || !first_line(path, line) ||
        !take_number(&at, &quota) || !take_number(&at, &period))
        return 0;
    return cores_of(quota, period);
}

/* Version 1 of cgroups: the two numbers in two files; a quota of -1 means none. */
static unsigned quota_v1(const char *group)
{
    long long quota, period;
    if (!number_in_file(group, "cpu.cfs_quota_us", &quota) ||
        !number_in_file(group, "cpu.cfs_period_us", &period))
        return 0;
    return cores_of(quota, period);
}

/* The tightest quota of the group `name` below `mount` and of all groups above it. In a container
 * the name may be that of a group of the host, which does not exist here; the search through its
 * parents then still ends at the mount, which does. */
static unsigned quota_up(const char *mount, const char *name, unsigned (*quota)(const char *))
{
    char path[PATH_CAP];
    size_t root = strlen(mount);
    if (snprintf(path, sizeof path, "%s%s", mount, name) >= PATH_CAP)
        return 0;
    unsigned least = 0;
    for (;;) {
        least = tighter(least, quota(path));
        char *slash = strrchr(path + root, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* True when the comma-separated `list` holds "cpu". */
static bool names_cpu(const char *list, size_t len)
{
    for (const char *at = list; at < list + len;) {
        size_t n = strcspn(at, ",:");
        if (n == 3 && memcmp(at, "cpu", 3) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

/* A line of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1). */
static unsigned quota_of_line(const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    controllers++;
    size_t len = (size_t)(group - controllers);
    char mount[PATH_CAP];
    if (len == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return quota_up(mount, group + 1, quota_v2);
    }
    if (!names_cpu(controllers, len))
        return 0;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    return quota_up(mount, group + 1, quota_v1);
}

unsigned dg_cpu_quota(const char *root)
{
    char path[PATH_CAP], line[PATH_CAP];
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= PATH_CAP)
        return 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    unsigned least = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        least = tighter(least, quota_of_line(root, line));
    }
    fclose(file);
    return least;
}

static unsigned cores_by_affinity(void)
{
    unsigned n = 0;
    cpu_set_t *set = CPU_ALLOC(MASK_CPUS);
    size_t size = CPU_ALLOC_SIZE(MASK_CPUS);
    if (set && sched_getaffinity(0, size, set) == 0)
        n = (unsigned)CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (n == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online > 0 ? (unsigned)online : 1;
    }
    return n;
}

/* The number of core i of a set of n. */
static size_t core_of(const cpu_set_t *set, size_t size, unsigned i, unsigned n)
{
    size_t core = 0;
    for (unsigned left = i % n; core < MASK_CPUS; core++)
        if (CPU_ISSET_S(core, size, set) && left-- == 0)
            break;
    return core;
}

/* Pins to core i, among the cores that are allowed. */
static bool pin(const unsigned *i)
{
    cpu_set_t *set = CPU_ALLOC(MASK_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MASK_CPUS);
    bool is_done = set && sched_getaffinity(0, size, set) == 0 && CPU_COUNT_S(size, set) > 0;
    if (is_done && i) {
        const size_t core = core_of(set, size, *i, (unsigned)CPU_COUNT_S(size, set));
        CPU_ZERO_S(size, set);
        CPU_SET_S(core, size, set);
    }
    is_done = is_done && sched_setaffinity(0, size, set) == 0;
    CPU_FREE(set);
    return is_done;
}

bool dg_cpu_pin(unsigned i)
{
    return pin(&i);
}

bool dg_cpu_may_pin(void)
{
    return pin(NULL);
}

unsigned dg_cpu_cores(void)
{
    const unsigned cores = tighter(cores_by_affinity(), dg_cpu_quota(""));
    return cores < DG_CPU_CORES_MAX ? cores : DG_CPU_CORES_MAX;
}
