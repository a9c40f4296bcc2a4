/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What this processor can do, and how many of its cores this process may use.
 *
 *     uint32_t features = dg_cpu_features();
 *     if ((features & DG_CPU_AVX2) && (features & DG_CPU_FMA)) ...
 *     unsigned n_workers = dg_cpu_cores();
 *
 * A feature is reported when both the processor and the operating system support it. Any thread. */
#ifndef DG_BASE_THREAD_CPU_H
#define DG_BASE_THREAD_CPU_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/*      feature               bit  name */
#define DG_CPU_FEATURES(X)                                                                         \
    X(DG_CPU_AVX2, 0, "avx2")                                                                      \
    X(DG_CPU_FMA, 1, "fma")                                                                        \
    X(DG_CPU_F16C, 2, "f16c")                                                                      \
    X(DG_CPU_AVX512F, 3, "avx512f")                                                                \
    X(DG_CPU_AVX512BW, 4, "avx512bw")                                                              \
    X(DG_CPU_AVX512VL, 5, "avx512vl")                                                              \
    X(DG_CPU_AVX512DQ, 6, "avx512dq")                                                              \
    X(DG_CPU_AVX512VNNI, 7, "avx512vnni")                                                          \
    X(DG_CPU_AVX512BF16, 8, "avx512bf16")                                                          \
    X(DG_CPU_AVXVNNI, 9, "avxvnni")                                                                \
    X(DG_CPU_AMX_TILE, 10, "amx-tile")                                                             \
    X(DG_CPU_AMX_INT8, 11, "amx-int8")                                                             \
    X(DG_CPU_AMX_BF16, 12, "amx-bf16")                                                             \
    X(DG_CPU_NEON, 16, "neon")                                                                     \
    X(DG_CPU_DOTPROD, 17, "dotprod")                                                               \
    X(DG_CPU_I8MM, 18, "i8mm")                                                                     \
    X(DG_CPU_BF16, 19, "bf16")

enum dg_cpu_feature {
#define DG_CPU_FEATURE_ENUM(feature, bit, name) feature = 1 << (bit),
    DG_CPU_FEATURES(DG_CPU_FEATURE_ENUM)
#undef DG_CPU_FEATURE_ENUM
};

/* A set of enum dg_cpu_feature. */
uint32_t dg_cpu_features(void);

/* Asks the kernel to let this process use the tiles of AMX (Linux grants them only on demand);
 * returns false where it refuses, or where dg_cpu_features lacks DG_CPU_AMX_TILE. Without the
 * permission, an AMX instruction ends the process. Threads inherit the permission, also those that
 * exist already. It may be called again. */
bool dg_cpu_allow_tiles(void);

/* "avx2 fma f16c" (or "none") into `room`, cut at `cap`; returns `room`. */
const char *dg_cpu_features_text(uint32_t features, char *room, size_t cap);

/* Cores that this process may keep busy, 1 to DG_CPU_CORES_MAX. Its affinity limits them, and so
 * does the CPU quota (rounded up) of its control group, v1 or v2, and of every group above. */
unsigned dg_cpu_cores(void);

/* No pool of ours has more threads, however many cores the machine has. */
enum { DG_CPU_CORES_MAX = 256 };

/* Pins the calling thread to core i modulo n of the n cores that it may use. False: the system does
 * not permit it, and nothing changes. */
bool dg_cpu_pin(unsigned i);

/* Whether the system would permit dg_cpu_pin; changes nothing. */
bool dg_cpu_may_pin(void);

/* The quota alone, in cores, rounded up; 0 when there is none. Reads /proc and /sys below `root`
 * ("" for the real ones). */
unsigned dg_cpu_quota(const char *root);

#endif
