/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "sched/queue.h"
#include "unit.h"

static struct dg_ticket tickets[100];

static struct dg_ticket *ticket(size_t i)
{
    tickets[i] = (struct dg_ticket){.n_src = i + 1};
    dg_list_init(&tickets[i].link);
    return &tickets[i];
}

START_TEST(flows_take_turns_and_keep_their_order)
{
    struct dg_queue queue;
    struct dg_flow book, sentence;
    dg_queue_init(&queue);
    dg_flow_init(&book, DG_PRIORITY_NORMAL);
    dg_flow_init(&sentence, DG_PRIORITY_NORMAL);
    for (size_t i = 0; i < 50; i++)
        dg_queue_push(&queue, &book, ticket(i));
    dg_queue_push(&queue, &sentence, ticket(60));
    static const size_t expected[] = {0, 60, 1, 2, 3};
    for (size_t i = 0; i < 5; i++) {
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        ck_assert_ptr_eq(next, &tickets[expected[i]]);
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_eq(dg_queue_len(&queue), 46);
}
END_TEST

START_TEST(priorities_share_by_weight_and_none_starves)
{
    struct dg_queue queue;
    struct dg_flow flows[DG_N_PRIORITIES];
    static struct dg_ticket many[DG_N_PRIORITIES][2000];
    size_t n_pushed[DG_N_PRIORITIES] = {0}, n_served[DG_N_PRIORITIES] = {0};
    dg_queue_init(&queue);
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        dg_flow_init(&flows[p], (enum dg_priority)p);
    for (int i = 0; i < 2100; i++) {
        for (int p = 0; p < DG_N_PRIORITIES; p++)
            while (queue.n_tickets[p] < 3 && n_pushed[p] < 2000) {
                struct dg_ticket *one = &many[p][n_pushed[p]++];
                dg_list_init(&one->link);
                dg_queue_push(&queue, &flows[p], one);
            }
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        n_served[next->flow->priority]++;
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_ge(n_served[DG_PRIORITY_INTERACTIVE], 1590);
    ck_assert_uint_ge(n_served[DG_PRIORITY_NORMAL], 390);
    ck_assert_uint_ge(n_served[DG_PRIORITY_BULK], 95);
}
END_TEST

START_TEST(an_idle_priority_does_not_hoard_turns)
{
    struct dg_queue queue;
    struct dg_flow bulk, interactive;
    dg_queue_init(&queue);
    dg_flow_init(&bulk, DG_PRIORITY_BULK);
    dg_flow_init(&interactive, DG_PRIORITY_INTERACTIVE);
    for (size_t i = 0; i < 50; i++)
        dg_queue_push(&queue, &bulk, ticket(i));
    for (size_t i = 0; i < 20; i++)
        dg_queue_serve(&queue, dg_queue_peek(&queue, DG_PRIORITY_BULK));
    for (size_t i = 50; i < 100; i++)
        dg_queue_push(&queue, &interactive, ticket(i));
    size_t n_bulk = 0;
    for (size_t i = 0; i < 34; i++) {
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        n_bulk += next->flow == &bulk;
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_ge(n_bulk, 1);
    ck_assert_uint_le(n_bulk, 3);
}
END_TEST

START_TEST(lower_priorities_can_be_left_waiting)
{
    struct dg_queue queue;
    struct dg_flow bulk;
    dg_queue_init(&queue);
    dg_flow_init(&bulk, DG_PRIORITY_BULK);
    dg_queue_push(&queue, &bulk, ticket(0));
    ck_assert_ptr_null(dg_queue_peek(&queue, DG_PRIORITY_NORMAL));
    ck_assert_ptr_nonnull(dg_queue_peek(&queue, DG_PRIORITY_BULK));
    dg_queue_remove(&queue, &tickets[0]);
    ck_assert_ptr_null(dg_queue_peek(&queue, DG_PRIORITY_BULK));
    ck_assert_uint_eq(queue.n_tokens, 0);
}
END_TEST

DG_UNIT(flows_take_turns_and_keep_their_order, priorities_share_by_weight_and_none_starves,
        an_idle_priority_does_not_hoard_turns, lower_priorities_can_be_left_waiting)
