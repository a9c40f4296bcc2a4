/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The network with the French-English model of this tree, three ways:
 *  - against the slow network of tests/support/ref_net.c, to 1e-4;
 *  - against slices of an independent implementation's values (tests/golden/fr-en.json, by
 *    tests/golden/reference.py from the same file), to 1e-4: the network computes in F32, whatever
 *    type the weights are stored in;
 *  - if there is a shared folder (DRAGOMAN_SHARED, or ../shared beside the source tree), against
 * all of the values with the F32 model, to 1e-4.
 *
 * All three run with every table of kernels that this machine supports. */
#include "base/file/map_file.h"
#include "base/json/json.h"
#include "model/file/safetensors.h"
#include "model/model_dir.h"
#include "network/net.h"
#include "ref_net.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { N_SHARED = 12, LEN_MAX = 128, PATH_CAP = 4096 };

static struct dg_json *root;
static struct dg_map_file text;
static struct dg_model *model;

/* A path that is valid until three more have been requested. */
static const char *path_of(const char *folder, const char *name)
{
    static char paths[4][PATH_CAP];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    ck_assert_int_lt(snprintf(path, PATH_CAP, "%s/%s", folder, name), PATH_CAP);
    return path;
}

static const char *tree(void)
{
    const char *srcdir = getenv("srcdir");
    return srcdir ? srcdir : ".";
}

/* The shared folder, or NULL. */
static const char *shared(void)
{
    static char folder[PATH_CAP];
    const char *named = getenv("DRAGOMAN_SHARED");
    ck_assert_int_lt(
        snprintf(folder, sizeof folder, "%s", named ? named : path_of(tree(), "../shared")),
        PATH_CAP);
    return access(path_of(folder, "golden/fr-en/golden.json"), R_OK) == 0 ? folder : NULL;
}

static void open_both(const char *json_path, const char *model_path)
{
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_json_limits limits = {
        .max_bytes = 1 << 20, .max_depth = 8, .max_values = 100000};
    ck_assert_int_eq(dg_map_file_open(&text, json_path, 1 << 20, &error), DG_OK);
    const struct dg_span all = {(const char *)text.bytes, text.len};
    ck_assert_int_eq(dg_json_parse(all, &limits, &error, &root), DG_OK);
    enum dg_err err = dg_model_open(&model, model_path, &error);
    ck_assert_msg(!err, "%s", dg_error_text(&error, err));
}

static void close_both(void)
{
    dg_json_free(root);
    dg_map_file_close(&text);
    dg_model_unref(model);
}

static size_t read_ids(const struct dg_json *array, int32_t *ids)
{
    const size_t n = dg_json_len(array);
    ck_assert(n > 0 && n <= LEN_MAX);
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        ck_assert_int_eq(dg_json_int(dg_json_at(array, i), DG_SPAN("id"), 0, 100000, NULL, &id),
                         DG_OK);
        ids[i] = (int32_t)id;
    }
    return n;
}

/* ---- One sentence through the network -------------------------------------------------------- */

struct run {
    struct dg_net *net;
    struct dg_net_state *state;
    size_t D, V, S, T;
    int32_t source[LEN_MAX], inputs[LEN_MAX + 1];
};

static void start(struct run *run, const struct dg_kernels *kernels)
{
    const struct dg_net_opts opts = {.kernels = kernels, .type = DG_NET_F32};
    const struct dg_net_limits limits = {
        .slots = 1, .lanes = 1, .rows = 1, .source_len = LEN_MAX, .target_len = LEN_MAX};
    ck_assert_int_eq(
        dg_net_new(&run->net, dg_model_blueprint(model), dg_model_weights(model), &opts, NULL),
        DG_OK);
    ck_assert_int_eq(dg_net_state_new(&run->state, run->net, &limits, NULL), DG_OK);
    run->D = dg_net_blueprint(run->net)->D;
    run->V = dg_net_blueprint(run->net)->decoder.V;
}

static void stop(struct run *run)
{
    dg_net_state_free(run->state);
    dg_net_free(run->net);
}

/* Opens a slot and encodes; returns the encoder's output. The decoder's inputs are the target, one
 * later. */
static const float *encode(struct run *run, const struct dg_json *sentence)
{
    run->S = read_ids(dg_json_get(sentence, "src_ids"), run->source);
    run->T = read_ids(dg_json_get(sentence, "greedy_ids"), run->inputs + 1);
    run->inputs[0] = dg_net_start_token(run->net);
    ck_assert_int_eq(dg_net_open(run->state, 0, run->S, 1, run->T), DG_OK);
    ck_assert_int_eq(dg_net_encode(run->state, &(struct dg_net_source){0, run->source}, 1), DG_OK);
    return dg_net_encoded(run->state, 0);
}

static const float *decode(struct run *run, size_t t)
{
    const struct dg_net_row row = {
        .position = (uint32_t)t, .token = run->inputs[t], .want_logits = true};
    ck_assert_int_eq(dg_net_step(run->state, &(struct dg_net_step){.rows = &row, .n_rows = 1}),
                     DG_OK);
    return dg_net_logits(run->state, 0);
}

static void note(float *worst, float got, double expected)
{
    ck_assert(isfinite(got));
    *worst = fmaxf(*worst, (float)fabs((double)got - expected));
}

