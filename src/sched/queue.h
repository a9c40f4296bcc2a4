/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Who is next: the waiting tickets of one model. Pure bookkeeping, no threads; the scheduler calls
 * it under its lock.
 *
 *     priority      interactive          normal           bulk          by stride
 *     clients        a    b                a                c           by work received
 *     flows          1    1  2             1              1  2  3       in turn
 *
 * Priorities are served by stride: of 21 parts of work that are done while all three wait, about 16
 * are interactive, 4 normal and 1 bulk, so that nothing starves. Within a priority the client that
 * has received the least work is served (start-time fair queueing), however many requests it sends
 * and whatever they ask for; within a client the flows (requests) take turns, one ticket each: a
 * book does not delay a sentence. Work is what dg_ticket_work estimates. */
#ifndef DG_SCHED_QUEUE_H
#define DG_SCHED_QUEUE_H

#include "base/memory/map.h"
#include "sched/ticket.h"

/* The tickets of one client that wait at one priority. */
struct dg_line {
    struct {
        uint64_t client, priority;
    } key;
    struct dg_list flows; /* ring of flows with waiting tickets */
    uint64_t pass;        /* its virtual time: the work it has received; the least is served */
    uint64_t turn;        /* of two with the same, the one that has stood there longer */
    size_t n_tickets;
    size_t at;           /* in the heap, while tickets wait; */
    struct dg_list link; /* else among the idle, until the others have caught up with it */
};

struct dg_queue {
    struct {
        struct dg_line **heap; /* owned; [n] lines with waiting tickets, the next one first */
        size_t n, cap;
        struct dg_list idle; /* lines without */
        size_t n_idle;
        uint64_t now;  /* virtual time of the clients: the pass of the last one served */
        uint64_t pass; /* virtual time of the priority; the least is served */
        size_t n_tickets;
    } at[DG_N_PRIORITIES];
    struct dg_map lines; /* of owned struct dg_line, by key */
    uint64_t n_turns;
    size_t n_tokens; /* source tokens waiting */
};

void dg_queue_init(struct dg_queue *queue);
void dg_queue_deinit(struct dg_queue *queue);

/* Behind the other tickets of its flow. DG_ERR_NOMEM: nothing has changed. */
enum dg_err dg_queue_push(struct dg_queue *queue, struct dg_flow *flow,
                          struct dg_ticket *ticket) DG_MUST_CHECK;

/* The ticket to be served next, of this priority or (with DG_N_PRIORITIES) of any; NULL when none
 * waits. It stays queued. */
struct dg_ticket *dg_queue_peek(struct dg_queue *queue, enum dg_priority lowest);

/* Takes a ticket out: counted as served (the flow goes to the end of its ring), or just removed. */
void dg_queue_serve(struct dg_queue *queue, struct dg_ticket *ticket);
void dg_queue_remove(struct dg_queue *queue, struct dg_ticket *ticket);

size_t dg_queue_len(const struct dg_queue *queue);

#endif
