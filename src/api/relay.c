/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The relay lives in its job's arena. A text's language is looked for when its turn comes, not at the start:
 * a thousand texts do not hold the loop. */
#include "api/relay.h"
#include "api/api_int.h"
#include "api/aside.h"
#include "base/utf8.h"

enum { SHORT_BYTES = 16 * 1024, ARENA_MORE = 4 << 20 };

/* ---- Life ---------------------------------------------------------------------------------------- */

struct dg_relay *dg_relay_new_for(struct dg_api *api, size_t arena_max)
{
    struct dg_job *job = NULL;
    struct dg_relay *relay = NULL;
    if (!api->engine || dg_engine_n_models(api->engine) == 0)
        return NULL;
    if (dg_job_new(api->engine, &api->jobs, arena_max, &job) == DG_OK)
        relay = dg_arena_calloc(&job->arena, 1, sizeof *relay);
    if (relay) {
        relay->job = job;
        relay->arena = &job->arena;
        job->ask.request = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
        if (dg_languages_read(&api->languages, api->engine, relay->arena, &relay->langs) == DG_OK)
            return relay;
    }
    dg_job_drop(job);
    return NULL;
}

struct dg_relay *dg_relay_new(struct dg_call *call)
{
    if (!call->api->engine || dg_engine_n_models(call->api->engine) == 0) {
        dg_call_fail(call, (struct dg_failure){.status = 503, .code = "no_model", .retry_after_s = 1,
                                               .message = "This server has no model."});
        return NULL;
    }
    struct dg_relay *relay = dg_relay_new_for(call->api, call->req->body.len * 8 + ARENA_MORE);
    if (!relay) {
        dg_call_no_memory(call);
        return NULL;
    }
    relay->call = call;
    relay->started_ns = call->started_ns;
    return relay;
}

void dg_relay_drop(struct dg_relay *relay)
{
    dg_job_drop(relay->job); /* with all that is in its arena, the relay too */
}

void dg_relay_fail(struct dg_relay *relay, int status, const char *code, const char *message)
{
    dg_call_fail(relay->call, (struct dg_failure){.status = status, .code = code, .message = message});
    dg_relay_drop(relay);
}

void dg_relay_fail_with(struct dg_relay *relay, enum dg_err err, const struct dg_why *why)
{
    dg_call_fail(relay->call, dg_ask_failure(relay->arena, err, why, NULL));
    dg_relay_drop(relay);
}

/* ---- What is asked ------------------------------------------------------------------------------- */

static enum dg_err read_fields(void *work, const struct dg_api *api, struct dg_span body, struct dg_failure *failure)
{
    struct dg_relay *relay = work;
    struct dg_why why = DG_WHY_NONE;
    (void)api;
    relay->source.body = body;
    enum dg_err err = dg_fields_read(&relay->source, relay->arena, &relay->fields, &why);
    relay->source = (struct dg_fields_source){.is_get = false};
    if (!err)
        return DG_OK;
    *failure = dg_ask_failure(relay->arena, err, &why, NULL);
    if (failure->status < 500 && err != DG_ERR_LIMIT)
        failure->code = relay->fields.is_json ? "invalid_json" : "invalid_form";
    return err;
}

static void on_fields(void *work, struct dg_call *call)
{
    struct dg_relay *relay = work;
    relay->on_open(call, relay);
}

static void drop_unread(void *work)
{
    dg_relay_drop(work);
}

/* What the thread needs beside the body, copied: the request may be gone by then. */
static bool set_source(struct dg_relay *relay, const struct dg_http_req *req)
{
    relay->source = dg_fields_source(req);
    relay->source.type = dg_arena_copy(relay->arena, relay->source.type);
    relay->source.query = dg_arena_copy(relay->arena, relay->source.query);
    return relay->source.type.ptr && relay->source.query.ptr;
}

