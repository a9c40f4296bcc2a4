/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The network compared with the slow one of tests/support/ref_net.c for every kind of blueprint,
 * and its promises: results depend only on the sentence, to the bit; cached equals uncached; lanes
 * may swap; poison changes nothing; and nothing is allocated after creation. */
#include "network/net.h"

#include "base/memory/mem.h"
#include "base/thread/helpers.h"
#include "mkmodel.h"
#include "model/model_dir.h"
#include "network/net_random.h"
#include "ref_net.h"
#include "ref_seq.h"
#include "tmpdir.h"
#include "two_nodes.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { S_MAX = 24, T_MAX = 12 };

static char root[DG_TMPDIR_CAP];
static struct dg_model *model;
static uint32_t seed = 5;

static uint32_t next(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void open_model(const struct dg_mkmodel *options)
{
    struct dg_error error = DG_ERROR_NONE;
    char dir[DG_TMPDIR_CAP + 8];
    dg_tmpdir_make(root);
    snprintf(dir, sizeof dir, "%s/m", root);
    enum dg_err err = dg_mkmodel(dir, options, &error);
    ck_assert_msg(!err, "%s", dg_error_text(&error, err));
    err = dg_model_open(&model, dir, &error);
    ck_assert_msg(!err, "%s", dg_error_text(&error, err));
    dg_tmpdir_remove(dir);
    dg_tmpdir_remove(root);
}

static struct dg_nodes *nodes; /* NULL: there is one copy of each network */

static struct dg_net *make_net(const struct dg_kernels *kernels, enum dg_net_type type)
{
    struct dg_net *net;
    const struct dg_net_opts opts = {.kernels = kernels, .type = type, .nodes = nodes};
    ck_assert_int_eq(
        dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), &opts, NULL), DG_OK);
    return net;
}

static enum dg_net_kv kv; /* of the states that are made */

static struct dg_net_state *make_state(const struct dg_net *net, size_t slots, size_t lanes,
                                       size_t rows)
{
    struct dg_net_state *state;
    const struct dg_net_limits limits = {.slots = slots,
                                         .lanes = lanes,
                                         .rows = rows,
                                         .source_len = S_MAX,
                                         .target_len = T_MAX,
                                         .shortlist = 50,
                                         .kv = kv};
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    return state;
}

static void random_ids(int32_t *ids, size_t n, size_t V)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)next((uint32_t)V);
}

/* inputs[0] is the start, the rest random. */
static void random_inputs(const struct dg_net *net, int32_t *inputs, size_t T)
{
    random_ids(inputs, T, dg_net_blueprint(net)->decoder.V);
    inputs[0] = dg_net_start_token(net);
}

static void start(struct dg_net_state *state, size_t slot, const int32_t *ids, size_t S,
                  size_t lanes)
{
    ck_assert_int_eq(dg_net_open(state, slot, S, lanes, T_MAX), DG_OK);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){slot, ids}, 1), DG_OK);
}

static void step_one(struct dg_net_state *state, uint32_t slot, uint32_t position, int32_t token)
{
    const struct dg_net_row row = {
        .slot = slot, .position = position, .token = token, .want_logits = true};
    ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}), DG_OK);
}

static double largest_difference(const float *a, const double *b, size_t n)
{
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        ck_assert(isfinite(a[i]));
        most = fmax(most, fabs((double)a[i] - b[i]));
    }
    return most;
}

/* ---- Against the slow network ---------------------------------------------------------------- */

static void compare_with_ref(const struct dg_kernels *kernels, double *worst)
{
    const struct dg_blueprint *bp = dg_model_blueprint(model);
    const struct ref ref = {bp, &dg_model_weights(model)->transformer};
    struct dg_net *net = make_net(kernels, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 1, 1, T_MAX);
    int32_t ids[S_MAX], inputs[T_MAX];
    for (size_t S = 1; S <= S_MAX; S += 5) {
        random_ids(ids, S, bp->encoder.V);
        random_inputs(net, inputs, T_MAX);
        double *encoded = ref_encode(&ref, ids, S),
               *logits = ref_decode(&ref, encoded, S, inputs, T_MAX);
        start(state, 0, ids, S, 1);
        worst[0] = fmax(worst[0], largest_difference(dg_net_encoded(state, 0), encoded, S * bp->D));
        for (uint32_t t = 0; t < T_MAX; t++) {
            step_one(state, 0, t, inputs[t]);
            worst[1] =
                fmax(worst[1], largest_difference(dg_net_logits(state, 0),
                                                  logits + t * bp->decoder.V, bp->decoder.V));
        }
        dg_net_close(state, 0);
        free(encoded);
        free(logits);
    }
    dg_net_state_free(state);
    dg_net_free(net);
}

