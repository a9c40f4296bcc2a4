/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Small APIs with one shape of request and one of answer each. */
#include "api/compat/compat_routes.h"
#include "api/http/api_int.h"

#include <stdio.h>
#include <strings.h>

enum { ANSWER_MAX = 4 << 20 };

/* ---- Dialects -------------------------------------------------------------------------------- */

static void answer_error(struct dg_call *call, const struct dg_failure *failure,
                         struct dg_json_out *out)
{
    if (dg_json_out_end(out) == DG_OK)
        dg_call_json(call, failure->status, dg_buf_span(out->buf));
    else
        dg_call_fail_without_memory(call);
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

/* ---- What they share ------------------------------------------------------------------------- */

static bool is_auto(struct dg_span code)
{
    static const char *const words[] = {"", "auto", "detect", "dl", NULL};
    for (size_t i = 0; words[i]; i++)
        if (code.len == strlen(words[i]) &&
            (code.len == 0 || strncasecmp(code.ptr, words[i], code.len) == 0))
            return true;
    return false;
}

bool dg_compat_pair(struct dg_compat *compat, const char *from, const char *to,
                    struct dg_error *error)
{
    const struct dg_field *given = dg_fields_get(&compat->fields, from),
                          *wanted = dg_fields_get(&compat->fields, to);
    struct dg_span source = given ? given->value : (struct dg_span){NULL, 0};
    struct dg_span target = wanted ? wanted->value : (struct dg_span){NULL, 0};
    compat->from = NULL;
    compat->to = wanted && wanted->kind == DG_FIELD_TEXT
                     ? dg_languages_find(&compat->langs, target, DG_LANGUAGE_ANY)
                     : NULL;
    if (!compat->to) {
        dg_error_set(error, DG_ERR_NOT_FOUND,
                     "%s: read '%.*s', expected a language that this server translates to", to,
                     DG_SPAN_FMT(dg_span_sub(target, 0, 100)));
        return false;
    }
    if (given && (given->kind != DG_FIELD_TEXT || !is_auto(source))) {
        compat->from = given->kind == DG_FIELD_TEXT
                           ? dg_languages_find(&compat->langs, source, DG_LANGUAGE_ANY)
                           : NULL;
        if (!compat->from) {
            dg_error_set(error, DG_ERR_NOT_FOUND,
                         "%s: read '%.*s', expected a language that this server translates from",
                         from, DG_SPAN_FMT(dg_span_sub(source, 0, 100)));
            return false;
        }
    }
    const bool leads = dg_compat_leads(compat);
    if (!leads)
        dg_error_set(error, DG_ERR_NOT_FOUND, "this server does not translate from %s to %s",
                     compat->from ? compat->from->code : "any language", compat->to->code);
    return leads;
}

static bool read_texts(struct dg_compat *compat, const char *name, struct dg_error *error)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    size_t n_max = compat->work.call->api->opts.texts_max;
    enum dg_err err = field ? dg_compat_texts_of(compat, field) : DG_ERR_NOT_FOUND;
    if (err)
        dg_error_set(error, err,
                     err == DG_ERR_NOMEM ? "there is no memory"
                                         : "%s: expected a text or an array of texts",
                     name);
    else if (compat->n > n_max)
        err = dg_error_set(error, DG_ERR_LIMIT, "%s: read %zu texts, expected at most %zu", name,
                           compat->n, n_max);
    return !err;
}

static bool is_one_text(const struct dg_compat *compat, const char *name)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    return field && field->kind == DG_FIELD_TEXT && !field->in_array;
}

void dg_compat_go(struct dg_compat *compat, const char *text, const char *from, const char *to,
                  void (*on_whole)(struct dg_compat *compat, struct dg_json_out *out))
{
    struct dg_error error = DG_ERROR_NONE;
    if (!read_texts(compat, text, &error) || !dg_compat_pair(compat, from, to, &error)) {
        dg_compat_fail(compat, 400, "invalid_value", error.text);
        return;
    }
    dg_compat_start(compat, on_whole);
}

static void put_result(struct dg_json_out *out, const char *key, const struct dg_compat *compat,
                       size_t i)
{
    dg_json_out_put_string(out, key, dg_compat_result(compat, i));
}

