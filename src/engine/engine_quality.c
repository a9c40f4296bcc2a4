/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Quality estimates of requests: when all sentences are translated, the source and translation of
 * each go to the estimator (quality_estimate.h) as a reading of the same engine; the request ends
 * when the reading has ended. */
#include "engine/engine_int.h"
#include "engine/read/quality_estimate.h"
#include "engine/request/request.h"

/* Gives the source and translation of each sentence to the estimator, when all sentences are
 * translated. */
static enum dg_err ask_judgement(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_quality_estimate *estimate = request->estimate;
    const uint64_t now = dg_clock_now(engine->tasks.clock);
    struct dg_quality_estimate_how how = {.tasks = &engine->tasks,
                                          .estimator =
                                              dg_engine_find_estimator(engine, request->name),
                                          .priority = request->asked.priority,
                                          .client = request->asked.client};
    if (estimate->n == 0)
        return dg_quality_estimate_ask(estimate, &how, &request->task.error);
    if (!how.estimator)
        return dg_error_set(&request->task.error, DG_ERR_UNSUPPORTED,
                            "the quality estimator for the translations of %s was removed",
                            request->name);
    if (request->task.deadline_ns)
        how.timeout_ms = request->task.deadline_ns > now + DG_CLOCK_MS
                             ? (request->task.deadline_ns - now) / DG_CLOCK_MS
                             : 1;
    estimate->wake = engine->tasks.wake;
    estimate->wake_arg = engine->tasks.wake_arg;
    dg_list_link_last(&engine->judgements, &estimate->link);
    return dg_quality_estimate_ask(estimate, &how, &request->task.error);
}

/* Counts the qualities under the estimator's name, if the estimator is still there. */
static void count_qualities(const struct dg_engine *engine,
                            const struct dg_quality_estimate *estimate)
{
    const struct dg_served_model *estimator =
        estimate->model ? dg_engine_find_named(engine, estimate->model) : NULL;
    for (size_t i = 0; estimator && i < estimate->n; i++) {
        struct dg_engine_quality_stats *counts = estimator->quality_counts;
        const double quality = (double)estimate->qualities[i];
        size_t bucket = 0;
        while (bucket + 1 < DG_QUALITY_BUCKETS &&
               quality > (double)(bucket + 1) / DG_QUALITY_BUCKETS)
            bucket++;
        counts->buckets[bucket]++;
        counts->sum += quality;
    }
}

/* Returns true while a translated request waits for its quality estimate; an error of the estimate
 * becomes the request's error. */
bool dg_engine_is_being_judged(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_quality_estimate *estimate = request->estimate;
    if (!estimate || request->task.err || request->task.is_told || request->is_copy)
        return false;
    if (!estimate->is_asked)
        request->task.err = ask_judgement(engine, request);
    else if (request->task.deadline_ns && !estimate->is_done &&
             dg_clock_now(engine->tasks.clock) >= request->task.deadline_ns + DG_CLOCK_S)
        request->task.err = DG_ERR_TIMEOUT; /* its worker hangs */
    if (estimate->is_done && estimate->err) {
        request->task.err = estimate->err;
        request->task.error = estimate->error;
    }
    if (estimate->is_done && !estimate->err)
        count_qualities(engine, estimate);
    return !request->task.err && !estimate->is_done;
}

/* Abandons the estimate, whose result is no longer wanted. */
void dg_engine_stop_judging(struct dg_engine *engine, const struct dg_request *request)
{
    const struct dg_quality_estimate *estimate = request->estimate;
    if (estimate && estimate->is_asked && !estimate->is_done)
        dg_tasks_cancel(&engine->tasks, estimate->id);
}
