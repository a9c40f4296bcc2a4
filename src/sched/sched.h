/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The scheduler: a few workers translate many users' sentences by continuous batching.
 *
 *     struct dg_sched *sched;
 *     err = dg_sched_new(&(struct dg_sched_opts){.n_workers = 2, .max_tickets = 10000,
 *                                                .wake = wake_the_loop, .wake_arg = &async},
 *                        &error, &sched);
 *     err = dg_sched_attach(sched, net, &limits, &error, &model);      a decoder for every worker
 *
 *     ticket = dg_ticket_new(model, ids, n_ids, &opts, cap);
 *     err = dg_sched_submit(sched, &flow, ticket, &retry_ms);
 *     ...                 DG_ERR_BUSY: the queue or the client's share is full; try again later
 *     on wake-up, on the one consuming thread:
 *         dg_sched_listen(sched);
 *         while (dg_sched_next(sched, &ticket, &is_over)) {
 *             n = dg_ticket_shown(ticket);                            tokens up to here are final
 *             if (is_over) ... answers ... dg_ticket_free(ticket);
 *         }
 *
 * Clients share the queue's room and the workers' time; a flow names its client. What a client has
 * waiting, counted in tickets and in work, may be at most as much as is still free: a single client
 * gets half of the room, two get a third each, and some room is always left for one more client.
 * This limit does not apply to running tickets: one client alone may fill all workers.
 *
 * A worker takes work as soon as it has room, in the order of queue.h, as one encoder batch. Every
 * step then decodes the worker's live rows together, or takes turns among them when they are many
 * (step_rows of decoder.h). Finished rows leave, and new ones replace them at the next step. A turn
 * encodes at most `encode_busy` new tokens, so that neither streams nor newcomers stall. If the
 * worker's decoder keeps a client out for now, the worker passes that client over and takes other
 * clients' tickets. A watched ticket that has shown nothing yet goes first. Sentences in an encoder
 * batch lie end to end without padding, so their lengths need not match.
 *
 * With `n_helpers`, the load decides what workers do: while tickets wait, each worker takes a batch
 * of its own; when none waits, those that have nothing to do take part in the matrix products of a
 * busy one, the leader. When a ticket is submitted, the helpers leave the leader at once. Helpers
 * change no bit of any answer.
 *
 * On a machine with several memory nodes (`nodes_root`), each worker is bound to the CPUs of one.
 *
 * Threads: any thread may submit and cancel; one thread calls next and listen; the workers are the
 * scheduler's own. With `manual` there are no worker threads: the caller runs dg_sched_turn, in
 * virtual time if it likes (as tests do). */
#ifndef DG_SCHED_SCHED_H
#define DG_SCHED_SCHED_H

#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "decode/decoder.h"
#include "sched/ticket.h"

enum { DG_SCHED_MODELS_MAX = 256, DG_SCHED_WORKERS_MAX = 256, DG_HISTOGRAM = 12 };

struct dg_sched_opts {
    size_t n_workers;   /* 1 to DG_SCHED_WORKERS_MAX */
    size_t max_tickets; /* the most tickets, waiting and running; bulk tickets may fill three
                           quarters */
    size_t max_tokens;  /* the most source tokens that wait; 0: no limit */
    /* source tokens that one turn may encode, unless client 0 is alone; 0: 256 */
    size_t encode_busy;
    uint64_t batch_delay_ns; /* how long an idle worker waits for more tickets; 0: not at all */
    bool pins;               /* each worker stays on a core of its own (dg_cpu_pin) */
    const char *nodes_root;  /* where dg_nodes_new finds the memory nodes on which the workers are
                                distributed; NULL: they run anywhere */
    size_t n_helpers;  /* idle workers that may take part in another's large products; 0: none */
    uint64_t stall_ns; /* a worker whose turn takes this long has stalled; 0: 10 s */
    /* For tests of stalls: worker `index` calls this at the start of each turn with work. The
     * function may sleep; when it returns false, the thread ends as if it had died. */
    bool (*on_turn)(void *arg, size_t index);
    void *on_turn_arg;
    bool manual;
    struct dg_clock *clock;  /* borrowed; NULL: the machine's */
    void (*wake)(void *arg); /* workers call this when there is news; may be NULL */
    void *wake_arg;
};

