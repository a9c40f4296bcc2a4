/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* F32 products by OpenBLAS, everything else from the best other table of this CPU.
 *
 * A BLAS chooses its loops by the shape of the whole call, so a row's bits could depend on how many rows come
 * with it. Here every call has exactly BLAS_ROWS rows: missing ones are zeros. One thread a worker: the
 * workers are the parallelism. It is the fast path where no hand-written table fits the CPU; SPEED.md
 * compares them. */
#include "tensor/ops.h"

#include <cblas.h>
#include <pthread.h>
#include <string.h>

enum { BLAS_ROWS = DG_OPS_BLAS_ROWS, BLAS_COLUMNS = 512 };

static const struct dg_kernels *others;
static struct dg_kernels table;

/* act(sums + bias) + residual for one row of `n` columns. */
static void finish_row(float *out, float *sums, size_t n, const float *bias, enum dg_op_act act,
                       const float *residual)
{
    for (size_t i = 0; bias && i < n; i++)
        sums[i] += bias[i];
    if (act != DG_OP_NONE)
        others->activate(sums, n, act);
    for (size_t i = 0; residual && i < n; i++)
        sums[i] += residual[i];
    memcpy(out, sums, n * sizeof *out);
}

/* Up to BLAS_ROWS rows, a strip of columns at a time so that the sums fit the stack. */
static void linear_rows(float *out, size_t ld_out, const float *x, size_t ld_x, size_t rows,
                        const struct dg_packed *w, enum dg_op_act act, const float *residual,
                        size_t ld_residual)
{
    float sums[BLAS_ROWS * BLAS_COLUMNS];
    for (size_t n = 0; n < w->N; n += BLAS_COLUMNS) {
        const size_t width = w->N - n < BLAS_COLUMNS ? w->N - n : BLAS_COLUMNS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BLAS_ROWS, (blasint)width, (blasint)w->K, 1.0f,
                    x, (blasint)ld_x, (const float *)w->data + n * w->K, (blasint)w->K, 0.0f, sums,
                    BLAS_COLUMNS);
        for (size_t m = 0; m < rows; m++)
            finish_row(out + m * ld_out + n, sums + m * BLAS_COLUMNS, width, w->bias ? w->bias + n : NULL,
                       act, residual ? residual + m * ld_residual + n : NULL);
    }
}

static void linear(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                   const struct dg_packed *w, enum dg_op_act act, const float *residual,
                   size_t ld_residual, void *scratch)
{
    if (w->type == DG_PACKED_I8) {
        others->linear(out, ld_out, x, ld_x, M, w, act, residual, ld_residual, scratch);
        return;
    }
    for (size_t m = 0; m < M; m += BLAS_ROWS) {
        const size_t rows = M - m < BLAS_ROWS ? M - m : BLAS_ROWS;
        const float *in = x + m * ld_x, *more = residual ? residual + m * ld_residual : NULL;
        size_t ld_in = ld_x;
        if (rows < BLAS_ROWS) {
            float *filled = scratch;
            memset(filled, 0, BLAS_ROWS * w->K * sizeof *filled);
            for (size_t i = 0; i < rows; i++)
                memcpy(filled + i * w->K, in + i * ld_x, w->K * sizeof *filled);
            in = filled;
            ld_in = w->K;
        }
        linear_rows(out + m * ld_out, ld_out, in, ld_in, rows, w, act, more, ld_residual);
    }
}

/* The table is put together once from `others`, which dispatch.c found. */
static void put_together(void)
{
    openblas_set_num_threads(1);
    others = dg_kernels_without_blas();
    table = *others;
    table.name = "blas";
    table.panel = 1;
    table.linear = linear;
}

const struct dg_kernels *dg_kernels_blas(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, put_together);
    return &table;
}
