/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A part that this server has taken:
 *
 *     NEW ----> RUNNING ----> PLACING ----> COUNTING ----> ASSEMBLING ----> FINISHING
 *      |           |          ID.pN          |              ID.out            the row says done
 *      +-----------+-------------------------+--- acknowledged, when the job is over or others
 *                                                 have parts to do
 *
 * What fails is tried again once a second, or left for others to claim. A part that is done twice,
 * because its server was taken for dead, counts once, and its file is replaced by an equal one. */
#include "api/jobs/shared_jobs.h"
#include "base/file/file_out.h"
#include "base/file/folder.h"
#include "base/file/map_file.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PART_LINES = 100,
    PART_BYTES = 256 * 1024,
    PARTS_MAX = 1000, /* about the most parts of one job */
    HELD_MAX = 3, /* parts of jobs that a server has at once: two run, and one is being counted */
    DOCUMENTS_HELD_MAX = 8, /* the same of documents */
    WORK_MS = 200,          /* the time between two requests for work */
    CLAIM_MS = 5000,        /* a server that is silent for this long is taken for dead */
    TRIES_MAX = 8,          /* how many servers may die at a part before its job fails */
    UNKNOWN_MS = 10000, /* a part is thrown away if its job does not become known in this time */
    ASK_MS = 900,
    END_TRIES = 10,
    PIECE = 256 * 1024,
    ENTRY_MAX = 48,
};

/* Documents, for which people wait, have a stream of their own, so that they pass bulk jobs. */
enum { N_STREAMS = 2 };
static const struct {
    struct dg_span name;
    size_t held_max;
} streams[N_STREAMS] = {{{"dragoman:1:jobs:parts", 21}, HELD_MAX},
                        {{"dragoman:1:jobs:documents", 25}, DOCUMENTS_HELD_MAX}};

enum part_state { NEW, RUNNING, PLACING, COUNTING, ASSEMBLING, FINISHING, OVER };

struct dg_bulk_part {
    struct dg_offload_task task;
    struct dg_list link;
    struct dg_bulk *bulk;
    enum part_state state;
    bool is_document; /* the stream that it comes from */
    bool is_busy;     /* a task or a request is under way */
    char entry[ENTRY_MAX];
    char id[DG_BULK_ID_LEN + 1]; /* the id of its job */
    unsigned number, n_parts;
    /* from ASSEMBLING on: lines of the whole job, and whether it is text */
    size_t job_lines;
    bool is_text;
    uint64_t begin, end;
    size_t lines_before;
    uint64_t taken_ms, tries; /* `tries` counts the servers that had the part */
    struct dg_bulk_job *work; /* the job that runs the part; counted as a user until the result is
                                 in place */
    /* used by the task */
    char path[DG_BULK_PATH_MAX], other[DG_BULK_PATH_MAX], dir[DG_BULK_PATH_MAX];
    enum dg_err err;
    struct dg_error error;
    /* from ASSEMBLING on: of the whole result as it is on disk, because the table may begin anew */
    size_t n_lines, n_failed;
    uint64_t out_bytes;
    struct dg_buf meta;
};

/* The request for work from one stream. */
struct asking {
    struct dg_shared_jobs *shared;
    bool is_document;
    struct dg_redis_ask *ask; /* NULL: none is under way */
};

struct dg_shared_jobs {
    struct dg_bulk *bulk;
    struct dg_redis *redis;
    struct dg_redis_table *table;
    uv_loop_t *loop;
    uv_timer_t timer;
    char server[17];
    struct asking asking[N_STREAMS];
    bool is_closed, is_gone, is_freed, said_nonsense; /* is_gone: the loop has closed the timer */
    uint64_t n_files;                                 /* counts names of files */
    struct dg_list parts;                             /* list of struct dg_bulk_part */
    struct dg_list unlinkings;                        /* list of struct unlinking */
};

/* ---- Cutting --------------------------------------------------------------------------------- */

