/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small APIs with one shape of request and one of answer each. */
#include "api/other.h"
#include "api/api_int.h"

#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 4 << 20 };

/* ---- Dialects ------------------------------------------------------------------------------------ */

static void answer_error(struct dg_call *call, const struct dg_failure *failure, struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(call, failure->status, dg_buf_span(out->buf));
    else
        dg_call_text(call, failure->status, dg_span_cstr(failure->message));
    dg_buf_deinit(out->buf);
}

static void begin_error(struct dg_buf *buf, struct dg_json_out *out)
{
    dg_buf_init(buf, 16 * 1024);
    dg_json_out_init(out, buf);
    dg_json_out_open(out, '{');
}

static void fail_plain(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    begin_error(&buf, &out);
    dg_json_out_put_cstr(&out, "error", failure->message);
    dg_json_out_close(&out, '}');
    answer_error(call, failure, &out);
}

static void fail_deeplx(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    begin_error(&buf, &out);
    dg_json_out_put_int(&out, "code", failure->status);
    dg_json_out_put_cstr(&out, "message",
                         strcmp(failure->code, "invalid_json") == 0 ? "Invalid request payload"
                         : failure->status == 401                   ? "Invalid access token"
                                                                    : failure->message);
    dg_json_out_close(&out, '}');
    answer_error(call, failure, &out);
}

static void fail_mtran(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    begin_error(&buf, &out);
    dg_json_out_put_cstr(&out, "error", dg_http_reason(failure->status));
    if (failure->status != 401)
        dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_put_cstr(&out, "requestId", call->id);
    dg_json_out_close(&out, '}');
    answer_error(call, failure, &out);
}

static void fail_google(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    begin_error(&buf, &out);
    dg_json_out_put_open(&out, "error", '{');
    dg_json_out_put_int(&out, "code", failure->status);
    dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_put_open(&out, "errors", '[');
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_put_cstr(&out, "domain", "global");
    dg_json_out_put_cstr(&out, "reason", failure->status < 500 ? "invalid" : "backendError");
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, ']');
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    answer_error(call, failure, &out);
}

static void fail_openai(struct dg_call *call, const struct dg_failure *failure)
{
    struct dg_buf buf;
    struct dg_json_out out;
    begin_error(&buf, &out);
    dg_json_out_put_open(&out, "error", '{');
    dg_json_out_put_cstr(&out, "message", failure->message);
    dg_json_out_put_cstr(&out, "type",
                         failure->status == 429  ? "rate_limit_error"
                         : failure->status < 500 ? "invalid_request_error"
                                                 : "server_error");
    dg_json_out_put_cstr(&out, "param", failure->field);
    dg_json_out_put_cstr(&out, "code", failure->code);
    dg_json_out_close(&out, '}');
    dg_json_out_close(&out, '}');
    answer_error(call, failure, &out);
}

const struct dg_dialect dg_plain_dialect = {.name = "plain", .fail = fail_plain};
const struct dg_dialect dg_deeplx_dialect = {.name = "deeplx", .fail = fail_deeplx};
const struct dg_dialect dg_mtran_dialect = {.name = "mtranserver", .fail = fail_mtran};
const struct dg_dialect dg_google_dialect = {.name = "google", .fail = fail_google};
const struct dg_dialect dg_openai_dialect = {.name = "openai", .fail = fail_openai};

/* ---- What they share ----------------------------------------------------------------------------- */

static bool is_auto(struct dg_span code)
{
    static const char *const words[] = {"", "auto", "detect", "dl", NULL};
    for (size_t i = 0; words[i]; i++)
        if (code.len == strlen(words[i]) && (code.len == 0 || strncasecmp(code.ptr, words[i], code.len) == 0))
            return true;
    return false;
}

