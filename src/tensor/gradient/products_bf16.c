/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Products of BF16 by AVX512_BF16 or AMX. Both multiply words of 32 bits, each of which holds the
 * numbers of two neighbouring k: AVX512_BF16 as gemm_words.inc says, AMX in sixteen rows by sixteen
 * columns for sixteen words at once.
 *
 * Both factors are rounded and laid out block by block. b becomes panels of PANEL columns, its
 * words [k / 2][PANEL], so that the kernel reads it from end to end. For AVX512_BF16, a keeps its
 * rows, [m][k / 2], if k runs along them (nt, nn), and becomes [k / 2][m] if m does (tn): the
 * kernel takes one word of each of ROWS rows, and two strides say where they lie. For AMX, a always
 * becomes [m][k / 2], and zeros fill up the rows and words of both factors, so that tiles are
 * always whole. */
#include "tensor/gradient/products.h"
#include "base/memory/bounds.h"
#include "tensor/forward/gemm_words.inc"

#include <stdbool.h>
#include <string.h>

enum {
    PANEL = WORD_PANEL,
    ROWS = WORD_ROWS,
    BLOCK_K = 512,    /* values of k in a block */
    BLOCK_M = 96,     /* rows in a block of a, which must fit into the same cache */
    EDGE = 2 * LANES, /* AMX keeps the sums of so many rows and columns in four registers */
    A_WORDS = BLOCK_M * BLOCK_K / 2,
    B_WORDS = 128 << 10, /* a block of b fills half of a 1 MiB second-level cache */
};

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

/* Sixteen words, each of which holds a number of this row and, where there is one, of the next.
 * Numbers from n on are zeros. */
static inline __m512i words_across(const float *row, size_t ld, bool has_next, size_t n)
{
    const __m512 low = _mm512_maskz_loadu_ps(lanes_below(n), row);
    const __m512 high =
        has_next ? _mm512_maskz_loadu_ps(lanes_below(n), row + ld) : _mm512_setzero_ps();
    return interleaved(low, high);
}

/* to[K / 2][ld_to] of from[K][n]: each word holds two rows' numbers of a column. Columns from n to
 * `width`, a multiple of LANES, become zeros, as does a missing last row. */
static void pair_rows(uint32_t *to, size_t ld_to, const float *from, size_t ld, size_t K, size_t n,
                      size_t width)
{
    for (size_t k = 0; k < K; k += 2, to += ld_to, from += 2 * ld)
        for (size_t i = 0; i < width; i += LANES)
            _mm512_storeu_si512(to + i, i < n ? words_across(from + i, ld, k + 1 < K, n - i)
                                              : _mm512_setzero_si512());
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

#ifdef DG_AMX
/* to[M][BLOCK_K / 2] of from[K][M]: words along the rows. */
static void turn_columns(uint32_t *to, const float *from, size_t ld, size_t M, size_t K)
{
    for (size_t m = 0; m < M; m += LANES)
        for (size_t k = 0; k < K; k += 2 * LANES) {
            __m512i r[LANES];
            for (size_t i = 0; i < LANES; i++)
                r[i] = k + 2 * i < K
                           ? words_across(from + (k + 2 * i) * ld + m, ld, k + 2 * i + 1 < K, M - m)
                           : _mm512_setzero_si512();
            transpose(r);
            for (size_t i = 0; i < dg_least(LANES, M - m); i++)
                _mm512_storeu_si512(to + (m + i) * (BLOCK_K / 2) + k / 2, r[i]);
        }
}
#endif

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

#ifdef DG_AMX
/* ---- Tiles of AMX ---------------------------------------------------------------------------- */

/* What the instruction that sets up the tile registers reads. */
struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* All eight registers hold sixteen rows of sixteen words. */
static void set_up_tiles(void)
{
    struct tile_shapes shapes = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.row_bytes[i] = LANES * sizeof(uint32_t);
        shapes.rows[i] = LANES;
    }
    _tile_loadconfig(&shapes);
}