enum dg_err dg_shared_jobs_cut(struct dg_span body, size_t n_lines, struct dg_buf *parts,
                               size_t *n_parts)
{
    const size_t lines_max = n_lines / PARTS_MAX > PART_LINES ? n_lines / PARTS_MAX : PART_LINES;
    const size_t bytes_max = body.len / PARTS_MAX > PART_BYTES ? body.len / PARTS_MAX : PART_BYTES;
    size_t at = 0, begin = 0, n = 0, before = 0;
    enum dg_err err = DG_OK;
    *n_parts = 0;
    while (!err && at < body.len) {
        const char *end = memchr(body.ptr + at, '\n', body.len - at);
        at = end ? (size_t)(end - body.ptr) + 1 : body.len;
        n++;
        if (n < lines_max && at - begin < bytes_max && at < body.len)
            continue;
        err = dg_buf_printf(parts, "%zu %zu %zu %zu;", *n_parts, begin, at, before);
        (*n_parts)++;
        before += n;
        begin = at;
        n = 0;
    }
    return err;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* ARGV: the epoch, the job's id, its row, the hash of the idempotency key (or ""), the parts, and,
 * for a job that exists and begins again, the entry and the version of its row (else ""). Also
 * returns DG_SHARED_JOBS_OTHER if the key belongs to another job. */
static const char submit_script[] = DG_REDIS_TABLE_LUA
    "local has = redis.call('ZSCORE', KEYS[3], ARGV[2])\n"
    "if ARGV[6] ~= '' then\n"
    "  if tonumber(has or '0') ~= tonumber(ARGV[7]) then return {0, tonumber(has or '0')} end\n"
    "  redis.call('XACK', KEYS[7], 'servers', ARGV[6])\n"
    "  redis.call('XDEL', KEYS[7], ARGV[6])\n"
    "elseif has then\n"
    "  return {0, tonumber(has)}\n"
    "end\n"
    "if ARGV[4] ~= '' and not has then\n"
    "  local once = 'dragoman:1:jobs:once:' .. ARGV[4]\n"
    "  local first = redis.call('GET', once)\n"
    "  has = first and redis.call('ZSCORE', KEYS[3], first)\n"
    "  if has and redis.call('HGET', KEYS[2], first) ~= '' then return {0, tonumber(has), 1} end\n"
    "  redis.call('SET', once, ARGV[2], 'EX', 86400)\n"
    "end\n"
    "local n = 0\n"
    "for part in string.gmatch(ARGV[5], '[^;]+') do\n"
    "  redis.call('XADD', KEYS[7], '*', 'job', ARGV[2], 'part', part)\n"
    "  n = n + 1\n"
    "end\n"
    "redis.call('DEL', KEYS[8])\n"
    "redis.call('HSET', KEYS[8], 'n', n)\n"
    "set(ARGV[2] .. '.p', '0 0 0')\n"
    "return {1, set(ARGV[2], ARGV[3])}\n";

/* ARGV: the epoch, the job's id, the part, its lines, failed lines and bytes, the entry. Returns
 * also how many parts are left; the last one is acknowledged by finish_script. */
static const char count_script[] = DG_REDIS_TABLE_LUA
    "local function leave()\n"
    "  redis.call('XACK', KEYS[7], 'servers', ARGV[7])\n"
    "  redis.call('XDEL', KEYS[7], ARGV[7])\n"
    "end\n"
    "local n = redis.call('HGET', KEYS[8], 'n')\n"
    "if not n then leave() return {1, 0, -1} end\n"
    "local version = 0\n"
    "if redis.call('HSETNX', KEYS[8], ARGV[3], '1') == 1 then\n"
    "  local row = redis.call('HGET', KEYS[2], ARGV[2] .. '.p') or ''\n"
    "  local done, failed, bytes = string.match(row, '^(%d+) (%d+) (%d+)$')\n"
    "  if not done then done, failed, bytes = 0, 0, 0 end\n"
    "  version = set(ARGV[2] .. '.p', string.format('%d %d %d', done + ARGV[4],\n"
    "                                                failed + ARGV[5], bytes + ARGV[6]))\n"
    "else\n"
    "  version = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2] .. '.p') or '0')\n"
    "end\n"
    "local left = tonumber(n) + 1 - redis.call('HLEN', KEYS[8])\n"
    "if left > 0 then leave() end\n"
    "return {1, version, left}\n";

/* ARGV: the epoch, the job's id, the version of its row, the new row (or ""), an entry (or ""). */
static const char finish_script[] = DG_REDIS_TABLE_LUA
    "local has = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[2]) or '0')\n"
    "if has ~= tonumber(ARGV[3]) then return {0, has} end\n"
    "redis.call('DEL', KEYS[8])\n"
    "if redis.call('HGET', KEYS[2], ARGV[2] .. '.p') ~= '' then set(ARGV[2] .. '.p', '') end\n"
    "local version = set(ARGV[2], ARGV[4])\n"
    "if ARGV[5] ~= '' then\n"
    "  redis.call('XACK', KEYS[7], 'servers', ARGV[5])\n"
    "  redis.call('XDEL', KEYS[7], ARGV[5])\n"
    "end\n"
    "return {1, version}\n";

struct job_keys {
    char counted[64];
};

static bool is_document(const struct dg_bulk_job *job)
{
    return *job->document_name != '\0';
}

static struct dg_redis_table_script make_script(struct dg_span text, const char *id,
                                                bool of_documents, struct job_keys *keys)
{
    snprintf(keys->counted, sizeof keys->counted, "dragoman:1:jobs:counted:%s", id);
    struct dg_redis_table_script script = {.text = text, .n_keys = 2, .n_args = 1};
    script.keys[0] = streams[of_documents].name;
    script.keys[1] = dg_span_cstr(keys->counted);
    script.args[0] = dg_span_cstr(id);
    return script;
}

struct numbers {
    size_t n_done, n_failed;
    uint64_t out_bytes;
};

/* Makes the row that the job would have in this state; `job` is unchanged. */
static enum dg_err put_row_of(struct dg_bulk_job *job, enum dg_bulk_state state,
                              struct numbers numbers, struct dg_buf *meta)
{
    const enum dg_bulk_state state_before = job->state;
    const struct numbers before = {job->n_done, job->n_failed, job->out_bytes};
    job->state = state;
    job->n_done = numbers.n_done;
    job->n_failed = numbers.n_failed;
    job->out_bytes = numbers.out_bytes;
    const enum dg_err err = dg_bulk_put_meta(job, meta);
    job->state = state_before;
    job->n_done = before.n_done;
    job->n_failed = before.n_failed;
    job->out_bytes = before.out_bytes;
    return err;
}

static void submit(struct dg_bulk *bulk, struct dg_bulk_job *job, struct dg_span parts,
                   const char *entry, dg_redis_table_fn fn, void *ctx)
{
    struct job_keys keys;
    struct dg_buf meta;
    char version[24];
    dg_buf_init(&meta, DG_BULK_META_MAX);
    const enum dg_bulk_state state = dg_bulk_is_over(job) ? job->state : DG_BULK_WAITING;
    enum dg_err err = put_row_of(job, state, (struct numbers){.n_done = 0}, &meta);
    snprintf(version, sizeof version, "%" PRIu64, job->version);
    struct dg_redis_table_script script = make_script(
        dg_span_make(submit_script, sizeof submit_script - 1), job->id, is_document(job), &keys);
    script.args[1] = dg_buf_span(&meta);
    script.args[2] = dg_span_make(job->once, DG_BULK_ONCE / 2);
    if (!*job->once)
        script.args[2] = DG_SPAN("");
    script.args[3] = parts;
    script.args[4] = dg_span_cstr(entry);
    script.args[5] = dg_span_cstr(version);
    script.n_args = 6;
    if (err)
        fn(ctx, err, 0);
    else
        dg_redis_table_run(bulk->shared->table, &script, fn, ctx);
    dg_buf_deinit(&meta);
}

void dg_shared_jobs_submit(struct dg_bulk *bulk, struct dg_bulk_job *job, struct dg_span parts,
                           dg_redis_table_fn fn, void *ctx)
{
    submit(bulk, job, parts, "", fn, ctx);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Returns true for the file of a part. A file that is being written has a longer name. */
static bool is_part_of(const char *name, const char *id, bool is_whole)
{
    return strncmp(name, id, DG_BULK_ID_LEN) == 0 && strncmp(name + DG_BULK_ID_LEN, ".p", 2) == 0 &&
           !(is_whole && strchr(name + DG_BULK_ID_LEN + 1, '.'));
}

static enum dg_err remove_file(const char *path, struct dg_error *error)
{
    return unlink(path) == 0 || errno == ENOENT ? DG_OK
                                                : dg_error_errno(error, "cannot remove %s", path);
}

/* Removes the files of a job's parts; with `is_whole` only those that are complete, because others
 * may still be worked on. */
static enum dg_err unlink_parts(const char *dir, const char *id, bool is_whole,
                                struct dg_error *error)
{
    char path[DG_PATH_CAP];
    DIR *folder = dg_folder_open(dir);
    enum dg_err err = folder ? DG_OK : dg_error_errno(error, "cannot read %s", dir);
    for (struct dirent *item; folder && (item = readdir(folder));)
        if (is_part_of(item->d_name, id, is_whole) &&
            dg_folder_path(dir, item->d_name, path, NULL) == DG_OK &&
            remove_file(path, error) != DG_OK)
            err = DG_ERR_IO;
    if (folder)
        closedir(folder);
    return err;
}

/* The files of a job that was removed. It stays in the list until they are gone. */
struct unlinking {
    struct dg_offload_task task;
    struct dg_list link;
    struct dg_shared_jobs *shared;
    char id[DG_BULK_ID_LEN + 1], dir[DG_BULK_PATH_MAX];
    bool is_busy, was_logged;
    enum dg_err err;
    struct dg_error error;
};

static void run_unlink(struct dg_offload_task *task)
{
    /* first the file that makes it a job */
    static const char *const kinds[] = {"json", "in", "out", "file"};
    struct unlinking *unlinking = (struct unlinking *)task;
    char path[DG_BULK_PATH_MAX];
    unlinking->err = DG_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (dg_bulk_path(path, unlinking->dir, unlinking->id, kinds[i]) == DG_OK &&
            remove_file(path, &unlinking->error) != DG_OK)
            unlinking->err = DG_ERR_IO;
    const enum dg_err err = unlink_parts(unlinking->dir, unlinking->id, false, &unlinking->error);
    unlinking->err = err ? err : unlinking->err;
}

static void free_unlinking(struct unlinking *unlinking)
{
    dg_list_unlink(&unlinking->link);
    dg_free(unlinking);
}

static void on_unlinked(struct dg_offload_task *task)
{
    struct unlinking *unlinking = (struct unlinking *)task;
    unlinking->is_busy = false;
    if (!unlinking->err) {
        free_unlinking(unlinking);
        return;
    }
    if (!unlinking->was_logged)
        dg_log_event(
            unlinking->shared->bulk->log, DG_LOG_ERROR, "bulk",
            DG_LOG_FIELDS(dg_log_str("job", unlinking->id), dg_log_err(unlinking->err)),
            "files of a job that was removed are still there; their removal is tried again: %s",
            dg_error_text(&unlinking->error, unlinking->err));
    unlinking->was_logged = true;
}

static void try_unlinking(struct unlinking *unlinking)
{
    if (!unlinking->is_busy)
        unlinking->is_busy = dg_offload_submit(unlinking->shared->bulk->files, &unlinking->task,
                                               run_unlink, on_unlinked) == DG_OK;
}

static void unlink_files(struct dg_bulk *bulk, const char *id)
{
    struct unlinking *unlinking = dg_try_calloc(1, sizeof *unlinking);
    if (!unlinking)
        return; /* litter, which a later start removes */
    unlinking->shared = bulk->shared;
    memcpy(unlinking->id, id, DG_BULK_ID_LEN);
    snprintf(unlinking->dir, sizeof unlinking->dir, "%s", bulk->opts.dir);
    dg_list_link_last(&bulk->shared->unlinkings, &unlinking->link);
    try_unlinking(unlinking);
}

/* ---- What the table says --------------------------------------------------------------------- */

static void forget(struct dg_bulk_job *job)
{
    struct dg_bulk *bulk = job->bulk;
    dg_bulk_hold(job);
    dg_list_unlink(&job->link);
    dg_list_init(&job->link);
    bulk->n_jobs--;
    bulk->has_news = true;
    job->is_removed = true;
    dg_bulk_release(job);
}

static void end_parts(struct dg_shared_jobs *shared, const char *id);

/* The job was removed, here or on another server. Every server removes the files, because one that
 * still wrote to them would leave something there: its files' thread does the writing first. */
static void take_removal(struct dg_bulk_job *job)
{
    end_parts(job->bulk->shared, job->id);
    unlink_files(job->bulk, job->id);
    forget(job);
}

static bool is_hex(struct dg_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("0123456789abcdef", text.ptr[i]) || text.ptr[i] == '\0')
            return false;
    return true;
}

/* A row that cannot be read changes nothing. */
static void read_ended(struct dg_bulk_job *job, struct dg_span meta)
{
    struct dg_error error = DG_ERROR_NONE;
    job->bulk->has_news = true;
    if (meta.len > 0 && dg_bulk_read_row(job, meta, false, &error) != DG_OK)
        dg_log_event(job->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id)),
                     "a job's ID.json cannot be read: %s", dg_error_text(&error, DG_ERR_FORMAT));
}

