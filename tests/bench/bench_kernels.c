/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Speed of one linear layer, for every table of kernels: GFLOP/s (or GOP/s of I8) by number of
 * rows.
 *
 *     make tests/bench/bench_kernels && tests/bench/bench_kernels [table [N]]
 *
 * Each figure is the best of several short runs. The weights of the small shapes stay in the
 * caches, as they do between the rows of one step but not between steps; the largest shape comes
 * from memory. */
#include "base/memory/mem.h"
#include "tensor/forward/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The thread's own processor time, in which other programs on the machine are not counted. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *block(size_t bytes)
{
    void *ptr = dg_try_aligned(bytes);
    if (!ptr)
        abort();
    memset(ptr, 0, bytes);
    return ptr;
}

static void fill(float *x, size_t n)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
}

static struct dg_packed pack(const struct dg_kernels *kernels, enum dg_packed_type type, size_t N,
                             size_t K)
{
    struct dg_packed w = {.type = type, .N = N, .K = K, .panel = dg_kernels_panel(kernels, type)};
    size_t data_bytes, channel_bytes;
    if (!dg_packed_sizes(&w, &data_bytes, &channel_bytes))
        abort();
    w.data = block(data_bytes);
    w.bias = block(channel_bytes);
    w.scale = block(channel_bytes);
    w.sum = block(channel_bytes);
    float *rows = block(N * K * sizeof *rows), *scratch = block(K * sizeof *scratch);
    fill(rows, N * K);
    const struct dg_tensor tensor = {
        .data = rows, .shape = {N, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
    dg_packed_put_rows(&w, 0, &tensor, scratch);
    dg_free(rows);
    dg_free(scratch);
    return w;
}

static double measure(const struct dg_kernels *kernels, const struct dg_packed *w, size_t M)
{
    float *x = block(M * w->K * sizeof *x), *out = block(M * w->N * sizeof *out);
    void *scratch = block(dg_packed_scratch(w, M));
    double best = 1e9;
    fill(x, M * w->K);
    for (int run = 0; run < 9; run++) {
        int n = 0;
        const double start = now();
        double end;
        do {
            kernels->linear(out, w->N, x, w->K, M, w, DG_OP_NONE, NULL, 0, scratch);
            n++;
        } while ((end = now()) - start < 0.02);
        best = (end - start) / n < best ? (end - start) / n : best;
    }
    dg_free(x);
    dg_free(out);
    dg_free(scratch);
    return 2e-9 * (double)M * (double)w->N * (double)w->K / best;
}

int main(int argc, char **argv)
{
    static const size_t shapes[][2] = {
        {512, 512}, {2048, 512}, {512, 2048}, {1536, 256}, {32000, 512}};
    static const size_t rows[] = {1, 2, 4, 6, 8, 16, 32, 128};
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    size_t n_tables = dg_kernels_all(tables);
    for (size_t t = 0; t < n_tables; t++) {
        if ((argc > 1 && strcmp(argv[1], tables[t]->name) != 0) ||
            (argc == 1 && strcmp(tables[t]->name, "ref") == 0))
            continue;
        for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                if (argc > 2 && (size_t)strtoul(argv[2], NULL, 10) != shapes[s][0])
                    continue;
                struct dg_packed w =
                    pack(tables[t], (enum dg_packed_type)type, shapes[s][0], shapes[s][1]);
                printf("%-7s %-4s N %5zu K %4zu:", tables[t]->name,
                       (const char *[]){"f32", "bf16", "i8"}[type], w.N, w.K);
                for (size_t m = 0; m < sizeof rows / sizeof *rows; m++)
                    printf("  M %zu: %.0f", rows[m], measure(tables[t], &w, rows[m]));
                printf("\n");
                dg_free(w.data);
                dg_free(w.bias);
                dg_free(w.scale);
                dg_free(w.sum);
            }
    }
    return 0;
}
