/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What workers share, counted per token for 1 to 128 workers on a machine with any number of cores.
 * Every worker translates eight sentences with a tiny network, and the consumer reads each token.
 *
 *     tests/bench/bench_sched           the lock, sleeping and waking
 *     tests/bench/bench_sched_lines     cache lines that one takes from another, and where
 *
 * bench_sched first takes turns in one thread, so that nothing interrupts a turn while it holds the
 * lock: the number of locks and the time that they are held are then those of a machine with enough
 * cores. Then it does the same with threads, which shows how often a thread found the lock taken
 * (with more threads than cores, mostly because a holder was not running) and how often workers
 * were woken. The linker puts functions of this file between the scheduler and the C library.
 *
 * bench_sched_lines takes the turns in one thread, too. There the scheduler is compiled for
 * ThreadSanitizer, whose functions this file replaces: they learn of each access to memory, and
 * keep an account of caches. Each worker, and the consumer, has one without limits. A line is in
 * many of them until somebody writes to it, and then in one. A transfer is an access to a line that
 * another cache has changed, or a write to a line that others have, too. What happens inside of the
 * decoder and the C library does not count, except for memcpy and the lock itself. `addr2line -e`
 * names the places that it prints. */
#define _GNU_SOURCE 1 /* dladdr */
#ifndef WATCHES
#define WATCHES 0 /* 1: the scheduler was compiled for ThreadSanitizer */
#endif
#include "base/memory/mem.h"
#include "network/net_random.h"
#include "sched/sched.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = DG_SCHED_WORKERS_MAX, EACH = 8, LENGTH = 32, SOURCE = 8 };

static const struct dg_decoder_limits limits = {
    .sentences = EACH, .rows = EACH, .source_max = 16, .target_max = 64, .batch_tokens = 64};

static void must(enum dg_err err, struct dg_error *error)
{
    if (!err)
        return;
    fprintf(stderr, "bench_sched: %s\n", dg_error_text(error, err));
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * DG_CLOCK_S + (uint64_t)t.tv_nsec;
}

/* ---- Caches ---------------------------------------------------------------------------------- */

enum { LINE = 64, LINES = 1 << 20, PLACES = 1 << 10, STACK = 8 << 20 };

/* A line of memory. */
struct line {
    uintptr_t number;              /* 0: this entry is free */
    uint64_t in[(MOST + 64) / 64]; /* the actors whose caches have it */
};

/* A place in the program, and the transfers that it caused. */
struct place {
    const void *code; /* NULL: this entry is free */
    uint64_t n;
};

static struct line lines[LINES];
static struct place places[PLACES];
static size_t actor; /* a worker, or n_workers: the consumer */
static bool is_counting;
static uintptr_t stack;

static void count_transfer(const void *code)
{
    size_t at = (uintptr_t)code % PLACES;
    while (places[at].code && places[at].code != code)
        at = (at + 1) % PLACES;
    places[at].code = code;
    places[at].n++;
}

static void touch_line(uintptr_t number, bool writes, const void *code)
{
    size_t at = number * UINT64_C(0x9E3779B97F4A7C15) >> 44;
    while (lines[at].number && lines[at].number != number)
        at = (at + 1) % LINES;
    struct line *line = &lines[at];
    const size_t mine = actor / 64;
    const uint64_t bit = UINT64_C(1) << actor % 64;
    bool is_elsewhere = false;
    line->number = number;
    for (size_t i = 0; i < sizeof line->in / sizeof *line->in; i++)
        is_elsewhere |= (line->in[i] & ~(i == mine ? bit : 0)) != 0;
    if (is_elsewhere && (writes || !(line->in[mine] & bit)))
        count_transfer(code);
    if (writes)
        memset(line->in, 0, sizeof line->in);
    line->in[mine] |= bit;
}