/* Counters since the start, for operators. */
struct dg_sched_stats {
    uint64_t n_accepted, n_refused, n_done, n_cancelled, n_timed_out, n_failed;
    uint64_t n_tokens_in, n_tokens_out;
    uint64_t n_turns, n_steps, n_rows; /* rows / steps is the mean batch */
    uint64_t n_shared_steps;           /* steps whose products idle workers might share */
    uint64_t n_wake_ups;               /* wake-ups of sleeping workers */
    uint64_t n_locks;                  /* how often turns that had work took the lock */
    uint64_t n_news; /* what workers told the consumer: at most two for each step, however many
                        tickets it moved */
    uint64_t n_encodes, n_encoded; /* encoder batches, sentences in them */
    uint64_t n_encoded_tokens;     /* source tokens in them */
    uint64_t step_ns;              /* time of all steps */
    uint64_t token_ns; /* sum over finished tickets of the mean time per token after the first */
    uint64_t wait_ns, first_ns, total_ns;    /* sums over finished tickets of the time in the queue,
                                                until the first token, and until the end */
    uint64_t batch_rows[DG_HISTOGRAM];       /* steps by rows: 1, 2, 3-4, 5-8, ... */
    uint64_t wait_ms[DG_HISTOGRAM];          /* tickets by queue time: <1 ms, <2, <4, ... */
    uint64_t first_ms[DG_HISTOGRAM];         /* tickets by time to first token */
    uint64_t token_quarter_ms[DG_HISTOGRAM]; /* tickets by time of each token after the first: <0.25
                                                ms, <0.5, ... */
    uint64_t step_quarter_ms[DG_HISTOGRAM];  /* steps by their time */
    uint64_t encode_sentences[DG_HISTOGRAM]; /* encoder batches by sentences: 1, 2, 3-4, ... */
    uint64_t encode_eights[DG_HISTOGRAM]; /* encoder batches by source tokens: up to 8, 16, 32, ...;
                                             none of these is padding */
    /* The present state. */
    size_t n_waiting, n_running, n_tokens_waiting;
    size_t n_max;                /* the most tickets, waiting and running together */
    uint64_t stalled_ns;         /* how long the longest of the present turns has lasted */
    size_t n_workers, n_stalled; /* n_stalled is part of n_workers */
    size_t n_nodes;              /* memory nodes that the workers are bound to; 1: they are not */
};

struct dg_sched;
struct dg_sched_model;

enum dg_err dg_sched_new(const struct dg_sched_opts *opts, struct dg_error *error,
                         struct dg_sched **sched) DG_MUST_CHECK;

/* Stops the workers after their present turn. Tickets that have not ended are cancelled and never
 * delivered, so a caller that needs them must end or drain them first. NULL is fine. */
void dg_sched_free(struct dg_sched *sched);

size_t dg_sched_n_workers(const struct dg_sched *sched);

/* Returns the memory nodes with workers, borrowed until free; NULL: the workers run anywhere. */
const struct dg_nodes *dg_sched_nodes(const struct dg_sched *sched);

/* Makes `net` available to all workers: one decoder with these limits for every worker, in the
 * memory of its node, for the copy of `net` that lies there. `net` is borrowed until detach. */
enum dg_err dg_sched_attach(struct dg_sched *sched, const struct dg_net *net,
                            const struct dg_decoder_limits *limits, struct dg_error *error,
                            struct dg_sched_model **model) DG_MUST_CHECK;

/* Adds this model's counts to `counts` as well. `counts` must outlive the model; several models may
 * share it. */
void dg_sched_count_into(struct dg_sched_model *model, struct dg_sched_stats *counts);

/* Mirror of attach. All tickets of the model must have ended. Waits for workers that are using the
 * model at this moment. */
void dg_sched_detach(struct dg_sched *sched, struct dg_sched_model *model);

/* Refuses, with a sentence, a source or options that the model's decoders could never take. Call it
 * before making a ticket. */
enum dg_err dg_sched_check(const struct dg_sched_model *model, const int32_t *src, size_t n_src,
                           const struct dg_search_opts *opts, struct dg_error *error) DG_MUST_CHECK;

/* Queues the ticket after the others of its flow. DG_ERR_BUSY: there is no room; *retry_ms (may be
 * NULL) estimates from the measured rate when there will be. DG_ERR_CLOSED: the scheduler is
 * stopping. On failure the caller keeps the ticket. */
enum dg_err dg_sched_submit(struct dg_sched *sched, struct dg_flow *flow, struct dg_ticket *ticket,
                            uint64_t *retry_ms) DG_MUST_CHECK;

/* Requests the end of an accepted ticket, which dg_sched_next delivers as usual. */
void dg_sched_cancel(struct dg_sched *sched, struct dg_ticket *ticket);

/* Returns news: a ticket that shows more tokens or (*is_over) has ended. The end is delivered
 * exactly once, as the ticket's last news. */
bool dg_sched_next(struct dg_sched *sched, struct dg_ticket **ticket, bool *is_over);
void dg_sched_listen(struct dg_sched *sched);

/* Runs one turn of a worker; returns false when the worker found nothing to do. `manual` only. */
bool dg_sched_turn(struct dg_sched *sched, size_t worker);

/* Copies `counts`, as given to dg_sched_count_into, consistently at one moment. */
void dg_sched_read_counts(struct dg_sched *sched, const struct dg_sched_stats *counts,
                          struct dg_sched_stats *copy);

void dg_sched_read_stats(struct dg_sched *sched, struct dg_sched_stats *stats);

#endif
