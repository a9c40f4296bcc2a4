/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Loading a model for service: look (check, measure), take the memory, pack, try it, give it decoders. */
#include "engine/loaded.h"
#include "base/mem.h"
#include "engine/prompt.h"
#include "engine/remote_value.h"
#include "engine/template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void dg_loaded_free(struct dg_loaded *loaded)
{
    if (!loaded)
        return;
    if (loaded->place)
        dg_sched_detach(loaded->sched, loaded->place);
    dg_net_free(loaded->net);
    dg_lex_close(loaded->lex);
    dg_tokenizer_close(loaded->tokenizer);
    if (loaded->is_leaving)
        atomic_fetch_sub(&loaded->ledger->leaving, loaded->bytes);
    if (loaded->is_paid)
        dg_ledger_give(loaded->ledger, loaded->bytes);
    dg_free(loaded->joining);
    if (loaded->labels)
        dg_labels_close(loaded->labels);
    dg_free(loaded->labels);
    dg_template_free(loaded->template);
    dg_free(loaded->prompt);
    dg_free(loaded->stop);
    dg_free(loaded->judges);
    dg_free(loaded->name);
    dg_free(loaded->path);
    dg_free(loaded->source);
    dg_free(loaded->target);
    dg_free(loaded->formal);
    dg_free(loaded->informal);
    dg_langs_unref(loaded->langs);
    dg_free(loaded);
}

/* The vocabularies on both sides of the tokenizer must be the network's. */
static enum dg_err check_tokenizer(const struct dg_loaded *loaded, const char *path,
                                   struct dg_why *why)
{
    size_t source = dg_tokenizer_source(loaded->tokenizer).size;
    size_t target = dg_tokenizer_target(loaded->tokenizer).size;
    const bool has_target = !dg_blueprint_is_reader(&loaded->blueprint); /* others give labels, or words of the source */
    if (source > loaded->blueprint.encoder.V || (has_target && target > loaded->blueprint.decoder.V))
        return dg_why_set(why, DG_ERR_FORMAT,
                          "%s: the vocabulary has %zu source and %zu target words, the network %zu "
                          "and %zu; these files do not belong together",
                          path, source, target, loaded->blueprint.encoder.V,
                          loaded->blueprint.decoder.V);
    return DG_OK;
}

/* A few rows of the output that no word goes with (M2M100 and NLLB fill their matrix up) are never said: said, they
 * would be no text. */
static void silence_rest(struct dg_loaded *loaded)
{
    struct dg_blueprint *bp = &loaded->blueprint;
    const size_t n_words = dg_tokenizer_target(loaded->tokenizer).size;
    if (bp->decoder.V - n_words > DG_BLUEPRINT_SUPPRESS_MAX - bp->n_suppress)
        return;
    for (size_t id = n_words; id < bp->decoder.V; id++)
        bp->suppress[bp->n_suppress++] = (int32_t)id;
}

static enum dg_err list_languages(struct dg_loaded *loaded, struct dg_why *why)
{
    const struct dg_langs_opts opts = {.tokenizer = loaded->tokenizer,
                                       .rule = loaded->blueprint.lang_rule,
                                       .source = loaded->source,
                                       .target = loaded->target,
                                       .name = loaded->name,
                                       .formal = loaded->formal,
                                       .informal = loaded->informal,
                                       .forced_id = loaded->blueprint.forced_bos_id,
                                       .is_told = *loaded->prompt != '\0'};
    return dg_langs_new(&loaded->langs, &opts, why);
}

/* ---- Models that read --------------------------------------------------------------------------- */

