/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The inside of bulk jobs, shared by bulk.c (the folder: jobs come, are found and go), bulk_meta.c
 * (what is written down of them), bulk_run.c (lines on their way) and bulk_read.c (results). */
#ifndef DG_API_JOBS_BULK_INT_H
#define DG_API_JOBS_BULK_INT_H

#include "api/http/documents.h"
#include "api/jobs/bulk.h"
#include "api/v1/job.h"
#include "base/memory/clock.h"

enum { DG_BULK_CHUNK = 256 * 1024, DG_BULK_META_MAX = 128 * 1024 };

/* In hexadecimal: the hash of the idempotency key, and the hash of what was sent with it. */
enum { DG_BULK_ONCE = 64 };

struct dg_bulk {
    struct dg_bulk_opts opts;
    struct dg_engine *engine;
    struct dg_jobs *engine_jobs; /* where dg_job_new links the jobs that it makes */
    struct dg_log *log;
    struct dg_offload *files; /* one thread, so that its tasks stay in order */
    struct dg_clock clock;
    const struct dg_glossaries *glossaries; /* glossaries that lines may name */
    int lock_fd;
    struct dg_shared_jobs *shared; /* NULL: the jobs belong to this server alone (shared_jobs.h) */
    bool is_closing;
    struct dg_list jobs;   /* list of struct dg_bulk_job, oldest first */
    struct dg_list coming; /* jobs whose files are being written; they are counted, but cannot be
                              seen yet */
    size_t n_jobs;
    uint64_t n_lines, n_failed; /* lines done since the start */
    struct dg_list watches;     /* list of struct dg_bulk_watch */
    /* a job has ended or was removed, or a watch was added, since watches were last told */
    bool has_news;
    dg_bulk_bill_fn on_bill; /* NULL: nobody is told */
    void *bill_ctx;
    size_t n_large; /* lines longer than opts.line_max under way */
};

/* A line on its way to the result. */
struct dg_bulk_line {
    struct dg_list link;
    struct dg_bulk_job *job;
    struct dg_job *work;  /* NULL when the line is answered, or its work was dropped */
    size_t number, bytes; /* the line's number, from 1, and its bytes in the input */
    size_t covered;       /* of these bytes, those whose sentences are translated */
    uint64_t next_at;     /* where the input goes on after the line */
    bool is_refused;      /* the line is too long: its rest is thrown away first */
    bool is_answered, has_failed;
    bool is_large;        /* it is longer than opts.line_max */
    bool has_own_model;   /* the line names another model, or other languages, than the job does */
    struct dg_buf answer; /* without a newline */
};

/* A task of the files' thread for a job; one of a kind at a time. */
struct dg_bulk_read_task {
    struct dg_offload_task task;
    struct dg_bulk_job *job;
    char *bytes; /* owned; [DG_BULK_CHUNK] */
    size_t n;
    uint64_t at;
    enum dg_err err;
    struct dg_error error;
    bool is_busy;
};

struct dg_bulk_write_task {
    struct dg_offload_task task;
    struct dg_bulk_job *job;
    struct dg_buf lines;
    size_t n_lines, n_failed;
    bool is_last;
    enum dg_err err;
    struct dg_error error;
    bool is_busy;
};

/* What keeps a job from continuing. It tries again once a second, until lines of it are written. */
enum dg_bulk_wait { DG_BULK_NO_WAIT, DG_BULK_WAITS_FOR_MODEL, DG_BULK_WAITS_FOR_SPACE };

struct dg_bulk_job {
    struct dg_list link;
    struct dg_bulk *bulk; /* NULL once the bulk jobs are closed */
    char id[DG_BULK_ID_LEN + 1];
    char owner[DG_BULK_OWNER + 1];
    char address[DG_BULK_OWNER + 1]; /* the address that the job came from, if it has no owner */
    uint64_t client;                 /* the client who sent it; 0: not known */
    char in_path[DG_BULK_PATH_MAX], out_path[DG_BULK_PATH_MAX], meta_path[DG_BULK_PATH_MAX];
    char document_path[DG_BULK_PATH_MAX];
    char document_name[DG_DOCUMENT_NAME + 1]; /* "": its lines do not come from a document */
    char document_columns[DG_DOCUMENT_COLUMNS + 1], document_output[DG_DOCUMENT_OUTPUT + 1];
    uint64_t document_bytes;
    enum dg_bulk_api api;
    char document_key[DG_BULK_KEY + 1]; /* the hash of the key that opens it; "": none does */
    uint64_t n_characters;
    struct dg_bulk_bill bill;
    bool is_billed;      /* on_bill was called for it */
    uint64_t fetched_ns; /* when this server gave out a document that is fetched once; 0: not yet */
    enum dg_bulk_format format;
    enum dg_bulk_state state;
    struct dg_arena arena; /* holds what follows */
    struct dg_span options_json;
    struct dg_translate_options options; /* the options, read */
    uint64_t created_s, finished_s;
    /* How long ago the job ended, measured when it ended or was read; and the time of that
     * measurement by the monotonic clock, since the wall clock may jump. */
    uint64_t age_s, seen_ns;
    size_t n_lines, n_done, n_failed; /* lines whose answers are in the result, on disk */
    uint64_t in_bytes, out_bytes;
    enum dg_err err; /* why the job failed */
    struct dg_error error;
    uint64_t share; /* bytes that its client could have when the job came; while it runs, other
                       clients do not lower that */
    size_t n_held;  /* tasks and readers that still need the job */
    bool is_removed;
    char once[DG_BULK_ONCE + 1]; /* "": it was sent without an idempotency key */

