/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragomand: start-up step by step, the loop, and the shutdown.
 *
 *     options -> log -> process limits -> loop and signals -> Redis, if any -> keys -> models
 *             -> api -> bind -> drop privileges -> ready
 *     the loop runs
 *     drain   <- first SIGTERM or SIGINT; the second closes everything at once
 *
 * Each step that acquires something has its mirror in wind_down, in reverse order; wind_down
 * knows by NULL or a flag which steps were reached. Exit codes: 0 stopped on request, or --help and
 * the like; 1 failure; 2 wrong usage, which includes any mistake in the configuration. */
#include "api/http/documents.h"
#include "api/http/api.h"
#include "api/jobs/bulk.h"
#include "api/jobs/bulk_scratch.h"
#include "api/ops/admin.h"
#include "api/v1/glossaries.h"
#include "base/file/map_file.h"
#include "base/log/log.h"
#include "daemon/check.h"
#include "daemon/keys.h"
#include "daemon/memory.h"
#include "daemon/options.h"
#include "daemon/process.h"
#include "daemon/reload.h"
#include "daemon/service.h"
#include "daemon/shared.h"
#include "daemon/signals.h"
#include "daemon/systemd.h"
#include "daemon/version.h"
#include "net/loop/agent_check.h"
#include "net/loop/offload.h"
#include "net/loop/server.h"

#include <errno.h>
#include <sys/stat.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

extern char **environ; /* POSIX leaves the declaration to us */

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE };
enum {
    SECOND_MS = 1000,
    MINUTE_MS = 60 * 1000,
    WAITING_MAX = 64,     /* requests that wait for the offload thread */
    READINGS_MAX = 1024,  /* requests that wait for the threads that read and write large bodies */
    DOCUMENTS_MAX = 1000, /* documents that are kept without jobs-dir */
    READERS = 2 /* the number of these threads: two, so that one slow request does not block all */
};

/* Everything that the process holds; one, on main's stack. The loop's thread. */
struct daemon {
    int argc;
    char **argv;
    struct dg_opt_set *start; /* the options at the start, whose texts are borrowed everywhere */
    struct dg_opt_set *live;  /* the options in force; `start` until the first reload */
    struct dg_network networks[DG_OPTIONS_NETWORKS];
    struct dg_log *log;
    uv_loop_t loop;
    struct dg_clock clock;
    struct dg_turn turn; /* of the loop */
    bool loop_open, is_stopping;
    uv_timer_t minute; /* fires once a minute */
    uv_timer_t second; /* fires once a second */
    struct dg_signals signals;
    struct dg_systemd_watchdog watchdog;
    struct dg_shared *shared; /* NULL: nothing is shared */
    struct dg_service *service;
    struct dg_keys *keys;
    struct dg_offload *threads;           /* for tasks that would hold the loop for long */
    struct dg_offload *readers;           /* for tasks of a few milliseconds */
    struct dg_allowance buffers;          /* the memory of connections, jobs and scores */
    char documents_dir[DG_BULK_PATH_MAX]; /* where documents lie without jobs-dir; "": nowhere */
    struct dg_api *api;
    struct dg_server *server;
    struct dg_agent_check *agent; /* NULL: agent-listen is empty */
};

static const struct dg_options *options_of(const struct dg_opt_set *set)
{
    return dg_opt_values(set);
}

/* ---- Options --------------------------------------------------------------------------------- */

/* Handles --help, --version, --dump-config and --check-config; true when one of them was given
 * and answered. */
static bool answer_and_leave(const struct dg_opt_set *set, enum dg_err *err, struct dg_error *error)
{
    const struct dg_options *options = options_of(set);
    struct dg_buf text;
    dg_buf_init(&text, 1 << 20);
    *err = DG_OK;
    if (options->help != DG_OPT_HELP_NO) {
        *err = dg_opt_help(&dg_options_table, options->help, &text);
    } else if (options->version) {
        dg_version_print();
    } else if (options->dump_config) {
        *err = dg_opt_dump(set, &text);
    } else if (options->check_config) {
        *err = dg_check_start(set, error);
        if (!*err)
            *err = dg_buf_append_cstr(&text, "The configuration is valid.\n");
    } else {
        return false;
    }
    if (!*err && text.len > 0)
        fwrite(text.ptr, 1, text.len, stdout);
    if (!*err && (fflush(stdout) != 0 || ferror(stdout)))
        *err =
            dg_error_set(error, DG_ERR_IO, "cannot write to standard output: %s", strerror(errno));
    dg_buf_deinit(&text);
    return true;
}

