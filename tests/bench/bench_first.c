/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* How long many streaming clients wait for their first tokens, on a machine on which other programs
 * run.
 *
 *     tests/bench/bench_first models/fr-en [clients [seconds]]
 *
 * One worker, without threads, serves clients that each ask for a sentence, read it, and ask for
 * the next up to a millisecond later. The sentences are translated, but the time is virtual: a turn
 * takes as long as a turn with so many rows and source tokens takes on a quiet machine. So the
 * figures are the same in each run and on each machine. For one client, and then for many, prints
 * the tokens of a second and the time to the first token; then the same for many that all come at
 * one moment to an idle worker. "one address": the scheduler takes all of them for one client. */
#include "base/memory/buf.h"
#include "base/memory/rng.h"
#include "model/model_dir.h"
#include "sched/sched.h"
#include "tokenize/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

/* What a turn takes: the least processor time of many, models/fr-en on a Xeon with AMX. */
enum { TURN_NS = 1000, STEP_NS = 165000, ROW_NS = 13500, ENCODE_NS = 225000, TOKEN_NS = 19500 };

enum { CLIENTS_MAX = 1024, FIRSTS_MAX = 1 << 20, SOURCES = 500, WORDS_MAX = 18, SLOTS = 32 };

static const char *const words[] = {
    "le",     "chat",  "dort",      "dans",  "la",     "maison", "il",     "pleut",
    "depuis", "ce",    "matin",     "nous",  "allons", "au",     "marché", "acheter",
    "du",     "pain",  "et",        "des",   "elle",   "ne",     "sait",   "pas",
    "encore", "si",    "ses",       "amis",  "demain", "soir",   "je",     "voudrais",
    "un",     "café",  "sans",      "sucre", "où",     "est",    "gare",   "proche",
    "mon",    "frère", "travaille", "à",     "Paris",  "trois",  "ans"};

struct source {
    int32_t ids[256];
    size_t n;
};

struct client {
    struct dg_flow flow;
    struct dg_ticket *ticket; /* NULL: it thinks */
    uint64_t asks_ns, first_ns;
};

static struct source sources[SOURCES];
static struct client clients[CLIENTS_MAX];
static uint64_t firsts[FIRSTS_MAX];
static size_t n_firsts;
static struct dg_rng rng;

struct run {
    struct dg_sched *sched;
    struct dg_sched_model *model;
    struct dg_clock clock;
    uint64_t n_tokens;
    struct dg_sched_stats last; /* before the present turn */
    bool is_over;               /* nobody asks any more */
};

static void must(enum dg_err err, struct dg_error *error)
{
    if (!err)
        return;
    fprintf(stderr, "bench_first: %s\n", dg_error_text(error, err));
    exit(1);
}

static uint64_t below(uint64_t n)
{
    return dg_rng_next(&rng) % n;
}

/* Returns how long the turn that has just ended takes on a quiet machine. */
static uint64_t turn_ns(struct run *run)
{
    struct dg_sched_stats now;
    dg_sched_read_stats(run->sched, &now);
    const uint64_t n_rows = now.n_rows - run->last.n_rows;
    const uint64_t n_tokens = now.n_encoded_tokens - run->last.n_encoded_tokens;
    run->last = now;
    return (n_rows ? STEP_NS + n_rows * ROW_NS : 0) +
           (n_tokens ? ENCODE_NS + n_tokens * TOKEN_NS : 0) + TURN_NS;
}

static void make_sources(const char *path)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    must(dg_tokenizer_open(path, &error, &tokenizer), &error);
    for (size_t i = 0; i < SOURCES; i++) {
        struct dg_buf text;
        dg_buf_init(&text, 512);
        size_t n_words = 6 + below(WORDS_MAX - 5), n;
        for (size_t w = 0; w < n_words; w++) {
            const char *word = words[below(sizeof words / sizeof *words)];
            must(dg_buf_printf(&text, "%s%s", w ? " " : "", word), NULL);
        }
        must(dg_buf_append_byte(&text, '.'), NULL);
        const struct dg_token *tokens;
        must(dg_tokenizer_encode(tokenizer, work, dg_buf_span(&text), &opts, &error, &tokens, &n),
             &error);
        for (sources[i].n = 0; sources[i].n < n; sources[i].n++)
            sources[i].ids[sources[i].n] = tokens[sources[i].n].id;
        dg_buf_deinit(&text);
    }
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
}

static void ask(struct run *run, struct client *client)
{
    const struct source *source = &sources[below(SOURCES)];
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = 4;
    client->first_ns = 0;
    client->ticket = dg_ticket_new(run->model, source->ids, source->n, &opts,
                                   (size_t)dg_search_opts_cap(&opts, source->n));
    client->ticket->ctx = client;
    must(dg_sched_submit(run->sched, &client->flow, client->ticket, NULL), NULL);
}

/* Returns the moment at which the next client asks. */
static uint64_t ask_all(struct run *run, size_t n_clients)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < n_clients && !run->is_over; i++) {
        struct client *client = &clients[i];
        if (!client->ticket && client->asks_ns <= dg_clock_now(&run->clock))
            ask(run, client);
        else if (!client->ticket && client->asks_ns < next)
            next = client->asks_ns;
    }
    return next;
}

