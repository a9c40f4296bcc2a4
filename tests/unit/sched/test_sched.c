/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The scheduler in virtual time: thousands of random tickets over a tiny real network, one turn
 * after another, all decided by a seed; then the same with real threads. */
#include "sched/sched.h"
#include "base/thread/cpu.h"
#include "network/net_random.h"
#include "small_net.h"
#include "two_nodes.h"
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { TURN_NS = 2000000 };

static struct small_net small;

static const struct dg_decoder_limits limits = {
    .sentences = 8, .rows = 16, .source_max = 64, .target_max = 64, .batch_tokens = 256};

/* ---- Random requests ------------------------------------------------------------------------- */

struct item {
    struct dg_flow flow;
    struct dg_ticket *ticket;
    int32_t src[32];
    size_t n_src;
    struct dg_search_opts opts;
    int n_ends;
    bool was_accepted, was_cancelled;
    enum dg_err err;
    int32_t ids[64];
    float logprobs[64];
    size_t n_ids;
    uint64_t wait_ns;
};

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void fill(struct item *item)
{
    *item = (struct item){.n_src = 1 + draw(30)};
    dg_flow_init(&item->flow, (enum dg_priority)draw(DG_N_PRIORITIES), 0);
    for (size_t i = 0; i < item->n_src; i++)
        item->src[i] = (int32_t)draw(SMALL_NET_WORDS);
    item->opts = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT;
    item->opts.beam = 1 + (int)draw(3);
    item->opts.max_len = 1 + (int)draw(20);
}

static void make_ticket(struct item *item, struct dg_sched_model *at)
{
    item->ticket = dg_ticket_new(at, item->src, item->n_src, &item->opts, limits.target_max);
    ck_assert_ptr_nonnull(item->ticket);
    item->ticket->ctx = item;
}

/* Takes news; returns how many tickets ended. */
static size_t collect(struct dg_sched *sched)
{
    size_t n = 0;
    struct dg_ticket *ticket;
    bool is_over;
    dg_sched_listen(sched);
    while (dg_sched_next(sched, &ticket, &is_over)) {
        struct item *item = ticket->ctx;
        ck_assert_int_eq(item->n_ends, 0);
        if (!is_over)
            continue;
        item->n_ends++;
        item->err = ticket->err;
        item->wait_ns = ticket->started_ns - ticket->queued_ns;
        if (ticket->n_answers && !ticket->err) {
            item->n_ids = ticket->answers[0].n_ids;
            memcpy(item->ids, ticket->answers[0].ids, item->n_ids * sizeof *item->ids);
            memcpy(item->logprobs, ticket->answers[0].logprobs,
                   item->n_ids * sizeof *item->logprobs);
            ck_assert_uint_eq(dg_ticket_shown(ticket), item->n_ids);
            ck_assert_mem_eq(ticket->shown_ids, item->ids, item->n_ids * sizeof *item->ids);
        }
        dg_ticket_free(ticket);
        n++;
    }
    return n;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    return (h ^ x) * 0x9FB21C651E98DF25u + (h >> 31);
}

struct outcome {
    uint64_t trace; /* a hash of when and how each ticket ended */
    size_t n_refused;
};