bool dg_other_pair(struct dg_relay *relay, const char *from, const char *to, struct dg_why *why)
{
    const struct dg_field *given = dg_fields_get(&relay->fields, from), *wanted = dg_fields_get(&relay->fields, to);
    struct dg_span source = given ? given->value : (struct dg_span){NULL, 0};
    struct dg_span target = wanted ? wanted->value : (struct dg_span){NULL, 0};
    relay->from = NULL;
    relay->to = wanted && wanted->kind == DG_FIELD_TEXT ? dg_languages_find(&relay->langs, target, DG_LANGUAGE_ANY) : NULL;
    if (!relay->to) {
        dg_why_set(why, DG_ERR_NOT_FOUND, "%s: read '%.*s', expected a language that this server translates to", to,
                   DG_SPAN_FMT(dg_span_sub(target, 0, 100)));
        return false;
    }
    if (given && (given->kind != DG_FIELD_TEXT || !is_auto(source))) {
        relay->from = given->kind == DG_FIELD_TEXT ? dg_languages_find(&relay->langs, source, DG_LANGUAGE_ANY) : NULL;
        if (!relay->from) {
            dg_why_set(why, DG_ERR_NOT_FOUND, "%s: read '%.*s', expected a language that this server translates from", from,
                       DG_SPAN_FMT(dg_span_sub(source, 0, 100)));
            return false;
        }
    }
    const bool leads = dg_relay_leads(relay);
    if (!leads)
        dg_why_set(why, DG_ERR_NOT_FOUND, "this server does not translate from %s to %s",
                   relay->from ? relay->from->code : "any language", relay->to->code);
    return leads;
}

static bool read_texts(struct dg_relay *relay, const char *name, struct dg_why *why)
{
    const struct dg_field *field = dg_fields_get(&relay->fields, name);
    size_t n_max = relay->call->api->opts.texts_max;
    enum dg_err err = field ? dg_relay_texts_of(relay, field) : DG_ERR_NOT_FOUND;
    if (err)
        dg_why_set(why, err, err == DG_ERR_NOMEM ? "there is no memory" : "%s: expected a text or an array of texts", name);
    else if (relay->n > n_max)
        err = dg_why_set(why, DG_ERR_LIMIT, "%s: read %zu texts, expected at most %zu", name, relay->n, n_max);
    return !err;
}

static bool is_one_text(const struct dg_relay *relay, const char *name)
{
    const struct dg_field *field = dg_fields_get(&relay->fields, name);
    return field && field->kind == DG_FIELD_TEXT && !field->in_array;
}

void dg_other_go(struct dg_relay *relay, const char *text, const char *from, const char *to,
                 void (*on_whole)(struct dg_relay *relay, struct dg_json_out *out))
{
    struct dg_why why = DG_WHY_NONE;
    if (!read_texts(relay, text, &why) || !dg_other_pair(relay, from, to, &why)) {
        dg_relay_fail(relay, 400, "invalid_value", why.text);
        return;
    }
    dg_relay_start(relay, on_whole);
}

static void put_result(struct dg_json_out *out, const char *key, const struct dg_relay *relay, size_t i)
{
    dg_json_out_put_string(out, key, dg_relay_result(relay, i));
}

static const char *source_of(const struct dg_relay *relay, size_t i)
{
    const struct dg_relay_item *item = &relay->items[i];
    return item->from ? item->from->code : item->detected ? item->detected : "auto";
}

static void set_html(struct dg_relay *relay, const char *name)
{
    const struct dg_field *field = dg_fields_get(&relay->fields, name);
    bool is_html = false;
    if (field && dg_field_bool(field, &is_html) && is_html)
        relay->job->ask.request.format = DG_DOC_HTML;
}

/* An answer that begins with a list of the languages that there are. */
struct listing {
    struct dg_buf buf;
    struct dg_json_out out;
    struct dg_languages langs;
};

/* dg_call_json_out ends it. */
static void open_listing(struct dg_call *call, char bracket, struct listing *listing)
{
    struct dg_engine *engine = call->api->engine;
    listing->langs = (struct dg_languages){.n = 0};
    dg_buf_init(&listing->buf, ANSWER_MAX);
    dg_json_out_init(&listing->out, &listing->buf);
    if (engine && dg_languages_read(&call->api->languages, engine, call->req->arena, &listing->langs) != DG_OK)
        listing->out.err = DG_ERR_NOMEM;
    dg_json_out_open(&listing->out, '{');
    dg_json_out_put_open(&listing->out, "languages", bracket);
}

/* ---- DeepLX -------------------------------------------------------------------------------------- */

static void upper(const char *code, char out[DG_LANGTAG_TEXT])
{
    size_t n = 0;
    for (; code[n] && n + 1 < DG_LANGTAG_TEXT; n++)
        out[n] = code[n] >= 'a' && code[n] <= 'z' ? (char)(code[n] - 32) : code[n];
    out[n] = '\0';
}

