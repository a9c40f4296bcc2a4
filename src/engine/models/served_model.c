/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Loads a model for service: checks and measures it, takes the memory, packs its weights, tries it,
 * gives it decoders. */
#include "engine/models/served_model.h"
#include "base/memory/mem.h"
#include "engine/cache/remote_value.h"
#include "engine/models/prompt.h"
#include "engine/models/translation_prompt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void dg_served_model_free(struct dg_served_model *served)
{
    if (!served)
        return;
    if (served->place)
        dg_sched_detach(served->sched, served->place);
    dg_net_free(served->net);
    dg_lexicon_close(served->lex);
    dg_tokenizer_close(served->tokenizer);
    if (served->is_leaving)
        atomic_fetch_sub(&served->ledger->leaving, served->bytes);
    if (served->is_paid)
        dg_ledger_give(served->ledger, served->bytes);
    dg_free(served->joining);
    if (served->labels)
        dg_labels_close(served->labels);
    dg_free(served->labels);
    dg_translation_prompt_free(served->template);
    dg_free(served->prompt);
    dg_free(served->stop);
    dg_free(served->judges);
    dg_free(served->name);
    dg_free(served->path);
    dg_free(served->source);
    dg_free(served->target);
    dg_free(served->formal);
    dg_free(served->informal);
    dg_langs_unref(served->langs);
    dg_free(served);
}

/* Checks that the vocabularies on both sides of the tokenizer are the network's. */
static enum dg_err check_tokenizer(const struct dg_served_model *served, const char *path,
                                   struct dg_error *error)
{
    size_t source = dg_tokenizer_source(served->tokenizer).size;
    size_t target = dg_tokenizer_target(served->tokenizer).size;
    /* others output labels, or words of the source */
    const bool has_target = !dg_blueprint_is_reader(&served->blueprint);
    if (source > served->blueprint.encoder.V ||
        (has_target && target > served->blueprint.decoder.V))
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "%s: the vocabulary has %zu source and %zu target words, the network %zu "
            "and %zu; these files do not belong together",
            path, source, target, served->blueprint.encoder.V, served->blueprint.decoder.V);
    return DG_OK;
}

/* Suppresses the few rows of the output that have no word (M2M100 and NLLB pad their matrix), since
 * they stand for no text. */
static void silence_rest(struct dg_served_model *served)
{
    struct dg_blueprint *bp = &served->blueprint;
    const size_t n_words = dg_tokenizer_target(served->tokenizer).size;
    if (bp->decoder.V - n_words > DG_BLUEPRINT_SUPPRESS_MAX - bp->n_suppress)
        return;
    for (size_t id = n_words; id < bp->decoder.V; id++)
        bp->suppress[bp->n_suppress++] = (int32_t)id;
}

static enum dg_err list_languages(struct dg_served_model *served, struct dg_error *error)
{
    const struct dg_langs_opts opts = {.tokenizer = served->tokenizer,
                                       .rule = served->blueprint.lang_rule,
                                       .source = served->source,
                                       .target = served->target,
                                       .name = served->name,
                                       .formal = served->formal,
                                       .informal = served->informal,
                                       .forced_id = served->blueprint.forced_bos_id,
                                       .is_told = *served->prompt != '\0'};
    return dg_langs_new(&served->langs, &opts, error);
}

/* ---- Models that read ------------------------------------------------------------------------ */

static enum dg_err find_marks(struct dg_served_model *served, const char *path,
                              struct dg_error *error)
{
    const struct dg_subword *subword = dg_tokenizer_subword(served->tokenizer);
    struct dg_marks *marks = &served->marks;
    if (!subword)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: expected the encoder's tokenizer.json, or its vocab.txt", path);
    marks->cls = dg_subword_sign(subword, DG_SUBWORD_CLS);
    marks->sep = dg_subword_sign(subword, DG_SUBWORD_SEP);
    marks->mask = dg_subword_sign(subword, DG_SUBWORD_MASK);
    if (marks->cls < 0 || marks->sep < 0 ||
        (marks->mask < 0 && served->blueprint.enc.head == DG_HEAD_WORDS))
        return dg_error_set(
            error, DG_ERR_FORMAT,
            "%s: the vocabulary lacks the tokens around texts or for masked words: expected "
            "[CLS], [SEP] and [MASK], or <s>, </s> and <mask>",
            path);
    return DG_OK;
}

