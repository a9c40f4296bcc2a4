/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Every kernel of every table that this machine runs, compared with the plain C that defines it:
 * sizes with tails of every length, unaligned rows, wide strides, extreme values. A row's bits
 * depend only on the row. */
#include "base/memory/mem.h"
#include "tensor/convert.h"
#include "tensor/forward/ops.h"
#include "tensor/narrow.h"
#include "unit.h"

#include <stdio.h>

static const struct dg_kernels *tables[DG_KERNELS_MAX];
static size_t n_tables;
static uint32_t seed;

static float next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) * 0x1p-23f - 1.0f;
}

/* Memory that ends exactly after its numbers: the sanitizers' builds catch any access beyond it. */
static float *floats(size_t n)
{
    float *x = dg_xmalloc((n ? n : 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = next();
    return x;
}

/* Values as a ReLU gives them: none below zero, and this share of zeros. */
static void make_plain(float *x, size_t n, float zeros)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fabsf(next()) < zeros ? 0.0f : fabsf(x[i]);
}

static void setup(void)
{
    seed = 7;
    n_tables = dg_kernels_all(tables);
    ck_assert_str_eq(tables[n_tables - 1]->name, "ref");
}

static void check_near(const char *table, const float *a, const float *b, size_t n, float tolerance)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabsf(a[i] - b[i]) <= tolerance * (1.0f + fabsf(b[i])),
                      "%s at %zu of %zu: %g, not %g", table, i, n, (double)a[i], (double)b[i]);
}