void dg_relay_open(struct dg_call *call, void (*on_open)(struct dg_call *call, struct dg_relay *relay))
{
    static const struct dg_aside_fns fns = {.read = read_fields, .go_on = on_fields, .drop = drop_unread};
    struct dg_relay *relay = dg_relay_new(call);
    if (!relay)
        return;
    relay->on_open = on_open;
    if (set_source(relay, call->req))
        dg_aside_read(call, &fns, relay);
    else
        dg_relay_fail_with(relay, DG_ERR_NOMEM, NULL);
}

void dg_relay_prepare_short(struct dg_call *call)
{
    if (call->req->body_max > SHORT_BYTES)
        call->req->body_max = SHORT_BYTES;
}

struct dg_relay *dg_relay_open_short(struct dg_call *call)
{
    struct dg_failure failure;
    struct dg_relay *relay = dg_relay_new(call);
    if (!relay)
        return NULL;
    relay->source = dg_fields_source(call->req);
    if (read_fields(relay, call->api, call->req->body, &failure) == DG_OK)
        return relay;
    dg_call_fail(call, failure);
    dg_relay_drop(relay);
    return NULL;
}

enum dg_err dg_relay_texts(struct dg_relay *relay, size_t n)
{
    struct dg_relay_item *items = dg_arena_calloc(relay->arena, n ? n : 1, sizeof *items);
    if (!items)
        return DG_ERR_NOMEM;
    relay->items = items;
    relay->n = n;
    return DG_OK;
}

enum dg_err dg_relay_texts_of(struct dg_relay *relay, const struct dg_field *field)
{
    enum dg_err err = dg_relay_texts(relay, dg_fields_count(&relay->fields, field));
    relay->is_array = field && field->in_array;
    for (size_t i = 0; !err && i < relay->n; i++, field = dg_fields_next(&relay->fields, field)) {
        relay->items[i].text = field->value;
        if (field->kind != DG_FIELD_TEXT)
            err = DG_ERR_INVALID;
    }
    return err;
}

struct dg_span dg_relay_result(const struct dg_relay *relay, size_t i)
{
    return dg_buf_span(&relay->job->items[i].json);
}

struct dg_span dg_relay_alternative(const struct dg_relay *relay, size_t i, int k)
{
    return dg_buf_span(&relay->job->items[i].alternatives[k]);
}

size_t dg_relay_characters(const struct dg_relay *relay)
{
    size_t n = 0;
    for (size_t i = 0; i < relay->n; i++)
        n += dg_utf8_count(relay->items[i].text);
    return n;
}

/* ---- Each text ----------------------------------------------------------------------------------- */

static void on_begin(void *owner, struct dg_job_item *job_item, struct dg_engine_request *request)
{
    struct dg_relay *relay = owner;
    (void)job_item;
    if (!relay->from)
        request->source = "auto";
    else if (!request->model)
        request->source = relay->from->tag.text;
    if (!request->model)
        request->target = relay->to ? relay->to->tag.text : NULL;
}

/* What the text was in: as the request says, as was detected, or what the model reads. */
static void keep_source(const struct dg_relay *relay, struct dg_relay_item *item, const struct dg_engine_result *result)
{
    item->from = relay->from;
    item->detected = result->detected;
    item->confidence = result->confidence;
    item->is_blank = result->is_copy && !result->detected && !relay->from;
    item->is_foreign = result->is_foreign;
    if (!item->from && result->source)
        item->from = dg_languages_find(&relay->langs, dg_span_cstr(result->source), DG_LANGUAGE_ANY);
    if (item->from && item->detected)
        item->detected = item->from->code;
}

/* Copies: what the engine tells is gone with its request. */
static enum dg_err keep_lost(struct dg_relay *relay, struct dg_relay_item *item, const struct dg_engine_result *result)
{
    size_t n = result->n_lost + result->n_terms;
    struct dg_span *kept = n ? dg_arena_calloc(relay->arena, n, sizeof *kept) : NULL;
    if (n && !kept)
        return DG_ERR_NOMEM;
    item->lost = kept;
    for (; item->n_lost < result->n_lost; item->n_lost++) {
        kept[item->n_lost] = dg_arena_copy(relay->arena, result->lost[item->n_lost]);
        if (!kept[item->n_lost].ptr)
            return DG_ERR_NOMEM;
    }
    item->missed = kept + item->n_lost;
    for (size_t i = 0; i < result->n_terms; i++)
        if (!result->terms[i].is_used)
            item->missed[item->n_missed++] = result->terms[i].term->source; /* the job holds the glossary */
    return DG_OK;
}

