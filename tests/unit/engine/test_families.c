/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A small trained model of every family (tests/models, made by its make.py) through the whole
 * engine: sentences that none of them has seen come out right, and each the same in company as
 * alone, greedily and with beams. */
#include "engine/engine.h"
#include "files.h"
#include "unit.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>

enum { N = 24, TEXT_CAP = 128, RIGHT = 21 };

static const char *const families[] = {
    "transformer",   "transformer-pre", "relative",     "ssru",     "average-attention",
    "tanh-location", "gru-none",        "gru-additive", "lstm-dot", "lstm-general"};
enum { N_FAMILIES = sizeof families / sizeof families[0] };

static char sources[N][TEXT_CAP], targets[N][TEXT_CAP];
static sem_t woken;

struct answer {
    char text[TEXT_CAP];
    double logprob; /* of its sentence */
    enum dg_err err;
    bool is_done;
};

static void wake(void *arg)
{
    (void)arg;
    sem_post(&woken);
}

static void on_sentence(void *ctx, const struct dg_engine_sentence *sentence)
{
    struct answer *answer = ctx;
    if (sentence->n_answers)
        answer->logprob += sentence->answers[0].logprob;
}

static void on_done(void *ctx, const struct dg_engine_result *result)
{
    struct answer *answer = ctx;
    answer->is_done = true;
    answer->err = result->err;
    snprintf(answer->text, sizeof answer->text, "%.*s", DG_SPAN_FMT(result->text));
}

static void read_pairs(void)
{
    char path[DG_TEST_PATH], line[2 * TEXT_CAP];
    FILE *in = fopen(dg_test_source(path, "tests/models/pairs.tsv"), "r");
    ck_assert_msg(in != NULL, "%s", path);
    for (size_t i = 0; i < N; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
        ck_assert_int_eq(sscanf(line, "%127[^\t]\t%127[^\n]", sources[i], targets[i]), 2);
    }
    fclose(in);
}

static void submit(struct dg_engine *engine, const char *model, size_t beam, const char *text,
                   struct answer *answer)
{
    static const struct dg_engine_events events = {.on_sentence = on_sentence, .on_done = on_done};
    struct dg_engine_request how = DG_ENGINE_REQUEST_DEFAULT;
    struct dg_error error = DG_ERROR_NONE;
    uint64_t id;
    *answer = (struct answer){.is_done = false};
    how.model = model;
    how.text = dg_span_cstr(text);
    how.search.beam = beam;
    ck_assert_msg(dg_engine_submit(engine, &how, &events, answer, &error, NULL, &id) == DG_OK,
                  "%s: %s", model, error.text);
}

static void wait_for(struct dg_engine *engine, const struct answer *answer)
{
    while (dg_engine_poll(engine), !answer->is_done) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec++;
        sem_timedwait(&woken, &soon);
    }
    ck_assert_int_eq(answer->err, DG_OK);
}

static void try_family(struct dg_engine *engine, const char *name, size_t beam)
{
    static struct answer together[N], alone;
    size_t n_right = 0;
    for (size_t i = 0; i < N; i++)
        submit(engine, name, beam, sources[i], &together[i]);
    for (size_t i = 0; i < N; i++) {
        wait_for(engine, &together[i]);
        n_right += strcmp(together[i].text, targets[i]) == 0;
    }
    for (size_t i = 0; i < N; i++) {
        submit(engine, name, beam, sources[i], &alone);
        wait_for(engine, &alone);
        ck_assert_str_eq(alone.text, together[i].text);
        ck_assert(alone.logprob < 0 && alone.logprob == together[i].logprob);
    }
    ck_assert_msg(n_right >= RIGHT, "%s, beam %zu: %zu of %d right", name, beam, n_right, N);
}

static void try_all(size_t beam)
{
    struct dg_engine_opts opts = {.n_threads = 2, .slots = 16, .wake = wake};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine *engine;
    sem_init(&woken, 0, 0);
    read_pairs();
    ck_assert_msg(dg_engine_new(&opts, &error, &engine) == DG_OK, "%s", error.text);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        char folder[64], path[DG_TEST_PATH];
        snprintf(folder, sizeof folder, "tests/models/%s", families[i]);
        ck_assert_msg(dg_engine_load(engine, families[i], dg_test_source(path, folder), NULL, NULL,
                                     &error) == DG_OK,
                      "%s", error.text);
    }
    for (size_t i = 0; i < N_FAMILIES; i++)
        try_family(engine, families[i], beam);
    dg_engine_free(engine);
    sem_destroy(&woken);
}

START_TEST(every_family_greedily)
{
    try_all(1);
}
END_TEST

START_TEST(every_family_with_beams)
{
    try_all(4);
}
END_TEST

DG_UNIT_SLOW(every_family_greedily, every_family_with_beams)
