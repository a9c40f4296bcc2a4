/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A compat request lives in its job's arena. The language of a text is detected when its turn
 * comes, not at the start, so that a thousand texts do not hold the loop. */
#include "api/compat/compat.h"
#include "api/http/api_int.h"
#include "api/http/upload.h"
#include "base/memory/utf8.h"
#include "text/language/langid.h"

enum { SHORT_BYTES = 16 * 1024, ARENA_MORE = 4 << 20 };

/* ---- Life ------------------------------------------------------------------------------------ */

static void free_compat(struct dg_work *work)
{
    struct dg_compat *compat = (struct dg_compat *)work;
    if (compat->undo)
        compat->undo(compat);
    dg_document_file_free(compat->file);
    dg_job_drop(compat->job); /* frees its arena, in which `compat` lies */
}

void dg_compat_drop(struct dg_compat *compat)
{
    dg_work_end(&compat->work);
}

void dg_compat_fail(struct dg_compat *compat, int status, const char *code, const char *message)
{
    dg_work_fail(&compat->work,
                 (struct dg_failure){.status = status, .code = code, .message = message});
}

void dg_compat_fail_with(struct dg_compat *compat, enum dg_err err)
{
    dg_work_fail(&compat->work, dg_translate_options_failure(compat->arena, err, NULL, NULL));
}

/* ---- What is asked --------------------------------------------------------------------------- */

static enum dg_err read_fields(struct dg_compat *compat, struct dg_span body,
                               struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    compat->source.body = body;
    enum dg_err err = dg_fields_read(&compat->source, compat->arena, &compat->fields, &error);
    compat->source = (struct dg_fields_source){.is_get = false};
    if (!err)
        return DG_OK;
    *failure = dg_translate_options_failure(compat->arena, err, &error, NULL);
    if (failure->status < 500 && err != DG_ERR_LIMIT)
        failure->code = compat->fields.is_json ? "invalid_json" : "invalid_form";
    return err;
}

static enum dg_err read_body(struct dg_work *work, const struct dg_api *api, struct dg_span body,
                             struct dg_failure *failure)
{
    struct dg_compat *compat = (struct dg_compat *)work;
    (void)api;
    return compat->read(compat, body, failure);
}

static void on_fields(struct dg_work *work)
{
    struct dg_compat *compat = (struct dg_compat *)work;
    compat->on_open(work->call, compat);
}

enum dg_err dg_compat_texts(struct dg_compat *compat, size_t n)
{
    struct dg_compat_item *items = dg_arena_calloc(compat->arena, n ? n : 1, sizeof *items);
    if (!items)
        return DG_ERR_NOMEM;
    compat->items = items;
    compat->n = n;
    return DG_OK;
}

enum dg_err dg_compat_texts_of(struct dg_compat *compat, const struct dg_field *field)
{
    enum dg_err err = dg_compat_texts(compat, dg_fields_count(&compat->fields, field));
    compat->is_array = field && field->in_array;
    for (size_t i = 0; !err && i < compat->n; i++, field = dg_fields_next(&compat->fields, field)) {
        compat->items[i].text = field->value;
        if (field->kind != DG_FIELD_TEXT)
            err = DG_ERR_INVALID;
    }
    return err;
}

struct dg_span dg_compat_result(const struct dg_compat *compat, size_t i)
{
    return dg_buf_span(&compat->job->items[i].json);
}

struct dg_span dg_compat_alternative(const struct dg_compat *compat, size_t i, int k)
{
    return dg_buf_span(&compat->job->items[i].alternatives[k]);
}

enum dg_err dg_compat_guess(const struct dg_compat *compat, struct dg_span text,
                            struct dg_langid_guess *guesses, size_t max, struct dg_error *error,
                            size_t *n)
{
    const char **tags = dg_arena_calloc(compat->arena, compat->langs.n + 1, sizeof *tags);
    if (!tags)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < compat->langs.n; i++)
        tags[i] = compat->langs.items[i].tag.text;
    const struct dg_engine_languages among = {tags, compat->langs.n};
    return dg_engine_detect(compat->job->engine, text, &among, guesses, max, error, n);
}