static struct dg_packed pack(const struct dg_kernels *kernels, enum dg_packed_type type, size_t N,
                             size_t K, const float *rows, const float *bias)
{
    struct dg_packed w = {.type = type, .N = N, .K = K, .panel = dg_kernels_panel(kernels, type)};
    size_t data_bytes, channel_bytes;
    float *scratch = floats(K);
    const struct dg_tensor matrix = {
        .data = rows, .shape = {N, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
    const struct dg_tensor vector = {
        .data = bias, .shape = {N, 1, 1, 1}, .rank = 1, .dtype = DG_DTYPE_F32};
    ck_assert(dg_packed_sizes(&w, &data_bytes, &channel_bytes));
    w.data = dg_xcalloc(1, data_bytes);
    w.scale = dg_xcalloc(1, channel_bytes);
    w.sum = dg_xcalloc(1, channel_bytes);
    w.bias = bias ? dg_xcalloc(1, channel_bytes) : NULL;
    dg_packed_put_rows(&w, 0, &matrix, scratch);
    if (bias)
        dg_packed_put_bias(&w, 0, &vector);
    dg_free(scratch);
    return w;
}

static void unpack(struct dg_packed *w)
{
    dg_free(w->data);
    dg_free(w->scale);
    dg_free(w->sum);
    dg_free(w->bias);
}

struct linear_case {
    size_t M, N, K;
    enum dg_op_act act;
    bool has_bias, has_residual, in_place;
    float zeros; /* not 0: rows are plain, with this share of zeros */
};

/* One product with one table; rows of x lie K + 3 apart, rows of the output N + 5. */
static float *run_linear(const struct dg_kernels *kernels, enum dg_packed_type type,
                         const struct linear_case *c, const float *x, const float *rows,
                         const float *bias, const float *residual)
{
    struct dg_packed w = pack(kernels, type, c->N, c->K, rows, c->has_bias ? bias : NULL);
    void *scratch = dg_try_aligned(dg_packed_scratch(&w, c->M) + 64);
    float *out = floats(c->M * (c->N + 5));
    if (c->in_place)
        memcpy(out, residual, c->M * (c->N + 5) * sizeof *out);
    ck_assert_ptr_nonnull(scratch);
    kernels->linear(out, c->N + 5, x, c->K + 3, c->M, &w, c->act,
                    c->in_place       ? out
                    : c->has_residual ? residual
                                      : NULL,
                    c->N + 5, scratch);
    dg_free(scratch);
    unpack(&w);
    return out;
}

static void check_linear(const struct linear_case *c)
{
    float *x = floats(c->M * (c->K + 3)), *rows = floats(c->N * c->K), *bias = floats(c->N);
    float *residual = floats(c->M * (c->N + 5));
    if (c->zeros > 0.0f)
        make_plain(x, c->M * (c->K + 3), c->zeros);
    for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
        float *expected =
            run_linear(&dg_kernels_ref, (enum dg_packed_type)type, c, x, rows, bias, residual);
        for (size_t t = 0; t < n_tables; t++) {
            float *out =
                run_linear(tables[t], (enum dg_packed_type)type, c, x, rows, bias, residual);
            /* A library sums in its own order, so its rounding errors grow with K. */
            const float tolerance =
                c->K > 1000 && strcmp(tables[t]->name, "blas") == 0 ? 1e-4f : 2e-5f;
            for (size_t m = 0; m < c->M; m++)
                check_near(tables[t]->name, out + m * (c->N + 5), expected + m * (c->N + 5), c->N,
                           tolerance);
            /* Without an activation from a library, integers make all tables equal to the bit. */
            if (type == DG_PACKED_I8 && c->act <= DG_OP_RELU)
                for (size_t m = 0; m < c->M; m++)
                    ck_assert_mem_eq(out + m * (c->N + 5), expected + m * (c->N + 5),
                                     c->N * sizeof *out);
            dg_free(out);
        }
        dg_free(expected);
    }
    dg_free(x);
    dg_free(rows);
    dg_free(bias);
    dg_free(residual);
}

START_TEST(linear_agrees_for_every_shape)
{
    setup();
    static const size_t sizes[][2] = {{1, 1},   {3, 5},     {15, 16},   {16, 4},
                                      {24, 33}, {47, 64},   {64, 63},   {65, 7},
                                      {96, 31}, {129, 100}, {200, 130}, {513, 20}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t M = 1; M <= 14; M++)
            check_linear(&(struct linear_case){.M = M,
                                               .N = sizes[s][0],
                                               .K = sizes[s][1],
                                               .act = M % 2 ? DG_OP_NONE : DG_OP_RELU,
                                               .has_bias = M % 3 > 0,
                                               .has_residual = M % 4 > 1,
                                               .in_place = M % 5 == 0});
    for (int act = DG_OP_NONE; act <= DG_OP_TANH; act++)
        check_linear(&(struct linear_case){.M = 5,
                                           .N = 70,
                                           .K = 40,
                                           .act = (enum dg_op_act)act,
                                           .has_bias = true,
                                           .has_residual = true});
    check_linear(&(struct linear_case){.M = 37, .N = 70, .K = 40, .has_bias = true});
    check_linear(&(struct linear_case){.M = 2, .N = 9, .K = 4100, .has_bias = true});
}
END_TEST

/* The table "amx" divides rows, columns and k into tiles of its own. */
START_TEST(products_by_tiles_agree_with_the_reference)
{
    setup();
    const struct dg_kernels *amx = tables[0];
    if (strcmp(amx->name, "amx") != 0) {
        puts("skipped: products by tiles need AMX");
        return;
    }
    static const size_t sizes[][2] = {{1, 1},   {64, 64},  {63, 65},   {130, 127},
                                      {65, 63}, {128, 66}, {200, 257}, {70, 1001}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t M = 1; M <= 70; M++) {
            const struct linear_case c = {.M = M,
                                          .N = sizes[s][0],
                                          .K = sizes[s][1],
                                          .act = M % 2 ? DG_OP_NONE : DG_OP_RELU,
                                          .has_bias = M % 3 > 0,
                                          .has_residual = M % 4 > 1,
                                          .in_place = M % 5 == 0};
            float *x = floats(M * (c.K + 3)), *rows = floats(c.N * c.K), *bias = floats(c.N);
            float *residual = floats(M * (c.N + 5));
            if (M % 7 == 0)
                make_plain(x, M * (c.K + 3), 0.9f);
            float *expected =
                run_linear(&dg_kernels_ref, DG_PACKED_I8, &c, x, rows, bias, residual);
            float *out = run_linear(amx, DG_PACKED_I8, &c, x, rows, bias, residual);
            for (size_t m = 0; m < M; m++)
                ck_assert_msg(
                    memcmp(out + m * (c.N + 5), expected + m * (c.N + 5), c.N * sizeof *out) == 0,
                    "row %zu of %zu differs, N %zu, K %zu", m, M, c.N, c.K);
            /* sums of floats, in another order */
            float *near =
                run_linear(&dg_kernels_ref, DG_PACKED_BF16_FAST, &c, x, rows, bias, residual);
            float *fast = run_linear(amx, DG_PACKED_BF16_FAST, &c, x, rows, bias, residual);
            for (size_t m = 0; m < M; m++)
                check_near("amx", fast + m * (c.N + 5), near + m * (c.N + 5), c.N, 2e-5f);
            float *all[] = {x, rows, bias, residual, expected, out, near, fast};
            for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                dg_free(all[i]);
        }
}
END_TEST

START_TEST(plain_rows_agree_dense_and_sparse)
{
    setup();
    static const size_t sizes[][2] = {{24, 4}, {48, 64}, {65, 63}, {96, 130}, {200, 257}};
    static const float shares[] = {0.1f, 0.7f, 0.95f, 1.0f};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t M = 1; M <= 8; M++)
            for (int share = 0; share < 4; share++)
                check_linear(&(struct linear_case){.M = M,
                                                   .N = sizes[s][0],
                                                   .K = sizes[s][1],
                                                   .zeros = shares[share],
                                                   .act = M % 3 ? DG_OP_NONE : DG_OP_RELU,
                                                   .has_bias = M % 2,
                                                   .has_residual = M % 4 > 1,
                                                   .in_place = M % 5 == 0});
    check_linear(&(struct linear_case){
        .M = 3, .N = 70, .K = 400, .zeros = 0.95f, .act = DG_OP_GELU_ERF, .has_residual = true});
}
END_TEST

/* BF16 weights give the same bits as F32 weights of the same values, if the table itself computes
 * both products. */
START_TEST(bf16_weights_are_floats_in_less_room)
{
    setup();
    static const size_t sizes[][2] = {{1, 1}, {24, 2}, {48, 63}, {65, 64}, {97, 131}, {300, 258}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t N = sizes[s][0], K = sizes[s][1];
        float *rows = floats(N * K), *bias = floats(N);
        for (size_t i = 0; i < N * K; i++)
            rows[i] = dg_convert_bf16(dg_narrow_bf16(rows[i] * (i % 7 ? 1.0f : 1e-20f)));
        for (size_t M = 1; M <= 14; M++) {
            const struct linear_case c = {.M = M,
                                          .N = N,
                                          .K = K,
                                          .act = M % 2 ? DG_OP_NONE : DG_OP_GELU_ERF,
                                          .has_bias = M % 3 > 0,
                                          .has_residual = M % 4 > 1};
            float *x = floats(M * (K + 3)), *residual = floats(M * (N + 5));
            for (size_t t = 0; t < n_tables; t++) {
                if (strcmp(tables[t]->name, "blas") == 0)
                    continue;
                float *exact = run_linear(tables[t], DG_PACKED_F32, &c, x, rows, bias, residual);
                float *out = run_linear(tables[t], DG_PACKED_BF16, &c, x, rows, bias, residual);
                for (size_t m = 0; m < M; m++)
                    ck_assert_msg(
                        memcmp(out + m * (N + 5), exact + m * (N + 5), N * sizeof *out) == 0,
                        "%s: row %zu of %zu differs, N %zu, K %zu", tables[t]->name, m, M, N, K);
                dg_free(exact);
                dg_free(out);
            }
            dg_free(x);
            dg_free(residual);
        }
        dg_free(rows);
        dg_free(bias);
    }
}
END_TEST

