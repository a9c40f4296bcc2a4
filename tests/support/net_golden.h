/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* What the tests of language models (lm) and of encoders (enc) share: networks are imported from
 * tests/data/KIND and compared with the values of an independent implementation,
 * tests/golden/KIND.json.
 *
 *     static struct golden golden = {.kind = "lm", .names = {"gpt2", "llama"}, .n = 2, .n_items =
 * 8}; golden_start(&golden);
 *     ... golden_make(&golden, 0, kernels, DG_NET_F32) ...
 *     golden_stop(&golden); */
#ifndef DG_TESTS_NET_GOLDEN_H
#define DG_TESTS_NET_GOLDEN_H

#include "base/json/json.h"
#include "import_check.h"
#include "model/config.h"
#include "model/model_dir.h"
#include "two_nodes.h"

#include <math.h>

enum { GOLDEN_MAX = 16 };

struct golden {
    const char *kind;
    const char *names[GOLDEN_MAX];
    size_t n;
    size_t n_items; /* of the values */
    struct dg_model *models[GOLDEN_MAX];
    struct dg_nodes *nodes; /* the memory nodes that networks are copied to; NULL: none */
};

static inline const char *golden_data(const struct golden *golden, const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/data/%s/%s", import_srcdir(), golden->kind, name);
    return path;
}

/* Imports all models into import_root, and opens them. */
static inline void golden_start(struct golden *golden)
{
    dg_tmpdir_make(import_root);
    for (size_t i = 0; i < golden->n; i++) {
        char out[DG_TMPDIR_CAP + 32];
        struct dg_import_summary summary;
        struct dg_error error;
        snprintf(out, sizeof out, "%s/%s", import_root, golden->names[i]);
        ck_assert_msg(
            import_try(golden_data(golden, golden->names[i]), out, NULL, &summary, &error) == DG_OK,
            "%s", error.text);
        const enum dg_err err = dg_model_open(&golden->models[i], out, &error);
        ck_assert_msg(!err, "%s", error.text);
    }
}

static inline void golden_stop(struct golden *golden)
{
    for (size_t i = 0; i < golden->n; i++)
        dg_model_unref(golden->models[i]);
    dg_tmpdir_remove(import_root);
}

static inline struct dg_net *golden_make(const struct golden *golden, size_t model,
                                         const struct dg_kernels *kernels, enum dg_net_type type)
{
    struct dg_net *net;
    const struct dg_net_opts opts = {.kernels = kernels, .type = type, .nodes = golden->nodes};
    const struct dg_model *from = golden->models[model];
    ck_assert_int_eq(
        dg_net_new(&net, dg_model_blueprint(from), dg_model_weights(from), &opts, NULL), DG_OK);
    return net;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The network that an item belongs to. */
static inline size_t golden_model_of(const struct golden *golden, const struct dg_json *item)
{
    struct dg_span name;
    size_t model = 0;
    ck_assert_int_eq(dg_json_get_string(item, "model", DG_JSON_REQUIRED, NULL, &name), DG_OK);
    while (!dg_span_eq(name, dg_span_cstr(golden->names[model])))
        model++;
    return model;
}

static inline size_t golden_ids(const struct dg_json *item, int32_t *ids, size_t max)
{
    const struct dg_json *list = dg_json_get(item, "ids");
    const size_t n = dg_json_len(list);
    ck_assert(n > 0 && n <= max);
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        ck_assert_int_eq(dg_json_at_int(list, "ids", i, 0, 1000, NULL, &id), DG_OK);
        ids[i] = (int32_t)id;
    }
    return n;
}

/* The larger of two differences; NaN counts as the largest. */
static inline float golden_worse(float a, float b)
{
    return isnan(a) || a >= b ? a : b;
}

/* The largest difference from `row`, which has every step-th number. */
static inline float golden_row(const struct dg_json *row, const float *got, size_t step)
{
    float worst = 0.0f;
    for (size_t k = 0; k < dg_json_len(row); k++) {
        double value = NAN;
        ck_assert_int_eq(
            dg_json_real(dg_json_at(row, k), DG_SPAN("value"), -1e6, 1e6, NULL, &value), DG_OK);
        worst = golden_worse(worst, fabsf(got[k * step] - (float)value));
    }
    return worst;
}