enum dg_err dg_compat_detect(const struct dg_compat *compat, struct dg_span text,
                             struct dg_error *error, const char **code, double *confidence)
{
    struct dg_langid_guess guess = {.tag = NULL};
    size_t n = 0;
    const enum dg_err err = dg_compat_guess(compat, text, &guess, 1, error, &n);
    const struct dg_language *known =
        n ? dg_languages_find(&compat->langs, dg_span_cstr(guess.tag), DG_LANGUAGE_ANY) : NULL;
    *code = known ? known->code : n ? guess.tag : NULL;
    *confidence = n ? (double)guess.confidence : 0.0;
    return err;
}

size_t dg_compat_characters(const struct dg_compat *compat)
{
    size_t n = 0;
    for (size_t i = 0; i < compat->n; i++)
        n += dg_utf8_count(compat->items[i].text);
    return n;
}

size_t dg_compat_bytes(const struct dg_compat *compat)
{
    size_t n = 0;
    for (size_t i = 0; i < compat->n; i++)
        n += compat->items[i].text.len;
    return n;
}

/* ---- Each text ------------------------------------------------------------------------------- */

static void on_begin(void *owner, struct dg_job_item *job_item, struct dg_engine_request *request)
{
    struct dg_compat *compat = owner;
    const struct dg_compat_item *item = &compat->items[job_item->index];
    const struct dg_language *to = item->to ? item->to : compat->to;
    if (!compat->from)
        request->source = "auto";
    else if (!request->model)
        request->source = compat->from->tag.text;
    if (!request->model)
        request->target = to ? to->tag.text : NULL;
}

/* The language of the text: named by the request, detected, or the only one that the model
 * reads. */
static void keep_source(const struct dg_compat *compat, struct dg_compat_item *item,
                        const struct dg_engine_result *result)
{
    item->from = compat->from;
    item->detected = result->detected;
    item->confidence = result->confidence;
    item->is_blank = result->is_copy && !result->detected && !compat->from;
    item->is_foreign = result->is_foreign;
    if (!item->from && result->source)
        item->from =
            dg_languages_find(&compat->langs, dg_span_cstr(result->source), DG_LANGUAGE_ANY);
    if (item->from && item->detected)
        item->detected = item->from->code;
}

/* These are copied, because the engine's result is valid only during the call. */
static enum dg_err keep_lost(struct dg_compat *compat, struct dg_compat_item *item,
                             const struct dg_engine_result *result)
{
    size_t n = result->n_lost + result->n_terms;
    struct dg_span *kept = n ? dg_arena_calloc(compat->arena, n, sizeof *kept) : NULL;
    if (n && !kept)
        return DG_ERR_NOMEM;
    item->lost = kept;
    for (; item->n_lost < result->n_lost; item->n_lost++) {
        kept[item->n_lost] = dg_arena_copy(compat->arena, result->lost[item->n_lost]);
        if (!kept[item->n_lost].ptr)
            return DG_ERR_NOMEM;
    }
    item->missed = kept + item->n_lost;
    for (size_t i = 0; i < result->n_terms; i++)
        if (!result->terms[i].is_used)
            /* the job keeps the glossary alive */
            item->missed[item->n_missed++] = result->terms[i].term->source;
    return DG_OK;
}

