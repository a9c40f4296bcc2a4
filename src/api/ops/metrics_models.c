/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Numbers of each model: what waits and runs, how it was batched, how long it took, and memory. The
 * label is the model's name, which the operator chose. Tables of columns, so that each family
 * stands together as the format wants it. */
#include "api/ops/metrics_models.h"
#include "api/ops/counters.h"
#include "base/memory/mem.h"

#include <inttypes.h>
#include <stddef.h>

enum { LABEL_MAX = 256 };

#define AT(field) offsetof(struct dg_sched_stats, field)

/* `first` is the upper end of the first bucket, each further one twice that. `sum`: where the sum
 * is, in units of `sum_scale`. */
struct histogram {
    const char *name, *help;
    size_t offset, sum;
    double first, sum_scale;
};

static const struct histogram histograms[] = {
    {"queue_seconds", "Time that sentences waited.", AT(wait_ms), AT(wait_ns), 0.001, 1e-9},
    {"first_token_seconds", "From the queue to the first token.", AT(first_ms), AT(first_ns), 0.001,
     1e-9},
    {"token_seconds", "Time of each token after the first, by sentence.", AT(token_quarter_ms),
     AT(token_ns), 0.00025, 1e-9},
    {"step_seconds", "Time of a decoder step.", AT(step_quarter_ms), AT(step_ns), 0.00025, 1e-9},
    {"step_rows", "Rows of a decoder step.", AT(batch_rows), AT(n_rows), 1, 1},
    {"encode_sentences", "Sentences of an encoder batch.", AT(encode_sentences), AT(n_encoded), 1,
     1},
    {"encode_tokens", "Source tokens of an encoder batch, packed without padding.",
     AT(encode_eights), AT(n_encoded_tokens), 8, 1},
};

/* Writes a model's name as the value of a label. */
static void put_label(char label[LABEL_MAX], const char *name)
{
    size_t n = 0;
    for (; *name && n + 3 < LABEL_MAX; name++) {
        if (*name == '"' || *name == '\\')
            label[n++] = '\\';
        label[n++] = *name == '\n' ? ' ' : *name;
    }
    label[n] = '\0';
}

static const void *field(const struct dg_sched_stats *stats, size_t offset)
{
    return (const char *)stats + offset;
}

struct model {
    char label[LABEL_MAX];
    struct dg_engine_model_info info;
    struct dg_counters counters;
};

static enum dg_err put_head(struct dg_buf *buf, const char *name, const char *kind,
                            const char *help)
{
    return dg_buf_printf(buf, "# HELP dragoman_model_%s %s\n# TYPE dragoman_model_%s %s\n", name,
                         help, name, kind);
}

/* Puts the counters, or the gauges, of a group. */
static enum dg_err put_counters(struct dg_buf *buf, const struct model *models, size_t n,
                                enum dg_counter_group group, const char *kind)
{
    enum dg_err err = DG_OK;
    for (size_t c = 0; c < DG_N_COUNTERS && !err; c++) {
        const struct dg_counter_info *info = dg_counter_info(c);
        if (info->group != group || !(info->whom & DG_COUNTER_FOR_MODELS) ||
            strcmp(dg_counter_kind(c), kind) != 0)
            continue;
        err = put_head(buf, info->name, kind, info->help);
        for (size_t i = 0; i < n && !err; i++)
            err = dg_buf_printf(buf, "dragoman_model_%s{model=\"%s\"} %" PRIu64 "\n", info->name,
                                models[i].label, dg_counter_value(&models[i].counters, c));
    }
    return err;
}

