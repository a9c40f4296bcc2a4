/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /v1/models, GET /v1/models/NAME and GET /v1/languages: what this server can do, and how much
 * it takes at once. */
#include "api/http/api_int.h"
#include "api/v1/languages.h"
#include "base/json/json_out.h"
#include "engine/engine.h"
#include "engine/read/read.h"
#include "engine/models/langs.h"
#include "model/calibration.h"

enum { LIST_MAX = 16 << 20 };

static void put_text(struct dg_json_out *out, const char *key, const char *text)
{
    dg_json_out_put_cstr(out, key, text && *text ? text : NULL);
}

/* Puts the known languages of one side. */
static void put_side(struct dg_json_out *out, const char *key, const struct dg_lang *langs,
                     size_t n)
{
    dg_json_out_put_open(out, key, '[');
    for (size_t i = 0; i < n; i++)
        if (*langs[i].code)
            dg_json_out_cstr(out, langs[i].code);
    dg_json_out_close(out, ']');
}

static void put_tasks(struct dg_json_out *out, unsigned can)
{
    dg_json_out_put_open(out, "tasks", '[');
    for (int task = 0; task < DG_N_TASKS; task++)
        if (can & 1u << task)
            dg_json_out_cstr(out, dg_read_task_name((enum dg_read_task)task));
    dg_json_out_close(out, ']');
}

/* Puts the models whose translations an estimator judges. */
static void put_judges(struct dg_json_out *out, const char *list)
{
    dg_json_out_put_open(out, "judges", '[');
    for (struct dg_span name; (name = dg_judges_next(&list)).len > 0;)
        dg_json_out_string(out, name);
    dg_json_out_close(out, ']');
}

static void put_members(struct dg_json_out *out, const struct dg_engine_model_info *info)
{
    put_text(out, "name", info->name);
    put_text(out, "kind",
             info->is_language_model ? "language-model"
             : info->is_reader       ? "reader"
                                     : "translation");
    if (info->is_reader)
        put_tasks(out, info->can);
    if (info->labels)
        put_text(out, "labels", info->labels);
    if (info->judges)
        put_judges(out, info->judges);
    if (info->good_for)
        put_text(out, "good_for", info->good_for);
    put_text(out, "source", info->source);
    put_text(out, "target", info->target);
    put_side(out, "sources", info->langs->sources, info->langs->n_sources);
    put_side(out, "targets", info->langs->targets, info->langs->n_targets);
    put_text(out, "state", dg_engine_model_state_name(info->state));
    dg_json_out_put_uint(out, "bytes", info->bytes);
    dg_json_out_put_uint(out, "source_vocabulary", info->n_source_words);
    dg_json_out_put_uint(out, "target_vocabulary", info->n_target_words);
    dg_json_out_put_uint(out, "source_tokens_max", info->source_max);
    dg_json_out_put_uint(out, "target_tokens_max", info->target_max);
    dg_json_out_put_uint(out, "beam", info->n_beams);
    dg_json_out_put_real(out, "length_penalty", info->length_penalty, 6);
}

static void put_model(struct dg_json_out *out, const struct dg_engine_model_info *info)
{
    dg_json_out_open(out, '{');
    put_members(out, info);
    dg_json_out_close(out, '}');
}

static size_t n_models(const struct dg_call *call)
{
    return call->api->engine ? dg_engine_n_models(call->api->engine) : 0;
}

static void put_models(struct dg_call *call, struct dg_json_out *out)
{
    for (size_t i = 0; i < n_models(call); i++) {
        struct dg_engine_model_info info = dg_engine_model_info(call->api->engine, i);
        put_model(out, &info);
    }
}

/* Puts the members that OpenAI's clients expect of a model. */
static void put_openai_members(struct dg_json_out *out, const char *name)
{
    dg_json_out_put_cstr(out, "id", name);
    dg_json_out_put_cstr(out, "object", "model");
    dg_json_out_put_uint(out, "created", 0); /* the time is not known */
    dg_json_out_put_cstr(out, "owned_by", "dragoman");
}

/* Answers with one object for our clients, which read "models", and for OpenAI's, which read
 * "data". */
