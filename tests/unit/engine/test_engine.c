/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Text in, text out, with the embedded model. */
#include "base/memory/buf.h"
#include "engine/engine.h"
#include "files.h"
#include "text/language/langid.h"
#include "text/terms/casing.h"
#include "unit.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

struct outcome {
    struct dg_buf deltas, text;
    size_t n_deltas, n_sentences, n_answers;
    int n_done;
    enum dg_err err;
    enum dg_finish finish;
    struct dg_engine_result result;
    char source[32], target[32]; /* copies, because the result ends with the request */
    char model[256];
    size_t n_lost;
};

static sem_t woken;

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static struct dg_engine *engine;
static size_t cache_bytes = 1 << 20;
static bool cache_per_client;
static bool (*on_turn)(void *arg, size_t index);
static struct dg_turn *turn;

static void set_up(void)
{
    char path[DG_TEST_PATH];
    struct dg_error error = DG_ERROR_NONE;
    sem_init(&woken, 0, 0);
    char langid[DG_TEST_PATH];
    struct dg_engine_opts opts = {
        .n_threads = 2, .slots = 8, .wake = wake, .cache_bytes = cache_bytes, .on_turn = on_turn};
    opts.cache_per_client = cache_per_client;
    opts.turn = turn;
    opts.langid_path = dg_test_source(langid, "data/langid/langid.bin");
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    dg_test_source(path, "models/fr-en");
    ck_assert_msg(dg_engine_load(engine, "fr-en", path, NULL, NULL, &error) == DG_OK, "%s",
                  error.text);
}

static void tear_down(void)
{
    dg_engine_free(engine);
    sem_destroy(&woken);
}

static void on_delta(void *ctx, struct dg_span text)
{
    struct outcome *outcome = ctx;
    ck_assert_int_eq(outcome->n_done, 0);
    ck_assert_int_eq(dg_buf_append_span(&outcome->deltas, text), DG_OK);
    outcome->n_deltas++;
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct outcome *outcome = ctx;
    ck_assert_uint_eq(sentence->index, outcome->n_sentences);
    outcome->n_sentences++;
    outcome->n_answers += sentence->n_answers;
    ck_assert_uint_ge(sentence->n_source, 1);
    for (size_t i = 0; i < sentence->n_source; i++)
        ck_assert_uint_le(sentence->source[i].end, sentence->at + sentence->len);
    for (size_t i = 0; i < sentence->n_answers; i++)
        ck_assert(sentence->answers[i].finish != DG_FINISH_EOS ||
                  sentence->answers[i].text.len > 0);
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct outcome *outcome = ctx;
    outcome->n_done++;
    outcome->err = result->err;
    outcome->finish = result->finish;
    outcome->result = *result;
    snprintf(outcome->source, sizeof outcome->source, "%s", result->source ? result->source : "");
    snprintf(outcome->target, sizeof outcome->target, "%s", result->target ? result->target : "");
    outcome->n_lost = result->n_lost;
    snprintf(outcome->model, sizeof outcome->model, "%s", result->model ? result->model : "");
    ck_assert_int_eq(dg_buf_append_span(&outcome->text, result->text), DG_OK);
}

static const struct dg_engine_events events = {on_delta, on_sentence, on_done};

static void init(struct outcome *outcome)
{
    *outcome = (struct outcome){.n_done = 0};
    dg_buf_init(&outcome->deltas, 1 << 24);
    dg_buf_init(&outcome->text, 1 << 24);
}

static void deinit(struct outcome *outcome)
{
    dg_buf_deinit(&outcome->deltas);
    dg_buf_deinit(&outcome->text);
}

static void wait_for(const struct outcome *outcomes, size_t n)
{
    for (;;) {
        dg_engine_poll(engine);
        size_t n_done = 0;
        for (size_t i = 0; i < n; i++)
            n_done += (size_t)outcomes[i].n_done;
        if (n_done == n)
            return;
        sem_wait(&woken);
    }
}

static void translate(struct dg_span text, const struct dg_engine_request *how,
                      struct outcome *outcome)
{
    struct dg_engine_request request = *how;
    struct dg_error error = DG_ERROR_NONE;
    init(outcome);
    request.text = text;
    enum dg_err err = dg_engine_submit(engine, &request, &events, outcome, &error, NULL, NULL);
    ck_assert_msg(err == DG_OK, "%s", error.text);
    wait_for(outcome, 1);
    ck_assert(dg_span_eq(dg_buf_span(&outcome->deltas), dg_buf_span(&outcome->text)));
}

START_TEST(translates_and_keeps_what_is_no_sentence)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    set_up();
    how.source = "fr";
    how.target = "EN";
    translate(DG_SPAN("  Bonjour.\r\n\r\n\tMerci beaucoup.  \n---\n42\n"), &how, &outcome);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_uint_eq(outcome.n_sentences, 2);
    struct dg_span text = dg_buf_span(&outcome.text);
    ck_assert(dg_span_starts(text, DG_SPAN("  ")));
    ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "\r\n\r\n\t"));
    ck_assert(dg_span_ends(text, DG_SPAN("  \n---\n42\n")));
    ck_assert_ptr_null(strstr(outcome.text.ptr, "Merci"));
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(a_text_without_sentences_returns_as_it_was)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    static const struct dg_span texts[] = {{"", 0}, {"\n", 1}, {" 1, 2 \r\n", 8}, {"a\0b\n", 0}};
    set_up();
    for (size_t i = 0; i < 4; i++) {
        struct outcome outcome;
        translate(texts[i], &how, &outcome);
        ck_assert(dg_span_eq(dg_buf_span(&outcome.text), texts[i]));
        ck_assert_uint_eq(outcome.n_sentences, 0);
        deinit(&outcome);
    }
    tear_down();
}
END_TEST

