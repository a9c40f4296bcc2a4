/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Readings by tiny random models (tests/data/enc), whose output is nonsense, but always the same.
 */
#include "base/memory/mem.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "engine/read/reading_result.h"
#include "import/format/import.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>
#include <time.h>

static char root[DG_TMPDIR_CAP];
static struct dg_engine *engine;

static enum dg_err try_start(const struct dg_engine_opts *opts, const char *const *names, size_t n,
                             struct dg_error *error)
{
    dg_tmpdir_make(root);
    engine = NULL;
    enum dg_err err = dg_engine_new(opts, error, &engine);
    for (size_t i = 0; i < n && !err; i++) {
        char from[1024], to[DG_TMPDIR_CAP + 32];
        const char *srcdir = getenv("srcdir");
        const struct dg_import_opts how = DG_IMPORT_OPTS_DEFAULT;
        struct dg_import_summary summary;
        snprintf(from, sizeof from, "%s/tests/data/enc/%s", srcdir ? srcdir : ".", names[i]);
        snprintf(to, sizeof to, "%s/%s", root, names[i]);
        err = dg_import(from, to, &how, &summary, error);
        if (!err)
            err = dg_engine_load(engine, names[i], to, NULL, NULL, error);
    }
    return err;
}

static void start_with(const struct dg_engine_opts *opts, const char *const *names, size_t n)
{
    struct dg_error error = DG_ERROR_NONE;
    const enum dg_err err = try_start(opts, names, n, &error);
    ck_assert_msg(!err, "%s", error.text);
}

static void start(size_t slots, const char *const *names, size_t n)
{
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = slots, .max_sentences = 40};
    start_with(&opts, names, n);
}

static void stop(void)
{
    dg_engine_free(engine);
    dg_tmpdir_remove(root);
}

/* ---- What is heard --------------------------------------------------------------------------- */

enum { HEARD_MAX = 64, NUMBERS_MAX = 400 };

/* A row of numbers for each item, which represents all that was reported about it. */
struct heard {
    double numbers[HEARD_MAX][NUMBERS_MAX];
    size_t n[HEARD_MAX], n_items, n_tokens, n_characters;
    bool is_done, was_cut[HEARD_MAX];
    enum dg_err err;
    size_t failed;
    char error[DG_ERROR_CAP];
};

static void note(struct heard *heard, size_t item, double number)
{
    if (heard->n[item] < NUMBERS_MAX)
        heard->numbers[item][heard->n[item]++] = number;
}

static void on_said(void *ctx, size_t item, const struct dg_reading_result *said)
{
    struct heard *heard = ctx;
    ck_assert_uint_eq(item, heard->n_items);
    heard->n_items += !said->has_more;
    heard->was_cut[item] = said->was_cut;
    for (size_t i = 0; i < said->n_places; i++)
        for (size_t k = 0; k < said->places[i].n_words; k++) {
            note(heard, item, said->places[i].words[k].id);
            note(heard, item, (double)said->places[i].words[k].score);
        }
    for (size_t i = 0; i < said->n_labels; i++)
        note(heard, item, (double)said->labels[i].score + (double)said->labels[i].name.len);
    for (size_t i = 0; i < said->n_entities; i++) {
        note(heard, item, (double)said->entities[i].at);
        note(heard, item, (double)said->entities[i].len);
        note(heard, item, (double)said->entities[i].score);
    }
    for (size_t i = 0; i < said->n_answers; i++) {
        note(heard, item, (double)said->answers[i].at);
        note(heard, item, (double)said->answers[i].len);
        note(heard, item, (double)said->answers[i].score);
    }
    for (size_t i = 0; i < said->n_vector; i++)
        note(heard, item, (double)said->vector[i]);
}

static void on_done(void *ctx, const struct dg_engine_read_result *result)
{
    struct heard *heard = ctx;
    heard->is_done = true;
    heard->err = result->err;
    heard->failed = result->item;
    heard->n_tokens = result->n_tokens;
    heard->n_characters = result->n_characters;
    snprintf(heard->error, sizeof heard->error, "%s", result->error ? result->error : "");
}

static const struct dg_engine_read_events events = {on_said, on_done};

