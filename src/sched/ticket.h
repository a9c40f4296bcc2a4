/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A ticket is one sentence on its way through the scheduler. A flow is the tickets of one request,
 * which share its priority and take turns with other requests.
 *
 *                  submit                take                      search over
 *      (new) ---------------> QUEUED ------------> RUNNING ---------------------------> ENDED
 *                               |  cancel, deadline   |  cancel (at the next step), deadline ^
 *                               '---------------------'-----------------------------------'
 *
 * Every accepted ticket ends exactly once. While it is RUNNING, a worker appends to its shown
 * tokens, and the submitter reads them (dg_ticket_shown) when the scheduler has news.
 *
 * Threads: the submitter owns the ticket before submit and again after its end was delivered; in
 * between, the submitter may read the ticket only through the functions below. */
#ifndef DG_SCHED_TICKET_H
#define DG_SCHED_TICKET_H

#include "base/memory/error.h"
#include "base/memory/list.h"
#include "decode/search_opts.h"
#include "decode/analyser.h"
#include "decode/search.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_priority {
    DG_PRIORITY_INTERACTIVE, /* somebody is watching */
    DG_PRIORITY_NORMAL,
    DG_PRIORITY_BULK, /* runs when there is time */
    DG_N_PRIORITIES,
};

/* What a ticket is for. The scheduler treats all kinds alike. */
enum dg_ticket_kind { DG_TICKET_SENTENCE, DG_TICKET_GENERATION, DG_TICKET_READING };

enum dg_ticket_state { DG_TICKET_NEW, DG_TICKET_QUEUED, DG_TICKET_RUNNING, DG_TICKET_ENDED };

struct dg_line;

/* The waiting tickets of one request. Embedded in the request; nothing to free. */
struct dg_flow {
    enum dg_priority priority;
    uint64_t client; /* The client that sent the request. Clients share work and room; 0: this
                        process itself, which may use all the room. */
    struct dg_list tickets; /* waiting tickets in order; guarded by the scheduler */
    struct dg_list link;    /* linked in the ring of its line while tickets wait */
    struct dg_line *line;   /* owned by the queue; set while tickets wait */
};

/* Begins a flow, which must live as long as its tickets wait. */
void dg_flow_init(struct dg_flow *flow, enum dg_priority priority, uint64_t client);

/* One answer; the ticket owns the arrays. */
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
    /* Set by the submitter. */
    struct dg_sched_model *model; /* borrowed; attached as long as the ticket lives */
    struct dg_search_opts opts;   /* what this points to must live until the end of the ticket */
    uint64_t deadline_ns;         /* by the scheduler's clock; 0: no deadline */
    atomic_bool is_quiet; /* reports news only at the end instead of for every token; may change at
                             any time */
    void *ctx;
    enum dg_ticket_kind kind;       /* says what `ctx` points to */
    const struct dg_analysis *read; /* What to read from the text, for networks that read
                                   (decode/analyser.h); must live until the end of the ticket. */

    /* Made by dg_ticket_new. */
    int32_t *src; /* [n_src] a copy */
    size_t n_src;
    int32_t *shown_ids; /* [shown_cap] */
    float *shown_logprobs;
    size_t shown_cap;

    /* Results, valid after the end */
    struct dg_ticket_answer *answers; /* [n_answers] owned; NULL when there is none */
    size_t n_answers;
    /* DG_OK; or CANCELLED, TIMEOUT, NOMEM: the answer may be missing or incomplete */
    enum dg_err err;
    uint64_t queued_ns, started_ns, first_ns, ended_ns;

    /* Used by the scheduler. */
    enum dg_ticket_state state; /* guarded by its lock */
    struct dg_flow *flow;
    uint64_t work;       /* its work as the queue counts it */
    struct dg_list link; /* linked in the flow while QUEUED, in the worker's list while RUNNING */
    uint32_t handle;     /* the handle in the decoder, while RUNNING */
    void *worker;        /* set while RUNNING */
    atomic_bool is_unwanted; /* dg_sched_cancel was called */

    /* What the worker and the consumer both use for every token has a cache line of its own; the
     * worker alone reads the lines above at each step. */
    alignas(64) _Atomic size_t n_shown;
    /* in the chain of tickets that show more tokens, and in the chain of those that ended */
    struct dg_ticket *next_told[2];
    atomic_bool is_noted; /* a note about its tokens is in the scheduler's queue */
};

/* Makes a ticket with a copy of `src` and room to show `target_cap` tokens. NULL: no memory. The
 * ticket may be freed only before it is submitted or after its end was delivered. */
struct dg_ticket *dg_ticket_new(struct dg_sched_model *model, const int32_t *src, size_t n_src,
                                const struct dg_search_opts *opts, size_t target_cap);
void dg_ticket_free(struct dg_ticket *ticket); /* NULL is fine */

/* Estimates the cost of a ticket: the tokens that go through the network, counted once per
 * hypothesis. At least 1. */
uint64_t dg_ticket_work(const struct dg_ticket *ticket);

/* Returns the number of tokens of the answer that are final; that many ids and log-probabilities
 * may be read. */
static inline size_t dg_ticket_shown(const struct dg_ticket *ticket)
{
    return atomic_load_explicit(&ticket->n_shown, memory_order_acquire);
}

#endif