/* ---- While it runs --------------------------------------------------------------------------- */

/* Closes every handle, so that uv_run returns. Idempotent. */
static void finish(void *user)
{
    struct daemon *d = user;
    if (d->server)
        dg_server_close(d->server);
    dg_agent_check_close(d->agent);
    d->agent = NULL;
    dg_api_stop(d->api);
    dg_offload_close(d->readers); /* bodies that it has read may need the threads */
    d->readers = NULL;
    if (d->api)
        dg_api_set_readers(d->api, NULL);
    dg_offload_close(d->threads);
    d->threads = NULL;
    if (d->api)
        dg_api_set_threads(d->api, NULL);
    dg_service_close(d->service);
    dg_keys_close(d->keys);
    dg_shared_close(d->shared);
    dg_systemd_watchdog_close(&d->watchdog);
    dg_signals_close(&d->signals);
    if (!uv_is_closing((uv_handle_t *)&d->minute))
        uv_close((uv_handle_t *)&d->minute, NULL);
    if (!uv_is_closing((uv_handle_t *)&d->second))
        uv_close((uv_handle_t *)&d->second, NULL);
}

static void on_stop(void *user, int nth)
{
    struct daemon *d = user;
    if (nth > 1) {
        dg_log_event(d->log, DG_LOG_NOTICE, "daemon", DG_LOG_NO_FIELDS,
                     "asked again; stopping at once");
        finish(d);
        return;
    }
    int64_t limit_ms = options_of(d->live)->drain_timeout_ms;
    dg_log_event(d->log, DG_LOG_NOTICE, "daemon", DG_LOG_FIELDS(dg_log_int("limit_ms", limit_ms)),
                 "asked to stop; finishing running requests");
    d->is_stopping = true;
    dg_systemd_stopping();
    dg_api_drain(d->api);
    dg_server_drain(d->server, (uint64_t)limit_ms, finish, d);
}

/* The last step of a reload. systemd is told when the last of all requested reloads is done:
 * whether or not anything changed, we serve. */
static void tell_ready(const struct daemon *d)
{
    if (!d->is_stopping && !dg_service_is_reloading(d->service))
        dg_systemd_ready("serving");
}

static void on_models(void *user, enum dg_err err)
{
    struct daemon *d = user;
    if (!err)
        dg_log_event(d->log, DG_LOG_NOTICE, "daemon", DG_LOG_NO_FIELDS, "models reloaded");
    tell_ready(d);
}

static void on_reload(void *user)
{
    struct daemon *d = user;
    struct dg_error error = DG_ERROR_NONE;
    struct dg_opt_set *fresh = NULL;
    if (!d->is_stopping)
        dg_systemd_reloading();
    enum dg_err err = dg_log_reopen(d->log, &error);
    if (err)
        dg_log_event(d->log, DG_LOG_ERROR, "daemon", DG_LOG_FIELDS(dg_log_err(err)),
                     "the old log stays in use: %s", dg_error_text(&error, err));
    err = dg_reload(d->argc, d->argv, environ, d->live, d->log, &error, &fresh);
    if (err) {
        dg_log_event(d->log, DG_LOG_ERROR, "daemon", DG_LOG_FIELDS(dg_log_err(err)),
                     "the old configuration stays in use: %s", dg_error_text(&error, err));
    } else {
        if (d->live != d->start)
            dg_opt_set_free(d->live);
        d->live = fresh;
        dg_log_set_level(d->log, (enum dg_log_level)options_of(fresh)->log_level);
        dg_log_event(d->log, DG_LOG_NOTICE, "daemon", DG_LOG_NO_FIELDS, "configuration reloaded");
        dg_keys_reload(d->keys, fresh);
        err = dg_service_reload(d->service, fresh, on_models, d);
    }
    if (err)
        tell_ready(d);
}