static const char *source_of(const struct dg_compat *compat, size_t i)
{
    const struct dg_compat_item *item = &compat->items[i];
    return item->from ? item->from->code : item->detected ? item->detected : "auto";
}

static void set_html(struct dg_compat *compat, const char *name)
{
    const struct dg_field *field = dg_fields_get(&compat->fields, name);
    bool is_html = false;
    if (field && dg_field_bool(field, &is_html) && is_html)
        compat->job->options.request.format = DG_DOC_HTML;
}

/* Begins an answer with the list of the server's languages. */
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
    if (engine && dg_languages_read(&call->api->languages, engine, call->req->arena,
                                    &listing->langs) != DG_OK)
        listing->out.err = DG_ERR_NOMEM;
    dg_json_out_open(&listing->out, '{');
    dg_json_out_put_open(&listing->out, "languages", bracket);
}

/* ---- DeepLX ---------------------------------------------------------------------------------- */

static void upper(const char *code, char out[DG_LANGTAG_TEXT])
{
    size_t n = 0;
    for (; code[n] && n + 1 < DG_LANGTAG_TEXT; n++)
        out[n] = code[n] >= 'a' && code[n] <= 'z' ? (char)(code[n] - 32) : code[n];
    out[n] = '\0';
}

static void answer_deeplx(struct dg_compat *compat, struct dg_json_out *out)
{
    char code[DG_LANGTAG_TEXT];
    dg_json_out_open(out, '{');
    dg_json_out_put_int(out, "code", 200);
    dg_json_out_put_uint(out, "id", (compat->started_ns >> 10) % 100000000 * 1000);
    put_result(out, "data", compat, 0);
    dg_json_out_put_open(out, "alternatives", '[');
    for (int k = 1; k <= compat->job->options.alternatives; k++)
        if (dg_compat_alternative(compat, 0, k).len)
            dg_json_out_string(out, dg_compat_alternative(compat, 0, k));
    dg_json_out_close(out, ']');
    upper(source_of(compat, 0), code);
    dg_json_out_put_cstr(out, "source_lang", code);
    upper(compat->to->code, code);
    dg_json_out_put_cstr(out, "target_lang", code);
    dg_json_out_put_cstr(out, "method", "Free");
    dg_json_out_close(out, '}');
}

void dg_compat_deeplx(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_span tags = dg_fields_text(&compat->fields, "tag_handling");
    call->dialect = &dg_deeplx_dialect;
    if (!is_one_text(compat, "text")) {
        dg_compat_fail(compat, 400, "invalid_json", "Invalid request payload");
        return;
    }
    if (dg_span_eq(tags, DG_SPAN("html")))
        compat->job->options.request.format = DG_DOC_HTML;
    else if (dg_span_eq(tags, DG_SPAN("xml")))
        compat->job->options.request.format = DG_DOC_XML;
    else
        compat->job->options.alternatives = 3;
    dg_compat_go(compat, "text", "source_lang", "target_lang", answer_deeplx);
}

/* ---- MTranServer and Kiss Translator --------------------------------------------------------- */

/* One answer for both: each reads the members that it knows. */
static void answer_mtran(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "result", compat, 0);
    put_result(out, "text", compat, 0);
    dg_json_out_put_cstr(out, "src", source_of(compat, 0));
    dg_json_out_close(out, '}');
}

void dg_compat_mtran(struct dg_call *call, struct dg_compat *compat)
{
    const struct dg_field *text = dg_fields_get(&compat->fields, "text");
    call->dialect = &dg_mtran_dialect;
    if (text && text->in_array) {
        dg_compat_fail(compat, 400, "invalid_value", "text: expected a text");
        return;
    }
    set_html(compat, "html");
    dg_compat_go(compat, "text", "from", "to", answer_mtran);
}

static void answer_batch(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "results", '[');
    for (size_t i = 0; i < compat->n; i++)
        dg_json_out_string(out, dg_compat_result(compat, i));
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

static void on_batch(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    set_html(compat, "html");
    dg_compat_go(compat, "texts", "from", "to", answer_batch);
}

void dg_compat_mtran_batch(struct dg_call *call)
{
    dg_compat_open(call, on_batch);
}

/* Puts a pair of languages without the JSON writer's checks, because there may be forty thousand;
 * codes need no escapes. */
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