static void run_finish(struct dg_bulk *bulk, struct dg_bulk_job *job, struct dg_span meta,
                       const char *entry, dg_redis_table_fn fn, void *ctx);

/* A job that is over stays over. If Redis lost its end, and a server that did not know let the
 * job begin anew, the others are told again. */
static void take_row_of_ended(struct dg_bulk_job *job, const struct dg_redis_table_row *row)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_buf ended;
    dg_buf_init(&ended, DG_BULK_META_MAX);
    enum dg_err err = dg_bulk_put_meta(job, &ended);
    if (!err)
        err = dg_bulk_read_row(job, row->text, false, &error);
    if (!err)
        job->version = row->version;
    if (!dg_bulk_is_over(job)) {
        read_ended(job, dg_buf_span(&ended));
        run_finish(job->bulk, job, dg_buf_span(&ended), "", dg_redis_table_ignore, NULL);
    }
    dg_buf_deinit(&ended);
}

static void take_row(struct dg_bulk *bulk, const struct dg_redis_table_row *row)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_job *job = dg_bulk_find(bulk, row->id);
    if (row->text.len == 0) {
        if (job)
            take_removal(job);
        return;
    }
    char id[DG_BULK_ID_LEN + 1];
    snprintf(id, sizeof id, "%.*s", DG_BULK_ID_LEN, row->id.ptr);
    if (job && dg_bulk_is_over(job)) {
        take_row_of_ended(job, row);
        return;
    }
    struct dg_bulk_job *made = job ? NULL : dg_bulk_job_new(bulk, id);
    enum dg_err err =
        job || made ? dg_bulk_read_row(job ? job : made, row->text, !job, &error) : DG_ERR_NOMEM;
    if (!err && made)
        dg_bulk_link(made);
    if (!err)
        (job ? job : made)->version = row->version;
    bulk->has_news = true;
    if (!err)
        return;
    dg_log_event(bulk->log, DG_LOG_ERROR, "bulk", DG_LOG_FIELDS(dg_log_str("job", id)),
                 "a job's row in Redis cannot be read: %s", dg_error_text(&error, err));
    if (made) {
        made->is_removed = true;
        dg_bulk_hold(made);
        dg_bulk_release(made);
    }
}

/* Reads a row "DONE FAILED BYTES". */
static void take_progress(struct dg_bulk *bulk, const struct dg_redis_table_row *row)
{
    struct dg_bulk_job *job = dg_bulk_find(bulk, dg_span_sub(row->id, 0, DG_BULK_ID_LEN));
    char text[80];
    uint64_t done, failed, bytes;
    snprintf(text, sizeof text, "%.*s", (int)(row->text.len < 79 ? row->text.len : 79),
             row->text.ptr);
    if (!job || dg_bulk_is_over(job) ||
        sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &done, &failed, &bytes) != 3)
        return;
    job->n_done = done < job->n_lines ? (size_t)done : job->n_lines;
    job->n_failed = failed < job->n_done ? (size_t)failed : job->n_done;
    job->out_bytes = bytes;
    job->state = done > 0 ? DG_BULK_RUNNING : DG_BULK_WAITING;
}