static const struct dg_blueprint kinds[] = {
    {.activation = DG_ACT_RELU,
     .positions = DG_POS_HALVES,
     .tie_source_target = true,
     .tie_output = true,
     .output_bias = true},
    {.activation = DG_ACT_SILU,
     .positions = DG_POS_HALVES_CLOSED,
     .start = DG_START_ZERO,
     .D = 36,
     .tie_output = true,
     .output_bias = true,
     .norm_epsilon = 1e-6f},
    {.activation = DG_ACT_GELU_ERF,
     .positions = DG_POS_INTERLEAVED,
     .norm_place = DG_NORM_PRE,
     .tie_source_target = true,
     .D = 128,
     .encoder = {.H = 2, .F = 200, .n_layers = 3}},
    {.activation = DG_ACT_GELU_TANH,
     .positions = DG_POS_LEARNED,
     .norm_kind = DG_NORM_RMS,
     .norm_place = DG_NORM_PRE,
     .decoder = {.H = 1, .n_layers = 1},
     .output_bias = true},
    {.activation = DG_ACT_GELU_QUICK,
     .positions = DG_POS_NONE,
     .embedding_norm = true,
     .final_norm = true,
     .norm_kind = DG_NORM_RMS,
     .embedding_scale = 1},
    {.activation = DG_ACT_RELU,
     .positions = DG_POS_HALVES_CLOSED,
     .position_offset = 2,
     .norm_place = DG_NORM_PRE,
     .tie_source_target = true,
     .tie_output = true,
     .D = 64},
    {.positions = DG_POS_HALVES_CLOSED,
     .norm_place = DG_NORM_PRE,
     .norm_queries_only = true,
     .final_norm = true,
     .D = 48,
     .encoder = {.H = 2, .n_layers = 2},
     .output_bias = true},
    {.positions = DG_POS_NONE,
     .relative_reach = 4,
     .norm_place = DG_NORM_PRE,
     .embedding_scale = 1,
     .output_bias = true},
    {.positions = DG_POS_HALVES,
     .relative_reach = 20,
     .D = 48,
     .encoder = {.H = 2},
     .decoder = {.H = 6}},
    {.decoder_kind = DG_DECODER_SSRU,
     .positions = DG_POS_HALVES_CLOSED,
     .start = DG_START_ZERO,
     .tie_source_target = true,
     .tie_output = true,
     .output_bias = true,
     .D = 48},
    {.decoder_kind = DG_DECODER_SSRU,
     .positions = DG_POS_HALVES,
     .norm_place = DG_NORM_PRE,
     .D = 20},
    {.decoder_kind = DG_DECODER_AAN,
     .positions = DG_POS_HALVES_CLOSED,
     .start = DG_START_ZERO,
     .activation = DG_ACT_SILU},
    {.decoder_kind = DG_DECODER_AAN,
     .positions = DG_POS_HALVES,
     .aan_depth = 1,
     .aan_F = 1,
     .D = 24},
    {.decoder_kind = DG_DECODER_AAN,
     .positions = DG_POS_HALVES,
     .aan_depth = 4,
     .aan_F = 90,
     .aan_gate = true,
     .norm_place = DG_NORM_PRE},
    /* tests/integration/17_shapes.py compares those of tests/golden/reference.py, not this test. */
    {.decoder_kind = DG_DECODER_GRU,
     .start = DG_START_ZERO,
     .embedding_scale = 1,
     .rnn = {.width = 20}},
    {.decoder_kind = DG_DECODER_LSTM,
     .decoder = {.n_layers = 3},
     .encoder = {.n_layers = 3},
     .rnn = {.encoder = DG_RNN_ALTERNATING,
             .encoder_cells = 2,
             .base_cells = 3,
             .norm = true,
             .skip = true}},
    {.decoder_kind = DG_DECODER_GRU,
     .encoder = {.n_layers = 3},
     .rnn = {.encoder = DG_RNN_BI_TOP, .high_cells = 2}},
    {.family = DG_FAMILY_SEQ,
     .decoder_kind = DG_DECODER_GRU,
     .seq = {.attention = DG_SEQ_LOCATION},
     .output_bias = true},
    {.family = DG_FAMILY_SEQ,
     .decoder_kind = DG_DECODER_LSTM,
     .seq = {.attention = DG_SEQ_DOT, .is_bidirectional = true},
     .start = DG_START_ZERO,
     .tie_source_target = true,
     .tie_output = true},
    {.family = DG_FAMILY_SEQ,
     .decoder_kind = DG_DECODER_TANH,
     .seq = {.attention = DG_SEQ_GENERAL},
     .D = 20,
     .encoder = {.n_layers = 1},
     .decoder = {.n_layers = 3},
     .output_bias = true},
    {.family = DG_FAMILY_SEQ,
     .decoder_kind = DG_DECODER_GRU,
     .seq = {.attention = DG_SEQ_ADDITIVE, .is_bidirectional = true},
     .encoder = {.n_layers = 3},
     .decoder = {.n_layers = 1},
     .output_bias = true,
     .tie_output = true},
    {.family = DG_FAMILY_SEQ,
     .decoder_kind = DG_DECODER_LSTM,
     .seq = {.attention = DG_SEQ_NONE},
     .output_bias = true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_SEQ = 5, N_TRANSFORMERS = N_KINDS - 3 - N_SEQ };

static void agree_with_ref(size_t which)
{
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    static const enum dg_dtype types[] = {DG_DTYPE_F32, DG_DTYPE_F16, DG_DTYPE_BF16, DG_DTYPE_I8};
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint = kinds[which];
    options.dtype = types[which % 4];
    open_model(&options);
    for (size_t t = 0; t < n_tables; t++) {
        double worst[2] = {0.0, 0.0};
        compare_with_ref(tables[t], worst);
        ck_assert_msg(worst[0] < 2e-5 && worst[1] < 1e-4,
                      "kind %zu, %s: encoder off by %g, logits by %g", which, tables[t]->name,
                      worst[0], worst[1]);
    }
    dg_model_unref(model);
}

START_TEST(agrees_with_the_slow_network_for_every_kind_of_blueprint)
{
    for (size_t i = 0; i < N_TRANSFORMERS; i++)
        agree_with_ref(i);
}
END_TEST

/* Plain recurrent networks have their own slow implementation. */
static void agree_with_ref_seq(const struct dg_blueprint *bp)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint = *bp;
    open_model(&options);
    bp = dg_model_blueprint(model);
    struct dg_net *net = make_net(NULL, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 1, 1, T_MAX);
    const size_t T = bp->seq.is_classifier ? 1 : T_MAX;
    int32_t ids[S_MAX], inputs[T_MAX] = {DG_ID_NONE};
    for (size_t S = 1; S <= S_MAX; S += 5) {
        random_ids(ids, S, bp->encoder.V);
        if (!bp->seq.is_classifier)
            random_inputs(net, inputs, T);
        double *logits = ref_seq(bp, &dg_model_weights(model)->seq, ids, S, inputs, T);
        start(state, 0, ids, S, 1);
        for (uint32_t t = 0; t < T; t++) {
            step_one(state, 0, t, inputs[t]);
            const double off = largest_difference(dg_net_logits(state, 0),
                                                  logits + t * bp->decoder.V, bp->decoder.V);
            ck_assert_msg(off < 2e-5, "%s, attention %s: logits off by %g",
                          dg_decoder_kind_name(bp->decoder_kind),
                          dg_seq_attention_name(bp->seq.attention), off);
        }
        dg_net_close(state, 0);
        free(logits);
    }
    dg_net_state_free(state);
    dg_net_free(net);
    dg_model_unref(model);
}