/* c[EDGE][EDGE] = a b + beta c. beta is 0 or 1. n_words is a multiple of LANES. */
static inline void whole_tile(float *c, size_t ld_c, const uint32_t *a, const uint32_t *b,
                              size_t n_words, float beta)
{
    const size_t c_bytes = ld_c * sizeof *c;
    float *low = c + LANES * ld_c;
    if (beta == 0.0f) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(1, c + LANES, c_bytes);
        _tile_loadd(2, low, c_bytes);
        _tile_loadd(3, low + LANES, c_bytes);
    }
    enum { A_BYTES = BLOCK_K / 2 * sizeof *a, B_BYTES = PANEL * sizeof *b };
    for (size_t k = 0; k < n_words; k += LANES, a += LANES, b += (size_t)LANES * PANEL) {
        _tile_loadd(4, a, A_BYTES);
        _tile_loadd(6, b, B_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + LANES, B_BYTES);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + (size_t)LANES * BLOCK_K / 2, A_BYTES);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + LANES, c_bytes);
    _tile_stored(2, low, c_bytes);
    _tile_stored(3, low + LANES, c_bytes);
}

/* The same for the M rows and N columns, at most EDGE, that c has, and for any beta. */
static void edge_tile(float *c, size_t ld_c, const uint32_t *a, const uint32_t *b, size_t n_words,
                      size_t M, size_t N, float beta)
{
    float sums[EDGE * EDGE];
    whole_tile(sums, EDGE, a, b, n_words, 0.0f);
    for (size_t m = 0; m < M; m++)
        for (size_t n = 0; n < N; n++) {
            float *to = c + m * ld_c + n;
            *to = beta == 0.0f ? sums[m * EDGE + n] : beta * *to + sums[m * EDGE + n];
        }
}

#endif

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

/* Lays out panels of `n_words` words for each column; those beyond K are zeros. */
static void lay_out_b(uint32_t *to, const struct matrix *b, size_t first_n, size_t N,
                      size_t first_k, size_t K, size_t n_words)
{
    const size_t filled = (K + 1) / 2 * PANEL;
    for (size_t n = 0; n < N; n += PANEL, to += n_words * PANEL) {
        const float *from = element(b, first_n + n, first_k);
        if (b->along)
            turn_rows(to, from, b->ld, K, dg_least(PANEL, N - n));
        else
            pair_rows(to, PANEL, from, b->ld, K, dg_least(PANEL, N - n), PANEL);
        memset(to + filled, 0, (n_words * PANEL - filled) * sizeof *to);
    }
}

/* The columns [n, n + N) and the k [first_k, first_k + K) of a product, whose factor b is laid
 * out. */
struct block {
    size_t n, N, k, K, n_words;
    float beta;
    uint32_t *a_words, *b_words;
};

typedef void multiply_block_fn(float *c, size_t ld_c, const struct matrix *a, size_t M,
                               const struct block *block);

static struct factor lay_out_a(const struct matrix *a, size_t first_m, size_t M,
                               const struct block *block)
{
    const float *from = element(a, first_m, block->k);
    if (a->along) {
        along_rows(block->a_words, BLOCK_K / 2, from, a->ld, M, block->K);
        return (struct factor){block->a_words, BLOCK_K / 2, 1};
    }
    pair_rows(block->a_words, BLOCK_M, from, a->ld, block->K, M, (M + LANES - 1) / LANES * LANES);
    return (struct factor){block->a_words, 1, BLOCK_M};
}

static void block_by_vectors(float *c, size_t ld_c, const struct matrix *a, size_t M,
                             const struct block *block)
{
    for (size_t m = 0; m < M; m += BLOCK_M) {
        const size_t n_rows = dg_least(BLOCK_M, M - m);
        const struct factor all = lay_out_a(a, m, n_rows, block);
        for (size_t p = 0; p < block->N; p += PANEL)
            for (size_t i = 0; i < n_rows; i += ROWS) {
                const struct factor rows = {all.a + i * all.by_row, all.by_row, all.by_word};
                word_tiles(dg_least(ROWS, n_rows - i), c + (m + i) * ld_c + block->n + p, ld_c,
                           &rows, block->b_words + p * block->n_words, block->n_words, block->N - p,
                           block->beta);
            }
    }
}