static void wait_for(const struct heard *heard)
{
    while (!heard->is_done) {
        dg_engine_poll(engine);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

static enum dg_err run(const struct dg_engine_read *ask, struct heard *heard)
{
    struct dg_error error = DG_ERROR_NONE;
    memset(heard, 0, sizeof *heard);
    enum dg_err err = dg_engine_read(engine, ask, &events, heard, &error, NULL, NULL);
    if (!err)
        wait_for(heard);
    else
        snprintf(heard->error, sizeof heard->error, "%s", error.text);
    return err ? err : heard->err;
}

static struct dg_engine_read ask_of(enum dg_read_task task, const char *model,
                                    const struct dg_engine_item *items, size_t n)
{
    return (struct dg_engine_read){.task = task,
                                   .model = model,
                                   .items = items,
                                   .n_items = n,
                                   .n_best = 3,
                                   .priority = DG_PRIORITY_NORMAL};
}

/* ---- Alone and together ---------------------------------------------------------------------- */

static const char *const texts[] = {
    "The little house stands on the hill.",
    "A man came home late.",
    "",
    "It is cold; the wind comes from the north, and nobody knows what the morning will bring.",
    "Das kleine Haus steht am Fluss.",
    "We have 12 apples and 340 pears."};
enum { N_TEXTS = sizeof texts / sizeof *texts, N_ITEMS = 24 };

static const struct {
    enum dg_read_task task;
    const char *model;
} kinds[] = {{DG_TASK_CLASSIFY, "roberta-topics"},
             {DG_TASK_TAG, "distilbert-tags"},
             {DG_TASK_ANSWER, "bert-spans"},
             {DG_TASK_EMBED, "bert-spans"}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static struct dg_engine_item item_of(enum dg_read_task task, size_t i)
{
    struct dg_engine_item item = {.text = dg_span_cstr(texts[i % N_TEXTS])};
    if (task == DG_TASK_ANSWER || (task == DG_TASK_CLASSIFY && i % 2)) {
        item.has_pair = true;
        item.pair = dg_span_cstr(texts[(i + 1) % N_TEXTS]);
        if (task == DG_TASK_ANSWER)
            item.text = dg_span_cstr("where is it");
    }
    return item;
}

START_TEST(company_changes_nothing)
{
    static const char *const names[] = {"roberta-topics", "distilbert-tags", "bert-spans"};
    static struct heard all, one;
    start(8, names, 3);
    for (size_t k = 0; k < N_KINDS; k++) {
        struct dg_engine_item items[N_ITEMS];
        for (size_t i = 0; i < N_ITEMS; i++)
            items[i] = item_of(kinds[k].task, i);
        const struct dg_engine_read ask = ask_of(kinds[k].task, kinds[k].model, items, N_ITEMS);
        if (run(&ask, &all))
            continue; /* torture */
        ck_assert_uint_eq(all.n_items, N_ITEMS);
        for (size_t i = 0; i < N_TEXTS * 2; i++) {
            const struct dg_engine_read alone = ask_of(kinds[k].task, kinds[k].model, &items[i], 1);
            if (run(&alone, &one))
                continue;
            ck_assert_uint_eq(one.n[0], all.n[i]);
            ck_assert_mem_eq(one.numbers[0], all.numbers[i], one.n[0] * sizeof(double));
        }
    }
    stop();
}
END_TEST

START_TEST(long_texts_are_read_in_windows_or_cut_and_told)
{
    static const char *const names[] = {"roberta-tags", "roberta-spans", "roberta-topics",
                                        "roberta-words"};
    static struct heard heard, again;
    struct dg_buf text;
    start(4, names, 4);
    dg_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < 400; i++)
        if (dg_buf_append_cstr(&text, texts[i % N_TEXTS]) || dg_buf_append_byte(&text, ' '))
            break;
    struct dg_engine_item item = {.text = dg_buf_span(&text)};
    struct dg_engine_read ask = ask_of(DG_TASK_TAG, "roberta-tags", &item, 1);
    if (!run(&ask, &heard)) {
        ck_assert_uint_gt(heard.n_tokens, 48 * 64); /* more windows than are open at a time */
        ck_assert_uint_eq(heard.was_cut[0], false);
        for (size_t i = 3; i + 1 < heard.n[0]; i += 3)
            ck_assert(heard.numbers[0][i] >= heard.numbers[0][i - 3] + heard.numbers[0][i - 2]);
        if (!run(&ask, &again))
            ck_assert_mem_eq(heard.numbers[0], again.numbers[0], heard.n[0] * sizeof(double));
    }
    item = (struct dg_engine_item){
        .text = DG_SPAN("Where is the house?"), .pair = dg_buf_span(&text), .has_pair = true};
    ask = ask_of(DG_TASK_ANSWER, "roberta-spans", &item, 1);
    if (!run(&ask, &heard))
        for (size_t i = 0; i < heard.n[0]; i += 3)
            ck_assert(heard.numbers[0][i] + heard.numbers[0][i + 1] <= (double)text.len);
    item = (struct dg_engine_item){.text = dg_buf_span(&text)};
    ask = ask_of(DG_TASK_CLASSIFY, "roberta-topics", &item, 1);
    if (!run(&ask, &heard)) {
        ck_assert(heard.was_cut[0]);
        ck_assert_uint_eq(heard.n_tokens, 48);
    }
    item.text = DG_SPAN("<mask> and this and that and so on and on, much further than the model "
                        "could ever think of reading, "
                        "and then a little more");
    ask = ask_of(DG_TASK_FILL, "roberta-words", &item, 1);
    enum dg_err err = run(&ask, &heard);
    ck_assert(err == DG_ERR_RANGE || err == DG_ERR_NOMEM);
    dg_buf_deinit(&text);
    stop();
}
END_TEST

/* ---- Ends ------------------------------------------------------------------------------------ */

START_TEST(a_request_may_be_cancelled_and_the_engine_freed_at_any_time)
{
    static const char *const names[] = {"distilbert-tags"};
    static struct heard heard[3];
    struct dg_buf text;
    memset(heard, 0, sizeof heard);
    start(2, names, 1);
    dg_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < 400; i++)
        if (dg_buf_append_cstr(&text, texts[i % N_TEXTS]) || dg_buf_append_byte(&text, ' '))
            break;
    const struct dg_engine_item item = {.text = dg_buf_span(&text)};
    const struct dg_engine_read ask = ask_of(DG_TASK_TAG, "distilbert-tags", &item, 1);
    uint64_t ids[3] = {0, 0, 0};
    bool begun[3];
    for (size_t i = 0; i < 3; i++)
        begun[i] = dg_engine_read(engine, &ask, &events, &heard[i], NULL, NULL, &ids[i]) == DG_OK;
    if (begun[0]) {
        ck_assert(dg_engine_cancel(engine, ids[0]));
        wait_for(&heard[0]);
        ck_assert_int_eq(heard[0].err, DG_ERR_CANCELLED);
        ck_assert(!dg_engine_cancel(engine, ids[0]));
    }
    dg_buf_deinit(&text);
    stop();
    /* it ends without a report, or had ended */
    ck_assert(!begun[2] || !heard[2].is_done || !heard[2].err);
}
END_TEST

START_TEST(says_what_is_wrong)
{
    static const char *const names[] = {"distilbert-mood", "roberta-words"};
    static struct heard heard;
    start(4, names, 2);
    const struct {
        enum dg_read_task task;
        const char *model;
        struct dg_engine_item item;
        size_t n_best;
        enum dg_err err;
        const char *says;
    } rows[] = {
        {DG_TASK_TAG, NULL, {.text = DG_SPAN("a")}, 0, DG_ERR_NOT_FOUND, "no model that could tag"},
        {DG_TASK_TAG,
         "distilbert-mood",
         {.text = DG_SPAN("a")},
         0,
         DG_ERR_UNSUPPORTED,
         "expected a model with labels of tokens"},
        {DG_TASK_EMBED,
         NULL,
         {.text = DG_SPAN("a")},
         0,
         DG_ERR_INVALID,
         "there are 2 models that embed: name one"},
        {DG_TASK_EMBED,
         "nobody",
         {.text = DG_SPAN("a")},
         0,
         DG_ERR_NOT_FOUND,
         "no model called nobody"},
        {DG_TASK_CLASSIFY,
         NULL,
         {.text = DG_SPAN("a\xff")},
         0,
         DG_ERR_UTF8,
         "item 0 is not valid UTF-8 at byte 1"},
        {DG_TASK_FILL,
         NULL,
         {.text = DG_SPAN("a [MASK]")},
         3,
         DG_ERR_INVALID,
         "expected <mask> in its place"},
        {DG_TASK_FILL,
         NULL,
         {.text = DG_SPAN("<mask>")},
         0,
         DG_ERR_RANGE,
         "no words were asked for"},
        {DG_TASK_FILL,
         NULL,
         {.text = DG_SPAN("<mask>")},
         101,
         DG_ERR_RANGE,
         "101 best were asked for, expected at most 100"},
        {DG_TASK_FILL,
         NULL,
         {.text = DG_SPAN(
              "<mask><mask><mask><mask><mask><mask><mask><mask><mask><mask><mask><mask><mask><mask>"
              "<mask><mask><mask><mask><mask><mask><mask>")},
         100,
         DG_ERR_LIMIT,
         "has 21 masked words, and 100 suggestions were asked for each, which makes 2100, expected "
         "at "
         "most 2000"},
        {DG_TASK_FILL,
         NULL,
         {.text = DG_SPAN("<mask>"), .has_pair = true, .pair = DG_SPAN("")},
         3,
         DG_ERR_INVALID,
         "one text"},
        {DG_TASK_ANSWER,
         NULL,
         {.text = DG_SPAN("a")},
         1,
         DG_ERR_INVALID,
         "a question needs a context"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dg_engine_read ask = ask_of(rows[i].task, rows[i].model, &rows[i].item, 1);
        ask.n_best = rows[i].n_best;
        const enum dg_err err = run(&ask, &heard);
        if (err == DG_ERR_NOMEM)
            continue; /* torture */
        ck_assert_int_eq(err, rows[i].err);
        ck_assert_msg(strstr(heard.error, rows[i].says), "row %zu: %s", i, heard.error);
    }
    const struct dg_engine_request request = {.text = DG_SPAN("a"), .model = "distilbert-mood"};
    struct dg_error error = DG_ERROR_NONE;
    ck_assert_int_eq(dg_engine_can(engine, &request, &error), DG_ERR_UNSUPPORTED);
    stop();
}
END_TEST

START_TEST(a_model_too_small_for_two_texts_is_refused)
{
    static const char *const names[] = {"bert-spans", "distilbert-tags"};
    static struct heard heard;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_engine_opts opts = {.n_threads = 1, .slots = 4, .prompt_max = 4};
    const enum dg_err err = try_start(&opts, names, 1, &error);
    ck_assert(err == DG_ERR_RANGE || err == DG_ERR_NOMEM);
    ck_assert_msg(err == DG_ERR_NOMEM ||
                      strstr(error.text, "would read 4 tokens at a time, expected at least 5"),
                  "%s", error.text);
    stop();
    opts.prompt_max = 5;
    start_with(&opts, names, 2);
    struct dg_engine_item item = {
        .text = DG_SPAN("a"), .pair = DG_SPAN("a b c d"), .has_pair = true};
    struct dg_engine_read ask = ask_of(DG_TASK_ANSWER, NULL, &item, 1);
    ck_assert(run(&ask, &heard) == DG_ERR_NOMEM || heard.n[0] > 0);
    item = item_of(DG_TASK_TAG, 0);
    ask = ask_of(DG_TASK_TAG, NULL, &item, 1);
    ck_assert(run(&ask, &heard) == DG_ERR_NOMEM || heard.n_items == 1);
    stop();
}
END_TEST

/* ---- Turns ----------------------------------------------------------------------------------- */

static struct dg_clock slow_clock = DG_CLOCK_VIRTUAL(0);
static size_t n_told;

/* The consumer is slow. */
static void on_slowly_said(void *ctx, size_t item, const struct dg_reading_result *said)
{
    on_said(ctx, item, said);
    n_told++;
    dg_clock_advance(&slow_clock, 5 * DG_CLOCK_MS);
}

static void on_slowly_done(void *ctx, const struct dg_engine_read_result *result)
{
    on_done(ctx, result);
    dg_clock_advance(&slow_clock, 5 * DG_CLOCK_MS);
}

START_TEST(a_poll_is_over_in_time_and_all_have_their_turns)
{
    static const struct dg_engine_read_events slow = {on_slowly_said, on_slowly_done};
    static const char *const names[] = {"distilbert-tags"};
    enum { N = 3, EACH = 3 };
    static struct heard heard[N];
    struct dg_engine_item items[EACH];
    bool begun[N], is_over = false;
    const struct dg_engine_opts opts = {.n_threads = 1, .slots = 8, .clock = &slow_clock};
    memset(heard, 0, sizeof heard);
    start_with(&opts, names, 1);
    for (size_t i = 0; i < EACH; i++)
        items[i] = item_of(DG_TASK_TAG, i);
    const struct dg_engine_read ask = ask_of(DG_TASK_TAG, NULL, items, EACH);
    for (size_t i = 0; i < N; i++)
        begun[i] = dg_engine_read(engine, &ask, &slow, &heard[i], NULL, NULL, NULL) == DG_OK;
    while (!is_over) {
        n_told = 0;
        dg_engine_poll(engine);
        ck_assert_uint_le(n_told, 1);
        is_over = true;
        for (size_t i = 0; i < N; i++)
            is_over = is_over && (!begun[i] || heard[i].is_done);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    for (size_t i = 0; i < N; i++)
        ck_assert(!begun[i] || heard[i].err || heard[i].n_items == EACH);
    stop();
}
END_TEST

/* What was reported about one text so far. */
struct parts {
    struct heard heard;
    size_t n_parts, n_entities, end;
};

static void on_part(void *ctx, size_t item, const struct dg_reading_result *said)
{
    struct parts *parts = ctx;
    on_said(&parts->heard, item, said);
    ck_assert_uint_eq(said->n_before, parts->n_entities);
    ck_assert_uint_le(said->n_entities, DG_READING_RESULT_PART);
    ck_assert(!said->has_more || said->n_entities == DG_READING_RESULT_PART);
    for (size_t i = 0; i < said->n_entities; i++) {
        ck_assert_uint_ge(said->entities[i].at, parts->end);
        parts->end = said->entities[i].at + said->entities[i].len;
    }
    parts->n_parts++;
    parts->n_entities += said->n_entities;
}

static void on_parts_done(void *ctx, const struct dg_engine_read_result *result)
{
    on_done(&((struct parts *)ctx)->heard, result);
}

START_TEST(very_many_entities_are_told_in_parts)
{
    static const struct dg_engine_read_events events_of_parts = {on_part, on_parts_done};
    static const char *const names[] = {"distilbert-tags"};
    static char text[12000];
    static struct parts parts;
    const struct dg_engine_item item = {.text = dg_span_make(text, sizeof text - 1)};
    const struct dg_engine_read ask = ask_of(DG_TASK_TAG, NULL, &item, 1);
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 2 ? ' ' : (char)('a' + i / 2 % 26);
    memset(&parts, 0, sizeof parts);
    start(8, names, 1);
    if (dg_engine_read(engine, &ask, &events_of_parts, &parts, NULL, NULL, NULL) == DG_OK) {
        wait_for(&parts.heard);
        ck_assert(parts.heard.err ||
                  (parts.n_entities > DG_READING_RESULT_PART && parts.n_parts > 1));
        ck_assert(parts.heard.err ||
                  parts.n_parts ==
                      (parts.n_entities + DG_READING_RESULT_PART - 1) / DG_READING_RESULT_PART);
    }
    stop();
}
END_TEST

/* ---- Sizes ----------------------------------------------------------------------------------- */

START_TEST(a_context_that_questions_share_counts_once)
{
    static const char *const names[] = {"bert-spans"};
    static struct heard shared, one;
    static const char context[] =
        "The little house stands on the hill. A man came home late. It is cold.";
    char copies[4][sizeof context];
    struct dg_engine_item items[4];
    const size_t len = sizeof context - 1;
    const struct dg_engine_opts opts = {
        .n_threads = 1, .slots = 4, .texts_bytes = len + 4 * 11 + 3};
    start_with(&opts, names, 1);
    for (size_t i = 0; i < 4; i++) {
        memcpy(copies[i], context, sizeof context);
        items[i] = (struct dg_engine_item){
            .text = DG_SPAN("where is it"), .pair = dg_span_make(copies[i], len), .has_pair = true};
    }
    const struct dg_engine_read ask = ask_of(DG_TASK_ANSWER, NULL, items, 4);
    enum dg_err err = run(&ask, &one);
    ck_assert(err == DG_ERR_LIMIT || err == DG_ERR_NOMEM);
    ck_assert(err == DG_ERR_NOMEM || strstr(one.error, "bytes of text, expected at most"));
    for (size_t i = 0; i < 4; i++)
        items[i].pair = dg_span_make(copies[0], len);
    if (!run(&ask, &shared)) {
        ck_assert_uint_eq(shared.n_items, 4);
        ck_assert_uint_eq(shared.n_characters, len + 4 * 11);
        const struct dg_engine_read alone = ask_of(DG_TASK_ANSWER, NULL, &items[3], 1);
        if (!run(&alone, &one)) {
            ck_assert_uint_eq(one.n[0], shared.n[3]);
            ck_assert_mem_eq(one.numbers[0], shared.numbers[3], one.n[0] * sizeof(double));
        }
    }
    stop();
}
END_TEST

START_TEST(texts_that_would_take_too_many_windows_are_refused)
{
    static const char *const names[] = {"bert-spans", "distilbert-tags"};
    enum { N = 30, LEN = 70 * 1000 };
    static struct heard heard;
    static char text[DG_READ_CHARACTERS_MAX + 1];
    struct dg_engine_item items[N];
    memset(text, 'a', sizeof text);
    start(4, names, 2);
    for (size_t i = 0; i < N; i++)
        items[i] = (struct dg_engine_item){
            .text = DG_SPAN("who"), .pair = dg_span_make(text, LEN), .has_pair = true};
    const struct dg_engine_read many = ask_of(DG_TASK_ANSWER, NULL, items, N);
    enum dg_err err = run(&many, &heard);
    ck_assert(err == DG_ERR_LIMIT || err == DG_ERR_NOMEM);
    ck_assert_msg(err == DG_ERR_NOMEM ||
                      strstr(heard.error,
                             "up to item 28 the questions, each with its context, have 2030087 "
                             "characters, expected at most 2000000"),
                  "%s", heard.error);
    const struct dg_engine_item item = {.text = dg_span_make(text, sizeof text)};
    const struct dg_engine_read tags = ask_of(DG_TASK_TAG, NULL, &item, 1);
    err = run(&tags, &heard);
    ck_assert(err == DG_ERR_LIMIT || err == DG_ERR_NOMEM);
    ck_assert_msg(err == DG_ERR_NOMEM ||
                      strstr(heard.error, "item 0 has 100001 characters, expected at most 100000"),
                  "%s", heard.error);
    stop();
}
END_TEST

/* ---- Windows --------------------------------------------------------------------------------- */

/* Two windows of three tokens that share one, in both orders. */
static void tag_in_order(bool is_turned, struct dg_reading_result_tag out[5])
{
    struct dg_served_model model = {.blueprint = {.family = DG_FAMILY_ENC, .decoder = {.V = 2}}};
    const struct dg_engine_item item = {.text = DG_SPAN("a b c d e")};
    const struct dg_engine_read ask = {.task = DG_TASK_TAG};
    struct dg_reading_result_token tokens[5] = {
        {1, 0, 1, 0}, {1, 2, 3, 1}, {1, 4, 5, 2}, {1, 6, 7, 3}, {1, 8, 9, 4}};
    struct dg_gathering g = {.model = &model, .asked = &ask, .item = &item, .text = {tokens, 5, 5}};
    const struct dg_reading_result_window windows[] = {
        {.first = 0, .n = 3, .at = 1, .number = 0, .is_first = true},
        {.first = 2, .n = 3, .at = 1, .number = 1, .is_last = true}};
    bool is_whole = true;
    for (size_t k = 0; k < 2 && is_whole; k++) {
        const size_t w = is_turned ? 1 - k : k;
        float *values = calloc(10, sizeof *values);
        for (size_t i = 0; i < 3; i++)
            values[2 * (i + 1) + w] = 0.5f + 0.1f * (float)i; /* the window's number as its label */
        is_whole = dg_reading_result_window(&g, &windows[w], values, NULL, 10) == DG_OK;
    }
    memset(out, 0, 5 * sizeof *out);
    if (is_whole)
        memcpy(out, g.tags, 5 * sizeof *out);
    dg_free(g.tags);
}

START_TEST(the_order_of_windows_changes_nothing)
{
    struct dg_reading_result_tag one[5], other[5];
    tag_in_order(false, one);
    tag_in_order(true, other);
    /* they are empty when an allocation failed */
    for (size_t i = 0; i < 5 && one[0].edge && other[0].edge; i++) {
        ck_assert_uint_eq(one[i].label, other[i].label);
        ck_assert_uint_eq(one[i].window, other[i].window);
        /* the token in both windows has the first window's label */
        ck_assert_uint_eq(one[i].label, i > 2);
    }
}
END_TEST

DG_UNIT_SLOW(company_changes_nothing, long_texts_are_read_in_windows_or_cut_and_told,
             a_request_may_be_cancelled_and_the_engine_freed_at_any_time, says_what_is_wrong,
             a_model_too_small_for_two_texts_is_refused,
             a_poll_is_over_in_time_and_all_have_their_turns, very_many_entities_are_told_in_parts,
             a_context_that_questions_share_counts_once,
             texts_that_would_take_too_many_windows_are_refused,
             the_order_of_windows_changes_nothing)
