/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /v1/admin/live: what the server is doing, second by second, as server-sent events:
 *     event: history    once: {"version":...,"started":...,"columns":[...],"rows":[[...],...],
 *                       "log":[...]}
 *     event: now        each second: {"time":...,"row":[...],"models":[...],"refusals":{...},
 *                       "log":[...]}
 *     event: over       the server stops; nothing follows
 *
 * A second's text is made once and written to all viewers. Their number is limited, and a viewer
 * that does not read is dropped. GET /ops is the page that draws the figures
 * (clients/web/ops.html): the page itself contains no figures and is open to all; admin.h says who
 * may see the figures. */
#include "api/http/api_int.h"
#include "api/http/work.h"
#include "base/json/json_out.h"
#include "base/memory/mem.h"
#include "net/proto/sse.h"

enum {
    TEXT_MAX = 4 << 20,
    UNREAD_MAX = 10, /* seconds that a viewer may lag behind */
};

struct viewer {
    struct dg_work work;
    struct dg_list link;
    unsigned n_unread; /* seconds written since everything was last read */
};

/* ---- Text ------------------------------------------------------------------------------------ */

static void put_row(struct dg_json_out *out, const float *row)
{
    dg_json_out_open(out, '[');
    for (size_t c = 0; c < DG_LIVE_N_COLUMNS; c++)
        dg_json_out_real(out, (double)row[c], 6); /* infinities and NaN become null */
    dg_json_out_close(out, ']');
}

/* Events of the log above `after`; returns the number of the last one. */
static uint64_t put_log(struct dg_json_out *out, struct dg_log *log, uint64_t after)
{
    struct dg_log_kept event;
    dg_json_out_put_open(out, "log", '[');
    while (dg_log_recent(log, after, &event, 1) == 1) {
        after = event.number;
        dg_json_out_open(out, '{');
        dg_json_out_put_uint(out, "number", event.number);
        dg_json_out_put_real(out, "time", (double)(event.wall_ns / DG_CLOCK_MS) / 1e3, 14);
        dg_json_out_put_cstr(out, "level", dg_log_level_name(event.level));
        dg_json_out_put_cstr(out, "module", event.module);
        dg_json_out_put_cstr(out, "text", event.text);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    return after;
}

static const struct dg_counter_key of_model[] = {
    {DG_COUNTER_WAITING, "waiting"},
    {DG_COUNTER_RUNNING, "running"},
    {DG_COUNTER_DONE, "done"},
    {DG_COUNTER_TOKENS_OUT, "tokens_out"},
};

static const struct dg_counter_key memory[] = {
    {DG_COUNTER_MODEL_BYTES, "models"},
    {DG_COUNTER_MODEL_BYTES_MAX, "models_max"},
    {DG_COUNTER_TEXT_BYTES, "texts"},
    {DG_COUNTER_CACHE_BYTES, "cache"},
    {DG_COUNTER_CACHE_BYTES_MAX, "cache_max"},
    {DG_COUNTER_WAITING_FOR_MODEL, "waiting_for_model"},
    {DG_COUNTER_BUFFERS, "buffers"},
    {DG_COUNTER_BUFFERS_MAX, "buffers_max"},
    {DG_COUNTER_BODIES, "bodies"},
};

static const struct dg_counter_key refusals[] = {
    {DG_COUNTER_REFUSED, "queue_full"},
    {DG_COUNTER_CONNECTIONS_REFUSED, "connection_limit"},
    {DG_COUNTER_BODIES_REFUSED, "memory_for_bodies"},
};

static const struct dg_counter_key failures[] = {
    {DG_COUNTER_FAILED, "sentences_failed"},
    {DG_COUNTER_TIMED_OUT, "sentences_timed_out"},
    {DG_COUNTER_CANCELLED, "sentences_cancelled"},
    {DG_COUNTER_CONNECTIONS_EXPIRED, "connections_expired"},
    {DG_COUNTER_CONNECTIONS_STALLED, "connections_stalled"},
    {DG_COUNTER_TURNS_SLOW, "loop_slow_turns"},
    {DG_COUNTER_WORKERS_STALLED, "workers_stalled"},
};

static void put_models(struct dg_json_out *out, struct dg_engine *engine,
                       const struct dg_live *live)
{
    dg_json_out_put_open(out, "models", '[');
    for (size_t i = 0; i < dg_engine_n_models(engine); i++) {
        struct dg_engine_model_info info = dg_engine_model_info(engine, i);
        struct dg_counters counters;
        dg_counters_read_model(&counters, engine, i);
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "name", info.name);
        dg_json_out_put_cstr(out, "source", info.source);
        dg_json_out_put_cstr(out, "target", info.target);
        dg_json_out_put_cstr(out, "state", dg_engine_model_state_name(info.state));
        if (*info.failure)
            dg_json_out_put_cstr(out, "failure", info.failure);
        dg_json_out_put_uint(out, "bytes", info.bytes);
        DG_COUNTERS_PUT_JSON(out, &counters, of_model);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "memory", '{');
    DG_COUNTERS_PUT_JSON(out, &live->counters, memory);
    dg_json_out_close(out, '}');
}