#ifdef DG_AMX
static void block_by_tiles(float *c, size_t ld_c, const struct matrix *a, size_t M,
                           const struct block *block)
{
    for (size_t m = 0; m < M; m += BLOCK_M) {
        const size_t n_rows = dg_least(BLOCK_M, M - m);
        const float *from = element(a, m, block->k);
        if (a->along)
            along_rows(block->a_words, BLOCK_K / 2, from, a->ld, n_rows, block->K);
        else
            turn_columns(block->a_words, from, a->ld, n_rows, block->K);
        const size_t end = (n_rows + EDGE - 1) / EDGE * EDGE;
        memset(block->a_words + n_rows * (BLOCK_K / 2), 0,
               (end - n_rows) * (BLOCK_K / 2) * sizeof *block->a_words);
        for (size_t p = 0; p < block->N; p += EDGE)
            for (size_t i = 0; i < n_rows; i += EDGE) {
                float *to = c + (m + i) * ld_c + block->n + p;
                const uint32_t *rows = block->a_words + i * (BLOCK_K / 2);
                const uint32_t *columns =
                    block->b_words + p / PANEL * PANEL * block->n_words + p % PANEL;
                const size_t M_left = n_rows - i, N_left = block->N - p;
                if (M_left >= EDGE && N_left >= EDGE &&
                    (block->beta == 0.0f || block->beta == 1.0f))
                    whole_tile(to, ld_c, rows, columns, block->n_words, block->beta);
                else
                    edge_tile(to, ld_c, rows, columns, block->n_words, dg_least(EDGE, M_left),
                              dg_least(EDGE, N_left), block->beta);
            }
    }
}
#endif

/* The words of each column of a block become a multiple of `whole`, 1 or LANES. */
static void multiply(float *c, size_t ld_c, const struct matrix *a, const struct matrix *b,
                     size_t M, size_t N, size_t K, float beta, void *scratch, size_t whole,
                     multiply_block_fn *multiply_block)
{
    struct block block = {.a_words = scratch, .b_words = (uint32_t *)scratch + A_WORDS};
    const size_t most_words = ((dg_least(BLOCK_K, K) + 1) / 2 + whole - 1) / whole * whole;
    const size_t most_columns = B_WORDS / most_words / PANEL * PANEL;
    for (block.n = 0; block.n < N; block.n += most_columns)
        for (block.k = 0; block.k < K; block.k += BLOCK_K) {
            block.N = dg_least(most_columns, N - block.n);
            block.K = dg_least(BLOCK_K, K - block.k);
            block.n_words = ((block.K + 1) / 2 + whole - 1) / whole * whole;
            block.beta = block.k == 0 ? beta : 1.0f;
            lay_out_b(block.b_words, b, block.n, block.N, block.k, block.K, block.n_words);
            multiply_block(c, ld_c, a, M, &block);
        }
}

#define PRODUCT(name, a_along, b_along, how)                                                       \
    static void name##_by_##how(float *c, size_t ld_c, const float *a, size_t ld_a,                \
                                const float *b, size_t ld_b, size_t M, size_t N, size_t K,         \
                                float beta, void *scratch)                                         \
    {                                                                                              \
        const struct matrix left = {a, ld_a, a_along}, right = {b, ld_b, b_along};                 \
        multiply_by_##how(c, ld_c, &left, &right, M, N, K, beta, scratch);                         \
    }
#define PRODUCTS(how) PRODUCT(nt, 1, 1, how) PRODUCT(nn, 1, 0, how) PRODUCT(tn, 0, 0, how)

static void multiply_by_vectors(float *c, size_t ld_c, const struct matrix *a,
                                const struct matrix *b, size_t M, size_t N, size_t K, float beta,
                                void *scratch)
{
    multiply(c, ld_c, a, b, M, N, K, beta, scratch, 1, block_by_vectors);
}

PRODUCTS(vectors)

const struct dg_products dg_products_bf16 = {.name = "bf16",
                                             .scratch = (A_WORDS + B_WORDS) * sizeof(uint32_t),
                                             .nt = nt_by_vectors,
                                             .nn = nn_by_vectors,
                                             .tn = tn_by_vectors};

#ifdef DG_AMX
static void multiply_by_tiles(float *c, size_t ld_c, const struct matrix *a, const struct matrix *b,
                              size_t M, size_t N, size_t K, float beta, void *scratch)
{
    set_up_tiles();
    multiply(c, ld_c, a, b, M, N, K, beta, scratch, LANES, block_by_tiles);
    _tile_release();
}

PRODUCTS(tiles)

const struct dg_products *dg_products_amx(void)
{
    static const struct dg_products products = {.name = "bf16 (AMX)",
                                                .scratch = (A_WORDS + B_WORDS) * sizeof(uint32_t),
                                                .nt = nt_by_tiles,
                                                .nn = nn_by_tiles,
                                                .tn = tn_by_tiles};
    return &products;
}
#else
const struct dg_products *dg_products_amx(void)
{
    return NULL;
}
#endif
