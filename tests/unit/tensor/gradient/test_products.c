/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* BF16 products equal those of plain loops over rounded factors, for any shape, and write nothing
 * except their result. */
#include "base/memory/mem.h"
#include "base/thread/cpu.h"
#include "tensor/gradient/gemm.h"
#include "tensor/gradient/products.h"
#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 3 }; /* numbers between the end of a row and the next row */

static uint32_t state = 1;

/* -1 to 1. */
static float any(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state * 0x1p-31f;
}

/* A matrix whose gaps are NaN, which spoils any product that reads one. */
static float *matrix(size_t rows, size_t columns)
{
    float *made = dg_xmalloc(rows * (columns + GAP) * sizeof *made);
    for (size_t i = 0; i < rows * (columns + GAP); i++)
        made[i] = i % (columns + GAP) < columns ? any() : NAN;
    return made;
}

static float *copy_of(const float *x, size_t rows, size_t columns)
{
    const size_t bytes = rows * (columns + GAP) * sizeof *x;
    return memcpy(dg_xmalloc(bytes), x, bytes);
}

struct shape {
    size_t M, N, K;
};

enum { NT, NN, TN };

static dg_product_fn *product(const struct dg_products *products, int which)
{
    return which == NT ? products->nt : which == NN ? products->nn : products->tn;
}

static void check(const struct dg_products *products, const struct shape *s, int which, float beta,
                  void *scratch)
{
    const size_t a_rows = which == TN ? s->K : s->M, a_columns = which == TN ? s->M : s->K;
    const size_t b_rows = which == NT ? s->N : s->K, b_columns = which == NT ? s->K : s->N;
    float *a = matrix(a_rows, a_columns), *b = matrix(b_rows, b_columns), *c = matrix(s->M, s->N);
    float *wanted = copy_of(c, s->M, s->N), *again = copy_of(c, s->M, s->N);
    const size_t ld_a = a_columns + GAP, ld_b = b_columns + GAP, ld_c = s->N + GAP;
    product(products, which)(c, ld_c, a, ld_a, b, ld_b, s->M, s->N, s->K, beta, scratch);
    product(products, which)(again, ld_c, a, ld_a, b, ld_b, s->M, s->N, s->K, beta, scratch);
    product(&dg_products_bf16_ref, which)(wanted, ld_c, a, ld_a, b, ld_b, s->M, s->N, s->K, beta,
                                          NULL);
    ck_assert_int_eq(memcmp(c, again, s->M * ld_c * sizeof *c), 0);
    for (size_t i = 0; i < s->M * ld_c; i++)
        if (i % ld_c < s->N)
            ck_assert_float_eq_tol(c[i], wanted[i], 1e-6f * (float)s->K + 1e-6f);
        else
            ck_assert(isnan(c[i]));
    dg_free(a);
    dg_free(b);
    dg_free(c);
    dg_free(wanted);
    dg_free(again);
}

static const struct shape shapes[] = {
    {1, 1, 1},       {1, 64, 2},   {6, 64, 32},   {7, 65, 33},   {5, 16, 31},    {12, 17, 64},
    {13, 130, 5},    {97, 30, 40}, {96, 64, 512}, {3, 3, 513},   {8, 513, 9},    {100, 70, 65},
    {193, 20, 1030}, {32, 32, 32}, {64, 128, 96}, {65, 97, 512}, {128, 600, 514}};

/* The products that DRAGOMAN_KERNELS asks for (NULL: the best of this processor). Without BF16,
 * they are the plain loops, which are then compared with themselves. */
static const struct dg_products *found(const char *kernels)
{
    if (kernels)
        setenv("DRAGOMAN_KERNELS", kernels, 1);
    else
        unsetenv("DRAGOMAN_KERNELS");
    const struct dg_products *products = dg_products_find(DG_PRODUCTS_BF16);
    unsetenv("DRAGOMAN_KERNELS");
    return products == &dg_products_f32 ? &dg_products_bf16_ref : products;
}

static void check_every_shape(const struct dg_products *products)
{
    void *scratch = dg_xmalloc(products->scratch + 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int which = NT; which <= TN; which++)
            for (int step = 0; step < 3; step++)
                check(products, &shapes[i], which, (float)step / 2.0f, scratch);
    dg_free(scratch);
}

START_TEST(every_shape_agrees_with_the_plain_loops)
{
    check_every_shape(found(NULL));
}
END_TEST

/* Where tiles are there, they are not chosen then. */
START_TEST(every_shape_agrees_by_vectors_as_well)
{
    check_every_shape(found("avx512"));
}
END_TEST

START_TEST(rounding_costs_what_eight_bits_cost)
{
    enum { M = 20, N = 30, K = 200 };
    float *a = matrix(M, K), *b = matrix(N, K), *c = matrix(M, N), *wanted = copy_of(c, M, N);
    double error = 0.0, size = 0.0;
    dg_gemm_init();
    dg_products_bf16_ref.nt(c, N + GAP, a, K + GAP, b, K + GAP, M, N, K, 0.0f, NULL);
    dg_products_f32.nt(wanted, N + GAP, a, K + GAP, b, K + GAP, M, N, K, 0.0f, NULL);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            const double exact = (double)wanted[m * (N + GAP) + n];
            error += pow((double)c[m * (N + GAP) + n] - exact, 2);
            size += exact * exact;
        }
    ck_assert_double_gt(error, 0.0);
    ck_assert_double_lt(sqrt(error / size), 0x1p-8);
    dg_free(a);
    dg_free(b);
    dg_free(c);
    dg_free(wanted);
}
END_TEST

START_TEST(the_processor_decides)
{
    ck_assert_ptr_eq(dg_products_find(DG_PRODUCTS_F32), &dg_products_f32);
    const bool has = dg_cpu_features() & DG_CPU_AVX512BF16;
    const bool has_tiles = has && dg_cpu_features() & DG_CPU_AMX_BF16 && dg_cpu_allow_tiles();
    unsetenv("DRAGOMAN_KERNELS");
    ck_assert_str_eq(dg_products_find(DG_PRODUCTS_BF16)->name, has_tiles ? "bf16 (AMX)"
                                                               : has     ? "bf16"
                                                                         : "f32");
    setenv("DRAGOMAN_KERNELS", "ref", 1);
    ck_assert_ptr_eq(dg_products_find(DG_PRODUCTS_BF16), &dg_products_f32);
    unsetenv("DRAGOMAN_KERNELS");
}
END_TEST

DG_UNIT(every_shape_agrees_with_the_plain_loops, every_shape_agrees_by_vectors_as_well,
        rounding_costs_what_eight_bits_cost, the_processor_decides)
