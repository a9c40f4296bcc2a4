/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Products of BF16 by AVX512_BF16. Its instruction multiplies words of 32 bits, each of which holds
 * the numbers of two neighbouring k: sum += a[k] b[k] + a[k + 1] b[k + 1] in sixteen columns at
 * once.
 *
 * Both factors are rounded and laid out block by block. b becomes panels of PANEL columns, its
 * words [k / 2][PANEL], so that the kernel reads it from end to end. a keeps its rows, [m][k / 2],
 * if k runs along them (nt, nn), and becomes [k / 2][m] if m does (tn): the kernel takes one word
 * of each of ROWS rows, and two strides say where they lie. A tile of ROWS by PANEL sums stays in
 * registers. */
#include "tensor/gradient/products.h"
#include "base/memory/bounds.h"

#include <immintrin.h>
#include <stdint.h>

enum {
    LANES = 16,
    VECTORS = 4,
    PANEL = VECTORS * LANES,
    ROWS = 6,      /* 24 sums, 4 words of b and one of a use 29 of the 32 registers */
    BLOCK_K = 512, /* values of k in a block */
    BLOCK_N = 512, /* columns in a block of b, which fills half of a 1 MiB second-level cache */
    BLOCK_M = 96,  /* rows in a block of a, which must fit into the same cache */
    A_WORDS = BLOCK_M * BLOCK_K / 2,
    B_WORDS = BLOCK_N * BLOCK_K / 2,
};

static inline __mmask16 first_lanes(size_t n)
{
    return n >= LANES ? 0xffff : (__mmask16)((1u << n) - 1);
}

/* ---- Laying out ------------------------------------------------------------------------------ */

/* Makes words of two rows, in the low and the high half: rounds one row after the other, then
 * interleaves them. */
