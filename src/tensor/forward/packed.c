/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Packing and unpacking of weights; the layouts are drawn in the header. */
#include "tensor/forward/packed.h"

#include "base/memory/mem.h"
#include "tensor/convert.h"
#include "tensor/forward/ops.h"
#include "tensor/narrow.h"

#include <math.h>
#include <string.h>

static size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* The layout of a type: how many consecutive k of a column lie side by side, and the bytes of one
 * number. In both narrow types a group is a 32-bit word. */
static const struct {
    size_t group, element;
} forms[] = {[DG_PACKED_F32] = {1, 4},
             [DG_PACKED_BF16] = {2, 2},
             [DG_PACKED_BF16_FAST] = {2, 2},
             [DG_PACKED_I8] = {4, 1}};

enum { GROUP_BYTES = 4 };

/* Returns K as stored, in whole groups. */
static size_t stored_k(const struct dg_packed *packed)
{
    return round_up(packed->K, forms[packed->type].group);
}

bool dg_packed_sizes(const struct dg_packed *packed, size_t *data_bytes, size_t *channel_bytes)
{
    size_t channels = round_up(packed->N, packed->panel), count, bytes, channel;
    const size_t element = forms[packed->type].element;
    if (channels < packed->N || !dg_mul(channels, stored_k(packed), &count) ||
        !dg_mul(count, element, &bytes) || !dg_add(bytes, 63, &bytes) ||
        !dg_mul(channels, sizeof(float), &channel) || !dg_add(channel, 63, &channel))
        return false;
    *data_bytes = bytes & ~(size_t)63;
    *channel_bytes = channel & ~(size_t)63;
    return true;
}

/* Returns the index of element (n, k) in `data`. */
static size_t at(const struct dg_packed *packed, size_t n, size_t k)
{
    const size_t panel = packed->panel, start = n / panel * panel * stored_k(packed),
                 column = n % panel;
    const size_t group = forms[packed->type].group;
    return start + (k / group) * panel * group + column * group + k % group;
}

static void put_f32(struct dg_packed *packed, size_t n, const float *row)
{
    float *data = (float *)packed->data + at(packed, n, 0);
    for (size_t k = 0; k < packed->K; k++)
        data[k * packed->panel] = row[k];
}

static void put_bf16(struct dg_packed *packed, size_t n, const uint16_t *row)
{
    uint16_t *data = (uint16_t *)packed->data + at(packed, n, 0);
    for (size_t k = 0; k < packed->K; k++)
        data[k / 2 * packed->panel * 2 + k % 2] = row[k];
}

static void narrow_and_put(struct dg_packed *packed, size_t n, const float *row)
{
    uint16_t *data = (uint16_t *)packed->data + at(packed, n, 0);
    for (size_t k = 0; k < packed->K; k++)
        data[k / 2 * packed->panel * 2 + k % 2] = dg_narrow_bf16(row[k]);
}

/* Stores a group of four and returns its sum. The format has no -128, which becomes -127. */
static int32_t put_group(int8_t *data, uint32_t group)
{
    const uint32_t ones = 0x01010101u, tops = 0x80808080u, evens = 0x00ff00ffu;
    uint32_t raised = group ^ tops; /* each byte plus 128, so that -128 is 0 */
    if ((raised - ones) & ~raised & tops)
        for (uint32_t byte = 0xff; byte; byte <<= 8)
            raised |= raised & byte ? 0 : byte & ones;
    group = raised ^ tops;
    memcpy(data, &group, sizeof group);
    const uint32_t pairs = (raised & evens) + (raised >> 8 & evens);
    return (int32_t)((pairs & 0xffff) + (pairs >> 16)) - 4 * 128;
}

static void put_i8(struct dg_packed *packed, size_t n, const int8_t *row, float scale)
{
    int8_t *data = (int8_t *)packed->data + at(packed, n, 0);
    const size_t stride = packed->panel * 4, K = packed->K;
    uint32_t group;
    int32_t sum = 0;
    size_t k = 0;
    for (; k + 4 <= K; k += 4, data += stride) {
        memcpy(&group, row + k, sizeof group);
        sum += put_group(data, group);
    }
    if (k < K) {
        group = 0;
        memcpy(&group, row + k, K - k);
        sum += put_group(data, group);
    }
    packed->scale[n] = scale;
    packed->sum[n] = sum;
}

/* Symmetric quantisation of one channel: scale = max|w| / 127. The bytes replace the floats. */
static void quantize_and_put(struct dg_packed *packed, size_t n, float *row)
{
    float most = 0.0f;
    for (size_t k = 0; k < packed->K; k++)
        most = fabsf(row[k]) > most ? fabsf(row[k]) : most;
    const float scale = most > 0.0f && most < INFINITY ? most / 127.0f : 1.0f;
    int8_t *q = (int8_t *)row; /* the byte of element k is never written beyond the float that is
                                  read, so nothing unread is overwritten */
    for (size_t k = 0; k < packed->K; k++) {
        float value = row[k] / scale;
        q[k] = (int8_t)(value >= 127.0f ? 127 : value > -127.0f ? (int)nearbyintf(value) : -127);
    }
    put_i8(packed, n, q, scale);
}

