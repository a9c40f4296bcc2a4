/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The folder of bulk jobs: what it holds at the start, and how jobs come, wait for their turn,
 * end and are removed. Only some jobs have lines with the engine at once, oldest first; the others
 * wait. Their descriptions on disk belong to bulk_meta.c, their lines to bulk_run.c,
 * their results to bulk_read.c. */
#include "api/jobs/bulk.h"
#include "api/http/client_share.h"
#include "api/jobs/bulk_int.h"
#include "api/jobs/bulk_scratch.h"
#include "api/jobs/shared_jobs.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TASKS_MAX = 4096,
    FILE_MODE = 0600,
    LITTER_S = 3600,
    DAY_S = 86400,
    BILL_S = DAY_S,    /* as long as the shared store knows of a refund that it was made */
    DOCUMENT_S = 3600, /* how long documents of other APIs are kept */
    FETCHED_S = 60,
};

/* How many have lines with the engine at once: jobs, and documents, which overtake jobs. */
static const size_t running_max[] = {4, 16};

static uint64_t now_s(const struct dg_bulk *bulk)
{
    return dg_clock_wall(&bulk->clock) / DG_CLOCK_S;
}

/* ---- A job's memory -------------------------------------------------------------------------- */

struct dg_bulk_job *dg_bulk_job_new(struct dg_bulk *bulk, const char *id)
{
    struct dg_bulk_job *job = dg_try_calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->bulk = bulk;
    memcpy(job->id, id, DG_BULK_ID_LEN);
    job->in_fd = job->out_fd = -1;
    job->in_end = UINT64_MAX;
    dg_list_init(&job->link);
    dg_list_init(&job->lines);
    dg_arena_init(&job->arena, 1 << 20);
    dg_buf_init(&job->input, bulk->opts.line_max + 2 * DG_BULK_CHUNK);
    if (dg_bulk_path(job->in_path, bulk->opts.dir, job->id, "in") ||
        dg_bulk_path(job->out_path, bulk->opts.dir, job->id, "out") ||
        dg_bulk_path(job->meta_path, bulk->opts.dir, job->id, "json") ||
        dg_bulk_path(job->document_path, bulk->opts.dir, job->id, "file")) {
        dg_arena_deinit(&job->arena);
        dg_free(job);
        return NULL; /* the folder's path was short enough when it was opened */
    }
    return job;
}

static void free_job(struct dg_bulk_job *job)
{
    dg_bulk_halt(job);
    dg_list_unlink(&job->link);
    dg_arena_deinit(&job->arena);
    dg_free(job);
}

void dg_bulk_hold(struct dg_bulk_job *job)
{
    job->n_held++;
}

void dg_bulk_release(struct dg_bulk_job *job)
{
    if (--job->n_held == 0 && job->is_removed)
        free_job(job);
}

void dg_bulk_link(struct dg_bulk_job *job)
{
    dg_list_link_last(&job->bulk->jobs, &job->link);
    job->bulk->n_jobs++;
}

/* ---- What is written down of it -------------------------------------------------------------- */

/* A task for the files' thread that does not belong to a job. */
struct chore {
    struct dg_offload_task task;
    struct dg_bulk_job *job; /* counted as a user of the job */
    struct dg_buf meta;
    struct dg_buf body;
    struct dg_buf parts;               /* the parts of a shared job */
    struct dg_buf once;                /* the client's idempotency key */
    size_t held;                       /* bytes taken from the buffers for the body */
    struct dg_document_file *document; /* owned; NULL: none */
    enum dg_err err;
    struct dg_error error;
    dg_bulk_added_fn on_added;
    dg_bulk_ended_fn on_ended; /* NULL: nobody waits for the end */
    void *owner;
};

static struct chore *new_chore(struct dg_bulk_job *job)
{
    struct chore *chore = dg_try_calloc(1, sizeof *chore);
    if (!chore)
        return NULL;
    chore->job = job;
    dg_buf_init(&chore->meta, DG_BULK_META_MAX);
    dg_buf_init(&chore->body, SIZE_MAX / 2);
    dg_buf_init(&chore->parts, 4 << 20);
    dg_buf_init(&chore->once, 64 * 1024);
    dg_bulk_hold(job);
    return chore;
}

static void free_chore(struct chore *chore)
{
    struct dg_bulk_job *job = chore->job;
    dg_buf_deinit(&chore->meta);
    dg_buf_deinit(&chore->body);
    dg_buf_deinit(&chore->parts);
    dg_buf_deinit(&chore->once);
    dg_document_file_free(chore->document);
    if (job->bulk)
        dg_allowance_hold(job->bulk->opts.buffers, &chore->held, 0);
    dg_free(chore);
    dg_bulk_release(job);
}

static void run_save(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    chore->err = dg_file_out_save(chore->job->meta_path, FILE_MODE, chore->meta.ptr,
                                  chore->meta.len, &chore->error);
}

static void end_ending(struct chore *chore)
{
    if (chore->on_ended)
        chore->on_ended(chore->owner, chore->err, 0);
    free_chore(chore);
}

static void on_saved(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    if (chore->err)
        dg_log_event(
            chore->job->bulk->log, DG_LOG_ERROR, "bulk",
            DG_LOG_FIELDS(dg_log_str("job", chore->job->id), dg_log_err(chore->err)),
            "the end of a job could not be recorded, so the next start will continue the job: %s",
            dg_error_text(&chore->error, chore->err));
    end_ending(chore);
}

