/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* At most one read of the key file and one turn of the journal are under way. A reload that comes
 * while the file is being read asks for another read after it. */
#include "daemon/keys.h"
#include "access/quota_local.h"
#include "access/shared_keys.h"
#include "base/file/file_out.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "daemon/options.h"
#include "net/loop/redis_table.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    ADDRESSES_MAX = 65536,
    PATH_CAP = 4096,
    TURN_MS = 1000,
    WATCH_MS = 300, /* between looks at a file of shared keys */
    SOON_MS = 1,
    SMALL_FILE = 4096,
    SECRET_MAX = 512,
    TELLING_MAX = 200, /* rows on their way to other servers */
};

/* A worker's task: reads the key file. */
struct reading {
    uv_work_t work;
    struct dg_keys *keys;
    char path[PATH_CAP];
    bool is_told;            /* a reload asked for it; else the file was seen to change */
    struct dg_key_file file; /* what was read; where keys are shared, the loop's thread makes a ring
                                of it */
    struct dg_keyring *ring; /* the ring of what was read; NULL where keys are shared */
    enum dg_err err;
    struct dg_error error;
};

/* A worker's task: saves what the servers know about keys. */
struct saving {
    uv_work_t work;
    struct dg_keys *keys;
    char path[PATH_CAP];
    struct dg_buf text;
    enum dg_err err;
    struct dg_error error;
};

struct dg_keys {
    uv_loop_t *loop;
    struct dg_log *log;
    struct dg_clock clock;
    char path[PATH_CAP];       /* the key file; "": no keys are in use */
    char usage_path[PATH_CAP]; /* "": usage is kept in memory only */
    struct dg_usage *usage;
    struct dg_quota_local *local;
    struct dg_quota quota;
    struct dg_access *access;
    uv_timer_t timer;
    uv_work_t writing;
    struct dg_usage_write write;
    struct reading *reading; /* NULL when no reading is under way */
    bool has_timer, is_gathering, is_writing, read_again, is_closed;
    bool has_failed; /* the last write of the journal failed, and the log has said so */

    /* Where keys are shared. */
    struct dg_shared_keys *common; /* the keys that servers share; NULL: keys are not shared */
    char common_path[PATH_CAP];    /* the file in which the shared keys are kept */
    struct dg_redis_table *table;
    uv_fs_poll_t watch; /* of the key file */
    bool has_watch, told_again;
    size_t n_telling;
    bool is_saving, save_again, said_false;
};

/* ---- The key file ---------------------------------------------------------------------------- */

/* Any thread. */
static enum dg_err read_ring(const char *path, struct dg_error *error, struct dg_keyring **ring)
{
    struct dg_key_file file = {.n = 0};
    enum dg_err err = dg_key_file_load(&file, path, error);
    if (!err)
        err = dg_keyring_new(&file, ring);
    dg_key_file_deinit(&file);
    return err ? dg_error_wrap(error, err, "keys-file") : DG_OK;
}

/* A file without keys locks everybody out where keys are required. If it does not say that it has
 * none on purpose (because the last one was revoked), it was emptied by mistake. Nor does anybody
 * mean to begin to require keys (`is_new`) while there are none. */
static enum dg_err check_ring(const char *path, bool require_key, bool is_new,
                              const struct dg_keyring *ring, struct dg_error *error)
{
    if (!require_key || dg_keyring_len(ring) > 0 || (dg_keyring_is_none(ring) && !is_new))
        return DG_OK;
    return dg_error_set(error, DG_ERR_INVALID,
                        "require-key: %s has no key, so that everybody would be locked out; "
                        "expected one that 'dragoman keys add' wrote",
                        path);
}

/* Enters the changes of the key file into the shared keys, and makes a ring of all of them. Empties
 * `file`. */