static enum dg_err find_marks(struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    const struct dg_subword *subword = dg_tokenizer_subword(loaded->tokenizer);
    struct dg_marks *marks = &loaded->marks;
    if (!subword)
        return dg_why_set(why, DG_ERR_UNSUPPORTED, "%s: expected the encoder's tokenizer.json, or its vocab.txt", path);
    marks->cls = dg_subword_sign(subword, DG_SUBWORD_CLS);
    marks->sep = dg_subword_sign(subword, DG_SUBWORD_SEP);
    marks->mask = dg_subword_sign(subword, DG_SUBWORD_MASK);
    if (marks->cls < 0 || marks->sep < 0 || (marks->mask < 0 && loaded->blueprint.enc.head == DG_HEAD_WORDS))
        return dg_why_set(why, DG_ERR_FORMAT, "%s: the vocabulary lacks the tokens around texts or for masked words: expected "
                          "[CLS], [SEP] and [MASK], or <s>, </s> and <mask>", path);
    return DG_OK;
}

static bool tells_labels(const struct dg_blueprint *bp)
{
    return bp->family != DG_FAMILY_ENC || bp->enc.head == DG_HEAD_POOLED || bp->enc.head == DG_HEAD_TOKENS;
}

static enum dg_err open_reader(struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    const struct dg_blueprint *bp = &loaded->blueprint;
    enum dg_err err = bp->family == DG_FAMILY_ENC ? find_marks(loaded, path, why) : DG_OK;
    if (err || !tells_labels(bp))
        return err;
    struct dg_labels *labels = dg_try_malloc(sizeof *labels);
    err = labels ? dg_labels_open(labels, path, why) : DG_ERR_NOMEM;
    if (err) {
        dg_free(labels);
        return err;
    }
    loaded->labels = labels;
    if (labels->n == bp->decoder.V)
        return DG_OK;
    return dg_why_set(why, DG_ERR_FORMAT, "%s: labels.txt has %zu labels, the network %zu; these files do not belong together",
                      path, labels->n, bp->decoder.V);
}

/* An encoder that says one number, and has a curve for it, is a quality estimator. One that is configured as such must be. */
static enum dg_err open_estimator(struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    if (!dg_loaded_says_number(&loaded->blueprint))
        return *loaded->judges ? dg_why_set(why, DG_ERR_INVALID, "judges is for quality estimators; this is no encoder that says "
                                            "one number of two texts") : DG_OK;
    struct dg_why reason = DG_WHY_NONE;
    const enum dg_err err = dg_calibration_open(&loaded->calibration, path, &reason);
    loaded->is_estimator = !err;
    if (err && err != DG_ERR_NOT_FOUND)
        return dg_why_set(why, err, "%s", dg_why_text(&reason, err));
    if (!err)
        return DG_OK;
    return *loaded->judges ? dg_why_set(why, DG_ERR_INVALID, "judges is for quality estimators; this model has no quality.json, "
                                        "which 'dragoman quality --fit' makes") : DG_OK;
}

/* ---- Template ----------------------------------------------------------------------------------- */

static void replace(char **text, const char *with)
{
    dg_free(*text);
    *text = dg_xstrdup(with);
}

/* A language model's directory may say itself how it is asked to translate; what was configured comes first. */
static void take_own_template(struct dg_loaded *loaded)
{
    const struct dg_lm_ask *ask = &loaded->blueprint.lm.ask;
    if (loaded->blueprint.family != DG_FAMILY_LM || *loaded->prompt || *loaded->stop || !*ask->form)
        return;
    loaded->is_told_by_files = true;
    replace(&loaded->prompt, ask->form);
    replace(&loaded->stop, ask->stop);
    if (!*loaded->source && !*loaded->target) {
        loaded->has_own_langs = true;
        replace(&loaded->source, ask->source);
        replace(&loaded->target, ask->target);
    }
}

