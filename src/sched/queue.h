/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who is next: the waiting tickets of one model. Pure bookkeeping, no threads; the scheduler calls it
 * under its lock.
 *
 * Priorities are served by stride: of every 21 tickets taken while all three wait, about 16 are
 * interactive, 4 normal and 1 bulk, so that nothing starves. Within a priority the flows (requests)
 * take turns, one ticket each: a book does not delay a sentence. */
#ifndef DG_SCHED_QUEUE_H
#define DG_SCHED_QUEUE_H

#include "sched/ticket.h"

struct dg_queue {
    struct dg_list flows[DG_N_PRIORITIES]; /* rings of flows with waiting tickets */
    uint64_t pass[DG_N_PRIORITIES];        /* virtual time of each priority; the least is served */
    size_t n_tickets[DG_N_PRIORITIES];
    size_t n_tokens; /* source tokens waiting */
};

void dg_queue_init(struct dg_queue *queue);

/* Behind the other tickets of its flow. */
void dg_queue_push(struct dg_queue *queue, struct dg_flow *flow, struct dg_ticket *ticket);

/* The ticket to be served next, of this priority or (with DG_N_PRIORITIES) of any; NULL when none waits.
 * It stays queued. */
struct dg_ticket *dg_queue_peek(struct dg_queue *queue, enum dg_priority lowest);

/* Takes a ticket out: counted as served (the flow goes to the end of its ring), or just removed. */
void dg_queue_serve(struct dg_queue *queue, struct dg_ticket *ticket);
void dg_queue_remove(struct dg_queue *queue, struct dg_ticket *ticket);

size_t dg_queue_len(const struct dg_queue *queue);

#endif