static void listen(struct run *run)
{
    struct dg_ticket *ticket;
    bool is_over;
    const uint64_t now = dg_clock_now(&run->clock);
    dg_sched_listen(run->sched);
    while (dg_sched_next(run->sched, &ticket, &is_over)) {
        struct client *client = ticket->ctx;
        if (!client->first_ns && n_firsts < FIRSTS_MAX) {
            client->first_ns = now;
            firsts[n_firsts++] = now - client->asks_ns;
        }
        if (!is_over)
            continue;
        run->n_tokens += dg_ticket_shown(ticket);
        dg_ticket_free(ticket);
        client->ticket = NULL;
        client->asks_ns = now + below(DG_CLOCK_MS);
    }
}

/* Serves for so long, and then what is under way. */
static void serve(struct run *run, size_t n_clients, uint64_t ns)
{
    const uint64_t end = dg_clock_now(&run->clock) + ns;
    size_t n_under_way;
    run->is_over = false;
    do {
        const uint64_t next = ask_all(run, n_clients);
        const bool was_useful = dg_sched_turn(run->sched, 0);
        const uint64_t now = dg_clock_now(&run->clock);
        dg_clock_advance(&run->clock, was_useful || next == UINT64_MAX ? turn_ns(run) : next - now);
        listen(run);
        run->is_over = dg_clock_now(&run->clock) >= end;
        n_under_way = 0;
        for (size_t i = 0; i < n_clients; i++)
            n_under_way += clients[i].ticket != NULL;
    } while (!run->is_over || n_under_way);
}

static int by_size(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;
    return (one > two) - (one < two);
}

/* Returns the median. */
static double say(const char *name, const struct run *run, uint64_t ns, double idle)
{
    qsort(firsts, n_firsts, sizeof *firsts, by_size);
    const double median = (double)firsts[n_firsts / 2] / 1e6;
    printf("%-24s %7.0f tokens/s, first token %6.2f ms", name,
           ns ? 1e9 * (double)run->n_tokens / (double)ns : 0, median);
    if (idle > 0)
        printf(" (%.1f times)", median / idle);
    printf(", p99 %6.2f ms\n", (double)firsts[n_firsts * 99 / 100] / 1e6);
    return median;
}

static double measure(const struct dg_net *net, const char *name, size_t n_clients,
                      bool has_one_address, uint64_t ns, double idle)
{
    struct dg_error error = DG_ERROR_NONE;
    struct run run = {.clock = DG_CLOCK_VIRTUAL(1)};
    const struct dg_sched_opts opts = {
        .n_workers = 1, .max_tickets = 10000, .manual = true, .clock = &run.clock};
    const struct dg_decoder_limits limits = {.sentences = SLOTS,
                                             .rows = 4 * SLOTS,
                                             .source_max = 256,
                                             .target_max = 512,
                                             .kv_tokens = 256 * SLOTS,
                                             .batch_tokens = 2048};
    must(dg_sched_new(&opts, &error, &run.sched), &error);
    must(dg_sched_attach(run.sched, net, &limits, &error, &run.model), &error);
    dg_rng_init(&rng, 2, 0);
    for (size_t i = 0; i < n_clients; i++) {
        clients[i] = (struct client){.asks_ns = 1 + below(20 * DG_CLOCK_MS)};
        dg_flow_init(&clients[i].flow, DG_PRIORITY_INTERACTIVE, has_one_address ? 1 : 1 + i);
    }
    n_firsts = 0;
    if (ns) {
        serve(&run, n_clients, ns / 10); /* warm */
        n_firsts = run.n_tokens = 0;
        const uint64_t began = dg_clock_now(&run.clock);
        serve(&run, n_clients, ns);
        ns = dg_clock_now(&run.clock) - began;
    } else {
        for (size_t round = 0; round < 20; round++) {
            for (size_t i = 0; i < n_clients; i++)
                clients[i].asks_ns = dg_clock_now(&run.clock);
            serve(&run, n_clients, 1);
        }
    }
    const double median = say(name, &run, ns, idle);
    dg_sched_detach(run.sched, run.model);
    dg_sched_free(run.sched);
    return median;
}

int main(int argc, char **argv)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_model *model = NULL;
    struct dg_net *net = NULL;
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : SLOTS;
    const uint64_t ns = (argc > 3 ? strtoul(argv[3], NULL, 10) : 3) * DG_CLOCK_S;
    if (argc < 2 || n < 1 || n > CLIENTS_MAX) {
        fprintf(stderr, "usage: bench_first MODEL_DIR [clients [seconds]]\n");
        return 2;
    }
    dg_rng_init(&rng, 1, 0);
    make_sources(argv[1]);
    must(dg_model_open(&model, argv[1], &error), &error);
    const struct dg_net_opts opts = {.model = model};
    must(dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), &opts, &error),
         &error);
    dg_model_unref(model);
    const double idle = measure(net, "one client", 1, false, ns, 0);
    measure(net, "many clients", n, false, ns, idle);
    measure(net, "the same, one address", n, true, ns, idle);
    measure(net, "all at once", n, false, 0, idle);
    measure(net, "all at once, one address", n, true, 0, idle);
    dg_net_free(net);
    return 0;
}