static const struct dg_signals_handlers signal_handlers = {.on_stop = on_stop,
                                                           .on_reload = on_reload};

/* ---- What administrators ask for ------------------------------------------------------------- */

static enum dg_err admin_load(void *user, const struct dg_admin_model *model,
                              dg_admin_loaded_fn on_loaded, void *owner, struct dg_error *error)
{
    struct daemon *d = user;
    const struct dg_service_model wanted = {model->name, model->path, model->source, model->target};
    return dg_service_load(d->service, d->live, &wanted, on_loaded, owner, error);
}

static enum dg_err admin_unload(void *user, const char *name, struct dg_error *error)
{
    struct daemon *d = user;
    return dg_service_unload(d->service, name, error);
}

static enum dg_log_level admin_log_level(void *user)
{
    struct daemon *d = user;
    return dg_log_level(d->log);
}

static void admin_set_log_level(void *user, enum dg_log_level level)
{
    struct daemon *d = user;
    dg_log_set_level(d->log, level);
    dg_log_event(d->log, DG_LOG_NOTICE, "daemon",
                 DG_LOG_FIELDS(dg_log_str("now", dg_log_level_name(level))),
                 "an administrator changed the log level");
}

/* Acts as if the signal had come: its handler runs in a later turn of the loop. */
static void admin_reload(void *user)
{
    (void)user;
    kill(getpid(), SIGHUP);
}

static void admin_drain(void *user)
{
    (void)user;
    kill(getpid(), SIGTERM);
}

static const struct dg_admin_ops admin_ops = {
    .load = admin_load,
    .unload = admin_unload,
    .log_level = admin_log_level,
    .set_log_level = admin_set_log_level,
    .reload = admin_reload,
    .drain = admin_drain,
};

static void on_turn(void *user)
{
    dg_api_turn(user);
}

/* Runs once a minute: what expires is removed. */
static void on_minute(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    dg_api_tick(d->api);
}

/* Runs once a second: counts what operators look at. */
static void on_second(uv_timer_t *timer)
{
    struct daemon *d = timer->data;
    if (d->api)
        dg_api_second(d->api);
}

/* ---- Start-up, step by step ------------------------------------------------------------------ */

static enum dg_err open_log(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    const struct dg_log_opts opts = {
        .path = *options->log_file ? options->log_file : NULL,
        .level = (enum dg_log_level)options->log_level,
        .format = (enum dg_log_format)options->log_format,
    };
    return dg_log_open(&opts, error, &d->log);
}

static enum dg_err limit_process(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    size_t files = dg_process_open_files(), wanted = (size_t)options->max_connections;
    if (files < wanted + 128) /* 128 for the listeners, the log, model files, the files of jobs and
                                 documents that are worked on, and what libraries hold */
        dg_log_event(
            d->log, DG_LOG_WARNING, "daemon",
            DG_LOG_FIELDS(dg_log_uint("files_max", files), dg_log_uint("max_connections", wanted)),
            "the limit of open files allows fewer connections than max-connections does");
    return dg_process_core_dumps(options_of(d->start)->core_dumps, error);
}

static enum dg_err open_loop(struct daemon *d, struct dg_error *error)
{
    int code = uv_loop_init(&d->loop);
    if (code != 0)
        return dg_error_set(error, dg_err_from_errno(-code), "cannot make an event loop: %s",
                            uv_strerror(code));
    d->loop_open = true;
    uv_timer_init(&d->loop, &d->minute);
    d->minute.data = d;
    uv_timer_start(&d->minute, on_minute, MINUTE_MS, MINUTE_MS);
    uv_unref((uv_handle_t *)&d->minute);
    uv_timer_init(&d->loop, &d->second);
    d->second.data = d;
    uv_timer_start(&d->second, on_second, SECOND_MS, SECOND_MS);
    uv_unref((uv_handle_t *)&d->second);
    return dg_signals_open(&d->signals, &d->loop, &signal_handlers, d, error);
}

/* Called by the watchdog, from the loop. A worker that has been at one step for a whole period
 * counts as hung. */