START_TEST(many_at_once_say_what_each_says_alone)
{
    static const char *const texts[] = {
        "Je suis content de vous voir. Il fait beau.",
        "Où est la gare ?",
        "Elle a acheté du pain, du beurre et du lait.\nPuis elle est rentrée chez elle.",
        "Tom ne sait pas nager.",
        "Merci.",
    };
    enum { N = 5, TIMES = 12 };
    static struct outcome alone[N], together[N * TIMES];
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    set_up();
    how.search.beam = 3;
    how.search.n_best = 2;
    for (size_t i = 0; i < N; i++)
        translate(dg_span_cstr(texts[i]), &how, &alone[i]);
    for (size_t i = 0; i < N * TIMES; i++) {
        init(&together[i]);
        how.text = dg_span_cstr(texts[i % N]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &together[i], NULL, NULL, NULL),
                         DG_OK);
    }
    wait_for(together, N * TIMES);
    for (size_t i = 0; i < N * TIMES; i++) {
        ck_assert(dg_span_eq(dg_buf_span(&together[i].text), dg_buf_span(&alone[i % N].text)));
        ck_assert(dg_span_eq(dg_buf_span(&together[i].deltas), dg_buf_span(&together[i].text)));
        ck_assert_uint_eq(together[i].n_answers, 2 * together[i].n_sentences);
        deinit(&together[i]);
    }
    for (size_t i = 0; i < N; i++)
        deinit(&alone[i]);
    tear_down();
}
END_TEST

START_TEST(a_cancelled_request_ends_and_the_others_go_on)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcomes[2];
    uint64_t ids[2];
    set_up();
    how.text = DG_SPAN("Je ne sais pas quoi dire. Il est parti. Nous sommes en retard. Au revoir.");
    for (int i = 0; i < 2; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[i], NULL, NULL, &ids[i]),
                         DG_OK);
    }
    ck_assert(dg_engine_cancel(engine, ids[0]));
    wait_for(outcomes, 2);
    ck_assert_int_eq(outcomes[0].err, DG_ERR_CANCELLED);
    ck_assert_int_eq(outcomes[1].err, DG_OK);
    ck_assert(!dg_engine_cancel(engine, ids[1]));
    deinit(&outcomes[0]);
    deinit(&outcomes[1]);
    tear_down();
}
END_TEST

START_TEST(a_reload_replaces_the_model_under_work)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    enum { N = 20 };
    static struct outcome outcomes[N];
    char path[DG_TEST_PATH];
    set_up();
    dg_test_source(path, "models/fr-en");
    how.text = DG_SPAN("Le chat dort sur le canapé. Il pleut depuis ce matin.");
    for (size_t i = 0; i < N; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[i], NULL, NULL, NULL),
                         DG_OK);
        if (i % 5 == 4)
            ck_assert_int_eq(dg_engine_load(engine, "fr-en", path, "fr", "en", NULL), DG_OK);
    }
    wait_for(outcomes, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert_int_eq(outcomes[i].err, DG_OK);
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].text), dg_buf_span(&outcomes[0].text)));
    }
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    ck_assert_uint_eq(dg_engine_n_models(engine), 1);
    ck_assert_int_eq(dg_engine_unload(engine, "fr-en", NULL), DG_OK);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[0], NULL, NULL, NULL),
                     DG_ERR_NOT_FOUND);
    tear_down();
}
END_TEST

START_TEST(what_cannot_be_is_refused_with_a_reason)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    set_up();
    how.text = DG_SPAN("abc\xFF");
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_UTF8);
    ck_assert_str_eq(error.text, "the text is not valid UTF-8 at byte 3");
    how.text = DG_SPAN("Bonjour.");
    how.target = "de";
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_NOT_FOUND);
    ck_assert_str_eq(error.text,
                     "no model translates from fr to de; not installed: dragoman get fr-de");
    how.target = "en";
    how.search.beam = 99;
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_RANGE);
    ck_assert_int_eq(dg_engine_load(engine, "x", "/nonexistent", NULL, NULL, &error),
                     DG_ERR_NOT_FOUND);
    tear_down();
}
END_TEST

/* The embedded model, under several names, stands for models of several languages, so that the
 * choice is visible. */
static void load_as(const char *source, const char *target)
{
    char path[DG_TEST_PATH], name[64];
    struct dg_error error = DG_ERROR_NONE;
    snprintf(name, sizeof name, "%s to %s", source, target);
    dg_test_source(path, "models/fr-en");
    ck_assert_msg(dg_engine_load(engine, name, path, source, target, &error) == DG_OK, "%s",
                  error.text);
}

