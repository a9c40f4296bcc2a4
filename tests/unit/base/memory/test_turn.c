/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "base/memory/turn.h"
#include "unit.h"

#include <string.h>

static struct dg_clock now;
static struct dg_turn turn;
static char said[32];

/* Work that takes some time, says its name, and may have more to do. */
struct piece {
    struct dg_turn_work work;
    char name;
    uint64_t lasts_ns;
    int n_more;
};

static void run(struct dg_turn_work *work)
{
    struct piece *piece = DG_LIST_ITEM(work, struct piece, work);
    said[strlen(said)] = piece->name;
    dg_clock_advance(&now, piece->lasts_ns);
    if (piece->n_more-- > 0)
        dg_turn_add(&turn, work);
}

static struct piece piece(char name, uint64_t lasts_ns, int n_more)
{
    return (struct piece){.name = name, .lasts_ns = lasts_ns, .n_more = n_more};
}

static void add(struct piece *piece)
{
    dg_turn_work_init(&piece->work, run);
    dg_turn_add(&turn, &piece->work);
}

static void start(void)
{
    now = (struct dg_clock)DG_CLOCK_VIRTUAL(DG_CLOCK_S);
    dg_turn_init(&turn, &now);
    memset(said, 0, sizeof said);
}

static const char *run_turn(void)
{
    memset(said, 0, sizeof said);
    dg_turn_run(&turn);
    dg_turn_end(&turn);
    return said;
}

START_TEST(begins_with_the_first_question_and_lasts_a_millisecond)
{
    start();
    ck_assert(dg_turn_takes_input(&turn) && dg_turn_has_time(&turn));
    dg_clock_advance(&now, DG_TURN_INPUT_NS);
    ck_assert(!dg_turn_takes_input(&turn) && dg_turn_has_time(&turn));
    dg_clock_advance(&now, DG_TURN_NS - DG_TURN_INPUT_NS);
    ck_assert(!dg_turn_has_time(&turn));
    dg_turn_end(&turn);
    dg_clock_advance(&now, DG_CLOCK_S);
    ck_assert(dg_turn_takes_input(&turn));
}
END_TEST

START_TEST(all_work_shares_one_time_in_the_order_of_the_queue)
{
    start();
    struct piece a = piece('a', DG_TURN_NS / 2, 2), b = piece('b', DG_TURN_NS / 4, 0),
                 c = piece('c', 2 * DG_TURN_NS, 1);
    add(&a);
    add(&b);
    add(&c);
    ck_assert_str_eq(run_turn(), "abc");
    ck_assert_str_eq(run_turn(), "ac");
    ck_assert_str_eq(run_turn(), "a");
    ck_assert(dg_list_is_empty(&turn.queue));
    ck_assert_str_eq(run_turn(), "");
}
END_TEST

START_TEST(something_goes_on_even_when_the_time_is_over)
{
    start();
    struct piece a = piece('a', 0, 0), b = piece('b', 0, 0);
    add(&a);
    add(&b);
    ck_assert(dg_turn_has_time(&turn));
    dg_clock_advance(&now, 2 * DG_TURN_NS);
    ck_assert_str_eq(run_turn(), "a");
    ck_assert_str_eq(run_turn(), "b");
}
END_TEST

START_TEST(work_waits_once_and_can_leave)
{
    start();
    struct piece a = piece('a', 0, 0), b = piece('b', 0, 0);
    add(&a);
    add(&b);
    dg_turn_add(&turn, &a.work);
    dg_turn_remove(&b.work);
    ck_assert_str_eq(run_turn(), "a");
    dg_turn_remove(&b.work);
}
END_TEST

DG_UNIT(begins_with_the_first_question_and_lasts_a_millisecond,
        all_work_shares_one_time_in_the_order_of_the_queue,
        something_goes_on_even_when_the_time_is_over, work_waits_once_and_can_leave)
