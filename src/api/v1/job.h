/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A job: one requested translation of one or more texts, in the api. It gives the texts to the
 * engine, a few at a time, writes each finished item as JSON, and reports to its listener.
 *
 *     dg_jobs_init(&jobs, &clock);
 *     err = dg_job_new(engine, &jobs, arena_max, &job);
 *     err = dg_translate_options_read(json, &job->arena, &limits, &failure, &job->options);
 *     err = dg_job_start(job, &listener, owner, &error, &retry_ms);
 *     ... on_delta, on_item, then on_over: dg_job_answer(job, &buf) ...
 *     dg_job_drop(job);                         in on_over, or earlier: cancels what is under way
 *     dg_jobs_turn(&jobs);                      after every dg_engine_poll
 *
 * A job that has begun does not fail because the engine is busy: its next text waits for room, as
 * long as the job's timeout allows, and is offered again in a later turn. Nor does one client's
 * work crowd out that of others: once a client has enough under way to keep all workers busy, its
 * further texts are held back, before they cost anything, and its jobs begin their next texts in
 * turn.
 *
 * The job outlives its listener until the engine has finished with it. One thread: the loop's. */
#ifndef DG_API_V1_JOB_H
#define DG_API_V1_JOB_H

#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/clock.h"
#include "base/memory/hash.h"
#include "base/memory/list.h"
#include "base/memory/map.h"
#include "base/memory/turn.h"

struct dg_job;

/* One client's work under way at one priority, estimated: tokens times hypotheses. */
struct dg_job_client {
    struct {
        uint64_t id, priority;
    } key;
    size_t n_jobs;       /* jobs of the client, which lives as long as they do */
    uint64_t work;       /* estimated work of the texts that the engine has */
    struct dg_list held; /* its jobs whose next text is held back, in the order of their turns */
    size_t n_held_bytes; /* bytes of their texts */
    struct dg_jobs *jobs;
    struct dg_turn_work begins; /* begins a held job, while there are some and room for more work */
};

/* All jobs of an api. */
struct dg_jobs {
    struct dg_list all;     /* jobs that the engine has not finished */
    struct dg_list waiting; /* jobs that wait for room in the engine, in the order in which they
                               were refused */
    struct dg_turn *turn;   /* of the engine that has the jobs; NULL: there was none yet */
    struct dg_map clients;  /* owned struct dg_job_client, by key; client 0 has none */
    const struct dg_clock *clock;  /* borrowed */
    struct dg_hash_key client_key; /* random; used by dg_jobs_client */
    uint64_t client_max; /* the most work of one client; 0: as much as fills the engine's workers */
    uint64_t late_ns;    /* no waiting job runs out of time before this */
    uint64_t again_ns; /* When to look at `waiting` again. Offering a long text takes time, and many
                          turns come while the engine is full. */
};

struct dg_job_item {
    struct dg_job *job;
    size_t index;
    uint64_t waited_ns;       /* time spent waiting for room in the engine */
    uint64_t id;              /* the engine's id, while under way */
    uint64_t work, byte_work; /* estimated: the work that the engine has not delivered yet, which
                                 counts for its client; and the work for each byte of its text */
    bool is_open, is_done;
    struct dg_buf json; /* the finished item as JSON, without its text and its sentences
                           (dg_job_members) */
    /* the text, escaped only when the answer is written, since it can be long */
    struct dg_buf text;
    struct dg_buf sentences; /* its sentences as JSON, in the order of their arrival */
    size_t sentences_at;     /* where the sentences belong in `json`; 0: nowhere */
    struct dg_buf alternatives[DG_BEAM_MAX]; /* texts of the alternatives, from 1 on; empty if there
                                                is none */
    size_t source_at;   /* bytes of the source that the alternatives have covered */
    struct dg_buf ends; /* array of size_t: where in `sentences` the quality of each belongs, if the
                           client wants it */
    struct dg_buf qualities; /* array of float: the quality of each sentence */
};

struct dg_job_listener {
    /* Called before a text is given to the engine, to set options for this text alone in
     * `request`, which is a copy. */
    void (*on_begin)(void *owner, struct dg_job_item *item, struct dg_engine_request *request);
    void (*on_delta)(void *owner, struct dg_job_item *item, struct dg_span text);
    void (*on_sentence)(void *owner, struct dg_job_item *item,
                        const struct dg_engine_sentence *sentence);
    /* Called when a text is done. With this callback no JSON is written for the text.
     * DG_ERR_NOMEM fails the job. */
    enum dg_err (*on_item)(void *owner, struct dg_job_item *item,
                           const struct dg_engine_result *result);
    /* all items are done, or the job has failed */
    void (*on_over)(void *owner, struct dg_job *job);
};

