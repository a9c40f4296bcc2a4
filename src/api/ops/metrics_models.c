/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Numbers of each model: what waits and runs, how it was batched, how long it took, and memory. The
 * label is the model's name, which the operator chose. Tables of columns, so that each family
 * stands together as the format wants it. */
#include "api/ops/metrics_models.h"
#include "base/memory/mem.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { LABEL_MAX = 256 };

#define AT(field) offsetof(struct dg_sched_stats, field)

struct column {
    const char *name, *kind, *help;
    size_t offset;
};

static const struct column counters[] = {
    {"sentences_accepted_total", "counter", "Sentences taken into the queue.", AT(n_accepted)},
    {"sentences_refused_total", "counter", "Sentences refused by a full queue.", AT(n_refused)},
    {"sentences_done_total", "counter", "Sentences translated.", AT(n_done)},
    {"sentences_cancelled_total", "counter", "Sentences cancelled.", AT(n_cancelled)},
    {"sentences_timed_out_total", "counter", "Sentences whose time ran out.", AT(n_timed_out)},
    {"sentences_failed_total", "counter", "Sentences that failed.", AT(n_failed)},
    {"input_tokens_total", "counter", "Tokens read.", AT(n_tokens_in)},
    {"output_tokens_total", "counter", "Tokens written.", AT(n_tokens_out)},
    {"encoded_batches_total", "counter", "Encoder batches.", AT(n_encodes)},
    {"decoder_steps_total", "counter", "Decoder steps.", AT(n_steps)},
    {"decoder_rows_total", "counter", "Rows of all decoder steps.", AT(n_rows)},
};

/* Gauges are size_t, counters uint64_t; both are read as the type they have. */
static const struct column gauges[] = {
    {"sentences_waiting", "gauge", "Sentences in the queue.", AT(n_waiting)},
    {"sentences_running", "gauge", "Sentences being translated, each in a slot.", AT(n_running)},
    {"tokens_waiting", "gauge", "Source tokens in the queue.", AT(n_tokens_waiting)},
};

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

/* A model's name as the value of a label. */
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
    struct dg_sched_stats stats;
};

static enum dg_err put_head(struct dg_buf *buf, const char *name, const char *kind,
                            const char *help)
{
    return dg_buf_printf(buf, "# HELP dragoman_model_%s %s\n# TYPE dragoman_model_%s %s\n", name,
                         help, name, kind);
}

static enum dg_err put_columns(struct dg_buf *buf, const struct model *models, size_t n,
                               const struct column *columns, size_t n_columns, bool is_gauge)
{
    enum dg_err err = DG_OK;
    for (size_t c = 0; c < n_columns && !err; c++) {
        const struct column *column = &columns[c];
        err = put_head(buf, column->name, column->kind, column->help);
        for (size_t i = 0; i < n && !err; i++) {
            const void *at = field(&models[i].stats, column->offset);
            uint64_t value = is_gauge ? *(const size_t *)at : *(const uint64_t *)at;
            err = dg_buf_printf(buf, "dragoman_model_%s{model=\"%s\"} %" PRIu64 "\n", column->name,
                                models[i].label, value);
        }
    }
    return err;
}

static enum dg_err put_histogram(struct dg_buf *buf, const struct model *model,
                                 const struct histogram *h)
{
    const uint64_t *buckets = field(&model->stats, h->offset);
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
    double sum = (double)*(const uint64_t *)field(&model->stats, h->sum) * h->sum_scale;
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
        err = put_head(buf, "bytes", "gauge", "Memory that it takes, or would take.");
    for (size_t i = 0; i < n && !err; i++)
        err = dg_buf_printf(buf, "dragoman_model_bytes{model=\"%s\"} %zu\n", models[i].label,
                            models[i].info.bytes);
    return err;
}

static const struct {
    const char *name, *help;
    size_t offset;
} cache_columns[] = {
    {"cache_hits_total", "Sentences answered from the cache.",
     offsetof(struct dg_engine_cache_stats, n_hits)},
    {"cache_joined_total", "Sentences that waited for the same one.",
     offsetof(struct dg_engine_cache_stats, n_joined)},
    {"cache_misses_total", "Sentences that the cache did not have.",
     offsetof(struct dg_engine_cache_stats, n_misses)},
};

static enum dg_err put_cache(struct dg_buf *buf, struct dg_engine *engine,
                             const struct model *models, size_t n)
{
    enum dg_err err = DG_OK;
    for (size_t c = 0; c < sizeof cache_columns / sizeof *cache_columns && !err; c++) {
        err = put_head(buf, cache_columns[c].name, "counter", cache_columns[c].help);
        for (size_t i = 0; i < n && !err; i++) {
            struct dg_engine_cache_stats stats;
            dg_engine_read_model_cache_stats(engine, i, &stats);
            const char *at = (const char *)&stats + cache_columns[c].offset;
            err = dg_buf_printf(buf, "dragoman_model_%s{model=\"%s\"} %" PRIu64 "\n",
                                cache_columns[c].name, models[i].label,
                                *(const uint64_t *)(const void *)at);
        }
    }
    return err;
}

/* Of models that are estimators: what they said. */
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
            err = put_head(buf, "quality", "histogram", "Qualities that it told of sentences.");
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
        dg_engine_read_model_stats(engine, i, &models[i].stats);
    }
    enum dg_err err = put_states(buf, models, n);
    if (!err)
        err = put_columns(buf, models, n, counters, sizeof counters / sizeof *counters, false);
    if (!err)
        err = put_columns(buf, models, n, gauges, sizeof gauges / sizeof *gauges, true);
    if (!err)
        err = put_cache(buf, engine, models, n);
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