static enum dg_err share_file(struct dg_keys *keys, struct dg_key_file *file,
                              struct dg_error *error, struct dg_keyring **ring)
{
    struct dg_key_file all = {.n = 0};
    enum dg_err err = dg_shared_keys_take_file(
        keys->common, file, dg_clock_wall(&keys->clock) / (DG_CLOCK_S / 1000), error);
    if (!err)
        err = dg_shared_keys_make(keys->common, &all);
    if (!err)
        err = dg_keyring_new(&all, ring);
    dg_key_file_deinit(&all);
    dg_key_file_deinit(file);
    return err ? dg_error_wrap(error, err, "keys-file") : DG_OK;
}

static void save_common(struct dg_keys *keys);
static void tell_others(struct dg_keys *keys);

static void use_ring(struct dg_keys *keys, struct dg_keyring *ring)
{
    dg_access_set_ring(keys->access, ring);
    dg_log_event(keys->log, DG_LOG_NOTICE, "keys",
                 DG_LOG_FIELDS(dg_log_uint("keys", dg_access_n_keys(keys->access))), "keys in use");
}

/* Logs a warning if nobody can get in. */
static void warn_if_locked(const struct dg_keys *keys)
{
    if (*keys->path && dg_access_rules(keys->access)->require_key &&
        dg_access_n_keys(keys->access) == 0)
        dg_log_event(keys->log, DG_LOG_WARNING, "keys", DG_LOG_NO_FIELDS,
                     "nobody can get in: require-key is on, and %s has no key; 'dragoman keys add' "
                     "makes one, and a reload takes it into use",
                     keys->path);
}

static void on_read(uv_work_t *work)
{
    struct reading *reading = work->data;
    reading->err = reading->keys->common
                       ? dg_key_file_load(&reading->file, reading->path, &reading->error)
                       : read_ring(reading->path, &reading->error, &reading->ring);
}

static void begin_reading(struct dg_keys *keys, bool is_told);

static void on_have_read(uv_work_t *work, int status)
{
    struct reading *reading = work->data;
    struct dg_keys *keys = reading->keys;
    keys->reading = NULL;
    /* A file that is being written by hand is read when a reload says that it is ready. */
    const bool is_ready = reading->is_told || (!reading->err && reading->file.is_whole);
    if (!reading->err && status == 0 && is_ready && keys->common && !keys->is_closed)
        reading->err = share_file(keys, &reading->file, &reading->error, &reading->ring);
    if (!reading->err && status == 0 && reading->ring && dg_access_n_keys(keys->access) > 0)
        reading->err = check_ring(reading->path, dg_access_rules(keys->access)->require_key, false,
                                  reading->ring, &reading->error);
    /* by now another file is in use */
    if (status != 0 || keys->is_closed || !is_ready || strcmp(reading->path, keys->path) != 0) {
        dg_keyring_free(reading->ring);
    } else if (reading->err) {
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_err(reading->err)),
                     "the old keys stay in use: %s", dg_error_text(&reading->error, reading->err));
        dg_keyring_free(reading->ring);
    } else {
        use_ring(keys, reading->ring);
        warn_if_locked(keys);
    }
    if (keys->common && !reading->err && status == 0 && is_ready && !keys->is_closed) {
        save_common(keys);
        tell_others(keys);
    }
    dg_key_file_deinit(&reading->file);
    dg_free(reading);
    if (keys->read_again && !keys->is_closed)
        begin_reading(keys, keys->told_again);
}

static void begin_reading(struct dg_keys *keys, bool is_told)
{
    if (keys->reading) {
        keys->told_again = is_told || (keys->read_again && keys->told_again);
        keys->read_again = true;
        return;
    }
    keys->read_again = false;
    struct reading *reading = dg_try_calloc(1, sizeof *reading);
    if (reading) {
        reading->keys = keys;
        reading->is_told = is_told;
        reading->work.data = reading;
        memcpy(reading->path, keys->path, sizeof reading->path);
        if (uv_queue_work(keys->loop, &reading->work, on_read, on_have_read) == 0) {
            keys->reading = reading;
            return;
        }
        dg_free(reading);
    }
    dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_NO_FIELDS,
                 "the old keys stay in use: the server is out of memory");
}

/* Called when `dragoman keys` has written the file, or somebody else has changed it. */
static void on_change(uv_fs_poll_t *watch, int status, const uv_stat_t *before,
                      const uv_stat_t *now)
{
    (void)before;
    (void)now;
    if (status == 0)
        begin_reading(watch->data, false);
}