/* Reads the template, and how much room it takes: that of the longest names. */
static enum dg_err open_template(struct dg_loaded *loaded, struct dg_why *why)
{
    const struct dg_template_opts opts = {
        .prompt = loaded->prompt, .stop = loaded->stop, .tokenizer = loaded->tokenizer, .blueprint = &loaded->blueprint};
    const struct dg_langs *langs = loaded->langs;
    struct dg_tokenizer_work *work = NULL;
    if (!*loaded->prompt)
        return *loaded->stop ? dg_why_set(why, DG_ERR_INVALID, "template-stop without a template") : DG_OK;
    if (loaded->blueprint.family != DG_FAMILY_LM)
        return dg_why_set(why, DG_ERR_INVALID, "a template is for language models; this one translates by itself");
    enum dg_err err = dg_template_new(&loaded->template, &opts, why);
    work = err ? NULL : dg_tokenizer_work_new();
    const size_t most = langs->n_sources > langs->n_targets ? langs->n_sources : langs->n_targets;
    for (size_t i = 0; i < most && !err; i++) {
        const struct dg_pair pair = dg_langs_pair(langs, i % langs->n_sources, i % langs->n_targets);
        struct dg_token *tokens = NULL;
        size_t n = 0;
        err = dg_prompt_ask(loaded, &pair, work, DG_SPAN(""), why, &tokens, &n);
        dg_free(tokens);
        loaded->n_prompt = n > loaded->n_prompt ? n : loaded->n_prompt;
    }
    dg_tokenizer_work_free(work);
    return err;
}

/* ---- Self-test ---------------------------------------------------------------------------------- */

static void on_test_done(void *ctx, const struct dg_search *search)
{
    *(enum dg_finish *)ctx = dg_search_answer(search, 0).finish;
}

static void on_test_read(void *ctx, enum dg_err err)
{
    *(enum dg_err *)ctx = err;
}

/* The same of models that read: a text of the tokens that stand around every one. */
static enum dg_err read_test(const struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    static const struct dg_decode_events events = {.on_read = on_test_read};
    static const uint32_t places[] = {1};
    const struct dg_blueprint *bp = &loaded->blueprint;
    const struct dg_decoder_limits small = {
        .sentences = 1, .rows = 1, .source_max = 4, .target_max = 1, .batch_tokens = 4};
    const bool is_enc = bp->family == DG_FAMILY_ENC;
    const int32_t ids[] = {is_enc ? loaded->marks.cls : 0, is_enc ? loaded->marks.sep : 0};
    struct dg_read read = {.kind = !is_enc                           ? DG_READ_LABELS
                                   : bp->enc.head == DG_HEAD_NONE  ? DG_READ_STATE
                                   : bp->enc.head == DG_HEAD_WORDS ? DG_READ_WORDS
                                                                   : DG_READ_LABELS,
                           .at = places, .n_at = 1, .n_best = 1};
    const size_t n = dg_read_size(bp, &read, 2);
    struct dg_decoder *decoder = NULL;
    int32_t word;
    enum dg_err told = DG_ERR_CANCELLED;
    read.values = dg_try_calloc(n, sizeof *read.values);
    read.ids = &word;
    enum dg_err err = read.values ? dg_decoder_new(&decoder, loaded->net, &small, why) : DG_ERR_NOMEM;
    const struct dg_decode_job job = {.src = ids, .n_src = 2, .events = &events, .ctx = &told, .read = &read};
    if (!err)
        err = dg_decoder_add(decoder, &job, 1, NULL, why);
    while (!err && dg_decoder_n_sentences(decoder) > 0)
        dg_decoder_step(decoder);
    err = err ? err : told;
    for (size_t i = 0; i < n && !err; i++)
        if (!isfinite(read.values[i]))
            err = dg_why_set(why, DG_ERR_INTEGRITY,
                             "%s: a text that was read as a test gave numbers that are not finite; the weights are "
                             "damaged, import the model again", path);
    dg_free(read.values);
    dg_decoder_free(decoder);
    return err;
}

/* Translates a word. A model whose weights are damaged (NaN, infinity) fails here and not in front of a
 * user; one that is sound has its pages and tables warm afterwards. */
