/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Compares one request computed by one thread with one whose matrix products several threads share
 * (dg_net_state_lend), in turns in one run:
 *
 *     tests/bench/bench_split SHAPE [f32|i8] [threads] [rounds] [target length] [source length]
 *
 * Greedy, one sentence at a time, random weights. A round is one sentence computed each way. It
 * prints the time on the clock for encoding (for reading the prompt) and for steps. On a busy
 * machine threads also wait for a core, so the lower quantiles show what the sharing itself costs
 * and gains, and the median shows what it gained on this machine. Processor time is that of all
 * threads. For shared work a second line counts only the cases in which helpers did a third of it,
 * because on a busy machine the threads seldom have a core at the same time. */
#include "base/thread/helpers.h"
#include "network/net_random.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, LENGTH_MAX = 1024, ROUNDS_MAX = 4096 };

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(enum dg_err err, struct dg_error *error)
{
    if (!err)
        return;
    fprintf(stderr, "bench_split: %s\n", dg_error_text(error, err));
    exit(1);
}

/* ---- Helpers: asleep while one thread works alone -------------------------------------------- */

static struct dg_helpers helpers;
static atomic_uint_fast64_t phase; /* odd while there is work to help with */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *help(void *arg)
{
    (void)arg;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (atomic_load(&phase) % 2 == 0)
            pthread_cond_wait(&changed, &lock);
        const uint64_t seen = atomic_load(&phase);
        pthread_mutex_unlock(&lock);
        dg_helpers_help(&helpers, &phase, seen);
    }
    return NULL;
}

static void set_phase(bool is_shared)
{
    pthread_mutex_lock(&lock);
    if (atomic_load(&phase) % 2 != is_shared)
        atomic_fetch_add(&phase, 1);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- Measurements ---------------------------------------------------------------------------- */

struct samples {
    double *steps, *encodes; /* seconds on the clock */
    double *helped_steps, *helped_encodes;
    size_t n_steps, n_encodes, n_helped_steps, n_helped_encodes;
    double cpu; /* of all */
};

/* Whether helpers have done a third or more of the parts since `before`. */
static bool was_helped(const struct dg_helpers *before)
{
    return 3 * (helpers.n_helped - before->n_helped) >= helpers.n_parts - before->n_parts &&
           helpers.n_parts > before->n_parts;
}

static void translate(struct dg_net_state *state, struct samples *to, size_t length, size_t source)
{
    const struct dg_blueprint *bp = dg_net_blueprint(dg_net_state_net(state));
    const struct dg_kernels *kernels = dg_net_kernels(dg_net_state_net(state));
    static int32_t ids[LENGTH_MAX];
    const size_t V = bp->family == DG_FAMILY_LM ? bp->decoder.V : bp->encoder.V;
    /* other words in each round, because the beginnings of prompts are cached */
    const size_t n = to->n_encodes;
    for (size_t s = 0; s < source; s++)
        ids[s] = (int32_t)((s * 104729 + 17 + n * 31337) % V);
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    struct dg_helpers before = {.n_parts = helpers.n_parts, .n_helped = helpers.n_helped};
    double at = now(CLOCK_MONOTONIC);
    must(dg_net_open(state, 0, source, 1, length), NULL);
    must(dg_net_encode(state, &(struct dg_net_source){0, ids, 0}, 1), NULL);
    to->encodes[to->n_encodes++] = now(CLOCK_MONOTONIC) - at;
    if (was_helped(&before))
        to->helped_encodes[to->n_helped_encodes++] = to->encodes[to->n_encodes - 1];
    struct dg_net_row row = {.token = dg_net_start_token(dg_net_state_net(state)),
                             .want_logits = true};
    for (; row.position < length; row.position++) {
        struct dg_top top[2];
        size_t n_top;
        before = (struct dg_helpers){.n_parts = helpers.n_parts, .n_helped = helpers.n_helped};
        at = now(CLOCK_MONOTONIC);
        must(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}), NULL);
        kernels->log_sum_exp_top(dg_net_logits(state, 0), bp->decoder.V, 2, top, &n_top);
        to->steps[to->n_steps++] = now(CLOCK_MONOTONIC) - at;
        if (was_helped(&before))
            to->helped_steps[to->n_helped_steps++] = to->steps[to->n_steps - 1];
        row.token = (int32_t)top[0].index;
    }
    dg_net_close(state, 0);
    to->cpu += now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print_quantiles(const char *name, double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    if (n)
        printf("; %zu %s, ms: p5 %.3f p10 %.3f p25 %.3f p50 %.3f", n, name, 1e3 * x[n / 20],
               1e3 * x[n / 10], 1e3 * x[n / 4], 1e3 * x[n / 2]);
}