/* BF16_FAST rounds its input and nothing else: a table gives what its BF16 products of rounded rows
 * give, to the bit unless the processor multiplies BF16. A row that is not finite stays so, and no
 * other row does. */
START_TEST(fast_products_of_bf16_round_their_input)
{
    setup();
    static const size_t sizes[][2] = {{1, 1}, {24, 2}, {48, 63}, {65, 64}, {97, 131}, {200, 515}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t M = 1; M <= 35; M += M < 3 ? 1 : 14 + s) {
            const struct linear_case c = {.M = M, .N = sizes[s][0], .K = sizes[s][1]};
            const size_t n = M * (c.K + 3), bad = M / 2;
            float *x = floats(n), *rounded = floats(n), *rows = floats(c.N * c.K);
            x[M > 1 ? bad * (c.K + 3) + c.K / 2 : n - 1] = s % 2 ? NAN : INFINITY;
            for (size_t i = 0; i < n; i++)
                rounded[i] = dg_convert_bf16(dg_narrow_bf16(x[i]));
            for (size_t t = 0; t < n_tables; t++) {
                const bool exact = strcmp(tables[t]->name, "amx") != 0 &&
                                   strcmp(tables[t]->name, "avx512-bf16") != 0 &&
                                   strcmp(tables[t]->name, "blas") != 0;
                float *slow = run_linear(tables[t], DG_PACKED_BF16, &c, rounded, rows, NULL, NULL);
                float *fast = run_linear(tables[t], DG_PACKED_BF16_FAST, &c, x, rows, NULL, NULL);
                for (size_t m = 0; m < M; m++) {
                    const float *a = fast + m * (c.N + 5), *b = slow + m * (c.N + 5);
                    for (size_t i = 0; M > 1 && m == bad && i < c.N; i++)
                        ck_assert(!isfinite(a[i]) && !isfinite(b[i]));
                    if (M > 1 && m == bad)
                        continue;
                    check_near(tables[t]->name, a, b, c.N, 2e-5f);
                    ck_assert(!exact || memcmp(a, b, c.N * sizeof *a) == 0);
                }
                dg_free(slow);
                dg_free(fast);
            }
            dg_free(x);
            dg_free(rounded);
            dg_free(rows);
        }
}
END_TEST

/* A product that is computed some columns at a time, the last ones first, gives the bits of the
 * whole product; in place, too. */
START_TEST(a_product_may_be_computed_a_few_columns_at_a_time)
{
    setup();
    enum { N = 500, K = 131, MOST = 18 };
    float *x = floats(MOST * K), *rows = floats(N * K), *bias = floats(N),
          *residual = floats(MOST * N);
    float *whole = floats(MOST * N), *out = floats(MOST * N);
    size_t n_able = 0;
    for (size_t t = 0; t < 2 * n_tables; t++)
        for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
            const struct dg_kernels *table = tables[t % n_tables];
            if (t == n_tables)
                make_plain(x, MOST * K, 0.9f);
            if (!table->linear_columns)
                continue;
            n_able++;
            struct dg_packed w = pack(table, (enum dg_packed_type)type, N, K, rows, bias);
            void *scratch = dg_try_aligned(dg_packed_scratch(&w, MOST));
            ck_assert_ptr_nonnull(scratch);
            for (size_t M = 1; M <= MOST; M++) {
                const enum dg_op_act act = M % 3 ? DG_OP_NONE : M % 2 ? DG_OP_RELU : DG_OP_GELU_ERF;
                const size_t n_panels = (N + w.panel - 1) / w.panel;
                memcpy(out, residual, MOST * N * sizeof *out);
                table->linear(whole, N, x, K, M, &w, act, residual, N, scratch);
                table->linear_begin(x, K, M, &w, scratch);
                for (size_t end = n_panels, first; end > 0; end = first) {
                    first = end > M % 4 + 1 ? end - M % 4 - 1 : 0;
                    table->linear_columns(out, N, x, K, M, &w, act, out, N, scratch,
                                          first * w.panel, end == n_panels ? N : end * w.panel);
                }
                ck_assert_msg(memcmp(out, whole, M * N * sizeof *out) == 0,
                              "%s type %d: %zu rows differ", table->name, type, M);
            }
            dg_free(scratch);
            unpack(&w);
        }
    ck_assert_uint_gt(n_able, 0);
    dg_free(x);
    dg_free(rows);
    dg_free(bias);
    dg_free(residual);
    dg_free(whole);
    dg_free(out);
}
END_TEST

/* A row gets the same bits alone and at every place among 1..40 rows, also when a plain row is
 * among others, or others are among plain rows. */
