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

static void push(struct dg_queue *queue, struct dg_flow *flow, struct dg_ticket *one)
{
    ck_assert_int_eq(dg_queue_push(queue, flow, one), DG_OK);
}

/* A ticket with a wide beam and a long answer. */
static struct dg_ticket *heavy_ticket(size_t i)
{
    struct dg_ticket *one = ticket(i);
    one->n_src = 10;
    one->opts.beam = 16;
    one->opts.min_len = one->shown_cap = 500;
    return one;
}

static struct dg_ticket *light_ticket(size_t i)
{
    struct dg_ticket *one = ticket(i);
    one->n_src = 10;
    one->opts.beam = 1;
    one->shown_cap = 500;
    return one;
}

static struct dg_ticket *serve(struct dg_queue *queue)
{
    struct dg_ticket *next = dg_queue_peek(queue, DG_PRIORITY_BULK);
    dg_queue_serve(queue, next);
    return next;
}

START_TEST(a_newcomer_is_next_however_many_requests_a_client_has)
{
    struct dg_queue queue;
    struct dg_flow flows[90], newcomer;
    dg_queue_init(&queue);
    for (size_t i = 0; i < 90; i++) {
        dg_flow_init(&flows[i], DG_PRIORITY_NORMAL, 1);
        push(&queue, &flows[i], heavy_ticket(i));
    }
    for (size_t i = 0; i < 5; i++)
        ck_assert_ptr_eq(serve(&queue), &tickets[i]);
    dg_flow_init(&newcomer, DG_PRIORITY_NORMAL, 2);
    for (size_t i = 90; i < 100; i++)
        push(&queue, &newcomer, light_ticket(i));
    /* The first client in the queue has no claim yet; then comes as much as one of its tickets is
     * worth. */
    size_t n_heavy = 0;
    for (size_t n_light = 0; n_light < 10;) {
        const struct dg_ticket *next = serve(&queue);
        n_light += next->flow == &newcomer;
        n_heavy += next->flow != &newcomer;
    }
    ck_assert_uint_le(n_heavy, 1);
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(clients_get_equal_work_not_equally_many_tickets)
{
    struct dg_queue queue;
    struct dg_flow flows[2];
    static struct dg_ticket light[20000];
    uint64_t work[2] = {0, 0};
    dg_queue_init(&queue);
    for (size_t i = 0; i < 2; i++)
        dg_flow_init(&flows[i], DG_PRIORITY_NORMAL, 1 + i);
    for (size_t i = 0; i < 50; i++)
        push(&queue, &flows[0], heavy_ticket(i));
    for (size_t i = 0; i < 20000; i++) {
        light[i] = *light_ticket(99);
        dg_list_init(&light[i].link);
        push(&queue, &flows[1], &light[i]);
    }
    while (dg_list_is_empty(&flows[0].tickets) + dg_list_is_empty(&flows[1].tickets) == 0) {
        const struct dg_ticket *next = serve(&queue);
        work[next->flow == &flows[1]] += next->work;
    }
    ck_assert_uint_le(work[0], work[1] + 2 * dg_ticket_work(heavy_ticket(98)));
    ck_assert_uint_le(work[1], work[0] + 2 * dg_ticket_work(heavy_ticket(98)));
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(one_heavy_ticket_after_the_other_gains_nothing)
{
    struct dg_queue queue;
    struct dg_flow heavy, light;
    uint64_t work[2] = {0, 0};
    dg_queue_init(&queue);
    dg_flow_init(&heavy, DG_PRIORITY_NORMAL, 1);
    dg_flow_init(&light, DG_PRIORITY_NORMAL, 2);
    push(&queue, &heavy, heavy_ticket(0));
    for (size_t i = 10; i < 20; i++)
        push(&queue, &light, light_ticket(i));
    /* each comes again as soon as it was served, so that `heavy` has at most one */
    for (int i = 0; i < 10000; i++) {
        struct dg_ticket *next = serve(&queue);
        work[next->flow == &light] += next->work;
        push(&queue, next->flow, next);
    }
    ck_assert_uint_le(work[0], work[1] + 2 * dg_ticket_work(heavy_ticket(98)));
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(lines_of_clients_that_have_left_are_forgotten)
{
    struct dg_queue queue;
    struct dg_flow stays, flow;
    dg_queue_init(&queue);
    dg_flow_init(&stays, DG_PRIORITY_NORMAL, 1);
    push(&queue, &stays, light_ticket(0));
    for (uint64_t client = 2; client < 10000; client++) {
        dg_flow_init(&flow, DG_PRIORITY_NORMAL, client);
        push(&queue, &flow, heavy_ticket(1));
        dg_queue_remove(&queue, &tickets[1]);
        ck_assert_uint_le(queue.lines.len, 2000);
    }
    dg_queue_remove(&queue, &tickets[0]);
    ck_assert_uint_eq(queue.lines.len, 0);
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(any_order_of_coming_and_leaving_serves_the_least_served)
{
    struct dg_queue queue;
    enum { CLIENTS = 40 };
    struct dg_flow flows[CLIENTS];
    uint64_t seed = 7, work[CLIENTS] = {0};
    dg_queue_init(&queue);
    for (size_t i = 0; i < CLIENTS; i++) {
        dg_flow_init(&flows[i], DG_PRIORITY_NORMAL, i + 1);
        push(&queue, &flows[i], light_ticket(i));
    }
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        struct dg_ticket *victim = &tickets[(seed >> 33) % CLIENTS];
        dg_queue_remove(&queue, victim);
        victim->opts.beam = 1 + (int)((seed >> 50) % 16);
        push(&queue, victim->flow, victim);
        struct dg_ticket *next = serve(&queue);
        work[next - tickets] += next->work;
        push(&queue, next->flow, next);
    }
    /* no client is ahead by more than two of the heaviest tickets */
    for (size_t i = 1; i < CLIENTS; i++)
        ck_assert_uint_le(work[i] > work[0] ? work[i] - work[0] : work[0] - work[i],
                          2 * (11 + 16 * 10));
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(flows_take_turns_and_keep_their_order)
{
    struct dg_queue queue;
    struct dg_flow book, sentence;
    dg_queue_init(&queue);
    dg_flow_init(&book, DG_PRIORITY_NORMAL, 0);
    dg_flow_init(&sentence, DG_PRIORITY_NORMAL, 0);
    for (size_t i = 0; i < 50; i++)
        push(&queue, &book, ticket(i));
    push(&queue, &sentence, ticket(60));
    static const size_t expected[] = {0, 60, 1, 2, 3};
    for (size_t i = 0; i < 5; i++) {
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        ck_assert_ptr_eq(next, &tickets[expected[i]]);
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_eq(dg_queue_len(&queue), 46);
    dg_queue_deinit(&queue);
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
        dg_flow_init(&flows[p], (enum dg_priority)p, 0);
    for (int i = 0; i < 2100; i++) {
        for (int p = 0; p < DG_N_PRIORITIES; p++)
            while (queue.at[p].n_tickets < 3 && n_pushed[p] < 2000) {
                struct dg_ticket *one = &many[p][n_pushed[p]++];
                dg_list_init(&one->link);
                push(&queue, &flows[p], one);
            }
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        n_served[next->flow->priority]++;
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_ge(n_served[DG_PRIORITY_INTERACTIVE], 1590);
    ck_assert_uint_ge(n_served[DG_PRIORITY_NORMAL], 390);
    ck_assert_uint_ge(n_served[DG_PRIORITY_BULK], 95);
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(an_idle_priority_does_not_hoard_turns)
{
    struct dg_queue queue;
    struct dg_flow bulk, interactive;
    dg_queue_init(&queue);
    dg_flow_init(&bulk, DG_PRIORITY_BULK, 0);
    dg_flow_init(&interactive, DG_PRIORITY_INTERACTIVE, 0);
    for (size_t i = 0; i < 50; i++)
        push(&queue, &bulk, light_ticket(i));
    for (size_t i = 0; i < 20; i++)
        dg_queue_serve(&queue, dg_queue_peek(&queue, DG_PRIORITY_BULK));
    for (size_t i = 50; i < 100; i++)
        push(&queue, &interactive, light_ticket(i));
    size_t n_bulk = 0;
    for (size_t i = 0; i < 34; i++) {
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_BULK);
        n_bulk += next->flow == &bulk;
        dg_queue_serve(&queue, next);
    }
    ck_assert_uint_ge(n_bulk, 1);
    ck_assert_uint_le(n_bulk, 3);
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(lower_priorities_can_be_left_waiting)
{
    struct dg_queue queue;
    struct dg_flow bulk;
    dg_queue_init(&queue);
    dg_flow_init(&bulk, DG_PRIORITY_BULK, 0);
    push(&queue, &bulk, ticket(0));
    ck_assert_ptr_null(dg_queue_peek(&queue, DG_PRIORITY_NORMAL));
    ck_assert_ptr_nonnull(dg_queue_peek(&queue, DG_PRIORITY_BULK));
    dg_queue_remove(&queue, &tickets[0]);
    ck_assert_ptr_null(dg_queue_peek(&queue, DG_PRIORITY_BULK));
    ck_assert_uint_eq(queue.n_tokens, 0);
    dg_queue_deinit(&queue);
}
END_TEST

START_TEST(clients_that_are_passed_over_keep_their_places)
{
    struct dg_queue queue;
    struct dg_flow flows[3], low;
    dg_queue_init(&queue);
    for (size_t i = 0; i < 3; i++) {
        dg_flow_init(&flows[i], DG_PRIORITY_NORMAL, 1 + i);
        push(&queue, &flows[i], ticket(2 * i));
        push(&queue, &flows[i], ticket(2 * i + 1));
    }
    dg_flow_init(&low, DG_PRIORITY_BULK, 4);
    push(&queue, &low, ticket(6));
    dg_queue_pass_over(&queue, dg_queue_peek(&queue, DG_PRIORITY_BULK));
    ck_assert_ptr_eq(serve(&queue), &tickets[2]);
    dg_queue_pass_over(&queue, &tickets[3]);
    dg_queue_pass_over(&queue, &tickets[4]);
    ck_assert_ptr_null(dg_queue_peek(&queue, DG_PRIORITY_NORMAL));
    ck_assert_ptr_eq(dg_queue_peek(&queue, DG_PRIORITY_BULK), &tickets[6]);
    ck_assert_uint_eq(dg_queue_len(&queue), 6);
    dg_queue_call_back(&queue);
    static const size_t expected[] = {0, 4, 1, 3, 5}; /* the second of them has had its turn */
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct dg_ticket *next = dg_queue_peek(&queue, DG_PRIORITY_NORMAL);
        ck_assert_ptr_eq(next, &tickets[expected[i]]);
        dg_queue_serve(&queue, next);
    }
    dg_queue_remove(&queue, &tickets[6]);
    dg_queue_deinit(&queue);
}
END_TEST

DG_UNIT(a_newcomer_is_next_however_many_requests_a_client_has,
        clients_get_equal_work_not_equally_many_tickets,
        one_heavy_ticket_after_the_other_gains_nothing,
        lines_of_clients_that_have_left_are_forgotten,
        any_order_of_coming_and_leaving_serves_the_least_served,
        flows_take_turns_and_keep_their_order, priorities_share_by_weight_and_none_starves,
        an_idle_priority_does_not_hoard_turns, clients_that_are_passed_over_keep_their_places,
        lower_priorities_can_be_left_waiting)