static size_t number(int argc, char **argv, int i, size_t def, size_t most)
{
    const size_t n = argc > i ? (size_t)strtoul(argv[i], NULL, 10) : def;
    if (n < 1 || n > most) {
        fprintf(stderr, "bench_split: argument %d is %s, expected 1 to %zu\n", i, argv[i], most);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_blueprint bp;
    struct dg_net *net;
    struct dg_net_state *state;
    const char *shape = argc > 1 ? argv[1] : "base", *type = argc > 2 ? argv[2] : "i8";
    const size_t n_threads = number(argc, argv, 3, 2, THREADS_MAX),
                 rounds = number(argc, argv, 4, 20, ROUNDS_MAX);
    const size_t length = number(argc, argv, 5, 25, LENGTH_MAX),
                 source = number(argc, argv, 6, 25, LENGTH_MAX);
    must(dg_net_random_shape(&bp, shape, &error), &error);
    const struct dg_net_opts opts = {.type = strcmp(type, "i8") == 0 ? DG_NET_I8 : DG_NET_F32};
    must(dg_net_random(&net, &bp, &opts, 1, &error), &error);
    const struct dg_net_limits limits = {
        .slots = 1, .lanes = 1, .rows = 1, .source_len = source, .target_len = length};
    must(dg_net_state_new(&state, net, &limits, &error), &error);
    dg_helpers_init(&helpers, n_threads - 1);
    for (size_t i = 1; i < n_threads; i++) {
        pthread_t thread;
        must(dg_err_from_errno(pthread_create(&thread, NULL, help, NULL)), &error);
    }
    struct samples both[2];
    for (int i = 0; i < 2; i++)
        both[i] = (struct samples){.steps = calloc(rounds * length + length, sizeof(double)),
                                   .encodes = calloc(rounds + 1, sizeof(double)),
                                   .helped_steps = calloc(rounds * length + length, sizeof(double)),
                                   .helped_encodes = calloc(rounds + 1, sizeof(double))};
    for (size_t r = 0; r <= rounds; r++)
        for (int shared = 0; shared < 2; shared++) {
            if (r == 1) /* the first round warmed up */
                both[shared].n_steps = both[shared].n_encodes = both[shared].n_helped_steps =
                    both[shared].n_helped_encodes = 0,
                both[shared].cpu = 0;
            set_phase(shared);
            dg_net_state_lend(state, shared ? &helpers : NULL);
            translate(state, &both[shared], length, source);
        }
    set_phase(false);
    for (int shared = 0; shared < 2; shared++) {
        struct samples *s = &both[shared];
        printf("%s %s %s, %zu thread%s", shape, type, dg_net_kernels(net)->name,
               shared ? n_threads : 1, shared && n_threads > 1 ? "s" : "");
        print_quantiles("steps", s->steps, s->n_steps);
        print_quantiles("encodes", s->encodes, s->n_encodes);
        printf("; processor ms a token %.3f\n", 1e3 * s->cpu / (double)s->n_steps);
        if (shared) {
            printf("    helped");
            print_quantiles("steps", s->helped_steps, s->n_helped_steps);
            print_quantiles("encodes", s->helped_encodes, s->n_helped_encodes);
            printf("\n");
        }
    }
    return 0; /* the helpers sleep, and the process ends with them */
}