static void answer_deeplx(struct dg_relay *relay, struct dg_json_out *out)
{
    char code[DG_LANGTAG_TEXT];
    dg_json_out_open(out, '{');
    dg_json_out_put_int(out, "code", 200);
    dg_json_out_put_uint(out, "id", (relay->started_ns >> 10) % 100000000 * 1000);
    put_result(out, "data", relay, 0);
    dg_json_out_put_open(out, "alternatives", '[');
    for (int k = 1; k <= relay->job->ask.alternatives; k++)
        if (dg_relay_alternative(relay, 0, k).len)
            dg_json_out_string(out, dg_relay_alternative(relay, 0, k));
    dg_json_out_close(out, ']');
    upper(source_of(relay, 0), code);
    dg_json_out_put_cstr(out, "source_lang", code);
    upper(relay->to->code, code);
    dg_json_out_put_cstr(out, "target_lang", code);
    dg_json_out_put_cstr(out, "method", "Free");
    dg_json_out_close(out, '}');
}

void dg_other_deeplx(struct dg_call *call, struct dg_relay *relay)
{
    struct dg_span tags = dg_fields_text(&relay->fields, "tag_handling");
    call->dialect = &dg_deeplx_dialect;
    if (!is_one_text(relay, "text")) {
        dg_relay_fail(relay, 400, "invalid_json", "Invalid request payload");
        return;
    }
    if (dg_span_eq(tags, DG_SPAN("html")))
        relay->job->ask.request.format = DG_DOC_HTML;
    else if (dg_span_eq(tags, DG_SPAN("xml")))
        relay->job->ask.request.format = DG_DOC_XML;
    else
        relay->job->ask.alternatives = 3;
    dg_other_go(relay, "text", "source_lang", "target_lang", answer_deeplx);
}

/* ---- MTranServer and Kiss Translator ---------------------------------------------------------------- */

/* One answer for both: each reads the members that it knows. */
static void answer_mtran(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "result", relay, 0);
    put_result(out, "text", relay, 0);
    dg_json_out_put_cstr(out, "src", source_of(relay, 0));
    dg_json_out_close(out, '}');
}

void dg_other_mtran(struct dg_call *call, struct dg_relay *relay)
{
    const struct dg_field *text = dg_fields_get(&relay->fields, "text");
    call->dialect = &dg_mtran_dialect;
    if (text && text->in_array) {
        dg_relay_fail(relay, 400, "invalid_value", "text: expected a text");
        return;
    }
    set_html(relay, "html");
    dg_other_go(relay, "text", "from", "to", answer_mtran);
}

static void answer_batch(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "results", '[');
    for (size_t i = 0; i < relay->n; i++)
        dg_json_out_string(out, dg_relay_result(relay, i));
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static void on_batch(struct dg_call *call, struct dg_relay *relay)
{
    (void)call;
    set_html(relay, "html");
    dg_other_go(relay, "texts", "from", "to", answer_batch);
}

void dg_other_mtran_batch(struct dg_call *call)
{
    dg_relay_open(call, on_batch);
}

/* One of maybe forty thousand: codes need no escapes. */
static void put_pair(struct dg_json_out *out, const char *from, const char *to)
{
    static const char head[] = "{\"from\":\"", middle[] = "\",\"to\":\"", tail[] = "\"}";
    const char *const texts[] = {head, from, middle, to, tail};
    char pair[sizeof head + sizeof middle + sizeof tail + 2 * DG_LANGTAG_TEXT];
    size_t len = 0;
    for (size_t i = 0; i < 5; i++) {
        size_t n = strlen(texts[i]);
        memcpy(pair + len, texts[i], n);
        len += n;
    }
    dg_json_out_raw(out, dg_span_make(pair, len));
}

void dg_other_mtran_languages(struct dg_call *call)
{
    struct listing listing;
    struct dg_json_out *out = &listing.out;
    const struct dg_languages *langs = &listing.langs;
    open_listing(call, '[', &listing);
    for (size_t i = 0; i < langs->n; i++)
        dg_json_out_cstr(out, langs->items[i].code);
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "pairs", '[');
    for (size_t i = 0; i < langs->n * langs->n; i++) {
        const struct dg_language *from = &langs->items[i / langs->n], *to = &langs->items[i % langs->n];
        if (from == to || !dg_languages_lead(langs, from, to))
            continue;
        put_pair(out, from->code, to->code);
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    dg_call_json_out(call, 200, out);
}