static void save(struct dg_bulk_job *job, dg_bulk_ended_fn fn, void *ctx)
{
    struct chore *chore = new_chore(job);
    if (!chore) {
        if (fn)
            fn(ctx, DG_ERR_NOMEM, 0);
        return;
    }
    chore->on_ended = fn;
    chore->owner = ctx;
    enum dg_err err = dg_bulk_put_meta(job, &chore->meta);
    if (!err) /* from here on the chore belongs to the files' thread */
        err = dg_offload_submit(job->bulk->files, &chore->task, run_save, on_saved);
    if (err) {
        chore->err = err;
        end_ending(chore);
    }
}

/* If memory or disk space is lacking, the next start finds the job unfinished, continues it and
 * ends it again. */
void dg_bulk_save(struct dg_bulk_job *job)
{
    save(job, NULL, NULL);
}

/* ---- Endings --------------------------------------------------------------------------------- */

static void finish(struct dg_bulk_job *job, enum dg_bulk_state state, dg_bulk_ended_fn fn,
                   void *ctx)
{
    job->state = state;
    job->bulk->has_news = true;
    job->finished_s = now_s(job->bulk);
    job->age_s = 0;
    job->seen_ns = dg_clock_now(&job->bulk->clock);
    dg_bulk_halt(job);
    if (job->is_part) {
        dg_shared_jobs_part_over(job);
        return;
    }
    dg_log_event(job->bulk->log, DG_LOG_NOTICE, "bulk",
                 DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_uint("lines", job->n_done),
                               dg_log_uint("failed", job->n_failed)),
                 "job %s", dg_bulk_state_words[state]);
    save(job, fn, ctx);
}

void dg_bulk_finish(struct dg_bulk_job *job, enum dg_bulk_state state)
{
    finish(job, state, NULL, NULL);
}

void dg_bulk_wait(struct dg_bulk_job *job, enum dg_bulk_wait waits_for,
                  const struct dg_error *error)
{
    if (job->waits_for != waits_for)
        dg_log_event(job->bulk->log, DG_LOG_WARNING, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_uint("lines", job->n_done)),
                     "a job waits: %s", dg_error_text(error, DG_ERR_MODEL));
    job->waits_for = waits_for;
}

void dg_bulk_fail(struct dg_bulk_job *job, enum dg_err err, const struct dg_error *error)
{
    job->err = err;
    job->error = (struct dg_error)DG_ERROR_NONE;
    if (error) /* the sentence names a file, which clients should not see */
        dg_log_event(job->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_err(err)),
                     "a job cannot continue: %s", dg_error_text(error, err));
    else if (err == DG_ERR_LIMIT)
        dg_error_set(&job->error, err,
                     "its files would take more than one client's share of the %" PRIu64
                     " bytes that the files of all jobs may take",
                     job->bulk->opts.space_max);
    dg_bulk_finish(job, DG_BULK_FAILED);
}

/* ID.json first: without it the other files are litter that the next start removes, and with it
 * they are needed. */
static enum dg_err remove_files(const struct dg_bulk_job *job, struct dg_error *error)
{
    if (unlink(job->meta_path) != 0 && errno != ENOENT)
        return dg_error_errno(error, "cannot remove %s", job->meta_path);
    unlink(job->in_path);
    unlink(job->out_path);
    if (*job->document_name)
        unlink(job->document_path);
    return DG_OK;
}

void dg_bulk_fetched(struct dg_bulk *bulk, struct dg_span id)
{
    struct dg_bulk_job *job = dg_bulk_find(bulk, id);
    if (job && bulk->shared && !job->fetched_ns)
        job->fetched_ns = dg_clock_now(&bulk->clock);
    else if (job && !bulk->shared)
        dg_bulk_remove(job);
}

static void run_remove(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    chore->err = remove_files(chore->job, &chore->error);
    if (!chore->err) /* so that a power cut does not bring it back */
        chore->err = dg_file_out_sync_dir(chore->job->bulk->opts.dir, &chore->error);
}

static void on_removed(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    if (chore->err)
        dg_log_event(chore->job->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", chore->job->id), dg_log_err(chore->err)),
                     "a job could not be removed, so the next start may find it again: %s",
                     dg_error_text(&chore->error, chore->err));
    end_ending(chore);
}

static void remove_own(struct dg_bulk_job *job, dg_bulk_ended_fn fn, void *ctx)
{
    struct dg_bulk *bulk = job->bulk;
    dg_bulk_hold(job);
    if (!dg_bulk_is_over(job))
        job->state = DG_BULK_CANCELLED;
    dg_bulk_halt(job);
    dg_list_unlink(&job->link);
    dg_list_init(&job->link);
    bulk->n_jobs--;
    bulk->has_news = true;
    job->is_removed = true;
    struct chore *chore = new_chore(job);
    if (chore) {
        chore->on_ended = fn;
        chore->owner = ctx;
        /* The task runs after everything that still writes to the files. */
        if (dg_offload_submit(bulk->files, &chore->task, run_remove, on_removed) != DG_OK) {
            run_remove(&chore->task);
            on_removed(&chore->task);
        }
    } else {
        const enum dg_err err = remove_files(job, NULL);
        if (fn)
            fn(ctx, err, 0);
    }
    dg_bulk_release(job);
}