/* ---- Keys that servers share ----------------------------------------------------------------- */

static void on_save(uv_work_t *work)
{
    struct saving *saving = work->data;
    saving->err =
        dg_file_out_save(saving->path, 0600, saving->text.ptr, saving->text.len, &saving->error);
}

static void on_have_saved(uv_work_t *work, int status)
{
    struct saving *saving = work->data;
    struct dg_keys *keys = saving->keys;
    keys->is_saving = false;
    keys->save_again |= saving->err || status != 0; /* once a second */
    if (saving->err)
        dg_log_event(
            keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_err(saving->err)),
            "the keys that servers share cannot be written to disk and are kept in memory: %s",
            dg_error_text(&saving->error, saving->err));
    else if (keys->save_again && status == 0)
        save_common(keys);
    dg_buf_deinit(&saving->text);
    dg_free(saving);
}

static void save_common(struct dg_keys *keys)
{
    keys->save_again = true;
    struct saving *saving =
        keys->is_saving || keys->is_closed ? NULL : dg_try_calloc(1, sizeof *saving);
    if (!saving)
        return;
    saving->keys = keys;
    saving->work.data = saving;
    memcpy(saving->path, keys->common_path, sizeof saving->path);
    dg_buf_init(&saving->text, DG_SHARED_KEYS_BYTES);
    if (dg_shared_keys_save(keys->common, &saving->text) == DG_OK &&
        uv_queue_work(keys->loop, &saving->work, on_save, on_have_saved) == 0) {
        keys->is_saving = true;
        keys->save_again = false;
        return;
    }
    dg_buf_deinit(&saving->text);
    dg_free(saving);
}

struct telling {
    struct dg_keys *keys;
    char name[DG_KEY_NAME_MAX + 1];
};

/* If another server was quicker, its row arrives like any other. Ours is sent again if it is
 * newer. */
static void on_told(void *ctx, enum dg_err err, int64_t more)
{
    struct telling *telling = ctx;
    struct dg_keys *keys = telling->keys;
    struct dg_shared_keys_state *state =
        dg_shared_keys_state_of(keys->common, dg_span_cstr(telling->name));
    (void)more;
    if (err && err != DG_ERR_EXISTS && state)
        state->is_new = true;
    dg_free(telling);
    if (--keys->n_telling == 0 && !err && !keys->is_closed)
        tell_others(keys);
}

static void tell(struct dg_keys *keys, const char *name, struct dg_shared_keys_state *state)
{
    struct telling *telling = dg_try_calloc(1, sizeof *telling);
    struct dg_buf row;
    dg_buf_init(&row, DG_REDIS_TABLE_TEXT);
    if (telling && dg_shared_keys_print_row(keys->common, dg_span_cstr(name), &row) == DG_OK) {
        telling->keys = keys;
        snprintf(telling->name, sizeof telling->name, "%s", name);
        state->is_new = false;
        keys->n_telling++;
        dg_redis_table_put(keys->table, dg_span_cstr(telling->name), dg_buf_span(&row),
                           state->version, on_told, telling);
    } else {
        dg_free(telling);
    }
    dg_buf_deinit(&row);
}

static void tell_others(struct dg_keys *keys)
{
    struct dg_shared_keys_state *state;
    const char *name;
    for (size_t at = 0; keys->table && !keys->is_closed && keys->n_telling < TELLING_MAX &&
                        dg_shared_keys_next(keys->common, &at, &name, &state);)
        if (state->is_new)
            tell(keys, name, state);
}

static void on_reset(void *user)
{
    struct dg_keys *keys = user;
    struct dg_shared_keys_state *state;
    const char *name;
    for (size_t at = 0; dg_shared_keys_next(keys->common, &at, &name, &state);)
        state->version = 0;
}

