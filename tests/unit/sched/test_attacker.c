/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What ordinary clients notice of an attacker, in virtual time: two workers, a network whose time
 * depends on its rows and source tokens, sixteen clients that ask for a sentence now and then, and
 * an attacker who sends as much as is allowed. The 99th percentile of the times of the clients'
 * answers may be three times what it is without the attacker, however often the test is run. */
#include "sched/sched.h"
#include "small_net.h"
#include "unit.h"

enum {
    WORKERS = 2,
    CLIENTS = 16,
    ATTACKS = 64,   /* the attacker's tickets at a time, unless there is no room */
    PAUSE_MS = 500, /* the mean pause of an ordinary client between two requests */
    STEP_US = 400,  /* the cost of a step that computes eight rows or fewer, */
    ROW_US = 60,    /* each further row, */
    TOKEN_US = 40,  /* and each source token that is encoded */
    SECONDS = 5,
    ANSWERS_MAX = 4000,
    TARGET_MAX = 128,
    RATIO = 3,
};

/* The limits of a default server, with shorter targets. */
static const struct dg_decoder_limits limits = {.sentences = 32,
                                                .rows = 128,
                                                .source_max = 64,
                                                .target_max = TARGET_MAX,
                                                .batch_tokens = 512,
                                                .kv_tokens = 32 * 64};

/* The ticket that a client sends. */
struct kind {
    const char *name;
    size_t n_src; /* at most; at least three quarters of it */
    int beam, min_len, max_len;
    bool is_watched;
    bool vanishes; /* it is cancelled at its first token */
};

static const struct kind ordinary = {"an ordinary client", 20, 4, 16, 16, false, false};
static const struct kind attacks[] = {
    {"long answers of wide beams", 20, 16, 100, 100, false, false},
    {"streams that are left at their first token", 20, 16, 100, 100, true, true},
    {"short texts with long answers", 2, 16, 0, 100, false, false},
    {"very many short texts", 6, 1, 6, 6, false, false},
    {"long texts with short answers", 60, 1, 4, 4, false, false},
};

struct sender {
    struct dg_flow flow;
    struct dg_ticket *ticket; /* NULL: no ticket is under way */
    const struct kind *kind;
    int32_t src[64];
    struct dg_search_opts opts;
    uint64_t next_ns, asked_ns;
    bool is_left;
};

struct world {
    struct dg_clock clock;
    struct dg_sched *sched;
    struct dg_sched_model *at;
    struct sender senders[CLIENTS + ATTACKS];
    uint64_t free_ns[WORKERS]; /* when each worker's turn is over */
    uint64_t took_ns[ANSWERS_MAX];
    size_t n_took, n_open;
    uint64_t random_state;
};

static struct small_net small;

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random_state = world->random_state * 6364136223846793005u + 1442695040888963407u;
    return (world->random_state >> 33) % below;
}

static void rest(struct world *world, struct sender *sender, uint64_t now_ns)
{
    sender->next_ns = now_ns + draw(world, 2 * PAUSE_MS * 1000) * DG_CLOCK_US;
}

/* Submits a ticket; when it is refused, comes again later. */
static void ask(struct world *world, struct sender *sender, uint64_t now_ns)
{
    const struct kind *kind = sender->kind;
    const size_t n_src = kind->n_src - draw(world, kind->n_src / 4 + 1);
    for (size_t i = 0; i < n_src; i++)
        sender->src[i] = (int32_t)draw(world, SMALL_NET_WORDS);
    sender->opts = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT;
    sender->opts.beam = kind->beam;
    sender->opts.max_ratio = 0;
    sender->opts.loop_guard = false;
    sender->opts.min_len = kind->min_len;
    sender->opts.max_len = kind->max_len;
    struct dg_ticket *ticket =
        dg_ticket_new(world->at, sender->src, n_src, &sender->opts, TARGET_MAX);
    ck_assert_ptr_nonnull(ticket);
    ticket->ctx = sender;
    ticket->is_quiet = !kind->is_watched;
    sender->is_left = false;
    sender->asked_ns = now_ns;
    sender->next_ns = UINT64_MAX;
    if (dg_sched_submit(world->sched, &sender->flow, ticket, NULL) != DG_OK) {
        dg_ticket_free(ticket);
        sender->next_ns = now_ns + 20 * DG_CLOCK_MS;
        return;
    }
    sender->ticket = ticket;
    world->n_open++;
}

