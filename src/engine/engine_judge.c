/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Translations whose quality was asked for: when all is translated, source and translation of each sentence go to the
 * estimator (judgement.h) as a reading of the same engine, and the request ends when that has ended. */
#include "engine/engine_int.h"
#include "engine/judgement.h"
#include "engine/request.h"

/* All is translated: source and translation of each sentence go to the estimator. */
static enum dg_err ask_judgement(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_judgement *judgement = request->judgement;
    const uint64_t now = dg_clock_now(engine->tools.clock);
    struct dg_judgement_how how = {.engine = engine, .estimator = dg_engine_find_estimator(engine, request->name),
                                   .priority = request->asked.priority,
                                   .client = request->asked.client};
    if (judgement->n == 0)
        return dg_judgement_ask(judgement, &how, &request->why);
    if (!how.estimator)
        return dg_why_set(&request->why, DG_ERR_UNSUPPORTED, "the quality estimator of what %s translates has left", request->name);
    if (request->deadline_ns)
        how.timeout_ms = request->deadline_ns > now + DG_CLOCK_MS ? (request->deadline_ns - now) / DG_CLOCK_MS : 1;
    judgement->wake = engine->wake;
    judgement->wake_arg = engine->wake_arg;
    dg_list_link_last(&engine->judgements, &judgement->link);
    return dg_judgement_ask(judgement, &how, &request->why);
}

/* Under the estimator's name, if it is still there. */
static void count_qualities(const struct dg_engine *engine, const struct dg_judgement *judgement)
{
    const struct dg_loaded *estimator = judgement->model ? dg_engine_find_named(engine, judgement->model) : NULL;
    for (size_t i = 0; estimator && i < judgement->n; i++) {
        struct dg_engine_quality_stats *counts = estimator->quality_counts;
        const double quality = (double)judgement->qualities[i];
        size_t bucket = 0;
        while (bucket + 1 < DG_QUALITY_BUCKETS && quality > (double)(bucket + 1) / DG_QUALITY_BUCKETS)
            bucket++;
        counts->buckets[bucket]++;
        counts->sum += quality;
    }
}

/* True while a request whose text is translated waits to be judged; what goes wrong with that becomes its error. */
bool dg_engine_is_being_judged(struct dg_engine *engine, struct dg_request *request)
{
    struct dg_judgement *judgement = request->judgement;
    if (!judgement || request->err || request->is_told || request->is_copy)
        return false;
    if (!judgement->is_asked)
        request->err = ask_judgement(engine, request);
    else if (request->deadline_ns && !judgement->is_done &&
             dg_clock_now(engine->tools.clock) >= request->deadline_ns + DG_CLOCK_S)
        request->err = DG_ERR_TIMEOUT; /* its worker hangs */
    if (judgement->is_done && judgement->err) {
        request->err = judgement->err;
        request->why = judgement->why;
    }
    if (judgement->is_done && !judgement->err)
        count_qualities(engine, judgement);
    return !request->err && !judgement->is_done;
}

/* Nobody wants to know it any more. */
void dg_engine_stop_judging(struct dg_engine *engine, const struct dg_request *request)
{
    const struct dg_judgement *judgement = request->judgement;
    if (judgement && judgement->is_asked && !judgement->is_done)
        dg_readings_cancel(&engine->readings, judgement->id);
}