static enum dg_err self_test(const struct dg_loaded *loaded, const char *path, struct dg_why *why)
{
    static const struct dg_decode_events events = {.on_done = on_test_done};
    const struct dg_pair pair = dg_langs_pair(loaded->langs, 0, 0);
    const struct dg_tokenizer_opts how = dg_pair_tokenizer_opts(&pair);
    const struct dg_decoder_limits small = {
        .sentences = 1, .rows = 1, .source_max = 16, .target_max = 8, .batch_tokens = 16};
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    struct dg_decoder *decoder = NULL;
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = work ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_tokenizer_encode(loaded->tokenizer, work, DG_SPAN("1."), &how, why, &tokens, &n);
    if (!err)
        err = dg_decoder_new(&decoder, loaded->net, &small, why);
    if (!err) {
        int32_t ids[16];
        enum dg_finish finish = DG_FINISH_FAILED;
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        dg_pair_lead(&pair, &opts);
        n = n < 16 ? n : 16;
        for (size_t i = 0; i < n; i++)
            ids[i] = tokens[i].id;
        struct dg_decode_job job = {ids, n, &opts, &events, &finish, false};
        err = dg_decoder_add(decoder, &job, 1, NULL, why);
        while (!err && dg_decoder_n_sentences(decoder) > 0)
            dg_decoder_step(decoder);
        if (!err && finish == DG_FINISH_FAILED)
            err = dg_why_set(why, DG_ERR_INTEGRITY,
                             "%s: a test translation gave scores that are not finite; the weights are "
                             "damaged, import the model again",
                             path);
    }
    dg_decoder_free(decoder);
    dg_tokenizer_work_free(work);
    return err;
}

/* ---- Measuring ---------------------------------------------------------------------------------- */

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* What it takes besides decoders goes to *fixed. */
static enum dg_err choose_limits(struct dg_loaded *loaded, const struct dg_loaded_opts *opts,
                                 const struct dg_net *hollow, struct dg_why *why)
{
    const struct dg_blueprint *bp = &loaded->blueprint;
    struct dg_decoder_limits wanted = opts->limits;
    wanted.lex = loaded->lex;
    size_t fixed = dg_net_bytes(hollow) + dg_tokenizer_memory(loaded->tokenizer);
    size_t n_workers = dg_sched_n_workers(opts->sched), max = opts->ledger->max, per_worker = 0;
    size_t n_beams = bp->n_beams < 1 ? 1 : bp->n_beams > wanted.rows ? wanted.rows : bp->n_beams;
    if ((bp->family == DG_FAMILY_LM || dg_blueprint_is_reader(bp)) && wanted.prompt_max)
        wanted.source_max = wanted.prompt_max;
    if (wanted.source_max > bp->source_len_max)
        wanted.source_max = bp->source_len_max;
    if (wanted.target_max > bp->target_len_max)
        wanted.target_max = bp->target_len_max;
    if (bp->family == DG_FAMILY_LM) {
        const size_t largest = DG_BEAM_MAX * wanted.target_max + wanted.source_max;
        wanted.kv_tokens = wanted.kv_tokens > largest ? wanted.kv_tokens : largest;
        wanted.batch_tokens = wanted.batch_tokens > wanted.source_max ? wanted.batch_tokens : wanted.source_max;
    }
    if (dg_blueprint_is_reader(bp)) {
        const size_t largest = wanted.source_max + 1;
        wanted.kv_tokens = wanted.kv_tokens > largest ? wanted.kv_tokens : largest;
        wanted.batch_tokens = wanted.batch_tokens > wanted.source_max ? wanted.batch_tokens : wanted.source_max;
    }
    /* A fair share first; all there is for a model that cannot do with that. */
    size_t each = opts->bytes_each > fixed ? opts->bytes_each - fixed : 1;
    enum dg_err err = dg_budget_fit(hollow, &wanted, n_workers, n_beams, max ? each : 0, why,
                                    &loaded->limits, &per_worker);
    if (err == DG_ERR_LIMIT && fixed < max && per_worker <= (max - fixed) / n_workers)
        err = dg_budget_fit(hollow, &wanted, n_workers, n_beams, per_worker * n_workers, why,
                            &loaded->limits, &per_worker);
    if (err == DG_ERR_LIMIT)
        return dg_why_set(why, err,
                          "it needs %.1f MiB at the least (weights and vocabulary %.1f, %zu workers with one "
                          "sentence each %.1f), and memory-limit leaves %.1f MiB for models; raise it, or lower "
                          "threads, source-max or target-max",
                          mib(fixed + per_worker * n_workers), mib(fixed), n_workers,
                          mib(per_worker * n_workers), mib(max));
    if (!err)
        loaded->bytes = fixed + per_worker * n_workers;
    return err;
}

