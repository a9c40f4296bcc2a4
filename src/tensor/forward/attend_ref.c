/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Defines attention, and how keys and values are stored as bytes, in plain C. */
#include "tensor/convert.h"
#include "tensor/forward/ops.h"

#include <math.h>
#include <string.h>

/* Returns the row of the tables for a key's distance. */
static size_t relative_row(const struct dg_relative *relative, size_t t, size_t self)
{
    if (t < self)
        return self - t < relative->reach ? relative->reach - (self - t) : 0;
    return t - self < relative->reach ? relative->reach + (t - self) : 2 * relative->reach;
}

/* Returns number i of head h of the key (part 0) or of the value (part 1) of a record. */
static float stored(const struct dg_attention *of, const char *record, size_t part, size_t h,
                    size_t i)
{
    const size_t at = (part * of->H + h) * of->dh + i;
    float number;
    if (of->type == DG_KV_F32) {
        memcpy(&number, record + at * sizeof number, sizeof number);
        return number;
    }
    if (of->type == DG_KV_F16) {
        uint16_t half;
        memcpy(&half, record + at * sizeof half, sizeof half);
        return dg_convert_f16(half);
    }
    memcpy(&number, record + (part * of->H + h) * sizeof number, sizeof number);
    return number * (float)((const int8_t *)record)[2 * of->H * sizeof number + at];
}

/* Attention of head `q` of a query over head h of the first n keys, whose probabilities become p
 * [n]. */
static void attend_head(const struct dg_attention *of, float *out, const float *q, size_t h,
                        const uint32_t *at, size_t n, float *p)
{
    const size_t dh = of->dh;
    const struct dg_relative *relative = of->relative;
    for (size_t t = 0; t < n; t++) {
        const char *record = (const char *)of->kv + (at ? at[t] : t) * of->stride;
        float dot = 0.0f;
        for (size_t i = 0; i < dh; i++) {
            float key = stored(of, record, 0, h, i);
            if (relative)
                key += relative->keys[relative_row(relative, t, of->self) * dh + i];
            dot += q[i] * key;
        }
        p[t] = dot * of->scale;
    }
    dg_ops_softmax_ref(p, n);
    for (size_t i = 0; i < dh; i++) {
        float sum = 0.0f;
        for (size_t t = 0; t < n; t++) {
            float value = stored(of, (const char *)of->kv + (at ? at[t] : t) * of->stride, 1, h, i);
            if (relative)
                value += relative->values[relative_row(relative, t, of->self) * dh + i];
            sum += p[t] * value;
        }
        out[i] = sum;
    }
}

void dg_ops_attend_ref(const struct dg_attention *of)
{
    for (size_t m = 0; m < of->Q; m++)
        for (size_t h = 0; h < of->H; h++)
            attend_head(of, of->out + m * of->ld_out + h * of->dh,
                        of->q + m * of->ld_q + h * of->dh, h, of->at ? of->at[m] : NULL, of->n,
                        of->weights + (m * of->H + h) * of->n);
}

void dg_ops_attend_rows_ref(const struct dg_attention *of)
{
    for (size_t m = 0; m < of->Q; m++)
        for (size_t h = 0; h < of->H * of->G; h++)
            attend_head(of, of->out + m * of->ld_out + h * of->dh,
                        of->q + m * of->ld_q + h * of->dh, h / of->G, of->at ? of->at[0] : NULL,
                        of->n - (of->is_causal ? of->Q - 1 - m : 0), of->scratch);
}

void dg_ops_store_i8_ref(void *record, const float *x, size_t H, size_t dh)
{
    int8_t *numbers = (int8_t *)record + 2 * H * sizeof(float);
    for (size_t h = 0; h < 2 * H; h++, x += dh, numbers += dh) {
        float most = 0.0f;
        bool finite = true;
        for (size_t i = 0; i < dh; i++) {
            most = fmaxf(most, fabsf(x[i]));
            finite = finite && isfinite(x[i]);
        }
        const float inverse = finite && most > 1e-30f ? 127.0f / most : 0.0f;
        const float scale = finite ? most / 127.0f : NAN;
        for (size_t i = 0; i < dh; i++)
            numbers[i] = (int8_t)(finite ? nearbyintf(x[i] * inverse) : 0.0f);
        memcpy((char *)record + h * sizeof scale, &scale, sizeof scale);
    }
}
