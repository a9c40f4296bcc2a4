/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* memory-limit: its shares never add up to more than the limit, and an impossible limit is refused.
 */
#include "daemon/memory.h"
#include "unit.h"

enum { MIB = 1 << 20 };

START_TEST(without_a_limit_nothing_is_bounded)
{
    struct dg_memory_plan plan;
    ck_assert_int_eq(dg_memory_plan(0, 30 * MIB, 32 * MIB, NULL, &plan), DG_OK);
    ck_assert_uint_eq(plan.cache, 32 * MIB);
    ck_assert_uint_eq(plan.models, 0);
    ck_assert_uint_eq(plan.texts_bytes, 0);
    ck_assert_uint_eq(plan.queue_tokens, 0);
    ck_assert_uint_eq(plan.buffers, 0);
}
END_TEST

START_TEST(the_shares_add_up_to_no_more_than_the_limit)
{
    for (size_t limit = 1; limit <= 4096; limit++) {
        struct dg_memory_plan plan = {.models = 0};
        struct dg_error error = DG_ERROR_NONE;
        enum dg_err err = dg_memory_plan(limit * MIB, 30 * MIB, 32 * MIB, &error, &plan);
        if (err) {
            ck_assert_int_eq(err, DG_ERR_LIMIT);
            ck_assert_ptr_nonnull(strstr(error.text, "memory-limit: read"));
            ck_assert_uint_eq(plan.models, 0);
            ck_assert_uint_lt(limit, 100);
            continue;
        }
        ck_assert_uint_ge(plan.process, 30 * MIB);
        ck_assert_uint_gt(plan.models, 0);
        ck_assert_uint_gt(plan.texts_bytes, 0);
        ck_assert_uint_gt(plan.queue_tokens, 0);
        ck_assert_uint_ge(plan.buffers, 4 * MIB);
        ck_assert_uint_le(plan.process + plan.cache + plan.models + plan.buffers +
                              plan.texts_bytes * 16 + plan.queue_tokens * 64,
                          limit * MIB);
    }
}
END_TEST

START_TEST(the_system_tells_what_is_resident)
{
    size_t before = dg_memory_resident();
    ck_assert_uint_gt(before, 100000);
    dg_memory_tune();
    /* volatile, because otherwise the optimiser sees that nothing reads it */
    char *volatile block = malloc(64 * MIB);
    ck_assert_ptr_nonnull(block);
    memset(block, 1, 64 * MIB);
    ck_assert_uint_ge(dg_memory_resident(), before + 32 * MIB);
    free(block);
}
END_TEST

DG_UNIT(without_a_limit_nothing_is_bounded, the_shares_add_up_to_no_more_than_the_limit,
        the_system_tells_what_is_resident)
