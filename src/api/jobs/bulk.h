/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Bulk jobs: many lines handed over at once, translated when nobody else wants the machine, kept on
 * disk.
 *
 *     err = dg_bulk_open(&bulk, &opts, loop, engine, &jobs, log, &error);      goes on where it was
 *     err = dg_bulk_add(bulk, &order, on_added, owner, &error);
 *     job = dg_bulk_find(bulk, id);  dg_bulk_put_state(job, &json_out);
 *     dg_bulk_turn(bulk);       after every dg_engine_poll: gives the engine more, writes answers
 *     dg_bulk_tick(bulk);       now and then: forgets jobs that are old
 *     dg_bulk_close(bulk);      while the loop still runs; jobs under way go on at the next start
 *
 * A job's lines are given to the engine in order, a window of them at a time, at the lowest
 * priority; their answers are appended to the result in order, whole lines at a time. So the number
 * of whole lines in the result is where the job stands, whatever ended the process (bulk_file.h).
 * Another thread reads and writes the files. One thread for everything else: the loop's. */
#ifndef DG_API_JOBS_BULK_H
#define DG_API_JOBS_BULK_H

#include "access/quota.h"
#include "api/jobs/bulk_file.h"
#include "base/json/json_out.h"
#include "base/log/log.h"
#include "base/memory/allowance.h"
#include "base/memory/buf.h"
#include "base/memory/list.h"
#include "engine/engine.h"
#include "net/loop/offload.h"

struct dg_bulk;
struct dg_jobs;
struct dg_bulk_job;
struct dg_document_file;

struct dg_bulk_opts {
    const char *dir;      /* the folder; borrowed; made when it does not exist */
    size_t bytes_max;     /* the most bytes of one upload */
    uint64_t space_max;   /* the most bytes of all files */
    size_t jobs_max;      /* the most jobs that are remembered, including finished ones */
    uint64_t retention_s; /* how long finished jobs are kept */
    size_t line_max;      /* the most bytes of one line */
    /* Borrowed; what jobs hold in memory counts there. NULL: it is not counted. */
    struct dg_allowance *buffers;
    bool is_temporary; /* nothing is kept when it is closed: the folder is removed */
    /* Borrowed. NULL: only this server works on the jobs of the folder. Otherwise all servers
     * that share the folder and this Redis work on them (shared_jobs.h). */
    struct dg_redis *redis;
};

/* The kinds of lines, of the input and of the result: plain text, or JSON objects. */
enum dg_bulk_format { DG_BULK_TEXT, DG_BULK_JSONL };

enum dg_bulk_state {
    DG_BULK_WAITING,
    DG_BULK_RUNNING,
    DG_BULK_DONE,
    DG_BULK_CANCELLED,
    DG_BULK_FAILED
};

/* The API through which a document came. Only this API reports on it and hands it out. */
enum dg_bulk_api { DG_BULK_V1, DG_BULK_DEEPL, DG_BULK_LIBRETRANSLATE };

/* What its owner's key was charged for a job, and where (struct dg_quota_ask); all zeros:
 * nothing. */
struct dg_bulk_bill {
    uint64_t requests, characters;
    uint64_t limits[DG_QUOTA_WINDOWS];
    unsigned month;
    bool is_local;
};

/* A new job as it is handed over. Everything is copied, except the body, which is taken. */
struct dg_bulk_order {
    enum dg_bulk_format format;
    struct dg_span options_json; /* a JSON object with what POST /v1/translate takes, except the
                                    text */
    struct dg_span owner;    /* the owner of the job; "" for none; at most DG_BULK_OWNER bytes */
    struct dg_span address;  /* the address that it came from, if it has no owner; at most
                                DG_BULK_OWNER bytes */
    uint64_t client;         /* the client who sent it (dg_gate_client) */
    const char *const *only; /* [n_only] models that may be used; 0: all */
    size_t n_only;
    struct dg_buf *body;
    struct dg_span once; /* the client's idempotency key; "" for none */
    /* The file whose text the lines are, which is kept with them under its name; NULL: none. It
     * is taken, also on failure. */
    struct dg_document_file *document;
    const char *document_name;
    const char *columns, *output; /* how it is read and written (filter.h); NULL: not said */
    enum dg_bulk_api api;
    /* the hash of the key that opens it, DG_BULK_KEY digits; NULL: its id is enough */
    const char *key;
    uint64_t n_characters; /* code points of the document's text */
    struct dg_bulk_bill bill;
    /* DG_BULK_WAITING: the job is to be done. DG_BULK_DONE: the document stays as it is.
     * DG_BULK_FAILED: the job cannot be done, for this reason. */
    enum dg_bulk_state state;
    const char *reason;
};
enum { DG_BULK_OWNER = 64, DG_BULK_KEY = 32 };

/* DG_ERR_EXISTS: another server uses the folder. `jobs`: those of the api, borrowed. */
enum dg_err dg_bulk_open(struct dg_bulk **bulk, const struct dg_bulk_opts *opts, uv_loop_t *loop,
                         struct dg_engine *engine, struct dg_jobs *jobs, struct dg_log *log,
                         struct dg_error *error) DG_MUST_CHECK;
void dg_bulk_close(struct dg_bulk *bulk); /* NULL is fine */

/* Called once, later, unless dg_bulk_add failed; `job` is NULL when the job could not be written,
 * and `error` says why. If the client has sent the same content under the same idempotency key
 * before, `job` is that earlier job; DG_ERR_EXISTS: it has sent something else under that key. */