/* Checks every item of the file with every table of kernels: `check` returns the item's largest
 * difference. */
static inline void golden_check(struct golden *golden, const char *what,
                                float (*check)(const struct dg_json *item,
                                               const struct dg_kernels *kernels))
{
    struct dg_map_file file;
    struct dg_json *root;
    char path[1024];
    const struct dg_json_limits limits = {
        .max_bytes = 1 << 20, .max_depth = 8, .max_values = 100000};
    const struct dg_kernels *tables[DG_KERNELS_MAX];
    const size_t n_tables = dg_kernels_all(tables);
    golden_start(golden);
    snprintf(path, sizeof path, "%s/tests/golden/%s.json", import_srcdir(), golden->kind);
    ck_assert_int_eq(dg_map_file_open(&file, path, 1 << 20, NULL), DG_OK);
    ck_assert_int_eq(
        dg_json_parse((struct dg_span){(const char *)file.bytes, file.len}, &limits, NULL, &root),
        DG_OK);
    ck_assert_uint_eq(dg_json_len(root), golden->n_items);
    for (size_t k = 0; k < n_tables; k++) {
        float worst = 0.0f;
        for (size_t i = 0; i < dg_json_len(root); i++) {
            worst = golden_worse(worst, check(dg_json_at(root, i), tables[k]));
        }
        printf("kernels %s: %s differ by %.2g at most\n", tables[k]->name, what, (double)worst);
        ck_assert(worst < 1e-4f);
    }
    dg_json_free(root);
    dg_map_file_close(&file);
    golden_stop(golden);
}

/* ---- Configurations -------------------------------------------------------------------------- */

static inline void golden_prints_as_it_reads(const struct dg_blueprint *bp)
{
    struct dg_blueprint again;
    struct dg_buf texts[2];
    for (size_t k = 0; k < 2; k++) {
        dg_buf_init(&texts[k], 1 << 16);
        ck_assert_int_eq(dg_config_print(k ? &again : bp, &texts[k]), DG_OK);
        if (k == 0)
            ck_assert_int_eq(dg_config_parse(&again, dg_buf_span(&texts[0]), DG_SPAN(""),
                                             DG_SPAN(""), "text", NULL),
                             DG_OK);
    }
    ck_assert(dg_span_eq(dg_buf_span(&texts[0]), dg_buf_span(&texts[1])));
    dg_buf_deinit(&texts[0]);
    dg_buf_deinit(&texts[1]);
}

static inline void golden_refuses(const char *config, const char *expected)
{
    struct dg_blueprint bp;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert(dg_config_parse(&bp, dg_span_cstr(config), DG_SPAN(""), DG_SPAN(""), "config.json",
                              &error) != DG_OK);
    ck_assert_msg(strstr(error.text, expected), "\"%s\" does not say \"%s\"", error.text, expected);
}

/* The weights of `name` under another configuration are refused, and the message contains all of
 * `said` [n]. */
static inline void golden_names_what_does_not_fit(const struct golden *golden, const char *name,
                                                  const char *config, const char *const *said,
                                                  size_t n)
{
    struct dg_import_summary summary;
    struct dg_error error;
    struct dg_map_file weights;
    char in[DG_TMPDIR_CAP + 32], out[DG_TMPDIR_CAP + 32], path[2048];
    dg_tmpdir_make(import_root);
    snprintf(in, sizeof in, "%s/in", import_root);
    snprintf(out, sizeof out, "%s/out", import_root);
    ck_assert_int_eq(mkdir(in, 0755), 0);
    snprintf(path, sizeof path, "%s/model.safetensors", golden_data(golden, name));
    ck_assert_int_eq(dg_map_file_open(&weights, path, 1 << 20, NULL), DG_OK);
    snprintf(path, sizeof path, "%s/model.safetensors", in);
    import_write(path, weights.bytes, weights.len);
    dg_map_file_close(&weights);
    snprintf(path, sizeof path, "%s/config.json", in);
    import_write(path, config, strlen(config));
    ck_assert_int_eq(import_try(in, out, NULL, &summary, &error), DG_ERR_INVALID);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(strstr(error.text, said[i]), "%s", error.text);
    dg_tmpdir_remove(import_root);
}

#endif