START_TEST(plain_recurrent_networks_agree_with_their_slow_twin)
{
    const struct dg_blueprint classifier = {
        .family = DG_FAMILY_SEQ,
        .decoder_kind = DG_DECODER_LSTM,
        .output_bias = true,
        .seq = {.is_classifier = true, .is_bidirectional = true},
        .decoder = {.V = 3}};
    for (size_t i = N_KINDS - N_SEQ; i < N_KINDS; i++)
        agree_with_ref_seq(&kinds[i]);
    agree_with_ref_seq(&classifier);
}
END_TEST

/* ---- Independence ---------------------------------------------------------------------------- */

struct sentence {
    int32_t ids[S_MAX], inputs[T_MAX];
    size_t S;
    float *logits; /* [T_MAX][V] alone */
};

static void run_alone(const struct dg_net *net, struct sentence *s, bool together)
{
    const size_t V = dg_net_blueprint(net)->decoder.V;
    struct dg_net_state *state = make_state(net, 1, 1, T_MAX);
    struct dg_net_row rows[T_MAX];
    start(state, 0, s->ids, s->S, 1);
    for (uint32_t t = 0; t < T_MAX; t++) {
        rows[t] = (struct dg_net_row){.position = t, .token = s->inputs[t], .want_logits = true};
        if (!together) {
            step_one(state, 0, t, s->inputs[t]);
            memcpy(s->logits + t * V, dg_net_logits(state, 0), V * sizeof(float));
        }
    }
    if (together) {
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = T_MAX}),
                         DG_OK);
        for (size_t t = 0; t < T_MAX; t++)
            ck_assert_mem_eq(s->logits + t * V, dg_net_logits(state, t), V * sizeof(float));
    }
    dg_net_state_free(state);
}

static void make_sentences(const struct dg_net *net, struct sentence *s, size_t n)
{
    const struct dg_blueprint *bp = dg_net_blueprint(net);
    for (size_t i = 0; i < n; i++) {
        s[i].S = 1 + next(S_MAX);
        s[i].logits = dg_xmalloc(T_MAX * bp->decoder.V * sizeof(float));
        random_ids(s[i].ids, s[i].S, bp->encoder.V);
        random_inputs(net, s[i].inputs, T_MAX);
        run_alone(net, &s[i], false);
        run_alone(net, &s[i], true); /* cached equals uncached, to the bit */
    }
}

