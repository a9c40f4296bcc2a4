/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Measures the most that one thread can do on this processor: multiply-adds and reading. The speed
 * of the kernels is given as a share of these limits. Each figure is the best of several short
 * runs, which take about 0.1 s together.
 *
 *     struct dg_limits limits;
 *     err = dg_limits_measure(&limits);
 *     printf("%.0f GFLOP/s\n", limits.f32_gflops);
 *
 * Time is the thread's own processor time, so that other programs disturb the figures only through
 * shared caches and memory. */
#ifndef DG_TENSOR_FORWARD_LIMITS_H
#define DG_TENSOR_FORWARD_LIMITS_H

#include "base/memory/error.h"

struct dg_limits {
    const char *kernels; /* the widest instruction set in use: "amx", "avx512", "avx2", ... */
    double f32_gflops;  /* fused multiply-adds from registers, two operations each, 10^9 a second */
    double bf16_gflops; /* the same for products of BF16 summed in F32; F32's where the processor
                           does not multiply BF16 */
    double i8_gops;     /* the same for products of bytes summed in 32 bits, which the I8 kernels
                           compute */
    double read_l2_gbs; /* reading 0.5 MB over and over, 10^9 bytes a second */
    double read_l3_gbs; /* reading 16 MB over and over */
    double read_memory_gbs; /* reading 400 MB over and over */
};

/* Measures all limits, which takes about a second. DG_ERR_NOMEM: 400 MB cannot be allocated. */
enum dg_err dg_limits_measure(struct dg_limits *limits) DG_MUST_CHECK;

#endif
