/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* One model, many languages: which pair a request gets, and that the network is told the pair in
 * the form of its family; compared with a slow network that gets the ids from the test. */
#include "base/memory/buf.h"
#include "base/memory/mem.h"
#include "engine/engine.h"
#include "engine/scoring.h"
#include "engine/models/langs.h"
#include "files.h"
#include "mkmodel.h"
#include "model/model_dir.h"
#include "ref_net.h"
#include "tmpdir.h"
#include "unit.h"

#include <math.h>
#include <semaphore.h>

enum { IDS_MAX = 12, TEXTS = 3 };

static char root[DG_TMPDIR_CAP];
static struct dg_engine *engine;
static sem_t woken;

struct outcome {
    int n_done;
    enum dg_err err;
    struct dg_buf deltas, text;
    char model[64], source[32], target[32], detected[32];
    int32_t ids[64];
    size_t n_ids, n_source, n_cached, n_alignment, n_tokens_out;
    double logprob;
    float alignment[64];
};

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static char *path_of(const char *name)
{
    static char path[DG_TMPDIR_CAP + 64];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* A random model with so many languages. */
static void make(const char *name, enum dg_lang_rule rule, const char *languages, size_t V)
{
    struct dg_mkmodel options = DG_MKMODEL_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    options.languages = languages;
    options.blueprint.lang_rule = rule;
    options.blueprint.encoder.V = V;
    if (rule != DG_LANG_NONE) {
        options.blueprint.norm_place = DG_NORM_PRE;
        options.blueprint.positions = DG_POS_HALVES_CLOSED;
        options.blueprint.position_offset = 2;
    }
    ck_assert_msg(dg_mkmodel(path_of(name), &options, &error) == DG_OK, "%s", error.text);
}

static void load(const char *name, const char *source, const char *target)
{
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_engine_load(engine, name, path_of(name), source, target, &error) == DG_OK,
                  "%s", error.text);
}