/* Counts since the start, by reason: what was refused and what went wrong. */
static void put_refusals(struct dg_json_out *out, const struct dg_api *api)
{
    const struct dg_live *live = &api->live;
    dg_json_out_put_open(out, "refusals", '{');
    for (size_t i = 0; i < DG_N_REFUSALS; i++)
        dg_json_out_put_uint(out, dg_gate_refusal_name(i), api->refusals[i]);
    DG_COUNTERS_PUT_JSON(out, &live->counters, refusals);
    dg_json_out_close(out, '}');
    dg_json_out_put_open(out, "failures", '{');
    DG_COUNTERS_PUT_JSON(out, &live->counters, failures);
    dg_json_out_put_uint(out, "log_lines_lost", dg_log_lost(api->log));
    dg_json_out_close(out, '}');
}

/* Begins an event, whose data is an object. */
static void begin(struct dg_json_out *out, const char *event, struct dg_buf *text)
{
    const enum dg_err err = dg_sse_open(text, event, DG_SPAN(""));
    dg_json_out_init(out, text);
    out->err = err;
    dg_json_out_open(out, '{');
}

/* Ends it; reports a failure of what was put before, too. */
static enum dg_err finish(struct dg_json_out *out)
{
    dg_json_out_close(out, '}');
    enum dg_err err = dg_json_out_end(out);
    return err ? err : dg_sse_close(out->buf);
}

static enum dg_err put_history(struct dg_api *api, struct dg_buf *text)
{
    const struct dg_live *live = &api->live;
    struct dg_json_out out;
    begin(&out, "history", text);
    dg_json_out_put_cstr(&out, "version", api->opts.version);
    uint64_t uptime_s = (dg_clock_now(&api->clock) - api->started_ns) / DG_CLOCK_S;
    dg_json_out_put_uint(&out, "started", dg_clock_wall(&api->clock) / DG_CLOCK_S - uptime_s);
    dg_json_out_put_cstr(&out, "instance", api->instance);
    dg_json_out_put_uint(&out, "time", dg_clock_wall(&api->clock) / DG_CLOCK_S);
    dg_json_out_put_open(&out, "columns", '[');
    for (size_t c = 0; c < DG_LIVE_N_COLUMNS; c++)
        dg_json_out_cstr(&out, dg_live_column_name(c));
    dg_json_out_close(&out, ']');
    dg_json_out_put_open(&out, "rows", '[');
    for (size_t i = 0; i < live->n; i++)
        put_row(&out, dg_live_row(live, i));
    dg_json_out_close(&out, ']');
    (void)put_log(&out, api->log, 0);
    return finish(&out);
}

static enum dg_err put_now(struct dg_api *api, struct dg_buf *text)
{
    struct dg_live *live = &api->live;
    struct dg_json_out out;
    begin(&out, "now", text);
    dg_json_out_put_uint(&out, "time", live->wall_ns / DG_CLOCK_S);
    dg_json_out_put_uint(&out, "uptime_seconds", (live->taken_ns - api->started_ns) / DG_CLOCK_S);
    dg_json_out_put_uint(&out, "viewers", live->n_viewers);
    dg_json_out_key(&out, "row");
    put_row(&out, dg_live_row(live, live->n - 1));
    if (api->engine)
        put_models(&out, api->engine, live);
    put_refusals(&out, api);
    live->log_number = put_log(&out, api->log, live->log_number);
    return finish(&out);
}