/* `n` tickets arrive at random over virtual time; some are cancelled, some have deadlines. */
static struct outcome simulate(struct item *items, size_t n, uint64_t seed)
{
    struct dg_clock clock = DG_CLOCK_VIRTUAL(1);
    struct dg_sched_opts opts = {
        .n_workers = 2, .max_tickets = 200, .manual = true, .clock = &clock, .encode_busy = 64};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_sched_new(&opts, &error, &sched) == DG_OK, "%s", error.text);
    ck_assert_msg(dg_sched_attach(sched, small.net, &limits, &error, &at) == DG_OK, "%s",
                  error.text);
    random_state = seed;
    struct outcome outcome = {seed, 0};
    size_t n_open = 0;
    for (size_t i = 0; i < n || n_open > 0;) {
        for (size_t burst = i < n ? draw(4) : 0; burst > 0 && i < n; burst--, i++) {
            struct item *item = &items[i];
            fill(item);
            item->flow.client = draw(4);
            make_ticket(item, at);
            if (draw(10) == 0)
                item->ticket->deadline_ns = dg_clock_now(&clock) + draw(40) * TURN_NS;
            uint64_t retry_ms = 0;
            enum dg_err err = dg_sched_submit(sched, &item->flow, item->ticket, &retry_ms);
            item->was_accepted = err == DG_OK;
            if (err) {
                ck_assert_int_eq(err, DG_ERR_BUSY);
                ck_assert_uint_ge(retry_ms, 1);
                dg_ticket_free(item->ticket);
                outcome.n_refused++;
            } else {
                n_open++;
            }
        }
        if (i > 20 && draw(5) == 0) {
            struct item *victim = &items[i - 1 - draw(20)];
            if (victim->was_accepted && victim->n_ends == 0 && !victim->was_cancelled) {
                victim->was_cancelled = true;
                dg_sched_cancel(sched, victim->ticket);
            }
        }
        struct dg_sched_stats stats;
        dg_sched_read_stats(sched, &stats);
        ck_assert_uint_le(stats.n_waiting + stats.n_running, opts.max_tickets);
        ck_assert_uint_le(stats.n_running, 2 * limits.sentences);
        for (size_t w = 0; w < opts.n_workers; w++)
            dg_sched_turn(sched, w);
        dg_clock_advance(&clock, TURN_NS);
        size_t n_ended = collect(sched);
        n_open -= n_ended;
        outcome.trace = mix(outcome.trace, n_ended + (n_open << 8));
    }
    struct dg_sched_stats stats;
    dg_sched_read_stats(sched, &stats);
    ck_assert_uint_eq(stats.n_accepted,
                      stats.n_done + stats.n_cancelled + stats.n_timed_out + stats.n_failed);
    ck_assert_uint_eq(stats.n_failed, 0);
    ck_assert_uint_eq(stats.n_waiting + stats.n_running, 0);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(items[i].n_ends, items[i].was_accepted);
        outcome.trace = mix(outcome.trace, items[i].n_ids + ((uint64_t)items[i].err << 20));
    }
    dg_sched_detach(sched, at);
    dg_sched_free(sched);
    return outcome;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(every_accepted_ticket_ends_exactly_once_and_a_seed_repeats)
{
    enum { N = 10000 };
    static struct item items[N];
    small_net_open(&small);
    struct outcome one = simulate(items, N, 1);
    struct outcome again = simulate(items, N, 1);
    struct outcome other = simulate(items, N / 10, 2);
    ck_assert_uint_eq(one.trace, again.trace);
    ck_assert_uint_ne(one.trace, other.trace);
    ck_assert_uint_gt(one.n_refused, 0);
    small_net_close(&small);
}
END_TEST

START_TEST(a_sentence_beside_a_bulk_load_waits_a_few_turns_only)
{
    enum { N_BULK = 2000 };
    static struct item bulk[N_BULK], urgent;
    small_net_open(&small);
    struct dg_clock clock = DG_CLOCK_VIRTUAL(1);
    struct dg_sched_opts opts = {
        .n_workers = 1, .max_tickets = 100000, .manual = true, .clock = &clock};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    random_state = 3;
    for (size_t i = 0; i < N_BULK; i++) {
        fill(&bulk[i]);
        bulk[i].flow.priority = DG_PRIORITY_BULK;
        make_ticket(&bulk[i], at);
        ck_assert_int_eq(dg_sched_submit(sched, &bulk[0].flow, bulk[i].ticket, NULL), DG_OK);
    }
    size_t n_ended = 0;
    uint64_t worst = 0;
    for (int round = 0; round < 100; round++) {
        fill(&urgent);
        urgent.flow.priority = DG_PRIORITY_INTERACTIVE;
        make_ticket(&urgent, at);
        ck_assert_int_eq(dg_sched_submit(sched, &urgent.flow, urgent.ticket, NULL), DG_OK);
        while (urgent.n_ends == 0) {
            dg_sched_turn(sched, 0);
            dg_clock_advance(&clock, TURN_NS);
            n_ended += collect(sched);
        }
        worst = urgent.wait_ns > worst ? urgent.wait_ns : worst;
    }
    ck_assert_uint_le(worst, 2 * TURN_NS);
    ck_assert_uint_gt(n_ended, 200); /* bulk tickets made progress meanwhile */
    while (dg_sched_turn(sched, 0))
        n_ended += collect(sched);
    n_ended += collect(sched);
    ck_assert_uint_eq(n_ended, N_BULK + 100);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

START_TEST(bulk_leaves_a_quarter_of_the_queue_to_others)
{
    enum { N = 40 };
    static struct item items[N + 1];
    small_net_open(&small);
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = N, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    struct dg_sched_stats stats;
    size_t n_bulk = 0, n_normal = 0;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    for (size_t i = 0; i <= N; i++) {
        fill(&items[i]);
        /* after the first refusal */
        items[i].flow.priority = n_bulk < i ? DG_PRIORITY_NORMAL : DG_PRIORITY_BULK;
        make_ticket(&items[i], at);
        enum dg_err err = dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL);
        if (err)
            dg_ticket_free(items[i].ticket);
        n_bulk += !err && items[i].flow.priority == DG_PRIORITY_BULK;
        n_normal += !err && items[i].flow.priority == DG_PRIORITY_NORMAL;
    }
    ck_assert_uint_eq(n_bulk, N - N / 4);
    ck_assert_uint_eq(n_normal, N / 4);
    dg_sched_read_stats(sched, &stats);
    ck_assert_uint_eq(stats.n_max, N);
    size_t n_ended = 0;
    while (dg_sched_turn(sched, 0))
        n_ended += collect(sched);
    ck_assert_uint_eq(n_ended + collect(sched), N);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

/* Submits tickets for a client until one is refused; returns how many were taken. */
static size_t flood(struct dg_sched *sched, struct dg_sched_model *at, struct item *items, size_t n,
                    uint64_t client, int beam)
{
    for (size_t i = 0; i < n; i++) {
        fill(&items[i]);
        items[i].flow.priority = DG_PRIORITY_INTERACTIVE;
        items[i].flow.client = client;
        items[i].opts.beam = beam;
        items[i].opts.min_len = items[i].opts.max_len = beam > 3 ? 60 : 10;
        make_ticket(&items[i], at);
        enum dg_err err = dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL);
        if (!err)
            continue;
        ck_assert_int_eq(err, DG_ERR_BUSY);
        dg_ticket_free(items[i].ticket);
        return i;
    }
    return n;
}