static void set_up(void)
{
    char langid[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine_opts opts = {.n_threads = 2,
                                  .slots = 8,
                                  .wake = wake,
                                  .cache_bytes = 1 << 20,
                                  .source_max = 48,
                                  .target_max = 24};
    opts.langid_path = dg_test_source(langid, "data/langid/langid.bin");
    sem_init(&woken, 0, 0);
    dg_tmpdir_make(root);
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
}

static void tear_down(void)
{
    dg_engine_free(engine);
    sem_destroy(&woken);
    dg_tmpdir_remove(root);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static void on_delta(void *ctx, struct dg_span text)
{
    struct outcome *outcome = ctx;
    ck_assert_int_eq(dg_buf_append_span(&outcome->deltas, text), DG_OK);
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct outcome *outcome = ctx;
    if (sentence->n_answers == 0)
        return;
    const struct dg_engine_answer *best = &sentence->answers[0];
    outcome->n_source = sentence->n_source;
    outcome->n_ids = best->n_ids < 64 ? best->n_ids : 64;
    outcome->logprob = best->logprob;
    if (best->n_ids)
        memcpy(outcome->ids, best->ids, outcome->n_ids * sizeof *outcome->ids);
    if (best->alignment && sentence->n_source <= 64) {
        outcome->n_alignment = sentence->n_source;
        memcpy(outcome->alignment, best->alignment,
               sentence->n_source * sizeof *outcome->alignment);
    }
}

static void keep(char *to, size_t cap, const char *text)
{
    snprintf(to, cap, "%s", text ? text : "");
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct outcome *outcome = ctx;
    outcome->n_done++;
    outcome->err = result->err;
    outcome->n_cached = result->n_cached;
    outcome->n_tokens_out = result->n_tokens_out;
    keep(outcome->model, sizeof outcome->model, result->model);
    keep(outcome->source, sizeof outcome->source, result->source);
    keep(outcome->target, sizeof outcome->target, result->target);
    keep(outcome->detected, sizeof outcome->detected, result->detected);
    ck_assert_int_eq(dg_buf_append_span(&outcome->text, result->text), DG_OK);
}

static const struct dg_engine_events events = {on_delta, on_sentence, on_done};

static void begin(struct outcome *outcome, const struct dg_engine_request *request)
{
    struct dg_error error = DG_ERROR_NONE;
    *outcome = (struct outcome){.n_done = 0};
    dg_buf_init(&outcome->deltas, 1 << 20);
    dg_buf_init(&outcome->text, 1 << 20);
    enum dg_err err = dg_engine_submit(engine, request, &events, outcome, &error, NULL, NULL);
    ck_assert_msg(err == DG_OK, "%s", error.text);
}

static void end(struct outcome *outcome)
{
    for (dg_engine_poll(engine); outcome->n_done == 0; dg_engine_poll(engine))
        sem_wait(&woken);
    ck_assert(dg_span_eq(dg_buf_span(&outcome->deltas), dg_buf_span(&outcome->text)));
}

static void deinit(struct outcome *outcome)
{
    dg_buf_deinit(&outcome->deltas);
    dg_buf_deinit(&outcome->text);
}

static struct dg_engine_request request_of(const char *text, const char *source, const char *target)
{
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    request.text = dg_span_cstr(text);
    request.source = source;
    request.target = target;
    request.keep_case = request.no_protect = true;
    request.search.loop_guard = false;
    request.search.max_len = IDS_MAX;
    return request;
}

static void translate(struct outcome *outcome, const char *text, const char *source,
                      const char *target)
{
    const struct dg_engine_request request = request_of(text, source, target);
    begin(outcome, &request);
    end(outcome);
}

static void check_refused(const struct dg_engine_request *request, enum dg_err err,
                          const char *sentence)
{
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err got = dg_engine_submit(engine, request, &events, NULL, &error, NULL, NULL);
    ck_assert_msg(got == err, "%s: %s", dg_err_name(got), error.text);
    ck_assert_str_eq(error.text, sentence);
}

/* ---- The slow network ------------------------------------------------------------------------ */

static int32_t word_of(const char *name, const char *word)
{
    struct dg_tokenizer *tokenizer;
    ck_assert_int_eq(dg_tokenizer_open(path_of(name), NULL, &tokenizer), DG_OK);
    int32_t id = dg_tokenizer_find(tokenizer, dg_span_cstr(word));
    dg_tokenizer_close(tokenizer);
    ck_assert_int_ge(id, 0);
    return id;
}

static bool can_be_said(const struct dg_blueprint *bp, int32_t unk, size_t id)
{
    return (int32_t)id != bp->pad_id && (int32_t)id != unk;
}

/* What `name` outputs for the ids with greedy search, after `lead` [n_lead, at most 2]. Returns
 * how many. */
static size_t say(const char *name, const int32_t *source, size_t S, const int32_t *lead,
                  size_t n_lead, int32_t *said, double *logprob)
{
    struct dg_model *model;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_msg(dg_model_open(&model, path_of(name), &error) == DG_OK, "%s", error.text);
    const struct dg_blueprint *bp = dg_model_blueprint(model);
    const struct ref ref = {bp, &dg_model_weights(model)->transformer};
    const size_t V = bp->decoder.V;
    const int32_t unk = word_of(name, "<unk>");
    int32_t inputs[IDS_MAX + 3] = {bp->start_id, n_lead ? lead[0] : -1, n_lead > 1 ? lead[1] : -1};
    double *encoded = ref_encode(&ref, source, S);
    size_t n = 0;
    *logprob = 0;
    while (n < IDS_MAX && (n == 0 || said[n - 1] != bp->eos_id)) {
        const size_t T = 1 + n_lead + n;
        double *logits = ref_decode(&ref, encoded, S, inputs, T), sum = 0;
        const double *row = logits + (T - 1) * V;
        int32_t best = 0;
        for (size_t i = 0; i < V; i++)
            if (can_be_said(bp, unk, i) && row[i] > row[best])
                best = (int32_t)i;
        for (size_t i = 0; i < V; i++)
            sum += can_be_said(bp, unk, i) ? exp(row[i] - row[best]) : 0;
        *logprob -= log(sum);
        said[n++] = inputs[T] = best;
        free(logits);
    }
    free(encoded);
    dg_model_unref(model);
    return n;
}

/* The ids of a text, and of a word of the vocabulary. */
static size_t ids_of(const char *name, const char *text, int32_t *ids)
{
    const struct dg_tokenizer_opts opts = DG_TOKENIZER_OPTS_DEFAULT;
    struct dg_tokenizer *tokenizer;
    struct dg_tokenizer_work *work = dg_tokenizer_work_new();
    const struct dg_token *tokens;
    size_t n;
    ck_assert_int_eq(dg_tokenizer_open(path_of(name), NULL, &tokenizer), DG_OK);
    ck_assert_int_eq(
        dg_tokenizer_encode(tokenizer, work, dg_span_cstr(text), &opts, NULL, &tokens, &n), DG_OK);
    ck_assert_uint_lt(n, 60);
    for (size_t i = 0; i < n; i++)
        ids[i] = tokens[i].id;
    dg_tokenizer_work_free(work);
    dg_tokenizer_close(tokenizer);
    return n;
}
/* Words of the vocabulary that tell the network the languages; NULL: there is none. */
struct told {
    const char *first, *second, *last, *lead, *lead_second;
};

/* Two ways to state the same request agree. */
static void check_told(const char *name, const struct dg_engine_request *request,
                       const struct told *told)
{
    int32_t ids[64], lead[2], said[IDS_MAX];
    double logprob;
    struct outcome outcome;
    size_t n = 0, n_lead = 0;
    if (told->first)
        ids[n++] = word_of(name, told->first);
    if (told->second)
        ids[n++] = word_of(name, told->second);
    n += ids_of(name, request->text.ptr, ids + n);
    if (told->last)
        ids[n++] = word_of(name, told->last);
    if (told->lead)
        lead[n_lead++] = word_of(name, told->lead);
    if (told->lead_second)
        lead[n_lead++] = word_of(name, told->lead_second);
    size_t n_said = say(name, ids, n, lead, n_lead, said, &logprob);
    begin(&outcome, request);
    end(&outcome);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_uint_eq(outcome.n_source, n);
    ck_assert_uint_eq(outcome.n_ids, n_said);
    ck_assert_mem_eq(outcome.ids, said, n_said * sizeof *said);
    ck_assert_uint_eq(outcome.n_tokens_out, n_said);
    ck_assert_double_eq_tol(outcome.logprob, logprob, 1e-3);
    deinit(&outcome);
}

/* The engine and the slow network agree on a pair whose source is named by `first` or `last`, and
 * whose target by `first` or `lead`. */
static void check_pair(const char *name, const char *from, const char *to, const char *first,
                       const char *last, const char *lead)
{
    const struct dg_engine_request request = request_of("la mado zy, keto fuli.", from, to);
    const struct told told = {.first = first, .last = last, .lead = lead};
    check_told(name, &request, &told);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(m2m100_is_told_source_and_target)
{
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr,zh", 220);
    load("many", NULL, NULL);
    check_pair("many", "fr", "en", "__fr__", NULL, "__en__");
    check_pair("many", "en", "fr", "__en__", NULL, "__fr__");
    check_pair("many", "deu", "zh-CN", "__de__", NULL, "__zh__");
    tear_down();
}
END_TEST

START_TEST(older_nllb_names_the_source_behind_the_text)
{
    set_up();
    make("many", DG_LANG_SOURCE_LAST, "eng_Latn,fra_Latn,zho_Hans,zho_Hant", 220);
    load("many", NULL, NULL);
    check_pair("many", "fr", "en", NULL, "fra_Latn", "eng_Latn");
    check_pair("many", "fra_Latn", "zh-TW", NULL, "fra_Latn", "zho_Hant");
    check_pair("many", "zh-Hant", "zh", NULL, "zho_Hant", "zho_Hans");
    tear_down();
}
END_TEST

START_TEST(opus_is_told_the_target_in_the_source)
{
    set_up();
    make("opus-mt-en-roa", DG_LANG_NONE, "fra,por,pt_br,spa", 220);
    load("opus-mt-en-roa", NULL, NULL);
    check_pair("opus-mt-en-roa", "en", "fr", ">>fra<<", NULL, NULL);
    check_pair("opus-mt-en-roa", "en", "es-MX", ">>spa<<", NULL, NULL);
    check_pair("opus-mt-en-roa", "en-GB", "pt-BR", ">>pt_br<<", NULL, NULL);
    struct dg_engine_request request = request_of("la.", "fr", "es");
    check_refused(&request, DG_ERR_NOT_FOUND,
                  "no model translates from fr to es; not installed: dragoman get fr-es");
    tear_down();
}
END_TEST

static const char *const texts[TEXTS] = {"keto fuli.", "la mado zy, keto fuli.",
                                         "bade sipo nu ka ri."};
static const char *const sides[][2] = {
    {"de", "en"}, {"en", "de"}, {"fr", "en"}, {"en", "fr"}, {"fr", "de"}};
enum { PAIRS = sizeof sides / sizeof *sides };

START_TEST(pairs_in_one_batch_say_what_each_says_alone)
{
    static struct outcome alone[PAIRS][TEXTS], together[PAIRS][TEXTS];
    size_t n_different = 0;
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr", 220);
    load("many", NULL, NULL);
    for (size_t p = 0; p < PAIRS; p++)
        for (size_t t = 0; t < TEXTS; t++) {
            struct dg_engine_request request = request_of(texts[t], sides[p][0], sides[p][1]);
            request.no_cache = true;
            request.search.beam = 1 + (int)t;
            begin(&alone[p][t], &request);
            end(&alone[p][t]);
            ck_assert_str_eq(alone[p][t].source, sides[p][0]);
            ck_assert_str_eq(alone[p][t].target, sides[p][1]);
            n_different += p > 0 && !dg_span_eq(dg_buf_span(&alone[p][t].text),
                                                dg_buf_span(&alone[0][t].text));
        }
    ck_assert_uint_ge(n_different, 4); /* of 12: the languages make a difference */
    for (size_t p = 0; p < PAIRS; p++)
        for (size_t t = 0; t < TEXTS; t++) {
            struct dg_engine_request request = request_of(texts[t], sides[p][0], sides[p][1]);
            request.no_cache = true;
            request.search.beam = 1 + (int)t;
            begin(&together[p][t], &request);
        }
    for (size_t p = 0; p < PAIRS; p++)
        for (size_t t = 0; t < TEXTS; t++) {
            end(&together[p][t]);
            ck_assert(
                dg_span_eq(dg_buf_span(&together[p][t].text), dg_buf_span(&alone[p][t].text)));
            deinit(&together[p][t]);
            deinit(&alone[p][t]);
        }
    tear_down();
}
END_TEST

START_TEST(each_pair_has_its_own_place_in_the_cache)
{
    struct outcome first[PAIRS], again[PAIRS];
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr", 220);
    load("many", NULL, NULL);
    for (size_t p = 0; p < PAIRS; p++) {
        translate(&first[p], texts[1], sides[p][0], sides[p][1]);
        ck_assert_uint_eq(first[p].n_cached, 0);
    }
    for (size_t p = 0; p < PAIRS; p++) {
        translate(&again[p], texts[1], sides[p][0], sides[p][1]);
        ck_assert_uint_eq(again[p].n_cached, 1);
        ck_assert(dg_span_eq(dg_buf_span(&again[p].text), dg_buf_span(&first[p].text)));
        deinit(&first[p]);
        deinit(&again[p]);
    }
    tear_down();
}
END_TEST

START_TEST(attention_and_scores_are_of_the_target_only)
{
    struct outcome outcome;
    struct dg_scoring *scoring;
    struct dg_score score;
    struct dg_error error = DG_ERROR_NONE;
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr", 220);
    load("many", NULL, NULL);
    struct dg_engine_request request = request_of(texts[1], "fr", "en");
    request.search.want_alignment = true;
    begin(&outcome, &request);
    end(&outcome);
    ck_assert_uint_eq(outcome.n_alignment, outcome.n_source);
    /* The same words are scored: the first row of attention is the same, and so is the sum if
     * the text gives the same ids. */
    ck_assert_int_eq(dg_scoring_open(&scoring, engine, &request, &error), DG_OK);
    ck_assert_int_eq(dg_scoring_want_attention(scoring, 0, 0, &error), DG_OK);
    enum dg_err err =
        dg_scoring_run(scoring, request.text, dg_buf_span(&outcome.text), &score, &error);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    ck_assert_uint_eq(score.n_source, outcome.n_source);
    for (size_t i = 0; i < score.n_source; i++)
        ck_assert_float_eq_tol(score.attention[i], outcome.alignment[i], 1e-5f);
    double sum = 0;
    size_t same = 0;
    while (same < score.n_target && same < outcome.n_ids &&
           score.target[same].id == outcome.ids[same])
        sum += (double)score.logprobs[same++];
    ck_assert_uint_ge(same, 1);
    if (same == outcome.n_ids) {
        /* A search leaves the unknown word out before probabilities are made, so that its own are
         * a little higher. */
        ck_assert_double_le(sum, outcome.logprob + 1e-4);
        ck_assert_double_eq_tol(sum, outcome.logprob, 0.05);
    }
    dg_scoring_close(scoring);
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(a_way_may_lead_through_it)
{
    struct outcome first, second, both;
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr", 220);
    make("en-nl", DG_LANG_NONE, NULL, 200);
    load("many", NULL, NULL);
    load("en-nl", NULL, NULL);
    translate(&both, texts[1], "fr", "nl");
    ck_assert_str_eq(both.model, "many+en-nl");
    ck_assert_str_eq(both.source, "fr");
    ck_assert_str_eq(both.target, "nl");
    struct dg_engine_request request = request_of(texts[1], "fr", "en");
    request.search = (struct dg_search_opts)DG_SEARCH_OPTS_DEFAULT; /* as one of the two hops */
    begin(&first, &request);
    end(&first);
    request = request_of(first.text.len ? first.text.ptr : "", "en", "nl");
    begin(&second, &request);
    end(&second);
    ck_assert(dg_span_eq(dg_buf_span(&both.text), dg_buf_span(&second.text)));
    deinit(&first);
    deinit(&second);
    deinit(&both);
    tear_down();
}
END_TEST

START_TEST(a_text_in_the_target_language_is_copied)
{
    static const struct {
        const char *text, *detected;
    } cases[] = {{"Where is the nearest station, please?", "en"},
                 {"Wo ist der n\xC3\xA4"
                  "chste Bahnhof, bitte?",
                  "de"}};
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr", 220);
    load("many", NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        translate(&outcome, cases[i].text, "auto", "en");
        ck_assert_str_eq(outcome.detected, cases[i].detected);
        ck_assert_int_eq(strcmp(outcome.text.ptr, cases[i].text) == 0, i == 0);
        deinit(&outcome);
    }
    tear_down();
}
END_TEST

START_TEST(a_configuration_chooses_and_renames)
{
    struct outcome outcome;
    struct dg_error error = DG_ERROR_NONE;
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr,ns", 220);
    load("many", "fr nso", "en, de-CH=__de__");
    struct dg_engine_model_info info = dg_engine_model_info(engine, 0);
    ck_assert_uint_eq(info.langs->n_sources, 2);
    ck_assert_uint_eq(info.langs->n_targets, 2);
    ck_assert_str_eq(info.langs->sources[1].token, "ns");
    ck_assert_str_eq(info.langs->targets[1].code, "de-CH");
    translate(&outcome, texts[0], "nso", "de");
    ck_assert_str_eq(outcome.target, "de-CH");
    deinit(&outcome);
    struct dg_engine_request request = request_of("la.", "de", "en");
    check_refused(&request, DG_ERR_NOT_FOUND,
                  "no model translates from de to en; not installed: dragoman get de-en");
    request = request_of("la.", "fr", NULL);
    request.model = "many";
    check_refused(&request, DG_ERR_INVALID,
                  "model many: model many translates to 2 languages (en, de-CH, ...); name the "
                  "target language");
    ck_assert_int_eq(dg_engine_load(engine, "x", path_of("many"), "fr", "it", &error),
                     DG_ERR_NOT_FOUND);
    ck_assert_str_eq(
        error.text,
        "model x: target 'it' is not a language of the model, which has de, en, fr, nso (4)");
    ck_assert_int_eq(dg_engine_load(engine, "x", path_of("many"), "fr", "it=__it__", &error),
                     DG_ERR_NOT_FOUND);
    tear_down();
}
END_TEST

/* Makes and loads a model of de, en and fr under a name, with words for formality; returns the
 * message of its refusal, or "". */
static const char *load_manners(const char *name, enum dg_lang_rule rule, const char *formal,
                                const char *informal)
{
    static struct dg_error error;
    struct dg_served_model *served;
    const bool is_opus = rule == DG_LANG_NONE;
    const struct dg_engine_model model = {.name = name,
                                          .path = path_of(name),
                                          .source = is_opus ? "de" : "de,en,fr",
                                          .target = is_opus ? "en,fr" : "de,en,fr",
                                          .formal = formal,
                                          .informal = informal};
    error = (struct dg_error)DG_ERROR_NONE;
    if (dg_engine_open(engine, &model, &error, &served) != DG_OK)
        return error.text;
    ck_assert_int_eq(dg_engine_publish(engine, served, &error), DG_OK);
    return "";
}

START_TEST(formality_is_told_before_the_text_or_the_translation)
{
    struct dg_engine_request request = request_of("la mado zy, keto fuli.", "de", "fr");
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr,it,es", 220);
    ck_assert_str_eq(load_manners("many", DG_LANG_SOURCE_FIRST, "__it__", "target:__es__"), "");
    const struct told usual = {.first = "__de__", .lead = "__fr__"};
    const struct told formal = {.first = "__de__", .second = "__it__", .lead = "__fr__"};
    const struct told informal = {.first = "__de__", .lead = "__fr__", .lead_second = "__es__"};
    /* the second time from the cache, which has an entry for each */
    for (int round = 0; round < 2; round++) {
        request.formality = DG_FORMALITY_DEFAULT;
        check_told("many", &request, &usual);
        request.formality = round ? DG_FORMALITY_PREFER_FORMAL : DG_FORMALITY_FORMAL;
        check_told("many", &request, &formal);
        request.formality = round ? DG_FORMALITY_PREFER_INFORMAL : DG_FORMALITY_INFORMAL;
        check_told("many", &request, &informal);
    }
    tear_down();
}
END_TEST

START_TEST(each_target_may_have_words_of_its_own)
{
    struct dg_engine_request french = request_of("la mado zy, keto fuli.", "de", "fr"),
                             english = request_of("la mado zy, keto fuli.", "de", "en");
    set_up();
    make("many", DG_LANG_SOURCE_FIRST, "de,en,fr,it,es", 220);
    ck_assert_str_eq(
        load_manners("many", DG_LANG_SOURCE_FIRST, "__es__, fr=__it__", "fr=target:__es__"), "");
    const struct told formal_french = {.first = "__de__", .second = "__it__", .lead = "__fr__"};
    const struct told informal_french = {
        .first = "__de__", .lead = "__fr__", .lead_second = "__es__"};
    const struct told formal_english = {.first = "__de__", .second = "__es__", .lead = "__en__"};
    french.formality = english.formality = DG_FORMALITY_FORMAL;
    check_told("many", &french, &formal_french);
    check_told("many", &english, &formal_english);
    french.formality = english.formality = DG_FORMALITY_INFORMAL;
    check_told("many", &french, &informal_french);
    check_refused(&english, DG_ERR_UNSUPPORTED,
                  "model many does not support formality: it cannot be told to be informal");
    ck_assert_str_eq(
        load_manners("many", DG_LANG_SOURCE_FIRST, "ja=__it__", NULL),
        "model many: formal 'ja' is not a language of the model, which has de, en, fr (3)");
    ck_assert_str_eq(load_manners("many", DG_LANG_SOURCE_FIRST, "<f=1>", NULL),
                     "model many: formal: the source vocabulary has no word '<f=1>'");
    tear_down();
}
END_TEST

START_TEST(a_manner_stands_beside_what_a_model_is_forced_to_say)
{
    const struct dg_manner target = {.id = 7, .before = 3, .is_target = true},
                           free_to_speak = {.id = 7, .before = -1, .is_target = true},
                           source = {.id = 7, .before = 3};
    struct dg_lang_pair forced = {.n_lead = 0}, told = {.lead = {5}, .n_lead = 1},
                        unforced = {.n_lead = 0}, read = {.n_lead = 0};
    dg_pair_say(&forced, &target);
    ck_assert(forced.n_lead == 2 && forced.lead[0] == 3 && forced.lead[1] == 7);
    dg_pair_say(&told, &target); /* the language's word replaces the forced token */
    ck_assert(told.n_lead == 2 && told.lead[0] == 5 && told.lead[1] == 7);
    dg_pair_say(&unforced, &free_to_speak);
    ck_assert(unforced.n_lead == 1 && unforced.lead[0] == 7);
    dg_pair_say(&read, &source);
    ck_assert(read.n_lead == 0 && read.manner == &source);
}
END_TEST

START_TEST(formality_that_a_model_has_no_word_for_is_refused)
{
    struct dg_engine_request request = request_of("la mado zy, keto fuli.", "de", "fr");
    set_up();
    make("opus-mt-de-mul", DG_LANG_NONE, "eng,fra,spa", 220);
    ck_assert_str_eq(load_manners("opus-mt-de-mul", DG_LANG_NONE, ">>spa<<", NULL), "");
    const struct told formal = {.first = ">>fra<<", .second = ">>spa<<"},
                      usual = {.first = ">>fra<<"};
    request.formality = DG_FORMALITY_FORMAL;
    check_told("opus-mt-de-mul", &request, &formal);
    request.formality = DG_FORMALITY_INFORMAL;
    check_refused(
        &request, DG_ERR_UNSUPPORTED,
        "model opus-mt-de-mul does not support formality: it cannot be told to be informal");
    request.formality = DG_FORMALITY_PREFER_INFORMAL;
    check_told("opus-mt-de-mul", &request, &usual);
    ck_assert_str_eq(load_manners("opus-mt-de-mul", DG_LANG_NONE, ">>x<<", NULL),
                     "model opus-mt-de-mul: formal: the source vocabulary has no word '>>x<<'");
    ck_assert_str_eq(load_manners("opus-mt-de-mul", DG_LANG_NONE, NULL, "target:<y>"),
                     "model opus-mt-de-mul: informal: the target vocabulary has no word '<y>'");
    tear_down();
}
END_TEST

START_TEST(of_equal_models_the_one_that_knows_the_manner_serves)
{
    struct dg_engine_request request = request_of("la mado zy.", "de", "fr");
    set_up();
    for (int i = 0; i < 2; i++)
        make(i ? "knows" : "plain", DG_LANG_SOURCE_FIRST, "de,en,fr,it,es", 220);
    ck_assert_str_eq(load_manners("plain", DG_LANG_SOURCE_FIRST, NULL, NULL), "");
    ck_assert_str_eq(load_manners("knows", DG_LANG_SOURCE_FIRST, "target:__it__", NULL), "");
    for (int formality = 0; formality <= DG_FORMALITY_PREFER_FORMAL;
         formality += DG_FORMALITY_PREFER_FORMAL) {
        struct outcome outcome;
        request.formality = (enum dg_formality)formality;
        begin(&outcome, &request);
        end(&outcome);
        ck_assert_str_eq(outcome.model, formality ? "knows" : "plain");
        deinit(&outcome);
    }
    tear_down();
}
END_TEST

/* The 202 languages of NLLB, in the order of their ids. */
static const char flores[] =
    "ace_Arab,ace_Latn,acm_Arab,acq_Arab,aeb_Arab,afr_Latn,ajp_Arab,aka_Latn,amh_Ethi,apc_Arab,arb_"
    "Arab,ars_Arab,"
    "ary_Arab,arz_Arab,asm_Beng,ast_Latn,awa_Deva,ayr_Latn,azb_Arab,azj_Latn,bak_Cyrl,bam_Latn,ban_"
    "Latn,bel_Cyrl,"
    "bem_Latn,ben_Beng,bho_Deva,bjn_Arab,bjn_Latn,bod_Tibt,bos_Latn,bug_Latn,bul_Cyrl,cat_Latn,ceb_"
    "Latn,ces_Latn,"
    "cjk_Latn,ckb_Arab,crh_Latn,cym_Latn,dan_Latn,deu_Latn,dik_Latn,dyu_Latn,dzo_Tibt,ell_Grek,eng_"
    "Latn,epo_Latn,"
    "est_Latn,eus_Latn,ewe_Latn,fao_Latn,pes_Arab,fij_Latn,fin_Latn,fon_Latn,fra_Latn,fur_Latn,fuv_"
    "Latn,gla_Latn,"
    "gle_Latn,glg_Latn,grn_Latn,guj_Gujr,hat_Latn,hau_Latn,heb_Hebr,hin_Deva,hne_Deva,hrv_Latn,hun_"
    "Latn,hye_Armn,"
    "ibo_Latn,ilo_Latn,ind_Latn,isl_Latn,ita_Latn,jav_Latn,jpn_Jpan,kab_Latn,kac_Latn,kam_Latn,kan_"
    "Knda,kas_Arab,"
    "kas_Deva,kat_Geor,knc_Arab,knc_Latn,kaz_Cyrl,kbp_Latn,kea_Latn,khm_Khmr,kik_Latn,kin_Latn,kir_"
    "Cyrl,kmb_Latn,"
    "kon_Latn,kor_Hang,kmr_Latn,lao_Laoo,lvs_Latn,lij_Latn,lim_Latn,lin_Latn,lit_Latn,lmo_Latn,ltg_"
    "Latn,ltz_Latn,"
    "lua_Latn,lug_Latn,luo_Latn,lus_Latn,mag_Deva,mai_Deva,mal_Mlym,mar_Deva,min_Latn,mkd_Cyrl,plt_"
    "Latn,mlt_Latn,"
    "mni_Beng,khk_Cyrl,mos_Latn,mri_Latn,zsm_Latn,mya_Mymr,nld_Latn,nno_Latn,nob_Latn,npi_Deva,nso_"
    "Latn,nus_Latn,"
    "nya_Latn,oci_Latn,gaz_Latn,ory_Orya,pag_Latn,pan_Guru,pap_Latn,pol_Latn,por_Latn,prs_Arab,pbt_"
    "Arab,quy_Latn,"
    "ron_Latn,run_Latn,rus_Cyrl,sag_Latn,san_Deva,sat_Beng,scn_Latn,shn_Mymr,sin_Sinh,slk_Latn,slv_"
    "Latn,smo_Latn,"
    "sna_Latn,snd_Arab,som_Latn,sot_Latn,spa_Latn,als_Latn,srd_Latn,srp_Cyrl,ssw_Latn,sun_Latn,swe_"
    "Latn,swh_Latn,"
    "szl_Latn,tam_Taml,tat_Cyrl,tel_Telu,tgk_Cyrl,tgl_Latn,tha_Thai,tir_Ethi,taq_Latn,taq_Tfng,tpi_"
    "Latn,tsn_Latn,"
    "tso_Latn,tuk_Latn,tum_Latn,tur_Latn,twi_Latn,tzm_Tfng,uig_Arab,ukr_Cyrl,umb_Latn,urd_Arab,uzn_"
    "Latn,vec_Latn,"
    "vie_Latn,war_Latn,wol_Latn,xho_Latn,ydd_Hebr,yor_Latn,yue_Hant,zho_Hans,zho_Hant,zul_Latn";

/* NLLB's own spelling and the usual one stand for the same word. */
START_TEST(all_of_nllb_are_found)
{
    static const char *const people[][2] = {
        {"ar", "arb_Arab"},    {"zh", "zho_Hans"},    {"zh-TW", "zho_Hant"}, {"fa", "pes_Arab"},
        {"no", "nob_Latn"},    {"nn", "nno_Latn"},    {"ms", "zsm_Latn"},    {"sw", "swh_Latn"},
        {"lv", "lvs_Latn"},    {"et", "est_Latn"},    {"mn", "khk_Cyrl"},    {"mg", "plt_Latn"},
        {"ne", "npi_Deva"},    {"or", "ory_Orya"},    {"om", "gaz_Latn"},    {"yi", "ydd_Hebr"},
        {"uz", "uzn_Latn"},    {"az", "azj_Latn"},    {"qu", "quy_Latn"},    {"sq", "als_Latn"},
        {"ps", "pbt_Arab"},    {"ku", "kmr_Latn"},    {"ay", "ayr_Latn"},    {"tl", "tgl_Latn"},
        {"fa-AF", "prs_Arab"}, {"sr", "srp_Cyrl"},    {"he", "heb_Hebr"},    {"iw", "heb_Hebr"},
        {"pt-BR", "por_Latn"}, {"ckb", "ckb_Arab"},   {"yue", "yue_Hant"},   {"ak", "aka_Latn"},
        {"ko", "kor_Hang"},    {"ja-JP", "jpn_Jpan"}, {"gd", "gla_Latn"},    {"bo", "bod_Tibt"},
        {"ti", "tir_Ethi"},    {"my", "mya_Mymr"},    {"ks", "kas_Arab"},    {"sat", "sat_Beng"},
    };
    set_up();
    make("nllb", DG_LANG_SOURCE_FIRST, flores, 500);
    load("nllb", NULL, NULL);
    const struct dg_langs *langs = dg_engine_model_info(engine, 0).langs;
    ck_assert_uint_eq(langs->n_sources, 202);
    ck_assert_uint_eq(langs->n_targets, 202);
    for (size_t i = 0; i < langs->n_sources; i++) {
        const struct dg_lang *lang = &langs->sources[i];
        ck_assert_uint_eq(
            dg_langs_find(langs->sources, langs->n_sources, &lang->tag, dg_span_cstr(lang->token)),
            i);
        ck_assert_uint_eq(
            dg_langs_find(langs->sources, langs->n_sources, &lang->tag, dg_span_cstr(lang->code)),
            i);
    }
    for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
        struct dg_langtag tag;
        ck_assert_int_eq(dg_langtag_parse(dg_span_cstr(people[i][0]), &tag, NULL), DG_OK);
        size_t at =
            dg_langs_find(langs->targets, langs->n_targets, &tag, dg_span_cstr(people[i][0]));
        ck_assert_msg(at < langs->n_targets, "%s: not found", people[i][0]);
        ck_assert_msg(strcmp(langs->targets[at].token, people[i][1]) == 0, "%s: %s, expected %s",
                      people[i][0], langs->targets[at].token, people[i][1]);
    }
    tear_down();
}
END_TEST

DG_UNIT_SLOW(m2m100_is_told_source_and_target, older_nllb_names_the_source_behind_the_text,
             opus_is_told_the_target_in_the_source, pairs_in_one_batch_say_what_each_says_alone,
             each_pair_has_its_own_place_in_the_cache, attention_and_scores_are_of_the_target_only,
             a_way_may_lead_through_it, a_text_in_the_target_language_is_copied,
             a_configuration_chooses_and_renames,
             formality_is_told_before_the_text_or_the_translation,
             each_target_may_have_words_of_its_own,
             a_manner_stands_beside_what_a_model_is_forced_to_say,
             formality_that_a_model_has_no_word_for_is_refused,
             of_equal_models_the_one_that_knows_the_manner_serves, all_of_nllb_are_found)