static bool tells_labels(const struct dg_blueprint *bp)
{
    return !dg_blueprint_family(bp)->has_head || bp->enc.head == DG_HEAD_POOLED ||
           bp->enc.head == DG_HEAD_TOKENS;
}

static enum dg_err open_reader(struct dg_served_model *served, const char *path,
                               struct dg_error *error)
{
    const struct dg_blueprint *bp = &served->blueprint;
    enum dg_err err = dg_blueprint_family(bp)->has_head ? find_marks(served, path, error) : DG_OK;
    if (err || !tells_labels(bp))
        return err;
    struct dg_labels *labels = dg_try_malloc(sizeof *labels);
    err = labels ? dg_labels_open(labels, path, error) : DG_ERR_NOMEM;
    if (err) {
        dg_free(labels);
        return err;
    }
    served->labels = labels;
    if (labels->n == bp->decoder.V)
        return DG_OK;
    return dg_error_set(
        error, DG_ERR_FORMAT,
        "%s: labels.txt has %zu labels, the network %zu; these files do not belong together", path,
        labels->n, bp->decoder.V);
}

/* Opens a quality estimator: an encoder that outputs one number and has a curve for it. A model
 * that is configured as an estimator must be one. */
static enum dg_err open_estimator(struct dg_served_model *served, const char *path,
                                  struct dg_error *error)
{
    if (!dg_served_model_says_number(&served->blueprint))
        return *served->judges ? dg_error_set(error, DG_ERR_INVALID,
                                              "judges is for quality estimators; this is not an "
                                              "encoder that gives one number for two texts")
                               : DG_OK;
    struct dg_error reason = DG_ERROR_NONE;
    const enum dg_err err = dg_calibration_open(&served->calibration, path, &reason);
    served->is_estimator = !err;
    if (err && err != DG_ERR_NOT_FOUND)
        return dg_error_set(error, err, "%s", dg_error_text(&reason, err));
    if (!err)
        return DG_OK;
    return *served->judges
               ? dg_error_set(error, DG_ERR_INVALID,
                              "judges is for quality estimators; this model has no quality.json, "
                              "which 'dragoman quality --fit' makes")
               : DG_OK;
}

/* ---- Template -------------------------------------------------------------------------------- */

static void replace(char **text, const char *with)
{
    dg_free(*text);
    *text = dg_xstrdup(with);
}

/* Takes the template that the directory of a language model may state; a configured template takes
 * precedence. */
static void take_own_template(struct dg_served_model *served)
{
    const struct dg_lm_ask *ask = &served->blueprint.lm.ask;
    if (!dg_blueprint_family(&served->blueprint)->has_prompt || *served->prompt || *served->stop ||
        !*ask->form)
        return;
    served->is_told_by_files = true;
    replace(&served->prompt, ask->form);
    replace(&served->stop, ask->stop);
    if (!*served->source && !*served->target) {
        served->has_own_langs = true;
        replace(&served->source, ask->source);
        replace(&served->target, ask->target);
    }
}

/* Reads the template, and computes how much room it takes with the longest names. */
static enum dg_err open_template(struct dg_served_model *served, struct dg_error *error)
{
    const struct dg_translation_prompt_opts opts = {.prompt = served->prompt,
                                                    .stop = served->stop,
                                                    .tokenizer = served->tokenizer,
                                                    .blueprint = &served->blueprint};
    const struct dg_langs *langs = served->langs;
    struct dg_tokenizer_work *work = NULL;
    if (!*served->prompt)
        return *served->stop
                   ? dg_error_set(error, DG_ERR_INVALID, "template-stop without a template")
                   : DG_OK;
    if (!dg_blueprint_family(&served->blueprint)->has_prompt)
        return dg_error_set(error, DG_ERR_INVALID,
                            "a template is for language models; this one translates by itself");
    enum dg_err err = dg_translation_prompt_new(&served->template, &opts, error);
    work = err ? NULL : dg_tokenizer_work_new();
    const size_t most = langs->n_sources > langs->n_targets ? langs->n_sources : langs->n_targets;
    for (size_t i = 0; i < most && !err; i++) {
        const struct dg_lang_pair pair =
            dg_langs_pair(langs, i % langs->n_sources, i % langs->n_targets);
        struct dg_token *tokens = NULL;
        size_t n = 0;
        err = dg_prompt_ask(served, &pair, work, DG_SPAN(""), error, &tokens, &n);
        dg_free(tokens);
        served->n_prompt = n > served->n_prompt ? n : served->n_prompt;
    }
    dg_tokenizer_work_free(work);
    return err;
}