START_TEST(a_row_does_not_depend_on_its_neighbours)
{
    setup();
    enum { N = 140, K = 75, MOST = 40 };
    float *x = floats(MOST * K), *rows = floats(N * K), *bias = floats(N);
    float *alone = floats(N), *out = floats(MOST * N), *shifted = floats(MOST * K);
    for (size_t t = 0; t < 2 * n_tables; t++)
        for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
            if (t == n_tables)
                make_plain(x, K, 0.9f);
            const struct dg_kernels *table = tables[t % n_tables];
            struct dg_packed w = pack(table, (enum dg_packed_type)type, N, K, rows, bias);
            void *scratch = dg_try_aligned(dg_packed_scratch(&w, MOST));
            ck_assert_ptr_nonnull(scratch);
            table->linear(alone, N, x, K, 1, &w, DG_OP_SILU, NULL, 0, scratch);
            for (size_t M = 1; M <= MOST; M++)
                for (size_t at = 0; at < M; at += M < 9 ? 1 : 3) {
                    for (size_t i = 0; i < M * K; i++)
                        shifted[i] = next() * 100.0f;
                    if (M % 2)
                        make_plain(shifted, M * K, M % 4 == 1 ? 0.9f : 0.3f);
                    memcpy(shifted + at * K, x, K * sizeof *x);
                    table->linear(out, N, shifted, K, M, &w, DG_OP_SILU, NULL, 0, scratch);
                    ck_assert_msg(memcmp(out + at * N, alone, N * sizeof *out) == 0,
                                  "%s type %d: row %zu of %zu differs", table->name, type, at, M);
                }
            dg_free(scratch);
            unpack(&w);
        }
    dg_free(x);
    dg_free(rows);
    dg_free(bias);
    dg_free(alone);
    dg_free(out);
    dg_free(shifted);
}
END_TEST

START_TEST(quantised_bytes_are_equal_to_the_bit)
{
    setup();
    for (size_t K = 1; K < 150; K++) {
        const size_t ld = dg_ops_quantized_ld(K);
        float *x = floats(4 * K), scale[2][4];
        uint8_t *q[2] = {dg_xcalloc(4, ld), dg_xcalloc(4, ld)};
        memset(x + K, 0, K * sizeof *x);           /* a row of zeros */
        x[2 * K + K / 2] = K % 2 ? NAN : INFINITY; /* a row that cannot be quantised */
        x[3 * K + K / 2] = 1e30f;
        dg_ops_quantize_ref(q[0], ld, scale[0], x, K, 4, K);
        ck_assert(scale[0][1] == 0.0f && isnan(scale[0][2]) && q[0][3 * ld + K / 2] == 255);
        for (size_t t = 0; t < n_tables; t++) {
            tables[t]->quantize(q[1], ld, scale[1], x, K, 4, K);
            for (size_t m = 0; m < 4; m++) {
                ck_assert_mem_eq(q[1] + m * ld, q[0] + m * ld, K);
                ck_assert(scale[1][m] == scale[0][m] || (isnan(scale[1][m]) && isnan(scale[0][m])));
            }
        }
        dg_free(x);
        dg_free(q[0]);
        dg_free(q[1]);
    }
}
END_TEST

START_TEST(rows_agree_for_every_length)
{
    setup();
    for (size_t n = 1; n < 150; n++) {
        float *x = floats(2 * n), *gain = floats(n), *bias = floats(n), *a = floats(2 * n);
        float *b = floats(2 * n), *c = floats(n), *d = floats(n);
        for (size_t t = 0; t < n_tables; t++) {
            const struct dg_kernels *k = tables[t];
            dg_ops_norm_ref(a, x, gain, bias, 2, n, 1e-5f);
            k->norm(b, x, gain, bias, 2, n, 1e-5f);
            check_near(k->name, b, a, 2 * n, 1e-4f);
            memcpy(b, x, 2 * n * sizeof *b);
            k->norm(b, b, gain, bias, 2, n, 1e-5f);
            check_near(k->name, b, a, 2 * n, 1e-4f);
            dg_ops_norm_ref(a, x, gain, NULL, 2, n, 1e-6f);
            k->norm(b, x, gain, NULL, 2, n, 1e-6f);
            check_near(k->name, b, a, 2 * n, 1e-5f);
            dg_ops_embed_ref(a, x, 22.6f, bias, n);
            k->embed(b, x, 22.6f, bias, n);
            check_near(k->name, b, a, n, 1e-6f);
            k->embed(b, x, 2.0f, NULL, n);
            dg_ops_embed_ref(a, x, 2.0f, NULL, n);
            check_near(k->name, b, a, n, 0.0f);
            dg_ops_ssru_ref(a, c, gain, bias, x, n);
            k->ssru(b, d, gain, bias, x, n);
            check_near(k->name, b, a, n, 1e-6f);
            check_near(k->name, d, c, n, 1e-6f);
            dg_ops_gate_ref(a, x, gain, bias, x + n, n);
            k->gate(b, x, gain, bias, x + n, n);
            check_near(k->name, b, a, n, 1e-6f);
            for (size_t i = 0; i < n; i++)
                a[i] = b[i] = x[i] * 20.0f;
            dg_ops_softmax_ref(a, n);
            k->softmax(b, n);
            check_near(k->name, b, a, n, 1e-6f);
        }
        float *all[] = {x, gain, bias, a, b, c, d};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            dg_free(all[i]);
    }
}
END_TEST

