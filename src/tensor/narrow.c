/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Narrows numbers by integer arithmetic on the bits: adding half of the last place kept (less one
 * when that place is even) and then truncating rounds to nearest, ties to even. A carry goes into
 * the exponent, as it should. */
#include "tensor/narrow.h"

#include <math.h>
#include <string.h>

static uint32_t to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint16_t dg_narrow_bf16(float value)
{
    uint32_t bits = to_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* a NaN must remain one when its low bits are cut */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

uint16_t dg_narrow_f16(float value)
{
    uint32_t bits = to_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    if (bits >= 0x477ff000u) /* from 65520 on, the nearest F16 is infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (bits < 0x38800000u) { /* below 2^-14: subnormal, a multiple of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        /* The addition itself rounds, because the last place of floats from 0.5 on is 2^-24. */
        return (uint16_t)(sign | (to_bits(magnitude + 0.5f) - to_bits(0.5f)));
    }
    bits += 0xfffu + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - (112u << 23)) >> 13));
}

float dg_narrow_scale_i8(const float *row, size_t n)
{
    float max = 0;
    for (size_t i = 0; i < n; i++) {
        float magnitude = fabsf(row[i]);
        max = magnitude > max ? magnitude : max;
    }
    float scale = max / 127.0f;
    return scale > 0 ? scale : 1;
}

float dg_narrow_row_i8(int8_t *q, const float *row, size_t n)
{
    /* Adding and taking away 1.5 * 2^52 leaves a small double rounded to a whole number, ties to
     * even, and compiles to two vector instructions where rint() is a call. */
    const double round = 0x1.8p52;
    float scale = dg_narrow_scale_i8(row, n);
    for (size_t i = 0; i < n; i++) {
        /* In double, so that the rounding of the quotient cannot cross a half. */
        double nearest = (double)row[i] / (double)scale + round - round;
        nearest = nearest > 127 ? 127 : nearest;
        nearest = nearest < -127 ? -127 : nearest;
        q[i] = (int8_t)nearest;
    }
    return scale;
}