/* ---- Self-test ------------------------------------------------------------------------------- */

static void on_test_done(void *ctx, const struct dg_search *search)
{
    *(enum dg_finish *)ctx = dg_search_answer(search, 0).finish;
}

static void on_test_read(void *ctx, enum dg_err err)
{
    *(enum dg_err *)ctx = err;
}

/* The same for models that read: their text is only the special tokens that stand around every
 * text. */
static enum dg_err read_test(const struct dg_served_model *served, const char *path,
                             struct dg_error *error)
{
    static const struct dg_decode_events events = {.on_read = on_test_read};
    static const uint32_t places[] = {1};
    const struct dg_blueprint *bp = &served->blueprint;
    const struct dg_decoder_limits small = {
        .sentences = 1, .rows = 1, .source_max = 4, .target_max = 1, .batch_tokens = 4};
    const bool is_enc = dg_blueprint_family(bp)->has_head;
    const int32_t ids[] = {is_enc ? served->marks.cls : 0, is_enc ? served->marks.sep : 0};
    struct dg_analysis read = {.kind = !is_enc                         ? DG_ANALYSIS_LABELS
                                       : bp->enc.head == DG_HEAD_NONE  ? DG_ANALYSIS_STATE
                                       : bp->enc.head == DG_HEAD_WORDS ? DG_ANALYSIS_WORDS
                                                                       : DG_ANALYSIS_LABELS,
                               .at = places,
                               .n_at = 1,
                               .n_best = 1};
    const size_t n = dg_analysis_size(bp, &read, 2);
    struct dg_decoder *decoder = NULL;
    int32_t word;
    enum dg_err told = DG_ERR_CANCELLED;
    read.values = dg_try_calloc(n, sizeof *read.values);
    read.ids = &word;
    enum dg_err err =
        read.values ? dg_decoder_new(&decoder, served->net, &small, error) : DG_ERR_NOMEM;
    const struct dg_decode_job job = {
        .src = ids, .n_src = 2, .events = &events, .ctx = &told, .read = &read};
    if (!err)
        err = dg_decoder_add(decoder, &job, 1, NULL, error);
    while (!err && dg_decoder_n_sentences(decoder) > 0)
        dg_decoder_step(decoder);
    err = err ? err : told;
    for (size_t i = 0; i < n && !err; i++)
        if (!isfinite(read.values[i]))
            err = dg_error_set(error, DG_ERR_INTEGRITY,
                               "%s: a test text gave numbers that are not finite; the weights are "
                               "damaged, import the model again",
                               path);
    dg_free(read.values);
    dg_decoder_free(decoder);
    return err;
}

/* Translates a word. A model whose weights are damaged (NaN, infinity) fails here and not when a
 * user needs it; the pages and tables of a sound model are in memory afterwards. */