static void check_choice(const char *source, const char *target, const char *model)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    how.source = source;
    how.target = target;
    translate(DG_SPAN("1\n"), &how, &outcome);
    ck_assert_str_eq(outcome.result.model, model);
    ck_assert_ptr_null(outcome.result.detected);
    deinit(&outcome);
}

START_TEST(the_model_that_fits_best_is_taken)
{
    set_up();
    load_as("pt-BR", "zh-Hant");
    load_as("pt", "zh-Hans");
    load_as("fr-CA", "en");
    check_choice("PT_br", "zh-TW", "pt-BR to zh-Hant");
    check_choice("pt", "zh_CN", "pt to zh-Hans");
    check_choice("fr-CA", "eng_Latn", "fr-CA to en");
    check_choice("fr-BE", "en", "fr-en");
    check_choice("fra", "en-GB", "fr-en");
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    how.source = "not a language";
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_INVALID);
    tear_down();
}
END_TEST

START_TEST(each_text_goes_to_the_model_of_its_language)
{
    static const struct {
        const char *text, *detected, *model;
    } cases[] = {
        {"Où est la gare la plus proche, s'il vous plaît ?", "fr", "fr-en"},
        {"Ich habe heute leider keine Zeit, morgen vielleicht.", "de", "de to en"},
        {"Где находится ближайшая станция?", "ru", "ru to en"},
    };
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    set_up();
    load_as("de", "en");
    load_as("ru", "en");
    load_as("el", "pt");
    how.target = "en";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        how.source = i == 0 ? "auto" : i == 1 ? "" : NULL;
        translate(dg_span_cstr(cases[i].text), &how, &outcome);
        ck_assert_str_eq(outcome.result.detected, cases[i].detected);
        ck_assert_str_eq(outcome.result.model, cases[i].model);
        ck_assert_float_gt(outcome.result.confidence, 0.5f);
        deinit(&outcome);
    }
    /* No model leads from this language to English: the text is returned unchanged, and marked as
     * such. */
    translate(DG_SPAN("Πού είναι ο σταθμός; 42\n"), &how, &outcome);
    ck_assert_str_eq(outcome.text.ptr, "Πού είναι ο σταθμός; 42\n");
    ck_assert_str_eq(outcome.result.detected, "el");
    ck_assert(outcome.result.is_copy && outcome.result.is_foreign);
    ck_assert_uint_eq(outcome.n_sentences, 0);
    deinit(&outcome);
    translate(DG_SPAN("42 \xF0\x9F\x98\x80"), &how, &outcome);
    ck_assert_ptr_null(outcome.result.detected);
    ck_assert(outcome.result.is_copy && !outcome.result.is_foreign);
    deinit(&outcome);
    struct dg_langid_guess guess;
    size_t n;
    ck_assert_int_eq(
        dg_engine_detect(engine, DG_SPAN("Πού είναι ο σταθμός;"), NULL, &guess, 1, NULL, &n),
        DG_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(guess.tag, "el");
    static const char *const tags[] = {"fra_Latn", "en-GB", "tlh"};
    const struct dg_engine_languages among = {tags, 3}, none = {NULL, 0};
    ck_assert_int_eq(
        dg_engine_detect(engine, DG_SPAN("Merci beaucoup"), &among, &guess, 1, NULL, &n), DG_OK);
    ck_assert(n == 1 && strcmp(guess.tag, "fr") == 0 && guess.confidence > 0.9f);
    ck_assert_int_eq(
        dg_engine_detect(engine, DG_SPAN("Πού είναι ο σταθμός;"), &among, &guess, 1, NULL, &n),
        DG_OK);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(
        dg_engine_detect(engine, DG_SPAN("Merci beaucoup"), &none, &guess, 1, NULL, &n), DG_OK);
    ck_assert_uint_eq(n, 0);
    tear_down();
}
END_TEST

START_TEST(a_long_text_may_begin_in_another_language)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    struct dg_buf text;
    enum dg_err err = DG_OK;
    dg_buf_init(&text, 1 << 16);
    set_up();
    load_as("de", "fr");
    for (size_t i = 0; !err && i < 500; i++)
        err = dg_buf_append_cstr(&text, i < 60 ? "Ich habe heute keine Zeit, vielleicht morgen. "
                                               : "Où est la gare la plus proche, je vous prie ? ");
    ck_assert_int_eq(err, DG_OK);
    how.target = "fr";
    translate(dg_buf_span(&text), &how, &outcome);
    ck_assert_str_eq(outcome.result.detected, "fr");
    ck_assert(outcome.result.is_copy); /* most of it is in the target language already */
    deinit(&outcome);
    dg_buf_deinit(&text);
    tear_down();
}
END_TEST

/* The result for a text when only one pair of models leads to the target. */
static void check_spoken(const char *text, struct dg_engine_request how, const char *source,
                         bool is_copy, bool is_foreign)
{
    struct outcome outcome;
    translate(dg_span_cstr(text), &how, &outcome);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_msg(strcmp(outcome.source, source) == 0, "%s: %s", text, outcome.source);
    ck_assert_msg(outcome.result.is_copy == is_copy && outcome.result.is_foreign == is_foreign,
                  "%s", text);
    ck_assert(!is_copy || dg_span_eq(dg_buf_span(&outcome.text), dg_span_cstr(text)));
    deinit(&outcome);
}