void dg_compat_put_notes(struct dg_json_out *out, const struct dg_compat *compat,
                         const struct dg_compat_item *item)
{
    const struct dg_language *to = item->to ? item->to : compat->to;
    if (item->is_foreign)
        dg_job_put_foreign(out, item->detected, item->confidence, to ? to->code : NULL);
    const struct {
        const char *key;
        const struct dg_span *items;
        size_t n;
    } lists[] = {{"lost", item->lost, item->n_lost},
                 {"missed_terms", item->missed, item->n_missed}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        if (lists[k].n == 0)
            continue;
        dg_json_out_put_open(out, lists[k].key, '[');
        for (size_t i = 0; i < lists[k].n; i++)
            dg_json_out_string(out, lists[k].items[i]);
        dg_json_out_close(out, ']');
    }
}

bool dg_compat_leads(const struct dg_compat *compat)
{
    return compat->from ? dg_languages_lead(&compat->langs, compat->from, compat->to)
                        : compat->to != NULL;
}

static enum dg_err on_item(void *owner, struct dg_job_item *job_item,
                           const struct dg_engine_result *result)
{
    struct dg_compat *compat = owner;
    struct dg_compat_item *item = &compat->items[job_item->index];
    if (item->err)
        return item->err;
    item->n_characters = result->n_characters;
    keep_source(compat, item, result);
    if (result->n_lost + result->n_terms > 0 && keep_lost(compat, item, result) != DG_OK)
        return DG_ERR_NOMEM;
    /* in the place where our own API has its JSON */
    return dg_buf_append_span(&job_item->json, result->text);
}

static void on_sentence(void *owner, struct dg_job_item *job_item,
                        const struct dg_engine_sentence *sentence)
{
    struct dg_compat *compat = owner;
    struct dg_compat_item *item = &compat->items[job_item->index];
    if (compat->on_sentence && !item->err)
        item->err = compat->on_sentence(compat, job_item->index, sentence);
}

static void on_delta(void *owner, struct dg_job_item *item, struct dg_span text)
{
    struct dg_compat *compat = owner;
    (void)item;
    compat->on_delta(compat, text);
}

/* ---- The end --------------------------------------------------------------------------------- */

static enum dg_err write_answer(struct dg_work *work, struct dg_buf *json,
                                struct dg_failure *failure)
{
    struct dg_compat *compat = (struct dg_compat *)work;
    struct dg_json_out out;
    dg_json_out_init(&out, json);
    compat->on_whole(compat, &out);
    const enum dg_err err = dg_json_out_end(&out);
    if (!err || !compat->error.text[0])
        return err ? DG_ERR_NOMEM : DG_OK;
    *failure = dg_translate_options_failure(compat->arena, err, &compat->error, NULL);
    return err;
}

static void answer(struct dg_compat *compat)
{
    size_t size = 0;
    for (size_t i = 0; i < compat->n; i++) {
        size += compat->job->items[i].json.len;
        for (int k = 1; k <= compat->job->options.alternatives; k++)
            size += compat->job->items[i].alternatives[k].len;
        if (compat->tally)
            *compat->tally += compat->items[i].n_characters;
    }
    dg_work_finish(&compat->work, size, DG_JSON_OFFLOAD_WRITTEN);
}

/* Reports the end, to on_end or as the answer. */
static void end(struct dg_compat *compat, const struct dg_failure *failure)
{
    if (compat->on_end) {
        dg_work_detach(&compat->work);
        compat->on_end(compat, failure);
        dg_compat_drop(compat);
    } else if (failure) {
        dg_work_fail(&compat->work, *failure);
    } else {
        answer(compat);
    }
}

static void on_over(void *owner, struct dg_job *job)
{
    struct dg_compat *compat = owner;
    const struct dg_failure failure =
        dg_translate_options_failure(&job->arena, job->err, &job->error, NULL);
    if (compat->work.call)
        dg_call_took(compat->work.call, job->n_tokens_in, job->n_tokens_out, job->queue_ns,
                     job->total_ns);
    end(compat, job->err ? &failure : NULL);
}

static const struct dg_job_listener whole_listener = {
    .on_begin = on_begin, .on_sentence = on_sentence, .on_item = on_item, .on_over = on_over};