void dg_packed_put_rows(struct dg_packed *packed, size_t first, const struct dg_tensor *rows,
                        float *scratch)
{
    const size_t K = packed->K;
    for (size_t i = 0; i < rows->shape[0]; i++) {
        if (packed->type == DG_PACKED_I8 && rows->dtype == DG_DTYPE_I8) {
            put_i8(packed, first + i, (const int8_t *)rows->data + i * K, rows->scale[i]);
            continue;
        }
        if (dg_packed_has_bf16(packed->type) && rows->dtype == DG_DTYPE_BF16) {
            put_bf16(packed, first + i, (const uint16_t *)rows->data + i * K);
            continue;
        }
        dg_convert_tensor(scratch, rows, i * K, K);
        if (packed->type == DG_PACKED_I8)
            quantize_and_put(packed, first + i, scratch);
        else if (dg_packed_has_bf16(packed->type))
            narrow_and_put(packed, first + i, scratch);
        else
            put_f32(packed, first + i, scratch);
    }
}

void dg_packed_put_bias(struct dg_packed *packed, size_t first, const struct dg_tensor *bias)
{
    dg_convert_tensor(packed->bias + first, bias, 0, dg_tensor_count(bias));
}

void dg_packed_row(const struct dg_packed *packed, size_t n, float *out)
{
    const size_t K = packed->K;
    if (packed->type == DG_PACKED_F32) {
        const float *data = (const float *)packed->data + at(packed, n, 0);
        for (size_t k = 0; k < K; k++)
            out[k] = data[k * packed->panel];
        return;
    }
    if (dg_packed_has_bf16(packed->type)) {
        const uint16_t *data = (const uint16_t *)packed->data + at(packed, n, 0);
        for (size_t k = 0; k < K; k++)
            out[k] = dg_convert_bf16(data[k / 2 * packed->panel * 2 + k % 2]);
        return;
    }
    const int8_t *group = (const int8_t *)packed->data + at(packed, n, 0);
    const float scale = packed->scale[n];
    size_t k = 0;
    for (; k + 4 <= K; k += 4, group += packed->panel * 4)
        for (size_t i = 0; i < 4; i++)
            out[k + i] = scale * (float)group[i];
    for (size_t i = 0; k + i < K; i++)
        out[k + i] = scale * (float)group[i];
}

void dg_packed_copy_channel(struct dg_packed *to, size_t to_n, const struct dg_packed *from,
                            size_t from_n)
{
    const size_t n_groups = stored_k(from) / forms[from->type].group,
                 element = forms[from->type].element;
    char *out = (char *)to->data + at(to, to_n, 0) * element;
    const char *in = (const char *)from->data + at(from, from_n, 0) * element;
    for (size_t i = 0; i < n_groups; i++)
        memcpy(out + i * to->panel * GROUP_BYTES, in + i * from->panel * GROUP_BYTES, GROUP_BYTES);
    if (from->type == DG_PACKED_I8) {
        to->scale[to_n] = from->scale[from_n];
        to->sum[to_n] = from->sum[from_n];
    }
    if (from->bias)
        to->bias[to_n] = from->bias[from_n];
}

size_t dg_packed_offset(const struct dg_packed *packed, size_t n)
{
    return at(packed, n, 0) * forms[packed->type].element;
}

void dg_packed_clear_tail(struct dg_packed *packed)
{
    const size_t element = forms[packed->type].element;
    for (size_t n = packed->N; n < round_up(packed->N, packed->panel); n++) {
        for (size_t k = 0; k < stored_k(packed); k++)
            memset((char *)packed->data + at(packed, n, k) * element, 0, element);
        if (packed->bias)
            packed->bias[n] = 0.0f;
        if (packed->scale) {
            packed->scale[n] = 0.0f;
            packed->sum[n] = 0;
        }
    }
}

size_t dg_packed_scratch(const struct dg_packed *packed, size_t M)
{
    if (packed->type == DG_PACKED_F32)
        return round_up(DG_OPS_BLAS_ROWS_MAX * packed->K * sizeof(float), 64);
    if (packed->type == DG_PACKED_BF16)
        return 0;
    const size_t K = round_up(packed->K, 64); /* as the kernels lay it out */
    if (packed->type == DG_PACKED_BF16_FAST)
        return M * K * sizeof(float); /* some tables round to BF16 and keep floats */
    return DG_OPS_PRODUCT + round_up(M * (K * sizeof(int16_t) + sizeof(float) + sizeof(uint32_t) +
                                          K / 4 * sizeof(uint16_t)),
                                     64);
}