    /* For shared jobs. */
    uint64_t version; /* the version of its row; 0: there is no row yet */
    unsigned n_parts;
    bool is_part;              /* the job is a part of another job */
    struct dg_bulk_part *part; /* for a part: what is known of it; NULL once it was given up */
    uint64_t in_end;           /* where the input ends for this part; UINT64_MAX: at its end */

    /* While the job runs. */
    int in_fd, out_fd;
    uint64_t in_at; /* the input is read up to here */
    bool in_ended;
    struct dg_buf input;     /* bytes that were read, but whose lines have not begun */
    bool is_skipping;        /* the rest of a line that was too long is being skipped */
    size_t n_begun;          /* lines begun */
    size_t n_gathered;       /* lines written, or handed over to be written */
    uint64_t gathered_at;    /* where the input goes on after these lines */
    bool gathered_cut;       /* the input goes on there with the rest of a line that was too long */
    uint64_t written_at;     /* like gathered_at and gathered_cut, but of what is written */
    uint64_t run_at, run_ns; /* written_at and the time when the job began to run in this process */
    bool written_cut;
    enum dg_bulk_wait waits_for;
    size_t lacks; /* the job waits, without lines, until its result may grow by this many bytes */
    size_t n_rewinds;
    unsigned n_short;     /* how often lines got no memory since one was last written */
    struct dg_list lines; /* list of struct dg_bulk_line, in order */
    size_t n_open, open_bytes;
    size_t held; /* bytes taken from the buffers for what was read and not yet written */
    struct dg_bulk_read_task reading;
    struct dg_bulk_write_task writing;
};

/* Returns the bytes that its files take now. */
static inline uint64_t dg_bulk_bytes(const struct dg_bulk_job *job)
{
    return job->in_bytes + job->out_bytes + job->document_bytes;
}

/* Returns the most bytes of a line: of a document whose text cannot be divided, all of its text. */
static inline uint64_t dg_bulk_line_max(const struct dg_bulk_job *job)
{
    const uint64_t usual = job->bulk->opts.line_max;
    return *job->document_name && job->in_bytes > usual ? job->in_bytes : usual;
}

static inline bool dg_bulk_is_over(const struct dg_bulk_job *job)
{
    return job->state >= DG_BULK_DONE;
}

extern const char *const dg_bulk_state_words[]; /* by enum dg_bulk_state; ended by NULL */

/* ID.json (bulk_meta.c): one appends it to a buffer; one reads that of a job whose paths are known.
 * Any thread. */
enum dg_err dg_bulk_put_meta(const struct dg_bulk_job *job, struct dg_buf *buf) DG_MUST_CHECK;
enum dg_err dg_bulk_read_meta(struct dg_bulk_job *job, struct dg_error *error) DG_MUST_CHECK;

/* Reads what was asked of a new job: its options, which its lines begin with, and the models
 * that its owner may use. */
enum dg_err dg_bulk_read_options(struct dg_bulk_job *job, struct dg_span options_json,
                                 struct dg_error *error) DG_MUST_CHECK;
enum dg_err dg_bulk_own_models(struct dg_bulk_job *job, const char *const *names,
                               size_t n) DG_MUST_CHECK;

/* Makes a job whose id and paths are known, and links it after the others. */
struct dg_bulk_job *dg_bulk_job_new(struct dg_bulk *bulk, const char *id);
void dg_bulk_link(struct dg_bulk_job *job);

/* Has ID.json written, at some later time. */
void dg_bulk_save(struct dg_bulk_job *job);

/* Reads the text of an ID.json: all of it if the job is new, else only what changes with time. */
enum dg_err dg_bulk_read_row(struct dg_bulk_job *job, struct dg_span text, bool is_new,
                             struct dg_error *error) DG_MUST_CHECK;

/* Returns whether a waiting job may try to continue: its model is served again, or there is room
 * for what it had to write. */
bool dg_bulk_can_try(const struct dg_bulk_job *job);

/* Count one user more, or one less, of the job; the last one frees a removed job. */
void dg_bulk_hold(struct dg_bulk_job *job);
void dg_bulk_release(struct dg_bulk_job *job);

/* Writes down that the job's state has changed for good. */
void dg_bulk_finish(struct dg_bulk_job *job, enum dg_bulk_state state);

/* The job cannot continue now; `error` says why. */
void dg_bulk_wait(struct dg_bulk_job *job, enum dg_bulk_wait waits_for,
                  const struct dg_error *error);

/* The job cannot continue at all. */
void dg_bulk_fail(struct dg_bulk_job *job, enum dg_err err, const struct dg_error *error);

/* Returns the part of its input that is translated, sentence by sentence: from 0 to 1. */
double dg_bulk_progress(const struct dg_bulk_job *job);

/* Continue a running job; stop what it has under way, which remains to be done. */
void dg_bulk_run(struct dg_bulk_job *job);
void dg_bulk_halt(struct dg_bulk_job *job);

/* Return whether the result of a job that is not over may grow by this much now, in addition to
 * what older jobs are expected to write; and whether it ever may. */
bool dg_bulk_may_grow(const struct dg_bulk_job *job, size_t bytes) DG_MUST_CHECK;
bool dg_bulk_may_ever_grow(const struct dg_bulk_job *job, size_t bytes) DG_MUST_CHECK;

#endif
