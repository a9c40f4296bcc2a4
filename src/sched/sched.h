/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The scheduler: many users' sentences, a few workers, continuous batching.
 *
 *     struct dg_sched *sched;
 *     err = dg_sched_new(&(struct dg_sched_opts){.n_workers = 2, .max_tickets = 10000,
 *                                                .wake = wake_the_loop, .wake_arg = &async},
 *                        &error, &sched);
 *     err = dg_sched_attach(sched, net, &limits, &error, &model);      a decoder for every worker
 *
 *     ticket = dg_ticket_new(model, ids, n_ids, &opts, cap);
 *     err = dg_sched_submit(sched, &flow, ticket, &retry_ms);        DG_ERR_BUSY: full, or the
 * client's share is; try again later
 *     ...
 *     on wake-up, on the one consuming thread:
 *         dg_sched_listen(sched);
 *         while (dg_sched_next(sched, &ticket, &is_over)) {
 *             n = dg_ticket_shown(ticket);                            tokens up to here are final
 *             if (is_over) ... answers ... dg_ticket_free(ticket);
 *         }
 *
 * Clients (the flows say whose they are) share work and room. What a client has waiting is at most
 * as much as is still free, in tickets and in work: alone it has half of the room, two have a third
 * each, and there is always a part left for one more. Slots of the workers are nobody's: one client
 * alone may have all.
 *
 * A worker that can take work takes it at once, in the order of queue.h, as one encoder batch;
 * every step then decodes its live rows together, in turn when they are many (step_rows of
 * decoder.h); finished rows leave and are replaced at the next step. While rows are live, a turn
 * encodes only so many new tokens that the streams do not stall (`encode_busy`). What is watched
 * and has shown nothing yet goes first. Encoder batches lie end to end without padding, so lengths
 * need not be matched.
 *
 * With `n_helpers`, workers that have nothing to do take part in the products of one that has: the
 * leader, who is the first that has work and remains it until it has none. Whatever is submitted
 * calls them back from that. Not a bit of any answer is different.
 *
 * Threads: submit and cancel from any; next and listen from one; workers are the scheduler's own.
 * With `manual` there are none: the caller runs dg_sched_turn, in virtual time if it likes (tests
 * do). */
#ifndef DG_SCHED_SCHED_H
#define DG_SCHED_SCHED_H

#include "base/memory/clock.h"
#include "base/memory/err.h"
#include "base/memory/error.h"
#include "decode/decoder.h"
#include "sched/ticket.h"

enum { DG_SCHED_MODELS_MAX = 256, DG_SCHED_WORKERS_MAX = 256, DG_HISTOGRAM = 12 };

struct dg_sched_opts {
    size_t n_workers;        /* 1 to DG_SCHED_WORKERS_MAX */
    size_t max_tickets;      /* waiting and running together; bulk ones have three quarters of it */
    size_t max_tokens;       /* source tokens waiting; 0: no bound of its own */
    size_t encode_busy;      /* source tokens that one turn may encode beside live rows; 0: 256 */
    uint64_t batch_delay_ns; /* how long an idle worker waits for company; 0: never */
    bool pins;               /* each worker stays on a core of its own (dg_cpu_pin) */
    size_t n_helpers; /* workers that take part in another's large products while they have no work;
                         0: none */
    uint64_t stall_ns; /* a worker that is at one turn for so long has stalled; 0: 10 s */
    /* For tests of what follows: called by worker `index` at the start of each turn with work. It
     * may sleep, and false ends the thread as if it had died. */
    bool (*on_turn)(void *arg, size_t index);
    void *on_turn_arg;
    bool manual;
    struct dg_clock *clock;  /* borrowed; NULL: the machine's */
    void (*wake)(void *arg); /* called by workers when there is news; may be NULL */
    void *wake_arg;
};

