/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Many texts over one network that says something of them and generates nothing: an encoder alone,
 * or a recurrent classifier. What dg_decoder is to searches; dg_decoder uses it for such networks,
 * so that the scheduler serves both alike.
 *
 *     struct dg_read read = {.kind = DG_READ_LABELS, .values = values};     [dg_read_size] numbers
 *     struct dg_decode_job job = {.src = ids, .n_src = n, .read = &read, .events = &events, .ctx =
 * ctx}; err = dg_decoder_add(decoder, &job, 1, &handle, &error); dg_decoder_step(decoder); on_read:
 * `values` are there
 *
 * As many of the texts that wait as go through an encoder together are read together, the longest
 * waiting first: in one step or, by a large network, in many, so that others who share the thread
 * have their turns (step_work of decoder.h). What a text gets does not depend, to the bit, on its
 * company. One thread at a time. */
#ifndef DG_DECODE_READER_H
#define DG_DECODE_READER_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "network/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dg_read_kind {
    DG_READ_LABELS, /* the head's: [labels] of a whole text, [n_src, labels] of its tokens */
    DG_READ_WORDS,  /* the likeliest words at `at`: [n_at, n_best] ids and probabilities, the best
                       first */
    DG_READ_STATE,  /* the encoder's [D]: the mean of all tokens, or the first one */
};

enum { DG_READ_BEST_MAX = 100 };

/* What is wanted of one text, and where it goes. It lives until the text's end was told. */
struct dg_read {
    enum dg_read_kind kind;
    size_t second;       /* from here on the tokens are of a second text; 0: there is none */
    bool probabilities;  /* LABELS: after a softmax over each row's labels */
    bool first;          /* STATE: of the first token */
    const uint32_t *at;  /* WORDS: [n_at] places, less than n_src each */
    size_t n_at, n_best; /* WORDS; n_best at most DG_READ_BEST_MAX */
    float *values;       /* [dg_read_size] */
    int32_t *ids;        /* WORDS: [dg_read_size]; -1 behind the last word there is */
};

/* How many numbers a text of n_src tokens gets. */
size_t dg_read_size(const struct dg_blueprint *bp, const struct dg_read *read, size_t n_src);

struct dg_helpers;
struct dg_reader;
struct dg_decode_job;
struct dg_decoder_limits;

/* As of dg_decoder; of the limits sentences, source_max, batch_tokens, step_work and kv_tokens
 * count. */
enum dg_err dg_reader_new(struct dg_reader **reader, const struct dg_net *net,
                          const struct dg_decoder_limits *limits,
                          struct dg_error *error) DG_MUST_CHECK;
void dg_reader_free(struct dg_reader *reader); /* NULL is fine */
void dg_reader_lend(struct dg_reader *reader, struct dg_helpers *helpers);
enum dg_err dg_reader_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                           size_t *bytes, struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_reader_check(const struct dg_reader *reader, const struct dg_decode_job *job,
                            struct dg_error *error) DG_MUST_CHECK;
size_t dg_reader_n_fitting(const struct dg_reader *reader, const struct dg_decode_job *jobs,
                           size_t n);
enum dg_err dg_reader_add(struct dg_reader *reader, const struct dg_decode_job *jobs, size_t n,
                          uint32_t *handles, struct dg_error *error) DG_MUST_CHECK;
size_t dg_reader_step(struct dg_reader *reader); /* texts that it read, or read on; 0: there are
                                                    none */
bool dg_reader_cancel(struct dg_reader *reader, uint32_t handle);
size_t dg_reader_n_texts(const struct dg_reader *reader);

#endif