static enum dg_err measure(struct dg_loaded *loaded, const struct dg_loaded_opts *opts,
                           const struct dg_model *model, struct dg_why *why)
{
    const struct dg_net_opts hollow_opts = {.is_hollow = true};
    struct dg_net *hollow = NULL;
    enum dg_err err =
        dg_net_new(&hollow, &loaded->blueprint, dg_model_weights(model), &hollow_opts, why);
    if (!err)
        err = choose_limits(loaded, opts, hollow, why);
    dg_net_free(hollow);
    return err;
}

/* ---- Loading ------------------------------------------------------------------------------------ */

static enum dg_err take_memory(struct dg_loaded *loaded, struct dg_why *why)
{
    if (!dg_ledger_take(loaded->ledger, loaded->bytes))
        return dg_why_set(why, DG_ERR_BUSY, "its %.1f MiB do not fit beside the models in memory",
                          mib(loaded->bytes));
    loaded->is_paid = true;
    return DG_OK;
}

static enum dg_err load(struct dg_loaded *loaded, const struct dg_loaded_opts *opts, struct dg_why *why)
{
    struct dg_model *model = NULL;
    const char *path = loaded->path;
    enum dg_err err = dg_tokenizer_open(path, why, &loaded->tokenizer);
    if (!err)
        err = dg_model_open(&model, path, why);
    if (err)
        goto out;
    loaded->blueprint = *dg_model_blueprint(model);
    if (loaded->blueprint.unk_id == DG_ID_NONE) /* many configurations leave it to the vocabulary */
        loaded->blueprint.unk_id = dg_tokenizer_target(loaded->tokenizer).unk;
    const bool reads = dg_blueprint_is_reader(&loaded->blueprint);
    if (!err)
        err = check_tokenizer(loaded, path, why);
    if (!err && loaded->blueprint.family != DG_FAMILY_LM && !reads)
        silence_rest(loaded);
    if (!err && reads)
        err = open_reader(loaded, path, why);
    if (!err)
        take_own_template(loaded);
    if (!err)
        err = open_estimator(loaded, path, why);
    if (!err)
        err = list_languages(loaded, why);
    if (!err && !opts->limits.whole_vocabulary && !reads)
        err = dg_lex_open(&loaded->lex, path, loaded->blueprint.encoder.V, loaded->blueprint.decoder.V, why);
    if (!err)
        err = open_template(loaded, why);
    if (!err)
        err = measure(loaded, opts, model, why);
    const size_t least = 2 + loaded->blueprint.enc.separators + 2; /* what stands around two texts, and a token of each */
    if (!err && loaded->blueprint.family == DG_FAMILY_ENC && loaded->limits.source_max < least)
        err = dg_why_set(why, DG_ERR_RANGE, "it would read %zu tokens at a time, expected at least %zu, so that there is room "
                         "for two texts; raise prompt-max, or use a model of more positions", loaded->limits.source_max, least);
    if (!err && loaded->template && loaded->n_prompt + 16 > loaded->limits.source_max)
        err = dg_why_set(why, DG_ERR_RANGE, "the template takes %zu tokens, and prompts may have %zu: there is no room for a "
                         "text; raise prompt-max or shorten the template", loaded->n_prompt, loaded->limits.source_max);
    if (err || opts->is_stand_in)
        goto out;
    const bool has_name = opts->wants_fingerprint && !loaded->template; /* what ends its answers is not of its files */
    if (has_name)
        err = dg_remote_fingerprint(path, why, loaded->fingerprint);
    loaded->has_fingerprint = has_name && !err;
    if (!err)
        err = take_memory(loaded, why);
    const bool carries = loaded->blueprint.family != DG_FAMILY_LM && !reads;
    if (!err && carries)
        err = dg_carry_words_init(&loaded->carry_words, loaded->tokenizer);
    if (!err && carries)
        err = dg_carry_joining(loaded->tokenizer, loaded->blueprint.decoder.V, &loaded->joining);
    const struct dg_net_opts net_opts = {.model = model};
    if (!err)
        err = dg_net_new(&loaded->net, &loaded->blueprint, dg_model_weights(model), &net_opts, why);
    if (!err)
        err = reads ? read_test(loaded, path, why) : self_test(loaded, path, why);
    if (!err)
        err = dg_sched_attach(loaded->sched, loaded->net, &loaded->limits, why, &loaded->place);
    if (!err)
        dg_sched_count_into(loaded->place, opts->counts);
out:
    if (opts->is_stand_in) {
        if (loaded->labels)
            dg_labels_close(loaded->labels);
        dg_free(loaded->labels);
        loaded->labels = NULL;
        dg_tokenizer_close(loaded->tokenizer);
        dg_lex_close(loaded->lex);
        dg_template_free(loaded->template);
        loaded->template = NULL;
        loaded->tokenizer = NULL;
        loaded->limits.lex = loaded->lex = NULL;
    }
    dg_model_unref(model);
    return err;
}

