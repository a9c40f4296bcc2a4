/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Many searches over one network: what a worker drives. Ids in, ids out.
 *
 * Sentences are added in batches whenever there is room, also while others are under way; each step
 * advances every live row of every sentence by one token (of some, in turn, when there are many); a
 * sentence that is done leaves at once and its rows are free for the next.
 *
 *     struct dg_decoder *decoder;
 *     err = dg_decoder_new(&decoder, net, &limits, &error);
 *     while (work) {
 *         if (dg_decoder_n_fitting(decoder, &job, 1) == 1)
 *             err = dg_decoder_add(decoder, &job, 1, &handle, &error);    runs the encoder
 *         dg_decoder_step(decoder);                                     events come from inside
 *     }
 *     dg_decoder_free(decoder);
 *
 * A network that reads texts and generates none is driven in the same way: its jobs bring a `read`
 * (reader.h).
 *
 * A sentence's answer does not depend, to the bit, on what runs beside it. Nothing is allocated per
 * token. One thread at a time. */
#ifndef DG_DECODE_DECODER_H
#define DG_DECODE_DECODER_H

#include "base/memory/err.h"
#include "base/memory/error.h"
#include "decode/opts.h"
#include "decode/reader.h"
#include "decode/search.h"
#include "model/lex.h"
#include "network/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_DECODER_ADD_MAX = 256 }; /* sentences that one dg_decoder_add may bring */

/* Pools, all allocated at start. */
struct dg_decoder_limits {
    size_t sentences; /* under way at once */
    size_t rows;      /* live hypotheses at once, of all sentences; at least the widest beam used */
    size_t source_max;   /* tokens of a source, end token included */
    size_t target_max;   /* tokens of a target, with what leads it (opts.h) and its end token */
    size_t prompt_max;   /* for whoever opens models: a language model's source_max; 0: as of others
                          */
    size_t batch_tokens; /* source tokens that one dg_decoder_add may bring; at least source_max */
    size_t step_rows;    /* rows of one step: more take turns; 0: a good value. A sentence is never
                            divided */
    size_t step_prompt;  /* tokens of language models' prompts that one step reads beside its rows;
                            0: a good value */
    uint64_t step_work; /* of encoders alone: multiplications of one step, about; 0: a good value */
    size_t kv_tokens;   /* cached positions of all together; 0: enough for all at their largest */
    size_t alignment_layer; /* decoder layer whose attention is kept, from 1; 0: the last one */
    size_t alignment_head; /* ... its head, from 1; 0: the mean of all. Both 0: as the model says */
    const struct dg_lex *lex; /* the model's shortlist, borrowed, for its vocabularies; NULL:
                               * sentences may use all words, unless their options bring a list */
    bool whole_vocabulary;    /* for whoever opens models: leave their shortlists alone, `lex` stays
                                 NULL */
};

/* What happens to a sentence. Functions are called from inside step and cancel, never later. */
struct dg_decode_events {
    /* `n` more tokens of the answer are final, from position `at` on. May be NULL. */
    void (*on_tokens)(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n);
    /* It is over. The search holds the answers until this returns; `alignment` (search.h's row_of
     * resolved) is asked for through dg_decoder_alignment. */
    void (*on_done)(void *ctx, const struct dg_search *search);
    /* In place of both, of a text that was to be read: its values are there, or why they are not.
     */
    void (*on_read)(void *ctx, enum dg_err err);
};

/* One sentence. Everything pointed to is borrowed until on_done. */
struct dg_decode_job {
    const int32_t *src; /* with its end token */
    size_t n_src;
    const struct dg_search_opts *opts; /* checked by dg_search_opts_check */
    const struct dg_decode_events *events;
    void *ctx;
    bool is_urgent; /* somebody waits for its first token: it goes before others' next ones */
    const struct dg_read *read; /* networks that read texts: what is wanted; `opts` counts for
                                   nothing */
};

struct dg_helpers;
struct dg_decoder;

/* `net` is borrowed and must outlive the decoder. */
enum dg_err dg_decoder_new(struct dg_decoder **decoder, const struct dg_net *net,
                           const struct dg_decoder_limits *limits,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_decoder_free(struct dg_decoder *decoder); /* sentences under way end without events */

/* The crew's threads take part in what follows, until it is NULL: see dg_net_state_lend. */
void dg_decoder_lend(struct dg_decoder *decoder, struct dg_helpers *helpers);

/* Bytes that such a decoder takes. */
enum dg_err dg_decoder_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                            size_t *bytes, struct dg_error *error) DG_MUST_CHECK;

/* Refuses, with a sentence, a job that this decoder could never take. */
enum dg_err dg_decoder_check(const struct dg_decoder *decoder, const struct dg_decode_job *job,
                             struct dg_error *error) DG_MUST_CHECK;

/* How many of the first `n` jobs may be added together now. */
size_t dg_decoder_n_fitting(const struct dg_decoder *decoder, const struct dg_decode_job *jobs,
                            size_t n);

/* Encodes `n` sentences as one batch and gives them slots. DG_ERR_BUSY without room; on any
 * failure none was added. `handles[i]` names sentence i for cancel (may be NULL). */
enum dg_err dg_decoder_add(struct dg_decoder *decoder, const struct dg_decode_job *jobs, size_t n,
                           uint32_t *handles, struct dg_error *error) DG_MUST_CHECK;

/* Of a language model's prompts up to `step_prompt` tokens; one token for every live row, up to
 * `step_rows`: beyond that sentences take turns, urgent ones that have shown nothing before the
 * others. A no-op when idle. Returns rows computed, tokens of prompts among them. */
size_t dg_decoder_step(struct dg_decoder *decoder);

/* Ends a sentence (on_done is called, finish CANCELLED): now, or, from inside a callback, at the
 * end of the step under way. False when it has ended already. */
bool dg_decoder_cancel(struct dg_decoder *decoder, uint32_t handle);

size_t dg_decoder_n_sentences(const struct dg_decoder *decoder);
size_t dg_decoder_n_rows(const struct dg_decoder *decoder);

/* Inside on_done of a sentence whose options want alignment: attention of answer `index`'s token
 * `t` over the source, [n_src], averaged over the alignment heads. NULL when none was kept. */
const float *dg_decoder_alignment(const struct dg_decoder *decoder, const struct dg_search *search,
                                  size_t index, size_t t);

#endif
