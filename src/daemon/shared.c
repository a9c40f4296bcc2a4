/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The engine's remote cache (engine/cache/remote.h) and the api's quotas over one connection. */
#include "daemon/shared.h"
#include "base/file/map_file.h"
#include "base/memory/mem.h"
#include "daemon/shared_quota.h"
#include "engine/cache/remote.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum {
    PASSWORD_MAX = 512,
    MARGIN_MS = 30, /* the engine's time limit ends this much after that of Redis, which therefore
                       always answers */
    PUT_MS = 1000,  /* the time limit of a put, for which nobody waits */
    TICK_MS = 1000, /* how often Redis is asked again for what it has not confirmed */
};

struct dg_shared {
    struct dg_redis *redis;
    struct dg_engine *engine; /* NULL until attached, and again once closed */
    struct dg_shared_quota quota;
    uv_timer_t tick;
    uint64_t timeout_ms;
    char keep_s[24]; /* the time to keep an entry, as text */
    bool is_closed;
};

/* ---- Sentences ------------------------------------------------------------------------------- */

struct lookup {
    struct dg_shared *shared;
    uint64_t id;
};

static void on_value(void *ctx, const struct dg_redis_reply *reply)
{
    struct lookup *lookup = ctx;
    struct dg_span value = {NULL, 0};
    if (reply->kind == DG_REDIS_TEXT)
        value = reply->text;
    if (lookup->shared->engine)
        dg_engine_remote_answer(lookup->shared->engine, lookup->id, value);
    dg_free(lookup);
}

static bool get(void *arg, uint64_t id, struct dg_span key)
{
    struct dg_shared *shared = arg;
    struct dg_span command[] = {DG_SPAN("GET"), key};
    struct lookup *lookup = dg_try_malloc(sizeof *lookup);
    if (!lookup)
        return false;
    *lookup = (struct lookup){.shared = shared, .id = id};
    if (dg_redis_ask(shared->redis, command, 2, shared->timeout_ms, on_value, lookup))
        return true;
    dg_free(lookup);
    return false;
}

static void put(void *arg, struct dg_span key, struct dg_span value)
{
    struct dg_shared *shared = arg;
    struct dg_span command[] = {DG_SPAN("SET"), key, value, DG_SPAN("EX"),
                                dg_span_cstr(shared->keep_s)};
    (void)dg_redis_ask(shared->redis, command, 5, PUT_MS, NULL, NULL);
}

enum dg_err dg_shared_attach(struct dg_shared *shared, struct dg_engine *engine,
                             struct dg_error *error)
{
    if (!shared)
        return DG_OK;
    const struct dg_remote remote = {
        .get = get, .put = put, .arg = shared, .wait_ms = shared->timeout_ms + MARGIN_MS};
    enum dg_err err = dg_engine_set_remote(engine, &remote, error);
    if (!err)
        shared->engine = engine;
    return err;
}

/* ---- Quotas ---------------------------------------------------------------------------------- */

struct dg_quota dg_shared_quota(struct dg_shared *shared, const struct dg_quota *local)
{
    if (!shared)
        return *local;
    shared->quota.local = *local;
    return dg_shared_quota_ops(&shared->quota);
}

static void on_tick(uv_timer_t *tick)
{
    dg_shared_quota_turn(tick->data);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Reads the first line of the file. */
static enum dg_err read_password(const char *path, char password[PASSWORD_MAX],
                                 struct dg_error *error)
{
    struct dg_map_file file;
    enum dg_err err = dg_map_file_read(&file, path, PASSWORD_MAX - 1, error);
    if (err)
        return dg_error_wrap(error, err, "redis-password-file");
    size_t len = 0;
    while (len < file.len && file.bytes[len] != '\n' && file.bytes[len] != '\r' &&
           file.bytes[len] != '\0')
        len++;
    memcpy(password, file.bytes, len);
    password[len] = '\0';
    dg_map_file_close(&file);
    if (len == 0)
        return dg_error_set(
            error, DG_ERR_INVALID,
            "redis-password-file: the first line of %s is empty, expected a password", path);
    return DG_OK;
}

static struct dg_tls_opts tls_of(const struct dg_options *options)
{
    return (struct dg_tls_opts){.ca_file = options->redis_ca_file,
                                .certificate_file = options->redis_certificate_file,
                                .key_file = options->redis_key_file};
}

enum dg_err dg_shared_open(struct dg_shared **out, uv_loop_t *loop,
                           const struct dg_options *options, struct dg_log *log,
                           struct dg_error *error)
{
    char password[PASSWORD_MAX] = "";
    struct dg_redis *redis = NULL;
    if (!*options->redis)
        return DG_OK;
    enum dg_err err = DG_OK;
    if (*options->redis_password_file)
        err = read_password(options->redis_password_file, password, error);
    const struct dg_tls_opts tls = tls_of(options);
    const struct dg_redis_opts opts = {.addresses = options->redis,
                                       .sentinel = options->redis_sentinel,
                                       .user = options->redis_user,
                                       .password = password,
                                       .tls = options->redis_tls ? &tls : NULL};
    if (!err) {
        err = dg_redis_open(loop, &opts, log, error, &redis);
        if (err)
            err = dg_error_wrap(error, err, "redis");
    }
    sodium_memzero(password, sizeof password);
    if (err)
        return err;
    struct dg_shared *shared = dg_xcalloc(1, sizeof *shared);
    shared->redis = redis;
    shared->timeout_ms = (uint64_t)options->redis_timeout_ms;
    snprintf(shared->keep_s, sizeof shared->keep_s, "%lld",
             (long long)(options->redis_keep_ms / 1000));
    shared->quota =
        (struct dg_shared_quota){.redis = redis, .timeout_ms = shared->timeout_ms, .log = log};
    uv_timer_init(loop, &shared->tick);
    shared->tick.data = &shared->quota;
    uv_timer_start(&shared->tick, on_tick, TICK_MS, TICK_MS);
    uv_unref((uv_handle_t *)&shared->tick);
    *out = shared;
    return DG_OK;
}

enum dg_err dg_shared_check(const struct dg_options *options, struct dg_error *error)
{
    char password[PASSWORD_MAX] = "";
    enum dg_err err = DG_OK;
    if (*options->redis && *options->redis_password_file)
        err = read_password(options->redis_password_file, password, error);
    sodium_memzero(password, sizeof password);
    if (!err && *options->redis && options->redis_tls) {
        const struct dg_tls_opts opts = tls_of(options);
        struct dg_tls *tls = NULL;
        err = dg_tls_new(&opts, error, &tls);
        dg_tls_free(tls);
        if (err)
            err = dg_error_wrap(error, err, "redis");
    }
    return err;
}

struct dg_redis *dg_shared_redis(struct dg_shared *shared)
{
    return shared ? shared->redis : NULL;
}

void dg_shared_close(struct dg_shared *shared)
{
    if (!shared || shared->is_closed)
        return;
    shared->is_closed = true;
    uv_close((uv_handle_t *)&shared->tick, NULL);
    dg_redis_close(shared->redis);
    shared->engine = NULL;
}

void dg_shared_free(struct dg_shared *shared)
{
    if (!shared)
        return;
    dg_shared_quota_deinit(&shared->quota);
    dg_redis_free(shared->redis);
    dg_free(shared);
}