void dg_compat_mtran_languages(struct dg_call *call)
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
        const struct dg_language *from = &langs->items[i / langs->n],
                                 *to = &langs->items[i % langs->n];
        if (from == to || !dg_languages_lead(langs, from, to))
            continue;
        put_pair(out, from->code, to->code);
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    dg_call_json_out(call, 200, out);
}

static void answer_kiss(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < compat->n; i++) {
        dg_json_out_open(out, '{');
        put_result(out, "text", compat, i);
        dg_json_out_put_cstr(out, "src", source_of(compat, i));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

void dg_compat_kiss(struct dg_call *call, struct dg_compat *compat)
{
    call->dialect = &dg_plain_dialect;
    dg_compat_go(compat, "texts", "from", "to", answer_kiss);
}

void dg_compat_version(struct dg_call *call)
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

void dg_compat_heartbeat(struct dg_call *call)
{
    dg_call_text(call, 200, DG_SPAN(""));
}

/* ---- Immersive Translate --------------------------------------------------------------------- */

static void answer_immersive(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < compat->n; i++) {
        dg_json_out_open(out, '{');
        dg_json_out_put_cstr(out, "detected_source_lang", source_of(compat, i));
        put_result(out, "text", compat, i);
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
}

void dg_compat_immersive(struct dg_call *call, struct dg_compat *compat)
{
    call->dialect = &dg_plain_dialect;
    dg_compat_go(compat, "text_list", "source_lang", "target_lang", answer_immersive);
}

/* ---- nllb-serve ------------------------------------------------------------------------------ */

static void answer_nllb(struct dg_compat *compat, struct dg_json_out *out)
{
    struct dg_span from = dg_fields_text(&compat->fields, "src_lang"),
                   to = dg_fields_text(&compat->fields, "tgt_lang");
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "source", '[');
    for (size_t i = 0; i < compat->n; i++)
        dg_json_out_string(out, compat->items[i].text);
    dg_json_out_close(out, ']');
    dg_json_out_put_open(out, "translation", '[');
    for (size_t i = 0; i < compat->n; i++)
        dg_json_out_string(out, dg_compat_result(compat, i));
    dg_json_out_close(out, ']');
    dg_json_out_put_string(out, "src_lang", from);
    dg_json_out_put_string(out, "tgt_lang", to);
    dg_json_out_put_real(out, "time_taken", (double)(compat->job->total_ns / 1000) / 1e6, 6);
    dg_json_out_put_cstr(out, "time_units", "s");
    dg_json_out_close(out, '}');
}

void dg_compat_nllb(struct dg_call *call, struct dg_compat *compat)
{
    call->dialect = &dg_plain_dialect;
    dg_compat_go(compat, "source", "src_lang", "tgt_lang", answer_nllb);
}

/* ---- nllb-api -------------------------------------------------------------------------------- */

static void answer_nllb_api(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "result", compat, 0);
    dg_json_out_close(out, '}');
}

static void on_nllb_api(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    if (is_one_text(compat, "text"))
        dg_compat_go(compat, "text", "source", "target", answer_nllb_api);
    else
        dg_compat_fail(compat, 400, "invalid_value", "text: expected a text");
}

void dg_compat_nllb_api(struct dg_call *call)
{
    dg_compat_open(call, on_nllb_api);
}

/* Readers of events take a carriage return for a line end, too, and a carriage return with a
 * newline for a single one. */
static size_t line_end(struct dg_span text, size_t at, size_t *next)
{
    while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r')
        at++;
    *next = at + 1;
    if (at + 1 < text.len && text.ptr[at] == '\r' && text.ptr[at + 1] == '\n')
        ++*next;
    return at;
}

/* Its readers join the lines and drop the blanks at their ends, so the text is sent whole, with one
 * line of data for each line of the text. */
static void end_nllb_stream(struct dg_compat *compat, const struct dg_failure *failure)
{
    struct dg_span text = failure ? (struct dg_span){NULL, 0} : dg_compat_result(compat, 0);
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
        dg_call_fail(compat->work.call, *failure);
    else if (err)
        dg_call_fail(compat->work.call,
                     dg_translate_options_failure(compat->arena, err, NULL, NULL));
    else
        dg_call_reply(compat->work.call, 200, "text/event-stream", dg_buf_span(&events));
    dg_buf_deinit(&events);
}