START_TEST(one_pair_does_not_make_every_text_its_source)
{
    static const char *const french = "Où est la gare ?",
                             *const english = "Where is the station, please?",
                             *const german = "Wo ist denn hier der Bahnhof, bitte?",
                             *const bosnian = "Predsjednik je u srijedu, 5. januara, izjavio da će "
                                              "hiljade ljudi na evropskom tlu ostati bez hljeba.";
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    set_up();
    how.source = "auto";
    how.target = "en";
    check_spoken(french, how, "fr", false, false);
    check_spoken(english, how, "en", true, false);
    check_spoken(german, how, "de", true, true);
    how.target = "fr"; /* a language to which no model leads */
    check_spoken(french, how, "fr", true, false);
    how.text = dg_span_cstr(english);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_NOT_FOUND);
    ck_assert_str_eq(error.text,
                     "no model translates from en to fr; not installed: dragoman get en-fr");
    how.source = "fr-CA"; /* the same language, but named */
    check_spoken(english, how, "fr-CA", true, false);
    how.source = how.target = NULL;
    how.model = "fr-en"; /* a named model gets any text, unless detection is requested */
    check_spoken(english, how, "fr", false, false);
    how.source = "auto";
    check_spoken(english, how, "en", true, false);
    check_spoken(german, how, "de", true, true);
    how.model = NULL;
    load_as("hr", "ko");
    how.target = "ko"; /* two standards of one language */
    check_spoken(bosnian, how, "hr", false, false);
    /* Breton cannot be detected: only a text that is surely in another language is kept from its
     * model */
    load_as("br", "is");
    how.target = "is";
    check_spoken("Pelec'h emañ an ti-gar, mar plij ?", how, "br", false, false);
    check_spoken("Þetta er langur íslenskur texti um veðrið í dag.", how, "is", true, false);
    tear_down();
}
END_TEST

START_TEST(two_models_make_a_way_through_a_third_language)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome, named;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf both;
    set_up();
    load_as("en", "de");
    load_as("de", "es");
    load_as("en", "ko");
    how.source = "fr";
    how.target = "de";
    translate(DG_SPAN("Le chat dort.\nMerci pour {0} et \xC3\xA0 demain. \xF0\x9F\x98\x80"), &how,
              &outcome);
    ck_assert_int_eq(outcome.err, DG_OK);
    ck_assert_str_eq(outcome.model, "fr-en+en to de");
    ck_assert_str_eq(outcome.source, "fr");
    ck_assert_str_eq(outcome.target, "de");
    ck_assert_uint_eq(outcome.n_sentences, 2);
    ck_assert_uint_gt(outcome.result.n_tokens_out, 0);
    ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "{0}"));
    ck_assert(dg_span_ends(dg_buf_span(&outcome.text), DG_SPAN(" \xF0\x9F\x98\x80")));
    ck_assert_uint_eq(outcome.result.n_lost, 0);
    /* The same, hop by hop: the output of the first is the input of the second. */
    dg_buf_init(&both, 1000);
    how.model = "fr-en";
    how.target = "en";
    translate(DG_SPAN("Le chat dort."), &how, &named);
    ck_assert_int_eq(dg_buf_append_span(&both, dg_buf_span(&named.text)), DG_OK);
    deinit(&named);
    how.model = "en to de";
    how.source = "en";
    how.target = "ko";
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_NOT_FOUND);
    how.target = "de";
    translate(dg_buf_span(&both), &how, &named);
    ck_assert(dg_span_starts(dg_buf_span(&outcome.text), dg_buf_span(&named.text)));
    deinit(&named);
    deinit(&outcome);
    how.model = "fr-en+en to de";
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_NOT_FOUND);
    how.source = "fr";
    translate(DG_SPAN("Le chat dort."), &how, &named);
    ck_assert_str_eq(named.model, how.model);
    ck_assert_uint_eq(named.result.n_cached, 1); /* both hops were */
    deinit(&named);
    how.model = "fr-en+de to es";
    how.target = NULL;
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_INVALID);
    how.model = NULL;
    how.source = NULL;
    how.target = "de";
    translate(DG_SPAN("O\xC3\xB9 est la gare la plus proche, s'il vous pla\xC3\xAEt ?"), &how,
              &outcome);
    ck_assert_str_eq(outcome.result.detected, "fr");
    ck_assert_str_eq(outcome.model, "fr-en+en to de");
    deinit(&outcome);
    ck_assert(dg_engine_leads(engine, "fr", "ko"));
    ck_assert(dg_engine_leads(engine, "en", "es"));
    ck_assert(!dg_engine_leads(engine, "fr", "es")); /* three hops */
    ck_assert(!dg_engine_leads(engine, "en", "en"));
    dg_buf_deinit(&both);
    tear_down();
}
END_TEST

