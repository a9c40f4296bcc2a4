/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "tensor/forward/packed.h"

#include "base/memory/mem.h"
#include "tensor/convert.h"
#include "tensor/narrow.h"
#include "unit.h"

#include <math.h>

enum { N = 21, K = 10 };

static struct dg_packed make(enum dg_packed_type type, size_t panel)
{
    struct dg_packed w = {.type = type, .N = N, .K = K, .panel = panel};
    size_t data_bytes, channel_bytes;
    ck_assert(dg_packed_sizes(&w, &data_bytes, &channel_bytes));
    w.data = dg_xcalloc(1, data_bytes);
    w.bias = dg_xcalloc(1, channel_bytes);
    w.scale = dg_xcalloc(1, channel_bytes);
    w.sum = dg_xcalloc(1, channel_bytes);
    return w;
}

static void discard(struct dg_packed *w)
{
    dg_free(w->data);
    dg_free(w->bias);
    dg_free(w->scale);
    dg_free(w->sum);
}

START_TEST(rows_come_back_as_they_went_in)
{
    static const size_t panels[] = {1, 4, 8, 64};
    float rows[N * K], out[K], scratch[K];
    for (int i = 0; i < N * K; i++)
        rows[i] = sinf((float)i);
    const struct dg_tensor upper = {
        .data = rows, .shape = {9, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
    const struct dg_tensor lower = {
        .data = rows + 9 * K, .shape = {N - 9, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
    for (size_t p = 0; p < 4; p++)
        for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
            struct dg_packed w = make((enum dg_packed_type)type, panels[p]);
            dg_packed_put_rows(&w, 9, &lower, scratch);
            dg_packed_put_rows(&w, 0, &upper, scratch);
            for (size_t n = 0; n < N; n++) {
                dg_packed_row(&w, n, out);
                for (size_t k = 0; k < K; k++) {
                    const float value = rows[n * K + k];
                    ck_assert(type == DG_PACKED_F32 ? out[k] == value
                              : dg_packed_has_bf16((enum dg_packed_type)type)
                                  ? out[k] == dg_convert_bf16(dg_narrow_bf16(value))
                                  : fabsf(out[k] - value) <= w.scale[n] * 0.5001f);
                }
            }
            discard(&w);
        }
}
END_TEST

START_TEST(the_byte_that_has_no_opposite_is_taken_as_its_neighbour)
{
    float out[K], scratch[K];
    int8_t rows[N * K];
    float scales[N];
    for (int n = 0; n < N; n++) {
        scales[n] = 0.5f;
        for (int k = 0; k < K; k++)
            rows[n * K + k] = (int8_t)((n >> k % 5 & 1) ? -128 : n * 7 + k - 127);
    }
    const struct dg_tensor stored = {
        .data = rows, .shape = {N, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_I8, .scale = scales};
    struct dg_packed w = make(DG_PACKED_I8, 8);
    dg_packed_put_rows(&w, 0, &stored, scratch);
    for (size_t n = 0; n < N; n++) {
        int32_t sum = 0;
        dg_packed_row(&w, n, out);
        for (size_t k = 0; k < K; k++) {
            const int expected = rows[n * K + k] == -128 ? -127 : rows[n * K + k];
            ck_assert(out[k] == 0.5f * (float)expected);
            sum += expected;
        }
        ck_assert_int_eq(w.sum[n], sum);
    }
    discard(&w);
}
END_TEST

START_TEST(stored_bytes_and_scales_are_taken_as_they_are)
{
    int8_t bytes[N * K];
    float scale[N], out[K], scratch[K];
    for (int i = 0; i < N * K; i++)
        bytes[i] = (int8_t)(i % 255 - 127);
    for (int n = 0; n < N; n++)
        scale[n] = 0.25f * (float)(n + 1);
    const struct dg_tensor t = {
        .data = bytes, .scale = scale, .shape = {N, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_I8};
    for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
        struct dg_packed w = make((enum dg_packed_type)type, 16);
        dg_packed_put_rows(&w, 0, &t, scratch);
        for (size_t n = 0; n < N; n++) {
            int32_t sum = 0;
            dg_packed_row(&w, n, out);
            for (size_t k = 0; k < K; k++) {
                const float value = scale[n] * (float)bytes[n * K + k];
                ck_assert(out[k] == (dg_packed_has_bf16((enum dg_packed_type)type)
                                         ? dg_convert_bf16(dg_narrow_bf16(value))
                                         : value));
                sum += bytes[n * K + k];
            }
            ck_assert(type != DG_PACKED_I8 || w.sum[n] == sum);
        }
        discard(&w);
    }
}
END_TEST

/* Also with an odd number of inputs, where a zero completes the last pair. */
START_TEST(stored_bf16_are_taken_as_they_are)
{
    static const size_t panels[] = {1, 8};
    uint16_t rows[N * (K - 1)];
    float out[K], scratch[K];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = (uint16_t)(i * 331); /* subnormals, infinities and NaN among them */
    const struct dg_tensor t = {
        .data = rows, .shape = {N, K - 1, 1, 1}, .rank = 2, .dtype = DG_DTYPE_BF16};
    for (size_t p = 0; p < 2; p++) {
        struct dg_packed w = make(DG_PACKED_BF16, panels[p]);
        w.K = K - 1;
        dg_packed_put_rows(&w, 0, &t, scratch);
        for (size_t n = 0; n < N; n++) {
            dg_packed_row(&w, n, out);
            for (size_t k = 0; k < w.K; k++) {
                const float value = dg_convert_bf16(rows[n * w.K + k]);
                ck_assert_mem_eq(&out[k], &value, sizeof value);
            }
            const size_t panel = panels[p],
                         last = n / panel * panel * K + (K - 2) * panel + n % panel * 2 + 1;
            ck_assert_uint_eq(((const uint16_t *)w.data)[last], 0);
        }
        discard(&w);
    }
}
END_TEST

START_TEST(channels_can_be_gathered)
{
    float rows[N * K], bias[N], a[K], b[K], scratch[K];
    for (int i = 0; i < N * K; i++)
        rows[i] = cosf((float)i);
    for (int n = 0; n < N; n++)
        bias[n] = (float)n;
    const struct dg_tensor t = {
        .data = rows, .shape = {N, K, 1, 1}, .rank = 2, .dtype = DG_DTYPE_F32};
    const struct dg_tensor v = {
        .data = bias, .shape = {N, 1, 1, 1}, .rank = 1, .dtype = DG_DTYPE_F32};
    static const size_t chosen[] = {20, 3, 17, 0, 9};
    for (int type = DG_PACKED_F32; type <= DG_PACKED_I8; type++) {
        struct dg_packed w = make((enum dg_packed_type)type, 8),
                         list = make((enum dg_packed_type)type, 8);
        dg_packed_put_rows(&w, 0, &t, scratch);
        dg_packed_put_bias(&w, 0, &v);
        list.N = 5;
        for (size_t i = 0; i < 5; i++)
            dg_packed_copy_channel(&list, i, &w, chosen[i]);
        dg_packed_clear_tail(&list);
        for (size_t i = 0; i < 5; i++) {
            dg_packed_row(&list, i, a);
            dg_packed_row(&w, chosen[i], b);
            ck_assert_mem_eq(a, b, sizeof a);
            ck_assert(list.bias[i] == (float)chosen[i]);
        }
        discard(&w);
        discard(&list);
    }
}
END_TEST

START_TEST(absurd_sizes_are_refused)
{
    size_t data_bytes, channel_bytes;
    struct dg_packed w = {.type = DG_PACKED_F32, .N = SIZE_MAX / 2, .K = 8, .panel = 64};
    ck_assert(!dg_packed_sizes(&w, &data_bytes, &channel_bytes));
    w.N = SIZE_MAX;
    ck_assert(!dg_packed_sizes(&w, &data_bytes, &channel_bytes));
}
END_TEST

START_TEST(halves_widen_exactly)
{
    static const struct {
        uint16_t bits;
        float value;
    } f16[] = {{0x0000, 0.0f},     {0x3c00, 1.0f},        {0xc000, -2.0f},
               {0x7bff, 65504.0f}, {0x0001, 0x1p-24f},    {0x83ff, -0x1.ff8p-15f},
               {0x0400, 0x1p-14f}, {0x3555, 0x1.554p-2f}, {0x7c00, INFINITY}};
    for (size_t i = 0; i < sizeof f16 / sizeof *f16; i++)
        ck_assert(dg_convert_f16(f16[i].bits) == f16[i].value);
    ck_assert(signbit(dg_convert_f16(0x8000)) && isnan(dg_convert_f16(0x7e00)));
    ck_assert(dg_convert_bf16(0x3f80) == 1.0f && dg_convert_bf16(0xc040) == -3.0f);
    const uint16_t halves[] = {0x3c00, 0x4000, 0x4200};
    const struct dg_tensor t = {
        .data = halves, .shape = {3, 1, 1, 1}, .rank = 1, .dtype = DG_DTYPE_F16};
    float out[2];
    dg_convert_tensor(out, &t, 1, 2);
    ck_assert(out[0] == 2.0f && out[1] == 3.0f);
}
END_TEST

DG_UNIT(rows_come_back_as_they_went_in, the_byte_that_has_no_opposite_is_taken_as_its_neighbour,
        stored_bytes_and_scales_are_taken_as_they_are, stored_bf16_are_taken_as_they_are,
        channels_can_be_gathered, absurd_sizes_are_refused, halves_widen_exactly)
