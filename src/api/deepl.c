/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* DeepL's errors, language codes, and the routes that only look. */
#include "api/deepl.h"
#include "api/api_int.h"

#include <sodium.h>

enum { ANSWER_MAX = 4 << 20, TRACE_BYTES = 16, NO_LIMIT = 1000 * 1000 * 1000 };

/* ---- The dialect --------------------------------------------------------------------------------- */

static void fail(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    int status = failure->status == 401 ? 403 : failure->status; /* theirs for a key that will not do */
    const char *message = failure->message;
    if (strcmp(failure->code, "quota_exceeded") == 0) {
        status = 456;
        message = "Quota for this billing period has been exceeded.";
    }
    dg_buf_init(&buf, 16 * 1024);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "message", message);
    dg_json_out_close(&out, '}');
    if (dg_json_out_end(&out) == DG_OK)
        dg_call_json(call, status, dg_buf_span(&buf));
    else
        dg_call_text(call, status, dg_span_cstr(message));
    dg_buf_deinit(&buf);
}

/* The request's own id where it has the form of theirs. */
static void add_headers(struct dg_call *call)
{
    char trace[2 * TRACE_BYTES + 1];
    unsigned char random[TRACE_BYTES];
    if (strlen(call->id) == 2 * TRACE_BYTES && strspn(call->id, "0123456789abcdef") == 2 * TRACE_BYTES) {
        dg_http_reply_header(call->req, "X-Trace-ID", dg_span_cstr(call->id));
        return;
    }
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(trace, sizeof trace, random, sizeof random);
    dg_http_reply_header(call->req, "X-Trace-ID", dg_span_cstr(trace));
}

const struct dg_dialect dg_deepl_dialect = {.name = "deepl", .fail = fail, .add_headers = add_headers};

/* ---- Languages ----------------------------------------------------------------------------------- */

void dg_deepl_tag_code(const char *tag, char code[DG_DEEPL_CODE])
{
    size_t n = 0;
    for (; tag[n] && n + 1 < DG_DEEPL_CODE; n++)
        code[n] = tag[n] >= 'a' && tag[n] <= 'z' ? (char)(tag[n] - 32) : tag[n];
    code[n] = '\0';
}

void dg_deepl_code(const struct dg_language *language, bool base, char code[DG_DEEPL_CODE])
{
    dg_deepl_tag_code(base ? language->tag.language : language->code, code);
}

bool dg_deepl_pair(struct dg_relay *relay, struct dg_why *why)
{
    struct dg_span source = dg_fields_text(&relay->fields, "source_lang");
    const struct dg_field *given = dg_fields_get(&relay->fields, "source_lang");
    relay->to = dg_languages_find(&relay->langs, dg_fields_text(&relay->fields, "target_lang"), DG_LANGUAGE_ANY);
    if (!relay->to) {
        dg_why_set(why, DG_ERR_NOT_FOUND, "Value for 'target_lang' not supported.");
        return false;
    }
    if (given && (given->kind != DG_FIELD_TEXT || source.len)) {
        relay->from = dg_languages_find(&relay->langs, source, DG_LANGUAGE_ANY);
        if (!relay->from) {
            dg_why_set(why, DG_ERR_NOT_FOUND, "Value for 'source_lang' not supported.");
            return false;
        }
    }
    if (dg_relay_leads(relay))
        return true;
    char from[DG_DEEPL_CODE] = "any language", to[DG_DEEPL_CODE];
    dg_deepl_code(relay->to, false, to);
    if (relay->from)
        dg_deepl_code(relay->from, false, from);
    dg_why_set(why, DG_ERR_NOT_FOUND, "Value for 'target_lang' not supported: this server does not translate from %s to %s.",
               from, to);
    return false;
}

/* One of the NULL-terminated words; absent is the first. -1: none of them. */
static int word_of(const struct dg_relay *relay, const char *name, const char *const *words)
{
    const struct dg_field *field = dg_fields_get(&relay->fields, name);
    if (!field || (field->kind == DG_FIELD_TEXT && field->value.len == 0))
        return 0;
    for (int i = 0; words[i]; i++)
        if (field->kind <= DG_FIELD_BOOL && !field->in_array && dg_span_eq(field->value, dg_span_cstr(words[i])))
            return i;
    return -1;
}

bool dg_deepl_check_words(struct dg_relay *relay, struct dg_why *why)
{
    static const char *const formalities[] = {"default", "more", "less", "prefer_more", "prefer_less", NULL}; /* enum dg_formality */
    static const char *const models[] = {"", "quality_optimized", "prefer_quality_optimized", "latency_optimized", NULL};
    static const char *const splits[] = {"", "0", "1", "nonewlines", "false", "true", NULL};
    static const char *const versions[] = {"", "v1", "v2", NULL};
    static const char *const none[] = {"", NULL};
    static const char *const flags[] = {"", "0", "1", "false", "true", NULL};
    static const struct {
        const char *name;
        const char *const *words;
    } rows[] = {
        {"formality", formalities},
        {"model_type", models},
        {"split_sentences", splits},
        {"tag_handling_version", versions},
        {"show_billed_characters", flags},
        {"preserve_formatting", flags},
        {"outline_detection", flags},
        {"enable_beta_languages", flags},
        /* What only their models do. */
        {"style_id", none},
        {"translation_memory_id", none},
        {"custom_instructions", none},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (word_of(relay, rows[i].name, rows[i].words) < 0) {
            dg_why_set(why, DG_ERR_INVALID, "Value for '%s' not supported.", rows[i].name);
            return false;
        }
    }
    const enum dg_formality formality = (enum dg_formality)word_of(relay, "formality", formalities);
    relay->job->ask.request.formality = formality;
    if ((formality == DG_FORMALITY_FORMAL && !relay->to->has_formal) ||
        (formality == DG_FORMALITY_INFORMAL && !relay->to->has_informal)) {
        char code[DG_DEEPL_CODE];
        dg_deepl_code(relay->to, false, code);
        dg_why_set(why, DG_ERR_UNSUPPORTED, "Target language '%s' doesn't support formality.", code);
        return false;
    }
    return true;
}

