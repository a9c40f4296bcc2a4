/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Language models that translate: the prompt, the part of the answer that is the translation, and
 * that the engine gives the same result as a generation with the same prompt. */
#include "engine/engine.h"
#include "engine/generate/generate.h"
#include "engine/models/translation_prompt.h"
#include "import/format/import.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <time.h>

/* ---- The template by itself ------------------------------------------------------------------ */

static enum dg_err make(struct dg_translation_prompt **template, const char *prompt,
                        const char *stop, struct dg_error *error)
{
    const struct dg_translation_prompt_opts opts = {.prompt = prompt, .stop = stop};
    *template = NULL;
    return dg_translation_prompt_new(template, &opts, error);
}

START_TEST(a_prompt_has_its_places_filled)
{
    const struct dg_lang french = {.name = "French", .code = "fr"},
                         klingon = {.name = "", .code = "tlh"};
    const struct dg_lang_pair pair = {.source = &french, .target = &klingon};
    struct dg_translation_prompt *template;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf prompt;
    size_t at = 0;
    dg_buf_init(&prompt, 1000);
    ck_assert_int_eq(make(&template,
                          "\\{{source-code}->{target-code}}\\n{source}:\\t{text}\\\\{target}", "",
                          &error),
                     DG_OK);
    ck_assert_int_eq(
        dg_translation_prompt_fill(template, &pair, DG_SPAN("Oui {text}"), &prompt, &at), DG_OK);
    ck_assert_str_eq(prompt.ptr, "{fr->tlh}\nFrench:\tOui {text}\\tlh");
    ck_assert_uint_eq(at, strlen("{fr->tlh}\nFrench:\t"));
    dg_buf_deinit(&prompt);
    dg_translation_prompt_free(template);
}
END_TEST

START_TEST(what_is_wrong_with_a_template_is_said)
{
    static const struct {
        const char *prompt, *stop, *says;
    } rows[] = {
        {"Translate", "", "read {text} 0 times"},
        {"{text} {text}", "", "2 times"},
        {"{text} {language}", "", "'{language}' is not a placeholder"},
        {"{text} \\x", "", "'\\x' is not an escape"},
        {"{text} \\", "", "'\\' is not an escape"},
        {"{text}", "a|b|c|d|e|f|g|h|i", "more than 8 texts"},
        {"{text}", "\\q", "'\\q' is not an escape"},
    };
    struct dg_translation_prompt *template;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dg_error error = DG_ERROR_NONE;
        ck_assert_int_eq(make(&template, rows[i].prompt, rows[i].stop, &error),
                         i == 5 ? DG_ERR_LIMIT : DG_ERR_INVALID);
        ck_assert_msg(strstr(error.text, rows[i].says), "\"%s\" does not say \"%s\"", error.text,
                      rows[i].says);
    }
}
END_TEST

/* Whether it arrives byte by byte or at once, the translation is the same, and what was reported
 * is never taken back. */
START_TEST(the_translation_is_what_stands_before_a_stop_text)
{
    static const char *const said[] = {
        "  Bonjour le monde. \n\nFrench", "END", " a EN EN b ENDE", " \n ", "x EN", "", " y||"};
    static const char *const meant[] = {"Bonjour le monde.", "", "a EN EN b", "", "x EN", "", "y"};
    struct dg_translation_prompt *template;
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(make(&template, "{text}", "\\n\\n|END|\\|\\|", &error), DG_OK);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const struct dg_span whole = dg_span_cstr(said[i]);
        for (size_t step = 1; step <= whole.len + 1; step++) {
            size_t from = 0, upto = 0, told = 0;
            for (size_t n = 0; n < whole.len; n += step) {
                const struct dg_span part = dg_span_sub(whole, 0, n);
                dg_translation_prompt_hear(template, part, false, &from, &upto);
                ck_assert(from <= upto && upto <= n && upto - from >= told);
                told = upto - from;
                ck_assert(dg_span_starts(dg_span_cstr(meant[i]), dg_span_sub(part, from, told)));
            }
            dg_translation_prompt_hear(template, whole, true, &from, &upto);
            ck_assert_msg(dg_span_eq(dg_span_sub(whole, from, upto - from), dg_span_cstr(meant[i])),
                          "\"%s\": \"%.*s\"", said[i],
                          DG_SPAN_FMT(dg_span_sub(whole, from, upto - from)));
        }
    }
    dg_translation_prompt_free(template);
}
END_TEST