/* ---- Life --------------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return dg_xstrdup(text ? text : "");
}

enum dg_err dg_loaded_open(struct dg_loaded **out, const struct dg_loaded_opts *opts,
                           const struct dg_engine_model *model, struct dg_why *why)
{
    struct dg_loaded *loaded = dg_xcalloc(1, sizeof *loaded);
    loaded->n_refs = 1;
    loaded->sched = opts->sched;
    loaded->ledger = opts->ledger;
    loaded->cache_counts = opts->cache_counts;
    loaded->quality_counts = opts->quality_counts;
    loaded->name = copy(model->name);
    loaded->path = copy(model->path);
    loaded->source = copy(model->source);
    loaded->target = copy(model->target);
    loaded->formal = copy(model->formal);
    loaded->informal = copy(model->informal);
    loaded->prompt = copy(model->template);
    loaded->stop = copy(model->stop);
    loaded->judges = copy(model->judges);
    enum dg_err err = load(loaded, opts, why);
    if (err) {
        dg_loaded_free(loaded);
        return dg_why_wrap(why, err, "model %s", model->name);
    }
    *out = loaded;
    return DG_OK;
}

struct dg_loaded *dg_loaded_stand_in(const struct dg_loaded *loaded)
{
    struct dg_loaded *made = dg_try_malloc(sizeof *made);
    if (!made)
        return NULL;
    *made = (struct dg_loaded){
        .name = dg_xstrdup(loaded->name),
        .path = dg_xstrdup(loaded->path),
        .source = dg_xstrdup(loaded->source),
        .target = dg_xstrdup(loaded->target),
        .formal = dg_xstrdup(loaded->formal),
        .informal = dg_xstrdup(loaded->informal),
        .prompt = dg_xstrdup(loaded->prompt),
        .stop = dg_xstrdup(loaded->stop),
        .is_told_by_files = loaded->is_told_by_files,
        .has_own_langs = loaded->has_own_langs,
        .judges = dg_xstrdup(loaded->judges),
        .calibration = loaded->calibration,
        .is_estimator = loaded->is_estimator,
        .n_prompt = loaded->n_prompt,
        .langs = dg_langs_ref(loaded->langs),
        .sched = loaded->sched,
        .ledger = loaded->ledger,
        .blueprint = loaded->blueprint,
        .limits = loaded->limits,
        .bytes = loaded->bytes,
        .cache_counts = loaded->cache_counts,
        .quality_counts = loaded->quality_counts,
        .version = loaded->version,
        .n_refs = 1,
    };
    made->limits.lex = NULL;
    return made;
}

struct dg_loaded *dg_loaded_ref(struct dg_loaded *loaded)
{
    loaded->n_refs++;
    return loaded;
}

void dg_loaded_unref(struct dg_loaded *loaded)
{
    if (!loaded || --loaded->n_refs > 0)
        return;
    if (loaded->bury)
        loaded->bury(loaded->bury_arg, loaded);
    else
        dg_loaded_free(loaded);
}