/* ---- Looking ------------------------------------------------------------------------------------- */

static void answer(struct dg_relay *relay, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(relay->call, 200, dg_buf_span(out->buf));
    else
        dg_call_fail(relay->call, dg_ask_failure(relay->arena, DG_ERR_NOMEM, NULL, NULL));
    dg_relay_drop(relay);
}

/* True when a language before `i` is the same without its region. */
static bool is_repeated(const struct dg_languages *langs, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if ((langs->items[j].sides & DG_LANGUAGE_SOURCE) &&
            strcmp(langs->items[j].tag.language, langs->items[i].tag.language) == 0)
            return true;
    return false;
}

void dg_deepl_languages(struct dg_call *call)
{
    static const char *const types[] = {"source", "target", NULL};
    struct dg_relay *relay = dg_relay_open_short(call);
    struct dg_buf buf;
    struct dg_json_out out;
    if (!relay)
        return;
    int type = word_of(relay, "type", types);
    if (type < 0) {
        dg_relay_fail(relay, 400, "invalid_value", "Parameter 'type' is invalid. 'source' and 'target' are valid values.");
        return;
    }
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '[');
    for (size_t i = 0; i < relay->langs.n; i++) {
        const struct dg_language *language = &relay->langs.items[i];
        char code[DG_DEEPL_CODE];
        if (!(language->sides & (type ? DG_LANGUAGE_TARGET : DG_LANGUAGE_SOURCE)) ||
            (type == 0 && is_repeated(&relay->langs, i)))
            continue;
        dg_deepl_code(language, type == 0, code);
        dg_json_out_open(&out, '{');
        dg_json_out_put_cstr(&out, "language", code);
        dg_json_out_put_cstr(&out, "name", language->name);
        if (type)
            dg_json_out_put_bool(&out, "supports_formality", language->has_formal && language->has_informal);
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    answer(relay, &out);
    dg_buf_deinit(&buf);
}

static void put_stable(struct dg_json_out *out, const char *key)
{
    dg_json_out_put_open(out, key, '{');
    dg_json_out_put_cstr(out, "status", "stable");
    dg_json_out_close(out, '}');
}

void dg_deepl_v3_languages(struct dg_call *call)
{
    struct dg_relay *relay = dg_relay_open_short(call);
    struct dg_buf buf;
    struct dg_json_out out;
    if (!relay)
        return;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '[');
    for (size_t i = 0; i < relay->langs.n; i++) {
        const struct dg_language *language = &relay->langs.items[i];
        dg_json_out_open(&out, '{');
        dg_json_out_put_cstr(&out, "lang", language->code);
        dg_json_out_put_cstr(&out, "name", language->name);
        dg_json_out_put_bool(&out, "usable_as_source", language->sides & DG_LANGUAGE_SOURCE);
        dg_json_out_put_bool(&out, "usable_as_target", language->sides & DG_LANGUAGE_TARGET);
        dg_json_out_put_cstr(&out, "status", "stable");
        dg_json_out_put_open(&out, "features", '{');
        put_stable(&out, "tag_handling");
        if (language->has_formal && language->has_informal)
            put_stable(&out, "formality");
        dg_json_out_close(&out, '}');
        dg_json_out_close(&out, '}');
    }
    dg_json_out_close(&out, ']');
    answer(relay, &out);
    dg_buf_deinit(&buf);
}

/* The key's month where one was sent, else the characters that this API translated since the start. Their libraries
 * want a limit: without one it is a number that nobody reaches. */
static void on_usage(void *work, const struct dg_quota_verdict *verdict)
{
    struct dg_relay *relay = work;
    struct dg_call *call = relay->call;
    const struct dg_quota_state *month = &verdict->windows[DG_QUOTA_MONTH];
    struct dg_buf buf;
    struct dg_json_out out;
    call->on_gone = NULL;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_uint(&out, "character_count",
                         *dg_gate_name(call) ? verdict->month_characters : call->api->deepl_characters);
    dg_json_out_put_uint(&out, "character_limit", month->limit ? month->limit : (uint64_t)NO_LIMIT * 1000);
    dg_json_out_close(&out, '}');
    answer(relay, &out);
    dg_buf_deinit(&buf);
}

static void on_usage_gone(void *work)
{
    dg_relay_drop(work);
}

void dg_deepl_usage(struct dg_call *call)
{
    struct dg_relay *relay = dg_relay_open_short(call);
    if (!relay)
        return;
    call->work = relay;
    call->on_gone = on_usage_gone;
    dg_gate_peek(call, on_usage);
}