static bool is_well(void *user, uint64_t period_ns)
{
    struct daemon *d = user;
    uint64_t stalled_ns = dg_service_stalled_ns(d->service);
    if (stalled_ns < period_ns)
        return true;
    dg_log_event(d->log, DG_LOG_ERROR, "daemon",
                 DG_LOG_FIELDS(dg_log_uint("stalled_ms", stalled_ns / DG_CLOCK_MS)),
                 "a worker hangs; the watchdog is not fed");
    return false;
}

static enum dg_err open_shared(struct daemon *d, struct dg_error *error)
{
    return dg_shared_open(&d->shared, &d->loop, options_of(d->start), d->log, error);
}

static enum dg_err open_service(struct daemon *d, struct dg_error *error)
{
    enum dg_err err =
        dg_service_open(&d->service, &d->loop, &d->turn, d->start, d->shared, d->log, error);
    if (!err)
        dg_systemd_watchdog_open(&d->watchdog, &d->loop, is_well, d);
    return err;
}

static enum dg_err open_keys(struct daemon *d, struct dg_error *error)
{
    return dg_keys_open(&d->keys, &d->loop, d->start, d->shared, d->log, error);
}

/* Bulk jobs are continued under the account that the daemon has changed to. Documents are kept in
 * the same way, and together with the jobs if jobs-dir is set. */
static enum dg_err open_bulk(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    const bool is_temporary = !*options->jobs_dir;
    const struct dg_bulk_opts opts = {
        .dir = is_temporary ? d->documents_dir : options->jobs_dir,
        .is_temporary = is_temporary,
        .bytes_max = options->jobs_upload,
        .space_max = is_temporary ? options->documents_space : options->jobs_space,
        .jobs_max = is_temporary ? DOCUMENTS_MAX : (size_t)options->jobs_max,
        .retention_s = (uint64_t)options->jobs_retention_ms / 1000,
        .line_max = options->max_body,
        .buffers = &d->buffers,
        .redis = options->jobs_shared ? dg_shared_redis(d->shared) : NULL,
    };
    if (!*opts.dir)
        return DG_OK;
    return dg_api_open_bulk(d->api, &opts, &d->loop, error);
}

/* As for bulk jobs, under the account that the daemon has changed to. */
static enum dg_err open_glossaries(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    const struct dg_glossaries_opts opts = {
        .dir = options->glossaries_dir,
        .n_max = (size_t)options->glossaries_max,
        .bytes_max = options->glossaries_space,
        .whose = (enum dg_glossaries_whose)options->glossaries,
        .redis = dg_shared_redis(d->shared),
        .loop = &d->loop,
    };
    return dg_api_open_glossaries(d->api, &opts, error);
}

/* If the default folder cannot be used, files are not translated, and the log says so. */
static enum dg_err open_documents(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    enum dg_err err = DG_OK;
    const struct dg_documents_opts opts = {.dir = options->documents_dir,
                                           .bytes_max = options->documents_space,
                                           .file_max = options->max_document};
    if (options->documents_space && mkdir(options->documents_dir, 0700) != 0 && errno != EEXIST)
        err = dg_error_errno(error, "cannot make the folder %s", options->documents_dir);
    if (!err && !*options->jobs_dir && options->documents_space)
        err = dg_bulk_scratch_make(options->documents_dir, d->documents_dir, error);
    if (!err)
        err = dg_api_open_documents(d->api, &opts, error);
    if (err)
        dg_error_wrap(error, err, "documents-dir");
    if (!err || dg_opt_given(d->start, "documents-dir"))
        return err;
    dg_log_event(d->log, DG_LOG_WARNING, "daemon",
                 DG_LOG_FIELDS(dg_log_str("reason", dg_error_text(error, err))),
                 "documents are not translated");
    *error = (struct dg_error)DG_ERROR_NONE;
    return DG_OK;
}

