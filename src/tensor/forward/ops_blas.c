/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* F32 products by OpenBLAS; everything else comes from the best other table for this CPU.
 *
 * A BLAS chooses its loops by the shape of the whole call, so a row's bits could depend on the
 * number of rows, and a word's bits on the other words of a shortlist. So here every call has the
 * same number of rows (missing rows are zeros) and of columns (one panel of packed.h). Bits may
 * still depend on the place within a call, because the last rows and columns may go through other
 * loops than the first. Which number of rows avoids this differs from CPU to CPU, so it is found by
 * a trial, with the same row and the same column in all places. If no number works, each row is a
 * call of its own. Each worker uses one thread; the workers run in parallel. This is the fast path
 * where no hand-written table fits the CPU; docs/speed-log.md compares them. */
#include "base/memory/mem.h"
#include "tensor/forward/ops.h"

#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ROWS_MAX = DG_OPS_BLAS_ROWS_MAX, BLAS_COLUMNS = 96 };

static const struct dg_kernels *others;
static struct dg_kernels table;
static size_t call_rows; /* rows of every call */

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

/* Makes the only shape of call: `rows` of x times a panel [K][BLAS_COLUMNS]. */
static void multiply(float *out, const float *x, size_t ld_x, size_t rows, const float *panel,
                     size_t K)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, BLAS_COLUMNS, (blasint)K,
                1.0f, x, (blasint)ld_x, panel, BLAS_COLUMNS, 0.0f, out, BLAS_COLUMNS);
}

/* Computes up to call_rows rows, panel by panel. */
static void linear_rows(float *out, size_t ld_out, const float *x, size_t ld_x, size_t rows,
                        const struct dg_packed *w, enum dg_op_act act, const float *residual,
                        size_t ld_residual)
{
    float sums[ROWS_MAX * BLAS_COLUMNS];
    for (size_t n = 0; n < w->N; n += BLAS_COLUMNS) {
        const size_t width = w->N - n < BLAS_COLUMNS ? w->N - n : BLAS_COLUMNS;
        multiply(sums, x, ld_x, call_rows, (const float *)w->data + n * w->K, w->K);
        for (size_t m = 0; m < rows; m++)
            finish_row(out + m * ld_out + n, sums + m * BLAS_COLUMNS, width,
                       w->bias ? w->bias + n : NULL, act,
                       residual ? residual + m * ld_residual + n : NULL);
    }
}

static void linear(float *out, size_t ld_out, const float *x, size_t ld_x, size_t M,
                   const struct dg_packed *w, enum dg_op_act act, const float *residual,
                   size_t ld_residual, void *scratch)
{
    if (w->type != DG_PACKED_F32) {
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

/* Returns true when a row of K values times a column gives the same bits in each of `rows` places
 * and in each column. */
static bool all_places_agree(size_t rows, size_t K, float *x, float *panel, float *out)
{
    uint32_t state = 1;
    for (size_t k = 0; k < K; k++) {
        const float value = (float)(int32_t)(state = state * 1664525u + 1013904223u) * 0x1p-31f;
        const float weight = (float)(int32_t)(state = state * 1664525u + 1013904223u) * 0x1p-31f;
        for (size_t m = 0; m < rows; m++)
            x[m * K + k] = value;
        for (size_t n = 0; n < BLAS_COLUMNS; n++)
            panel[k * BLAS_COLUMNS + n] = weight;
    }
    multiply(out, x, K, rows, panel, K);
    for (size_t i = 1; i < rows * BLAS_COLUMNS; i++)
        if (memcmp(out + i, out, sizeof *out) != 0)
            return false;
    return true;
}

/* Finds the first number of rows that treats all places alike, for values of K that reach every
 * loop of a product. */
static size_t find_call_rows(void)
{
    static const size_t candidates[] = {16, 24, 8}, lengths[] = {3, 64, 75, 256, 1100};
    enum { K_MAX = 1100 };
    float *x = dg_xmalloc(ROWS_MAX * K_MAX * sizeof *x),
          *panel = dg_xmalloc(K_MAX * BLAS_COLUMNS * sizeof *panel);
    float *out = dg_xmalloc(ROWS_MAX * BLAS_COLUMNS * sizeof *out);
    size_t found = 1;
    for (size_t c = 0; c < sizeof candidates / sizeof *candidates && found == 1; c++) {
        bool agree = true;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths && agree; i++)
            agree = all_places_agree(candidates[c], lengths[i], x, panel, out);
        found = agree ? candidates[c] : 1;
    }
    dg_free(x);
    dg_free(panel);
    dg_free(out);
    return found;
}

/* Makes the table, once, from `others`, which dispatch.c found. */
static void put_together(void)
{
    openblas_set_num_threads(1);
    call_rows = find_call_rows();
    others = dg_kernels_without_blas();
    table = *others;
    table.name = "blas";
    table.panel = BLAS_COLUMNS;
    table.linear = linear;
    table.linear_begin = NULL;
    table.linear_columns = NULL;
}

const struct dg_kernels *dg_kernels_blas(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, put_together);
    return &table;
}
