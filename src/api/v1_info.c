/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* GET /v1/models and GET /v1/languages: what this server can do. */
#include "api/api_int.h"
#include "base/json_out.h"
#include "engine/engine.h"
#include "text/langtag.h"

static void put_text(struct dg_json_out *out, const char *key, const char *text)
{
    dg_json_out_key(out, key);
    dg_json_out_cstr(out, text && *text ? text : NULL);
}

static void put_model(struct dg_json_out *out, const struct dg_engine_model_info *info)
{
    dg_json_out_open(out, '{');
    put_text(out, "name", info->name);
    put_text(out, "source", info->source);
    put_text(out, "target", info->target);
    put_text(out, "state", dg_engine_model_state_name(info->state));
    dg_json_out_key(out, "bytes");
    dg_json_out_uint(out, info->bytes);
    dg_json_out_key(out, "source_vocabulary");
    dg_json_out_uint(out, info->n_source_words);
    dg_json_out_key(out, "target_vocabulary");
    dg_json_out_uint(out, info->n_target_words);
    dg_json_out_key(out, "source_tokens_max");
    dg_json_out_uint(out, info->source_max);
    dg_json_out_key(out, "target_tokens_max");
    dg_json_out_uint(out, info->target_max);
    dg_json_out_key(out, "beam");
    dg_json_out_uint(out, info->n_beams);
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

void dg_api_v1_models(struct dg_call *call)
{
    dg_call_json_list(call, "models", put_models);
}

/* ---- Languages ---------------------------------------------------------------------------------- */

static struct dg_engine_model_info model_at(struct dg_call *call, size_t i)
{
    return dg_engine_model_info(call->api->engine, i);
}

/* True when a model before `i` has the same source. */
static bool seen_source(struct dg_call *call, size_t i, const char *source)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(model_at(call, j).source, source) == 0)
            return true;
    return false;
}

/* True when a model before `i` has the same target. */
static bool seen_target(struct dg_call *call, size_t i, const char *target)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(model_at(call, j).target, target) == 0)
            return true;
    return false;
}

static void put_language(struct dg_call *call, struct dg_json_out *out, const char *code)
{
    struct dg_langtag tag;
    struct dg_buf name;
    dg_buf_init(&name, 256);
    bool named = dg_langtag_parse(dg_span_cstr(code), &tag, NULL) == DG_OK &&
                 dg_langtag_name(&tag, "en", &name) == DG_OK;
    dg_json_out_open(out, '{');
    put_text(out, "code", code);
    dg_json_out_key(out, "name");
    dg_json_out_string(out, named ? dg_buf_span(&name) : dg_span_cstr(code));
    dg_json_out_key(out, "targets");
    dg_json_out_open(out, '[');
    for (size_t i = 0; i < n_models(call); i++) {
        struct dg_engine_model_info info = model_at(call, i);
        if (*info.target && strcmp(info.target, code) != 0 && !seen_target(call, i, info.target) &&
            dg_engine_leads(call->api->engine, code, info.target))
            dg_json_out_cstr(out, info.target);
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    dg_buf_deinit(&name);
}

static void put_languages(struct dg_call *call, struct dg_json_out *out)
{
    for (size_t i = 0; i < n_models(call); i++) {
        const char *source = model_at(call, i).source;
        if (*source && !seen_source(call, i, source))
            put_language(call, out, source);
    }
}

void dg_api_v1_languages(struct dg_call *call)
{
    dg_call_json_list(call, "languages", put_languages);
}