/* Many sentences in one state; each begins at its own moment; slots are used again. */
static void run_mixed(const struct dg_net *net, const struct sentence *s, size_t n, bool poison)
{
    enum { SLOTS = 9 };
    const size_t V = dg_net_blueprint(net)->decoder.V;
    struct dg_net_state *state = make_state(net, SLOTS, 1, SLOTS);
    size_t who[SLOTS], done = 0, begun = 0;
    uint32_t age[SLOTS];
    bool live[SLOTS] = {false};
    if (poison)
        dg_net_poison(state);
    while (done < n) {
        struct dg_net_source sources[SLOTS];
        struct dg_net_row rows[SLOTS];
        size_t n_sources = 0, n_rows = 0;
        for (size_t k = 0; k < SLOTS; k++)
            if (!live[k] && begun < n && next(3)) {
                who[k] = begun++;
                age[k] = 0;
                live[k] = true;
                ck_assert_int_eq(dg_net_open(state, k, s[who[k]].S, 1, T_MAX), DG_OK);
                sources[n_sources++] = (struct dg_net_source){k, s[who[k]].ids};
            }
        ck_assert_int_eq(dg_net_encode(state, sources, n_sources), DG_OK);
        for (size_t k = 0; k < SLOTS; k++)
            if (live[k] && next(5))
                rows[n_rows++] = (struct dg_net_row){.slot = (uint32_t)k,
                                                     .position = age[k],
                                                     .token = s[who[k]].inputs[age[k]],
                                                     .want_logits = true};
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = n_rows}),
                         DG_OK);
        for (size_t i = 0; i < n_rows; i++) {
            const size_t k = rows[i].slot;
            ck_assert_msg(memcmp(dg_net_logits(state, i), s[who[k]].logits + age[k] * V,
                                 V * sizeof(float)) == 0,
                          "sentence %zu differs at position %u beside %zu rows", who[k], age[k],
                          n_rows);
            if (++age[k] < T_MAX)
                continue;
            dg_net_close(state, k);
            live[k] = false;
            done++;
        }
        if (poison)
            dg_net_poison(state);
    }
    ck_assert_uint_eq(dg_net_room(state), dg_net_state_limits(state)->kv_tokens);
    dg_net_state_free(state);
}

static void keep_bits_in_company(size_t which)
{
    enum { N = 40 };
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint = kinds[which];
    open_model(&options);
    for (size_t t = 0; t < n_tables; t++)
        for (int type = DG_NET_F32; type <= DG_NET_I8; type++) {
            /* test_ops compares the rest, where it costs less */
            if ((type == DG_NET_BF16 && (t > 0 || which % 4)) ||
                (type == DG_NET_BF16_FAST && t > 0 && which % 4))
                continue;
            kv = type == DG_NET_BF16 || (type == DG_NET_I8 && (t + which) % 2) ? DG_NET_KV_I8
                                                                               : DG_NET_KV_AUTO;
            struct dg_net *net = make_net(tables[t], (enum dg_net_type)type);
            struct sentence s[N];
            make_sentences(net, s, N);
            run_mixed(net, s, N, false);
            run_mixed(net, s, N, true);
            for (size_t i = 0; i < N; i++)
                dg_free(s[i].logits);
            dg_net_free(net);
        }
    dg_model_unref(model);
}

START_TEST(a_sentence_gets_the_same_bits_alone_and_in_any_company)
{
    for (size_t i = 0; i < N_KINDS; i++)
        keep_bits_in_company(i);
    kv = DG_NET_KV_AUTO;
}
END_TEST

/* The copy for another memory node gives the same bits, and needs nothing of the original. */
static void copy_bits(size_t which)
{
    enum { N = 6 };
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint = kinds[which];
    open_model(&options);
    for (int type = DG_NET_F32; type <= DG_NET_I8; type++) {
        struct dg_net *net = make_net(NULL, (enum dg_net_type)type);
        struct sentence s[N];
        make_sentences(net, s, N);
        run_mixed(two_nodes_spoil(net), s, N, true);
        for (size_t i = 0; i < N; i++)
            dg_free(s[i].logits);
        dg_net_free(net);
    }
    dg_model_unref(model);
}

START_TEST(each_memory_node_has_a_copy_of_its_own)
{
    char machine[DG_TMPDIR_CAP];
    two_nodes_make(machine);
    nodes = dg_nodes_new(machine, 2);
    for (size_t i = 0; nodes && i < N_KINDS; i++)
        copy_bits(i);
    dg_nodes_free(nodes);
    nodes = NULL;
    dg_tmpdir_remove(machine);
}
END_TEST

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* A random tree of hypotheses: every lane's logits equal those of its own tokens from the start. */
static void swap_lanes(size_t which)
{
    enum { LANES = 5 };
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint = kinds[which];
    open_model(&options);
    struct dg_net *net = make_net(NULL, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 2, LANES, LANES),
                        *plain = make_state(net, 1, 1, T_MAX);
    const size_t V = dg_net_blueprint(net)->decoder.V;
    int32_t ids[S_MAX], tokens[2][LANES][T_MAX];
    random_ids(ids, S_MAX, dg_net_blueprint(net)->encoder.V);
    start(state, 1, ids, S_MAX, LANES);
    const size_t room = dg_net_room(state);
    dg_net_poison(state);
    for (uint32_t t = 0; t < T_MAX; t++) {
        struct dg_net_row rows[LANES];
        size_t n = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            if (t > 0 && lane > 0 && next(4) == 0)
                continue; /* a lane dies; it may return as the child of another lane */
            uint32_t parent = 0;
            do
                parent = next(LANES);
            while (t > 0 && tokens[t & 1][parent][0] == -2);
            if (t > 0)
                memcpy(tokens[!(t & 1)][lane], tokens[t & 1][parent], t * sizeof(int32_t));
            tokens[!(t & 1)][lane][t] = t ? (int32_t)next((uint32_t)V) : dg_net_start_token(net);
            rows[n++] = (struct dg_net_row){.slot = 1,
                                            .lane = lane,
                                            .parent = parent,
                                            .position = t,
                                            .token = tokens[!(t & 1)][lane][t],
                                            .want_logits = true};
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            bool named = false;
            for (size_t i = 0; i < n; i++)
                named = named || rows[i].lane == lane;
            if (!named)
                tokens[!(t & 1)][lane][0] = -2;
        }
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = n}),
                         DG_OK);
        for (size_t i = 0; i < n; i++) {
            struct dg_net_row whole[T_MAX];
            for (uint32_t p = 0; p <= t; p++)
                whole[p] = (struct dg_net_row){.position = p,
                                               .want_logits = p == t,
                                               .token = tokens[!(t & 1)][rows[i].lane][p]};
            start(plain, 0, ids, S_MAX, 1);
            ck_assert_int_eq(
                dg_net_step(plain, &(struct dg_net_step){.rows = whole, .n_rows = t + 1}), DG_OK);
            ck_assert_mem_eq(dg_net_logits(plain, t), dg_net_logits(state, i), V * sizeof(float));
            ck_assert(t == 0 || dg_net_logits(plain, 0) == NULL);
            dg_net_close(plain, 0);
        }
    }
    ck_assert_uint_eq(dg_net_room(state), room);
    dg_net_close(state, 1);
    ck_assert_uint_eq(dg_net_room(state), dg_net_state_limits(state)->kv_tokens);
    dg_net_state_free(state);
    dg_net_state_free(plain);
    dg_net_free(net);
    dg_model_unref(model);
}