START_TEST(a_way_of_two_legs_can_be_cancelled_and_goes_through_the_queue)
{
    enum { N = 12 };
    static struct outcome outcomes[N];
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    uint64_t ids[N];
    set_up();
    load_as("en", "de");
    how.source = "fr";
    how.target = "de";
    how.no_cache = true;
    how.text =
        DG_SPAN("Nous sommes en retard. Je ne sais pas quoi dire. Au revoir, et merci pour tout.");
    for (size_t i = 0; i < N; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[i], NULL, NULL, &ids[i]),
                         DG_OK);
    }
    for (size_t i = 0; i < N; i += 3) {
        dg_engine_poll(engine);
        dg_engine_cancel(engine, ids[i]);
    }
    wait_for(outcomes, N);
    for (size_t i = 0; i < N; i++) {
        if (i % 3 != 0 || outcomes[i].err == DG_OK)
            ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].text), dg_buf_span(&outcomes[1].text)));
        if (i % 3 == 0)
            ck_assert(outcomes[i].err == DG_ERR_CANCELLED || outcomes[i].err == DG_OK);
    }
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    tear_down();
}
END_TEST

START_TEST(what_is_carried_never_shows_its_stand_in)
{
    static const char *const stand_ins[] = {"Tom", "Ken", "Boston"};
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    static const struct dg_span extra[] = {{"chat", 4}};
    struct outcome outcome;
    set_up();
    for (int beam = 1; beam <= 3; beam += 2) {
        how.search.beam = how.search.n_best = beam;
        translate(DG_SPAN("Envoyez https://example.org/a?b=c \xC3\xA0 moi@example.org avant {0}, "
                          "puis cliquez sur OK. OUVREZ HTTP://A.ORG/X DANS LA MAISON."),
                  &how, &outcome);
        ck_assert_int_eq(outcome.err, DG_OK);
        ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "https://example.org/a?b=c"));
        ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "moi@example.org"));
        ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "{0}"));
        ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "HTTP://A.ORG/X"));
        for (size_t i = 0; i < 3; i++)
            ck_assert_ptr_null(strstr(outcome.text.ptr, stand_ins[i]));
        ck_assert_uint_eq(outcome.result.n_lost, 0);
        deinit(&outcome);
    }
    how.search.beam = how.search.n_best = 1;
    how.protect = extra;
    how.n_protect = 1;
    translate(DG_SPAN("Le chat dort dans la maison."), &how, &outcome);
    ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "chat"));
    deinit(&outcome);
    how.no_protect = true;
    translate(DG_SPAN("Le chat dort dans la maison."), &how, &outcome);
    ck_assert_ptr_null(strstr(outcome.text.ptr, "chat"));
    deinit(&outcome);
    how.no_protect = false;
    /* More spans than can be carried: each is in the text or in the list. */
    how.n_protect = 0;
    struct dg_buf many;
    dg_buf_init(&many, 1000);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(dg_buf_printf(&many, "le chat {%d} ", i), DG_OK);
    translate(dg_buf_span(&many), &how, &outcome);
    size_t n_there = 0;
    for (int i = 0; i < 30; i++) {
        char span[16];
        snprintf(span, sizeof span, "{%d}", i);
        n_there += strstr(outcome.text.ptr, span) != NULL;
    }
    ck_assert_uint_eq(n_there + outcome.n_lost, 30);
    /* and the answer is not empty, although too much was demanded */
    ck_assert_uint_gt(outcome.result.n_tokens_out, 10);
    dg_buf_deinit(&many);
    deinit(&outcome);
    how.search.max_len = 2; /* too short for any place */
    how.no_cache = true;
    translate(DG_SPAN("Le chat de la maison dort avec chat et {0} depuis hier."), &how, &outcome);
    if (!strstr(outcome.text.ptr, "{0}")) {
        ck_assert_uint_gt(outcome.n_lost, 0);
    }
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(terms_of_a_glossary_are_said_told_and_kept)
{
    static const struct dg_span hound = {"hound", 5};
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct outcome plain, bound, again;
    set_up();
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "en", &error), DG_OK);
    ck_assert_int_eq(dg_glossary_add(glossary, DG_SPAN("chat"), &hound, 1, false, &error), DG_OK);
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_OK);
    request.model = "fr-en";
    translate(DG_SPAN("Il pleut. Le chat dort."), &request, &plain);
    request.glossaries = &glossary;
    request.n_glossaries = 1;
    translate(DG_SPAN("Il pleut. Le chat dort."), &request, &bound);
    ck_assert_uint_eq(bound.result.n_terms, 1);
    ck_assert_uint_eq(bound.result.n_cached, 1); /* the sentence without a term is unchanged */
    ck_assert_ptr_nonnull(strstr(bound.text.ptr, "hound"));
    ck_assert_ptr_null(strstr(plain.text.ptr, "hound"));
    translate(DG_SPAN("Il pleut. Le chat dort."), &request, &again);
    ck_assert_uint_eq(again.result.n_cached, 2);
    ck_assert(dg_span_eq(dg_buf_span(&again.text), dg_buf_span(&bound.text)));
    deinit(&plain);
    deinit(&bound);
    deinit(&again);
    dg_glossary_unref(glossary);
    tear_down();
}
END_TEST