void dg_relay_put_notes(struct dg_json_out *out, const struct dg_relay *relay, const struct dg_relay_item *item)
{
    if (item->is_foreign)
        dg_job_put_foreign(out, item->detected, relay->to ? relay->to->code : NULL);
    const struct {
        const char *key;
        const struct dg_span *items;
        size_t n;
    } lists[] = {{"lost", item->lost, item->n_lost}, {"missed_terms", item->missed, item->n_missed}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        if (lists[k].n == 0)
            continue;
        dg_json_out_put_open(out, lists[k].key, '[');
        for (size_t i = 0; i < lists[k].n; i++)
            dg_json_out_string(out, lists[k].items[i]);
        dg_json_out_close(out, ']');
    }
}

bool dg_relay_leads(const struct dg_relay *relay)
{
    return relay->from ? dg_languages_lead(&relay->langs, relay->from, relay->to) : relay->to != NULL;
}

static enum dg_err on_item(void *owner, struct dg_job_item *job_item, const struct dg_engine_result *result)
{
    struct dg_relay *relay = owner;
    struct dg_relay_item *item = &relay->items[job_item->index];
    item->n_characters = result->n_characters;
    keep_source(relay, item, result);
    if (result->n_lost + result->n_terms > 0 && keep_lost(relay, item, result) != DG_OK)
        return DG_ERR_NOMEM;
    return dg_buf_append_span(&job_item->json, result->text); /* where our own API would have put JSON */
}

static void on_delta(void *owner, struct dg_job_item *item, struct dg_span text)
{
    struct dg_relay *relay = owner;
    (void)item;
    relay->on_delta(relay, text);
}

/* ---- The end ------------------------------------------------------------------------------------- */

static enum dg_err write_answer(void *work, struct dg_buf *buf)
{
    struct dg_relay *relay = work;
    struct dg_json_out out;
    dg_json_out_init(&out, buf);
    relay->on_whole(relay, &out);
    return dg_json_out_end(&out);
}

static void on_answer(void *work, enum dg_err err, struct dg_buf *buf)
{
    struct dg_relay *relay = work;
    struct dg_call *call = relay->call;
    if (call) {
        call->on_gone = NULL;
        if (err)
            dg_call_fail(call, dg_ask_failure(relay->arena, DG_ERR_NOMEM, NULL, NULL));
        else
            dg_call_json_give(call, buf);
    }
    dg_relay_drop(relay);
}

/* The client leaves while its answer is written. */
static void on_gone_unanswered(void *work)
{
    struct dg_relay *relay = work;
    relay->call = NULL;
}

/* Drops the relay, in the end. */
static void answer(struct dg_relay *relay)
{
    const struct dg_api *api = relay->call->api;
    struct dg_call *call = relay->call;
    size_t size = 0;
    for (size_t i = 0; i < relay->n; i++) {
        size += relay->job->items[i].json.len;
        for (int k = 1; k <= relay->job->ask.alternatives; k++)
            size += relay->job->items[i].alternatives[k].len;
        if (relay->tally)
            *relay->tally += relay->items[i].n_characters;
    }
    if (!dg_aside_write(api, size, write_answer, on_answer, relay))
        return;
    call->work = relay;
    call->on_gone = on_gone_unanswered;
}

static void on_over(void *owner, struct dg_job *job)
{
    struct dg_relay *relay = owner;
    struct dg_call *call = relay->call;
    struct dg_failure failure = dg_ask_failure(&job->arena, job->err, &job->why, NULL);
    if (call) {
        dg_call_took(call, job->n_tokens_in, job->n_tokens_out, job->queue_ns, job->total_ns);
        call->on_gone = NULL;
    }
    if (!relay->on_end && !job->err) {
        answer(relay);
        return;
    }
    if (relay->on_end)
        relay->on_end(relay, job->err ? &failure : NULL);
    else
        dg_call_fail(call, failure);
    dg_relay_drop(relay);
}

