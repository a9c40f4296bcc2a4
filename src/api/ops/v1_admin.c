/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The routes of administration, for callers that admin.h allows. The daemon does the work (struct
 * dg_admin_ops).
 *
 *     GET    /v1/admin/status                what the server is doing, in numbers
 *     POST   /v1/admin/models                {"name":"fr-en","path":"/...","source":"fr",
 *                                            "target":"en"}
 *     POST   /v1/admin/models/NAME/reload    from its present path
 *     DELETE /v1/admin/models/NAME
 *     POST   /v1/admin/log-level             {"level":"debug"}, until the next reload
 *     POST   /v1/admin/reload                as SIGHUP
 *     POST   /v1/admin/drain                 as SIGTERM: finishes what runs, then ends */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "api/ops/counters.h"
#include "api/v1/translate_options.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"

enum { ANSWER_MAX = 1 << 20, VALUES_MAX = 100 };

void dg_api_set_admin(struct dg_api *api, const struct dg_admin_ops *ops, void *user)
{
    api->admin = ops;
    api->admin_user = user;
}

static void fail(struct dg_call *call, enum dg_err err, const struct dg_error *error,
                 const char *field)
{
    struct dg_failure failure =
        field ? dg_translate_options_field_failure(call->req->arena, err, error, field)
              : dg_translate_options_failure(call->req->arena, err, error, NULL);
    dg_call_fail(call, failure);
}

/* Returns true when the server has these operations; otherwise the call is answered. */
static bool has_ops(struct dg_call *call)
{
    if (!call->api->admin)
        dg_call_fail(call, (struct dg_failure){.status = 501,
                                               .code = "unsupported",
                                               .message = "This server cannot be administered."});
    return call->api->admin != NULL;
}

static void answer(struct dg_call *call, int status, const char *text)
{
    struct dg_buf buf;
    dg_buf_init(&buf, 1024);
    if (dg_buf_printf(&buf, "{\"status\":\"%s\"}", text) == DG_OK)
        dg_call_json(call, status, dg_buf_span(&buf));
    else
        dg_call_text(call, status, dg_span_cstr(text));
    dg_buf_deinit(&buf);
}

/* ---- Looking --------------------------------------------------------------------------------- */

static const struct dg_counter_key connections[] = {
    {DG_COUNTER_CONNECTIONS, "connections"},
    {DG_COUNTER_WEBSOCKETS, "websockets"},
};

static const struct dg_counter_key sentences[] = {
    {DG_COUNTER_WAITING, "waiting"},     {DG_COUNTER_RUNNING, "running"},
    {DG_COUNTER_DONE, "done"},           {DG_COUNTER_REFUSED, "refused"},
    {DG_COUNTER_CANCELLED, "cancelled"}, {DG_COUNTER_TIMED_OUT, "timed_out"},
    {DG_COUNTER_FAILED, "failed"},
};

static const struct dg_counter_key jobs[] = {
    {DG_COUNTER_JOBS_WAITING, "waiting"}, {DG_COUNTER_JOBS_RUNNING, "running"},
    {DG_COUNTER_JOBS_OVER, "over"},       {DG_COUNTER_JOBS_LINES, "lines"},
    {DG_COUNTER_JOBS_BYTES, "bytes"},
};

static void put_counters(struct dg_json_out *out, const struct dg_api *api)
{
    struct dg_counters counters;
    dg_counters_read(&counters, api);
    if (api->server) {
        DG_COUNTERS_PUT_JSON(out, &counters, connections);
        dg_json_out_put_bool(out, "draining", dg_server_is_draining(api->server));
    }
    if (api->engine) {
        dg_json_out_put_uint(out, "models", counters.n_models);
        dg_json_out_put_open(out, "sentences", '{');
        DG_COUNTERS_PUT_JSON(out, &counters, sentences);
        dg_json_out_close(out, '}');
    }
    if (api->has_jobs) {
        dg_json_out_put_open(out, "jobs", '{');
        DG_COUNTERS_PUT_JSON(out, &counters, jobs);
        dg_json_out_close(out, '}');
    }
}

void dg_api_v1_admin_status(struct dg_call *call)
{
    struct dg_api *api = call->api;
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "version", api->opts.version);
    dg_json_out_put_uint(&out, "uptime_seconds",
                         (dg_clock_now(&api->clock) - api->started_ns) / DG_CLOCK_S);
    if (api->admin)
        dg_json_out_put_cstr(&out, "log_level",
                             dg_log_level_name(api->admin->log_level(api->admin_user)));
    put_counters(&out, api);
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

/* ---- Models ---------------------------------------------------------------------------------- */

static void free_loading(struct dg_work *work)
{
    dg_free(work);
}

static const struct dg_work_ops loading_ops = {.free = free_loading};

static void on_loaded(void *owner, enum dg_err err, const struct dg_error *error)
{
    struct dg_call *call = dg_work_end(owner);
    if (call && err)
        fail(call, err, error, NULL);
    else if (call)
        answer(call, 200, "loaded");
}