static enum dg_err open_api(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    struct dg_api_opts opts = DG_API_OPTS_DEFAULT;
    d->buffers.max = dg_service_buffers(d->service);
    opts.buffers = &d->buffers;
    opts.version = dg_version();
    opts.access_log = options->access_log;
    opts.cors_origin = options->cors_origin;
    opts.texts_max = (size_t)options->max_texts;
    opts.alternatives_max = (int)options->max_alternatives;
    opts.suggestions = options->suggestions;
    opts.characters_max = (size_t)options->max_characters;
    opts.beam_max = (size_t)options->max_beam;
    opts.min_length_max = (size_t)options->max_min_length;
    opts.ops_loopback = options->ops_loopback;
    const struct dg_pool_opts threads = {
        .n_threads = 1, .max_jobs = WAITING_MAX, .name = "offload"};
    enum dg_err err = dg_offload_open(&d->loop, &d->turn, &threads, error, &d->threads);
    const struct dg_pool_opts readers = {
        .n_threads = READERS, .max_jobs = READINGS_MAX, .name = "reader"};
    if (!err)
        err = dg_offload_open(&d->loop, &d->turn, &readers, error, &d->readers);
    if (!err)
        err = dg_api_new(&opts, d->log, error, &d->api);
    if (!err) {
        dg_api_set_engine(d->api, dg_service_engine(d->service));
        dg_api_set_threads(d->api, d->threads);
        dg_api_set_readers(d->api, d->readers);
        dg_api_set_admin(d->api, &admin_ops, d);
        dg_api_set_access(d->api, dg_keys_access(d->keys));
        dg_service_on_turn(d->service, on_turn, d->api);
    }
    return err;
}

/* Returns true when a socket of systemd's has this very address, which may be configured in both
 * places. */
static bool is_served(const struct dg_server *server, const char *address)
{
    for (size_t i = 0; i < dg_server_n_listeners(server); i++)
        if (strcmp(dg_server_address(server, i), address) == 0)
            return true;
    return false;
}

/* Listens where systemd opened sockets, and at the addresses of `listen` if the option was given
 * or systemd opened none. */
static enum dg_err bind_listeners(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    struct dg_server_opts opts;
    enum dg_err err = dg_options_server(options, d->networks, error, &opts);
    if (!err)
        opts.buffers = &d->buffers;
    if (!err)
        opts.turn = &d->turn;
    if (!err)
        err = dg_server_new(&d->loop, &opts, dg_api_handler(), d->api, d->log, error, &d->server);
    if (err)
        return err;
    dg_api_set_server(d->api, d->server);
    int first_fd = 0, n_inherited = dg_systemd_sockets(&first_fd);
    for (int i = 0; !err && i < n_inherited; i++)
        err = dg_server_listen_fd(d->server, first_fd + i, error);
    bool own = n_inherited == 0 || dg_opt_given(d->start, "listen");
    for (size_t i = 0; !err && own && i < options->listen.n; i++)
        if (!is_served(d->server, options->listen.items[i]))
            err = dg_server_listen(d->server, options->listen.items[i], error);
    if (!err && *options->admin_socket)
        err = dg_server_listen_private(d->server, options->admin_socket, error);
    return err;
}

static void say_capacity(void *user, char line[DG_AGENT_CHECK_LINE])
{
    dg_api_capacity(user, line, DG_AGENT_CHECK_LINE);
}

/* Listens for HAProxy's agent-check. */
static enum dg_err open_agent(struct daemon *d, struct dg_error *error)
{
    const char *address = options_of(d->start)->agent_listen;
    if (!*address)
        return DG_OK;
    enum dg_err err =
        dg_agent_check_open(&d->agent, &d->loop, address, say_capacity, d->api, error);
    if (err)
        return dg_error_wrap(error, err, "agent-listen");
    dg_log_event(d->log, DG_LOG_NOTICE, "daemon",
                 DG_LOG_FIELDS(dg_log_int("port", dg_agent_check_port(d->agent))),
                 "a balancer's agent-check is answered");
    return DG_OK;
}

/* Files that root made and the account has to use later are given to the account. */
static enum dg_err drop_privileges(struct daemon *d, struct dg_error *error)
{
    const struct dg_options *options = options_of(d->start);
    struct dg_account account;
    if (!*options->user)
        return DG_OK;
    enum dg_err err = dg_process_account(options->user, &account, error);
    for (size_t i = 0; !err && i < options->listen.n; i++)
        if (strncmp(options->listen.items[i], "unix:", 5) == 0)
            err = dg_process_hand_over(options->listen.items[i] + 5, &account, error);
    if (!err && *options->admin_socket)
        err = dg_process_hand_over(options->admin_socket, &account, error);
    if (!err && *options->log_file)
        err = dg_process_hand_over(options->log_file, &account, error);
    if (!err)
        err = dg_keys_hand_over(d->keys, &account, error);
    if (!err)
        err = dg_process_become(&account, error);
    if (!err) /* again, because the kernel resets it when the user changes */
        err = dg_process_core_dumps(options->core_dumps, error);
    return err;
}