static void apply(void *user, const struct dg_redis_table_row *rows, size_t n)
{
    struct dg_bulk *bulk = user;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].id.len < DG_BULK_ID_LEN || !is_hex(dg_span_sub(rows[i].id, 0, DG_BULK_ID_LEN)))
            continue;
        if (rows[i].id.len == DG_BULK_ID_LEN)
            take_row(bulk, &rows[i]);
        else
            take_progress(bulk, &rows[i]);
    }
    dg_redis_table_applied(bulk->shared->table);
}

static void reset(void *user)
{
    struct dg_bulk *bulk = user;
    for (struct dg_list *at = bulk->jobs.next; at != &bulk->jobs; at = at->next)
        DG_LIST_ITEM(at, struct dg_bulk_job, link)->version = 0;
}

bool dg_shared_jobs_are_current(const struct dg_shared_jobs *shared)
{
    return dg_redis_table_is_current(shared->table);
}

/* ---- A table that begins --------------------------------------------------------------------- */

/* For a job that Redis does not know any more, or whose parts are lost: its input is cut again,
 * unless ID.json says that it is over. */
struct revival {
    struct dg_offload_task task;
    struct dg_bulk_job *job; /* counted as a user of the job */
    char entry[ENTRY_MAX];   /* the entry that is acknowledged with it; or "" */
    struct dg_buf parts, meta;
    enum dg_err err;
    struct dg_error error;
};

static void free_revival(struct revival *revival)
{
    struct dg_bulk_job *job = revival->job;
    dg_buf_deinit(&revival->parts);
    dg_buf_deinit(&revival->meta);
    dg_free(revival);
    dg_bulk_release(job);
}

/* If the client was told that the job was not accepted, and has sent it again, this job is not
 * wanted. */
static void on_resubmitted(void *ctx, enum dg_err err, int64_t more)
{
    struct revival *revival = ctx;
    struct dg_bulk_job *job = revival->job;
    if (err == DG_ERR_EXISTS && more == DG_SHARED_JOBS_OTHER && !job->is_removed &&
        job->version == 0)
        take_removal(job);
    free_revival(revival);
}

static void run_revival(struct dg_offload_task *task)
{
    struct revival *revival = (struct revival *)task;
    struct dg_map_file file = {0};
    size_t n_parts;
    revival->err = dg_map_file_open(&file, revival->job->in_path, SIZE_MAX / 2, &revival->error);
    if (!revival->err)
        revival->err = dg_shared_jobs_cut(dg_span_make((const char *)file.bytes, file.len),
                                          revival->job->n_lines, &revival->parts, &n_parts);
    dg_map_file_close(&file);
    if (!revival->err && dg_map_file_read(&file, revival->job->meta_path, DG_BULK_META_MAX,
                                          &revival->error) == DG_OK) {
        revival->err = dg_buf_append(&revival->meta, file.bytes, file.len);
        dg_map_file_close(&file);
    }
}

static void put_row(struct dg_bulk_job *job);

static void on_revived(struct dg_offload_task *task)
{
    struct revival *revival = (struct revival *)task;
    struct dg_bulk_job *job = revival->job;
    if (revival->err)
        dg_log_event(job->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_err(revival->err)),
                     "a job that Redis has lost cannot be started again: %s",
                     dg_error_text(&revival->error, revival->err));
    else if (!job->is_removed && !dg_bulk_is_over(job) && (job->version == 0 || *revival->entry)) {
        if (job->version == 0)
            read_ended(job, dg_buf_span(&revival->meta));
        if (!dg_bulk_is_over(job)) {
            submit(job->bulk, job, dg_buf_span(&revival->parts), revival->entry, on_resubmitted,
                   revival);
            return;
        }
        put_row(job);
    }
    free_revival(revival);
}

static void revive(struct dg_bulk_job *job, const char *entry)
{
    struct revival *revival = dg_try_calloc(1, sizeof *revival);
    if (!revival)
        return;
    revival->job = job;
    snprintf(revival->entry, sizeof revival->entry, "%s", entry);
    dg_buf_init(&revival->meta, DG_BULK_META_MAX);
    dg_buf_init(&revival->parts, DG_REDIS_TABLE_TEXT);
    dg_bulk_hold(job);
    if (dg_offload_submit(job->bulk->files, &revival->task, run_revival, on_revived) == DG_OK)
        return;
    revival->err = DG_ERR_BUSY;
    on_revived(&revival->task);
}

static void put_row(struct dg_bulk_job *job)
{
    struct dg_buf meta;
    dg_buf_init(&meta, DG_BULK_META_MAX);
    if (dg_bulk_put_meta(job, &meta) == DG_OK)
        dg_redis_table_put(job->bulk->shared->table, dg_span_cstr(job->id), dg_buf_span(&meta), 0,
                           dg_redis_table_ignore, NULL);
    dg_buf_deinit(&meta);
}

static void complete(void *user)
{
    struct dg_bulk *bulk = user;
    for (struct dg_list *at = bulk->jobs.next, *next; at != &bulk->jobs; at = next) {
        struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        next = at->next;
        if (!job->version && dg_bulk_is_over(job))
            put_row(job);
        else if (!job->version)
            revive(job, "");
    }
}

static const struct dg_redis_table_ops table_ops = {
    .reset = reset, .apply = apply, .complete = complete};

/* ---- Files of parts -------------------------------------------------------------------------- */