START_TEST(lanes_fork_swap_and_die_without_a_trace)
{
    for (size_t i = 0; i < N_KINDS * 2; i++) {
        kv = i < N_KINDS ? DG_NET_KV_AUTO : DG_NET_KV_I8;
        swap_lanes(i % N_KINDS);
    }
    kv = DG_NET_KV_AUTO;
}
END_TEST

/* ---- Other promises -------------------------------------------------------------------------- */

START_TEST(shortlists_give_the_same_bits_for_fewer_words)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    open_model(&options);
    const int32_t words[] = {7, 0, 199, 42, 3, 100, 101};
    enum { N = sizeof words / sizeof *words };
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    static const enum dg_net_type types[] = {DG_NET_F32, DG_NET_BF16, DG_NET_BF16_FAST, DG_NET_I8};
    const size_t n_cases = 4 * dg_kernels_all(tables);
    for (size_t i_case = 0; i_case < n_cases; i_case++) {
        struct dg_net *net = make_net(tables[i_case / 4], types[i_case % 4]);
        struct dg_net_state *state = make_state(net, 1, 1, 2);
        struct dg_net_row row = {.token = dg_net_start_token(net), .want_logits = true};
        struct dg_net_step step = {.rows = &row,
                                   .n_rows = 1,
                                   .shortlist = true,
                                   .attention = true,
                                   .attention_layer = 1,
                                   .attention_head = -1};
        float all[200], mean = 0.0f;
        const int32_t ids[] = {5, 6, 0}, bad[] = {200};
        start(state, 0, ids, 3, 1);
        step_one(state, 0, 0, row.token);
        memcpy(all, dg_net_logits(state, 0), sizeof all);
        ck_assert_ptr_null(dg_net_attention(state, 0));
        row.position = 1;
        ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_RANGE); /* no shortlist is set yet */
        ck_assert_int_eq(dg_net_set_shortlist(state, bad, 1), DG_ERR_RANGE);
        ck_assert_int_eq(dg_net_set_shortlist(state, words, N), DG_OK);
        dg_net_close(state, 0);
        start(state, 0, ids, 3, 1);
        row.position = 0;
        ck_assert_int_eq(dg_net_step(state, &step), DG_OK);
        for (size_t i = 0; i < N; i++)
            ck_assert(dg_net_logits(state, 0)[i] == all[words[i]]);
        for (size_t s = 0; s < 3; s++)
            mean += dg_net_attention(state, 0)[s];
        ck_assert(fabsf(mean - 1.0f) < 1e-5f);
        dg_net_state_free(state);
        dg_net_free(net);
    }
    dg_model_unref(model);
}
END_TEST