START_TEST(terms_are_said_behind_two_models_too)
{
    static const struct dg_span hound = {"hound", 5};
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct outcome outcome;
    set_up();
    load_as("en", "de");
    struct dg_glossary *glossary = dg_glossary_new(NULL);
    ck_assert_ptr_nonnull(glossary);
    ck_assert_int_eq(dg_glossary_begin(glossary, "fr", "de", &error), DG_OK);
    ck_assert_int_eq(dg_glossary_add(glossary, DG_SPAN("chat"), &hound, 1, false, &error), DG_OK);
    ck_assert_int_eq(dg_glossary_seal(glossary, &error), DG_OK);
    how.source = "fr";
    how.target = "de";
    how.glossaries = &glossary;
    how.n_glossaries = 1;
    for (int beam = 1; beam <= 3; beam += 2) {
        how.search.beam = beam;
        translate(DG_SPAN("Il pleut. Le chat de {0} dort. Merci."), &how, &outcome);
        ck_assert_int_eq(outcome.err, DG_OK);
        ck_assert_str_eq(outcome.model, "fr-en+en to de");
        const char *said = strstr(outcome.text.ptr, "hound");
        ck_assert_msg(said != NULL, "%s", outcome.text.ptr);
        ck_assert_ptr_null(strstr(said + 1, "hound"));
        ck_assert_ptr_nonnull(strstr(outcome.text.ptr, "{0}"));
        ck_assert_uint_eq(outcome.result.n_terms, 1);
        deinit(&outcome);
    }
    dg_glossary_unref(glossary);
    tear_down();
}
END_TEST

START_TEST(without_data_the_source_must_be_named)
{
    struct dg_engine_opts opts = {.n_threads = 1, .langid_path = "/nonexistent/langid.bin"};
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_langid_guess guess;
    size_t n;
    ck_assert_int_eq(dg_engine_new(&opts, &error, &engine), DG_OK);
    load_as("fr", "en");
    load_as("de", "en");
    how.text = DG_SPAN("Bonjour.");
    how.target = "en";
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "name the source language"));
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/langid.bin"));
    ck_assert_int_eq(dg_engine_detect(engine, how.text, NULL, &guess, 1, &error, &n),
                     DG_ERR_UNSUPPORTED);
    ck_assert(dg_engine_take_langid_error(engine, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/langid.bin"));
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, NULL, &error, NULL, NULL),
                     DG_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "no data to tell languages apart"));
    ck_assert_ptr_null(strstr(error.text, "nonexistent"));
    dg_engine_free(engine);
}
END_TEST

START_TEST(what_has_nothing_to_translate_passes_through)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    static const char text[] =
        "https://example.org/chat?q=maison\n{{nom}} %s\nmoi@example.org\n:smile: #chat\n";
    set_up();
    translate(dg_span_cstr(text), &how, &outcome);
    ck_assert_str_eq(outcome.text.ptr, text);
    ck_assert_uint_eq(outcome.n_sentences, 0);
    ck_assert_uint_eq(outcome.result.n_tokens_out, 0);
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(capitals_are_translated_in_ordinary_case_and_restored)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome plain, capitals, kept;
    struct dg_buf expected;
    bool restored;
    set_up();
    translate(DG_SPAN("Le chat dort dans la maison."), &how, &plain);
    translate(DG_SPAN("LE CHAT DORT DANS LA MAISON."), &how, &capitals);
    dg_buf_init(&expected, 1000);
    ck_assert_int_eq(
        dg_casing_restore(dg_buf_span(&plain.text), DG_CASING_UPPER, "en", &expected, &restored),
        DG_OK);
    ck_assert(restored);
    ck_assert_str_eq(capitals.text.ptr, expected.ptr);
    ck_assert_uint_eq(capitals.n_deltas, 1);
    how.keep_case = true;
    translate(DG_SPAN("LE CHAT DORT DANS LA MAISON."), &how, &kept);
    ck_assert_uint_gt(kept.result.n_tokens_in, capitals.result.n_tokens_in);
    dg_buf_deinit(&expected);
    deinit(&plain);
    deinit(&capitals);
    deinit(&kept);
    tear_down();
}
END_TEST

/* Requests `text` for all of `outcomes` at once, and waits. */
static void ask_all(const struct dg_engine_request *how, struct outcome *outcomes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, how, &events, &outcomes[i], NULL, NULL, NULL),
                         DG_OK);
    }
    wait_for(outcomes, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(outcomes[i].err, DG_OK);
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].deltas), dg_buf_span(&outcomes[i].text)));
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].text), dg_buf_span(&outcomes[0].text)));
    }
}

START_TEST(a_sentence_is_translated_once)
{
    enum { N = 10 };
    static struct outcome outcomes[N];
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_engine_cache_stats cache;
    struct dg_sched_stats sched;
    struct outcome again, uncached;
    set_up();
    how.text = DG_SPAN("Le chat dort. Il pleut. Le chat dort.");
    how.search.beam = 2;
    how.search.n_best = 2;
    ask_all(&how, outcomes, N);
    dg_engine_read_stats(engine, &sched);
    ck_assert_uint_eq(sched.n_accepted, 2);
    dg_engine_read_cache_stats(engine, &cache);
    ck_assert_uint_eq(cache.n_misses, 2);
    ck_assert_uint_eq(cache.n_hits + cache.n_joined, 3 * N - 2);
    ck_assert_uint_eq(cache.n_entries, 2);
    translate(how.text, &how, &again);
    ck_assert_uint_eq(again.result.n_cached, 3);
    ck_assert_uint_eq(again.n_answers, outcomes[0].n_answers);
    ck_assert_uint_eq(again.result.n_tokens_out, outcomes[0].result.n_tokens_out);
    how.no_cache = true;
    translate(how.text, &how, &uncached);
    ck_assert_uint_eq(uncached.result.n_cached, 0);
    ck_assert(dg_span_eq(dg_buf_span(&uncached.text), dg_buf_span(&again.text)));
    ck_assert_uint_eq(uncached.n_answers, again.n_answers);
    deinit(&again);
    deinit(&uncached);
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    tear_down();
}
END_TEST