enum dg_err dg_shared_jobs_part_path(const struct dg_bulk_job *job, unsigned number,
                                     char path[DG_BULK_PATH_MAX])
{
    const int len = snprintf(path, DG_BULK_PATH_MAX, "%.*sp%06u", (int)strlen(job->in_path) - 2,
                             job->in_path, number);
    return len < 0 || len >= DG_BULK_PATH_MAX ? DG_ERR_RANGE : DG_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static struct dg_bulk_job *job_of(const struct dg_bulk_part *part)
{
    return dg_bulk_find(part->bulk, dg_span_cstr(part->id));
}

static void drop_work(struct dg_bulk_part *part)
{
    struct dg_bulk_job *work = part->work;
    if (!work)
        return;
    part->work = NULL;
    work->part = NULL;
    work->state = DG_BULK_CANCELLED; /* what still comes from it is thrown away */
    dg_bulk_halt(work);
    dg_list_unlink(&work->link);
    dg_list_init(&work->link);
    work->is_removed = true;
    dg_bulk_release(work); /* counted as a user since it was made */
}

/* Frees the part. Its entry in the stream was acknowledged, or stays for others to claim. */
static void free_part(struct dg_bulk_part *part)
{
    drop_work(part);
    dg_list_unlink(&part->link);
    dg_buf_deinit(&part->meta);
    dg_free(part);
}

static void acknowledge(const struct dg_bulk_part *part)
{
    const struct dg_span stream = streams[part->is_document].name;
    struct dg_span ack[] = {DG_SPAN("XACK"), stream, DG_SPAN("servers"), dg_span_cstr(part->entry)};
    struct dg_span del[] = {DG_SPAN("XDEL"), stream, dg_span_cstr(part->entry)};
    (void)dg_redis_ask(part->bulk->shared->redis, ack, 4, ASK_MS, NULL, NULL);
    (void)dg_redis_ask(part->bulk->shared->redis, del, 3, ASK_MS, NULL, NULL);
}

/* Ends the parts of a job that was removed; those that a task works on end when that is done. */
static void end_parts(struct dg_shared_jobs *shared, const char *id)
{
    for (struct dg_list *at = shared->parts.next, *next; at != &shared->parts; at = next) {
        struct dg_bulk_part *part = DG_LIST_ITEM(at, struct dg_bulk_part, link);
        next = at->next;
        if (part->is_busy || strcmp(part->id, id) != 0)
            continue;
        acknowledge(part);
        free_part(part);
    }
}

/* Begins a separate job for a stretch of the input; its result is a file that nobody else
 * writes. */
static void begin_part(struct dg_bulk_part *part, const struct dg_bulk_job *job)
{
    struct dg_shared_jobs *shared = part->bulk->shared;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_bulk_job *work = dg_bulk_job_new(part->bulk, part->id);
    enum dg_err err = work ? dg_bulk_read_options(work, job->options_json, &error) : DG_ERR_NOMEM;
    if (!err)
        err = dg_bulk_own_models(work, job->options.request.only, job->options.request.n_only);
    if (!err)
        err = dg_shared_jobs_part_path(job, part->number, part->path);
    if (!err && snprintf(work->out_path, sizeof work->out_path, "%s.%s.%" PRIu64, part->path,
                         shared->server, shared->n_files++) >= (int)sizeof work->out_path)
        err = DG_ERR_RANGE;
    if (!err) {
        memcpy(work->owner, job->owner, sizeof work->owner);
        memcpy(work->address, job->address, sizeof work->address);
        memcpy(part->other, work->out_path, sizeof part->other);
        memcpy(work->document_name, job->document_name, sizeof work->document_name);
        work->client = job->client;
        work->format = job->format;
        work->n_lines = job->n_lines;
        work->in_bytes = job->in_bytes;
        work->in_at = work->gathered_at = work->written_at = part->begin;
        work->in_end = part->end;
        work->n_begun = work->n_gathered = work->n_done = part->lines_before;
        work->state = DG_BULK_RUNNING;
        work->part = part;
        work->is_part = true;
        part->work = work;
        part->n_parts = job->n_parts;
        part->state = RUNNING;
        dg_bulk_hold(work);
        return;
    }
    if (work) {
        work->is_removed = true;
        dg_bulk_hold(work);
        dg_bulk_release(work);
    }
}

static void step(struct dg_bulk_part *part);

static void on_placed(struct dg_offload_task *task)
{
    struct dg_bulk_part *part = (struct dg_bulk_part *)task;
    part->is_busy = false;
    if (part->err)
        dg_log_event(part->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", part->id), dg_log_uint("part", part->number)),
                     "a part of a job is left to other servers: %s",
                     dg_error_text(&part->error, part->err));
    struct dg_bulk_job *job = job_of(part);
    if (part->err == DG_ERR_NOT_FOUND && part->state == ASSEMBLING && job)
        revive(job, part->entry); /* a file is lost: all parts are done once more */
    part->state = part->err ? OVER : part->state == PLACING ? COUNTING : FINISHING;
    step(part);
}

static void run_place(struct dg_offload_task *task)
{
    struct dg_bulk_part *part = (struct dg_bulk_part *)task;
    part->err = rename(part->other, part->path) == 0
                    ? dg_file_out_sync_dir(part->dir, &part->error)
                    : dg_error_errno(&part->error, "cannot rename %s", part->other);
}

/* Appends a file to one that is open. */
static enum dg_err append_file(int *out, const char *out_path, const char *path, char *piece,
                               struct dg_error *error)
{
    int in = -1;
    size_t n = 1;
    enum dg_err err = DG_OK;
    for (uint64_t at = 0; !err && n > 0; at += n) {
        err = dg_bulk_file_read(&in, path, at, piece, PIECE, &n, error);
        if (!err && n > 0)
            err = dg_bulk_file_append(out, out_path, dg_span_make(piece, n), false, error);
    }
    if (in >= 0)
        close(in);
    return err;
}

/* Checks that the result has a line for each line of the input; otherwise a part has lost its
 * file. */
static enum dg_err check_result(struct dg_bulk_part *part, const char *in_path)
{
    struct dg_bulk_resume found;
    enum dg_err err =
        dg_bulk_file_resume(in_path, part->other, part->is_text, &found, &part->error);
    if (!err && found.n_done != part->job_lines)
        err = dg_error_set(&part->error, DG_ERR_NOT_FOUND, "the parts hold %zu lines, expected %zu",
                           found.n_done, part->job_lines);
    part->n_lines = found.n_done;
    part->n_failed = found.n_failed;
    part->out_bytes = found.out_bytes;
    return err;
}

static void run_assemble(struct dg_offload_task *task)
{
    struct dg_bulk_part *part = (struct dg_bulk_part *)task;
    struct dg_bulk_job names = {.n_parts = 0};
    char path[DG_BULK_PATH_MAX];
    char *piece = dg_try_malloc(PIECE);
    int out = -1;
    snprintf(names.in_path, sizeof names.in_path, "%.*sin", (int)strlen(part->path) - 3,
             part->path); /* ID.out */
    part->err = piece ? DG_OK : DG_ERR_NOMEM;
    for (unsigned k = 0; !part->err && k < part->n_parts; k++) {
        part->err = dg_shared_jobs_part_path(&names, k, path);
        if (!part->err)
            part->err = append_file(&out, part->other, path, piece, &part->error);
    }
    if (!part->err)
        part->err =
            dg_bulk_file_append(&out, part->other, (struct dg_span){"", 0}, true, &part->error);
    if (out >= 0)
        close(out);
    if (!part->err)
        part->err = check_result(part, names.in_path);
    if (!part->err)
        run_place(task);
    if (part->err)
        unlink(part->other);
    dg_free(piece);
}

static void submit_task(struct dg_bulk_part *part, dg_offload_fn run, dg_offload_fn done)
{
    memcpy(part->dir, part->bulk->opts.dir, strlen(part->bulk->opts.dir) + 1);
    part->error = (struct dg_error)DG_ERROR_NONE;
    part->is_busy = dg_offload_submit(part->bulk->files, &part->task, run, done) == DG_OK;
}

static void on_counted(void *ctx, enum dg_err err, int64_t left)
{
    struct dg_bulk_part *part = ctx;
    struct dg_shared_jobs *shared = part->bulk->shared;
    part->is_busy = false;
    if (err)
        return; /* tried again in a second */
    part->state = left == 0 ? ASSEMBLING : OVER;
    const struct dg_bulk_job *job = job_of(part);
    if (left == 0 && job) {
        memcpy(part->path, job->out_path, sizeof part->path);
        part->n_parts = job->n_parts;
        part->job_lines = job->n_lines;
        part->is_text = job->format == DG_BULK_TEXT;
        snprintf(part->other, sizeof part->other, "%.*s.pout.%s.%" PRIu64,
                 (int)strlen(job->out_path) - 4, job->out_path, shared->server, shared->n_files++);
    }
    if (!shared->is_closed)
        step(part);
}

static void count(struct dg_bulk_part *part)
{
    struct job_keys keys;
    char numbers[4][24];
    struct dg_redis_table_script script = make_script(
        dg_span_make(count_script, sizeof count_script - 1), part->id, part->is_document, &keys);
    snprintf(numbers[0], sizeof numbers[0], "%u", part->number);
    snprintf(numbers[1], sizeof numbers[1], "%zu", part->n_lines);
    snprintf(numbers[2], sizeof numbers[2], "%zu", part->n_failed);
    snprintf(numbers[3], sizeof numbers[3], "%" PRIu64, part->out_bytes);
    for (size_t i = 0; i < 4; i++)
        script.args[1 + i] = dg_span_cstr(numbers[i]);
    script.args[5] = dg_span_cstr(part->entry);
    script.n_args = 6;
    script.is_for_us = true;
    part->is_busy = true;
    dg_redis_table_run(part->bulk->shared->table, &script, on_counted, part);
}

static void run_sweep(struct dg_offload_task *task)
{
    const struct dg_bulk_part *part = (const struct dg_bulk_part *)task;
    (void)unlink_parts(part->dir, part->id, true, NULL); /* what stays goes with its job */
}

static void on_swept(struct dg_offload_task *task)
{
    struct dg_bulk_part *part = (struct dg_bulk_part *)task;
    part->is_busy = false;
    step(part);
}

/* Makes the row of a job that ends in this state. */
static enum dg_err put_ended(struct dg_bulk_job *job, enum dg_bulk_state state,
                             struct numbers numbers, struct dg_buf *meta)
{
    if (state == DG_BULK_FAILED)
        job->err = dg_error_set(&job->error, DG_ERR_INTERNAL,
                                "one server after another ended while it worked on the same part");
    job->finished_s = dg_clock_wall(&job->bulk->clock) / DG_CLOCK_S;
    return put_row_of(job, state, numbers, meta);
}

static void run_finish(struct dg_bulk *bulk, struct dg_bulk_job *job, struct dg_span meta,
                       const char *entry, dg_redis_table_fn fn, void *ctx)
{
    struct job_keys keys;
    char version[24];
    struct dg_redis_table_script script = make_script(
        dg_span_make(finish_script, sizeof finish_script - 1), job->id, is_document(job), &keys);
    snprintf(version, sizeof version, "%" PRIu64, job->version);
    script.args[1] = dg_span_cstr(version);
    script.args[2] = meta;
    script.args[3] = dg_span_cstr(entry);
    script.n_args = 4;
    dg_redis_table_run(bulk->shared->table, &script, fn, ctx);
}

static void on_finished(void *ctx, enum dg_err err, int64_t more)
{
    struct dg_bulk_part *part = ctx;
    struct dg_bulk *bulk = part->bulk;
    (void)more;
    part->is_busy = false;
    if (err && err != DG_ERR_EXISTS)
        return; /* tried again in a second */
    if (err) {
        step(part); /* the job was cancelled or removed */
        return;
    }
    struct dg_bulk_job *job = job_of(part);
    part->state = OVER;
    if (job) {
        read_ended(job, dg_buf_span(&part->meta)); /* although Redis may be unreachable again */
        dg_bulk_save(job);
        dg_log_event(bulk->log, DG_LOG_NOTICE, "bulk",
                     DG_LOG_FIELDS(dg_log_str("job", job->id), dg_log_uint("lines", job->n_done),
                                   dg_log_uint("failed", job->n_failed)),
                     "job %s", dg_bulk_state_words[job->state]);
    }
    if (!bulk->shared->is_closed)
        submit_task(part, run_sweep, on_swept);
    if (!part->is_busy)
        step(part);
}

static void finish(struct dg_bulk_part *part, struct dg_bulk_job *job)
{
    const struct numbers numbers = {part->n_lines, part->n_failed, part->out_bytes};
    dg_buf_clear(&part->meta);
    if (put_ended(job, DG_BULK_DONE, numbers, &part->meta) != DG_OK)
        return; /* there is no memory; tried again in a second */
    part->is_busy = true;
    run_finish(part->bulk, job, dg_buf_span(&part->meta), part->entry, on_finished, part);
}

/* Continues the part; it may no longer exist then. */
static void step(struct dg_bulk_part *part)
{
    struct dg_bulk_job *job = job_of(part);
    if (part->is_busy || part->bulk->shared->is_closed)
        return;
    const bool is_unknown = !job && uv_now(part->bulk->shared->loop) >= part->taken_ms + UNKNOWN_MS;
    if (part->state != OVER && (is_unknown || (job && dg_bulk_is_over(job)))) {
        acknowledge(part);
        part->state = OVER;
    }
    if (part->state == OVER) {
        free_part(part);
        return;
    }
    if (!job)
        return;
    if (part->state == NEW)
        begin_part(part, job);
    else if (part->state == PLACING)
        submit_task(part, run_place, on_placed);
    else if (part->state == COUNTING)
        count(part);
    else if (part->state == ASSEMBLING)
        submit_task(part, run_assemble, on_placed);
    else if (part->state == FINISHING)
        finish(part, job);
}

void dg_shared_jobs_part_over(struct dg_bulk_job *work)
{
    struct dg_bulk_part *part = work->part;
    if (!part)
        return;
    part->n_lines = work->n_done - part->lines_before;
    part->n_failed = work->n_failed;
    part->out_bytes = work->out_bytes;
    part->state = work->state == DG_BULK_DONE ? PLACING : OVER;
}

/* Ends the job of a part at which servers die, so that it does not end all servers. */
static void give_up(struct dg_bulk_part *part)
{
    dg_log_event(part->bulk->log, DG_LOG_ERROR, "bulk",
                 DG_LOG_FIELDS(dg_log_str("job", part->id), dg_log_uint("part", part->number),
                               dg_log_uint("servers", part->tries)),
                 "a job fails: one server after another ended while it worked on the same part");
    dg_shared_jobs_end(part->bulk, part->id, DG_BULK_FAILED, false, dg_redis_table_ignore, NULL);
}

/* ---- Taking ---------------------------------------------------------------------------------- */

/* KEYS: the stream, the rows of the table. ARGV: our name, how many parts we want, CLAIM_MS, the
 * entries that we have. Notes that this server is alive, and returns entries: id, job, part, how
 * many servers had it. Entries of jobs that are over or removed, of which there may be a thousand
 * before those of the next job, are acknowledged here. */
static const char work_script[] =
    "if redis.call('EXISTS', KEYS[1]) == 0 then return {} end\n"
    "redis.pcall('XGROUP', 'CREATE', KEYS[1], 'servers', '0')\n"
    "for i = 4, #ARGV do\n"
    "  redis.call('XCLAIM', KEYS[1], 'servers', ARGV[1], 0, ARGV[i], 'JUSTID')\n"
    "end\n"
    "local out, wanted, seen = {}, tonumber(ARGV[2]), 0\n"
    "local function is_over(job)\n"
    "  local row = redis.call('HGET', KEYS[2], job)\n"
    "  return row and not string.find(row, '\"state\":\"waiting\"', 1, true)\n"
    "end\n"
    "local function take(entry)\n"
    "  if is_over(entry[2][2]) then\n"
    "    redis.call('XACK', KEYS[1], 'servers', entry[1])\n"
    "    redis.call('XDEL', KEYS[1], entry[1])\n"
    "    return\n"
    "  end\n"
    "  local had = redis.call('XPENDING', KEYS[1], 'servers', entry[1], entry[1], 1)\n"
    "  out[#out + 1] = entry[1]\n"
    "  out[#out + 1] = entry[2][2]\n"
    "  out[#out + 1] = entry[2][4]\n"
    "  out[#out + 1] = tostring(had[1] and had[1][4] or 1)\n"
    "  wanted = wanted - 1\n"
    "end\n"
    "local function take_all(entries)\n"
    "  for _, entry in ipairs(entries) do\n"
    "    if entry and entry[2] then take(entry) end\n"
    "  end\n"
    "  seen = seen + #entries\n"
    "  return #entries > 0\n"
    "end\n"
    "local more = true\n"
    "while more and wanted > 0 and seen < 1000 do\n"
    "  more = take_all(redis.call('XAUTOCLAIM', KEYS[1], 'servers', ARGV[1], ARGV[3], '0',\n"
    "                             'COUNT', wanted)[2])\n"
    "  if wanted > 0 then\n"
    "    local read = redis.call('XREADGROUP', 'GROUP', 'servers', ARGV[1], 'COUNT', wanted,\n"
    "                            'STREAMS', KEYS[1], '>')\n"
    "    more = read and take_all(read[1][2]) or more\n"
    "  end\n"
    "end\n"
    "return out\n";

static bool has_part(const struct dg_shared_jobs *shared, struct dg_span entry)
{
    for (struct dg_list *at = shared->parts.next; at != &shared->parts; at = at->next)
        if (dg_span_eq(entry, dg_span_cstr(DG_LIST_ITEM(at, struct dg_bulk_part, link)->entry)))
            return true;
    return false;
}

/* Takes on a part that the texts of an entry describe. False: they make no sense. */
static bool take_part(struct dg_shared_jobs *shared, bool of_documents, const struct dg_span *texts)
{
    char text[100];
    size_t before;
    struct dg_bulk_part *part = NULL;
    if (texts[0].len >= ENTRY_MAX || texts[1].len != DG_BULK_ID_LEN || !is_hex(texts[1]) ||
        texts[2].len >= sizeof text)
        return false;
    if (has_part(shared, texts[0]) || !(part = dg_try_calloc(1, sizeof *part)))
        return true;
    snprintf(text, sizeof text, "%.*s", (int)texts[2].len, texts[2].ptr);
    if (sscanf(text, "%u %" SCNu64 " %" SCNu64 " %zu", &part->number, &part->begin, &part->end,
               &before) != 4 ||
        part->end < part->begin || part->number > 999999) {
        dg_free(part);
        return false;
    }
    part->lines_before = before;
    part->bulk = shared->bulk;
    part->is_document = of_documents;
    part->taken_ms = uv_now(shared->loop);
    memcpy(part->entry, texts[0].ptr, texts[0].len);
    memcpy(part->id, texts[1].ptr, texts[1].len);
    for (size_t i = 0; i < texts[3].len && i < 9; i++)
        part->tries = part->tries * 10 + (uint64_t)(texts[3].ptr[i] - '0');
    dg_buf_init(&part->meta, DG_BULK_META_MAX);
    dg_list_link_last(&shared->parts, &part->link);
    if (part->tries > TRIES_MAX)
        give_up(part);
    step(part);
    return true;
}

static void on_work(void *ctx, const struct dg_redis_reply *reply)
{
    struct asking *asking = ctx;
    struct dg_shared_jobs *shared = asking->shared;
    asking->ask = NULL;
    if (shared->is_closed || reply->kind == DG_REDIS_NONE)
        return;
    bool is_good = reply->kind == DG_REDIS_TEXTS && reply->n_texts % 4 == 0;
    for (size_t i = 0; is_good && i < reply->n_texts; i += 4)
        is_good = take_part(shared, asking->is_document, reply->texts + i);
    if (!is_good && !shared->said_nonsense) {
        shared->said_nonsense = true;
        dg_log_event(shared->bulk->log, DG_LOG_ERROR, "bulk",
                     DG_LOG_FIELDS(dg_log_span("said", reply->text)),
                     "the answer of Redis about the parts of jobs cannot be understood");
    }
    if (reply->n_texts > 0)
        dg_bulk_turn(shared->bulk);
}

static bool has_unfinished(const struct dg_bulk *bulk, bool of_documents)
{
    for (struct dg_list *at = bulk->jobs.next; at != &bulk->jobs; at = at->next) {
        const struct dg_bulk_job *job = DG_LIST_ITEM(at, struct dg_bulk_job, link);
        if (!dg_bulk_is_over(job) && is_document(job) == of_documents)
            return true;
    }
    return false;
}

static void ask_for_work(struct asking *asking)
{
    struct dg_shared_jobs *shared = asking->shared;
    const size_t held_max = streams[asking->is_document].held_max;
    struct dg_span args[5 + 3 + DOCUMENTS_HELD_MAX] = {
        DG_SPAN("EVAL"),
        dg_span_make(work_script, sizeof work_script - 1),
        DG_SPAN("2"),
        streams[asking->is_document].name,
        DG_SPAN("dragoman:1:jobs:rows"),
        dg_span_cstr(shared->server)};
    char wanted[24], claim[16];
    size_t n = 8, n_parts = 0;
    for (struct dg_list *at = shared->parts.next; at != &shared->parts; at = at->next) {
        const struct dg_bulk_part *part = DG_LIST_ITEM(at, struct dg_bulk_part, link);
        if (part->is_document != asking->is_document)
            continue;
        n_parts++;
        if (n < sizeof args / sizeof *args)
            args[n++] = dg_span_cstr(part->entry);
    }
    if (asking->ask || (n_parts == 0 && !has_unfinished(shared->bulk, asking->is_document)))
        return;
    snprintf(wanted, sizeof wanted, "%zu", n_parts < held_max ? held_max - n_parts : 0);
    snprintf(claim, sizeof claim, "%d", CLAIM_MS);
    args[6] = dg_span_cstr(wanted);
    args[7] = dg_span_cstr(claim);
    asking->ask = dg_redis_ask(shared->redis, args, n, ASK_MS, on_work, asking);
}

void dg_shared_jobs_turn(struct dg_bulk *bulk, bool tries_again)
{
    struct dg_shared_jobs *shared = bulk->shared;
    for (struct dg_list *at = shared->unlinkings.next; tries_again && at != &shared->unlinkings;
         at = at->next)
        try_unlinking(DG_LIST_ITEM(at, struct unlinking, link));
    for (struct dg_list *at = shared->parts.next, *next; at != &shared->parts; at = next) {
        struct dg_bulk_part *part = DG_LIST_ITEM(at, struct dg_bulk_part, link);
        struct dg_bulk_job *work = part->work;
        next = at->next;
        if (part->state == RUNNING && work &&
            (!work->waits_for || (tries_again && dg_bulk_can_try(work)))) {
            if (work->lacks > 0)
                work->waits_for = DG_BULK_NO_WAIT;
            work->lacks = 0;
            dg_bulk_run(work);
        }
        const bool is_placed = part->state == PLACING || part->state == OVER;
        if (tries_again || is_placed || part->state == NEW)
            step(part);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct dg_shared_jobs *shared = timer->data;
    for (size_t i = 0; i < N_STREAMS; i++)
        ask_for_work(&shared->asking[i]);
    dg_bulk_turn(shared->bulk);
}

/* ---- Ending one ------------------------------------------------------------------------------ */

struct ending {
    struct dg_bulk *bulk;
    struct dg_shared_jobs *shared;
    char id[DG_BULK_ID_LEN + 1];
    enum dg_bulk_state state;
    bool removes;
    int n_tries;
    dg_redis_table_fn fn;
    void *ctx;
};

static void try_end(struct ending *ending);

static void on_ended(void *ctx, enum dg_err err, int64_t more)
{
    struct ending *ending = ctx;
    if (err == DG_ERR_EXISTS && !ending->shared->is_closed && ++ending->n_tries < END_TRIES) {
        try_end(ending);
        return;
    }
    if (!err && !ending->shared->is_closed) {
        struct dg_bulk_job *job = dg_bulk_find(ending->bulk, dg_span_cstr(ending->id));
        if (job && ending->removes)
            take_removal(job); /* Redis has not told it yet */
        else if (job)
            dg_bulk_save(job);
    }
    dg_redis_table_fn fn = ending->fn;
    void *fn_ctx = ending->ctx;
    dg_free(ending);
    fn(fn_ctx, err, more);
}

static void try_end(struct ending *ending)
{
    struct dg_bulk *bulk = ending->bulk;
    struct dg_bulk_job *job = dg_bulk_find(bulk, dg_span_cstr(ending->id));
    struct dg_buf meta;
    dg_buf_init(&meta, DG_BULK_META_MAX);
    enum dg_err err = DG_OK;
    const bool is_needed = job && (ending->removes || !dg_bulk_is_over(job));
    if (is_needed && !ending->removes)
        err = put_ended(job, ending->state,
                        (struct numbers){job->n_done, job->n_failed, job->out_bytes}, &meta);
    if (err || !is_needed)
        on_ended(ending, err == DG_ERR_EXISTS ? DG_ERR_NOMEM : err, 0);
    else
        run_finish(bulk, job, dg_span_make(meta.len ? meta.ptr : "", meta.len), "", on_ended,
                   ending);
    dg_buf_deinit(&meta);
}

void dg_shared_jobs_end(struct dg_bulk *bulk, const char *id, enum dg_bulk_state state,
                        bool removes, dg_redis_table_fn fn, void *ctx)
{
    struct ending *ending = dg_try_calloc(1, sizeof *ending);
    if (!ending) {
        fn(ctx, DG_ERR_NOMEM, 0);
        return;
    }
    *ending = (struct ending){.bulk = bulk,
                              .shared = bulk->shared,
                              .state = state,
                              .removes = removes,
                              .fn = fn,
                              .ctx = ctx};
    memcpy(ending->id, id, DG_BULK_ID_LEN);
    try_end(ending);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void dg_shared_jobs_open(struct dg_bulk *bulk, uv_loop_t *loop, struct dg_redis *redis)
{
    unsigned char random[8];
    struct dg_shared_jobs *shared = dg_xcalloc(1, sizeof *shared);
    shared->bulk = bulk;
    shared->redis = redis;
    shared->loop = loop;
    for (size_t i = 0; i < N_STREAMS; i++)
        shared->asking[i] = (struct asking){.shared = shared, .is_document = i > 0};
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(shared->server, sizeof shared->server, random, sizeof random);
    dg_list_init(&shared->parts);
    dg_list_init(&shared->unlinkings);
    uv_timer_init(loop, &shared->timer);
    shared->timer.data = shared;
    uv_timer_start(&shared->timer, on_timer, WORK_MS, WORK_MS);
    bulk->shared = shared;
    shared->table = dg_redis_table_new(loop, redis, "jobs", &table_ops, bulk, bulk->log);
}

static void on_closed(uv_handle_t *handle)
{
    struct dg_shared_jobs *shared = handle->data;
    shared->is_gone = true;
    if (shared->is_freed)
        dg_free(shared);
}

void dg_shared_jobs_close(struct dg_bulk *bulk)
{
    struct dg_shared_jobs *shared = bulk->shared;
    if (!shared || shared->is_closed)
        return;
    shared->is_closed = true;
    dg_redis_table_close(shared->table);
    for (size_t i = 0; i < N_STREAMS; i++)
        if (shared->asking[i].ask)
            dg_redis_forget(shared->asking[i].ask);
    uv_close((uv_handle_t *)&shared->timer, on_closed);
    for (struct dg_list *at = shared->parts.next; at != &shared->parts; at = at->next)
        drop_work(DG_LIST_ITEM(at, struct dg_bulk_part, link));
}

void dg_shared_jobs_free(struct dg_shared_jobs *shared)
{
    if (!shared)
        return;
    while (!dg_list_is_empty(&shared->parts))
        free_part(DG_LIST_ITEM(shared->parts.next, struct dg_bulk_part, link));
    while (!dg_list_is_empty(&shared->unlinkings)) /* litter, which a later start removes */
        free_unlinking(DG_LIST_ITEM(shared->unlinkings.next, struct unlinking, link));
    dg_redis_table_free(shared->table);
    shared->is_freed = true;
    if (shared->is_gone)
        dg_free(shared);
}