void dg_bulk_remove(struct dg_bulk_job *job)
{
    if (job->is_removed)
        return;
    if (job->bulk->shared)
        dg_shared_jobs_end(job->bulk, job->id, DG_BULK_CANCELLED, true, dg_redis_table_ignore,
                           NULL);
    else
        remove_own(job, NULL, NULL);
}

void dg_bulk_end(struct dg_bulk_job *job, bool removes, dg_bulk_ended_fn fn, void *ctx)
{
    if (job->bulk->shared)
        dg_shared_jobs_end(job->bulk, job->id, DG_BULK_CANCELLED, removes, fn, ctx);
    else if (removes)
        remove_own(job, fn, ctx);
    else if (dg_bulk_is_over(job))
        fn(ctx, DG_OK, 0);
    else
        finish(job, DG_BULK_CANCELLED, fn, ctx);
}

/* ---- Coming ---------------------------------------------------------------------------------- */

/* Hashes several texts, and writes the hash in hexadecimal. */
static void hash_texts(char hex[DG_BULK_ONCE / 2 + 1], const struct dg_span *texts, size_t n)
{
    unsigned char digest[DG_BULK_ONCE / 4];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof digest);
    for (size_t i = 0; i < n; i++) {
        const uint64_t len = texts[i].len;
        crypto_generichash_update(&state, (const unsigned char *)&len, sizeof len);
        crypto_generichash_update(&state, (const unsigned char *)(len ? texts[i].ptr : ""), len);
    }
    crypto_generichash_final(&state, digest, sizeof digest);
    sodium_bin2hex(hex, DG_BULK_ONCE / 2 + 1, digest, sizeof digest);
}

/* Sets the key under which a job is accepted only once. Where jobs are shared, a balancer may
 * repeat a request, so if the client sent no key, the minute and the content serve as one.
 * Documents of other APIs have no key: they are fetched once or soon forgotten, and one that is
 * sent again is a new one. */
static void name_once(const struct chore *chore)
{
    struct dg_bulk_job *job = chore->job;
    const struct dg_document_file *document = chore->document;
    const struct dg_span sent[] = {job->options_json,
                                   dg_buf_span(&chore->body),
                                   document ? dg_span_make(document->bytes, document->len)
                                            : DG_SPAN(""),
                                   dg_span_cstr(job->document_name),
                                   dg_span_cstr(job->document_columns),
                                   dg_span_cstr(job->document_output)};
    char content[DG_BULK_ONCE / 2 + 1], minute[24];
    if (job->api || (chore->once.len == 0 && !job->bulk->opts.redis))
        return;
    hash_texts(content, sent, document ? 6 : 2);
    snprintf(minute, sizeof minute, "%" PRIu64, job->created_s / 60);
    const struct dg_span key[] = {
        dg_span_cstr(job->owner), *job->owner ? DG_SPAN("") : dg_span_cstr(job->address),
        dg_buf_span(&chore->once), chore->once.len ? DG_SPAN("") : dg_span_cstr(content),
        chore->once.len ? DG_SPAN("") : dg_span_cstr(minute)};
    hash_texts(job->once, key, sizeof key / sizeof *key);
    memcpy(job->once + DG_BULK_ONCE / 2, content, sizeof content);
}

static void run_create(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    struct dg_bulk_job *job = chore->job;
    struct dg_span body = dg_buf_span(&chore->body);
    size_t n_parts = 0;
    job->n_lines = dg_bulk_count_lines(body);
    name_once(chore);
    chore->err = job->bulk->opts.redis && !dg_bulk_is_over(job)
                     ? dg_shared_jobs_cut(body, job->n_lines, &chore->parts, &n_parts)
                     : DG_OK;
    job->n_parts = (unsigned)n_parts;
    if (!chore->err)
        chore->err = dg_bulk_put_meta(job, &chore->meta);
    if (!chore->err)
        chore->err = dg_bulk_file_create(job->in_path, body, &chore->error);
    if (chore->err)
        return;
    if (chore->document)
        chore->err = dg_bulk_file_create(job->document_path,
                                         dg_span_make(chore->document->bytes, chore->document->len),
                                         &chore->error);
    if (!chore->err)
        run_save(task);
    if (chore->err)
        (void)remove_files(job, NULL); /* some may be in place, though not for good */
}

/* Finds a job that was sent under the same key within a day; NULL: none. */
static struct dg_bulk_job *find_once(const struct dg_bulk *bulk, const char *once)
{
    for (struct dg_list *at = bulk->jobs.next; *once && at != &bulk->jobs; at = at->next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        if (strncmp(job->once, once, DG_BULK_ONCE / 2) == 0 && job->created_s + DAY_S > now_s(bulk))
            return job;
    }
    return NULL;
}

/* Reports the result of the order. */
static void end_adding(struct chore *chore, struct dg_bulk_job *job)
{
    struct dg_bulk *bulk = chore->job->bulk;
    if (!chore->err && job && strcmp(job->once, chore->job->once) != 0) {
        chore->err = DG_ERR_EXISTS;
        job = NULL;
    }
    if (chore->err)
        dg_log_event(bulk->log, DG_LOG_ERROR, "bulk", DG_LOG_FIELDS(dg_log_err(chore->err)),
                     "a job could not be accepted: %s", dg_error_text(&chore->error, chore->err));
    else if (strcmp(job->id, chore->job->id) == 0)
        dg_log_event(bulk->log, DG_LOG_NOTICE, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_uint("lines", job->n_lines)),
                     "job taken");
    chore->on_added(chore->owner, job, chore->err, &chore->error);
}

