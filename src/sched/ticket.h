/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A ticket: one sentence on its way through the scheduler. And a flow: the tickets of one request,
 * which share its priority and take turns with other requests.
 *
 *                  submit                take                      search over
 *      (new) ---------------> QUEUED ------------> RUNNING ---------------------------> ENDED
 *                               |  cancel, deadline   |  cancel (at the next step), deadline ^
 *                               '---------------------'-----------------------------------'
 *
 * Every ticket that was accepted ends exactly once. While it is RUNNING, a worker appends to what
 * was shown; the one who submitted reads along (dg_ticket_shown) when the scheduler says there is
 * news.
 *
 * Threads: the submitter owns the ticket before submit and after its end was delivered; in between
 * it may read only through the functions below. */
#ifndef DG_SCHED_TICKET_H
#define DG_SCHED_TICKET_H

#include "base/memory/err.h"
#include "base/memory/list.h"
#include "decode/opts.h"
#include "decode/reader.h"
#include "decode/search.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_priority {
    DG_PRIORITY_INTERACTIVE, /* somebody is watching */
    DG_PRIORITY_NORMAL,
    DG_PRIORITY_BULK, /* whenever there is time */
    DG_N_PRIORITIES,
};

/* Whose tickets they are; to the scheduler they are all the same. */
enum dg_ticket_kind { DG_TICKET_SENTENCE, DG_TICKET_GENERATION, DG_TICKET_READING };

enum dg_ticket_state { DG_TICKET_NEW, DG_TICKET_QUEUED, DG_TICKET_RUNNING, DG_TICKET_ENDED };

struct dg_line;

/* The tickets of one request that wait. Embedded in the request; nothing to free. */
struct dg_flow {
    enum dg_priority priority;
    uint64_t client; /* who sent it: clients share the work and the room; 0: this process itself,
                      * which may have all the room */
    struct dg_list tickets; /* waiting, in order; guarded by the scheduler */
    struct dg_list link;    /* in the ring of its line while tickets wait */
    struct dg_line *line;   /* the queue's, while tickets wait */
};

/* `flow` must outlive its tickets' waiting. */
void dg_flow_init(struct dg_flow *flow, enum dg_priority priority, uint64_t client);

/* One answer; arrays are owned by the ticket. */
struct dg_ticket_answer {
    int32_t *ids;
    float *logprobs;
    size_t n_ids;
    double logprob, score;
    enum dg_finish finish;
    bool repaired;
    float *alignment; /* [n_ids, n_src] when the options wanted it; else NULL */
};

struct dg_sched_model;

struct dg_ticket {
    /* The submitter's */
    struct dg_sched_model *model; /* borrowed; attached as long as the ticket lives */
    struct dg_search_opts opts;   /* what it points to lives until the end */
    uint64_t deadline_ns;         /* of the scheduler's clock; 0: none */
    atomic_bool is_quiet;         /* only the end is news, not every token; may change on the way */
    void *ctx;
    enum dg_ticket_kind kind;   /* what `ctx` is, where there are several */
    const struct dg_read *read; /* a text to be read, for networks that do that (decode/reader.h);
                                   lives until the end */

    /* Made by dg_ticket_new */
    int32_t *src; /* [n_src] a copy */
    size_t n_src;
    int32_t *shown_ids; /* [shown_cap] */
    float *shown_logprobs;
    size_t shown_cap;

    /* Results, to be read after the end */
    struct dg_ticket_answer *answers; /* [n_answers] owned; NULL when there is none */
    size_t n_answers;
    enum dg_err err; /* OK, CANCELLED, TIMEOUT, NOMEM: why there may be no whole answer */
    uint64_t queued_ns, started_ns, first_ns, ended_ns;

    /* The scheduler's */
    enum dg_ticket_state state; /* guarded by its lock */
    struct dg_flow *flow;
    uint64_t work;       /* as the queue counts it */
    struct dg_list link; /* in its flow while QUEUED, in its worker's list while RUNNING */
    uint32_t handle;     /* decoder's, while RUNNING */
    void *worker;        /* while RUNNING */
    _Atomic size_t n_shown;
    atomic_bool is_noted;    /* news are on their way */
    atomic_bool is_unwanted; /* cancel was asked for */
};

/* A ticket with a copy of `src` and room for what will be shown: at most `target_cap` tokens. NULL:
 * no memory. Freed before it was submitted or after its end was delivered. */
struct dg_ticket *dg_ticket_new(struct dg_sched_model *model, const int32_t *src, size_t n_src,
                                const struct dg_search_opts *opts, size_t target_cap);
void dg_ticket_free(struct dg_ticket *ticket); /* NULL is fine */

/* What it will cost, about: tokens that go through the network, once for each hypothesis. At
 * least 1. */
uint64_t dg_ticket_work(const struct dg_ticket *ticket);

/* How many tokens of the answer are final; their ids and log-probabilities up to there may be read.
 */
static inline size_t dg_ticket_shown(const struct dg_ticket *ticket)
{
    return atomic_load_explicit(&ticket->n_shown, memory_order_acquire);
}

#endif
