/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "tensor/convert.h"
#include "tensor/narrow.h"
#include "unit.h"

#include <math.h>

START_TEST(every_half_comes_back)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        float half = dg_convert_f16((uint16_t)bits), brain = dg_convert_bf16((uint16_t)bits);
        if (isnan(half))
            ck_assert(isnan(dg_convert_f16(dg_narrow_f16(half))));
        else
            ck_assert_uint_eq(dg_narrow_f16(half), bits);
        if (isnan(brain))
            ck_assert(isnan(dg_convert_bf16(dg_narrow_bf16(brain))));
        else
            ck_assert_uint_eq(dg_narrow_bf16(brain), bits);
    }
}
END_TEST

/* A number between two neighbours becomes the nearer one; one in the middle becomes the even
 * one. */
START_TEST(numbers_between_two_halves_go_to_the_nearest)
{
    for (unsigned bits = 0; bits < 0x7bff; bits++) {
        float low = dg_convert_f16((uint16_t)bits), high = dg_convert_f16((uint16_t)(bits + 1));
        float middle = (low + high) / 2;
        unsigned even = bits % 2 ? bits + 1 : bits;
        ck_assert_uint_eq(dg_narrow_f16(middle), even);
        ck_assert_uint_eq(dg_narrow_f16(-middle), even | 0x8000);
        ck_assert_uint_eq(dg_narrow_f16(nextafterf(middle, 0)), bits);
        ck_assert_uint_eq(dg_narrow_f16(nextafterf(middle, INFINITY)), bits + 1);
    }
    ck_assert_uint_eq(dg_narrow_f16(65519.0f), 0x7bff);
    ck_assert_uint_eq(dg_narrow_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(dg_narrow_f16(-INFINITY), 0xfc00);
    for (unsigned bits = 0; bits < 0x7f7f; bits += 7) {
        float low = dg_convert_bf16((uint16_t)bits), high = dg_convert_bf16((uint16_t)(bits + 1));
        float middle = low + (high - low) / 2;
        ck_assert_uint_eq(dg_narrow_bf16(middle), bits % 2 ? bits + 1 : bits);
        ck_assert_uint_eq(dg_narrow_bf16(nextafterf(middle, INFINITY)), bits + 1);
    }
}
END_TEST

START_TEST(rows_of_i8_keep_their_largest_number_and_round_the_rest)
{
    const float row[] = {-254, 127, 1, -1, 3, 0.99f, 0, 254};
    int8_t q[8];
    ck_assert_float_eq(dg_narrow_row_i8(q, row, 8), 2);
    const int8_t expected[] = {-127, 64, 0, 0, 2, 0, 0, 127}; /* 63.5, 0.5 and 1.5 go to even */
    ck_assert_int_eq(memcmp(q, expected, 8), 0);
    const float zeros[3] = {0, -0.0f, 0};
    ck_assert_float_eq(dg_narrow_row_i8(q, zeros, 3), 1);
    ck_assert_int_eq(q[0] | q[1] | q[2], 0);
    const float tiny[2] = {1e-45f, -1e-45f};
    float scale = dg_narrow_row_i8(q, tiny, 2);
    ck_assert(isfinite(scale) && scale > 0);
}
END_TEST

DG_UNIT(every_half_comes_back, numbers_between_two_halves_go_to_the_nearest,
        rows_of_i8_keep_their_largest_number_and_round_the_rest)
