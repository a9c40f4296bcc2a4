/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Tokens per second of the bare network, without the search that uses it: source and target of
 * fixed length; each step takes the best token (greedy) or lets lanes replace one another (beam).
 *
 *     tests/bench/bench_net SHAPE [f32|i8] [batch] [lanes] [target length] [source length]
 *
 * It prints the processor time of its one thread, as the median of several runs, and where the time
 * goes. */
#include "network/net_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { RUNS = 7, MOST = 256 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(enum dg_err err, struct dg_error *error)
{
    if (!err)
        return;
    fprintf(stderr, "bench_net: %s\n", dg_error_text(error, err));
    exit(1);
}

struct times {
    double encode, step, choose, first;
};

static void translate(struct dg_net_state *state, size_t batch, size_t lanes, size_t length,
                      size_t source, struct times *t)
{
    const struct dg_blueprint *bp = dg_net_blueprint(dg_net_state_net(state));
    const struct dg_kernels *kernels = dg_net_kernels(dg_net_state_net(state));
    struct dg_net_source sources[MOST];
    struct dg_net_row rows[MOST];
    static int32_t ids[MOST][512];
    *t = (struct times){0};
    double at = now();
    for (size_t b = 0; b < batch; b++) {
        for (size_t s = 0; s < source; s++)
            ids[b][s] = (int32_t)((b * 7919 + s * 104729 + 17) % bp->encoder.V);
        must(dg_net_open(state, b, source, lanes, length), NULL);
        sources[b] = (struct dg_net_source){b, ids[b]};
    }
    must(dg_net_encode(state, sources, batch), NULL);
    t->encode = now() - at;
    for (size_t i = 0; i < batch * lanes; i++)
        rows[i] = (struct dg_net_row){.slot = (uint32_t)(i / lanes),
                                      .lane = (uint32_t)(i % lanes),
                                      .token = dg_net_start_token(dg_net_state_net(state)),
                                      .want_logits = true};
    for (size_t position = 0; position < length; position++) {
        at = now();
        must(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = batch * lanes}),
             NULL);
        t->step += now() - at;
        if (position == 0)
            t->first = t->encode + t->step;
        at = now();
        for (size_t i = 0; i < batch * lanes; i++) {
            struct dg_top top[16];
            size_t n;
            kernels->log_sum_exp_top(dg_net_logits(state, i), bp->decoder.V, 2 * lanes, top, &n);
            rows[i].token = (int32_t)top[lanes > 1 ? i % lanes : 0].index;
            rows[i].position++;
            rows[i].parent = (uint32_t)((i * 5 + position) / 2 % lanes);
        }
        t->choose += now() - at;
    }
    for (size_t b = 0; b < batch; b++)
        dg_net_close(state, b);
}

static int by_total(const void *a, const void *b)
{
    const struct times *x = a, *y = b;
    double dx = x->encode + x->step + x->choose, dy = y->encode + y->step + y->choose;
    return dx < dy ? -1 : dx > dy;
}

int main(int argc, char **argv)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_blueprint bp;
    struct dg_net *net;
    struct dg_net_state *state;
    struct times t[RUNS];
    struct rusage usage;
    const char *shape = argc > 1 ? argv[1] : "student", *type = argc > 2 ? argv[2] : "f32";
    const size_t batch = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 1;
    const size_t lanes = argc > 4 ? (size_t)strtoul(argv[4], NULL, 10) : 1;
    const size_t length = argc > 5 ? (size_t)strtoul(argv[5], NULL, 10) : 25;
    const size_t source = argc > 6 ? (size_t)strtoul(argv[6], NULL, 10) : length;
    if (batch * lanes > MOST || lanes > 8 || length > 512 || source > 512) {
        fprintf(stderr, "bench_net: at most %d rows, 8 lanes, 512 tokens\n", MOST);
        return 2;
    }
    must(dg_net_random_shape(&bp, shape, &error), &error);
    const struct dg_net_opts opts = {.type = strcmp(type, "i8") == 0     ? DG_NET_I8
                                             : strcmp(type, "bf16") == 0 ? DG_NET_BF16
                                                                         : DG_NET_F32};
    must(dg_net_random(&net, &bp, &opts, 1, &error), &error);
    const struct dg_net_limits limits = {.slots = batch,
                                         .lanes = lanes,
                                         .rows = batch * lanes,
                                         .source_len = source,
                                         .target_len = length};
    must(dg_net_state_new(&state, net, &limits, &error), &error);
    for (int i = 0; i < RUNS; i++)
        translate(state, batch, lanes, length, source, &t[i]);
    qsort(t, RUNS, sizeof *t, by_total);
    const struct times *m = &t[RUNS / 2];
    getrusage(RUSAGE_SELF, &usage);
    printf("%s %s %s b%zu beam %zu: %.0f tokens/s; ms: encode %.2f, step %.3f, choose %.3f, "
           "first token %.2f; "
           "weights %.1f MB, peak %.1f MB\n",
           shape, type, dg_net_kernels(net)->name, batch, lanes,
           (double)(batch * length) / (m->encode + m->step + m->choose), m->encode * 1e3,
           m->step / (double)length * 1e3, m->choose / (double)length * 1e3, m->first * 1e3,
           (double)dg_net_bytes(net) / 1e6, (double)usage.ru_maxrss / 1e3);
    dg_net_state_free(state);
    dg_net_free(net);
    return 0;
}