static void announce(struct daemon *d)
{
    for (size_t i = 0; i < dg_server_n_listeners(d->server); i++)
        dg_log_event(d->log, DG_LOG_NOTICE, "daemon",
                     DG_LOG_FIELDS(dg_log_str("address", dg_server_address(d->server, i))),
                     "listening");
    dg_log_event(d->log, DG_LOG_NOTICE, "daemon",
                 DG_LOG_FIELDS(dg_log_str("version", dg_version())), "ready");
    dg_systemd_ready("serving");
}

/* Takes the steps in order, up to the first that fails. */
static enum dg_err start(struct daemon *d, struct dg_error *error)
{
    enum dg_err err = open_log(d, error);
    if (!err)
        err = limit_process(d, error);
    if (!err)
        err = open_loop(d, error);
    if (!err)
        err = open_shared(d, error);
    if (!err)
        err = open_keys(d, error);
    if (!err)
        err = open_service(d, error);
    if (!err)
        err = open_api(d, error);
    if (!err)
        err = bind_listeners(d, error);
    if (!err)
        err = open_agent(d, error);
    if (!err)
        err = drop_privileges(d, error);
    if (!err)
        err = open_glossaries(d, error);
    if (!err)
        err = open_documents(d, error);
    if (!err)
        err = open_bulk(d, error);
    if (!err)
        announce(d);
    return err;
}

/* Mirror of start, from whichever step was reached. */
static void wind_down(struct daemon *d)
{
    if (d->loop_open) {
        finish(d);
        uv_run(&d->loop, UV_RUN_DEFAULT); /* runs the close callbacks of the handles */
    }
    dg_server_free(d->server);
    dg_service_free(d->service);
    dg_shared_free(d->shared);
    dg_api_free(d->api);
    dg_keys_free(d->keys);
    if (d->loop_open && uv_loop_close(&d->loop) != 0)
        dg_log_event(d->log, DG_LOG_ERROR, "daemon", DG_LOG_NO_FIELDS,
                     "the event loop still holds handles; please report this");
    if (d->loop_open)
        dg_log_event(d->log, DG_LOG_NOTICE, "daemon", DG_LOG_NO_FIELDS, "stopped");
    dg_log_close(d->log);
    if (d->live != d->start)
        dg_opt_set_free(d->live);
    dg_opt_set_free(d->start);
}

int main(int argc, char **argv)
{
    struct daemon d = {.argc = argc, .argv = argv};
    struct dg_error error = DG_ERROR_NONE;
    int exit_code = EXIT_OK;
    d.clock = (struct dg_clock)DG_CLOCK_REAL;
    dg_turn_init(&d.turn, &d.clock);
    dg_memory_tune();
    dg_signals_hold();
    dg_map_file_guard(DG_MAP_FILE_GOES_ON);
    enum dg_err err = dg_options_read(argc, argv, environ, &error, &d.start);
    d.live = d.start;
    if (err) {
        exit_code = err == DG_ERR_NOMEM ? EXIT_FAILED : EXIT_USAGE;
    } else if (answer_and_leave(d.start, &err, &error)) {
        exit_code = err == DG_ERR_EXISTS ? EXIT_USAGE : err ? EXIT_FAILED : EXIT_OK;
    } else if ((err = dg_service_check(d.start, &error))) {
        exit_code = EXIT_USAGE;
    } else {
        err = start(&d, &error);
        if (!err)
            uv_run(&d.loop, UV_RUN_DEFAULT);
        exit_code = err ? EXIT_FAILED : EXIT_OK;
    }
    if (err)
        fprintf(stderr, "%sdragomand: %s\n", dg_log_stderr_is_journal() ? "<3>" : "",
                dg_error_text(&error, err));
    wind_down(&d);
    return exit_code;
}