START_TEST(refuses_rows_that_make_no_sense_and_changes_nothing)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    open_model(&options);
    struct dg_net *net = make_net(NULL, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 3, 2, 4);
    const int32_t ids[] = {5, 6, 0}, outside[] = {5, 200, 0}, negative[] = {-1, 2, 0};
    struct dg_net_row r[5] = {{.slot = 0, .token = 199, .want_logits = true}};
    struct dg_net_step step = {.rows = r, .n_rows = 1};
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID); /* closed */
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, ids}, 1), DG_ERR_INVALID);
    ck_assert_int_eq(dg_net_open(state, 0, 0, 1, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, S_MAX + 1, 1, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, 3, 3, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, 3, 1, T_MAX + 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 3, 3, 1, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, 3, 2, 4), DG_OK);
    ck_assert_int_eq(dg_net_open(state, 0, 3, 2, 4), DG_ERR_RANGE); /* open already */
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID);    /* not encoded */
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, outside}, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, negative}, 1), DG_ERR_RANGE);
    const struct dg_net_source twice[] = {{0, ids}, {0, ids}};
    ck_assert_int_eq(dg_net_encode(state, twice, 2), DG_ERR_INVALID);
    ck_assert_int_eq(dg_net_encode(state, twice, 1), DG_OK);
    r[0].position = 1;
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID); /* nothing to continue */
    r[0].position = 0;
    r[0].token = 200;
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID);
    r[0].token = DG_ID_NONE; /* this model starts with a token */
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID);
    r[0].token = 199;
    r[0].lane = 2;
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID);
    r[0].lane = 0;
    r[1] = r[0];
    step.n_rows = 2;
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID); /* the same lane twice */
    start(state, 1, ids, 3, 2);
    r[1].slot = 1;
    r[2] = r[0];
    r[2].lane = 1;
    step.n_rows = 3;
    /* a slot's rows must be together */
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_INVALID);
    step.n_rows = 5;
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_RANGE);
    step = (struct dg_net_step){.rows = r, .n_rows = 1, .attention = true, .attention_layer = 2};
    ck_assert_int_eq(dg_net_step(state, &step), DG_ERR_RANGE);
    step = (struct dg_net_step){.rows = r, .n_rows = 2};
    ck_assert_int_eq(dg_net_step(state, &step), DG_OK); /* after all that, it works */
    dg_net_close(state, 0);
    dg_net_close(state, 0);
    dg_net_close(state, 77);
    dg_net_state_free(state);
    dg_net_free(net);
    dg_model_unref(model);
}
END_TEST

START_TEST(memory_is_one_number_and_nothing_is_allocated_afterwards)
{
    struct dg_blueprint bp;
    struct dg_net *net;
    struct dg_net_state *state;
    ck_assert_int_eq(dg_net_random_shape(&bp, "huge", NULL), DG_ERR_NOT_FOUND);
    ck_assert_int_eq(dg_net_random_shape(&bp, "tiny", NULL), DG_OK);
    bp.encoder.V = bp.decoder.V = 1000;
    ck_assert_int_eq(dg_net_random(&net, &bp, NULL, 3, NULL), DG_OK);
    struct dg_net_limits limits = {
        .slots = 2, .lanes = 2, .rows = 4, .source_len = 20, .target_len = 10, .kv_tokens = 45};
    size_t bytes, small;
    ck_assert_int_eq(dg_net_state_size(net, &limits, &bytes, NULL), DG_OK);
    limits.kv_tokens = 40;
    ck_assert_int_eq(dg_net_state_size(net, &limits, &small, NULL), DG_OK);
    ck_assert_uint_eq(bytes - small, 5 * 2 * 2 * 256 * sizeof(float)); /* 2 layers, key and value */
    for (uint64_t nth = 1; nth <= 2; nth++) {
        dg_mem_fail_after(nth);
        ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_ERR_NOMEM);
    }
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    const uint64_t before = dg_mem_count();
    int32_t ids[20];
    random_ids(ids, 20, 1000);
    ck_assert_int_eq(dg_net_open(state, 0, 20, 2, 10), DG_OK);
    ck_assert_uint_eq(dg_net_room(state), 0);
    ck_assert_int_eq(dg_net_open(state, 1, 1, 1, 1), DG_ERR_BUSY);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, ids}, 1), DG_OK);
    for (uint32_t t = 0; t < 10; t++) {
        const struct dg_net_row rows[] = {{0, 0, 1, t, t ? 5 : -1, true},
                                          {0, 1, 0, t, t ? 6 : -1, true}};
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = 2}),
                         DG_OK);
    }
    dg_net_close(state, 0);
    ck_assert_uint_eq(dg_mem_count(), before);
    limits.rows = 0;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_net_state_size(net, &limits, &bytes, &error), DG_ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(error.text, "0 rows"));
    dg_net_state_free(state);
    dg_net_free(net);
    for (uint64_t nth = 1;; nth++) {
        dg_mem_fail_after(nth);
        enum dg_err err = dg_net_random(&net, &bp, NULL, 3, NULL);
        if (!dg_mem_failed())
            break;
        ck_assert_int_eq(err, DG_ERR_NOMEM);
    }
    dg_net_free(net);
}
END_TEST

/* ---- Shared products ------------------------------------------------------------------------- */

enum { HELPERS = 3, SHARED_TOKENS = 20, SHARED_STEPS = 4 };

static struct dg_helpers helpers;
static atomic_uint_fast64_t are_called;

static void *help(void *arg)
{
    (void)arg;
    while (!atomic_load(&are_called))
        dg_helpers_help(&helpers, &are_called, 0);
    return NULL;
}

/* The encoder's output and the logits of some steps. */
static void translate(struct dg_net_state *state, float *out)
{
    const struct dg_blueprint *bp = dg_net_blueprint(dg_net_state_net(state));
    int32_t ids[SHARED_TOKENS];
    seed = 11;
    random_ids(ids, SHARED_TOKENS, bp->decoder.V);
    start(state, 0, ids, SHARED_TOKENS, 1);
    if (bp->family == DG_FAMILY_TRANSFORMER)
        memcpy(out, dg_net_encoded(state, 0), SHARED_TOKENS * bp->D * sizeof *out);
    out += SHARED_TOKENS * bp->D;
    for (uint32_t t = 0; t < SHARED_STEPS; t++, out += bp->decoder.V) {
        step_one(state, 0, t, t ? ids[t] : dg_net_start_token(dg_net_state_net(state)));
        memcpy(out, dg_net_logits(state, 0), bp->decoder.V * sizeof *out);
    }
    dg_net_close(state, 0);
}

