/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "decode/attention_anchor.h"
#include "unit.h"

enum { N_SRC = 6 };

static const int32_t first_ids[] = {5}, second_ids[] = {6};
static const struct dg_phrase first[] = {{first_ids, 1}}, second[] = {{second_ids, 1}};
static const struct dg_constraint both[] = {
    {.forms = first, .n_forms = 1, .is_copy = true, .is_once = true, .src_from = 1, .src_to = 2},
    {.forms = second, .n_forms = 1, .is_copy = true, .is_once = true, .src_from = 3, .src_to = 5},
};

static struct dg_search_opts opts(void)
{
    struct dg_search_opts made = DG_SEARCH_OPTS_DEFAULT;
    made.constraints = both;
    made.n_constraints = 2;
    return made;
}

START_TEST(a_phrase_is_due_where_its_source_is_attended)
{
    const float elsewhere[N_SRC] = {0.9f, 0.1f}, on_first[N_SRC] = {0.3f, 0.6f, 0.1f};
    const struct dg_search_opts how = opts();
    struct dg_constrain at = DG_CONSTRAIN_START;
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, elsewhere, N_SRC), -1);
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, on_first, N_SRC), 0);
    at = dg_constrain_take(at, &how, 5);
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, on_first, N_SRC), -1);
    ck_assert(dg_attention_anchor_is_barred(&at, &how, 0, on_first, N_SRC)); /* once */
    ck_assert(!dg_attention_anchor_all_met(&at, &how));
    at = dg_constrain_take(at, &how, 6);
    ck_assert(dg_attention_anchor_all_met(&at, &how));
}
END_TEST

START_TEST(one_that_stands_later_needs_more_to_come_first)
{
    const float some[N_SRC] = {0.3f, 0.1f, 0, 0.3f, 0.3f}, most[N_SRC] = {0.1f, 0, 0, 0.4f, 0.5f};
    const struct dg_search_opts how = opts();
    struct dg_constrain at = DG_CONSTRAIN_START;
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, some, N_SRC), -1);
    ck_assert(dg_attention_anchor_is_barred(&at, &how, 1, some, N_SRC));
    /* this position belongs to the other phrase */
    ck_assert(dg_attention_anchor_is_barred(&at, &how, 0, some, N_SRC));
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, most, N_SRC), 1);
    at = dg_constrain_take(at, &how, 5);
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, some, N_SRC), 1);
    ck_assert(!dg_attention_anchor_is_barred(&at, &how, 1, some, N_SRC));
}
END_TEST

START_TEST(in_order_nothing_is_due_before_its_turn)
{
    const float most[N_SRC] = {0.1f, 0, 0, 0.4f, 0.5f};
    struct dg_search_opts how = opts();
    struct dg_constrain at = DG_CONSTRAIN_START;
    how.in_order = true;
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, most, N_SRC), -1);
    at = dg_constrain_take(at, &how, 5);
    ck_assert_int_eq(dg_attention_anchor_due(&at, &how, most, N_SRC), 1);
}
END_TEST

DG_UNIT(a_phrase_is_due_where_its_source_is_attended,
        one_that_stands_later_needs_more_to_come_first, in_order_nothing_is_due_before_its_turn)