/* Takes news at the end of a turn. */
static void collect(struct world *world, uint64_t now_ns)
{
    struct dg_ticket *ticket;
    bool is_over;
    dg_sched_listen(world->sched);
    while (dg_sched_next(world->sched, &ticket, &is_over)) {
        struct sender *sender = ticket->ctx;
        if (!is_over && sender->kind->vanishes && !sender->is_left) {
            sender->is_left = true;
            dg_sched_cancel(world->sched, ticket);
        }
        if (!is_over)
            continue;
        const bool is_ordinary = sender->kind == &ordinary;
        if (is_ordinary) {
            ck_assert_int_eq(ticket->err, DG_OK);
            ck_assert_uint_lt(world->n_took, ANSWERS_MAX);
            world->took_ns[world->n_took++] = now_ns - sender->asked_ns;
            rest(world, sender, now_ns);
        } else {
            sender->next_ns = now_ns; /* the next ticket is ready at once */
        }
        dg_ticket_free(ticket);
        sender->ticket = NULL;
        world->n_open--;
    }
}

/* One turn of a worker, which begins now; returns when it is over. */
static uint64_t turn(struct world *world, size_t worker, uint64_t now_ns)
{
    struct dg_sched_stats before, after;
    dg_sched_read_stats(world->sched, &before);
    if (!dg_sched_turn(world->sched, worker))
        return now_ns + DG_CLOCK_MS / 5; /* the worker sleeps, and soon looks for work again */
    dg_sched_read_stats(world->sched, &after);
    const uint64_t n_rows = after.n_rows - before.n_rows,
                   n_tokens = after.n_encoded_tokens - before.n_encoded_tokens;
    return now_ns + DG_CLOCK_US * (TOKEN_US * n_tokens + (n_rows ? STEP_US : 0) +
                                   (n_rows > 8 ? ROW_US * (n_rows - 8) : 0));
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The 99th percentile of the times of ordinary answers, with the attack or (NULL) without. */
static uint64_t p99_ns(const struct kind *attack, uint64_t seed)
{
    static struct world world;
    world = (struct world){.clock = DG_CLOCK_VIRTUAL(1), .random_state = seed};
    const struct dg_sched_opts opts = {
        .n_workers = WORKERS, .max_tickets = 10000, .manual = true, .clock = &world.clock};
    const size_t n = CLIENTS + (attack ? ATTACKS : 0);
    ck_assert_int_eq(dg_sched_new(&opts, NULL, &world.sched), DG_OK);
    ck_assert_int_eq(dg_sched_attach(world.sched, small.net, &limits, NULL, &world.at), DG_OK);
    for (size_t i = 0; i < n; i++) {
        struct sender *sender = &world.senders[i];
        sender->kind = i < CLIENTS ? &ordinary : attack;
        dg_flow_init(&sender->flow, DG_PRIORITY_NORMAL, i < CLIENTS ? 1 + i : 1 + CLIENTS);
        rest(&world, sender, 0);
    }
    const uint64_t seconds = (uint64_t)dg_unit_rounds(SECONDS), end_ns = seconds * DG_CLOCK_S;
    for (uint64_t now_ns = 0; now_ns < end_ns || world.n_open > 0;) {
        const size_t w = world.free_ns[1] < world.free_ns[0];
        now_ns = world.free_ns[w];
        dg_clock_advance(&world.clock, 1 + now_ns - dg_clock_now(&world.clock));
        for (size_t i = 0; i < n && now_ns < end_ns; i++)
            if (world.senders[i].next_ns <= now_ns)
                ask(&world, &world.senders[i], now_ns);
        world.free_ns[w] = turn(&world, w, now_ns);
        collect(&world, world.free_ns[w]);
        for (size_t i = CLIENTS; i < n && now_ns >= end_ns; i++) /* the attack is over */
            if (world.senders[i].ticket)
                dg_sched_cancel(world.sched, world.senders[i].ticket);
    }
    dg_sched_detach(world.sched, world.at);
    dg_sched_free(world.sched);
    qsort(world.took_ns, world.n_took, sizeof *world.took_ns, compare);
    ck_assert_uint_gt(world.n_took, CLIENTS * seconds);
    return world.took_ns[world.n_took * 99 / 100];
}

START_TEST(nobody_waits_three_times_as_long_beside_an_attacker)
{
    small_net_open(&small);
    const uint64_t without_ns = p99_ns(NULL, 1);
    for (size_t k = 0; k < sizeof attacks / sizeof *attacks; k++) {
        const uint64_t with_ns = p99_ns(&attacks[k], 1);
        ck_assert_msg(with_ns <= RATIO * without_ns, "%s: %.1f ms in place of %.1f ms",
                      attacks[k].name, (double)with_ns / (double)DG_CLOCK_MS,
                      (double)without_ns / (double)DG_CLOCK_MS);
    }
    small_net_close(&small);
}
END_TEST

DG_UNIT_SLOW(nobody_waits_three_times_as_long_beside_an_attacker)
