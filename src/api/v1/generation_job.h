/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A generation from the api's side: what was asked for, read from JSON; under way; and its answer
 * as JSON. POST /v1/generate and the stream's "generate" message use it alike.
 *
 *     err = dg_generation_job_new(api, body_len, &gen);
 *     err = dg_generation_job_read(gen, json, &failure);
 *     ... through the gate with dg_generation_job_wish(gen) ...
 *     err = dg_generation_job_start(gen, &listener, owner, &error, &retry_ms);
 *     ... on_delta, on_over; in on_over gen->answer or dg_generation_job_failure, then
 * dg_generation_job_drop ... dg_generation_job_drop(gen);                       at any time:
 * cancels what is under way
 *
 * It outlives its listener until the engine has let go of it. One thread: the loop's. */
#ifndef DG_API_V1_GENERATION_JOB_H
#define DG_API_V1_GENERATION_JOB_H

#include "api/http/call.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/memory/list.h"
#include "engine/generate/generate.h"

struct dg_generation_job;

struct dg_generation_job_listener {
    void (*on_delta)(void *owner, struct dg_span text);
    void (*on_over)(void *owner, struct dg_generation_job *generation); /* it is done, or failed:
                                                                           gen->err */
};

struct dg_generation_job {
    struct dg_list link; /* in api->generations */
    struct dg_engine *engine;
    struct dg_arena arena;
    struct dg_generate options;
    struct dg_engine_request gated; /* what the gate says about models and priority */
    struct dg_span api_key;
    bool has_priority, stream;
    size_t characters_max;                             /* of a prompt; 0: no limit */
    size_t beam_max;                                   /* 0: as wide as there can be */
    size_t n_characters;                               /* it has so many */
    const struct dg_generation_job_listener *listener; /* NULL after drop */
    void *owner;
    uint64_t id;
    bool is_open;
    enum dg_err err;
    struct dg_error error;
    struct dg_buf answer; /* JSON */
    size_t n_tokens_in, n_tokens_out;
    size_t n_shown; /* characters of the prompt that are worked for and shown: all, once anything
                       was */
    uint64_t queue_ns, total_ns;
};

/* `body_len` bounds its memory. */
enum dg_err dg_generation_job_new(struct dg_api *api, size_t body_len,
                                  struct dg_generation_job **generation) DG_MUST_CHECK;

/* The failure's strings live in the arena or forever. */
enum dg_err dg_generation_job_read(struct dg_generation_job *generation, const struct dg_json *json,
                                   struct dg_failure *failure) DG_MUST_CHECK;

struct dg_gate_wish dg_generation_job_wish(struct dg_generation_job *generation);

/* On failure nothing is under way; it is still to be dropped. */
enum dg_err dg_generation_job_start(struct dg_generation_job *generation,
                                    const struct dg_generation_job_listener *listener, void *owner,
                                    struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

struct dg_failure dg_generation_job_failure(struct dg_generation_job *generation); /* of one that is
                                                                                      over and
                                                                                      failed */

void dg_generation_job_drop(struct dg_generation_job *generation); /* NULL is fine */

/* Frees those whose engine is gone and will not tell their end. */
void dg_generation_job_free_all(struct dg_list *all);

#endif