/* Sends the rows that the table lacks. */
static void on_complete(void *user)
{
    struct dg_keys *keys = user;
    struct dg_shared_keys_state *state;
    const char *name;
    for (size_t at = 0; dg_shared_keys_next(keys->common, &at, &name, &state);)
        state->is_new |= state->version == 0;
    tell_others(keys);
}

/* Returns true when the row changes which keys are in force. A row that none of our servers made is
 * replaced by what we know. */
static bool take_row(struct dg_keys *keys, const struct dg_redis_table_row *row)
{
    const enum dg_shared_keys_verdict verdict =
        dg_shared_keys_take_row(keys->common, row->id, row->text);
    struct dg_shared_keys_state *state = dg_shared_keys_state_of(keys->common, row->id);
    if (verdict == DG_SHARED_KEYS_FALSE && !keys->said_false) {
        keys->said_false = true;
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_span("key", row->id)),
                     "Redis has a key that no server with our keys-shared-secret-file wrote");
    }
    if (state) {
        state->version = row->version;
        state->is_new |= verdict == DG_SHARED_KEYS_FALSE;
    }
    return verdict == DG_SHARED_KEYS_NEWER;
}

/* Makes a new ring of all keys in force. */
static void use_all(struct dg_keys *keys)
{
    struct dg_key_file all = {.n = 0};
    struct dg_keyring *ring = NULL;
    enum dg_err err = dg_shared_keys_make(keys->common, &all);
    if (!err)
        err = dg_keyring_new(&all, &ring);
    dg_key_file_deinit(&all);
    if (err)
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_err(err)),
                     "the old keys stay in use: %s", dg_err_sentence(err));
    else
        use_ring(keys, ring);
}

static void on_apply(void *user, const struct dg_redis_table_row *rows, size_t n)
{
    struct dg_keys *keys = user;
    bool has_changed = false;
    for (size_t i = 0; i < n; i++)
        has_changed |= take_row(keys, &rows[i]);
    if (has_changed) {
        use_all(keys);
        save_common(keys);
    }
    dg_redis_table_applied(keys->table);
    tell_others(keys);
}

static bool may_lack(void *ctx)
{
    const struct dg_keys *keys = ctx;
    return !dg_redis_table_is_current(keys->table);
}

static const struct dg_redis_table_ops table_ops = {
    .reset = on_reset, .apply = on_apply, .complete = on_complete};

/* Reads the first line of the file. */
static enum dg_err read_secret(const char *path, struct dg_error *error,
                               struct dg_shared_keys **common)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, SECRET_MAX, error);
    if (err)
        return dg_error_wrap(error, err, "keys-shared-secret-file");
    const char *end = file.len ? memchr(file.bytes, '\n', file.len) : NULL;
    const size_t len = end ? (size_t)(end - (const char *)file.bytes) : file.len;
    if (len < DG_SHARED_KEYS_SECRET_MIN)
        err = dg_error_set(error, DG_ERR_INVALID,
                           "keys-shared-secret-file: the first line of %s has %zu bytes, expected "
                           "at least %d",
                           path, len, DG_SHARED_KEYS_SECRET_MIN);
    else
        *common = dg_shared_keys_new(dg_span_make((const char *)file.bytes, len));
    dg_map_file_close(&file);
    return err;
}

/* Reads the saved shared keys. If the file is damaged, the daemon does not start, because a key
 * that was revoked elsewhere could come back. */
static enum dg_err load_common(struct dg_keys *keys, struct dg_error *error)
{
    struct dg_map_file file;
    if (snprintf(keys->common_path, PATH_CAP, "%s.shared", keys->path) >= PATH_CAP)
        return dg_error_set(error, DG_ERR_RANGE, "keys-file: the path is too long");
    enum dg_err err = dg_map_file_read(&file, keys->common_path, DG_SHARED_KEYS_BYTES, error);
    if (err == DG_ERR_NOT_FOUND) {
        *error = (struct dg_error)DG_ERROR_NONE;
        return DG_OK;
    }
    if (!err) {
        err = dg_shared_keys_load(keys->common, dg_span_make((const char *)file.bytes, file.len),
                                  error);
        dg_map_file_close(&file);
    }
    return err ? dg_error_wrap(error, err, "%s", keys->common_path) : DG_OK;
}

