/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Scores a target in chunks of positions, so that the memory for logits stays small however long
 * the target is. */
#include "decode/score.h"
#include "base/memory/mem.h"
#include "decode/search_opts.h"
#include "decode/sampling.h"

#include <math.h>
#include <string.h>

enum { STRETCH = 32 }; /* positions of one pass */

struct dg_scorer {
    const struct dg_net *net;
    const struct dg_blueprint *bp;
    struct dg_net_state *state;
    struct dg_sampling *pick;
};

enum dg_err dg_scorer_new(struct dg_scorer **out, const struct dg_net *net, size_t source_max,
                          size_t target_max, struct dg_error *error)
{
    struct dg_scorer *scorer = dg_try_calloc(1, sizeof *scorer);
    if (!scorer)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a scorer");
    scorer->net = net;
    scorer->bp = dg_net_blueprint(net);
    struct dg_net_limits limits = {.slots = 1,
                                   .lanes = 1,
                                   .rows = STRETCH,
                                   .source_len = source_max,
                                   .target_len = target_max};
    enum dg_err err = dg_net_state_new(&scorer->state, net, &limits, error);
    if (!err && !(scorer->pick = dg_sampling_new(dg_net_kernels(net), scorer->bp->decoder.V)))
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for a scorer");
    if (err) {
        dg_scorer_free(scorer);
        return err;
    }
    *out = scorer;
    return DG_OK;
}

void dg_scorer_free(struct dg_scorer *scorer)
{
    if (!scorer)
        return;
    dg_sampling_free(scorer->pick);
    dg_net_state_free(scorer->state);
    dg_free(scorer);
}

/* Returns the token at position `i` of the lead followed by the target. */
static int32_t id_at(const struct dg_scorer_target *target, size_t i)
{
    return i < target->n_lead ? target->lead[i] : target->ids[i - target->n_lead];
}

static enum dg_err check(const struct dg_scorer *scorer, const int32_t *src, size_t n_src,
                         const struct dg_scorer_target *target, struct dg_error *error)
{
    const struct dg_net_limits *limits = dg_net_state_limits(scorer->state);
    size_t n_tgt = target->n, n_all = target->n_lead + n_tgt;
    if (n_src == 0 || n_src > limits->source_len || n_tgt == 0 || target->n_lead > DG_LEAD_MAX ||
        n_all > limits->target_len)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "source of %zu and target of %zu tokens, expected 1 to %zu and 1 to %zu", n_src, n_all,
            limits->source_len, limits->target_len);
    for (size_t i = 0; i < n_src; i++)
        if (src[i] < 0 || (size_t)src[i] >= scorer->bp->encoder.V)
            return dg_error_set(error, DG_ERR_RANGE, "source id %zu is %ld, expected 0 to %zu", i,
                                (long)src[i], scorer->bp->encoder.V - 1);
    for (size_t i = 0; i < n_all; i++)
        if (id_at(target, i) < 0 || (size_t)id_at(target, i) >= scorer->bp->decoder.V)
            return dg_error_set(error, DG_ERR_RANGE, "target id %zu is %ld, expected 0 to %zu", i,
                                (long)id_at(target, i), scorer->bp->decoder.V - 1);
    return DG_OK;
}

/* Returns the log-probability of `id` in a row of logits, without padding. */
static float logprob_of(const struct dg_scorer *scorer, float *logits, int32_t id)
{
    float lse;
    for (size_t i = 0; i < scorer->bp->n_suppress; i++)
        logits[scorer->bp->suppress[i]] = -INFINITY;
    dg_sampling_top(scorer->pick, logits, scorer->bp->decoder.V, 0, NULL, &lse);
    return logits[id] - lse;
}

/* Scores positions [at, at + n) in one pass. */
static enum dg_err run_stretch(struct dg_scorer *scorer, const struct dg_scorer_target *target,
                               size_t at, size_t n, float *logprobs,
                               const struct dg_scorer_attention *attention, size_t n_src)
{
    struct dg_net_row rows[STRETCH];
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct dg_net_row){
            .position = (uint32_t)(at + i),
            .token = at + i == 0 ? dg_net_start_token(scorer->net) : id_at(target, at + i - 1),
            .want_logits = at + i >= target->n_lead,
        };
    struct dg_net_step step = {.rows = rows, .n_rows = n};
    if (attention) {
        step.attention = true;
        step.attention_layer = attention->layer;
        step.attention_head = attention->head;
    }
    enum dg_err err = dg_net_step(scorer->state, &step);
    for (size_t i = 0; !err && i < n; i++) {
        if (at + i < target->n_lead)
            continue;
        size_t t = at + i - target->n_lead;
        if (attention)
            memcpy(attention->weights + t * n_src, dg_net_attention(scorer->state, i),
                   n_src * sizeof *attention->weights);
        logprobs[t] = logprob_of(scorer, dg_net_logits(scorer->state, i), target->ids[t]);
    }
    return err;
}

enum dg_err dg_scorer_run(struct dg_scorer *scorer, const int32_t *src, size_t n_src,
                          const struct dg_scorer_target *target, float *logprobs,
                          const struct dg_scorer_attention *attention, struct dg_error *error)
{
    enum dg_err err = check(scorer, src, n_src, target, error);
    if (err)
        return err;
    const size_t n_all = target->n_lead + target->n;
    err = dg_net_open(scorer->state, 0, n_src, 1, n_all);
    struct dg_net_source source = {0, src};
    if (!err)
        err = dg_net_encode(scorer->state, &source, 1);
    for (size_t at = 0; !err && at < n_all; at += STRETCH)
        err = run_stretch(scorer, target, at, n_all - at < STRETCH ? n_all - at : STRETCH, logprobs,
                          attention, n_src);
    dg_net_close(scorer->state, 0);
    return err ? dg_error_set(error, err, "the target could not be scored: %s",
                              dg_err_sentence(err))
               : DG_OK;
}