static void answer_kiss(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < relay->n; i++) {
        dg_json_out_open(out, '{');
        put_result(out, "text", relay, i);
        dg_json_out_put_cstr(out, "src", source_of(relay, i));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

void dg_other_kiss(struct dg_call *call, struct dg_relay *relay)
{
    call->dialect = &dg_plain_dialect;
    dg_other_go(relay, "texts", "from", "to", answer_kiss);
}

void dg_other_version(struct dg_call *call)
{
    struct dg_buf buf;
    struct dg_json_out out;
    dg_buf_init(&buf, ANSWER_MAX);
    dg_json_out_init(&out, &buf);
    dg_json_out_open(&out, '{');
    dg_json_out_put_cstr(&out, "version", call->api->opts.version);
    dg_json_out_close(&out, '}');
    dg_call_json_out(call, 200, &out);
}

void dg_other_heartbeat(struct dg_call *call)
{
    dg_call_text(call, 200, DG_SPAN(""));
}

/* ---- Immersive Translate -------------------------------------------------------------------------- */

static void answer_immersive(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < relay->n; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "detected_source_lang", source_of(relay, i));
        put_result(out, "text", relay, i);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

void dg_other_immersive(struct dg_call *call, struct dg_relay *relay)
{
    call->dialect = &dg_plain_dialect;
    dg_other_go(relay, "text_list", "source_lang", "target_lang", answer_immersive);
}

/* ---- nllb-serve ----------------------------------------------------------------------------------- */

static void answer_nllb(struct dg_relay *relay, struct dg_json_out *out)
{
    struct dg_span from = dg_fields_text(&relay->fields, "src_lang"), to = dg_fields_text(&relay->fields, "tgt_lang");
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "source", '[');
    for (size_t i = 0; i < relay->n; i++)
        dg_json_out_string(out, relay->items[i].text);
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "translation", '[');
    for (size_t i = 0; i < relay->n; i++)
        dg_json_out_string(out, dg_relay_result(relay, i));
    dg_json_out_close(out, ']');
    dg_json_out_put_string(out, "src_lang", from);
    dg_json_out_put_string(out, "tgt_lang", to);
    dg_json_out_put_real(out, "time_taken", (double)(relay->job->total_ns / 1000) / 1e6, 6);
    dg_json_out_put_cstr(out, "time_units", "s");
    dg_json_out_close(out, '}');
}

void dg_other_nllb(struct dg_call *call, struct dg_relay *relay)
{
    call->dialect = &dg_plain_dialect;
    dg_other_go(relay, "source", "src_lang", "tgt_lang", answer_nllb);
}

/* ---- nllb-api ------------------------------------------------------------------------------------- */

static void answer_nllb_api(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "result", relay, 0);
    dg_json_out_close(out, '}');
}

static void on_nllb_api(struct dg_call *call, struct dg_relay *relay)
{
    (void)call;
    if (is_one_text(relay, "text"))
        dg_other_go(relay, "text", "source", "target", answer_nllb_api);
    else
        dg_relay_fail(relay, 400, "invalid_value", "text: expected a text");
}

void dg_other_nllb_api(struct dg_call *call)
{
    dg_relay_open(call, on_nllb_api);
}

/* As readers of events see them: a carriage return ends a line as well, and with a newline behind it the two end one. */
static size_t line_end(struct dg_span text, size_t at, size_t *next)
{
    while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r')
        at++;
    *next = at + 1;
    if (at + 1 < text.len && text.ptr[at] == '\r' && text.ptr[at + 1] == '\n')
        ++*next;
    return at;
}

/* Its readers join the lines without what blanks are at their ends, so the text comes whole: a line of data for each of its own. */
static void end_nllb_stream(struct dg_relay *relay, const struct dg_failure *failure)
{
    struct dg_span text = failure ? (struct dg_span){NULL, 0} : dg_relay_result(relay, 0);
    struct dg_buf events;
    enum dg_err err = DG_OK;
    dg_buf_init(&events, text.len * 8 + 64);
    for (size_t at = 0, next = 0; !failure && at <= text.len && !err; at = next) {
        const size_t end = line_end(text, at, &next);
        err = dg_buf_append_cstr(&events, "data: ");
        if (!err)
            err = dg_buf_append_span(&events, dg_span_sub(text, at, end - at));
        if (!err)
            err = dg_buf_append_byte(&events, '\n');
    }
    if (!err)
        err = dg_buf_append_byte(&events, '\n');
    if (failure)
        dg_call_fail(relay->call, *failure);
    else if (err)
        dg_call_fail(relay->call, dg_ask_failure(relay->arena, err, NULL, NULL));
    else
        dg_call_reply(relay->call, 200, "text/event-stream", dg_buf_span(&events));
    dg_buf_deinit(&events);
}