START_TEST(options_seeds_and_reloads_have_answers_of_their_own)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    char path[DG_TEST_PATH];
    set_up();
    how.search.sample = true;
    for (int i = 0; i < 8; i++) {
        how.search.seed = (uint64_t)(i / 2 % 2);
        how.search.temperature = i < 4 ? 1.0f : 2.0f;
        translate(DG_SPAN("Je suis content."), &how, &outcome);
        ck_assert_uint_eq(outcome.result.n_cached, (size_t)(i % 2));
        deinit(&outcome);
    }
    dg_test_source(path, "models/fr-en");
    ck_assert_int_eq(dg_engine_load(engine, "fr-en", path, "fr", "en", NULL), DG_OK);
    translate(DG_SPAN("Je suis content."), &how, &outcome);
    ck_assert_uint_eq(outcome.result.n_cached, 0);
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(a_cache_is_shared_by_all_or_by_those_of_one_client)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome outcome;
    for (int scope = 0; scope < 2; scope++) {
        static const uint64_t clients[] = {1, 2, 1, 2};
        cache_per_client = scope;
        set_up();
        for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
            how.client = clients[i];
            translate(DG_SPAN("Je suis content."), &how, &outcome);
            ck_assert_uint_eq(outcome.result.n_cached, i >= (scope ? 2 : 1));
            deinit(&outcome);
        }
        tear_down();
    }
    cache_per_client = false;
}
END_TEST

START_TEST(the_cache_keeps_to_its_bytes)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_engine_cache_stats cache;
    struct outcome outcome;
    cache_bytes = 8 << 10;
    set_up();
    how.search.max_len = 4;
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "Je vois %d chats.", i);
        translate(dg_span_cstr(text), &how, &outcome);
        dg_engine_read_cache_stats(engine, &cache);
        ck_assert_uint_le(cache.bytes, cache.bytes_max);
        deinit(&outcome);
    }
    ck_assert_uint_gt(cache.n_evicted, 10);
    ck_assert_uint_eq(cache.n_entries + cache.n_evicted, 40);
    translate(DG_SPAN("Je vois 39 chats."), &how, &outcome);
    ck_assert_uint_eq(outcome.result.n_cached, 1);
    deinit(&outcome);
    translate(DG_SPAN("Je vois 0 chats."), &how, &outcome);
    ck_assert_uint_eq(outcome.result.n_cached, 0);
    deinit(&outcome);
    tear_down();
}
END_TEST

START_TEST(who_waits_for_a_cancelled_request_begins_again)
{
    enum { N = 6 };
    static struct outcome outcomes[N];
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    uint64_t ids[N];
    set_up();
    how.text =
        DG_SPAN("Nous sommes en retard. Je ne sais pas quoi dire. Au revoir, et merci pour tout.");
    for (size_t i = 0; i < N; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[i], NULL, NULL, &ids[i]),
                         DG_OK);
    }
    while (outcomes[0].n_deltas < 2 && outcomes[0].n_done == 0) { /* in the middle of a sentence */
        sem_wait(&woken);
        dg_engine_poll(engine);
    }
    for (size_t i = 0; i < N / 2; i++)
        dg_engine_cancel(engine, ids[i]);
    wait_for(outcomes, N);
    for (size_t i = N / 2; i < N; i++) {
        ck_assert_int_eq(outcomes[i].err, DG_OK);
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].deltas), dg_buf_span(&outcomes[i].text)));
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].text), dg_buf_span(&outcomes[N - 1].text)));
    }
    struct outcome alone;
    how.no_cache = true;
    translate(how.text, &how, &alone);
    ck_assert(dg_span_eq(dg_buf_span(&alone.text), dg_buf_span(&outcomes[N - 1].text)));
    deinit(&alone);
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    tear_down();
}
END_TEST

/* ---- A worker that hangs --------------------------------------------------------------------- */

static sem_t gate;
static atomic_bool is_hanging;
static atomic_int turns_left;

static bool hang(void *arg, size_t index)
{
    (void)arg;
    (void)index;
    if (atomic_load(&is_hanging) && atomic_fetch_sub(&turns_left, 1) <= 0) {
        sem_wait(&gate);
        sem_post(&gate);
    }
    return true;
}

/* The worker hangs in the middle of the sentence; the caller is still told when its time is
 * over. */