/* Reports whether all servers know the job now. */
static void on_submitted(void *ctx, enum dg_err err, int64_t more)
{
    struct chore *chore = ctx;
    struct dg_bulk *bulk = chore->job->bulk;
    struct dg_bulk_job *job = dg_bulk_find(bulk, dg_span_cstr(chore->job->id));
    if (err == DG_ERR_EXISTS && !job)
        job = find_once(bulk, chore->job->once);
    chore->err = job ? DG_OK : err ? err : DG_ERR_BUSY;
    /* If Redis has not answered, the row may exist nevertheless. Then its files must exist, too;
     * otherwise they become litter. */
    if (err == DG_ERR_EXISTS && more == DG_SHARED_JOBS_OTHER)
        (void)remove_files(chore->job, NULL);
    end_adding(chore, job);
    dg_list_unlink(&chore->job->link);
    bulk->n_jobs--;
    free_chore(chore);
    if (!bulk->is_closing)
        dg_bulk_turn(bulk);
}

static void on_created(struct dg_offload_task *task)
{
    struct chore *chore = (struct chore *)task;
    struct dg_bulk_job *job = chore->job;
    struct dg_bulk *bulk = job->bulk;
    struct dg_bulk_job *earlier = chore->err ? NULL : find_once(bulk, job->once);
    if (!chore->err && !earlier && bulk->shared) {
        dg_shared_jobs_submit(bulk, job, dg_buf_span(&chore->parts), on_submitted, chore);
        return;
    }
    job->is_removed = chore->err || earlier; /* the end of this task is then the end of the job */
    dg_list_unlink(&job->link);
    /* it was counted from the request on; from now on it counts like any other job */
    bulk->n_jobs--;
    if (earlier)
        (void)remove_files(job, NULL);
    else if (!chore->err)
        dg_bulk_link(job);
    end_adding(chore, chore->err ? NULL : earlier ? earlier : job);
    free_chore(chore);
    if (!bulk->is_closing)
        dg_bulk_turn(bulk);
}

/* Returns the bytes by which a job's result is expected to grow: to the length of its input or, if
 * the lines that are done suggest more, in proportion to these. */
static uint64_t still_to_come(const struct dg_bulk_job *job)
{
    if (dg_bulk_is_over(job))
        return 0;
    const double part = job->n_done ? (double)job->n_lines / (double)job->n_done : 0;
    const double whole = part * (double)job->out_bytes;
    const uint64_t expected = whole > (double)job->in_bytes ? (uint64_t)whole : job->in_bytes;
    return expected > job->out_bytes ? expected - job->out_bytes : 0;
}

/* Computes the room that is taken, including jobs that are being written. */
struct taken {
    uint64_t all, own; /* bytes of all files, and of one client's files */
    size_t n_own;      /* jobs of that client */
};

/* `younger` NULL: includes what all jobs are expected to write; otherwise only what is expected of
 * jobs that came before that one and do not wait, so that the oldest can always continue. */
static struct taken count_taken(const struct dg_bulk *bulk, uint64_t client,
                                const struct dg_bulk_job *younger)
{
    struct taken taken = {.all = 0};
    bool is_elder = true;
    const struct dg_list *const lists[] = {&bulk->jobs, &bulk->coming};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct dg_list *at = lists[i]->next; at != lists[i]; at = at->next) {
            const struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
            is_elder = is_elder && job != younger;
            const uint64_t expected =
                !younger || (is_elder && job->lacks == 0) ? still_to_come(job) : 0;
            const uint64_t bytes = dg_bulk_bytes(job) + expected;
            taken.all += bytes;
            taken.own += job->client == client ? bytes : 0;
            taken.n_own += job->client == client;
        }
    return taken;
}

bool dg_bulk_may_grow(const struct dg_bulk_job *job, size_t bytes)
{
    const uint64_t space_max = job->bulk->opts.space_max;
    if (job->is_part)
        job = dg_bulk_find(job->bulk, dg_span_cstr(job->id)); /* the whole job */
    if (!job)
        return true;
    const struct taken taken = count_taken(job->bulk, job->client, job);
    const uint64_t share = dg_client_share_of(space_max, taken.all, taken.own);
    return bytes == 0 ||
           (taken.all + bytes <= space_max &&
            (job->client == 0 || taken.own + bytes <= (share > job->share ? share : job->share)));
}

bool dg_bulk_may_ever_grow(const struct dg_bulk_job *job, size_t bytes)
{
    const uint64_t space_max = job->bulk->opts.space_max;
    return bytes == 0 || dg_bulk_bytes(job) + bytes <=
                             (job->client ? dg_client_share_of(space_max, 0, 0) : space_max);
}

