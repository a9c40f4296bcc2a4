/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "unit.h"

START_TEST(appends_in_order_and_keeps_a_nul)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(dg_buf_printf(&buf, "%02d", i), DG_OK);
    ck_assert_uint_eq(buf.len, 200);
    ck_assert_int_eq(buf.ptr[200], '\0');
    ck_assert(dg_span_starts(dg_buf_span(&buf), DG_SPAN("00010203")));
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(refuses_to_grow_past_its_maximum_and_stays_as_it_was)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 5);
    ck_assert_int_eq(dg_buf_append_cstr(&buf, "abc"), DG_OK);
    ck_assert_int_eq(dg_buf_append_cstr(&buf, "def"), DG_ERR_LIMIT);
    ck_assert_int_eq(dg_buf_printf(&buf, "%d", 1234), DG_ERR_LIMIT);
    ck_assert_str_eq(buf.ptr, "abc");
    ck_assert_int_eq(dg_buf_append_cstr(&buf, "de"), DG_OK);
    ck_assert_str_eq(buf.ptr, "abcde");
    ck_assert_int_eq(dg_buf_reserve(&buf, SIZE_MAX), DG_ERR_LIMIT);
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(consumes_from_the_front)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 100);
    ck_assert_int_eq(dg_buf_append_cstr(&buf, "hello world"), DG_OK);
    dg_buf_consume(&buf, 6);
    ck_assert_str_eq(buf.ptr, "world");
    dg_buf_consume(&buf, 100);
    ck_assert_uint_eq(buf.len, 0);
    dg_buf_deinit(&buf);
}
END_TEST

START_TEST(reports_memory_that_is_gone)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 1000);
    dg_mem_fail_after(1);
    ck_assert_int_eq(dg_buf_append_byte(&buf, 'x'), DG_ERR_NOMEM);
    ck_assert(dg_mem_failed());
    ck_assert_int_eq(dg_buf_append_byte(&buf, 'x'), DG_OK);
    dg_mem_fail_after(0);
    dg_buf_deinit(&buf);
}
END_TEST

DG_UNIT(appends_in_order_and_keeps_a_nul, refuses_to_grow_past_its_maximum_and_stays_as_it_was,
        consumes_from_the_front, reports_memory_that_is_gone)