static void on_gone(void *work)
{
    dg_relay_drop(work);
}

static const struct dg_job_listener whole_listener = {.on_begin = on_begin, .on_item = on_item, .on_over = on_over};
static const struct dg_job_listener stream_listener = {
    .on_begin = on_begin, .on_delta = on_delta, .on_item = on_item, .on_over = on_over};

static enum dg_err hand_over(struct dg_relay *relay)
{
    struct dg_ask *ask = &relay->job->ask;
    ask->texts = dg_arena_calloc(relay->arena, relay->n ? relay->n : 1, sizeof *ask->texts);
    if (!ask->texts)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < relay->n; i++)
        ask->texts[i] = relay->items[i].text;
    ask->n_texts = relay->n;
    ask->request.search.n_best = ask->alternatives + 1;
    return DG_OK;
}

/* A failure before the end, in whichever way the relay tells it. */
static void tell_failure(struct dg_relay *relay, const struct dg_failure *failure)
{
    if (relay->on_end)
        relay->on_end(relay, failure);
    else
        dg_call_fail(relay->call, *failure);
    dg_relay_drop(relay);
}

/* Through the gate: begins, or says why not. */
static void on_passed(void *work, const struct dg_failure *refusal)
{
    struct dg_relay *relay = work;
    struct dg_call *call = relay->call;
    struct dg_why why = DG_WHY_NONE;
    uint64_t retry_ms = 0;
    if (call)
        call->on_gone = NULL;
    if (refusal) {
        tell_failure(relay, refusal);
        return;
    }
    struct dg_failure missing;
    enum dg_err err = hand_over(relay);
    if (!err && call) {
        const struct dg_key *key = call->api->access ? dg_access_key(call->api->access, &call->charge.who) : NULL;
        if (dg_glossaries_apply(&call->api->glossaries, relay->job, dg_gate_name(call), dg_glossaries_is_admin(call), key, &missing)) {
            tell_failure(relay, &missing);
            return;
        }
    }
    if (!err && relay->n == 0) { /* nothing to wait for */
        on_over(relay, relay->job);
        return;
    }
    if (!err)
        err = dg_job_start(relay->job, relay->on_delta ? &stream_listener : &whole_listener, relay, &why, &retry_ms);
    if (!err) {
        if (call) {
            call->work = relay;
            call->on_gone = on_gone;
        }
        return;
    }
    struct dg_failure failure = dg_ask_start_failure(relay->arena, err, &why, retry_ms);
    tell_failure(relay, &failure);
}

/* The key in the body, by whichever name it goes there. */
static struct dg_span key_of(const struct dg_relay *relay)
{
    static const char *const names[] = {"api_key", "auth_key", "token", "api_token", "key"};
    struct dg_span key = {NULL, 0};
    for (size_t i = 0; i < sizeof names / sizeof *names && key.len == 0; i++)
        key = dg_fields_text(&relay->fields, names[i]);
    return key;
}

void dg_relay_start(struct dg_relay *relay, void (*on_whole)(struct dg_relay *relay, struct dg_json_out *out))
{
    struct dg_call *call = relay->call;
    relay->on_whole = on_whole;
    for (size_t i = 0; call && call->api->opts.characters_max && i < relay->n; i++) {
        if (dg_utf8_count(relay->items[i].text) <= call->api->opts.characters_max)
            continue;
        dg_relay_fail(relay, 413, "limit_reached", "The request's text is longer than this server takes.");
        return;
    }
    if (!call) { /* a message on a socket that came through the gate when it was opened */
        on_passed(relay, NULL);
        return;
    }
    const struct dg_gate_wish wish = {.key = key_of(relay), .characters = dg_relay_characters(relay),
                                      .request = &relay->job->ask.request, .arena = relay->arena};
    call->work = relay;
    call->on_gone = on_gone;
    dg_gate_pass(call, &wish, on_passed);
}