static enum dg_err check_room(const struct dg_bulk *bulk, const struct dg_bulk_order *order,
                              struct dg_error *error)
{
    if (bulk->is_closing)
        return DG_ERR_CLOSED;
    if (bulk->n_jobs >= bulk->opts.jobs_max)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%zu jobs are kept, which is the limit; remove some", bulk->n_jobs);
    const struct taken taken = count_taken(bulk, order->client, NULL);
    /* assumes that the result is as long as the input */
    const uint64_t more =
        2 * (uint64_t)order->body->len + (order->document ? order->document->len : 0);
    if (!dg_client_share_has_room(order->client, bulk->opts.jobs_max, bulk->n_jobs, taken.n_own, 1))
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "%zu of the %zu jobs kept are yours, and the rest is reserved for others; remove some",
            taken.n_own, bulk->n_jobs);
    if (taken.all + more > bulk->opts.space_max)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the files of all jobs would take %" PRIu64
                            " bytes, expected at most %" PRIu64 "; remove some jobs",
                            taken.all + more, bulk->opts.space_max);
    if (!dg_client_share_has_room(order->client, bulk->opts.space_max, taken.all, taken.own, more))
        return dg_error_set(error, DG_ERR_RANGE,
                            "the files of your jobs take %" PRIu64
                            " bytes, and the rest is reserved for others; remove some jobs",
                            taken.own);
    return DG_OK;
}

static enum dg_err add(struct dg_bulk *bulk, const struct dg_bulk_order *order,
                       dg_bulk_added_fn on_added, void *owner, struct dg_error *error,
                       struct dg_document_file **document)
{
    unsigned char random[DG_BULK_ID_LEN / 2];
    char id[DG_BULK_ID_LEN + 1];
    enum dg_err err = check_room(bulk, order, error);
    if (err)
        return err;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(id, sizeof id, random, sizeof random);
    struct dg_bulk_job *job = dg_bulk_job_new(bulk, id);
    if (!job)
        return DG_ERR_NOMEM;
    job->is_removed = true; /* a job without files is freed by its last user */
    job->format = order->format;
    job->created_s = now_s(bulk);
    job->client = order->client;
    memcpy(job->address, order->address.ptr ? order->address.ptr : "",
           order->address.len < DG_BULK_OWNER ? order->address.len : DG_BULK_OWNER);
    job->in_bytes = order->body->len;
    if (order->document) {
        snprintf(job->document_name, sizeof job->document_name, "%s", order->document_name);
        snprintf(job->document_columns, sizeof job->document_columns, "%s",
                 order->columns ? order->columns : "");
        snprintf(job->document_output, sizeof job->document_output, "%s",
                 order->output ? order->output : "");
    }
    job->document_bytes = order->document ? order->document->len : 0;
    job->api = order->api;
    job->n_characters = order->n_characters;
    job->bill = order->bill;
    snprintf(job->document_key, sizeof job->document_key, "%s", order->key ? order->key : "");
    job->state = order->state;
    if (job->state == DG_BULK_FAILED)
        job->err = dg_error_set(&job->error, DG_ERR_INVALID, "%s", order->reason);
    if (dg_bulk_is_over(job)) {
        job->finished_s = job->created_s;
        job->seen_ns = dg_clock_now(&bulk->clock);
    }
    const struct taken taken = count_taken(bulk, order->client, NULL);
    job->share = dg_client_share_of(bulk->opts.space_max, taken.all, taken.own);
    memcpy(job->owner, order->owner.ptr ? order->owner.ptr : "",
           order->owner.len < DG_BULK_OWNER ? order->owner.len : DG_BULK_OWNER);
    err = dg_bulk_read_options(job, order->options_json, error);
    if (!err)
        err = dg_bulk_own_models(job, order->only, order->n_only);
    struct chore *chore = err ? NULL : new_chore(job);
    if (!chore) {
        free_job(job);
        return err ? err : DG_ERR_NOMEM;
    }
    chore->on_added = on_added;
    chore->owner = owner;
    err = dg_buf_append_span(&chore->once, order->once);
    if (err) {
        free_chore(chore);
        return err;
    }
    chore->document = *document;
    *document = NULL;
    struct dg_buf none = chore->body;
    chore->body = *order->body;
    *order->body = none;
    dg_allowance_hold(bulk->opts.buffers, &chore->held, chore->body.cap);
    err = dg_offload_submit(bulk->files, &chore->task, run_create, on_created);
    if (err) {
        free_chore(chore);
        return err;
    }
    dg_list_link_last(&bulk->coming, &job->link);
    bulk->n_jobs++;
    return DG_OK;
}

enum dg_err dg_bulk_add(struct dg_bulk *bulk, const struct dg_bulk_order *order,
                        dg_bulk_added_fn on_added, void *owner, struct dg_error *error)
{
    struct dg_document_file *document = order->document;
    const enum dg_err err = add(bulk, order, on_added, owner, error, &document);
    dg_document_file_free(document);
    return err;
}

/* ---- Shared ones ----------------------------------------------------------------------------- */

bool dg_bulk_is_shared(const struct dg_bulk *bulk)
{
    return bulk->shared != NULL;
}

bool dg_bulk_may_lack(const struct dg_bulk *bulk)
{
    return bulk->shared && !dg_shared_jobs_are_current(bulk->shared);
}

/* ---- Looking --------------------------------------------------------------------------------- */

struct dg_bulk_job *dg_bulk_next(struct dg_bulk *bulk, struct dg_bulk_job *job)
{
    struct dg_list *at = job ? job->link.next : bulk->jobs.next;
    return at == &bulk->jobs ? NULL : DG_LIST_ITEM(at, struct dg_bulk_job, link);
}

