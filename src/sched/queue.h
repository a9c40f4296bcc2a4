/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The waiting tickets of one model, and which of them is served next. Pure bookkeeping without
 * threads; the scheduler calls it under its lock.
 *
 *     priority      interactive          normal           bulk          by stride
 *     clients        a    b                a                c           by work received
 *     flows          1    1  2             1              1  2  3       in turn
 *
 * Priorities are served by stride scheduling: while all three have tickets waiting, about 16 of 21
 * parts of the work are interactive, 4 normal and 1 bulk, so that none starves. Within a priority,
 * the client that has received the least work is served (start-time fair queueing), however many
 * requests it sends and however large they are. Within a client the flows (requests) take turns,
 * one ticket each, so that a book does not delay a sentence. dg_ticket_work estimates the work. */
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
    uint64_t pass; /* virtual time: the work that the client has received; the line with the least
                      is next */
    uint64_t turn; /* breaks ties of `pass`: the line that has waited longer is next */
    size_t n_tickets;
    size_t at;           /* index in the heap, while tickets wait */
    struct dg_list link; /* in `idle` while none wait, until the others have caught up; or in
                            `passed` */
};

struct dg_queue {
    struct {
        struct dg_line **heap; /* owned; [n] lines with waiting tickets, the next one first */
        size_t n, cap;
        struct dg_list passed; /* lines that were passed over: not in the heap for a while */
        struct dg_list idle;   /* lines without waiting tickets */
        size_t n_idle;
        uint64_t now;  /* virtual time of the clients: the pass of the last one served */
        uint64_t pass; /* virtual time of the priority; the priority with the least is next */
        size_t n_tickets;
    } at[DG_N_PRIORITIES];
    struct dg_map lines; /* owned struct dg_line, by key */
    uint64_t n_turns;
    size_t n_tokens; /* source tokens that wait */
};

void dg_queue_init(struct dg_queue *queue);
void dg_queue_deinit(struct dg_queue *queue);

/* Appends the ticket to its flow. DG_ERR_NOMEM: nothing has changed. */
enum dg_err dg_queue_push(struct dg_queue *queue, struct dg_flow *flow,
                          struct dg_ticket *ticket) DG_MUST_CHECK;

/* Returns the ticket to be served next, of this priority or (with DG_N_PRIORITIES) of any; NULL
 * when none waits. The ticket stays queued. */
struct dg_ticket *dg_queue_peek(struct dg_queue *queue, enum dg_priority lowest);

/* Makes `peek` ignore the tickets of the same client and priority and find the next ones after
 * them, until all tickets that were passed over are called back. Until then, no ticket may be
 * pushed, and no ticket that was passed over may be served or removed. */
void dg_queue_pass_over(struct dg_queue *queue, struct dg_ticket *ticket);
void dg_queue_call_back(struct dg_queue *queue);

/* Both functions take a ticket out of the queue; `serve` also counts its work and moves its flow to
 * the end of the ring. */
void dg_queue_serve(struct dg_queue *queue, struct dg_ticket *ticket);
void dg_queue_remove(struct dg_queue *queue, struct dg_ticket *ticket);

size_t dg_queue_len(const struct dg_queue *queue);

#endif