static void each_table(void (*check)(struct run *run, float worst[2]), float encoder_max,
                       float logits_max)
{
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    for (size_t k = 0; k < n_tables; k++) {
        struct run run;
        float worst[2] = {0.0f, 0.0f};
        start(&run, tables[k]);
        check(&run, worst);
        stop(&run);
        printf("kernels %s: encoder differs by %.2g, logits by %.2g at most\n", tables[k]->name,
               (double)worst[0], (double)worst[1]);
        ck_assert(worst[0] <= encoder_max);
        ck_assert(worst[1] <= logits_max);
    }
}

/* ---- The tree's model ------------------------------------------------------------------------ */

static void check_slow(struct run *run, float worst[2])
{
    const struct ref ref = {dg_model_blueprint(model), &dg_model_weights(model)->transformer};
    const struct dg_json *sentences = dg_json_get(root, "sentences");
    const float *got = encode(run, dg_json_at(sentences, 0));
    double *encoded = ref_encode(&ref, run->source, run->S);
    double *logits = ref_decode(&ref, encoded, run->S, run->inputs, run->T);
    for (size_t i = 0; i < run->S * run->D; i++)
        note(&worst[0], got[i], encoded[i]);
    for (size_t t = 0; t < run->T; t++) {
        got = decode(run, t);
        for (size_t i = 0; i < run->V; i++)
            note(&worst[1], got[i], logits[t * run->V + i]);
    }
    free(encoded);
    free(logits);
}

/* Compares a row of the network with every `stride`-th value of the golden row. */
static void note_slice(float *worst, const float *got, const struct dg_json *expected,
                       size_t stride)
{
    ck_assert(dg_json_len(expected) > 10);
    for (size_t i = 0; i < dg_json_len(expected); i++) {
        double value;
        ck_assert_int_eq(
            dg_json_real(dg_json_at(expected, i), DG_SPAN("value"), -1e6, 1e6, NULL, &value),
            DG_OK);
        note(worst, got[i * stride], value);
    }
}

static void check_slices(struct run *run, float worst[2])
{
    const struct dg_json *sentences = dg_json_get(root, "sentences");
    for (size_t k = 0; k < dg_json_len(sentences); k++) {
        const struct dg_json *sentence = dg_json_at(sentences, k);
        const float *got = encode(run, sentence);
        for (size_t s = 0; s < run->S; s++)
            note_slice(&worst[0], got + s * run->D, dg_json_at(dg_json_get(sentence, "encoder"), s),
                       8);
        for (size_t t = 0; t < run->T; t++)
            note_slice(&worst[1], decode(run, t), dg_json_at(dg_json_get(sentence, "logits"), t),
                       125);
        dg_net_close(run->state, 0);
    }
}

START_TEST(agrees_with_the_slow_network)
{
    open_both(path_of(tree(), "tests/golden/fr-en.json"), path_of(tree(), "models/fr-en"));
    each_table(check_slow, 1e-4f, 1e-4f);
    close_both();
}
END_TEST

START_TEST(agrees_with_slices_of_an_independent_implementation)
{
    open_both(path_of(tree(), "tests/golden/fr-en.json"), path_of(tree(), "models/fr-en"));
    each_table(check_slices, 1e-4f, 1e-4f);
    close_both();
}
END_TEST

/* ---- The shared folder ----------------------------------------------------------------------- */

static struct dg_safetensors values;

static const float *golden(size_t i, const char *what, size_t n)
{
    char name[32];
    snprintf(name, sizeof name, "%03zu.%s", i, what);
    const struct dg_safetensors_entry *entry = dg_safetensors_find(&values, name);
    ck_assert_ptr_nonnull(entry);
    ck_assert_uint_eq(entry->len, n * sizeof(float));
    return (const float *)(const void *)entry->bytes;
}

static void check_all(struct run *run, float worst[2])
{
    for (size_t k = 0; k < N_SHARED; k++) {
        const float *got = encode(run, dg_json_at(root, k));
        const float *expected = golden(k, "encoder", run->S * run->D);
        for (size_t i = 0; i < run->S * run->D; i++)
            note(&worst[0], got[i], (double)expected[i]);
        expected = golden(k, "logits", run->T * run->V);
        for (size_t t = 0; t < run->T; t++) {
            got = decode(run, t);
            for (size_t i = 0; i < run->V; i++)
                note(&worst[1], got[i], (double)expected[t * run->V + i]);
        }
        dg_net_close(run->state, 0);
    }
}

START_TEST(agrees_with_all_values_of_the_shared_folder)
{
    const char *folder = shared();
    if (!folder) {
        printf("the shared folder is not there: only the tree's own values were compared\n");
        return;
    }
    ck_assert_int_eq(
        dg_safetensors_open(&values, path_of(folder, "golden/fr-en/golden.safetensors"), NULL),
        DG_OK);
    open_both(path_of(folder, "golden/fr-en/golden.json"), path_of(folder, "models/fr-en"));
    each_table(check_all, 1e-4f, 1e-4f);
    close_both();
    dg_safetensors_close(&values);
}
END_TEST

DG_UNIT(agrees_with_the_slow_network, agrees_with_slices_of_an_independent_implementation,
        agrees_with_all_values_of_the_shared_folder)