static const struct dg_job_listener stream_listener = {
    .on_begin = on_begin, .on_delta = on_delta, .on_item = on_item, .on_over = on_over};

/* ---- The beginning --------------------------------------------------------------------------- */

static enum dg_err hand_over(struct dg_compat *compat)
{
    struct dg_translate_options *options = &compat->job->options;
    options->texts =
        dg_arena_calloc(compat->arena, compat->n ? compat->n : 1, sizeof *options->texts);
    if (!options->texts)
        return DG_ERR_NOMEM;
    for (size_t i = 0; i < compat->n; i++)
        options->texts[i] = compat->items[i].text;
    options->n_texts = compat->n;
    options->request.search.n_best = options->alternatives + 1;
    return DG_OK;
}

/* Called after the gate: begins to translate. */
static enum dg_err begin(struct dg_compat *compat, struct dg_failure *failure)
{
    struct dg_error error = DG_ERROR_NONE;
    uint64_t retry_ms = 0;
    enum dg_err err = hand_over(compat);
    if (!err && compat->work.call &&
        dg_glossaries_apply_call(compat->work.call, compat->job, failure))
        return DG_ERR_INVALID;
    if (!err && compat->n == 0) { /* there is nothing to wait for */
        on_over(compat, compat->job);
        return DG_OK;
    }
    if (!err)
        err = dg_job_start(compat->job, compat->on_delta ? &stream_listener : &whole_listener,
                           compat, &error, &retry_ms);
    if (err)
        *failure = dg_translate_options_start_failure(compat->arena, err, &error, retry_ms);
    return err;
}

static enum dg_err start(struct dg_work *work, struct dg_failure *failure)
{
    struct dg_compat *compat = (struct dg_compat *)work;
    return compat->then(compat, failure);
}

void dg_compat_pass(struct dg_compat *compat, struct dg_span key,
                    enum dg_err (*then)(struct dg_compat *compat, struct dg_failure *failure))
{
    compat->then = then;
    compat->work.wish.key = key;
    compat->work.wish.characters = dg_compat_characters(compat);
    dg_work_pass(&compat->work);
}

static enum dg_err look(struct dg_compat *compat, struct dg_failure *failure)
{
    (void)failure; /* nothing can fail yet */
    dg_work_finish(&compat->work, compat->n_looked_at, DG_JSON_OFFLOAD_DETECTED);
    return DG_OK;
}

void dg_compat_look(struct dg_compat *compat, struct dg_span key, size_t n_bytes,
                    void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out))
{
    compat->n_looked_at = n_bytes;
    compat->on_whole = on_whole;
    dg_compat_pass(compat, key, look);
}

/* Returns the key in the body, by whichever name it goes there. */
static struct dg_span key_of(const struct dg_compat *compat)
{
    static const char *const names[] = {"api_key", "auth_key", "token", "api_token", "key"};
    struct dg_span key = {NULL, 0};
    for (size_t i = 0; i < sizeof names / sizeof *names && key.len == 0; i++)
        key = dg_fields_text(&compat->fields, names[i]);
    return key;
}

void dg_compat_start(struct dg_compat *compat,
                     void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out))
{
    const struct dg_call *call = compat->work.call;
    struct dg_failure failure;
    compat->on_whole = on_whole;
    for (size_t i = 0; call && call->api->opts.characters_max && i < compat->n; i++) {
        if (dg_utf8_count(compat->items[i].text) <= call->api->opts.characters_max)
            continue;
        dg_compat_fail(compat, 413, "limit_reached",
                       "The request's text is longer than this server takes.");
        return;
    }
    if (call) {
        compat->work.wish.request = &compat->job->options.request;
        compat->work.wish.arena = compat->arena;
        dg_compat_pass(compat, key_of(compat), begin);
    } else if (begin(compat, &failure) != DG_OK) {
        end(compat, &failure); /* passed the gate earlier: a message on a socket */
    }
}