/* In truth each worker has a stack of its own. */
static void touch(const volatile void *address, size_t size, bool writes, const void *code)
{
    const uintptr_t at = (uintptr_t)address;
    if (!is_counting || (at > stack - STACK && at < stack + STACK))
        return;
    for (uintptr_t number = at / LINE; number <= (at + size - 1) / LINE; number++)
        touch_line(number, writes, code);
}

/* What the compiler calls for ThreadSanitizer. */
#define CODE __builtin_return_address(0)
#define ACCESSES(X)                                                                                \
    X(read1, 1, false)                                                                             \
    X(read2, 2, false)                                                                             \
    X(read4, 4, false)                                                                             \
    X(read8, 8, false)                                                                             \
    X(read16, 16, false)                                                                           \
    X(write1, 1, true)                                                                             \
    X(write2, 2, true)                                                                             \
    X(write4, 4, true)                                                                             \
    X(write8, 8, true)                                                                             \
    X(write16, 16, true)                                                                           \
    X(unaligned_read2, 2, false)                                                                   \
    X(unaligned_read4, 4, false)                                                                   \
    X(unaligned_read8, 8, false)                                                                   \
    X(unaligned_read16, 16, false)                                                                 \
    X(unaligned_write2, 2, true)                                                                   \
    X(unaligned_write4, 4, true)                                                                   \
    X(unaligned_write8, 8, true)                                                                   \
    X(unaligned_write16, 16, true)
#define ACCESS(name, size, writes)                                                                 \
    void __tsan_##name(void *at);                                                                  \
    void __tsan_##name(void *at)                                                                   \
    {                                                                                              \
        touch(at, size, writes, CODE);                                                             \
    }
ACCESSES(ACCESS)

#define RANGE(name, writes)                                                                        \
    void __tsan_##name##_range(void *at, size_t size);                                             \
    void __tsan_##name##_range(void *at, size_t size)                                              \
    {                                                                                              \
        touch(at, size, writes, CODE);                                                             \
    }
RANGE(read, false)
RANGE(write, true)

#define UPDATE(bits, type, name, call, writes)                                                     \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                   \
    type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                    \
    {                                                                                              \
        (void)order;                                                                               \
        touch(at, sizeof *at, writes, CODE);                                                       \
        return call(at, value, __ATOMIC_SEQ_CST);                                                  \
    }
#define ATOMICS(bits, type)                                                                        \
    UPDATE(bits, type, exchange, __atomic_exchange_n, true)                                        \
    UPDATE(bits, type, fetch_add, __atomic_fetch_add, true)                                        \
    UPDATE(bits, type, fetch_sub, __atomic_fetch_sub, true)                                        \
    type __tsan_atomic##bits##_load(const volatile type *at, int order);                           \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                            \
    {                                                                                              \
        (void)order;                                                                               \
        touch(at, sizeof *at, false, CODE);                                                        \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                    \
    void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                     \
    {                                                                                              \
        (void)order;                                                                               \
        touch(at, sizeof *at, true, CODE);                                                         \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                             \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, \
                                                    int order, int failed);                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *at, type *expected, type value, \
                                                    int order, int failed)                         \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        touch(at, sizeof *at, true, CODE);                                                         \
        return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST,           \
                                           __ATOMIC_SEQ_CST);                                      \
    }
ATOMICS(8, uint8_t)
ATOMICS(64, uint64_t)

/* The linker replaces those of the C library. */
void *__real_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size)
{
    if (size && is_counting) {
        touch(from, size, false, CODE);
        touch(to, size, true, CODE);
    }
    return __real_memcpy(to, from, size);
}

void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

/* A lock held for longer was held by a thread that the system had interrupted. */
static const uint64_t INTERRUPTED_NS = 50000;

/* ---- Between the scheduler and the C library ------------------------------------------------- */

