/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads the pairs, computes the loss in a teacher-forced pass, and the scores with a search. */
#include "tools/model/quality_drift.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "decode/decoder.h"
#include "decode/score.h"
#include "text/score/metric.h"
#include "tokenize/target_ids.h"
#include "tools/ids.h"

#include <math.h>
#include <string.h>

enum { TOKENS_MAX = 512, SENTENCES = 16, TEXT_MAX = 1 << 16 };

/* ---- Pairs ----------------------------------------------------------------------------------- */

struct reading {
    struct drift *drift;
    const struct drift_opts *opts;
    struct dg_tokenizer_work *source_work;
    struct dg_spm_work *target_work;
    size_t tokens_max;
};

static enum dg_err add_pair(struct reading *r, struct dg_span source, struct dg_span target,
                            struct dg_error *error)
{
    struct drift *drift = r->drift;
    if (DG_GROW(drift->pairs, drift->n, drift->cap, 256))
        return DG_ERR_NOMEM;
    struct drift_pair pair = {.reference = target};
    const struct dg_tokenizer_opts opts = dg_lang_pair_tokenizer_opts(&drift->pair);
    enum dg_err err = ids_encode(drift->tokenizer, r->source_work, source, &opts, &pair.source,
                                 &pair.n_source, error);
    if (!err)
        err = dg_target_ids(drift->tokenizer, r->target_work, target, &pair.target, &pair.n_target);
    const bool is_long =
        pair.n_source > r->tokens_max || pair.n_target + drift->pair.n_lead > r->tokens_max;
    if (err || is_long || pair.n_source == 0 || pair.n_target == 0) {
        drift->n_long += !err && is_long;
        dg_free(pair.source);
        dg_free(pair.target);
        return err;
    }
    drift->pairs[drift->n++] = pair;
    drift->longest_source =
        pair.n_source > drift->longest_source ? pair.n_source : drift->longest_source;
    drift->longest_target =
        pair.n_target > drift->longest_target ? pair.n_target : drift->longest_target;
    return DG_OK;
}

static enum dg_err read_line(struct reading *r, struct dg_span line, struct dg_error *error)
{
    size_t bad_at;
    const char *tab = line.len ? memchr(line.ptr, '\t', line.len) : NULL;
    if (!tab)
        return dg_error_set(error, DG_ERR_FORMAT, "no tab, expected source<TAB>target");
    if (!dg_utf8_valid(line, &bad_at))
        return dg_error_set(error, DG_ERR_UTF8, "not valid UTF-8 at byte %zu", bad_at);
    const struct dg_span first = dg_span_make(line.ptr, (size_t)(tab - line.ptr));
    const struct dg_span second = dg_span_sub(line, first.len + 1, line.len);
    return r->opts->swap ? add_pair(r, second, first, error) : add_pair(r, first, second, error);
}

static enum dg_err read_pairs(struct reading *r, const char *path, struct dg_error *error)
{
    struct drift *drift = r->drift;
    struct dg_span line;
    enum dg_err err = DG_OK;
    size_t number = 0;
    while (!err && (r->opts->most == 0 || drift->n < r->opts->most) &&
           dg_text_in_line(&drift->file, &line)) {
        number++;
        err = read_line(r, line, error);
        if (err)
            err = dg_error_wrap(error, err, "%s, line %zu", path, number);
    }
    if (!err && drift->n == 0)
        err = dg_error_set(error, DG_ERR_FORMAT, "%s has no pair to judge by", path);
    return err;
}

static enum dg_err choose_languages(struct drift *drift, const char *model_dir,
                                    const struct dg_blueprint *bp, const struct drift_opts *opts,
                                    struct dg_error *error)
{
    const struct dg_langs_opts languages = {
        .tokenizer = drift->tokenizer, .rule = bp->lang_rule, .name = model_dir};
    enum dg_err err = dg_langs_new(&drift->langs, &languages, error);
    return err ? err
               : dg_langs_choose(drift->langs, opts->source, opts->target, error, &drift->pair);
}

enum dg_err drift_open(struct drift *drift, const char *model_dir, const char *file,
                       const struct dg_blueprint *bp, const struct drift_opts *opts,
                       struct dg_error *error)
{
    *drift = (struct drift){.n = 0};
    struct reading r = {.drift = drift, .opts = opts};
    r.tokens_max = bp->source_len_max < TOKENS_MAX ? bp->source_len_max : TOKENS_MAX;
    enum dg_err err = dg_text_in_open(&drift->file, file, error);
    if (err)
        return err;
    err = dg_tokenizer_open(model_dir, error, &drift->tokenizer);
    if (!err)
        err = choose_languages(drift, model_dir, bp, opts, error);
    r.source_work = dg_tokenizer_work_new();
    r.target_work = dg_spm_work_new();
    if (!err && (!r.source_work || !r.target_work))
        err = DG_ERR_NOMEM;
    if (!err)
        err = read_pairs(&r, file, error);
    dg_tokenizer_work_free(r.source_work);
    dg_spm_work_free(r.target_work);
    if (err)
        drift_close(drift);
    return err;
}

void drift_close(struct drift *drift)
{
    for (size_t i = 0; i < drift->n; i++) {
        dg_free(drift->pairs[i].source);
        dg_free(drift->pairs[i].target);
    }
    dg_free(drift->pairs);
    dg_langs_unref(drift->langs);
    dg_tokenizer_close(drift->tokenizer);
    dg_text_in_close(&drift->file);
    *drift = (struct drift){.n = 0};
}

