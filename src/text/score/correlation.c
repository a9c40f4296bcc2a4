/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sums, and a sort. */
#include "text/score/correlation.h"
#include "base/memory/mem.h"

#include <math.h>
#include <stdlib.h>

static double mean(const double *list, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i];
    return n ? sum / (double)n : 0;
}

double dg_pearson(const double *a, const double *b, size_t n)
{
    const double mean_a = mean(a, n), mean_b = mean(b, n);
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - mean_a) * (b[i] - mean_b);
        aa += (a[i] - mean_a) * (a[i] - mean_a);
        bb += (b[i] - mean_b) * (b[i] - mean_b);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

struct ranked {
    double value;
    size_t row;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
                                : (x->row > y->row) - (x->row < y->row);
}

/* The rows in the order of their numbers; owned by the caller. NULL: no memory. */
static struct ranked *sorted(const double *list, size_t n)
{
    struct ranked *order = dg_try_calloc(n ? n : 1, sizeof *order);
    if (!order)
        return NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked){list[i], i};
    qsort(order, n, sizeof *order, by_value);
    return order;
}

static enum dg_err rank(const double *list, size_t n, double *ranks)
{
    struct ranked *order = sorted(list, n);
    if (!order)
        return DG_ERR_NOMEM;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && order[to].value == order[from].value; to++)
            ;
        for (size_t i = from; i < to; i++)
            ranks[order[i].row] = (double)(from + to - 1) / 2;
    }
    dg_free(order);
    return DG_OK;
}

enum dg_err dg_spearman(const double *a, const double *b, size_t n, double *rho)
{
    double *ranks = dg_try_calloc(2 * n + 1, sizeof *ranks);
    enum dg_err err = ranks ? rank(a, n, ranks) : DG_ERR_NOMEM;
    if (!err)
        err = rank(b, n, ranks + n);
    if (!err)
        *rho = dg_pearson(ranks, ranks + n, n);
    dg_free(ranks);
    return err;
}

enum dg_err dg_calibration_error(const double *said, const double *is, size_t n, size_t parts,
                                 double *off)
{
    struct ranked *order = sorted(said, n);
    double sum = 0;
    if (!order)
        return DG_ERR_NOMEM;
    for (size_t p = 0; p < parts; p++) {
        const size_t from = n * p / parts, to = n * (p + 1) / parts;
        double difference = 0;
        for (size_t i = from; i < to; i++)
            difference += order[i].value - is[order[i].row];
        sum += fabs(difference);
    }
    dg_free(order);
    *off = n ? sum / (double)n : 0;
    return DG_OK;
}
