/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* F32 products by OpenBLAS, everything else from the best other table of this CPU.
 *
 * A BLAS chooses its loops by the shape of the whole call, so a row's bits could depend on how many rows come
 * with it. Here every call has the same number of rows: missing ones are zeros. Inside a call a row's bits may
 * still depend on its place, because the last rows go through other loops than the first: how many rows
 * leave none over differs from CPU to CPU, so it is tried out once, with one row in all places. Where no
 * number serves, each row is a call of its own. One thread a worker: the workers are the parallelism. It is
 * the fast path where no hand-written table fits the CPU; SPEED.md compares them. */
#include "tensor/ops.h"
#include "base/mem.h"

#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ROWS_MAX = DG_OPS_BLAS_ROWS_MAX, BLAS_COLUMNS = 512 };

static const struct dg_kernels *others;
static struct dg_kernels table;
static size_t call_rows; /* of every call */

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

/* Up to call_rows rows, a strip of columns at a time so that the sums fit the stack. */
static void linear_rows(float *out, size_t ld_out, const float *x, size_t ld_x, size_t rows,
                        const struct dg_packed *w, enum dg_op_act act, const float *residual,
                        size_t ld_residual)
{
    float sums[ROWS_MAX * BLAS_COLUMNS];
    for (size_t n = 0; n < w->N; n += BLAS_COLUMNS) {
        const size_t width = w->N - n < BLAS_COLUMNS ? w->N - n : BLAS_COLUMNS;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)call_rows, (blasint)width, (blasint)w->K, 1.0f,
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
    for (size_t m = 0; m < M; m += call_rows) {
        const size_t rows = M - m < call_rows ? M - m : call_rows;
        const float *in = x + m * ld_x, *more = residual ? residual + m * ld_residual : NULL;
        size_t ld_in = ld_x;
        if (rows < call_rows) {
            float *filled = scratch;
            memset(filled, 0, call_rows * w->K * sizeof *filled);
            for (size_t i = 0; i < rows; i++)
                memcpy(filled + i * w->K, in + i * ld_x, w->K * sizeof *filled);
            in = filled;
            ld_in = w->K;
        }
        linear_rows(out + m * ld_out, ld_out, in, ld_in, rows, w, act, more, ld_residual);
    }
}

/* Whether a row of K values times N columns comes out the same in each of `rows` places. */
static bool all_places_agree(size_t rows, size_t N, size_t K, float *x, float *w, float *out)
{
    uint32_t state = 1;
    for (size_t i = 0; i < N * K; i++)
        w[i] = (float)(int32_t)(state = state * 1664525u + 1013904223u) * 0x1p-31f;
    for (size_t k = 0; k < K; k++)
        for (size_t m = 0; m < rows; m++)
            x[m * K + k] = w[(k * 7 + 3) % (N * K)];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)N, (blasint)K, 1.0f, x,
                (blasint)K, w, (blasint)K, 0.0f, out, (blasint)N);
    for (size_t m = 1; m < rows; m++)
        if (memcmp(out + m * N, out, N * sizeof *out) != 0)
            return false;
    return true;
}

/* The first number of rows that treats all places alike, over shapes that reach every loop of a product: odd
 * ones, small and large. 1 always does. */
static size_t find_call_rows(void)
{
    static const size_t candidates[] = {16, 24, 8};
    static const size_t shapes[][2] = {{1, 64}, {7, 3}, {96, 75}, {140, 64}, {512, 256}, {130, 1100}};
    enum { N_MAX = 512, K_MAX = 1100, NK_MAX = 130 * 1100 };
    float *x = dg_xmalloc(ROWS_MAX * K_MAX * sizeof *x), *w = dg_xmalloc(NK_MAX * sizeof *w);
    float *out = dg_xmalloc(ROWS_MAX * N_MAX * sizeof *out);
    size_t found = 1;
    for (size_t c = 0; c < sizeof candidates / sizeof *candidates && found == 1; c++) {
        bool agree = true;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes && agree; s++)
            agree = all_places_agree(candidates[c], shapes[s][0], shapes[s][1], x, w, out);
        found = agree ? candidates[c] : 1;
    }
    dg_free(x);
    dg_free(w);
    dg_free(out);
    return found;
}

/* The table is put together once from `others`, which dispatch.c found. */
static void put_together(void)
{
    openblas_set_num_threads(1);
    call_rows = find_call_rows();
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