/* ---- Loss ------------------------------------------------------------------------------------ */

enum dg_err drift_loss(const struct drift *drift, const struct dg_net *net, double *loss,
                       struct dg_error *error)
{
    struct dg_scorer *scorer = NULL;
    float *logprobs = dg_try_calloc(drift->longest_target, sizeof *logprobs);
    double sum = 0;
    size_t n = 0;
    enum dg_err err = logprobs ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_scorer_new(&scorer, net, drift->longest_source,
                            drift->longest_target + drift->pair.n_lead, error);
    for (size_t i = 0; i < drift->n && !err; i++) {
        const struct drift_pair *pair = &drift->pairs[i];
        const struct dg_scorer_target target = {pair->target, pair->n_target, drift->pair.lead,
                                                drift->pair.n_lead};
        err = dg_scorer_run(scorer, pair->source, pair->n_source, &target, logprobs, NULL, error);
        for (size_t t = 0; t < pair->n_target && !err; t++)
            /* a token that the network can never output has no probability */
            if (isfinite(logprobs[t])) {
                sum -= (double)logprobs[t];
                n++;
            }
    }
    if (!err)
        *loss = n ? sum / (double)n : 0;
    dg_scorer_free(scorer);
    dg_free(logprobs);
    return err;
}

/* ---- Translations ---------------------------------------------------------------------------- */

struct sentence {
    struct dg_buf text;
    const struct dg_tokenizer *tokenizer;
    enum dg_err err;
};

static void on_translation_done(void *ctx, const struct dg_search *search)
{
    struct sentence *sentence = ctx;
    const struct dg_answer answer = dg_search_answer(search, 0);
    size_t n = answer.n_ids;
    if (n && answer.finish == DG_FINISH_EOS)
        n--;
    sentence->err = dg_tokenizer_decode(sentence->tokenizer, answer.ids, n, &sentence->text);
}

static enum dg_err decode_all(const struct drift *drift, struct dg_decoder *decoder,
                              const struct dg_search_opts *opts, struct sentence *sentences,
                              struct dg_error *error)
{
    static const struct dg_decode_events events = {.on_done = on_translation_done};
    enum dg_err err = DG_OK;
    for (size_t next = 0; !err && (next < drift->n || dg_decoder_n_sentences(decoder));) {
        while (!err && next < drift->n) {
            const struct drift_pair *pair = &drift->pairs[next];
            const struct dg_decode_job job = {pair->source, pair->n_source, opts, &events,
                                              &sentences[next]};
            if (dg_decoder_n_fitting(decoder, &job, 1) == 0)
                break;
            err = dg_decoder_add(decoder, &job, 1, NULL, error);
            next++;
        }
        if (!err)
            dg_decoder_step(decoder);
    }
    return err;
}

static enum dg_err count_scores(const struct drift *drift, const struct sentence *sentences,
                                struct drift_scores *scores)
{
    const struct dg_bleu_opts opts = DG_BLEU_OPTS_DEFAULT;
    struct dg_metric *metric = dg_metric_new();
    struct dg_bleu_stats bleu = {0}, one_bleu;
    struct dg_chrf_stats chrf = {0}, one_chrf;
    enum dg_err err = metric ? DG_OK : DG_ERR_NOMEM;
    for (size_t i = 0; i < drift->n && !err; i++) {
        const struct dg_span text = dg_buf_span(&sentences[i].text),
                             reference = drift->pairs[i].reference;
        err = sentences[i].err;
        if (!err)
            err = dg_bleu_count(metric, &opts, text, reference, &one_bleu);
        if (!err)
            err = dg_chrf_count(metric, 0, text, reference, &one_chrf);
        if (err)
            break;
        dg_bleu_add(&bleu, &one_bleu);
        dg_chrf_add(&chrf, &one_chrf);
    }
    dg_metric_free(metric);
    if (!err)
        *scores = (struct drift_scores){dg_bleu_score(&bleu, &opts, false).score,
                                        dg_chrf_score(&chrf, 0)};
    return err;
}

enum dg_err drift_translate(const struct drift *drift, const struct dg_net *net, int beam,
                            struct drift_scores *scores, struct dg_error *error)
{
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    struct dg_decoder *decoder = NULL;
    struct sentence *sentences = dg_try_calloc(drift->n, sizeof *sentences);
    if (!sentences)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < drift->n; i++) {
        dg_buf_init(&sentences[i].text, TEXT_MAX);
        sentences[i].tokenizer = drift->tokenizer;
    }
    opts.beam = beam;
    dg_search_opts_complete(&opts, dg_net_blueprint(net),
                            (struct dg_search_usual){.length_penalty = true}, 0);
    dg_pair_lead(&drift->pair, &opts);
    const struct dg_decoder_limits limits = {.sentences = SENTENCES,
                                             .rows = SENTENCES * (size_t)beam,
                                             .source_max = drift->longest_source,
                                             .target_max = (size_t)opts.max_len,
                                             .batch_tokens = 4 * drift->longest_source};
    enum dg_err err = dg_decoder_new(&decoder, net, &limits, error);
    if (!err)
        err = decode_all(drift, decoder, &opts, sentences, error);
    if (!err)
        err = count_scores(drift, sentences, scores);
    dg_decoder_free(decoder);
    for (size_t i = 0; i < drift->n; i++)
        dg_buf_deinit(&sentences[i].text);
    dg_free(sentences);
    return err;
}