static _Atomic uint64_t n_locks, n_contended, waited_ns, held_ns, n_waits;
static uint64_t locked_ns; /* guarded by the lock */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    touch(mutex, sizeof *mutex, true, CODE);
    n_locks++;
    if (pthread_mutex_trylock(mutex) != 0) {
        const uint64_t began = now();
        n_contended++;
        __real_pthread_mutex_lock(mutex);
        waited_ns += now() - began;
    }
    locked_ns = now();
    return 0;
}

static void add_held(void)
{
    const uint64_t ns = now() - locked_ns;
    if (ns < INTERRUPTED_NS)
        held_ns += ns;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    add_held();
    return __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    n_waits++;
    add_held();
    const int result = __real_pthread_cond_wait(cond, mutex);
    locked_ns = now();
    return result;
}

/* ---- The work -------------------------------------------------------------------------------- */

static struct dg_net *make_net(void)
{
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_net *net = NULL;
    must(dg_net_random_shape(&bp, "student", &error), &error);
    bp.D = 16;
    bp.encoder = (struct dg_stack){1, 2, 16, 64};
    bp.decoder = (struct dg_stack){1, 2, 16, 64};
    must(dg_net_random(&net, &bp, NULL, 1, &error), &error);
    return net;
}

struct load {
    struct dg_sched *sched;
    struct dg_sched_model *model;
    struct dg_flow flows[MOST];
    struct dg_clock clock;
    uint64_t n_tokens;
    struct dg_sched_stats stats;
};

static void submit(struct load *load, size_t n_workers)
{
    static const int32_t source[SOURCE] = {5, 9, 13, 22, 31, 40, 51, 60};
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = 1;
    opts.min_len = opts.max_len = LENGTH;
    for (size_t i = 0; i < n_workers * EACH; i++) {
        struct dg_flow *flow = &load->flows[i / EACH];
        if (i % EACH == 0)
            dg_flow_init(flow, DG_PRIORITY_NORMAL, 1 + i / EACH);
        struct dg_ticket *ticket = dg_ticket_new(load->model, source, SOURCE, &opts, LENGTH);
        must(dg_sched_submit(load->sched, flow, ticket, NULL), NULL);
    }
}

/* What the consumer reads. */
__attribute__((noinline)) static void consume(const volatile void *at, size_t size)
{
    touch(at, size, false, CODE);
}

static size_t collect(struct load *load)
{
    struct dg_ticket *ticket;
    bool is_over;
    size_t n_over = 0;
    dg_sched_listen(load->sched);
    while (dg_sched_next(load->sched, &ticket, &is_over)) {
        const size_t last = dg_ticket_shown(ticket) - 1;
        consume(&ticket->n_shown, sizeof ticket->n_shown);
        consume(&ticket->shown_ids[last], sizeof *ticket->shown_ids);
        consume(&ticket->shown_logprobs[last], sizeof *ticket->shown_logprobs);
        if (!is_over)
            continue;
        load->n_tokens += dg_ticket_shown(ticket);
        dg_ticket_free(ticket);
        n_over++;
    }
    return n_over;
}

static void open_load(struct load *load, const struct dg_net *net, size_t n_workers,
                      bool has_threads)
{
    struct dg_error error = DG_ERROR_NONE;
    *load = (struct load){.clock = DG_CLOCK_VIRTUAL(1)};
    const struct dg_sched_opts opts = {.n_workers = n_workers,
                                       .max_tickets = 4 * n_workers * EACH,
                                       .manual = !has_threads,
                                       .clock = has_threads ? NULL : &load->clock};
    must(dg_sched_new(&opts, &error, &load->sched), &error);
    must(dg_sched_attach(load->sched, net, &limits, &error, &load->model), &error);
}

static void close_load(struct load *load)
{
    dg_sched_read_stats(load->sched, &load->stats);
    dg_sched_detach(load->sched, load->model);
    dg_sched_free(load->sched);
}