struct dg_bulk_job *dg_bulk_find(struct dg_bulk *bulk, struct dg_span id)
{
    struct dg_bulk_job *job = NULL;
    while ((job = dg_bulk_next(bulk, job)) && !dg_span_eq(dg_span_cstr(job->id), id))
        ;
    return job;
}

uint64_t dg_bulk_client(const struct dg_bulk_job *job)
{
    return job->client;
}

const char *dg_bulk_owner(const struct dg_bulk_job *job)
{
    return job->owner;
}

bool dg_bulk_is_foreign(const struct dg_bulk_job *job)
{
    return job->api != DG_BULK_V1;
}

enum dg_bulk_state dg_bulk_state(const struct dg_bulk_job *job)
{
    return job->state;
}

enum dg_bulk_format dg_bulk_format(const struct dg_bulk_job *job)
{
    return job->format;
}

static bool is_kept_waiting(const struct dg_bulk_job *job)
{
    return !dg_bulk_is_over(job) && job->waits_for != DG_BULK_NO_WAIT;
}

void dg_bulk_read_stats(const struct dg_bulk *bulk, struct dg_bulk_stats *stats)
{
    *stats = (struct dg_bulk_stats){.n_lines = bulk->n_lines, .n_failed = bulk->n_failed};
    for (struct dg_list *at = bulk->jobs.next; at != &bulk->jobs; at = at->next) {
        const struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        stats->n_waiting += job->state == DG_BULK_WAITING || is_kept_waiting(job);
        stats->n_running += job->state == DG_BULK_RUNNING && !is_kept_waiting(job);
        stats->n_over += dg_bulk_is_over(job);
        stats->bytes += dg_bulk_bytes(job);
    }
}

/* ---- Turns ----------------------------------------------------------------------------------- */

/* Returns whether a waiting job may try to continue: its model is served again, or there is room
 * for what it had to write. */
bool dg_bulk_can_try(const struct dg_bulk_job *job)
{
    if (job->waits_for == DG_BULK_WAITS_FOR_MODEL)
        return dg_engine_can(job->bulk->engine, &job->options.request, NULL) == DG_OK;
    return dg_bulk_may_grow(job, job->lacks);
}

/* Continues jobs; those that wait only when they are due to try again. */
static void run_jobs(struct dg_bulk *bulk, bool tries_again)
{
    size_t n_running[] = {0, 0};
    for (struct dg_list *at = bulk->jobs.next, *next; at != &bulk->jobs; at = next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        const bool is_document = *job->document_name;
        next = at->next;
        if (dg_bulk_is_over(job) || n_running[is_document] >= running_max[is_document])
            continue;
        if (job->waits_for && !(tries_again && dg_bulk_can_try(job))) {
            /* While the disk is full, the job keeps its lines. */
            n_running[is_document] += job->waits_for == DG_BULK_WAITS_FOR_SPACE && job->lacks == 0;
            continue;
        }
        if (job->lacks > 0)
            job->waits_for = DG_BULK_NO_WAIT;
        job->lacks = 0;
        if (job->state != DG_BULK_RUNNING) {
            job->run_at = job->written_at;
            job->run_ns = dg_clock_now(&bulk->clock);
        }
        job->state = DG_BULK_RUNNING;
        dg_bulk_run(job);
        n_running[is_document] += job->state == DG_BULK_RUNNING;
    }
}

/* How long ago the job ended, in seconds. */
static uint64_t age_of(const struct dg_bulk_job *job)
{
    return job->age_s + (dg_clock_now(&job->bulk->clock) - job->seen_ns) / DG_CLOCK_S;
}

/* Tells of jobs that are over and have a bill. While servers share jobs and Redis does not answer,
 * the bills wait, because a refund would be lost; after a day Redis has forgotten that it was
 * made. */
static void tell_bills(struct dg_bulk *bulk)
{
    if (!bulk->on_bill)
        return;
    for (struct dg_list *at = bulk->jobs.next; at != &bulk->jobs; at = at->next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        if (job->is_billed || job->bill.characters == 0 || !dg_bulk_is_over(job) ||
            (bulk->shared && age_of(job) >= BILL_S))
            continue;
        if (dg_bulk_may_lack(bulk)) {
            bulk->has_news = true;
            return;
        }
        job->is_billed = true;
        bulk->on_bill(bulk->bill_ctx, job);
    }
}

/* Calls the watches of jobs that are over; when the bulk jobs are closed, all watches. */
static void tell_watches(struct dg_bulk *bulk)
{
    struct dg_list all; /* whoever is told may begin or end others */
    if (!bulk->has_news)
        return;
    bulk->has_news = false;
    tell_bills(bulk);
    dg_list_init(&all);
    while (!dg_list_is_empty(&bulk->watches)) {
        struct dg_list *link = bulk->watches.next;
        dg_list_unlink(link);
        dg_list_link_last(&all, link);
    }
    while (!dg_list_is_empty(&all)) {
        struct dg_bulk_watch *watch = DG_LIST_ITEM(all.next, struct dg_bulk_watch, link);
        struct dg_bulk_job *job =
            bulk->is_closing ? NULL : dg_bulk_find(bulk, dg_span_cstr(watch->id));
        dg_list_unlink(&watch->link);
        if (job && !dg_bulk_is_over(job)) {
            dg_list_link_last(&bulk->watches, &watch->link);
            continue;
        }
        dg_list_init(&watch->link);
        watch->fn(watch, job);
    }
}