/* At the start: joins the keys of the file and the saved shared keys. */
static enum dg_err open_common(struct dg_keys *keys, const struct dg_options *options,
                               struct dg_error *error, struct dg_keyring **ring)
{
    struct dg_key_file file = {.n = 0};
    enum dg_err err = read_secret(options->keys_shared_secret_file, error, &keys->common);
    if (!err)
        err = load_common(keys, error);
    if (!err)
        err = dg_key_file_load(&file, keys->path, error);
    if (!err)
        return share_file(keys, &file, error, ring);
    dg_key_file_deinit(&file);
    return err;
}

/* ---- The journal ----------------------------------------------------------------------------- */

/* Logs when writing begins to fail, and when it works again, once each. */
static void end_turn(struct dg_keys *keys)
{
    struct dg_error error = DG_ERROR_NONE;
    enum dg_err err = dg_usage_end(keys->usage, &keys->write, &error);
    bool has_failed = err != DG_OK;
    keys->is_writing = false;
    if (has_failed && !keys->has_failed)
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_err(err)),
                     "the usage of keys cannot be written to disk and is kept in memory: %s",
                     dg_error_text(&error, err));
    else if (keys->has_failed && !has_failed)
        dg_log_event(keys->log, DG_LOG_NOTICE, "keys", DG_LOG_NO_FIELDS,
                     "the usage of keys is written to disk again");
    keys->has_failed = has_failed;
}

static void on_write(uv_work_t *work)
{
    struct dg_keys *keys = work->data;
    dg_usage_run(&keys->write);
}

static void on_timer(uv_timer_t *timer);

/* Has the rest written soon, after whatever else the loop has to do. */
static void hurry(struct dg_keys *keys)
{
    if (!keys->is_closed)
        uv_timer_start(&keys->timer, on_timer, SOON_MS, TURN_MS);
}

static void on_written(uv_work_t *work, int status)
{
    struct dg_keys *keys = work->data;
    if (status != 0) /* cancelled before it began */
        keys->write.err = DG_ERR_CANCELLED;
    end_turn(keys);
    if (!keys->has_failed && keys->write.is_cut) /* usage changes all the time, so it is written
                                                    once a second */
        hurry(keys);
}