void dg_api_v1_models(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, LIST_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "models", '[');
    put_models(call, &out);
    dg_json_out_close(&out, ']');
    dg_json_out_put_cstr(&out, "object", "list");
    dg_json_out_put_open(&out, "data", '[');
    for (size_t i = 0; i < n_models(call); i++) {
        dg_json_out_open(&out, '{');
        put_openai_members(&out, dg_engine_model_info(call->api->engine, i).name);
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

/* GET /v1/models/NAME, with which OpenAI's clients ask whether a model exists. */
void dg_api_v1_model(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    for (size_t i = 0; i < n_models(call); i++) {
        const struct dg_engine_model_info info = dg_engine_model_info(call->api->engine, i);
        if (!dg_span_eq(call->arg, dg_span_cstr(info.name)))
            continue;
        dg_buf_init(&buf, LIST_MAX);
        dg_json_out_init(&out, &buf);
        dg_json_out_open(&out, '{');
        put_openai_members(&out, info.name);
        put_members(&out, &info);
        dg_json_out_close(&out, '}');
        dg_call_json_out(call, 200, &out);
        return;
    }
    dg_call_fail(call, (struct dg_failure){.status = 404,
                                           .code = "no_such_model",
                                           .message = "There is no model of that name."});
}

/* ---- Languages ------------------------------------------------------------------------------- */

static void put_language(struct dg_json_out *out, const struct dg_languages *langs,
                         const struct dg_language *from)
{
    dg_json_out_open(out, '{');
    put_text(out, "code", from->tag.text);
    put_text(out, "name", from->name);
    dg_json_out_put_open(out, "targets", '[');
    for (size_t i = 0; i < langs->n; i++)
        if (&langs->items[i] != from && (langs->items[i].sides & DG_LANGUAGE_TARGET) &&
            dg_languages_lead(langs, from, &langs->items[i]))
            dg_json_out_cstr(out, langs->items[i].tag.text);
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static void put_languages(struct dg_call *call, struct dg_json_out *out)
{
    struct dg_api *api = call->api;
    const struct dg_languages *langs =
        api->engine ? dg_languages_now(&api->languages, api->engine) : NULL;
    if (api->engine && !langs)
        out->err = DG_ERR_NOMEM;
    for (size_t i = 0; langs && i < langs->n; i++)
        if (langs->items[i].sides & DG_LANGUAGE_SOURCE)
            put_language(out, langs, &langs->items[i]);
}

/* Puts the targets whose translations can be formal or informal. */
static void put_formality(struct dg_call *call, struct dg_json_out *out)
{
    struct dg_api *api = call->api;
    const struct dg_languages *langs =
        api->engine ? dg_languages_now(&api->languages, api->engine) : NULL;
    dg_json_out_put_open(out, "formality", '[');
    for (size_t i = 0; langs && i < langs->n; i++)
        if (langs->items[i].has_formal && langs->items[i].has_informal)
            dg_json_out_cstr(out, langs->items[i].tag.text);
    dg_json_out_close(out, ']');
}

/* Puts the largest sizes of a text (only where there is a limit), of the body of a request, and of
 * a file that is sent to be translated. */
static void put_limits(const struct dg_call *call, struct dg_json_out *out)
{
    dg_json_out_put_open(out, "limits", '{');
    if (call->api->opts.characters_max)
        dg_json_out_put_uint(out, "characters", call->api->opts.characters_max);
    dg_json_out_put_uint(out, "body_bytes", call->req->body_max);
    if (dg_documents_are_taken(&call->api->documents))
        dg_json_out_put_uint(out, "document_bytes", call->api->documents.opts.file_max);
    if (dg_documents_are_taken(&call->api->documents) && call->api->has_jobs)
        dg_json_out_put_bool(out, "document_jobs", true);
    dg_json_out_close(out, '}');
}

void dg_api_v1_languages(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, LIST_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_open(&out, "languages", '[');
    put_languages(call, &out);
    dg_json_out_close(&out, ']');
    put_formality(call, &out);
    put_limits(call, &out);
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}