static void move_on(struct dg_bulk *bulk, bool tries_again)
{
    if (bulk->shared)
        dg_shared_jobs_turn(bulk, tries_again);
    else
        run_jobs(bulk, tries_again);
    tell_watches(bulk);
}

void dg_bulk_watch(struct dg_bulk *bulk, const char *id, struct dg_bulk_watch *watch)
{
    snprintf(watch->id, sizeof watch->id, "%s", id);
    dg_list_link_last(&bulk->watches, &watch->link);
    bulk->has_news = true;
}

void dg_bulk_unwatch(struct dg_bulk_watch *watch)
{
    dg_list_unlink(&watch->link);
    dg_list_init(&watch->link);
}

void dg_bulk_turn(struct dg_bulk *bulk)
{
    move_on(bulk, false);
}

void dg_bulk_retry(struct dg_bulk *bulk)
{
    move_on(bulk, true);
}

static bool is_old(const struct dg_bulk_job *job)
{
    const uint64_t now = dg_clock_now(&job->bulk->clock);
    const uint64_t retention_s = job->api ? DOCUMENT_S : job->bulk->opts.retention_s;
    const bool is_fetched =
        job->fetched_ns && (now - job->fetched_ns) / DG_CLOCK_S >= (uint64_t)FETCHED_S;
    return dg_bulk_is_over(job) && (is_fetched || age_of(job) >= retention_s);
}

void dg_bulk_tick(struct dg_bulk *bulk)
{
    for (struct dg_list *at = bulk->jobs.next, *next; at != &bulk->jobs; at = next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        next = at->next;
        if (is_old(job))
            dg_bulk_remove(job);
    }
    dg_bulk_turn(bulk); /* for jobs that had lacked memory */
}

/* ---- The folder at the start ----------------------------------------------------------------- */

/* Reads the state of an unfinished job from its files. */
static enum dg_err resume(struct dg_bulk_job *job, struct dg_error *error)
{
    struct dg_bulk_resume found;
    if (dg_bulk_is_over(job))
        return DG_OK;
    enum dg_err err = dg_bulk_file_resume(job->in_path, job->out_path, job->format == DG_BULK_TEXT,
                                          &found, error);
    if (err)
        return err;
    job->n_done = job->n_begun = job->n_gathered = found.n_done;
    job->n_failed = found.n_failed;
    job->in_at = job->gathered_at = job->written_at = found.in_at;
    job->out_bytes = found.out_bytes;
    return DG_OK;
}

static void take_in(struct dg_bulk *bulk, const char *id)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_job *job = dg_bulk_job_new(bulk, id);
    enum dg_err err = job ? dg_bulk_read_meta(job, &error) : DG_ERR_NOMEM;
    if (!err && !bulk->opts.redis)
        err = resume(job, &error);
    if (!err) {
        job->is_billed = !bulk->opts.redis && dg_bulk_is_over(job);
        dg_bulk_link(job);
        return;
    }
    dg_log_event(bulk->log, DG_LOG_ERROR, "bulk",
                 DG_LOG_FIELDS(dg_log_str("job", id), dg_log_err(err)),
                 "a job is skipped because it cannot be read: %s", dg_error_text(&error, err));
    if (job)
        free_job(job);
}

/* Returns the kind of "ID.kind"; NULL when the name is not one of ours. */
static const char *kind_of(const char *name)
{
    return strspn(name, "0123456789abcdef") == DG_BULK_ID_LEN && name[DG_BULK_ID_LEN] == '.'
               ? name + DG_BULK_ID_LEN + 1
               : NULL;
}

/* Removes a file without its ID.json: its job was never accepted, or was removed. */
static void sweep(struct dg_bulk *bulk, const char *name)
{
    char path[DG_BULK_PATH_MAX];
    char id[DG_BULK_ID_LEN + 1];
    struct stat info;
    snprintf(id, sizeof id, "%.*s", DG_BULK_ID_LEN, name);
    /* Another server may be about to write the job's row. */
    if (bulk->opts.redis && dg_bulk_path(path, bulk->opts.dir, id, kind_of(name)) == DG_OK &&
        stat(path, &info) == 0 && (uint64_t)info.st_mtime + LITTER_S > now_s(bulk))
        return;
    if (dg_bulk_path(path, bulk->opts.dir, id, "json") == DG_OK && access(path, F_OK) == 0)
        return;
    if (dg_bulk_path(path, bulk->opts.dir, id, kind_of(name)) == DG_OK)
        unlink(path);
}

static int by_age(const void *a, const void *b)
{
    const struct dg_bulk_job *const *one = a, *const *two = b;
    if ((*one)->created_s != (*two)->created_s)
        return (*one)->created_s < (*two)->created_s ? -1 : 1;
    return strcmp((*one)->id, (*two)->id);
}

/* Sorts the jobs by age, oldest first. */
static enum dg_err sort(struct dg_bulk *bulk)
{
    size_t n = 0;
    struct dg_bulk_job **all = dg_try_calloc(bulk->n_jobs ? bulk->n_jobs : 1, sizeof *all);
    if (!all)
        return DG_ERR_NOMEM;
    while (!dg_list_is_empty(&bulk->jobs)) {
        all[n] = DG_LIST_ITEM(bulk->jobs.next, struct dg_bulk_job, link);
        dg_list_unlink(&all[n++]->link);
    }
    qsort(all, n, sizeof *all, by_age);
    for (size_t i = 0; i < n; i++)
        dg_list_link_last(&bulk->jobs, &all[i]->link);
    dg_free(all);
    return DG_OK;
}

