/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What this processor can do, and how many cores we may use.
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

/* "avx2 fma f16c" (or "none") into `room`, cut at `cap`; returns `room`. */
const char *dg_cpu_features_text(uint32_t features, char *room, size_t cap);

/* Cores this process may keep busy, 1 to DG_CPU_CORES_MAX: its affinity, and the CPU quota of its
 * control group (v1 or v2, and of every group above it), rounded up. */
unsigned dg_cpu_cores(void);

/* No pool of ours has more threads, whatever the machine has. */
enum { DG_CPU_CORES_MAX = 256 };

/* Keeps the calling thread on one of the cores that it may use: the one number i of them, counted
 * round. False: the system does not let us, and the thread runs where it did. */
bool dg_cpu_pin(unsigned i);

/* Whether it would let us; changes nothing. */
bool dg_cpu_may_pin(void);

/* The quota alone, with /proc and /sys below `root` ("" for the real ones): cores rounded up, 0
 * when there is no quota. */
unsigned dg_cpu_quota(const char *root);

#endif