static inline __m512i interleaved(__m512 low, __m512 high)
{
    const __m512i deal =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(deal, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/* to[K / 2][ld_to] of from[K][n]: each word holds two rows' numbers of a column. Columns from n to
 * `width`, a multiple of LANES, become zeros, as does a missing last row. */
static void pair_rows(uint32_t *to, size_t ld_to, const float *from, size_t ld, size_t K, size_t n,
                      size_t width)
{
    for (size_t k = 0; k < K; k += 2, to += ld_to, from += 2 * ld)
        for (size_t i = 0; i < width; i += LANES) {
            const __mmask16 mask = i < n ? first_lanes(n - i) : 0;
            const __m512 low = _mm512_maskz_loadu_ps(mask, from + i);
            const __m512 high =
                k + 1 < K ? _mm512_maskz_loadu_ps(mask, from + ld + i) : _mm512_setzero_ps();
            _mm512_storeu_si512(to + i, interleaved(low, high));
        }
}

/* Sixteen words along k of a row. Numbers from n on are zeros. */
static inline __m512i words_of(const float *row, size_t n)
{
    const __m512 low = _mm512_maskz_loadu_ps(first_lanes(n), row);
    const __m512 high = n > LANES ? _mm512_maskz_loadu_ps(first_lanes(n - LANES), row + LANES)
                                  : _mm512_setzero_ps();
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* to[M][BLOCK_K / 2] of from[M][K]: words along the rows. */
static void along_rows(uint32_t *to, const float *from, size_t ld, size_t M, size_t K)
{
    for (size_t m = 0; m < M; m++, to += BLOCK_K / 2, from += ld)
        for (size_t k = 0; k < K; k += 2 * LANES)
            _mm512_storeu_si512(to + k / 2, words_of(from + k, K - k));
}

/* Rows become columns: word j of row i goes to word i of row j. */
static void transpose(__m512i r[LANES])
{
    __m512i t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int half = 0; half < LANES; half += 8)
        for (int i = half; i < half + 4; i++) {
            t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
            t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}

/* A panel, to[K / 2][PANEL], of from[n][K] whose rows are the columns. */
static void turn_rows(uint32_t *to, const float *from, size_t ld, size_t K, size_t n)
{
    for (size_t first = 0; first < PANEL; first += LANES)
        for (size_t k = 0; k < K; k += 2 * LANES) {
            __m512i r[LANES];
            for (size_t i = 0; i < LANES; i++)
                r[i] = first + i < n ? words_of(from + (first + i) * ld + k, K - k)
                                     : _mm512_setzero_si512();
            transpose(r);
            const size_t n_words = dg_least(LANES, (K - k + 1) / 2);
            for (size_t i = 0; i < n_words; i++)
                _mm512_storeu_si512(to + (k / 2 + i) * PANEL + first, r[i]);
        }
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* Where a word of a lies: a[m * by_row + k / 2 * by_word]. */
struct factor {
    const uint32_t *a;
    size_t by_row, by_word;
};

#define KERNEL static inline __attribute__((always_inline))

KERNEL void tile(const int rows, float *c, size_t ld_c, const struct factor *f, const uint32_t *b,
                 size_t n_words, size_t n, float beta)
{
    __m512 sum[ROWS][VECTORS];
    const uint32_t *a = f->a;
#pragma GCC unroll 8
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[m][v] = _mm512_setzero_ps();
    for (size_t k = 0; k < n_words; k++, a += f->by_word, b += PANEL) {
        __m512bh column[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            column[v] = (__m512bh)_mm512_loadu_si512(b + v * LANES);
#pragma GCC unroll 8
        for (int m = 0; m < rows; m++) {
            const __m512bh in = (__m512bh)_mm512_set1_epi32((int)a[(size_t)m * f->by_row]);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sum[m][v] = _mm512_dpbf16_ps(sum[m][v], in, column[v]);
        }
    }
#pragma GCC unroll 8
    for (int m = 0; m < rows; m++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            const size_t first = (size_t)v * LANES;
            const __mmask16 mask = first < n ? first_lanes(n - first) : 0;
            float *to = c + (size_t)m * ld_c + first;
            if (beta != 0.0f)
                sum[m][v] = _mm512_fmadd_ps(_mm512_set1_ps(beta), _mm512_maskz_loadu_ps(mask, to),
                                            sum[m][v]);
            _mm512_mask_storeu_ps(to, mask, sum[m][v]);
        }
}

static void tiles(size_t rows, float *c, size_t ld_c, const struct factor *f, const uint32_t *b,
                  size_t n_words, size_t n, float beta)
{
    switch (rows) {
    case 1:
        tile(1, c, ld_c, f, b, n_words, n, beta);
        break;
    case 2:
        tile(2, c, ld_c, f, b, n_words, n, beta);
        break;
    case 3:
        tile(3, c, ld_c, f, b, n_words, n, beta);
        break;
    case 4:
        tile(4, c, ld_c, f, b, n_words, n, beta);
        break;
    case 5:
        tile(5, c, ld_c, f, b, n_words, n, beta);
        break;
    default:
        tile(ROWS, c, ld_c, f, b, n_words, n, beta);
    }
}

/* ---- Products -------------------------------------------------------------------------------- */

/* A matrix and the direction of k in it. */
struct matrix {
    const float *at;
    size_t ld;
    int along; /* k runs along the rows; otherwise m or n does */
};

static const float *element(const struct matrix *x, size_t row, size_t k)
{
    return x->at + (x->along ? row * x->ld + k : k * x->ld + row);
}

static void lay_out_b(uint32_t *to, const struct matrix *b, size_t first_n, size_t N,
                      size_t first_k, size_t K)
{
    const size_t panel_words = (K + 1) / 2 * PANEL;
    for (size_t n = 0; n < N; n += PANEL, to += panel_words) {
        const float *from = element(b, first_n + n, first_k);
        if (b->along)
            turn_rows(to, from, b->ld, K, dg_least(PANEL, N - n));
        else
            pair_rows(to, PANEL, from, b->ld, K, dg_least(PANEL, N - n), PANEL);
    }
}

static struct factor lay_out_a(uint32_t *to, const struct matrix *a, size_t first_m, size_t M,
                               size_t first_k, size_t K)
{
    const float *from = element(a, first_m, first_k);
    if (a->along) {
        along_rows(to, from, a->ld, M, K);
        return (struct factor){to, BLOCK_K / 2, 1};
    }
    pair_rows(to, BLOCK_M, from, a->ld, K, M, (M + LANES - 1) / LANES * LANES);
    return (struct factor){to, 1, BLOCK_M};
}

static void multiply(float *c, size_t ld_c, const struct matrix *a, const struct matrix *b,
                     size_t M, size_t N, size_t K, float beta, void *scratch)
{
    uint32_t *a_words = scratch, *b_words = a_words + A_WORDS;
    for (size_t n = 0; n < N; n += BLOCK_N)
        for (size_t k = 0; k < K; k += BLOCK_K) {
            const size_t n_columns = dg_least(BLOCK_N, N - n), depth = dg_least(BLOCK_K, K - k);
            const size_t n_words = (depth + 1) / 2;
            const float factor = k == 0 ? beta : 1.0f;
            lay_out_b(b_words, b, n, n_columns, k, depth);
            for (size_t m = 0; m < M; m += BLOCK_M) {
                const size_t n_rows = dg_least(BLOCK_M, M - m);
                const struct factor all = lay_out_a(a_words, a, m, n_rows, k, depth);
                for (size_t p = 0; p < n_columns; p += PANEL)
                    for (size_t i = 0; i < n_rows; i += ROWS) {
                        const struct factor rows = {all.a + i * all.by_row, all.by_row,
                                                    all.by_word};
                        tiles(dg_least(ROWS, n_rows - i), c + (m + i) * ld_c + n + p, ld_c, &rows,
                              b_words + p * n_words, n_words, n_columns - p, factor);
                    }
            }
        }
}

static void nt(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
               size_t M, size_t N, size_t K, float beta, void *scratch)
{
    const struct matrix left = {a, ld_a, 1}, right = {b, ld_b, 1};
    multiply(c, ld_c, &left, &right, M, N, K, beta, scratch);
}

static void nn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
               size_t M, size_t N, size_t K, float beta, void *scratch)
{
    const struct matrix left = {a, ld_a, 1}, right = {b, ld_b, 0};
    multiply(c, ld_c, &left, &right, M, N, K, beta, scratch);
}

static void tn(float *c, size_t ld_c, const float *a, size_t ld_a, const float *b, size_t ld_b,
               size_t M, size_t N, size_t K, float beta, void *scratch)
{
    const struct matrix left = {a, ld_a, 0}, right = {b, ld_b, 0};
    multiply(c, ld_c, &left, &right, M, N, K, beta, scratch);
}

const struct dg_products dg_products_bf16 = {.name = "bf16",
                                             .scratch = (A_WORDS + B_WORDS) * sizeof(uint32_t),
                                             .nt = nt,
                                             .nn = nn,
                                             .tn = tn};
