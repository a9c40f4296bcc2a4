/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A generation in the api: reads the request from JSON, runs it, and writes its answer as JSON.
 * POST /v1/generate and the stream's "generate" message both use it.
 *
 *     err = dg_generation_job_new(api, body_len, &job);
 *     err = dg_generation_job_read(job, json, &failure);
 *     struct dg_gate_wish wish = dg_generation_job_wish(job);          for the gate
 *     err = dg_generation_job_start(job, &listener, owner, &error, &retry_ms);
 *     ... on_delta, then on_over: job->answer or dg_generation_job_failure ...
 *     dg_generation_job_drop(job);             in on_over, or earlier: cancels what is under way
 *
 * The job outlives its listener until the engine has finished with it. One thread: the loop's. */
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
    /* The job is done, or has failed with generation->err. */
    void (*on_over)(void *owner, struct dg_generation_job *generation);
};

struct dg_generation_job {
    struct dg_list link; /* linked in api->generations */
    struct dg_engine *engine;
    struct dg_arena arena;
    struct dg_generate options;
    struct dg_engine_request gated; /* what the gate decided about models and priority */
    struct dg_span api_key;
    struct dg_span last_event_id; /* of a stream that broke off; ptr NULL: none */
    bool has_priority, stream;
    /* the most characters of a prompt; 0: no limit */
    size_t characters_max;
    size_t beam_max;                                   /* 0: no further limit */
    size_t n_characters;                               /* characters of the prompt */
    const struct dg_generation_job_listener *listener; /* NULL after the job was dropped */
    void *owner;
    uint64_t id;
    bool is_open;
    enum dg_err err;
    struct dg_error error;
    struct dg_buf answer; /* the answer as JSON */
    size_t n_tokens_in, n_tokens_out;
    size_t n_shown; /* characters of the prompt to charge for: all of them once anything was shown,
                       else 0 */
    uint64_t queue_ns, total_ns;
};

/* `body_len` bounds its memory. */
enum dg_err dg_generation_job_new(struct dg_api *api, size_t body_len,
                                  struct dg_generation_job **generation) DG_MUST_CHECK;

/* The failure's strings live in the arena or are constants. */
enum dg_err dg_generation_job_read(struct dg_generation_job *generation, const struct dg_json *json,
                                   struct dg_failure *failure) DG_MUST_CHECK;

struct dg_gate_wish dg_generation_job_wish(struct dg_generation_job *generation);

/* On failure nothing is under way; the caller still drops the job. */
enum dg_err dg_generation_job_start(struct dg_generation_job *generation,
                                    const struct dg_generation_job_listener *listener, void *owner,
                                    struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* Returns the failure of a job that is over and failed. */
struct dg_failure dg_generation_job_failure(struct dg_generation_job *generation);

void dg_generation_job_drop(struct dg_generation_job *generation); /* NULL is fine */

/* Frees the jobs whose engine no longer exists and will not report their end. */
void dg_generation_job_free_all(struct dg_list *all);

#endif
