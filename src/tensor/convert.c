/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Widens numbers by moving bits. This runs once for each model, so it is written to be read, not to
 * be fast. */
#include "tensor/convert.h"

#include <string.h>

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float dg_convert_bf16(uint16_t bits)
{
    return from_bits((uint32_t)bits << 16);
}

float dg_convert_f16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 31;
    uint32_t fraction = bits & 1023;
    if (exponent == 31) /* infinity and NaN */
        return from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) { /* zero and subnormals: fraction * 2^-24, exact in float */
        float value = (float)fraction * 0x1p-24f;
        return sign ? -value : value;
    }
    return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

void dg_convert_tensor(float *out, const struct dg_tensor *tensor, size_t first, size_t n)
{
    const size_t row_len = tensor->rank > 1 ? dg_tensor_count(tensor) / tensor->shape[0] : 1;
    switch (tensor->dtype) {
    case DG_DTYPE_F32:
        memcpy(out, (const float *)tensor->data + first, n * sizeof *out);
        break;
    case DG_DTYPE_F16:
        for (size_t i = 0; i < n; i++)
            out[i] = dg_convert_f16(((const uint16_t *)tensor->data)[first + i]);
        break;
    case DG_DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            out[i] = dg_convert_bf16(((const uint16_t *)tensor->data)[first + i]);
        break;
    case DG_DTYPE_I8:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((const int8_t *)tensor->data)[first + i] *
                     tensor->scale[(first + i) / row_len];
        break;
    default: /* cannot be a weight: such types are refused when the model is opened */
        memset(out, 0, n * sizeof *out);
    }
}