static void load(struct dg_call *call, const struct dg_admin_model *model)
{
    struct dg_error error = DG_ERROR_NONE;
    struct dg_work *work = dg_try_malloc(sizeof *work);
    enum dg_err err = work ? DG_OK : DG_ERR_NOMEM;
    if (!err) {
        dg_work_attach(call, work, &loading_ops);
        err = call->api->admin->load(call->api->admin_user, model, on_loaded, work, &error);
        if (err)
            dg_work_end(work);
    }
    if (err)
        fail(call, err, &error, NULL);
}

/* Copies a text with a NUL after it; DG_ERR_INVALID if it contains a NUL. */
static enum dg_err read_text(const struct dg_json *json, const char *name, enum dg_json_need need,
                             struct dg_arena *arena, struct dg_error *error, const char **out)
{
    struct dg_span text = {NULL, 0};
    enum dg_err err = dg_json_get_string(json, name, need, error, &text);
    if (err || !text.ptr)
        return err;
    if (text.len == 0 || memchr(text.ptr, '\0', text.len))
        return dg_error_set(error, DG_ERR_INVALID,
                            "field '%s': read %zu bytes, expected a text without NUL", name,
                            text.len);
    struct dg_span copy = dg_arena_copy(arena, text);
    *out = copy.ptr;
    return copy.ptr ? DG_OK : DG_ERR_NOMEM;
}

static enum dg_err read_model(struct dg_call *call, const struct dg_json *json,
                              struct dg_admin_model *model, struct dg_error *error,
                              const char **field)
{
    static const char *const fields[] = {"name", "path", "source", "target", NULL};
    struct dg_arena *arena = call->req->arena;
    enum dg_err err = dg_json_check_fields(json, fields, error, field);
    if (!err)
        err = read_text(json, *field = "name", DG_JSON_REQUIRED, arena, error, &model->name);
    if (!err)
        err = read_text(json, *field = "path", DG_JSON_REQUIRED, arena, error, &model->path);
    if (!err)
        err = read_text(json, *field = "source", DG_JSON_OPTIONAL, arena, error, &model->source);
    if (!err)
        err = read_text(json, *field = "target", DG_JSON_OPTIONAL, arena, error, &model->target);
    return err;
}

void dg_api_v1_admin_load(struct dg_call *call)
{
    struct dg_admin_model model = {.source = "", .target = ""};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_failure failure;
    struct dg_json *json;
    const char *field = NULL;
    if (!has_ops(call))
        return;
    if (dg_translate_options_parse(call->req->body, VALUES_MAX, call->req->arena, &failure,
                                   &json) != DG_OK) {
        dg_call_fail(call, failure);
        return;
    }
    enum dg_err err = read_model(call, json, &model, &error, &field);
    if (err)
        fail(call, err, &error, field);
    else
        load(call, &model);
    dg_json_free(json);
}

/* Returns the name in the path, with a NUL. NULL: memory ran out, and the call was answered. */
static const char *name_of(struct dg_call *call)
{
    struct dg_span name = dg_arena_copy(call->req->arena, call->arg);
    if (!name.ptr)
        fail(call, DG_ERR_NOMEM, NULL, NULL);
    return name.ptr;
}

void dg_api_v1_admin_reload_model(struct dg_call *call)
{
    const char *name = has_ops(call) ? name_of(call) : NULL;
    if (name)
        load(call, &(struct dg_admin_model){.name = name, .source = "", .target = ""});
}

void dg_api_v1_admin_unload(struct dg_call *call)
{
    struct dg_error error = DG_ERROR_NONE;
    const char *name = has_ops(call) ? name_of(call) : NULL;
    if (!name)
        return;
    enum dg_err err = call->api->admin->unload(call->api->admin_user, name, &error);
    if (err)
        fail(call, err, &error, NULL);
    else
        answer(call, 200, "unloaded");
}

/* ---- The rest -------------------------------------------------------------------------------- */

void dg_api_v1_admin_log_level(struct dg_call *call)
{
    static const char *const fields[] = {"level", NULL};
    static const char *const levels[] = {
#define DG_LEVEL_WORD(level, name, priority) [level] = name,
        DG_LOG_LEVELS(DG_LEVEL_WORD)
#undef DG_LEVEL_WORD
            NULL};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_failure failure;
    struct dg_json *json;
    int level = 0;
    if (!has_ops(call))
        return;
    if (dg_translate_options_parse(call->req->body, VALUES_MAX, call->req->arena, &failure,
                                   &json) != DG_OK) {
        dg_call_fail(call, failure);
        return;
    }
    enum dg_err err = dg_json_check_fields(json, fields, &error, NULL);
    if (!err)
        err = dg_json_get_choice(json, "level", DG_JSON_REQUIRED, levels, &error, &level);
    dg_json_free(json);
    if (err) {
        fail(call, err, &error, "level");
        return;
    }
    call->api->admin->set_log_level(call->api->admin_user, (enum dg_log_level)level);
    answer(call, 200, levels[level]);
}

void dg_api_v1_admin_reload(struct dg_call *call)
{
    if (!has_ops(call))
        return;
    call->api->admin->reload(call->api->admin_user);
    answer(call, 202, "reloading");
}

void dg_api_v1_admin_drain(struct dg_call *call)
{
    if (!has_ops(call))
        return;
    answer(call, 202, "draining"); /* first, because the connection that it came on ends with the
                                      process */
    call->api->admin->drain(call->api->admin_user);
}