/* ---- Through the engine ---------------------------------------------------------------------- */

static char root[DG_TMPDIR_CAP], folder[DG_TMPDIR_CAP + 16];
static struct dg_engine *engine;

static void start(void)
{
    char from[1024];
    const char *srcdir = getenv("srcdir");
    struct dg_error error = DG_ERROR_NONE;
    const struct dg_import_opts how = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    const struct dg_engine_opts opts = {
        .n_threads = 1, .slots = 4, .target_max = 48, .cache_bytes = 1 << 20};
    dg_tmpdir_make(root);
    engine = NULL;
    enum dg_err err = dg_engine_new(&opts, &error, &engine);
    snprintf(from, sizeof from, "%s/tests/data/lm/gpt2", srcdir ? srcdir : ".");
    snprintf(folder, sizeof folder, "%s/gpt2", root);
    if (!err)
        err = dg_import(from, folder, &how, &summary, &error);
    ck_assert_msg(!err, "%s", error.text);
}

static void stop(void)
{
    dg_engine_free(engine);
    dg_tmpdir_remove(root);
}

static enum dg_err load(const char *name, const char *template, const char *stop_text,
                        struct dg_error *error)
{
    const struct dg_engine_model model = {.name = name,
                                          .path = folder,
                                          .source = template ? "fr,de" : "",
                                          .target = template ? "en,nl" : "",
                                          .template = template,
                                          .stop = stop_text};
    struct dg_served_model *served;
    enum dg_err err = dg_engine_open(engine, &model, error, &served);
    return err ? err : dg_engine_publish(engine, served, error);
}

struct heard {
    struct dg_buf deltas, text;
    size_t n_sentences, n_cached;
    enum dg_err err;
    bool is_done;
};

static void on_delta(void *ctx, struct dg_span text)
{
    struct heard *heard = ctx;
    (void)!dg_buf_append_span(&heard->deltas, text);
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct heard *heard = ctx;
    heard->n_sentences++;
    for (size_t i = 0; i < sentence->n_source; i++)
        ck_assert(sentence->source[i].begin >= sentence->at &&
                  sentence->source[i].end <= sentence->at + sentence->len);
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct heard *heard = ctx;
    (void)!dg_buf_append_span(&heard->text, result->text);
    heard->err = result->err;
    heard->n_cached = result->n_cached;
    heard->is_done = true;
}

static void on_generated(void *ctx, const struct dg_generated *result)
{
    struct heard *heard = ctx;
    (void)!dg_buf_append_span(&heard->text, result->text);
    heard->err = result->err;
    heard->is_done = true;
}

static void init(struct heard *heard)
{
    *heard = (struct heard){.err = DG_OK};
    dg_buf_init(&heard->deltas, 1 << 20);
    dg_buf_init(&heard->text, 1 << 20);
}

static void deinit(struct heard *heard)
{
    dg_buf_deinit(&heard->deltas);
    dg_buf_deinit(&heard->text);
}