typedef void (*dg_bulk_added_fn)(void *owner, struct dg_bulk_job *job, enum dg_err err,
                                 const struct dg_error *error);

/* DG_ERR_LIMIT: there are too many jobs, or too many of this client; DG_ERR_RANGE: their files
 * would take too much space; DG_ERR_BUSY. */
enum dg_err dg_bulk_add(struct dg_bulk *bulk, const struct dg_bulk_order *order,
                        dg_bulk_added_fn on_added, void *owner,
                        struct dg_error *error) DG_MUST_CHECK;

void dg_bulk_turn(struct dg_bulk *bulk);
void dg_bulk_tick(struct dg_bulk *bulk);
/* called once a second, so that waiting jobs may continue */
void dg_bulk_retry(struct dg_bulk *bulk);

/* NULL when there is no such job. */
struct dg_bulk_job *dg_bulk_find(struct dg_bulk *bulk, struct dg_span id);

/* Returns the next job, oldest first. NULL begins the walk, and ends it. */
struct dg_bulk_job *dg_bulk_next(struct dg_bulk *bulk, struct dg_bulk_job *job);

const char *dg_bulk_owner(const struct dg_bulk_job *job);
uint64_t dg_bulk_client(const struct dg_bulk_job *job); /* who sent it; 0: not known */
/* Returns true for a document of another API than ours; its client can ask for it only through that
 * API. */
bool dg_bulk_is_foreign(const struct dg_bulk_job *job);
enum dg_bulk_state dg_bulk_state(const struct dg_bulk_job *job);
enum dg_bulk_format dg_bulk_format(const struct dg_bulk_job *job);

/* Puts the job as a JSON object. */
void dg_bulk_put_state(const struct dg_bulk_job *job, struct dg_json_out *out);

/* Forgets the job and removes its files, some time later. */
void dg_bulk_remove(struct dg_bulk_job *job);

/* Ends a job, whose lines that are done are kept, or removes it with them. `fn` is called once, now
 * or later: when the end is on disk, so that no restart takes it back, or with an error. For a job
 * that servers share, DG_ERR_BUSY: Redis does not answer. */
typedef void (*dg_bulk_ended_fn)(void *ctx, enum dg_err err, int64_t more);
void dg_bulk_end(struct dg_bulk_job *job, bool removes, dg_bulk_ended_fn fn, void *ctx);

/* Notes that a document was fetched that can be fetched only once. It is forgotten at once or,
 * where servers share it and a balancer may repeat the request, after a minute. */
void dg_bulk_fetched(struct dg_bulk *bulk, struct dg_span id);

/* Waits for the end of a job, wherever it is worked on. `fn` is called once, in a turn: with the
 * job when it is over, or with NULL when there is no such job (any more). */
struct dg_bulk_watch {
    struct dg_list link;
    char id[DG_BULK_ID_LEN + 1];
    void (*fn)(struct dg_bulk_watch *watch, struct dg_bulk_job *job);
};
void dg_bulk_watch(struct dg_bulk *bulk, const char *id, struct dg_bulk_watch *watch);
void dg_bulk_unwatch(struct dg_bulk_watch *watch); /* `fn` is not called any more */

bool dg_bulk_is_shared(const struct dg_bulk *bulk);

/* Returns true when a job that this server does not know may exist all the same: servers share
 * their jobs, and Redis has not told this one of the newest. */
bool dg_bulk_may_lack(const struct dg_bulk *bulk);

/* ---- Reading the result ---------------------------------------------------------------------- */

struct dg_bulk_reader;

/* A piece of the result; `n` is 0 at its end. `bytes` is borrowed for the call. */
typedef void (*dg_bulk_piece_fn)(void *owner, struct dg_span piece, enum dg_err err);

/* Opens a reader of the lines that are whole now. DG_ERR_NOMEM. */
enum dg_err dg_bulk_reader_open(struct dg_bulk_reader **reader, struct dg_bulk_job *job,
                                dg_bulk_piece_fn on_piece, void *owner) DG_MUST_CHECK;

/* Asks for the next piece; must not be called while a piece is under way. */
enum dg_err dg_bulk_reader_read(struct dg_bulk_reader *reader) DG_MUST_CHECK;

/* May be called at any time, also from on_piece; nothing is reported after it. NULL is fine. */
void dg_bulk_reader_close(struct dg_bulk_reader *reader);

/* Figures for operators. */
struct dg_bulk_stats {
    size_t n_waiting, n_running, n_over;
    uint64_t n_lines, n_failed; /* lines done since the start */
    uint64_t bytes;             /* bytes of all files */
};
void dg_bulk_read_stats(const struct dg_bulk *bulk, struct dg_bulk_stats *stats);

/* Called in a turn for each job that is over and has a bill. Of jobs that servers share, once Redis
 * answers: on every server that knows the job, and again after a restart. Of others, not again. */
typedef void (*dg_bulk_bill_fn)(void *ctx, const struct dg_bulk_job *job);
void dg_bulk_on_bill(struct dg_bulk *bulk, dg_bulk_bill_fn fn, void *ctx);

/* Sets the glossaries that lines may name; borrowed. Call it after open and before the first
 * turn. */
struct dg_glossaries;
void dg_bulk_set_glossaries(struct dg_bulk *bulk, const struct dg_glossaries *glossaries);

#endif