START_TEST(whatever_a_client_sends_there_is_room_for_others)
{
    enum { N = 60 };
    static struct item items[8][N];
    small_net_open(&small);
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = N, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    struct dg_sched_stats stats;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    size_t n_taken[8], n_all = 0, n_ended = 0;
    for (size_t c = 0; c < 4; c++) {
        n_taken[c] = flood(sched, at, items[c], N, c + 1, 1);
        n_all += n_taken[c];
        ck_assert_uint_ge(n_taken[c], 1);
        dg_sched_read_stats(sched, &stats);
        ck_assert_uint_lt(stats.n_waiting + stats.n_running, stats.n_max);
    }
    ck_assert_uint_eq(n_taken[0], N / 2);
    ck_assert_uint_eq(n_taken[1], N / 4);
    while (dg_sched_turn(sched, 0))
        n_ended += collect(sched);
    ck_assert_uint_eq(n_ended + collect(sched), n_all);
    /* Expensive tickets count for more: another client finds room for many. */
    n_taken[4] = flood(sched, at, items[4], N, 1, 16);
    n_taken[5] = flood(sched, at, items[5], N, 2, 1);
    n_all = n_taken[4] + n_taken[5];
    ck_assert_uint_lt(n_taken[4], N / 2);
    ck_assert_uint_gt(n_taken[5], (N - n_taken[4]) / 2 - 2);
    for (n_ended = 0; dg_sched_turn(sched, 0);)
        n_ended += collect(sched);
    ck_assert_uint_eq(n_ended + collect(sched), n_all);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

/* Nobody reads for a long time: finished tickets wait, and no more tickets are taken than can be
 * reported. */
START_TEST(no_end_is_lost_when_the_consumer_sleeps)
{
    enum { N = 8, ALL = 6 * N };
    static struct item items[ALL];
    small_net_open(&small);
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = N, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    size_t n_accepted = 0;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    for (size_t i = 0; i < ALL; i++) {
        fill(&items[i]);
        items[i].flow.priority = DG_PRIORITY_NORMAL;
        make_ticket(&items[i], at);
        enum dg_err err = dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL);
        n_accepted += !err;
        if (err)
            dg_ticket_free(items[i].ticket);
        while (dg_sched_turn(sched, 0))
            ;
    }
    ck_assert_uint_eq(collect(sched), n_accepted);
    ck_assert_uint_eq(n_accepted, N);
    fill(&items[0]);
    make_ticket(&items[0], at);
    ck_assert_int_eq(dg_sched_submit(sched, &items[0].flow, items[0].ticket, NULL), DG_OK);
    while (dg_sched_turn(sched, 0))
        ;
    ck_assert_uint_eq(collect(sched), 1);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

START_TEST(a_short_row_leaves_a_long_one_behind)
{
    static struct item items[2];
    small_net_open(&small);
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = 10, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    for (size_t i = 0; i < 2; i++) {
        fill(&items[i]);
        items[i].opts.beam = 1;
        items[i].opts.max_ratio = 0;
        items[i].opts.loop_guard = false;
        items[i].opts.max_len = items[i].opts.min_len = i == 0 ? 60 : 5;
        make_ticket(&items[i], at);
    }
    int turns = 0;
    ck_assert_int_eq(dg_sched_submit(sched, &items[0].flow, items[0].ticket, NULL), DG_OK);
    for (; turns < 10; turns++)
        dg_sched_turn(sched, 0);
    ck_assert_int_eq(dg_sched_submit(sched, &items[1].flow, items[1].ticket, NULL), DG_OK);
    while (items[1].n_ends == 0) {
        dg_sched_turn(sched, 0);
        turns++;
        collect(sched);
    }
    ck_assert_int_le(turns, 17);
    ck_assert_int_eq(items[0].n_ends, 0);
    dg_sched_cancel(sched, items[0].ticket);
    for (int i = 0; i < 2; i++)
        dg_sched_turn(sched, 0);
    collect(sched);
    ck_assert_int_eq(items[0].n_ends, 1);
    ck_assert_int_eq(items[0].err, DG_ERR_CANCELLED);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

/* Long tickets of one client, so many that not all of them find room. */
static void submit_long_ones(struct dg_sched *sched, struct dg_sched_model *at, struct item *items,
                             size_t n, int beam)
{
    for (size_t i = 0; i < n; i++) {
        fill(&items[i]);
        dg_flow_init(&items[i].flow, DG_PRIORITY_NORMAL, 1);
        items[i].opts.beam = beam;
        items[i].opts.max_ratio = 0;
        items[i].opts.loop_guard = false;
        items[i].opts.max_len = items[i].opts.min_len = 60;
        make_ticket(&items[i], at);
        ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
    }
}

START_TEST(who_waits_takes_the_room_of_those_that_are_cancelled)
{
    enum { N = 9 };
    static struct item items[N];
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = 100, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    size_t n_ended = 0;
    small_net_open(&small);
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    submit_long_ones(sched, at, items, N, 1);
    ck_assert(dg_sched_turn(sched, 0));
    for (size_t i = 0; i < N - 1; i++) /* the last ticket waits, whichever others run */
        dg_sched_cancel(sched, items[i].ticket);
    while (dg_sched_turn(sched, 0)) /* a worker sleeps when it found nothing to do */
        n_ended += collect(sched);
    n_ended += collect(sched);
    ck_assert_uint_eq(n_ended, N);
    ck_assert_int_eq(items[N - 1].err, DG_OK);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

START_TEST(wide_searches_of_one_client_leave_room_for_another)
{
    enum { N = 20 };
    static struct item items[N], other;
    struct dg_sched_opts opts = {.n_workers = 1, .max_tickets = 1000, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    int turns = 0;
    small_net_open(&small);
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    submit_long_ones(sched, at, items, N, 8);
    for (int i = 0; i < 10; i++)
        dg_sched_turn(sched, 0);
    ck_assert_uint_eq(collect(sched), 0);
    fill(&other);
    dg_flow_init(&other.flow, DG_PRIORITY_NORMAL, 2);
    other.opts.beam = 1;
    other.opts.max_ratio = 0;
    other.opts.loop_guard = false;
    other.opts.max_len = other.opts.min_len = 10;
    make_ticket(&other, at);
    ck_assert_int_eq(dg_sched_submit(sched, &other.flow, other.ticket, NULL), DG_OK);
    for (; other.n_ends == 0; turns++) {
        dg_sched_turn(sched, 0);
        ck_assert_uint_le(collect(sched), 1);
    }
    ck_assert_int_le(turns, 12);
    for (int i = 0; i < N; i++)
        dg_sched_cancel(sched, items[i].ticket);
    while (dg_sched_turn(sched, 0))
        collect(sched);
    collect(sched);
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

/* The second time with threads, the third with threads on two memory nodes, each of which has a
 * copy of the weights. */
START_TEST(threads_give_the_same_answers_as_turns)
{
    enum { N = 600 };
    static struct item turned[N], threaded[N], distributed[N];
    char machine[DG_TMPDIR_CAP];
    two_nodes_make(machine);
    small_net_open(&small);
    for (int round = 0; round < 3; round++) {
        const bool is_threaded = round > 0;
        struct item *items = round == 0 ? turned : round == 1 ? threaded : distributed;
        struct dg_sched_opts opts = {.n_workers = 3,
                                     .max_tickets = 2 * N,
                                     .manual = !is_threaded,
                                     .pins = round == 2,
                                     .nodes_root = round == 2 ? machine : NULL};
        struct dg_sched *sched = NULL;
        struct dg_sched_model *at = NULL;
        struct dg_sched_stats stats;
        struct dg_net *net = NULL;
        ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
        dg_sched_read_stats(sched, &stats);
        ck_assert_uint_eq(stats.n_nodes, round == 2 && dg_cpu_may_pin() ? 2 : 1);
        ck_assert_int_eq(dg_net_new(&net, dg_model_blueprint(small.model),
                                    dg_model_weights(small.model),
                                    &(struct dg_net_opts){.nodes = dg_sched_nodes(sched)}, NULL),
                         DG_OK);
        ck_assert_int_eq(dg_sched_attach(sched, net, &limits, NULL, &at), DG_OK);
        random_state = 5;
        for (size_t i = 0; i < N; i++) {
            fill(&items[i]);
            make_ticket(&items[i], at);
            ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
        }
        for (size_t n = 0, turns = 0; n < N; n += collect(sched), turns++)
            if (!is_threaded)
                dg_sched_turn(sched, turns % 3);
        dg_sched_detach(sched, at);
        dg_sched_free(sched);
        dg_net_free(net);
    }
    for (size_t i = 0; i < 2 * N; i++) {
        const struct item *one = &turned[i / 2],
                          *other = i % 2 ? &threaded[i / 2] : &distributed[i / 2];
        ck_assert_uint_eq(one->n_ids, other->n_ids);
        ck_assert_mem_eq(one->ids, other->ids, one->n_ids * sizeof *one->ids);
        ck_assert_mem_eq(one->logprobs, other->logprobs, one->n_ids * sizeof *one->logprobs);
    }
    small_net_close(&small);
    dg_tmpdir_remove(machine);
}
END_TEST

/* Submits one ticket and waits until its end has been seen. */
static void serve_one(struct dg_sched *sched, struct dg_sched_model *at, struct item *item)
{
    fill(item);
    item->flow.priority = DG_PRIORITY_NORMAL;
    make_ticket(item, at);
    ck_assert_int_eq(dg_sched_submit(sched, &item->flow, item->ticket, NULL), DG_OK);
    while (collect(sched) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    ck_assert_int_eq(item->err, DG_OK);
}

/* A ticket wakes one worker, however many sleep. The bound leaves room for wake-ups that the system
 * makes by itself; waking all would be up to 127 for each ticket. */
START_TEST(a_ticket_wakes_one_worker)
{
    enum { N = 40 };
    static const size_t n_workers[] = {1, 8, 64, 128};
    small_net_open(&small);
    for (size_t k = 0; k < sizeof n_workers / sizeof *n_workers; k++) {
        struct dg_sched_opts opts = {.n_workers = n_workers[k], .max_tickets = N};
        struct dg_sched *sched = NULL;
        struct dg_sched_model *at = NULL;
        struct dg_error error = DG_ERROR_NONE;
        struct dg_sched_stats stats;
        static struct item items[N];
        ck_assert_msg(dg_sched_new(&opts, &error, &sched) == DG_OK, "%s", error.text);
        ck_assert_msg(dg_sched_attach(sched, small.net, &limits, &error, &at) == DG_OK, "%s",
                      error.text);
        random_state = 7;
        for (size_t i = 0; i < N; i++)
            serve_one(sched, at, &items[i]);
        /* The last ticket's end was reported before the end of the worker's turn, which counts
         * it. */
        for (dg_sched_read_stats(sched, &stats); stats.n_done < N;
             dg_sched_read_stats(sched, &stats))
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        ck_assert_uint_eq(stats.n_done, N);
        ck_assert_uint_le(stats.n_wake_ups, 2 * N);
        dg_sched_detach(sched, at);
        dg_sched_free(sched);
    }
    small_net_close(&small);
}
END_TEST

/* Submits `n` filled items at once and gives each worker a turn after the other until all have
 * ended; returns the counts. */
static struct dg_sched_stats serve_in_turns(const struct dg_sched_opts *opts, struct item *items,
                                            size_t n)
{
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_sched_stats stats;
    ck_assert_msg(dg_sched_new(opts, &error, &sched) == DG_OK, "%s", error.text);
    ck_assert_msg(dg_sched_attach(sched, small.net, &limits, &error, &at) == DG_OK, "%s",
                  error.text);
    for (size_t i = 0; i < n; i++) {
        items[i].flow.priority = DG_PRIORITY_NORMAL;
        items[i].opts.beam = 1;
        make_ticket(&items[i], at);
        ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
    }
    for (size_t n_ended = 0; n_ended < n; n_ended += collect(sched))
        for (size_t w = 0; w < opts->n_workers; w++)
            dg_sched_turn(sched, w);
    dg_sched_read_stats(sched, &stats);
    dg_sched_detach(sched, at);
    dg_sched_free(sched);
    return stats;
}

/* Eight sentences for each worker, the same for all of them; every ticket asks for its tokens. */
static struct dg_sched_stats serve_alike(size_t n_workers, struct item *items)
{
    struct dg_clock clock = DG_CLOCK_VIRTUAL(1);
    const size_t n = n_workers * limits.sentences;
    for (size_t i = 0; i < n; i++) {
        random_state = i % limits.sentences;
        fill(&items[i]);
        items[i].opts.max_len = 16;
    }
    return serve_in_turns(
        &(struct dg_sched_opts){
            .n_workers = n_workers, .max_tickets = 2 * n, .manual = true, .clock = &clock},
        items, n);
}

/* Shared state is touched as often for each token by 128 workers as by 8: the lock three times a
 * step at most (and once more when tickets are taken), the queue of news twice, however many tokens
 * the step made. */
START_TEST(what_workers_share_is_not_touched_for_every_token)
{
    enum { MOST = 128 };
    static const size_t n_workers[] = {8, 16, 64, MOST};
    static struct item items[8 * MOST];
    struct dg_sched_stats first = {0};
    small_net_open(&small);
    for (size_t k = 0; k < sizeof n_workers / sizeof *n_workers; k++) {
        const struct dg_sched_stats stats = serve_alike(n_workers[k], items);
        const size_t times = n_workers[k] / n_workers[0];
        if (k == 0)
            first = stats;
        ck_assert_uint_eq(stats.n_done, n_workers[k] * limits.sentences);
        ck_assert_uint_eq(stats.n_tokens_out, first.n_tokens_out * times);
        ck_assert_uint_eq(stats.n_locks, first.n_locks * times);
        ck_assert_uint_eq(stats.n_news, first.n_news * times);
        ck_assert_uint_le(stats.n_locks, 3 * stats.n_steps + stats.n_encodes);
        ck_assert_uint_le(stats.n_news, 2 * stats.n_steps);
        ck_assert_uint_gt(stats.n_tokens_out, 2 * stats.n_news);
    }
    small_net_close(&small);
}
END_TEST

/* The counts of a detached model stay in the sums, and counts that several models share are read
 * whole. */
START_TEST(counts_outlive_their_model)
{
    struct dg_sched_opts opts = {.n_workers = 3, .max_tickets = 8, .manual = true};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    struct dg_sched_stats stats, shared = {0}, read;
    struct dg_error error = DG_ERROR_NONE;
    small_net_open(&small);
    ck_assert_msg(dg_sched_new(&opts, &error, &sched) == DG_OK, "%s", error.text);
    for (size_t round = 1; round <= 2; round++) {
        static struct item item;
        ck_assert_msg(dg_sched_attach(sched, small.net, &limits, &error, &at) == DG_OK, "%s",
                      error.text);
        dg_sched_count_into(at, &shared);
        fill(&item);
        make_ticket(&item, at);
        ck_assert_int_eq(dg_sched_submit(sched, &item.flow, item.ticket, NULL), DG_OK);
        while (collect(sched) == 0)
            dg_sched_turn(sched, round);
        dg_sched_read_counts(sched, &shared, &read);
        ck_assert_uint_eq(read.n_done, round);
        dg_sched_detach(sched, at);
        dg_sched_read_stats(sched, &stats);
        ck_assert_uint_eq(stats.n_done, round);
        ck_assert_uint_eq(shared.n_done, round);
    }
    dg_sched_free(sched);
    small_net_close(&small);
}
END_TEST

/* What happens to worker 1: it dies, hangs until the gate opens, or is slow. */
struct fault {
    enum { DIES, HANGS, IS_SLOW } kind;
    sem_t gate;
    atomic_bool was_met;
};

static bool on_turn(void *arg, size_t index)
{
    struct fault *fault = arg;
    if (index != 1)
        return true;
    bool was_met = atomic_exchange(&fault->was_met, true);
    if (fault->kind == HANGS && !was_met)
        sem_wait(&fault->gate);
    if (fault->kind == IS_SLOW)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return fault->kind != DIES;
}

static size_t n_stalled(struct dg_sched *sched)
{
    struct dg_sched_stats stats;
    dg_sched_read_stats(sched, &stats);
    return stats.n_stalled;
}

START_TEST(the_others_go_on_when_a_worker_dies_hangs_or_is_slow)
{
    enum { N = 200 };
    static struct item items[N];
    small_net_open(&small);
    for (int kind = DIES; kind <= IS_SLOW; kind++) {
        struct fault fault = {.kind = kind};
        struct dg_sched_opts opts = {.n_workers = 3,
                                     .max_tickets = 2 * N,
                                     .stall_ns = 20 * DG_CLOCK_MS,
                                     .on_turn = on_turn,
                                     .on_turn_arg = &fault};
        struct dg_sched *sched = NULL;
        struct dg_sched_model *at = NULL;
        sem_init(&fault.gate, 0, 0);
        ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
        ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
        random_state = 7;
        size_t n = 0;
        for (size_t i = 0; i < N; i++) {
            fill(&items[i]);
            make_ticket(&items[i], at);
            ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
        }
        while (n < N) /* it meets its fault before it takes a ticket, so that the others get all */
            n += collect(sched);
        while (kind != IS_SLOW && atomic_load(&fault.was_met) && n_stalled(sched) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        sem_post(&fault.gate);
        while (kind == HANGS && n_stalled(sched) > 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        /* the others end their turns */
        while (kind == DIES && atomic_load(&fault.was_met) && n_stalled(sched) != 1)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        dg_sched_detach(sched, at);
        dg_sched_free(sched);
        sem_destroy(&fault.gate);
    }
    small_net_close(&small);
}
END_TEST

START_TEST(stopping_in_the_middle_leaves_nothing_behind)
{
    enum { N = 50 };
    static struct item items[N];
    small_net_open(&small);
    struct dg_sched_opts opts = {.n_workers = 2, .max_tickets = 2 * N};
    struct dg_sched *sched = NULL;
    struct dg_sched_model *at = NULL;
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
    random_state = 9;
    for (size_t i = 0; i < N; i++) {
        fill(&items[i]);
        make_ticket(&items[i], at);
        ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
        if (i % 2)
            dg_sched_cancel(sched, items[i].ticket);
    }
    dg_sched_free(sched);
    for (size_t i = 0; i < N; i++)
        dg_ticket_free(items[i].ticket);
    small_net_close(&small);
}
END_TEST

/* A network whose products are large enough to be divided; it has the small one's words. */
static void set_up_large(void)
{
    struct dg_blueprint bp;
    ck_assert_int_eq(dg_net_random_shape(&bp, "student", NULL), DG_OK);
    bp.encoder.n_layers = bp.decoder.n_layers = 1;
    bp.encoder.V = bp.decoder.V = 5000;
    ck_assert_int_eq(
        dg_net_random(&small.net, &bp, &(struct dg_net_opts){.type = DG_NET_I8}, 1, NULL), DG_OK);
}

/* One after the other, so that each is alone and has help; then all at once, and half of them are
 * cancelled. */
START_TEST(helpers_change_no_answer_and_no_cancellation)
{
    enum { ALONE = 6, N = 24 };
    static struct item without[N], with[N];
    set_up_large();
    for (size_t n_helpers = 0; n_helpers <= 2; n_helpers += 2) {
        struct item *items = n_helpers ? with : without;
        struct dg_sched_opts opts = {.n_workers = 3, .max_tickets = 2 * N, .n_helpers = n_helpers};
        struct dg_sched *sched = NULL;
        struct dg_sched_model *at = NULL;
        size_t n = 0;
        ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
        ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
        random_state = 13;
        for (size_t i = 0; i < N; i++) {
            fill(&items[i]);
            items[i].opts.max_len = 4;
            make_ticket(&items[i], at);
            ck_assert_int_eq(dg_sched_submit(sched, &items[i].flow, items[i].ticket, NULL), DG_OK);
            if (i >= ALONE && i % 2)
                dg_sched_cancel(sched, items[i].ticket);
            while (i < ALONE && n <= i)
                n += collect(sched);
        }
        while (n < N)
            n += collect(sched);
        dg_sched_detach(sched, at);
        dg_sched_free(sched);
    }
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(with[i].n_ends, 1);
        if (with[i].err || without[i].err) { /* a cancelled one may have been done before that */
            ck_assert(i >= ALONE && i % 2);
            continue;
        }
        ck_assert_uint_eq(with[i].n_ids, without[i].n_ids);
        ck_assert_mem_eq(with[i].ids, without[i].ids, with[i].n_ids * sizeof(int32_t));
    }
    dg_net_free(small.net);
}
END_TEST

/* Serves `n` times the same sentence, with answers of one length. */
static struct dg_sched_stats serve_helped(size_t n_workers, size_t n_helpers, size_t n)
{
    static struct item items[64];
    for (size_t i = 0; i < n; i++) {
        random_state = 19;
        fill(&items[i]);
        items[i].opts.min_len = items[i].opts.max_len = 8;
    }
    return serve_in_turns(&(struct dg_sched_opts){.n_workers = n_workers,
                                                  .max_tickets = sizeof items / sizeof *items,
                                                  .n_helpers = n_helpers,
                                                  .manual = true},
                          items, n);
}

/* The steps that idle workers may share are counted: all of one sentence alone; none while each
 * worker has its own, until the first of them has nothing more to do. */
START_TEST(the_load_chooses_between_helpers_and_batches)
{
    enum { WORKERS = 4 };
    struct dg_sched_stats stats;
    set_up_large();
    stats = serve_helped(WORKERS, 3, 1);
    ck_assert_uint_gt(stats.n_steps, 0);
    ck_assert_uint_eq(stats.n_shared_steps, stats.n_steps);
    stats = serve_helped(WORKERS, 3, WORKERS * limits.sentences);
    ck_assert_uint_gt(stats.n_steps, WORKERS * WORKERS);
    ck_assert_uint_lt(stats.n_shared_steps, WORKERS);
    stats = serve_helped(WORKERS, 0, 1);
    ck_assert_uint_eq(stats.n_shared_steps, 0);
    stats = serve_helped(1, 3, 1);
    ck_assert_uint_eq(stats.n_shared_steps, 0);
    dg_net_free(small.net);
}
END_TEST

START_TEST(stopping_calls_helpers_away)
{
    static struct item item;
    set_up_large();
    for (int round = 0; round < 5; round++) {
        struct dg_sched_opts opts = {.n_workers = 3, .max_tickets = 4, .n_helpers = 2};
        struct dg_sched *sched = NULL;
        struct dg_sched_model *at = NULL;
        ck_assert_int_eq(dg_sched_new(&opts, NULL, &sched), DG_OK);
        ck_assert_int_eq(dg_sched_attach(sched, small.net, &limits, NULL, &at), DG_OK);
        random_state = 17;
        fill(&item);
        make_ticket(&item, at);
        ck_assert_int_eq(dg_sched_submit(sched, &item.flow, item.ticket, NULL), DG_OK);
        dg_sched_free(sched);
        dg_ticket_free(item.ticket);
    }
    dg_net_free(small.net);
}
END_TEST

DG_UNIT_SLOW(every_accepted_ticket_ends_exactly_once_and_a_seed_repeats,
             a_sentence_beside_a_bulk_load_waits_a_few_turns_only,
             bulk_leaves_a_quarter_of_the_queue_to_others,
             whatever_a_client_sends_there_is_room_for_others,
             no_end_is_lost_when_the_consumer_sleeps, a_short_row_leaves_a_long_one_behind,
             who_waits_takes_the_room_of_those_that_are_cancelled,
             wide_searches_of_one_client_leave_room_for_another, a_ticket_wakes_one_worker,
             what_workers_share_is_not_touched_for_every_token, counts_outlive_their_model,
             threads_give_the_same_answers_as_turns,
             the_others_go_on_when_a_worker_dies_hangs_or_is_slow,
             stopping_in_the_middle_leaves_nothing_behind,
             helpers_change_no_answer_and_no_cancellation,
             the_load_chooses_between_helpers_and_batches, stopping_calls_helpers_away)