static void wait_for(const struct heard *heard)
{
    while (!heard->is_done) {
        dg_engine_poll(engine);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static enum dg_err submit(const char *model, const char *text, const char *source,
                          const char *target, struct heard *heard, struct dg_error *error)
{
    static const struct dg_engine_events events = {on_delta, on_sentence, on_done};
    struct dg_engine_request request = DG_ENGINE_REQUEST_DEFAULT;
    request.text = dg_span_cstr(text);
    request.model = model;
    request.source = source;
    request.target = target;
    request.search.max_len = 24;
    request.search.max_ratio = 0;
    request.search.loop_guard = false;
    init(heard);
    return dg_engine_submit(engine, &request, &events, heard, error, NULL, NULL);
}

static void translate(const char *model, const char *text, const char *source, const char *target,
                      struct heard *heard)
{
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = submit(model, text, source, target, heard, &error);
    ck_assert_msg(!err, "%s", error.text);
    wait_for(heard);
    ck_assert_int_eq(heard->err, DG_OK);
    ck_assert(dg_span_eq(dg_buf_span(&heard->deltas), dg_buf_span(&heard->text)));
}

static void generate(const char *prompt, struct heard *heard)
{
    static const struct dg_generate_events events = {.on_delta = on_delta, .on_done = on_generated};
    struct dg_generate ask = DG_GENERATE_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    ask.prompt = dg_span_cstr(prompt);
    ask.model = "plain";
    ask.search.max_len = 24;
    ask.search.loop_guard = false;
    init(heard);
    const enum dg_err err = dg_engine_generate(engine, &ask, &events, heard, &error, NULL, NULL);
    ck_assert_msg(!err, "%s", error.text);
    wait_for(heard);
    ck_assert_int_eq(heard->err, DG_OK);
}

static struct dg_span trimmed(struct dg_span text)
{
    while (text.len && strchr(" \n\t\r", text.ptr[0]))
        text = dg_span_sub(text, 1, text.len);
    while (text.len && strchr(" \n\t\r", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

START_TEST(a_translation_is_what_the_model_goes_on_with)
{
    struct heard said, got, again;
    struct dg_error error = DG_ERROR_NONE;
    start();
    ck_assert_int_eq(load("plain", NULL, NULL, &error), DG_OK);
    ck_assert_msg(load("asked", "{source} to {target}:\\n{text}\\n", NULL, &error) == DG_OK, "%s",
                  error.text);
    generate("German to Dutch:\nDas kleine Haus.\n", &said);
    translate("asked", "Das kleine Haus.", "de", "nl", &got);
    const struct dg_span meant = trimmed(dg_buf_span(&said.text));
    ck_assert_uint_gt(meant.len, 4);
    ck_assert_msg(dg_span_eq(meant, dg_buf_span(&got.text)), "\"%.*s\", expected \"%.*s\"",
                  DG_SPAN_FMT(dg_buf_span(&got.text)), DG_SPAN_FMT(meant));
    translate("asked", "Das kleine Haus.", "de", "nl", &again);
    ck_assert_uint_eq(again.n_cached, 1);
    ck_assert(dg_span_eq(dg_buf_span(&again.text), dg_buf_span(&got.text)));
    deinit(&said);
    deinit(&got);
    deinit(&again);
    stop();
}
END_TEST

/* The position of a letter that differs from all letters before it; 0: there is none. */
static size_t first_of_its_kind(struct dg_span text)
{
    for (size_t i = 1; i < text.len; i++)
        if (((text.ptr[i] >= 'a' && text.ptr[i] <= 'z') ||
             (text.ptr[i] >= '0' && text.ptr[i] <= 'Z')) &&
            !memchr(text.ptr, text.ptr[i], i))
            return i;
    return 0;
}

START_TEST(a_stop_text_ends_the_search)
{
    static const char *const texts[] = {"Oui.",        "Das kleine Haus.",  "Non, merci !",
                                        "Deux jours.", "La gare est loin.", "Un deux trois."};
    struct heard said, got;
    struct dg_error error = DG_ERROR_NONE;
    size_t at = 0, n = 0;
    start();
    ck_assert_int_eq(load("plain", NULL, NULL, &error), DG_OK);
    for (; n < sizeof texts / sizeof *texts; n++) {
        char prompt[100];
        snprintf(prompt, sizeof prompt, "French: %s", texts[n]);
        generate(prompt, &said);
        if ((at = first_of_its_kind(dg_buf_span(&said.text))) > 0)
            break;
        deinit(&said);
    }
    ck_assert_uint_gt(at, 0);
    const char stop_text[2] = {said.text.ptr[at], '\0'};
    ck_assert_msg(load("asked", "{source}: {text}", stop_text, &error) == DG_OK, "%s", error.text);
    translate("asked", texts[n], "fr", "en", &got);
    const struct dg_span meant = trimmed(dg_span_sub(dg_buf_span(&said.text), 0, at));
    ck_assert_msg(dg_span_eq(meant, dg_buf_span(&got.text)), "%s: \"%.*s\" up to %s, got \"%.*s\"",
                  texts[n], DG_SPAN_FMT(dg_buf_span(&said.text)), stop_text,
                  DG_SPAN_FMT(dg_buf_span(&got.text)));
    deinit(&said);
    deinit(&got);
    stop();
}
END_TEST

START_TEST(company_changes_nothing)
{
    enum { N = 5 };
    static const char *const texts[N] = {"Oui.", "Das kleine Haus am Fluss.", "Eins. Zwei. Drei.",
                                         "a<|endoftext|>b", "Non, merci !"};
    struct heard alone[N], together[N];
    struct dg_error error = DG_ERROR_NONE;
    start();
    ck_assert_int_eq(load("asked", "{source} to {target}:\\n{text}\\n", "q", &error), DG_OK);
    for (size_t i = 0; i < N; i++)
        translate("asked", texts[i], i % 2 ? "de" : "fr", "en", &alone[i]);
    ck_assert_uint_eq(alone[2].n_sentences, 3);
    ck_assert_int_eq(load("asked", "{source} to {target}:\\n{text}\\n", "q", &error),
                     /* no sentence of this text is cached */
                     DG_OK);
    for (size_t i = 0; i < N; i++)
        ck_assert_int_eq(submit("asked", texts[i], i % 2 ? "de" : "fr", "en", &together[i], &error),
                         DG_OK);
    for (size_t i = 0; i < N; i++) {
        wait_for(&together[i]);
        ck_assert_int_eq(together[i].err, DG_OK);
        ck_assert_uint_eq(together[i].n_cached, 0);
        ck_assert(dg_span_eq(dg_buf_span(&alone[i].text), dg_buf_span(&together[i].text)));
        deinit(&alone[i]);
        deinit(&together[i]);
    }
    stop();
}
END_TEST

/* Such models get capitals unchanged. These take more tokens than small letters, and parts are cut
 * accordingly. */
START_TEST(long_capitals_are_cut_to_what_a_prompt_holds)
{
    char text[1200] = "";
    struct heard got;
    struct dg_error error = DG_ERROR_NONE;
    for (size_t i = 0; i < 30; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "DAS KLEINE HAUS AM GROSSEN FLUSS ");
    start();
    ck_assert_int_eq(load("asked", "{source} to {target}:\\n{text}\\n", NULL, &error), DG_OK);
    translate("asked", text, "de", "en", &got);
    ck_assert_uint_gt(got.n_sentences, 10);
    deinit(&got);
    stop();
}
END_TEST

START_TEST(what_cannot_be_asked_is_refused)
{
    static const struct {
        const char *template, *stop, *says;
    } rows[] = {
        {NULL, "x", "template-stop without a template"},
        {"Translate", NULL, "read {text} 0 times"},
        {"{text}", "no token is as long as this", "no token of the model contains the text"},
    };
    struct heard heard;
    struct dg_error error = DG_ERROR_NONE;
    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        error = (struct dg_error)DG_ERROR_NONE;
        ck_assert_int_ne(load("bad", rows[i].template, rows[i].stop, &error), DG_OK);
        ck_assert_msg(strstr(error.text, rows[i].says), "\"%s\" does not say \"%s\"", error.text,
                      rows[i].says);
    }
    ck_assert_int_eq(load("plain", NULL, NULL, &error), DG_OK);
    ck_assert_int_eq(submit("plain", "Oui.", "fr", "en", &heard, &error), DG_ERR_UNSUPPORTED);
    ck_assert(strstr(error.text, "only if a template"));
    deinit(&heard);
    ck_assert_int_eq(load("asked", "{text}\\n", NULL, &error), DG_OK);
    ck_assert_int_eq(submit("asked", "Oui.", "fr", "ja", &heard, &error), DG_ERR_NOT_FOUND);
    deinit(&heard);
    stop();
}
END_TEST

DG_UNIT_SLOW(a_prompt_has_its_places_filled, what_is_wrong_with_a_template_is_said,
             the_translation_is_what_stands_before_a_stop_text,
             a_translation_is_what_the_model_goes_on_with, a_stop_text_ends_the_search,
             company_changes_nothing, long_capitals_are_cut_to_what_a_prompt_holds,
             what_cannot_be_asked_is_refused)
