/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A reference to a model, and what one thread needs to use it, which is made at the first run, on
 * that thread. */
#include "engine/scoring.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "decode/search_opts.h"
#include "decode/score.h"
#include "engine/engine_int.h"
#include "tokenize/target_ids.h"

#include <math.h>

struct dg_scoring {
    struct dg_served_model *served; /* one reference */
    struct dg_lang_pair pair;       /* borrowed from `served` */
    struct dg_scorer *scorer;       /* owned, like the members after it */
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    bool want_attention;
    struct dg_scorer_attention how;
    /* Results of the last run. */
    int32_t *source, *target; /* ids */
    struct dg_score_token *source_tokens, *target_tokens;
    float *logprobs;  /* [n of the target] */
    float *attention; /* [n of the target, n of the source] */
};

enum dg_err dg_scoring_open(struct dg_scoring **scoring, struct dg_engine *engine,
                            const struct dg_engine_request *request, struct dg_error *error)
{
    struct dg_served_model *served;
    struct dg_lang_pair pair;
    enum dg_err err = dg_engine_find(engine, request, error, &served, &pair);
    if (!err && *served->prompt) {
        err = dg_error_set(error, DG_ERR_UNSUPPORTED,
                           "%s is a language model with a template for translation: it cannot "
                           "score given translations",
                           served->name);
        dg_served_model_unref(served);
    }
    if (err)
        return err;
    struct dg_scoring *made = dg_try_calloc(1, sizeof *made);
    if (!made) {
        dg_served_model_unref(served);
        return DG_ERR_NOMEM;
    }
    made->served = served;
    made->pair = pair;
    *scoring = made;
    return DG_OK;
}

enum dg_err dg_scoring_await(struct dg_engine *engine, const struct dg_engine_request *request,
                             const struct dg_engine_events *events, void *ctx,
                             struct dg_error *error, uint64_t *id)
{
    return dg_engine_await(engine, request, events, ctx, error, id);
}

static void forget_run(struct dg_scoring *scoring)
{
    dg_free(scoring->source);
    dg_free(scoring->target);
    dg_free(scoring->source_tokens);
    dg_free(scoring->target_tokens);
    dg_free(scoring->logprobs);
    dg_free(scoring->attention);
    scoring->source = scoring->target = NULL;
    scoring->source_tokens = scoring->target_tokens = NULL;
    scoring->logprobs = scoring->attention = NULL;
}

void dg_scoring_close(struct dg_scoring *scoring)
{
    if (!scoring)
        return;
    forget_run(scoring);
    dg_scorer_free(scoring->scorer);
    dg_tokenizer_work_free(scoring->source_work);
    dg_spm_work_free(scoring->target_work);
    dg_served_model_unref(scoring->served);
    dg_free(scoring);
}

const char *dg_scoring_model(const struct dg_scoring *scoring)
{
    return scoring->served->name;
}

void dg_scoring_shape(const struct dg_scoring *scoring, size_t *n_layers, size_t *n_heads)
{
    const struct dg_blueprint *bp = dg_net_blueprint(scoring->served->net);
    *n_layers = bp->decoder.n_layers;
    *n_heads = bp->decoder.H;
}

enum dg_err dg_scoring_want_attention(struct dg_scoring *scoring, size_t layer, size_t head,
                                      struct dg_error *error)
{
    size_t n_layers, n_heads;
    dg_scoring_shape(scoring, &n_layers, &n_heads);
    if (layer > n_layers)
        return dg_error_set(error, DG_ERR_RANGE, "read layer %zu, expected 0 (the last) to %zu",
                            layer, n_layers);
    if (head > n_heads)
        return dg_error_set(error, DG_ERR_RANGE,
                            "read head %zu, expected 0 (the mean of all) to %zu", head, n_heads);
    scoring->want_attention = true;
    scoring->how.layer = layer ? layer - 1 : n_layers - 1;
    scoring->how.head = (int32_t)head - 1;
    return DG_OK;
}

struct dg_span dg_scoring_piece(const struct dg_scoring *scoring, int32_t id)
{
    return dg_tokenizer_target_piece(scoring->served->tokenizer, id);
}

static enum dg_err make_tools(struct dg_scoring *scoring, struct dg_error *error)
{
    if (scoring->scorer)
        return DG_OK;
    if (!scoring->source_work)
        scoring->source_work = dg_tokenizer_work_new();
    if (!scoring->target_work)
        scoring->target_work = dg_spm_work_new();
    if (!scoring->source_work || !scoring->target_work)
        return DG_ERR_NOMEM;
    return dg_scorer_new(&scoring->scorer, scoring->served->net, scoring->served->limits.source_max,
                         scoring->served->limits.target_max, error);
}

static enum dg_err check_text(struct dg_span text, const char *what, struct dg_error *error)
{
    size_t bad_at;
    if (dg_utf8_valid(text, &bad_at))
        return DG_OK;
    return dg_error_set(error, DG_ERR_UTF8, "the %s is not valid UTF-8 at byte %zu", what, bad_at);
}