static void on_nllb_api_stream(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    if (!is_one_text(compat, "text")) {
        dg_compat_fail(compat, 400, "invalid_value", "text: expected a text");
        return;
    }
    compat->on_end = end_nllb_stream;
    dg_compat_go(compat, "text", "source", "target", NULL);
}

void dg_compat_nllb_api_stream(struct dg_call *call)
{
    dg_compat_open(call, on_nllb_api_stream);
}

/* ---- Google, version 2 ----------------------------------------------------------------------- */

static void answer_google(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    dg_json_out_put_open(out, "data", '{');
    dg_json_out_put_open(out, "translations", '[');
    for (size_t i = 0; i < compat->n; i++) {
        dg_json_out_open(out, '{');
        put_result(out, "translatedText", compat, i);
        if (!compat->from)
            dg_json_out_put_cstr(out, "detectedSourceLanguage", source_of(compat, i));
        dg_json_out_close(out, '}');
    }
    dg_json_out_close(out, ']');
    dg_json_out_close(out, '}');
    dg_json_out_close(out, '}');
}

static void on_google(struct dg_call *call, struct dg_compat *compat)
{
    (void)call;
    if (!dg_span_eq(dg_fields_text(&compat->fields, "format"), DG_SPAN("text")))
        compat->job->options.request.format = DG_DOC_HTML; /* their default */
    dg_compat_go(compat, "q", "source", "target", answer_google);
}

void dg_compat_google(struct dg_call *call)
{
    dg_compat_open(call, on_google);
}

/* ---- OPUS-MT --------------------------------------------------------------------------------- */

static void answer_opus(struct dg_compat *compat, struct dg_json_out *out)
{
    dg_json_out_open(out, '{');
    put_result(out, "translation", compat, 0);
    dg_json_out_close(out, '}');
}

/* This API has a single error, misspelt and sent with status 200; its clients look for the
 * member. */
static void on_opus(struct dg_call *call, struct dg_compat *compat)
{
    struct dg_error error = DG_ERROR_NONE;
    if (!dg_fields_get(&compat->fields, "source") && dg_fields_get(&compat->fields, "text")) {
        dg_compat_frontend(call, compat);
    } else if (!is_one_text(compat, "source")) {
        dg_compat_fail(compat, 400, "invalid_value", "source: expected a text");
    } else if (!dg_compat_pair(compat, "from", "to", &error)) {
        char text[128];
        struct dg_span from = dg_fields_text(&compat->fields, "from"),
                       to = dg_fields_text(&compat->fields, "to");
        snprintf(text, sizeof text, "Language pair %.*s-%.*s not suppported",
                 DG_SPAN_FMT(dg_span_sub(from, 0, 30)), DG_SPAN_FMT(dg_span_sub(to, 0, 30)));
        dg_compat_fail(compat, 200, "invalid_value", text);
    } else {
        dg_compat_go(compat, "source", "from", "to", answer_opus);
    }
}

void dg_compat_opus(struct dg_call *call)
{
    dg_compat_open(call, on_opus);
}

void dg_compat_opus_languages(struct dg_call *call)
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

void dg_compat_opus_ready(struct dg_call *call)
{
    bool is_ready = call->api->engine && dg_engine_n_models(call->api->engine) > 0;
    dg_call_text(call, is_ready ? 200 : 500, is_ready ? DG_SPAN("ready") : DG_SPAN("no model"));
}

/* ---- GET /translate -------------------------------------------------------------------------- */

static void on_get_translate(struct dg_call *call, struct dg_compat *compat)
{
    if (dg_http_header(call->req, "upgrade").len) {
        dg_compat_marian(call, compat);
    } else if (dg_fields_get(&compat->fields, "source") &&
               dg_fields_get(&compat->fields, "tgt_lang")) {
        dg_compat_nllb(call, compat);
    } else {
        dg_http_reply_header(call->req, "Allow", DG_SPAN("POST, OPTIONS"));
        dg_compat_fail(compat, 405, "method_not_allowed", "This path does not allow that method.");
    }
}

void dg_compat_get_translate(struct dg_call *call)
{
    dg_compat_open(call, on_get_translate);
}
