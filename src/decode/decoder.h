/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Runs many searches over one network; each worker of the scheduler drives one decoder. Input and
 * output are token ids.
 *
 * Sentences are added in batches whenever there is room, also while others are under way. Each step
 * advances every live row of every sentence by one token; when there are many sentences, they take
 * turns. A finished sentence leaves at once and frees its rows. Clients share the steps and the
 * encoding. A client with more or wider searches than another gets no more rows than the other. A
 * client that is ahead of others in rows and source tokens begins no more sentences until they have
 * caught up. A quarter of the room is always left for others.
 *
 *     struct dg_decoder *decoder;
 *     err = dg_decoder_new(&decoder, net, &limits, &error);
 *     while (work) {
 *         if (dg_decoder_n_fitting(decoder, &job, 1) == 1)
 *             err = dg_decoder_add(decoder, &job, 1, &handle, &error);    runs the encoder
 *         dg_decoder_step(decoder);                                     calls the event functions
 *     }
 *     dg_decoder_free(decoder);
 *
 * A network that analyses texts and generates none is driven in the same way; its jobs have a
 * `read` (analyser.h).
 *
 * No bit of a sentence's answer depends on other sentences. Nothing is allocated per token. One
 * thread at a time. */
#ifndef DG_DECODE_DECODER_H
#define DG_DECODE_DECODER_H

#include "base/memory/error.h"
#include "decode/search_opts.h"
#include "decode/analyser.h"
#include "decode/search.h"
#include "model/lexicon.h"
#include "network/net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DG_DECODER_ADD_MAX = 256 }; /* sentences that one dg_decoder_add may bring */

/* Sizes of the pools, all of which are allocated at the start. */
struct dg_decoder_limits {
    size_t sentences; /* the most sentences under way at once */
    size_t rows; /* the most live hypotheses of all sentences at once; at least the widest beam */
    size_t source_max; /* the most tokens of a source, including its end token */
    /* the most tokens of a target, including `lead` (search_opts.h) and the end token */
    size_t target_max;
    size_t prompt_max;   /* source_max of a language model, for the code that opens models; 0:
                            source_max */
    size_t batch_tokens; /* source tokens that one dg_decoder_add may bring; at least source_max */
    size_t step_rows;    /* rows of one step; if there are more, whole sentences take turns; 0: a
                            default */
    size_t step_prompt;  /* prompt tokens (of language models) that one step reads besides its rows;
                            0: a default */
    /* for encoder-only networks: about how many multiplications one step makes; 0: a default */
    uint64_t step_work;
    size_t kv_tokens;  /* cached positions of all sentences; 0: enough for all at full length */
    enum dg_net_kv kv; /* how their keys and values are stored */
    size_t alignment_layer; /* the decoder layer whose attention is kept, from 1; 0: the last */
    size_t alignment_head; /* the head of that layer, from 1; 0: the mean of all heads. If layer and
                              head are 0, the model chooses */
    const struct dg_lexicon *lex; /* the model's shortlist, borrowed; NULL: sentences may use all
                                   * words, unless their options have a list */
    enum dg_net_type compute;     /* tells the code that opens models what to compute in */
    bool whole_vocabulary; /* tells the code that opens models to ignore their shortlists: `lex`
                              stays NULL */
};

/* Events of a sentence. The functions are called only from inside step and cancel. */
struct dg_decode_events {
    /* `n` more tokens of the answer are final, from position `at` on. May be NULL. */
    void (*on_tokens)(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n);
    /* The sentence is finished. The search holds its answers until this function returns; the
     * function may call dg_decoder_alignment. */
    void (*on_done)(void *ctx, const struct dg_search *search);
    /* Called instead of the other two for a text that is read: its values are filled in, or `err`
     * says why they are not. */
    void (*on_read)(void *ctx, enum dg_err err);
};

/* One sentence. Everything that it points to is borrowed until on_done or on_read. */
struct dg_decode_job {
    const int32_t *src; /* with its end token */
    size_t n_src;
    const struct dg_search_opts *opts; /* checked by dg_search_opts_check */
    const struct dg_decode_events *events;
    void *ctx;
    /* a user waits for its first token, which goes before the next tokens of other sentences */
    bool is_urgent;
    const struct dg_analysis *read; /* what to read from the text, for networks that read; `opts` is
                                   ignored then */
    uint64_t client; /* The client of the job. Clients share the steps; 0: no particular client,
                        which may use all the room. */
};

struct dg_helpers;
struct dg_decoder;

/* `net` is borrowed and must outlive the decoder. */
enum dg_err dg_decoder_new(struct dg_decoder **decoder, const struct dg_net *net,
                           const struct dg_decoder_limits *limits,
                           struct dg_error *error) DG_MUST_CHECK;
void dg_decoder_free(struct dg_decoder *decoder); /* sentences under way get no events */

/* Lets the helpers take part in all later steps, until it is called with NULL: see
 * dg_net_state_lend. */
void dg_decoder_lend(struct dg_decoder *decoder, struct dg_helpers *helpers);

/* Computes the bytes of memory that such a decoder takes. */
enum dg_err dg_decoder_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                            size_t *bytes, struct dg_error *error) DG_MUST_CHECK;

/* Refuses, with a sentence, a job that this decoder could never take. */
enum dg_err dg_decoder_check(const struct dg_decoder *decoder, const struct dg_decode_job *job,
                             struct dg_error *error) DG_MUST_CHECK;

/* Returns the bytes of the caches that a job takes at most; 0: the network reads only. */
size_t dg_decoder_cache_bytes(const struct dg_decoder *decoder, const struct dg_decode_job *job);

/* Returns how many of the first `n` jobs may be added together now. */
size_t dg_decoder_n_fitting(const struct dg_decoder *decoder, const struct dg_decode_job *jobs,
                            size_t n);

/* Returns whether jobs[n] cannot be added with the jobs before it because its client already has
 * its share. Jobs of other clients may fit then. */
bool dg_decoder_keeps_out(const struct dg_decoder *decoder, const struct dg_decode_job *jobs,
                          size_t n);

/* Encodes `n` sentences as one batch and gives them slots. DG_ERR_BUSY: there is no room. On any
 * failure no sentence is added. `handles[i]` identifies sentence i for cancel; `handles` may be
 * NULL. */
enum dg_err dg_decoder_add(struct dg_decoder *decoder, const struct dg_decode_job *jobs, size_t n,
                           uint32_t *handles, struct dg_error *error) DG_MUST_CHECK;

/* Reads up to `step_prompt` tokens of language models' prompts, and advances up to `step_rows` live
 * rows by one token each. When there are more rows, sentences take turns, and urgent ones that have
 * shown nothing go first. Does nothing when no sentence is under way. Returns the number of rows
 * computed, prompt tokens included. */
size_t dg_decoder_step(struct dg_decoder *decoder);

/* Ends a sentence, with on_done and finish CANCELLED: at once or, from inside a callback, at the
 * end of the present step. Returns false when the sentence has ended already. */
bool dg_decoder_cancel(struct dg_decoder *decoder, uint32_t handle);

size_t dg_decoder_n_sentences(const struct dg_decoder *decoder);

/* Returns, for on_done of a sentence with want_alignment, the attention [n_src] of token `t` of
 * answer `index` over the source, averaged over the alignment heads. NULL when none was kept. */
const float *dg_decoder_alignment(const struct dg_decoder *decoder, const struct dg_search *search,
                                  size_t index, size_t t);

#endif