/* ---- A new one ------------------------------------------------------------------------------- */

static const struct dg_work_ops ops = {.read = read_body,
                                       .on_read = on_fields,
                                       .start = start,
                                       .leave = free_compat,
                                       .write = write_answer,
                                       .free = free_compat};

struct dg_compat *dg_compat_new_for(struct dg_api *api, size_t arena_max)
{
    struct dg_job *job = NULL;
    struct dg_compat *compat = NULL;
    if (!api->engine || dg_engine_n_models(api->engine) == 0)
        return NULL;
    if (dg_job_new(api->engine, &api->jobs, arena_max, &job) == DG_OK)
        compat = dg_arena_calloc(&job->arena, 1, sizeof *compat);
    if (compat) {
        dg_work_init(&compat->work, api, NULL, &ops);
        compat->job = job;
        compat->arena = &job->arena;
        job->options.request = (struct dg_engine_request)DG_ENGINE_REQUEST_DEFAULT;
        if (dg_languages_read(&api->languages, api->engine, compat->arena, &compat->langs) == DG_OK)
            return compat;
    }
    dg_job_drop(job);
    return NULL;
}

struct dg_compat *dg_compat_new(struct dg_call *call)
{
    if (!call->api->engine || dg_engine_n_models(call->api->engine) == 0) {
        dg_call_fail(call, (struct dg_failure){.status = 503,
                                               .code = "no_model",
                                               .retry_after_s = 1,
                                               .message = "This server has no model."});
        return NULL;
    }
    struct dg_compat *compat = dg_compat_new_for(
        call->api, (call->req->body.len + dg_upload_fields_bytes(call)) * 8 + ARENA_MORE);
    if (!compat) {
        dg_call_no_memory(call);
        return NULL;
    }
    compat->work.call = call;
    compat->started_ns = call->started_ns;
    return compat;
}

/* Copies what the thread needs besides the body, because the request may end before the thread
 * does. */
static bool set_source(struct dg_compat *compat, const struct dg_http_req *req)
{
    const struct dg_dialect *dialect = compat->work.call->dialect;
    compat->source = dg_fields_source(req);
    compat->source.takes_array = dialect && dialect->takes_array;
    compat->source.type = dg_arena_copy(compat->arena, compat->source.type);
    compat->source.query = dg_arena_copy(compat->arena, compat->source.query);
    compat->source.form = dg_upload_fields(compat->work.call);
    compat->file = dg_upload_take(compat->work.call);
    return compat->source.type.ptr && compat->source.query.ptr;
}

void dg_compat_open(struct dg_call *call,
                    void (*on_open)(struct dg_call *call, struct dg_compat *compat))
{
    struct dg_compat *compat = dg_compat_new(call);
    if (!compat)
        return;
    if (set_source(compat, call->req))
        dg_compat_open_as(compat, read_fields, on_open);
    else
        dg_compat_fail_with(compat, DG_ERR_NOMEM);
}

void dg_compat_open_as(struct dg_compat *compat,
                       enum dg_err (*read)(struct dg_compat *compat, struct dg_span body,
                                           struct dg_failure *failure),
                       void (*on_open)(struct dg_call *call, struct dg_compat *compat))
{
    compat->read = read;
    compat->on_open = on_open;
    dg_work_run(compat->work.call, &compat->work, &ops);
}

void dg_compat_prepare_short(struct dg_call *call)
{
    if (call->req->body_max > SHORT_BYTES)
        call->req->body_max = SHORT_BYTES;
}

struct dg_compat *dg_compat_open_short(struct dg_call *call)
{
    struct dg_failure failure;
    struct dg_compat *compat = dg_compat_new(call);
    if (!compat)
        return NULL;
    compat->source = dg_fields_source(call->req);
    if (read_fields(compat, call->req->body, &failure) == DG_OK)
        return compat;
    dg_work_fail(&compat->work, failure);
    return NULL;
}
