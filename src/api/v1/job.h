/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A job: one asked-for translation of one or more texts, from the api's side. It gives the texts to
 * the engine, a few at a time, writes the item of each as JSON when it is done, and tells its
 * listener.
 *
 *     dg_jobs_init(&jobs, &clock);
 *     err = dg_job_new(engine, &jobs, arena_max, &job);
 *     err = dg_translate_options_read(json, dg_job_arena(job), ..., &job->ask);
 *     err = dg_job_start(job, &listener, owner, &error, &retry_ms);
 *     ... on_delta, on_item, on_over; in on_over: dg_job_answer(job, &buf), then dg_job_drop(job)
 * ... dg_job_drop(job);                         at any time: cancels what is under way
 *     dg_jobs_turn(&jobs);                      after every dg_engine_poll
 *
 * A job that has begun does not fail because others are busy: its next text waits for room, as long
 * as its own time allows, and is offered again in a later turn.
 *
 * The job outlives its listener until the engine has let go of it. One thread: the loop's. */
#ifndef DG_API_V1_JOB_H
#define DG_API_V1_JOB_H

#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/clock.h"
#include "base/memory/hash.h"
#include "base/memory/list.h"

struct dg_job;

/* All jobs of an api. */
struct dg_jobs {
    struct dg_list all;     /* that the engine has not let go of */
    struct dg_list waiting; /* for room in the engine, in the order in which they were refused it */
    const struct dg_clock *clock;  /* borrowed */
    struct dg_hash_key client_key; /* random; of dg_jobs_client */
    uint64_t again_ns; /* when the line is looked at again: to offer a long text takes time, and
                          many turns come while all is full */
};

struct dg_job_item {
    struct dg_job *job;
    size_t index;
    uint64_t waited_ns; /* for room in the engine */
    uint64_t id;        /* the engine's, while under way */
    bool is_open, is_done;
    struct dg_buf json;      /* the finished item, but for its text and its sentences: see
                                dg_job_members; */
    struct dg_buf text;      /* which becomes JSON when the answer does, since that can be much; */
    struct dg_buf sentences; /* JSON of its sentences, as they come, */
    size_t sentences_at;     /* and where in `json` they belong; 0: nowhere */
    struct dg_buf alternatives[DG_BEAM_MAX]; /* texts, from 1 on; empty when they are no others */
    size_t source_at;        /* bytes of the source that alternatives have covered */
    struct dg_buf ends;      /* of size_t: where in `sentences` the quality of each goes, if that is
                                asked for, */
    struct dg_buf qualities; /* of float: which that is */
};

struct dg_job_listener {
    /* A text is about to be given to the engine: its own wishes go into `request`, a copy for this
     * text alone. */
    void (*on_begin)(void *owner, struct dg_job_item *item, struct dg_engine_request *request);
    void (*on_delta)(void *owner, struct dg_job_item *item, struct dg_span text);
    void (*on_sentence)(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence);
    /* A text is done. Whoever listens to this gets no JSON of it. DG_ERR_NOMEM fails the job. */
    enum dg_err (*on_item)(void *owner, struct dg_job_item *item,
                           const struct dg_engine_result *result);
    void (*on_over)(void *owner, struct dg_job *job); /* all items are done, or the job failed */
};

struct dg_job {
    struct dg_list link;
    struct dg_engine *engine;
    struct dg_arena arena;
    struct dg_translate_options options;
    const struct dg_job_listener *listener; /* NULL after drop */
    void *owner;
    struct dg_job_item *items; /* [ask.n_texts], in the arena */
    size_t n_begun, n_open, n_done;
    bool is_plain; /* an item's `json` is its text alone; the owner's to set before the start */
    bool is_over;  /* on_over was called */
    bool is_pumping;
    bool may_wait; /* for room from the very start, since nobody could be told to come again; the
                      owner's to set */
    struct dg_jobs *jobs;
    struct dg_list waits;          /* in jobs->waiting */
    bool has_next;                 /* a text was offered to the engine, and not taken: */
    struct dg_engine_request next; /* what is to be done with it, */
    uint64_t next_ns;              /* and when it was offered first */
    enum dg_err err;               /* the first failure */
    struct dg_error error;
    char model[128]; /* the one that was used */
    size_t n_tokens_in, n_tokens_out, n_characters, n_sentences;
    size_t n_shown; /* characters of the texts, in sentences of which anything was shown */
    uint64_t queue_ns, first_ns, total_ns;                /* the longest of all items */
    struct dg_glossary *glossaries[DG_ENGINE_GLOSSARIES]; /* [n_glossaries] a reference each
                                                             (glossaries.h) */
    size_t n_glossaries;
};

void dg_jobs_init(struct dg_jobs *jobs, const struct dg_clock *clock);

/* The number by which the engine knows a client (`client` of its requests), which a key or an
 * address stands for: never 0. */
uint64_t dg_jobs_client(const struct dg_jobs *jobs, bool is_key, struct dg_span id);

/* Offers what waits for room once more, and ends jobs whose time is over. */
void dg_jobs_turn(struct dg_jobs *jobs);

/* The process ends: what is under way and what waits is cancelled, also what nobody waits for. The
 * engine still tells the ends. */
void dg_jobs_stop(struct dg_jobs *jobs);

/* Frees jobs whose engine is gone and will not tell their end. */
void dg_jobs_deinit(struct dg_jobs *jobs);

/* The job is one of `jobs` as long as it lives. DG_ERR_NOMEM. */
enum dg_err dg_job_new(struct dg_engine *engine, struct dg_jobs *jobs, size_t arena_max,
                       struct dg_job **job) DG_MUST_CHECK;

/* On failure nothing is under way; the job is still to be dropped. */
enum dg_err dg_job_start(struct dg_job *job, const struct dg_job_listener *listener, void *owner,
                         struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* Lets go: cancels what is under way; frees, now or when the engine has delivered. NULL is fine. */
void dg_job_drop(struct dg_job *job);

/* The member "warning" of an open object: the text is in `source`, from which nothing leads to
 * `target` (NULL: to any). */
void dg_job_put_foreign(struct dg_json_out *out, const char *source, const char *target);

/* "model":...,"usage":{...},"timing":{...}: the members that follow the items, without braces. */
enum dg_err dg_job_totals(const struct dg_job *job, struct dg_buf *buf) DG_MUST_CHECK;

/* Its items' bytes, about. */
size_t dg_job_size(const struct dg_job *job);

/* The members of a finished item, without braces. Any thread. */
enum dg_err dg_job_members(const struct dg_job_item *item, struct dg_buf *buf) DG_MUST_CHECK;

/* The whole answer of a job that is over and did not fail. Any thread. */
enum dg_err dg_job_answer(const struct dg_job *job, struct dg_buf *buf) DG_MUST_CHECK;

#endif