static enum dg_err scan(struct dg_bulk *bulk, struct dg_error *error)
{
    DIR *dir = dg_folder_open(bulk->opts.dir);
    if (!dir)
        return dg_error_errno(error, "jobs-dir: cannot read %s", bulk->opts.dir);
    for (struct dirent *found; (found = readdir(dir));) {
        const char *kind = kind_of(found->d_name);
        char id[DG_BULK_ID_LEN + 1];
        snprintf(id, sizeof id, "%.*s", DG_BULK_ID_LEN, found->d_name);
        if (kind && strcmp(kind, "json") == 0)
            take_in(bulk, id);
        else if (kind)
            sweep(bulk, found->d_name);
    }
    closedir(dir);
    return sort(bulk);
}

/* Makes the folder, and locks it. */
static enum dg_err lock(struct dg_bulk *bulk, struct dg_error *error)
{
    char path[DG_BULK_PATH_MAX];
    const char *dir = bulk->opts.dir;
    if (snprintf(path, sizeof path, "%s/%*s", dir, DG_BULK_ID_LEN + 8, "") >= (int)sizeof path)
        return dg_error_set(error, DG_ERR_RANGE,
                            "jobs-dir: the path has %zu bytes, which is too long", strlen(dir));
    snprintf(path, sizeof path, "%s/lock", dir);
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return dg_error_errno(error, "jobs-dir: cannot make %s", dir);
    bulk->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (bulk->lock_fd < 0)
        return dg_error_errno(error, "jobs-dir: cannot open %s", path);
    /* shared with other servers, or for this one alone */
    const int how = bulk->opts.redis ? LOCK_SH : LOCK_EX;
    if (flock(bulk->lock_fd, how | LOCK_NB) != 0)
        return dg_error_set(error, DG_ERR_EXISTS, "jobs-dir: another server uses %s", dir);
    return DG_OK;
}

enum dg_err dg_bulk_open(struct dg_bulk **out, const struct dg_bulk_opts *opts, uv_loop_t *loop,
                         struct dg_engine *engine, struct dg_jobs *jobs, struct dg_log *log,
                         struct dg_error *error)
{
    const struct dg_pool_opts files = {.n_threads = 1, .max_jobs = TASKS_MAX, .name = "files"};
    struct dg_bulk *bulk = dg_xcalloc(1, sizeof *bulk);
    bulk->opts = *opts;
    bulk->engine = engine;
    bulk->engine_jobs = jobs;
    bulk->log = log;
    bulk->clock = (struct dg_clock)DG_CLOCK_REAL;
    bulk->lock_fd = -1;
    dg_list_init(&bulk->jobs);
    dg_list_init(&bulk->coming);
    dg_list_init(&bulk->watches);
    enum dg_err err = sodium_init() < 0 ? DG_ERR_IO : lock(bulk, error);
    if (!err)
        err = scan(bulk, error);
    if (!err)
        err = dg_offload_open(loop, dg_engine_turn(engine), &files, error, &bulk->files);
    if (err) {
        dg_bulk_close(bulk);
        return err;
    }
    if (opts->redis)
        dg_shared_jobs_open(bulk, loop, opts->redis);
    dg_bulk_tick(bulk);
    *out = bulk;
    return DG_OK;
}

void dg_bulk_close(struct dg_bulk *bulk)
{
    if (!bulk)
        return;
    bulk->is_closing = bulk->has_news = true;
    for (struct dg_list *at = bulk->jobs.next; bulk->opts.is_temporary && at != &bulk->jobs;
         at = at->next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        if (!dg_bulk_is_over(job)) /* no later start goes on with it */
            job->state = DG_BULK_CANCELLED;
    }
    tell_watches(bulk);
    for (struct dg_list *at = bulk->jobs.next; at != &bulk->jobs; at = at->next)
        dg_bulk_halt(DG_LIST_ITEM(at, struct dg_bulk_job, link));
    dg_shared_jobs_close(bulk);
    dg_offload_close(bulk->files);
    dg_shared_jobs_free(bulk->shared);
    while (!dg_list_is_empty(&bulk->jobs)) {
        struct dg_bulk_job *job = DG_LIST_ITEM(bulk->jobs.next, struct dg_bulk_job, link);
        dg_bulk_hold(job);
        dg_list_unlink(&job->link);
        dg_list_init(&job->link);
        job->bulk = NULL;
        job->is_removed = true; /* a reader that is still open is its last user */
        dg_bulk_release(job);
    }
    if (bulk->opts.is_temporary)
        dg_bulk_scratch_remove(bulk->opts.dir);
    if (bulk->lock_fd >= 0)
        close(bulk->lock_fd);
    dg_free(bulk);
}

void dg_bulk_on_bill(struct dg_bulk *bulk, dg_bulk_bill_fn fn, void *ctx)
{
    bulk->on_bill = fn;
    bulk->bill_ctx = ctx;
    bulk->has_news = true;
}

void dg_bulk_set_glossaries(struct dg_bulk *bulk, const struct dg_glossaries *glossaries)
{
    bulk->glossaries = glossaries;
}