/* A network large enough for parts. */
static struct dg_net *make_large(const char *shape, const struct dg_kernels *kernels,
                                 enum dg_net_type type)
{
    struct dg_blueprint bp;
    struct dg_net *net = NULL;
    ck_assert_int_eq(dg_net_random_shape(&bp, shape, NULL), DG_OK);
    bp.encoder.n_layers = bp.encoder.n_layers ? 1 : 0;
    bp.decoder.n_layers = 1;
    bp.encoder.V = bp.decoder.V = 5000;
    ck_assert_int_eq(
        dg_net_random(&net, &bp, &(struct dg_net_opts){.kernels = kernels, .type = type}, 1, NULL),
        DG_OK);
    ck_assert(dg_net_is_divisible(net) == (dg_net_kernels(net)->linear_columns != NULL));
    return net;
}

START_TEST(helpers_change_no_bit)
{
    static const char *const shapes[] = {"student", "student-ssru", "gpt2-small"};
    pthread_t threads[HELPERS];
    for (size_t i = 0; i < 6; i += getenv("DRAGOMAN_SLOW") ? 3 : 1) {
        struct dg_net *net = make_large(shapes[i / 2], NULL, i % 2 ? DG_NET_I8 : DG_NET_F32);
        const struct dg_blueprint *bp = dg_net_blueprint(net);
        const size_t n = SHARED_TOKENS * bp->D + SHARED_STEPS * bp->decoder.V;
        float *alone = calloc(n, sizeof *alone), *shared = calloc(n, sizeof *shared);
        struct dg_net_state *state = make_state(net, 1, 1, 1);
        ck_assert(alone && shared);
        translate(state, alone);
        for (size_t n_helpers = 0; n_helpers <= HELPERS; n_helpers++) {
            dg_helpers_init(&helpers, n_helpers);
            atomic_store(&are_called, 0);
            for (size_t h = 0; h < n_helpers; h++)
                ck_assert_int_eq(pthread_create(&threads[h], NULL, help, NULL), 0);
            for (int looks = 0; looks < 10000 && dg_helpers_count(&helpers) < n_helpers; looks++)
                sched_yield(); /* an output, so that the call is valid; its values do not matter */
            dg_net_state_lend(state, &helpers);
            translate(state, shared);
            ck_assert_mem_eq(shared, alone, n * sizeof *alone);
            atomic_store(&are_called, 1);
            for (size_t h = 0; h < n_helpers; h++)
                pthread_join(threads[h], NULL);
        }
        free(alone);
        free(shared);
        dg_net_state_free(state);
        dg_net_free(net);
    }
}
END_TEST

/* ---- Logits in parts ------------------------------------------------------------------------- */

enum { PARTS_ROWS = 20, PARTS_V = 5000, PARTS_SILENT = 3 };

struct parts {
    float logits[PARTS_ROWS][PARTS_V];
    size_t n[PARTS_ROWS]; /* columns that have arrived */
};

static void take_part(void *ctx, size_t row, float *logits, size_t first, size_t n)
{
    struct parts *parts = ctx;
    ck_assert_uint_eq(first, parts->n[row]);
    ck_assert(n == DG_VOCABULARY_BLOCK || first + n == PARTS_V);
    memcpy(&parts->logits[row][first], logits, n * sizeof *logits);
    for (size_t i = 0; i < n; i++)
        logits[i] = NAN; /* it may be changed */
    parts->n[row] += n;
}

/* The logits of two steps of `n_rows` sentences; row PARTS_SILENT needs none. */
static void step_in_parts(const struct dg_net *net, size_t n_rows, bool in_parts,
                          struct parts *parts)
{
    struct dg_net_state *state = make_state(net, PARTS_ROWS, 1, PARTS_ROWS);
    struct dg_net_row rows[PARTS_ROWS];
    seed = 5;
    for (size_t i = 0; i < n_rows; i++) {
        int32_t ids[6];
        random_ids(ids, 6, PARTS_V);
        start(state, i, ids, 6, 1);
        rows[i] = (struct dg_net_row){.slot = (uint32_t)i,
                                      .token = dg_net_start_token(net),
                                      .want_logits = i != PARTS_SILENT};
    }
    for (uint32_t t = 0; t < 2; t++) {
        memset(parts, 0, sizeof *parts);
        const struct dg_net_step step = {
            .rows = rows, .n_rows = n_rows, .take = in_parts ? take_part : NULL, .take_ctx = parts};
        ck_assert_int_eq(dg_net_step(state, &step), DG_OK);
        for (size_t i = 0; i < n_rows; i++) {
            const float *whole = dg_net_logits(state, i);
            ck_assert((whole == NULL) == (in_parts || i == PARTS_SILENT));
            if (whole)
                memcpy(parts->logits[i], whole, sizeof parts->logits[i]);
            ck_assert_uint_eq(parts->n[i], in_parts && i != PARTS_SILENT ? PARTS_V : 0);
            rows[i].token = (int32_t)(i * 31 + 7);
            rows[i].position = t + 1;
        }
    }
    dg_net_state_free(state);
}