/* Counters since the start, for operators. */
struct dg_sched_stats {
    uint64_t n_accepted, n_refused, n_done, n_cancelled, n_timed_out, n_failed;
    uint64_t n_tokens_in, n_tokens_out;
    uint64_t n_turns, n_steps, n_rows; /* rows / steps: mean batch */
    uint64_t n_encodes, n_encoded;     /* encoder batches, sentences in them */
    uint64_t n_encoded_tokens;         /* source tokens in them */
    uint64_t step_ns;                  /* time of all steps */
    uint64_t token_ns; /* sum over done tickets: time of each token after the first */
    uint64_t wait_ns, first_ns, total_ns; /* sums over done tickets: queue, to first token, to the
                                             end */
    uint64_t batch_rows[DG_HISTOGRAM];    /* steps by rows: 1, 2, 3-4, 5-8, ... */
    uint64_t wait_ms[DG_HISTOGRAM];       /* tickets by queue time: <1 ms, <2, <4, ... */
    uint64_t first_ms[DG_HISTOGRAM];      /* tickets by time to first token */
    uint64_t token_quarter_ms[DG_HISTOGRAM]; /* tickets by time of each token after the first: <0.25
                                                ms, <0.5, ... */
    uint64_t step_quarter_ms[DG_HISTOGRAM];  /* steps by their time */
    uint64_t encode_sentences[DG_HISTOGRAM]; /* encoder batches by sentences: 1, 2, 3-4, ... */
    uint64_t encode_eights[DG_HISTOGRAM];    /* encoder batches by source tokens: to 8, 16, 32, ...;
                                              * they lie end to    end, so that all are real: no
                                              * padding    is computed */
    /* Now */
    size_t n_waiting, n_running, n_tokens_waiting;
    size_t n_max;                /* waiting and running together */
    uint64_t stalled_ns;         /* longest time that a worker has been in its present turn */
    size_t n_workers, n_stalled; /* of them */
};

struct dg_sched;
struct dg_sched_model;

enum dg_err dg_sched_new(const struct dg_sched_opts *opts, struct dg_error *error,
                         struct dg_sched **sched) DG_MUST_CHECK;

/* Stops the workers after their present turn. Tickets that have not ended are cancelled and
 * delivered by no one: end or drain first if that matters. NULL is fine. */
void dg_sched_free(struct dg_sched *sched);

size_t dg_sched_n_workers(const struct dg_sched *sched);

/* Makes `net` servable: one decoder with these limits for every worker. `net` is borrowed until
 * detach. */
enum dg_err dg_sched_attach(struct dg_sched *sched, const struct dg_net *net,
                            const struct dg_decoder_limits *limits, struct dg_error *error,
                            struct dg_sched_model **model) DG_MUST_CHECK;

/* Counts of this model alone go to `counts` as well, which outlives it; several models may share
 * it. */
void dg_sched_count_into(struct dg_sched_model *model, struct dg_sched_stats *counts);

/* Mirror of attach. All its tickets must have ended. Waits for workers that are just looking at it.
 */
void dg_sched_detach(struct dg_sched *sched, struct dg_sched_model *model);

/* A decoder's view of the model's limits, for checks before a ticket is made. */
enum dg_err dg_sched_check(const struct dg_sched_model *model, const int32_t *src, size_t n_src,
                           const struct dg_search_opts *opts, struct dg_error *error) DG_MUST_CHECK;

/* Queues the ticket behind the others of its flow. DG_ERR_BUSY: full; *retry_ms (may be NULL) is
 * when there should be room, from the measured rate. DG_ERR_CLOSED: stopping. On failure the ticket
 * stays the caller's. */
enum dg_err dg_sched_submit(struct dg_sched *sched, struct dg_flow *flow, struct dg_ticket *ticket,
                            uint64_t *retry_ms) DG_MUST_CHECK;

/* Asks for the end of an accepted ticket; it comes through dg_sched_next as always. */
void dg_sched_cancel(struct dg_sched *sched, struct dg_ticket *ticket);

/* News: a ticket with more shown, or (is_over) at its end, delivered exactly once, as its last. */
bool dg_sched_next(struct dg_sched *sched, struct dg_ticket **ticket, bool *is_over);
void dg_sched_listen(struct dg_sched *sched);

/* One turn of a worker; false when it found nothing to do. `manual` only. */
bool dg_sched_turn(struct dg_sched *sched, size_t worker);

/* A copy of what dg_sched_count_into was given, whole at one moment. */
void dg_sched_read_counts(struct dg_sched *sched, const struct dg_sched_stats *counts,
                          struct dg_sched_stats *copy);

void dg_sched_read_stats(struct dg_sched *sched, struct dg_sched_stats *stats);

#endif