/* ---- Who looks ------------------------------------------------------------------------------- */

static void free_viewer(struct dg_work *work)
{
    struct viewer *viewer = (struct viewer *)work;
    work->api->live.n_viewers--;
    dg_list_unlink(&viewer->link);
    dg_free(viewer);
}

static const struct dg_work_ops viewer_ops = {.leave = free_viewer, .free = free_viewer};

/* After this the call is not the viewer's any more. */
static struct dg_call *let_go(struct viewer *viewer)
{
    struct dg_call *call = dg_work_end(&viewer->work);
    call->req->on_room = NULL;
    return call;
}

static void on_room(void *owner)
{
    const struct dg_call *call = owner;
    struct viewer *viewer = (struct viewer *)call->work;
    viewer->n_unread = 0;
}

/* The list is copied first, because writing may end a viewer. */
static void tell(struct dg_api *api, struct dg_span text)
{
    struct dg_live *live = &api->live;
    for (struct dg_list *at = live->viewers.next, *next; at != &live->viewers; at = next) {
        struct viewer *viewer = DG_LIST_ITEM(at, struct viewer, link);
        next = at->next;
        if (viewer->n_unread++ < UNREAD_MAX &&
            dg_http_reply_write(viewer->work.call->req, text) == DG_OK)
            continue;
        live->n_dropped++;
        dg_http_reply_abort(let_go(viewer)->req);
    }
}

void dg_api_second(struct dg_api *api)
{
    struct dg_buf text;
    if (api->bulk)
        dg_bulk_retry(api->bulk);
    dg_api_count_scorings(api);
    dg_call_keep_streams(api);
    dg_live_take(&api->live, api, dg_clock_now(&api->clock), dg_clock_wall(&api->clock));
    if (api->live.n_viewers == 0)
        return;
    dg_buf_init(&text, TEXT_MAX);
    if (put_now(api, &text) == DG_OK) /* otherwise this second is not shown */
        tell(api, dg_buf_span(&text));
    dg_buf_deinit(&text);
}

void dg_api_drain(struct dg_api *api)
{
    struct dg_live *live = &api->live;
    while (!dg_list_is_empty(&live->viewers)) {
        struct dg_call *call = let_go(DG_LIST_ITEM(live->viewers.next, struct viewer, link));
        (void)!dg_http_reply_write(call->req, DG_SPAN("event: over\ndata: {}\n\n"));
        dg_http_reply_end(call->req);
    }
}

static void refuse(struct dg_call *call, const char *message)
{
    dg_call_fail(call,
                 (struct dg_failure){
                     .status = 503, .code = "overloaded", .message = message, .retry_after_s = 10});
}

void dg_api_v1_admin_live(struct dg_call *call)
{
    struct dg_api *api = call->api;
    struct dg_buf text;
    if (api->live.n_viewers >= DG_LIVE_VIEWERS_MAX) {
        refuse(call, "Too many clients are watching this already.");
        return;
    }
    dg_buf_init(&text, TEXT_MAX);
    struct viewer *viewer = dg_try_calloc(1, sizeof *viewer);
    enum dg_err err = viewer ? put_history(api, &text) : DG_ERR_NOMEM;
    if (err) {
        dg_free(viewer);
        refuse(call, "There is not enough memory for the answer.");
    } else if (call->req->method == DG_HTTP_HEAD ||
               (api->server && dg_server_is_draining(api->server))) {
        dg_free(viewer);
        dg_call_begin_stream(call, "text/event-stream");
        dg_http_reply_end(call->req);
    } else {
        dg_work_attach(call, &viewer->work, &viewer_ops);
        call->req->on_room = on_room;
        dg_list_link_last(&api->live.viewers, &viewer->link);
        api->live.n_viewers++;
        dg_call_begin_stream(call, "text/event-stream");
        (void)!dg_http_reply_write(call->req, dg_buf_span(&text));
    }
    dg_buf_deinit(&text);
}