START_TEST(activations_agree_over_their_whole_range)
{
    setup();
    enum { N = 40001 };
    float *x = floats(N), *a = floats(N), *b = floats(N);
    for (int i = 0; i < N; i++)
        x[i] = (float)(i - N / 2) * 0.01f; /* -200 to 200 */
    for (size_t t = 0; t < n_tables; t++)
        for (int act = DG_OP_NONE; act <= DG_OP_TANH; act++) {
            memcpy(a, x, N * sizeof *a);
            memcpy(b, x, N * sizeof *b);
            dg_ops_activate_ref(a, N, (enum dg_op_act)act);
            tables[t]->activate(b, N, (enum dg_op_act)act);
            check_near(tables[t]->name, b, a, N, 5e-7f);
            float nan = NAN;
            tables[t]->activate(&nan, 1, (enum dg_op_act)act);
            ck_assert(isnan(nan));
        }
    dg_free(x);
    dg_free(a);
    dg_free(b);
}
END_TEST

START_TEST(halves_keep_to_their_range)
{
    setup();
    const float x[] = {1e9f,     -1e9f, INFINITY, -INFINITY, 65519.0f, 1e-9f,
                       0x1p-24f, -0.0f, 3.14159f, 2049.0f,   2051.0f,  1.0f,
                       5e4f,     1e-5f, 7.7f,     -3.3f,     70000.0f};
    enum { N = sizeof x / sizeof *x };
    uint16_t a[N], b[N];
    dg_ops_store_f16_ref(a, x, N);
    ck_assert(a[0] == 0x7bff && a[1] == 0xfbff && a[2] == 0x7bff && a[4] == 0x7bff && a[6] == 1);
    for (size_t t = 0; t < n_tables; t++) {
        tables[t]->store_f16(b, x, N);
        ck_assert_mem_eq(a, b, sizeof a);
        const float nan[16] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        tables[t]->store_f16(b, nan, 16);
        ck_assert((b[0] & 0x7c00) == 0x7c00 && (b[0] & 0x3ff));
    }
}
END_TEST

/* Records of every kind made of the same keys and values [n][2][H][dh], with the reference's
 * functions; every table must store the same bits. Freed by the caller. */
struct records {
    enum dg_kv_type type;
    char *kv; /* the records, 12 bytes farther apart than they are long */
    size_t stride;
    float *scratch; /* for as many keys as there are records, at least n_keys */
};

static void *aligned(size_t bytes)
{
    void *block = dg_try_aligned(bytes ? bytes : 64);
    ck_assert_ptr_nonnull(block);
    return block;
}

static struct records make_records(enum dg_kv_type type, const float *x, size_t n, size_t n_keys,
                                   size_t H, size_t dh)
{
    const size_t bytes = dg_kv_bytes(type, H, dh), D = H * dh;
    struct records r = {.type = type, .stride = bytes + 12};
    r.kv = dg_xcalloc(1, (n - 1) * r.stride + bytes);
    r.scratch = aligned(dg_attention_scratch(type, n_keys, H, dh) * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        char *record = r.kv + i * r.stride;
        if (type == DG_KV_F32)
            memcpy(record, x + i * 2 * D, bytes);
        else if (type == DG_KV_F16)
            dg_ops_store_f16_ref((uint16_t *)(void *)record, x + i * 2 * D, 2 * D);
        else
            dg_ops_store_i8_ref(record, x + i * 2 * D, H, dh);
    }
    char *other = dg_xcalloc(1, bytes);
    for (size_t t = 0; t < n_tables; t++) {
        if (type == DG_KV_F16)
            tables[t]->store_f16((uint16_t *)(void *)other, x, 2 * D);
        else if (type == DG_KV_I8)
            tables[t]->store_i8(other, x, H, dh);
        if (type != DG_KV_F32)
            ck_assert_mem_eq(other, r.kv, bytes);
    }
    dg_free(other);
    return r;
}

static void free_records(struct records *r)
{
    dg_free(r->kv);
    dg_free(r->scratch);
}

static const enum dg_kv_type kinds[] = {DG_KV_F32, DG_KV_F16, DG_KV_I8};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* What one query asks for; the callers change what differs. */
static struct dg_attention attention(const struct records *r, const uint32_t *const *at, size_t n,
                                     const float *q, float *out, float *weights, size_t H,
                                     size_t dh)
{
    return (struct dg_attention){.type = r->type,
                                 .kv = r->kv,
                                 .stride = r->stride,
                                 .at = at,
                                 .n = n,
                                 .n_shared = n,
                                 .Q = 1,
                                 .H = H,
                                 .dh = dh,
                                 .q = q,
                                 .out = out,
                                 .scale = 0.3f,
                                 .weights = weights,
                                 .scratch = r->scratch};
}

/* I8 products may round queries and probabilities to 16 bits. */
static float tolerance(enum dg_kv_type type)
{
    return type == DG_KV_I8 ? 2e-4f : 1e-5f;
}

/* A table gives what the reference gives, within rounding. */
static void check_attention(const struct dg_kernels *table, struct dg_attention of)
{
    const size_t D = of.H * of.dh;
    float *a = floats(D), *b = floats(D), *p = floats(of.H * of.n), *r = floats(of.H * of.n);
    of.out = a;
    of.weights = p;
    dg_ops_attend_ref(&of);
    of.out = b;
    of.weights = r;
    table->attend(&of);
    check_near(table->name, b, a, D, tolerance(of.type));
    check_near(table->name, r, p, of.H * of.n, tolerance(of.type));
    float *all[] = {a, b, p, r};
    for (size_t i = 0; i < 4; i++)
        dg_free(all[i]);
}

