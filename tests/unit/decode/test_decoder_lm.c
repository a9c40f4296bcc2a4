/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A language model (tests/data/lm) reads prompts between the steps of other sentences. */
#include "decode/decoder.h"
#include "import/format/import.h"
#include "model/model_dir.h"
#include "tmpdir.h"
#include "unit.h"

#include <stdio.h>

enum { N_PROMPT = 40, N_SAID = 16 };

static char root[DG_TMPDIR_CAP];
static struct dg_model *model;
static struct dg_net *net;

static void start(void)
{
    char from[1024], to[DG_TMPDIR_CAP + 8];
    const char *srcdir = getenv("srcdir");
    const struct dg_import_opts how = DG_IMPORT_OPTS_DEFAULT;
    struct dg_import_summary summary;
    dg_tmpdir_make(root);
    snprintf(from, sizeof from, "%s/tests/data/lm/llama", srcdir ? srcdir : ".");
    snprintf(to, sizeof to, "%s/lm", root);
    ck_assert_int_eq(dg_import(from, to, &how, &summary, NULL), DG_OK);
    ck_assert_int_eq(dg_model_open(&model, to, NULL), DG_OK);
    ck_assert_int_eq(
        dg_net_new(&net, dg_model_blueprint(model), dg_model_weights(model), NULL, NULL), DG_OK);
}

static void stop(void)
{
    dg_net_free(net);
    dg_model_unref(model);
    dg_tmpdir_remove(root);
}

static struct dg_decoder *make(size_t step_prompt)
{
    struct dg_decoder *decoder;
    const struct dg_decoder_limits limits = {.sentences = 4,
                                             .rows = 4,
                                             .source_max = N_PROMPT,
                                             .target_max = N_SAID,
                                             .batch_tokens = 4 * N_PROMPT,
                                             .step_prompt = step_prompt};
    ck_assert_int_eq(dg_decoder_new(&decoder, net, &limits, NULL), DG_OK);
    return decoder;
}

struct heard {
    int32_t ids[N_SAID];
    size_t n;
    bool is_done;
};

static void on_tokens(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n)
{
    struct heard *heard = ctx;
    (void)logprobs;
    ck_assert_uint_le(at + n, N_SAID);
    memcpy(heard->ids + at, ids, n * sizeof *ids);
    heard->n = at + n;
}

static void on_done(void *ctx, const struct dg_search *search)
{
    struct heard *heard = ctx;
    (void)search;
    heard->is_done = true;
}

static const struct dg_decode_events events = {.on_tokens = on_tokens, .on_done = on_done};
static const struct dg_search_opts opts = {.beam = 1,
                                           .n_best = 1,
                                           .length_penalty = 1,
                                           .patience = 1,
                                           .early_stop = true,
                                           .temperature = 1,
                                           .top_p = 1,
                                           .max_len = N_SAID,
                                           .repetition_penalty = 1};
static int32_t prompt[N_PROMPT];

static uint32_t add(struct dg_decoder *decoder, size_t n, struct heard *heard, bool is_urgent)
{
    const struct dg_decode_job job = {.src = prompt,
                                      .n_src = n,
                                      .opts = &opts,
                                      .events = &events,
                                      .ctx = heard,
                                      .is_urgent = is_urgent};
    uint32_t handle = 0;
    for (size_t i = 0; i < N_PROMPT; i++)
        prompt[i] = (int32_t)(i * 7 % 200);
    *heard = (struct heard){.n = 0};
    ck_assert_int_eq(dg_decoder_add(decoder, &job, 1, &handle, NULL), DG_OK);
    return handle;
}

static void alone(size_t n, struct heard *heard)
{
    struct dg_decoder *decoder = make(0);
    add(decoder, n, heard, false);
    while (!heard->is_done)
        dg_decoder_step(decoder);
    dg_decoder_free(decoder);
}

START_TEST(others_go_on_while_a_long_prompt_is_read)
{
    struct heard small, large, small_alone, large_alone;
    start();
    alone(3, &small_alone);
    alone(N_PROMPT, &large_alone);
    struct dg_decoder *decoder = make(8);
    add(decoder, 3, &small, false);
    dg_decoder_step(decoder);
    add(decoder, N_PROMPT, &large, false);
    const size_t before = small.n;
    for (size_t i = 0; i < 4; i++) { /* 39 tokens are more than four times eight */
        ck_assert_uint_le(dg_decoder_step(decoder), 8 + 1);
        ck_assert_uint_eq(large.n, 0);
    }
    ck_assert(small.is_done || small.n >= before + 4);
    while (!small.is_done || !large.is_done)
        dg_decoder_step(decoder);
    ck_assert_uint_gt(large.n, 0);
    ck_assert_uint_eq(small.n, small_alone.n);
    ck_assert_uint_eq(large.n, large_alone.n);
    ck_assert_mem_eq(small.ids, small_alone.ids, small.n * sizeof *small.ids);
    ck_assert_mem_eq(large.ids, large_alone.ids, large.n * sizeof *large.ids);
    add(decoder, N_PROMPT, &large, false); /* once more: its prompt is in the cache by now */
    dg_decoder_step(decoder);
    ck_assert(large.n > 0 || large.is_done);
    dg_decoder_free(decoder);
    stop();
}
END_TEST

START_TEST(who_is_urgent_is_read_first_and_who_leaves_leaves_no_trace)
{
    struct heard first, second, third;
    start();
    struct dg_decoder *decoder = make(16);
    const uint32_t handle = add(decoder, N_PROMPT, &first, false);
    add(decoder, 30, &second, true);
    dg_decoder_step(decoder);
    dg_decoder_step(decoder);
    ck_assert_uint_gt(second.n, 0);
    ck_assert_uint_eq(first.n, 0);
    ck_assert(dg_decoder_cancel(decoder, handle));
    ck_assert(first.is_done);
    add(decoder, N_PROMPT, &third, false);
    while (!second.is_done || !third.is_done)
        dg_decoder_step(decoder);
    ck_assert_uint_eq(dg_decoder_n_sentences(decoder), 0);
    alone(N_PROMPT, &first);
    ck_assert_uint_eq(first.n, third.n);
    ck_assert_mem_eq(first.ids, third.ids, first.n * sizeof *first.ids);
    dg_decoder_free(decoder);
    stop();
}
END_TEST

DG_UNIT(others_go_on_while_a_long_prompt_is_read,
        who_is_urgent_is_read_first_and_who_leaves_leaves_no_trace)