static void on_nllb_api_stream(struct dg_call *call, struct dg_relay *relay)
{
    (void)call;
    if (!is_one_text(relay, "text")) {
        dg_relay_fail(relay, 400, "invalid_value", "text: expected a text");
        return;
    }
    relay->on_end = end_nllb_stream;
    dg_other_go(relay, "text", "source", "target", NULL);
}

void dg_other_nllb_api_stream(struct dg_call *call)
{
    dg_relay_open(call, on_nllb_api_stream);
}

/* ---- Google, version 2 ----------------------------------------------------------------------------- */

static void answer_google(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "data", '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < relay->n; i++) {
        dg_json_out_open(out, '{');
        put_result(out, "translatedText", relay, i);
        if (!relay->from)
            dg_json_out_put_cstr(out, "detectedSourceLanguage", source_of(relay, i));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

static void on_google(struct dg_call *call, struct dg_relay *relay)
{
    (void)call;
    if (!dg_span_eq(dg_fields_text(&relay->fields, "format"), DG_SPAN("text")))
        relay->job->ask.request.format = DG_DOC_HTML; /* theirs when nothing is said */
    dg_other_go(relay, "q", "source", "target", answer_google);
}

void dg_other_google(struct dg_call *call)
{
    dg_relay_open(call, on_google);
}

/* ---- OPUS-MT --------------------------------------------------------------------------------------- */

static void answer_opus(struct dg_relay *relay, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "translation", relay, 0);
    dg_json_out_close(out, '}');
}

/* Its one error comes with 200, misspelt; clients look for the member. */
static void on_opus(struct dg_call *call, struct dg_relay *relay)
{
    struct dg_why why = DG_WHY_NONE;
    (void)call;
    if (!is_one_text(relay, "source")) {
        dg_relay_fail(relay, 400, "invalid_value", "source: expected a text");
    } else if (!dg_other_pair(relay, "from", "to", &why)) {
        char text[128];
        struct dg_span from = dg_fields_text(&relay->fields, "from"), to = dg_fields_text(&relay->fields, "to");
        snprintf(text, sizeof text, "Language pair %.*s-%.*s not suppported", DG_SPAN_FMT(dg_span_sub(from, 0, 30)),
                 DG_SPAN_FMT(dg_span_sub(to, 0, 30)));
        dg_relay_fail(relay, 200, "invalid_value", text);
    } else {
        dg_other_go(relay, "source", "from", "to", answer_opus);
    }
}

void dg_other_opus(struct dg_call *call)
{
    dg_relay_open(call, on_opus);
}

void dg_other_opus_languages(struct dg_call *call)
{
    struct listing listing;
    struct dg_json_out *out = &listing.out;
    const struct dg_languages *langs = &listing.langs;
    open_listing(call, '{', &listing);
    for (size_t i = 0; i < langs->n; i++) {
        if (!(langs->items[i].sides & DG_LANGUAGE_SOURCE))
            continue;
        dg_json_out_put_open(out, langs->items[i].code, '[');
        for (size_t j = 0; j < langs->n; j++)
            if (i != j && dg_languages_lead(langs, &langs->items[i], &langs->items[j]))
                dg_json_out_cstr(out, langs->items[j].code);
        dg_json_out_close(out, ']');
    }
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
    dg_call_json_out(call, 200, out);
}

void dg_other_opus_ready(struct dg_call *call)
{
    bool is_ready = call->api->engine && dg_engine_n_models(call->api->engine) > 0;
    dg_call_text(call, is_ready ? 200 : 500, is_ready ? DG_SPAN("ready") : DG_SPAN("no model"));
}

/* ---- GET /translate -------------------------------------------------------------------------------- */

static void on_get_translate(struct dg_call *call, struct dg_relay *relay)
{
    if (dg_http_header(call->req, "upgrade").len) {
        dg_other_marian(call, relay);
    } else if (dg_fields_get(&relay->fields, "source") && dg_fields_get(&relay->fields, "tgt_lang")) {
        dg_other_nllb(call, relay);
    } else {
        dg_http_reply_header(call->req, "Allow", DG_SPAN("POST, OPTIONS"));
        dg_relay_fail(relay, 405, "method_not_allowed", "This path does not take that method.");
    }
}

void dg_other_get_translate(struct dg_call *call)
{
    dg_relay_open(call, on_get_translate);
}