START_TEST(relative_positions_agree_for_every_reach)
{
    setup();
    static const size_t heads[] = {1, 8}, widths[] = {4, 7, 32, 64},
                        reaches[] = {1, 5, 20, DG_RELATIVE_REACH_MAX};
    for (size_t i = 0; i < 8 * N_KINDS; i++)
        for (size_t n = 1; n < 40; n += n < 4 ? 1 : 7) {
            const size_t H = heads[i % 2], dh = widths[i / 2 % 4], D = H * dh;
            const size_t reach = reaches[n % 4], selves[] = {0, n - 1, n / 2, n + 3};
            float *q = floats(D), *x = floats(50 * 2 * D);
            float *keys = floats((2 * reach + 1) * dh), *values = floats((2 * reach + 1) * dh);
            const struct dg_relative relative = {keys, values, reach};
            struct records r = make_records(kinds[i / 8], x, 50, n, H, dh);
            uint32_t at[40];
            const uint32_t *list = at;
            for (size_t k = 0; k < n; k++)
                at[k] = (uint32_t)(k * 7 % 49);
            for (size_t t = 0; t < n_tables * 4; t++) {
                struct dg_attention of =
                    attention(&r, n % 2 ? &list : NULL, n, q, NULL, NULL, H, dh);
                of.relative = &relative;
                of.self = selves[t % 4];
                check_attention(tables[t / 4], of);
            }
            float *all[] = {q, x, keys, values};
            for (size_t k = 0; k < 4; k++)
                dg_free(all[k]);
            free_records(&r);
        }
}
END_TEST

/* Queries whose keys differ from key n_shared on get the bits that each gets alone. */
static void check_lanes(const struct dg_kernels *table, enum dg_kv_type type, size_t n,
                        size_t n_shared, size_t H, size_t dh)
{
    const size_t D = H * dh, ld_q = D + 5, ld_out = D + 1;
    const size_t n_keys = n_shared + DG_ATTEND_QUERIES * (n - n_shared);
    float *q = floats(DG_ATTEND_QUERIES * ld_q), *x = floats(n_keys * 2 * D);
    float *out = floats(DG_ATTEND_QUERIES * ld_out), *p = floats(DG_ATTEND_QUERIES * H * n);
    float *one = floats(D), *one_p = floats(H * n);
    struct records r = make_records(type, x, n_keys, n, H, dh);
    uint32_t *lists = dg_xcalloc(DG_ATTEND_QUERIES * n, sizeof *lists);
    const uint32_t *at[DG_ATTEND_QUERIES];
    for (size_t i = 0; i < DG_ATTEND_QUERIES; i++) {
        at[i] = lists + i * n;
        for (size_t t = 0; t < n; t++)
            lists[i * n + t] =
                (uint32_t)(t < n_shared ? n_keys - 1 - t : i * (n - n_shared) + t - n_shared);
    }
    for (size_t Q = 1; Q <= DG_ATTEND_QUERIES; Q++) {
        struct dg_attention of = attention(&r, at, n, q, out, p, H, dh);
        of.n_shared = n_shared;
        of.Q = Q;
        of.ld_q = ld_q;
        of.ld_out = ld_out;
        table->attend(&of);
        for (size_t i = 0; i < Q; i++) {
            of = attention(&r, at + i, n, q + i * ld_q, one, one_p, H, dh);
            table->attend(&of);
            ck_assert_mem_eq(out + i * ld_out, one, D * sizeof *one);
            ck_assert_mem_eq(p + i * H * n, one_p, H * n * sizeof *one_p);
        }
    }
    void *all[] = {q, x, out, p, one, one_p, lists};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        dg_free(all[i]);
    free_records(&r);
}