static enum dg_err self_test(const struct dg_served_model *served, const char *path,
                             struct dg_error *error)
{
    static const struct dg_decode_events events = {.on_done = on_test_done};
    const struct dg_lang_pair pair = dg_langs_pair(served->langs, 0, 0);
    const struct dg_tokenizer_opts how = dg_lang_pair_tokenizer_opts(&pair);
    const struct dg_decoder_limits small = {
        .sentences = 1, .rows = 1, .source_max = 16, .target_max = 8, .batch_tokens = 16};
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    struct dg_decoder *decoder = NULL;
    const struct dg_token *tokens;
    size_t n = 0;
    enum dg_err err = work ? DG_OK : DG_ERR_NOMEM;
    if (!err)
        err = dg_tokenizer_encode(served->tokenizer, work, DG_SPAN("1."), &how, error, &tokens, &n);
    if (!err)
        err = dg_decoder_new(&decoder, served->net, &small, error);
    if (!err) {
        int32_t ids[16];
        enum dg_finish finish = DG_FINISH_FAILED;
        struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
        dg_pair_lead(&pair, &opts);
        n = n < 16 ? n : 16;
        for (size_t i = 0; i < n; i++)
            ids[i] = tokens[i].id;
        struct dg_decode_job job = {ids, n, &opts, &events, &finish, false};
        err = dg_decoder_add(decoder, &job, 1, NULL, error);
        while (!err && dg_decoder_n_sentences(decoder) > 0)
            dg_decoder_step(decoder);
        if (!err && finish == DG_FINISH_FAILED)
            err = dg_error_set(
                error, DG_ERR_INTEGRITY,
                "%s: a test translation gave scores that are not finite; the weights are "
                "damaged, import the model again",
                path);
    }
    dg_decoder_free(decoder);
    dg_tokenizer_work_free(work);
    return err;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Chooses the limits of the decoders, and then gives each memory node a copy of the network if the
 * model's share of the memory has room for that, too. */
static enum dg_err choose_limits(struct dg_served_model *served,
                                 const struct dg_served_model_opts *opts,
                                 const struct dg_net *hollow, struct dg_error *error)
{
    const struct dg_blueprint *bp = &served->blueprint;
    struct dg_decoder_limits wanted = opts->limits;
    wanted.lex = served->lex;
    size_t fixed = dg_net_bytes(hollow) + dg_tokenizer_memory(served->tokenizer) +
                   dg_lexicon_memory(served->lex);
    size_t n_workers = dg_sched_n_workers(opts->sched), max = opts->ledger->max, per_worker = 0;
    size_t n_beams = bp->n_beams < 1 ? 1 : bp->n_beams > wanted.rows ? wanted.rows : bp->n_beams;
    if ((dg_blueprint_family(bp)->has_prompt || dg_blueprint_is_reader(bp)) && wanted.prompt_max)
        wanted.source_max = wanted.prompt_max;
    if (wanted.source_max > bp->source_len_max)
        wanted.source_max = bp->source_len_max;
    if (wanted.target_max > bp->target_len_max)
        wanted.target_max = bp->target_len_max;
    if (dg_blueprint_family(bp)->has_prompt) {
        const size_t largest = DG_BEAM_MAX * wanted.target_max + wanted.source_max;
        wanted.kv_tokens = wanted.kv_tokens > largest ? wanted.kv_tokens : largest;
        wanted.batch_tokens =
            wanted.batch_tokens > wanted.source_max ? wanted.batch_tokens : wanted.source_max;
    }
    if (dg_blueprint_is_reader(bp)) {
        const size_t largest = wanted.source_max + 1;
        wanted.kv_tokens = wanted.kv_tokens > largest ? wanted.kv_tokens : largest;
        wanted.batch_tokens =
            wanted.batch_tokens > wanted.source_max ? wanted.batch_tokens : wanted.source_max;
    }
    /* First a fair share; a model that needs more gets all the memory that there is. */
    size_t each = opts->bytes_each > fixed ? opts->bytes_each - fixed : 1;
    enum dg_err err = dg_budget_fit(hollow, &wanted, n_workers, n_beams, max ? each : 0, error,
                                    &served->limits, &per_worker);
    if (err == DG_ERR_LIMIT && fixed < max && per_worker <= (max - fixed) / n_workers)
        err = dg_budget_fit(hollow, &wanted, n_workers, n_beams, per_worker * n_workers, error,
                            &served->limits, &per_worker);
    if (err == DG_ERR_LIMIT)
        return dg_error_set(error, err,
                            "it needs at least %.1f MiB (weights and vocabulary %.1f, %zu workers "
                            "with one sentence each %.1f), and memory-limit leaves %.1f MiB for "
                            "models; raise it, or lower threads, source-max or target-max",
                            mib(fixed + per_worker * n_workers), mib(fixed), n_workers,
                            mib(per_worker * n_workers), mib(max));
    if (err)
        return err;
    served->bytes = fixed + per_worker * n_workers;
    const size_t copies = (dg_nodes_count(dg_sched_nodes(opts->sched)) - 1) * dg_net_bytes(hollow);
    if (copies && (max == 0 || served->bytes + copies <= opts->bytes_each)) {
        served->nodes = dg_sched_nodes(opts->sched);
        served->bytes += copies;
    }
    return DG_OK;
}

static enum dg_err measure(struct dg_served_model *served, const struct dg_served_model_opts *opts,
                           const struct dg_model *model, struct dg_error *error)
{
    const struct dg_net_opts hollow_opts = {.type = opts->limits.compute, .is_hollow = true};
    struct dg_net *hollow = NULL;
    enum dg_err err =
        dg_net_new(&hollow, &served->blueprint, dg_model_weights(model), &hollow_opts, error);
    if (!err)
        err = choose_limits(served, opts, hollow, error);
    dg_net_free(hollow);
    return err;
}

/* ---- Loading --------------------------------------------------------------------------------- */

static enum dg_err take_memory(struct dg_served_model *served, struct dg_error *error)
{
    if (!dg_ledger_take(served->ledger, served->bytes))
        return dg_error_set(error, DG_ERR_BUSY,
                            "its %.1f MiB do not fit beside the models in memory",
                            mib(served->bytes));
    served->is_paid = true;
    return DG_OK;
}

static enum dg_err load(struct dg_served_model *served, const struct dg_served_model_opts *opts,
                        struct dg_error *error)
{
    struct dg_model *model = NULL;
    const char *path = served->path;
    enum dg_err err = dg_tokenizer_open(path, error, &served->tokenizer);
    if (!err)
        err = dg_model_open(&model, path, error);
    if (err)
        goto out;
    served->blueprint = *dg_model_blueprint(model);
    if (served->blueprint.unk_id == DG_ID_NONE) /* many configurations leave the unknown token to
                                                   the vocabulary */
        served->blueprint.unk_id = dg_tokenizer_target(served->tokenizer).unk;
    const bool reads = dg_blueprint_is_reader(&served->blueprint);
    if (!err)
        err = check_tokenizer(served, path, error);
    if (!err && !dg_blueprint_family(&served->blueprint)->has_prompt && !reads)
        silence_rest(served);
    if (!err && reads)
        err = open_reader(served, path, error);
    if (!err)
        take_own_template(served);
    if (!err)
        err = open_estimator(served, path, error);
    served->good_for = dg_good_for_read(path);
    if (!err)
        err = list_languages(served, error);
    if (!err && !opts->limits.whole_vocabulary && !reads)
        err = dg_lexicon_open(&served->lex, path, served->blueprint.encoder.V,
                              served->blueprint.decoder.V, error);
    if (!err)
        err = open_template(served, error);
    if (!err)
        err = measure(served, opts, model, error);
    /* the tokens around two texts, and one token of each */
    const size_t least = 2 + served->blueprint.enc.separators + 2;
    if (!err && dg_blueprint_family(&served->blueprint)->has_head &&
        served->limits.source_max < least)
        err = dg_error_set(
            error, DG_ERR_RANGE,
            "it would read %zu tokens at a time, expected at least %zu, so that there is room "
            "for two texts; raise prompt-max, or use a model of more positions",
            served->limits.source_max, least);
    if (!err && served->template && served->n_prompt + 16 > served->limits.source_max)
        err = dg_error_set(
            error, DG_ERR_RANGE,
            "the template takes %zu tokens, and prompts may have %zu: there is no room for a "
            "text; raise prompt-max or shorten the template",
            served->n_prompt, served->limits.source_max);
    if (err || opts->is_stand_in)
        goto out;
    /* the stop texts of its answers are not part of its files */
    const bool has_name = opts->wants_fingerprint && !served->template;
    if (has_name)
        err = dg_remote_fingerprint(path, error, served->fingerprint);
    served->has_fingerprint = has_name && !err;
    if (!err)
        err = take_memory(served, error);
    const bool carries = !dg_blueprint_family(&served->blueprint)->has_prompt && !reads;
    if (!err && carries)
        err = dg_placeholders_words_init(&served->carry_words, served->tokenizer);
    if (!err && carries)
        err = dg_placeholders_joining(served->tokenizer, served->blueprint.decoder.V,
                                      &served->joining);
    const struct dg_net_opts net_opts = {
        .type = opts->limits.compute, .model = model, .nodes = served->nodes};
    if (!err)
        err =
            dg_net_new(&served->net, &served->blueprint, dg_model_weights(model), &net_opts, error);
    if (!err)
        err = dg_model_check(model, error);
    if (!err)
        err = reads ? read_test(served, path, error) : self_test(served, path, error);
    if (!err)
        err = dg_sched_attach(served->sched, served->net, &served->limits, error, &served->place);
    if (!err)
        dg_sched_count_into(served->place, opts->counts);
out:
    if (opts->is_stand_in) {
        if (served->labels)
            dg_labels_close(served->labels);
        dg_free(served->labels);
        served->labels = NULL;
        dg_tokenizer_close(served->tokenizer);
        dg_lexicon_close(served->lex);
        dg_translation_prompt_free(served->template);
        served->template = NULL;
        served->tokenizer = NULL;
        served->limits.lex = served->lex = NULL;
    }
    dg_model_unref(model);
    return err;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static char *copy(const char *text)
{
    return dg_xstrdup(text ? text : "");
}

enum dg_err dg_served_model_open(struct dg_served_model **out,
                                 const struct dg_served_model_opts *opts,
                                 const struct dg_engine_model *model, struct dg_error *error)
{
    struct dg_served_model *served = dg_xcalloc(1, sizeof *served);
    served->n_refs = 1;
    served->sched = opts->sched;
    served->ledger = opts->ledger;
    served->cache_counts = opts->cache_counts;
    served->quality_counts = opts->quality_counts;
    served->name = copy(model->name);
    served->path = copy(model->path);
    served->source = copy(model->source);
    served->target = copy(model->target);
    served->formal = copy(model->formal);
    served->informal = copy(model->informal);
    served->prompt = copy(model->template);
    served->stop = copy(model->stop);
    served->judges = copy(model->judges);
    enum dg_err err = load(served, opts, error);
    if (err) {
        dg_served_model_free(served);
        return dg_error_wrap(error, err, "model %s", model->name);
    }
    *out = served;
    return DG_OK;
}

struct dg_served_model *dg_served_model_stand_in(const struct dg_served_model *served)
{
    struct dg_served_model *made = dg_try_malloc(sizeof *made);
    if (!made)
        return NULL;
    *made = (struct dg_served_model){
        .name = dg_xstrdup(served->name),
        .path = dg_xstrdup(served->path),
        .source = dg_xstrdup(served->source),
        .target = dg_xstrdup(served->target),
        .formal = dg_xstrdup(served->formal),
        .informal = dg_xstrdup(served->informal),
        .prompt = dg_xstrdup(served->prompt),
        .stop = dg_xstrdup(served->stop),
        .is_told_by_files = served->is_told_by_files,
        .has_own_langs = served->has_own_langs,
        .judges = dg_xstrdup(served->judges),
        .calibration = served->calibration,
        .is_estimator = served->is_estimator,
        .n_prompt = served->n_prompt,
        .langs = dg_langs_ref(served->langs),
        .sched = served->sched,
        .ledger = served->ledger,
        .blueprint = served->blueprint,
        .limits = served->limits,
        .bytes = served->bytes,
        .cache_counts = served->cache_counts,
        .quality_counts = served->quality_counts,
        .version = served->version,
        .n_refs = 1,
    };
    made->limits.lex = NULL;
    return made;
}

struct dg_served_model *dg_served_model_ref(struct dg_served_model *served)
{
    served->n_refs++;
    return served;
}

void dg_served_model_unref(struct dg_served_model *served)
{
    if (!served || --served->n_refs > 0)
        return;
    if (served->bury)
        served->bury(served->bury_arg, served);
    else
        dg_served_model_free(served);
}