struct dg_job {
    struct dg_list link;
    struct dg_engine *engine;
    struct dg_arena arena;
    struct dg_translate_options options;
    const struct dg_job_listener *listener; /* NULL after the job was dropped */
    void *owner;
    struct dg_job_item *items; /* [options.n_texts], in the arena */
    size_t n_begun, n_open, n_done;
    bool is_plain; /* the `json` of an item is only its text; set by the owner before the start */
    bool is_over;  /* on_over was called */
    bool is_pumping;
    bool may_wait; /* Even the first text may wait for room, since no client could be asked to come
                      again. Set by the owner. */
    struct dg_jobs *jobs;
    struct dg_job_client *client; /* NULL: the job counts for no client, and nothing is held back */
    bool is_held;                 /* in client->held */
    struct dg_list waits;         /* linked in jobs->waiting, or in client->held */
    bool has_next; /* a text waits because the engine had no room, or because it is held back */
    struct dg_engine_request next; /* the request for that text */
    uint64_t next_ns;              /* when that text was first offered */
    enum dg_err err;               /* the first failure */
    struct dg_error error;
    char model[128]; /* the name of the model that was used */
    size_t n_tokens_in, n_tokens_out, n_characters, n_sentences;
    size_t n_shown; /* characters of the sentences of which anything was shown */
    uint64_t queue_ns, first_ns, total_ns;                /* the longest times among all items */
    struct dg_glossary *glossaries[DG_ENGINE_GLOSSARIES]; /* [n_glossaries] a reference each
                                                             (glossaries.h) */
    size_t n_glossaries;
};

void dg_jobs_init(struct dg_jobs *jobs, const struct dg_clock *clock);

/* Returns the number that stands for a client, known by a key or an address, in the engine's
 * requests (`client`): never 0. */
uint64_t dg_jobs_client(const struct dg_jobs *jobs, bool is_key, struct dg_span id);

/* Offers the texts that wait for room again, and ends jobs whose time is over. */
void dg_jobs_turn(struct dg_jobs *jobs);

/* Cancels all jobs, because the process ends: also those without a listener. The engine still
 * reports their ends. */
void dg_jobs_stop(struct dg_jobs *jobs);

/* Frees jobs whose engine no longer exists and will not report their end. */
void dg_jobs_deinit(struct dg_jobs *jobs);

/* The job is in `jobs` as long as it lives. DG_ERR_NOMEM. */
enum dg_err dg_job_new(struct dg_engine *engine, struct dg_jobs *jobs, size_t arena_max,
                       struct dg_job **job) DG_MUST_CHECK;

/* On failure nothing is under way; the caller still drops the job. */
enum dg_err dg_job_start(struct dg_job *job, const struct dg_job_listener *listener, void *owner,
                         struct dg_error *error, uint64_t *retry_ms) DG_MUST_CHECK;

/* Cancels what is under way, from inside on_delta and on_sentence too; on_over follows. */
void dg_job_cancel(struct dg_job *job);

/* Cancels what is under way and frees the job, at once or when the engine has delivered. NULL is
 * fine. */
void dg_job_drop(struct dg_job *job);

/* Puts the member "warning" into an open object: the text is in `source`, as far as that could be
 * detected, from which no model leads to `target` (NULL: to any language). */
void dg_job_put_foreign(struct dg_json_out *out, const char *source, float confidence,
                        const char *target);

/* Writes the members that follow the items, without braces:
 * "model":...,"usage":{...},"timing":{...}. */
enum dg_err dg_job_totals(const struct dg_job *job, struct dg_buf *buf) DG_MUST_CHECK;

/* Returns the approximate size of its items in bytes. */
size_t dg_job_size(const struct dg_job *job);

/* Writes the members of a finished item, without braces. Any thread. */
enum dg_err dg_job_members(const struct dg_job_item *item, struct dg_buf *buf) DG_MUST_CHECK;

/* Writes the whole answer of a job that is over and did not fail. Any thread. */
enum dg_err dg_job_answer(const struct dg_job *job, struct dg_buf *buf) DG_MUST_CHECK;

#endif