START_TEST(logits_in_parts_are_the_same_bits)
{
    static const enum dg_net_type types[] = {DG_NET_F32, DG_NET_BF16, DG_NET_BF16_FAST, DG_NET_I8};
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    struct parts *whole = calloc(1, sizeof *whole), *parts = calloc(1, sizeof *parts);
    ck_assert(whole && parts);
    for (size_t i = 0; i < 4 * n_tables; i++) {
        struct dg_net *net = make_large("student", tables[i / 4], types[i % 4]);
        for (size_t n_rows = 2; n_rows <= PARTS_ROWS; n_rows += PARTS_ROWS - 2) {
            step_in_parts(net, n_rows, false, whole);
            step_in_parts(net, n_rows, true, parts);
            ck_assert_mem_eq(whole->logits, parts->logits, sizeof whole->logits);
        }
        dg_net_free(net);
    }
    free(whole);
    free(parts);
}
END_TEST

static void first_logits(const struct dg_net *net, const int32_t *ids, float logits[200])
{
    struct dg_net_state *state = make_state(net, 1, 1, 1);
    start(state, 0, ids, 10, 1);
    step_one(state, 0, 0, dg_net_start_token(net));
    memcpy(logits, dg_net_logits(state, 0), 200 * sizeof *logits);
    dg_net_state_free(state);
}

static void stays_near_the_floats(enum dg_net_type type, double most)
{
    struct dg_net *nets[] = {make_net(NULL, DG_NET_F32), make_net(NULL, type)};
    float logits[2][200];
    int32_t ids[10];
    random_ids(ids, 10, 200);
    for (int i = 0; i < 2; i++)
        first_logits(nets[i], ids, logits[i]);
    double power = 0.0, error = 0.0;
    for (int i = 0; i < 200; i++) {
        power += (double)logits[0][i] * (double)logits[0][i];
        error += ((double)logits[0][i] - (double)logits[1][i]) *
                 ((double)logits[0][i] - (double)logits[1][i]);
    }
    ck_assert_msg(error < most * power && error > 0.0, "type %d: error %g of %g", (int)type, error,
                  power);
    ck_assert_uint_lt(dg_net_bytes(nets[1]),
                      dg_net_bytes(nets[0]) * (type == DG_NET_I8 ? 50 : 60) / 100);
    dg_net_free(nets[0]);
    dg_net_free(nets[1]);
}

/* Quantised or rounded networks stay near the exact one. */
START_TEST(narrow_weights_stay_near_the_floats)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    options.blueprint.D = 128;
    options.blueprint.encoder.F = 256;
    open_model(&options);
    stays_near_the_floats(DG_NET_I8, 1e-3);
    stays_near_the_floats(DG_NET_BF16, 1e-4);
    stays_near_the_floats(DG_NET_BF16_FAST, 2e-4);
    dg_model_unref(model);
}
END_TEST

/* Matrices kept in their stored type give the same network, to the bit, as when they are
 * widened. */
START_TEST(stored_bf16_stay_so_and_change_no_bit)
{
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    int32_t ids[10];
    float logits[2][200];
    for (size_t which = 0; which < N_TRANSFORMERS; which += 3) {
        struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
        options.blueprint = kinds[which];
        options.dtype = DG_DTYPE_BF16;
        open_model(&options);
        random_ids(ids, 10, dg_model_blueprint(model)->encoder.V);
        ck_assert_uint_eq(dg_model_blueprint(model)->decoder.V, 200);
        for (size_t t = 0; t < n_tables; t++) {
            struct dg_net *kept = make_net(tables[t], DG_NET_AUTO),
                          *wide = make_net(tables[t], DG_NET_F32);
            ck_assert_int_eq(dg_net_type(kept), DG_PACKED_BF16);
            ck_assert_int_eq(dg_net_type(wide), DG_PACKED_F32);
            first_logits(kept, ids, logits[0]);
            first_logits(wide, ids, logits[1]);
            if (strcmp(tables[t]->name, "blas") != 0) /* whose F32 products come from a library */
                ck_assert_mem_eq(logits[0], logits[1], sizeof logits[0]);
            dg_net_free(kept);
            dg_net_free(wide);
        }
        dg_model_unref(model);
    }
}
END_TEST

DG_UNIT_SLOW(agrees_with_the_slow_network_for_every_kind_of_blueprint,
             plain_recurrent_networks_agree_with_their_slow_twin,
             a_sentence_gets_the_same_bits_alone_and_in_any_company,
             each_memory_node_has_a_copy_of_its_own, lanes_fork_swap_and_die_without_a_trace,
             shortlists_give_the_same_bits_for_fewer_words,
             refuses_rows_that_make_no_sense_and_changes_nothing,
             memory_is_one_number_and_nothing_is_allocated_afterwards, helpers_change_no_bit,
             logits_in_parts_are_the_same_bits, narrow_weights_stay_near_the_floats,
             stored_bf16_stay_so_and_change_no_bit)