static enum dg_err source_ids(struct dg_scoring *scoring, struct dg_span text, size_t *n,
                              struct dg_error *error)
{
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(&scoring->pair);
    const struct dg_token *tokens;
    enum dg_err err = dg_tokenizer_encode(scoring->served->tokenizer, scoring->source_work, text,
                                          &opts, error, &tokens, n);
    if (err)
        return err;
    scoring->source = dg_try_calloc(*n ? *n : 1, sizeof *scoring->source);
    scoring->source_tokens = dg_try_calloc(*n ? *n : 1, sizeof *scoring->source_tokens);
    if (!scoring->source || !scoring->source_tokens)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < *n; i++) {
        scoring->source[i] = tokens[i].id;
        scoring->source_tokens[i] =
            (struct dg_score_token){tokens[i].id, tokens[i].begin, tokens[i].end};
    }
    return DG_OK;
}

static enum dg_err target_ids(struct dg_scoring *scoring, struct dg_span text, size_t *n)
{
    size_t n_pieces;
    enum dg_err err =
        dg_target_ids(scoring->served->tokenizer, scoring->target_work, text, &scoring->target, n);
    if (err)
        return err;
    scoring->target_tokens = dg_try_calloc(*n ? *n : 1, sizeof *scoring->target_tokens);
    if (!scoring->target_tokens)
        return DG_ERR_NOMEM;
    const struct dg_spm_token *pieces = dg_spm_tokens(scoring->target_work, &n_pieces);
    for (size_t i = 0; i < *n; i++) {
        bool is_end = i >= n_pieces;
        uint32_t at = is_end ? (uint32_t)text.len : pieces[i].begin;
        scoring->target_tokens[i] =
            (struct dg_score_token){scoring->target[i], at, is_end ? at : pieces[i].end};
    }
    return DG_OK;
}

/* Makes room for the network's output. */
static enum dg_err make_room(struct dg_scoring *scoring, size_t n_source, size_t n_target)
{
    scoring->logprobs = dg_try_calloc(n_target, sizeof *scoring->logprobs);
    if (scoring->want_attention)
        scoring->attention = dg_try_calloc(n_target * n_source, sizeof *scoring->attention);
    scoring->how.weights = scoring->attention;
    return scoring->logprobs && (scoring->attention || !scoring->want_attention) ? DG_OK
                                                                                 : DG_ERR_NOMEM;
}

/* Checks that both sides fit; the sentence says which side does not. */
static enum dg_err check_lengths(const struct dg_scoring *scoring, size_t n_source, size_t n_target,
                                 struct dg_error *error)
{
    const struct dg_decoder_limits *limits = &scoring->served->limits;
    if (n_source == 0 || n_source > limits->source_max)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the text has %zu tokens, expected 1 to %zu: score it in parts",
                            n_source, limits->source_max);
    size_t n_lead = scoring->pair.n_lead;
    if (n_target == 0 || n_target + n_lead > limits->target_max)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the translation has %zu tokens, expected 1 to %zu: score it in parts",
                            n_target, limits->target_max - n_lead);
    return DG_OK;
}

static enum dg_err run_scorer(struct dg_scoring *scoring, size_t n_source, size_t n_target,
                              struct dg_error *error)
{
    struct dg_scorer_target target = {.ids = scoring->target,
                                      .n = n_target,
                                      .lead = scoring->pair.lead,
                                      .n_lead = scoring->pair.n_lead};
    return dg_scorer_run(scoring->scorer, scoring->source, n_source, &target, scoring->logprobs,
                         scoring->want_attention ? &scoring->how : NULL, error);
}

enum dg_err dg_scoring_run(struct dg_scoring *scoring, struct dg_span source, struct dg_span target,
                           struct dg_score *score, struct dg_error *error)
{
    size_t n_source = 0, n_target = 0;
    forget_run(scoring);
    enum dg_err err = check_text(source, "text", error);
    if (!err)
        err = check_text(target, "translation", error);
    if (!err)
        err = make_tools(scoring, error);
    if (!err)
        err = source_ids(scoring, source, &n_source, error);
    if (!err)
        err = target_ids(scoring, target, &n_target);
    if (!err)
        err = check_lengths(scoring, n_source, n_target, error);
    if (!err)
        err = make_room(scoring, n_source, n_target);
    if (!err)
        err = run_scorer(scoring, n_source, n_target, error);
    if (err)
        return err;
    struct dg_score found = {.source = scoring->source_tokens,
                             .target = scoring->target_tokens,
                             .logprobs = scoring->logprobs,
                             .attention = scoring->attention,
                             .n_source = n_source,
                             .n_target = n_target,
                             .length_penalty = (double)dg_search_usual_length_penalty(
                                 &scoring->served->blueprint, false)};
    for (size_t i = 0; i < n_target; i++) {
        if (isnan(scoring->logprobs[i]))
            return dg_error_set(error, DG_ERR_INTEGRITY,
                                "the model gave scores that are not finite; import it again");
        found.logprob += (double)scoring->logprobs[i];
    }
    *score = found;
    return DG_OK;
}