START_TEST(lanes_that_share_keys_get_the_bits_of_each_alone)
{
    setup();
    static const size_t heads[] = {1, 3, 8}, widths[] = {7, 16, 32, 48, 64};
    static const size_t lengths[] = {1, 9, 17, 33, 130}, unshared[] = {0, 1, 2, 5, 8, 20};
    for (size_t t = 0; t < n_tables * N_KINDS; t++)
        for (size_t h = 0; h < 3; h++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                    for (size_t u = 0; u < sizeof unshared / sizeof *unshared; u++)
                        if (unshared[u] <= lengths[i])
                            check_lanes(tables[t / N_KINDS], kinds[t % N_KINDS], lengths[i],
                                        lengths[i] - unshared[u], heads[h], widths[w]);
}
END_TEST

START_TEST(queries_side_by_side_get_the_bits_of_each_alone)
{
    setup();
    static const size_t heads[] = {1, 3, 8}, widths[] = {1, 7, 16, 32, 48, 64, 96};
    static const size_t lengths[] = {1, 3, 8, 9, 16, 17, 25, 33, 50, 64, 65, 130};
    for (size_t t = 0; t < n_tables * N_KINDS; t++)
        for (size_t h = 0; h < 3; h++)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
                for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                    check_lanes(tables[t / N_KINDS], kinds[t % N_KINDS], lengths[i], lengths[i],
                                heads[h], widths[w]);
}
END_TEST

START_TEST(attention_agrees_for_every_length_and_head)
{
    setup();
    static const size_t heads[] = {1, 3, 4, 8}, widths[] = {1, 4, 7, 16, 30, 32, 64, 65, 96, 128};
    for (size_t i = 0; i < 4 * 10 * N_KINDS; i++) /* odd and even lengths in turn */
        for (size_t n = 1 + (i + i / 4) % 2; n < 90; n += n < 20 ? 2 : 7) {
            const size_t H = heads[i % 4], dh = widths[i / 4 % 10], D = H * dh;
            float *q = floats(D), *x = floats(90 * 2 * D);
            struct records r = make_records(kinds[i / 40], x, 90, n, H, dh);
            uint32_t at[90];
            const uint32_t *list = at;
            for (size_t k = 0; k < n; k++)
                at[k] = (uint32_t)(k * 7 % 89);
            for (size_t t = 0; t < n_tables * 2; t++) {
                struct dg_attention of =
                    attention(&r, t % 2 ? &list : NULL, n, q, NULL, NULL, H, dh);
                of.scale = 2.0f / sqrtf((float)dh);
                check_attention(tables[t / 2], of);
            }
            dg_free(q);
            dg_free(x);
            free_records(&r);
        }
}
END_TEST

/* Rows of an encoder (floats, one record behind the other) or of a prompt (a list of records of any
 * type, G heads for each of the keys', row m with the keys up to m + before): each gets what the
 * reference gives, and the bits that it gets alone. */
static void check_rows(const struct dg_kernels *table, enum dg_kv_type type, bool is_prompt,
                       size_t n, size_t before, size_t H, size_t G, size_t dh)
{
    const size_t D = H * dh, wide = G * D, ld = wide + 1, ld_out = wide + 3, Q = n - before;
    float *x = floats(n * 2 * D), *q = floats(Q * ld);
    float *out = floats(Q * ld_out), *exact = floats(Q * ld_out), *one = floats(wide);
    float *scratch = aligned(dg_attend_rows_scratch(n, dh) * sizeof *scratch);
    struct records r = make_records(type, x, n, n, H, dh);
    uint32_t *at = dg_xcalloc(n, sizeof *at);
    for (size_t k = 0; k < n; k++)
        at[k] = (uint32_t)(n - 1 - k);
    const uint32_t *list = at;
    struct dg_attention of = attention(&r, is_prompt ? &list : NULL, n, q, exact, NULL, H, dh);
    of.Q = Q;
    of.G = G;
    of.is_causal = is_prompt;
    of.ld_q = ld;
    of.ld_out = ld_out;
    of.scale = 2.0f / sqrtf((float)dh);
    of.scratch = scratch;
    dg_ops_attend_rows_ref(&of);
    of.out = out;
    table->attend_rows(&of);
    for (size_t m = 0; m < Q; m++)
        check_near(table->name, out + m * ld_out, exact + m * ld_out, wide, 1e-5f);
    of.Q = 1;
    of.out = one;
    for (size_t left = Q; left > 0; left -= 1 + left / 4) {
        const size_t m = left - 1;
        of.n = is_prompt ? before + left : n;
        of.q = q + m * ld;
        memset(r.kv, 0xff, (n - of.n) * r.stride); /* whatever comes later may be anything */
        table->attend_rows(&of);
        ck_assert_mem_eq(out + m * ld_out, one, wide * sizeof *one);
    }
    free_records(&r);
    dg_free(at);
    float *all[] = {x, q, out, exact, one, scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        dg_free(all[i]);
}

START_TEST(rows_of_a_text_agree_and_get_the_bits_of_each_alone)
{
    setup();
    static const size_t heads[] = {1, 3, 8}, widths[] = {1, 7, 16, 24, 30, 32, 48, 64, 65, 128};
    static const size_t lengths[] = {1, 2, 5, 12, 13, 25, 47, 64, 65, 127, 129, 150};
    /* long rows take long under sanitizers: each of them with some of the widths */
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t w = lengths[i] < 30 ? 0 : i % 4; w < sizeof widths / sizeof *widths;
                 w += lengths[i] < 30 ? 1 : 4) {
                const size_t n = lengths[i], H = n < 100 ? heads[(i + w) % 3] : 2;
                check_rows(tables[t], DG_KV_F32, false, n, 0, H, 1, widths[w]);
                check_rows(tables[t], kinds[(i + w) % N_KINDS], true, n, i % 2 ? n / 3 : 0, H,
                           1 + w % 3, widths[w]);
            }
}
END_TEST

/* Bytes: thousands of equal probabilities and of the largest numbers are summed exactly. */
START_TEST(bytes_of_a_long_text_do_not_overflow)
{
    setup();
    enum { H = 4, DH = 32, D = H * DH, N = 3001 };
    float *x = floats(N * 2 * D), *q = floats(D);
    for (size_t i = 0; i < N; i++) {
        memset(x + i * 2 * D, 0, D * sizeof *x);
        for (size_t k = 0; k < 2 * DH; k++)
            x[i * 2 * D + D + k] = k < DH ? 1.0f : -1.0f;
    }
    struct records r = make_records(DG_KV_I8, x, N, N, H, DH);
    for (size_t t = 0; t < n_tables; t++)
        check_attention(tables[t], attention(&r, NULL, N, q, NULL, NULL, H, DH));
    dg_free(x);
    dg_free(q);
    free_records(&r);
}
END_TEST

/* Bytes: a NaN in a key, a value or a query reaches the result; zeros stay zeros; a head with large
 * numbers does not spoil its neighbour's precision. */
START_TEST(bytes_carry_nan_and_keep_heads_apart)
{
    setup();
    enum { H = 4, DH = 32, D = H * DH, N = 7 };
    for (size_t t = 0; t < n_tables; t++)
        for (int place = 0; place < 5; place++) {
            float *x = floats(N * 2 * D), *q = floats(D), *out = floats(D), *p = floats(H * N);
            for (size_t i = 0; i < N * 2; i++) {
                for (size_t k = 0; k < DH; k++)
                    x[i * D + k] *= 1e6f;
                memset(x + i * D + DH, 0, DH * sizeof *x);
            }
            const float wrong = place == 4 ? INFINITY : NAN;
            if (place == 1 || place == 4)
                x[3 * 2 * D + 2 * DH + 5] = wrong;
            else if (place == 2)
                x[3 * 2 * D + D + 2 * DH + 5] = wrong;
            else if (place == 3)
                q[2 * DH] = wrong;
            memset(q, 0, DH * sizeof *q);
            struct records r = make_records(DG_KV_I8, x, N, N, H, DH);
            struct dg_attention of = attention(&r, NULL, N, q, out, p, H, DH);
            tables[t]->attend(&of);
            ck_assert_msg(isnan(out[2 * DH]) == (place > 0), "%s, %d", tables[t]->name, place);
            for (size_t i = 0; i < DH; i++)
                ck_assert(isfinite(out[i]) && out[DH + i] == 0.0f && isfinite(out[3 * DH + i]));
            float exact[D], weights[H * N];
            if (place == 0) {
                of = (struct dg_attention){.kv = x,
                                           .stride = 2 * D * sizeof *x,
                                           .n = N,
                                           .n_shared = N,
                                           .Q = 1,
                                           .H = H,
                                           .dh = DH,
                                           .q = q,
                                           .out = exact,
                                           .scale = 0.3f,
                                           .weights = weights};
                dg_ops_attend_ref(&of);
                check_near(tables[t]->name, out + 3 * DH, exact + 3 * DH, DH, 0.01f);
            }
            float *all[] = {x, q, out, p};
            for (size_t i = 0; i < 4; i++)
                dg_free(all[i]);
            free_records(&r);
        }
}
END_TEST

static void check_top(const float *x, size_t n, size_t k)
{
    struct dg_top a[40], b[40];
    size_t n_a, n_b;
    const float expected = dg_ops_log_sum_exp_top_ref(x, n, k, a, &n_a);
    for (size_t t = 0; t < n_tables; t++) {
        const float got = tables[t]->log_sum_exp_top(x, n, k, b, &n_b);
        struct dg_log_sum_exp all = dg_log_sum_exp_none;
        struct dg_top c[40];
        for (size_t first = 0; first < n; first += DG_VOCABULARY_BLOCK)
            tables[t]->log_sum_exp_block(
                &all, x + first, first,
                n - first < DG_VOCABULARY_BLOCK ? n - first : DG_VOCABULARY_BLOCK, k, c);
        const float in_parts = dg_log_sum_exp_result(&all);
        ck_assert(memcmp(&in_parts, &got, sizeof got) == 0 || (isnan(got) && isnan(in_parts)));
        ck_assert_uint_eq(all.n_top, n_b);
        ck_assert_mem_eq(c, b, n_b * sizeof *b);
        ck_assert_uint_eq(n_a, n_b);
        for (size_t i = 0; i < n_a; i++)
            ck_assert(a[i].index == b[i].index && a[i].value == b[i].value);
        ck_assert(n_a == 0 || isnan(got) || got >= a[0].value);
        ck_assert_msg(fabsf(got - expected) <= 2e-6f * (1.0f + fabsf(expected)) ||
                          got == expected || (isnan(got) && isnan(expected)),
                      "%s: %g, not %g (n %zu)", tables[t]->name, (double)got, (double)expected, n);
    }
}

START_TEST(the_best_of_a_vocabulary_are_found_in_one_pass)
{
    setup();
    for (size_t n = 1; n < 3000; n += n < 100 ? 1 : 211) {
        float *x = floats(n);
        for (size_t i = 0; i < n; i++)
            x[i] = floorf(x[i] * 30.0f); /* many equal values: the smaller index must win */
        for (size_t k = 0; k <= 33; k += k < 4 ? 1 : 29)
            check_top(x, n, k);
        for (size_t i = 0; i < n; i += 2)
            x[i] = -INFINITY;
        check_top(x, n, 4);
        for (size_t i = 0; i < n; i++)
            x[i] = -INFINITY;
        check_top(x, n, 4);
        x[n / 2] = NAN;
        check_top(x, n, 4);
        for (size_t i = 0; i < n; i++)
            x[i] = (float)i;
        check_top(x, n, 4);
        x[n - 1] = INFINITY;
        check_top(x, n, 4);
        /* From a part to the next the values rise by less than the room above the centre, by more,
         * and fall. */
        for (int step = -50; step <= 50; step += 20) {
            for (size_t i = 0; i < n; i++)
                x[i] = sinf((float)i) + (float)((int)(i / DG_VOCABULARY_BLOCK) * step);
            check_top(x, n, 8);
        }
        for (size_t i = n / 3; i < n; i += 7)
            x[i] = NAN;
        check_top(x, n, 8);
        dg_free(x);
    }
}
END_TEST

DG_UNIT_SLOW(linear_agrees_for_every_shape, products_by_tiles_agree_with_the_reference,
             plain_rows_agree_dense_and_sparse, bf16_weights_are_floats_in_less_room,
             fast_products_of_bf16_round_their_input,
             a_product_may_be_computed_a_few_columns_at_a_time,
             a_row_does_not_depend_on_its_neighbours, quantised_bytes_are_equal_to_the_bit,
             rows_agree_for_every_length, activations_agree_over_their_whole_range,
             halves_keep_to_their_range, attention_agrees_for_every_length_and_head,
             lanes_that_share_keys_get_the_bits_of_each_alone,
             queries_side_by_side_get_the_bits_of_each_alone,
             rows_of_a_text_agree_and_get_the_bits_of_each_alone,
             relative_positions_agree_for_every_reach, bytes_carry_nan_and_keep_heads_apart,
             bytes_of_a_long_text_do_not_overflow, the_best_of_a_vocabulary_are_found_in_one_pass)
