/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sentences are gathered as they are translated and given to the estimator as one reading; its
 * calibration turns its numbers into qualities. */
#include "engine/read/quality_estimate.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "engine/read/reading.h"

#include <string.h>

enum { TEXTS_MAX = 1 << 29 };

struct dg_judged {
    size_t source_at, source_len, text_at, text_len; /* where they lie in `texts` */
    double mean_logprob;
};

struct dg_quality_estimate *dg_quality_estimate_new(void)
{
    struct dg_quality_estimate *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    dg_list_init(&made->link);
    dg_buf_init(&made->texts, TEXTS_MAX);
    return made;
}

void dg_quality_estimate_free(struct dg_quality_estimate *estimate)
{
    if (!estimate)
        return;
    dg_list_unlink(&estimate->link);
    dg_buf_deinit(&estimate->texts);
    dg_free(estimate->list);
    dg_free(estimate->qualities);
    dg_free(estimate->model);
    dg_free(estimate);
}

void dg_quality_estimate_drop(struct dg_quality_estimate *estimate)
{
    if (!estimate)
        return;
    estimate->is_dropped = true;
    if (!estimate->is_asked || estimate->is_done)
        dg_quality_estimate_free(estimate);
}

enum dg_err dg_quality_estimate_note(struct dg_quality_estimate *estimate, struct dg_span source,
                                     struct dg_span text, double logprob, size_t n_tokens)
{
    if (DG_GROW(estimate->list, estimate->n, estimate->cap, 8))
        return DG_ERR_NOMEM;
    struct dg_judged *one = &estimate->list[estimate->n];
    *one = (struct dg_judged){.source_at = estimate->texts.len,
                              .source_len = source.len,
                              .text_len = text.len,
                              .mean_logprob = n_tokens ? logprob / (double)n_tokens : 0};
    enum dg_err err = dg_buf_append_span(&estimate->texts, source);
    one->text_at = estimate->texts.len;
    if (!err)
        err = dg_buf_append_span(&estimate->texts, text);
    estimate->n += !err;
    return err;
}

static void on_said(void *ctx, size_t item, const struct dg_reading_result *said)
{
    struct dg_quality_estimate *estimate = ctx;
    if (!estimate->is_dropped && said->n_labels > 0)
        estimate->qualities[item] =
            (float)dg_calibration_apply(&estimate->calibration, (double)said->labels[0].score,
                                        estimate->list[item].mean_logprob);
}

static void on_estimate_done(void *ctx, const struct dg_engine_read_result *result)
{
    struct dg_quality_estimate *estimate = ctx;
    estimate->is_done = true;
    estimate->err = result->err;
    if (estimate->is_dropped) {
        dg_quality_estimate_free(estimate);
        return;
    }
    if (result->err)
        dg_error_set(&estimate->error, result->err, "the quality could not be estimated: %s",
                     result->error ? result->error : dg_err_sentence(result->err));
    if (estimate->wake)
        estimate->wake(estimate->wake_arg);
}

static const struct dg_engine_read_events events = {on_said, on_estimate_done};

enum dg_err dg_quality_estimate_ask(struct dg_quality_estimate *estimate,
                                    const struct dg_quality_estimate_how *how,
                                    struct dg_error *error)
{
    if (estimate->n == 0) {
        estimate->is_asked = estimate->is_done = true;
        return DG_OK;
    }
    const struct dg_span texts = dg_buf_span(&estimate->texts);
    struct dg_engine_item *items = dg_try_calloc(estimate->n, sizeof *items);
    estimate->qualities = dg_try_calloc(estimate->n, sizeof *estimate->qualities);
    estimate->model = dg_try_malloc(strlen(how->estimator->name) + 1);
    enum dg_err err = items && estimate->qualities && estimate->model ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < estimate->n; i++) {
        const struct dg_judged *one = &estimate->list[i];
        items[i] =
            (struct dg_engine_item){.text = dg_span_sub(texts, one->source_at, one->source_len),
                                    .pair = dg_span_sub(texts, one->text_at, one->text_len),
                                    .has_pair = true};
    }
    if (!err) {
        memcpy(estimate->model, how->estimator->name, strlen(how->estimator->name) + 1);
        estimate->calibration = how->estimator->calibration;
        const struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY,
                                           .model = estimate->model,
                                           .items = items,
                                           .n_items = estimate->n,
                                           .priority = how->priority,
                                           .client = how->client,
                                           .timeout_ms = how->timeout_ms,
                                           .waits = true};
        err = dg_reading_submit(how->tasks, &ask, &events, estimate, error, NULL, &estimate->id);
        estimate->is_asked = !err;
    } else {
        dg_error_set(error, err, "no memory to judge %zu sentences", estimate->n);
    }
    dg_free(items);
    return err;
}

double dg_quality_estimate_quality(const struct dg_quality_estimate *estimate)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < estimate->n; i++) {
        const double weight = (double)estimate->list[i].source_len;
        sum += weight * (double)estimate->qualities[i];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}
