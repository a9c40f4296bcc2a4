/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What this machine's silicon allows one thread, measured: multiply-adds and reading. Results of
 * the kernels are shares of these. Each figure is the best of several short runs (0.1 s or so
 * altogether a figure).
 *
 *     struct dg_limits limits;
 *     err = dg_limits_measure(&limits);
 *     printf("%.0f GFLOP/s\n", limits.f32_gflops);
 *
 * Time is the thread's own processor time, so that other programs count as little as they can; what
 * they do to shared caches and memory is in the figures. */
#ifndef DG_TENSOR_FORWARD_LIMITS_H
#define DG_TENSOR_FORWARD_LIMITS_H

#include "base/memory/err.h"

struct dg_limits {
    const char *kernels; /* the widest instruction set that was used: "avx512", "avx2", "neon",
                            "ref" */
    double f32_gflops;  /* fused multiply-adds from registers, two operations each, 10^9 a second */
    double i8_gops;     /* the same of bytes into 32-bit sums, as the I8 kernels do it */
    double read_l2_gbs; /* reading 0.5 MB over and over, 10^9 bytes a second */
    double read_l3_gbs; /* 16 MB */
    double read_memory_gbs; /* 400 MB */
};

/* DG_ERR_NOMEM when the 400 MB are not to be had. Takes about a second. */
enum dg_err dg_limits_measure(struct dg_limits *limits) DG_MUST_CHECK;

#endif
