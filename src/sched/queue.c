/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Stride scheduling (Waldspurger and Weihl, 1995) between priorities, a ring of flows within each. A
 * priority that was idle comes back at the present virtual time, so it cannot hoard turns. */
#include "sched/queue.h"

static const uint64_t strides[DG_N_PRIORITIES] = {1, 4, 16};

void dg_flow_init(struct dg_flow *flow, enum dg_priority priority)
{
    *flow = (struct dg_flow){.priority = priority};
    dg_list_init(&flow->tickets);
    dg_list_init(&flow->link);
}

void dg_queue_init(struct dg_queue *queue)
{
    *queue = (struct dg_queue){.n_tokens = 0};
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        dg_list_init(&queue->flows[p]);
}

size_t dg_queue_len(const struct dg_queue *queue)
{
    size_t n = 0;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        n += queue->n_tickets[p];
    return n;
}

/* The present virtual time: the least pass of those who wait. */
static uint64_t now(const struct dg_queue *queue)
{
    uint64_t least = 0;
    bool is_any = false;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        if (queue->n_tickets[p] > 0 && (!is_any || queue->pass[p] < least)) {
            least = queue->pass[p];
            is_any = true;
        }
    if (is_any)
        return least;
    for (int p = 0; p < DG_N_PRIORITIES; p++)
        if (queue->pass[p] > least)
            least = queue->pass[p];
    return least;
}

void dg_queue_push(struct dg_queue *queue, struct dg_flow *flow, struct dg_ticket *ticket)
{
    enum dg_priority p = flow->priority;
    if (queue->n_tickets[p] == 0) {
        uint64_t present = now(queue);
        if (queue->pass[p] < present)
            queue->pass[p] = present;
    }
    if (dg_list_is_empty(&flow->tickets))
        dg_list_link_last(&queue->flows[p], &flow->link);
    dg_list_link_last(&flow->tickets, &ticket->link);
    ticket->flow = flow;
    queue->n_tickets[p]++;
    queue->n_tokens += ticket->n_src;
}

struct dg_ticket *dg_queue_peek(struct dg_queue *queue, enum dg_priority lowest)
{
    int best = -1;
    for (int p = 0; p < DG_N_PRIORITIES && p <= (int)lowest; p++)
        if (queue->n_tickets[p] > 0 && (best < 0 || queue->pass[p] < queue->pass[best]))
            best = p;
    if (best < 0)
        return NULL;
    struct dg_flow *flow = DG_LIST_ITEM(queue->flows[best].next, struct dg_flow, link);
    return DG_LIST_ITEM(flow->tickets.next, struct dg_ticket, link);
}

void dg_queue_remove(struct dg_queue *queue, struct dg_ticket *ticket)
{
    struct dg_flow *flow = ticket->flow;
    dg_list_unlink(&ticket->link);
    queue->n_tickets[flow->priority]--;
    queue->n_tokens -= ticket->n_src;
    if (dg_list_is_empty(&flow->tickets))
        dg_list_unlink(&flow->link);
}

void dg_queue_serve(struct dg_queue *queue, struct dg_ticket *ticket)
{
    struct dg_flow *flow = ticket->flow;
    queue->pass[flow->priority] += strides[flow->priority];
    dg_queue_remove(queue, ticket);
    if (!dg_list_is_empty(&flow->tickets)) {
        dg_list_unlink(&flow->link);
        dg_list_link_last(&queue->flows[flow->priority], &flow->link);
    }
}
