/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs the table's loops that only multiply-add or only read, and takes their best speed. */
#include "tensor/forward/limits.h"

#include "base/memory/mem.h"
#include "tensor/forward/ops.h"
#include "tensor/huge_pages.h"

#include <time.h>

enum { RUNS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Measures multiply-adds per second: the best of several runs of about 10 ms. */
static double measure_floats(float (*spin)(size_t rounds), size_t at_once, size_t rounds,
                             volatile float *sink)
{
    double best = 0.0;
    for (int run = 0; run < RUNS; run++) {
        const double start = now();
        *sink = spin(rounds);
        const double speed = (double)(rounds * DG_OPS_CHAINS * at_once) / (now() - start);
        best = speed > best ? speed : best;
    }
    return best;
}

static double measure_i8(const struct dg_kernels *kernels, size_t rounds, volatile float *sink)
{
    double best = 0.0;
    for (int run = 0; run < RUNS; run++) {
        const double start = now();
        *sink = (float)kernels->spin_i8(rounds);
        const double speed =
            (double)(rounds * DG_OPS_CHAINS * kernels->lanes * 4) / (now() - start);
        best = speed > best ? speed : best;
    }
    return best;
}

/* Measures bytes per second, reading the same `n` floats `times` times in each run. */
static double measure_read(const struct dg_kernels *kernels, const float *x, size_t n, int times,
                           int runs, volatile float *sink)
{
    double best = 0.0;
    for (int run = 0; run < runs; run++) {
        const double start = now();
        for (int i = 0; i < times; i++)
            *sink = kernels->read(x, n);
        const double speed = (double)times * (double)(n * sizeof *x) / (now() - start);
        best = speed > best ? speed : best;
    }
    return best;
}

enum dg_err dg_limits_measure(struct dg_limits *limits)
{
    const struct dg_kernels *kernels = dg_kernels_without_blas();
    const size_t n = 100u << 20; /* number of floats, 400 MB */
    volatile float sink;
    float *x = dg_try_aligned(n * sizeof *x);
    if (!x)
        return DG_ERR_NOMEM;
    dg_huge_pages_wish(x, n * sizeof *x); /* in large pages if possible, as weights are */
    for (size_t i = 0; i < n; i++)
        x[i] = 1.0f;
    limits->kernels = kernels->name;
    limits->f32_gflops = 2e-9 * measure_floats(kernels->spin_f32, kernels->lanes, 2000000, &sink);
    limits->bf16_gflops =
        kernels->spin_bf16
            ? 2e-9 * measure_floats(kernels->spin_bf16, 2 * kernels->lanes, 2000000, &sink)
            : limits->f32_gflops;
    limits->i8_gops = 2e-9 * measure_i8(kernels, 2000000, &sink);
    limits->read_l2_gbs = 1e-9 * measure_read(kernels, x, 128u << 10, 2000, RUNS, &sink);
    limits->read_l3_gbs = 1e-9 * measure_read(kernels, x, 4u << 20, 40, RUNS, &sink);
    limits->read_memory_gbs = 1e-9 * measure_read(kernels, x, n, 1, 5, &sink);
    dg_free(x);
    return DG_OK;
}