static void serve(struct load *load, size_t n_workers, bool has_threads)
{
    for (size_t n_over = 0; n_over < n_workers * EACH;) {
        for (size_t w = 0; w < n_workers && !has_threads; w++) {
            actor = w;
            dg_sched_turn(load->sched, w);
        }
        actor = n_workers;
        if (has_threads)
            usleep(200);
        n_over += collect(load);
    }
}

/* ---- Locks ----------------------------------------------------------------------------------- */

static void count_locks(const struct dg_net *net, size_t n_workers, bool has_threads)
{
    static struct load load;
    open_load(&load, net, n_workers, has_threads);
    n_locks = n_contended = waited_ns = held_ns = n_waits = 0;
    submit(&load, n_workers);
    if (!has_threads) /* the turns alone */
        n_locks = n_contended = waited_ns = held_ns = n_waits = 0;
    serve(&load, n_workers, has_threads);
    const double tokens = (double)load.n_tokens;
    const uint64_t locks = n_locks, contended = n_contended, waited = waited_ns, held = held_ns;
    close_load(&load);
    const double steps = (double)load.stats.n_steps;
    if (has_threads)
        printf("%7zu  %9.2f  %9.4f  %9.0f  %9.3f  %9.2f\n", n_workers, (double)locks / tokens,
               (double)contended / tokens, (double)waited / tokens,
               (double)load.stats.n_wake_ups / tokens, (double)load.stats.n_rows / steps);
    else
        printf("%7zu  %9.3f  %9.0f  %9.2f  %9.0f  %9.3f\n", n_workers, (double)locks / tokens,
               (double)held / tokens, (double)locks / steps, (double)held / steps,
               (double)load.stats.n_news / tokens);
}

static void measure_locks(const struct dg_net *net, const size_t *n_workers, size_t n)
{
    printf("one thread, %d rows a step\n"
           "workers  lock/token  ns held/token  locks/step  ns held/step  news/token\n",
           EACH);
    for (size_t i = 0; i < n; i++)
        count_locks(net, n_workers[i], false);
    printf("threads\nworkers  locks/token  found taken/token  ns waited/token  wake-ups/token  "
           "rows/step\n");
    for (size_t i = 0; i < n; i++)
        count_locks(net, n_workers[i], true);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int by_n(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    return (one->n < two->n) - (one->n > two->n);
}

/* Prints the places that cause the most transfers. */
static void print_places(double n_tokens)
{
    enum { TOP = 12 };
    Dl_info info;
    qsort(places, PLACES, sizeof *places, by_n);
    for (size_t i = 0; i < TOP && places[i].n > 0 && dladdr(places[i].code, &info); i++)
        printf("    %6.3f  %lx\n", (double)places[i].n / n_tokens,
               (unsigned long)((uintptr_t)places[i].code - 1 - (uintptr_t)info.dli_fbase));
}

static void count_lines(const struct dg_net *net, size_t n_workers)
{
    static struct load load;
    uint64_t all = 0;
    memset(lines, 0, sizeof lines);
    memset(places, 0, sizeof places);
    open_load(&load, net, n_workers, false);
    stack = (uintptr_t)&net;
    actor = n_workers;
    is_counting = true;
    submit(&load, n_workers);
    serve(&load, n_workers, false);
    is_counting = false;
    close_load(&load);
    for (size_t i = 0; i < PLACES; i++)
        all += places[i].n;
    printf("%zu workers: %.2f transfers of lines for each token\n", n_workers,
           (double)all / (double)load.n_tokens);
    print_places((double)load.n_tokens);
}

int main(void)
{
    static const size_t n_workers[] = {1, 8, 16, 64, 128};
    const size_t n = sizeof n_workers / sizeof *n_workers;
    struct dg_net *net = make_net();
    if (!WATCHES)
        measure_locks(net, n_workers, n);
    for (size_t i = 0; i < n && WATCHES; i++)
        count_lines(net, n_workers[i]);
    dg_net_free(net);
    return 0;
}