START_TEST(a_request_whose_worker_hangs_times_out)
{
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct outcome late, next;
    uint64_t id = 0;
    sem_init(&gate, 0, 0);
    atomic_store(&is_hanging, true);
    atomic_store(&turns_left, 20);
    on_turn = hang;
    set_up();
    how.source = "fr";
    how.target = "en";
    how.text = DG_SPAN("Nous sommes en retard, et je ne sais pas quoi dire.");
    how.search.min_len = 400; /* far from its end when the worker stops */
    how.search.max_len = 500;
    how.search.max_ratio = 0;
    how.search.loop_guard = false;
    how.timeout_ms = 300;
    init(&late);
    ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &late, NULL, NULL, &id), DG_OK);
    while (!late.n_done) { /* as the daemon does a few times a second */
        dg_engine_poll(engine);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    ck_assert(late.err != DG_OK);
    ck_assert(!dg_engine_cancel(engine, id));
    atomic_store(&is_hanging, false);
    sem_post(&gate);
    how = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
    how.target = "en";
    translate(DG_SPAN("Bonjour."), &how, &next);
    ck_assert_int_eq(late.n_done, 1);
    deinit(&late);
    deinit(&next);
    tear_down();
    on_turn = NULL;
    sem_destroy(&gate);
}
END_TEST

static struct dg_clock slow_clock = DG_CLOCK_VIRTUAL(0);

/* News that takes all of a turn's time. */
static void on_slow_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    on_sentence(ctx, sentence);
    dg_clock_advance(&slow_clock, 2 * DG_TURN_NS);
}

/* What the news leaves of the time decides, but no longer than one poll, whether tasks go on. */
START_TEST(tasks_go_on_after_the_turn_that_news_took)
{
    enum { N = 20 };
    const struct dg_engine_events slow_events = {on_delta, on_slow_sentence, on_done};
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    static struct outcome outcomes[N];
    struct dg_turn slow_turn;
    dg_turn_init(&slow_turn, &slow_clock);
    turn = &slow_turn;
    set_up();
    how.source = "fr";
    how.target = "en";
    how.no_cache = true;
    how.text = DG_SPAN("Le chat dort. Il pleut.");
    for (size_t i = 0; i < N; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(
            dg_engine_submit(engine, &how, &slow_events, &outcomes[i], NULL, NULL, NULL), DG_OK);
    }
    size_t n_ends = 0;
    for (bool was_behind = false; n_ends < N;) {
        const size_t n_ends_before = n_ends;
        const uint64_t before = dg_clock_now(&slow_clock);
        dg_turn_end(turn);
        dg_engine_poll(engine);
        n_ends = 0;
        for (size_t i = 0; i < N; i++)
            n_ends += (size_t)outcomes[i].n_done;
        const bool is_behind = !was_behind && dg_clock_now(&slow_clock) > before;
        ck_assert(!is_behind || n_ends == n_ends_before);
        was_behind = is_behind;
        if (n_ends < N)
            sem_wait(&woken);
    }
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    tear_down();
    turn = NULL;
}
END_TEST

/* Many texts have to be cut: each poll is short, and all of them end. */
START_TEST(long_texts_take_turns)
{
    enum { N = 6 };
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    static struct outcome outcomes[N];
    struct dg_buf text;
    set_up();
    dg_buf_init(&text, 1 << 20);
    for (int i = 0; i < 600; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&text, "Merci beaucoup. "), DG_OK);
    how.source = "fr";
    how.target = "en";
    how.text = dg_buf_span(&text);
    for (size_t i = 0; i < N; i++) {
        init(&outcomes[i]);
        ck_assert_int_eq(dg_engine_submit(engine, &how, &events, &outcomes[i], NULL, NULL, NULL),
                         DG_OK);
    }
    wait_for(outcomes, N);
    for (size_t i = 0; i < N; i++) {
        ck_assert_uint_eq(outcomes[i].n_sentences, 600);
        ck_assert(dg_span_eq(dg_buf_span(&outcomes[i].text), dg_buf_span(&outcomes[0].text)));
    }
    for (size_t i = 0; i < N; i++)
        deinit(&outcomes[i]);
    dg_buf_deinit(&text);
    tear_down();
}
END_TEST

DG_UNIT_SLOW(a_request_whose_worker_hangs_times_out, long_texts_take_turns,
             tasks_go_on_after_the_turn_that_news_took,
             two_models_make_a_way_through_a_third_language,
             a_way_of_two_legs_can_be_cancelled_and_goes_through_the_queue,
             what_is_carried_never_shows_its_stand_in, translates_and_keeps_what_is_no_sentence,
             a_text_without_sentences_returns_as_it_was, many_at_once_say_what_each_says_alone,
             a_cancelled_request_ends_and_the_others_go_on, a_reload_replaces_the_model_under_work,
             the_model_that_fits_best_is_taken, each_text_goes_to_the_model_of_its_language,
             a_long_text_may_begin_in_another_language, without_data_the_source_must_be_named,
             one_pair_does_not_make_every_text_its_source,
             terms_of_a_glossary_are_said_told_and_kept, terms_are_said_behind_two_models_too,
             what_has_nothing_to_translate_passes_through, a_sentence_is_translated_once,
             options_seeds_and_reloads_have_answers_of_their_own,
             a_cache_is_shared_by_all_or_by_those_of_one_client, the_cache_keeps_to_its_bytes,
             who_waits_for_a_cancelled_request_begins_again,
             capitals_are_translated_in_ordinary_case_and_restored,
             what_cannot_be_is_refused_with_a_reason)
