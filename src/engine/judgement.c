/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Sentences are gathered as they are told, put to the estimator as one reading, and its numbers made qualities by its
 * calibration. */
#include "engine/judgement.h"
#include "base/mem.h"

#include <string.h>

enum { TEXTS_MAX = 1 << 29 };

struct dg_judged {
    size_t source_at, source_len, text_at, text_len; /* in `texts` */
    double mean_logprob;
};

struct dg_judgement *dg_judgement_new(void)
{
    struct dg_judgement *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    dg_list_init(&made->link);
    dg_buf_init(&made->texts, TEXTS_MAX);
    return made;
}

void dg_judgement_free(struct dg_judgement *judgement)
{
    if (!judgement)
        return;
    dg_list_unlink(&judgement->link);
    dg_buf_deinit(&judgement->texts);
    dg_free(judgement->list);
    dg_free(judgement->qualities);
    dg_free(judgement->model);
    dg_free(judgement);
}

void dg_judgement_drop(struct dg_judgement *judgement)
{
    if (!judgement)
        return;
    judgement->is_dropped = true;
    if (!judgement->is_asked || judgement->is_done)
        dg_judgement_free(judgement);
}

enum dg_err dg_judgement_note(struct dg_judgement *judgement, struct dg_span source, struct dg_span text, double logprob,
                              size_t n_tokens)
{
    if (judgement->n == judgement->cap) {
        const size_t cap = judgement->cap ? judgement->cap * 2 : 8;
        struct dg_judged *grown = dg_try_realloc(judgement->list, cap * sizeof *grown);
        if (!grown)
            return DG_ERR_NOMEM;
        judgement->list = grown;
        judgement->cap = cap;
    }
    struct dg_judged *one = &judgement->list[judgement->n];
    *one = (struct dg_judged){.source_at = judgement->texts.len, .source_len = source.len, .text_len = text.len,
                              .mean_logprob = n_tokens ? logprob / (double)n_tokens : 0};
    enum dg_err err = dg_buf_append_span(&judgement->texts, source);
    one->text_at = judgement->texts.len;
    if (!err)
        err = dg_buf_append_span(&judgement->texts, text);
    judgement->n += !err;
    return err;
}

static void on_said(void *ctx, size_t item, const struct dg_said *said)
{
    struct dg_judgement *judgement = ctx;
    if (!judgement->is_dropped && said->n_labels > 0)
        judgement->qualities[item] = (float)dg_calibration_apply(&judgement->calibration, (double)said->labels[0].score,
                                                                 judgement->list[item].mean_logprob);
}

static void on_done(void *ctx, const struct dg_engine_read_result *result)
{
    struct dg_judgement *judgement = ctx;
    judgement->is_done = true;
    judgement->err = result->err;
    if (judgement->is_dropped) {
        dg_judgement_free(judgement);
        return;
    }
    if (result->err)
        dg_why_set(&judgement->why, result->err, "the quality could not be told: %s",
                   result->why ? result->why : dg_err_sentence(result->err));
    if (judgement->wake)
        judgement->wake(judgement->wake_arg);
}

static const struct dg_engine_read_events events = {on_said, on_done};

enum dg_err dg_judgement_ask(struct dg_judgement *judgement, const struct dg_judgement_how *how, struct dg_why *why)
{
    if (judgement->n == 0) {
        judgement->is_asked = judgement->is_done = true;
        return DG_OK;
    }
    const struct dg_span texts = dg_buf_span(&judgement->texts);
    struct dg_engine_item *items = dg_try_calloc(judgement->n, sizeof *items);
    judgement->qualities = dg_try_calloc(judgement->n, sizeof *judgement->qualities);
    judgement->model = dg_try_malloc(strlen(how->estimator->name) + 1);
    enum dg_err err = items && judgement->qualities && judgement->model ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; !err && i < judgement->n; i++) {
        const struct dg_judged *one = &judgement->list[i];
        items[i] = (struct dg_engine_item){.text = dg_span_sub(texts, one->source_at, one->source_len),
                                           .pair = dg_span_sub(texts, one->text_at, one->text_len),
                                           .has_pair = true};
    }
    if (!err) {
        memcpy(judgement->model, how->estimator->name, strlen(how->estimator->name) + 1);
        judgement->calibration = how->estimator->calibration;
        const struct dg_engine_read ask = {.task = DG_TASK_CLASSIFY,
                                           .model = judgement->model,
                                           .items = items,
                                           .n_items = judgement->n,
                                           .priority = how->priority,
                                           .client = how->client,
                                           .timeout_ms = how->timeout_ms,
                                           .waits = true};
        err = dg_engine_read(how->engine, &ask, &events, judgement, why, NULL, &judgement->id);
        judgement->is_asked = !err;
    } else {
        dg_why_set(why, err, "no memory to judge %zu sentences", judgement->n);
    }
    dg_free(items);
    return err;
}

double dg_judgement_quality(const struct dg_judgement *judgement)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < judgement->n; i++) {
        const double weight = (double)judgement->list[i].source_len;
        sum += weight * (double)judgement->qualities[i];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}