static void on_timer(uv_timer_t *timer)
{
    struct dg_keys *keys = timer->data;
    if (keys->common && keys->save_again)
        save_common(keys);
    if (keys->common && keys->n_telling == 0)
        tell_others(keys);
    if (keys->is_writing || (!keys->is_gathering && !dg_usage_begin(keys->usage, &keys->write)))
        return;
    keys->is_gathering = dg_usage_gather(keys->usage, &keys->write);
    if (keys->is_gathering) {
        hurry(keys);
        return;
    }
    keys->is_writing = true;
    keys->writing.data = keys;
    if (uv_queue_work(keys->loop, &keys->writing, on_write, on_written) != 0) {
        keys->write.err = DG_ERR_NOMEM;
        end_turn(keys);
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void set_rules(struct dg_keys *keys, const struct dg_options *options)
{
    const struct dg_access_rules rules = {
        .require_key = options->require_key,
        .requests_per_minute = (uint64_t)options->anonymous_requests,
        .characters_per_minute = (uint64_t)options->anonymous_characters,
        .requests_per_hour = (uint64_t)options->anonymous_requests_hour,
        .requests_per_day = (uint64_t)options->anonymous_requests_day,
        .priority = (enum dg_key_priority)options->anonymous_priority,
    };
    dg_access_set_rules(keys->access, &rules);
}

/* The usage file lies next to the key file unless the options say otherwise. */
static enum dg_err name_files(struct dg_keys *keys, const struct dg_options *options,
                              struct dg_error *error)
{
    int key_len = snprintf(keys->path, sizeof keys->path, "%s", options->keys_file);
    int usage_len =
        *options->usage_file || !*options->keys_file
            ? snprintf(keys->usage_path, sizeof keys->usage_path, "%s", options->usage_file)
            : snprintf(keys->usage_path, sizeof keys->usage_path, "%s.usage", options->keys_file);
    if (key_len >= PATH_CAP || usage_len >= PATH_CAP)
        return dg_error_set(error, DG_ERR_RANGE,
                            "keys-file: the path is too long, expected less than %d bytes",
                            PATH_CAP);
    return DG_OK;
}

static enum dg_err open_usage(struct dg_keys *keys, struct dg_error *error)
{
    enum dg_err err = dg_usage_open(&keys->clock, *keys->usage_path ? keys->usage_path : NULL,
                                    error, &keys->usage);
    if (err)
        return dg_error_wrap(error, err, "usage-file");
    if (dg_usage_damaged(keys->usage) > 0)
        dg_log_event(keys->log, DG_LOG_WARNING, "keys",
                     DG_LOG_FIELDS(dg_log_uint("lines", dg_usage_damaged(keys->usage))),
                     "the usage file has damaged lines, as after a crash; they are left out");
    return DG_OK;
}

enum dg_err dg_keys_open(struct dg_keys **out, uv_loop_t *loop, const struct dg_opt_set *set,
                         struct dg_shared *shared, struct dg_log *log, struct dg_error *error)
{
    const struct dg_options *options = dg_opt_values(set);
    struct dg_keys *keys = dg_xcalloc(1, sizeof *keys);
    *out = keys;
    keys->loop = loop;
    keys->log = log;
    if (sodium_init() < 0)
        return dg_error_set(error, DG_ERR_IO, "the system provides no random numbers (libsodium)");
    enum dg_err err = name_files(keys, options, error);
    if (!err)
        err = open_usage(keys, error);
    if (err)
        return err;
    keys->local = dg_quota_local_new(&keys->clock, keys->usage, ADDRESSES_MAX);
    const struct dg_quota local = dg_quota_local(keys->local);
    keys->quota = dg_shared_quota(shared, &local);
    keys->access = dg_access_new(&keys->clock, &keys->quota);
    set_rules(keys, options);
    if (*keys->path) {
        struct dg_keyring *ring = NULL;
        err = *options->keys_shared_secret_file ? open_common(keys, options, error, &ring)
                                                : read_ring(keys->path, error, &ring);
        if (err)
            return err;
        use_ring(keys, ring);
        warn_if_locked(keys);
    }
    uv_timer_init(loop, &keys->timer);
    keys->timer.data = keys;
    keys->has_timer = true;
    uv_timer_start(&keys->timer, on_timer, TURN_MS, TURN_MS);
    if (keys->common) {
        save_common(keys);
        uv_fs_poll_init(loop, &keys->watch);
        keys->watch.data = keys;
        keys->has_watch = true;
        if (uv_fs_poll_start(&keys->watch, on_change, keys->path, WATCH_MS) != 0)
            dg_log_event(keys->log, DG_LOG_WARNING, "keys", DG_LOG_NO_FIELDS,
                         "changes to %s are seen at reloads only", keys->path);
        keys->table =
            dg_redis_table_new(loop, dg_shared_redis(shared), "keys", &table_ops, keys, log);
        dg_access_set_source(keys->access, may_lack, keys);
    }
    return DG_OK;
}

enum dg_err dg_keys_check(const struct dg_options *options, struct dg_error *error)
{
    struct dg_keyring *ring = NULL;
    struct dg_shared_keys *common = NULL;
    if (!*options->keys_file)
        return DG_OK;
    enum dg_err err = sodium_init() < 0 ? DG_ERR_IO : DG_OK;
    if (!err && *options->keys_shared_secret_file)
        err = read_secret(options->keys_shared_secret_file, error, &common);
    if (!err)
        err = read_ring(options->keys_file, error, &ring);
    dg_shared_keys_free(common);
    dg_keyring_free(ring);
    return err;
}

struct dg_access *dg_keys_access(const struct dg_keys *keys)
{
    return keys->access;
}

enum dg_err dg_keys_hand_over(const struct dg_keys *keys, const struct dg_account *account,
                              struct dg_error *error)
{
    return *keys->usage_path ? dg_process_hand_over(keys->usage_path, account, error) : DG_OK;
}

/* Returns true when the file is so small that reading it does not block the loop; false also when
 * its size cannot be read. */
static bool is_small(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && info.st_size <= SMALL_FILE;
}

enum dg_err dg_keys_check_reload(const struct dg_opt_set *live, const struct dg_opt_set *fresh,
                                 struct dg_error *error)
{
    const struct dg_options *was = dg_opt_values(live), *now = dg_opt_values(fresh);
    const bool is_other = strcmp(was->keys_file, now->keys_file) != 0;
    struct dg_keyring *ring = NULL;
    if (!*now->keys_file || (!is_other && !now->require_key))
        return DG_OK;
    if (!is_other && was->require_key && !is_small(now->keys_file))
        return DG_OK; /* the file has keys, so it is read on another thread (begin_reading) */
    if (strlen(now->keys_file) >= PATH_CAP)
        return dg_error_set(error, DG_ERR_RANGE,
                            "keys-file: the path is too long, expected less than %d bytes",
                            PATH_CAP);
    enum dg_err err = read_ring(now->keys_file, error, &ring);
    if (!err)
        err = check_ring(now->keys_file, now->require_key, is_other || !was->require_key, ring,
                         error);
    dg_keyring_free(ring);
    return err;
}

/* Reads another key file at once, on this thread: rules that require a key must not take effect
 * before the keys of that file do. */
static void change_file(struct dg_keys *keys, const char *path)
{
    struct dg_keyring *ring = NULL;
    struct dg_error error = DG_ERROR_NONE;
    if (keys->common) {
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_NO_FIELDS,
                     "the old keys stay in use: the option keys-file has changed, and because keys "
                     "are shared, only a restart reads the new file");
        return;
    }
    enum dg_err err = *path ? read_ring(path, &error, &ring) : DG_OK;
    if (err) { /* the file was there when the configuration was checked */
        dg_log_event(keys->log, DG_LOG_ERROR, "keys", DG_LOG_FIELDS(dg_log_err(err)),
                     "the old keys stay in use: %s", dg_error_text(&error, err));
        return;
    }
    snprintf(keys->path, sizeof keys->path, "%s", path);
    use_ring(keys, ring);
    if (*path && !*keys->usage_path)
        dg_log_event(keys->log, DG_LOG_WARNING, "keys", DG_LOG_NO_FIELDS,
                     "the usage of keys is counted in memory until a restart opens the usage file");
}

void dg_keys_reload(struct dg_keys *keys, const struct dg_opt_set *set)
{
    const struct dg_options *options = dg_opt_values(set);
    if (strcmp(keys->path, options->keys_file) != 0)
        change_file(keys, options->keys_file);
    else if (*keys->path)
        begin_reading(keys, true);
    set_rules(keys, options);
}

void dg_keys_close(struct dg_keys *keys)
{
    if (!keys || keys->is_closed)
        return;
    keys->is_closed = true;
    dg_redis_table_close(keys->table);
    if (keys->has_watch)
        uv_close((uv_handle_t *)&keys->watch, NULL);
    if (keys->has_timer)
        uv_close((uv_handle_t *)&keys->timer, NULL);
}

/* Writes all usage that is not written yet, at once. */
static void write_what_is_left(struct dg_keys *keys)
{
    bool has_failed = false;
    while (keys->usage && !has_failed &&
           (keys->is_gathering || dg_usage_begin(keys->usage, &keys->write))) {
        while (dg_usage_gather(keys->usage, &keys->write))
            ;
        keys->is_gathering = false;
        dg_usage_run(&keys->write);
        has_failed = keys->write.err != DG_OK;
        end_turn(keys);
    }
}

void dg_keys_free(struct dg_keys *keys)
{
    if (!keys)
        return;
    write_what_is_left(keys);
    dg_redis_table_free(keys->table);
    dg_shared_keys_free(keys->common);
    dg_access_free(keys->access);
    dg_quota_local_free(keys->local);
    dg_usage_close(keys->usage);
    dg_free(keys);
}