static enum dg_err put_histogram(struct dg_buf *buf, const struct model *model,
                                 const struct histogram *h)
{
    const uint64_t *buckets = field(&model->counters.sched, h->offset);
    uint64_t count = 0;
    double le = h->first;
    enum dg_err err = DG_OK;
    for (size_t b = 0; b < DG_HISTOGRAM && !err; b++, le *= 2) {
        count += buckets[b];
        if (b + 1 < DG_HISTOGRAM)
            err =
                dg_buf_printf(buf, "dragoman_model_%s_bucket{model=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                              h->name, model->label, le, count);
    }
    double sum = (double)*(const uint64_t *)field(&model->counters.sched, h->sum) * h->sum_scale;
    if (!err)
        err = dg_buf_printf(buf, "dragoman_model_%s_bucket{model=\"%s\",le=\"+Inf\"} %" PRIu64 "\n",
                            h->name, model->label, count);
    if (!err)
        err = dg_buf_printf(buf, "dragoman_model_%s_sum{model=\"%s\"} %.9g\n", h->name,
                            model->label, sum);
    if (!err)
        err = dg_buf_printf(buf, "dragoman_model_%s_count{model=\"%s\"} %" PRIu64 "\n", h->name,
                            model->label, count);
    return err;
}

static enum dg_err put_states(struct dg_buf *buf, const struct model *models, size_t n)
{
    enum dg_err err =
        put_head(buf, "ready", "gauge", "1: in memory and serving; 0: loaded when asked for.");
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_printf(buf, "dragoman_model_ready{model=\"%s\"} %d\n", models[i].label,
                            models[i].info.state == DG_ENGINE_MODEL_READY);
    if (!err)
        err = put_head(buf, "slots", "gauge", "Sentences that may be under way in each worker.");
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_printf(buf, "dragoman_model_slots{model=\"%s\"} %zu\n", models[i].label,
                            models[i].info.slots);
    if (!err)
        err =
            put_head(buf, "bytes", "gauge", "The most memory that it may take while it is loaded.");
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_printf(buf, "dragoman_model_bytes{model=\"%s\"} %zu\n", models[i].label,
                            models[i].info.bytes);
    return err;
}

/* Puts the estimates of the models that are estimators. */
static enum dg_err put_qualities(struct dg_buf *buf, struct dg_engine *engine,
                                 const struct model *models, size_t n)
{
    bool has_head = false;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++) {
        struct dg_engine_quality_stats stats;
        uint64_t count = 0;
        if (!models[i].info.judges)
            continue;
        dg_engine_read_quality_stats(engine, i, &stats);
        if (!has_head)
            err =
                put_head(buf, "quality", "histogram", "Qualities that it estimated for sentences.");
        has_head = true;
        for (size_t b = 0; b < DG_QUALITY_BUCKETS && !err; b++) {
            count += stats.buckets[b];
            if (b + 1 < DG_QUALITY_BUCKETS)
                err = dg_buf_printf(
                    buf, "dragoman_model_quality_bucket{model=\"%s\",le=\"%g\"} %" PRIu64 "\n",
                    models[i].label, (double)(b + 1) / DG_QUALITY_BUCKETS, count);
        }
        if (!err)
            err = dg_buf_printf(
                buf,
                "dragoman_model_quality_bucket{model=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
                "dragoman_model_quality_sum{model=\"%s\"} %.9g\n"
                "dragoman_model_quality_count{model=\"%s\"} %" PRIu64 "\n",
                models[i].label, count, models[i].label, stats.sum, models[i].label, count);
    }
    return err;
}

enum dg_err dg_metrics_put_models(struct dg_buf *buf, struct dg_engine *engine)
{
    size_t n = dg_engine_n_models(engine);
    struct model *models = n ? dg_try_calloc(n, sizeof *models) : NULL;
    if (!models)
        return n ? DG_ERR_NOMEM : DG_OK;
    for (size_t i = 0; i < n; i++) {
        models[i].info = dg_engine_model_info(engine, i);
        put_label(models[i].label, models[i].info.name);
        dg_counters_read_model(&models[i].counters, engine, i);
    }
    enum dg_err err = put_states(buf, models, n);
    if (!err)
        err = put_counters(buf, models, n, DG_COUNTERS_OF_ENGINE, "counter");
    if (!err)
        err = put_counters(buf, models, n, DG_COUNTERS_OF_WORK, "counter");
    if (!err)
        err = put_counters(buf, models, n, DG_COUNTERS_OF_ENGINE, "gauge");
    if (!err)
        err = put_counters(buf, models, n, DG_COUNTERS_OF_CACHE, "counter");
    if (!err)
        err = put_qualities(buf, engine, models, n);
    for (size_t h = 0; h < sizeof histograms / sizeof *histograms && !err; h++) {
        err = put_head(buf, histograms[h].name, "histogram", histograms[h].help);
        for (size_t i = 0; i < n && !err; i++)
            err = put_histogram(buf, &models[i], &histograms[h]);
    }
    dg_free(models);
    return err;
}
